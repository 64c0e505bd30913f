//! Passes of the radix sort. A block has a tile of a row, and each of its warps consecutive elements of the tile.
//!
//! The places of equal digits follow the order of elements, so each pass is stable: warps count first, each gets the
//! places behind those of the warps before, and lanes with the same digit, which they find by comparing it with that of
//! all others (`match`), take theirs in ascending order.

use super::super::super::Target;
use super::super::super::ptx::{Class, Operand, Register};
use super::super::block::WARP;
use super::super::builder::Builder;
use super::key::{bits_type, digit, key};
use super::{Outputs, RADIX, SortPass, THREADS, TILE};

const WARPS: u32 = THREADS / WARP;
/// The elements of a warp.
const WARP_TILE: u32 = TILE as u32 / WARPS;

/// The tile of a block, and the lane of a thread.
struct Tile {
    /// The first element of the row, and the end of the row.
    row_first: Register,
    row_end: Register,
    /// The first element of the tile.
    first: Register,
    /// The counts of the tile in the table: that of digit 0, and the distance of digits.
    entry: Register,
    tiles_per_row: Register,
    thread: Register,
    lane: Register,
    warp: Register,
    first_bit: Register,
}

fn tile(b: &mut Builder) -> Tile {
    let [len, row, tiles_per_row, first_bit] = ["len", "row", "tiles_per_row", "first_bit"].map(|name| b.size(name));
    let (thread, block) = (b.thread(), b.block());
    let (row_number, in_row) = (b.div(block, tiles_per_row), b.rem(block, tiles_per_row));
    let row_first = b.mul(row_number, row);
    let left = b.sub(len, row_first);
    let row_len = b.min(row, left);
    let row_end = b.add(row_first, row_len);
    let first = b.mad(in_row, TILE as u32, row_first);
    let digits_before = b.mul(row_number, RADIX);
    let entry = b.mad(digits_before, tiles_per_row, in_row);
    let (lane, warp) = (b.and(thread, WARP - 1), b.shr(thread, WARP.ilog2()));
    Tile { row_first, row_end, first, entry, tiles_per_row, thread, lane, warp, first_bit }
}

impl Tile {
    /// The place in the table of the digit that has the number of the thread.
    fn entry_of_thread(&self, b: &mut Builder, table: Register) -> Register {
        let entry = b.mad(self.thread, self.tiles_per_row, self.entry);
        b.at(table, entry, 4)
    }
}

/// Loads the bits of an element and its digit, where it exists. Elsewhere the digit is none of those that there are.
fn load(
    b: &mut Builder,
    pass: SortPass,
    values: Register,
    tile: &Tile,
    index: Register,
) -> (Register, Register, Register) {
    let bits_type = bits_type(pass.ty);
    let exists = b.is_less(index, tile.row_end);
    let bits = b.register(Class::of(bits_type));
    b.set(bits, 0);
    let own_digit = b.variable(RADIX);
    b.when(exists, |b| {
        let address = b.at(values, index, bits_type.size_bytes() as u32);
        b.load_from("global.nc", None, bits_type, Operand::Memory(address, 0), bits);
        let key = key(b, pass.ty, pass.is_descending, bits);
        let found = digit(b, key, tile.first_bit);
        b.set(own_digit, found);
    });
    (bits, own_digit, exists)
}

/// Counts the values of a digit in each tile. Tiles behind the end of a short row count nothing.
pub(super) fn count(pass: SortPass, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (values, table) = (b.pointer("values"), b.pointer("counts"));
    let tile = tile(&mut b);
    let counts = b.shared("digit_counts", 4 * RADIX);
    let own = b.at(counts, tile.thread, 4);
    b.store_word("shared", own, 0, 0);
    b.barrier();
    b.count(tile.thread, TILE as u32, THREADS, |b, position| {
        let index = b.add(tile.first, position);
        let (_, digit, exists) = load(b, pass, values, &tile, index);
        b.when(exists, |b| {
            let place = b.at(counts, digit, 4);
            b.effect(None, "red.shared.add.u32", &[Operand::Memory(place, 0), 1.into()]);
        });
    });
    b.barrier();
    let count = b.load_word("shared", own, 0);
    let entry = tile.entry_of_thread(&mut b, table);
    b.store_word("global", entry, 0, count);
    b
}

/// Moves the elements of each tile to their places.
pub(super) fn distribute(pass: SortPass, gives: Outputs, is_first: bool, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let values = b.pointer("values");
    let positions = (gives.has_positions() && !is_first).then(|| b.pointer("positions"));
    let table = b.pointer("places");
    let to_values = gives.has_values().then(|| b.pointer("to_values"));
    let to_positions = gives.has_positions().then(|| b.pointer("to_positions"));
    let tile = tile(&mut b);
    // For each warp the next place of each digit.
    let places = b.shared("next_places", 4 * RADIX * WARPS);
    let places_of_warp = b.at(places, tile.warp, 4 * RADIX);
    count_warps(&mut b, pass, values, &tile, places, places_of_warp);
    place_warps(&mut b, &tile, table, places);
    for_each_of_warp(&mut b, &tile, |b, index| {
        let (bits, digit, exists) = load(b, pass, values, &tile, index);
        let place = take_place(b, &tile, places_of_warp, digit, exists);
        b.when(exists, |b| {
            if let Some(to) = to_values {
                let stored = bits_type(pass.ty);
                let address = b.at(to, place, stored.size_bytes() as u32);
                b.store_to("global", None, stored, Operand::Memory(address, 0), &bits.into());
            }
            if let Some(to) = to_positions {
                let position = match positions {
                    Some(positions) => {
                        let address = b.at(positions, index, 4);
                        b.load_word("global.nc", address, 0)
                    }
                    None => b.sub(index, tile.row_first),
                };
                let address = b.at(to, place, 4);
                b.store_word("global", address, 0, position);
            }
        });
    });
    b
}

/// Runs code for each element of a warp: for neighbouring ones at a time, in ascending order.
fn for_each_of_warp(b: &mut Builder, tile: &Tile, code: impl FnOnce(&mut Builder, Register)) {
    let first = b.mad(tile.warp, WARP_TILE, tile.first);
    let first = b.add(first, tile.lane);
    b.count(0, WARP_TILE, WARP, |b, done| {
        let index = b.add(first, done);
        code(b, index);
    });
}

/// Counts the digits of each warp.
fn count_warps(
    b: &mut Builder,
    pass: SortPass,
    values: Register,
    tile: &Tile,
    places: Register,
    places_of_warp: Register,
) {
    let own = b.at(places, tile.thread, 4);
    for warp in 0..WARPS {
        b.store_word("shared", own, 4 * RADIX * warp, 0);
    }
    b.barrier();
    for_each_of_warp(b, tile, |b, index| {
        let (_, digit, exists) = load(b, pass, values, tile, index);
        b.when(exists, |b| {
            let place = b.at(places_of_warp, digit, 4);
            b.effect(None, "red.shared.add.u32", &[Operand::Memory(place, 0), 1.into()]);
        });
    });
    b.barrier();
}

/// Turns the counts of warps into places: those of a digit begin at the place of the tile.
fn place_warps(b: &mut Builder, tile: &Tile, table: Register, places: Register) {
    let entry = tile.entry_of_thread(b, table);
    let mut next = b.load_word("global.nc", entry, 0);
    let own = b.at(places, tile.thread, 4);
    for warp in 0..WARPS {
        let count = b.load_word("shared", own, 4 * RADIX * warp);
        b.store_word("shared", own, 4 * RADIX * warp, next);
        next = b.add(next, count);
    }
    b.barrier();
}

/// The place of an element. The first lane with a digit moves the next place of the digit behind those of all.
fn take_place(b: &mut Builder, tile: &Tile, places: Register, digit: Register, exists: Register) -> Register {
    let peers = b.equal_lanes(digit);
    let own_bit = b.shl(1, tile.lane);
    let lower_lanes = b.sub(own_bit, 1);
    let lower = b.and(peers, lower_lanes);
    let rank = b.count_ones(lower);
    let next = b.at(places, digit, 4);
    let place = b.variable(0);
    b.when(exists, |b| {
        let begin = b.load_word("shared", next, 0);
        let own = b.add(begin, rank);
        b.set(place, own);
    });
    b.warp_barrier();
    let is_first = b.is_equal(rank, 0);
    let moves = b.both(is_first, exists);
    b.when(moves, |b| {
        let count = b.count_ones(peers);
        let following = b.add(place, count);
        b.store_word("shared", next, 0, following);
    });
    b.warp_barrier();
    place
}
