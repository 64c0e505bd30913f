//! Applies an operation to arrays, on the CPU if it has code generation, otherwise on the interpreter.

use std::sync::Arc;

use jit_runtime::Error;
use jit_runtime::device::Device;
use jit_runtime::ir::{Access, BinaryOp, Builder, CompareOp, Kernel, Type, UnaryOp, Value};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;

/// An operation of one or two operands.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    /// Of one.
    Unary(UnaryOp),
    /// Of two.
    Binary(BinaryOp),
    /// One divided by the operand.
    Reciprocal,
}

impl Operation {
    /// The results for arguments of `f32`; an operation with one operand ignores the second ones.
    pub(crate) fn of_singles(self, x: &[f32], y: &[f32]) -> Result<Vec<f32>, Error> {
        let mut results = vec![0.0; x.len()];
        let inputs = [bytemuck::cast_slice(x), bytemuck::cast_slice(y)];
        self.apply(Type::F32, x.len(), inputs, bytemuck::cast_slice_mut(&mut results))?;
        Ok(results)
    }

    /// The results for arguments of `f64`.
    pub(crate) fn of_doubles(self, x: &[f64], y: &[f64]) -> Result<Vec<f64>, Error> {
        let mut results = vec![0.0; x.len()];
        let inputs = [bytemuck::cast_slice(x), bytemuck::cast_slice(y)];
        self.apply(Type::F64, x.len(), inputs, bytemuck::cast_slice_mut(&mut results))?;
        Ok(results)
    }

    fn apply(self, ty: Type, width: usize, inputs: [&[u8]; 2], results: &mut [u8]) -> Result<(), Error> {
        let output = Buffer::alloc(results.len())?;
        let count = if matches!(self, Operation::Binary(_)) { 2 } else { 1 };
        let mut arguments = Vec::new();
        for input in &inputs[..count] {
            arguments.push(Argument::Buffer(Buffer::from_bytes(input)?, width));
        }
        arguments.push(Argument::Buffer(Arc::clone(&output), width));
        launch_on_cpu(self.kernel(ty), width, arguments)?;
        output.wait()?;
        output.read(0, results)
    }

    fn kernel(self, ty: Type) -> Kernel {
        let mut builder = Builder::new();
        let first = builder.buffer(ty, Access::Read);
        let x = builder.load(first);
        let result = if let Operation::Binary(op) = self {
            let second = builder.buffer(ty, Access::Read);
            let y = builder.load(second);
            builder.binary(op, x, y)
        } else {
            self.of_value(&mut builder, x)
        };
        let output = builder.buffer(ty, Access::Write);
        builder.store(output, result);
        builder.finish()
    }

    /// The result of an operation of one operand.
    fn of_value(self, builder: &mut Builder, x: Value) -> Value {
        match self {
            Operation::Unary(op) => builder.unary(op, x),
            Operation::Binary(op) => builder.binary(op, x, x),
            Operation::Reciprocal => {
                let one = number(builder, x, 1.0);
                builder.binary(BinaryOp::Div, one, x)
            }
        }
    }

    /// The operation that it is a fast variant of, if it is one.
    fn exact(self) -> Operation {
        match self {
            Operation::Unary(op) => Operation::Unary(op.exact()),
            Operation::Binary(op) => Operation::Binary(op.exact()),
            Operation::Reciprocal => self,
        }
    }

    /// The errors, in units in the last place of `f32`, of consecutive arguments starting at some bits. The exact
    /// results are those of the exact operation in `f64`. If they are smaller than the absolute unit, errors are in
    /// that unit.
    pub(crate) fn errors_of_singles(self, first: u32, width: usize, absolute_unit: f64) -> Result<Vec<f32>, Error> {
        let mut errors = vec![0.0f32; width];
        let output = Buffer::alloc(width * 4)?;
        let arguments = vec![Argument::Scalar(first.into()), Argument::Buffer(Arc::clone(&output), width)];
        launch_on_cpu(self.error_kernel(absolute_unit), width, arguments)?;
        output.wait()?;
        output.read(0, bytemuck::cast_slice_mut(&mut errors))?;
        Ok(errors)
    }

    fn error_kernel(self, absolute_unit: f64) -> Kernel {
        let mut b = Builder::new();
        let first = b.scalar_param(Type::U32);
        let (first, lane) = (b.scalar(first), b.lane_index());
        let bits = b.binary(BinaryOp::Add, first, lane);
        let x = b.bitcast(Type::F32, bits);
        let result = self.of_value(&mut b, x);
        let result = b.cast(Type::F64, result);
        let wide = b.cast(Type::F64, x);
        let exact = self.exact().of_value(&mut b, wide);
        let error = error_of(&mut b, result, exact, absolute_unit);
        let error = b.cast(Type::F32, error);
        let output = b.buffer(Type::F32, Access::Write);
        b.store(output, error);
        b.finish()
    }
}

/// The distance between a result of `f32` and the exact one, both as `f64`; 0 for NaN and infinities that are equal,
/// infinite for those that are not.
fn error_of(b: &mut Builder, result: Value, exact: Value, absolute_unit: f64) -> Value {
    let rounded = b.cast(Type::F32, exact);
    let rounded = b.cast(Type::F64, rounded);
    let difference = b.binary(BinaryOp::Sub, result, exact);
    let difference = b.unary(UnaryOp::Abs, difference);
    let size = b.unary(UnaryOp::Abs, exact);
    let least = number(b, size, f64::from(f32::MIN_POSITIVE).max(absolute_unit));
    let size = b.binary(BinaryOp::FMax, size, least);
    let bits = b.bitcast(Type::U64, size);
    let exponent = b.constant(Type::U64, 0x7ff0_0000_0000_0000);
    let bits = b.binary(BinaryOp::And, bits, exponent);
    let power = b.bitcast(Type::F64, bits);
    let error = b.binary(BinaryOp::Div, difference, power);
    let places = number(b, error, f64::from(1 << 23));
    let error = b.binary(BinaryOp::Mul, error, places);
    let infinity = number(b, error, f64::INFINITY);
    let [result_size, rounded_size] = [result, rounded].map(|value| b.unary(UnaryOp::Abs, value));
    let [result_finite, rounded_finite] =
        [result_size, rounded_size].map(|size| b.compare(CompareOp::Lt, size, infinity));
    let both_finite = b.binary(BinaryOp::And, result_finite, rounded_finite);
    let [result_nan, rounded_nan] = [result, rounded].map(|value| b.compare(CompareOp::Ne, value, value));
    let both_nan = b.binary(BinaryOp::And, result_nan, rounded_nan);
    let is_equal = b.compare(CompareOp::Eq, result, rounded);
    let is_same = b.binary(BinaryOp::Or, is_equal, both_nan);
    let zero = number(b, error, 0.0);
    let otherwise = b.select(is_same, zero, infinity);
    b.select(both_finite, error, otherwise)
}

/// A constant of the type of a value, `f32` or `f64`.
fn number(builder: &mut Builder, like: Value, value: f64) -> Value {
    match builder.kernel().ty(like) {
        Type::F32 => builder.constant(Type::F32, (value as f32).to_bits().into()),
        _ => builder.constant(Type::F64, value.to_bits()),
    }
}

fn launch_on_cpu(kernel: Kernel, width: usize, arguments: Vec<Argument>) -> Result<(), Error> {
    let device = Device::Cpu;
    launch(Launch { device, kernel, width, reduce_block: None, arguments, label: "accuracy".into(), site: None })
}
