//! Determines how often loops poll for cancellation.
//!
//! A loop polls each time that it has executed about [`WORK`] operations, which takes less than a millisecond and hides
//! the cost of polling: a counter in a register. A loop whose iterations contain loops of unknown duration polls in
//! each iteration. Loops that are provably short by their constants never poll. So no run continues for long, whatever
//! loops it consists of, provided that the loop over the packets polls, too.

use rustc_hash::FxHashMap;

use super::analysis::Analysis;
use super::bound::Bounds;
use crate::ir::{Inst, Kernel, Op, RegionId, TOP, Value};

/// The number of operations after which a loop polls, and up to which a loop is short.
const WORK: u64 = 1 << 16;

/// The maximum number of iterations between polls.
const MOST_ITERATIONS: u64 = 1 << 10;

/// The number of iterations after which each loop polls; loops are identified by their conditions.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Polls {
    every: FxHashMap<RegionId, u32>,
    /// Whether the loop over the packets polls for each group of them.
    pub(super) for_groups: bool,
}

/// The work of a region.
#[derive(Clone, Copy, Default)]
struct Work {
    /// Operations in one run, those of polling loops counted once.
    operations: u64,
    has_polls: bool,
}

impl Work {
    fn and(self, other: Work) -> Work {
        let operations = self.operations.saturating_add(other.operations);
        Work { operations, has_polls: self.has_polls || other.has_polls }
    }
}

impl Polls {
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Polls {
        let mut polls = Polls { every: FxHashMap::default(), for_groups: kernel.has_loop() };
        if polls.for_groups {
            Walk { kernel, bounds: Bounds::new(kernel, analysis), polls: &mut polls }.region(TOP);
        }
        polls
    }

    /// After how many iterations a loop polls, if it does.
    pub(super) fn every(&self, condition: RegionId) -> Option<u32> {
        self.every.get(&condition).copied()
    }
}

struct Walk<'k, 'p> {
    kernel: &'k Kernel,
    bounds: Bounds<'k>,
    polls: &'p mut Polls,
}

impl<'k> Walk<'k, '_> {
    fn region(&mut self, region: RegionId) -> Work {
        let kernel = self.kernel;
        kernel.region(region).insts.iter().fold(Work::default(), |work, inst| work.and(self.instruction(inst)))
    }

    fn instruction(&mut self, inst: &'k Inst) -> Work {
        let one = Work { operations: 1, has_polls: false };
        match inst.op {
            Op::Loop { ref inits, condition, body } => self.repeat(inits, condition, body),
            ref op => op.regions().fold(one, |work, region| work.and(self.region(region))),
        }
    }

    fn repeat(&mut self, inits: &[Value], condition: RegionId, body: RegionId) -> Work {
        let iteration = self.region(condition).and(self.region(body));
        let most = self.bounds.most_iterations(inits, condition, body);
        let all = most.map(|most| most.saturating_mul(iteration.operations)).filter(|all| *all <= WORK);
        if let Some(operations) = all {
            return Work { operations, ..iteration };
        }
        let every = match iteration.has_polls {
            true => 1,
            false => (WORK / iteration.operations.max(1)).clamp(1, MOST_ITERATIONS),
        };
        self.polls.every.insert(condition, every as u32);
        Work { has_polls: true, ..iteration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    /// After how many iterations the loops of a kernel poll, in the order of their conditions.
    fn polls(text: &str) -> Vec<u32> {
        let kernel = parse(text).unwrap();
        let polls = Polls::of(&kernel, &Analysis::new(&kernel, 8));
        assert_eq!(polls.for_groups, kernel.has_loop());
        let mut every: Vec<(RegionId, u32)> = polls.every.into_iter().collect();
        every.sort_unstable_by_key(|(condition, _)| condition.index());
        every.into_iter().map(|(_, every)| every).collect()
    }

    /// A kernel that counts to a limit, with some work in each iteration.
    fn counting(limit: &str, work: &str) -> String {
        format!(
            "kernel(p0: write u32, p1: scalar u32) {{
                v0: u32 = const 0
                v1: u32 = const 1
                v2: u32 = {limit}
                v3: u32 = loop (v0) while (v4: u32) {{
                    v5: bool = lt v4, v2
                    yield v5
                }} do {{
                    {work}
                    v6: u32 = add v4, v1
                    yield v6
                }}
                store p0, v3
            }}"
        )
    }

    /// An inner loop up to a limit.
    fn inner(limit: &str) -> String {
        format!(
            "v7: u32 = const {limit}
             v8: u32 = loop (v0) while (v9: u32) {{
                v10: bool = lt v9, v7
                yield v10
             }} do {{
                v11: u32 = add v9, v1
                yield v11
             }}"
        )
    }

    #[test]
    fn short_loops_do_not_look_and_long_ones_do_now_and_then() {
        assert_eq!(polls(&counting("const 10000", "")), [0; 0]);
        assert_eq!(polls(&counting("const 100000", "")), [1024]);
        assert_eq!(polls(&counting("scalar p1", "")), [1024]);
        let heavy: String = (7..197).map(|value| format!("v{value}: u32 = add v4, v1\n")).collect();
        assert_eq!(polls(&counting("scalar p1", &heavy)), [(1 << 16) / (1 + 190 + 1)]);
    }

    #[test]
    fn a_loop_of_long_loops_looks_in_each_iteration() {
        assert_eq!(polls(&counting("const 10", &inner("10"))), [0; 0]);
        assert_eq!(polls(&counting("scalar p1", &inner("1000"))), [(1 << 16) / (1 + 1 + 1 + 2 * 1000)]);
        assert_eq!(polls(&counting("scalar p1", &inner("1000000"))), [1, 1024]);
        assert_eq!(polls(&counting("const 10", &inner("1000000"))), [1024]);
    }
}
