//! Random valid kernels with inputs, and the comparison of the results of two backends.
//!
//! A [`Case`] is a function of a seed and [`Options`] alone. Its kernel always terminates and has one right answer,
//! including the contents of its buffers. Where the semantics leave something unspecified (the sign of a NaN, the order
//! of scattered float sums, which of several lanes' writes wins), the generator avoids observing it. So any two correct
//! backends agree on every output bit, except for the payload and sign of NaNs, which [`Case::compare`] ignores.

mod generate;
mod indices;
mod values;

use std::ops::Range;

use super::kernel::Kernel;

pub use values::Rng;

/// The kind of kernel to generate.
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
    /// Values are of types with at most so many bytes, and indices besides. Below four there are no floats.
    pub most_bytes: usize,
    /// The number of lanes; random if absent.
    pub width: Option<usize>,
}

impl Options {
    /// The seeds and options of thousands of kernels with control flow, for tests that take minutes.
    #[must_use]
    pub fn many() -> [(Range<u64>, Self); 3] {
        let of = |operations| Options { operations, ..Options::structured() };
        [(1000..3000, Options::structured()), (3000..6000, of(12)), (6000..7000, of(120))]
    }

    /// A straight-line list of element-wise operations.
    #[must_use]
    pub fn expressions() -> Self {
        Options {
            operations: 40,
            structured: false,
            transcendental: true,
            indexed_memory: false,
            reductions: false,
            most_bytes: 8,
            width: None,
        }
    }

    /// All operations, with loops and branches nested in one another.
    #[must_use]
    pub fn structured() -> Self {
        Options { operations: 60, structured: true, indexed_memory: true, reductions: true, ..Options::expressions() }
    }
}

/// The argument of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The bytes of a buffer before the launch; for a reduction, those of its single element.
    Buffer(Vec<u8>),
    /// The carrier of a scalar.
    Scalar(u64),
}

/// A kernel with everything that its launch needs.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed that the case was generated from.
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
