//! Arguments by value that consist of references.

use jit::ad;
use jit::freeze::Frozen;
use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn shifted(x: &Float, bias: Option<&Float>) -> Float {
    bias.map_or_else(|| x * 2.0, |bias| x * 2.0 + bias)
}

#[test]
fn an_optional_reference_is_there_or_not() {
    alike(frozen!(shifted), 2, || {
        [None, Some(1), None, Some(5), Some(2)].map(|seed| {
            let (x, bias) = (floats(7, 3), seed.map(|seed| floats(7, seed)));
            values(&shifted(&x, bias.as_ref()))
        })
    });
}

#[freeze]
fn shifted_by_itself(x: &Float, bias: Option<&Float>) -> Float {
    bias.map_or_else(|| x.clone(), |bias| x - bias)
}

#[test]
fn an_array_that_is_passed_twice_is_one() {
    alike(frozen!(shifted_by_itself), 2, || {
        let [x, y] = [3, 4].map(|seed| floats(5, seed));
        [&x, &y, &x, &y].map(|bias| values(&shifted_by_itself(&x, Some(bias))))
    });
}

#[freeze]
fn mixed((a, b): (&Float, &Float), [c, d]: [&Float; 2], rest: Option<(&[Float], &str)>) -> Float {
    let (rest, word) = rest.unwrap_or((&[], ""));
    rest.iter().fold(a * b + c * d, |sum, x| sum + x) + word.len() as f32
}

#[test]
fn tuples_and_arrays_of_references_are_arguments() {
    alike(frozen!(mixed), 4, || {
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| floats(6, seed));
        let rest = [floats(6, 5), floats(6, 6)];
        let call = |rest| values(&mixed((&a, &b), [&c, &d], rest));
        let pairs = [None, Some((&rest[..], "two")), Some((&rest[..1], "two")), Some((&rest[..1], "three"))];
        (pairs.map(call), pairs.map(call))
    });
}

#[freeze]
fn with_lifetimes<'a>(x: &'a Float, masks: Option<&'a [Mask]>) -> Float {
    masks.map_or_else(|| x.clone(), |masks| masks.iter().fold(x.clone(), |x, mask| mask.select(&x, 0.0)))
}

#[test]
fn lifetimes_may_have_names() {
    alike(frozen!(with_lifetimes), 2, || {
        let x = Float::from([1.0, -2.0, 3.0]);
        let masks = [x.gt(0.0), x.lt(2.0)];
        [None, Some(&masks[..]), None].map(|masks| values(&with_lifetimes(&x, masks)))
    });
}

#[freeze]
fn named(x: &Float, name: Option<&'static str>, units: [&'static str; 2]) -> Float {
    x * (name.map_or(0, str::len) + units[0].len() * units[1].len()) as f32
}

#[test]
fn references_that_live_for_ever_are_copied_with_their_value() {
    alike(frozen!(named), 2, || [None, Some("two"), None].map(|name| values(&named(&floats(3, 1), name, ["kg", "m"]))));
}

struct Layer {
    scale: Float,
}

impl Layer {
    #[freeze]
    fn apply(scale: &Float, x: &Float, residual: Option<&Float>) -> Float {
        let y = x * scale;
        residual.map_or(y.clone(), |residual| y + residual)
    }
}

#[test]
fn gradients_pass_through_optional_arguments() {
    let layer = Layer { scale: Float::opaque(3.0) };
    for with_residual in [false, true, false, true] {
        let (mut x, mut residual) = (floats(4, 1), floats(4, 2));
        x.enable_grad();
        residual.enable_grad();
        let y = Layer::apply(&layer.scale, &x, with_residual.then_some(&residual));
        ad::backward(&y.sum()).unwrap();
        assert_eq!(values(&x.grad()), [3.0_f32; 4]);
        assert_eq!(values(&residual.grad()), [if with_residual { 1.0_f32 } else { 0.0 }; 4]);
    }
}

#[test]
fn closures_take_optional_references() {
    let step = Frozen::new(|x: &Float, bias: Option<&Float>, pair: [&Float; 2]| {
        let sum = x + pair[0] * pair[1];
        bias.map_or(sum.clone(), |bias| sum + bias)
    });
    let [x, a, b, c] = [1, 2, 3, 4].map(|seed| floats(5, seed));
    for bias in [None, Some(&c), None, Some(&a)] {
        let wanted = &x + &a * &b + bias.cloned().unwrap_or_else(|| Float::from(0.0));
        assert_eq!(values(&step.call((&x, bias, [&a, &b]))), values(&wanted));
    }
    // `a` is in the last call at two places.
    crate::frozen_only!(assert_eq!(step.stats().recordings, 3));
}
