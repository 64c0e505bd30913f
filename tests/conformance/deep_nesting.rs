//! Loops and branches that nest as deep as the regions of a kernel may, and deeper: the error comes before anything is
//! launched.

use jit::ErrorKind;
use jit::prelude::*;

use crate::{on_each_device, resident};

/// Each of these functions nests one loop or branch around the next one, and the first one follows the last one.
#[jit]
fn first(y: &mut Float, depth: u32) {
    if depth == 0 {
        *y += 2.0;
    } else {
        while *y < 1.0 {
            second(y, depth - 1);
        }
    }
}

#[jit]
fn second(y: &mut Float, depth: u32) {
    if depth == 0 {
        *y += 2.0;
    } else if *y < 1.25 {
        third(y, depth - 1);
    }
}

#[jit]
fn third(y: &mut Float, depth: u32) {
    if depth == 0 {
        *y += 2.0;
    } else {
        while *y < 1.5 {
            fourth(y, depth - 1);
        }
    }
}

#[jit]
fn fourth(y: &mut Float, depth: u32) {
    if depth == 0 {
        *y += 2.0;
    } else if *y < 1.75 {
        first(y, depth - 1);
    }
}

/// Branches around a use of a value that was computed before them.
#[jit]
fn arms(y: &mut Float, value: &Float, depth: u32) {
    if depth == 0 {
        *y += value;
    } else if *y < 1.0 + depth as f32 {
        arms(y, value, depth - 1);
    }
}

fn nested(start: fn(&mut Float, u32), depth: u32) -> Float {
    let mut y = resident([0.0, 3.0, 0.5]);
    start(&mut y, depth);
    y
}

/// The line of this file in which a text is first, counted from 1.
fn line_with(text: &str) -> u32 {
    let lines = include_str!("deep_nesting.rs").lines();
    (1..).zip(lines).find(|(_, line)| line.contains(text)).unwrap().0
}

fn is_too_deep(error: &jit::Error) -> bool {
    error.kind() == ErrorKind::Compile
        && error.message() == "traced loops, branches and calls are nested more than 200 deep in one kernel"
        && error.to_string().contains("help: mark the outer loops and branches with `#[evaluated]`")
}

#[test]
fn regions_nest_200_deep_in_a_kernel_and_deeper_ones_are_an_error_with_their_line() {
    on_each_device(|| {
        assert_eq!(nested(second, 200).to_vec().unwrap(), [2.0, 3.0, 2.5]);
        // The innermost one is a loop: a branch without work would not become a region.
        for (start, depth, line) in
            [(first as fn(&mut Float, u32), 201, "while *y < 1.0 {"), (second, 202, "if *y < 1.25 {")]
        {
            let error = nested(start, depth).to_vec().unwrap_err();
            assert!(is_too_deep(&error), "{error}");
            assert_eq!(error.site().map(|site| site.line()), Some(line_with(line)), "{error}");
        }
    });
}

#[test]
fn an_evaluation_that_fails_for_too_deep_regions_leaves_everything_else() {
    on_each_device(|| {
        let mut counts = UInt::zeros(3);
        counts.scatter_add(1, &UInt::from([0, 1, 1]));
        let deep = nested(first, 250);
        assert!(is_too_deep(&jit::eval(&(counts.clone(), deep.clone())).unwrap_err()));
        jit::print!("{}", &deep + 1.0);
        assert!(is_too_deep(&jit::eval(&(&deep * 2.0)).unwrap_err()));
        assert_eq!(counts.to_vec().unwrap(), [1, 2, 0]);
        assert!(is_too_deep(&deep.to_vec().unwrap_err()));
    });
}

#[test]
fn values_that_would_be_computed_too_deep_in_an_arm_are_evaluated_before() {
    on_each_device(|| {
        let value = nested(second, 190);
        let sum = || {
            let mut y = resident([0.0_f32, 3.0, 100.0]);
            arms(&mut y, &value, 60);
            y
        };
        assert!(is_too_deep(&sum().to_vec().unwrap_err()));
        jit::eval(&value).unwrap();
        assert_eq!(sum().to_vec().unwrap(), [2.0, 3.0, 100.0]);
    });
}
