//! The steps of programs: each records an operation, and computes it on the model.

use jit_core::{Array, Integer, Scan, Size, Sorting, UInt};
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::model::{Value, lanes, neutral, order, position, reduced, scanned, step_by};
use super::program::{Kind, MOST, Program};

impl Program {
    pub(super) fn gathered<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let source = self.pick::<T>();
        let index = self.index::<K>(source.len());
        let read = |bits: u64| position::<K>(bits).and_then(|at| source.bits.get(at)).copied().unwrap_or(0);
        if self.dice.roll(3) > 0 {
            let bits = index.bits.iter().map(|&bits| read(bits)).collect();
            return Value::new(source.array.gather(&index.array), bits);
        }
        let mask = self.mask(index.len());
        let width = if index.len() == 1 { mask.len() } else { index.len() };
        let bits = lanes(width, |lane| if mask.at(lane) == 0 { 0 } else { read(index.at(lane)) });
        Value::new(source.array.gather_masked(&index.array, &mask.array), bits)
    }

    pub(super) fn taken<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let source = self.pick::<T>();
        let index = self.index::<K>(source.len());
        let read = |bits: u64| {
            let at = position::<K>(bits).or_else(|| {
                let from_end = scalar::cast(K::TYPE, Type::I64, bits) as i64;
                usize::try_from(from_end.checked_add(source.len() as i64)?).ok()
            });
            // Numbers beyond those of a signed type do not count from the end.
            let at = if K::TYPE.is_signed_integer() { at } else { position::<K>(bits) };
            at.and_then(|at| source.bits.get(at)).copied().unwrap_or(0)
        };
        Value::new(source.array.take(&index.array), index.bits.iter().map(|&bits| read(bits)).collect())
    }

    pub(super) fn packets<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let source = self.pick::<T>();
        let length = source.len() / 3 * 3;
        let source = Value::new(source.array.slice(..length), source.bits[..length].to_vec());
        let index = self.index::<K>(length / 3);
        let read = |bits: u64, k: usize| {
            let at = position::<K>(bits).and_then(|at| at.checked_mul(3)?.checked_add(k));
            at.and_then(|at| source.bits.get(at)).copied().unwrap_or(0)
        };
        let [x, y, z] = source.array.gather_packet::<3>(&index.array);
        let value = |array, k| Value::new(array, index.bits.iter().map(|&bits| read(bits, k)).collect());
        self.put(value(x, 0));
        self.put(value(z, 2));
        value(y, 1)
    }

    /// Values that a function of the position determines, so that the order of lanes does not matter.
    pub(super) fn written<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let target = self.target::<T>();
        let index = self.index::<K>(target.len());
        let mask = self.mask(index.len());
        let width = if index.len() == 1 { mask.len() } else { index.len() };
        let seven = scalar::cast(Type::U32, T::TYPE, 7);
        let of = |bits: u64| {
            let position = scalar::cast(K::TYPE, T::TYPE, bits);
            scalar::binary(BinaryOp::Add, T::TYPE, position, seven)
        };
        let mut array = target.array;
        let values = index.array.cast::<T>() + Array::from(T::from_bits(seven));
        array.scatter_masked(values, &index.array, &mask.array);
        let mut bits = target.bits;
        for lane in (0..width).filter(|&lane| mask.at(lane) != 0) {
            let at = position::<K>(index.at(lane)).and_then(|at| bits.get_mut(at));
            at.into_iter().for_each(|bits| *bits = of(index.at(lane)));
        }
        Value::new(array, bits)
    }

    pub(super) fn combined<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let picked = self.target::<T>();
        let op = self.op::<T>();
        if T::TYPE == Type::F16 && op == ReduceOp::Add {
            return picked;
        }
        let mut target = self.exact(picked);
        let index = self.index::<K>(target.len());
        let value = self.fitted::<T>(index.len());
        let mut value = self.exact(value);
        if self.dice.roll(2) == 0 {
            // With zeros of both signs.
            (target, value) = (negated(target), negated(value));
        }
        let mask = self.mask(index.len());
        let width = [index.len(), value.len(), mask.len()].into_iter().max().unwrap_or(0);
        if [index.len(), value.len(), mask.len()].contains(&0) {
            return target;
        }
        let mut array = target.array;
        match self.dice.roll(2) {
            0 => array.scatter_reduce_masked(op, value.array.clone(), &index.array, &mask.array),
            _ => array.scatter_reduce(
                op,
                mask.array.select(value.array.clone(), Array::from(neutral::<T>(op))),
                &index.array,
            ),
        }
        let mut bits = target.bits;
        for lane in (0..width).filter(|&lane| mask.at(lane) != 0) {
            let at = position::<K>(index.at(lane)).and_then(|at| bits.get_mut(at));
            at.into_iter().for_each(|bits| *bits = scalar::reduce(op, T::TYPE, *bits, value.at(lane)));
        }
        Value::new(array, bits)
    }

    /// Elements at positions of which no two are the same are exchanged.
    pub(super) fn exchanged<T: Kind>(&mut self) -> Value<T> {
        let target = self.target::<T>();
        let length = target.len();
        if length == 0 {
            return target;
        }
        let step = [7919, 101, 13, 1].into_iter().find(|step| !length.is_multiple_of(*step)).unwrap_or(1);
        let begin = self.dice.roll(length);
        let index = (UInt::arange(length) * step as u32 + begin as u32) % length as u32;
        let value = self.fitted::<T>(length);
        let mask = self.mask(length);
        let mut array = target.array;
        let old = array.scatter_exchange_masked(value.array.clone(), &index, &mask.array);
        let (mut bits, mut before) = (target.bits.clone(), vec![0; length]);
        for lane in (0..length).filter(|&lane| mask.at(lane) != 0) {
            let at = (lane * step + begin) % length;
            before[lane] = bits[at];
            bits[at] = value.at(lane);
        }
        self.put(Value::new(old, before));
        Value::new(array, bits)
    }

    pub(super) fn moved<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        let width = a.bits.len();
        let (array, bits) = (a.array, a.bits);
        match self.dice.roll(8) {
            0 => Value::new(array.reverse(), bits.into_iter().rev().collect()),
            1 => {
                let distance = self.dice.roll(2 * width + 3) as isize - width as isize - 1;
                let fill = self.element(T::TYPE);
                let at = |lane: usize| {
                    let from = lane as isize - distance;
                    if (0..width as isize).contains(&from) { bits[from as usize] } else { fill }
                };
                Value::new(array.shift_with(distance, T::from_bits(fill)), lanes(width, at))
            }
            2 => {
                let distance = self.dice.roll(3 * width + 3) as isize - width as isize - 1;
                let at = |lane: usize| bits[(lane as isize - distance).rem_euclid(width as isize) as usize];
                Value::new(array.roll(distance), lanes(width, at))
            }
            3 => {
                let begin = self.dice.roll(width + 1);
                let end = begin + self.dice.roll(width - begin + 1);
                let step = [1, 2, 3, 7, -1, -2, -5][self.dice.roll(7)];
                let part = bits[begin..end].to_vec();
                let every = step_by(part, step);
                Value::new(array.slice_step(begin..end, step), every)
            }
            4 => {
                let times = self.dice.roll(4);
                if width * times > MOST {
                    return Value::new(array, bits);
                }
                Value::new(array.tile(times), lanes(width * times, |lane| bits[lane % width]))
            }
            5 => {
                let times = self.dice.roll(4);
                if width * times > MOST {
                    return Value::new(array, bits);
                }
                Value::new(array.repeat(times), lanes(width * times, |lane| bits[lane / times]))
            }
            _ => {
                let [b, c] = [self.pick::<T>(), self.pick::<T>()];
                if width + b.len() + c.len() > MOST {
                    return Value::new(array, bits);
                }
                let joined = [bits, b.bits, c.bits].concat();
                Value::new(Array::concat(&[array, b.array, c.array]), joined)
            }
        }
    }

    pub(super) fn reduced<T: Kind>(&mut self) -> Value<T> {
        let op = self.op::<T>();
        let a = self.pick::<T>();
        let a = if op == ReduceOp::Add { self.exact(a) } else { a };
        if self.dice.roll(4) == 0 {
            return Value::new(a.array.reduce(op), vec![reduced(op, T::TYPE, a.bits.iter())]);
        }
        let block = match self.dice.roll(3) {
            0 => 1 + self.dice.roll(9),
            1 => 1 + self.dice.roll(70),
            _ => 1 + self.dice.roll(700),
        };
        let bits = a.bits.chunks(block).map(|block| reduced(op, T::TYPE, block.iter())).collect();
        Value::new(a.array.block_reduce(op, block), bits)
    }

    pub(super) fn prefix<T: Kind>(&mut self) -> Value<T> {
        let op = self.op::<T>();
        let a = self.pick::<T>();
        let a = if op == ReduceOp::Add { self.exact(a) } else { a };
        let (is_exclusive, is_reverse) = (self.dice.roll(2) == 0, self.dice.roll(2) == 0);
        let scan = if is_exclusive { Scan::exclusive() } else { Scan::inclusive() };
        let scan = if is_reverse { scan.reverse() } else { scan };
        if self.dice.roll(2) == 0 && a.len() > 0 {
            return self.columns(op, a, scan, is_exclusive, is_reverse);
        }
        let block = if self.dice.roll(2) == 0 { usize::MAX } else { 1 + self.dice.roll(90) };
        let scan = if block == usize::MAX { scan } else { scan.per_block(block) };
        let of_block = |block: &[u64]| {
            let mut block = block.to_vec();
            if is_reverse {
                block.reverse();
            }
            let mut block = scanned(op, T::TYPE, &block, is_exclusive);
            if is_reverse {
                block.reverse();
            }
            block
        };
        let bits = if a.len() == 0 { Vec::new() } else { a.bits.chunks(block).flat_map(of_block).collect() };
        Value::new(a.array.prefix(op, scan), bits)
    }

    pub(super) fn columns<T: Kind>(
        &mut self,
        op: ReduceOp,
        a: Value<T>,
        scan: Scan,
        is_exclusive: bool,
        is_reverse: bool,
    ) -> Value<T> {
        let width = a.len();
        let divisors: Vec<usize> = (1..=width).filter(|by| width.is_multiple_of(*by)).collect();
        let inner = divisors[self.dice.roll(divisors.len())];
        let rows = width / inner;
        let divisors: Vec<usize> = (1..=rows).filter(|by| rows.is_multiple_of(*by)).collect();
        let length = divisors[self.dice.roll(divisors.len())];
        let outer = rows / length;
        let mut bits = vec![0; width];
        for (matrix, column) in (0..outer).flat_map(|matrix| (0..inner).map(move |column| (matrix, column))) {
            let place = |row: usize| (matrix * length + row) * inner + column;
            let order: Vec<usize> =
                if is_reverse { (0..length).rev().map(place).collect() } else { (0..length).map(place).collect() };
            let elements: Vec<u64> = order.iter().map(|&at| a.bits[at]).collect();
            for (at, value) in order.iter().zip(scanned(op, T::TYPE, &elements, is_exclusive)) {
                bits[*at] = value;
            }
        }
        let lengths = [outer, length, inner].map(Size::from);
        Value::new(a.array.prefix_columns(op, scan, lengths), bits)
    }

    /// Consecutive ranges of an array, some of them empty, some beyond its end.
    pub(super) fn ranges<T: Kind>(&mut self) -> Value<T> {
        let op = self.op::<T>();
        let a = self.pick::<T>();
        let a = if op == ReduceOp::Add { self.exact(a) } else { a };
        let most = self.dice.roll(9) + 1;
        let count = self.dice.roll(60) + 2;
        let mut begins = vec![0u32];
        for _ in 1..count {
            begins.push(begins[begins.len() - 1] + self.dice.roll(most) as u32);
        }
        let at = |at: u32| a.bits.get(at as usize).copied().unwrap_or(0);
        let of = |range: &[u32]| {
            let elements: Vec<u64> = (range[0]..range[1]).map(at).collect();
            reduced(op, T::TYPE, elements.iter())
        };
        let bits = begins.windows(2).map(of).collect();
        Value::new(a.array.reduce_ranges(op, &UInt::from(begins)), bits)
    }

    pub(super) fn segments<T: Kind, K: Kind + Integer>(&mut self) -> Value<T> {
        let op = self.op::<T>();
        let count = self.dice.roll(300);
        let index = self.index::<K>(count);
        let value = self.fitted::<T>(index.len());
        if index.len() == 0 || value.len() == 0 || T::TYPE == Type::F16 && op == ReduceOp::Add {
            return value;
        }
        let value = if op == ReduceOp::Add { self.exact(value) } else { value };
        let mut bits = vec![scalar::identity(op, T::TYPE); count];
        for lane in 0..index.len().max(value.len()) {
            let at = position::<K>(index.at(lane)).and_then(|at| bits.get_mut(at));
            at.into_iter().for_each(|bits| *bits = scalar::reduce(op, T::TYPE, *bits, value.at(lane)));
        }
        Value::new(value.array.segment_reduce(op, &index.array, count), bits)
    }

    pub(super) fn sorted<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        let block = if self.dice.roll(2) == 0 { usize::MAX } else { 1 + self.dice.roll(90) };
        let is_descending = self.dice.roll(2) == 0;
        let sorting = if is_descending { Sorting::descending() } else { Sorting::ascending() };
        let sorting = if block == usize::MAX { sorting } else { sorting.per_block(block) };
        let of_block = |block: &[u64]| {
            let mut places: Vec<usize> = (0..block.len()).collect();
            places.sort_by(|&a, &b| {
                let order = order(T::TYPE, block[a], block[b]);
                if is_descending { order.reverse() } else { order }
            });
            places
        };
        if self.dice.roll(2) == 0 {
            let bits = a.bits.chunks(block).flat_map(&of_block).map(|place| place as u64).collect();
            self.put::<u32>(Value::new(a.array.argsort_with(sorting), bits));
            return a;
        }
        let of_block = |block: &[u64]| of_block(block).into_iter().map(|place| block[place]).collect::<Vec<u64>>();
        let bits = a.bits.chunks(block).flat_map(of_block).collect();
        Value::new(a.array.sort_with(sorting), bits)
    }

    pub(super) fn filtered<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        let mask = self.mask(a.len());
        if mask.len() != a.len() {
            return a;
        }
        let true_lanes: Vec<u64> = (0..a.len() as u64).filter(|&lane| mask.bits[lane as usize] != 0).collect();
        let bits = true_lanes.iter().map(|&lane| a.bits[lane as usize]).collect();
        let index = mask.array.compress();
        let value = Value::new(a.array.gather(&index), bits);
        self.put::<u32>(Value::new(index, true_lanes));
        value
    }

    pub(super) fn arithmetic<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        let b = self.fitted::<T>(a.len());
        let width = if a.len() == 1 { b.len() } else { a.len() };
        let op = match self.dice.roll(if T::TYPE.is_integer() { 12 } else { 7 }) {
            0 => BinaryOp::Add,
            1 => BinaryOp::Sub,
            2 => BinaryOp::Mul,
            3 => BinaryOp::Div,
            4 => BinaryOp::Rem,
            5 => BinaryOp::Min,
            6 => BinaryOp::Max,
            7 => BinaryOp::And,
            8 => BinaryOp::Or,
            9 => BinaryOp::Xor,
            10 => BinaryOp::Shl,
            _ => BinaryOp::Shr,
        };
        let bits = lanes(width, |lane| scalar::binary(op, T::TYPE, a.at(lane), b.at(lane)));
        let (a, b) = (a.array, b.array);
        let array = match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Rem => a % b,
            BinaryOp::Min => a.min(b),
            BinaryOp::Max => a.max(b),
            op => T::bitwise(op, a, b),
        };
        Value::new(array, bits)
    }

    pub(super) fn chosen<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        let b = self.fitted::<T>(a.len());
        let width = if a.len() == 1 { b.len() } else { a.len() };
        let mask = self.mask(width);
        let width = if width == 1 { mask.len() } else { width };
        if a.len() == 1 && b.len() == 1 || self.dice.roll(2) == 0 {
            let op = [CompareOp::Lt, CompareOp::Le, CompareOp::Eq, CompareOp::Ne][self.dice.roll(4)];
            let width = if a.len() == 1 { b.len() } else { a.len() };
            let bits = lanes(width, |lane| u64::from(scalar::compare(op, T::TYPE, a.at(lane), b.at(lane))));
            let array = match op {
                CompareOp::Lt => a.array.lt(&b.array),
                CompareOp::Le => a.array.le(&b.array),
                CompareOp::Eq => a.array.eq(&b.array),
                _ => a.array.ne(&b.array),
            };
            self.values.masks.push(Value::new(array, bits));
            return a;
        }
        let bits = lanes(width, |lane| if mask.at(lane) != 0 { a.at(lane) } else { b.at(lane) });
        Value::new(mask.array.select(a.array, b.array), bits)
    }

    pub(super) fn cast<T: Kind, U: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<U>();
        Value::new(a.array.cast(), a.bits.iter().map(|&bits| scalar::cast(U::TYPE, T::TYPE, bits)).collect())
    }

    pub(super) fn found<T: Kind>(&mut self) -> Value<T> {
        let a = self.pick::<T>();
        if a.len() == 0 {
            return a;
        }
        let is_nan = |bits: u64| scalar::compare(CompareOp::Ne, T::TYPE, bits, bits);
        let is_max = self.dice.roll(2) == 0;
        let better = |a: u64, b: u64| {
            is_nan(a) && !is_nan(b)
                || !is_nan(b)
                    && scalar::compare(CompareOp::Lt, T::TYPE, if is_max { b } else { a }, if is_max { a } else { b })
        };
        let mut best = 0;
        for at in 1..a.len() {
            if better(a.bits[at], a.bits[best]) {
                best = at;
            }
        }
        // Zeros of both signs are equal, but not to a minimum.
        if T::TYPE.is_float() && scalar::compare(CompareOp::Eq, T::TYPE, a.bits[best], 0) {
            return a;
        }
        let array = if is_max { a.array.argmax() } else { a.array.argmin() };
        self.put::<u32>(Value::new(array, vec![best as u64]));
        a
    }
}

fn negated<T: Kind>(a: Value<T>) -> Value<T> {
    let zero = if T::TYPE.is_float() { 1 << (T::TYPE.bits() - 1) } else { 0 };
    let bits = a.bits.iter().map(|&bits| scalar::binary(BinaryOp::Sub, T::TYPE, zero, bits)).collect();
    Value::new(Array::from(T::from_bits(zero)) - a.array, bits)
}
