//! Conversions between arrays and host data: bytes, slices, vectors, iterators.
//!
//! Memory of other plain types, such as structs of floats, is converted through bytes with the crate `bytemuck`; see
//! [`Array::from_bytes`] and [`Array::view`].

use jit_runtime::ir::Type;
use jit_runtime::memory::{Buffer, copied_list};
use jit_runtime::{Error, ErrorKind, Site};

use super::{Array, Element};
use crate::schedule::read::HostElements;
use crate::schedule::read::read_for_host;
use crate::trace::record;

impl<T: Element> Array<T> {
    /// Creates an array from the bytes of its elements, in the byte order of this machine. For `bool` a byte is false
    /// if it is zero.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let points: [[f32; 2]; 2] = [[1.0, 2.0], [3.0, 4.0]];
    /// let flat = Float::from_bytes(bytemuck::cast_slice(&points))?;
    /// assert_eq!((flat * 2.0).to_vec()?, [2.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the bytes end within an element, or memory cannot be allocated.
    #[track_caller]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let site = Site::here();
        let size = size_of::<T>();
        if !bytes.len().is_multiple_of(size) {
            let message = format!(
                "{} bytes are not a whole number of elements of {}, which take {size} each",
                bytes.len(),
                T::TYPE
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(site));
        }
        let count = bytes.len() / size;
        let buffer = match T::TYPE {
            Type::Bool => copied_list(bytes).and_then(|mut bytes| {
                bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
                Buffer::from_bytes(&bytes)
            }),
            _ => Buffer::from_bytes(bytes),
        };
        Ok(Array::from_var(record::data(T::TYPE, count, buffer.map_err(|error| error.at(site))?)))
    }

    /// Makes an array of elements that are in memory already.
    ///
    /// # Errors
    ///
    /// When the memory is too small for this many elements.
    #[doc(hidden)]
    #[track_caller]
    pub fn from_buffer(buffer: std::sync::Arc<Buffer>, count: usize) -> Result<Self, Error> {
        let needed = count.saturating_mul(size_of::<T>());
        if buffer.size_bytes() < needed {
            let message = format!("{count} elements of {} do not fit into {} bytes", T::TYPE, buffer.size_bytes());
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(Site::here()));
        }
        Ok(Array::from_var(record::data(T::TYPE, count, buffer)))
    }

    /// Returns the bytes of the elements, in the byte order of this machine. Evaluates the array if that has not been
    /// done, and waits for it. [`Array::view`] returns them without a copy.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        copied_list(T::as_bytes(&self.to_vec()?))
    }

    /// Copies the elements into a slice whose length is the width of the array. Evaluates the array if that has not
    /// been done, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`], and when the slice has another length.
    #[track_caller]
    pub fn read_into(&self, target: &mut [T]) -> Result<(), Error> {
        let site = Site::here();
        if target.len() != self.len() {
            let message = format!("an array of width {} does not fit a slice of {} elements", self.len(), target.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(site));
        }
        match read_for_host(self.var(), "its elements are read", site)? {
            HostElements::Same(bits) => target.fill(T::from_bits(bits)),
            HostElements::Memory(_) => target.copy_from_slice(&self.view()?),
        }
        Ok(())
    }
}

impl<'a, T: Element> FromIterator<&'a T> for Array<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = &'a T>>(values: I) -> Self {
        values.into_iter().copied().collect::<Vec<T>>().into()
    }
}

impl<T: Element> From<Box<[T]>> for Array<T> {
    #[track_caller]
    fn from(values: Box<[T]>) -> Self {
        (&*values).into()
    }
}

/// Conversions that read an array: they evaluate it if that has not been done.
macro_rules! read {
    ($([$($generics:tt)*] $array:ty => $target:ty, |$self:ident| $convert:expr;)*) => {$(
        impl<$($generics)*> TryFrom<$array> for $target {
            type Error = Error;

            /// Evaluates the array if that has not been done, and waits for it.
            #[track_caller]
            fn try_from($self: $array) -> Result<Self, Error> {
                $convert
            }
        }
    )*};
}

read! {
    [T: Element] Array<T> => Vec<T>, |array| array.to_vec();
    [T: Element] &Array<T> => Vec<T>, |array| array.to_vec();
    [T: Element, const N: usize] Array<T> => [T; N], |array| <[T; N]>::try_from(&array);
    [T: Element, const N: usize] &Array<T> => [T; N], |array| {
        let mut values = [T::default(); N];
        array.read_into(&mut values)?;
        Ok(values)
    };
}
