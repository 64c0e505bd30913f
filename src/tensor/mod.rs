//! Tensors: arrays with a shape, under the rules of NumPy.
//!
//! A [`Tensor`] is an [`Array`] of elements in row-major order with the lengths of its axes. It is implemented in the
//! language itself: every function here records operations on the underlying array. So tensors trace, fuse and evaluate
//! as arrays do, inside and outside `#[jit]` functions. The shape is a host value, known while recording.
//!
//! In a `#[freeze]` function the lengths of the axes are sizes, like widths of arrays. One recording serves all lengths
//! from 2 on, of every axis, as long as the function makes no decision by them. Reading them as plain numbers, by
//! [`Tensor::shape`] or [`Tensor::len`], is a decision; [`Tensor::size`] and [`Tensor::width`] are not. Operations
//! decide only by what NumPy's rules depend on (equal lengths, multiples, ends of slices), and by the amount of work:
//! the length of short sums, of the kernel of a convolution, and whether matrices are large.
//!
//! Operations that move elements (transposition, slices, broadcasting, …) record the source of each element. Nothing is
//! copied: a chain of such calls is one computation of positions in the kernel that uses the elements. A call that
//! changes nothing returns the same array.
//!
//! | part | file |
//! |---|---|
//! | shapes and axes as arguments | `shape` |
//! | lengths of axes, and computations with them | `lengths` |
//! | constructors, printing | `make`, `print` |
//! | sources of elements | `view` |
//! | broadcasting, operators, comparison, functions | `broadcast`, `operators`, `compare`, `functions` |
//! | other shapes of the same elements | `layout` |
//! | joining, repeating, padding | `join`, `edges` |
//! | slices, index arrays, assignment | `index`, `slice`, `take` |
//! | reductions along axes | `reduce`, `fold` |
//! | prefix reductions along axes | `scan` |
//! | sorting and medians along axes | `order` |
//! | products of matrices, convolution | `matmul`, `convolve` |
//! | derivatives of reductions, broadcasts and products | `derivatives` |
//! | variables and traversals | `gradients` |
//! | the steps of a sequence | `steps` |
//! | messages for names of other libraries | `hints` |

use jit_core::misuse::Misuse;
use jit_core::traverse::HostValue;
use smallvec::SmallVec;

use crate::Site;
use crate::{Array, Build, Element, Error, FloatElement, LeafReader, Size, Traverse, Visitor, VisitorMut, ad};
use lengths::{Lengths, Sizes, product};

mod broadcast;
mod compare;
mod convolve;
mod convolve_derivatives;
mod derivatives;
mod edges;
mod fold;
mod functions;
mod gradients;
mod hints;
mod index;
mod join;
mod layout;
mod lengths;
mod make;
mod matmul;
mod operators;
mod order;
mod print;
mod reduce;
mod scan;
mod shape;
mod slice;
mod steps;
mod take;
mod view;
mod view_derivatives;

pub use broadcast::TensorOperand;
pub use convolve::{Padding, Window};
pub use edges::Edge;
pub use index::{Ellipsis, Index, IntoIndex};
pub use make::Nested;
pub use shape::{Axes, Axis, Shape, keep_dims};
pub(crate) use steps::{join_steps, sliced, steps_of};

/// An array of elements in row-major order, with the lengths of its axes.
///
/// Cheap to clone; clones are the same tensor. A tensor without axes holds one element.
///
/// ```
/// use jit::prelude::*;
///
/// let table = Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let column = Tensor::from([[10.0], [20.0]]);
/// assert_eq!((&table + column).array().to_vec()?, [11.0, 12.0, 13.0, 24.0, 25.0, 26.0]);
/// assert_eq!(table.transpose().shape(), [3, 2]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor<T: Element> {
    array: Array<T>,
    shape: Lengths,
}

impl<T: Element> Tensor<T> {
    /// Creates a tensor of an array's elements in row-major order; −1 represents the length that fits, in one axis.
    ///
    /// # Panics
    ///
    /// When the numbers of elements of shape and array differ.
    #[must_use]
    #[track_caller]
    pub fn from_array(array: impl Into<Array<T>>, shape: impl Into<Shape>) -> Self {
        let array = array.into();
        let shape = shape.into().for_elements(array.width(), &|misuse| misuse.value("the array", array.var()));
        Tensor::shaped(array, &shape)
    }

    /// Creates a tensor whose shape is known to match.
    #[track_caller]
    fn shaped(array: Array<T>, shape: &[Size]) -> Self {
        let shape = Lengths::new(shape);
        debug_assert_eq!(array.width().now(), shape.iter().map(|length| length.now()).product::<usize>());
        Tensor { array, shape }
    }

    /// Returns other elements in the same shape, of which there are as many.
    pub(crate) fn with_array<U: Element>(&self, array: Array<U>) -> Tensor<U> {
        Tensor { array, shape: self.shape.clone() }
    }

    /// Returns the lengths of the axes. While a frozen function is recorded, this is a decision of the host: the
    /// recording is then valid for this shape alone. [`Tensor::size`] is not a decision.
    #[must_use]
    #[track_caller]
    pub fn shape(&self) -> &[usize] {
        self.shape.plain()
    }

    /// Returns the length of an axis as a size, which stays symbolic in frozen functions:
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// #[freeze]
    /// fn cut(x: &Tensor<f32>) -> Tensor<f32> {
    ///     let pairs = x.reshape([x.size(0), x.size(1) / 2, 2.into()]);
    ///     pairs.sum(-1) / Float::from(x.size(0))
    /// }
    ///
    /// for shape in [[3, 4], [5, 4], [2, 10]] {
    ///     assert_eq!(cut(&Tensor::ones(shape)).shape(), [shape[0], shape[1] / 2]);
    /// }
    /// assert_eq!(cut::stats().recordings, 1);
    /// ```
    ///
    /// # Panics
    ///
    /// When the axis does not exist.
    #[must_use]
    #[track_caller]
    pub fn size(&self, axis: impl Into<Axis>) -> Size {
        self.shape[axis.into().resolve(&self.shape)]
    }

    /// Returns the lengths of the axes as sizes: see [`Tensor::size`].
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        self.shape.to_vec()
    }

    /// Returns the number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements. While a frozen function is recorded, this is a decision of the host, unlike
    /// [`Tensor::width`].
    #[must_use]
    #[track_caller]
    #[expect(clippy::len_without_is_empty, reason = "as for arrays: a tensor is not a collection")]
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Returns the number of elements as a size, which stays symbolic in frozen functions.
    #[must_use]
    #[track_caller]
    pub fn width(&self) -> Size {
        product(&self.shape)
    }

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        lengths::is_empty(&self.shape)
    }

    /// Returns the elements in row-major order: the same array, without a copy.
    #[must_use]
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// Returns the elements in row-major order.
    #[must_use]
    pub fn into_array(self) -> Array<T> {
        self.array
    }

    /// Returns the device that the tensor is on: see [`Array::device`].
    #[must_use]
    pub fn device(&self) -> crate::Device {
        self.array.device()
    }

    /// Returns the tensor on a device: itself if it is there, otherwise a copy; see [`Array::to`]. Whole models are
    /// moved by [`move_to`](crate::move_to).
    ///
    /// # Errors
    ///
    /// As [`Array::to`].
    #[track_caller]
    pub fn to(&self, device: crate::Device) -> crate::Result<Self> {
        Ok(Tensor { array: self.array.to(device)?, shape: self.shape.clone() })
    }

    /// Evaluates the tensor: see [`Array::eval`].
    ///
    /// # Errors
    ///
    /// As [`Array::eval`].
    #[track_caller]
    pub fn eval(&self) -> crate::Result<()> {
        self.array.eval()
    }

    /// Returns the elements in row-major order. Evaluates the tensor and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    pub fn to_vec(&self) -> crate::Result<Vec<T>> {
        self.array.to_vec()
    }

    /// Returns the element of a tensor that has only one. Evaluates the tensor and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::item`].
    #[track_caller]
    pub fn item(&self) -> crate::Result<T> {
        self.array.item()
    }

    /// Gives the elements a name, shown by listings, drawings and messages. Returns the tensor.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Tensor { array: self.array.with_label(label), shape: self.shape }
    }

    /// Returns the same values, but never as literals in the code: see [`Array::make_opaque`].
    #[must_use]
    #[track_caller]
    pub fn make_opaque(&self) -> Self {
        self.with_array(self.array.make_opaque())
    }

    /// Returns the value as a constant for differentiation.
    #[must_use]
    pub fn detach(&self) -> Self {
        self.with_array(self.array.detach())
    }

    /// Converts each element to another type: see [`Array::cast`].
    #[must_use]
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Tensor<U> {
        self.with_array(self.array.cast())
    }

    /// Reinterprets the bits of each element as another type of the same size.
    #[must_use]
    #[track_caller]
    pub fn bitcast<U: Element>(&self) -> Tensor<U> {
        self.with_array(self.array.bitcast())
    }

    /// Applies a function of arrays to the elements, in the same shape: for functions that tensors have no method for.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[1.0f32, 4.0], [9.0, 16.0]]);
    /// assert_eq!(x.map(|x| x.sqrt() + 1.0).to_vec()?, [2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the function returns another number of elements.
    #[must_use]
    #[track_caller]
    pub fn map<U: Element>(&self, function: impl FnOnce(&Array<T>) -> Array<U>) -> Tensor<U> {
        self.with_array(filled(function(&self.array), self.width()))
    }
}

/// Returns an array with as many elements as a shape has.
#[track_caller]
fn filled<U: Element>(array: Array<U>, count: Size) -> Array<U> {
    if lengths::happens_to_be(array.width(), count) {
        return array;
    }
    if array.width() == 1 {
        return array.gather(&crate::UInt::zeros(count));
    }
    let what = format!("the function returned {} elements for a tensor of {count}", array.width());
    Misuse::new(what, Site::here())
        .value("its result", array.var())
        .hint("`map` and `zip_with` are for functions that work element by element")
        .panic()
}

impl<T: Element> Build for Tensor<T> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        let shape = match leaves.host("a shape")? {
            HostValue::Lengths(lengths) => Lengths::new(&lengths),
            _ => return Err(leaves.wrong("something else", "a shape")),
        };
        Ok(Tensor { shape, array: Array::build(leaves)? })
    }
}

impl<T: FloatElement> ad::Loss for Tensor<T> {}

impl<T: Element> Traverse for Tensor<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Lengths(SmallVec::from_slice(&self.shape)));
        visitor.array(self.array.var());
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.array.traverse_mut(visitor);
        if visitor.wants_sizes() {
            let mut shape = Sizes::from_slice(&self.shape);
            shape.iter_mut().for_each(|length| visitor.length(length));
            self.shape = Lengths::new(&shape);
        }
        // A traced region widens its state to one element per lane of the condition, even if it began with a single
        // one.
        let width = self.array.width();
        if width.now() != self.shape.iter().map(|length| length.now()).product::<usize>() {
            self.shape = Lengths::new(&[width]);
        }
    }
}
