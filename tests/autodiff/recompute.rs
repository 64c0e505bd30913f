//! Values behind evaluated ones that are computed again instead of being kept.

use jit::{Float64, Traverse, ad};

use crate::simplify::arrays_of;
use crate::{alone, assert_close, on_each_device};

/// Arrays of this width are large enough to be released.
const WIDE: usize = 32 << 10;

/// What a step of a program computes from the value before it, an array, and a number.
type Step = fn(&Float64, &Float64, &Float64) -> Float64;

const STEPS: [(&str, Step); 9] = [
    ("product", |y, x, _| y * x),
    ("used twice", |y, x, _| y * y * 0.5 + x * 0.1),
    ("intermediate values", |y, x, w| ((y * w + x) * 0.5).abs() + y * 0.25),
    ("selection", |y, x, w| x.lt(0.8).select(y * w, y - x * 0.01)),
    ("mask of the value itself", |y, x, w| y.gt(0.6).select(y * 0.9 + x * 0.01, y * w)),
    ("kink", |y, x, w| y.max(x).min(w * 3.0) * 0.99),
    ("expensive function", |y, x, w| (y * w).sin() + x * 0.1),
    ("division and root", |y, x, _| (y / (x + 1.0)).sqrt()),
    ("fused", |y, x, w| y.mul_add(w, x * 0.125)),
];

/// Returns `width` numbers between 0.5 and 1.
fn numbers(width: usize) -> Vec<f64> {
    (0..width).map(|lane| 0.5 + (lane * 37 % width) as f64 / (2 * width) as f64).collect()
}

/// Runs a program; `between` is called with each of its values.
fn run(step: Step, count: usize, (x, w): &(Float64, Float64), mut between: impl FnMut(usize, &Float64)) -> Float64 {
    let mut y = x.clone();
    for position in 0..count {
        y = step(&y, x, w);
        between(position, &y);
    }
    y
}

fn evaluate(_: usize, y: &Float64) {
    jit::eval(y).unwrap();
}

/// Variables, and the values that they are made of.
fn variables(width: usize) -> ((Float64, Float64), (Float64, Float64)) {
    let values = (Float64::from(numbers(width)), Float64::from(0.8).make_opaque());
    let mut variables = values.clone();
    ad::enable_grad(&mut variables);
    (variables, values)
}

fn to_vec(gradients: &(Float64, Float64)) -> Vec<f64> {
    [gradients.0.to_vec().unwrap(), gradients.1.to_vec().unwrap()].concat()
}

#[test]
fn steps_that_are_evaluated_have_the_gradients_of_steps_that_are_not() {
    on_each_device(|| {
        for (name, step) in STEPS {
            let (variables, values) = variables(WIDE);
            run(step, 23, &variables, evaluate).sum().backward().unwrap();
            let wanted = ad::grad(|inputs: &(Float64, Float64)| run(step, 23, inputs, |_, _| {}).sum())(&values);
            let wanted = to_vec(&wanted.unwrap());
            for (which, gradient) in [("array", variables.0.grad()), ("number", variables.1.grad())] {
                let got = gradient.to_vec().unwrap();
                let wanted = if got.len() == 1 { &wanted[WIDE..] } else { &wanted[..WIDE] };
                let scale = wanted.iter().fold(1.0_f64, |most, number| most.max(number.abs()));
                for (got, wanted) in got.iter().zip(wanted) {
                    assert!((got - wanted).abs() <= 1e-11 * scale, "{name}, {which}: {got} instead of {wanted}");
                }
            }
        }
    });
}

#[test]
fn few_steps_have_gradients_of_the_same_bits() {
    on_each_device(|| {
        for (name, step) in STEPS {
            let [got, wanted] = [true, false].map(|is_evaluated| {
                let (variables, _) = variables(WIDE);
                let y = run(step, 3, &variables, |_, y| {
                    if is_evaluated {
                        jit::eval(y).unwrap()
                    }
                });
                y.backward().unwrap();
                let gradient = variables.0.grad().to_vec().unwrap();
                gradient.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            });
            assert!(got == wanted, "{name}");
        }
    });
}

// rows: A208
#[test]
fn steps_that_are_evaluated_keep_few_arrays_whatever_their_number() {
    let _turn = alone();
    on_each_device(|| {
        // Nobody else uses the width.
        let width = WIDE + 17;
        let (variables, _) = variables(width);
        // Values that a comparison reads, too, stay.
        for (name, step) in STEPS.into_iter().filter(|(name, _)| *name != "mask of the value itself") {
            run(step, 120, &variables, |position, y| {
                jit::eval(y).unwrap();
                let count = arrays_of(width);
                assert!(count <= 16, "{name}, step {position}: {count} arrays");
            });
        }
        run(STEPS[0].1, 60, &variables, |position, y| {
            jit::eval(y).unwrap();
            let count = arrays_of(width);
            assert!(count <= 7, "products, step {position}: {count} arrays");
        });
    });
}

#[test]
fn values_that_the_program_holds_are_kept() {
    on_each_device(|| {
        let step = STEPS[2].1;
        let (variables, values) = variables(WIDE);
        let mut held = Vec::new();
        let y = run(step, 20, &variables, |position, y| {
            jit::eval(y).unwrap();
            if position % 6 == 1 {
                held.push((y.clone(), y.to_vec().unwrap()));
            }
        });
        (held.iter().map(|(y, _)| y * 2.0).reduce(|sum, y| sum + y).unwrap() + y).backward().unwrap();
        for (value, before) in &held {
            assert!(value.to_vec().unwrap() == *before, "their elements stay");
        }
        let loss = |inputs: &(Float64, Float64)| {
            let mut total = Float64::zeros(WIDE);
            let y = run(step, 20, inputs, |position, y| {
                if position % 6 == 1 {
                    total += y * 2.0;
                }
            });
            (total + y).sum()
        };
        let wanted = ad::grad(loss)(&values).unwrap();
        assert_close(&variables.0.grad().to_vec().unwrap(), &wanted.0.to_vec().unwrap(), 1e-12);
    });
}

#[test]
fn second_derivatives_and_tangents_flow_through_values_that_are_computed_again() {
    on_each_device(|| {
        for (name, step) in [STEPS[0], STEPS[1], STEPS[6]] {
            let x = Float64::from(numbers(WIDE));
            let w = Float64::from(0.8);
            let value = |x: &Float64, is_evaluated: bool| {
                run(step, 6, &(x.clone(), w.clone()), |_, y| {
                    if is_evaluated {
                        jit::eval(y).unwrap()
                    }
                })
            };
            let [got, wanted] = [true, false].map(|is_evaluated| {
                let slope = ad::grad(|x: &Float64| value(x, is_evaluated).sum());
                let curvature = ad::grad(|x: &Float64| slope(x).unwrap().sum())(&x).unwrap();
                let mut variable = x.clone();
                variable.enable_grad();
                let y = value(&variable, is_evaluated);
                variable.forward().unwrap();
                [curvature, y.grad()].map(|array| array.to_vec().unwrap())
            });
            assert_close(&got[0], &wanted[0], 1e-11);
            assert_close(&got[1], &wanted[1], 1e-11);
            assert!(got[0].iter().any(|number| *number != 0.0) || name == "none", "{name}");
        }
    });
}

#[test]
fn values_of_isolated_and_suspended_parts_are_kept() {
    on_each_device(|| {
        let step = STEPS[0].1;
        let (variables, values) = variables(WIDE);
        let mut y = run(step, 3, &variables, evaluate);
        y = step(&y, &variables.0, &variables.1);
        ad::suspend(|| {
            jit::eval(&y).unwrap();
            // Evaluations that do not record gradients leave those of the values before them alone.
            let mut other = &y * 2.0;
            for _ in 0..4 {
                other = step(&other, &variables.0, &variables.1);
                jit::eval(&other).unwrap();
            }
        });
        for _ in 0..3 {
            y = step(&y, &variables.0, &variables.1);
            jit::eval(&y).unwrap();
        }
        y.backward().unwrap();
        let wanted = ad::grad(|inputs: &(Float64, Float64)| run(step, 7, inputs, |_, _| {}).sum())(&values).unwrap();
        assert_close(&variables.0.grad().to_vec().unwrap(), &wanted.0.to_vec().unwrap(), 1e-12);
    });
}

#[derive(Clone, Traverse)]
struct Particles {
    place: Float64,
    speed: Float64,
}

#[test]
fn states_of_several_arrays_are_computed_again() {
    on_each_device(|| {
        let run = |stiffness: &Float64, is_evaluated: bool| {
            let mut state = Particles { place: Float64::from(numbers(WIDE)), speed: Float64::zeros(WIDE) };
            for _ in 0..30 {
                let speed = &state.speed - &state.place * stiffness;
                state = Particles { place: &state.place + &speed * 0.1, speed };
                if is_evaluated {
                    jit::eval(&state).unwrap();
                }
            }
            state.place
        };
        let mut stiffness = Float64::full(0.2, WIDE).make_opaque();
        stiffness.enable_grad();
        run(&stiffness, true).sum().backward().unwrap();
        let wanted = ad::grad(|stiffness: &Float64| run(stiffness, false).sum())(&stiffness.detach()).unwrap();
        assert_close(&stiffness.grad().to_vec().unwrap(), &wanted.to_vec().unwrap(), 1e-11);
    });
}
