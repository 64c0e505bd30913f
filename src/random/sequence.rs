//! Low-discrepancy sequences: points that fill the unit cube more evenly than random ones.
//!
//! | sequence | dimensions | remarks |
//! |---|---|---|
//! | [`van_der_corput`] | 1 | the bits of the index in reverse |
//! | [`halton`] | 32 | radical inverses in the first primes; any number of points |
//! | [`sobol`], [`owen_sobol`] | 64 | best for numbers of points that are powers of two |
//! | [`r_sequence`] | 16 | additive; simplest and cheapest |
//!
//! All are pure functions of an index, so any point can be computed directly. Pass the index `UInt::arange(n)` for the
//! first points.

use jit_runtime::ir::Type;

use super::sobol_numbers::{DIMENSIONS, direction_numbers};
use super::words::{refuse, unit};
use crate::{Array, FloatElement, Operand, UInt, UInt64, jit};

/// The bases of Halton's sequence.
const PRIMES: [u32; 32] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131,
];

/// The most dimensions of an additive sequence.
const R_DIMENSIONS: u32 = 16;

#[track_caller]
fn check_dimension(sequence: &str, dimension: u32, dimensions: u32) {
    if dimension >= dimensions {
        refuse(
            format!("{sequence} has no dimension {dimension}: it has {dimensions} dimensions"),
            &format!("dimensions count from 0 to {}", dimensions - 1),
        );
    }
}

/// Returns the fraction in [0, 1) with these first 32 binary digits, truncated to the precision of the type.
#[track_caller]
fn fraction<T: FloatElement>(bits: &UInt) -> Array<T> {
    if T::TYPE == Type::F64 {
        return unit(&UInt::from(0), bits);
    }
    unit(bits, bits)
}

/// Returns the digits of the index in base 2, mirrored at the point (J. van der Corput, “Verteilungsfunktionen”, 1935).
///
/// ```
/// use jit::prelude::*;
///
/// let x: Float = jit::random::van_der_corput(&UInt::arange(5));
/// assert_eq!(x.to_vec()?, [0.0, 0.5, 0.25, 0.75, 0.125]);
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn van_der_corput<T: FloatElement>(index: &UInt) -> Array<T> {
    fraction(&index.reverse_bits())
}

/// Returns a coordinate of Halton's sequence: the digits of the index in base `p`, mirrored at the point, where `p` is
/// the prime of the dimension, 2 for dimension 0 (J. Halton, “On the Efficiency of Certain Quasi-Random Sequences of
/// Points”, 1960). High dimensions need many points before they are even.
///
/// # Panics
///
/// For dimension 32 and above.
#[must_use]
#[track_caller]
pub fn halton<T: FloatElement>(index: &UInt, dimension: u32) -> Array<T> {
    check_dimension("Halton's sequence", dimension, PRIMES.len() as u32);
    if dimension == 0 {
        return van_der_corput(index);
    }
    // Correctly rounded, this may be 1; the last fraction of 32 bits never is.
    let inverse = radical_inverse(index, PRIMES[dimension as usize]) * 2f64.powi(32);
    fraction(&inverse.cast::<u32>())
}

/// Returns the digits of a number mirrored at the point, exact to the precision of the type.
#[jit]
fn radical_inverse(index: &UInt, #[constexpr] base: u32) -> Array<f64> {
    let (mut rest, mut mirrored, mut scale) = (index.clone(), UInt64::from(0), Array::<f64>::from(1.0));
    while rest != 0 {
        mirrored = mirrored * u64::from(base) + (rest % base).cast::<u64>();
        rest = rest / base;
        scale = scale * f64::from(base);
    }
    mirrored.cast::<f64>() / scale
}

/// Returns a coordinate of Sobol's sequence in binary digits, the first one highest, with the direction numbers of S.
/// Joe and F. Kuo (“Constructing Sobol Sequences with Better Two-Dimensional Projections”, 2008). Points are in the
/// order of their index, not of Gray codes.
///
/// # Panics
///
/// For dimension 64 and above.
#[must_use]
#[track_caller]
pub fn sobol_bits(index: &UInt, dimension: u32) -> UInt {
    check_dimension("Sobol's sequence", dimension, DIMENSIONS);
    if dimension == 0 {
        return index.reverse_bits();
    }
    let numbers = direction_numbers(dimension as usize);
    numbers.iter().enumerate().fold(UInt::from(0), |sum, (digit, &number)| {
        // All ones where the digit is set.
        let is_set = 0 - ((index >> digit as u32) & 1);
        sum ^ (is_set & number)
    })
}

/// Returns a coordinate of Sobol's sequence ([`sobol_bits`]) in [0, 1). The first 2ᵏ points have one point in each
/// interval of length 2⁻ᵏ, in every dimension.
///
/// ```
/// use jit::prelude::*;
///
/// let y: Float = jit::random::sobol(&UInt::arange(4), 1);
/// assert_eq!(y.to_vec()?, [0.0, 0.5, 0.75, 0.25]);
/// # Ok::<(), jit::Error>(())
/// ```
///
/// # Panics
///
/// For dimension 64 and above.
#[must_use]
#[track_caller]
pub fn sobol<T: FloatElement>(index: &UInt, dimension: u32) -> Array<T> {
    fraction(&sobol_bits(index, dimension))
}

/// Returns a coordinate of Sobol's sequence with Owen's scrambling, which preserves its evenness and makes it random.
/// Other seeds yield other, independent sequences, each of whose points is uniform (B. Burley, “Practical Hash-based
/// Owen Scrambling”, 2020). The points are in shuffled order, whose first 2ᵏ are even as well. Seeds may differ by
/// lane, for example by pixel.
///
/// # Panics
///
/// For dimension 64 and above.
#[must_use]
#[track_caller]
pub fn owen_sobol<T: FloatElement>(index: &UInt, dimension: u32, seed: impl Operand<u32>) -> Array<T> {
    let seed = seed.into_array();
    let shuffled = scramble(index, &seed);
    fraction(&scramble(&sobol_bits(&shuffled, dimension), &hash(&(seed ^ hash(&UInt::from(dimension))))))
}

/// Scrambles binary digits by Owen's method: whether a digit is flipped depends on the seed and all digits above it.
#[track_caller]
fn scramble(bits: &UInt, seed: &UInt) -> UInt {
    // The permutation of S. Laine and T. Karras (“Stratified Sampling for Stochastic Transparency”, 2011), whose bits
    // depend on lower ones, applied to the digits in reverse.
    let mut word = bits.reverse_bits() + seed;
    word = &word ^ (&word * 0x6c50_b47c);
    word = &word ^ (&word * 0xb82f_1e52);
    word = &word ^ (&word * 0xc7af_e638);
    word = &word ^ (&word * 0x8d22_f6e6);
    word.reverse_bits()
}

/// Returns a word that is uncorrelated with this one (C. Wellons' `lowbias32`).
#[track_caller]
fn hash(word: &UInt) -> UInt {
    let word = (word ^ (word >> 16)) * 0x7feb_352d;
    let word = (&word ^ (&word >> 15)) * 0x846c_a68b;
    &word ^ (&word >> 16)
}

/// Returns a coordinate of the additive sequence of a number of dimensions: multiples of a power of the generalised
/// golden ratio, modulo 1, beginning at 1/2 (M. Roberts, “The Unreasonable Effectiveness of Quasirandom Sequences”,
/// 2018). With one dimension it is the golden-ratio sequence, with two R2.
///
/// # Panics
///
/// For no or more than 16 dimensions, and for a dimension that is not below their number.
#[must_use]
#[track_caller]
pub fn r_sequence<T: FloatElement>(index: &UInt, dimensions: u32, dimension: u32) -> Array<T> {
    if !(1..=R_DIMENSIONS).contains(&dimensions) {
        refuse(
            format!("the R sequence cannot have {dimensions} dimensions"),
            &format!("it has from 1 to {R_DIMENSIONS} dimensions"),
        );
    }
    check_dimension("the R sequence", dimension, dimensions);
    let step = generalised_golden_ratio(dimensions).powi(-(dimension as i32) - 1);
    // In 64 binary digits, so that the last of 2³² points is as exact as the first.
    let step = (step * 2f64.powi(64)) as u64;
    let position = index.cast::<u64>() * step + (1 << 63);
    fraction(&(position >> 32).cast::<u32>())
}

/// Returns the points of the plane of [`r_sequence`].
#[must_use]
#[track_caller]
pub fn r2<T: FloatElement>(index: &UInt) -> [Array<T>; 2] {
    [0, 1].map(|dimension| r_sequence(index, 2, dimension))
}

/// Returns the positive root of x^(d+1) = x + 1.
fn generalised_golden_ratio(dimensions: u32) -> f64 {
    (0..100).fold(2.0_f64, |root, _| (1.0 + root).powf(1.0 / f64::from(dimensions + 1)))
}

#[cfg(test)]
mod tests {
    use super::generalised_golden_ratio;

    #[test]
    fn the_golden_ratios_are_those_of_the_literature() {
        assert!((generalised_golden_ratio(1) - 1.618_033_988_749_895).abs() < 1e-15);
        assert!((generalised_golden_ratio(2) - 1.324_717_957_244_746).abs() < 1e-15);
    }
}
