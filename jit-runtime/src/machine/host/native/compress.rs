//! The positions of the true elements of a mask, in ascending order.
//!
//! The number of true elements is known only after counting, so this work is done in two steps, and the result of the
//! first is read in between. Each block counts, then each block writes from the position where the previous ones end.
//! Neither step branches on an element: its time is that of the memory, whatever the mask.

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::{Context, Elements, Operand, Step, stream};
use crate::config::Device;
use crate::ir::Type;
use crate::{Error, Site};

/// Elements of a block.
const BLOCK: usize = 1 << 16;
/// The time to count one element, roughly.
const COUNT_NS: f64 = 0.04;
/// The time to test one element when positions are written, roughly.
const LIST_NS: f64 = 0.1;

/// Lists the positions of the true elements of a mask that was checked.
pub(in crate::machine::host) fn compress(mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
    let context = Context { device, label: "compress".into(), site };
    let ends = ends(context, mask)?;
    // SAFETY: every element is written before it is read.
    let positions = unsafe { Operand::alloc_uninit(Type::U32, ends.last().copied().unwrap_or(0))? };
    write_all(context, mask, &positions, ends)?;
    Ok(positions)
}

/// The elements of a block of a mask.
fn block_range(block: usize, len: usize) -> std::ops::Range<usize> {
    block * BLOCK..len.min((block + 1) * BLOCK)
}

/// The number of positions up to the end of each block.
fn ends(context: Context, mask: &Operand) -> Result<Vec<usize>, Error> {
    let (len, blocks) = (mask.len, mask.len.div_ceil(BLOCK));
    // SAFETY: every element is written before it is read.
    let counts = unsafe { Operand::alloc_uninit(Type::U32, blocks)? };
    let step = Step {
        context,
        width: len,
        blocks,
        estimate_ns: COUNT_NS * len as f64,
        reads: vec![Arc::clone(&mask.buffer)],
        writes: vec![Arc::clone(&counts.buffer)],
        carries: None,
    };
    let (elements, written) = (Elements::<u8>::of(mask), Elements::<u32>::of(&counts));
    let run = move |block: usize| {
        // SAFETY: the mask is only read, and each block writes its own count.
        let (elements, written) = unsafe { (elements.get(block_range(block, len)), written.get_mut(block..block + 1)) };
        written[0] = count(elements);
    };
    // SAFETY: the function accesses the two buffers, which are as long as their operands state.
    unsafe { step.submit(run) }?;
    let mut bytes = vec![0; 4 * blocks];
    counts.buffer.read(0, &mut bytes)?;
    let counts = bytes.chunks_exact(4).map(|bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let mut end = 0;
    Ok(counts
        .map(|count| {
            end += count as usize;
            end
        })
        .collect())
}

fn write_all(context: Context, mask: &Operand, positions: &Operand, ends: Vec<usize>) -> Result<(), Error> {
    let len = mask.len;
    let step = Step {
        context,
        width: len,
        blocks: ends.len(),
        estimate_ns: LIST_NS * len as f64,
        reads: vec![Arc::clone(&mask.buffer)],
        writes: vec![Arc::clone(&positions.buffer)],
        carries: None,
    };
    let streams = stream::pays(len + size_of::<u32>() * positions.len);
    let (elements, positions) = (Elements::<u8>::of(mask), Elements::<u32>::of(positions));
    let run = move |block: usize| {
        let begin = if block == 0 { 0 } else { ends[block - 1] };
        // SAFETY: the mask is only read, and the ranges of different blocks are disjoint.
        let (elements, target) =
            unsafe { (elements.get(block_range(block, len)), positions.get_mut(begin..ends[block])) };
        write(elements, (block * BLOCK) as u32, target, streams);
        if streams {
            stream::fence();
        }
    };
    // SAFETY: as above.
    unsafe { step.submit(run) }
}

/// The number of true elements.
fn count(mask: &[u8]) -> u32 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let (words, rest) = mask.as_chunks::<8>();
    let mut total = rest.iter().map(|element| u32::from(element & 1)).sum::<u32>();
    // Each byte of the sum is a separate counter, and its maximum is 255.
    for words in words.chunks(255) {
        let bytes: u64 = words.iter().map(|word| u64::from_ne_bytes(*word) & LOW).sum();
        let pairs = (bytes & EVEN) + (bytes >> 8 & EVEN);
        total += (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32;
    }
    total
}

/// The number of elements that are listed between two checks for remaining room.
const PIECE: usize = 1 << 10;
/// The number of positions that are staged before they are copied to the target.
const STAGE: usize = 4 * PIECE;
/// The number of meaningless positions that may be written after the last one.
const SLACK: usize = 16;
/// How far ahead, in bytes, the mask is prefetched.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1 << 10;
/// The number of positions in a cache line.
const LINE: usize = 16;

/// Writes the positions of the true elements. Their number equals the length of the target.
fn write(mask: &[u8], first: u32, target: &mut [u32], streams: bool) {
    let mut stage = [const { MaybeUninit::uninit() }; STAGE + SLACK];
    let (mut held, mut done) = (0, 0);
    for (piece, elements) in mask.chunks(PIECE).enumerate() {
        held += list(elements, first + (piece * PIECE) as u32, &mut stage[held..]);
        if held + PIECE > STAGE {
            // Whole lines are copied, so that no line is written twice.
            let line_place = target[done..].as_ptr() as usize / size_of::<u32>() % LINE;
            let count = held - (line_place + held) % LINE;
            write_on(&stage[..count], &mut target[done..done + count], streams);
            stage.copy_within(count..held, 0);
            (held, done) = (held - count, done + count);
        }
    }
    write_on(&stage[..held], &mut target[done..], streams);
}

/// Copies positions, all of which were listed.
fn write_on(listed: &[MaybeUninit<u32>], target: &mut [u32], streams: bool) {
    // SAFETY: the callers have listed them.
    let listed = unsafe { listed.assume_init_ref() };
    if streams { stream::copy(listed, target) } else { target.copy_from_slice(listed) }
}

/// Lists the positions of the true elements at the beginning of the target, which has room for all and [`SLACK`] more.
/// Returns their number.
fn list(mask: &[u8], first: u32, target: &mut [MaybeUninit<u32>]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has the features.
        return unsafe { list_in_vectors(mask, first, target) };
    }
    list_one_by_one(mask, first, target)
}

/// Each position is written, and retained if its element is true.
fn list_one_by_one(mask: &[u8], first: u32, target: &mut [MaybeUninit<u32>]) -> usize {
    let mut count = 0;
    for (position, element) in (first..).zip(mask) {
        target[count].write(position);
        count += usize::from(element & 1);
    }
    count
}

/// Sixteen positions at once; the retained ones are moved together.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn list_in_vectors(mask: &[u8], first: u32, target: &mut [MaybeUninit<u32>]) -> usize {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm512_add_epi32, _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi8,
        _mm512_set_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512, _mm512_test_epi8_mask,
    };
    assert!(target.len() >= mask.len() + SLACK, "there is room for all positions");
    let ones = _mm512_set1_epi8(1);
    let sixteen = _mm512_set1_epi32(16);
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut positions = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
    let mut count = 0;
    for elements in mask.chunks(64) {
        let exists = u64::MAX >> (64 - elements.len());
        // Waiting for the mask takes longer than testing it. Addresses behind its end are prefetched, but not read.
        _mm_prefetch::<_MM_HINT_T0>(elements.as_ptr().wrapping_add(AHEAD).cast());
        // SAFETY: only the existing bytes are read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(exists, elements.as_ptr().cast()) };
        let is_true = _mm512_test_epi8_mask(bytes, ones);
        for part in 0..4 {
            let stays = (is_true >> (16 * part)) as u16;
            let together = _mm512_maskz_compress_epi32(stays, positions);
            // SAFETY: at most as many positions have been written as there are elements before, and there is room for
            // sixteen more.
            unsafe { _mm512_storeu_si512(target.as_mut_ptr().add(count).cast(), together) };
            count += stays.count_ones() as usize;
            positions = _mm512_add_epi32(positions, sixteen);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::tests::XorShift;
    use super::*;

    fn mask(len: usize, percent: u64) -> Vec<u8> {
        let mut random = XorShift(len as u64 + 7);
        (0..len).map(|_| u8::from(random.next() >> 20 & 127 < percent * 128 / 100)).collect()
    }

    #[test]
    fn true_elements_are_counted() {
        for len in [0, 1, 7, 8, 9, 64, 255 * 8, 255 * 8 + 3, 100_000] {
            for percent in [0, 3, 50, 100] {
                let mask = mask(len, percent);
                assert_eq!(count(&mask) as usize, mask.iter().filter(|element| **element == 1).count());
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_true_elements_in_each_way() {
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 1000, PIECE] {
            for percent in [0, 3, 50, 100] {
                let mask = mask(len, percent);
                let expected: Vec<u32> =
                    (5..).zip(&mask).filter(|(_, element)| **element == 1).map(|it| it.0).collect();
                for list in [list, list_one_by_one] {
                    let mut target = vec![MaybeUninit::uninit(); len + SLACK];
                    let count = list(&mask, 5, &mut target);
                    // SAFETY: this many were listed.
                    assert_eq!(unsafe { target[..count].assume_init_ref() }, expected);
                }
            }
        }
    }

    #[test]
    fn whole_blocks_are_written_at_any_alignment() {
        for len in [0, 1, PIECE, STAGE, STAGE + 1, BLOCK] {
            for percent in [0, 3, 50, 100] {
                let mask = mask(len, percent);
                let expected: Vec<u32> =
                    (9..).zip(&mask).filter(|(_, element)| **element == 1).map(|it| it.0).collect();
                for (begin, streams) in [(0, false), (0, true), (1, true), (5, true), (15, false), (15, true)] {
                    let mut memory = vec![u32::MAX; begin + expected.len() + 40];
                    let target = begin..begin + expected.len();
                    write(&mask, 9, &mut memory[target.clone()], streams);
                    stream::fence();
                    assert_eq!(memory[target.clone()], expected);
                    assert!(memory[..begin].iter().chain(&memory[target.end..]).all(|word| *word == u32::MAX));
                }
            }
        }
    }
}
