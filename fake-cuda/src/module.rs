//! Modules: code of the linker, whose text of PTX is parsed.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use ptx_interpreter::{AtomicSums, Entry, parse};

use crate::codes::{self, Code};
use crate::state::lock;
use crate::stream::{Op, Work};
use crate::{context, device, link, violation};

pub(crate) struct Module {
    pub(crate) device: usize,
    pub(crate) functions: HashMap<String, usize>,
    pub(crate) entries: Vec<Entry>,
}

/// The module and the position of a function: a function's handle is that of its module and a number.
pub(crate) fn function(handle: usize) -> Option<(Arc<Module>, usize)> {
    let state = lock();
    let position = handle % 16;
    let module = state.modules.get(&(handle - position))?;
    (position < module.entries.len()).then(|| (Arc::clone(module), position))
}

/// The version of PTX that the driver knows.
fn known_version() -> (u32, u32) {
    let (major, minor) = (device::driver_version() / 1000, device::driver_version() % 1000 / 10);
    (major - 4, minor)
}

fn check_header(text: &str, device: usize) -> Result<(), (Code, String)> {
    let word =
        |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim).unwrap_or_default();
    let version: Option<(u32, u32)> =
        word(".version").split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let target: Option<u32> = word(".target").strip_prefix("sm_").and_then(|number| number.parse().ok());
    match (version, target) {
        (Some(version), _) if version > known_version() => {
            Err((codes::UNSUPPORTED_PTX_VERSION, format!("ptxas fatal : Unsupported .version {version:?}")))
        }
        (Some(_), Some(target)) if target <= device::capability(device) => Ok(()),
        (Some(_), Some(target)) => Err((
            codes::NO_BINARY_FOR_GPU,
            format!("ptxas fatal : SM version {target} is higher than that of the device"),
        )),
        _ => Err((codes::INVALID_PTX, "ptxas fatal : no version or target".to_owned())),
    }
}

/// The kernels of a text, if the driver accepts it for a device.
pub(crate) fn parsed(text: &str, device: usize) -> Result<Vec<Entry>, (Code, String)> {
    check_header(text, device)?;
    parse(text, AtomicSums::Exact).map_err(|reason| (codes::INVALID_PTX, reason))
}

unsafe fn load(image: *const c_void, device: usize) -> Result<Module, Code> {
    let text = link::decode(image.cast(), device)?;
    if lock().failures.count("module") {
        return Err(codes::INVALID_IMAGE);
    }
    let entries = parsed(&text, device).map_err(|(code, _)| code)?;
    if entries.len() > 16 {
        violation("a module of more than 16 functions");
    }
    Ok(Module { device, functions: HashMap::new(), entries })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> Code {
    let device = context::current("cuModuleLoadData");
    if let Err(lost) = lock().check(device) {
        return lost;
    }
    match load(image, device) {
        Ok(mut loaded) => {
            let mut state = lock();
            let handle = state.new_handle();
            loaded.functions =
                loaded.entries.iter().enumerate().map(|(place, entry)| (entry.name.clone(), handle + place)).collect();
            state.modules.insert(handle, Arc::new(loaded));
            *module = handle as *mut c_void;
            codes::SUCCESS
        }
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(module: *mut c_void) -> Code {
    let device = context::current("cuModuleUnload");
    let mut state = lock();
    let Some(unloaded) = state.modules.remove(&(module as usize)) else { violation("a module is unloaded twice") };
    let is_used = |work: &Work| matches!(&work.op, Op::Launch(launch) if launch.is_of(&unloaded));
    if state.streams.values().any(|stream| stream.queue.iter().any(is_used)) {
        violation("a module is unloaded while a launch of it is queued");
    }
    state.check(device).err().unwrap_or(codes::SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Code {
    context::current("cuModuleGetFunction");
    let state = lock();
    let Some(module) = state.modules.get(&(module as usize)) else { violation("a function of no module") };
    match CStr::from_ptr(name).to_str().ok().and_then(|name| module.functions.get(name)) {
        Some(handle) => {
            *function = *handle as *mut c_void;
            codes::SUCCESS
        }
        None => codes::NOT_FOUND,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, handle: *mut c_void) -> Code {
    context::current("cuFuncGetAttribute");
    let Some((module, position)) = function(handle as usize) else { violation("an attribute of no function") };
    *value = match attribute {
        // Threads of a block, bytes of local memory, registers.
        0 => module.entries[position].threads.unwrap_or(1024) as c_int,
        3 => module.entries[position].local_bytes() as c_int,
        4 => 32,
        _ => return codes::INVALID_VALUE,
    };
    codes::SUCCESS
}

/// Few and small blocks: they are run one by one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    blocks: *mut c_int,
    threads: *mut c_int,
    handle: *mut c_void,
    _dynamic: *mut c_void,
    _dynamic_bytes: usize,
    limit: c_int,
) -> Code {
    context::current("cuOccupancyMaxPotentialBlockSize");
    let Some((module, position)) = function(handle as usize) else { violation("the occupancy of no function") };
    let own = module.entries[position].threads.unwrap_or(96) as c_int;
    (*blocks, *threads) = (4, if limit > 0 { own.min(limit) } else { own });
    codes::SUCCESS
}
