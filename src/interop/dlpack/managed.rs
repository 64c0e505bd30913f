//! Tensors of DLPack as values that free them: the only place that touches the structures behind pointers.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};

use super::abi::{
    CPU, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_IS_COPIED,
    FLAG_READ_ONLY, VERSION,
};
use crate::{Element, Error, ErrorKind, Result, Site, View};

/// A tensor of DLPack that this value owns: it is freed when the value is dropped, on whichever thread that is.
pub struct ManagedTensor(Raw);

/// The two forms of a tensor with its owner.
enum Raw {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Legacy(NonNull<DLManagedTensor>),
}

// SAFETY: the value is the only owner of the tensor, and DLPack allows deleters to run on any thread.
unsafe impl Send for ManagedTensor {}

impl ManagedTensor {
    /// Takes a tensor from another library, such as the pointer in a capsule `dltensor_versioned` of Python.
    ///
    /// # Errors
    ///
    /// When the pointer is null, or the structure has another major version; it is then freed.
    ///
    /// # Safety
    ///
    /// The pointer is null, or that of a tensor which the caller owns and does not use afterwards. What it says of
    /// itself must be true: the addresses, the lengths, the deleter. While the tensor or an array that was imported
    /// from it lives, nobody may write its memory.
    #[track_caller]
    pub unsafe fn from_raw(tensor: *mut DLManagedTensorVersioned) -> Result<ManagedTensor> {
        let tensor = NonNull::new(tensor).ok_or_else(null)?;
        let managed = ManagedTensor(Raw::Versioned(tensor));
        // SAFETY: the caller's promise; the version is the first field in all versions.
        let DLPackVersion { major, minor } = unsafe { tensor.as_ref().version };
        if major != VERSION.major {
            let what = format!("a tensor of version {major}.{minor} of DLPack cannot be read, only one of version 1");
            let hint = "request a tensor with at most version 1 from its library";
            return Err(Error::new(ErrorKind::InvalidArgument, what).at(Site::here()).with_hint(hint));
        }
        Ok(managed)
    }

    /// Takes a tensor in the form without a version, such as the pointer in a capsule `dltensor` of Python.
    ///
    /// # Errors
    ///
    /// When the pointer is null.
    ///
    /// # Safety
    ///
    /// As [`ManagedTensor::from_raw`].
    #[track_caller]
    pub unsafe fn from_raw_legacy(tensor: *mut DLManagedTensor) -> Result<ManagedTensor> {
        Ok(ManagedTensor(Raw::Legacy(NonNull::new(tensor).ok_or_else(null)?)))
    }

    /// Hands the tensor over to another library, which then has to call its deleter. A tensor that was taken without a
    /// version is wrapped.
    #[must_use]
    pub fn into_raw(self) -> *mut DLManagedTensorVersioned {
        let tensor = *self.tensor();
        match &self.0 {
            Raw::Versioned(raw) => {
                let raw = raw.as_ptr();
                std::mem::forget(self);
                raw
            }
            Raw::Legacy(_) => versioned(tensor, Box::new(self), 0),
        }
    }

    /// Hands the tensor over in the form without a version. That form cannot say that the memory must not be written:
    /// the other library has to know it.
    #[must_use]
    pub fn into_raw_legacy(self) -> *mut DLManagedTensor {
        let dl_tensor = *self.tensor();
        match &self.0 {
            Raw::Legacy(raw) => {
                let raw = raw.as_ptr();
                std::mem::forget(self);
                raw
            }
            Raw::Versioned(_) => {
                let manager_ctx = Box::into_raw(Box::new(Owner(Box::new(self)))).cast::<c_void>();
                Box::into_raw(Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(free_legacy) }))
            }
        }
    }

    /// Returns whether the tensor says that its memory must not be written.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.flags() & FLAG_READ_ONLY != 0
    }

    /// Returns whether its producer says that it is a copy.
    #[must_use]
    pub fn is_copied(&self) -> bool {
        self.flags() & FLAG_IS_COPIED != 0
    }

    /// Returns the element type.
    #[must_use]
    pub fn dtype(&self) -> DLDataType {
        self.tensor().dtype
    }

    /// Returns where the memory is.
    #[must_use]
    pub fn device(&self) -> DLDevice {
        self.tensor().device
    }

    /// Returns the lengths of the axes.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.list(self.tensor().shape).unwrap_or_default()
    }

    /// Returns the distances of neighbours along the axes, in elements; none for row-major order.
    #[must_use]
    pub fn strides(&self) -> Option<&[i64]> {
        self.list(self.tensor().strides)
    }

    /// Returns the address of the first element.
    #[must_use]
    pub fn data(&self) -> *const u8 {
        let DLTensor { data, byte_offset, .. } = *self.tensor();
        data.cast::<u8>().cast_const().wrapping_add(byte_offset as usize)
    }

    fn list(&self, list: *const i64) -> Option<&[i64]> {
        let length = usize::try_from(self.tensor().ndim).unwrap_or_default();
        // SAFETY: the maker of this value promised that the tensor has such lists, or null.
        (!list.is_null()).then(|| unsafe { std::slice::from_raw_parts(list, length) })
    }

    fn tensor(&self) -> &DLTensor {
        // SAFETY: this value owns the structure.
        unsafe {
            match &self.0 {
                Raw::Versioned(raw) => &raw.as_ref().dl_tensor,
                Raw::Legacy(raw) => &raw.as_ref().dl_tensor,
            }
        }
    }

    fn flags(&self) -> u64 {
        match &self.0 {
            // SAFETY: this value owns the structure.
            Raw::Versioned(raw) => unsafe { raw.as_ref().flags },
            Raw::Legacy(_) => 0,
        }
    }

    /// Copies an element, `position` elements of `size` bytes behind the first one.
    ///
    /// # Safety
    ///
    /// The tensor must have an element there, in memory of the host.
    pub(super) unsafe fn copy_element(&self, position: isize, target: &mut [u8]) {
        let source = self.data().wrapping_offset(position.wrapping_mul(target.len() as isize));
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
    }

    /// Returns the elements of a tensor in row-major order.
    ///
    /// # Safety
    ///
    /// The tensor must have this many bytes from its first element on, in memory of the host.
    pub(super) unsafe fn bytes(&self, count: usize) -> &[u8] {
        if count == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data(), count) }
    }

    /// Lends elements of the host.
    pub(super) fn lend<T: Element>(view: View<T>, shape: &[usize]) -> ManagedTensor {
        let owner = Box::new(Lent { shape: Lent::<T>::lengths(shape), strides: Lent::<T>::strides(shape), view });
        let data = ptr::from_ref::<[T]>(&owner.view).cast_mut().cast::<c_void>();
        let dl_tensor = DLTensor {
            data,
            device: DLDevice { device_type: CPU, device_id: 0 },
            ndim: owner.shape.len() as i32,
            dtype: DLDataType::of(T::TYPE),
            shape: owner.shape.as_ptr().cast_mut(),
            strides: owner.strides.as_ptr().cast_mut(),
            byte_offset: 0,
        };
        let raw = versioned(dl_tensor, owner, FLAG_READ_ONLY);
        ManagedTensor(Raw::Versioned(NonNull::new(raw).expect("an address of a box is not null")))
    }
}

impl Drop for ManagedTensor {
    fn drop(&mut self) {
        // SAFETY: this value owns the tensor, which nobody uses afterwards.
        unsafe {
            match self.0 {
                Raw::Versioned(raw) => raw.as_ref().deleter.into_iter().for_each(|deleter| deleter(raw.as_ptr())),
                Raw::Legacy(raw) => raw.as_ref().deleter.into_iter().for_each(|deleter| deleter(raw.as_ptr())),
            }
        }
    }
}

impl fmt::Debug for ManagedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, shape, strides) = (self.dtype().to_string(), self.shape(), self.strides());
        f.debug_struct("ManagedTensor")
            .field("dtype", &dtype)
            .field("shape", &shape)
            .field("strides", &strides)
            .finish()
    }
}

#[track_caller]
fn null() -> Error {
    Error::new(ErrorKind::InvalidArgument, "a null pointer is no tensor of DLPack").at(Site::here())
}

/// Elements that are lent, with the lists that the structure points to.
struct Lent<T: Element> {
    view: View<T>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl<T: Element> Lent<T> {
    fn lengths(shape: &[usize]) -> Vec<i64> {
        shape.iter().map(|&length| length as i64).collect()
    }

    fn strides(shape: &[usize]) -> Vec<i64> {
        let inner = |axis: usize| shape[axis + 1..].iter().map(|&length| length as i64).product();
        (0..shape.len()).map(inner).collect()
    }
}

/// What an exported tensor keeps alive.
struct Owner(#[expect(dead_code, reason = "it is only dropped")] Box<dyn Send>);

fn versioned(dl_tensor: DLTensor, owner: Box<dyn Send>, flags: u64) -> *mut DLManagedTensorVersioned {
    let manager_ctx = Box::into_raw(Box::new(Owner(owner))).cast::<c_void>();
    let deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)> = Some(free);
    Box::into_raw(Box::new(DLManagedTensorVersioned { version: VERSION, manager_ctx, deleter, flags, dl_tensor }))
}

unsafe extern "C" fn free(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: `versioned` made both boxes, and the owner of the tensor calls its deleter once.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.manager_ctx.cast::<Owner>()));
    }
}

unsafe extern "C" fn free_legacy(tensor: *mut DLManagedTensor) {
    // SAFETY: `into_raw_legacy` made both boxes, and the owner of the tensor calls its deleter once.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.manager_ctx.cast::<Owner>()));
    }
}
