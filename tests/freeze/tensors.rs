//! Tensors as arguments, state and results. A shape belongs to the host, so each has a recording of its own.

use jit::prelude::*;

use crate::{alike, floats, frozen, indices, message_of, values};

fn tensor<const N: usize>(shape: [usize; N], salt: usize) -> Tensor<f32> {
    Tensor::from_array(floats(shape.iter().product(), salt), shape)
}

/// A tensor as a test compares it.
fn seen<T: jit::Element>(tensor: &Tensor<T>) -> (Vec<usize>, Vec<T>) {
    (tensor.shape().to_vec(), tensor.to_vec().unwrap())
}

#[freeze]
fn wrapped(x: &Float) -> Tensor<f32> {
    Tensor::from(x + 1.0)
}

#[test]
fn tensors_are_results() {
    alike(frozen!(wrapped), 2, || [3, 3, 5, 3, 5].map(|n| seen(&wrapped(&floats(n, n)))));
}

#[freeze]
fn added(x: &mut Tensor<f32>) {
    *x += 1.0;
}

#[test]
fn tensors_change_in_place() {
    alike(frozen!(added), 1, || {
        [1, 2, 3].map(|salt| {
            let mut x = tensor([2, 3], salt);
            let before = x.clone();
            added(&mut x);
            (seen(&x), seen(&before))
        })
    });
}

#[freeze]
fn mean(x: &Tensor<f32>) -> Tensor<f32> {
    x.mean(0)
}

#[test]
fn means_of_tensors_of_several_shapes() {
    let shapes = [[3, 4], [5, 4], [3, 4], [3, 5], [3, 6], [5, 4]];
    alike(frozen!(mean), 4, || shapes.map(|shape| seen(&mean(&tensor(shape, shape[0])))));
}

#[freeze]
fn constant(x: &Tensor<f32>) -> Tensor<f32> {
    x + 1.0
}

#[test]
fn constant_tensors_of_several_shapes() {
    alike(frozen!(constant), 3, || [10, 20, 30, 10, 20].map(|n| seen(&constant(&Tensor::zeros([n, 2])))));
}

#[freeze]
fn picked(x: &Tensor<f32>, index: &UInt) -> Tensor<f32> {
    x.slice(s![index * 2 + 1, .., 0])
}

#[test]
fn rows_are_picked_by_a_formula() {
    alike(frozen!(picked), 3, || {
        [(8, 3), (8, 3), (10, 4), (8, 4), (8, 3)]
            .map(|(rows, count)| seen(&picked(&tensor([rows, 3, 2], rows), &indices(count, rows / 2 - 1, count))))
    });
}

#[freeze]
fn column(x: &Tensor<f32>) -> Tensor<f32> {
    x.slice(s![.., 3, 1])
}

#[freeze]
fn elements(x: &Tensor<f32>, row: &UInt, column: &UInt) -> Tensor<f32> {
    x.slice(s![row, column])
}

#[freeze]
fn rows(x: &Tensor<f32>, row: &UInt) -> Tensor<f32> {
    x.slice(s![row, ..])
}

#[test]
fn slices_of_tensors_of_several_shapes() {
    alike(frozen!(column), 3, || [4, 6, 4, 9, 6].map(|n| seen(&column(&tensor([n, 5, 2], n)))));
    alike(frozen!(elements), 3, || {
        [(4, 5), (6, 5), (6, 7), (4, 5)].map(|(rows, count)| {
            let (row, column) = (indices(count, rows, 1), indices(count, 3, 2));
            seen(&elements(&tensor([rows, 3], rows), &row, &column))
        })
    });
    alike(frozen!(rows), 3, || {
        [(4, 2), (4, 3), (6, 3), (4, 3)]
            .map(|(height, count)| seen(&rows(&tensor([height, 3], height), &indices(count, height, count))))
    });
}

#[freeze]
fn product(a: &Tensor<f32>, b: &Tensor<f32>) -> Tensor<f32> {
    a.matmul(b)
}

#[freeze]
fn products(a: &Tensor<f32>, b: &Tensor<f32>) -> Tensor<f32> {
    a.matmul(b)
}

#[test]
fn products_of_matrices() {
    alike(frozen!(product), 1, || {
        [1, 2, 3].map(|salt| seen(&product(&tensor([7, 5], salt), &tensor([5, 9], salt + 5))))
    });
    alike(frozen!(products), 5, || {
        let small =
            [2, 5, 3, 1, 2, 3].map(|batch| seen(&products(&tensor([batch, 3, 4], batch), &tensor([batch, 4, 2], 7))));
        let large = [1, 2].map(|salt| seen(&products(&tensor([2, 20, 30], salt), &tensor([2, 30, 25], salt))));
        (small, large)
    });
}

#[freeze]
fn network(x: &Tensor<f32>, layers: &[(Tensor<f32>, Tensor<f32>)]) -> Tensor<f32> {
    let mut x = x.clone();
    for (weights, bias) in layers {
        x = (x.matmul(weights) + bias).map(|x| x.max(0.0));
    }
    x
}

#[test]
fn layers_of_a_network_for_batches_of_several_sizes() {
    alike(frozen!(network), 2, || {
        [8, 16, 8, 16].map(|batch| {
            let layer =
                |[inputs, outputs]: [usize; 2]| (tensor([inputs, outputs], batch), tensor([outputs], batch + 1));
            seen(&network(&tensor([batch, 4], 3), &[layer([4, 10]), layer([10, 3])]))
        })
    });
}

#[freeze]
fn total(x: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    (x.sum(..), x.sum(..) * 2.0)
}

#[test]
fn a_tensor_without_axes_keeps_having_none() {
    alike(frozen!(total), 2, || {
        [[2, 3], [2, 3], [4, 5], [2, 3]].map(|shape| {
            let (sum, twice) = total(&tensor(shape, 1));
            assert_eq!((sum.ndim(), twice.ndim()), (0, 0));
            (seen(&sum), seen(&twice))
        })
    });
}

#[freeze]
fn scaled_by_shape(x: &Tensor<f32>) -> (Tensor<f32>, Vec<usize>) {
    (x / x.shape()[0] as f32, x.shape().to_vec())
}

#[test]
fn a_shape_as_a_number_is_that_of_the_call() {
    alike(frozen!(scaled_by_shape), 2, || {
        [[4, 2], [8, 2], [4, 2], [8, 2]].map(|shape| {
            let (scaled, shape) = scaled_by_shape(&tensor(shape, 1));
            (seen(&scaled), shape)
        })
    });
}

#[freeze]
fn outer(x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
    x.outer(y)
}

#[test]
fn outer_products_of_tensors() {
    alike(frozen!(outer), 2, || [(3, 4), (6, 4), (3, 4)].map(|(n, m)| seen(&outer(&tensor([n], n), &tensor([m], m)))));
}

#[freeze]
fn misshapen(x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
    x + y
}

#[test]
fn a_wrong_shape_is_told_where_shapes_fitted_before() {
    let call = |n: usize, m: usize| seen(&misshapen(&tensor([n], n), &tensor([m], m)));
    assert_eq!(call(3, 3).0, [3]);
    assert!(message_of(|| call(3, 4)).contains("[3]"));
    assert_eq!(call(4, 4).0, [4]);
    assert_eq!(values(&(floats(3, 3) + floats(3, 3))), call(3, 3).1);
}
