//! The inputs of the rows, defined such that any language generates the same bits, and the checksum of a result.

/// A bijection of the 32-bit integers with good avalanche ("lowbias32" of Chris Wellons' hash prospector).
pub(crate) fn hash32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The golden ratio times 2^32: spreads neighbouring seeds over the whole range.
pub(crate) const SEED_STEP: u32 = 0x9E37_79B9;

/// A number in [0, 1) with 24 random bits, exact in `f32`.
pub(crate) fn u01(index: u32, seed: u32) -> f32 {
    (hash32(index.wrapping_add(seed.wrapping_mul(SEED_STEP))) >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// `n` numbers of [`u01`], mapped.
pub(crate) fn u01s(n: usize, seed: u32, map: impl Fn(f32) -> f32) -> Vec<f32> {
    (0..n as u32).map(|index| map(u01(index, seed))).collect()
}

/// The sum of all values, weighted by 1 + (index mod 16) so that order matters.
pub(crate) fn checksum<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    values.iter().enumerate().map(|(i, value)| (*value).into() * (1 + i % 16) as f64).sum()
}
