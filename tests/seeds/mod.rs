//! Seeds of tests with random cases: fixed, so that every run of the tests is the same.
//!
//! `JIT_TEST_SEED` selects other cases and `JIT_TEST_CASES` another number of them, as `.ci/nightly` does. A failing
//! test names the smallest failing case, which becomes a separate test.

#![allow(clippy::panic, reason = "a test that cannot run fails")]

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not {text}")))
}

/// How a test draws this many cases.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = number("JIT_TEST_CASES").map_or(cases, |cases| cases as u32);
    let rng_seed = RngSeed::Fixed(number("JIT_TEST_SEED").unwrap_or(0x6A17));
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 4096, ..ProptestConfig::default() }
}
