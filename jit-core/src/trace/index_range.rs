//! Ranges of indices: the lanes whose index is in range.
//!
//! Kernels ensure that an out-of-range access to memory reads zero and writes nothing. This module does the same for
//! elements that are not in memory: where an array is an expression, or is in memory as part of another one.

use jit_runtime::ir::{BinaryOp, CompareOp, Type, scalar};

use super::record;
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::size::Size;

/// The number of operations visited to find the largest value of an index.
const MAX_DEPTH: u32 = 8;

/// Returns the lanes of a mask whose index is in range of an array of a width; `None` if these are all lanes.
#[track_caller]
pub(super) fn lanes_inside(index: &Var, width: Size, mask: Option<&Var>) -> Option<Var> {
    if is_always_inside(index, width) {
        return mask.cloned();
    }
    let inside = is_below(index, &record::size(width));
    Some(mask.map_or_else(|| inside.clone(), |mask| record::and(mask, &inside)))
}

/// Returns whether an index is at least zero and below a number, which is a `u32`.
#[track_caller]
pub(super) fn is_below(index: &Var, end: &Var) -> Var {
    // Negative values become large ones.
    let ty = if index.ty().size_bytes() == 8 { Type::U64 } else { Type::U32 };
    record::compare(CompareOp::Lt, &record::cast(ty, index), &record::cast(ty, end))
}

/// Returns whether an index is known to be in range.
pub(super) fn is_always_inside(index: &Var, width: Size) -> bool {
    (is_lane_index(index) && index.width().is_always(width))
        || width.is_constant() && most(index).is_some_and(|most| most < width.value() as u64)
}

/// Returns whether an index is known to be out of range in every lane: a literal that is negative, or not below the
/// width.
pub(crate) fn is_never_inside(index: &Var, width: Size) -> bool {
    let Some(bits) = index.literal() else { return false };
    let position = scalar::cast(index.ty(), Type::I64, bits) as i64;
    let is_negative = index.ty().is_signed_integer() && position < 0;
    // Values beyond the maximum of `i64` are beyond every width. A width that a replay computes is compared by its
    // kernels.
    is_negative || usize::try_from(position).map_or(true, |position| width.is_constant() && position >= width.value())
}

/// Returns whether an index is the lane number, in a type that can hold it for every lane.
pub(super) fn is_lane_index(index: &Var) -> bool {
    match index.op() {
        Op::LaneIndex => true,
        Op::Cast if index.ty().size_bytes() >= 4 => {
            index.operand(0).is_some_and(|operand| operand.op() == Op::LaneIndex)
        }
        _ => false,
    }
}

/// Returns an upper bound of an index, in any replay; `None` if it may be negative, or nothing is known.
pub(crate) fn most(index: &Var) -> Option<u64> {
    most_within(index, MAX_DEPTH)
}

fn most_within(index: &Var, depth: u32) -> Option<u64> {
    let ty = index.ty();
    let largest = if ty.is_signed_integer() { ty.bit_mask() >> 1 } else { ty.bit_mask() };
    if let Some(bits) = index.literal() {
        return (bits <= largest).then_some(bits);
    }
    let depth = depth.checked_sub(1)?;
    let of = |slot: usize| most_within(&index.operand(slot)?, depth);
    let constant = |slot: usize| index.operand(slot)?.literal().filter(|&bits| bits <= largest);
    let found = match index.op() {
        Op::LaneIndex if index.width().is_constant() => (index.lanes() as u64).checked_sub(1),
        Op::Broadcast | Op::Identity => of(0),
        Op::Cast if index.operand(0)?.ty().is_integer() => of(0),
        Op::Select => Some(of(1)?.max(of(2)?)),
        Op::Binary(op) => match op {
            BinaryOp::And => [of(0), of(1)].into_iter().flatten().min(),
            BinaryOp::Add => of(0)?.checked_add(of(1)?),
            BinaryOp::Mul => of(0)?.checked_mul(of(1)?),
            BinaryOp::Min if ty.is_unsigned_integer() => [of(0), of(1)].into_iter().flatten().min(),
            BinaryOp::Min => Some(of(0)?.min(of(1)?)),
            BinaryOp::Div => of(0)?.checked_div(constant(1)?),
            BinaryOp::Shr => of(0)?.checked_shr(u32::try_from(constant(1)?).ok()?),
            BinaryOp::Rem if ty.is_unsigned_integer() => constant(1)?.checked_sub(1),
            _ => None,
        },
        _ => None,
    };
    found.filter(|&most| most <= largest).or_else(|| (ty.bits() < 32 && ty.is_unsigned_integer()).then_some(largest))
}

#[cfg(test)]
mod tests {
    use jit_runtime::ir::random::Rng;
    use jit_runtime::ir::scalar;

    use super::*;

    const LANES: usize = 16;
    const TYPES: [Type; 6] = [Type::I8, Type::U8, Type::I32, Type::U32, Type::I64, Type::U64];

    /// A value, and its value on each lane.
    #[derive(Clone)]
    struct Known {
        var: Var,
        values: Vec<u64>,
    }

    fn data(ty: Type, values: impl Fn(usize) -> u64) -> Known {
        Known {
            var: record::placeholder(ty, LANES),
            values: (0..LANES).map(|lane| values(lane) & ty.bit_mask()).collect(),
        }
    }

    fn literal(ty: Type, bits: u64) -> Known {
        let bits = bits & ty.bit_mask();
        Known { var: record::literal(ty, bits, 1), values: vec![bits; LANES] }
    }

    fn lanes() -> Known {
        Known { var: record::lane_index(LANES), values: (0..LANES as u64).collect() }
    }

    fn binary(op: BinaryOp, a: &Known, b: &Known) -> Known {
        let function = scalar::binary_function(op, a.var.ty()).expect("integers have the operation");
        let values = a.values.iter().zip(&b.values).map(|(&a, &b)| function(a, b)).collect();
        Known { var: record::binary(op, &a.var, &b.var), values }
    }

    fn cast(ty: Type, a: &Known) -> Known {
        let values = a.values.iter().map(|&bits| scalar::cast(a.var.ty(), ty, bits)).collect();
        Known { var: record::cast(ty, &a.var), values }
    }

    fn select(mask: &Known, a: &Known, b: &Known) -> Known {
        let chosen = mask.values.iter().zip(a.values.iter().zip(&b.values));
        let values = chosen.map(|(&mask, (&a, &b))| if mask == 0 { b } else { a }).collect();
        Known { var: record::select(&mask.var, &a.var, &b.var), values }
    }

    fn any_value(rng: &mut Rng, ty: Type, depth: u32) -> Known {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        if depth == 0 {
            let bits = rng.value(ty);
            return match rng.below(4) {
                0 => data(ty, |lane| bits.wrapping_mul(lane as u64 + 1)),
                1 => literal(ty, rng.below(9) as u64),
                2 => literal(ty, bits),
                _ => cast(ty, &lanes()),
            };
        }
        let a = any_value(rng, ty, depth - 1);
        let depth_of_other = if rng.one_in(2) { 0 } else { depth - 1 };
        match rng.below(16) {
            0 | 1 => {
                let from = rng.choose(&TYPES);
                cast(ty, &any_value(rng, from, depth - 1))
            }
            2 | 3 => {
                let (bits, b) = (rng.bits(), any_value(rng, ty, depth_of_other));
                select(&data(Type::Bool, |lane| bits >> lane), &a, &b)
            }
            _ => {
                let op = rng.choose(&[Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor, Rem, Div, Shr]);
                binary(op, &a, &any_value(rng, ty, depth_of_other))
            }
        }
    }

    #[test]
    fn the_bits_of_floats_are_no_bounds_of_their_values() {
        for (ty, value, bits) in [(Type::F16, 60_000, 0x7b53), (Type::F32, 1, 0x3f80_0000)] {
            let number = |bits: u64| literal(ty, bits);
            let chosen = select(&data(Type::Bool, |lane| lane as u64), &number(bits), &number(0));
            let Known { var, values } = cast(Type::U32, &chosen);
            assert_eq!(values.into_iter().max(), Some(value));
            assert!(most(&var).is_none_or(|most| most >= value), "{ty}: {value}");
        }
    }

    #[test]
    fn no_lane_exceeds_what_an_expression_is_found_to_be_at_most() {
        let mut rng = Rng::new(3);
        let mut found = 0;
        for round in 0..60_000 {
            let ty = rng.choose(&TYPES);
            let Known { var, values } = any_value(&mut rng, ty, round % 5);
            let Some(most) = most(&var) else { continue };
            found += 1;
            // A negative number becomes a large one.
            let largest = values.into_iter().max().expect("there are lanes");
            assert!(largest <= most, "{ty}: {largest} is more than {most} in round {round}: {:?}", var.op());
        }
        assert!(found > 10_000, "only {found} expressions have a bound");
    }

    #[test]
    fn expressions_are_found_to_be_as_small_as_they_can_be() {
        let (any, signed) = (data(Type::U32, |lane| lane as u64 * 999_999_937), data(Type::I32, |lane| lane as u64));
        let mask = data(Type::Bool, |lane| lane as u64 & 1);
        let number = |bits| literal(Type::U32, bits);
        let low = |bits| binary(BinaryOp::And, &any, &number(bits));
        let of = |op, a: &Known, b: &Known| most(&binary(op, a, b).var);
        assert_eq!(most(&select(&mask, &low(3), &low(9)).var), Some(9));
        assert_eq!(most(&select(&mask, &low(9), &low(3)).var), Some(9));
        assert_eq!(of(BinaryOp::Add, &low(7), &lanes()), Some(22));
        assert_eq!(of(BinaryOp::Mul, &low(7), &number(5)), Some(35));
        assert_eq!(of(BinaryOp::Min, &any, &number(5)), Some(5));
        assert_eq!(of(BinaryOp::Div, &low(31), &number(4)), Some(7));
        assert_eq!(of(BinaryOp::Shr, &low(31), &number(2)), Some(7));
        assert_eq!(of(BinaryOp::Rem, &any, &number(11)), Some(10));
        assert_eq!(of(BinaryOp::Rem, &any, &number(0)), None);
        assert_eq!(of(BinaryOp::Sub, &low(31), &low(3)), None);
        assert_eq!(most(&signed.var), None);
        assert_eq!(of(BinaryOp::Min, &signed, &literal(Type::I32, 5)), None, "it may be negative");
        assert_eq!(most(&cast(Type::U32, &data(Type::U8, |lane| lane as u64)).var), Some(255));
    }

    #[test]
    fn an_index_is_inside_of_arrays_that_are_longer_than_the_most() {
        let index = binary(BinaryOp::And, &data(Type::U32, |lane| lane as u64), &literal(Type::U32, 9)).var;
        assert!(is_always_inside(&index, Size::from(10)) && !is_always_inside(&index, Size::from(9)));
        let lanes = record::lane_index(LANES);
        assert!(is_always_inside(&lanes, Size::from(LANES)) && !is_always_inside(&lanes, Size::from(LANES - 1)));
        assert!(!is_lane_index(&record::cast(Type::U8, &lanes)), "more lanes than the type has numbers");
    }
}
