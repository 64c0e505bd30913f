//! Which arrays a traced loop may read and write: every small program over two arrays, with loops in loops, is either
//! rejected or computes what its lanes do one after another. One that reads no array that it writes is accepted, one
//! that does is rejected.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;
use jit::{Device, with_device};

#[path = "shared/tested_devices.rs"]
mod tested_devices;

/// What an iteration does. Each lane accesses its own element of an array alone.
#[derive(Clone, PartialEq, Debug)]
enum Statement {
    /// `a = k + 3`, and the same for `b`.
    Write(Name),
    /// `a += k + 1`, with an atomic operation.
    Add(Name),
    /// `a = sum`
    WriteSum(Name),
    /// `sum = 3 sum + a`
    Read(Name),
    /// `b = a + 1`, or the other way round.
    ReadAndWrite(Name),
    /// `b = a` as arrays.
    Assign,
    /// Exchanges both arrays.
    Swap,
    /// Writes to a copy of `a`, and reads from it after that.
    WriteCopy,
    /// Adds to a copy of `a`, and reads from it after that.
    AddToCopy,
    /// A loop of two iterations.
    Repeat(Vec<Statement>),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Name {
    A,
    B,
}

use Name::{A, B};
use Statement::{Add, AddToCopy, Assign, Read, ReadAndWrite, Repeat, Swap, Write, WriteCopy, WriteSum};

const LANES: usize = 5;
/// The iterations of each lane.
const ROUNDS: [u32; LANES] = [2, 0, 3, 1, 2];
const FIRST: [[u32; LANES]; 2] = [[10, 20, 30, 40, 50], [7, 6, 5, 4, 3]];

/// The traced variables of a program.
struct Traced {
    a: UInt,
    b: UInt,
    sum: UInt,
    lanes: UInt,
}

fn run(statement: &Statement, k: &UInt, a: &mut UInt, b: &mut UInt, sum: &mut UInt, lanes: &UInt) {
    let of = |name: Name, a: &UInt, b: &UInt| if name == A { a.clone() } else { b.clone() };
    match statement {
        Write(A) => a.scatter(k + 3, lanes),
        Write(B) => b.scatter(k + 3, lanes),
        Add(A) => a.scatter_add(k + 1, lanes),
        Add(B) => b.scatter_add(k + 1, lanes),
        WriteSum(A) => a.scatter(&*sum, lanes),
        WriteSum(B) => b.scatter(&*sum, lanes),
        Read(name) => *sum = &*sum * 3 + of(*name, a, b),
        ReadAndWrite(A) => b.scatter(&*a + 1, lanes),
        ReadAndWrite(B) => a.scatter(&*b + 1, lanes),
        Assign => *b = a.clone(),
        Swap => std::mem::swap(a, b),
        WriteCopy => {
            let mut copy = a.clone();
            copy.scatter(k + 9, lanes);
            *sum += copy;
        }
        AddToCopy => {
            let mut copy = a.clone();
            copy.scatter_add(k + 1, lanes);
            *sum += copy;
        }
        Repeat(body) => repeat(body, a, b, sum, lanes),
    }
}

#[jit]
fn repeat(body: &[Statement], a: &mut UInt, b: &mut UInt, sum: &mut UInt, lanes: &UInt) {
    let mut k = lanes.zeros_like();
    while k < 2 {
        for statement in body {
            run(statement, &k, &mut *a, &mut *b, &mut *sum, lanes);
        }
        k += 1;
    }
}

/// Whether lanes continue; if requested, this reads the first array, too.
fn goes_on(k: &UInt, rounds: &UInt, a: &UInt, reads: bool) -> Mask {
    let goes_on = k.lt(rounds);
    if reads { goes_on & a.lt(1000) } else { goes_on }
}

#[jit]
fn program(body: &[Statement], reads: bool, start: &Traced, rounds: &UInt) -> (UInt, UInt, UInt) {
    let (mut a, mut b, mut sum) = (start.a.clone(), start.b.clone(), start.sum.clone());
    let lanes = start.lanes.clone();
    let mut k = lanes.zeros_like();
    while goes_on(&k, rounds, &a, reads) {
        for statement in body {
            run(statement, &k, &mut a, &mut b, &mut sum, &lanes);
        }
        k += 1;
    }
    (a, b, sum)
}

/// What one lane does.
fn run_lane(body: &[Statement], k: u32, state: &mut [u32; 3]) {
    for statement in body {
        let at = |name: Name| usize::from(name == B);
        match statement {
            Write(name) => state[at(*name)] = k + 3,
            Add(name) => state[at(*name)] = state[at(*name)].wrapping_add(k + 1),
            WriteSum(name) => state[at(*name)] = state[2],
            Read(name) => state[2] = state[2].wrapping_mul(3).wrapping_add(state[at(*name)]),
            ReadAndWrite(name) => state[1 - at(*name)] = state[at(*name)].wrapping_add(1),
            Assign => state[1] = state[0],
            Swap => state.swap(0, 1),
            WriteCopy => state[2] = state[2].wrapping_add(k + 9),
            AddToCopy => state[2] = state[2].wrapping_add(state[0]).wrapping_add(k + 1),
            Repeat(body) => (0..2).for_each(|k| run_lane(body, k, state)),
        }
    }
}

fn expected(body: &[Statement], reads: bool) -> [Vec<u32>; 3] {
    let lane = |lane: usize| {
        let mut state = [FIRST[0][lane], FIRST[1][lane], lane as u32];
        for k in 0..ROUNDS[lane] {
            if !reads || state[0] < 1000 {
                run_lane(body, k, &mut state);
            } else {
                break;
            }
        }
        state
    };
    let states: Vec<[u32; 3]> = (0..LANES).map(lane).collect();
    [0, 1, 2].map(|part| states.iter().map(|state| state[part]).collect())
}

/// The arrays that a program reads and writes, while arrays stay what they are.
fn accesses(body: &[Statement], reads: &mut [bool; 2], writes: &mut [bool; 2]) {
    for statement in body {
        match statement {
            Write(name) | Add(name) | WriteSum(name) => writes[usize::from(*name == B)] = true,
            Read(name) => reads[usize::from(*name == B)] = true,
            ReadAndWrite(name) => (reads[usize::from(*name == B)], writes[usize::from(*name == A)]) = (true, true),
            Repeat(body) => accesses(body, reads, writes),
            Assign | Swap | WriteCopy | AddToCopy => {}
        }
    }
}

fn exchanges(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Repeat(body) => exchanges(body),
        Assign | Swap | WriteCopy | AddToCopy => true,
        _ => false,
    })
}

/// What programs may be rejected for.
const REASONS: [&str; 3] = [
    "an array is used in the traced `if` or `while` that writes to it",
    "a traced loop writes to a copy of its state",
    "inside of a traced loop, only its state can be written to",
];

/// Runs a program on a device. Returns whether it is accepted.
fn check(body: &[Statement], reads: bool) -> bool {
    let resident = |values: &[u32]| {
        let array = UInt::from(values.to_vec());
        jit::eval(&array).unwrap();
        array
    };
    let lanes: Vec<u32> = (0..LANES as u32).collect();
    let start =
        Traced { a: resident(&FIRST[0]), b: resident(&FIRST[1]), sum: resident(&lanes), lanes: resident(&lanes) };
    let result = catch_unwind(AssertUnwindSafe(|| program(body, reads, &start, &resident(&ROUNDS))));
    match result {
        Ok((a, b, sum)) => {
            let found = [a, b, sum].map(|array| array.to_vec().unwrap());
            assert_eq!(found, expected(body, reads), "{body:?}, condition reads: {reads}");
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().expect("a message");
            assert!(REASONS.iter().any(|reason| text.contains(reason)), "{body:?}: {text}");
            assert_eq!(start.a.to_vec().unwrap(), FIRST[0], "{body:?}: what was there before is there");
            return false;
        }
    }
    true
}

/// Compares a program with its definition; returns whether it is accepted.
fn check_program(body: &[Statement], reads: bool) -> bool {
    let is_accepted = check(body, reads);
    let (mut read, mut written) = ([reads, false], [false; 2]);
    accesses(body, &mut read, &mut written);
    if !exchanges(body) {
        let is_right = (0..2).all(|array| !(read[array] && written[array]));
        assert_eq!(is_accepted, is_right, "{body:?}, condition reads: {reads}");
    }
    is_accepted
}

fn statements() -> Vec<Statement> {
    let of = |name: Name| [Write(name), Add(name), WriteSum(name), Read(name), ReadAndWrite(name)];
    of(A).into_iter().chain(of(B)).chain([Assign, Swap, WriteCopy, AddToCopy]).collect()
}

/// Statements, and loops of one and two of them.
fn nested() -> Vec<Statement> {
    let simple = statements();
    let single = simple.iter().map(|inner| Repeat(vec![inner.clone()]));
    let pair = |first: &Statement| {
        let first = first.clone();
        [Write(A), Read(A), Swap].map(|second| Repeat(vec![first.clone(), second]))
    };
    simple.iter().cloned().chain(single).chain(simple.iter().flat_map(pair)).collect()
}

#[test]
fn every_program_of_two_statements_and_loops_is_rejected_or_right() {
    for device in tested_devices::all() {
        with_device(device, || {
            // Generated code is compared for the programs without a loop in the loop.
            let all = if device == Device::Interpreter { nested() } else { statements() };
            let mut accepted = 0;
            for first in &all {
                for reads in [false, true] {
                    accepted += usize::from(check_program(std::slice::from_ref(first), reads));
                    for second in &all {
                        accepted += usize::from(check_program(&[first.clone(), second.clone()], reads));
                    }
                }
            }
            assert!(accepted > all.len() * all.len() / 4, "{accepted} programs are accepted");
        });
    }
}

#[test]
fn every_program_of_three_statements_is_rejected_or_right() {
    with_device(Device::Interpreter, || {
        let all = statements();
        for (first, second) in all.iter().flat_map(|first| all.iter().map(move |second| (first, second))) {
            for third in &all {
                check_program(&[first.clone(), second.clone(), third.clone()], false);
                check_program(&[first.clone(), Repeat(vec![second.clone(), third.clone()])], false);
            }
        }
    });
}
