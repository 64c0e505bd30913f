//! Random numbers: generators, distributions and low-discrepancy sequences.
//!
//! | part | contents |
//! |---|---|
//! | [`rng`], [`Generator`] | a seed, and arrays of numbers of any type and distribution, permutations, samples: the default choice |
//! | [`Pcg32`] | small and fast, one stream and state per lane, for loops that draw repeatedly |
//! | [`Philox4x32`], [`philox4x32()`] | counter-based: any number of any stream at once |
//! | [`normal_from_uniform`], [`disk`], [`sphere`], … | numbers in [0, 1) transformed to other distributions and to points of figures |
//! | [`sobol`], [`owen_sobol`], [`halton`], [`r2`], … | points that are more even than random ones |
//!
//! All are implemented in the language itself: numbers are traced like everything else and fused into the kernels that
//! use them. They are the same on every device and for any number of threads. None of the generators is
//! cryptographically secure.

mod distribution;
mod generator;
mod integers;
mod pcg;
mod permutation;
mod philox;
mod sequence;
mod sobol_numbers;
mod words;

pub use distribution::{
    box_muller, cosine_hemisphere, disk, exponential_from_uniform, hemisphere, normal_from_uniform, sphere, triangle,
};
pub use generator::{Generator, rng};
pub use pcg::Pcg32;
pub use philox::{Philox4x32, philox4x32};
pub use sequence::{halton, owen_sobol, r_sequence, r2, sobol, sobol_bits, van_der_corput};
