//! Assertions in `#[jit]` functions: conditions that are known while recording.

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

#[derive(Debug, PartialEq, Clone, Copy)]
struct Plain(i32);

#[jit]
fn on_the_host(n: i32, text: &str, plain: Plain) -> i32 {
    assert!(n > 0);
    assert!(n < 10, "{n} of {} in {text:?}", 10);
    assert_eq!(plain, Plain(n), "not {}", n);
    assert_eq!(text.len(), 3);
    assert_ne!(n, 7);
    debug_assert!(n != 8, "eight");
    let list = vec![n, n + 1];
    assert_eq!(list, [n, n + 1]);
    n
}

// rows: C259 K38
// no device: nothing is computed
#[test]
fn assertions_on_host_values_are_rusts_own() {
    assert_eq!(on_the_host(3, "abc", Plain(3)), 3);
    assert_eq!(message_of(|| on_the_host(0, "abc", Plain(0))), "assertion failed: n > 0");
    assert_eq!(message_of(|| on_the_host(12, "abc", Plain(0))), "12 of 10 in \"abc\"");
    let text = "assertion `left == right` failed: not 3\n  left: Plain(4)\n right: Plain(3)";
    assert_eq!(message_of(|| on_the_host(3, "abc", Plain(4))), text);
    let text = "assertion `left == right` failed\n  left: 4\n right: 3";
    assert_eq!(message_of(|| on_the_host(3, "abcd", Plain(3))), text);
    let text = "assertion `left != right` failed\n  left: 7\n right: 7";
    assert_eq!(message_of(|| on_the_host(7, "abc", Plain(7))), text);
    assert_eq!(message_of(|| on_the_host(8, "abc", Plain(8))), "eight");
}

#[jit]
fn on_masks(x: &Float, limit: f32) -> Float {
    assert!(x.len() == 2, "a host condition about an array");
    if *x > 1.0 {
        assert!(Mask::from(limit > 0.0), "decided by the lanes that get here");
    }
    assert_ne!(Float::from(limit), 3.0, "limit {limit}");
    x + 1.0
}

#[test]
fn masks_that_are_known_fail_at_once() {
    on_each_device(|| {
        let x = resident([0.5_f32, 0.25]);
        assert_eq!(on_masks(&x, 0.0).to_vec().unwrap(), [1.5, 1.25], "no lane gets there");
        let text = "assertion `left != right` failed: limit 3\n  left: 3.0\n right: 3.0";
        assert_eq!(message_of(|| on_masks(&x, 3.0)), text);
        assert_eq!(on_masks(&x, 4.0).to_vec().unwrap(), [1.5, 1.25]);
    });
}
