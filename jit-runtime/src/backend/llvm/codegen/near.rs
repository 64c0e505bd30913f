//! Integers whose lanes are near each other, as bases and distances: see [`near`](crate::backend::llvm::near).
//!
//! Distances have 32 bits, whatever the type of the integer. Gathers at such an index read a few vectors from the base
//! on. Whether they are in range is a comparison of scalars.

use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntUGE, LLVMIntULE};
use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::analysis::Shape;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::backend::llvm::near::{Choice, Divisor, Near, NearRows, Step, Way};
use crate::ir::{ParamId, Type, Value};

/// The lanes of a packet: base plus distance.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) base: Raw,
    pub(super) distances: Raw,
    /// The condition under which that is so, if there is one.
    condition: Option<Raw>,
}

/// For each packet of a group.
pub(super) type NearPackets = SmallVec<[Lanes; 1]>;

impl Codegen<'_> {
    /// Computes bases and distances of a result. Returns the lanes, if these are right under no condition, and not
    /// computed in another way before.
    pub(super) fn begin_near(&mut self, near: &Near, ty: Type) -> (NearPackets, Option<Packets>) {
        let lanes: NearPackets = (0..self.packets).map(|packet| self.near_step(near, ty, packet)).collect();
        let values = near.is_certain.then(|| lanes.iter().map(|lanes| self.sum_of(lanes, ty)).collect());
        (lanes, values)
    }

    fn sum_of(&self, lanes: &Lanes, ty: Type) -> Raw {
        let e = &self.emit;
        let distances = match ty.bits() {
            64 => e.convert(Conversion::ZExt, lanes.distances, e.vector(e.int(64), self.lanes)),
            _ => lanes.distances,
        };
        e.add(e.splat(lanes.base, self.lanes), distances)
    }

    /// Bases and distances of an operand.
    fn near_lanes(&self, value: Value, packet: usize) -> Lanes {
        let (e, ty) = (&self.emit, self.ty(value));
        let words = e.vector(e.int(32), self.lanes);
        match self.analysis.shape(value) {
            Shape::Varying => {
                let slot = self.slots[value.index()].near.as_ref();
                slot.expect("operands of what is near are near")[packet]
            }
            Shape::Linear { .. } => {
                let offset = e.int_const(ty.bits(), packet as u64 * u64::from(self.lanes));
                let base = e.add(self.scalar(value), offset);
                Lanes { base, distances: e.iota(32, self.lanes, 0), condition: None }
            }
            _ => Lanes { base: self.scalar(value), distances: e.zero(words), condition: None },
        }
    }

    fn near_step(&mut self, near: &Near, ty: Type, packet: usize) -> Lanes {
        let number = |number: u64| self.emit.int_const(ty.bits(), number);
        let e = &self.emit;
        match near.step {
            Step::Sum(a, b) => {
                let (a, b) = (self.near_lanes(a, packet), self.near_lanes(b, packet));
                let (base, distances) = (e.add(a.base, b.base), e.add(a.distances, b.distances));
                Lanes { base, distances, condition: self.both(a.condition, b.condition) }
            }
            Step::Difference(a, b) => {
                let most = self.most_distance(b);
                let (a, b) = (self.near_lanes(a, packet), self.near_lanes(b, packet));
                let base = e.sub(e.sub(a.base, b.base), number(most));
                let reversed = e.sub(self.distance_of(most), b.distances);
                let distances = e.add(a.distances, reversed);
                Lanes { base, distances, condition: self.both(a.condition, b.condition) }
            }
            Step::Product(a, factor) => {
                let a = self.near_lanes(a, packet);
                let distances = e.mul(a.distances, self.distance_of(factor));
                Lanes { base: e.mul(a.base, number(factor)), distances, ..a }
            }
            Step::Quotient(a, divisor) => {
                let (base, distances, condition) = self.near_division(near, a, divisor, packet, true);
                Lanes { base, distances, condition }
            }
            Step::Remainder(a, divisor) => {
                let (_, distances, condition) = self.near_division(near, a, divisor, packet, false);
                Lanes { base: number(0), distances, condition }
            }
            Step::Rounded(a, divisor) => {
                let (base, distances, condition) = self.near_division(near, a, divisor, packet, true);
                let distances = e.mul(distances, self.distance_of(divisor.number));
                Lanes { base: e.mul(base, number(divisor.number)), distances, condition }
            }
            Step::Joined { choice, values, moves } => self.near_join(near, choice, values, moves, packet),
            Step::Converted(a) => {
                let lanes = self.near_lanes(a, packet);
                let condition = self.is_number(near, &lanes, self.ty(a));
                Lanes { base: self.number_as(lanes.base, self.ty(a), ty), condition, ..lanes }
            }
            Step::Small => unreachable!("what is small is known from its lanes"),
        }
    }

    /// One of two values, as distances from the lower base.
    fn near_join(&mut self, near: &Near, choice: Choice, values: [Value; 2], moves: [u64; 2], packet: usize) -> Lanes {
        let mask = match choice {
            Choice::By(mask) => Some(self.vectors(mask)[packet]),
            Choice::Smaller | Choice::Larger => None,
        };
        let [a, b] = values.map(|value| self.near_lanes(value, packet));
        let e = &self.emit;
        let moved = |lanes: Lanes, by: u64| match by {
            0 => lanes.distances,
            _ => e.add(lanes.distances, self.distance_of(by)),
        };
        let (of_a, of_b) = (moved(a, moves[0]), moved(b, moves[1]));
        let extreme = |name| e.intrinsic(name, &[e.type_of(of_a)], &[of_a, of_b]);
        let distances = match (choice, mask) {
            (_, Some(mask)) => e.select(mask, of_a, of_b),
            (Choice::Larger, _) => extreme("llvm.umax"),
            _ => extreme("llvm.umin"),
        };
        let base = if moves[0] == 0 { a.base } else { b.base };
        let lanes = Lanes { base, distances, condition: self.both(a.condition, b.condition) };
        Lanes { condition: self.is_number(near, &lanes, self.ty(values[0])), ..lanes }
    }

    /// A small index, whose distances are its lanes.
    pub(super) fn small_lanes(&self, ty: Type, lanes: Raw) -> Lanes {
        let e = &self.emit;
        let distances = match ty.bits() {
            64 => e.convert(Conversion::Trunc, lanes, e.vector(e.int(32), self.lanes)),
            _ => lanes,
        };
        Lanes { base: e.int_const(ty.bits(), 0), distances, condition: None }
    }

    fn number_as(&self, base: Raw, from: Type, to: Type) -> Raw {
        match (from.bits(), to.bits()) {
            (from, to) if from < to => self.emit.convert(Conversion::ZExt, base, self.emit.int(to)),
            (from, to) if from > to => self.emit.convert(Conversion::Trunc, base, self.emit.int(to)),
            _ => base,
        }
    }

    fn most_distance(&self, value: Value) -> u64 {
        match self.analysis.shape(value) {
            Shape::Varying => self.analysis.near[value.index()].map_or(0, |near| near.most),
            Shape::Linear { .. } => u64::from(self.lanes) - 1,
            _ => 0,
        }
    }

    /// A distance in all lanes.
    fn distance_of(&self, number: u64) -> Raw {
        self.emit.constant(self.emit.int(32), self.lanes, number)
    }

    fn both(&self, a: Option<Raw>, b: Option<Raw>) -> Option<Raw> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.emit.and(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// The condition under which the lanes of an operand are numbers of the type, if it is not known to hold.
    fn is_number(&self, near: &Near, lanes: &Lanes, ty: Type) -> Option<Raw> {
        let e = &self.emit;
        let is_below = near.limit.map(|limit| e.icmp(LLVMIntULE, lanes.base, e.int_const(ty.bits(), limit)));
        self.both(lanes.condition, is_below)
    }

    /// The quotient of the base, and the distances of quotients or remainders.
    fn near_division(
        &self,
        near: &Near,
        a: Value,
        divisor: Divisor,
        packet: usize,
        wants_quotient: bool,
    ) -> (Raw, Raw, Option<Raw>) {
        let (e, ty) = (&self.emit, self.ty(a));
        let lanes = self.near_lanes(a, packet);
        let number = e.int_const(ty.bits(), divisor.number);
        let quotient = e.udiv(lanes.base, number);
        let rest = match divisor.divides_base {
            true => e.int_const(32, 0),
            false => self.number_as(e.sub(lanes.base, e.mul(quotient, number)), ty, Type::U32),
        };
        let rest = e.splat(rest, self.lanes);
        let distances = match divisor.way {
            Way::Consecutive => {
                let of = |split: fn(u64, u64) -> u64| -> Raw {
                    let lane = |lane: u64| e.int_const(32, split(lane, divisor.number));
                    e.const_vector(&(0..u64::from(self.lanes)).map(lane).collect::<Vec<_>>())
                };
                let sum = e.add(rest, of(|lane, number| lane % number));
                match wants_quotient {
                    _ if divisor.divides_base && wants_quotient => of(|lane, number| lane / number),
                    _ if divisor.divides_base => sum,
                    true => e.add(self.is_divisible(sum, divisor.number), of(|lane, number| lane / number)),
                    false => self.reduced(sum, divisor.number),
                }
            }
            Way::Once => {
                let sum = e.add(rest, lanes.distances);
                if wants_quotient { self.is_divisible(sum, divisor.number) } else { self.reduced(sum, divisor.number) }
            }
            Way::Product(factor, count) => {
                let sum = e.add(rest, lanes.distances);
                let quotient = e.lshr(e.mul(sum, self.distance_of(factor)), self.distance_of(count.into()));
                if wants_quotient { quotient } else { e.sub(sum, e.mul(quotient, self.distance_of(divisor.number))) }
            }
        };
        (quotient, distances, self.is_number(near, &lanes, ty))
    }

    /// The quotients of sums below twice a number.
    fn is_divisible(&self, sum: Raw, number: u64) -> Raw {
        let is_above = self.emit.icmp(LLVMIntUGE, sum, self.distance_of(number));
        self.emit.convert(Conversion::ZExt, is_above, self.emit.type_of(sum))
    }

    /// The remainders of sums below twice a number: what is negative after a subtraction is larger than any sum.
    fn reduced(&self, sum: Raw, number: u64) -> Raw {
        let less = self.emit.sub(sum, self.distance_of(number));
        self.emit.intrinsic("llvm.umin", &[self.emit.type_of(sum)], &[sum, less])
    }

    // --- gathers

    /// What is near in the index of a gather that reads a few registers, if this is the way to gather.
    pub(super) fn near_index(&self, buffer: ParamId, index: Value) -> Option<Near> {
        let near = self.analysis.near_index(self.kernel, buffer, index)?;
        let registers = near.registers(self.element(buffer), u64::from(self.lanes))?;
        let is_used = !self.is_edge && self.can_permute(self.element(buffer), registers);
        is_used.then_some(near)
    }

    /// The few rows that a gather reads from, if this is the way to gather.
    pub(super) fn near_rows(&self, buffer: ParamId, index: Value) -> Option<NearRows> {
        let rows = self.analysis.near_rows[index.index()]?;
        (!self.is_edge && self.can_permute(self.element(buffer), 1)).then_some(rows)
    }

    /// Gathers a packet by reading all elements that are near in each of a few rows.
    pub(super) fn gather_rows(
        &mut self,
        rows: &NearRows,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
    ) -> Raw {
        let index_type = self.ty(index);
        let (row, place) = (self.near_lanes(rows.row, packet), self.near_lanes(rows.place, packet));
        let (place_base, length) =
            (self.wide_index(index_type, place.base), self.wide_index(index_type, self.scalar(rows.length)));
        // In 64 bits nothing wraps around: if the first and the last row are in range, so are those in between.
        let start = |codegen: &Self, row: u64| {
            let distance = codegen.emit.mul(length, codegen.emit.i64(row));
            codegen.emit.add(place_base, distance)
        };
        let last = start(self, rows.last);
        let first_is_inside = self.is_run_inside(buffer, index_type, place_base, rows.most + 1);
        let last_is_inside = self.is_run_inside(buffer, index_type, last, rows.most + 1);
        let are_inside = self.emit.and(first_is_inside, last_is_inside);
        let are_near = self.both(Some(are_inside), place.condition).unwrap_or(are_inside);
        self.gather_if(are_near, buffer, index, packet, lanes, |codegen| {
            let e = &codegen.emit;
            let of_row = |row: u64| codegen.permuted(buffer, start(codegen, row), rows.most + 1, place.distances);
            (1..=rows.last).fold(of_row(0), |others, number| {
                let is_row = e.icmp(LLVMIntEQ, row.distances, codegen.distance_of(number));
                e.select(is_row, of_row(number), others)
            })
        })
    }

    /// Gathers a packet by reading all elements that are near.
    pub(super) fn gather_near(
        &mut self,
        near: &Near,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
    ) -> Raw {
        let index_type = self.ty(index);
        let found = match near.step {
            Step::Small => {
                let lanes = self.vectors(index)[packet];
                self.small_lanes(index_type, lanes)
            }
            _ => self.near_lanes(index, packet),
        };
        let start = self.wide_index(index_type, found.base);
        let is_inside = self.is_run_inside(buffer, index_type, start, near.most + 1);
        let is_near = self.both(Some(is_inside), found.condition).unwrap_or(is_inside);
        self.gather_if(is_near, buffer, index, packet, lanes, |codegen| {
            codegen.permuted(buffer, start, near.most + 1, found.distances)
        })
    }
}
