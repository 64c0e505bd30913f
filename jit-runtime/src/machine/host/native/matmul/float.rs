//! Products of `f32` and `f64`.

use super::super::super::threads;
use super::super::{Context, Elements, Operand, Step};
use super::kernel::{Float, Kernel, Part};
use super::pack::{Source, pack};
use super::tile::{Division, Tile};
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
pub(super) fn launch<T: Float>(
    context: Context,
    product: MatMul,
    a: &Operand,
    b: &Operand,
    c: &Operand,
) -> Result<(), Error> {
    let parts = product.parts();
    if parts == 1 {
        return multiply::<T>(context, product, 1, [a, b, c]);
    }
    // SAFETY: the products write every element before anything reads it.
    let sums = unsafe { Operand::alloc_result(c.ty, c.len * parts)? };
    multiply::<T>(context, product, parts, [a, b, &sums])?;
    add_parts::<T>(context, parts, &sums, c)
}

/// Launches the products, or the parts of them, consecutively.
fn multiply<T: Float>(context: Context, product: MatMul, parts: usize, operands: [&Operand; 3]) -> Result<(), Error> {
    let division = Division::new(product, parts, threads());
    let sums = product.rows as f64 * product.columns as f64 * product.batch as f64;
    let scale = size_of::<T>() as f64 / size_of::<f32>() as f64;
    let estimate_ns = scale * sums * (NS_PER_SUM * parts as f64 + NS_PER_PRODUCT * product.inner as f64);
    let step = step(context, operands, division.units(), estimate_ns);
    let kernel = best::<T>(product.columns);
    let [a, b, c] = operands.map(Elements::<T>::of);
    let run = move |unit: usize| {
        for tile in division.unit(unit) {
            // SAFETY: the sizes were checked; `a` and `b` are only read, and tiles are disjoint.
            unsafe { compute(&kernel, &product, &tile, [a, b, c]) };
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

/// Computes a tile.
///
/// # Safety
///
/// The matrices, and the results of all parts, must be as large as the product requires, and no other thread may access
/// the tile. The processor must have the instructions of the kernel.
pub(super) unsafe fn compute<T: Float>(kernel: &Kernel<T>, product: &MatMul, tile: &Tile, matrices: [Elements<T>; 3]) {
    let [a, b, c] = matrices.map(|matrix| matrix.first);
    let ((a_first, a_down, a_across), (b_first, b_down, b_across)) = (product.a(tile), product.b(tile));
    let (c_first, c_down) = product.c(tile);
    let panels = tile.columns.div_ceil(kernel.columns);
    let length = tile.inner.min(PANEL);
    scratch::with((panels * kernel.columns * length * size_of::<T>()).max(1), |copies| {
        let copies = copies.cast::<T>();
        // A sum of nothing is zero, so there is at least one step.
        for first in (0..tile.inner.max(1)).step_by(PANEL) {
            let inner = PANEL.min(tile.inner - first);
            let source = Source {
                first: b.wrapping_add(b_first + first * b_down),
                items: tile.columns,
                item_stride: b_across,
                inner,
                inner_stride: b_down,
            };
            // SAFETY: the scratch memory is large enough for these panels.
            unsafe { pack_panels(&source, kernel.columns, copies) };
            let part = Part {
                inner,
                a: a.wrapping_add(a_first + first * a_across),
                rows: tile.rows,
                a_down,
                a_across,
                b: copies,
                c: c.wrapping_add(c_first),
                c_down,
                columns: tile.columns,
                continues: first > 0,
                window: None,
            };
            // SAFETY: the caller's promise, and the panels were copied.
            unsafe { compute_parts(kernel, &part) };
        }
    });
}

/// Copies columns to consecutive panels.
///
/// # Safety
///
/// As [`pack`], for each of the panels.
unsafe fn pack_panels<T: Float>(source: &Source<T>, width: usize, target: *mut T) {
    for (panel, first) in (0..source.items).step_by(width).enumerate() {
        let columns = Source {
            first: source.first.wrapping_add(first * source.item_stride),
            items: width.min(source.items - first),
            ..*source
        };
        // SAFETY: the caller's promise.
        unsafe { pack(&columns, width, target.add(panel * width * source.inner)) };
    }
}

/// Computes a tile in parts that stay in registers. The numbers of rows differ by at most one, so that no part has few.
///
/// # Safety
///
/// As [`Kernel::compute`], for a part of any size whose `b` is consecutive panels.
unsafe fn compute_parts<T: Float>(kernel: &Kernel<T>, tile: &Part<T>) {
    let groups = tile.rows.div_ceil(kernel.rows);
    for group in 0..groups {
        let first_row = group * tile.rows / groups;
        let rows = (group + 1) * tile.rows / groups - first_row;
        for (panel, first_column) in (0..tile.columns).step_by(kernel.columns).enumerate() {
            let part = Part {
                a: tile.a.wrapping_add(first_row * tile.a_down),
                rows,
                b: tile.b.wrapping_add(panel * kernel.columns * tile.inner),
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
fn add_parts<T: Float>(context: Context, parts: usize, sums: &Operand, c: &Operand) -> Result<(), Error> {
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
    let (sums, c) = (Elements::<T>::of(sums), Elements::<T>::of(c));
    let run = move |block: usize| {
        let range = block * ADDED..c.len.min((block + 1) * ADDED);
        // SAFETY: the parts are only read, and blocks are disjoint.
        let (first, target) = unsafe { (sums.get(range.clone()), c.get_mut(range.clone())) };
        target.copy_from_slice(first);
        for part in 1..parts {
            let first = part * c.len;
            // SAFETY: as above.
            let more = unsafe { sums.get(first + range.start..first + range.end) };
            target.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.add(*more));
        }
    };
    // SAFETY: the function reads the parts and writes disjoint blocks of `c`.
    unsafe { step.submit(run) }
}
