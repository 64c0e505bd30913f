//! Prefix reductions along axes that are not the last one, where the elements are combined in place, beside those along
//! the last axis.

use half::f16;
use jit::prelude::*;
use jit::{Element, ad};

use crate::devices::on_each_device;
use crate::misuse::message_of;

const SCANS: [Scan; 4] =
    [Scan::inclusive(), Scan::exclusive(), Scan::inclusive().reverse(), Scan::exclusive().reverse()];

/// Lengths before, of, and after the axis.
const SHAPES: [[usize; 3]; 5] = [[1, 5, 64], [3, 7, 32], [2, 40, 33], [1, 2048, 65], [9, 1, 9]];
/// Axes that are divided into parts, the last one shorter.
const LONG: [[usize; 3]; 2] = [[1, 2049, 64], [2, 2100, 33]];

/// Numbers without an order, exact in every type.
fn numbers(count: usize) -> Vec<i32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 27) as i32 - 16).collect()
}

fn floats(count: usize) -> Float {
    Int::from(numbers(count)).cast()
}

/// The reductions along the middle axis, which is moved to the end and back.
fn by_rows<T: Element>(x: &Tensor<T>, op: ReduceOp, scan: Scan) -> Vec<T> {
    let rows = x.move_axis(1, -1);
    let scanned = rows.array().prefix(op, scan.per_block(x.size(1)));
    Tensor::from_array(scanned, rows.sizes()).move_axis(-1, 1).to_vec().unwrap()
}

#[track_caller]
fn check<T: Element + PartialEq>(x: &Tensor<T>, op: ReduceOp) {
    for scan in SCANS {
        let found = x.prefix(1, op, scan).to_vec().unwrap();
        assert_eq!(found, by_rows(x, op, scan), "{:?} {op:?} {scan:?}", x.shape());
    }
}

#[test]
fn prefix_reductions_of_columns_are_those_of_rows() {
    const INTEGERS: [ReduceOp; 6] =
        [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or];
    on_each_device(|| {
        for shape in LONG {
            let x = Tensor::from_array(Int::from(numbers(shape.iter().product())), shape);
            [ReduceOp::Add, ReduceOp::Max].into_iter().for_each(|op| check(&x, op));
        }
        for shape in SHAPES {
            let x = Tensor::from_array(Int::from(numbers(shape.iter().product())), shape);
            INTEGERS.into_iter().for_each(|op| check(&x, op));
            check(&x.cast::<u8>(), ReduceOp::Add);
            [ReduceOp::And, ReduceOp::Or].into_iter().for_each(|op| check(&x.gt(-15), op));
            [ReduceOp::Min, ReduceOp::Max].into_iter().for_each(|op| check(&x.cast::<f64>(), op));
            check(&x.cast::<f32>(), ReduceOp::Add);
        }
    });
}

#[test]
fn rounded_sums_of_columns_have_the_bits_of_those_of_rows() {
    on_each_device(|| {
        for shape in SHAPES {
            let x = Tensor::from_array(floats(shape.iter().product()) / 7.0, shape);
            check(&x, ReduceOp::Add);
            check(&(1.0 + &x * 1e-3), ReduceOp::Mul);
            check(&x.cast::<f16>(), ReduceOp::Add);
        }
    });
}

#[test]
fn sums_of_long_columns_are_not_less_exact_than_those_of_rows() {
    on_each_device(|| {
        for [outer, length, inner] in LONG {
            let x = Tensor::from_array(Float::full(0.1, outer * length * inner), [outer, length, inner]);
            let found = x.prefix_sum(1).to_vec().unwrap();
            for (position, sum) in found.iter().enumerate() {
                let wanted = f64::from(0.1_f32) * (position / inner % length + 1) as f64;
                assert!((f64::from(*sum) - wanted).abs() <= 2e-5 * wanted, "{position}: {sum} {wanted}");
            }
        }
    });
}

#[test]
fn sums_of_columns_of_expressions() {
    on_each_device(|| {
        let x = Tensor::from_array(Int::arange(600), [6, 100]);
        let sums = (&x * 2 + 1).prefix_sum(0) - x.prefix_sum(0) * 2;
        let wanted: Vec<i32> = (0..600).map(|i| i / 100 + 1).collect();
        assert_eq!(sums.to_vec().unwrap(), wanted);
    });
}

#[test]
fn sums_of_columns_have_derivatives_in_both_modes() {
    on_each_device(|| {
        for (scan, weight) in SCANS.into_iter().zip([|i| 6 - i, |i| 5 - i, |i| i + 1, |i| i]) {
            let mut x = Tensor::from_array(Float::arange(600), [6, 100]);
            x.enable_grad();
            x.prefix(0, ReduceOp::Add, scan).sum(..).backward().unwrap();
            let found = x.grad().to_vec().unwrap();
            let wanted: Vec<f32> = (0..600).map(|i| weight(i / 100) as f32).collect();
            assert_eq!(found, wanted, "{scan:?}");
            let of = |x: &Tensor<f32>| x.prefix(0, ReduceOp::Add, scan);
            let tangent = Tensor::from_array(floats(600), [6, 100]);
            let (_, flow) = ad::jvp(of, &x.detach(), &tangent).unwrap();
            assert_eq!(flow.to_vec().unwrap(), of(&tangent).to_vec().unwrap(), "{scan:?}");
        }
    });
}

#[test]
fn products_of_columns_have_derivatives_where_a_factor_is_zero() {
    on_each_device(|| {
        let mut x = Tensor::from_array(Float::arange(300) % 3.0, [3, 100]);
        x.enable_grad();
        x.prefix(0, ReduceOp::Mul, Scan::inclusive()).sum(..).backward().unwrap();
        let values: Vec<f32> = x.detach().to_vec().unwrap();
        let of = |column: usize| [0, 1, 2].map(|row| values[row * 100 + column]);
        let found = x.grad().to_vec().unwrap();
        for column in 0..100 {
            let [a, b, c] = of(column);
            let wanted = [1.0 + b + b * c, a + a * c, a * b];
            assert_eq!([0, 1, 2].map(|row| found[row * 100 + column]), wanted, "{a} {b} {c}");
        }
    });
}

#[freeze]
fn frozen_sums(x: &Tensor<f32>) -> Tensor<f32> {
    x.prefix_sum(0)
}

#[test]
fn a_recording_of_sums_of_columns_serves_other_lengths() {
    on_each_device(|| {
        frozen_sums::clear();
        for [rows, columns] in [[5, 64], [6, 80], [2000, 64], [1, 100], [33, 1000]] {
            let x = Tensor::from_array(floats(rows * columns), [rows, columns]);
            let found = frozen_sums(&x).to_vec().unwrap();
            assert_eq!(found, x.prefix_sum(0).to_vec().unwrap(), "{rows} {columns}");
        }
        assert!(frozen_sums::stats().replays >= 3, "{:?}", frozen_sums::stats());
    });
}

#[test]
fn bits_of_floats_are_not_combined_along_columns() {
    let x = Tensor::from_array(Float::arange(640), [10, 64]);
    let message = message_of(|| drop(x.prefix(0, ReduceOp::And, Scan::inclusive())));
    assert!(message.contains("elements of type f32 cannot be combined by `ReduceOp::And`"), "{message}");
}
