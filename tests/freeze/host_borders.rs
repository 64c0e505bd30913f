//! What passes the border between a frozen function and its host calls without being an argument of either: equal
//! expressions on both sides, constants that a closure owns, and arrays that are used in place.

use std::sync::Arc;

use jit::freeze::host;
use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn as_on_the_host(x: &Float) -> (UInt, UInt, Float) {
    let numbers = UInt::arange(6) * 3 + 1;
    let made = host(|| UInt::arange(6) * 3 + 1);
    (numbers, made, x + 1.0)
}

#[test]
fn an_expression_of_a_host_call_is_another_one_than_that_of_the_function() {
    alike(frozen!(as_on_the_host), 1, || {
        [1, 2, 3].map(|salt| {
            let (numbers, made, x) = as_on_the_host(&floats(4, salt));
            assert_eq!(values(&made), [1, 4, 7, 10, 13, 16]);
            (values(&numbers), values(&x))
        })
    });
}

#[freeze]
fn with_a_constant_of_the_host(x: &Float) -> Float {
    let constant = Float::from(5.125);
    let read = constant.clone();
    let made = host(move || Float::from([read.item().unwrap() * 2.0]));
    x * made + constant
}

#[test]
fn a_constant_that_a_host_call_owns_is_none_of_later_code() {
    alike(frozen!(with_a_constant_of_the_host), 1, || {
        [1, 2].map(|salt| {
            let x = floats(3, salt);
            let result = with_a_constant_of_the_host(&x);
            // The recording, and the closure in it, are still there.
            let expected = &x * 10.25 + Float::from(5.125);
            assert_eq!(values(&result), values(&expected));
            values(&(Float::from(5.125) * &x))
        })
    });
}

#[derive(Clone, Traverse)]
struct Weighted {
    weights: Arc<Float>,
    x: Float,
}

#[freeze]
fn times_the_number_of_weights(of: &Weighted) -> Float {
    let weights = Arc::clone(&of.weights);
    let number = host(move || Float::from([weights.len() as f32]));
    &of.x * number + of.weights.sum()
}

#[test]
fn a_host_call_sees_how_wide_an_array_behind_a_shared_pointer_is_in_each_call() {
    for width in [4, 4, 7, 3] {
        let of = Weighted { weights: Arc::new(floats(width, 1)), x: floats(3, width) };
        let sum: f32 = values(&of.weights.sum())[0];
        let expected: Vec<f32> = values(&of.x).iter().map(|x| x * width as f32 + sum).collect();
        assert_eq!(values(&times_the_number_of_weights(&of)), expected, "{width}");
    }
}
