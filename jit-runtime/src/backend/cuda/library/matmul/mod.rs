//! Products of matrices, in the order of [`crate::backend::library`].
//!
//! A block computes a tile of a product. It copies panels of both factors to shared memory, and each thread combines
//! a few rows with a few columns in registers (Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra",
//! 2008).
//! The products of a sum are added one after another, by multiply-adds that round once, so tiles of any size give the
//! same bits. Tensor cores add several products at once, in an order of their own, which the definition rules out; so
//! halves are multiplied in `f32`, too.
//!
//! | part | file |
//! |---|---|
//! | the sizes of tiles | `tile` |
//! | the code of a tile | `body` |
//! | copies of panels to shared memory | `panel` |
//! | the sums of a thread | `sums` |
//! | the sums of parts | `parts` |

pub(super) mod body;
pub(super) mod panel;
mod parts;
pub(super) mod sums;
pub(super) mod tile;

use super::super::Target;
use super::Routine;
use super::builder::Builder;
use super::plan::{Argument, Plan};
use crate::backend::library::MatMul;
use crate::ir::Type;

pub use tile::Tiles;

/// A kernel of products of matrices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Product {
    /// Computes tiles.
    Multiply {
        /// The type of the elements. The signedness of integers makes no difference.
        ty: Type,
        /// The size of tiles.
        tiles: Tiles,
        /// Whether factors are passed as their transposes.
        is_transposed: [bool; 2],
    },
    /// Adds the parts of sums.
    AddParts {
        /// The type of the results. The sums of halves are those of `f32`.
        ty: Type,
    },
}

impl Product {
    /// Each kernel of products, also those that are in no plan.
    pub(super) fn all() -> impl Iterator<Item = Product> {
        let transposed = [[false, false], [false, true], [true, false], [true, true]];
        let multiply = move |ty| {
            let of_tiles = move |tiles| transposed.map(|is_transposed| Product::Multiply { ty, tiles, is_transposed });
            Tiles::ALL.into_iter().flat_map(of_tiles)
        };
        Type::ALL.into_iter().flat_map(move |ty| multiply(ty).chain([Product::AddParts { ty }]))
    }

    pub(super) fn threads(self) -> u32 {
        match self {
            Product::Multiply { ty, tiles, .. } => tiles.size(ty).threads(),
            Product::AddParts { .. } => parts::THREADS,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Product::Multiply { ty, tiles, is_transposed } => {
                let [a, b] = is_transposed.map(|is_transposed| if is_transposed { "t" } else { "n" });
                format!("matmul_{}_{ty}_{a}{b}", tiles.name())
            }
            Product::AddParts { ty } => format!("matmul_parts_{ty}"),
        }
    }
}

pub(super) fn plan(product: MatMul, ty: Type) -> Plan {
    plan_in(Tiles::of(&product, ty), product, ty)
}

/// The plan with tiles of a size.
pub(in crate::backend::cuda) fn plan_in(tiles: Tiles, product: MatMul, ty: Type) -> Plan {
    let mut plan = Plan::default();
    let MatMul { rows, inner, columns, batch, .. } = product;
    let len = rows * columns * batch;
    let parts = if matches!(ty, Type::F32 | Type::F64) { product.parts() } else { 1 };
    let sums = match parts {
        1 => Argument::Output(0),
        _ => plan.temporary((len * parts * ty.size_bytes()) as u64),
    };
    let [a_stride, b_stride] = [(product.is_a_shared, rows * inner), (product.is_b_shared, inner * columns)]
        .map(|(is_shared, matrix)| if is_shared { 0 } else { matrix });
    let size = tiles.size(ty);
    let (down, across) = (rows.div_ceil(size.items as usize), columns.div_ceil(size.items as usize));
    let sizes = [rows, inner, columns, batch, parts, down, across, a_stride, b_stride];
    let mut arguments = vec![Argument::Input(0), Argument::Input(1), sums];
    arguments.extend(sizes.map(|size| Argument::Word(size as u32)));
    let is_transposed = [product.is_a_transposed, product.is_b_transposed];
    let multiply = Product::Multiply { ty: without_sign(ty), tiles, is_transposed };
    plan.launch(Routine::MatMul(multiply), down * across * parts * batch, arguments);
    if parts > 1 {
        add_parts(&mut plan, [sums, Argument::Output(0)], ty, len, parts);
    }
    plan
}

/// Adds a launch that adds the parts of so many sums of a type, each part of all sums after another, in the type in
/// which they are combined.
pub(super) fn add_parts(plan: &mut Plan, [sums, target]: [Argument; 2], ty: Type, len: usize, parts: usize) {
    let sizes = [len, parts].map(|size| Argument::Word(size as u32));
    let arguments = [sums, target].into_iter().chain(sizes).collect();
    plan.launch(Routine::MatMul(Product::AddParts { ty }), len.div_ceil(parts::THREADS as usize), arguments);
}

/// The unsigned type of the same size, for integers.
fn without_sign(ty: Type) -> Type {
    match ty {
        Type::I8 => Type::U8,
        Type::I16 => Type::U16,
        Type::I32 => Type::U32,
        Type::I64 => Type::U64,
        _ => ty,
    }
}

pub(super) fn body(product: Product, target: Target) -> Builder {
    match product {
        Product::Multiply { ty, tiles, is_transposed } => body::multiply(ty, tiles.size(ty), is_transposed, target),
        Product::AddParts { ty } => parts::add(ty, target),
    }
}
