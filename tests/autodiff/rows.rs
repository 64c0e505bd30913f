//! The derivatives that users of array languages expect, with the numbers of `docs/conformance.md`.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, on_each_device};

fn wide(values: &Float) -> Vec<f64> {
    values.to_vec().unwrap().into_iter().map(f64::from).collect()
}

/// The gradient of the sum of a function's results.
fn gradient(f: impl Fn(&Float) -> Float, x: &Float) -> Vec<f64> {
    wide(&ad::grad(|x: &Float| f(x).sum())(x).unwrap())
}

/// The value of a function and its tangent.
fn tangent(f: impl Fn(&Float) -> Float, x: &Float, seed: &Float) -> (Vec<f64>, Vec<f64>) {
    let (value, tangent) = ad::jvp(f, x, seed).unwrap();
    (wide(&value), wide(&tangent))
}

fn one() -> Float {
    Float::from(1.0)
}

// rows: A006 A008 A009
#[test]
fn sums_and_diamonds() {
    on_each_device(|| {
        let f = ad::grad(|(a, b): &(Float, Float)| 2.0 * a + b);
        let (a, b) = f(&(Float::from(1.0), Float::from(2.0))).unwrap();
        assert_eq!((a.item().unwrap(), b.item().unwrap()), (2.0, 1.0));
        let diamond = |a: &Float| {
            let (b, c) = (a + 1.0, a + 1.0);
            b + c
        };
        assert_close(&gradient(diamond, &one()), &[2.0], 0.0);
        assert_close(&tangent(diamond, &one(), &one()).1, &[2.0], 0.0);
    });
}

// rows: A018 A019
#[test]
fn selections() {
    on_each_device(|| {
        let mask = Mask::from([true, false]);
        let (mut x, mut y) = (Float::from(1.0), Float::from(2.0));
        x.enable_grad();
        y.enable_grad();
        x.set_grad(&Float::from(3.0));
        y.set_grad(&Float::from(4.0));
        let z = mask.select(&x, &y);
        assert_close(&wide(&ad::forward_to(&z).unwrap()), &[3.0, 4.0], 0.0);
        assert_close(&wide(&z), &[1.0, 2.0], 0.0);
        let x = Float::arange(10);
        for (bound, wanted) in [(20.0_f32, 1.0), (-1.0, f64::NAN)] {
            let f = |x: &Float| x.lt(bound).select(x, x * (Float::opaque(0.0) / Float::opaque(0.0)));
            assert_close(&gradient(f, &x), &[wanted; 10], 0.0);
            assert_close(&tangent(f, &x, &one()).1, &[wanted; 10], 0.0);
        }
    });
}

// rows: A021 A022 A023 A024 A025 A026 A118
#[test]
fn sums() {
    on_each_device(|| {
        let (nine, ten) = (Float::linspace(0.0, 1.0, 9), Float::linspace(0.0, 1.0, 10));
        let doubled: Vec<f64> = (0..10).map(|i| 2.0 * f64::from(i) / 9.0).collect();
        assert_close(&gradient(|x| x * x, &ten), &doubled, 1e-6);
        let (value, flow) = tangent(|x| (x * x).sum(), &ten, &one());
        assert_close(&value, &[95.0 / 27.0], 1e-6);
        assert_close(&flow, &[10.0], 1e-6);
        assert_close(&gradient(|x| (x.sum() * x).sum(), &nine), &[9.0; 9], 1e-6);
        assert_close(&tangent(|x| (x.sum() * x).sum(), &nine, &one()).1, &[81.0], 1e-6);
        let wanted: Vec<f64> = (0..9).map(|i| 12.75 * f64::from(i) / 8.0).collect();
        assert_close(&gradient(|x| ((x * x).sum() * x * x).sum(), &nine), &wanted, 1e-6);
        let square = |x: &Float| ((x * x).sum() * (x * x).sum()).sum();
        assert_close(&tangent(square, &ten, &one()).1, &[1900.0 / 27.0], 1e-6);
        let (a, b) = (Float::linspace(0.0, 1.0, 102_400), Float::linspace(1.0, -1.0, 102_400));
        let by_dot = gradient(|a| a.dot(&b), &a);
        assert_close(&by_dot, &gradient(|a| (a * &b).sum(), &a), 1e-5);
        assert_close(&by_dot, &wide(&b), 1e-5);
    });
}

// rows: A027 A028 A029 A030 A031
#[test]
fn products_extremes_and_gathers() {
    on_each_device(|| {
        assert_close(&gradient(|x| x.product(), &Float::from([1.0, 2.0, 5.0, 8.0])), &[80.0, 40.0, 16.0, 10.0], 0.0);
        let x = Float::from([1.0, 2.0, 8.0, 5.0, 8.0]);
        assert_close(&gradient(|x| x.reduce_max(), &x), &[0.0, 0.0, 1.0, 0.0, 1.0], 0.0);
        assert_close(&tangent(|x| x.reduce_max(), &x, &one()).1, &[2.0], 0.0);
        let (x, index) = (Float::linspace(-1.0, 1.0, 9), UInt::from([1, 1, 2, 3]));
        let f = |x: &Float| (x * x).gather(&index);
        assert_close(&gradient(f, &x), &[0.0, -3.0, -1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-6);
        assert_close(&tangent(f, &x, &one()).1, &[-1.5, -1.5, -1.0, -0.5], 1e-6);
    });
}

// rows: A033 A113 A114
#[test]
fn scatters_and_shorter_arrays_in_forward_mode() {
    on_each_device(|| {
        let mut x = Float::from(4.0);
        x.enable_grad();
        let mut buffer = Float::zeros(10);
        buffer.scatter(&x * &x * Float::from([1.0, 2.0, 3.0, 4.0]), &(UInt::arange(4) * 2));
        x.set_grad(&one());
        let flow = wide(&ad::forward_to(&buffer).unwrap());
        assert_close(&flow, &[8.0, 0.0, 16.0, 0.0, 24.0, 0.0, 32.0, 0.0, 0.0, 0.0], 0.0);
        buffer.scatter(Float::from(3.0), &UInt::from([0]));
        let flow = wide(&ad::forward_to(&buffer).unwrap());
        assert_close(&flow, &[0.0, 0.0, 16.0, 0.0, 24.0, 0.0, 32.0, 0.0, 0.0, 0.0], 0.0);
        let (x, seed) = (Float::arange(5), Float::from([10.0, 20.0, 30.0, 40.0, 50.0]));
        assert_close(&tangent(|x| x.slice(..3), &x, &seed).1, &[10.0, 20.0, 30.0], 0.0);
        let (_, back) = ad::vjp(|x: &Float| x.slice(..3), &x).unwrap();
        let flow = wide(&back(&Float::from([10.0, 20.0, 30.0])).unwrap());
        assert_close(&flow, &[10.0, 20.0, 30.0, 0.0, 0.0], 0.0);
    });
}

// rows: A037 A038 A039 A040 A041 A042 A043 A044 A045 A046 A047 A048 A049 A050 A051 A052 A053 A054 A055 A056 A057 A058
// rows: A059 A060 A061 A062 A063 A064 A065 A066 A067 A068 A069 A070 A071 A072 A073 A074 A075
#[test]
fn textbook_derivatives() {
    type Case = (fn(&Float64) -> Float64, f64, f64);
    let of = |x: f64| x;
    let cases: [Case; 44] = [
        (|x| -x, 2.0, -1.0),
        (|x| x + 3.0, 2.0, 1.0),
        (|x| 3.0 - x, 2.0, -1.0),
        (|x| x * 3.0, 2.0, 3.0),
        (|x| 3.0 / x, 2.0, -0.75),
        (|x| x.mul_add(7.0, 11.0), 3.0, 7.0),
        (|x| Float64::from(3.0).mul_add(x, 11.0), 7.0, 3.0),
        (|x| Float64::from(3.0).mul_add(7.0, x), 11.0, 1.0),
        (|x| x.abs(), 3.0, 1.0),
        (|x| x.abs(), -3.0, -1.0),
        (|x| x.abs(), 0.0, 0.0),
        (|x| x.recip(), 2.0, -0.25),
        (|x| x.rsqrt(), 2.0, -0.25 / of(2.0).sqrt()),
        (|x| x.cbrt(), 8.0, 1.0 / 12.0),
        (|x| x.erf(), 0.2, std::f64::consts::FRAC_2_SQRT_PI * (-0.04_f64).exp()),
        (|x| x.ln(), 2.0, 0.5),
        (|x| x.log2(), 2.0, 0.5 / std::f64::consts::LN_2),
        (|x| x.exp(), 2.0, of(2.0).exp()),
        (|x| x.exp2(), 2.0, 4.0 * std::f64::consts::LN_2),
        (|x| x.sqrt(), 2.0, 0.5 / of(2.0).sqrt()),
        (|x| x.sin(), 1.0, of(1.0).cos()),
        (|x| x.cos(), 1.0, -of(1.0).sin()),
        (|x| x.sin_cos().0, 1.0, of(1.0).cos()),
        (|x| x.sin_cos().1, 1.0, -of(1.0).sin()),
        (|x| x.tan(), 1.0, 1.0 / of(1.0).cos().powi(2)),
        (|x| x.asin(), 0.5, 1.0 / of(0.75).sqrt()),
        (|x| x.acos(), 0.5, -1.0 / of(0.75).sqrt()),
        (|x| x.atan(), 0.5, 0.8),
        (|x| x.sinh(), 1.0, of(1.0).cosh()),
        (|x| x.cosh(), 1.0, of(1.0).sinh()),
        (|x| x.tanh(), 1.0, 1.0 - of(1.0).tanh().powi(2)),
        (|x| x.asinh(), 1.0, 1.0 / of(2.0).sqrt()),
        (|x| x.acosh(), 1.5, 1.0 / of(1.25).sqrt()),
        (|x| x.atanh(), 0.5, 4.0 / 3.0),
        (|x| x.atan2(2.0), 1.0, 0.4),
        (|x| Float64::from(1.0).atan2(x), 2.0, -0.2),
        (|x| x.atan2(2.0), -1.0, 0.4),
        (|x| Float64::from(-1.0).atan2(x), 2.0, 0.2),
        (|x| x.round(), 1.6, 0.0),
        (|x| x.trunc(), 1.6, 0.0),
        (|x| x.ceil(), 1.6, 0.0),
        (|x| x.floor(), 1.6, 0.0),
        (|x| x.powi(2), 3.0, 6.0),
        (|x| x.powf(2.0), 3.0, 6.0),
    ];
    on_each_device(|| {
        for (position, (function, x, wanted)) in cases.iter().enumerate() {
            let x = Float64::from(*x);
            let got = ad::grad(*function)(&x).unwrap().item().unwrap();
            assert!((got - wanted).abs() < 1e-13 * (1.0 + wanted.abs()), "{position}: {got} instead of {wanted}");
            let flow = ad::jvp(*function, &x, &Float64::from(1.0)).unwrap().1.item().unwrap();
            assert!((flow - got).abs() < 1e-13 * (1.0 + got.abs()), "{position}: {flow} instead of {got}");
        }
    });
}

// rows: A093 A094
#[test]
fn prefix_sums() {
    on_each_device(|| {
        let (x, seed) = (Float::arange(4), Float::from([1.1, 1.2, 1.3, 1.4]));
        let exclusive = |x: &Float| x.prefix_sum_exclusive();
        let inclusive = |x: &Float| x.prefix_sum();
        assert_close(&tangent(exclusive, &x, &seed).1, &[0.0, 1.1, 2.3, 3.6], 1e-6);
        assert_close(&tangent(inclusive, &x, &seed).1, &[1.1, 2.3, 3.6, 5.0], 1e-6);
        assert_close(&tangent(inclusive, &x, &one()).1, &[1.0, 2.0, 3.0, 4.0], 0.0);
        let back = |f: fn(&Float) -> Float| wide(&ad::vjp(f, &x).unwrap().1(&seed).unwrap());
        assert_close(&back(exclusive), &[3.9, 2.7, 1.4, 0.0], 1e-6);
        assert_close(&gradient(inclusive, &x), &[4.0, 3.0, 2.0, 1.0], 0.0);
    });
}

// rows: A115 A116 A117 A122 A123 A124 A125
#[test]
fn reductions_of_blocks() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let seed = Float::from([10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let of = |op: ReduceOp| move |x: &Float| x.block_reduce(op, 2);
        let back = |op: ReduceOp, seeds: [f32; 3]| wide(&ad::vjp(of(op), &x).unwrap().1(&Float::from(seeds)).unwrap());
        assert_close(&tangent(of(ReduceOp::Add), &x, &seed).1, &[30.0, 70.0, 110.0], 0.0);
        assert_close(&back(ReduceOp::Add, [10.0, 20.0, 30.0]), &[10.0, 10.0, 20.0, 20.0, 30.0, 30.0], 0.0);
        assert_close(&tangent(of(ReduceOp::Max), &x, &seed).1, &[20.0, 40.0, 60.0], 0.0);
        assert_close(&tangent(of(ReduceOp::Min), &x, &seed).1, &[10.0, 30.0, 50.0], 0.0);
        assert_close(&back(ReduceOp::Max, [1.0, 10.0, 100.0]), &[0.0, 1.0, 0.0, 10.0, 0.0, 100.0], 0.0);
        assert_close(&back(ReduceOp::Min, [1.0, 10.0, 100.0]), &[1.0, 0.0, 10.0, 0.0, 100.0, 0.0], 0.0);
        let (value, flow) = tangent(of(ReduceOp::Mul), &x, &seed);
        assert_close(&value, &[2.0, 12.0, 30.0], 0.0);
        assert_close(&flow, &[40.0, 240.0, 600.0], 0.0);
        assert_close(&back(ReduceOp::Mul, [1.0, 10.0, 100.0]), &[2.0, 1.0, 40.0, 30.0, 600.0, 500.0], 0.0);
        let ragged = |x: &Float| x.block_sum(3) * Float::from([10.0, 20.0, 30.0]);
        assert_close(&gradient(ragged, &Float::zeros(7)), &[10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 30.0], 0.0);
    });
}

// rows: A120 A121
#[test]
fn extremes_in_memory() {
    on_each_device(|| {
        let index = UInt::from([0, 0, 1, 1, 0, 0]);
        for (op, values, of_values, of_target) in [
            (ReduceOp::Max, [3.0, 5.0, 6.0], [0.0, 1.0, 10.0, 0.0, 0.0, 0.0], [0.0, 0.0, 100.0]),
            (ReduceOp::Min, [1.0, 4.0, 6.0], [1.0, 0.0, 0.0, 10.0, 0.0, 0.0], [0.0, 0.0, 100.0]),
        ] {
            let mut x = Float::from([1.0, 3.0, 5.0, 4.0, 2.0, 2.0]);
            let far = if op == ReduceOp::Max { -9.0 } else { 9.0 };
            let mut target = Float::from([far, far, 6.0]);
            x.enable_grad();
            target.enable_grad();
            let before = target.clone();
            target.scatter_reduce(op, &x, &index);
            assert_close(&wide(&target), &values, 0.0);
            target.set_grad(&Float::from([1.0, 10.0, 100.0]));
            ad::backward_from(&target).unwrap();
            assert_close(&wide(&x.grad()), &of_values, 0.0);
            assert_close(&wide(&before.grad()), &of_target, 0.0);
        }
    });
}

// rows: A126 A127 A128 A129 A130 A131 A132
#[test]
fn packets() {
    on_each_device(|| {
        let x = Float::arange(12);
        let rows = UInt::from([2, 0, 1]);
        let weights = Float::from([1.0, 10.0, 100.0]);
        let read = |x: &Float| {
            let lanes = x.gather_packet::<4>(&rows);
            let sum: Float =
                lanes.iter().enumerate().map(|(i, lane)| lane * (i + 1) as f32).fold(one() * 0.0, |a, b| a + b);
            sum * &weights
        };
        let wanted: Vec<f64> = [10.0, 100.0, 1.0].iter().flat_map(|w| (1..5).map(move |i| w * f64::from(i))).collect();
        assert_close(&gradient(read, &x), &wanted, 0.0);
        assert_close(&tangent(read, &x, &one()).1, &[10.0, 100.0, 1000.0], 0.0);
        for is_sum in [false, true] {
            let (mut value, mut target) = (Float::from([1.0, 2.0]), Float::full(5.0, 12));
            value.enable_grad();
            target.enable_grad();
            let before = target.clone();
            let (packet, index) = ([&value, &value, &value, &value].map(Clone::clone), UInt::from([2, 0]));
            match is_sum {
                true => target.scatter_add_packet(&packet, &index),
                false => target.scatter_packet(&packet, &index),
            }
            (&target * Float::arange(12)).sum().backward().unwrap();
            assert_close(&wide(&value.grad()), &[38.0, 6.0], 0.0);
            let kept = |i: u32| if is_sum || (4..8).contains(&i) { f64::from(i) } else { 0.0 };
            assert_close(&wide(&before.grad()), &(0..12).map(kept).collect::<Vec<_>>(), 0.0);
        }
    });
}

// rows: A133
#[test]
fn prefix_sums_along_axes() {
    on_each_device(|| {
        let x = Tensor::<f32>::ones([3, 3]);
        for (axis, wanted) in
            [(0, [3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0]), (1, [3.0, 2.0, 1.0, 3.0, 2.0, 1.0, 3.0, 2.0, 1.0])]
        {
            let f = ad::grad(|x: &Tensor<f32>| x.prefix_sum(axis).sum(..).array().clone());
            assert_eq!(f(&x).unwrap().to_vec().unwrap(), wanted);
        }
    });
}

// rows: A138 A139
#[test]
fn stored_gradients_are_the_start() {
    on_each_device(|| {
        let mut x = Float::from(3.0);
        x.enable_grad();
        let y = 2.0 * &x;
        y.set_grad(&Float::from(1000.0));
        ad::backward_from(&y).unwrap();
        assert_eq!(x.grad().item().unwrap(), 2000.0);
        let mut x = Float::from(3.0);
        x.enable_grad();
        let y = 2.0 * &x;
        x.set_grad(&Float::from(1000.0));
        ad::forward_from(&x).unwrap();
        assert_eq!(y.grad().item().unwrap(), 2000.0);
    });
}

// rows: A210
#[test]
fn threads_differentiate_side_by_side() {
    on_each_device(|| {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for round in 0..50 {
                        let mut x = Float::full((thread * 50 + round) as f32, 16);
                        x.enable_grad();
                        (&x * &x * 0.5).backward().unwrap();
                        assert_eq!(x.grad().get(3).unwrap(), (thread * 50 + round) as f32);
                    }
                });
            }
        });
    });
}
