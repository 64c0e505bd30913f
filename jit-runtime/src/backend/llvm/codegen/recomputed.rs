//! Values that are computed again ([`crate::backend::llvm::recompute`]), and packets that advance together.
//!
//! LLVM would find that an operation is the same as before, and keep its result after all. So one of the operands
//! becomes another value for it, unless one is already.
//!
//! LLVM's scheduler separates the packets of long code, to have fewer live values: the processor then waits for each
//! operation of one packet before the next. So their values are tied together now and then.

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::Raw;
use crate::backend::target::Architecture;
use crate::ir::{Inst, TOP, Type, Value};

/// The number of operations after which packets are tied together. It is prime, so that each of several chains that
/// alternate has its turn.
const TIED: usize = 7;

/// The number of operations of straight-line code from which packets are tied together.
const LONG: usize = 128;

/// The bits of the smallest vector register.
const SMALLEST_REGISTER: u32 = 128;

impl Codegen<'_> {
    /// Computes again what the instruction at a position needs.
    pub(super) fn recompute_before(&mut self, position: usize) {
        for inst in self.recompute.before(self.kernel, position) {
            self.recompute(inst);
        }
    }

    fn recompute(&mut self, inst: &Inst) {
        let (mut first, mut differs) = (None, false);
        inst.op.for_each_operand(|value| {
            differs |= self.slots[value.index()].is_recomputed;
            if first.is_none() && self.can_be_tied(value) {
                first = Some(value);
            }
        });
        match first {
            _ if differs => {}
            Some(operand) => self.tie(operand),
            None => return,
        }
        self.pure(inst.first, &inst.op);
        self.slots[inst.first.index()].is_recomputed = true;
    }

    /// Ties the packets of a value together, if it is its turn.
    pub(super) fn tie_packets(&mut self, value: Value) {
        if self.region != TOP || self.packets == 1 || !self.ties_packets || !self.can_be_tied(value) {
            return;
        }
        self.untied += 1;
        if self.untied >= TIED {
            self.untied = 0;
            self.tie(value);
        }
    }

    /// Whether the packets of a kernel are tied together.
    pub(super) fn is_long(&self) -> bool {
        let insts = &self.kernel.region(TOP).insts;
        insts.len() >= LONG && insts.iter().all(|inst| !inst.op.has_regions())
    }

    /// Whether a value is in vector registers, one or two for each packet.
    fn can_be_tied(&self, value: Value) -> bool {
        let ty = self.ty(value);
        let is_vector = ty != Type::Bool && self.analysis.shape(value) == Shape::Varying;
        is_vector && (SMALLEST_REGISTER..=2 * self.target.register_bits()).contains(&(self.lanes * ty.bits()))
    }

    /// Makes a value one that LLVM does not know, and whose packets it cannot separate.
    fn tie(&mut self, value: Value) {
        let register = match self.target.architecture {
            Architecture::X86_64 if self.target.has_masks() => "v",
            Architecture::X86_64 => "x",
            Architecture::Aarch64 => "w",
        };
        let bits = self.ty(value).bits();
        let packets = self.vectors(value);
        let parts: Vec<Raw> = packets.iter().flat_map(|&packet| self.registers_of(packet, bits)).collect();
        let tied = self.emit.tie(&parts, register);
        let tied: Packets = tied.chunks(parts.len() / packets.len()).map(|parts| self.packet_of(parts)).collect();
        let slot = &mut self.slots[value.index()];
        (slot.vectors, slot.is_recomputed) = (Some(tied), true);
    }

    /// The registers that hold a packet: one, or two halves.
    fn registers_of(&self, packet: Raw, bits: u32) -> Vec<Raw> {
        if self.lanes * bits <= self.target.register_bits() {
            return vec![packet];
        }
        let half = u64::from(self.lanes / 2);
        let [lower, upper] = [0..half, half..2 * half].map(|lanes| lanes.collect::<Vec<u64>>());
        vec![self.emit.shuffle(packet, &lower), self.emit.shuffle(packet, &upper)]
    }

    fn packet_of(&self, registers: &[Raw]) -> Raw {
        match registers {
            [lower, upper] => self.emit.concatenate(*lower, *upper, self.lanes),
            [packet] => *packet,
            _ => unreachable!("a packet is in one register or two"),
        }
    }
}
