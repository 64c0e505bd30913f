//! Integers whose lanes are near each other: a number that the lanes of a packet share, the base, plus a small distance
//! in each lane.
//!
//! Examples are the rows and columns of a narrow matrix, `lane / 10` and `lane % 10`, and what is computed from them.
//! Such quotients and remainders take a few operations: the base is divided as a scalar, and only its remainder is
//! added to the distances. A gather at such an index reads the elements from the base on as one to four vectors, and
//! moves them to their lanes in registers. Unlike [`patterns`](super::patterns), which are expected and compared at run
//! time, distances are exact, whatever the first lane is.
//!
//! Invariant: if the condition of a value holds, each active lane has the value base plus distance, modulo the type's
//! range, and no distance is above [`Near::most`]. The condition is that no operand of a division, and no integer that
//! becomes wider, wraps around within a packet or is negative.

use super::analysis::{Analysis, Shape};
use super::bases::Bases;
use super::bound::Bounds;
use super::interval::{Folded, Folding, Interval, Unknown};

use crate::ir::{BinaryOp, Inst, Kernel, Op, ParamId, Type, Value};

/// The largest distance that is followed.
const FARTHEST: u64 = 1 << 30;

/// The largest sum that is divided by a multiplication of 32 bits.
const MOST_DIVIDED: u64 = (1 << 15) - 1;

/// The largest number of registers that the elements which a packet reads may fill.
pub(super) const MOST_REGISTERS: u64 = 4;

/// An integer whose lanes are near each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Near {
    /// The last operation.
    pub(super) step: Step,
    /// The largest distance.
    pub(super) most: u64,
    /// A number that the base does not exceed, if there is one below the largest number of the type.
    largest_base: Option<u64>,
    /// The limit that the operand's base is compared with, if the distances are only right up to there.
    pub(super) limit: Option<u64>,
    /// Whether that condition is known to hold, also those of the operands.
    pub(super) is_certain: bool,
    /// Whether several lanes have the same value.
    pub(super) repeats: bool,
    /// Whether lanes choose between values: bounds are wider than what they have.
    pub(super) chooses: bool,
}

/// How bases and distances of operands become those of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Sum(Value, Value),
    Difference(Value, Value),
    Product(Value, u64),
    Quotient(Value, Divisor),
    Remainder(Value, Divisor),
    /// Without the remainder by a power of two.
    Rounded(Value, Divisor),
    /// One of two values, and what is added to the distances of each: the difference of its base from the lower one.
    Joined {
        choice: Choice,
        values: [Value; 2],
        moves: [u64; 2],
    },
    /// An integer of another type.
    Converted(Value),
    /// The distance is the value, which is small.
    Small,
}

/// Which of two values a lane has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// The first one where a mask is true.
    By(Value),
    Smaller,
    Larger,
}

/// A constant that bases are divided by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Divisor {
    pub(super) number: u64,
    /// Whether each base is a multiple of it.
    pub(super) divides_base: bool,
    /// How the sum of a remainder of the base and a distance is divided.
    pub(super) way: Way,
}

/// How a small sum is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// The distances are those of consecutive numbers: by constants, and by a comparison.
    Consecutive,
    /// By a comparison: the quotient is zero or one.
    Once,
    /// By a multiplication with a factor and a shift by a count.
    Product(u64, u32),
}

/// The distances of an operand.
#[derive(Clone, Copy)]
struct Operand {
    most: u64,
    largest_base: Option<u64>,
    is_certain: bool,
    repeats: bool,
    chooses: bool,
    shape: Shape,
}

/// An index of elements that are near each other in a few rows: a small number times a shared one, plus a number whose
/// lanes are near. Examples are colours that become those of pixels: `lane % 3 * size + lane / 3`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NearRows {
    /// The number of the row, from zero on.
    pub(super) row: Value,
    /// The largest one.
    pub(super) last: u64,
    /// The distance between rows.
    pub(super) length: Value,
    /// The place in the row, and the largest distance of one from its base.
    pub(super) place: Value,
    pub(super) most: u64,
}

/// The largest number of rows that are read, and of the registers that their elements fill.
const MOST_ROWS: u64 = 4;
const MOST_REGISTERS_OF_ROWS: u64 = 6;

/// The integers of shape [`Shape::Varying`] whose lanes are near each other, if that is used.
pub(super) fn near(kernel: &Kernel, analysis: &Analysis) -> (Vec<Option<Near>>, Vec<Option<NearRows>>) {
    let bounds = Bounds::new(kernel, analysis);
    let mut finder = Finder { kernel, analysis, bounds: &bounds, near: vec![None; kernel.types.len()] };
    let insts = || kernel.regions.iter().flat_map(|region| &region.insts);
    // A region usually comes after the one that it is nested in. If passes have changed that, a value is missed.
    for inst in insts() {
        if finder.is_candidate(inst) {
            finder.near[inst.first.index()] = finder.of(&inst.op, kernel.ty(inst.first));
        }
    }
    for inst in insts() {
        let Op::Gather { index, .. } = inst.op else { continue };
        let is_unknown = analysis.shape(index) == Shape::Varying && finder.near[index.index()].is_none();
        if is_unknown && is_wide(kernel.ty(index)) && bounds.definition(index).is_some() {
            finder.near[index.index()] = small(&bounds, index);
        }
    }
    let mut rows = vec![None; kernel.types.len()];
    for inst in insts() {
        if let Op::Gather { buffer, index, .. } = inst.op
            && finder.registers(buffer, index).is_none()
            && analysis.shape(index) == Shape::Varying
        {
            rows[index.index()] = finder.rows(&bounds, buffer, index);
        }
    }
    (finder.used(insts(), &rows), rows)
}

/// An index that is small whatever it is computed from.
fn small(bounds: &Bounds<'_>, index: Value) -> Option<Near> {
    let interval = bounds.of(index).interval(&Folding(Unknown), &|_| Folded::Computed(()));
    let Interval { least: Folded::Known(0..), most: Folded::Known(most @ 0..) } = interval else { return None };
    let most = most as u64;
    (most < MOST_REGISTERS * ENTRIES).then_some(Near {
        step: Step::Small,
        most,
        largest_base: Some(0),
        limit: None,
        is_certain: true,
        repeats: true,
        chooses: false,
    })
}

/// The words in a register that are moved to any place by one instruction.
const ENTRIES: u64 = 16;

pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::I32 | Type::U32 | Type::I64 | Type::U64)
}

/// The largest number of a type.
fn largest(ty: Type) -> u64 {
    ty.bit_mask() >> u32::from(ty.is_signed_integer())
}

impl Near {
    /// The number of registers that the elements of a type fill that a packet reads at this index; none if they are
    /// too many, or there are no instructions that move them.
    pub(super) fn registers(&self, ty: Type, lanes: u64) -> Option<u64> {
        // Registers of half as many lanes have no such instructions, or belong to packets that are shorter than those.
        let entries = match lanes {
            ..8 => return None,
            _ if ty.size_bytes() > 4 => (ENTRIES / 2).min(lanes / 2).max(4),
            _ => ENTRIES.min(lanes),
        };
        let registers = (self.most + 1).div_ceil(entries);
        (registers <= MOST_REGISTERS).then_some(registers)
    }
}

struct Finder<'a> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    bounds: &'a Bounds<'a>,
    near: Vec<Option<Near>>,
}

impl Finder<'_> {
    fn is_candidate(&self, inst: &Inst) -> bool {
        inst.results == 1
            && is_wide(self.kernel.ty(inst.first))
            && self.analysis.shape(inst.first) == Shape::Varying
            && matches!(inst.op, Op::Binary(..) | Op::Select(..) | Op::Cast(..) | Op::Bitcast(..))
    }

    /// Only what is gathered at, and quotients and remainders, with what they are computed from.
    fn used<'k>(&self, insts: impl Iterator<Item = &'k Inst>, rows: &[Option<NearRows>]) -> Vec<Option<Near>> {
        let mut is_used = vec![false; self.near.len()];
        let insts: Vec<&Inst> = insts.collect();
        for inst in insts.into_iter().rev() {
            if let Op::Gather { buffer, index, .. } = inst.op {
                is_used[index.index()] |= self.registers(buffer, index).is_some();
                if let Some(rows) = rows[index.index()] {
                    [rows.row, rows.place].into_iter().for_each(|value| is_used[value.index()] = true);
                }
            }
            let Some(near) = self.near[inst.first.index()].filter(|_| inst.results == 1) else { continue };
            is_used[inst.first.index()] |=
                near.is_certain && matches!(near.step, Step::Quotient(..) | Step::Remainder(..));
            if is_used[inst.first.index()] && near.step != Step::Small {
                inst.op.for_each_operand(|operand| is_used[operand.index()] = true);
            }
        }
        self.near.iter().zip(is_used).map(|(near, is_used)| near.filter(|_| is_used)).collect()
    }

    fn registers(&self, buffer: ParamId, index: Value) -> Option<u64> {
        let near = self.near[index.index()]?;
        near.registers(self.kernel.param(buffer).ty(), self.analysis.lanes)
    }

    /// An index of elements in a few rows.
    fn rows(&self, bounds: &Bounds<'_>, buffer: ParamId, index: Value) -> Option<NearRows> {
        let Some(&Op::Binary(BinaryOp::Add, a, b)) = bounds.definition(index) else { return None };
        let of = |product: Value, place: Value| {
            let Some(&Op::Binary(BinaryOp::Mul, x, y)) = bounds.definition(product) else { return None };
            let (row, length) = if self.analysis.shape(y).is_scalar() { (x, y) } else { (y, x) };
            let number = self.near[row.index()].filter(|near| near.is_certain && near.largest_base == Some(0))?;
            let is_row = self.analysis.shape(length).is_scalar() && number.most < MOST_ROWS;
            let most = self.operand(place)?.most;
            let near = Near { most, ..number };
            let registers = near.registers(self.kernel.param(buffer).ty(), self.analysis.lanes)?;
            let is_small = (number.most + 1) * registers <= MOST_REGISTERS_OF_ROWS;
            let last = number.most;
            // Distances of rows are computed in 64 bits, where they must not wrap around.
            let is_index = self.kernel.ty(index).bits() == 32;
            (is_row && is_small && is_index).then_some(NearRows { row, last, length, place, most })
        };
        of(a, b).or_else(|| of(b, a))
    }

    fn operand(&self, value: Value) -> Option<Operand> {
        let (lanes, shape) = (self.analysis.lanes, self.analysis.shape(value));
        let certain = |most, largest_base| Operand {
            most,
            largest_base,
            is_certain: true,
            repeats: false,
            chooses: false,
            shape,
        };
        Some(match shape {
            Shape::Uniform | Shape::Packet => certain(0, self.analysis.constant(value)),
            Shape::Linear { aligned } => {
                let last_packet = self.kernel.ty(value).bit_mask() - (lanes - 1);
                certain(lanes - 1, aligned.then_some(last_packet))
            }
            Shape::Varying => {
                let Near { most, largest_base, is_certain, repeats, chooses, .. } = self.near[value.index()]?;
                Operand { most, largest_base, is_certain, repeats, chooses, shape }
            }
        })
    }

    fn of(&self, op: &Op, ty: Type) -> Option<Near> {
        match *op {
            Op::Binary(op, a, b) => self.binary(op, a, b, ty),
            Op::Select(mask, a, b) => self.joined(Choice::By(mask), a, b, ty),
            Op::Cast(_, a) | Op::Bitcast(_, a) if is_wide(self.kernel.ty(a)) => self.converted(a, ty),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: Value, b: Value, ty: Type) -> Option<Near> {
        let constant =
            |value: Value| self.analysis.constant(value).filter(|&number| number <= largest(ty).min(FARTHEST));
        match (op, constant(a), constant(b)) {
            (BinaryOp::Add, ..) => self.sum(Step::Sum(a, b), a, b, ty),
            (BinaryOp::Sub, ..) => self.sum(Step::Difference(a, b), a, b, ty),
            (BinaryOp::Mul, _, Some(factor)) => self.product(a, factor, ty),
            (BinaryOp::Mul, Some(factor), _) => self.product(b, factor, ty),
            (BinaryOp::Shl, _, Some(count @ 0..=16)) => self.product(a, 1 << count, ty),
            (BinaryOp::Div, _, Some(number @ 2..)) => self.quotient(a, number, ty),
            (BinaryOp::Shr, _, Some(count @ 1..=30)) => self.quotient(a, 1 << count, ty),
            (BinaryOp::Rem, _, Some(number @ 2..)) => {
                let is_exact = number.is_power_of_two() && ty.is_unsigned_integer();
                self.remainder(a, number, ty, is_exact)
            }
            (BinaryOp::And, _, Some(mask @ 1..)) if (mask + 1).is_power_of_two() => {
                self.remainder(a, mask + 1, ty, true)
            }
            (BinaryOp::And, Some(mask @ 1..), _) if (mask + 1).is_power_of_two() => {
                self.remainder(b, mask + 1, ty, true)
            }
            (BinaryOp::And, ..) => self.rounded(a, b, ty).or_else(|| self.rounded(b, a, ty)),
            (BinaryOp::Or, ..) => self.union(a, b, ty).or_else(|| self.union(b, a, ty)),
            (BinaryOp::Min, ..) => self.joined(Choice::Smaller, a, b, ty),
            (BinaryOp::Max, ..) => self.joined(Choice::Larger, a, b, ty),
            _ => None,
        }
    }

    /// A result whose distances are right under no other conditions than those of the operands.
    fn made(&self, step: Step, most: u64, largest_base: Option<u64>, ty: Type, operands: &[Operand]) -> Option<Near> {
        let repeats = operands.iter().any(|operand| operand.repeats);
        let chooses = operands.iter().any(|operand| operand.chooses);
        let is_certain = operands.iter().all(|operand| operand.is_certain);
        let largest_base = largest_base.filter(|&base| base <= ty.bit_mask());
        (most <= FARTHEST).then_some(Near { step, most, largest_base, limit: None, is_certain, repeats, chooses })
    }

    fn sum(&self, step: Step, a: Value, b: Value, ty: Type) -> Option<Near> {
        let (a, b) = (self.operand(a)?, self.operand(b)?);
        let largest_base = match step {
            Step::Sum(..) => a.largest_base.zip(b.largest_base).and_then(|(a, b)| a.checked_add(b)),
            _ => None,
        };
        self.made(step, a.most + b.most, largest_base, ty, &[a, b])
    }

    fn product(&self, a: Value, factor: u64, ty: Type) -> Option<Near> {
        let operand = self.operand(a)?;
        let largest_base = operand.largest_base.and_then(|base| base.checked_mul(factor));
        self.made(Step::Product(a, factor), operand.most.checked_mul(factor)?, largest_base, ty, &[operand])
    }

    /// As [`Finder::made`], for a result that is only right if the operand is not negative and does not wrap around.
    fn made_of_number(&self, made: Option<Near>, operand: Operand, ty: Type) -> Option<Near> {
        let limit = largest(ty) - operand.most;
        let is_below = operand.largest_base.is_some_and(|base| base <= limit);
        made.map(|near| match is_below {
            true => near,
            false => Near { limit: Some(limit), is_certain: false, ..near },
        })
    }

    fn quotient(&self, a: Value, number: u64, ty: Type) -> Option<Near> {
        let operand = self.operand(a)?;
        let divisor = self.divisor(operand, number)?;
        let sum = if divisor.divides_base { operand.most } else { operand.most + number - 1 };
        let base = operand.largest_base.unwrap_or(largest(ty)) / number;
        let made = self.made(Step::Quotient(a, divisor), sum / number, Some(base), ty, &[operand]);
        self.made_of_number(made, operand, ty).map(|near| Near { repeats: true, ..near })
    }

    fn remainder(&self, a: Value, number: u64, ty: Type, is_exact: bool) -> Option<Near> {
        let operand = self.operand(a)?;
        let divisor = self.divisor(operand, number)?;
        let most = if divisor.divides_base { operand.most.min(number - 1) } else { number - 1 };
        let made = self.made(Step::Remainder(a, divisor), most, Some(0), ty, &[operand]);
        let near = if is_exact { made } else { self.made_of_number(made, operand, ty) };
        near.map(|near| Near { repeats: true, ..near })
    }

    /// What an integer has without its lowest bits, by a mask.
    fn rounded(&self, a: Value, mask: Value, ty: Type) -> Option<Near> {
        let number = (self.analysis.constant(mask)? ^ ty.bit_mask()).checked_add(1)?;
        if !(2..=FARTHEST).contains(&number) || !number.is_power_of_two() {
            return None;
        }
        let operand = self.operand(a)?;
        let divisor = self.divisor(operand, number)?;
        let sum = if divisor.divides_base { operand.most } else { operand.most + number - 1 };
        let most = sum / number * number;
        let made = self.made(Step::Rounded(a, divisor), most, operand.largest_base, ty, &[operand])?;
        Some(Near { repeats: true, ..made })
    }

    /// Bits of two integers that have none in common, which is their sum: a multiple of a power of two, and a number
    /// below that.
    fn union(&self, multiple: Value, rest: Value, ty: Type) -> Option<Near> {
        let power = match self.near[multiple.index()]?.step {
            Step::Rounded(_, divisor) => divisor.number,
            Step::Product(_, factor) => 1 << factor.trailing_zeros().min(30),
            _ => return None,
        };
        let rest_number = self.analysis.constant(rest);
        let near_rest = self.near[rest.index()].filter(|near| near.is_certain && near.largest_base == Some(0));
        let most = rest_number.or(near_rest.map(|near| near.most))?;
        if most < power { self.sum(Step::Sum(multiple, rest), multiple, rest, ty) } else { None }
    }

    /// One or the other of two integers whose bases are a known distance apart.
    fn joined(&self, choice: Choice, a: Value, b: Value, ty: Type) -> Option<Near> {
        let operands = [self.operand(a)?, self.operand(b)?];
        let bases = Bases { kernel: self.kernel, analysis: self.analysis, bounds: self.bounds, near: &self.near };
        let distance = bases.distance(a, b)?;
        if distance.unsigned_abs() > FARTHEST {
            return None;
        }
        let moves = [-distance, distance].map(|distance| distance.max(0) as u64);
        let lower = if moves[0] == 0 { operands[0] } else { operands[1] };
        let most = (operands[0].most + moves[0]).max(operands[1].most + moves[1]);
        let made = self.made(Step::Joined { choice, values: [a, b], moves }, most, lower.largest_base, ty, &operands);
        let near = match choice {
            Choice::By(_) => made,
            Choice::Smaller | Choice::Larger => self.made_of_number(made, Operand { most, ..lower }, ty),
        };
        near.map(|near| Near { repeats: true, chooses: true, ..near })
    }

    fn divisor(&self, operand: Operand, number: u64) -> Option<Divisor> {
        let is_aligned = operand.shape == Shape::Linear { aligned: true } && self.analysis.begins_with_packets;
        let divides_base = is_aligned && self.analysis.lanes.is_multiple_of(number);
        let most = operand.most + number - 1;
        let way = match operand.shape {
            Shape::Linear { .. } => Way::Consecutive,
            _ if most < 2 * number => Way::Once,
            _ if most <= MOST_DIVIDED => divide_small(number, most)?,
            _ => return None,
        };
        Some(Divisor { number, divides_base, way })
    }

    fn converted(&self, a: Value, ty: Type) -> Option<Near> {
        let (operand, from) = (self.operand(a)?, self.kernel.ty(a));
        let becomes_wider = ty.bits() > from.bits();
        let largest_base = operand.largest_base;
        let made = self.made(Step::Converted(a), operand.most, largest_base, ty, &[operand]);
        if becomes_wider { self.made_of_number(made, operand, from) } else { made }
    }
}

/// The factor and the count by which numbers up to a largest one are divided, so that no product exceeds 32 bits.
///
/// With `factor * divisor = 2^count + excess`, `n * factor >> count` is the quotient if `n * excess < 2^count`: what is
/// too much is less than the distance of `n / divisor` from the next integer.
pub(super) fn divide_small(divisor: u64, most: u64) -> Option<Way> {
    let ways = (1..32).map(|count| ((1_u64 << count) / divisor + 1, count));
    let is_right = |&(factor, count): &(u64, u32)| {
        let excess = factor * divisor - (1 << count);
        most * excess < 1 << count && most * factor <= u64::from(u32::MAX)
    };
    { ways }.find(is_right).map(|(factor, count)| Way::Product(factor, count))
}
