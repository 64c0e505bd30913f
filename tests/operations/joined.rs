//! Concatenations of few and of many parts, of all widths, against vectors.

use jit::Element;
use jit::prelude::*;

use crate::agree::on_each_device;
use crate::dice::Dice;

/// The widths of some parts: some are empty, and some have one element.
fn widths(dice: &mut Dice, count: usize) -> Vec<usize> {
    (0..count).map(|_| if dice.roll(4) == 0 { dice.roll(3) } else { dice.roll(40) }).collect()
}

fn check<T: Element + PartialEq>(dice: &mut Dice, count: usize, value: impl Fn(usize) -> T) {
    let lists: Vec<Vec<T>> =
        widths(dice, count).into_iter().map(|width| (0..width).map(|_| value(dice.roll(200))).collect()).collect();
    let parts: Vec<Array<T>> = lists.iter().map(|list| Array::from(list.clone())).collect();
    assert_eq!(Array::concat(&parts).to_vec().unwrap(), lists.concat(), "{count} parts");
}

#[test]
fn arrays_of_any_number_and_widths_are_joined() {
    on_each_device(|| {
        let mut dice = Dice(11);
        for count in (0..20).chain([31, 32, 33, 64, 100]) {
            check(&mut dice, count, |x| x as f32);
            check(&mut dice, count, |x| x as u8);
            check(&mut dice, count, |x| x % 2 == 0);
            check(&mut dice, count, |x| x as u64 * 0x1234_5678_9abc);
        }
    });
}

#[test]
fn tensors_are_joined_along_each_axis() {
    on_each_device(|| {
        let mut dice = Dice(12);
        for count in [1, 2, 5, 8, 9, 17, 30] {
            for axis in 0..3 {
                let shapes: Vec<[usize; 3]> = (0..count)
                    .map(|_| std::array::from_fn(|at| if at == axis { dice.roll(4) } else { at + 2 }))
                    .collect();
                let tensor = |(k, shape): (usize, &[usize; 3])| {
                    Tensor::from_array(Int::arange(shape.iter().product::<usize>()) + 1000 * k as i32, *shape)
                };
                let parts: Vec<Tensor<i32>> = shapes.iter().enumerate().map(tensor).collect();
                let joined = Tensor::concat(&parts, axis);
                let (before, after) = ([1, 2, 6][axis], [12, 4, 1][axis]);
                let mut wanted = Vec::new();
                for outer in 0..before {
                    for (k, shape) in shapes.iter().enumerate() {
                        let run = shape[axis] * after;
                        wanted.extend((0..run).map(|at| (outer * run + at) as i32 + 1000 * k as i32));
                    }
                }
                assert_eq!(joined.to_vec().unwrap(), wanted, "{count} parts along {axis}");
            }
        }
    });
}

#[freeze]
fn frozen(parts: &[Float]) -> Float {
    Float::concat(parts) * 2.0
}

#[test]
fn recordings_join_parts_of_other_widths() {
    on_each_device(|| {
        let mut dice = Dice(13);
        for count in [3, 9, 20] {
            for _ in 0..6 {
                let lists: Vec<Vec<f32>> =
                    (0..count).map(|_| (0..2 + dice.roll(30)).map(|_| dice.roll(100) as f32).collect()).collect();
                let parts: Vec<Float> = lists.iter().map(|list| Float::from(list.clone())).collect();
                let wanted: Vec<f32> = lists.concat().into_iter().map(|x| x * 2.0).collect();
                assert_eq!(frozen(&parts).to_vec().unwrap(), wanted);
            }
        }
    });
}
