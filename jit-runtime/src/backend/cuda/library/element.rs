//! Element types in routines, and the operations by which reductions combine them.

use super::super::ptx::{Class, Operand, Register};
use super::builder::Builder;
use crate::ir::{ReduceOp, Type, scalar};

/// The type in which elements are combined: `f32` for halves, a byte for `bool`.
pub(super) fn combined_type(ty: Type) -> Type {
    match ty {
        Type::F16 | Type::BF16 => Type::F32,
        Type::Bool => Type::U8,
        _ => ty,
    }
}

/// A number as an operand of instructions.
pub(super) fn literal(ty: Type, bits: u64) -> Operand {
    match ty {
        Type::F32 => Operand::Single(bits as u32),
        Type::F64 => Operand::Double(bits),
        _ if ty.is_signed_integer() => Operand::Integer(scalar::cast(ty, Type::I64, bits).cast_signed()),
        _ => Operand::Integer(bits.cast_signed()),
    }
}

/// The identity of an operation, in the type in which elements are combined.
pub(super) fn identity(op: ReduceOp, ty: Type) -> Operand {
    let bits = if ty == Type::Bool { scalar::identity(op, ty) & 1 } else { scalar::identity(op, combined_type(ty)) };
    literal(combined_type(ty), bits)
}

impl Builder {
    /// A register for a value in the type in which elements are combined.
    pub(super) fn value(&mut self, ty: Type, first: &Operand) -> Register {
        let result = self.register(Class::of(combined_type(ty)));
        self.move_to(result, first);
        result
    }

    /// Loads an element where a condition holds; elsewhere the register has the value of the operand.
    pub(super) fn load_element(
        &mut self,
        space: &str,
        ty: Type,
        address: Register,
        condition: Register,
        otherwise: &Operand,
    ) -> Register {
        let result = self.value(ty, otherwise);
        self.when(condition, |this| {
            let element = this.load_whole(space, ty, address, 0);
            this.set(result, element);
        });
        result
    }

    /// Loads an element, in the type in which elements are combined.
    pub(super) fn load_whole(&mut self, space: &str, ty: Type, address: Register, offset: u32) -> Register {
        let stored = if ty == Type::Bool { Type::U8 } else { ty };
        let element = self.register(Class::of(stored));
        self.load_from(space, None, stored, Operand::Memory(address, offset.into()), element);
        if !ty.is_float() || Class::of(ty) != Class::Half {
            return element;
        }
        match self.widen_half(ty, &element.into()) {
            Operand::Register(wide) => wide,
            _ => element,
        }
    }

    /// Stores a value as an element, rounded once.
    pub(super) fn store_element(&mut self, space: &str, ty: Type, address: Register, value: Register) {
        let (stored, value) = match ty {
            Type::Bool => (Type::U8, value.into()),
            Type::F16 | Type::BF16 => (ty, self.round_to_half(ty, &value.into())),
            _ => (ty, value.into()),
        };
        self.store_to(space, None, stored, Operand::Memory(address, 0), &value);
    }

    /// Combines two values.
    pub(super) fn join(&mut self, op: ReduceOp, ty: Type, a: Register, b: Register) -> Register {
        let combined = combined_type(ty);
        let result = self.register(Class::of(combined));
        self.binary(op.as_binary(), combined, result, &a.into(), &b.into());
        result
    }
}
