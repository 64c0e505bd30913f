//! Loops, branches and switches in the form of a trace.
//!
//! A loop's parameters are numbered before anything behind it. When all its parts have numbers, these are listed behind
//! the nodes, with the numbers of the loop's region and of the one around it.

use smallvec::SmallVec;

use super::{Frame, OPERAND_BITS, REGION_BIT, UNSUPPORTED, Walk};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::{Payload, RegionId};

/// What precedes the parts of a loop, branch or switch.
const PARTS: u64 = 0xfffd;

/// What is written of loops, branches and switches behind the nodes.
#[derive(Default)]
pub(super) struct Controls {
    /// The regions of the loops, in the order in which they are found.
    regions: SmallVec<[RegionId; 4]>,
    /// The numbers of the parts found so far, plus one, of those that are not complete.
    parts: Vec<u64>,
    words: Vec<u64>,
}

impl<'e> Walk<'e> {
    /// Begins with a loop, branch or switch. The parameters of a loop get their numbers before anything behind it.
    #[inline(never)]
    pub(super) fn begin_control(&mut self, var: &'e Var) -> Option<Frame<'e>> {
        let payload = var.payload().filter(|_| var.flags() & UNSUPPORTED == 0)?;
        if let Payload::Loop(payload) = payload {
            // Lanes beyond a bound are reported by the kernel.
            if payload.bound.is_some() || self.controls.region(payload.id).is_some() {
                return None;
            }
            self.controls.regions.push(payload.id);
            for state in &payload.states {
                self.param(&state.param)?;
            }
        }
        let slots = (0..=usize::from(u16::MAX)).take_while(|&number| payload.input(number).is_some()).count();
        let (slots, parts) = (u16::try_from(slots).ok()?, self.controls.parts.len() as u32);
        Some(Frame { var, slot: 0, slots, parts, operands: 0 })
    }

    /// Numbers a parameter of a loop.
    fn param(&mut self, param: &'e Var) -> Option<()> {
        if param.flags() & UNSUPPORTED != 0 {
            return None;
        }
        let head = self.head(param, Op::Param.code())? | self.controls.region(param.region())? << REGION_BIT;
        self.form.words.push(head);
        self.add(param, true).map(|_| ())
    }

    /// Goes on with the next part of a loop, branch or switch.
    #[inline(never)]
    pub(super) fn part(&mut self, frame: &mut Frame<'e>) -> Option<()> {
        let part = frame.var.payload()?.input(frame.slot.into())?.var;
        self.advance(frame, part, Self::take_part)
    }

    /// Enters the number of the next part, if it exists.
    pub(super) fn take_part(&mut self, frame: &mut Frame<'e>, number: Option<u32>) {
        self.controls.parts.push(number.map_or(0, |number| u64::from(number + 1)));
        frame.slot += 1;
    }

    /// Numbers a loop, branch or switch whose parts have numbers.
    #[inline(never)]
    pub(super) fn finish_control(&mut self, frame: &Frame<'e>) -> Option<u32> {
        let (var, payload) = (frame.var, frame.var.payload()?);
        let (is_exclusive, cases, inside) = match payload {
            Payload::Loop(payload) => (false, 0, self.controls.region(payload.id)?),
            Payload::Switch(payload) => (payload.is_exclusive, payload.masks.len() as u64, 0),
            Payload::Branch(_) => (false, 0, 0),
            Payload::Scatter(_) | Payload::LibraryCall(_) => return None,
        };
        let around = self.controls.region(var.region())?;
        let head = self.head(var, var.op().code())?;
        self.form.words.extend_from_slice(&[head, u64::from(is_exclusive)]);
        self.controls.finish_parts(frame.parts as usize, [cases, inside, around]);
        self.add(var, true)
    }
}

impl Controls {
    /// Returns the number of the region of a loop that was found; 0 for none.
    pub(super) fn region(&self, region: RegionId) -> Option<u64> {
        if region == RegionId::NONE {
            return Some(0);
        }
        self.regions.iter().zip(1..).find_map(|(&known, number)| (known == region).then_some(number))
    }

    /// Writes the parts of a loop, branch or switch, those from a position on.
    fn finish_parts(&mut self, from: usize, [cases, inside, around]: [u64; 3]) {
        self.words.push(PARTS | cases << 16 | ((self.parts.len() - from) as u64) << 40);
        self.words.push(inside | around << 32);
        let parts = self.parts[from..].chunks(3);
        self.words.extend(parts.map(|three| three.iter().rev().fold(0, |word, part| word << OPERAND_BITS | part)));
        self.parts.truncate(from);
    }

    /// Writes everything behind the nodes, and the order of the regions: the scheduler compares them.
    pub(super) fn finish(&self, words: &mut Vec<u64>) {
        words.extend_from_slice(&self.words);
        let before = |region: &RegionId| self.regions.iter().filter(|other| *other < region).count() as u64;
        words.extend(self.regions.iter().map(before));
    }
}
