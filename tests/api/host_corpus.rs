//! Programs with host values only: with `#[jit]` they behave exactly as without it.

#![allow(
    clippy::assign_op_pattern,
    clippy::collapsible_if,
    clippy::eq_op,
    clippy::explicit_counter_loop,
    clippy::needless_late_init,
    clippy::needless_range_loop,
    clippy::while_let_loop,
    clippy::manual_is_multiple_of,
    clippy::never_loop,
    clippy::nonminimal_bool,
    reason = "these programs are written as users write them"
)]

use std::collections::BTreeMap;

/// Defines a function twice, without and with the attribute.
macro_rules! corpus {
    ($name:ident: $($function:tt)*) => {
        mod $name {
            pub(super) mod plain {
                #[allow(unused_imports)]
                use super::super::*;
                $($function)*
            }
            pub(super) mod annotated {
                #[allow(unused_imports)]
                use super::super::*;
                #[jit::jit]
                $($function)*
            }
        }
    };
}

/// Calls both with the same arguments and compares.
macro_rules! same {
    ($name:ident($($argument:expr),*)) => {
        assert_eq!($name::plain::$name($($argument),*), $name::annotated::$name($($argument),*))
    };
}

corpus! { collatz:
pub(crate) fn collatz(start: u64) -> (u32, u64) {
    let mut n = start;
    let mut steps = 0;
    let mut highest = n;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        highest = highest.max(n);
        steps += 1;
    }
    (steps, highest)
}}

corpus! { tokens:
pub(crate) fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut depth = 0i32;
    for (position, c) in text.chars().enumerate() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Err(format!("`)` at {position}, depth {}", depth - 1)),
            ')' => depth -= 1,
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    found.push(word);
                    word = String::new();
                }
                continue;
            }
            c => word = word + &c.to_string(),
        }
    }
    if depth != 0 {
        return Err("open".to_owned());
    }
    if !word.is_empty() { found.push(word); }
    Ok(found)
}}

corpus! { sum_of_numbers:
pub(crate) fn sum_of_numbers(lines: &[&str]) -> Result<i64, std::num::ParseIntError> {
    let mut sum = 0;
    'lines: for line in lines {
        for part in line.split(',') {
            let part = part.trim();
            let Some(first) = part.chars().next() else { continue 'lines };
            if first == '#' { continue 'lines; }
            if part == "stop" { break 'lines; }
            sum += part.parse::<i64>()?;
        }
    }
    Ok(sum)
}}

corpus! { move_in_both_arms:
pub(crate) fn move_in_both_arms(items: Vec<String>, join: bool) -> String {
    if join { items.join("-") } else { items.into_iter().rev().collect() }
}}

corpus! { deferred:
pub(crate) fn deferred(n: i32) -> &'static str {
    let kind;
    let mut size = 0;
    if n < 0 { kind = "negative"; size -= n; } else if n == 0 { kind = "zero"; } else { kind = "positive"; size += n }
    if size > 9 { return "large"; }
    kind
}}

corpus! { generic:
pub(crate) fn generic<T: Clone + PartialOrd + std::ops::Mul<Output = T> + std::ops::Sub<Output = T>>(a: T, b: T) -> T {
    let low = if a < b { a.clone() } else { b.clone() };
    let high = if a < b { b } else { a };
    high.clone() * high - low.clone() * low
}}

corpus! { closures:
pub(crate) fn closures(values: &[i32], limit: i32) -> Vec<i32> {
    let mut seen = BTreeMap::new();
    let mut count = |v: i32| { *seen.entry(v % 3).or_insert(0) += 1; v > limit };
    let mut kept: Vec<i32> = values.iter().copied().filter(|v| *v != 0 && count(*v)).map(|v| v * v + 1).collect();
    kept.sort_by(|a, b| b.cmp(a));
    kept.extend(seen.values());
    kept.retain(|v| !(*v > 50 && v % 2 == 0) || *v == 82);
    kept
}}

corpus! { worklist:
pub(crate) fn worklist(start: Vec<u32>) -> (Vec<u32>, u32) {
    let mut stack = start;
    let mut done = vec![];
    let mut total = 0;
    while let Some(top) = stack.pop() {
        if top > 1 && done.len() < 20 {
            stack.push(top / 2);
            if top % 2 == 1 { stack.push(top - 1); }
        }
        total += top;
        done.push(top);
    }
    (done, total)
}}

corpus! { options:
pub(crate) fn options(a: Option<i32>, text: &str) -> Option<i32> {
    let b: i32 = text.parse().ok()?;
    let c = if let Some(a) = a && a > 2 { a * b } else if b > 5 { b } else { return None };
    let mut best = None;
    for k in (0..c).rev().step_by(3) {
        if best.is_none() || best < Some(k % 7) { best = Some(k % 7); }
    }
    best.map(|best| best + c)
}}

corpus! { strings:
pub(crate) fn strings(name: String, other: &str) -> String {
    let both = name.clone() + other;
    if name == other || other == name { return both + "!"; }
    let text: &str = if both.len() > 6 { &both } else { "short" };
    let owned = text.to_owned();
    if owned == "short" && name != "x" { format!("{owned}:{}", name + "?") } else { owned }
}}

corpus! { references:
pub(crate) fn references(values: &mut [i32], total: &mut i32) -> bool {
    let mut changed = false;
    for value in values.iter_mut() {
        if *value < 0 {
            *value = -*value;
            changed = true;
        }
        *total += *value;
    }
    if let Some(last) = values.last_mut() { if *last > 3 { *last -= 1; } }
    changed && *total > 5
}}

corpus! { labelled_block:
pub(crate) fn labelled_block(n: u32) -> u32 {
    let found = 'search: {
        let mut k = 2;
        while k * k <= n {
            if n % k == 0 { break 'search k; }
            k += 1;
        }
        n
    };
    let rest = loop { if found > 10 { break found - 10; } else { break found; } };
    found * 100 + rest
}}

corpus! { slices:
pub(crate) fn slices(values: &[f64]) -> (f64, bool) {
    let mean = match values { [] => 0.0, [one] => *one, many => many.iter().sum::<f64>() / many.len() as f64 };
    let spread: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let sorted = values.windows(2).all(|pair| pair[0] <= pair[1]);
    (spread, sorted && values != [1.0, 2.0])
}}

corpus! { short_circuit:
pub(crate) fn short_circuit(values: &[i32], at: usize, divisor: i32) -> (bool, bool) {
    let in_range = at < values.len() && values[at] > 0;
    let divides = divisor == 0 || 12 / divisor > 3;
    (in_range, divides)
}}

#[test]
fn host_programs_are_unchanged() {
    for n in 1..40 {
        same!(collatz(n));
        same!(labelled_block(n as u32));
        same!(deferred(n as i32 - 20));
    }
    for text in ["a (b c) d", "a) b", "((", "", "x  y"] {
        same!(tokens(text));
    }
    same!(sum_of_numbers(&["1,2", "#3,4", "5,,6", "stop,9", "10"]));
    same!(sum_of_numbers(&["1,2", "x"]));
    same!(move_in_both_arms(vec!["a".into(), "b".into()], true));
    same!(move_in_both_arms(vec!["a".into(), "b".into()], false));
    same!(generic(2, 5));
    same!(generic(2.5, 0.5));
    same!(closures(&[3, 9, 0, -4, 12, 7], 2));
    same!(worklist(vec![9, 4, 13]));
    for (a, text) in [(Some(4), "3"), (Some(1), "9"), (None, "2"), (Some(4), "x")] {
        same!(options(a, text));
    }
    for (name, other) in [("abc", "abc"), ("abc", "d"), ("abcdef", "gh"), ("x", "y")] {
        same!(strings(name.to_owned(), other));
    }
    let run = |function: fn(&mut [i32], &mut i32) -> bool| {
        let (mut values, mut total) = ([3, -4, 5], 1);
        (function(&mut values, &mut total), values, total)
    };
    assert_eq!(run(references::plain::references), run(references::annotated::references));
    same!(slices(&[1.0, 2.0]));
    same!(slices(&[3.0, 2.0, 8.0]));
    same!(short_circuit(&[1, -2], 1, 0));
    same!(short_circuit(&[1, -2], 7, 2));
}

/// A value that cannot be cloned.
#[derive(Debug, PartialEq)]
pub(crate) struct Owned(i32);

fn odd(n: i32) -> bool {
    n % 2 != 0
}

fn bounds(n: i32) -> (i32, i32) {
    (n - 3, n + 4)
}

corpus! { moved_by_return:
pub(crate) fn moved_by_return(mut items: Vec<Owned>, flags: &[i32]) -> Vec<Owned> {
    for flag in flags {
        let flag = *flag;
        if flag < 0 { return items; }
        if flag == 0 { continue; }
        if odd(flag) { break; }
        items.push(Owned(flag));
    }
    items.pop();
    items
}}

corpus! { moved_by_break:
pub(crate) fn moved_by_break(limit: i32) -> (Owned, Vec<Owned>) {
    let mut seen = Vec::new();
    let mut n = 0;
    let last = loop {
        let item = Owned(n);
        n += 1;
        if odd(n) && n > limit { break item; }
        if n > 40 { return (item, seen); }
        if odd(n) { continue; }
        seen.push(item);
    };
    (last, seen)
}}

corpus! { borrowed:
pub(crate) fn borrowed<'a>(words: &'a [String], start: &str) -> Option<&'a str> {
    let mut k = 0;
    let hit: &str = loop {
        if k == words.len() { return None; }
        let word = &words[k];
        k += 1;
        if word.as_str() < start { continue; }
        if word.starts_with(start) { break word; }
        if odd(k as i32) { return Some("odd"); }
    };
    Some(hit)
}}

corpus! { mutable_borrows:
pub(crate) fn mutable_borrows(values: &mut [i32], skip: i32) -> i32 {
    let mut last = None;
    let mut count = 0;
    for value in values.iter_mut() {
        if *value == skip { continue; }
        *value += 1;
        if odd(*value) { if *value > 20 { break; } count += 1; continue; }
        *value *= 2;
        last = Some(value);
    }
    if let Some(last) = last { *last += 100; }
    count
}}

corpus! { labels:
pub(crate) fn labels(rows: &[Vec<i32>]) -> (Vec<i32>, i32) {
    let mut found = Vec::new();
    let mut visits = 0;
    'rows: for row in rows {
        let mut k = 0;
        'search: while k < row.len() {
            visits += 1;
            let value = row[k];
            k += 1;
            if odd(value) { continue 'rows; }
            'skip: {
                if value == 4 { break 'skip; }
                if value == 6 { break 'search; }
                if value == 8 { break 'rows; }
                visits += 10;
            }
            found.push(value);
        }
        if odd(visits) { return (found, -visits); }
        visits += 100;
    }
    (found, visits)
}}

corpus! { let_else_in_loops:
pub(crate) fn let_else_in_loops(text: &str) -> Result<i32, String> {
    let mut sum = 0;
    let mut parts = text.split(' ');
    while odd(sum) || sum < 50 {
        let Some(part) = parts.next() else { break };
        let Ok(number) = part.parse::<i32>() else { if odd(sum) { return Err(part.to_owned()); } else { continue } };
        sum += match number { 0 => continue, n if n < 0 => return Err(format!("{n} after {sum}")), n => n };
        let half = if odd(sum) { if sum > 30 { break; } sum } else { sum / 2 };
        sum = half + if half == 9 { break } else { 1 };
    }
    Ok(sum)
}}

corpus! { first_values_in_loops:
pub(crate) fn first_values_in_loops(words: &[u32], start: u32) -> u32 {
    let mut seed = start;
    let x;
    let y;
    if words.contains(&start) {
        loop {
            seed += 3;
            if words.binary_search(&seed).is_ok() {
                x = seed;
                break;
            }
        }
        y = 1;
    } else {
        x = loop {
            seed += 1;
            if seed % 5 == 0 { break seed; }
        };
        loop {
            y = 2;
            break;
        }
    }
    x * 10 + y
}}

corpus! { values_that_arms_drop:
pub(crate) fn values_that_arms_drop(words: &[u32], n: u32) -> Vec<u32> {
    let mut set = std::collections::BTreeSet::from([2, 3]);
    if words.contains(&n) { set.insert(n) } else { set.remove(&2) };
    if words.len() > 2 { set.insert(77); } else { set.remove(&3); }
    set.into_iter().collect()
}}

corpus! { deferred_in_loops:
pub(crate) fn deferred_in_loops(limit: i32) -> Vec<String> {
    let mut names = Vec::new();
    let mut n = 0;
    let end;
    loop {
        n += 1;
        let name;
        if odd(n) { continue; }
        if n > limit { end = n; break; }
        if n == 4 { name = "four".to_owned(); } else { name = n.to_string(); }
        names.push(name);
    }
    names.push(end.to_string());
    names
}}

corpus! { values_in_arguments:
pub(crate) fn values_in_arguments(numbers: &[Option<i32>]) -> i32 {
    let mut sum = 0;
    let mut numbers = numbers.iter();
    while sum < 100 {
        sum += i32::abs(match numbers.next() { Some(Some(n)) => *n, Some(None) => continue, None => break });
        sum = sum.max(if odd(sum) { if sum > 20 { return sum; } 3 } else { 4 });
    }
    -sum
}}

corpus! { closures_that_change:
pub(crate) fn closures_that_change(start: i32, log: &mut dyn FnMut(i32)) -> i32 {
    let mut count = 0;
    let mut double = |value: i32| { count += 1; value * 2 };
    let mut value = start;
    while value < 100 {
        value = double(value);
        if value > 50 { value = double(value) + 1; log(value); }
    }
    value + count
}}

corpus! { closures_that_return:
pub(crate) fn closures_that_return(values: &[i32]) -> Vec<i32> {
    let step = |start: i32| -> i32 {
        let mut n = start;
        while n < 50 { if odd(n) { return n * 10; } n += 3; if n == 12 { break; } }
        -n
    };
    let owned = move |n: i32| { for k in 0..n { if odd(k + n) { return k; } } n };
    values.iter().map(|value| if *value < 0 { step(-*value) } else { owned(step(*value)) }).collect()
}}

corpus! { ranges:
pub(crate) fn ranges(n: i32, step: usize) -> (Vec<i32>, String) {
    let (low, high) = bounds(n);
    let mut seen = Vec::new();
    for k in low..high { if k == n { continue; } seen.push(k); }
    for k in (low..=high).rev().step_by(step) { if k == low { break; } seen.push(k); }
    for k in (bounds(n).0..bounds(n).1).step_by(step).rev() { seen.push(-k);
        if odd(k) && k > 7 { return (seen, "odd".into()); } }
    for k in high..low { seen.push(k * 1000); }
    let (first, last) = (char::from(b'a' + step as u8), 'f');
    let mut text = String::new();
    for c in first..=last { if c == 'e' { break; } text.push(c); }
    for k in i8::MAX - 1..=bounds(130).0 as i8 { text += &k.to_string(); }
    (seen, text)
}}

corpus! { reversed_iterators:
pub(crate) fn reversed_iterators(n: usize) -> usize {
    let values: Vec<usize> = (0..n).rev().map(|k| k * k).collect();
    let mut sum = 0;
    for k in (0..values.len()).rev() { if values[k] % 3 == 2 { continue; } sum += values[k] * k; if sum > 500 { break; }
        }
    for (k, value) in values.iter().enumerate().step_by(2) { if k > sum { return k; } sum += value; }
    sum
}}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Number(i32),
    Text(String),
    End,
}

corpus! { moved_by_methods:
pub(crate) fn moved_by_methods(n: i32, words: Option<String>, list: Vec<Owned>, part: Part) -> (String, usize, String) {
    let n = bounds(n).0;
    let word = if n > 3 { words.unwrap_or_default() } else { words.map_or("none".into(), |word| word + "!") };
    let mut count = 0;
    if n > 5 {
        let boxed = list.into_boxed_slice();
        count += boxed.len();
    } else if odd(n) {
        for owned in list { count += owned.0 as usize; }
    } else {
        count = list.into_iter().map(|owned| owned.0).sum::<i32>() as usize + 100;
    }
    let text = if n > 4 {
        match part { Part::Text(text) => text, Part::Number(k) => k.to_string(), Part::End => String::new() }
    } else {
        let join = move || if let Part::Text(text) = part { text } else { "?".into() };
        join()
    };
    if n == 9 { return (text, count, word); }
    (word, count, text)
}}

corpus! { guards_beside_patterns:
pub(crate) fn guards_beside_patterns(parts: Vec<Part>, cache: &mut Option<Vec<i32>>, text: &str, n: i32) -> String {
    let limit = bounds(n).1;
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Number(k) if k > limit => out += &(k - limit).to_string(),
            Part::Number(k @ 0..=3) if odd(k) || k < limit => out += &"x".repeat(k as usize),
            Part::Number(_) => continue,
            Part::Text(word) if word.len() as i32 > limit => out = word,
            Part::Text(ref word) => out.push_str(word),
            Part::End if limit > 4 => break,
            Part::End => return out,
        }
    }
    match *cache {
        Some(ref mut values) if values.len() as i32 > limit => values.push(limit),
        Some(ref values) => out += &values.len().to_string(),
        None => *cache = Some(vec![limit; 3]),
    }
    match cache {
        Some(values) if values.len() as i32 > limit => values.clear(),
        Some(values) => values.push(1),
        None => {}
    }
    let ends = match text.as_bytes() {
        [] => 0,
        [one] if i32::from(*one) > limit => 1,
        [a, b] | [a, _, b] if i32::from(*a) - i32::from(*b) > limit => 2,
        [_, rest @ ..] if rest.len() as i32 > limit => 3,
        [.., last] => i32::from(*last),
    };
    match (ends, text.split_once(':')) {
        (1.., Some((left, right))) if left.len() as i32 > limit => out + right,
        (_, Some((left, "x"))) => out + left,
        (k, _) if k > limit => out + "large",
        _ => out,
    }
}}

#[test]
fn host_values_that_only_one_arm_moves_may_be_used_in_the_other() {
    let parts = [Part::Number(3), Part::Text("ab".into()), Part::End];
    for n in 0..14 {
        for part in &parts {
            let list = || vec![Owned(7), Owned(8)];
            same!(moved_by_methods(n, Some("word".into()), list(), part.clone()));
            same!(moved_by_methods(n, None, list(), part.clone()));
        }
    }
}

type Guarded = fn(Vec<Part>, &mut Option<Vec<i32>>, &str, i32) -> String;

#[test]
fn guards_beside_patterns_choose_as_without_the_attribute() {
    let mut parts = vec![Part::Number(9), Part::Number(2), Part::Text("ab".into()), Part::Text("longer".into())];
    for text in ["", "a", "z", "zA", "abcdefgh", "abc:d", "a:x", "b:c"] {
        for n in -4..9 {
            let run = |function: Guarded| {
                let mut caches = [None, Some(vec![1, 2, 3]), Some(vec![])];
                let texts = caches.each_mut().map(|cache| function(parts.clone(), cache, text, n));
                (texts, caches)
            };
            use guards_beside_patterns::{annotated, plain};
            assert_eq!(run(plain::guards_beside_patterns), run(annotated::guards_beside_patterns));
        }
        parts.insert(2, Part::End);
        parts.rotate_left(1);
    }
}

#[test]
fn host_programs_with_jumps_are_unchanged() {
    for flags in [&[2, 4][..], &[2, 0, 4, -1, 6], &[2, 3, 4], &[]] {
        same!(moved_by_return(vec![Owned(7), Owned(8)], flags));
    }
    for limit in [0, 3, 10, 90] {
        same!(moved_by_break(limit));
        same!(deferred_in_loops(limit));
    }
    let words: Vec<String> = ["alpha", "beta", "bet", "gamma"].map(String::from).to_vec();
    for start in ["b", "al", "g", "c", "z"] {
        same!(borrowed(&words, start));
    }
    for skip in [3, 4, 9] {
        let run = |function: fn(&mut [i32], i32) -> i32| {
            let mut values = [3, 4, 8, 11, 9, 30, 5];
            (function(&mut values, skip), values)
        };
        assert_eq!(run(mutable_borrows::plain::mutable_borrows), run(mutable_borrows::annotated::mutable_borrows));
    }
    let rows = [vec![2, 4, 6, 2], vec![4, 3], vec![10, 2], vec![2, 8, 2], vec![2]];
    for count in 0..=rows.len() {
        same!(labels(&rows[..count]));
        same!(labels(&rows[rows.len() - count..]));
    }
    for text in ["1 2 3", "x 1 x", "7 0 9 4", "40 -3", "8 x 10 12 14 16 18", "", "3 5 7 9 11 13 15 17 19"] {
        same!(let_else_in_loops(text));
    }
    same!(values_in_arguments(&[Some(3), None, Some(-8), Some(2), Some(15), Some(8)]));
    same!(values_in_arguments(&[Some(2), Some(2)]));
    for (words, n) in [(&[1, 2][..], 5), (&[1, 10], 1), (&[1, 2, 3, 9], 3)] {
        same!(first_values_in_loops(words, n));
        same!(values_that_arms_drop(words, n));
    }
    let (mut plain, mut annotated) = (Vec::new(), Vec::new());
    assert_eq!(
        closures_that_change::plain::closures_that_change(3, &mut |value| plain.push(value)),
        closures_that_change::annotated::closures_that_change(3, &mut |value| annotated.push(value))
    );
    assert_eq!(plain, annotated);
    same!(closures_that_return(&[-3, 2, 5, -6, 12, 0, 9]));
    for n in 0..9 {
        same!(ranges(n, 1 + n as usize % 3));
        same!(reversed_iterators(n as usize));
    }
}

/// Methods, in an annotated `impl` block.
#[derive(Clone, Debug, PartialEq)]
struct Counter {
    count: u32,
    log: Vec<String>,
}

#[jit::jit]
impl Counter {
    const STEP: u32 = 2;

    fn advance(&mut self, by: Option<u32>) -> &mut Self {
        let by = by.unwrap_or(Self::STEP);
        if by > 3 && self.count != 0 {
            self.log.push(format!("{} + {}", self.count, by));
        }
        self.count += by * Self::STEP;
        self
    }

    fn into_log(self) -> Vec<String> {
        if self.log.is_empty() { vec!["nothing".to_owned()] } else { self.log }
    }
}

#[test]
fn methods_of_an_annotated_block_work() {
    let mut counter = Counter { count: 0, log: Vec::new() };
    assert_eq!(counter.clone().into_log(), ["nothing"]);
    assert_eq!(counter.advance(None).advance(Some(5)).advance(Some(1)).count, 16);
    assert_eq!(counter.into_log(), ["4 + 5"]);
}
