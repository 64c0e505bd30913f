//! Convolutions, and their transposes by the input: the factors times a source, seen through a window.

use std::sync::Arc;

use super::super::super::threads;
use super::super::matmul::float::best;
use super::super::matmul::kernel::{Float, Kernel, Part, Window};
use super::axis::Line;
use super::image::{Area, Image};
use super::tiles::{Division, Tile, share};
use super::{
    AXES, COPIED, Context, Convolution, Element, Elements, INNER, Operand, Sought, Step, arrange, estimate_ns,
};
use crate::Error;
use crate::backend::scratch;

/// Elements after the last one of a copy, which the kernels read and ignore.
const SLACK: usize = 32;

/// The target of an operation, and where its factors are.
struct Plan {
    convolution: Convolution,
    images: Vec<Image>,
    /// The first factor for each image, and the number of those of a group.
    starts: Vec<usize>,
    factors: usize,
}

/// Launches an operation that was checked.
pub(super) fn launch<T: Element>(
    context: Context,
    convolution: Convolution,
    source: &Operand,
    kernels: &Operand,
    target: &Operand,
) -> Result<(), Error> {
    let plan = Plan::new(convolution);
    let factors = arrange::launch::<T>(context, convolution, &plan.images, kernels)?;
    let division = Division::new(&convolution, &plan.images, threads());
    let step = Step {
        context,
        width: target.len,
        blocks: division.units(),
        estimate_ns: estimate_ns::<T>(&convolution),
        reads: vec![Arc::clone(&source.buffer), Arc::clone(&factors.buffer)],
        writes: vec![Arc::clone(&target.buffer)],
        carries: None,
    };
    let (source, factors, target) =
        (Elements::<T>::of(source), Elements::<T::Wide>::of(&factors), Elements::<T>::of(target));
    let run = move |unit: usize| {
        let mut form: Option<Form<T::Wide>> = None;
        for tile in division.unit(unit) {
            let form = match form.take() {
                Some(last) if last.fits(&tile) => form.insert(last),
                _ => form.insert(Form::new(&plan, &tile)),
            };
            // SAFETY: the sizes were checked; source and factors are only read, and tiles are disjoint.
            unsafe { compute::<T>(&plan, &tile, form, source, factors, target) };
        }
    };
    // SAFETY: the function reads source and factors, and writes disjoint tiles of the target.
    unsafe { step.submit(run) }
}

impl Plan {
    fn new(convolution: Convolution) -> Plan {
        let lines = |axis: usize| match convolution.sought {
            Sought::Input => Line::of_input(&convolution, axis),
            _ => Line::of_result(&convolution, axis),
        };
        let [z, y, x]: [Vec<Line>; AXES] = std::array::from_fn(lines);
        let pairs = z.iter().flat_map(|z| y.iter().map(move |y| (z, y)));
        let all = pairs.flat_map(|(z, y)| x.iter().map(move |x| [z, y, x].map(Line::clone)));
        let images: Vec<Image> = all.map(Image::new).collect();
        let (starts, factors) = arrange::places(&convolution, &images);
        Plan { convolution, images, starts, factors }
    }

    /// The channels in a group of the target, and of the source.
    fn channels(&self) -> (usize, usize) {
        let Convolution { channels, results, .. } = self.convolution;
        if self.convolution.sought == Sought::Input { (channels, results) } else { (results, channels) }
    }

    /// The lengths of the axes of the target.
    fn lengths(&self) -> [usize; AXES] {
        if self.convolution.sought == Sought::Input { self.convolution.input } else { self.convolution.result }
    }
}

/// Columns of a product that are computed at once: the first one, those with results as bits, and the number of results
/// before.
struct Panel {
    first: usize,
    valid: u32,
    before: usize,
}

/// The panels of an area. In a copy, rows of the target are followed by elements that have no results.
fn panels(area: &Area, row_length: usize, width: usize) -> Vec<Panel> {
    let columns = if area.rows == 0 { 0 } else { (area.rows - 1) * row_length + area.columns };
    let mut before = 0;
    let panel = |first: usize| {
        let end = columns.min(first + width);
        let (mut valid, mut column) = (0, first);
        while column < end {
            let in_row = column % row_length;
            let run = area.columns.saturating_sub(in_row).min(end - column);
            valid |= (((1_u64 << run) - 1) << (column - first)) as u32;
            column += if run > 0 { run } else { row_length - in_row };
        }
        let panel = Panel { first, valid, before };
        before += valid.count_ones() as usize;
        panel
    };
    (0..columns).step_by(width).map(panel).filter(|panel| panel.valid != 0).collect()
}

/// What tiles of the same form share.
struct Form<W> {
    image: usize,
    /// The rows and columns of the area.
    lengths: [usize; 2],
    kernel: Kernel<W>,
    panels: Vec<Panel>,
    /// So many channels are copied at once.
    chunk: usize,
    offsets: Vec<usize>,
}

impl<W: Float> Form<W> {
    fn new(plan: &Plan, tile: &Tile) -> Form<W> {
        let (image, area) = (&plan.images[tile.image], &tile.area);
        let (_, summed) = plan.channels();
        let chunk = (COPIED / image.channel_length(area).max(1)).clamp(1, summed.max(1));
        let kernel = best::<W>(area.rows * area.columns);
        Form {
            image: tile.image,
            lengths: [area.rows, area.columns],
            kernel,
            panels: panels(area, image.row_length(area), kernel.columns),
            chunk,
            offsets: image.offsets(area, chunk),
        }
    }

    fn fits(&self, tile: &Tile) -> bool {
        self.image == tile.image && self.lengths == [tile.area.rows, tile.area.columns]
    }
}

/// Computes a tile.
///
/// # Safety
///
/// The arrays must be as long as the operation requires, and no other thread may access the tile.
unsafe fn compute<T: Element>(
    plan: &Plan,
    tile: &Tile,
    form: &Form<T::Wide>,
    source: Elements<T>,
    factors: Elements<T::Wide>,
    target: Elements<T>,
) {
    let (image, area) = (&plan.images[tile.image], &tile.area);
    let (all_rows, summed) = plan.channels();
    let [_, height, width] = plan.lengths();
    let volume = plan.lengths().iter().product::<usize>();
    let is_direct = T::IS_WIDE && image.lines.iter().all(|line| line.apart == 1);
    let Form { kernel, panels, chunk, offsets, .. } = form;
    let (chunk, results) = (*chunk, area.rows * area.columns);
    let (copied, own) = (chunk * image.channel_length(area) + SLACK, if is_direct { 0 } else { tile.rows * results });
    let first_of_target = ((tile.batch * plan.convolution.groups + tile.group) * all_rows + tile.first_row) * volume;
    scratch::with((copied + own) * size_of::<T::Wide>(), |memory| {
        let copies = memory.cast::<T::Wide>();
        let (c, c_down) = if is_direct {
            let first = (area.plane * height + area.first_row) * width + area.first_column;
            (target.first.cast::<T::Wide>().wrapping_add(first_of_target + first), volume)
        } else {
            (copies.wrapping_add(copied), results)
        };
        let length = image.source_length();
        let first_source = (tile.batch * plan.convolution.groups + tile.group) * summed * length;
        let a = factors
            .first
            .wrapping_add(tile.group * plan.factors + plan.starts[tile.image] + tile.first_row * summed * image.taps());
        // A sum of nothing is zero, so there is at least one step.
        for first in (0..summed.max(1)).step_by(chunk) {
            let channels = chunk.min(summed - first);
            let range = first_source + first * length..first_source + (first + channels) * length;
            let product = Product {
                a: a.wrapping_add(first * image.taps()),
                a_down: summed * image.taps(),
                rows: tile.rows,
                b: copies,
                offsets: &offsets[..channels * image.taps()],
                c,
                c_down,
                continues: first > 0,
            };
            // SAFETY: the source has these channels, there is space for the copies, and the parts are in the tile.
            unsafe {
                image.copy(area, source.get(range), channels, copies);
                product.compute(kernel, panels);
            }
        }
        if !is_direct {
            // SAFETY: the sums of all rows were computed; the tile is exclusive.
            let sums = unsafe { std::slice::from_raw_parts(c, tile.rows * results) };
            for (row, sums) in sums.chunks_exact(results.max(1)).enumerate() {
                // SAFETY: as above.
                unsafe { store::<T>(image, area, [height, width], sums, target, first_of_target + row * volume) };
            }
        }
    });
}

/// The factors of some channels times their copies.
struct Product<'a, T> {
    a: *const T,
    a_down: usize,
    rows: usize,
    b: *const T,
    offsets: &'a [usize],
    c: *mut T,
    c_down: usize,
    continues: bool,
}

impl<T: Float> Product<'_, T> {
    /// Adds the products, a part of them after another.
    ///
    /// # Safety
    ///
    /// As [`Kernel::compute`], for all panels.
    unsafe fn compute(&self, kernel: &Kernel<T>, panels: &[Panel]) {
        let groups = self.rows.div_ceil(kernel.rows);
        for first in (0..self.offsets.len().max(1)).step_by(INNER) {
            let inner = INNER.min(self.offsets.len() - first);
            for panel in panels {
                for group in 0..groups {
                    let (first_row, rows) = share(self.rows, group, groups);
                    let part = Part {
                        inner,
                        a: self.a.wrapping_add(first_row * self.a_down + first),
                        rows,
                        a_down: self.a_down,
                        a_across: 1,
                        b: self.b.wrapping_add(panel.first),
                        b_down: 0,
                        c: self.c.wrapping_add(first_row * self.c_down + panel.before),
                        c_down: self.c_down,
                        columns: (u32::BITS - panel.valid.leading_zeros()) as usize,
                        continues: self.continues || first > 0,
                        window: Some(Window { offsets: self.offsets[first..].as_ptr(), valid: panel.valid }),
                    };
                    // SAFETY: the caller's promise.
                    unsafe { (kernel.compute)(&part) };
                }
            }
        }
    }
}

/// Writes the sums of an area of one channel to their places.
///
/// # Safety
///
/// The target must have the area, and no other thread may access it.
unsafe fn store<T: Element>(
    image: &Image,
    area: &Area,
    [height, width]: [usize; 2],
    sums: &[T::Wide],
    target: Elements<T>,
    first: usize,
) {
    let [z, y, x] = &image.lines;
    let plane = z.first + area.plane * z.apart;
    for (number, sums) in sums.chunks_exact(area.columns).enumerate() {
        let row = y.first + (area.first_row + number) * y.apart;
        let first = first + (plane * height + row) * width + x.first + area.first_column * x.apart;
        if x.apart == 1 {
            // SAFETY: the caller's promise.
            T::narrow_all(sums, unsafe { target.get_mut(first..first + sums.len()) });
            continue;
        }
        for (column, sum) in sums.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *target.first.add(first + column * x.apart) = T::narrow(*sum) };
        }
    }
}
