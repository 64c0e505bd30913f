//! Entries of GPUs: of a driver for tests, and where there is none.
#![cfg(feature = "cuda")]

use std::path::{Path, PathBuf};

// Its shared library is built because it is linked here.
use fake_cuda as _;
use jit_runtime::ir::Type;
use jit_runtime::launch::native::{self, Call, Operand};
use serde_json::Value;

use super::*;

/// Launches a kernel of a program and one of a library call.
#[test]
#[ignore = "run by the other tests in separate processes"]
fn child_on_a_gpu() {
    child();
    let output = Operand::alloc(Type::U32, 1000).unwrap();
    let (call, outputs) = (Call::Fill(7), vec![output.clone()]);
    native::launch(native::Launch { device: current_device(), call, inputs: Vec::new(), outputs, site: None }).unwrap();
    let mut bytes = [0; 4];
    output.buffer.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [7, 0, 0, 0]);
}

fn driver() -> String {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    folder.join("libfake_cuda.so").to_str().unwrap().to_owned()
}

/// A folder with the code of two kernels: that of a program first.
fn filled_by_a_gpu(name: &str) -> (PathBuf, [PathBuf; 2]) {
    let cache = folder(name);
    let mut command = Command::new(std::env::current_exe().unwrap());
    shared::clean(&mut command);
    command.args(["gpus::child_on_a_gpu", "--exact", "--ignored"]).env("JIT_CACHE_DIR", &cache).env("OPS", "10");
    let output = command.env("JIT_DEVICE", "cuda").env("JIT_TEST_CUDA_DRIVER", driver()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let [first, second] = entries(&cache).try_into().unwrap();
    let is_fill = list(&cache, &["ls"]).iter().any(|entry| entry["label"] == "fill" && is_entry(entry, &first));
    (cache, if is_fill { [second, first] } else { [first, second] })
}

fn is_entry(entry: &Value, path: &Path) -> bool {
    entry["hash"].as_str() == Some(&hash_of(path))
}

#[test]
fn entries_of_gpus_are_listed_and_shown() {
    let (cache, [kernel, fill]) = filled_by_a_gpu("gpu-show");
    let listed = shared::text(&cache, &["cache", "ls"], &[], 0);
    for (label, path) in [("short", &kernel), ("fill", &fill)] {
        let line = listed.lines().find(|line| line.starts_with(&hash_of(path)[..12])).unwrap();
        assert!(line.contains(label) && line.contains("sm_90"), "{listed}");
    }
    let shown = shared::text(&cache, &["cache", "show", &hash_of(&kernel)], &[], 0);
    assert!(shown.contains("kernel(") && shown.contains("CUDA 12.4"), "the kernel IR and the driver: {shown}");
    assert!(shown.contains("the code cannot be shown: it is code of a GPU; `nvdisasm`"), "{shown}");
    let shown = shared::text(&cache, &["cache", "show", &hash_of(&fill)], &[], 0);
    assert!(shown.contains("routine Fill") && shown.contains("kernels of library calls have no kernel IR"), "{shown}");
}

#[test]
fn code_of_gpus_is_compiled_again_where_there_is_one() {
    let (cache, [kernel, fill]) = filled_by_a_gpu("gpu-verify");
    let driver = driver();
    let gpu = ("JIT_TEST_CUDA_DRIVER", driver.as_str());
    let verify = ["cache", "verify", "--compile"];
    let verified = shared::text(&cache, &verify, &[gpu], 0);
    assert!(verified.contains("compiled again: 2 with the same code, 0 with other code, 0 not"), "{verified}");
    // Without a GPU, or with another driver, other code would be made.
    let elsewhere = shared::text(&cache, &verify, &[gpu, ("FAKE_CUDA_FAIL", "no-device")], 0);
    assert!(
        elsewhere.contains("0 with other code, 2 not") && elsewhere.contains("no GPU is found here"),
        "{elsewhere}"
    );
    let elsewhere = shared::text(&cache, &verify, &[gpu, ("FAKE_CUDA_DRIVER", "12030")], 0);
    assert!(elsewhere.contains("0 with other code, 2 not") && elsewhere.contains("CUDA 12.3"), "{elsewhere}");
    // Code that is not what compiling makes is found, for kernels of library calls, too.
    for path in [kernel, fill] {
        forge(&path, str::to_owned, |object| *object.last_mut().unwrap() ^= 1);
    }
    let verified = shared::text(&cache, &verify, &[gpu], 1);
    assert!(verified.contains("compiled again: 0 with the same code, 2 with other code, 0 not"), "{verified}");
}

#[test]
fn why_says_which_gpu_the_code_is_for() {
    let (cache, [_, fill]) = filled_by_a_gpu("gpu-why");
    let driver = driver();
    let gpu = ("JIT_TEST_CUDA_DRIVER", driver.as_str());
    let why = |variables: &[(&str, &str)]| {
        let answers = json(&cache, &["cache", "why", &hash_of(&fill)], variables, 0);
        answers["entries"][0].clone()
    };
    assert_eq!(why(&[gpu])["found"], true);
    let missing = why(&[gpu, ("FAKE_CUDA_FAIL", "no-device")]);
    assert_eq!((&missing["found"], missing["reasons"][0]["part"].as_str()), (&Value::Bool(false), Some("processor")));
    let other = why(&[gpu, ("FAKE_CUDA_DRIVER", "12030")]);
    assert_eq!(other["reasons"][0]["part"], "driver");
}
