//! Error function and gamma function of higher precision.

use crate::functions::{Big, Exact, big, exact};

/// The inverse error function in `f64`: a result of lower precision, improved by Newton's method.
pub(crate) fn erfinv(x: f64) -> f64 {
    let (a, rest) = (x.abs(), 1.0 - x.abs());
    if a >= 1.0 || x.is_nan() {
        return if a == 1.0 { x * f64::INFINITY } else { f64::NAN };
    }
    // Start from S. Winitzki's approximation.
    let ln = (rest * (1.0 + a)).ln();
    let b = 4.330_746_750_799_873 + 0.5 * ln;
    let mut y = ((b * b - ln / 0.147).sqrt() - b).sqrt();
    if a < 0.05 {
        y = a * 0.886_226_925_452_758;
    }
    for _ in 0..5 {
        let error = if a < 0.5 { a - libm::erf(y) } else { libm::erfc(y) - rest };
        let step = error * 0.886_226_925_452_758 * (y * y).exp();
        y += step / (1.0 - step * y);
    }
    y.copysign(x)
}

/// π.
fn pi() -> Big {
    Big::pi(200)
}

/// 1 as a number of higher precision, and so are all values computed with it.
fn number(x: f64) -> Big {
    big(x).with_precision(200).value()
}

fn size(x: &Big) -> f64 {
    x.to_f64().value().abs()
}

/// The error function of 0 ≤ x, by its series e^(-x²) 2/√π Σ 2^n x^(2n+1) / (2n+1)!!, whose terms are positive.
fn erf_series(x: &Big) -> Big {
    let square = x * x;
    let mut term = x.clone();
    let mut sum = x.clone();
    let mut n = 1.0;
    while size(&term) > 1e-55 * size(&sum) {
        n += 2.0;
        term = &term * &square * number(2.0) / number(n);
        sum += &term;
    }
    sum * number(2.0) / pi().sqrt() * (-square).exp()
}

/// The complement for x ≥ 2, by its continued fraction from the end.
fn erfc_fraction(x: &Big) -> Big {
    let terms = (4000.0 / size(x)) as u32 + 40;
    let mut below = x.clone();
    for n in (1..=terms).rev() {
        below = x + number(f64::from(n) * 0.5) / below;
    }
    (-(x * x)).exp() / (below * pi().sqrt())
}

/// The error function.
pub(crate) fn erf(x: f64) -> Option<Exact> {
    exact(erf_big(x))
}

fn erf_big(x: f64) -> Big {
    let a = number(x.abs());
    let result = if x.abs() < 6.0 { erf_series(&a) } else { number(1.0) - erfc_fraction(&a) };
    if x < 0.0 { -result } else { result }
}

/// The complement of the error function.
pub(crate) fn erfc(x: f64) -> Option<Exact> {
    exact(if x > 5.0 { erfc_fraction(&number(x)) } else { number(1.0) - erf_big(x) })
}

/// The inverse of the error function, |x| < 1: a step of Newton's method from the nearest `f64` doubles its digits.
pub(crate) fn erfinv_exact(x: f64) -> Option<Exact> {
    let y = erfinv(x.abs());
    let big_y = number(y);
    let error = number(x.abs()) - erf_big(y);
    let step = error * pi().sqrt() / number(2.0) * (&big_y * &big_y).exp();
    let curved = number(1.0) - &step * &big_y;
    let result = big_y + step / curved;
    exact(if x < 0.0 { -result } else { result })
}

/// ln Γ(x) for x ≥ ½: Stirling's series at x + 60.
fn ln_gamma_positive(x: &Big) -> Big {
    const SHIFT: u32 = 60;
    let mut product = number(1.0);
    let mut z = x.clone();
    for _ in 0..SHIFT {
        product *= &z;
        z += number(1.0);
    }
    let half = number(0.5);
    let two_pi = pi() * number(2.0);
    let mut sum = (&z - &half) * z.ln() - &z + half * two_pi.ln();
    let square = &z * &z;
    let mut power = z;
    for (above, below) in BERNOULLI_TERMS {
        sum += number(above) / (number(below) * &power);
        power *= &square;
    }
    sum - product.ln()
}

/// sin πx for x that is not an integer.
fn sine_of_pi(x: f64) -> Big {
    let rest = x - 2.0 * (x * 0.5).round_ties_even();
    (number(rest) * pi()).sin()
}

/// ln |Γ(x)|.
pub(crate) fn lgamma(x: f64) -> Option<Exact> {
    if x <= 0.0 && x == x.trunc() {
        return None;
    }
    exact(if x >= 0.5 { ln_gamma_positive(&number(x)) } else { mirrored(x) })
}

fn mirrored(x: f64) -> Big {
    let sine = sine_of_pi(x);
    let sine = if size(&sine) == sine.to_f64().value() { sine } else { -sine };
    (pi() / sine).ln() - ln_gamma_positive(&(number(1.0) - number(x)))
}

/// Γ(x).
pub(crate) fn tgamma(x: f64) -> Option<Exact> {
    if (x <= 0.0 && x == x.trunc()) || !(-180.0..171.6).contains(&x) {
        return None;
    }
    if x >= 0.5 {
        return exact(ln_gamma_positive(&number(x)).exp());
    }
    let below = ln_gamma_positive(&(number(1.0) - number(x))).exp() * sine_of_pi(x);
    exact(pi() / below)
}

/// B(2k) / (2k (2k - 1)) for k = 1, 2, …
const BERNOULLI_TERMS: [(f64, f64); 12] = [
    (1.0, 12.0),
    (-1.0, 360.0),
    (1.0, 1260.0),
    (-1.0, 1680.0),
    (1.0, 1188.0),
    (-691.0, 360_360.0),
    (1.0, 156.0),
    (-3617.0, 122_400.0),
    (43_867.0, 244_188.0),
    (-174_611.0, 125_400.0),
    (77_683.0, 5_796.0),
    (-236_364_091.0, 1_506_960.0),
];
