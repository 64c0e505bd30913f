//! Random programs over arrays of every element type: the CPU against the interpreter, lane by lane, bit by bit; and
//! against the values that they had before anything was folded.

#[path = "../../tests/shared/dice.rs"]
mod dice;
#[path = "../../tests/seeds/mod.rs"]
mod seeds;
#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use dice::Dice;
use jit_core::graph::Var;
use jit_core::{Array, Element, FloatElement, Integer, Mask, Number, UInt, eval};
use jit_runtime::device::{Device, with_device};
use jit_runtime::ir::{ReduceOp, Type, scalar};
use proptest::prelude::*;

const WIDTH: usize = 37;

impl Dice {
    /// Bits that make interesting values: small numbers, extremes, zeros of both signs, infinities, anything.
    fn bits(&mut self, ty: Type) -> u64 {
        let any = (self.roll(1 << 31) as u64) << 33 ^ (self.roll(1 << 31) as u64) << 11 ^ self.roll(1 << 31) as u64;
        let small = scalar::cast(Type::I64, ty, (self.roll(19) as i64 - 9) as u64);
        let sign = 1 << (ty.bits() - 1);
        match self.roll(10) {
            0 => 0,
            1 => sign,
            2 => ty.bit_mask(),
            3 => sign - 1,
            4 if ty.is_float() => scalar::cast(Type::F64, ty, f64::INFINITY.to_bits()),
            5 if ty.is_float() => scalar::cast(Type::F64, ty, (self.roll(1000) as f64 * 0.37 - 150.0).to_bits()),
            6 => any & ty.bit_mask(),
            _ => small,
        }
    }

    fn element<T: Element>(&mut self) -> T {
        T::from_bits(self.bits(T::TYPE))
    }

    fn values<T: Element>(&mut self) -> Vec<T> {
        (0..WIDTH).map(|_| self.element()).collect()
    }
}

/// What programs of one type may do beyond arithmetic.
trait Steps: Number {
    fn special(dice: &mut Dice, a: &Array<Self>, b: &Array<Self>) -> Array<Self>;
}

fn float_step<T: FloatElement>(dice: &mut Dice, a: &Array<T>, b: &Array<T>) -> Array<T> {
    match dice.roll(16) {
        0 => a.floor(),
        1 => a.ceil(),
        2 => a.trunc(),
        3 => a.round(),
        4 => a.round_ties_even(),
        5 => a.sqrt(),
        // The sign of a NaN is anything.
        6 => a.copysign(b.ne(b).select(T::default(), b)),
        7 => a.fmin(b),
        8 => a.fmax(b),
        9 => a.sign(),
        10 => a.hypot(b),
        11 => a.recip(),
        12 => a.exp2(),
        13 => a.sin(),
        14 => a.abs().ln(),
        _ => -a,
    }
}

fn integer_step<T: Integer>(dice: &mut Dice, a: &Array<T>, b: &Array<T>) -> Array<T> {
    match dice.roll(13) {
        0 => a & b,
        1 => a | b,
        2 => a ^ b,
        3 => a << b,
        4 => a >> b,
        5 => !a,
        6 => a.count_ones(),
        7 => a.leading_zeros(),
        8 => a.trailing_zeros(),
        9 => a.reverse_bits(),
        10 => a.mul_hi(b),
        11 => a.rotate_left(b),
        _ => a.rotate_right(b),
    }
}

macro_rules! steps {
    ($function:ident: $($ty:ty),*) => {$(
        impl Steps for $ty {
            fn special(dice: &mut Dice, a: &Array<Self>, b: &Array<Self>) -> Array<Self> {
                $function(dice, a, b)
            }
        }
    )*};
}

steps!(float_step: half::f16, half::bf16, f32, f64);
steps!(integer_step: i8, i16, i32, i64, u8, u16, u32, u64);

fn step<T: Steps>(dice: &mut Dice, values: &[Array<T>], masks: &mut Vec<Mask>) -> Array<T> {
    let (a, b, c) = (dice.pick(values), dice.pick(values), dice.pick(values));
    match dice.roll(15) {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => a / b,
        4 => a % b,
        5 => a.min(b),
        6 => a.max(b),
        7 => a.mul_add(b, c),
        8 => a.abs(),
        9 => {
            let mask = match dice.roll(6) {
                0 => a.lt(b),
                1 => a.le(b),
                2 => a.gt(b),
                3 => a.eq(b),
                4 => a.ne(b),
                _ => !a.ge(b),
            };
            let mask = if dice.roll(2) == 0 { mask } else { mask ^ dice.pick(masks) };
            masks.push(mask);
            dice.pick(masks).select(c, dice.pick(values))
        }
        10 => {
            let index = UInt::from((0..WIDTH).map(|_| dice.roll(WIDTH) as u32).collect::<Vec<_>>());
            let wide = &a + Array::<T>::zeros(WIDTH);
            if dice.roll(2) == 0 { wide.gather(&index) } else { wide.gather_masked(&index, &wide.lt(b)) }
        }
        11 => {
            let (block, op) = (dice.roll(WIDTH + 2) + 1, dice.pick(&REDUCTIONS));
            let blocks = (&a + Array::<T>::zeros(WIDTH)).block_reduce(op, block);
            blocks.gather(&(UInt::arange(WIDTH) / block as u32))
        }
        _ => T::special(dice, &a, &b),
    }
}

/// The reductions of every type of numbers.
const REDUCTIONS: [ReduceOp; 4] = [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max];

/// Traces a program; the last values of it.
fn program<T: Steps>(seed: u64, fold: bool) -> Vec<Var> {
    let mut dice = Dice(seed);
    let mut values: Vec<Array<T>> = vec![dice.values::<T>().into(), dice.values::<T>().into()];
    for _ in 0..3 {
        let literal = Array::from(dice.element::<T>());
        values.push(if fold { literal } else { literal.make_opaque() });
    }
    values.push(Array::arange(WIDTH));
    let mut masks = vec![values[0].lt(&values[1])];
    for _ in 0..25 {
        let value = step(&mut dice, &values, &mut masks);
        values.push(value);
    }
    values.into_iter().rev().take(4).map(Array::into_var).collect()
}

/// The bits of results; all NaN match, for their signs and payloads are unspecified.
fn bits<T: Element>(vars: &[Var]) -> Vec<Vec<u64>> {
    let arrays: Vec<Array<T>> = vars.iter().cloned().map(Array::from_var).collect();
    eval(&arrays).expect("a program evaluates");
    let canonical = |value: T| if value.partial_cmp(&value).is_none() { u64::MAX } else { value.to_bits() };
    arrays.iter().map(|array| array.to_vec().expect("values").into_iter().map(canonical).collect()).collect()
}

fn check<T: Steps>(seed: u64) -> Result<(), TestCaseError> {
    let run = |device, fold| with_device(device, || bits::<T>(&program::<T>(seed, fold)));
    let reference = run(Device::Interpreter, true);
    prop_assert_eq!(
        &run(Device::Interpreter, false),
        &reference,
        "{} seed {}: folding changes the result",
        T::TYPE,
        seed
    );
    if tested_devices::has_llvm() {
        prop_assert_eq!(&run(Device::Cpu, true), &reference, "{} seed {}: devices differ", T::TYPE, seed);
    }
    Ok(())
}

proptest! {
    #![proptest_config(seeds::config(24))]

    #[test]
    fn devices_and_folding_agree(seed: u64) {
        check::<i8>(seed)?;
        check::<i16>(seed)?;
        check::<i32>(seed)?;
        check::<i64>(seed)?;
        check::<u8>(seed)?;
        check::<u16>(seed)?;
        check::<u32>(seed)?;
        check::<u64>(seed)?;
        check::<half::f16>(seed)?;
        check::<half::bf16>(seed)?;
        check::<f32>(seed)?;
        check::<f64>(seed)?;
    }
}
