//! The context of a size: its recording, that recording while suspended, or a replay of it.
//!
//! A host call runs with the recording suspended, or in a replay. A size of the frozen function around it is a number
//! there: the one at recording time, or the one of the replay.

use jit_runtime::recording::SizeId;

use super::{Size, table};

/// A host call, as far as sizes are concerned.
pub(crate) enum Scope {
    /// The recording of the function around it is suspended.
    SetAside { serial: u32 },
    /// A recording is replayed, and its sizes have these values.
    Replayed { serial: u32, sizes: Vec<usize> },
}

/// A scope that ends when dropped.
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

/// Returns the value of a size in the current host call of this thread, if the size belongs to the frozen function
/// around it.
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

/// Returns the width of a node in the replay whose host call runs on this thread.
#[cold]
pub(crate) fn size_of(size: SizeId) -> Option<usize> {
    table::with_scopes(|scopes| match scopes.last() {
        Some(Scope::Replayed { sizes, .. }) => sizes.get(size.index()).copied(),
        _ => None,
    })
}
