//! Widths that are computed from those of the arguments.

use jit::prelude::*;

use crate::{alike, floats, frozen, indices, values};

#[freeze]
fn every_third(x: &Float) -> Float {
    x.gather(&(UInt::arange(x.width().div_ceil(3)) * 3))
}

// rows: F022
#[test]
fn a_stride_that_does_not_divide_the_width() {
    alike(frozen!(every_third), 1, || [7, 7, 8, 9, 10, 100].map(|n| values(&every_third(&floats(n, n)))));
}

#[freeze]
fn at(x: &Float, index: &UInt) -> Float {
    x.gather(index)
}

// rows: F023
#[test]
fn a_constant_index() {
    alike(frozen!(at), 1, || [3, 4, 5].map(|n| values(&at(&floats(n, n), &UInt::from(1)))));
    alike(frozen!(at), 2, || [(3, 1), (4, 2), (5, 3), (5, 1)].map(|(n, i)| values(&at(&floats(n, n), &UInt::from(i)))));
}

#[freeze]
fn resampled(x: &Float) -> (Float, Float, Float) {
    let n = x.width();
    let third = x.gather(&(UInt::arange(n / 3) * 3));
    let same = x.gather(&UInt::arange(n));
    let many = x.gather(&(UInt::arange(n * 5) / 5));
    (third, same + 1.0, many * 2.0)
}

// rows: F033
#[test]
fn fewer_and_more_elements_than_the_argument_has() {
    alike(frozen!(resampled), 1, || {
        [9, 12, 7, 300].map(|n| {
            let (third, same, many) = resampled(&floats(n, n));
            [third, same, many].map(|array| values(&array))
        })
    });
}

#[freeze]
fn apart(x: &Float, y: &Float) -> (Float, Float) {
    (x * 2.0, y + 1.0)
}

#[freeze]
fn together(x: &Float, y: &Float) -> (Float, Float) {
    let first = x.gather(&(UInt::arange(y.width()) % UInt::from(x.width())));
    (first + y, x.sum() + y)
}

// rows: F043
#[test]
fn widths_that_are_equal_once_may_differ_later() {
    let calls = [(3, 3), (4, 4), (3, 5), (6, 2), (7, 7)];
    let both = |(a, b): (Float, Float)| [a, b].map(|array| values(&array));
    alike(frozen!(apart), 2, || calls.map(|(n, m)| both(apart(&floats(n, 1), &floats(m, 2)))));
    alike(frozen!(together), 2, || calls.map(|(n, m)| both(together(&floats(n, 1), &floats(m, 2)))));
}

#[freeze]
fn two_outputs(x: &Float) -> (Float, Int) {
    (x + 1.0, x.cast::<i32>() + 3)
}

#[freeze]
fn dependent(x: &Float) -> (Float, Float) {
    let y = x + 1.0;
    jit::eval(&y).unwrap();
    let z = y.gather(&(UInt::from(y.width() - 1) - UInt::arange(y.width())));
    (y, z * 2.0)
}

#[freeze]
fn independent(x: &Float, y: &Float) -> (Float, Float) {
    let (a, b) = (x * x, y.sqrt());
    jit::eval(&(&a, &b)).unwrap();
    (a + 1.0, b + 1.0)
}

// rows: C02 C04 C05
#[test]
fn several_kernels_of_several_widths() {
    alike(frozen!(two_outputs), 1, || {
        [4, 16, 3].map(|n| {
            let (a, b) = two_outputs(&floats(n, n));
            (values(&a), values(&b))
        })
    });
    alike(frozen!(dependent), 1, || {
        [4, 16, 3].map(|n| {
            let (a, b) = dependent(&floats(n, n));
            [a, b].map(|array| values(&array))
        })
    });
    alike(frozen!(independent), 1, || {
        [(4, 7), (16, 16), (3, 70_000)].map(|(n, m)| {
            let (a, b) = independent(&floats(n, n), &floats(m, m).abs());
            [a, b].map(|array| values(&array))
        })
    });
}

#[freeze]
fn normalised(x: &Float, i: &UInt) -> (Float, UInt) {
    let n = UInt::from(x.width());
    (x / n.cast::<f32>(), (i + &n) * n)
}

// rows: C11
#[test]
fn a_width_as_a_number_is_that_of_the_call() {
    alike(frozen!(normalised), 1, || {
        [4, 8, 3].map(|n| {
            let (a, b) = normalised(&floats(n, n), &UInt::from([1, 2]));
            (values(&a), values(&b))
        })
    });
}

#[freeze]
fn beside_widths(x: &Float, i: &UInt) -> (Float, UInt, UInt) {
    let next = (i + 1) % x.width();
    (if i < x.width() / 2 { x.sum() / x.width() } else { Float::from(-1.0) }, next, x.width() - i)
}

#[test]
fn a_width_beside_an_array_is_that_of_the_call() {
    alike(frozen!(beside_widths), 1, || {
        [4, 8, 3].map(|n| {
            let (a, b, c) = beside_widths(&floats(n, n), &UInt::from([1, 2]));
            (values(&a), values(&b), values(&c))
        })
    });
}

#[freeze]
fn counted(x: &Float) -> (UInt, UInt) {
    (x.histogram(-1.0, 1.0, x.width() / 2), x.cast::<i32>().bincount(x.width()))
}

#[test]
fn a_histogram_of_as_many_parts_as_the_width_says() {
    alike(frozen!(counted), 1, || {
        [8, 9, 20, 300].map(|n| {
            let (parts, bins) = counted(&floats(n, n));
            (values(&parts), values(&bins))
        })
    });
}

#[freeze]
fn parts(x: &Float) -> Vec<Float> {
    let (before, after) = x.split_at(x.width() / 3);
    let mut all =
        vec![x.slice(1..), x.slice(..), x.slice(..2), x.slice_step(.., 3), x.slice_step(1.., -2), before, after];
    all.extend(x.slice(..4).split(2));
    all.push(x.median());
    all.push(x.argsort().cast());
    all
}

#[test]
fn slices_of_arrays_of_every_width() {
    alike(frozen!(parts), 1, || [9, 8, 7, 300].map(|n| parts(&floats(n, n)).iter().map(values).collect::<Vec<_>>()));
}

#[freeze]
fn from_an_expression(x: &Float, k: &UInt) -> (Float, Float) {
    let five = Float::arange(5) * 3.0 + x.sum();
    ((x * 2.0 + 1.0).gather(&(k % 8)), five.gather(&UInt::arange(x.width())))
}

#[test]
fn an_index_that_was_in_range_may_be_out_of_range_in_a_replay() {
    alike(frozen!(from_an_expression), 1, || {
        [10, 3, 5, 8, 2, 40].map(|width| {
            let (some, five) = from_an_expression(&floats(width, width), &indices(20, 19, width));
            (values(&some), values(&five))
        })
    });
    alike(frozen!(from_an_expression), 1, || {
        [3, 10, 5].map(|width| {
            let (some, five) = from_an_expression(&floats(width, width), &indices(20, 19, width));
            (values(&some), values(&five))
        })
    });
}

#[freeze]
fn nearest(x: &Float, centres: &Float) -> Float {
    let mut best = Float::from(f32::INFINITY);
    for k in 0..centres.width() {
        best = best.min((x - centres[k]).abs());
    }
    let mut last = Int16::from(0);
    for k in (Int16::from(1)..centres.width()).rev() {
        last += k;
    }
    best + last.cast::<f32>()
}

#[test]
fn loops_up_to_a_width_are_recorded_for_all_widths() {
    alike(frozen!(nearest), 1, || {
        [(5, 3), (4, 9), (70, 2)].map(|(n, m)| values(&nearest(&floats(n, 1), &floats(m, 2))))
    });
    let by_hand = |x: f32, centres: &[f32]| centres.iter().fold(f32::INFINITY, |best, c| best.min((x - c).abs()));
    let (x, centres) = (values(&floats(5, 1)), values(&floats(3, 2)));
    let wanted: Vec<f32> = x.iter().map(|&x| by_hand(x, &centres) + 3.0).collect();
    assert_eq!(values(&nearest(&floats(5, 1), &floats(3, 2))), wanted);
}
