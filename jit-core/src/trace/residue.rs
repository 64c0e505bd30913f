//! Positions that are a multiple of a number, and a rest: `lane * 3 + 1`. Scatters at positions of different rests
//! write different elements, whatever their lanes are, so one kernel may run them.

use super::index_range::{is_lane_index, most};
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::graph::payload::{How, Payload, ScatterPayload};
use crate::size::Size;
use jit_runtime::ir::BinaryOp;

/// The most scatters of which each writes other elements than all others.
const MOST: usize = 64;

/// Returns whether writes at an index change none of the elements that the last scatter to an array has written, nor
/// the scatters before it that are known to be disjoint from it in turn.
pub(super) fn is_disjoint(target: &Var, index: &Var) -> bool {
    let Some(residue) = Residue::of(index) else { return false };
    let mut target = target.clone();
    for _ in 0..MOST {
        let Some(scatter) = target.operand(0).filter(|_| target.op() == Op::ScatterResult) else { return false };
        let Some(Payload::Scatter(before)) = scatter.payload() else { return false };
        if before.how != How::Write || !residue.is_apart_from(before) {
            return false;
        }
        if !before.is_disjoint {
            return true;
        }
        target = before.target.clone();
    }
    false
}

/// All positions whose remainder by a number is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Residue {
    factor: u64,
    rest: u64,
}

impl Residue {
    /// Returns what the positions of an index have in common.
    fn of(index: &Var) -> Option<Residue> {
        if !index.ty().is_integer() || index.ty().bits() < 32 {
            return None;
        }
        let (multiple, rest) = with_constant(index, BinaryOp::Add).unwrap_or((index.clone(), 0));
        let (base, factor) = with_constant(&multiple, BinaryOp::Mul)?;
        let is_exact = || match is_lane_index(&base) && !base.width().is_constant() {
            // Other replays have other widths.
            true => base.width() * factor as usize + rest as usize <= Size::from(i32::MAX as usize),
            false => most(index).is_some(),
        };
        // A power of two divides what a sum loses when it wraps around, too.
        let is_residue = factor > 1 && (factor.is_power_of_two() || factor < 1 << 16 && rest < 1 << 16 && is_exact());
        is_residue.then_some(Residue { factor, rest: rest % factor })
    }

    fn is_apart_from(self, scatter: &ScatterPayload) -> bool {
        let Some(other) = Residue::of(&scatter.index) else { return false };
        let common = gcd(self.factor, other.factor);
        self.rest % common != other.rest % common
    }
}

/// Returns the operands of an operation with a constant.
fn with_constant(var: &Var, op: BinaryOp) -> Option<(Var, u64)> {
    let is_op = var.op() == Op::Binary(op);
    let constant = var.operand(1).filter(|_| is_op)?.literal()?;
    Some((var.operand(0)?, constant))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use jit_runtime::ir::Type;

    use super::*;
    use crate::trace::record;

    const LANES: usize = 40;

    fn number(ty: Type, value: u64) -> Var {
        record::literal(ty, value, 1)
    }

    /// `base * factor + rest`, and the values of its lanes.
    fn index(base: &Var, values: &[u64], factor: u64, rest: u64) -> (Var, Vec<u64>) {
        let ty = base.ty();
        let multiple = record::binary(BinaryOp::Mul, base, &number(ty, factor));
        let var = record::binary(BinaryOp::Add, &multiple, &number(ty, rest));
        let mask = ty.bit_mask();
        (var, values.iter().map(|value| value.wrapping_mul(factor).wrapping_add(rest) & mask).collect())
    }

    #[test]
    fn positions_that_are_apart_are_never_equal() {
        let mut apart = 0;
        for ty in [Type::U32, Type::I32, Type::U64, Type::I64] {
            let lanes: Vec<u64> = (0..LANES as u64).collect();
            let any: Vec<u64> =
                lanes.iter().map(|lane| lane.wrapping_mul(0x0765_4321_9abc_def1) & ty.bit_mask()).collect();
            let bases = [(record::cast(ty, &record::lane_index(LANES)), lanes), (record::placeholder(ty, LANES), any)];
            let indices: Vec<(Var, Vec<u64>)> = { bases.iter() }
                .flat_map(|(base, values)| {
                    (1..9).flat_map(move |factor| (0..17).map(move |rest| index(base, values, factor, rest)))
                })
                .collect();
            for (first, of_first) in &indices {
                for (second, of_second) in &indices {
                    let (Some(a), Some(b)) = (Residue::of(first), Residue::of(second)) else { continue };
                    let common = gcd(a.factor, b.factor);
                    if a.rest % common != b.rest % common {
                        apart += 1;
                        assert!(of_first.iter().all(|value| !of_second.contains(value)), "{ty}: {a:?} {b:?}");
                    }
                }
            }
        }
        assert!(apart > 10_000, "only {apart} pairs are apart");
    }

    #[test]
    fn what_wraps_around_has_no_residue_of_odd_numbers() {
        let any = record::placeholder(Type::U32, LANES);
        let of = |factor| Residue::of(&record::binary(BinaryOp::Mul, &any, &number(Type::U32, factor)));
        assert_eq!(of(3), None);
        assert_eq!(of(4), Some(Residue { factor: 4, rest: 0 }));
    }
}
