//! Cellular automata.

#![allow(clippy::needless_range_loop, reason = "neighbours are read by their columns")]

use std::mem::swap;

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::hash32;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// A generation of the game of life (J. Conway, 1970) on a torus; living cells are one.
#[jit]
fn generation(cells: &UInt8, width: u32, height: u32) -> UInt8 {
    let i = UInt::arange(cells.width());
    let (x, y) = (i % width, i / width);
    let mut neighbours = UInt8::from(0);
    for dy in [height - 1, 0, 1] {
        for dx in [width - 1, 0, 1] {
            if (dx, dy) != (0, 0) {
                neighbours += cells[(y + dy) % height * width + (x + dx) % width];
            }
        }
    }
    if neighbours == 3 || (neighbours == 2 && cells == 1) { UInt8::from(1) } else { UInt8::from(0) }
}

#[freeze]
fn frozen_generation(cells: &UInt8, width: u32, height: u32) -> UInt8 {
    generation(cells, width, height)
}

#[inline(always)]
fn cell([above, here, below]: [&[u8]; 3], left: usize, x: usize, right: usize) -> u8 {
    let beside = above[left] + above[right] + here[left] + here[right] + below[left] + below[right];
    let neighbours = beside + above[x] + below[x];
    u8::from((neighbours == 3) | ((neighbours == 2) & (here[x] == 1)))
}

/// Computes a row of cells from those above, here and below.
fn generation_row(next: &mut [u8], rows: [&[u8]; 3]) {
    let last = next.len() - 1;
    let rows = rows.map(|row| &row[..=last]);
    next[0] = cell(rows, last, 0, 1);
    for x in 1..last {
        next[x] = cell(rows, x - 1, x, x + 1);
    }
    next[last] = cell(rows, last - 1, last, 0);
}

fn plain_generation(threads: Threads, cells: &[u8], next: &mut [u8], width: usize) {
    let rows: Vec<&[u8]> = cells.chunks(width).collect();
    threads.chunks(next, width, |y, next| {
        generation_row(next, [rows[(y + rows.len() - 1) % rows.len()], rows[y], rows[(y + 1) % rows.len()]]);
    });
}

/// G25: 20 generations of 3000 × 2000 cells.
pub(crate) fn life(bench: &Bench) -> Result<(), RowError> {
    const SIZE: (usize, usize) = (3000, 2000);
    const GENERATIONS: usize = 20;
    let cells: Vec<u8> = (0..(SIZE.0 * SIZE.1) as u32).map(|i| (hash32(i) & 1) as u8).collect();
    let array = resident(cells.clone())?;
    let live = |step: fn(&UInt8, u32, u32) -> UInt8| {
        let mut cells = array.clone();
        for _ in 0..GENERATIONS {
            cells = step(&cells, SIZE.0 as u32, SIZE.1 as u32);
            let _ = jit::eval(&cells);
        }
        cells
    };
    let rust = |threads| {
        let (mut now, mut next) = (cells.clone(), vec![0; cells.len()]);
        for _ in 0..GENERATIONS {
            plain_generation(threads, &now, &mut next, SIZE.0);
            swap(&mut now, &mut next);
        }
        now
    };
    let frozen: &dyn Fn() -> UInt8 = &|| live(frozen_generation);
    Program { workload: "G25", tolerance: 0.0, jit: &|| live(generation), frozen: Some(frozen), rust: &rust }.run(bench)
}
