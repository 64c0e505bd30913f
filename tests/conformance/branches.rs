//! Traced branches: which parts of them are recorded, and how wide the results are. Recorded branches, and those of
//! which both sides run, have the same results.

use jit::prelude::*;

use crate::modes::{in_each_mode, modes};
use crate::{message_of, on_each_device, resident};

modes! {
    fn choose(mask: &Mask, x: &UInt, calls: &mut [u32; 2]) -> UInt {
        { let mut x = x.clone(); }
        if (mask) { #[host] { calls[0] += 1; } x += 1; } else { #[host] { calls[1] += 1; } x = &x * 2 + 2; }
        { x }
    }

    fn assigned(x: &UInt) -> (UInt, UInt) {
        { let (mut a, mut b) = (UInt::from(5), x.clone()); }
        if (x > 4) { a = UInt::from(10); b = UInt::from(10); } else { b = UInt::from(5); }
        { (a, b) }
    }

    fn wide_arms(mask: &Mask, x: &Float) -> Float {
        { let mut y = Float::from(1.0); }
        if (mask) { y = x.sin().exp().sin().exp() + 1.0; } else { y = x.cos().exp().cos().exp() * 2.0; }
        { y }
    }

    fn mismatched(mask: &Mask, a: &Float, b: &Float) -> Float {
        { let y; }
        if (mask) { y = a.clone(); } else { y = b.clone(); }
        { y }
    }
}

// rows: C045 C050 C051 C060 C061
#[test]
fn each_lane_gets_what_its_arm_gives() {
    in_each_mode!(assigned [symbolic evaluated], |run| {
        let x = UInt::from([5, 6, 1, 0]);
        let (a, b) = run(&x);
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![10, 10, 5, 5], vec![10, 10, 5, 5]));
        assert_eq!(x.to_vec().unwrap(), [5, 6, 1, 0], "the arguments are not changed");
    });
}

// rows: C044
#[test]
fn a_constant_condition_runs_one_arm() {
    in_each_mode!(choose [symbolic evaluated], |run| {
        let mut calls = [0; 2];
        let y = run(&Mask::from(true), &UInt::from(4), &mut calls);
        assert_eq!((calls, y.to_vec().unwrap()), ([1, 0], vec![5]));
        assert!(y.is_evaluated(), "the result for constants is a constant");
        // A condition of many lanes widens values even if it is constant, and both arms must be known.
        let known = Mask::from([false, false]).bitand_constant();
        let message = crate::message_of(|| run(&known, &UInt::from(4), &mut calls));
        assert!(message.contains("the host variable `calls[0]` changes"), "{message}");
    });
}

/// A mask that is false whatever its lanes are.
trait Constant {
    fn bitand_constant(&self) -> Mask;
}

impl Constant for Mask {
    fn bitand_constant(&self) -> Mask {
        self & Mask::from(false)
    }
}

// rows: C066
#[test]
fn a_uniform_condition_may_choose_between_wide_values() {
    in_each_mode!(wide_arms [symbolic evaluated], |run| {
        let x = resident([0.1_f32, 0.7, 1.3]);
        for condition in [true, false] {
            let expected: Vec<f32> = {
                let y = if condition { x.sin().exp().sin().exp() + 1.0 } else { x.cos().exp().cos().exp() * 2.0 };
                y.to_vec().unwrap()
            };
            for mask in [Mask::opaque(condition), resident([condition])] {
                assert_eq!(run(&mask, &x).to_vec().unwrap(), expected);
            }
        }
    });
}

#[test]
// rows: C046 C047 C048
fn widths_that_do_not_fit_into_a_branch_are_refused() {
    in_each_mode!(mismatched [symbolic evaluated], |run| {
        let mask = resident([true, false]);
        for (a, b) in [(2, 3), (3, 1), (0, 1)] {
            let message = message_of(|| run(&mask, &Float::zeros(a), &Float::ones(b)));
            let says = |text: &str| message.contains(text);
            let is_refused = says("do not match") || says("the arms of a traced `if` assign values of width");
            assert!(is_refused, "{message}");
            assert!(message.contains("branches.rs"), "{message}");
        }
        assert_eq!(run(&Mask::from([]), &Float::from(1.0), &Float::from(2.0)).len(), 0);
    });
}

fn refuse(x: &Float, refuses: bool) -> Float {
    assert!(!refuses, "not in this arm, in {} lanes", x.len());
    x + 1.0
}

modes! {
    fn failing(mask: &Mask, x: &Float, first: bool, second: bool) -> Float {
        { let mut x = x.clone(); }
        if (mask) { x = refuse(&x, first); } else { x = refuse(&x, second) + 1.0; }
        { x }
    }
}

#[test]
// rows: C049
fn a_panic_in_an_arm_closes_the_branch() {
    in_each_mode!(failing [symbolic evaluated], |run| {
        let (mask, x) = (resident([true, false]), Float::from([1.0, 2.0]));
        for (first, second) in [(true, false), (false, true)] {
            assert_eq!(message_of(|| run(&mask, &x, first, second)), "not in this arm, in 2 lanes");
            let mut target = resident([0_u32; 2]);
            target.scatter(7, &UInt::from([1]));
            assert_eq!(target.gather(&UInt::from([0, 1])).to_vec().unwrap(), [0, 7]);
        }
        assert_eq!(run(&mask, &x, false, false).to_vec().unwrap(), [2.0, 4.0]);
    });
}

modes! {
    fn in_containers(mask: &Mask, pair: &mut (UInt, UInt), list: &mut Vec<UInt>, nested: &mut [Option<UInt>; 1]) {
        { }
        if (mask) { pair.0 += 100; list[0] -= 1; nested[0] = Some(UInt::from(7)); } else { pair.0 += 10; list[1] += 1; }
        { }
    }
}

// rows: C055 C059 C062
#[test]
fn parts_of_values_change_lane_by_lane() {
    in_each_mode!(in_containers [symbolic evaluated], |run| {
        let mut pair = (UInt::from([1, 2, 3]), UInt::from([5, 5, 5]));
        let (mut list, mut nested) = (vec![UInt::from([4, 4, 4]), UInt::from(0)], [Some(UInt::from([0, 1, 2]))]);
        let (pair_before, second) = (pair.clone(), pair.1.clone());
        run(&resident([true, false, true]), &mut pair, &mut list, &mut nested);
        assert_eq!(pair.0.to_vec().unwrap(), [101, 12, 103]);
        assert!(pair.1.var().is_same(second.var()), "unchanged values are the same nodes");
        assert_eq!(list[0].to_vec().unwrap(), [3, 4, 3]);
        assert_eq!(list[1].to_vec().unwrap(), [0, 1, 0]);
        assert_eq!(nested[0].as_ref().unwrap().to_vec().unwrap(), [7, 1, 7]);
        assert_eq!(pair_before.0.to_vec().unwrap(), [1, 2, 3]);
    });
}

modes! {
    fn host_numbers(mask: &Mask, n: u32) -> u32 {
        { let mut n = n; }
        if (mask) { n = 5; } else { n = 10; }
        { n }
    }
}

// rows: C052
#[test]
fn host_values_that_differ_between_arms_are_named() {
    in_each_mode!(host_numbers [symbolic evaluated], |run| {
        let message = message_of(|| run(&resident([true, false]), 5));
        assert!(message.contains("the host variable `n` changes from 5 to 10 inside an `if`"), "{message}");
    });
}

modes! {
    fn effects(mask: &Mask, a: &mut UInt, b: &mut UInt, inner: &Mask) {
        { }
        if (mask) { a.scatter_add_masked(1, &UInt::from([0, 1, 0, 1, 0]), inner); }
            else { b.scatter_add_masked(1, &UInt::from(0), inner); }
        { }
    }

    fn both_arms_write(mask: &Mask, a: &mut UInt, index: &UInt) {
        { }
        if (mask) { a.scatter_add(1, index); } else { a.scatter_add(10, index); }
        { a.scatter_add(100, &UInt::from(1)); }
    }
}

// rows: C053 C054
#[test]
fn arms_write_on_their_own_lanes() {
    in_each_mode!(effects [symbolic evaluated], |run| {
        let mask = resident([true, true, true, false, false]);
        for inner in [true, false] {
            for (a_is_held, b_is_held) in [(false, false), (true, false), (false, true)] {
                let (mut a, mut b) = (resident([0_u32, 0]), resident([0_u32, 0]));
                let held = [a_is_held.then(|| a.clone()), b_is_held.then(|| b.clone())];
                run(&mask, &mut a, &mut b, &Mask::from(inner));
                let on = u32::from(inner);
                assert_eq!(a.to_vec().unwrap(), [2 * on, on]);
                assert_eq!(b.to_vec().unwrap(), [2 * on, 0]);
                assert!(held.iter().flatten().all(|old| old.to_vec().unwrap() == [0, 0]));
            }
        }
    });
    in_each_mode!(both_arms_write [symbolic evaluated], |run| {
        let mut a = resident([0_u32; 3]);
        run(&resident([true, false, true, false]), &mut a, &UInt::from([0, 0, 2, 1]));
        assert_eq!(a.to_vec().unwrap(), [11, 110, 1]);
    });
}

#[jit]
fn graded(x: &UInt) -> UInt {
    let mut y = x.clone();
    if x < 5 {
        if x < 2 {
            y = x + 1;
        } else if x == 4 {
            y = UInt::from(3);
        } else {
            y = x - 1;
        }
    } else {
        #[evaluated]
        if x > 6 {
            y = x - 1;
        } else {
            y = x + 1;
        }
    }
    y
}

// rows: C058
#[test]
fn branches_nest() {
    on_each_device(|| {
        assert_eq!(graded(&UInt::arange(10)).to_vec().unwrap(), [1, 2, 1, 2, 3, 6, 7, 6, 7, 8]);
    });
}

modes! {
    fn two_outputs(mask: &Mask, x: &UInt) -> (UInt, UInt) {
        { let (mut a, mut b) = (x.clone(), x.clone()); }
        if (mask) { a = x * 3 % 1000 / 7 * 5 % 997 / 3; b = &a + 200; }
            else { a = x * 7 % 1013 / 5 * 3 % 991 / 2; b = &a * 20; }
        { (a, b) }
    }
}

// rows: C067
#[test]
fn outputs_of_a_branch_are_computed_one_after_another() {
    in_each_mode!(two_outputs [symbolic evaluated], |run| {
        let values = [123_u32, 456, 789];
        let host: Vec<(u32, u32)> = values
            .iter()
            .zip([true, false, true])
            .map(|(x, mask)| {
                let a = if mask { x * 3 % 1000 / 7 * 5 % 997 / 3 } else { x * 7 % 1013 / 5 * 3 % 991 / 2 };
                (a, if mask { a + 200 } else { a * 20 })
            })
            .collect();
        for first in [true, false] {
            let (a, b) = run(&resident([true, false, true]), &resident(values));
            let sums: Vec<u32> = host.iter().map(|(a, b)| a + b).collect();
            jit::eval(if first { &a } else { &b }).unwrap();
            assert_eq!((&a + &b).to_vec().unwrap(), sums);
            assert_eq!(b.to_vec().unwrap(), host.iter().map(|(_, b)| *b).collect::<Vec<_>>());
        }
    });
}

#[jit]
fn unused_arm_values(mask: &Mask, x: &Float, missing: &Float) -> (Float, Float) {
    let (mut a, mut b) = (x.clone(), x.clone());
    if mask {
        a = x.sin().exp().sin().exp();
        b = missing.sin().exp();
    } else {
        a = x.cos();
        b = missing.exp().sin();
    }
    (a, b)
}

#[test]
fn unused_outputs_of_a_branch_are_not_computed() {
    on_each_device(|| {
        let (a, b) = unused_arm_values(&resident([true, false]), &resident([0.5_f32, 0.5]), &Float::placeholder(2));
        assert_eq!(a.to_vec().unwrap()[1], Float::from(0.5).cos().item().unwrap());
        assert!(b.to_vec().is_err(), "it depends on a placeholder");
    });
}

#[jit]
fn reads_in_arms(mask: &Mask, x: &Float) -> (Float, f32) {
    let (mut y, mut seen) = (x.clone(), 0.0);
    #[evaluated]
    if mask {
        y += 1.0;
        #[host]
        if seen == 0.0 {
            assert!(y.sum().item().unwrap() > 0.0);
        }
    }
    #[host]
    {
        seen += y.sum().item().unwrap();
    }
    (y, seen)
}

#[test]
fn arms_of_an_evaluated_branch_can_read() {
    on_each_device(|| {
        let (y, seen) = reads_in_arms(&resident([true, false]), &resident([1.0_f32, 2.0]));
        assert_eq!((y.to_vec().unwrap(), seen), (vec![2.0, 2.0], 4.0));
    });
}

#[jit]
fn takes_what_was_written_before(mask: &Mask, x: &mut UInt) -> UInt {
    let mut written = x.clone();
    written.scatter(7, &UInt::from([0]));
    let mut taken = x.clone();
    if mask {
        taken = written.clone();
    }
    *x = written;
    taken
}

#[test]
fn an_array_that_was_written_before_a_branch_is_taken_on_its_lanes() {
    on_each_device(|| {
        let mut x = resident([1_u32, 2]);
        assert_eq!(takes_what_was_written_before(&resident([false, true]), &mut x).to_vec().unwrap(), [1, 2]);
        let mut x = resident([1_u32, 2]);
        assert_eq!(takes_what_was_written_before(&resident([true, true]), &mut x).to_vec().unwrap(), [7, 2]);
        assert_eq!(x.to_vec().unwrap(), [7, 2]);
    });
}
