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

/// The size of a tile, which has as many rows as columns.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Its rows, and its columns: the items of its panels.
    pub(super) items: u32,
    /// The rows, and columns, of a thread.
    pub(super) per_thread: u32,
    /// The products of each sum between two barriers.
    pub(super) depth: u32,
    /// The neighbouring items that a thread loads from shared memory at once.
    pub(super) vector: u32,
}

impl Tiles {
    /// The size to choose for a product.
    pub(super) fn of(product: &MatMul, ty: Type) -> Tiles {
        let items = Tiles::Large.size(ty).items as usize;
        let tiles = product.rows.div_ceil(items) * product.columns.div_ceil(items) * product.batch;
        if tiles >= MANY_TILES && product.rows.min(product.columns) > items / 2 { Tiles::Large } else { Tiles::Small }
    }

    pub(super) fn size(self, ty: Type) -> Size {
        let bytes = ty.size_bytes().max(4) as u32;
        let (items, per_thread, depth) = match self {
            Tiles::Small => (32, 2, 16),
            // The sums of a thread take 64 registers, or 32 of two words.
            Tiles::Large if bytes == 4 => (128, 8, 8),
            Tiles::Large => (64, 4, 8),
        };
        Size { items, per_thread, depth, vector: per_thread.min(VECTOR_BYTES / bytes) }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Tiles::Small => "small",
            Tiles::Large => "large",
        }
    }
}

impl Size {
    /// The threads in a row, and in a column, of threads.
    pub(super) fn side(self) -> u32 {
        self.items / self.per_thread
    }

    pub(super) fn threads(self) -> u32 {
        self.side() * self.side()
    }

    /// The position of an item of the first thread in the tile. Those of the next thread are `vector` further: so
    /// neighbouring threads load neighbouring vectors.
    pub(super) fn item(self, number: u32) -> u32 {
        number / self.vector * self.side() * self.vector + number % self.vector
    }
}
