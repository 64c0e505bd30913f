//! The storage of each slot: slots that are not used at the same time share a block.

use super::{DonatedCopy, Origin, Recording, Slot, SlotId, Step};

/// The steps between which a slot is used, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lifetime {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// When each slot is used; none for slots that no step uses.
pub(crate) type Lifetimes = Vec<Option<Lifetime>>;

/// Returns when each slot is used, and for each slot whether loops exchange its memory with that of an output.
pub(crate) fn lifetimes(slots: &[Slot], steps: &[Step], is_output: &[bool]) -> (Lifetimes, Vec<bool>) {
    let mut lifetimes: Lifetimes = vec![None; slots.len()];
    for (number, step) in (0_u32..).zip(steps) {
        for slot in step.slots() {
            // Inputs and constants are there before the first step: each iteration of a loop uses them anew.
            let first = if matches!(slots[slot.index()].origin, Origin::Step) { number } else { 0 };
            let lifetime = lifetimes[slot.index()].get_or_insert(Lifetime { first, last: number });
            lifetime.last = number;
        }
    }
    let mut is_exchanged = vec![false; slots.len()];
    if steps.iter().any(|step| matches!(step, Step::Loop(_))) {
        while repeat(steps, &mut lifetimes) || exchange(steps, is_output, &mut lifetimes, &mut is_exchanged) {}
    }
    (lifetimes, is_exchanged)
}

/// A slot from before a loop that is used in the loop is used until the loop ends. Returns whether that changes
/// anything.
fn repeat(steps: &[Step], lifetimes: &mut Lifetimes) -> bool {
    let mut has_changed = false;
    for (begin, step) in (0_u32..).zip(steps) {
        let Step::Loop(inner) = step else { continue };
        let end = begin + inner.length + 1;
        let is_from_before =
            |lifetime: &&mut Lifetime| lifetime.first <= begin && (begin..end).contains(&lifetime.last);
        for lifetime in lifetimes.iter_mut().flatten().filter(is_from_before) {
            lifetime.last = end;
            has_changed = true;
        }
    }
    has_changed
}

/// A carried value may be in the memory of either of two slots, so both are used while one is. Returns whether that
/// changes anything.
fn exchange(steps: &[Step], is_output: &[bool], lifetimes: &mut Lifetimes, is_exchanged: &mut [bool]) -> bool {
    let mut has_changed = false;
    let loops = steps.iter().filter_map(|step| if let Step::Loop(inner) = step { Some(inner) } else { None });
    for carried in loops.flat_map(|inner| &inner.carried) {
        let pair = [carried.param.index(), carried.out.index()];
        let known = pair.map(|slot| lifetimes[slot].map(|lifetime| (lifetime.first, lifetime.last)));
        let [Some(a), Some(b)] = known else { continue };
        let both = Lifetime { first: a.0.min(b.0), last: a.1.max(b.1) };
        let is_given_back = pair.iter().any(|&slot| is_output[slot] || is_exchanged[slot]);
        for slot in pair {
            has_changed |= lifetimes[slot] != Some(both) || is_exchanged[slot] != is_given_back;
            (lifetimes[slot], is_exchanged[slot]) = (Some(both), is_given_back);
        }
    }
    has_changed
}

/// Copies of inputs that are not used afterwards, to memory that was not used before.
pub(crate) fn yields(slots: &[Slot], steps: &[Step], plan: &Lifetimes, outputs: &[SlotId]) -> Vec<DonatedCopy> {
    let of_step = |(step, it): (u32, &Step)| {
        let Step::Kernel(super::KernelStep { copy: Some((from, to)), .. }) = it else { return None };
        let (from, to) = (*from, *to);
        let Origin::Input(input) = slots[from.index()].origin else { return None };
        let is_last = plan[from.index()].is_some_and(|lifetime| lifetime.last == step);
        let is_first = plan[to.index()].is_some_and(|lifetime| lifetime.first == step);
        let is_right =
            is_last && is_first && !outputs.contains(&from) && slots[from.index()].ty == slots[to.index()].ty;
        is_right.then_some(DonatedCopy { step, from, to, input })
    };
    (0..).zip(steps).filter_map(of_step).collect()
}

/// Blocks of memory for the temporary slots of a replay.
#[derive(Clone, Default, Debug)]
pub(crate) struct Blocks {
    /// For each slot, its block.
    pub(crate) of_slot: Vec<Option<u32>>,
    /// The size of each block.
    pub(crate) bytes: Vec<usize>,
    /// For each block that is the memory of a result, the output slot.
    pub(crate) result: Vec<Option<SlotId>>,
}

/// Results of at least this size lend their memory to slots that are needed before they are written. Smaller ones are
/// retained from one replay to the next, together with their addresses.
const MIN_LENT_RESULT: usize = 1 << 20;

impl Recording {
    /// Whether a slot is a temporary of the replay.
    fn is_temporary(&self, slot: usize) -> bool {
        matches!(self.slots[slot].origin, Origin::Step) && !self.is_output[slot] && !self.is_exchanged[slot]
    }

    fn is_large_result(&self, slot: usize, bytes_of: impl Fn(usize) -> usize) -> bool {
        let is_step = matches!(self.slots[slot].origin, Origin::Step);
        // A slot that may be a donated input lends no storage.
        let is_copy = || self.yields.iter().any(|copy| copy.to.index() == slot);
        is_step && self.is_output[slot] && !self.is_exchanged[slot] && bytes_of(slot) >= MIN_LENT_RESULT && !is_copy()
    }

    /// Whether a slot is used by a step, or is an output.
    pub(crate) fn is_wanted(&self, slot: usize) -> bool {
        self.plan[slot].is_some() || self.is_output[slot]
    }

    /// Assigns a block to each temporary slot, for given sizes: among the free blocks the one that fits best, or that
    /// has to grow least. A large result takes over a block of its size.
    pub(crate) fn blocks(&self, bytes_of: impl Fn(usize) -> usize) -> Blocks {
        let mut blocks = Blocks { of_slot: vec![None; self.slots.len()], ..Blocks::default() };
        let mut begins: Vec<(u32, usize)> = Vec::new();
        for (slot, lifetime) in self.plan.iter().enumerate() {
            let is_lent = |slot| self.is_large_result(slot, &bytes_of);
            if let Some(lifetime) = lifetime.filter(|_| self.is_temporary(slot) || is_lent(slot)) {
                begins.push((lifetime.first, slot));
            }
        }
        begins.sort_unstable();
        // For each block, the last step that uses it.
        let mut busy_until: Vec<u32> = Vec::new();
        for (first, slot) in begins {
            let wanted = bytes_of(slot);
            let is_result = self.is_output[slot];
            let is_free = |&block: &usize| busy_until[block] < first && (!is_result || blocks.bytes[block] == wanted);
            let free = (0..busy_until.len()).filter(is_free);
            let cost = |block: &usize| match blocks.bytes[*block] {
                size if size >= wanted => (0, size - wanted),
                size => (1, wanted - size),
            };
            let block = free.min_by_key(cost).unwrap_or_else(|| {
                busy_until.push(0);
                blocks.bytes.push(0);
                blocks.result.push(None);
                busy_until.len() - 1
            });
            blocks.bytes[block] = blocks.bytes[block].max(wanted);
            busy_until[block] = match self.plan[slot] {
                Some(lifetime) if !is_result => lifetime.last,
                _ => u32::MAX,
            };
            if is_result {
                blocks.result[block] = Some(SlotId(slot as u32));
            }
            blocks.of_slot[slot] = Some(block as u32);
        }
        blocks
    }
}
