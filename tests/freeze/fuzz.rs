//! Random programs that are replayed as they run: what those over sizes and those over shapes have in common.

use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::freeze::{Function, Options};
use jit::prelude::*;

/// Numbers that follow from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 33) as usize % sides
    }
}

/// Programs of steps `S` that run on inputs of some sizes `I`, and what they give.
pub(crate) struct Programs<S, I, T> {
    /// The program of a seed.
    pub(crate) program: fn(u64) -> Vec<S>,
    /// So many sizes that the program of a seed is tried at.
    pub(crate) sizes: fn(u64, usize) -> Vec<I>,
    /// Runs a program, by calls of a function if there is one.
    pub(crate) run: fn(&[S], &I, Option<&'static Function>) -> jit::Result<T>,
}

impl<S: Clone + Debug, I: Debug, T: PartialEq + Debug> Programs<S, I, T> {
    /// Compares programs with direct execution, and shows one that differs, made small. Gives the recordings that were made for all.
    pub(crate) fn check(&self, seeds: Range<u64>, count: usize, device: Device) -> u64 {
        let mut recordings = 0;
        for seed in seeds {
            let (steps, sizes) = ((self.program)(seed), (self.sizes)(seed, count));
            match self.difference(&steps, &sizes, device) {
                Ok(made) => recordings += made,
                Err(_) => {
                    let small = smallest(steps, |steps| self.difference(steps, &sizes, device).is_err());
                    let what = self.difference(&small, &sizes, device).err().unwrap_or_default();
                    panic!("the program of seed {seed} differs: {what}\n{small:#?}");
                }
            }
        }
        recordings
    }

    /// How replays differ from direct execution, if they do; else how many recordings were made.
    fn difference(&self, steps: &[S], sizes: &[I], device: Device) -> Result<u64, String> {
        let options = Options { warn_after: usize::MAX, ..Options::DEFAULT };
        let function: &'static Function = Box::leak(Box::new(Function::new("program", &["a", "b", "state"], options)));
        let outcome = jit::with_device(device, || {
            sizes.iter().try_for_each(|sizes| {
                let (direct, frozen) = (self.outcome(steps, sizes, None), self.outcome(steps, sizes, Some(function)));
                let where_found = || format!("{device:?}, sizes {sizes:?}: {frozen:?} instead of {direct:?}");
                if direct == frozen && direct.is_ok() { Ok(()) } else { Err(where_found()) }
            })
        });
        let recordings = function.stats().recordings;
        function.clear();
        outcome.map(|()| recordings)
    }

    fn outcome(&self, steps: &[S], sizes: &I, function: Option<&'static Function>) -> Result<T, String> {
        let compute = || (self.run)(steps, sizes, function).map_err(|error| error.to_string());
        catch_unwind(AssertUnwindSafe(compute)).unwrap_or_else(|payload| {
            Err(match payload.downcast::<String>() {
                Ok(message) => *message,
                Err(_) => "it panics".to_owned(),
            })
        })
    }
}

/// A program that fails, and none with one step less does.
fn smallest<S: Clone>(mut steps: Vec<S>, fails: impl Fn(&[S]) -> bool) -> Vec<S> {
    'smaller: loop {
        for left_out in 0..steps.len() {
            let mut candidate = steps.clone();
            candidate.remove(left_out);
            if fails(&candidate) {
                steps = candidate;
                continue 'smaller;
            }
        }
        return steps;
    }
}
