//! Compares two iterations of a loop: whether they launch the same kernels, except for the slots that one writes and
//! the next one reads.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ir::{Access, Param};

use super::loop_rolling::{Roller, Segment};
use super::{Bind, KernelStep, Origin, Slot, SlotId, Step};

/// The slots of an iteration, in the order of their places; that of the value that was read before it comes last.
pub(super) struct Form {
    /// The slot at each place.
    pub(super) slots: Vec<SlotId>,
    /// Whether the slot is written at this place.
    pub(super) written: Vec<bool>,
    /// The slots that the iteration makes, numbered by their first places.
    pub(super) made: Vec<SlotId>,
    numbers: FxHashMap<SlotId, u32>,
}

/// The slot at a place in each iteration.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Place {
    /// A slot that the iteration itself makes: its number.
    Own(u32),
    /// The same.
    Same(SlotId),
    /// Constants that are equal.
    Constant,
    /// A slot that the iteration before has made: its number there.
    Carried { made: u32 },
}

impl Form {
    pub(super) fn of(roller: &Roller<'_>, segment: &Segment) -> Form {
        let test = segment.test.iter().map(|test| test.slot);
        let slots: Vec<SlotId> = segment.steps.iter().flat_map(Step::slots).chain(test).collect();
        let mut written = Vec::with_capacity(slots.len());
        segment.steps.iter().for_each(|step| note_written(step, &mut written));
        let (mut made, mut numbers) = (Vec::new(), FxHashMap::default());
        for &slot in &slots {
            let is_own = segment.slots.contains(&slot.0) || segment.added.contains(&slot.0);
            if is_own && matches!(roller.slot(slot).origin, Origin::Step) {
                numbers.entry(slot).or_insert_with(|| {
                    made.push(slot);
                    made.len() as u32 - 1
                });
            }
        }
        Form { slots, written, made, numbers }
    }
}

/// For each slot of a step, in order, whether it is written.
fn note_written(step: &Step, written: &mut Vec<bool>) {
    match step {
        Step::Kernel(kernel) => {
            let params = &kernel.kernel().params;
            let slots = kernel.arguments.iter().zip(params).filter(|(bind, _)| matches!(bind, Bind::Slot(_)));
            written.extend(slots.map(|(_, param)| !matches!(param, Param::Buffer { access: Access::Read, .. })));
        }
        Step::Library(native) => {
            written.extend(native.inputs.iter().map(|_| false).chain(native.outputs.iter().map(|_| true)));
        }
        // A loop reads the initial values of its parameters.
        Step::Loop(inner) => inner.carried.iter().for_each(|_| written.extend([true, false, true])),
        Step::Repeat(inner) => written.extend(inner.slots.iter().map(|_| true)),
        Step::Count(_) => written.extend([false, true]),
        Step::Test(_) => written.push(false),
        Step::Host(host) => {
            let reads = host.reads.iter().filter(|bind| matches!(bind, Bind::Slot(_)));
            written.extend(reads.map(|_| false).chain(host.outputs.iter().map(|_| true)));
        }
    }
}

/// The slots at each place of two consecutive iterations; none if they do not match.
pub(super) fn places(roller: &Roller<'_>, segments: &[Segment], forms: &[Form]) -> Option<Vec<Place>> {
    let ([first, second], [form, next]) = (segments, forms) else { return None };
    let is_same = first.steps.len() == second.steps.len()
        && form.slots.len() == next.slots.len()
        && first.steps.iter().zip(&second.steps).all(|(a, b)| is_same_work(a, b));
    if !is_same {
        return None;
    }
    let pairs = form.slots.iter().zip(&next.slots);
    pairs.map(|(a, b)| place(roller, [form, next], *a, *b)).collect()
}

fn place(roller: &Roller<'_>, [form, next]: [&Form; 2], a: SlotId, b: SlotId) -> Option<Place> {
    let (slot, other) = (roller.slot(a), roller.slot(b));
    let place = match (form.numbers.get(&a), next.numbers.get(&b)) {
        (Some(own), Some(other)) => (own == other).then_some(Place::Own(*own)),
        (None, None) if a == b => Some(Place::Same(a)),
        (None, None) => match form.numbers.get(&b) {
            Some(&made) => Some(Place::Carried { made }),
            None => is_equal_constant(slot, other).then_some(Place::Constant),
        },
        _ => None,
    };
    place.filter(|_| is_like(slot, other))
}

fn is_like(a: &Slot, b: &Slot) -> bool {
    (a.ty, a.len) == (b.ty, b.len)
}

fn is_equal_constant(a: &Slot, b: &Slot) -> bool {
    let (Origin::Constant(a), Origin::Constant(b)) = (&a.origin, &b.origin) else { return false };
    match (a.bytes(), b.bytes()) {
        (Ok(a), Ok(b)) => *a == *b,
        _ => false,
    }
}

/// Whether steps do the same work, on whatever slots.
fn is_same_work(a: &Step, b: &Step) -> bool {
    match (a, b) {
        (Step::Kernel(a), Step::Kernel(b)) => {
            let is_same_kind = |(a, b): (&Bind, &Bind)| match (a, b) {
                (Bind::Slot(_), Bind::Slot(_)) => true,
                (Bind::Scalar(a), Bind::Scalar(b)) => a == b,
                _ => false,
            };
            let is_same_kernel = match (&a.template, &b.template) {
                (None, None) => Arc::ptr_eq(&a.entry, &b.entry),
                (a, b) => a == b,
            };
            let checked = |kernel: &KernelStep| kernel.checks.as_ref().map(|checks| checks.accesses.clone());
            is_same_kernel
                && checked(a) == checked(b)
                && (a.lanes, a.reduce_block) == (b.lanes, b.reduce_block)
                && a.arguments.len() == b.arguments.len()
                && a.arguments.iter().zip(&b.arguments).all(is_same_kind)
        }
        (Step::Library(a), Step::Library(b)) => {
            (a.call, &a.sizes, a.fill) == (b.call, &b.sizes, b.fill)
                && (a.inputs.len(), a.outputs.len()) == (b.inputs.len(), b.outputs.len())
        }
        (Step::Test(a), Step::Test(b)) => a.expected == b.expected,
        (Step::Loop(a), Step::Loop(b)) => {
            (a.carried.len(), a.test, a.length, a.limit) == (b.carried.len(), b.test, b.length, b.limit)
        }
        (Step::Repeat(a), Step::Repeat(b)) => a.length == b.length,
        _ => false,
    }
}

/// Whether each carried slot begins as one slot.
pub(super) fn is_one_for_each(form: &Form, places: &[Place]) -> bool {
    let mut inits: FxHashMap<u32, SlotId> = FxHashMap::default();
    places.iter().zip(&form.slots).all(|(place, slot)| match place {
        Place::Carried { made } => *inits.entry(*made).or_insert(*slot) == *slot,
        _ => true,
    })
}
