//! Plain numbers among the parameters: combined with arrays they are values of each call, and anywhere else they are
//! decisions.

use std::collections::HashMap;

use jit::Size;
use jit::prelude::*;

use crate::{alike, floats, frozen, values};

const NUMBERS: [f32; 6] = [1.0, 2.0, 3.0, 3.0, 0.5, 7.0];

#[freeze]
fn bound_again(x: &Float, k: f32) -> Float {
    let scale = k * 2.0;
    let scale = scale + x.ndim() as f32;
    let shift = k * 0.5;
    let mut sum = x * scale;
    for shift in 0..3 {
        sum += shift as f32;
    }
    let add = |shift: f32| shift + 1.0;
    sum + shift + add(5.0)
}

/// A number of the host.
trait Ndim {
    fn ndim(&self) -> usize;
}

impl Ndim for Float {
    fn ndim(&self) -> usize {
        1
    }
}

#[test]
fn a_shadowed_name_refers_to_the_new_binding() {
    alike(frozen!(bound_again), 5, || NUMBERS.map(|k| values(&bound_again(&floats(5, 1), k))));
    assert_eq!(values(&bound_again(&Float::from(0.0), 2.0)), [0.0 + 3.0 + 1.0 + 6.0]);
}

struct Scaling {
    scale: f32,
}

#[freeze]
fn hidden_uses(x: &Float, k: f32) -> Float {
    let scale = k * 0.5;
    let (listed, width) = (vec![scale, 1.0], 3.0_f32);
    let width = format!("{:>width$}", 1, width = (width * k) as usize).len() as f32;
    let scale = k * 0.25;
    let scaling = Scaling { scale };
    x * listed[0] + scaling.scale + width
}

#[freeze]
fn in_a_macro(x: &Float, k: f32) -> Float {
    let scale = k * 0.5;
    let listed = vec![scale, 1.0];
    x * listed[0]
}

#[freeze]
fn in_short(x: &Float, k: f32) -> Float {
    let scale = k * 0.5;
    let scaling = Scaling { scale };
    x * scaling.scale
}

#[freeze]
fn in_a_text(x: &Float, columns: usize) -> Float {
    x * format!("{:>columns$}", 1).len() as f32
}

#[test]
fn uses_in_macros_strings_and_short_fields_are_guards() {
    alike(frozen!(hidden_uses), 5, || NUMBERS.map(|k| values(&hidden_uses(&floats(5, 1), k))));
    alike(frozen!(in_a_macro), 5, || NUMBERS.map(|k| values(&in_a_macro(&floats(5, 1), k))));
    alike(frozen!(in_short), 5, || NUMBERS.map(|k| values(&in_short(&floats(5, 1), k))));
    alike(frozen!(in_a_text), 4, || [1, 2, 9, 9, 30].map(|n| values(&in_a_text(&floats(5, 1), n))));
}

#[freeze]
fn compared(x: &Float, most: u32) -> Float {
    let (mut count, mut sum) = (0_u32, x.clone());
    while count < most {
        count += 1;
        sum = if count % 2 == most % 2 { sum * 2.0 } else { sum + most as f32 };
    }
    sum
}

#[test]
fn numbers_of_the_host_are_compared_with_those_of_the_call() {
    alike(frozen!(compared), 4, || [2, 0, 5, 1, 5].map(|n| values(&compared(&floats(5, 1), n))));
}

#[deny(unused_variables)]
#[freeze]
fn converted_alone(rounds: u32) -> UInt {
    UInt::from(rounds)
}

#[test]
fn a_number_that_is_only_converted_is_used() {
    alike(frozen!(converted_alone), 2, || [4, 5, 6, 4].map(|n| values(&converted_alone(n))));
}

#[freeze]
fn looked_up(x: &Float) -> Float {
    let table: HashMap<Size, f32> = [(Size::from(5), 2.0)].into_iter().collect();
    x * table.get(&x.width()).copied().unwrap_or(9.0)
}

#[freeze]
fn named(x: &Float) -> Float {
    x * format!("{}", x.width()).len() as f32
}

#[freeze]
fn described(x: &Float) -> Float {
    x * jit::leaves(x)[0].1.width as f32
}

#[test]
fn sizes_that_are_looked_up_or_listed_are_decisions() {
    alike(frozen!(looked_up), 3, || [4, 5, 6, 5].map(|n| values(&looked_up(&floats(n, 1)))));
    alike(frozen!(named), 3, || [5, 6, 10, 6].map(|n| values(&named(&floats(n, 1)))));
    alike(frozen!(described), 3, || [4, 5, 6, 5].map(|n| values(&described(&floats(n, 1)))));
}

#[freeze]
fn corrected(mean: &Float, square: &Float, round: i32, rate: f32) -> Float {
    let unbiased = 1.0 - (0.99_f32).powf(round as f32);
    mean / (1.0 - 0.9_f32.powi(round)) / (square / unbiased).sqrt() * (-0.5_f32).max(rate)
}

#[test]
fn powers_of_literals_are_number_expressions() {
    let (mean, square) = (floats(5, 1), floats(5, 2).abs() + 1.0);
    let rounds = || [1, 2, 3, 50].map(|round| values(&corrected(&mean, &square, round, 0.25)));
    alike(frozen!(corrected), 2, rounds);
}
