//! Random programs over tensors, recorded at some shapes and replayed at others. They must compute the same as without
//! a recording.

use jit::freeze::{Exclusive, Function, Shared, call};
use jit::prelude::*;
use jit::tensor::{Axes, Edge, Index, IntoIndex, keep_dims};
use jit::{ReduceOp, Size};

use crate::fuzz::{Dice, Programs, assert_replayed};

/// The maximum number of elements that a step produces.
const MOST: usize = 3000;

/// The operation of a step; positions refer to the existing tensors, and axis numbers to the tensor's axes, modulo
/// their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Move(usize, usize, usize),
    Flip(usize, usize),
    Ravel(usize),
    JoinAxes(usize, usize),
    SplitAxis(usize, usize, usize),
    Slice { from: usize, axis: usize, begin: isize, end: isize, step: isize },
    At(usize, usize, isize),
    Take(usize, usize),
    Set { into: usize, axis: usize, begin: isize, step: isize, value: usize },
    Expand(usize, usize),
    Squeeze(usize),
    Broadcast(usize, usize),
    Combine(usize, usize),
    Reduce(usize, usize, ReduceOp, bool),
    ReduceTwo(usize, usize, usize),
    ReduceAll(usize),
    Best(usize, usize),
    Prefix(usize, usize),
    Sort(usize, usize),
    Argsort(usize, usize),
    Concat(usize, usize),
    Stack(usize, usize),
    Roll(usize, usize, isize),
    Repeat(usize, usize, usize),
    Pad(usize, usize, usize, usize),
    Matmul(usize, usize),
    Outer(usize, usize),
    FromFn(usize),
    Divide(usize, usize),
    ChangeState(usize),
    Evaluate(usize),
}

fn step(dice: &mut Dice) -> Step {
    let (i, j, k) = (dice.roll(64), dice.roll(64), dice.roll(64));
    let near = |dice: &mut Dice| dice.roll(9) as isize - 4;
    let stride = [1, 1, 2, 3, -1, -2][dice.roll(6)];
    let op = [ReduceOp::Add, ReduceOp::Max, ReduceOp::Or][dice.roll(3)];
    match dice.roll(34) {
        0 | 1 => Step::Move(i, j, k),
        2 => Step::Flip(i, j),
        3 => Step::Ravel(i),
        4 => Step::JoinAxes(i, j),
        5 => Step::SplitAxis(i, j, 2 + k % 2),
        6..9 => Step::Slice { from: i, axis: j, begin: near(dice), end: near(dice), step: stride },
        9 => Step::At(i, j, near(dice)),
        10 => Step::Take(i, j),
        11 => Step::Set { into: i, axis: j, begin: near(dice), step: stride, value: k },
        12 => Step::Expand(i, j),
        13 => Step::Squeeze(i),
        14 => Step::Broadcast(i, j),
        15 | 16 => Step::Combine(i, j),
        17 | 18 => Step::Reduce(i, j, op, k % 2 == 0),
        19 => Step::ReduceTwo(i, j, k),
        20 => Step::ReduceAll(i),
        21 => Step::Best(i, j),
        22 => Step::Prefix(i, j),
        23 => [Step::Sort(i, j), Step::Argsort(i, j)][k % 2],
        24 => Step::Concat(i, j),
        25 => Step::Stack(i, j),
        26 => Step::Roll(i, j, near(dice)),
        27 => Step::Repeat(i, j, 1 + k % 3),
        28 => Step::Pad(i, j, k % 3, k % 5),
        29 => Step::Matmul(i, j),
        30 => [Step::Outer(i, j), Step::FromFn(i)][k % 2],
        31 => Step::Divide(i, j),
        32 => Step::ChangeState(i),
        _ => Step::Evaluate(i),
    }
}

fn program(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
    let length = 2 + dice.roll(7);
    (0..length).map(|_| step(&mut dice)).collect()
}

/// Indices that take all.
fn whole() -> [Index; 4] {
    std::array::from_fn(|_| (..).into_index())
}

struct Machine<'a> {
    tensors: Vec<Tensor<u32>>,
    state: &'a mut Tensor<u32>,
}

impl Machine<'_> {
    fn step(&mut self, step: Step) {
        let made = self.made(step);
        let few =
            |x: Tensor<u32>| if x.width() > MOST { Tensor::from(x.array().gather(&UInt::arange(MOST))) } else { x };
        self.tensors.extend(made.map(few).filter(|x| x.ndim() <= 4));
    }

    fn made(&mut self, step: Step) -> Option<Tensor<u32>> {
        let x = |position: usize| self.tensors[position % self.tensors.len()].clone();
        let axis = |x: &Tensor<u32>, axis: usize| (x.ndim() > 0).then(|| axis % x.ndim());
        let row_and_column = |x: &Tensor<u32>| x.reshape([x.width(), Size::from(1)]);
        Some(match step {
            Step::Move(a, from, to) => x(a).move_axis(axis(&x(a), from)?, axis(&x(a), to)?),
            Step::Flip(a, along) => x(a).flip(axis(&x(a), along)?),
            Step::Ravel(a) => x(a).ravel(),
            Step::JoinAxes(a, first) => {
                let (x, first) = (x(a), axis(&x(a), first)?);
                let mut sizes = x.sizes();
                let length = sizes.remove(first);
                let next = sizes.get_mut(first)?;
                *next = *next * length;
                x.reshape(sizes)
            }
            Step::SplitAxis(a, along, parts) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                let mut sizes = x.sizes();
                if sizes[along] % parts != 0 {
                    return Some(x + 7);
                }
                sizes[along] = sizes[along] / parts;
                sizes.insert(along, parts.into());
                x.reshape(sizes)
            }
            Step::Slice { from, axis: along, begin, end, step } => {
                let (x, along) = (x(from), axis(&x(from), along)?);
                let mut indices = whole();
                let [part] = s![begin..end; step];
                indices[along] = part;
                x.slice(&indices[..x.ndim()])
            }
            Step::At(a, along, position) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                if x.size(along) < 5 {
                    return None;
                }
                x.take(along, position)
            }
            Step::Take(a, along) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                if x.size(along) == 0 {
                    return None;
                }
                x.take(along, &(UInt::from([0, 3, 1, 7]) % UInt::from(x.size(along))))
            }
            Step::Set { into, axis: along, begin, step, value } => {
                let (mut x, value) = (x(into), x(value));
                let along = axis(&x, along)?;
                let mut indices = whole();
                let [part] = s![begin..; step];
                indices[along] = part;
                x.set(&indices[..x.ndim()], value.sum(..));
                x
            }
            Step::Expand(a, place) => x(a).expand_dims(place % (x(a).ndim() + 1)),
            Step::Squeeze(a) => x(a).squeeze(..),
            Step::Broadcast(a, count) => {
                let mut sizes = x(a).sizes();
                sizes.insert(0, Size::from(1 + count % 3));
                x(a).broadcast_to(sizes)
            }
            Step::Combine(a, b) => self.combined(&x(a), &x(b))?,
            Step::Reduce(a, along, op, keeps) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                let axes: Axes = if keeps { keep_dims(along) } else { along.into() };
                match op {
                    ReduceOp::Add => x.sum(axes),
                    ReduceOp::Max => x.reduce_max(axes),
                    _ => x.reduce_or(axes),
                }
            }
            Step::ReduceTwo(a, first, second) => {
                let (first, second) = (axis(&x(a), first)?, axis(&x(a), second)?);
                if first == second { x(a).sum(first) } else { x(a).sum([first, second]) }
            }
            Step::ReduceAll(a) => x(a).sum(..) + x(a).reduce_max(..),
            Step::Best(a, along) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                if x.size(along) == 0 { x + 3 } else { x.argmax(along) }
            }
            Step::Prefix(a, along) => x(a).prefix_sum(axis(&x(a), along)?),
            Step::Sort(a, along) => x(a).sort(axis(&x(a), along)?),
            Step::Argsort(a, along) => x(a).argsort(axis(&x(a), along)?),
            Step::Concat(a, along) => {
                let x = x(a);
                Tensor::concat(&[&x, &(&x * 3), &x], axis(&x, along)?)
            }
            Step::Stack(a, place) => Tensor::stack(&[x(a), x(a) + 1], place % (x(a).ndim() + 1)),
            Step::Roll(a, along, shift) => x(a).roll(shift, axis(&x(a), along)?),
            Step::Repeat(a, along, times) => x(a).repeat(times, axis(&x(a), along)?),
            Step::Pad(a, along, width, edge) => {
                let (x, along) = (x(a), axis(&x(a), along)?);
                if x.width() == 0 {
                    return None;
                }
                let mut widths = [(0, 0); 4];
                widths[along] = (width, 2);
                let edge = [Edge::Constant(9), Edge::Nearest, Edge::Wrap, Edge::Reflect, Edge::Mirror][edge];
                x.pad(&widths[..x.ndim()], edge)
            }
            Step::Matmul(a, b) => {
                let (a, b) = (x(a), row_and_column(&x(b).ravel()));
                if a.ndim() == 0 { a * b } else { self.fitting(&a, &b)? }
            }
            Step::Outer(a, b) => x(a).sum(..).ravel().outer(&x(b)),
            Step::FromFn(a) => {
                let sizes = x(a).sizes();
                let weights = |at: &[UInt]| at.iter().fold(UInt::from(1), |sum, at| sum * 5 + at);
                if sizes.is_empty() { x(a) } else { Tensor::from_fn(sizes, weights) }
            }
            Step::Divide(a, along) => x(a) * UInt::from(x(a).size(axis(&x(a), along)?)),
            Step::ChangeState(a) => {
                let changed = x(a);
                *self.state = &changed + 1;
                changed
            }
            Step::Evaluate(a) => {
                let x = x(a) + 1;
                jit::eval(&x).unwrap();
                x
            }
        })
    }

    /// Two tensors whose last axes have the same length, whatever other operations were applied to them.
    fn combined(&self, a: &Tensor<u32>, b: &Tensor<u32>) -> Option<Tensor<u32>> {
        let (last_a, last_b) = (a.ndim().checked_sub(1)?, b.ndim().checked_sub(1)?);
        if a.size(last_a) == b.size(last_b) {
            let row =
                if b.width() == 0 { b.sum(0) } else { b.reshape([b.width() / b.size(last_b), b.size(last_b)]).sum(0) };
            return (row.ndim() <= 1).then(|| a * 5 + row);
        }
        Some(if a.size(last_a) < b.size(last_b) { a + 11 } else { a * b.sum(..) })
    }

    /// A product of matrices over the last axis.
    fn fitting(&self, a: &Tensor<u32>, b: &Tensor<u32>) -> Option<Tensor<u32>> {
        let inner = a.size(a.ndim() - 1);
        if b.width() == 0 {
            return None;
        }
        let column = b.array().gather(&(UInt::arange(inner * 3) % UInt::from(b.width())));
        Some(a.matmul(&Tensor::from_array(column, [inner, Size::from(3)])))
    }
}

fn run(steps: &[Step], a: &Tensor<u32>, b: &Tensor<u32>, state: &mut Tensor<u32>) -> Vec<Tensor<u32>> {
    let mut machine = Machine { tensors: vec![a.clone(), b.clone(), state.clone()], state };
    steps.iter().for_each(|step| machine.step(*step));
    let kept = machine.tensors.len().saturating_sub(4);
    machine.tensors.split_off(kept)
}

type Lengths = ([usize; 3], [usize; 2], [usize; 2]);

fn tensor<const N: usize>(shape: [usize; N], salt: u32) -> Tensor<u32> {
    let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 16).wrapping_mul(salt) % 97;
    let count = shape.iter().product::<usize>() as u32;
    Tensor::from_array(UInt::from((0..count).map(number).collect::<Vec<u32>>()), shape)
}

type Seen = Vec<(Vec<usize>, Vec<u32>)>;

/// All shapes and elements of the result and of the state.
fn outcome(steps: &[Step], lengths: &Lengths, function: Option<&'static Function>) -> jit::Result<Seen> {
    let (a, b, mut state) = (tensor(lengths.0, 1), tensor(lengths.1, 2), tensor(lengths.2, 3));
    let frozen = function.and_then(|function| {
        call(function, (Shared(&a), Shared(&b), Exclusive(&mut state)), |(a, b, state)| run(steps, a, b, state))
    });
    let mut tensors = frozen.unwrap_or_else(|| run(steps, &a, &b, &mut state));
    tensors.push(state);
    tensors.iter().map(|x| Ok((x.shape().to_vec(), x.to_vec()?))).collect()
}

/// The shapes at which a program is run: equal lengths first, since lengths that are equal only by chance must not be
/// treated as the same.
fn lengths(seed: u64, count: usize) -> Vec<Lengths> {
    let mut dice = Dice(seed ^ 0x5eed);
    let first = 2 + dice.roll(7);
    let mut all = vec![([first; 3], [first; 2], [first; 2]), ([first, first + 1, 2], [3, first], [2, 5])];
    let mut one = || match dice.roll(12) {
        0 => dice.roll(2),
        1..10 => 2 + dice.roll(9),
        _ => dice.roll(80),
    };
    all.extend((2..count).map(|_| ([one(), one(), one()], [one(), one()], [one(), one()])));
    all
}

/// Lengths whose reductions are not unrolled, for which each would need a recording.
fn ordinary_lengths(seed: u64, count: usize) -> Vec<Lengths> {
    let mut dice = Dice(seed ^ 0xc0de);
    let mut one = || 9 + dice.roll(5);
    (0..count).map(|_| ([one(), one(), one()], [one(), one()], [one(), one()])).collect()
}

const PROGRAMS: Programs<Step, Lengths, Seen> =
    Programs { program, sizes: lengths, ordinary_sizes: ordinary_lengths, run: outcome };

#[test]
fn programs_over_shapes_are_replayed_as_they_run() {
    let calls = PROGRAMS.check(0..150, 16, Device::Interpreter);
    assert_replayed(&calls, 95, 88);
    if crate::tested_devices::has_llvm() {
        PROGRAMS.check(150..170, 8, Device::Cpu);
    }
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_programs_over_shapes_are_replayed_as_they_run() {
    PROGRAMS.check(1_000..5_600, 20, Device::Interpreter);
    if crate::tested_devices::has_llvm() {
        PROGRAMS.check(6_000..6_400, 20, Device::Cpu);
    }
}
