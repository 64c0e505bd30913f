//! The sizes of tiles.

use crate::backend::library::MatMul;
use crate::ir::Type;

/// Products with at least so many large tiles are computed in those: enough for all processors of a GPU.
const MANY_TILES: usize = 128;
/// The bytes that a thread loads from shared memory at once.
const VECTOR_BYTES: u32 = 16;

/// How a product is cut into tiles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tiles {
    /// For products with few results.
    Small,
    /// For products with many results: each element that is loaded is used more often.
    Large,
}

impl Tiles {
    pub(in super::super) const ALL: [Tiles; 2] = [Tiles::Small, Tiles::Large];
}

/// The size of a tile, which has as many rows as columns.
#[derive(Clone, Copy)]
pub(in super::super) struct Size {
    /// Its rows, and its columns: the items of its panels.
    pub(in super::super) items: u32,
    /// The rows, and columns, of a thread.
    pub(in super::super) per_thread: u32,
    /// The products of each sum between two barriers.
    pub(in super::super) depth: u32,
    /// The neighbouring items that a thread loads from shared memory at once.
    pub(in super::super) vector: u32,
}

impl Tiles {
    /// The size to choose for a product.
    pub(in super::super) fn of(product: &MatMul, ty: Type) -> Tiles {
        let items = Tiles::Large.size(ty).items as usize;
        let tiles = product.rows.div_ceil(items) * product.columns.div_ceil(items) * product.batch;
        if tiles >= MANY_TILES && product.rows.min(product.columns) > items / 2 { Tiles::Large } else { Tiles::Small }
    }

    pub(in super::super) fn size(self, ty: Type) -> Size {
        let bytes = ty.size_bytes().max(4) as u32;
        let (items, per_thread, depth) = match self {
            Tiles::Small => (32, 2, 16),
            // The sums of a thread take 64 registers, or 32 of two words.
            Tiles::Large if bytes == 4 => (128, 8, 8),
            Tiles::Large => (64, 4, 8),
        };
        Size { items, per_thread, depth, vector: per_thread.min(VECTOR_BYTES / bytes) }
    }

    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Tiles::Small => "small",
            Tiles::Large => "large",
        }
    }
}

impl Size {
    /// The threads in a row, and in a column, of threads.
    pub(in super::super) fn side(self) -> u32 {
        self.items / self.per_thread
    }

    pub(in super::super) fn threads(self) -> u32 {
        self.side() * self.side()
    }

    /// The position of an item of the first thread in the tile. Those of the next thread are `vector` further: so
    /// neighbouring threads load neighbouring vectors.
    pub(in super::super) fn item(self, number: u32) -> u32 {
        number / self.vector * self.side() * self.vector + number % self.vector
    }
}
