//! Programs with host values only, by construct: with `#[jit]`, indexing, casts and patterns behave exactly as without
//! it.

#![allow(
    clippy::redundant_closure_call,
    clippy::char_lit_as_u8,
    clippy::while_let_loop,
    clippy::assign_op_pattern,
    clippy::identity_op,
    clippy::manual_memcpy,
    clippy::manual_range_patterns,
    clippy::match_overlapping_arm,
    clippy::match_like_matches_macro,
    clippy::match_ref_pats,
    clippy::needless_range_loop,
    clippy::redundant_guards,
    clippy::single_match,
    clippy::unnecessary_cast,
    clippy::wildcard_in_or_patterns,
    clippy::type_complexity,
    clippy::manual_swap,
    clippy::borrowed_box,
    clippy::cast_lossless,
    clippy::fn_to_numeric_cast,
    clippy::useless_vec,
    clippy::large_types_passed_by_value,
    clippy::collapsible_match,
    reason = "these programs are written as users write them"
)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::rc::Rc;

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

/// A container of the user, whose elements are not `Clone`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Token {
    text: String,
    uses: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Token>,
}

impl Index<&str> for Table {
    type Output = Token;
    fn index(&self, name: &str) -> &Token {
        self.rows.iter().find(|row| row.text == name).expect("a row")
    }
}

impl IndexMut<&str> for Table {
    fn index_mut(&mut self, name: &str) -> &mut Token {
        let at = self.rows.iter().position(|row| row.text == name).unwrap_or(self.rows.len());
        if at == self.rows.len() {
            self.rows.push(Token { text: name.to_owned(), uses: 0 });
        }
        &mut self.rows[at]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Axis {
    X,
    Y = 5,
    Z,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Grid {
    cells: [f64; 4],
}

impl Index<Axis> for Grid {
    type Output = f64;
    fn index(&self, axis: Axis) -> &f64 {
        &self.cells[axis as usize % 4]
    }
}

impl IndexMut<Axis> for Grid {
    fn index_mut(&mut self, axis: Axis) -> &mut f64 {
        &mut self.cells[axis as usize % 4]
    }
}

impl Index<(usize, usize)> for Grid {
    type Output = f64;
    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.cells[row * 2 + column]
    }
}

corpus! { vectors:
pub(crate) fn vectors(start: Vec<u64>, names: Vec<String>) -> (Vec<u64>, Vec<String>, u64) {
    let mut v = start.iter().map(|x| x * 2).collect::<Vec<_>>();
    let mut words = names.iter().map(|name| name.to_uppercase()).collect::<Vec<_>>();
    let last = v.len() - 1;
    v[last] = v[0] + 1;
    v[0] += v[1];
    v[last - 1] *= 3;
    let n = v.len();
    v[n - 2] -= 1;
    let k = v.len() / 2;
    v[k] = v[k].pow(2);
    v[0] <<= 1;
    v[1] ^= v[0] & 7;
    v[1] |= 8;
    v[1] %= 11;
    words[0] += "!";
    let second = words[1].clone();
    words[0] += &second;
    words[1] = String::from("new");
    words[1].push('x');
    let longest = &words[0];
    let mut total = v[0];
    for i in 0..v.len() { if v[i] > 3 && words[0] != words[1] { total += v[i]; } }
    let copy = v[1];
    total += copy + longest.len() as u64;
    (v, words, total)
}}

corpus! { arrays:
pub(crate) fn arrays(n: usize) -> ([i32; 4], [[f32; 2]; 2], Vec<[u8; 3]>) {
    let mut a = [1, 2, 3, 4];
    let mut m = [[1.0, 2.0], [3.0, 4.0]];
    let mut colours = vec![[0; 3]; 2];
    a[n % 4] = a[(n + 1) % 4];
    a[3] -= a[0] + a[1];
    m[0][1] = m[1][0] * 2.0;
    m[n % 2][0] += m[0][1];
    let row = m[1];
    m[0] = row;
    colours[1][2] = a[1] as u8;
    colours[0] = colours[1];
    let [first, ..] = colours[0];
    a[0] += first as i32;
    let next = |a: &mut [i32; 4]| { a[2] += 1; (a[2] % 4) as usize };
    let x = a[next(&mut a)];
    a[1] = x;
    (a[0], a[1]) = (a[1], a[0]);
    (a, m, colours)
}}

corpus! { slices:
pub(crate) fn slices(xs: &mut [f64], ys: &[f64], at: &[usize]) -> f64 {
    let mut sum = 0.0;
    for (k, i) in at.iter().enumerate() {
        xs[*i] += ys[k];
        sum += xs[at[k]] * ys[at[0]];
    }
    let (left, right) = xs.split_at_mut(1);
    left[0] = right[0];
    right[0] -= left[0] * 0.5;
    let window = &xs[1..];
    sum + window[0] + xs[..2].iter().sum::<f64>() + xs[xs.len() - 1]
}}

corpus! { maps:
pub(crate) fn maps(words: &[&str]) -> (usize, i32, Vec<(String, i32)>) {
    let mut counts: HashMap<String, i32> = HashMap::new();
    let mut places = BTreeMap::new();
    for (i, word) in words.iter().enumerate() {
        *counts.entry((*word).to_owned()).or_insert(0) += 1;
        places.insert(*word, i);
    }
    let first = words[0];
    let mut total = counts[first];
    if counts[first] > 1 { total += counts["b"] * 10; }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort();
    (places[first] + places["b"], total, sorted)
}}

corpus! { user_types:
pub(crate) fn user_types(mut table: Table, mut grid: Grid) -> (u32, Table, Grid, bool) {
    table["one"].uses += 1;
    table["two"] = Token { text: "two".to_owned(), uses: 7 };
    let name = String::from("one");
    table[name.as_str()].uses += table["two"].uses;
    let is_same = table["one"] == table["two"];
    let uses = table["one"].uses;
    let token = &mut table["two"];
    token.uses = uses * 2;
    grid[Axis::X] = 1.5;
    grid[Axis::Y] += grid[Axis::X];
    let axis = if grid[Axis::Y] > 1.0 { Axis::Z } else { Axis::X };
    grid[axis] = grid[(0, 1)] * 2.0;
    grid[Axis::Z] -= grid[axis] * 0.25;
    let corner = grid[(1, 0)] + grid[axis];
    (uses + corner as u32, table, grid, is_same)
}}

corpus! { coerced_elements:
pub(crate) fn coerced_elements(n: usize) -> (i32, Vec<String>) {
    let mut functions: Vec<Box<dyn Fn(i32) -> i32>> = vec![Box::new(|x| x), Box::new(|x| -x)];
    functions[n % 2] = Box::new(move |x| x + n as i32);
    let mut names: [Option<Box<dyn std::fmt::Display>>; 2] = [None, None];
    names[1] = Some(Box::new(3));
    names[0] = Some(Box::new("x"));
    let mut views: Vec<&[i32]> = vec![&[], &[]];
    views[0] = &[1, 2, 3];
    let mut texts = vec!["a", "b"];
    let owned = format!("{n}");
    texts[1] = &owned;
    let sum = functions[0](10) + functions[1](100) + views[0][2];
    let named = names.iter().flatten().map(|name| name.to_string());
    (sum, named.chain(texts.iter().map(|text| (*text).to_owned())).collect())
}}

corpus! { behind_pointers:
pub(crate) fn behind_pointers(boxed: Box<[i32]>, shared: Rc<Vec<String>>, queue: VecDeque<u8>) -> (i32, String, u8) {
    let mut boxed = boxed;
    let cell = std::cell::RefCell::new(vec![1, 2, 3]);
    boxed[1] += boxed[0];
    boxed[0] = 9;
    cell.borrow_mut()[0] = 7;
    cell.borrow_mut()[1] += 5;
    let mut guard = cell.borrow_mut();
    guard[2] = guard[0] + guard[1];
    let text = shared[0].clone() + &shared[1];
    let other = &shared[1];
    let mut queue = queue;
    queue[1] += queue[0];
    let nested = vec![Box::new(vec![4, 5])];
    (boxed[0] * boxed[1] + guard[2] + nested[0][1], if text.len() > 2 { text } else { other.clone() }, queue[1])
}}

corpus! { order_of_evaluation:
pub(crate) fn order_of_evaluation() -> (Vec<&'static str>, Vec<i32>) {
    let log = std::cell::RefCell::new(Vec::new());
    let note = |name: &'static str, value: usize| { log.borrow_mut().push(name); value };
    let mut v = vec![1, 2, 3];
    v[note("index", 1)] = note("value", 5) as i32;
    v[note("index", 2)] += note("value", 5) as i32;
    let x = v[note("read", 0)] + v[note("second", 1)];
    v[0] = x;
    let fill = |v: &mut Vec<i32>| { v.push(4); v.len() as i32 };
    v[0] = fill(&mut v);
    (log.into_inner(), v)
}}

corpus! { casts:
pub(crate) fn casts(x: f64, n: i64, c: char, flag: bool, axis: Axis) -> (Vec<i128>, Vec<f64>, Vec<char>, bool) {
    let small = if n > 3 { 1 } else { 2 };
    let ints = vec![
        x as u8 as i128, x as i16 as i128, x as i64 as i128, n as u8 as i128, n as u32 as i128, n as i128, c as i128,
        c as u8 as i128, flag as i128, axis as i128, Axis::Z as i128, axis as u8 as i128, -1i8 as u64 as i128,
        b'a' as i128,
        small as i128, (n / 2) as usize as i128, u64::MAX as i128,
    ];
    let half = (small as f32).sqrt() as f64 + (small as f64) / 2.0;
    let floats = vec![n as f64, x as f32 as f64, small as f64, half, (x * 2.0) as f64, ints.len() as f64,
        ints[3] as f64];
    let chars = vec![n as u8 as char, (b'a' + (n as u8 % 26)) as char, c as char, 'x' as u8 as char];
    let values = [1u8, 2, 3];
    let sum: u32 = values.iter().map(|v| *v as u32).sum();
    let double: fn(i32) -> i32 = |v| v * 2;
    let pick = casts_helper as fn(i32) -> i32;
    let address = &values as *const [u8; 3] as usize;
    let view = &values as &[u8];
    let inferred: u16 = x as _;
    let same = (double as usize != 0) == flag as bool && address != 0 && view.len() == 3 && pick(3) > inferred as i32;
    (ints, floats, chars, same || sum as u8 > values[0] as u8)
}}

pub(crate) fn casts_helper(x: i32) -> i32 {
    x + 1
}

corpus! { casts_of_generics:
pub(crate) fn casts_of_generics<T: Copy + Into<f64>>(values: &[T], k: usize) -> (f32, Vec<u32>) {
    let mut total = 0;
    let mut mean = 0.0;
    for (i, v) in values.iter().enumerate() {
        let v: f64 = (*v).into();
        total += v as i32;
        mean += v / values.len() as f64;
        if i as u32 > 1 && (v as i32) < 100 { total -= 1; }
    }
    let first: f64 = values[k % values.len()].into();
    let bits = |x: f32, shift: u32| (x as i32 as u32) >> shift;
    (total as f32 + mean as f32 + first as f32, vec![bits(mean as f32, 1), total as u32])
}}

corpus! {methods_of_elements:
pub(crate) fn methods_of_elements(rows: &mut [Vec<f32>], names: &HashMap<&str, String>, counts: &[u32],
    key: &str) -> (f32, usize, Vec<f32>, u32) {
    let longest = names[key].clone();
    let all = rows[0].iter().map(|x| x.abs()).sum::<f32>() + rows[1][0].max(0.5).sqrt();
    rows[0].push(all);
    let last = rows[0].last().copied().unwrap_or_default();
    let kept = rows[rows.len() - 1].iter();
    let copy: Vec<f32> = kept.copied().filter(|x| x.is_finite() && *x < last).collect();
    (last.powi(2), longest.len() + names["b"].len(), copy, counts[1].min(7) + counts[0].count_ones())
}}

#[test]
fn indexing_is_unchanged() {
    let names = HashMap::from([("a", "alpha".to_owned()), ("b", "be".to_owned())]);
    same!(methods_of_elements(&mut [vec![1.0, -2.0], vec![4.0, 1.0]], &names, &[5, 9], "a"));
    same!(vectors(vec![3, 4, 5, 6], vec!["a".into(), "bc".into()]));
    for n in 0..5 {
        same!(arrays(n));
        same!(coerced_elements(n));
    }
    let run = |function: fn(&mut [f64], &[f64], &[usize]) -> f64| {
        let mut xs = [1.0, 2.0, 3.0];
        (function(&mut xs, &[0.5, 0.25, 4.0], &[2, 0, 2]), xs)
    };
    assert_eq!(run(slices::plain::slices), run(slices::annotated::slices));
    same!(maps(&["a", "b", "a"]));
    let shown = |(uses, table, grid, is_same): (u32, Table, Grid, bool)| format!("{uses} {table:?} {grid:?} {is_same}");
    let table = || Table { rows: vec![] };
    assert_eq!(
        shown(user_types::plain::user_types(table(), Grid::default())),
        shown(user_types::annotated::user_types(table(), Grid::default()))
    );
    let texts = || Rc::new(vec!["a".to_owned(), "bc".to_owned()]);
    same!(behind_pointers(Box::new([1, 2]), texts(), VecDeque::from([1, 2])));
    same!(order_of_evaluation());
}

#[test]
fn casts_are_unchanged() {
    for (x, n, c, flag, axis) in [
        (1.5, 2, 'a', true, Axis::X),
        (-3e9, -7, 'é', false, Axis::Y),
        (f64::INFINITY, i64::MAX, '\u{10ffff}', true, Axis::Z),
    ] {
        same!(casts(x, n, c, flag, axis));
    }
    same!(casts_of_generics(&[1.5f32, 2.5, -4.0], 1));
    same!(casts_of_generics(&[1i32, 200, 3], 2));
}

const LIMIT: i64 = 40;
const ANSWER: u8 = 42;

corpus! { numbers:
pub(crate) fn numbers(n: i64, bytes: &[u8], x: f64) -> (Vec<&'static str>, i64, usize) {
    let mut names = Vec::new();
    let m = n / 2;
    names.push(match m { 0 => "zero", 1 | 2 => "few", 3..=9 => "some", LIMIT => "limit", i64::MAX => "most",
        _ => "many" });
    let mut total = 0;
    for byte in bytes {
        let b = *byte;
        match b {
            b'0'..=b'9' => total += i64::from(b - b'0'),
            ANSWER => { names.push("answer"); }
            b'a' => {}
            0x80.. => { total -= 1; continue; }
            other if other > 100 && other != 120 => total += 10,
            high @ (70..=80 | 90) => total += i64::from(high),
            120 => break,
            other => { let mut k = other; k /= 2; total += i64::from(k); }
        }
        total += 1;
    }
    let half = x / 2.0;
    let kind = match half { 0.0 => 1, h if h < 0.0 => 2, 1.5..=2.5 => 3, h => 4 + h as usize };
    let flag = match n % 3 == 0 { true => 1, false => 2 };
    let copied = names.len();
    let early = match copied { 7 => return (names, 0, 0), c => c };
    let big = match n as u64 * 1_000_000_000 { 5_000_000_000 => 5, 0 => 0, u64::MAX => 9, _ => 1 };
    (names, total * flag, kind + early + big)
}}

corpus! { through_references:
pub(crate) fn through_references(values: &[i32], pair: &(u32, Option<i32>)) -> Option<(i32, String)> {
    let mut sum = 0;
    for value in values {
        sum += match value { 0 => 100, 1 | 2 => 200, -5..=-1 => -1, v if *v > 50 => 7, v => *v };
        sum += match &value { 3 => 1000, _ => 0 };
        sum += match *value { 4 => 1, v => v % 2 };
    }
    let first = pair.0;
    let text = match first { 0 => return None, 1 => "one".to_owned(), n => format!("{n}{}", n + 1) };
    let second = match pair.1 { Some(0) => 0, Some(n @ 1..=9) => n, Some(n) if n < 0 => -n, Some(_) => 10, None => -1 };
    let parsed: i32 = match text.parse::<i32>() { Ok(n) if n > 3 => n, Ok(_) => 3, Err(_) => second };
    match parsed { 3 => sum += 1, _ => () }
    match sum { n if n > 100 => sum -= 100, _ => {} }
    Some((sum + parsed, text))
}}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Point,
    Circle(f64),
    Rect { w: f64, h: f64 },
    Group(Vec<Shape>, Box<Shape>),
}

corpus! { enums:
pub(crate) fn enums(shape: Shape, mut other: Shape) -> (f64, String, Shape) {
    let area = match &shape {
        Shape::Point => 0.0,
        Shape::Circle(r) if *r < 0.0 => 0.5,
        Shape::Circle(r) => 3.0 * r * r,
        Shape::Rect { w, h: height } => w * height,
        Shape::Group(shapes, last) => shapes.len() as f64 + match **last { Shape::Point => 1.0, _ => 2.0 },
    };
    match &mut other {
        Shape::Circle(r) => *r += 1.0,
        Shape::Rect { w, .. } if *w > 2.0 => *w = 2.0,
        Shape::Group(shapes, _) => shapes.push(Shape::Point),
        rest @ (Shape::Point | Shape::Rect { .. }) => *rest = Shape::Circle(9.0),
    }
    let name = match shape {
        Shape::Group(mut shapes, last) if !shapes.is_empty() => { shapes.push(*last); format!("{shapes:?}") }
        whole @ Shape::Circle(_) => format!("{whole:?}"),
        rest => { let text = format!("{rest:?}"); text + "!" }
    };
    (area, name, other)
}}

corpus! { texts:
pub(crate) fn texts(text: &str, owned: String, list: &[i32]) -> (i32, String, char) {
    let code = match text { "a" | "b" => 1, "stop" => return (0, owned, '-'), t if t.starts_with('x') => 2, _ => 3 };
    let shown = match owned.as_str() { "" => "empty".to_owned(), "one" => owned, _ => owned + "?" };
    let c = text.chars().next().unwrap_or(' ');
    let class = match c { 'a'..='f' | 'A'..='F' => 'h', '0'..='9' => 'd', c if c.is_whitespace() => 's', c => c };
    let sum = match list { [] => 0, [x] => *x, [first, .., last] if first == last => 2 * first,
        [first, rest @ ..] => first + rest.len() as i32 };
    let nested = match (code, list.first()) { (1, Some(&n)) => n, (2..=3, Some(n)) if *n > 3 => *n * 10, (n, None) => n,
        _ => -1 };
    (code * 100 + sum + nested, shown, class)
}}

corpus! { labels:
pub(crate) fn labels(program: &[u8]) -> Result<Vec<i64>, String> {
    let (mut at, mut stack) = (0, vec![0i64; 4]);
    'run: loop {
        let op = match program.get(at) { Some(op) => *op, None => break };
        at += 1;
        let top = stack.len() - 1;
        match op {
            0 => break 'run,
            1 => stack[top] += 1,
            2 => stack[top] -= 1,
            3 => { let x = stack[top]; stack.push(x); }
            4 => {
                let x = stack.pop().ok_or("empty")?;
                match stack.last_mut() { Some(y) => *y *= x, None => return Err("underflow".to_owned()) }
            }
            5 => loop { if stack[top] % 2 == 0 { continue 'run; } stack[top] += 1; },
            n @ 6..=9 => stack[n as usize % 4] = i64::from(n),
            unknown => return Err(format!("{unknown} at {at}")),
        }
    }
    Ok(stack)
}}

corpus! { methods_of_matches:
pub(crate) fn methods_of_matches(n: i32) -> (usize, String, Box<dyn Fn(i32) -> i32>) {
    let width = match n % 4 { 0 => "a", 1 => "bb", _ => "ccc" }.len();
    let text = String::from(match n * 2 { 4 => "four", 6 => "six", _ => "other" }) + match n { 2 => "!", _ => "?" };
    let function: Box<dyn Fn(i32) -> i32> = match n + 1 { 3 => Box::new(|x| x), _ => Box::new(move |x| x + n) };
    if match width + 1 { 2 => true, _ => n > 100 } { return (0, text, function); }
    (width, text, function)
}}

/// Not `Clone`.
#[derive(Debug, PartialEq)]
pub(crate) struct Owned(String);

corpus! { moves_in_both_arms:
pub(crate) fn moves_in_both_arms(token: Owned, other: Owned, flags: &[bool]) -> Vec<Owned> {
    let mut kept = Vec::new();
    let is_long = token.0.bytes().filter(|b| *b > 60).count() > 2;
    let text = String::from("a") + &token.0;
    let more = if is_long == flags[0] { text } else if flags[0] { text + "?" } else { String::new() };
    if flags[0] == flags[1] {
        kept.push(token);
        return kept;
    } else if is_long {
        kept.push(other);
        kept.push(token);
    } else {
        kept = vec![token, other];
    }
    if more.contains('?') { kept.push(Owned(more)); } else { drop(more); }
    kept
}}

#[test]
fn values_that_arms_move_need_no_clone() {
    let owned = |text: &str| Owned(text.to_owned());
    for flags in [[false, false], [false, true], [true, false], [true, true]] {
        for text in ["xyz", "z", ""] {
            same!(moves_in_both_arms(owned(text), owned("other"), &flags));
        }
    }
}

#[test]
fn matches_are_unchanged() {
    for (n, bytes, x) in [
        (0, &b"12*ab~"[..], 0.0),
        (3, b"\xff9FZxz", -3.0),
        (12, b"sxa", 4.0),
        (80, b"", 8.5),
        (i64::MAX / 4_000_000_000, b"G", 1.0),
        (5, b"J", f64::NAN),
    ] {
        same!(numbers(n, bytes, x));
    }
    for pair in [(0, None), (1, Some(0)), (2, Some(4)), (3, Some(-8)), (9, Some(77)), (5, None)] {
        same!(through_references(&[0, 1, -3, 60, 3, 4, 7], &pair));
        same!(through_references(&[], &pair));
    }
    let group = || Shape::Group(vec![Shape::Point], Box::new(Shape::Circle(1.0)));
    for shape in [Shape::Point, Shape::Circle(2.0), Shape::Circle(-2.0), Shape::Rect { w: 3.0, h: 2.0 }, group()] {
        same!(enums(shape.clone(), shape.clone()));
        same!(enums(group(), shape.clone()));
    }
    for (text, owned, list) in [
        ("a", "", &[][..]),
        ("stop", "x", &[1]),
        ("xyz", "one", &[4, 4]),
        ("7", "two", &[1, 2, 3]),
        (" ", "", &[9, 9, 9]),
    ] {
        same!(texts(text, owned.to_owned(), list));
    }
    for program in [&[1u8, 3, 1, 4, 7][..], &[1, 3, 5, 0, 9], &[3, 12], &[4, 4, 4, 4, 4], &[]] {
        same!(labels(program));
    }
    for n in 0..5 {
        let (a, b) =
            (methods_of_matches::plain::methods_of_matches(n), methods_of_matches::annotated::methods_of_matches(n));
        assert_eq!((a.0, a.1, a.2(10)), (b.0, b.1, b.2(10)));
    }
}
