//! Streams of neighbouring elements that the iterations of a loop write, see [`crate::backend::llvm::streams`].
//!
//! The iterations write to a window on the stack. When it is full, the row of each lane is stored at once. If rows
//! overlap, are not in range, or belong to lanes that do not write, elements are stored as they would be without a
//! window: those of one iteration after those of the one before. So an element that several lanes write has the same
//! value in the end.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE, LLVMIntUGE, LLVMIntULT};

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::backend::llvm::streams::WINDOW;
use crate::ir::{ParamId, RegionId, Type, Value};

/// What a loop has not yet stored of a stream.
#[derive(Clone)]
pub(super) struct Unwritten {
    buffer: ParamId,
    index_type: Type,
    /// [`WINDOW`] times the packets of a group.
    elements: Raw,
    /// How many iterations have written to it.
    count: Raw,
    /// The indices of the last iteration.
    last: Packets,
}

impl Codegen<'_> {
    /// Begins windows for what a loop writes, before the loop.
    pub(super) fn begin_writing(&mut self, condition: RegionId) {
        if self.is_edge {
            return;
        }
        for written in self.analysis.streams.written_in(condition) {
            let index_type = self.ty(written.index);
            let indices = self.emit.vector(self.emit.int(index_type.bits()), self.lanes);
            let alignment = (self.lanes as usize * index_type.size_bytes()).min(64);
            let stream = Unwritten {
                buffer: written.buffer,
                index_type,
                elements: self.emit.alloca(self.emit.array(self.emit.int(8), self.window_bytes()), 64),
                count: self.emit.alloca(self.emit.int(32), 4),
                last: (0..self.packets).map(|_| self.emit.alloca(indices, alignment)).collect(),
            };
            self.emit.store(self.emit.int_const(32, 0), stream.count, 4);
            self.unwritten.insert(written.buffer, stream);
        }
    }

    /// Writes the elements of an iteration to the window, and stores it if it is full. Returns whether the scatter
    /// belongs to a stream.
    pub(super) fn scatter_to_stream(&mut self, buffer: ParamId, index: Value, value: Value) -> bool {
        if self.is_edge || !self.analysis.streams.is_written(buffer, index) {
            return false;
        }
        let (ty, stream) = (self.element(buffer), self.unwritten[&buffer].clone());
        let (indices, values) = (self.vectors(index), self.vectors(value));
        let count = self.emit.load(self.emit.int(32), stream.count, 4);
        for packet in 0..self.packets {
            let value = self.stored_value(ty, values[packet], self.lanes);
            let place = self.window_place(stream.elements, ty, count, packet);
            self.emit.store(value, place, self.packet_alignment(ty));
            self.emit.store(indices[packet], stream.last[packet], stream.index_type.size_bytes());
        }
        let count = self.emit.add(count, self.emit.int_const(32, 1));
        self.emit.store(count, stream.count, 4);
        let [full, after] = ["full", "written"].map(|name| self.emit.new_block(name));
        let is_full = self.emit.icmp(LLVMIntEQ, count, self.emit.int_const(32, WINDOW as u64));
        self.emit.cond_br(is_full, full, after);
        self.emit.position_at_end(full);
        self.store_window(&stream, &indices);
        self.emit.store(self.emit.int_const(32, 0), stream.count, 4);
        self.emit.br(after);
        self.emit.position_at_end(after);
        true
    }

    /// Stores what is left in the windows of a loop, behind the loop.
    pub(super) fn end_writing(&mut self, condition: RegionId) {
        if self.is_edge {
            return;
        }
        for written in self.analysis.streams.written_in(condition) {
            let stream = self.unwritten[&written.buffer].clone();
            let count = self.emit.load(self.emit.int(32), stream.count, 4);
            let [rest, after] = ["rest", "written"].map(|name| self.emit.new_block(name));
            let is_left = self.emit.icmp(LLVMIntNE, count, self.emit.int_const(32, 0));
            self.emit.cond_br(is_left, rest, after);
            self.emit.position_at_end(rest);
            self.store_columns(&stream, count);
            self.emit.br(after);
            self.emit.position_at_end(after);
        }
    }

    /// Stores a full window.
    fn store_window(&mut self, stream: &Unwritten, indices: &Packets) {
        let bits = self.emit.int(stream.index_type.bits());
        let before = self.emit.constant(bits, self.lanes, WINDOW as u64 - 1);
        let starts: Packets = indices.iter().map(|&index| self.emit.sub(index, before)).collect();
        let apart = self.rows_apart(stream, &starts);
        let is_apart = self.all(&apart);
        self.either(
            is_apart,
            |codegen| {
                codegen.store_rows(stream, &starts);
                Packets::new()
            },
            |codegen| {
                codegen.store_columns(stream, codegen.emit.int_const(32, WINDOW as u64));
                Packets::new()
            },
        );
    }

    /// The lanes that write, to a row in range that ends before the row of the next lane begins.
    fn rows_apart(&mut self, stream: &Unwritten, starts: &Packets) -> Packets {
        let lanes = self.lanes_of(None);
        (0..self.packets)
            .map(|packet| {
                let inside = self.are_inside(stream.buffer, stream.index_type, starts[packet], WINDOW as u64);
                let apart = self.emit.and(inside, self.ends_before_next(stream.index_type, starts, packet));
                lanes.as_ref().map_or(apart, |lanes| self.emit.and(lanes[packet], apart))
            })
            .collect()
    }

    /// The lanes of a packet whose row ends before that of the next lane begins, if both are in range; the group's last
    /// one has no next.
    fn ends_before_next(&self, index_type: Type, starts: &Packets, packet: usize) -> Raw {
        let integer = self.emit.int(index_type.bits());
        let order: Vec<u64> = (1..=u64::from(self.lanes)).collect();
        let is_last = packet + 1 == self.packets;
        // Any lane can stand for the one behind the last.
        let following = starts[if is_last { packet } else { packet + 1 }];
        let next = self.emit.shuffle_two(starts[packet], following, &order);
        let end = self.emit.add(starts[packet], self.emit.constant(integer, self.lanes, WINDOW as u64));
        let is_before = self.emit.icmp(LLVMIntUGE, next, end);
        if !is_last {
            return is_before;
        }
        let has_no_next = |lane: u32| self.emit.int_const(1, u64::from(lane + 1 == self.lanes));
        let last = self.emit.const_vector(&(0..self.lanes).map(has_no_next).collect::<Vec<_>>());
        self.emit.or(is_before, last)
    }

    /// Stores the row of each lane, by a transposition and wide stores.
    fn store_rows(&mut self, stream: &Unwritten, starts: &Packets) {
        let (ty, lanes) = (self.element(stream.buffer), self.lanes as usize);
        let (element, width) = (self.emit.memory_type(ty), WINDOW.min(lanes));
        for (packet, &starts) in starts.iter().enumerate() {
            let addresses = self.lane_addresses(stream.buffer, stream.index_type, starts);
            for first in (0..WINDOW).step_by(width) {
                let columns = (first..first + width).map(|column| self.window_column(stream, ty, column, packet));
                let vectors = self.exchanged(columns.collect());
                for lane in 0..lanes {
                    // As many rows as the vector has room for are one after another.
                    let part = lane / width * width;
                    let row = self
                        .emit
                        .shuffle(vectors[lane % width], &(part as u64..(part + width) as u64).collect::<Vec<_>>());
                    let start = self.emit.extract_element(addresses, self.emit.i64(lane as u64));
                    let address = self.emit.address(element, start, self.emit.i64(first as u64));
                    self.emit.store(row, address, ty.size_bytes());
                }
            }
        }
    }

    fn window_column(&self, stream: &Unwritten, ty: Type, column: usize, packet: usize) -> Raw {
        let place = self.window_place(stream.elements, ty, self.emit.int_const(32, column as u64), packet);
        self.emit.load(self.packet_type(ty), place, self.packet_alignment(ty))
    }

    /// Stores the elements of some iterations, one after another: as many as the number says, which is not zero.
    fn store_columns(&mut self, stream: &Unwritten, count: Raw) {
        let (ty, lanes) = (self.element(stream.buffer), self.lanes_of(None));
        let (before, [head, done]) = (self.emit.block(), ["column", "columns"].map(|name| self.emit.new_block(name)));
        self.emit.br(head);
        self.emit.position_at_end(head);
        let column = self.emit.merge(&[(self.emit.int_const(32, 0), before)]);
        let next = self.emit.add(column, self.emit.int_const(32, 1));
        let behind = self.emit.sub(count, next);
        for packet in 0..self.packets {
            let indices = self.indices_before(stream, packet, behind);
            let place = self.window_place(stream.elements, ty, column, packet);
            let elements = self.emit.load(self.packet_type(ty), place, self.packet_alignment(ty));
            let lanes = lanes.as_ref().map(|lanes| lanes[packet]);
            let inside = self.inside(stream.buffer, stream.index_type, indices, lanes);
            let addresses = self.lane_addresses(stream.buffer, stream.index_type, indices);
            self.scatter_elements(ty, addresses, elements, Some(inside));
        }
        let latch = self.emit.block();
        self.emit.add_incoming(column, next, latch);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, next, count), head, done);
        self.emit.position_at_end(done);
    }

    /// The indices of a packet some iterations before the last one.
    fn indices_before(&self, stream: &Unwritten, packet: usize, iterations: Raw) -> Raw {
        let bits = stream.index_type.bits();
        let vector = self.emit.vector(self.emit.int(bits), self.lanes);
        let last = self.emit.load(vector, stream.last[packet], stream.index_type.size_bytes());
        let iterations =
            if bits == 64 { self.emit.convert(Conversion::ZExt, iterations, self.emit.int(64)) } else { iterations };
        self.emit.sub(last, self.emit.splat(iterations, self.lanes))
    }
}
