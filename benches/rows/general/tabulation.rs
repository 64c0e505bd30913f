//! Dynamic programming: each row of a table is computed from the ones before.

use std::mem::swap;

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::hash32;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The best value for each capacity with one item more.
#[freeze]
fn with_item(best: &UInt, weight: u32, value: u32) -> UInt {
    let capacity = UInt::arange(best.width());
    if capacity >= weight { best.max(best[capacity - weight] + value) } else { best.clone() }
}

fn plain_with_item(threads: Threads, best: &[u32], next: &mut [u32], weight: usize, value: u32) {
    const CHUNK: usize = 1 << 14;
    next[..weight].copy_from_slice(&best[..weight]);
    threads.chunks(&mut next[weight..], CHUNK, |i, next| {
        let begin = i * CHUNK;
        let pairs = best[begin..].iter().zip(&best[begin + weight..]);
        next.iter_mut().zip(pairs).for_each(|(next, (without, with))| *next = *with.max(&(without + value)));
    });
}

/// G22: a knapsack with a capacity of a million and 80 items.
pub(crate) fn knapsack(bench: &Bench) -> Result<(), RowError> {
    const CAPACITIES: usize = 1_000_001;
    let items: Vec<(u32, u32)> = (0..80).map(|i| (1 + hash32(i) % 20_000, 1 + hash32(!i) % 1000)).collect();
    let start = resident(vec![0; CAPACITIES])?;
    let fill = |is_frozen: bool| {
        with_item::set_enabled(is_frozen);
        let mut best = start.clone();
        for &(weight, value) in &items {
            best = with_item(&best, weight, value);
            let _ = jit::eval(&best);
        }
        best
    };
    let rust = |threads| {
        let (mut best, mut next) = (vec![0; CAPACITIES], vec![0; CAPACITIES]);
        for &(weight, value) in &items {
            plain_with_item(threads, &best, &mut next, weight as usize, value);
            swap(&mut best, &mut next);
        }
        best
    };
    let frozen: &dyn Fn() -> UInt = &|| fill(true);
    Program { workload: "G22", tolerance: 0.0, jit: &|| fill(false), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// Two antidiagonals of the table of an edit distance, and the number of the next one.
#[derive(Clone, Traverse)]
struct Diagonals {
    last: Int,
    before: Int,
    number: Int,
}

/// The next antidiagonal (R. Wagner and M. Fischer, 1974). Element `i` belongs to the first `i` letters of `a`.
#[jit]
fn advance(table: &mut Diagonals, a: &UInt8, b: &UInt8) {
    let i = Int::arange(table.last.width());
    let j = table.number - i;
    let next = if j < 0 || j > Int::from(b.width()) {
        Int::from(0)
    } else if i == 0 || j == 0 {
        i + j
    } else {
        let differs = (a[i - 1] != b[j - 1]).cast::<i32>();
        (table.before[i - 1] + differs).min((table.last[i - 1] + 1).min(table.last + 1))
    };
    table.before = table.last.clone();
    table.last = next;
    table.number += 1;
}

#[freeze]
fn frozen_advance(table: &mut Diagonals, a: &UInt8, b: &UInt8) {
    advance(table, a, b);
}

/// A row of the table after the other on one thread; antidiagonals on all.
fn plain_distance(threads: Threads, a: &[u8], b: &[u8]) -> Vec<i32> {
    if threads == Threads::One {
        let mut row: Vec<i32> = (0..=b.len() as i32).collect();
        for (i, a) in a.iter().enumerate() {
            let mut corner = i as i32;
            row[0] = corner + 1;
            let mut left = row[0];
            for (above, b) in row[1..].iter_mut().zip(b) {
                left = (corner + i32::from(a != b)).min(left.min(*above) + 1);
                corner = *above;
                *above = left;
            }
        }
        return vec![row[b.len()]];
    }
    const CHUNK: usize = 1024;
    let [mut before, mut last, mut next] = [(); 3].map(|()| vec![0_i32; a.len() + 1]);
    for number in 0..=a.len() + b.len() {
        let begin = number.saturating_sub(b.len());
        let end = number.min(a.len()) + 1;
        threads.chunks(&mut next[begin..end], CHUNK, |chunk, next| {
            for (k, next) in next.iter_mut().enumerate() {
                let i = begin + chunk * CHUNK + k;
                let j = number - i;
                *next = if i == 0 || j == 0 {
                    number as i32
                } else {
                    let differs = i32::from(a[i - 1] != b[j - 1]);
                    (before[i - 1] + differs).min(last[i - 1].min(last[i]) + 1)
                };
            }
        });
        swap(&mut before, &mut last);
        swap(&mut last, &mut next);
    }
    vec![last[a.len()]]
}

/// G23: the edit distance of two texts of 5000 letters.
pub(crate) fn edit_distance(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 5000;
    let text = |seed: u32| -> Vec<u8> { (0..N as u32).map(|i| b'a' + (hash32(i ^ seed) % 4) as u8).collect() };
    let (a, b) = (text(0), text(1 << 20));
    let (array_a, array_b) = (resident(a.clone())?, resident(b.clone())?);
    let compare = |step: fn(&mut Diagonals, &UInt8, &UInt8)| {
        let mut table = Diagonals { last: Int::zeros(N + 1), before: Int::zeros(N + 1), number: Int::opaque(0) };
        for _ in 0..=2 * N {
            step(&mut table, &array_a, &array_b);
            let _ = jit::eval(&table);
        }
        table.last.slice(N..)
    };
    let rust = |threads| plain_distance(threads, &a, &b);
    let frozen: &dyn Fn() -> Int = &|| compare(frozen_advance);
    Program { workload: "G23", tolerance: 0.0, jit: &|| compare(advance), frozen: Some(frozen), rust: &rust }.run(bench)
}
