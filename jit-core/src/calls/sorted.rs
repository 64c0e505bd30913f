//! Calls by sorting: each target runs on its own lanes, in launches of its own.
//!
//! Lanes are sorted by target, stably; each target gets its lanes' elements of the arguments, side by side, and its results go back
//! to where they belong. This reads the index, so it evaluates; the order is kept as long as the index lives.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use super::switch::{Callable, SwitchIndex, Target, call, checked};
use crate::array::{Array, UInt};
use crate::control::state::Leaves;
use crate::schedule;
use crate::trace::effect::{self, How, Request};
use crate::trace::misuse::{self, Misuse};
use crate::trace::node::Weak;
use crate::trace::{Var, gather, record, region};
use crate::traverse::{Traverse, arrays};

/// How many indices a thread keeps the order of.
const KEPT: usize = 16;

/// The lanes of each target that any lane wants, ascending.
type Groups = Vec<(usize, UInt)>;

struct Kept {
    index: Weak,
    count: usize,
    groups: Rc<Groups>,
}

thread_local! {
    static KEPT_GROUPS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// As [`switch()`](super::switch()), computed at once, and each target in kernels of its own on nothing but its lanes. That is worth it when
/// targets are large and neighbouring lanes want different ones.
///
/// Targets see the elements of arguments of the call's width that belong to their lanes, so what they gather from or scatter to
/// has another width or is captured, and what they capture is not combined with arguments lane by lane. Arguments are given by value.
///
/// ```
/// use jit_core::calls::switch_sorted;
/// use jit_core::{Float, UInt};
///
/// let targets = [|x: Float| &x + &x, |x: Float| &x * &x];
/// let y = switch_sorted(&UInt::from([1, 0, 7]), &targets, (Float::from([3.0, 4.0, 5.0]),));
/// assert_eq!(y.to_vec()?, [9.0, 8.0, 0.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Panics
///
/// As [`switch()`](super::switch()) does, inside of a traced region, when an evaluation fails, and for what targets cannot do on lanes that
/// were picked out.
#[track_caller]
pub fn switch_sorted<F: Callable<A>, A: Traverse + Clone>(
    index: impl SwitchIndex,
    targets: &[F],
    arguments: A,
) -> F::Output
where
    F::Output: Traverse,
{
    let site = Location::caller();
    let (said, index) = match checked(index, targets, site) {
        Target::Known(target) => return targets[target].call(arguments),
        Target::Lanes(said, index) => (said, index),
    };
    if region::is_recording() || region::current_mask().is_some() {
        Misuse::new("a call cannot be sorted inside of a traced `if` or `while`", site)
            .hint("lanes are known only when the kernel runs: call `jit::switch`")
            .panic();
    }
    let groups = if index.width() == 1 { Rc::default() } else { groups(&said, &index, targets.len()) };
    if groups.is_empty() {
        return call(&said, &index, None, targets, &arguments, site);
    }
    let mut sorted = Sorted { width: index.width(), current: Leaves::of(&arguments), merged: None, site };
    sorted.check_given(&arrays(&arguments));
    let mut result: Option<F::Output> = None;
    for (target, lanes) in groups.iter() {
        let (mut given, picked) = (arguments.clone(), sorted.pick(lanes));
        picked.write(&mut given);
        let value = targets[*target].call(given);
        sorted.put(lanes, &picked, &Leaves::of(&value));
        result.get_or_insert(value);
    }
    let mut result = result.expect("a group has a target");
    if let Some(merged) = sorted.merged {
        merged.write(&mut result);
    }
    result
}

/// A sorted call between its targets.
struct Sorted {
    width: usize,
    /// The arguments; arrays that a target has scattered to as it left them.
    current: Leaves,
    /// The results so far.
    merged: Option<Leaves>,
    site: &'static Location<'static>,
}

impl Sorted {
    /// The arguments of some lanes.
    fn pick(&self, lanes: &UInt) -> Leaves {
        let of_lanes = |array: &Var| match array.width() == self.width {
            true => gather::gather(array, lanes.var(), None),
            false => array.clone(),
        };
        self.current.with_arrays(&mut self.current.arrays.iter().map(of_lanes))
    }

    /// Refuses arrays of the lanes that cannot be replaced by those of a target's.
    fn check_given(&self, all: &[Var]) {
        let of_lanes = |arrays: &[Var]| arrays.iter().filter(|array| array.width() == self.width).count();
        if of_lanes(all) != of_lanes(&self.current.arrays) {
            Misuse::new("the arguments of a sorted call are given by value", self.site)
                .hint("targets get other arrays than the call: write `(x.clone(),)` for `(&x,)`")
                .panic();
        }
    }

    /// Puts the results of some lanes to where they belong, and computes them.
    fn put(&mut self, lanes: &UInt, picked: &Leaves, values: &Leaves) {
        let width = self.width;
        let before = self.merged.take().unwrap_or_else(|| {
            values.with_arrays(&mut values.arrays.iter().map(|value| record::literal(value.ty(), 0, width)))
        });
        if before.differs_in_host_values(values) {
            let what = match before.first_difference(values) {
                Some((a, b)) => format!("the targets of a sorted call give different host values: {a} and {b}"),
                None => "the targets of a sorted call give different host values".into(),
            };
            Misuse::new(what, self.site).hint("what differs by target must be an array").panic();
        }
        let after: Vec<Var> = before
            .arrays
            .iter()
            .zip(&values.arrays)
            .map(|(before, value)| self.put_one(lanes, picked, before, value))
            .collect();
        drop(before.arrays);
        let wanted: Vec<&Var> = after.iter().collect();
        if let Err(error) = schedule::evaluate(&wanted, "a sorted call runs each target by itself", self.site) {
            misuse::panic_with(error);
        }
        self.merged = Some(values.with_arrays(&mut after.into_iter()));
    }

    fn put_one(&mut self, lanes: &UInt, picked: &Leaves, before: &Var, value: &Var) -> Var {
        let is_of = |given: &Var| value.is_same(given) || effect::continues(value, given);
        let argument = picked.arrays.iter().position(is_of);
        if let Some(argument) = argument.filter(|&argument| self.current.arrays[argument].width() != self.width)
            && (value.width() != 1 || !value.is_same(&picked.arrays[argument]))
        {
            self.current.arrays[argument] = value.clone();
            return value.clone();
        }
        let is_scattered_to = argument.is_some_and(|argument| !value.is_same(&picked.arrays[argument]));
        if is_scattered_to || (value.width() != 1 && value.width() != lanes.len()) {
            let what =
                format!("a target of a sorted call gives an array of width {} on {} lanes", value.width(), lanes.len());
            Misuse::new(what, self.site)
                .value("the array", value)
                .hint("targets combine the elements of their own lanes; `jit::switch` has no such limit")
                .panic();
        }
        let mut array = before.clone();
        let request = Request { how: How::Write, index: lanes.var(), value, expected: None, mask: None };
        effect::scatter(&mut array, &request);
        array
    }
}

/// The lanes of each target.
fn groups(said: &Var, index: &Var, count: usize) -> Rc<Groups> {
    let kept = KEPT_GROUPS.with_borrow(|kept| {
        let is_same =
            |kept: &&Kept| kept.count == count && kept.index.upgrade().is_some_and(|index| index.is_same(said));
        kept.iter().find(is_same).map(|kept| Rc::clone(&kept.groups))
    });
    kept.unwrap_or_else(|| {
        let groups = Rc::new(sort(index, count));
        KEPT_GROUPS.with_borrow_mut(|kept| {
            kept.retain(|kept| kept.index.upgrade().is_some());
            kept.truncate(KEPT - 1);
            kept.insert(0, Kept { index: said.downgrade(), count, groups: Rc::clone(&groups) });
        });
        groups
    })
}

fn sort(index: &Var, count: usize) -> Groups {
    let targets = Array::<u32>::from_var(index.clone()).to_vec().unwrap_or_else(|error| misuse::panic_with(error));
    let mut lanes = vec![Vec::new(); count];
    for (lane, target) in (0_u32..).zip(targets) {
        if let Some(lanes) = lanes.get_mut(target as usize) {
            lanes.push(lane);
        }
    }
    let wanted = lanes.into_iter().enumerate().filter(|(_, lanes)| !lanes.is_empty());
    wanted.map(|(target, lanes)| (target, UInt::from(lanes))).collect()
}
