//! Recording reports: lines that lanes print, and assertions that are checked on them.
//!
//! Nothing depends on a report, but it must happen exactly once. It consists of scatters to small private arrays
//! ([`jit_runtime::report`] describes them), so it is scheduled, masked and repeated like any write. In a traced loop
//! these arrays become states in memory of the loop, after those of the program. Finally the thread holds them until
//! its next evaluation, which computes them together with the requested values.
//!
//! If a region is aborted, so are its reports.

use std::cell::RefCell;
use std::sync::Arc;

use jit_runtime::ir::{AtomicOp, BinaryOp, CompareOp, ReduceOp, Type};
use jit_runtime::memory::Buffer;
use jit_runtime::report::{Assertion, Lines, Template};
use jit_runtime::{Error, Site, config};
use smallvec::{SmallVec, smallvec};

use super::scatter::{self, Request};
use super::{loops, record, region};
use crate::graph::device::Devices;
use crate::graph::node::{Draft, Var};
use crate::graph::op::Op;
use crate::graph::payload::{How, Part, RegionId, State};
use crate::graph::weak::Weak;
use crate::misuse::panic_at;
use crate::size::Size;
use crate::size::extent::Extent;
use crate::thread_state::{Clear, thread_state};

/// The capacity for lines of a wide array.
const MOST_LINES: usize = 1 << 16;
/// The capacity for lines of a loop, whose number of iterations is unknown.
const LOOP_LINES: usize = 1 << 14;

/// The arrays of a report.
type Arrays = SmallVec<[Var; 3]>;

/// A report.
pub(crate) struct Report {
    what: What,
    /// The arrays that lanes write to, in their latest version.
    pub(crate) arrays: Arrays,
    /// The loops that are open around it, outermost first.
    levels: Vec<Level>,
}

/// The kinds of reports.
enum What {
    /// Lines to be printed.
    Lines(Lines),
    /// An error that the launch detects.
    Assertion,
    /// A sum of loops, which is passed to a function when they are complete, with the outermost of them.
    Sum {
        /// Whether it is an array in memory to which lanes add, and not one number for each lane.
        is_memory: bool,
        pass_on: Option<Box<PassOn>>,
    },
}

/// Called with a complete loop and a sum.
type PassOn = dyn FnOnce(&Var, &Var);

/// A loop around a report.
struct Level {
    /// The position of the first array among the loop's states.
    position: usize,
    inits: Arrays,
    params: Arrays,
}

/// The content of a lane's report: a text and its values.
pub struct Content {
    pub(crate) template: Template,
    pub(crate) values: Vec<Var>,
    pub(crate) site: Site,
}

/// The reports and values that wait for the next evaluation of this thread.
struct Pending {
    /// Reports that have not run, in their order.
    reports: RefCell<Vec<Report>>,
    /// Values that are marked for evaluation.
    marked: RefCell<Vec<Weak>>,
}

impl Clear for Pending {
    fn clear(&self) {
        self.reports.clear();
        self.marked.clear();
    }
}

thread_state! {
    static PENDING: Pending = Pending { reports: RefCell::new(Vec::new()), marked: RefCell::new(Vec::new()) };
}

/// Records lines that lanes print.
///
/// # Panics
///
/// When widths do not match, a value belongs to a region that is closed, or memory cannot be allocated.
pub(crate) fn print(content: Content, limit: usize) {
    let _entered = content.site.enter(None);
    let Some(lanes) = content.lanes(None) else { return };
    let is_single = is_single(lanes);
    let capacity = match region::innermost_loop() {
        _ if is_single => 1,
        RegionId::NONE => (lanes.lanes as usize).min(MOST_LINES).max(limit),
        _ => LOOP_LINES.max(limit),
    };
    let lines = Lines { template: content.template.clone(), is_single, limit, capacity };
    let devices = content.devices(None);
    let list = || Buffer::alloc(lines.words() * Type::U64.size_bytes());
    let count = content.array(devices, Type::U32, 1, || filled(Type::U32, 1, 0));
    let arrays = smallvec![count, content.array(devices, Type::U64, lines.words(), list)];
    let mut report = Report::begin(What::Lines(lines), arrays);
    let one = number(1);
    if is_single {
        let request = Request { how: How::Write, index: &number(0), value: &one, expected: None, mask: None };
        scatter::report(&mut report.arrays[0], &request, false, None, content.site);
        content.write(&mut report.arrays[1], &number(0), None, None);
    } else {
        let place = content.exchange(&mut report.arrays[0], ReduceOp::Add, (&one, lanes), None, None);
        let has_room = record::compare(CompareOp::Lt, &place, &number(capacity));
        content.write(&mut report.arrays[1], &place, Some(&has_room), None);
    }
    region::add_report(report);
}

/// Returns whether an assertion is known to fail: its condition is false, and lanes reach it.
pub(crate) fn is_certain(condition: &Var) -> bool {
    condition.literal() == Some(0)
        && condition.width() != 0
        && !region::is_recording()
        && region::current_mask().is_none()
}

/// Returns whether lanes must check an assertion; never without `JIT_DEBUG`.
pub(crate) fn is_checked(condition: &Var) -> bool {
    config::is_debug_on() && condition.literal() != Some(1)
}

/// Records an assertion, if it must be checked.
///
/// # Panics
///
/// As [`print`].
pub(crate) fn assert(condition: &Var, content: &Content, assertion: Assertion) {
    if !is_checked(condition) {
        return;
    }
    let _entered = content.site.enter(None);
    region::check(condition, content.site);
    let failing = &record::not(condition);
    let Some(lanes) = content.lanes(Some(failing)) else { return };
    let words = assertion.words();
    let assertion = Arc::new(assertion);
    let devices = content.devices(Some(failing));
    let records = || filled(Type::U64, words, u8::MAX);
    let mut arrays: Arrays = smallvec![content.array(devices, Type::U64, words, records)];
    if is_single(lanes) {
        let mut report = Report::begin(What::Assertion, arrays);
        content.write(&mut report.arrays[0], &number(0), Some(failing), Some(&(assertion, Part::Records)));
        return region::add_report(report);
    }
    arrays.push(content.array(devices, Type::U32, 1, || filled(Type::U32, 1, u8::MAX)));
    arrays.push(content.array(devices, Type::U32, 1, || filled(Type::U32, 1, 0)));
    let mut report = Report::begin(What::Assertion, arrays);
    let lane = content.lane();
    let part = (Arc::clone(&assertion), Part::Lowest);
    let lowest = content.exchange(&mut report.arrays[1], ReduceOp::Min, (&lane, lanes), Some(failing), Some(&part));
    let is_lowest = record::and(failing, &record::compare(CompareOp::Lt, &lane, &lowest));
    let one = (&number(1), lanes);
    let place = content.exchange(&mut report.arrays[2], ReduceOp::Add, one, Some(&is_lowest), None);
    let has_room = record::compare(CompareOp::Lt, &place, &number(Assertion::capacity()));
    let writes = record::and(&is_lowest, &has_room);
    content.write(&mut report.arrays[0], &place, Some(&writes), Some(&(assertion, Part::Records)));
    region::add_report(report);
}

/// Returns whether there is one lane, and no open loop whose lanes are still unknown.
fn is_single(lanes: Extent) -> bool {
    lanes.lanes == 1 && region::innermost_loop() == RegionId::NONE
}

fn number(value: usize) -> Var {
    record::literal(Type::U32, value as u64, 1)
}

fn filled(ty: Type, elements: usize, byte: u8) -> Result<Arc<Buffer>, Error> {
    Buffer::repeated(&[byte], elements * ty.size_bytes())
}

impl Content {
    /// Returns the number of active lanes; `None` if there are none.
    fn lanes(&self, mask: Option<&Var>) -> Option<Extent> {
        let around = region::current_mask();
        let masks = mask.into_iter().chain(&around);
        if masks.clone().any(|mask| mask.literal() == Some(0)) {
            return None;
        }
        let mut widest: Option<&Var> = None;
        for var in masks.chain(&self.values) {
            region::check(var, self.site);
            match widest {
                Some(other) if var.width() == 1 || var.width() == other.width() => {}
                Some(other) if other.width() != 1 => record::width_mismatch_at(other, var, self.site),
                _ => widest = Some(var),
            }
        }
        Some(widest.map_or(Extent::ONE, Var::extent)).filter(|width| width.lanes != 0)
    }

    fn draft(&self, op: Op, ty: Type, width: impl Into<Size>) -> Draft<'static> {
        let (width, operands) = (Extent::of(width), [None; 3]);
        Draft { op, ty, width, region: RegionId::NONE, flags: 0, operands, position: 0, word: 0, site: self.site }
    }

    /// Returns the device of the values, and of the masks of the lanes.
    fn devices(&self, mask: Option<&Var>) -> Devices {
        let around = region::current_mask();
        Devices::of_all(mask.into_iter().chain(&around).chain(&self.values))
    }

    /// Creates an array of a report. All of a report's are on the device of its values: they are written together, also
    /// if another device is that of the evaluation.
    fn array(
        &self,
        devices: Devices,
        ty: Type,
        width: usize,
        buffer: impl FnOnce() -> Result<Arc<Buffer>, Error>,
    ) -> Var {
        let _scope = devices.enter();
        let buffer = buffer().unwrap_or_else(|error| panic_at(self.site, error));
        let var = Var::new(self.draft(Op::Data, ty, width));
        match devices.single() {
            Some(_) => var.set_data(buffer),
            None => drop(var.set_constant_data(buffer)),
        }
        var
    }

    /// Returns the lane number for any number of lanes. Unlike other values of width 1 it is not the same in all lanes,
    /// and serves as the operand of single reports.
    fn lane(&self) -> Var {
        Var::new(self.draft(Op::LaneIndex, Type::U32, 1))
    }

    /// Combines the only element of an array with a value on a number of lanes; returns the value that each lane found
    /// there.
    fn exchange(
        &self,
        array: &mut Var,
        op: ReduceOp,
        (value, lanes): (&Var, Extent),
        mask: Option<&Var>,
        part: Option<&(Arc<Assertion>, Part)>,
    ) -> Var {
        let how = How::Atomic(AtomicOp::Reduce(op));
        let index = record::literal(Type::U32, 0, lanes);
        scatter::report(array, &Request { how, index: &index, value, expected: None, mask }, false, part, self.site)
    }

    /// Writes the lane and its values to a position of a list.
    fn write(&self, list: &mut Var, place: &Var, mask: Option<&Var>, part: Option<&(Arc<Assertion>, Part)>) {
        let first = record::binary(BinaryOp::Mul, place, &number(1 + self.values.len()));
        let words = std::iter::once(self.lane()).chain(self.values.iter().cloned());
        for (position, word) in words.enumerate() {
            let index = record::binary(BinaryOp::Add, &first, &number(position));
            let request = Request { how: How::Write, index: &index, value: &bits(&word), expected: None, mask };
            scatter::report(list, &request, position != 0, part, self.site);
        }
    }
}

/// Returns the bits of a value as a `u64`.
fn bits(value: &Var) -> Var {
    let unsigned = match value.ty() {
        Type::Bool => value.clone(),
        ty => record::bitcast(unsigned(ty), value),
    };
    record::cast(Type::U64, &unsigned)
}

/// Returns the unsigned integer type of the same size.
fn unsigned(ty: Type) -> Type {
    match ty.size_bytes() {
        1 => Type::U8,
        2 => Type::U16,
        4 => Type::U32,
        _ => Type::U64,
    }
}

impl Report {
    /// Makes the arrays of a report states of the open loops.
    fn begin(what: What, arrays: Arrays) -> Report {
        let loops = region::claim_states(arrays.len(), RegionId::NONE);
        Self::inside(what, arrays, loops)
    }

    /// Makes arrays states of some loops, outermost first.
    fn inside(what: What, mut arrays: Arrays, loops: impl IntoIterator<Item = (RegionId, usize)>) -> Report {
        let mut levels = Vec::new();
        for (id, position) in loops {
            let params: Arrays =
                arrays.iter().enumerate().map(|(k, init)| loops::param(id, position + k, init)).collect();
            let inits = std::mem::replace(&mut arrays, params.clone());
            levels.push(Level { position, inits, params });
        }
        Report { what, arrays, levels }
    }

    /// Begins a sum of each lane in the innermost open loop. When that is complete, the sum is passed to a function.
    pub(crate) fn lane_sum(ty: Type, pass_on: impl FnOnce(&Var, &Var) + 'static) -> Report {
        let what = What::Sum { is_memory: false, pass_on: Some(Box::new(pass_on)) };
        Self::inside(what, smallvec![record::literal(ty, 0, 1)], region::claim_state())
    }

    /// Begins sums in an array, to which all lanes add in the open loops that are inside of some region. When they are
    /// complete, the array is passed to a function.
    pub(crate) fn array_sum(zeros: Var, around: RegionId, pass_on: impl FnOnce(&Var, &Var) + 'static) -> Report {
        let what = What::Sum { is_memory: true, pass_on: Some(Box::new(pass_on)) };
        Self::inside(what, smallvec![zeros], region::claim_states(1, around))
    }

    /// Passes on what the report has after a loop that is complete.
    pub(crate) fn end_loop(mut self, control: &Var, arrays: impl Iterator<Item = Var>) {
        self.arrays = arrays.collect();
        match &mut self.what {
            What::Sum { pass_on, .. } if self.levels.is_empty() => {
                pass_on.take().into_iter().for_each(|pass_on| pass_on(control, &self.arrays[0]));
            }
            What::Lines(_) | What::Assertion | What::Sum { .. } => region::add_report(self),
        }
    }

    /// Returns the states of the innermost loop around it, which ends, and the position of the first one.
    pub(crate) fn leave_loop(&mut self) -> (usize, Vec<State>) {
        let Some(Level { position, inits, params }) = self.levels.pop() else { return (0, Vec::new()) };
        let arrays = std::mem::take(&mut self.arrays).into_iter();
        let parts = inits.into_iter().zip(params).zip(arrays);
        let is_memory = !matches!(self.what, What::Sum { is_memory: false, .. });
        let state = |((init, param), next)| State { param, init, next: Some(next), is_memory, carries: false };
        (position, parts.map(state).collect())
    }

    /// Stores the report for the next evaluation of this thread, once no region is open.
    pub(crate) fn keep(mut self) {
        self.arrays.iter_mut().for_each(|array| *array = scatter::settle(array));
        PENDING.with(|pending| pending.reports.borrow_mut().push(self));
    }

    /// Returns whether it was launched.
    pub(crate) fn has_run(&self) -> bool {
        self.arrays.iter().all(Var::has_data)
    }

    /// Waits for reports, and prints them.
    ///
    /// # Errors
    ///
    /// Returns the error of the launch, for example an assertion that failed.
    pub(crate) fn finish(self) -> Result<(), Error> {
        // The memory in which the kernels left the arrays: on a device whose memory is not that of new values it is
        // another one than they began with.
        let memory = |position: usize| self.arrays[position].data().expect("a report that was launched is in memory");
        match &self.what {
            What::Lines(lines) => lines.print(&memory(0), &memory(1)),
            What::Assertion => memory(0).wait(),
            What::Sum { .. } => Ok(()),
        }
    }
}

/// Returns whether anything waits for the next evaluation of this thread.
pub(crate) fn is_pending() -> bool {
    PENDING.with(|pending| !pending.reports.borrow().is_empty())
}

/// Takes the reports that wait for the next evaluation of this thread.
pub(crate) fn take_pending() -> Vec<Report> {
    if is_pending() { PENDING.with(|pending| pending.reports.take()) } else { Vec::new() }
}

/// Reports and marked values that wait for another evaluation than the next ones.
pub(crate) struct SetAside {
    reports: Vec<Report>,
    marked: Vec<Var>,
}

/// Sets all reports and marked values aside until the result is dropped. Those made in the meantime are dropped then.
#[must_use]
pub(crate) fn set_aside() -> SetAside {
    SetAside { reports: take_pending(), marked: take_marked() }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        drop((take_pending(), take_marked()));
        put_back(std::mem::take(&mut self.reports));
        self.marked.iter().for_each(mark);
    }
}

/// Marks a value for this thread's next evaluation, if it still lives then.
pub(crate) fn mark(var: &Var) {
    PENDING.with(|pending| pending.marked.borrow_mut().push(var.downgrade()));
}

/// Takes the marked values that still live.
pub(crate) fn take_marked() -> Vec<Var> {
    PENDING.with(|pending| {
        let mut marked = pending.marked.borrow_mut();
        // Usually there are none.
        if marked.is_empty() { Vec::new() } else { marked.drain(..).filter_map(|marked| marked.upgrade()).collect() }
    })
}

/// Puts reports back, before those that were recorded in the meantime.
pub(crate) fn put_back(mut reports: Vec<Report>) {
    PENDING.with(|pending| {
        let mut pending = pending.reports.borrow_mut();
        reports.append(&mut pending);
        *pending = reports;
    });
}
