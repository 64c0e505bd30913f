//! The number of launches and kernels of loops.

use jit::prelude::*;

use crate::{count, launches, on_each_device, resident};

#[jit]
fn countdown(n: &UInt, x: &Float) -> (UInt, Float) {
    let (mut i, mut x) = (n.clone(), x.clone());
    #[evaluated]
    while i > 0 {
        i -= 1;
        x = x.sin() * 0.5 + 0.25;
    }
    (i, x)
}

#[test]
fn the_iterations_of_an_evaluated_loop_are_the_same_kernel() {
    on_each_device(|| {
        let run = |n: u32| {
            let (n, x) = (UInt::from([n, 1, 2]), resident(&[0.1, 0.2, 0.3]));
            jit::eval(&n).expect("the counts are evaluated");
            count(|| drop(countdown(&n, &x)))
        };
        run(5);
        let (few, many) = (run(5), run(50));
        assert_eq!(many.launches - few.launches, 45, "a launch for each iteration");
        assert_eq!(few.launches, 5 + 1, "and one for the condition before the first");
        assert_eq!((few.compiles, many.compiles), (0, 0));
    });
}

#[jit]
fn unread(n: &UInt, x: &Float) -> (UInt, Float) {
    let (mut i, mut x) = (UInt::from(0), x.clone());
    while &i < n {
        i += 1;
        x = x.sin();
    }
    (i, x)
}

#[jit]
fn steps(n: u32, x: &Float) -> (UInt, Float) {
    let (mut i, mut x) = (UInt::from(0), x.clone());
    while i < n {
        i += 1;
        x = x.sin();
    }
    (i, x)
}

#[test]
fn an_unread_loop_is_not_run() {
    on_each_device(|| {
        let (n, x) = (UInt::from([3, 4]).make_opaque(), resident(&[0.5, 0.25]));
        assert_eq!(count(|| drop(unread(&n, &x))).launches, 0);
        // Only the counter is uniform, so it is counted in one lane.
        let (i, y) = steps(7, &x);
        assert_eq!(crate::launches(|| drop(i.to_vec())), [1]);
        assert_eq!(crate::launches(|| drop(y.to_vec())), [2]);
    });
}

#[jit]
fn halved_while_large(x: &Float) -> Float {
    let mut y = x.clone();
    let mut goes_on = Mask::from(true);
    #[evaluated]
    while goes_on {
        y = y / 2.0;
        goes_on = Mask::from(y.reduce_max().item().unwrap() > 1.0);
    }
    y
}

#[jit]
fn doubled_until(x: &Float, limit: f32) -> (Float, UInt) {
    let (mut y, mut count) = (x.clone(), UInt::from(0));
    #[evaluated]
    while Mask::from(true) {
        if Mask::from(y.reduce_min().item().unwrap() >= limit) {
            break;
        }
        y *= 2.0;
        count += 1;
    }
    (y, count)
}

#[test]
fn the_host_computes_the_condition_of_an_evaluated_loop() {
    on_each_device(|| {
        for (x, wanted) in [([8.0, 3.0], [1.0, 0.375]), ([0.5, 1.0], [0.25, 0.5]), ([1.5, 0.0], [0.75, 0.0])] {
            assert_eq!(halved_while_large(&Float::from(x)).to_vec().unwrap(), wanted);
        }
        let (y, count) = doubled_until(&Float::from([1.0, 3.0]), 5.0);
        assert_eq!((y.to_vec().unwrap(), count.item().unwrap()), (vec![8.0, 24.0], 3));
        let (y, count) = doubled_until(&Float::from([6.0, 7.0]), 5.0);
        assert_eq!((y.to_vec().unwrap(), count.item().unwrap()), (vec![6.0, 7.0], 0));
    });
}

#[test]
fn finished_lanes_exit_loops_that_write() {
    #[jit]
    fn write(start: &UInt, counts: &mut UInt) -> UInt {
        let (mut left, mut digits) = (start.clone(), Local::<u32>::new(3));
        #[evaluated]
        #[compress]
        while left > 0 {
            digits[left % 3] += 1;
            counts.scatter_add(1, &(left % 5));
            left -= 1;
        }
        digits[UInt::from(1)]
    }
    on_each_device(|| {
        let start = UInt::from((0..640).map(|lane| if lane % 10 == 3 { 12 } else { 1 }).collect::<Vec<_>>());
        let mut counts = UInt::zeros(5).make_opaque();
        jit::eval(&(&start, &counts)).expect("arguments are evaluated");
        let mut ones = UInt::from(0);
        let widths = launches(|| ones = write(&start, &mut counts));
        assert!(widths.iter().filter(|&&width| width == 64).count() > 20, "{widths:?}");
        assert_eq!(ones.to_vec().expect("the loop ran")[..4], [1, 1, 1, 4]);
        assert_eq!(counts.to_vec().expect("the loop ran"), [128, 768, 192, 128, 128]);
    });
}
