//! The transposes of convolutions by the kernels: for each element of a kernel the sum, over all places, of the
//! products of the result there and the element of the input that it meets.
//!
//! The products are those of the input, whose rows belong to the elements of a kernel, and of the results, whose
//! columns are their channels. Parts of the places are summed separately, so that all threads have work.

use std::sync::Arc;

use super::super::super::threads;
use super::super::matmul::float::best;
use super::super::matmul::kernel::{Float, Kernel, Part};
use super::super::matmul::pack::{Source, pack};
use super::super::matmul::vector::Lane;
use super::axis::Line;
use super::grouped;
use super::image::{Area, Image};
use super::tiles::share;
use super::{COPIED, Context, Convolution, Element, Elements, INNER, Operand, Step, estimate_ns};
use crate::Error;
use crate::backend::scratch;

/// The rows of a product that are added and transposed at once.
const ADDED: usize = 64;

/// The input of an operation, and how its work is divided.
pub(super) struct Plan {
    pub(super) convolution: Convolution,
    pub(super) image: Image,
    /// The number of parts of each sum.
    parts: usize,
    /// The number of parts of the channels.
    blocks: usize,
    /// The most places of an area: as many as a step of the products has.
    most_places: usize,
}

impl Plan {
    fn new(convolution: Convolution, threads: usize) -> Plan {
        let lines = std::array::from_fn(|axis| Line::of_result(&convolution, axis).remove(0));
        let Convolution { groups, channels, .. } = convolution;
        let parts = convolution.parts();
        let blocks = (2 * threads).div_ceil(parts * groups).min(channels).max(1);
        let mut plan = Plan { convolution, image: Image::new(lines), parts, blocks, most_places: INNER };
        if grouped::is_for(&convolution) {
            plan.most_places = grouped::MOST_PLACES;
            if plan.largest_area().rows > 1 {
                plan.image = Image::with_dense_rows(plan.image.lines);
            }
        }
        plan
    }

    /// The rows of the products of a group.
    pub(super) fn rows(&self) -> usize {
        self.convolution.channels * self.image.taps()
    }

    pub(super) fn largest_area(&self) -> Area {
        let ([_, height, width], most) = (self.convolution.result, self.most_places);
        let across = width.div_ceil(most).max(1);
        let rows = if across > 1 { 1 } else { (most / width.max(1)).clamp(1, height.max(1)) };
        Area { plane: 0, first_row: 0, rows, first_column: 0, columns: width.div_ceil(across) }
    }
}

/// Calls a function with each area of a part of the places, in ascending order, and with its image.
pub(super) fn areas(plan: &Plan, part: usize, mut call: impl FnMut(usize, Area)) {
    let [planes, height, width] = plan.convolution.result;
    let (first_line, lines) = share(plan.convolution.batch * planes * height, part, plan.parts);
    if lines * width == 0 {
        return;
    }
    let (across, most_rows) = (width.div_ceil(plan.most_places), plan.largest_area().rows);
    let mut line = first_line;
    while line < first_line + lines {
        let (row, plane) = (line % height, line / height % planes);
        let rows = most_rows.min(height - row).min(first_line + lines - line);
        for part in 0..across {
            let (first_column, columns) = share(width, part, across);
            call(line / (height * planes), Area { plane, first_row: row, rows, first_column, columns });
        }
        line += rows;
    }
}

/// Launches an operation that was checked.
pub(super) fn launch<T: Element>(
    context: Context,
    convolution: Convolution,
    results: &Operand,
    input: &Operand,
    kernels: &Operand,
) -> Result<(), Error> {
    let plan = Arc::new(Plan::new(convolution, threads()));
    // SAFETY: the products write every element before anything reads it.
    let sums = unsafe { Operand::alloc_result(T::WIDE, kernels.len * plan.parts)? };
    let are_lanes = grouped::is_for(&convolution);
    let units = if are_lanes { grouped::blocks(&convolution) } else { convolution.groups * plan.blocks };
    let step = Step {
        context,
        width: kernels.len,
        blocks: if kernels.len == 0 { 0 } else { plan.parts * units },
        estimate_ns: estimate_ns::<T>(&convolution),
        reads: vec![Arc::clone(&results.buffer), Arc::clone(&input.buffer)],
        writes: vec![Arc::clone(&sums.buffer)],
        carries: None,
    };
    let (of_results, of_input, of_sums) =
        (Elements::<T>::of(results), Elements::<T>::of(input), Elements::<T::Wide>::of(&sums));
    let shared = Arc::clone(&plan);
    let run = move |unit: usize| {
        let (unit, part) = (unit % units, unit / units);
        // SAFETY: the sizes were checked; the operands are only read, and units are disjoint.
        unsafe {
            if are_lanes {
                return grouped::compute::<T>(&shared, [part, unit, units], of_results, of_input, of_sums);
            }
            let (group, block) = (unit / shared.blocks, unit % shared.blocks);
            compute::<T>(&shared, [part, group, block], of_results, of_input, of_sums);
        }
    };
    // SAFETY: the function reads results and input, and writes disjoint sums.
    unsafe { step.submit(run)? };
    add_parts::<T>(context, plan, &sums, kernels)
}

/// The memory of a unit of work: copies of the input, of the results, their panels, and rows of the left factor.
struct Memory<T> {
    copies: *mut T,
    wide: *mut T,
    panels: *mut T,
    rows: *mut T,
}

/// Computes the sums of a part of the places for a part of the channels of a group.
///
/// # Safety
///
/// The arrays must be as long as the operation requires, and no other thread may access these sums.
unsafe fn compute<T: Element>(
    plan: &Plan,
    [part, group, block]: [usize; 3],
    results: Elements<T>,
    input: Elements<T>,
    sums: Elements<T::Wide>,
) {
    let (image, Convolution { groups, results: columns, .. }) = (&plan.image, plan.convolution);
    let (first_channel, channels) = share(plan.convolution.channels, block, plan.blocks);
    let first_sum = ((part * groups + group) * plan.rows() + first_channel * image.taps()) * columns;
    let largest = plan.largest_area();
    let chunk = (COPIED / image.channel_length(&largest).max(1)).clamp(1, channels.max(1));
    let kernel = best::<T::Wide>(columns);
    let wide_columns = columns.next_multiple_of(kernel.columns);
    let lengths = [chunk * image.channel_length(&largest), columns * INNER, wide_columns * INNER, kernel.rows * INNER];
    scratch::with(lengths.iter().sum::<usize>() * size_of::<T::Wide>(), |memory| {
        let first = memory.cast::<T::Wide>();
        let at = |count: usize| first.wrapping_add(lengths[..count].iter().sum());
        let memory = Memory { copies: at(0), wide: at(1), panels: at(2), rows: at(3) };
        let mut is_first = true;
        areas(plan, part, |batch, area| {
            let channels = [first_channel, channels];
            let step = Places { plan, kernel: &kernel, area, is_first, batch, group, channels, chunk, first_sum };
            // SAFETY: the caller's promise; the memory is large enough.
            unsafe { step.add::<T>(&memory, results, input, sums) };
            is_first = false;
        });
        if is_first {
            let range = first_sum..first_sum + channels * image.taps() * columns;
            // SAFETY: the sums are exclusive.
            unsafe { sums.get_mut(range) }.fill(T::Wide::ZERO);
        }
    });
}

/// A step of the products: the places of an area.
struct Places<'a, W> {
    plan: &'a Plan,
    kernel: &'a Kernel<W>,
    area: Area,
    is_first: bool,
    batch: usize,
    group: usize,
    channels: [usize; 2],
    chunk: usize,
    first_sum: usize,
}

impl<W: Float> Places<'_, W> {
    /// Adds the products of the area to the sums.
    ///
    /// # Safety
    ///
    /// As [`compute`], and the memory must be large enough.
    unsafe fn add<T: Element<Wide = W>>(
        &self,
        memory: &Memory<W>,
        results: Elements<T>,
        input: Elements<T>,
        sums: Elements<W>,
    ) {
        let (plan, area) = (self.plan, &self.area);
        let Convolution { groups, channels, results: columns, .. } = plan.convolution;
        let image = self.batch * groups + self.group;
        let (length, [first_channel, count]) = (plan.image.source_length(), self.channels);
        // SAFETY: the caller's promise.
        unsafe { self.pack_results(memory, results, image * columns) };
        for first in (0..count).step_by(self.chunk) {
            let chunk = self.chunk.min(count - first);
            let channel = image * channels + first_channel + first;
            let c = sums.first.wrapping_add(self.first_sum + first * plan.image.taps() * columns);
            // SAFETY: the caller's promise.
            unsafe {
                let source = input.get(channel * length..(channel + chunk) * length);
                if T::IS_WIDE && plan.image.is_same_place() {
                    self.multiply_in_place(memory, source.as_ptr().cast(), chunk, c);
                } else {
                    plan.image.copy(area, source, chunk, memory.copies);
                    self.multiply_copies(memory, &plan.image.offsets(area, chunk), c);
                }
            }
        }
    }

    /// Makes panels of the results of the area.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn pack_results<T: Element<Wide = W>>(&self, memory: &Memory<W>, results: Elements<T>, channel: usize) {
        let (area, Convolution { results: columns, result, .. }) = (&self.area, self.plan.convolution);
        let volume = result.iter().product::<usize>();
        let first = (area.plane * result[1] + area.first_row) * result[2] + area.first_column;
        // An area of several rows has all of their columns, so its places are consecutive.
        let places = area.rows * area.columns;
        let (source, stride) = if T::IS_WIDE {
            (results.first.cast::<W>().cast_const().wrapping_add(channel * volume + first), volume)
        } else {
            for column in 0..columns {
                let first = (channel + column) * volume + first;
                // SAFETY: the caller's promise.
                unsafe {
                    let target = std::slice::from_raw_parts_mut(memory.wide.add(column * places), places);
                    T::widen_all(results.get(first..first + places), target);
                }
            }
            (memory.wide.cast_const(), places)
        };
        let width = self.kernel.columns;
        for (panel, first) in (0..columns).step_by(width).enumerate() {
            let source = Source {
                first: source.wrapping_add(first * stride),
                items: width.min(columns - first),
                item_stride: stride,
                inner: places,
                inner_stride: 1,
            };
            // SAFETY: the caller's promise.
            unsafe { pack(&source, width, memory.panels.add(panel * width * places)) };
        }
    }

    /// Multiplies channels of the input, whose places are those of the results, with the panels.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn multiply_in_place(&self, memory: &Memory<W>, input: *const W, channels: usize, c: *mut W) {
        let (area, [_, height, width]) = (&self.area, self.plan.convolution.result);
        let (length, columns) = (self.plan.image.source_length(), self.plan.convolution.results);
        let first = (area.plane * height + area.first_row) * width + area.first_column;
        let groups = channels.div_ceil(self.kernel.rows);
        for group in 0..groups {
            let (first_row, rows) = share(channels, group, groups);
            let a = input.wrapping_add(first_row * length + first);
            // SAFETY: the caller's promise.
            unsafe { self.multiply(memory, (a, rows, length), c.wrapping_add(first_row * columns)) };
        }
    }

    /// Multiplies rows of the copies, which belong to the elements of kernels, with the panels.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn multiply_copies(&self, memory: &Memory<W>, offsets: &[usize], c: *mut W) {
        let (area, columns) = (&self.area, self.plan.convolution.results);
        let (places, row_length) = (area.rows * area.columns, self.plan.image.row_length(area));
        let groups = offsets.len().div_ceil(self.kernel.rows);
        for group in 0..groups {
            let (first_row, rows) = share(offsets.len(), group, groups);
            for (row, offset) in offsets[first_row..first_row + rows].iter().enumerate() {
                for line in 0..area.rows {
                    let from = memory.copies.wrapping_add(offset + line * row_length);
                    let to = memory.rows.wrapping_add(row * places + line * area.columns);
                    // SAFETY: the caller's promise.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, area.columns) };
                }
            }
            // SAFETY: the rows were copied.
            unsafe { self.multiply(memory, (memory.rows, rows, places), c.wrapping_add(first_row * columns)) };
        }
    }

    /// Multiplies rows at a distance from each other with the panels.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    unsafe fn multiply(&self, memory: &Memory<W>, (a, rows, a_down): (*const W, usize, usize), c: *mut W) {
        let (width, columns) = (self.kernel.columns, self.plan.convolution.results);
        let places = self.area.rows * self.area.columns;
        for (panel, first) in (0..columns).step_by(width).enumerate() {
            let part = Part {
                inner: places,
                a,
                rows,
                a_down,
                a_across: 1,
                b: memory.panels.wrapping_add(panel * width * places),
                b_down: width,
                c: c.wrapping_add(first),
                c_down: columns,
                columns: width.min(columns - first),
                continues: !self.is_first,
                window: None,
            };
            // SAFETY: the caller's promise.
            unsafe { (self.kernel.compute)(&part) };
        }
    }
}

/// Launches the sums of the parts, in ascending order, and their transposition.
fn add_parts<T: Element>(context: Context, plan: Arc<Plan>, sums: &Operand, kernels: &Operand) -> Result<(), Error> {
    let (rows, Convolution { groups, results: columns, .. }) = (plan.rows(), plan.convolution);
    let blocks = rows.div_ceil(ADDED);
    let step = Step {
        context,
        width: kernels.len,
        blocks: if kernels.len == 0 { 0 } else { groups * blocks },
        estimate_ns: (kernels.len * (1 + plan.parts)) as f64 * 0.5,
        reads: vec![Arc::clone(&sums.buffer)],
        writes: vec![Arc::clone(&kernels.buffer)],
        carries: None,
    };
    let (sums, target) = (Elements::<T::Wide>::of(sums), Elements::<T>::of(kernels));
    let run = move |unit: usize| {
        let (group, first) = (unit / blocks, unit % blocks * ADDED);
        let count = ADDED.min(rows - first) * columns;
        let part_at = |part: usize| ((part * groups + group) * rows + first) * columns;
        // SAFETY: the sums are only read.
        let part = |part: usize| unsafe { sums.get(part_at(part)..part_at(part) + count) };
        let mut total = part(0).to_vec();
        for number in 1..plan.parts {
            total.iter_mut().zip(part(number)).for_each(|(sum, more)| *sum = sum.add(*more));
        }
        for column in 0..columns {
            let begin = (group * columns + column) * rows + first;
            // SAFETY: units are disjoint.
            let target = unsafe { target.get_mut(begin..begin + count / columns) };
            let sums = total[column..].iter().step_by(columns);
            target.iter_mut().zip(sums).for_each(|(element, sum)| *element = T::narrow(*sum));
        }
    };
    // SAFETY: the function reads the sums and writes disjoint parts of the kernels.
    unsafe { step.submit(run) }
}
