//! Scatters that advance by one in each iteration of a loop, which write to windows, against the interpreter: in each
//! place of a loop, for rows that are apart and that overlap, around the ends of buffers and of the index's type.

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, ParamId, ReduceOp, Type, Value};

/// Where and how a loop scatters.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// At a lane's first element plus a counter.
    FromFirst,
    /// At a state that advances.
    State,
    /// In a branch around the loop that some lanes take.
    BranchAround,
    /// In a loop inside the loop.
    Nested,
    /// To two buffers.
    Two,
    /// In a loop that lanes leave at different times.
    Divergent,
    /// Where a mask is on.
    Masked,
    /// In a branch that some lanes take in some iterations.
    Branch,
    /// Twice to the same buffer.
    Twice,
    /// At a state that advances by two.
    ByTwo,
    /// Combined with what is there.
    Reduces,
}

impl Form {
    const ALL: [Form; 11] = [
        Form::FromFirst,
        Form::State,
        Form::BranchAround,
        Form::Nested,
        Form::Two,
        Form::Divergent,
        Form::Masked,
        Form::Branch,
        Form::Twice,
        Form::ByTwo,
        Form::Reduces,
    ];

    fn streams(self) -> usize {
        match self {
            Form::FromFirst | Form::State | Form::BranchAround | Form::Nested => 1,
            Form::Two => 2,
            _ => 0,
        }
    }
}

/// A kernel whose lanes write `count` elements to a table from `first` on.
struct Program {
    builder: Builder,
    form: Form,
    index: Type,
    element: Type,
    tables: [ParamId; 2],
    first: Value,
    count: Value,
}

impl Program {
    /// The parameters are two tables, the first indices, and the count.
    fn kernel(form: Form, element: Type, index: Type) -> Kernel {
        let mut builder = Builder::new();
        let tables = [(); 2].map(|()| builder.buffer(element, Access::ReadWrite));
        let firsts = builder.buffer(index, Access::Read);
        let count = builder.scalar_param(Type::U32);
        let (first, count) = (builder.load(firsts), builder.scalar(count));
        let mut program = Program { builder, form, index, element, tables, first, count };
        let zero = program.builder.constant(Type::U32, 0);
        if form == Form::BranchAround {
            let chosen = program.is_odd(zero);
            let (then_region, _) = program.builder.open_region(&[]);
            program.writing_loop();
            program.builder.close_region(vec![]);
            let (else_region, _) = program.builder.open_region(&[]);
            program.builder.close_region(vec![]);
            program.builder.if_(chosen, then_region, else_region);
        } else {
            program.writing_loop();
        }
        program.builder.finish()
    }

    /// Whether a lane's number plus another is odd.
    fn is_odd(&mut self, other: Value) -> Value {
        let lane = self.builder.lane_index();
        let [zero, one] = [0, 1].map(|number| self.builder.constant(Type::U32, number));
        let sum = self.builder.binary(BinaryOp::Add, lane, other);
        let low = self.builder.binary(BinaryOp::And, sum, one);
        self.builder.compare(CompareOp::Ne, low, zero)
    }

    fn writing_loop(&mut self) {
        let counter = self.builder.constant(Type::U32, 0);
        let (condition, params) = self.builder.open_region(&[self.index, Type::U32]);
        let [state, turn] = params[..] else { unreachable!("two parameters") };
        let mut end = self.count;
        if self.form == Form::Divergent {
            let lane = self.builder.lane_index();
            let seven = self.builder.constant(Type::U32, 7);
            let fewer = self.builder.binary(BinaryOp::And, lane, seven);
            end = self.builder.binary(BinaryOp::Add, end, fewer);
        }
        let goes_on = self.builder.compare(CompareOp::Lt, turn, end);
        self.builder.close_region(vec![goes_on]);
        let (body, _) = self.builder.open_region(&[]);
        self.write(state, turn);
        let one = self.builder.constant(Type::U32, 1);
        let step = self.builder.constant(self.index, if self.form == Form::ByTwo { 2 } else { 1 });
        let next_turn = self.builder.binary(BinaryOp::Add, turn, one);
        let next_state = self.builder.binary(BinaryOp::Add, state, step);
        self.builder.close_region(vec![next_state, next_turn]);
        self.builder.loop_(vec![self.first, counter], condition, body);
    }

    fn write(&mut self, state: Value, turn: Value) {
        match self.form {
            Form::FromFirst => {
                let turn_as_index = self.builder.cast(self.index, turn);
                let index = self.builder.binary(BinaryOp::Add, self.first, turn_as_index);
                self.scatter(0, index, turn, None);
            }
            Form::Nested => self.inner_loop(state, turn),
            Form::Two | Form::Twice => {
                self.scatter(0, state, turn, None);
                let three = self.builder.constant(self.index, 3);
                let index = self.builder.binary(BinaryOp::Add, state, three);
                self.scatter(usize::from(self.form == Form::Two), index, turn, None);
            }
            Form::Masked => {
                let mask = self.is_odd(turn);
                self.scatter(0, state, turn, Some(mask));
            }
            Form::Branch => {
                let chosen = self.is_odd(turn);
                let (then_region, _) = self.builder.open_region(&[]);
                self.scatter(0, state, turn, None);
                self.builder.close_region(vec![]);
                let (else_region, _) = self.builder.open_region(&[]);
                self.builder.close_region(vec![]);
                self.builder.if_(chosen, then_region, else_region);
            }
            _ => self.scatter(0, state, turn, None),
        }
    }

    /// As many elements as there were iterations.
    fn inner_loop(&mut self, state: Value, turn: Value) {
        let counter = self.builder.constant(Type::U32, 0);
        let (condition, params) = self.builder.open_region(&[self.index, Type::U32]);
        let [place, number] = params[..] else { unreachable!("two parameters") };
        let goes_on = self.builder.compare(CompareOp::Lt, number, turn);
        self.builder.close_region(vec![goes_on]);
        let (body, _) = self.builder.open_region(&[]);
        let sum = self.builder.binary(BinaryOp::Add, turn, number);
        self.scatter(0, place, sum, None);
        let [one, index_one] = [Type::U32, self.index].map(|ty| self.builder.constant(ty, 1));
        let next_number = self.builder.binary(BinaryOp::Add, number, one);
        let next_place = self.builder.binary(BinaryOp::Add, place, index_one);
        self.builder.close_region(vec![next_place, next_number]);
        self.builder.loop_(vec![state, counter], condition, body);
    }

    /// Writes a value that tells lane and iteration.
    fn scatter(&mut self, table: usize, index: Value, turn: Value, mask: Option<Value>) {
        let lane = self.builder.lane_index();
        let hundred = self.builder.constant(Type::U32, 100);
        let of_lane = self.builder.binary(BinaryOp::Mul, lane, hundred);
        let sum = self.builder.binary(BinaryOp::Add, of_lane, turn);
        let value = self.builder.cast(self.element, sum);
        let reduce = (self.form == Form::Reduces).then_some(ReduceOp::Add);
        self.builder.scatter(reduce, self.tables[table], index, value, mask);
    }
}

const WIDTH: usize = 144;

/// How the first elements of lanes lie.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Layout {
    /// Rows follow each other.
    Rows,
    /// The last lane has the first row.
    Backward,
    /// Those of four lanes overlap.
    Overlapping,
    /// Some reach over the ends of the table, or of the type.
    Outside,
}

impl Layout {
    const ALL: [Layout; 4] = [Layout::Rows, Layout::Backward, Layout::Overlapping, Layout::Outside];

    fn firsts(self, index: Type, count: usize, length: usize) -> impl Iterator<Item = u64> {
        let row = 2 * count + 16;
        (0..WIDTH).map(move |lane| match self {
            Layout::Rows => lane * row,
            Layout::Backward => (WIDTH - lane) * row,
            // Lanes whose rows overlap are in one group, whose size is a multiple of four.
            Layout::Overlapping => lane / 4 * 4 * row + [0, 3, 3, 9][lane % 4],
            Layout::Outside => match lane {
                0 => index.bit_mask() as usize - 4,
                20 => (index.bit_mask() >> 1) as usize - 2,
                WIDTH.. => unreachable!("there are fewer lanes"),
                _ if lane + 1 == WIDTH => length - 5,
                _ => lane * row,
            },
        } as u64 & index.bit_mask())
    }
}

fn case(kernel: &Kernel, element: Type, index: Type, layout: Layout, count: usize) -> Case {
    let length = (WIDTH + 1) * (2 * count + 16);
    let table = || bytes((0..length as u64).map(|at| at % 100), element);
    let firsts = bytes(layout.firsts(index, count, length), index);
    let inputs = vec![table(), table(), firsts, Input::Scalar(count as u64)];
    Case { seed: (count * 10) as u64, kernel: kernel.clone(), width: WIDTH, inputs }
}

fn check_all(form: Form, element: Type, index: Type) {
    let kernel = Program::kernel(form, element, index);
    crate::ir::verify(&kernel).unwrap_or_else(|error| panic!("{form:?}: {error}\n{kernel}"));
    for target in variants() {
        let streams = Analysis::new(&kernel, target.lanes).streams.written_count();
        assert_eq!(streams, form.streams(), "{form:?} of {element} at {index}");
    }
    for layout in Layout::ALL {
        let cases = [0, 1, 7, 8, 9, 16, 29].map(|count| case(&kernel, element, index, layout, count));
        let checked = match layout {
            Layout::Overlapping => check_in_one_piece(&cases),
            _ => check_on_each_target(&cases, CodeOptions::default()),
        };
        checked.unwrap_or_else(|error| panic!("{form:?} of {element} at {index}, {layout:?}: {error}"));
    }
}

/// Which lane is the last to write an element depends on the first lane of a piece.
fn check_in_one_piece(cases: &[Case]) -> Result<(), String> {
    for (case, target) in cases.iter().flat_map(|case| variants().into_iter().map(move |target| (case, target))) {
        let expected = case.run(&crate::backend::interpreter::prepare(case.kernel.clone()), None);
        let executable = compile_form(&case.kernel, false, CodeOptions::default(), &target)?;
        case.compare(&expected, &case.run(&executable, None))?;
    }
    Ok(())
}

#[test]
fn streams_are_written_where_nothing_else_sees_them() {
    for form in Form::ALL {
        check_all(form, Type::U32, Type::U32);
    }
    for (element, index) in [
        (Type::I64, Type::I32),
        (Type::U8, Type::U64),
        (Type::I16, Type::I64),
        (Type::F32, Type::U32),
        (Type::F64, Type::U32),
    ] {
        for form in [Form::FromFirst, Form::BranchAround] {
            check_all(form, element, index);
        }
    }
}

/// Lanes of a group take turns iteration by iteration, so the last to write an element is known, also where only lanes
/// of different packets write it.
#[test]
fn rows_of_two_packets_may_overlap() {
    const LANES: usize = 192;
    const COUNT: usize = 29;
    const ROW: usize = 32;
    let kernel = Program::kernel(Form::FromFirst, Type::U32, Type::U32);
    let length = LANES * ROW;
    for target in variants() {
        let first = |lane: usize| match lane.is_multiple_of(target.lanes) {
            true => (lane * ROW).saturating_sub(ROW - 6),
            false => lane * ROW,
        };
        let table = || bytes(std::iter::repeat_n(0, length), Type::U32);
        let firsts = bytes((0..LANES).map(|lane| first(lane) as u64), Type::U32);
        let inputs = vec![table(), table(), firsts, Input::Scalar(COUNT as u64)];
        let case = Case { seed: 1, kernel: kernel.clone(), width: LANES, inputs };
        let executable = compile_form(&kernel, false, CodeOptions::default(), &target).unwrap();
        let group = executable.lanes_per_step();
        let mut wanted = vec![0_u32; length];
        for lanes in (0..LANES).step_by(group).map(|lane| lane..lane + group) {
            for turn in 0..COUNT {
                lanes.clone().for_each(|lane| wanted[first(lane) + turn] = (lane * 100 + turn) as u32);
            }
        }
        let found = &case.run(&executable, None)[0];
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, u32>(found), wanted, "groups of {group}");
    }
}
