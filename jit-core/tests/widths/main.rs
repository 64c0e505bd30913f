//! Random programs that move elements between arrays of different widths: each result against a model that computes
//! the elements one by one on the host.
//!
//! What the backends have in common, such as expressions that are recorded again at an index, columns, and the ways to
//! reduce blocks, is compared with the model, too. Elements are bits, and arithmetic of single elements is the scalar
//! functions that define it. Results that depend on an unspecified order are not computed: sums of floats are of small
//! whole numbers, and scatters to one element write the same value.

#[path = "../../../tests/shared/dice.rs"]
mod dice;
mod model;
mod program;
mod steps;
#[path = "../../../tests/shared/tested_devices.rs"]
mod tested_devices;

use jit_runtime::device::{Device, with_device};
use program::Program;

/// Runs the program of a seed on the devices, with values evaluated at the end, and at random points.
pub(crate) fn check_program(seed: u64, devices: &[Device]) -> Result<(), String> {
    for &device in devices {
        for (evaluation, variant) in [(None, 0), (None, 5), (Some(seed ^ 0x5eed), 1)] {
            let fails = |steps: usize| {
                let run = || {
                    with_device(device, || {
                        let mut program = Program::new(seed, evaluation, variant);
                        program.run(steps);
                        program.check()
                    })
                };
                match std::panic::catch_unwind(run) {
                    Ok(result) => result.err(),
                    Err(panic) => Some(text_of(&*panic)),
                }
            };
            let mut steps = if Program::new(seed, None, 0).is_long { LONG_STEPS } else { STEPS };
            let Some(mut text) = fails(steps) else { continue };
            // The first steps of a program are a program.
            for fewer in [64, 16, 4, 1] {
                while let Some(shorter) = steps.checked_sub(fewer).and_then(&fails) {
                    (steps, text) = (steps - fewer, shorter);
                }
            }
            return Err(format!(
                "seed {seed} on {device:?}, evaluated at {evaluation:?}, variant {variant}, {steps} steps: {text}"
            ));
        }
    }
    Ok(())
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The steps of a program, and of one whose operations are all on lanes.
const STEPS: usize = 30;
const LONG_STEPS: usize = 500;

fn check(seeds: std::ops::Range<u64>) {
    let devices = tested_devices::all();
    seeds.for_each(|seed| assert_eq!(check_program(seed, &devices), Ok(())));
}

#[test]
fn elements_are_where_the_model_has_them() {
    check(0..40);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn elements_of_many_programs_are_where_the_model_has_them() {
    check(1_000..4_000);
}
