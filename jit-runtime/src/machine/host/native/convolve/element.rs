//! Element types of convolutions, and the wider ones in which they are multiplied and added.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::super::matmul::kernel::Float;
use crate::ir::Type;

/// An element type.
pub(super) trait Element: Copy + Send + Sync + 'static {
    /// The type of products and sums.
    type Wide: Float;
    const WIDE: Type;
    /// Whether the types are the same.
    const IS_WIDE: bool;

    fn widen(self) -> Self::Wide;

    /// Converts consecutive elements.
    fn widen_all(source: &[Self], target: &mut [Self::Wide]);

    /// Rounds a sum.
    fn narrow(sum: Self::Wide) -> Self;
}

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
        }
    )*};
}

floats!(f32 F32 f64 F64);

macro_rules! halves {
    ($($ty:ident)*) => {$(
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
                source.convert_to_f32_slice(target);
            }

            #[inline(always)]
            fn narrow(sum: f32) -> $ty {
                $ty::from_f32(sum)
            }
        }
    )*};
}

halves!(f16 bf16);
