//! Products of floats, compared with plain loops that compute the same bits.

use super::super::Elements;
use super::super::tests::{XorShift, operand, run, values};
use super::kernel::{Float, Kernel};
use super::tile::{Division, Tile};
use super::{MatMul, float};
use crate::ir::Type;
use crate::launch::native::{Call, Operand};
use crate::launch::set_threads;

/// Rows, inner length and columns: a single element, odd numbers, whole tiles and more, narrow ones, long sums.
const SHAPES: [[usize; 3]; 12] = [
    [1, 1, 1],
    [3, 5, 7],
    [12, 8, 32],
    [127, 65, 33],
    [64, 300, 64],
    [5, 600, 40],
    [530, 9, 20],
    [7, 3, 520],
    [33, 64, 1],
    [1, 64, 33],
    [4, 0, 3],
    [20, 5000, 17],
];

fn all_forms([rows, inner, columns]: [usize; 3]) -> impl Iterator<Item = MatMul> {
    (0..4).map(move |flags| MatMul {
        is_a_transposed: flags & 1 != 0,
        is_b_transposed: flags & 2 != 0,
        ..MatMul::new(rows, inner, columns)
    })
}

/// The products, each sum in ascending order, in parts.
fn expected<T: Float>(product: &MatMul, a: &[T], b: &[T]) -> Vec<T> {
    let MatMul { rows, inner, columns, .. } = *product;
    let sum_of = |row: usize, column: usize, range: std::ops::Range<usize>| {
        range.fold(T::ZERO, |sum, step| {
            let a = a[if product.is_a_transposed { step * rows + row } else { row * inner + step }];
            let b = b[if product.is_b_transposed { column * inner + step } else { step * columns + column }];
            a.mul_add(b, sum)
        })
    };
    let parts = product.parts();
    let element = |index: usize| {
        let part = |part: usize| inner * part / parts..inner * (part + 1) / parts;
        let sums = (0..parts).map(|number| sum_of(index / columns, index % columns, part(number)));
        sums.reduce(T::add).unwrap()
    };
    (0..rows * columns).map(element).collect()
}

/// The results of a kernel, without launches.
fn computed<T: Float>(kernel: &Kernel<T>, product: &MatMul, a: &mut [T], b: &mut [T]) -> Vec<T> {
    let parts = product.parts();
    let len = product.rows * product.columns;
    let mut sums = vec![T::ZERO; len * parts];
    let matrices = [a, b, &mut sums[..]].map(|all| Elements { first: all.as_mut_ptr(), len: all.len() });
    let division = Division::new(*product, parts, 3);
    for tile in (0..division.units()).flat_map(|unit| division.unit(unit)) {
        // SAFETY: the matrices have the lengths of the product, and the kernel was offered for this processor.
        unsafe { float::compute(kernel, product, &tile, matrices) };
    }
    let part = |index: usize| (0..parts).map(|part| sums[part * len + index]).reduce(T::add).unwrap();
    (0..len).map(part).collect()
}

fn check_kernels<T: Float + PartialEq + std::fmt::Debug>(from_f64: impl Fn(f64) -> T) {
    let mut random = XorShift(3);
    for product in SHAPES.into_iter().flat_map(all_forms) {
        let mut numbers = |len| (0..len).map(|_| from_f64((random.next() >> 11) as f64 * 1e-16 - 0.4)).collect();
        let [a_len, b_len, _] = product.lens().unwrap();
        let (mut a, mut b): (Vec<T>, Vec<T>) = (numbers(a_len), numbers(b_len));
        let wanted = expected(&product, &a, &b);
        for (number, kernel) in T::kernels().iter().enumerate() {
            assert_eq!(computed(kernel, &product, &mut a, &mut b), wanted, "kernel {number}, {product:?}");
        }
    }
}

#[test]
fn every_kernel_adds_the_products_in_ascending_order() {
    check_kernels::<f32>(|number| number as f32);
    check_kernels::<f64>(|number| number);
}

#[test]
fn products_of_whole_numbers_are_exact_on_any_number_of_threads() {
    let mut random = XorShift(7);
    for product in SHAPES.into_iter().flat_map(all_forms) {
        // Factors of -1, 0 and 1; all sums are exact in every type.
        let mut numbers = |len| (0..len).map(|_| (random.next() >> 7) % 3).collect::<Vec<u64>>();
        let [a_len, b_len, c_len] = product.lens().unwrap();
        let (a, b) = (numbers(a_len), numbers(b_len));
        let as_float = |all: &[u64]| all.iter().map(|&number| number as f64 - 1.0).collect::<Vec<f64>>();
        let wanted = expected(&product, &as_float(&a), &as_float(&b));
        for ty in [Type::F32, Type::F64, Type::F16, Type::BF16] {
            let bits = |number: &f64| crate::ir::scalar::cast(Type::F64, ty, number.to_bits());
            let [a, b, wanted] = [&as_float(&a), &as_float(&b), &wanted].map(|all| all.iter().map(bits).collect());
            let (a, b): (Vec<u64>, Vec<u64>) = (a, b);
            let wanted: Vec<u64> = wanted;
            for threads in [1, 2, 7] {
                set_threads(threads);
                let c = Operand::alloc(ty, c_len).unwrap();
                run(Call::MatMul(product), vec![operand(ty, &a), operand(ty, &b)], vec![c.clone()]).unwrap();
                // Zeros of either sign are equal.
                let is_same = |(got, wanted): (&u64, &u64)| got == wanted || (got | wanted) << (65 - ty.bits()) == 0;
                assert!(values(&c).iter().zip(&wanted).all(is_same), "{product:?} of {ty} on {threads} threads");
            }
        }
    }
    set_threads(2);
}

#[test]
fn tiles_cover_every_part_of_every_sum_once() {
    let batches = [MatMul { batch: 70, ..MatMul::new(9, 30, 8) }, MatMul { batch: 3, ..MatMul::new(600, 2, 300) }];
    for product in SHAPES.into_iter().map(|[rows, inner, columns]| MatMul::new(rows, inner, columns)).chain(batches) {
        for threads in [1, 2, 7, 64] {
            let parts = product.parts();
            let division = Division::new(product, parts, threads);
            let mut covered = vec![0; product.rows * product.columns * product.batch * product.inner];
            for Tile { batch, first_row, rows, first_column, columns, first_inner, inner, .. } in
                (0..division.units()).flat_map(|unit| division.unit(unit))
            {
                for row in first_row..first_row + rows {
                    for column in first_column..first_column + columns {
                        let sum = (batch * product.rows + row) * product.columns + column;
                        let first = sum * product.inner + first_inner;
                        covered[first..first + inner].iter_mut().for_each(|count| *count += 1);
                    }
                }
            }
            assert!(covered.iter().all(|count| *count == 1), "{product:?} for {threads} threads");
        }
    }
}

#[test]
fn the_parts_of_sums_depend_on_the_shape_alone() {
    let parts = |rows, inner, columns| MatMul::new(rows, inner, columns).parts();
    assert_eq!([parts(64, 1023, 64), parts(64, 1024, 64), parts(64, 1 << 14, 64)], [1, 2, 32]);
    assert_eq!([parts(64, 1 << 20, 64), parts(128, 1 << 14, 128), parts(129, 1 << 14, 128)], [64, 32, 1]);
    assert_eq!(MatMul { batch: 5, ..MatMul::new(64, 1 << 14, 64) }.parts(), 1);
}
