//! Prefix reductions: each element becomes the reduction of all elements up to it.

use jit_runtime::Site;
use jit_runtime::ir::ReduceOp;
use jit_runtime::launch::native::{Call, Prefix, is_supported_prefix};

use super::prefix_derivatives::{ColumnsRule, PrefixRule};
use super::{Array, Element, Number};
use crate::graph::Var;
use crate::graph::tape::{self, Rule};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::columns::Columns;
use crate::trace::unaffected::unaffected;
use crate::trace::{native, record};

/// The order in which [`Array::prefix`] goes over the elements: inclusive or exclusive, from which end, and in blocks
/// of which length.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit_runtime::ir::ReduceOp;
///
/// let x = Int::from([1, 2, 3, 4, 5]);
/// let suffixes = x.prefix(ReduceOp::Add, Scan::exclusive().reverse());
/// assert_eq!(suffixes.to_vec()?, [14, 12, 9, 5, 0]);
/// let pairs = x.prefix(ReduceOp::Add, Scan::inclusive().per_block(2));
/// assert_eq!(pairs.to_vec()?, [1, 3, 3, 7, 5]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    pub(super) is_exclusive: bool,
    pub(super) is_reverse: bool,
    pub(super) block: Option<Size>,
}

impl Scan {
    /// Over all elements from the first on; each result includes the element itself.
    #[must_use]
    pub const fn inclusive() -> Scan {
        Scan { is_exclusive: false, is_reverse: false, block: None }
    }

    /// Over all elements from the first on. Each result combines the elements before, so the first one is the identity
    /// of the operation.
    #[must_use]
    pub const fn exclusive() -> Scan {
        Scan { is_exclusive: true, ..Scan::inclusive() }
    }

    /// The same scan from the other end.
    pub(super) const fn reversed(self) -> Scan {
        Scan { is_reverse: !self.is_reverse, ..self }
    }

    /// From the last element to the first.
    #[must_use]
    pub const fn reverse(self) -> Scan {
        Scan { is_reverse: true, ..self }
    }

    /// Reduces each block of so many elements separately; the last one may be shorter.
    #[must_use]
    pub fn per_block(self, elements: impl Into<Size>) -> Scan {
        Scan { block: Some(elements.into()), ..self }
    }
}

/// Records a prefix reduction.
#[track_caller]
pub(crate) fn prefix_of(var: &Var, op: ReduceOp, scan: Scan) -> Var {
    let Scan { is_exclusive, is_reverse, block } = scan;
    let prefix = Prefix { op, is_exclusive, is_reverse, restart: block.map_or(usize::MAX, Size::value) };
    native::call(Call::Prefix(prefix), native::sizes(block), &[var], var.ty(), var.width())
}

/// Records a prefix reduction that has a derivative.
#[track_caller]
pub(super) fn scan(var: &Var, op: ReduceOp, scan: Scan) -> Var {
    let rule = || -> Box<dyn Rule> { Box::new(PrefixRule { op, scan }) };
    tape::attach_one(prefix_of(var, op, scan), vec![var.clone()], rule, Site::here())
}

/// Records a prefix reduction along the middle axis of three.
#[track_caller]
pub(super) fn scan_columns(var: &Var, op: ReduceOp, scan: Scan, lengths: [Size; 3]) -> Var {
    let Scan { is_exclusive, is_reverse, .. } = scan;
    let scanned = Columns { op, is_exclusive, is_reverse, lengths }.of(var);
    let rule = || -> Box<dyn Rule> { Box::new(ColumnsRule { scan, lengths }) };
    match op {
        ReduceOp::Add => tape::attach_one(scanned, vec![var.clone()], rule, Site::here()),
        _ => scanned,
    }
}

impl<T: Element> Array<T> {
    /// Returns the reduction of all elements up to each one, as wide as the array.
    ///
    /// Integers wrap. Halves are added and multiplied in single precision, and each result is rounded once. Sums and
    /// products of floats are combined in a fixed order (in rows of 2048 elements, 16 rows a chunk), so the result is
    /// the same for any number of threads. Minima and maxima are NaN from the first NaN on. The identities are those of
    /// the reductions of no elements: 0, 1, the largest, the smallest value, all ones, zero. Stays lazy; the input is
    /// materialised in memory.
    ///
    /// # Panics
    ///
    /// When the element type has no such operation (bitwise ones of floats, arithmetic of `bool`), when blocks have no
    /// elements, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn prefix(&self, op: ReduceOp, scan: Scan) -> Self {
        self.check_prefix(op);
        if scan.block.is_some_and(|block| block == 0) {
            Misuse::new("blocks of a prefix reduction have at least one element", Site::here())
                .value("the array", &self.var)
                .panic();
        }
        if self.width() == 0 {
            return Array::from_var(unaffected(record::literal(T::TYPE, 0, 0), [&self.var]));
        }
        Array::from_var(self::scan(&self.var, op, scan))
    }

    /// Like [`Array::prefix`] along the middle axis of three, each of at least one element: `block` is left out. Only
    /// sums have a derivative of their own.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    pub fn prefix_columns(&self, op: ReduceOp, scan: Scan, lengths: [Size; 3]) -> Self {
        self.check_prefix(op);
        Array::from_var(scan_columns(&self.var, op, scan, lengths))
    }

    #[track_caller]
    fn check_prefix(&self, op: ReduceOp) {
        if !is_supported_prefix(op, T::TYPE) {
            let what = format!("elements of type {} cannot be combined by `ReduceOp::{op:?}`", T::TYPE);
            let hint = if T::TYPE.is_float() {
                "floats have `Add`, `Mul`, `Min` and `Max`"
            } else {
                "masks have `And` and `Or`; to count true elements, `cast` the mask to numbers"
            };
            Misuse::new(what, Site::here()).value("the array", &self.var).hint(hint).panic();
        }
    }

    /// Returns the reduction of all elements up to and including each one; see [`Array::prefix`].
    #[must_use]
    #[track_caller]
    pub fn prefix_reduce(&self, op: ReduceOp) -> Self {
        self.prefix(op, Scan::inclusive())
    }

    /// Returns the reduction of all elements before each one; see [`Array::prefix`].
    #[must_use]
    #[track_caller]
    pub fn prefix_reduce_exclusive(&self, op: ReduceOp) -> Self {
        self.prefix(op, Scan::exclusive())
    }

    /// Like [`Array::prefix_reduce`], restarting after every `elements` elements.
    #[must_use]
    #[track_caller]
    pub fn block_prefix_reduce(&self, op: ReduceOp, elements: impl Into<Size>) -> Self {
        self.prefix(op, Scan::inclusive().per_block(elements))
    }
}

impl<T: Number> Array<T> {
    /// Returns the sum of all elements up to and including each one; see [`Array::prefix`].
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = UInt::from([3, 1, 4, 1]);
    /// assert_eq!(x.prefix_sum().to_vec()?, [3, 4, 8, 9]);
    /// assert_eq!(x.prefix_sum_exclusive().to_vec()?, [0, 3, 4, 8]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "cumsum")]
    pub fn prefix_sum(&self) -> Self {
        self.prefix(ReduceOp::Add, Scan::inclusive())
    }

    /// Returns the sum of all elements before each one; 0 for the first. See [`Array::prefix`].
    #[must_use]
    #[track_caller]
    pub fn prefix_sum_exclusive(&self) -> Self {
        self.prefix(ReduceOp::Add, Scan::exclusive())
    }

    /// Like [`Array::prefix_sum`], restarting after every `elements` elements.
    #[must_use]
    #[track_caller]
    pub fn block_prefix_sum(&self, elements: impl Into<Size>) -> Self {
        self.prefix(ReduceOp::Add, Scan::inclusive().per_block(elements))
    }
}
