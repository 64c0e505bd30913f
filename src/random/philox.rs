//! The generator Philox4x32: a function from counters to random words.

use std::ops::RangeInclusive;

use jit_runtime::ir::Type;

use super::words::{join, refuse, unit};
use crate::{Array, Float, Float64, FloatElement, Operand, Size, Traverse, UInt, UInt64};

/// The multipliers of a round.
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The increments of the key's words from round to round: fractions of the golden ratio and of √3.
pub(super) const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
/// The number of rounds that the inventors recommend.
const ROUNDS: u32 = 10;
/// Fewer rounds are not random; more are no improvement.
const ALLOWED_ROUNDS: RangeInclusive<u32> = 4..=16;

/// Returns four random words for a counter and a key (J. Salmon, M. Moraes, R. Dror and D. Shaw, “Parallel Random
/// Numbers: As Easy as 1, 2, 3”, 2011). It is a pure function: different counters yield independent words. Ten rounds
/// are recommended; with seven, none of the inventors' statistical tests failed.
#[must_use]
#[track_caller]
pub fn philox4x32(counter: &[UInt; 4], key: &[UInt; 2], rounds: u32) -> [UInt; 4] {
    let (mut counter, mut key) = (counter.clone(), key.clone());
    for round in 0..rounds {
        if round > 0 {
            key = [&key[0] + WEYL[0], &key[1] + WEYL[1]];
        }
        let [first, second] = [0, 1].map(|i| {
            let factor = &counter[2 * i];
            (factor.mul_hi(MULTIPLIERS[i]), factor * MULTIPLIERS[i])
        });
        counter = [second.0 ^ &counter[1] ^ &key[0], second.1, first.0 ^ &counter[3] ^ &key[1], first.1];
    }
    counter
}

/// Like [`philox4x32`] with ten rounds, for host numbers.
pub(super) fn philox4x32_of(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..ROUNDS {
        if round > 0 {
            key = [0, 1].map(|i| key[i].wrapping_add(WEYL[i]));
        }
        let [first, second] = [0, 1].map(|i| u64::from(counter[2 * i]) * u64::from(MULTIPLIERS[i]));
        let high = |product: u64| (product >> 32) as u32;
        counter = [high(second) ^ counter[1] ^ key[0], second as u32, high(first) ^ counter[3] ^ key[1], first as u32];
    }
    counter
}

/// Returns the lower and the upper half of each lane.
#[track_caller]
pub(super) fn halves(word: &UInt64) -> [UInt; 2] {
    [word.cast::<u32>(), (word >> 32).cast::<u32>()]
}

/// Advances a counter. The host does it for a number that it knows, so that the code stays the same from draw to draw.
#[track_caller]
pub(super) fn moved(counter: &UInt64, by: u64) -> UInt64 {
    match counter.var().settled_bits() {
        Some(bits) if counter.len() == 1 => UInt64::opaque(bits.wrapping_add(by)),
        _ => counter + by,
    }
}

/// A counter-based generator of one random stream per lane: Philox4x32 ([`philox4x32`]).
///
/// The key is the seed; the counter consists of the lane number, in its upper half, and the number of the draw. There
/// is no other state, so any draw of any lane can be reached directly, at constant cost. Each draw yields 128 random
/// bits at once.
///
/// Seed and draw are opaque: generators with other seeds and later draws use the same kernels. The generator holds
/// arrays, so it can be the state of a traced loop; lanes that are inactive in the loop do not draw.
///
/// ```
/// use jit::random::Philox4x32;
///
/// let mut rng = Philox4x32::new(3, 42);
/// let [a, b, c, d] = rng.next_f32x4();
/// jit::eval(&(&a, &b, &c, &d))?;
/// assert!(a.to_vec()?.iter().all(|x| (0.0..1.0).contains(x)));
/// // Two draws on, from the beginning.
/// let mut other = Philox4x32::new(3, 42);
/// other.advance(1);
/// assert_eq!(other.next_u32x4()[0].to_vec()?, rng.next_u32x4()[0].to_vec()?);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Philox4x32 {
    key: UInt64,
    /// The upper half of the counter.
    stream: UInt64,
    /// The lower half of the counter.
    draw: UInt64,
    rounds: u32,
}

impl Philox4x32 {
    /// Creates as many independent streams as there are lanes, numbered from 0, with ten rounds.
    #[must_use]
    #[track_caller]
    pub fn new(width: impl Into<Size>, seed: u64) -> Self {
        Philox4x32::seeded(UInt64::opaque(seed), UInt64::arange(width))
    }

    /// Creates the streams of these numbers, with one seed for each lane or for all, and ten rounds.
    #[must_use]
    #[track_caller]
    pub fn seeded(seed: impl Operand<u64>, stream: impl Operand<u64>) -> Self {
        let (key, stream) = (seed.into_array(), stream.into_array());
        Philox4x32 { key, stream, draw: UInt64::opaque(0), rounds: ROUNDS }
    }

    /// Returns the same streams with another number of rounds, from 4 to 16; ten are recommended, seven are faster.
    ///
    /// # Panics
    ///
    /// For any other number of rounds.
    #[must_use]
    #[track_caller]
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        if !ALLOWED_ROUNDS.contains(&rounds) {
            let (least, most) = (ALLOWED_ROUNDS.start(), ALLOWED_ROUNDS.end());
            refuse(
                format!("Philox4x32 cannot have {rounds} rounds; it takes {least} to {most}"),
                "10 rounds are the recommended number, 7 the smallest one that passes the usual tests",
            );
        }
        self.rounds = rounds;
        self
    }

    /// Returns the number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn width(&self) -> Size {
        self.stream.width()
    }

    /// Returns the next four words of 32 random bits of each lane.
    #[must_use]
    #[track_caller]
    pub fn next_u32x4(&mut self) -> [UInt; 4] {
        let [low, high] = halves(&self.draw);
        let [stream_low, stream_high] = halves(&self.stream);
        self.advance(1);
        philox4x32(&[low, high, stream_low, stream_high], &halves(&self.key), self.rounds)
    }

    /// Returns the next two words of 64 random bits of each lane.
    #[must_use]
    #[track_caller]
    pub fn next_u64x2(&mut self) -> [UInt64; 2] {
        let [a, b, c, d] = self.next_u32x4();
        [join(&a, &b), join(&c, &d)]
    }

    /// Returns the next four numbers in [0, 1) of each lane, uniform over the multiples of 2⁻²⁴ for `f32`, 2⁻¹¹ for
    /// `f16` and 2⁻⁸ for `bf16`. For `f64` the bits suffice only for two numbers: use [`Philox4x32::next_f64x2`]. Here
    /// its numbers are multiples of 2⁻³².
    #[must_use]
    #[track_caller]
    pub fn next_float_x4<T: FloatElement>(&mut self) -> [Array<T>; 4] {
        let none = UInt::from(0);
        self.next_u32x4().map(|word| if T::TYPE == Type::F64 { unit(&none, &word) } else { unit(&word, &none) })
    }

    /// Returns the next four numbers in [0, 1) of each lane, uniform over the multiples of 2⁻²⁴.
    #[must_use]
    #[track_caller]
    pub fn next_f32x4(&mut self) -> [Float; 4] {
        self.next_float_x4()
    }

    /// Returns the next two numbers in [0, 1) of each lane, uniform over the multiples of 2⁻⁵³.
    #[must_use]
    #[track_caller]
    pub fn next_f64x2(&mut self) -> [Float64; 2] {
        let [a, b, c, d] = self.next_u32x4();
        [unit(&a, &b), unit(&c, &d)]
    }

    /// Skips draws; 2⁶⁴ − n goes back by n.
    #[track_caller]
    pub fn advance(&mut self, draws: u64) {
        self.draw = moved(&self.draw, draws);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_and_the_trace_compute_the_same_words() {
        for (counter, key) in [([0; 4], [0; 2]), ([1, 2, 3, 4], [5, u32::MAX]), ([u32::MAX; 4], [u32::MAX; 2])] {
            let traced = philox4x32(&counter.map(UInt::opaque), &key.map(UInt::opaque), ROUNDS);
            let traced: Vec<u32> = traced.iter().map(|word| word.item().unwrap()).collect();
            assert_eq!(traced, philox4x32_of(counter, key));
        }
    }
}
