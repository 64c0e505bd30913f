//! Scopes of chosen values: through which operands gradients flow, and which values were made in a scope.
//!
//! `suspend_for` and `resume_for` choose values. An operation on others records their value alone: its operand is
//! replaced by one that carries no gradients. `isolate` lists the values that are made in it, since gradients stop at
//! those from before. `scope` names them for drawings. All see only nodes that carry gradients, so other programs pay
//! nothing.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::gradients::{self, Scope};
use super::node::{Draft, Var, flag};
use super::op::Op;
use super::payload::Payload;
use super::tape;
use super::weak::Weak;
use crate::thread_state::thread_state;

/// The values that gradients flow through.
#[derive(Clone, Default)]
struct Chosen {
    /// Whether the values are those that they do not flow through.
    is_except: bool,
    values: FxHashSet<Weak>,
}

thread_state! {
    static CHOSEN: RefCell<Option<Chosen>> = RefCell::new(None);
    static ISOLATED: RefCell<Vec<FxHashSet<Weak>>> = RefCell::new(Vec::new());
    static NAME: RefCell<Option<Arc<str>>> = RefCell::new(None);
}

/// Returns whether values that are computed from this one now carry gradients.
pub(crate) fn is_enabled(var: &Var) -> bool {
    match () {
        () if var.flags() & flag::GRAD == 0 || gradients::is_suspended() => false,
        () if !gradients::is_chosen() => true,
        () => CHOSEN.with_borrow(|chosen| {
            chosen.as_ref().is_none_or(|chosen| chosen.values.contains(&var.downgrade()) != chosen.is_except)
        }),
    }
}

/// Until it is dropped, gradients flow through other values.
pub(crate) struct ChosenScope {
    before: Option<Chosen>,
    named: Vec<Weak>,
    _scope: Scope,
}

impl ChosenScope {
    /// Begins a scope in which gradients flow through some values, or do not, and through others as before.
    pub(crate) fn begin(values: &[Var], is_suspended: bool) -> ChosenScope {
        let now = match () {
            // All flow, or none.
            () if gradients::is_suspended() => Chosen::default(),
            () if gradients::is_chosen() => CHOSEN.with_borrow(Clone::clone).unwrap_or_default(),
            () => Chosen { is_except: true, ..Chosen::default() },
        };
        let mut now = now;
        let named: Vec<Weak> = values.iter().map(Var::downgrade).collect();
        for value in &named {
            match is_suspended == now.is_except {
                true => now.values.insert(*value),
                false => now.values.remove(value),
            };
        }
        let before = CHOSEN.with_borrow_mut(|chosen| chosen.replace(now));
        ChosenScope { before, named, _scope: Scope::begin_chosen() }
    }
}

impl Drop for ChosenScope {
    fn drop(&mut self) {
        CHOSEN.with_borrow_mut(|chosen| {
            let now = std::mem::replace(chosen, self.before.take());
            // What was computed in a scope of chosen values is one of them in the scope around it.
            if let (Some(Chosen { is_except: false, values }), Some(Chosen { is_except: false, values: made })) =
                (chosen.as_mut(), now)
            {
                values.extend(made.into_iter().filter(|value| !self.named.contains(value)));
            }
        });
    }
}

/// Until it is ended, values that carry gradients are listed.
pub(crate) struct IsolatedScope(#[expect(dead_code, reason = "its drop ends the scope")] Scope);

impl IsolatedScope {
    /// Begins a scope, inside of the one that is open.
    pub(crate) fn begin() -> IsolatedScope {
        ISOLATED.with_borrow_mut(|scopes| scopes.push(FxHashSet::default()));
        IsolatedScope(Scope::begin_listed())
    }
}

impl Drop for IsolatedScope {
    fn drop(&mut self) {
        ISOLATED.with_borrow_mut(|scopes| {
            let made = scopes.pop().unwrap_or_default();
            if let Some(outer) = scopes.last_mut() {
                outer.extend(made);
            }
        });
    }
}

/// Returns whether a value was made before the innermost isolated scope of this thread.
pub(crate) fn is_before_isolation(var: &Var) -> bool {
    ISOLATED.with_borrow(|scopes| scopes.last().is_some_and(|made| !made.contains(&var.downgrade())))
}

/// Until it is dropped, values that carry gradients get a name that stands for all of them.
pub(crate) struct NamedScope {
    before: Option<Arc<str>>,
    _scope: Scope,
}

impl NamedScope {
    /// Begins a scope, inside of the one that is open.
    pub(crate) fn begin(name: &str) -> NamedScope {
        let before = NAME.with_borrow(Clone::clone);
        let path = before.as_ref().map_or_else(|| name.to_owned(), |outer| format!("{outer}/{name}"));
        NAME.with_borrow_mut(|name| *name = Some(path.into()));
        NamedScope { before, _scope: Scope::begin_named() }
    }
}

impl Drop for NamedScope {
    fn drop(&mut self) {
        NAME.with_borrow_mut(|name| *name = self.before.take());
    }
}

/// Registers a value that carries gradients.
pub(super) fn note(var: &Var) {
    CHOSEN.with_borrow_mut(|chosen| {
        if let Some(Chosen { is_except: false, values }) = chosen.as_mut().filter(|_| gradients::is_chosen()) {
            insert(values, var);
        }
    });
    ISOLATED.with_borrow_mut(|scopes| scopes.last_mut().into_iter().for_each(|made| insert(made, var)));
    NAME.with_borrow(|name| name.iter().for_each(|name| var.set_scope(Arc::clone(name))));
}

/// Adds a value. Dead ones are removed before the set grows.
fn insert(values: &mut FxHashSet<Weak>, var: &Var) {
    if values.len() == values.capacity() {
        values.retain(|value| value.upgrade().is_some());
        values.reserve(values.len());
    }
    values.insert(var.downgrade());
}

/// Completes a new node that carries gradients. The node is taken and given back, and its draft is not read, since what
/// lies in memory would cost all programs.
#[cold]
#[inline(never)]
pub(super) fn completed(mut var: Var) -> Var {
    if gradients::is_scoped() {
        complete(&mut var);
    }
    var
}

/// Operands that are not chosen become values without gradients.
fn complete(var: &mut Var) {
    if gradients::is_chosen() {
        // Parameters and parts of control flow carry what they were made with.
        let mut carries = var.op() == Op::Param || var.op().slots() == 0;
        for slot in 0..var.op().slots() {
            match var.operand(slot) {
                Some(operand) if !passes(&operand) => var.replace_new_operand(slot, constant(&operand)),
                Some(operand) => carries |= operand.flags() & flag::GRAD != 0,
                None => {}
            }
        }
        if !carries {
            return var.remove_flag(flag::GRAD);
        }
    }
    note(var);
}

/// Returns whether an operand may stay what it is.
fn passes(operand: &Var) -> bool {
    operand.flags() & flag::GRAD == 0 || operand.op().holds_payload() || is_enabled(operand)
}

/// Returns the value of a node, without gradients.
fn constant(var: &Var) -> Var {
    if let Some(value) = tape::value_in_memory(var) {
        return value;
    }
    let _suspended = Scope::begin(true);
    let operands = [Some(var), None, None];
    let (op, ty, width, region, site) = (Op::Identity, var.ty(), var.extent(), var.region(), var.site());
    Var::new(Draft { op, ty, width, region, flags: 0, operands, position: 0, word: 0, site })
}

/// Returns a value that may be an input of an operation with a derivative of its own.
pub(super) fn input(var: Var) -> Var {
    if gradients::is_chosen() && !passes(&var) { constant(&var) } else { var }
}

/// Replaces the values of a region or scatter that are not chosen.
pub(super) fn restrict(payload: &mut Payload) {
    if !gradients::is_chosen() {
        return;
    }
    payload.for_each_value_mut(|var| {
        if !passes(var) {
            *var = constant(var);
        }
    });
}
