//! Applying an operation to arrays, on the CPU where it has code generation, else on the interpreter.

use std::sync::Arc;

use jit_runtime::Error;
use jit_runtime::device::Device;
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, Type, UnaryOp};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;

/// An operation of one or two operands.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    /// Of one.
    Unary(UnaryOp),
    /// Of two.
    Binary(BinaryOp),
}

impl Operation {
    /// The results for arguments of `f32`; the second ones are not looked at by an operation of one operand.
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
        let count = if matches!(self, Operation::Unary(_)) { 1 } else { 2 };
        let mut arguments = Vec::new();
        for input in &inputs[..count] {
            arguments.push(Argument::Buffer(Buffer::from_bytes(input)?, width));
        }
        arguments.push(Argument::Buffer(Arc::clone(&output), width));
        let (device, kernel) = (Device::Cpu, self.kernel(ty));
        launch(Launch { device, kernel, width, reduce_block: None, arguments, label: "accuracy", site: None })?;
        output.wait()?;
        output.read(0, results)
    }

    fn kernel(self, ty: Type) -> Kernel {
        let mut builder = Builder::new();
        let first = builder.buffer(ty, Access::Read);
        let result = match self {
            Operation::Unary(op) => {
                let x = builder.load(first);
                builder.unary(op, x)
            }
            Operation::Binary(op) => {
                let second = builder.buffer(ty, Access::Read);
                let (x, y) = (builder.load(first), builder.load(second));
                builder.binary(op, x, y)
            }
        };
        let output = builder.buffer(ty, Access::Write);
        builder.store(output, result);
        builder.finish()
    }
}
