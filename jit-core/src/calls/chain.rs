//! The calls that are being traced, one within another.
//!
//! Tracing a call traces all its targets. One that calls itself again would never end, whatever the lanes would do, so the
//! depth is limited.

use std::cell::RefCell;
use std::panic::Location;

use crate::thread_state::thread_state;
use crate::trace::misuse::Misuse;

/// Calls within calls up to this depth are traced.
const DEPTH: usize = 64;
/// How many names of a chain are shown.
const SHOWN: usize = 6;

thread_state! {
    static CHAIN: RefCell<Vec<&'static str>> = RefCell::new(Vec::new());
}

/// A call that is being traced, until it is dropped.
pub(super) struct Link(());

impl Link {
    /// Enters a call.
    ///
    /// # Panics
    ///
    /// When calls are nested too deeply.
    pub(super) fn enter(name: &'static str, site: &'static Location<'static>) -> Link {
        let depth = CHAIN.with_borrow_mut(|chain| {
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
        let _ = CHAIN.try_with(|chain| chain.borrow_mut().pop());
    }
}

#[cold]
fn refuse(site: &'static Location<'static>) -> ! {
    let names = CHAIN.with_borrow(|chain| chain[chain.len() - SHOWN..].join(" → "));
    Misuse::new(format!("calls are nested more than {DEPTH} deep while tracing: … → {names}"), site)
        .hint(
            "a target that calls itself is traced again for each call, whatever the lanes do: make the recursion a `while` loop",
        )
        .panic()
}
