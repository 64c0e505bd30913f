//! Rows of memory: one wide load for each lane, and a transposition that returns a vector for each element of the rows.

use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::rows::Row;
use crate::ir::{ParamId, Type};

/// The longest row that is read by one load, in bytes: loads may reach this far past the end of a buffer.
const MAX_LOAD_BYTES: usize = super::frame::READABLE_PADDING;

impl Codegen<'_> {
    /// Executes all gathers of a row.
    pub(super) fn gather_row(&mut self, row: u32) {
        let analysis = self.analysis;
        let (number, row) = (row, &analysis.rows.rows[row as usize]);
        let lanes = self.lanes_of(row.mask);
        let starts = self.row_starts(row);
        let is_proven = self.is_row_proven(row);
        let vectors = if let Some(vectors) = self.gather_records(number, &starts, lanes.as_ref(), is_proven) {
            vectors
        } else if is_proven {
            self.expect_rows_inside(row, &starts, lanes.as_ref());
            self.read_rows(row, &starts, lanes.as_ref())
        } else if self.is_edge {
            // Few groups take this path, so code size matters more.
            self.gather_columns(row, &starts, lanes.as_ref())
        } else {
            let outside = self.rows_outside(row, &starts, lanes.as_ref());
            let is_inside = self.emit.not(self.any(&outside));
            self.either(
                is_inside,
                |codegen| codegen.read_rows(row, &starts, lanes.as_ref()),
                |codegen| codegen.gather_columns(row, &starts, lanes.as_ref()),
            )
        };
        for (column, results) in vectors.chunks(self.packets).zip(&row.columns) {
            results.iter().for_each(|&result| self.set_vectors(result, column.into()));
        }
    }

    fn is_row_proven(&self, row: &Row) -> bool {
        row.indices.iter().all(|&index| self.is_proven(row.buffer, index))
    }

    /// The index of the first element of each row.
    fn row_starts(&mut self, row: &Row) -> Packets {
        let bits = self.ty(row.index).bits();
        let start = self.emit.constant(self.emit.int(bits), self.lanes, row.start as u64);
        let indices = self.vectors(row.index);
        indices.iter().map(|&index| if row.start == 0 { index } else { self.emit.add(index, start) }).collect()
    }

    /// The lanes whose row is not entirely in range.
    pub(super) fn rows_outside(&mut self, row: &Row, starts: &Packets, lanes: Option<&Packets>) -> Packets {
        let (ty, count) = (self.ty(row.index), row.columns.len() as u64);
        let outside = |(packet, &starts): (usize, &Raw)| {
            let inside = self.are_inside(row.buffer, ty, starts, count);
            let outside = self.emit.not(inside);
            lanes.map_or(outside, |lanes| self.emit.and(lanes[packet], outside))
        };
        starts.iter().enumerate().map(outside).collect()
    }

    /// The elements of rows that are in range: the packets of each column.
    pub(super) fn read_rows(&mut self, row: &Row, starts: &Packets, lanes: Option<&Packets>) -> Packets {
        let addresses = self.row_addresses(row, starts, lanes);
        let ty = self.kernel.param(row.buffer).ty();
        let mut columns: Vec<Packets> = vec![SmallVec::new(); row.columns.len()];
        for &packet in &addresses {
            for (column, vector) in columns.iter_mut().zip(self.columns(ty, packet, row.columns.len())) {
                column.push(self.loaded_value(ty, vector, self.lanes));
            }
        }
        let zeroed = |column: Packets| match (row.mask, lanes) {
            (Some(_), Some(lanes)) => self.zero_elsewhere(ty, &column, lanes),
            _ => column,
        };
        columns.into_iter().flat_map(zeroed).collect()
    }

    /// The elements of rows that are partially out of range, one by one.
    pub(super) fn gather_columns(&mut self, row: &Row, starts: &Packets, lanes: Option<&Packets>) -> Packets {
        let index_type = self.ty(row.index);
        let mut gathered = Packets::new();
        for column in 0..row.columns.len() as u64 {
            let offset = self.emit.constant(self.emit.int(index_type.bits()), self.lanes, column);
            for packet in 0..self.packets {
                let indices = self.emit.add(starts[packet], offset);
                let inside = self.inside(row.buffer, index_type, indices, lanes.map(|lanes| lanes[packet]));
                gathered.push(self.gather_packet(row.buffer, index_type, indices, Some(inside)));
            }
        }
        gathered
    }

    pub(super) fn zero_elsewhere(&self, ty: Type, vectors: &Packets, lanes: &Packets) -> Packets {
        let zero = self.emit.bits_constant(ty, self.lanes, 0);
        vectors.iter().zip(lanes).map(|(&vector, &lanes)| self.emit.select(lanes, vector, zero)).collect()
    }

    /// The start of the rows of each packet; for lanes that do not read, the start of the buffer, which is readable.
    pub(super) fn row_addresses(&mut self, row: &Row, starts: &Packets, lanes: Option<&Packets>) -> Packets {
        let address = |packet: usize| {
            let addresses = self.lane_addresses(row.buffer, self.ty(row.index), starts[packet]);
            match lanes {
                None => addresses,
                Some(lanes) => self.emit.select(lanes[packet], addresses, self.buffer_starts(row.buffer)),
            }
        };
        (0..self.packets).map(address).collect()
    }

    fn buffer_starts(&self, buffer: ParamId) -> Raw {
        self.splat_with(&self.emit, self.pointers[buffer.index()])
    }

    /// The elements of the rows of one packet, a vector for each.
    fn columns(&self, ty: Type, addresses: Raw, count: usize) -> Vec<Raw> {
        let rows: Vec<Raw> =
            (0..self.lanes).map(|lane| self.emit.extract_element(addresses, self.emit.i64(u64::from(lane)))).collect();
        let mut columns = Vec::with_capacity(count);
        while columns.len() < count {
            let left = count - columns.len();
            let width = self.load_width(ty, left);
            let chunk = self.transposed(ty, &rows, columns.len(), width);
            columns.extend(chunk.into_iter().take(left));
        }
        columns
    }

    /// How many elements are read together: a power of two, at least two. Reading a few more than needed takes less
    /// time than two loads.
    fn load_width(&self, ty: Type, left: usize) -> usize {
        let most = (MAX_LOAD_BYTES / ty.size_bytes()).min(self.lanes as usize);
        let above = left.next_power_of_two();
        let width = if 4 * left >= 3 * above { above } else { above / 2 };
        width.clamp(2, most)
    }

    /// Elements `first..first + width` of the rows. The width is a power of two, at most the number of lanes.
    fn transposed(&self, ty: Type, rows: &[Raw], first: usize, width: usize) -> Vec<Raw> {
        let element = self.emit.memory_type(ty);
        let load = |&row: &Raw| {
            let address = self.emit.address(element, row, self.emit.i64(first as u64));
            let row_type = self.emit.vector(element, width as u32);
            self.emit.load(row_type, address, ty.size_bytes())
        };
        let loaded: Vec<Raw> = rows.iter().map(load).collect();
        // Vector `i` consists of the rows whose number is `i` modulo the width, one after another.
        self.exchanged(
            (0..width).map(|i| self.joined(loaded.iter().copied().skip(i).step_by(width).collect(), width)).collect(),
        )
    }

    /// Transposes all squares of vectors, whose number is a power of two: exchanges each bit of the vector's number
    /// with that of the element's.
    pub(super) fn exchanged(&self, mut vectors: Vec<Raw>) -> Vec<Raw> {
        let width = vectors.len();
        let mut bit = 1;
        while bit < width {
            for i in (0..width).filter(|i| i & bit == 0) {
                let (a, b) = (vectors[i], vectors[i | bit]);
                vectors[i] = self.emit.shuffle_two(a, b, &self.exchange(bit, 0));
                vectors[i | bit] = self.emit.shuffle_two(a, b, &self.exchange(bit, bit));
            }
            bit *= 2;
        }
        vectors
    }

    /// For two vectors whose numbers differ in one bit: the elements, after the exchange, of the one in which the bit
    /// has this value.
    fn exchange(&self, bit: usize, value: usize) -> Vec<u64> {
        let lanes = self.lanes as usize;
        let source = |element: usize| {
            // The element's bit selects its source vector, and the vector's bit becomes the element's.
            let from = element & !bit | value;
            if element & bit == 0 { from } else { lanes + from }
        };
        (0..lanes).map(|element| source(element) as u64).collect()
    }

    /// Concatenates vectors, whose number is a power of two, into one vector.
    fn joined(&self, mut parts: Vec<Raw>, mut lanes: usize) -> Raw {
        while parts.len() > 1 {
            lanes *= 2;
            parts = parts.chunks(2).map(|pair| self.emit.concatenate(pair[0], pair[1], lanes as u32)).collect();
        }
        parts[0]
    }
}
