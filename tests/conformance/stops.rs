//! A program that is stopped at any of its operations leaves the rest of the state unchanged.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jit::prelude::*;

use crate::stopping::{LEFT, Stopped, is_stopped, tick};
use crate::{on_each_device, resident};

/// These tests read the output and the memory of the process, so they run one after another.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn may_stop(value: &Float) -> Result<Float, Stopped> {
    let left = LEFT.get() - 1;
    LEFT.set(left);
    if left == 0 { Err(Stopped) } else { Ok(value.clone()) }
}

#[jit]
fn inner(at: &UInt, table: &mut UInt, rows: &UInt) -> UInt {
    tick();
    let (mut total, mut row) = (UInt::from(0), UInt::from(0));
    while row < *rows {
        tick();
        if *at % 2 == row % 2 {
            table.scatter_add(&row + 1, at);
            tick();
            jit::print!("row {row} of {rows}");
            total += row * row + 3;
        } else {
            tick();
            total += at.clone();
        }
        row += 1;
        tick();
    }
    tick();
    total
}

#[jit]
fn program(x: &Float, at: &UInt, mut table: UInt) -> Result<(Float, UInt, UInt), Stopped> {
    let mut y = x.clone();
    let mut counts = UInt::from(0);
    for round in 0..10_u32 {
        tick();
        jit::print!("round {round}");
        y = may_stop(&y)? * 1.5 + 0.25;
        tick();
        if y > 3.0 {
            tick();
            y = y.sqrt();
            if *at != 1 {
                tick();
                table.scatter(round, at);
                tick();
            }
            debug_assert!(y < 100.0, "too large: {y}");
            counts += 1;
            tick();
        } else if y < 1.0 {
            tick();
            y = jit::fast_math(|| {
                tick();
                y.exp()
            });
        }
        tick();
        let mut steps = UInt::from(0);
        while steps < 2 && y < 50.0 {
            tick();
            counts += inner(at, &mut table, &(&steps + 1));
            #[label("step")]
            if counts % 3 == 0 {
                tick();
                y += 0.5;
            }
            steps += 1;
            tick();
        }
        tick();
        let sum = y.sum();
        y = may_stop(&y)? / (sum + 1.0);
        tick();
    }
    Ok((y, counts, table))
}

struct World {
    x: Float,
    at: UInt,
    table: UInt,
}

impl World {
    fn new() -> World {
        World { x: resident([0.25, 2.0, 9.0, 4.5]), at: resident([0_u32, 1, 2, 1]), table: resident([1_u32, 2, 3, 4]) }
    }

    /// Runs the program up to a number of operations. Returns the elements of its results if it reaches its end.
    fn run(&self, operations: u32) -> Option<(Vec<u32>, Vec<u32>, Vec<u32>)> {
        LEFT.set(operations);
        let outcome = catch_unwind(AssertUnwindSafe(|| program(&self.x, &self.at, self.table.clone())));
        let (y, counts, table) = match outcome {
            Ok(outcome) => outcome.ok()?,
            Err(payload) if payload.is::<Stopped>() => return None,
            Err(payload) => resume_unwind(payload),
        };
        jit::eval(&(&y, &counts, &table)).unwrap();
        let bits = y.to_vec().unwrap().iter().map(|y| y.to_bits()).collect();
        Some((bits, counts.to_vec().unwrap(), table.to_vec().unwrap()))
    }

    fn check(&self) {
        assert_eq!(self.x.to_vec().unwrap(), [0.25, 2.0, 9.0, 4.5]);
        assert_eq!(self.at.to_vec().unwrap(), [0, 1, 2, 1]);
        assert_eq!(self.table.to_vec().unwrap(), [1, 2, 3, 4]);
    }
}

/// The arrays that were made by lines of this file, without their numbers.
fn held() -> Vec<String> {
    let table = jit::whos();
    let rows = table.lines().filter(|row| row.contains("stops.rs"));
    let mut rows: Vec<String> =
        rows.map(|row| row.trim_start().split_once(' ').map_or("", |(_, row)| row).into()).collect();
    rows.sort();
    rows
}

// rows: C009 C010 C049 K14 O51 O52
#[test]
fn a_program_that_is_stopped_anywhere_leaves_everything_as_it_was() {
    let _turn = turn();
    let printed = Arc::new(Mutex::new(String::new()));
    let taken = Arc::clone(&printed);
    let take = || std::mem::take(&mut *printed.lock().unwrap());
    jit::print::set_sink(Some(Box::new(move |text| taken.lock().unwrap().push_str(text))));
    on_each_device(|| {
        let world = World::new();
        let expected = world.run(u32::MAX).unwrap();
        let operations = u32::MAX - LEFT.get();
        assert!(operations > 200, "{operations} operations");
        let all = take();
        assert!(all.contains("row 1 of 2"), "{all}");
        let (before, exact) = (held(), world.x.sin().to_vec().unwrap());
        for stop in 1..=operations {
            assert!(world.run(stop).is_none(), "stopped at {stop}");
            // Completed statements print as they would have.
            jit::sync().unwrap();
            let text = take();
            assert!(all.starts_with(&text), "stopped at {stop}: {text}");
            assert_eq!(held(), before, "stopped at {stop}");
            assert_eq!(world.x.sin().to_vec().unwrap(), exact, "stopped at {stop}");
            if stop % 16 == 0 {
                assert_eq!(world.run(u32::MAX).as_ref(), Some(&expected), "stopped at {stop}");
                assert_eq!(take(), all, "stopped at {stop}");
            }
        }
        world.check();
        // The array has no other owner, so it is written in place.
        let mut table = world.table;
        let address = table.view().unwrap().as_ptr();
        table.scatter(9, &UInt::from([0]));
        assert_eq!(table.to_vec().unwrap(), [9, 2, 3, 4]);
        assert_eq!(table.view().unwrap().as_ptr(), address);
    });
    jit::print::set_sink(None);
}

#[test]
fn threads_that_stop_do_not_disturb_others() {
    let _turn = turn();
    jit::print::set_sink(Some(Box::new(|_| {})));
    let world = World::new();
    let expected = world.run(u32::MAX).unwrap();
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (world, expected) = (&world, &expected);
            scope.spawn(move || {
                for stop in (1 + first..160).step_by(16) {
                    assert!(world.run(stop).is_none());
                    if first == 0 {
                        assert_eq!(world.run(u32::MAX).as_ref(), Some(expected));
                    }
                }
            });
        }
    });
    world.check();
    jit::print::set_sink(None);
}

#[test]
fn a_panic_leaves_the_device_as_it_was() {
    let before = Float::from(1.0).device();
    let outcome = catch_unwind(|| jit::with_device(Device::Interpreter, || resume_unwind(Box::new(Stopped))));
    assert!(outcome.is_err_and(|payload: Box<dyn std::any::Any + Send>| payload.is::<Stopped>()));
    assert_eq!(Float::from(1.0).device(), before);
}

#[jit]
fn write_and_stop(target: &mut UInt, mask: &Mask) {
    if *mask {
        target.scatter(7, &UInt::from([1]));
        tick();
    }
}

#[jit]
fn write_in_a_loop(target: &mut UInt, at: &mut UInt) {
    while *at < 2 {
        tick();
        target.scatter_add(1, &*at);
        tick();
        *at += 1;
        tick();
    }
}

// rows: O53
#[test]
fn arrays_that_were_being_written_have_their_elements_from_before() {
    let _turn = turn();
    on_each_device(|| {
        for literal in [true, false] {
            let (mut target, mut at) = match literal {
                true => (UInt::zeros(3), UInt::from(0)),
                false => (resident([0, 0, 0]), UInt::opaque(0)),
            };
            for stop in 1..4 {
                LEFT.set(stop);
                assert!(is_stopped(|| write_in_a_loop(&mut target, &mut at)));
                // An assigned variable has the assigned value, computed from the state before the loop.
                let assigned = u32::from(stop == 3);
                assert_eq!((target.to_vec().unwrap(), at.to_vec().unwrap()), (vec![0, 0, 0], vec![assigned]), "{stop}");
                at -= assigned;
            }
            LEFT.set(u32::MAX);
            write_in_a_loop(&mut target, &mut at);
            assert_eq!((target.to_vec().unwrap(), at.to_vec().unwrap()), (vec![1, 1, 0], vec![2]));
        }
        let (mut target, mask) = (resident([1_u32, 2]), resident([true, false]));
        LEFT.set(1);
        assert!(is_stopped(|| write_and_stop(&mut target, &mask)));
        assert_eq!(target.to_vec().unwrap(), [1, 2]);
        assert_eq!((&target + 1).to_vec().unwrap(), [2, 3]);
        let clone = target.clone();
        target.scatter(5, &UInt::from([0]));
        assert_eq!((target.to_vec().unwrap(), clone.to_vec().unwrap()), (vec![5, 2], vec![1, 2]));
    });
}

#[test]
fn an_array_that_was_not_computed_before_it_was_written_is_computed_when_it_is_read() {
    let _turn = turn();
    on_each_device(|| {
        let (mut target, mask) = (resident([0_u32, 1]) + 1, resident([true, false]));
        let before = target.clone();
        LEFT.set(1);
        assert!(is_stopped(|| write_and_stop(&mut target, &mask)));
        assert!(!before.is_evaluated() && !target.is_evaluated());
        assert_eq!(target.to_vec().unwrap(), [1, 2]);
        assert_eq!(before.to_vec().unwrap(), [1, 2]);
        target = before.clone();
        LEFT.set(2);
        write_and_stop(&mut target, &mask);
        assert_eq!(target.to_vec().unwrap(), [1, 7]);
    });
}
