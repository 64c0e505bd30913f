//! Host views of an array's elements in place.

use std::fmt;
use std::ops::Deref;

use jit_runtime::ir::Type;
use jit_runtime::memory::Bytes;
use jit_runtime::{Error, Site};

use super::{Array, Element};
use crate::capture::host_call;
use crate::schedule::read::HostElements;
use crate::schedule::read::read_for_host;

/// The elements of an array as a slice, without a copy: see [`Array::view`].
pub struct View<T: Element> {
    elements: Elements<T>,
    /// Retained, so that the array has a second owner and no scatter overwrites its memory.
    _array: Array<T>,
}

enum Elements<T> {
    /// Memory that kernels have written.
    Memory(Bytes),
    /// A copy.
    Copied(Vec<T>),
}

impl<T: Element> Array<T> {
    /// Returns the elements as a slice of their storage, without a copy. Evaluates the array if that has not been done,
    /// and waits for it. Constants, masks, whose storage holds no values of `T`, and arrays on a device whose memory is
    /// not the host's ([`Capabilities`](jit_runtime::device::Capabilities)), are copied.
    ///
    /// While the view lives, the array has another owner, so scatters to it write to a copy.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Float::arange(4) * 0.5;
    /// let view = x.view()?;
    /// assert_eq!(view.iter().sum::<f32>(), 3.0);
    /// let pairs: &[[f32; 2]] = bytemuck::cast_slice(&view);
    /// assert_eq!(pairs, [[0.0, 0.5], [1.0, 1.5]]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    pub fn view(&self) -> Result<View<T>, Error> {
        let site = Site::here();
        let elements = match read_for_host(self.var(), "its elements are read", site)? {
            // The memory of a frozen function is overwritten when the host call inside it ends.
            HostElements::Memory(buffer) if T::TYPE != Type::Bool && !host_call::is_foreign(self.var()) => {
                Elements::Memory(buffer.bytes()?)
            }
            _ => Elements::Copied(self.to_vec()?),
        };
        Ok(View { elements, _array: self.clone() })
    }
}

impl<T: Element> Deref for View<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.elements {
            Elements::Memory(bytes) => T::in_place(bytes).expect("memory is aligned and holds whole elements"),
            Elements::Copied(values) => values,
        }
    }
}

impl<T: Element> AsRef<[T]> for View<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Element> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
