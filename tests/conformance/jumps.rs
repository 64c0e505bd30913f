//! Leaving loops and functions.

use super::{on_each_device, resident};
use jit::prelude::*;

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

#[test]
fn lanes_return_from_a_branch_and_others_go_on() {
    on_each_device(|| {
        let got = root(&resident([-4.0, 4.0, 9.0, 6.25]), &Float::from(-1.0));
        assert_eq!(got.to_vec().unwrap(), [-1.0, 2.0, 30.0, 2.5]);
    });
}
