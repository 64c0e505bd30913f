//! Compares replays of random programs with direct execution: the common part of the programs over sizes and those over
//! shapes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::freeze::{Function, Options};
use jit::prelude::*;

/// Numbers that are determined by a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 33) as usize % sides
    }
}

/// The number of calls of programs, and how many of them were replays.
#[derive(Default)]
pub(crate) struct Calls {
    all: u64,
    replayed: u64,
}

impl Calls {
    fn add(&mut self, others: &Calls) {
        self.all += others.all;
        self.replayed += others.replayed;
    }

    /// The percentage of the calls of a program that were replays.
    fn percentage(&self) -> u64 {
        self.replayed * 100 / self.all.max(1)
    }
}

/// The name under which the calls of all programs are counted.
const ANY: &str = "any";

/// The calls of programs that have a step of some kind, by the name of that kind.
pub(crate) type CallsByKind = BTreeMap<String, Calls>;

/// Programs of steps `S` that run on inputs of some sizes `I`, and their results.
pub(crate) struct Programs<S, I, T> {
    /// The program of a seed.
    pub(crate) program: fn(u64) -> Vec<S>,
    /// The number of sizes at which the program of a seed is run.
    pub(crate) sizes: fn(u64, usize) -> Vec<I>,
    /// The number of these sizes without rare ones that are separate programs, such as 0 and 1: one recording serves
    /// most.
    pub(crate) ordinary_sizes: fn(u64, usize) -> Vec<I>,
    /// Runs a program, by calls of a function if there is one.
    pub(crate) run: fn(&[S], &I, Option<&'static Function>) -> jit::Result<T>,
}

impl<S: Clone + Debug, I: Debug, T: PartialEq + Debug> Programs<S, I, T> {
    /// Compares programs with direct execution, and shows one that differs, after shrinking it. Returns the number of
    /// replays for each kind of step.
    pub(crate) fn check(&self, seeds: Range<u64>, count: usize, device: Device) -> CallsByKind {
        let mut by_kind = CallsByKind::new();
        for seed in seeds {
            let (steps, sizes) = ((self.program)(seed), [(self.sizes)(seed, count), (self.ordinary_sizes)(seed, 6)]);
            match self.difference(&steps, &sizes, device) {
                Ok(calls) => {
                    let kinds: BTreeSet<String> = steps.iter().map(kind).collect();
                    kinds.into_iter().for_each(|kind| by_kind.entry(kind).or_default().add(&calls));
                    by_kind.entry(ANY.into()).or_default().add(&calls);
                }
                Err(_) => {
                    let small = smallest(steps, |steps| self.difference(steps, &sizes, device).is_err());
                    let what = self.difference(&small, &sizes, device).err().unwrap_or_default();
                    panic!("the program of seed {seed} differs: {what}\n{small:#?}");
                }
            }
        }
        by_kind
    }

    /// How replays differ from direct execution, if they do; otherwise the number of calls at ordinary sizes, except
    /// the first one, that were replays.
    fn difference(&self, steps: &[S], [sizes, ordinary]: &[Vec<I>; 2], device: Device) -> Result<Calls, String> {
        let options = Options { warn_after: usize::MAX, ..Options::DEFAULT };
        let function: &'static Function = Box::leak(Box::new(Function::new("program", &["a", "b", "state"], options)));
        let call = |sizes: &I| {
            let (direct, frozen) = (self.outcome(steps, sizes, None), self.outcome(steps, sizes, Some(function)));
            let where_found = || format!("{device:?}, sizes {sizes:?}: {frozen:?} instead of {direct:?}");
            if direct == frozen && direct.is_ok() { Ok(()) } else { Err(where_found()) }
        };
        let outcome = jit::with_device(device, || {
            sizes.iter().chain(ordinary.first()).try_for_each(call)?;
            let before = function.stats().replays;
            ordinary.iter().skip(1).try_for_each(call)?;
            Ok(Calls { all: ordinary.len() as u64 - 1, replayed: function.stats().replays - before })
        });
        function.clear();
        outcome
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

/// A program that fails, such that none with one step less does.
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

/// The name of a step without its numbers: `Gather`, `Iterate Scatter`.
fn kind<S: Debug>(step: &S) -> String {
    let text = format!("{step:?}");
    let (name, rest) = text.split_once(['(', ' ']).unwrap_or((&text, ""));
    match rest.split([',', ')']).next() {
        Some(what) if what.starts_with(|c: char| c.is_ascii_uppercase()) => format!("{name} {what}"),
        _ => name.to_owned(),
    }
}

/// Panics if too few calls are replays: less than `of_all` per cent for all programs, or less than `of_each` per cent
/// for those that have a step of some kind. If replayable programs are recorded again, no result is wrong, so no other
/// test would notice it.
#[track_caller]
pub(crate) fn assert_replayed(by_kind: &CallsByKind, of_all: u64, of_each: u64) {
    crate::replays_alone!();
    crate::frozen_only!();
    assert!(by_kind.len() > 30, "{} kinds of steps", by_kind.len());
    let wanted = |kind: &str| if kind == ANY { of_all } else { of_each };
    let few: Vec<String> = by_kind
        .iter()
        .filter(|(kind, calls)| calls.percentage() < wanted(kind))
        .map(|(kind, calls)| format!("{kind}: {} of {}, wanted {} %", calls.replayed, calls.all, wanted(kind)))
        .collect();
    assert!(few.is_empty(), "too few calls are replays: {few:#?}");
}
