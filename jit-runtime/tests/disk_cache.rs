//! Kernels on disk, seen by processes that share a folder.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jit_runtime::cache::{CacheLevel, CachePolicy, clear_level};
use jit_runtime::device::current_device;
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, Type};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;
use jit_runtime::{config, stats};

#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use tested_devices::has_llvm;

/// A chain of multiplications and additions that begins with the number of the lane.
fn chain(ops: u64, literal: u64) -> Kernel {
    let mut builder = Builder::new();
    let output = builder.buffer(Type::U32, Access::Write);
    let (mut value, literal) = (builder.lane_index(), builder.constant(Type::U32, literal));
    for number in 0..ops {
        let odd = builder.constant(Type::U32, 2 * number + 1);
        value = builder.binary(BinaryOp::Mul, value, odd);
        value = builder.binary(BinaryOp::Xor, value, literal);
    }
    builder.store(output, value);
    builder.finish()
}

fn expected(lane: u32, ops: u32, literal: u32) -> u32 {
    (0..ops).fold(lane, |value, number| value.wrapping_mul(2 * number + 1) ^ literal)
}

/// Runs the kernel and checks a result.
fn run(ops: u32, literal: u32) {
    let buffer = Buffer::alloc(400).unwrap();
    let arguments = vec![Argument::Buffer(buffer.clone(), 100)];
    let (device, kernel) = (current_device(), chain(ops.into(), literal.into()));
    let label = if std::env::var_os("LABEL").is_some() { "another name".into() } else { "chain".into() };
    launch(Launch { device, kernel, width: 100, reduce_block: None, arguments, label, site: None }).unwrap();
    let mut bytes = [0; 4];
    buffer.read(396, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), expected(99, ops, literal), "a wrong result");
}

fn has_mapped_llvm() -> bool {
    fs::read_to_string("/proc/self/maps").unwrap().contains("libLLVM")
}

#[test]
#[ignore = "run by the other tests in separate processes"]
fn child() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let _policy = std::env::var_os("READ_ONLY").map(|_| CachePolicy::ReadOnly.enter());
    let literals: Vec<u32> =
        std::env::var("LITERALS").unwrap_or("5".into()).split(',').map(|n| n.parse().unwrap()).collect();
    for kernel in 0..number("KERNELS").unwrap_or(1) {
        for literal in &literals {
            run(number("OPS").unwrap_or(100) + kernel, *literal);
        }
    }
    if std::env::var_os("KILL").is_some() {
        // SAFETY: a call without preconditions; this process ends.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    if std::env::var_os("REPEAT").is_some() {
        run(number("OPS").unwrap_or(100), literals[0]);
    }
    for record in stats::kernel_history() {
        let (outcome, compiled, loaded) = (record.outcome, record.compile_time.as_nanos(), record.load_time.is_some());
        let found = record.look_up_time.as_nanos() > 0;
        println!("{outcome:?}, hit {}, compiled in {compiled} ns, loaded {loaded}, found {found}", record.is_hit);
    }
    let stats = stats::stats();
    let (compiles, hits, loads) = (stats.compiles, stats.disk_hits, stats.llvm_loads);
    if std::env::var_os("CLEAR").is_some() {
        let disk = || stats.cache(CacheLevel::Disk);
        println!("level: {:?}", disk());
        clear_level(CacheLevel::Disk);
        println!("after: {} entries, {} bytes", disk().entries, disk().bytes);
    }
    println!("compiles {compiles}, disk hits {hits}, LLVM loads {loads}, mapped {}", has_mapped_llvm());
}

/// A folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("disk-cache").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}

fn start(folder: &Path, variables: &[(&str, &str)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    config::VARIABLES.iter().filter(|variable| variable.name != "JIT_LLVM_PATH").for_each(|variable| {
        command.env_remove(variable.name);
    });
    command.args(["child", "--exact", "--ignored", "--nocapture"]).env("JIT_CACHE_DIR", folder);
    command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}

/// What a process reports.
fn report(folder: &Path, variables: &[(&str, &str)]) -> String {
    finish(start(folder, variables))
}

fn assert_cold(text: &str) {
    assert!(text.contains("compiles 1, disk hits 0, LLVM loads 1, mapped true"), "{text}");
}

fn assert_warm(text: &str) {
    assert!(text.contains("compiles 0, disk hits 1, LLVM loads 0, mapped false"), "{text}");
}

/// The files with machine code, which are large.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let is_entry = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 64);
    files.filter(is_entry).collect()
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K140
#[test]
fn the_second_process_compiles_nothing_and_loads_no_llvm() {
    if !has_llvm() {
        return;
    }
    let folder = folder("second");
    let cold = report(&folder, &[]);
    assert_cold(&cold);
    assert!(!cold.contains("warn"), "{cold}");
    assert_warm(&report(&folder, &[]));
    let facts = fs::metadata(&folder).unwrap();
    assert_eq!(facts.mode() & 0o777, 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
}

#[test]
fn what_cannot_change_code_is_not_in_the_key() {
    if !has_llvm() {
        return;
    }
    let folder = folder("same-key");
    assert_cold(&report(&folder, &[]));
    let same: [&[(&str, &str)]; 4] = [
        &[("LABEL", "another name")],
        &[("JIT_THREADS", "3"), ("JIT_LOG", "debug")],
        &[("JIT_CACHE_CAPACITY", "7"), ("JIT_CACHE_MEM_MAX", "3")],
        &[("JIT_DUMP", "ir")],
    ];
    same.iter().for_each(|variables| assert_warm(&report(&folder, variables)));
    assert_eq!(entries(&folder).len(), 1);
    let other = report(&folder, &[("JIT_TIER", "thorough")]);
    assert!(other.contains("compiles 1, disk hits 0"), "{other}");
    assert_eq!(entries(&folder).len(), 2);
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K140
#[test]
fn a_machine_without_llvm_runs_cached_kernels() {
    if !has_llvm() {
        return;
    }
    let folder = folder("without-llvm");
    assert_cold(&report(&folder, &[]));
    let without = ("JIT_LLVM_PATH", "/there/is/no/such/folder");
    let text = report(&folder, &[without]);
    assert_warm(&text);
    assert!(!text.contains("warn"), "{text}");
    // Another kernel is interpreted, and that is not stored.
    let text = report(&folder, &[without, ("OPS", "20")]);
    assert!(text.contains("compiles 1, disk hits 0") && text.contains("interpreted"), "{text}");
    assert_eq!(entries(&folder).len(), 1);
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K141 K142
#[test]
#[cfg(all(feature = "llvm", not(feature = "llvm-static")))]
fn the_mode_decides_where_kernels_are_kept() {
    if !has_llvm() {
        return;
    }
    let folder = folder("mode");
    for mode in ["memory", "off"] {
        report(&folder, &[("JIT_CACHE", mode)]);
        assert!(!folder.exists(), "{mode}");
    }
    let text = report(&folder, &[("JIT_CACHE", "memory"), ("REPEAT", "1")]);
    assert!(launches(&text)[1].starts_with("Memory, hit true"), "{text}");
    let home = folder.join("home");
    fs::create_dir_all(&home).unwrap();
    let home_name = home.to_str().unwrap();
    assert_cold(&report(Path::new(""), &[("HOME", home_name), ("XDG_CACHE_HOME", ""), ("JIT_LLVM_PATH", &llvm())]));
    assert_eq!(entries(&home.join(".cache/jit")).len(), 1);
    assert_cold(&report(Path::new(""), &[("XDG_CACHE_HOME", home_name)]));
    assert_eq!(entries(&home.join("jit")).len(), 1);
    let text = report(Path::new(""), &[("HOME", ""), ("XDG_CACHE_HOME", "relative"), ("JIT_LLVM_PATH", &llvm())]);
    assert_cold(&text);
    assert_eq!(text.matches("JIT_CACHE=memory").count(), 1, "{text}");
}

/// The file that contains LLVM.
#[cfg(all(feature = "llvm", not(feature = "llvm-static")))]
fn llvm() -> String {
    jit_runtime::backend::llvm::available().unwrap().path.to_str().unwrap().to_owned()
}

/// What the first and the second launch of a kernel report.
fn launches(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains(", loaded ")).collect()
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: O34
#[test]
fn the_history_tells_where_code_came_from() {
    if !has_llvm() {
        return;
    }
    let folder = folder("history");
    let cold = report(&folder, &[("REPEAT", "1")]);
    let [first, second] = launches(&cold)[..] else { panic!("{cold}") };
    assert!(first.starts_with("Compiled, hit false") && first.ends_with("loaded false, found true"), "{cold}");
    assert!(second.starts_with("Memory, hit true") && second.ends_with("loaded false, found true"), "{cold}");
    let (_, time) = first.split_once("compiled in ").unwrap();
    let time = time.split(' ').next().unwrap();
    assert_ne!(time, "0");
    let warm = report(&folder, &[("REPEAT", "1")]);
    let [first, second] = launches(&warm)[..] else { panic!("{warm}") };
    let facts = format!("compiled in {time} ns, loaded true, found true");
    assert_eq!(first, format!("Disk, hit false, {facts}"), "the time that the other process took");
    assert_eq!(second, format!("Memory, hit true, {facts}"));
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: O39
#[test]
fn the_level_on_disk_is_counted_and_cleared() {
    if !has_llvm() {
        return;
    }
    let folder = folder("cleared");
    assert_cold(&report(&folder, &[]));
    let size = fs::metadata(&entries(&folder)[0]).unwrap().len();
    let text = report(&folder, &[("CLEAR", "1"), ("JIT_CACHE_CAPACITY", "70")]);
    let (bounds, counts) = ("max_entries: 70, max_bytes: Some(536870912)", "hits: 1, misses: 0, evictions: 0");
    assert!(text.contains(&format!("level: LevelStats {{ entries: 1, bytes: {size}, {bounds}, {counts} }}")), "{text}");
    assert!(text.contains("after: 0 entries, 0 bytes"), "{text}");
    assert!(entries(&folder).is_empty() && folder.join("secret").exists());
    let text = report(&folder, &[("CLEAR", "1"), ("JIT_CACHE", "memory")]);
    assert!(text.contains("level: LevelStats { entries: 0, bytes: 0, max_entries: 0"), "a level that is off: {text}");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K127
#[test]
fn kernels_from_disk_are_dumped() {
    if !has_llvm() {
        return;
    }
    let folder = folder("dumped");
    let dump = ("JIT_DUMP", "ir,llvm,asm");
    let cold = report(&folder, &[dump]);
    let warm = report(&folder, &[dump]);
    assert!(warm.contains("compiles 0, disk hits 1, LLVM loads 1"), "{warm}");
    let form = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("---- {name} of chain-")).unwrap_or_else(|| panic!("{text}"));
        rest.split_once("---- ").map_or(rest, |(form, _)| form).to_owned()
    };
    assert_eq!(form(&warm, "ir"), form(&cold, "ir"));
    assert_eq!(form(&warm, "llvm"), form(&cold, "llvm"));
    let assembly = form(&warm, "asm");
    assert!(assembly.contains("jit_kernel_") && assembly.contains("0: ") && assembly.contains("ret"), "{assembly}");
    let without = report(&folder, &[dump, ("JIT_LLVM_PATH", "/there/is/no/such/folder")]);
    assert!(without.contains("compiles 0, disk hits 1, LLVM loads 0, mapped false"), "{without}");
    assert_eq!(form(&without, "ir"), form(&cold, "ir"));
    for (name, what) in [("asm", "assembly"), ("llvm", "LLVM IR")] {
        let text = form(&without, name);
        let wanted = format!("; the code was read from disk, and its {what} cannot be shown: no LLVM 22 library");
        assert!(text.contains(&wanted) && !text.contains("jit_kernel_"), "{text}");
    }
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K144
#[test]
fn kernels_are_on_disk_before_they_run() {
    if !has_llvm() {
        return;
    }
    let folder = folder("at-once");
    let output = start(&folder, &[("KILL", "1")]).wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(libc::SIGKILL));
    assert_warm(&report(&folder, &[]));
}

#[test]
fn literals_that_changed_are_parameters_from_the_first_launch_on() {
    if !has_llvm() {
        return;
    }
    let folder = folder("literals");
    let text = report(&folder, &[("LITERALS", "5,6,7")]);
    assert!(text.contains("compiles 2, disk hits 0"), "{text}");
    let text = report(&folder, &[("LITERALS", "9,10,11")]);
    assert!(text.contains("compiles 0, disk hits 1, LLVM loads 0"), "{text}");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K141 N08
#[test]
fn folders_and_files_that_others_could_have_written_are_refused() {
    if !has_llvm() {
        return;
    }
    let folder = folder("rights");
    assert_cold(&report(&folder, &[]));
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let entry = entries(&folder).remove(0);
    set_mode(&entry, 0o620);
    assert!(report(&folder, &[]).contains("disk hits 0"), "a file that the group can write");
    set_mode(&entry, 0o600);
    for mode in [0o770, 0o702] {
        set_mode(&folder, mode);
        let text = report(&folder, &[("KERNELS", "2")]);
        assert!(text.contains("compiles 2, disk hits 0"), "{text}");
        assert_eq!(text.matches("can be written by other users").count(), 1, "{text}");
        assert!(text.contains("help: `chmod go-w"), "{text}");
    }
    set_mode(&folder, 0o700);
    assert_warm(&report(&folder, &[]));
    set_mode(&folder.join("secret"), 0o622);
    assert!(report(&folder, &[]).contains("disk hits 0"), "a secret that others can write is replaced, its files void");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N08
#[test]
fn a_file_made_with_another_secret_is_not_run() {
    if !has_llvm() {
        return;
    }
    let (mine, theirs) = (folder("planted"), folder("planting"));
    assert_cold(&report(&mine, &[]));
    assert_cold(&report(&theirs, &[]));
    let (entry, planted) = (entries(&mine).remove(0), entries(&theirs).remove(0));
    assert_eq!(entry.file_name(), planted.file_name(), "one key, one name");
    fs::copy(&planted, &entry).unwrap();
    let text = report(&mine, &[("JIT_LOG", "info")]);
    assert!(text.contains("disk hits 0") && text.contains("its checksum is wrong"), "{text}");
    assert_warm(&report(&mine, &[]));
    // Nor is a link followed.
    fs::remove_file(&entry).unwrap();
    std::os::unix::fs::symlink(&planted, &entry).unwrap();
    assert!(report(&mine, &[]).contains("disk hits 0"));
}

#[test]
fn a_shared_folder_is_read_and_never_written() {
    if !has_llvm() {
        return;
    }
    let (shared, own) = (folder("shared"), folder("own"));
    assert_cold(&report(&shared, &[]));
    let before = fs::read_dir(&shared).unwrap().count();
    let with_shared = ("JIT_CACHE_SHARED_DIR", shared.to_str().unwrap());
    let text = report(&own, &[with_shared]);
    assert_warm(&text);
    let text = report(&own, &[with_shared, ("OPS", "90")]);
    assert!(text.contains("compiles 1, disk hits 0"), "{text}");
    assert_eq!(fs::read_dir(&shared).unwrap().count(), before);
    assert_eq!(entries(&own).len(), 1);
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let text = report(&own, &[with_shared]);
    assert!(text.contains("disk hits 0") && text.contains("can be written by other users"), "{text}");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N09
#[test]
fn hits_are_compared_with_new_code_on_request() {
    if !has_llvm() {
        return;
    }
    let folder = folder("verify");
    assert!(report(&folder, &[("KERNELS", "3")]).contains("compiles 3"));
    let text = report(&folder, &[("KERNELS", "3"), ("JIT_CACHE_VERIFY", "1")]);
    assert!(text.contains("disk hits 3, LLVM loads 1"), "{text}");
    let text = report(&folder, &[("KERNELS", "3"), ("JIT_CACHE_VERIFY", "4")]);
    assert!(text.contains("disk hits 3, LLVM loads 0"), "{text}");
}

// one device: tests/cuda/stored.rs is about code of GPUs
#[test]
fn what_only_reads_the_cache_writes_no_file() {
    if !has_llvm() {
        return;
    }
    let folder = folder("read-only");
    assert_cold(&report(&folder, &[("READ_ONLY", "1")]));
    assert_eq!(entries(&folder).len(), 0);
    assert_cold(&report(&folder, &[]));
    assert_warm(&report(&folder, &[("READ_ONLY", "1")]));
}

// one device: that code of the processor is not found on the other one
#[test]
fn interpreted_kernels_are_not_on_disk() {
    if !has_llvm() {
        return;
    }
    let folder = folder("interpreted");
    report(&folder, &[]);
    let text = report(&folder, &[("JIT_DEVICE", "interpreter"), ("LITERALS", "5,6,7")]);
    assert!(text.contains("disk hits 0, LLVM loads 0"), "{text}");
    assert_eq!(entries(&folder).len(), 1);
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K143
#[test]
fn the_number_of_files_is_bounded() {
    if !has_llvm() {
        return;
    }
    let folder = folder("bounded");
    report(&folder, &[("KERNELS", "40"), ("OPS", "60"), ("JIT_CACHE_CAPACITY", "16")]);
    let count = entries(&folder).len();
    assert!((10..=16).contains(&count), "{count} files");
    // The one that was used last is there.
    assert_warm(&report(&folder, &[("OPS", "99"), ("JIT_CACHE_CAPACITY", "16")]));
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K143 K148
#[test]
fn processes_that_share_a_folder_and_evict_get_right_results() {
    if !has_llvm() {
        return;
    }
    let folder = folder("evicting");
    let capacity = ("JIT_CACHE_CAPACITY", "12");
    for _ in 0..2 {
        let sizes = ["50", "54", "58", "62"];
        let children: Vec<Child> =
            (0..32).map(|i| start(&folder, &[("KERNELS", "12"), ("OPS", sizes[i % sizes.len()]), capacity])).collect();
        for child in children {
            let text = finish(child);
            assert!(!text.contains("warn"), "{text}");
        }
    }
    // The bound is kept by who writes last; those that write at the same time may each count before the other.
    report(&folder, &[("OPS", "99"), capacity]);
    let count = entries(&folder).len();
    assert!(count <= 12, "{count} files");
    let left = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("new-")).count(), 0);
}

fn compiles(text: &str) -> u32 {
    let (_, rest) = text.split_once("compiles ").unwrap_or_else(|| panic!("{text}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K148 N01
#[test]
fn of_many_cold_processes_at_most_two_compile() {
    if !has_llvm() {
        return;
    }
    let folder = folder("many");
    let children: Vec<Child> =
        (0..16).map(|_| start(&folder, &[("OPS", "1500"), ("JIT_TEST_PATIENCE", "1000")])).collect();
    let total: u32 = children.into_iter().map(|child| compiles(&finish(child))).sum();
    assert!((1..=2).contains(&total), "{total} compilations");
}

/// Waits until a process compiles, which the lock shows.
fn wait_for_lock(folder: &Path, child: &Child) {
    let pid = format!(" {} ", child.id());
    let inode = |path: &Path| fs::metadata(path).map(|facts| facts.ino().to_string()).unwrap_or("none".into());
    loop {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let name = inode(&folder.join("locks"));
        if locks.lines().any(|line| line.contains(&pid) && line.contains(&format!(":{name} "))) {
            return;
        }
        std::thread::yield_now();
    }
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: a call without preconditions on memory; the child was not waited for, so its number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N01
#[test]
fn nobody_waits_for_a_process_that_is_stopped_or_killed() {
    if !has_llvm() {
        return;
    }
    for signal in [libc::SIGSTOP, libc::SIGKILL] {
        let folder = folder(&format!("signal-{signal}"));
        // So large that it is still compiling when the others wait.
        let variables = [("OPS", "6000"), ("JIT_TEST_PATIENCE", "1000")];
        let mut holder = start(&folder, &variables);
        wait_for_lock(&folder, &holder);
        send(&holder, signal);
        let others: Vec<Child> = (0..3).map(|_| start(&folder, &variables)).collect();
        let total: u32 = others.into_iter().map(|child| compiles(&finish(child))).sum();
        assert!((1..=2).contains(&total), "{total} compilations");
        send(&holder, libc::SIGKILL);
        holder.wait().unwrap();
    }
}
