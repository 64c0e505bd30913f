//! Recording a call whose target depends on the lane: each target is traced once, under the mask of the lanes that call
//! it.
//!
//! As with branches, the nodes of a target are pure and belong to no region. Only the target that a result comes from
//! depends on the lane, and writes to arrays carry the mask of their lanes. Lanes whose index is out of range take the
//! default.

use std::marker::PhantomData;

use jit_runtime::Site;
use jit_runtime::config;
use jit_runtime::ir::{BinaryOp, CompareOp, Type};

use super::loops::is_equal_literal;
use super::merge::{self, Lanes, Member};
use super::region::{self, Mark, Writes};
use super::report::Report;
use super::{local, record, scatter, tables};
use crate::graph::node::Var;
use crate::graph::numbering;
use crate::graph::op::Op;
use crate::graph::payload::{BranchPayload, CheckedCall, Payload, RegionId, SwitchPayload, control_node, result};
use crate::graph::weak::Weak;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::size::extent::Extent;

/// Up to this total cost of all targets, computing all and selecting is cheaper than jumping.
const SELECT_WORK: u32 = 24;

/// A call that is being recorded. Dropping it before [`SwitchRecorder::finish`] restores the trace to its state before.
pub struct SwitchRecorder {
    /// The target of each lane.
    index: Var,
    /// The index of each target, ascending.
    targets: Vec<u32>,
    /// The number of lanes of the call, as far as its operands determine it.
    width: Size,
    arguments: Vec<Var>,
    checked: Option<CheckedCall>,
    /// Whether targets run as written, and each is computed separately.
    is_evaluated: bool,
    sides: Vec<Side>,
    mark: Option<Mark>,
    /// Reports of the targets.
    reports: Vec<Report>,
    /// The arrays that targets have written, until the call is complete.
    written: Vec<Weak>,
    work_before: u32,
    site: Site,
    /// The stack of open regions belongs to the thread.
    not_send: PhantomData<*const ()>,
}

/// A target that was recorded.
struct Side {
    /// The lanes that call it.
    lanes: Var,
    /// The lanes among them that reach the call.
    mask: Var,
    values: Vec<Var>,
    /// Its writes.
    writes: Writes,
}

impl SwitchRecorder {
    /// Begins a call on the lanes whose `u32` index is that of a target. The width is the common width of all other
    /// operands. Arguments of another width can be returned by all targets.
    ///
    /// # Panics
    ///
    /// When the index depends on a region that is closed.
    #[must_use]
    pub fn begin(index: &Var, targets: Vec<u32>, width: Size, arguments: &[Var], site: Site) -> Self {
        region::check(index, site);
        debug_assert!(targets.is_sorted() && index.ty() == Type::U32);
        let sides = Vec::with_capacity(targets.len());
        let (index, arguments, work_before) = (index.clone(), arguments.to_vec(), numbering::work());
        SwitchRecorder {
            index,
            targets,
            width,
            arguments,
            checked: None,
            is_evaluated: false,
            sides,
            reports: Vec::new(),
            written: Vec::new(),
            mark: None,
            work_before,
            site,
            not_send: PhantomData,
        }
    }

    /// Makes the targets run as written, each to be computed separately: see [`SwitchRecorder::finish_by`].
    pub(crate) fn evaluate(&mut self) {
        self.is_evaluated = true;
    }

    /// In debug mode, reports lanes that reach the call with an index that is not below a count. The index is the one
    /// of the program; masked-off lanes may have any.
    pub(crate) fn check(&mut self, what: &'static str, index: &Var, mask: Option<&Var>, count: usize) {
        if config::is_debug_on() {
            let all = record::literal(Type::Bool, 1, 1);
            let mask = region::conjunction(mask.unwrap_or(&all));
            self.checked = Some(CheckedCall { what, index: index.clone(), mask, count });
        }
    }

    /// Begins the next target.
    #[track_caller]
    pub fn open(&mut self) {
        let target = record::literal(Type::U32, u64::from(self.targets[self.sides.len()]), 1);
        let lanes = record::compare(CompareOp::Eq, &self.index, &target);
        let mask = region::conjunction(&lanes);
        if lanes.literal() != Some(1) || lanes.width() == 0 {
            let open = if self.is_evaluated { region::open_evaluated } else { region::open_side };
            self.mark = Some(open(mask.clone(), self.site));
        }
        self.sides.push(Side { lanes, mask, values: Vec::new(), writes: Writes::default() });
    }

    /// Returns each array after the target if only the target has written to it, otherwise the array before.
    pub(crate) fn latest(&self, before: &[Var], after: &[Var]) -> Vec<Var> {
        match self.mark {
            Some(mark) => scatter::latest_of(&region::writes_of(mark), before, after),
            // It runs on all lanes that reach the call.
            None => after.to_vec(),
        }
    }

    fn complete_target(&mut self) {
        if let Some(mark) = self.mark.take() {
            let closed = region::complete(mark);
            self.reports.extend(closed.reports);
            self.written.extend(closed.written);
        }
    }

    /// Ends the target with its values.
    pub fn close(&mut self, values: Vec<Var>) {
        let writes = self.mark.map(region::writes_of).unwrap_or_default();
        self.complete_target();
        if let Some(side) = self.sides.last_mut() {
            (side.values, side.writes) = (values, writes);
        }
    }

    /// Ends the call; returns its values. Lanes without a target get the defaults. A value that is the same in all
    /// targets bypasses the call.
    ///
    /// # Panics
    ///
    /// When the types of the targets differ, or widths do not match.
    #[must_use]
    pub fn finish(self, defaults: Vec<Var>) -> Vec<Var> {
        let recorded = numbering::work().wrapping_sub(self.work_before);
        self.finish_by(defaults, |call, outputs, width| {
            let count = outputs.iter().filter(|output| matches!(output, Output::Chosen(_))).count();
            // A jump reports numbers out of range; selections would not.
            let is_small =
                call.checked.is_none() && recorded as usize + call.sides.len() * (1 + count) <= SELECT_WORK as usize;
            match count {
                0 => Vec::new(),
                _ if is_small => call.select(outputs),
                _ => call.jump(outputs, Extent::of(width)),
            }
        })
    }

    /// Like [`Self::finish`], for targets that are computed one by one. A function receives the width of the call and
    /// each target's part of the values that differ by lane, with the defaults, and returns those values.
    pub(crate) fn finish_evaluated(
        self,
        defaults: Vec<Var>,
        merge: impl FnOnce(Size, Vec<Computed>, Vec<Var>) -> Vec<Var>,
    ) -> Vec<Var> {
        self.finish_by(defaults, |call, outputs, width| {
            let (defaults, parts) = call.take_parts(outputs);
            merge(width, parts, defaults)
        })
    }

    fn finish_by(
        mut self,
        defaults: Vec<Var>,
        choose: impl FnOnce(&mut Self, &mut [Output], Size) -> Vec<Var>,
    ) -> Vec<Var> {
        self.complete_target();
        let mut outputs: Vec<Output> =
            (0..defaults.len()).map(|position| self.output(position, &defaults[position])).collect();
        drop(defaults);
        let width = self.common_width(&outputs);
        let mut chosen = choose(&mut self, &mut outputs, width).into_iter();
        let take = |output: Output| match output {
            Output::Memory(array) => array,
            Output::Same(value, default) => self.broadcast(&self.masked(&value, &default), width),
            Output::Chosen(_) => self.broadcast(&chosen.next().expect("each selected value has a result"), width),
        };
        let values = outputs.into_iter().map(take).collect();
        region::hand_on(std::mem::take(&mut self.written));
        std::mem::take(&mut self.reports).into_iter().for_each(region::add_report);
        values
    }

    /// Returns the values that each target must compute, and the defaults of the values that differ by lane. The call
    /// retains none of them, so that arrays can be written in place.
    fn take_parts(&mut self, outputs: &mut [Output]) -> (Vec<Var>, Vec<Computed>) {
        self.arguments.clear();
        let mut defaults = Vec::new();
        let part = |side: &Side| Computed { values: Vec::new(), arrays: Vec::new(), writes: side.writes.clone() };
        let mut parts: Vec<Computed> = self.sides.iter().map(part).collect();
        for (position, output) in outputs.iter_mut().enumerate() {
            let mut values = self.sides.iter_mut().map(|side| side.values[position].clone());
            match output {
                Output::Chosen(all) => {
                    defaults.extend(all.pop());
                    parts.iter_mut().zip(all.drain(..)).for_each(|(part, value)| part.values.push(value));
                    all.extend(defaults.last().cloned());
                }
                Output::Memory(array) if !local::is_local(array) => {
                    parts.iter_mut().zip(&mut values).for_each(|(part, array)| part.arrays.push(array));
                }
                Output::Memory(_) | Output::Same(..) => {}
            }
        }
        self.sides.iter_mut().for_each(|side| side.values.clear());
        (defaults, parts)
    }

    /// Returns per-lane local memory that targets have written or replaced.
    fn blended(&self, values: &[Var], default: &Var) -> Var {
        let mut blended = match local::len_of(&values[0]) {
            _ if local::is_local(default) => default.clone(),
            Some(len) => local::fresh(len, default),
            None => values[0].clone(),
        };
        for (side, value) in self.sides.iter().zip(values) {
            if scatter::continues_within(&side.writes, value, &blended) {
                blended = value.clone();
            } else {
                blended = local::select(self.site, &side.lanes, value, &blended);
            }
        }
        blended
    }

    /// Returns the array after all targets, if they have written it by scatters, one after another.
    fn written(&self, values: &[Var], default: &Var) -> Option<Var> {
        let last = values.last()?;
        let continues = |(side, pair): (&Side, &[Var])| {
            pair[1].is_same(&pair[0]) || scatter::continues_within(&side.writes, &pair[1], &pair[0])
        };
        let is_chain = self.sides.iter().skip(1).zip(values.windows(2)).all(continues);
        (is_chain && self.is_written(last, default)).then(|| scatter::settle(last))
    }

    /// Returns whether targets have written an array that was an argument or is a place that they may change.
    fn is_written(&self, array: &Var, default: &Var) -> bool {
        if array.region() == RegionId::WRITING {
            return true;
        }
        let Some((_, writer)) = scatter::before(array) else { return false };
        let is_of = |side: &Side| side.writes.contains(&writer);
        // A target that all lanes call is not a separate region.
        let mut given = self.arguments.iter().chain([default]);
        self.sides.iter().any(is_of) || given.any(|given| scatter::is_version_of(array, given))
    }

    /// Rejects values of different types.
    fn check_types(&self, values: &[Var], default: &Var) {
        if let Some(other) = values.iter().find(|value| value.ty() != default.ty()) {
            let what = format!("the targets of a call return different types, {} and {}", default.ty(), other.ty());
            Misuse::new(what, self.site).value("one value", default).value("another", other).panic();
        }
        if let Some(other) = values.iter().find(|value| local::is_local(value) != local::is_local(&values[0])) {
            let what = "the targets of a call return an array and a `Local` in the same position";
            Misuse::new(what, self.site).value("one value", &values[0]).value("another", other).panic();
        }
    }

    /// Classifies one of the values of the targets.
    fn output(&self, position: usize, default: &Var) -> Output {
        let mut values: Vec<Var> = self.sides.iter().map(|side| side.values[position].clone()).collect();
        self.check_types(&values, default);
        if let Some(array) = self.written(&values, default) {
            return Output::Memory(array);
        }
        if values.iter().any(local::is_local) {
            return Output::Memory(self.blended(&values, default));
        }
        let is_same = |a: &Var, b: &Var| a.is_same(b) || is_equal_literal(a, b);
        if values.iter().all(|value| value.is_same(default)) {
            return Output::Memory(default.clone());
        }
        values.iter().for_each(|value| region::check(value, self.site));
        if values.windows(2).all(|pair| is_same(&pair[0], &pair[1])) {
            if self.is_shared(&values[0]) {
                // Either all lanes have a target, or none has.
                let is_uniform = self.width == 1;
                return Output::Memory(if is_uniform { self.masked(&values[0], default) } else { values[0].clone() });
            }
            return Output::Same(values[0].clone(), default.clone());
        }
        values.push(default.clone());
        Output::Chosen(values)
    }

    /// Returns whether a value is an argument that all lanes share, according to its width.
    fn is_shared(&self, value: &Var) -> bool {
        let is_wide = value.width() != 1 && value.width() != self.width;
        is_wide && self.arguments.iter().any(|array| array.is_same(value))
    }

    /// Returns the width of the call: that of its operands and of all values.
    fn common_width(&self, outputs: &[Output]) -> Size {
        let mut width = self.width;
        for value in outputs.iter().flat_map(Output::values) {
            if width == 1 {
                width = value.width();
            } else if value.width() != 1 && value.width() != width {
                let what = format!("a call over {width} lanes returns a value of width {}", value.width());
                Misuse::new(what, self.site)
                    .value("the value", value)
                    .value("the call's target", &self.index)
                    .hint(
                        "results of a call are as wide as the call, whose width follows from its target and arguments, \
                         or have width 1",
                    )
                    .panic();
            }
        }
        width
    }

    fn broadcast(&self, value: &Var, width: Size) -> Var {
        if value.width() == width { value.clone() } else { record::broadcast(value, width) }
    }

    /// Returns a value on the lanes that have a target, the default on the others.
    fn masked(&self, value: &Var, default: &Var) -> Var {
        record::select_at(self.site, &self.has_target(), value, default)
    }

    /// Returns the lanes that have a target.
    fn has_target(&self) -> Var {
        match &self.sides[..] {
            [only] => only.lanes.clone(),
            sides => {
                let cases: Vec<u32> = (0..sides.len() as u32).collect();
                record::compare(CompareOp::Lt, &self.case(&cases), &self.literal(sides.len() as u32))
            }
        }
    }

    fn literal(&self, value: u32) -> Var {
        record::literal(Type::U32, u64::from(value), 1)
    }

    /// Returns the position of each lane's target in tables, which have an entry for each target from the first to the
    /// last. Lanes without a target may be beyond the end.
    fn slot(&self) -> Var {
        record::binary(BinaryOp::Sub, &self.index, &self.literal(self.targets[0]))
    }

    fn slot_of(&self, side: usize) -> usize {
        (self.targets[side] - self.targets[0]) as usize
    }

    /// Returns the length of tables.
    fn span(&self) -> usize {
        self.slot_of(self.targets.len() - 1) + 1
    }

    /// Returns the case of each lane, from that of each target; `u32::MAX`, or any number not below the number of
    /// targets, on lanes without one.
    fn case(&self, cases: &[u32]) -> Var {
        let slot = self.slot();
        if self.span() == cases.len() && cases.iter().copied().eq(0..cases.len() as u32) {
            return slot;
        }
        let is_inside = record::compare(CompareOp::Lt, &slot, &self.literal(self.span() as u32));
        // Plus one, so that lanes without a target read zero.
        let places = cases.iter().enumerate().map(|(side, case)| (self.slot_of(side), self.literal(case + 1)));
        let table = tables::table(Type::U32, &places.collect::<Vec<_>>(), self.span());
        let table = table.unwrap_or_else(|| {
            Misuse::new("there is not enough memory for the tables of a call's targets", self.site).panic()
        });
        let case = record::gather_node(&table, &slot, Some(&is_inside), 0, RegionId::NONE);
        record::binary(BinaryOp::Sub, &case, &self.literal(1))
    }

    /// Returns the targets, with those merged that differ only in values, and the case of each lane.
    fn cases(&self, results: &[Vec<Var>]) -> (Vec<Side>, Var) {
        self.merged(results).unwrap_or_else(|| {
            let values = |side: usize| results.iter().map(|values| values[side].clone()).collect();
            let side = |(position, side): (usize, &Side)| Side {
                lanes: side.lanes.clone(),
                mask: side.mask.clone(),
                values: values(position),
                writes: Writes::default(),
            };
            let cases: Vec<u32> = (0..self.sides.len() as u32).collect();
            (self.sides.iter().enumerate().map(side).collect(), self.case(&cases))
        })
    }

    /// Like [`Self::cases`], if any are merged.
    fn merged(&self, results: &[Vec<Var>]) -> Option<(Vec<Side>, Var)> {
        let member = |(position, side): (usize, &'_ Side)| {
            let values = results.iter().map(|values| values[position].clone()).collect();
            (self.slot_of(position), values, side.lanes.clone(), side.mask.clone())
        };
        let members: Vec<(usize, Vec<Var>, Var, Var)> = self.sides.iter().enumerate().map(member).collect();
        let members: Vec<Member<'_>> = members
            .iter()
            .map(|(slot, values, lanes, mask)| Member { slot: *slot, values: values.clone(), lanes, mask })
            .collect();
        let shared: Vec<&Var> = self.arguments.iter().chain([&self.index]).collect();
        let groups = merge::groups(&members, &shared);
        if groups.len() == members.len() {
            return None;
        }
        let mut cases = vec![0; members.len()];
        for (case, (group, _)) in groups.iter().enumerate() {
            group.iter().for_each(|&side| cases[side] = case as u32);
        }
        let index = self.case(&cases);
        let sides = groups.iter().enumerate().map(|(case, (group, merged))| {
            let Some(merged) = merged else {
                let Member { lanes, mask, values, .. } = &members[group[0]];
                return Some(Side {
                    lanes: (*lanes).clone(),
                    mask: (*mask).clone(),
                    values: values.clone(),
                    writes: Writes::default(),
                });
            };
            let lanes = match groups.len() {
                1 => self.has_target(),
                _ => record::compare(CompareOp::Eq, &index, &self.literal(case as u32)),
            };
            let mask = region::conjunction(&lanes);
            let values = merged.record(&Lanes { lanes: &lanes, mask: &mask, slot: &self.slot(), span: self.span() })?;
            Some(Side { lanes, mask, values, writes: Writes::default() })
        });
        Some((sides.collect::<Option<Vec<Side>>>()?, index))
    }

    /// Computes all targets in all lanes.
    fn select(&self, outputs: &[Output]) -> Vec<Var> {
        let choose = |values: &Vec<Var>| {
            let default = values[self.sides.len()].clone();
            let sides = self.sides.iter().zip(values);
            sides.fold(default, |other, (side, value)| record::select_at(self.site, &side.lanes, value, &other))
        };
        outputs.iter().filter_map(Output::chosen).map(choose).collect()
    }

    /// Makes each lane compute its own target.
    fn jump(&self, outputs: &[Output], width: Extent) -> Vec<Var> {
        let results: Vec<Vec<Var>> = outputs.iter().filter_map(Output::chosen).cloned().collect();
        let types: Vec<Type> = results.iter().map(|values| values[0].ty()).collect();
        let defaults: Vec<Var> = results.iter().filter_map(|values| values.last().cloned()).collect();
        let (cases, index) = self.cases(&results);
        let can_be_less = cases.len() == 1 && self.checked.is_none();
        let (op, result_op, payload) = match &cases[..] {
            [only]
                if can_be_less
                    && only.values.iter().fold(0_u32, |sum, value| sum.saturating_add(value.cost())) <= SELECT_WORK =>
            {
                let pairs = only.values.iter().zip(&defaults);
                return pairs
                    .map(|(value, default)| record::select_at(self.site, &only.lanes, value, default))
                    .collect();
            }
            [only] if can_be_less => {
                let results =
                    only.values.iter().zip(&defaults).map(|(value, default)| [value.clone(), default.clone()]);
                let payload = BranchPayload { condition: only.lanes.clone(), results: results.collect() };
                (Op::Branch, Op::BranchResult, Payload::Branch(payload))
            }
            cases => {
                let masks = cases.iter().map(|side| side.mask.clone()).collect();
                let values = |position: usize| cases.iter().map(move |side| side.values[position].clone());
                let results = defaults
                    .into_iter()
                    .enumerate()
                    .map(|(position, default)| values(position).chain([default]).collect());
                let (results, checked) = (results.collect(), self.checked.clone());
                let payload = SwitchPayload { index, masks, is_exclusive: false, results, checked };
                (Op::Switch, Op::SwitchResult, Payload::Switch(payload))
            }
        };
        let mut region = RegionId::NONE;
        payload.inputs().for_each(|(_, var)| region = region.max(var.region()));
        let node = control_node(op, width, payload, region, self.site);
        let results = types.into_iter().enumerate();
        results.map(|(position, ty)| result(result_op, &node, ty, width, position, region, self.site)).collect()
    }
}

impl Drop for SwitchRecorder {
    fn drop(&mut self) {
        region::take_back(&self.written);
        self.mark.take().into_iter().for_each(region::give_up);
    }
}

/// The part of a target in a call whose targets are computed one by one.
pub(crate) struct Computed {
    /// The values that differ by lane.
    pub(crate) values: Vec<Var>,
    /// The arrays after the target.
    pub(crate) arrays: Vec<Var>,
    /// The nodes that write to arrays on its lanes.
    pub(crate) writes: Writes,
}

/// The kinds of values that all targets have.
enum Output {
    /// An array that the targets have written by scatters, each on its own lanes, or have not changed.
    Memory(Var),
    /// The common value of all targets, and the default.
    Same(Var, Var),
    /// The value in each target, the default last.
    Chosen(Vec<Var>),
}

impl Output {
    fn chosen(&self) -> Option<&Vec<Var>> {
        match self {
            Output::Chosen(values) => Some(values),
            Output::Memory(_) | Output::Same(..) => None,
        }
    }

    /// Returns the per-lane values of the call.
    fn values(&self) -> impl Iterator<Item = &Var> {
        let (same, chosen) = match self {
            Output::Memory(_) => (None, [].as_slice()),
            Output::Same(value, default) => (Some([value, default]), [].as_slice()),
            Output::Chosen(values) => (None, values.as_slice()),
        };
        same.into_iter().flatten().chain(chosen)
    }
}
