//! Programs that look up and count: binary search, histogram equalisation, sums by key.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::{hash32, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The number of elements of a sorted table below each key.
#[jit]
fn positions(table: &UInt, keys: &UInt) -> UInt {
    let (mut low, mut high) = (UInt::from(0), UInt::from(table.width()));
    while low < high {
        let middle = (low + high) / 2;
        if table[middle] < keys {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// G12: the positions of 2^20 keys in a table of four million numbers.
pub(crate) fn search(bench: &Bench) -> Result<(), RowError> {
    let mut table: Vec<u32> = (0..4_000_000).map(hash32).collect();
    table.sort_unstable();
    let keys: Vec<u32> = (0..1 << 20).map(|i| hash32(!i)).collect();
    let (ours, our_keys) = (resident(table.clone())?, resident(keys.clone())?);
    let rust =
        |threads: Threads| threads.map(keys.len(), |i| table.partition_point(|&element| element < keys[i]) as u32);
    Program { workload: "G12", tolerance: 0.0, jit: &|| positions(&ours, &our_keys), frozen: None, rust: &rust }
        .run(bench)
}

/// Spreads the grey levels of a picture over the whole range.
#[jit]
fn equalised(picture: &UInt8) -> UInt8 {
    let below = picture.bincount(256).prefix_sum();
    let level = below.cast::<f32>() * 255.0 / picture.width();
    level.round().cast::<u8>()[picture]
}

#[freeze]
fn frozen_equalised(picture: &UInt8) -> UInt8 {
    equalised(picture)
}

struct Counts([u32; 256]);

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Counts([0; 256]), |a, b| Counts(std::array::from_fn(|k| a.0[k] + b.0[k])))
    }
}

fn plain_equalised(threads: Threads, picture: &[u8]) -> Vec<u8> {
    const CHUNK: usize = 1 << 14;
    let Counts(counts) = threads.sum(picture.len(), |range| {
        let mut counts = [0; 256];
        picture[range].iter().for_each(|&grey| counts[usize::from(grey)] += 1);
        Counts(counts)
    });
    let mut below = 0;
    let levels = counts.map(|count| {
        below += count;
        (below as f32 * 255.0 / picture.len() as f32).round_ties_even() as u8
    });
    let mut result = vec![0; picture.len()];
    threads.chunks(&mut result, CHUNK, |i, result| {
        result.iter_mut().zip(&picture[i * CHUNK..]).for_each(|(new, &grey)| *new = levels[usize::from(grey)]);
    });
    result
}

/// G13: equalises the histogram of a picture of 4000 × 4000 pixels.
pub(crate) fn equalisation(bench: &Bench) -> Result<(), RowError> {
    let picture: Vec<u8> = u01s(16_000_000, 1, |u| u).into_iter().map(|u| (u * u * 200.0) as u8).collect();
    let array = resident(picture.clone())?;
    let frozen: &dyn Fn() -> UInt8 = &|| frozen_equalised(&array);
    let rust = |threads| plain_equalised(threads, &picture);
    Program { workload: "G13", tolerance: 0.0, jit: &|| equalised(&array), frozen: Some(frozen), rust: &rust }
        .run(bench)
}

/// The mean of the values of each key.
#[jit]
fn means(values: &Float, keys: &UInt, count: usize) -> Float {
    let (mut sums, mut counts) = (Float::zeros(count), Float::zeros(count));
    sums.scatter_add(values, keys);
    counts.scatter_add(1.0, keys);
    sums / counts.max(1.0)
}

/// Sums and counts by key.
struct Groups(Vec<(f32, f32)>);

impl std::iter::Sum for Groups {
    fn sum<I: Iterator<Item = Self>>(mut parts: I) -> Self {
        let mut all = parts.next().unwrap_or(Groups(Vec::new()));
        for Groups(part) in parts {
            all.0.iter_mut().zip(part).for_each(|(all, part)| *all = (all.0 + part.0, all.1 + part.1));
        }
        all
    }
}

fn plain_means(threads: Threads, values: &[f32], keys: &[u32], count: usize) -> Vec<f32> {
    // One table for each thread, as tables are large.
    let parts = if threads == Threads::One { 1 } else { rayon::current_num_threads() };
    let length = values.len().div_ceil(parts);
    let tables = threads.map_few(parts, |part| {
        let mut groups = vec![(0.0, 0.0); count];
        let range = part * length..values.len().min((part + 1) * length);
        for (value, &key) in values[range.clone()].iter().zip(&keys[range]) {
            let group = &mut groups[key as usize];
            *group = (group.0 + value, group.1 + 1.0);
        }
        Groups(groups)
    });
    let Groups(groups) = tables.into_iter().sum();
    groups.iter().map(|(sum, count)| sum / count.max(1.0)).collect()
}

/// G14: the means of eight million values by 10 000 keys, in no order.
pub(crate) fn groups(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 8_000_000;
    const KEYS: usize = 10_000;
    let values: Vec<f32> = u01s(N, 1, |u| u);
    let keys: Vec<u32> = (0..N as u32).map(|i| hash32(i) % KEYS as u32).collect();
    let (ours, our_keys) = (resident(values.clone())?, resident(keys.clone())?);
    let rust = |threads| plain_means(threads, &values, &keys, KEYS);
    Program { workload: "G14", tolerance: 1e-3, jit: &|| means(&ours, &our_keys, KEYS), frozen: None, rust: &rust }
        .run(bench)
}
