//! The functions, their references and the domains that are distinguished.

use std::f64::consts::PI;

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use jit_runtime::ir::{BinaryOp, UnaryOp};

use crate::machine::Operation;
use crate::reference;

/// A number of higher precision.
pub(crate) type Big = FBig<HalfEven, 2>;

/// A nearly exact result as the nearest `f64` and the remainder.
#[derive(Clone, Copy)]
pub(crate) struct Exact {
    /// The nearest `f64`.
    pub(crate) high: f64,
    /// The rest.
    pub(crate) low: f64,
}

/// A function, the operation that computes it, and its references.
pub(crate) struct Function {
    /// Its name in Rust.
    pub(crate) name: &'static str,
    /// The operation.
    pub(crate) op: Operation,
    /// The operation of fast math, if there is one.
    pub(crate) fast: Option<Operation>,
    /// The function of `f32`, computed in `f64`.
    pub(crate) single: fn(f64, f64) -> f64,
    /// The function of `f64`, in higher precision; none if it is undefined or too large.
    pub(crate) double: fn(f64, f64) -> Option<Exact>,
    /// Where `f32` is measured.
    pub(crate) domains: &'static [Domain],
    /// Where `f64` is measured.
    pub(crate) double_domains: &'static [Domain],
    /// The domains on which the fast variant is measured.
    pub(crate) fast_domains: &'static [Domain],
}

/// A range of arguments.
#[derive(Clone, Copy)]
pub(crate) struct Domain {
    /// The name in the tables.
    pub(crate) name: &'static str,
    /// The range of the first argument.
    pub(crate) first: (f64, f64),
    /// The range of the second one.
    pub(crate) second: Option<(f64, f64)>,
    /// The errors of smaller results are measured in units of this size, if a function has zeros that are not floats.
    pub(crate) absolute_unit: f64,
    /// The largest measured error of a peer, see `docs/accuracy.md`.
    pub(crate) peer: &'static str,
}

impl Domain {
    /// Whether an argument of a function of one argument is in the domain.
    pub(crate) fn contains(&self, x: f64) -> bool {
        self.second.is_some()
            || (self.first.0 <= x && x <= self.first.1)
            || (x.is_nan() && self.first.1 == f64::INFINITY)
    }
}

const fn on(name: &'static str, low: f64, high: f64, peer: &'static str) -> Domain {
    Domain { name, first: (low, high), second: None, absolute_unit: 0.0, peer }
}

const fn on_pairs(name: &'static str, first: (f64, f64), second: (f64, f64), peer: &'static str) -> Domain {
    Domain { name, first, second: Some(second), absolute_unit: 0.0, peer }
}

/// A domain in which the errors of results below 1 are measured in units of 1: the function has zeros that are not
/// floats.
const fn absolute(name: &'static str, low: f64, high: f64, peer: &'static str) -> Domain {
    Domain { name, first: (low, high), second: None, absolute_unit: 1.0, peer }
}

/// Every argument, infinities and NaN included.
const fn all(peer: &'static str) -> Domain {
    on("all", f64::NEG_INFINITY, f64::INFINITY, peer)
}

/// The number of bits of references.
const PRECISION: usize = 140;

/// A float as a number of higher precision.
pub(crate) fn big(x: f64) -> Big {
    Big::try_from(x).expect("references are for finite arguments only").with_precision(PRECISION).value()
}

/// The nearest `f64` and the remainder; none if there is none.
pub(crate) fn exact(value: Big) -> Option<Exact> {
    let high = value.to_f64().value();
    high.is_finite().then(|| Exact { high, low: (value - big(high)).to_f64().value() })
}

/// A reference of one argument, if it is defined.
macro_rules! reference {
    ($name:ident where $defined:expr) => {
        |x, _| {
            let is_defined: fn(f64) -> bool = $defined;
            if is_defined(x) { exact(big(x).$name()) } else { None }
        }
    };
}

macro_rules! unary {
    ($name:literal $op:ident, $single:expr, $double:expr, [$($domain:expr),*], [$($double_domain:expr),*]) => {
        Function {
            name: $name,
            op: Operation::Unary(UnaryOp::$op),
            fast: None,
            single: |x, _| {
                let single: fn(f64) -> f64 = $single;
                single(x)
            },
            double: $double,
            domains: &[$($domain),*],
            double_domains: &[$($double_domain),*],
            fast_domains: &[],
        }
    };
    ($name:literal $op:ident $fast:ident [$($fast_domain:expr),*], $($rest:tt)*) => {
        Function {
            fast: Some(Operation::Unary(UnaryOp::$fast)),
            fast_domains: &[$($fast_domain),*],
            ..unary!($name $op, $($rest)*)
        }
    };
}

/// Every function.
pub(crate) const FUNCTIONS: &[Function] = &[
    unary!("sqrt" Sqrt, f64::sqrt, |x, _| exact(big(x).sqrt()),
        [all("0.500")],
        [on("[1e-300, 1e300]", 1e-300, 1e300, "")]),
    Function {
        op: Operation::Reciprocal,
        ..unary!("recip" Neg, f64::recip, |x, _| exact(big(1.0) / big(x)),
            [all("0.500")],
            [on("[1e-300, 1e300]", 1e-300, 1e300, "")])
    },
    unary!("rsqrt" Rsqrt FastRsqrt [on("normal", 1.2e-38, 3.4e38, "")],
        |x| x.sqrt().recip(), |x, _| exact(big(1.0) / big(x).sqrt()),
        [all(""), on("normal", 1.2e-38, 3.4e38, "1.92")],
        [on("[1e-300, 1e300]", 1e-300, 1e300, "0.85")]),
    unary!("sin" Sin FastSin [on("[-π, π]", -PI, PI, ""), on("[-71476, 71476]", -71_476.0, 71_476.0, "")],
        f64::sin, reference!(sin where |_| true),
        [all("2e12"), on("[-π, π]", -PI, PI, "1.42"), on("[1e-3, 8192]", 1e-3, 8192.0, "478")],
        [on("[-π, π]", -PI, PI, "1.52"), on("[-8192, 8192]", -8192.0, 8192.0, "1.53"), on("[-1e300, 1e300]", -1e300,
            1e300, "")]),
    unary!("cos" Cos FastCos [on("[-π, π]", -PI, PI, ""), on("[-71476, 71476]", -71_476.0, 71_476.0, "")],
        f64::cos, reference!(cos where |_| true),
        [all("1.4e11"), on("[-π, π]", -PI, PI, "1.55"), on("[1e-3, 8192]", 1e-3, 8192.0, "974")],
        [on("[-8192, 8192]", -8192.0, 8192.0, "1.53"), on("[-1e300, 1e300]", -1e300, 1e300, "")]),
    unary!("tan" Tan FastTan [on("[-π, π]", -PI, PI, ""), on("[-71476, 71476]", -71_476.0, 71_476.0, "")],
        f64::tan, reference!(tan where |_| true),
        [all(""), on("[-π, π]", -PI, PI, "2.44"), on("[1e-3, 8192]", 1e-3, 8192.0, "923")],
        [on("[-8192, 8192]", -8192.0, 8192.0, "2.5e7"), on("[-1e300, 1e300]", -1e300, 1e300, "")]),
    unary!("asin" Asin FastAsin [all("")],
        f64::asin, reference!(asin where |x| x.abs() <= 1.0),
        [all(""), on("[-1, 1]", -1.0, 1.0, "2.38")],
        [on("[-1, 1]", -1.0, 1.0, "1.18")]),
    unary!("acos" Acos FastAcos [all("")],
        f64::acos, reference!(acos where |x| x.abs() <= 1.0),
        [all(""), on("[-1, 1]", -1.0, 1.0, "1.26")],
        [on("[-1, 1]", -1.0, 1.0, "1.19")]),
    unary!("atan" Atan FastAtan [all("")],
        f64::atan, reference!(atan where |_| true),
        [all("11.9"), on("[-1, 1]", -1.0, 1.0, "11.9")],
        [on("[-100, 100]", -100.0, 100.0, "5.13"), on("[-1e300, 1e300]", -1e300, 1e300, "")]),
    unary!("sinh" Sinh FastSinh [on("[-88.3, 88.3]", -88.3, 88.3, "")],
        f64::sinh, reference!(sinh where |x| x.abs() < 710.4),
        [all("inf"), on("[-10, 10]", -10.0, 10.0, "2.16")],
        [on("[-10, 10]", -10.0, 10.0, "2.45"), on("[-710, 710]", -710.4, 710.4, "")]),
    unary!("cosh" Cosh FastCosh [on("[-88.3, 88.3]", -88.3, 88.3, "")],
        f64::cosh, reference!(cosh where |x| x.abs() < 710.4),
        [all("inf"), on("[-10, 10]", -10.0, 10.0, "2.11")],
        [on("[-10, 10]", -10.0, 10.0, "2.43"), on("[-710, 710]", -710.4, 710.4, "")]),
    unary!("tanh" Tanh FastTanh [all("")],
        f64::tanh, reference!(tanh where |_| true),
        [all(""), on("[-10, 10]", -10.0, 10.0, "2.99")],
        [on("[-10, 10]", -10.0, 10.0, "3.00")]),
    unary!("asinh" Asinh, f64::asinh, reference!(asinh where |_| true),
        [all(""), on("[-30, 30]", -30.0, 30.0, "3.09")],
        [on("[-30, 30]", -30.0, 30.0, ""), on("[-1e300, 1e300]", -1e300, 1e300, "")]),
    unary!("acosh" Acosh, f64::acosh, reference!(acosh where |x| x >= 1.0),
        [all(""), on("[1, 10]", 1.0, 10.0, "3.24")],
        [on("[1, 10]", 1.0, 10.0, ""), on("[1, 1e300]", 1.0, 1e300, "")]),
    unary!("atanh" Atanh, f64::atanh, reference!(atanh where |x| x.abs() < 1.0),
        [all(""), on("(-1, 1)", -1.0, 1.0, "1.31")],
        [on("(-1, 1)", -1.0, 1.0, "")]),
    unary!("exp" Exp FastExp [on("[-87.3, 88.3]", -87.3, 88.3, "")],
        f64::exp, reference!(exp where |x| x.abs() < 709.7),
        [all("inf"), on("[-20, 30]", -20.0, 30.0, "1.26")],
        [on("[-700, 700]", -700.0, 700.0, "1.90"), on("[-745, 709]", -745.0, 709.7, "")]),
    unary!("exp2" Exp2 FastExp2 [on("[-126, 127.4]", -126.0, 127.4, "")],
        f64::exp2, |x, _| exact((big(x) * big(2.0).ln()).exp()),
        [all("inf"), on("[-126, 127.99]", -126.0, 127.99, "1.39")],
        [on("[-1000, 1000]", -1000.0, 1000.0, "1.60"), on("[-1074, 1023]", -1074.0, 1023.0, "")]),
    unary!("exp_m1" ExpM1, f64::exp_m1, reference!(exp_m1 where |x| x < 709.7),
        [all("")],
        [on("[-50, 50]", -50.0, 50.0, ""), on("[-1, 1]", -1.0, 1.0, ""), on("[-700, 709]", -700.0, 709.7, "")]),
    unary!("ln" Ln FastLn [on("normal", 1.2e-38, 3.4e38, "")],
        f64::ln, reference!(ln where |x| x > 0.0),
        [all("inf"), on("normal", 1.2e-38, 3.4e38, "0.824")],
        [on("[1e-3, 1e6]", 1e-3, 1e6, "0.84"), on("[5e-324, 1e308]", 5e-324, 1e308, "")]),
    unary!("ln_1p" Ln1p, f64::ln_1p, reference!(ln_1p where |x| x > -1.0),
        [all("")],
        [on("(-1, 1]", -1.0, 1.0, ""), on("[1e-3, 1e6]", 1e-3, 1e6, ""), on("[1e-300, 1e300]", 1e-300, 1e300, "")]),
    unary!("log2" Log2 FastLog2 [on("normal", 1.2e-38, 3.4e38, "")],
        f64::log2, reference!(log2 where |x| x > 0.0),
        [all("inf"), on("normal", 1.2e-38, 3.4e38, "1.85")],
        [on("[1e-3, 1e6]", 1e-3, 1e6, "1.52"), on("[5e-324, 1e308]", 5e-324, 1e308, "")]),
    unary!("log10" Log10 FastLog10 [on("normal", 1.2e-38, 3.4e38, "")],
        f64::log10, reference!(log10 where |x| x > 0.0),
        [all("")],
        [on("[1e-3, 1e6]", 1e-3, 1e6, ""), on("[5e-324, 1e308]", 5e-324, 1e308, "")]),
    unary!("cbrt" Cbrt, f64::cbrt, |x, _| exact(big(x).nth_root(3)),
        [all("inf"), on("normal", 1.2e-38, 3.4e38, "0.733")],
        [on("[1e-3, 1e6]", 1e-3, 1e6, "0.73"), on("all", -1.7e308, 1.7e308, "")]),
    unary!("erf" Erf FastErf [all("")],
        libm::erf, |x, _| reference::erf(x),
        [all(""), on("[-1, 1]", -1.0, 1.0, "4.08"), on("[-6, 6]", -6.0, 6.0, "3.82")],
        [on("[-5, 5]", -5.0, 5.0, "3.33")]),
    unary!("erfc" Erfc, libm::erfc, |x, _| reference::erfc(x),
        [all("")],
        [on("[-5, 5]", -5.0, 5.0, ""), on("[0.5, 27]", 0.5, 27.0, "")]),
    unary!("erfinv" Erfinv, reference::erfinv, |x, _| reference::erfinv_exact(x),
        [all(""), on("(-1, 1)", -1.0 + 1e-7, 1.0 - 1e-7, "5.27")],
        [on("(-1, 1)", -1.0 + 1e-15, 1.0 - 1e-15, "9.3e8")]),
    unary!("tgamma" Tgamma, libm::tgamma, |x, _| reference::tgamma(x),
        [all("")],
        [on("[0.01, 171]", 0.01, 171.0, ""), on("[-170, 0.5]", -170.0, 0.5, "")]),
    unary!("lgamma" Lgamma, libm::lgamma, |x, _| reference::lgamma(x),
        [on("[0, ∞]", 0.0, f64::INFINITY, ""), on("[0.01, 10]", 0.01, 10.0, "5.6e6"), on("[10, 1e6]", 10.0, 1e6,
            "3.05"),
            absolute("[-5.5, -0.01], absolute", -5.5, -0.01, "1.0e7"),
            absolute("all, absolute", f64::NEG_INFINITY, f64::INFINITY, "")],
        [absolute("[0.01, 50], absolute", 0.01, 50.0, "2.8e4"), on("[3, 1e300]", 3.0, 1e300, ""),
            absolute("[-50, 0.01], absolute", -50.0, 0.01, "")]),
    Function {
        name: "atan2",
        op: Operation::Binary(BinaryOp::Atan2),
        fast: Some(Operation::Binary(BinaryOp::FastAtan2)),
        fast_domains: &[on_pairs("[-10, 10]²", (-10.0, 10.0), (-10.0, 10.0), "")],
        single: f64::atan2,
        double: |y, x| exact(big(y).atan2(&big(x))),
        domains: &[
            on_pairs("[-10, 10]²", (-10.0, 10.0), (-10.0, 10.0), "12.1"),
            on_pairs("[-3e38, 3e38]²", (-3e38, 3e38), (-3e38, 3e38), ""),
        ],
        double_domains: &[
            on_pairs("[-10, 10]²", (-10.0, 10.0), (-10.0, 10.0), ""),
            on_pairs("[-1e300, 1e300]²", (-1e300, 1e300), (-1e300, 1e300), ""),
        ],
    },
    Function {
        name: "powf",
        op: Operation::Binary(BinaryOp::Pow),
        fast: Some(Operation::Binary(BinaryOp::FastPow)),
        fast_domains: &[
            on_pairs("[0.01, 10] to [-10, 10]", (0.01, 10.0), (-10.0, 10.0), ""),
            on_pairs("[1e-30, 1e30] to [-1, 1]", (1e-30, 1e30), (-1.0, 1.0), ""),
            on_pairs("[0.5, 2] to [-100, 100]", (0.5, 2.0), (-100.0, 100.0), ""),
        ],
        single: f64::powf,
        double: |x, y| {
            let ln = big(x).ln() * big(y);
            if ln.to_f64().value().abs() < 709.0 { exact(ln.exp()) } else { None }
        },
        domains: &[
            on_pairs("[0.01, 10] to [-10, 10]", (0.01, 10.0), (-10.0, 10.0), "45"),
            on_pairs("[1e-30, 1e30] to [-4, 4]", (1e-30, 1e30), (-4.0, 4.0), "122"),
            on_pairs("[0.5, 2] to [-100, 100]", (0.5, 2.0), (-100.0, 100.0), "91"),
            on_pairs("[1e-45, 3e38] to [-200, 200]", (1e-45, 3e38), (-200.0, 200.0), ""),
        ],
        double_domains: &[
            on_pairs("[0.01, 10] to [-10, 10]", (0.01, 10.0), (-10.0, 10.0), "48.7"),
            on_pairs("[0.5, 2] to [-1000, 1000]", (0.5, 2.0), (-1000.0, 1000.0), ""),
            on_pairs("[1e-300, 1e300] to [-2, 2]", (1e-300, 1e300), (-2.0, 2.0), ""),
        ],
    },
    Function {
        name: "hypot",
        op: Operation::Binary(BinaryOp::Hypot),
        fast: Some(Operation::Binary(BinaryOp::FastHypot)),
        fast_domains: &[on_pairs("[1e-15, 1e18]²", (1e-15, 1e18), (1e-15, 1e18), "")],
        single: f64::hypot,
        double: |x, y| exact(big(x).hypot(&big(y))),
        domains: &[
            on_pairs("[-1e19, 1e19]²", (-1e19, 1e19), (-1e19, 1e19), "1.92"),
            on_pairs("[1e-45, 3e38]²", (1e-45, 3e38), (1e-45, 3e38), ""),
        ],
        double_domains: &[
            on_pairs("[-10, 10]²", (-10.0, 10.0), (-10.0, 10.0), ""),
            on_pairs("[1e-300, 1e300]²", (1e-300, 1e300), (1e-300, 1e300), ""),
        ],
    },
];
