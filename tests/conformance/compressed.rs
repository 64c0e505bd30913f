//! Loops whose finished lanes exit the launches, and that write to other places than arrays of their lanes.

use jit::prelude::*;

use crate::modes::modes;
use crate::{noise, resident};

/// Numbers below a bound, that are the same in every run.
fn below(bound: u32, count: usize, seed: u32) -> UInt {
    UInt::from(noise(count, seed).into_iter().map(|x| x % bound).collect::<Vec<_>>())
}

modes! {
    // Sums, an atomic operation whose result decides, and elements that a single lane writes.
    fn writing(start: &UInt, sums: &mut UInt, tickets: &mut UInt, trace: &mut UInt) -> (UInt, UInt) {
        { let (mut left, mut step, mut seen) = (start.clone(), UInt::from(0), UInt::from(0));
            let lane = UInt::arange(start.width()); }
        while (&left > 0) {
            sums.scatter_add(&left, &(&left % 8));
            let ticket = tickets.scatter_inc(&(&lane % 5));
            seen = seen + (ticket + 1).min(1);
            trace.scatter(&left, &(&lane * 4 + &step % 4));
            left = &left - 1 - &step % 2;
            left = (&left < start).select(&left, &UInt::from(0));
            step += 1;
        }
        { (left, seen) }
    }

    // A table per lane, read and written at its own indices, together with arrays.
    fn with_memory(start: &UInt, sums: &mut UInt) -> (UInt, UInt) {
        {
            let (mut left, mut total) = (start.clone(), UInt::from(0));
            let mut table = Local::<u32>::new(5);
            table[UInt::from(2)] = start.clone();
        }
        while (&left > 0) {
            let digit = &left % 5;
            let before = table[&digit];
            total = &total * 3 + &before;
            table[&digit] = &before + &left;
            sums.scatter_add(&total, &(&before % 4));
            left /= 3;
        }
        {
            let at = |index: u32| table.read(&UInt::from(index));
            (total, at(0) + at(1) * 2 + at(2) * 3 + at(3) * 5 + at(4) * 7)
        }
    }
}

/// The written values are read in the next iteration.
macro_rules! reading {
    ($($name:ident [$($attribute:tt)*])*) => {$(
        #[jit]
        fn $name(start: &UInt, marks: &mut UInt) -> (UInt, UInt) {
            let (mut left, mut sum) = (start.clone(), UInt::from(1));
            let lane = UInt::arange(start.width());
            $($attribute)*
            while &left > 0 {
                sum = &sum + marks.gather(&(&lane + 1));
                marks.scatter(&sum, &lane);
                left -= 1;
            }
            (left, sum)
        }
    )*};
}

reading! {
    reading_all [#[evaluated]]
    reading_few [#[evaluated] #[compress]]
}

#[test]
fn lanes_that_exit_have_written_what_they_would() {
    let mut all = Vec::new();
    for device in crate::tested_devices::all() {
        for run in [writing::symbolic, writing::evaluated, writing::compressed] {
            all.push(jit::with_device(device, || {
                let start = below(60, 700, 5);
                let (mut sums, mut tickets) = (resident([0_u32; 8]), resident([0_u32; 5]));
                let mut trace = UInt::zeros(2800);
                let (left, seen) = run(&start, &mut sums, &mut tickets, &mut trace);
                [left, seen, sums, tickets, trace].map(|array| array.to_vec().unwrap())
            }));
        }
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(all[0][2].iter().all(|&sum| sum > 0) && all[0][4].iter().any(|&left| left > 0));
}

#[test]
fn per_lane_memory_continues_with_the_lanes_that_remain() {
    let mut all = Vec::new();
    for device in crate::tested_devices::all() {
        for run in [with_memory::symbolic, with_memory::evaluated, with_memory::compressed] {
            all.push(jit::with_device(device, || {
                let start = below(2000, 900, 3);
                let mut sums = resident([0_u32; 4]);
                let (total, table) = run(&start, &mut sums);
                [total, table, sums].map(|array| array.to_vec().unwrap())
            }));
        }
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(all[0].iter().all(|array| array.iter().any(|&x| x > 1)));
}

#[test]
fn remaining_lanes_read_what_other_lanes_have_written() {
    let mut all = Vec::new();
    for device in crate::tested_devices::all() {
        for run in [reading_all, reading_few] {
            all.push(jit::with_device(device, || {
                let start = below(20, 300, 11);
                let mut marks = UInt::zeros(301);
                let (left, sum) = run(&start, &mut marks);
                [left, sum, marks].map(|array| array.to_vec().unwrap())
            }));
        }
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(all[0][1].iter().any(|&sum| sum > 2));
}
