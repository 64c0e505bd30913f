//! Fast math: records cheaper operations in place of exact ones.
//!
//! It affects only recording. The cheaper operations are ordinary ones, part of the kernel, of its hash and of its
//! text, and every backend computes them to the same bits.

use std::cell::Cell;
use std::marker::PhantomData;

use jit_runtime::ir::{BinaryOp, Type, UnaryOp};

use super::{fold, record};
use crate::graph::node::Var;
use crate::graph::op::Op;

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread records fast math.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.get()
}

/// Calls a function, and records faster, less exact operations in it. This includes functions that it calls, but not
/// work that it delegates to other threads.
///
/// For elements that are floats this changes:
///
/// * `exp`, `exp2`, `ln`, `log2`, `log10`, `sin`, `cos`, `tan`, `asin`, `acos`, `atan`, `atan2`, `sinh`, `cosh`,
///   `tanh`, `erf`, `powf`, `hypot` and `rsqrt` of `f32`, and of halves, are approximated to a few units in the last
///   place, and take less care at the ends of the range. `docs/accuracy.md` has the measured errors, and what is given
///   up. Those of `f64` stay as they are.
/// * A sum or difference of a product, and of something else, is rounded once, by [`mul_add`](crate::Array::mul_add).
/// * A division by a number that is known while recording is a multiplication by its reciprocal.
///
/// The results do not depend on the device, nor on the rest of a kernel: the cheaper operations are recorded as such,
/// and the interpreter computes them to the same bits as compiled code. Sums keep their order; NaN and infinities keep
/// their meaning.
///
/// `#[jit(fast_math)]` does the same for a function; `#[jit(fast_math = false)]` disables it for a function that is
/// called in such a scope.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::fast_math;
///
/// let x = Float::linspace(0.0, 10.0, 1000);
/// let (fast, exact) = (fast_math(|| x.exp()), x.exp());
/// for (fast, exact) in fast.to_vec()?.iter().zip(exact.to_vec()?) {
///     assert!((fast / exact - 1.0).abs() < 4e-7);
/// }
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[track_caller]
pub fn fast_math<R>(function: impl FnOnce() -> R) -> R {
    let _scope = FastMath::set(true);
    function()
}

/// The previous setting, which is restored when this is dropped.
#[derive(Debug)]
pub struct FastMath {
    before: bool,
    /// The scope belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl FastMath {
    /// Switches fast math on or off for this thread until the result is dropped.
    #[must_use]
    pub fn set(is_on: bool) -> FastMath {
        FastMath { before: IS_ON.replace(is_on), thread: PhantomData }
    }
}

impl Drop for FastMath {
    fn drop(&mut self) {
        IS_ON.set(self.before);
    }
}

/// Returns the operation to record on a value of a type.
#[inline]
pub(super) fn unary(op: UnaryOp, ty: Type) -> UnaryOp {
    if op.is_transcendental() && is_on() && ty != Type::F64 { op.fast() } else { op }
}

/// Returns the operation to record on two values of a type.
#[inline]
pub(super) fn binary_op(op: BinaryOp, ty: Type) -> BinaryOp {
    if op.is_transcendental() && is_on() && ty != Type::F64 { op.fast() } else { op }
}

/// Returns a cheaper node for an operation on two values that no rule folds, if there is one.
#[inline]
#[track_caller]
pub(super) fn binary(op: BinaryOp, a: &Var, b: &Var) -> Option<Var> {
    if !is_on() || !a.ty().is_float() {
        return None;
    }
    match op {
        BinaryOp::Add => contracted_sum(a, b),
        BinaryOp::Sub => contracted_difference(a, b),
        BinaryOp::Div => divided_by_constant(a, b),
        _ => None,
    }
}

/// `x y + b`, or `a + x y`.
#[track_caller]
fn contracted_sum(a: &Var, b: &Var) -> Option<Var> {
    if let Some([x, y]) = product(a) {
        return Some(record::fma(&x, &y, b));
    }
    let [x, y] = product(b)?;
    Some(record::fma(&x, &y, a))
}

/// `x y - b`, or `a - x y`.
#[track_caller]
fn contracted_difference(a: &Var, b: &Var) -> Option<Var> {
    if let Some([x, y]) = product(a) {
        return Some(record::fma(&x, &y, &record::unary(UnaryOp::Neg, b)));
    }
    let [x, y] = product(b)?;
    Some(record::fma(&record::unary(UnaryOp::Neg, &x), &y, a))
}

/// Returns the factors of a product that has not been computed.
fn product(var: &Var) -> Option<[Var; 2]> {
    if var.op() == Op::Binary(BinaryOp::Mul) { Some([var.operand(0)?, var.operand(1)?]) } else { None }
}

/// Returns the product with the reciprocal of a literal, if that is a normal number.
#[track_caller]
fn divided_by_constant(a: &Var, b: &Var) -> Option<Var> {
    let reciprocal = fold::reciprocal(b)?;
    Some(record::binary(BinaryOp::Mul, a, &record::literal(b.ty(), reciprocal, 1)))
}
