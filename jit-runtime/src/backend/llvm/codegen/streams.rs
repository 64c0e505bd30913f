//! Streams of neighbouring elements that the iterations of a loop read, see [`crate::backend::llvm::streams`].
//!
//! Each stream has a window of elements on the stack, and the iteration in which the first of them was read. The window
//! belongs to the lanes of the loop: it is filled for all of them, also if only some execute the gather.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntULT;
use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::{Block, Conversion, Raw, RawType};
use crate::backend::llvm::rows::Row;
use crate::backend::llvm::streams::WINDOW;
use crate::ir::{ParamId, RegionId, Type, Value};

/// The innermost loop.
#[derive(Clone)]
pub(super) struct Iteration {
    /// The number of iterations before this one, 32 bits, modulo 2^32.
    number: Raw,
    /// The lanes that are in the loop.
    lanes: Option<Packets>,
}

/// The memory of a stream.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// [`WINDOW`] times the packets of a group.
    elements: Raw,
    /// The iteration to which the first of them belongs.
    filled: Raw,
}

impl Codegen<'_> {
    /// Begins to count the iterations of a loop at its head, if it has streams. Returns the loop around it.
    pub(super) fn begin_iterations(&mut self, condition: RegionId, before: Block) -> Option<Iteration> {
        let outer = self.iteration.take();
        if !self.is_edge && self.analysis.streams.loops.contains(&condition) {
            let number = self.emit.merge(&[(self.emit.int_const(32, 0), before)]);
            self.iteration = Some(Iteration { number, lanes: self.mask.clone() });
        }
        outer
    }

    /// Sets the lanes that are in the loop from here on to those that are active.
    pub(super) fn narrow_iteration(&mut self) {
        let mask = self.mask.clone();
        if let Some(iteration) = &mut self.iteration {
            iteration.lanes = mask;
        }
    }

    /// The number of the next iteration.
    pub(super) fn next_iteration(&self) -> Option<Raw> {
        self.iteration.as_ref().map(|iteration| self.emit.add(iteration.number, self.emit.int_const(32, 1)))
    }

    /// Ends the loop, whose iterations end in a block with the number of the next one.
    pub(super) fn end_iterations(&mut self, next: Option<Raw>, latch: Block, outer: Option<Iteration>) {
        if let (Some(iteration), Some(next)) = (&self.iteration, next) {
            self.emit.add_incoming(iteration.number, next, latch);
        }
        self.iteration = outer;
    }

    /// Marks the windows of a loop as empty, before it begins.
    pub(super) fn empty_windows(&mut self, condition: RegionId) {
        if self.is_edge {
            return;
        }
        let analysis = self.analysis;
        for (stream, _) in analysis.streams.loops.iter().enumerate().filter(|(_, of)| **of == condition) {
            let window = Window {
                elements: self.emit.alloca(self.emit.array(self.emit.int(8), self.window_bytes()), 64),
                filled: self.emit.alloca(self.emit.int(32), 4),
            };
            self.windows.insert(stream, window);
            self.emit.store(self.before_first(), window.filled, 4);
        }
    }

    /// As the first iteration of a window: it is empty in iteration 0.
    fn before_first(&self) -> Raw {
        self.emit.int_const(32, u64::from((WINDOW as u32).wrapping_neg()))
    }

    pub(super) fn window_bytes(&self) -> u32 {
        const LARGEST_ELEMENT: usize = 8;
        (WINDOW * self.packets * self.lanes as usize * LARGEST_ELEMENT) as u32
    }

    /// Gathers from a stream.
    pub(super) fn gather_stream(
        &mut self,
        stream: usize,
        result: Value,
        buffer: ParamId,
        index: Value,
        mask: Option<Value>,
    ) {
        let Some(iteration) = self.iteration.clone() else { return self.gather(result, buffer, index, mask) };
        let window = self.windows[&stream];
        let (ty, wanted) = (self.kernel.param(buffer).ty(), self.lanes_of(mask));
        let age = self.emit.sub(iteration.number, self.emit.load(self.emit.int(32), window.filled, 4));
        let is_filled = self.emit.icmp(LLVMIntULT, age, self.emit.int_const(32, WINDOW as u64));
        let [fill, read] = ["fill", "read"].map(|name| self.emit.new_block(name));
        let indices = self.vectors(index);
        self.emit.cond_br(is_filled, read, fill);
        self.emit.position_at_end(fill);
        self.fill_window(window, &iteration, buffer, index, &indices);
        self.emit.br(read);
        self.emit.position_at_end(read);
        let filled = self.emit.load(self.emit.int(32), window.filled, 4);
        let age = self.emit.sub(iteration.number, filled);
        let elements = (0..self.packets).map(|packet| {
            let place = self.window_place(window.elements, ty, age, packet);
            self.emit.load(self.packet_type(ty), place, self.packet_alignment(ty))
        });
        let elements: Packets = elements.collect();
        let elements = match (mask, &wanted) {
            (Some(_), Some(lanes)) => self.zero_elsewhere(ty, &elements, lanes),
            _ => elements,
        };
        self.set_vectors(result, elements);
    }

    /// Reads the elements of this iteration and the following ones; only this one's if some are out of range.
    fn fill_window(&mut self, window: Window, iteration: &Iteration, buffer: ParamId, index: Value, indices: &Packets) {
        let ty = self.kernel.param(buffer).ty();
        let columns = vec![SmallVec::new(); WINDOW];
        let row = Row { buffer, index, start: 0, mask: None, indices: SmallVec::new(), columns };
        // Of the whole loop, not only those that execute the gather now.
        let lanes = iteration.lanes.clone();
        let outside = self.rows_outside(&row, indices, lanes.as_ref());
        let [whole, single, filled] = ["whole", "single", "filled"].map(|name| self.emit.new_block(name));
        self.emit.cond_br(self.any(&outside), single, whole);

        self.emit.position_at_end(whole);
        let elements = self.read_rows(&row, indices, lanes.as_ref());
        for (column, vectors) in elements.chunks(self.packets).enumerate() {
            self.put(window, ty, column, vectors);
        }
        self.emit.store(iteration.number, window.filled, 4);
        let addresses = self.row_addresses(&row, indices, lanes.as_ref());
        self.prefetch_next_group(&addresses);
        self.emit.br(filled);

        self.emit.position_at_end(single);
        let lanes = self.lanes_inside(buffer, index, lanes);
        let gather = |packet: usize| {
            let lanes = lanes.as_ref().map(|lanes| lanes[packet]);
            self.gather_packet(buffer, self.ty(index), indices[packet], lanes)
        };
        let elements: Packets = (0..self.packets).map(gather).collect();
        self.put(window, ty, WINDOW - 1, &elements);
        let first = self.emit.sub(iteration.number, self.emit.int_const(32, WINDOW as u64 - 1));
        self.emit.store(first, window.filled, 4);
        self.emit.br(filled);
        self.emit.position_at_end(filled);
    }

    /// Prefetches what the next group of lanes probably reads: as far behind the elements of this group as those of its
    /// last lane are behind those of its first. Processors do not foresee as many streams as a group has.
    fn prefetch_next_group(&self, addresses: &Packets) {
        let lane = |packet: usize, lane: u32| self.emit.extract_element(addresses[packet], self.emit.i64(lane.into()));
        let number = |address: Raw| self.emit.convert(Conversion::PtrToInt, address, self.emit.int(64));
        let (first, last) = (lane(0, 0), lane(self.packets - 1, self.lanes - 1));
        let distance = self.emit.sub(number(last), number(first));
        for (packet, at) in (0..self.packets).flat_map(|packet| (0..self.lanes).map(move |at| (packet, at))) {
            let address = self.emit.address(self.emit.int(8), lane(packet, at), distance);
            self.emit.prefetch(address);
        }
    }

    fn put(&self, window: Window, ty: Type, column: usize, vectors: &[Raw]) {
        for (packet, &vector) in vectors.iter().enumerate() {
            let place = self.window_place(window.elements, ty, self.emit.int_const(32, column as u64), packet);
            self.emit.store(vector, place, self.packet_alignment(ty));
        }
    }

    /// Where a window has the elements of a packet for an iteration.
    pub(super) fn window_place(&self, elements: Raw, ty: Type, column: Raw, packet: usize) -> Raw {
        let packets = self.emit.int_const(32, self.packets as u64);
        let number = self.emit.add(self.emit.mul(column, packets), self.emit.int_const(32, packet as u64));
        self.emit.address(self.packet_type(ty), elements, number)
    }

    pub(super) fn packet_type(&self, ty: Type) -> RawType {
        self.emit.vector(self.emit.memory_type(ty), self.lanes)
    }

    pub(super) fn packet_alignment(&self, ty: Type) -> usize {
        (self.lanes as usize * ty.size_bytes()).min(64)
    }
}
