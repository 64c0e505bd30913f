//! Arrays of random numbers from a seed.

use half::{bf16, f16};
use jit::prelude::*;
use jit::random::{Generator, rng};

use super::statistics::{assert_distributed, assert_equally_frequent, assert_uncorrelated, normal_distribution};
use crate::devices::on_each_device;

const COUNT: usize = 20_000;

#[test]
fn a_seed_gives_the_same_numbers_everywhere() {
    let draw = || {
        let mut rng = rng(7);
        let numbers: (Float, Float64, Float) =
            (rng.random(1000), rng.normal(1.0, 2.0, 1000), rng.exponential(3.0, 1000));
        (numbers.0.to_vec().unwrap(), numbers.1.to_vec().unwrap(), numbers.2.to_vec().unwrap())
    };
    let wanted = jit::with_device(Device::Interpreter, draw);
    if crate::tested_devices::has_llvm() {
        assert_eq!(jit::with_device(Device::Cpu, draw), wanted);
    }
    let threads = jit::threads();
    jit::set_threads(1);
    let alone = draw();
    jit::set_threads(threads);
    assert_eq!(alone, wanted);
    // The values of the first numbers are part of the interface.
    let first: Vec<u32> = rng(7).random::<f32>(3).to_vec().unwrap().iter().map(|x| (x * 16_777_216.0) as u32).collect();
    let key = [7_u32, 0].map(UInt::opaque);
    let words = jit::random::philox4x32(&[UInt::arange(3), 0.into(), 0.into(), 0.into()], &key, 10);
    assert_eq!(first, (&words[0] >> 8).to_vec().unwrap());
}

#[test]
fn narrow_arrays_are_the_beginning_of_wide_ones() {
    let (narrow, wide): (Float, Float) = (rng(1).random(5), rng(1).random(50));
    assert_eq!(narrow.to_vec().unwrap(), wide.to_vec().unwrap()[..5]);
}

#[test]
fn calls_clones_seeds_and_splits() {
    on_each_device(|| {
        let draw = |rng: &mut Generator| rng.random::<f64>(COUNT / 4).to_vec().unwrap();
        let mut original = rng(3);
        let mut split = original.split();
        let mut second_split = original.split();
        let first = draw(&mut original);
        let mut clone = original.clone();
        let second = draw(&mut original);
        assert_eq!(draw(&mut clone), second);
        assert_eq!(draw(&mut rng(3).split()), draw(&mut split.clone()));
        let columns =
            [first, second, draw(&mut split), draw(&mut second_split), draw(&mut split.split()), draw(&mut rng(4))];
        for (i, column) in columns.iter().enumerate() {
            columns[..i].iter().for_each(|before| assert_uncorrelated(column, before));
        }
    });
}

#[test]
fn distributions_are_what_they_are_called() {
    let mut rng = rng(12);
    let single: Float = rng.uniform(-3.0, 5.0, COUNT);
    assert_distributed(single.to_vec().unwrap().into_iter().map(f64::from), |x| (x + 3.0) / 8.0);
    let double: Float64 = rng.uniform(1e300, 1.5e300, COUNT);
    assert_distributed(double.to_vec().unwrap(), |x| (x - 1e300) / 0.5e300);
    let single: Float = rng.normal(10.0, 2.0, COUNT);
    assert_distributed(single.to_vec().unwrap().into_iter().map(f64::from), |x| normal_distribution((x - 10.0) / 2.0));
    let double: Float64 = rng.normal(0.0, 1.0, COUNT);
    assert_distributed(double.to_vec().unwrap(), normal_distribution);
    let single: Float = rng.exponential(0.5, COUNT);
    assert_distributed(single.to_vec().unwrap().into_iter().map(f64::from), |x| 1.0 - (-0.5 * x).exp());
    let double: Float64 = rng.exponential(4.0, COUNT);
    assert_distributed(double.to_vec().unwrap(), |x| 1.0 - (-4.0 * x).exp());
    let half: Half = rng.random(COUNT);
    assert_equally_frequent(half.to_vec().unwrap().iter().map(|x| (x.to_f32() * 64.0) as usize), 64);
}

/// Mean and standard deviation are where those of this many numbers are, except for one in ten thousand.
#[track_caller]
fn assert_moments(numbers: &Float64, mean: f64, deviation: f64) {
    let count = numbers.len() as f64;
    let found = numbers.mean().item().unwrap();
    assert!((found - mean).abs() < 4.0 * deviation / count.sqrt(), "mean {found}");
    let spread = numbers - found;
    let found = (&spread * &spread).mean().item().unwrap().sqrt();
    assert!((found / deviation - 1.0).abs() < 4.0 / (2.0 * count).sqrt(), "deviation {found}");
}

#[test]
fn halves_are_normal_too() {
    on_each_device(|| {
        let mut rng = rng(5);
        let (half, brain): (Half, BFloat) = (rng.normal(0.5, 2.0, COUNT), rng.normal(-1.0, 0.25, COUNT));
        assert_moments(&half.cast(), 0.5, 2.0);
        assert_moments(&brain.cast(), -1.0, 0.25);
        let (half, brain): (Half, BFloat) = (rng.exponential(1.0, COUNT), rng.uniform(-1.0, 1.0, COUNT));
        assert_moments(&brain.cast(), 0.0, 1.0 / 3f64.sqrt());
        assert!((half.cast::<f64>().mean().item().unwrap() - 1.0).abs() < 4.0 / (COUNT as f64).sqrt());
    });
}

#[test]
fn the_lower_bound_is_reached_and_the_upper_one_is_not() {
    on_each_device(|| {
        let mut rng = rng(9);
        // Two numbers apart: without care, every other number would be rounded up to the bound.
        let narrow: Float = rng.uniform(1.0, f32::from_bits(1f32.to_bits() + 2), 1000);
        let found: std::collections::BTreeSet<u32> = narrow.to_vec().unwrap().iter().map(|x| x.to_bits()).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [1f32.to_bits(), 1f32.to_bits() + 1]);
        // Powers of two, negative numbers, zero, and halves, which are often rounded to the bounds.
        for (low, high) in [(0.5, 1.0), (-1.0, -0.5), (-1.0, 0.0), (-3.0, 5.0), (0.0, 6e-8), (1000.0, 1001.0)] {
            let x: Half = rng.uniform(low, high, 5000);
            let (low, high) = (f16::from_f32(low), f16::from_f32(high));
            let x = x.to_vec().unwrap();
            assert!(x.iter().all(|x| (low..high).contains(x)), "{low}..{high}");
            let x: BFloat = rng.uniform(low.to_f32(), high.to_f32() + 7.0, 5000);
            let (low, high) = (bf16::from_f32(low.to_f32()), bf16::from_f32(high.to_f32() + 7.0));
            assert!(x.to_vec().unwrap().iter().all(|x| (low..high).contains(x)), "{low}..{high}");
        }
        let same: Float = rng.uniform(2.5, 2.5, 10);
        assert_eq!(same.to_vec().unwrap(), [2.5; 10]);
        let reversed: Float = rng.uniform(1.0, -1.0, 1000);
        assert!(reversed.to_vec().unwrap().iter().all(|x| *x > -1.0 && *x <= 1.0));
    });
}

#[test]
fn parameters_may_differ_from_lane_to_lane() {
    let mut rng = rng(2);
    let low = Float::from([0.0, 10.0, 20.0]);
    let x = rng.uniform(&low, &low + 1.0, 3).to_vec().unwrap();
    assert!(x.iter().enumerate().all(|(i, x)| x.floor() == 10.0 * i as f32), "{x:?}");
    let x = rng.normal(&low, 0.0, 3).to_vec().unwrap();
    assert_eq!(x, [0.0, 10.0, 20.0]);
    let ones = rng.bernoulli(Float::from([0.0, 1.0, f32::NAN]), 3).to_vec().unwrap();
    assert_eq!(ones, [false, true, false]);
}

#[test]
#[should_panic(expected = "cannot draw 10 random numbers with a parameter `high` of width 3")]
fn parameters_of_another_width_are_refused() {
    drop(rng(0).uniform(0.0, Float::from([1.0, 2.0, 3.0]), 10));
}

/// The type of a value.
fn type_of<T: jit::Element>(_: &Array<T>) -> &'static str {
    std::any::type_name::<T>()
}

#[test]
fn types_are_the_requested_ones() {
    let mut rng = rng(0);
    let (h, f) = (Half::ones(4), Float::ones(4));
    // Creation returns exactly the type; values computed with it are promoted.
    assert_eq!(type_of(&(rng.random::<f32>(4) + &h)), "f32");
    assert_eq!(type_of(&(rng.random::<f32>(4) + &f)), "f32");
    assert_eq!(type_of(&rng.fill_like(&h)), "half::binary16::f16");
    assert_eq!(type_of(&rng.fill_like(&f)), "f32");
    // Parameters are promoted, then the numbers have that type.
    let mixed = rng.uniform(&h, &f, 4);
    assert_eq!(type_of(&(&mixed + &h)), "f32");
    assert_eq!(mixed.to_vec().unwrap(), [1.0; 4]);
    assert_eq!(type_of(&rng.normal(&h, 10.0, 4)), "half::binary16::f16");
    assert_eq!(type_of(&rng.normal(0.0, &h, 4)), "half::binary16::f16");
    assert_eq!(type_of(&rng.normal(&f, 10.0, 4)), "f32");
    assert_eq!(type_of(&rng.exponential(&h, 4)), "half::binary16::f16");
    let brain = BFloat::ones(4);
    let mixed = rng.normal(&h, &brain, 4);
    assert!(mixed.to_vec().unwrap().iter().any(|x| bf16::from_f32(*x).to_f32() != *x), "not rounded to a half");
}

#[test]
fn truth_has_its_probability() {
    let mut rng = rng(4);
    for probability in [0.0, 1e-3, 0.3, 1.0] {
        let count = f64::from(rng.bernoulli(probability, COUNT).count().item().unwrap());
        let expected = probability * COUNT as f64;
        assert!((count - expected).abs() <= 4.0 * (expected * (1.0 - probability)).sqrt(), "{probability}: {count}");
    }
}

#[test]
fn choices_are_elements() {
    let mut rng = rng(4);
    let from = Float::from([1.0, 2.0, 4.0]);
    let chosen = rng.choice(&from, 3000).to_vec().unwrap();
    assert_equally_frequent(chosen.iter().map(|x| x.log2() as usize), 3);
    let refused = std::panic::catch_unwind(|| drop(jit::random::rng(0).choice(&Float::zeros(0), 3)));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.starts_with("cannot choose from an array without elements") && message.contains("generator.rs"),
        "{message}"
    );
}

#[jit]
fn steps_to_exit(rng: &mut Generator, width: usize) -> UInt {
    let (mut position, mut steps) = (Float::zeros(width), UInt::zeros(width));
    while position.abs() < 3.0 {
        let step: Float = rng.uniform(-1.0, 1.0, width);
        position += step;
        steps += 1;
    }
    steps
}

#[test]
fn loops_draw_other_numbers_in_each_iteration() {
    on_each_device(|| {
        let mut rng = rng(6);
        let steps = steps_to_exit(&mut rng, 50).to_vec().unwrap();
        let mut apart = jit::random::rng(6);
        let rows: Vec<Vec<f32>> = (0..*steps.iter().max().unwrap())
            .map(|_| {
                let row: Float = apart.uniform(-1.0, 1.0, 50);
                row.to_vec().unwrap()
            })
            .collect();
        for (lane, steps) in steps.iter().enumerate() {
            let mut position = 0.0_f32;
            let wanted = rows.iter().position(|row| {
                position += row[lane];
                position.abs() >= 3.0
            });
            assert_eq!(Some(*steps as usize - 1), wanted, "lane {lane}");
        }
        // Each lane continues with its own number of calls.
        let after = rng.random::<f32>(50).to_vec().unwrap();
        assert!(after.iter().all(|x| (0.0..1.0).contains(x)));
        assert!(rng.split().random::<f32>(50).to_vec().is_ok());
    });
}
