//! Conversions between tensors and `ndarray`.

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind};

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Tensor<T> {
    /// Copies the elements of an array or view of any layout, in the same shape: one copy of memory if they are in
    /// row-major order, element by element otherwise.
    #[track_caller]
    fn from(array: &ArrayBase<S, D>) -> Self {
        let elements = match array.as_slice() {
            Some(elements) => Array::from(elements),
            None => Array::from(array.iter().copied().collect::<Vec<T>>()),
        };
        Tensor::from_array(elements, array.shape())
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for Tensor<T> {
    /// Converts like from a reference.
    #[track_caller]
    fn from(array: ArrayBase<S, D>) -> Self {
        (&array).into()
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the elements as an array of `ndarray`, in row-major order. Evaluates the tensor and waits for it. Needs
    /// the feature `ndarray`.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let host = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
    /// let doubled = Tensor::from(host.t()) * 2.0;
    /// assert_eq!(doubled.to_ndarray()?, ndarray::array![[2.0, 6.0], [4.0, 8.0]].into_dyn());
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`](crate::Array::to_vec).
    #[track_caller]
    pub fn to_ndarray(&self) -> crate::Result<ArrayD<T>> {
        let site = crate::Site::here();
        let elements = self.to_vec()?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), elements).map_err(|error| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("cannot make an `ndarray` of shape {:?}: {error}", self.shape()),
            )
            .at(site)
        })
    }
}
