//! The stack of calls that are being traced.
//!
//! Tracing a call traces all its targets. Tracing a recursive call would never end, whatever the lanes do, so the depth
//! is limited.

use jit_runtime::Site;

use crate::misuse::Misuse;
use crate::trace::function_label::TRACED;

/// Nested calls are traced up to this depth.
const DEPTH: usize = 64;
/// The number of names shown of a chain.
const SHOWN: usize = 6;

/// A call that is being traced; it ends when this is dropped.
pub(super) struct Link(());

impl Link {
    /// Enters a call.
    ///
    /// # Panics
    ///
    /// When calls are nested too deeply.
    pub(super) fn enter(name: &'static str, site: Site) -> Link {
        let depth = TRACED.with(|traced| {
            let mut chain = traced.calls.borrow_mut();
            chain.push(name);
            chain.len()
        });
        let link = Link(());
        if depth > DEPTH {
            refuse(site);
        }
        link
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = TRACED.try_with(|traced| traced.calls.borrow_mut().pop());
    }
}

#[cold]
fn refuse(site: Site) -> ! {
    let names = TRACED.with(|traced| {
        let chain = traced.calls.borrow();
        chain[chain.len() - SHOWN..].join(" → ")
    });
    Misuse::new(format!("calls are nested more than {DEPTH} deep while tracing: … → {names}"), site)
        .hint(
            "a target that calls itself is traced again for each call, regardless of the lanes: write the recursion as \
             a `while` loop",
        )
        .panic()
}
