//! Elements in another order of axes, of every size in bytes: by methods of tensors, and by indices that a program
//! computes.

use jit::prelude::*;

use crate::agree::{on_each_device, resident, same};
use crate::corners::Corners;

/// Sizes around those of blocks that are transposed in registers, and of tiles.
const SHAPES: [[usize; 2]; 12] = [
    [8, 8],
    [9, 17],
    [15, 31],
    [16, 64],
    [12, 1000],
    [1000, 10],
    [63, 65],
    [100, 130],
    [33, 2000],
    [2000, 37],
    [256, 1024],
    [301, 1025],
];

fn elements<T: Corners>(count: usize) -> Vec<T> {
    T::corners().into_iter().cycle().take(count).collect()
}

fn transposed<T: Corners>() {
    for [rows, columns] in SHAPES {
        let values: Vec<T> = elements(rows * columns);
        let array = resident(&values);
        let wanted: Vec<T> = (0..rows * columns).map(|lane| values[lane % rows * columns + lane / rows]).collect();
        let call = |at: usize| format!("element {at} of {} of {rows} × {columns}", T::TYPE);
        let tensor = Tensor::from_array(array.clone(), [rows, columns]).transpose();
        same(&tensor.into_array().to_vec().unwrap(), &wanted, call);
        let (i, [n, m]) = (UInt::arange(rows * columns), [rows, columns].map(|size| size as u32));
        same(&array.gather(&(&i % n * m + &i / n)).to_vec().unwrap(), &wanted, call);
        // Where the last row is missing, some lanes read nothing.
        let cut = resident(&values[..values.len() - 1]);
        let mut without_last = wanted;
        without_last[rows * columns - 1] = T::default();
        same(&cut.gather(&(&i % n * m + &i / n)).to_vec().unwrap(), &without_last, call);
    }
}

#[test]
fn matrices_of_every_type_are_transposed() {
    on_each_device(|| {
        transposed::<u8>();
        transposed::<bool>();
        transposed::<i16>();
        transposed::<f32>();
        transposed::<u64>();
    });
}

#[test]
fn axes_are_moved_to_every_place() {
    const SIZES: [usize; 3] = [20, 33, 18];
    let values: Vec<f32> = elements(SIZES.iter().product());
    on_each_device(|| {
        let tensor = Tensor::from_array(resident(&values), SIZES);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let strides = [SIZES[1] * SIZES[2], SIZES[2], 1];
            let [a, b, c] = order.map(|axis| (SIZES[axis], strides[axis]));
            let place = |lane: usize| lane / (b.0 * c.0) * a.1 + lane / c.0 % b.0 * b.1 + lane % c.0 * c.1;
            let wanted: Vec<f32> = (0..values.len()).map(|lane| values[place(lane)]).collect();
            let found = tensor.permute_axes(order).into_array().to_vec().unwrap();
            same(&found, &wanted, |at| format!("element {at} of {order:?}"));
        }
    });
}
