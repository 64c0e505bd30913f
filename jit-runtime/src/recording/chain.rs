//! Replays on the calling thread. Argument tables are reused from one replay to the next, and only changed entries are
//! written.
//!
//! A recording that consists only of short kernels is a [`Chain`] for some sizes of its inputs. A replay adds
//! [`Tables`]: one argument table for all kernels, in which storage of the recording has a fixed place. So a replay
//! reads its inputs and results, and then only runs each kernel.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::Error;
use crate::backend::RawArgument;
use crate::launch::batch::{self, Access, Member};
use crate::memory::Buffer;

use super::bound::{Bound, Code};
use super::plan::Blocks;
use super::replay::{ReplayInputs, State};
use super::{Bind, DonatedCopy, Origin, Recording, Scalar, SlotId, Step};

/// The common part of replays of the same sizes.
pub(crate) struct Chain {
    kernels: Vec<Member>,
    /// The arguments of all kernels, without the addresses of slots.
    template: Vec<RawArgument>,
    /// Where the address of each slot is stored in the table: a range of `places`.
    of_slot: Vec<Range<u32>>,
    places: Vec<u32>,
    /// The positions of scalars that the caller passes, and which scalar each of them is.
    scalars: Vec<(u32, u32)>,
    /// Inputs and constants that are read or overwritten.
    sources: Vec<SlotId>,
    /// Slots that are stored in blocks, with their block.
    temporaries: Vec<(SlotId, u32)>,
}

/// The state of a replay on the calling thread that is retained for the next one.
#[derive(Default)]
pub(crate) struct Tables {
    /// The sizes that the table was built for.
    of: Option<Arc<Bound>>,
    table: Vec<RawArgument>,
    /// The address in the table, by slot.
    addresses: Vec<u64>,
    /// The address of each block when its slots were entered into the table.
    blocks: Vec<u64>,
    /// The memory of the results of the current replay.
    results: Vec<Arc<Buffer>>,
    /// Copies that are not made, since their sources are overwritten.
    donated: SmallVec<[DonatedCopy; 4]>,
    run: batch::Run,
    /// The copies that `run` omits.
    run_without: SmallVec<[DonatedCopy; 4]>,
}

impl Tables {
    /// Moves the memory of the results out.
    pub(crate) fn take_results(&mut self) -> impl Iterator<Item = Arc<Buffer>> {
        self.results.drain(..)
    }
}

impl Chain {
    /// The chain for some sizes. None if not all steps are kernels, or if an output is not written by a kernel.
    pub(crate) fn new(
        recording: &Recording,
        values: &[usize],
        codes: &[Option<Code>],
        blocks: &Blocks,
    ) -> Option<Chain> {
        let is_written = |slot: &SlotId| matches!(recording.slots[slot.index()].origin, Origin::Step);
        if !recording.outputs.iter().all(is_written) || blocks.result.iter().any(Option::is_some) {
            return None;
        }
        let mut kernels = Vec::with_capacity(codes.len());
        let mut template = Vec::new();
        let (mut places, mut scalars) = (vec![Vec::new(); recording.slots.len()], Vec::new());
        let tiles = recording.tiles(values, codes, blocks);
        for ((step, code), tile) in recording.steps.iter().zip(codes).zip(tiles) {
            let (Step::Kernel(kernel), Some(code)) = (step, code) else { return None };
            let first = template.len() as u32;
            for (place, argument) in (first..).zip(&kernel.arguments) {
                match argument {
                    Bind::Slot(slot) => places[slot.index()].push(place),
                    Bind::Scalar(Scalar::Input(number)) => scalars.push((place, *number)),
                    Bind::Scalar(_) => {}
                }
            }
            template.extend_from_slice(&code.raw);
            kernels.push(Member {
                entry: Arc::clone(&code.entry),
                width: values[kernel.lanes.index()],
                reduce_block: kernel.reduce_block.map(|block| values[block.index()]),
                arguments: first as usize..template.len(),
                tile,
                label: kernel.label,
                site: kernel.site,
            });
        }
        let mut of_slot = Vec::with_capacity(places.len());
        let mut flat = Vec::new();
        for own in places {
            let first = flat.len() as u32;
            flat.extend(own);
            of_slot.push(first..flat.len() as u32);
        }
        let used = (0..recording.slots.len() as u32).map(SlotId).filter(|slot| recording.plan[slot.index()].is_some());
        Some(Chain {
            kernels,
            template,
            of_slot,
            places: flat,
            scalars,
            sources: used.filter(|slot| !is_written(slot)).collect(),
            temporaries: (0..)
                .map(SlotId)
                .zip(&blocks.of_slot)
                .filter_map(|(slot, block)| Some((slot, (*block)?)))
                .collect(),
        })
    }
}

impl Recording {
    /// Runs all kernels on this thread, if no other launch conflicts. Results are then in `state`.
    pub(crate) fn run_here(
        &self,
        bound: &Arc<Bound>,
        chain: &Chain,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Option<Result<(), Error>> {
        if let Err(error) = self.fill_tables(bound, chain, given, state) {
            return Some(Err(error));
        }
        let Tables { table, results, donated, run, .. } = &state.tables;
        let overwritten = |slot: &SlotId| donated.iter().any(|copy| copy.from == *slot);
        let source = |slot: &SlotId| match &self.slots[slot.index()].origin {
            Origin::Input(number) => given.buffers.get(*number as usize),
            Origin::Constant(buffer) => Some(buffer),
            Origin::Step => None,
        };
        let sources = chain.sources.iter().filter_map(|slot| {
            Some(Access { buffer: source(slot)?, writes: !donated.is_empty() && overwritten(slot) })
        });
        let is_made =
            |(_, slot): &(&Arc<Buffer>, &SlotId)| donated.is_empty() || donated.iter().all(|copy| copy.to != **slot);
        let results = results.iter().zip(&self.outputs).filter(is_made).map(|(buffer, _)| buffer);
        let written = results.chain(state.blocks.iter().flatten());
        let accesses = sources.chain(written.map(|buffer| Access { buffer, writes: true }));
        // SAFETY: replays of these sizes were launched before and checked; memory has the same sizes now. A buffer that
        // is neither an input nor a constant belongs to this replay alone, or is donated. The tiles are those of
        // `Recording::tiles`.
        let outcome = unsafe { batch::try_run(accesses, &chain.kernels, run, table) }?;
        Some(outcome.map(|elapsed| bound.note(elapsed, run.count())))
    }

    /// Enters addresses and scalars into the table.
    fn fill_tables(
        &self,
        bound: &Arc<Bound>,
        chain: &Chain,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<(), Error> {
        let State { blocks, tables, .. } = state;
        let is_new = tables.begin(bound, chain);
        for (number, bytes) in bound.blocks.bytes.iter().enumerate() {
            super::replay::block_of(blocks, number, *bytes)?;
        }
        tables.find_donated(self, given);
        if is_new || tables.have_moved(blocks) {
            for (slot, block) in &chain.temporaries {
                if let Some(Some(block)) = blocks.get(*block as usize) {
                    tables.put(chain, *slot, block.address());
                }
            }
        }
        for slot in &chain.sources {
            match &self.slots[slot.index()].origin {
                Origin::Input(number) => {
                    let buffer = self.input(slot.index(), *number, given, &bound.values)?;
                    tables.put(chain, *slot, buffer.address());
                }
                Origin::Constant(buffer) => tables.put(chain, *slot, buffer.address()),
                Origin::Step => {}
            }
        }
        self.put_results(bound, chain, given, state)?;
        let tables = &mut state.tables;
        for (place, number) in &chain.scalars {
            tables.table[*place as usize].word = given.scalars[*number as usize];
        }
        Ok(())
    }

    /// Finds memory for the results, and substitutes the sources for copies that are not made.
    fn put_results(
        &self,
        bound: &Bound,
        chain: &Chain,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<(), Error> {
        let State { tables, results, .. } = state;
        tables.results.clear();
        for (output, slot) in self.outputs.iter().enumerate() {
            let buffer = match tables.donated.iter().find(|copy| copy.to == *slot) {
                Some(copy) => Arc::clone(&given.buffers[copy.input as usize]),
                None => self.result(output, self.bytes_of(slot.index(), &bound.values), results)?,
            };
            tables.put(chain, *slot, buffer.address());
            tables.results.push(buffer);
        }
        for copy in &self.yields {
            let tables = &mut state.tables;
            let block =
                bound.blocks.of_slot[copy.to.index()].and_then(|block| state.blocks.get(block as usize)?.as_ref());
            match (tables.donated.contains(copy), block) {
                (true, _) => tables.put(chain, copy.to, given.buffers[copy.input as usize].address()),
                (false, Some(block)) => tables.put(chain, copy.to, block.address()),
                (false, None) => {}
            }
        }
        Ok(())
    }
}

impl Tables {
    /// Prepares the table for these sizes. Returns whether it was for others.
    fn begin(&mut self, bound: &Arc<Bound>, chain: &Chain) -> bool {
        if self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, bound)) {
            return false;
        }
        self.of = Some(Arc::clone(bound));
        self.table.clone_from(&chain.template);
        self.addresses.clear();
        self.addresses.resize(chain.of_slot.len(), 0);
        self.run_without.clear();
        self.run = batch::Run::new(&chain.kernels, |_| true);
        true
    }

    /// Finds the copies that need not be made.
    fn find_donated(&mut self, recording: &Recording, given: ReplayInputs<'_>) {
        self.donated.clear();
        self.donated.extend(recording.yields.iter().filter(|copy| copy.is_donated(given)).copied());
        if self.donated != self.run_without
            && let Some(bound) = &self.of
            && let Some(chain) = &bound.chain
        {
            let is_left = |position: usize| !self.donated.iter().any(|copy| copy.step as usize == position);
            self.run = batch::Run::new(&chain.kernels, is_left);
            self.run_without.clone_from(&self.donated);
        }
    }

    /// Whether any block has a different address than before.
    fn have_moved(&mut self, blocks: &[Option<Arc<Buffer>>]) -> bool {
        let now = || blocks.iter().map(|block| block.as_ref().map_or(0, |block| block.address()));
        let is_same = now().eq(self.blocks.iter().copied());
        if !is_same {
            self.blocks.clear();
            self.blocks.extend(now());
        }
        !is_same
    }

    fn put(&mut self, chain: &Chain, slot: SlotId, address: u64) {
        let known = &mut self.addresses[slot.index()];
        if *known != address {
            *known = address;
            let Range { start, end } = chain.of_slot[slot.index()].clone();
            for place in &chain.places[start as usize..end as usize] {
                self.table[*place as usize].word = address;
            }
        }
    }
}
