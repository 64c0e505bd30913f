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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_around_a_scope_holds_again_after_it() {
        let _outer = CachePolicy::ReadOnly.enter();
        drop(CachePolicy::Bypass.enter());
        assert_eq!(CachePolicy::current(), CachePolicy::ReadOnly);
    }

    #[test]
    fn only_programs_that_use_the_cache_in_full_find_traces() {
        let finds = [CachePolicy::Bypass, CachePolicy::ReadOnly].map(|policy| {
            let _scope = policy.enter();
            super::super::finds_traces()
        });
        assert_eq!(finds, [false, false]);
    }
}
