//! Random programs over tensors of one to four axes: each result against a model that computes the elements one by one,
//! by their coordinates.
//!
//! Views, slices that are read and assigned, reductions and prefix reductions along axes, sorting, padding, products.
//! Programs run with values evaluated at the end, and at random points; so tensors are changed in place, and in copies.

mod model;
mod program;

use half::f16;
use jit::prelude::*;
use program::{Kind, Program};

/// The steps of a program.
const STEPS: usize = 24;

fn failure<T: Kind>(seed: u64, evaluation: Option<u64>, steps: usize) -> Option<String> {
    let run = || {
        let mut program = Program::<T>::new(seed, evaluation);
        program.run(steps);
        program.check()
    };
    match std::panic::catch_unwind(run) {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Some(text.unwrap_or_else(|| "a panic".to_owned()))
        }
    }
}

fn check_of<T: Kind>(seed: u64, devices: &[Device]) -> Result<(), String> {
    for &device in devices {
        for evaluation in [None, Some(seed ^ 0x5eed)] {
            let fails = |steps| jit::with_device(device, || failure::<T>(seed, evaluation, steps));
            let Some(mut text) = fails(STEPS) else { continue };
            // The first steps of a program are a program.
            let mut steps = STEPS;
            while let Some(shorter) = fails(steps - 1) {
                (steps, text) = (steps - 1, shorter);
            }
            let ty = T::TYPE;
            return Err(format!(
                "seed {seed} of {ty} on {device:?}, evaluated at {evaluation:?}, {steps} steps: {text}"
            ));
        }
    }
    Ok(())
}

/// Runs the program of a seed on some devices.
pub(crate) fn check_program(seed: u64, devices: &[Device]) -> Result<(), String> {
    match seed % 9 {
        0 => check_of::<i8>(seed, devices),
        1 => check_of::<u8>(seed, devices),
        2 => check_of::<i16>(seed, devices),
        3 => check_of::<i32>(seed, devices),
        4 => check_of::<u32>(seed, devices),
        5 => check_of::<i64>(seed, devices),
        6 => check_of::<f16>(seed, devices),
        7 => check_of::<f32>(seed, devices),
        _ => check_of::<f64>(seed, devices),
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let devices = crate::tested_devices::all();
    seeds.for_each(|seed| check_program(seed, &devices).unwrap_or_else(|text| panic!("{text}")));
}

#[test]
fn programs_over_tensors_agree_with_their_definitions() {
    check(0..108);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_programs_over_tensors_agree_with_their_definitions() {
    check(1_000..11_000);
}
