//! Random valid kernels with inputs, and the comparison of what two backends make of them.
//!
//! A [`Case`] is a function of a seed and [`Options`] alone. Its kernel always ends and has one right answer, also
//! where it leaves its buffers: where the semantics leave something open (the sign of a NaN, the order of scattered
//! float sums, which of several lanes' writes stays), the generator avoids looking at it. So any two correct backends
//! agree on every output bit, but for the payload and sign of NaNs, which [`Case::compare`] ignores.

mod generate;
mod indices;
mod values;

use super::kernel::Kernel;

pub use values::Rng;

/// What kind of kernel to make.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Instructions, roughly.
    pub operations: usize,
    /// Nest loops and branches.
    pub structured: bool,
    /// Use the transcendental functions.
    pub transcendental: bool,
    /// Gather and scatter.
    pub indexed_memory: bool,
    /// Reduce over lanes.
    pub reductions: bool,
    /// Lanes; drawn by chance where not given.
    pub width: Option<usize>,
}

impl Options {
    /// A straight list of element-wise operations.
    #[must_use]
    pub fn expressions() -> Self {
        Options {
            operations: 40,
            structured: false,
            transcendental: true,
            indexed_memory: false,
            reductions: false,
            width: None,
        }
    }

    /// Everything there is, with loops and branches nested in one another.
    #[must_use]
    pub fn structured() -> Self {
        Options { operations: 60, structured: true, indexed_memory: true, reductions: true, ..Options::expressions() }
    }
}

/// What one parameter is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The bytes of a buffer before the launch; for a reduction, those of its single element.
    Buffer(Vec<u8>),
    /// The carrier of a scalar.
    Scalar(u64),
}

/// A kernel with everything that a launch of it needs.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where the case came from.
    pub seed: u64,
    /// A valid kernel.
    pub kernel: Kernel,
    /// Lanes of the launch.
    pub width: usize,
    /// One input for each parameter.
    pub inputs: Vec<Input>,
}

impl Case {
    /// The case with this seed.
    #[must_use]
    pub fn new(seed: u64, options: &Options) -> Self {
        generate::case(seed, options)
    }
}
