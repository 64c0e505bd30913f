//! Products of floats.

use super::super::super::threads;
use super::super::wide::{Element, Pairing};
use super::super::{Context, Elements, Operand, Step};
use super::kernel::{Float, Kernel, Part};
use super::pack::{Source, pack};
use super::pairs::Least;
use super::tile::{Division, Tile};
use super::vector::Lane;
use super::{MatMul, step};
use crate::Error;
use crate::backend::scratch;
use crate::ir::Type;

use std::sync::Arc;

/// The length of the sums that panels of `b` have copies for: a panel then stays in the first cache.
const PANEL: usize = 256;
/// The time of a multiplication and addition in `f32`, and that to write and read the results, roughly.
const NS_PER_PRODUCT: f64 = 0.01;
const NS_PER_SUM: f64 = 0.3;
/// The elements of a unit of work that adds up parts.
const ADDED: usize = 1 << 12;

/// Launches products that were checked.
pub(super) fn launch<T: Element>(
    context: Context,
    product: MatMul,
    a: &Operand,
    b: &Operand,
    c: &Operand,
) -> Result<(), Error> {
    let parts = product.parts();
    if parts == 1 {
        return multiply::<T, T>(context, product, 1, [a, b, c]);
    }
    // SAFETY: the products write every element before anything reads it.
    let sums = unsafe { Operand::alloc_result(T::WIDE, c.len * parts)? };
    multiply::<T, T::Wide>(context, product, parts, [a, b, &sums])?;
    add_parts::<T>(context, parts, &sums, c)
}

/// Launches the products, or the parts of them, consecutively. Sums are written as `S`.
fn multiply<T: Element, S: Element<Wide = T::Wide>>(
    context: Context,
    product: MatMul,
    parts: usize,
    operands: [&Operand; 3],
) -> Result<(), Error> {
    let division = Division::new(product, parts, threads());
    let sums = product.rows as f64 * product.columns as f64 * product.batch as f64;
    let scale = size_of::<T::Wide>() as f64 / size_of::<f32>() as f64;
    let kernels = Kernels { single: best(product.columns), pairs: T::pairing() };
    let ns_per_product = if kernels.pairs.is_some() { NS_PER_PRODUCT / 2.0 } else { NS_PER_PRODUCT };
    let estimate_ns = scale * sums * (NS_PER_SUM * parts as f64 + ns_per_product * product.inner as f64);
    let step = step(context, operands, division.units(), estimate_ns);
    let [a, b, c] = operands;
    let (a, b, c) = (Elements::<T>::of(a), Elements::<T>::of(b), Elements::<S>::of(c));
    let run = move |unit: usize| {
        for tile in division.unit(unit) {
            // SAFETY: the sizes were checked; `a` and `b` are only read, and tiles are disjoint.
            unsafe { compute(&kernels, &product, &tile, (a, b, c)) };
        }
    };
    // SAFETY: the function reads `a` and `b` and writes disjoint tiles of `c`.
    unsafe { step.submit(run) }
}

/// The kernel for results with so many columns. Where most lanes of a register would be idle, narrower ones compute
/// more.
pub(in super::super) fn best<T: Float>(columns: usize) -> Kernel<T> {
    let kernels = T::kernels();
    let fast = &kernels[..(kernels.len() - 1).max(1)];
    let is_wide = |kernel: &&Kernel<T>| 4 * columns > kernel.columns;
    *fast.iter().find(is_wide).unwrap_or(&fast[fast.len() - 1])
}

/// The kernels for factors of a type.
pub(super) struct Kernels<T: Element> {
    /// The one for factors in the type of sums.
    pub(super) single: Kernel<T::Wide>,
    /// That for pairs of factors, if the processor has one. It takes precedence where it computes the same bits.
    pub(super) pairs: Option<Pairing<T>>,
}

impl<T: Element> Kernels<T> {
    /// Converts factors of the same sums, to the type of sums or in pairs, and returns the kernel for them.
    ///
    /// # Safety
    ///
    /// The factors must be readable, and the targets have space for them.
    unsafe fn convert(
        &self,
        least: &mut Least,
        [a, b]: [Source<T>; 2],
        [a_target, b_target]: [*mut T::Wide; 2],
    ) -> (&Kernel<T::Wide>, [Source<T::Wide>; 2]) {
        // SAFETY: the caller's promise; one of the strides is 1.
        unsafe {
            if let Some(Pairing { kernel, pair }) = &self.pairs
                && least.excludes_subnormals()
            {
                let ((a_pairs, a_least), (b_pairs, b_least)) = (pair(&a, a_target), pair(&b, b_target));
                least.include(a_least, b_least);
                if least.excludes_subnormals() {
                    return (kernel, [a_pairs, b_pairs]);
                }
            }
            (&self.single, [a.widened(a_target), b.widened(b_target)])
        }
    }

    /// The columns of all panels for so many columns, with any of the kernels.
    fn panel_columns(&self, columns: usize) -> usize {
        let pairs = self.pairs.as_ref().map_or(0, |pairs| columns.next_multiple_of(pairs.kernel.columns));
        columns.next_multiple_of(self.single.columns).max(pairs)
    }
}

/// Computes a tile. Elements that are not of the type of sums are converted while they are copied.
///
/// # Safety
///
/// The matrices, and the results of all parts, must be as large as the product requires, and no other thread may access
/// the tile. The processor must have the instructions of the kernels.
pub(super) unsafe fn compute<T: Element, S: Element<Wide = T::Wide>>(
    kernels: &Kernels<T>,
    product: &MatMul,
    tile: &Tile,
    (a, b, c): (Elements<T>, Elements<T>, Elements<S>),
) {
    let (c_first, c_down) = product.c(tile);
    let length = tile.inner.min(PANEL);
    let if_narrow = |is_narrow: bool, elements: usize| if is_narrow { elements } else { 0 };
    let lengths = [
        kernels.panel_columns(tile.columns) * length,
        if_narrow(!T::IS_WIDE, tile.rows * length),
        if_narrow(!T::IS_WIDE, tile.columns * length),
        if_narrow(!S::IS_WIDE, tile.rows * tile.columns),
    ];
    scratch::with((lengths.iter().sum::<usize>() * size_of::<T::Wide>()).max(1), |memory| {
        let at = |count: usize| memory.cast::<T::Wide>().wrapping_add(lengths[..count].iter().sum());
        let copies = at(0);
        let target = c.first.wrapping_add(c_first);
        let (sums, sums_down) = if S::IS_WIDE { (target.cast(), c_down) } else { (at(3), tile.columns) };
        let mut least = Least::NONE;
        // A sum of nothing is zero, so there is at least one step.
        for first in (0..tile.inner.max(1)).step_by(PANEL) {
            let inner = PANEL.min(tile.inner - first);
            let factors = factors(product, tile, (a, b), first, inner);
            // SAFETY: the scratch memory is large enough for these copies.
            let (kernel, [rows, columns]) = unsafe { kernels.convert(&mut least, factors, [at(1), at(2)]) };
            // SAFETY: as above.
            let panels = unsafe { Panels::of(&columns, kernel, tile.rows, copies) };
            let part = Part {
                inner: rows.inner,
                a: rows.first,
                rows: tile.rows,
                a_down: rows.item_stride,
                a_across: rows.inner_stride,
                b: copies,
                b_down: kernel.columns,
                c: sums,
                c_down: sums_down,
                columns: tile.columns,
                continues: first > 0,
                window: None,
            };
            // SAFETY: the caller's promise, and the panels were copied.
            unsafe { compute_parts(kernel, &part, panels) };
        }
        if !S::IS_WIDE {
            let is_one = c_down == tile.columns;
            let (lines, length) = if is_one { (1, tile.rows * c_down) } else { (tile.rows, tile.columns) };
            for line in 0..lines {
                let (first, target) = (sums.wrapping_add(line * sums_down), target.wrapping_add(line * c_down));
                // SAFETY: the sums were computed, and the tile is exclusive.
                let (sums, target) = unsafe {
                    let target = std::slice::from_raw_parts_mut(target, length);
                    (std::slice::from_raw_parts(first, length), target)
                };
                S::narrow_all(sums, target);
            }
        }
    });
}

/// The rows and the columns of a tile, as far as a part of its sums reads them.
fn factors<T>(
    product: &MatMul,
    tile: &Tile,
    (a, b): (Elements<T>, Elements<T>),
    first_inner: usize,
    inner: usize,
) -> [Source<T>; 2] {
    let source = |all: Elements<T>, first: usize, items: usize, item_stride: usize, inner_stride: usize| Source {
        first: all.first.cast_const().wrapping_add(first + first_inner * inner_stride),
        items,
        item_stride,
        inner,
        inner_stride,
    };
    let (a_first, a_down, a_across) = product.a(tile);
    let (b_first, b_down, b_across) = product.b(tile);
    [source(a, a_first, tile.rows, a_down, a_across), source(b, b_first, tile.columns, b_across, b_down)]
}

impl<T: Element> Source<T> {
    /// The same numbers in the type of sums: where they are if they have it, otherwise copied. Lines that are
    /// consecutive in memory stay so.
    ///
    /// # Safety
    ///
    /// The numbers must be readable, one of the strides be 1, and the target have space for them if they are copied.
    unsafe fn widened(self, target: *mut T::Wide) -> Source<T::Wide> {
        let Source { first, items, item_stride, inner, inner_stride } = self;
        if T::IS_WIDE {
            return Source { first: first.cast(), items, item_stride, inner, inner_stride };
        }
        let is_line_item = inner_stride == 1;
        let (lines, length, stride) =
            if is_line_item { (items, inner, item_stride) } else { (inner, items, inner_stride) };
        let (item_stride, inner_stride) = if is_line_item { (length, 1) } else { (1, length) };
        // Lines without anything between them are one.
        let (lines, length) = if stride == length { (1, lines * length) } else { (lines, length) };
        for line in 0..lines {
            // SAFETY: the caller's promise.
            unsafe {
                let source = std::slice::from_raw_parts(first.wrapping_add(line * stride), length);
                T::widen_all(source, std::slice::from_raw_parts_mut(target.add(line * length), length));
            }
        }
        Source { first: target, items, item_stride, inner, inner_stride }
    }
}

/// The panels of `b` that a part of a tile's sums reads.
#[derive(Clone, Copy)]
struct Panels<T> {
    /// The columns before these are read where they are, with a stride from row to row.
    direct: usize,
    first: *const T,
    down: usize,
    /// The first of the copies, which are consecutive.
    copies: *const T,
}

impl<T: Float> Panels<T> {
    /// Copies columns to consecutive panels. Where a single group of rows reads them, and they are next to each other,
    /// whole panels stay where they are.
    ///
    /// # Safety
    ///
    /// As [`pack`], for each of the panels.
    unsafe fn of(source: &Source<T>, kernel: &Kernel<T>, rows: usize, copies: *mut T) -> Panels<T> {
        let is_direct = rows <= kernel.rows && source.item_stride == 1;
        let direct = if is_direct { source.items / kernel.columns * kernel.columns } else { 0 };
        for (panel, first) in (direct..source.items).step_by(kernel.columns).enumerate() {
            let columns = Source {
                first: source.first.wrapping_add(first * source.item_stride),
                items: kernel.columns.min(source.items - first),
                ..*source
            };
            // SAFETY: the caller's promise.
            unsafe { pack(&columns, kernel.columns, copies.add(panel * kernel.columns * source.inner)) };
        }
        Panels { direct, first: source.first, down: source.inner_stride, copies }
    }

    /// The panel of the columns from one on, and its stride from row to row.
    fn at(&self, column: usize, width: usize, inner: usize) -> (*const T, usize) {
        match column.checked_sub(self.direct) {
            None => (self.first.wrapping_add(column), self.down),
            Some(behind) => (self.copies.wrapping_add(behind * inner), width),
        }
    }
}

/// Computes a tile in parts that stay in registers. The numbers of rows differ by at most one, so that no part has few.
///
/// # Safety
///
/// As [`Kernel::compute`], for a part of any size whose `b` is panels.
unsafe fn compute_parts<T: Float>(kernel: &Kernel<T>, tile: &Part<T>, panels: Panels<T>) {
    let groups = tile.rows.div_ceil(kernel.rows);
    for group in 0..groups {
        let first_row = group * tile.rows / groups;
        let rows = (group + 1) * tile.rows / groups - first_row;
        for first_column in (0..tile.columns).step_by(kernel.columns) {
            let (b, b_down) = panels.at(first_column, kernel.columns, tile.inner);
            let part = Part {
                a: tile.a.wrapping_add(first_row * tile.a_down),
                rows,
                b,
                b_down,
                c: tile.c.wrapping_add(first_row * tile.c_down + first_column),
                columns: kernel.columns.min(tile.columns - first_column),
                ..*tile
            };
            // SAFETY: the caller's promise.
            unsafe { (kernel.compute)(&part) };
        }
    }
}

/// Launches the sums of consecutive parts, in ascending order.
fn add_parts<T: Element>(context: Context, parts: usize, sums: &Operand, c: &Operand) -> Result<(), Error> {
    let step = Step {
        context,
        width: c.len,
        blocks: c.len.div_ceil(ADDED),
        estimate_ns: NS_PER_SUM * (parts * c.len) as f64,
        reads: vec![Arc::clone(&sums.buffer)],
        writes: vec![Arc::clone(&c.buffer)],
        carries: None,
    };
    debug_assert_ne!(c.ty, Type::Bool);
    let (sums, c) = (Elements::<T::Wide>::of(sums), Elements::<T>::of(c));
    let run = move |block: usize| {
        let range = block * ADDED..c.len.min((block + 1) * ADDED);
        // SAFETY: the parts are only read, and blocks are disjoint.
        let target = unsafe { c.get_mut(range.clone()) };
        let mut total = [T::Wide::ZERO; ADDED];
        for part in 0..parts {
            let first = part * c.len;
            // SAFETY: as above.
            let more = unsafe { sums.get(first + range.start..first + range.end) };
            match part {
                0 => total[..more.len()].copy_from_slice(more),
                _ => total.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.add(*more)),
            }
        }
        T::narrow_all(&total[..range.len()], target);
    };
    // SAFETY: the function reads the parts and writes disjoint blocks of `c`.
    unsafe { step.submit(run) }
}
