//! Textures: values on a regular grid of one to three dimensions, which can be evaluated at any position.
//!
//! The texels are in a [`Tensor`] whose last axis holds the channels. A position is a fraction of the whole, so the
//! texture spans 0 to 1 along each dimension. Textures are implemented in the language itself: their evaluation records
//! operations, fuses with the surrounding code, and works in traced loops and branches.
//!
//! | part | file |
//! |---|---|
//! | textures, their texels, evaluation | this file |
//! | the texels for a position | `place` |
//! | combining texels | `filter` |
//! | types of positions and texels | `position` |
//!
//! # Positions of texels
//!
//! Along a dimension of `n` texels, texel `i` covers the positions from `i/n` to `(i+1)/n`, and its centre is at
//! `(i+½)/n`. [`Filter::Nearest`] returns the texel that covers the position. [`Filter::Linear`] returns the texel's
//! own value at its centre, and interpolates linearly from there to the next centre. Where `(i+½)/n` has no rounding
//! error, as for all powers of two `n`, the value at the centre is exact. Otherwise it is off by the slope times the
//! rounding error of the position. Equal texels yield their value exactly, under every filter.
//!
//! [`Wrap`] defines the values outside 0 to 1. Positions there may be of any size: they are brought into the range
//! before anything is rounded.
//!
//! A NaN position yields NaN, as does an infinity where the texture repeats or is mirrored; [`Filter::Nearest`] reads
//! the first texel of the dimension instead. Nothing outside the texels is ever read.
//!
//! The type of the positions determines the precision: texels are converted to it, and the result has it. Halves are
//! interpolated in single precision.

use jit_core::misuse::Misuse;

use crate::Site;
use crate::tensor::{Shape, Tensor, TensorOperand};
use crate::{Array, Element, FloatElement, Mask, Size, Traverse};

mod filter;
mod place;
mod position;

pub use position::{Position, Texel};

use filter::Taps;

/// How the value at a position is computed from the texels around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Traverse)]
pub enum Filter {
    /// The texel that covers the position.
    Nearest,
    /// Linear interpolation of the 2 nearest texels along each dimension.
    #[default]
    Linear,
    /// The cubic B-spline whose control points are the texels: it combines the 4 nearest texels along each dimension.
    /// It is smooth up to the second derivative. It does not interpolate the texels: at their centres it has weighted
    /// means of them and their neighbours (1/6, 4/6, 1/6).
    Cubic,
}

/// The values outside a texture. For `1 2 3`:
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Traverse)]
pub enum Wrap {
    /// The texture again: `1 2 3 1 2 3 1 2 3`.
    Repeat,
    /// The texel at the edge: `1 1 1 1 2 3 3 3 3`.
    #[default]
    Clamp,
    /// The texture, mirrored at its edges: `3 2 1 1 2 3 3 2 1`.
    Mirror,
}

/// Texels on a grid of `D` dimensions, with one or more channels.
///
/// ```
/// use jit::prelude::*;
/// use jit::linalg::Vec2;
/// use jit::texture::{Filter, Texture2, Wrap};
///
/// // Two rows of two texels with one channel.
/// let image = Tensor::from([[[0.0f32], [1.0]], [[2.0], [3.0]]]);
/// let texture = Texture2::new(image).with_filter(Filter::Linear).with_wrap(Wrap::Clamp);
/// let x = Float::from([0.25, 0.5, 0.75, 9.0]);
/// let value = &texture.eval(&Vec2::new(&x, 0.5))[0];
/// assert_eq!(value.to_vec()?, [1.0, 1.5, 2.0, 2.0]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Traverse)]
pub struct Texture<T: Texel, const D: usize> {
    texels: Tensor<T>,
    filter: Filter,
    wrap: Wrap,
}

/// Texels on a line: a tensor of shape `[x, channel]`.
pub type Texture1<T = f32> = Texture<T, 1>;
/// Texels on a rectangle: a tensor of shape `[y, x, channel]`, as pictures are stored.
pub type Texture2<T = f32> = Texture<T, 2>;
/// Texels in a box: a tensor of shape `[z, y, x, channel]`.
pub type Texture3<T = f32> = Texture<T, 3>;

/// A request to the texels around a position: the order of each derivative along each dimension.
struct Question<'a, const D: usize> {
    filter: Filter,
    mask: Option<&'a Mask>,
    orders: &'a [[usize; D]],
}

impl<T: Texel, const D: usize> Texture<T, D> {
    /// Creates the texture of a tensor. Its last axis holds the channels; the axes before are the dimensions, `x` last.
    /// The defaults are linear interpolation and continued edges; change them by [`with_filter`](Self::with_filter) and
    /// [`with_wrap`](Self::with_wrap). Nothing is copied.
    ///
    /// # Panics
    ///
    /// When the tensor does not have one axis more than the texture has dimensions, or has no elements.
    #[must_use]
    #[track_caller]
    pub fn new(texels: impl TensorOperand<T>) -> Self {
        const { assert!(0 < D && D <= 3, "textures have one to three dimensions") };
        let texels = texels.into_tensor();
        check_texels::<D>(&texels.sizes());
        Texture { texels, filter: Filter::default(), wrap: Wrap::default() }
    }

    /// Creates a texture of zeros, of a shape such as `[y, x]`, with a number of channels.
    ///
    /// # Panics
    ///
    /// When the numbers of axes and dimensions differ, or there are no texels.
    #[must_use]
    #[track_caller]
    pub fn zeros(shape: [usize; D], channels: usize) -> Self {
        let shape = [&shape[..], &[channels]].concat();
        Texture::new(Tensor::zeros(shape))
    }

    /// Returns the texture with another filter.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Texture { filter, ..self }
    }

    /// Returns the texture with another rule for positions outside it.
    #[must_use]
    pub fn with_wrap(self, wrap: Wrap) -> Self {
        Texture { wrap, ..self }
    }

    /// Returns the filter.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.filter
    }

    /// Returns the rule for positions outside.
    #[must_use]
    pub fn wrap(&self) -> Wrap {
        self.wrap
    }

    /// Returns the number of texels along each dimension, `x` last.
    #[must_use]
    #[track_caller]
    pub fn shape(&self) -> &[usize] {
        &self.texels.shape()[..D]
    }

    /// Returns the number of channels.
    #[must_use]
    #[track_caller]
    pub fn channels(&self) -> usize {
        self.texels.size(D).get()
    }

    /// Returns the texels, as the texture was made from them.
    #[must_use]
    pub fn tensor(&self) -> &Tensor<T> {
        &self.texels
    }

    /// Replaces the texels; their number may change.
    ///
    /// # Panics
    ///
    /// As [`Texture::new`].
    #[track_caller]
    pub fn set_tensor(&mut self, texels: impl TensorOperand<T>) {
        let texels = texels.into_tensor();
        check_texels::<D>(&texels.sizes());
        self.texels = texels;
    }

    /// Replaces the texels by the elements of an array, in row-major order of the same shape.
    ///
    /// # Panics
    ///
    /// When the number of elements differs.
    #[track_caller]
    pub fn set_array(&mut self, texels: impl Into<Array<T>>) {
        self.texels = Tensor::from_array(texels, Shape::from(self.texels.sizes()));
    }

    /// Returns the value at each position: one array for each channel. A position is an array for one dimension, a
    /// `Vec2` or `Vec3` for two or three, or a Rust array of arrays with `x` first.
    #[must_use]
    #[track_caller]
    pub fn eval<P: Position<D>>(&self, position: &P) -> Vec<Array<P::Element>> {
        self.answer(position, &Question { filter: self.filter, mask: None, orders: &[[0; D]] })
    }

    /// Like [`eval`](Self::eval) where the mask is true; zero, without reading, where it is false.
    #[must_use]
    #[track_caller]
    pub fn eval_masked<P: Position<D>>(&self, position: &P, mask: &Mask) -> Vec<Array<P::Element>> {
        self.answer(position, &Question { filter: self.filter, mask: Some(mask), orders: &[[0; D]] })
    }

    /// Returns the texels that linear interpolation combines, by corner and channel: `fetch(p)[corner][channel]`. Bit
    /// `k` of a corner's number is set for the farther corner along dimension `k`, where 0 is `x`.
    #[must_use]
    #[track_caller]
    pub fn fetch<P: Position<D>>(&self, position: &P) -> Vec<Vec<Array<P::Element>>> {
        let at = position.coordinates();
        if P::Element::TYPE.bits() == 16 {
            let mut corners = Vec::with_capacity(1 << D);
            for corner in self.corners(&in_single(&at)) {
                corners.push(casts(&corner));
            }
            return corners;
        }
        self.corners(&at)
    }

    /// Returns the gradient of the cubic B-spline of each channel with respect to the position, along `x` first,
    /// regardless of the texture's filter. It is the exact derivative of the values under [`Filter::Cubic`].
    #[must_use]
    #[track_caller]
    pub fn eval_cubic_gradient<P: Position<D>>(&self, position: &P) -> Vec<[Array<P::Element>; D]> {
        let mut orders = [[0; D]; D];
        for (axis, order) in orders.iter_mut().enumerate() {
            order[axis] = 1;
        }
        let answer = self.answer(position, &Question { filter: Filter::Cubic, mask: None, orders: &orders });
        answer.chunks(D).map(grouped).collect()
    }

    /// Returns the second derivatives of the cubic B-spline of each channel: row `i`, column `j` belong to the
    /// dimensions `i` and `j`, `x` first. See [`eval_cubic_gradient`](Self::eval_cubic_gradient).
    #[must_use]
    #[track_caller]
    pub fn eval_cubic_hessian<P: Position<D>>(&self, position: &P) -> Vec<[[Array<P::Element>; D]; D]> {
        let mut orders = Vec::with_capacity(D * D);
        for (first, second) in (0..D * D).map(|number| (number / D, number % D)) {
            let mut order = [0; D];
            order[first] += 1;
            order[second] += 1;
            orders.push(order);
        }
        let answer = self.answer(position, &Question { filter: Filter::Cubic, mask: None, orders: &orders });
        answer.chunks(D * D).map(|matrix| std::array::from_fn(|row| grouped(&matrix[row * D..][..D]))).collect()
    }

    /// Returns the requested values, channel by channel.
    #[track_caller]
    fn answer<P: Position<D>>(&self, position: &P, question: &Question<'_, D>) -> Vec<Array<P::Element>> {
        let at = position.coordinates();
        if P::Element::TYPE.bits() == 16 {
            return casts(&self.combined(&in_single(&at), question));
        }
        self.combined(&at, question)
    }

    #[track_caller]
    fn combined<Q: FloatElement>(&self, at: &[Array<Q>; D], question: &Question<'_, D>) -> Vec<Array<Q>> {
        let taps = Taps::new(at, &self.texels.sizes()[..D], self.wrap, question.filter);
        let mut results = Vec::with_capacity(self.channels() * question.orders.len());
        for channel in 0..self.channels() {
            let texels = taps.read(&self.texels, channel, question.mask);
            for order in question.orders {
                let value = taps.combine(&texels, order);
                let value = position::unscaled::<T, Q>(value);
                results.push(question.mask.map_or(value.clone(), |mask| mask.select(&value, Q::default())));
            }
        }
        results
    }

    #[track_caller]
    fn corners<Q: FloatElement>(&self, at: &[Array<Q>; D]) -> Vec<Vec<Array<Q>>> {
        let taps = Taps::new(at, &self.texels.sizes()[..D], self.wrap, Filter::Linear);
        let mut corners = vec![Vec::with_capacity(self.channels()); 1 << D];
        for channel in 0..self.channels() {
            for (corner, texel) in corners.iter_mut().zip(taps.read(&self.texels, channel, None)) {
                corner.push(position::unscaled::<T, Q>(texel));
            }
        }
        corners
    }
}

/// Panics for a shape that no texture of `D` dimensions has.
#[track_caller]
fn check_texels<const D: usize>(shape: &[Size]) {
    let hint = match shape.len() {
        count if count != D + 1 => {
            "the axes are the dimensions, `x` last, and then the channels; `expand_dims(-1)` adds an axis for one \
            channel"
        }
        _ if shape.iter().any(|length| *length == 0) => "there must be a texel along each dimension, and a channel",
        // Positions of texels and of their neighbours are counted in `i32`.
        _ if shape.iter().any(|&length| length > i32::MAX as usize - 8) => "dimensions have fewer than 2^31 texels",
        _ => return,
    };
    let what = format!("a tensor of shape {shape:?} is not a texture of {D} dimensions");
    Misuse::new(what, Site::here()).hint(hint).panic()
}

#[track_caller]
fn in_single<Q: FloatElement, const D: usize>(at: &[Array<Q>; D]) -> [Array<f32>; D] {
    grouped(&casts(at))
}

#[track_caller]
fn casts<Q: FloatElement, R: FloatElement>(arrays: &[Array<Q>]) -> Vec<Array<R>> {
    let mut results = Vec::with_capacity(arrays.len());
    for array in arrays {
        results.push(array.cast());
    }
    results
}

/// Returns the requested number of arrays.
fn grouped<Q: FloatElement, const N: usize>(arrays: &[Array<Q>]) -> [Array<Q>; N] {
    std::array::from_fn(|index| arrays[index].clone())
}
