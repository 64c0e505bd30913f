//! Scans whose order does not matter, in one pass (Merrill and Garland, "Single-pass Parallel Prefix Scan with
//! Decoupled Look-back", NVR-2016-002).
//!
//! Each block scans a tile and publishes its total. A warp of it then looks at the tiles before, 32 at a time, adds up
//! their totals until it finds one that knows the total of all before it, and publishes the sum. Blocks take the tiles
//! in ascending order, whatever their own number is, so the tiles that a block waits for are those of blocks that run.
//!
//! Parts are segments: the first element of a part is a *head*, at which a scan starts again. The total of a tile with
//! a head is that from its last head on, and needs nothing from before.

use super::super::super::Target;
use super::super::super::ptx::{Class, Operand, Register};
use super::super::Routine;
use super::super::block::WARP;
use super::super::builder::Builder;
use super::super::element::{combined_type, identity};
use super::super::fill;
use super::super::plan::{Argument, Plan};
use super::Scan;
use crate::ir::Type;

pub(super) const THREADS: u32 = 256;
/// The consecutive elements of a thread.
const PER_THREAD: u32 = 8;
const TILE: u32 = THREADS * PER_THREAD;
const WARPS: u32 = THREADS / WARP;
/// The banks of shared memory: after so many elements, one is left out, so that those of neighbouring threads are in
/// different banks.
const BANKS: u32 = 32;

/// The state of a tile: 0 at first, then one of these.
const TOTAL: u32 = 1;
/// The total includes all that comes before.
const SUM: u32 = 2;
/// The bytes for the total of a tile.
const SLOT: u32 = 8;

/// Adds the scan of an array to another.
pub(super) fn add_to_plan(plan: &mut Plan, routine: Routine, [len, restart]: [usize; 2], memory: [Argument; 2]) {
    let tiles = len.div_ceil(TILE as usize);
    // The number of tiles that were taken, then the state of each.
    let states = plan.temporary(4 * (tiles as u64 + 1));
    let [totals, sums] = [(); 2].map(|()| plan.temporary(u64::from(SLOT) * tiles as u64));
    fill::add_to_plan(plan, states, 0, Type::U32, tiles + 1);
    let sizes = [len, restart].map(|size| Argument::Word(size as u32));
    let arguments = memory.into_iter().chain([states, totals, sums]).chain(sizes).collect();
    plan.launch(routine, tiles, arguments);
}

/// A value and a predicate: the combination of some elements from the last head among them on, and whether there is
/// one.
#[derive(Clone, Copy)]
struct Segment {
    value: Register,
    has_head: Register,
}

/// The code of a scan, with what it needs everywhere.
struct Code {
    b: Builder,
    scan: Scan,
    combined: Type,
    none: Operand,
    /// The size of a value in shared memory.
    size: u32,
    len: Register,
    restart: Register,
    thread: Register,
    tile: Register,
    /// The first element of the tile, in the order of the scan.
    first: Register,
    elements: Register,
}

pub(super) fn scan(scan: Scan, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let [input, output, states, totals, sums] =
        ["input", "output", "states", "totals", "sums"].map(|name| b.pointer(name));
    let (len, restart) = (b.size("len"), b.size("restart"));
    let (combined, none) = (combined_type(scan.ty), identity(scan.op, scan.ty));
    let size = combined.size_bytes() as u32;
    let elements = b.shared("elements", (TILE + TILE / BANKS) * size);
    let thread = b.thread();
    let tile = take_tile(&mut b, thread, states);
    let first = b.mul(tile, TILE);
    let mut code = Code { b, scan, combined, none, size, len, restart, thread, tile, first, elements };
    code.load(input);
    let heads = code.heads();
    let own = code.own_elements(&heads);
    let (before, total) = code.combine_threads(own);
    let carry = code.find_carry([states, totals, sums], heads[0], total);
    code.write_results(&heads, before, carry);
    code.store(output);
    code.b
}

/// The next tile that no block has taken.
fn take_tile(b: &mut Builder, thread: Register, states: Register) -> Register {
    let taken = b.shared("taken_tile", 4);
    let is_first = b.is_equal(thread, 0);
    b.when(is_first, |b| {
        let number = b.register(Class::Word);
        b.write("atom.global.add.u32", number, &[Operand::Memory(states, 0), 1.into()]);
        b.store_word("shared", taken, 0, number);
    });
    b.barrier();
    b.load_word("shared", taken, 0)
}

impl Code {
    /// The place of an element of the tile in shared memory.
    fn place(&mut self, position: Register) -> Register {
        let skipped = self.b.shr(position, BANKS.ilog2());
        let place = self.b.add(position, skipped);
        self.b.at(self.elements, place, self.size)
    }

    /// The index of an element of the tile in the arrays, and whether it exists.
    fn index(&mut self, position: Register) -> (Register, Register) {
        let in_scan = self.b.add(self.first, position);
        let exists = self.b.is_less(in_scan, self.len);
        let last = self.b.sub(self.len, 1);
        (if self.scan.is_reverse { self.b.sub(last, in_scan) } else { in_scan }, exists)
    }

    /// The positions that a thread loads and stores: neighbouring threads have neighbouring ones.
    fn striped(&mut self) -> Vec<Register> {
        (0..PER_THREAD).map(|number| self.b.add(self.thread, number * THREADS)).collect()
    }

    /// The places of the consecutive elements of a thread.
    fn own_places(&mut self) -> Vec<Register> {
        let first = self.b.mul(self.thread, PER_THREAD);
        (0..PER_THREAD)
            .map(|number| {
                let position = self.b.add(first, number);
                self.place(position)
            })
            .collect()
    }

    /// Copies the tile to shared memory. Behind the end are identities.
    fn load(&mut self, input: Register) {
        for position in self.striped() {
            let (index, exists) = self.index(position);
            let address = self.b.at(input, index, self.scan.ty.size_bytes() as u32);
            let value = self.b.load_element("global.nc", self.scan.ty, address, exists, &self.none);
            let place = self.place(position);
            self.b.store_element("shared", self.combined, place, value);
        }
        self.b.barrier();
    }

    /// Whether each element of the thread is the first one of its part, in the order of the scan.
    fn heads(&mut self) -> Vec<Register> {
        let b = &mut self.b;
        let first = b.mad(self.thread, PER_THREAD, self.first);
        // How far the element is in its part, if its part is as long as the others.
        let in_part = if self.scan.is_reverse {
            let last = b.sub(self.len, 1);
            let index = b.sub(last, first);
            let from_first = b.rem(index, self.restart);
            let last_of_part = b.sub(self.restart, 1);
            b.sub(last_of_part, from_first)
        } else {
            b.rem(first, self.restart)
        };
        let mut position = in_part;
        let mut heads = Vec::new();
        for number in 0..PER_THREAD {
            let begins_part = b.is_equal(position, 0);
            let in_scan = b.add(first, number);
            let begins_scan = b.is_equal(in_scan, 0);
            heads.push(b.either(begins_part, begins_scan));
            let next = b.add(position, 1);
            let ends_part = b.is_equal(next, self.restart);
            position = b.choose(ends_part, 0, next);
        }
        heads
    }

    /// `next`, combined with what is before it unless a part begins.
    fn append(&mut self, before: Register, next: Register, begins: Register) -> Register {
        let both = self.b.join(self.scan.op, self.combined, before, next);
        self.b.choose(begins, next, both)
    }

    /// Combines the elements of the thread.
    fn own_elements(&mut self, heads: &[Register]) -> Segment {
        let mut sum = Segment { value: self.b.value(self.scan.ty, &self.none), has_head: heads[0] };
        for (place, head) in self.own_places().into_iter().zip(heads) {
            let next = self.b.load_whole("shared", self.combined, place, 0);
            sum.value = self.append(sum.value, next, *head);
            sum.has_head = self.b.either(sum.has_head, *head);
        }
        sum
    }

    /// Two neighbouring segments as one.
    fn join(&mut self, before: Segment, next: Segment) -> Segment {
        let value = self.append(before.value, next.value, next.has_head);
        Segment { value, has_head: self.b.either(before.has_head, next.has_head) }
    }

    /// The segment of a lane before, where there is one.
    fn segment_before(&mut self, lane: Register, segment: Segment, distance: u32) -> Segment {
        let b = &mut self.b;
        let exists = b.is_less(distance - 1, lane);
        let value = b.value_before(segment.value, distance);
        let none = b.value(self.scan.ty, &self.none);
        let value = b.choose(exists, value, none);
        let number = b.choose(segment.has_head, 1, 0);
        let number = b.value_before(number, distance);
        let has_head = b.differs(number, 0);
        Segment { value, has_head: b.both(has_head, exists) }
    }

    /// Combines the elements of all threads. Returns those before each thread, and all.
    fn combine_threads(&mut self, own: Segment) -> (Segment, Segment) {
        let (lane, warp) = (self.b.and(self.thread, WARP - 1), self.b.shr(self.thread, WARP.ilog2()));
        let mut up_to = own;
        for distance in [1, 2, 4, 8, 16] {
            let before = self.segment_before(lane, up_to, distance);
            up_to = self.join(before, up_to);
        }
        let (values, heads) = (self.b.shared("warp_totals", WARPS * self.size), self.b.shared("warp_heads", 4 * WARPS));
        let is_last = self.b.is_equal(lane, WARP - 1);
        let (value_place, head_place) = (self.b.at(values, warp, self.size), self.b.at(heads, warp, 4));
        let combined = self.combined;
        self.b.when(is_last, |b| {
            b.store_element("shared", combined, value_place, up_to.value);
            let number = b.choose(up_to.has_head, 1, 0);
            b.store_word("shared", head_place, 0, number);
        });
        self.b.barrier();
        let never = self.b.is_less(0, 0);
        let mut total = Segment { value: self.b.value(self.scan.ty, &self.none), has_head: never };
        let mut warps_before = total;
        for other in 0..WARPS {
            let is_own = self.b.is_equal(warp, other);
            warps_before.value = self.b.choose(is_own, total.value, warps_before.value);
            warps_before.has_head = self.choose_predicate(is_own, total.has_head, warps_before.has_head);
            let value = self.b.load_whole("shared", combined, values, other * self.size);
            let head = self.b.load_word("shared", heads, 4 * other);
            let next = Segment { value, has_head: self.b.differs(head, 0) };
            total = self.join(total, next);
        }
        let in_warp = self.segment_before(lane, up_to, 1);
        (self.join(warps_before, in_warp), total)
    }

    fn choose_predicate(&mut self, condition: Register, value: Register, other: Register) -> Register {
        let value = self.b.choose(value, 1, 0);
        let other = self.b.choose(other, 1, 0);
        let number = self.b.choose(condition, value, other);
        self.b.differs(number, 0)
    }

    /// The combination of all elements before the tile that are in the part of its first one. It is arbitrary if that
    /// begins a part.
    fn find_carry(&mut self, memory: [Register; 3], first_is_head: Register, total: Segment) -> Register {
        let found = self.b.shared("carry", SLOT);
        let (label, thread) = (self.b.label("has_carry"), self.thread);
        let is_other = self.b.is_less(WARP - 1, thread);
        self.b.branch(Some((is_other, true)), label);
        self.publish(memory, total, thread);
        let carry = self.look_back(memory, first_is_head, thread);
        let is_first = self.b.is_equal(thread, 0);
        let sum = self.b.join(self.scan.op, self.combined, carry, total.value);
        let is_open = self.b.negated(total.has_head);
        let publishes = self.b.both(is_first, is_open);
        self.set_state(publishes, memory[0], memory[2], sum, SUM);
        let combined = self.combined;
        self.b.when(is_first, |b| b.store_element("shared", combined, found, carry));
        self.b.place(label);
        self.b.barrier();
        self.b.load_whole("shared", combined, found, 0)
    }

    /// Publishes the total of the tile, which is that of all before it, too, if it has a head.
    fn publish(&mut self, [states, totals, sums]: [Register; 3], total: Segment, thread: Register) {
        let is_first = self.b.is_equal(thread, 0);
        let is_open = self.b.negated(total.has_head);
        let (closed, open) = (self.b.both(is_first, total.has_head), self.b.both(is_first, is_open));
        self.set_state(closed, states, sums, total.value, SUM);
        self.set_state(open, states, totals, total.value, TOTAL);
    }

    /// Writes a value of the tile, and then its state: a thread that reads the state sees the value.
    fn set_state(&mut self, condition: Register, states: Register, slots: Register, value: Register, state: u32) {
        let (tile, combined) = (self.tile, self.combined);
        self.b.when(condition, |b| {
            let slot = b.at(slots, tile, SLOT);
            b.store_element("global", combined, slot, value);
            let place = b.at(states, tile, 4);
            b.effect(None, "st.release.gpu.global.u32", &[Operand::Memory(place, 4), state.into()]);
        });
    }

    /// A warp adds up the totals of the tiles before. Lane 0 looks at the tile before this one, the others at those
    /// before that.
    fn look_back(&mut self, memory: [Register; 3], first_is_head: Register, lane: Register) -> Register {
        let (op, ty) = (self.scan.op, self.scan.ty);
        let carry = self.b.value(ty, &self.none);
        // Only the first thread knows whether the first element is a head.
        let number = self.b.choose(first_is_head, 1, 0);
        let number = self.b.value_of_lane(number, 0);
        let goes_on = self.b.is_equal(number, 0);
        let goes_on = self.b.choose(goes_on, 1, 0);
        // The tile after the one that lane 0 looks at.
        let end = self.b.variable(self.tile);
        let (next, done) = (self.b.label("look_back"), self.b.label("looked_back"));
        self.b.place(next);
        let is_done = self.b.is_equal(goes_on, 0);
        self.b.branch(Some((is_done, true)), done);
        let (value, knows_all) = self.look(memory, end, lane);
        let sum = self.sum_until(value, knows_all, lane);
        let both = self.b.join(op, self.combined, sum, carry);
        self.b.set(carry, both);
        let none_knows = self.b.is_equal(knows_all, 0);
        let again = self.b.choose(none_knows, 1, 0);
        self.b.set(goes_on, again);
        self.b.write("sub.u32", end, &[end.into(), WARP.into()]);
        self.b.branch(None, next);
        self.b.place(done);
        carry
    }

    /// Waits for the state of a tile. Returns its value, and the lanes whose tile knows all that comes before it. Lanes
    /// before the first tile do.
    fn look(&mut self, [states, totals, sums]: [Register; 3], end: Register, lane: Register) -> (Register, Register) {
        let (ty, combined) = (self.scan.ty, self.combined);
        let value = self.b.value(ty, &self.none);
        let state = self.b.variable(SUM);
        let exists = self.b.is_less(lane, end);
        self.b.when(exists, |b| {
            let last = b.sub(end, 1);
            let tile = b.sub(last, lane);
            let place = b.at(states, tile, 4);
            let retry = b.label("wait");
            b.place(retry);
            b.write("ld.acquire.gpu.global.u32", state, &[Operand::Memory(place, 4)]);
            let is_empty = b.is_equal(state, 0);
            b.branch(Some((is_empty, true)), retry);
            let is_sum = b.is_equal(state, SUM);
            let slots = b.choose(is_sum, sums, totals);
            let slot = b.at(slots, tile, SLOT);
            let found = b.load_whole("global", combined, slot, 0);
            b.set(value, found);
        });
        let is_sum = self.b.is_equal(state, SUM);
        (value, self.b.ballot(is_sum))
    }

    /// Combines the values of the lanes up to the first one of a set.
    fn sum_until(&mut self, value: Register, set: Register, lane: Register) -> Register {
        let (op, ty, combined) = (self.scan.op, self.scan.ty, self.combined);
        let b = &mut self.b;
        let bits_below = b.shl(1, lane);
        let bits_below = b.sub(bits_below, 1);
        let earlier = b.and(set, bits_below);
        let counts = b.is_equal(earlier, 0);
        let none = b.value(ty, &self.none);
        let mut sum = b.choose(counts, value, none);
        for distance in [1, 2, 4, 8, 16] {
            let other = b.value_before(sum, distance);
            let exists = b.is_less(distance - 1, lane);
            let other = b.choose(exists, other, none);
            sum = b.join(op, combined, other, sum);
        }
        b.value_of_lane(sum, WARP - 1)
    }

    /// Scans the elements of the thread again, from what is before them on.
    fn write_results(&mut self, heads: &[Register], before: Segment, carry: Register) {
        let (op, ty, combined) = (self.scan.op, self.scan.ty, self.combined);
        let none = self.b.value(ty, &self.none);
        let mut sum = self.append(carry, before.value, before.has_head);
        for (place, head) in self.own_places().into_iter().zip(heads) {
            let next = self.b.load_whole("shared", combined, place, 0);
            let start = self.b.choose(*head, none, sum);
            sum = self.b.join(op, combined, start, next);
            let result = if self.scan.is_exclusive { start } else { sum };
            self.b.store_element("shared", combined, place, result);
        }
        self.b.barrier();
    }

    /// Copies the results to the output.
    fn store(&mut self, output: Register) {
        let (ty, combined) = (self.scan.ty, self.combined);
        for position in self.striped() {
            let (index, exists) = self.index(position);
            let place = self.place(position);
            self.b.when(exists, |b| {
                let address = b.at(output, index, ty.size_bytes() as u32);
                let value = b.load_whole("shared", combined, place, 0);
                b.store_element("global", ty, address, value);
            });
        }
    }
}
