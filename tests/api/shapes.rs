//! Elements in another order, and arithmetic on sizes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;

use crate::devices::on_each_device;

/// The message with which a wrong program stops.
fn refusal<R>(wrong: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(wrong)) else { return "was accepted".to_owned() };
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// An array in memory, and the same elements as an expression.
fn both(values: &[i32]) -> [Int; 2] {
    let x = Int::from(values);
    [x.clone(), (&x * 3 - 1 + 1) / 3]
}

#[test]
fn elements_are_reversed_and_repeated() {
    on_each_device(|| {
        for x in both(&[1, 2, 3]) {
            assert_eq!(x.reverse().to_vec().unwrap(), [3, 2, 1]);
            assert_eq!(x.tile(2).to_vec().unwrap(), [1, 2, 3, 1, 2, 3]);
            assert_eq!(x.repeat(2).to_vec().unwrap(), [1, 1, 2, 2, 3, 3]);
            assert_eq!((x.tile(1).to_vec().unwrap(), x.repeat(1).to_vec().unwrap()), (vec![1, 2, 3], vec![1, 2, 3]));
            assert_eq!((x.tile(0).len(), x.repeat(0).len()), (0, 0));
        }
        for x in both(&[7]) {
            assert_eq!((x.tile(3).to_vec().unwrap(), x.repeat(2).to_vec().unwrap()), (vec![7; 3], vec![7; 2]));
            assert_eq!(x.reverse().to_vec().unwrap(), [7]);
        }
        let none = Int::from(Vec::new());
        assert_eq!((none.reverse().len(), none.tile(5).len(), none.repeat(5).len()), (0, 0, 0));
    });
}

#[test]
fn slices_are_taken_with_steps() {
    on_each_device(|| {
        for x in both(&[0, 10, 20, 30, 40]) {
            assert_eq!(x.slice(1..4).to_vec().unwrap(), [10, 20, 30]);
            assert_eq!(x.slice(3..).to_vec().unwrap(), [30, 40]);
            assert_eq!(x.slice(..=1).to_vec().unwrap(), [0, 10]);
            assert_eq!(x.slice(4..5).to_vec().unwrap(), [40]);
            assert_eq!(x.slice(..).to_vec().unwrap(), [0, 10, 20, 30, 40]);
            assert_eq!((x.slice(2..2).len(), x.slice(5..).len()), (0, 0));
            assert_eq!(x.slice_step(.., 2).to_vec().unwrap(), [0, 20, 40]);
            assert_eq!(x.slice_step(1.., 3).to_vec().unwrap(), [10, 40]);
            assert_eq!(x.slice_step(.., -1).to_vec().unwrap(), [40, 30, 20, 10, 0]);
            assert_eq!(x.slice_step(1..4, -2).to_vec().unwrap(), [30, 10]);
            assert_eq!(x.slice_step(1..4, isize::MAX).to_vec().unwrap(), [10]);
            assert_eq!(x.slice_step(1..4, isize::MIN).to_vec().unwrap(), [30]);
            assert_eq!(x.slice_step(2..2, 7).len(), 0);
            let (a, b) = x.split_at(2);
            assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![0, 10], vec![20, 30, 40]));
            let (a, b) = x.split_at(x.width());
            assert_eq!((a.len(), b.len()), (5, 0));
        }
        let parts = UInt::arange(6).split(3);
        let parts: Vec<Vec<u32>> = parts.iter().map(|part| part.to_vec().unwrap()).collect();
        assert_eq!(parts, [[0, 1], [2, 3], [4, 5]]);
    });
}

#[test]
fn arrays_are_joined() {
    on_each_device(|| {
        for (x, y) in both(&[1, 2, 3]).iter().zip(&both(&[4])) {
            let (one, none) = (Int::from(5), Int::from(Vec::new()));
            assert_eq!(Int::concat(&[x, y, &none, &one, x]).to_vec().unwrap(), [1, 2, 3, 4, 5, 1, 2, 3]);
            assert_eq!(Int::concat(&[y, y]).to_vec().unwrap(), [4, 4]);
            assert_eq!(Int::concat(&[&none, x]).to_vec().unwrap(), [1, 2, 3]);
            assert_eq!(Int::concat(&[x.clone(), y.clone()]).to_vec().unwrap(), [1, 2, 3, 4]);
        }
        assert_eq!(Int::concat::<Int>(&[]).len(), 0);
        let masks = [Mask::from([true, false]), Mask::from([true])];
        assert_eq!(Mask::concat(&masks).to_vec().unwrap(), [true, false, true]);
    });
}

#[test]
fn elements_move_along() {
    on_each_device(|| {
        for x in both(&[1, 2, 3, 4]) {
            assert_eq!(x.shift(1).to_vec().unwrap(), [0, 1, 2, 3]);
            assert_eq!(x.shift(-3).to_vec().unwrap(), [4, 0, 0, 0]);
            assert_eq!(x.shift(0).to_vec().unwrap(), [1, 2, 3, 4]);
            assert_eq!((x.shift(4).to_vec().unwrap(), x.shift(isize::MIN).to_vec().unwrap()), (vec![0; 4], vec![0; 4]));
            assert_eq!(x.shift_with(2, -9).to_vec().unwrap(), [-9, -9, 1, 2]);
            assert_eq!(x.shift_with(-5, -9).to_vec().unwrap(), [-9; 4]);
            assert_eq!(x.roll(1).to_vec().unwrap(), [4, 1, 2, 3]);
            assert_eq!(x.roll(-1).to_vec().unwrap(), [2, 3, 4, 1]);
            assert_eq!(x.roll(-6).to_vec().unwrap(), [3, 4, 1, 2]);
            assert_eq!(x.roll(8).to_vec().unwrap(), [1, 2, 3, 4]);
            assert_eq!(x.take(&Int8::from([-1, 0, -4, 3])).to_vec().unwrap(), [4, 1, 1, 4]);
            assert_eq!(x.take(&UInt8::from([3, 0])).to_vec().unwrap(), [4, 1]);
        }
        assert_eq!(Int::from(Vec::new()).roll(3).len(), 0);
        assert_eq!(Int::from(8).shift(1).to_vec().unwrap(), [0]);
    });
}

#[test]
fn grids_are_made_of_axes() {
    on_each_device(|| {
        let (x, y, z) = (Int::from([1, 2]), Float::from([0.5, 1.5, 2.5]), Mask::from([true, false]));
        let (a, b) = jit::meshgrid(&x, &y);
        assert_eq!(a.to_vec().unwrap(), [1, 2, 1, 2, 1, 2]);
        assert_eq!(b.to_vec().unwrap(), [0.5, 0.5, 1.5, 1.5, 2.5, 2.5]);
        let (a, b, c) = jit::meshgrid3(&x, &y, &z);
        assert_eq!(a.to_vec().unwrap(), [1, 2].repeat(6));
        assert_eq!(b.to_vec().unwrap(), [0.5, 0.5, 1.5, 1.5, 2.5, 2.5].repeat(2));
        assert_eq!(c.to_vec().unwrap(), [[true; 6], [false; 6]].concat());
        let all = jit::meshgrid_all(&[&x, &Int::from([7]), &Int::from([3, 4])]);
        let all: Vec<Vec<i32>> = all.iter().map(|axis| axis.to_vec().unwrap()).collect();
        assert_eq!(all, [[1, 2, 1, 2], [7; 4], [3, 3, 4, 4]]);
        let (x, y) = jit::meshgrid(&x, &Int::from(Vec::new()));
        assert_eq!((x.len(), y.len()), (0, 0));
    });
}

#[test]
fn shapes_evaluate_nothing_and_fuse() {
    let x = Float::from([1.0, 2.0, 3.0, 4.0]);
    let y = &x * 2.0;
    let result = y.reverse().tile(2).slice(1..7).roll(1) + 1.0;
    assert!(!y.is_evaluated() && !result.is_evaluated());
    assert_eq!(result.to_vec().unwrap(), [5.0, 7.0, 5.0, 3.0, 9.0, 7.0]);
    assert!(!y.is_evaluated(), "the source is computed at the index");
}

#[test]
fn numbers_come_in_steps() {
    on_each_device(|| {
        assert_eq!(Int::range(-2..3).to_vec().unwrap(), [-2, -1, 0, 1, 2]);
        assert_eq!(Int::range_step(10, 0, -4).to_vec().unwrap(), [10, 6, 2]);
        assert_eq!(UInt8::range_step(250, 255, 2).to_vec().unwrap(), [250, 252, 254]);
        assert_eq!((Int::range(3..3).len(), Int::range_step(3, -3, 1).len()), (0, 0));
        assert_eq!(Int64::range_step(i64::MIN, i64::MAX, i64::MAX).to_vec().unwrap(), [i64::MIN, -1, i64::MAX - 1]);
        assert_eq!(Float::arange_step(0.5, 0.25, 3).to_vec().unwrap(), [0.5, 0.75, 1.0]);
        assert_eq!(Float::linspace(2.0, 7.0, 1).to_vec().unwrap(), [2.0]);
        assert_eq!(Float::linspace(2.0, 7.0, 0).len(), 0);
        assert_eq!(
            Half::linspace(half::f16::ZERO, half::f16::ONE, 5).cast::<f32>().to_vec().unwrap(),
            [0.0, 0.25, 0.5, 0.75, 1.0]
        );
    });
}

#[test]
fn wrong_shapes_are_refused_with_the_line() {
    let x = Int::from([1, 2, 3]);
    let messages = [
        (refusal(|| x.slice(1..4)), "the range 1..4 is out of range for an array of width 3"),
        #[expect(clippy::reversed_empty_ranges, reason = "it is the subject of the test")]
        (refusal(|| x.slice(3..2)), "the range 3..2 is out of range for an array of width 3"),
        (refusal(|| x.slice_step(.., 0)), "the step of a slice cannot be 0"),
        (refusal(|| x.split(2)), "an array of width 3 cannot be split into 2 equal parts"),
        (refusal(|| x.split(0)), "an array of width 3 cannot be split into 0 equal parts"),
        (refusal(|| x.split_at(4)), "the range 0..4 is out of range"),
        (refusal(|| Int::range_step(0, 3, 0)), "the step of a range cannot be 0"),
        (refusal(|| x.width() - 4), "the size 3 - 4 would be below zero"),
        (refusal(|| x.width() / 0), "the size 3 / 0 divides by zero"),
        (refusal(|| 5 % (x.width() - 3)), "the size 5 % 0 divides by zero"),
        (refusal(|| x.width().div_ceil(0)), "the size 3 / 0 divides by zero"),
        (refusal(|| x.width() * usize::MAX), "is larger than any size"),
        (refusal(|| x.tile(usize::MAX)), "is larger than any size"),
        (refusal(|| x.repeat(1 << 32)), "is too wide"),
    ];
    for (message, wanted) in messages {
        assert!(message.contains(wanted), "“{wanted}” is missing in: {message}");
        assert!(message.contains("tests/api/shapes.rs"), "the line is not named: {message}");
    }
}

#[test]
fn sizes_are_computed_with() {
    let x = Float::zeros(10);
    let n = x.width();
    assert_eq!([n + 1, 1 + n, n + n], [11, 11, 20].map(Size::from));
    assert_eq!(
        [n - 1, 12 - n, n * 2, 3 * n, n / 3, 100 / n, n % 4, 14 % n],
        [9, 2, 20, 30, 3, 10, 2, 4].map(Size::from)
    );
    assert_eq!((n.min(3).get(), n.max(n + 1).get(), n.div_ceil(4).get()), (3, 11, 3));
    assert!([n < 11, 9 < n, n == 10, 10 == n, n >= Size::from(10)].iter().all(|holds| *holds));
    assert_eq!(format!("{n} {n:?}"), "10 10");
    assert_eq!(usize::from(n * n), 100);
    assert_eq!(Float::zeros(n * 2 + 1).len(), 21);
}
