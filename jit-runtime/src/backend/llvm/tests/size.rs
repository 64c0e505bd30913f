//! Large kernels.

use std::time::Instant;

use super::super::{Target, compile, compiler};
use crate::backend::{CodeOptions, Effort, Executable, RawArgument, interpreter};
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Kernel, Type};
use crate::memory::Buffer;

/// A long list of operations on some values, perhaps in a loop.
fn long(ops: usize, is_loop: bool) -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.buffer(Type::F32, Access::Read), b.buffer(Type::F32, Access::Write));
    let start = b.load(x);
    let body = |b: &mut Builder, first: crate::ir::Value| {
        let mut values = [first; 8];
        for step in 0..ops {
            let op = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub][step % 3];
            let value = b.binary(op, values[step % 8], values[(step * 5 + 3) % 8]);
            values[(step * 3 + 1) % 8] = value;
        }
        values[1..].iter().fold(values[0], |sum, &value| b.binary(BinaryOp::Add, sum, value))
    };
    if !is_loop {
        let result = body(&mut b, start);
        b.store(y, result);
        return b.finish();
    }
    let zero = b.constant(Type::U32, 0);
    let (condition, state) = b.open_region(&[Type::U32, Type::F32]);
    let limit = b.constant(Type::F32, f32::to_bits(1e9).into());
    let continues = b.compare(CompareOp::Lt, state[1], limit);
    b.close_region(vec![continues]);
    let (inside, _) = b.open_region(&[]);
    let one = b.constant(Type::U32, 1);
    let count = b.binary(BinaryOp::Add, state[0], one);
    let next = body(&mut b, state[1]);
    b.close_region(vec![count, next]);
    let results = b.loop_(vec![zero, start], condition, inside);
    b.store(y, results[1]);
    b.finish()
}

#[test]
fn large_kernels_get_the_code_generator_whose_time_grows_as_they_do() {
    let target = Target::host().unwrap();
    for effort in [Effort::Quick, Effort::Thorough] {
        let options = CodeOptions { effort, ..CodeOptions::default() };
        let is_optimised = |ops| compiler::is_optimised(&long(ops, true), options, target);
        assert_eq!([100, 4000, 16_000].map(is_optimised), [true, true, false], "{effort:?}");
    }
}

#[test]
fn a_large_loop_gives_what_the_interpreter_gives() {
    let kernel = long(9000, true);
    let executables: [Box<dyn Executable>; 2] =
        [Box::new(compile(&kernel, CodeOptions::default()).unwrap()), Box::new(interpreter::prepare(kernel.clone()))];
    let results = executables.map(|executable| {
        let x: Vec<f32> = (0..37).map(|lane| 1.0 + lane as f32 / 8.0).collect();
        let x = Buffer::from_bytes(bytemuck::cast_slice(&x)).unwrap();
        let y = Buffer::alloc(37 * 4).unwrap();
        let arguments = [&x, &y].map(|buffer| RawArgument { word: buffer.address(), length: 37 });
        // SAFETY: the buffers are as long as the range, and are not shared.
        unsafe { executable.run(0..37, &arguments) };
        y.bytes().unwrap().to_vec()
    });
    assert_eq!(results[0], results[1]);
}

/// `cargo test -p jit-runtime --lib size -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn times_to_compile() {
    for is_loop in [false, true] {
        for ops in [1000, 4000, 16_000, 100_000] {
            let kernel = long(ops, is_loop);
            let started = Instant::now();
            crate::ir::verify(&kernel).unwrap();
            let verified = started.elapsed();
            let mut optimised = kernel.clone();
            let started = Instant::now();
            crate::ir::passes::optimise(&mut optimised);
            let passes = started.elapsed();
            let started = Instant::now();
            compile(&optimised, CodeOptions::default()).unwrap();
            println!("loop {is_loop} {ops}: verify {verified:?} passes {passes:?} llvm {:?}", started.elapsed());
        }
    }
}
