//! States stored in per-lane local memory, several of each.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, Type};

use super::super::memory;
use super::record_loop;
use crate::graph::Var;
use crate::size::Size;
use crate::trace::{local, record};

/// Up to this number, the elements of a memory are copied one by one; beyond it in a loop.
const UNROLLED: u32 = 8;

/// The form of stored states of one kind.
#[derive(Clone, Copy)]
pub(super) struct Shelf {
    ty: Type,
    width: Size,
    /// The number of elements of a state that is per-lane local memory.
    len: Option<u32>,
    /// The number of states that there is room for.
    slots: u32,
}

impl Shelf {
    pub(super) fn new(like: &Var, len: Option<u32>, slots: u32) -> Shelf {
        Shelf { ty: like.ty(), width: like.width(), len, slots }
    }

    fn room(&self) -> u32 {
        self.slots * self.len.unwrap_or(1)
    }

    /// Returns the empty memory.
    #[track_caller]
    pub(super) fn empty(&self) -> Var {
        memory::zeros(self.ty, self.room(), self.width)
    }

    /// Stores a state in a slot, on the lanes of a mask.
    #[track_caller]
    pub(super) fn put(&self, shelf: &mut Var, slot: &Var, state: &Var, mask: Option<&Var>) -> Result<(), Error> {
        let Some(len) = self.len else {
            local::write(shelf, self.room(), slot, state, mask);
            return Ok(());
        };
        let first = times(slot, len);
        *shelf = for_each_element(len, shelf.clone(), |shelf, element| {
            let value = local::read(state, len, element, None);
            local::write(shelf, self.room(), &plus(&first, element), &value, mask);
        })?;
        Ok(())
    }

    /// Returns the state in a slot.
    #[track_caller]
    pub(super) fn get(&self, shelf: &Var, slot: &Var) -> Result<Var, Error> {
        let Some(len) = self.len else { return Ok(local::read(shelf, self.room(), slot, None)) };
        let first = times(slot, len);
        for_each_element(len, memory::zeros(self.ty, len, self.width), |state, element| {
            let value = local::read(shelf, self.room(), &plus(&first, element), None);
            local::write(state, len, element, &value, None);
        })
    }
}

/// Changes a memory for each index of an element.
#[track_caller]
pub(in crate::autodiff) fn for_each_element(
    len: u32,
    mut memory: Var,
    mut change: impl FnMut(&mut Var, &Var),
) -> Result<Var, Error> {
    if len <= UNROLLED {
        (0..len).for_each(|element| change(&mut memory, &number(element)));
        return Ok(memory);
    }
    let site = memory.site();
    let body = |states: Vec<Var>| {
        let [mut memory, element] = <[Var; 2]>::try_from(states).expect("the loop has two states");
        change(&mut memory, &element);
        Ok(vec![memory, plus(&element, &number(1))])
    };
    let mut after = record_loop(&[memory, number(0)], site, |states| Ok(is_below(&states[1], &number(len))), body)?;
    Ok(after.swap_remove(0))
}

/// Returns a constant of type `u32`.
#[track_caller]
pub(super) fn number(value: u32) -> Var {
    record::literal(Type::U32, value.into(), 1)
}

#[track_caller]
pub(super) fn plus(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Add, a, b)
}

#[track_caller]
pub(super) fn minus(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Sub, a, b)
}

#[track_caller]
pub(super) fn times(a: &Var, b: u32) -> Var {
    record::binary(BinaryOp::Mul, a, &number(b))
}

#[track_caller]
pub(super) fn is_below(a: &Var, b: &Var) -> Var {
    record::compare(jit_runtime::ir::CompareOp::Lt, a, b)
}
