//! Constants from text.

use half::{bf16, f16};

use crate::ir::types::Type;

/// Parses a constant of the type and returns its carrier: decimals, `inf`, `nan`, `true`, `false`, or the bits as
/// `0x…`.
pub(super) fn parse(ty: Type, text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().filter(|bits| bits & !ty.bit_mask() == 0);
    }
    match ty {
        Type::Bool => text.parse::<bool>().ok().map(u64::from),
        Type::F16 => float(text, f16::NAN.to_bits().into(), |x: f32| f16::from_f32(x).to_bits().into()),
        Type::BF16 => float(text, bf16::NAN.to_bits().into(), |x: f32| bf16::from_f32(x).to_bits().into()),
        Type::F32 => float(text, f32::NAN.to_bits().into(), |x: f32| x.to_bits().into()),
        Type::F64 => float(text, f64::NAN.to_bits(), f64::to_bits),
        _ => integer(ty, text),
    }
}

fn float<T: std::str::FromStr>(text: &str, nan: u64, bits: impl FnOnce(T) -> u64) -> Option<u64> {
    if text == "nan" { Some(nan) } else { text.parse().ok().map(bits) }
}

fn integer(ty: Type, text: &str) -> Option<u64> {
    let number: i128 = text.parse().ok()?;
    let range = if ty.is_signed_integer() {
        let limit = 1i128 << (ty.bits() - 1);
        -limit..=limit - 1
    } else {
        0..=i128::from(ty.bit_mask())
    };
    range.contains(&number).then_some(number as u64 & ty.bit_mask())
}
