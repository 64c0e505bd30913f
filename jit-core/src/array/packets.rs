//! Packets: neighbouring elements that are read or written together, such as the components of vectors in a flat array.
//!
//! In each lane, packet `i` of `N` elements is the elements `N * i` to `N * i + N - 1`. `N` gathers or scatters do the
//! same. One packet access needs the index once and takes one kernel, and the code generator combines the accesses into
//! wide ones where it can.

use jit_runtime::Site;
use jit_runtime::config;
use jit_runtime::ir::{BinaryOp, ReduceOp, Type};

use super::{Array, Element, Integer, Mask, Number};
use crate::graph::Var;
use crate::graph::payload::How;
use crate::misuse::Misuse;
use crate::schedule::eager;
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, index_range, record};

impl<T: Element> Array<T> {
    /// Returns the packets of `N` neighbouring elements at some positions: array `k` of the result holds, in each lane,
    /// the element at `N * index + k`. Equivalent to `N` calls of [`Array::gather`], which explains sources and
    /// indices.
    ///
    /// # Panics
    ///
    /// As [`Array::gather`], and when the width of the source is no multiple of `N`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let points = Float::from([1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    /// let [x, y] = points.gather_packet::<2>(&UInt::from([2, 0]));
    /// assert_eq!(x.to_vec()?, [3.0, 1.0]);
    /// assert_eq!(y.to_vec()?, [30.0, 10.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gather_packet<const N: usize>(&self, index: &Array<impl Integer>) -> [Self; N] {
        self.packets_at(index.var(), None)
    }

    /// Like [`Array::gather_packet`] where the mask is true; zero, without reading, where it is false.
    #[must_use]
    #[track_caller]
    pub fn gather_packet_masked<const N: usize>(&self, index: &Array<impl Integer>, mask: &Mask) -> [Self; N] {
        self.packets_at(index.var(), Some(mask.var()))
    }

    #[track_caller]
    fn packets_at<const N: usize>(&self, index: &Var, mask: Option<&Var>) -> [Self; N] {
        let positions = positions(self.var(), index, N);
        let mut packet = Vec::with_capacity(N);
        // A loop instead of a closure, so that the reported line is that of our caller.
        for position in &positions {
            packet.push(gather::gather(self.var(), position, mask));
        }
        let mut packet = packet.into_iter();
        std::array::from_fn(|_| Array::from_var(packet.next().expect("there is a position for each element")))
    }

    /// Writes packets of `N` neighbouring elements: value `k` to the element at `N * index + k`. Equivalent to `N`
    /// calls of [`Array::scatter`], but in one kernel. Where lanes write to the same packet, each of its elements gets
    /// one of the values, not necessarily from the same lane.
    ///
    /// # Panics
    ///
    /// As [`Array::scatter`], and when the width of the array is no multiple of `N`.
    #[track_caller]
    pub fn scatter_packet<const N: usize>(&mut self, values: &[Self; N], index: &Array<impl Integer>) {
        self.write_packets(How::Write, values, index.var(), None);
    }

    /// Like [`Array::scatter_packet`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_packet_masked<const N: usize>(
        &mut self,
        values: &[Self; N],
        index: &Array<impl Integer>,
        mask: &Mask,
    ) {
        self.write_packets(How::Write, values, index.var(), Some(mask.var()));
    }

    /// Combines packets of `N` neighbouring elements with the array: value `k` with the element at `N * index + k`.
    /// Equivalent to `N` calls of [`Array::scatter_reduce`].
    ///
    /// # Panics
    ///
    /// As [`Array::scatter_reduce`], and when the width of the array is no multiple of `N`.
    #[track_caller]
    pub fn scatter_reduce_packet<const N: usize>(
        &mut self,
        op: ReduceOp,
        values: &[Self; N],
        index: &Array<impl Integer>,
    ) {
        self.write_packets(How::Reduce(op), values, index.var(), None);
    }

    /// Like [`Array::scatter_reduce_packet`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_reduce_packet_masked<const N: usize>(
        &mut self,
        op: ReduceOp,
        values: &[Self; N],
        index: &Array<impl Integer>,
        mask: &Mask,
    ) {
        self.write_packets(How::Reduce(op), values, index.var(), Some(mask.var()));
    }

    #[track_caller]
    fn write_packets(&mut self, how: How, values: &[Self], index: &Var, mask: Option<&Var>) {
        let positions = positions(self.var(), index, values.len());
        for (number, (value, index)) in values.iter().zip(&positions).enumerate() {
            let request = Request { how, index, value: value.var(), expected: None, mask };
            // The elements of a packet are distinct, so their order does not matter.
            scatter::scatter_disjoint(self.var_mut(), &request, number > 0);
        }
        eager::after_operation(self.var());
    }
}

impl<T: Number> Array<T> {
    /// Adds packets of `N` neighbouring elements to the array; see [`Array::scatter_reduce_packet`].
    ///
    /// # Panics
    ///
    /// As [`Array::scatter_reduce_packet`].
    #[track_caller]
    pub fn scatter_add_packet<const N: usize>(&mut self, values: &[Self; N], index: &Array<impl Integer>) {
        self.write_packets(How::Reduce(ReduceOp::Add), values, index.var(), None);
    }

    /// Like [`Array::scatter_add_packet`] on the lanes where the mask is true; the others may have any index.
    #[track_caller]
    pub fn scatter_add_packet_masked<const N: usize>(
        &mut self,
        values: &[Self; N],
        index: &Array<impl Integer>,
        mask: &Mask,
    ) {
        self.write_packets(How::Reduce(ReduceOp::Add), values, index.var(), Some(mask.var()));
    }
}

/// Returns the positions of the elements of packets.
#[track_caller]
fn positions(array: &Var, index: &Var, length: usize) -> Vec<Var> {
    if length == 0 || array.width() % length != 0 {
        let what = format!("{} elements are not a whole number of packets of {length}", array.width());
        Misuse::new(what, Site::here()).value("the array", array).hint("slice or pad the array").panic();
    }
    if array.width() == 1 {
        return vec![index.clone()];
    }
    let index = packet_number(index, array.width(), length);
    let literal = |value: usize| record::literal(index.ty(), value as u64, 1);
    let first = record::binary(BinaryOp::Mul, &index, &literal(length));
    (0..length).map(|offset| record::binary(BinaryOp::Add, &first, &literal(offset))).collect()
}

/// Returns the number of a packet, in a type that holds the positions of its elements. If the number is out of range,
/// so are these positions.
#[track_caller]
fn packet_number(index: &Var, width: Size, length: usize) -> Var {
    let ty = index.ty();
    let wide = if ty.is_signed_integer() { Type::I64 } else { Type::U64 };
    if ty == wide {
        return clamped(index, i64::MAX as u64 / length as u64 - 1);
    }
    // Positions in packets before this one do not exceed the largest number.
    let beyond = (i32::MAX as usize / length).saturating_sub(1);
    if config::is_debug_on() || index.literal().is_some() || width > beyond * length {
        return record::cast(wide, index);
    }
    let is_small = ty.bits() < 32 || index_range::most(index).is_some_and(|most| most <= beyond as u64);
    if is_small && length < 1 << 15 {
        return record::cast(Type::I32, index);
    }
    // Negative values become large ones.
    record::cast(Type::I32, &clamped(&record::cast(Type::U32, index), beyond as u64))
}

/// Returns an index, clamped to a largest magnitude.
#[track_caller]
fn clamped(index: &Var, most: u64) -> Var {
    let ty = index.ty();
    let limit = |bits: u64| record::literal(ty, bits, 1);
    let index = record::binary(BinaryOp::Min, index, &limit(most));
    if ty.is_signed_integer() {
        return record::binary(BinaryOp::Max, &index, &limit(most.wrapping_neg()));
    }
    index
}
