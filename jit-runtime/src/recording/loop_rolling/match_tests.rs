//! Which iterations match: each part of a step counts, and the slots must continue in one way.

use std::sync::Arc;

use super::tests::{GOES_ON, Program, STEADY, State, looked};
use super::*;
use crate::backend::{CodeOptions, interpreter};
use crate::cache::Entry;
use crate::ir::{Access, Builder, Kernel, Type};
use crate::launch::{AccessKind, CheckedAccess, Checks};
use crate::memory::Buffer;
use crate::recording::{Bind, CountStep, KernelStep, LibraryStep, Scalar, SizeId};

/// A kernel that copies, or one that changes its second buffer in place. It has a scalar.
fn kernel(access: Access) -> Kernel {
    let mut builder = Builder::new();
    let (from, to) = (builder.buffer(Type::F32, Access::Read), builder.buffer(Type::F32, access));
    builder.scalar_param(Type::F32);
    let value = builder.load(from);
    builder.store(to, value);
    builder.finish()
}

fn entry(access: Access) -> Arc<Entry> {
    let kernel = kernel(access);
    let executable = Box::new(interpreter::prepare(kernel.clone()));
    Arc::new(Entry::for_test(0, kernel, CodeOptions::default(), executable))
}

fn step(entry: &Arc<Entry>, from: SlotId, to: SlotId) -> KernelStep {
    KernelStep {
        entry: Arc::clone(entry),
        template: None,
        lanes: SizeId(1),
        reduce_block: None,
        arguments: [Bind::Slot(from), Bind::Slot(to), Bind::Scalar(Scalar::Constant(3))].into_iter().collect(),
        label: "test".into(),
        site: None,
        copy: None,
        checks: None,
        shipped: Vec::new(),
    }
}

/// Runs a loop of six iterations that push steps of their own before they make the next state from a slot.
fn program_of(mut each: impl FnMut(&mut Program, State, usize) -> SlotId) -> Vec<String> {
    let mut program = Program::default();
    let start = program.input();
    let mut state = program.begin_loop(None, start);
    for iteration in 0..6 {
        program.begin(state);
        let value = each(&mut program, state, iteration);
        state = State { value, test: program.work(GOES_ON, &[value]) };
        program.log.end_iteration(STEADY);
    }
    program.end(state);
    program.finish(&[state.value]).expect("all iterations are retained").0
}

fn is_rolled(steps: &[String]) -> bool {
    steps.iter().any(|step| step.starts_with("loop"))
}

/// Whether a loop is rolled in which every other iteration launches a changed kernel.
fn rolls(change: fn(&mut KernelStep)) -> bool {
    let entry = entry(Access::Write);
    is_rolled(&program_of(|program, state, iteration| {
        let value = program.slot(Origin::Step);
        let mut step = step(&entry, state.value, value);
        if iteration % 2 == 1 {
            change(&mut step);
        }
        program.log.push(Step::Kernel(step));
        value
    }))
}

fn checks(count: usize) -> Option<Checks> {
    let access =
        CheckedAccess { kind: AccessKind::Gather, ty: Type::F32, width: 7, is_signed: false, site: Site::here() };
    Some(Checks { accesses: vec![access; count], ..Checks::default() })
}

#[test]
fn iterations_of_other_kernels_lanes_scalars_and_checks_are_not_rolled_up() {
    assert!(rolls(|_| ()));
    assert!(!rolls(|step| step.entry = entry(Access::Write)), "another kernel");
    assert!(!rolls(|step| step.lanes = SizeId(2)));
    assert!(!rolls(|step| step.reduce_block = Some(SizeId(1))));
    assert!(!rolls(|step| step.arguments[2] = Bind::Scalar(Scalar::Constant(4))));
    assert!(!rolls(|step| step.checks = checks(1)));
    assert!(!rolls(|step| step.template = Some(Arc::new(kernel(Access::Write)))));
}

#[test]
fn iterations_of_other_templates_are_not_rolled_up() {
    for [first, second] in [[Access::Write; 2], [Access::Write, Access::ReadWrite]] {
        let entry = entry(Access::Write);
        let steps = program_of(|program, state, iteration| {
            let value = program.slot(Origin::Step);
            let template = Some(Arc::new(kernel(if iteration % 2 == 0 { first } else { second })));
            program.log.push(Step::Kernel(KernelStep { template, ..step(&entry, state.value, value) }));
            value
        });
        assert_eq!(is_rolled(&steps), first == second, "{steps:?}");
    }
}

#[test]
fn a_kernel_that_changes_what_the_loop_carries_is_not_repeated() {
    for access in [Access::ReadWrite, Access::Read] {
        let (changing, making) = (entry(access), entry(Access::Write));
        let steps = program_of(|program, state, _| {
            program.log.push(Step::Kernel(step(&changing, SlotId(0), state.value)));
            let value = program.slot(Origin::Step);
            program.log.push(Step::Kernel(step(&making, state.value, value)));
            value
        });
        assert_eq!(is_rolled(&steps), access == Access::Read, "{steps:?}");
    }
}

#[test]
fn constants_match_if_their_elements_are_equal() {
    for is_equal in [true, false] {
        let steps = program_of(|program, state, iteration| {
            let number = if is_equal { 7 } else { iteration as u8 };
            let buffer = Buffer::alloc(4).unwrap();
            buffer.overwrite(&[number; 4]).unwrap();
            let constant = program.slot(Origin::Constant(buffer));
            program.work(5, &[state.value, constant])
        });
        assert_eq!(is_rolled(&steps), is_equal, "{steps:?}");
    }
}

#[test]
fn a_constant_of_an_iteration_may_be_used_after_the_loop() {
    let mut program = Program::default();
    let start = program.input();
    let mut state = program.begin_loop(None, start);
    let mut constant = start;
    for _ in 0..3 {
        program.begin(state);
        constant = program.slot(Origin::Constant(Buffer::alloc(4).unwrap()));
        program.work(5, &[constant]);
        state = program.advance(state, 7, STEADY);
    }
    program.end(state);
    let after = program.work(6, &[state.value, constant]);
    let (steps, _) = program.finish(&[after]).expect("no iteration was dropped");
    assert!(is_rolled(&steps), "{steps:?}");
}

#[test]
fn iterations_that_use_their_own_slots_in_another_order_are_not_rolled_up() {
    for is_swapped in [false, true] {
        let steps = program_of(|program, state, iteration| {
            let (a, b) = (program.work(5, &[state.value]), program.work(6, &[state.value]));
            let inputs = if is_swapped && iteration % 2 == 1 { [b, a] } else { [a, b] };
            program.work(7, &inputs)
        });
        assert_eq!(is_rolled(&steps), !is_swapped, "{steps:?}");
    }
}

#[test]
fn a_slot_that_is_carried_later_is_not_carried_from_the_start() {
    // The second operand is the input at first, then what the iteration before has made.
    let mut before = SlotId(0);
    let steps = program_of(|program, state, iteration| {
        let made = program.work(5, &[state.value]);
        let used = if iteration < 2 { SlotId(0) } else { before };
        before = made;
        program.work(7, &[made, used])
    });
    let first = steps.iter().position(|step| step.starts_with("loop")).expect("the later iterations match");
    let in_front = steps[..first].iter().filter(|step| step.starts_with("7(")).count();
    assert_eq!(in_front, 1, "the second iteration begins with the input: {steps:?}");
}

#[test]
fn two_states_that_become_one_are_carried_once_they_are() {
    let mut program = Program::default();
    let (a, b) = (program.input(), program.input());
    program.log.begin_loop(None, Site::here());
    let (mut states, mut test) = ([a, b], program.work(GOES_ON, &[a]));
    for _ in 0..4 {
        program.begin(State { value: a, test });
        let both = program.work(7, &states);
        (states, test) = ([both; 2], program.work(GOES_ON, &[both]));
        program.log.end_iteration(STEADY);
    }
    program.end(State { value: a, test });
    let (steps, _) = program.finish(&[states[0]]).expect("no iteration was dropped");
    assert_eq!(steps[1], "7(0 1) = 3", "the first iteration is in front: {steps:?}");
    let body = steps.iter().position(|step| step.starts_with("loop")).expect("the later iterations match");
    let inputs = steps[body + 1].trim_start_matches("7(").split(')').next().unwrap();
    let (first, second) = inputs.split_once(' ').unwrap();
    assert_eq!(first, second, "{steps:?}");
}

#[test]
fn a_loop_may_not_need_more_iterations_than_its_limit() {
    for limit in [1, 2] {
        let mut program = Program::default();
        let input = program.input();
        let mut state = program.begin_loop(Some(limit), input);
        for what in [3, 4, 7, 7] {
            state = program.iterate(state, what, STEADY);
        }
        program.end(state);
        let (steps, _) = program.finish(&[state.value]).expect("no iteration was dropped");
        assert_eq!(is_rolled(&steps), limit >= 2, "{steps:?}");
    }
}

#[test]
fn a_loop_whose_state_changes_its_form_is_not_rolled_up() {
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    for _ in 0..3 {
        state = program.iterate(state, 7, Unchanged { host: true, forms: false });
    }
    program.end(state);
    let (steps, _) = program.finish(&[state.value]).expect("no iteration was dropped");
    assert!(!is_rolled(&steps), "{steps:?}");
}

#[test]
fn iterations_that_count_never_match() {
    for counts in [false, true] {
        let mut program = Program::default();
        let input = program.input();
        let state = program.begin_loop(None, input);
        let state = program.iterate(state, 3, STEADY);
        program.begin(state);
        if counts {
            let positions = program.slot(Origin::Step);
            program.log.push(Step::Count(CountStep { mask: state.value, positions, site: None }));
        }
        program.advance(state, 7, STEADY);
        assert_eq!(program.log.is_settled(&program.slots), counts, "widths may differ in each iteration");
    }
}

/// Runs a loop whose iterations contain another one, which is not rolled up, or has a limit.
fn nested(inner: impl Fn(&mut Program, State, usize) -> State) -> Vec<String> {
    let mut program = Program::default();
    let input = program.input();
    let mut outer = program.begin_loop(None, input);
    for iteration in 0..4 {
        program.begin(outer);
        let value = inner(&mut program, outer, iteration).value;
        let value = program.work(8, &[value]);
        outer = State { value, test: program.work(GOES_ON, &[value]) };
        program.log.end_iteration(STEADY);
    }
    program.end(outer);
    program.finish(&[outer.value]).expect("no iteration was dropped").0
}

#[test]
fn loops_with_other_limits_do_not_match() {
    for differs in [false, true] {
        let steps = nested(|program, outer, iteration| {
            let limit = if differs { 10 + iteration as u32 } else { 10 };
            let mut state = program.begin_loop(Some(limit), outer.value);
            for _ in 0..3 {
                state = program.iterate(state, 7, STEADY);
            }
            program.end(state);
            state
        });
        let loops = steps.iter().filter(|step| step.starts_with("loop")).count();
        assert_eq!(loops, if differs { 4 } else { 2 }, "{steps:?}");
    }
}

#[test]
fn tests_of_other_values_do_not_match() {
    for differs in [false, true] {
        let steps = nested(|program, outer, iteration| {
            let test = program.work(GOES_ON, &[outer.value]);
            let expected = if differs { 1 + iteration as u64 } else { 1 };
            program.log.push(Step::Test(looked(test, expected)));
            outer
        });
        assert_eq!(is_rolled(&steps), !differs, "{steps:?}");
    }
}

#[test]
fn library_calls_with_other_numbers_of_operands_do_not_match() {
    let call = crate::launch::native::Call::Fill(5);
    for differs in [false, true] {
        let steps = program_of(|program, state, iteration| {
            let value = program.slot(Origin::Step);
            let inputs = if differs && iteration % 2 == 1 { vec![] } else { vec![state.value] };
            let (sizes, outputs) = (SmallVec::new(), SmallVec::from_slice(&[value]));
            let step = LibraryStep { call, sizes, fill: None, inputs: inputs.into(), outputs, site: None };
            program.log.push(Step::Library(step));
            value
        });
        assert_eq!(is_rolled(&steps), !differs, "{steps:?}");
    }
}
