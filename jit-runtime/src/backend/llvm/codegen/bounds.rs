//! Indices out of range: lanes with such an index read zero and write nothing, see [`crate::ir`].
//!
//! The length of a buffer is in the argument table. If indices differ between lanes, the lanes in range become part of
//! the mask that gathers and scatters take anyway. A shared index, and the first of consecutive ones, is compared as a
//! scalar: the group as a whole is in range, or its lanes are checked one by one. Accesses that are proven to be in
//! range for whole groups in a part of the launch are not checked there, see [`super::frame`].

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntSLE, LLVMIntSLT, LLVMIntULT};

use super::words::Words;
use super::{Codegen, Packets};
use crate::backend::llvm::bound::{Bound, Leaf};
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::backend::llvm::interval::{Folded, Folding, Interval};
use crate::backend::llvm::ranges::Proof;
use crate::backend::target::Target;
use crate::ir::{Kernel, Op, Param, ParamId, Type, Value};

/// How indices of a type are compared with a length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Reach {
    /// Up to `i32::MAX`.
    Signed32,
    /// Below `u32::MAX`: no buffer that is accessed with such an index is longer.
    Unsigned32,
    /// Any element.
    Wide,
}

impl Reach {
    fn of(index: Type) -> Reach {
        match index {
            Type::I64 | Type::U64 => Reach::Wide,
            _ if index.is_signed_integer() => Reach::Signed32,
            _ => Reach::Unsigned32,
        }
    }

    /// The number of elements that can be addressed, if not all.
    fn most(self) -> Option<u64> {
        match self {
            Reach::Signed32 => Some(1 << 31),
            Reach::Unsigned32 => Some(u32::MAX.into()),
            Reach::Wide => None,
        }
    }
}

/// For each parameter, whether the length of the buffer is used.
pub(super) fn needs_length(kernel: &Kernel, target: &Target) -> Vec<bool> {
    match target.verifies_accesses {
        true => kernel.params.iter().map(|param| matches!(param, Param::Buffer { .. })).collect(),
        false => is_indexed(kernel),
    }
}

/// For each parameter, whether it is accessed by an index.
fn is_indexed(kernel: &Kernel) -> Vec<bool> {
    let mut indexed = vec![false; kernel.params.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        match inst.op {
            Op::Gather { buffer, .. }
            | Op::Scatter { buffer, .. }
            | Op::Atomic { buffer, .. }
            | Op::CompareExchange { buffer, .. } => indexed[buffer.index()] = true,
            _ => {}
        }
    }
    indexed
}

impl Codegen<'_> {
    /// The number of elements of a buffer that is accessed by an index, as 64 bits.
    pub(super) fn length(&self, buffer: ParamId) -> Raw {
        self.lengths[buffer.index()].expect("lengths of indexed buffers are loaded in the beginning")
    }

    /// The number of elements that are followed by at least `count - 1` more, as 64 bits. Computed once.
    fn limit(&mut self, buffer: ParamId, reach: Reach, count: u64) -> Raw {
        if let Some(&limit) = self.limits.get(&(buffer, reach, count)) {
            return limit;
        }
        let length = self.length(buffer);
        let limit = self.emit.after_definition(length, |emit| {
            let word = emit.int(64);
            let most = reach.most();
            let reached = most.map_or(length, |most| emit.intrinsic("llvm.umin", &[word], &[length, emit.i64(most)]));
            if count == 1 {
                return reached;
            }
            emit.intrinsic("llvm.usub.sat", &[word], &[reached, emit.i64(count - 1)])
        });
        *self.limits.entry((buffer, reach, count)).or_insert(limit)
    }

    /// As [`Codegen::limit`], with the bits of the index, and in all lanes.
    fn limit_vector(&mut self, buffer: ParamId, reach: Reach, count: u64) -> Raw {
        if let Some(&limit) = self.limit_vectors.get(&(buffer, reach, count)) {
            return limit;
        }
        let limit = self.limit(buffer, reach, count);
        let vector = self.emit.after_definition(limit, |emit| {
            let narrow = match reach {
                Reach::Wide => limit,
                _ => emit.convert(Conversion::Trunc, limit, emit.int(32)),
            };
            emit.splat(narrow, self.lanes)
        });
        *self.limit_vectors.entry((buffer, reach, count)).or_insert(vector)
    }

    /// The lanes at whose index of a type `count` consecutive elements are in a buffer.
    pub(super) fn are_inside(&mut self, buffer: ParamId, ty: Type, indices: Raw, count: u64) -> Raw {
        let limit = self.limit_vector(buffer, Reach::of(ty), count);
        let indices = self.extended_index(ty, indices);
        self.emit.icmp(LLVMIntULT, indices, limit)
    }

    /// As [`Codegen::are_inside`], for one element and some lanes.
    pub(super) fn inside(&mut self, buffer: ParamId, ty: Type, indices: Raw, lanes: Option<Raw>) -> Raw {
        let inside = self.are_inside(buffer, ty, indices, 1);
        lanes.map_or(inside, |lanes| self.emit.and(lanes, inside))
    }

    /// Indices in at least 32 bits; the length of the buffer for lanes that are inactive or out of range.
    pub(super) fn place_or_end(&mut self, buffer: ParamId, ty: Type, indices: Raw, lanes: Option<Raw>) -> Raw {
        let end = self.limit_vector(buffer, Reach::of(ty), 1);
        let indices = self.extended_index(ty, indices);
        let place = self.emit.intrinsic("llvm.umin", &[self.emit.type_of(indices)], &[indices, end]);
        lanes.map_or(place, |lanes| self.emit.select(lanes, place, end))
    }

    /// Among some lanes of the group, those whose index is in range; none if that is all of them.
    pub(super) fn lanes_inside(&mut self, buffer: ParamId, index: Value, lanes: Option<Packets>) -> Option<Packets> {
        if self.is_proven(buffer, index) {
            self.expect_inside(buffer, index, lanes.as_ref());
            return lanes;
        }
        let (ty, indices) = (self.ty(index), self.indices_here(index));
        let inside = |(packet, &indices): (usize, &Raw)| {
            self.inside(buffer, ty, indices, lanes.as_ref().map(|lanes| lanes[packet]))
        };
        Some(indices.iter().enumerate().map(inside).collect())
    }

    /// Indices as vectors; consecutive ones are expanded at the point of use, which may be rare.
    pub(super) fn indices_here(&mut self, index: Value) -> Packets {
        let slot = &self.slots[index.index()];
        match (slot.scalar, &slot.vectors) {
            (Some(first), None) if slot.linear => {
                let (bits, first) = (self.ty(index).bits(), self.emit.splat(first, self.lanes));
                let packet = |packet: u64| {
                    let offsets = self.emit.iota(bits, self.lanes, packet * u64::from(self.lanes));
                    self.emit.add(first, offsets)
                };
                (0..self.packets as u64).map(packet).collect()
            }
            _ => self.vectors(index),
        }
    }

    /// Whether a shared index, as 64 bits, is in range.
    pub(super) fn is_inside(&self, buffer: ParamId, index: Raw) -> Raw {
        self.emit.icmp(LLVMIntULT, index, self.length(buffer))
    }

    /// The number of elements that indices of a type reach, as 64 bits.
    pub(super) fn limit_of(&mut self, buffer: ParamId, ty: Type) -> Raw {
        self.limit(buffer, Reach::of(ty), 1)
    }

    /// Whether a number of consecutive elements are in range, starting at an index, which is the first one of a type as
    /// 64 bits.
    pub(super) fn is_run_inside(&mut self, buffer: ParamId, ty: Type, first: Raw, count: u64) -> Raw {
        let limit = self.limit(buffer, Reach::of(ty), count);
        self.emit.icmp(LLVMIntULT, first, limit)
    }

    /// Whether the index is proven to be in range in the code that is being generated.
    pub(super) fn is_proven(&self, buffer: ParamId, index: Value) -> bool {
        self.proven_lanes.is_some() && !self.is_edge && self.analysis.ranges.is_proven(self.region, buffer, index)
    }

    /// The lanes of the range where all proofs hold, as first and end.
    pub(super) fn lanes_of_proofs(&mut self) -> [Raw; 2] {
        let word = self.emit.int(64);
        let [mut start, mut end] = [0, 1].map(|parameter| self.emit.parameter(parameter));
        let analysis = self.analysis;
        for (buffer, proof) in &analysis.ranges.proofs {
            let [first, last] = self.lanes_of_proof(*buffer, proof);
            start = self.emit.intrinsic("llvm.umax", &[word], &[start, first]);
            end = self.emit.intrinsic("llvm.umin", &[word], &[end, last]);
        }
        [start, end]
    }

    fn lanes_of_proof(&mut self, buffer: ParamId, proof: &Proof) -> [Raw; 2] {
        let (word, zero) = (self.emit.int(64), self.emit.i64(0));
        match proof {
            Proof::Within(bound) => {
                let is_inside = self.is_within(bound, buffer);
                [zero, self.emit.select(is_inside, self.emit.all_ones(word), zero)]
            }
            Proof::Moved { ty, terms } => {
                let limit = self.limit(buffer, Reach::of(*ty), 1);
                let mut moved = self.emit.int_const(ty.bits(), 0);
                for &(term, is_minus) in terms {
                    let term = self.scalar(term);
                    moved = if is_minus { self.emit.sub(moved, term) } else { self.emit.add(moved, term) };
                }
                // Lanes that wrap around are not among the lanes found, whatever the type.
                let up = if ty.bits() == 64 { moved } else { self.emit.convert(Conversion::SExt, moved, word) };
                let (is_down, down) = (self.emit.icmp(LLVMIntSLT, up, zero), self.emit.neg(up));
                let above = self.emit.intrinsic("llvm.usub.sat", &[word], &[limit, up]);
                let below = self.emit.add(limit, down);
                [self.emit.select(is_down, down, zero), self.emit.select(is_down, below, above)]
            }
        }
    }

    /// Whether all elements between the ends of an interval are in a buffer.
    fn is_within(&self, bound: &Bound, buffer: ParamId) -> Raw {
        let machine = Folding(Words(&self.emit));
        let Interval { least, most } = bound.interval(&machine, &|leaf| Folded::Computed(self.leaf(leaf)));
        let (e, zero) = (&self.emit, self.emit.i64(0));
        let ends_inside = e.icmp(LLVMIntSLT, machine.word(most), self.length(buffer));
        match least {
            Folded::Known(0..) => ends_inside,
            least => e.and(e.icmp(LLVMIntSLE, zero, machine.word(least)), ends_inside),
        }
    }

    /// A word that is known before the first lane.
    fn leaf(&self, leaf: Leaf) -> Raw {
        let e = &self.emit;
        match leaf {
            Leaf::LastLane => e.sub(e.parameter(1), e.i64(1)),
            Leaf::Shared(value) => {
                let word = self.wide_index(self.ty(value), self.scalar(value));
                let is_any = self.ty(value) == Type::U64;
                if is_any { e.intrinsic("llvm.umin", &[e.int(64)], &[word, e.i64(i64::MAX as u64)]) } else { word }
            }
        }
    }

    /// Accesses consecutive elements: under the mask of some lanes, or without one if all of them are in range.
    pub(super) fn consecutive(
        &mut self,
        buffer: ParamId,
        index: Value,
        lanes: Option<Packets>,
        access: impl Fn(&Self, &Packets, Option<&Packets>) -> Packets,
    ) -> Packets {
        let first = self.linear_start(index);
        let addresses = self.packet_addresses(buffer, first);
        if self.is_proven(buffer, index) {
            self.expect_inside(buffer, index, lanes.as_ref());
            self.expect_run_inside(buffer, self.ty(index), first, self.step());
            return access(self, &addresses, lanes.as_ref());
        }
        if lanes.is_some() {
            let lanes = self.lanes_inside(buffer, index, lanes);
            let addresses = self.packet_addresses(buffer, self.near_start(buffer, first));
            return access(self, &addresses, lanes.as_ref());
        }
        let is_inside = self.is_run_inside(buffer, self.ty(index), first, self.step());
        self.either(
            is_inside,
            |codegen| access(codegen, &addresses, None),
            |codegen| {
                let lanes = codegen.lanes_inside(buffer, index, None);
                let addresses = codegen.packet_addresses(buffer, codegen.near_start(buffer, first));
                access(codegen, &addresses, lanes.as_ref())
            },
        )
    }

    /// The first of a group's consecutive indices, or zero if all of them are out of range.
    ///
    /// An access whose mask is empty does nothing wherever it points, but where no memory is, AMD's processors find
    /// that out in microcode: some hundred cycles for each vector on Zen 4.
    fn near_start(&self, buffer: ParamId, first: Raw) -> Raw {
        let e = &self.emit;
        let before = e.i64(self.step() - 1);
        let is_near = e.icmp(LLVMIntULT, e.add(first, before), e.add(self.length(buffer), before));
        e.select(is_near, first, e.i64(0))
    }

    /// Computes vectors in one of two ways.
    pub(super) fn either(
        &mut self,
        condition: Raw,
        usual: impl FnOnce(&mut Self) -> Packets,
        other: impl FnOnce(&mut Self) -> Packets,
    ) -> Packets {
        let [usual_block, other_block, join] = ["inside", "outside", "accessed"].map(|name| self.emit.new_block(name));
        self.emit.cond_br(condition, usual_block, other_block);
        self.emit.position_at_end(usual_block);
        let usual = usual(self);
        let usual_end = self.emit.block();
        self.emit.br(join);
        self.emit.position_at_end(other_block);
        let other = other(self);
        let other_end = self.emit.block();
        self.emit.br(join);
        self.emit.position_at_end(join);
        let merge = |(&usual, &other): (&Raw, &Raw)| self.emit.merge(&[(usual, usual_end), (other, other_end)]);
        usual.iter().zip(&other).map(merge).collect()
    }
}
