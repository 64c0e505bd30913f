//! Reductions of segments: groups of elements that a key, or a list of ranges, defines.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::reductions::check_op;
use super::{Array, Element, Integer, Number, UInt};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::loops::LoopRecorder;
use crate::trace::unaffected::unaffected;
use crate::trace::{gather, record, reduce};

impl<T: Element> Array<T> {
    /// Reduces the elements of each segment; `segments` has the number of each element's segment, in any order. As
    /// JAX's `segment_sum` and its kin. Elements whose segment is negative or at least `count` are left out. A segment
    /// without elements gets the identity: 0 for sums, infinity or the largest integer for minima. Evaluates nothing.
    ///
    /// Sums of floats are those of [`Array::scatter_reduce`].
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    /// use jit_runtime::ir::ReduceOp;
    ///
    /// let x = Float::from([1.0, 2.0, 3.0, 4.0]);
    /// let key = UInt::from([2, 0, 2, 9]);
    /// assert_eq!(x.segment_sum(&key, 3).to_vec()?, [2.0, 0.0, 4.0]);
    /// assert_eq!(x.segment_reduce(ReduceOp::Max, &key, 3).to_vec()?, [2.0, f32::NEG_INFINITY, 3.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the elements have no such operation (arithmetic of `bool`, bits of floats), or the widths differ and none
    /// is 1.
    #[must_use]
    #[track_caller]
    pub fn segment_reduce<I: Integer>(&self, op: ReduceOp, segments: &Array<I>, count: impl Into<Size>) -> Self {
        check_op::<T>(op);
        let count = count.into();
        let identities = record::literal(T::TYPE, scalar::identity(op, T::TYPE), count);
        if count == 0 || self.width() == 0 || segments.width() == 0 {
            return Array::from_var(unaffected(identities, [&self.var]));
        }
        let mut results = Array::from_var(identities);
        results.scatter_reduce_masked(op, self, segments, &segments.is_number_below(count));
        results
    }

    /// Reduces consecutive elements: segment `i` has those from `begins[i]` to before `begins[i + 1]`, as the rows of a
    /// compressed sparse matrix. The result has one element fewer than `begins`. A segment without elements gets the
    /// identity, and elements out of range count as zero. Each segment is reduced by one lane, in ascending order; sums
    /// and products of halves are computed in single precision and rounded once. Evaluates nothing.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    /// use jit_runtime::ir::ReduceOp;
    ///
    /// let x = Float::from([1.0, 2.0, 3.0, 4.0]);
    /// let begins = UInt::from([0, 1, 1, 4]);
    /// assert_eq!(x.reduce_ranges(ReduceOp::Add, &begins).to_vec()?, [1.0, 0.0, 9.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the elements have no such operation, `begins` has no elements, or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    pub fn reduce_ranges(&self, op: ReduceOp, begins: &UInt) -> Self {
        check_op::<T>(op);
        if begins.width() == 0 {
            Misuse::new("ranges are between neighbours of a list that has at least one element", Site::here())
                .value("the list", &begins.var)
                .panic();
        }
        let count = begins.width() - 1;
        if count == 0 {
            return Array::from_var(unaffected(record::literal(T::TYPE, 0, 0), [&self.var]));
        }
        if reduce::is_rounded_once(op, T::TYPE) {
            let single = Array::<f32>::from_var(record::cast(Type::F32, &self.var));
            return Array::from_var(record::cast(T::TYPE, &single.reduce_ranges(op, begins).var));
        }
        let lane = record::lane_index(count);
        let next = record::binary(BinaryOp::Add, &lane, &record::literal(Type::U32, 1, 1));
        let [first, end] = [&lane, &next].map(|at| gather::gather(&begins.var, at, None));
        let identity = record::literal(T::TYPE, scalar::identity(op, T::TYPE), 1);
        let (mut recorder, state) = LoopRecorder::begin(&[first, identity], Site::here());
        let [position, total] = [&state[0], &state[1]];
        recorder.condition(&record::compare(CompareOp::Lt, position, &end));
        let element = gather::gather(&self.var, position, None);
        let combined = record::binary(op.as_binary(), total, &element);
        let next = record::binary(BinaryOp::Add, position, &record::literal(Type::U32, 1, 1));
        Array::from_var(recorder.finish(vec![next, combined]).swap_remove(1))
    }
}

impl<T: Number> Array<T> {
    /// Returns the sum of the elements of each segment: see [`Array::segment_reduce`].
    #[must_use]
    #[track_caller]
    pub fn segment_sum<I: Integer>(&self, segments: &Array<I>, count: impl Into<Size>) -> Self {
        self.segment_reduce(ReduceOp::Add, segments, count)
    }
}
