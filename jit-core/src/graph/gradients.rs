//! Which nodes carry gradients: those that depend on a variable by operations that can be differentiated.
//!
//! A node inherits this from its operands when it is made. Programs without variables pay one test of flags for each
//! node. Values that are not floats carry none, nor do results of operations whose derivative is zero everywhere, nor
//! what is recorded while gradients are suspended on the thread. What is known of chosen values is in `scopes`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use jit_runtime::Site;
use jit_runtime::ir::{Type, UnaryOp};

use super::node::{Var, flag};
use super::op::Op;

/// Values that are recorded carry no gradients.
const SUSPENDED: u8 = 1;
/// Gradients flow to some operands only.
const CHOSEN: u8 = 2;
/// The nodes that carry gradients are listed.
const LISTED: u8 = 4;
/// The nodes that carry gradients get the name of a scope.
const NAMED: u8 = 8;
/// It is noted if gradients end at an operand because they are suspended.
const WATCHED: u8 = 16;
/// Gradients have ended so.
const ENDED: u8 = 32;
/// What stays in scopes inside.
const NOTED: u8 = LISTED | NAMED;

thread_local! {
    static FLOW: Cell<u8> = const { Cell::new(0) };
    static READ: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Registers that the host reads a value, if gradients flow through it.
pub(crate) fn note_read(var: &Var, site: Site) {
    if var.flags() & flag::GRAD != 0 {
        replace_read(Some(site));
    }
}

/// Replaces the line where this thread has last read a value through which gradients flow; returns the one before.
pub(crate) fn replace_read(site: Option<Site>) -> Option<Site> {
    READ.try_with(|cell| cell.replace(site)).unwrap_or(None)
}

fn state() -> u8 {
    FLOW.try_with(Cell::get).unwrap_or(0)
}

/// Whether the program has made a variable.
static HAS_VARIABLES: AtomicBool = AtomicBool::new(false);

/// Registers that the program has variables.
pub(super) fn note_variable() {
    HAS_VARIABLES.store(true, Ordering::Relaxed);
}

/// Returns the flags of the parameter of a loop's state: until the loop is complete, any number may depend on a
/// variable.
pub(crate) fn flags_of_param(ty: Type) -> u16 {
    let may_carry = HAS_VARIABLES.load(Ordering::Relaxed) && ty.is_float() && !is_suspended();
    if may_carry { flag::GRAD } else { 0 }
}

/// Returns whether values that this thread records now carry no gradients.
pub(crate) fn is_suspended() -> bool {
    state() & SUSPENDED != 0
}

/// Returns whether gradients flow to some operands only.
pub(super) fn is_chosen() -> bool {
    state() & CHOSEN != 0
}

/// Returns whether new nodes that carry gradients belong to a scope.
pub(crate) fn is_scoped() -> bool {
    state() & (CHOSEN | NOTED) != 0
}

/// Until it is dropped, values that this thread records carry gradients, or do not.
pub(crate) struct Scope(u8);

impl Scope {
    /// Begins a scope.
    pub(crate) fn begin(is_suspended: bool) -> Scope {
        let own = if is_suspended { SUSPENDED } else { 0 };
        Scope::change(|state| state & NOTED | own)
    }

    /// Begins a scope without gradients, which notes whether some end in it.
    pub(crate) fn begin_watched() -> Scope {
        Scope::change(|state| state & NOTED | SUSPENDED | WATCHED)
    }

    /// Returns whether gradients have ended at an operand in this scope, outside of scopes in it.
    pub(crate) fn has_ended_some(&self) -> bool {
        state() & ENDED != 0
    }

    /// Begins a scope in which gradients flow to some operands only.
    pub(super) fn begin_chosen() -> Scope {
        Scope::change(|state| state & NOTED | CHOSEN)
    }

    /// Begins a scope whose nodes are listed.
    pub(super) fn begin_listed() -> Scope {
        Scope::change(|state| state | LISTED)
    }

    /// Begins a scope whose nodes get its name.
    pub(super) fn begin_named() -> Scope {
        Scope::change(|state| state | NAMED)
    }

    fn change(change: impl FnOnce(u8) -> u8) -> Scope {
        Scope(FLOW.try_with(|cell| cell.replace(change(cell.get()))).unwrap_or(0))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = FLOW.try_with(|cell| cell.set(self.0));
    }
}

/// Returns the flags of a new node, one of whose operands or parts carries gradients.
#[cold]
#[inline(never)]
pub(super) fn flags_of(op: Op, ty: Type, flags: u16) -> u16 {
    let flags = flags & !(flag::GRAD | flag::DETACHED);
    match () {
        () if is_suspended() => ended(flags),
        () if is_differentiable(op, ty) => flags | flag::GRAD,
        () => flags,
    }
}

/// Returns the flags of a node at an operand of which gradients end; registers that in a scope that asks for it.
fn ended(flags: u16) -> u16 {
    if state() & WATCHED != 0 {
        let _ = FLOW.try_with(|cell| cell.set(cell.get() | ENDED));
    }
    flags | flag::DETACHED
}

fn is_differentiable(op: Op, ty: Type) -> bool {
    match op {
        // Their results decide.
        Op::Loop | Op::Branch | Op::Switch | Op::Scatter | Op::LibraryCall => true,
        Op::Unary(UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc) => false,
        _ => ty.is_float(),
    }
}

/// Returns whether a node with these flags is the one that an equal expression would be now.
#[cold]
#[inline(never)]
pub(super) fn may_share(flags: u16) -> bool {
    match state() {
        state if state & CHOSEN != 0 => false,
        state if state & SUSPENDED != 0 => flags & flag::GRAD == 0,
        _ => flags & flag::DETACHED == 0,
    }
}
