//! Calls by sorting: each target runs on its own lanes, in separate launches.
//!
//! Lanes are sorted by target, stably. Targets are traced as in any call, on arrays of all lanes. The result of a
//! target is computed for its lanes alone, over a list of their numbers (see [`schedule::Selection`]), and then
//! scattered to these lanes. This reads the index, so it evaluates; the order is cached as long as the index lives.

use std::cell::RefCell;
use std::rc::Rc;

use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, Site};

use super::switch::{Callable, SwitchIndex, Target, call, checked};
use crate::array::{Array, Element, UInt};
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::device::Devices;
use crate::graph::payload::How;
use crate::graph::weak::Weak;
use crate::misuse::{self, Misuse};
use crate::schedule::{self, Selection};
use crate::size::Size;
use crate::thread_state::thread_state;
use crate::trace::scatter::{self, Request};
use crate::trace::switch::Computed;
use crate::trace::{gather, record, region};
use crate::traverse::{Traverse, arrays};

/// The number of indices whose order a thread caches.
const KEPT: usize = 16;

/// The lanes of each target that any lane calls, ascending.
pub(super) type Groups = Rc<Vec<(u32, UInt)>>;

struct CachedGroups {
    index: Weak,
    count: usize,
    groups: Groups,
}

thread_state! {
    static CACHED_GROUPS: RefCell<Vec<CachedGroups>> = RefCell::new(Vec::new());
}

/// Like [`switch()`](super::switch()), but evaluated at once, with each target in separate kernels on its lanes alone.
/// This is worth it when targets are large and neighbouring lanes call different ones.
///
/// The results are those of [`switch()`](super::switch()), including widths and the arrays that targets write. Targets
/// run under the mask of their lanes as the arms of an `#[evaluated]` `if` do, so they may read elements; targets that
/// no lane calls are not run. If a target combines lanes, as in a sum, the combination covers all of them. An index of
/// width 1 makes it an ordinary call.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::switch_sorted;
///
/// let targets = [|x: Float| &x + &x, |x: Float| &x * &x];
/// let y = switch_sorted(&UInt::from([1, 0, 7]), &targets, (Float::from([3.0, 4.0, 5.0]),));
/// assert_eq!(y.to_vec()?, [9.0, 8.0, 0.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Panics
///
/// As [`switch()`](super::switch()), inside a traced region, and when an evaluation fails.
#[track_caller]
pub fn switch_sorted<F: Callable<A>, A: Traverse + Clone>(
    index: impl SwitchIndex,
    targets: &[F],
    arguments: A,
) -> F::Output
where
    F::Output: Traverse,
{
    let site = Site::here();
    let (selector, index) = match checked(index, targets, site) {
        Target::Known(target) => return targets[target].call(arguments),
        Target::Lanes(selector, index) => (selector, index),
    };
    // Lists of lanes are on the device of what they select.
    let _scope = Devices::of_all(arrays(&arguments).iter().chain([&index])).enter();
    let (index, groups) =
        sort(&selector, &index, targets.len(), "lanes are known only when the kernel runs: call `jit::switch`", site);
    if groups.is_some() {
        store(&arrays(&arguments), index.width(), site);
    }
    call(&selector, &index, None, targets, arguments, groups, site)
}

/// Returns the lanes of each target that is called, and the index on the active lanes; no lanes if the call needs no
/// sorting. Error messages advise how to call without sorting.
pub(super) fn sort(selector: &Var, index: &Var, count: usize, instead: &str, site: Site) -> (Var, Option<Groups>) {
    if let Some(begin) = region::recording_site() {
        Misuse::new("a call cannot be sorted inside of a traced `if` or `while`", site)
            .place("the region begins", begin)
            .hint(instead)
            .panic();
    }
    let (selector, index) = match region::current_mask() {
        Some(mask) => {
            let nobody = record::literal(Type::U32, u64::from(u32::MAX), 1);
            let index = record::select(&mask, index, &nobody);
            (index.clone(), index)
        }
        None => (selector.clone(), index.clone()),
    };
    // The lanes of each target are not known when a recording is made; the results are the same.
    if index.width() == 1 || launches::is_recording() {
        return (index, None);
    }
    let groups = groups(&selector, &index, count);
    (index, Some(groups).filter(|groups| !groups.is_empty()))
}

/// Evaluates arguments that all targets read.
pub(super) fn store(arguments: &[Var], width: Size, site: Site) {
    let is_of_lanes = |var: &&Var| var.width() == width && !var.is_evaluated() && !crate::trace::local::is_local(var);
    let wanted: Vec<&Var> = arguments.iter().filter(is_of_lanes).collect();
    if let Err(error) = schedule::evaluate(&wanted, WHY, site) {
        misuse::panic_at(site, error);
    }
}

const WHY: &str = "a sorted call runs each target separately";

/// Evaluates the results of the targets, each on its own lanes; returns the values of all lanes.
pub(super) fn compute(groups: &Groups, parts: Vec<Computed>, width: Size, defaults: Vec<Var>, site: Site) -> Vec<Var> {
    // The lanes of a target are the active ones.
    let _outside = region::exit_all();
    let mut merged: Vec<Var> = defaults.into_iter().map(|default| widened(default, width)).collect();
    for ((_, lanes), part) in groups.iter().zip(parts) {
        let put = |values: Vec<Var>| {
            for (array, value) in merged.iter_mut().zip(values) {
                let request =
                    Request { how: How::Write, index: lanes.var(), value: &value, expected: None, mask: None };
                scatter::scatter(array, &request);
            }
            schedule::evaluate(&merged.iter().collect::<Vec<_>>(), WHY, site)
        };
        if let Err(error) = of_lanes(part, lanes, width, site).and_then(put) {
            misuse::panic_at(site, error);
        }
    }
    merged
}

fn widened(value: Var, width: Size) -> Var {
    match value.literal() {
        _ if value.width() == width => value,
        Some(bits) => record::literal(value.ty(), bits, width),
        None => record::broadcast(&value, width),
    }
}

/// Evaluates the results of a target on its lanes, with the arrays that it writes.
fn of_lanes(part: Computed, lanes: &UInt, width: Size, site: Site) -> Result<Vec<Var>, Error> {
    let Computed { values, arrays, writes } = part;
    let is_missing = |var: &&Var| !var.is_evaluated() && var.width() == width;
    let is_written = |array: &&Var| {
        scatter::before(array).is_some_and(|(_, writer)| writes.contains(&writer)) && !array.is_evaluated()
    };
    let mut wanted: Vec<&Var> = Vec::with_capacity(values.len());
    for var in values.iter().filter(is_missing).chain(arrays.iter().filter(is_written)) {
        if !wanted.iter().any(|other| other.is_same(var)) {
            wanted.push(var);
        }
    }
    let selection =
        Selection { width: width.value(), lanes: lanes.var().clone(), narrow: Vec::new(), writes: writes.clone() };
    let selected = schedule::evaluate_selected(&selection, &wanted, WHY, site)?;
    if selected.is_none() {
        schedule::evaluate(&wanted, WHY, site)?;
    }
    let pick = |var: &Var| {
        let position = wanted.iter().position(|other| other.is_same(var));
        match (&selected, position, var.literal()) {
            (Some(selected), Some(position), _) => selected.values[position].clone(),
            (_, _, Some(bits)) => record::literal(var.ty(), bits, 1),
            _ if var.width() == width => gather::gather(var, lanes.var(), None),
            _ => var.clone(),
        }
    };
    let picked = values.iter().map(pick).collect();
    drop((values, arrays));
    selected.map_or(Ok(()), |selected| selected.finish(&selection, site))?;
    Ok(picked)
}

/// Returns the lanes of each target.
fn groups(selector: &Var, index: &Var, count: usize) -> Groups {
    let cached = CACHED_GROUPS.with_borrow(|cached| {
        let is_same = |cached: &&CachedGroups| {
            cached.count == count && cached.index.upgrade().is_some_and(|index| index.is_same(selector))
        };
        cached.iter().find(is_same).map(|cached| Rc::clone(&cached.groups))
    });
    cached.unwrap_or_else(|| {
        let groups = Rc::new(by_target(index, count));
        CACHED_GROUPS.with_borrow_mut(|cached| {
            cached.retain(|cached| cached.index.upgrade().is_some());
            cached.truncate(KEPT - 1);
            cached.insert(0, CachedGroups { index: selector.downgrade(), count, groups: Rc::clone(&groups) });
        });
        groups
    })
}

fn by_target(index: &Var, count: usize) -> Vec<(u32, UInt)> {
    // The lists are where the index is; one without a device is where new values are.
    let _scope = index.devices().enter();
    let targets = Array::<u32>::from_var(index.clone()).to_vec().unwrap_or_else(|error| misuse::panic_with(error));
    let mut lanes = vec![Vec::new(); count];
    for (lane, target) in (0_u32..).zip(targets) {
        if let Some(lanes) = lanes.get_mut(target as usize) {
            lanes.push(lane);
        }
    }
    let wanted = lanes.into_iter().enumerate().filter(|(_, lanes)| !lanes.is_empty());
    wanted.map(|(target, lanes)| (target as u32, list(&lanes))).collect()
}

/// Returns a list of lanes. As a constant it selects from values on any device.
fn list(lanes: &[u32]) -> UInt {
    match Buffer::from_bytes(u32::as_bytes(lanes)) {
        Ok(buffer) => Array::from_var(record::constants(Type::U32, lanes.len(), buffer)),
        Err(error) => misuse::panic_with(error),
    }
}
