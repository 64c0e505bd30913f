//! Rules for operations on two and three values.

use jit_runtime::ir::{BinaryOp, Type, UnaryOp, scalar};

use super::{Constant, fit, literal, operand_of};
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::size::Size;
use crate::trace::record;

/// Returns the value of a binary operation, if it folds.
#[inline]
#[track_caller]
pub(crate) fn binary(op: BinaryOp, a: &Var, b: &Var, width: Size) -> Option<Var> {
    match (Constant::of(a), Constant::of(b)) {
        (Some(x), Some(y)) => literal(x.ty, scalar::binary(op, x.ty, x.bits, y.bits), width),
        (None, Some(y)) => with_constant(op, a, y, width),
        (Some(x), None) if Op::Binary(op).is_commutative() => with_constant(op, b, x, width),
        (Some(x), None) => constant_with(op, x, b, width),
        (None, None) if a.is_same(b) => with_itself(op, a, width),
        (None, None) if is_negated(a) || is_negated(b) => with_negated(op, a, b, width),
        (None, None) => None,
    }
}

fn is_negated(var: &Var) -> bool {
    matches!(var.op(), Op::Unary(UnaryOp::Neg | UnaryOp::Not))
}

/// Folds with a constant on the right.
#[track_caller]
fn with_constant(op: BinaryOp, a: &Var, b: Constant, width: Size) -> Option<Var> {
    match op {
        BinaryOp::Add if b.is_neutral_to_add() => fit(a, width),
        BinaryOp::Add => reassociated(op, a, b, width),
        BinaryOp::Sub if b.is_neutral_to_subtract() => fit(a, width),
        BinaryOp::Sub if b.ty.is_integer() => {
            let negated = record::literal(b.ty, scalar::unary(UnaryOp::Neg, b.ty, b.bits), 1);
            fit(&record::binary(BinaryOp::Add, a, &negated), width)
        }
        BinaryOp::Mul => times(a, b, width),
        BinaryOp::Div => divided(a, b, width),
        BinaryOp::Rem if b.ty.is_integer() && b.is_one() => literal(b.ty, 0, width),
        BinaryOp::Rem => {
            let mask = record::literal(b.ty, (1u64 << b.power_of_two()?) - 1, 1);
            fit(&record::binary(BinaryOp::And, a, &mask), width)
        }
        BinaryOp::Min | BinaryOp::Max => bounded(op, a, b, width),
        BinaryOp::FMin | BinaryOp::FMax if b.float().is_some_and(f64::is_nan) => fit(a, width),
        BinaryOp::MulHi if b.bits == 0 || (b.bits == 1 && b.ty.is_unsigned_integer()) => literal(b.ty, 0, width),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => logic(op, a, b, width),
        BinaryOp::Shl | BinaryOp::Shr if b.bits == 0 => fit(a, width),
        BinaryOp::CopySign => {
            let magnitude = record::unary(UnaryOp::Abs, a);
            let is_negative = b.bits & b.sign_bit() != 0;
            fit(&if is_negative { record::unary(UnaryOp::Neg, &magnitude) } else { magnitude }, width)
        }
        _ => None,
    }
}

/// Folds `(x op c) op b` of integers by combining both constants.
#[track_caller]
fn reassociated(op: BinaryOp, a: &Var, b: Constant, width: Size) -> Option<Var> {
    if a.op() != Op::Binary(op) || b.ty.is_float() {
        return None;
    }
    let inner = Constant::of(&a.operand(1)?)?;
    let both = record::literal(b.ty, scalar::binary(op, b.ty, inner.bits, b.bits), 1);
    fit(&record::binary(op, &a.operand(0)?, &both), width)
}

#[track_caller]
fn times(a: &Var, b: Constant, width: Size) -> Option<Var> {
    if b.is_one() {
        fit(a, width)
    } else if b.is_minus_one() {
        fit(&record::unary(UnaryOp::Neg, a), width)
    } else if b.is_integer_zero() {
        literal(b.ty, 0, width)
    } else {
        reassociated(BinaryOp::Mul, a, b, width)
    }
}

#[track_caller]
fn divided(a: &Var, b: Constant, width: Size) -> Option<Var> {
    if b.is_one() {
        return fit(a, width);
    }
    if b.is_float_minus_one() {
        return fit(&record::unary(UnaryOp::Neg, a), width);
    }
    if let Some(shift) = b.power_of_two() {
        return fit(&record::binary(BinaryOp::Shr, a, &record::literal(b.ty, u64::from(shift), 1)), width);
    }
    let reciprocal = record::literal(b.ty, exact_reciprocal(b)?, 1);
    fit(&record::binary(BinaryOp::Mul, a, &reciprocal), width)
}

/// Returns the bits of the reciprocal of a power of two, if the type can represent it: then the product is the
/// quotient, to the last bit.
fn exact_reciprocal(b: Constant) -> Option<u64> {
    let value = b.float()?;
    let is_power_of_two = value.is_normal() && value.to_bits() & ((1 << 52) - 1) == 0;
    let reciprocal = scalar::cast(Type::F64, b.ty, value.recip().to_bits());
    let is_exact = f64::from_bits(scalar::cast(b.ty, Type::F64, reciprocal)) == value.recip();
    (is_power_of_two && is_exact && value.recip() != 0.0 && value.recip().is_finite()).then_some(reciprocal)
}

/// Returns the bits of the reciprocal of a literal, rounded, if it is a normal number.
pub(crate) fn reciprocal(b: &Var) -> Option<u64> {
    let b = Constant::of(b)?;
    let bits = scalar::binary(BinaryOp::Div, b.ty, scalar::one(b.ty), b.bits);
    let size = Constant { ty: b.ty, bits }.float()?.abs();
    let least = match b.ty {
        Type::F16 => half::f16::MIN_POSITIVE.to_f64(),
        Type::F64 => f64::MIN_POSITIVE,
        _ => f32::MIN_POSITIVE.into(),
    };
    (least..f64::INFINITY).contains(&size).then_some(bits)
}

/// Folds minimum and maximum with a bound that never or always decides.
#[track_caller]
fn bounded(op: BinaryOp, a: &Var, b: Constant, width: Size) -> Option<Var> {
    let [smallest, largest] = Constant::extremes(b.ty);
    let (neutral, absorbing) = if op == BinaryOp::Min { (largest, smallest) } else { (smallest, largest) };
    if b.bits == neutral {
        fit(a, width)
    } else if b.bits == absorbing && !b.ty.is_float() {
        literal(b.ty, absorbing, width)
    } else {
        None
    }
}

#[track_caller]
fn logic(op: BinaryOp, a: &Var, b: Constant, width: Size) -> Option<Var> {
    match op {
        BinaryOp::And if b.is_all_ones() => fit(a, width),
        BinaryOp::Or | BinaryOp::Xor if b.is_integer_zero() => fit(a, width),
        BinaryOp::And if b.is_integer_zero() => literal(b.ty, 0, width),
        BinaryOp::Or if b.is_all_ones() => literal(b.ty, b.bits, width),
        BinaryOp::Xor if b.is_all_ones() => fit(&record::not(a), width),
        _ => reassociated(op, a, b, width),
    }
}

/// Folds with a constant on the left, for an operation that is not commutative.
#[track_caller]
fn constant_with(op: BinaryOp, a: Constant, b: &Var, width: Size) -> Option<Var> {
    match op {
        // `-0 - x` flips the sign of x, zeros included; `0 - x` does not.
        BinaryOp::Sub if a.is_neutral_to_add() => fit(&record::unary(UnaryOp::Neg, b), width),
        BinaryOp::Shl | BinaryOp::Shr if a.bits == 0 => literal(a.ty, 0, width),
        _ => None,
    }
}

#[track_caller]
fn with_itself(op: BinaryOp, a: &Var, width: Size) -> Option<Var> {
    match op {
        BinaryOp::Min | BinaryOp::Max | BinaryOp::FMin | BinaryOp::FMax | BinaryOp::And | BinaryOp::Or => fit(a, width),
        BinaryOp::CopySign => fit(a, width),
        BinaryOp::Sub if a.ty().is_integer() => literal(a.ty(), 0, width),
        BinaryOp::Xor => literal(a.ty(), 0, width),
        _ => None,
    }
}

/// Folds with a negated operand.
#[track_caller]
fn with_negated(op: BinaryOp, a: &Var, b: &Var, width: Size) -> Option<Var> {
    let (x, y) = (operand_of(UnaryOp::Neg, a), operand_of(UnaryOp::Neg, b));
    let simpler = match (op, x, y) {
        (BinaryOp::Add, _, Some(y)) => record::binary(BinaryOp::Sub, a, &y),
        (BinaryOp::Add, Some(x), None) => record::binary(BinaryOp::Sub, b, &x),
        (BinaryOp::Sub, _, Some(y)) => record::binary(BinaryOp::Add, a, &y),
        (BinaryOp::Mul | BinaryOp::Div, Some(x), Some(y)) if a.ty().is_float() => record::binary(op, &x, &y),
        (BinaryOp::And | BinaryOp::Or, None, None) => return with_complement(op, a, b, width),
        _ => return None,
    };
    fit(&simpler, width)
}

/// Folds `x & !x` and `x | !x`.
#[track_caller]
fn with_complement(op: BinaryOp, a: &Var, b: &Var, width: Size) -> Option<Var> {
    let is_complement = |x: &Var, y: &Var| operand_of(UnaryOp::Not, x).is_some_and(|inner| inner.is_same(y));
    if !is_complement(a, b) && !is_complement(b, a) {
        return None;
    }
    literal(a.ty(), if op == BinaryOp::And { 0 } else { a.ty().bit_mask() }, width)
}

/// Returns the value of `a * b + c`, if it folds.
#[inline]
#[track_caller]
pub(crate) fn fma(a: &Var, b: &Var, c: &Var, width: Size) -> Option<Var> {
    let constants = (Constant::of(a), Constant::of(b), Constant::of(c));
    match constants {
        (None, None, None) => None,
        (Some(x), Some(y), Some(z)) => literal(x.ty, scalar::fma(x.ty, x.bits, y.bits, z.bits), width),
        (_, _, Some(z)) if z.is_neutral_to_add() => fit(&record::binary(BinaryOp::Mul, a, b), width),
        (Some(x), _, _) => with_factor(x, b, c, width),
        (_, Some(y), _) => with_factor(y, a, c, width),
        _ => None,
    }
}

/// Folds `constant * a + c`.
#[track_caller]
fn with_factor(constant: Constant, a: &Var, c: &Var, width: Size) -> Option<Var> {
    if constant.is_one() {
        fit(&record::binary(BinaryOp::Add, a, c), width)
    } else if constant.is_minus_one() {
        fit(&record::binary(BinaryOp::Sub, c, a), width)
    } else if constant.is_integer_zero() {
        fit(c, width)
    } else {
        None
    }
}
