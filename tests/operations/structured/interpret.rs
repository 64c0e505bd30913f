//! The interpreter of programs: one text, compiled as plain Rust and with `#[jit]`.

/// Defines the functions in a module for one lane at a time, and annotated in a module for all of them. Functions that
/// end in a loop are followed by the attributes of that loop.
macro_rules! twice {
    (
        { $(fn $name:ident $arguments:tt -> $result:ident $body:tt)* }
        { $(fn $looping:ident $loop_arguments:tt -> $loop_result:ident { $($before:tt)* } loop { $($loop:tt)* }
            $(#[$mode:ident])*;)* }
    ) => {
        #[allow(clippy::clone_on_copy, clippy::collapsible_if, reason = "the same code is for arrays")]
        pub(in crate::structured) mod plain {
            use super::super::host::{Memory, Scratch, Word};
            use super::super::program::{
                self, Block, Condition, FloatOp, INSTANCES, IntOp, LANES, Mode, Outcome, Program, REMOVED, Range,
                SCRATCH, SHARED,
                Statement, float_bits,
            };

            type Int = Word;
            type Float = f32;
            type Mask = bool;
            type Unit = ();

            /// A number that Rust counts to, and matches.
            struct Number(i32);

            impl From<Int> for Number {
                fn from(word: Int) -> Self {
                    Number(word.0)
                }
            }

            struct State<'t> {
                ints: Vec<Int>,
                floats: Vec<Float>,
                flags: Vec<Mask>,
                lane: Int,
                /// Zero in each lane, which is unknown to the compiler.
                zero: Int,
                table: &'t Memory,
                own: Memory,
                scratch: Scratch,
                shared: Memory,
            }

            fn call(index: &Int, targets: &[program::Int], s: &State<'_>) -> Int {
                let target = usize::try_from(index.0).ok().and_then(|index| targets.get(index));
                target.map_or(Word(0), |target| int(target, s))
            }

            /// The fields of the instance of an id, and whether it is the first of its kind.
            fn instance(id: &Int) -> Option<(bool, i32)> {
                let id = u32::try_from(id.0).ok().filter(|&id| id != REMOVED)?;
                let held = INSTANCES.get(id.checked_sub(1)? as usize)?;
                Some((id % 2 == 1, *held))
            }

            fn method(id: &Int, x: &Int, s: &State<'_>) -> Int {
                match instance(id) {
                    Some((true, held)) => *x * 3 + held,
                    Some((false, held)) => {
                        let mut y = x.0 & 15;
                        while y < held.wrapping_add(4) {
                            y = y * 2 + 1;
                        }
                        Word(y) + s.zero
                    }
                    None => Word(0),
                }
            }

            fn hit(id: &Int, place: &Int, value: &Int, s: &mut State<'_>) {
                match instance(id) {
                    Some((true, held)) => s.shared.scatter_add(&(*value + held), place),
                    Some((false, _)) => {
                        for iteration in 0..value.0 & 3 {
                            s.shared.scatter_add(&Word(iteration + 1), place);
                        }
                    }
                    None => {}
                }
            }

            fn run(index: &Int, blocks: &[Block], s: &mut State<'_>) {
                if let Some(chosen) = usize::try_from(index.0).ok().and_then(|index| blocks.get(index)) {
                    block(chosen, s);
                }
            }

            $(fn $name $arguments -> $result $body)*

            $(fn $looping $loop_arguments -> $loop_result { $($before)* $($loop)* })*

            /// The final state of a program, one lane after another.
            pub(in crate::structured) fn outcome(program: &Program) -> Outcome {
                let mut shared = Memory(vec![0; SHARED]);
                let lanes: Vec<Vec<(String, u32)>> = (0..LANES).map(|lane| {
                    let mut state = State {
                        ints: program.ints.iter().map(|begin| Word(begin.at(lane))).collect(),
                        floats: program.floats.iter().map(|begin| begin.at(lane) as f32 * 0.5).collect(),
                        flags: vec![false; program::VARIABLES],
                        lane: Word(lane as i32),
                        zero: Word(0),
                        table: &Memory(program.table.to_vec()),
                        own: Memory(vec![0; LANES]),
                        scratch: Scratch(vec![0; SCRATCH]),
                        shared: shared.clone(),
                    };
                    block(&program.body, &mut state);
                    shared = state.shared;
                    let ints = state.ints.iter().enumerate().map(|(i, value)| (format!("i{i}"), value.0 as u32));
                    let floats = state.floats.iter().enumerate().map(|(i, value)| (format!("x{i}"),
                        float_bits(*value)));
                    let flags = state.flags.iter().enumerate().map(|(i, value)| (format!("b{i}"), u32::from(*value)));
                    let own = [("own".to_owned(), state.own.0[lane] as u32)];
                    let scratch = state.scratch.0.iter().enumerate().map(|(i, value)| (format!("scratch{i}"),
                        *value as u32));
                    ints.chain(floats).chain(flags).chain(own).chain(scratch).collect()
                }).collect();
                let of_variable = |index: usize| {
                    (lanes[0][index].0.clone(), std::array::from_fn(|lane| lanes[lane][index].1))
                };
                Outcome {
                    variables: (0..lanes[0].len()).map(of_variable).collect(),
                    shared: std::array::from_fn(|place| shared.0[place] as u32),
                }
            }
        }

        #[allow(clippy::collapsible_if, reason = "one condition belongs to the host, the other to the lanes")]
        pub(in crate::structured) mod traced {
            use super::super::program::{
                self, Begin, Block, Condition, FloatOp, INSTANCES, IntOp, LANES, Mode, Outcome, Program, REMOVED, Range,
                SCRATCH, SHARED,
                Statement, float_bits,
            };
            use jit::prelude::*;

            type Unit = ();

            /// A number that lanes count to, and match.
            struct Number(Int);

            impl From<Int> for Number {
                fn from(array: Int) -> Self {
                    Number(array)
                }
            }

            #[derive(Traverse)]
            pub(super) struct State<'t> {
                ints: Vec<Int>,
                floats: Vec<Float>,
                flags: Vec<Mask>,
                lane: Int,
                /// Zero in each lane, which is unknown to the compiler.
                zero: Int,
                table: &'t Int,
                own: Int,
                scratch: Local<i32>,
                shared: Int,
                #[traverse(skip)]
                instances: &'t Instances<dyn Method>,
            }

            /// The methods that a program calls through pointers.
            #[jit(dispatch)]
            pub(super) trait Method {
                fn apply(&self, x: &Int, zero: &Int) -> Int;
                fn hit(&self, shared: &mut Int, place: &Int, value: &Int);
            }

            #[derive(Traverse)]
            struct Multiplies {
                held: Int,
            }

            #[derive(Traverse)]
            struct Doubles {
                held: Int,
            }

            #[jit]
            impl Method for Multiplies {
                fn apply(&self, x: &Int, _zero: &Int) -> Int {
                    x * 3 + self.held
                }

                fn hit(&self, shared: &mut Int, place: &Int, value: &Int) {
                    shared.scatter_add(value + self.held, place);
                }
            }

            #[jit]
            impl Method for Doubles {
                fn apply(&self, x: &Int, zero: &Int) -> Int {
                    let mut y = x & 15;
                    while y < self.held + 4 {
                        y = y * 2 + 1;
                    }
                    y + zero
                }

                fn hit(&self, shared: &mut Int, place: &Int, value: &Int) {
                    for iteration in 0..value & 3 {
                        shared.scatter_add(iteration + 1, place);
                    }
                }
            }

            /// Alternates between values in memory, opaque ones and literals.
            fn instances() -> Instances<dyn Method> {
                let mut all: Instances<dyn Method> = Instances::new();
                for (held, id) in INSTANCES.into_iter().zip(1..) {
                    let held = match id % 3 {
                        0 => Int::from(held),
                        1 => Int::opaque(held),
                        _ => Int::from([held]),
                    };
                    let instance: Box<dyn Method> =
                        if id % 2 == 1 { Box::new(Multiplies { held }) } else { Box::new(Doubles { held }) };
                    assert_eq!(all.push(instance), id);
                }
                all.remove(REMOVED);
                all
            }

            fn call(index: &Int, targets: &[program::Int], s: &State<'_>) -> Int {
                let functions: Vec<_> = targets.iter().map(|target| move |zero: Int| int(target, s) + zero).collect();
                jit::switch(index, &functions, (s.zero.clone(),))
            }

            fn method(id: &Int, x: &Int, s: &State<'_>) -> Int {
                s.instances.at(&id.cast::<u32>()).apply(x, &s.zero)
            }

            fn hit(id: &Int, place: &Int, value: &Int, s: &mut State<'_>) {
                s.instances.at(&id.cast::<u32>()).hit(&mut s.shared, place, value);
            }

            /// A block that is called as a method.
            #[jit(dispatch)]
            pub(super) trait Runs {
                fn run(&self, s: &mut State<'_>);
            }

            #[derive(Traverse)]
            struct Runner {
                #[traverse(skip)]
                block: Block,
            }

            #[jit]
            impl Runs for Runner {
                fn run(&self, s: &mut State<'_>) {
                    block(&self.block, s);
                }
            }

            fn run(index: &Int, blocks: &[Block], s: &mut State<'_>) {
                let runner = |block: &Block| Box::new(Runner { block: block.clone() }) as Box<dyn Runs>;
                let runners: Instances<dyn Runs> = blocks.iter().map(runner).collect();
                runners.at(&(index + 1).cast::<u32>()).run(s);
            }

            $(#[jit] fn $name $arguments -> $result $body)*

            $(#[jit] fn $looping $loop_arguments -> $loop_result { $($before)* $(#[$mode])* $($loop)* })*

            fn begin<T: jit::Element>(begin: &Begin, value: impl Fn(i32) -> T) -> Array<T> {
                match begin {
                    Begin::Literal(number) => Array::from(value(*number)),
                    Begin::Opaque(number) => Array::opaque(value(*number)),
                    Begin::Lanes(numbers) => Array::from(numbers.map(value)),
                }
            }

            fn read<T: jit::Element>(
                name: char,
                arrays: &[Array<T>],
                bits: impl Fn(T) -> u32,
            ) -> jit::Result<Vec<(String, [u32; LANES])>> {
                let one = |(i, array): (usize, &Array<T>)| {
                    let values = array.to_vec()?;
                    let at = |lane: usize| bits(values[if values.len() == 1 { 0 } else { lane }]);
                    Ok((format!("{name}{i}"), std::array::from_fn(at)))
                };
                arrays.iter().enumerate().map(one).collect()
            }

            /// The final state of a program, all lanes at once.
            pub(in crate::structured) fn outcome(program: &Program) -> jit::Result<Outcome> {
                let (table, instances) = (Int::from(program.table), instances());
                let mut state = State {
                    ints: program.ints.iter().map(|start| begin(start, |number| number)).collect(),
                    floats: program.floats.iter().map(|start| begin(start, |number| number as f32 * 0.5)).collect(),
                    flags: vec![Mask::from(false); program::VARIABLES],
                    lane: Int::arange(LANES),
                    zero: Int::from([0; LANES]),
                    table: &table,
                    own: Int::zeros(LANES),
                    scratch: Local::<i32>::new(SCRATCH),
                    shared: Int::zeros(SHARED),
                    instances: &instances,
                };
                block(&program.body, &mut state);
                let scratch: Vec<Int> = (0..SCRATCH).map(|place| state.scratch.read(&Int::from(place as
                    i32))).collect();
                jit::eval(&(&state.ints, &state.floats, &state.flags, &state.own, &scratch, &state.shared))?;
                let mut variables = read('i', &state.ints, |value| value as u32)?;
                variables.extend(read('x', &state.floats, float_bits)?);
                variables.extend(read('b', &state.flags, u32::from)?);
                let own = state.own.to_vec()?;
                variables.push(("own".to_owned(), std::array::from_fn(|lane| own[lane] as u32)));
                let of_scratch = read('s', &scratch, |value| value as u32)?;
                variables.extend(of_scratch.into_iter().enumerate().map(|(i, (_, values))| (format!("scratch{i}"),
                    values)));
                let shared = state.shared.to_vec()?;
                Ok(Outcome { variables, shared: std::array::from_fn(|place| shared[place] as u32) })
            }
        }
    };
}

/// The same loop in several modes, and over several ranges.
macro_rules! loops {
    (
        modes { $($name:ident $(#[$mode:ident])*;)* }
        ranges { $($count:ident |$start:ident, $end:ident| $range:expr;)* }
        { $($functions:tt)* }
    ) => {
        twice! {
            { $($functions)* }
            {
                $(fn $name(iterations: u8, condition: &Condition, body: &Block, s: &mut State<'_>) -> Unit {
                    let iterations = i32::from(iterations);
                    let mut iteration = Int::from(0);
                } loop {
                    'iterations: while iteration < Int::from(iterations) && holds(condition, s) {
                        iteration = iteration + 1;
                        for statement in body {
                            match statement {
                                Statement::BreakIf(leaves) => {
                                    if holds(leaves, s) {
                                        break 'iterations;
                                    }
                                }
                                Statement::ContinueIf(leaves) => {
                                    if holds(leaves, s) {
                                        continue 'iterations;
                                    }
                                }
                                Statement::If(condition, then, otherwise) => {
                                    if holds(condition, s) {
                                        for inner in then {
                                            match inner {
                                                Statement::BreakIf(leaves) => {
                                                    if holds(leaves, s) {
                                                        break 'iterations;
                                                    }
                                                }
                                                Statement::ContinueIf(leaves) => {
                                                    if holds(leaves, s) {
                                                        continue 'iterations;
                                                    }
                                                }
                                                other => step(other, s),
                                            }
                                        }
                                    } else {
                                        block(otherwise, s);
                                    }
                                }
                                other => step(other, s),
                            }
                        }
                    }
                } $(#[$mode])*;)*

                $(fn $count(to: usize, $start: Number, $end: Number, body: &Block, s: &mut State<'_>) -> Unit {} loop {
                    'iterations: for iteration in $range {
                        s.ints[to] = Int::from(iteration.clone());
                        for statement in body {
                            match statement {
                                Statement::BreakIf(leaves) => {
                                    if holds(leaves, s) {
                                        break 'iterations;
                                    }
                                }
                                Statement::ContinueIf(leaves) => {
                                    if holds(leaves, s) {
                                        continue 'iterations;
                                    }
                                }
                                other => step(other, s),
                            }
                        }
                    }
                };)*
            }
        }
    };
}

loops! {
    modes {
        repeat;
        repeat_evaluated #[evaluated];
        repeat_compressed #[evaluated] #[compress];
    }
    ranges {
        count_up |start, end| start.0..end.0;
        count_up_to |start, end| start.0..=end.0;
        count_down |start, end| (start.0..end.0).rev();
        count_down_from |start, end| (start.0..=end.0).rev();
        count_steps |start, end| (start.0..=end.0).step_by(2);
        count_steps_down |start, end| (start.0..end.0).step_by(2).rev();
        count_down_steps |start, end| (start.0..=end.0).rev().step_by(3);
    }
    {
        fn int(value: &program::Int, s: &State<'_>) -> Int {
            match value {
                program::Int::Literal(number) => Int::from(*number),
                program::Int::Variable(index) => s.ints[*index].clone(),
                program::Int::Lane => s.lane.clone(),
                program::Int::Table(place) => s.table.gather(&(int(place, s) & (program::TABLE as i32 - 1))),
                program::Int::Op(op, operands) => int_op(*op, int(&operands.0, s), int(&operands.1, s)),
                program::Int::Call(parts) => call(&int(&parts.0, s), &parts.1, s),
                program::Int::Method(parts) => method(&(int(&parts.0, s) & 7), &int(&parts.1, s), s),
                // A position that the compiler knows to be out of range is an error.
                program::Int::Scratch(place) => s.scratch.read(&(int(place, s) + s.zero)),
                program::Int::Choose(parts) => {
                    if holds(&parts.0, s) { int(&parts.1, s) } else { int(&parts.2, s) }
                }
            }
        }

        fn int_op(op: IntOp, a: Int, b: Int) -> Int {
            match op {
                IntOp::Add => a + b,
                IntOp::Sub => a - b,
                IntOp::Mul => a * b,
                IntOp::Div => a / b,
                IntOp::Rem => a % b,
                IntOp::Min => a.min(b),
                IntOp::Max => a.max(b),
                IntOp::And => a & b,
                IntOp::Or => a | b,
                IntOp::Xor => a ^ b,
                IntOp::Shl => a << (b & 31),
                IntOp::Shr => a >> (b & 31),
            }
        }

        fn float(value: &program::Float, s: &State<'_>) -> Float {
            match value {
                program::Float::Literal(number) => Float::from(*number),
                program::Float::Variable(index) => s.floats[*index].clone(),
                program::Float::FromInt(value) => int(value, s).cast::<f32>(),
                program::Float::Op(op, operands) => float_op(*op, float(&operands.0, s), float(&operands.1, s)),
                program::Float::Choose(parts) => {
                    if holds(&parts.0, s) { float(&parts.1, s) } else { float(&parts.2, s) }
                }
            }
        }

        fn float_op(op: FloatOp, a: Float, b: Float) -> Float {
            match op {
                FloatOp::Add => a + b,
                FloatOp::Sub => a - b,
                FloatOp::Mul => a * b,
                FloatOp::Div => a / b,
                FloatOp::Smaller => if a < b { a } else { b },
                FloatOp::Larger => if a > b { a } else { b },
            }
        }

        fn holds(condition: &Condition, s: &State<'_>) -> Mask {
            match condition {
                Condition::Flag(index) => s.flags[*index].clone(),
                Condition::Less(a, b) => int(a, s) < int(b, s),
                Condition::Equal(a, b) => int(a, s) == int(b, s),
                Condition::Below(a, b) => float(a, s) < float(b, s),
                Condition::Not(condition) => !holds(condition, s),
                Condition::And(sides) => holds(&sides.0, s) && holds(&sides.1, s),
                Condition::Or(sides) => holds(&sides.0, s) || holds(&sides.1, s),
            }
        }

        fn block(statements: &Block, s: &mut State<'_>) -> Unit {
            for statement in statements {
                if let Statement::ReturnIf(condition) = statement {
                    if holds(condition, s) {
                        return;
                    }
                }
                step(statement, s);
            }
        }

        fn step(statement: &Statement, s: &mut State<'_>) -> Unit {
            match statement {
                Statement::SetInt(to, value) => s.ints[*to] = int(value, s),
                Statement::SetFloat(to, value) => s.floats[*to] = float(value, s),
                Statement::SetFlag(to, value) => s.flags[*to] = holds(value, s),
                Statement::Store(value) => {
                    let value = int(value, s);
                    s.own.scatter(&value, &s.lane);
                }
                Statement::Add { place, value } => {
                    // Arrays of width 1 are added once, but each lane must add.
                    let place = (int(place, s) & (SHARED as i32 - 1)) + s.zero;
                    let value = int(value, s);
                    s.shared.scatter_add(&value, &place);
                }
                Statement::If(condition, then, otherwise) => {
                    if holds(condition, s) {
                        block(then, s);
                    } else {
                        block(otherwise, s);
                    }
                }
                Statement::Write { place, value } => {
                    let place = int(place, s) + s.zero;
                    let value = int(value, s);
                    s.scratch.write(&place, &value);
                }
                Statement::Hit { id, place, value } => {
                    let id = (int(id, s) & 7) + s.zero;
                    let place = (int(place, s) & (SHARED as i32 - 1)) + s.zero;
                    let value = int(value, s);
                    hit(&id, &place, &value, s);
                }
                Statement::Match(value, blocks) => select(Number::from(int(value, s) & 7), blocks, s),
                Statement::Run(index, blocks) => run(&(int(index, s) & 3), blocks, s),
                Statement::While(Mode::Recorded, iterations, condition, body) => repeat(*iterations, condition, body,
                    s),
                Statement::While(Mode::Evaluated, iterations, condition, body) => repeat_evaluated(*iterations,
                    condition, body, s),
                Statement::While(Mode::Compressed, iterations, condition, body) => repeat_compressed(*iterations,
                    condition, body, s),
                Statement::Loop(iterations, body) => forever(*iterations, body, s),
                Statement::For(range, to, bounds, body) => {
                    let (start, end) = (Number::from((int(&bounds.0, s) & 3) - 2), Number::from(int(&bounds.1, s) & 3));
                    count(*range, *to, start, end, body, s);
                }
                // A lane that has passed over the whole block is done.
                Statement::BreakIf(_) | Statement::ContinueIf(_) | Statement::ReturnIf(_) => {}
            }
        }

        fn select(value: Number, blocks: &[Block; 3], s: &mut State<'_>) -> Unit {
            match value.0 {
                0 => block(&blocks[0], s),
                1 | 2 => block(&blocks[1], s),
                3..=5 => block(&blocks[2], s),
                _ => {}
            }
        }

        fn count(range: Range, to: usize, start: Number, end: Number, body: &Block, s: &mut State<'_>) -> Unit {
            match range {
                Range::Up => count_up(to, start, end, body, s),
                Range::UpTo => count_up_to(to, start, end, body, s),
                Range::Down => count_down(to, start, end, body, s),
                Range::DownFrom => count_down_from(to, start, end, body, s),
                Range::Steps => count_steps(to, start, end, body, s),
                Range::StepsDown => count_steps_down(to, start, end, body, s),
                Range::DownSteps => count_down_steps(to, start, end, body, s),
            }
        }

        fn forever(iterations: u8, body: &Block, s: &mut State<'_>) -> Unit {
            let iterations = i32::from(iterations);
            let mut iteration = Int::from(0);
            'iterations: loop {
                if iteration >= Int::from(iterations) {
                    break;
                }
                iteration = iteration + 1;
                for statement in body {
                    match statement {
                        Statement::BreakIf(leaves) => {
                            if holds(leaves, s) {
                                break 'iterations;
                            }
                        }
                        Statement::ContinueIf(leaves) => {
                            if holds(leaves, s) {
                                continue 'iterations;
                            }
                        }
                        other => step(other, s),
                    }
                }
            }
        }
    }
}
