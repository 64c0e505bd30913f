//! Comparisons of host values in `#[jit]` functions: those that Rust accepts, with the types that Rust infers.

#![allow(
    clippy::all,
    clippy::cmp_owned,
    clippy::op_ref,
    clippy::ptr_arg,
    clippy::manual_contains,
    clippy::needless_borrow,
    clippy::needless_borrowed_reference,
    clippy::nonminimal_bool,
    clippy::partialeq_to_none,
    clippy::redundant_closure_call,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_map_or,
    clippy::comparison_to_empty,
    clippy::search_is_some,
    clippy::borrowed_box,
    clippy::manual_range_contains,
    reason = "these programs are written as users write them"
)]

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

use jit::FloatElement;
use jit::prelude::*;

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

/// Compared with its own type, and with words.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) struct Token(String);

impl PartialEq<str> for Token {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<u32> for Token {
    fn eq(&self, other: &u32) -> bool {
        self.0.len() == *other as usize
    }
}

impl PartialOrd<u32> for Token {
    fn partial_cmp(&self, other: &u32) -> Option<Ordering> {
        (self.0.len() as u32).partial_cmp(other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Small,
    Large(u8),
}

corpus! { texts:
pub(crate) fn texts(owned: String, list: Vec<String>, borrowed: &str, cow: Cow<'_, str>, boxed: Box<str>) -> Vec<bool> {
    let reference = &owned;
    let deeper = &reference;
    vec![
        owned == borrowed, borrowed == owned, reference == borrowed, *reference == borrowed,
        reference == &borrowed.to_owned(),
        **deeper == borrowed, *deeper == borrowed, list[0] == borrowed, &list[0] == borrowed, list[0] == *borrowed,
        list[0] == owned,
        &list[0] == reference, cow == borrowed, cow == owned, borrowed == cow, &*boxed == borrowed, *boxed == *borrowed,
        borrowed < "m", owned < String::from("m"), reference < &list[0], borrowed >= owned.as_str(),
        owned.as_str() == borrowed,
        owned[1..] == borrowed[1..], &owned[..1] == "a", owned.chars().next() == Some('a'),
        borrowed.get(0..1) == Some("a"),
        list.first() == Some(&owned), list.iter().any(|word| word == borrowed), list.iter().any(|word| *word == owned),
        list.iter().position(|word| word == reference) == None, list == ["alpha", "beta"],
        list == vec!["alpha".to_owned()],
        list.first().map(|word| word.as_str()) == Some("alpha"), list.last().map(String::as_str) != Some(borrowed),
    ]
}}

// Elements of `i128`, and `u128` below: Rust infers the type of `[]` only if it compares the elements with one type,
// and crates such as `serde_json`, which some features bring, implement comparisons for the others.
corpus! { sequences:
pub(crate) fn sequences(values: Vec<i128>, slice: &[i128], array: [i128; 3], queue: VecDeque<i128>) -> Vec<bool> {
    let reference = &values;
    vec![
        values == array, values == &array, reference == &array, values == slice, &values == slice, slice == values,
        slice == array,
        slice == &array[..], array == *slice, &array == slice, array == slice, values[..2] == array[..2],
        &values[..2] == &array[..2],
        values == [1, 2, 3], reference == &[1, 2, 3], slice == [1, 2, 3], slice == &[1, 2, 3], values[1..] == [2, 3],
        values == Vec::new(), values == [], slice == [], queue == values, queue == array, values < vec![1, 3],
        slice < &array[..],
        array < [1, 2, 4], values.iter().collect::<Vec<_>>() == slice.iter().collect::<Vec<_>>(),
        values.iter().eq(slice.iter()), values.iter().copied().max() == Some(3), values.first() == slice.first(),
        values.as_slice() == slice, (values[0], values[1]) == (1, 2), (values[0], "x") < (slice[0], "y"),
    ]
}}

corpus! { depths:
pub(crate) fn depths(a: &i32, b: &&i32, c: &mut i32, d: i32, boxed: &Box<i32>, counted: Rc<i32>) -> Vec<bool> {
    let same = a == *b;
    let other = &mut *c;
    *other += 1;
    let again = &mut d.clone();
    vec![
        same, *a == **b, a < *b, &a == b, *a >= **b, a == &d, &d == a, *a == d, **boxed == d, *boxed == Box::new(d),
        boxed == &Box::new(d),
        *counted == d, counted == Rc::new(d), other == again, other == &d, &d == other, *other > d,
        (*other, d) == (1, 2), !(a == &d),
    ]
}}

corpus! { options:
pub(crate) fn options(word: Option<&str>, number: Option<u64>, result: Result<u8, String>, kind: Kind) -> Vec<bool> {
    let none = None;
    let found = word == none;
    vec![
        found, word == Some("yes"), Some("yes") == word, word == None, None == word, word.is_none() == (word == None),
        number == Some(3), number > Some(2), number < None, number.map(|n| n > 3) == Some(false),
        number.map_or(false, |n| n == 3),
        result == Ok(3), result == Err("no".to_owned()), result.as_ref().ok() == Some(&3),
        result.as_ref().map(|n| *n == 3) == Ok(true),
        kind == Kind::Small, kind < Kind::Large(0), kind != Kind::Large(7), &kind == &Kind::Small,
        kind >= Kind::Large(3),
        kind.cmp(&Kind::Small) == Ordering::Equal, Reverse(3) < Reverse(2),
        number.partial_cmp(&Some(4)) == Some(Ordering::Less),
        () == (), 'a' < 'b', b'a' == 97, "a".as_bytes() == b"a", 1.5 < f64::from(2u8), -1 < 0, true > false,
        u8::MAX as u32 + 1 == 256,
    ]
}}

corpus! { of_the_user:
pub(crate) fn of_the_user(token: Token, list: Vec<Token>, n: u32) -> Vec<bool> {
    let reference = &token;
    vec![
        token == *"abc", token == n, reference == &n, *reference == 3, token < 4, token >= n,
        token == Token("abc".to_owned()),
        reference == &list[0], list[0] == 3, list.iter().any(|t| *t == n), list.iter().any(|t| t == "abc"),
        list.contains(&token),
        list.iter().filter(|t| **t < 3).count() == 1, list.first() == Some(&token), reference < &Token("b".into()),
    ]
}}

corpus! { in_closures:
pub(crate) fn in_closures(pairs: &[(String, i32)], names: &[&str], table: &HashMap<String, i32>) -> Vec<Option<i32>> {
    let find = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let by = |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
    let known = |key| names.iter().any(|name| *name == key);
    let exactly = |key, value| table.iter().any(|(k, v)| k == key && *v == value);
    let less = |a, b| if a < b { Some(a) } else { None };
    let limit = |n| n > 10;
    let mut sorted: Vec<&(String, i32)> = pairs.iter().filter(|(key, value)| key != "b" && *value >= 1).collect();
    sorted.sort_by(|a, b| if a.1 == b.1 { a.0.cmp(&b.0) } else { b.1.cmp(&a.1) });
    let equal = |a: &String, b: &str| a == b;
    let same = |a: &[i32], b: Vec<i32>| b == a;
    vec![
        find("a"), find("z"), by("b".to_owned()), known("a").then_some(1), exactly("a", 1).then_some(2), less(2, 3),
        limit(11u8).then_some(3),
        sorted.first().map(|pair| pair.1), names.iter().position(|&n| n == "c").map(|at| at as i32),
        equal(&pairs[0].0, "a").then_some(5),
        same(&[1], vec![1]).then_some(6), names.iter().rposition(|n| n == &"a").map(|at| at as i32),
        pairs.iter().map(|(_, n)| n).max_by(|a, b| if a > b { Ordering::Greater } else { Ordering::Less }).copied(),
    ]
}}

corpus! { inferred_later:
pub(crate) fn inferred_later(text: &str) -> (u128, Vec<u8>, bool) {
    let mut best = None;
    let mut seen = Vec::new();
    let mut count = 0;
    for (at, byte) in text.bytes().enumerate() {
        if best == None || best < Some(byte) { best = Some(byte); }
        if seen.last() != Some(&byte) { seen.push(byte); }
        if at == count { count += 1; }
    }
    let mut low = 0;
    let mut high = text.len();
    while low < high {
        let middle = (low + high) / 2;
        if middle * middle < text.len() { low = middle + 1; } else { high = middle; }
    }
    let target = low as u128;
    let is_default = target == Default::default();
    (target + count as u128, seen, is_default)
}}

corpus! { from_the_left:
pub(crate) fn from_the_left(n: u32, x: f64, text: &str) -> Vec<bool> {
    let (small, large): (u8, u128) = (7, n.into());
    vec![large == text.parse().unwrap(), large == Default::default(), n > small.into(), x < n.into(),
        n <= text.parse().unwrap_or(3), n > [1u32, 2].iter().sum()]
}}

corpus! { generics:
pub(crate) fn generics<T: PartialOrd + Copy, U: PartialEq + PartialEq<T>, const N: usize,
const M: i32>(values: [T; N], others: &[U], limit: T) -> Vec<bool> {
    let mut largest = values[0];
    for &value in &values { if value > largest { largest = value; } }
    let first = &values[0];
    vec![
        N == 3, N > 2 && M < 0, M == -1, N * 2 >= others.len(), largest < limit, first < &limit,
        values[0] == values[N - 1],
        others[0] == limit, others.iter().zip(&values).all(|(a, b)| a == b), &values[..1] == &values[..1],
        values.len() == N,
        values.iter().any(|value| *value >= limit), Some(largest) > None, (largest, N) <= (limit, N),
    ]
}}

corpus! { in_macros:
pub(crate) fn in_macros(name: &String, values: &[u8], map: &BTreeMap<u8, Vec<char>>) -> String {
    assert!(name == "n" || name != "m");
    assert_eq!(values[0], 1, "{} is {}", values[0], values[0] == 1);
    assert_eq!(values, [1, 2]);
    assert_eq!(name, "n");
    assert_ne!(Some(name.as_str()), None);
    assert_eq!(map.get(&1), Some(&vec!['x']));
    debug_assert!(values.iter().all(|value| value < &9));
    let flags = vec![name == "n", *name == *"n", values == &[1, 2], map[&1] == ['x']];
    let set: HashSet<bool> = flags.iter().copied().collect();
    format!("{:?} {} {}", set, name == "n", matches!(values, [a, b] if a < b))
}}

corpus! { in_conditions:
pub(crate) fn in_conditions(word: &str, words: &[String], path: &Path, limit: Option<usize>) -> u32 {
    let mut found = 0;
    let mut rest = words.iter();
    while let Some(next) = rest.next() && next != word { found += 1; }
    if let Some(n) = limit && (n > words.len() || word == "x") { found += 10; }
    if path == Path::new("a/b") && path.extension() == None { found += 100; }
    match words.first() {
        Some(first) if first == word => found += 1000,
        Some(first) if first < &word.to_owned() => found += 2000,
        _ => found += 3000,
    }
    found += match word { w if w == words[0] => 1, w if w.len() == words.len() => 2, _ => 3 };
    while found % 7 != 0 && (word == words[0]) == false { found += 1; }
    found
}}

corpus! { of_results:
pub(crate) fn of_results(values: &mut Vec<i64>, other: &Vec<i64>, token: &mut Token, like: &Token) -> (bool, bool, bool,
    bool, i64) {
    let before = values == other;
    values.push(4);
    let after = values.len() > other.len() && values != other;
    let equal = token == like;
    token.0.push('d');
    let changed = (values.iter().sum::<i64>() == 10) as i64 + (token == like) as i64 * 2 + (like < token) as i64 * 4;
    (before, after, equal, &*values == other, changed)
}}

#[test]
fn strings_are_compared_as_rust_does() {
    let list = || vec!["alpha".to_owned(), "beta".to_owned()];
    for word in ["alpha", "beta", "zeta"] {
        same!(texts("alpha".to_owned(), list(), word, Cow::Borrowed(word), word.into()));
    }
}

#[test]
fn sequences_are_compared_as_rust_does() {
    same!(sequences(vec![1, 2, 3], &[1, 2, 3], [1, 2, 3], VecDeque::from([1, 2, 3])));
    same!(sequences(vec![1, 2, 3], &[1, 2], [1, 2, 4], VecDeque::from([1, 2])));
}

#[test]
fn references_of_different_depth_are_compared_as_rust_does() {
    same!(depths(&1, &&1, &mut 1, 1, &Box::new(1), Rc::new(1)));
    same!(depths(&1, &&2, &mut 1, 2, &Box::new(1), Rc::new(3)));
}

#[test]
fn options_and_enums_are_compared_as_rust_does() {
    same!(options(Some("yes"), Some(3), Ok(3), Kind::Small));
    same!(options(None, None, Err("no".to_owned()), Kind::Large(7)));
}

#[test]
fn types_of_the_user_are_compared_with_others_as_rust_does() {
    let token = |text: &str| Token(text.to_owned());
    same!(of_the_user(token("abc"), vec![token("abc"), token("xy")], 3));
    same!(of_the_user(token("x"), vec![token("abcd")], 4));
}

#[test]
fn closures_compare_what_they_are_given_later() {
    let pairs = [("a".to_owned(), 1), ("b".to_owned(), 2), ("c".to_owned(), 2)];
    let table: HashMap<String, i32> = pairs.iter().cloned().collect();
    let table: &'static HashMap<String, i32> = Box::leak(Box::new(table));
    same!(in_closures(&pairs, &["a", "c"], table));
}

#[test]
fn types_that_are_inferred_later_are_compared() {
    same!(inferred_later("hello, world"));
    same!(inferred_later(""));
}

#[test]
fn the_right_side_has_the_type_that_the_left_one_asks_for() {
    same!(from_the_left(3, 2.5, "3"));
    same!(from_the_left(8, 9.5, "4"));
}

#[test]
fn generic_values_are_compared_as_rust_does() {
    assert_eq!(
        generics::plain::generics::<f32, f32, 3, -1>([1.0, 3.0, f32::NAN], &[1.0, 3.0], 3.0),
        generics::annotated::generics::<f32, f32, 3, -1>([1.0, 3.0, f32::NAN], &[1.0, 3.0], 3.0)
    );
    assert_eq!(
        generics::plain::generics::<u32, Token, 2, 5>([3, 3], &[Token("abc".to_owned())], 3),
        generics::annotated::generics::<u32, Token, 2, 5>([3, 3], &[Token("abc".to_owned())], 3)
    );
}

#[test]
fn arguments_of_macros_are_compared_as_rust_does() {
    same!(in_macros(&"n".to_owned(), &[1, 2], &BTreeMap::from([(1, vec!['x'])])));
}

#[test]
fn conditions_of_patterns_and_guards_are_compared_as_rust_does() {
    let words = ["one".to_owned(), "two".to_owned()];
    for (word, path, limit) in [("one", "a/b", Some(9)), ("two", "a/b.c", None), ("x", "", Some(1))] {
        same!(in_conditions(word, &words, Path::new(path), limit));
    }
}

#[test]
fn referents_of_mutable_references_are_compared() {
    for like in ["abc", "x"] {
        let run = |f: fn(&mut Vec<i64>, &Vec<i64>, &mut Token, &Token) -> (bool, bool, bool, bool, i64)| {
            f(&mut vec![1, 2, 3], &vec![1, 2, 3], &mut Token("abc".to_owned()), &Token(like.to_owned()))
        };
        assert_eq!(run(of_results::plain::of_results), run(of_results::annotated::of_results));
    }
}

#[jit]
fn clamped<T: FloatElement>(x: &mut Array<T>, low: T, high: &Array<T>) -> Array<T> {
    let below = low > *x;
    let above = x > high;
    if *x < low || low >= &*x {
        Array::from(low)
    } else if above & !below {
        high.clone()
    } else {
        x.clone()
    }
}

#[test]
fn generic_numbers_are_operands_on_both_sides_of_arrays() -> Result<(), jit::Error> {
    let mut x = Float::from([-1.0, 1.5, 9.0]);
    assert_eq!(clamped(&mut x, 1.0, &Float::from(5.0)).to_vec()?, [1.0, 1.5, 5.0]);
    let mut x = Float64::from([-1.0, 1.5, 9.0]);
    assert_eq!(clamped(&mut x, 1.0, &Float64::from(5.0)).to_vec()?, [1.0, 1.5, 5.0]);
    Ok(())
}
