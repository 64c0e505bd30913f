//! All routines, by which the key of one that is stored is read.

use super::{Compress, Convolve, Product, Routine, Scan, SortPass};
use crate::ir::{ReduceOp, Type};

impl Routine {
    /// The text that distinguishes its code from that of all others, in keys of the cache.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{self:?}")
    }

    /// The routine with a [key](Self::key); none if it is that of another version.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Routine> {
        all().find(|routine| routine.key() == key)
    }
}

/// Each routine; some of them are in no plan.
fn all() -> impl Iterator<Item = Routine> {
    let compress = [Compress::Count, Compress::List].map(Routine::Compress);
    let combine = ReduceOp::ALL.iter().flat_map(|&op| Type::ALL.map(|ty| Routine::Combine { op, ty }));
    let prefix = Scan::all().map(Routine::Prefix);
    let sort = SortPass::all().map(Routine::Sort);
    let matmul = Product::all().map(Routine::MatMul);
    let convolve = Convolve::all().map(Routine::Convolve);
    [Routine::Fill].into_iter().chain(compress).chain(combine).chain(prefix).chain(sort).chain(matmul).chain(convolve)
}
