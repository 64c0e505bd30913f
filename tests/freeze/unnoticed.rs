//! Constants, host values and memory of calls, where a small mistake of recordings would not be noticed elsewhere.

use std::sync::{Arc, Mutex};

use jit::Size;
use jit::prelude::*;

use crate::{alike, floats, frozen, frozen_only, values};

#[freeze(limit = 100)]
fn line(x: &Float, a: &Float, b: &Float) -> Float {
    x * a + b
}

/// The number of recordings after each call.
fn recordings_of_lines(constants: &[(f32, f32)]) -> Vec<u64> {
    line::clear();
    let before = line::stats().recordings;
    let x = floats(5, 1);
    let call = |&(a, b): &(f32, f32)| {
        let wanted: Vec<f32> = values(&x).into_iter().map(|x| x * a + b).collect();
        assert_eq!(values(&line(&x, &Float::from(a), &Float::from(b))), wanted, "{a}, {b}");
        line::stats().recordings - before
    };
    constants.iter().map(call).collect()
}

#[test]
fn a_constant_becomes_a_parameter_when_it_changes_itself() {
    let first = recordings_of_lines(&[(1.5, 5.0), (2.5, 5.0), (3.5, 5.0), (3.5, 6.0), (4.5, 7.0)]);
    frozen_only!(assert_eq!(first, [1, 2, 2, 3, 3], "the second constant is part of the code until it changes"));
    let second = recordings_of_lines(&[(1.5, 5.0), (1.5, 6.0), (1.5, 7.0), (2.5, 7.0), (3.5, 9.0)]);
    frozen_only!(assert_eq!(second, [1, 2, 2, 3, 3], "the first constant is part of the code until it changes"));
}

#[freeze]
fn with_its_size(x: &Float) -> (Float, UInt) {
    (x + 1.0, UInt::from(x.width()))
}

#[test]
fn a_returned_size_is_that_of_each_call() {
    alike(frozen!(with_its_size), 1, || {
        [3, 8, 5].map(|width| {
            let (_, size) = with_its_size(&floats(width, 1));
            assert_eq!(values(&size), [width as u32]);
            values(&size)
        })
    });
}

#[derive(Clone, Traverse)]
struct Step {
    x: Float,
    is_odd: bool,
}

#[freeze]
fn advance(steps: &mut [Step]) {
    for step in steps {
        step.x = &step.x + 1.0;
        step.is_odd = !step.is_odd;
    }
}

#[test]
fn host_values_in_slices_change_in_each_call() {
    alike(frozen!(advance), 2, || {
        let mut steps = [0, 1].map(|salt| Step { x: floats(3, salt), is_odd: salt == 1 });
        [1, 2, 3, 4].map(|call| {
            advance(&mut steps);
            assert_eq!(steps.clone().map(|step| step.is_odd), [call % 2 == 1, call % 2 == 0]);
            steps.clone().map(|step| values(&step.x))
        })
    });
}

#[derive(Clone, Traverse)]
struct Lookup {
    table: Arc<Float>,
    x: Float,
}

#[freeze]
fn table_of(lookup: &Lookup) -> (Float, Float) {
    ((*lookup.table).clone(), &lookup.x + 1.0)
}

#[test]
fn an_array_behind_a_shared_pointer_is_returned() {
    alike(frozen!(table_of), 1, || {
        let table = Arc::new(floats(4, 2));
        [1, 2, 3].map(|salt| {
            let (table, x) = table_of(&Lookup { table: Arc::clone(&table), x: floats(3, salt) });
            (values(&table), values(&x))
        })
    });
}

#[freeze]
fn counted(count: &Size, rows: &Tensor<f32>) -> (UInt, Tensor<f32>) {
    (UInt::arange(*count), rows + 1.0)
}

#[test]
fn a_size_beside_a_tensor_is_none_of_its_lengths() {
    alike(frozen!(counted), 2, || {
        [(7, 2), (7, 4), (5, 2), (5, 3)].map(|(count, rows)| {
            let rows = Tensor::from_array(floats(rows * 3, rows), [rows, 3]);
            let (numbers, rows) = counted(&Size::from(count), &rows);
            assert_eq!(values(&numbers).len(), count);
            (values(&numbers), rows.to_vec().unwrap())
        })
    });
}

#[freeze]
fn count_at(counts: &mut UInt, at: &UInt) -> UInt {
    let before = counts.clone();
    counts.scatter_add(1, at);
    before
}

#[test]
fn the_elements_from_before_a_write_are_returned() {
    alike(frozen!(count_at), 1, || {
        let mut counts = UInt::arange(6).make_opaque();
        jit::eval(&counts).unwrap();
        [1, 1, 4].map(|place| {
            let before = count_at(&mut counts, &UInt::from([place, 2]));
            (values(&before), values(&counts))
        })
    });
}

static SIZE: Mutex<Option<Size>> = Mutex::new(None);

#[freeze]
fn keeps_its_size(x: &Float) -> Float {
    *SIZE.lock().unwrap() = Some(x.width());
    x + 1.0
}

#[freeze]
fn uses_a_size_from_elsewhere(x: &Float) -> (Float, UInt) {
    let size = SIZE.lock().unwrap().unwrap();
    (x + 1.0, UInt::arange(size))
}

#[test]
fn a_size_of_another_recording_is_a_number() {
    alike(frozen!(uses_a_size_from_elsewhere), 1, || {
        keeps_its_size::clear();
        jit::eval(&keeps_its_size(&floats(5, 1))).unwrap();
        [7, 9, 3].map(|width| {
            let (x, numbers) = uses_a_size_from_elsewhere(&floats(width, 1));
            (values(&x), values(&numbers))
        })
    });
}

#[freeze]
fn at_most_two(x: &Float) -> (Float, UInt) {
    (x + 1.0, UInt::arange(Size::from(2).min(x.width() / 2)))
}

#[test]
fn the_smaller_of_two_and_another_size_may_be_one() {
    at_most_two::clear();
    for width in [8, 9, 3, 2, 5] {
        assert_eq!(values(&at_most_two(&floats(width, 1)).1).len(), (width / 2).min(2), "{width}");
    }
}

#[freeze]
fn two_constants(x: &Float, a: &Float, b: &Float) -> (Float, Float, Float) {
    (x * a + b, a.tile(x.width()), b.tile(x.width()))
}

#[test]
fn each_constant_is_returned_as_itself() {
    alike(frozen!(two_constants), 1, || {
        [(3, 2.0, 5.0), (3, 7.0, 1.5), (5, 4.0, 2.5)].map(|(width, a, b)| {
            let (sum, a, b) = two_constants(&floats(width, 1), &Float::opaque(a), &Float::opaque(b));
            (values(&sum), values(&a), values(&b))
        })
    });
}

#[freeze]
fn with_many_sizes(x: &Float, sizes: &usize) -> (Float, UInt, bool) {
    let many = (0..*sizes).map(|number| x.width() + number).max();
    // There is no room for this one.
    let area = x.width() * x.width() * 3;
    (x + 1.0, UInt::from(area), many.is_some() && area == 75)
}

#[test]
fn a_size_for_which_there_is_no_room_is_that_of_each_call() {
    for sizes in [10, 70_000] {
        for width in [5, 7, 5, 9] {
            let (_, area, is_75) = with_many_sizes(&floats(width, 1), &sizes);
            assert_eq!((values(&area)[0] as usize, is_75), (width * width * 3, width == 5), "{sizes} sizes, {width}");
        }
    }
}
