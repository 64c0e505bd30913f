//! The lines of the program in the code that `JIT_DUMP=ptx` shows.

use jit::prelude::*;

use super::alone;

/// The line of the function's first statement.
const FUNCTION: u32 = line!() + 4;

#[jit]
fn halve_and_count(mut x: UInt, counts: &mut UInt) -> UInt {
    while x > 1 {
        x /= 2;
        if x == 3 {
            jit::print!("three");
        }
    }
    counts[x.clone()] += 1;
    x
}

const FIRST_MAP: u32 = line!() + 3;

fn first_map() -> Float {
    Float::arange(100) * 0.5 + 3.25
}

const SECOND_MAP: u32 = line!() + 3;

fn second_map() -> Float {
    Float::arange(100) * 0.5 + 3.25
}

fn work() {
    let mut counts = UInt::zeros(4);
    halve_and_count(UInt::arange(20), &mut counts).eval().unwrap();
    assert_eq!(counts.to_vec().unwrap(), [1, 19, 0, 0]);
    assert_eq!(first_map().get(4).unwrap(), 5.25);
    let compiles = jit::stats().compiles;
    assert_eq!(second_map().get(2).unwrap(), 4.25);
    assert_eq!(jit::stats().compiles, compiles, "kernels that differ only in their lines are one");
}

// one device: a GPU of a driver for tests
#[test]
fn dumped_code_of_gpus_names_the_lines_that_its_instructions_are_from() {
    let test = "lines::dumped_code_of_gpus_names_the_lines_that_its_instructions_are_from";
    let driver = std::env::current_exe().unwrap().parent().unwrap().join("libfake_cuda.so").display().to_string();
    let before = format!("export JIT_CACHE=memory JIT_DUMP=ptx JIT_DEVICE=cuda JIT_TEST_CUDA_DRIVER='{driver}';");
    let Some(dumped) = alone::alone(test, &before) else { return work() };
    let comment = |line: u32| format!("    // tests/cuda/lines.rs:{line}:");
    // The loop, its statements, what is printed, and the count; the first one of two equal maps.
    for line in [0, 1, 2, 3, 6].map(|offset| FUNCTION + offset).into_iter().chain([FIRST_MAP]) {
        assert!(dumped.contains(&comment(line)), "{}\n{dumped}", comment(line));
    }
    assert!(!dumped.contains(&comment(SECOND_MAP)), "{dumped}");
    assert!(dumped.contains("// `halve_and_count`, evaluated at tests/cuda/lines.rs:"), "{dumped}");
    // What the library records for the program, as for printing, is from the line of the program.
    assert!(!dumped.contains("    // jit-core/") && !dumped.contains("    // src/"), "{dumped}");
}
