//! Fills every element with one value.

use super::{Context, Elements, Operand, Step};
use crate::Error;

/// The number of elements that one block writes.
const BLOCK: usize = 1 << 16;

pub(super) fn launch(context: Context, bits: u64, output: &Operand) -> Result<(), Error> {
    match output.ty.size_bytes() {
        1 => fill(context, bits as u8, output),
        2 => fill(context, bits as u16, output),
        4 => fill(context, bits as u32, output),
        _ => fill(context, bits, output),
    }
}

fn fill<T: Copy + Send + Sync + 'static>(context: Context, value: T, output: &Operand) -> Result<(), Error> {
    let (elements, len) = (Elements::<T>::of(output), output.len);
    let step = Step {
        context,
        width: len,
        blocks: len.div_ceil(BLOCK),
        estimate_ns: 0.05 * (len * size_of::<T>()) as f64,
        reads: Vec::new(),
        writes: vec![output.buffer.clone()],
        carries: None,
    };
    // SAFETY: blocks write disjoint ranges of the output.
    unsafe { step.submit(move |block| elements.get_mut(block * BLOCK..len.min((block + 1) * BLOCK)).fill(value)) }
}
