//! Compilations by replays of frozen functions.

use jit::prelude::*;

use crate::{count, one_at_a_time};

#[freeze]
fn transposed(x: &Tensor<f32>) -> Tensor<f32> {
    x.transpose() * 2.0
}

fn matrix(rows: usize, columns: usize) -> Tensor<f32> {
    let x = Tensor::from_array(Float::arange(rows * columns), [rows, columns]);
    jit::eval(x.array()).expect("the array is evaluated");
    x
}

/// The compilations of a call.
fn compiles(rows: usize, columns: usize) -> u64 {
    let x = matrix(rows, columns);
    let mut result = Vec::new();
    let counts = count(|| result = transposed(&x).to_vec().expect("the call succeeds"));
    let wanted = (0..rows * columns).map(|at| 2.0 * ((at % rows) * columns + at / rows) as f32);
    assert_eq!(result, wanted.collect::<Vec<_>>());
    counts.compiles
}

#[test]
fn code_has_lengths_of_axes_as_constants_until_they_change() {
    if !crate::replays_alone() {
        return;
    }
    let _counting = one_at_a_time();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            // Recorded for one shape, and replayed; then one length is a parameter, then both.
            assert_eq!([compiles(30, 50), compiles(30, 50), compiles(30, 50)], [1, 0, 0]);
            assert_eq!([compiles(40, 50), compiles(41, 50), compiles(30, 50)], [1, 0, 0]);
            assert_eq!([compiles(31, 51), compiles(32, 52), compiles(40, 50), compiles(30, 51)], [1, 0, 0, 0]);
        });
    }
    let devices = crate::tested_devices::all().len() as u64;
    assert_eq!(transposed::stats().recordings, devices, "one for each device");
}
