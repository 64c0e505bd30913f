//! `jit::print!`: what is printed by lanes, when, and how often.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

use jit::prelude::*;

/// The sink belongs to the process, so these tests run one after another.
static TURN: Mutex<()> = Mutex::new(());

/// The text printed since, and the lock.
struct Printed(Arc<Mutex<String>>, #[expect(dead_code, reason = "held for its lock")] MutexGuard<'static, ()>);

impl Printed {
    fn begin() -> Printed {
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = Arc::new(Mutex::new(String::new()));
        let taken = Arc::clone(&text);
        jit::print::set_sink(Some(Box::new(move |text| taken.lock().unwrap().push_str(text))));
        Printed(text, turn)
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        jit::print::set_sink(None);
    }
}

fn on_each_device(test: impl Fn(&Printed)) {
    let printed = Printed::begin();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || test(&printed));
        assert_eq!(printed.take(), "", "nothing is left");
    }
}

#[test]
fn lanes_print_with_the_next_evaluation_once() {
    on_each_device(|printed| {
        let x = Float::from([1.5, -2.0, 0.25]).make_opaque();
        let y = &x * 2.0;
        jit::print!("x = {x}, y = {:>7.2}|{0:?}", y);
        assert_eq!(printed.take(), "", "recording prints nothing");
        let sum = y.sum();
        assert_eq!(sum.item().unwrap(), -0.5);
        let text =
            "lane 0: x = 1.5, y =    3.00|3.0\nlane 1: x = -2, y =   -4.00|-4.0\nlane 2: x = 0.25, y =    0.50|0.5\n";
        assert_eq!(printed.take(), text);
        assert_eq!(y.to_vec().unwrap(), [3.0, -4.0, 0.5]);
        jit::sync().unwrap();
    });
}

#[test]
fn any_evaluation_of_the_thread_prints() {
    on_each_device(|printed| {
        let x = UInt::opaque(7);
        jit::print!("{x:#06x}");
        jit::sync().unwrap();
        assert_eq!(printed.take(), "0x0007\n");
        jit::print!("{}", &x + 1);
        assert_eq!(UInt::from(3).item().unwrap(), 3, "the elements of a literal are read");
        assert_eq!(printed.take(), "8\n");
        jit::print!("{} {}", x, "text");
        let other = Int::from([1, 2]).make_opaque();
        jit::eval(&other).unwrap();
        assert_eq!(printed.take(), "7 text\n");
        jit::print!("nothing but text, and {}", 12);
        jit::eval(&other).unwrap();
        assert_eq!(printed.take(), "nothing but text, and 12\n");
    });
}

#[test]
fn several_print_in_their_order() {
    on_each_device(|printed| {
        let (wide, narrow) = (UInt::arange(3).make_opaque(), UInt::opaque(5));
        jit::print!("a {wide}");
        jit::print!("b {}", wide.sum());
        jit::print!("c {narrow}");
        jit::print!("d {}", wide.gather(&UInt::from([2, 0])));
        jit::sync().unwrap();
        let text = "lane 0: a 0\nlane 1: a 1\nlane 2: a 2\nb 3\nc 5\nlane 0: d 2\nlane 1: d 0\n";
        assert_eq!(printed.take(), text);
    });
}

#[jit]
fn halve(x: &mut UInt) -> UInt {
    let mut count = UInt::from(0);
    while *x > 1 {
        if *x % 2 == 0 {
            jit::print!("{x} is even");
            *x /= 2;
        } else {
            *x -= 1;
            if *x == 4 {
                jit::print!("four after {} steps", count + 1);
            }
        }
        count += 1;
    }
    count
}

// rows: K37
#[test]
fn lanes_print_in_the_iterations_and_branches_that_they_take() {
    on_each_device(|printed| {
        let mut x = UInt::from([5, 1, 2]).make_opaque();
        let count = halve(&mut x);
        assert_eq!(count.to_vec().unwrap(), [3, 0, 1]);
        let text = "lane 0: 4 is even\nlane 0: 2 is even\nlane 2: 2 is even\nlane 0: four after 1 steps\n";
        assert_eq!(printed.take(), text);
        // The results of the loop were computed together.
        assert_eq!(x.to_vec().unwrap(), [1, 1, 1]);
    });
}

#[jit]
fn is_open(step: &UInt, limit: &UInt) -> Mask {
    jit::print!("{step} of {limit}");
    step < limit
}

#[jit]
fn count_to(limit: &UInt, rows: &UInt) -> UInt {
    let (mut total, mut row) = (UInt::from(0), UInt::from(0));
    while row < rows {
        let mut step = UInt::from(0);
        while is_open(&step, limit) {
            step += 1;
        }
        total += step;
        row += 1;
    }
    total
}

#[test]
fn conditions_of_loops_print_once_more_than_their_bodies() {
    on_each_device(|printed| {
        let total = count_to(&UInt::from([1, 2]).make_opaque(), &UInt::from([2, 1]).make_opaque());
        assert_eq!(total.to_vec().unwrap(), [2, 2]);
        let text = "lane 0: 0 of 1\nlane 0: 1 of 1\nlane 0: 0 of 1\nlane 0: 1 of 1\n\
                    lane 1: 0 of 2\nlane 1: 1 of 2\nlane 1: 2 of 2\n";
        assert_eq!(printed.take(), text);
    });
}

#[jit]
fn narrow_in_wide(x: &UInt) -> UInt {
    let (mut n, mut step) = (x.clone(), UInt::from(0));
    let fixed = UInt::opaque(9);
    while step < 2 {
        jit::print!("step {step} {}", fixed);
        n += 1;
        step += 1;
    }
    n
}

#[test]
fn a_loop_prints_once_what_is_the_same_for_all_lanes() {
    on_each_device(|printed| {
        let n = narrow_in_wide(&UInt::from([4, 5]).make_opaque());
        assert_eq!(n.to_vec().unwrap(), [6, 7]);
        assert_eq!(printed.take(), "lane 0: step 0 9\nlane 0: step 1 9\n");
    });
}

#[test]
fn lines_beyond_the_limit_are_counted() {
    on_each_device(|printed| {
        let lanes = 100_000;
        let x = (UInt::arange(lanes) ^ UInt::opaque(0)) * 3;
        jit::print!("{x}", limit = 2);
        jit::print!("{x}");
        jit::sync().unwrap();
        let text = printed.take();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3 + 21);
        assert_eq!(lines[2], "… and 99998 more");
        assert_eq!(lines[23], "… and 99980 more");
        assert!(lines[3].starts_with("lane "), "{text}");
    });
}

#[test]
fn values_of_parts_are_printed_as_lists() {
    on_each_device(|printed| {
        let v = jit::linalg::Vec3::from([Float::from([1.0, 2.0]).make_opaque(), Float::from(0.5), Float::opaque(-1.0)]);
        jit::print!("{v:.1} {:?} {:5}|", (Mask::from([true, false]).make_opaque(), "a"), true);
        jit::sync().unwrap();
        assert_eq!(
            printed.take(),
            "lane 0: [1.0, 0.5, -1.0] [true, \"a\"] true |\nlane 1: [2.0, 0.5, -1.0] [false, \"a\"] true |\n"
        );
    });
}

#[jit]
fn print_until(x: &UInt, stop: usize) -> UInt {
    let (mut n, mut step) = (x.clone(), UInt::from(0));
    jit::print!("before {x}");
    while step < 2 {
        jit::print!("inside {step}");
        if n > 3 {
            jit::print!("branch {n}");
            assert!(stop != 0, "stopped in the branch");
            n += 1;
        }
        assert!(stop != 1, "stopped in the loop");
        step += 1;
    }
    n
}

#[test]
fn aborted_regions_print_nothing() {
    on_each_device(|printed| {
        let x = UInt::opaque(4);
        for stop in 0..2 {
            let panic = catch_unwind(AssertUnwindSafe(|| print_until(&x, stop))).unwrap_err();
            let wanted = ["stopped in the branch", "stopped in the loop"][stop];
            assert_eq!(panic.downcast_ref::<&str>(), Some(&wanted));
            jit::sync().unwrap();
            assert_eq!(printed.take(), "before 4\n");
        }
        assert_eq!(print_until(&x, 2).item().unwrap(), 6);
        assert_eq!(
            printed.take(),
            "before 4\nlane 0: inside 0\nlane 0: inside 1\nlane 0: branch 4\nlane 0: branch 5\n"
        );
    });
}

#[test]
fn values_that_cannot_be_evaluated_print_nothing() {
    on_each_device(|printed| {
        jit::print!("{}", UInt::placeholder(3));
        jit::print!("{}", UInt::opaque(1));
        assert_eq!(jit::sync().unwrap_err().kind(), jit::ErrorKind::NotEvaluated);
        assert_eq!(printed.take(), "");
        jit::sync().unwrap();
        assert_eq!(printed.take(), "1\n");
    });
}

#[test]
fn threads_print_for_themselves() {
    on_each_device(|printed| {
        let device = jit::Array::<u32>::from(1).device();
        jit::print!("here");
        let other = std::thread::spawn(move || {
            jit::with_device(device, || {
                jit::print!("there");
                jit::sync().unwrap();
            });
        });
        other.join().unwrap();
        assert_eq!(printed.take(), "there\n");
        jit::sync().unwrap();
        assert_eq!(printed.take(), "here\n");
    });
}

#[test]
fn targets_of_calls_print_on_their_lanes() {
    on_each_device(|printed| {
        let functions: [fn(UInt) -> UInt; 2] = [
            |x| {
                jit::print!("first {x}");
                x + 1
            },
            |x| {
                jit::print!("second {x}");
                x * 2
            },
        ];
        let y = jit::switch(UInt::from([1, 0, 1, 9]), &functions, (UInt::from([5, 6, 7, 8]).make_opaque(),));
        assert_eq!(y.to_vec().unwrap(), [10, 7, 14, 0]);
        assert_eq!(printed.take(), "lane 1: first 6\nlane 0: second 5\nlane 2: second 7\n");
    });
}

#[jit]
fn find(x: &UInt) -> UInt {
    let mut n = UInt::from(0);
    while n < 10 {
        if n == *x {
            jit::print!("found {n}");
            break;
        }
        n += 1;
        if n > 8 {
            jit::print!("still looking at {n}");
        }
    }
    n
}

#[test]
fn lanes_that_exit_a_loop_print_no_more() {
    on_each_device(|printed| {
        let n = find(&UInt::from([2, 0, 9, 77]).make_opaque());
        assert_eq!(n.to_vec().unwrap(), [2, 0, 9, 10]);
        let text = "lane 0: found 2\nlane 1: found 0\nlane 2: found 9\n\
                    lane 2: still looking at 9\nlane 3: still looking at 9\nlane 3: still looking at 10\n";
        assert_eq!(printed.take(), text);
    });
}

#[jit]
fn halve_aloud(start: &Float) -> Float {
    let mut x = start.clone();
    #[evaluated]
    #[compress]
    while x > 1.0 {
        x /= 2.0;
        jit::print!("at {x}");
    }
    x
}

#[test]
fn lanes_that_remain_print_under_their_own_numbers() {
    on_each_device(|printed| {
        let end = halve_aloud(&Float::from([1.0, 2.0, 8.0, 0.5, 3.0]));
        assert_eq!(end.to_vec().unwrap(), [1.0, 1.0, 1.0, 0.5, 0.75]);
        let mut lines: Vec<String> = printed.take().lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(
            lines,
            ["lane 1: at 1", "lane 2: at 1", "lane 2: at 2", "lane 2: at 4", "lane 4: at 0.75", "lane 4: at 1.5"]
        );
    });
}
