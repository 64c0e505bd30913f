//! The keys of kernels on disk: what can change code is in them, and nothing else is.
//!
//! Each program runs in a process of its own on an empty folder; the names of the files that it leaves are digests of
//! keys.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use jit_runtime::device::current_device;
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, ReduceOp, Type};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;
use jit_runtime::{Site, config};

#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use tested_devices::has_llvm;

/// A chain of operations whose key has one thing after another changed.
fn kernel(change: &str) -> Kernel {
    let mut builder = Builder::new();
    let ty = if change == "type" { Type::I32 } else { Type::U32 };
    let access = if change == "access" || change.ends_with("scatter") { Access::ReadWrite } else { Access::Write };
    let output = builder.buffer(ty, access);
    let extra = (change == "parameter").then(|| builder.buffer(Type::U32, Access::Read));
    if change == "local memory" {
        builder.local(Type::F32, 4);
    }
    let lane = builder.lane_index();
    let mut value = if ty == Type::I32 { builder.bitcast(ty, lane) } else { lane };
    for number in 0..120 {
        let factor = builder.constant(ty, 2 * number + if change == "literal" { 5 } else { 3 });
        let op = if change == "operation" { BinaryOp::Sub } else { BinaryOp::Mul };
        value = builder.binary(op, value, factor);
        value = builder.binary(BinaryOp::Xor, value, factor);
    }
    if let Some(extra) = extra {
        let extra = builder.load(extra);
        value = builder.binary(BinaryOp::Add, value, extra);
    }
    match change {
        "scatter" | "private scatter" => {
            let mask = builder.constant(Type::U32, 15);
            let index = builder.binary(BinaryOp::And, lane, mask);
            builder.scatter(Some(ReduceOp::Add), output, index, value, None);
        }
        _ => builder.store(output, value),
    }
    builder.finish()
}

#[test]
#[ignore = "run by the other tests in separate processes"]
fn child() {
    let change = std::env::var("CHANGE").unwrap_or_default();
    let width = if change == "width" || change == "private scatter" { 1 << 16 } else { 100 };
    let width = if change == "streaming" { 20 << 20 } else { width };
    let run = move || {
        let kernel = kernel(&change);
        let elements = if change.ends_with("scatter") { 16 } else { width };
        let argument = |_| Argument::Buffer(Buffer::from_bytes(&vec![0; 4 * elements]).unwrap(), elements);
        let arguments = kernel.params.iter().map(argument).collect();
        let (device, label) = (current_device(), if change == "label" { "other" } else { "chain" }.into());
        let site = (change == "site").then(Site::here);
        launch(Launch { device, kernel, width, reduce_block: None, arguments, label, site }).unwrap();
        jit_runtime::launch::sync().unwrap();
    };
    if std::env::var("CHANGE").as_deref() == Ok("thread") {
        std::thread::Builder::new().name("another".into()).spawn(run).unwrap().join().unwrap();
    } else {
        run();
    }
}

/// The names of the kernels that a process stores.
fn keys(variables: &[(&str, &str)]) -> BTreeSet<String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("key-audit").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    config::VARIABLES.iter().filter(|variable| variable.name != "JIT_LLVM_PATH").for_each(|variable| {
        command.env_remove(variable.name);
    });
    command.args(["child", "--exact", "--ignored"]).env("JIT_CACHE_DIR", &folder).env("JIT_THREADS", "2");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{variables:?}: {output:?}");
    let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    let names = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let names = names.filter(|name| name.len() == 64).collect();
    let _ = fs::remove_dir_all(&folder);
    names
}

fn key(variables: &[(&str, &str)]) -> String {
    let keys = keys(variables);
    assert_eq!(keys.len(), 1, "{variables:?}");
    keys.into_iter().next().unwrap()
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K121 N09
#[test]
fn whatever_can_change_code_is_in_the_key() {
    if !has_llvm() {
        return;
    }
    let changes: [&[(&str, &str)]; 13] = [
        &[],
        &[("CHANGE", "type")],
        &[("CHANGE", "access")],
        &[("CHANGE", "parameter")],
        &[("CHANGE", "local memory")],
        &[("CHANGE", "literal")],
        &[("CHANGE", "operation")],
        &[("CHANGE", "scatter")],
        &[("CHANGE", "private scatter")],
        &[("CHANGE", "streaming")],
        &[("JIT_TIER", "thorough")],
        &[("JIT_VERIFY_ACCESSES", "1")],
        &[("JIT_TIER", "quick"), ("CHANGE", "width"), ("JIT_VERIFY_ACCESSES", "1")],
    ];
    let mut found: BTreeMap<String, &[(&str, &str)]> = BTreeMap::new();
    for change in &changes[..12] {
        if let Some(other) = found.insert(key(change), change) {
            panic!("{change:?} and {other:?} have one key");
        }
    }
    assert!(found.contains_key(&key(changes[12])), "tier and width change nothing here; checked accesses were seen");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N09
#[test]
fn what_cannot_change_code_is_not_in_the_key() {
    if !has_llvm() {
        return;
    }
    let plain = key(&[]);
    let same: [&[(&str, &str)]; 9] = [
        &[("CHANGE", "label")],
        &[("CHANGE", "site")],
        &[("CHANGE", "thread")],
        &[("CHANGE", "width")],
        &[("HOME", "/nonexistent"), ("RUSTUP_HOME", &rustup_home())],
        &[("LANG", "de_DE.UTF-8"), ("TZ", "Asia/Tokyo"), ("USER", "somebody")],
        &[("RUST_BACKTRACE", "0"), ("RUST_LOG", "trace")],
        &[("JIT_TIER", "quick")],
        &[("JIT_TIER", "auto")],
    ];
    for variables in same {
        assert_eq!(key(variables), plain, "{variables:?}");
    }
}

/// Where LLVM is found when it is the toolchain's.
fn rustup_home() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    std::env::var("RUSTUP_HOME").unwrap_or(format!("{home}/.rustup"))
}

/// For each variable a value, and whether it changes keys. One that is new does not pass before it is here.
const VARIABLES: [(&str, &str, bool); 19] = [
    ("JIT_DEVICE", "cpu", false),
    ("JIT_THREADS", "3", false),
    ("JIT_LOG", "debug", false),
    ("JIT_DUMP", "ir,llvm,asm", false),
    ("JIT_DUMP_DIR", "/tmp/jit-key-audit", false),
    ("JIT_CACHE", "on", false),
    ("JIT_CACHE_DIR", "", false),
    ("JIT_CACHE_SHARED_DIR", "/nonexistent", false),
    ("JIT_CACHE_CAPACITY", "7", false),
    ("JIT_CACHE_MAX_BYTES", "100000000", false),
    ("JIT_CACHE_VERIFY", "1", false),
    ("JIT_CACHE_MEM_MAX", "3", false),
    ("JIT_FREEZE", "off", false),
    ("JIT_FREEZE_VERIFY", "1", false),
    ("JIT_DEBUG", "on", false),
    ("JIT_PERF_MAP", "on", false),
    ("JIT_CUDA_GRAPHS", "on", false),
    ("JIT_TIER", "thorough", true),
    ("JIT_LLVM_PATH", "", false),
];

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K128 K172 N09
#[test]
fn each_variable_is_classified() {
    let classified: BTreeSet<&str> = VARIABLES.iter().map(|(name, ..)| *name).collect();
    let known: BTreeSet<&str> = config::VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(classified, known);
    if !has_llvm() {
        return;
    }
    let plain = key(&[]);
    for (name, value, changes) in VARIABLES.into_iter().filter(|(_, value, _)| !value.is_empty()) {
        assert_eq!(key(&[(name, value)]) != plain, changes, "{name}={value}");
    }
}
