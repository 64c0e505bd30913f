//! The errors of the transcendental functions on a sample of the arguments, by the program that sweeps all of them:
//! `cargo run --release -p jit-runtime --example accuracy`, whose tables are `docs/accuracy.md`.

#[path = "../examples/accuracy/functions.rs"]
mod functions;
#[path = "../examples/accuracy/machine.rs"]
mod machine;
#[path = "../examples/accuracy/measure.rs"]
mod measure;
#[path = "../examples/accuracy/reference.rs"]
mod reference;

use functions::FUNCTIONS;
use measure::{Measured, Thoroughness};

/// The largest permitted errors, in units in the last place: for `f32`, where all arguments were tested, for `f64`, and
/// for the fast variant in `f32`.
const ALLOWED: &[(&str, f64, f64, f64)] = &[
    ("sqrt", 0.5, 0.501, 0.0),
    ("recip", 0.5, 0.501, 0.0),
    ("rsqrt", 0.501, 0.51, 1.5),
    ("sin", 1.17, 0.8, 1.8),
    ("cos", 1.17, 0.8, 1.8),
    ("tan", 0.51, 2.0, 3.5),
    ("asin", 0.51, 0.8, 2.8),
    ("acos", 0.51, 0.8, 1.6),
    ("atan", 0.51, 0.9, 1.9),
    ("erf", 0.51, 1.5, 1.3),
    ("erfc", 0.52, 3.3, 0.0),
    ("erfinv", 0.52, 2.2, 0.0),
    ("tgamma", 0.51, 3.0, 0.0),
    ("lgamma", 1.3, 3.5, 0.0),
    ("atan2", 0.51, 1.6, 2.0),
    ("powf", 0.52, 0.85, 37.0),
    ("sinh", 0.51, 2.0, 3.0),
    ("cosh", 0.51, 2.0, 3.0),
    ("tanh", 0.51, 2.0, 1.9),
    ("asinh", 0.51, 2.0, 0.0),
    ("acosh", 0.51, 2.0, 0.0),
    ("atanh", 0.51, 2.0, 0.0),
    ("exp", 0.87, 1.01, 2.1),
    ("exp2", 0.88, 1.01, 2.1),
    ("exp_m1", 0.51, 2.0, 0.0),
    ("ln", 0.69, 0.8, 1.4),
    ("ln_1p", 0.51, 1.2, 0.0),
    ("log2", 0.94, 0.75, 2.8),
    ("log10", 0.51, 0.75, 3.6),
    ("cbrt", 0.55, 0.55, 0.0),
    ("hypot", 0.51, 0.75, 1.2),
];

/// Asserts the bounds of one column.
fn check(rows: Vec<Measured>, column: &str, bound: impl Fn(&(&str, f64, f64, f64)) -> f64) {
    for row in rows {
        let entry = ALLOWED.iter().find(|entry| entry.0 == row.function);
        let allowed = entry.map(&bound).expect("each function has bounds");
        let (worst, x, y) = row.errors.worst;
        let place = format!("{column} {}({x:e}, {y:e}) on {}", row.function, row.domain.name);
        assert!(worst <= allowed, "{place} is off by {worst} units in the last place");
        if let Ok(peer) = row.domain.peer.parse::<f64>() {
            assert!(worst < peer || worst <= 0.5, "{place} is off by {worst}, where the peer is off by {peer}");
        }
    }
}

#[test]
fn single_precision() {
    for function in FUNCTIONS {
        check(measure::single(function, function.op, function.domains, Thoroughness::Quick).unwrap(), "f32", |entry| {
            entry.1
        });
    }
}

#[test]
fn double_precision() {
    for function in FUNCTIONS {
        check(measure::double(function, Thoroughness::Quick).unwrap(), "f64", |entry| entry.2);
    }
}

#[test]
fn fast_variants() {
    for function in FUNCTIONS {
        if let Some(fast) = function.fast {
            check(
                measure::single(function, fast, function.fast_domains, Thoroughness::Quick).unwrap(),
                "fast",
                |entry| entry.3,
            );
        }
    }
}
