//! Optimisers against their formulas in plain Rust.

use jit::optim::{Adam, RmsProp, Sgd, clip_norm, clip_value};
use jit::prelude::*;

use crate::{assert_close, on_each_device};

#[derive(Clone, Traverse)]
struct Parameters {
    weights: Float64,
    count: UInt,
    bias: Float,
}

fn parameters() -> Parameters {
    Parameters { weights: Float64::from([1.0, -2.0, 0.5]), count: UInt::from([7]), bias: Float::from([0.25]) }
}

fn numbers(p: &Parameters) -> Vec<f64> {
    let mut all = p.weights.to_vec().unwrap();
    all.extend(p.bias.to_vec().unwrap().into_iter().map(f64::from));
    assert_eq!(p.count.to_vec().unwrap(), [7]);
    all
}

/// The gradients of some step.
fn gradients(step: usize) -> Parameters {
    let at = |i: usize| ((step * 5 + i * 3) as f64 * 0.7).sin() * 2.0;
    Parameters {
        weights: Float64::from([at(0), at(1), at(2)]),
        count: UInt::from([0]),
        bias: Float::from([at(3) as f32]),
    }
}

/// Runs ten steps, and compares with a plain function of parameter, gradient, two states and the number of the step.
#[track_caller]
fn check(
    mut step: impl FnMut(&mut Parameters, &Parameters),
    plain: impl Fn(f64, f64, &mut [f64; 2], i32) -> f64,
    tolerance: f64,
) {
    let mut p = parameters();
    let mut wanted = numbers(&p);
    let mut states = vec![[0.0; 2]; wanted.len()];
    for number in 0..10 {
        let g = gradients(number);
        step(&mut p, &g);
        for ((p, g), state) in wanted.iter_mut().zip(numbers_of_gradients(&g)).zip(&mut states) {
            *p = plain(*p, g, state, number as i32 + 1);
        }
        assert_close(&numbers(&p), &wanted, tolerance);
    }
}

fn numbers_of_gradients(g: &Parameters) -> Vec<f64> {
    let mut all = g.weights.to_vec().unwrap();
    all.extend(g.bias.to_vec().unwrap().into_iter().map(f64::from));
    all
}

#[test]
fn steps_follow_their_formulas() {
    on_each_device(|| {
        let mut sgd = Sgd::new(&parameters(), 0.1);
        check(|p, g| sgd.step(p, g), |p, g, _, _| p - 0.1 * g, 1e-6);
        let mut sgd = Sgd::new(&parameters(), 0.1).with_momentum(0.5);
        let momentum = |p: f64, g: f64, s: &mut [f64; 2], _| {
            s[0] = 0.5 * s[0] + g;
            p - 0.1 * s[0]
        };
        check(|p, g| sgd.step(p, g), momentum, 1e-6);
        let mut sgd = Sgd::new(&parameters(), 0.1).with_nesterov_momentum(0.5);
        let nesterov = |p: f64, g: f64, s: &mut [f64; 2], _| {
            s[0] = 0.5 * s[0] + g;
            p - 0.1 * (g + 0.5 * s[0])
        };
        check(|p, g| sgd.step(p, g), nesterov, 1e-6);
        let mut rms = RmsProp::new(&parameters(), 0.1).with_decay(0.75);
        let of_rms = |p: f64, g: f64, s: &mut [f64; 2], _| {
            s[0] = 0.75 * s[0] + 0.25 * g * g;
            p - 0.1 * g / (s[0].sqrt() + 1e-8)
        };
        check(|p, g| rms.step(p, g), of_rms, 1e-5);
        let adam_of = |weight_decay: f64| {
            move |p: f64, g: f64, s: &mut [f64; 2], t: i32| {
                s[0] = 0.5 * s[0] + 0.5 * g;
                s[1] = 0.75 * s[1] + 0.25 * g * g;
                let (m, v) = (s[0] / (1.0 - 0.5_f64.powi(t)), s[1] / (1.0 - 0.75_f64.powi(t)));
                p - 0.1 * weight_decay * p - 0.1 * m / (v.sqrt() + 1e-8)
            }
        };
        let mut adam = Adam::new(&parameters(), 0.1).with_decays([0.5, 0.75]);
        check(|p, g| adam.step(p, g), adam_of(0.0), 1e-5);
        let mut adam = Adam::new(&parameters(), 0.1).with_decays([0.5, 0.75]).with_weight_decay(0.125);
        check(|p, g| adam.step(p, g), adam_of(0.125), 1e-5);
    });
}

#[test]
fn gradients_are_clipped() {
    on_each_device(|| {
        let g =
            Parameters { weights: Float64::from([3.0, 0.0, 4.0]), count: UInt::from([7]), bias: Float::from([12.0]) };
        assert_close(&numbers(&clip_norm(&g, 6.5)), &[1.5, 0.0, 2.0, 6.0], 1e-6);
        assert_close(&numbers(&clip_norm(&g, 20.0)), &[3.0, 0.0, 4.0, 12.0], 0.0);
        assert_close(&numbers(&clip_value(&g, 3.5)), &[3.0, 0.0, 3.5, 3.5], 0.0);
    });
}

#[freeze]
fn step(p: &mut Parameters, adam: &mut Adam<Parameters>) -> Float64 {
    let loss = |p: &Parameters| ((&p.weights - p.bias.cast::<f64>()) * (&p.weights - 1.0)).squared_norm();
    let (loss, gradient) = jit::ad::value_and_grad(loss)(p).expect("it has derivatives");
    adam.step(p, &gradient);
    loss
}

#[test]
fn a_frozen_step_holds_the_state_of_its_optimiser() {
    on_each_device(|| {
        step::clear();
        let (mut p, mut adam) = (parameters(), Adam::new(&parameters(), 0.05));
        let first = step(&mut p, &mut adam).item().unwrap();
        let mut last = first;
        for round in 0..200 {
            if round == 100 {
                adam.rate = Float::opaque(0.01);
            }
            last = step(&mut p, &mut adam).item().unwrap();
        }
        assert!(last < 1e-3 * first, "{first} {last}");
        assert!(step::stats().recordings <= 2, "{:?}", step::stats());
        assert!(step::stats().replays >= 198, "{:?}", step::stats());
    });
}
