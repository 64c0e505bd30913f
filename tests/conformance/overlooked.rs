//! Small differences that decide about results: which operations share a kernel, which values are the same, what belongs to which lane.

#![allow(clippy::erasing_op, reason = "a product with zero is as wide as its factor")]

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
        // Lane by lane, 0 would become 3 before it is counted.
        assert_eq!(x.to_vec().unwrap(), [5 * 2 + 500, 13 * 3 + 300]);
        // Those of one operation over as many lanes may be one kernel; over another number of lanes they are not.
        let mut x = resident([0_i32, 0, 0]);
        x.scatter_add(1, &index);
        x.scatter_add(Int::from([5, 6, 7]), &UInt::from([0, 1, 2]));
        assert_eq!(x.to_vec().unwrap(), [10, 9, 7]);
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
        // A mask that is true on all lanes still makes lanes, of an expression as of memory.
        let all = Mask::full(true, 3);
        for source in [resident([7_u32, 8]), resident([6_u32, 7]) + 1, resident([7_u32, 8]).sin_like()] {
            assert_eq!(source.gather_masked(&UInt::opaque(1), &all).to_vec().unwrap(), [8, 8, 8]);
            assert_eq!(source.gather_masked(&UInt::from(1), &all).to_vec().unwrap(), [8, 8, 8]);
        }
    });
}

trait SinLike {
    /// The same elements, after something that is no small expression.
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

/// Targets that differ in nothing but which state they use, or how wide what they hold is.
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

/// What lanes that are left share, when fewer and fewer are left.
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

/// A table of more elements than threads merge at a time.
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
    jit::set_threads(threads);
    assert!(got == expected, "element {:?}", got.iter().zip(&expected).position(|(a, b)| a != b));
}
