//! What names a kernel: neither names and lines of the program, nor the thread, the process or the order in which it is
//! traced.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use jit::prelude::*;

use crate::{count, on_each_device};

#[jit]
fn blend(x: &Float, y: &Float) -> Float {
    (x * 0.25 + y * 0.75).sqrt()
}

#[jit]
fn mix_of_two(first: &Float, second: &Float) -> Float {
    // Other names and lines, and the same operations.
    let quarter = first * 0.25;
    let rest = second * 0.75;
    (quarter + rest).sqrt()
}

#[jit]
fn waves(x: &Float) -> Float {
    (0..60).fold(x.clone(), |y, step| (y.mul_add(x, 0.1 * step as f32)).sin())
}

#[jit]
fn longest(x: &Float) -> UInt {
    let (mut y, mut n) = (x.clone(), UInt::from(0));
    while y < 100.0 && n < 50 {
        y = &y * &y + 0.5;
        n += 1;
    }
    n
}

// rows: K179 N09 P23
#[test]
fn other_names_and_lines_find_the_same_kernel() {
    on_each_device(|| {
        jit::cache::clear();
        let (x, y) = (Float::from([1.0, 5.0]), Float::from([1.0, 9.0]));
        jit::eval(&(&x, &y)).unwrap();
        let first = count(|| assert_eq!(blend(&x, &y).to_vec().unwrap()[0], 1.0));
        let second = count(|| assert_eq!(mix_of_two(&x, &y).to_vec().unwrap()[0], 1.0));
        assert_eq!(((first.compiles, first.hits), (second.compiles, second.hits)), ((1, 0), (0, 1)));
    });
}

#[test]
#[ignore = "run by the next test in separate processes"]
fn trace_and_run() {
    let order = std::env::var("ORDER").unwrap();
    let run = move || {
        let x = Float::from((0..1000).map(|lane| 0.5 + lane as f32 / 700.0).collect::<Vec<_>>());
        for name in order.split(',') {
            match name {
                "waves" => drop(waves(&x).to_vec().unwrap()),
                "longest" => drop(longest(&x).to_vec().unwrap()),
                _ => drop(jit::eval(&(Float::arange(100) + 1.0).sin())),
            }
        }
    };
    if std::env::var_os("ANOTHER").is_some() {
        std::thread::Builder::new().name("another".into()).spawn(run).unwrap().join().unwrap();
    } else {
        run();
    }
}

/// The names of the kernels that a process leaves on disk: digests of their keys.
fn stored(name: &str, variables: &[(&str, &str)]) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keys").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["keys::trace_and_run", "--exact", "--ignored"]).env("JIT_CACHE", "on").env("JIT_CACHE_DIR", &folder);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.filter(|name| name.len() == 64).collect()
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N09
#[test]
fn threads_processes_and_orders_have_equal_keys() {
    if !crate::tested_devices::has_llvm() {
        return;
    }
    let first = stored("first", &[("ORDER", "waves,longest")]);
    assert_eq!(first.len(), 2);
    assert_eq!(stored("again", &[("ORDER", "waves,longest")]), first);
    assert_eq!(stored("thread", &[("ORDER", "longest,waves"), ("ANOTHER", "1"), ("JIT_THREADS", "7")]), first);
    assert!(stored("more", &[("ORDER", "other,longest,waves"), ("JIT_LOG", "debug")]).is_superset(&first));
}
