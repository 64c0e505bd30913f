//! Error messages: their text, with the lines of the program.

use std::panic::catch_unwind;

use jit::ErrorKind;
use jit::prelude::*;

use crate::devices::on_each_device;

/// The message with which `program` panics.
pub(crate) fn panic_message(program: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(program).expect_err("the program is wrong and must panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
    }
}

#[test]
fn widths_that_do_not_match_name_both_lines() {
    let lines = (line!() + 2, line!() + 3, line!() + 4);
    let message = panic_message(|| {
        let x = Float::from([1.0, 2.0, 3.0]);
        let y = Float::from([1.0, 2.0]);
        let _ = x + y;
    });
    for text in [
        "3".to_owned(),
        "2".to_owned(),
        format!("errors.rs:{}", lines.0),
        format!("errors.rs:{}", lines.1),
        format!("errors.rs:{}", lines.2),
    ] {
        assert!(message.contains(&text), "`{text}` is not in: {message}");
    }
}

#[test]
fn a_panic_while_tracing_leaves_arrays_usable() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]);
        let y = &x * 2.0;
        let message = panic_message({
            let y = y.clone();
            move || drop(y + Float::from([1.0, 2.0]))
        });
        assert!(message.contains('3') && message.contains('2'), "{message}");
        assert_eq!((y + 1.0).to_vec().unwrap(), [3.0, 5.0, 7.0]);
    });
}

#[test]
fn reading_a_missing_element_is_an_error() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]);
        let error = x.get(3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains('3'), "{error}");
        let error = x.item().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains('3'), "{error}");
    });
}

#[test]
fn errors_name_the_line_of_the_program() {
    let error = Float::from([1.0, 2.0]).item().unwrap_err();
    let site: jit::Site = error.site().expect("a place in the program");
    assert!(site.file().ends_with("errors.rs"));
    assert_eq!(site.line(), line!() - 3);
}

#[test]
fn a_list_that_grows_in_a_traced_loop_is_refused_with_what_to_write() {
    #[jit]
    fn halves(mut x: Float) -> Float {
        let mut all = Vec::new();
        while x > 1.0 {
            x = x * 0.5;
            all.push(x.clone());
        }
        all.pop().unwrap_or(x)
    }
    let message = panic_message(|| drop(halves(Float::from([3.0, 9.0]))));
    for text in ["`all`", "changes from 0 ", "errors.rs:", "a list grows on the host only", "values[i] = x"] {
        assert!(message.contains(text), "`{text}` is not in: {message}");
    }
    assert!(!message.contains("UInt::from(0)"), "{message}");
}

#[test]
fn hints_name_the_type_of_the_value() {
    let mask = Mask::from([true, false]);
    let message =
        panic_message(move || drop(jit::trees::select(&mask, &(1_u32, Float::from(0.0)), &(2_u32, Float::from(0.0)))));
    assert!(message.contains("write `UInt::from(1)` for `1`"), "{message}");
    let message = panic_message(|| {
        let _ = jit::switch(&UInt::from([0, 1]), &[|_: &Float| 1.5_f64, |_: &Float| 2.5], (&Float::from(1.0),));
    });
    assert!(message.contains("write `Float64::from(1.5)` for `1.5`"), "{message}");
}
