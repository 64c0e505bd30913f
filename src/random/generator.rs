//! The general-purpose generator: a seed, and arrays of random numbers of any distribution.

use super::distribution::box_muller;
use super::philox::{halves, moved, philox4x32, philox4x32_of};
use super::words::{is_half, mantissa_bits, positive_unit, refuse, smallest_positive, unit};
use crate::{Array, Choice, Element, Float64, FloatElement, Mask, Operand, Size, Traverse, UInt, UInt64};

/// Creates a generator of arrays of random numbers with a seed.
///
/// See [`Generator`].
///
/// ```
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(42);
/// let x: Float = rng.uniform(-1.0, 1.0, 1_000_000);
/// let y: Float64 = rng.normal(0.0, 10.0, 1_000_000);
/// let die: UInt = rng.integers(1..=6, 1_000_000);
/// assert!(x.mean().item()?.abs() < 0.01 && y.mean().item()?.abs() < 0.1);
/// assert!((die.cast::<f32>().mean().item()? - 3.5).abs() < 0.01);
/// # Ok::<(), jit::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn rng(seed: u64) -> Generator {
    Generator { key: UInt64::opaque(seed), calls: UInt64::opaque(0) }
}

/// A generator of arrays of random numbers.
///
/// Each number is a function of the seed, the number of the call, and the lane: Philox4x32 with ten rounds
/// ([`philox4x32`]), whose key is the seed. So the same seed yields the same numbers on every device, with any number
/// of threads and in any order of evaluation. The first lanes of a wide array match those of a narrow one. Arrays may
/// have up to 2³² lanes and a generator may be called 2⁶⁴ times.
///
/// Nothing is evaluated and no memory is taken: the numbers are computed in the kernels that use them. Seed, call and
/// parameters are opaque, so further calls compile nothing.
///
/// A clone continues with the same numbers as the original; [`Generator::split`] makes an independent generator. The
/// generator can be the state of a traced loop, where each iteration draws other numbers. If lanes exit such a loop at
/// different times, each lane has a separate number of calls from then on, and later calls take that width only.
///
/// Array parameters determine the type of the result by promotion. With number parameters it is the requested type, as
/// in `let x: Float = rng.uniform(0.0, 1.0, n)`. Halves are computed in single precision and rounded once.
#[derive(Clone, Debug, Traverse)]
pub struct Generator {
    key: UInt64,
    calls: UInt64,
}

/// One call: the state that all its words share.
pub(super) struct Call {
    key: [UInt; 2],
    number: [UInt; 2],
    lane: UInt,
}

/// The attempt reserved for [`Generator::split`]; others count from 0.
const SPLIT: u32 = u32::MAX;
/// The attempt reserved for [`Generator::permutation`].
const PERMUTATION: u32 = u32::MAX - 1;

impl Call {
    /// Returns four random words of each lane; each attempt has other words.
    #[track_caller]
    pub(super) fn words(&self, attempt: impl Operand<u32>) -> [UInt; 4] {
        let [low, high] = self.number.clone();
        philox4x32(&[self.lane.clone(), attempt.into_array(), low, high], &self.key, 10)
    }
}

impl Generator {
    /// Begins a call.
    #[track_caller]
    pub(super) fn call(&mut self, width: Size) -> Call {
        let number = halves(&self.calls);
        self.calls = moved(&self.calls, 1);
        Call { key: halves(&self.key), number, lane: UInt::arange(width) }
    }

    /// Returns a generator whose numbers are independent of this one's, now and later. Each split returns another one,
    /// but the same ones for the same seed.
    #[must_use]
    #[track_caller]
    pub fn split(&mut self) -> Self {
        let key = match (self.key.var().settled_bits(), self.calls.var().settled_bits()) {
            (Some(key), Some(calls)) if self.key.len() == 1 && self.calls.len() == 1 => {
                self.calls = moved(&self.calls, 1);
                let [low, high, ..] =
                    philox4x32_of([0, SPLIT, calls as u32, (calls >> 32) as u32], [key as u32, (key >> 32) as u32]);
                UInt64::opaque(u64::from(low) | u64::from(high) << 32)
            }
            _ => {
                let [low, high, ..] = self.call(1.into()).words(SPLIT);
                super::words::join(&low, &high)
            }
        };
        Generator { key, calls: UInt64::opaque(0) }
    }

    /// Returns the key of a permutation, which all lanes share.
    #[track_caller]
    pub(super) fn key_of_permutation(&mut self) -> [UInt; 2] {
        if self.calls.len() != 1 || self.key.len() != 1 {
            refuse(
                "a permutation needs a generator whose lanes have drawn equally often".into(),
                "all lanes of a permutation share its key: split off a generator for permutations before the loop",
            );
        }
        let [first, second, ..] = self.call(1.into()).words(PERMUTATION);
        [first, second]
    }

    /// Returns numbers in [0, 1), uniform over the multiples of 2⁻²⁴ for `f32`, 2⁻⁵³ for `f64`, 2⁻¹¹ for `f16` and 2⁻⁸
    /// for `bf16`.
    #[must_use]
    #[track_caller]
    pub fn random<T: FloatElement>(&mut self, width: impl Into<Size>) -> Array<T> {
        let [low, high, ..] = self.call(width.into()).words(0);
        unit(&low, &high)
    }

    /// Like [`Generator::random`], of the type and width of an array.
    #[must_use]
    #[track_caller]
    pub fn fill_like<T: FloatElement>(&mut self, model: &Array<T>) -> Array<T> {
        self.random(model.width())
    }

    /// Returns uniform numbers from `low` (included) to `high` (excluded); `low` where both are equal. Where `low` is
    /// greater, the numbers are above `high`, up to `low`. The distance of the bounds must not overflow. Two literals
    /// yield `f64` unless something else fixes the type: write `let x: Float = rng.uniform(0.0, 1.0, n);` for `f32`.
    ///
    /// # Panics
    ///
    /// When a bound has neither width one nor the requested width.
    #[must_use]
    #[track_caller]
    pub fn uniform<T: FloatElement, A: Choice<B, T>, B>(
        &mut self,
        low: A,
        high: B,
        width: impl Into<Size>,
    ) -> Array<T> {
        let (width, (low, high)) = (width.into(), low.both(high));
        let (low, high) = (parameter("low", low, width), parameter("high", high, width));
        if is_half(T::TYPE) {
            let number = self.between(&low.cast::<f32>(), &high.cast::<f32>(), width).cast::<T>();
            return below(number, &low, &high);
        }
        below(self.between(&low, &high, width), &low, &high)
    }

    /// Returns numbers between two bounds; rounding may produce the upper one.
    #[track_caller]
    fn between<T: FloatElement>(&mut self, low: &Array<T>, high: &Array<T>, width: Size) -> Array<T> {
        self.random::<T>(width).mul_add(high - low, low)
    }

    /// Returns numbers of the normal distribution ([`box_muller`]). They are within 6.8 standard deviations, for `f64`
    /// within 9.5.
    ///
    /// # Panics
    ///
    /// When a parameter has neither width one nor the requested width.
    #[must_use]
    #[track_caller]
    pub fn normal<T: FloatElement, A: Choice<B, T>, B>(
        &mut self,
        mean: A,
        deviation: B,
        width: impl Into<Size>,
    ) -> Array<T> {
        let (width, (mean, deviation)) = (width.into(), mean.both(deviation));
        let (mean, deviation) = (parameter("mean", mean, width), parameter("deviation", deviation, width));
        if is_half(T::TYPE) {
            return self.standard_normal::<f32>(width).mul_add(deviation.cast::<f32>(), mean.cast::<f32>()).cast();
        }
        self.standard_normal::<T>(width).mul_add(deviation, mean)
    }

    #[track_caller]
    fn standard_normal<T: FloatElement>(&mut self, width: Size) -> Array<T> {
        let [a, b, c, d] = self.call(width).words(0);
        let [number, _] = box_muller(&positive_unit::<T>(&a, &b), &unit::<T>(&c, &d));
        number
    }

    /// Returns numbers of the exponential distribution, whose mean is `1 / rate`. A rate of 0 yields infinity, or NaN.
    ///
    /// # Panics
    ///
    /// When the rate has neither width one nor the requested width.
    #[must_use]
    #[track_caller]
    pub fn exponential<T: FloatElement>(&mut self, rate: impl Choice<i32, T>, width: impl Into<Size>) -> Array<T> {
        // Combined with a whole number, whose type is weak, the rate retains its type.
        let (width, (rate, _)) = (width.into(), rate.both(1));
        let rate = parameter("rate", rate, width);
        if is_half(T::TYPE) {
            return self.exponential::<f32>(rate.cast::<f32>(), width).cast();
        }
        let [low, high, ..] = self.call(width).words(0);
        (T::default().into_array() - positive_unit::<T>(&low, &high).ln()) / rate
    }

    /// Returns true with a probability: never for 0, always for 1, and exact to 2⁻⁵³ in between; never for NaN.
    ///
    /// # Panics
    ///
    /// When the probability has neither width one nor the requested width.
    #[must_use]
    #[track_caller]
    pub fn bernoulli(&mut self, probability: impl Operand<f64>, width: impl Into<Size>) -> Mask {
        let width = width.into();
        let probability = parameter("probability", probability.into_array(), width);
        let number: Float64 = self.random(width);
        number.lt(probability)
    }

    /// Returns elements of an array, drawn with equal probability and with replacement; [`Generator::sample`] draws
    /// without replacement. Only the positions are fused into the kernel that uses them; the elements are gathered.
    ///
    /// # Panics
    ///
    /// When the array has no elements.
    #[must_use]
    #[track_caller]
    pub fn choice<T: Element>(&mut self, from: &Array<T>, width: impl Into<Size>) -> Array<T> {
        if from.width() == 0 {
            refuse("cannot choose from an array without elements".into(), "pass an array with elements");
        }
        let call = self.call(width.into());
        from.gather(&call.below_size(from.width()))
    }
}

/// Makes a parameter of a distribution opaque, so that other values of it need no other kernel.
#[track_caller]
pub(super) fn parameter<T: Element>(name: &str, value: Array<T>, width: Size) -> Array<T> {
    if value.width() != 1 && value.width() != width {
        refuse(
            format!("cannot draw {width} random numbers with a parameter `{name}` of width {}", value.len()),
            "pass one value, or as many as there are numbers",
        );
    }
    if value.is_literal() { value.make_opaque() } else { value }
}

/// Returns the number, or the one before `high` where rounding produced `high`.
#[track_caller]
fn below<T: FloatElement>(number: Array<T>, low: &Array<T>, high: &Array<T>) -> Array<T> {
    // Subtracting less than one unit in the last place and more than half a unit yields the previous number, on either
    // side of a power of two; next to zero the smallest distance does.
    let unit = T::from_f64(0.6 * (1.0 - f64::from(mantissa_bits(T::TYPE))).exp2());
    let before = (-high.abs()).mul_add(unit, high) - T::from_f64(smallest_positive(T::TYPE));
    let is_rounded_up = number.ge(high) & low.lt(high);
    is_rounded_up.select(before.max(low), number)
}
