//! Short rows, sorted in shared memory by a bitonic network (Batcher 1968). It is not stable, so positions decide
//! between equal keys. Rows are padded to a power of two by elements that come last.

use super::super::super::Target;
use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::key::{bits_type, key, largest, suffixes};
use super::{Outputs, SortPass, THREADS};
use crate::ir::Type;

/// The longest row.
pub(super) const MAX_ROW: usize = SLOTS;
/// The elements of a block, which sorts as many rows as fit, each padded to a power of two.
pub(super) const SLOTS: usize = 2048;
/// The position of elements that pad a row.
const NONE: i64 = u32::MAX as i64;

/// The slots of a block.
struct Slots {
    ty: Type,
    keys: Register,
    positions: Register,
    /// The type of a key in shared memory, which has the size of its register.
    key_type: Type,
    /// The number of slots of a row, a power of two, and that less one.
    row_slots: Register,
    in_row: Register,
}

/// A slot: the row that it belongs to, and its place in it.
struct Slot {
    row_first: Register,
    place: Register,
    exists: Register,
}

pub(super) fn sort(pass: SortPass, gives: Outputs, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let input = b.pointer("input");
    let values = gives.has_values().then(|| b.pointer("values"));
    let positions = gives.has_positions().then(|| b.pointer("positions"));
    let sizes = ["len", "row", "rows", "row_slots"].map(|name| b.size(name));
    let slots = Slots::new(&mut b, pass.ty, sizes[3]);
    slots.load(&mut b, pass, input, sizes);
    slots.sort(&mut b);
    slots.store(&mut b, input, [values, positions], sizes);
    b
}

impl Slots {
    fn new(b: &mut Builder, ty: Type, row_slots: Register) -> Slots {
        let key_type = if ty.size_bytes() == 8 { Type::U64 } else { Type::U32 };
        let keys = b.shared("keys", (SLOTS * key_type.size_bytes()) as u32);
        let positions = b.shared("slot_positions", 4 * SLOTS as u32);
        let in_row = b.sub(row_slots, 1);
        Slots { ty, keys, positions, key_type, row_slots, in_row }
    }

    /// The row and place of a slot.
    fn slot(&self, b: &mut Builder, number: Register, [len, row, rows, _]: [Register; 4]) -> Slot {
        let (block, place) = (b.block(), b.and(number, self.in_row));
        let row_in_block = b.div(number, self.row_slots);
        let rows_of_block = b.div(SLOTS as u32, self.row_slots);
        let row_number = b.mad(block, rows_of_block, row_in_block);
        let is_row = b.is_less(row_number, rows);
        let row_first = b.mul(row_number, row);
        let left = b.sub(len, row_first);
        let row_len = b.min(row, left);
        let is_inside = b.is_less(place, row_len);
        Slot { row_first, place, exists: b.both(is_row, is_inside) }
    }

    /// Runs code for some numbers below a bound, which together are those of all threads.
    fn each(b: &mut Builder, count: usize, code: impl FnOnce(&mut Builder, Register)) {
        let thread = b.thread();
        b.count(thread, count as u32, THREADS, code);
    }

    fn load(&self, b: &mut Builder, pass: SortPass, input: Register, sizes: [Register; 4]) {
        Slots::each(b, SLOTS, |b, number| {
            let slot = self.slot(b, number, sizes);
            let (own_key, position) = (b.register(Class::of(self.key_type)), b.register(Class::Word));
            b.set(own_key, largest(self.key_type));
            b.set(position, Operand::Integer(NONE));
            b.when(slot.exists, |b| {
                let index = b.add(slot.row_first, slot.place);
                let bits = self.load_bits(b, input, index);
                let found = key(b, self.ty, pass.is_descending, bits);
                b.set(own_key, found);
                b.set(position, slot.place);
            });
            let [key_place, position_place] = self.places(b, number);
            self.store_pair(b, [key_place, position_place], [own_key, position]);
        });
        b.barrier();
    }

    /// The bits of an element.
    fn load_bits(&self, b: &mut Builder, input: Register, index: Register) -> Register {
        let bits_type = bits_type(self.ty);
        let address = b.at(input, index, bits_type.size_bytes() as u32);
        let bits = b.register(Class::of(bits_type));
        b.load_from("global.nc", None, bits_type, Operand::Memory(address, 0), bits);
        bits
    }

    /// The addresses of the key and the position of a slot.
    fn places(&self, b: &mut Builder, number: Register) -> [Register; 2] {
        [b.at(self.keys, number, self.key_type.size_bytes() as u32), b.at(self.positions, number, 4)]
    }

    fn load_pair(&self, b: &mut Builder, [key, position]: [Register; 2]) -> [Register; 2] {
        let result = b.register(Class::of(self.key_type));
        b.load_from("shared", None, self.key_type, Operand::Memory(key, 0), result);
        [result, b.load_word("shared", position, 0)]
    }

    fn store_pair(&self, b: &mut Builder, places: [Register; 2], [key, position]: [Register; 2]) {
        b.store_to("shared", None, self.key_type, Operand::Memory(places[0], 0), &key.into());
        b.store_word("shared", places[1], 0, position);
    }

    /// Merges sequences of alternating order to ones that are twice as long, until they are as long as rows.
    fn sort(&self, b: &mut Builder) {
        let length = b.variable(2);
        b.repeat(
            |b| b.at_most(length, self.row_slots),
            |b| {
                let half = b.shr(length, 1);
                let distance = b.variable(half);
                b.repeat(
                    |b| b.differs(distance, 0),
                    |b| {
                        Slots::each(b, SLOTS / 2, |b, number| self.order_pair(b, number, distance, length));
                        b.barrier();
                        let next = b.shr(distance, 1);
                        b.set(distance, next);
                    },
                );
                let next = b.shl(length, 1);
                b.set(length, next);
            },
        );
    }

    /// Orders the two slots of a pair, which are a distance apart: descending in every other sequence of a row.
    fn order_pair(&self, b: &mut Builder, number: Register, distance: Register, length: Register) {
        let mask = b.sub(distance, 1);
        let low_bits = b.and(number, mask);
        let high_bits = b.sub(number, low_bits);
        let first = b.mad(high_bits, 2, low_bits);
        let second = b.add(first, distance);
        let places = [first, second].map(|slot| self.places(b, slot));
        let pairs = places.map(|places| self.load_pair(b, places));
        let in_row = b.and(first, self.in_row);
        let direction = b.and(in_row, length);
        let is_descending = b.differs(direction, 0);
        let is_behind = self.is_behind(b, pairs);
        let swaps = b.register(Class::Predicate);
        b.write("xor.pred", swaps, &[is_behind.into(), is_descending.into()]);
        b.when(swaps, |b| {
            self.store_pair(b, places[0], pairs[1]);
            self.store_pair(b, places[1], pairs[0]);
        });
    }

    /// Whether the first element of a pair comes after the second one.
    fn is_behind(
        &self,
        b: &mut Builder,
        [[key, position], [other_key, other_position]]: [[Register; 2]; 2],
    ) -> Register {
        let (unsigned, _) = suffixes(key.class);
        let is_larger = b.test(format!("setp.gt.{unsigned}"), &key.into(), other_key);
        let is_equal = b.test(format!("setp.eq.{unsigned}"), &key.into(), other_key);
        let is_later = b.is_less(other_position, position);
        let both = b.both(is_equal, is_later);
        let result = b.register(Class::Predicate);
        b.write("or.pred", result, &[is_larger.into(), both.into()]);
        result
    }

    /// Writes the outputs: elements are read again, by their position.
    fn store(
        &self,
        b: &mut Builder,
        input: Register,
        [values, positions]: [Option<Register>; 2],
        sizes: [Register; 4],
    ) {
        Slots::each(b, SLOTS, |b, number| {
            let slot = self.slot(b, number, sizes);
            b.when(slot.exists, |b| {
                let [_, position_place] = self.places(b, number);
                let position = b.load_word("shared", position_place, 0);
                let index = b.add(slot.row_first, slot.place);
                if let Some(values) = values {
                    let from = b.add(slot.row_first, position);
                    let bits = self.load_bits(b, input, from);
                    let stored = bits_type(self.ty);
                    let address = b.at(values, index, stored.size_bytes() as u32);
                    b.store_to("global", None, stored, Operand::Memory(address, 0), &bits.into());
                }
                if let Some(positions) = positions {
                    let address = b.at(positions, index, 4);
                    b.store_word("global", address, 0, position);
                }
            });
        });
    }
}
