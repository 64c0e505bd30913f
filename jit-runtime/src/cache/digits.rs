//! Integers of lanes as sums over the digits of the lane's number.
//!
//! Programs divide the lane's number into rows, columns and the places of further axes. These are its digits in a mixed
//! radix, if the places divide one another; the indices that are computed from them are mostly sums of multiples of
//! digits. Such a sum is known for all lanes of a launch at once: where it is in range, and which lanes are neighbours.
//!
//! Invariant: a value that has a sum is that sum in each lane of the launch. No operation wraps around in any of them.

use smallvec::{SmallVec, smallvec};

use crate::backend::RawArgument;
use crate::ir::{BinaryOp, Inst, Op, Type, Value};

/// The most digits of a number.
const MOST_DIGITS: usize = 8;

/// The digits of the lanes of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Digits {
    /// The number of lanes from one digit to the next: in ascending order, one for the first digit, and each divides
    /// the next.
    places: SmallVec<[i64; MOST_DIGITS]>,
    width: i64,
}

/// A number plus multiples of digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sum {
    pub(crate) number: i64,
    /// By digit.
    pub(crate) factors: SmallVec<[i64; MOST_DIGITS]>,
}

/// The sums of a launch's values: the digits, and the sums that are known.
pub(crate) struct Sums {
    pub(crate) digits: Digits,
    sums: Vec<Option<Sum>>,
}

/// The lanes at which a further digit begins, if one is missing.
type Missing = Option<i64>;

impl Sums {
    /// Finds the sums of the results of instructions, in a launch of so many lanes. Values are numbered up to a count.
    pub(crate) fn new(insts: &[Inst], arguments: &[RawArgument], types: &[Type], width: u64) -> Option<Sums> {
        let width = i64::try_from(width).ok().filter(|&width| width > 0)?;
        let mut digits = Digits { places: smallvec![1], width };
        loop {
            let mut sums = vec![None; types.len()];
            let missing = insts.iter().find_map(|inst| {
                let (sum, missing) = digits.result(inst, &sums, arguments, types);
                sums[inst.first.index()] = sum;
                missing
            });
            match missing.filter(|_| digits.places.len() < MOST_DIGITS) {
                Some(place) => digits.add(place),
                None => return Some(Sums { digits, sums }),
            }
        }
    }

    /// The sum of a value, if it has one.
    pub(crate) fn of(&self, value: Value) -> Option<&Sum> {
        self.sums[value.index()].as_ref()
    }
}

impl Digits {
    fn add(&mut self, place: i64) {
        self.places.push(place);
        self.places.sort_unstable();
    }

    /// The number of lanes from one value of each digit to the next.
    pub(crate) fn places(&self) -> &[i64] {
        &self.places
    }

    /// Whether each digit has all of its values for each value of the others.
    pub(crate) fn is_whole(&self) -> bool {
        self.places.last().is_some_and(|place| self.width % place == 0)
    }

    /// How many values a digit has. The last one may have fewer lanes.
    pub(crate) fn count(&self, digit: usize) -> i64 {
        let place = self.places[digit];
        self.places.get(digit + 1).map_or((self.width - 1) / place + 1, |next| next / place)
    }

    /// The least and the largest number that a sum is in any lane; none if they are too large to compute with.
    pub(crate) fn range(&self, sum: &Sum) -> Option<[i64; 2]> {
        let mut range = [sum.number; 2];
        for (digit, &factor) in sum.factors.iter().enumerate() {
            let end = (self.count(digit) - 1).checked_mul(factor)?;
            let side = usize::from(end > 0);
            range[side] = range[side].checked_add(end)?;
        }
        Some(range)
    }

    fn number(&self, number: i64) -> Sum {
        Sum { number, factors: smallvec![0; self.places.len()] }
    }

    /// Of a result: its sum, or a place that has to become one of a digit first.
    fn result(
        &self,
        inst: &Inst,
        sums: &[Option<Sum>],
        arguments: &[RawArgument],
        types: &[Type],
    ) -> (Option<Sum>, Missing) {
        let of = |value: Value| sums[value.index()].as_ref();
        let (ty, mut missing) = (types[inst.first.index()], None);
        let sum = match inst.op {
            Op::LaneIndex => Some(Sum { number: 0, factors: self.places.clone() }),
            Op::Const(ty, bits) => signed(ty, bits).map(|number| self.number(number)),
            Op::Scalar(param) => signed(ty, arguments[param.index()].word).map(|number| self.number(number)),
            Op::Cast(_, a) | Op::Bitcast(_, a) => of(a).cloned(),
            Op::Select(_, a, b) => of(a).filter(|sum| Some(*sum) == of(b)).cloned(),
            Op::Binary(op, a, b) => of(a).zip(of(b)).and_then(|(a, b)| self.binary(op, (a, b), ty, &mut missing)),
            _ => None,
        };
        (sum.filter(|sum| self.is_of_type(sum, ty)), missing)
    }

    /// Whether a sum is a number of a type in each lane.
    fn is_of_type(&self, sum: &Sum, ty: Type) -> bool {
        let Some([least, most]) = self.range(sum).filter(|_| ty.is_integer()) else { return false };
        let largest = (ty.bit_mask() >> 1) as i64;
        match (ty.is_signed_integer(), ty.bits()) {
            (true, _) => least >= -largest - 1 && most <= largest,
            (false, 64) => least >= 0,
            (false, _) => least >= 0 && most <= ty.bit_mask() as i64,
        }
    }

    fn binary(&self, op: BinaryOp, (a, b): (&Sum, &Sum), ty: Type, missing: &mut Missing) -> Option<Sum> {
        let is_count = |count: i64| (0..i64::from(ty.bits().min(48))).contains(&count);
        match (op, a.constant(), b.constant()) {
            (BinaryOp::Add, ..) => a.plus(b, 1),
            (BinaryOp::Sub, ..) => a.plus(b, -1),
            (BinaryOp::Mul, _, Some(factor)) => self.number(0).plus(a, factor),
            (BinaryOp::Mul, Some(factor), _) => self.number(0).plus(b, factor),
            (BinaryOp::Shl, _, Some(count)) if is_count(count) => self.number(0).plus(a, 1 << count),
            (BinaryOp::Div, _, Some(divisor)) => Some(self.divided(a, divisor, missing)?.0),
            (BinaryOp::Rem, _, Some(divisor)) => Some(self.divided(a, divisor, missing)?.1),
            (BinaryOp::Shr, _, Some(count)) if is_count(count) => Some(self.divided(a, 1 << count, missing)?.0),
            (BinaryOp::And, _, Some(mask)) => self.masked(a, mask, missing),
            (BinaryOp::And, Some(mask), _) => self.masked(b, mask, missing),
            (BinaryOp::Min, ..) => self.smaller(a, b).cloned(),
            (BinaryOp::Max, ..) => self.smaller(a, b).map(|smaller| if smaller == a { b } else { a }).cloned(),
            _ => None,
        }
    }

    /// The lowest bits.
    fn masked(&self, sum: &Sum, mask: i64, missing: &mut Missing) -> Option<Sum> {
        let divisor = mask.checked_add(1).filter(|divisor| divisor.count_ones() == 1)?;
        Some(self.divided(sum, divisor, missing)?.1)
    }

    /// That of two sums which is smaller in each lane, or the same.
    fn smaller<'s>(&self, a: &'s Sum, b: &'s Sum) -> Option<&'s Sum> {
        let [least, most] = self.range(&a.plus(b, -1)?)?;
        match (most <= 0, least >= 0) {
            (true, _) => Some(a),
            (_, true) => Some(b),
            _ => None,
        }
    }

    /// The quotient and the remainder of a sum that is nowhere negative.
    ///
    /// Multiples of the divisor are divided one by one, if the rest is below the divisor in each lane. If it is not, a
    /// digit may have to be divided into two first.
    fn divided(&self, sum: &Sum, divisor: i64, missing: &mut Missing) -> Option<(Sum, Sum)> {
        if divisor < 1 || self.range(sum)?[0] < 0 {
            return None;
        }
        let (mut quotient, mut rest) = (self.number(sum.number / divisor), sum.clone());
        rest.number = sum.number % divisor;
        for (factor, multiple) in rest.factors.iter_mut().zip(&mut quotient.factors) {
            if *factor % divisor == 0 {
                *multiple = std::mem::take(factor) / divisor;
            }
        }
        let [least, most] = self.range(&rest)?;
        if least >= 0 && most < divisor {
            return Some((quotient, rest));
        }
        let (digit, &factor) = rest.factors.iter().enumerate().max_by_key(|(_, factor)| **factor)?;
        if factor > 0 && divisor % factor == 0 {
            *missing = self.place_within(digit, divisor / factor);
        }
        None
    }

    /// The place of a digit that begins at so many units of another one, if that is a place for a digit.
    fn place_within(&self, digit: usize, units: i64) -> Missing {
        let is_within = units > 1 && units < self.count(digit);
        let place = self.places[digit].checked_mul(units).filter(|_| is_within)?;
        self.places.get(digit + 1).is_none_or(|next| next % place == 0).then_some(place)
    }
}

impl Sum {
    fn constant(&self) -> Option<i64> {
        self.factors.iter().all(|&factor| factor == 0).then_some(self.number)
    }

    fn plus(&self, other: &Sum, times: i64) -> Option<Sum> {
        let number = self.number.checked_add(other.number.checked_mul(times)?)?;
        let sum = |(a, b): (&i64, &i64)| a.checked_add(b.checked_mul(times)?);
        let factors = self.factors.iter().zip(&other.factors).map(sum).collect::<Option<_>>()?;
        Some(Sum { number, factors })
    }
}

/// The number that bits are; none if it is too large.
fn signed(ty: Type, bits: u64) -> Option<i64> {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() {
        return Some((bits << unused) as i64 >> unused);
    }
    i64::try_from(bits & ty.bit_mask()).ok()
}
