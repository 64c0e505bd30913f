//! Element types, shared by the kernel IR, the arrays above it and every backend.

use std::fmt;

/// The type of one element of an array, and of one IR value on one lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Type {
    /// A truth value; one byte (0 or 1) in memory.
    Bool,
    /// Signed 8-bit integer, two's complement.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Type {
    /// Every element type, in the order of the enumeration.
    pub const ALL: [Type; 13] = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F16,
        Type::BF16,
        Type::F32,
        Type::F64,
    ];

    /// Bytes that one element takes in memory.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Type::Bool | Type::I8 | Type::U8 => 1,
            Type::I16 | Type::U16 | Type::F16 | Type::BF16 => 2,
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 => 8,
        }
    }

    /// Bits of the value itself: 1 for [`Type::Bool`], otherwise eight times the bytes.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Type::Bool => 1,
            _ => 8 * self.size_bytes() as u32,
        }
    }

    /// The mask that keeps the meaningful low bits of a 64-bit carrier.
    #[must_use]
    pub const fn bit_mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// One of the four floating-point types.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::BF16 | Type::F32 | Type::F64)
    }

    /// One of the eight integer types; [`Type::Bool`] is none of them.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Type::Bool)
    }

    /// A signed integer type.
    #[must_use]
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// An unsigned integer type.
    #[must_use]
    pub const fn is_unsigned_integer(self) -> bool {
        self.is_integer() && !self.is_signed_integer()
    }

    /// Rust's name of the type (`f16` and `bf16` for the halves).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::F16 => "f16",
            Type::BF16 => "bf16",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }

    /// The type with this name, the inverse of [`Type::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
