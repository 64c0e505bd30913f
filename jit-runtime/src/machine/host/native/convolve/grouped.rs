//! The transposes of convolutions by the kernels where groups have few results, as depthwise convolutions: the lanes of
//! a register are places, as in [`Convolution::lanes`].
//!
//! Input and results of an area are copied, so that the elements that a tap meets are consecutive. Copies may begin in
//! the middle of a block of lanes, where the area before has ended.

use super::super::matmul::kernel::Float;
use super::super::matmul::lanes::{LANES, LaneKernel, LanePart, MOST_SUMS};
use super::super::matmul::vector::Lane;
use super::image::Area;
use super::kernels::{Plan, areas};
use super::tiles::share;
use super::{COPIED, Convolution, Element, Elements, UNIT_PRODUCTS};
use crate::backend::scratch;

/// The most places of an area: elements around it are a small part of what is copied.
pub(super) const MOST_PLACES: usize = 1024;

/// Whether lanes are places.
pub(super) fn is_for(convolution: &Convolution) -> bool {
    convolution.lanes() > 1
}

/// The number of units of work into which the groups are divided.
pub(super) fn blocks(convolution: &Convolution) -> usize {
    let Convolution { batch, groups, channels, results, kernel, result, .. } = convolution;
    let sizes = [*batch, *channels, *results].into_iter().chain(*kernel).chain(*result);
    let products = sizes.fold(1, usize::saturating_mul) / convolution.parts();
    groups.div_ceil((UNIT_PRODUCTS / products.max(1)).max(1))
}

/// The memory of a unit of work: copies of the input, and behind them space for a block; the results; the lanes of all
/// sums of a group.
struct Memory<T> {
    copies: *mut T,
    factors: *mut T,
    sums: *mut T,
}

/// A part of the places, for one group after another.
struct Unit<'a, W> {
    plan: &'a Plan,
    kernel: LaneKernel<W>,
    memory: Memory<W>,
    /// So many channels are copied at once.
    chunk: usize,
    /// The distance of the results of a channel from those of the next.
    places: usize,
    /// What the offsets of the taps were computed for, and these.
    form: [usize; 3],
    offsets: Vec<usize>,
}

/// Computes the sums of a part of the places for a block of groups.
///
/// # Safety
///
/// The arrays must be as long as the operation requires, and no other thread may access these sums.
pub(super) unsafe fn compute<T: Element>(
    plan: &Plan,
    [part, block, blocks]: [usize; 3],
    results: Elements<T>,
    input: Elements<T>,
    sums: Elements<T::Wide>,
) {
    let Convolution { groups, channels, results: columns, .. } = plan.convolution;
    let largest = plan.largest_area();
    let channel_length = plan.image.channel_length(&largest);
    let chunk = (COPIED / channel_length.max(1)).clamp(1, channels.max(1));
    let places = (largest.rows * largest.columns).next_multiple_of(LANES) + LANES;
    let lengths = [chunk * channel_length + 2 * LANES, columns * places, plan.rows() * columns * LANES];
    scratch::with(lengths.iter().sum::<usize>() * size_of::<T::Wide>(), |memory| {
        let first = memory.cast::<T::Wide>();
        let at = |count: usize| first.wrapping_add(lengths[..count].iter().sum());
        let memory = Memory { copies: at(0).wrapping_add(LANES), factors: at(1), sums: at(2) };
        let kernel = T::Wide::by_lanes();
        let mut unit = Unit { plan, kernel, memory, chunk, places, form: [usize::MAX; 3], offsets: Vec::new() };
        let (first_group, count) = share(groups, block, blocks);
        for group in first_group..first_group + count {
            // SAFETY: the memory is large enough, and the caller's promise.
            unsafe {
                std::slice::from_raw_parts_mut(unit.memory.sums, lengths[2]).fill(T::Wide::ZERO);
                let mut before = 0;
                areas(plan, part, |batch, area| {
                    unit.add::<T>((batch, group), &area, before % LANES, results, input);
                    before += area.rows * area.columns;
                });
                unit.write(part, group, sums);
            }
        }
    });
}

impl<W: Float> Unit<'_, W> {
    /// Adds the products of an area to the sums, from some lane on.
    ///
    /// # Safety
    ///
    /// As [`compute`], and the memory must be large enough.
    unsafe fn add<T: Element<Wide = W>>(
        &mut self,
        (batch, group): (usize, usize),
        area: &Area,
        lane: usize,
        results: Elements<T>,
        input: Elements<T>,
    ) {
        let (image, Convolution { groups, channels, .. }) = (&self.plan.image, self.plan.convolution);
        let (group, length) = (batch * groups + group, image.source_length());
        let count = area.rows * area.columns;
        // SAFETY: the caller's promise.
        unsafe { self.copy_results(group, area, lane, results) };
        let masks = masks(lane, count);
        for first in (0..channels).step_by(self.chunk) {
            let copied = self.chunk.min(channels - first);
            let begin = (group * channels + first) * length;
            // SAFETY: the caller's promise; the group has so many channels.
            unsafe { image.copy(area, input.get(begin..begin + copied * length), copied, self.memory.copies) };
            let form = [area.rows, area.columns, copied];
            if self.form != form {
                (self.form, self.offsets) = (form, image.offsets(area, copied));
            }
            // SAFETY: input and results were copied.
            unsafe { self.add_products(lane, count, &masks, first * image.taps()) };
        }
    }

    /// Copies the results of an area, from some lane on. Around them is −0.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn copy_results<T: Element<Wide = W>>(&self, group: usize, area: &Area, lane: usize, results: Elements<T>) {
        let Convolution { results: columns, result, .. } = self.plan.convolution;
        let volume = result.iter().product::<usize>();
        let first = (area.plane * result[1] + area.first_row) * result[2] + area.first_column;
        // An area of several rows has all of their columns, so its places are consecutive.
        let count = area.rows * area.columns;
        for column in 0..columns {
            let begin = (group * columns + column) * volume + first;
            // SAFETY: the caller's promise.
            unsafe {
                let target = self.memory.factors.add(column * self.places);
                let target = std::slice::from_raw_parts_mut(target, (lane + count).next_multiple_of(LANES));
                target[..lane].fill(W::NEGATIVE_ZERO);
                T::widen_all(results.get(begin..begin + count), &mut target[lane..lane + count]);
                target[lane + count..].fill(W::NEGATIVE_ZERO);
            }
        }
    }

    /// Adds the products of all results with the copies of some channels, whose first row of the product is given.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add); input and results were copied.
    unsafe fn add_products(&self, lane: usize, count: usize, masks: &[[W; LANES]; 2], first_row: usize) {
        let columns = self.plan.convolution.results;
        let parts = self.offsets.len().div_ceil(MOST_SUMS);
        for column in 0..columns {
            for part in 0..parts {
                let (first, taps) = share(self.offsets.len(), part, parts);
                let part = LanePart {
                    factor: self.memory.factors.wrapping_add(column * self.places),
                    // The place before the first block's first lane may be in what was copied before; it is masked.
                    others: self.memory.copies.wrapping_sub(lane),
                    offsets: &self.offsets[first..first + taps],
                    blocks: (lane + count).div_ceil(LANES),
                    masks,
                    sums: self.memory.sums.wrapping_add(((first_row + first) * columns + column) * LANES),
                    apart: columns * LANES,
                };
                // SAFETY: the caller's promise; an area has places.
                unsafe { (self.kernel)(&part) };
            }
        }
    }

    /// Adds the lanes of each sum of a group, and writes it.
    ///
    /// # Safety
    ///
    /// As [`compute`].
    unsafe fn write(&self, part: usize, group: usize, sums: Elements<W>) {
        let count = self.plan.rows() * self.plan.convolution.results;
        let first = (part * self.plan.convolution.groups + group) * count;
        // SAFETY: the caller's promise; each sum has its lanes.
        let (target, lanes) = unsafe {
            let lanes = std::slice::from_raw_parts(self.memory.sums.cast::<[W; LANES]>(), count);
            (sums.get_mut(first..first + count), lanes)
        };
        for (target, [first, others @ ..]) in target.iter_mut().zip(lanes) {
            *target = others.iter().fold(*first, |sum, lane| sum.add(*lane));
        }
    }
}

/// Which lanes of the first and of the last block have places, of so many that begin with some lane.
fn masks<W: Lane>(lane: usize, count: usize) -> [[W; LANES]; 2] {
    let (end, last) = (lane + count, (lane + count).div_ceil(LANES).saturating_sub(1) * LANES);
    [0, last].map(|first| {
        std::array::from_fn(|number| match (lane..end).contains(&(first + number)) {
            true => W::ONES,
            false => W::ZERO,
        })
    })
}
