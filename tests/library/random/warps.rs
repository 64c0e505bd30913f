//! Uniform numbers as other distributions and as points of figures.

use std::f64::consts::PI;

use jit::prelude::*;
use jit::random::{
    box_muller, cosine_hemisphere, disk, exponential_from_uniform, hemisphere, normal_from_uniform, rng, sphere,
    triangle,
};

use super::statistics::{assert_distributed, assert_equally_frequent, assert_uncorrelated, normal_distribution};
use crate::devices::on_each_device;

const COUNT: usize = 20_000;

fn uniform() -> (Float64, Float64) {
    let mut rng = rng(10);
    (rng.random(COUNT), rng.random(COUNT))
}

#[test]
fn normal_numbers_invert_the_distribution_function() {
    on_each_device(|| {
        let u = [1e-300, 1e-20, 1e-7, 0.01, 0.3, 0.5, 0.7, 0.95, 0.999_999];
        let z = normal_from_uniform(&Float64::from(u)).to_vec().unwrap();
        // From Python's `statistics.NormalDist().inv_cdf`.
        let wanted = [
            -37.047_096_299_361_2,
            -9.262_340_089_798_405,
            -5.199_337_582_192_817,
            -2.326_347_874_040_840_8,
            -0.524_400_512_708_040_7,
            0.0,
            0.524_400_512_708_040_7,
            1.644_853_626_951_471_5,
            4.753_424_308_817_089,
        ];
        for (z, wanted) in z.iter().zip(wanted) {
            assert!((z - wanted).abs() <= 4e-15 * wanted.abs(), "{z} instead of {wanted}");
        }
        let ends = normal_from_uniform(&Float64::from([0.0, 1.0, -0.1, 1.1, f64::NAN])).to_vec().unwrap();
        assert_eq!(ends[..2], [f64::NEG_INFINITY, f64::INFINITY]);
        assert!(ends[2..].iter().all(|z| z.is_nan()), "{ends:?}");
        let single = normal_from_uniform(&Float::from([1e-30, 0.25, 0.75])).to_vec().unwrap();
        for (z, wanted) in single.iter().zip([-11.464_025, -0.674_489_75, 0.674_489_75]) {
            assert!((z - wanted).abs() <= 3e-7 * wanted.abs(), "{z} instead of {wanted}");
        }
    });
}

#[test]
fn pairs_of_box_and_muller_are_normal_and_independent() {
    let (u, v) = uniform();
    let [a, b] = box_muller(&(1.0 - u), &v);
    let (a, b) = (a.to_vec().unwrap(), b.to_vec().unwrap());
    assert_distributed(a.clone(), normal_distribution);
    assert_distributed(b.clone(), normal_distribution);
    assert_uncorrelated(&a, &b);
    let squares = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<_>>();
    assert_uncorrelated(&squares(&a), &squares(&b));
}

#[test]
fn exponential_numbers_reach_both_ends() {
    let x = exponential_from_uniform(&Float::from([0.0, 0.5, 1.0])).to_vec().unwrap();
    assert_eq!(x, [0.0, std::f32::consts::LN_2, f32::INFINITY]);
    assert!(x[0].is_sign_positive());
}

#[test]
fn points_of_the_disk_are_uniform_in_area() {
    let (u, v) = uniform();
    let [x, y] = disk(&u, &v);
    assert_distributed((&x * &x + &y * &y).to_vec().unwrap(), |square| square);
    let angle = y.to_vec().unwrap().into_iter().zip(x.to_vec().unwrap()).map(|(y, x)| y.atan2(x));
    assert_distributed(angle, |angle| (angle + PI) / (2.0 * PI));
    let middle = disk(&Float::from(0.5), &Float::from(0.5)).map(|x| x.item().unwrap());
    assert_eq!(middle, [0.0, 0.0]);
}

#[test]
fn points_of_the_sphere_and_its_halves_are_as_dense_as_they_should_be() {
    let (u, v) = uniform();
    let points = [
        (sphere(&u, &v), (|z| (z + 1.0) / 2.0) as fn(f64) -> f64),
        (hemisphere(&u, &v), |z| z),
        (cosine_hemisphere(&u, &v), |z| z * z),
    ];
    for ([x, y, z], distribution) in points {
        let length = (&x * &x + &y * &y + &z * &z).sqrt();
        assert!((length - 1.0).abs().reduce_max().item().unwrap() < 1e-15);
        assert_distributed(z.to_vec().unwrap(), distribution);
        let angle = y.to_vec().unwrap().into_iter().zip(x.to_vec().unwrap()).map(|(y, x)| y.atan2(x));
        assert_distributed(angle, |angle| (angle + PI) / (2.0 * PI));
    }
}

#[test]
fn points_of_the_triangle_are_uniform_in_area() {
    let (u, v) = uniform();
    let weights = triangle(&u, &v);
    let sum = &weights[0] + &weights[1] + &weights[2];
    assert!((sum - 1.0).abs().reduce_max().item().unwrap() < 1e-15);
    for weight in &weights {
        // The part of the triangle beyond a line parallel to a side.
        assert_distributed(weight.to_vec().unwrap(), |w| 1.0 - (1.0 - w) * (1.0 - w));
    }
    let (a, b) = (weights[0].to_vec().unwrap(), weights[1].to_vec().unwrap());
    // The four triangles between the middles of the sides have equal areas.
    let quarter = |(a, b): (&f64, &f64)| [*a, *b, 1.0 - a - b].iter().position(|weight| *weight > 0.5).unwrap_or(3);
    assert_equally_frequent(a.iter().zip(&b).map(quarter), 4);
}
