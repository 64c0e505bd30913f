//! The derivative of a lane's operation by one of its operands, and how gradients are multiplied by it.

use jit_runtime::ir::{BinaryOp, CompareOp, Type, UnaryOp, scalar};

use super::scaled::ScaledRule;
use super::special::digamma;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::trace::record;

/// A derivative: a gradient flows backwards, or a tangent forwards, multiplied by it.
pub(super) enum Weight {
    /// One.
    One,
    /// Minus one.
    Minus,
    /// A value.
    By(Var),
    /// One where the mask has this value, zero elsewhere, whatever the gradient is.
    Where(Var, bool),
    /// One, in another float type.
    Cast,
}

/// Returns a number of a float type.
#[track_caller]
pub(super) fn number(ty: Type, value: f64) -> Var {
    record::literal(ty, scalar::cast(Type::F64, ty, value.to_bits()), 1)
}

/// The operands and the result of an operation, as they are read by derivatives.
pub(super) struct Values<'a> {
    pub(super) op: Op,
    pub(super) operands: [Option<&'a Var>; 3],
    pub(super) result: &'a Var,
}

impl Values<'_> {
    #[track_caller]
    fn operand(&self, slot: usize) -> &Var {
        self.operands[slot].expect("an operation has its operands")
    }

    /// Returns the derivative by an operand; none if it is zero everywhere.
    #[track_caller]
    pub(super) fn weight(&self, slot: usize) -> Option<Weight> {
        match self.op {
            Op::Broadcast | Op::Identity => Some(Weight::One),
            Op::Cast if self.operand(0).ty().is_float() => Some(Weight::Cast),
            Op::Bitcast if self.operand(0).ty() == self.result.ty() => Some(Weight::One),
            Op::Select => Some(Weight::Where(self.operand(0).clone(), slot == 1)),
            Op::Fma if slot == 2 => Some(Weight::One),
            Op::Fma => Some(Weight::By(self.operand(1 - slot).clone())),
            Op::Unary(op) => unary(exact(op), self.operand(0), self.result),
            Op::Binary(op) => binary(exact_binary(op), slot, self.operand(0), self.operand(1), self.result),
            _ => None,
        }
    }
}

/// Returns the exact operation of which one is the fast form. Under fast math, new nodes are fast again.
fn exact(op: UnaryOp) -> UnaryOp {
    match op {
        UnaryOp::FastExp => UnaryOp::Exp,
        UnaryOp::FastExp2 => UnaryOp::Exp2,
        UnaryOp::FastLn => UnaryOp::Ln,
        UnaryOp::FastLog2 => UnaryOp::Log2,
        UnaryOp::FastLog10 => UnaryOp::Log10,
        UnaryOp::FastSin => UnaryOp::Sin,
        UnaryOp::FastCos => UnaryOp::Cos,
        UnaryOp::FastTan => UnaryOp::Tan,
        UnaryOp::FastAsin => UnaryOp::Asin,
        UnaryOp::FastAcos => UnaryOp::Acos,
        UnaryOp::FastAtan => UnaryOp::Atan,
        UnaryOp::FastSinh => UnaryOp::Sinh,
        UnaryOp::FastCosh => UnaryOp::Cosh,
        UnaryOp::FastTanh => UnaryOp::Tanh,
        UnaryOp::FastErf => UnaryOp::Erf,
        UnaryOp::FastRsqrt => UnaryOp::Rsqrt,
        other => other,
    }
}

fn exact_binary(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::FastHypot => BinaryOp::Hypot,
        BinaryOp::FastAtan2 => BinaryOp::Atan2,
        BinaryOp::FastPow => BinaryOp::Pow,
        other => other,
    }
}

/// Short forms of the functions that record nodes, for formulas.
#[track_caller]
pub(super) fn add(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Add, a, b)
}

#[track_caller]
pub(super) fn sub(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Sub, a, b)
}

#[track_caller]
pub(super) fn mul(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Mul, a, b)
}

#[track_caller]
pub(super) fn div(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Div, a, b)
}

#[track_caller]
pub(super) fn function(op: UnaryOp, a: &Var) -> Var {
    record::unary(op, a)
}

#[track_caller]
pub(super) fn compare(op: CompareOp, a: &Var, b: &Var) -> Var {
    record::compare(op, a, b)
}

/// Returns the weight where the result is a number, NaN elsewhere: outside of the domain of a function.
#[track_caller]
fn where_defined(result: &Var, weight: &Var) -> Var {
    record::select(&compare(CompareOp::Eq, result, result), weight, result)
}

/// The derivatives of the functions of one value; `x` is the operand and `y` the result.
#[track_caller]
fn unary(op: UnaryOp, x: &Var, y: &Var) -> Option<Weight> {
    use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};
    let n = |value: f64| number(x.ty(), value);
    let one = n(1.0);
    let one_minus_square = || mul(&sub(&one, x), &add(&one, x));
    Some(Weight::By(match op {
        UnaryOp::Neg => return Some(Weight::Minus),
        // Zero at zeros, NaN for NaN.
        UnaryOp::Abs => {
            let zero = n(0.0);
            let is_below = compare(CompareOp::Lt, x, &zero);
            let others = record::select(&is_below, &n(-1.0), x);
            record::select(&compare(CompareOp::Gt, x, &zero), &one, &others)
        }
        UnaryOp::Sqrt => div(&n(0.5), y),
        UnaryOp::Exp => y.clone(),
        UnaryOp::Exp2 => mul(y, &n(LN_2)),
        UnaryOp::ExpM1 => add(y, &one),
        UnaryOp::Ln => where_defined(y, &div(&one, x)),
        UnaryOp::Log2 => where_defined(y, &div(&n(1.0 / LN_2), x)),
        UnaryOp::Log10 => where_defined(y, &div(&n(1.0 / LN_10), x)),
        UnaryOp::Ln1p => where_defined(y, &div(&one, &add(&one, x))),
        UnaryOp::Sin => function(UnaryOp::Cos, x),
        UnaryOp::Cos => function(UnaryOp::Neg, &function(UnaryOp::Sin, x)),
        UnaryOp::Tan => add(&one, &mul(y, y)),
        UnaryOp::Asin => div(&one, &function(UnaryOp::Sqrt, &one_minus_square())),
        UnaryOp::Acos => div(&n(-1.0), &function(UnaryOp::Sqrt, &one_minus_square())),
        UnaryOp::Atan => div(&one, &add(&one, &mul(x, x))),
        UnaryOp::Sinh => function(UnaryOp::Cosh, x),
        UnaryOp::Cosh => function(UnaryOp::Sinh, x),
        UnaryOp::Tanh => sub(&one, &mul(y, y)),
        UnaryOp::Asinh => div(&one, &record::binary(BinaryOp::Hypot, x, &one)),
        UnaryOp::Acosh => {
            let [below, above] = [sub(x, &one), add(x, &one)].map(|root| function(UnaryOp::Sqrt, &root));
            div(&one, &mul(&below, &above))
        }
        UnaryOp::Atanh => where_defined(y, &div(&one, &one_minus_square())),
        UnaryOp::Cbrt => div(&n(1.0 / 3.0), &mul(y, y)),
        UnaryOp::Erf => gaussian(x, FRAC_2_SQRT_PI),
        UnaryOp::Erfc => gaussian(x, -FRAC_2_SQRT_PI),
        UnaryOp::Erfinv => mul(&n(PI.sqrt() / 2.0), &function(UnaryOp::Exp, &mul(y, y))),
        UnaryOp::Tgamma => mul(y, &digamma(x)),
        UnaryOp::Lgamma => digamma(x),
        UnaryOp::Rsqrt => mul(&n(-0.5), &div(y, x)),
        _ => return None,
    }))
}

#[track_caller]
fn gaussian(x: &Var, factor: f64) -> Var {
    let exponent = function(UnaryOp::Neg, &mul(x, x));
    mul(&number(x.ty(), factor), &function(UnaryOp::Exp, &exponent))
}

/// The derivatives of the functions of two values by one of them; `y` is the result.
#[track_caller]
fn binary(op: BinaryOp, slot: usize, a: &Var, b: &Var, y: &Var) -> Option<Weight> {
    let n = |value: f64| number(a.ty(), value);
    let (own, other) = if slot == 0 { (a, b) } else { (b, a) };
    Some(Weight::By(match (op, slot) {
        (BinaryOp::Add, _) | (BinaryOp::Sub, 0) | (BinaryOp::Rem, 0) => return Some(Weight::One),
        (BinaryOp::Sub, _) => return Some(Weight::Minus),
        (BinaryOp::Mul, _) => other.clone(),
        (BinaryOp::Div, 0) => div(&n(1.0), b),
        (BinaryOp::Div, _) => div(&function(UnaryOp::Neg, y), b),
        (BinaryOp::Rem, _) => function(UnaryOp::Neg, &function(UnaryOp::Trunc, &div(a, b))),
        (BinaryOp::Min | BinaryOp::Max | BinaryOp::FMin | BinaryOp::FMax, _) => return extreme(op, slot, a, b, y),
        // The sign of the product of the signs; the operand that gives the sign changes nothing.
        (BinaryOp::CopySign, 0) => {
            let [own_sign, other_sign] = [a, b].map(|value| record::binary(BinaryOp::CopySign, &n(1.0), value));
            mul(&own_sign, &other_sign)
        }
        (BinaryOp::Hypot, _) => {
            let is_zero = compare(CompareOp::Eq, y, &n(0.0));
            record::select(&is_zero, &n(0.0), &div(own, y))
        }
        // Divided by the length twice, so that no square overflows.
        (BinaryOp::Atan2, _) => {
            let length = record::binary(BinaryOp::Hypot, a, b);
            let part = div(&div(other, &length), &length);
            let is_zero = compare(CompareOp::Eq, &length, &n(0.0));
            let part = record::select(&is_zero, &n(0.0), &part);
            if slot == 0 { part } else { function(UnaryOp::Neg, &part) }
        }
        (BinaryOp::Pow, 0) => {
            let power = mul(b, &record::binary(BinaryOp::Pow, a, &sub(b, &n(1.0))));
            // The power of 0 is constant, whatever the base is.
            record::select(&compare(CompareOp::Eq, b, &n(0.0)), &n(0.0), &power)
        }
        (BinaryOp::Pow, _) => {
            let product = mul(y, &function(UnaryOp::Ln, a));
            record::select(&compare(CompareOp::Eq, y, &n(0.0)), &n(0.0), &product)
        }
        _ => return None,
    }))
}

/// Minima and maxima: the gradient flows to the operand that is the result. Of equal operands, that is the first one.
/// NaN poisons what `min` and `max` return; `fmin` and `fmax` return the other operand.
#[track_caller]
fn extreme(op: BinaryOp, slot: usize, a: &Var, b: &Var, y: &Var) -> Option<Weight> {
    let is_first = match op {
        BinaryOp::Min | BinaryOp::FMin => compare(CompareOp::Le, a, b),
        _ => compare(CompareOp::Ge, a, b),
    };
    if matches!(op, BinaryOp::FMin | BinaryOp::FMax) {
        let is_first = record::binary(BinaryOp::Or, &is_first, &compare(CompareOp::Ne, b, b));
        return Some(Weight::Where(is_first, slot == 0));
    }
    let [one, zero] = [1.0, 0.0].map(|value| number(a.ty(), value));
    let weight = match slot {
        0 => record::select(&is_first, &one, &zero),
        _ => record::select(&is_first, &zero, &one),
    };
    Some(Weight::By(where_defined(y, &weight)))
}

/// Returns the gradient or tangent, multiplied by a derivative, in the type of the value that it flows to.
///
/// The product is zero where the gradient is, even if the derivative is not finite there: nothing flows.
#[track_caller]
pub(super) fn weighted(gradient: &Var, weight: &Weight, ty: Type) -> Var {
    match weight {
        Weight::One => gradient.clone(),
        Weight::Minus => function(UnaryOp::Neg, gradient),
        Weight::Cast => record::cast(ty, gradient),
        Weight::Where(mask, wanted) => {
            let zero = number(gradient.ty(), 0.0);
            if *wanted { record::select(mask, gradient, &zero) } else { record::select(mask, &zero, gradient) }
        }
        Weight::By(factor) => scaled(gradient, factor),
    }
}

/// Returns the product, zero where the gradient is.
#[track_caller]
pub(super) fn scaled(gradient: &Var, factor: &Var) -> Var {
    let product = mul(gradient, factor);
    if is_finite(factor, 3) || gradient.literal().is_some_and(|bits| value_of(gradient.ty(), bits) != 0.0) {
        return product;
    }
    let zero = number(gradient.ty(), 0.0);
    let value = record::select(&compare(CompareOp::Eq, gradient, &zero), &zero, &product);
    ScaledRule::attach(value, gradient, factor)
}

pub(super) fn value_of(ty: Type, bits: u64) -> f64 {
    f64::from_bits(scalar::cast(ty, Type::F64, bits))
}

/// Returns whether a value is known to be finite, from a few operations behind it.
fn is_finite(var: &Var, depth: u32) -> bool {
    let of = |slot: usize| depth > 0 && var.operand(slot).is_some_and(|operand| is_finite(&operand, depth - 1));
    match var.op() {
        Op::Literal => var.literal().is_some_and(|bits| value_of(var.ty(), bits).is_finite()),
        Op::Cast => var.operand(0).is_some_and(|operand| !operand.ty().is_float()) && !var.has_data(),
        Op::Broadcast | Op::Identity | Op::Unary(UnaryOp::Neg | UnaryOp::Abs) => of(0),
        Op::Select => of(1) && of(2),
        _ => false,
    }
}
