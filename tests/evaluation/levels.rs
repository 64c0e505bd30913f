//! The levels of the cache: what each counts, how each is cleared, and that each compares keys in full.

use jit::cache::{CacheLevel, LevelStats, clear_level};
use jit::prelude::*;

use crate::{on_each_device, one_at_a_time};

#[path = "../shared/zero_hashes.rs"]
mod zero_hashes;

fn level(level: CacheLevel) -> LevelStats {
    jit::stats().cache(level)
}

/// How often a level found something, and did not, while a program ran.
fn found(of: CacheLevel, program: impl FnOnce()) -> [u64; 2] {
    let before = level(of);
    program();
    let after = level(of);
    [after.hits - before.hits, after.misses - before.misses]
}

#[jit]
fn scaled(x: &Float, by: f32) -> Float {
    x * by
}

#[freeze]
fn frozen_root(x: &Float) -> Float {
    (x + 1.0).sqrt()
}

// rows: K120 K122 K123
#[test]
fn what_is_captured_is_a_part_of_the_key() {
    on_each_device(|| {
        jit::cache::clear();
        let x = Float::from([1.0, 2.0]);
        let call = |by: f32| found(CacheLevel::Memory, || assert_eq!(scaled(&x, by).to_vec().unwrap(), [by, 2.0 * by]));
        assert_eq!([2.0, 2.0, 3.0, 3.0].map(call), [[0, 1], [1, 0], [0, 1], [1, 0]]);
    });
}

// rows: O30 O32 O39
#[test]
fn each_level_is_counted_and_cleared_by_itself() {
    on_each_device(|| {
        CacheLevel::ALL.into_iter().for_each(clear_level);
        let x = Float::from([3.0, 8.0]);
        let call = || assert_eq!(frozen_root(&x).to_vec().unwrap(), [2.0, 3.0]);
        let recordings = || found(CacheLevel::Recordings, call);
        assert_eq!([recordings(), recordings()], [[0, 1], [1, 0]]);
        assert_eq!((level(CacheLevel::Recordings).entries, level(CacheLevel::Memory).entries), (1, 1));
        assert_eq!(found(CacheLevel::Memory, call), [0, 0], "a replay looks nothing up");

        clear_level(CacheLevel::Recordings);
        assert_eq!((level(CacheLevel::Recordings).entries, level(CacheLevel::Memory).entries), (0, 1));
        assert_eq!(found(CacheLevel::Memory, call), [1, 0], "recorded again, with the kernel in memory");

        clear_level(CacheLevel::Memory);
        clear_level(CacheLevel::Recordings);
        assert_eq!((level(CacheLevel::Memory).entries, level(CacheLevel::Memory).bytes), (0, 0));
        let optimised = found(CacheLevel::Optimised, call);
        assert_eq!(optimised, [1, 0], "compiled again, and not optimised again");

        clear_level(CacheLevel::Optimised);
        assert_eq!(level(CacheLevel::Optimised).entries, 0);
        clear_level(CacheLevel::Memory);
        assert_eq!(found(CacheLevel::Optimised, || _ = scaled(&x, 2.0).to_vec().unwrap()), [0, 1]);
        let bounds = [CacheLevel::Memory, CacheLevel::Optimised].map(|of| level(of).max_entries);
        assert_eq!(bounds, [4096, 64]);
    });
}

#[test]
#[ignore = "run by the next test"]
fn hashes_are_zero_where_tests_ask_for_it() {
    let _alone = one_at_a_time();
    jit::cache::clear();
    let x = Float::from([1.0, 2.0]);
    for by in 2..12 {
        assert_eq!(scaled(&x, by as f32).to_vec().unwrap(), [by as f32, 2.0 * by as f32]);
        assert_eq!((&x + by as f32).to_vec().unwrap(), [1.0 + by as f32, 2.0 + by as f32]);
    }
    let entries = jit::cache::entries();
    assert!(entries.len() >= 2 && entries.iter().all(|entry| entry.hash == 0), "{entries:?}");
}

// one device: the tests that it runs choose theirs
// rows: O34 O36
#[test]
fn programs_are_evaluated_as_often_if_every_hash_is_zero() {
    let name = "levels::hashes_are_zero_where_tests_ask_for_it";
    zero_hashes::run_again("1", &[name, "--exact", "--include-ignored"], &[], 1);
    zero_hashes::run_again("1", &["fusion::", "literals::", "levels::", "replays::", "copies::"], &[], 20);
}
