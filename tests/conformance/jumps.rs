//! Leaving loops and functions.

use jit::prelude::*;

use crate::modes::{in_each_mode, modes};
use crate::{on_each_device, resident};

#[jit]
fn doubled_until(x: &Float, limit: f32) -> (Float, UInt) {
    let (mut y, mut turns) = (x.clone(), UInt::from(0));
    while turns < 10 {
        if y > limit {
            break;
        }
        y *= 2.0;
        turns += 1;
    }
    (y, turns)
}

// rows: C020
#[test]
fn lanes_break_out_of_a_loop_each_at_its_own_time() {
    on_each_device(|| {
        let (y, turns) = doubled_until(&resident([1.0, 3.0, 40.0, 0.0]), 10.0);
        assert_eq!(y.to_vec().unwrap(), [16.0, 12.0, 40.0, 0.0]);
        assert_eq!(turns.to_vec().unwrap(), [4, 2, 0, 10]);
    });
}

#[jit]
fn root(x: &Float, negative: &Float) -> Float {
    if x < 0.0 {
        return negative.clone();
    }
    let y = x.sqrt();
    if y > 2.0 {
        let z = y * 10.0;
        if z > 25.0 {
            return z;
        }
    }
    y
}

// rows: C056
#[test]
fn lanes_return_from_a_branch_and_others_continue() {
    on_each_device(|| {
        let got = root(&resident([-4.0, 4.0, 9.0, 6.25]), &Float::from(-1.0));
        assert_eq!(got.to_vec().unwrap(), [-1.0, 2.0, 30.0, 2.5]);
    });
}

modes! {
    fn steps_to_one(start: &UInt, limit: &UInt) -> (UInt, UInt) {
        { let (mut n, mut steps) = (start.clone(), UInt::from(0)); }
        while (n != 1) {
            if steps >= limit {
                break;
            }
            steps += 1;
            if n % 2 == 0 {
                n /= 2;
                continue;
            }
            n = 3 * n + 1;
        }
        { (n, steps) }
    }

    fn highest_below(start: &UInt, limit: u32) -> UInt {
        { let (mut n, mut highest) = (start.clone(), UInt::from(0)); }
        while (n > 1) {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            if n > limit {
                return start + 1000;
            }
            highest = highest.max(&n);
        }
        { highest }
    }
}

macro_rules! leaving {
    ($($name:ident: $($attribute:ident)*;)*) => {$(
        /// The first iteration in which the sum of two sequences exceeds a limit; both loops can be exited from within
        /// the inner one.
        #[jit]
        fn $name(step: &UInt, limit: &UInt) -> (UInt, UInt) {
            let (mut sum, mut turn) = (UInt::from(0), UInt::from(0));
            $(#[$attribute])*
            'outer: loop {
                turn += 1;
                let mut i = UInt::from(0);
                $(#[$attribute])*
                loop {
                    sum += step + i;
                    i += 1;
                    if sum > limit {
                        break 'outer;
                    }
                    if i == 3 {
                        continue 'outer;
                    }
                }
            }
            (sum, turn)
        }
    )*};
}

leaving! {
    leave_recorded: symbolic;
    leave_evaluated: evaluated;
    leave_compressed: evaluated compress;
}

fn collatz(mut n: u32, limit: u32) -> (u32, u32) {
    let mut steps = 0;
    while n != 1 && steps < limit {
        steps += 1;
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
    }
    (n, steps)
}

#[test]
fn lanes_break_and_continue_in_each_mode() {
    let (starts, limits) = ([7_u32, 1, 27, 6, 97, 2, 3], [100_u32, 3, 20, 0, 118, 1, 5]);
    in_each_mode!(steps_to_one [symbolic evaluated compressed], |run| {
        let (n, steps) = run(&resident(starts), &UInt::from(limits));
        let got: Vec<(u32, u32)> = std::iter::zip(n.to_vec().unwrap(), steps.to_vec().unwrap()).collect();
        assert_eq!(got, std::array::from_fn::<_, 7, _>(|i| collatz(starts[i], limits[i])));
        // All lanes take the same path.
        let (n, steps) = run(&UInt::opaque(27), &UInt::opaque(20));
        assert_eq!((n.item().unwrap(), steps.item().unwrap()), collatz(27, 20));
    });
}

#[test]
fn lanes_return_from_a_loop_in_each_mode() {
    in_each_mode!(highest_below [symbolic evaluated compressed], |run| {
        let got = run(&resident([7, 1, 27, 6, 97, 0, 5]), 100);
        assert_eq!(got.to_vec().unwrap(), [52, 0, 1027, 16, 1097, 0, 16]);
    });
}

#[test]
fn loops_within_loops_are_exited_in_each_mode() {
    for run in [leave_recorded, leave_evaluated, leave_compressed] {
        on_each_device(|| {
            let (steps, limits) = ([1_u32, 2, 5, 10, 1], [20_u32, 0, 100, 10, 1]);
            let (sum, turn) = run(&resident(steps), &resident(limits));
            let host = |step: u32, limit: u32| {
                let (mut sum, mut n) = (0, 0);
                while sum <= limit {
                    sum += step + n % 3;
                    n += 1;
                }
                (sum, n.div_ceil(3))
            };
            let got: Vec<(u32, u32)> = std::iter::zip(sum.to_vec().unwrap(), turn.to_vec().unwrap()).collect();
            assert_eq!(got, std::array::from_fn::<_, 5, _>(|i| host(steps[i], limits[i])));
        });
    }
}
