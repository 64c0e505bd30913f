//! Random straight-line programs over eight registers, which the latency rows trace, compile and launch.

use jit::prelude::*;

use crate::inputs::{SEED_STEP, hash32, u01};

/// The operation of one instruction on its destination.
#[derive(Clone, Copy)]
enum Operation {
    FmaConstants,
    Min,
    Max,
    Mul,
    /// d - d * other
    FmaNegated,
    Sqrt,
}

struct Instruction {
    operation: Operation,
    destination: usize,
    other: usize,
    constants: (f32, f32),
}

/// A program that is determined by a seed.
pub(crate) struct Program(Vec<Instruction>);

impl Program {
    /// The program of `length` instructions for a seed.
    pub(crate) fn new(length: u32, seed: u32) -> Program {
        Program((0..length).map(|t| Instruction::new(t, seed)).collect())
    }

    /// Traces the program on an argument.
    pub(crate) fn trace(&self, x: &Float) -> Float {
        let mut r: [Float; 8] = std::array::from_fn(|k| x * (1.0 / (k as f64 + 1.0)) as f32);
        for Instruction { operation, destination, other, constants } in &self.0 {
            let (d, b) = (&r[*destination], &r[*other]);
            r[*destination] = match operation {
                Operation::FmaConstants => d.mul_add(constants.0, constants.1),
                Operation::Min => d.min(b),
                Operation::Max => d.max(b),
                Operation::Mul => d * b,
                Operation::FmaNegated => (-d).mul_add(b, d),
                Operation::Sqrt => d.sqrt(),
            };
        }
        ((&r[0] + &r[1]) + (&r[2] + &r[3])) + ((&r[4] + &r[5]) + (&r[6] + &r[7]))
    }
}

impl Instruction {
    fn new(t: u32, seed: u32) -> Instruction {
        let hash = hash32(t.wrapping_add(seed.wrapping_mul(SEED_STEP)));
        let operation = match hash % 6 {
            0 => Operation::FmaConstants,
            1 => Operation::Min,
            2 => Operation::Max,
            3 => Operation::Mul,
            4 => Operation::FmaNegated,
            _ => Operation::Sqrt,
        };
        Instruction {
            operation,
            destination: (hash >> 8 & 7) as usize,
            other: (hash >> 11 & 7) as usize,
            constants: (0.5 * u01(t, 2 * seed + 101), 0.5 * u01(t, 2 * seed + 102)),
        }
    }
}
