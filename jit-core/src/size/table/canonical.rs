//! The canonical form of sizes: products that are equal, and expressions that a guard has found equal, are one
//! expression.

use jit_runtime::recording::{SizeExpr, SizeId, SizeOp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Symbols;

/// Disjoint sets of expressions. Empty for as long as no guard has found two expressions equal.
#[derive(Default)]
pub(super) struct Equal {
    /// For each expression that another one represents, one that is nearer to it, or it.
    parents: FxHashMap<SizeId, SizeId>,
}

impl Equal {
    /// Returns the representative of an expression.
    pub(super) fn find(&self, id: SizeId) -> SizeId {
        let mut id = id;
        while let Some(&parent) = self.parents.get(&id) {
            id = parent;
        }
        id
    }

    /// Lets one representative represent the set of another one, too. Returns whether they were two.
    pub(super) fn join(&mut self, one: SizeId, other: SizeId) -> bool {
        let are_two = one != other;
        if are_two {
            self.parents.insert(other, one);
        }
        are_two
    }
}

impl Symbols {
    /// Makes two expressions one, because a guard has found them equal; then those that are computed from them.
    pub(super) fn unify(&mut self, left: SizeId, right: SizeId) {
        self.join(left, right);
        // Operands precede their uses, so one pass is enough unless an expression becomes equal to an earlier one.
        let mut has_changed = true;
        while std::mem::take(&mut has_changed) {
            for position in 0..self.sizes.exprs().len() {
                let SizeExpr::Binary(op, left, right) = self.sizes.exprs()[position] else { continue };
                let [a, b] = [left, right].map(|operand| self.equal.find(operand));
                let id = SizeId(position as u16);
                let value = self.values[position];
                if (a, b) != (left, right)
                    && let Some(other) = self.combine(op, a, b, value)
                {
                    has_changed |= self.join(id, other);
                }
            }
        }
    }

    /// Lets one of two expressions represent both. Returns whether they were different.
    fn join(&mut self, left: SizeId, right: SizeId) -> bool {
        let [left, right] = [left, right].map(|id| self.equal.find(id));
        let is_later = self.rank(left) > self.rank(right);
        let (one, other) = if is_later { (right, left) } else { (left, right) };
        if self.wide.contains(&other) {
            self.wide.insert(one);
        }
        self.equal.join(one, other)
    }

    /// Returns the order in which expressions represent others: constants, products, the first one. The factors of a
    /// product that represents others are smaller than it, so it is not among the factors of its factors.
    fn rank(&self, id: SizeId) -> (u8, SizeId) {
        let rank = match self.sizes.exprs()[id.index()] {
            SizeExpr::Constant(_) => 0,
            SizeExpr::Binary(SizeOp::Mul, left, right)
                if [left, right].iter().all(|id| self.values[id.index()] > 1) =>
            {
                1
            }
            _ => 2,
        };
        (rank, id)
    }

    /// Returns the result of an operation in a canonical form in which equal products are one expression. So shapes
    /// that are split and joined again are known to be unchanged.
    pub(super) fn combine(&mut self, op: SizeOp, a: SizeId, b: SizeId, value: usize) -> Option<SizeId> {
        let [left, right] = [a, b].map(|id| self.constant(id));
        if left.is_some() && right.is_some() {
            return self.intern_constant(value);
        }
        let is_wide = Symbols::is_wide_id;
        match (op, left, right) {
            (SizeOp::Add, Some(0), _) => Some(b),
            (SizeOp::Add | SizeOp::Sub | SizeOp::Max, _, Some(0)) => Some(a),
            (SizeOp::Max, Some(0), _) => Some(b),
            (SizeOp::Min, Some(0), _) | (SizeOp::Min, _, Some(0)) => self.intern_constant(0),
            (SizeOp::Div | SizeOp::DivCeil, _, Some(1)) => Some(a),
            (SizeOp::Rem, _, Some(1)) => self.intern_constant(0),
            (SizeOp::Sub, ..) if a == b => self.intern_constant(0),
            (SizeOp::Min | SizeOp::Max, ..) if a == b => Some(a),
            (SizeOp::Min, Some(1 | 2), _) if is_wide(self, b) => Some(a),
            (SizeOp::Min, _, Some(1 | 2)) if is_wide(self, a) => Some(b),
            (SizeOp::Max, Some(1 | 2), _) if is_wide(self, b) => Some(b),
            (SizeOp::Max, _, Some(1 | 2)) if is_wide(self, a) => Some(a),
            (SizeOp::Mul, ..) => self.product_of(a, b),
            (SizeOp::Div | SizeOp::DivCeil | SizeOp::Rem, ..) => self.quotient(op, a, b, value),
            (SizeOp::Add | SizeOp::Min | SizeOp::Max, ..) => {
                let expr = SizeExpr::Binary(op, a.min(b), a.max(b));
                self.intern(expr, value)
            }
            (SizeOp::Sub, ..) => self.intern(SizeExpr::Binary(op, a, b), value),
        }
    }

    /// Returns the factors of an expression in ascending order, and the constant that they are multiplied by.
    fn factors(&self, id: SizeId) -> Option<(SmallVec<[SizeId; 8]>, usize)> {
        let (mut factors, mut scale, mut open) = (SmallVec::new(), 1usize, vec![id]);
        while let Some(id) = open.pop() {
            let id = self.equal.find(id);
            match self.sizes.exprs()[id.index()] {
                SizeExpr::Constant(value) => scale = scale.checked_mul(value)?,
                SizeExpr::Binary(SizeOp::Mul, left, right) => open.extend([left, right]),
                _ => factors.push(id),
            }
        }
        factors.sort_unstable();
        Some((factors, scale))
    }

    fn product_of(&mut self, a: SizeId, b: SizeId) -> Option<SizeId> {
        let ((mut factors, scale), (others, other_scale)) = (self.factors(a)?, self.factors(b)?);
        factors.extend(others);
        factors.sort_unstable();
        self.multiply(&factors, scale.checked_mul(other_scale)?)
    }

    fn multiply(&mut self, factors: &[SizeId], scale: usize) -> Option<SizeId> {
        if scale == 0 {
            return self.intern_constant(0);
        }
        let Some((&first, others)) = factors.split_first() else { return self.intern_constant(scale) };
        let mut product = first;
        for &factor in others {
            let value = self.values[product.index()].checked_mul(self.values[factor.index()])?;
            product = self.intern(SizeExpr::Binary(SizeOp::Mul, product, factor), value)?;
        }
        if scale == 1 {
            return Some(product);
        }
        let value = self.values[product.index()].checked_mul(scale)?;
        let scale = self.intern_constant(scale)?;
        self.intern(SizeExpr::Binary(SizeOp::Mul, product, scale), value)
    }

    /// Returns the expression of a division, which cancels if all factors of the divisor are factors of the dividend.
    fn quotient(&mut self, op: SizeOp, a: SizeId, b: SizeId, value: usize) -> Option<SizeId> {
        let ((mut rest, scale), (divisors, divisor)) = (self.factors(a)?, self.factors(b)?);
        let divides = divisor != 0
            && scale.is_multiple_of(divisor)
            && divisors.iter().all(|factor| {
                let place = rest.iter().position(|other| other == factor);
                place.map(|place| rest.remove(place)).is_some_and(|factor| self.is_wide_id(factor))
            });
        match divides {
            false => self.intern(SizeExpr::Binary(op, a, b), value),
            true if op == SizeOp::Rem => self.intern_constant(0),
            true => self.multiply(&rest, scale / divisor),
        }
    }
}
