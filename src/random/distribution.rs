//! Transformations of uniform numbers to other distributions, and to points of geometric figures.
//!
//! All are functions of numbers in [0, 1), so they serve random and low-discrepancy numbers equally. They preserve
//! strata where the figure allows it, and are smooth almost everywhere.

use std::f64::consts::PI;

use super::words::is_half;
use crate::{Array, FloatElement, Operand};

/// Returns the quantile `u` of the standard normal distribution: the inverse of its distribution function (M. Wichura,
/// “Algorithm AS 241: The Percentage Points of the Normal Distribution”, 1988). -∞ for 0, ∞ for 1, NaN outside. Halves
/// are computed in single precision.
///
/// ```
/// use jit::prelude::*;
///
/// let quartiles = jit::random::normal_from_uniform(&Float64::from([0.25, 0.5, 0.75])).to_vec()?;
/// assert!((quartiles[2] - 0.674_489_750_196_081_7).abs() < 1e-15);
/// assert_eq!((quartiles[0], quartiles[1]), (-quartiles[2], 0.0));
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn normal_from_uniform<T: FloatElement>(u: &Array<T>) -> Array<T> {
    if is_half(T::TYPE) {
        return normal_from_uniform(&u.cast::<f32>()).cast();
    }
    // The distance to the nearer end, without the rounding of 1 - u where u is small.
    normal_percentage_point(&(u - T::from_f64(0.5)), &u.min(T::ONE.into_array() - u))
}

/// Like [`normal_from_uniform`] of `centred + 1/2`, in single or double precision.
#[track_caller]
pub(super) fn normal_from_centred<T: FloatElement>(centred: &Array<T>) -> Array<T> {
    normal_percentage_point(centred, &(-centred.abs() + T::from_f64(0.5)))
}

/// Evaluates AS 241 from the distances to 1/2 and to the nearer end.
#[track_caller]
fn normal_percentage_point<T: FloatElement>(centred: &Array<T>, to_end: &Array<T>) -> Array<T> {
    let middle = centred * rational(&(centred * centred).mul_add(T::from_f64(-1.0), T::from_f64(0.180_625)), &MIDDLE);
    let tail = (-to_end.ln()).sqrt();
    let near = rational(&(&tail - T::from_f64(1.6)), &NEAR_TAIL);
    let far = rational(&(&tail - T::from_f64(5.0)), &FAR_TAIL);
    let outer = tail.le(T::from_f64(5.0)).select(near, far).copysign(centred);
    // At the ends numerator and denominator are infinite.
    let outer = to_end.eq(T::default()).select(T::from_f64(f64::INFINITY).into_array().copysign(centred), outer);
    centred.abs().le(T::from_f64(0.425)).select(middle, outer)
}

/// Numerator and denominator, highest power first.
type Rational = [[f64; 8]; 2];

#[track_caller]
fn rational<T: FloatElement>(x: &Array<T>, [numerator, denominator]: &Rational) -> Array<T> {
    let evaluate = |coefficients: &[f64; 8]| {
        let first = Array::from(T::from_f64(coefficients[0]));
        coefficients[1..].iter().fold(first, |sum, &next| sum.mul_add(x, T::from_f64(next)))
    };
    evaluate(numerator) / evaluate(denominator)
}

const MIDDLE: Rational = [
    [
        2.509_080_928_730_122_6e3,
        3.343_057_558_358_813e4,
        6.726_577_092_700_87e4,
        4.592_195_393_154_987e4,
        1.373_169_376_550_946e4,
        1.971_590_950_306_551_3e3,
        1.331_416_678_917_843_8e2,
        3.387_132_872_796_366_5,
    ],
    [
        5.226_495_278_852_854e3,
        2.872_908_573_572_194_3e4,
        3.930_789_580_009_271e4,
        2.121_379_430_158_659_7e4,
        5.394_196_021_424_751e3,
        6.871_870_074_920_579e2,
        4.231_333_070_160_091e1,
        1.0,
    ],
];

const NEAR_TAIL: Rational = [
    [
        7.745_450_142_783_414e-4,
        2.272_384_498_926_918_4e-2,
        2.417_807_251_774_506e-1,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        1.519_866_656_361_645_7e-2,
        1.481_039_764_274_800_8e-1,
        6.897_673_349_851e-1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];

const FAR_TAIL: Rational = [
    [
        2.010_334_399_292_288_1e-7,
        2.711_555_568_743_487_6e-5,
        1.242_660_947_388_078_4e-3,
        2.653_218_952_657_612_4e-2,
        2.965_605_718_285_048_7e-1,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_445_8e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        1.487_536_129_085_061_5e-2,
        1.369_298_809_227_358e-1,
        5.998_322_065_558_88e-1,
        1.0,
    ],
];

/// Returns two independent numbers of the standard normal distribution (G. Box and M. Muller, “A Note on the Generation
/// of Random Normal Deviates”, 1958). The first argument must not be 0: pass 1 - u where it can be. Halves are computed
/// in single precision.
#[must_use]
#[track_caller]
pub fn box_muller<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 2] {
    if is_half(T::TYPE) {
        return box_muller(&u.cast::<f32>(), &v.cast::<f32>()).map(|number| number.cast());
    }
    let radius = (u.ln() * T::from_f64(-2.0)).sqrt();
    let (sine, cosine) = (v * T::from_f64(2.0 * PI)).sin_cos();
    [&radius * cosine, radius * sine]
}

/// Returns the quantile `u` of the exponential distribution of rate one: 0 for 0, ∞ for 1. Halves are computed in
/// single precision.
#[must_use]
#[track_caller]
pub fn exponential_from_uniform<T: FloatElement>(u: &Array<T>) -> Array<T> {
    if is_half(T::TYPE) {
        return exponential_from_uniform(&u.cast::<f32>()).cast();
    }
    let rest = T::ONE.into_array() - u;
    T::default().into_array() - rest.ln()
}

/// Returns a point of the unit disk, uniform in area. The map preserves neighbourhoods (P. Shirley and K. Chiu, “A Low
/// Distortion Map Between Disk and Square”, 1997).
///
/// ```
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let (u, v): (Float, Float) = (rng.random(1000), rng.random(1000));
/// let [x, y] = jit::random::disk(&u, &v);
/// assert!((&x * &x + &y * &y).reduce_max().item()? < 1.000_001);
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn disk<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 2] {
    let [x, y] = [u, v].map(|number| number.mul_add(T::from_f64(2.0), T::from_f64(-1.0)));
    let is_wide = x.abs().ge(y.abs());
    let radius = is_wide.select(&x, &y);
    let ratio = is_wide.select(&y, &x) / radius.eq(T::default()).select(T::ONE, &radius);
    let angle = ratio * T::from_f64(PI / 4.0);
    let angle = is_wide.select(&angle, T::from_f64(PI / 2.0).into_array() - &angle);
    let (sine, cosine) = angle.sin_cos();
    [&radius * cosine, radius * sine]
}

/// Returns a point of the unit sphere, uniform in area (Archimedes: slices of equal height have equal areas).
#[must_use]
#[track_caller]
pub fn sphere<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 3] {
    slice_point(u.mul_add(T::from_f64(-2.0), T::ONE), v)
}

/// Returns a point of the upper half (z ≥ 0) of the unit sphere, uniform in area.
#[must_use]
#[track_caller]
pub fn hemisphere<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 3] {
    slice_point(T::ONE.into_array() - u, v)
}

/// Returns the point of the sphere at a height; the second number in [0, 1) is the fraction of a full circle.
#[track_caller]
fn slice_point<T: FloatElement>(z: Array<T>, turn: &Array<T>) -> [Array<T>; 3] {
    let one = || T::ONE.into_array();
    let radius = ((one() - &z) * (one() + &z)).max(T::default()).sqrt();
    let (sine, cosine) = (turn * T::from_f64(2.0 * PI)).sin_cos();
    [&radius * cosine, radius * sine, z]
}

/// Returns a point of the upper half of the unit sphere, with a density proportional to its height: the disk projected
/// up (E. Malley's method).
#[must_use]
#[track_caller]
pub fn cosine_hemisphere<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 3] {
    let [x, y] = disk(u, v);
    let height = (T::ONE.into_array() - &x * &x - &y * &y).max(T::default()).sqrt();
    [x, y, height]
}

/// Returns a point of a triangle, uniform in area, as barycentric coordinates, which add up to 1 (G. Turk, “Generating
/// Random Points in Triangles”, 1990).
#[must_use]
#[track_caller]
pub fn triangle<T: FloatElement>(u: &Array<T>, v: &Array<T>) -> [Array<T>; 3] {
    let root = u.sqrt();
    let third = &root * v;
    [T::ONE.into_array() - &root, &root - &third, third]
}
