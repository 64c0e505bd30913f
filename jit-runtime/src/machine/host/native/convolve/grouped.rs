//! The transposes of convolutions by the kernels where groups have few results, as depthwise convolutions: the lanes of
//! a register are groups.
//!
//! Input and results of an area are copied so that the elements of several groups at one place are consecutive. The
//! sums are those of [`kernels`](super::kernels), in the same order.

use super::super::matmul::kernel::Float;
use super::super::matmul::lanes::{LaneKernel, LanePart, MOST_SUMS};
use super::super::matmul::pack::{Source, pack};
use super::super::matmul::vector::Lane;
use super::image::{Area, inside};
use super::kernels::{Plan, areas};
use super::tiles::share;
use super::{COPIED, Convolution, Element, Elements};
use crate::backend::scratch;

/// The most places of an area: elements around it are a small part of what is copied.
pub(super) const MOST_PLACES: usize = 1024;

/// With so many results in a group, a product of matrices for each group has enough columns.
const MOST_RESULTS: usize = 8;

/// Whether lanes are groups.
pub(super) fn is_for(convolution: &Convolution) -> bool {
    convolution.results < convolution.groups.min(MOST_RESULTS)
}

/// The number of blocks of groups that are computed at once.
pub(super) fn blocks<T: Element>(convolution: &Convolution) -> usize {
    convolution.groups.div_ceil(T::Wide::by_lanes().lanes)
}

/// The memory of a unit of work: copies of the input and of the results of each group, both with groups as lanes, and
/// the sums.
struct Memory<T> {
    copies: *mut T,
    others: *mut T,
    wide: *mut T,
    factors: *mut T,
    sums: *mut T,
}

/// A part of the places, for groups at once.
struct Unit<'a, W> {
    plan: &'a Plan,
    kernel: LaneKernel<W>,
    first_group: usize,
    groups: usize,
    /// So many channels are copied at once.
    chunk: usize,
}

/// Computes the sums of a part of the places for a block of groups.
///
/// # Safety
///
/// The arrays must be as long as the operation requires, and no other thread may access these sums.
pub(super) unsafe fn compute<T: Element>(
    plan: &Plan,
    [part, block]: [usize; 2],
    results: Elements<T>,
    input: Elements<T>,
    sums: Elements<T::Wide>,
) {
    let (image, kernel) = (&plan.image, T::Wide::by_lanes());
    let Convolution { groups: all_groups, channels, results: columns, .. } = plan.convolution;
    let (lanes, first_group) = (kernel.lanes, block * kernel.lanes);
    let groups = lanes.min(all_groups - first_group);
    let largest = plan.largest_area();
    let channel_length = image.channel_length(&largest);
    let chunk = (COPIED / (lanes * channel_length).max(1)).clamp(1, channels.max(1));
    let (places, rows) = (largest.rows * largest.columns, plan.rows());
    let copied = chunk * channel_length;
    let lengths = [groups * copied, lanes * copied, groups * places, columns * places * lanes, rows * columns * lanes];
    scratch::with(lengths.iter().sum::<usize>() * size_of::<T::Wide>(), |memory| {
        let first = memory.cast::<T::Wide>();
        let at = |count: usize| first.wrapping_add(lengths[..count].iter().sum());
        let memory = Memory { copies: at(0), others: at(1), wide: at(2), factors: at(3), sums: at(4) };
        let unit = Unit { plan, kernel, first_group, groups, chunk };
        // SAFETY: the memory is large enough, and the caller's promise.
        unsafe {
            if lengths[4] > 0 {
                std::slice::from_raw_parts_mut(memory.sums, lengths[4]).fill(T::Wide::ZERO);
            }
            areas(plan, part, |batch, area| unit.add::<T>(&memory, (batch, &area), results, input));
            unit.write(&memory, part, sums);
        }
    });
}

impl<W: Float> Unit<'_, W> {
    /// Adds the products of an area to the sums.
    ///
    /// # Safety
    ///
    /// As [`compute`], and the memory must be large enough.
    unsafe fn add<T: Element<Wide = W>>(
        &self,
        memory: &Memory<W>,
        (batch, area): (usize, &Area),
        results: Elements<T>,
        input: Elements<T>,
    ) {
        let (image, Convolution { groups, channels, results: columns, .. }) = (&self.plan.image, self.plan.convolution);
        let first_group = batch * groups + self.first_group;
        let length = image.source_length();
        // SAFETY: the caller's promise.
        unsafe { self.pack_results(memory, (first_group, area), results) };
        for first in (0..channels).step_by(self.chunk) {
            let count = self.chunk.min(channels - first);
            let channel_of = |group: usize| (first_group + group) * channels + first;
            // SAFETY: the caller's promise; of the last group, too, there are so many channels.
            unsafe {
                if T::IS_WIDE && image.lines[2].step == 1 {
                    let source = input.first.cast::<W>().cast_const().wrapping_add(channel_of(0) * length);
                    self.pack_rows(memory, area, source, count);
                } else {
                    let copied = count * image.channel_length(area);
                    for group in 0..self.groups {
                        let source = input.get(channel_of(group) * length..(channel_of(group) + count) * length);
                        image.copy(area, source, count, memory.copies.add(group * copied));
                    }
                    self.pack(memory.copies, copied, copied, memory.others);
                }
            }
            let offsets = image.offsets(area, count);
            for column in 0..columns {
                // SAFETY: the caller's promise.
                unsafe { self.add_column(memory, area, &offsets, first * image.taps(), column) };
            }
        }
    }

    /// Makes the elements of all groups at a place consecutive.
    ///
    /// # Safety
    ///
    /// There are `inner` elements of each group at the distance of `apart`, and there is space.
    unsafe fn pack(&self, first: *const W, apart: usize, inner: usize, target: *mut W) {
        let source = Source { first, items: self.groups, item_stride: apart, inner, inner_stride: 1 };
        // SAFETY: the caller's promise.
        unsafe { pack(&source, self.kernel.lanes, target) };
    }

    /// Copies rows of the input of all groups, without copies of each.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add); the source begins with the first of `count` channels of the first group.
    unsafe fn pack_rows(&self, memory: &Memory<W>, area: &Area, source: *const W, count: usize) {
        let (image, lanes) = (&self.plan.image, self.kernel.lanes);
        let (length, row_length) = (image.source_length(), image.row_length(area));
        let apart = self.plan.convolution.channels * length;
        let mut next = memory.others;
        for channel in 0..count {
            image.each_row(area, |row, column| {
                let target = next;
                next = next.wrapping_add(row_length * lanes);
                let [before, first, inside] = match row {
                    Some(_) => inside(image.lines[2].source, column, 1, row_length),
                    None => [row_length, 0, 0],
                };
                let after = before + inside;
                // SAFETY: the copies have this many rows in all; the elements inside are those of the source.
                unsafe {
                    std::slice::from_raw_parts_mut(target, before * lanes).fill(W::ZERO);
                    std::slice::from_raw_parts_mut(target.add(after * lanes), (row_length - after) * lanes)
                        .fill(W::ZERO);
                    if inside > 0 {
                        let first = source.wrapping_add(channel * length + row.unwrap_or_default() + first);
                        self.pack(first, apart, inside, target.add(before * lanes));
                    }
                }
            });
        }
    }

    /// Copies the results of an area.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn pack_results<T: Element<Wide = W>>(
        &self,
        memory: &Memory<W>,
        (first_group, area): (usize, &Area),
        results: Elements<T>,
    ) {
        let Convolution { results: columns, result, .. } = self.plan.convolution;
        let volume = result.iter().product::<usize>();
        let first = (area.plane * result[1] + area.first_row) * result[2] + area.first_column;
        // An area of several rows has all of their columns, so its places are consecutive.
        let places = area.rows * area.columns;
        for column in 0..columns {
            let at = |group: usize| ((first_group + group) * columns + column) * volume + first;
            let target = memory.factors.wrapping_add(column * places * self.kernel.lanes);
            // SAFETY: the caller's promise.
            unsafe {
                if T::IS_WIDE {
                    let source = results.first.cast::<W>().cast_const().wrapping_add(at(0));
                    self.pack(source, columns * volume, places, target);
                    continue;
                }
                for group in 0..self.groups {
                    let wide = std::slice::from_raw_parts_mut(memory.wide.add(group * places), places);
                    T::widen_all(results.get(at(group)..at(group) + places), wide);
                }
                self.pack(memory.wide, places, places, target);
            }
        }
    }

    /// Adds the products with one result of each group.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add); input and results were copied.
    unsafe fn add_column(&self, memory: &Memory<W>, area: &Area, offsets: &[usize], first_row: usize, column: usize) {
        let (lanes, columns) = (self.kernel.lanes, self.plan.convolution.results);
        let parts = offsets.len().div_ceil(MOST_SUMS);
        for part in 0..parts {
            let (first, count) = share(offsets.len(), part, parts);
            let part = LanePart {
                factor: memory.factors.wrapping_add(column * area.rows * area.columns * lanes),
                others: memory.others,
                offsets: &offsets[first..first + count],
                row_length: self.plan.image.row_length(area),
                rows: area.rows,
                columns: area.columns,
                sums: memory.sums.wrapping_add(((first_row + first) * columns + column) * lanes),
                apart: columns * lanes,
            };
            // SAFETY: the caller's promise.
            unsafe { (self.kernel.compute)(&part) };
        }
    }

    /// Writes the sums of each group.
    ///
    /// # Safety
    ///
    /// As [`compute`].
    unsafe fn write(&self, memory: &Memory<W>, part: usize, sums: Elements<W>) {
        let count = self.plan.rows() * self.plan.convolution.results;
        for group in 0..self.groups {
            let first = (part * self.plan.convolution.groups + self.first_group + group) * count;
            // SAFETY: the caller's promise.
            let target = unsafe { sums.get_mut(first..first + count) };
            for (number, sum) in target.iter_mut().enumerate() {
                // SAFETY: there is a register for each sum.
                *sum = unsafe { *memory.sums.add(number * self.kernel.lanes + group) };
            }
        }
    }
}
