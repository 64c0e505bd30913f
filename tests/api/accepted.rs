//! Forms that Rust accepts, in functions whose single text runs on numbers as plain Rust and on arrays under `#[jit]`:
//! variables that get their first value late, `match` with guards or constants alone, `matches!`, methods of what is
//! bound by `&mut`, fields that move in several arms, long chains of `else if`, long runs of `if`s that jump.

#![allow(
    clippy::assign_op_pattern,
    clippy::clone_on_copy,
    clippy::collapsible_else_if,
    clippy::collapsible_if,
    clippy::if_same_then_else,
    clippy::iter_count,
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
    clippy::useless_vec,
    reason = "the same code is for arrays and numbers, and written as users write it"
)]

use jit::prelude::*;

/// Functions of a number, `N`, over numbers and over arrays; `check` compares them.
macro_rules! same_text {
    ($($name:ident($argument:ident) $body:block)*) => {
        same_text! { @with {} $($name($argument) $body)* }
    };
    (@with { $($items:tt)* } $($name:ident($argument:ident) $body:block)*) => {
        mod on_numbers {
            $($items)*
            pub(super) type N = f32;
            $(pub(super) fn $name($argument: N) -> N $body)*
        }
        mod on_arrays {
            use jit::prelude::*;
            $($items)*
            pub(super) type N = Float;
            $(#[jit] pub(super) fn $name($argument: N) -> N $body)*
        }
        $(#[test]
        fn $name() {
            check(on_numbers::$name, on_arrays::$name);
        })*
    };
}

/// Functions that use a thing whose methods change it.
macro_rules! same_text_of_things {
    ($($functions:tt)*) => {
        mod of_things {
            use super::check;

            same_text! { @with {
                #[derive(Clone, jit::Traverse)]
                struct Thing {
                    value: N,
                    hits: N,
                }

                impl Thing {
                    fn new(value: N) -> Self {
                        Thing { value, hits: N::from(0.0) }
                    }
                    fn hit(&mut self, by: f32) {
                        self.value -= by;
                        self.hits += 1.0;
                    }
                    fn score(&self) -> N {
                        self.value.clone() + self.hits.clone() * 100.0
                    }
                }
            } $($functions)* }
        }
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
    conditions_of_loops_change_variables(x) {
        fn step(y: &mut N) -> N {
            *y += 1.0;
            y.clone()
        }
        let (mut y, mut z) = (x.clone(), x.clone() - 3.0);
        while {
            y += 0.5;
            y < 6.0
        } {
            if y > 4.0 && x > 1.0 {
                y += 1.0;
                continue;
            }
            y += 0.25;
        }
        while step(&mut z) < 4.0 {
            z += 0.25;
            if z > 2.0 && x > 0.25 {
                break;
            }
        }
        y * 10.0 + z
    }
    constants_alone(x) {
        const LOW: f32 = -1.0;
        const HIGH: f32 = 3.0;
        const A: f32 = 7.0;
        let y = match x {
            LOW..=HIGH if x > 1.0 => N::from(1.0),
            A => N::from(2.0),
            LOW | f32::MAX => N::from(3.0),
            _ => x.clone(),
        };
        match (x.clone() + 1.0, y.clone()) {
            (A, _) | (_, LOW) => y * 2.0,
            (HIGH, other) => other - 0.5,
            _ => y + x,
        }
    }
    arms_that_no_lane_takes(x) {
        let sign = match x.clone() * 0.0 + (x > 1.0) as i32 as f32 {
            0.0 => x.clone() - 1.0,
            1.0 => x.clone() * 2.0,
            _ => unreachable!("a truth value"),
        };
        let y;
        if x > 100.0 {
            unreachable!();
        } else {
            y = sign.clone();
        }
        if y < 1000.0 { y + sign } else { unreachable!("{}", 1000) }
    }
    truth_values_with_guards(x) {
        match x > 1.0 {
            true if x > 5.0 => x * 2.0,
            false if x < -1.0 => -x,
            true => x + 1.0,
            false => x - 1.0,
        }
    }
    bindings_by_reference(x) {
        let y = match x {
            0.0 => N::from(1.0),
            ref v if *v > 2.0 => v.clone() * 3.0,
            ref v => v.clone() + 0.5,
        };
        match (x, &y) {
            (ref a, b) if *a > 1.0 => a.clone() + b.clone(),
            (a, _) => a,
        }
    }
    patterns_in_matches(x) {
        let is_small = matches!(x, -1.0 | 0.0..=1.5);
        let mut y = if is_small && !matches!(x, v if v > 1.0) { x.clone() + 10.0 } else { x.clone() };
        while matches!(y, v if v.abs() > 2.0) {
            y *= 0.5;
        }
        let list = [x.clone(), y.clone()];
        if matches!((list[0].clone(), y > 1.0), (3.0..=50.0, true) | (0.0, false),) || matches!(list[1], 1.5) {
            y += 100.0;
        }
        let is_in = |v: &N| matches!(*v, 0.25..=1.0);
        if is_in(&x) { y + 0.25 } else { y }
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

same_text_of_things! {
    methods_of_items_of_zipped_iterators(x) {
        let mut things = [Thing::new(x.clone()), Thing::new(x.clone() + 1.0)];
        let mut others = [Thing::new(N::from(1.0)), Thing::new(x.clone() * 2.0)];
        for (thing, by) in things.iter_mut().zip([0.5, 2.0]) {
            if thing.value > by {
                thing.hit(by);
            }
        }
        for (i, (thing, other)) in things.iter_mut().zip(&mut others).enumerate().rev() {
            if thing.value < other.value {
                thing.hit(i as f32);
                other.hit(0.25);
            }
        }
        things.iter().chain(&others).fold(x, |sum, thing| sum + thing.score())
    }
    methods_of_parameters_of_closures(x) {
        let mut things = vec![Thing::new(x.clone()), Thing::new(x.clone() * 3.0)];
        things.iter_mut().for_each(|thing| {
            if thing.value > 1.0 {
                thing.hit(0.5);
            }
        });
        things.iter_mut().enumerate().for_each(|(i, thing)| {
            if thing.value < 2.0 {
                thing.hit(i as f32);
            }
        });
        things[0].score() - things[1].score()
    }
    methods_of_parts_of_references(x) {
        let mut pair = (Thing::new(x.clone()), [Thing::new(x.clone() + 2.0), Thing::new(x.clone() - 2.0)]);
        let (first, [second, third]) = &mut pair;
        if x > 0.5 {
            first.hit(1.0);
            third.hit(2.0);
        } else {
            second.hit(3.0);
        }
        let (left, right) = pair.1.split_at_mut(1);
        if x < 2.0 {
            left[0].hit(0.5);
            left.swap_with_slice(right);
        }
        if let [.., last] = right {
            if x > 1.0 {
                last.hit(0.125);
            }
        }
        if let [first, ..] = pair.1.as_mut_slice() {
            if x > 1.5 {
                first.hit(0.0625);
            }
        }
        pair.0.score() + pair.1[0].score() * 2.0 + pair.1[1].score() * 4.0
    }
    methods_of_parts_of_a_parameter(x) {
        fn change((first, second): (&mut Thing, &Thing), Thing { value, .. }: &mut Thing) {
            first.hit(0.5);
            *value += second.value.clone();
        }
        let (mut a, mut b) = (Thing::new(x.clone()), Thing::new(N::from(2.0)));
        let c = a.clone();
        if x > 1.0 {
            change((&mut a, &c), &mut b);
        }
        let (p, q) = (&mut a, &b);
        if p.value > q.value {
            p.hit(0.25);
        }
        a.score() + b.score()
    }
    methods_of_entries_of_maps(x) {
        let mut map = std::collections::BTreeMap::from([("a", Thing::new(x.clone()))]);
        let entry = map.entry("b").or_insert_with(|| Thing::new(x.clone() * 2.0));
        if x > 1.0 {
            entry.hit(0.5);
        }
        for (name, thing) in &mut map {
            if thing.value > 1.5 {
                thing.hit(if *name == "a" { 1.0 } else { 2.0 });
            }
        }
        map.entry("a").and_modify(|thing| {
            if thing.value < 0.5 {
                thing.hit(-1.0);
            }
        });
        map["a"].score() + map["b"].score() * 2.0
    }
    values_at_the_end_of_chains_of_references(x) {
        let mut list = vec![x.clone(), x.clone() + 1.0];
        let last = list.last_mut().unwrap().clone();
        let count = list.iter_mut().count();
        let doubled = last * 2.0;
        if doubled > count as f32 { doubled } else { x }
    }
    fields_that_move_in_several_arms(x) {
        let magnitude = |thing: Thing| if thing.value > 0.0 { thing.value } else { -thing.value };
        let thing = Thing { value: x.clone(), hits: x.clone() + 1.0 };
        let parts = if x > 2.0 {
            (thing.value, thing.hits)
        } else if x > 0.0 {
            let Thing { value, hits } = thing;
            (hits, value)
        } else {
            (thing.hits, N::from(0.0))
        };
        parts.0 * 10.0 + parts.1 + magnitude(Thing::new(x))
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
