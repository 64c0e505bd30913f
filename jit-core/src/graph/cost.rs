//! The cost of a value: the total weight of its node and what is behind it, shared parts counted once per use.
//!
//! A node stores it up to 255. Larger ones matter only for expressions of few lanes, for which it is counted.

use std::sync::atomic::Ordering;

use super::node::{COMPUTED, Var};

/// The largest cost that a node stores; it represents larger ones, too.
pub(super) const MOST: u32 = u8::MAX as u32;
/// From this cost on, a value that is needed twice is written to memory: the time that writing and reading take on a
/// machine with little memory bandwidth.
pub(crate) const EXPENSIVE: u32 = 32;

impl Var {
    /// Returns the cost, if it is below 255; otherwise 255.
    #[inline]
    pub(crate) fn cost(&self) -> u32 {
        u32::from(self.node().head().cost)
    }

    /// Returns the cost of recording the value again, or some number above the limit if it is larger. What library
    /// calls and reductions have computed is read, and not computed again.
    pub(crate) fn cost_up_to(&self, limit: u32) -> u32 {
        if self.cost() < MOST {
            return self.cost();
        }
        let (mut cost, mut pending) = (0_u32, vec![self.clone()]);
        while let Some(var) = pending.pop() {
            match var.cost() {
                _ if var.has_data() || var.op().is_stored() => cost += 1,
                own if own < MOST => cost += own,
                _ => {
                    cost += var.op().weight();
                    pending.extend((0..var.op().slots()).filter_map(|slot| var.operand(slot)));
                }
            }
            if cost > limit {
                break;
            }
        }
        cost
    }

    /// Returns how often the expression was recorded again.
    pub(crate) fn copies(&self) -> u32 {
        (self.node().head().uses.load(Ordering::Relaxed) & !COMPUTED).into()
    }

    /// Returns whether an evaluation has computed the value without storing it, and that was expensive.
    #[inline]
    pub(crate) fn was_computed(&self) -> bool {
        self.node().head().uses.load(Ordering::Relaxed) & COMPUTED != 0
    }

    /// Forgets that an evaluation has computed the value.
    pub(crate) fn forget_computed(&self) {
        self.node().head().uses.fetch_and(!COMPUTED, Ordering::Relaxed);
    }

    /// Counts that the expression is recorded again.
    pub(crate) fn add_copy(&self) {
        if self.copies() < u32::from(!COMPUTED) {
            self.node().head().uses.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use jit_runtime::ir::{BinaryOp, Type};

    use super::*;
    use crate::trace::record::{binary, lane_index, literal};

    #[test]
    fn large_costs_are_counted() {
        let mut x = binary(BinaryOp::Add, &lane_index(8), &literal(Type::U32, 5, 1));
        let mut cost = 1;
        assert_eq!((x.cost(), x.cost_up_to(u32::MAX)), (cost, cost));
        // The square of a sum uses it twice.
        for _ in 0..10 {
            x = binary(BinaryOp::Add, &x, &binary(BinaryOp::Xor, &x, &lane_index(8)));
            cost = 2 * cost + 2;
        }
        assert!(cost > 2 * MOST);
        assert_eq!((x.cost(), x.cost_up_to(u32::MAX)), (MOST, cost));
        let up_to = x.cost_up_to(700);
        assert!(up_to > 700 && up_to < cost, "{up_to} of {cost}");
    }
}
