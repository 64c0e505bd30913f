//! Factors of `bf16` in pairs of consecutive numbers of a sum, for processors that multiply and add pairs.
//!
//! The first number of a pair is in the upper half, which is added first: so products are added in ascending order,
//! each with a single rounding, as elsewhere. The instruction regards subnormal factors and sums as zeros. So pairs are
//! used only where there are none, which the least factors show ([`Least`]). The bits are those of other kernels.

use half::bf16;

use super::pack::Source;

/// The bits of a `bf16` without the sign.
const MAGNITUDE: u16 = 0x7fff;
/// The bits of the fraction of a `bf16`, below those of the exponent.
const FRACTION_BITS: u32 = 7;
/// The sum of the exponents of the least factors from which no sum is subnormal. A factor of exponent `e`, whose bias
/// is 127, is a multiple of `2^(e - 127 - 7)`, so sums are multiples of `2^(a + b - 268)`, also when they are rounded.
/// Those that are not zero must be at least `2^-126`, the least normal number.
const LEAST_EXPONENTS: u32 = 142;

/// The least magnitudes of the factors of some sums, other than zero.
#[derive(Clone, Copy)]
pub(super) struct Least {
    a: u16,
    b: u16,
}

impl Least {
    /// That of no factors.
    pub(super) const NONE: Least = Least { a: u16::MAX, b: u16::MAX };

    /// Includes more factors.
    pub(super) fn include(&mut self, a: u16, b: u16) {
        *self = Least { a: self.a.min(a), b: self.b.min(b) };
    }

    /// Whether no factor is subnormal, and no sum of any products can be.
    pub(super) fn excludes_subnormals(self) -> bool {
        let [a, b] = [self.a, self.b].map(|least| u32::from(least) >> FRACTION_BITS);
        a > 0 && b > 0 && a + b >= LEAST_EXPONENTS
    }
}

/// Writes pairs of the numbers of each item, and zeros after an odd one. The result's strides are those that suit the
/// source: one of them is 1. Returns the least magnitude, too.
///
/// # Safety
///
/// The processor must have the instruction for pairs, the source be readable, one of its strides be 1, and the target
/// have space for `items` times half as many numbers as it has, rounded up.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512bf16"))]
pub(in super::super) unsafe fn pair(source: &Source<bf16>, target: *mut f32) -> (Source<f32>, u16) {
    let Source { first, items, item_stride, inner, inner_stride } = *source;
    let half = inner.div_ceil(2);
    let mut least = u16::MAX;
    let line = |number: usize, stride: usize, len: usize| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(first.wrapping_add(number * stride), len) }
    };
    // SAFETY: the caller's promise.
    let target_line =
        |number: usize, len: usize| unsafe { std::slice::from_raw_parts_mut(target.wrapping_add(number * len), len) };
    if inner_stride == 1 {
        for item in 0..items {
            let numbers = line(item, item_stride, inner);
            least = least.min(least_magnitude(numbers));
            join(numbers, target_line(item, half));
        }
        return (Source { first: target, items, item_stride: half, inner: half, inner_stride: 1 }, least);
    }
    for number in 0..half {
        let upper = line(2 * number, inner_stride, items);
        least = least.min(least_magnitude(upper));
        let target = target_line(number, items);
        if 2 * number + 1 < inner {
            let lower = line(2 * number + 1, inner_stride, items);
            least = least.min(least_magnitude(lower));
            interleave(upper, lower, target);
        } else {
            upper.iter().zip(target).for_each(|(upper, target)| *target = pair_of(*upper, bf16::ZERO));
        }
    }
    (Source { first: target, items, item_stride: 1, inner: half, inner_stride: items }, least)
}

/// The least magnitude of numbers other than zero, as bits.
#[inline(always)]
fn least_magnitude(numbers: &[bf16]) -> u16 {
    // Zeros wrap to the greatest number.
    let less_one = numbers.iter().map(|number| (number.to_bits() & MAGNITUDE).wrapping_sub(1));
    less_one.fold(u16::MAX, u16::min).saturating_add(1)
}

#[inline(always)]
fn pair_of(upper: bf16, lower: bf16) -> f32 {
    f32::from_bits(u32::from(upper.to_bits()) << 16 | u32::from(lower.to_bits()))
}

/// Pairs consecutive numbers.
#[inline(always)]
fn join(numbers: &[bf16], target: &mut [f32]) {
    let (pairs, rest) = numbers.as_chunks::<2>();
    target.iter_mut().zip(pairs).for_each(|(target, [upper, lower])| *target = pair_of(*upper, *lower));
    if let [last] = rest {
        target[pairs.len()] = pair_of(*last, bf16::ZERO);
    }
}

/// Pairs the numbers of two lines.
#[inline(always)]
fn interleave(upper: &[bf16], lower: &[bf16], target: &mut [f32]) {
    for ((target, upper), lower) in target.iter_mut().zip(upper).zip(lower) {
        *target = pair_of(*upper, *lower);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_may_be_subnormal_are_not_excluded_by_their_factors() {
        let bits = |number: f32| bf16::from_f32(number).to_bits();
        let excludes = |a: f32, b: f32| {
            let mut least = Least::NONE;
            least.include(bits(a), bits(b));
            least.excludes_subnormals()
        };
        // Sums of products of fractions of seven bits are multiples of 2^-14 of the least product.
        assert!(excludes(2_f32.powi(-60), 2_f32.powi(-52)) && !excludes(2_f32.powi(-60), 2_f32.powi(-53)));
        assert!(excludes(2_f32.powi(-126), 2_f32.powi(14)) && !excludes(2_f32.powi(-127), 2_f32.powi(100)));
        assert!(!excludes(2_f32.powi(100), 2_f32.powi(-127)) && excludes(f32::INFINITY, 1.0));
        let mut least = Least::NONE;
        assert!(least.excludes_subnormals(), "there are none");
        least.include(bits(2_f32.powi(-127)), bits(1.0));
        least.include(bits(1.0), bits(1.0));
        assert!(!least.excludes_subnormals(), "sums that go on from subnormal ones");
    }

    #[test]
    fn zeros_are_no_least_magnitude() {
        let numbers = |all: &[f32]| all.iter().map(|number| bf16::from_f32(*number)).collect::<Vec<bf16>>();
        let least = |all: &[f32]| bf16::from_bits(least_magnitude(&numbers(all))).to_f32();
        assert_eq!([least(&[3.0, 0.0, -2.0, -0.0, 8.0]), least(&[f32::NEG_INFINITY])], [2.0, f32::INFINITY]);
        assert_eq!([least_magnitude(&numbers(&[0.0, -0.0])), least_magnitude(&[])], [u16::MAX; 2]);
    }
}
