//! `match` on traced numbers and truth values.

#![allow(
    clippy::clone_on_copy,
    clippy::erasing_op,
    clippy::manual_is_multiple_of,
    reason = "some programs are the same code for arrays and numbers"
)]

use jit::prelude::*;

const LIMIT: u32 = 12;

#[jit]
fn classes(n: UInt, x: &Float) -> Float {
    let mut hits = UInt::from(0);
    let y = match n {
        0 => x * 2.0,
        1 | 2 => x + 1.0,
        3..=5 => {
            hits += 1;
            x.sqrt()
        }
        k @ 6..9 => k as f32,
        LIMIT => Float::from(-1.0),
        k if k % 2 == 1 && k > 20 => {
            hits += k;
            Float::from(0.5)
        }
        k => k as f32 + x,
    };
    y + hits as f32 * 100.0
}

#[test]
fn numbers_are_matched_lane_by_lane() {
    let n = [0, 1, 2, 4, 7, 12, 21, 11, 22];
    let got = jit_on_each(|| classes(UInt::from(n), &Float::from(9.0)));
    assert_eq!(got, [18.0, 10.0, 10.0, 103.0, 7.0, -1.0, 2100.5, 20.0, 31.0]);
}

/// The same text over arrays and over numbers.
macro_rules! proxies {
    ($($name:ident($($argument:ident: $array:ty, $number:ty),*) -> $output:ty, $plain:ty $body:block)*) => {
        mod over_arrays {
            use jit::prelude::*;
            $(#[jit] pub(super) fn $name($($argument: $array),*) -> $output $body)*
        }
        mod over_numbers {
            $(pub(super) fn $name($($argument: $number),*) -> $plain $body)*
        }
    };
}

proxies! {
    fizz(n: UInt, u32, zero: UInt, u32) -> UInt, u32 {
        match (n.clone() % 3, n.clone() % 5) {
            (0, 0) => zero + 15,
            (0, _) => zero + 3,
            (_, 0) | (1, 4) => zero + 5,
            _ => n,
        }
    }
    quadrant(n: UInt, u32, one: UInt, u32) -> UInt, u32 {
        match (n.clone() % 4 > 1, n.clone() > 9) {
            (true, true) => one,
            (false, true) => one + 1,
            (_, false) => n,
        }
    }
    bound(n: UInt, u32, other: UInt, u32) -> UInt, u32 {
        let mut hits = n.clone() * 0;
        let y = match (n.clone(), 7, other) {
            (0..=3, 7, a) => a * 2,
            (k, 1..=9, a) if k > 14 && a > 2 => { hits += 1; k - a },
            (6, _, _) => n + 100,
            (k, _, a) => k + a,
        };
        y + hits * 1000
    }
    nearest(n: UInt, u32, limit: UInt, u32) -> UInt, u32 {
        let mut hits = n.clone() * 0;
        let class = match n.clone() * 3 {
            k if k < limit => k,
            k if (k.clone() + 1) % 4 == 0 && k > 20 => { hits += k; limit.clone() }
            _ if n == limit => limit.clone() + 1,
            rest => rest + 7,
        };
        match () {
            _ if n > limit => hits += 100,
            _ if n.clone() + 1 > limit => {}
            _ => hits += 200,
        }
        class + match (n.clone(), limit) {
            (a, b) if a > b => a - b,
            (a, b) => b - a,
        } + hits * 1000
    }
    leaving(n: UInt, u32, step: UInt, u32) -> UInt, u32 {
        let mut i = n.clone();
        loop {
            match i.clone() {
                _ if step == 0 => break,
                k if k > 50 => break,
                k if k % 3 == 2 => { i += step.clone() * 2; continue; }
                _ => {}
            }
            i += step.clone();
        }
        i
    }
    jumping(n: UInt, u32, start: UInt, u32) -> UInt, u32 {
        let mut total = start;
        let mut i = n.clone() * 0;
        while i < n {
            i += 1;
            match (i.clone() % 4, n.clone() % 2 == 0) {
                (0, true) => continue,
                (1, false) => {
                    total += 100;
                    if total > 300 { break; }
                }
                (2, _) => total += i.clone(),
                (_, _) => {}
            }
            total += 1;
        }
        total
    }
}

#[test]
fn tuples_are_matched_part_by_part_and_guards_alone_choose() {
    let (n, m): (Vec<u32>, Vec<u32>) = (0..20).map(|n| (n, n * 7 % 5)).unzip();
    for width in [20, 1, 0] {
        let (n, m) = (&n[20 - width..], &m[20 - width..]);
        let all = || {
            let (n, m) = (UInt::from(n), UInt::from(m));
            let of = |program: fn(UInt, UInt) -> UInt| program(n.clone(), m.clone()).to_vec().unwrap();
            use over_arrays::{bound, fizz, jumping, leaving, nearest, quadrant};
            [of(fizz), of(quadrant), of(bound), of(jumping), of(nearest), of(leaving)]
        };
        let plain = |program: fn(u32, u32) -> u32| n.iter().zip(m).map(|(&n, &m)| program(n, m)).collect::<Vec<u32>>();
        use over_numbers::{bound, fizz, jumping, leaving, nearest, quadrant};
        let expected = [plain(fizz), plain(quadrant), plain(bound), plain(jumping), plain(nearest), plain(leaving)];
        assert_eq!(jit::with_device(Device::Interpreter, all), expected);
        if crate::tested_devices::has_llvm() {
            assert_eq!(jit::with_device(Device::Cpu, all), expected);
        }
    }
}

/// No `Clone`.
struct Text(String);

#[jit]
fn host_parts(kind: u32, flag: bool, text: Text, list: &mut Vec<u32>, x: &Float) -> (String, Float) {
    let text = match (kind, flag, text, list) {
        (0, true, text, list) => {
            list.push(1);
            text.0
        }
        (1..=4, _, text, _) => text.0 + "!",
        (_, _, text, list) => {
            list.clear();
            text.0 + "?"
        }
    };
    let y = match (kind, x > 0.0) {
        (0, true) => x * 2.0,
        (0, false) => -x,
        _ => x.clone(),
    };
    let z = match (kind, y.len() > 0) {
        (0, true) | (1..=u32::MAX, true) => y,
        (_, false) => Float::from(-9.0),
    };
    (text, z)
}

#[test]
fn parts_of_the_host_are_moved_and_decided_while_tracing() {
    let x = Float::from([1.0, -3.0]);
    let mut list = vec![5];
    let mut of = |kind, flag| {
        let (text, y) = host_parts(kind, flag, Text("a".to_owned()), &mut list, &x);
        (text, list.clone(), y.to_vec().unwrap())
    };
    assert_eq!(of(0, true), ("a".to_owned(), vec![5, 1], vec![2.0, 3.0]));
    assert_eq!(of(3, false), ("a!".to_owned(), vec![5, 1], vec![1.0, -3.0]));
    assert_eq!(of(0, false), ("a?".to_owned(), vec![], vec![2.0, 3.0]));
}

#[jit]
fn host_guards(text: Text, mut list: Vec<Text>, kind: u32, x: &Float) -> (String, Float) {
    let text = match text {
        short if short.0.len() < 2 => short.0,
        long => long.0 + "…",
    };
    let text = match (text, &mut list) {
        (text, list) if text.len() > 2 && list.len() == 1 => {
            list.push(Text(text));
            format!("{} texts", list.len())
        }
        (text, _) => text,
    };
    let y = match list[0] {
        _ if x > 0.0 => x * 2.0,
        _ if kind > 3 => Float::from(kind as f32),
        _ => -x,
    };
    let z = match kind {
        0 => 1,
        k if k > 2 => k * 2,
        k => k,
    };
    (text, y + z as f32 * 10.0)
}

#[test]
fn guards_of_the_host_decide_while_tracing() {
    let of = |text: &str, kind| {
        let (text, y) = host_guards(Text(text.to_owned()), vec![Text(String::new())], kind, &Float::from([1.0, -3.0]));
        (text, y.to_vec().unwrap())
    };
    assert_eq!(of("a", 0), ("a".to_owned(), vec![12.0, 13.0]));
    assert_eq!(of("ab", 4), ("2 texts".to_owned(), vec![82.0, 84.0]));
}

fn jit_on_each(program: impl Fn() -> Float) -> Vec<f32> {
    let on = |device| jit::with_device(device, || program().to_vec().unwrap());
    let expected = on(Device::Interpreter);
    if crate::tested_devices::has_llvm() {
        assert_eq!(on(Device::Cpu), expected);
    }
    expected
}

#[jit]
fn statements(op: &UInt8, flag: Mask, x: Float, table: &mut UInt) -> Float {
    let mut y = x.clone();
    match *op {
        b'+' => y += 1.0,
        b'*' => {
            y *= 3.0;
            table[op] += 1;
        }
        _ => {}
    }
    match flag {
        true => y += 100.0,
        false => y -= 100.0,
    }
    let z;
    match op {
        b'+' => z = y * 2.0,
        _ => z = y.clone(),
    }
    match x * 2.0 {
        2.0 => z,
        v if v < 0.0 => v,
        2.5.. => z + 0.5,
        v => v - z,
    }
}

#[test]
fn arms_change_variables_and_scatter_on_their_own_lanes() {
    let mut table = UInt::zeros(64);
    let op = UInt8::from([b'+', b'*', b'-', b'*']);
    let flag = Mask::from([true, false, true, false]);
    let got = statements(&op, flag, Float::from([1.0, 2.0, -3.0, 0.5]), &mut table);
    assert_eq!(got.to_vec().unwrap(), [204.0, -93.5, -6.0, 1.0 + 98.5]);
    assert_eq!(table.get(b'*' as usize).unwrap(), 2);
}

#[jit]
fn of_elements(kinds: &UInt, i: &UInt, k: u32) -> UInt {
    let count = match kinds[i] {
        0 => UInt::from(k),
        n => n * 10,
    };
    match k {
        0 => count,
        1..=3 => count + 1,
        _ => count + 2,
    }
}

#[test]
fn elements_and_host_values_are_matched() {
    let kinds = UInt::from([0, 5, 7]);
    let i = UInt::from([2, 0]);
    assert_eq!(of_elements(&kinds, &i, 2).to_vec().unwrap(), [71, 3]);
    assert_eq!(of_elements(&kinds, &i, 0).to_vec().unwrap(), [70, 0]);
    assert_eq!(of_elements(&kinds, &i, 9).to_vec().unwrap(), [72, 11]);
}

#[jit]
fn in_a_loop(start: UInt) -> (UInt, UInt) {
    let (mut n, mut steps) = (start, UInt::from(0));
    while n != 1 && steps < 1000 {
        n = match n % 2 {
            0 => n / 2,
            _ => 3 * n + 1,
        };
        steps += 1;
    }
    (n, steps)
}

#[test]
fn a_match_in_a_traced_loop_is_part_of_its_body() {
    let (n, steps) = in_a_loop(UInt::from([1, 6, 27]));
    assert_eq!(n.to_vec().unwrap(), [1, 1, 1]);
    assert_eq!(steps.to_vec().unwrap(), [0, 8, 111]);
}

/// A function of traced values and the same function of numbers.
macro_rules! both {
    (fn $name:ident($state:ident: $ty:ty => $traced:ty, $x:ident) { $($body:tt)* }) => {
        mod $name {
            use super::*;

            #[jit]
            pub(super) fn traced(mut $state: $traced, mut $x: Float) -> ($traced, Float) {
                $($body)*
                ($state, $x)
            }

            pub(super) fn host(mut $state: $ty, mut $x: f32) -> ($ty, f32) {
                $($body)*
                ($state, $x)
            }
        }
    };
}

both! {
    fn machine(state: u32 => UInt, x) {
        match state {
            0 => {
                x = (x * 1.5 + 0.25).sqrt();
                state += 3;
            }
            1 => x = (x + 2.0).sqrt() * 3.0,
            2 | 9 => {
                x = (x * x + 0.5).sqrt();
                state += 1;
            }
            3 => x = (x * 0.5 + 7.0).sqrt() + (x + 3.0).sqrt(),
            4 => state += 1000,
            5 => x = (x.abs() + 5.0).sqrt(),
            6 => x += 100.0,
            7 => {
                x = (x + 77.0).sqrt();
                if x > 9.0 {
                    state -= 6;
                }
            }
            _ => x = (x + 0.125).sqrt() - 1.0,
        }
    }
}

both! {
    fn negative(state: i8 => Int8, x) {
        match state {
            -128 => x = (x * 1.5 + 0.25).sqrt(),
            -127 => x = (x + 2.0).sqrt() * 3.0,
            -125 => x = (x * 0.5 + 7.0).sqrt() + (x + 3.0).sqrt(),
            -124 => state += 100,
            -123 => x = (x + 5.0).sqrt().sqrt(),
            _ => x = (x + 0.125).sqrt() - 1.0,
        }
    }
}

both! {
    fn wide(state: i64 => Int64, x) {
        match state {
            -2 => x = (x * 1.5 + 0.25).sqrt(),
            -1 => x = (x + 2.0).sqrt() * 3.0,
            0 => x = (x * 0.5 + 7.0).sqrt() + (x + 3.0).sqrt(),
            1 => state = -state,
            2 => x = (x + 5.0).sqrt().sqrt(),
            _ => x = (x + 0.125).sqrt() - 1.0,
        }
    }
}

both! {
    fn far(state: u32 => UInt, x) {
        match state {
            0 => x = (x * 1.5 + 0.25).sqrt(),
            1_000 => x = (x + 2.0).sqrt() * 3.0,
            2_000 => x = (x * 0.5 + 7.0).sqrt() + (x + 3.0).sqrt(),
            3_000 => state += 1,
            4_000 => x = (x + 5.0).sqrt().sqrt(),
            _ => x = (x + 0.125).sqrt() - 1.0,
        }
    }
}

/// Compares a function with itself on the host. Returns whether its kernel has a switch.
fn agree<T: jit::Element + PartialEq>(
    traced: impl Fn(Array<T>, Float) -> (Array<T>, Float),
    host: impl Fn(T, f32) -> (T, f32),
    states: &[T],
) -> bool {
    let x: Vec<f32> = (0..states.len()).map(|lane| lane as f32 * 0.75).collect();
    let expected: Vec<(T, f32)> = states.iter().zip(&x).map(|(&state, &x)| host(state, x)).collect();
    let mut has_switch = false;
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let result = traced(Array::from(states), Float::from(x.clone()));
            has_switch = jit::graphviz(&result).to_lowercase().contains("switch");
            let got: Vec<(T, f32)> = result.0.to_vec().unwrap().into_iter().zip(result.1.to_vec().unwrap()).collect();
            assert!(got == expected, "{got:?} is not {expected:?}");
        });
    }
    has_switch
}

// rows: K15
#[test]
fn arms_of_close_numbers_are_a_switch() {
    let states: Vec<u32> = (0..40).map(|lane| lane % 13).chain([u32::MAX, 1 << 20]).collect();
    assert!(agree(machine::traced, machine::host, &states));
    let states: Vec<i8> = (-128..=127).collect();
    assert!(agree(negative::traced, negative::host, &states));
    let states = [-2, -1, 0, 1, 2, 3, -3, i64::MIN, i64::MAX, (1 << 32) - 2, 1 << 32];
    assert!(agree(wide::traced, wide::host, &states));
    assert!(!agree(far::traced, far::host, &[0, 1_000, 2_000, 3_000, 4_000, 5]));
}

#[jit]
fn writing(state: &UInt, x: &Float, table: &Float, out: &mut UInt) -> Float {
    let mut i = UInt::from(0);
    let mut y = x.clone();
    while i < 3 {
        match (state + i) % 7 {
            0 => y = (y + table[i]).sqrt(),
            1 => out[state] += 1,
            2 => {
                if y > 3.0 {
                    return y;
                }
                y *= 3.0;
            }
            3 => {
                i += 2;
                continue;
            }
            4 => break,
            k if k == 5 && y > 1.0 => y += table[k],
            _ => y -= 0.5,
        }
        i += 1;
    }
    y * 2.0
}

/// The result of one of its lanes.
fn writing_on_the_host(state: u32, x: f32, table: &[f32], out: &mut [u32]) -> f32 {
    let (mut i, mut y) = (0, x);
    while i < 3 {
        match (state + i) % 7 {
            0 => y = (y + table[i as usize]).sqrt(),
            1 => out[state as usize] += 1,
            2 if y > 3.0 => return y,
            2 => y *= 3.0,
            3 => {
                i += 2;
                continue;
            }
            4 => break,
            5 if y > 1.0 => y += table[5],
            _ => y -= 0.5,
        }
        i += 1;
    }
    y * 2.0
}

#[test]
fn arms_of_a_switch_write_and_jump() {
    let table = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5];
    let x = [1.0, 2.0, 4.0, 0.25, 0.5, 2.0, 0.0];
    let mut counts = vec![0; 7];
    let expected: Vec<f32> =
        (0..7).map(|lane| writing_on_the_host(lane, x[lane as usize], &table, &mut counts)).collect();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let mut out = UInt::zeros(7);
            let y = writing(&UInt::arange(7), &Float::from(x), &Float::from(table), &mut out);
            assert_eq!(y.to_vec().unwrap(), expected);
            assert_eq!(out.to_vec().unwrap(), counts);
        });
    }
}

#[jit]
fn by_remainder_and_mask(n: &UInt, m: Mask, held: (Float, u32)) -> (Float, Mask, Float) {
    let k = n + 1;
    let first = match (k % 3, m) {
        (0, true) => held.0 * 2.0,
        (1 | 2, false) => held.0 + 1.0,
        _ => Float::from(-1.0),
    };
    let second = match (m, held.0, held.1) {
        (true, x, 3) => x,
        (_, x, _) => x + k.cast::<f32>(),
    };
    (first + second, m, held.0)
}

#[test]
fn arrays_in_a_matched_tuple_stay_where_they_are() -> Result<(), jit::Error> {
    let mask = Mask::from([true, false, true, false]);
    let x = Float::from([1.0, 2.0, 3.0, 4.0]);
    let (sum, m, held) = by_remainder_and_mask(&UInt::from([2, 3, 4, 5]), mask.clone(), (x.clone(), 3));
    let first = [2.0, 3.0, -1.0, -1.0];
    let second = [1.0, 2.0 + 4.0, 3.0, 4.0 + 6.0];
    assert_eq!(sum.to_vec()?, [0, 1, 2, 3].map(|at| first[at] + second[at]));
    assert_eq!((m.to_vec()?, held.to_vec()?), (mask.to_vec()?, x.to_vec()?));
    Ok(())
}

/// A type that is moved by Rust, and is not `Clone`.
#[derive(Debug, PartialEq)]
struct Ticket(u32);

#[jit]
fn ticket(n: u64, ticket: Ticket, spare: Ticket) -> (Ticket, Ticket) {
    let other = n + 1;
    let taken = match (other % 2, ticket) {
        (0, ticket) => ticket,
        (1, Ticket(n)) => Ticket(n + 1),
        _ => Ticket(0),
    };
    match (other % 3, taken) {
        (0, even) => (even, spare),
        (_, odd) => (spare, odd),
    }
}

#[test]
fn host_values_in_a_matched_tuple_are_moved() {
    assert_eq!(ticket(1, Ticket(5), Ticket(6)), (Ticket(6), Ticket(5)));
    assert_eq!(ticket(2, Ticket(5), Ticket(6)), (Ticket(6), Ticket(6)));
}

#[jit]
fn identity_rows(n: u32) -> UInt {
    let mut row = UInt::zeros(n as usize);
    let mut j = UInt::from(0);
    while j < n {
        row[j] = j;
        j += 1;
    }
    let mut table = Local::<u32>::new(4);
    let k = UInt::from(2);
    table[k] = k;
    row + table[k]
}

#[test]
fn an_index_that_is_also_the_value_stays_where_it_is() -> Result<(), jit::Error> {
    assert_eq!(identity_rows(4).to_vec()?, [2, 3, 4, 5]);
    Ok(())
}

#[rustfmt::skip]
#[jit]
fn of_many_arms(n: &UInt, x: &Float) -> Float {
    let mut count = UInt::from(0);
    let value = match n {
        0 => Float::from(0.0), 1 => Float::from(1.0), 2 => Float::from(2.0), 3 => { count += 3; x + 3.0 }
        4 => Float::from(4.0), 5 | 1005 => x * 5.0, 6 => Float::from(6.0), 7 => Float::from(7.0),
        8 => Float::from(8.0), 9 => Float::from(9.0), 10 => Float::from(10.0), 11 => Float::from(11.0),
        12 => Float::from(12.0), 13 => { count += 13; x + 13.0 } 14 => Float::from(14.0), 15 | 1015 => x * 15.0,
        16 => Float::from(16.0), 17 => Float::from(17.0), 18 => Float::from(18.0), 19 => Float::from(19.0),
        20 => Float::from(20.0), 21 => Float::from(21.0), 22 => Float::from(22.0), 23 => { count += 23; x + 23.0 }
        24 => Float::from(24.0), 25 | 1025 => x * 25.0, 26 => Float::from(26.0), 27 => Float::from(27.0),
        28 => Float::from(28.0), 29 => Float::from(29.0), 30 => Float::from(30.0), 31 => Float::from(31.0),
        32 => Float::from(32.0), 33 => { count += 33; x + 33.0 } 34 => Float::from(34.0), 35 | 1035 => x * 35.0,
        36 => Float::from(36.0), 37 => Float::from(37.0), 38 => Float::from(38.0), 39 => Float::from(39.0),
        40 => Float::from(40.0), 41 => Float::from(41.0), 42 => Float::from(42.0), 43 => { count += 43; x + 43.0 }
        44 => Float::from(44.0), 45 | 1045 => x * 45.0, 46 => Float::from(46.0), 47 => Float::from(47.0),
        48 => Float::from(48.0), 49 => Float::from(49.0), 50 => Float::from(50.0), 51 => Float::from(51.0),
        52 => Float::from(52.0), 53 => { count += 53; x + 53.0 } 54 => Float::from(54.0), 55 | 1055 => x * 55.0,
        56 => Float::from(56.0), 57 => Float::from(57.0), 58 => Float::from(58.0), 59 => Float::from(59.0),
        60 => Float::from(60.0), 61 => Float::from(61.0), 62 => Float::from(62.0), 63 => { count += 63; x + 63.0 }
        64 => Float::from(64.0), 65 | 1065 => x * 65.0, 66 => Float::from(66.0), 67 => Float::from(67.0),
        68 => Float::from(68.0), 69 => Float::from(69.0),
        k if k > 5000 => { count += 2; k.cast() }
        2000..3000 => Float::from(-2.0),
        _ => x - 1.0,
    };
    value + count.cast::<f32>() * 1000.0
}

#[test]
fn many_arms_choose_what_few_would() -> Result<(), jit::Error> {
    let numbers: Vec<u32> = (0..75).chain([1003, 1005, 1035, 1065, 1066, 2000, 2999, 3000, 5000, 5001, 9000]).collect();
    let x = 0.5;
    let wanted = |n: u32| match n {
        0..70 if n % 10 == 3 => x + n as f32 + n as f32 * 1000.0,
        0..70 if n % 10 == 5 => x * n as f32,
        1000..1070 if n % 10 == 5 => x * (n - 1000) as f32,
        0..70 => n as f32,
        5001.. => n as f32 + 2000.0,
        2000..3000 => -2.0,
        _ => x - 1.0,
    };
    let values = of_many_arms(&UInt::from(numbers.clone()), &Float::opaque(x)).to_vec()?;
    assert_eq!(values, numbers.iter().map(|&n| wanted(n)).collect::<Vec<_>>());
    Ok(())
}
