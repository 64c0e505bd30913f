//! The results of a frozen function: values of any shape, arrays from its arguments, constants, nothing.

use std::collections::BTreeMap;

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn pair(x: &Float, y: &Float) -> (Float, Float) {
    (x + y, x * y)
}

#[freeze]
fn list(x: &Float, y: &Float) -> Vec<Float> {
    vec![x + y, x * y]
}

#[freeze]
fn map(x: &Float, y: &Float) -> BTreeMap<&'static str, Float> {
    BTreeMap::from([("add", x + y), ("mul", x * y)])
}

#[freeze]
fn nested(x: &Float, y: &Float) -> (Float, Float, (Float, Float)) {
    (x + y, x * y, (x - y, x / y))
}

// rows: F003 F004 F005 F006
#[test]
fn tuples_lists_and_maps() {
    let inputs = || [3, 3, 8].map(|n| (floats(n, n), floats(n, 9)));
    alike(frozen!(pair), 1, || {
        inputs().map(|(x, y)| {
            let (a, b) = pair(&x, &y);
            [a, b].map(|z| values(&z))
        })
    });
    alike(frozen!(list), 1, || inputs().map(|(x, y)| list(&x, &y).iter().map(values).collect::<Vec<_>>()));
    alike(frozen!(map), 1, || {
        inputs().map(|(x, y)| map(&x, &y).iter().map(|(key, z)| (*key, values(z))).collect::<Vec<_>>())
    });
    alike(frozen!(nested), 1, || {
        inputs().map(|(x, y)| {
            let (a, b, (c, d)) = nested(&x, &y);
            [a, b, c, d].map(|z| values(&z))
        })
    });
}

#[derive(Clone, Default, Traverse)]
struct Ring {
    position: Float,
    velocity: Float,
    steps: usize,
}

#[derive(Clone, Traverse)]
struct Point {
    x: Float,
    y: Float,
}

#[freeze]
fn ring(x: &Float) -> Ring {
    Ring { position: x + 1.0, velocity: x + 2.0, steps: 3 }
}

#[freeze]
fn point(x: &Float) -> Point {
    Point { x: x + 1.0, y: x + 2.0 }
}

// rows: F007 F008
#[test]
fn structs() {
    alike(frozen!(ring), 1, || {
        [4, 4, 2].map(|n| {
            let ring = ring(&floats(n, n));
            (values(&ring.position), values(&ring.velocity), ring.steps)
        })
    });
    alike(frozen!(point), 1, || {
        [4, 4, 2].map(|n| {
            let point = point(&floats(n, n));
            [point.x, point.y].map(|z| values(&z))
        })
    });
}

#[derive(Clone, Traverse)]
enum Shape {
    Nothing,
    Some(Vec<Vec<Float>>, [Vec<Float>; 2]),
}

#[derive(Clone, Traverse)]
struct Everything {
    shape: Shape,
    other: Shape,
    nothing: Option<Float>,
    name: String,
    unit: (),
}

#[freeze]
fn everything(x: &Float, target: &mut Float) -> Everything {
    target.scatter(x, &UInt::arange(x.width()));
    let lists = vec![vec![x + 1.0], vec![], vec![x * 2.0, x - 1.0]];
    Everything {
        shape: Shape::Some(lists, [vec![], vec![x.sum()]]),
        other: Shape::Nothing,
        nothing: None,
        name: "all".to_owned(),
        unit: (),
    }
}

#[freeze]
fn only_writes(x: &Float, target: &mut Float) {
    target.scatter(x, &UInt::arange(x.width()));
}

// rows: F036
#[test]
fn empty_lists_and_nothing_come_back_as_they_were() {
    alike(frozen!(everything), 1, || {
        [3, 3, 5].map(|n| {
            let mut target = floats(6, 1);
            let all = everything(&floats(n, n), &mut target);
            assert!(all.nothing.is_none() && matches!(all.other, Shape::Nothing) && all.name == "all");
            let Shape::Some(lists, pair) = all.shape else { unreachable!("the variant is the same") };
            let of = |lists: &[Vec<Float>]| {
                lists.iter().map(|list| list.iter().map(values).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            (of(&lists), of(&pair), values(&target), all.unit)
        })
    });
    alike(frozen!(only_writes), 1, || {
        [3, 3, 5].map(|n| {
            let mut target = floats(6, 1);
            only_writes(&floats(n, n), &mut target);
            values(&target)
        })
    });
}

#[freeze]
fn to_integers(x: &Float) -> (Int, UInt, Int64, Float64, Mask) {
    (x.cast(), x.abs().cast(), x.cast(), x.cast::<f64>() / 3.0, x.gt(0.0))
}

// rows: F027
#[test]
fn results_of_several_types() {
    alike(frozen!(to_integers), 1, || {
        [5, 64, 3].map(|n| {
            let (a, b, c, d, e) = to_integers(&floats(n, n));
            (values(&a), values(&b), values(&c), values(&d), values(&e))
        })
    });
}

#[freeze]
fn in_two_steps(x: &Float, is_scaled: bool) -> (Option<Float>, Float, Float) {
    let y = if is_scaled { x * 2.0 } else { x + 1.0 };
    jit::eval(&y).unwrap();
    let z = y.reverse() + &y;
    (None, x.clone(), z)
}

// rows: F034
#[test]
fn bodies_that_evaluate_in_the_middle() {
    alike(frozen!(in_two_steps), 2, || {
        [(3, true), (4, true), (5, false), (2, false), (3, true)].map(|(n, is_scaled)| {
            let x = floats(n, n);
            let (nothing, same, z) = in_two_steps(&x, is_scaled);
            assert!(nothing.is_none());
            (values(&same), values(&z))
        })
    });
}

#[freeze]
fn identity(x: &Float) -> Float {
    x.clone()
}

// rows: C08
#[test]
fn an_input_comes_back_as_it_is() {
    alike(frozen!(identity), 1, || {
        [3, 7, 2].map(|n| {
            let x = floats(n, n);
            let mut y = identity(&x);
            y.scatter(100.0, &UInt::from(1));
            (values(&x), values(&y))
        })
    });
}

#[freeze]
fn moved(x: Float) -> Float {
    x
}

// rows: C08
#[test]
fn a_donated_argument_is_returned() {
    alike(frozen!(moved), 1, || {
        [3, 7, 2].map(|n| {
            let mut y = moved(floats(n, n));
            y.scatter(100.0, &UInt::from(1));
            values(&y)
        })
    });
}

#[freeze]
fn twice(x: &Float) -> (Float, Float) {
    let y = x + 1.0;
    (y.clone(), y)
}

#[test]
fn one_array_is_returned_twice() {
    alike(frozen!(twice), 1, || {
        [3, 7, 2].map(|n| {
            let (mut a, b) = twice(&floats(n, n));
            a.scatter(100.0, &UInt::from(1));
            let seen = (values(&a), values(&b));
            let c = twice(&floats(n, n + 1)).0;
            (seen, values(&c), values(&a), values(&b))
        })
    });
}

#[freeze]
fn constants(x: &Float) -> (Float, Float, Float) {
    let filled = Float::from([1.0, 2.0, 3.0]);
    (filled, Float::zeros(x.width()), Float::full(4.0, 2))
}

#[test]
fn writes_to_returned_constants_change_no_later_result() {
    alike(frozen!(constants), 1, || {
        [3, 7, 2].map(|n| {
            let (mut a, mut b, mut c) = constants(&floats(n, n));
            let before = [&a, &b, &c].map(values);
            for array in [&mut a, &mut b, &mut c] {
                array.scatter(100.0, &UInt::from(1));
            }
            (before, [a, b, c].map(|array| values(&array)))
        })
    });
}

#[freeze]
fn swap(a: &mut Float, b: &mut Float) {
    std::mem::swap(a, b);
    *b += 1.0;
}

#[test]
fn arguments_are_swapped() {
    alike(frozen!(swap), 1, || {
        let (mut a, mut b) = (floats(3, 1), floats(5, 2));
        [(); 4].map(|()| {
            swap(&mut a, &mut b);
            (values(&a), values(&b))
        })
    });
}

#[freeze]
fn same_for_both(x: &Float, a: &mut Float, b: &mut Float) {
    let y = x * 2.0;
    (*a, *b) = (y.clone(), y);
}

#[test]
fn two_arguments_get_the_same_array_and_change_apart() {
    alike(frozen!(same_for_both), 1, || {
        [3, 6, 2].map(|n| {
            let (mut a, mut b) = (floats(n, 1), floats(n, 2));
            same_for_both(&floats(n, n), &mut a, &mut b);
            a.scatter(-1.0, &UInt::from(0));
            (values(&a), values(&b))
        })
    });
}

#[freeze]
fn maybe(x: &Option<Float>, y: &Float) -> Option<Float> {
    x.as_ref().map(|x| x + y)
}

// rows: F036
#[test]
fn options_are_distinguished() {
    alike(frozen!(maybe), 2, || {
        [3, 5, 3].map(|n| {
            let x = floats(n, n);
            let some = maybe(&Some(x.clone()), &floats(n, 2));
            [some, maybe(&None, &x)].map(|z| z.map(|z| values(&z)))
        })
    });
}

/// Results of a function that are not arguments by name.
static ELSEWHERE: std::sync::Mutex<Option<Float>> = std::sync::Mutex::new(None);

fn elsewhere() -> Float {
    ELSEWHERE.lock().ok().and_then(|array| array.clone()).unwrap_or_default()
}

#[freeze]
fn from_elsewhere(x: &Float) -> Float {
    let _ = x + 1.0;
    elsewhere()
}

#[freeze]
fn with_elsewhere(x: &Float) -> Float {
    x + elsewhere()
}

#[test]
fn an_array_from_elsewhere_is_refused_even_if_it_is_an_argument_in_this_call() {
    crate::frozen_only!();
    let x = floats(4, 1);
    for array in [x.clone(), Float::from(2.0)] {
        *ELSEWHERE.lock().unwrap() = Some(array);
        for message in [crate::message_of(|| from_elsewhere(&x)), crate::message_of(|| with_elsewhere(&x))] {
            assert!(message.contains("uses an array that is not an argument of it"), "{message}");
            assert!(!message.contains("session.rs"), "{message}");
        }
    }
}

#[freeze]
fn changed_copy(x: Float) -> (Float, Float) {
    let mut y = x.clone();
    y.scatter_add(100.0, &UInt::from(1));
    (x, y)
}

#[freeze]
fn copy_of_state(x: &mut Float, z: &mut Float) {
    *z = x.clone();
    z.scatter_add(100.0, &UInt::from(1));
}

#[test]
fn an_argument_that_is_given_back_is_not_overwritten_by_what_changes_its_copy() {
    alike(frozen!(changed_copy), 1, || {
        [3, 7, 2, 7].map(|n| {
            let (x, y) = changed_copy(floats(n, n));
            (values(&x), values(&y))
        })
    });
    alike(frozen!(copy_of_state), 1, || {
        [3, 7, 2, 7].map(|n| {
            let (mut x, mut z) = (floats(n, n), floats(n, n + 1));
            copy_of_state(&mut x, &mut z);
            (values(&x), values(&z))
        })
    });
}
