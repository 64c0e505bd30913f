//! The common part of all calls: the guard around the targets.
//!
//! For each target the guard is opened, and places that the call may change receive the target's initial value. The
//! caller runs the target; then the values of the places are taken, and the result is stored. At the end the values of
//! all targets are merged.

use jit_runtime::Site;

use super::chain::Link;
use super::sorted::{self, Groups};
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::{SwitchRecorder, record};
use crate::traverse::leaves::Leaves;
use crate::traverse::{Leaf, Traverse, Visitor};

/// A call that is being traced. Dropping it restores the trace to its state before.
pub(crate) struct Guard {
    name: &'static str,
    recorder: SwitchRecorder,
    /// The lanes of each target, if the targets are computed one by one.
    groups: Option<Groups>,
    states: Vec<State>,
    /// The number of places that have received a value, and of those whose value was taken.
    lent: usize,
    taken: usize,
    /// The first target's result.
    result: Option<Leaves>,
    site: Site,
    _link: Link,
}

/// A place that a call may change.
struct State {
    name: &'static str,
    before: Leaves,
    /// The initial value for the next target: the value before the call, except for arrays that a target has scattered
    /// to.
    next: Leaves,
    /// The values after the target.
    after: Vec<Var>,
}

impl Guard {
    /// Begins a call.
    pub(crate) fn begin(
        name: &'static str,
        index: &Var,
        targets: Vec<u32>,
        width: Size,
        arguments: &[Var],
        site: Site,
    ) -> Guard {
        let link = Link::enter(name, site);
        let recorder = SwitchRecorder::begin(index, targets, width, arguments, site);
        Guard { name, recorder, groups: None, states: Vec::new(), lent: 0, taken: 0, result: None, site, _link: link }
    }

    /// Makes the targets run one by one, each on its lanes.
    pub(crate) fn sort(&mut self, groups: Groups) {
        self.recorder.evaluate();
        self.groups = Some(groups);
    }

    /// In debug mode, reports lanes whose number is not below a count.
    pub(crate) fn check(&mut self, what: &'static str, index: &Var, mask: Option<&Var>, count: usize) {
        self.recorder.check(what, index, mask, count);
    }

    /// Registers a place that the call may change.
    pub(crate) fn state(&mut self, name: &'static str, before: Leaves) {
        self.states.push(State { name, next: before.clone(), before, after: Vec::new() });
    }

    /// Begins the next target.
    #[track_caller]
    pub(crate) fn open(&mut self) {
        (self.lent, self.taken) = (0, 0);
        self.recorder.open();
    }

    /// Writes the target's initial value to a place.
    pub(crate) fn lend<X: Traverse + ?Sized>(&mut self, place: &mut X) {
        self.states[self.lent].next.write(place);
        self.lent += 1;
    }

    /// Takes a place's value after the target ran.
    pub(crate) fn take<X: Traverse + ?Sized>(&mut self, place: &X) {
        let after = Leaves::of(place);
        let state = &mut self.states[self.taken];
        self.taken += 1;
        if state.before.differs_in_host_values(&after) {
            let change = match state.before.first_difference(&after) {
                Some((before, after)) => format!("changes from {before} to {after}"),
                None => format!("changes from {} arrays to {}", state.before.arrays.len(), after.arrays.len()),
            };
            let what =
                format!("the host variable `{}` {change} inside of a traced call of `{}`", state.name, self.name);
            Misuse::new(what, self.site)
                .hint("each target is recorded once, for all lanes: make the variable an array, as in `UInt::from(0)`")
                .panic();
        }
        let latest = self.recorder.latest(&state.next.arrays, &after.arrays);
        state.next = state.next.with_arrays(&mut latest.into_iter());
        state.after = after.arrays;
    }

    /// Takes the result of the target, and closes it.
    pub(crate) fn give<X: Traverse + ?Sized>(&mut self, value: &X) {
        let leaves = Leaves::of(value);
        if let Some(first) = &self.result {
            self.check_host_values(first, &leaves, value);
        }
        let mut values = leaves.arrays.clone();
        self.states.iter_mut().for_each(|state| values.append(&mut state.after));
        self.recorder.close(values);
        // Only the shape is retained, so that the trace is the only owner of the values that the target has computed.
        self.result.get_or_insert_with(|| leaves.zeroed());
    }

    /// Rejects results that differ in host values.
    fn check_host_values<X: Traverse + ?Sized>(&self, first: &Leaves, leaves: &Leaves, value: &X) {
        if !first.differs_in_host_values(leaves) {
            return;
        }
        let difference = match first.first_difference(leaves) {
            Some((a, b)) => format!("{a} and {b}"),
            None => format!("{} and {} arrays", first.arrays.len(), leaves.arrays.len()),
        };
        let field = match first.position_of_difference(leaves).and_then(|position| path_of(value, position)) {
            Some(path) if !path.is_empty() => format!(" in the field `{path}`"),
            _ => String::new(),
        };
        let what = format!("the targets of `{}` return different host values{field}: {difference}", self.name);
        Misuse::new(what, self.site)
            .hint(&format!("a value that differs by target must be an array: {}", first.advice(leaves)))
            .panic()
    }

    /// Ends the call; returns its result, and the places that it may have changed.
    pub(crate) fn finish(self) -> (Leaves, Vec<Leaves>) {
        let Guard { recorder, groups, mut states, result, site, .. } = self;
        let result = result.unwrap_or_default();
        let zeros = result.arrays.iter().map(|array| record::literal(array.ty(), 0, 1));
        let before = states.iter().flat_map(|state| state.before.arrays.iter().cloned());
        let defaults: Vec<Var> = zeros.chain(before).collect();
        let values = match groups {
            None => recorder.finish(defaults),
            Some(groups) => {
                // The arrays that are written have no other owner.
                states.iter_mut().flat_map(|state| [&mut state.before, &mut state.next]).for_each(|leaves| {
                    leaves.take_arrays();
                });
                recorder.finish_evaluated(defaults, |width, parts, defaults| {
                    sorted::compute(&groups, parts, width, defaults, site)
                })
            }
        };
        let mut values = values.into_iter();
        let result = result.with_arrays(&mut values);
        (result, states.iter().map(|state| state.before.with_arrays(&mut values)).collect())
    }
}

/// Returns a value of a target without its arrays, which the call replaces.
pub(super) fn emptied<X: Traverse>(mut value: X) -> X {
    Leaves::of(&value).zeroed().write(&mut value);
    value
}

/// Returns the path of a host value in a value.
fn path_of<X: Traverse + ?Sized>(value: &X, position: usize) -> Option<String> {
    let mut paths = Vec::new();
    value.traverse(&mut Visitor::with_paths(&mut |path, leaf| {
        if let Leaf::Host(_) = leaf {
            paths.push(path.to_owned());
        }
    }));
    paths.into_iter().nth(position)
}

/// Returns the number of lanes of a call: the width of its target and mask, which must agree. If these are uniform, it
/// is the width of its arguments, if they agree. Other arrays may be read at an index or scattered to.
pub(crate) fn call_width(index: &Var, mask: Option<&Var>, arguments: &[Var], site: Site) -> Size {
    let one = Size::from(1);
    match (index.width(), mask.map_or(one, Var::width)) {
        (width, of_mask) if width == 1 && of_mask == 1 => {
            let mut widths = arguments.iter().map(Var::width).filter(|&width| width != 1);
            let first = widths.next().unwrap_or(one);
            if widths.all(|width| width == first) { first } else { one }
        }
        (width, of_mask) if width == 1 => of_mask,
        (width, of_mask) if of_mask == 1 => width,
        (width, of_mask) if width == of_mask => width,
        (width, of_mask) => {
            let what = format!("the target of a call has width {width}, but its mask has width {of_mask}");
            Misuse::new(what, site).value("the target", index).hint("widths must be equal, or one of them 1").panic()
        }
    }
}
