//! Regions that a panic ends: every array from before has contents afterwards, whether it was a constant, in memory or
//! not yet computed.

#![allow(clippy::type_complexity, reason = "the types of targets are documented at their uses")]

use jit::prelude::*;
use jit::random::Pcg32;

use crate::stopping::{LEFT, is_stopped, tick};
use crate::{message_of, on_each_device, resident};

/// The state that programs change.
#[derive(Clone, Traverse)]
struct Held {
    x: Float,
    count: UInt,
    at: UInt,
    /// Is scattered to.
    table: UInt,
    memory: Local<u32>,
    rng: Pcg32,
    list: Vec<(UInt, Float)>,
}

/// How arrays are there before.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Constant,
    Opaque,
    Memory,
    Lazy,
}

const TABLE: [u32; 4] = [3; 4];

impl Held {
    fn new(kind: Kind) -> Held {
        let made = |value: u32| match kind {
            Kind::Constant => UInt::full(value, 4),
            Kind::Opaque => UInt::full(value, 4).make_opaque(),
            Kind::Memory => resident([value; 4]),
            Kind::Lazy => UInt::from([value + 1; 4]) - 1,
        };
        let x = made(2).cast::<f32>();
        let mut memory = Local::<u32>::new(3);
        memory.write(&UInt::from(1), made(5));
        let at = UInt::arange(4);
        let list = vec![(made(1), made(7).cast::<f32>())];
        Held { x, count: made(0), at, table: made(TABLE[0]), memory, rng: Pcg32::new(4, 3), list }
    }

    /// The elements of all arrays; fails if one has none.
    fn elements(&self) -> Vec<Vec<u64>> {
        let bits = |array: &Float| array.to_vec().unwrap().iter().map(|x| u64::from(x.to_bits())).collect();
        let whole = |array: &UInt| array.to_vec().unwrap().into_iter().map(u64::from).collect::<Vec<_>>();
        let memory = (0..3).map(|index| whole(&self.memory.read(&UInt::from(index)).tile_to(4)));
        let rng = self.rng.clone().next_u32();
        let mut all = vec![bits(&self.x), whole(&self.count), whole(&self.at), whole(&self.table), whole(&rng)];
        all.extend(memory);
        all.extend(self.list.iter().flat_map(|(a, b)| [whole(a), bits(b)]));
        // Values computed from it have contents, too.
        assert_eq!(whole(&(&self.table + 1)), whole(&self.table).iter().map(|x| x + 1).collect::<Vec<_>>());
        assert_eq!(whole(&(&self.count * 2)), whole(&self.count).iter().map(|x| x * 2).collect::<Vec<_>>());
        all
    }
}

/// Repeats a single element for all lanes to the number of elements.
trait TileTo {
    fn tile_to(self, width: usize) -> Self;
}

impl TileTo for UInt {
    fn tile_to(self, width: usize) -> UInt {
        if self.len() == width { self } else { self.tile(width) }
    }
}

#[jit]
fn branches(h: &mut Held) {
    tick();
    if h.x > 1.0 {
        tick();
        h.x *= 2.0;
        tick();
        h.table.scatter_add(1, &h.at);
        tick();
        if h.count < 2 {
            tick();
            h.table.scatter(7, &UInt::from([1]));
            tick();
            h.count += 1;
            h.memory.write(&UInt::from(2), &h.count);
            tick();
        } else {
            h.table.scatter_add(5, &h.at);
            tick();
        }
        h.list[0].0 += 1;
        tick();
    } else {
        tick();
        h.table.scatter_add(3, &h.at);
        tick();
        h.x += h.rng.next_f32();
        tick();
    }
    tick();
}

#[jit]
fn loops(h: &mut Held) {
    tick();
    while h.count < 3 {
        tick();
        h.table.scatter_add(&h.count, &h.at);
        tick();
        h.x = &h.x * 1.5 + h.rng.next_f32();
        tick();
        let mut inner = UInt::from(0);
        while inner < 2 {
            tick();
            h.memory.write(&inner, &(&inner + &h.count));
            tick();
            h.table.scatter_add(1, &inner);
            tick();
            h.list[0].1 += h.memory.read(&inner).cast::<f32>();
            inner += 1;
            tick();
        }
        if h.x > 3.0 {
            tick();
            // Other lanes add to the same elements: on a GPU in any order, so the operations have to commute there.
            let is_ordered = !matches!(h.table.device(), jit::Device::Cuda(_));
            let op = if is_ordered { jit::ReduceOp::Max } else { jit::ReduceOp::Add };
            h.table.scatter_reduce(op, 9, &h.at);
            tick();
            h.list[0].0 += 2;
        }
        h.count += 1;
        tick();
    }
    tick();
}

#[jit]
fn exits(h: &mut Held) -> UInt {
    for step in 0..&h.at + 2 {
        tick();
        if h.count > 2 {
            tick();
            h.table.scatter_add(1, &h.at);
            tick();
            break;
        }
        if step == 1 {
            tick();
            h.count += 2;
            tick();
            continue;
        }
        if h.x > 100.0 {
            tick();
            return h.count.clone();
        }
        h.x += 1.0;
        tick();
        h.table.scatter_add(&step, &h.at);
        tick();
    }
    tick();
    h.count.clone()
}

#[jit]
fn matches(h: &mut Held) {
    match h.at {
        0 => {
            tick();
            h.table.scatter_add(1, &h.at);
            tick();
        }
        1 | 2 => {
            h.x += 3.0;
            tick();
            h.table.scatter(9, &h.at);
            tick();
            h.count += &h.at;
        }
        _ => {
            tick();
            h.list[0].0 = h.count.clone() + 4;
            h.memory.write(&UInt::from(0), 8);
            tick();
        }
    }
    tick();
}

#[jit(dispatch)]
trait Step {
    /// Changes its argument.
    fn step(&self, x: Float, table: &mut UInt, at: &UInt) -> Float;
}

#[derive(Traverse)]
struct Add {
    what: Float,
}

#[derive(Traverse)]
struct Scatter {
    what: UInt,
}

#[jit]
impl Step for Add {
    fn step(&self, x: Float, table: &mut UInt, at: &UInt) -> Float {
        tick();
        table.scatter_add(2, at);
        tick();
        x + &self.what
    }
}

#[jit]
impl Step for Scatter {
    fn step(&self, x: Float, table: &mut UInt, at: &UInt) -> Float {
        tick();
        table.scatter_add(&self.what, at);
        tick();
        let mut y = x.clone();
        while y < 9.0 {
            tick();
            table.scatter_add(1, at);
            y += 2.0;
            tick();
        }
        tick();
        y
    }
}

fn calls(h: &mut Held) {
    let mut steps = Instances::<dyn Step>::new();
    let add = steps.push(Box::new(Add { what: Float::from(1.5) }));
    let scatter = steps.push(Box::new(Scatter { what: UInt::from(4) }));
    let pointers = steps.at(&UInt::from([add, scatter, scatter, add]));
    tick();
    h.x = pointers.step(h.x.clone(), &mut h.table, &h.at);
    tick();
    let double = |(x, mut table): (Float, UInt)| {
        tick();
        table.scatter_add(1, &UInt::from([0]));
        tick();
        (x * 2.0, table)
    };
    let keep = |(x, mut table): (Float, UInt)| {
        tick();
        table.scatter_add(5, &UInt::from([1]));
        tick();
        (x.sqrt(), table)
    };
    let targets: [&dyn Fn((Float, UInt)) -> (Float, UInt); 2] = [&double, &keep];
    (h.x, h.table) = jit::switch(h.at.clone() % 2, &targets, ((h.x.clone(), h.table.clone()),));
    tick();
}

#[jit]
fn evaluated(h: &mut Held) {
    #[evaluated]
    while h.count < 3 {
        tick();
        h.x += 0.5;
        h.table.scatter_add(1, &h.at);
        tick();
        if h.x > 2.5 {
            tick();
            h.count += 1;
            h.table.scatter_add(2, &h.at);
            tick();
        }
        h.count += 1;
        tick();
    }
}

/// Runs a program until each of its operations, from each kind of arrays.
fn trial(name: &str, takes_back: bool, program: impl Fn(&mut Held)) {
    on_each_device(|| {
        for kind in [Kind::Constant, Kind::Opaque, Kind::Memory, Kind::Lazy] {
            let run = |h: &mut Held, stop: u32| {
                LEFT.set(stop);
                !is_stopped(|| program(h))
            };
            let mut whole = Held::new(kind);
            assert!(run(&mut whole, u32::MAX));
            let (operations, expected) = (u32::MAX - LEFT.get(), whole.elements());
            let before = Held::new(kind).elements();
            assert!(operations > 5 && expected != before, "{name}: {operations} operations");
            for stop in 1..=operations {
                let place = format!("{name}, {kind:?}, stopped at {stop} of {operations}");
                let mut h = Held::new(kind);
                let clone = h.clone();
                assert!(!run(&mut h, stop), "{place}");
                let after = h.elements();
                // After its last operation the program has exited its regions.
                if takes_back && stop < operations {
                    assert_eq!(h.table.to_vec().unwrap(), TABLE, "{place}");
                }
                assert_eq!(clone.elements(), before, "{place}");
                assert_eq!(after.len(), before.len(), "{place}");
                // It can continue with the existing state, and from the beginning.
                assert!(run(&mut h, u32::MAX), "{place}");
                h.elements();
                let mut again = clone;
                assert!(run(&mut again, u32::MAX), "{place}");
                assert_eq!(again.elements(), expected, "{place}");
            }
        }
    });
}

// rows: C049
#[test]
fn branches_that_are_aborted_leave_contents() {
    trial("branches", true, branches);
}

// rows: O51 O53
#[test]
fn loops_that_are_aborted_leave_contents() {
    trial("loops", true, loops);
}

#[test]
fn exits_that_are_aborted_leave_contents() {
    trial("exits", true, |h| drop(exits(h)));
}

#[test]
fn matches_that_are_aborted_leave_contents() {
    trial("matches", true, matches);
}

#[test]
fn calls_that_are_aborted_leave_contents() {
    trial("calls", false, calls);
}

#[test]
fn evaluated_loops_that_are_aborted_leave_contents() {
    trial("evaluated", false, evaluated);
}

#[test]
fn a_state_that_was_not_assigned_is_unchanged() {
    #[jit]
    fn run(x: &mut Float, memory: &mut Local<u32>, count: &mut UInt) {
        while *count < 3 {
            tick();
            *x += 1.0;
            memory.write(&UInt::from(0), &*count);
            *count += 1;
        }
    }
    on_each_device(|| {
        let (mut x, mut memory) = (Float::from([1.0, 2.0]) * 3.0, Local::<u32>::new(2));
        memory.write(&UInt::from(0), &(UInt::from([4, 5]) + 1));
        let mut count = UInt::from([0, 0]) * 1;
        LEFT.set(1);
        assert!(is_stopped(|| run(&mut x, &mut memory, &mut count)));
        assert_eq!(x.to_vec().unwrap(), [3.0, 6.0]);
        assert_eq!(memory.read(&UInt::from(0)).to_vec().unwrap(), [5, 6]);
        assert_eq!(count.to_vec().unwrap(), [0, 0]);
    });
}

/// A rejection at the end of a region ends it like a panic inside it.
#[test]
fn rejected_regions_leave_contents() {
    #[jit]
    fn widths(x: &mut Float, table: &mut UInt, mask: &Mask) {
        if *mask {
            table.scatter_add(1, &UInt::from([0, 1]));
            *x = Float::arange(3);
        } else {
            table.scatter_add(2, &UInt::from([0, 1]));
        }
    }
    #[jit]
    fn widths_of_a_loop(x: &mut Float, table: &mut UInt, count: &mut UInt) {
        while *count < 2 {
            table.scatter_add(1, &*count);
            *x = Float::arange(3);
            *count += 1;
        }
    }
    #[jit]
    fn reads(x: &mut Float, table: &mut UInt, count: &mut UInt) {
        while *count < 2 {
            table.scatter_add(1, &*count);
            *x += table.gather(&*count).cast::<f32>();
            *count += 1;
        }
    }
    on_each_device(|| {
        let made = || (Float::from([1.0, 2.0]) * 2.0, UInt::from([5, 6]) + 1, UInt::from([0, 1]) * 1);
        let (mut x, mut table, count) = made();
        let message = message_of(|| widths(&mut x, &mut table, &count.eq(0)));
        assert!(message.contains("width"), "{message}");
        assert_eq!(table.to_vec().unwrap(), [6, 7]);
        x.to_vec().unwrap();
        for program in [widths_of_a_loop, reads] {
            let (mut x, mut table, mut count) = made();
            let message = message_of(|| program(&mut x, &mut table, &mut count));
            assert!(message.contains("width"), "{message}");
            assert_eq!(table.to_vec().unwrap(), [6, 7]);
            x.to_vec().unwrap();
            count.to_vec().unwrap();
        }
    });
}

#[test]
fn a_panic_that_is_caught_in_a_region_undoes_its_writes() {
    #[jit]
    fn inner(table: &mut UInt, at: &UInt) {
        if *at < 2 {
            table.scatter_add(10, at);
            tick();
        }
    }
    #[jit]
    fn outer(table: &mut UInt, at: &UInt) {
        if *at > 0 {
            table.scatter_add(1, at);
            assert!(is_stopped(|| inner(table, at)));
            table.scatter_add(2, at);
        }
    }
    on_each_device(|| {
        for lazy in [true, false] {
            let mut table = if lazy { UInt::from([1, 2, 3]) + 4 } else { resident([5, 6, 7]) };
            LEFT.set(1);
            outer(&mut table, &UInt::arange(3));
            assert_eq!(table.to_vec().unwrap(), [5, 9, 10]);
        }
    });
}
