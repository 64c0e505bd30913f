//! Hot kernels get better code, depending on `JIT_TIER`; each setting in a separate process.

use std::process::Command;

use jit::prelude::*;

/// The number of calls that make the kernel hot many times over.
const ENOUGH: usize = 3_000;
/// The number of calls after which better code is available, or never will be.
const MOST: usize = 300_000;

#[jit]
fn waves(x: &Float) -> Float {
    (0..12).fold(x.clone(), |y, step| (y.mul_add(x, 0.1 * step as f32)).sqrt())
}

fn is_improved() -> bool {
    jit::cache::entries().iter().any(|entry| entry.label == "waves" && entry.is_improved)
}

#[test]
#[ignore = "run by the other test in separate processes"]
fn run_much() {
    let x = Float::linspace(0.5, 2.0, 1 << 14);
    jit::eval(&x).unwrap();
    let first = waves(&x).to_vec().unwrap();
    assert_eq!(first, waves(&x.to(Device::Interpreter).unwrap()).to_vec().unwrap());
    let is_auto = std::env::var("JIT_TIER").unwrap() == "auto";
    let mut calls = 0;
    while calls < ENOUGH || (is_auto && !is_improved() && calls < MOST) {
        jit::eval(&waves(&x)).unwrap();
        jit::sync().unwrap();
        calls += 1;
    }
    assert_eq!(waves(&x).to_vec().unwrap(), first);
    println!("improved: {}, recompiles: {}", is_improved(), jit::stats().recompiles);
    // Ends while another kernel is about to be compiled, or is being compiled.
    (0..ENOUGH).for_each(|_| jit::eval(&(waves(&x) * 0.5)).unwrap());
}

#[test]
fn kernels_that_run_much_get_better_code_if_that_is_wanted() {
    let _turn = crate::one_at_a_time();
    jit::eval(&waves(&Float::opaque(1.0))).unwrap();
    if !crate::tested_devices::has_llvm() {
        return;
    }
    for (tier, wanted) in [
        ("auto", "improved: true, recompiles: 1"),
        ("quick", "improved: false, recompiles: 0"),
        ("thorough", "improved: false, recompiles: 0"),
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["tiers::run_much", "--exact", "--ignored", "--nocapture"]).env("JIT_TIER", tier);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{tier}: {:?} {text}", output.status);
        assert!(text.contains(wanted), "{tier}: {text}");
    }
}
