//! Possible locations of libLLVM, in the order of preference.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::library::MAJOR;
use crate::config;

/// Returns files that may be the library; cheap searches come before expensive ones.
type Stage = fn() -> Vec<PathBuf>;

/// All searches; the location that the user names is first.
pub(super) const STAGES: [Stage; 4] =
    [explicit_candidates, system_candidates, toolchain_candidates, sysroot_candidates];

fn explicit_candidates() -> Vec<PathBuf> {
    match config::llvm_path() {
        Some(path) if path.is_dir() => {
            let files = libraries_in(path);
            if files.is_empty() { vec![path.to_owned()] } else { files }
        }
        Some(path) => vec![path.to_owned()],
        None => Vec::new(),
    }
}

fn system_candidates() -> Vec<PathBuf> {
    const NAMES: [&str; 2] = ["libLLVM.so.22.1", "libLLVM-22.so"];
    const DIRECTORIES: [&str; 5] = [
        "/usr/lib/llvm-22/lib",
        "/usr/lib64/llvm22/lib64",
        "/usr/lib64/llvm22/lib",
        "/usr/lib/llvm22/lib",
        "/usr/local/lib",
    ];
    let by_name = NAMES.iter().map(PathBuf::from);
    by_name.chain(DIRECTORIES.iter().flat_map(|directory| libraries_in(Path::new(directory)))).collect()
}

/// The toolchains that rustup has installed, found without starting a process.
fn toolchain_candidates() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".rustup")));
    let Some(Ok(entries)) = home.map(|home| std::fs::read_dir(home.join("toolchains"))) else { return Vec::new() };
    let mut toolchains: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("lib")).collect();
    toolchains.sort();
    toolchains.iter().flat_map(|directory| libraries_in(directory)).collect()
}

/// The toolchain that the `rustc` on the path belongs to.
fn sysroot_candidates() -> Vec<PathBuf> {
    let Some(rustc) = std::env::var_os("PATH").and_then(|path| program_on("rustc", &path)) else { return Vec::new() };
    let Ok(output) = std::process::Command::new(rustc).args(["--print", "sysroot"]).output() else {
        return Vec::new();
    };
    let sysroot = String::from_utf8_lossy(&output.stdout);
    libraries_in(&Path::new(sysroot.trim()).join("lib"))
}

/// A program in one of the folders of a search path. Folders relative to the current one (`.`, `bin`, an empty entry)
/// are skipped, since their contents are not trusted.
fn program_on(name: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Files in a directory whose names are those of a libLLVM of the right major version, in order of name.
fn libraries_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let is_library = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(&format!("libLLVM.so.{MAJOR}"))
            || (name.starts_with(&format!("libLLVM-{MAJOR}")) && name.ends_with(".so"))
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_library).collect();
    // A name with a dot after `libLLVM` is the library itself; one with a dash may be a linker script.
    files.sort_by_key(|path| {
        (path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libLLVM-")), path.clone())
    });
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_library_offers_nothing() {
        assert!(libraries_in(Path::new("/proc/self")).is_empty());
    }

    #[test]
    fn programs_of_the_current_folder_are_not_found() {
        let folder = std::env::temp_dir().join(format!("jit-path-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("rustc"), "").unwrap();
        let up = "../".repeat(std::env::current_dir().unwrap().components().count());
        let relative = Path::new(&up).join(folder.strip_prefix("/").unwrap());
        assert!(relative.join("rustc").is_file(), "the file exists");
        let path = |folders: &[&Path]| std::env::join_paths(folders).unwrap();
        assert_eq!(program_on("rustc", &path(&[&relative, Path::new(""), Path::new(".")])), None);
        assert_eq!(program_on("rustc", &path(&[&relative, &folder])), Some(folder.join("rustc")));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_libraries_of_the_right_version_are_offered() {
        let directory = std::env::temp_dir().join(format!("jit-discover-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let names = [
            "libLLVM-22-rust-1.95.0-stable.so",
            "libLLVM.so.22.1-rust-1.95.0-stable",
            "libLLVM.so.21.1",
            "libLLVM-22.a",
        ];
        names.iter().for_each(|name| std::fs::write(directory.join(name), "").unwrap());
        let expected = [names[1], names[0]].map(|name| directory.join(name));
        assert_eq!(libraries_in(&directory), expected);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
