//! Profiles where none can be made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;

use super::{on_each_device, one_at_a_time, profile_of, replays_alone, resident};

/// The message of a panic.
fn message(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    *panic.downcast::<String>().unwrap()
}

#[test]
fn a_profile_in_a_traced_region_is_refused() {
    #[jit]
    fn inside(x: &Float) -> Float {
        let mut y = x.clone();
        while y < 4.0 {
            y = y * 2.0 + 1.0;
            let _ = profile_of(|| ());
        }
        y
    }
    on_each_device(|| {
        let text = message(|| drop(inside(&resident(10))));
        assert!(text.contains("a profile cannot be made in a traced loop or branch"), "{text}");
        assert!(text.contains(file!()) && text.contains("the region begins at") && text.contains("help: "), "{text}");
        assert!(!jit_runtime::stats::events::is_profiled());
    });
}

#[test]
fn a_profile_in_a_frozen_function_is_refused() {
    #[freeze]
    fn frozen(x: &Float) -> Float {
        jit::profile::with_result(|| x * 2.0).unwrap().0
    }
    on_each_device(|| {
        if !replays_alone() {
            return;
        }
        let text = message(|| drop(frozen(&resident(10))));
        assert!(text.contains("a profile cannot be made in a frozen function"), "{text}");
        assert!(text.contains("help: profile the calls of the function"), "{text}");
    });
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let _measuring = one_at_a_time();
    let profile = profile_of(|| ());
    let error = profile.write_trace("no/such/folder/trace.json").unwrap_err();
    assert_eq!(error.kind(), jit::ErrorKind::Io);
    let text = error.to_string();
    assert!(text.contains("the trace cannot be written to `no/such/folder/trace.json`"), "{text}");
    assert!(text.contains(file!()) && text.contains("because ") && text.contains("help: "), "{text}");
}
