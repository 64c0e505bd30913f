//! The frame of the generated function: the code that runs once, the loop over groups of packets, and the partial
//! groups at both ends of a range. If there are two bodies, the one for whole groups relies on proofs that indices are
//! in range ([`crate::backend::llvm::ranges`]), and the other one is used for lanes where they do not hold.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntUGE, LLVMIntULE, LLVMIntULT};

use super::{Codegen, Packets, Slot, bounds};
use crate::backend::RawArgument;
use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::emit::{Block, Conversion, Raw};
use crate::backend::target::Target;
use crate::ir::{Access, Kernel, Op, Param, TOP};

/// The number of instructions (times packets) up to which the body is emitted twice, without and with masks.
pub(in crate::backend::llvm) const TWO_BODIES_LIMIT: usize = 256;

/// The same for bodies in which only the stores need masks.
const TWO_PLAIN_BODIES_LIMIT: usize = 24;

/// How far loads may reach past the end of a buffer.
pub(in crate::backend::llvm) const READABLE_PADDING: usize = 64;

/// How groups that are partially in the range are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// One body without masks for whole groups, one with masks for the others.
    TwoBodies,
    /// One body whose operations all have masks.
    Masked,
    /// One body in which only the stores have masks: nothing in it can fail on lanes outside the range.
    Plain,
}

impl Frame {
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis, target: &Target, packets: usize) -> Frame {
        let insts = kernel.region(TOP).insts.iter().zip(&analysis.hoisted);
        let is_plain = insts.filter(|(_, hoisted)| !**hoisted).all(|(inst, _)| match &inst.op {
            Op::Load(buffer) => packets * target.lanes * kernel.param(*buffer).ty().size_bytes() <= READABLE_PADDING,
            Op::Store { buffer, .. } => is_only_written(kernel.param(*buffer)),
            Op::Gather { .. } => false,
            op => !op.writes_memory() && !op.has_regions(),
        });
        let limit = if is_plain { TWO_PLAIN_BODIES_LIMIT } else { TWO_BODIES_LIMIT };
        if kernel.op_count() * packets <= limit {
            Frame::TwoBodies
        } else if is_plain {
            Frame::Plain
        } else {
            Frame::Masked
        }
    }
}

pub(super) fn is_only_written(param: Param) -> bool {
    matches!(param, Param::Buffer { access: Access::Write, .. })
}

impl Codegen<'_> {
    pub(super) fn function(&mut self) {
        let (entry, prologue, exit) =
            (self.emit.new_block("entry"), self.emit.new_block("prologue"), self.emit.new_block("exit"));
        let (start, end) = (self.emit.parameter(0), self.emit.parameter(1));
        self.emit.position_at_end(exit);
        self.emit.ret();
        self.leave = Some(exit);
        self.emit.position_at_end(entry);
        let some = self.emit.icmp(LLVMIntULT, start, end);
        self.emit.cond_br(some, prologue, exit);
        self.emit.position_at_end(prologue);
        self.load_pointers();
        self.place_locals();
        self.prologue();
        self.start_accumulators();
        let first = self.emit.and(start, self.emit.i64(!(self.step() - 1)));
        let next = if self.frame == Frame::TwoBodies {
            self.proven_lanes = Some(self.lanes_of_proofs());
            self.loop_with_two_bodies(first)
        } else {
            self.loop_with_one_body(first)
        };
        self.store_accumulators(start, next);
        self.emit.ret();
        self.emit.finish_constants();
    }

    fn load_pointers(&mut self) {
        let arguments = self.emit.parameter(2);
        let needs_length = bounds::needs_length(self.kernel, self.target);
        for (index, param) in self.kernel.params.iter().enumerate() {
            let offset = self.emit.i64((index * size_of::<RawArgument>()) as u64);
            let word = self.emit.address(self.emit.int(8), arguments, offset);
            let pointer = match param {
                Param::Buffer { .. } => {
                    let load = self.emit.load(self.emit.ptr(), word, 8);
                    self.emit.mark_invariant(load);
                    load
                }
                Param::Scalar { .. } => word,
            };
            self.pointers.push(pointer);
            self.lengths.push(needs_length[index].then(|| {
                let offset = self.emit.i64(std::mem::offset_of!(RawArgument, length) as u64);
                let length = self.emit.load(self.emit.int(64), self.emit.address(self.emit.int(8), word, offset), 8);
                self.emit.mark_invariant(length);
                length
            }));
        }
    }

    /// Computes the values that all lanes of the launch share.
    fn prologue(&mut self) {
        let kernel = self.kernel;
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            if self.analysis.hoisted[position] {
                self.inst(inst);
            }
        }
        self.in_prologue = false;
    }

    /// Computes everything else, for the group that begins at a lane.
    pub(super) fn body(&mut self, group_start: Raw, mask: Option<Packets>) {
        self.slots.iter_mut().filter(|slot| !slot.in_prologue).for_each(|slot| *slot = Slot::default());
        self.group_start = Some(group_start);
        self.is_edge = self.frame == Frame::TwoBodies && mask.is_some();
        self.mask = mask;
        self.clear_locals();
        let mut reductions = 0;
        let kernel = self.kernel;
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            self.recompute_before(position);
            if let Op::Reduce { op, value, .. } = inst.op {
                self.reduce(reductions, op, value);
                reductions += 1;
            } else if !self.analysis.hoisted[position] {
                self.inst(inst);
            }
        }
        self.mask = None;
    }

    /// Returns the first lane behind the last group.
    fn loop_with_two_bodies(&mut self, first: Raw) -> Raw {
        let [dispatch, full, check, partial, exit] =
            ["dispatch", "full", "check", "partial", "exit"].map(|name| self.emit.new_block(name));
        let (end, step) = (self.emit.parameter(1), self.emit.i64(self.step()));
        let [full_start, full_end] = self.proven_lanes.unwrap_or([self.emit.parameter(0), end]);
        let before = self.emit.block();
        self.emit.br(dispatch);

        self.emit.position_at_end(dispatch);
        let lane = self.group_phi(first, before);
        let reductions = self.accumulator_phis(before);
        let is_whole = self.is_whole(lane, full_start, full_end);
        self.emit.cond_br(is_whole, full, check);

        self.emit.position_at_end(full);
        let full_lane = self.group_phi(lane, dispatch);
        let full_reductions = self.accumulator_phis(dispatch);
        match self.rows {
            Some(rows) => self.body_of_rows(full_lane, rows),
            None => self.body(full_lane, None),
        }
        let next = self.emit.add(full_lane, step);
        let again = self.emit.icmp(LLVMIntULE, self.emit.add(next, step), full_end);
        self.poll_for_groups();
        let latch = self.emit.block();
        self.emit.cond_br(again, full, dispatch);
        for (phi, reductions) in [(full_lane, &full_reductions), (lane, &reductions)] {
            self.emit.add_incoming(phi, next, latch);
            self.add_accumulators(reductions, latch);
        }

        self.emit.position_at_end(check);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, lane, end), partial, exit);
        self.emit.position_at_end(partial);
        self.accumulators.clone_from(&reductions);
        let mask = self.range_mask(lane);
        self.body(lane, Some(mask));
        self.emit.add_incoming(lane, self.emit.add(lane, step), self.emit.block());
        self.add_accumulators(&reductions, self.emit.block());
        self.emit.br(dispatch);
        self.emit.position_at_end(exit);
        self.accumulators = reductions;
        lane
    }

    /// Returns the first lane behind the last group.
    fn loop_with_one_body(&mut self, first: Raw) -> Raw {
        let [repeat, exit] = ["repeat", "exit"].map(|name| self.emit.new_block(name));
        let (end, step) = (self.emit.parameter(1), self.emit.i64(self.step()));
        let before = self.emit.block();
        self.emit.br(repeat);
        self.emit.position_at_end(repeat);
        let lane = self.group_phi(first, before);
        let reductions = self.accumulator_phis(before);
        let mask = (self.frame == Frame::Masked).then(|| self.range_mask(lane));
        self.body(lane, mask.clone());
        self.finish_stores(lane, mask);
        let next = self.emit.add(lane, step);
        self.poll_for_groups();
        let latch = self.emit.block();
        self.emit.add_incoming(lane, next, latch);
        self.add_accumulators(&reductions, latch);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, next, end), repeat, exit);
        self.emit.position_at_end(exit);
        next
    }

    fn poll_for_groups(&self) {
        if self.polls.for_groups {
            self.poll();
        }
    }

    /// Emits the stores of a body that serves whole and partial groups: without masks for the former.
    fn finish_stores(&mut self, lane: Raw, mask: Option<Packets>) {
        let pending = std::mem::take(&mut self.pending_stores);
        let values: Vec<Packets> = pending.iter().map(|store| self.vectors(store.value)).collect();
        let [full, partial, join] = ["full", "partial", "join"].map(|name| self.emit.new_block(name));
        let is_whole = self.is_whole(lane, self.emit.parameter(0), self.emit.parameter(1));
        self.emit.cond_br(is_whole, full, partial);
        for (block, is_partial) in [(full, false), (partial, true)] {
            self.emit.position_at_end(block);
            let mask = is_partial.then(|| mask.clone().unwrap_or_else(|| self.range_mask(lane)));
            for (store, values) in pending.iter().zip(&values) {
                self.store_vectors(store.buffer, values, mask.as_ref());
            }
            self.emit.br(join);
        }
        self.emit.position_at_end(join);
    }

    /// Whether lanes from a start to an end cover the group that begins at a lane.
    fn is_whole(&self, lane: Raw, start: Raw, end: Raw) -> Raw {
        let covers_start = self.emit.icmp(LLVMIntULE, start, lane);
        let covers_end = self.emit.icmp(LLVMIntULE, self.emit.add(lane, self.emit.i64(self.step())), end);
        self.emit.and(covers_start, covers_end)
    }

    pub(super) fn group_phi(&self, first: Raw, from: Block) -> Raw {
        let phi = self.emit.phi(self.emit.int(64));
        self.emit.add_incoming(phi, first, from);
        phi
    }

    /// The lanes of a group that are in the range.
    pub(super) fn range_mask(&self, lane: Raw) -> Packets {
        self.mask_of(lane, [self.emit.parameter(0), self.emit.parameter(1)])
    }

    /// The lanes of those from `lane` on that are in a range.
    pub(super) fn mask_of(&self, lane: Raw, [start, end]: [Raw; 2]) -> Packets {
        let (step, word) = (self.emit.i64(self.step()), self.emit.int(64));
        let left = self.emit.intrinsic("llvm.umin", &[word], &[self.emit.sub(end, lane), step]);
        let skipped = self.emit.intrinsic("llvm.usub.sat", &[word], &[start, lane]);
        let [left, skipped] = [left, skipped].map(|count| {
            let narrow = self.emit.convert(Conversion::Trunc, count, self.emit.int(32));
            self.emit.splat(narrow, self.lanes)
        });
        let packet = |packet: usize| {
            let lane = self.emit.iota(32, self.lanes, packet as u64 * u64::from(self.lanes));
            let before_end = self.emit.icmp(LLVMIntULT, lane, left);
            self.emit.and(before_end, self.emit.icmp(LLVMIntUGE, lane, skipped))
        };
        (0..self.packets).map(packet).collect()
    }
}
