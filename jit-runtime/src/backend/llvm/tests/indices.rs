//! Random programs about indices: compares code with redundant checks, and code without them, with the interpreter.

use std::any::Any;

use super::*;
use crate::backend::Effort;
use crate::backend::interpreter;
use crate::backend::llvm::analysis::Analysis;
use crate::cancel::Poll;
use crate::ir::{Op, ParamId, Value};

/// Code that returns the violation instead of ending the process.
struct Verified(MachineCode);

impl Executable for Verified {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) {
        // SAFETY: guaranteed by the caller.
        if let Some(violation) = unsafe { self.0.run_verified(lanes, arguments, poll) } {
            panic!("{violation}");
        }
    }

    fn lanes_per_step(&self) -> usize {
        self.0.lanes_per_step()
    }

    fn code_bytes(&self) -> usize {
        self.0.code_bytes()
    }
}

/// Compares all launches of the kernel with a seed on one target.
fn check_indices(seed: u64, target: &Target) {
    let outcome = std::panic::catch_unwind(|| compare_indices(seed, target));
    let text_of = |panic: Box<dyn Any + Send>| match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => panic.downcast_ref::<&str>().copied().unwrap_or_default().to_owned(),
    };
    if let Err(error) = outcome.map_err(text_of).and_then(|outcome| outcome) {
        panic!(
            "{error}\nseed {seed} on {} x{:?}, kernel\n{}\nagain: JIT_RANDOM_SEED={seed} JIT_RANDOM_COUNT=1 \
             cargo test -p jit-runtime --lib many_programs_about_indices -- --ignored",
            target.cpu,
            target.interleave,
            Case::indices(seed)[0].kernel
        );
    }
}

fn compare_indices(seed: u64, target: &Target) -> Result<(), String> {
    let cases = Case::indices(seed);
    let mut kernel = cases[0].kernel.clone();
    crate::ir::verify(&kernel).map_err(|error| error.to_string())?;
    if seed.is_multiple_of(2) {
        passes::optimise(&mut kernel);
    }
    let effort = if seed.is_multiple_of(16) { Effort::Thorough } else { Effort::Quick };
    let options = CodeOptions { effort, ..CodeOptions::default() };
    let compiled = |target: &Target| compile_for(&kernel, options, target).map_err(|error| error.to_string());
    let interpreted = interpreter::prepare(cases[0].kernel.clone());
    let expected: Vec<_> = cases.iter().map(|case| case.run(&interpreted, None)).collect();
    // An access outside its memory is found by the first one.
    let verified = Verified(compiled(&target.clone().with_verified_accesses())?);
    let plain = if seed.is_multiple_of(8) { Some(compiled(target)?) } else { None };
    let executables = [Some(&verified as &dyn Executable), plain.as_ref().map(|plain| plain as &dyn Executable)];
    for executable in executables.into_iter().flatten() {
        for (case, expected) in cases.iter().zip(&expected) {
            let scalars = case.inputs.iter().filter(|input| matches!(input, Input::Scalar(_)));
            let context = |error| format!("{error}\nscalars {:?}", scalars.collect::<Vec<_>>());
            case.compare(expected, &case.run(executable, None)).map_err(context)?;
        }
    }
    Ok(())
}

fn check_all(seeds: Range<u64>) {
    let targets = variants();
    if targets.is_empty() {
        return;
    }
    for seed in seeds {
        check_indices(seed, &targets[(seed % targets.len() as u64) as usize]);
    }
}

#[test]
fn programs_about_indices() {
    check_all(0..400);
}

/// Facts about the body of a loop are not used in its condition, which sees the counter's final value.
#[test]
fn a_counter_has_reached_its_end_in_the_condition_of_its_loop() {
    let text = "kernel(p0: read u32, p1: write u32, p2: scalar u32) {
        v0: u32 = scalar p2  v1: u32 = const 0  v2: u32 = const 1
        v11: u32, v12: u32 = loop (v1, v1) while (v3: u32, v4: u32) {
            v5: u32 = gather p0[v3]
            v6: bool = lt v3, v0
            yield v6
        } do {
            v7: u32 = gather p0[v3]
            v8: u32 = add v4, v7
            v9: u32 = add v8, v5
            v10: u32 = add v3, v2
            yield v10, v9
        }
        v13: u32 = gather p0[v11]
        v14: u32 = add v12, v13
        store p1, v14
    }";
    let kernel = crate::ir::parse(text).unwrap();
    let proofs = Analysis::new(&kernel, 16).ranges;
    let proven = |region| proofs.is_proven(region, ParamId(0), Value(3));
    let Op::Loop { condition, body, .. } = kernel.regions[0].insts[3].op else { panic!("the fourth is the loop") };
    assert!(proven(body) && !proven(condition), "the limit is the length of the buffer");
    let column = |count: u32| Input::Buffer((0..count).flat_map(|i| (i * 7 + 1).to_le_bytes()).collect());
    for limit in [0, 63, 64, 65, 1000] {
        let inputs = vec![column(64), column(128), Input::Scalar(limit)];
        let case = Case { seed: 0, kernel: kernel.clone(), width: 128, inputs };
        let expected = case.run(&interpreter::prepare(kernel.clone()), None);
        for target in variants() {
            let verified = compile_for(&kernel, CodeOptions::default(), &target.clone().with_verified_accesses());
            case.compare(&expected, &case.run(&Verified(verified.unwrap()), None)).unwrap();
            check(&case, &target, CodeOptions::default()).unwrap();
        }
    }
}

/// Random programs are only useful if they lead to code without checks.
#[test]
fn many_random_indices_are_proven_to_be_in_range() {
    let mut proven = [0; 2];
    for seed in 0..1000 {
        let kernel = &Case::indices(seed)[0].kernel;
        let proofs = Analysis::new(kernel, 32).ranges.proofs;
        for proof in &proofs {
            proven[usize::from(matches!(proof, (_, crate::backend::llvm::ranges::Proof::Within(_))))] += 1;
        }
    }
    let [moved, within] = proven;
    assert!(moved > 20 && within > 200, "{proven:?}");
}

/// New seeds each time, or those of `JIT_RANDOM_SEED`; `JIT_RANDOM_COUNT` is their number.
#[test]
#[ignore = "takes an hour"]
fn many_programs_about_indices() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("JIT_RANDOM_SEED").unwrap_or_else(|| now() >> 8);
    let count = number("JIT_RANDOM_COUNT").unwrap_or(250_000);
    println!("JIT_RANDOM_SEED={seed} JIT_RANDOM_COUNT={count}");
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                (0..count).filter(|at| at % threads == thread).for_each(|at| check_all(seed + at..seed + at + 1));
            });
        }
    });
}
