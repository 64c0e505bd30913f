//! Instructions that the threads of a warp execute together: shuffles, votes, matches and barriers of warps.
//!
//! A thread that reaches one waits until all members of its mask are at the same instruction. Their results are then
//! computed from the operands of all.

use super::instruction::{Shuffle, WarpOperation};

/// The threads of a warp.
pub(super) const WARP: usize = 32;

/// A thread that waits for other threads of its warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The position of the instruction.
    pub(super) position: usize,
    pub(super) operation: WarpOperation,
    /// The lanes that take part.
    pub(super) members: u32,
    pub(super) operands: [u64; 3],
    /// The register of the result; none for barriers.
    pub(super) result: Option<usize>,
}

/// The lanes whose instruction is complete: all of them are there. The list has the lanes that wait.
pub(super) fn complete(waiting: &[Option<Waiting>]) -> Result<Option<u32>, String> {
    for (lane, first) in waiting.iter().enumerate() {
        let Some(first) = first else { continue };
        if first.members >> lane & 1 == 0 {
            return Err(format!("lane {lane} is not in its own mask {:#x}", first.members));
        }
        if u64::from(first.members) >> waiting.len() != 0 {
            return Err(format!("the mask {:#x} has lanes that do not exist", first.members));
        }
        let is_there = |lane: &usize| {
            let other = &waiting[*lane];
            other.is_some_and(|other| other.position == first.position && other.members == first.members)
        };
        if (0..waiting.len()).filter(|lane| first.members >> lane & 1 == 1).all(|lane| is_there(&lane)) {
            return Ok(Some(first.members));
        }
    }
    Ok(None)
}

/// The result of a lane, from the operands of all members.
pub(super) fn result(waiting: &[Option<Waiting>], lane: usize) -> Result<u64, String> {
    let own = waiting[lane].ok_or("a lane that does not wait")?;
    let members = (0..waiting.len()).filter(|lane| own.members >> lane & 1 == 1);
    let operand = |lane: usize| waiting[lane].map_or(0, |waiting| waiting.operands[0]);
    let set = |is_in: &dyn Fn(u64) -> bool| {
        members.clone().filter(|lane| is_in(operand(*lane))).fold(0, |set, lane| set | 1 << lane)
    };
    match own.operation {
        WarpOperation::Barrier => Ok(0),
        WarpOperation::Ballot => Ok(set(&|operand| operand != 0)),
        WarpOperation::MatchAny => Ok(set(&|operand| operand as u32 == own.operands[0] as u32)),
        WarpOperation::Shuffle(kind) => {
            let source = source(kind, lane, own.operands[1] as usize, own.operands[2])?;
            if own.members >> source & 1 == 0 {
                return Err(format!("a shuffle from lane {source}, which does not take part"));
            }
            Ok(operand(source))
        }
    }
}

/// The lane that a shuffle reads. Only shuffles within the whole warp are known.
fn source(kind: Shuffle, lane: usize, distance: usize, clamp: u64) -> Result<usize, String> {
    let (source, expected) = match kind {
        Shuffle::Up => (lane.checked_sub(distance & 31).unwrap_or(lane), 0),
        Shuffle::Index => (distance & 31, 31),
    };
    if clamp == expected { Ok(source) } else { Err(format!("a shuffle with the bounds {clamp}")) }
}
