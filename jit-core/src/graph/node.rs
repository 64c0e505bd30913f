//! The node of the trace graph, and the handle that keeps it alive.
//!
//! A node is one cache line. Its operation is fixed while it lives, with two exceptions. When it gets elements in
//! memory, its operand edges are removed, which frees the graph behind it. When the region that it was recorded in is
//! aborted, a node that represents a state of a loop, or an array that was written, becomes the value from before the
//! region.
//!
//! Invariants: a node with a count above zero is fully written. Its fields other than the count, the word, the flags,
//! the region and the operand slots do not change until the count falls to zero. A live node holds one count of each
//! node in its operand slots and payload. Operands are only ever removed or added once, never replaced. So code that
//! has upgraded a node that it found in a slot, and finds it there again, holds the operand (see [`Node::operand`]).

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use jit_runtime::Site;
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::SizeId;

use super::device::Devices;
use super::edges::Dropped;
use super::op::Op;
use super::payload::{Payload, RegionId};
use super::{cost, device, gradients, labels, pool, scopes, tape, watch};
use crate::size::extent::Extent;
use crate::size::{Size, table};

/// Properties of a node of one bit each.
pub(crate) mod flag {
    /// A loop or branch is among the node and its transitive inputs.
    pub(crate) const CONTROL: u16 = 1;
    /// The node runs only where the loop body that it was recorded in runs, regardless of its operands.
    pub(crate) const PINNED: u16 = 2;
    /// The node has a label.
    pub(crate) const LABELLED: u16 = 4;
    /// A node that can run only once is among the node and its transitive inputs.
    pub(crate) const EFFECT: u16 = 8;
    /// The value is per-lane local memory, in one of its versions.
    pub(crate) const LOCAL: u16 = 16;
    /// The node was made while this thread recorded a frozen function, and the recording has not ended.
    pub(crate) const RECORDED: u16 = 32;
    /// The node was made while a frozen function was recorded, and one of its host calls may hold it: in replays it
    /// represents its value there.
    pub(crate) const HOSTED: u16 = 64;
    /// Gradients flow through the node to a variable.
    pub(crate) const GRAD: u16 = 128;
    /// Gradients flow to an operand of the node, but not through the node.
    pub(crate) const DETACHED: u16 = 256;
    /// The node has a record for differentiation, see [`super::super::tape`].
    pub(crate) const TAPED: u16 = 512;
    /// The flags by which equal expressions may be different nodes.
    pub(crate) const DISTINGUISHED: u16 = RECORDED | HOSTED | GRAD | DETACHED;
    /// All flags. The other bits of the word count the nodes that lived at the address.
    pub(super) const ALL: u32 = (1 << BITS) - 1;
    /// The number of bits of all flags.
    pub(super) const BITS: u32 = 10;
    /// The flags that a node inherits from its operands.
    pub(crate) const INHERITED: u16 = CONTROL | EFFECT | GRAD;

    /// Returns the flags of a node that matter to its users. If it is in memory, what can run only once has run.
    #[inline]
    pub(crate) fn for_users(flags: u16, has_data: bool) -> u16 {
        if has_data { flags & !EFFECT } else { flags }
    }
}

/// The slot in which a parameter that is per-lane local memory stores the number of elements.
const LOCAL_LEN: usize = 1;

/// The bit of an expensive value that an evaluation has computed without storing it, and that something still holds.
pub(super) const COMPUTED: u8 = 1 << 7;

/// The fields that are fixed while a node lives, except for the size, which ends with its recording.
pub(super) struct Head {
    op: Op,
    ty: Type,
    /// How often the expression was recorded again for a gather from it, up to 127 times; and [`COMPUTED`].
    pub(super) uses: AtomicU8,
    lanes: u32,
    region: AtomicU32,
    /// Up to 255.
    pub(super) cost: u8,
    /// The bits of [`Devices`]. A value without one gets that of its memory.
    pub(super) devices: AtomicU8,
    /// While a frozen function is recorded, the expression of its width.
    size: AtomicU16,
    site: SiteOrNext,
}

/// The line that made a node. While the node is being freed, the node that is freed after it.
#[derive(Clone, Copy)]
union SiteOrNext {
    site: Site,
    next: *mut Node,
}

/// One expression of the trace graph.
#[repr(C, align(64))]
pub(crate) struct Node {
    operands: [AtomicPtr<Node>; 3],
    /// Bits of a value, a leaked `Arc<Buffer>`, or a leaked `Box<Payload>`, by the operation; 0 while there is no
    /// buffer.
    pub(super) word: AtomicU64,
    head: UnsafeCell<Head>,
    count: AtomicU32,
    /// The number of previous nodes at this address, and the flags in the low bits.
    life: AtomicU32,
}

// SAFETY: `head` is written only by the sole owner of a dead node and read only by holders of a live one; the count's
// release and acquire order the two. All else is atomic.
unsafe impl Sync for Node {}

/// The description of a new node.
#[derive(Clone, Copy)]
pub(crate) struct Draft<'a> {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    pub(crate) width: Extent,
    pub(crate) region: RegionId,
    pub(crate) flags: u16,
    pub(crate) operands: [Option<&'a Var>; 3],
    /// The third slot of an operation that stores a position there.
    pub(crate) position: usize,
    pub(crate) word: u64,
    pub(crate) site: Site,
}

impl Node {
    /// Returns a node that is not in use.
    pub(crate) fn dead() -> Node {
        Node {
            operands: [const { AtomicPtr::new(ptr::null_mut()) }; 3],
            word: AtomicU64::new(0),
            head: UnsafeCell::new(Head {
                op: Op::Placeholder,
                ty: Type::Bool,
                uses: AtomicU8::new(0),
                lanes: 0,
                region: AtomicU32::new(RegionId::NONE.get()),
                cost: 0,
                devices: AtomicU8::new(0),
                size: AtomicU16::new(0),
                site: SiteOrNext { next: ptr::null_mut() },
            }),
            count: AtomicU32::new(0),
            life: AtomicU32::new(0),
        }
    }

    /// Returns the next free node, for a node in a free list.
    ///
    /// # Safety
    ///
    /// The node is dead and the caller owns it.
    #[inline]
    pub(crate) unsafe fn link(&self) -> *mut Node {
        self.operands[0].load(Ordering::Relaxed)
    }

    /// Sets the next free node, for a node in a free list.
    ///
    /// # Safety
    ///
    /// The node is dead and the caller owns it.
    #[inline]
    pub(crate) unsafe fn set_link(&self, next: *mut Node) {
        self.operands[0].store(next, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn head(&self) -> &Head {
        // SAFETY: nodes are reached through handles, which keep them alive, so nobody writes the head.
        unsafe { &*self.head.get() }
    }

    /// Returns whether a node lives at the address now.
    pub(crate) fn is_alive(node: NonNull<Node>) -> bool {
        // SAFETY: addresses of nodes stay valid for ever.
        unsafe { node.as_ref().count.load(Ordering::Relaxed) != 0 }
    }

    /// Adds a reference if the node is alive.
    #[inline]
    pub(crate) fn revive(node: NonNull<Node>) -> Option<Var> {
        // SAFETY: addresses of nodes stay valid for ever.
        let count = unsafe { &node.as_ref().count };
        let mut seen = count.load(Ordering::Relaxed);
        while seen != 0 {
            match count.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Var(node)),
                Err(now) => seen = now,
            }
        }
        None
    }
}

/// A counted reference to a node: the untyped form of an array.
///
/// Handles may be sent to and used from any thread.
#[repr(transparent)]
pub struct Var(NonNull<Node>);

// SAFETY: the count is atomic, and nodes may be shared (see `Sync for Node`).
unsafe impl Send for Var {}
// SAFETY: as above.
unsafe impl Sync for Var {}

// A panic leaves arrays with the contents that they had before: what a region wrote is taken back.
impl UnwindSafe for Var {}
impl RefUnwindSafe for Var {}

impl Clone for Var {
    #[inline]
    fn clone(&self) -> Self {
        if self.node().count.fetch_add(1, Ordering::Relaxed) > u32::MAX / 2 {
            std::process::abort();
        }
        Var(self.0)
    }
}

impl Drop for Var {
    #[inline]
    fn drop(&mut self) {
        if release(self.0) {
            free::<false>(self.0);
        }
    }
}

/// A reference that an evaluated node had. When it is dropped, what is left of the expressions behind it was computed
/// by the evaluation, too.
pub(super) struct OfEvaluated(NonNull<Node>);

impl Drop for OfEvaluated {
    #[inline]
    fn drop(&mut self) {
        note_computed(self.0);
        if release(self.0) {
            free::<true>(self.0);
        }
    }
}

/// Notes that an evaluation has computed a value, if something else holds it.
#[inline]
fn note_computed(node: NonNull<Node>) {
    // SAFETY: addresses of nodes stay valid for ever.
    let this = unsafe { node.as_ref() };
    if u32::from(this.head().cost) >= cost::EXPENSIVE
        && this.count.load(Ordering::Relaxed) != 1
        && this.word.load(Ordering::Relaxed) == 0
    {
        this.head().uses.fetch_or(COMPUTED, Ordering::Relaxed);
    }
}

/// Removes one reference; returns true if it was the last.
#[inline]
fn release(node: NonNull<Node>) -> bool {
    // SAFETY: addresses of nodes stay valid for ever.
    let last = unsafe { node.as_ref().count.fetch_sub(1, Ordering::Release) == 1 };
    if last {
        fence(Ordering::Acquire);
    }
    last
}

/// Frees a node whose last reference is gone, and all nodes that only it kept alive, without recursion: the nodes still
/// to be freed form a list through their own heads. If an evaluation has computed them, that is noted in those that
/// something else holds.
#[inline(never)]
fn free<const IS_COMPUTED: bool>(first: NonNull<Node>) {
    pool::with_home(|home| {
        let mut pending = Pending::<IS_COMPUTED>(ptr::null_mut());
        pending.push(first);
        while let Some(node) = pending.pop() {
            // SAFETY: the count is zero, so this thread alone has the node.
            let this = unsafe { node.as_ref() };
            for slot in 0..this.head().op.slots() {
                if let Some(operand) = NonNull::new(this.operands[slot].load(Ordering::Relaxed)) {
                    pending.release(operand);
                }
            }
            free_word(node, &mut pending);
            let life = this.life.load(Ordering::Relaxed);
            if life as u16 & (flag::LABELLED | flag::TAPED) != 0 {
                free_records(node, life as u16, &mut pending);
            }
            this.life.store((life | flag::ALL).wrapping_add(1), Ordering::Relaxed);
            home.give(node);
        }
    });
}

/// Frees what is stored outside of a dead node.
#[cold]
fn free_records<const IS_COMPUTED: bool>(node: NonNull<Node>, flags: u16, pending: &mut Pending<IS_COMPUTED>) {
    if flags & flag::LABELLED != 0 {
        labels::remove(node);
    }
    if flags & flag::TAPED != 0 {
        tape::remove(node, |var| {
            pending.release(ManuallyDrop::new(var).0);
        });
    }
}

/// Frees the buffer or payload of a dead node.
#[inline(always)]
fn free_word<const IS_COMPUTED: bool>(node: NonNull<Node>, pending: &mut Pending<IS_COMPUTED>) {
    // SAFETY: the count is zero, so this thread alone has the node.
    let this = unsafe { node.as_ref() };
    let (op, word) = (this.head().op, this.word.load(Ordering::Relaxed));
    if word == 0 || op.holds_bits() {
        return;
    }
    if op.holds_payload() {
        // SAFETY: the word of such a node is a leaked box, and the node is freed once.
        let payload = *unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<Payload>(word as usize)) };
        payload.take_apart(|var| {
            pending.release(ManuallyDrop::new(var).0);
        });
    } else {
        // SAFETY: the word of any other node is a leaked `Arc`, and the node is freed once.
        drop(unsafe { Arc::from_raw(ptr::with_exposed_provenance::<Buffer>(word as usize)) });
    }
}

/// Dead nodes that are still to be taken apart, and whether an evaluation has computed them.
struct Pending<const IS_COMPUTED: bool>(*mut Node);

impl<const IS_COMPUTED: bool> Pending<IS_COMPUTED> {
    /// Removes a reference that a dead node had.
    #[inline(always)]
    fn release(&mut self, node: NonNull<Node>) {
        if IS_COMPUTED {
            note_computed(node);
        }
        if release(node) {
            self.push(node);
        }
    }

    #[inline(always)]
    fn push(&mut self, node: NonNull<Node>) {
        // SAFETY: the node's count is zero, so this thread alone has it; its site is not needed any more.
        unsafe { (*node.as_ref().head.get()).site.next = self.0 };
        self.0 = node.as_ptr();
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<NonNull<Node>> {
        let node = NonNull::new(self.0)?;
        // SAFETY: as in `push`, which wrote this field.
        self.0 = unsafe { (*node.as_ref().head.get()).site.next };
        Some(node)
    }
}

impl Var {
    /// Creates a node without operands that is not shared with equal ones.
    pub(crate) fn leaf(op: Op, ty: Type, width: Extent, word: u64, site: Site) -> Var {
        let (region, operands) = (RegionId::NONE, [None; 3]);
        Var::new(Draft { op, ty, width, region, flags: 0, operands, position: 0, word, site })
    }

    /// Makes a node from a draft.
    #[inline]
    pub(crate) fn new(draft: Draft<'_>) -> Var {
        let mut seen = 0;
        let mut cost = draft.op.weight();
        let mut devices = 0;
        let node = pool::take();
        // SAFETY: addresses of nodes stay valid for ever.
        let this = unsafe { node.as_ref() };
        for (slot, operand) in draft.operands.iter().enumerate() {
            let address = match operand {
                Some(operand) => {
                    let head = operand.node().head();
                    let has_data = operand.has_data();
                    seen |= flag::for_users(operand.flags(), has_data);
                    devices |= head.devices.load(Ordering::Relaxed);
                    cost += if has_data { 1 } else { u32::from(head.cost) };
                    ManuallyDrop::new((*operand).clone()).0.as_ptr()
                }
                None => ptr::null_mut(),
            };
            this.operands[slot].store(address, Ordering::Relaxed);
        }
        if draft.position != 0 {
            this.operands[2].store(ptr::without_provenance_mut(draft.position), Ordering::Relaxed);
        }
        this.word.store(draft.word, Ordering::Relaxed);
        let mut flags = draft.flags | seen & flag::INHERITED;
        if flags & flag::GRAD != 0 {
            flags = gradients::flags_of(draft.op, draft.ty, flags);
        }
        this.life.store(this.life.load(Ordering::Relaxed) | u32::from(flags), Ordering::Relaxed);
        let head = Head {
            op: draft.op,
            ty: draft.ty,
            uses: AtomicU8::new(0),
            lanes: draft.width.lanes,
            region: AtomicU32::new(draft.region.get()),
            cost: cost.min(cost::MOST) as u8,
            devices: AtomicU8::new(devices),
            size: AtomicU16::new(draft.width.size.0),
            site: SiteOrNext { site: draft.site.of_program() },
        };
        // SAFETY: the node came from the pool, so it is dead and ours.
        unsafe { *this.head.get() = head };
        this.count.store(1, Ordering::Release);
        let var = Var(node);
        if Devices::from_bits(devices).are_several() {
            device::refuse_several(&var);
        }
        let var = if flags & flag::GRAD != 0 { scopes::completed(var) } else { var };
        if table::is_recording() {
            watch::recorded(&var);
        }
        if seen & flag::HOSTED != 0 || draft.op.holds_payload() {
            watch::used(&var);
        }
        var
    }

    /// Replaces an operand of a node that nobody else has seen.
    pub(super) fn replace_new_operand(&mut self, slot: usize, operand: Var) {
        let new = ManuallyDrop::new(operand).0.as_ptr();
        drop(NonNull::new(self.node().operands[slot].swap(new, Ordering::Relaxed)).map(Var));
    }

    #[inline]
    pub(crate) fn node(&self) -> &Node {
        // SAFETY: addresses of nodes stay valid for ever.
        unsafe { self.0.as_ref() }
    }

    /// Returns the node's address, the identity of the expression.
    #[inline]
    pub(crate) fn address(&self) -> NonNull<Node> {
        self.0
    }

    /// Returns the operation.
    #[inline]
    #[must_use]
    pub fn op(&self) -> Op {
        self.node().head().op
    }

    /// Returns the element type.
    #[inline]
    #[must_use]
    pub fn ty(&self) -> Type {
        self.node().head().ty
    }

    /// Returns the number of lanes, as a size: a recording relies on decisions by it.
    #[inline]
    #[must_use]
    pub fn width(&self) -> Size {
        self.extent().into()
    }

    /// Returns the current number of lanes, for messages and for code that runs only once.
    #[inline]
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.node().head().lanes as usize
    }

    /// Returns the width in the form that nodes store.
    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        let head = self.node().head();
        match SizeId(head.size.load(Ordering::Relaxed)) {
            Extent::OF_SESSION => table::extent_of_shared(self.address().addr().get(), head.lanes),
            size => Extent { lanes: head.lanes, size },
        }
    }

    /// Makes recordings provide the width of an array that they use in place, behind a shared reference. Elsewhere it
    /// remains a number.
    pub(crate) fn ask_recordings_for_width(&self) {
        self.node().head().size.store(Extent::OF_SESSION.0, Ordering::Relaxed);
    }

    /// Ends the special state of a node that was recorded in a frozen function. A node whose width a host call may
    /// request retains the expression.
    pub(crate) fn forget_recording(&self) {
        if self.flags() & flag::HOSTED == 0 {
            self.node().head().size.store(0, Ordering::Relaxed);
        }
        self.node().life.fetch_and(!u32::from(flag::RECORDED), Ordering::Relaxed);
    }

    /// Returns the user's line that made the node.
    #[inline]
    #[must_use]
    pub fn site(&self) -> Site {
        // SAFETY: a live node has a site.
        unsafe { self.node().head().site.site }
    }

    /// Returns the innermost region whose state the value depends on; none if it has elements in memory.
    #[inline]
    pub(crate) fn region(&self) -> RegionId {
        let region = self.recorded_region();
        if region != RegionId::NONE && self.has_data() { RegionId::NONE } else { region }
    }

    /// Returns the region that the value was recorded in, also if it has elements in memory.
    #[inline]
    pub(crate) fn recorded_region(&self) -> RegionId {
        RegionId::of(self.node().head().region.load(Ordering::Relaxed))
    }

    /// Takes a node out of a region that is aborted. It may depend on a value from before, which its flags do not
    /// cover.
    pub(crate) fn set_region(&self, region: RegionId) {
        self.node().head().region.store(region.get(), Ordering::Relaxed);
        self.add_flag(flag::CONTROL | flag::EFFECT);
    }

    /// For a node whose region was aborted, returns the node that replaces it.
    pub(crate) fn original(&self) -> Option<Var> {
        self.operand(self.op().original_slot()?)
    }

    /// Replaces the node by the value from before the aborted region.
    pub(crate) fn set_original(&self, original: &Var) {
        let Some(slot) = self.op().original_slot().filter(|_| !self.has_data()) else { return };
        let original = ManuallyDrop::new(original.clone());
        let edge = &self.node().operands[slot];
        if edge.compare_exchange(ptr::null_mut(), original.0.as_ptr(), Ordering::AcqRel, Ordering::Acquire).is_err() {
            drop(ManuallyDrop::into_inner(original));
        }
    }

    /// Sets the number of elements of a parameter that is per-lane local memory.
    pub(crate) fn set_local_len(&self, len: u32) {
        debug_assert_eq!(self.op(), Op::Param);
        self.node().operands[LOCAL_LEN].store(ptr::without_provenance_mut(len as usize), Ordering::Relaxed);
    }

    /// Returns the number of elements of a parameter that is per-lane local memory.
    pub(crate) fn local_len(&self) -> Option<u32> {
        let is_param = self.op() == Op::Param && self.flags() & flag::LOCAL != 0;
        is_param.then(|| self.node().operands[LOCAL_LEN].load(Ordering::Relaxed).addr() as u32)
    }

    #[inline]
    pub(crate) fn flags(&self) -> u16 {
        (self.node().life.load(Ordering::Relaxed) & flag::ALL) as u16
    }

    /// Returns whether the node must stay in the loop that it was recorded in.
    #[inline]
    pub(crate) fn is_pinned(&self) -> bool {
        self.flags() & flag::PINNED != 0
    }

    pub(crate) fn remove_flag(&self, flag: u16) {
        self.node().life.fetch_and(!u32::from(flag), Ordering::Relaxed);
    }

    pub(crate) fn add_flag(&self, flag: u16) {
        self.node().life.fetch_or(u32::from(flag), Ordering::Relaxed);
    }

    /// Returns whether both handles refer to the same node.
    #[inline]
    #[must_use]
    pub fn is_same(&self, other: &Var) -> bool {
        self.0 == other.0
    }

    /// Returns how many handles and nodes hold the node.
    pub(crate) fn count(&self) -> u32 {
        self.node().count.load(Ordering::Acquire)
    }

    /// Returns the bits of a literal.
    #[inline]
    #[must_use]
    pub fn literal(&self) -> Option<u64> {
        (self.op() == Op::Literal).then(|| self.node().word.load(Ordering::Relaxed))
    }

    /// Returns the bits of a literal or an opaque scalar: values that the host knows without an evaluation.
    #[must_use]
    pub fn known_bits(&self) -> Option<u64> {
        self.op().holds_bits().then(|| self.node().word.load(Ordering::Relaxed))
    }

    /// Returns the position in the third slot, for an operation that stores one there.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.node().operands[2].load(Ordering::Relaxed).addr()
    }

    /// Returns the word that value numbering compares: the bits of a literal.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        self.node().word.load(Ordering::Relaxed)
    }

    /// Returns the address in an operand slot, null if the operand has been removed.
    #[inline]
    pub(crate) fn operand_address(&self, slot: usize) -> *mut Node {
        self.node().operands[slot].load(Ordering::Acquire)
    }

    /// Returns an operand, unless an evaluation has removed it.
    #[inline]
    pub(crate) fn operand(&self, slot: usize) -> Option<Var> {
        let found = NonNull::new(self.operand_address(slot))?;
        let operand = Node::revive(found)?;
        (self.operand_address(slot) == found.as_ptr()).then_some(operand)
    }

    /// Returns an operand, without counting a reference.
    ///
    /// # Safety
    ///
    /// No operand is removed from the node during the lifetime.
    #[inline]
    pub(crate) unsafe fn operand_in_place(&self, slot: usize) -> Option<&Var> {
        let edge = &self.node().operands[slot];
        if edge.load(Ordering::Acquire).is_null() {
            return None;
        }
        // SAFETY: a `Var` is an address that is not null, and nobody writes the slot.
        Some(unsafe { &*ptr::from_ref(edge).cast::<Var>() })
    }

    /// Returns the parts of a loop or branch.
    #[inline]
    pub(crate) fn payload(&self) -> Option<&Payload> {
        if !self.op().holds_payload() {
            return None;
        }
        let payload = ptr::with_exposed_provenance::<Payload>(self.node().word.load(Ordering::Acquire) as usize);
        // SAFETY: the word of such a node is a leaked box that lives as long as the node and is not changed.
        Some(unsafe { &*payload })
    }

    /// Removes the operands from a node that has data. The caller drops them after it has released the lock. If
    /// gradients flow through the node, another one keeps them on its tape.
    pub(super) fn detach(&self, dropped: &mut Dropped) {
        if self.flags() & flag::GRAD != 0 && tape::keeps_operands(self) {
            return;
        }
        let mut operands = [const { None }; 3];
        for (slot, operand) in operands.iter_mut().enumerate().take(self.op().slots()) {
            *operand = NonNull::new(self.node().operands[slot].swap(ptr::null_mut(), Ordering::AcqRel)).map(Var);
        }
        if self.flags() & flag::GRAD != 0 && operands.iter().any(Option::is_some) {
            tape::keep_operands(self, &operands);
        }
        operands.into_iter().flatten().for_each(|operand| dropped.push(OfEvaluated(ManuallyDrop::new(operand).0)));
    }

    /// Returns how many nodes were at this address before.
    pub(super) fn generation(&self) -> u32 {
        self.node().life.load(Ordering::Relaxed) >> flag::BITS
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = self.site();
        write!(f, "{:?}: {} × {}, made at {}:{}", self.op(), self.ty(), self.lanes(), site.file(), site.line())
    }
}
