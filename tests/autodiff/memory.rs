//! Gathers, scatters, reductions, branches.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, on_each_device};

fn wide(values: &Float) -> Vec<f64> {
    values.to_vec().unwrap().into_iter().map(f64::from).collect()
}

#[test]
fn gathers_add_the_gradients_of_each_read() {
    on_each_device(|| {
        let index = UInt::from([1, 4, 8, 4]);
        let f = ad::grad(|x: &Float| x.gather(&index).sum());
        let wanted = [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_close(&wide(&f(&Float::linspace(0.0, 1.0, 10)).unwrap()), &wanted, 0.0);
        // An expression that is not in memory, and one that is.
        for is_evaluated in [false, true] {
            let mut x = Float::linspace(-1.0, 1.0, 9);
            x.enable_grad();
            let square = &x * &x;
            if is_evaluated {
                jit::eval(&square).unwrap();
            }
            square.gather(&UInt::from([1, 1, 2, 3])).sum().backward().unwrap();
            assert_close(&wide(&x.grad()), &[0.0, -3.0, -1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-6);
        }
        let mask = Mask::from([true, false]);
        let f = ad::grad(|x: &Float| x.gather_masked(&UInt::from([0, 1]), &mask).sum());
        assert_close(&wide(&f(&Float::from([5.0, 6.0])).unwrap()), &[1.0, 0.0], 0.0);
        // Out of range: nothing is read, nothing flows.
        let f = ad::grad(|x: &Float| x.gather(&UInt::from([0, 7])).sum());
        assert_close(&wide(&f(&Float::from([5.0, 6.0])).unwrap()), &[1.0, 0.0], 0.0);
        let (_, t) =
            ad::jvp(|x: &Float| x.gather(&UInt::from([1, 7, 1])), &Float::from([5.0, 6.0]), &Float::from([2.0, 3.0]))
                .unwrap();
        assert_close(&wide(&t), &[3.0, 0.0, 3.0], 0.0);
    });
}

/// The scatters of Enoki's tests: two overlapping writes, then the squared norm.
#[test]
fn scatters_give_their_gradients_to_values_and_target() {
    on_each_device(|| {
        for (is_sum, wanted_x, wanted_y) in [
            (true, [0.0, 0.5, 1.0, 3.5, 4.0 + 2.0 / 3.0], [3.5, 4.0 + 2.0 / 3.0, 3.0 + 1.0 / 3.0, 4.0]),
            (false, [0.0, 0.5, 1.0, 0.0, 0.0], [2.0, 2.0 + 2.0 / 3.0, 3.0 + 1.0 / 3.0, 4.0]),
        ] {
            let (mut x, mut y) = (Float::linspace(0.0, 1.0, 5), Float::linspace(1.0, 2.0, 4));
            x.enable_grad();
            y.enable_grad();
            let mut target = Float::zeros(10);
            for (value, first) in [(&x, 0_u32), (&y, 3)] {
                let index = UInt::arange(value.width()) + first;
                match is_sum {
                    true => target.scatter_add(value, &index),
                    false => target.scatter(value, &index),
                }
            }
            target.dot(&target).backward().unwrap();
            assert_close(&wide(&x.grad()), &wanted_x, 1e-6);
            assert_close(&wide(&y.grad()), &wanted_y, 1e-6);
        }
    });
}

// rows: A205
#[test]
fn one_of_several_writers_gets_the_gradient() {
    on_each_device(|| {
        for values in [[1.0_f32, 2.0, 3.0], [2.0, 2.0, 2.0]] {
            let mut x = Float::from(values);
            x.enable_grad();
            let mut target = Float::from([7.0, 8.0]);
            target.enable_grad();
            let before = target.clone();
            target.scatter(&x, &UInt::from([0, 0, 0]));
            target.sum().backward().unwrap();
            let gradient = x.grad().to_vec().unwrap();
            assert_eq!(gradient.iter().sum::<f32>(), 1.0, "{gradient:?}");
            let winner = gradient.iter().position(|&g| g == 1.0).unwrap();
            assert_eq!(target.to_vec().unwrap(), [values[winner], 8.0]);
            assert_eq!(before.grad().to_vec().unwrap(), [0.0, 1.0]);
            assert_eq!(before.to_vec().unwrap(), [7.0, 8.0]);
        }
    });
}

#[test]
fn minima_and_maxima_that_scatter_give_the_gradient_to_the_result() {
    on_each_device(|| {
        let index = UInt::from([0, 0, 1, 1, 2, 2]);
        let mut x = Float::from([1.0, 3.0, 4.0, 5.0, 1.0, 2.0]);
        x.enable_grad();
        let mut target = Float::from([0.0, 0.0, 6.0]);
        target.enable_grad();
        let before = target.clone();
        target.scatter_reduce(ReduceOp::Max, &x, &index);
        (&target * Float::from([1.0, 10.0, 100.0])).sum().backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [0.0, 1.0, 0.0, 10.0, 0.0, 0.0]);
        assert_eq!(before.grad().to_vec().unwrap(), [0.0, 0.0, 100.0]);
    });
}

#[test]
fn arrays_are_not_overwritten_while_their_gradients_need_them() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let mut y = x.exp();
        jit::eval(&y).unwrap();
        y.scatter(Float::from([0.0]), &UInt::from([0]));
        jit::eval(&y).unwrap();
        y.sum().backward().unwrap();
        assert_close(&wide(&x.grad()), &[0.0, 2.0_f64.exp()], 1e-6);
        assert_eq!(x.to_vec().unwrap(), [1.0, 2.0]);
        // The variable itself.
        let data = Float::from(vec![1.0, 2.0, 3.0]);
        let mut x = data.clone();
        x.enable_grad();
        x.scatter_add(Float::from([1.0]), &UInt::from([1]));
        assert_eq!(x.to_vec().unwrap(), [1.0, 3.0, 3.0]);
        assert_eq!(data.to_vec().unwrap(), [1.0, 2.0, 3.0]);
    });
}

// rows: A209
#[test]
fn reductions_have_exact_derivatives() {
    on_each_device(|| {
        let grad = |f: fn(&Float) -> Float, x: &[f32]| {
            ad::grad(move |x: &Float| f(x).sum())(&Float::from(x)).unwrap().to_vec().unwrap()
        };
        assert_eq!(grad(|x| x.product(), &[1.0, 2.0, 5.0, 8.0]), [80.0, 40.0, 16.0, 10.0]);
        assert_eq!(grad(|x| x.product(), &[2.0, 0.0, 3.0]), [0.0, 6.0, 0.0]);
        assert_eq!(grad(|x| x.reduce_max(), &[1.0, 2.0, 8.0, 5.0, 8.0]), [0.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(grad(|x| x.reduce_min(), &[1.0, 2.0, 8.0]), [1.0, 0.0, 0.0]);
        assert_eq!(grad(|x| x.mean(), &[1.0, 2.0, 8.0, 5.0]), [0.25; 4]);
        assert_eq!(
            grad(|x| x.block_sum(3) * Float::from([1.0, 2.0, 3.0]), &[0.0; 7]),
            [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0]
        );
        let product = grad(
            |x| x.block_reduce(ReduceOp::Mul, 2) * Float::from([1.0, 10.0, 20.0]),
            &[1.0, 2.0, 3.0, 4.0, 0.0, 6.0],
        );
        assert_eq!(product, [2.0, 1.0, 40.0, 30.0, 120.0, 0.0]);
        assert_eq!(grad(|x| x.block_reduce(ReduceOp::Max, 2), &[1.0, 2.0, 4.0, 3.0]), [0.0, 1.0, 1.0, 0.0]);
        let weights = || Float::from([1.1, 1.2, 1.3, 1.4]);
        let scan = |x: &Float| x.prefix_sum() * Float::from([1.0, 1.0, 1.0, 1.0]);
        assert_eq!(grad(scan, &[1.0; 4]), [4.0, 3.0, 2.0, 1.0]);
        let x = Float::from([1.0; 4]);
        let (_, t) = ad::jvp(|x: &Float| x.prefix_sum_exclusive(), &x, &weights()).unwrap();
        assert_close(&wide(&t), &[0.0, 1.1, 2.3, 3.6], 1e-6);
        let (_, back) = ad::vjp(|x: &Float| x.prefix_sum_exclusive(), &x).unwrap();
        assert_close(&wide(&back(&weights()).unwrap()), &[3.9, 2.7, 1.4, 0.0], 1e-6);
        for length in [3_usize, 40, 600] {
            let f = ad::grad(|x: &Float| (x.block_sum(length) * Float::arange(4)).sum());
            let wanted: Vec<f64> = (0..4 * length).map(|i| (i / length) as f64).collect();
            assert_close(&wide(&f(&Float::zeros(4 * length)).unwrap()), &wanted, 0.0);
        }
        let ordinary = grad(|x| x.sort() * Float::from([1.0, 2.0, 3.0]), &[3.0, 1.0, 2.0]);
        assert_eq!(ordinary, [3.0, 1.0, 2.0]);
    });
}

#[jit]
fn bent(x: &Float, y: &Float) -> Float {
    let mut result = x * y;
    if x > 1.0 {
        if y > 0.0 {
            result = x * x * y;
        } else {
            result = y.sqrt();
        }
    }
    result
}

#[jit]
fn chosen(kind: &UInt, x: &Float) -> Float {
    match kind {
        0 => x * 2.0,
        1 => x * x,
        2 => x.sin(),
        3 => x.exp(),
        4 => x.ln(),
        _ => Float::from(1.0),
    }
}

#[test]
fn branches_pass_gradients_on_the_lanes_that_take_them() {
    on_each_device(|| {
        let (mut x, mut y) = (Float::from([0.5, 2.0, 3.0]), Float::from([3.0, 4.0, 0.0]));
        x.enable_grad();
        y.enable_grad();
        bent(&x, &y).sum().backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 16.0, 0.0]);
        assert_eq!(y.grad().to_vec().unwrap(), [0.5, 4.0, f32::INFINITY]);
        let mut x = Float::from([2.0; 7]);
        x.enable_grad();
        chosen(&UInt::arange(7), &x).sum().backward().unwrap();
        let wanted = [2.0, 4.0, 2.0_f64.cos(), 2.0_f64.exp(), 0.5, 0.0, 0.0];
        assert_close(&wide(&x.grad()), &wanted, 1e-6);
    });
}

#[test]
fn loops_of_the_host_are_differentiated_evaluated_or_not() {
    on_each_device(|| {
        for evaluate in [false, true] {
            let mut x = Float::linspace(0.5, 1.5, 5);
            x.enable_grad();
            let mut y = x.clone();
            for _ in 0..4 {
                y = &y * &x + 1.0;
                if evaluate {
                    jit::eval(&y).unwrap();
                }
            }
            y.backward().unwrap();
            // x⁵ + x³ + x² + x + 1
            let wanted = |x: f64| 5.0 * x.powi(4) + 3.0 * x * x + 2.0 * x + 1.0;
            let wanted: Vec<f64> = (0..5).map(|i| wanted(0.5 + f64::from(i) * 0.25)).collect();
            assert_close(&wide(&x.grad()), &wanted, 1e-5);
        }
    });
}

// rows: A202
#[test]
fn what_has_no_derivative_is_an_error_that_changes_nothing() {
    on_each_device(|| {
        let mut x = Float::from([2.0, 3.0]);
        x.enable_grad();
        let mut taken = Float::full(1.0, 2);
        let _ = taken.scatter_exchange(&x, &UInt::from([0, 0]));
        let error = taken.backward().unwrap_err();
        assert!(error.to_string().contains("gradients do not flow through a scatter that combines by"), "{error}");
        assert_eq!(x.grad().to_vec().unwrap(), [0.0, 0.0]);
        (&x * &x).backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [4.0, 6.0]);
        let mut y = x.clone();
        let error = y.scatter_exchange(Float::from(1.0), &UInt::from([0])).backward().unwrap_err();
        assert!(error.to_string().contains("previous elements of a scatter"), "{error}");
    });
}

#[jit]
fn masked_index(x: &Float64, y: &Float64, w: &Float64) -> Float64 {
    let k = UInt::from([1, 2, 3, 4, 5]);
    let mut memory = Local::<f64>::new(4);
    let (mut a, mut b) = (x * 1.0, Float64::from(0.3));
    if ((x.sin() * 0.5).exp()) < -0.482 {
        memory[(k + 4u32) % 4] = x * 0.9;
    }
    match (k * 3u32 + 4u32) % 6 {
        0 =>
        {
            #[max_iterations(9)]
            for i in UInt::from(0)..UInt::from(3) {
                a = a * 0.5 + (x + x.cos() * 0.3) * 0.5;
                b += (w[(i + 1u32) % 8] + y * 0.3) * 0.2;
            }
        }
        _ => {
            b = memory[1u32] + 0.01;
        }
    }
    a + 2.0 * b + 3.0 * y
}

#[test]
fn masked_indices_that_another_kernel_has_computed() {
    on_each_device(|| {
        let x = Float64::from([0.1, 0.2, 0.3, 0.5, 0.7]);
        let all = (x.clone(), x.cos(), Float64::linspace(-0.2, 0.7, 8));
        let loss = |(x, y, w): &(Float64, Float64, Float64)| masked_index(x, y, w).square().sum();
        let vector = (Float64::ones(5), Float64::full(0.5, 5), Float64::full(-0.25, 8));
        let product = ad::hvp(loss, &all, &vector).unwrap();
        let step = |of: &Float64, by: &Float64, step: f64| of + by * step;
        let at = |by: f64| {
            let moved = (step(&all.0, &vector.0, by), step(&all.1, &vector.1, by), step(&all.2, &vector.2, by));
            ad::grad(loss)(&moved).unwrap().0.to_vec().unwrap()
        };
        let wanted: Vec<f64> = at(1e-5).iter().zip(at(-1e-5)).map(|(a, b)| (a - b) / 2e-5).collect();
        assert_close(&product.0.to_vec().unwrap(), &wanted, 1e-6);
    });
}
