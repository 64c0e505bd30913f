//! `jit cache …` on folders that other processes wrote, and that were damaged.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod changing;
mod gpus;
mod listing;
#[path = "../shared/mod.rs"]
mod shared;
mod showing;
mod why;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jit_runtime::device::current_device;
use jit_runtime::ir::{Access, BinaryOp, Builder, Type};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;
use serde_json::Value;
use shared::{folder, json};

/// The header of a file, and where its checksum begins.
const HEADER: usize = 72;
const CHECKSUM: usize = 40;

/// Launches a chain of operations for each number in `OPS`.
#[test]
#[ignore = "run by the other tests in separate processes"]
fn child() {
    let list = std::env::var("OPS").unwrap();
    for ops in list.split(',').map(|ops| ops.parse::<u64>().unwrap()) {
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U32, Access::Write);
        let mut value = builder.lane_index();
        for number in 0..ops {
            let odd = builder.constant(Type::U32, 2 * number + 3);
            value = builder.binary(BinaryOp::Mul, value, odd);
            value = builder.binary(BinaryOp::Xor, value, odd);
        }
        builder.store(output, value);
        let arguments = vec![Argument::Buffer(Buffer::alloc(400).unwrap(), 100)];
        let (device, kernel, label) = (current_device(), builder.finish(), if ops > 150 { "long" } else { "short" });
        launch(Launch { device, kernel, width: 100, reduce_block: None, arguments, label: label.into(), site: None })
            .unwrap();
    }
}

/// Runs kernels in a process.
fn fill(cache: &Path, ops: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    shared::clean(&mut command);
    command.args(["child", "--exact", "--ignored"]).env("JIT_CACHE_DIR", cache).env("OPS", ops);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A folder with kernels.
fn filled(name: &str, ops: &str) -> PathBuf {
    let cache = folder(name);
    fill(&cache, ops);
    cache
}

fn entries(cache: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(cache).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.file_name().is_some_and(|name| name.len() == 64)).collect()
}

/// Writes a file with another key text and another object, with the right checksum and name, in place of the first.
fn forge(path: &Path, change: impl Fn(&str) -> String, change_object: impl Fn(&mut [u8])) -> PathBuf {
    let mut bytes = fs::read(path).unwrap();
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let key = &bytes[HEADER..HEADER + length(24)];
    // Keys of library calls of GPUs are text alone.
    let text_end = key.windows(10).position(|window| window == b"kernel of ").unwrap_or(key.len());
    let changed = change(std::str::from_utf8(&key[..text_end]).unwrap());
    let key = [changed.as_bytes(), &key[text_end..]].concat();
    let mut contents = bytes[HEADER + length(24)..].to_vec();
    change_object(&mut contents);
    bytes.truncate(HEADER);
    bytes[24..28].copy_from_slice(&(key.len() as u32).to_le_bytes());
    let secret: [u8; 32] = fs::read(path.with_file_name("secret")).unwrap().try_into().unwrap();
    let mut hasher = blake3::Hasher::new_keyed(&secret);
    hasher.update(&bytes[..32]).update(&key).update(&contents);
    bytes[CHECKSUM..HEADER].copy_from_slice(hasher.finalize().as_bytes());
    bytes.extend([key.as_slice(), &contents].concat());
    let other = path.with_file_name(blake3::hash(&key).to_hex().as_str());
    fs::remove_file(path).unwrap();
    fs::write(&other, bytes).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&other, mode).unwrap();
    other
}

fn hash_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn list(cache: &Path, arguments: &[&str]) -> Vec<Value> {
    json(cache, &[&["cache"], arguments].concat(), &[], 0)["entries"].as_array().unwrap().clone()
}
