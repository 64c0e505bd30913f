//! Tensors as arguments, state and results. One recording serves all shapes, except for lengths of 0 and 1 and for
//! decisions by a shape.

use jit::Size;
use jit::prelude::*;
use jit::tensor::{Edge, Padding, keep_dims};

use crate::{alike, floats, frozen, frozen_only, indices, message_of, values};

fn tensor<const N: usize>(shape: [usize; N], salt: usize) -> Tensor<f32> {
    Tensor::from_array(floats(shape.iter().product(), salt), shape)
}

/// A tensor in the form in which a test compares it.
fn seen<T: jit::Element>(tensor: &Tensor<T>) -> (Vec<usize>, Vec<T>) {
    (tensor.shape().to_vec(), tensor.to_vec().unwrap())
}

#[freeze]
fn wrapped(x: &Float) -> Tensor<f32> {
    Tensor::from(x + 1.0)
}

// rows: F065
#[test]
fn tensors_are_results() {
    alike(frozen!(wrapped), 1, || [3, 3, 5, 3, 5].map(|n| seen(&wrapped(&floats(n, n)))));
}

#[freeze]
fn added(x: &mut Tensor<f32>) {
    *x += 1.0;
}

// rows: F066
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

// rows: F083
#[test]
fn means_of_tensors_of_several_shapes() {
    let shapes = [[3, 4], [5, 4], [3, 4], [3, 5], [3, 6], [5, 4]];
    alike(frozen!(mean), 1, || shapes.map(|shape| seen(&mean(&tensor(shape, shape[0])))));
}

#[freeze]
fn constant(x: &Tensor<f32>) -> Tensor<f32> {
    x + 1.0
}

// rows: F079
#[test]
fn constant_tensors_of_several_shapes() {
    alike(frozen!(constant), 1, || [10, 20, 30, 10, 20].map(|n| seen(&constant(&Tensor::zeros([n, 2])))));
}

#[freeze]
fn picked(x: &Tensor<f32>, index: &UInt) -> Tensor<f32> {
    x.slice(s![index * 2 + 1, .., 0])
}

// rows: F091
#[test]
fn rows_are_picked_by_a_formula() {
    alike(frozen!(picked), 1, || {
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

// rows: F092 F093 F111
#[test]
fn slices_of_tensors_of_several_shapes() {
    alike(frozen!(column), 1, || [4, 6, 4, 9, 6].map(|n| seen(&column(&tensor([n, 5, 2], n)))));
    alike(frozen!(elements), 1, || {
        [(4, 5), (6, 5), (6, 7), (4, 5)].map(|(rows, count)| {
            let (row, column) = (indices(count, rows, 1), indices(count, 3, 2));
            seen(&elements(&tensor([rows, 3], rows), &row, &column))
        })
    });
    alike(frozen!(rows), 1, || {
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
    alike(frozen!(products), 3, || {
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

// rows: F099
#[test]
fn layers_of_a_network_for_batches_of_several_sizes() {
    alike(frozen!(network), 1, || {
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

// rows: X18
#[test]
fn a_tensor_without_axes_remains_without_axes() {
    alike(frozen!(total), 1, || {
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

// rows: X14
#[test]
fn a_shape_as_a_number_is_that_of_the_call() {
    // Read as a number, it becomes part of the recording's key.
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

// rows: X06
#[test]
fn outer_products_of_tensors() {
    alike(frozen!(outer), 1, || [(3, 4), (6, 4), (3, 4)].map(|(n, m)| seen(&outer(&tensor([n], n), &tensor([m], m)))));
}

#[freeze]
fn misshapen(x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
    x + y
}

#[test]
fn a_wrong_shape_is_reported_where_shapes_fitted_before() {
    let call = |n: usize, m: usize| seen(&misshapen(&tensor([n], n), &tensor([m], m)));
    assert_eq!(call(3, 3).0, [3]);
    assert!(message_of(|| call(3, 4)).contains("[3]"));
    assert_eq!(call(4, 4).0, [4]);
    assert_eq!(values(&(floats(3, 3) + floats(3, 3))), call(3, 3).1);
}

#[freeze]
fn scaled_by_size(x: &Tensor<f32>) -> (Tensor<f32>, Vec<Size>) {
    (x / Float::from(x.size(0)), x.sizes())
}

// rows: X14
#[test]
fn a_shape_as_sizes_is_that_of_the_call() {
    alike(frozen!(scaled_by_size), 1, || {
        [[4, 2], [8, 2], [3, 9]].map(|shape| {
            let (scaled, sizes) = scaled_by_size(&tensor(shape, 1));
            assert_eq!(sizes, shape.map(Size::from));
            (seen(&scaled), sizes)
        })
    });
}

#[freeze]
fn moved(x: &Tensor<f32>) -> Vec<Tensor<f32>> {
    vec![
        x.transpose(),
        x.permute_axes([1, 2, 0]),
        x.flip([0, 2]),
        x.roll(3, 1),
        x.roll(-1, 2),
        x.repeat(2, 1),
        x.tile(&[2, 1, 3]),
        x.reshape([x.size(1), x.width() / x.size(1)]),
        x.reshape([-1, 1]),
        x.ravel(),
        x.expand_dims(1).squeeze(1),
        Tensor::stack(&[x, x], 1),
        Tensor::concat(&[&x.swap_axes(0, 2), &x.transpose()], 1),
        x.slice(s![1.., ..;2, -1]),
        x.slice(s![..-1, None, ..;-1, 0..5]),
        x.broadcast_to([Size::from(2), x.size(0), x.size(1), x.size(2)]),
    ]
}

#[test]
fn operations_that_move_elements_are_recorded_once_for_all_shapes() {
    // `0..5` is clipped if the axis is shorter.
    let shapes = [[3, 3, 4], [4, 3, 7], [5, 6, 3], [4, 9, 5], [17, 4, 6]];
    alike(frozen!(moved), 1, || shapes.map(|shape| moved(&tensor(shape, 1)).iter().map(seen).collect::<Vec<_>>()));
}

#[test]
fn lengths_of_0_and_1_have_recordings_of_their_own() {
    let shapes = [[2, 3, 4], [1, 3, 4], [2, 1, 4], [1, 1, 1], [2, 3, 1], [5, 1, 4], [1, 7, 4], [5, 3, 1], [9, 9, 4]];
    alike(frozen!(moved_again), 5, || {
        shapes.map(|shape| moved_again(&tensor(shape, 1)).iter().map(seen).collect::<Vec<_>>())
    });
    alike(frozen!(reduced_or_empty), 4, || {
        [[3, 4], [0, 4], [3, 0], [0, 0], [5, 0], [0, 7], [6, 4]]
            .map(|shape| reduced_or_empty(&tensor(shape, 1)).iter().map(seen).collect::<Vec<_>>())
    });
}

#[freeze]
fn moved_again(x: &Tensor<f32>) -> Vec<Tensor<f32>> {
    vec![x.transpose(), x.flip(..), x + x.slice(s![0]), x.sum(1), x.reduce_max(-1), x.prefix_sum(0)]
}

#[freeze]
fn reduced_or_empty(x: &Tensor<f32>) -> Vec<Tensor<f32>> {
    vec![x.sum(0), x.sum(1), x.sum(..), x.transpose() * 2.0, x.sort(0), x.prefix_sum(1)]
}

#[freeze]
fn along_axes(x: &Tensor<f32>) -> Vec<Tensor<f32>> {
    let centred = x - x.mean(keep_dims(1));
    vec![
        x.sum(0),
        x.sum(1),
        x.sum([0, 2]),
        x.reduce_max(-1),
        x.product([1, 2]),
        centred.var(0, 1),
        x.norm(2),
        x.argmax(0).cast(),
        x.argmin(-1).cast(),
        x.gt(0.0).count(1).cast(),
        x.prefix_sum(1),
        x.sort(0),
        x.argsort(1).cast(),
        x.median(1),
    ]
}

// rows: F083
#[test]
fn reductions_along_axes_are_recorded_for_ranges_of_lengths() {
    // Unrolled, in rounds of one or eight sums, or over blocks: sums of up to 8, 32, 512, and more neighbours.
    alike(frozen!(along_axes), 4, || {
        [[2, 5, 4], [3, 7, 4], [7, 3, 4], [3, 9, 12], [4, 10, 30], [2, 3, 14], [3, 3, 40], [5, 4, 300]]
            .map(|shape| along_axes(&tensor(shape, shape[1])).iter().map(seen).collect::<Vec<_>>())
    });
}

#[freeze]
fn softmax(x: &Tensor<f32>) -> Tensor<f32> {
    let e = (x - x.reduce_max(keep_dims(1))).exp();
    &e / e.sum(keep_dims(1))
}

#[test]
fn a_softmax_of_any_shape() {
    alike(frozen!(softmax), 1, || [[3, 40], [5, 100], [200, 33]].map(|shape| seen(&softmax(&tensor(shape, 2)))));
}

#[freeze]
fn with_row(x: &Tensor<f32>, row: &Tensor<f32>) -> Tensor<f32> {
    x * row + row
}

#[test]
fn shapes_that_broadcast_rely_on_equal_lengths() {
    let calls = [([3, 4], 4), ([5, 6], 6), ([7, 2], 2), ([3, 4], 1), ([6, 9], 1)];
    alike(frozen!(with_row), 2, || calls.map(|(shape, width)| seen(&with_row(&tensor(shape, 1), &tensor([width], 2)))));
    assert!(
        message_of(|| with_row(&tensor([3, 4], 1), &tensor([5], 2))).contains("axis −1 has length 4 in the one and 5")
    );
}

#[freeze]
fn assigned(x: &mut Tensor<f32>, y: &Tensor<f32>) {
    x.set(s![1.., ..;2], 0.5);
    x.set_where(&y.gt(0.5), y);
    *x = x.transpose();
    *x += 1.0;
}

#[test]
fn a_tensor_that_changes_its_shape_has_that_of_the_call() {
    alike(frozen!(assigned), 1, || {
        [[3, 4], [4, 7], [9, 3], [5, 5]].map(|shape| {
            let mut x = tensor(shape, 1);
            assigned(&mut x, &tensor(shape, 2));
            assert_eq!(x.shape(), [shape[1], shape[0]]);
            seen(&x)
        })
    });
}

#[freeze]
fn picture(x: &Tensor<f32>, kernel: &Tensor<f32>) -> Tensor<f32> {
    x.pad(&[(0, 0), (0, 0), (1, 1), (2, 1)], Edge::Reflect).conv2d(kernel, Padding::Same, [1, 2])
}

#[test]
fn pictures_of_any_size_are_convolved() {
    let shapes = [[1, 2, 6, 8], [1, 2, 9, 5], [1, 2, 30, 21]];
    alike(frozen!(picture), 1, || shapes.map(|shape| seen(&picture(&tensor(shape, 1), &tensor([3, 2, 3, 3], 2)))));
}

/// The results and both derivatives of a convolution of some size: library calls, whose sizes are those of the call.
#[freeze]
fn learned(x: &Tensor<f32>, kernel: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>, Tensor<f32>) {
    let loss = |(x, kernel): &(Tensor<f32>, Tensor<f32>)| {
        let y = x.conv2d(kernel, Padding::Same, [1, 2]);
        (&y * &y).array().sum()
    };
    let (of_x, of_kernel) = jit::ad::grad(loss)(&(x.clone(), kernel.clone())).unwrap();
    (x.conv2d(kernel, Padding::Same, [1, 2]), of_x, of_kernel)
}

#[test]
fn large_pictures_of_any_size_are_convolved() {
    let shapes = [[2, 4, 26, 38], [3, 4, 19, 45], [2, 4, 33, 31]];
    alike(frozen!(learned), 1, || {
        shapes.map(|shape| {
            let (y, of_x, of_kernel) = learned(&tensor(shape, 1), &tensor([5, 4, 3, 3], 2));
            (seen(&y), seen(&of_x), seen(&of_kernel))
        })
    });
}

#[freeze]
fn large_product(a: &Tensor<f32>, b: &Tensor<f32>) -> Tensor<f32> {
    a.matmul(b)
}

// rows: F108
#[test]
fn large_matrices_of_any_shape_are_multiplied() {
    let shapes = [[2, 20, 30, 25], [3, 17, 40, 50], [5, 100, 16, 9]];
    alike(frozen!(large_product), 1, || {
        shapes.map(|[batch, rows, inner, columns]| {
            seen(&large_product(&tensor([batch, rows, inner], 1), &tensor([batch, inner, columns], 2)))
        })
    });
}

#[freeze]
fn decided(x: &Tensor<f32>) -> Tensor<f32> {
    if x.size(1) == 3 { x * 2.0 } else { x + 1.0 }
}

#[test]
fn the_length_that_decided_is_named_with_its_line() {
    frozen_only!();
    alike(frozen!(decided), 2, || [[2, 3], [5, 3], [4, 6], [4, 7]].map(|shape| seen(&decided(&tensor(shape, 1)))));
    let why = decided::explain().last().unwrap().to_string();
    assert!(why.starts_with("`x.shape[1] == 3`, which") && why.contains("tensors.rs:"), "{why}");
}

#[freeze]
fn in_pairs(x: &Tensor<f32>) -> Tensor<f32> {
    x.reshape([-1, 2])
}

#[test]
fn a_shape_that_does_not_fit_is_refused_as_it_is_unfrozen() {
    alike(frozen!(in_pairs), 1, || [[3, 4], [2, 5], [6, 7]].map(|shape| seen(&in_pairs(&tensor(shape, 1)))));
    assert!(message_of(|| in_pairs(&tensor([3, 5], 1))).contains("no length makes 15 elements fill the shape [-1, 2]"));
}

#[derive(Clone, Traverse)]
struct Layer {
    weights: Tensor<f32>,
    bias: Tensor<f32>,
}

#[freeze]
fn forward(layers: &mut Vec<Layer>, x: &Tensor<f32>) -> Tensor<f32> {
    let mut x = x.clone();
    for layer in layers {
        x = x.matmul(&layer.weights) + &layer.bias;
        layer.weights *= 0.5;
    }
    x
}

#[test]
fn tensors_in_structures_and_lists_have_shapes_of_their_own() {
    alike(frozen!(forward), 1, || {
        [[3, 5, 2], [2, 4, 3], [9, 3, 7]].map(|[inputs, hidden, outputs]| {
            let layer = |a: usize, b: usize| Layer { weights: tensor([a, b], a), bias: tensor([b], b) };
            let mut layers = vec![layer(inputs, hidden), layer(hidden, outputs)];
            let y = seen(&forward(&mut layers, &tensor([4, inputs], 7)));
            (y, layers.iter().map(|layer| seen(&layer.weights)).collect::<Vec<_>>())
        })
    });
}

#[freeze]
fn reported_by_the_host(x: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    let (read, seen) = (x.clone(), x.clone());
    let sizes = jit::freeze::host(move || Float::from([read.size(0).get() as f32, read.to_vec().unwrap()[0]]));
    let read = jit::freeze::host(move || Tensor::from_array(Float::from(seen.to_vec().unwrap()), seen.shape()));
    (x * sizes.gather(&UInt::from(0)) + sizes.gather(&UInt::from(1)), read)
}

#[test]
fn the_host_sees_the_shape_of_each_call() {
    // A shape as numbers is that of the recording, also for the host, and so is the returned one.
    alike(frozen!(reported_by_the_host), 2, || {
        [[3, 4], [3, 4], [5, 6], [3, 4]].map(|shape| {
            let (returned, read) = reported_by_the_host(&tensor(shape, shape[0]));
            (seen(&returned), seen(&read))
        })
    });
}

#[freeze]
fn parts_by_sizes(x: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>, Tensor<f32>, Tensor<f32>) {
    let n = x.size(1);
    (x.slice(s![.., ..n / 2]), x.slice(s![1, 1..n - 1]), x.slice(s![0, n / 2..;2]), x.slice(s![.., n - 2]) / x.size(0))
}

#[test]
fn sizes_pick_parts_of_other_lengths_in_replays() {
    alike(frozen!(parts_by_sizes), 1, || {
        [6, 9, 6, 14, 31].map(|n| {
            let x = tensor([2, n], n);
            let (first, middle, strided, column) = parts_by_sizes(&x);
            assert_eq!((first.shape(), middle.shape()), (&[2, n / 2][..], &[n - 2][..]));
            [seen(&first), seen(&middle), seen(&strided), seen(&column)]
        })
    });
}
