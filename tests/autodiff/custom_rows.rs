//! Rows of custom operations, variables in values, and loops over matrices.

use std::sync::Arc;

use jit::ad::{self, CustomOp, custom};
use jit::linalg::{Mat4, Vec3};
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

/// Normalises a vector.
struct Normalise;

impl CustomOp for Normalise {
    type Input = Vec3;
    type Output = Vec3;
    type Saved = (Vec3, Float);

    fn forward(&self, x: &Vec3) -> (Vec3, (Vec3, Float)) {
        let scale = x.dot(x).sqrt().recip();
        let unit = x * &scale;
        (unit.clone(), (unit, scale))
    }

    fn backward(&self, (unit, scale): &(Vec3, Float), gradient: &Vec3) -> jit::Result<Vec3> {
        Ok((gradient - unit * unit.dot(gradient)) * scale)
    }

    fn jvp(&self, saved: &(Vec3, Float), tangent: &Vec3) -> jit::Result<Vec3> {
        self.backward(saved, tangent)
    }
}

/// Returns its input twice.
struct Copies;

impl CustomOp for Copies {
    type Input = Float;
    type Output = (Float, Float);
    type Saved = ();

    fn forward(&self, x: &Float) -> ((Float, Float), ()) {
        ((x.clone(), x.clone()), ())
    }

    fn backward(&self, (): &(), (a, b): &(Float, Float)) -> jit::Result<Float> {
        Ok(a + b)
    }

    fn jvp(&self, (): &(), tangent: &Float) -> jit::Result<(Float, Float)> {
        Ok((tangent.clone(), tangent.clone()))
    }
}

/// Adds two numbers, and counts its living copies.
struct Adds(#[expect(dead_code, reason = "it is counted")] Arc<()>);

impl CustomOp for Adds {
    type Input = (Float, Float);
    type Output = Float;
    type Saved = ();

    fn forward(&self, (a, b): &(Float, Float)) -> (Float, ()) {
        (a + b, ())
    }

    fn backward(&self, (): &(), gradient: &Float) -> jit::Result<(Float, Float)> {
        Ok((gradient.clone(), gradient.clone()))
    }

    fn jvp(&self, (): &(), (a, b): &(Float, Float)) -> jit::Result<Float> {
        Ok(a + b)
    }
}

#[track_caller]
fn assert_near(found: &Vec3, wanted: [f32; 3]) {
    for (found, wanted) in [&found.x, &found.y, &found.z].into_iter().zip(wanted) {
        assert!((found.item().unwrap() - wanted).abs() < 1e-5);
    }
}

fn vector([x, y, z]: [f32; 3]) -> Vec3 {
    Vec3::new(Float::from(x), Float::from(y), Float::from(z))
}

// rows: A099 A102
#[test]
fn a_vector_is_normalised_by_an_operation_with_its_own_derivative() {
    on_each_device(|| {
        let wanted = [0.610_883, 0.152_721, -0.305_441];
        let (x, tangent) = (vector([1.0, 2.0, 3.0]), vector([5.0, 6.0, 7.0]));
        let (_, found) = ad::jvp(|x: &Vec3| custom(Normalise, x), &x, &tangent).unwrap();
        assert_near(&found, wanted);
        let (_, back) = ad::vjp(|x: &Vec3| custom(Normalise, x), &x).unwrap();
        assert_near(&back(&tangent).unwrap(), wanted);
        // Gradients of two traversals add up.
        let mut x = x;
        ad::enable_grad(&mut x);
        let y = custom(Normalise, &x);
        let weighted = y.dot(&tangent);
        ad::backward_keep(&weighted).unwrap();
        ad::backward_keep(&weighted).unwrap();
        assert_near(&ad::grad_of(&x), wanted.map(|x| 2.0 * x));
    });
}

// rows: A101 A104
#[test]
fn an_operation_with_two_results_of_one_input() {
    on_each_device(|| {
        let (_, (a, b)) = ad::jvp(|x: &Float| custom(Copies, x), &Float::from(3.0), &Float::from(10.0)).unwrap();
        assert_eq!((a.item().unwrap(), b.item().unwrap()), (10.0, 10.0));
        let x = variable(&[3.0]);
        let (a, b) = custom(Copies, &x);
        a.set_grad(&Float::from(10.0));
        b.set_grad(&Float::from(20.0));
        ad::backward_from(&(a, b)).unwrap();
        assert_eq!(x.grad().item().unwrap(), 30.0);
    });
}

/// A product; where the factor is a variable, the program passes it to the operation.
struct Scaled;

impl CustomOp for Scaled {
    type Input = (Float, Float);
    type Output = Float;
    type Saved = (Float, Float);

    fn forward(&self, (x, factor): &(Float, Float)) -> (Float, (Float, Float)) {
        (x * factor, (x.clone(), factor.clone()))
    }

    fn backward(&self, (x, factor): &(Float, Float), gradient: &Float) -> jit::Result<(Float, Float)> {
        Ok((gradient * factor, gradient * x))
    }

    fn jvp(&self, (x, factor): &(Float, Float), (of_x, of_factor): &(Float, Float)) -> jit::Result<Float> {
        Ok(of_x * factor + x * of_factor)
    }
}

// rows: A105
#[test]
fn what_an_operation_reads_from_outside_is_one_of_its_inputs() {
    on_each_device(|| {
        let outer = variable(&[2.0]);
        let product = |x: f32| custom(Scaled, &(Float::from(x), outer.clone()));
        let y = product(369.0);
        assert_eq!(y.item().unwrap(), 738.0);
        outer.forward().unwrap();
        assert_eq!(y.grad().item().unwrap(), 369.0);
        outer.clear_grad();
        product(369.0).backward().unwrap();
        assert_eq!(outer.grad().item().unwrap(), 369.0);
    });
}

// rows: A106 A107
#[test]
fn inputs_of_an_operation_may_be_suspended() {
    on_each_device(|| {
        for (is_first, is_second) in [(false, false), (true, false), (false, true), (true, true)] {
            let (a, b) = (variable(&[1.0]), variable(&[2.0]));
            let suspended: Vec<Float> =
                [(is_first, &a), (is_second, &b)].into_iter().filter(|(is, _)| *is).map(|(_, x)| x.clone()).collect();
            let inputs = (a.clone(), b.clone());
            let sum = ad::suspend_for(&suspended, || custom(Adds(Arc::default()), &inputs));
            assert_eq!(sum.grad_enabled(), !(is_first && is_second));
            assert_eq!(sum.item().unwrap(), 3.0);
            for x in [&a, &b] {
                x.set_grad(&Float::from(1.0));
            }
            ad::forward_from(&inputs).unwrap();
            assert_eq!(sum.grad().item().unwrap(), 2.0 - suspended.len() as f32);
            ad::clear_grad(&inputs);
            ad::allow_no_grad(|| ad::backward(&sum)).unwrap();
            let found = ad::grad_of(&inputs);
            let wanted = (f32::from(u8::from(!is_first)), f32::from(u8::from(!is_second)));
            assert_eq!((found.0.item().unwrap(), found.1.item().unwrap()), wanted);
        }
    });
}

// rows: A108
#[test]
fn an_operation_whose_results_are_dropped_is_freed() {
    on_each_device(|| {
        let (count, x) = (Arc::new(()), variable(&[1.0]));
        let sum = custom(Adds(Arc::clone(&count)), &(x.clone(), x.clone()));
        assert_eq!(Arc::strong_count(&count), 2);
        drop(sum);
        assert_eq!(Arc::strong_count(&count), 1);
    });
}

// rows: A001
#[test]
fn all_arrays_of_a_value_become_variables() {
    #[derive(Clone, Traverse)]
    struct Nested {
        position: Vec3,
        weights: Vec<(Float, Option<Float>)>,
        count: UInt,
        steps: u32,
    }
    on_each_device(|| {
        let weights = vec![(Float::from([1.0, 2.0]), None), (Float::from(3.0), Some(Float::from(4.0)))];
        let mut nested = Nested { position: vector([1.0, 2.0, 3.0]), weights, count: UInt::from([1, 2]), steps: 7 };
        let mut pair = (Float::from(1.0), [Float::from(2.0), Float::from(3.0)]);
        ad::enable_grad(&mut (&mut nested, &mut pair));
        let weights = || nested.weights.iter().flat_map(|(a, b)| [Some(a), b.as_ref()]).flatten();
        let floats = || [&nested.position.x, &nested.position.y, &nested.position.z].into_iter().chain(weights());
        assert!(floats().chain([&pair.0]).chain(&pair.1).all(Float::grad_enabled));
        assert!(!nested.count.grad_enabled());
        assert_eq!((nested.steps, nested.count.to_vec().unwrap()), (7, vec![1, 2]));
        floats().map(|x| (x * x).sum()).for_each(|loss| loss.backward().unwrap());
        let gradient = ad::grad_of(&nested);
        assert_near(&gradient.position, [2.0, 4.0, 6.0]);
        assert_eq!(gradient.weights[0].0.to_vec().unwrap(), [2.0, 4.0]);
        assert_eq!(gradient.weights[1].1.as_ref().unwrap().item().unwrap(), 8.0);
        assert_eq!(gradient.count.to_vec().unwrap(), [0, 0]);
        ad::clear_grad(&nested);
        assert_eq!(ad::grad_of(&nested).weights[0].0.to_vec().unwrap(), [0.0, 0.0]);
        assert!(!ad::detach(&nested).position.x.grad_enabled() && nested.position.x.grad_enabled());
        ad::disable_grad(&mut nested);
        assert!(!nested.position.x.grad_enabled());
    });
}

// rows: A140
#[test]
fn a_value_divided_by_itself_has_relative_gradients() {
    on_each_device(|| {
        let x = variable(&[1.0, 2.0, 4.0]);
        let y = &x * &x;
        let relative = &y / y.detach();
        assert_eq!(relative.to_vec().unwrap(), [1.0; 3]);
        relative.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [2.0, 1.0, 0.5]);
    });
}

fn matrix(entry: impl Fn(usize, usize) -> f64) -> Mat4<f64> {
    Mat4::from_rows(std::array::from_fn(|row| std::array::from_fn::<f64, 4, _>(|column| entry(row, column))))
}

#[jit]
fn square_root(a: &Mat4<f64>) -> (Mat4<f64>, Mat4<f64>) {
    let (mut y, mut z, mut i) = (a.clone(), Mat4::<f64>::identity(), UInt::from(0));
    while i < 6 {
        let step = (Mat4::<f64>::identity() * 3.0 - &z * &y) * 0.5;
        y = &y * &step;
        z = &step * &z;
        i += 1;
    }
    (y, z)
}

// rows: A165
#[test]
fn newtons_square_root_of_a_matrix() {
    on_each_device(|| {
        let entry = |row: usize, column: usize| if row == column { 1.0 } else { 0.05 * (row + 2 * column) as f64 };
        let a = matrix(|row, column| entry(row, column) / 1.5);
        let (root, _) = square_root(&a);
        let square = &root * &root;
        for (found, wanted) in [(0, 0), (1, 3), (2, 1)].map(|at| (square[at].item(), a[at].item())) {
            assert!((found.unwrap() - wanted.unwrap()).abs() < 1e-5);
        }
        // The product of two probes with the Jacobian is the same by both modes.
        let probe = |seed: f64| matrix(|row, column| (seed + (3 * row + column) as f64).sin());
        let (of_a, of_root) = (probe(0.5), probe(2.0));
        let (_, tangent) = ad::jvp(|a: &Mat4<f64>| square_root(a).0, &a, &of_a).unwrap();
        let (_, back) = ad::vjp(|a: &Mat4<f64>| square_root(a).0, &a).unwrap();
        let gradient = back(&of_root).unwrap();
        let product = |x: &Mat4<f64>, y: &Mat4<f64>| {
            let all = (0..4).flat_map(|row| (0..4).map(move |column| (row, column)));
            all.map(|at| (&x[at] * &y[at]).item().unwrap()).sum::<f64>()
        };
        let (forward, backward) = (product(&tangent, &of_root), product(&of_a, &gradient));
        assert!((forward - backward).abs() < 1e-9 * forward.abs().max(1.0), "{forward} {backward}");
    });
}
