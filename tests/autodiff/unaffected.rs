//! Results that do not change where a variable does, though the program computes them from it.

use jit::linalg::Complex;
use jit::prelude::*;
use jit::{ad, freeze};

use crate::on_each_device;

/// The gradient, in reverse mode, of a function of three elements, and the tangent.
fn derivatives(function: impl Fn(&Float64) -> Float64) -> [Vec<f64>; 2] {
    let mut x = Float64::from([0.5, -2.0, 3.0]);
    x.enable_grad();
    let y = function(&x);
    ad::backward_keep(&y).unwrap();
    let gradient = x.grad().to_vec().unwrap();
    x.clear_grad();
    x.forward().unwrap();
    [gradient, y.grad().to_vec().unwrap()]
}

fn check(name: &str, function: impl Fn(&Float64) -> Float64) {
    let [gradient, tangent] = derivatives(&function);
    assert_eq!(gradient, [0.0; 3], "{name}");
    assert!(tangent.iter().all(|tangent| *tangent == 0.0), "{name}: {tangent:?}");
    // Beside something that has a derivative, and in a derivative of higher order.
    let [gradient, _] = derivatives(|x| function(x).sum() + x.square());
    assert_eq!(gradient, [1.0, -4.0, 6.0], "{name}, in a sum");
    let x = Float64::from([0.5, -2.0, 3.0]);
    let product = ad::hvp(|x: &Float64| function(x).sum() + x.square().sum(), &x, &x.ones_like()).unwrap();
    assert_eq!(product.to_vec().unwrap(), [2.0; 3], "{name}, twice");
}

#[test]
fn backward_refused_the_power_of_zero() {
    on_each_device(|| {
        check("powi", |x| x.powi(0));
        check("a power of a tensor", |x| Tensor::from_array(x.clone(), [3, 1]).powi(0).into_array());
        check("a complex power", |x| Complex::new(x, x * 2.0).powi(0).re);
        check("an imaginary part alone", |x| Complex::new(1.0, x).powi(0).re);
        assert_eq!(Float64::from([f64::NAN, 0.0]).powi(0).to_vec().unwrap(), [1.0; 2]);
        assert!(Float64::from([2.0, 3.0]).powi(0).is_literal());
    });
}

#[test]
fn backward_refused_what_a_constant_mask_had_not_chosen() {
    on_each_device(|| {
        let (never, index) = (Mask::from(false), UInt::from([0, 1, 2]));
        check("select", |x| never.select(x, 1.0));
        check("a comparison that folds", |x| x.gt(x).select(x, 1.0));
        check("gather", |x| x.gather_masked(&index, &never));
        check("gather out of range", |x| x.gather(&UInt::from([7, 8, 9])));
        let scattered = |x: &Float64| {
            let mut table = Float64::zeros(3);
            table.scatter_add_masked(x, &index, &never);
            table
        };
        check("scatter_add", scattered);
        check("shift", |x| x.shift(5));
        assert_eq!(scattered(&Float64::from([1.0, 2.0, 3.0])).to_vec().unwrap(), [0.0; 3]);
    });
}

/// Whether elements pass a filter is known only when the program runs.
#[test]
fn backward_refused_the_sum_of_a_filter_that_no_element_had_passed() {
    on_each_device(|| {
        let none = |x: &Float64| x.filter(&x.gt(100.0));
        check("filter", none);
        check("sum", |x| none(x).sum());
        check("mean of squares", |x| (none(x).square().sum() + 1.0).ln());
        check("product", |x| none(x).product());
        check("norm", |x| none(x).norm());
        check("dot", |x| none(x).dot(none(x)));
        check("prefix sum", |x| none(x).prefix_sum().sum());
        check("sort", |x| none(x).sort().sum());
        check("segments", |x| none(x).segment_sum(&UInt::zeros(0), 2));
        check("concat", |x| Float64::concat(&[none(x), none(x)]));
        check("tile and repeat", |x| none(x).tile(2).sum() + x.repeat(0).sum());
        check("steps", |x| x.slice_step(1..1, 2).sum());
        check("tensors", |x| {
            let (rows, columns) = (Tensor::from_array(none(x), [2, 0]), Tensor::from_array(none(x), [0, 2]));
            rows.sum(0).into_array().sum() + rows.matmul(&columns).into_array()
        });
        let scattered = |x: &Float64| {
            let mut table = Float64::zeros(2);
            table.scatter_add(none(x), &UInt::zeros(0));
            table
        };
        check("scatter_add", scattered);
    });
}

#[test]
fn frozen_steps_whose_filter_found_nothing_have_gradients_of_zero() {
    #[freeze]
    fn step(x: &Float64, index: &UInt) -> (Float64, Float64) {
        let mut x = x.clone();
        x.enable_grad();
        let loss = x.gather(index).square().sum();
        loss.backward().expect("the loss depends on the variable");
        (loss, x.grad())
    }
    on_each_device(|| {
        let x = Float64::from([0.5, -2.0, 3.0]);
        for (chosen, wanted) in [(vec![1, 2], [0.0, -4.0, 6.0]), (vec![], [0.0; 3]), (vec![0], [1.0, 0.0, 0.0])] {
            let (_, gradient) = step(&x, &UInt::from(chosen));
            assert_eq!(gradient.to_vec().unwrap(), wanted);
        }
    });
}

#[test]
fn what_depends_on_no_variable_is_an_error_as_before() {
    let mut x = Float64::from([1.0, 2.0]);
    x.enable_grad();
    assert!(Float64::from(3.0).powi(0).backward().is_err());
    assert!(x.detach().powi(0).backward().is_err());
    assert!(ad::suspend(|| x.powi(0)).backward().is_err());
}

/// A constant result of an operation with a derivative of its own, which reads the state of a loop.
#[jit]
fn estimated(x: &Float64, times: &UInt, #[constexpr] is_estimate: bool) -> Float64 {
    let (mut sum, mut step) = (x * 1.0, times.zeros_like());
    while step < times {
        let part = &sum * x * 0.5;
        let one = if is_estimate { Float64::from(1.0).replace_grad(&part) } else { &part - part.detach() + 1.0 };
        sum = &sum * 0.3 + one * x * sum.powi(0);
        step += 1;
    }
    sum
}

#[test]
fn a_constant_with_gradients_in_a_loop_was_used_outside_of_it() {
    on_each_device(|| {
        let (x, times) = (Float64::from([0.5, 1.0, 2.0]), UInt::from([1, 2, 4]));
        let [wanted, found] = [false, true].map(|is_estimate| {
            let function = |x: &Float64| estimated(x, &times, is_estimate);
            let gradient = ad::grad(function)(&x).unwrap();
            let tangent = ad::jvp(function, &x, &x.ones_like()).unwrap().1;
            let product = ad::hvp(|x: &Float64| function(x).sum(), &x, &x).unwrap();
            [gradient, tangent].map(|of| of.to_vec().unwrap()).into_iter().chain([product.to_vec().unwrap()]).collect()
        });
        let (wanted, found): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (wanted, found);
        for (wanted, found) in wanted[..2].concat().into_iter().zip(found[..2].concat()) {
            assert!((wanted - found).abs() < 1e-12 * wanted.abs(), "{wanted} and not {found}");
        }
    });
}
