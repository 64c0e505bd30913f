//! Where a size is met: in the recording that knows its expression, while that is set aside, or in a replay of it.
//!
//! A host call runs with the recording set aside, or in a replay. A size of the frozen function around it is a
//! number there: the one that it was recorded with, or the one that it is in the replay.

use jit_runtime::recording::SizeId;

use super::{Size, table};

/// A host call, as far as sizes go.
pub(crate) enum Scope {
    /// The recording of the function around it is set aside.
    SetAside { serial: u32 },
    /// A recording is replayed, and its sizes have these values.
    Replayed { serial: u32, sizes: Vec<usize> },
}

/// A scope that ends when this is dropped.
pub(crate) struct Entered {
    depth: usize,
}

/// Begins a scope.
pub(crate) fn enter(scope: Scope) -> Entered {
    table::with_scopes(|scopes| {
        scopes.push(scope);
        Entered { depth: scopes.len() - 1 }
    })
}

impl Drop for Entered {
    fn drop(&mut self) {
        table::with_scopes(|scopes| scopes.truncate(self.depth));
    }
}

/// The size as it is in the host call that this thread is in, if it is one of the frozen function around that.
#[cold]
pub(crate) fn settle(size: Size) -> Size {
    if size.serial() == table::serial() {
        return size;
    }
    let found = table::with_scopes(|scopes| {
        scopes.iter().rev().find_map(|scope| match scope {
            Scope::SetAside { serial } => (*serial == size.serial()).then(|| size.value()),
            Scope::Replayed { serial, sizes } if *serial == size.serial() => sizes.get(size.id().index()).copied(),
            Scope::Replayed { .. } => None,
        })
    });
    found.map_or(size, Size::from)
}

/// The width of a node in the replay whose host call this thread is in.
#[cold]
pub(crate) fn size_of(size: SizeId) -> Option<usize> {
    table::with_scopes(|scopes| match scopes.last() {
        Some(Scope::Replayed { sizes, .. }) => sizes.get(size.index()).copied(),
        _ => None,
    })
}
