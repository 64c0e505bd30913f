//! Formatting of tensors.

use std::fmt;

use super::Tensor;
use crate::Element;

impl<T: Element> fmt::Display for Tensor<T> {
    /// Writes the elements in nested brackets, which evaluates the tensor. More than 1000 elements are shortened to the
    /// ends of each axis. If the evaluation fails, its error is printed in their place.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let x = Tensor::from([[0.5f32, 100.25], [-3.0, 0.0]]);
    /// assert_eq!(x.to_string(), "[[  0.5 , 100.25],\n [ -3   ,   0   ]]");
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        jit_core::fmt_shaped(&self.array, self.shape.now(), f)
    }
}

impl<T: Element> fmt::Debug for Tensor<T> {
    /// Writes element type, shape, state, name and the line that made the value. Evaluates nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = jit_core::fmt_unread(&self.array, self.shape.now(), f) {
            return written;
        }
        write!(f, "Tensor<{}>(shape {:?}", T::TYPE, &*self.shape)?;
        for (_, leaf) in crate::leaves(&self.array) {
            write!(f, ", {}", leaf.state)?;
            if let Some(label) = leaf.label {
                write!(f, ", “{label}”")?;
            }
        }
        let site = self.array.site();
        write!(f, ", {}:{})", site.file(), site.line())
    }
}
