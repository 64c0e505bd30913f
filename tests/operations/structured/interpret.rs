//! The interpreter of programs: one text, compiled as plain Rust and with `#[jit]`.

/// Defines the functions in a module for one lane at a time, and annotated in a module for all of them.
macro_rules! twice {
    ($(fn $name:ident $arguments:tt -> $result:ident $body:tt)*) => {
        #[allow(clippy::clone_on_copy, clippy::collapsible_if, reason = "the text is that of arrays, too")]
        pub(in crate::structured) mod plain {
            use super::super::host::{Memory, Word};
            use super::super::program::{self, Block, Condition, FloatOp, IntOp, LANES, Outcome, Program, SHARED, Statement, float_bits};

            type Int = Word;
            type Float = f32;
            type Mask = bool;
            type Unit = ();

            struct State<'t> {
                ints: Vec<Int>,
                floats: Vec<Float>,
                flags: Vec<Mask>,
                lane: Int,
                /// Zero in each lane, which the compiler does not know.
                zero: Int,
                table: &'t Memory,
                own: Memory,
                shared: Memory,
            }

            fn call(index: &Int, targets: &[program::Int], s: &State<'_>) -> Int {
                let target = usize::try_from(index.0).ok().and_then(|index| targets.get(index));
                target.map_or(Word(0), |target| int(target, s))
            }

            $(fn $name $arguments -> $result $body)*

            /// What a program leaves behind, one lane after the other.
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
                        shared: shared.clone(),
                    };
                    block(&program.body, &mut state);
                    shared = state.shared;
                    let ints = state.ints.iter().enumerate().map(|(i, value)| (format!("i{i}"), value.0 as u32));
                    let floats = state.floats.iter().enumerate().map(|(i, value)| (format!("x{i}"), float_bits(*value)));
                    let flags = state.flags.iter().enumerate().map(|(i, value)| (format!("b{i}"), u32::from(*value)));
                    let own = [("own".to_owned(), state.own.0[lane] as u32)];
                    ints.chain(floats).chain(flags).chain(own).collect()
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
            use super::super::program::{self, Begin, Block, Condition, FloatOp, IntOp, LANES, Outcome, Program, SHARED, Statement, float_bits};
            use jit::prelude::*;

            type Unit = ();

            #[derive(Traverse)]
            struct State<'t> {
                ints: Vec<Int>,
                floats: Vec<Float>,
                flags: Vec<Mask>,
                lane: Int,
                /// Zero in each lane, which the compiler does not know.
                zero: Int,
                table: &'t Int,
                own: Int,
                shared: Int,
            }

            fn call(index: &Int, targets: &[program::Int], s: &State<'_>) -> Int {
                let functions: Vec<_> = targets.iter().map(|target| move |zero: Int| int(target, s) + zero).collect();
                jit::switch(index, &functions, (s.zero.clone(),))
            }

            $(#[jit] fn $name $arguments -> $result $body)*

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

            /// What a program leaves behind, all lanes at once.
            pub(in crate::structured) fn outcome(program: &Program) -> jit::Result<Outcome> {
                let table = Int::from(program.table);
                let mut state = State {
                    ints: program.ints.iter().map(|start| begin(start, |number| number)).collect(),
                    floats: program.floats.iter().map(|start| begin(start, |number| number as f32 * 0.5)).collect(),
                    flags: vec![Mask::from(false); program::VARIABLES],
                    lane: Int::arange(LANES),
                    zero: Int::from([0; LANES]),
                    table: &table,
                    own: Int::zeros(LANES),
                    shared: Int::zeros(SHARED),
                };
                block(&program.body, &mut state);
                jit::eval(&state)?;
                let mut variables = read('i', &state.ints, |value| value as u32)?;
                variables.extend(read('x', &state.floats, float_bits)?);
                variables.extend(read('b', &state.flags, u32::from)?);
                let own = state.own.to_vec()?;
                variables.push(("own".to_owned(), std::array::from_fn(|lane| own[lane] as u32)));
                let shared = state.shared.to_vec()?;
                Ok(Outcome { variables, shared: std::array::from_fn(|place| shared[place] as u32) })
            }
        }
    };
}

twice! {
    fn int(value: &program::Int, s: &State<'_>) -> Int {
        match value {
            program::Int::Literal(number) => Int::from(*number),
            program::Int::Variable(index) => s.ints[*index].clone(),
            program::Int::Lane => s.lane.clone(),
            program::Int::Table(place) => s.table.gather(&(int(place, s) & (program::TABLE as i32 - 1))),
            program::Int::Op(op, operands) => int_op(*op, int(&operands.0, s), int(&operands.1, s)),
            program::Int::Call(parts) => call(&int(&parts.0, s), &parts.1, s),
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
                // Arrays of width 1 are added once; each lane is to add.
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
            Statement::While(turns, condition, body) => repeat(*turns, condition, body, s),
            Statement::Loop(turns, body) => forever(*turns, body, s),
            Statement::For(to, end, body) => count(*to, int(end, s) & 3, body, s),
            // Who walks over the block has done what there is to do.
            Statement::BreakIf(_) | Statement::ContinueIf(_) | Statement::ReturnIf(_) => {}
        }
    }

    fn repeat(turns: u8, condition: &Condition, body: &Block, s: &mut State<'_>) -> Unit {
        let turns = i32::from(turns);
        let mut turn = Int::from(0);
        'turns: while turn < Int::from(turns) && holds(condition, s) {
            turn = turn + 1;
            for statement in body {
                match statement {
                    Statement::BreakIf(leaves) => {
                        if holds(leaves, s) {
                            break 'turns;
                        }
                    }
                    Statement::ContinueIf(leaves) => {
                        if holds(leaves, s) {
                            continue 'turns;
                        }
                    }
                    Statement::If(condition, then, otherwise) => {
                        if holds(condition, s) {
                            for inner in then {
                                match inner {
                                    Statement::BreakIf(leaves) => {
                                        if holds(leaves, s) {
                                            break 'turns;
                                        }
                                    }
                                    Statement::ContinueIf(leaves) => {
                                        if holds(leaves, s) {
                                            continue 'turns;
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
    }

    fn count(to: usize, end: Int, body: &Block, s: &mut State<'_>) -> Unit {
        let mut turn = Int::from(0);
        'turns: while turn < end {
            s.ints[to] = turn.clone();
            turn = turn + 1;
            for statement in body {
                match statement {
                    Statement::BreakIf(leaves) => {
                        if holds(leaves, s) {
                            break 'turns;
                        }
                    }
                    Statement::ContinueIf(leaves) => {
                        if holds(leaves, s) {
                            continue 'turns;
                        }
                    }
                    other => step(other, s),
                }
            }
        }
    }

    fn forever(turns: u8, body: &Block, s: &mut State<'_>) -> Unit {
        let turns = i32::from(turns);
        let mut turn = Int::from(0);
        'turns: loop {
            if turn >= Int::from(turns) {
                break;
            }
            turn = turn + 1;
            for statement in body {
                match statement {
                    Statement::BreakIf(leaves) => {
                        if holds(leaves, s) {
                            break 'turns;
                        }
                    }
                    Statement::ContinueIf(leaves) => {
                        if holds(leaves, s) {
                            continue 'turns;
                        }
                    }
                    other => step(other, s),
                }
            }
        }
    }
}
