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
