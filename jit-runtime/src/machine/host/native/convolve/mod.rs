//! Convolutions and their transposes, as products of matrices.
//!
//! The right factor of such a product would have, for each element of a kernel, the elements of the input that it
//! meets: most of them several times. It is never made. Tiles of the input are copied once, with the zeros around
//! them, so that the columns of each row of the factor are consecutive somewhere in the copy; the kernel of matrix
//! products reads them through a table of distances.
//!
//! | part | file |
//! |---|---|
//! | which elements of the source an axis of the target meets | `axis` |
//! | copies of the source, with zeros around it | `image` |
//! | convolutions, and their transposes by the input | `correlate`, `tiles` |
//! | the kernels, in the order of the products | `arrange` |
//! | transposes by the kernels | `kernels`; of groups with few results: `grouped` |
//!
//! Each element of a result is the sum of its products in ascending order of channel and position in the kernel, each
//! added with a single rounding, as by `mul_add`; elements outside of the input are zeros. The transpose by the input
//! sums in ascending order of result channel and position in the kernel, over the places that there are. The transpose
//! by the kernels sums in ascending order of image and place, in parts and lanes that depend on the shape alone and are
//! added in ascending order. Halves are multiplied and added in `f32` and rounded once.

use half::{bf16, f16};

use super::wide::Element;
use super::{Context, Elements, Operand, Step};
use crate::Error;
use crate::backend::library::{AXES, Convolution, Sought};
use crate::ir::Type;

mod arrange;
mod axis;
mod correlate;
mod grouped;
mod image;
mod kernels;
#[cfg(test)]
mod tests;
mod tiles;

/// The time of a multiplication and addition in `f32`, roughly.
const NS_PER_PRODUCT: f64 = 0.01;
/// The products that are added before the sums return to memory: what they read stays in the first cache.
const INNER: usize = 256;
/// The most elements of a copy of a tile of the source: it stays in the second cache.
const COPIED: usize = 1 << 16;
/// The products of a unit of work, at least.
const UNIT_PRODUCTS: usize = 1 << 17;

/// Launches an operation that was checked.
pub(super) fn launch(context: Context, convolution: Convolution, operands: [&Operand; 3]) -> Result<(), Error> {
    match operands[2].ty {
        Type::F64 => launch_typed::<f64>(context, convolution, operands),
        Type::F16 => launch_typed::<f16>(context, convolution, operands),
        Type::BF16 => launch_typed::<bf16>(context, convolution, operands),
        _ => launch_typed::<f32>(context, convolution, operands),
    }
}

fn launch_typed<T: Element>(context: Context, convolution: Convolution, [a, b, c]: [&Operand; 3]) -> Result<(), Error> {
    match convolution.sought {
        Sought::Result | Sought::Input => correlate::launch::<T>(context, convolution, a, b, c),
        Sought::Kernel => kernels::launch::<T>(context, convolution, a, b, c),
    }
}

/// The estimated time of all products on one core.
fn estimate_ns<T: Element>(convolution: &Convolution) -> f64 {
    let Convolution { batch, groups, channels, results, kernel, result, .. } = convolution;
    let sizes = [*batch, *groups, *channels, *results].into_iter().chain(*kernel).chain(*result);
    let scale = size_of::<T::Wide>() as f64 / size_of::<f32>() as f64;
    scale * NS_PER_PRODUCT * sizes.map(|size| size as f64).product::<f64>()
}
