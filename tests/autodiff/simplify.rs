//! Simplification of the graph behind evaluated values.

use jit::{Float64, ad};

use crate::{alone, assert_close, on_each_device};

/// Returns the number of arrays of a width that are in memory. Other tests run at the same time, with other widths.
pub(crate) fn arrays_of(width: usize) -> usize {
    let width = width.to_string();
    let is_one = |line: &&str| line.contains("evaluated") && line.split_whitespace().nth(2) == Some(&width);
    jit::whos().lines().filter(is_one).filter(|line| !line.contains("unevaluated")).count()
}

#[test]
fn chains_of_evaluated_values_keep_few_arrays() {
    let _turn = alone();
    on_each_device(|| {
        const WIDTH: usize = 4099;
        let x0: Vec<f64> = (0..WIDTH).map(|lane| 0.5 + lane as f64 / WIDTH as f64).collect();
        let mut x = Float64::from(x0.clone());
        x.enable_grad();
        let mut y = x.clone();
        for _ in 0..200 {
            y = (&y * 1.3).sin() + &x * 0.1;
            jit::eval(&y).unwrap();
            assert!(arrays_of(WIDTH) <= 24, "{} arrays", arrays_of(WIDTH));
        }
        y.backward().unwrap();
        let wanted = x0.iter().map(|x| {
            let (mut y, mut slope) = (*x, 1.0);
            for _ in 0..200 {
                (y, slope) = ((y * 1.3).sin() + x * 0.1, slope * 1.3 * (y * 1.3).cos() + 0.1);
            }
            slope
        });
        assert_close(&x.grad().to_vec().unwrap(), &wanted.collect::<Vec<_>>(), 1e-9);
    });
}

// rows: A208
#[test]
fn a_thousand_evaluated_squares_keep_few_arrays() {
    let _turn = alone();
    on_each_device(|| {
        const WIDTH: usize = 1021;
        let mut x = Float64::full(1.0, WIDTH).make_opaque();
        x.enable_grad();
        let mut y = x.clone();
        for _ in 0..1000 {
            y = &y * &y;
            jit::eval(&y).unwrap();
            assert!(arrays_of(WIDTH) <= 16, "{} arrays", arrays_of(WIDTH));
        }
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [2.0_f64.powi(1000); WIDTH]);
    });
}

#[test]
fn values_that_the_program_holds_keep_their_gradients() {
    let _turn = alone();
    on_each_device(|| {
        let mut x = Float64::from([0.5, 0.8, 1.1]);
        x.enable_grad();
        let mut held = Vec::new();
        let mut y = x.clone();
        for step in 0..40 {
            y = &y * &y * 0.9 + &x * 0.05;
            jit::eval(&y).unwrap();
            if step % 9 == 0 {
                held.push(y.clone());
            }
        }
        let total = held.iter().map(Float64::sin).reduce(|sum, y| sum + y).unwrap() + &y;
        total.backward().unwrap();
        ad::set_graph_simplification(false);
        let plain = ad::grad(|x: &Float64| {
            let (mut y, mut total) = (x.clone(), Float64::from(0.0));
            for step in 0..40 {
                y = &y * &y * 0.9 + x * 0.05;
                if step % 9 == 0 {
                    total += y.sin();
                }
            }
            (total + y).sum()
        });
        ad::set_graph_simplification(true);
        let wanted = plain(&Float64::from([0.5, 0.8, 1.1])).unwrap().to_vec().unwrap();
        assert_close(&x.grad().to_vec().unwrap(), &wanted, 1e-12);
    });
}

/// What was evaluated while simplification was switched off could not be simplified by hand: nothing was found.
#[test]
fn what_is_kept_is_simplified_by_hand_while_simplification_is_off() {
    let _turn = alone();
    on_each_device(|| {
        const WIDTH: usize = 1039;
        let mut x = Float64::full(1.001, WIDTH).make_opaque();
        x.enable_grad();
        ad::set_graph_simplification(false);
        let mut y = x.clone();
        for _ in 0..40 {
            y = &y * &x;
            jit::eval(&y).unwrap();
        }
        let before = arrays_of(WIDTH);
        ad::simplify_graph();
        let after = arrays_of(WIDTH);
        ad::set_graph_simplification(true);
        assert!(before >= 40 && after <= 4, "{before} arrays, then {after}");
        y.backward().unwrap();
        assert_close(&x.grad().to_vec().unwrap(), &[41.0 * 1.001_f64.powi(40); WIDTH], 1e-12);
    });
}

#[test]
fn variables_that_lanes_share_and_forward_mode() {
    on_each_device(|| {
        let (mut x, mut w) = (Float64::from([0.5, 0.8, 1.1, 0.2]), Float64::from(0.7));
        x.enable_grad();
        w.enable_grad();
        let run = |x: &Float64, w: &Float64, is_evaluated: bool| {
            let mut y = x.clone();
            for _ in 0..30 {
                y = (&y * w).sin() * 1.2;
                if is_evaluated {
                    jit::eval(&y).unwrap();
                }
            }
            y
        };
        let y = run(&x, &w, true);
        ad::simplify_graph();
        ad::backward_keep(&y.sum()).unwrap();
        let got = [x.grad().to_vec().unwrap(), w.grad().to_vec().unwrap()].concat();
        let wanted = ad::grad(|(x, w): &(Float64, Float64)| run(x, w, false).sum())(&(x.detach(), w.detach())).unwrap();
        assert_close(&got, &[wanted.0.to_vec().unwrap(), wanted.1.to_vec().unwrap()].concat(), 1e-12);
        w.clear_grad();
        w.forward().unwrap();
        let (_, tangent) = ad::jvp(|w: &Float64| run(&x.detach(), w, false), &w.detach(), &Float64::from(1.0)).unwrap();
        assert_close(&y.grad().to_vec().unwrap(), &tangent.to_vec().unwrap(), 1e-12);
    });
}

#[test]
fn second_derivatives_keep_the_operations() {
    on_each_device(|| {
        let slope = ad::grad(|x: &Float64| {
            let mut y = x.clone();
            for _ in 0..20 {
                y = (&y * 1.1).sin();
                jit::eval(&y).unwrap();
            }
            y.sum()
        });
        let curvature = ad::grad(|x: &Float64| slope(x).unwrap().sum());
        let x = Float64::from([0.5, 0.8]);
        let got = curvature(&x).unwrap().to_vec().unwrap();
        let step = 1e-5;
        let wanted = ((slope(&(&x + step)).unwrap() - slope(&(&x - step)).unwrap()) / (2.0 * step)).to_vec().unwrap();
        assert_close(&got, &wanted, 1e-6);
    });
}
