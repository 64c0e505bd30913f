//! Initial values: bounds, moments and orthogonality.

use jit::nn::init::{self, Fan, gain};
use jit::prelude::*;
use jit::random::Generator;

use crate::{assert_refused, on_each_device};

/// The mean and the deviation of elements.
fn moments(tensor: &Tensor<f64>) -> [f64; 2] {
    let values = tensor.to_vec().unwrap();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    [mean, variance.sqrt()]
}

fn largest(tensor: &Tensor<f64>) -> f64 {
    tensor.to_vec().unwrap().into_iter().map(f64::abs).fold(0.0, f64::max)
}

type Make = fn(&mut Generator) -> Tensor<f64>;

#[test]
fn initial_values_have_their_moments_and_bounds() {
    // A weight of 40 outputs with 10 × 5 products each: fan in 50, fan out 200.
    const SHAPE: [usize; 3] = [40, 10, 5];
    let third = 1.0 / 3.0_f64.sqrt();
    let cases: [(&str, Make, [f64; 2], f64); 8] = [
        ("uniform", |rng| init::uniform(SHAPE, -1.0, 3.0, rng), [1.0, 2.0 * third], 3.0),
        ("normal", |rng| init::normal(SHAPE, 2.0, 0.5, rng), [2.0, 0.5], f64::INFINITY),
        ("kaiming_uniform", |rng| init::kaiming_uniform(SHAPE, Fan::In, gain::RELU, rng), [0.0, 0.2], 0.2 / third),
        ("kaiming_normal", |rng| init::kaiming_normal(SHAPE, Fan::Out, gain::RELU, rng), [0.0, 0.1], f64::INFINITY),
        ("xavier_uniform", |rng| init::xavier_uniform(SHAPE, gain::TANH, rng), [0.0, 0.149_07], 0.149_072 / third),
        ("xavier_normal", |rng| init::xavier_normal(SHAPE, 1.0, rng), [0.0, 0.089_44], f64::INFINITY),
        // Of a normal distribution cut at one deviation, the variance is 1 - 2 φ(1) / (Φ(1) - Φ(-1)).
        ("truncated_normal", |rng| init::truncated_normal(SHAPE, 1.0, 2.0, [-1.0, 3.0], rng), [1.0, 1.0792], 3.0),
        ("leaky", |rng| init::kaiming_normal(SHAPE, Fan::In, gain::leaky_relu(1.0), rng), [0.0, 0.141_42], 1.0),
    ];
    on_each_device(|| {
        for (name, make, [mean, deviation], bound) in cases {
            let tensor = make(&mut jit::random::rng(7));
            assert_eq!(tensor.shape().to_vec(), SHAPE, "{name}");
            let got = moments(&tensor);
            // Of 2,000 numbers: four standard errors.
            assert!((got[0] - mean).abs() < 4.0 * deviation / 2000.0_f64.sqrt(), "{name}: {got:?}");
            assert!((got[1] / deviation - 1.0).abs() < 4.0 / 4000.0_f64.sqrt(), "{name}: {got:?}");
            assert!(largest(&tensor) <= bound, "{name}: {}", largest(&tensor));
            let other = make(&mut jit::random::rng(8)).to_vec().unwrap();
            assert_ne!(tensor.to_vec().unwrap(), other, "{name} does not depend on the generator");
        }
    });
}

#[test]
fn orthogonal_matrices_are_orthonormal_but_for_the_gain() {
    on_each_device(|| {
        for shape in [vec![3, 7], vec![7, 3], vec![4, 4], vec![2, 3, 2]] {
            let rows = shape[0];
            let matrix: Tensor<f64> = init::orthogonal(shape.clone(), 3.0, &mut jit::random::rng(5));
            let columns = matrix.len() / rows;
            let matrix = matrix.reshape([rows, columns]);
            let product =
                if rows <= columns { matrix.matmul(&matrix.transpose()) } else { matrix.transpose().matmul(&matrix) };
            let few = rows.min(columns);
            for (position, value) in product.to_vec().unwrap().into_iter().enumerate() {
                let wanted = if position / few == position % few { 9.0 } else { 0.0 };
                assert!((value - wanted).abs() < 1e-12, "{shape:?}: {value} at {position}");
            }
        }
    });
}

#[test]
fn what_has_no_fans_is_refused() {
    let make = || drop(init::xavier_normal::<f32>([4], 1.0, &mut jit::random::rng(1)));
    assert_refused(make, "has no fans");
}
