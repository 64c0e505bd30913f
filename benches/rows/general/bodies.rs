//! Particles that act on each other.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// Cells along each side of the unit square; particles act on others up to the side of a cell.
const CELLS: i32 = 120;

/// The push of each particle by those near it, and the position, both sorted by cell.
#[jit]
fn pushes(x: &Float, y: &Float, cells: i32) -> (Float, Float) {
    let radius = 1.0 / cells as f32;
    let column = (x * cells as f32).cast::<i32>();
    let row = (y * cells as f32).cast::<i32>();
    let cell = row * cells + column;
    let order = cell.argsort();
    let counts = cell.bincount((cells * cells) as usize);
    let begins = counts.prefix_sum_exclusive();
    let (x, y, column, row) = (x[order], y[order], column[order], row[order]);
    let mut push = Float::zeros(x.width());
    for dy in -1..=1 {
        for dx in -1..=1 {
            let (column, row) = (column + dx, row + dy);
            if column >= 0 && column < cells && row >= 0 && row < cells {
                let other = row * cells + column;
                for j in begins[other]..begins[other] + counts[other] {
                    let (across, down) = (x[j] - x, y[j] - y);
                    let distance = (across * across + down * down).sqrt();
                    if distance < radius {
                        push += 1.0 - distance / radius;
                    }
                }
            }
        }
    }
    (push, x + y)
}

fn plain_pushes(threads: Threads, x: &[f32], y: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let cells = CELLS as usize;
    let radius = 1.0 / cells as f32;
    let place = |v: f32| (v * cells as f32) as usize;
    let cell = |i: usize| place(y[i]) * cells + place(x[i]);
    let mut ends = vec![0_usize; cells * cells + 1];
    (0..x.len()).for_each(|i| ends[cell(i) + 1] += 1);
    (0..cells * cells).for_each(|c| ends[c + 1] += ends[c]);
    let mut next = ends.clone();
    let mut sorted = vec![(0.0_f32, 0.0_f32); x.len()];
    for i in 0..x.len() {
        let place = &mut next[cell(i)];
        sorted[*place] = (x[i], y[i]);
        *place += 1;
    }
    let push = threads.map(x.len(), |i| {
        let (x, y) = sorted[i];
        let (column, row) = (place(x), place(y));
        let mut push = 0.0;
        for row in row.saturating_sub(1)..(row + 2).min(cells) {
            // Neighbouring cells of a row are one range.
            let columns = column.saturating_sub(1)..(column + 2).min(cells);
            for (ox, oy) in &sorted[ends[row * cells + columns.start]..ends[row * cells + columns.end]] {
                let (across, down) = (ox - x, oy - y);
                let distance = (across * across + down * down).sqrt();
                if distance < radius {
                    push += 1.0 - distance / radius;
                }
            }
        }
        push
    });
    (push, sorted.iter().map(|(x, y)| x + y).collect())
}

/// G05: 200 000 particles, sorted into 120 × 120 cells.
pub(crate) fn neighbours(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 200_000;
    let [x, y]: [Vec<f32>; 2] = [u01s(N, 1, |u| u), u01s(N, 2, |u| u)];
    let arrays = [resident(x.clone())?, resident(y.clone())?];
    let jit = || pushes(&arrays[0], &arrays[1], CELLS);
    let rust = |threads| plain_pushes(threads, &x, &y);
    Program { workload: "G05", tolerance: 1e-4, jit: &jit, frozen: None, rust: &rust }.run(bench)
}

/// The forces between all pairs of particles, by the potential of Lennard and Jones with a cut-off.
#[jit]
fn forces(x: &Float, y: &Float, z: &Float, cut_off: f32) -> (Float, Float) {
    let (mut fx, mut fy) = (Float::from(0.0), Float::from(0.0));
    for j in 0..UInt::from(x.width()) {
        let (dx, dy, dz) = (x - x[j], y - y[j], z - z[j]);
        let r2 = dx * dx + dy * dy + dz * dz;
        if r2 > 0.0 && r2 < cut_off * cut_off {
            let s6 = 1e-6 / (r2 * r2 * r2);
            let force = s6 * (2.0 * s6 - 1.0) / r2;
            fx += force * dx;
            fy += force * dy;
        }
    }
    (fx, fy)
}

/// So many particles are computed together, so that the compiler can use vectors.
const TOGETHER: usize = 16;

fn plain_forces(threads: Threads, [x, y, z]: [&[f32]; 3], cut_off: f32) -> (Vec<f32>, Vec<f32>) {
    let (mut fx, mut fy) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    threads.chunks_of([&mut fx, &mut fy], TOGETHER, |chunk, [fx, fy]| {
        let here = |a: &[f32]| -> [f32; TOGETHER] { std::array::from_fn(|k| a[chunk * TOGETHER + k]) };
        let (hx, hy, hz) = (here(x), here(y), here(z));
        let (mut sx, mut sy) = ([0.0; TOGETHER], [0.0; TOGETHER]);
        for ((x, y), z) in x.iter().zip(y).zip(z) {
            for k in 0..TOGETHER {
                let (dx, dy, dz) = (hx[k] - x, hy[k] - y, hz[k] - z);
                let r2 = dx * dx + dy * dy + dz * dz;
                let s6 = 1e-6 / (r2 * r2 * r2);
                let force = s6 * (2.0 * s6 - 1.0) / r2;
                let force = if (r2 > 0.0) & (r2 < cut_off * cut_off) { force } else { 0.0 };
                sx[k] += force * dx;
                sy[k] += force * dy;
            }
        }
        fx.copy_from_slice(&sx);
        fy.copy_from_slice(&sy);
    });
    (fx, fy)
}

/// G06: the forces between all pairs of 8000 particles.
pub(crate) fn pairs(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 8000;
    // A grid of particles, each moved a little, so that none come too close.
    let grid = |step: usize, seed: u32| -> Vec<f32> {
        let shift: Vec<f32> = u01s(N, seed, |u| 0.5 * u);
        shift.iter().enumerate().map(|(i, shift)| ((i / step % 20) as f32 + shift) * 0.2).collect()
    };
    let [x, y, z] = [grid(1, 1), grid(20, 2), grid(400, 3)];
    let arrays = [resident(x.clone())?, resident(y.clone())?, resident(z.clone())?];
    let jit = || forces(&arrays[0], &arrays[1], &arrays[2], 0.6);
    let rust = |threads| plain_forces(threads, [&x, &y, &z], 0.6);
    Program { workload: "G06", tolerance: 1e-2, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
