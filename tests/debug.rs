//! `JIT_DEBUG`: indices out of range are errors with lane, index, size and line.
//!
//! The setting is read once, so the tests that need it run in a separate process, which the only test that is not
//! ignored starts.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use std::process::Command;

use jit::prelude::*;

#[path = "shared/tested_devices.rs"]
mod tested_devices;

fn on_each_device(test: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

fn resident<T: jit::Element, const N: usize>(values: [T; N]) -> Array<T> {
    let array = Array::from(values);
    jit::eval(&array).unwrap();
    array
}

/// The first line of this file that contains a text.
fn line_of(text: &str) -> u32 {
    let lines = include_str!("debug.rs").lines();
    lines.zip(1..).find(|(line, _)| line.contains(text)).unwrap().1
}

/// Checks that reading the elements of an array returns an error with this message, which names the line.
#[track_caller]
fn assert_wrong<T: jit::Element>(array: &Array<T>, what: &str, line: u32) {
    let error = array.to_vec().unwrap_err();
    assert_eq!(error.kind(), jit::ErrorKind::Launch);
    assert!(error.to_string().contains(what), "`{what}` is not in: {error}");
    let site = error.site().unwrap();
    assert_eq!((site.file(), site.line()), (file!(), line), "{error}");
    assert!(error.hint().unwrap().contains("JIT_DEBUG"), "{error}");
}

// rows: K175
// one device: the tests in the process run on each
#[test]
fn indices_are_checked_if_requested() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // One after another: `sync` reports failures in any thread, so also those that another test has not read yet.
    command.args(["--ignored", "--test-threads=1"]).env("JIT_DEBUG", "on");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains(" 0 passed"), "{text}{errors}");
}

#[jit]
fn first_where(list: &Float, mask: &Mask) -> Float {
    if mask { list[UInt::arange(2)] } else { Float::from(-1.0) }
}

#[jit]
fn count_where(bins: &mut UInt, mask: &Mask) {
    if mask {
        bins[UInt::arange(2)] += 1;
    }
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn arrays_without_elements_are_checked_on_the_lanes_that_get_there() {
    on_each_device(|| {
        let (none, some) = (Mask::from([false, false]), Mask::from([false, true]));
        let list = Float::from(Vec::new());
        assert_eq!(first_where(&list, &none).to_vec().unwrap(), [-1.0, -1.0]);
        let what = "lane 1 gathers element 1 of an array of 0 f32 elements";
        assert_wrong(&first_where(&list, &some), what, line_of("if mask { list["));
        let mut bins = UInt::from(Vec::new());
        count_where(&mut bins, &none);
        jit::sync().unwrap();
        count_where(&mut bins, &some);
        let what = "lane 1 scatters to element 1 of an array of 0 u32 elements";
        assert_wrong(&bins, what, line_of("bins[UInt::arange(2)] += 1"));
    });
}

// rows: C167 C263
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn gathers_out_of_range_are_reported() {
    on_each_device(|| {
        let source = resident([1.5_f32, 2.5, 3.5, 4.5]);
        let (inside, line) = (source.gather(&UInt::from([3, 0])), line!());
        assert_eq!(inside.to_vec().unwrap(), [4.5, 1.5]);
        let outside = source.gather(&UInt::from([3, 0, 4, 9]));
        assert_wrong(&outside, "lane 2 gathers element 4 of an array of 4 f32 elements", line + 2);
        let outside = source.gather(&Int::from([3, -1, 0])) + 1.0;
        assert_wrong(&outside, "lane 1 gathers element -1 of an array of 4 f32 elements", line + 4);
        let outside = source.gather(&Int64::from([1 << 40]));
        assert_wrong(&outside, "lane 0 gathers element 2147483647, or one beyond that, of", line + 6);
        let masked = source.gather_masked(&UInt::from([1, 1000]), &Mask::from([true, false]));
        assert_eq!(masked.to_vec().unwrap(), [2.5, 0.0]);
        // An expression is not in memory, but has elements nevertheless.
        let outside = (UInt::arange(10) * 3).gather(&(UInt::arange(11)));
        assert_wrong(&outside, "lane 10 gathers element 10 of an array of 10 u32 elements", line + 11);
        // The others are unchanged.
        assert_eq!(source.to_vec().unwrap(), [1.5, 2.5, 3.5, 4.5]);
        assert_eq!(inside.to_vec().unwrap(), [4.5, 1.5]);
    });
}

/// Knowledge of the source or the index while recording makes no difference.
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn literal_indices_and_narrow_sources_are_checked_as_others() {
    on_each_device(|| {
        let (source, line) = (resident([1.5_f32, 2.5]), line!());
        assert_wrong(&source.gather(&Int::from(-1)), "lane 0 gathers element -1 of an array of 2", line + 1);
        let one = resident([7.5_f32]);
        assert_eq!(one.gather(&UInt::from([0, 0])).to_vec().unwrap(), [7.5, 7.5]);
        assert_wrong(&one.gather(&UInt::from([0, 5])), "lane 1 gathers element 5 of an array of 1", line + 4);
        assert_wrong(&Float::from(2.0).gather(&UInt::from(1)), "lane 0 gathers element 1 of an array of 1", line + 5);
        assert_wrong(&Float::full(2.0, 3).gather(&UInt::from([0, 3])), "lane 1 gathers element 3 of", line + 6);
        assert_wrong(&Float::zeros(0).gather(&UInt::from(0)), "lane 0 gathers element 0 of an array of 0", line + 7);
        let shared = jit::trees::gather(&(source.clone(), Float::opaque(3.0)), &UInt::from([1, 2])).1;
        assert_wrong(&shared, "lane 1 gathers element 2 of an array of 2", line + 8);
        let mut target = source.clone();
        target.scatter(2.5, &UInt::from(9));
        assert_wrong(&target, "lane 0 scatters to element 9 of an array of 2", line + 11);
        let mut memory = Local::<f32>::full(1.5, 2);
        assert_wrong(&memory.read(&UInt::from(2)), "lane 0 reads element 2 of a `Local` of 2", line + 14);
        memory.write(&Int::from(-3), 1.0);
        assert_wrong(&memory.read(&UInt::from(0)), "lane 0 writes element -3 of a `Local` of 2", line + 15);
    });
}

// rows: C168
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn scatters_out_of_range_are_reported() {
    on_each_device(|| {
        let before = resident([1_u32, 2, 3]);
        let line = line!();
        let mut target = before.clone();
        target.scatter(7, &UInt::from([0, 3]));
        assert_wrong(&target, "lane 1 scatters to element 3 of an array of 3 u32 elements", line + 2);
        let mut target = before.clone();
        target.scatter_add(7, &UInt8::from([2, 200, 201]));
        assert_wrong(&target, "lane 1 scatters to element 200 of an array of 3 u32 elements", line + 5);
        let mut target = before.clone();
        let place = target.scatter_inc(&Int::from([-5]));
        assert_wrong(&place, "lane 0 scatters to element -5", line + 8);
        assert_wrong(&target, "lane 0 scatters to element -5", line + 8);
        let mut target = before.clone();
        let (old, _) = target.scatter_cas_masked(1, 2, &UInt::from([0, 50]), &Mask::from([true, false]));
        assert_eq!((old.to_vec().unwrap(), target.to_vec().unwrap()), (vec![1, 0], vec![2, 2, 3]));
        // Arrays computed from an erroneous one are erroneous; its operands are not.
        let mut target = before.clone();
        target.scatter(7, &UInt::from([0, 3]));
        let _ = jit::eval(&target);
        assert_wrong(&(&target + 1), "lane 1 scatters to element 3", line + 16);
        target.scatter(7, &UInt::from([0]));
        assert_wrong(&target, "lane 1 scatters to element 3", line + 16);
        assert_eq!(before.to_vec().unwrap(), [1, 2, 3]);
    });
}

#[jit]
fn walk(start: &UInt, steps: u32, next: &UInt, visits: &mut UInt) -> UInt {
    let (mut at, mut step) = (start.clone(), UInt::from(0));
    while step < steps {
        visits.scatter_add(1, &at);
        if at != 0 {
            at = next.gather(&at);
        }
        step += 1;
    }
    at
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn loops_are_checked_in_each_iteration() {
    on_each_device(|| {
        let next = resident([77, 0, 1, 2, 9]);
        let mut visits = UInt::zeros(5);
        let end = walk(&UInt::from([3, 1, 0]), 4, &next, &mut visits);
        assert_eq!(end.to_vec().unwrap(), [0, 0, 0]);
        assert_eq!(visits.to_vec().unwrap(), [8, 2, 1, 1, 0]);
        let mut visits = UInt::zeros(5);
        // The scatter reaches element 9 one iteration before the gather does, in the same lane.
        let end = walk(&UInt::from([3, 4, 4]), 2, &next, &mut visits);
        let error = end.to_vec().unwrap_err().to_string();
        assert!(error.contains("lane 1 scatters to element 9 of an array of 5 u32 elements"), "{error}");
        assert!(visits.to_vec().is_err());
        assert_eq!(next.get(4).unwrap(), 9);
    });
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn long_launches_report_the_lowest_lane() {
    on_each_device(|| {
        let lanes = 3_000_000;
        let source = (UInt::arange(lanes) ^ UInt::opaque(0)).make_opaque();
        let wrong = UInt::arange(lanes) + UInt::opaque(5);
        let line = line!() + 1;
        let gathered = source.gather(&wrong);
        let sum = gathered.sum();
        assert_wrong(&sum, &format!("lane {} gathers element {lanes} of", lanes - 5), line);
        let mut bins = UInt::zeros(100);
        let line = line!() + 1;
        bins.scatter_add(1, &(&source % 100 + source.ge(1_234_567).select(&source, 0)));
        assert_wrong(&bins, "lane 1234567 scatters to element 1234634 of an array of 100 u32 elements", line);
        let sum = source.gather(&(UInt::arange(lanes) ^ 1)).cast::<u64>().sum();
        assert_eq!(sum.item().unwrap(), (lanes as u64 - 1) * lanes as u64 / 2);
    });
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn several_accesses_are_distinguished() {
    on_each_device(|| {
        let (a, b) = (resident([1, 2, 3]), resident([1_i32, 2]));
        let index = UInt::from([2, 1]);
        let (x, line) = (a.gather(&index), line!());
        let y = b.gather(&index);
        assert_wrong(&(x + y), "lane 0 gathers element 2 of an array of 2 i32 elements", line + 1);
        let values = jit::trees::gather(&(a.clone(), b.clone()), &index);
        assert_wrong(&values.1, "lane 0 gathers element 2 of an array of 2 i32 elements", line + 3);
        assert_eq!(a.gather(&index).to_vec().unwrap(), [3, 2]);
    });
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn packets_out_of_range_are_reported() {
    on_each_device(|| {
        let source = resident([1_u32, 2, 3, 4, 5, 6]);
        let (packet, line) = (source.gather_packet::<2>(&UInt::from([0, 2, 3])), line!());
        assert_wrong(&packet[1], "lane 2 gathers element 7 of an array of 6 u32 elements", line);
        // An index that would wrap into the array.
        let packet = source.gather_packet::<2>(&UInt::from([0, 1 << 31]));
        assert_wrong(&packet[0], "lane 1 gathers element 4294967295, or one beyond that, of an array of 6", line + 3);
        let mut target = source.clone();
        target.scatter_packet(&[UInt::from(1), UInt::from(2)], &Int::from([0, -1]));
        assert_wrong(&target, "lane 1 scatters to element -2 of an array of 6 u32 elements", line + 6);
    });
}

// rows: C314
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn a_failure_between_kernels_keeps_what_was_done_and_what_was_not() {
    on_each_device(|| {
        let mut target = resident([1_u32, 2, 3]);
        let other = resident([10_u32, 20]);
        // Two kernels, the second of which fails.
        target.scatter_add(5, &UInt::from([0, 0]));
        let (wrong, line) = (target.gather(&UInt::from([0, 3, 1])), line!());
        let fine = &other + 1;
        // Where launches are only queued, reading reports it.
        let error = jit::eval(&(&target, &wrong)).and_then(|()| wrong.to_vec().map(drop)).unwrap_err();
        assert!(error.to_string().contains("lane 1 gathers element 3 of an array of 3"), "{error}");
        assert_eq!(target.to_vec().unwrap(), [11, 2, 3], "it was added once");
        assert_wrong(&wrong, "lane 1 gathers element 3", line);
        // The first fails, so the second does not run; both report why.
        let before = target.clone();
        target.scatter(7, &UInt::from([1, 5]));
        let after = target.gather(&UInt::from([0]));
        for _ in 0..2 {
            assert_wrong(&after, "lane 1 scatters to element 5 of an array of 3 u32 elements", line + 9);
            assert_wrong(&target, "lane 1 scatters to element 5 of an array of 3 u32 elements", line + 9);
        }
        assert_eq!(before.to_vec().unwrap(), [11, 2, 3]);
        assert_eq!(fine.to_vec().unwrap(), [11, 21]);
    });
}

// rows: C086
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn calls_of_missing_targets_are_reported() {
    on_each_device(|| {
        let targets = [|x: Float| x + 1, |x: Float| x * 10];
        let x = Float::from([1.0, 2.0, 3.0]);
        let y = jit::switch(resident([0_u32, 1, 0]), &targets, (x.clone(),));
        assert_eq!(y.to_vec().unwrap(), [2.0, 20.0, 4.0]);
        let (y, line) = (jit::switch(resident([0_u32, 100, 1]), &targets, (x.clone(),)), line!());
        assert_wrong(&y, "lane 1 calls function 100, of which only those below 2 exist", line);
        let y = jit::switch(resident([0, 1, -7]), &targets, (x.clone(),));
        assert_wrong(&y, "lane 2 calls function -7", line + 2);
        let mask = Mask::from([true, true, false]);
        let y = jit::switch_masked(resident([0, 1, -7]), &mask, &targets, (x,));
        assert_eq!(y.to_vec().unwrap(), [2.0, 20.0, 0.0]);
    });
}

/// Something with a size.
#[jit(dispatch)]
trait Measured {
    /// The size.
    fn size(&self, by: &Float) -> Float;
}

#[derive(jit::Traverse)]
struct Ball(Float);

#[jit]
impl Measured for Ball {
    fn size(&self, by: &Float) -> Float {
        self.0.clone() * by
    }
}

// rows: C135
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn holes_among_instances_are_no_alarm() {
    on_each_device(|| {
        let mut balls: Instances<dyn Measured> =
            (1..=4).map(|i| Box::new(Ball(Float::opaque(i as f32))) as Box<dyn Measured>).collect();
        balls.remove(2);
        let size = balls.at(&resident([1_u32, 2, 0, 4])).size(&Float::from(2.0));
        assert_eq!(size.to_vec().unwrap(), [2.0, 0.0, 0.0, 8.0]);
        let (size, line) = (balls.at(&resident([1_u32, 5])).size(&Float::from(2.0)), line!());
        assert_wrong(&size, "lane 1 calls instance 5", line);
    });
}

#[jit]
fn local_steps(start: &UInt, steps: u32) -> UInt {
    let (mut memory, mut at, mut step) = (Local::<u32>::full(1, 4), start.clone(), UInt::from(0));
    while step < steps {
        if at < 90 {
            memory.write(&at, &step);
        }
        at += 1;
        step += 1;
    }
    memory.read(&UInt::from(3))
}

// rows: C145 C146
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn per_lane_memory_is_checked() {
    on_each_device(|| {
        let memory = Local::<f32>::full(1.5, 10);
        let (inside, line) = (memory.read(&UInt::from([9, 0])), line!());
        assert_eq!(inside.to_vec().unwrap(), [1.5, 1.5]);
        let outside = memory.read(&UInt::from([9, 99, 10])) + 1.0;
        assert_wrong(&outside, "lane 1 reads element 99 of a `Local` of 10 f32 elements", line + 2);
        let mut written = memory.clone();
        written.write(&Int::from([3, -1]), 2.0);
        assert_wrong(
            &written.read(&UInt::from(3)),
            "lane 1 writes element -1 of a `Local` of 10 f32 elements",
            line + 5,
        );
        // Masked lanes may have any index.
        let mask = Mask::from([true, false]);
        let masked = memory.read_masked(&UInt::from([1, 1000]), &mask);
        assert_eq!(masked.to_vec().unwrap(), [1.5, 0.0]);
        let mut written = memory.clone();
        written.write_masked(&UInt::from([1, 1000]), 2.0, &mask);
        assert_eq!(written.read(&UInt::from(1)).to_vec().unwrap(), [2.0, 1.5]);
        assert_eq!(local_steps(&UInt::from([0, 2, 100]), 2).to_vec().unwrap(), [1, 1, 1]);
        assert_eq!(local_steps(&UInt::from([2, 1, 100]), 2).to_vec().unwrap(), [1, 1, 1]);
        let error = local_steps(&UInt::from([0, 3]), 2).to_vec().unwrap_err();
        assert!(error.to_string().contains("lane 1 writes element 4 of a `Local` of 4 u32 elements"), "{error}");
    });
}

#[jit]
fn root(x: &Float) -> Float {
    assert!(*x >= 0.0, "no root of {x:.2}, {}", "alas");
    x.sqrt()
}

// rows: C260 C263 K38
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn assertions_are_checked_on_lanes() {
    on_each_device(|| {
        let x = resident([4.0_f32, -1.0, 9.0, -2.0]);
        let first = line_of("assert!(*x >= 0.0");
        let wrong = root(&x);
        assert_wrong(&wrong, "the assertion `* x >= 0.0` fails in lane 1: no root of -1.00, alas", first);
        // The array and everything computed from it has failed.
        assert_wrong(&wrong, "fails in lane 1", first);
        assert_wrong(&(&wrong + 1.0), "fails in lane 1", first);
        assert_eq!(root(&(&x * &x)).to_vec().unwrap(), [4.0, 1.0, 9.0, 2.0]);
        // The result is not read.
        let _ = root(&x);
        let error = jit::sync().unwrap_err();
        assert!(error.to_string().contains("fails in lane 1"), "{error}");
        jit::sync().unwrap();
        // One value alone.
        let wrong = root(&Float::opaque(-3.0));
        assert_wrong(&wrong, "fails in lane 0: no root of -3.00", first);
    });
}

#[jit]
fn compare(x: &UInt, y: &UInt, steps: u32) -> UInt {
    let (mut x, mut step) = (x.clone(), UInt::from(0));
    while step < steps {
        if x != 7 {
            assert_eq!(x, *y + step, "in step {step}");
            debug_assert_ne!(x, 100);
            x += 1;
        }
        step += 1;
    }
    x
}

// rows: C261 C262
#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn assertions_in_loops_report_the_first_iteration_of_the_lowest_lane() {
    on_each_device(|| {
        let line = line_of("assert_eq!(x, *y + step");
        let y = resident([3_u32, 7, 4, 4]);
        assert_eq!(compare(&y, &y, 3).to_vec().unwrap(), [6, 7, 7, 7]);
        let x = resident([3_u32, 7, 6, 5]);
        let wrong = compare(&x, &y, 3);
        let text = "the assertion `left == right` fails in lane 2: in step 0\n  left: 6\n right: 4";
        assert_wrong(&wrong, text, line);
        let x = resident([99_u32, 7, 7, 7]);
        let y = resident([99_u32, 0, 0, 0]);
        let wrong = compare(&x, &y, 3);
        assert_wrong(&wrong, "the assertion `left != right` fails in lane 0\n  left: 100\n right: 100", line + 1);
    });
}

#[test]
#[ignore = "run in a process with JIT_DEBUG"]
fn assertions_of_long_launches_report_the_values_of_the_lowest_lane() {
    on_each_device(|| {
        let lanes = 2_000_000;
        let x = (UInt::arange(lanes) ^ UInt::opaque(0)).make_opaque();
        let wrong = below(&x, 1_234_567);
        let text = "the assertion `x < limit` fails in lane 1234567: 1234567 is too much";
        let line = line_of(&["assert!(x <", " limit"].concat());
        assert_wrong(&wrong.sum(), text, line);
        assert_eq!(below(&x, 3_000_000).reduce_max().item().unwrap(), 1_999_999);
        // The failing lanes are the first and the last of a block, and in descending order of their values.
        let wrong = below(&(lanes as u32 - &x), 1);
        assert_wrong(&wrong, "fails in lane 0: 2000000 is too much", line);
    });
}

#[jit]
fn below(x: &UInt, limit: u32) -> UInt {
    assert!(x < limit, "{} is too much", x);
    x.clone()
}

// rows: C260
#[test]
fn without_debugging_only_what_is_known_is_checked() {
    on_each_device(|| {
        let x = resident([4.0_f32, -1.0]);
        let before = jit::stats().launches;
        let y = root(&x);
        jit::sync().unwrap();
        assert_eq!(jit::stats().launches, before, "nothing is recorded");
        assert!(y.to_vec().unwrap()[1].is_nan());
        let error = std::panic::catch_unwind(|| root(&Float::from(-2.0))).unwrap_err();
        assert_eq!(error.downcast_ref::<String>().unwrap(), "no root of [-2.00], alas");
        let error = std::panic::catch_unwind(|| compare(&UInt::from(1), &UInt::from(2), 0)).map(|y| y.item().unwrap());
        assert_eq!(error.unwrap(), 1);
    });
}
