//! Programs that use random numbers. Both variants use the same ones, by a generator of the program's own.

use std::f32::consts::TAU;

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::hash32;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The next number in (0, 1) of a generator (G. Marsaglia, “Xorshift RNGs”, 2003).
#[jit]
fn uniform(state: &mut UInt) -> Float {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    ((*state >> 8).cast::<f32>() + 0.5) * (1.0 / 16_777_216.0)
}

fn plain_uniform(state: &mut u32) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    ((*state >> 8) as f32 + 0.5) * (1.0 / 16_777_216.0)
}

fn seeds(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| hash32(i) | 1).collect()
}

const STEPS: u32 = 100;
const BARRIER: f32 = 90.0;
const STRIKE: f32 = 100.0;
/// The growth of a price in each step, and its deviation.
const GROWTH: f32 = 0.0001;
const DEVIATION: f32 = 0.02;

/// What an option is worth on each path: nothing if the price ever falls below the barrier.
#[jit]
fn payoffs(seeds: &UInt) -> Float {
    let mut state = seeds.clone();
    let mut price = Float::from(100.0);
    let mut step = UInt::from(0);
    while step < STEPS {
        let (u, v) = (uniform(&mut state), uniform(&mut state));
        let normal = (-2.0 * u.ln()).sqrt() * (TAU * v).cos();
        price *= (GROWTH + DEVIATION * normal).exp();
        if price < BARRIER {
            price = Float::from(0.0);
            break;
        }
        step += 1;
    }
    (price - STRIKE).max(0.0)
}

fn plain_payoff(mut state: u32) -> f32 {
    let mut price = 100.0_f32;
    for _ in 0..STEPS {
        let (u, v) = (plain_uniform(&mut state), plain_uniform(&mut state));
        let normal = (-2.0 * u.ln()).sqrt() * (TAU * v).cos();
        price *= (GROWTH + DEVIATION * normal).exp();
        if price < BARRIER {
            return 0.0;
        }
    }
    (price - STRIKE).max(0.0)
}

/// G19: the price of a barrier option by 100 000 paths of up to 100 steps.
pub(crate) fn barrier_option(bench: &Bench) -> Result<(), RowError> {
    let seeds = seeds(100_000);
    let array = resident(seeds.clone())?;
    let rust = |threads: Threads| {
        vec![
            threads
                .sum(seeds.len(), |range| seeds[range].iter().map(|&seed| f64::from(plain_payoff(seed))).sum::<f64>()),
        ]
    };
    let jit = || payoffs(&array).cast::<f64>().sum();
    // A price that meets the barrier within a rounding error may end either way.
    Program { workload: "G19", tolerance: 1e-3, jit: &jit, frozen: None, rust: &rust }.run(bench)
}

/// The logarithm of the density of two hills.
#[jit]
fn density(x: &Float) -> Float {
    ((-0.5 * (x - 2.0) * (x - 2.0)).exp() + 0.5 * (-0.5 * (x + 2.0) * (x + 2.0)).exp()).ln()
}

/// The means of Markov chains (N. Metropolis et al., 1953).
#[jit]
fn chain_means(seeds: &UInt, steps: u32) -> Float {
    let mut state = seeds.clone();
    let (mut x, mut sum) = (Float::from(0.0), Float::from(0.0));
    let mut here = density(&x);
    for _ in 0..UInt::from(steps) {
        let proposed = x + 4.0 * (uniform(&mut state) - 0.5);
        let there = density(&proposed);
        if uniform(&mut state).ln() < there - here {
            x = proposed;
            here = there;
        }
        sum += x;
    }
    sum / steps as f32
}

fn plain_chain_mean(mut state: u32, steps: u32) -> f32 {
    let density = |x: f32| ((-0.5 * (x - 2.0) * (x - 2.0)).exp() + 0.5 * (-0.5 * (x + 2.0) * (x + 2.0)).exp()).ln();
    let (mut x, mut sum) = (0.0, 0.0);
    let mut here = density(x);
    for _ in 0..steps {
        let proposed = x + 4.0 * (plain_uniform(&mut state) - 0.5);
        let there = density(proposed);
        if plain_uniform(&mut state).ln() < there - here {
            (x, here) = (proposed, there);
        }
        sum += x;
    }
    sum / steps as f32
}

/// G20: 10 000 Markov chains of 300 steps.
pub(crate) fn markov_chains(bench: &Bench) -> Result<(), RowError> {
    let seeds = seeds(10_000);
    let array = resident(seeds.clone())?;
    let rust = |threads: Threads| {
        let means = threads.map(seeds.len(), |i| plain_chain_mean(seeds[i], 300));
        vec![means.iter().map(|&mean| f64::from(mean)).sum::<f64>()]
    };
    let jit = || chain_means(&array, 300).cast::<f64>().sum();
    // A proposal at the limit within a rounding error may be taken or not.
    Program { workload: "G20", tolerance: 1e-2, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
