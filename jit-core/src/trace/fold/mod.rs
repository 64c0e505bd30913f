//! Folding: values that are known while recording are not recorded.
//!
//! Operations on literals are computed by the same arithmetic as the interpreter's. The algebraic rules are exact in
//! floating point, down to the sign of a zero: `x + 0` is not folded, since it turns `-0` into `+0`, and `x * 0` is not
//! folded, since it is NaN for an infinity. Sign and payload of a NaN are unspecified, so rules may change them.
//!
//! A rule returns a value of the width that the operation would have.

mod binary;
mod choose;
mod convert;
mod unary;

pub(crate) use binary::{binary, fma, reciprocal};
pub(crate) use choose::{compare, select};
pub(crate) use convert::{bitcast, cast};
pub(crate) use unary::unary;

use jit_runtime::ir::{Type, UnaryOp, scalar};

use super::record;
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::size::Size;

/// Returns a value as the result of an operation of some width.
#[track_caller]
fn fit(var: &Var, width: Size) -> Option<Var> {
    Some(record::broadcast(var, width))
}

#[track_caller]
fn literal(ty: Type, bits: u64, width: Size) -> Option<Var> {
    Some(record::literal(ty, bits, width))
}

/// Returns the operand of a node of this operation.
fn operand_of(op: UnaryOp, var: &Var) -> Option<Var> {
    if var.op() == Op::Unary(op) { var.operand(0) } else { None }
}

/// The properties of a literal that rules use.
#[derive(Clone, Copy)]
struct Constant {
    ty: Type,
    bits: u64,
}

impl Constant {
    fn of(var: &Var) -> Option<Constant> {
        Some(Constant { ty: var.ty(), bits: var.literal()? })
    }

    /// Returns the value of a float literal; exact, since `f64` holds every value of the other types.
    fn float(self) -> Option<f64> {
        self.ty.is_float().then(|| f64::from_bits(scalar::cast(self.ty, Type::F64, self.bits)))
    }

    /// Returns the highest bit: the sign.
    fn sign_bit(self) -> u64 {
        self.ty.bit_mask() ^ self.ty.bit_mask() >> 1
    }

    /// Returns whether it is zero; false for floats.
    fn is_integer_zero(self) -> bool {
        !self.ty.is_float() && self.bits == 0
    }

    /// Returns whether every bit is set, which is `true`, the largest unsigned integer, or -1; false for floats.
    fn is_all_ones(self) -> bool {
        !self.ty.is_float() && self.bits == self.ty.bit_mask()
    }

    fn is_one(self) -> bool {
        self.bits == scalar::one(self.ty) && self.ty != Type::Bool
    }

    fn is_minus_one(self) -> bool {
        self.is_float_minus_one() || (self.ty.is_signed_integer() && self.is_all_ones())
    }

    fn is_float_minus_one(self) -> bool {
        self.ty.is_float() && self.bits == scalar::one(self.ty) | self.sign_bit()
    }

    /// Returns whether adding it leaves every number unchanged: -0 for floats.
    fn is_neutral_to_add(self) -> bool {
        self.bits == if self.ty.is_float() { self.sign_bit() } else { 0 }
    }

    /// Returns whether subtracting it leaves every number unchanged: +0 for floats.
    fn is_neutral_to_subtract(self) -> bool {
        self.bits == 0
    }

    fn power_of_two(self) -> Option<u32> {
        (self.ty.is_unsigned_integer() && self.bits.is_power_of_two()).then(|| self.bits.trailing_zeros())
    }

    /// Returns the bits of the smallest and largest value that `min` and `max` distinguish.
    fn extremes(ty: Type) -> [u64; 2] {
        use jit_runtime::ir::ReduceOp;
        [scalar::identity(ReduceOp::Max, ty), scalar::identity(ReduceOp::Min, ty)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_that_rules_know_are_known_in_every_type_of_floats_and_no_others() {
        let values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for ty in Type::ALL.into_iter().filter(|ty| ty.is_float()) {
            for value in values {
                let constant = Constant { ty, bits: scalar::cast(Type::F64, ty, value.to_bits()) };
                let is = |other: f64| value.to_bits() == other.to_bits();
                assert_eq!(constant.is_one(), is(1.0), "{ty} {value}");
                assert_eq!(constant.is_minus_one(), is(-1.0), "{ty} {value}");
                assert_eq!(constant.is_neutral_to_add(), is(-0.0), "{ty} {value}");
                assert_eq!(constant.is_neutral_to_subtract(), is(0.0), "{ty} {value}");
            }
        }
        for ty in Type::ALL.into_iter().filter(|ty| ty.is_integer()) {
            for bits in [0, 1, 2, ty.bit_mask(), ty.bit_mask() >> 1, ty.bit_mask() ^ ty.bit_mask() >> 1] {
                let constant = Constant { ty, bits };
                assert_eq!(constant.is_one(), bits == 1, "{ty} {bits:x}");
                assert_eq!(constant.is_minus_one(), ty.is_signed_integer() && bits == ty.bit_mask(), "{ty} {bits:x}");
                assert_eq!(constant.is_neutral_to_add(), bits == 0, "{ty} {bits:x}");
                assert_eq!(constant.is_neutral_to_subtract(), bits == 0, "{ty} {bits:x}");
            }
        }
    }
}
