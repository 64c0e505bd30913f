//! Products of matrices.

use jit_core::misuse::Misuse;
use jit_core::native::{self, MatMul};

use super::broadcast::common_shape;
use super::lengths::{Sizes, happens_to_be, is, is_empty, is_same_shape, number, product};
use super::view::{Axes as ViewAxes, Stride, View, ViewAxis, strides};
use super::{Axes, Tensor};
use crate::Site;
use crate::{Array, Number, Size, UInt, jit};

/// Matrices with fewer rows or columns are multiplied by a traced loop …
const NATIVE_SIDE: usize = 4;
/// … and so are those with fewer products of elements.
const NATIVE_PRODUCTS: usize = 1 << 12;

impl<T: Number> Tensor<T> {
    /// Multiplies matrices: `m × k` by `k × n` is `m × n`.
    ///
    /// Leading axes are a batch, and broadcast. A tensor of one axis is a row on the left or a column on the right;
    /// that axis is not in the result. Sums of halves are computed in single precision; integers wrap.
    ///
    /// Stays lazy. Products of small matrices are traced; each element is the sum of its products in ascending order.
    /// The factors of large ones are materialised in memory, and sums of floats are computed as by
    /// [`jit_core::native::matmul`].
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let a = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&Tensor::eye(2, 2)).to_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 10.0])).to_vec()?, [21.0, 43.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the inner lengths differ, a tensor has no axes, or the batches do not broadcast.
    #[must_use]
    #[track_caller]
    pub fn matmul(&self, other: &Tensor<T>) -> Self {
        if self.ndim() == 0 || other.ndim() == 0 {
            inner_mismatch(&self.shape, &other.shape, "a tensor without axes is not a matrix: multiply with `*`");
        }
        let a = if self.ndim() == 1 { self.expand_dims(0) } else { self.clone() };
        let b = if other.ndim() == 1 { other.expand_dims(1) } else { other.clone() };
        if !is_same_shape(&[a.shape[a.ndim() - 1]], &[b.shape[b.ndim() - 2]]) {
            let hint = "the last axis of the left tensor must have the length of the last but one of the right tensor";
            inner_mismatch(&self.shape, &other.shape, hint);
        }
        let product = Product::new(&a, &b);
        let mut shape = product.shape();
        if other.ndim() == 1 {
            shape.pop();
        }
        if self.ndim() == 1 {
            shape.remove(product.batch.len());
        }
        Tensor::new(product.compute(&a.array, &b.array), &shape)
    }

    /// Returns the sums of products along the last axis of this tensor and the second to last, or only, axis of
    /// another. For tensors of one axis this is the scalar product.
    ///
    /// # Panics
    ///
    /// When the lengths of these axes differ, or a tensor has no axes.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: &Tensor<T>) -> Self {
        if self.ndim() == 0 || other.ndim() == 0 {
            inner_mismatch(
                &self.shape,
                &other.shape,
                "a tensor without axes has no products to sum: multiply with `*`",
            );
        }
        let axis = other.ndim().saturating_sub(2);
        self.tensordot(other, self.ndim() - 1, axis)
    }

    /// Returns the sums of products along pairs of axes, in the order in which they are named. The result has the other
    /// axes of this tensor, then those of the other tensor.
    ///
    /// # Panics
    ///
    /// When the numbers of axes differ, or the lengths of a pair differ.
    #[must_use]
    #[track_caller]
    pub fn tensordot(&self, other: &Tensor<T>, axes: impl Into<Axes>, other_axes: impl Into<Axes>) -> Self {
        let (ours, theirs) = (axes.into().resolve(&self.shape), other_axes.into().resolve(&other.shape));
        let lengths =
            |tensor: &Tensor<T>, axes: &[usize]| axes.iter().map(|&axis| tensor.shape[axis]).collect::<Sizes>();
        if !is_same_shape(&lengths(self, &ours), &lengths(other, &theirs)) {
            let hint = "the axes that are summed over have equal lengths, pair by pair";
            inner_mismatch(&self.shape, &other.shape, hint);
        }
        let rest = |tensor: &Tensor<T>, axes: &[usize]| {
            (0..tensor.ndim()).filter(|axis| !axes.contains(axis)).collect::<Vec<_>>()
        };
        let (rows, columns) = (rest(self, &ours), rest(other, &theirs));
        let mut shape = lengths(self, &rows);
        shape.extend(lengths(other, &columns));
        let inner = product(&lengths(self, &ours));
        let matrix = |tensor: &Tensor<T>, order: [&[usize]; 2], shape: [Size; 2]| {
            Tensor::new(tensor.permuted(&order.concat()).array, &shape)
        };
        let a = matrix(self, [&rows, &ours], [product(&lengths(self, &rows)), inner]);
        let b = matrix(other, [&theirs, &columns], [inner, product(&lengths(other, &columns))]);
        Tensor::new(a.matmul(&b).array, &shape)
    }

    /// Returns the product of every element of this tensor and every element of another: a matrix with one row for each
    /// element of this tensor.
    #[must_use]
    #[track_caller]
    pub fn outer(&self, other: &Tensor<T>) -> Self {
        self.ravel().expand_dims(1) * other.ravel()
    }
}

#[cold]
#[track_caller]
fn inner_mismatch(a: &[Size], b: &[Size], hint: &str) -> ! {
    Misuse::new(format!("tensors of shape {a:?} and {b:?} have no product"), Site::here()).hint(hint).panic()
}

/// Products of `rows × inner` and `inner × columns` matrices.
struct Product {
    batch: Sizes,
    rows: Size,
    inner: Size,
    columns: Size,
    /// The number of matrices on either side.
    matrices: [Size; 2],
    /// The start of the row, and of the column, for each result.
    row: View,
    column: View,
}

impl Product {
    #[track_caller]
    fn new<T: Number>(a: &Tensor<T>, b: &Tensor<T>) -> Self {
        let (a_batch, [rows, inner]) = split(&a.shape);
        let (b_batch, [_, columns]) = split(&b.shape);
        let batch = common_shape([a_batch, b_batch]);
        let view = |shape: &[Size], own: &[Size], matrix: [(Size, Stride); 2]| {
            let mut axes = batch_axes(&batch, shape, own);
            axes.extend(matrix.map(|(length, stride)| ViewAxis { length, stride }));
            View { axes, offset: Size::from(0) }
        };
        let row = view(&a.shape, a_batch, [(rows, inner.into()), (columns, Stride::none())]);
        let column = view(&b.shape, b_batch, [(rows, Stride::none()), (columns, Size::from(1).into())]);
        let matrices = [product(a_batch), product(b_batch)];
        Product { batch, rows, inner, columns, matrices, row, column }
    }

    fn shape(&self) -> Sizes {
        self.batch.iter().copied().chain([self.rows, self.columns]).collect()
    }

    #[track_caller]
    fn compute<T: Number>(&self, a: &Array<T>, b: &Array<T>) -> Array<T> {
        let count = super::shape::element_count(&self.shape());
        if is_empty(&self.shape()) || is(self.inner, 0) {
            return Array::zeros(count);
        }
        if T::TYPE.is_float() && T::TYPE.bits() == 16 {
            return self.compute(&a.cast::<f32>(), &b.cast::<f32>()).cast();
        }
        if let Some((product, batch)) = self.as_native(a, b) {
            return native::matmul_of_sizes(a, b, product, [self.rows, self.inner, self.columns, batch]);
        }
        let result = UInt::arange(count);
        let (row, column) = (self.row.position(&result), self.column.position(&result));
        super::filled(sums_of_products(a, b, (&row, &column), &number(self.columns), &number(self.inner)), count)
    }
}

impl Product {
    /// Returns the product as a library call, if the matrices are large enough for that to pay. A traced loop can be
    /// fused into other kernels, and can use the state of loops.
    #[track_caller]
    fn as_native<T: Number>(&self, a: &Array<T>, b: &Array<T>) -> Option<(MatMul, Size)> {
        let is_large =
            self.rows * self.inner * self.columns >= NATIVE_PRODUCTS && self.rows.min(self.columns) >= NATIVE_SIDE;
        if !is_large || native::is_in_loop(a) || native::is_in_loop(b) {
            return None;
        }
        let batch = product(&self.batch);
        let [is_a_shared, is_b_shared] = [is_shared(self.matrices[0], batch)?, is_shared(self.matrices[1], batch)?];
        let [rows, inner, columns, count] = [self.rows, self.inner, self.columns, batch].map(Size::now);
        Some((MatMul { batch: count, is_a_shared, is_b_shared, ..MatMul::new(rows, inner, columns) }, batch))
    }
}

/// Returns whether the matrices on one side are a single one that is repeated; `None` if some axes of the batch are
/// repeated and others are not.
#[track_caller]
fn is_shared(matrices: Size, batch: Size) -> Option<bool> {
    if happens_to_be(matrices, batch) {
        Some(false)
    } else if is(matrices, 1) {
        Some(true)
    } else {
        None
    }
}

/// Returns the batch, and the lengths of the matrices.
fn split(shape: &[Size]) -> (&[Size], [Size; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// Returns the strides of a batch, which are 0 where it is repeated.
#[track_caller]
fn batch_axes(batch: &[Size], shape: &[Size], own: &[Size]) -> ViewAxes {
    let (missing, steps) = (batch.len() - own.len(), strides(shape));
    let source = |axis: usize| axis.checked_sub(missing).filter(|&axis| !is(own[axis], 1));
    let stride = |axis: usize| source(axis).map_or(Stride::none(), |axis| steps[axis].into());
    batch.iter().enumerate().map(|(axis, &length)| ViewAxis { length, stride: stride(axis) }).collect()
}

/// Each lane sums the products of a row and a column, in ascending order.
#[jit]
fn sums_of_products<T: Number>(
    a: &Array<T>,
    b: &Array<T>,
    (row, column): (&UInt, &UInt),
    step: &UInt,
    length: &UInt,
) -> Array<T> {
    let mut sum = Array::from(T::default());
    let mut k = UInt::from(0);
    while k < length {
        sum = a.gather(&(row + k)).mul_add(b.gather(&(column + k * step)), &sum);
        k += 1;
    }
    sum
}
