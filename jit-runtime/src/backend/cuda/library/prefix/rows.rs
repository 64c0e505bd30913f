//! Scans of rows: a thread scans a row, and a warp 32 rows. Squares of 32 elements of 32 rows are copied to shared
//! memory, so that neighbouring threads access neighbouring elements of global memory.

use super::super::super::Target;
use super::super::super::ptx::{Class, Register};
use super::super::block::WARP;
use super::super::builder::Builder;
use super::super::element::{combined_type, identity};
use super::{CHUNK_ROWS, Pass, Scan};
use crate::backend::library::PREFIX_ROW;

/// The distance of rows in shared memory: one element more than they have, so that elements of one column are in
/// different banks.
const PITCH: u32 = WARP + 1;
/// The rows that are copied in straight code, so that their loads do not wait for one another.
const ROWS_AT_ONCE: u32 = 8;

/// The code of a pass over rows, with what it needs everywhere.
struct Rows {
    b: Builder,
    scan: Scan,
    /// The size of a value in shared memory.
    size: u32,
    lane: Register,
    /// The row of the thread.
    row: Register,
    /// Shared memory: the square, and for each row its first element and length.
    square: Register,
    firsts: Register,
    lens: Register,
    input: Register,
}

/// The memory that a pass reads and writes besides the input.
enum Memory {
    Totals { befores: Register, chunks: Register },
    Write { befores: Option<[Register; 2]>, output: Register },
}

/// The passes over the elements.
pub(super) fn rows(scan: Scan, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let input = b.pointer("input");
    let memory = match scan.pass {
        Pass::Totals => Memory::Totals { befores: b.pointer("befores"), chunks: b.pointer("chunk_totals") },
        Pass::Write => {
            let befores = Some([b.pointer("befores"), b.pointer("carries")]);
            Memory::Write { befores, output: b.pointer("output") }
        }
        _ => Memory::Write { befores: None, output: b.pointer("output") },
    };
    let size = combined_type(scan.ty).size_bytes() as u32;
    let sizes = ["len", "restart", "rows_per_part", "rows"].map(|name| b.size(name));
    let (lane, block) = (b.thread(), b.block());
    let row = b.mad(block, WARP, lane);
    let square = b.shared("square", PITCH * WARP * size);
    let [firsts, lens] = ["firsts", "lens"].map(|name| b.shared(name, 4 * WARP));
    let mut rows = Rows { b, scan, size, lane, row, square, firsts, lens, input };
    let columns = rows.place_rows(sizes);
    match memory {
        Memory::Totals { befores, chunks } => rows.totals(columns, befores, chunks),
        Memory::Write { befores, output } => rows.write(columns, befores, output),
    }
    rows.b
}

impl Rows {
    /// Writes the first element of each row, in the order of the scan, and its length. Returns the length of the
    /// longest row.
    fn place_rows(&mut self, [len, restart, rows_per_part, rows]: [Register; 4]) -> Register {
        let (b, row) = (&mut self.b, self.row);
        let (part, in_part) = (b.div(row, rows_per_part), b.rem(row, rows_per_part));
        let part_first = b.mul(part, restart);
        let left = b.sub(len, part_first);
        let part_len = b.min(restart, left);
        let done = b.mul(in_part, PREFIX_ROW as u32);
        let has_elements = b.is_less(done, part_len);
        let exists = b.is_less(row, rows);
        let has_elements = b.both(has_elements, exists);
        let left = b.sub(part_len, done);
        let left = b.min(left, PREFIX_ROW as u32);
        let row_len = b.choose(has_elements, left, 0);
        let first = b.add(part_first, done);
        let first = if self.scan.is_reverse {
            let end = b.add(part_first, part_len);
            let last = b.sub(end, 1);
            b.sub(last, done)
        } else {
            first
        };
        for (memory, word) in [(self.firsts, first), (self.lens, row_len)] {
            let address = b.at(memory, self.lane, 4);
            b.store_word("shared", address, 0, word);
        }
        b.barrier();
        b.min(restart, PREFIX_ROW as u32)
    }

    /// Runs code for each column of elements of all rows, in the lane of each row, between copies.
    fn squares(&mut self, columns: Register, output: Option<Register>, mut code: impl FnMut(&mut Builder, Register)) {
        let (next, end) = (self.b.label("square"), self.b.label("squares_end"));
        let first_column = self.b.variable(0);
        self.b.place(next);
        let goes_on = self.b.is_less(first_column, columns);
        self.b.branch(Some((goes_on, false)), end);
        self.copy(first_column, None);
        self.b.barrier();
        let own = self.b.at(self.square, self.lane, PITCH * self.size);
        self.b.count(0, WARP, 1, |b, column| {
            let address = b.at(own, column, self.size);
            code(b, address);
        });
        self.b.barrier();
        if let Some(output) = output {
            self.copy(first_column, Some(output));
            self.b.barrier();
        }
        let following = self.b.add(first_column, WARP);
        self.b.set(first_column, following);
        self.b.branch(None, next);
        self.b.place(end);
    }

    /// Copies a square from the input, or to an output. Elements behind the end of a row become the identity.
    fn copy(&mut self, first_column: Register, output: Option<Register>) {
        let Rows { scan, size, lane, square, firsts, lens, input, .. } = *self;
        let (combined, element_size) = (combined_type(scan.ty), scan.ty.size_bytes() as u32);
        let b = &mut self.b;
        let column = b.add(first_column, lane);
        b.count(0, WARP, ROWS_AT_ONCE, |b, first_row| {
            let [firsts, lens] = [firsts, lens].map(|memory| b.at(memory, first_row, 4));
            let places = b.at(square, first_row, PITCH * size);
            let places = b.at(places, lane, size);
            for row in 0..ROWS_AT_ONCE {
                let (first, row_len) = (b.load_word("shared", firsts, 4 * row), b.load_word("shared", lens, 4 * row));
                let exists = b.is_less(column, row_len);
                let index = if scan.is_reverse { b.sub(first, column) } else { b.add(first, column) };
                let place = b.at(places, row, PITCH * size);
                match output {
                    None => {
                        let address = b.at(input, index, element_size);
                        let none = identity(scan.op, scan.ty);
                        let value = b.load_element("global.nc", scan.ty, address, exists, &none);
                        b.store_element("shared", combined, place, value);
                    }
                    Some(output) => b.when(exists, |b| {
                        let address = b.at(output, index, element_size);
                        let value = b.load_whole("shared", combined, place, 0);
                        b.store_element("global", scan.ty, address, value);
                    }),
                }
            }
        });
    }

    /// The total of each row; reduced over the rows before it in its chunk; and the total of each chunk.
    fn totals(&mut self, columns: Register, befores: Register, chunks: Register) {
        let (scan, size) = (self.scan, self.size);
        let (op, combined) = (scan.op, combined_type(scan.ty));
        let none = identity(op, scan.ty);
        let sum = self.b.value(scan.ty, &none);
        self.squares(columns, None, |b, address| {
            let value = b.load_whole("shared", combined, address, 0);
            let next = b.join(op, combined, sum, value);
            b.set(sum, next);
        });
        let (b, lane) = (&mut self.b, self.lane);
        let (total, before) = (b.value(scan.ty, &none), b.value(scan.ty, &none));
        let (in_chunk, chunk_first) = (b.and(lane, CHUNK_ROWS as u32 - 1), b.and(lane, !(CHUNK_ROWS as u32 - 1)));
        for row in 0..CHUNK_ROWS as u32 {
            let is_own = b.is_equal(in_chunk, row);
            let known = b.choose(is_own, total, before);
            b.set(before, known);
            let other = b.add(chunk_first, row);
            let other = b.value_of_lane(sum, other);
            let next = b.join(op, combined, total, other);
            b.set(total, next);
        }
        let address = b.at(befores, self.row, size);
        b.store_element("global", combined, address, before);
        let is_first = b.is_equal(in_chunk, 0);
        b.when(is_first, |b| {
            let chunk = b.shr(self.row, CHUNK_ROWS.ilog2());
            let address = b.at(chunks, chunk, size);
            b.store_element("global", combined, address, total);
        });
    }

    /// The results, which replace the elements in the square before it is copied to the output.
    fn write(&mut self, columns: Register, befores: Option<[Register; 2]>, output: Register) {
        let (scan, size) = (self.scan, self.size);
        let (op, combined) = (scan.op, combined_type(scan.ty));
        let none = identity(op, scan.ty);
        let start = self.b.value(scan.ty, &none);
        if let Some([befores, carries]) = befores {
            let b = &mut self.b;
            let (before, chunk) = (b.at(befores, self.row, size), b.shr(self.row, CHUNK_ROWS.ilog2()));
            let carry = b.at(carries, chunk, size);
            let [before, carry] = [before, carry].map(|address| b.load_whole("global.nc", combined, address, 0));
            let both = b.join(op, combined, carry, before);
            b.set(start, both);
        }
        let sum = self.b.value(scan.ty, &none);
        self.squares(columns, Some(output), |b, address| {
            let value = b.load_whole("shared", combined, address, 0);
            let next = b.join(op, combined, sum, value);
            let own = if scan.is_exclusive { sum } else { next };
            let result = b.join(op, combined, start, own);
            b.store_element("shared", combined, address, result);
            b.set(sum, next);
        });
    }
}

/// The totals of the chunks before each chunk: a warp combines those of a part one after another.
pub(super) fn carries(scan: Scan, target: Target) -> Builder {
    let Scan { op, ty, .. } = scan;
    let size = ty.size_bytes() as u32;
    let mut b = Builder::new(target);
    let (totals, carries, chunks) = (b.pointer("chunk_totals"), b.pointer("carries"), b.size("chunks_per_part"));
    let (lane, part) = (b.thread(), b.block());
    let none = identity(op, ty);
    let carry = b.value(ty, &none);
    b.count(0, chunks, WARP, |b, first| {
        let in_part = b.add(first, lane);
        let exists = b.is_less(in_part, chunks);
        let chunk = b.mad(part, chunks, in_part);
        let (from, to) = (b.at(totals, chunk, size), b.at(carries, chunk, size));
        let total = b.load_element("global.nc", ty, from, exists, &none);
        let own = b.register(Class::of(ty));
        b.set(own, none.clone());
        for other in 0..WARP {
            let is_own = b.is_equal(lane, other);
            let known = b.choose(is_own, carry, own);
            b.set(own, known);
            let total = b.value_of_lane(total, other);
            let next = b.join(op, ty, carry, total);
            b.set(carry, next);
        }
        b.when(exists, |b| b.store_element("global", ty, to, own));
    });
    b
}
