//! Results that are collected: votes for cells, and arrays that a loop of the host has made.

use std::f32::consts::PI;

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

const ANGLES: usize = 90;
const DISTANCES: usize = 1024;
/// The distance of a line from the middle, as the number of a cell.
const SCALE: f32 = DISTANCES as f32 / 3000.0;

/// The votes of points for the lines through them (P. V. C. Hough, 1962): by angle, and by distance from the origin.
#[jit]
fn votes(x: &Float, y: &Float) -> UInt {
    let mut votes = UInt::zeros(ANGLES * DISTANCES);
    for angle in 0..ANGLES {
        let (sine, cosine) = (angle as f32 * PI / ANGLES as f32).sin_cos();
        let cell = ((x * cosine + y * sine + 1500.0) * SCALE).cast::<u32>();
        votes.scatter_add(1, &(cell + (angle * DISTANCES) as u32));
    }
    votes
}

fn plain_votes(threads: Threads, x: &[f32], y: &[f32]) -> Vec<u32> {
    let mut votes = vec![0; ANGLES * DISTANCES];
    threads.chunks(&mut votes, DISTANCES, |angle, votes| {
        let (sine, cosine) = (angle as f32 * PI / ANGLES as f32).sin_cos();
        for (x, y) in x.iter().zip(y) {
            votes[((x * cosine + y * sine + 1500.0) * SCALE) as usize] += 1;
        }
    });
    votes
}

/// G41a: the votes of 20 000 points for lines at 90 angles.
pub(crate) fn lines(bench: &Bench) -> Result<(), RowError> {
    let [x, y] = [1, 2].map(|seed| u01s(20_000, seed, |u| u * 1000.0));
    let ours = [resident(x.clone())?, resident(y.clone())?];
    let rust = |threads: Threads| plain_votes(threads, &x, &y);
    // A point may be between two cells.
    Program { workload: "G41a", tolerance: 0.1, jit: &|| votes(&ours[0], &ours[1]), frozen: None, rust: &rust }
        .run(bench)
}

/// G41b: 100 arrays of 20 000 numbers, one after another.
pub(crate) fn history(bench: &Bench) -> Result<(), RowError> {
    const STEPS: usize = 100;
    const WIDTH: usize = 20_000;
    let steps: Vec<Vec<f32>> = (0..STEPS as u32).map(|step| u01s(WIDTH, step, |u| u)).collect();
    let ours = steps.iter().map(|step| resident(step.clone())).collect::<Result<Vec<Float>, _>>()?;
    let rust = |threads: Threads| {
        let mut all = vec![0.0; STEPS * WIDTH];
        threads.chunks(&mut all, WIDTH, |step, part| part.copy_from_slice(&steps[step]));
        all
    };
    Program { workload: "G41b", tolerance: 0.0, jit: &|| Float::concat(&ours), frozen: None, rust: &rust }.run(bench)
}
