//! Recording per-lane local memory: a private scratch array per lane, accessed at computed positions.
//!
//! Such a memory is a value like any other: a write makes a new version of it, and a read refers to a version. So reads
//! after writes need no rule, loops carry versions as state, and clones are independent. The scheduler decides which
//! versions can share storage, so that a write changes it instead of copying it.
//!
//! A masked write has an index that is out of range on inactive lanes, where nothing is written. At a constant index it
//! writes the existing value instead, so that the memory can be kept in registers.

use jit_runtime::Site;
use jit_runtime::config;
use jit_runtime::ir::Type;

use super::index_range::is_never_inside;
use super::scatter::original;
use super::{record, region};
use crate::graph::node::{Draft, Var, flag};
use crate::graph::numbering;
use crate::graph::op::Op;
use crate::graph::payload::{Payload, RegionId};
use crate::misuse::Misuse;
use crate::size::Size;

/// Creates a memory of some elements, all with the same value.
#[track_caller]
pub(crate) fn fresh(len: u32, value: &Var) -> Var {
    let region = region::of_operands([Some(value), None, None]).max(region::innermost_body());
    let memory = Var::new(Draft {
        op: Op::Local,
        ty: value.ty(),
        width: value.extent(),
        region,
        flags: flag::LOCAL | flag::PINNED,
        operands: [Some(value), None, None],
        position: len as usize,
        word: 0,
        site: Site::here(),
    });
    numbering::note_made(&memory);
    memory
}

/// Returns whether a value is a per-lane local memory.
#[inline]
pub(crate) fn is_local(var: &Var) -> bool {
    var.flags() & flag::LOCAL != 0
}

/// Returns the number of elements of a memory; `None` for other values.
pub(crate) fn len_of(var: &Var) -> Option<u32> {
    if !is_local(var) {
        return None;
    }
    let mut version = original(var);
    loop {
        version = match version.op() {
            Op::Local => return Some(version.position() as u32),
            Op::Param => return version.local_len(),
            Op::Select => version.operand(1)?,
            _ => before(&version)?.0,
        };
    }
}

/// Returns the memory before the last write, or before a loop that writes, with the writing node.
pub(crate) fn before(version: &Var) -> Option<(Var, Var)> {
    let version = &original(version);
    match version.op() {
        Op::LocalWrite => Some((version.operand(PREVIOUS)?, version.clone())),
        Op::LoopResult => {
            let control = version.operand(0)?;
            let Payload::Loop(payload) = control.payload()? else { return None };
            let init = payload.states[version.position()].init.clone();
            Some((init, control))
        }
        _ => None,
    }
}

/// The slots of a write. The value and its dependencies come first, so that they are computed while the previous
/// version is still in storage.
pub(crate) const VALUE: usize = 0;
pub(crate) const INDEX: usize = 1;
pub(crate) const PREVIOUS: usize = 2;
/// The slot of the version that is read; the index is in the first slot.
pub(crate) const VERSION: usize = 1;

/// Returns the element at an index where a mask holds, zero elsewhere and where the index is out of range.
#[track_caller]
pub(crate) fn read(version: &Var, len: u32, index: &Var, mask: Option<&Var>) -> Var {
    let Some(index) = &reachable(len, index) else {
        let width = record::common_width([Some(index), Some(version), mask]);
        return record::literal(version.ty(), 0, width);
    };
    let is_known = index.literal().is_some();
    // Checks of the index must know which lanes reach the code.
    let is_checked = config::is_debug_on() && !is_known;
    let mask = if is_checked { within(region::current_mask(), mask) } else { mask.cloned() };
    let index = wide(index);
    let index = match &mask {
        Some(mask) if !is_known => out_of_range_unless(mask, &index),
        _ => index,
    };
    let operands = [Some(&index), Some(version), None];
    let width = record::common_width(operands);
    let pinned = if is_checked { region::innermost_body() } else { RegionId::NONE };
    let element = Draft {
        op: Op::LocalRead,
        ty: version.ty(),
        width,
        region: region::of_operands(operands).max(pinned),
        flags: if pinned == RegionId::NONE { 0 } else { flag::PINNED },
        operands,
        position: 0,
        word: 0,
        site: Site::here(),
    }
    .number();
    match &mask {
        Some(mask) if is_known => record::select(mask, &element, &record::literal(version.ty(), 0, 1)),
        _ => element,
    }
}

/// Writes a value to the element at an index, where a mask and the branches around it hold. Nothing is written where
/// the index is out of range.
#[track_caller]
pub(crate) fn write(version: &mut Var, len: u32, index: &Var, value: &Var, mask: Option<&Var>) {
    let site = Site::here();
    if region::is_in_condition() {
        Misuse::new("the condition of a traced loop cannot write to a `Local`", site)
            .value("the memory", version)
            .hint("a condition is computed once more than the body; write in the body, or before the loop")
            .panic();
    }
    let mask = within(region::current_mask(), mask);
    let reached = reachable(len, index).filter(|_| mask.as_ref().is_none_or(|mask| mask.literal() != Some(0)));
    let (mut index, mut value) = (wide(reached.as_ref().unwrap_or(index)), value.clone());
    match &mask {
        _ if reached.is_none() => {
            // Nothing is written, but the memory is as wide afterwards as if any lane wrote.
            let width = record::common_width([Some(&value), Some(&index), Some(&*version)]);
            if width == version.extent() || len == 0 {
                return;
            }
            index = record::literal(Type::U32, 0, 1);
            value = record::broadcast(&read(version, len, &index, None), width);
        }
        Some(mask) if index.literal().is_some() => {
            value = record::select(mask, &value, &read(version, len, &index, None));
        }
        Some(mask) => index = out_of_range_unless(mask, &index),
        None => {}
    }
    let operands = [Some(&value), Some(&index), Some(&*version)];
    let width = record::common_width(operands);
    let region = region::of_operands(operands).max(region::innermost_body());
    let flags = flag::LOCAL | flag::PINNED;
    let draft =
        Draft { op: Op::LocalWrite, ty: version.ty(), width, region, flags, operands, position: 0, word: 0, site };
    let after = draft.number();
    region::note_write(&after);
    *version = after;
}

/// Selects the first memory where a mask holds, otherwise the second.
#[track_caller]
pub(crate) fn select(site: Site, mask: &Var, a: &Var, b: &Var) -> Var {
    match mask.literal() {
        _ if a.is_same(b) => a.clone(),
        Some(0) => b.clone(),
        Some(_) => a.clone(),
        None => {
            let operands = [Some(mask), Some(a), Some(b)];
            let width = record::common_width(operands);
            let region = region::of_operands(operands);
            let flags = flag::LOCAL;
            Draft { op: Op::Select, ty: a.ty(), width, region, flags, operands, position: 0, word: 0, site }.number()
        }
    }
}

/// Returns the elements, one by one.
#[track_caller]
pub(crate) fn elements(version: &Var, len: u32) -> Vec<Var> {
    (0..len).map(|index| read(version, len, &record::literal(Type::U32, index.into(), 1), None)).collect()
}

/// Creates a memory of elements.
#[track_caller]
pub(crate) fn of_elements(ty: Type, elements: &[Var]) -> Var {
    let len = elements.len() as u32;
    let mut version = fresh(len, &record::literal(ty, 0, 1));
    for (index, element) in elements.iter().enumerate() {
        write(&mut version, len, &record::literal(Type::U32, index as u64, 1), element, None);
    }
    version
}

/// Returns the mask and the index of an index that is out of range where the mask does not hold.
pub(crate) fn masked_index(index: &Var) -> Option<(Var, Var)> {
    let is_masked = index.op() == Op::Select && index.operand(2)?.literal() == Some(nowhere(index.ty()));
    if is_masked { Some((index.operand(0)?, index.operand(1)?)) } else { None }
}

/// Returns an index that is out of range of every memory.
pub(crate) fn nowhere(ty: Type) -> u64 {
    ty.bit_mask()
}

#[track_caller]
fn out_of_range_unless(mask: &Var, index: &Var) -> Var {
    record::select(mask, index, &record::literal(index.ty(), nowhere(index.ty()), 1))
}

/// Converts the index to a type that can represent out-of-range positions.
#[track_caller]
fn wide(index: &Var) -> Var {
    match index.ty() {
        Type::U8 | Type::U16 => record::cast(Type::U32, index),
        Type::I8 | Type::I16 => record::cast(Type::I32, index),
        _ => index.clone(),
    }
}

#[track_caller]
fn within(around: Option<Var>, mask: Option<&Var>) -> Option<Var> {
    let mask = match (around, mask) {
        (Some(around), Some(mask)) => Some(record::and(&around, mask)),
        (around, mask) => around.or_else(|| mask.cloned()),
    };
    mask.filter(|mask| mask.literal() != Some(1))
}

/// Returns an index that can be in range; `None` for a literal that is out of range. With `JIT_DEBUG` such a literal
/// becomes a value that the kernel checks, and reports.
#[track_caller]
fn reachable(len: u32, index: &Var) -> Option<Var> {
    match is_never_inside(index, Size::from(len as usize)) {
        false => Some(index.clone()),
        true if config::is_debug_on() => {
            Some(record::opaque(index.ty(), index.literal().unwrap_or_default(), index.width()))
        }
        true => None,
    }
}
