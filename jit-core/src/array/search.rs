//! Searching sorted arrays.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, Type};

use super::{Array, Number, UInt};
use crate::graph::Var;
use crate::size::Size;
use crate::trace::loops::LoopRecorder;
use crate::trace::{gather, record};

impl<T: Number> Array<T> {
    /// Returns, for each of some values, the position at which it can be inserted in this array, which is sorted in
    /// ascending order: the number of elements that are smaller. NumPy's `searchsorted`. A NaN is larger than all
    /// numbers, as in [`Array::sort`]. Evaluates nothing; each lane reads as many elements as the length has binary
    /// digits.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let limits = Float::from([1.0, 2.0, 2.0, 5.0]);
    /// let x = Float::from([0.5, 2.0, 3.0, 9.0]);
    /// assert_eq!(limits.searchsorted(&x).to_vec()?, [0, 1, 3, 4]);
    /// assert_eq!(limits.searchsorted_right(&x).to_vec()?, [0, 3, 3, 4]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// On the state of a traced loop, if it is wider than 1.
    #[must_use]
    #[track_caller]
    pub fn searchsorted(&self, values: &Array<T>) -> UInt {
        self.searched(values, CompareOp::Lt)
    }

    /// Like [`Array::searchsorted`], but after elements that are equal: the number of elements that are not larger.
    #[must_use]
    #[track_caller]
    pub fn searchsorted_right(&self, values: &Array<T>) -> UInt {
        self.searched(values, CompareOp::Le)
    }

    #[track_caller]
    fn searched(&self, values: &Array<T>, before: CompareOp) -> UInt {
        let width = self.width();
        if width == 0 || values.width() == 0 {
            return UInt::zeros(values.width());
        }
        let is_nan = T::TYPE.is_float().then(|| record::compare(CompareOp::Ne, &values.var, &values.var));
        // Whether the element at a position belongs before each value.
        let is_before = |position: &Var| {
            let element = gather::gather(&self.var, position, None);
            let is_before = record::compare(before, &element, &values.var);
            let Some(is_nan) = &is_nan else { return is_before };
            let mut is_smaller = is_nan.clone();
            if before == CompareOp::Lt {
                is_smaller = record::and(&is_smaller, &record::compare(CompareOp::Eq, &element, &element));
            }
            record::binary(BinaryOp::Or, &is_before, &is_smaller)
        };
        let begin = record::broadcast(&number(0), values.width());
        let begin = narrowed(&is_before, &begin, width);
        let rest = record::cast(Type::U32, &is_before(&begin));
        UInt::from_var(record::binary(BinaryOp::Add, &begin, &rest))
    }
}

/// Halves ranges of a length, beginning at zero, until one element is left, and returns its position. Elements in front
/// of the range belong before the value, and those behind it do not, except for its last one.
#[track_caller]
fn narrowed(is_before: &impl Fn(&Var) -> Var, begin: &Var, length: Size) -> Var {
    let (mut recorder, state) = LoopRecorder::begin(&[begin.clone(), record::size(length)], Site::here());
    let [begin, length] = [&state[0], &state[1]];
    recorder.condition(&record::compare(CompareOp::Gt, length, &number(1)));
    let half = record::binary(BinaryOp::Shr, length, &number(1));
    let middle = record::binary(BinaryOp::Add, begin, &half);
    let last_of_half = record::binary(BinaryOp::Sub, &middle, &number(1));
    let begin = record::select(&is_before(&last_of_half), &middle, begin);
    let length = record::binary(BinaryOp::Sub, length, &half);
    recorder.finish(vec![begin, length]).swap_remove(0)
}

#[track_caller]
fn number(value: u64) -> Var {
    record::literal(Type::U32, value, 1)
}
