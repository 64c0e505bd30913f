//! Concatenations of few parts, whose derivative is that of their expressions, and of many, which have a rule.

use jit::ad;
use jit::prelude::*;

use crate::{check_function, check_second, on_each_device};

const VALUES: [f64; 6] = [1.5, -0.5, 2.0, 0.75, 3.0, -1.25];

/// Parts of different widths; some of them overlap, some have one element, and some have none.
fn joined(x: &Float64, count: usize) -> Float64 {
    let part = |k: usize| x.slice(k % 4..k % 4 + k % 3) * (k as f64 - 2.0);
    let parts: Vec<Float64> = (0..count).map(part).chain([x * x]).collect();
    Float64::concat(&parts)
}

fn columns(x: &Float64, count: usize) -> Float64 {
    let column = |k: usize| Tensor::from_array(x * (k as f64 + 0.5), [2, 3]).slice(jit::s![.., 0..1 + k % 3]);
    let parts: Vec<Tensor<f64>> = (0..count).map(column).collect();
    Tensor::concat(&parts, 1).into_array()
}

#[test]
fn each_part_gets_its_part_of_the_gradient() {
    on_each_device(|| {
        for count in [1, 3, 8, 9, 12, 13, 40] {
            check_function(&format!("{count} parts"), &|x| joined(x, count), &VALUES);
            check_second(&format!("{count} parts"), &|x| joined(x, count).sin(), &VALUES);
            check_function(&format!("{count} columns"), &|x| columns(x, count), &VALUES);
        }
    });
}

#[test]
fn parts_without_gradients_are_constants() {
    on_each_device(|| {
        let mut x = Float64::from(VALUES);
        x.enable_grad();
        let constant = Float64::from([7.0, 8.0]);
        let parts: Vec<&Float64> = (0..20).map(|k| if k % 3 == 0 { &x } else { &constant }).collect();
        let y = Float64::concat(&parts);
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [7.0; 6]);
        let tangents =
            ad::jvp(|x: &Float64| Float64::concat(&[x, &constant].repeat(6)), &constant, &constant).unwrap().1;
        assert_eq!(tangents.to_vec().unwrap(), [[7.0, 8.0], [0.0, 0.0]].concat().repeat(6));
    });
}

#[jit]
fn repeated(parts: &[Float64], steps: u32) -> Float64 {
    let mut total = Float64::from(0.0);
    let mut k = UInt::from(0);
    while k < steps {
        total += Float64::concat(parts) * (k + 1).cast::<f64>();
        k += 1;
    }
    total
}

#[test]
fn loops_concatenate_arrays_around_them() {
    on_each_device(|| {
        let parts = |x: &Float64| (0..10).map(|k| x * (k as f64 + 1.0)).collect::<Vec<_>>();
        check_function("in a loop", &|x| repeated(&parts(x), 3), &VALUES);
    });
}
