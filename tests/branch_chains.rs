//! Chains of traced branches, some of which become switches: every chain of four tests of several kinds, and random
//! longer ones, against the same chain of the host, for all values of what they test.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use jit::prelude::*;
use jit::{Device, with_device};

#[path = "shared/tested_devices.rs"]
mod tested_devices;

/// The condition of a branch.
#[derive(Clone, Copy, Debug)]
enum Test {
    /// `n == k`
    N(u32),
    /// `m == k`
    M(u32),
    /// `n == k || n == l`
    Either(u32, u32),
    /// `n == k || m == l`
    Mixed(u32, u32),
    /// `n < k`
    Below(u32),
    /// `r == k`, where `r` is a float with these bits: zero has two values.
    Real(u32),
}

use Test::{Below, Either, M, Mixed, N, Real};

/// A chain and what its arms compute.
#[derive(Clone, Debug)]
struct Chain {
    tests: Vec<Test>,
    /// Arms that are worth a jump.
    is_long: bool,
    /// The branches after whose `else` the second result is computed from the first one.
    after: u32,
    /// Whether lanes without an arm call one of several functions, by their number.
    calls: bool,
}

const NUMBERS: u32 = 9;
const REALS: [u32; 6] = [0, 0x8000_0000, 1, 2, 3, 4];

#[derive(Clone, Copy)]
struct Host {
    n: u32,
    m: u32,
    r: f32,
}

struct Traced {
    n: UInt,
    m: UInt,
    r: Float,
}

impl Test {
    fn on_host(self, of: &Host) -> bool {
        match self {
            N(k) => of.n == k,
            M(k) => of.m == k,
            Either(k, l) => of.n == k || of.n == l,
            Mixed(k, l) => of.n == k || of.m == l,
            Below(k) => of.n < k,
            Real(k) => of.r == f32::from_bits(k),
        }
    }

    fn traced(self, of: &Traced) -> Mask {
        match self {
            N(k) => of.n.eq(k),
            M(k) => of.m.eq(k),
            Either(k, l) => of.n.eq(k) | of.n.eq(l),
            Mixed(k, l) => of.n.eq(k) | of.m.eq(l),
            Below(k) => of.n.lt(k),
            Real(k) => of.r.eq(f32::from_bits(k)),
        }
    }
}

/// The value of an arm, for arrays and numbers.
macro_rules! arm {
    ($n:expr, $m:expr, $depth:expr, $is_long:expr) => {{
        let mut value = $n * 10 + 7 * ($depth + 1);
        for round in 0..if $is_long { 12 } else { 0 } {
            value = value * 3 ^ ($m + round);
        }
        value
    }};
}

fn on_host(chain: &Chain, depth: u32, of: &Host) -> (u32, u32) {
    let Some(test) = chain.tests.get(depth as usize) else {
        let called = [of.m + 1, of.m * 5, of.m ^ 77];
        let x = if chain.calls { called.get(of.n as usize).copied().unwrap_or(0) } else { 3 };
        return (x, 4);
    };
    if test.on_host(of) {
        let value = arm!(of.n, of.m, depth, chain.is_long);
        return (value, if depth.is_multiple_of(2) { value + 1 } else { 4 });
    }
    let (x, y) = on_host(chain, depth + 1, of);
    (x, if chain.after >> depth & 1 == 1 { x * 3 + depth } else { y })
}

#[jit]
fn traced(chain: &Chain, depth: u32, of: &Traced) -> (UInt, UInt) {
    let (mut x, mut y) = (UInt::from(3), UInt::from(4));
    if (depth as usize) < chain.tests.len() {
        let test = chain.tests[depth as usize];
        if test.traced(of) {
            x = arm!(&of.n, &of.m, depth, chain.is_long);
            if depth.is_multiple_of(2) {
                y = &x + 1;
            }
        } else {
            (x, y) = traced(chain, depth + 1, of);
            if chain.after >> depth & 1 == 1 {
                y = &x * 3 + depth;
            }
        }
    } else if chain.calls {
        let functions: [fn(&UInt) -> UInt; 3] = [|m| m + 1, |m| m * 5, |m| m ^ 77];
        x = jit::switch(&of.n, &functions, (&of.m,));
    }
    (x, y)
}

/// All combinations of what is tested.
fn values() -> Vec<Host> {
    let pairs = (0..NUMBERS).flat_map(|n| (0..NUMBERS).map(move |m| (n, m)));
    let value = |(at, (n, m)): (usize, (u32, u32))| Host { n, m, r: f32::from_bits(REALS[at % REALS.len()]) };
    pairs.chain((0..6).map(|n| (n, 8))).enumerate().map(value).collect()
}

fn check(chain: &Chain, hosts: &[Host], lanes: &Traced) {
    let (x, y) = traced(chain, 0, lanes);
    let broadcast = |array: UInt| lanes.n.ge(0).select(array, 0).to_vec().unwrap();
    let found: Vec<(u32, u32)> = broadcast(x).into_iter().zip(broadcast(y)).collect();
    let expected: Vec<(u32, u32)> = hosts.iter().map(|of| on_host(chain, 0, of)).collect();
    let wrong = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(wrong.map(|lane| (hosts[lane].n, hosts[lane].m, hosts[lane].r)), None, "{chain:?}");
}

fn on_all_values(test: impl Fn(&[Host], &Traced)) {
    for device in tested_devices::all() {
        with_device(device, || {
            let hosts = values();
            let lanes = Traced {
                n: hosts.iter().map(|of| of.n).collect::<Vec<_>>().into(),
                m: hosts.iter().map(|of| of.m).collect::<Vec<_>>().into(),
                r: hosts.iter().map(|of| of.r).collect::<Vec<_>>().into(),
            };
            jit::eval(&(&lanes.n, &lanes.m, &lanes.r)).unwrap();
            test(&hosts, &lanes);
        });
    }
}

/// The tests at a position of a chain.
fn tests_at(position: u32) -> [Test; 7] {
    let k = position;
    [N(k), N(k.max(1) - 1), M(k), Either(k, k + 4), Mixed(k, k + 4), Below(k), Real(k)]
}

#[test]
fn every_chain_of_four_tests_chooses_the_arms_that_the_host_does() {
    on_all_values(|hosts, lanes| {
        // Generated code differs only in how kernels run.
        let step = if jit_runtime::device::current_device() == Device::Interpreter { 1 } else { 23 };
        for number in (0..7_u32.pow(4)).step_by(step) {
            let test = |position: u32| tests_at(position)[(number / 7_u32.pow(position) % 7) as usize];
            let tests = (0..4).map(test).collect();
            let chain = Chain { tests, is_long: number % 3 != 0, after: number % 11, calls: number % 4 == 1 };
            check(&chain, hosts, lanes);
        }
    });
}

#[test]
fn chains_of_numbers_alone_choose_their_arms_whatever_follows() {
    on_all_values(|hosts, lanes| {
        for flags in 0..64 {
            let (is_long, calls, after) = (flags & 1 == 1, flags & 2 == 2, flags >> 2);
            let of = |tests: &[Test]| Chain { tests: tests.to_vec(), is_long, after, calls };
            check(&of(&[N(0), N(1), N(2), N(3)]), hosts, lanes);
            check(&of(&[N(3), N(1), Either(2, 5), N(4), N(0)]), hosts, lanes);
            check(&of(&[Real(0), Real(1), Real(2), Real(3)]), hosts, lanes);
            // A switch follows that is on another number.
            check(&of(&[N(4), N(5), N(6), N(7), M(0), M(1), M(2), M(3)]), hosts, lanes);
            check(&of(&[N(3), M(4), M(5), M(6), M(7)]), hosts, lanes);
        }
    });
}

const ROUNDS: u32 = 3;

/// Repeats a chain: on other numbers in each iteration, or on the same ones, where only what the arms compute changes.
#[jit]
fn repeated(chain: &Chain, are_others: bool, of: &Traced) -> UInt {
    let (mut n, mut m) = (of.n.clone(), of.m.clone());
    let (mut sum, mut round) = (UInt::from(0), UInt::from(0));
    while round < ROUNDS {
        let now = Traced { n: if are_others { n.clone() } else { of.n.clone() }, m: m.clone(), r: of.r.clone() };
        let (x, y) = traced(chain, 0, &now);
        sum = sum * 7 + x + y;
        (n, m) = ((n + 1) % NUMBERS, (m + 4) % NUMBERS);
        round += 1;
    }
    sum
}

fn repeated_on_host(chain: &Chain, are_others: bool, of: &Host) -> u32 {
    (0..ROUNDS).fold(0, |sum: u32, round| {
        let n = if are_others { (of.n + round) % NUMBERS } else { of.n };
        let (x, y) = on_host(chain, 0, &Host { n, m: (of.m + 4 * round) % NUMBERS, r: of.r });
        sum.wrapping_mul(7).wrapping_add(x).wrapping_add(y)
    })
}

#[test]
fn chains_in_loops_choose_their_arms_in_each_iteration() {
    on_all_values(|hosts, lanes| {
        for flags in 0..16 {
            let (are_others, is_long, after) = (flags & 1 == 1, flags & 2 == 2, flags >> 2);
            for tests in [vec![N(0), N(1), N(2), N(3)], vec![N(3), M(1), Below(4), N(6)]] {
                let chain = Chain { tests, is_long, after, calls: false };
                let expected: Vec<u32> = hosts.iter().map(|of| repeated_on_host(&chain, are_others, of)).collect();
                let found = repeated(&chain, are_others, lanes).to_vec().unwrap();
                assert_eq!(found, expected, "{chain:?}, other numbers: {are_others}");
            }
        }
    });
}

/// What the arms, of two numbers each, compute of `m`; 1000 without an arm.
#[jit]
fn arm_of<T: jit::Integer>(n: &Array<T>, m: &UInt, numbers: &[[T; 2]]) -> UInt {
    let mut value = UInt::from(1000);
    if let Some((last, before)) = numbers.split_last() {
        if n.eq(last[0]) | n.eq(last[1]) {
            value = arm!(m, m, before.len() as u32, true);
        } else {
            value = arm_of(n, m, before);
        }
    }
    value
}

#[test]
fn numbers_on_both_sides_of_zero_have_their_arms_in_every_type() {
    macro_rules! check {
        ($ty:ident, $least:expr, $arms:expr) => {{
            let number = |number: i32| ($least as $ty).wrapping_add((2 * number) as $ty);
            let numbers: Vec<[$ty; 2]> = (0..$arms).map(|arm| [number(2 * arm), number(2 * arm + 1)]).collect();
            let near = |number: &$ty| [-2_i8, -1, 0, 1, 2].map(|by| number.wrapping_add(by as $ty));
            let mut lanes: Vec<$ty> = numbers.iter().flatten().flat_map(near).collect();
            lanes.extend([0, 1, $ty::MIN, $ty::MAX, $ty::MAX / 2, $ty::MAX / 2 + 1]);
            let others: Vec<u32> = (0..lanes.len() as u32).map(|lane| lane % NUMBERS).collect();
            let value = |(n, m): (&$ty, &u32)| {
                let arm = numbers.iter().position(|numbers| numbers.contains(n));
                arm.map_or(1000, |arm| arm!(*m, *m, arm as u32, true))
            };
            let expected: Vec<u32> = lanes.iter().zip(&others).map(value).collect();
            let chosen = arm_of(&Array::from(lanes), &UInt::from(others), &numbers);
            assert!(jit::graphviz(&chosen).contains("Switch"), "the chain of {} becomes a jump", stringify!($ty));
            assert_eq!(chosen.to_vec().unwrap(), expected, "{}", stringify!($ty));
        }};
    }
    on_all_values(|_, _| {
        // The span of the first ones is beyond the largest number of their type.
        check!(i8, i8::MIN, 50);
        check!(u8, 3, 50);
        check!(i16, -11, 6);
        check!(u16, u16::MAX - 24, 6);
        check!(i32, i32::MIN, 4);
        check!(u32, 1_u32 << 31, 4);
        check!(i64, -7, 4);
        check!(u64, u64::MAX - 16, 4);
        check!(i64, i64::MAX - 16, 4);
    });
}
