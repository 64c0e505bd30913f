//! What the messages about names of other libraries say to write: it exists, and does what these names promise.

use jit::prelude::*;
use jit::{ReduceOp, Scan};

fn floats<const N: usize>(x: &Float, wanted: [f32; N]) {
    assert_eq!(x.to_vec().unwrap(), wanted);
}

fn elements<const N: usize>(x: &Tensor<f32>, wanted: [f32; N]) {
    assert_eq!(x.to_vec().unwrap(), wanted);
}

#[test]
fn messages_about_arrays_name_what_exists() {
    let (x, y) = (Float::from([1.0, 2.0, 3.0, 4.0]), Float::from([1.0, 2.0, 3.0, 4.5]));
    assert!(!(&x - &y).abs().le(1e-6).all().item().unwrap(), "allclose");
    assert_eq!(x.ne(2.0).compress().to_vec().unwrap(), [0, 2, 3], "argwhere");
    floats(&x.prefix_reduce(ReduceOp::Max), [1.0, 2.0, 3.0, 4.0]);
    floats(&x.filter(&x.gt(1.5)), [2.0, 3.0, 4.0]);
    let holes = Float::from([1.0, f32::NAN]);
    floats(&holes.is_nan().select(0.0, &holes), [1.0, 0.0]);
    floats(&(-&x % 3.0), [-1.0, -2.0, -0.0, -1.0]);
    let mut sums = Float::zeros(3);
    sums.scatter_add(&x, &UInt::from([0, 0, 1, 1]));
    floats(&sums, [3.0, 7.0, 0.0]);
    assert_eq!(x.product().item().unwrap(), 24.0, "prod");
    assert_eq!(x.gather(&UInt::from(1)).item().unwrap(), 2.0);
    assert_eq!(Tensor::from_array(x, [2, -1]).shape(), [2, 2]);
}

#[test]
fn messages_about_tensors_name_what_exists() {
    let x = Tensor::from_array(Float::arange(9), [3, -1]);
    let row = x.slice(s![1]);
    elements(&row, [3.0, 4.0, 5.0]);
    elements(&x.slice(s![.., 1]), [1.0, 4.0, 7.0]);
    elements(&x.slice(s![.., 1..3]), [1.0, 2.0, 4.0, 5.0, 7.0, 8.0]);
    elements(&(&x * Tensor::eye(3, 3)).sum(1), [0.0, 4.0, 8.0]);
    elements(&(row.expand_dims(1) * Tensor::eye(3, 3)), [3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 5.0]);
    assert_eq!((&x * Tensor::eye(3, 3)).sum(..).item().unwrap(), 12.0);
    let lower = Tensor::from_fn(x.shape(), |at| at[1].le(&at[0])).select(&x, 0.0);
    elements(&lower, [0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0]);
    let upper = Tensor::from_fn(x.shape(), |at| at[1].ge(&at[0])).select(&x, 0.0);
    elements(&upper, [0.0, 1.0, 2.0, 0.0, 4.0, 5.0, 0.0, 0.0, 8.0]);
    elements(&x.prefix(0, ReduceOp::Mul, Scan::inclusive()).slice(s![2]), [0.0, 28.0, 80.0]);
    elements(&x.take(0, UInt::from([2, 0])), [6.0, 7.0, 8.0, 0.0, 1.0, 2.0]);
    elements(&x.tensordot(&x, 1, 0).slice(s![0]), [15.0, 18.0, 21.0]);
    assert_eq!(Tensor::concat(&[&x, &x], 0).shape(), [6, 3], "vstack");
    assert_eq!(Tensor::concat(&[&x, &x], 1).shape(), [3, 6], "hstack");
    assert_eq!(x.split(3, 0).len(), 3);
    let mut written = x.clone();
    written.set(s![&UInt::from([2, 0])], Tensor::zeros([2, 3]));
    elements(&written, [0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0]);
    let log_sum = (&row - row.reduce_max(..)).exp().sum(..).ln() + row.reduce_max(..);
    assert!((log_sum.item().unwrap() - 5.407_606).abs() < 1e-5, "logsumexp");
}
