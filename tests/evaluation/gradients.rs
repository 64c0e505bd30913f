//! Kernels of derivatives.

use jit::prelude::*;

use crate::{count, messages, on_each_device};

#[test]
fn a_value_and_its_gradient_are_one_kernel() {
    on_each_device(|| {
        let mut x = Float::linspace(0.1, 1.0, 10_000);
        jit::eval(&x).unwrap();
        x.enable_grad();
        let y = x.exp().sin().sum();
        y.backward().unwrap();
        let gradient = x.grad();
        let counts = count(|| jit::eval(&(&y, &gradient)).unwrap());
        assert_eq!(counts.launches, 1);
        let wanted = |x: f32| x.exp().cos() * x.exp();
        assert!((gradient.get(0).unwrap() - wanted(0.1)).abs() < 1e-6);
        assert!((gradient.get(9999).unwrap() - wanted(1.0)).abs() < 1e-5);
    });
}

#[test]
fn nothing_is_evaluated_for_gradients_that_nobody_reads() {
    on_each_device(|| {
        let (mut x, mut y) = (Float::from(vec![1.0; 100]), Float::from(vec![2.0; 100]));
        x.enable_grad();
        y.enable_grad();
        let counts = count(|| {
            (x.sin() * &y).sum().backward().unwrap();
        });
        assert_eq!(counts.launches, 0);
        let counts = count(|| jit::eval(&x.grad()).unwrap());
        assert_eq!(counts.launches, 1);
    });
}

/// Returns the bytes that arrays take now.
fn bytes() -> usize {
    jit::sync().unwrap();
    jit::memory().live_bytes
}

/// Steps of gradient descent whose gradients are fused into the update, and so never evaluated.
#[test]
fn steps_that_never_evaluate_their_gradients_free_them() {
    on_each_device(steps_of_descent);
}

fn steps_of_descent() {
    let mut x = Float::linspace(0.0, 1.0, 100_000);
    jit::eval(&x).unwrap();
    let mut most = 0;
    let before = bytes();
    for _ in 0..50 {
        x.enable_grad();
        let loss = (&x * &x).sum();
        loss.backward().unwrap();
        x = x.detach() - 0.1 * x.grad();
        jit::eval(&x).unwrap();
        most = most.max(bytes() - before.min(bytes()));
    }
    // Without a search it would be one array for each step.
    assert!(most <= 10 * 400_000, "{most} bytes");
    let expected = 0.8_f32.powi(50);
    assert!((x.get(99_999).unwrap() - expected).abs() < 1e-5);
}

#[test]
fn traversals_report_what_they_processed() {
    on_each_device(|| {
        let logged = messages(|| {
            let mut x = Float::from([1.0, 2.0]);
            x.enable_grad();
            (x.prefix_sum() * 2.0).backward().unwrap();
            let y = &x * &x;
            x.forward().unwrap();
            let _ = y.grad();
            jit::ad::grad(|x: &Float| x.sin())(&x.detach()).unwrap();
        });
        let found: Vec<&String> = logged.iter().filter(|text| text.contains(": through ")).collect();
        let starts = [
            "backward: through 3 values and 1 operations with derivatives of their own, recorded in ",
            "forward: through 2 values, recorded in ",
            "backward: through 2 values, recorded in ",
        ];
        assert_eq!(found.len(), 3, "{logged:?}");
        found.iter().zip(starts).for_each(|(text, start)| assert!(text.starts_with(start), "{text}"));
    });
}
