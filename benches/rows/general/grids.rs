//! Simulations on grids, with four kinds of borders: clamped, periodic by a remainder, reflecting by `if`, and periodic
//! by rolling tensors.

#![allow(clippy::needless_range_loop, reason = "neighbours are read by their columns")]

use std::mem::swap;

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// A step of heat conduction. Outside the grid it is as warm as at its border.
#[jit]
fn conducted(heat: &Float, width: i32, height: i32) -> Float {
    let i = Int::arange(heat.width());
    let (x, y) = (i % width, i / width);
    let (left, right) = ((x - 1).max(0), (x + 1).min(width - 1));
    let (above, below) = ((y - 1).max(0), (y + 1).min(height - 1));
    let beside = heat[y * width + left] + heat[y * width + right];
    let around = beside + heat[above * width + x] + heat[below * width + x];
    heat + 0.2 * (around - 4.0 * heat)
}

#[freeze]
fn frozen_conducted(heat: &Float, width: i32, height: i32) -> Float {
    conducted(heat, width, height)
}

/// The values of a point: here, to the left, to the right, above and below.
type Cross = [f32; 5];

/// Computes a row of a grid. `ends` has the columns left of the first one and right of the last one.
///
/// The row that is written is a parameter, so that the compiler knows that it is none of those that are read.
fn row(next: &mut [f32], [above, here, below]: [&[f32]; 3], ends: [usize; 2], point: impl Fn(f32, Cross) -> f32) {
    let last = next.len() - 1;
    let (above, here, below) = (&above[..=last], &here[..=last], &below[..=last]);
    let value = |old: f32, l: usize, x: usize, r: usize| point(old, [here[x], here[l], here[r], above[x], below[x]]);
    next[0] = value(next[0], ends[0], 0, 1);
    for x in 1..last {
        next[x] = value(next[x], x - 1, x, x + 1);
    }
    next[last] = value(next[last], last - 1, last, ends[1]);
}

fn plain_conducted(threads: Threads, heat: &[f32], next: &mut [f32], width: usize) {
    let rows: Vec<&[f32]> = heat.chunks(width).collect();
    threads.chunks(next, width, |y, next| {
        let rows = [rows[y.saturating_sub(1)], rows[y], rows[(y + 1).min(rows.len() - 1)]];
        row(next, rows, [0, width - 1], |_, [here, left, right, above, below]| {
            here + 0.2 * (left + right + above + below - 4.0 * here)
        });
    });
}

/// G01: 60 steps of heat conduction on 1000 × 1000 points.
pub(crate) fn heat(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 1000;
    const STEPS: usize = 60;
    let heat: Vec<f32> = u01s(SIDE * SIDE, 1, |u| u);
    let array = resident(heat.clone())?;
    let steps = |step: fn(&Float, i32, i32) -> Float| {
        let mut heat = array.clone();
        for _ in 0..STEPS {
            heat = step(&heat, SIDE as i32, SIDE as i32);
            // A failure is stored at the array, and reported when it is read.
            let _ = jit::eval(&heat);
        }
        heat
    };
    let rust = |threads| {
        let (mut now, mut next) = (heat.clone(), vec![0.0; heat.len()]);
        for _ in 0..STEPS {
            plain_conducted(threads, &now, &mut next, SIDE);
            swap(&mut now, &mut next);
        }
        now
    };
    let frozen: &dyn Fn() -> Float = &|| steps(frozen_conducted);
    Program { workload: "G01", tolerance: 1e-4, jit: &|| steps(conducted), frozen: Some(frozen), rust: &rust }
        .run(bench)
}

/// A membrane that moves.
#[derive(Clone, Traverse)]
struct Membrane {
    height: Float,
    before: Float,
}

/// A step of waves on a square whose opposite sides touch.
#[jit]
fn wave(membrane: &mut Membrane, side: u32) {
    let i = UInt::arange(membrane.height.width());
    let (x, y) = (i % side, i / side);
    let (left, right) = ((x + side - 1) % side, (x + 1) % side);
    let (above, below) = ((y + side - 1) % side, (y + 1) % side);
    let h = &membrane.height;
    let around = h[y * side + left] + h[y * side + right] + h[above * side + x] + h[below * side + x];
    let next = 2.0 * h - membrane.before + 0.24 * (around - 4.0 * h);
    membrane.before = membrane.height.clone();
    membrane.height = next;
}

#[freeze]
fn frozen_wave(membrane: &mut Membrane, side: u32) {
    wave(membrane, side);
}

fn plain_wave(threads: Threads, height: &[f32], before: &mut [f32], side: usize) {
    let rows: Vec<&[f32]> = height.chunks(side).collect();
    threads.chunks(before, side, |y, before| {
        let rows = [rows[(y + side - 1) % side], rows[y], rows[(y + 1) % side]];
        row(before, rows, [side - 1, 0], |before, [here, left, right, above, below]| {
            2.0 * here - before + 0.24 * (left + right + above + below - 4.0 * here)
        });
    });
}

/// G02: 60 steps of waves on 1000 × 1000 points.
pub(crate) fn waves(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 1000;
    const STEPS: usize = 60;
    let height: Vec<f32> = u01s(SIDE * SIDE, 1, |u| u);
    let array = resident(height.clone())?;
    let steps = |step: fn(&mut Membrane, u32)| {
        let mut membrane = Membrane { height: array.clone(), before: array.clone() };
        for _ in 0..STEPS {
            step(&mut membrane, SIDE as u32);
            let _ = jit::eval(&membrane);
        }
        membrane.height
    };
    let rust = |threads| {
        let (mut now, mut before) = (height.clone(), height.clone());
        for _ in 0..STEPS {
            plain_wave(threads, &now, &mut before, SIDE);
            swap(&mut now, &mut before);
        }
        now
    };
    let frozen: &dyn Fn() -> Float = &|| steps(frozen_wave);
    Program { workload: "G02", tolerance: 1e-3, jit: &|| steps(wave), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// Two substances that react.
#[derive(Clone, Traverse)]
struct Substances {
    u: Float,
    v: Float,
}

/// A step of reaction and diffusion (J. Pearson, “Complex Patterns in a Simple System”, 1993). Borders reflect.
#[jit]
fn reacted(now: &Substances, width: i32, height: i32) -> Substances {
    let i = Int::arange(now.u.width());
    let (x, y) = (i % width, i / width);
    let left = if x == 0 { Int::from(1) } else { x - 1 };
    let right = if x == width - 1 { x - 1 } else { x + 1 };
    let above = if y == 0 { Int::from(1) } else { y - 1 };
    let below = if y == height - 1 { y - 1 } else { y + 1 };
    let spread =
        |a: &Float| a[y * width + left] + a[y * width + right] + a[above * width + x] + a[below * width + x] - 4.0 * a;
    let (u, v) = (&now.u, &now.v);
    let reaction = u * v * v;
    Substances { u: u + 0.16 * spread(u) - reaction + 0.035 * (1.0 - u), v: v + 0.08 * spread(v) + reaction - 0.1 * v }
}

#[freeze]
fn frozen_reacted(now: &Substances, width: i32, height: i32) -> Substances {
    reacted(now, width, height)
}

#[inline(always)]
fn react(u: Cross, v: Cross) -> (f32, f32) {
    let spread = |[here, left, right, above, below]: Cross| left + right + above + below - 4.0 * here;
    let reaction = u[0] * v[0] * v[0];
    (u[0] + 0.16 * spread(u) - reaction + 0.035 * (1.0 - u[0]), v[0] + 0.08 * spread(v) + reaction - 0.1 * v[0])
}

/// Computes a row of both substances from the rows above, here and below.
fn reacted_row(next_u: &mut [f32], next_v: &mut [f32], u: [&[f32]; 3], v: [&[f32]; 3]) {
    let last = next_u.len() - 1;
    let next_v = &mut next_v[..=last];
    let (u, v) = (u.map(|row| &row[..=last]), v.map(|row| &row[..=last]));
    let cross = |[above, here, below]: [&[f32]; 3], l: usize, x: usize, r: usize| {
        [here[x], here[l], here[r], above[x], below[x]]
    };
    (next_u[0], next_v[0]) = react(cross(u, 1, 0, 1), cross(v, 1, 0, 1));
    for x in 1..last {
        (next_u[x], next_v[x]) = react(cross(u, x - 1, x, x + 1), cross(v, x - 1, x, x + 1));
    }
    (next_u[last], next_v[last]) = react(cross(u, last - 1, last, last - 1), cross(v, last - 1, last, last - 1));
}

fn plain_reacted(threads: Threads, [u, v]: [&[f32]; 2], next: [&mut [f32]; 2], width: usize) {
    let height = u.len() / width;
    threads.chunks_of(next, width, |y, [next_u, next_v]| {
        let above = if y == 0 { 1 } else { y - 1 };
        let below = if y == height - 1 { y - 1 } else { y + 1 };
        let [u, v] = [u, v].map(|a| [above, y, below].map(|y| &a[y * width..]));
        reacted_row(next_u, next_v, u, v);
    });
}

/// G03: 40 steps of reaction and diffusion on 1200 × 900 points.
pub(crate) fn reaction(bench: &Bench) -> Result<(), RowError> {
    const SIZE: (usize, usize) = (1200, 900);
    const STEPS: usize = 40;
    let n = SIZE.0 * SIZE.1;
    let [u, v] = [u01s(n, 1, |u| 0.5 + 0.5 * u), u01s(n, 2, |u| 0.25 * u)];
    let substances = Substances { u: resident(u.clone())?, v: resident(v.clone())? };
    let steps = |step: fn(&Substances, i32, i32) -> Substances| {
        let mut now = substances.clone();
        for _ in 0..STEPS {
            now = step(&now, SIZE.0 as i32, SIZE.1 as i32);
            let _ = jit::eval(&now);
        }
        (now.u, now.v)
    };
    let rust = |threads| {
        let (mut now, mut next) = ([u.clone(), v.clone()], [vec![0.0; n], vec![0.0; n]]);
        for _ in 0..STEPS {
            plain_reacted(threads, now.each_ref().map(|a| &a[..]), next.each_mut().map(|a| &mut a[..]), SIZE.0);
            swap(&mut now, &mut next);
        }
        let [u, v] = now;
        (u, v)
    };
    let frozen: &dyn Fn() -> (Float, Float) = &|| steps(frozen_reacted);
    Program { workload: "G03", tolerance: 1e-4, jit: &|| steps(reacted), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// Shallow water: its depth, and its flow to the right and downwards.
#[derive(Clone, Traverse)]
struct Water {
    depth: Tensor<f32>,
    across: Tensor<f32>,
    down: Tensor<f32>,
}

/// A step of shallow water by the scheme of Lax and Friedrichs, on a torus.
fn flowed(water: &Water) -> Water {
    let Water { depth, across, down } = water;
    let pressure = depth * depth * 0.5;
    let cross = across * down / depth;
    let step = |now: &Tensor<f32>, along_x: &Tensor<f32>, along_y: &Tensor<f32>| {
        let around = now.roll(1, 0) + now.roll(-1, 0) + now.roll(1, 1) + now.roll(-1, 1);
        let flux = along_x.roll(-1, 1) - along_x.roll(1, 1) + along_y.roll(-1, 0) - along_y.roll(1, 0);
        around * 0.25 - flux * 0.1
    };
    Water {
        depth: step(depth, across, down),
        across: step(across, &(across * across / depth + &pressure), &cross),
        down: step(down, &cross, &(down * down / depth + &pressure)),
    }
}

#[freeze]
fn frozen_flowed(water: &Water) -> Water {
    flowed(water)
}

/// Depth and both flows of a cell.
type Cell = [f32; 3];

#[inline(always)]
fn flow(west: Cell, east: Cell, north: Cell, south: Cell) -> Cell {
    let along_x = |[h, u, v]: Cell| [u, u * u / h + h * h * 0.5, u * v / h];
    let along_y = |[h, u, v]: Cell| [v, u * v / h, v * v / h + h * h * 0.5];
    let (fw, fe, fn_, fs) = (along_x(west), along_x(east), along_y(north), along_y(south));
    std::array::from_fn(|k| 0.25 * (west[k] + east[k] + north[k] + south[k]) - 0.1 * (fe[k] - fw[k] + fs[k] - fn_[k]))
}

/// Computes a row of water from the rows above, here and below.
fn flowed_row(depth: &mut [f32], across: &mut [f32], down: &mut [f32], rows: [[&[f32]; 3]; 3]) {
    let last = depth.len() - 1;
    let (across, down) = (&mut across[..=last], &mut down[..=last]);
    let [above, here, below] = rows.map(|row| row.map(|a| &a[..=last]));
    let cell = |row: [&[f32]; 3], x: usize| [row[0][x], row[1][x], row[2][x]];
    let ends = [(last, 0, 1), (last - 1, last, 0)];
    for (left, x, right) in ends {
        [depth[x], across[x], down[x]] = flow(cell(here, left), cell(here, right), cell(above, x), cell(below, x));
    }
    for x in 1..last {
        [depth[x], across[x], down[x]] = flow(cell(here, x - 1), cell(here, x + 1), cell(above, x), cell(below, x));
    }
}

fn plain_flowed(threads: Threads, now: &[Vec<f32>; 3], next: &mut [Vec<f32>; 3], side: usize) {
    threads.chunks_of(next.each_mut().map(|a| &mut a[..]), side, |y, [depth, across, down]| {
        let rows = [y + side - 1, y, y + 1].map(|y| now.each_ref().map(|a| &a[y % side * side..]));
        flowed_row(depth, across, down, rows);
    });
}

/// G04: 30 steps of shallow water on 800 × 800 cells.
pub(crate) fn shallow_water(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 800;
    const STEPS: usize = 30;
    let n = SIDE * SIDE;
    let start = [u01s(n, 1, |u| 1.0 + 0.2 * u), u01s(n, 2, |u| 0.1 * u), u01s(n, 3, |u| 0.1 * u)];
    let tensor = |k: usize| Ok::<_, RowError>(Tensor::from_array(resident(start[k].clone())?, [SIDE, SIDE]));
    let water = Water { depth: tensor(0)?, across: tensor(1)?, down: tensor(2)? };
    let steps = |step: fn(&Water) -> Water| {
        let mut now = water.clone();
        for _ in 0..STEPS {
            now = step(&now);
            let _ = jit::eval(&now);
        }
        (now.depth.into_array(), (now.across.into_array(), now.down.into_array()))
    };
    let rust = |threads| {
        let (mut now, mut next) = (start.clone(), start.clone());
        for _ in 0..STEPS {
            plain_flowed(threads, &now, &mut next, SIDE);
            swap(&mut now, &mut next);
        }
        let [depth, across, down] = now;
        (depth, (across, down))
    };
    let frozen: &dyn Fn() -> (Float, (Float, Float)) = &|| steps(frozen_flowed);
    Program { workload: "G04", tolerance: 1e-4, jit: &|| steps(flowed), frozen: Some(frozen), rust: &rust }.run(bench)
}
