//! How a piece of the program uses the cache.

use std::cell::Cell;

/// How kernels are found while a function is compiled to an executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum CachePolicy {
    /// Every kernel is compiled, and none is added to the cache.
    Bypass,
    /// Kernels are taken from the cache, and new ones added to it.
    #[default]
    ReadWrite,
    /// Kernels are taken from the cache; new ones are not added to it.
    ReadOnly,
}

thread_local! {
    /// The policy of what this thread does.
    static POLICY: Cell<CachePolicy> = const { Cell::new(CachePolicy::ReadWrite) };
}

/// While it lives, a policy holds on this thread.
#[derive(Debug)]
pub struct PolicyScope(CachePolicy);

impl CachePolicy {
    /// Sets the policy of this thread until the result is dropped.
    #[must_use]
    pub fn enter(self) -> PolicyScope {
        PolicyScope(POLICY.replace(self))
    }

    pub(super) fn current() -> CachePolicy {
        POLICY.try_with(Cell::get).unwrap_or_default()
    }
}

impl Drop for PolicyScope {
    fn drop(&mut self) {
        let _ = POLICY.try_with(|policy| policy.set(self.0));
    }
}
