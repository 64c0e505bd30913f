//! Calls, and their results.

use std::ffi::c_void;

use jit_core::executor::{GivenArgument, GivenArray, UntypedResult};
use jit_runtime::ir::Type;
use jit_runtime::{Error, ErrorKind, memory};

use crate::failure::{Failure, Status, give, guarded, guarded_or, live, no_position};
use crate::open::{Function, free, give_handle};

/// An argument of a call: `jit_argument` in the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The type of the elements.
    pub ty: i32,
    /// 1 for a number.
    pub is_number: i32,
    /// The elements, or the number.
    pub data: *const c_void,
    /// The number of elements.
    pub width: usize,
    /// The lengths of the axes.
    pub shape: *const usize,
    /// The number of axes.
    pub axes: usize,
}

/// What a call has returned: `jit_results` in the header.
#[derive(Debug)]
pub struct Results(Vec<ResultArray>);

/// A result, in memory of the host.
#[derive(Debug)]
struct ResultArray {
    ty: Type,
    width: usize,
    /// The lengths of its axes, if it has axes.
    shape: Vec<usize>,
    /// The elements, aligned for every type.
    words: Vec<u64>,
}

impl ResultArray {
    fn of(result: &UntypedResult) -> Result<ResultArray, Error> {
        let (ty, width) = (result.ty, result.width);
        let bytes = width * ty.size_bytes();
        let mut words = memory::filled_list(bytes.div_ceil(8), 0_u64)?;
        // SAFETY: words are bytes, and there are at least so many.
        let target = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), bytes) };
        result.read(target)?;
        Ok(ResultArray { ty, width, shape: result.shape.clone(), words })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the words have at least so many bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.width * self.ty.size_bytes()) }
    }
}

/// Returns so many elements at an address, or none.
///
/// # Safety
///
/// If the pointer is not null, so many elements can be read there.
unsafe fn elements<'a, T>(data: *const T, count: usize) -> Result<&'a [T], Failure> {
    match (data.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::Null("data")),
        // SAFETY: it is not null, and the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(data, count) }),
    }
}

/// Returns an argument in the form that the executor takes. Its `name` is for messages.
///
/// # Safety
///
/// Its pointers are null, or so many elements can be read there.
unsafe fn given<'a>(argument: &Argument, name: &dyn Fn() -> String) -> Result<GivenArgument<'a>, Failure> {
    let invalid = |what: String| Failure::Error(Error::new(ErrorKind::InvalidArgument, format!("{} {what}", name())));
    let ty = usize::try_from(argument.ty).ok().and_then(|ty| Type::ALL.get(ty).copied());
    let ty = ty.ok_or_else(|| invalid(format!("has the unknown type {}", argument.ty)))?;
    let is_number = argument.is_number != 0;
    if is_number && argument.width != 1 {
        return Err(invalid(format!("is a number with the width {}, not 1", argument.width)));
    }
    let size = argument.width.checked_mul(ty.size_bytes()).filter(|size| isize::try_from(*size).is_ok());
    let size = size.ok_or_else(|| invalid("has more elements than there is memory".to_owned()))?;
    let null = |place| move |_| Failure::NullOf(place, name());
    // SAFETY: the caller's promise.
    let bytes = unsafe { elements(argument.data.cast::<u8>(), size) }.map_err(null("data"))?;
    // SAFETY: the caller's promise.
    let shape = unsafe { elements(argument.shape, argument.axes) }.map_err(null("shape"))?;
    if !is_number {
        return Ok(GivenArgument::Array(ty, GivenArray { bytes, shape }));
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Ok(GivenArgument::Number(ty, u64::from_le_bytes(word)))
}

/// Calls a function.
///
/// # Safety
///
/// The function is null or live; there are so many arguments, each of which says what can be read at its pointers; what
/// is returned may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_call(
    function: *const Function,
    arguments: *const Argument,
    count: usize,
    results: *mut *mut Results,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let function = unsafe { live(function, "function") }?;
        if results.is_null() {
            return Err(Failure::Null("results"));
        }
        // SAFETY: the caller's promise.
        let arguments = unsafe { elements(arguments, count) }.map_err(|_| Failure::Null("arguments"))?;
        let mut all = Vec::new();
        for (position, argument) in arguments.iter().enumerate() {
            let name = || function.descriptions.name_of_argument(position);
            // SAFETY: the caller's promise.
            all.push(unsafe { given(argument, &name) }?);
        }
        let made = function.untyped.call(&all)?;
        let made: Result<Vec<ResultArray>, Error> = made.iter().map(ResultArray::of).collect();
        // SAFETY: the caller's promise.
        unsafe { give_handle(results, "results", Results(made?)) }
    })
}

/// # Safety
///
/// The results are null or live.
unsafe fn result<'a>(results: *const Results, position: usize) -> Result<&'a ResultArray, Failure> {
    // SAFETY: the caller's promise.
    let Results(all) = unsafe { live(results, "results") }?;
    all.get(position).ok_or_else(|| no_position("result", position, all.len()))
}

/// Returns a result in place.
///
/// # Safety
///
/// The results are null or live; each place is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_results_get(
    results: *const Results,
    position: usize,
    data: *mut *const c_void,
    width: *mut usize,
    ty: *mut i32,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise, here and below.
        let found = unsafe { result(results, position) }?;
        if !data.is_null() {
            // SAFETY: as above.
            unsafe { give(data, "data", found.words.as_ptr().cast()) }?;
        }
        if !width.is_null() {
            // SAFETY: as above.
            unsafe { give(width, "width", found.width) }?;
        }
        if !ty.is_null() {
            // SAFETY: as above.
            unsafe { give(ty, "type", found.ty as i32) }?;
        }
        Ok(())
    })
}

/// Returns the shape of a result: the lengths of its axes, which live as long as the results, and how many there are.
///
/// # Safety
///
/// The results are null or live; each place is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_results_shape(
    results: *const Results,
    position: usize,
    shape: *mut *const usize,
    axes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise, here and below.
        let found = unsafe { result(results, position) }?;
        if !shape.is_null() {
            // SAFETY: as above.
            unsafe { give(shape, "shape", found.shape.as_ptr()) }?;
        }
        if !axes.is_null() {
            // SAFETY: as above.
            unsafe { give(axes, "axes", found.shape.len()) }?;
        }
        Ok(())
    })
}

/// Copies a result.
///
/// # Safety
///
/// The results are null or live; so many bytes may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_results_copy(
    results: *const Results,
    position: usize,
    to: *mut c_void,
    size: usize,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { result(results, position) }?.bytes();
        if to.is_null() && size > 0 {
            return Err(Failure::Null("to"));
        }
        if size != bytes.len() {
            let message = format!("the result {position} has {} bytes, and there is room for {size}", bytes.len());
            let error = Error::new(ErrorKind::InvalidArgument, message);
            return Err(error.with_hint("`jit_results_get` returns its width and type").into());
        }
        // SAFETY: there is room for all of it, and what is read is ours.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        Ok(())
    })
}

/// Frees results.
///
/// # Safety
///
/// They are null, or results that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_results_free(results: *mut Results) {
    // SAFETY: the caller's promise.
    guarded_or((), || unsafe { free(results) });
}
