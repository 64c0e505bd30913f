//! Random programs over arrays of several types: their results depend neither on the device nor on which values are
//! evaluated when.
//!
//! A program is drawn from a seed, step by step, so that fewer steps are the beginning of the same program. Operations
//! whose results may differ are omitted: sums of floats by several lanes of a scatter, and the signs of NaN.

use half::f16;
use jit::prelude::*;
use jit::{Element, Number};
use proptest::prelude::*;

use crate::agree::bits;
use crate::corners::Corners;
use crate::dice::Dice;

/// Everything that a program has computed so far, all of one width or of width 1.
struct Values {
    width: usize,
    floats: Vec<Float>,
    doubles: Vec<Float64>,
    halves: Vec<Half>,
    ints: Vec<Int>,
    longs: Vec<Int64>,
    counts: Vec<UInt>,
    bytes: Vec<UInt8>,
    masks: Vec<Mask>,
}

/// A type that programs compute with.
trait Kind: Number + Corners {
    fn of(values: &mut Values) -> &mut Vec<Array<Self>>;
    /// Operations that only floats or only integers support.
    fn special(dice: &mut Dice, a: &Array<Self>, b: &Array<Self>) -> Array<Self>;
    /// Operations whose result does not depend on the order of lanes.
    const COMMUTING: &'static [ReduceOp];
}

macro_rules! floats {
    ($($ty:ident in $field:ident;)*) => {
        $(impl Kind for $ty {
            const COMMUTING: &'static [ReduceOp] = &[ReduceOp::Min, ReduceOp::Max];

            fn of(values: &mut Values) -> &mut Vec<Array<Self>> {
                &mut values.$field
            }

            fn special(dice: &mut Dice, a: &Array<Self>, b: &Array<Self>) -> Array<Self> {
                match dice.roll(10) {
                    0 => a.floor(),
                    1 => a.abs().sqrt(),
                    2 => a.round_ties_even(),
                    3 => a.sin(),
                    4 => (-a.abs()).exp(),
                    5 => a.fmin(b),
                    6 => a.hypot(b),
                    7 => a.recip(),
                    8 => a.mean() - a,
                    _ => a.is_nan().select(b, a),
                }
            }
        })*
    };
}

macro_rules! integers {
    ($($ty:ident in $field:ident;)*) => {
        $(impl Kind for $ty {
            const COMMUTING: &'static [ReduceOp] =
                &[ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or];

            fn of(values: &mut Values) -> &mut Vec<Array<Self>> {
                &mut values.$field
            }

            fn special(dice: &mut Dice, a: &Array<Self>, b: &Array<Self>) -> Array<Self> {
                match dice.roll(10) {
                    0 => a & b,
                    1 => a ^ b,
                    2 => a << b,
                    3 => a >> b,
                    4 => a.rotate_left(b),
                    5 => a.mul_hi(b),
                    6 => a.count_ones(),
                    7 => a.reverse_bits(),
                    8 => a.rem_euclid(b),
                    _ => a.div_euclid(b),
                }
            }
        })*
    };
}

floats! {
    f32 in floats;
    f64 in doubles;
    f16 in halves;
}

integers! {
    i32 in ints;
    i64 in longs;
    u32 in counts;
    u8 in bytes;
}

#[jit]
fn halve_until_small(x: &UInt) -> (UInt, UInt) {
    let (mut rest, mut steps) = (x.clone(), x.zeros_like());
    while rest > 100 {
        rest = if (rest & 1) == 1 { rest / 3 } else { rest / 2 };
        steps += 1;
    }
    (rest, steps)
}

#[jit]
fn fold_back(x: &Float, limit: &Float) -> Float {
    let mut y = x.clone();
    if y > limit {
        y = limit + (limit - y);
        if y < 0.0 {
            y = y.zeros_like();
        }
    } else {
        y *= 0.5;
    }
    y
}

/// When a program's values are evaluated.
#[derive(Clone, Copy, PartialEq, Debug)]
enum When {
    /// All at the end.
    AtTheEnd,
    /// Some in between, with a separate random generator.
    Sometimes(u64),
    /// Each as soon as it is recorded.
    AtOnce,
}

impl When {
    fn after<T: Element>(self, dice: &mut Dice, value: &mut Array<T>) {
        match self {
            When::AtTheEnd => {}
            When::AtOnce => jit::eval(&*value).unwrap(),
            When::Sometimes(_) => match dice.roll(9) {
                0 => jit::eval(&*value).unwrap(),
                1 => *value = value.make_opaque(),
                2 => jit::schedule(&*value),
                3 => drop(value.get(0)),
                _ => {}
            },
        }
    }
}

struct Program {
    dice: Dice,
    values: Values,
    when: When,
    /// Determines what is evaluated, independently of what is computed.
    evaluation: Dice,
    /// The operation, for messages.
    text: String,
}

impl Program {
    fn new(seed: u64, when: When) -> Program {
        let mut dice = Dice(seed);
        let width = match dice.roll(4) {
            0 => 1 + dice.roll(3),
            1 => 20_000 + dice.roll(3000),
            _ => 2 + dice.roll(300),
        };
        let (floats, doubles, halves) = (Vec::new(), Vec::new(), Vec::new());
        let (ints, longs, counts, bytes, masks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let values = Values { width, floats, doubles, halves, ints, longs, counts, bytes, masks };
        let evaluation = Dice(if let When::Sometimes(seed) = when { seed } else { 0 });
        let text = format!("width {width}\n");
        let mut program = Program { dice, values, when, evaluation, text };
        program.begin::<f32>();
        program.begin::<f64>();
        program.begin::<f16>();
        program.begin::<i32>();
        program.begin::<i64>();
        program.begin::<u32>();
        program.begin::<u8>();
        let mask = program.values.floats[0].lt(&program.values.floats[1]);
        program.values.masks.push(mask);
        program
    }

    /// Some values of a type: in memory, a literal, an opaque one, a formula.
    fn begin<T: Kind>(&mut self) {
        let (corners, width) = (T::corners(), self.values.width);
        let dice = &mut self.dice;
        let memory = |dice: &mut Dice| Array::from((0..width).map(|_| dice.pick(&corners)).collect::<Vec<T>>());
        let begin = [
            memory(dice),
            memory(dice),
            Array::from(dice.pick(&corners)),
            Array::opaque(dice.pick(&corners)),
            Array::arange(width),
        ];
        T::of(&mut self.values).extend(begin);
    }

    fn put<T: Kind>(&mut self, mut value: Array<T>) {
        let (ty, width, line) = (T::TYPE, value.len(), value.site().line());
        self.text += &format!("{ty} × {width} of line {line}\n");
        self.when.after(&mut self.evaluation, &mut value);
        let values = T::of(&mut self.values);
        // Some are dropped, so that not all operations have many uses.
        if values.len() > 9 {
            let last = self.dice.roll(values.len());
            values.swap_remove(last);
        }
        values.push(value);
    }

    /// Positions within the width.
    fn index(&mut self) -> UInt {
        let count = self.dice.pick(&self.values.counts);
        count % self.values.width as u32
    }

    /// All positions, each once.
    fn permutation(&mut self) -> UInt {
        let width = self.values.width;
        let step = [7919, 101, 13, 1].into_iter().find(|step| !width.is_multiple_of(*step)).unwrap_or(1);
        (UInt::arange(width) * step as u32 + self.dice.roll(width) as u32) % width as u32
    }

    fn wide<T: Kind>(&self, value: &Array<T>) -> Array<T> {
        if value.len() == self.values.width { value.clone() } else { value.tile(self.values.width) }
    }

    fn step<T: Kind>(&mut self) {
        let [a, b, c] = [(); 3].map(|()| self.dice.pick(T::of(&mut self.values)));
        let mask = self.dice.pick(&self.values.masks);
        let value = match self.dice.roll(24) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a / b,
            4 => a % b,
            5 => a.min(b).max(c),
            6 => a.mul_add(b, c),
            7 => mask.select(a, b),
            8 => {
                let mask = if self.dice.roll(2) == 0 { a.lt(b) } else { a.eq(b) ^ mask };
                self.values.masks.push(mask);
                return;
            }
            9 => self.wide(&a).gather(&self.index()),
            10 => (self.wide(&a) * b).gather_masked(&self.index(), &mask),
            11 => a + self.wide(&b).sum(),
            12 => a.max(self.wide(&b).reduce_min()),
            13 => {
                let mut target = self.wide(&a);
                let index = self.permutation();
                target.scatter_masked(&b, &index, &mask);
                target
            }
            14 => {
                let (op, index) = (self.dice.pick(T::COMMUTING), self.index());
                let mut target = self.wide(&a) + &c;
                target.scatter_reduce(op, &b, &index);
                if self.dice.roll(2) == 0 {
                    target.scatter_reduce_masked(op, &c, &index, &mask);
                }
                target
            }
            15 => self.wide(&a).prefix_sum(),
            16 => self.wide(&b).prefix_sum_exclusive() + a,
            17 => self.wide(&a).reverse(),
            18 => self.wide(&a).roll(3) - self.wide(&b).shift(-2),
            19 => self.convert(),
            20 => self.wide(&a).gather(&self.wide(&b).argmax()) - c,
            _ => T::special(&mut self.dice, &a, &b),
        };
        self.put(value);
    }

    /// A value of another type.
    fn convert<T: Kind>(&mut self) -> Array<T> {
        match self.dice.roll(8) {
            0 => self.dice.pick(&self.values.floats).cast(),
            1 => self.dice.pick(&self.values.doubles).cast(),
            2 => self.dice.pick(&self.values.halves).cast(),
            3 => self.dice.pick(&self.values.ints).cast(),
            4 => self.dice.pick(&self.values.longs).cast(),
            5 => self.dice.pick(&self.values.counts).cast(),
            6 => self.dice.pick(&self.values.bytes).cast(),
            _ => self.dice.pick(&self.values.masks).cast(),
        }
    }

    /// A function with traced control flow.
    fn call(&mut self) {
        if self.dice.roll(2) == 0 {
            let (rest, steps) = halve_until_small(&self.dice.pick(&self.values.counts));
            self.put(rest);
            self.put(steps);
        } else {
            let [x, limit] = [(); 2].map(|()| self.dice.pick(&self.values.floats));
            self.put(fold_back(&x, &limit));
        }
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.dice.roll(8) {
                0 => self.step::<f32>(),
                1 => self.step::<f64>(),
                2 => self.step::<f16>(),
                3 => self.step::<i32>(),
                4 => self.step::<i64>(),
                5 => self.step::<u32>(),
                6 => self.step::<u8>(),
                _ => self.call(),
            }
        }
    }

    /// The bits of everything.
    fn results(self) -> Vec<(String, Vec<u64>)> {
        let Values { floats, doubles, halves, ints, longs, counts, bytes, masks, .. } = self.values;
        jit::eval(&((&floats, &doubles, &halves, &ints), (&longs, &counts, &bytes, &masks))).unwrap();
        let mut results = Vec::new();
        read(&floats, &mut results);
        read(&doubles, &mut results);
        read(&halves, &mut results);
        read(&ints, &mut results);
        read(&longs, &mut results);
        read(&counts, &mut results);
        read(&bytes, &mut results);
        read(&masks, &mut results);
        results
    }
}

fn read<T: Element>(arrays: &[Array<T>], results: &mut Vec<(String, Vec<u64>)>) {
    for (position, array) in arrays.iter().enumerate() {
        let name = format!("{} {position} of line {}", T::TYPE, array.site().line());
        results.push((name, array.to_vec().unwrap().into_iter().map(bits).collect()));
    }
}

fn results(seed: u64, steps: usize, device: Device, when: When) -> Vec<(String, Vec<u64>)> {
    jit::with_device(device, || {
        let mut program = Program::new(seed, when);
        program.run(steps);
        program.results()
    })
}

/// The difference between two ways to run a program, and the steps of it.
fn difference(seed: u64, steps: usize) -> Result<(), String> {
    let reference = results(seed, steps, Device::Interpreter, When::AtTheEnd);
    let mut others = vec![(Device::Interpreter, When::Sometimes(seed))];
    if crate::tested_devices::has_llvm() {
        let generated = [When::AtTheEnd, When::Sometimes(!seed), When::AtOnce];
        others.extend(generated.map(|when| (Device::Cpu, when)));
    }
    for (device, when) in others {
        let got = results(seed, steps, device, when);
        for ((name, got), (_, wanted)) in got.iter().zip(&reference) {
            let lane = got.iter().zip(wanted).position(|(a, b)| a != b);
            if lane.is_some() || got.len() != wanted.len() {
                let (width, wanted, text) = (got.len(), wanted.len(), text(seed, steps));
                return Err(format!(
                    "{name} on {device:?}, evaluated {when:?}: lane {lane:?}, width {width} for {wanted}, in\n{text}\
                     again by: JIT_TEST_PROGRAM={seed},{steps} cargo test -p jit --test operations one_program"
                ));
            }
        }
    }
    Ok(())
}

/// The steps of a program, one per line.
fn text(seed: u64, steps: usize) -> String {
    jit::with_device(Device::Interpreter, || {
        let mut program = Program::new(seed, When::AtTheEnd);
        program.run(steps);
        program.text
    })
}

proptest! {
    #![proptest_config(crate::seeds::config(16))]

    #[test]
    fn devices_and_times_of_evaluation_change_nothing(seed: u64, steps in 5_usize..60) {
        if let Err(text) = difference(seed, steps) {
            prop_assert!(false, "{text}");
        }
    }
}

/// Programs whose results once depended on when they were evaluated.
#[test]
fn programs_that_depended_on_evaluation() {
    for (seed, steps) in FOUND {
        difference(*seed, *steps).unwrap_or_else(|text| panic!("{text}"));
    }
}

const FOUND: &[(u64, usize)] = &[
    // A constant condition of many lanes, whose arms have width 1.
    (12_647_395_770_520_821_547, 59),
];

/// The program that `JIT_TEST_PROGRAM=seed,steps` names.
#[test]
fn one_program() {
    let Ok(named) = std::env::var("JIT_TEST_PROGRAM") else { return };
    let (seed, steps) = named.split_once(',').expect("JIT_TEST_PROGRAM is a seed and a number of steps");
    difference(seed.parse().unwrap(), steps.parse().unwrap()).unwrap_or_else(|text| panic!("{text}"));
}
