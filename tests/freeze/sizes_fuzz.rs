//! Random programs over sizes, recorded at some sizes and replayed at others. They must compute the same as without a
//! recording.
//!
//! A program is a list of [`Step`]s over numbered arrays and sizes, interpreted over the public API. Every index is
//! kept in range, whatever the sizes are. A program that fails is shrunk as far as possible before it is shown.

use jit::freeze::{Exclusive, Function, Shared, call};
use jit::prelude::*;
use jit::{ReduceOp, Size, meshgrid};

use crate::fuzz::{Dice, Programs, assert_replayed};

/// The widest array that a step produces.
const WIDEST: usize = 1500;

#[derive(Clone, Copy, Debug)]
enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    DivCeil,
}

/// The operation of a step; positions refer to the existing arrays, or sizes, modulo their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Size(Arithmetic, usize, usize),
    SizeWith(Arithmetic, usize, usize),
    Value(usize),
    Arange(usize),
    Literal(u32, usize),
    Combine(usize, usize),
    CombineIfEqual(usize, usize),
    Gather { from: usize, size: usize, stride: u32 },
    Slice(usize, usize, usize),
    SliceFrom(usize, usize),
    SliceTo(usize, usize),
    Stride(usize, isize),
    SplitAt(usize, usize),
    Halves(usize),
    Concat(usize, usize),
    Tile(usize, usize),
    Repeat(usize, usize),
    Reverse(usize),
    Shift(usize, isize),
    Roll(usize, isize),
    Meshgrid(usize, usize),
    Reduce(usize, ReduceOp),
    BlockReduce(usize, ReduceOp, usize),
    Prefix(usize),
    BlockPrefix(usize, usize),
    Filter(usize, u32),
    Compress(usize, u32),
    ScatterFresh { size: usize, from: usize },
    ScatterAdd { size: usize, from: usize },
    ScatterState(usize),
    Bincount(usize, usize),
    Sort(usize),
    Argsort(usize),
    Unique(usize),
    Linspace(usize),
    Take(usize),
    Evaluate(usize),
    Iterate(Body, usize, usize),
}

/// The operation of an `#[evaluated]` loop in each iteration.
#[derive(Clone, Copy, Debug)]
enum Body {
    Arithmetic,
    Scatter,
    Reduction,
    Loop,
}

impl Dice {
    fn step(&mut self) -> Step {
        use Arithmetic::{Add, Div, DivCeil, Max, Min, Mul, Rem, Sub};
        let op = [Add, Sub, Mul, Div, Rem, Min, Max, DivCeil][self.roll(8)];
        let reduce = [ReduceOp::Add, ReduceOp::Max, ReduceOp::Min, ReduceOp::Or][self.roll(4)];
        let (i, j, k) = (self.roll(64), self.roll(64), self.roll(64));
        let near = self.roll(9) as isize - 4;
        match self.roll(48) {
            0..3 => Step::Size(op, i, j),
            3..6 => Step::SizeWith(op, i, 1 + j % 9),
            6 => Step::Value(i),
            7 => Step::Arange(i),
            8 => Step::Literal(j as u32, i),
            9 | 10 => Step::Combine(i, j),
            11 => Step::CombineIfEqual(i, j),
            12 | 13 => Step::Gather { from: i, size: j, stride: k as u32 },
            14 => Step::Slice(i, j, k),
            15 => Step::SliceFrom(i, j % 4),
            16 => Step::SliceTo(i, j % 4),
            17 => Step::Stride(i, if near == 0 { 2 } else { near }),
            18 => Step::SplitAt(i, j),
            19 => Step::Halves(i),
            20 | 21 => Step::Concat(i, j),
            22 => Step::Tile(i, 1 + j % 3),
            23 => Step::Repeat(i, 1 + j % 3),
            24 => Step::Reverse(i),
            25 => Step::Shift(i, near),
            26 => Step::Roll(i, near),
            27 => Step::Meshgrid(i, j),
            28 => Step::Reduce(i, reduce),
            29 | 30 => Step::BlockReduce(i, reduce, 1 + j % 7),
            31 => Step::Prefix(i),
            32 => Step::BlockPrefix(i, 1 + j % 7),
            33 => Step::Filter(i, j as u32),
            34 => Step::Compress(i, j as u32),
            35 => Step::ScatterFresh { size: i, from: j },
            36 => Step::ScatterAdd { size: i, from: j },
            37 => Step::ScatterState(i),
            38 => Step::Bincount(i, j),
            39 => Step::Sort(i),
            40 => Step::Argsort(i),
            41 => Step::Unique(i),
            42 => [Step::Linspace(i), Step::Take(i)][j % 2],
            43 => Step::Evaluate(i),
            _ => Step::Iterate([Body::Arithmetic, Body::Scatter, Body::Reduction, Body::Loop][k % 4], i, j),
        }
    }
}

/// Loops whose lanes make different numbers of iterations.
#[jit]
fn iterate(body: Body, x: &UInt, rounds: &UInt) -> Vec<UInt> {
    let (mut x, mut rest, mut sums) = (x.clone(), rounds.clone(), UInt::zeros(7));
    #[evaluated]
    while rest > 0 {
        match body {
            Body::Arithmetic => x = x * 3 + &rest,
            Body::Scatter => sums.scatter_add(&x, &(&rest % 7)),
            Body::Reduction => x += rest.sum() % 11,
            Body::Loop => {
                let mut inner = &rest % 3;
                #[evaluated]
                while inner > 0 {
                    x = x * 5 + &inner;
                    inner -= 1;
                }
            }
        }
        rest -= 1;
    }
    vec![x, sums]
}

/// The program of a seed.
fn program(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
    let length = 2 + dice.roll(9);
    (0..length).map(|_| dice.step()).collect()
}

/// An array of a requested width, which repeats the elements of another one.
fn fit(x: &UInt, width: Size) -> UInt {
    if x.width() == 0 || width == 0 {
        UInt::zeros(width)
    } else {
        x.gather(&(UInt::arange(width) % UInt::from(x.width())))
    }
}

/// Positions inside a non-empty array.
fn inside(x: &UInt, width: Size) -> UInt {
    (x * 7 + UInt::from(3)) % UInt::from(width)
}

fn apply(op: Arithmetic, a: Size, b: Size) -> Size {
    let size = match op {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a.max(b) - b,
        Arithmetic::Mul => a * b,
        Arithmetic::Div => a / b.max(1),
        Arithmetic::Rem => a % b.max(1),
        Arithmetic::Min => a.min(b),
        Arithmetic::Max => a.max(b),
        Arithmetic::DivCeil => a.div_ceil(b.max(1)),
    };
    size.min(600)
}

struct Machine<'a> {
    arrays: Vec<UInt>,
    sizes: Vec<Size>,
    state: &'a mut UInt,
}

impl Machine<'_> {
    fn array(&self, position: usize) -> UInt {
        self.arrays[position % self.arrays.len()].clone()
    }

    fn size(&self, position: usize) -> Size {
        self.sizes[position % self.sizes.len()]
    }

    fn step(&mut self, step: Step) {
        let made = self.made(step);
        for array in made {
            let array = if array.width() > WIDEST { fit(&array, Size::from(WIDEST)) } else { array };
            self.sizes.push(array.width());
            self.arrays.push(array);
        }
    }

    fn made(&mut self, step: Step) -> Vec<UInt> {
        let x = |position| self.array(position);
        vec![match step {
            Step::Size(op, a, b) => {
                self.sizes.push(apply(op, self.size(a), self.size(b)));
                return Vec::new();
            }
            Step::SizeWith(op, a, b) => {
                self.sizes.push(apply(op, self.size(a), b.into()));
                return Vec::new();
            }
            Step::Value(a) => UInt::from(self.size(a)),
            Step::Arange(a) => UInt::arange(self.size(a)),
            Step::Literal(value, a) => UInt::full(value, self.size(a)),
            Step::Combine(a, b) => x(a) * 3 + fit(&x(b), x(a).width()),
            Step::CombineIfEqual(a, b) if x(a).width() == x(b).width() => x(a) * 5 + x(b),
            Step::CombineIfEqual(a, b) if x(a).width() < x(b).width() => x(a) + 11,
            Step::CombineIfEqual(_, b) => x(b) + 13,
            Step::Gather { from, size, stride } => {
                let (from, size) = (x(from), self.size(size));
                if from.width() == 0 {
                    return Vec::new();
                }
                from.gather(&inside(&(UInt::arange(size) * stride), from.width()))
            }
            Step::Slice(a, begin, end) => {
                let end = self.size(end).min(x(a).width());
                let begin = self.size(begin).min(end);
                x(a).split_at(end).0.split_at(begin).1
            }
            Step::SliceFrom(a, begin) => {
                if x(a).width() < begin {
                    x(a)
                } else {
                    x(a).slice(begin..)
                }
            }
            Step::SliceTo(a, end) => {
                if x(a).width() < end {
                    x(a)
                } else {
                    x(a).slice(..end)
                }
            }
            Step::Stride(a, step) => x(a).slice_step(.., step),
            Step::SplitAt(a, position) => {
                let (first, second) = x(a).split_at(self.size(position).min(x(a).width()));
                return vec![first, second];
            }
            Step::Halves(a) if x(a).width() % 2 == 0 => return x(a).split(2),
            Step::Halves(a) => x(a) + 17,
            Step::Concat(a, b) => UInt::concat(&[x(a), x(b), x(a)]),
            Step::Tile(a, times) => x(a).tile(times),
            Step::Repeat(a, times) => x(a).repeat(times),
            Step::Reverse(a) => x(a).reverse(),
            Step::Shift(a, distance) => x(a).shift(distance),
            Step::Roll(a, distance) => x(a).roll(distance),
            Step::Meshgrid(a, b) => {
                let few = |x: UInt| fit(&x, x.width().min(30));
                let (a, b) = meshgrid(&few(x(a)), &few(x(b)));
                a * 1000 + b
            }
            Step::Reduce(a, op) => x(a).reduce(op),
            Step::BlockReduce(a, op, elements) => x(a).block_reduce(op, elements),
            Step::Prefix(a) => x(a).prefix_sum(),
            Step::BlockPrefix(a, elements) => x(a).block_prefix_sum(elements),
            Step::Filter(a, part) => x(a).filter(&(x(a) % 3).eq(part % 3)),
            Step::Compress(a, part) => (x(a) % 4).le(part % 5).compress(),
            Step::ScatterFresh { size, from } | Step::ScatterAdd { size, from } => {
                let size = self.size(size);
                if size == 0 {
                    return Vec::new();
                }
                let (mut target, from) = (UInt::zeros(size), x(from));
                match step {
                    // Each position is written by one lane.
                    Step::ScatterFresh { .. } => {
                        let from = fit(&from, from.width().min(size));
                        target.scatter(&from, &UInt::arange(from.width()));
                    }
                    _ => target.scatter_add(&from, &inside(&from, size)),
                }
                target
            }
            Step::ScatterState(a) => {
                if self.state.width() == 0 {
                    return Vec::new();
                }
                let index = inside(&x(a), self.state.width());
                self.state.scatter_add(x(a), &index);
                self.state.clone()
            }
            Step::Bincount(a, bins) => (x(a) % 40).bincount(self.size(bins)),
            Step::Sort(a) => x(a).sort(),
            Step::Argsort(a) => x(a).argsort(),
            Step::Unique(a) => x(a).unique(),
            Step::Linspace(a) => Float::linspace(0.0, 100.0, self.size(a)).bitcast(),
            Step::Take(a) if x(a).width() == 0 => return Vec::new(),
            Step::Take(a) => x(a).take(&jit::Int::from([-1, 0, -1])),
            Step::Iterate(body, a, b) => {
                let rounds = (fit(&x(b), x(a).width()) + x(a)) % 6;
                return iterate(body, &x(a), &rounds);
            }
            Step::Evaluate(a) => {
                let array = x(a) + 1;
                jit::eval(&array).unwrap();
                array
            }
        }]
    }
}

/// Runs a program. Returns its last arrays.
fn run(steps: &[Step], a: &UInt, b: &UInt, state: &mut UInt) -> Vec<UInt> {
    let sizes = vec![a.width(), b.width(), state.width(), Size::from(3)];
    let mut machine = Machine { arrays: vec![a.clone(), b.clone()], sizes, state };
    steps.iter().for_each(|step| machine.step(*step));
    let kept = machine.arrays.len().saturating_sub(4);
    machine.arrays.split_off(kept)
}

type Sizes = [usize; 3];

fn inputs(sizes: Sizes) -> [UInt; 3] {
    let mut salt = 1;
    sizes.map(|width| {
        salt += 1;
        UInt::from((0..width as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) * salt % 97).collect::<Vec<u32>>())
    })
}

/// All elements of the result and of the state.
fn outcome(steps: &[Step], sizes: &Sizes, function: Option<&'static Function>) -> jit::Result<Vec<Vec<u32>>> {
    let [a, b, mut state] = inputs(*sizes);
    let frozen = function.and_then(|function| {
        call(function, (Shared(&a), Shared(&b), Exclusive(&mut state)), |(a, b, state)| run(steps, a, b, state))
    });
    let mut arrays = frozen.unwrap_or_else(|| run(steps, &a, &b, &mut state));
    arrays.push(state);
    arrays.iter().map(Array::to_vec).collect()
}

/// The sizes at which a program is run: equal ones first, since sizes that are equal only by chance must not be treated
/// as the same.
fn sizes(seed: u64, count: usize) -> Vec<Sizes> {
    let mut dice = Dice(seed ^ 0x5eed);
    let first = 2 + dice.roll(40);
    let mut all: Vec<Sizes> = vec![[first, first, first], [first, first + 3, 2]];
    let mut one = |i: usize| match dice.roll(10) {
        0 => dice.roll(3),
        1..6 => 2 + dice.roll(30),
        _ => dice.roll(if i.is_multiple_of(2) { 300 } else { 70 }),
    };
    all.extend((2..count).map(|i| [one(i), one(i), one(i)]));
    all
}

fn ordinary_sizes(seed: u64, count: usize) -> Vec<Sizes> {
    let mut dice = Dice(seed ^ 0xc0de);
    let mut one = || 64 + dice.roll(200);
    (0..count).map(|_| [one(), one(), one()]).collect()
}

const PROGRAMS: Programs<Step, Sizes, Vec<Vec<u32>>> = Programs { program, sizes, ordinary_sizes, run: outcome };

/// Runs the program of a seed at this many sizes, on each device.
pub(crate) fn replay(seed: u64, calls: usize) {
    for device in crate::tested_devices::all() {
        PROGRAMS.check(seed..seed + 1, calls, device);
    }
}

#[test]
fn programs_over_sizes_are_replayed_as_they_run() {
    let calls = PROGRAMS.check(0..150, 20, Device::Interpreter);
    assert_replayed(&calls, 98, 95);
    if crate::tested_devices::has_llvm() {
        PROGRAMS.check(150..175, 8, Device::Cpu);
    }
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_programs_over_sizes_are_replayed_as_they_run() {
    PROGRAMS.check(1_000..5_500, 20, Device::Interpreter);
    if crate::tested_devices::has_llvm() {
        PROGRAMS.check(6_000..6_500, 20, Device::Cpu);
    }
}
