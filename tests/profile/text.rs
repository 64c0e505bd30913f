//! Profiles as tables.

use jit::prelude::*;

use super::{one_at_a_time, profile_of, resident};

#[jit]
fn wave(x: &Float) -> Float {
    (x * 2.0).sin()
}

#[test]
fn the_table_has_a_row_for_each_kernel_and_function() {
    let _measuring = one_at_a_time();
    let x = resident(2000);
    let profile = profile_of(|| {
        for _ in 0..12 {
            assert!(wave(&x).sum().item().unwrap().is_finite());
        }
    });
    let text = profile.to_string();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let header = rows.iter().position(|row| row.first() == Some(&"kernel")).unwrap();
    let kernel = &rows[header + 1];
    assert_eq!((kernel[0], &kernel[2..4]), ("wave", &["12", "2000"][..]), "{text}");
    assert!(kernel[1].starts_with(&format!("{}:", file!())), "{text}");
    assert!(text.contains("12 launches, 12 evaluations, 12 reads; 12 traces, 0 recordings, 0 replays"), "{text}");
    assert!(rows.iter().any(|row| row.first() == Some(&"function")), "{text}");
    assert!(
        text.contains("GB/s on this machine") && text.contains("\nwarning: ") && text.contains("  help: "),
        "{text}"
    );
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn the_bandwidth_is_measured_once() {
    assert!(jit::profile::copy_bandwidth() > 1e6);
    assert_eq!(jit::profile::copy_bandwidth().to_bits(), jit::profile::copy_bandwidth().to_bits());
}
