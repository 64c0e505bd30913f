//! Random expressions of values where floats are special: NaN of several signs and payloads, zeros and infinities of
//! both signs, subnormals, masks as numbers. Their results depend neither on the device nor on how operands reach an
//! operation: in memory, opaque (one scalar for all lanes) or literal (computed while tracing). Only the bits of a NaN
//! that is read from memory do.
//!
//! An expression is drawn from a seed, operation by operation, so that fewer operations are the beginning of the same
//! expression.

use half::{bf16, f16};
use jit::prelude::*;
use jit::{Element, FloatElement, eval};

use crate::agree::{bits, resident};

const LANES: usize = 5;
const LEAVES: usize = 4;

/// Pseudo-random numbers (SplitMix64).
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn roll(&mut self, sides: usize) -> usize {
        (self.bits() % sides as u64) as usize
    }

    fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.roll(values.len())].clone()
    }
}

/// How the values at the leaves of an expression reach its operations.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Operands {
    Memory,
    Opaque,
    Literal,
    /// Some of each, drawn with this seed.
    Mixed(u64),
}

impl Operands {
    /// Some lanes' values of a leaf.
    fn leaf<T: Element>(self, dice: &mut Dice, values: &[T]) -> Array<T> {
        let kind = if let Operands::Mixed(_) = self { dice.roll(3) } else { 3 };
        match (self, kind) {
            (Operands::Memory, _) | (_, 0) => resident(values),
            (Operands::Opaque, _) | (_, 1) => Array::opaque(values[0]),
            _ => Array::from(values[0]),
        }
    }
}

/// The values that an expression has computed so far.
#[derive(Default)]
struct Values {
    halves: Vec<Array<f16>>,
    brains: Vec<Array<bf16>>,
    floats: Vec<Float>,
    doubles: Vec<Float64>,
    shorts: Vec<Array<u16>>,
    words: Vec<UInt>,
    longs: Vec<Array<u64>>,
    ints: Vec<Int>,
    masks: Vec<Mask>,
}

/// A float type and the integer type of its bits.
trait Special: FloatElement {
    type Bits: Element;
    fn of(values: &mut Values) -> &mut Vec<Array<Self>>;
    fn bits_of(values: &mut Values) -> &mut Vec<Array<Self::Bits>>;
    fn to_word(value: &Array<Self>) -> Array<Self::Bits>;
    fn from_word(bits: &Array<Self::Bits>) -> Array<Self>;
    fn draw(dice: &mut Dice) -> Self;
}

macro_rules! special {
    ($($ty:ident, $bits:ident, $values:ident, $words:ident;)*) => {$(
        impl Special for $ty {
            type Bits = $bits;

            fn of(values: &mut Values) -> &mut Vec<Array<Self>> {
                &mut values.$values
            }

            fn bits_of(values: &mut Values) -> &mut Vec<Array<$bits>> {
                &mut values.$words
            }

            fn to_word(value: &Array<Self>) -> Array<$bits> {
                value.bitcast()
            }

            fn from_word(bits: &Array<$bits>) -> Array<Self> {
                bits.bitcast()
            }

            fn draw(dice: &mut Dice) -> Self {
                let infinity = $ty::INFINITY.to_bits();
                let quiet = $ty::NAN.to_bits() & !infinity;
                let one = $ty::from_f64(1.0).to_bits();
                let magnitude = dice.pick(&[
                    0, 0, 1, 3, $ty::MIN_POSITIVE.to_bits() - 1, $ty::MIN_POSITIVE.to_bits(), $ty::MAX.to_bits(),
                    infinity, infinity,
                    infinity | quiet, infinity | quiet | 5, infinity | 1, one, one, one + 1,
                    $ty::from_f64(0.5).to_bits(),
                    $ty::from_f64(2.5).to_bits(), $ty::from_f64(3.0).to_bits(), $ty::from_f64(1e4).to_bits(),
                ]);
                let sign = 1 << ($bits::BITS - 1);
                $ty::from_bits(if dice.roll(2) == 0 { magnitude } else { magnitude | sign })
            }
        }
    )*};
}

special! {
    f16, u16, halves, shorts;
    bf16, u16, brains, shorts;
    f32, u32, floats, words;
    f64, u64, doubles, longs;
}

/// An expression under way. All runs of a seed draw the same operations.
struct Expression {
    dice: Dice,
    /// Decides about mixed operands alone.
    kinds: Dice,
    operands: Operands,
    /// The computed lane; all lanes if none.
    lane: Option<usize>,
    values: Values,
}

impl Expression {
    fn new(seed: u64, operands: Operands, lane: Option<usize>) -> Expression {
        let kinds = Dice(if let Operands::Mixed(seed) = operands { seed } else { 0 });
        let mut new = Expression { dice: Dice(seed), kinds, operands, lane, values: Values::default() };
        new.floats::<f16>();
        new.floats::<bf16>();
        new.floats::<f32>();
        new.floats::<f64>();
        for _ in 0..2 {
            let masks = new.leaf(|dice| dice.roll(2) == 1);
            new.values.masks.push(masks);
            let ints = new.leaf(|dice| dice.pick(&[0, 1, -1, 7, i32::MIN, i32::MAX, 31]));
            new.values.ints.push(ints);
        }
        new
    }

    fn floats<T: Special>(&mut self) {
        for _ in 0..LEAVES {
            let leaf = self.leaf(T::draw);
            T::of(&mut self.values).push(leaf);
        }
        let bits = T::to_word(&T::of(&mut self.values)[0]);
        T::bits_of(&mut self.values).push(bits);
    }

    fn leaf<T: Element>(&mut self, draw: impl Fn(&mut Dice) -> T) -> Array<T> {
        let values: Vec<T> = (0..LANES).map(|_| draw(&mut self.dice)).collect();
        let lanes = self.lane.map_or(&values[..], |lane| &values[lane..=lane]);
        self.operands.leaf(&mut self.kinds, lanes)
    }

    fn step(&mut self) {
        match self.dice.roll(10) {
            0 => self.float::<f16>(),
            1 => self.float::<bf16>(),
            2..6 => self.float::<f32>(),
            6 | 7 => self.float::<f64>(),
            8 => self.mask(),
            _ => self.integer(),
        }
    }

    fn float<T: Special>(&mut self) {
        let [a, b, c] = [(); 3].map(|()| self.dice.pick(T::of(&mut self.values)));
        let mask = self.dice.pick(&self.values.masks);
        let value = match self.dice.roll(36) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 | 4 => a / b,
            5 => a % b,
            6 => with_itself(&a, |a, same| a / same),
            7 => with_itself(&a, |a, same| a - same),
            8 => a.min(b),
            9 => a.max(b),
            10 => a.fmin(b),
            11 => a.fmax(b),
            12 => a.copysign(b),
            13 => a.mul_sign(b),
            14 => a.mul_add(b, c),
            15 => a.sqrt(),
            16 => a.floor(),
            17 => a.round(),
            18 => a.round_ties_even(),
            19 => a.abs(),
            20 => -a,
            21 => a.sign(),
            22 => a.recip(),
            23 | 24 => mask.select(a, b),
            25 => mask.cast::<T>() * a,
            26 => a.clamp(b, c),
            27 => self.dice.pick(&self.values.ints).cast(),
            28 => {
                let bits = self.dice.pick(T::bits_of(&mut self.values));
                T::from_word(&bits)
            }
            29 => self.dice.pick(&self.values.floats).cast(),
            30 => self.dice.pick(&self.values.doubles).cast(),
            31 => self.dice.pick(&self.values.halves).cast(),
            32 => self.dice.pick(&self.values.brains).cast(),
            33 => a * T::from_f64(0.0),
            34 => a + T::from_f64(0.0),
            _ => self.function(&a, &b),
        };
        T::of(&mut self.values).push(value);
    }

    fn function<T: Special>(&mut self, a: &Array<T>, b: &Array<T>) -> Array<T> {
        match self.dice.roll(12) {
            0 => a.sin(),
            1 => a.exp(),
            2 => a.ln(),
            3 => a.powf(b),
            4 => a.atan2(b),
            5 => a.hypot(b),
            6 => a.cbrt(),
            _ => a.trunc(),
        }
    }

    fn mask(&mut self) {
        let [a, b] = [(); 2].map(|()| self.dice.pick(&self.values.floats));
        let [c, d] = [(); 2].map(|()| self.dice.pick(&self.values.doubles));
        let [m, n] = [(); 2].map(|()| self.dice.pick(&self.values.masks));
        let mask = match self.dice.roll(12) {
            0 => a.lt(b),
            1 => a.ge(b),
            2 => a.eq(b),
            3 => c.ne(d),
            4 => a.is_sign_negative(),
            5 => c.is_sign_positive(),
            6 => a.is_nan() | n,
            7 => a.is_finite() & m,
            8 => m ^ n,
            9 => !c.le(d),
            10 => a.cast(),
            _ => m.select(n, a.gt(b)),
        };
        self.values.masks.push(mask);
    }

    fn integer(&mut self) {
        let a = self.dice.pick(&self.values.floats);
        let [i, j] = [(); 2].map(|()| self.dice.pick(&self.values.ints));
        match self.dice.roll(8) {
            0 => self.values.words.push(a.bitcast()),
            1 => self.values.words.push(a.cast()),
            2 => self.values.ints.push(a.cast()),
            3 => self.values.ints.push(i / j),
            4 => self.values.ints.push(i % j),
            5 => {
                let bits = self.dice.pick(&self.values.doubles).bitcast();
                self.values.longs.push(bits);
            }
            6 => {
                let bits = self.dice.pick(&self.values.halves).bitcast();
                self.values.shorts.push(bits);
            }
            _ => {
                let mask = self.dice.pick(&self.values.masks);
                self.values.ints.push(mask.cast::<i32>() * i);
            }
        }
    }

    /// The bits of all values, by name; one of width 1 counts for each lane.
    fn results(self) -> Vec<(String, Vec<u64>)> {
        let Values { halves, brains, floats, doubles, shorts, words, longs, ints, masks } = self.values;
        eval(&((&halves, &brains, &floats, &doubles), (&shorts, &words, &longs, &ints, &masks))).unwrap();
        let lanes = if self.lane.is_some() { 1 } else { LANES };
        let mut results = Vec::new();
        read(&halves, lanes, &mut results);
        read(&brains, lanes, &mut results);
        read(&floats, lanes, &mut results);
        read(&doubles, lanes, &mut results);
        read(&shorts, lanes, &mut results);
        read(&words, lanes, &mut results);
        read(&longs, lanes, &mut results);
        read(&ints, lanes, &mut results);
        read(&masks, lanes, &mut results);
        results
    }
}

/// One value as both operands.
fn with_itself<T: Element>(a: &Array<T>, operation: fn(&Array<T>, &Array<T>) -> Array<T>) -> Array<T> {
    operation(a, a)
}

fn read<T: Element>(arrays: &[Array<T>], lanes: usize, results: &mut Vec<(String, Vec<u64>)>) {
    for (position, array) in arrays.iter().enumerate() {
        let name = format!("{} {position} of line {}", T::TYPE, array.site().line());
        let mut values: Vec<u64> = array.to_vec().unwrap().into_iter().map(bits).collect();
        if values.len() < lanes {
            values.resize(lanes, values[0]);
        }
        results.push((name, values));
    }
}

fn results(
    seed: u64,
    steps: usize,
    device: Device,
    operands: Operands,
    lane: Option<usize>,
) -> Vec<(String, Vec<u64>)> {
    jit::with_device(device, || {
        let mut expression = Expression::new(seed, operands, lane);
        (0..steps).for_each(|_| expression.step());
        expression.results()
    })
}

/// The first difference between the ways of computing an expression.
fn difference(seed: u64, steps: usize) -> Option<String> {
    let reference = results(seed, steps, Device::Interpreter, Operands::Memory, None);
    let compare = |got: Vec<(String, Vec<u64>)>, lane: usize, what: &str| {
        got.iter().zip(&reference).find_map(|((name, got), (_, wanted))| {
            let wanted = if got.len() == LANES { &wanted[..] } else { &wanted[lane..=lane] };
            (got != wanted).then(|| format!("{name} is {got:x?}, not {wanted:x?}, {what}"))
        })
    };
    let compiled = results(seed, steps, Device::Cpu, Operands::Memory, None);
    compare(compiled, 0, "compiled, in memory").or_else(|| {
        let lane = (seed % LANES as u64) as usize;
        [Operands::Literal, Operands::Opaque, Operands::Mixed(seed), Operands::Mixed(!seed)].into_iter().find_map(
            |how| {
                let device = if how == Operands::Literal { Device::Interpreter } else { Device::Cpu };
                compare(results(seed, steps, device, how, Some(lane)), lane, &format!("lane {lane}, {how:?}"))
            },
        )
    })
}

/// Fails with the shortest prefix of an expression that reveals a difference.
fn check(seed: u64, steps: usize) {
    if difference(seed, steps).is_some() {
        let (steps, what) = (1..=steps).find_map(|steps| Some((steps, difference(seed, steps)?))).unwrap();
        panic!(
            "{what}\n{steps} operations; again by:\n\
             JIT_TEST_SEED={seed} JIT_TEST_COUNT=1 cargo test -p jit --test operations nan::many -- --ignored"
        );
    }
}

#[test]
fn special_values_are_the_same_in_lanes_uniform_and_as_literals() {
    (0..150).for_each(|seed| check(seed, 24));
}

#[test]
#[ignore = "takes an hour; for new seeds, JIT_TEST_SEED is the first and JIT_TEST_COUNT how many"]
fn many() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (first, count) = (number("JIT_TEST_SEED", 1_000_000), number("JIT_TEST_COUNT", 100_000));
    (first..first + count).for_each(|seed| check(seed, 24));
}

#[test]
fn a_quotient_of_zeros_that_masks_make_is_nan() {
    crate::agree::on_each_device(|| {
        let mask = resident(&[true, false, true, false, false, true, true, false, true]);
        let wanted: Vec<bool> = mask.to_vec().unwrap().iter().map(|mask| !mask).collect();
        let x = mask.cast::<f32>() * 0.0;
        assert_eq!(mask.select(&x, with_itself(&x, |a, b| a / b)).is_nan().to_vec().unwrap(), wanted);
        assert_eq!(mask.select(&x, with_itself(&x, |a, b| a % b)).is_nan().to_vec().unwrap(), wanted);
        let x = mask.select(1.0_f64, 2.0) * 0.0;
        assert_eq!(mask.select(&x, with_itself(&x, |a, b| a / b)).is_nan().to_vec().unwrap(), wanted);
        assert_eq!(mask.select(with_itself(&x, |a, b| a / b), &x).is_nan().to_vec().unwrap(), mask.to_vec().unwrap());
    });
}

#[test]
fn the_smaller_of_a_number_and_nan_is_the_number_for_scalars_too() {
    crate::agree::on_each_device(|| {
        for (a, b) in [(1.5, f32::NAN), (f32::NAN, 1.5), (-0.0, f32::NAN), (f32::NAN, f32::INFINITY)] {
            let wanted = if a.is_nan() { b } else { a };
            let (x, y) = (Float::opaque(a), Float::opaque(b));
            for got in [x.fmin(&y), x.fmax(&y), y.fmin(&x), y.fmax(&x), (&x * 1.0).fmin(b), x.fmax(b)] {
                assert_eq!(got.item().unwrap().to_bits(), wanted.to_bits(), "{a} {b}");
            }
            let (x, y) = (Float64::opaque(a.into()), Float64::opaque(b.into()));
            assert_eq!(x.fmin(&y).item().unwrap(), f64::from(wanted), "{a} {b}");
            assert_eq!(x.cast::<f16>().fmax(y.cast::<f16>()).item().unwrap(), f16::from_f32(wanted), "{a} {b}");
        }
    });
}

#[test]
fn the_sign_of_a_nan_shows_nowhere() {
    crate::agree::on_each_device(|| {
        let negative = f32::from_bits(f32::NAN.to_bits() | 1 << 31 | 3);
        let [memory, opaque, literal] =
            [resident(&[negative, -negative]), Array::opaque(negative), Array::from(negative)];
        let computed = Float::opaque(0.0) / 0.0;
        for nan in [&memory, &opaque, &literal, &computed, &-&computed, &-&memory] {
            let all = |mask: Mask| mask.to_vec().unwrap().into_iter().all(|mask| mask);
            assert!(all(Array::from(2.0_f32).copysign(nan).eq(2.0)), "{nan:?}");
            assert!(all(Array::from(2.0_f32).mul_sign(nan).eq(2.0)), "{nan:?}");
            assert!(all(!nan.is_sign_negative() & nan.is_sign_positive()), "{nan:?}");
            assert!(all(nan.bitcast::<u32>().eq(f32::NAN.to_bits())), "{nan:?}");
            assert!(all(nan.cast::<f16>().bitcast::<u16>().eq(f16::NAN.to_bits())), "{nan:?}");
        }
        // Sorted behind the numbers, in their order.
        let mixed = resident(&[-f32::NAN, 1.0, f32::NAN, -1.0, negative]);
        assert_eq!(mixed.argsort().to_vec().unwrap(), [3, 1, 0, 2, 4]);
    });
}
