//! The lines of the program that instructions are from: comments of the readable forms of a kernel.
//!
//! They are no part of a kernel: kernels that differ only in their lines are equal, have one hash, and the binary form
//! has no lines. So an operation that another line records uses the code of the first one, whose readable forms name
//! the line of the first one. Nothing is recorded unless a form that has lines is requested.

use std::hash::{Hash, Hasher};

use super::kernel::RegionId;
use crate::Site;

/// For each instruction of a kernel the line that it is from; nothing unless they were recorded.
#[derive(Clone, Debug, Default)]
pub struct Lines(Option<Box<Recorded>>);

#[derive(Clone, Debug, Default)]
struct Recorded {
    /// The line of the next instruction.
    next: Option<Site>,
    /// By region and position.
    regions: Vec<Vec<Option<Site>>>,
}

impl Lines {
    /// Lines that are recorded from now on.
    pub(super) fn recorded() -> Lines {
        Lines(Some(Box::default()))
    }

    /// Whether they are recorded.
    #[must_use]
    #[inline]
    pub fn are_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// The line of an instruction, by its region and its position there; none if it is not known.
    #[must_use]
    pub fn of(&self, region: RegionId, position: usize) -> Option<Site> {
        *self.0.as_ref()?.regions.get(region.index())?.get(position)?
    }

    /// The line of instructions that follow.
    pub(super) fn next(&self) -> Option<Site> {
        self.0.as_ref()?.next
    }

    pub(super) fn set_next(&mut self, line: Option<Site>) {
        self.0.iter_mut().for_each(|recorded| recorded.next = line);
    }

    /// Notes that an instruction is appended to a region.
    #[cold]
    pub(super) fn note(&mut self, region: RegionId) {
        let Some(recorded) = &mut self.0 else { return };
        if recorded.regions.len() <= region.index() {
            recorded.regions.resize_with(region.index() + 1, Vec::new);
        }
        recorded.regions[region.index()].push(recorded.next);
    }

    /// Brings the lines of a region into the order of its instructions: each is at the position of an earlier one.
    pub(super) fn arrange(&mut self, region: RegionId, order: &[usize]) {
        let lines = order.iter().map(|&position| self.of(region, position)).collect();
        if let Some(region) = self.0.as_mut().and_then(|recorded| recorded.regions.get_mut(region.index())) {
            *region = lines;
        }
    }
}

impl PartialEq for Lines {
    /// Kernels are equal wherever they are from.
    fn eq(&self, _: &Lines) -> bool {
        true
    }
}

impl Eq for Lines {}

impl Hash for Lines {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, BinaryOp, Builder, Kernel, ReduceOp, TOP, Type, UnaryOp, encode, passes};

    fn line(number: u32) -> Site {
        Site::new("model.rs", number, 1)
    }

    /// A kernel with a function, a loop, a branch and a scatter, each from a line of its own.
    fn kernel(first_line: Option<u32>) -> Kernel {
        let mut b = Builder::new();
        if first_line.is_some() {
            b.record_lines();
        }
        let at = |b: &mut Builder, offset| b.set_line(line(first_line.unwrap_or_default() + offset));
        let [input, output] = [Access::Read, Access::ReadWrite].map(|access| b.buffer(Type::F32, access));
        at(&mut b, 0);
        let x = b.load(input);
        at(&mut b, 1);
        let sine = b.unary(UnaryOp::Sin, x);
        let (condition, state) = b.open_region(&[Type::F32]);
        at(&mut b, 2);
        let end = b.constant(Type::F32, 2.0_f32.to_bits().into());
        let continues = b.compare(crate::ir::CompareOp::Lt, state[0], end);
        b.close_region(vec![continues]);
        let (body, _) = b.open_region(&[]);
        at(&mut b, 3);
        let next = b.binary(BinaryOp::Add, state[0], sine);
        let next = b.unary(UnaryOp::Sqrt, next);
        b.close_region(vec![next]);
        at(&mut b, 4);
        let result = b.loop_(vec![sine], condition, body)[0];
        let lane = b.lane_index();
        at(&mut b, 5);
        b.scatter(Some(ReduceOp::Add), output, lane, result, None);
        b.finish()
    }

    /// The lines of all instructions, each once, in text order, without the numbers of the regions.
    fn lines(kernel: &Kernel) -> Vec<Option<u32>> {
        let mut lines = Vec::new();
        for (region, number) in kernel.regions.iter().zip(0..) {
            let of_region = (0..region.insts.len()).map(|position| kernel.lines.of(RegionId(number), position));
            lines.extend(of_region.map(|line| line.map(Site::line)));
        }
        lines.dedup();
        lines
    }

    #[test]
    fn lines_are_no_part_of_a_kernel() {
        let [without, here, there] = [None, Some(10), Some(20)].map(kernel);
        assert!(!without.lines.are_recorded() && here.lines.are_recorded());
        assert_eq!((lines(&without), lines(&here).len()), (vec![None], 6));
        assert!(without == here && here == there && lines(&here) != lines(&there));
        let [bytes, other] = [&without, &here].map(encode::to_bytes);
        assert_eq!(bytes, other);
    }

    #[test]
    fn passes_carry_lines_to_what_replaces_an_instruction() {
        let mut kernel = kernel(Some(10));
        passes::optimise(&mut kernel);
        assert!(kernel.op_count() > 30, "the sine is expanded");
        // The top region; the sides of a branch in the sine; the condition and the body. The loop is from its own line,
        // not from that of its body.
        assert_eq!(lines(&kernel), [10, 11, 14, 15, 11, 12, 13].map(Some));
    }

    #[test]
    fn instructions_that_change_places_keep_their_lines() {
        let mut b = Builder::new();
        b.record_lines();
        let output = b.buffer(Type::U32, Access::ReadWrite);
        for number in 0..3 {
            b.set_line(line(number));
            b.constant(Type::U32, number.into());
        }
        let value = b.lane_index();
        b.scatter(None, output, value, value, None);
        let mut kernel = b.finish();
        kernel.lines.arrange(TOP, &[2, 0, 3, 1, 4]);
        assert_eq!(lines(&kernel), [2, 0, 2, 1, 2].map(Some));
    }
}
