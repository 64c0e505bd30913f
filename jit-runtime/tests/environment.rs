//! Settings from the environment, each in a separate process.

use std::path::PathBuf;
use std::process::{Command, Output};

use jit_runtime::device::current_device;
use jit_runtime::ir::{Access, Builder, Type};
use jit_runtime::launch::{Argument, Launch, launch, threads};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, cache, config};

/// Runs [`launches_twice`] in a process with these variables.
fn run_child(variables: &[(&str, &str)]) -> Output {
    run_test("launches_twice", variables)
}

/// Runs a test of this file in a process with these variables.
fn run_test(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a process knows its program"));
    for variable in config::VARIABLES.iter().filter(|variable| variable.name != "JIT_LLVM_PATH") {
        command.env_remove(variable.name);
    }
    command.env("JIT_CACHE", "memory");
    command.args([name, "--exact", "--ignored", "--nocapture"]).envs(variables.iter().copied());
    command.output().expect("the program that runs can be run")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
#[ignore = "run by the other tests in separate processes"]
fn launches_twice() {
    for value in [1, 2] {
        if let Err(error) = launch_constant(value) {
            println!("error: {error}");
            return;
        }
    }
    println!("device {}, {} threads, {} kernels", current_device(), threads(), cache::entries().len());
}

fn launch_constant(value: u64) -> Result<(), Error> {
    let mut builder = Builder::new();
    let output = builder.buffer(Type::U32, Access::Write);
    let constant = builder.constant(Type::U32, value);
    builder.store(output, constant);
    let buffer = Buffer::alloc(400)?;
    let arguments = vec![Argument::Buffer(buffer.clone(), 100)];
    let (device, kernel) = (current_device(), builder.finish());
    launch(Launch { device, kernel, width: 100, reduce_block: None, arguments, label: "constant".into(), site: None })?;
    let mut bytes = [0; 4];
    buffer.read(396, &mut bytes)?;
    assert_eq!(u64::from(u32::from_le_bytes(bytes)), value);
    Ok(())
}

// one device: each child has its own
// rows: K125
#[test]
fn settings_reach_what_they_set() {
    let output = run_child(&[("JIT_DEVICE", "interpreter"), ("JIT_THREADS", "3")]);
    assert!(text(&output).contains("device interpreter, 3 threads, 2 kernels"), "{}", text(&output));
    let output = run_child(&[("JIT_CACHE_MEM_MAX", "1"), ("JIT_DEVICE", "llvm")]);
    assert!(text(&output).contains("device cpu"), "{}", text(&output));
    assert!(text(&output).contains("1 kernels"), "{}", text(&output));
    let output = run_child(&[("JIT_CACHE", "off")]);
    assert!(text(&output).contains("0 kernels"), "{}", text(&output));
}

#[test]
fn the_first_launch_rejects_a_bad_value_and_suggests_the_intended_one() {
    let output = text(&run_child(&[("JIT_DEVICE", "interpeter")]));
    assert!(
        output.contains("JIT_DEVICE is set to `interpeter`; it takes `cpu` (or `llvm`), `interpreter`, or `cuda:0`"),
        "{output}"
    );
    assert!(output.contains("did you mean `interpreter`"), "{output}");
}

#[test]
fn a_misspelled_variable_is_mentioned_once() {
    let output = text(&run_child(&[("JIT_THREAD", "3")]));
    assert_eq!(output.matches("JIT_THREAD has no effect; did you mean JIT_THREADS?").count(), 1, "{output}");
}

// one device: each child has its own
// rows: K174
#[test]
fn a_variable_that_another_rules_out_is_mentioned_once() {
    let output = text(&run_child(&[("JIT_DUMP_DIR", "/nonexistent")]));
    assert_eq!(
        output.matches("JIT_DUMP_DIR has no effect: nothing is to be dumped; set JIT_DUMP").count(),
        1,
        "{output}"
    );
    let output = text(&run_child(&[("JIT_CACHE_VERIFY", "1")]));
    assert!(output.contains("JIT_CACHE_VERIFY has no effect"), "{output}");
}

// rows: K173
// one device: each child has its own
#[test]
fn dumps_are_written_where_they_are_wanted() {
    let output = text(&run_child(&[("JIT_DUMP", "ir")]));
    assert_eq!(output.matches("---- ir of constant-").count(), 2, "{output}");

    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dumps");
    let _ = std::fs::remove_dir_all(&folder);
    let output = run_child(&[("JIT_DUMP", "ir"), ("JIT_DUMP_DIR", folder.to_str().unwrap())]);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{}", text(&output));
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("// as scheduled") && text.contains("store p0"), "{text}");
    }
}

#[test]
#[ignore = "run by the next test in a separate process"]
fn prints_its_map_of_code() {
    launch_constant(3).unwrap();
    let path = format!("/tmp/perf-{}.map", std::process::id());
    match std::fs::read_to_string(&path) {
        Ok(map) => print!("map: {map}"),
        Err(error) => println!("no map: {error}"),
    }
    println!("kernel {:016x}", cache::entries()[0].hash);
    let _ = std::fs::remove_file(path);
}

// one device: only code of the processor is named
// rows: K176
#[test]
#[cfg(all(feature = "llvm", target_os = "linux"))]
fn profilers_find_the_names_of_kernels() {
    let output = text(&run_test("prints_its_map_of_code", &[("JIT_PERF_MAP", "yes"), ("JIT_DEVICE", "cpu")]));
    let map = output.lines().find_map(|line| line.strip_prefix("map: ")).unwrap_or_else(|| panic!("{output}"));
    let hash = output.lines().find_map(|line| line.strip_prefix("kernel ")).expect("the kernel is cached");
    let [start, size, name] = map.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{map}") };
    let number = |digits: &str| u64::from_str_radix(digits, 16).expect("a hexadecimal number");
    assert!(number(start) > 0 && (1..1 << 20).contains(&number(size)), "{map}");
    assert_eq!(name, format!("constant ({hash})"));
    assert!(text(&run_test("prints_its_map_of_code", &[("JIT_DEVICE", "cpu")])).contains("no map"));
}

#[test]
fn messages_follow_the_level() {
    let output = text(&run_child(&[("JIT_LOG", "info")]));
    assert_eq!(output.matches("jit: info: compiled `constant`").count(), 2, "{output}");
    assert!(!text(&run_child(&[])).contains("compiled `constant`"));
}

#[test]
#[cfg(all(feature = "llvm", not(feature = "llvm-static"), target_os = "linux"))]
fn without_llvm_kernels_are_interpreted_after_one_warning() {
    let output = text(&run_child(&[("JIT_LLVM_PATH", "/there/is/no/such/folder")]));
    assert!(output.contains("device cpu") && output.contains("2 kernels"), "{output}");
    assert_eq!(output.matches("kernels are interpreted, which is slow").count(), 1, "{output}");
    assert!(output.contains("help: ") && output.contains("JIT_LLVM_PATH"), "the remedy is missing: {output}");
}
