//! Tensors as text.

use std::fmt;

use super::Tensor;
use crate::Element;

impl<T: Element> fmt::Debug for Tensor<T> {
    /// Element type, shape, state, name and the line that made the value. Evaluates nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>(shape {:?}, {:?})", T::TYPE, self.shape, self.array)
    }
}
