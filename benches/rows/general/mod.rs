//! Rows `G…`: programs of many kinds, written as somebody would who has just read the documentation of this library.
//!
//! Each stands beside the same algorithm in plain Rust, which runs on one thread and, by rayon, on all. All variants
//! have the same inputs, run by turns, and their results are compared. A row prints the time of each variant, and as
//! `ratio` the best time of plain Rust divided by the best of this library; above 1 this library is faster. After the
//! last row follows the geometric mean of the ratios.
//!
//! | file | programs |
//! |---|---|
//! | `grids.rs` | heat, waves, reaction and diffusion, shallow water: four kinds of borders |
//! | `bodies.rs` | particles in cells, all pairs of particles |
//! | `sparse.rs` | sparse matrices, a solver |
//! | `learning.rs` | k-means, logistic regression, normalised rows |
//! | `tables.rs` | binary search, histogram equalisation, sums by key |
//! | `fourier.rs` | a Fourier transform |
//! | `images.rs` | blur, median, bilateral filter |
//! | `chance.rs` | a barrier option, a Markov chain |
//! | `bytes.rs` | hashes of blocks |
//! | `tabulation.rs` | dynamic programming |
//! | `scenes.rs` | rays against a scene |
//! | `automata.rs` | the game of life |
//! | `lengths.rs` | lanes that run for different times |
//! | `series.rs` | moving averages, exponential smoothing |
//! | `columns.rs` | means and variances of columns |
//! | `layers.rs` | convolutions, their derivatives, products of matrices |
//! | `arrangements.rs` | sums along both axes, small matrices, base64, enlargement, transposition, narrow rows, colours |
//! | `exchanges.rs` | colours in another order, bytes by a table |
//! | `collections.rs` | votes for lines, arrays one after another |

pub(crate) mod arrangements;
pub(crate) mod automata;
pub(crate) mod bodies;
pub(crate) mod bytes;
pub(crate) mod chance;
pub(crate) mod collections;
pub(crate) mod columns;
pub(crate) mod exchanges;
pub(crate) mod fourier;
pub(crate) mod grids;
pub(crate) mod images;
pub(crate) mod layers;
pub(crate) mod learning;
pub(crate) mod lengths;
pub(crate) mod scenes;
pub(crate) mod series;
pub(crate) mod sparse;
pub(crate) mod tables;
pub(crate) mod tabulation;

use std::cell::RefCell;
use std::iter::Sum;
use std::ops::Range;

use jit::Element;
use jit::prelude::*;
use rayon::prelude::*;

use crate::inputs::checksum;
use crate::measure::{Bench, RowError, Unit, print, print_time};

/// A program, in this library and in plain Rust.
pub(crate) struct Program<'a, J, R> {
    pub(crate) workload: &'static str,
    /// The largest difference between results, relative to the result and to the mean of all results.
    pub(crate) tolerance: f64,
    pub(crate) jit: &'a dyn Fn() -> J,
    /// The same with the steps of the program frozen, if it has steps.
    pub(crate) frozen: Option<&'a dyn Fn() -> J>,
    pub(crate) rust: &'a dyn Fn(Threads) -> R,
}

/// A variant of a program: computes a result and puts it into a slot.
type Way<'a> = Box<dyn Fn() -> Result<(), RowError> + 'a>;
type Slot = RefCell<Option<Box<dyn Numbers>>>;

impl<J: Numbers + Traverse + 'static, R: Numbers + 'static> Program<'_, J, R> {
    /// Measures and prints all variants, and compares their results.
    pub(crate) fn run(&self, bench: &Bench) -> Result<(), RowError> {
        reuse_memory();
        let slots: [Slot; 4] = [const { RefCell::new(None) }; 4];
        let [jit, frozen, plain, rayon] = &slots;
        let mut ways: Vec<(&str, Way<'_>)> = vec![("jit", evaluated(self.jit, jit))];
        ways.extend(self.frozen.map(|function| ("frozen", evaluated(function, frozen))));
        for (name, threads, slot) in [("plain", Threads::One, plain), ("rayon", Threads::All, rayon)] {
            let way = move || {
                slot.replace(None);
                slot.replace(Some(Box::new((self.rust)(threads))));
                Ok(())
            };
            ways.push((name, Box::new(way)));
        }
        let times = bench.by_turns(&ways.iter().map(|(_, way)| &**way).collect::<Vec<_>>())?;
        let sum = self.compare(&slots)?;
        for ((name, _), time) in ways.iter().zip(&times) {
            print_time(self.workload, name, *time, Unit::Milliseconds, Some(sum));
        }
        let (ours, others) = times.split_at(times.len() - 2);
        let best = |times: &[crate::measure::Timing]| times.iter().map(|t| t.seconds).fold(f64::INFINITY, f64::min);
        let ratio = best(others) / best(ours);
        print(self.workload, "ratio", ratio, "x", Some(sum));
        bench.ratios.borrow_mut().push(ratio);
        Ok(())
    }

    /// Compares the results of all variants with those of plain Rust on one thread; returns their checksum.
    fn compare(&self, slots: &[Slot]) -> Result<f64, RowError> {
        let mut results = Vec::new();
        for slot in slots {
            if let Some(result) = &*slot.borrow() {
                results.push(result.numbers()?);
            }
        }
        // Plain Rust on one thread comes before the last variant.
        let wanted = results.swap_remove(results.len() - 2);
        let mean = wanted.iter().map(|x| x.abs()).sum::<f64>() / wanted.len() as f64;
        for got in &results {
            let is_equal =
                |(got, wanted): (&f64, &f64)| (got - wanted).abs() <= self.tolerance * wanted.abs().max(mean);
            let wrong = got.iter().zip(&wanted).position(|pair| !is_equal(pair));
            if got.len() != wanted.len() || wrong.is_some() {
                let at = wrong.unwrap_or(got.len().min(wanted.len()));
                let [got, wanted] = [got, &wanted].map(|list| (list.len(), list.get(at).copied()));
                let message = format!("{}: element {at} is {got:?} instead of {wanted:?}", self.workload);
                return Err(RowError::Invalid(message));
            }
        }
        Ok(checksum(&wanted))
    }
}

/// Computes a result by this library, and waits for it.
fn evaluated<'a, J: Numbers + Traverse + 'static>(function: &'a dyn Fn() -> J, slot: &'a Slot) -> Way<'a> {
    Box::new(move || {
        slot.replace(None);
        let result = function();
        jit::eval(&result)?;
        jit::sync()?;
        slot.replace(Some(Box::new(result)));
        Ok(())
    })
}

/// Prints the geometric mean of the ratios of the programs that ran.
pub(crate) fn print_mean(bench: &Bench) {
    let ratios = bench.ratios.borrow();
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        print("G", "geomean", mean, "x", None);
    }
}

/// Makes the allocator of C keep freed memory, as this library does. Otherwise each large `Vec` of plain Rust would
/// come from the system again, page by page.
fn reuse_memory() {
    // SAFETY: sets two parameters of the allocator, which both functions and values are for.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    }
}

/// Results that can be compared.
pub(crate) trait Numbers {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error>;
}

impl<T: Element + Into<f64>> Numbers for Array<T> {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error> {
        self.to_vec()?.numbers()
    }
}

impl<T: Element + Into<f64>> Numbers for Tensor<T> {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error> {
        self.to_vec()?.numbers()
    }
}

impl<T: Copy + Into<f64>> Numbers for Vec<T> {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error> {
        Ok(self.iter().map(|&x| x.into()).collect())
    }
}

impl<A: Numbers, B: Numbers> Numbers for (A, B) {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error> {
        Ok([self.0.numbers()?, self.1.numbers()?].concat())
    }
}

/// The threads that plain Rust uses.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Threads {
    One,
    All,
}

impl Threads {
    /// Calls a function for each chunk of a slice, with the number of the chunk.
    pub(crate) fn chunks<T: Send>(
        self,
        data: &mut [T],
        length: usize,
        function: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        match self {
            Threads::One => data.chunks_mut(length).enumerate().for_each(|(i, chunk)| function(i, chunk)),
            Threads::All => data.par_chunks_mut(length).enumerate().for_each(|(i, chunk)| function(i, chunk)),
        }
    }

    /// As [`Threads::chunks`], for several slices of the same length.
    pub(crate) fn chunks_of<T: Send, const N: usize>(
        self,
        data: [&mut [T]; N],
        length: usize,
        function: impl Fn(usize, [&mut [T]; N]) + Sync + Send,
    ) {
        let mut parts = data.map(|slice| slice.chunks_mut(length));
        let count = parts[0].len();
        let mut list: Vec<[&mut [T]; N]> =
            (0..count).map(|_| parts.each_mut().map(|part| part.next().unwrap_or_default())).collect();
        self.chunks(&mut list, 1, |i, chunk| function(i, chunk[0].each_mut().map(|part| &mut **part)));
    }

    /// As [`Threads::map`], for a few numbers with much work each.
    pub(crate) fn map_few<T: Send>(self, n: usize, function: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        match self {
            Threads::One => (0..n).map(function).collect(),
            Threads::All => (0..n).into_par_iter().map(function).collect(),
        }
    }

    /// The results of a function for all numbers below `n`.
    pub(crate) fn map<T: Send>(self, n: usize, function: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        match self {
            Threads::One => (0..n).map(function).collect(),
            Threads::All => (0..n).into_par_iter().with_min_len(256).map(function).collect(),
        }
    }

    /// The sum of a function of ranges that cover all numbers below `n`.
    pub(crate) fn sum<S: Sum + Send>(self, n: usize, function: impl Fn(Range<usize>) -> S + Sync + Send) -> S {
        const CHUNK: usize = 1 << 14;
        let part = |i: usize| function(i * CHUNK..n.min((i + 1) * CHUNK));
        match self {
            Threads::One => (0..n.div_ceil(CHUNK)).map(part).sum(),
            Threads::All => (0..n.div_ceil(CHUNK)).into_par_iter().map(part).collect::<Vec<S>>().into_iter().sum(),
        }
    }
}
