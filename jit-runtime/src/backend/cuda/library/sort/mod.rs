//! Sorts, in the order of [`crate::backend::library`].
//!
//! Short rows are sorted in shared memory, several by one block (`short`). Longer rows are sorted by radix, from the
//! lowest digit on (`radix`): for each digit, blocks count its values in their tiles (`Count`); a prefix sum turns the
//! counts into places; and blocks move their elements there (`Distribute`).

mod key;
mod radix;
mod short;

use super::super::Target;
use super::Routine;
use super::builder::Builder;
use super::plan::{Argument, Plan};
use super::prefix;
use crate::backend::library::{Prefix, Sort, Sorted};
use crate::ir::{ReduceOp, Type};

pub(super) const THREADS: u32 = 256;
/// The values of a digit.
const RADIX: u32 = 256;
/// The elements that a block moves in a pass.
const TILE: usize = 4096;

/// A kernel of sorts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SortPass {
    kind: Kind,
    ty: Type,
    is_descending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    /// Sorts whole rows.
    Short { gives: Outputs },
    /// Counts the values of a digit in each tile.
    Count,
    /// Moves elements to the places of their digit.
    Distribute { gives: Outputs, is_first: bool },
}

impl SortPass {
    /// Each pass of each sort, also those that are in no plan.
    pub(super) fn all() -> impl Iterator<Item = SortPass> {
        let outputs = [Outputs::Values, Outputs::Positions, Outputs::Both];
        let short = outputs.map(|gives| Kind::Short { gives });
        let distribute = outputs.map(|gives| [false, true].map(|is_first| Kind::Distribute { gives, is_first }));
        let kinds: Vec<Kind> = short.into_iter().chain([Kind::Count]).chain(distribute.into_iter().flatten()).collect();
        let of_type = |kind| Type::ALL.map(|ty| (kind, ty));
        kinds
            .into_iter()
            .flat_map(of_type)
            .flat_map(|(kind, ty)| [false, true].map(|is_descending| SortPass { kind, ty, is_descending }))
    }

    pub(super) fn name(self) -> String {
        let kind = match self.kind {
            Kind::Short { gives } => format!("short_{}", gives.name()),
            Kind::Count => "count".to_owned(),
            Kind::Distribute { gives, is_first: false } => format!("distribute_{}", gives.name()),
            Kind::Distribute { gives, is_first: true } => format!("distribute_{}_first", gives.name()),
        };
        format!("sort_{kind}_{}{}", self.ty, if self.is_descending { "_descending" } else { "" })
    }
}

/// What a pass writes. That of positions reads them as well, unless it is the first one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Outputs {
    Values,
    Positions,
    Both,
}

impl Outputs {
    fn name(self) -> &'static str {
        match self {
            Outputs::Values => "values",
            Outputs::Positions => "positions",
            Outputs::Both => "both",
        }
    }

    fn has_values(self) -> bool {
        self != Outputs::Positions
    }

    fn has_positions(self) -> bool {
        self != Outputs::Values
    }
}

pub(super) fn plan(sort: Sort, ty: Type, len: usize) -> Plan {
    let mut plan = Plan::default();
    let row = sort.row.min(len);
    match row {
        0 => {}
        1..=short::MAX_ROW => short_rows(&mut plan, sort, ty, [len, row]),
        _ => long_rows(&mut plan, sort, ty, [len, row]),
    }
    plan
}

/// The outputs of a sort, and the arguments of those that there are.
fn outputs(sort: Sort) -> (Outputs, Vec<Argument>) {
    match sort.gives {
        Sorted::Values => (Outputs::Values, vec![Argument::Output(0)]),
        Sorted::Positions => (Outputs::Positions, vec![Argument::Output(0)]),
        Sorted::Both => (Outputs::Both, vec![Argument::Output(0), Argument::Output(1)]),
    }
}

fn short_rows(plan: &mut Plan, sort: Sort, ty: Type, [len, row]: [usize; 2]) {
    let (gives, targets) = outputs(sort);
    let slots = row.next_power_of_two();
    let rows = len.div_ceil(row);
    let pass = SortPass { kind: Kind::Short { gives }, ty, is_descending: sort.is_descending };
    let mut arguments = vec![Argument::Input(0)];
    arguments.extend(targets);
    arguments.extend([len, row, rows, slots].map(|size| Argument::Word(size as u32)));
    plan.launch(Routine::Sort(pass), rows.div_ceil(short::SLOTS / slots), arguments);
}

/// Memory of elements and their positions.
#[derive(Clone, Copy)]
struct Memory {
    values: Option<Argument>,
    positions: Option<Argument>,
}

fn long_rows(plan: &mut Plan, sort: Sort, ty: Type, [len, row]: [usize; 2]) {
    let (tiles_per_row, rows) = (row.div_ceil(TILE), len.div_ceil(row));
    let (blocks, digits) = (rows * tiles_per_row, ty.size_bytes() as u32);
    let entries = blocks * RADIX as usize;
    let [counts, places] = [(); 2].map(|()| plan.temporary(4 * entries as u64));
    let [output, scratch] = memories(plan, sort, ty, len);
    let sizes = [len, row, tiles_per_row].map(|size| Argument::Word(size as u32));
    let sums = Prefix { op: ReduceOp::Add, is_exclusive: true, is_reverse: false, restart: usize::MAX };
    let routine = |kind| Routine::Sort(SortPass { kind, ty, is_descending: sort.is_descending });
    let mut from = Memory { values: Some(Argument::Input(0)), positions: None };
    for digit in 0..digits {
        let (is_last, is_first) = (digit + 1 == digits, digit == 0);
        // The last pass writes the outputs, every other one before it the scratch memory.
        let to = if (digits - digit) % 2 == 1 { output } else { scratch };
        let gives = match (is_last, to.positions.is_some()) {
            (true, _) => outputs(sort).0,
            (false, true) => Outputs::Both,
            (false, false) => Outputs::Values,
        };
        let parameters = |memory: &[Option<Argument>]| {
            memory.iter().flatten().copied().chain(sizes).chain([Argument::Word(8 * digit)]).collect::<Vec<_>>()
        };
        plan.launch(routine(Kind::Count), blocks, parameters(&[from.values, Some(counts)]));
        prefix::add_to_plan(plan, sums, Type::U32, entries, [counts, places]);
        let from_positions = from.positions.filter(|_| gives.has_positions() && !is_first);
        let to_values = to.values.filter(|_| gives.has_values());
        let memory = [from.values, from_positions, Some(places), to_values, to.positions];
        plan.launch(routine(Kind::Distribute { gives, is_first }), blocks, parameters(&memory));
        from = to;
    }
}

/// The memory that the last pass writes, and that of the pass before it. Passes need the elements even if only their
/// positions are an output.
fn memories(plan: &mut Plan, sort: Sort, ty: Type, len: usize) -> [Memory; 2] {
    let bytes = (len * ty.size_bytes()) as u64;
    let has_scratch = ty.size_bytes() > 1;
    let mut temporary = |is_needed: bool, size: u64| is_needed.then(|| plan.temporary(size));
    let (gives, targets) = outputs(sort);
    let output = match gives {
        Outputs::Values => Memory { values: Some(targets[0]), positions: None },
        Outputs::Positions => Memory { values: temporary(has_scratch, bytes), positions: Some(targets[0]) },
        Outputs::Both => Memory { values: Some(targets[0]), positions: Some(targets[1]) },
    };
    let positions = temporary(has_scratch && gives.has_positions(), 4 * len as u64);
    [output, Memory { values: temporary(has_scratch, bytes), positions }]
}

pub(super) fn body(pass: SortPass, target: Target) -> Builder {
    match pass.kind {
        Kind::Short { gives } => short::sort(pass, gives, target),
        Kind::Count => radix::count(pass, target),
        Kind::Distribute { gives, is_first } => radix::distribute(pass, gives, is_first, target),
    }
}
