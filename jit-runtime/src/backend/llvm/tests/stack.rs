//! Kernels with so many values at a time that their frame exceeds the stack of a thread.

use super::*;
use crate::ir::{Access, BinaryOp, Builder, Kernel, Type, UnaryOp};

/// A chain of roots, and their differences, the last one first: all are needed at a time.
fn there_and_back(length: usize) -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.buffer(Type::F32, Access::Read), b.buffer(Type::F32, Access::Write));
    let start = b.load(x);
    let mut chain = vec![start];
    for _ in 0..length {
        let root = b.unary(UnaryOp::Sqrt, chain[chain.len() - 1]);
        chain.push(b.binary(BinaryOp::Add, root, start));
    }
    let result = chain.into_iter().rev().reduce(|sum, value| b.binary(BinaryOp::Sub, value, sum)).unwrap();
    b.store(y, result);
    b.finish()
}

/// 64 lanes, and what code may read behind them.
#[repr(align(64))]
struct Lanes([f32; 80]);

fn results(code: &dyn Executable) -> Vec<f32> {
    let (mut x, mut y) = (Lanes(std::array::from_fn(|lane| lane as f32 * 0.1)), Lanes([0.0; 80]));
    let arguments = [&mut x, &mut y].map(|lanes| RawArgument { word: lanes.0.as_mut_ptr() as u64, length: 64 });
    // SAFETY: the kernel reads and writes one buffer each, of this type and as many elements.
    unsafe { code.run(0..64, &arguments) };
    y.0[..64].to_vec()
}

#[test]
fn values_that_exceed_the_stack_of_a_thread_have_one_of_their_own() {
    let Some(target) = targets().into_iter().next() else { return };
    let kernel = there_and_back(20_000);
    let compiled = compile_for(&kernel, CodeOptions::default(), &target).unwrap();
    // SAFETY: these are the bytes of an object file for this processor.
    let loaded = unsafe { MachineCode::load(compiled.object()) }.unwrap();
    let expected = results(&crate::backend::interpreter::prepare(kernel));
    for code in [compiled, loaded] {
        assert!(code.loaded.frame_bytes() > 20_000 * 4, "{} bytes", code.loaded.frame_bytes());
        let run = || assert_eq!(results(&code), expected);
        std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(64 << 10);
            small.spawn_scoped(scope, run).unwrap().join().unwrap();
        });
    }
}

#[test]
fn code_with_a_small_frame_runs_on_any_thread() {
    for target in targets() {
        let code = compile_for(&there_and_back(200), CodeOptions::default(), &target).unwrap();
        assert_eq!(code.loaded.frame_bytes(), 0);
    }
}
