//! Rolling of recorded loops. A kernel is a fill whose value identifies it; nothing is run.

use smallvec::SmallVec;

use super::*;
use crate::Site;
use crate::ir::Type;
use crate::launch::native::Call;
use crate::recording::{LibraryStep, Scalar, SizeId};

pub(super) const GOES_ON: u64 = 1;
pub(super) const STEADY: Unchanged = Unchanged { host: true, forms: true };

/// A program that is recorded.
#[derive(Default)]
pub(super) struct Program {
    pub(super) log: Log,
    pub(super) slots: Vec<Slot>,
}

/// The state of a loop, and whether it continues.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) value: SlotId,
    pub(super) test: SlotId,
}

impl Program {
    pub(super) fn slot(&mut self, origin: Origin) -> SlotId {
        self.slots.push(Slot { ty: Type::F32, len: SizeId(1), origin });
        SlotId(self.slots.len() as u32 - 1)
    }

    pub(super) fn input(&mut self) -> SlotId {
        self.slot(Origin::Input(0))
    }

    /// An operation that makes a slot from others.
    pub(super) fn work(&mut self, what: u64, inputs: &[SlotId]) -> SlotId {
        let output = self.slot(Origin::Step);
        self.write(what, inputs, output);
        output
    }

    fn write(&mut self, what: u64, inputs: &[SlotId], output: SlotId) {
        let (inputs, outputs) = (inputs.into(), SmallVec::from_slice(&[output]));
        let (call, sizes) = (Call::Fill(what), SmallVec::new());
        self.log.push(Step::Library(LibraryStep { call, sizes, fill: None, inputs, outputs, site: None }));
    }

    pub(super) fn begin_loop(&mut self, limit: Option<u32>, value: SlotId) -> State {
        self.log.begin_loop(limit, Site::here());
        State { value, test: self.work(GOES_ON, &[value]) }
    }

    pub(super) fn begin(&mut self, state: State) -> Option<Range<u32>> {
        self.log.begin_iteration(Some(looked(state.test, 1)), &self.slots)
    }

    /// An iteration that changes the state.
    pub(super) fn iterate(&mut self, state: State, what: u64, unchanged: Unchanged) -> State {
        self.begin(state);
        self.advance(state, what, unchanged)
    }

    /// The rest of an iteration that has begun: it changes the state.
    pub(super) fn advance(&mut self, state: State, what: u64, unchanged: Unchanged) -> State {
        let value = self.work(what, &[state.value]);
        let state = State { value, test: self.work(GOES_ON, &[value]) };
        self.log.end_iteration(unchanged);
        state
    }

    pub(super) fn end(&mut self, state: State) {
        self.log.end_loop(Some(looked(state.test, 0)), self.slots.len());
    }

    /// The steps in short form, and the outputs.
    pub(super) fn finish(mut self, outputs: &[SlotId]) -> Result<(Vec<String>, Vec<SlotId>), String> {
        let mut outputs = outputs.to_vec();
        let steps = self.log.finish(&mut self.slots, &mut outputs)?;
        assert!(steps.iter().flat_map(Step::slots).all(|slot| slot.index() < self.slots.len()), "slots exist");
        Ok((steps.iter().map(described).collect(), outputs))
    }
}

pub(super) fn looked(slot: SlotId, expected: u64) -> TestStep {
    TestStep { slot, expected, site: None }
}

/// `3(a b)` applies 3 to slots; `loop(init → param ← out, …)` tests the slot that is marked by a star.
fn described(step: &Step) -> String {
    let list = |slots: &[SlotId]| slots.iter().map(|slot| slot.0.to_string()).collect::<Vec<_>>().join(" ");
    match step {
        Step::Library(native) => {
            let Call::Fill(what) = native.call else { return native.call.name().to_owned() };
            format!("{what}({}) = {}", list(&native.inputs), list(&native.outputs))
        }
        Step::Test(test) => format!("test {} == {}", test.slot.0, test.expected),
        Step::Loop(inner) => {
            let carried = inner.carried.iter().enumerate().map(|(at, Carried { param, init, out })| {
                let star = if at as u32 == inner.test { "*" } else { "" };
                format!("{} → {}{star} ← {}", init.0, param.0, out.0)
            });
            let limit = inner.limit.map(|(limit, before)| format!(", {limit} - {before}")).unwrap_or_default();
            format!("loop {} ({}){limit}", inner.length, carried.collect::<Vec<_>>().join(", "))
        }
        Step::Repeat(inner) => format!("repeat {}", inner.length),
        Step::Kernel(_) | Step::Count(_) | Step::Host(_) => step.name().0.to_owned(),
    }
}

/// A loop of this many iterations.
fn plain(iterations: usize) -> (Program, State) {
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    for _ in 0..iterations {
        state = program.iterate(state, 7, STEADY);
    }
    program.end(state);
    (program, state)
}

#[test]
fn matching_iterations_become_one_body_whatever_their_number() {
    for iterations in [2, 3, 10] {
        let (program, state) = plain(iterations);
        // Parameters are appended behind the existing slots.
        let value = 2 + 2 * iterations as u32;
        let (steps, outputs) = program.finish(&[state.value]).expect("the loop is rolled up");
        let test = value + 1;
        let expected = [
            "1(0) = 1".to_owned(),
            format!("loop 2 (0 → {value} ← 2, 1 → {test}* ← 3)"),
            format!("7({value}) = 2"),
            "1(2) = 3".to_owned(),
            "repeat 2".to_owned(),
        ];
        assert_eq!((steps, outputs), (expected.to_vec(), vec![SlotId(value)]), "{iterations}");
    }
}

#[test]
fn one_iteration_shows_nothing_of_others() {
    let (program, state) = plain(1);
    let (steps, outputs) = program.finish(&[state.value]).expect("it is tested");
    assert_eq!(steps, ["1(0) = 1", "test 1 == 1", "7(0) = 2", "1(2) = 3", "test 3 == 0"]);
    assert_eq!(outputs, [SlotId(2)]);
}

#[test]
fn first_iterations_that_differ_stay_in_front_without_a_test() {
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(Some(9), input);
    state = program.iterate(state, 3, STEADY);
    for _ in 0..3 {
        state = program.iterate(state, 7, STEADY);
    }
    program.end(state);
    let (steps, _) = program.finish(&[state.value]).expect("the loop is rolled up");
    assert_eq!(steps[..3], ["1(0) = 1", "3(0) = 2", "1(2) = 3"]);
    assert_eq!(steps[3..], ["loop 2 (2 → 10 ← 4, 3 → 11* ← 5), 9 - 1", "7(10) = 4", "1(4) = 5", "repeat 2"]);
}

#[test]
fn iterations_that_depend_on_host_variables_are_tested() {
    let changed = Unchanged { host: false, forms: true };
    // In the second iteration, which some calls do not run.
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    for (what, unchanged) in [(3, STEADY), (4, changed), (7, STEADY), (7, STEADY)] {
        state = program.iterate(state, what, unchanged);
    }
    program.end(state);
    let (steps, _) = program.finish(&[state.value]).expect("the loop is rolled up");
    assert_eq!(steps[..6], ["1(0) = 1", "3(0) = 2", "1(2) = 3", "test 3 == 1", "4(2) = 4", "1(4) = 5"]);
    assert!(steps[6].starts_with("loop 2"), "{steps:?}");
    // In each.
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    for _ in 0..3 {
        state = program.iterate(state, 7, changed);
    }
    program.end(state);
    let (steps, _) = program.finish(&[state.value]).expect("each value is tested");
    assert_eq!(steps.iter().filter(|step| step.starts_with("test")).count(), 4, "{steps:?}");
    assert!(!steps.iter().any(|step| step.starts_with("loop")), "{steps:?}");
}

#[test]
fn a_loop_is_not_rolled_up_if_values_outside_of_its_state_are_used_after_it() {
    for is_used in [false, true] {
        let mut program = Program::default();
        let input = program.input();
        let mut state = program.begin_loop(None, input);
        let mut beside = input;
        for _ in 0..3 {
            program.begin(state);
            beside = program.work(5, &[state.value]);
            state = program.advance(state, 7, STEADY);
        }
        program.end(state);
        let outputs = if is_used { vec![state.value, beside] } else { vec![state.value] };
        let (steps, _) = program.finish(&outputs).expect("no iteration was dropped");
        assert_eq!(steps.iter().any(|step| step.starts_with("loop")), !is_used, "{steps:?}");
    }
}

#[test]
fn a_long_loop_is_retained_in_part() {
    let (mut program, mut state) = plain(0);
    program.log = Log::default();
    program.log.begin_loop(None, Site::here());
    let mut dropped = Vec::new();
    for _ in 0..500 {
        dropped.extend(program.begin(state));
        state = program.advance(state, 7, STEADY);
    }
    let kept = program.log.open[0].iterations.len();
    assert!(kept <= MAX_RETAINED, "{kept} iterations");
    assert!(dropped.windows(2).all(|pair| pair[0].end <= pair[1].start), "each is dropped once: {dropped:?}");
    assert!(dropped.iter().map(|range| range.len()).sum::<usize>() >= 2 * (500 - MAX_RETAINED), "{dropped:?}");
    program.end(state);
    let (steps, outputs) = program.finish(&[state.value]).expect("the loop is rolled up");
    assert_eq!(steps.len(), 4, "{steps:?}");
    assert!(steps[0].starts_with(&format!("loop 2 (0 → {}", outputs[0].0)), "{steps:?}");
}

#[test]
fn of_a_long_loop_only_the_state_is_left() {
    let (mut program, mut state) = plain(0);
    program.log = Log::default();
    program.log.begin_loop(None, Site::here());
    let mut beside = state.value;
    for _ in 0..2 * MAX_RETAINED {
        program.begin(state);
        beside = program.work(5, &[state.value]);
        state = program.advance(state, 7, STEADY);
    }
    program.end(state);
    let reason = program.finish(&[beside]).expect_err("values of its iterations no longer exist");
    assert!(
        reason.contains("tests.rs") && reason.ends_with("is used after it and is not part of its state"),
        "{reason}"
    );
}

#[test]
fn loops_in_loops_are_rolled_up_from_the_inside() {
    let mut program = Program::default();
    let input = program.input();
    let mut outer = program.begin_loop(None, input);
    for iterations in [2, 3, 2] {
        program.begin(outer);
        let mut inner = program.begin_loop(None, outer.value);
        for _ in 0..iterations {
            inner = program.iterate(inner, 7, STEADY);
        }
        program.end(inner);
        let value = program.work(8, &[inner.value]);
        outer = State { value, test: program.work(GOES_ON, &[value]) };
        program.log.end_iteration(STEADY);
    }
    program.end(outer);
    let (steps, _) = program.finish(&[outer.value]).expect("both are rolled up");
    let kinds: Vec<&str> = steps.iter().map(|step| step.split(['(', ' ']).next().unwrap_or_default()).collect();
    assert_eq!(kinds, ["1", "loop", "1", "loop", "7", "1", "repeat", "8", "1", "repeat"], "{steps:?}");
}

#[test]
fn a_loop_that_writes_to_what_it_carries_is_tested_instead() {
    let mut program = Program::default();
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    for _ in 0..3 {
        program.begin(state);
        program.write(9, &[], state.value);
        state = program.advance(state, 7, STEADY);
    }
    program.end(state);
    let (steps, _) = program.finish(&[state.value]).expect("each value is tested");
    assert!(!steps.iter().any(|step| step.starts_with("loop")), "{steps:?}");
}

#[test]
fn a_loop_is_settled_when_its_last_iterations_match_or_never_will_be() {
    let mut program = Program::default();
    assert!(program.log.is_settled(&program.slots), "there is none");
    let input = program.input();
    let mut state = program.begin_loop(None, input);
    let mut settled = Vec::new();
    for what in [3, 7, 7] {
        state = program.iterate(state, what, STEADY);
        settled.push(program.log.is_settled(&program.slots));
    }
    assert_eq!(settled, [false, false, true]);
    program.iterate(state, 7, Unchanged { host: false, forms: true });
    assert!(program.log.is_settled(&program.slots), "the host's variables change");
}

/// Whether a loop is rolled in which every other iteration makes a different slot, or one of a different form.
fn rolls(change: fn(&mut LibraryStep, &mut Slot)) -> bool {
    let mut program = Program::default();
    let start = program.input();
    let mut state = program.begin_loop(None, start);
    for iteration in 0..6 {
        program.begin(state);
        let value = program.slot(Origin::Step);
        let (inputs, outputs) = ([state.value].as_slice().into(), SmallVec::from_slice(&[value]));
        let sizes = SmallVec::from_slice(&[SizeId(1)]);
        let mut step = LibraryStep { call: Call::Fill(7), sizes, fill: None, inputs, outputs, site: None };
        if iteration % 2 == 1 {
            change(&mut step, &mut program.slots[value.index()]);
        }
        program.log.push(Step::Library(step));
        state = State { value, test: program.work(GOES_ON, &[value]) };
        program.log.end_iteration(STEADY);
    }
    program.end(state);
    let (steps, _) = program.finish(&[]).unwrap();
    steps.iter().any(|step| step.starts_with("loop"))
}

#[test]
fn iterations_of_other_calls_sizes_lengths_and_types_are_not_rolled_up() {
    assert!(rolls(|_, _| ()));
    assert!(!rolls(|step, _| step.call = Call::Fill(8)));
    assert!(!rolls(|step, _| step.sizes[0] = SizeId(2)));
    assert!(!rolls(|step, _| step.sizes.clear()));
    assert!(!rolls(|step, _| step.fill = Some(Scalar::Constant(5))));
    assert!(!rolls(|_, slot| slot.len = SizeId(2)));
    assert!(!rolls(|_, slot| slot.ty = Type::U32));
}
