//! Random loops over lists in memory, as those over the rows of sparse matrices: each lane against a model that runs it
//! alone.
//!
//! A loop has state of several element types, bounds from memory, and reads at positions that advance, that are in
//! memory themselves, and that are out of range; loops are nested, end early, and add to arrays that all lanes share.
//! Tables are in memory, or expressions that are computed at the position.

mod model;
mod program;
mod traced;

use jit::freeze::{Function, Options};
use jit::prelude::*;
use jit_runtime::ir::{CompareOp, Type, scalar};
use program::{Program, Statement};

/// A result by name, and its elements as bits.
type Results = Vec<(String, Type, Vec<u64>)>;

/// The difference between a program on a device and the model.
fn difference(
    program: &Program,
    expected: &Results,
    device: Device,
    function: Option<&'static Function>,
) -> Option<String> {
    let run = || jit::with_device(device, || traced::got(program, function));
    let results = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(results)) => results,
        Ok(Err(error)) => return Some(error.to_string()),
        Err(panic) => return Some(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned())),
    };
    // All NaN match, for their signs and payloads are unspecified.
    let canonical = |ty, bits: u64| if scalar::compare(CompareOp::Ne, ty, bits, bits) { u64::MAX } else { bits };
    for ((name, ty, got), (_, _, wanted)) in results.iter().zip(expected) {
        assert_eq!(got.len(), wanted.len(), "{name}");
        let wrong = (0..got.len()).find(|&lane| canonical(*ty, got[lane]) != canonical(*ty, wanted[lane]));
        if let Some(lane) = wrong {
            return Some(format!(
                "{name}, lane {lane} of {}: {:#x} instead of {:#x}",
                got.len(),
                got[lane],
                wanted[lane]
            ));
        }
    }
    None
}

/// All programs with one statement less, or a block in place of a statement.
fn shorter(block: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    for place in 0..block.len() {
        let with = |new: Vec<Statement>| [&block[..place], &new, &block[place + 1..]].concat();
        all.push(with(Vec::new()));
        match &block[place] {
            Statement::If(condition, a, b) => {
                all.extend([a, b].map(|block| with(block.clone())));
                all.extend(shorter(a).into_iter().map(|a| with(vec![Statement::If(condition.clone(), a, b.clone())])));
                all.extend(shorter(b).into_iter().map(|b| with(vec![Statement::If(condition.clone(), a.clone(), b)])));
            }
            Statement::For(mode, bounds, body) => {
                all.push(with(body.clone()));
                all.extend(
                    shorter(body).into_iter().map(|body| with(vec![Statement::For(*mode, bounds.clone(), body)])),
                );
            }
            Statement::While(condition, body) => {
                all.push(with(body.clone()));
                all.extend(shorter(body).into_iter().map(|body| with(vec![Statement::While(condition.clone(), body)])));
            }
            _ => {}
        }
    }
    all
}

/// Runs the program of a seed on some devices.
pub(crate) fn check_program(seed: u64, devices: &[Device]) -> Result<(), String> {
    let program = Program::new(seed);
    let Some(results) = model::expected(&program) else { return Ok(()) };
    for &device in devices {
        let Some(mut what) = difference(&program, &results, device, None) else { continue };
        let mut small = program.clone();
        'smaller: loop {
            for body in shorter(&small.body) {
                let next = Program { body, ..small.clone() };
                let Some(results) = model::expected(&next) else { continue };
                if let Some(text) = difference(&next, &results, device, None) {
                    (small, what) = (next, text);
                    continue 'smaller;
                }
            }
            break;
        }
        let Program { width, begins, is_expression, body, starts, list, .. } = &small;
        let (starts, list) = (&starts[..starts.len().min(9)], &list[..list.len().min(9)]);
        return Err(format!(
            "seed {seed} on {device:?}, width {width}: {what}\n{begins:?} {is_expression:?} {starts:?}… {list:?}…\n\
             {body:#?}"
        ));
    }
    Ok(())
}

/// Runs the program of a seed in a frozen function, on data of several sizes.
pub(crate) fn check_frozen(seed: u64, devices: &[Device]) -> Result<u64, String> {
    let options = Options { warn_after: usize::MAX, ..Options::DEFAULT };
    let function: &'static Function = Box::leak(Box::new(Function::new("sparse", &["tables"; 6], options)));
    for &device in devices {
        for variant in 0..6 {
            let program = Program::on(seed, variant);
            let Some(results) = model::expected(&program) else { continue };
            if let Some(what) = difference(&program, &results, device, Some(function)) {
                let Program { width, body, begins, .. } = program;
                return Err(format!(
                    "seed {seed}, variant {variant} on {device:?}, width {width}: {what}\n{begins:?}\n{body:#?}"
                ));
            }
        }
    }
    let replays = function.stats().replays;
    function.clear();
    Ok(replays)
}

fn check(seeds: std::ops::Range<u64>) {
    let devices = crate::tested_devices::all();
    seeds.for_each(|seed| check_program(seed, &devices).unwrap_or_else(|text| panic!("{text}")));
}

#[test]
fn loops_over_lists_agree_with_each_lane_by_itself() {
    check(0..120);
}

#[test]
fn frozen_loops_over_lists_agree_with_each_lane_by_itself() {
    let replays: u64 = (0..30).map(replays_of).sum();
    // Nothing is recorded without freezing, and a replay that is verified is none.
    let is_plain = ["JIT_FREEZE", "JIT_FREEZE_VERIFY"].iter().all(|name| std::env::var_os(name).is_none());
    assert!(replays > 60 || !is_plain, "{replays} calls are replays");
}

fn replays_of(seed: u64) -> u64 {
    check_frozen(seed, &[Device::Interpreter]).unwrap_or_else(|text| panic!("{text}"))
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_loops_over_lists_agree_with_each_lane_by_itself() {
    check(1_000..6_000);
    (1_000..3_000).for_each(|seed| {
        replays_of(seed);
    });
    let has_llvm = crate::tested_devices::has_llvm();
    (3_000..3_400).filter(|_| has_llvm).for_each(|seed| {
        check_frozen(seed, &[Device::Cpu]).unwrap_or_else(|text| panic!("{text}"));
    });
}

/// Checks that the comparison can detect a difference: programs that do nothing would agree, too.
#[test]
fn lanes_of_a_program_differ() {
    let programs = (0..100).map(Program::new).filter(|program| program.width > 1);
    let results: Vec<Results> = programs.filter_map(|program| model::expected(&program)).collect();
    let is_varied = |bits: &Vec<u64>| bits.iter().any(|other| *other != bits[0]);
    let varied = |results: &Results| results.iter().filter(|(.., bits)| is_varied(bits)).count();
    assert!(results.len() > 60, "{} programs end", results.len());
    let parts: usize = results.iter().map(varied).sum();
    assert!(parts > results.len() * 2, "{parts} results differ by lane");
}
