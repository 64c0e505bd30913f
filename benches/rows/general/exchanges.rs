//! Elements that lanes of a group exchange, and bytes that a table maps.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::hash32;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The bytes of pixels of four colours.
const BYTES: usize = 4_000_000;
/// The bytes of a part that a thread computes.
const PART: usize = 1 << 14;

fn bytes() -> Vec<u8> {
    (0..BYTES as u32).map(|i| hash32(i) as u8).collect()
}

/// Pixels of red, green, blue and alpha, with blue first.
#[jit]
fn with_blue_first(pixels: &UInt8) -> UInt8 {
    let i = UInt::arange(pixels.width());
    let colour = i % 4;
    let source = if colour == 0 {
        i + 2
    } else if colour == 2 {
        i - 2
    } else {
        i
    };
    pixels[source]
}

/// G40a: the colours of a million pixels in another order.
pub(crate) fn colours(bench: &Bench) -> Result<(), RowError> {
    let pixels = bytes();
    let ours = resident(pixels.clone())?;
    let rust = |threads: Threads| {
        let mut result = vec![0; BYTES];
        threads.chunks(&mut result, PART, |i, result| {
            let pixels = pixels[i * PART..].as_chunks::<4>().0;
            for (place, [red, green, blue, alpha]) in result.as_chunks_mut::<4>().0.iter_mut().zip(pixels) {
                *place = [*blue, *green, *red, *alpha];
            }
        });
        result
    };
    let jit: &dyn Fn() -> UInt8 = &|| with_blue_first(&ours);
    Program { workload: "G40a", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}

/// G40b: bytes by a table of 256 others, as for the contrast of a picture.
pub(crate) fn table_of_bytes(bench: &Bench) -> Result<(), RowError> {
    let levels = bytes();
    let table: Vec<u8> = (0..256).map(|i| hash32(i + 7) as u8).collect();
    let (ours, table_of_ours) = (resident(levels.clone())?, resident(table.clone())?);
    let rust = |threads: Threads| {
        let mut result = vec![0; BYTES];
        threads.chunks(&mut result, PART, |i, result| {
            let levels = &levels[i * PART..];
            result.iter_mut().zip(levels).for_each(|(place, level)| *place = table[usize::from(*level)]);
        });
        result
    };
    let jit: &dyn Fn() -> UInt8 = &|| table_of_ours.gather(&ours.cast::<u32>());
    Program { workload: "G40b", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}
