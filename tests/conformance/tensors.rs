//! Tensors: shapes, repetition, reductions and indexing along axes.

use jit::Scan;
use jit::prelude::*;
use jit::tensor::keep_dims;

use crate::{message_of, noise, on_each_device, resident};

/// The elements of a tensor of plain Rust along some axes, for each place along the others, in row-major order of both.
fn groups<T: Copy>(shape: &[usize], axes: &[usize], values: &[T]) -> Vec<Vec<T>> {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let mut groups = vec![Vec::new(); kept.iter().map(|&axis| shape[axis]).product()];
    for (number, &value) in values.iter().enumerate() {
        let at = |axis: usize| number / shape[axis + 1..].iter().product::<usize>() % shape[axis];
        groups[kept.iter().fold(0, |group, &axis| group * shape[axis] + at(axis))].push(value);
    }
    groups
}

/// All subsets of the axes of a shape of four axes.
fn subsets() -> impl Iterator<Item = Vec<usize>> {
    (0..16).map(|set| (0..4).filter(|axis| set >> axis & 1 == 1).collect())
}

// rows: C163
#[test]
fn tensors_are_made_from_nested_host_values() {
    on_each_device(|| {
        let x = Tensor::from(vec![vec![[1, 2, 3], [4, 5, 6]]; 2]);
        assert_eq!((x.shape(), x.to_vec().unwrap()), (&[2, 2, 3][..], vec![1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]));
        assert_eq!(Tensor::from([[true], [false]]).shape(), [2, 1]);
        assert_eq!(x.ravel().to_vec().unwrap()[..4], [1, 2, 3, 4]);
        assert_eq!(x.ravel_column_major().to_vec().unwrap()[..4], [1, 1, 4, 4]);
    });
    let message = message_of(|| Tensor::from(vec![vec![1, 2], vec![3]]));
    assert!(message.contains("different lengths") && message.contains("[2, 2]"), "{message}");
}

// rows: C173
#[test]
fn tensors_are_reshaped() {
    on_each_device(|| {
        let x = Tensor::from_array(resident([1, 2, 3, 4, 5, 6]), [2, 3]);
        assert_eq!(
            (x.reshape([3, -1]).shape(), x.reshape([3, -1]).to_vec().unwrap()),
            (&[3, 2][..], x.to_vec().unwrap())
        );
        assert_eq!(x.reshape([1, 1, 6]).slice(s![0, 0, 4]).item().unwrap(), 5);
    });
    let x = Tensor::<f32>::zeros([2, 3]);
    for (shape, what) in
        [([4, -1], "no length makes 6"), ([-1, -1], "more than one unknown length"), ([2, 2], "6 elements do not fill")]
    {
        let message = message_of(|| x.reshape(shape));
        assert!(message.contains(what) && message.contains("[2, 3]"), "{message}");
    }
}

// rows: C178 C179 C180
#[test]
fn tensors_are_tiled_and_repeated() {
    on_each_device(|| {
        let x = Tensor::from([[1, 2], [3, 4]]);
        let of = |x: Tensor<i32>| (x.shape().to_vec(), x.to_vec().unwrap());
        assert_eq!(of(x.tile(&[2, 1])), (vec![4, 2], vec![1, 2, 3, 4, 1, 2, 3, 4]));
        assert_eq!(of(x.tile(&[2])), (vec![2, 4], vec![1, 2, 1, 2, 3, 4, 3, 4]));
        assert_eq!(of(x.tile(&[2, 1, 1])), (vec![2, 2, 2], vec![1, 2, 3, 4, 1, 2, 3, 4]));
        assert_eq!(of(Tensor::from(resident([7, 8, 9])).tile(&[2, 3])), (vec![2, 9], [7, 8, 9].repeat(6)));
        assert_eq!(of(x.repeat(2, 0)), (vec![4, 2], vec![1, 2, 1, 2, 3, 4, 3, 4]));
        assert_eq!(of(x.repeat(2, -1)), (vec![2, 4], vec![1, 1, 2, 2, 3, 3, 4, 4]));
        assert_eq!(of(x.ravel().repeat(2, 0)), (vec![8], vec![1, 1, 2, 2, 3, 3, 4, 4]));
        assert_eq!(of(x.repeat_each(&[0, 3], 0)), (vec![3, 2], vec![3, 4, 3, 4, 3, 4]));
        assert_eq!(x.repeat(0, 1).shape(), [2, 0]);
    });
    let message = message_of(|| Tensor::from([1, 2]).repeat_each(&[1, 2, 3], 0));
    assert!(message.contains("3 counts") && message.contains("length 2"), "{message}");
}

// rows: C195 C197
#[test]
fn positions_are_taken_along_an_axis() {
    on_each_device(|| {
        for shape in [&[5][..], &[5, 4], &[5, 4, 3], &[5, 4, 3, 2]] {
            let x = Tensor::<i32>::arange(shape);
            let host: Vec<i32> = (0..x.len() as i32).collect();
            for axis in 0..shape.len() {
                let rows = groups(shape, &[axis], &host);
                let one = x.take(axis, -1);
                let last: Vec<i32> = rows.iter().map(|row| row[row.len() - 1]).collect();
                assert_eq!((one.ndim(), one.to_vec().unwrap()), (shape.len() - 1, last));
                let two = x.take(axis, Int::from([1, 0]));
                assert_eq!(two.shape()[axis], 2);
                let picked: Vec<[i32; 2]> = rows.iter().map(|row| [row[1], row[0]]).collect();
                assert_eq!(two.move_axis(axis, -1).to_vec().unwrap(), picked.concat());
            }
        }
    });
    assert!(message_of(|| Tensor::<f32>::zeros([2, 3]).take(1, 3)).contains("index 3 is outside of axis 1"));
}

// rows: C211 C226
#[test]
fn masks_are_reduced_along_axes() {
    let shape = [2, 3, 4, 5];
    let flags: Vec<bool> = noise(120, 9).iter().map(|bits| bits % 4 != 0).collect();
    on_each_device(|| {
        let x = Tensor::from_array(flags.clone(), shape);
        for axes in subsets() {
            let groups = groups(&shape, &axes, &flags);
            let all: Vec<bool> = groups.iter().map(|group| group.iter().all(|&flag| flag)).collect();
            let any: Vec<bool> = groups.iter().map(|group| group.iter().any(|&flag| flag)).collect();
            let count: Vec<u32> =
                groups.iter().map(|group| group.iter().filter(|&&flag| flag).count() as u32).collect();
            assert_eq!(x.all(&axes[..]).to_vec().unwrap(), all, "{axes:?}");
            assert_eq!(x.any(keep_dims(&axes[..])).to_vec().unwrap(), any, "{axes:?}");
            assert_eq!(x.count(&axes[..]).to_vec().unwrap(), count, "{axes:?}");
        }
    });
}

// rows: C213 C214 C215 C216 C228
#[test]
fn tensors_are_reduced_along_every_set_of_axes() {
    let shape = [3, 4, 2, 5];
    let values: Vec<i32> = noise(120, 4).iter().map(|bits| (bits % 41) as i32 - 20).collect();
    on_each_device(|| {
        let x = Tensor::from_array(values.clone(), shape);
        for axes in subsets() {
            let groups = groups(&shape, &axes, &values);
            let of = |function: fn(&[i32]) -> i32| groups.iter().map(|group| function(group)).collect::<Vec<_>>();
            let wide: Vec<f64> = of(|group| group.iter().sum()).iter().map(|&sum| f64::from(sum)).collect();
            let (kept, dropped): (Vec<_>, Vec<_>) = (0..4)
                .map(|axis| {
                    (if axes.contains(&axis) { 1 } else { shape[axis] }, (!axes.contains(&axis)).then_some(shape[axis]))
                })
                .unzip();
            assert_eq!(x.sum(keep_dims(&axes[..])).shape(), kept);
            assert_eq!(x.sum(&axes[..]).shape(), dropped.into_iter().flatten().collect::<Vec<_>>());
            assert_eq!(x.sum(keep_dims(&axes[..])).to_vec().unwrap(), of(|group| group.iter().sum()), "{axes:?}");
            assert_eq!(x.cast::<f64>().sum(&axes[..]).to_vec().unwrap(), wide);
            let product: fn(&[i32]) -> i32 = |group| group.iter().fold(1i32, |a, &b| a.wrapping_mul(b));
            assert_eq!(x.product(&axes[..]).to_vec().unwrap(), of(product), "{axes:?}");
            assert_eq!(x.reduce_max(&axes[..]).to_vec().unwrap(), of(|group| *group.iter().max().unwrap()), "{axes:?}");
            assert_eq!(x.reduce_min(&axes[..]).to_vec().unwrap(), of(|group| *group.iter().min().unwrap()), "{axes:?}");
            assert_eq!(x.reduce_and(&axes[..]).to_vec().unwrap(), of(|group| group.iter().fold(-1, |a, b| a & b)));
            assert_eq!(x.reduce_or(&axes[..]).to_vec().unwrap(), of(|group| group.iter().fold(0, |a, b| a | b)));
            let float = x.cast::<f32>();
            assert_eq!(
                float.reduce_max(&axes[..]).cast::<i32>().to_vec().unwrap(),
                of(|group| *group.iter().max().unwrap())
            );
        }
    });
}

// rows: C215 C216
#[test]
fn nan_is_kept_by_the_extremes_along_axes() {
    on_each_device(|| {
        let x = Tensor::from([[1.0f32, f32::NAN, 3.0], [4.0, 5.0, 6.0]]);
        for extremes in [x.reduce_max(1), x.reduce_min(1)].map(|x| x.to_vec().unwrap()) {
            assert!(extremes[0].is_nan() && !extremes[1].is_nan(), "{extremes:?}");
        }
        let columns = x.reduce_max(0).to_vec().unwrap();
        assert!(columns[0] == 4.0 && columns[1].is_nan() && columns[2] == 6.0);
    });
}

// rows: C213
#[test]
fn wrong_axes_are_refused() {
    on_each_device(|| {
        let x = Tensor::<f32>::zeros([2, 3]);
        assert!(message_of(|| x.sum(2)).contains("there is no axis 2 in a tensor of shape [2, 3]"));
        assert!(message_of(|| x.sum(-3)).contains("there is no axis -3"));
        assert!(message_of(|| x.product([0, -2])).contains("axis -2 is named twice"));
    });
}

// rows: C221 C229
#[test]
fn prefix_reductions_of_tensors() {
    let shape = [3, 4, 5];
    let values: Vec<i32> = noise(60, 2).iter().map(|bits| (bits % 9) as i32 - 4).collect();
    let scans = [Scan::inclusive(), Scan::exclusive(), Scan::inclusive().reverse(), Scan::exclusive().reverse()];
    on_each_device(|| {
        let x = Tensor::from_array(values.clone(), shape);
        for (axis, scan) in (0..3).flat_map(|axis| scans.map(|scan| (axis, scan))) {
            let (is_reverse, is_exclusive) = (scan == scan.reverse(), scan == scans[1] || scan == scans[3]);
            let rows = groups(&shape, &[axis], &values).into_iter().map(|mut row| {
                if is_reverse {
                    row.reverse();
                }
                let sums = row.iter().scan(0, |sum, &value| {
                    *sum += value;
                    Some(if is_exclusive { *sum - value } else { *sum })
                });
                let mut sums: Vec<i32> = sums.collect();
                if is_reverse {
                    sums.reverse();
                }
                sums
            });
            let found = x.prefix(axis, ReduceOp::Add, scan).move_axis(axis, -1);
            assert_eq!(found.to_vec().unwrap(), rows.flatten().collect::<Vec<_>>(), "{axis} {scan:?}");
        }
    });
}

// rows: C233
#[test]
fn extreme_elements_are_found_along_axes() {
    let shape = [4, 3, 2, 6];
    let values: Vec<i32> = noise(144, 7).iter().map(|bits| (bits % 5) as i32).collect();
    on_each_device(|| {
        let x = Tensor::from_array(values.clone(), shape);
        for axes in subsets().filter(|axes| !axes.is_empty()) {
            let groups = groups(&shape, &axes, &values);
            let first = |pick: fn(&[i32]) -> i32| -> Vec<u32> {
                groups
                    .iter()
                    .map(|group| group.iter().position(|&value| value == pick(group)).unwrap() as u32)
                    .collect()
            };
            assert_eq!(x.argmax(&axes[..]).to_vec().unwrap(), first(|group| *group.iter().max().unwrap()), "{axes:?}");
            let kept = x.argmin(keep_dims(&axes[..]));
            assert_eq!(
                (kept.ndim(), kept.to_vec().unwrap()),
                (4, first(|group| *group.iter().min().unwrap())),
                "{axes:?}"
            );
        }
    });
}

// rows: C235
#[test]
fn tensors_are_sorted_along_their_last_axis() {
    on_each_device(|| {
        for shape in [[1, 1, 7], [3, 5, 1], [2, 3, 64], [40, 3, 33], [2, 1, 5000], [0, 2, 3], [2, 3, 0]] {
            let count: usize = shape.iter().product();
            let values: Vec<i32> = noise(count, 13).iter().map(|bits| (bits % 100) as i32 - 50).collect();
            let x = Tensor::from_array(values.clone(), shape);
            for axis in 0..3 {
                let rows = groups(&shape, &[axis], &values).into_iter();
                let (mut sorted, mut falling, mut order) = (Vec::<i32>::new(), Vec::<i32>::new(), Vec::<u32>::new());
                for row in rows {
                    let mut places: Vec<u32> = (0..row.len() as u32).collect();
                    places.sort_by_key(|&place| row[place as usize]);
                    let row: Vec<i32> = places.iter().map(|&place| row[place as usize]).collect();
                    falling.extend(row.iter().rev());
                    sorted.extend(row);
                    order.extend(places);
                }
                let what = format!("{shape:?} {axis}");
                assert_eq!(x.sort(axis).shape(), shape, "{what}");
                assert_eq!(x.sort(axis).move_axis(axis, -1).to_vec().unwrap(), sorted, "{what}");
                assert_eq!(x.sort_descending(axis).move_axis(axis, -1).to_vec().unwrap(), falling, "{what}");
                assert_eq!(x.argsort(axis).move_axis(axis, -1).to_vec().unwrap(), order, "{what}");
            }
        }
        let x = Tensor::from([[2.0f32, f32::NAN, -1.0], [0.0, -0.0, 1.0]]);
        let sorted = x.sort(1).to_vec().unwrap();
        assert!(sorted[..2] == [-1.0, 2.0] && sorted[2].is_nan() && sorted[3].is_sign_negative(), "{sorted:?}");
        assert_eq!(Tensor::from([[1, 1], [0, 2]]).argsort_descending(0).to_vec().unwrap(), [0, 1, 1, 0]);
    });
}

// rows: C240
#[test]
fn medians_along_axes() {
    let shape = [3, 4, 2, 5];
    let values: Vec<i32> = noise(120, 4).iter().map(|bits| (bits % 41) as i32 - 20).collect();
    on_each_device(|| {
        let x = Tensor::from_array(values.clone(), shape);
        for axes in subsets() {
            let middle = groups(&shape, &axes, &values).into_iter().map(|mut group| {
                group.sort();
                group[(group.len() - 1) / 2]
            });
            let found = x.cast::<f32>().median(keep_dims(&axes[..]));
            assert_eq!(found.ndim(), 4);
            let middle: Vec<i32> = middle.collect();
            assert_eq!(found.cast::<i32>().to_vec().unwrap(), middle, "{axes:?}");
            assert_eq!(x.median(&axes[..]).to_vec().unwrap(), middle, "{axes:?}");
        }
        let medians = Tensor::from([[1.0f32, f32::NAN, 2.0], [3.0, 1.0, 2.0]]).median(1).to_vec().unwrap();
        assert!(medians[0].is_nan() && medians[1] == 2.0);
        assert_eq!(Tensor::<f32>::zeros([0, 3]).median(1).to_vec().unwrap(), [] as [f32; 0]);
    });
    assert!(message_of(|| Tensor::<f32>::zeros([2, 0]).median(1)).contains("no median along axes [1]"));
}

// rows: C238
#[test]
fn tensors_are_permuted_along_an_axis() {
    on_each_device(|| {
        let x = Tensor::<i32>::arange([6, 10]);
        for axis in 0..2 {
            let shuffled = x.take(axis, jit::random::rng(3).permutation(x.shape()[axis]));
            assert_eq!(shuffled.shape(), x.shape());
            let (rows, columns) = (shuffled.to_vec().unwrap(), [6, 10]);
            let mut slices = groups(&columns, &[1 - axis], &rows);
            assert_ne!(slices, groups(&columns, &[1 - axis], &x.to_vec().unwrap()));
            slices.sort();
            assert_eq!(slices, groups(&columns, &[1 - axis], &x.to_vec().unwrap()));
        }
    });
}

// rows: C251
#[test]
fn tensors_are_indexed_by_arrays() {
    on_each_device(|| {
        let x = Tensor::<i32>::arange([3, 4]);
        assert_eq!(x.slice(s![&Int::from([-1, 0])]).to_vec().unwrap(), [8, 9, 10, 11, 0, 1, 2, 3]);
        assert_eq!(x.slice(s![.., &UInt::from([2, 2])]).to_vec().unwrap(), [2, 2, 6, 6, 10, 10]);
        assert_eq!(x.slice(s![&Int::from([0, 1, 2]), &Int::from([-1, -2, -3])]).to_vec().unwrap(), [3, 6, 9]);
        let flat = Tensor::from(resident([5, 6, 7, 8]));
        assert_eq!(flat.slice(s![&Int64::from([-1_i64, 0])]).to_vec().unwrap(), [8, 5]);
    });
}

// rows: C253 C258
#[test]
fn tensors_are_sliced_along_several_axes() {
    on_each_device(|| {
        let x = Tensor::<i32>::arange([9, 4]);
        let some = x.slice(s![1..7, ..;2]);
        assert_eq!((some.shape(), some.to_vec().unwrap()[..4].to_vec()), (&[6, 2][..], vec![4, 6, 8, 10]));
        assert_eq!(x.slice(s![-2.., 3]).to_vec().unwrap(), [31, 35]);
        assert_eq!(x.slice(s![..;-4, 1]).to_vec().unwrap(), [33, 17, 1]);
    });
}
