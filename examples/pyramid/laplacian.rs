//! The Laplacian pyramid (P. Burt and E. Adelson, “The Laplacian Pyramid as a Compact Image Code”, 1983): a picture as
//! its details at each scale, and a small remainder.

use jit::prelude::*;
use jit::tensor::Edge;

/// Rows, columns and three channels, with values from 0 to 1.
pub(crate) type Image = Tensor<f32>;

/// Details from fine to coarse, each level half as large as the one before, and the remainder. The derive lets `#[jit]`
/// and `jit::eval` find the arrays of a struct.
#[derive(Clone, Traverse)]
pub(crate) struct Pyramid {
    pub(crate) details: Vec<Image>,
    pub(crate) rest: Image,
}

/// Weights of the neighbours up to two pixels away, in one direction: nearly a normal distribution.
const BINOMIAL: [f32; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

#[jit]
impl Pyramid {
    /// Extracts details a number of times, or until a single pixel is left.
    pub(crate) fn new(image: &Image, levels: usize) -> jit::Result<Pyramid> {
        let (mut details, mut rest) = (Vec::new(), image.clone());
        for _ in 0..levels {
            if rest.shape()[..2] == [1, 1] {
                break;
            }
            let half = halved(&rest)?;
            details.push(rest - doubled(&half, rest.shape())?);
            rest = half;
        }
        Ok(Pyramid { details, rest })
    }

    /// Reconstructs the picture.
    pub(crate) fn flattened(&self) -> jit::Result<Image> {
        let mut picture = self.rest.clone();
        for details in self.details.iter().rev() {
            picture = details + doubled(&picture, details.shape())?;
        }
        Ok(picture)
    }
}

/// Returns every other pixel in both directions of the smoothed picture.
#[jit]
fn halved(image: &Image) -> jit::Result<Image> {
    let fewer_rows = smoothed(image, 0)?.slice(s![..;2]);
    Ok(smoothed(&fewer_rows, 1)?.slice(s![.., ..;2]))
}

/// Returns the picture at twice its size; the pixels in between are smooth.
#[jit]
fn doubled(image: &Image, shape: &[usize]) -> jit::Result<Image> {
    let more_rows = 2.0 * smoothed(&spread(image, 0, shape[0]), 0)?;
    Ok(2.0 * smoothed(&spread(&more_rows, 1, shape[1]), 1)?)
}

/// Inserts zeros between the elements along an axis, up to a length.
#[jit]
fn spread(image: &Image, axis: usize, length: usize) -> Image {
    let mut shape = image.shape().to_vec();
    shape[axis] *= 2;
    let wide = Tensor::stack(&[image.clone(), image.zeros_like()], axis as isize + 1).reshape(shape);
    along(&wide, axis, 0, length)
}

/// Returns the weighted mean of neighbours along an axis: one half of a separable convolution in two dimensions.
///
/// Without an evaluation everything would be fused into one kernel, which recomputes each element for each of its five
/// neighbours. If it is evaluated first, it is computed once.
#[jit]
fn smoothed(image: &Image, axis: usize) -> jit::Result<Image> {
    jit::eval(image)?;
    let length = image.shape()[axis];
    let mut widths = [(0, 0); 3];
    widths[axis] = (2, 2);
    let padded = image.pad(&widths, Edge::Reflect);
    let mut sum = image.zeros_like();
    for (offset, weight) in BINOMIAL.into_iter().enumerate() {
        sum = sum + weight * along(&padded, axis, offset, offset + length);
    }
    Ok(sum)
}

/// Returns the elements of a range along an axis.
#[jit]
fn along(image: &Image, axis: usize, begin: usize, end: usize) -> Image {
    let range = begin as isize..end as isize;
    if axis == 0 { image.slice(s![range]) } else { image.slice(s![.., range]) }
}
