//! Accesses to all elements of records: to `lane * count + 0`, …, `lane * count + (count - 1)`.
//!
//! Examples are the colours of pixels and the elements of small matrices. The records of a packet's lanes are next to
//! each other in memory. So the scatters are executed together, at the place of the last one: the vectors are
//! interleaved in registers and stored one after another, instead of element by element. Records that are not entirely
//! in range, or of lanes that are masked, are scattered as usual. Gathers of all elements are [rows](super::rows):
//! their vectors are loaded one after another, and separated in registers.

use rustc_hash::FxHashMap;

use super::analysis::{Analysis, Shape};
use super::rows::Row;
use crate::backend::neighbours::{ScatterRun, scatter_runs};
use crate::ir::{BinaryOp, Inst, Kernel, Op, ParamId, TOP, Value};

/// The most elements of a record: their vectors are in registers at the same time.
const MOST: u64 = 16;

/// The scatters of all elements of records.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Record {
    pub(super) buffer: ParamId,
    /// Consecutive numbers: a lane's record begins at this number times the number of elements.
    pub(super) number: Value,
    /// The index and the value of each element.
    pub(super) elements: Vec<(Value, Value)>,
    /// The index of the last scatter.
    last: Value,
}

/// The records of a kernel.
#[derive(Default)]
pub(super) struct Records {
    written: Vec<Record>,
    /// For each row that is a whole record: the record's number.
    read: Vec<Option<Value>>,
}

impl Records {
    /// Finds the records that a kernel scatters. Nothing else may access the buffer between the scatters.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Records {
        let is_plain = |inst: &Inst| matches!(inst.op, Op::Scatter { reduce: None, mask: None, .. });
        if analysis.rows.rows.is_empty() && !kernel.region(TOP).insts.iter().any(is_plain) {
            return Records::default();
        }
        let places = Places::new(kernel, analysis);
        let read = analysis.rows.rows.iter().map(|row| places.read_by(row)).collect();
        let place = |index| places.of(index).map(|place| (place.first, place.column as i64));
        let runs = scatter_runs(kernel.region(TOP), place);
        let mut written: Vec<Record> = runs.into_iter().filter_map(|run| places.written_by(run)).collect();
        // Scatters are found by their buffer and index.
        let counts = scatters(kernel, &written);
        written.retain(|record| record.elements.iter().all(|&(index, _)| counts[&(record.buffer, index)] == 1));
        Records { written, read }
    }

    /// Returns the record that a scatter belongs to, and whether it is its last scatter.
    pub(super) fn find(&self, buffer: ParamId, index: Value) -> Option<(&Record, bool)> {
        let is_of =
            |record: &&Record| record.buffer == buffer && record.elements.iter().any(|&(element, _)| element == index);
        self.written.iter().find(is_of).map(|record| (record, record.last == index))
    }

    /// Returns the number of each lane's record, if a row is a whole one.
    pub(super) fn read_by(&self, row: u32) -> Option<Value> {
        self.read.get(row as usize).copied().flatten()
    }
}

/// The number of scatters to each buffer and index that some records have.
fn scatters(kernel: &Kernel, records: &[Record]) -> FxHashMap<(ParamId, Value), usize> {
    let of =
        |record: &Record| record.elements.iter().map(|&(index, _)| ((record.buffer, index), 0)).collect::<Vec<_>>();
    let mut counts: FxHashMap<_, usize> = records.iter().flat_map(of).collect();
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        if let Op::Scatter { buffer, index, .. } = inst.op
            && let Some(count) = counts.get_mut(&(buffer, index))
        {
            *count += 1;
        }
    }
    counts
}

/// The place of an index in a record.
struct Place {
    /// The index of the record's first element, which is a product of …
    first: Value,
    /// … the record's number …
    number: Value,
    /// … and the number of elements.
    count: u64,
    column: u64,
}

/// For each sum and product of a value and a constant in the top region: both.
struct Places<'a> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    sums: FxHashMap<Value, (Value, u64)>,
    products: FxHashMap<Value, (Value, u64)>,
}

impl<'a> Places<'a> {
    fn new(kernel: &'a Kernel, analysis: &'a Analysis) -> Self {
        let of = |wanted: BinaryOp| {
            let with_constant = |inst: &Inst| {
                let Op::Binary(op, a, b) = inst.op else { return None };
                let found = analysis.constant(b).map(|constant| (a, constant));
                let found = found.or_else(|| analysis.constant(a).map(|constant| (b, constant)));
                found.filter(|_| op == wanted).map(|found| (inst.first, found))
            };
            kernel.region(TOP).insts.iter().filter_map(with_constant).collect()
        };
        Places { kernel, analysis, sums: of(BinaryOp::Add), products: of(BinaryOp::Mul) }
    }

    /// Takes an index apart, if the lanes' records are one after another.
    fn of(&self, index: Value) -> Option<Place> {
        let ty = self.kernel.ty(index);
        let (first, column) = self.sums.get(&index).copied().unwrap_or((index, 0));
        let (number, count) = self.products.get(&first).copied()?;
        let are_neighbours = matches!(self.analysis.shape(number), Shape::Linear { .. });
        let is_record = are_neighbours && (2..=MOST).contains(&count) && column < count;
        (is_record && ty.is_integer() && ty.bits() >= 32).then_some(Place { first, number, count, column })
    }

    /// The numbers of the records that a row reads, one in each lane, if it reads them as a whole.
    fn read_by(&self, row: &Row) -> Option<Value> {
        let place = self.of(row.index)?;
        let is_whole = place.column as i64 + row.start == 0 && row.columns.len() as u64 == place.count;
        (is_whole && row.mask.is_none()).then_some(place.number)
    }

    /// The record that a run of scatters writes as a whole.
    fn written_by(&self, run: ScatterRun) -> Option<Record> {
        let ScatterRun { buffer, mask: None, mut scatters, .. } = run else { return None };
        let last = scatters.last()?.index;
        let Place { number, count, .. } = self.of(last)?;
        scatters.sort_by_key(|scattered| scattered.offset);
        let elements = scatters.iter().map(|scattered| (scattered.index, scattered.value)).collect();
        (scatters.len() as u64 == count).then_some(Record { buffer, number, elements, last })
    }
}
