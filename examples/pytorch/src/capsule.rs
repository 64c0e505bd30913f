//! Capsules of DLPack. Who takes the tensor out of one renames it, so that nobody takes it twice:
//! <https://dmlc.github.io/dlpack/latest/python_spec.html>.

use std::ffi::CStr;
use std::ptr::NonNull;

use jit::interop::dlpack::ManagedTensor;
use jit::interop::dlpack::abi::DLManagedTensorVersioned;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::refused;

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";

/// Takes the tensor out of a capsule.
pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<ManagedTensor> {
    let (used, is_versioned) = if capsule.is_valid_checked(Some(VERSIONED)) {
        (c"used_dltensor_versioned", true)
    } else if capsule.is_valid_checked(Some(LEGACY)) {
        (c"used_dltensor", false)
    } else {
        return Err(PyTypeError::new_err("the capsule has no tensor of DLPack, or its tensor was taken before"));
    };
    let tensor = capsule.pointer_checked(Some(if is_versioned { VERSIONED } else { LEGACY }))?;
    // SAFETY: it is a capsule, and the name lives as long as the program.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    // SAFETY: the capsule owned the tensor until it was renamed. The functions of this module keep no array, and while
    // they run their caller does not: only another thread could write the tensor, which no function of PyTorch permits.
    let tensor = unsafe {
        match is_versioned {
            true => ManagedTensor::from_raw(tensor.as_ptr().cast()),
            false => ManagedTensor::from_raw_legacy(tensor.as_ptr().cast()),
        }
    };
    tensor.map_err(refused)
}

/// Makes a capsule that owns a tensor.
pub(crate) fn give(py: Python<'_>, tensor: ManagedTensor) -> PyResult<Bound<'_, PyCapsule>> {
    let tensor = NonNull::new(tensor.into_raw()).expect("a tensor has an address");
    // SAFETY: the pointer is that of a tensor, which the destructor frees if nobody has taken it.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, tensor.cast(), VERSIONED, Some(free)) }
}

/// Frees the tensor of a capsule that nobody took it out of.
unsafe extern "C" fn free(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls the destructor once, with the capsule of `give`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let tensor = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<DLManagedTensorVersioned>();
            drop(ManagedTensor::from_raw(tensor));
        }
    }
}
