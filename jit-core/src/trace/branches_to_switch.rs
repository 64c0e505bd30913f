//! Converts chains of branches on one integer, as a `match` makes them, to one switch.
//!
//! `if n == 0 { A } else if n == 1 { B } else …` tests one number after another. The results of the arms are pure, so
//! only the results determine the arm of a lane. For example, a result whose value is a branch or a selection on `n ==
//! 1` where `n` is not 0 is one of three values. If enough arms are found, and their numbers are close to one another,
//! the kernel jumps to the arm instead.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, Type, scalar};
use smallvec::SmallVec;

use super::{record, tables};
use crate::graph::node::Var;
use crate::graph::op::Op;
use crate::graph::payload::{Payload, RegionId, SwitchPayload, control_node, result};
use crate::size::extent::Extent;

/// The least number of arms, without the default, that is worth a jump.
const LEAST_ARMS: usize = 4;
/// Longer chains are not converted.
const MOST_ARMS: usize = 512;
/// The number of nodes visited to find out whether a value uses another.
const LOOKED_AT: usize = 32;

/// An arm: its condition, and the numbers for which it holds.
struct Arm {
    condition: Var,
    numbers: SmallVec<[i128; 2]>,
}

/// The values of one result in the arms, as far as it depends on the number, and otherwise.
struct Chain {
    values: Vec<(Var, Var)>,
    rest: Var,
}

/// Returns the results of a branch, by a switch; `None` if it is not the first of a chain of enough arms.
pub(super) fn switch(condition: &Var, pairs: &[[Var; 2]], width: Extent, site: Site) -> Option<Vec<Var>> {
    let (number, _) = equality(condition)?;
    let mut controls = Vec::new();
    let chains: Vec<Chain> = pairs.iter().map(|pair| chain(condition, pair, &number, &mut controls)).collect();
    let mut arms = arms(&chains)?;
    arms.sort_by_key(|arm| arm.numbers.iter().copied().min());
    if chains.iter().any(|chain| chain.values.len() < arms.len() && uses(&chain.rest, &controls)) {
        return None;
    }
    let index = case(&number, &arms)?;
    let results = chains.iter().map(|chain| {
        let value = |arm: &Arm| {
            let own = chain.values.iter().find(|(condition, _)| condition.is_same(&arm.condition));
            own.map_or_else(|| chain.rest.clone(), |(_, value)| value.clone())
        };
        arms.iter().map(value).chain([chain.rest.clone()]).collect()
    });
    let results: Vec<Vec<Var>> = results.collect();
    let types: Vec<Type> = results.iter().map(|values| values[0].ty()).collect();
    let masks = arms.iter().map(|arm| arm.condition.clone()).collect();
    let payload = Payload::Switch(SwitchPayload { index, masks, is_exclusive: true, results, checked: None });
    let mut region = RegionId::NONE;
    payload.inputs().for_each(|(_, var)| region = region.max(var.region()));
    let node = control_node(Op::Switch, width, payload, region, site);
    let results = types.into_iter().enumerate();
    Some(results.map(|(position, ty)| result(Op::SwitchResult, &node, ty, width, position, region, site)).collect())
}

/// Returns the integer that a mask compares, and the numbers for which the mask is true.
fn equality(mask: &Var) -> Option<(Var, SmallVec<[i128; 2]>)> {
    match mask.op() {
        Op::Compare(CompareOp::Eq) => {
            let (number, literal) = (mask.operand(0)?, mask.operand(1)?);
            let (ty, bits) = (number.ty(), literal.literal()?);
            let value = match ty {
                _ if !ty.is_integer() => return None,
                _ if ty.is_signed_integer() => i128::from(scalar::cast(ty, Type::I64, bits) as i64),
                _ => i128::from(bits),
            };
            Some((number, SmallVec::from_slice(&[value])))
        }
        Op::Binary(BinaryOp::Or) => {
            let (number, mut numbers) = equality(&mask.operand(0)?)?;
            let (other, more) = equality(&mask.operand(1)?)?;
            numbers.extend(more);
            number.is_same(&other).then_some((number, numbers))
        }
        _ => None,
    }
}

/// Returns the values of a result in the arms of a chain that begins with a branch. Collects the branches and switches
/// of the chain.
fn chain(condition: &Var, [then, otherwise]: &[Var; 2], number: &Var, controls: &mut Vec<Var>) -> Chain {
    let is_on_number = |mask: &Var| equality(mask).is_some_and(|(other, _)| other.is_same(number));
    let mut values = vec![(condition.clone(), then.clone())];
    let mut rest = otherwise.clone();
    while values.len() <= MOST_ARMS {
        let next = match rest.op() {
            Op::Select => match (rest.operand(0), rest.operand(1), rest.operand(2)) {
                (Some(mask), Some(a), Some(b)) if is_on_number(&mask) => {
                    values.push((mask, a));
                    b
                }
                _ => break,
            },
            Op::BranchResult | Op::SwitchResult => {
                let Some(control) = rest.operand(0) else { break };
                let position = rest.position();
                let next = match control.payload() {
                    Some(Payload::Branch(payload)) if is_on_number(&payload.condition) => {
                        let [a, b] = payload.results[position].clone();
                        values.push((payload.condition.clone(), a));
                        b
                    }
                    Some(Payload::Switch(payload))
                        if payload.is_exclusive && payload.masks.iter().all(is_on_number) =>
                    {
                        let of_cases = &payload.results[position];
                        values.extend(payload.masks.iter().cloned().zip(of_cases.iter().cloned()));
                        of_cases[payload.masks.len()].clone()
                    }
                    _ => break,
                };
                if !controls.iter().any(|known: &Var| known.is_same(&control)) {
                    controls.push(control);
                }
                next
            }
            _ => break,
        };
        rest = next;
    }
    Chain { values, rest }
}

/// Returns the arms of all chains; `None` if there are too few, or two overlap.
fn arms(chains: &[Chain]) -> Option<Vec<Arm>> {
    let mut arms: Vec<Arm> = Vec::new();
    for (condition, _) in chains.iter().flat_map(|chain| &chain.values) {
        if !arms.iter().any(|arm| arm.condition.is_same(condition)) {
            let (_, numbers) = equality(condition)?;
            arms.push(Arm { condition: condition.clone(), numbers });
        }
    }
    let mut numbers: Vec<i128> = arms.iter().flat_map(|arm| arm.numbers.iter().copied()).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    let fits = (LEAST_ARMS..=MOST_ARMS).contains(&arms.len());
    (fits && numbers.len() == count).then_some(arms)
}

/// Returns whether a value is made from results of some branches and switches, within a few steps.
fn uses(value: &Var, controls: &[Var]) -> bool {
    let mut pending = vec![value.clone()];
    for _ in 0..LOOKED_AT {
        let Some(var) = pending.pop() else { return false };
        if controls.iter().any(|control| control.is_same(&var)) {
            return true;
        }
        pending.extend((0..var.op().slots()).filter_map(|slot| var.operand(slot)));
    }
    false
}

/// Returns the case of each lane: the position of its arm, or an out-of-range number for lanes without an arm. `None`
/// if the numbers are too far apart.
fn case(number: &Var, arms: &[Arm]) -> Option<Var> {
    let least = arms.iter().flat_map(|arm| arm.numbers.iter().copied()).min()?;
    let offset = |(case, arm): (usize, &Arm)| {
        let offsets = arm.numbers.iter().map(move |&number| (case, number - least));
        offsets.collect::<SmallVec<[(usize, i128); 2]>>()
    };
    let offsets: Vec<(usize, i128)> = arms.iter().enumerate().flat_map(offset).collect();
    let span = offsets.iter().map(|&(_, offset)| offset).max()? + 1;
    if span > 2 * offsets.len() as i128 {
        return None;
    }
    let span = span as usize;
    let slot = slot(number, least, span);
    if offsets.iter().all(|&(case, offset)| case as i128 == offset) {
        return Some(slot);
    }
    // Plus one, so that other lanes read zero.
    let literal = |value: usize| record::literal(Type::U32, value as u64, 1);
    let places: Vec<(usize, Var)> =
        offsets.iter().map(|&(case, offset)| (offset as usize, literal(case + 1))).collect();
    let table = tables::table(Type::U32, &places, span)?;
    let is_inside = record::compare(CompareOp::Lt, &slot, &literal(span));
    let case = record::gather_node(&table, &slot, Some(&is_inside), 0, RegionId::NONE);
    Some(record::binary(BinaryOp::Sub, &case, &literal(1)))
}

/// Returns the distance of each lane's number from the smallest one, `u32`; it is at least the span for numbers
/// outside.
fn slot(number: &Var, least: i128, span: usize) -> Var {
    let ty = number.ty();
    let bits = least as u64 & (u64::MAX >> (64 - 8 * ty.size_bytes()));
    let distance = record::binary(BinaryOp::Sub, number, &record::literal(ty, bits, 1));
    let unsigned = match ty.size_bytes() {
        1 => Type::U8,
        2 => Type::U16,
        4 => Type::U32,
        _ => Type::U64,
    };
    let distance = record::cast(unsigned, &distance);
    let slot = record::cast(Type::U32, &distance);
    if unsigned != Type::U64 {
        return slot;
    }
    let is_inside = record::compare(CompareOp::Lt, &distance, &record::literal(Type::U64, span as u64, 1));
    record::select(&is_inside, &slot, &record::literal(Type::U32, u64::from(u32::MAX), 1))
}
