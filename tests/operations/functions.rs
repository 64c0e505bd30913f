//! Transcendental functions: the values that IEEE 754 and C's annex F fix, agreement of all devices and of all ways of
//! evaluation to the bit, and agreement with double precision.
//!
//! Their errors over the whole range are measured elsewhere.

use half::{bf16, f16};
use jit::FloatElement;
use jit::prelude::*;

use crate::agree::{bits, on_each_device, resident, same};
use crate::corners::Corners;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

type One<T> = fn(&Array<T>) -> Array<T>;
type Two<T> = fn(&Array<T>, &Array<T>) -> Array<T>;

/// All functions of one operand, by name.
fn of_one<T: FloatElement>() -> [(&'static str, One<T>); 29] {
    [
        ("exp", |x| x.exp()),
        ("exp2", |x| x.exp2()),
        ("exp_m1", |x| x.exp_m1()),
        ("ln", |x| x.ln()),
        ("ln_1p", |x| x.ln_1p()),
        ("log2", |x| x.log2()),
        ("log10", |x| x.log10()),
        ("cbrt", |x| x.cbrt()),
        ("rsqrt", |x| x.rsqrt()),
        ("sin", |x| x.sin()),
        ("cos", |x| x.cos()),
        ("tan", |x| x.tan()),
        ("asin", |x| x.asin()),
        ("acos", |x| x.acos()),
        ("atan", |x| x.atan()),
        ("sinh", |x| x.sinh()),
        ("cosh", |x| x.cosh()),
        ("tanh", |x| x.tanh()),
        ("asinh", |x| x.asinh()),
        ("acosh", |x| x.acosh()),
        ("atanh", |x| x.atanh()),
        ("erf", |x| x.erf()),
        ("erfc", |x| x.erfc()),
        ("erfinv", |x| x.erfinv()),
        ("tgamma", |x| x.tgamma()),
        ("lgamma", |x| x.lgamma()),
        ("sigmoid", |x| x.sigmoid()),
        ("to_radians", |x| x.to_radians()),
        ("to_degrees", |x| x.to_degrees()),
    ]
}

/// All functions of two operands, by name.
fn of_two<T: FloatElement>() -> [(&'static str, Two<T>); 3] {
    [("atan2", |x, y| x.atan2(y)), ("hypot", |x, y| x.hypot(y)), ("powf", |x, y| x.powf(y))]
}

/// The value of each function at zeros, infinities, NaN and its poles.
const FIXED: [(&str, f32, f32); 99] = [
    ("rsqrt", 4.0, 0.5),
    ("rsqrt", 0.0, INF),
    ("rsqrt", -0.0, -INF),
    ("rsqrt", -1.0, NAN),
    ("rsqrt", INF, 0.0),
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("exp", INF, INF),
    ("exp", -INF, 0.0),
    ("exp", 1e4, INF),
    ("exp", -1e4, 0.0),
    ("exp2", -0.0, 1.0),
    ("exp2", INF, INF),
    ("exp2", -INF, 0.0),
    ("exp2", 3.0, 8.0),
    ("exp2", -14.0, 1.0 / 16384.0),
    ("exp_m1", 0.0, 0.0),
    ("exp_m1", -0.0, -0.0),
    ("exp_m1", INF, INF),
    ("exp_m1", -INF, -1.0),
    ("exp_m1", -1e4, -1.0),
    ("ln", 1.0, 0.0),
    ("ln", 0.0, -INF),
    ("ln", -0.0, -INF),
    ("ln", INF, INF),
    ("ln", -1.0, NAN),
    ("ln", -INF, NAN),
    ("ln_1p", 0.0, 0.0),
    ("ln_1p", -0.0, -0.0),
    ("ln_1p", -1.0, -INF),
    ("ln_1p", -2.0, NAN),
    ("ln_1p", INF, INF),
    ("log2", 8.0, 3.0),
    ("log2", 1.0, 0.0),
    ("log2", -0.0, -INF),
    ("log2", -1.0, NAN),
    ("log2", INF, INF),
    ("log10", 1000.0, 3.0),
    ("log10", 1.0, 0.0),
    ("log10", 0.0, -INF),
    ("log10", -1.0, NAN),
    ("log10", INF, INF),
    ("cbrt", 27.0, 3.0),
    ("cbrt", -8.0, -2.0),
    ("cbrt", -0.0, -0.0),
    ("cbrt", INF, INF),
    ("cbrt", -INF, -INF),
    ("sin", -0.0, -0.0),
    ("sin", INF, NAN),
    ("sin", -INF, NAN),
    ("cos", -0.0, 1.0),
    ("cos", INF, NAN),
    ("tan", -0.0, -0.0),
    ("tan", INF, NAN),
    ("asin", -0.0, -0.0),
    ("asin", 1.5, NAN),
    ("asin", INF, NAN),
    ("acos", 1.0, 0.0),
    ("acos", -1.5, NAN),
    ("atan", -0.0, -0.0),
    ("sinh", -0.0, -0.0),
    ("sinh", INF, INF),
    ("sinh", -INF, -INF),
    ("cosh", -0.0, 1.0),
    ("cosh", -INF, INF),
    ("tanh", -0.0, -0.0),
    ("tanh", INF, 1.0),
    ("tanh", -INF, -1.0),
    ("asinh", -0.0, -0.0),
    ("asinh", INF, INF),
    ("asinh", -INF, -INF),
    ("acosh", 1.0, 0.0),
    ("acosh", 0.5, NAN),
    ("acosh", INF, INF),
    ("acosh", -INF, NAN),
    ("atanh", -0.0, -0.0),
    ("atanh", 1.0, INF),
    ("atanh", -1.0, -INF),
    ("atanh", 1.5, NAN),
    ("erf", -0.0, -0.0),
    ("erf", INF, 1.0),
    ("erf", -INF, -1.0),
    ("erfc", 0.0, 1.0),
    ("erfc", INF, 0.0),
    ("erfc", -INF, 2.0),
    ("erfinv", 1.0, INF),
    ("erfinv", -1.0, -INF),
    ("erfinv", 1.5, NAN),
    ("erfinv", -0.0, -0.0),
    ("tgamma", 5.0, 24.0),
    ("tgamma", -0.0, -INF),
    ("tgamma", 0.0, INF),
    ("tgamma", -1.0, NAN),
    ("tgamma", -INF, NAN),
    ("lgamma", 1.0, 0.0),
    ("lgamma", -0.0, INF),
    ("lgamma", -2.0, INF),
    ("lgamma", -INF, INF),
    ("sigmoid", -INF, 0.0),
];

/// The same for functions of two operands.
const FIXED_OF_TWO: [(&str, f32, f32, f32); 46] = [
    ("atan2", 0.0, 1.0, 0.0),
    ("atan2", -0.0, 1.0, -0.0),
    ("atan2", 0.0, 0.0, 0.0),
    ("atan2", -0.0, 0.0, -0.0),
    ("atan2", 1.0, INF, 0.0),
    ("atan2", -1.0, INF, -0.0),
    ("atan2", NAN, 1.0, NAN),
    ("atan2", 1.0, NAN, NAN),
    ("hypot", 3.0, 4.0, 5.0),
    ("hypot", -0.0, -0.0, 0.0),
    ("hypot", INF, NAN, INF),
    ("hypot", NAN, -INF, INF),
    ("hypot", NAN, 1.0, NAN),
    ("hypot", 0.0, -7.25, 7.25),
    ("powf", 2.0, 3.0, 8.0),
    ("powf", 1.0, NAN, 1.0),
    ("powf", 1.0, INF, 1.0),
    ("powf", NAN, 0.0, 1.0),
    ("powf", 0.0, -0.0, 1.0),
    ("powf", -1.0, INF, 1.0),
    ("powf", -1.0, -INF, 1.0),
    ("powf", -2.0, 3.0, -8.0),
    ("powf", -2.0, 2.0, 4.0),
    ("powf", -2.0, 0.5, NAN),
    ("powf", 0.0, -1.0, INF),
    ("powf", -0.0, -1.0, -INF),
    ("powf", -0.0, -2.0, INF),
    ("powf", -0.0, 3.0, -0.0),
    ("powf", -0.0, 2.0, 0.0),
    ("powf", 0.0, -INF, INF),
    ("powf", -0.0, -INF, INF),
    ("powf", 0.5, -INF, INF),
    ("powf", 2.0, -INF, 0.0),
    ("powf", 0.5, INF, 0.0),
    ("powf", 2.0, INF, INF),
    ("powf", -INF, -3.0, -0.0),
    ("powf", -INF, -2.0, 0.0),
    ("powf", -INF, 3.0, -INF),
    ("powf", -INF, 2.0, INF),
    ("powf", INF, -0.5, 0.0),
    ("powf", INF, 0.5, INF),
    ("powf", NAN, 1.0, NAN),
    ("powf", 2.0, NAN, NAN),
    ("powf", -0.0, 0.5, 0.0),
    ("powf", -INF, 0.5, INF),
    ("powf", 4.0, 0.5, 2.0),
];

fn of_f32<T: FloatElement>(value: f32) -> T {
    T::from_f64(value.into())
}

fn fixed_values<T: FloatElement>() {
    for (name, function) in of_one::<T>() {
        let points =
            FIXED.iter().filter(|(of, ..)| *of == name).map(|(_, at, value)| (*at, *value)).chain([(NAN, NAN)]);
        let (at, wanted): (Vec<T>, Vec<T>) = points.map(|(at, value)| (of_f32::<T>(at), of_f32::<T>(value))).unzip();
        let got = function(&resident(&at)).to_vec().unwrap();
        same(&got, &wanted, |i| format!("{name}({}: {})", at[i], T::TYPE));
    }
    for (name, function) in of_two::<T>() {
        for (of, a, b, wanted) in FIXED_OF_TWO {
            if of == name {
                let [a, b, wanted] = [a, b, wanted].map(of_f32::<T>);
                let got = function(&resident(&[a]), &resident(&[b])).item().unwrap();
                same(&[got], &[wanted], |_| format!("{name}({a}, {b}: {})", T::TYPE));
            }
        }
    }
}

#[test]
fn fixed_values_are_met() {
    on_each_device(|| {
        fixed_values::<f16>();
        fixed_values::<bf16>();
        fixed_values::<f32>();
        fixed_values::<f64>();
    });
}

/// The bits of all functions at all corners, in every way of evaluation, which must agree.
fn results<T: FloatElement + Corners>() -> Vec<Vec<u64>> {
    let corners = T::corners();
    let x = resident(&corners);
    let all_bits = |values: &[T]| values.iter().map(|v| bits(*v)).collect::<Vec<u64>>();
    let mut rows = Vec::new();
    for (name, function) in of_one::<T>() {
        let memory = function(&x).to_vec().unwrap();
        let folded: Vec<T> = corners.iter().map(|v| function(&Array::from(*v)).item().unwrap()).collect();
        same(&folded, &memory, |at| format!("{name}({}: {}), literal,", corners[at], T::TYPE));
        let opaque: Vec<Array<T>> = corners.iter().map(|v| function(&Array::opaque(*v))).collect();
        jit::eval(&opaque).unwrap();
        let opaque: Vec<T> = opaque.iter().map(|v| v.item().unwrap()).collect();
        same(&opaque, &memory, |at| format!("{name}({}: {}), opaque,", corners[at], T::TYPE));
        rows.push(all_bits(&memory));
    }
    let n = corners.len();
    let left: Vec<T> = corners.iter().flat_map(|a| std::iter::repeat_n(*a, n)).collect();
    let right = corners.repeat(n);
    let (a, b) = (resident(&left), resident(&right));
    for (name, function) in of_two::<T>() {
        let memory = function(&a, &b).to_vec().unwrap();
        let folded = left.iter().zip(&right).map(|(a, b)| function(&Array::from(*a), &Array::from(*b)).item().unwrap());
        same(&folded.collect::<Vec<T>>(), &memory, |at| {
            format!("{name}({}, {}: {}), literal,", left[at], right[at], T::TYPE)
        });
        rows.push(all_bits(&memory));
    }
    rows
}

macro_rules! devices_agree {
    ($($name:ident: $ty:ident;)*) => {
        $(#[test]
        fn $name() {
            if !crate::tested_devices::has_llvm() {
                return;
            }
            let interpreted = jit::with_device(Device::Interpreter, results::<$ty>);
            let compiled = jit::with_device(Device::Cpu, results::<$ty>);
            let names: Vec<&str> = of_one::<$ty>().map(|(name,
                _)| name).into_iter().chain(of_two::<$ty>().map(|(name, _)| name)).collect();
            for (at, (compiled, interpreted)) in compiled.iter().zip(&interpreted).enumerate() {
                assert_eq!(compiled, interpreted, "{} of {}", names[at], stringify!($ty));
            }
        })*
    };
}

devices_agree! {
    devices_agree_on_functions_of_f16: f16;
    devices_agree_on_functions_of_bf16: bf16;
    devices_agree_on_functions_of_f32: f32;
    devices_agree_on_functions_of_f64: f64;
}

/// Functions of halves are those of single precision, rounded.
fn halves_through_f32<T: FloatElement + Corners>(round: fn(f32) -> T) {
    let corners = T::corners();
    let x = resident(&corners);
    let wide = x.cast::<f32>();
    jit::eval(&wide).unwrap();
    // A function that is composed of several operations rounds after each.
    let is_one_operation = |name: &str| !matches!(name, "sigmoid" | "to_radians" | "to_degrees");
    for ((name, half), (_, single)) in
        of_one::<T>().into_iter().zip(of_one::<f32>()).filter(|((name, _), _)| is_one_operation(name))
    {
        let wanted: Vec<T> = single(&wide).to_vec().unwrap().into_iter().map(round).collect();
        same(&half(&x).to_vec().unwrap(), &wanted, |at| format!("{name}({}: {})", corners[at], T::TYPE));
    }
}

#[test]
fn functions_of_halves_are_computed_in_single_precision() {
    on_each_device(|| {
        halves_through_f32::<f16>(f16::from_f32);
        halves_through_f32::<bf16>(bf16::from_f32);
    });
}

/// The number of representable numbers between two.
fn steps_between(a: f32, b: f32) -> u32 {
    let rank =
        |v: f32| if v.to_bits() >> 31 == 0 { i64::from(v.to_bits()) } else { -i64::from(v.to_bits() & 0x7fff_ffff) };
    if a.is_nan() && b.is_nan() { 0 } else { u32::try_from(rank(a).abs_diff(rank(b))).unwrap_or(u32::MAX) }
}

#[test]
fn functions_agree_with_double_precision() {
    type Host = fn(f64) -> f64;
    let hosts: [(&str, Host); 27] = [
        ("exp", f64::exp),
        ("exp2", f64::exp2),
        ("exp_m1", f64::exp_m1),
        ("ln", f64::ln),
        ("ln_1p", f64::ln_1p),
        ("log2", f64::log2),
        ("log10", f64::log10),
        ("cbrt", f64::cbrt),
        ("rsqrt", |x| 1.0 / x.sqrt()),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("tanh", f64::tanh),
        ("asinh", f64::asinh),
        ("acosh", f64::acosh),
        ("atanh", f64::atanh),
        ("erf", libm::erf),
        ("erfc", libm::erfc),
        ("tgamma", libm::tgamma),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("to_radians", f64::to_radians),
        ("to_degrees", f64::to_degrees),
    ];
    let corners: Vec<f32> = f32::corners();
    let functions = of_one::<f32>();
    on_each_device(|| {
        for (name, host) in hosts {
            let (_, function) = functions.iter().find(|(other, _)| *other == name).unwrap();
            let got = function(&resident(&corners)).to_vec().unwrap();
            for (x, got) in corners.iter().zip(got) {
                let wanted = host(f64::from(*x)) as f32;
                assert!(steps_between(got, wanted) <= 4, "{name}({x}) is {got}, not {wanted}");
            }
        }
    });
}
