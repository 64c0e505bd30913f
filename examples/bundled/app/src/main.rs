//! Calls functions that were compiled when this program was built. It contains no compiler, and needs none.

use jit::prelude::*;

jit::include_bundle!(kernels);

fn run() -> Result<(), jit::Error> {
    for width in [12, 1000, 100_000] {
        let mut picture = Float::from((0..width).map(|lane| lane as f32 / width as f32).collect::<Vec<_>>());
        kernels::smooth(&mut picture)?;
        let brighter = kernels::expose(&picture, 0.5)?;
        let counts = kernels::histogram(&brighter)?.to_vec()?;
        println!("{width} pixels: {counts:?} in the four intervals");
        assert_eq!(counts.iter().sum::<u32>(), width, "each pixel is counted once");
    }
    let stats = jit::stats();
    println!("{} traces, {} kernels compiled, LLVM loaded {} times", stats.traces, stats.compiles, stats.llvm_loads);
    assert_eq!((stats.traces, stats.compiles, stats.llvm_loads), (0, 0, 0));
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
