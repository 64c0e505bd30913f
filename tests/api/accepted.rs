//! Forms that Rust accepts, in functions whose single text runs on numbers as plain Rust and on arrays under `#[jit]`:
//! variables that get their first value late, `match` with guards alone, long chains of `else if`, long runs of `if`s
//! that jump.

#![allow(
    clippy::assign_op_pattern,
    clippy::clone_on_copy,
    clippy::collapsible_else_if,
    clippy::collapsible_if,
    clippy::if_same_then_else,
    clippy::let_and_return,
    clippy::manual_clamp,
    clippy::manual_range_contains,
    clippy::needless_late_init,
    clippy::needless_return,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::neg_multiply,
    clippy::op_ref,
    clippy::redundant_guards,
    clippy::useless_conversion,
    reason = "the same code is for arrays and numbers, and written as users write it"
)]

use jit::prelude::*;

/// Functions of a number, `N`, over numbers and over arrays; `check` compares them.
macro_rules! same_text {
    ($($name:ident($argument:ident) $body:block)*) => {
        mod on_numbers {
            pub(super) type N = f32;
            $(pub(super) fn $name($argument: N) -> N $body)*
        }
        mod on_arrays {
            use jit::prelude::*;
            pub(super) type N = Float;
            $(#[jit] pub(super) fn $name($argument: N) -> N $body)*
        }
        $(#[test]
        fn $name() {
            check(on_numbers::$name, on_arrays::$name);
        })*
    };
}

const VALUES: [f32; 9] = [-2.5, -1.0, -0.25, 0.0, 0.5, 1.5, 3.0, 7.0, 40.0];

#[track_caller]
fn check(on_number: fn(f32) -> f32, on_array: fn(Float) -> Float) {
    let wanted = VALUES.map(on_number);
    for device in crate::tested_devices::all() {
        let got = jit::with_device(device, || on_array(Float::from(VALUES)).to_vec().expect("values"));
        assert_eq!(got, wanted, "{device:?}");
        let one_by_one = VALUES.map(|x| jit::with_device(device, || on_array(Float::from(x)).item().expect("a value")));
        assert_eq!(one_by_one, wanted, "{device:?}, of width 1");
    }
}

same_text! {
    first_value_in_a_while_is_read_in_it(x) {
        let mut y;
        let (mut sum, mut i) = (N::from(0.0), x.clone());
        while i > 0.0 {
            y = i.clone() * 2.0;
            sum += y.clone();
            i -= 1.0;
        }
        sum + x
    }
    first_value_in_one_arm_is_read_in_it(x) {
        let y;
        let mut sum = x.clone();
        if x > 1.0 {
            y = x.clone() * 2.0;
            sum += y.clone();
        }
        sum
    }
    first_value_in_one_arm_and_another_one_later(x) {
        let mut y;
        let mut sum = x.clone();
        if x > 1.0 {
            y = x.clone() * 2.0;
            sum += y.clone();
        }
        y = sum.clone() + 1.0;
        y + sum
    }
    first_value_in_a_labelled_block(x) {
        let y;
        'found: {
            if x > 1.0 {
                y = x.clone() * 2.0;
                break 'found;
            }
            y = x.clone() + 1.0;
        }
        y
    }
    first_value_in_a_labelled_block_with_a_value(x) {
        let y;
        let z = 'found: {
            if x > 2.0 {
                y = x.clone() * 2.0;
                break 'found N::from(1.0);
            }
            y = x.clone() + 1.0;
            if x > 1.0 {
                break 'found N::from(2.0);
            }
            N::from(3.0)
        };
        y * 10.0 + z
    }
    first_value_at_the_exit_of_a_loop_in_an_arm(x) {
        let y;
        if x > 1.0 {
            let mut i = x.clone();
            loop {
                i += 1.0;
                if i > 5.0 {
                    y = i;
                    break;
                }
            }
        } else {
            y = x.clone() + 1.0;
        }
        y
    }
    first_value_in_each_iteration(x) {
        let mut y;
        let mut i = x.clone();
        loop {
            y = i.clone() * 3.0;
            if y > 10.0 {
                break;
            }
            i += 1.0;
        }
        y + i
    }
    first_value_that_only_the_body_of_a_loop_reads(x) {
        let mut next;
        let mut i = x.clone() + 3.0;
        loop {
            next = i.clone() + 1.0;
            i = next.clone() * 2.0;
            if i > 10.0 {
                break;
            }
        }
        i
    }
    first_values_of_two_in_nested_arms(x) {
        let (a, b);
        if x > 1.0 {
            if x > 2.0 {
                (a, b) = (x.clone() + 1.0, x.clone() + 2.0);
            } else {
                a = x.clone();
                b = x.clone() * 10.0;
            }
        } else {
            (a, b) = (x.clone() * 5.0, x.clone() * 6.0);
        }
        a * b
    }
    first_value_at_the_exit_of_an_outer_loop(x) {
        let y;
        let mut i = x.clone();
        'outer: loop {
            let mut j = N::from(0.0);
            loop {
                j += 1.0;
                if i.clone() + j.clone() > 6.0 {
                    y = i.clone() * j.clone();
                    break 'outer;
                }
                if j > 2.0 {
                    break;
                }
            }
            i += 1.0;
        }
        y
    }
    first_value_in_a_loop_of_the_host(x) {
        let mut y;
        let mut sum = x.clone();
        for k in 0..3 {
            if x > k as f32 {
                y = x.clone() * 2.0;
            } else {
                y = x.clone() * 3.0;
            }
            sum += y.clone();
        }
        sum
    }
    first_value_before_continue(x) {
        let mut y;
        let (mut sum, mut i) = (N::from(0.0), N::from(0.0));
        while i < x {
            i += 1.0;
            if i < 2.0 {
                y = i.clone() + 100.0;
                sum += y.clone();
                continue;
            }
            y = i.clone();
            sum += y.clone();
        }
        sum
    }
    first_value_unless_the_function_returns(x) {
        let y;
        if x > 1.0 {
            y = x.clone() * 2.0;
        } else {
            return x - 1.0;
        }
        y + 1.0
    }
    guards_call_methods(x) {
        let limit = 0.4_f32;
        match x {
            v if v.abs() < limit => N::from(0.0),
            v if v.floor() == v && v > 2.0 => v + 100.0,
            v => v * 2.0,
        }
    }
    guards_of_methods_alone(x) {
        match x {
            v if v.max(0.0) > 1.0 => v * 3.0,
            v if v.abs().floor() >= 1.0 => v - 7.0,
            v => v + 0.125,
        }
    }
    guards_compare_several_bindings(x) {
        let y = x.clone() * x.clone() - 3.0;
        match (x, y) {
            (a, b) if a > b && b > 0.0 => a - b,
            (a, b) if a.clone() + b.clone() < 1.0 || !(b < 4.0) => a + b,
            (a, b) if a.abs().sqrt() < b.abs() => b,
            (a, _) => a * 4.0,
        }
    }
    guards_of_what_is_computed(x) {
        match x.clone() + 1.0 {
            v if v.abs() <= 0.5 => v,
            mut v if v.ceil() > 3.0 => {
                v += 0.5;
                v * x
            }
            v => v - x,
        }
    }
    guards_in_a_loop(x) {
        let mut i = x;
        let mut steps = N::from(0.0);
        loop {
            i = match i {
                v if v.abs() > 8.0 => break,
                v if v.floor() < v => v * 2.0,
                v => v + 1.5,
            };
            steps += 1.0;
        }
        steps + i
    }
    an_arm_that_leaves_a_loop_moves_what_the_next_iteration_changes(x) {
        let mut i = x.clone();
        let mut kept = N::from(0.0);
        while i < 5.0 {
            i += 1.0;
            if i > 2.5 {
                kept = i;
                break;
            }
        }
        kept + x
    }
}

/// A guard may only move host values if the matched value is on the host.
#[jit]
fn longest(words: Vec<String>, more: &[String], least: usize) -> String {
    let words = match words {
        list if list.iter().any(|word| word.len() > least) => list,
        mut list if least_of(&list) => {
            list.extend(more.iter().cloned());
            list
        }
        _ => return String::from("none"),
    };
    words.into_iter().max_by_key(String::len).unwrap_or_default()
}

fn least_of(list: &[String]) -> bool {
    list.len() < 2
}

#[test]
fn guards_move_values_of_the_host() {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    assert_eq!(longest(words("a bcd ef"), &[], 2), "bcd");
    assert_eq!(longest(words("a"), &words("xy z"), 2), "xy");
    assert_eq!(longest(words("a b"), &[], 2), "none");
}

/// Functions with ninety limits: more `if`s than can stay a single chain.
macro_rules! with_limits {
    ($first:literal $($rest:literal)*) => {
        mod long_chains {
            use super::check;

            same_text! {
                a_long_chain_gives_a_value(x) {
                    let y = if x < $first { x.clone() * $first } $(else if x < $rest { x.clone() * $rest })* else { x };
                    y + 1.0
                }
                a_long_chain_is_the_end_of_a_function(x) {
                    if x < $first { if x < -20.0 { x } else { x * $first } }
                        $(else if x < $rest { return x * $rest; })* else { x + 1.0 }
                }
                a_long_chain_gives_a_first_value(x) {
                    let (y, z);
                    if x < $first { y = x.clone(); z = y.clone() * $first; }
                    $(else if x < $rest { (y, z) = (x.clone() * $rest, x.clone()); })*
                    else { z = x.clone(); y = z.clone() + 2.0; }
                    y - z
                }
                a_long_chain_jumps_in_a_loop(x) {
                    let (mut sum, mut i) = (N::from(0.0), N::from(0.0));
                    while i < 3.0 {
                        i += 1.0;
                        let x = x.clone() * i.clone();
                        if x < $first { sum += $first; break; }
                        $(else if x < $rest { sum += $rest; continue; })*
                        else { sum += 0.5; }
                        sum += 0.0625;
                    }
                    sum
                }
                a_long_chain_jumps_in_a_loop_of_the_host(x) {
                    let mut sum = N::from(0.0);
                    for i in 1..4 {
                        let x = x.clone() * i as f32;
                        if x < $first { sum += $first; break; }
                        $(else if x < $rest { sum += $rest; continue; })*
                        else { sum += 0.5; }
                        sum += 0.0625;
                    }
                    sum
                }
                a_long_chain_changes_variables(x) {
                    let (mut y, mut steps) = (x.clone(), N::from(0.0));
                    if y < $first { y = x.clone() * $first; }
                    $(else if y < $rest { steps += $rest; if x > 0.0 { y = x.clone() * steps.clone(); } })*
                    y + steps
                }
                a_long_run_of_returns(x) {
                    $(if x < $rest { return x * $rest; })*
                    x + $first
                }
            }
        }

        /// On the host a chain moves the same values as in Rust, and its jumps are Rust's.
        #[jit]
        fn moved_in_a_chain(code: &Code, name: String) -> (usize, String) {
            let mut count = 0;
            loop {
                count += 1;
                if code.value < $first { return (0, name); }
                $(else if code.value < $rest { if count < 3 { continue; } return (count, name); })*
                else { break (count, name + "!"); }
            }
        }
    };
}

with_limits! {
    -9.0 -8.75 -8.5 -8.25 -8.0 -7.75 -7.5 -7.25 -7.0 -6.75 -6.5 -6.25 -6.0 -5.75 -5.5 -5.25 -5.0 -4.75 -4.5 -4.25
    -4.0 -3.75 -3.5 -3.25 -3.0 -2.75 -2.5 -2.25 -2.0 -1.75 -1.5 -1.25 -1.0 -0.75 -0.5 -0.25 0.0 0.25 0.5 0.75
    1.0 1.25 1.5 1.75 2.0 2.25 2.5 2.75 3.0 3.25 3.5 3.75 4.0 4.25 4.5 4.75 5.0 5.25 5.5 5.75 6.0 6.25 6.5 6.75
    7.0 7.25 7.5 7.75 8.0 8.25 8.5 8.75 9.0 9.25 9.5 9.75 10.0 10.25 10.5 10.75 11.0 11.25 11.5 11.75 12.0 12.25
    12.5 12.75 13.0 13.25
}

struct Code {
    value: f32,
}

#[test]
fn a_long_chain_moves_values_of_the_host() {
    let of = |value| moved_in_a_chain(&Code { value }, String::from("name"));
    assert_eq!(of(-20.0), (0, String::from("name")));
    assert_eq!(of(3.1), (3, String::from("name")));
    assert_eq!(of(20.0), (1, String::from("name!")));
}
