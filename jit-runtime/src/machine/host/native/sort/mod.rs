//! Sorts the elements of each row, and returns their previous positions on request.
//!
//! # Order
//!
//! Integers are ordered by value, and `false` before `true`. Floats are ordered by value, with -0 before +0. All NaNs
//! are equal and come last; their bits are unspecified. Equal elements retain their order, in descending order as well,
//! so a sorted array is the same whatever algorithm sorted it.
//!
//! # How
//!
//! Short rows are sorted by comparisons, longer ones by a radix sort from the lowest digit on ([`radix`]). Rows are
//! sorted in parallel, one thread each. A single long row is cut into blocks, which first count their digits, so that
//! each block knows where to put its elements. Digits that are the same in all elements are skipped, so numbers of a
//! small range take few passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Context, Elements, Operand, Step};
use crate::Error;
use crate::ir::Type;
use crate::machine::library::Sort;
use crate::memory::Buffer;

mod radix;

use radix::{Order, Positions, RADIX, Table, Targets, Word};

/// Rows up to this length are sorted by comparisons.
const SHORT: usize = 128;
/// A single row is cut into blocks of at least this many elements ...
const LONG_BLOCK: usize = 1 << 14;
/// ... and into at most this many blocks.
const MAX_BLOCKS: usize = 64;
/// The number of elements, in several rows, that one thread sorts before it looks for other work.
const ROWS_BLOCK: usize = 1 << 12;
/// The time for one element in each pass, roughly.
const PASS_NS: f64 = 1.2;

/// Launches a sort that was checked.
pub(super) fn launch(context: Context, sort: Sort, input: &Operand, outputs: &[Operand]) -> Result<(), Error> {
    if input.len == 0 {
        return Ok(());
    }
    match input.ty.size_bytes() {
        1 => sort_words::<u8>(context, sort, input, outputs),
        2 => sort_words::<u16>(context, sort, input, outputs),
        4 => sort_words::<u32>(context, sort, input, outputs),
        _ => sort_words::<u64>(context, sort, input, outputs),
    }
}

fn sort_words<W: Word>(context: Context, sort: Sort, input: &Operand, outputs: &[Operand]) -> Result<(), Error> {
    let job = Job::<W>::new(sort, input, outputs)?;
    if job.len > job.row || job.len <= LONG_BLOCK { job.launch_rows(context) } else { job.launch_blocks(context) }
}

/// Memory for elements and their positions.
#[derive(Clone, Copy)]
struct Memory<W> {
    values: Option<Elements<W>>,
    positions: Option<Elements<u32>>,
}

impl<W> Memory<W> {
    /// The targets of elements and positions, starting at an element.
    fn targets(&self, first: usize) -> Targets<W> {
        // SAFETY: the position is inside the memory, or at its end.
        let values = self.values.map(|values| unsafe { values.first.add(first) });
        // SAFETY: as above.
        let positions = self.positions.map(|positions| unsafe { positions.first.add(first) });
        Targets { values, positions }
    }
}

/// The part that all steps of a sort share.
struct Job<W> {
    len: usize,
    row: usize,
    order: Order<W>,
    input: Elements<W>,
    output: Memory<W>,
    /// Whether the elements are an output, and not only their positions.
    gives_values: bool,
    /// The memory that every other pass writes.
    scratch: Memory<W>,
    reads: Vec<Arc<Buffer>>,
    writes: Vec<Arc<Buffer>>,
}

impl<W: Word> Job<W> {
    fn new(sort: Sort, input: &Operand, outputs: &[Operand]) -> Result<Job<W>, Error> {
        let len = input.len;
        let row = sort.row.min(len);
        let mut writes: Vec<Arc<Buffer>> = outputs.iter().map(|output| Arc::clone(&output.buffer)).collect();
        let mut scratch = |ty: Type| {
            // SAFETY: every element is written before it is read.
            let memory = unsafe { Operand::alloc_uninit(ty, len)? };
            writes.push(Arc::clone(&memory.buffer));
            Ok::<_, Error>(memory)
        };
        let (values, positions) = sort.targets(outputs);
        let mut output = Memory { values: values.map(Elements::of), positions: positions.map(Elements::of) };
        let mut other = Memory { values: None, positions: None };
        if row > SHORT {
            // Passes need the elements even if only their positions are wanted.
            if output.values.is_none() && W::DIGITS > 1 {
                output.values = Some(Elements::of(&scratch(input.ty)?));
            }
            if W::DIGITS > 1 {
                other.values = Some(Elements::of(&scratch(input.ty)?));
                other.positions = match output.positions {
                    Some(_) => Some(Elements::of(&scratch(Type::U32)?)),
                    None => None,
                };
            }
        }
        Ok(Job {
            len,
            row,
            order: Order::of(input.ty, sort.is_descending),
            input: Elements::of(input),
            output,
            gives_values: values.is_some(),
            scratch: other,
            reads: vec![Arc::clone(&input.buffer)],
            writes,
        })
    }

    fn step(&self, context: Context, blocks: usize, estimate_ns: f64) -> Step {
        let (reads, writes) = (self.reads.clone(), self.writes.clone());
        Step { context, width: self.len, blocks, estimate_ns, reads, writes, carries: None }
    }

    /// Sorts rows, each on one thread.
    fn launch_rows(self, context: Context) -> Result<(), Error> {
        let rows_per_block = (ROWS_BLOCK / self.row).max(1);
        let stride = rows_per_block * self.row;
        let estimate = PASS_NS * (self.len * (W::DIGITS + 1)) as f64;
        let step = self.step(context, self.len.div_ceil(stride), estimate);
        let run = move |block: usize| {
            let end = self.len.min((block + 1) * stride);
            for first in (block * stride..end).step_by(self.row) {
                // SAFETY: rows are disjoint, and the step has exclusive access to their memory.
                unsafe { self.sort_row(first, end.min(first + self.row)) };
            }
        };
        // SAFETY: the function accesses the buffers of the job, which are as long as their operands state.
        unsafe { step.submit(run) }
    }

    /// # Safety
    ///
    /// No other thread may access the row in the outputs and the scratch memory, or write it in the input.
    unsafe fn sort_row(&self, first: usize, end: usize) {
        // SAFETY: the caller's promise.
        let values = unsafe { self.input.get(first..end) };
        if values.len() <= SHORT {
            // SAFETY: as above.
            return unsafe { self.sort_short_row(values, self.output.targets(first)) };
        }
        let mut tables = [[0; RADIX]; 8];
        let tables = &mut tables[..W::DIGITS];
        radix::count_all(values, self.order, tables);
        let route = Route::of((0..W::DIGITS).map(|digit| !tables[digit].contains(&(values.len() as u32))));
        for (digit, table) in tables.iter_mut().enumerate() {
            let Some(pass) = route.pass(digit) else { continue };
            let mut next = 0;
            table.iter_mut().for_each(|place| next += std::mem::replace(place, next));
            // SAFETY: as above; the places are those of the row.
            unsafe { self.distribute(pass, first..end, first, digit, *table) };
        }
    }

    /// # Safety
    ///
    /// The targets must have room, and no other thread may access them.
    unsafe fn sort_short_row(&self, values: &[W], targets: Targets<W>) {
        let mut pairs = [(W::default(), 0_u32); SHORT];
        let pairs = &mut pairs[..values.len()];
        for ((pair, value), position) in pairs.iter_mut().zip(values).zip(0..) {
            *pair = (value.key(self.order), position);
        }
        pairs.sort_unstable();
        for (place, &(_, position)) in pairs.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                if let Some(to) = targets.values {
                    to.add(place).write(values[position as usize]);
                }
                if let Some(to) = targets.positions {
                    to.add(place).write(position);
                }
            }
        }
    }

    /// Distributes elements of a row by a digit to the target of a pass.
    ///
    /// # Safety
    ///
    /// No other thread may access the elements that are read, or the positions that are written.
    unsafe fn distribute(
        &self,
        pass: Pass,
        range: std::ops::Range<usize>,
        row_first: usize,
        digit: usize,
        places: Table,
    ) {
        let (mut from, mut to) = (self.scratch, self.output);
        if !pass.writes_output {
            std::mem::swap(&mut from, &mut to);
        }
        let (values, positions) = if pass.is_first {
            // SAFETY: the caller's promise.
            (unsafe { self.input.get(range.clone()) }, Positions::From((range.start - row_first) as u32))
        } else {
            let (values, positions) = (from.values.unwrap_or(self.input), from.positions);
            // SAFETY: as above; earlier passes wrote the whole row.
            let positions = positions.map_or(Positions::From(0), |at| Positions::At(unsafe { at.get(range.clone()) }));
            // SAFETY: as above.
            (unsafe { values.get(range) }, positions)
        };
        if pass.is_last && !self.gives_values {
            to.values = None;
        }
        // SAFETY: the caller's promise.
        unsafe { radix::distribute(values, positions, (self.order, digit), places, to.targets(row_first)) };
    }

    /// The elements that a pass reads.
    fn source(&self, pass: Pass) -> Elements<W> {
        let from = if pass.writes_output { self.scratch } else { self.output };
        if pass.is_first { self.input } else { from.values.unwrap_or(self.input) }
    }
}

/// The digits that a sort uses, and the target of each pass, so that the last one writes the outputs.
#[derive(Clone, Copy)]
struct Route(u32);

/// A pass over the elements.
#[derive(Clone, Copy)]
struct Pass {
    is_first: bool,
    is_last: bool,
    writes_output: bool,
}

impl Route {
    /// Uses the digits that differ. If none does, uses the first one, as the elements have to be moved to the outputs.
    fn of(differs: impl Iterator<Item = bool>) -> Route {
        let digits = differs.enumerate().fold(0, |digits, (digit, differs)| digits | u32::from(differs) << digit);
        Route(digits.max(1))
    }

    /// The pass of a digit, if there is one.
    fn pass(self, digit: usize) -> Option<Pass> {
        let later = (self.0 >> digit >> 1).count_ones();
        let is_first = self.0 & ((1 << digit) - 1) == 0;
        let pass = Pass { is_first, is_last: later == 0, writes_output: later.is_multiple_of(2) };
        (self.0 >> digit & 1 == 1).then_some(pass)
    }
}

/// A long row that is cut into blocks.
struct Long<W> {
    job: Job<W>,
    block: usize,
    blocks: usize,
    /// For each block a table of each digit.
    tables: Elements<Table>,
    /// The bits of the [`Route`], set when all digits have been counted.
    route: AtomicU32,
}

impl<W: Word> Job<W> {
    /// Sorts one row on all threads.
    fn launch_blocks(mut self, context: Context) -> Result<(), Error> {
        let block = self.len.div_ceil(MAX_BLOCKS).max(LONG_BLOCK);
        let blocks = self.len.div_ceil(block);
        // SAFETY: every element is written before it is read.
        let memory = unsafe { Operand::alloc_uninit(Type::U32, blocks * W::DIGITS * RADIX)? };
        let tables = Elements { first: memory.buffer.address() as *mut Table, len: blocks * W::DIGITS };
        self.writes.push(memory.buffer);
        let pass_ns = PASS_NS * self.len as f64;
        let long = Arc::new(Long { job: self, block, blocks, tables, route: AtomicU32::new(0) });
        let submit = |blocks: usize, estimate_ns: f64, run: fn(&Long<W>, usize, usize), digit: usize| {
            let step = long.job.step(context, blocks, estimate_ns);
            let long = Arc::clone(&long);
            // SAFETY: the function accesses the buffers of the job; its blocks have separate tables, elements and
            // positions.
            unsafe { step.submit(move |block| run(&long, digit, block)) }
        };
        submit(blocks, pass_ns, Long::count_all, 0)?;
        submit(1, pass_ns / 64.0, Long::plan, 0)?;
        for digit in 0..W::DIGITS {
            submit(blocks, pass_ns / 2.0, Long::count, digit)?;
            submit(1, pass_ns / 64.0, Long::place, digit)?;
            submit(blocks, pass_ns, Long::distribute, digit)?;
        }
        Ok(())
    }
}

impl<W: Word> Long<W> {
    fn range(&self, block: usize) -> std::ops::Range<usize> {
        block * self.block..self.job.len.min((block + 1) * self.block)
    }

    fn pass(&self, digit: usize) -> Option<Pass> {
        Route(self.route.load(Ordering::Relaxed)).pass(digit)
    }

    fn count_all(&self, _: usize, block: usize) {
        // SAFETY: the input is only read, and each block has its own tables.
        let (values, tables) = unsafe {
            (self.job.input.get(self.range(block)), self.tables.get_mut(block * W::DIGITS..(block + 1) * W::DIGITS))
        };
        radix::count_all(values, self.job.order, tables);
    }

    fn plan(&self, _: usize, _: usize) {
        // SAFETY: the step has one block, and the tables were written by the step before.
        let tables = unsafe { self.tables.get(0..self.blocks * W::DIGITS) };
        let differs = |digit: usize| {
            let value = tables[digit].iter().position(|count| *count > 0).unwrap_or(0);
            (0..self.blocks).any(|block| tables[block * W::DIGITS + digit][value] as usize != self.range(block).len())
        };
        self.route.store(Route::of((0..W::DIGITS).map(differs)).0, Ordering::Relaxed);
    }

    /// Counts a digit in the current order of elements. For the first pass it has been counted already.
    fn count(&self, digit: usize, block: usize) {
        let Some(pass) = self.pass(digit).filter(|pass| !pass.is_first) else { return };
        // SAFETY: the step writes nothing but tables, and this table belongs to the block.
        let (values, table) = unsafe {
            (self.job.source(pass).get(self.range(block)), &mut self.tables.get_mut(self.table(digit, block))[0])
        };
        radix::count(values, self.job.order, digit, table);
    }

    fn table(&self, digit: usize, block: usize) -> std::ops::Range<usize> {
        let table = block * W::DIGITS + digit;
        table..table + 1
    }

    fn place(&self, digit: usize, _: usize) {
        if self.pass(digit).is_some() {
            // SAFETY: the step has one block, and each table is borrowed for one use.
            radix::places(|block| unsafe { &mut self.tables.get_mut(self.table(digit, block))[0] }, self.blocks);
        }
    }

    fn distribute(&self, digit: usize, block: usize) {
        let Some(pass) = self.pass(digit) else { return };
        // SAFETY: tables are only read in this step.
        let places = unsafe { self.tables.get(self.table(digit, block))[0] };
        // SAFETY: the positions of different blocks are disjoint, and elements that are read are not written in this
        // step.
        unsafe { self.job.distribute(pass, self.range(block), 0, digit, places) };
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::tests::{XorShift, operand, run, values};
    use super::*;
    use crate::ir::scalar;
    use crate::launch::native::{Call, Launch, Sorted};
    use crate::launch::{native, set_threads};

    /// A number whose order is that of the elements: the order that the module documents, defined by comparisons.
    fn rank(ty: Type, bits: u64) -> (i32, i128) {
        if !ty.is_float() {
            let shift = 64 - ty.bits();
            let signed = matches!(ty, Type::I8 | Type::I16 | Type::I32 | Type::I64);
            return (0, if signed { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits) });
        }
        let (magnitude, sign) = (bits & (ty.bit_mask() >> 1), bits >> (ty.bits() - 1) & 1);
        let is_nan = match ty {
            Type::F16 => f16::from_bits(bits as u16).is_nan(),
            Type::BF16 => bf16::from_bits(bits as u16).is_nan(),
            Type::F32 => f32::from_bits(bits as u32).is_nan(),
            _ => f64::from_bits(bits).is_nan(),
        };
        match (is_nan, sign) {
            (true, _) => (1, 0),
            (false, 0) => (0, i128::from(magnitude)),
            (false, _) => (0, -1 - i128::from(magnitude)),
        }
    }

    fn check(sort: Sort, ty: Type, input: &[u64]) {
        let mut expected: Vec<u32> = Vec::new();
        for row in input.chunks(sort.row) {
            let mut order: Vec<u32> = (0..row.len() as u32).collect();
            let rank = |position: &u32| rank(ty, row[*position as usize]);
            order.sort_by(|a, b| if sort.is_descending { rank(b).cmp(&rank(a)) } else { rank(a).cmp(&rank(b)) });
            expected.extend(order);
        }
        let first = |index: usize| index / sort.row * sort.row;
        let sorted: Vec<u64> =
            expected.iter().enumerate().map(|(index, at)| input[first(index) + *at as usize]).collect();
        let what = format!("{sort:?} of {ty} × {}", input.len());
        for gives in [Sorted::Values, Sorted::Positions, Sorted::Both] {
            let (to, at) = (Operand::alloc(ty, input.len()).unwrap(), Operand::alloc(Type::U32, input.len()).unwrap());
            let outputs = match gives {
                Sorted::Values => vec![to.clone()],
                Sorted::Positions => vec![at.clone()],
                Sorted::Both => vec![to.clone(), at.clone()],
            };
            run(Call::Sort(Sort { gives, ..sort }), vec![operand(ty, input)], outputs).unwrap();
            if gives != Sorted::Positions {
                assert!(values(&to) == sorted, "elements: {what}");
            }
            if gives != Sorted::Values {
                assert!(values(&at).iter().map(|at| *at as u32).eq(expected.iter().copied()), "positions: {what}");
            }
        }
    }

    fn noise(ty: Type, len: usize) -> Vec<u64> {
        let mut random = XorShift(len as u64 * 3 + 1);
        let number = |random: &mut XorShift| match random.next() % 32 {
            _ if ty == Type::Bool => random.next() >> 9 & 1,
            0 => 1 << (ty.bits() - 1),
            1 => 0,
            // For floats, also infinities and NaN.
            2 if ty.is_float() => negative_infinity_or_nan(ty, random.next()),
            _ => random.next() >> 7 & ty.bit_mask(),
        };
        (0..len).map(|_| number(&mut random)).collect()
    }

    fn negative_infinity_or_nan(ty: Type, random: u64) -> u64 {
        let infinity = scalar::cast(Type::F64, ty, f64::INFINITY.to_bits());
        infinity | (random & 1) << (ty.bits() - 1) | (random >> 8 & 3)
    }

    #[test]
    fn rows_of_every_type_and_length_are_sorted() {
        for ty in Type::ALL {
            for len in [0, 1, 2, SHORT, SHORT + 1, 1000, 3 * LONG_BLOCK + 7] {
                for is_descending in [false, true] {
                    for row in [usize::MAX, 1, 7, SHORT + 3, LONG_BLOCK] {
                        check(Sort { is_descending, row, gives: Sorted::Both }, ty, &noise(ty, len));
                    }
                }
            }
        }
    }

    #[test]
    fn digits_that_do_not_differ_are_left_out() {
        let sort = Sort { is_descending: false, row: usize::MAX, gives: Sorted::Both };
        for len in [500, 2 * LONG_BLOCK + 5] {
            let noise = noise(Type::U64, len);
            for mask in [0, 0xff, 0xff00, 0xff00ff, 0xff00_ff00_ff00_0000, 0x1_0000] {
                check(sort, Type::U64, &noise.iter().map(|bits| bits & mask | 0x55 << 56).collect::<Vec<_>>());
                check(sort, Type::F32, &noise.iter().map(|bits| bits & mask & 0xffff_ffff).collect::<Vec<_>>());
            }
            check(sort, Type::U32, &(0..len as u64).collect::<Vec<_>>());
            check(sort, Type::U32, &(0..len as u64).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn long_rows_are_sorted_by_any_number_of_threads() {
        for threads in [1, 2, 5] {
            set_threads(threads);
            for ty in [Type::U8, Type::F16, Type::F32, Type::I64] {
                let sort = Sort { is_descending: false, row: usize::MAX, gives: Sorted::Both };
                check(sort, ty, &noise(ty, 200_003));
            }
        }
        set_threads(2);
    }

    #[test]
    fn wrong_operands_of_sorts_are_refused() {
        let sort = Sort { is_descending: false, row: 4, gives: Sorted::Positions };
        let (input, output) = (operand(Type::F32, &[1, 2]), operand(Type::F32, &[1, 2]));
        let launch = |sort: Sort, outputs: Vec<Operand>| {
            let launch = Launch {
                device: crate::config::Device::Cpu,
                call: Call::Sort(sort),
                inputs: vec![input.clone()],
                outputs,
                site: None,
            };
            native::launch(launch).unwrap_err().to_string()
        };
        assert!(launch(sort, vec![output.clone()]).contains("the outputs are [U32]"));
        assert!(launch(Sort { gives: Sorted::Values, row: 0, ..sort }, vec![output]).contains("at least one element"));
        assert!(launch(sort, vec![operand(Type::U32, &[1])]).contains("same width"));
    }
}
