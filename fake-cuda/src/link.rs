//! The linker: it compiles PTX to machine code, which other processes may load.
//!
//! | bytes of the code | |
//! |---|---|
//! | 0..8 | `FAKECUBN` |
//! | 8..12 | the version of the driver that made it |
//! | 12..16 | the compute capability that it is for |
//! | 16..20 | the bytes of the text |
//! | 20..28 | the sum of these bytes, each times its position |
//! | … | the text of PTX |

use std::ffi::{CStr, OsStr, c_char, c_uint, c_void};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::codes::{self, Code};
use crate::state::lock;
use crate::{context, device, module, violation};

const ERROR_LOG: c_uint = 5;
const ERROR_LOG_SIZE: c_uint = 6;
/// The kind of input that is text of PTX.
const INPUT_PTX: c_uint = 1;

const MAGIC: &[u8; 8] = b"FAKECUBN";
const HEADER_BYTES: usize = 28;

/// A linker between its creation and its end.
pub(crate) struct Linker {
    device: usize,
    /// Where the text about an error is written, and at most how many bytes.
    log: Option<(usize, usize)>,
    /// The code, which is the linker's.
    code: Option<Box<[u8]>>,
    text: Option<String>,
}

impl Linker {
    unsafe fn fails(&self, (code, reason): (Code, String)) -> Code {
        if let Some((log, size)) = self.log {
            let bytes = reason.bytes().take(size.max(1) - 1).chain([0]);
            bytes.enumerate().for_each(|(place, byte)| *(log as *mut u8).add(place) = byte);
        }
        code
    }
}

fn sum(text: &[u8]) -> u64 {
    text.iter().zip(1..).map(|(byte, place): (&u8, u64)| u64::from(*byte) * place).sum()
}

fn encode(text: &str, device: usize) -> Box<[u8]> {
    let numbers = [device::driver_version(), device::capability(device), text.len() as u32];
    let mut bytes = MAGIC.to_vec();
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    bytes.extend_from_slice(&sum(text.as_bytes()).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.into()
}

/// The text in code, if this driver runs it on this device. A newer driver's code, and that for another device, is
/// refused, as by the driver.
pub(crate) unsafe fn decode(image: *const u8, device: usize) -> Result<String, Code> {
    let header = std::slice::from_raw_parts(image, HEADER_BYTES);
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|place| header[at + place]));
    if header[..8] != *MAGIC || number(8) > device::driver_version() {
        return Err(codes::INVALID_IMAGE);
    }
    if number(12) != device::capability(device) {
        return Err(codes::NO_BINARY_FOR_GPU);
    }
    let text = std::slice::from_raw_parts(image.add(HEADER_BYTES), number(16) as usize);
    if header[20..] != sum(text).to_le_bytes() {
        return Err(codes::INVALID_IMAGE);
    }
    String::from_utf8(text.to_vec()).map_err(|_| codes::INVALID_IMAGE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: *const c_uint,
    values: *const *mut c_void,
    linker: *mut *mut c_void,
) -> Code {
    let device = context::current("cuLinkCreate");
    let option = |wanted| (0..count as usize).find(|place| *options.add(*place) == wanted);
    let value = |place: usize| *values.add(place) as usize;
    let log = option(ERROR_LOG).map(value).zip(option(ERROR_LOG_SIZE).map(value));
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    let handle = state.new_handle();
    state.linkers.insert(handle, Linker { device, log, code: None, text: None });
    *linker = handle as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkAddData_v2(
    linker: *mut c_void,
    kind: c_uint,
    data: *mut c_void,
    size: usize,
    _name: *const c_char,
    _count: c_uint,
    _options: *const c_uint,
    _values: *const *mut c_void,
) -> Code {
    context::current("cuLinkAddData");
    let bytes = std::slice::from_raw_parts(data as *const u8, size);
    let text = CStr::from_bytes_with_nul(bytes).ok().and_then(|text| text.to_str().ok());
    let (INPUT_PTX, Some(text)) = (kind, text) else {
        violation("a linker takes text of PTX, with the zero at its end")
    };
    if let Some(ptxas) = std::env::var_os("FAKE_CUDA_PTXAS") {
        assemble(&ptxas, text);
    }
    let mut state = lock();
    let is_refused = state.failures.count("link");
    let Some(linker) = state.linkers.get_mut(&(linker as usize)) else { violation("data for no linker") };
    if linker.text.replace(text.to_owned()).is_some() {
        violation("a linker gets one text here");
    }
    let compiled = match is_refused {
        true => Err((codes::INVALID_PTX, "ptxas application ptx input, line 7; error : on demand".to_owned())),
        false => module::parsed(text, linker.device).map(drop),
    };
    match compiled {
        Ok(()) => codes::SUCCESS,
        Err(failure) => linker.fails(failure),
    }
}

/// Lets NVIDIA's assembler check a text.
fn assemble(ptxas: &OsStr, text: &str) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("fake-cuda-{}-{}.ptx", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let target = text.lines().find_map(|line| line.strip_prefix(".target ")).unwrap_or_default();
    let outcome = std::fs::write(&path, text)
        .and_then(|()| Command::new(ptxas).args(["-O0", "-arch", target, "-o", "/dev/null"]).arg(&path).output());
    match outcome {
        Ok(output) if output.status.success() => _ = std::fs::remove_file(path),
        Ok(output) => violation(&format!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr))),
        Err(error) => violation(&format!("{}: {error}", ptxas.display())),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkComplete(linker: *mut c_void, code: *mut *mut c_void, size: *mut usize) -> Code {
    context::current("cuLinkComplete");
    let mut state = lock();
    let is_refused = state.failures.count("link-end");
    let Some(linker) = state.linkers.get_mut(&(linker as usize)) else { violation("the end of no linker") };
    if is_refused {
        return linker.fails((codes::NO_BINARY_FOR_GPU, "ptxas fatal : on demand".to_owned()));
    }
    let Some(text) = &linker.text else { violation("a linker ends without data") };
    let made = linker.code.insert(encode(text, linker.device));
    (*code, *size) = (made.as_mut_ptr().cast(), made.len());
    codes::SUCCESS
}

/// The code is gone with the linker: what was not copied is overwritten first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkDestroy(linker: *mut c_void) -> Code {
    context::current("cuLinkDestroy");
    let Some(linker) = lock().linkers.remove(&(linker as usize)) else { violation("a linker is destroyed twice") };
    linker.code.into_iter().for_each(|mut code| code.fill(0xdd));
    codes::SUCCESS
}
