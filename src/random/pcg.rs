//! The generator PCG32: a linear congruential state with a permuted output.

use jit_runtime::ir::Type;

use super::distribution::normal_from_centred;
use super::words::{is_half, join, mantissa_bits, unit};
use crate::{Array, Float, Float64, FloatElement, Int64, Operand, Size, Traverse, UInt, UInt64, jit};

/// A generator of one random stream per lane: PCG32, variant XSH-RR 64/32 (M. O'Neill, “PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation”, 2014).
///
/// Each lane has its own state and its own stream, so lanes are independent, and the numbers of a lane do not depend on
/// the number of lanes. A stream repeats after 2⁶⁴ numbers and supports jumps ([`Pcg32::advance`]).
///
/// Drawing evaluates nothing. The state is an expression, which grows with each draw until it is evaluated, with
/// `jit::eval(&generator)` or together with values computed from it. The generator holds arrays, so it can be the state
/// of a traced loop; lanes that are inactive in the loop do not draw.
///
/// ```
/// use jit::prelude::*;
/// use jit::random::Pcg32;
///
/// #[jit]
/// fn throws_until_six(rng: &mut Pcg32) -> UInt {
///     let (mut throws, mut eyes) = (UInt::from(0), UInt::from(0));
///     while eyes != 6 {
///         eyes = rng.next_u32_below(6) + 1;
///         throws += 1;
///     }
///     throws
/// }
///
/// let mut rng = Pcg32::new(10_000, 7);
/// let mean = throws_until_six(&mut rng).cast::<f32>().mean().item()?;
/// assert!((5.9..6.1).contains(&mean), "{mean}");
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Pcg32 {
    state: UInt64,
    /// Odd; it selects the stream.
    increment: UInt64,
}

const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;

impl Default for Pcg32 {
    /// Creates one lane with O'Neill's default state and stream.
    #[track_caller]
    fn default() -> Self {
        Pcg32::new(1, Pcg32::DEFAULT_STATE)
    }
}

impl Pcg32 {
    /// The initial seed of O'Neill's library.
    pub const DEFAULT_STATE: u64 = 0x853c_49e6_748f_ea9b;
    /// The stream of lane 0.
    pub const DEFAULT_STREAM: u64 = 0xda3e_39cb_94b9_5bdb;

    /// Creates as many independent streams as there are lanes; each starts at a position derived from the seed and the
    /// lane number. Lane 0 is O'Neill's generator with the seed as state and [`Pcg32::DEFAULT_STREAM`].
    #[must_use]
    #[track_caller]
    pub fn new(width: impl Into<Size>, seed: u64) -> Self {
        let lane = UInt64::arange(width);
        let state = scatter_bits(&lane) ^ UInt64::opaque(seed);
        Pcg32::seeded(state, lane + UInt64::opaque(Pcg32::DEFAULT_STREAM))
    }

    /// Creates the generator of O'Neill's `pcg32_srandom(state, stream)`, in each lane. The highest bit of the stream
    /// is ignored.
    #[must_use]
    #[track_caller]
    pub fn seeded(state: impl Operand<u64>, stream: impl Operand<u64>) -> Self {
        let increment = (stream.into_array() << 1) | 1;
        let state = (&increment + state.into_array()) * MULTIPLIER + &increment;
        Pcg32 { state, increment }
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn width(&self) -> Size {
        self.state.width()
    }

    /// Returns the next 32 random bits of each lane.
    #[must_use]
    #[track_caller]
    pub fn next_u32(&mut self) -> UInt {
        let old = self.state.clone();
        self.state = &old * MULTIPLIER + &self.increment;
        let mixed = (((&old >> 18) ^ &old) >> 27).cast::<u32>();
        mixed.rotate_right((old >> 59).cast::<u32>())
    }

    /// Returns the next 64 random bits of each lane: two draws, the first as the lower half.
    #[must_use]
    #[track_caller]
    pub fn next_u64(&mut self) -> UInt64 {
        let low = self.next_u32();
        join(&low, &self.next_u32())
    }

    /// Returns the next number in [0, 1) of each lane, uniform over the multiples of 2⁻²⁴ for `f32`, 2⁻⁵³ for `f64`,
    /// 2⁻¹¹ for `f16` and 2⁻⁸ for `bf16`. Takes two draws for `f64` and one for the others.
    #[must_use]
    #[track_caller]
    pub fn next_float<T: FloatElement>(&mut self) -> Array<T> {
        let low = self.next_u32();
        if T::TYPE == Type::F64 {
            return unit(&low, &self.next_u32());
        }
        unit(&low, &low)
    }

    /// Like [`Pcg32::next_float`] in single precision.
    #[must_use]
    #[track_caller]
    pub fn next_f32(&mut self) -> Float {
        self.next_float()
    }

    /// Like [`Pcg32::next_float`] in double precision.
    #[must_use]
    #[track_caller]
    pub fn next_f64(&mut self) -> Float64 {
        self.next_float()
    }

    /// Returns each lane's next number of the standard normal distribution, by the inverse of its distribution
    /// function. It takes one draw, two for `f64`; halves go through `f32`. The number is finite, at most 5.4 (`f64`:
    /// 8.3) from zero.
    #[must_use]
    #[track_caller]
    pub fn next_normal<T: FloatElement>(&mut self) -> Array<T> {
        if is_half(T::TYPE) {
            return self.next_normal::<f32>().cast();
        }
        // The midpoints of the grid's intervals about 1/2, which are exact; the ends, whose normal numbers are
        // infinite, do not occur.
        let shift = T::from_f64(0.5 - (-f64::from(mantissa_bits(T::TYPE)) - 1.0).exp2());
        normal_from_centred(&(self.next_float::<T>() - shift))
    }

    /// Returns each lane's next whole number from 0 (included) to a bound (excluded), without bias, as O'Neill's
    /// `pcg32_boundedrand`. Draws whose remainders would favour small numbers are rejected, so lanes may take different
    /// numbers of draws. With a bound of 0 all 32 bits are returned.
    #[must_use]
    #[track_caller]
    pub fn next_u32_below(&mut self, bound: impl Operand<u32>) -> UInt {
        below_u32(self, &bound.into_array())
    }

    /// Like [`Pcg32::next_u32_below`] with 64 bits.
    #[must_use]
    #[track_caller]
    pub fn next_u64_below(&mut self, bound: impl Operand<u64>) -> UInt64 {
        below_u64(self, &bound.into_array())
    }

    /// Advances each lane by a number of draws, backwards if it is negative, in at most 64 steps (F. Brown, “Random
    /// Number Generation with Arbitrary Stride”, 1994).
    #[track_caller]
    pub fn advance(&mut self, draws: impl Operand<i64>) {
        self.state = jump(&self.state, &self.increment, &draws.into_array().bitcast::<u64>());
    }

    /// Returns the number of draws by which this generator is ahead of another one of the same streams; negative if it
    /// is behind. Meaningless for lanes whose streams differ.
    #[must_use]
    #[track_caller]
    pub fn distance(&self, behind: &Pcg32) -> Int64 {
        draws_between(&behind.state, &self.state, &self.increment).bitcast::<i64>()
    }
}

/// A bijection of 64-bit words that maps 0 to itself and near words to distant ones (the finaliser of
/// SplitMix64: G. Steele, D. Lea and C. Flood, “Fast Splittable Pseudorandom Number Generators”, 2014).
#[track_caller]
fn scatter_bits(word: &UInt64) -> UInt64 {
    let word = (word ^ (word >> 30)) * 0xbf58_476d_1ce4_e5b9;
    let word = (&word ^ (&word >> 27)) * 0x94d0_49bb_1331_11eb;
    &word ^ (&word >> 31)
}

#[jit]
fn below_u32(rng: &mut Pcg32, bound: &UInt) -> UInt {
    // 2³² mod bound: this many of the smallest words do not belong to a whole cycle.
    let excess = (0 - bound) % bound;
    let mut word = rng.next_u32();
    while word < excess && bound != 0 {
        word = rng.next_u32();
    }
    word % bound
}

#[jit]
fn below_u64(rng: &mut Pcg32, bound: &UInt64) -> UInt64 {
    let excess = (0 - bound) % bound;
    let mut word = rng.next_u64();
    while word < excess && bound != 0 {
        word = rng.next_u64();
    }
    word % bound
}

/// Returns the state after some draws; wrapping around goes backwards.
#[jit]
fn jump(state: &UInt64, increment: &UInt64, draws: &UInt64) -> UInt64 {
    // A step is affine; so is the composition of steps, and it doubles by squaring.
    let (mut multiplier, mut addend) = (UInt64::from(MULTIPLIER), increment.clone());
    let (mut all_multipliers, mut all_addends) = (UInt64::from(1), UInt64::from(0));
    let mut rest = draws.clone();
    while rest != 0 {
        if rest & 1 != 0 {
            all_multipliers *= multiplier;
            all_addends = all_addends * multiplier + addend;
        }
        addend = (multiplier + 1) * addend;
        multiplier = multiplier * multiplier;
        rest = rest >> 1;
    }
    all_multipliers * state + all_addends
}

/// Returns the number of steps from one state to another, one bit at a time, since the lower bits of a state do not
/// depend on the higher ones.
#[jit]
fn draws_between(from: &UInt64, to: &UInt64, increment: &UInt64) -> UInt64 {
    let (mut multiplier, mut addend) = (UInt64::from(MULTIPLIER), increment.clone());
    let (mut state, mut bit, mut draws) = (from.clone(), UInt64::from(1), UInt64::from(0));
    while state != to && bit != 0 {
        if (state ^ to) & bit != 0 {
            state = state * multiplier + addend;
            draws = draws | bit;
        }
        addend = (multiplier + 1) * addend;
        multiplier = multiplier * multiplier;
        bit = bit << 1;
    }
    draws
}
