//! Runs a case on a backend, and compares the results of two backends.

use super::{Executable, RawArgument};
use crate::ir::kernel::{Access, Param};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::random::{Case, Input};
use crate::ir::types::Type;
use crate::ir::{reduce_chunk, scalar};

/// The bytes around a buffer, which must not be written.
const PADDING: u8 = 0xa5;

/// A cache line; buffers are aligned to it, and padded by one before and after.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The memory of one buffer during a run.
struct Memory {
    lines: Vec<Line>,
    size_bytes: usize,
}

impl Memory {
    fn new(bytes: &[u8]) -> Self {
        let mut lines = vec![Line([PADDING; 64]); bytes.len() / 64 + 3];
        for (line, part) in lines[1..].iter_mut().zip(bytes.chunks(64)) {
            line.0[..part.len()].copy_from_slice(part);
        }
        Memory { lines, size_bytes: bytes.len() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.lines.iter().flat_map(|line| line.0).collect();
        let behind = bytes.split_off(64 + self.size_bytes);
        let elements = bytes.split_off(64);
        assert!(bytes.iter().chain(&behind).all(|&byte| byte == PADDING), "memory outside of a buffer was written");
        elements
    }
}

fn carrier(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

impl Case {
    /// Returns the bytes of every written buffer after a launch; empty for other parameters.
    ///
    /// The lanes are run in pieces of the specified size, or as large as possible.
    ///
    /// # Panics
    ///
    /// If memory outside a buffer was written.
    #[must_use]
    pub fn run(&self, executable: &dyn Executable, piece: Option<usize>) -> Vec<Vec<u8>> {
        let mut memories: Vec<Memory> =
            self.inputs.iter().zip(&self.kernel.params).map(|(i, p)| self.memory(i, *p)).collect();
        let arguments: Vec<RawArgument> = (0..memories.len()).map(|p| self.argument(p, &mut memories[p])).collect();
        let has_reductions = self.kernel.params.iter().any(|p| access(*p) == Some(Access::Reduce));
        let piece = if has_reductions { self.chunk() } else { piece.unwrap_or(usize::MAX) };
        let mut first = 0;
        while first < self.width {
            let end = self.width.min(first.saturating_add(piece));
            // SAFETY: the arguments were made for the parameters, and this function owns the memory.
            unsafe { executable.run(first as u64..end as u64, &self.at_chunk(&arguments, first)) };
            first = end;
        }
        (0..memories.len()).map(|p| self.output(p, &memories[p])).collect()
    }

    /// The lanes that are reduced together.
    fn chunk(&self) -> usize {
        reduce_chunk(self.width, self.width)
    }

    /// The arguments of a run that begins at a lane: each chunk of a reduction has a separate element.
    fn at_chunk(&self, arguments: &[RawArgument], first: usize) -> Vec<RawArgument> {
        let mut arguments = arguments.to_vec();
        for (argument, param) in arguments.iter_mut().zip(&self.kernel.params) {
            if access(*param) == Some(Access::Reduce) {
                argument.word += (first / self.chunk() * param.ty().size_bytes()) as u64;
            }
        }
        arguments
    }

    fn memory(&self, input: &Input, param: Param) -> Memory {
        match input {
            Input::Buffer(_) if access(param) == Some(Access::Reduce) => {
                let chunks = self.width.div_ceil(self.chunk());
                Memory::new(&vec![0; chunks * param.ty().size_bytes()])
            }
            Input::Buffer(bytes) => Memory::new(bytes),
            Input::Scalar(_) => Memory::new(&[]),
        }
    }

    fn argument(&self, param: usize, memory: &mut Memory) -> RawArgument {
        match self.inputs[param] {
            Input::Scalar(word) => RawArgument { word, length: 0 },
            Input::Buffer(_) => {
                let length = memory.size_bytes / self.kernel.params[param].ty().size_bytes();
                RawArgument { word: memory.lines[1..].as_mut_ptr() as u64, length: length as u64 }
            }
        }
    }

    fn output(&self, param: usize, memory: &Memory) -> Vec<u8> {
        let bytes = memory.bytes();
        match access(self.kernel.params[param]) {
            None | Some(Access::Read) => Vec::new(),
            Some(Access::Write | Access::ReadWrite) => bytes,
            Some(Access::Reduce) => {
                let (op, ty) = self.reduction(param);
                let mut partials: Vec<u64> = bytes.chunks(ty.size_bytes()).map(carrier).collect();
                let result = scalar::reduce_in_pairs(op, ty, &mut partials);
                result.to_le_bytes()[..ty.size_bytes()].to_vec()
            }
        }
    }

    fn reduction(&self, param: usize) -> (ReduceOp, Type) {
        let found = self.kernel.regions[0].insts.iter().find_map(|inst| match inst.op {
            Op::Reduce { op, buffer, .. } if buffer.index() == param => Some((op, self.kernel.params[param].ty())),
            _ => None,
        });
        found.expect("a parameter that receives a reduction belongs to one")
    }

    /// Compares outputs of [`Case::run`] bit by bit; NaNs are equal to one another.
    ///
    /// # Errors
    ///
    /// If they differ. Names the first element that differs, with both values, and the case.
    pub fn compare(&self, expected: &[Vec<u8>], actual: &[Vec<u8>]) -> Result<(), String> {
        for (param, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let ty = self.kernel.params[param].ty();
            let elements = expected.chunks(ty.size_bytes()).zip(actual.chunks(ty.size_bytes())).enumerate();
            for (index, (expected, actual)) in elements {
                let (expected, actual) = (carrier(expected), carrier(actual));
                if expected != actual && !(is_nan(ty, expected) && is_nan(ty, actual)) {
                    return Err(format!(
                        "seed {}, width {}: element {index} of p{param} ({ty}) is {actual:#x}, \
                         expected {expected:#x}, in\n{}",
                        self.seed, self.width, self.kernel
                    ));
                }
            }
        }
        Ok(())
    }
}

fn access(param: Param) -> Option<Access> {
    match param {
        Param::Buffer { access, .. } => Some(access),
        Param::Scalar { .. } => None,
    }
}

fn is_nan(ty: Type, bits: u64) -> bool {
    ty.is_float() && f64::from_bits(scalar::cast(ty, Type::F64, bits)).is_nan()
}
