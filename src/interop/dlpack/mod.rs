//! DLPack: tensors that other libraries in the same process made or want, such as NumPy, PyTorch and JAX.
//!
//! [`export`] lends the elements of a tensor, without a copy. [`import`] makes a tensor of a [`ManagedTensor`]. It uses
//! the memory in place if kernels can read it there, otherwise it copies the elements once, and says which of the two
//! happened. A tensor is freed exactly once: when the last array and the last launch that use it are done.
//!
//! ```
//! use jit::interop::dlpack::{self, ManagedTensor};
//! use jit::prelude::*;
//!
//! let table = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
//! let pointer = dlpack::export(&table)?.into_raw(); //         for a capsule `dltensor_versioned`
//!
//! // SAFETY: the pointer is that of a tensor which is ours, and nobody writes it.
//! let lent = unsafe { ManagedTensor::from_raw(pointer)? };
//! let (doubled, transfer) = dlpack::import::<f32>(lent)?;
//! assert_eq!((doubled * 2.0).to_vec()?, [2.0, 4.0, 6.0, 8.0]);
//! println!("{transfer}");
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! **In place** means: the elements are in row-major order, in memory of the host that begins at a multiple of 64
//! bytes, and 64 more bytes can be read behind them, as kernels read whole vectors. The last is known if the memory
//! does not reach into the last 64 bytes of a page. The array never writes such memory: a scatter to it goes to a copy,
//! as if the array had another owner. While it lives, nobody else may write it either, which is what the caller of
//! [`ManagedTensor::from_raw`] promises.

pub mod abi;
mod managed;

use std::fmt;
use std::ptr::NonNull;

use jit_runtime::device::{capabilities, current_device};
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;

pub use managed::ManagedTensor;

use super::strides::position;
use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind, Result, Site};

/// Memory must begin at a multiple of this many bytes, and as many must be readable behind it.
const ALIGNMENT: usize = 64;

/// Memory can be read up to the end of a page.
const PAGE: usize = 4096;

/// What an import did with the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Transfer {
    /// The array uses the memory of the other library.
    InPlace,
    /// The elements were copied, and the other library's tensor is freed: the reason.
    Copied(&'static str),
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transfer::InPlace => f.write_str("in place"),
            Transfer::Copied(reason) => write!(f, "copied: {reason}"),
        }
    }
}

/// Lends a tensor to another library. Evaluates it, and waits for it. Constants and masks are copied, all others are
/// read in place. The memory is marked as read-only.
///
/// While the other library holds the result, the tensor has another owner: what is scattered to it goes to a copy.
///
/// # Errors
///
/// As [`Array::to_vec`].
#[track_caller]
pub fn export<T: Element>(tensor: &Tensor<T>) -> Result<ManagedTensor> {
    Ok(ManagedTensor::lend(tensor.array().view()?, tensor.shape()))
}

/// Makes a tensor of that of another library, on the current device, and says whether it uses the memory in place.
///
/// # Errors
///
/// When the elements are of another type, or vectors; when the memory is not on the host; when lengths are negative or
/// too large; when there is no memory for a copy. The other library's tensor is then freed.
#[track_caller]
pub fn import<T: Element>(tensor: ManagedTensor) -> Result<(Tensor<T>, Transfer)> {
    let site = Site::here();
    let shape = check::<T>(&tensor, site)?;
    let count: usize = shape.iter().product();
    let (buffer, transfer) = match obstacle::<T>(&tensor, &shape, count) {
        None => (in_place(tensor, count * size_of::<T>()), Transfer::InPlace),
        Some(reason) => (copied::<T>(&tensor, &shape), Transfer::Copied(reason)),
    };
    let array = Array::<T>::from_buffer(buffer.map_err(|error| error.at(site))?, count)?;
    Ok((Tensor::from_array(array, &shape[..]), transfer))
}

/// Checks that arrays can have the elements, and returns the shape.
fn check<T: Element>(tensor: &ManagedTensor, site: Site) -> Result<Vec<usize>> {
    let refuse = |what: String, hint: &str| {
        Err(Error::new(ErrorKind::InvalidArgument, format!("a tensor of DLPack {what}")).at(site).with_hint(hint))
    };
    let (dtype, device) = (tensor.dtype(), tensor.device());
    if dtype.ty() != Some(T::TYPE) {
        let hint = match dtype.ty() {
            Some(ty) => format!("import it as {ty}, and convert it by `cast`"),
            None => "arrays have bool, integers of 8 to 64 bits, f16, bf16, f32 and f64: convert it before".to_owned(),
        };
        return refuse(format!("has elements of type {dtype}, not {}", T::TYPE), &hint);
    }
    if device.device_type != abi::CPU {
        let what = format!("is on the device {} of type {}", device.device_id, device.device_type);
        return refuse(what, "copy it to the host before, which is device type 1");
    }
    let (lengths, strides) = (tensor.shape(), tensor.strides());
    let shape: Option<Vec<usize>> = lengths.iter().map(|&length| usize::try_from(length).ok()).collect();
    let is_small = |shape: &Vec<usize>| {
        let mut claimed = shape.iter().filter(|&&length| length != 0);
        let count = claimed.try_fold(1_usize, |count, &length| count.checked_mul(length));
        count.is_some_and(|count| count <= u32::MAX as usize)
    };
    match shape.filter(is_small) {
        Some(shape) if tensor.data().is_null() && shape.iter().product::<usize>() > 0 => {
            refuse("has elements and no memory".into(), "the library that made it has freed it")
        }
        Some(shape) => Ok(shape),
        None => {
            let what = format!("has the shape {lengths:?} and the strides {strides:?}");
            refuse(what, "lengths are not negative, and an array has at most 4294967295 elements")
        }
    }
}

/// Why the memory cannot be used in place, if it cannot.
fn obstacle<T: Element>(tensor: &ManagedTensor, shape: &[usize], count: usize) -> Option<&'static str> {
    if !is_row_major(tensor, shape) {
        return Some("the elements are not in row-major order");
    }
    let (begin, size_bytes) = (tensor.data().addr(), count * size_of::<T>());
    let end = begin + size_bytes;
    if !capabilities(current_device()).is_ok_and(|device| device.shares_host_memory) {
        return Some("the memory of the device is not the host's");
    } else if count == 0 {
        return Some("there are no elements");
    } else if !begin.is_multiple_of(ALIGNMENT) {
        return Some("the memory does not begin at a multiple of 64 bytes");
    } else if end.next_multiple_of(PAGE) - end < ALIGNMENT {
        return Some("the memory behind the elements may not be readable");
    }
    // SAFETY: whoever took the tensor promised that it has these elements, and they are of the host.
    let is_wrong = T::TYPE == Type::Bool && unsafe { tensor.bytes(size_bytes) }.iter().any(|&byte| byte > 1);
    is_wrong.then_some("the truth values are not all 0 or 1")
}

/// Whether neighbours along the last axis are neighbours in memory, and so on.
fn is_row_major(tensor: &ManagedTensor, shape: &[usize]) -> bool {
    let Some(strides) = tensor.strides() else { return true };
    let mut expected = 1;
    shape.iter().zip(strides).rev().all(|(&length, &stride)| {
        let is_right = length == 1 || stride == expected;
        expected = expected.saturating_mul(length as i64);
        is_right || shape.contains(&0)
    })
}

/// A buffer that uses the memory of the tensor.
fn in_place(tensor: ManagedTensor, size_bytes: usize) -> Result<std::sync::Arc<Buffer>> {
    let data = NonNull::new(tensor.data().cast_mut());
    let data = data.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "a tensor of DLPack has no memory"))?;
    // SAFETY: the memory is that of the tensor, which lives until the function is called or dropped; whoever took it
    // promised that nobody writes it. It is aligned, and the page that its last byte is in goes on for 64 bytes.
    unsafe { Buffer::foreign(data, size_bytes, move || drop(tensor)) }
}

/// A buffer with a copy of the elements in row-major order.
fn copied<T: Element>(tensor: &ManagedTensor, shape: &[usize]) -> Result<std::sync::Arc<Buffer>> {
    let (size, count) = (size_of::<T>(), shape.iter().product::<usize>());
    let mut bytes: Vec<u8> = jit_runtime::memory::zeroed_list(count * size)?;
    if is_row_major(tensor, shape) {
        // SAFETY: whoever took the tensor promised that it has these elements, and they are of the host.
        bytes.copy_from_slice(unsafe { tensor.bytes(count * size) });
    } else {
        let strides = tensor.strides().unwrap_or_default();
        for (number, target) in bytes.chunks_mut(size).enumerate() {
            // SAFETY: as above; the position is that of one of the elements.
            unsafe {
                tensor.copy_element(position(number, shape, strides.iter().map(|&stride| stride as isize)), target)
            };
        }
    }
    if T::TYPE == Type::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Buffer::from_bytes(&bytes)
}
