//! Programs, drawn step by step: fewer steps are the beginning of the same program.

use jit_core::{Array, Element, Integer, Mask, Number, UInt, eval, schedule};
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::dice::Dice;
use super::model::{REDUCTIONS, Value, is_exact, lanes};

/// Widths at the ends of packets, rows and blocks of lanes.
const WIDTHS: &[usize] =
    &[0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 255, 256, 257, 300, 511, 513, 600, 1000, 2049];
/// Rarely, widths that several threads share.
const LARGE: &[usize] = &[4096, 16_383, 16_385, 65_535, 65_537, 70_001];
/// No program makes wider arrays.
pub(super) const MOST: usize = 150_000;

/// Everything that a program has computed so far.
#[derive(Default)]
pub(super) struct Values {
    pub(super) i8s: Vec<Value<i8>>,
    pub(super) u8s: Vec<Value<u8>>,
    pub(super) i16s: Vec<Value<i16>>,
    pub(super) u16s: Vec<Value<u16>>,
    pub(super) i32s: Vec<Value<i32>>,
    pub(super) u32s: Vec<Value<u32>>,
    pub(super) i64s: Vec<Value<i64>>,
    pub(super) u64s: Vec<Value<u64>>,
    pub(super) halves: Vec<Value<half::f16>>,
    pub(super) f32s: Vec<Value<f32>>,
    pub(super) f64s: Vec<Value<f64>>,
    pub(super) masks: Vec<Value<bool>>,
}

/// A type that programs compute with.
pub(super) trait Kind: Number {
    fn of(values: &mut Values) -> &mut Vec<Value<Self>>;
    /// Operations on bits, of integers.
    fn bitwise(op: BinaryOp, a: Array<Self>, b: Array<Self>) -> Array<Self>;
}

macro_rules! integers {
    ($($ty:ident in $field:ident;)*) => {$(
        impl Kind for $ty {
            fn of(values: &mut Values) -> &mut Vec<Value<Self>> {
                &mut values.$field
            }

            fn bitwise(op: BinaryOp, a: Array<Self>, b: Array<Self>) -> Array<Self> {
                match op {
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Shl => a << b,
                    _ => a >> b,
                }
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $field:ident;)*) => {$(
        impl Kind for $ty {
            fn of(values: &mut Values) -> &mut Vec<Value<Self>> {
                &mut values.$field
            }

            fn bitwise(_: BinaryOp, a: Array<Self>, _: Array<Self>) -> Array<Self> {
                a
            }
        }
    )*};
}

integers! {
    i8 in i8s;
    u8 in u8s;
    i16 in i16s;
    u16 in u16s;
    i32 in i32s;
    u32 in u32s;
    i64 in i64s;
    u64 in u64s;
}

floats! {
    half::f16, halves;
    f32, f32s;
    f64, f64s;
}

/// Calls a method with a type that is drawn: of indices, or of any numbers.
macro_rules! drawn {
    (index $self:ident.$method:ident<$first:ty>) => {
        match $self.dice.roll(12) {
            0 => $self.$method::<$first, i8>(),
            1 => $self.$method::<$first, u8>(),
            2 => $self.$method::<$first, i16>(),
            3 => $self.$method::<$first, u16>(),
            4..6 => $self.$method::<$first, i32>(),
            6..9 => $self.$method::<$first, u32>(),
            9..11 => $self.$method::<$first, i64>(),
            _ => $self.$method::<$first, u64>(),
        }
    };
    (number $self:ident.$method:ident<$first:ty>) => {
        match $self.dice.roll(11) {
            0 => $self.$method::<$first, i8>(),
            1 => $self.$method::<$first, u8>(),
            2 => $self.$method::<$first, i16>(),
            3 => $self.$method::<$first, u16>(),
            4 => $self.$method::<$first, i32>(),
            5 => $self.$method::<$first, u32>(),
            6 => $self.$method::<$first, i64>(),
            7 => $self.$method::<$first, u64>(),
            8 => $self.$method::<$first, half::f16>(),
            9 => $self.$method::<$first, f32>(),
            _ => $self.$method::<$first, f64>(),
        }
    };
    (number $self:ident.$method:ident) => {
        match $self.dice.roll(11) {
            0 => $self.$method::<i8>(),
            1 => $self.$method::<u8>(),
            2 => $self.$method::<i16>(),
            3 => $self.$method::<u16>(),
            4 => $self.$method::<i32>(),
            5 => $self.$method::<u32>(),
            6 => $self.$method::<i64>(),
            7 => $self.$method::<u64>(),
            8 => $self.$method::<half::f16>(),
            9 => $self.$method::<f32>(),
            _ => $self.$method::<f64>(),
        }
    };
}

pub(super) struct Program {
    pub(super) dice: Dice,
    pub(super) values: Values,
    /// Widths of this program.
    widths: Vec<usize>,
    /// Determines what is evaluated when, independently of what is computed.
    evaluation: Option<Dice>,
    pub(super) step: usize,
    /// Changes elements and literals, but no operation: kernels are found by what is left.
    variant: u64,
    /// Whether all operations are on lanes: one kernel of many operations.
    pub(super) is_long: bool,
}

impl Program {
    pub(super) fn new(seed: u64, evaluation: Option<u64>, variant: u64) -> Program {
        let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.roll(2);
        let widths = (0..4).map(|_| match dice.roll(40) {
            0 => LARGE[dice.roll(LARGE.len())],
            _ => WIDTHS[dice.roll(WIDTHS.len())],
        });
        let widths: Vec<usize> = widths.collect();
        let is_long = dice.roll(10) == 0;
        let widths = if is_long { vec![widths[0]] } else { widths };
        let values = Values::default();
        let mut program = Program { dice, values, widths, evaluation: evaluation.map(Dice), step: 0, variant, is_long };
        program.begin::<i8>();
        program.begin::<u8>();
        program.begin::<i16>();
        program.begin::<u16>();
        program.begin::<i32>();
        program.begin::<u32>();
        program.begin::<i64>();
        program.begin::<u64>();
        program.begin::<half::f16>();
        program.begin::<f32>();
        program.begin::<f64>();
        for width in program.widths.clone() {
            let bits: Vec<u64> = lanes(width, |_| program.dice.roll(2) as u64);
            let mask = Mask::from(bits.iter().map(|&bit| bit != 0).collect::<Vec<bool>>());
            program.values.masks.push(Value::new(mask, bits));
        }
        program
    }

    /// Bits that make interesting values: small numbers, extremes, zeros of both signs, infinities, anything.
    pub(super) fn element(&mut self, ty: Type) -> u64 {
        let dice = &mut self.dice;
        let any = (dice.roll(1 << 31) as u64) << 33 ^ (dice.roll(1 << 31) as u64) << 11 ^ dice.roll(1 << 31) as u64;
        let small = scalar::cast(Type::I64, ty, (dice.roll(40) as i64 - 9 + self.variant as i64) as u64);
        let sign = 1 << (ty.bits() - 1);
        match dice.roll(16) {
            0 => 0,
            1 => sign,
            2 => ty.bit_mask(),
            3 => sign - 1,
            4 if ty.is_float() => scalar::cast(Type::F64, ty, f64::INFINITY.to_bits()),
            5 if ty.is_float() => scalar::cast(Type::F64, ty, (dice.roll(1000) as f64 * 0.37 - 150.0).to_bits()),
            6 => any & ty.bit_mask(),
            7 => scalar::cast(Type::U64, ty, dice.roll(300) as u64),
            _ => small,
        }
    }

    /// Some values of a type: in memory, a literal, an opaque one, the number of the lane.
    pub(super) fn begin<T: Kind>(&mut self) {
        let literal = self.element(T::TYPE);
        let opaque = self.element(T::TYPE);
        let width = self.width();
        let mut values = vec![
            Value::new(Array::from(T::from_bits(literal)), vec![literal]),
            Value::new(Array::opaque(T::from_bits(opaque)), vec![opaque]),
            Value::new(Array::arange(width), lanes(width, |lane| scalar::cast(Type::U32, T::TYPE, lane as u64))),
            Value::new(Array::full(T::from_bits(literal), width), vec![literal; width]),
            Value::new(Array::opaque(T::from_bits(opaque)).tile(width), vec![opaque; width]),
        ];
        for _ in 0..2 {
            let width = self.width();
            let bits = lanes(width, |_| self.element(T::TYPE));
            let elements: Vec<T> = bits.iter().map(|&bits| T::from_bits(bits)).collect();
            values.push(Value::new(Array::from(elements), bits));
        }
        T::of(&mut self.values).extend(values);
    }

    pub(super) fn width(&mut self) -> usize {
        self.widths[self.dice.roll(self.widths.len())]
    }

    pub(super) fn pick<T: Kind>(&mut self) -> Value<T> {
        let values = T::of(&mut self.values);
        values[self.dice.roll(values.len())].clone()
    }

    /// A value that is changed: in place if nothing else refers to it.
    pub(super) fn target<T: Kind>(&mut self) -> Value<T> {
        let is_last = self.dice.roll(2) == 0;
        let values = T::of(&mut self.values);
        let place = self.dice.roll(values.len());
        if is_last && values.len() > 4 { values.swap_remove(place) } else { values[place].clone() }
    }

    /// A value of a width, which one of another width is repeated or cut to.
    pub(super) fn fitted<T: Kind>(&mut self, width: usize) -> Value<T> {
        let value = self.pick::<T>();
        if value.len() == width || value.len() == 1 {
            return value;
        }
        if value.len() == 0 {
            let bits = lanes(width, |lane| scalar::cast(Type::U32, T::TYPE, lane as u64));
            return Value::new(Array::arange(width), bits);
        }
        let (array, length) = (value.array.clone(), value.len());
        match self.dice.roll(2) {
            0 => {
                let index = UInt::arange(width) % length as u32;
                Value::new(array.gather(&index), lanes(width, |lane| value.bits[lane % length]))
            }
            _ => {
                let index = UInt::arange(width) / 3;
                let at = |lane: usize| value.bits.get(lane / 3).copied().unwrap_or(0);
                Value::new(array.gather(&index), lanes(width, at))
            }
        }
    }

    /// A mask of a width, or of width 1.
    pub(super) fn mask(&mut self, width: usize) -> Value<bool> {
        let fitting: Vec<Value<bool>> =
            self.values.masks.iter().filter(|mask| mask.len() == width || mask.len() == 1).cloned().collect();
        if fitting.is_empty() || self.dice.roll(4) == 0 {
            let a = self.fitted::<i16>(width);
            let array = a.array.gt(3) & UInt::arange(width).lt(u32::MAX);
            return Value::new(array, lanes(width, |lane| u64::from(a.at(lane) as i16 > 3)));
        }
        fitting[self.dice.roll(fitting.len())].clone()
    }

    /// Small whole numbers, whose sums are exact in floats.
    pub(super) fn exact<T: Kind>(&mut self, a: Value<T>) -> Value<T> {
        if !T::TYPE.is_float() {
            return a;
        }
        let bits = a.bits.iter().map(|&bits| scalar::cast(Type::I8, T::TYPE, scalar::cast(T::TYPE, Type::I8, bits)));
        Value::new(a.array.cast::<i8>().cast(), bits.collect())
    }

    pub(super) fn op<T: Kind>(&mut self) -> ReduceOp {
        loop {
            let op = REDUCTIONS[self.dice.roll(REDUCTIONS.len())];
            if is_exact(op, T::TYPE) {
                return op;
            }
        }
    }

    /// An index of some width, for arrays of another one.
    pub(super) fn index<K: Kind + Integer>(&mut self, length: usize) -> Value<K> {
        let ty = K::TYPE;
        let width = self.width();
        let small = |dice: &mut Dice, sides: usize| scalar::cast(Type::U32, ty, dice.roll(sides) as u64);
        let lane = |lane: usize| scalar::cast(Type::U32, ty, lane as u64);
        let number = |bits: u64| Array::from(K::from_bits(bits));
        let arange = Array::<K>::arange(width);
        let (factor, rest) = (small(&mut self.dice, 6), small(&mut self.dice, 40));
        let binary = |op, a, b| scalar::binary(op, ty, a, b);
        match self.dice.roll(9) {
            0 => {
                let array = arange * number(factor) + number(rest);
                let at = |l| binary(BinaryOp::Add, binary(BinaryOp::Mul, lane(l), factor), rest);
                Value::new(array, lanes(width, at))
            }
            1 => Value::new(arange / number(factor), lanes(width, |l| binary(BinaryOp::Div, lane(l), factor))),
            2 => Value::new(arange % number(rest), lanes(width, |l| binary(BinaryOp::Rem, lane(l), rest))),
            3 => {
                let last = lane(length.saturating_sub(1));
                Value::new(number(last) - arange, lanes(width, |l| binary(BinaryOp::Sub, last, lane(l))))
            }
            4 => self.fitted::<K>(width),
            5 | 6 => {
                let (any, modulus) = (self.fitted::<K>(width), lane(length.max(1)));
                let bits = any.bits.iter().map(|&bits| binary(BinaryOp::Rem, bits, modulus)).collect();
                Value::new(any.array % number(modulus), bits)
            }
            7 => {
                let any = self.fitted::<K>(width);
                let bits = lanes(width, |l| binary(BinaryOp::Add, binary(BinaryOp::And, any.at(l), 7), lane(l)));
                Value::new(K::bitwise(BinaryOp::And, any.array, number(7)) + arange, bits)
            }
            _ => {
                let any = self.fitted::<K>(width);
                let bits = any.bits.iter().map(|&bits| binary(BinaryOp::Min, bits, rest)).collect();
                Value::new(any.array.min(number(rest)), bits)
            }
        }
    }

    pub(super) fn run_step<T: Kind>(&mut self) {
        let step = match self.is_long {
            true => [0, 0, 0, 3, 3, 5, 23][self.dice.roll(7)],
            false => self.dice.roll(24),
        };
        let value = match step {
            0..3 => self.arithmetic::<T>(),
            3 | 4 => self.chosen::<T>(),
            5..8 => drawn!(index self.gathered<T>),
            8 => drawn!(index self.taken<T>),
            9 => drawn!(index self.packets<T>),
            10 | 11 => drawn!(index self.written<T>),
            12 | 13 => drawn!(index self.combined<T>),
            14 => self.exchanged::<T>(),
            15 | 16 => self.moved::<T>(),
            17 => self.reduced::<T>(),
            18 => self.prefix::<T>(),
            19 => self.ranges::<T>(),
            20 => drawn!(index self.segments<T>),
            21 => self.sorted::<T>(),
            22 => match self.dice.roll(2) {
                0 => self.filtered::<T>(),
                _ => self.found::<T>(),
            },
            _ => drawn!(number self.cast<T>),
        };
        self.put(value);
    }

    pub(super) fn put<T: Kind>(&mut self, mut value: Value<T>) {
        let most = if self.is_long { 24 } else { 10 };
        if let Some(dice) = &mut self.evaluation {
            match dice.roll(9) {
                0 => eval(&value.array).expect("a value is computed"),
                1 => value.array = value.array.make_opaque(),
                2 => schedule(&value.array),
                _ => {}
            }
        }
        let step = self.step;
        assert_eq!(value.array.len(), value.len(), "the width after step {step}");
        let values = T::of(&mut self.values);
        if values.len() > most {
            let last = self.dice.roll(values.len());
            values.swap_remove(last);
        }
        values.push(value);
    }

    pub(super) fn run(&mut self, steps: usize) {
        for step in 0..steps {
            self.step = step;
            drawn!(number self.run_step);
        }
    }

    pub(super) fn check(self) -> Result<(), String> {
        let Values { i8s, u8s, i16s, u16s, i32s, u32s, i64s, u64s, halves, f32s, f64s, masks } = self.values;
        check(&i8s)?;
        check(&u8s)?;
        check(&i16s)?;
        check(&u16s)?;
        check(&i32s)?;
        check(&u32s)?;
        check(&i64s)?;
        check(&u64s)?;
        check(&halves)?;
        check(&f32s)?;
        check(&f64s)?;
        check(&masks)
    }
}

fn check<T: Element>(values: &[Value<T>]) -> Result<(), String> {
    // All NaN match, for their signs and payloads are unspecified.
    let canonical = |bits: u64| if scalar::compare(CompareOp::Ne, T::TYPE, bits, bits) { u64::MAX } else { bits };
    let arrays: Vec<Array<T>> = values.iter().map(|value| value.array.clone()).collect();
    eval(&arrays).map_err(|error| error.to_string())?;
    for value in values {
        let got: Vec<u64> = value.array.to_vec().expect("values").into_iter().map(Element::to_bits).collect();
        for (lane, (&got, &wanted)) in got.iter().zip(&value.bits).enumerate() {
            if canonical(got) != canonical(wanted) {
                let (width, line) = (value.bits.len(), value.array.site().line());
                return Err(format!(
                    "lane {lane} of {width} of {} of line {line}: {:?} instead of {:?}",
                    T::TYPE,
                    T::from_bits(got),
                    T::from_bits(wanted)
                ));
            }
        }
    }
    Ok(())
}
