//! Value numbering: equal expressions become one node.
//!
//! Each thread stores weak references to the nodes that it made. A lookup finds an entry by its hash, tries to upgrade
//! it, and only then compares the node: the node at the address may have died, or be another one by now, even one of
//! another thread. If it is alive and equal, it is as good as a new one, since its operands are the requested ones.
//! Entries of dead nodes are removed when the table is full.

use std::cell::RefCell;
use std::ptr::{self, NonNull};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use jit_runtime::cache::are_all_hashes_zero;

use super::gradients;
use super::node::{Draft, Node, Var, flag};
use super::op::Op;
use crate::size::table;
use crate::thread_state::thread_state;

struct Numbered {
    hash: u64,
    node: NonNull<Node>,
}

/// Returns whether a node is the one that an equal expression would be now. Nodes recorded by a frozen function are
/// distinguished from earlier ones, and those that carry gradients from others.
#[inline]
fn may_share(var: &Var) -> bool {
    let flags = var.flags();
    let is_of_recording = match table::is_recording() {
        true => flags & flag::RECORDED != 0,
        false if flags & flag::DISTINGUISHED == 0 => return true,
        false => flags & (flag::RECORDED | flag::HOSTED) == 0,
    };
    is_of_recording && (flags & (flag::GRAD | flag::DETACHED) == 0 || gradients::may_share(flags))
}

/// The initial capacity of a table.
const SMALLEST: usize = 3584;

struct Table {
    /// The nodes, in the order in which they were first made: a program that is traced again finds them one after
    /// another.
    entries: Vec<Numbered>,
    /// Positions among the entries. They are small, so the table stays in the cache longer than the entries would.
    positions: HashTable<u32>,
    /// The entry after that of the node that was made last.
    next: usize,
    /// Total weight of the nodes recorded by this thread, to distinguish small branches from large ones.
    work: u32,
    /// The number of nodes recorded by this thread.
    nodes: u64,
    /// The nodes made since the outermost open region was opened.
    since: Option<Since>,
}

/// The nodes made since some moment.
pub(crate) struct Since {
    /// The first entry made since.
    first: usize,
    /// Nodes that replaced a dead one, or have no entry.
    others: Vec<NonNull<Node>>,
}

impl Default for Table {
    fn default() -> Self {
        EMPTY
    }
}

const EMPTY: Table =
    Table { entries: Vec::new(), positions: HashTable::new(), next: 0, work: 0, nodes: 0, since: None };

thread_state! {
    static TABLE: RefCell<Table> = RefCell::new(EMPTY);
}

/// Multiplies to 128 bits and folds: one step of the hash (the construction of wyhash and foldhash).
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline]
fn address(operand: Option<&Var>) -> *mut Node {
    operand.map_or(ptr::null_mut(), |operand| operand.address().as_ptr())
}

impl Draft<'_> {
    #[inline]
    fn hash(&self) -> u64 {
        if are_all_hashes_zero() {
            return 0;
        }
        let [mut a, mut b, _] = self.operands.map(|operand| address(operand).addr() as u64);
        if self.op.is_commutative() && a > b {
            std::mem::swap(&mut a, &mut b);
        }
        let op = self.op.code() | u64::from(self.ty as u8) << 16 | u64::from(self.width.lanes) << 32;
        let low = fold(op ^ 0x9E37_79B9_7F4A_7C15, self.word ^ a ^ 0xD1B5_4A32_D192_ED03);
        fold(
            low ^ b.rotate_left(32),
            self.third_slot().addr() as u64
                ^ u64::from(self.region.get())
                ^ u64::from(self.width.size.0) << 40
                ^ 0x8CB9_2BA7_2F3D_8DD7,
        )
    }

    #[inline]
    fn describes(&self, var: &Var) -> bool {
        var.op() == self.op
            && var.ty() == self.ty
            && var.extent() == self.width
            && var.region() == self.region
            && self.has_operands_of(var)
            && may_share(var)
            // A node that has got its elements is no expression any more: a program that is traced again is scheduled
            // as before.
            && (if self.op.holds_bits() { var.word() == self.word } else { !var.has_data() })
    }

    /// Operands of a commutative operation are equal in either order, unless gradients distinguish them. The node
    /// retains the order of its first recording: an order by address would differ between recordings of a program, and
    /// so would the kernel.
    #[inline]
    fn has_operands_of(&self, var: &Var) -> bool {
        let [a, b, _] = self.operands.map(address);
        let is = |slot: usize, operand: *mut Node| self.op.slots() <= slot || var.operand_address(slot) == operand;
        let swapped = || self.op.may_exchange(var.flags()) && is(0, b) && is(1, a);
        ((is(0, a) && is(1, b)) || swapped()) && var.operand_address(2) == self.third_slot()
    }

    /// Returns the content of the node's third slot: an operand, or a position.
    #[inline]
    fn third_slot(&self) -> *mut Node {
        if self.position != 0 { ptr::without_provenance_mut(self.position) } else { address(self.operands[2]) }
    }

    /// Returns the node that the draft describes: an equal one that lives, or a new one.
    // Never: the many callers are small, and the functions called here are then inlined into this one function.
    #[inline(never)]
    pub(crate) fn number(self) -> Var {
        let numbered = TABLE.try_with(|table| table.try_borrow_mut().ok().map(|mut table| table.number(self)));
        // A thread that is being torn down has no table any more.
        numbered.ok().flatten().unwrap_or_else(|| Var::new(self))
    }
}

impl Table {
    #[inline]
    fn number(&mut self, draft: Draft<'_>) -> Var {
        let hash = draft.hash();
        if self.positions.len() == self.positions.capacity() {
            self.make_room();
        }
        // A program that is traced again finds the entries in their order.
        if self.entries.get(self.next).is_some_and(|entry| entry.hash == hash) {
            self.next += 1;
            return self.number_at(self.next - 1, draft);
        }
        let entries = &self.entries;
        let is_equal = |&position: &u32| entries[position as usize].hash == hash;
        match self.positions.entry(hash, is_equal, |&position| entries[position as usize].hash) {
            Entry::Occupied(found) => {
                let position = *found.get() as usize;
                self.number_at(position, draft)
            }
            Entry::Vacant(vacant) => {
                let var = Var::new(draft);
                vacant.insert(self.entries.len() as u32);
                self.entries.push(Numbered { hash, node: var.address() });
                self.next = self.entries.len();
                self.count_node(draft.op);
                var
            }
        }
    }

    /// Returns the node at an entry with the hash of the draft, or a new one, which replaces it.
    #[inline(always)]
    fn number_at(&mut self, position: usize, draft: Draft<'_>) -> Var {
        let entry = &mut self.entries[position];
        if let Some(var) = Node::revive(entry.node).filter(|var| draft.describes(var)) {
            return var;
        }
        let var = Var::new(draft);
        entry.node = var.address();
        self.next = position + 1;
        self.since.iter_mut().for_each(|since| since.others.push(var.address()));
        self.count_node(draft.op);
        var
    }

    #[inline(always)]
    fn count_node(&mut self, op: Op) {
        self.work = self.work.wrapping_add(op.weight());
        self.nodes += 1;
    }

    /// Drops the entries of dead nodes, and grows the table if that does not free half of it.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.drop_dead();
        let (live, capacity) = (self.entries.len(), self.positions.capacity());
        let wanted =
            if live > capacity / 2 { (2 * capacity).max(SMALLEST) } else { capacity.min(16 * live).max(SMALLEST) };
        if wanted == capacity {
            self.positions.clear();
        } else {
            self.positions = HashTable::with_capacity(wanted);
            self.entries.shrink_to(wanted);
        }
        for (position, entry) in self.entries.iter().enumerate() {
            let hash = |&position: &u32| self.entries[position as usize].hash;
            self.positions.insert_unique(entry.hash, position as u32, hash);
        }
    }
}

impl Table {
    fn drop_dead(&mut self) {
        let first = self.since.as_ref().map_or(0, |since| since.first);
        let (mut position, mut kept) = (0, 0);
        self.entries.retain(|entry| {
            let is_alive = Node::is_alive(entry.node);
            kept += usize::from(is_alive && position < first);
            position += 1;
            is_alive
        });
        self.since.iter_mut().for_each(|since| since.first = kept);
    }
}

/// Begins to track the nodes that this thread makes; returns those tracked before.
pub(crate) fn begin_since() -> Option<Since> {
    TABLE.with_borrow_mut(|table| {
        let first = table.entries.len();
        table.since.replace(Since { first, others: Vec::new() })
    })
}

/// Stops tracking the nodes that this thread makes; returns them.
pub(crate) fn take_since() -> Option<Since> {
    TABLE.with_borrow_mut(|table| table.since.take())
}

/// Discards the nodes tracked since, and continues with those tracked before.
pub(crate) fn end_since(before: Option<Since>) {
    let _ = TABLE.try_with(|table| table.borrow_mut().since = before);
}

/// Registers a node that has no entry.
pub(crate) fn note_made(var: &Var) {
    TABLE.with_borrow_mut(|table| table.since.iter_mut().for_each(|since| since.others.push(var.address())));
}

/// Returns the living nodes made since this thread began to track; some others may be among them.
pub(crate) fn made_since() -> Vec<Var> {
    let nodes = TABLE.try_with(|table| {
        let Ok(table) = table.try_borrow() else { return Vec::new() };
        let Some(since) = &table.since else { return Vec::new() };
        let entries = table.entries[since.first..].iter().map(|entry| entry.node);
        entries.chain(since.others.iter().copied()).collect()
    });
    // Nodes are dropped after the table is released.
    nodes.unwrap_or_default().into_iter().filter_map(Node::revive).collect()
}

/// Returns whether a node was made since this thread began to track.
pub(crate) fn is_made_since(var: &Var) -> bool {
    TABLE.with_borrow(|table| {
        let Some(since) = &table.since else { return false };
        let mut made = table.entries[since.first..].iter().map(|entry| entry.node).chain(since.others.iter().copied());
        made.any(|node| node == var.address())
    })
}

/// Adds to the total weight recorded on this thread.
pub(crate) fn count_work(weight: u32) {
    TABLE.with(|table| {
        let mut table = table.borrow_mut();
        table.work = table.work.wrapping_add(weight);
    });
}

/// Returns the total weight recorded on this thread so far; it wraps.
pub(crate) fn work() -> u32 {
    TABLE.with(|table| table.borrow().work)
}

/// Returns the number of nodes recorded on this thread so far.
pub(crate) fn recorded_nodes() -> u64 {
    TABLE.try_with(|table| table.try_borrow().map_or(0, |table| table.nodes)).unwrap_or(0)
}
