//! Emits polls for cancellation, see [`crate::backend::llvm::polls`].

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE};
use std::mem::offset_of;

use super::Codegen;
use crate::backend::llvm::emit::{Block, Raw};
use crate::cancel::Poll;
use crate::ir::RegionId;

/// How a loop determines when to poll.
pub(super) enum Countdown {
    /// It polls in each iteration.
    None,
    /// The remaining iterations before it polls, and their initial number.
    Of { left: Raw, all: u32 },
}

impl Codegen<'_> {
    /// Begins to count the iterations of a loop, at its head, if it polls.
    pub(super) fn count_down(&self, condition: RegionId, before: Block) -> Option<Countdown> {
        Some(match self.polls.every(condition)? {
            1 => Countdown::None,
            all => {
                let left = self.emit.merge(&[(self.emit.int_const(32, all.into()), before)]);
                Countdown::Of { left, all }
            }
        })
    }

    /// Ends an iteration: polls if it is time to, and jumps to the head of the loop.
    pub(super) fn repeat(&self, countdown: Option<Countdown>, head: Block) {
        match countdown {
            None => self.emit.br(head),
            Some(Countdown::None) => {
                self.poll();
                self.emit.br(head);
            }
            Some(Countdown::Of { left, all }) => self.count_iteration(left, all, head),
        }
    }

    fn count_iteration(&self, left: Raw, all: u32, head: Block) {
        let [look, go_on] = ["look", "go_on"].map(|name| self.emit.new_block(name));
        let next = self.emit.sub(left, self.emit.int_const(32, 1));
        let is_time = self.emit.icmp(LLVMIntEQ, next, self.emit.int_const(32, 0));
        let counted = self.emit.block();
        self.emit.cond_br_seldom(is_time, look, go_on);
        self.emit.position_at_end(look);
        self.poll();
        let looked = self.emit.block();
        self.emit.br(go_on);
        self.emit.position_at_end(go_on);
        let next = self.emit.merge(&[(next, counted), (self.emit.int_const(32, all.into()), looked)]);
        self.emit.add_incoming(left, next, go_on);
        self.emit.br(head);
    }

    /// Ends the run here if it is cancelled.
    pub(super) fn poll(&self) {
        let e = &self.emit;
        let Some(exit) = self.leave else { unreachable!("the function has its end before its body") };
        let field = |offset: usize| e.address(e.int(8), e.parameter(4), e.i64(offset as u64));
        let count = e.load(e.ptr(), field(offset_of!(Poll<'_>, count)), 8);
        let noted = e.load(e.int(64), field(offset_of!(Poll<'_>, noted)), 8);
        let is_cancelled = e.icmp(LLVMIntNE, e.atomic_load(e.int(64), count, 8), noted);
        let after = e.new_block("not_cancelled");
        e.cond_br_seldom(is_cancelled, exit, after);
        e.position_at_end(after);
    }
}
