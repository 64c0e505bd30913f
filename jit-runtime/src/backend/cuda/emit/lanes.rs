//! The frame of every kernel: what is computed before, in and after the loop over the lanes of a thread.

use super::super::layout::Content;
use super::super::ptx::{Class, Operand, Register};
use super::Emitter;
use crate::ir::{REDUCE_ROW, TOP};

/// The lanes of a thread: `first + position`, for positions below `count` that are `stride` apart.
struct Lanes {
    first: Register,
    count: Register,
    position: Register,
    stride: Operand,
}

impl Emitter<'_> {
    /// Emits the whole function.
    pub(super) fn body(&mut self) {
        self.load_buffers();
        let has_reductions = super::super::has_reductions(self.kernel);
        let lanes = if has_reductions { self.lanes_of_chunk() } else { self.lanes_of_grid() };
        self.declare_locals();
        self.start_reductions();
        self.uniform_instructions();
        self.loop_over_lanes(&lanes);
        self.finish_reductions();
        self.effect(None, "ret", &[]);
    }

    fn uniform_instructions(&mut self) {
        let kernel = self.kernel;
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            if inst.values().any(|value| self.is_uniform[value.index()]) {
                self.inst(TOP, position);
            }
        }
    }

    /// The lanes of a thread are a whole grid apart, so that neighbouring threads access neighbouring elements.
    fn lanes_of_grid(&mut self) -> Lanes {
        let first = self.launch_parameter(Content::FirstLane, Class::Word);
        let end = self.launch_parameter(Content::EndLane, Class::Word);
        let count = self.register(Class::Word);
        self.write("sub.u32", count, &[end.into(), first.into()]);
        let [block, threads, thread, blocks] =
            ["%ctaid.x", "%ntid.x", "%tid.x", "%nctaid.x"].map(|name| self.special(name));
        let position = self.register(Class::Word);
        self.write("mad.lo.u32", position, &[block.into(), threads.into(), thread.into()]);
        let stride = self.compute("mul.lo.u32", Class::Word, &[threads.into(), blocks.into()]);
        Lanes { first, count, position, stride }
    }

    /// The lanes of a block of threads are those of one chunk. Reductions over blocks of lanes cut each of them into
    /// chunks, of which the last one may be smaller.
    fn lanes_of_chunk(&mut self) -> Lanes {
        let contents = [Content::FirstLane, Content::EndLane, Content::LanesPerReduction, Content::LanesPerChunk];
        let [first, end, lanes, chunk_lanes] =
            contents.map(|content| Operand::from(self.launch_parameter(content, Class::Word)));
        let chunk = Operand::from(self.special("%ctaid.x"));
        let position = self.special("%tid.x");
        let rounded = self.compute("sub.u32", Class::Word, &[lanes.clone(), 1.into()]);
        let whole = self.compute("div.u32", Class::Word, &[rounded, chunk_lanes.clone()]);
        let chunks = self.compute("add.u32", Class::Word, &[whole, 1.into()]);
        let block = self.compute("div.u32", Class::Word, &[chunk.clone(), chunks.clone()]);
        let others = self.compute("mul.lo.u32", Class::Word, &[block.clone(), chunks]);
        let in_block = self.compute("sub.u32", Class::Word, &[chunk, others]);
        let skipped = self.compute("mul.lo.u32", Class::Word, &[in_block, chunk_lanes.clone()]);
        let before = self.compute("mad.lo.u32", Class::Word, &[block, lanes.clone(), skipped.clone()]);
        let left_of_block = self.compute("sub.u32", Class::Word, &[lanes, skipped]);
        let first_of_chunk = self.register(Class::Word);
        self.write("add.u32", first_of_chunk, &[first, before]);
        let left = self.compute("sub.u32", Class::Word, &[end, first_of_chunk.into()]);
        let left = self.compute("min.u32", Class::Word, &[left, left_of_block]);
        let count = self.register(Class::Word);
        self.write("min.u32", count, &[left, chunk_lanes]);
        Lanes { first: first_of_chunk, count, position, stride: (REDUCE_ROW as u32).into() }
    }

    fn loop_over_lanes(&mut self, lanes: &Lanes) {
        let (next, done) = (self.label("lane"), self.label("done"));
        let Lanes { first, count, position, stride } = lanes;
        let is_behind = self.test("setp.ge.u32", &Operand::from(*position), *count);
        self.branch(Some((is_behind, true)), done);
        self.place(next);
        let lane = self.register(Class::Word);
        self.write("add.u32", lane, &[(*first).into(), (*position).into()]);
        self.lane = Some(lane);
        self.clear_locals();
        self.region(TOP);
        // The sum of position and stride may be more than 32 bits have.
        let left = self.compute("sub.u32", Class::Word, &[(*count).into(), (*position).into()]);
        let has_next = self.register(Class::Predicate);
        self.write("setp.gt.u32", has_next, &[left, stride.clone()]);
        self.write("add.u32", *position, &[(*position).into(), stride.clone()]);
        self.branch(Some((has_next, true)), next);
        self.place(done);
    }
}
