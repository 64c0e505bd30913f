//! Per-lane local memory: in the local memory of the device, or in scratch memory of the launch if that is too large.
//!
//! In scratch memory, the elements of all threads with one index are neighbours, so that threads that access the same
//! index access consecutive memory.

use super::super::layout::Content;
use super::super::ptx::{Class, Guard, Operand, Register, Variable};
use super::{Emitter, symbol};
use crate::ir::{LocalId, Value};

/// Local memory of up to this many bytes is cleared without a loop, so that it can be held in registers.
const UNROLLED_BYTES: u64 = 128;

/// Where a local memory is.
pub(super) enum Place {
    /// At this address of the local memory of the thread.
    Device(Register),
    /// Scratch memory: the address of the element of the thread with index 0, and the distance of two indices.
    Scratch { first: Register, distance: Register },
}

impl Emitter<'_> {
    /// Declares the local memories, and computes their addresses.
    pub(super) fn declare_locals(&mut self) {
        if self.layout.scratch_bytes_per_thread() > 0 {
            return self.place_in_scratch();
        }
        for (local, position) in self.kernel.locals.iter().zip(0..) {
            let name = symbol(LocalId(position).to_string());
            let size_bytes = local.size_bytes().next_multiple_of(16).max(16);
            self.variables.push(Variable { space: "local", name: name.clone(), size_bytes });
            let address = self.register(Class::Long);
            self.write("mov.u64", address, &[Operand::Address(name)]);
            self.locals.push(Place::Device(address));
        }
    }

    /// The memories of all threads follow one another; that of one memory begins where those before it end.
    fn place_in_scratch(&mut self) {
        let scratch = self.launch_parameter(Content::Scratch, Class::Long);
        self.write("cvta.to.global.u64", scratch, &[scratch.into()]);
        let [block, size, thread, blocks] =
            ["%ctaid.x", "%ntid.x", "%tid.x", "%nctaid.x"].map(|name| self.special(name));
        let thread = self.compute("mad.lo.u32", Class::Word, &[block.into(), size.into(), thread.into()]);
        let threads = self.compute("mul.wide.u32", Class::Long, &[size.into(), blocks.into()]);
        // Larger elements first, so that each is aligned.
        let mut order: Vec<usize> = (0..self.kernel.locals.len()).collect();
        order.sort_by_key(|&local| std::cmp::Reverse(self.kernel.locals[local].ty.size_bytes()));
        let mut offset = 0;
        let mut places: Vec<Option<Place>> = order.iter().map(|_| None).collect();
        for local in order {
            let memory = self.kernel.locals[local];
            let size = memory.ty.size_bytes() as u32;
            let operands = [threads.clone(), Operand::Integer(offset), scratch.into()];
            let base = self.compute("mad.lo.u64", Class::Long, &operands);
            let (first, distance) = (self.register(Class::Long), self.register(Class::Long));
            self.write("mad.wide.u32", first, &[thread.clone(), size.into(), base]);
            self.write("mul.lo.u64", distance, &[threads.clone(), size.into()]);
            places[local] = Some(Place::Scratch { first, distance });
            offset += memory.size_bytes().cast_signed();
        }
        self.locals = places.into_iter().flatten().collect();
    }

    /// Local memory is zero when a lane begins.
    pub(super) fn clear_locals(&mut self) {
        for (local, position) in self.kernel.locals.iter().zip(0..) {
            let id = LocalId(position);
            match self.locals[id.index()] {
                Place::Device(address) if local.size_bytes() <= UNROLLED_BYTES => {
                    for offset in (0..local.size_bytes()).step_by(8) {
                        self.effect(None, "st.local.u64", &[Operand::Memory(address, offset), 0.into()]);
                    }
                }
                Place::Device(_) => self.clear_in_steps(id, local.size_bytes().div_ceil(8), 8),
                Place::Scratch { .. } if local.len == 0 => {}
                Place::Scratch { .. } => self.clear_in_steps(id, local.len.into(), local.ty.size_bytes() as u32),
            }
        }
    }

    /// Clears a memory in a loop of steps of a number of bytes.
    fn clear_in_steps(&mut self, local: LocalId, steps: u64, step_bytes: u32) {
        let (address, left) = (self.register(Class::Long), self.register(Class::Word));
        let (start, distance, space) = match self.locals[local.index()] {
            Place::Device(first) => (first, Operand::from(step_bytes), "local"),
            Place::Scratch { first, distance } => (first, distance.into(), "global"),
        };
        self.move_to(address, &start.into());
        self.move_to(left, &Operand::Integer(steps.cast_signed()));
        let next = self.label("clear");
        self.place(next);
        self.effect(None, format!("st.{space}.b{}", 8 * step_bytes), &[Operand::Memory(address, 0), 0.into()]);
        self.write("add.u64", address, &[address.into(), distance]);
        self.write("sub.u32", left, &[left.into(), 1.into()]);
        let has_next = self.test("setp.ne.u32", &left.into(), 0);
        self.branch(Some((has_next, true)), next);
    }

    pub(super) fn local_read(&mut self, result: Value, local: LocalId, index: Value) {
        let ty = self.ty(result);
        let (space, memory, guard) = self.local_element(local, index);
        let d = self.result(result);
        self.load_or_zero(space, Some(guard), ty, memory, d);
    }

    pub(super) fn local_write(&mut self, local: LocalId, index: Value, value: Value) {
        let ty = self.ty(value);
        let (space, memory, guard) = self.local_element(local, index);
        let value = self.operand(value);
        self.store_to(space, Some(guard), ty, memory, &value);
    }

    /// The state space and place of an element, and whether the index is in range.
    fn local_element(&mut self, local: LocalId, index: Value) -> (&'static str, Operand, Guard) {
        let memory = self.kernel.local(local);
        let index = self.index(index);
        let (index, is_in_range) = self.checked_index(&index, &memory.len.into());
        let guard = (is_in_range, true);
        match self.locals[local.index()] {
            Place::Device(address) => ("local", self.element(address, &index, memory.ty), guard),
            Place::Scratch { first, distance } => {
                let index = self.compute("cvt.u64.u32", Class::Long, &[index]);
                let address = self.register(Class::Long);
                self.write("mad.lo.u64", address, &[index, distance.into(), first.into()]);
                ("global", Operand::Memory(address, 0), guard)
            }
        }
    }
}
