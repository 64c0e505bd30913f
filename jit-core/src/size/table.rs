//! Sizes while a frozen function is recorded: their expressions in the sizes of the arguments, and the decisions that
//! the function makes by them.
//!
//! Values are computed as usual, and the expression of each is recorded with it. A width of 0 or 1 has a special
//! meaning (no work; the same for all lanes), so a recording with such a width is valid for it alone. Any other width
//! is at least 2 in all replays, and so different from 0 and 1.
//!
//! Expressions that a guard has found equal are one from then on (`table/canonical.rs`), so that values of these widths
//! are computed by one kernel, as without a recording.

use std::cell::{Cell, RefCell};

use jit_runtime::Site;
use jit_runtime::recording::{Guard, Relation, SizeExpr, SizeId, SizeOp, Sizes};
use rustc_hash::{FxHashMap, FxHashSet};

use super::extent::Extent;
use super::scope::Scope;
use super::{Size, scope};
use crate::thread_state::{Clear, thread_state};

mod canonical;

use canonical::Equal;

/// The sizes of this thread's current recording.
pub(crate) struct Symbols {
    /// Distinguishes recordings: a size of another one is a constant here.
    serial: u32,
    sizes: Sizes,
    numbers: FxHashMap<SizeExpr, SizeId>,
    values: Vec<usize>,
    inputs: u16,
    counts: u16,
    /// The expressions that guards have found equal.
    equal: Equal,
    /// The expressions that are widths of nodes, and therefore at least 2.
    wide: FxHashSet<SizeId>,
    /// The widths of inputs that the body uses in place, which may differ in each call, by the addresses of the nodes.
    shared: FxHashMap<usize, Extent>,
    /// The reason why there was no room for a size.
    overflow: Option<&'static str>,
}

/// The per-thread state of sizes.
pub(super) struct Local {
    /// The sizes of the current recording.
    symbols: RefCell<Option<Symbols>>,
    /// The current host calls, innermost last.
    pub(super) scopes: RefCell<Vec<Scope>>,
}

thread_local! {
    /// The serial of this thread's current recording, or 0. It is read for each node, so it is separate and needs no
    /// destructor.
    static SERIAL: Cell<u32> = const { Cell::new(0) };
}

impl Clear for Local {
    fn clear(&self) {
        self.symbols.clear();
        self.scopes.clear();
    }
}

thread_state! {
    static SIZES: Local = Local { symbols: RefCell::new(None), scopes: RefCell::new(Vec::new()) };
}

/// Returns whether this thread records a frozen function.
#[inline]
pub(crate) fn is_recording() -> bool {
    SERIAL.get() != 0
}

fn put(symbols: Option<Symbols>) -> Option<Symbols> {
    SIZES.with(|sizes| sizes.symbols.replace(symbols))
}

/// Runs a function on the current host calls of this thread.
pub(super) fn with_scopes<R>(look: impl FnOnce(&mut Vec<Scope>) -> R) -> R {
    SIZES.with(|sizes| look(&mut sizes.scopes.borrow_mut()))
}

/// Begins a recording.
pub(crate) fn begin() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let serial = NEXT.fetch_add(1, Ordering::Relaxed).max(1);
    SERIAL.set(serial);
    let symbols = Symbols {
        serial,
        sizes: Sizes::new(),
        numbers: FxHashMap::default(),
        values: vec![0],
        inputs: 0,
        counts: 0,
        equal: Equal::default(),
        wide: FxHashSet::default(),
        shared: FxHashMap::default(),
        overflow: None,
    };
    put(Some(symbols));
}

/// Ends the recording; returns its sizes.
pub(crate) fn end() -> Sizes {
    SERIAL.set(0);
    put(None).map_or_else(Sizes::new, |symbols| symbols.sizes)
}

/// Returns why the recording cannot be replayed, if there was no room for one of its sizes.
pub(crate) fn overflow() -> Option<&'static str> {
    with(|symbols| symbols.overflow).flatten()
}

fn note_overflow(reason: &'static str) {
    with(|symbols| {
        symbols.overflow.get_or_insert(reason);
    });
}

/// The sizes of a suspended recording.
pub(crate) struct Paused(Option<Symbols>);

/// Suspends the recording.
pub(crate) fn pause(site: Site) -> Paused {
    pin_shared(site);
    SERIAL.set(0);
    Paused(put(None))
}

/// Resumes a suspended recording.
pub(crate) fn resume(Paused(symbols): Paused) {
    SERIAL.set(symbols.as_ref().map_or(0, |symbols| symbols.serial));
    put(symbols);
}

impl Paused {
    pub(crate) fn serial(&self) -> u32 {
        self.0.as_ref().map_or(0, |symbols| symbols.serial)
    }
}

/// Returns the serial of this thread's current recording.
pub(crate) fn serial() -> u32 {
    SERIAL.get()
}

fn with<R>(run: impl FnOnce(&mut Symbols) -> R) -> Option<R> {
    SIZES.try_with(|sizes| sizes.symbols.borrow_mut().as_mut().map(run)).ok().flatten()
}

/// Creates the next size that is an input of each replay.
pub(crate) fn input(value: usize) -> Size {
    let made = with(|symbols| {
        let number = symbols.inputs;
        symbols.inputs = number.checked_add(1)?;
        symbols.intern(SizeExpr::Input(number), value)
    });
    if made.flatten().is_none() {
        note_overflow("it has more than 65,000 arguments and lengths of axes");
    }
    sized(value, made.flatten())
}

/// Returns the product of some sizes.
pub(crate) fn product(sizes: &[Size]) -> Size {
    if sizes.iter().any(|size| size.is_always(Size::from(0))) {
        return Size::from(0);
    }
    sizes.iter().fold(Size::from(1), |product, &size| product * size)
}

/// Creates a number of elements that a step has computed.
pub(crate) fn count(value: usize) -> Size {
    let made = with(|symbols| {
        let number = symbols.counts;
        symbols.counts += 1;
        symbols.intern(SizeExpr::Count(number), value)
    });
    sized(value, made.flatten())
}

/// Creates a size with its expression. If there is no room for more expressions, the recording is pinned to it.
#[track_caller]
fn sized(value: usize, id: Option<SizeId>) -> Size {
    id.map_or(Size::from(value), |id| Size::symbolic(value, id, SERIAL.get()))
}

/// Returns the result of an operation on sizes of which at least one is not constant.
#[cold]
#[track_caller]
pub(crate) fn binary(op: SizeOp, value: usize, left: Size, right: Size) -> Size {
    let made = with(|symbols| {
        let [a, b] = [left, right].map(|size| symbols.id_of(size));
        let id = symbols.combine(op, a?, b?, value).map(|id| symbols.equal.find(id))?;
        Some((id, symbols.constant(id).is_some()))
    });
    match made.flatten() {
        Some((_, true)) => Size::from(value),
        Some((id, false)) => sized(value, Some(id)),
        None => {
            [left, right].into_iter().for_each(pin);
            Size::from(value)
        }
    }
}

/// Records a guard on the comparison of two sizes.
#[cold]
#[track_caller]
pub(crate) fn require(relation: Relation, left: Size, right: Size) {
    require_at(Site::here(), relation, left, right);
}

/// Like [`require`], for a line of the user's program that is not our caller.
pub(crate) fn require_at(site: Site, relation: Relation, left: Size, right: Size) {
    with(|symbols| {
        let is_two = right.is_constant() && right.value() == 2 && relation == Relation::Ge;
        let is_implied =
            symbols.is_wide(left) && (is_narrow(right) || is_two) || symbols.is_wide(right) && is_narrow(left);
        let [left, right] = [left, right].map(|size| symbols.id_of(size));
        if let (Some(left), Some(right)) = (left, right)
            && left != right
            && !is_implied
        {
            symbols.sizes.require(Guard { relation, left, right, site: site.of_program() });
            if relation == Relation::Eq {
                symbols.unify(left, right);
            }
        }
    });
}

/// Returns whether two sizes of this recording are equal in all replays.
#[cold]
pub(crate) fn is_same(left: Size, right: Size) -> bool {
    let find = |symbols: &mut Symbols| {
        let [left, right] = [left, right].map(|size| symbols.id_of(size));
        left.is_some() && left == right
    };
    left.value() == right.value() && with(find).unwrap_or_default()
}

/// Returns the width that represents those which are equal to it in all replays.
#[cold]
pub(super) fn representative(extent: Extent) -> Extent {
    let find = |symbols: &mut Symbols| {
        let id = symbols.equal.find(extent.size);
        if symbols.constant(id).is_some() { SizeId(0) } else { id }
    };
    Extent { size: with(find).unwrap_or(extent.size), ..extent }
}

/// Records a guard on the exact value of a size.
#[cold]
#[track_caller]
pub(crate) fn pin(size: Size) {
    pin_at(Site::here(), size);
}

/// Like [`pin`], for a line of the user's program that is not our caller.
#[cold]
pub(crate) fn pin_at(site: Site, size: Size) {
    require_at(site, Relation::Eq, size, Size::from(size.value()));
}

/// Registers the width of an input that the body uses in place, by the address of its node.
pub(crate) fn share(address: usize, width: Extent) {
    with(|symbols| symbols.shared.insert(address, width));
}

/// Returns the width of a node that recordings use in place: its expression if this recording does, otherwise its
/// number of lanes.
#[cold]
pub(crate) fn extent_of_shared(address: usize, lanes: u32) -> Extent {
    let known = SIZES.with(|sizes| sizes.symbols.try_borrow().ok()?.as_ref()?.shared.get(&address).copied());
    known.unwrap_or(Extent { lanes, size: SizeId(0) })
}

/// Pins the recording to the widths of arrays that it uses in place, because host calls know them as numbers.
fn pin_shared(site: Site) {
    let shared = with(|symbols| std::mem::take(&mut symbols.shared)).unwrap_or_default();
    // In the order of the inputs, which is also that of the guards.
    let mut widths: Vec<Extent> = shared.into_values().collect();
    widths.sort_by_key(|width| width.size);
    widths.into_iter().for_each(|width| pin_at(site, width.into()));
}

/// Returns the width of a node for a size that is not constant.
#[cold]
#[track_caller]
pub(crate) fn extent(size: Size) -> Extent {
    let size = settled(size);
    representative(Extent { lanes: size.value() as u32, size: size.id() })
}

/// Returns a size that is not constant, after settling whether it is 0, 1, or at least 2.
#[cold]
#[track_caller]
pub(crate) fn settled(size: Size) -> Size {
    settled_at(size, Site::here())
}

/// Like [`settled`], for a line of the user's program that is not our caller.
pub(crate) fn settled_at(size: Size, site: Site) -> Size {
    if size.is_constant() || size.serial() != SERIAL.get() {
        return Size::from(size.value());
    }
    if size.value() < 2 {
        require_at(site, Relation::Eq, size, Size::from(size.value()));
        return Size::from(size.value());
    }
    require_at(site, Relation::Ge, size, Size::from(2));
    with(|symbols| symbols.wide.insert(symbols.equal.find(size.id())));
    size
}

/// Returns the width of a node as a size.
#[cold]
pub(crate) fn size_of(extent: Extent) -> Size {
    let lanes = extent.lanes as usize;
    match SERIAL.get() {
        0 => Size::from(scope::size_of(extent.size).unwrap_or(lanes)),
        // The width of a node from elsewhere may be no size of this recording.
        serial => match with(|symbols| symbols.values.get(extent.size.index()).is_some()) {
            Some(true) => Size::symbolic(lanes, extent.size, serial),
            _ => Size::from(lanes),
        },
    }
}

/// Returns whether a size is known before any launch of a replay.
pub(crate) fn is_known_at_first(size: SizeId) -> bool {
    with(|symbols| symbols.sizes.is_known_at_first(size)).unwrap_or_default()
}

/// Returns the position of a size in the table.
pub(crate) fn id_of(size: Size) -> SizeId {
    let id = known_id_of(size);
    if id.is_none() && is_recording() {
        note_overflow("it computes with more than 65,000 different sizes");
    }
    id.unwrap_or_default()
}

/// Like [`id_of`]; returns `None` if there is no room for it.
pub(crate) fn known_id_of(size: Size) -> Option<SizeId> {
    with(|symbols| symbols.id_of(size)).flatten()
}

/// Returns the expression of a width in the table.
pub(crate) fn id_of_extent(extent: Extent) -> SizeId {
    let extent = extent.representative();
    if extent.size == SizeId(0) { id_of(Size::from(extent.lanes as usize)) } else { extent.size }
}

/// Returns whether it is a size that widths of nodes are distinguished from: 0 or 1.
fn is_narrow(size: Size) -> bool {
    size.is_constant() && size.value() < 2
}

impl Symbols {
    /// Returns whether a size is at least 2 in all replays.
    fn is_wide(&self, size: Size) -> bool {
        !size.is_constant() && size.serial() == self.serial && self.is_wide_id(size.id())
    }

    fn is_wide_id(&self, id: SizeId) -> bool {
        self.wide.contains(&self.equal.find(id))
    }

    fn intern(&mut self, expr: SizeExpr, value: usize) -> Option<SizeId> {
        if let Some(&id) = self.numbers.get(&expr) {
            return Some(id);
        }
        let id = self.sizes.push(expr)?;
        self.values.push(value);
        self.numbers.insert(expr, id);
        Some(id)
    }

    /// Returns the value of an expression that is the same in all replays.
    fn constant(&self, id: SizeId) -> Option<usize> {
        match self.sizes.exprs()[id.index()] {
            SizeExpr::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn intern_constant(&mut self, value: usize) -> Option<SizeId> {
        self.intern(SizeExpr::Constant(value), value)
    }

    fn id_of(&mut self, size: Size) -> Option<SizeId> {
        match size.is_constant() || size.serial() != self.serial {
            true => self.intern(SizeExpr::Constant(size.value()), size.value()),
            false => Some(self.equal.find(size.id())),
        }
    }
}
