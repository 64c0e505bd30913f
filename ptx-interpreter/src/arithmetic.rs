//! Arithmetic, comparisons and selections. Registers hold bits; those above the width of a register are zero.

use super::AtomicSums;
use super::instruction::Pure::{self, One, Three, Two};

/// The NaN that instructions return.
const NAN32: u32 = 0x7fff_ffff;
const NAN64: u64 = 0x7fff_ffff_ffff_ffff;

/// In place of results that the manual leaves unspecified.
const UNSPECIFIED: u64 = 0xdead_beef_0bad_cafe;

pub(super) fn s32(bits: u64) -> i32 {
    bits as u32 as i32
}

pub(super) fn u32_of(bits: u64) -> u32 {
    bits as u32
}

pub(super) fn s64(bits: u64) -> i64 {
    bits as i64
}

pub(super) fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub(super) fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

pub(super) fn from_s32(value: i32) -> u64 {
    u64::from(value as u32)
}

pub(super) fn from_u32(value: u32) -> u64 {
    u64::from(value)
}

pub(super) fn from_s64(value: i64) -> u64 {
    value as u64
}

pub(super) fn from_f32(value: f32) -> u64 {
    u64::from(if value.is_nan() { NAN32 } else { value.to_bits() })
}

pub(super) fn from_f64(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

fn u64_of(bits: u64) -> u64 {
    bits
}

fn from_u64(value: u64) -> u64 {
    value
}

/// The function with the operations of an integer type, by the opcode without the type.
macro_rules! integer {
    ($function:ident: $ty:ty, $wide:ty, $read:ident, $write:ident) => {
        fn $function(opcode: &str) -> Option<Pure> {
            const BITS: u32 = <$ty>::BITS;
            Some(match opcode {
                "add" => Two(|a, b| $write($read(a).wrapping_add($read(b)))),
                "sub" => Two(|a, b| $write($read(a).wrapping_sub($read(b)))),
                "neg" => One(|a| $write($read(a).wrapping_neg())),
                "mul.lo" => Two(|a, b| $write($read(a).wrapping_mul($read(b)))),
                "mul.hi" => Two(|a, b| $write(((<$wide>::from($read(a)) * <$wide>::from($read(b))) >> BITS) as $ty)),
                "mad.lo" => Three(|a, b, c| $write($read(a).wrapping_mul($read(b)).wrapping_add($read(c)))),
                "div" => Two(|a, b| $write($read(a).checked_div($read(b)).unwrap_or(UNSPECIFIED as $ty))),
                "rem" => Two(|a, b| $write($read(a).checked_rem($read(b)).unwrap_or(UNSPECIFIED as $ty))),
                "min" => Two(|a, b| $write($read(a).min($read(b)))),
                "max" => Two(|a, b| $write($read(a).max($read(b)))),
                // Counts above the width are the width.
                "shr" => Two(|a, b| match b as u32 {
                    count if count < BITS => $write($read(a) >> count),
                    _ => $write($read(a) >> (BITS - 1) >> 1),
                }),
                "setp.eq" => Two(|a, b| u64::from($read(a) == $read(b))),
                "setp.ne" => Two(|a, b| u64::from($read(a) != $read(b))),
                "setp.lt" => Two(|a, b| u64::from($read(a) < $read(b))),
                "setp.le" => Two(|a, b| u64::from($read(a) <= $read(b))),
                "setp.gt" => Two(|a, b| u64::from($read(a) > $read(b))),
                "setp.ge" => Two(|a, b| u64::from($read(a) >= $read(b))),
                _ => return None,
            })
        }
    };
}

integer!(of_s32: i32, i64, s32, from_s32);
integer!(of_u32: u32, u64, u32_of, from_u32);
integer!(of_s64: i64, i128, s64, from_s64);
integer!(of_u64: u64, u128, u64_of, from_u64);

/// The function with the operations of a float type. Comparisons are false for NaN, unless their name ends in `u`.
macro_rules! float {
    ($function:ident: $read:ident, $write:ident, $minimum:ident, $maximum:ident) => {
        fn $function(opcode: &str) -> Option<Pure> {
            Some(match opcode {
                "add.rn" => Two(|a, b| $write($read(a) + $read(b))),
                "sub.rn" => Two(|a, b| $write($read(a) - $read(b))),
                "mul.rn" => Two(|a, b| $write($read(a) * $read(b))),
                "div.rn" => Two(|a, b| $write($read(a) / $read(b))),
                "fma.rn" => Three(|a, b, c| $write($read(a).mul_add($read(b), $read(c)))),
                "sqrt.rn" => One(|a| $write($read(a).sqrt())),
                "min" => Two(|a, b| $write($minimum($read(a), $read(b)))),
                "max" => Two(|a, b| $write($maximum($read(a), $read(b)))),
                "setp.eq" => Two(|a, b| u64::from($read(a) == $read(b))),
                "setp.neu" => Two(|a, b| u64::from($read(a) != $read(b))),
                "setp.lt" => Two(|a, b| u64::from($read(a) < $read(b))),
                "setp.le" => Two(|a, b| u64::from($read(a) <= $read(b))),
                "setp.gt" => Two(|a, b| u64::from($read(a) > $read(b))),
                "setp.ge" => Two(|a, b| u64::from($read(a) >= $read(b))),
                "setp.nan" => Two(|a, b| u64::from($read(a).is_nan() || $read(b).is_nan())),
                _ => return None,
            })
        }
    };
}

float!(of_f32: f32_of, from_f32, min_f32, max_f32);
float!(of_f64: f64_of, from_f64, min_f64, max_f64);

/// The number if one operand is NaN; -0 is below +0.
macro_rules! minimum {
    ($ty:ty: $minimum:ident, $maximum:ident) => {
        fn $minimum(a: $ty, b: $ty) -> $ty {
            if a.is_nan() || a == b && b.is_sign_negative() || b < a { b } else { a }
        }

        fn $maximum(a: $ty, b: $ty) -> $ty {
            if a.is_nan() || a == b && b.is_sign_positive() || b > a { b } else { a }
        }
    };
}

minimum!(f32: min_f32, max_f32);
minimum!(f64: min_f64, max_f64);

/// NaN if an operand is.
fn or_nan(a: u64, b: u64, number: fn(f32, f32) -> f32) -> u64 {
    let (a, b) = (f32_of(a), f32_of(b));
    if a.is_nan() || b.is_nan() { from_f32(f32::NAN) } else { from_f32(number(a, b)) }
}

/// The operations on the low bits of a register, whatever they mean.
fn of_bits(opcode: &str, bits: u32) -> Option<Pure> {
    Some(match (opcode, bits) {
        ("and", _) => Two(|a, b| a & b),
        ("or", _) => Two(|a, b| a | b),
        ("xor", _) => Two(|a, b| a ^ b),
        ("not", 32) => One(|a| from_u32(!(a as u32))),
        ("not", 64) => One(|a| !a),
        ("shl", 32) => Two(|a, b| from_u32((a as u32).checked_shl(b as u32).unwrap_or(0))),
        ("shl", 64) => Two(|a, b| a.checked_shl(b as u32).unwrap_or(0)),
        ("popc", 32) => One(|a| u64::from((a as u32).count_ones())),
        ("popc", 64) => One(|a| u64::from(a.count_ones())),
        ("clz", 32) => One(|a| u64::from((a as u32).leading_zeros())),
        ("clz", 64) => One(|a| u64::from(a.leading_zeros())),
        ("brev", 32) => One(|a| from_u32((a as u32).reverse_bits())),
        ("brev", 64) => One(u64::reverse_bits),
        ("setp.eq", 32) => Two(|a, b| u64::from(a as u32 == b as u32)),
        ("setp.eq", 64) => Two(|a, b| u64::from(a == b)),
        ("setp.ne", 32) => Two(|a, b| u64::from(a as u32 != b as u32)),
        ("setp.ne", 64) => Two(|a, b| u64::from(a != b)),
        _ => return None,
    })
}

/// The function of an opcode without effects, except for conversions.
pub(super) fn decode(opcode: &str) -> Option<Pure> {
    match opcode {
        "mad.wide.u32" => return Some(Three(|a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c))),
        "mul.wide.u32" => return Some(Two(|a, b| u64::from(a as u32) * u64::from(b as u32))),
        "and.pred" => return Some(Two(|a, b| a & b)),
        "or.pred" => return Some(Two(|a, b| a | b)),
        "xor.pred" => return Some(Two(|a, b| a ^ b)),
        "not.pred" => return Some(One(|a| a ^ 1)),
        "min.NaN.f32" => return Some(Two(|a, b| or_nan(a, b, min_f32))),
        "max.NaN.f32" => return Some(Two(|a, b| or_nan(a, b, max_f32))),
        "cvta.to.global.u64" => return Some(One(|a| a)),
        _ => {}
    }
    let (name, ty) = opcode.rsplit_once('.')?;
    match (name, ty) {
        ("mov", "pred" | "b16" | "b32" | "u32" | "f32" | "b64" | "u64" | "f64") => Some(One(|a| a)),
        ("selp", "b16" | "b32" | "u32" | "f32" | "b64" | "u64" | "f64") => {
            Some(Three(|a, b, condition| if condition != 0 { a } else { b }))
        }
        (_, "s32") => of_s32(name),
        (_, "u32") => of_u32(name),
        (_, "s64") => of_s64(name),
        (_, "u64") => of_u64(name),
        (_, "f32") => of_f32(name),
        (_, "f64") => of_f64(name),
        (_, "b16") => of_bits(name, 16),
        (_, "b32") => of_bits(name, 32),
        (_, "b64") => of_bits(name, 64),
        _ => None,
    }
}

/// What an atomic instruction stores for the old element and the operand.
pub(super) fn atomic_function(opcode: &str, ty: &str, sums: AtomicSums) -> Option<fn(u64, u64) -> u64> {
    let function = match (opcode, ty) {
        ("exch", "b32" | "b64") => return Some(|_, new| new),
        ("add", "u32" | "u64") | ("min" | "max", "s32" | "u32" | "s64" | "u64") => decode(&format!("{opcode}.{ty}"))?,
        ("and" | "or", "b32" | "b64") => decode(&format!("{opcode}.{ty}"))?,
        ("add", "f64") => of_f64("add.rn")?,
        ("add", "f32") if sums == AtomicSums::Flushed => return Some(add_flushing),
        ("add", "f32") => of_f32("add.rn")?,
        _ => return None,
    };
    match function {
        Two(function) => Some(function),
        One(_) | Three(_) => None,
    }
}

/// The sum of atomic instructions on global memory, which replaces subnormal operands and results by zeros.
fn add_flushing(a: u64, b: u64) -> u64 {
    let flush = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
    from_f32(flush(flush(f32_of(a)) + flush(f32_of(b))))
}
