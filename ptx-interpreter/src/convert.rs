//! Conversions: `cvt`.

use half::{bf16, f16};

use super::arithmetic::{f32_of, f64_of, from_f32, from_f64, from_s32, from_s64, s32, s64};
use super::instruction::Pure::{self, One};

/// Floats to integers, towards zero, saturating. NaN becomes zero from `f32` to 32 bits, else the highest bit alone.
fn to_integer(opcode: &str) -> Option<Pure> {
    Some(match opcode {
        "cvt.rzi.s32.f32" => One(|a| from_s32(f32_of(a) as i32)),
        "cvt.rzi.u32.f32" => One(|a| u64::from(f32_of(a) as u32)),
        "cvt.rzi.s64.f32" => One(|a| nan_or(f32_of(a).is_nan(), 64, from_s64(f32_of(a) as i64))),
        "cvt.rzi.u64.f32" => One(|a| nan_or(f32_of(a).is_nan(), 64, f32_of(a) as u64)),
        "cvt.rzi.s32.f64" => One(|a| nan_or(f64_of(a).is_nan(), 32, from_s32(f64_of(a) as i32))),
        "cvt.rzi.u32.f64" => One(|a| nan_or(f64_of(a).is_nan(), 32, u64::from(f64_of(a) as u32))),
        "cvt.rzi.s64.f64" => One(|a| nan_or(f64_of(a).is_nan(), 64, from_s64(f64_of(a) as i64))),
        "cvt.rzi.u64.f64" => One(|a| nan_or(f64_of(a).is_nan(), 64, f64_of(a) as u64)),
        _ => return None,
    })
}

fn nan_or(is_nan: bool, bits: u32, number: u64) -> u64 {
    if is_nan { 1 << (bits - 1) } else { number }
}

fn from_integer(opcode: &str) -> Option<Pure> {
    Some(match opcode {
        "cvt.rn.f32.s32" => One(|a| from_f32(s32(a) as f32)),
        "cvt.rn.f32.u32" => One(|a| from_f32(a as u32 as f32)),
        "cvt.rn.f32.s64" => One(|a| from_f32(s64(a) as f32)),
        "cvt.rn.f32.u64" => One(|a| from_f32(a as f32)),
        "cvt.rn.f64.s32" => One(|a| from_f64(f64::from(s32(a)))),
        "cvt.rn.f64.u32" => One(|a| from_f64(f64::from(a as u32))),
        "cvt.rn.f64.s64" => One(|a| from_f64(s64(a) as f64)),
        "cvt.rn.f64.u64" => One(|a| from_f64(a as f64)),
        _ => return None,
    })
}

fn between_floats(opcode: &str) -> Option<Pure> {
    Some(match opcode {
        "cvt.f64.f32" => One(|a| from_f64(f64::from(f32_of(a)))),
        "cvt.rn.f32.f64" => One(|a| from_f32(f64_of(a) as f32)),
        "cvt.f32.f16" => One(|a| from_f32(f16::from_bits(a as u16).to_f32())),
        "cvt.rn.f16.f32" => One(|a| u64::from(f16::from_f32(f32_of(a)).to_bits())),
        "cvt.rn.bf16.f32" => One(|a| u64::from(bf16::from_f32(f32_of(a)).to_bits())),
        "cvt.rmi.f32.f32" => One(|a| from_f32(f32_of(a).floor())),
        "cvt.rpi.f32.f32" => One(|a| from_f32(f32_of(a).ceil())),
        "cvt.rni.f32.f32" => One(|a| from_f32(f32_of(a).round_ties_even())),
        "cvt.rzi.f32.f32" => One(|a| from_f32(f32_of(a).trunc())),
        "cvt.rmi.f64.f64" => One(|a| from_f64(f64_of(a).floor())),
        "cvt.rpi.f64.f64" => One(|a| from_f64(f64_of(a).ceil())),
        "cvt.rni.f64.f64" => One(|a| from_f64(f64_of(a).round_ties_even())),
        "cvt.rzi.f64.f64" => One(|a| from_f64(f64_of(a).trunc())),
        _ => return None,
    })
}

fn between_integers(opcode: &str) -> Option<Pure> {
    Some(match opcode {
        "cvt.s32.s8" => One(|a| from_s32((a as i8).into())),
        "cvt.s32.s16" => One(|a| from_s32((a as i16).into())),
        "cvt.u32.u16" | "cvt.u16.u32" => One(|a| a & 0xffff),
        "cvt.s64.s32" => One(|a| from_s64(s32(a).into())),
        "cvt.u64.u32" => One(|a| u64::from(a as u32)),
        "cvt.u32.u64" => One(|a| u64::from(a as u32)),
        _ => return None,
    })
}

/// The function of a conversion.
pub(super) fn decode(opcode: &str) -> Option<Pure> {
    to_integer(opcode)
        .or_else(|| from_integer(opcode))
        .or_else(|| between_floats(opcode))
        .or_else(|| between_integers(opcode))
}
