//! Random programs with traced loops and branches, nested in one another, against the same programs written with
//! selections alone.

#[path = "../../tests/shared/dice.rs"]
mod dice;
#[path = "../../tests/seeds/mod.rs"]
mod seeds;
#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use dice::Dice;
use jit_core::graph::Var;
use jit_core::trace::{BranchRecorder, LoopRecorder};
use jit_core::{Int, Mask, UInt, eval};
use jit_runtime::Site;
use jit_runtime::device::{Device, with_device};
use proptest::prelude::*;

const WIDTH: usize = 19;
/// Iterations of a loop, at most.
const TURNS: i32 = 3;

/// How control flow is written down.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Recorded,
    Selected,
}

struct Program {
    dice: Dice,
    style: Style,
    table: Int,
}

fn int(var: &Var) -> Int {
    Int::from_var(var.clone())
}

fn vars(values: &[Int]) -> Vec<Var> {
    values.iter().map(|value| value.var().clone()).collect()
}

fn ints(vars: &[Var]) -> Vec<Int> {
    vars.iter().map(int).collect()
}

impl Program {
    /// Changes some of the values, on the lanes of a mask, which only the selecting style needs.
    fn block(&mut self, values: &mut Vec<Int>, mask: &Mask, depth: usize) {
        for _ in 0..2 + self.dice.roll(3) {
            match self.dice.roll(10) {
                0 | 1 if depth > 0 => self.branch(values, mask, depth - 1),
                2 | 3 if depth > 0 => self.repeat(values, mask, depth - 1),
                4 => self.read(values, mask),
                _ => self.compute(values),
            }
        }
    }

    fn compute(&mut self, values: &mut [Int]) {
        let [target, a, b] = [0; 3].map(|_| self.dice.roll(values.len()));
        let (a, b) = (values[a].clone(), values[b].clone());
        values[target] = match self.dice.roll(6) {
            0 => a + b,
            1 => a * 3 - b,
            2 => a ^ (b >> 3),
            3 => a.max(b),
            4 => (0..12).fold(a, |sum, step| sum * 5 + &b + step),
            _ => a.lt(&b).select(b, a),
        };
    }

    /// Reads a table at an index that is in range on the lanes of the mask only if those lanes are the ones that read.
    fn read(&mut self, values: &mut [Int], mask: &Mask) {
        let [target, a] = [0; 2].map(|_| self.dice.roll(values.len()));
        let index = values[a].rem_euclid(WIDTH as i32);
        let value = match self.style {
            Style::Recorded => self.table.gather(&index),
            Style::Selected => self.table.gather_masked(&index, mask),
        };
        values[target] = value;
    }

    fn branch(&mut self, values: &mut Vec<Int>, mask: &Mask, depth: usize) {
        let [a, b] = [0; 2].map(|_| self.dice.roll(values.len()));
        let condition = values[a].lt(&values[b]);
        let (mut first, mut second) = (values.clone(), values.clone());
        match self.style {
            Style::Recorded => {
                let mut recorder = BranchRecorder::begin(condition.var(), Site::here());
                self.block(&mut first, mask, depth);
                recorder.otherwise();
                self.block(&mut second, mask, depth);
                *values = ints(&recorder.finish(vars(&first), vars(&second)));
            }
            Style::Selected => {
                self.block(&mut first, &(mask & &condition), depth);
                self.block(&mut second, &(mask & !&condition), depth);
                *values = first.iter().zip(&second).map(|(a, b)| condition.select(a, b)).collect();
            }
        }
    }

    fn repeat(&mut self, values: &mut Vec<Int>, mask: &Mask, depth: usize) {
        let which = self.dice.roll(values.len());
        let turns = values[which].rem_euclid(TURNS + 1);
        match self.style {
            Style::Recorded => {
                let mut inits = vars(values);
                inits.push(Int::from(0).into_var());
                let (mut recorder, params) = LoopRecorder::begin(&inits, Site::here());
                let mut inner = ints(&params);
                let counter = inner.remove(values.len());
                recorder.condition(counter.lt(&turns).var());
                self.block(&mut inner, mask, depth);
                inner.push(counter + 1);
                let mut results = ints(&recorder.finish(vars(&inner)));
                results.truncate(values.len());
                *values = results;
            }
            Style::Selected => {
                let body = self.dice.clone();
                for turn in 0..TURNS {
                    self.dice = body.clone();
                    let active = turns.gt(turn);
                    let mut next = values.clone();
                    self.block(&mut next, &(mask & &active), depth);
                    *values = values.iter().zip(&next).map(|(before, after)| active.select(after, before)).collect();
                }
            }
        }
    }
}

/// Runs a program over some data, of which a number chooses one.
fn run(seed: u64, style: Style, device: Device, data: u32) -> Vec<Vec<i32>> {
    with_device(device, || {
        let data = |factor: u32| {
            let factor = factor.wrapping_add(2 * data);
            Int::from((0..WIDTH as u32).map(|i| (i.wrapping_mul(factor) >> 20) as i32 - 2000).collect::<Vec<_>>())
        };
        let mut values = vec![data(0x9E37_79B9), data(0x85EB_CA6B), UInt::arange(WIDTH).cast(), Int::opaque(7)];
        let table = data(0xC2B2_AE35);
        let mut program = Program { dice: Dice(seed), style, table };
        program.block(&mut values, &Mask::from(true), 3);
        eval(&values).expect("a program evaluates");
        values.iter().map(|value| (value + Int::zeros(WIDTH)).to_vec().expect("values")).collect()
    })
}

proptest! {
    #![proptest_config(seeds::config(60))]

    #[test]
    fn recorded_control_flow_is_selection(seed: u64) {
        // The second time its trace is known.
        for data in [0, 12345] {
            let expected = run(seed, Style::Selected, Device::Interpreter, data);
            prop_assert_eq!(&run(seed, Style::Recorded, Device::Interpreter, data), &expected, "seed {}", seed);
            if tested_devices::has_llvm() {
                prop_assert_eq!(&run(seed, Style::Recorded, Device::Cpu, data), &expected, "seed {}", seed);
            }
        }
    }
}
