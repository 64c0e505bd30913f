//! Derivatives of functions, to higher orders.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, on_each_device};

fn item(x: &Float64) -> f64 {
    x.item().unwrap()
}

#[test]
fn derivatives_nest_to_any_order() {
    on_each_device(|| {
        let x = Float64::from(1.3);
        let f = |x: &Float64| x.sin() * x;
        let first = ad::grad(f);
        let second = ad::grad(|x: &Float64| first(x).unwrap());
        let third = ad::grad(|x: &Float64| second(x).unwrap());
        let (s, c) = (1.3_f64.sin(), 1.3_f64.cos());
        assert_close(
            &[item(&first(&x).unwrap()), item(&second(&x).unwrap()), item(&third(&x).unwrap())],
            &[s + 1.3 * c, 2.0 * c - 1.3 * s, -3.0 * s - 1.3 * c],
            1e-12,
        );
        assert!(!third(&x).unwrap().grad_enabled() && !first(&x).unwrap().grad_enabled());
        // Forward over forward, and reverse over forward.
        let one = || Float64::from(1.0);
        let slope = |x: &Float64| ad::jvp(f, x, &one()).unwrap().1;
        let twice = ad::jvp(slope, &x, &one()).unwrap().1;
        let mixed = ad::grad(slope)(&x).unwrap();
        assert_close(&[item(&twice), item(&mixed)], &[2.0 * c - 1.3 * s; 2], 1e-12);
    });
}

/// The classical examples: an inner derivative is not one by the outer variable.
#[test]
fn inner_and_outer_variables_are_not_confused() {
    on_each_device(|| {
        let x = Float64::from(1.0);
        // d/dx (x · d/dy (x + y)) = 1
        let f = ad::grad(|x: &Float64| x * ad::grad(|y: &Float64| x + y)(x).unwrap());
        assert_eq!(item(&f(&x).unwrap()), 1.0);
        // d/dx (x · d/dy (x · y)) = 2 x
        let f = ad::grad(|x: &Float64| x * ad::grad(|y: &Float64| x * y)(&Float64::from(2.0)).unwrap());
        assert_eq!(item(&f(&Float64::from(3.0)).unwrap()), 6.0);
        let one = || Float64::from(1.0);
        let inner = |x: &Float64| ad::jvp(|y: &Float64| x * y, &Float64::from(2.0), &one()).unwrap().1;
        let (_, outer) = ad::jvp(|x: &Float64| x * inner(x), &Float64::from(3.0), &one()).unwrap();
        assert_eq!(item(&outer), 6.0);
        // Through a variable of the surrounding program.
        let mut a = Float64::from(2.0);
        a.enable_grad();
        let slope = ad::grad(|x: &Float64| x * x * &a)(&Float64::from(3.0)).unwrap();
        assert_eq!(item(&slope), 12.0);
        slope.backward().unwrap();
        assert_eq!(item(&a.grad()), 6.0);
    });
}

#[test]
fn products_with_the_hessian_are_exact_where_gradients_vanish() {
    on_each_device(|| {
        // The gradient is zero at 0, the curvature is not.
        let f = |x: &Float64| (x * x * (x + 1.0)).sum();
        let x = Float64::from([0.0, 1.0]);
        let product = ad::hvp(f, &x, &Float64::from([1.0, 1.0])).unwrap();
        assert_close(&product.to_vec().unwrap(), &[2.0, 8.0], 1e-12);
        let first = ad::grad(f);
        let second = ad::grad(|x: &Float64| first(x).unwrap().sum());
        assert_close(&second(&x).unwrap().to_vec().unwrap(), &[2.0, 8.0], 1e-12);
    });
}

#[derive(Clone, Traverse)]
struct Model {
    weight: Float64,
    steps: UInt,
    bias: [Float64; 2],
}

#[test]
fn trees_are_arguments_and_results() {
    on_each_device(|| {
        let model = Model {
            weight: Float64::from([1.0, 2.0]),
            steps: UInt::from([3, 4]),
            bias: [Float64::from(0.5), Float64::from(0.25)],
        };
        let loss = |m: &Model| (&m.weight * m.steps.cast::<f64>() * &m.bias[0] + &m.bias[1]).sum();
        let (value, gradient) = ad::value_and_grad(loss)(&model).unwrap();
        assert_eq!(item(&value), 6.0);
        assert_eq!(gradient.weight.to_vec().unwrap(), [1.5, 2.0]);
        assert_eq!(gradient.steps.to_vec().unwrap(), [0, 0]);
        assert_eq!((item(&gradient.bias[0]), item(&gradient.bias[1])), (11.0, 2.0));
        let (y, back) = ad::vjp(|m: &Model| (m.weight.sin(), &m.bias[0] * 2.0), &model).unwrap();
        assert_eq!((y.0.len(), y.1.len()), (2, 1));
        let gradient = back(&(Float64::from([0.0, 1.0]), Float64::from(3.0))).unwrap();
        assert_close(&gradient.weight.to_vec().unwrap(), &[0.0, 2.0_f64.cos()], 1e-12);
        assert_eq!(item(&gradient.bias[0]), 6.0);
        let Err(error) = back(&(Float64::zeros(3), Float64::from(3.0))) else { panic!("it has another width") };
        assert!(error.to_string().contains("the gradient is [3 × f64, 1 × f64], and belongs to [2 × f64, 1 × f64]"));
    });
}

#[test]
fn tensors_are_differentiated() {
    on_each_device(|| {
        let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
        let loss = |x: &Tensor<f64>| x.square().sum(..);
        let (value, gradient) = ad::value_and_grad(loss)(&x).unwrap();
        assert_eq!((value.item().unwrap(), gradient.to_vec().unwrap()), (30.0, vec![2.0, 4.0, 6.0, 8.0]));
        assert!(!value.grad_enabled());
        let product = ad::hvp(loss, &x, &Tensor::from([[1.0, 0.0], [0.0, 10.0]])).unwrap();
        assert_eq!((product.shape(), product.to_vec().unwrap()), (&[2, 2][..], vec![2.0, 0.0, 0.0, 20.0]));
        // Of several elements, their sum.
        assert_eq!(ad::grad(|x: &Tensor<f64>| x * x)(&x).unwrap().to_vec().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    });
}

#[test]
fn the_second_part_of_a_result_has_no_influence_on_the_gradient() {
    on_each_device(|| {
        let fit = |x: &Float64| {
            let rest = x - 3.0;
            ((&rest * &rest).sum(), (rest, x.gt(1.5), 7_u32))
        };
        let x = Float64::from([1.0, 2.0]);
        let ((loss, (rest, above, number)), gradient) = ad::value_and_grad(fit)(&x).unwrap();
        assert_eq!((item(&loss), rest.to_vec().unwrap()), (5.0, vec![-2.0, -1.0]));
        assert_eq!((above.to_vec().unwrap(), number), (vec![false, true], 7));
        assert_eq!(gradient.to_vec().unwrap(), [-4.0, -2.0]);
        assert!(!loss.grad_enabled() && !rest.grad_enabled());
        // An outer derivative flows through both.
        let outer = |x: &Float64| {
            let ((loss, (rest, ..)), gradient) = ad::value_and_grad(fit)(x).unwrap();
            loss + 10.0 * rest.sum() + 100.0 * gradient.sum()
        };
        assert_eq!(ad::grad(outer)(&x).unwrap().to_vec().unwrap(), [-4.0 + 10.0 + 200.0, -2.0 + 10.0 + 200.0]);
    });
}

#[test]
fn the_second_part_of_a_result_needs_no_derivative() {
    on_each_device(|| {
        let exchanged = |x: &Float64| {
            let mut array = Float64::zeros(2);
            let before = array.scatter_exchange(x, &UInt::from([1, 0]));
            ((x * x).sum(), (before, array))
        };
        let x = Float64::from([1.0, 2.0]);
        let ((loss, (before, array)), gradient) = ad::value_and_grad(exchanged)(&x).unwrap();
        assert_eq!((item(&loss), before.to_vec().unwrap()), (5.0, vec![0.0, 0.0]));
        assert_eq!((array.to_vec().unwrap(), gradient.to_vec().unwrap()), (vec![2.0, 1.0], vec![2.0, 4.0]));
        // A derivative of that part is an error, not zero.
        let outer = |x: &Float64| ad::value_and_grad(exchanged)(x).unwrap().0.1.0.sum();
        assert!(ad::grad(outer)(&x).is_err());
    });
}

type OfTwo = fn(&(Float64, Float64)) -> Float64;

/// Functions of two arrays, parts of which an evaluation stores.
const PULLED: [OfTwo; 5] = [
    |(a, b)| {
        let same = UInt::from([0, 1]);
        (0..4).fold(a.clone(), |y, _| (&y * b.gather(&same)).sin())
    },
    |(a, b)| {
        let mut sums = Float64::zeros(2);
        sums.scatter_add((a * b).exp(), &UInt::from([1, 0]));
        sums * a
    },
    |(a, b)| (a * b).sum() * (a / b).prefix_sum(),
    |(a, b)| {
        let column = Tensor::from_array(a.sin(), [2, 1]);
        column.matmul(&Tensor::from_array(b.exp(), [1, 2])).sum(1).into_array() * b
    },
    |(a, b)| ad::checkpoint(|(a, b): &(Float64, Float64)| (a * b).sin(), &(a.clone(), b.reverse())) * b.reverse(),
];

#[test]
fn a_function_that_was_called_is_differentiated_again_after_evaluations() {
    on_each_device(|| {
        let x = (Float64::from([0.3, 0.7]), Float64::from([1.1, 0.4]));
        let of = |x: (Float64, Float64)| [x.0.to_vec().unwrap(), x.1.to_vec().unwrap()].concat();
        for function in PULLED {
            let (y, pull) = ad::vjp(function, &x).unwrap();
            y.to_vec().unwrap();
            for seed in [[1.0, 0.0], [0.0, 1.0], [2.0, -3.0], [1.0, 0.0]] {
                let found = of(pull(&Float64::from(seed)).unwrap());
                let (_, fresh) = ad::vjp(function, &x).unwrap();
                assert_close(&found, &of(fresh(&Float64::from(seed)).unwrap()), 1e-12);
                assert!(found.iter().any(|x| x.abs() > 1e-3), "{found:?}");
            }
        }
    });
}

/// A loss that the host had computed of what it read had a gradient of zero, without an error.
#[test]
fn results_that_the_host_computes_have_no_derivative() {
    on_each_device(|| {
        let (x, one) = (Float64::from([1.0, 2.0]).make_opaque(), || Float64::from([1.0, 1.0]));
        let by_host = |x: &Float64| Float64::from(x.square().sum().item().unwrap() * 2.0);
        let before_another = |x: &Float64| {
            let sum = x.sum().item().unwrap();
            assert_eq!(ad::grad(|x: &Float64| x.square())(x).unwrap().len(), 2);
            Float64::from(sum)
        };
        let by_list = |x: &Float64| Float64::from(x.exp().to_vec().unwrap());
        let errors = [
            ad::grad(by_host)(&x).map(drop).unwrap_err(),
            ad::grad(by_list)(&x).map(drop).unwrap_err(),
            ad::grad(before_another)(&x).map(drop).unwrap_err(),
            ad::value_and_grad(|x: &Float64| (by_host(x), x.clone()))(&x).map(drop).unwrap_err(),
            ad::vjp(by_host, &x).map(drop).unwrap_err(),
            ad::jvp(by_host, &x, &one()).map(drop).unwrap_err(),
            ad::hvp(by_host, &x, &one()).map(drop).unwrap_err(),
        ];
        for error in errors.map(|error| error.to_string()) {
            let wanted =
                "the result does not depend on the argument, but the host has read what does at tests/autodiff";
            assert!(error.contains(wanted) && error.contains("constants"), "{error}");
        }
        let zero = ad::allow_no_grad(|| ad::grad(by_host)(&x)).unwrap();
        assert_eq!(zero.to_vec().unwrap(), [0.0, 0.0]);
    });
}

#[test]
fn constants_have_a_derivative_of_zero_whatever_the_host_reads_elsewhere() {
    on_each_device(|| {
        let x = Float64::from([1.0, 2.0]).make_opaque();
        let zero = |f: fn(&Float64) -> Float64| ad::grad(f)(&x).unwrap().to_vec().unwrap();
        assert_eq!(zero(|_| Float64::from(3.0)), [0.0, 0.0]);
        // What is read carries no gradients.
        assert_eq!(zero(|x| Float64::from(x.detach().sum().item().unwrap())), [0.0, 0.0]);
        // The second derivative of a linear function, whose value is read; its slope does not depend on the argument.
        let slope = |x: &Float64| {
            let linear = |x: &Float64| {
                let y = x.sum() * 3.0;
                assert_eq!(y.item().unwrap(), 9.0);
                y
            };
            ad::grad(linear)(x).unwrap().sum()
        };
        assert_eq!(ad::grad(slope)(&x).unwrap().to_vec().unwrap(), [0.0, 0.0]);
        // A read before the call, and one that decides a branch of the host.
        let y = ad::value_and_grad(|x: &Float64| if x.sum().item().unwrap() > 0.0 { x * 2.0 } else { x * 0.0 });
        assert_eq!(y(&x).unwrap().1.to_vec().unwrap(), [2.0, 2.0]);
        assert_eq!(zero(|_| Float64::from(3.0)), [0.0, 0.0]);
    });
}

/// Derivatives by `p` in the steps of a program capture its state, which carries gradients.
fn steps_with_slopes(state: &Float64, p: &Float64) -> Float64 {
    (0..40).fold(state.clone(), |state, step| {
        let slope = ad::grad(|p: &Float64| (p * p * &state).sin())(p).unwrap();
        // Every third step captures a derivative of the step before, and through it the state.
        let curvature = match step % 3 {
            0 => ad::grad(|p: &Float64| ad::grad(|q: &Float64| (q * p * &slope).exp())(p).unwrap())(p).unwrap(),
            _ => Float64::from(0.0),
        };
        state * 0.9 + slope * 0.05 + curvature * 0.01
    })
}

/// The same, with slopes that are written out: q → p s exp(p q s) at q = p, and its derivative by p.
fn steps_with_formulas(state: &Float64, p: &Float64) -> Float64 {
    (0..40).fold(state.clone(), |state, step| {
        let slope = 2.0 * p * &state * (p * p * &state).cos();
        let curvature = match step % 3 {
            0 => &slope * (p * p * &slope).exp() * (1.0 + 2.0 * p * p * &slope),
            _ => Float64::from(0.0),
        };
        state * 0.9 + slope * 0.05 + curvature * 0.01
    })
}

#[test]
fn what_derivatives_in_many_steps_have_captured_has_derivatives() {
    on_each_device(|| {
        let (state, p) = (Float64::from([0.3, -0.4, 1.1]), Float64::from([0.5, 0.7, -0.2]));
        let gradients = |steps: fn(&Float64, &Float64) -> Float64| {
            let both = |(state, p): &(Float64, Float64)| steps(state, p).sum();
            let (by_state, by_p) = ad::grad(both)(&(state.clone(), p.clone())).unwrap();
            let twice = ad::hvp(|state: &Float64| steps(state, &p).sum(), &state, &state.ones_like()).unwrap();
            let tangent = ad::jvp(|state: &Float64| steps(state, &p), &state, &state.ones_like()).unwrap().1;
            let mut variable = state.clone();
            variable.enable_grad();
            steps(&variable, &p).backward().unwrap();
            [by_state, by_p, twice, tangent, variable.grad()].map(|value| value.to_vec().unwrap()).concat()
        };
        assert_close(&gradients(steps_with_slopes), &gradients(steps_with_formulas), 1e-9);
    });
}
