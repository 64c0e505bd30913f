//! The types of positions and texels.

use half::{bf16, f16};

use crate::linalg::{Vec2, Vec3};
use crate::{Array, FloatElement, Number};

/// A position in a texture of `D` dimensions, in fractions of the whole.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a position in a texture of {D} dimensions",
    label = "expected an array for one dimension, a `Vec2` or `Vec3` for two or three, of floats"
)]
pub trait Position<const D: usize> {
    /// The type of the coordinates, which determines the precision of the result.
    type Element: FloatElement;

    /// Returns the coordinates, `x` first.
    fn coordinates(&self) -> [Array<Self::Element>; D];
}

impl<Q: FloatElement> Position<1> for Array<Q> {
    type Element = Q;

    fn coordinates(&self) -> [Array<Q>; 1] {
        [self.clone()]
    }
}

impl<Q: FloatElement> Position<2> for Vec2<Q> {
    type Element = Q;

    fn coordinates(&self) -> [Array<Q>; 2] {
        [self.x.clone(), self.y.clone()]
    }
}

impl<Q: FloatElement> Position<3> for Vec3<Q> {
    type Element = Q;

    fn coordinates(&self) -> [Array<Q>; 3] {
        [self.x.clone(), self.y.clone(), self.z.clone()]
    }
}

impl<Q: FloatElement, const D: usize> Position<D> for [Array<Q>; D] {
    type Element = Q;

    fn coordinates(&self) -> [Array<Q>; D] {
        self.clone()
    }
}

/// The types of texels: floats, or `u8` and `u16`, whose largest number represents 1, as in pictures. Colours are used
/// as stored: nonlinear ones (sRGB) must be decoded first to be interpolated correctly.
#[diagnostic::on_unimplemented(
    message = "textures do not hold `{Self}`",
    label = "texels are floats, or `u8` or `u16` that represent 0 to 1",
    note = "convert the tensor with `.cast::<f32>()`"
)]
pub trait Texel: Number {
    /// The texel value that represents 1.
    #[doc(hidden)]
    const WHOLE: f64;
}

macro_rules! texels {
    ($($ty:ident $whole:expr;)*) => {
        $(impl Texel for $ty {
            const WHOLE: f64 = $whole;
        })*
    };
}

texels! {
    u8 255.0;
    u16 65535.0;
    f16 1.0;
    bf16 1.0;
    f32 1.0;
    f64 1.0;
}

/// Returns the value that a combination of texels represents.
#[track_caller]
pub(super) fn unscaled<T: Texel, Q: FloatElement>(value: Array<Q>) -> Array<Q> {
    if T::WHOLE == 1.0 { value } else { value / Q::from_f64(T::WHOLE) }
}
