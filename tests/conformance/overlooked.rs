//! Small differences that affect results: which operations share a kernel, which values are the same, which state
//! belongs to which lane.

#![allow(clippy::erasing_op, reason = "a product with zero is as wide as its factor")]

use std::cell::Cell;

use jit::ReduceOp;
use jit::prelude::*;

use crate::{on_each_device, resident};

#[test]
fn scatters_of_different_operations_do_not_mix() {
    on_each_device(|| {
        let index = resident([0_u32, 0, 1, 0, 1, 0, 0, 1]);
        let mut x = resident([0_i32, 10]);
        x.scatter_add(Int::from([1, 1, 1, 1, 1, 1, 1, 1]), &index);
        x.scatter_reduce(ReduceOp::Max, Int::from([3, 3, 3, 3, 3, 3, 3, 3]), &index);
        x.scatter_reduce(ReduceOp::Mul, Int::from([2, 1, 1, 1, 1, 1, 1, 3]), &index);
        x.scatter_add(Int::full(100, 8), &index);
        // If it ran lane by lane, 0 would become 3 before it is counted.
        assert_eq!(x.to_vec().unwrap(), [5 * 2 + 500, 13 * 3 + 300]);
        // Those of one operation over the same number of lanes may be one kernel; over different numbers of lanes they
        // are not.
        let mut x = resident([0_i32, 0, 0]);
        x.scatter_add(1, &index);
        x.scatter_add(Int::from([5, 6, 7]), &UInt::from([0, 1, 2]));
        assert_eq!(x.to_vec().unwrap(), [10, 9, 7]);
    });
}

/// Wide enough that the lanes of one kernel do not all run at once: the second write of the first lane comes before the
/// first write of the last lane.
#[test]
fn scatters_one_after_another_are_not_run_lane_by_lane() {
    const LANES: usize = 50_000;
    on_each_device(|| {
        let (own, other) = (UInt::arange(LANES), (UInt::arange(LANES) + LANES as u32 / 2) % LANES as u32);
        jit::eval(&(own.clone(), other.clone())).unwrap();
        let mut x = UInt::zeros(LANES);
        x.scatter(1, &own);
        x.scatter(2, &other);
        assert!(x.to_vec().unwrap().iter().all(|&x| x == 2));
        let mut x = UInt::zeros(LANES);
        x.scatter_add(&own * 0 + 5, &own);
        x.scatter_reduce(ReduceOp::Max, &own * 0 + 3, &other);
        assert!(x.to_vec().unwrap().iter().all(|&x| x == 5));
        let mut x = resident([1_u32, 2, 3, 4]);
        x.scatter_reduce(ReduceOp::Max, &own % 7, &(&own % 4));
        x.scatter_add(&own * 0 + 1, &(&own % 4));
        assert_eq!(x.to_vec().unwrap(), [6 + LANES as u32 / 4; 4]);
    });
}

/// A scatter that could be part of the kernel of the one before it, except that a later kernel computes its value.
#[test]
fn a_scatter_waits_for_the_kernel_that_has_its_value() {
    on_each_device(|| {
        let index = resident([0_u32, 1, 1, 3]);
        let mut x = resident([10_u32, 20, 30, 40]);
        x.scatter_add(1, &index);
        let total = (&index + 1).sum();
        x.scatter_add(&index * 0 + &total, &index);
        assert_eq!(x.to_vec().unwrap(), [10 + 10, 20 + 2 * 10, 30, 40 + 10]);
    });
}

/// Scatters that share a kernel, next to a kernel of another width.
#[test]
fn scatters_of_one_kernel_are_complete_beside_other_kernels() {
    on_each_device(|| {
        let (index, other) = (resident([0_u32, 1, 1, 3]), resident([1.0_f32, 2.0, 3.0]));
        let mut x = resident([10_u32, 20, 30, 40]);
        x.scatter_add(1, &index);
        x.scatter_add(&index + 1, &index);
        let y = &other * 2.0;
        jit::eval(&(x.clone(), y.clone())).unwrap();
        assert_eq!(x.to_vec().unwrap(), [12, 26, 30, 45]);
        assert_eq!(y.to_vec().unwrap(), [2.0, 4.0, 6.0]);
    });
}

/// The result of a scatter is the value of another one, and only the second array is requested at first.
#[test]
fn a_scatter_behind_the_value_of_another_one_runs_once() {
    on_each_device(|| {
        let index = resident([2_u32, 0, 1, 3]);
        let mut x = resident([10_u32, 20, 30, 40]);
        let mut y = resident([0_u32, 0, 0, 0]);
        let before = x.scatter_inc(&index);
        y.scatter_add(&before, &index);
        assert_eq!(y.to_vec().unwrap(), [10, 20, 30, 40]);
        assert_eq!(x.to_vec().unwrap(), [11, 21, 31, 41]);
        assert_eq!(before.to_vec().unwrap(), [30, 10, 20, 40]);
    });
}

#[test]
fn equal_constants_of_different_widths_are_different_states() {
    #[jit]
    fn widened(n: &UInt) -> (Float, UInt) {
        let (mut x, mut i) = (Float::from(2.0), n.zeros_like());
        while i < *n {
            x = Float::full(2.0, 4);
            i += 1;
        }
        (x, i)
    }
    #[jit]
    fn chosen(mask: &Mask) -> Float {
        if *mask { Float::from(2.0) } else { Float::full(2.0, 4) }
    }
    on_each_device(|| {
        for n in [UInt::opaque(3), UInt::from([1, 0, 2, 3]), UInt::opaque(0)] {
            let (x, _) = widened(&n);
            assert_eq!(x.to_vec().unwrap(), [2.0; 4]);
        }
        assert_eq!(chosen(&Mask::opaque(true)).to_vec().unwrap(), [2.0; 4]);
        assert_eq!(chosen(&Mask::opaque(false)).to_vec().unwrap(), [2.0; 4]);
    });
}

#[test]
fn a_gather_of_a_masked_gather_keeps_both_masks() {
    on_each_device(|| {
        let x = resident([10_u32, 20, 30, 40]);
        let inner = x.gather_masked(&resident([3_u32, 2, 1, 0]), &resident([true, false, true, true]));
        // [40, 0, 20, 10], which is not computed.
        assert!(!inner.is_evaluated());
        assert_eq!(inner.gather(&resident([1_u32, 0, 2, 9])).to_vec().unwrap(), [0, 40, 20, 0]);
        let outer = inner.gather_masked(&resident([0_u32, 1, 2, 3]), &resident([true, true, false, true]));
        assert_eq!(outer.to_vec().unwrap(), [40, 0, 0, 10]);
        let of_sum = (&inner + 1).gather_masked(&resident([1_u32, 2, 0, 7]), &resident([true, false, true, true]));
        assert_eq!(of_sum.to_vec().unwrap(), [1, 0, 41, 0]);
        // A mask that is true on all lanes still widens its result, both for expressions and for memory.
        let all = Mask::full(true, 3);
        for source in [resident([7_u32, 8]), resident([6_u32, 7]) + 1, resident([7_u32, 8]).sin_like()] {
            assert_eq!(source.gather_masked(&UInt::opaque(1), &all).to_vec().unwrap(), [8, 8, 8]);
            assert_eq!(source.gather_masked(&UInt::from(1), &all).to_vec().unwrap(), [8, 8, 8]);
        }
    });
}

trait SinLike {
    /// The same elements, after a node that is not a small expression.
    fn sin_like(&self) -> Self;
}

impl SinLike for UInt {
    fn sin_like(&self) -> UInt {
        self.reverse().prefix_sum() * 0 + self
    }
}

#[test]
fn a_read_of_one_element_in_a_branch_is_as_wide_from_memory_as_computed() {
    #[jit]
    fn total(table: &UInt, at: &UInt, mask: &Mask) -> UInt {
        let mut total = UInt::from(0);
        if *mask {
            total = table.gather(at).sum();
        }
        total
    }
    on_each_device(|| {
        let mask = resident([true, false, true]);
        let expected = [20, 0, 20];
        let stored = resident([10_u32, 20]);
        let lazy = resident([9_u32, 19]) + 1;
        for table in [stored, lazy] {
            for at in [UInt::from(1), UInt::opaque(1)] {
                assert_eq!(total(&table, &at, &mask).to_vec().unwrap(), expected);
            }
        }
    });
}

#[jit]
fn scattered_where(target: &mut UInt, old: &mut UInt, c: &Mask, m: &Mask, index: &UInt, value: &UInt) {
    if *c {
        target.scatter_masked(value, index, m);
        old.scatter_reduce_masked(ReduceOp::Add, value, index, m);
    } else {
        target.scatter_masked(value + 100, index, &!m);
    }
}

#[test]
fn a_masked_scatter_in_a_branch_writes_where_both_hold() {
    on_each_device(|| {
        let (c, m) = (resident([true, true, false, false]), resident([true, false, true, false]));
        let (index, value) = (resident([0_u32, 1, 2, 3]), resident([5_u32, 6, 7, 8]));
        let (mut target, mut sums) = (resident([1_u32, 1, 1, 1]), resident([2_u32, 2, 2, 2]));
        scattered_where(&mut target, &mut sums, &c, &m, &index, &value);
        assert_eq!(target.to_vec().unwrap(), [5, 1, 1, 108]);
        assert_eq!(sums.to_vec().unwrap(), [7, 2, 2, 2]);
    });
}

/// Targets that differ only in which state they use, or in the width of their fields.
#[test]
fn targets_with_other_states_and_widths_are_not_merged() {
    type Target = Box<dyn Fn(UInt) -> UInt>;
    #[jit]
    fn steps(x: &UInt, what: u32, held: &UInt) -> UInt {
        let (mut a, mut b, mut i) = (x.clone(), x * 0 + 1, x * 0);
        while i < 3 {
            let (p, q) = (a.clone(), b.clone());
            a = match what {
                0 => &p + &q,
                1 => &p + &p,
                2 => &q + &q,
                _ => &q + &p * held,
            };
            b = &q + 2;
            i += 1;
        }
        if what == 4 { b } else { a }
    }
    let plain = |x: u32, what: u32, held: u32| {
        let (mut a, mut b) = (x, 1);
        for _ in 0..3 {
            let (p, q) = (a, b);
            a = match what {
                0 => p + q,
                1 => p + p,
                2 => q + q,
                _ => q + p * held,
            };
            b = q + 2;
        }
        if what == 4 { b } else { a }
    };
    on_each_device(|| {
        let wide = [3_u32, 1, 2, 5, 4, 1];
        let held = [UInt::from(2), UInt::opaque(3), resident(wide), UInt::opaque(7)];
        let made = |what: u32, held: UInt| -> Target { Box::new(move |x| steps(&x, what, &held)) };
        let targets: Vec<Target> = vec![
            made(0, held[0].clone()),
            made(1, held[0].clone()),
            made(2, held[0].clone()),
            made(3, held[1].clone()),
            made(3, held[2].clone()),
            made(3, held[3].clone()),
            made(4, held[1].clone()),
        ];
        let whats = [(0, 2), (1, 2), (2, 2), (3, 3), (3, 0), (3, 7), (4, 3)];
        let x = [1_u32, 2, 3, 4, 5, 6];
        for first in 0..7_u32 {
            let index: Vec<u32> = (0..6).map(|lane| (first + lane) % 7).collect();
            let y = jit::switch(UInt::from(index.clone()), &targets, (resident(x),));
            let expected = (0..6).map(|lane| {
                let (what, held) = whats[index[lane] as usize];
                plain(x[lane], what, if index[lane] == 4 { wide[lane] } else { held })
            });
            assert_eq!(y.to_vec().unwrap(), expected.collect::<Vec<_>>());
        }
    });
}

/// Values that the remaining lanes share, when fewer and fewer remain.
#[test]
fn lanes_that_exit_repeatedly_keep_their_values() {
    #[jit]
    fn run(limit: &UInt, weight: &Float) -> (Float, UInt, Float) {
        let (mut x, mut i, mut last) = (weight * 0.0, limit * 0, weight.clone());
        #[evaluated]
        #[compress]
        while i < *limit {
            x += weight * (&i + 1).cast::<f32>();
            if &i % 5 == 3 {
                last = &x + weight;
            }
            i += 1;
        }
        (x, i, last)
    }
    on_each_device(|| {
        let width = 3000_usize;
        let limits: Vec<u32> = (0..width as u32).map(|lane| lane * 7919 % 23).collect();
        let weights: Vec<f32> = (0..width).map(|lane| (lane % 17) as f32).collect();
        let (x, i, last) = run(&UInt::from(limits.clone()), &Float::from(weights.clone()));
        let (x, i, last) = (x.to_vec().unwrap(), i.to_vec().unwrap(), last.to_vec().unwrap());
        for lane in 0..width {
            let (mut wanted, mut wanted_last) = (0.0_f32, weights[lane]);
            for i in 0..limits[lane] {
                wanted += weights[lane] * (i + 1) as f32;
                if i % 5 == 3 {
                    wanted_last = wanted + weights[lane];
                }
            }
            assert_eq!((x[lane], i[lane], last[lane]), (wanted, limits[lane], wanted_last), "lane {lane}");
        }
    });
}

/// Some iterations cannot be computed for the remaining lanes alone: the state that they computed is the one that
/// continues.
#[test]
fn iterations_on_all_lanes_in_between_are_not_forgotten() {
    #[jit]
    fn run(limit: &UInt, weight: &Float) -> (Float, UInt) {
        let (mut x, mut i) = (weight * 0.0, limit * 0);
        let mut iteration = 0;
        #[evaluated]
        #[compress]
        while i < *limit {
            x += weight * 1.0;
            if iteration % 3 == 2 {
                x = x.prefix_sum() * 0.0 + &x;
            }
            i += 1;
            iteration += 1;
        }
        (x, i)
    }
    on_each_device(|| {
        let width = 3000_usize;
        let limits: Vec<u32> = (0..width as u32).map(|lane| lane * 7919 % 23).collect();
        let weights: Vec<f32> = (0..width).map(|lane| (lane % 17) as f32).collect();
        let (x, i) = run(&UInt::from(limits.clone()), &Float::from(weights.clone()));
        let expected: Vec<f32> = limits.iter().zip(&weights).map(|(&limit, weight)| limit as f32 * weight).collect();
        assert!(x.to_vec().unwrap() == expected && i.to_vec().unwrap() == limits);
    });
}

/// A table with more elements than threads merge at a time.
#[test]
fn sums_of_large_tables_are_complete_to_the_last_element() {
    let threads = jit::threads();
    jit::set_threads(4);
    let (elements, lanes) = (65_536 + 4097_u32, 1_000_003_usize);
    let index = UInt::arange(lanes) * 7 % elements;
    let mut table = UInt::zeros(elements as usize);
    table.scatter_add(1, &index);
    let mut expected = vec![0_u32; elements as usize];
    (0..lanes as u32).for_each(|lane| expected[(lane.wrapping_mul(7) % elements) as usize] += 1);
    let got = table.to_vec().unwrap();
    // Sums of floats are cut into segments by the sizes alone, so there are targets to merge however few threads take
    // part.
    let mut sums = Float::zeros(elements as usize);
    sums.scatter_add(1.0, &index);
    let sums = sums.to_vec().unwrap();
    jit::set_threads(threads);
    assert!(got == expected, "element {:?}", got.iter().zip(&expected).position(|(a, b)| a != b));
    let wrong = sums.iter().zip(&expected).position(|(a, b)| *a != *b as f32);
    assert!(wrong.is_none(), "element {wrong:?}");
}

/// Kernels run in the order of their dependencies, not in the order in which their first values are encountered.
#[test]
fn a_later_value_of_an_early_kernel_may_need_another_kernel() {
    on_each_device(|| {
        let (x, y) = (resident([1.0_f32, 2.0, 3.0, 4.0, 5.0]), resident([10.0_f32, 20.0, 30.0]));
        let a = &x * x.sum();
        let b = &x + y.sum();
        jit::eval(&(a.clone(), b.clone())).unwrap();
        assert_eq!(a.to_vec().unwrap(), [15.0, 30.0, 45.0, 60.0, 75.0]);
        assert_eq!(b.to_vec().unwrap(), [61.0, 62.0, 63.0, 64.0, 65.0]);
    });
}

/// One expensive value, in whole and reduced in different divisions.
#[test]
fn reductions_by_blocks_and_over_all_lanes_are_complete() {
    on_each_device(|| {
        let x = resident(std::array::from_fn::<f32, 256, _>(|lane| (lane % 16) as f32));
        let y = (0..12).fold(x.clone(), |y, _| (y + 1.0).sqrt().floor() + &x);
        let all = y.to_vec().unwrap();
        let y = (0..12).fold(x.clone(), |y, _| (y + 1.0).sqrt().floor() + &x);
        let (blocks, total, twice) = (y.block_sum(64), y.sum(), &y * 2.0);
        jit::eval(&(twice.clone(), blocks.clone(), total.clone())).unwrap();
        assert_eq!(twice.to_vec().unwrap(), all.iter().map(|y| y * 2.0).collect::<Vec<_>>());
        assert_eq!(blocks.to_vec().unwrap(), all.chunks(64).map(|block| block.iter().sum()).collect::<Vec<f32>>());
        assert_eq!(total.to_vec().unwrap(), [all.iter().sum::<f32>()]);
    });
}

/// Memory from before a loop, which is the initial state of each iteration.
#[test]
fn local_memory_from_outside_of_a_loop_is_as_it_was_in_each_iteration() {
    #[jit]
    fn run(n: &UInt) -> UInt {
        let mut outside = Local::<u32>::full(3, 4);
        outside.write(&UInt::from(1), n);
        let (mut i, mut sum) = (n * 0, n * 0);
        while i < *n {
            let mut inside = outside.clone();
            let before = inside.read(&(&i % 4));
            inside.write(&(&i % 4), &i + 100);
            sum += before + inside.read(&UInt::from(0));
            i += 1;
        }
        sum
    }
    let plain = |n: u32| {
        let mut outside = [3; 4];
        outside[1] = n;
        (0..n).fold(0, |sum, i| sum + outside[i as usize % 4] + if i % 4 == 0 { i + 100 } else { outside[0] })
    };
    on_each_device(|| {
        let n = [0_u32, 1, 2, 5, 9, 13];
        assert_eq!(run(&resident(n)).to_vec().unwrap(), n.map(plain));
    });
}

#[jit]
fn numbers_of_some_lanes(x: &UInt) -> UInt {
    let mut counter = UInt::zeros(1);
    let number = counter.scatter_inc(&UInt::zeros(x.width()));
    let mut y = UInt::zeros(x.width());
    if x % 2 == 1 {
        y = number + 1;
    }
    y
}

/// All lanes are counted, though only every other one uses its number.
#[test]
fn a_scatter_runs_on_all_its_lanes_even_if_some_use_what_it_gave() {
    on_each_device(|| {
        let x = resident(std::array::from_fn::<u32, 64, _>(|lane| lane as u32));
        let numbers = numbers_of_some_lanes(&x).to_vec().unwrap();
        assert!(numbers.iter().any(|&number| number > 32), "{numbers:?}");
        assert!((0..64).all(|lane| (numbers[lane] != 0) == (lane % 2 == 1)), "{numbers:?}");
    });
}

#[jit]
fn sums_and_memory(x: &Float) -> (Float, Float) {
    let (mut bins, mut memory) = (Float::zeros(4), Local::<f32>::new(4));
    let mut i = UInt::from(0);
    while i < 3 {
        bins.scatter_add(x, &i);
        memory.write(&i, x * 2.0 + i.cast::<f32>());
        i += 1;
    }
    // A sum is known after the first kernel, so the memory is read in the second one.
    let sum = x.sum();
    (bins, memory.read(&UInt::from(1)) * sum)
}

#[test]
fn a_loop_that_is_repeated_for_its_memory_scatters_once() {
    on_each_device(|| {
        let x = resident([1.0_f32, 2.0, 3.0, 4.0]);
        let (bins, y) = sums_and_memory(&x);
        jit::eval(&(&bins, &y)).unwrap();
        assert_eq!(bins.to_vec().unwrap(), [10.0, 10.0, 10.0, 0.0]);
        assert_eq!(y.to_vec().unwrap(), [30.0, 50.0, 70.0, 90.0]);
    });
}

/// The condition of the inner loop reads what the outer loop writes.
#[jit]
fn read_by_a_condition(counts: &mut UInt, n: &UInt) -> UInt {
    let own = UInt::arange(n.width());
    let (mut round, mut steps) = (UInt::from(0), UInt::zeros(n.width()));
    while &round < n {
        counts.scatter_add(1, &own);
        let mut step = UInt::from(0);
        while step < counts.gather(&own) {
            step += 1;
        }
        steps += step;
        round += 1;
    }
    steps
}

#[test]
fn a_condition_that_reads_an_array_that_the_loop_around_writes_is_rejected() {
    on_each_device(|| {
        let message = crate::message_of(|| read_by_a_condition(&mut resident([0_u32, 0, 0]), &resident([1_u32, 2, 3])));
        assert!(message.contains("an array is used in the traced `if` or `while` that writes to it"), "{message}");
    });
}

#[jit]
fn repeated_by_no_lane(x: &Float) -> Float {
    let mut x = x.clone();
    while Mask::full(true, x.width()) {
        x += 1.0;
    }
    x
}

#[test]
fn a_condition_that_is_true_on_no_lane_ends_a_loop() {
    on_each_device(|| assert_eq!(repeated_by_no_lane(&Float::zeros(0)).to_vec().unwrap(), [0.0_f32; 0]));
}

#[jit]
fn read_where_it_is_computed(x: &UInt, mask: &Mask, nodes: u32, is_refused: &Cell<bool>) -> UInt {
    let mut y = x.clone();
    if *mask {
        y = x * 3 + 7;
        for number in 0..nodes {
            drop(x + number);
        }
        is_refused.set(y.to_vec().is_err());
    }
    y
}

#[test]
fn a_value_of_a_branch_has_no_elements_there_whatever_was_computed_before_it() {
    on_each_device(|| {
        let (x, mask) = (resident([1_u32, 2]), resident([true, false]));
        // The expression was there before, and died, and so did many others.
        for nodes in [0, 0, 20_000, 20_000, 0] {
            let is_refused = Cell::new(false);
            let y = read_where_it_is_computed(&x, &mask, nodes, &is_refused);
            assert!(is_refused.get(), "{nodes}");
            assert_eq!(y.to_vec().unwrap(), [10, 2]);
        }
    });
}

#[test]
fn elements_behind_an_exclusive_reference_are_read_in_a_loop_that_does_not_change_them() {
    #[jit]
    fn nearest(x: &Float, centres: &mut Float, n: &UInt) -> Float {
        let (mut best, mut distance) = (Float::from(0.0), Float::from(f32::INFINITY));
        for i in UInt::from(0)..n.clone() {
            let d = (x - centres[i]).abs();
            if d < distance {
                (best, distance) = (centres[i], d);
            }
        }
        *centres = centres.clone() * 2.0;
        best
    }
    on_each_device(|| {
        let mut centres = resident([0.0, 5.0, 1.0]);
        let best = nearest(&resident([0.9, 4.0, -1.0, 0.9]), &mut centres, &resident([3, 3, 3, 2]));
        assert_eq!(best.to_vec().unwrap(), [1.0, 5.0, 0.0, 0.0]);
        assert_eq!(centres.to_vec().unwrap(), [0.0, 10.0, 2.0]);
    });
}
