//! Products, convolutions and prefix reductions of tensors against plain Rust.

use jit::prelude::*;
use jit::tensor::{Padding, Window};

use crate::devices::on_each_device;
use crate::misuse::message_of;

fn numbers(count: usize, seed: u32) -> Vec<i32> {
    (0..count as u32).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 27) as i32 - 16).collect()
}

fn product(a: &[i32], b: &[i32], [rows, inner, columns]: [usize; 3]) -> Vec<i32> {
    let element = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum();
    (0..rows * columns).map(|number| element(number / columns, number % columns)).collect()
}

// rows: F107 F108
#[test]
fn products_of_matrices() {
    on_each_device(|| {
        for [m, k, n] in [[1, 1, 1], [2, 3, 4], [7, 5, 3], [33, 40, 17]] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let wanted = product(&a, &b, [m, k, n]);
            let (a, b) = (Tensor::from_array(a, [m, k]), Tensor::from_array(b, [k, n]));
            assert_eq!(a.matmul(&b).to_vec().unwrap(), wanted);
            let floats = a.cast::<f32>().matmul(&b.cast::<f32>());
            assert_eq!(floats.to_vec().unwrap(), wanted.iter().map(|&v| v as f32).collect::<Vec<_>>());
            let doubles = a.cast::<f64>().transpose().transpose().matmul(&b.cast::<f64>());
            assert_eq!(doubles.to_vec().unwrap(), wanted.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        }
        let halves = Tensor::full(half::f16::ONE, [2, 3000]).matmul(&Tensor::full(half::f16::ONE, [3000, 1]));
        assert_eq!(halves.to_vec().unwrap(), [half::f16::from_f32(3000.0); 2]);
    });
}

/// Products that are large enough for a library call, or for sums along an axis.
#[test]
fn transposed_factors_and_long_sums_give_the_same_products() {
    let sizes = [[1, 900, 50], [300, 70, 1], [1, 9000, 1], [40, 30, 50], [5, 20_000, 3], [2, 8_191, 2], [3, 1500, 2]];
    on_each_device(|| {
        for [m, k, n] in sizes {
            let (a, b) = (numbers(m * k, 3), numbers(k * n, 4));
            let wanted = product(&a, &b, [m, k, n]);
            let (a, b) = (Tensor::from_array(a, [m, k]), Tensor::from_array(b, [k, n]));
            let transposed = |x: &Tensor<i32>| {
                let y = x.transpose();
                jit::eval(&y).unwrap();
                y.transpose()
            };
            for (x, y) in [(&a, &b), (&transposed(&a), &b), (&a, &transposed(&b)), (&transposed(&a), &transposed(&b))] {
                assert_eq!(x.matmul(y).to_vec().unwrap(), wanted, "{m} {k} {n}");
            }
            let doubles = transposed(&a).cast::<f64>().matmul(&b.cast());
            assert_eq!(doubles.to_vec().unwrap(), wanted.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        }
        let (a, v) = (numbers(2 * 90 * 70, 5), numbers(2 * 70, 6));
        let wanted: Vec<i32> =
            (0..2).flat_map(|n| product(&a[n * 6300..][..6300], &v[n * 70..][..70], [90, 70, 1])).collect();
        let (x, v) = (Tensor::from_array(a, [2, 90, 70]), Tensor::from_array(v, [2, 70, 1]));
        assert_eq!(x.matmul(&v).to_vec().unwrap(), wanted);
        assert_eq!(v.swap_axes(1, 2).matmul(&x.swap_axes(1, 2)).to_vec().unwrap(), wanted);
    });
}

#[test]
fn the_transpose_of_a_matrix_in_memory_is_not_copied() {
    if crate::alone::alone("tensor_products::the_transpose_of_a_matrix_in_memory_is_not_copied", "").is_some() {
        return;
    }
    let (x, e) =
        (Tensor::from_array(Float::arange(6000) * 0.5, [1000, 6]), Tensor::from_array(Float::arange(1000), [1000]));
    let weights = Tensor::from_array(Float::arange(5000), [1000, 5]);
    jit::eval(&(&x, &e, &weights)).unwrap();
    for product in [x.transpose().matmul(&e), x.transpose().matmul(&weights)] {
        jit::sync().unwrap();
        jit::set_kernel_history(true);
        drop(jit::kernel_history());
        jit::eval(&product).unwrap();
        jit::sync().unwrap();
        jit::set_kernel_history(false);
        let widths: Vec<usize> = jit::kernel_history().iter().map(|record| record.width).collect();
        assert!(!widths.contains(&6000), "{widths:?}");
    }
}

#[test]
fn batches_and_vectors_as_in_numpy() {
    on_each_device(|| {
        let (a, b) = (numbers(2 * 3 * 4, 1), numbers(5 * 4 * 2, 2));
        let (x, y) = (Tensor::from_array(a.clone(), [2, 1, 3, 4]), Tensor::from_array(b.clone(), [5, 4, 2]));
        let z = x.matmul(&y);
        assert_eq!(z.shape(), [2, 5, 3, 2]);
        let parts = (0..10).flat_map(|n| product(&a[n / 5 * 12..][..12], &b[n % 5 * 8..][..8], [3, 4, 2]));
        assert_eq!(z.to_vec().unwrap(), parts.collect::<Vec<_>>());

        let (row, matrix) = (Tensor::from([1, 2]), Tensor::from([[1, 2, 3], [4, 5, 6]]));
        assert_eq!(row.matmul(&matrix).to_vec().unwrap(), [9, 12, 15]);
        assert_eq!(matrix.matmul(&Tensor::from([1, 0, -1])).shape(), [2]);
        let scalar = row.dot(&row);
        assert_eq!((scalar.shape(), scalar.item().unwrap()), (&[][..], 5));
        assert_eq!(x.matmul(&Tensor::from([1, 1, 1, 1])).shape(), [2, 1, 3]);
        assert_eq!(row.outer(&matrix).shape(), [2, 6]);
        assert_eq!(row.outer(&row).to_vec().unwrap(), [1, 2, 2, 4]);
        let traces = matrix.tensordot(&matrix, [0, 1], [0, 1]);
        assert_eq!(traces.item().unwrap(), 91);
        assert_eq!(matrix.tensordot(&x, 1, 2).shape(), [2, 2, 1, 4]);
        assert_eq!(Tensor::<f32>::zeros([2, 0]).matmul(&Tensor::zeros([0, 3])).to_vec().unwrap(), [0.0; 6]);
    });
    let (a, b) = (Tensor::<f32>::zeros([2, 3]), Tensor::<f32>::zeros([4, 2]));
    assert!(message_of(|| a.matmul(&b)).contains("shape [2, 3] and [4, 2] have no product"));
    assert!(message_of(|| a.tensordot(&b, 1, 0)).contains("have no product"));
}

/// The correlation of images with kernels, element by element.
fn correlated(
    image: &[i32],
    [n, c, h, w]: [usize; 4],
    kernel: &[i32],
    [o, kh, kw]: [usize; 3],
    pad: [usize; 2],
    result: [usize; 2],
    stride: [usize; 2],
) -> Vec<i32> {
    let at = |n: usize, c_: usize, y: isize, x: isize| {
        let inside = (0..h as isize).contains(&y) && (0..w as isize).contains(&x);
        if inside { image[((n * c + c_) * h + y as usize) * w + x as usize] } else { 0 }
    };
    let mut results = Vec::new();
    for (n, o, y, x) in (0..n)
        .flat_map(|n| (0..o).map(move |o| (n, o)))
        .flat_map(|(n, o)| (0..result[0] * result[1]).map(move |at| (n, o, at / result[1], at % result[1])))
    {
        let mut sum = 0;
        for (c_, dy, dx) in (0..c * kh * kw).map(|tap| (tap / (kh * kw), tap / kw % kh, tap % kw)) {
            let (y, x) =
                ((y * stride[0] + dy) as isize - pad[0] as isize, (x * stride[1] + dx) as isize - pad[1] as isize);
            sum += at(n, c_, y, x) * kernel[((o * c + c_) * kh + dy) * kw + dx];
        }
        results.push(sum);
    }
    results
}

#[test]
fn convolutions_of_images() {
    on_each_device(|| {
        for (padding, stride, kernel, pad, result) in [
            (Padding::Valid, [1, 1], [3, 2], [0, 0], [4, 6]),
            (Padding::Same, [1, 1], [3, 2], [1, 0], [6, 7]),
            (Padding::Same, [2, 3], [3, 3], [0, 1], [3, 3]),
            (Padding::Zeros(2), [2, 1], [5, 5], [2, 2], [3, 7]),
        ] {
            let (image, weights) = (numbers(2 * 3 * 6 * 7, 3), numbers(4 * 3 * kernel[0] * kernel[1], 4));
            let wanted = correlated(&image, [2, 3, 6, 7], &weights, [4, kernel[0], kernel[1]], pad, result, stride);
            let (x, k) =
                (Tensor::from_array(image, [2, 3, 6, 7]), Tensor::from_array(weights, [4, 3, kernel[0], kernel[1]]));
            let y = x.conv2d(&k, padding, stride);
            assert_eq!(y.shape(), [2, 4, result[0], result[1]]);
            assert_eq!(y.to_vec().unwrap(), wanted, "{padding:?}");
        }
        let y = Tensor::from([[[1, 2, 3, 4, 5]]]).conv1d(&Tensor::from([[[1, 10]]]), Padding::Valid, 2);
        assert_eq!(y.to_vec().unwrap(), [21, 43]);
    });
    let (x, k) = (Tensor::<f32>::zeros([1, 2, 5]), Tensor::<f32>::zeros([1, 3, 2]));
    let message = message_of(|| x.conv1d(&k, Padding::Valid, 1));
    assert!(message.contains("[1, 2, 5]") && message.contains("[1, 3, 2]"), "{message}");
    assert!(message_of(|| x.conv1d(&Tensor::zeros([1, 2, 6]), Padding::Valid, 1)).contains("cannot be convolved"));
}

/// Convolutions that are large enough for library calls: the derivative by the images times other images is the
/// convolution of those, and likewise for the kernels. All numbers are whole, so all sums are exact.
#[test]
fn large_convolutions_and_their_derivatives_are_exact_for_whole_numbers() {
    on_each_device(|| {
        for (padding, stride, kernel, pad, result) in [
            (Padding::Same, [1, 1], [3, 3], [1, 1], [21, 19]),
            (Padding::Same, [2, 3], [3, 3], [1, 1], [11, 7]),
            (Padding::Zeros(2), [2, 1], [5, 4], [2, 2], [11, 20]),
            (Padding::Valid, [1, 1], [1, 1], [0, 0], [21, 19]),
        ] {
            let (n, channels, outputs) = (3, 8, 9);
            let whole = [n, channels, 21, 19];
            let taps = [outputs, channels, kernel[0], kernel[1]];
            let values = [whole, taps].map(|shape| numbers(shape.iter().product(), 7));
            let others = [whole, taps].map(|shape| numbers(shape.iter().product(), 8));
            let plain = |image: &[i32], weights: &[i32]| {
                correlated(image, whole, weights, [outputs, kernel[0], kernel[1]], pad, result, stride)
            };
            let weights = numbers(n * outputs * result[0] * result[1], 9);
            let flow = Float64::from(weights.iter().map(|&w| f64::from(w)).collect::<Vec<_>>());
            let tensor = |values: &[i32], shape: [usize; 4]| {
                Tensor::from_array(Float64::from(values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()), shape)
            };
            let (x, k) = (tensor(&values[0], whole), tensor(&values[1], taps));
            let wanted: Vec<f64> = plain(&values[0], &values[1]).into_iter().map(f64::from).collect();
            assert_eq!(x.conv2d(&k, padding, stride).to_vec().unwrap(), wanted, "{padding:?}");
            let single = x.cast::<f32>().conv2d(&k.cast(), padding, stride);
            assert_eq!(single.cast::<f64>().to_vec().unwrap(), wanted, "{padding:?}");
            let loss = |(x, k): &(Tensor<f64>, Tensor<f64>)| (x.conv2d(k, padding, stride).array() * &flow).sum();
            let (of_x, of_k) = jit::ad::grad(loss)(&(x, k)).unwrap();
            let dot = |a: &[i32], b: &[f64]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * b).sum::<f64>();
            let flows = |results: &[i32]| results.iter().zip(&weights).map(|(y, w)| f64::from(y * w)).sum::<f64>();
            assert_eq!(dot(&others[0], &of_x.to_vec().unwrap()), flows(&plain(&others[0], &values[1])), "{padding:?}");
            assert_eq!(dot(&others[1], &of_k.to_vec().unwrap()), flows(&plain(&values[0], &others[1])), "{padding:?}");
        }
    });
}

/// The elements around an image are zeros, so their products with what is not finite are NaN: in traced convolutions
/// and in library calls.
#[test]
fn zeros_around_images_meet_infinite_gradients_at_every_size() {
    on_each_device(|| {
        for channels in [1, 12] {
            let x = Tensor::<f32>::ones([1, channels, 9, 9]);
            let k = Tensor::<f32>::ones([channels, channels, 3, 3]);
            let flow: Float = UInt::arange(channels * 81).eq(0).select(f32::INFINITY, 1.0_f32);
            let loss = |k: &Tensor<f32>| (x.conv2d(k, Padding::Same, [1, 1]).array() * &flow).sum();
            let of_k = jit::ad::grad(loss)(&k).unwrap().slice(s![0, 0]);
            let is_outside = [true, true, true, true, false, false, true, false, false];
            assert_eq!(of_k.map(Array::is_nan).to_vec().unwrap(), is_outside, "{channels} channels");
        }
    });
}

/// Each group is a convolution of its own, and so are the derivatives: depthwise and between, in one to three axes.
#[test]
fn derivatives_of_grouped_convolutions_are_those_of_each_group() {
    on_each_device(|| {
        let cases: [(&[usize], &[usize], usize, usize); 5] = [
            (&[3, 32, 12, 11], &[32, 1, 3, 3], 32, 1),
            (&[2, 20, 9, 20], &[40, 1, 3, 2], 20, 2),
            (&[2, 10, 19, 20], &[15, 2, 3, 3], 5, 1),
            (&[4, 24, 200], &[24, 1, 5], 24, 1),
            (&[2, 18, 4, 6, 7], &[36, 1, 2, 3, 3], 18, 1),
        ];
        for (shape, taps, groups, stride) in cases {
            let window = Window::new(vec![stride; shape.len() - 2], Padding::Same);
            let tensor = |shape: &[usize], seed| {
                let all = numbers(shape.iter().product(), seed).into_iter().map(|x| x as f32).collect::<Vec<_>>();
                Tensor::from_array(Float::from(all), shape)
            };
            let (x, k) = (tensor(shape, 7), tensor(taps, 8));
            let grouped = window.clone().with_groups(groups);
            let flow = tensor(x.convolve(&k, &grouped).shape(), 9);
            let loss = |(x, k): &(Tensor<f32>, Tensor<f32>)| (x.convolve(k, &grouped) * &flow).sum(..).into_array();
            let (of_x, of_k) = jit::ad::grad(loss)(&(x.clone(), k.clone())).unwrap();
            for group in 0..groups {
                let [inputs, outputs] = [shape[1], taps[0]].map(|all| all / groups * group..all / groups * (group + 1));
                let (own_x, own_k) = (x.slice(s![.., inputs.clone()]), k.slice(s![outputs.clone()]));
                let flow = flow.slice(s![.., outputs.clone()]);
                let loss = |(x, k): &(Tensor<f32>, Tensor<f32>)| (x.convolve(k, &window) * &flow).sum(..).into_array();
                let (own_of_x, own_of_k) = jit::ad::grad(loss)(&(own_x, own_k)).unwrap();
                // Sums of whole numbers are exact.
                let same = |whole: Tensor<f32>, own: &Tensor<f32>| whole.to_vec().unwrap() == own.to_vec().unwrap();
                assert!(same(of_x.slice(s![.., inputs]), &own_of_x), "{shape:?} {groups}: input of group {group}");
                assert!(same(of_k.slice(s![outputs]), &own_of_k), "{shape:?} {groups}: kernels of group {group}");
            }
        }
    });
}

/// Few rows and many, transposed, of halves: sums in single precision, rounded once.
#[test]
fn large_products_of_halves_are_rounded_once() {
    on_each_device(|| {
        for [m, k, n] in [[3, 900, 50], [60, 33, 47], [2, 5000, 3]] {
            // Sums of up to 5000 products below 256 are exact in single precision.
            let (a, b) = (numbers(m * k, 3), numbers(k * n, 4));
            let wanted: Vec<f32> = product(&a, &b, [m, k, n]).into_iter().map(|x| x as f32).collect();
            let (a, b) = (Tensor::from_array(a, [m, k]), Tensor::from_array(b, [k, n]));
            let (a, b) = (a.cast::<f32>().cast::<half::bf16>(), b.cast::<f32>().cast::<half::bf16>());
            jit::eval(&(&a, &b)).unwrap();
            let transposed = |x: &Tensor<half::bf16>| {
                let y = x.transpose();
                jit::eval(&y).unwrap();
                y.transpose()
            };
            let wanted: Vec<half::bf16> = wanted.into_iter().map(half::bf16::from_f32).collect();
            for (x, y) in [(&a, &b), (&transposed(&a), &b), (&a, &transposed(&b))] {
                assert_eq!(x.matmul(y).to_vec().unwrap(), wanted, "{m} {k} {n}");
            }
        }
    });
}

#[test]
fn prefix_reductions_along_axes() {
    on_each_device(|| {
        let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
        assert_eq!(x.prefix_sum(1).to_vec().unwrap(), [1, 3, 6, 4, 9, 15]);
        assert_eq!(x.prefix_sum(0).to_vec().unwrap(), [1, 2, 3, 5, 7, 9]);
        assert_eq!(x.prefix_sum_exclusive(-1).to_vec().unwrap(), [0, 1, 3, 0, 4, 9]);
        let from_the_end = x.prefix(0, ReduceOp::Add, Scan::inclusive().reverse());
        assert_eq!(from_the_end.to_vec().unwrap(), [5, 7, 9, 4, 5, 6]);
        assert_eq!(x.prefix(1, ReduceOp::Mul, Scan::inclusive()).to_vec().unwrap(), [1, 2, 6, 4, 20, 120]);
    });
}
