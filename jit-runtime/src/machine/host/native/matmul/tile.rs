//! How products are cut into units of work.

use super::MatMul;

/// The rows and columns of the largest tiles: from there on, the time to copy panels of the factors is small.
const TILE_ROWS: usize = 512;
const TILE_COLUMNS: usize = 256;
/// The rows of the smallest tiles into which a product is cut for the sake of more threads.
const MIN_ROWS: usize = 48;
/// The columns of such tiles, if there are not enough rows.
const MIN_COLUMNS: usize = 64;
/// The tiles for each thread, if there are rows enough.
const TILES_PER_THREAD: usize = 2;
/// The products of a unit of work, at least: small products of a batch are computed together.
const UNIT_PRODUCTS: usize = 1 << 16;
/// A part of one product.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    /// The number of the product in the batch.
    pub(super) batch: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) first_column: usize,
    pub(super) columns: usize,
    /// The number of the part of the sums, and its first product and length.
    pub(super) part: usize,
    pub(super) first_inner: usize,
    pub(super) inner: usize,
}

/// The division of products into tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    product: MatMul,
    down: usize,
    across: usize,
    /// The number of parts of each sum.
    pub(super) parts: usize,
    /// The tiles of a unit of work.
    tiles_per_unit: usize,
}

impl MatMul {
    /// The start of the tile's rows in `a`, and the strides from row to row and within rows.
    pub(super) fn a(&self, tile: &Tile) -> (usize, usize, usize) {
        let matrix = if self.is_a_shared { 0 } else { tile.batch * self.rows * self.inner };
        let (down, across) = if self.is_a_transposed { (1, self.rows) } else { (self.inner, 1) };
        (matrix + tile.first_row * down + tile.first_inner * across, down, across)
    }

    /// The start of the tile's columns in `b`, and the strides from row to row and within rows.
    pub(super) fn b(&self, tile: &Tile) -> (usize, usize, usize) {
        let matrix = if self.is_b_shared { 0 } else { tile.batch * self.inner * self.columns };
        let (down, across) = if self.is_b_transposed { (1, self.inner) } else { (self.columns, 1) };
        (matrix + tile.first_inner * down + tile.first_column * across, down, across)
    }

    /// The start of the tile in the results of all parts, and the stride from row to row.
    pub(super) fn c(&self, tile: &Tile) -> (usize, usize) {
        let matrix = tile.part * self.batch + tile.batch;
        ((matrix * self.rows + tile.first_row) * self.columns + tile.first_column, self.columns)
    }
}

impl Division {
    /// Divides products for a number of threads.
    pub(super) fn new(product: MatMul, parts: usize, threads: usize) -> Division {
        let across = product.columns.div_ceil(TILE_COLUMNS).max(1);
        let wanted = (TILES_PER_THREAD * threads).div_ceil(across * parts * product.batch.max(1));
        let most = product.rows.div_ceil(MIN_ROWS);
        let down = product.rows.div_ceil(TILE_ROWS).max(wanted.min(most)).max(1);
        let missing = threads.div_ceil(across * down * parts * product.batch.max(1));
        let across = across.max(missing.min(product.columns.div_ceil(MIN_COLUMNS)));
        let products = product.rows.div_ceil(down) * product.columns.div_ceil(across) * product.inner.div_ceil(parts);
        let tiles_per_unit = if product.batch == 1 { 1 } else { (UNIT_PRODUCTS / products.max(1)).max(1) };
        Division { product, down, across, parts, tiles_per_unit }
    }

    fn tiles(&self) -> usize {
        self.product.batch * self.parts * self.down * self.across
    }

    /// The number of units of work; none if there are no results.
    pub(super) fn units(&self) -> usize {
        let is_empty = self.product.rows == 0 || self.product.columns == 0;
        if is_empty { 0 } else { self.tiles().div_ceil(self.tiles_per_unit) }
    }

    /// The tiles of a unit.
    pub(super) fn unit(&self, number: usize) -> impl Iterator<Item = Tile> {
        let first = number * self.tiles_per_unit;
        (first..self.tiles().min(first + self.tiles_per_unit)).map(|tile| self.tile(tile))
    }

    fn tile(&self, number: usize) -> Tile {
        let Division { product, down, across, parts, .. } = *self;
        let share = |length: usize, part: usize, parts: usize| {
            let first = length * part / parts;
            (first, length * (part + 1) / parts - first)
        };
        let (first_row, rows) = share(product.rows, number / across % down, down);
        let (first_column, columns) = share(product.columns, number % across, across);
        let matrix = number / (across * down);
        let part = matrix % parts;
        let (first_inner, inner) = share(product.inner, part, parts);
        Tile { batch: matrix / parts, first_row, rows, first_column, columns, part, first_inner, inner }
    }
}
