//! What nodes keep for differentiation, outside of their cache lines.
//!
//! The graph itself is the tape: the operands of a node say how gradients flow through it. Four kinds of nodes have a
//! record beside that: variables, with their gradients; results of operations with a derivative of their own; nodes
//! that have got their elements, whose operands move to another node here; and nodes whose gradient was set or read.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::{self, Arc, OnceLock};

use jit_runtime::fork::Held;
use jit_runtime::{Error, Site};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::node::{Draft, Node, Var, flag};
use super::op::Op;
use super::payload::RegionId;
use super::weak::Weak;
use super::{gradients, scopes};
use crate::fork;
use crate::thread_state::{Clear, thread_state};

/// How gradients flow through a node, if its operands do not say it.
#[derive(Clone)]
pub(crate) enum Tape {
    /// The node is a variable, at which gradients are stored.
    Variable,
    /// The node is the value of its operand, inside of a function that is differentiated. Functions inside of it have
    /// larger numbers.
    Argument(u64),
    /// The node is a result of an operation with a derivative of its own.
    Result {
        /// The operation.
        call: Arc<Call>,
        /// The position among its results.
        position: usize,
    },
    /// The node has its elements; this one has its operands.
    Evaluated(Var),
}

/// An operation with a derivative of its own.
pub(crate) struct Call {
    this: sync::Weak<Call>,
    /// The values that gradients flow to.
    pub(crate) inputs: Vec<Var>,
    /// Other values that the derivative reads.
    pub(crate) saved: Vec<Var>,
    /// The results, if they still live.
    pub(crate) outputs: Mutex<SmallVec<[Weak; 2]>>,
    pub(crate) rule: Arc<dyn Rule>,
    pub(crate) site: Site,
}

impl Call {
    pub(crate) fn new(
        inputs: Vec<Var>,
        saved: Vec<Var>,
        outputs: SmallVec<[Weak; 2]>,
        rule: Arc<dyn Rule>,
        site: Site,
    ) -> Arc<Call> {
        let outputs = Mutex::new(outputs);
        Arc::new_cyclic(|this| Call { this: this.clone(), inputs, saved, outputs, rule, site })
    }

    /// Returns the results that still live.
    pub(crate) fn results(&self) -> SmallVec<[Option<Var>; 2]> {
        self.outputs.lock().iter().map(Weak::upgrade).collect()
    }

    /// Returns a result of which the value is known. One that the program has dropped is made again.
    pub(crate) fn result_of(&self, position: usize, value: &Var) -> Var {
        let living = self.outputs.lock().get(position).and_then(Weak::upgrade);
        match (living, self.this.upgrade()) {
            (Some(result), _) => result,
            (None, Some(call)) => {
                let result = taped(value, Tape::Result { call, position }, self.site);
                self.outputs.lock()[position] = result.downgrade();
                result
            }
            (None, None) => value.clone(),
        }
    }
}

/// Gradients or tangents, one for each input or result; none where they are zero.
pub(crate) type Flow = SmallVec<[Option<Var>; 2]>;

/// The derivative of an operation.
pub(crate) trait Rule: Any + Send + Sync {
    /// Returns the name of the operation, for messages.
    fn name(&self) -> &str;

    /// Returns the gradients of the inputs from those of the results. Lanes that share an input may have gradients of
    /// their own for it, which the traversal adds.
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error>;

    /// Returns the tangents of the results from those of the inputs.
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error>;
}

/// The record of a node.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) tape: Option<Tape>,
    /// The gradient that was stored at the node.
    pub(crate) gradient: Option<Var>,
    /// Tangents that flow forward from the node on request, each with its time.
    pub(crate) tangents: Vec<(u64, Var)>,
    /// The time until which tangents have flowed into the gradient.
    pub(crate) pulled: u64,
    /// The number of calls of functions that had been differentiated when one of them had captured the node.
    pub(crate) captured_at: Option<u64>,
}

impl Record {
    fn take_apart(self, mut give: impl FnMut(Var)) {
        let Record { tape, gradient, tangents, .. } = self;
        gradient.into_iter().chain(tangents.into_iter().map(|(_, tangent)| tangent)).for_each(&mut give);
        match tape {
            Some(Tape::Evaluated(operands)) => give(operands),
            Some(Tape::Result { call, .. }) => {
                if let Some(call) = Arc::into_inner(call) {
                    call.inputs.into_iter().chain(call.saved).for_each(give);
                }
            }
            Some(Tape::Variable | Tape::Argument(_)) | None => {}
        }
    }

    /// Calls a function with each node that the record holds, except for those of its operation.
    pub(crate) fn for_each_held(&self, mut visit: impl FnMut(&Var)) {
        self.gradient.iter().chain(self.tangents.iter().map(|(_, tangent)| tangent)).for_each(&mut visit);
        if let Some(Tape::Evaluated(operands)) = &self.tape {
            visit(operands);
        }
    }

    /// Returns the operation of which the node is a result, if that has a derivative of its own.
    pub(crate) fn call(&self) -> Option<&Arc<Call>> {
        match &self.tape {
            Some(Tape::Result { call, .. }) => Some(call),
            _ => None,
        }
    }
}

type Records = hashbrown::HashMap<usize, Record, FxBuildHasher>;

static RECORDS: Mutex<Records> = Mutex::new(Records::with_hasher(FxBuildHasher));

/// Calls a function with the record of a node, which has one then.
///
/// The function drops no nodes: dropping one locks the records.
pub(crate) fn with_record<R>(var: &Var, change: impl FnOnce(&mut Record) -> R) -> R {
    let mut records = RECORDS.lock();
    // Exposed, since a search for garbage goes from addresses back to nodes.
    let result = change(records.entry(var.address().as_ptr().expose_provenance()).or_default());
    var.add_flag(flag::TAPED);
    result
}

/// Calls a function with the record of a node, if it has one. The function drops no nodes.
pub(crate) fn read<R>(var: &Var, read: impl FnOnce(&mut Record) -> R) -> Option<R> {
    if var.flags() & flag::TAPED == 0 {
        return None;
    }
    RECORDS.lock().get_mut(&var.address().addr().get()).map(read)
}

/// Returns whether a node has a record that distinguishes it from the expression behind it: not only a mark.
pub(crate) fn is_distinguished(var: &Var) -> bool {
    let is_more_than_mark = |record: &mut Record| {
        record.tape.is_some()
            || record.gradient.is_some()
            || !record.tangents.is_empty()
            || record.captured_at.is_none()
    };
    read(var, is_more_than_mark).unwrap_or(false)
}

/// Returns how gradients flow through a node, if its operands do not say it.
pub(crate) fn of(var: &Var) -> Option<Tape> {
    read(var, |record| record.tape.clone()).flatten()
}

/// Returns the value that a variable was made from, if it needs no kernel.
pub(crate) fn value_in_memory(var: &Var) -> Option<Var> {
    match of(var) {
        Some(Tape::Variable) => var.operand(0).filter(Var::is_evaluated),
        _ => None,
    }
}

/// Returns the value that a node with elements is a copy of, if it has none and may get those of the node: a variable,
/// or a value through which no gradients flow.
#[inline]
pub(crate) fn value_without_elements(var: &Var) -> Option<Var> {
    const EXCLUDED: u16 = flag::EFFECT | flag::LOCAL | flag::RECORDED | flag::HOSTED;
    if var.op() != Op::Identity {
        return None;
    }
    let is_possible =
        |value: &Var| !value.is_evaluated() && value.flags() & EXCLUDED == 0 && value.lanes() == var.lanes();
    let value = var.operand(0).filter(is_possible)?;
    let is_constant = value.flags() & flag::GRAD == 0;
    (is_constant || matches!(of(&value), Some(Tape::Variable))).then_some(value)
}

/// Returns whether a node is no more than the value of an expression where no gradients flow: a result of an operation
/// with a derivative of its own. The value of a variable, or of an argument, is what a program holds and uses again.
pub(crate) fn is_result(var: &Var) -> bool {
    let is_result = |record: &mut Record| matches!(record.tape, Some(Tape::Result { .. }));
    var.op() == Op::Identity && read(var, is_result) == Some(true)
}

/// Returns the value that a node without elements is a copy of, if that is in memory, or will be produced there: the
/// node gets its elements, and no kernel copies them.
pub(crate) fn value_to_share(var: &Var) -> Option<Var> {
    const EQUAL: u16 = flag::EFFECT | flag::LOCAL | flag::RECORDED | flag::HOSTED;
    if var.op() != Op::Identity || var.is_evaluated() {
        return None;
    }
    let mut value = var.operand(0)?;
    while value.op() == Op::Identity && !value.has_data() {
        value = value.operand(0)?;
    }
    let is_possible = (value.has_data() || value.op().is_stored())
        && value.lanes() == var.lanes()
        && (value.flags() ^ var.flags()) & EQUAL == 0;
    is_possible.then_some(value)
}

/// Removes the tape of a node through which no gradients flow any more.
pub(crate) fn release(var: &Var) {
    let tape = read(var, |record| record.tape.take());
    drop(tape);
}

/// Removes the record of a node that dies, and passes every node that it holds to a function.
#[cold]
pub(super) fn remove(node: NonNull<Node>, mut give: impl FnMut(Var)) {
    let record = RECORDS.lock().remove(&node.addr().get());
    record.into_iter().for_each(|record| record.take_apart(&mut give));
}

/// Returns whether a node keeps its operands when it gets its elements: it is another one's value.
pub(super) fn keeps_operands(var: &Var) -> bool {
    matches!(of(var), Some(Tape::Variable | Tape::Argument(_)))
}

/// Keeps the operands of a node that has got its elements, unless the operation has a derivative of its own.
pub(super) fn keep_operands(var: &Var, operands: &[Option<Var>; 3]) {
    if of(var).is_some() {
        return;
    }
    let slots = operands.each_ref().map(Option::as_ref);
    let position = if var.op().slots() < 3 { var.position() } else { 0 };
    let (op, ty, width, site) = (var.op(), var.ty(), var.extent(), var.site());
    let draft = Draft { op, ty, width, region: RegionId::NONE, flags: 0, operands: slots, position, word: 0, site };
    let node = Var::new(draft);
    with_record(var, |record| record.tape = Some(Tape::Evaluated(node)));
    if SIMPLIFY.get().is_some() {
        let _ = KEPT.try_with(|kept| {
            kept.nodes.borrow_mut().push(var.downgrade());
            kept.new.set(kept.new.get() + 1);
        });
    }
}

/// The nodes that have kept operands in evaluations of a thread.
struct Kept {
    /// Those since the last simplification, the oldest first.
    nodes: RefCell<Vec<Weak>>,
    /// How many of them, the last ones, are new to the function that simplifies.
    new: Cell<usize>,
    /// The number of them that begins the next simplification.
    limit: Cell<usize>,
    /// Whether the last simplification replaced something.
    helped: Cell<bool>,
}

impl Clear for Kept {
    fn clear(&self) {
        self.nodes.take();
        self.new.set(0);
    }
}

thread_state! {
    static KEPT: Kept = Kept { nodes: RefCell::new(Vec::new()), new: Cell::new(0), limit: Cell::new(SIMPLIFIED_AT_ONCE),
        helped: Cell::new(true) };
}

static SIMPLIFY: OnceLock<fn()> = OnceLock::new();

/// The smallest number of nodes that begins a simplification.
const SIMPLIFIED_AT_ONCE: usize = 4;

/// Sets the function that replaces the operands of evaluated nodes by fewer values. It belongs to a higher folder.
pub(crate) fn set_simplification(simplify: fn()) {
    let _ = SIMPLIFY.set(simplify);
}

/// Simplifies what evaluated nodes keep, if the evaluations of this thread before this one kept something.
#[inline]
pub(crate) fn simplify_what_is_kept() {
    if let Some(simplify) = SIMPLIFY.get()
        && KEPT.try_with(|kept| kept.new.get() > 0).unwrap_or(false)
    {
        simplify();
    }
}

/// Returns the nodes that have kept operands since the last call.
pub(crate) fn take_newly_kept() -> SmallVec<[Weak; 4]> {
    KEPT.with(|kept| {
        let nodes = kept.nodes.borrow();
        SmallVec::from_slice(&nodes[nodes.len() - kept.new.take().min(nodes.len())..])
    })
}

/// Returns whether so many nodes have kept operands that a simplification is due. It is due earlier if nothing else
/// makes what is kept smaller, as long as it does.
pub(crate) fn is_simplification_due(is_full: bool) -> bool {
    KEPT.with(|kept| {
        kept.nodes.borrow_mut().retain(|node| node.upgrade().is_some());
        let count = kept.nodes.borrow().len();
        count >= kept.limit.get() || is_full && kept.helped.get() && kept.limit.get() < usize::MAX
    })
}

/// Forgets the nodes that are freed, from time to time, so that the list of those that have kept operands does not
/// grow.
pub(crate) fn forget_freed() {
    KEPT.with(|kept| {
        kept.new.set(0);
        let mut nodes = kept.nodes.borrow_mut();
        if nodes.len() >= kept.limit.get() {
            nodes.retain(|node| node.upgrade().is_some());
            kept.limit.set((2 * nodes.len()).max(SIMPLIFIED_AT_ONCE));
        }
    });
}

/// Takes the nodes that have kept operands in evaluations of this thread. Until they are given back, no simplification
/// begins.
pub(crate) fn take_kept() -> Vec<Weak> {
    KEPT.with(|kept| {
        kept.limit.set(usize::MAX);
        kept.new.set(0);
        kept.nodes.take()
    })
}

/// Gives back nodes whose operands have not been replaced, and whether others were.
pub(crate) fn give_back_kept(nodes: impl Iterator<Item = Weak>, helped: bool) {
    KEPT.with(|kept| {
        kept.helped.set(helped);
        kept.nodes.borrow_mut().splice(0..0, nodes);
        kept.limit.set((2 * kept.nodes.borrow().len()).max(SIMPLIFIED_AT_ONCE));
    });
}

/// Makes a node the result of an operation with a derivative of its own, in place of what it has kept.
pub(crate) fn replace_kept(var: &Var, inputs: Vec<Var>, saved: Vec<Var>, rule: Arc<dyn Rule>) {
    let call = Call::new(inputs, saved, SmallVec::from_iter([var.downgrade()]), rule, var.site());
    let tape = Some(Tape::Result { call, position: 0 });
    let kept = with_record(var, |record| std::mem::replace(&mut record.tape, tape));
    drop(kept);
}

/// Makes a node that has the value of another one, and a tape.
pub(crate) fn taped(value: &Var, tape: Tape, site: Site) -> Var {
    let operands = [Some(value), None, None];
    let (ty, width, region) = (value.ty(), value.extent(), region_of(value, &tape));
    let draft = Draft { op: Op::Identity, ty, width, region, flags: 0, operands, position: 0, word: 0, site };
    let node = Var::new(draft);
    gradients::note_variable();
    node.remove_flag(flag::DETACHED);
    node.add_flag(flag::GRAD);
    if gradients::is_scoped() {
        scopes::note(&node);
    }
    with_record(&node, |record| record.tape = Some(tape));
    // What exists only in a region has no elements in memory.
    if region == value.region() {
        node.share_data(value);
    }
    node
}

/// Returns the region of a node with a tape: a constant result of an operation that reads the state of a loop exists
/// only in the loop, as its derivative does.
fn region_of(value: &Var, tape: &Tape) -> RegionId {
    let Tape::Result { call, .. } = tape else { return value.region() };
    call.inputs.iter().chain(&call.saved).map(Var::region).fold(value.region(), RegionId::max)
}

/// Gives the results of an operation a derivative of their own, if gradients flow to one of its inputs. `saved` are
/// values that the derivative reads beside the inputs and results.
pub(crate) fn attach(
    results: &[Var],
    inputs: Vec<Var>,
    saved: Vec<Var>,
    rule: impl FnOnce() -> Box<dyn Rule>,
    site: Site,
) -> SmallVec<[Var; 2]> {
    if gradients::is_suspended() {
        return results.iter().cloned().collect();
    }
    let inputs: Vec<Var> = inputs.into_iter().map(scopes::input).collect();
    if !inputs.iter().any(|input| input.flags() & flag::GRAD != 0) {
        return results.iter().cloned().collect();
    }
    let call = Call::new(inputs, saved, SmallVec::new(), Arc::from(rule()), site);
    let outputs: SmallVec<[Var; 2]> = (results.iter().enumerate())
        .map(|(position, value)| taped(value, Tape::Result { call: Arc::clone(&call), position }, site))
        .collect();
    *call.outputs.lock() = outputs.iter().map(Var::downgrade).collect();
    outputs
}

/// Like [`attach`], for one result.
pub(crate) fn attach_one(result: Var, inputs: Vec<Var>, rule: impl FnOnce() -> Box<dyn Rule>, site: Site) -> Var {
    attach(std::slice::from_ref(&result), inputs, Vec::new(), rule, site).swap_remove(0)
}

/// The nodes with gradients or tangents, and what they hold.
pub(crate) fn with_all<R>(read: impl FnOnce(&AllRecords<'_>) -> R) -> R {
    read(&AllRecords(RECORDS.lock()))
}

/// All records, locked: no node may be dropped meanwhile.
pub(crate) struct AllRecords<'a>(MutexGuard<'a, Records>);

impl AllRecords<'_> {
    /// Returns the record at an address.
    pub(crate) fn at(&self, node: NonNull<Node>) -> Option<&Record> {
        self.0.get(&node.addr().get())
    }

    /// Returns all nodes that have a record and live, with their records.
    pub(crate) fn living(&self) -> impl Iterator<Item = (Var, &Record)> {
        self.0.iter().filter_map(|(address, record)| {
            Some((Node::revive(NonNull::new(std::ptr::with_exposed_provenance_mut(*address))?)?, record))
        })
    }

    /// Returns the addresses of nodes that hold gradients.
    pub(crate) fn with_gradients(&self) -> impl Iterator<Item = (usize, &Record)> {
        let holds = |record: &&Record| record.gradient.is_some() || !record.tangents.is_empty();
        self.0.iter().map(|(address, record)| (*address, record)).filter(move |(_, record)| holds(record))
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &RECORDS);
}
