//! Finds libLLVM 22 at run time, so that a build needs no LLVM, and a machine without one can still run everything
//! else.
//!
//! A library is taken only from `JIT_LLVM_PATH` if that is set, otherwise from the system, otherwise from the Rust
//! toolchain, which contains one. It is loaded once for the process, privately (no other library sees its symbols), and
//! is never unloaded. A library of another major version is rejected: the C interface differs between them.

#[cfg(not(feature = "llvm-static"))]
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

#[cfg(not(feature = "llvm-static"))]
use super::discover;
use super::usage;
#[cfg(not(feature = "llvm-static"))]
use crate::config;

use crate::error::{Error, ErrorKind};

/// The major version whose interface the code generator is written for.
pub(super) const MAJOR: u32 = 22;

/// The environment variable that names the library or the directory that contains it.
const PATH_VARIABLE: &str = "JIT_LLVM_PATH";

/// The library that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Where it was found.
    pub path: PathBuf,
    /// Major, minor and patch level.
    pub version: (u32, u32, u32),
    /// The size of the file; 0 if it is linked into the program.
    pub size_bytes: u64,
}

impl Library {
    /// The version in full, and the size of the file, since builds of one version differ.
    pub(super) fn identity(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}, {} bytes", self.size_bytes)
    }
}

static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();

/// Whether it has been loaded, or is linked into the program.
pub(super) fn is_loaded() -> bool {
    cfg!(feature = "llvm-static") || matches!(LOADED.get(), Some(Ok(_)))
}

/// The library, loaded by the first call.
pub(super) fn load() -> Result<&'static Library, Error> {
    LOADED
        .get_or_init(|| {
            // Loading takes a while, in which the process may end. Handlers that it registers run before those that
            // were registered earlier.
            usage::guard_exit();
            let found = search();
            if found.is_ok() && cfg!(not(feature = "llvm-static")) {
                crate::stats::count_llvm_load();
            }
            usage::guard_exit();
            // If the process ends meanwhile, objects that loading has created are destroyed.
            if usage::is_open() { found } else { Err("nothing: the process is about to end".to_owned()) }
        })
        .as_ref()
        .map_err(|tried| {
            Error::new(ErrorKind::NoDevice, format!("no LLVM {MAJOR} library was found; tried {tried}")).with_hint(
                format!(
                    "install it (Debian, Ubuntu: `apt install libllvm{MAJOR}`), or a Rust toolchain that contains it \
             (`rustup toolchain install 1.95.0`), or set {PATH_VARIABLE} to the library or its directory"
                ),
            )
        })
}

#[cfg(feature = "llvm-static")]
fn search() -> Result<Library, String> {
    let version = linked_version();
    if version.0 != MAJOR {
        return Err(format!("the linked library, which has version {}", version.0));
    }
    Ok(Library { path: PathBuf::new(), version, size_bytes: 0 })
}

#[cfg(not(feature = "llvm-static"))]
fn search() -> Result<Library, String> {
    let mut tried = Vec::new();
    for stage in discover::STAGES {
        for path in stage() {
            match open(&path) {
                Ok(library) => return Ok(library),
                Err(reason) => tried.push(format!("{} ({reason})", path.display())),
            }
        }
        if config::llvm_path().is_some() {
            // If the user names a library, no other one is tried.
            break;
        }
    }
    if tried.is_empty() {
        tried.push(format!("{PATH_VARIABLE}, the system's directories and the Rust toolchains"));
    }
    Err(tried.join(", "))
}

/// Loads one file and binds the trampolines to it, if it is the right version.
#[cfg(not(feature = "llvm-static"))]
fn open(path: &Path) -> Result<Library, String> {
    use libloading::os::unix::{Library as Handle, RTLD_LAZY, RTLD_LOCAL};
    check_kind(path)?;
    // SAFETY: loading runs the initialisers of a libLLVM, which have no preconditions.
    let handle =
        unsafe { Handle::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }.map_err(|error| short(&error.to_string()))?;
    type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
    let mut version = (0, 0, 0);
    // SAFETY: the type is that of `LLVMGetVersion` in every version that has it.
    unsafe {
        let get_version =
            handle.get::<GetVersion>(b"LLVMGetVersion\0").map_err(|_| "no LLVM-C interface".to_owned())?;
        get_version(&raw mut version.0, &raw mut version.1, &raw mut version.2);
    }
    if version.0 != MAJOR {
        return Err(format!("version {}", version.0));
    }
    super::symbols::bind(|name| {
        // SAFETY: only the address is taken; it is called through the declarations of the same version.
        unsafe { handle.get::<*mut std::ffi::c_void>(name.to_bytes_with_nul()) }
            .ok()
            .map(|symbol| symbol.into_raw() as usize)
    });
    // The trampolines point into the library for the rest of the process.
    std::mem::forget(handle);
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    if let Some(address) = super::symbols::bound("LLVMGetVersion") {
        // SAFETY: the library stays loaded. Its memory is returned when the process ends; LLVM writes no files.
        unsafe { super::destructors::omit(address) };
    }
    let path = loaded_file().unwrap_or_else(|| path.to_owned());
    let size_bytes = std::fs::metadata(&path).map_or(0, |facts| facts.len());
    Ok(Library { path, version, size_bytes })
}

/// The file that the functions of the library are in; the dynamic linker may have searched for it.
#[cfg(not(feature = "llvm-static"))]
fn loaded_file() -> Option<PathBuf> {
    let address = super::symbols::bound("LLVMGetVersion")?;
    // SAFETY: all fields of this plain structure may be zero.
    let mut facts: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is valid for writes; any address may be asked for.
    if unsafe { libc::dladdr(address as *const libc::c_void, &raw mut facts) } == 0 || facts.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name lives as long as the library, which is never unloaded.
    let name = unsafe { std::ffi::CStr::from_ptr(facts.dli_fname) };
    std::fs::canonicalize(name.to_str().ok()?).ok()
}

/// A library must be a regular file: opening a pipe would wait for a writer, and a device may do anything. A bare name
/// is searched for by the dynamic linker.
#[cfg(not(feature = "llvm-static"))]
fn check_kind(path: &Path) -> Result<(), String> {
    if path.components().count() < 2 && !path.has_root() {
        return Ok(());
    }
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(()),
        Ok(facts) if facts.is_dir() => Err("a directory without the library".to_owned()),
        Ok(_) => Err("neither a file nor a directory".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The first clause of a message of the dynamic linker, without the path at its beginning.
#[cfg(not(feature = "llvm-static"))]
fn short(message: &str) -> String {
    let text = message.split(": ").skip(1).collect::<Vec<_>>().join(": ");
    if text.is_empty() { message.to_owned() } else { text }
}

#[cfg(feature = "llvm-static")]
fn linked_version() -> (u32, u32, u32) {
    let mut version = (0, 0, 0);
    // SAFETY: the three pointers are valid for writes.
    unsafe { llvm_sys::core::LLVMGetVersion(&raw mut version.0, &raw mut version.1, &raw mut version.2) };
    version
}

#[cfg(all(test, not(feature = "llvm-static")))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_refused_with_the_reason() {
        let reason = open(Path::new("/proc/self/cmdline")).expect_err("not a library");
        assert!(!reason.is_empty());
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let path = std::env::temp_dir().join(format!("jit-pipe-{}", std::process::id()));
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(open(&path), Err("neither a file nor a directory".to_owned()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(open(Path::new("/dev/zero")), Err("neither a file nor a directory".to_owned()));
        assert_eq!(open(Path::new("/proc")), Err("a directory without the library".to_owned()));
    }

    #[test]
    fn another_library_is_refused() {
        assert_eq!(open(Path::new("libc.so.6")), Err("no LLVM-C interface".to_owned()));
    }
}
