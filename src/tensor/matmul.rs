//! Products of matrices.

use std::ops::RangeInclusive;

use jit_core::ad::custom;
use jit_core::misuse::Misuse;
use jit_core::native::{self, MatMul};

use super::broadcast::common_shape;
use super::derivatives::Multiplied;
use super::lengths::{Sizes, happens_to_be, is, is_empty, is_same_shape, number, product};
use super::view::{Axes as ViewAxes, Stride, View, ViewAxis, strides};
use super::{Axes, Tensor};
use crate::Site;
use crate::{Array, Number, Size, UInt, jit};

/// Matrices with fewer products of elements are multiplied by a traced loop.
const LARGE_PRODUCTS: usize = 1 << 12;
/// Products of matrices with so few sums …
const FEW_SUMS: usize = 1 << 14;
/// … of at least so many products each …
const LONG_SUM: usize = 1 << 13;
/// … are divided into so many parts.
const PARTS: RangeInclusive<usize> = 8..=256;

impl<T: Number> Tensor<T> {
    /// Multiplies matrices: `m × k` by `k × n` is `m × n`.
    ///
    /// Leading axes are a batch, and broadcast. A tensor of one axis is a row on the left or a column on the right;
    /// that axis is not in the result. Sums of halves are computed in single precision; integers wrap.
    ///
    /// Stays lazy. Products of small matrices are traced; each element is the sum of its products in ascending order.
    /// Products of a large matrix and a single row or column are sums along an axis, see [`Tensor::sum`], which are
    /// computed together with the factors. The factors of other large ones are materialised in memory, and sums of
    /// floats are computed as by [`jit_core::native::matmul`]; long sums of which there are few, in parts that are
    /// added as by [`Tensor::sum`]. The transpose of a matrix in memory is not copied.
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
        if self.array.grad_enabled() || other.array.grad_enabled() {
            return custom(Multiplied::default(), &(self.clone(), other.clone()));
        }
        self.multiplied(other)
    }

    /// Multiplies matrices, or rows and columns.
    #[track_caller]
    pub(super) fn multiplied(&self, other: &Tensor<T>) -> Self {
        let a = if self.ndim() == 1 { self.expand_dims(0) } else { self.clone() };
        let b = if other.ndim() == 1 { other.expand_dims(1) } else { other.clone() };
        if !is_same_shape(&[a.shape[a.ndim() - 1]], &[b.shape[b.ndim() - 2]]) {
            let hint = "the last axis of the left tensor must have the length of the last but one of the right tensor";
            inner_mismatch(&self.shape, &other.shape, hint);
        }
        let product = Product::new(&a, &b);
        let mut shape = product.shape();
        let array = if T::TYPE.is_float() && T::TYPE.bits() == 16 {
            let [a, b] = [&a, &b].map(|factor| Factor::new(factor).cast::<f32>());
            product.compute(&a, &b).cast()
        } else {
            product.compute(&Factor::new(&a), &Factor::new(&b))
        };
        if other.ndim() == 1 {
            shape.pop();
        }
        if self.ndim() == 1 {
            shape.remove(product.batch.len());
        }
        Tensor::new(array, &shape)
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
    fn compute<T: Number>(&self, a: &Factor<T>, b: &Factor<T>) -> Array<T> {
        let count = super::shape::element_count(&self.shape());
        if is_empty(&self.shape()) || is(self.inner, 0) {
            return Array::zeros(count);
        }
        let (left, right) = (&a.tensor.array, &b.tensor.array);
        // A traced loop can be fused into other kernels, and can use the state of loops.
        let is_large = self.rows * self.inner * self.columns >= LARGE_PRODUCTS;
        if is_large && !native::is_in_loop(left) && !native::is_in_loop(right) {
            if self.columns == 1 {
                return a.times_vector(&b.tensor.swap_axes(-2, -1));
            }
            if self.rows == 1 {
                return b.vector_times(&a.tensor);
            }
            if let Some(product) = self.as_native(a, b) {
                return product;
            }
        }
        let result = UInt::arange(count);
        let (row, column) = (self.row.position(&result), self.column.position(&result));
        let sums = sums_of_products(left, right, (&row, &column), &number(self.columns), &number(self.inner));
        super::filled(sums, count)
    }

    /// Returns the product by a library call; `None` if it does not have such a batch.
    #[track_caller]
    fn as_native<T: Number>(&self, a: &Factor<T>, b: &Factor<T>) -> Option<Array<T>> {
        let batch = product(&self.batch);
        let [is_a_shared, is_b_shared] = [is_shared(self.matrices[0], batch)?, is_shared(self.matrices[1], batch)?];
        let parts = if is(batch, 1) { self.parts(a, b) } else { 1 };
        let (inner, batch) = (self.inner / parts, batch * parts);
        let lengths = [self.rows, inner, self.columns, batch];
        let [rows, inner, columns, count] = lengths.map(Size::now);
        let product = MatMul {
            batch: count,
            is_a_transposed: a.transposed.is_some(),
            is_b_transposed: b.transposed.is_some(),
            // Parts have factors of their own.
            is_a_shared: is_a_shared && count > 1 && parts == 1,
            is_b_shared: is_b_shared && count > 1 && parts == 1,
            ..MatMul::new(rows, inner, columns)
        };
        let products = native::matmul_of_sizes(a.in_memory(), b.in_memory(), product, lengths);
        if parts == 1 {
            return Some(products);
        }
        Some(Tensor::new(products, &[batch, self.rows, self.columns]).sum(0).array)
    }

    /// Returns the number of parts into which the sums of one product are divided: a library call computes a few
    /// elements of the result on one thread. The parts of both factors are consecutive in memory if the left one is
    /// transposed and the right one is not.
    #[track_caller]
    fn parts<T: Number>(&self, a: &Factor<T>, b: &Factor<T>) -> usize {
        let is_divisible = a.transposed.is_some() && b.transposed.is_none();
        if !is_divisible || self.rows * self.columns > FEW_SUMS || self.inner < LONG_SUM {
            return 1;
        }
        // The possible parts depend on the divisors.
        let inner = self.inner.get();
        PARTS.rev().find(|parts| inner.is_multiple_of(*parts)).unwrap_or(1)
    }
}

/// A factor of a product, and the tensor in memory of which it is the transpose.
struct Factor<T: Number> {
    tensor: Tensor<T>,
    transposed: Option<Tensor<T>>,
}

impl<T: Number> Factor<T> {
    #[track_caller]
    fn new(tensor: &Tensor<T>) -> Self {
        Factor { tensor: tensor.clone(), transposed: tensor.transpose_source() }
    }

    #[track_caller]
    fn cast<U: Number>(&self) -> Factor<U> {
        Factor { tensor: self.tensor.cast(), transposed: self.transposed.as_ref().map(Tensor::cast) }
    }

    fn in_memory(&self) -> &Array<T> {
        &self.transposed.as_ref().unwrap_or(&self.tensor).array
    }

    /// Returns the products of the rows of these matrices and a row.
    #[track_caller]
    fn times_vector(&self, row: &Tensor<T>) -> Array<T> {
        match &self.transposed {
            None => (&self.tensor * row).sum(-1).array,
            Some(matrix) => (matrix * row.swap_axes(-2, -1)).sum(-2).array,
        }
    }

    /// Returns the products of a row and the columns of these matrices.
    #[track_caller]
    fn vector_times(&self, row: &Tensor<T>) -> Array<T> {
        match &self.transposed {
            None => (&self.tensor * row.swap_axes(-2, -1)).sum(-2).array,
            Some(matrix) => (matrix * row).sum(-1).array,
        }
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
