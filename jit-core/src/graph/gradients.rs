//! Which nodes carry gradients: those that depend on a variable by operations that can be differentiated.
//!
//! A node inherits this from its operands when it is made. Programs without variables pay one test of flags for each
//! node. Values that are not floats carry none, nor do results of operations whose derivative is zero everywhere, nor
//! what is recorded while gradients are suspended on the thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use jit_runtime::ir::{Type, UnaryOp};

use super::node::flag;
use super::op::Op;

thread_local! {
    static SUSPENDED: Cell<bool> = const { Cell::new(false) };
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
    SUSPENDED.try_with(Cell::get).unwrap_or(false)
}

/// Until it is dropped, values that this thread records carry gradients, or do not.
pub(crate) struct Scope(bool);

impl Scope {
    /// Begins a scope.
    pub(crate) fn begin(is_suspended: bool) -> Scope {
        Scope(SUSPENDED.try_with(|cell| cell.replace(is_suspended)).unwrap_or(false))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SUSPENDED.try_with(|cell| cell.set(self.0));
    }
}

/// Returns the flags of a new node, one of whose operands or parts carries gradients.
#[cold]
#[inline(never)]
pub(super) fn flags_of(op: Op, ty: Type, flags: u16) -> u16 {
    let flags = flags & !(flag::GRAD | flag::DETACHED);
    match () {
        () if is_suspended() => flags | flag::DETACHED,
        () if is_differentiable(op, ty) => flags | flag::GRAD,
        () => flags,
    }
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
    flags & if is_suspended() { flag::GRAD } else { flag::DETACHED } == 0
}
