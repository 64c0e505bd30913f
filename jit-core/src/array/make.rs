//! Constructors of arrays.

use std::ops::Range;

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, Type, scalar};
use jit_runtime::memory::Buffer;

use super::{Array, Element, FloatElement, Integer, Number, Operand, UInt};
use crate::graph::{Op, Var};
use crate::misuse::{self, Misuse};
use crate::schedule;
use crate::size::Size;
use crate::trace::record;

impl<T: Element> From<T> for Array<T> {
    /// Creates a constant of width 1, which becomes a literal in the code.
    #[inline]
    #[track_caller]
    fn from(value: T) -> Self {
        value.into_array()
    }
}

impl<T: Number> From<Size> for Array<T> {
    /// Creates a value of width 1 from a number of elements, rounded or wrapped as by Rust's `as`. Inside a `#[freeze]`
    /// function it is recomputed in each call.
    #[track_caller]
    fn from(size: Size) -> Self {
        Array::from_var(record::size_as(T::TYPE, size))
    }
}

impl<T: Element> From<&[T]> for Array<T> {
    /// Copies the values into an array.
    ///
    /// # Panics
    ///
    /// When memory cannot be allocated.
    #[track_caller]
    fn from(values: &[T]) -> Self {
        match Buffer::from_bytes(T::as_bytes(values)) {
            Ok(buffer) => Array::from_var(record::data(T::TYPE, values.len(), buffer)),
            Err(error) => misuse::panic_with(error),
        }
    }
}

impl<T: Element> From<&Vec<T>> for Array<T> {
    #[track_caller]
    fn from(values: &Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<T: Element> From<Vec<T>> for Array<T> {
    #[track_caller]
    fn from(values: Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Array<T> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        values.as_slice().into()
    }
}

impl<T: Element, const N: usize> From<&[T; N]> for Array<T> {
    #[track_caller]
    fn from(values: &[T; N]) -> Self {
        values.as_slice().into()
    }
}

impl<T: Element> FromIterator<T> for Array<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Element> Default for Array<T> {
    /// Returns zero, of width 1.
    #[track_caller]
    fn default() -> Self {
        T::default().into_array()
    }
}

impl<T: Element> Array<T> {
    /// Returns one constant in every lane. It becomes a literal in the code and takes no memory.
    #[must_use]
    #[track_caller]
    pub fn full(value: T, width: impl Into<Size>) -> Self {
        Array::recorded(record::literal(T::TYPE, value.to_bits(), width))
    }

    /// Returns zero (false) in every lane.
    #[must_use]
    #[track_caller]
    pub fn zeros(width: impl Into<Size>) -> Self {
        Array::full(T::default(), width)
    }

    /// Creates a value of width 1 that never becomes a literal in the code. A program that is traced again with another
    /// value hits the kernel cache.
    #[must_use]
    #[track_caller]
    pub fn opaque(value: T) -> Self {
        Array::from_var(record::opaque(T::TYPE, value.to_bits(), 1))
    }

    /// Returns the same values, but never as literals in the code. A constant becomes a kernel parameter, and an
    /// expression is evaluated, so that kernels that use it depend on its result alone.
    ///
    /// # Panics
    ///
    /// When the evaluation fails: see [`Array::to_vec`].
    #[must_use]
    #[track_caller]
    pub fn make_opaque(&self) -> Self {
        if let Some(bits) = self.var.literal() {
            return Array::from_var(record::opaque(T::TYPE, bits, self.width()));
        }
        if let Err(error) = schedule::evaluate(&[&self.var], "`make_opaque` stores it in memory", Site::here()) {
            misuse::panic_with(error);
        }
        self.clone()
    }

    /// Creates a placeholder: an element type and a width, to trace and compile with. It takes no memory and has no
    /// value: reading anything that depends on it is an error. For an [`Executor`](crate::Executor) its width is an
    /// example, like that of any array.
    #[must_use]
    #[track_caller]
    pub fn placeholder(width: impl Into<Size>) -> Self {
        Array::from_var(record::placeholder(T::TYPE, width))
    }

    /// Returns zeros of the same width.
    #[must_use]
    #[track_caller]
    pub fn zeros_like(&self) -> Self {
        Array::zeros(self.width())
    }

    /// Returns one value in every lane, of the same width.
    #[must_use]
    #[track_caller]
    pub fn full_like(&self, value: T) -> Self {
        Array::full(value, self.width())
    }

    /// Returns whether the array is a constant that becomes a literal in the code.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.var.op() == Op::Literal
    }

    /// Returns whether the elements are known, are in memory, or are being written there.
    #[must_use]
    pub fn is_evaluated(&self) -> bool {
        self.var.is_evaluated()
    }
}

impl<T: Number> Array<T> {
    /// Returns one in every lane.
    #[must_use]
    #[track_caller]
    pub fn ones(width: impl Into<Size>) -> Self {
        Array::full(T::ONE, width)
    }

    /// Returns ones of the same width.
    #[must_use]
    #[track_caller]
    pub fn ones_like(&self) -> Self {
        Array::ones(self.width())
    }

    /// Returns 0, 1, 2, … as this element type; small integer types wrap, floats round to nearest.
    #[must_use]
    #[track_caller]
    pub fn arange(width: impl Into<Size>) -> Self {
        let lanes = record::lane_index(width);
        Array::from_var(record::cast(T::TYPE, &lanes))
    }

    /// Returns `start`, `start + step`, `start + 2 * step`, …; integers wrap. A float is `step` times the lane number
    /// plus `start`, rounded once.
    #[must_use]
    #[track_caller]
    pub fn arange_step(start: T, step: T, width: impl Into<Size>) -> Self {
        Array::<T>::arange(width).mul_add(step, start)
    }
}

impl<T: Integer> Array<T> {
    /// Returns the integers of a range: `Int::range(-2..3)` is -2, -1, 0, 1, 2. A range that ends before it begins is
    /// empty.
    #[must_use]
    #[track_caller]
    pub fn range(range: Range<T>) -> Self {
        Array::range_step(range.start, range.end, T::ONE)
    }

    /// Returns every `step`-th number from `start` on, up to `end` (excluded). A negative step counts downwards, as
    /// Python's `range(start, end, step)`.
    ///
    /// # Panics
    ///
    /// For the step 0.
    #[must_use]
    #[track_caller]
    pub fn range_step(start: T, end: T, step: T) -> Self {
        let [first, last, by] = [start, end, step].map(as_i128);
        if by == 0 {
            Misuse::new("the step of a range cannot be 0", Site::here()).panic();
        }
        let distance = if by > 0 { last - first } else { first - last }.max(0).unsigned_abs();
        let width = usize::try_from(distance.div_ceil(by.unsigned_abs())).unwrap_or(usize::MAX);
        Array::arange_step(start, step, width)
    }
}

fn as_i128<T: Integer>(value: T) -> i128 {
    let wide = scalar::cast(T::TYPE, if T::TYPE.is_signed_integer() { Type::I64 } else { Type::U64 }, value.to_bits());
    if T::TYPE.is_signed_integer() { i128::from(wide as i64) } else { i128::from(wide) }
}

impl<T: FloatElement> Array<T> {
    /// Returns evenly spaced numbers from `start` to `end`, both included exactly. For width 1 the result is `start`;
    /// for width 0 it is empty.
    #[must_use]
    #[track_caller]
    pub fn linspace(start: T, end: T, width: impl Into<Size>) -> Self {
        let width = width.into();
        if width < 2 {
            return Array::full(start, width);
        }
        let last = width - 1;
        let line = evenly(start, end, last, width);
        UInt::arange(width).eq(UInt::from_var(record::size(last))).select(end, line)
    }

    /// Returns evenly spaced numbers from `start` on, excluding `end`: of width 4 from 0 to 1, it is 0, 0.25, 0.5,
    /// 0.75.
    #[must_use]
    #[track_caller]
    pub fn linspace_open(start: T, end: T, width: impl Into<Size>) -> Self {
        let width = width.into();
        evenly(start, end, width.max(1), width)
    }
}

/// Returns numbers that reach `end` after some steps.
#[track_caller]
fn evenly<T: FloatElement>(start: T, end: T, steps: Size, width: Size) -> Array<T> {
    let [first, last] = [start, end].map(|bound| super::read::as_f64(T::TYPE, bound.to_bits()));
    // In double precision, rounded once, whether or not the host knows the number of steps.
    let distance = record::literal(Type::F64, (last - first).to_bits(), 1);
    let step = record::binary(BinaryOp::Div, &distance, &record::size_as(Type::F64, steps));
    // Halves count lanes in single precision: they can distinguish no more than 2048, or 256, of them.
    if matches!(T::TYPE, Type::F16 | Type::BF16) {
        return line(Array::<f32>::arange(width), first, &step).cast();
    }
    line(Array::<T>::arange(width), first, &step)
}

/// Returns `start + step * lane`, rounded once; the step is an `f64`.
#[track_caller]
pub(super) fn line<T: FloatElement>(lanes: Array<T>, start: f64, step: &Var) -> Array<T> {
    lanes.mul_add(Array::<T>::from_var(record::cast(T::TYPE, step)), T::from_f64(start))
}
