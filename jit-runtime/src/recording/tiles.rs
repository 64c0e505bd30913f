//! Determines which kernels of a chain may run in tiles: all of them on some lanes before any of them on the next ones.

use rustc_hash::FxHashMap;

use crate::backend::Scatters;

use super::bound::Code;
use super::plan::Blocks;
use super::{Bind, KernelStep, Recording, SlotId, Step};

/// How launches of a tile use a piece of memory.
struct Use {
    /// Elements of another size have different addresses in it.
    element_bytes: usize,
    is_written: bool,
    /// Whether lanes access elements of other lanes.
    is_by_index: bool,
}

/// Memory that several slots may share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Slot(SlotId),
    Block(u32),
}

/// The kernels that were examined since the last tile began.
struct Tiles<'a> {
    recording: &'a Recording,
    blocks: &'a Blocks,
    width: usize,
    uses: FxHashMap<Place, Use>,
    number: u32,
}

impl Recording {
    /// For each step, the number of its tile; none for a kernel that is run as a whole. Consecutive kernels with the
    /// same number have the same width, and none of their lanes accesses memory that another lane of them writes.
    pub(crate) fn tiles(&self, values: &[usize], codes: &[Option<Code>], blocks: &Blocks) -> Vec<Option<u32>> {
        let mut tiles = Tiles { recording: self, blocks, width: 0, uses: FxHashMap::default(), number: 0 };
        let tile = |(step, code): (&Step, &Option<Code>)| match (step, code) {
            (Step::Kernel(kernel), Some(code)) => tiles.take(kernel, code, values[kernel.lanes.index()]),
            _ => tiles.end_tile(),
        };
        self.steps.iter().zip(codes).map(tile).collect()
    }
}

impl Tiles<'_> {
    fn end_tile(&mut self) -> Option<u32> {
        self.number += 1;
        self.uses.clear();
        None
    }

    fn take(&mut self, kernel: &KernelStep, code: &Code, width: usize) -> Option<u32> {
        // A copy may be elided; then its source and its target share storage.
        if kernel.copy.is_some() || !is_by_lane(code) {
            return self.end_tile();
        }
        if width != self.width || !self.fits(kernel, code) {
            self.end_tile();
            self.width = width;
        }
        self.add(kernel, code);
        Some(self.number)
    }

    /// Whether no lane of the kernel accesses memory that another lane of the tile writes, nor the other way round.
    fn fits(&self, kernel: &KernelStep, code: &Code) -> bool {
        self.each(kernel, code).all(|(place, it)| {
            let Some(before) = self.uses.get(&place) else { return true };
            let is_written = before.is_written || it.is_written;
            let is_by_lane = !before.is_by_index && !it.is_by_index && before.element_bytes == it.element_bytes;
            !is_written || is_by_lane
        })
    }

    fn add(&mut self, kernel: &KernelStep, code: &Code) {
        for (place, it) in self.each(kernel, code).collect::<Vec<_>>() {
            self.uses
                .entry(place)
                .and_modify(|known| {
                    known.is_written |= it.is_written;
                    known.is_by_index |= it.is_by_index;
                })
                .or_insert(it);
        }
    }

    fn each(&self, kernel: &KernelStep, code: &Code) -> impl Iterator<Item = (Place, Use)> {
        kernel.arguments.iter().zip(&code.entry.facts.params).filter_map(|(argument, param)| {
            let Bind::Slot(slot) = *argument else { return None };
            let block = self.blocks.of_slot[slot.index()];
            let place = block.map_or(Place::Slot(slot), Place::Block);
            let element_bytes = self.recording.slots[slot.index()].ty.size_bytes();
            Some((place, Use { element_bytes, is_written: param.writes, is_by_index: param.indexed > 0 }))
        })
    }
}

/// Whether each lane writes only its own elements.
fn is_by_lane(code: &Code) -> bool {
    let facts = &code.entry.facts;
    let is_own = |writes: bool, by_index: bool| !writes || !by_index;
    !facts.reduces
        && code.entry.options.scatters == Scatters::Shared
        && facts.params.iter().all(|param| is_own(param.writes, param.indexed > 0))
}
