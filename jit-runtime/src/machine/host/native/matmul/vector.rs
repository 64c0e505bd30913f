//! Vector registers of floats, for the kernel of products.
//!
//! All of them multiply and add with a single rounding, so which one computes an element changes no bit. The methods
//! are inlined into functions that enable the instructions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute;

/// A register of floats.
pub(in super::super) trait Vector: Copy {
    /// The type of a lane.
    type Lane: Lane;
    /// The number of lanes.
    const LANES: usize;

    /// The same number in each lane.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of the register.
    unsafe fn splat(lane: Self::Lane) -> Self;

    /// Reads a register from memory.
    ///
    /// # Safety
    ///
    /// As [`splat`](Vector::splat), and the memory must hold this many numbers.
    unsafe fn load(source: *const Self::Lane) -> Self;

    /// Writes a register to memory.
    ///
    /// # Safety
    ///
    /// As [`load`](Vector::load), and no other thread may access the memory.
    unsafe fn store(self, target: *mut Self::Lane);

    /// `self * factor + addend`, rounded once.
    ///
    /// # Safety
    ///
    /// As [`splat`](Vector::splat).
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// The lanes whose bits in a mask are ones; others are zero. The bits of a lane of the mask are equal.
    ///
    /// # Safety
    ///
    /// As [`splat`](Vector::splat).
    unsafe fn and(self, mask: Self) -> Self;

    /// Reads the first lanes; the others are arbitrary.
    ///
    /// # Safety
    ///
    /// As [`load`](Vector::load), for the number of lanes.
    #[inline(always)]
    unsafe fn load_first(source: *const Self::Lane, lanes: usize) -> Self {
        let mut whole = [Self::Lane::ZERO; 16];
        // SAFETY: the caller guarantees that there are so many numbers, and a register has at most sixteen.
        unsafe {
            std::ptr::copy_nonoverlapping(source, whole.as_mut_ptr(), lanes.min(Self::LANES));
            Self::load(whole.as_ptr())
        }
    }

    /// Reads consecutive numbers into the lanes whose bits are set; the others are arbitrary.
    ///
    /// # Safety
    ///
    /// As [`load`](Vector::load), for as many numbers as bits.
    #[inline(always)]
    unsafe fn load_valid(source: *const Self::Lane, valid: u32) -> Self {
        let mut whole = [Self::Lane::ZERO; 16];
        let lanes = (0..Self::LANES).filter(|lane| valid >> lane & 1 == 1);
        // SAFETY: the caller guarantees that there are so many numbers.
        unsafe {
            lanes.enumerate().for_each(|(number, lane)| whole[lane] = *source.add(number));
            Self::load(whole.as_ptr())
        }
    }

    /// Writes the lanes whose bits are set, consecutively.
    ///
    /// # Safety
    ///
    /// As [`store`](Vector::store), for as many numbers as bits.
    #[inline(always)]
    unsafe fn store_valid(self, target: *mut Self::Lane, valid: u32) {
        let mut whole = [Self::Lane::ZERO; 16];
        let lanes = (0..Self::LANES).filter(|lane| valid >> lane & 1 == 1);
        // SAFETY: the caller guarantees that there is space, and a register has at most sixteen lanes.
        unsafe {
            self.store(whole.as_mut_ptr());
            lanes.enumerate().for_each(|(number, lane)| *target.add(number) = whole[lane]);
        }
    }

    /// Writes the first lanes.
    ///
    /// # Safety
    ///
    /// As [`store`](Vector::store), for the number of lanes.
    #[inline(always)]
    unsafe fn store_first(self, target: *mut Self::Lane, lanes: usize) {
        let mut whole = [Self::Lane::ZERO; 16];
        // SAFETY: the caller guarantees that there is space, and a register has at most sixteen lanes.
        unsafe {
            self.store(whole.as_mut_ptr());
            std::ptr::copy_nonoverlapping(whole.as_ptr(), target, lanes.min(Self::LANES));
        }
    }
}

/// A number of a lane.
pub(in super::super) trait Lane: Copy + Send + Sync + 'static {
    const ZERO: Self;
    /// −0, whose sum with any number is that number.
    const NEGATIVE_ZERO: Self;
    /// All bits are ones.
    const ONES: Self;

    /// `self` where the bits of a mask are ones; zero if they are zeros.
    fn and(self, mask: Self) -> Self;

    /// `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// `self + other`.
    fn add(self, other: Self) -> Self;
}

macro_rules! lanes {
    ($($lane:ident)*) => {$(
        impl Lane for $lane {
            const ZERO: Self = 0.0;
            const NEGATIVE_ZERO: Self = -0.0;
            const ONES: Self = $lane::from_bits(!0);

            #[inline(always)]
            fn and(self, mask: Self) -> Self {
                $lane::from_bits(self.to_bits() & mask.to_bits())
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                $lane::mul_add(self, factor, addend)
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
        }
    )*};
}

lanes!(f32 f64);

/// Registers of any processor: two that have four lanes of `f32`.
impl<T: Lane, const LANES: usize> Vector for [T; LANES] {
    type Lane = T;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(lane: T) -> Self {
        [lane; LANES]
    }

    #[inline(always)]
    unsafe fn load(source: *const T) -> Self {
        // SAFETY: guaranteed by the caller; an array is aligned like its elements.
        unsafe { source.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut T) {
        // SAFETY: guaranteed by the caller.
        unsafe { target.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        std::array::from_fn(|lane| self[lane].mul_add(factor[lane], addend[lane]))
    }

    #[inline(always)]
    unsafe fn and(self, mask: Self) -> Self {
        std::array::from_fn(|lane| self[lane].and(mask[lane]))
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! x86_registers {
    ($($register:ident of $lanes:literal $lane:ident:
        $splat:ident $load:ident $store:ident $mul_add:ident $and:ident
        $(first $mask:ident by $load_first:ident $store_first:ident $expand:ident $compress:ident)?;)*) => {$(
        impl Vector for $register {
            type Lane = $lane;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(lane: $lane) -> Self {
                // SAFETY: the processor has the instruction.
                unsafe { $splat(lane) }
            }

            #[inline(always)]
            unsafe fn load(source: *const $lane) -> Self {
                // SAFETY: as above, and the caller guarantees what the memory holds.
                unsafe { $load(source) }
            }

            #[inline(always)]
            unsafe fn store(self, target: *mut $lane) {
                // SAFETY: as above.
                unsafe { $store(target, self) }
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: the processor has the instruction.
                unsafe { $mul_add(self, factor, addend) }
            }

            #[inline(always)]
            unsafe fn and(self, mask: Self) -> Self {
                // SAFETY: the processor has the instruction.
                unsafe { $and(self, mask) }
            }

            $(
                #[inline(always)]
                unsafe fn load_first(source: *const $lane, lanes: usize) -> Self {
                    let mask = if lanes < $lanes { (1 << lanes) - 1 } else { $mask::MAX };
                    // SAFETY: as for `load`; lanes that are not in the mask are not accessed.
                    unsafe { $load_first(mask, source) }
                }

                #[inline(always)]
                unsafe fn store_first(self, target: *mut $lane, lanes: usize) {
                    let mask = if lanes < $lanes { (1 << lanes) - 1 } else { $mask::MAX };
                    // SAFETY: as for `store`.
                    unsafe { $store_first(target, mask, self) }
                }

                #[inline(always)]
                unsafe fn load_valid(source: *const $lane, valid: u32) -> Self {
                    // SAFETY: as for `load_first`.
                    unsafe { $expand(valid as $mask, Self::load_first(source, valid.count_ones() as usize)) }
                }

                #[inline(always)]
                unsafe fn store_valid(self, target: *mut $lane, valid: u32) {
                    // SAFETY: as for `store_first`.
                    unsafe { $compress(valid as $mask, self).store_first(target, valid.count_ones() as usize) }
                }
            )?
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
x86_registers! {
    __m512 of 16 f32: _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps and_ps
        first __mmask16 by _mm512_maskz_loadu_ps _mm512_mask_storeu_ps _mm512_maskz_expand_ps _mm512_maskz_compress_ps;
    __m512d of 8 f64: _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_fmadd_pd and_pd
        first __mmask8 by _mm512_maskz_loadu_pd _mm512_mask_storeu_pd _mm512_maskz_expand_pd _mm512_maskz_compress_pd;
    __m256 of 8 f32: _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_and_ps;
    __m256d of 4 f64: _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_fmadd_pd _mm256_and_pd;
}

/// The instruction for floats belongs to a later set.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn and_ps(a: __m512, b: __m512) -> __m512 {
    _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)))
}

/// As [`and_ps`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn and_pd(a: __m512d, b: __m512d) -> __m512d {
    _mm512_castsi512_pd(_mm512_and_si512(_mm512_castpd_si512(a), _mm512_castpd_si512(b)))
}

/// A register of pairs of `bf16`, in the bits of lanes of `f32`. Sums are lanes of `f32`.
///
/// An instruction adds two products to each sum, first that of the upper halves, each rounded once. Where no factor and
/// no sum is subnormal, these are the bits of two `mul_add`; other ones are zeros to it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Pairs(__m512);

#[cfg(target_arch = "x86_64")]
impl Vector for Pairs {
    type Lane = f32;
    const LANES: usize = <__m512 as Vector>::LANES;

    #[inline(always)]
    unsafe fn splat(lane: f32) -> Self {
        // SAFETY: the caller's promise, which is that of the register.
        Pairs(unsafe { <__m512 as Vector>::splat(lane) })
    }

    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: as above.
        Pairs(unsafe { <__m512 as Vector>::load(source) })
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: as above.
        unsafe { self.0.store(target) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the processor has the instruction. Registers of either type have the same bits.
        let bits = |pairs: Pairs| unsafe { transmute::<__m512, __m512bh>(pairs.0) };
        // SAFETY: as above.
        Pairs(unsafe { _mm512_dpbf16_ps(addend.0, bits(self), bits(factor)) })
    }

    #[inline(always)]
    unsafe fn and(self, mask: Self) -> Self {
        // SAFETY: as above.
        Pairs(unsafe { self.0.and(mask.0) })
    }

    #[inline(always)]
    unsafe fn load_first(source: *const f32, lanes: usize) -> Self {
        // SAFETY: as above.
        Pairs(unsafe { <__m512 as Vector>::load_first(source, lanes) })
    }

    #[inline(always)]
    unsafe fn store_first(self, target: *mut f32, lanes: usize) {
        // SAFETY: as above.
        unsafe { self.0.store_first(target, lanes) }
    }
}
