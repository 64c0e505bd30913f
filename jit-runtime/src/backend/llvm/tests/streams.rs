//! Gathers that advance by one in each iteration of a loop, which read windows of memory, against the interpreter: in
//! each place of a loop, for lanes that run for different times, around the ends of buffers and of the index's type.

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, ParamId, Type, Value};

/// Where and how a loop gathers. The number of streams follows.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// At a state that advances.
    State,
    /// At a state of another type of integers.
    Cast(Type),
    /// Before and behind the state.
    Moved,
    /// At a lane's first element plus a counter.
    FromFirst,
    /// Where a mask is on.
    Masked,
    /// In a branch that some lanes take in some iterations.
    Branch,
    /// In the condition.
    Condition,
    /// In a loop inside the loop, and outside of it.
    Nested,
    /// At a state that advances by two.
    ByTwo,
    /// At a state that advances in some iterations.
    Sometimes,
    /// At a state that goes back.
    Back,
    /// In a loop inside the loop, at the outer one's state.
    OuterState,
}

impl Form {
    const ALL: [Form; 13] = [
        Form::State,
        Form::Cast(Type::I64),
        Form::Cast(Type::U32),
        Form::Moved,
        Form::FromFirst,
        Form::Masked,
        Form::Branch,
        Form::Condition,
        Form::Nested,
        Form::ByTwo,
        Form::Sometimes,
        Form::Back,
        Form::OuterState,
    ];

    fn streams(self) -> usize {
        match self {
            Form::ByTwo | Form::Sometimes | Form::Back | Form::OuterState => 0,
            Form::Moved | Form::Condition | Form::Nested => 2,
            _ => 1,
        }
    }
}

/// A kernel whose lanes combine `count` elements of a table from `first` on.
struct Program {
    builder: Builder,
    form: Form,
    index: Type,
    table: ParamId,
    first: Value,
    count: Value,
    mask: Value,
}

impl Program {
    /// The parameters are the table, the first indices, the counts, a mask, and the result.
    fn kernel(form: Form, element: Type, index: Type) -> Kernel {
        let mut builder = Builder::new();
        let table = builder.buffer(element, Access::Read);
        let [firsts, counts] = [index, Type::U32].map(|ty| builder.buffer(ty, Access::Read));
        let masks = builder.buffer(Type::Bool, Access::Read);
        let [first, count, mask] = [firsts, counts, masks].map(|buffer| builder.load(buffer));
        let mut program = Program { builder, form, index, table, first, count, mask };
        let zero = program.builder.constant(element, 0);
        let sum = program.sum(zero);
        let output = program.builder.buffer(element, Access::Write);
        program.builder.store(output, sum);
        program.builder.finish()
    }

    fn sum(&mut self, zero: Value) -> Value {
        let (element, counter) = (self.builder.kernel().ty(zero), self.builder.constant(Type::U32, 0));
        let (condition, params) = self.builder.open_region(&[self.index, Type::U32, element]);
        let [state, turn, sum] = params[..] else { unreachable!("three parameters") };
        let mut goes_on = self.builder.compare(CompareOp::Lt, turn, self.count);
        if self.form == Form::Condition {
            let found = self.builder.gather(self.table, state, None);
            let is_other = self.builder.compare(CompareOp::Ne, found, zero);
            goes_on = self.builder.binary(BinaryOp::And, goes_on, is_other);
        }
        self.builder.close_region(vec![goes_on]);
        let (body, _) = self.builder.open_region(&[]);
        let found = self.found(state, turn, zero);
        let doubled = self.builder.binary(BinaryOp::Add, sum, sum);
        let next_sum = self.builder.binary(BinaryOp::Add, doubled, found);
        let one = self.builder.constant(Type::U32, 1);
        let next_turn = self.builder.binary(BinaryOp::Add, turn, one);
        let next_state = self.next(state);
        self.builder.close_region(vec![next_state, next_turn, next_sum]);
        self.builder.loop_(vec![self.first, counter, zero], condition, body)[2]
    }

    fn next(&mut self, state: Value) -> Value {
        let distance = match self.form {
            Form::ByTwo => 2,
            Form::Back => self.index.bit_mask(),
            _ => 1,
        };
        let distance = self.builder.constant(self.index, distance);
        let next = self.builder.binary(BinaryOp::Add, state, distance);
        match self.form {
            Form::Sometimes => self.builder.select(self.mask, next, state),
            _ => next,
        }
    }

    /// What an iteration adds.
    fn found(&mut self, state: Value, turn: Value, zero: Value) -> Value {
        let table = self.table;
        match self.form {
            Form::Cast(ty) => {
                let index = self.builder.cast(ty, state);
                self.builder.gather(table, index, None)
            }
            Form::Moved => {
                let [before, behind] = [self.index.bit_mask() - 1, 3].map(|distance| {
                    let distance = self.builder.constant(self.index, distance);
                    let index = self.builder.binary(BinaryOp::Add, distance, state);
                    self.builder.gather(table, index, None)
                });
                self.builder.binary(BinaryOp::Sub, before, behind)
            }
            Form::FromFirst => {
                let turn = self.builder.cast(self.index, turn);
                let index = self.builder.binary(BinaryOp::Add, self.first, turn);
                self.builder.gather(table, index, None)
            }
            Form::Masked => self.builder.gather(table, state, Some(self.mask)),
            Form::Branch => self.in_branch(state, turn, zero),
            Form::Nested | Form::OuterState => {
                let inner = self.inner(state, turn, zero);
                if self.form == Form::OuterState {
                    return inner;
                }
                let outer = self.builder.gather(table, state, None);
                self.builder.binary(BinaryOp::Add, inner, outer)
            }
            _ => self.builder.gather(table, state, None),
        }
    }

    fn in_branch(&mut self, state: Value, turn: Value, zero: Value) -> Value {
        // Others in each iteration, and none in the first ones.
        let lane = self.builder.lane_index();
        let three = self.builder.constant(Type::U32, 3);
        let sum = self.builder.binary(BinaryOp::Add, lane, turn);
        let part = self.builder.binary(BinaryOp::And, sum, three);
        let is_taken = self.builder.compare(CompareOp::Lt, part, turn);
        let (then_region, _) = self.builder.open_region(&[]);
        let found = self.builder.gather(self.table, state, None);
        self.builder.close_region(vec![found]);
        let (else_region, _) = self.builder.open_region(&[]);
        self.builder.close_region(vec![zero]);
        self.builder.if_(is_taken, then_region, else_region)[0]
    }

    /// As many elements as there were iterations.
    fn inner(&mut self, outer_state: Value, turn: Value, zero: Value) -> Value {
        let (element, counter) = (self.builder.kernel().ty(zero), self.builder.constant(Type::U32, 0));
        let (condition, params) = self.builder.open_region(&[self.index, Type::U32, element]);
        let [state, number, sum] = params[..] else { unreachable!("three parameters") };
        let goes_on = self.builder.compare(CompareOp::Lt, number, turn);
        self.builder.close_region(vec![goes_on]);
        let (body, _) = self.builder.open_region(&[]);
        let at = if self.form == Form::Nested { state } else { outer_state };
        let found = self.builder.gather(self.table, at, None);
        let next_sum = self.builder.binary(BinaryOp::Add, sum, found);
        let [one, index_one] = [Type::U32, self.index].map(|ty| self.builder.constant(ty, 1));
        let next_number = self.builder.binary(BinaryOp::Add, number, one);
        let next_state = self.builder.binary(BinaryOp::Add, state, index_one);
        self.builder.close_region(vec![next_state, next_number, next_sum]);
        self.builder.loop_(vec![self.first, counter, zero], condition, body)[2]
    }
}

const WIDTH: usize = 150;

/// First indices near the ends of a table, and near the ends of the type.
fn firsts(index: Type, length: usize, salt: usize) -> impl Iterator<Item = u64> {
    let ends = [0, index.bit_mask() >> 1, index.bit_mask()];
    (0..WIDTH).map(move |lane| {
        let mixed = (lane * 7 + salt * 13) % 61;
        match lane % 50 {
            11 if salt % 2 == 1 => ends[lane % 3].wrapping_sub(mixed as u64 % 12) & index.bit_mask(),
            12 if salt % 2 == 1 => length.saturating_sub(mixed % 20) as u64,
            _ => (mixed * length / 80) as u64,
        }
    })
}

fn check_all(form: Form, element: Type, index: Type) {
    let kernel = Program::kernel(form, element, index);
    crate::ir::verify(&kernel).unwrap_or_else(|error| panic!("{form:?}: {error}\n{kernel}"));
    for target in variants() {
        let streams = Analysis::new(&kernel, target.lanes).streams.loops.len();
        assert_eq!(streams, form.streams(), "{form:?} of {element} at {index}");
    }
    let lengths: &[usize] = if form == Form::State { &[0, 1, 7, 8, 9, 40, 100, 1000] } else { &[8, 100] };
    let cases = lengths.iter().enumerate().flat_map(|(number, &length)| {
        let salts = [number + 1, number + 8];
        salts.map(|salt| case(&kernel, element, index, length, salt))
    });
    check_on_each_target(&cases.collect::<Vec<_>>(), CodeOptions::default())
        .unwrap_or_else(|error| panic!("{form:?} of {element} at {index}: {error}"));
}

fn case(kernel: &Kernel, element: Type, index: Type, length: usize, salt: usize) -> Case {
    let most = if salt.is_multiple_of(3) { 40 } else { 12 };
    let inputs = vec![
        bytes((0..length).map(|at| if at % 17 == 16 { 0 } else { at as u64 * 3 + 1 }), element),
        bytes(firsts(index, length, salt), index),
        bytes((0..WIDTH as u64).map(|lane| lane * 31 % most), Type::U32),
        bytes((0..WIDTH as u64).map(|lane| u64::from(lane % 3 != 1)), Type::Bool),
        bytes(std::iter::repeat_n(0, WIDTH), element),
    ];
    Case { seed: (length * 100 + salt) as u64, kernel: kernel.clone(), width: WIDTH, inputs }
}

#[test]
fn streams_are_read_where_they_are_and_nowhere_else() {
    for form in Form::ALL {
        check_all(form, Type::U32, Type::U32);
    }
    for (element, index) in [(Type::I64, Type::I32), (Type::U8, Type::U64), (Type::I16, Type::I64)] {
        for form in [Form::State, Form::FromFirst, Form::Branch, Form::Nested] {
            check_all(form, element, index);
        }
    }
}

/// Indices that wrap at 2^8 do not advance by one.
#[test]
fn narrow_states_are_no_streams() {
    for (element, index) in [(Type::U32, Type::U8), (Type::U32, Type::I16)] {
        let kernel = Program::kernel(Form::Cast(Type::U64), element, index);
        assert!(Analysis::new(&kernel, 8).streams.loops.is_empty(), "{element} at {index}");
    }
}
