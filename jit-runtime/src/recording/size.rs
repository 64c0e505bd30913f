//! Sizes that are computed in each replay: expressions of the sizes of the recording's inputs.
//!
//! A recording has one table of them, in which operands precede their uses. A decision of the program by sizes is a
//! [`Guard`]; a recording fits a call if all its guards hold.

use std::fmt;

use crate::Site;

/// The position of an expression in the table of its recording. The first one is the constant 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SizeId(pub u16);

impl SizeId {
    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation on two sizes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SizeOp {
    /// The sum.
    Add,
    /// The difference of a size and one that is not larger.
    Sub,
    /// The product.
    Mul,
    /// The quotient, rounded down.
    Div,
    /// The quotient, rounded up.
    DivCeil,
    /// The remainder.
    Rem,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

impl SizeOp {
    /// All operations, in the order of their numbers in files.
    pub(crate) const ALL: [SizeOp; 8] =
        [SizeOp::Add, SizeOp::Sub, SizeOp::Mul, SizeOp::Div, SizeOp::DivCeil, SizeOp::Rem, SizeOp::Min, SizeOp::Max];

    /// The result; none if it is not a valid size.
    #[must_use]
    pub const fn apply(self, left: usize, right: usize) -> Option<usize> {
        match self {
            SizeOp::Add => left.checked_add(right),
            SizeOp::Sub => left.checked_sub(right),
            SizeOp::Mul => left.checked_mul(right),
            SizeOp::Div => left.checked_div(right),
            SizeOp::DivCeil if right == 0 => None,
            SizeOp::DivCeil => Some(left.div_ceil(right)),
            SizeOp::Rem => left.checked_rem(right),
            SizeOp::Min => Some(if left < right { left } else { right }),
            SizeOp::Max => Some(if left > right { left } else { right }),
        }
    }

    /// Whether the result is 0 because operands are.
    const fn is_zero(self, left: bool, right: bool) -> bool {
        match self {
            SizeOp::Add | SizeOp::Max => left && right,
            SizeOp::Mul | SizeOp::Min => left || right,
            SizeOp::Sub | SizeOp::Div | SizeOp::DivCeil | SizeOp::Rem => left,
        }
    }

    /// The symbol of the operation.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            SizeOp::Add => "+",
            SizeOp::Sub => "-",
            SizeOp::Mul => "*",
            SizeOp::Div => "/",
            SizeOp::DivCeil => "/^",
            SizeOp::Rem => "%",
            SizeOp::Min => "min",
            SizeOp::Max => "max",
        }
    }
}

/// A size in a recording.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SizeExpr {
    /// The same in each replay.
    Constant(usize),
    /// The number of elements of an input, by the number of its symbol.
    Input(u16),
    /// The number of elements that a step of the replay has determined, by the number of that step among the counting
    /// steps.
    Count(u16),
    /// Computed from others.
    Binary(SizeOp, SizeId, SizeId),
}

/// Two sizes compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// They are equal.
    Eq,
    /// They differ.
    Ne,
    /// The first one is smaller.
    Lt,
    /// The first one is not smaller.
    Ge,
}

impl Relation {
    /// All relations, in the order of their numbers in files.
    pub(crate) const ALL: [Relation; 4] = [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Ge];

    /// How it is written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::Ge => ">=",
        }
    }

    /// Whether it holds.
    #[must_use]
    pub const fn holds(self, left: usize, right: usize) -> bool {
        match self {
            Relation::Eq => left == right,
            Relation::Ne => left != right,
            Relation::Lt => left < right,
            Relation::Ge => left >= right,
        }
    }
}

/// A condition that a recording relies on.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The relation that must hold.
    pub relation: Relation,
    /// The one size.
    pub left: SizeId,
    /// The other one.
    pub right: SizeId,
    /// The line of the program that decided by it.
    pub site: Site,
}

/// The sizes of a recording; operands precede their uses.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    exprs: Vec<SizeExpr>,
    /// For each expression, the number of counting steps that must have run before it is known.
    after: Vec<u16>,
    guards: Vec<Guard>,
}

impl Sizes {
    /// A table with only the constant 0.
    #[must_use]
    pub fn new() -> Sizes {
        Sizes { exprs: vec![SizeExpr::Constant(0)], after: vec![0], guards: Vec::new() }
    }

    /// Appends an expression; none if the table is full.
    pub fn push(&mut self, expr: SizeExpr) -> Option<SizeId> {
        // The largest number marks the absence of a size.
        let id = SizeId(u16::try_from(self.exprs.len()).ok().filter(|&id| id != u16::MAX)?);
        let after = match expr {
            SizeExpr::Constant(_) | SizeExpr::Input(_) => 0,
            SizeExpr::Count(count) => count + 1,
            SizeExpr::Binary(_, left, right) => self.after[left.index()].max(self.after[right.index()]),
        };
        self.exprs.push(expr);
        self.after.push(after);
        Some(id)
    }

    /// Adds a condition that must hold.
    pub fn require(&mut self, guard: Guard) {
        let is_known =
            |known: &Guard| (known.relation, known.left, known.right) == (guard.relation, guard.left, guard.right);
        if !self.guards.iter().any(is_known) {
            self.guards.push(guard);
        }
    }

    /// The expressions.
    #[must_use]
    pub fn exprs(&self) -> &[SizeExpr] {
        &self.exprs
    }

    /// The conditions that must hold.
    #[must_use]
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Returns for each expression whether it is 0 in every replay that the guards admit.
    pub(crate) fn zeros(&self) -> Vec<bool> {
        let mut zeros = vec![false; self.exprs.len()];
        loop {
            let before = zeros.iter().filter(|is| **is).count();
            for (position, expr) in self.exprs.iter().enumerate() {
                zeros[position] |= match *expr {
                    SizeExpr::Constant(value) => value == 0,
                    SizeExpr::Input(_) | SizeExpr::Count(_) => false,
                    SizeExpr::Binary(op, left, right) => op.is_zero(zeros[left.index()], zeros[right.index()]),
                };
            }
            for guard in self.guards.iter().filter(|guard| guard.relation == Relation::Eq) {
                let (left, right) = (guard.left.index(), guard.right.index());
                let is_zero = zeros[left] || zeros[right];
                (zeros[left], zeros[right]) = (is_zero, is_zero);
            }
            if zeros.iter().filter(|is| **is).count() == before {
                return zeros;
            }
        }
    }

    /// The number of sizes that callers pass: one more than the largest symbol.
    pub(crate) fn inputs(&self) -> usize {
        let symbol = |expr: &SizeExpr| match expr {
            SizeExpr::Input(number) => usize::from(*number) + 1,
            _ => 0,
        };
        self.exprs.iter().map(symbol).max().unwrap_or(0)
    }

    /// Whether a size is known before any step has run.
    #[must_use]
    pub fn is_known_at_first(&self, size: SizeId) -> bool {
        self.after[size.index()] == 0
    }

    /// Computes the sizes that are known once a number of counting steps have run, from those that were known before.
    /// Returns the first guard on them that fails, if any.
    ///
    /// # Errors
    ///
    /// The guard that failed; none if an operation failed, whose result would not be a valid size.
    pub fn evaluate(&self, inputs: &[usize], counts: &[usize], values: &mut Vec<usize>) -> Result<(), Option<Guard>> {
        let step = counts.len() as u16;
        values.resize(self.exprs.len(), 0);
        for (position, expr) in self.exprs.iter().enumerate() {
            if self.after[position] == step {
                values[position] = match *expr {
                    SizeExpr::Constant(value) => value,
                    SizeExpr::Input(number) => inputs[number as usize],
                    SizeExpr::Count(number) => counts[number as usize],
                    SizeExpr::Binary(op, left, right) => {
                        op.apply(values[left.index()], values[right.index()]).ok_or(None)?
                    }
                };
            }
        }
        let is_new = |guard: &&Guard| self.after[guard.left.index()].max(self.after[guard.right.index()]) == step;
        let fails = |guard: &&Guard| !guard.relation.holds(values[guard.left.index()], values[guard.right.index()]);
        self.guards.iter().filter(is_new).find(fails).map_or(Ok(()), |guard| Err(Some(*guard)))
    }

    /// A guard as text, with names for the inputs.
    #[must_use]
    pub fn display_guard(&self, guard: &Guard, names: &dyn Fn(u16) -> String) -> String {
        let [left, right] = [guard.left, guard.right].map(|size| Shown { sizes: self, size, names, is_whole: true });
        format!("{left} {} {right}", guard.relation.symbol())
    }

    /// An expression as text, with names for the inputs.
    pub fn display<'a>(&'a self, size: SizeId, names: &'a dyn Fn(u16) -> String) -> impl fmt::Display + 'a {
        Shown { sizes: self, size, names, is_whole: false }
    }
}

struct Shown<'a> {
    sizes: &'a Sizes,
    size: SizeId,
    names: &'a dyn Fn(u16) -> String,
    /// Whether it is not part of a larger expression.
    is_whole: bool,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |size| Shown { size, is_whole: false, ..*self };
        match self.sizes.exprs[self.size.index()] {
            SizeExpr::Constant(value) => write!(f, "{value}"),
            SizeExpr::Input(number) => f.write_str(&(self.names)(number)),
            SizeExpr::Count(number) => write!(f, "count {number}"),
            SizeExpr::Binary(op @ (SizeOp::Min | SizeOp::Max), left, right) => {
                write!(f, "{}({}, {})", op.symbol(), inner(left), inner(right))
            }
            SizeExpr::Binary(op, left, right) if self.is_whole => {
                write!(f, "{} {} {}", inner(left), op.symbol(), inner(right))
            }
            SizeExpr::Binary(op, left, right) => write!(f, "({} {} {})", inner(left), op.symbol(), inner(right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_computed_in_order_and_guarded() {
        let mut sizes = Sizes::new();
        let width = sizes.push(SizeExpr::Input(0)).expect("room");
        let one = sizes.push(SizeExpr::Constant(1)).expect("room");
        let last = sizes.push(SizeExpr::Binary(SizeOp::Sub, width, one)).expect("room");
        let found = sizes.push(SizeExpr::Count(0)).expect("room");
        let both = sizes.push(SizeExpr::Binary(SizeOp::Add, last, found)).expect("room");
        let site = Site::here();
        sizes.require(Guard { relation: Relation::Ge, left: width, right: one, site });
        sizes.require(Guard { relation: Relation::Ne, left: found, right: one, site });
        let mut values = Vec::new();
        assert!(sizes.evaluate(&[8], &[], &mut values).is_ok());
        assert_eq!(values[last.index()], 7);
        assert!(sizes.is_known_at_first(last) && !sizes.is_known_at_first(both));
        assert!(sizes.evaluate(&[8], &[3], &mut values).is_ok());
        assert_eq!(values[both.index()], 10);
        assert_eq!(
            sizes.evaluate(&[8], &[1], &mut values).map_err(|guard| guard.map(|g| g.relation)),
            Err(Some(Relation::Ne))
        );
        assert!(matches!(sizes.evaluate(&[0], &[], &mut values), Err(None)), "zero minus one is not a size");
        assert_eq!(sizes.zeros(), [true, false, false, false, false, false]);
        let name = |_| "x.len()".to_owned();
        assert_eq!(sizes.display(both, &name).to_string(), "((x.len() - 1) + count 0)");
        let guard = Guard { relation: Relation::Lt, left: one, right: last, site };
        assert_eq!(sizes.display_guard(&guard, &name), "1 < x.len() - 1");
    }
    #[test]
    fn sizes_are_zero_if_guards_say_so() {
        let mut sizes = Sizes::new();
        let mut push = |expr| sizes.push(expr).expect("room");
        let (zero, two) = (SizeId::default(), push(SizeExpr::Constant(2)));
        let [empty, other] = [0, 1].map(|input| push(SizeExpr::Input(input)));
        let twice = push(SizeExpr::Binary(SizeOp::Mul, empty, two));
        let both = push(SizeExpr::Binary(SizeOp::Add, twice, other));
        let equal = push(SizeExpr::Count(0));
        let site = Site::here();
        let equals = |left, right| Guard { relation: Relation::Eq, left, right, site };
        sizes.require(equals(equal, twice));
        sizes.require(equals(empty, zero));
        sizes.require(Guard { relation: Relation::Ge, left: other, right: zero, site });
        let zeros = sizes.zeros();
        assert_eq!(
            [empty, other, twice, both, equal].map(|size| zeros[size.index()]),
            [true, false, true, false, true]
        );
    }
}
