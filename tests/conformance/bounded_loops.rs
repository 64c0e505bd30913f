//! `#[max_iterations(n)]`: more iterations are an error, wherever the loop is and however it runs.

use jit::prelude::*;
use jit::{Error, ErrorKind};

use crate::{message_of, on_each_device, resident};

/// The line of this file after the first one that contains a text.
fn line_of(text: &str) -> u32 {
    let lines = include_str!("bounded_loops.rs").lines();
    lines.zip(2..).find(|(line, _)| line.contains(text)).unwrap().1
}

/// Checks that reading an array returns the error of a lane that makes more iterations than permitted.
#[track_caller]
fn assert_bounded<T: jit::Element>(array: &Array<T>, lane: u32, limit: u32, line: u32) {
    let error: Error = array.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    let what = format!("lane {lane} runs more than the {limit} iterations");
    assert!(error.to_string().contains(&what), "`{what}` is not in: {error}");
    assert_eq!(error.site().map(|site| site.line()), Some(line), "{error}");
}

#[jit]
fn halvings(n: &UInt) -> UInt {
    let (mut n, mut count) = (n.clone(), UInt::from(0));
    #[max_iterations(5)] // halvings
    while n > 1 {
        n /= 2;
        count += 1;
    }
    count
}

#[jit]
fn never_read(n: &UInt) -> UInt {
    let mut n = n.clone();
    #[max_iterations(5)]
    while n > 1 {
        n /= 2;
    }
    n
}

#[test]
fn a_recorded_loop_stops_at_its_bound_with_an_error() {
    on_each_device(|| {
        let line = line_of("// halvings");
        assert_eq!(halvings(&resident([1, 2, 32, 63])).to_vec().unwrap(), [0, 1, 5, 5]);
        assert_bounded(&halvings(&resident([1, 64, 2, 999])), 1, 5, line);
        // A lane that would never finish, and loops that are uniform or wide.
        assert_bounded(&halvings(&UInt::opaque(64)), 0, 5, line);
        assert_eq!(halvings(&UInt::opaque(63)).item().unwrap(), 5);
        let wide = UInt::arange(100_000) / 1000;
        assert_bounded(&halvings(&wide), 64_000, 5, line);
        assert_eq!(halvings(&(wide % 64)).sum().item().unwrap(), halvings_of_the_host());
        // An error in values that are never read is not reported.
        drop(never_read(&resident([64])));
        // Failures of launches that other tests have queued are reported here, too.
        while let Err(error) = jit::sync() {
            assert!(!error.to_string().contains("`never_read`"), "{error}");
        }
    });
}

fn halvings_of_the_host() -> u32 {
    (0..100_000_u32).map(|lane| (lane / 1000 % 64).max(1).ilog2()).sum()
}

#[jit]
fn never_done(x: &Float) -> Float {
    let mut x = x.clone();
    #[max_iterations(1000)] // never done
    while x > 0.0 {
        x += 1.0;
    }
    x
}

#[jit]
fn left_by_exits(x: &UInt, enough: u32) -> UInt {
    let mut x = x.clone();
    #[max_iterations(10)] // left by exits
    loop {
        if x >= enough {
            break;
        }
        if x == 7 {
            return x * 100;
        }
        x += 1;
    }
    x
}

#[jit]
fn counted(n: &UInt) -> UInt {
    let mut sum = UInt::from(0);
    #[max_iterations(4)] // counted
    for i in (0..n).rev() {
        sum += i + 1;
    }
    sum
}

#[jit]
fn symbolic(n: usize) -> UInt {
    let mut sum = UInt::from(0);
    #[symbolic]
    #[max_iterations(4)] // symbolic
    for i in 0..n {
        sum += i + 1;
    }
    sum
}

#[test]
fn every_kind_of_recorded_loop_has_its_bound() {
    on_each_device(|| {
        assert_bounded(&never_done(&resident([-1.0, 0.5])), 1, 1000, line_of("// never done"));
        assert_eq!(left_by_exits(&resident([2, 6, 30]), 12).to_vec().unwrap(), [700, 700, 30]);
        assert_eq!(left_by_exits(&resident([8, 10]), 17).to_vec().unwrap(), [17, 17]);
        assert_bounded(&left_by_exits(&resident([12, 8]), 20), 1, 10, line_of("// left by exits"));
        assert_eq!(counted(&resident([4, 0, 3])).to_vec().unwrap(), [10, 0, 6]);
        assert_bounded(&counted(&resident([4, 0, 5])), 2, 4, line_of("// counted"));
        assert_eq!(symbolic(4).item().unwrap(), 10);
        assert_bounded(&symbolic(5), 0, 4, line_of("// symbolic"));
    });
}

#[jit]
fn nested(rows: &UInt, columns: &UInt) -> UInt {
    let (mut row, mut cells) = (UInt::from(0), UInt::from(0));
    #[max_iterations(3)] // rows
    while row < rows {
        let mut column = UInt::from(0);
        #[max_iterations(2)] // columns
        while column < columns + row {
            column += 1;
            cells += 1;
        }
        row += 1;
    }
    cells
}

#[jit]
fn in_an_arm(x: &UInt) -> UInt {
    let mut x = x.clone();
    if x > 10 {
        #[max_iterations(2)] // in an arm
        while x > 10 {
            x -= 10;
        }
    } else {
        x *= 2;
    }
    x
}

#[jit]
fn first_target(x: UInt) -> UInt {
    let mut x = x;
    #[max_iterations(3)] // in a target
    while x < 100 {
        x *= 2;
    }
    x
}

#[jit]
fn second_target(x: UInt) -> UInt {
    x + 1
}

#[jit]
fn writes(x: &UInt, target: &mut UInt) {
    let mut at = x.clone();
    #[max_iterations(2)] // writes
    while at < 3 {
        target[&at] += 1;
        at += 1;
    }
}

#[test]
fn bounds_hold_inside_of_loops_branches_and_calls() {
    on_each_device(|| {
        assert_eq!(nested(&resident([1, 2]), &resident([2, 1])).to_vec().unwrap(), [2, 3]);
        assert_bounded(&nested(&resident([1, 2]), &resident([2, 2])), 1, 2, line_of("// columns"));
        // Both loops exceed their limits; the first line in the file is named.
        assert_bounded(&nested(&resident([4, 2]), &UInt::from(0)), 0, 3, line_of("// rows"));
        assert_eq!(in_an_arm(&resident([30, 4, 11])).to_vec().unwrap(), [10, 8, 1]);
        assert_bounded(&in_an_arm(&resident([30, 4, 31])), 2, 2, line_of("// in an arm"));
        let targets = [first_target as fn(UInt) -> UInt, second_target];
        let call = |which: [u32; 3], x: [u32; 3]| jit::switch(resident(which), &targets, (resident(x),));
        assert_eq!(call([1, 0, 1], [3, 20, 5]).to_vec().unwrap(), [4, 160, 6]);
        assert_bounded(&call([1, 1, 0], [3, 20, 5]), 2, 3, line_of("// in a target"));
        let mut target = UInt::zeros(3);
        writes(&resident([1, 2]), &mut target);
        assert_eq!(target.to_vec().unwrap(), [0, 1, 2]);
        writes(&resident([1, 0]), &mut target);
        assert_bounded(&target, 1, 2, line_of("// writes"));
    });
}

#[freeze]
fn frozen(n: &UInt) -> UInt {
    halvings(n) * 10 + 1
}

#[freeze]
fn frozen_steps(n: &UInt) -> (UInt, UInt) {
    let before = n.prefix_sum();
    (halvings(n).reverse().prefix_sum(), before)
}

/// Checks that a call of a frozen function, or its result, is the error of a lane that makes too many iterations. If
/// the launches of a replay run at once, the call itself fails.
#[track_caller]
fn assert_call_bounded(call: impl FnOnce() -> UInt, lane: u32) {
    let message = message_of(|| call().to_vec().unwrap());
    assert!(message.contains(&format!("lane {lane} runs more than the 5 iterations")), "{message}");
}

#[test]
fn replays_of_frozen_functions_keep_the_bound() {
    on_each_device(|| {
        for round in 0..3 {
            for (n, wanted) in [(vec![1_u32, 2, 32], [1, 11, 51]), (vec![63, 0, 8], [51, 1, 31])] {
                assert_eq!(frozen(&UInt::from(n)).to_vec().unwrap(), wanted, "round {round}");
            }
            assert_call_bounded(|| frozen(&UInt::from([1, 2, 64])), 2);
            assert_call_bounded(|| frozen(&UInt::from([999, 2, 64])), 0);
            let (counts, sums) = frozen_steps(&UInt::from([4, 9, 16, 2]));
            assert_eq!(counts.to_vec().unwrap(), [1, 5, 8, 10]);
            assert_eq!(sums.to_vec().unwrap(), [4, 13, 29, 31]);
            assert_call_bounded(|| frozen_steps(&UInt::from([4, 9, 160, 2])).0, 2);
        }
    });
    // One recording on each device; failed calls may not be counted.
    assert_eq!(frozen::stats().recordings, 2, "{:?}", frozen::explain());
    assert!(frozen::stats().replays >= 10, "{:?}", frozen::stats());
    assert!(frozen_steps::stats().replays >= 2, "{:?}", frozen_steps::stats());
}

#[jit]
fn of_the_host(count: u32) -> u32 {
    let mut made = 0;
    #[max_iterations(3)] // of the host
    while made < count {
        made += 1;
    }
    let mut list = vec![0; 3];
    #[max_iterations(3)]
    while list.pop().is_some() {}
    #[max_iterations(4)]
    loop {
        if made == count {
            break;
        }
        made += 1;
    }
    made
}

#[test]
fn loops_of_the_host_have_their_bound() {
    assert_eq!(of_the_host(3), 3);
    let message = message_of(|| of_the_host(4));
    assert!(message.contains("more than the 3 iterations that `#[max_iterations]` allows"), "{message}");
    assert!(message.contains(&format!("bounded_loops.rs:{}", line_of("// of the host") - 1)), "{message}");
}
