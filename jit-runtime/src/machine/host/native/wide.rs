//! Floats that are multiplied and added: halves in `f32`, the others in their own type.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::matmul::kernel::{Float, Kernel, of_pairs};
use super::matmul::pack::Source;
use super::matmul::pairs::pair;
use crate::ir::Type;

/// An element type.
pub(super) trait Element: Copy + Send + Sync + 'static {
    /// The type of products and sums.
    type Wide: Float + Element<Wide = Self::Wide>;
    const WIDE: Type;
    /// Whether the types are the same.
    const IS_WIDE: bool;

    fn widen(self) -> Self::Wide;

    /// Converts consecutive elements.
    fn widen_all(source: &[Self], target: &mut [Self::Wide]);

    /// Rounds a sum.
    fn narrow(sum: Self::Wide) -> Self;

    /// Rounds consecutive sums.
    fn narrow_all(sums: &[Self::Wide], target: &mut [Self]);

    /// How products of two numbers are added at once, if the processor does so.
    fn pairing() -> Option<Pairing<Self>> {
        None
    }
}

/// Sums of pairs of products.
#[derive(Clone, Copy)]
pub(super) struct Pairing<T: Element> {
    /// The kernel, whose factors are pairs in the bits of the wide type.
    pub(super) kernel: Kernel<T::Wide>,
    /// Copies factors in pairs, as [`pair`].
    ///
    /// # Safety
    ///
    /// As [`pair`].
    pub(super) pair: Pair<T>,
}

/// A function that copies factors in pairs, and returns the least magnitude, too.
type Pair<T> = unsafe fn(&Source<T>, *mut <T as Element>::Wide) -> (Source<<T as Element>::Wide>, u16);

macro_rules! floats {
    ($($ty:ident $name:ident)*) => {$(
        impl Element for $ty {
            type Wide = $ty;
            const WIDE: Type = Type::$name;
            const IS_WIDE: bool = true;

            #[inline(always)]
            fn widen(self) -> $ty {
                self
            }

            #[inline(always)]
            fn widen_all(source: &[$ty], target: &mut [$ty]) {
                target.copy_from_slice(source);
            }

            #[inline(always)]
            fn narrow(sum: $ty) -> $ty {
                sum
            }

            #[inline(always)]
            fn narrow_all(sums: &[$ty], target: &mut [$ty]) {
                target.copy_from_slice(sums);
            }
        }
    )*};
}

floats!(f32 F32 f64 F64);

macro_rules! halves {
    ($($ty:ident by $widen_all:path, $narrow_all:path $(, $pairing:expr)?;)*) => {$(
        impl Element for $ty {
            type Wide = f32;
            const WIDE: Type = Type::F32;
            const IS_WIDE: bool = false;

            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn widen_all(source: &[$ty], target: &mut [f32]) {
                $widen_all(source, target);
            }

            #[inline(always)]
            fn narrow_all(sums: &[f32], target: &mut [$ty]) {
                $narrow_all(sums, target);
            }

            #[inline(always)]
            fn narrow(sum: f32) -> $ty {
                $ty::from_f32(sum)
            }

            $(
                fn pairing() -> Option<Pairing<$ty>> {
                    $pairing
                }
            )?
        }
    )*};
}

halves! {
    f16 by widen_f16, narrow_f16;
    bf16 by widen_bf16, narrow_bf16, of_pairs().map(|kernel| Pairing { kernel, pair });
}

fn widen_f16(source: &[f16], target: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return unsafe { widen_f16_avx512(source, target) };
    }
    source.convert_to_f32_slice(target);
}

/// Converts sixteen at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn widen_f16_avx512(source: &[f16], target: &mut [f32]) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm512_cvtph_ps, _mm512_storeu_ps};
    let ((halves, rest), (wide, wide_rest)) = (source.as_chunks::<16>(), target.as_chunks_mut::<16>());
    for (halves, wide) in halves.iter().zip(wide) {
        // SAFETY: both have sixteen numbers.
        unsafe { _mm512_storeu_ps(wide.as_mut_ptr(), _mm512_cvtph_ps(_mm256_loadu_si256(halves.as_ptr().cast()))) };
    }
    rest.convert_to_f32_slice(wide_rest);
}

#[inline(always)]
fn narrow_f16(sums: &[f32], target: &mut [f16]) {
    target.convert_from_f32_slice(sums);
}

/// Makes a function that runs the same loop with the widest instructions there are.
macro_rules! with_wide_instructions {
    ($(#[$docs:meta])* $name:ident($source:ident: $from:ty, $target:ident: $to:ty) $body:block) => {
        $(#[$docs])*
        fn $name($source: &[$from], $target: &mut [$to]) {
            #[inline(always)]
            fn any($source: &[$from], $target: &mut [$to]) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw")]
                fn avx512(source: &[$from], target: &mut [$to]) {
                    any(source, target);
                }

                #[target_feature(enable = "avx2")]
                fn avx2(source: &[$from], target: &mut [$to]) {
                    any(source, target);
                }

                if is_x86_feature_detected!("avx512bw") {
                    // SAFETY: the processor has the instructions, and so those of `avx512f`.
                    return unsafe { avx512($source, $target) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has the instructions.
                    return unsafe { avx2($source, $target) };
                }
            }
            any($source, $target);
        }
    };
}

with_wide_instructions! {
    /// The bits of a `bf16` are the upper ones of an `f32`.
    widen_bf16(source: bf16, target: f32) {
        target.iter_mut().zip(source).for_each(|(wide, half)| *wide = f32::from_bits(u32::from(half.to_bits()) << 16));
    }
}

with_wide_instructions! {
    /// Rounds to nearest, ties to even, without branches: half a unit of the last place is added, less its last bit.
    narrow_bf16(sums: f32, target: bf16) {
        for (half, sum) in target.iter_mut().zip(sums) {
            let bits = sum.to_bits();
            let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
            let quiet = bits >> 16 | 0x40;
            *half = bf16::from_bits(if sum.is_nan() { quiet } else { rounded } as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_converted_as_one_by_one() {
        let halves: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).filter(|half| !half.is_nan()).collect();
        let mut wide = vec![0.0; halves.len()];
        bf16::widen_all(&halves, &mut wide);
        assert!(halves.iter().zip(&wide).all(|(half, wide)| half.to_f32().to_bits() == wide.to_bits()));
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|half| !half.is_nan()).collect();
        let mut wide = vec![0.0; halves.len()];
        f16::widen_all(&halves, &mut wide);
        assert!(halves.iter().zip(&wide).all(|(half, wide)| half.to_f32().to_bits() == wide.to_bits()));
        let mut nan = [0.0; 17];
        f16::widen_all(&[f16::NAN; 17], &mut nan);
        assert!(nan.iter().all(|number| number.is_nan()));
        // Bits around each number and in the middle between two, infinities, NaN.
        let near = [0_u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        let sums: Vec<f32> =
            (0..=u32::from(u16::MAX)).flat_map(|upper| near.map(|low| f32::from_bits(upper << 16 | low))).collect();
        let mut rounded = vec![bf16::ZERO; sums.len()];
        bf16::narrow_all(&sums, &mut rounded);
        for (sum, rounded) in sums.iter().zip(rounded) {
            assert_eq!(rounded.to_bits(), bf16::from_f32(*sum).to_bits(), "{sum} {:x}", sum.to_bits());
        }
    }
}
