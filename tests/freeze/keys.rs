//! What distinguishes calls of one function where little differs: types, lengths, texts, shared and repeated arrays.

use std::sync::Arc;

use jit::prelude::*;
use jit::{Visitor, VisitorMut};

use crate::{alike, floats, frozen, indices, values};

/// An array of either type, which is shown without saying of which.
#[derive(Clone)]
enum Either {
    Float(Float),
    UInt(UInt),
}

impl Traverse for Either {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        match self {
            Either::Float(x) => visitor.field("x", x),
            Either::UInt(x) => visitor.field("x", x),
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        match self {
            Either::Float(x) => visitor.field("x", x),
            Either::UInt(x) => visitor.field("x", x),
        }
    }
}

#[freeze]
fn scaled(either: &Either) -> Float {
    match either {
        Either::Float(x) => x * 2.0,
        Either::UInt(x) => x.cast::<f32>() + 1.0,
    }
}

#[test]
fn the_types_of_arrays_distinguish_calls() {
    alike(frozen!(scaled), 2, || {
        [1, 2, 3].map(|salt| {
            let either = [Either::Float(floats(5, salt)), Either::UInt(indices(5, 9, salt))];
            either.map(|either| values(&scaled(&either)))
        })
    });
}

/// A number of either type, which is shown without saying of which.
#[derive(Clone)]
enum Count {
    Whole(u32),
    Real(f32),
}

impl Traverse for Count {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        match self {
            Count::Whole(count) => visitor.field("count", count),
            Count::Real(count) => visitor.field("count", count),
        }
    }

    fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
}

#[freeze]
fn counted(x: &Float, count: &Count) -> Float {
    match count {
        Count::Whole(count) => x + (*count >> 20) as f32,
        Count::Real(count) => x * *count,
    }
}

#[test]
fn the_types_of_numbers_distinguish_calls() {
    alike(frozen!(counted), 2, || {
        [1, 2, 3].map(|salt| {
            let counts = [Count::Real(1.5), Count::Whole(1.5_f32.to_bits())];
            counts.map(|count| values(&counted(&floats(5, salt), &count)))
        })
    });
}

/// Numbers that are shown without their count.
#[derive(Clone)]
struct Parameters(Vec<f32>);

impl Traverse for Parameters {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let number = |number: &f32| jit::HostValue::Parameter(<f32 as jit::Element>::TYPE, number.to_bits().into());
        self.0.iter().for_each(|it| visitor.host(number(it)));
    }

    fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
}

#[freeze]
fn with_parameters(x: &Float, parameters: &Parameters) -> Float {
    x * parameters.0.len() as f32
}

#[test]
fn how_many_parameters_there_are_distinguishes_calls() {
    alike(frozen!(with_parameters), 3, || {
        [1, 2, 3, 2, 1, 3].map(|count| values(&with_parameters(&floats(5, count), &Parameters(vec![0.5; count]))))
    });
}

/// What has nothing to show.
#[derive(Clone, Traverse)]
struct Mark;

#[freeze]
fn marked(x: &Float, marks: &[Mark]) -> Float {
    x * marks.len() as f32
}

#[test]
fn the_lengths_of_lists_distinguish_calls() {
    alike(frozen!(marked), 3, || [1, 2, 0, 2, 1, 0].map(|count| values(&marked(&floats(5, 1), &vec![Mark; count]))));
}

#[freeze]
fn lettered(x: &Float, text: &str) -> Float {
    x * text.len() as f32 + text.bytes().map(u32::from).sum::<u32>() as f32
}

#[test]
fn every_byte_of_a_string_and_their_number_distinguish_calls() {
    alike(frozen!(lettered), 5, || {
        ["ab", "ac", "a", "a\0", "a\0\0", "ab", "ac", "a", "a\0", "a\0\0"]
            .map(|text| values(&lettered(&floats(5, 1), text)))
    });
}

#[freeze]
fn chained(list: &[Float]) -> Float {
    list.iter().fold(Float::from(0.0), |sum, x| sum * 2.0 + x)
}

/// Of few inputs each is compared, of many the addresses are.
#[test]
fn repeated_arrays_distinguish_calls_among_many() {
    alike(frozen!(chained), 4, || {
        [None, Some(0), Some(7), Some(9), None, Some(0), Some(7), Some(9)].map(|repeated| {
            let mut list: Vec<Float> = (0..12).map(|salt| floats(5, salt)).collect();
            if let Some(repeated) = repeated {
                list[11] = list[repeated].clone();
            }
            values(&chained(&list))
        })
    });
}

#[derive(Clone, Traverse)]
struct Weights {
    weights: Arc<Float>,
}

#[freeze]
fn weighted(x: &Float, shared: &Weights) -> Float {
    x * 2.0 + &*shared.weights
}

#[test]
fn an_array_is_passed_by_value_and_behind_a_shared_reference() {
    alike(frozen!(weighted), 2, || {
        let weights = Weights { weights: Arc::new(floats(5, 3)) };
        let x = (*weights.weights).clone();
        let both = [1, 2].map(|_| values(&weighted(&x, &weights)));
        (both, [1, 2].map(|salt| values(&weighted(&floats(5, salt), &weights))))
    });
}

/// An array that belongs to others or does not, which is shown without saying so.
#[derive(Clone)]
struct Lent {
    is_shared: bool,
    x: Float,
}

impl Traverse for Lent {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        if self.is_shared { visitor.shared(&self.x) } else { visitor.field("x", &self.x) }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        if !self.is_shared {
            visitor.field("x", &mut self.x);
        }
    }
}

impl Lent {
    /// Halves an array that is not shared; the factor of the result says which it was.
    fn halve(&mut self, y: &Float) -> Float {
        if self.is_shared {
            y * 2.0
        } else {
            self.x = &self.x * 0.5;
            y * 3.0
        }
    }
}

#[freeze]
fn halved(lent: &mut Lent, y: &Float) -> Float {
    lent.halve(y)
}

#[test]
fn whether_arrays_are_shared_distinguishes_calls() {
    alike(frozen!(halved), 4, || {
        let (x, y) = (floats(5, 1), floats(5, 2));
        let calls = [(false, &x), (true, &x), (false, &y), (true, &y)];
        [0, 1, 2].map(|_| {
            calls.map(|(is_shared, second)| {
                let mut lent = Lent { is_shared, x: x.clone() };
                // The same array before and after: shared it is the first, and then a repeated one.
                let sum = values(&halved(&mut lent, second));
                (sum, values(&lent.x))
            })
        })
    });
}

#[freeze]
fn repeated_after(y: &Float, lent: &mut Lent) -> Float {
    lent.halve(y)
}

#[test]
fn whether_a_repeated_array_is_shared_distinguishes_calls() {
    alike(frozen!(repeated_after), 2, || {
        let x = floats(5, 1);
        [false, true, false, true].map(|is_shared| {
            let mut lent = Lent { is_shared, x: x.clone() };
            (values(&repeated_after(&x, &mut lent)), values(&lent.x))
        })
    });
}

#[freeze]
fn by_axes(x: &Tensor<f32>, y: &Tensor<f32>) -> Float {
    x.array() * x.ndim() as f32 + y.ndim() as f32
}

/// The lengths of all tensors are one list.
#[test]
fn the_numbers_of_axes_distinguish_calls() {
    alike(frozen!(by_axes), 3, || {
        let tensor = |shape: &[usize]| Tensor::from_array(floats(shape.iter().product(), shape.len()), shape);
        [(&[2_usize, 3][..], &[4_usize][..]), (&[6], &[2, 2]), (&[6], &[4])]
            .repeat(2)
            .into_iter()
            .map(|(x, y)| values(&by_axes(&tensor(x), &tensor(y))))
            .collect::<Vec<_>>()
    });
}

#[freeze(limit = 4)]
fn at_most_four(x: &Float, names: &[String]) -> Float {
    if x.len() == 7 { x * 2.0 } else { x + names.len() as f32 }
}

/// The last of several kinds of calls is dropped for a second recording of the first kind, and comes again.
#[test]
fn a_dropped_kind_of_calls_is_found_missing_when_there_are_fewer_kinds() {
    at_most_four::clear();
    let call = |kind: usize, width: usize| {
        let x = floats(width, kind);
        let wanted = values(&x).into_iter().map(|x| if width == 7 { x * 2.0 } else { x + kind as f32 });
        assert_eq!(values(&at_most_four(&x, &vec!["name".to_owned(); kind])), wanted.collect::<Vec<_>>());
        at_most_four::stats().recordings
    };
    let calls = [(0, 5), (1, 5), (2, 5), (3, 5), (0, 5), (1, 5), (2, 5), (0, 7), (3, 5), (3, 5)];
    let recordings = calls.map(|(kind, width)| call(kind, width));
    crate::frozen_only!();
    assert_eq!(recordings, [1, 2, 3, 4, 4, 4, 4, 5, 6, 6]);
}

/// A number that is part of a type.
#[freeze]
fn multiplied<const N: usize>(x: &Float) -> Float {
    x * N as f32
}

#[test]
fn constants_of_types_distinguish_calls() {
    let x = floats(5, 1);
    for _ in 0..3 {
        for (given, by) in [(multiplied::<2>(&x), 2.0), (multiplied::<3>(&x), 3.0)] {
            assert_eq!(values(&given), values(&x).iter().map(|x| x * by).collect::<Vec<_>>());
        }
    }
}
