//! The kernels of a convolution as left factors of products: for each row of the target the factors in the order in
//! which they are added.

use std::sync::Arc;

use super::image::Image;
use super::{Context, Convolution, Element, Elements, Operand, Sought, Step};
use crate::Error;

/// Where the factors of a group for each of the images begin, and their number for the group.
pub(super) fn places(convolution: &Convolution, images: &[Image]) -> (Vec<usize>, usize) {
    let channels = convolution.channels * convolution.results;
    let mut end = 0;
    let mut starts = Vec::new();
    for image in images {
        starts.push(end);
        end += channels * image.taps();
    }
    (starts, end)
}

/// Launches the copy of kernels to such an order; none is needed if the kernels have it.
pub(super) fn launch<T: Element>(
    context: Context,
    convolution: Convolution,
    images: &[Image],
    kernels: &Operand,
) -> Result<Operand, Error> {
    if convolution.sought == Sought::Result && T::IS_WIDE {
        return Ok(kernels.clone());
    }
    let (starts, length) = places(&convolution, images);
    // SAFETY: the step writes every element before the products read it.
    let factors = unsafe { Operand::alloc_result(T::WIDE, length * convolution.groups)? };
    let step = Step {
        context,
        width: factors.len,
        blocks: if factors.len == 0 { 0 } else { convolution.groups },
        estimate_ns: factors.len as f64,
        reads: vec![Arc::clone(&kernels.buffer)],
        writes: vec![Arc::clone(&factors.buffer)],
        carries: None,
    };
    let taps: Vec<Vec<usize>> = images.iter().map(|image| image.taps_of_kernel(convolution.kernel)).collect();
    let (source, target) = (Elements::<T>::of(kernels), Elements::<T::Wide>::of(&factors));
    let run = move |group: usize| {
        let of_group = source.len / convolution.groups;
        // SAFETY: the kernels are only read, and groups are disjoint.
        let source = unsafe { source.get(group * of_group..(group + 1) * of_group) };
        for (start, taps) in starts.iter().zip(&taps) {
            let first = group * length + start;
            let range = first..first + convolution.channels * convolution.results * taps.len();
            // SAFETY: as above.
            arrange(&convolution, taps, source, unsafe { target.get_mut(range) });
        }
    };
    // SAFETY: the function reads the kernels and writes disjoint parts of the factors.
    unsafe { step.submit(run)? };
    Ok(factors)
}

/// Copies the kernels of a group: for each row of the target, for each channel that is summed over, the taps.
fn arrange<T: Element>(convolution: &Convolution, taps: &[usize], source: &[T], target: &mut [T::Wide]) {
    let Convolution { channels, results, kernel, .. } = *convolution;
    let kernel: usize = kernel.into_iter().product();
    let (rows, summed) = match convolution.sought {
        Sought::Input => (channels, results),
        _ => (results, channels),
    };
    let mut all = target.iter_mut();
    for row in 0..rows {
        for other in 0..summed {
            let (result, channel) = if convolution.sought == Sought::Input { (other, row) } else { (row, other) };
            let source = &source[(result * channels + channel) * kernel..][..kernel];
            taps.iter().zip(&mut all).for_each(|(&tap, factor)| *factor = source[tap].widen());
        }
    }
}
