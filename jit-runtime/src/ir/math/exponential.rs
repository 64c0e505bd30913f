//! `exp` and `exp2`.
//!
//! The argument is n·ln 2 + r (or n + r) with an integer n and a small r, and the result is e^r·2^n. Adding a large
//! number rounds to the integer n and puts n into the low bits of the sum. 2^n is multiplied in two halves: each is a
//! normal number, and their product may overflow or become subnormal with a single rounding. Polynomials are
//! near-minimax fits of this project, except that of `exp` in `f32`, which is Norbert Juffa's (max 0.866 ulp).

use super::Arithmetic;
use crate::ir::op::{BinaryOp, CompareOp};
use crate::ir::types::Type;

/// What differs between the float types.
struct Format {
    bits: Type,
    mantissa_bits: u64,
    /// Its last place is 1, and the factor of 1.5 times a power of two preserves that for negative n. Its low bits
    /// already contain twice the bias of the exponent.
    rounder: f64,
}

const F32: Format = Format { bits: Type::U32, mantissa_bits: 23, rounder: 12_582_912.0 + 254.0 };
const F64: Format = Format { bits: Type::U64, mantissa_bits: 52, rounder: 6_755_399_441_055_744.0 + 2046.0 };

fn format(ty: Type) -> &'static Format {
    if ty == Type::F32 { &F32 } else { &F64 }
}

/// Clamps to the bounds beyond which the result is 0 or infinite; NaN is preserved.
pub(super) fn clamp<A: Arithmetic>(m: &mut A, x: A::Value, low: f64, high: f64) -> A::Value {
    let (low, high) = (m.like(x, low), m.like(x, high));
    let is_above = m.compare(CompareOp::Gt, x, high);
    let x = m.select(is_above, high, x);
    let is_below = m.compare(CompareOp::Lt, x, low);
    m.select(is_below, low, x)
}

/// The integer nearest to `x * factor`, and the sum whose low bits contain it.
pub(super) fn nearest<A: Arithmetic>(m: &mut A, x: A::Value, factor: f64) -> (A::Value, A::Value) {
    let rounder = format(m.ty(x)).rounder;
    let rounder = m.like(x, rounder);
    let sum = m.fma_by(x, factor, rounder);
    (m.sub(sum, rounder), sum)
}

/// `p * 2^n` for the n in the low bits of the sum.
pub(super) fn scale<A: Arithmetic>(m: &mut A, p: A::Value, sum: A::Value) -> A::Value {
    let ty = m.ty(p);
    let format = format(ty);
    let exponent = m.bitcast(format.bits, sum);
    let half = m.with(BinaryOp::Shr, exponent, 1);
    let other_half = m.sub(exponent, half);
    let mut result = p;
    for exponent in [half, other_half] {
        let bits = m.with(BinaryOp::Shl, exponent, format.mantissa_bits);
        let power = m.bitcast(ty, bits);
        result = m.mul(result, power);
    }
    result
}

/// e to the power of a float.
pub(super) fn exp<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    if m.ty(x) == Type::F32 {
        let x = clamp(m, x, -104.0, 89.0);
        let (n, sum) = nearest(m, x, std::f64::consts::LOG2_E);
        let r = m.fma_by(n, -6.931_457_52e-1, x);
        let r = m.fma_by(n, -1.428_606_77e-6, r);
        let p = m.horner(r, &EXP_F32);
        return scale(m, p, sum);
    }
    let x = clamp(m, x, -746.0, 710.0);
    let (n, sum) = nearest(m, x, std::f64::consts::LOG2_E);
    let r = m.fma_by(n, -std::f64::consts::LN_2, x);
    let r = m.fma_by(n, -2.319_046_813_846_299_6e-17, r);
    let p = m.horner(r, &EXP_F64);
    scale(m, p, sum)
}

/// 2 to the power of a float.
pub(super) fn exp2<A: Arithmetic>(m: &mut A, x: A::Value) -> A::Value {
    let is_single = m.ty(x) == Type::F32;
    let x = if is_single { clamp(m, x, -151.0, 129.0) } else { clamp(m, x, -1076.0, 1025.0) };
    let rounder = format(m.ty(x)).rounder;
    let rounder = m.like(x, rounder);
    let sum = m.add(x, rounder);
    let n = m.sub(sum, rounder);
    let r = m.sub(x, n);
    let p = if is_single { m.horner(r, &EXP2_F32) } else { m.horner(r, &EXP2_F64) };
    scale(m, p, sum)
}

const EXP_F32: [f64; 7] =
    [1.378_059_39e-3, 8.373_124_52e-3, 4.166_953_64e-2, 1.666_647_20e-1, 4.999_998_51e-1, 1.0, 1.0];

const EXP2_F32: [f64; 7] = [
    0.000_152_401_160_448_789_6,
    0.001_339_130_802_080_035_2,
    0.009_618_836_455_047_13,
    0.055_503_588_169_813_156,
    0.240_226_447_582_244_87,
    0.693_147_182_464_599_6,
    1.0,
];

const EXP_F64: [f64; 12] = [
    2.502_874_330_010_499_7e-8,
    2.763_143_310_281_207e-7,
    2.755_749_481_643_880_5e-6,
    2.480_148_942_451_215e-5,
    0.000_198_412_696_104_684_99,
    0.001_388_888_894_764_998_2,
    0.008_333_333_333_445_603,
    0.041_666_666_666_512_15,
    0.166_666_666_666_664_9,
    0.500_000_000_000_001_3,
    1.0,
    1.0,
];

const EXP2_F64: [f64; 12] = [
    4.449_838_733_880_283e-10,
    7.073_830_649_377_912e-9,
    1.017_808_758_451_234_8e-7,
    1.321_543_497_883_127_4e-6,
    1.525_273_380_351_501_1e-5,
    0.000_154_035_304_577_987_38,
    0.001_333_355_814_638_268,
    0.009_618_129_107_593_482,
    0.055_504_108_664_822_256,
    0.240_226_506_959_101_33,
    std::f64::consts::LN_2,
    1.0,
];
