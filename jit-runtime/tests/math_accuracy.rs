//! The error of the transcendental functions over every `f32`, as it stands in the documentation of `ir::math`.
//!
//! Run by `cargo test --release -p jit-runtime --test math_accuracy -- --ignored`; with LLVM it takes minutes. What it
//! measures is compiled code; that it has the bits of the scalar evaluation is tested elsewhere.

use jit_runtime::backend::{CodeOptions, Executable, RawArgument, interpreter};
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, Type, UnaryOp, passes};

/// Arguments that are computed at once.
const BLOCK: u64 = 1 << 16;

/// Their results, aligned as all buffers are, and padded.
#[repr(align(64))]
struct Results([f32; BLOCK as usize + 64]);

/// A kernel that applies a function to the floats whose bits are the lane index plus a scalar.
fn kernel(op: UnaryOp) -> Kernel {
    let mut builder = Builder::new();
    let (target, first) = (builder.buffer(Type::F32, Access::Write), builder.scalar_param(Type::U32));
    let (lane, first) = (builder.lane_index(), builder.scalar(first));
    let bits = builder.binary(BinaryOp::Add, lane, first);
    let x = builder.bitcast(Type::F32, bits);
    let result = builder.unary(op, x);
    builder.store(target, result);
    let mut kernel = builder.finish();
    passes::optimise(&mut kernel);
    kernel
}

#[cfg(feature = "llvm")]
fn executable(kernel: Kernel) -> Box<dyn Executable> {
    match jit_runtime::backend::llvm::compile(&kernel, CodeOptions::default()) {
        Ok(executable) => Box::new(executable),
        Err(_) => Box::new(interpreter::prepare(kernel)),
    }
}

#[cfg(not(feature = "llvm"))]
fn executable(kernel: Kernel) -> Box<dyn Executable> {
    let _ = CodeOptions::default();
    Box::new(interpreter::prepare(kernel))
}

/// The distance from an exact result, in units in the last place of the latter.
fn error_in_ulp(result: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if result == rounded || exact.is_nan() && result.is_nan() {
        return if rounded.is_finite() { (f64::from(result) - exact).abs() / unit(exact) } else { 0.0 };
    }
    // An infinity, or a NaN, on one side only is off by this much, which no bound allows.
    if !rounded.is_finite() || !result.is_finite() { 1e9 } else { (f64::from(result) - exact).abs() / unit(exact) }
}

/// The unit in the last place of an `f32` of this size.
fn unit(exact: f64) -> f64 {
    let exponent = exact.abs().max(f32::MIN_POSITIVE.into()).to_bits() >> 52;
    f64::from_bits((exponent - 23) << 52)
}

/// The largest error over a range of bit patterns, and its argument.
fn largest_error(op: UnaryOp, reference: fn(f64) -> f64, patterns: std::ops::Range<u64>) -> (f64, f32) {
    let executable = executable(kernel(op));
    let mut results = Box::new(Results([0.0; BLOCK as usize + 64]));
    let mut worst = (0.0, 0.0);
    for first in patterns.step_by(BLOCK as usize) {
        let target = RawArgument { word: results.0.as_mut_ptr() as u64, length: BLOCK };
        // SAFETY: the target holds one float for each lane, and the kernel reads no memory.
        unsafe { executable.run(0..BLOCK, &[target, RawArgument { word: first, length: 0 }]) };
        for (offset, &result) in results.0[..BLOCK as usize].iter().enumerate() {
            let x = f32::from_bits(first as u32 + offset as u32);
            let error = error_in_ulp(result, reference(x.into()));
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    worst
}

/// Looks at each argument, on two threads.
fn check(op: UnaryOp, reference: fn(f64) -> f64, allowed: f64) {
    let half = 1u64 << 31;
    let (positive, negative) = std::thread::scope(|scope| {
        let positive = scope.spawn(|| largest_error(op, reference, 0..half));
        (largest_error(op, reference, half..2 * half), positive.join().expect("the other half is measured"))
    });
    let (error, x) = if positive.0 > negative.0 { positive } else { negative };
    eprintln!("{op:?}: {error:.4} ulp at {x:e}");
    assert!(error <= allowed, "{op:?}({x:e}) is off by {error} ulp");
}

#[test]
#[ignore = "2^32 arguments"]
fn exp() {
    check(UnaryOp::Exp, f64::exp, 0.87);
}

#[test]
#[ignore = "2^32 arguments"]
fn exp2() {
    check(UnaryOp::Exp2, f64::exp2, 0.88);
}

#[test]
#[ignore = "2^32 arguments"]
fn ln() {
    check(UnaryOp::Ln, f64::ln, 0.86);
}

#[test]
#[ignore = "2^32 arguments"]
fn log2() {
    check(UnaryOp::Log2, f64::log2, 0.94);
}

#[test]
#[ignore = "2^32 arguments"]
fn sin() {
    check(UnaryOp::Sin, f64::sin, 1.5);
}

#[test]
#[ignore = "2^32 arguments"]
fn cos() {
    check(UnaryOp::Cos, f64::cos, 1.5);
}
