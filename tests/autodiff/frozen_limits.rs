//! The recordings of the derivative of a frozen function: how many there may be, and when they are dropped; and
//! gradients that a body resumes.

use std::sync::atomic::{AtomicU32, Ordering};

use jit::ad;
use jit::freeze::Frozen;
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

#[test]
fn a_budget_is_that_of_the_function_and_not_of_its_derivative() {
    on_each_device(|| {
        let square = Frozen::new(|x: &Float| x * x).budget(1);
        // The gradient of the result is a constant, and in memory.
        for seed in [vec![2.0], vec![3.0, 5.0]] {
            let x = variable(&[1.0, 4.0]);
            let y = square.call(&x);
            y.set_grad(&Float::from(&seed[..]));
            ad::backward_from(&y).unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), [2.0 * seed[0], 8.0 * seed[seed.len() - 1]]);
        }
        assert_eq!(square.stats().recordings, 1);
    });
}

#[freeze]
fn counted(x: &Float) -> Float {
    BODIES.fetch_add(1, Ordering::Relaxed);
    x * x * 0.5
}

/// How often the body ran.
static BODIES: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_function_that_is_cleared_forgets_its_derivatives() {
    let backward = || {
        let x = variable(&[1.0, 3.0]);
        counted(&x).sum().backward().unwrap();
        x.grad().to_vec().unwrap()
    };
    let forward = || {
        let x = variable(&[1.0, 3.0]);
        let y = counted(&x);
        x.forward().unwrap();
        y.grad().to_vec().unwrap()
    };
    on_each_device(|| {
        for derivative in [backward, forward] {
            counted::clear();
            let bodies = [0, 1, 2].map(|round| {
                if round == 2 {
                    counted::clear();
                }
                let before = BODIES.load(Ordering::Relaxed);
                assert_eq!(derivative(), [1.0, 3.0]);
                BODIES.load(Ordering::Relaxed) - before
            });
            assert_eq!(bodies, [2, 0, 2], "the function and its derivative");
        }
    });
}

#[test]
fn results_for_which_a_body_resumes_gradients_carry_them_where_they_are_suspended() {
    on_each_device(|| {
        let resumed = Frozen::new(|x: &Float, y: &Float| (ad::resume(|| x * x), x * y));
        for values in [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] {
            let (x, y) = (variable(&values), variable(&[7.0]));
            let (square, product) = ad::suspend(|| resumed.call((&x, &y)));
            assert!(square.grad_enabled() && !product.grad_enabled());
            square.sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), values.map(|x| 2.0 * x));
            assert_eq!(y.grad().to_vec().unwrap(), [0.0]);
        }
    });
}
