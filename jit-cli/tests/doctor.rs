//! `jit doctor` on machines where something does not work.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod shared;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use shared::{folder, has_llvm, json, text};

/// The checks of a verdict, as `name: value, remedy`.
fn with(report: &Value, verdict: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap();
    let chosen = checks.iter().filter(|check| check["verdict"] == verdict);
    let line = |check: &Value| {
        format!("{}: {} help: {}", check["name"].as_str().unwrap(), check["value"].as_str().unwrap(), check["remedy"])
    };
    chosen.map(line).collect()
}

/// Where nothing but the folder is looked at, also without LLVM.
fn problems(cache: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let status = i32::from(!has_llvm() || !variables.iter().all(|(name, _)| *name == "JIT_CACHE"));
    let report = shared::run(cache, &["doctor", "--json"], variables);
    assert!(report.status.code() == Some(1) || status == 0, "{report:?}");
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    with(&report, "problem").into_iter().filter(|line| !line.starts_with("LLVM")).collect()
}

#[test]
fn where_everything_works_it_says_so_and_what_there_is() {
    if !has_llvm() {
        return;
    }
    let cache = folder("good");
    let report = json(&cache, &["doctor"], &[("JIT_LOG", "off")], 0);
    assert_eq!(report["works"], true);
    let good = with(&report, "good").join("\n");
    let folder_line = format!("folder: {}, writable: 0 entries of 1000, 0 B of 512.0 MiB", cache.display());
    for wanted in ["device cpu: runs kernels", "device interpreter: runs kernels", "JIT_LOG: off", &folder_line] {
        assert!(good.contains(wanted), "{wanted}: {good}");
    }
    let version = jit_runtime::backend::llvm_version().unwrap().0;
    assert!(good.contains(&format!("LLVM: {version}, /")), "{good}");
    let processor = jit_runtime::device::processor().unwrap();
    assert!(good.contains(&processor.level) && good.contains(&processor.features.join(" ")), "{good}");
    let text = text(&cache, &["doctor"], &[], 0);
    assert!(text.contains("\neverything works\n") && text.contains("ok       threads"), "{text}");
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700, "made as programs make it");
    let left = fs::read_dir(&cache).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["secret"], "the file that was written to test it is removed");
}

#[test]
fn without_llvm_it_says_how_to_get_one() {
    let report = json(&folder("no-llvm"), &["doctor"], &[("JIT_LLVM_PATH", "/nonexistent")], 1);
    assert_eq!(report["works"], false);
    let problems = with(&report, "problem");
    assert_eq!(problems.len(), 1, "{problems:?}");
    if cfg!(feature = "llvm") {
        assert!(problems[0].starts_with("LLVM: no LLVM 22 library was found; tried /nonexistent"), "{problems:?}");
        assert!(problems[0].contains("apt install libllvm22"), "{problems:?}");
    }
    let notes = with(&report, "note");
    assert!(notes[0].starts_with("device cpu: kernels run, interpreted"), "{notes:?}");
    let text = text(&folder("no-llvm"), &["doctor"], &[("JIT_LLVM_PATH", "/nonexistent")], 1);
    assert!(text.contains("PROBLEM  LLVM") && text.ends_with("1 thing does not work\n"), "{text}");
}

#[test]
fn gpus_are_listed_or_why_there_are_none() {
    // Its shared library is built because it is linked here.
    use fake_cuda as _;
    let driver = std::env::current_exe().unwrap().parent().unwrap().join("libfake_cuda.so");
    let driver = ("JIT_TEST_CUDA_DRIVER", driver.to_str().unwrap());
    if cfg!(feature = "cuda") {
        let report = shared::run(&folder("gpus"), &["doctor"], &[driver]);
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        assert!(text.contains("device cuda:1      runs kernels: Fake GPU 1"), "{text}");
        assert!(text.contains("GPUs               2 of NVIDIA"), "{text}");
        let report = shared::run(&folder("gpus"), &["doctor"], &[driver, ("FAKE_CUDA_FAIL", "no-device")]);
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        assert!(text.contains("note     GPUs") && text.contains("CUDA_ERROR_NO_DEVICE"), "{text}");
    }
}

#[test]
fn a_gpu_that_the_environment_names_must_be_there() {
    let driver = std::env::current_exe().unwrap().parent().unwrap().join("libfake_cuda.so");
    let driver = ("JIT_TEST_CUDA_DRIVER", driver.to_str().unwrap());
    if cfg!(feature = "cuda") {
        let wanted = [driver, ("JIT_DEVICE", "cuda"), ("FAKE_CUDA_FAIL", "no-device")];
        let found = problems(&folder("no-gpu"), &wanted);
        let listed = found.iter().find(|line| line.starts_with("JIT_DEVICE: the device `cuda:0` cannot be used"));
        assert!(listed.is_some_and(|line| line.contains("change `JIT_DEVICE`")), "{found:?}");
    }
}

#[test]
fn each_bad_variable_is_listed() {
    let bad = [("JIT_THREADS", "many"), ("JIT_TIER", "thorogh"), ("JIT_DEVISE", "cpu")];
    let problems = problems(&folder("variables"), &bad);
    let listed: Vec<&String> = problems.iter().filter(|line| line.starts_with("JIT_")).collect();
    assert_eq!(listed.len(), 3, "{problems:?}");
    assert!(listed[0].starts_with("JIT_DEVISE") && listed[0].contains("did you mean JIT_DEVICE?"), "{listed:?}");
    assert!(listed[1].contains("JIT_THREADS is set to `many`; it takes a number from 1 to 1024"), "{listed:?}");
    assert!(listed[2].contains("did you mean `thorough` instead of `thorogh`?"), "{listed:?}");
}

#[test]
fn a_folder_that_cannot_be_used_is_a_problem_if_it_is_wanted() {
    let file = folder("a-file");
    fs::write(&file, "not a folder").unwrap();
    let below = file.join("below");
    let found = problems(&below, &[("JIT_LOG", "off")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("folder: the folder {} cannot be used", below.display())), "{found:?}");
    assert!(found[0].contains("set JIT_CACHE_DIR to a folder that you can write, or JIT_CACHE=memory"), "{found:?}");
    assert!(problems(&below, &[("JIT_CACHE", "memory")]).is_empty());

    let open = folder("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
    let found = problems(&open, &[("JIT_LOG", "off")]);
    assert!(found[0].contains("can be written by other users") && found[0].contains("chmod go-w"), "{found:?}");

    let shared = folder("no-such-folder");
    let found = problems(&folder("own"), &[("JIT_CACHE_SHARED_DIR", shared.to_str().unwrap())]);
    assert!(found[0].starts_with("shared folder: ") && found[0].contains("cannot be used"), "{found:?}");
}

#[test]
fn more_threads_than_processors_are_noted() {
    let report = shared::run(&folder("threads"), &["doctor", "--json"], &[("JIT_THREADS", "1024")]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let notes = with(&report, "note").join("\n");
    assert!(notes.contains("threads: 1024, on ") && notes.contains("unset JIT_THREADS"), "{notes}");
}
