//! What programs compute, lane by lane.

use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::Results;
use super::program::{Bounds, Condition, FEW, KINDS, Place, Program, SCRATCH, SHARED, Source, Statement, TYPES};

/// One lane of the model.
struct Lane<'a> {
    program: &'a Program,
    tables: &'a [Vec<u64>],
    lane: usize,
    state: [u64; KINDS],
    flag: bool,
    own: [u64; KINDS],
    scratch: [[u64; SCRATCH]; KINDS],
    shared: &'a mut Vec<Vec<u64>>,
    /// Statements that may still run: programs may be long.
    fuel: &'a mut usize,
}

/// How a block ends.
#[derive(PartialEq)]
enum End {
    Normal,
    Break,
    Continue,
}

impl Lane<'_> {
    fn place(&self, place: &Place, counter: u32) -> u32 {
        match place {
            Place::Counter(factor, more) => counter.wrapping_mul(*factor).wrapping_add(*more as u32),
            Place::Down(from) => from.wrapping_sub(counter),
            Place::Listed(place) => {
                let at = self.place(place, counter) as usize;
                self.program.list.get(at).copied().unwrap_or(0)
            }
            Place::Lane(factor, more) => (self.lane as u32).wrapping_mul(*factor).wrapping_add(*more),
            Place::LaneAndCounter(factor) => (self.lane as u32).wrapping_add(counter.wrapping_mul(*factor)),
            Place::State(kind) => scalar::cast(TYPES[*kind], Type::U32, self.state[*kind]) as u32,
        }
    }

    fn source(&self, source: &Source, kind: usize, counter: u32) -> u64 {
        let ty = TYPES[kind];
        match source {
            Source::Literal(number) => scalar::cast(Type::I32, ty, u64::from(*number as u32)),
            Source::Cast(from) => scalar::cast(TYPES[*from], ty, self.state[*from]),
            Source::Table(place) => self.tables[kind].get(self.place(place, counter) as usize).copied().unwrap_or(0),
            Source::Scratch(place) => self.scratch[kind].get(self.place(place, counter) as usize).copied().unwrap_or(0),
            Source::Place(place) => scalar::cast(Type::U32, ty, u64::from(self.place(place, counter))),
        }
    }

    fn holds(&self, condition: &Condition, counter: u32) -> bool {
        match condition {
            Condition::Less(a, b) => {
                let other = scalar::cast(TYPES[*b], TYPES[*a], self.state[*b]);
                scalar::compare(CompareOp::Lt, TYPES[*a], self.state[*a], other)
            }
            Condition::Bit(bit) => (self.lane as u32 ^ counter) >> bit & 1 == 1,
            Condition::Flag => self.flag,
            Condition::NotFlag => !self.flag,
        }
    }

    fn block(&mut self, block: &[Statement], counter: u32) {
        for statement in block {
            self.step(statement, counter);
        }
    }

    /// Runs the body of a loop, which jumps of its own statements may end.
    fn body(&mut self, block: &[Statement], counter: u32) -> End {
        for statement in block {
            match statement {
                Statement::BreakIf(condition) => {
                    if self.holds(condition, counter) {
                        return End::Break;
                    }
                }
                Statement::ContinueIf(condition) => {
                    if self.holds(condition, counter) {
                        return End::Continue;
                    }
                }
                other => self.step(other, counter),
            }
        }
        End::Normal
    }

    fn step(&mut self, statement: &Statement, counter: u32) {
        *self.fuel = self.fuel.saturating_sub(1);
        match statement {
            Statement::Set(kind, op, source) => {
                let value = self.source(source, *kind, counter);
                self.state[*kind] = scalar::binary(*op, TYPES[*kind], self.state[*kind], value);
            }
            Statement::Flag(condition) => self.flag = self.holds(condition, counter),
            Statement::If(condition, then, otherwise) => {
                let block = if self.holds(condition, counter) { then } else { otherwise };
                self.block(block, counter);
            }
            Statement::For(_, bounds, body) => {
                let (begin, end) = self.bounds(bounds, counter);
                for counter in begin..end {
                    if self.body(body, counter) == End::Break || *self.fuel == 0 {
                        break;
                    }
                }
            }
            Statement::While(condition, body) => {
                let mut iteration = 0;
                while iteration < FEW && self.holds(condition, iteration) && *self.fuel > 0 {
                    iteration += 1;
                    if self.body(body, iteration) == End::Break {
                        break;
                    }
                }
            }
            Statement::Add(kind, place, source) => {
                let value = self.source(source, *kind, counter);
                let at = self.place(place, counter) as usize;
                if let Some(bits) = self.shared[*kind].get_mut(at) {
                    *bits = scalar::reduce(ReduceOp::Add, TYPES[*kind], *bits, value);
                }
            }
            Statement::Write(kind, place) => {
                let at = self.place(place, counter) as usize;
                if let Some(bits) = self.scratch[*kind].get_mut(at) {
                    *bits = self.state[*kind];
                }
            }
            Statement::Store(kind) => self.own[*kind] = self.state[*kind],
            Statement::BreakIf(_) | Statement::ContinueIf(_) => {}
        }
    }

    fn bounds(&self, bounds: &Bounds, counter: u32) -> (u32, u32) {
        match bounds {
            Bounds::Row(place) => {
                let row = self.place(place, counter);
                let at = |row: u32| self.program.starts.get(row as usize).copied().unwrap_or(0);
                (at(row), at(row.wrapping_add(1)))
            }
            Bounds::Numbers(begin, end) => (*begin, *end),
            Bounds::Few(kind) => (0, scalar::cast(TYPES[*kind], Type::U32, self.state[*kind]) as u32 & 7),
        }
    }
}

/// What a table's elements are if it is an expression.
fn computed(ty: Type, bits: u64, place: usize) -> u64 {
    let lane = scalar::cast(Type::U32, ty, place as u64);
    scalar::binary(BinaryOp::Add, ty, bits, scalar::binary(BinaryOp::Mul, ty, lane, scalar::cast(Type::U32, ty, 3)))
}

/// The results of a model; none for programs that run too long.
pub(super) fn expected(program: &Program) -> Option<Results> {
    let tables: Vec<Vec<u64>> = { program.tables.iter().zip(TYPES).zip(program.is_expression) }
        .map(|((table, ty), is_expression)| {
            let at = |(place, &bits): (usize, &u64)| if is_expression { computed(ty, bits, place) } else { bits };
            table.iter().enumerate().map(at).collect()
        })
        .collect();
    let mut shared = vec![vec![0; SHARED]; KINDS];
    let mut fuel = 1_500_000;
    let mut lanes = Vec::new();
    for lane in 0..program.width {
        let state = std::array::from_fn(|kind| {
            let values = &program.state[kind];
            values[if values.len() == 1 { 0 } else { lane }]
        });
        let (own, scratch) = ([0; KINDS], [[0; SCRATCH]; KINDS]);
        let mut lane = Lane {
            program,
            tables: &tables,
            lane,
            state,
            flag: false,
            own,
            scratch,
            shared: &mut shared,
            fuel: &mut fuel,
        };
        lane.block(&program.body, 0);
        lanes.push((lane.state, lane.own, u64::from(lane.flag)));
        if fuel == 0 {
            return None;
        }
    }
    let mut results = Results::new();
    for (kind, ty) in TYPES.into_iter().enumerate() {
        results.push((format!("state {ty}"), ty, lanes.iter().map(|lane| lane.0[kind]).collect()));
        results.push((format!("own {ty}"), ty, lanes.iter().map(|lane| lane.1[kind]).collect()));
        results.push((format!("shared {ty}"), ty, shared[kind].clone()));
    }
    results.push(("flag".to_owned(), Type::Bool, lanes.iter().map(|lane| lane.2).collect()));
    Some(results)
}
