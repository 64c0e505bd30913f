//! Products of matrices.
//!
//! The result is cut into tiles whose size depends on the shape alone. Each tile is a block of work, so the number of
//! threads changes no bit. `f32` and `f64` are multiplied by the crate `matrixmultiply`, with the vector instructions
//! of the processor. The crate determines the order in which the products of an element are added, and whether they are
//! rounded before; both are the same on every run on one machine. Halves are multiplied and added in `f32` and rounded
//! once. Integers wrap.

use std::sync::Arc;

use half::{bf16, f16};

use super::{Context, Elements, Operand, Step};
use crate::Error;
use crate::ir::Type;

/// The number of rows and columns of a tile.
const TILE_ROWS: usize = 128;
const TILE_COLUMNS: usize = 256;
/// The time of one multiplication and addition, roughly.
const NS_PER_PRODUCT: f64 = 0.02;

/// Products of matrices in row-major order, `c = a b`, for each of a batch of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatMul {
    /// The number of rows of `a` and `c`.
    pub rows: usize,
    /// The number of columns of `a` and of rows of `b`.
    pub inner: usize,
    /// The number of columns of `b` and `c`.
    pub columns: usize,
    /// Whether `a` is passed as its transpose, `inner` × `rows`.
    pub is_a_transposed: bool,
    /// Whether `b` is passed as its transpose, `columns` × `inner`.
    pub is_b_transposed: bool,
    /// The number of products; their matrices are consecutive in memory.
    pub batch: usize,
    /// Whether all products of the batch share a single `a`.
    pub is_a_shared: bool,
    /// Whether all products of the batch share a single `b`.
    pub is_b_shared: bool,
}

/// Whether matrices of an element type can be multiplied: all but `bool`.
#[must_use]
pub fn is_supported_matmul(ty: Type) -> bool {
    ty != Type::Bool
}

impl MatMul {
    /// One product of two matrices, neither of them transposed.
    #[must_use]
    pub const fn new(rows: usize, inner: usize, columns: usize) -> MatMul {
        MatMul {
            rows,
            inner,
            columns,
            is_a_transposed: false,
            is_b_transposed: false,
            batch: 1,
            is_a_shared: false,
            is_b_shared: false,
        }
    }

    /// The number of elements of `a`, `b` and `c`; none if that is more than memory can hold.
    #[must_use]
    pub fn lens(&self) -> Option<[usize; 3]> {
        let len = |rows: usize, columns: usize, count: usize| rows.checked_mul(columns)?.checked_mul(count);
        let count = |is_shared: bool| if is_shared { 1 } else { self.batch };
        Some([
            len(self.rows, self.inner, count(self.is_a_shared))?,
            len(self.inner, self.columns, count(self.is_b_shared))?,
            len(self.rows, self.columns, self.batch)?,
        ])
    }

    pub(super) fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let ([a, b], [c]) = (inputs, outputs) else { return Err("there are two inputs and one output".into()) };
        if a.ty != c.ty || b.ty != c.ty || !is_supported_matmul(c.ty) {
            return Err(format!("matrices of {} and {} cannot be multiplied to one of {}", a.ty, b.ty, c.ty));
        }
        let lens = [a.len, b.len, c.len];
        if self.lens() != Some(lens) {
            return Err(format!("the operands have {lens:?} elements, but {self:?} takes {:?}", self.lens()));
        }
        Ok(())
    }
}

/// A part of one product.
struct Tile {
    batch: usize,
    first_row: usize,
    rows: usize,
    first_column: usize,
    columns: usize,
}

impl MatMul {
    fn tiles_down(&self) -> usize {
        self.rows.div_ceil(TILE_ROWS)
    }

    fn tiles_across(&self) -> usize {
        self.columns.div_ceil(TILE_COLUMNS)
    }

    fn tile(&self, block: usize) -> Tile {
        let (across, down) = (self.tiles_across(), self.tiles_down());
        let (first_row, first_column) = (block / across % down * TILE_ROWS, block % across * TILE_COLUMNS);
        Tile {
            batch: block / (across * down),
            first_row,
            rows: TILE_ROWS.min(self.rows - first_row),
            first_column,
            columns: TILE_COLUMNS.min(self.columns - first_column),
        }
    }

    /// The start of the tile's rows in `a`, and the strides from row to row and from column to column.
    fn a(&self, tile: &Tile) -> (usize, usize, usize) {
        let matrix = if self.is_a_shared { 0 } else { tile.batch * self.rows * self.inner };
        let (down, across) = if self.is_a_transposed { (1, self.rows) } else { (self.inner, 1) };
        (matrix + tile.first_row * down, down, across)
    }

    /// The start of the tile's columns in `b`, and the strides from row to row and from column to column.
    fn b(&self, tile: &Tile) -> (usize, usize, usize) {
        let matrix = if self.is_b_shared { 0 } else { tile.batch * self.inner * self.columns };
        let (down, across) = if self.is_b_transposed { (1, self.inner) } else { (self.columns, 1) };
        (matrix + tile.first_column * across, down, across)
    }

    /// The start of the tile in `c`, and the stride from row to row.
    fn c(&self, tile: &Tile) -> (usize, usize) {
        let first = (tile.batch * self.rows + tile.first_row) * self.columns + tile.first_column;
        (first, self.columns)
    }
}

/// Launches products that were checked.
pub(super) fn launch(context: Context, product: MatMul, a: &Operand, b: &Operand, c: &Operand) -> Result<(), Error> {
    match c.ty {
        Type::F32 => multiply::<f32>(context, product, a, b, c),
        Type::F64 => multiply::<f64>(context, product, a, b, c),
        Type::F16 => multiply::<f16>(context, product, a, b, c),
        Type::BF16 => multiply::<bf16>(context, product, a, b, c),
        // Products and sums of integers wrap, so their signedness makes no difference.
        Type::I8 | Type::U8 | Type::Bool => multiply::<u8>(context, product, a, b, c),
        Type::I16 | Type::U16 => multiply::<u16>(context, product, a, b, c),
        Type::I32 | Type::U32 => multiply::<u32>(context, product, a, b, c),
        Type::I64 | Type::U64 => multiply::<u64>(context, product, a, b, c),
    }
}

fn multiply<T: Factor>(context: Context, product: MatMul, a: &Operand, b: &Operand, c: &Operand) -> Result<(), Error> {
    let products = product.rows as f64 * product.columns as f64 * (product.inner.max(1) * product.batch) as f64;
    let step = Step {
        context,
        width: c.len,
        blocks: if c.len == 0 { 0 } else { product.batch * product.tiles_down() * product.tiles_across() },
        estimate_ns: NS_PER_PRODUCT * T::WEIGHT * products,
        reads: vec![Arc::clone(&a.buffer), Arc::clone(&b.buffer)],
        writes: vec![Arc::clone(&c.buffer)],
        carries: None,
    };
    let [a, b, c] = [a, b, c].map(Elements::<T>::of);
    let run = move |block: usize| {
        let tile = product.tile(block);
        // SAFETY: the sizes were checked; `a` and `b` are only read, and tiles are disjoint.
        unsafe { T::multiply(&product, &tile, a.get(0..a.len), b.get(0..b.len), c) };
    };
    // SAFETY: the function reads `a` and `b` and writes disjoint tiles of `c`.
    unsafe { step.submit(run) }
}

/// An element type of matrices.
trait Factor: Copy + Send + Sync + 'static {
    /// The time of a product, relative to `f32`.
    const WEIGHT: f64;

    /// Computes a tile.
    ///
    /// # Safety
    ///
    /// The slices must be as long as the product requires, and no other thread may access the tile of `c`.
    unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>);
}

macro_rules! floats {
    ($($ty:ty, $weight:expr, $gemm:path;)*) => {$(
        impl Factor for $ty {
            const WEIGHT: f64 = $weight;

            unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>) {
                let (a_first, a_down, a_across) = product.a(tile);
                let (b_first, b_down, b_across) = product.b(tile);
                let (c_first, c_down) = product.c(tile);
                // SAFETY: the strides stay inside the matrices; `c` is not read, as it is multiplied by zero.
                unsafe {
                    $gemm(
                        tile.rows,
                        product.inner,
                        tile.columns,
                        1.0,
                        a.as_ptr().wrapping_add(a_first),
                        a_down as isize,
                        a_across as isize,
                        b.as_ptr().wrapping_add(b_first),
                        b_down as isize,
                        b_across as isize,
                        0.0,
                        c.first.wrapping_add(c_first),
                        c_down as isize,
                        1,
                    );
                }
            }
        }
    )*};
}

floats! {
    f32, 1.0, matrixmultiply::sgemm;
    f64, 2.0, matrixmultiply::dgemm;
}

macro_rules! halves {
    ($($ty:ident),*) => {$(
        impl Factor for $ty {
            const WEIGHT: f64 = 2.0;

            unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>) {
                let wide = |matrix: &[$ty], (first, down, across): (usize, usize, usize), rows: usize, columns: usize| {
                    let element = |index: usize| {
                        matrix[first + index / columns * down + index % columns * across].to_f32()
                    };
                    (0..rows * columns).map(element).collect::<Vec<f32>>()
                };
                let (rows, inner, columns) = (tile.rows, product.inner, tile.columns);
                let a = wide(a, product.a(tile), rows, inner);
                let b = wide(b, product.b(tile), inner, columns);
                let mut sums = vec![0.0; rows * columns];
                let whole = MatMul::new(rows, inner, columns);
                let part = Tile { batch: 0, first_row: 0, rows, first_column: 0, columns };
                let target = Elements { first: sums.as_mut_ptr(), len: sums.len() };
                // SAFETY: the matrices have these lengths, and the sums are not shared.
                unsafe { f32::multiply(&whole, &part, &a, &b, target) };
                let (c_first, c_down) = product.c(tile);
                for (row, sums) in sums.chunks(columns).enumerate() {
                    let first = c_first + row * c_down;
                    // SAFETY: no other thread accesses the tile, as the caller guarantees.
                    let target = unsafe { c.get_mut(first..first + columns) };
                    target.iter_mut().zip(sums).for_each(|(target, sum)| *target = $ty::from_f32(*sum));
                }
            }
        }
    )*};
}

halves!(f16, bf16);

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Factor for $ty {
            const WEIGHT: f64 = 10.0;

            unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>) {
                let (a_first, a_down, a_across) = product.a(tile);
                let (b_first, b_down, b_across) = product.b(tile);
                let (c_first, c_down) = product.c(tile);
                for row in 0..tile.rows {
                    let first = c_first + row * c_down;
                    // SAFETY: no other thread accesses the tile, as the caller guarantees.
                    let sums = unsafe { c.get_mut(first..first + tile.columns) };
                    sums.fill(0);
                    for step in 0..product.inner {
                        let factor = a[a_first + row * a_down + step * a_across];
                        let others = b[b_first + step * b_down..].iter().step_by(b_across);
                        sums.iter_mut()
                            .zip(others)
                            .for_each(|(sum, other)| *sum = sum.wrapping_add(factor.wrapping_mul(*other)));
                    }
                }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);
