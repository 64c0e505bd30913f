//! The contents of arrays after an evaluation fails, and the order of reads and writes of one array.

use jit::ErrorKind;
use jit::prelude::*;

use crate::{on_each_device, resident};

// rows: C313
#[test]
fn a_failed_evaluation_leaves_everything_as_it_was() {
    on_each_device(|| {
        let index = UInt::from([0, 2, 2]);
        let mut target = resident([1, 2, 3]);
        let before = target.clone();
        target.scatter_add(Int::from([10, 20, 30]), &index);
        let written = target.clone();
        // The value of the second scatter is missing.
        target.scatter(Int::placeholder(3), &index);
        let other = &before * 7;
        for _ in 0..2 {
            let error = jit::eval(&(&other, &target)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotEvaluated, "{error}");
            assert!(!other.is_evaluated());
        }
        assert_eq!(target.to_vec().unwrap_err().kind(), ErrorKind::NotEvaluated);
        assert_eq!(other.to_vec().unwrap(), [7, 14, 21]);
        assert_eq!(written.to_vec().unwrap(), [11, 2, 53]);
        assert_eq!(before.to_vec().unwrap(), [1, 2, 3]);
    });
}

// rows: C313
#[test]
fn without_memory_nothing_is_run() {
    on_each_device(|| {
        let mut counter = resident([5_u32]);
        let slots = counter.scatter_inc(&UInt::zeros(3));
        let widest = u32::MAX as usize;
        // More memory than a machine has, in as many kernels as there are widths.
        let huge: Vec<Float64> = (0..4096).map(|k| Float64::arange(widest - k) + 0.5).collect();
        let error = jit::eval(&(&slots, &huge)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert!(error.hint().is_some());
        assert!(!slots.is_evaluated() && huge.iter().all(|array| !array.is_evaluated()));
        drop(huge);
        let mut taken = slots.to_vec().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [5, 6, 7]);
        assert_eq!(counter.item().unwrap(), 8, "it was counted once");
    });
}

#[jit]
fn read_and_write(x: &mut UInt, index: &UInt) -> [UInt; 3] {
    let first = x.gather(index);
    x.scatter(&first + 100, &UInt::from([0, 1, 2]));
    let second = x.gather(index);
    x.scatter_add(&second, index);
    let third = x.gather(index);
    x.scatter(0, &UInt::from([3]));
    [first, second, third]
}

#[test]
fn reading_and_writing_one_array_happen_in_their_order() {
    on_each_device(|| {
        let mut x = resident([1, 2, 3, 4]);
        let read = read_and_write(&mut x, &UInt::from([3, 1, 0]));
        let [first, second, third] = read.map(|values| values.to_vec().unwrap());
        assert_eq!((first, second), (vec![4, 2, 1], vec![4, 102, 104]));
        assert_eq!(third, [8, 204, 208]);
        assert_eq!(x.to_vec().unwrap(), [208, 204, 101, 0]);
        // A host loop that is evaluated at once.
        let mut x = resident([0, 1, 2, 3, 4]);
        let (from, to) = (UInt::from([0, 1, 2, 3]), UInt::from([1, 2, 3, 4]));
        for _ in 0..3 {
            let moved = x.gather(&from);
            x.scatter(&moved + 10, &to);
        }
        assert_eq!(x.to_vec().unwrap(), [0, 10, 20, 30, 31]);
    });
}

#[jit]
fn spread(start: &UInt, x: &mut UInt, steps: u32) {
    let before = x.clone();
    let (mut at, mut step) = (start.clone(), UInt::from(0));
    while step < steps {
        // The contents from before the loop, whichever lanes have written meanwhile.
        x.scatter_add(before.gather(&at), &((&at + 1) % 4));
        at = (&at + 1) % 4;
        step += 1;
    }
}

#[test]
fn a_clone_made_before_a_loop_keeps_its_elements_in_the_loop() {
    on_each_device(|| {
        let mut x = resident([1, 10, 100, 1000]);
        spread(&UInt::from([0, 0, 2]), &mut x, 3);
        // Lanes 0 and 1 come from 0, 1 and 2, lane 2 from 2, 3 and 0.
        assert_eq!(x.to_vec().unwrap(), [1 + 1000, 10 + 2 + 1, 100 + 20, 1000 + 200 + 100]);
    });
}
