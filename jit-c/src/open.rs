//! Open files, and their functions.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

use jit_core::executor::UntypedFunction;
use jit_runtime::device::current_device;
use jit_runtime::recording::file::Bundle;
use jit_runtime::{Error, ErrorKind};

use crate::describe::Descriptions;
use crate::failure::{Failure, Status, give, guarded, guarded_or, live, no_position};

/// An open file: `jit_bundle` in the header.
#[derive(Debug)]
pub struct OpenBundle {
    /// The functions by name, with their files.
    entries: Vec<(CString, Box<[u8]>)>,
    name: String,
}

/// A function of a file: `jit_function` in the header.
#[derive(Debug)]
pub struct Function {
    pub(crate) untyped: UntypedFunction,
    pub(crate) descriptions: Descriptions,
}

impl Function {
    fn new(untyped: UntypedFunction) -> Function {
        Function { descriptions: Descriptions::of(&untyped), untyped }
    }
}

impl OpenBundle {
    fn of_bytes(bytes: &[u8]) -> Result<OpenBundle, Error> {
        let bundle = Bundle::open(bytes)?;
        let mut entries = Vec::new();
        for name in bundle.names() {
            let c_name = CString::new(name).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
            entries.push((c_name, bundle.entry(name)?.into()));
        }
        Ok(OpenBundle { entries, name: bundle.name().to_owned() })
    }

    fn function(&self, name: &CStr) -> Result<Function, Error> {
        let found = self.entries.iter().find(|(known, _)| **known == *name);
        let Some((_, bytes)) = found else {
            let known: Vec<String> = self.entries.iter().map(|(name, _)| format!("{name:?}")).collect();
            let message = format!("`{}` has no function {name:?}", self.name);
            let error = Error::new(ErrorKind::InvalidArgument, message);
            return Err(error.with_hint(format!("it has {}", known.join(", "))));
        };
        // SAFETY: the header says that files are trusted as shared libraries are.
        let untyped = unsafe { UntypedFunction::from_bytes(bytes, current_device()) }.map_err(|error| {
            Error::new(error.kind(), format!("the function {name:?} cannot be loaded")).caused_by(error)
        })?;
        Ok(Function::new(untyped))
    }
}

/// Opens a file.
///
/// # Safety
///
/// The path is null or ends with a zero byte; what is returned may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_open(path: *const c_char, bundle: *mut *mut OpenBundle) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { text(path, "path") }?;
        let path = path_of(path);
        let cannot = |error: Box<dyn std::error::Error + Send + Sync>, kind| {
            Error::new(kind, format!("the file {} cannot be opened", path.display())).caused_by(error)
        };
        let bytes = std::fs::read(&path).map_err(|error| cannot(error.into(), ErrorKind::Io))?;
        let opened = OpenBundle::of_bytes(&bytes).map_err(|error| {
            let kind = error.kind();
            cannot(error.into(), kind)
        })?;
        // SAFETY: the caller's promise.
        unsafe { give_handle(bundle, "bundle", opened) }
    })
}

/// Opens the bytes of a file.
///
/// # Safety
///
/// There are so many bytes; what is returned may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_open_bytes(bytes: *const c_void, size: usize, bundle: *mut *mut OpenBundle) -> Status {
    guarded(|| {
        if bytes.is_null() {
            return Err(Failure::Null("bytes"));
        }
        // SAFETY: the pointer is not null, and the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) };
        let opened = OpenBundle::of_bytes(bytes)?;
        // SAFETY: the caller's promise.
        unsafe { give_handle(bundle, "bundle", opened) }
    })
}

/// Closes a file.
///
/// # Safety
///
/// It is null, or a bundle that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_close(bundle: *mut OpenBundle) {
    // SAFETY: the caller's promise.
    guarded_or((), || unsafe { free(bundle) });
}

/// Returns the number of functions of a file; none of null.
///
/// # Safety
///
/// It is null, or a live bundle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_count(bundle: *const OpenBundle) -> usize {
    // SAFETY: the caller's promise.
    unsafe { bundle.as_ref() }.map_or(0, |bundle| bundle.entries.len())
}

/// Returns the name of a function; null for other positions.
///
/// # Safety
///
/// It is null, or a live bundle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_name(bundle: *const OpenBundle, position: usize) -> *const c_char {
    // SAFETY: the caller's promise.
    let bundle = unsafe { bundle.as_ref() };
    bundle.and_then(|bundle| bundle.entries.get(position)).map_or(std::ptr::null(), |(name, _)| name.as_ptr())
}

/// Looks a function up.
///
/// # Safety
///
/// The bundle is null or live, the name null or ends with a zero byte; what is returned may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_lookup(
    bundle: *const OpenBundle,
    name: *const c_char,
    function: *mut *mut Function,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (bundle, name) = unsafe { (live(bundle, "bundle")?, text(name, "name")?) };
        let found = bundle.function(name)?;
        // SAFETY: the caller's promise.
        unsafe { give_handle(function, "function", found) }
    })
}

/// Returns the number of recordings of a function; none of null.
///
/// # Safety
///
/// It is null, or a live function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_recording_count(function: *const Function) -> usize {
    // SAFETY: the caller's promise.
    unsafe { function.as_ref() }.map_or(0, |function| function.untyped.recordings())
}

/// Returns a function that has one recording alone.
///
/// # Safety
///
/// The function is null or live; what is returned may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_recording(
    function: *const Function,
    position: usize,
    recording: *mut *mut Function,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let untyped = &unsafe { live(function, "function") }?.untyped;
        let found = untyped.recording(position);
        let found = found.ok_or_else(|| no_position("recording", position, untyped.recordings()))?;
        // SAFETY: the caller's promise.
        unsafe { give_handle(recording, "recording", Function::new(found)) }
    })
}

/// Frees a function.
///
/// # Safety
///
/// It is null, or a function that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_function_free(function: *mut Function) {
    // SAFETY: the caller's promise.
    guarded_or((), || unsafe { free(function) });
}

#[cfg(unix)]
fn path_of(path: &CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(path.to_bytes()).into()
}

#[cfg(not(unix))]
fn path_of(path: &CStr) -> PathBuf {
    path.to_string_lossy().into_owned().into()
}

/// # Safety
///
/// It is null, or ends with a zero byte.
unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a CStr, Failure> {
    if text.is_null() {
        return Err(Failure::Null(what));
    }
    // SAFETY: it is not null, and the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// Gives out a handle of a value. Where there is no place for it, it is freed.
///
/// # Safety
///
/// The place is null, or may be written.
pub(crate) unsafe fn give_handle<T>(place: *mut *mut T, what: &'static str, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::Null(what));
    }
    // SAFETY: the caller's promise.
    unsafe { give(place, what, Box::into_raw(Box::new(value))) }
}

/// Frees what a handle refers to.
///
/// # Safety
///
/// It is null, or a handle that was given out, and that nobody uses any more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it was given out by `give_handle`, and the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
}
