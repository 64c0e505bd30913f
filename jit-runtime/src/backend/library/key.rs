//! The order of elements in sorts, as one of unsigned numbers.

use crate::ir::Type;

/// Maps the bits of elements to unsigned numbers of the same width that have the order of the elements:
/// `min((bits ^ flip ^ (spread where the sign bit is set)) - smallest, largest) ^ turn`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// Bits that are flipped: the sign bit of signed types.
    pub flip: u64,
    /// Bits that are flipped in negative numbers: for floats, all other bits.
    pub spread: u64,
    /// The mapped value of the smallest element. NaNs with a sign bit are below it, and become the largest.
    pub smallest: u64,
    /// The largest key, which all NaNs have, since their bits are unspecified.
    pub largest: u64,
    /// All bits set if the largest elements come first.
    pub turn: u64,
}

impl SortKey {
    /// The order of an element type. Bits above the width of the type are to be ignored.
    #[must_use]
    pub fn of(ty: Type, is_descending: bool) -> SortKey {
        let sign = 1_u64 << (ty.bits().max(8) - 1);
        let (flip, spread, smallest) = match ty {
            _ if ty.is_float() => (sign, sign - 1, !negative_infinity(ty) & ty.bit_mask()),
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => (sign, 0, 0),
            _ => (0, 0, 0),
        };
        let turn = if is_descending { u64::MAX } else { 0 };
        // Finite numbers and infinities of both signs, including zeros: two for each magnitude up to infinity.
        let numbers = 2 * (negative_infinity(ty) & (sign - 1)) + 2;
        let largest = if ty.is_float() { numbers } else { u64::MAX };
        SortKey { flip, spread, smallest, largest, turn }
    }
}

/// The bits of minus infinity.
fn negative_infinity(ty: Type) -> u64 {
    match ty {
        Type::F16 => 0xfc00,
        Type::BF16 => 0xff80,
        Type::F32 => 0xff80_0000,
        _ => 0xfff0_0000_0000_0000,
    }
}
