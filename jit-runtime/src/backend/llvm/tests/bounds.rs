//! Compares the bounds known before the first lane runs with brute force: on each lane, the value of each expression is
//! in its interval.

use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::bound::{Bounds, Leaf, word};
use crate::backend::llvm::interval::{Arithmetic, Folded, Folding, Host, Integer, Interval, Machine};
use crate::ir::random::Rng;
use crate::ir::{Access, BinaryOp, Builder, Kernel, Op, Type, Value, scalar};

const LANES: usize = 16;
const TYPES: [Type; 8] = [Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64];
const OPS: [BinaryOp; 14] = {
    use BinaryOp::{Add, And, Div, Max, Min, Mul, MulHi, Or, Rem, Shl, Shr, Sub, Xor};
    [Add, Sub, Mul, Div, Rem, And, Or, Xor, Min, Max, Shl, Shr, MulHi, Rem]
};

/// A kernel of expressions, and its values on each lane.
struct Program {
    builder: Builder,
    rng: Rng,
    values: Vec<(Value, Vec<u64>)>,
}

impl Program {
    fn add(&mut self, value: Value, lanes: Vec<u64>) {
        self.values.push((value, lanes));
    }

    fn number(&mut self, ty: Type) -> u64 {
        let bits = if self.rng.one_in(2) { self.rng.below(9) as u64 } else { self.rng.value(ty) };
        bits & ty.bit_mask()
    }

    /// A constant, a shared value, a varying value, or the lane's number.
    fn leaf(&mut self, ty: Type) {
        let bits = self.number(ty);
        match self.rng.below(4) {
            0 => {
                let value = self.builder.constant(ty, bits);
                self.add(value, vec![bits; LANES]);
            }
            1 => {
                let param = self.builder.scalar_param(ty);
                let value = self.builder.scalar(param);
                self.add(value, vec![bits; LANES]);
            }
            2 => {
                let param = self.builder.buffer(ty, Access::Read);
                let value = self.builder.load(param);
                let lanes = (0..LANES).map(|lane| bits.wrapping_mul(lane as u64 + 1) & ty.bit_mask());
                self.add(value, lanes.collect());
            }
            _ => {
                let value = self.builder.lane_index();
                self.add(value, (0..LANES as u64).collect());
            }
        }
    }

    fn any(&mut self, ty: Type) -> Option<(Value, Vec<u64>)> {
        let kernel = self.builder.kernel();
        let of_type: Vec<usize> = (0..self.values.len()).filter(|&at| kernel.ty(self.values[at].0) == ty).collect();
        let at = *of_type.get(self.rng.below(of_type.len().max(1)))?;
        Some(self.values[at].clone())
    }

    /// An operation on existing values.
    fn operation(&mut self) {
        let ty = self.rng.choose(&TYPES);
        let (Some((a, of_a)), Some((b, of_b))) = (self.any(ty), self.any(ty)) else { return };
        match self.rng.below(8) {
            0 | 1 => {
                let to = self.rng.choose(&TYPES);
                let value = self.builder.cast(to, a);
                self.add(value, of_a.iter().map(|&bits| scalar::cast(ty, to, bits)).collect());
            }
            2 => {
                let Some((c, of_c)) = self.any(ty) else { return };
                let mask = self.builder.compare(crate::ir::CompareOp::Lt, c, a);
                let value = self.builder.select(mask, a, b);
                let is_less = |lane: usize| scalar::compare(crate::ir::CompareOp::Lt, ty, of_c[lane], of_a[lane]);
                let of = |lane: usize| if is_less(lane) { of_a[lane] } else { of_b[lane] };
                self.add(value, (0..LANES).map(of).collect());
            }
            _ => {
                let op = self.rng.choose(&OPS);
                let value = self.builder.binary(op, a, b);
                let of = |lane: usize| scalar::binary(op, ty, of_a[lane], of_b[lane]);
                self.add(value, (0..LANES).map(of).collect());
            }
        }
    }
}

/// The interval of a value, for known values of its leaves.
fn interval(kernel: &Kernel, values: &[(Value, Vec<u64>)], bounds: &Bounds<'_>, value: Value) -> Interval<i64> {
    let leaf = |leaf: Leaf| match leaf {
        Leaf::LastLane => LANES as i64 - 1,
        Leaf::Shared(shared) => {
            let (_, lanes) = values.iter().find(|(value, _)| *value == shared).expect("it was made");
            assert!(lanes.iter().all(|bits| *bits == lanes[0]), "lanes do not share {shared}");
            word(kernel.ty(shared), lanes[0])
        }
    };
    bounds.of(value).interval(&Host, &leaf)
}

#[test]
fn values_on_all_lanes_are_in_their_intervals() {
    let mut narrow = 0;
    for seed in 0..4000 {
        let mut program = Program { builder: Builder::new(), rng: Rng::new(seed), values: Vec::new() };
        for ty in TYPES {
            program.leaf(ty);
        }
        (0..24).for_each(|_| program.operation());
        let Program { builder, values, .. } = program;
        let kernel = builder.finish();
        let analysis = Analysis::new(&kernel, 4);
        let bounds = Bounds::new(&kernel, &analysis);
        for (value, lanes) in &values {
            let ty = kernel.ty(*value);
            let found = interval(&kernel, &values, &bounds, *value);
            let any = Host.any(Integer::of(ty));
            // Without this, intervals of all values would pass.
            let is_operation = matches!(bounds.definition(*value), Some(Op::Binary(..) | Op::Cast(..)));
            narrow += usize::from(is_operation && (found.least > any.least || found.most < any.most));
            for &bits in lanes {
                let is_below = found.most == i64::MAX || !(ty == Type::U64 && bits > i64::MAX as u64);
                let number = word(ty, bits);
                assert!(
                    is_below && (found.least..=found.most).contains(&number),
                    "seed {seed}: {value} of {ty} is {number}, not in {found:?}: {:?}",
                    bounds.definition(*value)
                );
            }
        }
    }
    assert!(narrow > 10_000, "{narrow} values have bounds");
}

/// Generated code computes intervals of which some ends are known already: these are folded.
#[test]
fn folded_words_are_those_of_the_machine() {
    let numbers = [i64::MIN, -7, -1, 0, 1, 2, 13, i64::MAX];
    let folding = Folding(Host);
    let forms = |number: i64| [Folded::Known(number), Folded::Computed(number)];
    type Both = (fn(&Folding<Host>, Folded<i64>, Folded<i64>) -> Folded<i64>, fn(i64, i64) -> i64);
    let operations: [Both; 5] = [
        (|machine, a, b| machine.add(a, b), |a, b| Host.add(a, b)),
        (|machine, a, b| machine.sub(a, b), |a, b| Host.sub(a, b)),
        (|machine, a, b| machine.mul(a, b), |a, b| Host.mul(a, b)),
        (|machine, a, b| machine.min(a, b), |a, b| Host.min(a, b)),
        (|machine, a, b| machine.max(a, b), |a, b| Host.max(a, b)),
    ];
    for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
        for (x, y) in forms(a).into_iter().flat_map(|x| forms(b).map(|y| (x, y))) {
            for (position, (folded, plain)) in operations.iter().enumerate() {
                let (found, wanted) = (folding.word(folded(&folding, x, y)), plain(a, b));
                assert_eq!(found, wanted, "operation {position} on {x:?} and {y:?}");
            }
            let is_less = folding.le(x, y);
            assert_eq!(folding.word(folding.select(is_less, x, y)), a.min(b), "{x:?} and {y:?}");
        }
    }
}

#[test]
fn shifts_by_about_the_width_are_in_their_intervals() {
    for (ty, op, scale) in TYPES.into_iter().flat_map(|ty| [(ty, BinaryOp::Shr, 7), (ty, BinaryOp::Shl, 1)]) {
        for count in ty.bits() - 1..=ty.bits() + 1 {
            // A shared value would be known itself: these differ by lane.
            let mut builder = Builder::new();
            let lane = builder.lane_index();
            let (lane, scale_by) = (builder.cast(ty, lane), builder.constant(ty, scale));
            let (a, b) = (builder.binary(BinaryOp::Mul, lane, scale_by), builder.constant(ty, count.into()));
            let shifted = builder.binary(op, a, b);
            let kernel = builder.finish();
            let analysis = Analysis::new(&kernel, 4);
            let found = interval(&kernel, &[], &Bounds::new(&kernel, &analysis), shifted);
            for lane in 0..LANES as u64 {
                let bits = scalar::binary(op, ty, (scale * lane) & ty.bit_mask(), count.into());
                let is_below = found.most == i64::MAX || !(ty == Type::U64 && bits > i64::MAX as u64);
                let number = word(ty, bits);
                let is_inside = is_below && (found.least..=found.most).contains(&number);
                assert!(is_inside, "{ty} by {count}: {number} in {found:?}");
            }
        }
    }
}
