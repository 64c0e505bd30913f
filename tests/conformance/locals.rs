//! Per-lane local memory in straight-line code, loops and branches.

use jit::prelude::*;
use jit::{IntoEntry, LocalEntry, Visitor, VisitorMut};

use crate::{message_of, noise, on_each_device, resident};

fn at(index: u32) -> UInt {
    UInt::from(index)
}

// rows: C138
#[test]
fn elements_are_zero_until_they_are_written() {
    fn check<T>(one: T)
    where
        T: jit::Element + LocalEntry<Value = Array<T>> + PartialEq + std::fmt::Debug,
        T: IntoEntry<Array<T>>,
    {
        let mut memory = Local::<T>::new(10);
        assert_eq!(memory.read(&at(3)).item().unwrap(), T::default());
        memory.write(&at(3), one);
        let before = memory.clone();
        memory.write(&at(3), Array::full(one, 2));
        memory.write(&at(9), &memory.read(&at(3)));
        assert_eq!(memory.read(&at(9)).to_vec().unwrap(), [one; 2]);
        assert_eq!(before.read(&at(3)).item().unwrap(), one);
        assert_eq!(memory.read(&at(4)).to_vec().unwrap()[0], T::default());
        assert_eq!(Local::<T>::full(one, 3).read(&at(2)).item().unwrap(), one);
    }
    on_each_device(|| {
        check(true);
        check(1_i8);
        check(1_i16);
        check(1_i32);
        check(1_i64);
        check(1_u8);
        check(1_u16);
        check(1_u32);
        check(1_u64);
        check(jit_half(1.5));
        check(1.5_f32);
        check(1.5_f64);
    });
}

fn jit_half(x: f32) -> half::f16 {
    half::f16::from_f32(x)
}

// rows: C138
#[test]
fn a_memory_itself_cannot_be_evaluated() {
    on_each_device(|| {
        let memory = Local::<f32>::new(2);
        let error = jit::eval(&memory).unwrap_err();
        assert!(error.to_string().contains("exists only inside a kernel"), "{error}");
        assert_eq!(memory.len(), 2);
        let message = message_of(|| Local::<f32>::new(0));
        assert!(message.contains("a `Local` cannot have 0 elements"), "{message}");
    });
}

#[jit]
fn filled(steps: &UInt) -> UInt {
    let (mut memory, mut i) = (Local::<u32>::new(8), UInt::from(0));
    while &i < steps {
        memory.write(&i, &i);
        i += 1;
    }
    memory.read(&UInt::from(3)) * 10 + memory.read(&(steps - 1))
}

#[jit]
fn chained(steps: &UInt) -> UInt {
    let (mut memory, mut i) = (Local::<u32>::new(6), UInt::from(0));
    memory.write(&i, 1);
    while &i < steps {
        let element = memory.read(&i);
        i += 1;
        memory.write(&i, element * 2);
    }
    memory.read(&i)
}

// rows: C139 C147
#[test]
fn loops_fill_memory_and_read_it() {
    on_each_device(|| {
        assert_eq!(filled(&UInt::from([8, 2, 5])).to_vec().unwrap(), [37, 1, 34]);
        assert_eq!(filled(&resident([8])).to_vec().unwrap(), [37]);
        assert_eq!(chained(&UInt::from([4, 0, 5])).to_vec().unwrap(), [16, 1, 32]);
    });
}

macro_rules! bubble_sorts {
    ($($name:ident: $outer:ident $inner:ident $branch:ident;)*) => {$(
        #[jit]
        fn $name(seed: &UInt) -> (UInt, Local<u32>) {
            let (mut memory, mut i, mut value) = (Local::<u32>::new(32), UInt::from(0), seed.clone());
            for k in 0..32 {
                value = &value * 1_664_525 + 1_013_904_223;
                memory.write(&UInt::from(k), &(&value >> 8));
            }
            #[$outer]
            while i < 31 {
                let mut k = UInt::from(0);
                #[$inner]
                while &k < 31 - &i {
                    let a = memory.read(&k);
                    let b = memory.read(&(&k + 1));
                    #[$branch]
                    if a > b {
                        memory.write(&k, &b);
                        memory.write(&(&k + 1), &a);
                    }
                    k += 1;
                }
                i += 1;
            }
            (i, memory)
        }
    )*};
}

bubble_sorts! {
    sort_recorded: symbolic symbolic symbolic;
    sort_blended: symbolic symbolic evaluated;
    sort_outer: evaluated symbolic symbolic;
    sort_evaluated: evaluated evaluated evaluated;
}

// rows: C140
#[test]
fn bubble_sort_in_each_mode() {
    let host = |seed: u32| {
        let mut value = seed;
        let mut all: Vec<u32> = (0..32)
            .map(|_| {
                value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                value >> 8
            })
            .collect();
        all.sort_unstable();
        all
    };
    let check = |sort: &dyn Fn(&UInt) -> (UInt, Local<u32>), count: usize| {
        let seeds = noise(count, 5);
        let (_, memory) = sort(&UInt::from(seeds.clone()));
        let sorted: Vec<UInt> = (0..32).map(|k| memory.read(&at(k))).collect();
        jit::eval(&sorted).unwrap();
        let sorted: Vec<Vec<u32>> = sorted.iter().map(|element| element.to_vec().unwrap()).collect();
        for (lane, seed) in seeds.iter().enumerate() {
            let lane: Vec<u32> = sorted.iter().map(|element| element[lane]).collect();
            assert_eq!(lane, host(*seed));
        }
    };
    on_each_device(|| {
        // Programs that are slow on the interpreter run on few lanes.
        let count = if Array::<u32>::zeros(1).device() == Device::Cpu { 10_000 } else { 60 };
        check(&sort_recorded, count);
        check(&sort_blended, count);
        check(&sort_outer, count);
        check(&sort_evaluated, count);
    });
}

#[jit]
fn conditional(mask: &Mask, x: &UInt) -> (UInt, UInt) {
    let mut memory = Local::<u32>::full(10, 4);
    if mask {
        memory.write(&UInt::from(1), 11);
        memory.write(x, &(memory.read(x) + 5));
    } else {
        memory.write(&UInt::from(2), &(memory.read(&UInt::from(1)) * 2));
    }
    (memory.read(&UInt::from(1)), memory.read(&UInt::from(2)) + memory.read(x))
}

#[jit]
fn replaced(mask: &Mask) -> UInt {
    let mut memory = Local::<u32>::full(1, 3);
    if mask {
        memory = Local::full(7, 3);
        memory.write(&UInt::from(0), 8);
    } else {
        memory.write(&UInt::from(0), 2);
    }
    memory.read(&UInt::from(0)) * 10 + memory.read(&UInt::from(2))
}

// rows: C141
#[test]
fn branches_write_on_their_lanes() {
    on_each_device(|| {
        let (a, b) = conditional(&resident([true, false, true]), &UInt::from([3, 3, 1]));
        assert_eq!(a.to_vec().unwrap(), [11, 10, 16]);
        assert_eq!(b.to_vec().unwrap(), [10 + 15, 20 + 10, 10 + 16]);
        assert_eq!(a.to_vec().unwrap(), [11, 10, 16]);
        assert_eq!(replaced(&resident([true, false])).to_vec().unwrap(), [87, 21]);
    });
}

// rows: C143
#[test]
fn clones_are_independent() {
    on_each_device(|| {
        let mut a = Local::<u32>::new(3);
        a.write(&at(0), UInt::from([1, 2]));
        let mut b = a.clone();
        a.write(&at(0), 10);
        b.write(&at(1), 20);
        let lane = UInt::from([0, 1]);
        let sums = [a.read(&at(0)), a.read(&at(1)), b.read(&at(0)), b.read(&at(1)), a.read(&lane) + b.read(&lane)];
        jit::eval(&sums).unwrap();
        let sums = sums.map(|sum| sum.to_vec().unwrap());
        assert_eq!(sums, [vec![10, 10], vec![0, 0], vec![1, 2], vec![20, 20], vec![11, 20]]);
    });
}

#[derive(Clone, Default)]
struct Hit {
    distance: Float,
    place: (UInt, Mask),
}

impl Traverse for Hit {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.field("distance", &self.distance);
        visitor.field("place", &self.place);
    }
    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("distance", &mut self.distance);
        visitor.field("place", &mut self.place);
    }
}

impl LocalEntry for Hit {
    type Value = Hit;
}

// rows: C144
#[test]
fn values_made_of_arrays_are_elements() {
    on_each_device(|| {
        let mut hits = Local::<Hit>::new(4);
        let lane = UInt::arange(3);
        hits.write(&lane, Hit { distance: Float::from([0.5, 1.5, 2.5]), place: (UInt::from(7), Mask::from(true)) });
        let hit = hits.read(&UInt::from([0, 0, 2]));
        assert_eq!(hit.distance.to_vec().unwrap(), [0.5, 0.0, 2.5]);
        assert_eq!(hit.place.0.to_vec().unwrap(), [7, 0, 7]);
        assert_eq!(hit.place.1.to_vec().unwrap(), [true, false, true]);
        hits.update(&at(0), |mut hit| {
            hit.distance += 1.0;
            hit
        });
        assert_eq!(hits.read(&at(0)).distance.to_vec().unwrap(), [1.5, 1.0, 1.0]);
        let mut pairs = Local::<(f32, [i32; 2])>::new(2);
        pairs.write(&at(1), (Float::from(2.0), [Int::from(3), Int::from([4, 5])]));
        let (x, [y, z]) = pairs.read(&at(1));
        assert_eq!((x.item().unwrap(), y.item().unwrap(), z.to_vec().unwrap()), (2.0, 3, vec![4, 5]));
    });
}

// rows: C145 C146
#[test]
fn constant_indices_out_of_range_read_zero_and_write_nothing() {
    on_each_device(|| {
        let mut memory = Local::<u32>::full(5, 10);
        memory.write(&at(10), 1);
        memory.write(&Int::from(-1), resident([2, 3]));
        assert_eq!(memory.read(&at(10)).to_vec().unwrap(), [0, 0]);
        assert_eq!(memory.read(&Int::from([-1, 9])).to_vec().unwrap(), [0, 5]);
        assert_eq!(memory.read(&at(9)).to_vec().unwrap(), [5, 5]);
    });
}

// rows: C145 C146
#[test]
fn indices_out_of_range_read_zero_and_write_nothing() {
    on_each_device(|| {
        let mut memory = Local::<u32>::full(5, 3);
        memory.write(&resident([0, 3, 4_000_000_000_u32, 2]), 6);
        memory.write(&resident([-1, 1, -2_000_000_000, 1]), 7);
        memory.write(&resident([255_u8, 0, 1, 2]), 8);
        let read = |index: u32| memory.read(&at(index)).to_vec().unwrap();
        assert_eq!([read(0), read(1), read(2)], [[6, 8, 5, 5], [5, 7, 8, 7], [5, 5, 5, 8]]);
        assert_eq!(memory.read(&resident([3_u64, 1, u64::MAX, 2])).to_vec().unwrap(), [0, 7, 0, 8]);
    });
}

// rows: C148 C150
#[test]
fn masked_lanes_write_nothing_and_read_zero() {
    on_each_device(|| {
        let mask = resident([true, false, true]);
        for index in [at(1), resident([1; 3])] {
            let mut memory = Local::<u32>::new(2);
            memory.write_masked(&index, 1, &Mask::from(false));
            memory.write_masked(&index, 1, &mask);
            assert_eq!(memory.read(&at(1)).to_vec().unwrap(), [1, 0, 1]);
            let memory = Local::<u32>::full(1, 2);
            assert_eq!(memory.read_masked(&index, &mask).to_vec().unwrap(), [1, 0, 1]);
            assert_eq!(memory.read_masked(&index, &Mask::from(false)).to_vec().unwrap()[0], 0);
            assert_eq!(memory.read_masked(&index, &Mask::from(true)).to_vec().unwrap()[0], 1);
        }
    });
}

#[jit]
fn masked_in_branch<T>(index: &UInt, taken: &Mask, mask: &Mask, one: T) -> (Array<T>, Array<T>)
where
    T: jit::Element + LocalEntry<Value = Array<T>> + IntoEntry<Array<T>>,
{
    let mut memory = Local::<T>::new(2);
    let mut read = Array::<T>::zeros(1);
    if taken {
        memory.write_masked(index, one, mask);
        read = memory.read_masked(index, mask);
    }
    (memory.read(&UInt::from(1)), read)
}

// rows: C149 C151
#[test]
fn masks_and_branches_hold_together() {
    on_each_device(|| {
        let (taken, mask) = (resident([false, true, true]), resident([true, false, true]));
        for index in [at(1), resident([1; 3])] {
            let (written, read) = masked_in_branch(&index, &taken, &mask, 1_u32);
            assert_eq!((written.to_vec().unwrap(), read.to_vec().unwrap()), (vec![0, 0, 1], vec![0, 0, 1]));
            let (written, _) = masked_in_branch(&index, &taken, &mask, true);
            assert_eq!(written.to_vec().unwrap(), [false, false, true]);
        }
    });
}

// rows: C152
#[test]
fn slots_that_were_not_written_stay_zero() {
    on_each_device(|| {
        let mut memory = Local::<f32>::new(70);
        memory.write(&resident([3, 69, 40]), resident([1.5_f32, 2.5, 3.5]));
        let all: Vec<Vec<f32>> = (0..70).map(|k| memory.read(&resident([k; 3])).to_vec().unwrap()).collect();
        for (k, lanes) in all.iter().enumerate() {
            let expected = [(3, 1.5), (69, 2.5), (40, 3.5)].map(|(slot, value)| if slot == k { value } else { 0.0 });
            assert_eq!(*lanes, expected);
        }
    });
}

#[jit]
fn swapped(n: &UInt) -> [UInt; 3] {
    let (mut a, mut b, mut i) = (Local::<u32>::full(1, 3), Local::<u32>::full(2, 3), UInt::from(0));
    let mut total = UInt::from(0);
    while &i < n {
        // The memory of each iteration is initialised again.
        let mut scratch = Local::<u32>::new(3);
        scratch.write(&(&i % 3), 1);
        total += scratch.read(&UInt::from(0)) + scratch.read(&UInt::from(1)) + scratch.read(&UInt::from(2));
        let before = a.clone();
        a.write(&(&i % 3), &(b.read(&i) + 10));
        total += before.read(&(&i % 3)) * 100;
        (a, b) = (b.clone(), a.clone());
        i += 1;
    }
    [a.read(&UInt::from(0)), b.read(&UInt::from(0)), total]
}

#[test]
fn memories_are_swapped_copied_and_begun_anew() {
    on_each_device(|| {
        let host = |n: u32| {
            let (mut a, mut b, mut total) = ([1_u32; 3], [2_u32; 3], 0);
            for i in 0..n {
                total += 1;
                let before = a;
                a[i as usize % 3] = b.get(i as usize).copied().unwrap_or(0) + 10;
                total += before[i as usize % 3] * 100;
                (a, b) = (b, a);
            }
            [a[0], b[0], total]
        };
        let lanes = swapped(&UInt::from([0, 1, 2, 5])).map(|state| state.to_vec().unwrap());
        for (lane, n) in [0, 1, 2, 5].into_iter().enumerate() {
            assert_eq!([lanes[0][lane], lanes[1][lane], lanes[2][lane]], host(n), "{n} iterations");
        }
    });
}

#[jit]
fn counted(steps: &UInt, counts: &mut UInt) -> Local<u32> {
    let (mut memory, mut i) = (Local::<u32>::new(4), UInt::from(0));
    while &i < steps {
        counts.scatter_add(1, &i);
        memory.write(&i, &(&i + 1));
        i += 1;
    }
    memory
}

#[test]
fn elements_after_a_loop_that_writes_arrays_are_read_when_it_has_run() {
    on_each_device(|| {
        let mut counts = resident([0_u32; 4]);
        let memory = counted(&UInt::from([1, 3]), &mut counts);
        assert_eq!(counts.to_vec().unwrap(), [2, 1, 1, 0]);
        assert_eq!(memory.read(&at(1)).to_vec().unwrap(), [0, 2]);
        assert_eq!(counts.to_vec().unwrap(), [2, 1, 1, 0]);
        assert_eq!(memory.read(&at(0)).to_vec().unwrap(), [1, 1]);
    });
}

#[jit]
fn writes_in_condition(x: &UInt) -> UInt {
    let (mut memory, mut i) = (Local::<u32>::new(4), x.clone());
    while {
        memory.write(&UInt::from(0), &i);
        memory.read(&UInt::from(0)) < 4
    } {
        i += 1;
    }
    i
}

#[test]
fn a_condition_cannot_write_to_memory() {
    let message = message_of(|| writes_in_condition(&UInt::from([1, 2])));
    assert!(message.contains("the condition of a traced loop cannot write to a `Local`"), "{message}");
}

/// A random program of one memory, on the host and traced.
struct Random {
    dice: Vec<u32>,
    next: usize,
}

impl Traverse for Random {
    fn traverse(&self, _: &mut Visitor<'_>) {}
    fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
}

impl Random {
    fn roll(&mut self, sides: u32) -> u32 {
        self.next += 1;
        self.dice[self.next] % sides
    }
}

const SLOTS: u32 = 5;

#[jit]
fn traced_steps(random: &mut Random, memories: &mut [Local<u32>; 2], x: &mut UInt, depth: u32) {
    for _ in 0..3 + random.roll(4) {
        let (which, shift) = (random.roll(2) as usize, random.roll(9));
        match random.roll(if depth == 0 { 5 } else { 8 }) {
            0 => memories[which].write(&(&*x % SLOTS), &(&*x + shift)),
            1 => *x += memories[which].read(&((&*x + shift) % (SLOTS + 1))),
            2 => memories[which] = memories[1 - which].clone(),
            3 => memories[which].write_masked(&UInt::from(shift % SLOTS), &*x, &(&*x % 2).eq(0)),
            4 => memories[which].update(&((&*x + shift) % SLOTS), |old| old * 3 + shift),
            5 => {
                let odd = (&*x >> (shift % 4)) % 2;
                if odd == 1 {
                    traced_steps(random, memories, x, depth - 1);
                } else {
                    traced_steps(random, memories, x, depth - 1);
                }
            }
            6 => {
                let mut left = &*x % 4;
                while left > 0 {
                    traced_steps(random, memories, x, depth - 1);
                    left -= 1;
                }
            }
            _ => {
                let kept = memories[which].clone();
                traced_steps(random, memories, x, depth - 1);
                *x += kept.read(&UInt::from(shift % SLOTS));
            }
        }
    }
}

fn plain_steps(random: &mut Random, memories: &mut [[u32; SLOTS as usize]; 2], x: &mut u32, depth: u32) {
    for _ in 0..3 + random.roll(4) {
        let (which, shift) = (random.roll(2) as usize, random.roll(9));
        match random.roll(if depth == 0 { 5 } else { 8 }) {
            0 => memories[which][(*x % SLOTS) as usize] = x.wrapping_add(shift),
            1 => {
                let index = x.wrapping_add(shift) % (SLOTS + 1);
                *x = x.wrapping_add(memories[which].get(index as usize).copied().unwrap_or(0));
            }
            2 => memories[which] = memories[1 - which],
            3 => {
                if x.is_multiple_of(2) {
                    memories[which][(shift % SLOTS) as usize] = *x;
                }
            }
            4 => {
                let slot = &mut memories[which][(x.wrapping_add(shift) % SLOTS) as usize];
                *slot = slot.wrapping_mul(3).wrapping_add(shift);
            }
            5 => {
                let is_odd = (*x >> (shift % 4)) % 2 == 1;
                // Both sides are recorded one after another.
                let (mut other, mut y) = (*memories, *x);
                if is_odd {
                    plain_steps(random, memories, x, depth - 1);
                    plain_steps(random, &mut other, &mut y, depth - 1);
                } else {
                    plain_steps(random, &mut other, &mut y, depth - 1);
                    plain_steps(random, memories, x, depth - 1);
                }
            }
            6 => {
                let (start, turns) = (random.next, *x % 4);
                let (mut other, mut y) = (*memories, *x);
                plain_steps(random, &mut other, &mut y, depth - 1);
                let end = random.next;
                for _ in 0..turns {
                    random.next = start;
                    plain_steps(random, memories, x, depth - 1);
                }
                random.next = end;
            }
            _ => {
                let kept = memories[which];
                plain_steps(random, memories, x, depth - 1);
                *x = x.wrapping_add(kept[(shift % SLOTS) as usize]);
            }
        }
    }
}

#[test]
fn random_programs_with_memory_agree_with_the_host() {
    let starts: Vec<u32> = noise(19, 3).iter().map(|x| x % 100).collect();
    for seed in 1..60 {
        let dice = noise(4000, seed * 7919);
        let mut expected = Vec::new();
        for start in &starts {
            let (mut memories, mut x) = ([[0; SLOTS as usize], [4; SLOTS as usize]], *start);
            plain_steps(&mut Random { dice: dice.clone(), next: 0 }, &mut memories, &mut x, 2);
            expected.push((x, memories));
        }
        on_each_device(|| {
            let mut memories = [Local::<u32>::new(SLOTS as usize), Local::full(4, SLOTS as usize)];
            let mut x = UInt::from(starts.clone());
            traced_steps(&mut Random { dice: dice.clone(), next: 0 }, &mut memories, &mut x, 2);
            let read =
                |memory: &Local<u32>| (0..SLOTS).map(|k| memory.read(&at(k)) + UInt::zeros(19)).collect::<Vec<_>>();
            let read = [read(&memories[0]), read(&memories[1])];
            jit::eval(&(&x, &read)).unwrap();
            let x = x.to_vec().unwrap();
            let read =
                read.map(|elements| elements.iter().map(|element| element.to_vec().unwrap()).collect::<Vec<_>>());
            for (lane, (expected_x, expected_memories)) in expected.iter().enumerate() {
                assert_eq!(x[lane], *expected_x, "seed {seed}, lane {lane}");
                for which in 0..2 {
                    let lane: Vec<u32> = read[which].iter().map(|element| element[lane]).collect();
                    assert_eq!(lane, expected_memories[which], "seed {seed}");
                }
            }
        });
    }
}

#[jit]
fn indexed(x: &UInt, steps: u32) -> UInt {
    let (mut memory, mut i) = (Local::<u32>::new(4), UInt::from(0));
    while i < steps {
        let k = &i % 4;
        memory[&k] = memory[&k] * 2 + 1;
        memory[&k] += x;
        if x > 2 {
            memory[&k] *= 3;
        }
        i += 1;
    }
    let first = memory[UInt::from(0)];
    first + memory[3]
}

// rows: K25 K26 K27
#[test]
fn brackets_read_and_write_elements() {
    on_each_device(|| {
        let host = |x: u32| {
            let mut memory = [0; 4];
            for i in 0..6 {
                memory[i % 4] = memory[i % 4] * 2 + 1;
                memory[i % 4] += x;
                memory[i % 4] *= if x > 2 { 3 } else { 1 };
            }
            memory[0] + memory[3]
        };
        assert_eq!(indexed(&UInt::from([1, 2, 3]), 6).to_vec().unwrap(), [host(1), host(2), host(3)]);
    });
}

#[test]
fn targets_write_memory_that_they_return() {
    let push = |mut stack: Local<u32>, top: UInt, x: UInt| {
        stack.write(&top, &x);
        (stack, top + 1)
    };
    let add = |mut stack: Local<u32>, top: UInt, _: UInt| {
        let sum = stack.read(&(&top - 1)) + stack.read(&(&top - 2));
        stack.write(&(&top - 2), &sum);
        (stack, top - 1)
    };
    let clear = |_: Local<u32>, top: UInt, _: UInt| (Local::<u32>::new(4), top.zeros_like());
    on_each_device(|| {
        let (mut stack, mut top) = (Local::<u32>::new(4), UInt::opaque(0));
        let program = [[0_u32, 0, 0, 0, 0], [0, 0, 0, 9, 0], [1, 0, 2, 1, 0], [0, 1, 0, 0, 0], [1, 1, 0, 2, 9]];
        for (turn, ops) in program.into_iter().enumerate() {
            let x = UInt::arange(5) * 10 + turn as u32;
            (stack, top) = jit::switch(resident(ops), &[push, add, clear], (stack, top, x));
        }
        // A lane whose number names no target gets zero of everything: an empty memory.
        assert_eq!(top.to_vec().unwrap(), [1, 1, 2, 0, 0]);
        assert_eq!(stack.read(&UInt::from(0)).to_vec().unwrap(), [1 + 3, 10 + 11 + 12, 23, 0, 0]);
        assert_eq!(stack.read(&UInt::from(1)).to_vec().unwrap()[2], 24);
    });
}

#[test]
fn targets_read_memory_of_the_caller() {
    on_each_device(|| {
        let mut table = Local::<f32>::new(3);
        let lane = UInt::arange(4);
        for k in 0..3_u32 {
            table.write(&UInt::from(k), &(lane.cast::<f32>() * 10.0 + k as f32));
        }
        let targets: [&dyn Fn(UInt) -> Float; 2] = [&|i| table.read(&i), &|i| {
            // Local memory of the target, in each lane.
            let mut own = table.clone();
            own.write(&i, -1.0);
            (0..3_u32).fold(Float::from(0.0), |sum, k| sum + own.read(&UInt::from(k)))
        }];
        let got = jit::switch(resident([0_u32, 1, 1, 7]), &targets, (UInt::from([2, 0, 5, 1]),));
        assert_eq!(got.to_vec().unwrap(), [2.0, -1.0 + 11.0 + 12.0, 63.0, 0.0]);
        assert_eq!(table.read(&UInt::from(0)).to_vec().unwrap(), [0.0, 10.0, 20.0, 30.0]);
    });
}

/// Two loops that write an array and count; the second reads the per-lane local memory that the first has filled.
#[jit]
fn fill_and_look(hits: &mut Int, lane: &Int) -> Mask {
    let (mut memory, mut found, mut turn) = (Local::<i32>::new(5), Mask::from(false), Int::from(0));
    while lane >= 2 && turn < 3 {
        turn += 1;
        hits.scatter_add(1, &memory.read(lane));
        memory.write(&(lane / 8 + 3), 7);
    }
    turn = Int::from(0);
    while lane >= 2 && turn < 3 {
        turn += 1;
        hits.scatter_add(10, lane);
        found = memory.read(lane) == 7;
    }
    found
}

#[test]
fn writes_of_a_loop_with_per_lane_memory_happen_once() {
    on_each_device(|| {
        let mut hits = Int::zeros(9);
        let found = fill_and_look(&mut hits, &Int::from([0, 1, 2, 3, 4]));
        jit::eval(&(&hits, &found)).unwrap();
        assert_eq!(hits.to_vec().unwrap(), [7, 0, 30, 30, 30, 0, 0, 2, 0]);
        assert_eq!(found.to_vec().unwrap(), [false, false, false, true, false]);
    });
}

// rows: C145 C146
#[test]
fn writes_out_of_range_change_neither_this_memory_nor_the_next_one() {
    on_each_device(|| {
        // Small memories are on the stack, large ones are one after another.
        for len in [4, 700] {
            let value = resident([7_u32, 8, 9]);
            for outside in [UInt::opaque(len as u32), UInt::opaque(u32::MAX), resident([701, 800, 900])] {
                let (mut a, mut b) = (Local::<u32>::full(1, len), Local::<u32>::full(2, len));
                a.write(&outside, &value);
                b.write(&outside, &value);
                let mut total = value.zeros_like();
                for at in [0, len as u32 - 1] {
                    total = total + a.read(&UInt::opaque(at)) + b.read(&UInt::opaque(at)) * 10;
                }
                let read = a.read(&outside) + b.read(&outside) + a.read(&UInt::opaque(len as u32));
                assert_eq!(total.to_vec().unwrap(), [42; 3], "{len}");
                assert_eq!((read + &value).to_vec().unwrap(), [7, 8, 9], "{len}");
            }
        }
    });
}
