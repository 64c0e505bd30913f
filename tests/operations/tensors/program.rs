//! Programs, drawn step by step: fewer steps are the beginning of the same program.

use half::f16;
use jit::prelude::*;
use jit::tensor::{Axes, Edge, Index, IntoIndex, keep_dims};
use jit::{Element, Number, Scan};
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::model::{
    Model, combined_wide, common, coordinates, lines, narrow, number, python_range, selected, wide_identity,
};
use crate::dice::Dice;

mod moves;

/// No program makes larger tensors …
const MOST: usize = 60_000;
/// … nor such with more axes.
const MOST_AXES: usize = 4;

const LENGTHS: &[usize] = &[0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65];
const LONG: &[usize] = &[255, 257, 513, 1025, 2049];

#[derive(Clone)]
struct Value<T: Element> {
    tensor: Tensor<T>,
    model: Model,
}

/// A type that programs compute with.
pub(super) trait Kind: Number {
    /// Small numbers, of which sums and products are exact.
    fn small(tensor: &Tensor<Self>) -> Tensor<Self>;
    fn small_bits(bits: u64) -> u64;
}

macro_rules! kinds {
    ($($ty:ty),*) => {$(
        impl Kind for $ty {
            fn small(tensor: &Tensor<Self>) -> Tensor<Self> {
                tensor.cast::<i8>().map(|x| x % 5).cast()
            }

            fn small_bits(bits: u64) -> u64 {
                let small = scalar::cast(<$ty>::TYPE, Type::I8, bits);
                scalar::cast(Type::I8, <$ty>::TYPE, scalar::binary(BinaryOp::Rem, Type::I8, small, 5))
            }
        }
    )*};
}

kinds!(i8, u8, i16, i32, u32, i64, f16, f32, f64);

pub(super) struct Program<T: Kind> {
    dice: Dice,
    values: Vec<Value<T>>,
    /// Lengths of axes of this program.
    lengths: Vec<usize>,
    /// Determines what is evaluated when.
    evaluation: Option<Dice>,
    /// The steps, for messages.
    text: String,
}

impl<T: Kind> Program<T> {
    pub(super) fn new(seed: u64, evaluation: Option<u64>) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.roll(2);
        let mut length =
            || if dice.roll(16) == 0 { LONG[dice.roll(LONG.len())] } else { LENGTHS[dice.roll(LENGTHS.len())] };
        let lengths = vec![length(), length(), length(), 1];
        let (values, text) = (Vec::new(), String::new());
        let mut program = Program { dice, values, lengths, evaluation: evaluation.map(Dice), text };
        for _ in 0..4 {
            program.begin();
        }
        program
    }

    fn begin(&mut self) {
        let axes = self.dice.roll(4);
        let mut shape: Vec<usize> = (0..axes).map(|_| self.length()).collect();
        while shape.iter().product::<usize>() > MOST {
            shape.pop();
        }
        let model = Model::of(shape, |_| self.element());
        let elements: Vec<T> = model.bits.iter().map(|&bits| T::from_bits(bits)).collect();
        let tensor = Tensor::from_array(Array::from(elements), model.shape.clone());
        self.values.push(Value { tensor, model });
    }

    fn length(&mut self) -> usize {
        self.lengths[self.dice.roll(self.lengths.len())]
    }

    fn element(&mut self) -> u64 {
        let small = self.dice.roll(60) as i64 - 20;
        match self.dice.roll(12) {
            0 => scalar::cast(Type::F64, T::TYPE, (self.dice.roll(4000) as f64 * 0.37 - 150.0).to_bits()),
            1 => T::TYPE.bit_mask() >> 1,
            _ => scalar::cast(Type::I64, T::TYPE, small as u64),
        }
    }

    fn pick(&mut self) -> Value<T> {
        self.values[self.dice.roll(self.values.len())].clone()
    }

    /// A value with at least one axis, and one of them.
    fn with_axis(&mut self) -> Option<(Value<T>, usize)> {
        let value = self.pick();
        let axes = value.model.shape.len();
        (axes > 0).then(|| (value, self.dice.roll(axes.max(1))))
    }

    /// A value that broadcasts to a shape.
    fn fitting(&mut self, shape: &[usize]) -> Value<T> {
        for _ in 0..4 {
            let value = self.pick();
            let fits = common(shape, &value.model.shape).is_some_and(|common| common == shape);
            if fits {
                return value;
            }
        }
        // A part of another one, and ones where it is too short.
        let value = self.pick();
        let (flat, count) = (value.tensor.ravel(), value.model.bits.len());
        let keeps: Vec<usize> = shape.iter().map(|&length| if self.dice.roll(3) == 0 { 1 } else { length }).collect();
        let wanted: usize = keeps.iter().product();
        if count == 0 || wanted == 0 {
            let bits = self.element();
            let tensor = Tensor::full(T::from_bits(bits), keeps.clone());
            return Value { tensor, model: Model::of(keeps, |_| bits) };
        }
        let index = UInt::arange(wanted) % count as u32;
        let tensor = Tensor::from_array(flat.array().gather(&index), keeps.clone());
        let bits = (0..wanted).map(|lane| value.model.bits[lane % count]).collect();
        Value { tensor, model: Model { shape: keeps, bits } }
    }

    fn step(&mut self) -> Option<Value<T>> {
        match self.dice.roll(26) {
            0 => self.permuted(),
            1 => self.flipped(),
            2 | 3 => self.reshaped(),
            4..7 => self.sliced(),
            7 => self.taken(),
            8..11 => self.assigned(),
            11 => self.assigned_where(),
            12 => self.broadcast(),
            13 | 14 => self.combined(),
            15..17 => self.reduced(),
            17 => self.prefix(),
            18 => self.prefix(),
            19 => self.sorted(),
            20 => self.best(),
            21 => self.joined(),
            22 => self.rolled(),
            23 => self.padded(),
            24 => self.multiplied(),
            _ => self.added_along(),
        }
    }

    fn combined(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let b = self.pick();
        let b = if common(&a.model.shape, &b.model.shape).is_some() { b } else { self.fitting(&a.model.shape) };
        let shape = common(&a.model.shape, &b.model.shape)?;
        if shape.iter().product::<usize>() > MOST {
            return None;
        }
        let (op, tensor) = match self.dice.roll(6) {
            0 => (BinaryOp::Add, &a.tensor + &b.tensor),
            1 => (BinaryOp::Sub, &a.tensor - &b.tensor),
            2 => (BinaryOp::Mul, &a.tensor * &b.tensor),
            3 => (BinaryOp::Div, &a.tensor / &b.tensor),
            4 => (BinaryOp::Min, a.tensor.min(&b.tensor)),
            _ => (BinaryOp::Max, a.tensor.max(&b.tensor)),
        };
        let element = |at: &[usize]| scalar::binary(op, T::TYPE, a.model.broadcast_at(at), b.model.broadcast_at(at));
        Some(Value { tensor, model: Model::of(shape, element) })
    }

    fn op(&mut self) -> ReduceOp {
        [ReduceOp::Add, ReduceOp::Min, ReduceOp::Max][self.dice.roll(3)]
    }

    fn small(&self, a: Value<T>) -> Value<T> {
        let bits = a.model.bits.iter().map(|&bits| T::small_bits(bits)).collect();
        Value { tensor: T::small(&a.tensor), model: Model { shape: a.model.shape, bits } }
    }

    fn for_op(&mut self, a: Value<T>, op: ReduceOp) -> Value<T> {
        if op == ReduceOp::Add { self.small(a) } else { a }
    }

    fn reduced(&mut self) -> Option<Value<T>> {
        let (a, op) = (self.pick(), self.op());
        let a = self.for_op(a, op);
        let axes: Vec<usize> = (0..a.model.shape.len()).filter(|_| self.dice.flip()).collect();
        let stays = self.dice.flip();
        let named: Vec<isize> = axes
            .iter()
            .map(|&axis| axis as isize - if self.dice.flip() { a.model.shape.len() as isize } else { 0 })
            .collect();
        let named: Axes = if stays { keep_dims(named) } else { named.into() };
        let tensor = match op {
            ReduceOp::Add => a.tensor.sum(named),
            ReduceOp::Min => a.tensor.reduce_min(named),
            _ => a.tensor.reduce_max(named),
        };
        let of_kept: Vec<usize> = a
            .model
            .shape
            .iter()
            .enumerate()
            .map(|(axis, &length)| if axes.contains(&axis) { 1 } else { length })
            .collect();
        let mut model = Model::of(of_kept, |_| wide_identity(op, T::TYPE));
        for (place, &bits) in a.model.bits.iter().enumerate() {
            let mut at = coordinates(&a.model.shape, place);
            axes.iter().for_each(|&axis| at[axis] = 0);
            let place = number(&model.shape, &at);
            model.bits[place] = combined_wide(op, T::TYPE, model.bits[place], bits);
        }
        for bits in &mut model.bits {
            *bits = narrow(op, T::TYPE, *bits);
        }
        if !stays {
            let kept = model.shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
            model.shape = kept.map(|(_, &length)| length).collect();
        }
        Some(Value { tensor, model })
    }

    fn prefix(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let op = self.op();
        let a = self.for_op(a, op);
        let (is_exclusive, is_reverse) = (self.dice.flip(), self.dice.flip());
        let scan = if is_exclusive { Scan::exclusive() } else { Scan::inclusive() };
        let scan = if is_reverse { scan.reverse() } else { scan };
        let model = lines(&a.model, axis, |line| {
            let mut line = line;
            if is_reverse {
                line.reverse();
            }
            let mut total = wide_identity(op, T::TYPE);
            for bits in &mut line {
                let before = total;
                total = combined_wide(op, T::TYPE, total, *bits);
                *bits = narrow(op, T::TYPE, if is_exclusive { before } else { total });
            }
            if is_reverse {
                line.reverse();
            }
            line
        });
        Some(Value { tensor: a.tensor.prefix(axis as isize, op, scan), model })
    }

    fn sorted(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let is_descending = self.dice.flip();
        let value = |bits: u64| f64::from_bits(scalar::cast(T::TYPE, Type::F64, bits));
        // Numbers that `f64` does not hold differ in their order.
        if T::TYPE.bits() == 64 && T::TYPE.is_integer() {
            return None;
        }
        let model = lines(&a.model, axis, |mut line| {
            line.sort_by(|&a, &b| match (value(a).is_nan(), value(b).is_nan()) {
                (false, false) => value(a).total_cmp(&value(b)),
                (a, b) => a.cmp(&b),
            });
            if is_descending {
                line.reverse();
            }
            line
        });
        let tensor = if is_descending { a.tensor.sort_descending(axis as isize) } else { a.tensor.sort(axis as isize) };
        Some(Value { tensor, model })
    }

    /// The elements at the positions of the best ones, as numbers.
    fn best(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let a = self.small(a);
        if a.model.shape[axis] == 0 {
            return None;
        }
        let less = |a, b| scalar::compare(CompareOp::Lt, T::TYPE, a, b);
        let kept = a.model.along(axis, |line| {
            let best = (1..line.len()).fold(0, |best, at| if less(line[best], line[at]) { at } else { best });
            vec![scalar::cast(Type::U32, T::TYPE, best as u64)]
        });
        let mut shape = kept.shape.clone();
        shape.remove(axis);
        Some(Value { tensor: a.tensor.argmax(axis as isize).cast(), model: Model { shape, bits: kept.bits } })
    }

    fn joined(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let b = self.fitting(&a.model.shape);
        let b_tensor = b.tensor.broadcast_to(a.model.shape.clone());
        let b_model = Model::of(a.model.shape.clone(), |at| b.model.broadcast_at(at));
        let length = a.model.shape[axis];
        if a.model.bits.len() * 2 > MOST {
            return None;
        }
        let mut shape = a.model.shape.clone();
        if self.dice.flip() || shape.len() == MOST_AXES {
            shape[axis] *= 2;
            let element = |at: &[usize]| {
                let mut at = at.to_vec();
                if at[axis] < length {
                    return a.model.at(&at);
                }
                at[axis] -= length;
                b_model.at(&at)
            };
            let model = Model::of(shape, element);
            return Some(Value { tensor: Tensor::concat(&[&a.tensor, &b_tensor], axis as isize), model });
        }
        shape.insert(axis, 2);
        let element = |at: &[usize]| {
            let mut at = at.to_vec();
            let of = at.remove(axis);
            if of == 0 { a.model.at(&at) } else { b_model.at(&at) }
        };
        let model = Model::of(shape, element);
        Some(Value { tensor: Tensor::stack(&[&a.tensor, &b_tensor], axis as isize), model })
    }

    fn rolled(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let length = a.model.shape[axis];
        let distance = self.dice.roll(2 * length + 3) as isize - length as isize;
        if self.dice.flip() {
            let times = self.dice.roll(4);
            if a.model.bits.len() * times > MOST {
                return None;
            }
            let model = a.model.along(axis, |line| line.iter().flat_map(|&bits| vec![bits; times]).collect());
            return Some(Value { tensor: a.tensor.repeat(times, axis as isize), model });
        }
        let model = lines(&a.model, axis, |mut line| {
            if length > 0 {
                line.rotate_right(distance.rem_euclid(length as isize) as usize);
            }
            line
        });
        Some(Value { tensor: a.tensor.roll(distance, axis as isize), model })
    }

    fn padded(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let widths: Vec<(usize, usize)> = a
            .model
            .shape
            .iter()
            .map(|_| if self.dice.flip() { (0, 0) } else { (self.dice.roll(7), self.dice.roll(7)) })
            .collect();
        let shape: Vec<usize> =
            a.model.shape.iter().zip(&widths).map(|(length, (before, after))| length + before + after).collect();
        if shape.iter().product::<usize>() > MOST || a.model.is_empty() {
            return None;
        }
        let fill = self.element();
        let which = self.dice.roll(5);
        let edge = [Edge::Constant(T::from_bits(fill)), Edge::Nearest, Edge::Wrap, Edge::Reflect, Edge::Mirror][which];
        let element = |at: &[usize]| {
            let mut from = Vec::new();
            for ((&at, (before, _)), &length) in at.iter().zip(&widths).zip(&a.model.shape) {
                let (at, length) = (at as isize - *before as isize, length as isize);
                let is_inside = (0..length).contains(&at);
                from.push(match which {
                    _ if is_inside => at,
                    0 => return fill,
                    1 => at.clamp(0, length - 1),
                    2 => at.rem_euclid(length),
                    3 if length == 1 => 0,
                    3 => {
                        let within = at.rem_euclid(2 * length - 2);
                        within.min(2 * length - 2 - within)
                    }
                    _ => {
                        let within = at.rem_euclid(2 * length);
                        within.min(2 * length - 1 - within)
                    }
                } as usize);
            }
            a.model.at(&from)
        };
        let model = Model::of(shape, element);
        Some(Value { tensor: a.tensor.pad(&widths, edge), model })
    }

    /// A product of matrices of small numbers.
    fn multiplied(&mut self) -> Option<Value<T>> {
        let a = self.pick();
        let a = self.small(a);
        let &inner = a.model.shape.last()?;
        let columns = self.length();
        let b = self.fitting(&[inner, columns]);
        let b = self.small(b);
        let b_tensor = b.tensor.broadcast_to([inner, columns]);
        let b_model = Model::of(vec![inner, columns], |at| b.model.broadcast_at(at));
        let mut shape = a.model.shape.clone();
        *shape.last_mut()? = columns;
        if shape.iter().product::<usize>() * inner.max(1) > 10 * MOST || a.model.shape.len() < 2 {
            return None;
        }
        let (add, multiply) = (ReduceOp::Add, |a, b| scalar::binary(BinaryOp::Mul, T::TYPE, a, b));
        let element = |at: &[usize]| {
            let mut row = at.to_vec();
            let column = row.pop().unwrap();
            row.push(0);
            let last = row.len() - 1;
            let mut total = wide_identity(add, T::TYPE);
            for k in 0..inner {
                row[last] = k;
                total = combined_wide(add, T::TYPE, total, multiply(a.model.at(&row), b_model.at(&[k, column])));
            }
            narrow(add, T::TYPE, total)
        };
        let model = Model::of(shape, element);
        // Sums along an axis begin with an element, so those of zeros may be negative.
        let tensor = a.tensor.matmul(&b_tensor) + Array::from(T::default());
        Some(Value { tensor, model })
    }

    /// Parts are added to the parts at some positions along an axis, some of them beyond the end.
    fn added_along(&mut self) -> Option<Value<T>> {
        let (a, axis) = self.with_axis()?;
        let mut a = self.small(a);
        // Halves are rounded in the order of the lanes.
        if T::TYPE == Type::F16 || a.model.is_empty() {
            return None;
        }
        let count = self.length().min(40);
        let length = a.model.shape[axis];
        let places: Vec<usize> = (0..count).map(|_| self.dice.roll(length + 2)).collect();
        let mut shape = a.model.shape.clone();
        shape[axis] = count;
        let values = self.fitting(&shape);
        let values = self.small(values);
        let index = UInt::from(places.iter().map(|&place| place as u32).collect::<Vec<u32>>());
        a.tensor.scatter_add(axis as isize, &index, &values.tensor);
        for part in 0..shape.iter().product::<usize>() {
            let mut at = coordinates(&shape, part);
            let value = values.model.broadcast_at(&at);
            at[axis] = places[at[axis]];
            if at[axis] < length {
                let place = number(&a.model.shape, &at);
                a.model.bits[place] = scalar::reduce(ReduceOp::Add, T::TYPE, a.model.bits[place], value);
            }
        }
        Some(a)
    }

    pub(super) fn run(&mut self, steps: usize) {
        for step in 0..steps {
            let before = self.dice.clone();
            let Some(mut value) = self.step() else { continue };
            self.text += &format!("{step}: operation {}, {:?}\n", before.clone().roll(26), value.model.shape);
            if value.model.shape.len() > MOST_AXES {
                continue;
            }
            if let Some(dice) = &mut self.evaluation {
                match dice.roll(8) {
                    0 => jit::eval(&value.tensor).unwrap(),
                    1 => value.tensor = value.tensor.make_opaque(),
                    2 => jit::schedule(&value.tensor),
                    _ => {}
                }
            }
            assert_eq!(value.tensor.shape(), value.model.shape, "the shape after step {step}");
            if self.values.len() > 6 {
                let last = self.dice.roll(self.values.len());
                self.values.swap_remove(last);
            }
            self.values.push(value);
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        // All NaN match, for their signs and payloads are unspecified.
        let canonical = |bits: u64| if scalar::compare(CompareOp::Ne, T::TYPE, bits, bits) { u64::MAX } else { bits };
        let tensors: Vec<Tensor<T>> = self.values.iter().map(|value| value.tensor.clone()).collect();
        jit::eval(&tensors).map_err(|error| error.to_string())?;
        for (place, value) in self.values.iter().enumerate() {
            let got: Vec<u64> = value.tensor.to_vec().unwrap().into_iter().map(Element::to_bits).collect();
            let wrong = got.iter().zip(&value.model.bits).position(|(&a, &b)| canonical(a) != canonical(b));
            if let Some(lane) = wrong {
                let [got, wanted] = [got[lane], value.model.bits[lane]].map(T::from_bits);
                let at = coordinates(&value.model.shape, lane);
                let (shape, line) = (&value.model.shape, value.tensor.array().site().line());
                return Err(format!(
                    "value {place}: {got:?} instead of {wanted:?} at {at:?} of {shape:?}, line {line}, of\n{}",
                    self.text
                ));
            }
        }
        Ok(())
    }
}
