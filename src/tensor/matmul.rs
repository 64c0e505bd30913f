//! Products of matrices.

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
impl<T: Number> Tensor<T> {
    /// Multiplies matrices: `m × k` by `k × n` is `m × n`.
    ///
    /// Leading axes are a batch, and broadcast. A tensor of one axis is a row on the left or a column on the right;
    /// that axis is not in the result. Sums of halves are computed in single precision; integers wrap.
    ///
    /// Stays lazy. Products of small matrices are traced; each element is the sum of its products in ascending order.
    /// Products of a large matrix and a single row or column are sums along an axis, see [`Tensor::sum`], and those of
    /// a single column and a single row are plain products; both are computed together with the factors. The factors of
    /// other large ones are materialised in memory, and sums of floats are computed as by [`jit_core::native::matmul`].
    /// The transpose of a matrix in memory is not copied.
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
        let product = product_of(&a, &b, NEITHER);
        let mut shape = Sizes::from_slice(&product.shape);
        if other.ndim() == 1 {
            shape.pop();
        }
        if self.ndim() == 1 {
            shape.remove(shape.len() - 1 - usize::from(other.ndim() > 1));
        }
        Tensor::shaped(product.array, &shape)
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
            Tensor::shaped(tensor.permuted(&order.concat()).array, &shape)
        };
        let a = matrix(self, [&rows, &ours], [product(&lengths(self, &rows)), inner]);
        let b = matrix(other, [&theirs, &columns], [inner, product(&lengths(other, &columns))]);
        Tensor::shaped(a.matmul(&b).array, &shape)
    }

    /// Returns the product of every element of this tensor and every element of another: a matrix with one row for each
    /// element of this tensor.
    #[must_use]
    #[track_caller]
    pub fn outer(&self, other: &Tensor<T>) -> Self {
        self.ravel().expand_dims(1) * other.ravel()
    }
}

/// Which factors of a product are transposed.
pub(super) type Transposed = [bool; 2];

/// Neither factor.
const NEITHER: Transposed = [false; 2];

/// Multiplies matrices, or their transposes; gradients flow through the product.
#[track_caller]
pub(super) fn product_of<T: Number>(a: &Tensor<T>, b: &Tensor<T>, transposed: Transposed) -> Tensor<T> {
    match a.array.grad_enabled() || b.array.grad_enabled() {
        true => custom(Multiplied::new(transposed), &(a.clone(), b.clone())),
        false => multiplied(a, b, transposed),
    }
}

/// Multiplies matrices, or their transposes.
#[track_caller]
pub(super) fn multiplied<T: Number>(a: &Tensor<T>, b: &Tensor<T>, transposed: Transposed) -> Tensor<T> {
    let (a, b) = (Factor::new(a, transposed[0]), Factor::new(b, transposed[1]));
    let product = Product::new(&a, &b);
    Tensor::shaped(product.compute(&a, &b), &product.shape())
}

#[cold]
#[track_caller]
fn inner_mismatch(a: &[Size], b: &[Size], hint: &str) -> ! {
    Misuse::new(format!("tensors of shape {a:?} and {b:?} have no product"), Site::here()).hint(hint).panic()
}

/// How a product is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By a traced loop, which can be fused into other kernels, and can use the state of loops.
    Loop,
    /// By sums along an axis: there is one column.
    Column,
    /// The same for one row.
    Row,
    /// By a library call.
    Call,
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
    fn new<T: Number>(a: &Factor<T>, b: &Factor<T>) -> Self {
        let [a_shape, b_shape] = [a.shape(), b.shape()];
        let (a_batch, [rows, inner]) = split(&a_shape);
        let (b_batch, [_, columns]) = split(&b_shape);
        let batch = common_shape([a_batch, b_batch]);
        let view = |shape: &[Size], own: &[Size], matrix: [(Size, Stride); 2]| {
            let mut axes = batch_axes(&batch, shape, own);
            axes.extend(matrix.map(|(length, stride)| ViewAxis { length, stride }));
            View { axes, offset: Size::from(0) }
        };
        let row = view(&a_shape, a_batch, [(rows, inner.into()), (columns, Stride::none())]);
        let column = view(&b_shape, b_batch, [(rows, Stride::none()), (columns, Size::from(1).into())]);
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
        if is(self.inner, 1) {
            return (a.matrix() * b.matrix()).array;
        }
        let form = self.form(a, b);
        if let (Form::Call, Some(product)) = (form, self.as_native(a, b)) {
            return product;
        }
        match T::TYPE.is_float() && T::TYPE.bits() == 16 {
            true => self.fused(&a.cast::<f32>(), &b.cast(), form, count).cast(),
            false => self.fused(a, b, form, count),
        }
    }

    /// Returns how the product is computed.
    #[track_caller]
    fn form<T: Number>(&self, a: &Factor<T>, b: &Factor<T>) -> Form {
        let is_large = self.rows * self.inner * self.columns >= LARGE_PRODUCTS;
        if !is_large || native::is_in_loop(&a.source.array) || native::is_in_loop(&b.source.array) {
            Form::Loop
        } else if self.columns == 1 {
            Form::Column
        } else if self.rows == 1 {
            Form::Row
        } else {
            Form::Call
        }
    }

    /// Returns the product by a traced loop, or by sums along an axis.
    #[track_caller]
    fn fused<T: Number>(&self, a: &Factor<T>, b: &Factor<T>, form: Form, count: Size) -> Array<T> {
        match form {
            Form::Column => return a.times_vector(&b.matrix().swap_axes(-2, -1)),
            Form::Row => return b.vector_times(&a.matrix()),
            Form::Loop | Form::Call => {}
        }
        let result = UInt::arange(count);
        let (row, column) = (self.row.position(&result), self.column.position(&result));
        let (a, b) = (a.matrix().array, b.matrix().array);
        let sums = sums_of_products(&a, &b, (&row, &column), &number(self.columns), &number(self.inner));
        super::filled(sums, count)
    }

    /// Returns the product by a library call; `None` if it does not have such a batch.
    #[track_caller]
    fn as_native<T: Number>(&self, a: &Factor<T>, b: &Factor<T>) -> Option<Array<T>> {
        let batch = product(&self.batch);
        let [is_a_shared, is_b_shared] = [is_shared(self.matrices[0], batch)?, is_shared(self.matrices[1], batch)?];
        let lengths = [self.rows, self.inner, self.columns, batch];
        let [rows, inner, columns, count] = lengths.map(Size::now);
        let product = MatMul {
            batch: count,
            is_a_transposed: a.is_transposed,
            is_b_transposed: b.is_transposed,
            is_a_shared: is_a_shared && count > 1,
            is_b_shared: is_b_shared && count > 1,
            ..MatMul::new(rows, inner, columns)
        };
        Some(native::matmul_of_sizes(&a.source.array, &b.source.array, product, lengths))
    }
}

/// A factor of a product: matrices, or their transposes.
struct Factor<T: Number> {
    source: Tensor<T>,
    is_transposed: bool,
}

impl<T: Number> Factor<T> {
    /// Makes a factor of matrices or their transposes. Of a transpose in memory it takes what that was made from.
    #[track_caller]
    fn new(tensor: &Tensor<T>, is_transposed: bool) -> Self {
        match tensor.transpose_source() {
            Some(source) => Factor { source, is_transposed: !is_transposed },
            None => Factor { source: tensor.clone(), is_transposed },
        }
    }

    #[track_caller]
    fn cast<U: Number>(&self) -> Factor<U> {
        Factor { source: self.source.cast(), is_transposed: self.is_transposed }
    }

    fn shape(&self) -> Sizes {
        let mut shape = Sizes::from_slice(&self.source.shape);
        if self.is_transposed {
            let columns = shape.len() - 1;
            shape.swap(columns - 1, columns);
        }
        shape
    }

    /// Returns the matrices that are multiplied.
    #[track_caller]
    fn matrix(&self) -> Tensor<T> {
        if self.is_transposed { self.source.swap_axes(-2, -1) } else { self.source.clone() }
    }

    /// Returns the products of the rows of these matrices and a row.
    #[track_caller]
    fn times_vector(&self, row: &Tensor<T>) -> Array<T> {
        match self.is_transposed {
            false => (&self.source * row).sum(-1).array,
            true => (&self.source * row.swap_axes(-2, -1)).sum(-2).array,
        }
    }

    /// Returns the products of a row and the columns of these matrices.
    #[track_caller]
    fn vector_times(&self, row: &Tensor<T>) -> Array<T> {
        match self.is_transposed {
            false => (&self.source * row.swap_axes(-2, -1)).sum(-2).array,
            true => (&self.source * row).sum(-1).array,
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
