//! The sizes of the networks and of their inputs, and the initial values.

use crate::inputs::{hash32, u01s};

/// The digits of a step, and their rows and columns.
pub(crate) const DIGITS: usize = 32;
pub(crate) const SIDE: usize = 8;
/// The features behind the convolutions.
pub(crate) const FEATURES: usize = 16 * SIDE * SIDE / 4;

pub(crate) const TEXTS: usize = 32;
pub(crate) const LENGTH: usize = 64;
pub(crate) const CHARACTERS: usize = 72;
pub(crate) const WIDTH: usize = 128;
pub(crate) const HEADS: usize = 4;
pub(crate) const BLOCKS: usize = 3;

/// Gives each matrix other initial values than the one before.
pub(crate) struct Initial {
    seed: u32,
}

impl Initial {
    pub(crate) fn new() -> Initial {
        Initial { seed: 100 }
    }

    /// The values of the next matrix; each of its first axis has `fan_in` of them.
    pub(crate) fn next(&mut self, count: usize, fan_in: usize) -> Vec<f32> {
        let bound = 1.0 / (fan_in as f32).sqrt();
        self.seed += 1;
        u01s(count * fan_in, self.seed - 1, |u| (2.0 * u - 1.0) * bound)
    }
}

/// The pixels of the digits.
pub(crate) fn pictures() -> Vec<f32> {
    u01s(DIGITS * SIDE * SIDE, 1, |u| u)
}

/// Numbers below a limit, from the `first` on.
pub(crate) fn numbers(first: usize, count: usize, limit: u32) -> Vec<u32> {
    (first..first + count).map(|index| hash32(index as u32) % limit).collect()
}
