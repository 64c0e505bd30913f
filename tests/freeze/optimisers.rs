//! Hand-written optimisers: their state is a struct that a frozen step changes many times.

use crate::{Frozen, floats, frozen, frozen_only, values};
use jit::prelude::*;

/// Parameters that are fitted, each with its own learning rate.
#[derive(Clone, Traverse)]
struct Model {
    slope: Float,
    shift: Float,
}

impl Model {
    const RATES: [f32; 2] = [0.05, 0.02];

    fn start() -> Model {
        Model { slope: floats(4, 1), shift: floats(4, 2) }
    }

    /// The mean of squared errors, and its derivatives by the parameters.
    fn loss(&self, x: &Float, wanted: &Float) -> (Float, [Float; 2]) {
        let error = &self.slope * x + &self.shift - wanted;
        ((&error * &error).sum() / 4.0, [&error * x * 0.5, &error * 0.5])
    }

    fn parameters(&mut self) -> [&mut Float; 2] {
        [&mut self.slope, &mut self.shift]
    }
}

#[derive(Clone, Traverse)]
struct Momentum {
    model: Model,
    velocities: [Float; 2],
}

#[freeze]
fn momentum(state: &mut Momentum, x: &Float, wanted: &Float) -> Float {
    let (loss, slopes) = state.model.loss(x, wanted);
    let parameters = state.model.parameters().into_iter().zip(Model::RATES);
    for (((parameter, rate), velocity), slope) in parameters.zip(&mut state.velocities).zip(slopes) {
        *velocity = &*velocity * 0.9 + slope;
        *parameter -= &*velocity * rate;
    }
    loss
}

#[derive(Clone, Traverse)]
struct MeanSquare {
    model: Model,
    squares: Vec<Float>,
}

#[freeze]
fn mean_square(state: &mut MeanSquare, x: &Float, wanted: &Float) -> Float {
    let (loss, slopes) = state.model.loss(x, wanted);
    let parameters = state.model.parameters().into_iter().zip(Model::RATES);
    for (((parameter, rate), square), slope) in parameters.zip(&mut state.squares).zip(slopes) {
        *square = &*square * 0.99 + &slope * &slope * 0.01;
        *parameter -= slope * rate / (square.sqrt() + 1e-8);
    }
    loss
}

#[derive(Clone, Traverse)]
struct Adam {
    model: Model,
    /// First and second moments.
    moments: Vec<(Float, Float)>,
    /// The decays to the power of the step.
    decays: (Float, Float),
}

#[freeze]
fn adam(state: &mut Adam, x: &Float, wanted: &Float) -> Float {
    let (loss, slopes) = state.model.loss(x, wanted);
    let (first, second) = &mut state.decays;
    *first *= 0.9;
    *second *= 0.999;
    let (first, second) = (1.0 - first.clone(), 1.0 - second.clone());
    let parameters = state.model.parameters().into_iter().zip(Model::RATES);
    for (((parameter, rate), (mean, square)), slope) in parameters.zip(&mut state.moments).zip(slopes) {
        *mean = &*mean * 0.9 + &slope * 0.1;
        *square = &*square * 0.999 + &slope * &slope * 0.001;
        *parameter -= rate * (&*mean / &first) / ((&*square / &second).sqrt() + 1e-8);
    }
    loss
}

/// Makes fifty steps from a state, frozen and unfrozen, on each device. Losses and states must be the same, the loss
/// must fall, and one recording is made.
#[track_caller]
fn optimises<S: Traverse + Clone>(
    step: fn(&mut S, &Float, &Float) -> Float,
    frozen: Frozen,
    start: fn() -> S,
    seen: fn(&mut S) -> &mut Model,
) {
    let Frozen { set_enabled, stats, clear, .. } = frozen;
    let run = || -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let mut state = start();
        let (x, wanted) = (floats(4, 3) + 2.0, floats(4, 4));
        jit::eval(&(&x, &wanted)).unwrap();
        let losses = (0..50).map(|_| step(&mut state, &x, &wanted).item().unwrap()).collect();
        let model = seen(&mut state);
        (losses, values(&model.slope), values(&model.shift))
    };
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            set_enabled(false);
            let unfrozen = run();
            set_enabled(true);
            clear();
            let replayed = run();
            assert_eq!(replayed, unfrozen, "frozen, and as it is");
            assert!(replayed.0[49] < 0.5 * replayed.0[0], "{:?}", replayed.0);
            frozen_only!();
            assert_eq!((stats().recordings, stats().replays), (1, 49));
        });
    }
}

fn zeros() -> Float {
    Float::zeros(4)
}

// rows: F080
#[test]
fn momentum_that_begins_as_constants_is_recorded_once() {
    let start = || Momentum { model: Model::start(), velocities: [zeros(), zeros()] };
    optimises(momentum, frozen!(momentum), start, |state| &mut state.model);
}

// rows: F080
#[test]
fn mean_squares_that_are_in_memory_are_recorded_once() {
    let start = || MeanSquare { model: Model::start(), squares: vec![floats(4, 5) + 1.0, floats(4, 6) + 1.0] };
    optimises(mean_square, frozen!(mean_square), start, |state| &mut state.model);
}

// rows: F080
#[test]
fn adam_that_begins_as_constants_is_recorded_once() {
    let start = || Adam {
        model: Model::start(),
        moments: vec![(zeros(), zeros()), (zeros(), zeros())],
        decays: (Float::opaque(1.0), Float::opaque(1.0)),
    };
    optimises(adam, frozen!(adam), start, |state| &mut state.model);
}
