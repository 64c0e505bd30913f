//! What functions take and return.

use std::ffi::{CString, c_char};

use jit_core::executor::{ArgumentKind, UntypedFunction};
use jit_runtime::ir::Type;

use crate::failure::{Status, give, guarded, live, no_position};
use crate::open::Function;

/// An array or number: `jit_description` in the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its path, which lives as long as the function.
    pub name: *const c_char,
    /// The type of its elements.
    pub ty: i32,
    /// 1 for a number.
    pub is_number: i32,
    /// 1 for an array among the arguments that a call changes.
    pub is_changed: i32,
    /// The number of axes of a tensor.
    pub axes: usize,
}

/// A description that owns its name.
#[derive(Debug)]
struct Described {
    name: CString,
    ty: Type,
    is_number: bool,
    is_changed: bool,
    axes: usize,
}

/// The descriptions of a function's arguments and results.
#[derive(Debug)]
pub(crate) struct Descriptions {
    arguments: Vec<Described>,
    results: Vec<Described>,
    /// The names and values of what is part of the recording.
    fixed: Vec<[CString; 2]>,
}

impl Descriptions {
    /// Names an argument for messages: by its position, and by its path if there is one.
    pub(crate) fn name_of_argument(&self, position: usize) -> String {
        match self.arguments.get(position) {
            Some(argument) => format!("the argument {position}, `{}`,", argument.name.to_string_lossy()),
            None => format!("the argument {position}, of {} that the function takes,", self.arguments.len()),
        }
    }

    pub(crate) fn of(function: &UntypedFunction) -> Descriptions {
        let name = |path: &str| CString::new(path.replace('\0', "\u{fffd}")).unwrap_or_default();
        let arguments = function.arguments().iter().map(|argument| {
            let (is_number, is_changed, axes) = match argument.kind {
                ArgumentKind::Array { is_changed, axes } => (false, is_changed, axes),
                _ => (true, false, 0),
            };
            Described { name: name(&argument.path), ty: argument.ty, is_number, is_changed, axes }
        });
        let results = function.results().iter().map(|result| Described {
            name: name(&result.path),
            ty: result.ty,
            is_number: false,
            is_changed: false,
            axes: result.axes,
        });
        let fixed = function.fixed().iter().map(|(path, value)| [name(path), name(value)]);
        Descriptions { arguments: arguments.collect(), results: results.collect(), fixed: fixed.collect() }
    }
}

impl Described {
    fn shown(&self) -> Description {
        let Described { name, ty, is_number, is_changed, axes } = self;
        let (is_number, is_changed) = (i32::from(*is_number), i32::from(*is_changed));
        Description { name: name.as_ptr(), ty: *ty as i32, is_number, is_changed, axes: *axes }
    }
}

/// Returns the number of arguments; none of null.
///
/// # Safety
///
/// It is null, or a live function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_argument_count(function: *const Function) -> usize {
    // SAFETY: the caller's promise.
    unsafe { function.as_ref() }.map_or(0, |function| function.descriptions.arguments.len())
}

/// Returns the number of results; none of null.
///
/// # Safety
///
/// It is null, or a live function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_result_count(function: *const Function) -> usize {
    // SAFETY: the caller's promise.
    unsafe { function.as_ref() }.map_or(0, |function| function.descriptions.results.len())
}

/// Describes an argument.
///
/// # Safety
///
/// The function is null or live; the description may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_argument_describe(
    function: *const Function,
    position: usize,
    description: *mut Description,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { describe(function, |all| &all.arguments, ("argument", position), description) }
}

/// Describes a result.
///
/// # Safety
///
/// The function is null or live; the description may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_result_describe(
    function: *const Function,
    position: usize,
    description: *mut Description,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { describe(function, |all| &all.results, ("result", position), description) }
}

/// Returns the number of values that are part of the recording; none of null.
///
/// # Safety
///
/// It is null, or a live function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_fixed_count(function: *const Function) -> usize {
    // SAFETY: the caller's promise.
    unsafe { function.as_ref() }.map_or(0, |function| function.descriptions.fixed.len())
}

/// Describes a value that is part of the recording.
///
/// # Safety
///
/// The function is null or live; each place is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jit_fixed_describe(
    function: *const Function,
    position: usize,
    name: *mut *const c_char,
    value: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise, here and below.
        let fixed = &unsafe { live(function, "function") }?.descriptions.fixed;
        let [path, text] = fixed.get(position).ok_or_else(|| no_position("fixed value", position, fixed.len()))?;
        if !name.is_null() {
            // SAFETY: as above.
            unsafe { give(name, "name", path.as_ptr()) }?;
        }
        if !value.is_null() {
            // SAFETY: as above.
            unsafe { give(value, "value", text.as_ptr()) }?;
        }
        Ok(())
    })
}

/// # Safety
///
/// The function is null or live; the description may be written.
unsafe fn describe(
    function: *const Function,
    list: fn(&Descriptions) -> &[Described],
    (what, position): (&'static str, usize),
    description: *mut Description,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's promise.
        let list = list(&unsafe { live(function, "function") }?.descriptions);
        let found = list.get(position).ok_or_else(|| no_position(what, position, list.len()))?;
        // SAFETY: the caller's promise.
        unsafe { give(description, "description", found.shown()) }
    })
}
