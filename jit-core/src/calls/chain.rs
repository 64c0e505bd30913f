//! The calls that are being traced, one within another.
//!
//! Tracing a call traces all its targets. One that calls itself again would never end, whatever the lanes would do, so
//! the depth is limited.

use std::panic::Location;

use crate::misuse::Misuse;
use crate::trace::function_label::TRACED;

/// Calls within calls up to this depth are traced.
const DEPTH: usize = 64;
/// How many names of a chain are shown.
const SHOWN: usize = 6;

/// A call that is being traced, until it is dropped.
pub(super) struct Link(());

impl Link {
    /// Enters a call.
    ///
    /// # Panics
    ///
    /// When calls are nested too deeply.
    pub(super) fn enter(name: &'static str, site: &'static Location<'static>) -> Link {
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
fn refuse(site: &'static Location<'static>) -> ! {
    let names = TRACED.with(|traced| {
        let chain = traced.calls.borrow();
        chain[chain.len() - SHOWN..].join(" → ")
    });
    Misuse::new(format!("calls are nested more than {DEPTH} deep while tracing: … → {names}"), site)
        .hint(
            "a target that calls itself is traced again for each call, whatever the lanes do: make the recursion a \
            `while` loop",
        )
        .panic()
}
