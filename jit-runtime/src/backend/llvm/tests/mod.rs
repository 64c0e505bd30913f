//! Compares generated code with the interpreter, bit for bit, for every vector width and number of packets.

mod atomics;
mod bounds;
mod control;
mod division;
pub(crate) mod facts;
mod indices;
mod interleave;
mod interval;
mod memory;
mod near;
mod operations;
mod polls;
mod random;
mod recompute;
mod rows;
mod short_rows;
mod size;
mod stack;
mod streams;
mod tables;
mod violation;
mod within_rows;
mod written_streams;

use std::ops::Range;

use super::*;
use crate::backend::{Executable, RawArgument};
use crate::ir::passes;
use crate::ir::random::{Case, Input};

/// The processors that tests generate code for: those whose instructions this one supports.
fn targets() -> Vec<Target> {
    let Ok(host) = available().and_then(|_| Target::host()) else {
        assert!(!crate::tested_devices::has_llvm());
        return Vec::new();
    };
    let mut targets = vec![host.clone()];
    let others = [
        ("x86-64-v3", "+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe"),
        ("x86-64-v2", "+sse4.2,+popcnt,+cx16"),
    ];
    for (cpu, features) in others {
        let target = Target::new(Architecture::X86_64, cpu.into(), features.into());
        if host.architecture == Architecture::X86_64 && target.lanes <= host.lanes {
            targets.push(target);
        }
    }
    targets
}

/// Every target with every number of packets, and the first with packets that are as short as rows may be.
fn variants() -> Vec<Target> {
    let targets = targets();
    let with_packets = |target: &Target| [1, 2, 4].map(|packets| target.clone().with_interleave(packets));
    let with_fewer_lanes = |target: &Target| {
        let fewer = [8, 4].into_iter().filter(|&lanes| lanes < target.lanes);
        fewer.map(|lanes| target.clone().with_lanes(lanes).with_interleave(1)).collect::<Vec<_>>()
    };
    let fewer = targets.first().map(with_fewer_lanes).unwrap_or_default();
    targets.iter().flat_map(with_packets).chain(fewer).collect()
}

/// The numbers as elements of a buffer.
fn bytes(values: impl Iterator<Item = u64>, ty: crate::ir::Type) -> Input {
    Input::Buffer(values.flat_map(|value| value.to_le_bytes()[..ty.size_bytes()].to_vec()).collect())
}

/// Runs a case on one target, whole and in pieces, and compares it with the interpreter.
fn check(case: &Case, target: &Target, options: CodeOptions) -> Result<(), String> {
    let expected = case.run(&crate::backend::interpreter::prepare(case.kernel.clone()), None);
    // Half of the cases retain the code that the passes would remove.
    let executable = compile_form(&case.kernel, case.seed.is_multiple_of(2), options, target)?;
    compare(case, &expected, &executable, target, options)
}

/// Runs cases of one kernel on every target, before and after the passes: each form is compiled once for all of them.
fn check_on_each_target(cases: &[Case], options: CodeOptions) -> Result<(), String> {
    let Some(kernel) = cases.first().map(|case| &case.kernel) else { return Ok(()) };
    let interpreter = crate::backend::interpreter::prepare(kernel.clone());
    let expected: Vec<_> = cases.iter().map(|case| case.run(&interpreter, None)).collect();
    for target in variants() {
        for is_plain in [true, false] {
            let executable = compile_form(kernel, is_plain, options, &target)?;
            for (case, expected) in cases.iter().zip(&expected) {
                compare(case, expected, &executable, &target, options)
                    .map_err(|difference| format!("seed {}: {difference}", case.seed))?;
            }
        }
    }
    Ok(())
}

/// Compiles a kernel as it is, with expanded functions, or after all passes.
fn compile_form(kernel: &Kernel, is_plain: bool, options: CodeOptions, target: &Target) -> Result<MachineCode, String> {
    let mut kernel = kernel.clone();
    if is_plain {
        passes::expand_math::run(&mut kernel);
    } else {
        passes::optimise(&mut kernel);
    }
    compile_for(&kernel, options, target).map_err(|error| error.to_string())
}

/// Compares what a case leaves in memory with what is expected.
fn compare(
    case: &Case,
    expected: &[Vec<u8>],
    executable: &MachineCode,
    target: &Target,
    options: CodeOptions,
) -> Result<(), String> {
    for piece in [None, Some(2 * executable.lanes_per_step()), Some(13)] {
        let actual = case.run(executable, piece);
        let context = format!("on {} with {:?} packets, pieces {piece:?}, {options:?}", target.cpu, target.interleave);
        case.compare(expected, &actual).map_err(|difference| format!("{context}: {difference}"))?;
    }
    Ok(())
}
