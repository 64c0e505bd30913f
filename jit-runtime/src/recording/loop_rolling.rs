//! Rolls recorded loops, so that a replay determines the number of iterations itself.
//!
//! A host loop, each iteration under the mask of the lanes that continue, is recorded iteration by iteration, with the
//! value that was read before each. When the recording ends, the iterations are compared. Matching iterations launch
//! the same kernels on slots that the iteration before has written. They become one body that a replay repeats while
//! the value is true. Earlier iterations, which begin with other slots, remain in front. Under the mask of no lane an
//! iteration changes nothing, so a replay always runs those. A loop without matching iterations stays unrolled, with a
//! test of each value.
//!
//! A slot that an iteration reads and the one before has written is *carried*: the body reads a parameter instead, and
//! after each iteration the storage of the slot and that of the parameter are swapped.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Site;

use super::iteration_match::{self, Form, Place};
use super::{Carried, LoopStep, Origin, RepeatStep, Slot, SlotId, Step, TestStep};

/// The recorded events, in order.
#[expect(clippy::large_enum_variant, reason = "almost all items are steps")]
pub(super) enum Item {
    Step(Step),
    Loop(Box<Noted>),
}

/// A loop that the host ran.
pub(super) struct Noted {
    site: Site,
    /// The maximum number of iterations.
    limit: Option<u32>,
    /// The items that compute the first value that is read.
    before: Vec<Item>,
    iterations: Vec<Iteration>,
    /// The value that ended it; none if it ended for another reason.
    end: Option<TestStep>,
    /// The slots that were made in its iterations.
    slots: Range<u32>,
}

/// The state that an iteration has left unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Unchanged {
    /// The host variables are the same after it as before.
    pub host: bool,
    /// All arrays are in memory as before, and have the same width.
    pub forms: bool,
}

struct Iteration {
    test: Option<TestStep>,
    unchanged: Unchanged,
    first_slot: u32,
    /// Whether iterations before it were dropped, which match it.
    follows_gap: bool,
    items: Vec<Item>,
}

/// The number of iterations of a loop that are retained while it runs, before those in the middle are dropped if they
/// match.
const MAX_RETAINED: usize = 64;

/// The events recorded so far, with the open loops.
#[derive(Default)]
pub(super) struct Log {
    items: Vec<Item>,
    open: Vec<Noted>,
}

impl Log {
    pub(super) fn push(&mut self, step: Step) {
        self.current().push(Item::Step(step));
    }

    fn current(&mut self) -> &mut Vec<Item> {
        match self.open.last_mut() {
            None => &mut self.items,
            Some(noted) => match noted.iterations.last_mut() {
                None => &mut noted.before,
                Some(iteration) => &mut iteration.items,
            },
        }
    }

    pub(super) fn begin_loop(&mut self, limit: Option<u32>, site: Site) {
        let (before, iterations) = (Vec::new(), Vec::new());
        self.open.push(Noted { site, limit, before, iterations, end: None, slots: 0..0 });
    }

    /// Begins an iteration, after the value that decided so was read. Returns the slots that were made in iterations
    /// that need not be retained any longer.
    pub(super) fn begin_iteration(&mut self, test: Option<TestStep>, slots: &[Slot]) -> Option<Range<u32>> {
        let noted = self.open.last_mut()?;
        let dropped = if noted.iterations.len() >= MAX_RETAINED { noted.drop_middle(slots) } else { None };
        let (unchanged, first_slot) = (Unchanged { host: false, forms: false }, slots.len() as u32);
        noted.iterations.push(Iteration { test, unchanged, first_slot, follows_gap: false, items: Vec::new() });
        dropped
    }

    pub(super) fn end_iteration(&mut self, unchanged: Unchanged) {
        if let Some(iteration) = self.open.last_mut().and_then(|noted| noted.iterations.last_mut()) {
            iteration.unchanged = unchanged;
        }
    }

    pub(super) fn end_loop(&mut self, end: Option<TestStep>, slots: usize) {
        if let Some(mut noted) = self.open.pop() {
            let end_slot = slots as u32;
            noted.slots = noted.iterations.first().map_or(end_slot, |first| first.first_slot)..end_slot;
            noted.end = end;
            self.current().push(Item::Loop(Box::new(noted)));
        }
    }

    /// Whether the last two iterations of the innermost open loop match, or more of them would not.
    pub(super) fn is_settled(&self, slots: &[Slot]) -> bool {
        let Some(noted) = self.open.last() else { return true };
        if noted.iterations.iter().any(|iteration| !iteration.unchanged.host || counts(&iteration.items)) {
            return true;
        }
        let [.., first, second] = &noted.iterations[..] else { return false };
        // Only the last two are compared: if earlier ones do not match, more iterations may still match these.
        let mut roller = Roller::new(slots, None);
        let middle = second.first_slot;
        let segments = [roller.segment(first, middle), roller.segment(second, slots.len() as u32)];
        let forms = roller.forms(&segments);
        roller.first_match(&segments, &forms, true).is_some()
    }

    /// The steps of a recording with some output slots. New slots are appended, and outputs are renamed.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub(super) fn finish(mut self, slots: &mut Vec<Slot>, outputs: &mut [SlotId]) -> Result<Vec<Step>, String> {
        while !self.open.is_empty() {
            self.end_loop(None, slots.len());
        }
        // A rolled loop has no slots for its single iterations any more, so none of them may be used after the loop.
        let mut last_use = vec![0; slots.len()];
        note_uses(&self.items, &mut 0, &mut last_use);
        outputs.iter().for_each(|slot| last_use[slot.index()] = u32::MAX);
        let mut roller = Roller::new(slots, Some(&last_use));
        let mut steps = Vec::new();
        roller.flatten(&self.items, &mut steps);
        if let Some(site) = roller.incomplete {
            let (file, line) = (site.file(), site.line());
            return Err(format!(
                "a value that the loop at {file}:{line} computed is used after it and is not part of its state"
            ));
        }
        outputs.iter_mut().for_each(|slot| *slot = roller.resolve(*slot));
        let added = roller.added;
        slots.extend(added);
        Ok(steps)
    }
}

impl Noted {
    /// Drops iterations in the middle, if all of them match. Returns the slots that were made in them.
    fn drop_middle(&mut self, slots: &[Slot]) -> Option<Range<u32>> {
        let mut roller = Roller::new(slots, None);
        let segments = roller.segments(self, slots.len() as u32);
        let forms = roller.forms(&segments);
        let (first, _) = roller.body(self, &segments, &forms, true)?;
        // Two remain at each end: the pairs that prove that the body repeats there, and the iterations that the next
        // ones are compared with.
        let dropped = first + 2..self.iterations.len() - 2;
        if dropped.is_empty() {
            return None;
        }
        let made = self.iterations[dropped.start].first_slot..self.iterations[dropped.end].first_slot;
        self.iterations[dropped.end].follows_gap = true;
        self.iterations.drain(dropped);
        Some(made)
    }
}

/// Whether the items determine sizes, which differ from iteration to iteration, or call the host.
fn counts(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Step(step) => matches!(step, Step::Count(_) | Step::Host(_)),
        Item::Loop(noted) => counts(&noted.before) || noted.iterations.iter().any(|iteration| counts(&iteration.items)),
    })
}

/// For each slot, the position of its last use, counting steps and tests.
fn note_uses(items: &[Item], position: &mut u32, last_use: &mut [u32]) {
    for item in items {
        match item {
            Item::Step(step) => {
                *position += 1;
                step.slots().for_each(|slot| last_use[slot.index()] = *position);
            }
            Item::Loop(noted) => {
                note_uses(&noted.before, position, last_use);
                for Iteration { test, items, .. } in &noted.iterations {
                    test.iter().for_each(|test| last_use[test.slot.index()] = *position);
                    note_uses(items, position, last_use);
                }
                noted.end.iter().for_each(|test| last_use[test.slot.index()] = *position);
            }
        }
    }
}

/// An iteration as steps, with inner loops rolled.
pub(super) struct Segment {
    pub(super) test: Option<TestStep>,
    unchanged: Unchanged,
    follows_gap: bool,
    pub(super) steps: Vec<Step>,
    /// The slots that were made in it: by its events, and by rolling.
    pub(super) slots: Range<u32>,
    pub(super) added: Range<u32>,
}

/// Converts the recorded events to steps.
pub(super) struct Roller<'a> {
    slots: &'a [Slot],
    added: Vec<Slot>,
    /// The slot that represents a slot from here on.
    renamed: FxHashMap<SlotId, SlotId>,
    last_use: Option<&'a [u32]>,
    position: u32,
    /// A loop that could not be rolled and of which iterations were dropped.
    incomplete: Option<Site>,
}

impl<'a> Roller<'a> {
    fn new(slots: &'a [Slot], last_use: Option<&'a [u32]>) -> Self {
        Roller { slots, added: Vec::new(), renamed: FxHashMap::default(), last_use, position: 0, incomplete: None }
    }

    pub(super) fn slot(&self, slot: SlotId) -> &Slot {
        self.slots.get(slot.index()).unwrap_or_else(|| &self.added[slot.index() - self.slots.len()])
    }

    fn resolve(&self, mut slot: SlotId) -> SlotId {
        while let Some(&renamed) = self.renamed.get(&slot) {
            slot = renamed;
        }
        slot
    }

    fn next_added(&self) -> u32 {
        (self.slots.len() + self.added.len()) as u32
    }

    fn add(&mut self, like: SlotId) -> SlotId {
        let id = SlotId(self.next_added());
        let slot = self.slot(like).clone();
        self.added.push(slot);
        id
    }

    fn flatten(&mut self, items: &[Item], steps: &mut Vec<Step>) {
        for item in items {
            match item {
                Item::Step(step) => {
                    self.position += 1;
                    let mut step = step.clone();
                    step.rename(|slot| self.resolve(slot));
                    steps.push(step);
                }
                Item::Loop(noted) => self.flatten_loop(noted, steps),
            }
        }
    }

    fn renamed_test(&self, test: &TestStep) -> TestStep {
        TestStep { slot: self.resolve(test.slot), ..*test }
    }

    fn segment(&mut self, iteration: &Iteration, end_slot: u32) -> Segment {
        let test = iteration.test.as_ref().map(|test| self.renamed_test(test));
        let first_added = self.next_added();
        let mut steps = Vec::new();
        self.flatten(&iteration.items, &mut steps);
        let (slots, added) = (iteration.first_slot..end_slot, first_added..self.next_added());
        let Iteration { unchanged, follows_gap, .. } = *iteration;
        Segment { test, unchanged, follows_gap, steps, slots, added }
    }

    /// All iterations of a loop, the last of which ends before a slot.
    fn segments(&mut self, noted: &Noted, end: u32) -> Vec<Segment> {
        let ends = noted.iterations.iter().skip(1).map(|next| next.first_slot).chain([end]);
        noted.iterations.iter().zip(ends).map(|(iteration, end)| self.segment(iteration, end)).collect()
    }

    fn flatten_loop(&mut self, noted: &Noted, steps: &mut Vec<Step>) {
        self.flatten(&noted.before, steps);
        let segments = self.segments(noted, noted.slots.end);
        let end = noted.end.as_ref().map(|test| self.renamed_test(test));
        let Err(segments) = self.roll(noted, segments, end.as_ref(), steps) else { return };
        if segments.iter().any(|segment| segment.follows_gap) {
            self.incomplete = Some(noted.site);
        }
        for segment in segments {
            steps.extend(segment.test.map(Step::Test));
            steps.extend(segment.steps);
        }
        steps.extend(end.map(Step::Test));
    }

    fn forms(&self, segments: &[Segment]) -> Vec<Form> {
        segments.iter().map(|segment| Form::of(self, segment)).collect()
    }

    /// The first iteration from which on all match, with the slots at each of its places; none if no two match.
    fn first_match(&self, segments: &[Segment], forms: &[Form], is_tested: bool) -> Option<(usize, Vec<Place>)> {
        let mut found: Option<(usize, Vec<Place>)> = None;
        // Without a value that ended the loop, a replay could not know when to stop.
        if !is_tested {
            return None;
        }
        // Backwards: iterations become steady after a while, and those before that remain in front.
        for number in (0..segments.len().saturating_sub(1)).rev() {
            let pair = &segments[number..number + 2];
            if pair[1].follows_gap {
                // They were compared when the iterations between them were dropped.
                let Some((_, places)) = found.take() else { break };
                found = Some((number, places));
                continue;
            }
            // If the host's variables or the forms of the state change, the next iteration may be a different program.
            if !pair.iter().all(|segment| segment.unchanged.host && segment.unchanged.forms && segment.test.is_some()) {
                break;
            }
            let Some(places) = iteration_match::places(self, pair, &forms[number..number + 2]) else { break };
            // Each pair must match in the same way: a slot that is carried in one iteration is carried in all.
            if found.as_ref().is_some_and(|(_, known)| *known != places) {
                break;
            }
            found = Some((number, places));
        }
        found
    }

    /// Rolls a loop. Returns its iterations if that is not possible.
    fn roll(
        &mut self,
        noted: &Noted,
        segments: Vec<Segment>,
        end: Option<&TestStep>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Vec<Segment>> {
        let forms = self.forms(&segments);
        let Some((first, places)) = self.body(noted, &segments, &forms, end.is_some()) else { return Err(segments) };
        let form = [&forms[first], &forms[forms.len() - 1]];
        self.emit(noted, segments, first, form, &places, steps);
        Ok(())
    }

    /// The iteration that is the body of a loop, with the slots at each of its places.
    fn body(
        &self,
        noted: &Noted,
        segments: &[Segment],
        forms: &[Form],
        is_tested: bool,
    ) -> Option<(usize, Vec<Place>)> {
        let (found, places) = self.first_match(segments, forms, is_tested)?;
        let last = segments.len() - 1;
        // Two states that begin as different slots and become one match from the next iteration on.
        let first = (found..last).find(|&number| iteration_match::is_one_for_each(&forms[number], &places))?;
        // A carried slot that is also written in place would be overwritten before the next iteration reads its first
        // value.
        let is_carried = |place: &Place| matches!(place, Place::Carried { .. });
        let is_written =
            places.iter().zip(&forms[first].written).any(|(place, &is_written)| is_written && is_carried(place));
        let is_short = noted.limit.is_some_and(|limit| (limit as usize) < first);
        if is_written || is_short || !matches!(places.last(), Some(Place::Carried { .. })) {
            return None;
        }
        let made = |place: &Place| match place {
            Place::Carried { made } => Some(forms[last].made[*made as usize]),
            _ => None,
        };
        let given_on: FxHashSet<SlotId> = places.iter().filter_map(made).collect();
        let of_body = segments[first].slots.start..noted.slots.end;
        (!self.is_used_later(of_body, &given_on)).then_some((first, places))
    }

    /// Whether any of the slots is used after the loop that has just ended, except those that it passes on.
    fn is_used_later(&self, slots: Range<u32>, given_on: &FxHashSet<SlotId>) -> bool {
        let Some(last_use) = self.last_use else { return false };
        let is_constant = |slot: SlotId| matches!(self.slot(slot).origin, Origin::Constant(_));
        slots.filter(|slot| last_use[*slot as usize] > self.position).any(|slot| {
            let slot = self.resolve(SlotId(slot));
            !given_on.contains(&slot) && !is_constant(slot)
        })
    }

    /// Writes the iterations before the body, once, and the body between the steps that begin and repeat it.
    fn emit(
        &mut self,
        noted: &Noted,
        segments: Vec<Segment>,
        first: usize,
        [form, last]: [&Form; 2],
        places: &[Place],
        steps: &mut Vec<Step>,
    ) {
        let (carried, inside) = self.parameters([form, last], places);
        let mut inside = inside.into_iter();
        // The body always runs once. Host variables have their later values only if lanes ran these iterations.
        let is_steady: Vec<bool> = segments.iter().take(first).map(|segment| segment.unchanged.host).collect();
        let is_tested = |number: usize| number > 0 && is_steady[number..].contains(&false);
        let mut body = Vec::new();
        for (number, segment) in segments.into_iter().take(first + 1).enumerate() {
            if number == first {
                body = segment.steps;
            } else {
                steps.extend(segment.test.filter(|_| is_tested(number)).map(Step::Test));
                steps.extend(segment.steps);
            }
        }
        body.iter_mut().for_each(|step| step.rename(|slot| inside.next().unwrap_or(slot)));
        let test = inside.next().and_then(|test| carried.iter().position(|carried| carried.param == test));
        let test = test.expect("the value that is read has the last place, and is carried") as u32;
        let (length, limit) = (body.len() as u32, noted.limit.map(|limit| (limit, first as u32)));
        let slots = carried.iter().flat_map(|carried| [carried.param, carried.out]).collect();
        steps.push(Step::Loop(LoopStep { carried, test, length, limit, site: noted.site }));
        steps.extend(body);
        steps.push(Step::Repeat(RepeatStep { length, slots }));
    }

    /// Creates the parameters of a body, which represent the results of the last iteration from here on. Returns the
    /// carried slots, and the slot at each place.
    fn parameters(&mut self, [form, last]: [&Form; 2], places: &[Place]) -> (SmallVec<[Carried; 4]>, Vec<SlotId>) {
        let mut carried: SmallVec<[Carried; 4]> = SmallVec::new();
        let mut inside = Vec::with_capacity(places.len());
        for (place, &init) in places.iter().zip(&form.slots) {
            let Place::Carried { made } = place else {
                inside.push(init);
                continue;
            };
            let out = form.made[*made as usize];
            let known = carried.iter().find(|carried| carried.out == out).map(|carried| carried.param);
            inside.push(known.unwrap_or_else(|| {
                let param = self.add(out);
                carried.push(Carried { param, init, out });
                self.renamed.insert(last.made[*made as usize], param);
                param
            }));
        }
        (carried, inside)
    }
}

#[cfg(test)]
mod match_tests;
#[cfg(test)]
mod tests;
