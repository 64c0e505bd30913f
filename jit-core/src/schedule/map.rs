//! A map from nodes to numbers that is cleared in constant time. Each thread reuses it from one evaluation to the next.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::graph::node::Node;
use crate::thread_state::thread_state;

#[derive(Clone, Copy)]
struct Slot {
    key: usize,
    epoch: u32,
    value: u32,
}

/// From nodes to numbers: open addressing, linear probing.
pub(super) struct NodeMap {
    slots: Vec<Slot>,
    epoch: u32,
    len: usize,
}

thread_state! {
    static SPARE: Cell<Option<NodeMap>> = Cell::new(None);
}

const SMALLEST: usize = 256;
/// A larger map is not retained.
const LARGEST_KEPT: usize = 1 << 16;

impl NodeMap {
    /// Returns an empty map.
    pub(super) fn take() -> NodeMap {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        let mut map = spare.unwrap_or_else(|| NodeMap { slots: empty(SMALLEST), epoch: 0, len: 0 });
        map.len = 0;
        map.epoch = map.epoch.wrapping_add(1);
        if map.epoch == 0 {
            map = NodeMap { slots: empty(SMALLEST), epoch: 1, len: 0 };
        }
        map
    }

    /// Retains the memory for the thread's next map.
    pub(super) fn give_back(self) {
        if self.slots.len() <= LARGEST_KEPT {
            let _ = SPARE.try_with(|spare| spare.set(Some(self)));
        }
    }

    #[inline]
    fn find(&self, key: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(20) as usize & mask;
        while self.slots[at].epoch == self.epoch && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Returns the number of a node.
    #[inline]
    pub(super) fn get(&self, node: NonNull<Node>) -> Option<u32> {
        let slot = &self.slots[self.find(node.addr().get())];
        (slot.epoch == self.epoch).then_some(slot.value)
    }

    /// Returns the number of a node, which gets this one if it has none.
    #[inline]
    pub(super) fn get_or_insert(&mut self, node: NonNull<Node>, value: u32) -> u32 {
        let (slot, is_new) = self.slot(node.addr().get());
        if is_new {
            slot.value = value;
        }
        slot.value
    }

    /// Sets the number of a node.
    #[inline]
    pub(super) fn insert(&mut self, node: NonNull<Node>, value: u32) {
        self.slot(node.addr().get()).0.value = value;
    }

    /// Returns the slot of a key, and whether it had none.
    #[inline]
    fn slot(&mut self, key: usize) -> (&mut Slot, bool) {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.find(key);
        let slot = &mut self.slots[at];
        let is_new = slot.epoch != self.epoch;
        self.len += usize::from(is_new);
        (slot.key, slot.epoch) = (key, self.epoch);
        (slot, is_new)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = empty(self.slots.len() * 4);
        let slots = std::mem::replace(&mut self.slots, larger);
        for slot in slots.into_iter().filter(|slot| slot.epoch == self.epoch) {
            let at = self.find(slot.key);
            self.slots[at] = slot;
        }
    }
}

fn empty(len: usize) -> Vec<Slot> {
    vec![Slot { key: 0, epoch: 0, value: 0 }; len]
}
