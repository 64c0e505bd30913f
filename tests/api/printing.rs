//! Arrays as text.

use jit::prelude::*;

use crate::devices::on_each_device;

#[test]
fn display_shows_the_elements() {
    on_each_device(|| {
        assert_eq!((Float::from([0.5, 1.0]) * 2.0).to_string(), "[1, 2]");
        assert_eq!(Mask::from([true, false]).to_string(), "[true, false]");
        assert_eq!(Int::from(-3).to_string(), "[-3]");
        assert_eq!(UInt::from(Vec::new()).to_string(), "[]");
        assert_eq!(Float64::from([1e-30, 1e300, 0.1, f64::NAN]).to_string(), "[1e-30, 1e300, 0.1, NaN]");
        assert_eq!(Half::from([0.1f32, 2.0].map(half::f16::from_f32)).to_string(), "[0.099975586, 2]");
    });
}

#[test]
fn long_arrays_show_their_ends() {
    on_each_device(|| {
        let text = UInt::arange(1_000_000).to_string();
        assert!(text.starts_with("[0, 1, 2, …") && text.ends_with("999999]"), "{text}");
    });
}

#[test]
fn lines_end_before_the_margin_and_are_aligned() {
    on_each_device(|| {
        let text = UInt::arange(100).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 75), "{text}");
        assert!(lines[0].starts_with("[ 0,  1,") && lines[1].starts_with(' '), "{text}");
        assert!(lines[..lines.len() - 1].iter().all(|line| line.ends_with(',')), "{text}");
    });
}

#[test]
fn debug_says_what_it_is_and_evaluates_nothing() {
    on_each_device(|| {
        let x = (Float::from([1.0, 2.0]) * 3.0).with_label("product");
        let (line, text) = (line!() - 1, format!("{x:?}"));
        for part in ["f32", "2", "product", &format!("printing.rs:{line}")] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        assert!(!x.is_evaluated());
    });
}

#[jit]
fn lower_half(x: &Float) -> Float {
    if x < 0.5 { x + 1.0 } else { x.clone() }
}

#[test]
fn the_result_of_a_traced_if_was_made_in_the_users_file() {
    let x = Float::linspace(0.0, 1.0, 5);
    let text = format!("{:?}", lower_half(&x));
    assert!(text.contains("printing.rs"), "{text}");
}
