//! Functions that call themselves under a traced condition.
//!
//! Tracing runs both arms of such a condition, so the recursion would never end, whatever the lanes do. Recursion that
//! the host ends, over a tree or a count, is Rust's own, also inside traced regions: it does not open a region for each
//! call.

use jit_runtime::Site;

use crate::misuse::Misuse;
use crate::trace::function_label::{Labelled, TRACED};
use crate::trace::region;

/// The depth of recursion, each call in one region more, beyond which it is rejected.
const DEPTH: usize = 64;

/// A call that is being traced: the function, and the number of regions open around it.
type Call = (&'static Labelled, usize);

/// A call that is being traced; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Recursion(());

impl Recursion {
    /// Enters a call.
    ///
    /// # Panics
    ///
    /// When the function calls itself too often, each time in one region more.
    pub(super) fn enter(function: &'static Labelled, site: Site) -> Recursion {
        let regions = region::depth();
        let deepening = TRACED.with(|traced| {
            let calls = &mut *traced.functions.borrow_mut();
            calls.push((function, regions));
            if regions < DEPTH { 0 } else { deepening(calls) }
        });
        let entered = Recursion(());
        if deepening > DEPTH {
            refuse(function, site);
        }
        entered
    }
}

/// Returns how many calls of the innermost function were each made in more regions than the one before.
fn deepening(calls: &[Call]) -> usize {
    let Some(&(function, mut regions)) = calls.last() else { return 0 };
    let mut count = 1;
    for &(_, outer) in calls.iter().rev().filter(|(other, _)| std::ptr::eq(*other, function)) {
        if outer < regions {
            count += 1;
            regions = outer;
        }
    }
    count
}

impl Drop for Recursion {
    fn drop(&mut self) {
        let _ = TRACED.try_with(|traced| traced.functions.borrow_mut().pop());
    }
}

#[cold]
fn refuse(function: &Labelled, site: Site) -> ! {
    let name = function.label();
    Misuse::new(
        format!("`{name}` calls itself more than {DEPTH} times while tracing, each time inside one more traced region"),
        site,
    )
    .hint("the recursion depends on a traced condition, of which both arms are recorded: write it as a `while` loop")
    .panic()
}
