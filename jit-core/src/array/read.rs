//! Reading arrays back.

use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::{self, Buffer};
use jit_runtime::{Error, ErrorKind, Site};

use super::{Array, Element};
use crate::schedule;
use crate::schedule::read::{HostElements, read_for_host};

impl<T: Element> Array<T> {
    /// Evaluates the array, as [`eval`](crate::eval) does for several at once, in fewer kernels. Returns when the
    /// kernels are launched.
    ///
    /// # Errors
    ///
    /// As [`eval`](crate::eval).
    #[track_caller]
    pub fn eval(&self) -> Result<(), Error> {
        schedule::evaluate(&[&self.var], "`eval` requests it", Site::here())
    }

    /// Returns the elements. Evaluates the array if that has not been done, and waits for it.
    ///
    /// # Errors
    ///
    /// When the value is known only inside of a traced loop, depends on a placeholder, or its evaluation fails.
    #[track_caller]
    #[doc(alias = "iter")]
    #[doc(alias = "tolist")]
    #[doc(alias = "numpy")]
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let site = Site::here();
        match read_for_host(&self.var, "its elements are read", site)? {
            HostElements::Same(bits) => {
                schedule::deliver_reports(site)?;
                memory::filled_list(self.len(), T::from_bits(bits))
            }
            HostElements::Memory(buffer) => copy(&buffer, 0, self.len()),
        }
    }

    /// Returns the element of an array of width 1. Evaluates the array if that has not been done, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`], and when the width is not 1.
    #[track_caller]
    pub fn item(&self) -> Result<T, Error> {
        if self.len() != 1 {
            let message = format!("an array of width {} is not a single element", self.len());
            let error = Error::new(ErrorKind::InvalidArgument, message).at(Site::here());
            return Err(error.with_hint("read one element with `get`, or all with `to_vec`"));
        }
        self.get(0)
    }

    /// Returns one element. Evaluates the array if that has not been done, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`], and when the position is beyond the end.
    #[track_caller]
    pub fn get(&self, index: usize) -> Result<T, Error> {
        let site = Site::here();
        if index >= self.len() {
            let message = format!("element {index} is outside of an array of width {}", self.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(site));
        }
        match read_for_host(&self.var, "its elements are read", site)? {
            HostElements::Same(bits) => {
                schedule::deliver_reports(site)?;
                Ok(T::from_bits(bits))
            }
            HostElements::Memory(buffer) => element(&buffer, index),
        }
    }
}

/// Copies a range of elements from memory.
pub(super) fn copy<T: Element>(buffer: &Buffer, first: usize, count: usize) -> Result<Vec<T>, Error> {
    T::read(count, |bytes| buffer.read(first * size_of::<T>(), bytes))
}

/// Copies one element from memory.
fn element<T: Element>(buffer: &Buffer, index: usize) -> Result<T, Error> {
    let mut bits = [0; 8];
    buffer.read(index * size_of::<T>(), &mut bits[..size_of::<T>()])?;
    Ok(T::from_bits(u64::from_le_bytes(bits)))
}

/// Returns the exact value of a float.
pub(crate) fn as_f64(ty: Type, bits: u64) -> f64 {
    f64::from_bits(scalar::cast(ty, Type::F64, bits))
}
