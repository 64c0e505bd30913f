//! Random programs with nested loops and branches, several scatters to one array, and gathers: both modes, and second
//! derivatives in both orders, against numbers that carry two derivatives.

use jit::ad;
use jit::prelude::*;

use crate::random::Numbers;

const LANES: usize = 4;
/// The number of elements of each array.
const LEN: usize = 5;
const FLOATS: usize = 3;
/// The number of elements that a lane overwrites.
const OWN: usize = 3;
/// The number of loops around a statement at most.
const DEPTH: usize = 3;

/// `(base + add) % LEN`, of the counter of a loop or of the lane.
#[derive(Clone, Copy, Debug)]
struct Index {
    counter: Option<usize>,
    add: u32,
}

#[derive(Clone, Debug)]
enum Value {
    Float(usize),
    Input,
    Table(Index),
    Product(Box<[Value; 2]>),
    Sum(Box<[Value; 2]>),
    Sine(Box<Value>),
}

#[derive(Clone, Debug)]
enum Condition {
    Positive(Value),
    IsEven(Index),
}

#[derive(Clone, Debug)]
enum Statement {
    Set(usize, Value),
    Add(Index, Value),
    Multiply(Index, Value),
    /// Overwrites an element that no other lane writes.
    Overwrite(Index, Value),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// Two iterations, or a number that differs by lane.
    While(bool, Vec<Statement>),
}

impl Numbers {
    fn index(&mut self, depth: usize) -> Index {
        let counter = (depth > 0 && self.below(3) > 0).then(|| self.below(depth));
        Index { counter, add: self.below(LEN) as u32 }
    }

    fn value(&mut self, depth: usize, levels: usize) -> Value {
        match self.below(if levels == 0 { 3 } else { 6 }) {
            0 => Value::Float(self.below(FLOATS)),
            1 => Value::Input,
            2 => Value::Table(self.index(depth)),
            3 => Value::Sine(Box::new(self.value(depth, levels - 1))),
            4 => Value::Sum(Box::new([self.value(depth, levels - 1), self.value(depth, levels - 1)])),
            _ => Value::Product(Box::new([self.value(depth, levels - 1), self.value(depth, levels - 1)])),
        }
    }

    fn condition(&mut self, depth: usize) -> Condition {
        match self.below(2) {
            0 => Condition::Positive(self.value(depth, 1)),
            _ => Condition::IsEven(self.index(depth)),
        }
    }

    fn block(&mut self, depth: usize, levels: usize) -> Vec<Statement> {
        (0..1 + self.below(3)).map(|_| self.statement(depth, levels)).collect()
    }

    fn statement(&mut self, depth: usize, levels: usize) -> Statement {
        match self.below(if levels == 0 { 5 } else { 10 }) {
            0 | 1 => Statement::Set(self.below(FLOATS), self.value(depth, 2)),
            2 | 3 => Statement::Add(self.index(depth), self.value(depth, 1)),
            4 => Statement::Multiply(self.index(depth), self.value(depth, 1)),
            5 | 6 => {
                let otherwise = if self.below(2) == 0 { Vec::new() } else { self.block(depth, levels - 1) };
                Statement::If(self.condition(depth), self.block(depth, levels - 1), otherwise)
            }
            _ if depth < DEPTH => Statement::While(self.below(2) == 0, self.block(depth + 1, levels - 1)),
            _ => Statement::Set(self.below(FLOATS), self.value(depth, 2)),
        }
    }

    /// A loop with several statements.
    fn program(&mut self) -> Vec<Statement> {
        let body = (0..2 + self.below(3)).map(|_| self.statement(1, 2)).collect();
        vec![Statement::While(self.below(2) == 0, body)]
    }
}

/// Returns a program in which about half of the sums overwrite elements.
fn overwriting(program: Vec<Statement>) -> Vec<Statement> {
    let change = |statement| match statement {
        Statement::Add(index, value) if index.add.is_multiple_of(2) => Statement::Overwrite(index, value),
        Statement::If(condition, then, otherwise) => {
            Statement::If(condition, overwriting(then), overwriting(otherwise))
        }
        Statement::While(differs, body) => Statement::While(differs, overwriting(body)),
        other => other,
    };
    program.into_iter().map(change).collect()
}

/// A number with its first and second derivative along a line.
#[derive(Clone, Copy, Debug)]
struct Jet([f64; 3]);

impl Jet {
    fn constant(value: f64) -> Jet {
        Jet([value, 0.0, 0.0])
    }

    fn plus(self, other: Jet) -> Jet {
        Jet(std::array::from_fn(|order| self.0[order] + other.0[order]))
    }

    fn times(self, other: Jet) -> Jet {
        let (Jet([a, b, c]), Jet([d, e, f])) = (self, other);
        Jet([a * d, b * d + a * e, c * d + 2.0 * b * e + a * f])
    }

    fn sin(self) -> Jet {
        let Jet([a, b, c]) = self;
        Jet([a.sin(), b * a.cos(), c * a.cos() - b * b * a.sin()])
    }
}

/// A lane of a program in plain Rust, with the arrays that lanes share.
struct Lane<'a> {
    lane: u32,
    input: Jet,
    table: &'a [Jet],
    floats: [Jet; FLOATS],
    counters: [u32; DEPTH],
    sums: &'a mut [Jet; LEN],
    products: &'a mut [Jet; LEN],
    written: [Jet; OWN],
}

impl Lane<'_> {
    fn index(&self, index: Index) -> usize {
        ((index.counter.map_or(self.lane, |counter| self.counters[counter]) + index.add) % LEN as u32) as usize
    }

    fn value(&self, value: &Value) -> Jet {
        match value {
            Value::Float(at) => self.floats[*at],
            Value::Input => self.input,
            Value::Table(index) => self.table[self.index(*index)],
            Value::Product(of) => self.value(&of[0]).times(self.value(&of[1])),
            Value::Sum(of) => self.value(&of[0]).plus(self.value(&of[1])),
            Value::Sine(of) => self.value(of).sin(),
        }
    }

    fn block(&mut self, block: &[Statement], depth: usize) {
        block.iter().for_each(|statement| self.step(statement, depth));
    }

    fn step(&mut self, statement: &Statement, depth: usize) {
        match statement {
            Statement::Set(at, value) => {
                let half = Jet::constant(0.5);
                self.floats[*at] = self.floats[*at].times(half).plus(self.value(value).sin());
            }
            Statement::Add(index, value) => {
                let at = self.index(*index);
                self.sums[at] = self.sums[at].plus(self.value(value).sin());
            }
            Statement::Multiply(index, value) => {
                let at = self.index(*index);
                let factor = self.value(value).sin().times(Jet::constant(0.1)).plus(Jet::constant(1.0));
                self.products[at] = self.products[at].times(factor);
            }
            Statement::Overwrite(index, value) => {
                let at = self.index(*index) % OWN;
                self.written[at] = self.value(value).sin();
            }
            Statement::If(condition, then, otherwise) => {
                let holds = match condition {
                    Condition::Positive(value) => self.value(value).0[0] > 0.0,
                    Condition::IsEven(index) => self.index(*index).is_multiple_of(2),
                };
                self.block(if holds { then } else { otherwise }, depth);
            }
            Statement::While(differs, body) => {
                for iteration in 0..if *differs { 1 + self.lane % 3 } else { 2 } {
                    self.counters[depth] = iteration;
                    self.block(body, depth + 1);
                }
            }
        }
    }
}

/// Returns the loss of a program along a line.
fn plain(program: &[Statement], inputs: &[Jet], table: &[Jet]) -> Jet {
    let (mut sums, mut products) = ([Jet::constant(0.0); LEN], [Jet::constant(1.0); LEN]);
    let mut loss = Jet::constant(0.0);
    for (lane, &input) in inputs.iter().enumerate() {
        let floats = [input, input.sin(), Jet::constant(0.3)];
        let (sums, products) = (&mut sums, &mut products);
        let (lane, counters, written) = (lane as u32, [0; DEPTH], [input; OWN]);
        let mut lane = Lane { lane, input, table, floats, counters, sums, products, written };
        lane.block(program, 0);
        lane.floats.into_iter().chain(lane.written).for_each(|float| loss = loss.plus(float.times(float)));
    }
    for (at, (sum, product)) in sums.into_iter().zip(products).enumerate() {
        let weight = Jet::constant(1.0 + at as f64);
        loss = loss.plus(sum.times(sum).plus(product.sin()).times(weight));
    }
    loss
}

#[derive(Traverse)]
struct State<'a> {
    lane: UInt,
    /// Zero in each lane, so that each writes by itself.
    zero: UInt,
    input: &'a Float64,
    table: &'a Float64,
    floats: Vec<Float64>,
    counters: Vec<UInt>,
    sums: Float64,
    products: Float64,
    written: Float64,
}

fn index(index: Index, s: &State<'_>) -> UInt {
    (index.counter.map_or(&s.lane, |counter| &s.counters[counter]) + index.add + &s.zero) % LEN as u32
}

fn value(of: &Value, s: &State<'_>) -> Float64 {
    match of {
        Value::Float(at) => s.floats[*at].clone(),
        Value::Input => s.input.clone(),
        Value::Table(at) => s.table.gather(&index(*at, s)),
        Value::Product(of) => value(&of[0], s) * value(&of[1], s),
        Value::Sum(of) => value(&of[0], s) + value(&of[1], s),
        Value::Sine(of) => value(of, s).sin(),
    }
}

fn holds(condition: &Condition, s: &State<'_>) -> Mask {
    match condition {
        Condition::Positive(of) => value(of, s).gt(0.0),
        Condition::IsEven(at) => (index(*at, s) % 2).eq(0),
    }
}

#[jit]
fn block(statements: &[Statement], depth: usize, s: &mut State<'_>) {
    for statement in statements {
        match statement {
            Statement::Set(at, of) => {
                s.floats[*at] = &s.floats[*at] * 0.5 + value(of, s).sin();
            }
            Statement::Add(at, of) => {
                let (at, of) = (index(*at, s), value(of, s).sin());
                s.sums.scatter_add(&of, &at);
            }
            Statement::Multiply(at, of) => {
                let (at, of) = (index(*at, s), value(of, s).sin() * 0.1 + 1.0);
                s.products.scatter_reduce(ReduceOp::Mul, &of, &at);
            }
            Statement::Overwrite(at, of) => {
                let (at, of) = (index(*at, s) % OWN as u32, value(of, s).sin());
                s.written.scatter(&of, &(&s.lane * OWN as u32 + at));
            }
            Statement::If(condition, then, otherwise) => {
                if holds(condition, s) {
                    block(then, depth, s);
                } else {
                    block(otherwise, depth, s);
                }
            }
            Statement::While(differs, body) => {
                let count = if *differs { 1 + &s.lane % 3 } else { UInt::from(2) };
                repeat(&count, body, depth, s);
            }
        }
    }
}

#[jit]
fn repeat(count: &UInt, body: &[Statement], depth: usize, s: &mut State<'_>) {
    let mut iteration = UInt::from(0);
    while iteration < count {
        s.counters[depth] = iteration.clone();
        iteration += 1;
        block(body, depth + 1, s);
    }
}

fn traced(program: &[Statement], (input, table): &(Float64, Float64)) -> Float64 {
    let mut state = State {
        lane: UInt::arange(LANES),
        zero: UInt::from([0; LANES]),
        input,
        table,
        floats: vec![input.clone(), input.sin(), Float64::from(0.3)],
        counters: vec![UInt::from(0); DEPTH],
        sums: Float64::zeros(LEN),
        products: Float64::ones(LEN),
        written: input.repeat(OWN),
    };
    block(program, 0, &mut state);
    let of_arrays = (state.sums.square() + state.products.sin()) * (1.0 + Float64::arange(LEN));
    let of_floats = state.floats.iter().fold(Float64::zeros(LANES), |sum, float| sum + float.square());
    of_floats.sum() + of_arrays.sum() + state.written.square().sum()
}

type Pair = (Float64, Float64);

/// Returns the value, its first and second derivative along a line, in both modes, and in both orders.
fn derivatives(program: &[Statement], x: &Pair, direction: &Pair) -> [f64; 5] {
    let loss = |x: &Pair| traced(program, x);
    let along = |(a, b): &Pair| (a * &direction.0).sum() + (b * &direction.1).sum();
    let slope = |x: &Pair| along(&ad::grad(loss)(x).unwrap());
    let (value, tangent) = ad::jvp(loss, x, direction).unwrap();
    let (gradient, of_gradient) = ad::value_and_grad(slope)(x).unwrap();
    let curvatures = [ad::hvp(loss, x, direction).unwrap(), of_gradient].map(|product| along(&product));
    let all = [vec![value, tangent, gradient], curvatures.to_vec()].concat();
    jit::eval(&all).unwrap();
    std::array::from_fn(|at| all[at].item().unwrap())
}

fn check(seeds: std::ops::Range<u64>, overwrites: bool) {
    for seed in seeds {
        let mut numbers = Numbers(seed.wrapping_mul(0xA076_1D64_78BD_642F));
        let program = numbers.program();
        let program = if overwrites { overwriting(program) } else { program };
        let mut list = |len: usize| (0..len).map(|_| numbers.below(1000) as f64 / 500.0 - 1.0).collect::<Vec<f64>>();
        let (x, table, x_moves, table_moves) = (list(LANES), list(LEN), list(LANES), list(LEN));
        let jets = |of: &[f64], by: &[f64]| of.iter().zip(by).map(|(&a, &b)| Jet([a, b, 0.0])).collect::<Vec<Jet>>();
        let Jet([value, first, second]) = plain(&program, &jets(&x, &x_moves), &jets(&table, &table_moves));
        let run = || {
            let [x, table, x_moves, table_moves] = [&x, &table, &x_moves, &table_moves].map(|list| list[..].into());
            derivatives(&program, &(x, table), &(x_moves, table_moves))
        };
        // Graphs of derivatives are the same on every device, and machine code for them takes long to compile.
        let found = if seed.is_multiple_of(4) { run() } else { jit::with_device(Device::Interpreter, run) };
        let wanted = [value, first, first, second, second];
        let scale = wanted.iter().fold(1.0_f64, |scale, one| scale.max(one.abs()));
        let is_close = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9 * scale);
        assert!(is_close, "seed {seed}: {found:?} instead of {wanted:?}\n{program:#?}");
    }
}

#[test]
fn random_loops_agree_with_numbers_that_carry_derivatives() {
    check(0..40, false);
}

#[test]
fn random_loops_that_overwrite_elements_agree_with_numbers_that_carry_derivatives() {
    check(0..8, true);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_random_loops_agree_with_numbers_that_carry_derivatives() {
    check(1_000..3_000, false);
}
