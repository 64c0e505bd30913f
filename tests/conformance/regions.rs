//! Regions with tensors, with closures inside annotated functions, and with populations that grow and shrink.

use jit::prelude::*;

use crate::modes::{in_each_mode, modes};
use crate::{noise, on_each_device, resident};

modes! {
    fn count_elements(start: &Tensor<f32>, step: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
        { let (mut x, mut sum) = (start.clone(), step.clone()); }
        while (x < 3.0) { x += 1.0; sum += step; }
        { (x, sum) }
    }

    fn beside(start: &Tensor<f32>, other: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
        { let (mut x, mut other) = (start.clone(), other.clone()); }
        while (x < 3.0) { x += row_total(&mut other); }
        { (x, other) }
    }
}

modes! {
    fn choose(x: &Tensor<f32>, shift: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
        { let (mut y, mut count) = (x.clone(), Tensor::zeros(x.shape())); }
        if (x < 2.0) { y += shift; count += 1.0; } else { y *= 10.0; }
        { (y, count) }
    }
}

/// Reads a value that it could change.
fn row_total(tensor: &mut Tensor<f32>) -> f32 {
    tensor.shape()[1] as f32 * 0.1
}

// rows: C030
#[test]
fn tensors_are_conditions_and_state_of_loops() {
    in_each_mode!(count_elements [symbolic evaluated compressed], |run| {
        let start = Tensor::from_array(resident([0.0_f32, 1.0, 2.0, 3.0, 4.0, 2.5]), [2, 3]);
        let (x, sum) = run(&start, &Tensor::full(2.0, [2, 3]));
        assert_eq!((x.shape(), x.to_vec().unwrap()), (&[2, 3][..], vec![3.0, 3.0, 3.0, 3.0, 4.0, 3.5]));
        assert_eq!((sum.shape(), sum.to_vec().unwrap()), (&[2, 3][..], vec![8.0, 6.0, 4.0, 2.0, 2.0, 4.0]));
    });
}

// rows: C031
#[test]
fn tensors_of_other_shapes_pass_by_a_loop() {
    in_each_mode!(beside [symbolic evaluated compressed], |run| {
        let other = Tensor::from_array(Float::arange(110), [10, 11]);
        let (x, after) = run(&Tensor::from([0.0_f32, 2.0, 5.0]), &other);
        assert_eq!((x.shape(), x.to_vec().unwrap()), (&[3][..], vec![1.1 + 1.1 + 1.1, 3.1, 5.0]));
        assert_eq!((after.shape(), after.to_vec().unwrap()), (&[10, 11][..], other.to_vec().unwrap()));
    });
}

// rows: C064
#[test]
fn tensors_are_conditions_and_values_of_branches() {
    in_each_mode!(choose [symbolic evaluated], |run| {
        let x = Tensor::from_array(resident([0.0_f32, 1.0, 2.0, 3.0, 4.0, -1.0]), [3, 2]);
        let (y, count) = run(&x, &Tensor::full(0.5, [3, 2]));
        assert_eq!((y.shape(), y.to_vec().unwrap()), (&[3, 2][..], vec![0.5, 1.5, 20.0, 30.0, 40.0, -0.5]));
        assert_eq!((count.shape(), count.to_vec().unwrap()), (&[3, 2][..], vec![1.0, 1.0, 0.0, 0.0, 0.0, 1.0]));
    });
}

#[jit]
fn signs(x: &Float, negative: f32) -> Float {
    let sign = |x: &Float| if x < 0.0 { Float::from(negative) } else { Float::from(-negative) };
    fn twice(x: &Float) -> Float {
        x * 2.0
    }
    sign(&twice(x))
}

// rows: C057 K35 K36
#[test]
fn closures_inside_are_traced_with_what_they_capture() {
    on_each_device(|| {
        assert_eq!(signs(&Float::from([-3.0, 0.5, 2.0]), -1.0).to_vec().unwrap(), [-1.0, 1.0, 1.0]);
    });
}

/// One generation: small ones die, even ones split in two, the others shrink. The survivors are put in a queue.
#[jit]
fn generation(sizes: &UInt, queue: &mut UInt, count: &mut UInt) {
    let first = sizes.zeros_like();
    let mut size = sizes.clone();
    while size % 4 == 0 {
        size /= 2;
    }
    if size > 5 {
        if size % 2 == 0 {
            for child in [size / 2, size / 2 - 1] {
                let place = count.scatter_inc(&first);
                queue.scatter(child, &place);
            }
        } else {
            let place = count.scatter_inc(&first);
            queue.scatter(size - 3, &place);
        }
    }
}

// rows: C022
#[test]
fn populations_split_and_die() {
    let host = |sizes: &[u32]| {
        let mut next = Vec::new();
        for &(mut size) in sizes {
            while size % 4 == 0 {
                size /= 2;
            }
            match (size > 5, size % 2 == 0) {
                (true, true) => next.extend([size / 2, size / 2 - 1]),
                (true, false) => next.push(size - 3),
                _ => {}
            }
        }
        next
    };
    on_each_device(|| {
        let start: Vec<u32> = noise(700, 11).iter().map(|bits| bits >> 8 & 0xff | 1).collect();
        let (mut expected, mut sizes, mut generations) = (start.clone(), UInt::from(&start), 0);
        while !expected.is_empty() {
            expected = host(&expected);
            let (mut queue, mut count) = (UInt::zeros(2 * sizes.len()), UInt::zeros(1));
            generation(&sizes, &mut queue, &mut count);
            sizes = queue.slice(0..count.item().unwrap() as usize);
            let mut got = sizes.to_vec().unwrap();
            got.sort_unstable();
            expected.sort_unstable();
            assert!(got == expected, "after {generations} generations");
            generations += 1;
        }
        assert!(generations > 5, "{generations}");
    });
}
