//! Gradients in, through and across frozen functions.

use jit::ad;
use jit::freeze::{Frozen, Stats};
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

fn counts(stats: Stats) -> (u64, u64, u64) {
    (stats.recordings, stats.replays, stats.direct)
}

#[test]
fn gradients_flow_through_frozen_functions() {
    on_each_device(|| {
        let sine_of_product = Frozen::new(|x: &Float, w: &Float| (x * w).sin());
        for step in 0..4 {
            let values: Vec<f32> = (0..5 + step).map(|lane| lane as f32 * 0.25).collect();
            let (x, w) = (variable(&values), variable(&[1.5]));
            let y = sine_of_product.call((&x, &w));
            assert!(y.grad_enabled());
            (&y * &y).sum().backward().unwrap();
            let slope = |x: f32, w: f32| 2.0 * (x * w).sin() * (x * w).cos();
            let of_x: Vec<f32> = values.iter().map(|x| slope(*x, 1.5) * 1.5).collect();
            let of_w: f32 = values.iter().map(|x| slope(*x, 1.5) * x).sum();
            for (found, wanted) in x.grad().to_vec().unwrap().iter().zip(&of_x) {
                assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
            }
            assert!((w.grad().item().unwrap() - of_w).abs() < 1e-4);
        }
        assert_eq!(counts(sine_of_product.stats()), (1, 3, 0));
    });
}

#[freeze]
fn sine_of_scaled(x: &Float, w: &Float) -> Float {
    (x * w).sin()
}

#[test]
fn gradients_flow_to_the_arguments_that_want_them_alone() {
    on_each_device(|| {
        let constant = Float::from([0.5, 1.0]);
        let w = variable(&[2.0, 3.0]);
        for _ in 0..3 {
            w.clear_grad();
            sine_of_scaled(&constant, &w).sum().backward().unwrap();
            let wanted = [0.5 * 1.0_f32.cos(), 3.0_f32.cos()];
            for (found, wanted) in w.grad().to_vec().unwrap().iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-6);
            }
        }
        assert!(!sine_of_scaled(&constant, &constant).grad_enabled());
        assert!(!ad::suspend(|| sine_of_scaled(&constant, &w)).grad_enabled());
        assert!(sine_of_scaled(&constant, &w).grad_enabled());
    });
}

#[derive(Clone, Traverse)]
struct Layer {
    weight: Float,
    bias: Float,
}

#[freeze]
#[deny(unused_parens)]
fn chained(x: &Float, layers: &[Layer], scale: f32) -> Float {
    let mut x = x.clone();
    for layer in layers {
        x = ((&x * &layer.weight + &layer.bias) * scale).tanh();
    }
    x
}

fn chained_plainly(x: &Float, layers: &[Layer], scale: f32) -> Float {
    let mut x = x.clone();
    for layer in layers {
        x = ((&x * &layer.weight + &layer.bias) * scale).tanh();
    }
    x
}

fn layers(count: usize) -> Vec<Layer> {
    let number = |at: usize| variable(&[0.3 + 0.2 * at as f32]);
    (0..count).map(|at| Layer { weight: number(at), bias: number(at + count) }).collect()
}

fn gradients_of(layers: &[Layer]) -> Vec<f32> {
    layers.iter().flat_map(|layer| [&layer.weight, &layer.bias]).map(|var| var.grad().item().unwrap()).collect()
}

#[test]
fn trees_of_parameters_get_gradients_and_numbers_may_change() {
    on_each_device(|| {
        chained::clear();
        let x = Float::from([0.1, -0.4, 0.9]);
        for step in 1..6 {
            let scale = 0.5 * step as f32;
            let (frozen, plain) = (layers(3), layers(3));
            chained(&x, &frozen, scale).sum().backward().unwrap();
            chained_plainly(&x, &plain, scale).sum().backward().unwrap();
            for (found, wanted) in gradients_of(&frozen).iter().zip(gradients_of(&plain)) {
                assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
            }
        }
        assert!(chained::stats().recordings <= 2, "{}", chained::explain());
    });
}

#[test]
fn calls_follow_each_other_and_gradients_go_back_through_all() {
    on_each_device(|| {
        let step = Frozen::new(|x: &Float, k: &Float| x + k * x.sin());
        let (start, k) = (variable(&[0.2, 1.1]), variable(&[0.1]));
        let mut x = start.clone();
        for _ in 0..20 {
            x = step.call((&x, &k));
        }
        x.sum().backward().unwrap();
        let (begin, rate) = (variable(&[0.2, 1.1]), variable(&[0.1]));
        let mut y = begin.clone();
        for _ in 0..20 {
            y = &y + &rate * y.sin();
        }
        y.sum().backward().unwrap();
        for (found, wanted) in [(&start, &begin), (&k, &rate)] {
            let pairs = found.grad().to_vec().unwrap().into_iter().zip(wanted.grad().to_vec().unwrap());
            for (found, wanted) in pairs {
                assert!((found - wanted).abs() <= 1e-5 * wanted.abs(), "{found} {wanted}");
            }
        }
        assert_eq!(step.stats().recordings, 1);
    });
}

#[test]
fn changed_arguments_carry_gradients() {
    #[derive(Clone, Traverse)]
    struct State {
        position: Float,
        velocity: Float,
        steps: u32,
    }
    #[freeze]
    fn advance(state: &mut State, stiffness: &Float) {
        state.velocity = &state.velocity - stiffness * &state.position * 0.1;
        state.position = &state.position + &state.velocity * 0.1;
        state.steps += 1;
    }
    on_each_device(|| {
        let run = |stiffness: &Float, is_frozen: bool| {
            let mut state = State { position: Float::from([1.0, 2.0]), velocity: Float::from([0.0, 0.5]), steps: 0 };
            advance::set_enabled(is_frozen);
            for _ in 0..10 {
                advance(&mut state, stiffness);
            }
            assert_eq!(state.steps, 10);
            state.position
        };
        let (frozen, plain) = (variable(&[1.3]), variable(&[1.3]));
        run(&frozen, true).sum().backward().unwrap();
        run(&plain, false).sum().backward().unwrap();
        let (found, wanted) = (frozen.grad().item().unwrap(), plain.grad().item().unwrap());
        assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
    });
}

#[test]
fn arguments_that_come_back_are_themselves() {
    on_each_device(|| {
        let first = Frozen::new(|x: &Float, y: &Float| (x.clone(), x.detach(), x + y));
        let x = variable(&[1.0, 2.0]);
        for _ in 0..3 {
            x.clear_grad();
            let (same, detached, sum) = first.call((&x, &Float::from([5.0, 5.0])));
            assert!(same.grad_enabled() && sum.grad_enabled());
            assert!(!detached.grad_enabled());
            assert_eq!(detached.to_vec().unwrap(), [1.0, 2.0]);
            (same * 3.0 + sum).sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), [4.0, 4.0]);
        }
    });
}

#[test]
fn a_traversal_in_the_body_stores_gradients_at_arguments() {
    on_each_device(|| {
        let step = Frozen::new(|x: &Float| {
            let loss = (x * x).sum();
            loss.backward().unwrap();
            loss
        });
        let x = variable(&[1.0, 3.0]);
        for count in 1..5 {
            let loss = step.call(&x);
            assert_eq!(loss.item().unwrap(), 10.0);
            let factor = 2.0 * count as f32;
            assert_eq!(x.grad().to_vec().unwrap(), [factor, 3.0 * factor]);
        }
        assert_eq!(step.stats().recordings, 2, "one without a stored gradient, one with");
        x.clear_grad();
        step.call(&x);
        assert_eq!(x.grad().to_vec().unwrap(), [2.0, 6.0]);
    });
}

#[test]
fn a_traversal_in_the_body_goes_on_behind_arguments() {
    on_each_device(|| {
        let step = Frozen::new(|x: &Float, w: &Float| {
            let loss = (x * w).sum();
            loss.backward().unwrap();
            loss.detach()
        });
        let w = variable(&[10.0]);
        for _ in 0..3 {
            w.clear_grad();
            let p = variable(&[1.0, 2.0]);
            let x = &p * &p;
            step.call((&x, &w));
            assert_eq!(p.grad().to_vec().unwrap(), [20.0, 40.0]);
            assert_eq!(w.grad().item().unwrap(), 5.0);
        }
    });
}

#[test]
fn variables_of_the_body_are_variables_of_the_caller() {
    on_each_device(|| {
        let fit = Frozen::new(|x: &mut Float| {
            x.enable_grad();
            let y = &*x * &*x;
            ad::backward_keep(&y).unwrap();
            y
        });
        for values in [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]] {
            let mut x = Float::from(values);
            let y = fit.call(&mut x);
            assert!(x.grad_enabled());
            assert_eq!(x.grad().to_vec().unwrap(), values.map(|x| 2.0 * x));
            assert_eq!(y.to_vec().unwrap(), values.map(|x| x * x));
            // The result depends on the variable.
            (y * 10.0).sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), values.map(|x| 22.0 * x));
        }
    });
}

#[test]
fn gradients_of_arguments_may_be_read_replaced_and_removed() {
    on_each_device(|| {
        let descend = Frozen::new(|x: &mut Float, rate: &Float| {
            let next = x.detach() - x.grad() * rate;
            x.clear_grad();
            *x = next;
            x.enable_grad();
        });
        let mut x = variable(&[4.0, 8.0]);
        for _ in 0..4 {
            (&x * &x * 0.5).sum().backward().unwrap();
            descend.call((&mut x, &Float::from([0.5])));
            assert_eq!(x.grad().to_vec().unwrap(), [0.0, 0.0]);
        }
        assert_eq!(x.to_vec().unwrap(), [0.25, 0.5]);
        assert_eq!(descend.stats().recordings, 1);
    });
}

#[test]
fn each_of_two_arguments_has_its_own_derivative() {
    on_each_device(|| {
        let product = Frozen::new(|x: &Float, y: &Float| x * y * y);
        let values = [[2.0, 3.0], [5.0, 7.0]];
        for _ in 0..3 {
            let (x, y) = (variable(&values[0]), Float::from(values[1]));
            product.call((&x, &y)).sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), [25.0, 49.0]);
            let (x, y) = (Float::from(values[0]), variable(&values[1]));
            product.call((&x, &y)).sum().backward().unwrap();
            assert_eq!(y.grad().to_vec().unwrap(), [20.0, 42.0]);
        }
    });
}

#[test]
fn a_body_removes_one_gradient_and_stores_another() {
    on_each_device(|| {
        let body = Frozen::new(|x: &Float, y: &Float| {
            x.clear_grad();
            (y * y).sum().backward().unwrap();
            x + 1.0
        });
        for _ in 0..3 {
            let (x, y) = (variable(&[1.0, 2.0]), variable(&[3.0, 4.0]));
            (&x * 5.0).sum().backward().unwrap();
            body.call((&x, &y));
            assert_eq!(x.grad().to_vec().unwrap(), [0.0, 0.0]);
            assert_eq!(y.grad().to_vec().unwrap(), [6.0, 8.0]);
        }
    });
}

#[test]
fn tangents_flow_through_frozen_functions() {
    on_each_device(|| {
        let sine_of_product = Frozen::new(|x: &Float, w: &Float| (x * w).sin());
        for width in [2, 3, 4] {
            let values: Vec<f32> = (0..width).map(|lane| lane as f32).collect();
            let (x, w) = (variable(&values), variable(&[0.5]));
            let y = sine_of_product.call((&x, &w));
            x.forward().unwrap();
            let wanted: Vec<f32> = values.iter().map(|x| 0.5 * (0.5 * x).cos()).collect();
            for (found, wanted) in y.grad().to_vec().unwrap().iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-6);
            }
        }
        assert_eq!(counts(sine_of_product.stats()), (1, 2, 0));
    });
}

#[test]
fn derivatives_of_frozen_functions_have_derivatives() {
    on_each_device(|| {
        let cube = Frozen::new(|x: &Float| x * x * x);
        let value = |x: &Float| cube.call(x).sum();
        for values in [[1.0, 2.0], [3.0, -1.0]] {
            let x = Float::from(values);
            let slope = ad::grad(value);
            assert_eq!(slope(&x).unwrap().to_vec().unwrap(), values.map(|x| 3.0 * x * x));
            let curvature = ad::grad(|x: &Float| slope(x).unwrap().sum());
            assert_eq!(curvature(&x).unwrap().to_vec().unwrap(), values.map(|x| 6.0 * x));
            let third = ad::grad(|x: &Float| curvature(x).unwrap().sum());
            assert_eq!(third(&x).unwrap().to_vec().unwrap(), [6.0, 6.0]);
            let product = ad::hvp(value, &x, &Float::from([1.0, 10.0])).unwrap();
            assert_eq!(product.to_vec().unwrap(), [6.0 * values[0], 60.0 * values[1]]);
            let (y, tangent) = ad::jvp(|x: &Float| cube.call(x), &x, &Float::from([1.0, 0.5])).unwrap();
            assert_eq!(y.to_vec().unwrap(), values.map(|x| x * x * x));
            assert_eq!(tangent.to_vec().unwrap(), [3.0 * values[0] * values[0], 1.5 * values[1] * values[1]]);
        }
    });
}

#[jit]
fn power(x: &Float, n: &UInt) -> Float {
    let (mut y, mut i) = (x.ones_like(), UInt::from(0));
    while i < n {
        y *= x;
        i += 1;
    }
    y
}

#[test]
fn bodies_with_traced_loops_have_derivatives() {
    let frozen = Frozen::new(|x: &Float, n: &UInt| power(x, n));
    on_each_device(|| {
        for values in [[2.0, 3.0], [0.5, -1.0]] {
            let x = variable(&values);
            frozen.call((&x, &UInt::from([3, 2]))).sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), [3.0 * values[0] * values[0], 2.0 * values[1]]);
        }
    });
}

#[test]
fn calls_in_traced_loops_and_frozen_functions_have_derivatives() {
    #[jit]
    fn repeated(x: &Float, n: &UInt) -> Float {
        let (mut x, mut i) = (x.clone(), UInt::from(0));
        while i < n {
            x = sine_of_scaled(&x, &Float::from(2.0));
            i += 1;
        }
        x
    }
    on_each_device(|| {
        let x = variable(&[0.3, 0.7]);
        repeated(&x, &UInt::from([1, 2])).sum().backward().unwrap();
        let slope = |x: f32| 2.0 * (2.0 * x).cos();
        let wanted = [slope(0.3), slope(0.7) * slope((2.0_f32 * 0.7).sin())];
        for (found, wanted) in x.grad().to_vec().unwrap().iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
        }
        let outer = Frozen::new(|x: &Float| sine_of_scaled(&(x + 1.0), &Float::from(1.0)));
        for values in [[0.0, 1.0], [2.0, 3.0]] {
            let x = variable(&values);
            outer.call(&x).sum().backward().unwrap();
            for (found, x) in x.grad().to_vec().unwrap().iter().zip(values) {
                assert!((found - (x + 1.0).cos()).abs() < 1e-6);
            }
        }
    });
}

#[test]
fn an_error_in_a_derivative_is_returned_and_nothing_stays() {
    struct Fails;
    impl ad::CustomOp for Fails {
        type Input = Float;
        type Output = Float;
        type Saved = ();
        fn forward(&self, x: &Float) -> (Float, ()) {
            (x * 2.0, ())
        }
        fn backward(&self, (): &(), _: &Float) -> Result<Float, jit::Error> {
            Err(jit::Error::new(jit::ErrorKind::InvalidArgument, "this operation has no derivative"))
        }
    }
    on_each_device(|| {
        let frozen = Frozen::new(|x: &Float| ad::custom(Fails, x));
        for _ in 0..3 {
            let x = variable(&[1.0]);
            let error = frozen.call(&x).sum().backward().unwrap_err();
            assert!(error.to_string().contains("this operation has no derivative"), "{error}");
            assert_eq!(x.grad().item().unwrap(), 0.0);
            (&x * &x).sum().backward().unwrap();
            assert_eq!(x.grad().item().unwrap(), 2.0);
        }
    });
}

#[test]
fn many_calls_are_freed_without_recursion() {
    let step = Frozen::new(|x: &Float| x * 1.0001);
    let mut x = variable(&[1.0, 2.0]);
    for _ in 0..20_000 {
        x = step.call(&x);
    }
    assert!(x.grad_enabled());
    drop(x);
}

#[test]
fn captured_values_get_gradients() {
    on_each_device(|| {
        let mut affine = Frozen::with(variable(&[3.0]), |slope: &Float, x: &Float| x * slope);
        let x = Float::from([1.0, 2.0]);
        affine.call(&x).sum().backward().unwrap();
        assert_eq!(affine.captures().grad().item().unwrap(), 3.0);
        *affine.captures_mut() = variable(&[5.0]);
        affine.call(&x).sum().backward().unwrap();
        assert_eq!(affine.captures().grad().item().unwrap(), 3.0);
    });
}

#[test]
fn methods_of_generic_types_have_derivatives() {
    #[derive(Clone, Traverse)]
    struct Model<T: Clone + Traverse + Send + Sync + 'static> {
        inner: T,
        gain: Float,
    }
    #[jit]
    impl<T: Clone + Traverse + Send + Sync + 'static> Model<T> {
        #[freeze]
        fn apply(&self, x: &Float) -> Float {
            x * &self.gain + 1.0
        }
    }
    on_each_device(|| {
        for _ in 0..3 {
            let model = Model { inner: (Float::from([1.0]), 3_u32), gain: variable(&[2.0]) };
            model.apply(&Float::from([1.0, 5.0])).sum().backward().unwrap();
            assert_eq!(model.gain.grad().item().unwrap(), 6.0);
            assert_eq!(model.inner.1, 3);
        }
    });
}

#[test]
fn values_that_are_evaluated_in_the_body_may_be_detached() {
    on_each_device(|| {
        let frozen = Frozen::new(|x: &Float| {
            let y = x * 2.0;
            jit::eval(&y).unwrap();
            let constant = y.detach();
            (&y * &constant, constant)
        });
        for values in [[1.0, 2.0], [3.0, 4.0]] {
            let x = variable(&values);
            let (y, constant) = frozen.call(&x);
            assert!(!constant.grad_enabled());
            assert_eq!(constant.to_vec().unwrap(), values.map(|x| 2.0 * x));
            y.sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), values.map(|x| 4.0 * x));
        }
    });
}

#[test]
fn threads_differentiate_through_one_frozen_function() {
    let cube = Frozen::new(|x: &Float| x * x * x);
    std::thread::scope(|scope| {
        for thread in 1..4_usize {
            let cube = &cube;
            scope.spawn(move || {
                for width in 2..30 {
                    let values = vec![thread as f32; width];
                    let x = variable(&values);
                    cube.call(&x).sum().backward().unwrap();
                    assert_eq!(x.grad().to_vec().unwrap(), vec![3.0 * (thread * thread) as f32; width]);
                }
            });
        }
    });
}
