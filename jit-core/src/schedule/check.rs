//! Run-time checks of kernels: indices and assertions, which `JIT_DEBUG` adds, and bounds of iterations.
//!
//! Before each gather and scatter the kernel compares the index with the width of the array. Out-of-range lanes are
//! masked off, and the lowest of them is stored, with its index, in a buffer that the launch reads at the end. So a
//! wrong index is an error of the arrays that the kernel writes, on every backend, and touches no memory.

use std::sync::Arc;

use jit_runtime::ir::{Access, BinaryOp, Builder, CompareOp, ParamId, ReduceOp, Type, UnaryOp, Value};
use jit_runtime::launch::{AccessKind, Argument, CheckedAccess, CheckedAssertion, Checks};
use jit_runtime::memory::Buffer;
use jit_runtime::report::Assertion;
use jit_runtime::{Error, Site, config};

use super::native;
use crate::capture::launches;
use crate::graph::payload::Part;
use crate::trace::record;

/// The checks of a kernel.
pub(super) struct Checker {
    /// Whether indices are checked, too.
    is_debug: bool,
    /// The parameter for the check buffer, and its position among the arguments.
    report: Option<(ParamId, usize)>,
    accesses: Vec<CheckedAccess>,
    /// Assertions, and the positions of the arguments that take their reports.
    assertions: Vec<(Arc<Assertion>, [Option<usize>; 2])>,
}

impl Checker {
    /// Returns a checker, if checks are enabled.
    pub(super) fn wanted() -> Option<Checker> {
        (config::is_debug_on() && !launches::is_dry()).then(|| Checker { is_debug: true, ..Checker::of_iterations() })
    }

    /// Returns a checker only of bounds of iterations.
    pub(super) fn of_iterations() -> Checker {
        Checker { is_debug: false, report: None, accesses: Vec::new(), assertions: Vec::new() }
    }

    /// Returns whether indices are checked.
    pub(super) fn checks_indices(&self) -> bool {
        self.is_debug
    }

    /// Registers the parameter that takes the reports of an assertion.
    pub(super) fn note_report(&mut self, (assertion, part): &(Arc<Assertion>, Part), param: ParamId) {
        let known = self.assertions.iter().position(|(known, _)| Arc::ptr_eq(known, assertion));
        let known = known.unwrap_or_else(|| {
            self.assertions.push((Arc::clone(assertion), [None; 2]));
            self.assertions.len() - 1
        });
        self.assertions[known].1[usize::from(*part == Part::Records)] = Some(param.0 as usize);
    }

    /// Returns the lanes whose index is in range, among those where the mask holds; reports the others.
    pub(super) fn in_range(
        &mut self,
        builder: &mut Builder,
        arguments: &mut Vec<Argument>,
        access: CheckedAccess,
        index: Value,
        mask: Option<Value>,
    ) -> Value {
        let report = self.report(builder, arguments);
        arguments.push(Argument::Scalar(access.width as u64));
        let width = builder.scalar_param(Type::U64);
        let width = builder.scalar(width);
        // A negative index becomes a large one.
        let wide = builder.cast(Type::U64, index);
        let is_inside = builder.compare(CompareOp::Lt, wide, width);
        let is_outside = builder.unary(UnaryOp::Not, is_inside);
        let and = |builder: &mut Builder, lanes| match mask {
            Some(mask) => builder.binary(BinaryOp::And, mask, lanes),
            None => lanes,
        };
        let wrong = and(builder, is_outside);
        let lane = builder.lane_index();
        let note = note(builder, lane, index, access.is_signed);
        self.note(builder, report, access, note, wrong);
        and(builder, is_inside)
    }

    /// Reports lanes that have begun more iterations than a loop allows.
    pub(super) fn iterations(
        &mut self,
        builder: &mut Builder,
        arguments: &mut Vec<Argument>,
        (count, lane): (Value, Value),
        limit: u32,
        site: Site,
    ) {
        let report = self.report(builder, arguments);
        let allowed = builder.constant(Type::U32, limit.into());
        let is_more = builder.compare(CompareOp::Gt, count, allowed);
        let note = note(builder, lane, count, false);
        let access = CheckedAccess {
            kind: AccessKind::Iterations,
            ty: Type::U32,
            width: limit as usize,
            is_signed: false,
            site,
        };
        self.note(builder, report, access, note, is_more);
    }

    /// Makes lanes combine their report with those of the same access.
    fn note(&mut self, builder: &mut Builder, report: ParamId, access: CheckedAccess, note: Value, lanes: Value) {
        let slot = builder.constant(Type::U32, self.accesses.len() as u64);
        builder.scatter(Some(ReduceOp::Min), report, slot, note, Some(lanes));
        self.accesses.push(access);
    }

    fn report(&mut self, builder: &mut Builder, arguments: &mut Vec<Argument>) -> ParamId {
        let (report, _) = *self.report.get_or_insert_with(|| {
            // The buffer replaces this argument once its length is known.
            arguments.push(Argument::Scalar(0));
            (builder.buffer(Type::U64, Access::ReadWrite), arguments.len() - 1)
        });
        report
    }

    /// Puts the check buffer among the arguments.
    pub(super) fn finish(self, arguments: &mut [Argument]) -> Result<Option<Checks>, Error> {
        let Checker { report, accesses, assertions, .. } = self;
        if let Some((_, report)) = report {
            arguments[report] = Argument::Buffer(blank(accesses.len())?, accesses.len());
        }
        let assertions: Vec<CheckedAssertion> = assertions.into_iter().filter_map(checked).collect();
        let is_checked = !accesses.is_empty() || !assertions.is_empty();
        Ok(is_checked.then(|| Checks { report: report.map_or(0, |(_, report)| report), accesses, assertions }))
    }
}

/// Returns an empty check buffer. In a recording each replay makes a new one.
fn blank(notes: usize) -> Result<Arc<Buffer>, Error> {
    if launches::is_recording() {
        let nothing = record::literal(Type::U64, u64::MAX, notes);
        return native::filled(&nothing, u64::MAX, Site::here());
    }
    Buffer::repeated(&[u8::MAX; Type::U64.size_bytes()], notes)
}

fn checked((assertion, [lowest, records]): (Arc<Assertion>, [Option<usize>; 2])) -> Option<CheckedAssertion> {
    Some(CheckedAssertion { assertion, lowest, records: records? })
}

/// Returns the report of a lane, see [`CheckedAccess::note`].
fn note(builder: &mut Builder, lane: Value, index: Value, is_signed: bool) -> Value {
    let shown = if is_signed {
        let [min, max] = [i32::MIN, i32::MAX].map(|limit| builder.constant(Type::I64, i64::from(limit) as u64));
        let index = builder.cast(Type::I64, index);
        let index = builder.binary(BinaryOp::Max, index, min);
        let index = builder.binary(BinaryOp::Min, index, max);
        builder.cast(Type::U32, index)
    } else {
        let max = builder.constant(Type::U64, u64::from(u32::MAX));
        let index = builder.cast(Type::U64, index);
        let index = builder.binary(BinaryOp::Min, index, max);
        builder.cast(Type::U32, index)
    };
    let shown = builder.cast(Type::U64, shown);
    let lane = builder.cast(Type::U64, lane);
    let bits = builder.constant(Type::U64, 32);
    let lane = builder.binary(BinaryOp::Shl, lane, bits);
    builder.binary(BinaryOp::Or, lane, shown)
}
