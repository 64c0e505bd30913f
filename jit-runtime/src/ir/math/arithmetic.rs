//! The operations in which the expansions are written: those of the IR, on a kernel's values or on carriers.

use crate::ir::builder::Builder;
use crate::ir::kernel::Value;
use crate::ir::op::{BinaryOp, CompareOp, UnaryOp};
use crate::ir::scalar;
use crate::ir::types::Type;

/// Something that does operations.
pub(crate) trait Arithmetic: Sized {
    /// The operand type.
    type Value: Copy;

    fn ty(&self, a: Self::Value) -> Type;
    fn constant(&mut self, ty: Type, bits: u64) -> Self::Value;
    fn unary(&mut self, op: UnaryOp, a: Self::Value) -> Self::Value;
    fn binary(&mut self, op: BinaryOp, a: Self::Value, b: Self::Value) -> Self::Value;
    fn fma(&mut self, a: Self::Value, b: Self::Value, c: Self::Value) -> Self::Value;
    fn compare(&mut self, op: CompareOp, a: Self::Value, b: Self::Value) -> Self::Value;
    fn select(&mut self, mask: Self::Value, a: Self::Value, b: Self::Value) -> Self::Value;
    fn cast(&mut self, ty: Type, a: Self::Value) -> Self::Value;
    fn bitcast(&mut self, ty: Type, a: Self::Value) -> Self::Value;

    /// The results of `rare` where the mask is true, otherwise the values passed in. The branch costs nothing where no
    /// lane takes it.
    fn rarely<const N: usize>(
        &mut self,
        mask: Self::Value,
        rare: impl FnOnce(&mut Self) -> [Self::Value; N],
        otherwise: [Self::Value; N],
    ) -> [Self::Value; N];

    /// A constant of a float type.
    fn number(&mut self, ty: Type, value: f64) -> Self::Value {
        self.constant(ty, scalar::cast(Type::F64, ty, value.to_bits()))
    }

    /// A constant of the type of a value.
    fn like(&mut self, a: Self::Value, value: f64) -> Self::Value {
        let ty = self.ty(a);
        self.number(ty, value)
    }

    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.binary(BinaryOp::Add, a, b)
    }

    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.binary(BinaryOp::Sub, a, b)
    }

    fn mul(&mut self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    fn div(&mut self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.binary(BinaryOp::Div, a, b)
    }

    fn neg(&mut self, a: Self::Value) -> Self::Value {
        self.unary(UnaryOp::Neg, a)
    }

    fn abs(&mut self, a: Self::Value) -> Self::Value {
        self.unary(UnaryOp::Abs, a)
    }

    fn sqrt(&mut self, a: Self::Value) -> Self::Value {
        self.unary(UnaryOp::Sqrt, a)
    }

    /// The magnitude of `a` with the sign of `b`.
    fn copy_sign(&mut self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.binary(BinaryOp::CopySign, a, b)
    }

    /// `a + constant`.
    fn add_to(&mut self, a: Self::Value, constant: f64) -> Self::Value {
        let constant = self.like(a, constant);
        self.add(a, constant)
    }

    /// `a * constant`.
    fn mul_by(&mut self, a: Self::Value, constant: f64) -> Self::Value {
        let constant = self.like(a, constant);
        self.mul(a, constant)
    }

    /// `constant / a`.
    fn divide_by(&mut self, constant: f64, a: Self::Value) -> Self::Value {
        let constant = self.like(a, constant);
        self.div(constant, a)
    }

    /// `c - a * b`, rounded once.
    fn fnma(&mut self, a: Self::Value, b: Self::Value, c: Self::Value) -> Self::Value {
        let a = self.neg(a);
        self.fma(a, b, c)
    }

    /// `a * b - c`, rounded once.
    fn fms(&mut self, a: Self::Value, b: Self::Value, c: Self::Value) -> Self::Value {
        let c = self.neg(c);
        self.fma(a, b, c)
    }

    /// A constant where the mask is true, otherwise the value.
    fn put(&mut self, mask: Self::Value, constant: f64, a: Self::Value) -> Self::Value {
        let constant = self.like(a, constant);
        self.select(mask, constant, a)
    }

    /// `a * constant + c`.
    fn fma_by(&mut self, a: Self::Value, constant: f64, c: Self::Value) -> Self::Value {
        let constant = self.like(a, constant);
        self.fma(a, constant, c)
    }

    /// `a` combined with the bits of an integer constant.
    fn with(&mut self, op: BinaryOp, a: Self::Value, bits: u64) -> Self::Value {
        let ty = self.ty(a);
        let b = self.constant(ty, bits);
        self.binary(op, a, b)
    }

    /// The result of comparing `a` with a constant.
    fn compare_with(&mut self, op: CompareOp, a: Self::Value, value: f64) -> Self::Value {
        let b = self.like(a, value);
        self.compare(op, a, b)
    }

    /// The polynomial `((c0 * x + c1) * x + c2) …` with fused steps, highest coefficient first.
    fn horner(&mut self, x: Self::Value, coefficients: &[f64]) -> Self::Value {
        let mut sum = self.like(x, coefficients[0]);
        for &coefficient in &coefficients[1..] {
            let coefficient = self.like(x, coefficient);
            sum = self.fma(sum, x, coefficient);
        }
        sum
    }
}

impl Arithmetic for Builder {
    type Value = Value;

    fn ty(&self, a: Value) -> Type {
        self.kernel().ty(a)
    }

    fn constant(&mut self, ty: Type, bits: u64) -> Value {
        Builder::constant(self, ty, bits)
    }

    fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        Builder::unary(self, op, a)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        Builder::binary(self, op, a, b)
    }

    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        Builder::fma(self, a, b, c)
    }

    fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Value {
        Builder::compare(self, op, a, b)
    }

    fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        Builder::select(self, mask, a, b)
    }

    fn cast(&mut self, ty: Type, a: Value) -> Value {
        Builder::cast(self, ty, a)
    }

    fn bitcast(&mut self, ty: Type, a: Value) -> Value {
        Builder::bitcast(self, ty, a)
    }

    fn rarely<const N: usize>(
        &mut self,
        mask: Value,
        rare: impl FnOnce(&mut Self) -> [Value; N],
        otherwise: [Value; N],
    ) -> [Value; N] {
        let (then_region, _) = self.open_region(&[]);
        let values = rare(self);
        self.close_region(values.to_vec());
        let (else_region, _) = self.open_region(&[]);
        self.close_region(otherwise.to_vec());
        let results = self.if_(mask, then_region, else_region);
        std::array::from_fn(|index| results[index])
    }
}
