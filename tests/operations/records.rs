//! Gathers and scatters of the elements of records, such as pixels and small matrices, which are accessed together.

use jit::Integer;
use jit::prelude::*;

use crate::agree::{on_each_device, resident, same};
use crate::corners::Corners;

/// Lanes: whole groups and a rest.
const LANES: usize = 333;

/// The value of a record's element.
fn value<T: Corners>(values: &[T], lane: usize, column: usize) -> T {
    values[(lane * 7 + column * 3) % values.len()]
}

/// Scatters the columns of records in an order, from an element on, to a target that is too short for the last ones.
/// Other elements keep their value.
fn scattered<T: Corners, I: Integer>(count: usize, first: i64, columns: &[usize], make: fn(i64) -> I) {
    let values = T::corners();
    let length = (LANES - 20) * count + 1;
    let before: Vec<T> = values.iter().copied().rev().cycle().take(length).collect();
    let (mut target, mut wanted) = (resident(&before), before.clone());
    let number = Array::<I>::arange(LANES) + Array::from(make(first));
    for &column in columns {
        let all: Vec<T> = (0..LANES).map(|lane| value(&values, lane, column)).collect();
        target.scatter(resident(&all), &(&number * make(count as i64) + make(column as i64)));
        for (lane, value) in all.into_iter().enumerate() {
            let at = (lane as i64 + first) * count as i64 + column as i64;
            if let Some(element) = usize::try_from(at).ok().and_then(|at| wanted.get_mut(at)) {
                *element = value;
            }
        }
    }
    let call = |at: usize| format!("element {at} of records of {count} {} from {first} on, {columns:?}", T::TYPE);
    same(&target.to_vec().unwrap(), &wanted, call);
    gathered(&wanted, count, first, columns, make);
}

/// Gathers the same columns; those behind the end are zero.
fn gathered<T: Corners, I: Integer>(all: &[T], count: usize, first: i64, columns: &[usize], make: fn(i64) -> I) {
    let (array, number) = (resident(all), Array::<I>::arange(LANES) + Array::from(make(first)));
    let place = |column: usize| &number * make(count as i64) + make(column as i64);
    let found: Vec<Array<T>> = columns.iter().map(|column| array.gather(&place(*column))).collect();
    jit::eval(&found).unwrap();
    for (column, found) in columns.iter().zip(&found) {
        let at = |lane: usize| usize::try_from((lane as i64 + first) * count as i64 + *column as i64).ok();
        let element = |lane: usize| at(lane).and_then(|at| all.get(at)).copied().unwrap_or_default();
        let wanted: Vec<T> = (0..LANES).map(element).collect();
        let call = |lane: usize| format!("column {column} of record {lane} of {count} {} from {first} on", T::TYPE);
        same(&found.to_vec().unwrap(), &wanted, call);
    }
}

fn records<T: Corners>() {
    for count in [2, 3, 4, 5, 6, 8, 9, 12, 16, 17] {
        let all: Vec<usize> = (0..count).collect();
        let mixed: Vec<usize> = (0..count).map(|i| count - 1 - i).collect();
        scattered::<T, u32>(count, 0, &all, |number| number as u32);
        scattered::<T, i32>(count, -5, &mixed, |number| number as i32);
        scattered::<T, u64>(count, 3, &all, |number| number as u64);
        // One is missing, and one is written twice.
        scattered::<T, u32>(count, 0, &all[1..], |number| number as u32);
        // As many as a record has, but of two records.
        let next: Vec<usize> = (1..=count).collect();
        scattered::<T, u32>(count, 0, &next, |number| number as u32);
        let twice: Vec<usize> = all.iter().copied().chain([0]).collect();
        scattered::<T, i64>(count, 0, &twice, |number| number);
    }
}

macro_rules! records_of {
    ($($name:ident: $ty:ty;)*) => {
        $(#[test]
        fn $name() {
            on_each_device(records::<$ty>);
        })*
    };
}

records_of! {
    records_of_bool: bool;
    records_of_u8: u8;
    records_of_i16: i16;
    records_of_f16: half::f16;
    records_of_f32: f32;
    records_of_u32: u32;
    records_of_f64: f64;
    records_of_i64: i64;
}

#[test]
fn a_constant_column_and_the_same_value_in_two_columns() {
    on_each_device(|| {
        let x = resident(&(0..LANES as u32).collect::<Vec<u32>>());
        let (mut target, lane) = (UInt::zeros(LANES * 4), UInt::arange(LANES));
        for (column, value) in [x.clone(), UInt::from(7), x.clone(), &x + 1].iter().enumerate() {
            target.scatter(value, &(&lane * 4 + column as u32));
        }
        let wanted: Vec<u32> = (0..LANES as u32).flat_map(|i| [i, 7, i, i + 1]).collect();
        same(&target.to_vec().unwrap(), &wanted, |at| format!("element {at}"));
    });
}

#[test]
fn a_masked_column_keeps_what_was_there() {
    on_each_device(|| {
        let (mut target, lane) = (resident(&vec![9u32; LANES * 3]), UInt::arange(LANES));
        for column in 0..3_u32 {
            match column {
                1 => target.scatter_masked(&lane, &(&lane * 3 + 1), &lane.lt(100)),
                _ => target.scatter(&lane, &(&lane * 3 + column)),
            }
        }
        let wanted: Vec<u32> = (0..LANES as u32).flat_map(|i| [i, if i < 100 { i } else { 9 }, i]).collect();
        same(&target.to_vec().unwrap(), &wanted, |at| format!("element {at}"));
    });
}
