//! The overhead of a launch besides the work itself: allocation, lookup, launches on the calling thread, queued
//! launches.
//!
//! `cargo bench -p jit-runtime --bench machine [PART]` prints the median of several rounds for each, in nanoseconds.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use jit_runtime::Error;
use jit_runtime::device::Device;
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, ReduceOp, Type};
use jit_runtime::launch::{Argument, Launch, launch, set_threads, sync, threads};
use jit_runtime::memory::Buffer;

const ROUNDS: usize = 15;

fn main() -> Result<(), Error> {
    // Runs a single part if its name is passed.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    type Part = fn() -> Result<(), Error>;
    let parts: [(&str, Part); 6] = [
        ("overheads", overheads),
        ("queued", queued),
        ("chains", chains),
        ("reductions", reductions),
        ("histograms", histograms),
        ("streams", streams),
    ];
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    parts.iter().filter(|(name, _)| is_wanted(name)).try_for_each(|(_, part)| part())
}

/// Allocation and launches on the calling thread.
fn overheads() -> Result<(), Error> {
    report("allocate and free 4 KiB", 20_000, || {
        black_box(Buffer::alloc(4096)?);
        Ok(())
    })?;
    for ops in [5, 50, 500] {
        let kernel = kernel(ops);
        report(&format!("clone a kernel of {ops} ops"), 2_000, || {
            black_box(kernel.clone());
            Ok(())
        })?;
        let arguments = arguments(16)?;
        report(&format!("clone and launch {ops} ops, width 0"), 2_000, || run(&kernel, 0, &arguments))?;
        report(&format!("clone and launch {ops} ops, width 16"), 2_000, || run(&kernel, 16, &arguments))?;
    }
    Ok(())
}

/// Counting stored indices, as rows W07a and W07b of the benchmark do, and sums of floats.
fn histograms() -> Result<(), Error> {
    const WIDTH: usize = 1 << 24;
    let all = threads();
    for log2 in [8, 12, 16, 20] {
        let indices: Vec<u8> = (0..WIDTH as u32).flat_map(|lane| (hash(lane) >> (32 - log2)).to_le_bytes()).collect();
        for ty in [Type::U32, Type::F32] {
            let mut builder = Builder::new();
            let (input, output) = (builder.buffer(Type::U32, Access::Read), builder.buffer(ty, Access::ReadWrite));
            let index = builder.load(input);
            let one = builder.constant(ty, if ty == Type::U32 { 1 } else { u64::from(1f32.to_bits()) });
            builder.scatter(Some(ReduceOp::Add), output, index, one, None);
            let kernel = builder.finish();
            let bins = Buffer::from_bytes(&vec![0; 4 << log2])?;
            let arguments = [Argument::Buffer(Buffer::from_bytes(&indices)?, WIDTH), Argument::Buffer(bins, 1 << log2)];
            for threads in [1, all] {
                set_threads(threads);
                report(&format!("{threads} threads: histogram of 2^24, 2^{log2} {ty} bins"), 1, || {
                    run(&kernel, WIDTH, &arguments)?;
                    sync()
                })?;
            }
        }
    }
    Ok(())
}

/// Hash of an integer (Wellons, "Prospecting for hash functions", lowbias32).
fn hash(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Sums of many floats.
fn reductions() -> Result<(), Error> {
    let mut builder = Builder::new();
    let (input, output) = (builder.buffer(Type::F32, Access::Read), builder.buffer(Type::F32, Access::Reduce));
    let x = builder.load(input);
    builder.reduce(ReduceOp::Add, output, x);
    let kernel = builder.finish();
    for log2 in [10, 14, 16, 20, 24] {
        let width = 1 << log2;
        let arguments = arguments(width)?;
        report(&format!("sum of 2^{log2} floats"), ((1 << 24) / width).clamp(4, 500), || {
            run(&kernel, width, &arguments)?;
            sync()
        })?;
    }
    Ok(())
}

/// Launches each of which reads the result of the one before, and one wait at the end.
fn chains() -> Result<(), Error> {
    let all = threads();
    for log2 in [10, 16, 17, 18, 19] {
        let width = 1 << log2;
        let (kernel, arguments) = (kernel(4), arguments(width)?);
        let back: Vec<Argument> = arguments.iter().rev().cloned().collect();
        for threads in [1, all] {
            set_threads(threads);
            report(&format!("{threads} threads: chain of 100 launches of 2^{log2}"), 1, || {
                for _ in 0..50 {
                    run(&kernel, width, &arguments)?;
                    run(&kernel, width, &back)?;
                }
                sync()
            })?;
        }
    }
    Ok(())
}

/// Kernels that only move data, on one thread and on all.
fn streams() -> Result<(), Error> {
    let all = threads();
    for log2 in [16, 18, 20, 21, 22, 23, 24, 25] {
        let width = 1 << log2;
        let (kernel, arguments) = (kernel(4), arguments(width)?);
        let back: Vec<Argument> = arguments.iter().rev().cloned().collect();
        for threads in [1, all] {
            set_threads(threads);
            let repetitions = ((1 << 26) / width).clamp(2, 200);
            report(&format!("{threads} threads: 2^{log2} floats in and out"), repetitions, || {
                run(&kernel, width, &arguments)?;
                sync()
            })?;
            report(&format!("{threads} threads: 2^{log2} floats there and back"), repetitions, || {
                run(&kernel, width, &arguments)?;
                run(&kernel, width, &back)?;
                sync()
            })?;
        }
    }
    Ok(())
}

/// Launches that are queued, each depending on the one before.
fn queued() -> Result<(), Error> {
    let kernel = kernel(5);
    let arguments = arguments(1 << 20)?;
    run(&kernel, 1 << 20, &arguments)?;
    sync()?;
    report("queue a launch of 2^20 lanes", 20, || run(&kernel, 1 << 20, &arguments))?;
    report("queue a launch of 2^20 lanes and wait", 20, || {
        run(&kernel, 1 << 20, &arguments)?;
        sync()
    })
}

fn run(kernel: &Kernel, width: usize, arguments: &[Argument]) -> Result<(), Error> {
    let arguments = arguments.to_vec();
    launch(Launch {
        device: Device::Cpu,
        kernel: kernel.clone(),
        width,
        reduce_block: None,
        arguments,
        label: "bench".into(),
        site: None,
    })
}

/// A chain of additions and multiplications.
fn kernel(ops: usize) -> Kernel {
    let mut builder = Builder::new();
    let (input, output) = (builder.buffer(Type::F32, Access::Read), builder.buffer(Type::F32, Access::Write));
    let x = builder.load(input);
    let mut value = x;
    for index in 0..ops.saturating_sub(2) {
        let op = if index % 2 == 0 { BinaryOp::Add } else { BinaryOp::Mul };
        value = builder.binary(op, value, x);
    }
    builder.store(output, value);
    builder.finish()
}

fn arguments(width: usize) -> Result<Vec<Argument>, Error> {
    let buffer =
        || -> Result<Argument, Error> { Ok(Argument::Buffer(Buffer::from_bytes(&vec![0; 4 * width])?, width)) };
    Ok(vec![buffer()?, buffer()?])
}

fn report(what: &str, repetitions: usize, mut body: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..repetitions {
            body()?;
        }
        times.push(start.elapsed().as_nanos() as f64 / repetitions as f64);
        sync()?;
    }
    times.sort_by(f64::total_cmp);
    let _ = writeln!(std::io::stdout(), "{what:<45} {:>10.1} ns  (best {:.1})", times[ROUNDS / 2], times[0]);
    Ok(())
}
