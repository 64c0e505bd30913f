//! Writing to elements at computed positions: what is written, and what keeps its elements.

use jit::prelude::*;
use jit::{Element, Integer, Number};

use crate::devices::on_each_device;
use crate::errors::panic_message;

fn ramp(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

#[test]
fn elements_are_written() {
    on_each_device(|| {
        let mut target = Float::from([0.0; 5]);
        target.scatter(Float::from([1.0, 2.0, 3.0]), &UInt::from([4, 0, 2]));
        assert_eq!(target.to_vec().unwrap(), [2.0, 0.0, 3.0, 0.0, 1.0]);
        target.scatter(7.5, &Int::from([1]));
        target.scatter_masked(-1.0, &UInt8::from([0, 200, 3]), &Mask::from([true, false, true]));
        assert_eq!(target.to_vec().unwrap(), [-1.0, 7.5, 3.0, -1.0, 1.0]);
    });
}

#[test]
fn any_type_of_index_and_element() {
    fn check<T: Element + Number, I: Integer>(index: [I; 3], values: [T; 3]) {
        let mut target = Array::<T>::zeros(4);
        target.scatter(Array::from(values), &Array::<I>::from(index));
        target.scatter_add(Array::from(values), &Array::<I>::from(index));
        let [a, b, c] = values.map(|value| (Array::from(value) + value).item().unwrap());
        assert_eq!(target.to_vec().unwrap(), [b, T::default(), c, a]);
    }
    on_each_device(|| {
        check([3_u8, 0, 2], [1_i8, 2, 3]);
        check([3_i8, 0, 2], [1_u8, 2, 3]);
        check([3_u16, 0, 2], [1_i16, 2, 3]);
        check([3_i16, 0, 2], [1_u16, 2, 3]);
        check([3_u32, 0, 2], [1_i32, 2, 3]);
        check([3_i32, 0, 2], [1_u32, 2, 3]);
        check([3_u64, 0, 2], [1_i64, 2, 3]);
        check([3_i64, 0, 2], [1_u64, 2, 3]);
        check([3_u32, 0, 2], [1.5_f32, 2.0, -3.0]);
        check([3_u32, 0, 2], [1.5_f64, 2.0, -3.0]);
        let mut mask = Mask::zeros(4);
        mask.scatter(true, &UInt::from([1, 3]));
        assert_eq!(mask.to_vec().unwrap(), [false, true, false, true]);
    });
}

#[test]
fn reductions_combine_all_lanes() {
    on_each_device(|| {
        let (lanes, bins) = (5000, 7);
        let index: Vec<u32> = ramp(lanes).iter().map(|value| value % bins as u32).collect();
        let values: Vec<i32> = ramp(lanes).iter().map(|&value| value as i32 % 1000 - 300).collect();
        let run = |op: ReduceOp, start: i32, combine: fn(i32, i32) -> i32| {
            let mut target = Int::full(start, bins);
            target.scatter_reduce(op, Int::from(&values), &UInt::from(&index));
            let mut expected = vec![start; bins];
            for (&at, &value) in index.iter().zip(&values) {
                expected[at as usize] = combine(expected[at as usize], value);
            }
            assert_eq!(target.to_vec().unwrap(), expected, "{op:?}");
        };
        run(ReduceOp::Add, 5, i32::wrapping_add);
        run(ReduceOp::Mul, 3, i32::wrapping_mul);
        run(ReduceOp::Min, 100, i32::min);
        run(ReduceOp::Max, 100, i32::max);
        run(ReduceOp::And, -1, |a, b| a & b);
        run(ReduceOp::Or, 0, |a, b| a | b);
    });
}

#[test]
fn clones_keep_their_elements() {
    on_each_device(|| {
        let mut x = Int::from([1, 2, 3]);
        let before = x.clone();
        x.scatter(9, &UInt::from([1]));
        assert_eq!(x.to_vec().unwrap(), [1, 9, 3]);
        assert_eq!(before.to_vec().unwrap(), [1, 2, 3]);
        let between = x.clone();
        x.scatter_add(1, &UInt::from([0, 0, 2]));
        let mut fork = between.clone();
        fork.scatter(0, &UInt::from([2]));
        assert_eq!(x.to_vec().unwrap(), [3, 9, 4]);
        assert_eq!(fork.to_vec().unwrap(), [1, 9, 0]);
        assert_eq!(between.to_vec().unwrap(), [1, 9, 3]);
    });
}

#[test]
fn a_gather_that_is_not_evaluated_yet_reads_the_elements_of_its_time() {
    on_each_device(|| {
        let mut x = Int::from([1, 2, 3]);
        let reversed = x.gather(&UInt::from([2, 1, 0]));
        x.scatter(&reversed, &UInt::from([0, 1, 2]));
        let twice = &x * 2;
        x.scatter(0, &UInt::from([1]));
        assert_eq!(x.to_vec().unwrap(), [3, 0, 1]);
        assert_eq!(twice.to_vec().unwrap(), [6, 4, 2]);
        assert_eq!(reversed.to_vec().unwrap(), [3, 2, 1]);
    });
}

#[test]
fn nothing_is_recorded_where_nothing_is_written() {
    let mut x = Int::zeros(4);
    let index = UInt::from([1, 2]);
    x.scatter(0, &index);
    x.scatter_add(0, &index);
    x.scatter_reduce(ReduceOp::And, -1, &index);
    x.scatter_masked(5, &index, &Mask::from(false));
    x.scatter(5, &UInt::zeros(0));
    assert!(x.is_literal());
    let mut nothing = Int::zeros(0);
    nothing.scatter(5, &UInt::zeros(0));
    assert_eq!(nothing.len(), 0);
}

#[test]
fn targets_may_be_expressions() {
    on_each_device(|| {
        let a = Float::from([1.0, 2.0, 3.0, 4.0]);
        let mut x = &a * 10.0;
        let expression = x.clone();
        x.scatter_add(&a, &UInt::from([0, 0, 3, 3]));
        assert_eq!((&x + &expression).to_vec().unwrap(), [23.0, 40.0, 60.0, 87.0]);
        let mut sum = Float::from(0.0);
        sum.scatter_add(&a, &UInt::zeros(4));
        assert_eq!((&a + &sum).to_vec().unwrap(), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(x.sum().item().unwrap(), 110.0);
    });
}

#[test]
fn what_is_written_can_be_gathered_from_and_reduced_in_one_evaluation() {
    on_each_device(|| {
        let lanes = 1000;
        let index = UInt::arange(lanes) * 7 % 10;
        let mut histogram = UInt::zeros(10);
        histogram.scatter_add(1, &index);
        let count = histogram.gather(&index);
        let mut second = UInt::zeros(10);
        second.scatter_add(&count, &index);
        assert_eq!(second.to_vec().unwrap(), [10_000; 10]);
        assert_eq!(histogram.sum().item().unwrap(), 1000);
    });
}

#[test]
fn scatters_in_an_if_write_on_the_lanes_that_take_it() {
    #[jit]
    fn count(x: &Int, histogram: &mut UInt, other: &mut UInt) -> Int {
        let mut y = x.clone();
        if x % 2 == 0 {
            histogram.scatter_add(1, &(x / 2).cast::<u32>());
            if *x > 4 {
                other.scatter(7, &UInt::from(0));
            }
            y += 100;
        } else {
            histogram.scatter_add(10, &UInt::from(0));
        }
        y
    }
    on_each_device(|| {
        let x = Int::arange(8);
        let (mut histogram, mut other) = (UInt::zeros(4), UInt::from([1, 2]));
        let y = count(&x, &mut histogram, &mut other);
        assert_eq!(y.to_vec().unwrap(), [100, 1, 102, 3, 104, 5, 106, 7]);
        assert_eq!(histogram.to_vec().unwrap(), [41, 1, 1, 1]);
        assert_eq!(other.to_vec().unwrap(), [7, 2]);
        count(&Int::from([1, 1]), &mut histogram, &mut other);
        assert_eq!(histogram.to_vec().unwrap(), [61, 1, 1, 1]);
        assert_eq!(other.to_vec().unwrap(), [7, 2]);
    });
}

type Program = Box<dyn FnOnce() + std::panic::UnwindSafe>;

#[test]
fn wrong_scatters_are_refused_with_their_line() {
    let x = || Int::from([1, 2, 3]);
    let index = || UInt::from([0, 1]);
    let cases: [(&str, Program); 6] = [
        ("element 3 is outside of an array of width 3", Box::new(move || x().scatter(1, &UInt::from(3)))),
        ("element -1 is outside of an array of width 3", Box::new(move || x().scatter_add(1, &Int::from(-1)))),
        ("without elements cannot be scattered to", Box::new(move || Int::zeros(0).scatter(1, &index()))),
        ("width 2 and 3 cannot be combined", Box::new(move || x().scatter(x(), &index()))),
        (
            "`and` does not exist for f32",
            Box::new(move || Float::zeros(3).scatter_reduce(ReduceOp::And, 1.0, &index())),
        ),
        (
            "`add` does not exist for bool",
            Box::new(move || Mask::zeros(3).scatter_reduce(ReduceOp::Add, true, &index())),
        ),
    ];
    for (text, program) in cases {
        let message = panic_message(program);
        assert!(message.contains(text) && message.contains("scatter.rs:"), "`{text}` is not in: {message}");
    }
    x().scatter_masked(1, &UInt::from(3), &Mask::from([false]));
}

#[test]
fn an_array_is_not_read_in_the_if_that_writes_it() {
    #[jit]
    fn elementwise(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        if *x > 1 {
            target.scatter_add(1, x);
            y += &*target;
        }
        y
    }
    #[jit]
    fn gathers(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        if *x > 1 {
            target.scatter_add(1, x);
        } else {
            y = target.gather(x);
        }
        y
    }
    for wrong in [elementwise as fn(&Int, &mut Int) -> Int, gathers] {
        let message = panic_message(move || drop(wrong(&Int::from([1, 2, 0]), &mut Int::zeros(3))));
        assert!(message.contains("that writes to it") && message.contains("scatter.rs"), "{message}");
    }
}
