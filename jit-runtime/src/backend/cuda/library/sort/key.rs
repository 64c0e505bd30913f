//! The keys of elements, which have their order as unsigned numbers.

use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use crate::backend::library::SortKey;
use crate::ir::Type;

/// The unsigned type of the bits of an element.
pub(super) fn bits_type(ty: Type) -> Type {
    match ty.size_bytes() {
        1 => Type::U8,
        2 => Type::U16,
        4 => Type::U32,
        _ => Type::U64,
    }
}

/// The suffixes of unsigned numbers and of bits.
pub(super) fn suffixes(class: Class) -> (&'static str, &'static str) {
    if class == Class::Long { ("u64", "b64") } else { ("u32", "b32") }
}

/// The largest key, as a literal.
pub(super) fn largest(ty: Type) -> Operand {
    literal(ty, u64::MAX)
}

fn literal(ty: Type, bits: u64) -> Operand {
    Operand::Integer((bits & bits_type(ty).bit_mask()).cast_signed())
}

/// The key of an element whose bits are in a register, with zeros above them.
pub(super) fn key(b: &mut Builder, ty: Type, is_descending: bool, bits: Register) -> Register {
    let SortKey { flip, spread, smallest, largest, turn } = SortKey::of(ty, is_descending);
    let (unsigned, plain) = suffixes(bits.class);
    let class = bits.class;
    let compute = |b: &mut Builder, opcode: String, a: Register, other: u64| {
        let result = b.register(class);
        b.write(opcode, result, &[a.into(), literal(ty, other)]);
        result
    };
    if spread == 0 {
        return compute(b, format!("xor.{plain}"), bits, flip ^ turn);
    }
    let sign_place = bits_type(ty).bits() - 1;
    let is_negative = b.register(class);
    b.write(format!("shr.{unsigned}"), is_negative, &[bits.into(), sign_place.into()]);
    // All bits of `spread` if the sign bit is set, else none.
    let spread = compute(b, format!("mul.lo.{unsigned}"), is_negative, spread);
    let flipped = compute(b, format!("xor.{plain}"), bits, flip);
    let rank = b.register(class);
    b.write(format!("xor.{plain}"), rank, &[flipped.into(), spread.into()]);
    let rank = compute(b, format!("sub.{unsigned}"), rank, smallest);
    // Of small types, the difference may have other bits above.
    let rank = compute(b, format!("and.{plain}"), rank, u64::MAX);
    let rank = compute(b, format!("min.{unsigned}"), rank, largest);
    compute(b, format!("xor.{plain}"), rank, turn)
}

/// The digit of a key that begins at a bit.
pub(super) fn digit(b: &mut Builder, key: Register, first_bit: Register) -> Register {
    let (unsigned, _) = suffixes(key.class);
    let mut digit = b.register(key.class);
    b.write(format!("shr.{unsigned}"), digit, &[key.into(), first_bit.into()]);
    if key.class == Class::Long {
        let low = b.register(Class::Word);
        b.write("cvt.u32.u64", low, &[digit.into()]);
        digit = low;
    }
    b.and(digit, super::RADIX - 1)
}
