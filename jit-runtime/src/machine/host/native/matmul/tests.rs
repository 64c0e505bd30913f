//! Products of floats, compared with plain loops that compute the same bits.

use super::super::Elements;
use super::super::tests::{XorShift, operand, run, values};
use super::super::wide::Element;
use super::float::Kernels;
use super::kernel::{Float, Kernel};
use super::tile::{Division, Tile};
use super::{MatMul, float};
use half::bf16;

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
fn computed<T: Float + Element<Wide = T>>(kernel: &Kernel<T>, product: &MatMul, a: &mut [T], b: &mut [T]) -> Vec<T> {
    let parts = product.parts();
    let len = product.rows * product.columns;
    let mut sums = vec![T::ZERO; len * parts];
    let [a, b, c] = [a, b, &mut sums[..]].map(|all| Elements { first: all.as_mut_ptr(), len: all.len() });
    let division = Division::new(*product, parts, 3);
    let kernels = Kernels { single: *kernel, pairs: None };
    for tile in (0..division.units()).flat_map(|unit| division.unit(unit)) {
        // SAFETY: the matrices have the lengths of the product, and the kernel was offered for this processor.
        unsafe { float::compute::<T, T>(&kernels, product, &tile, (a, b, c)) };
    }
    let part = |index: usize| (0..parts).map(|part| sums[part * len + index]).reduce(T::add).unwrap();
    (0..len).map(part).collect()
}

fn check_kernels<T: Float + Element<Wide = T> + PartialEq + std::fmt::Debug>(from_f64: impl Fn(f64) -> T) {
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

/// Sums of products of `bf16`, each part of them, with the kernels.
fn sums_of_halves(kernels: &Kernels<bf16>, product: &MatMul, a: &mut [bf16], b: &mut [bf16]) -> Vec<f32> {
    let parts = product.parts();
    let mut sums = vec![0.0_f32; product.rows * product.columns * parts];
    let c = Elements { first: sums.as_mut_ptr(), len: sums.len() };
    let [a, b] = [a, b].map(|all| Elements { first: all.as_mut_ptr(), len: all.len() });
    let division = Division::new(*product, parts, 3);
    for tile in (0..division.units()).flat_map(|unit| division.unit(unit)) {
        // SAFETY: the matrices have the lengths of the product, and the kernels were offered for this processor.
        unsafe { float::compute::<bf16, f32>(kernels, product, &tile, (a, b, c)) };
    }
    sums
}

#[test]
fn pairs_of_products_are_added_with_the_bits_of_single_ones() {
    let mut random = XorShift(9);
    let number = |random: &mut XorShift, lowest: i32, exponents: u64| {
        let fraction = 1.0 + (random.next() >> 57) as f32 / 128.0;
        let sign = if random.next() >> 63 == 0 { 1.0 } else { -1.0 };
        bf16::from_f32(sign * fraction * 2_f32.powi(lowest + (random.next() >> 20) as i32 % exponents as i32))
    };
    // Exponents of the factors: ordinary, almost subnormal sums, subnormal sums, subnormal factors, overflow.
    let scales = [(-5, -5, 8), (-58, -54, 3), (-64, -64, 30), (-133, 0, 20), (0, -133, 20), (61, 60, 5)];
    for product in SHAPES.into_iter().flat_map(all_forms) {
        let [a_len, b_len, _] = product.lens().unwrap();
        for (case, (a_lowest, b_lowest, exponents)) in scales.into_iter().enumerate() {
            let mut factors = |len: usize, lowest: i32| -> Vec<bf16> {
                (0..len).map(|_| number(&mut random, lowest, exponents)).collect()
            };
            let (mut a, mut b) = (factors(a_len, a_lowest), factors(b_len, b_lowest));
            // Zeros, and in the last case infinities and NaN.
            for (position, factor) in a.iter_mut().chain(&mut b).enumerate() {
                match (position % 31, case) {
                    (3, _) => *factor = bf16::NEG_ZERO,
                    (5, 5) => *factor = [bf16::INFINITY, bf16::NEG_INFINITY, bf16::NAN][position % 3],
                    _ => {}
                }
            }
            let single = float::best(product.columns);
            let wanted = sums_of_halves(&Kernels { single, pairs: None }, &product, &mut a, &mut b);
            let kernels = Kernels { single, pairs: bf16::pairing() };
            let sums = sums_of_halves(&kernels, &product, &mut a, &mut b);
            let is_same =
                |(sum, wanted): (&f32, &f32)| sum.to_bits() == wanted.to_bits() || sum.is_nan() && wanted.is_nan();
            assert!(sums.iter().zip(&wanted).all(is_same), "case {case}, {product:?}");
        }
    }
}

#[test]
fn sums_go_on_in_singles_after_subnormal_ones() {
    // The first panel has subnormal sums, the second one has not.
    let product = MatMul::new(5, 600, 33);
    let tiny = |step: usize| if step < 256 { 2_f32.powi(-66) } else { 2_f32.powi(-50) };
    let mut a: Vec<bf16> = (0..5 * 600).map(|index| bf16::from_f32(tiny(index % 600))).collect();
    let mut b: Vec<bf16> = (0..600 * 33).map(|index| bf16::from_f32(tiny(index / 33))).collect();
    let mut sums = [None, bf16::pairing()]
        .map(|pairs| sums_of_halves(&Kernels { single: float::best(33), pairs }, &product, &mut a, &mut b));
    assert_eq!(sums[0][0], 256.0 * 2_f32.powi(-132) + 344.0 * 2_f32.powi(-100));
    let paired = std::mem::take(&mut sums[1]);
    assert_eq!(sums[0], paired);
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

#[test]
fn launches_add_the_parts_of_long_sums_in_ascending_order() {
    let mut random = XorShift(5);
    // The last one has more results than one unit of work adds up.
    for product in [[3, 5000, 5], [70, 1100, 65]].into_iter().flat_map(all_forms) {
        let mut numbers = |len| (0..len).map(|_| (random.next() >> 40) as f32 * 1e-7 - 0.7).collect::<Vec<f32>>();
        let [a_len, b_len, c_len] = product.lens().unwrap();
        let (a, b) = (numbers(a_len), numbers(b_len));
        let bits = |all: &[f32]| all.iter().map(|number| number.to_bits().into()).collect::<Vec<u64>>();
        let c = Operand::alloc(Type::F32, c_len).unwrap();
        let inputs = [&a, &b].map(|all| operand(Type::F32, &bits(all)));
        run(Call::MatMul(product), inputs.to_vec(), vec![c.clone()]).unwrap();
        assert!(product.parts() > 1 && values(&c) == bits(&expected(&product, &a, &b)), "{product:?}");
    }
}

#[test]
fn each_product_of_a_batch_has_its_own_long_sums() {
    let whole = MatMul { batch: 3, ..MatMul::new(4, 1100, 5) };
    let forms = [
        MatMul { is_b_transposed: true, ..whole },
        MatMul { is_a_shared: true, ..whole },
        MatMul { is_b_shared: true, is_a_transposed: true, ..whole },
    ];
    for product in forms {
        let single = MatMul { batch: 1, is_a_shared: false, is_b_shared: false, ..product };
        let [a_len, b_len, c_len] = product.lens().unwrap();
        let numbers = |len: usize, seed: usize| (0..len).map(|i| ((i * 37 + seed) % 11) as f32 - 5.0).collect();
        let (a, b): (Vec<f32>, Vec<f32>) = (numbers(a_len, 1), numbers(b_len, 2));
        let of_batch = |all: &[f32], batch: usize, is_shared: bool, len: usize| -> Vec<f32> {
            if is_shared { all.to_vec() } else { all[batch * len..][..len].to_vec() }
        };
        let wanted = (0..3).flat_map(|batch| {
            let a = of_batch(&a, batch, product.is_a_shared, 4 * 1100);
            expected(&single, &a, &of_batch(&b, batch, product.is_b_shared, 1100 * 5))
        });
        let wanted: Vec<u64> = wanted.map(|sum| sum.to_bits().into()).collect();
        let inputs = [&a, &b].map(|all| all.iter().map(|number| number.to_bits().into()).collect::<Vec<u64>>());
        let c = Operand::alloc(Type::F32, c_len).unwrap();
        run(Call::MatMul(product), inputs.map(|bits| operand(Type::F32, &bits)).to_vec(), vec![c.clone()]).unwrap();
        assert!(product.parts() > 1 && values(&c) == wanted, "{product:?}");
    }
}

#[test]
fn sums_of_nothing_are_written_as_zeros() {
    for ty in [Type::F32, Type::F64, Type::F16, Type::I16] {
        let c = operand(ty, &[1; 12]);
        let empty = Operand::alloc(ty, 0).unwrap();
        run(Call::MatMul(MatMul::new(4, 0, 3)), vec![empty.clone(), empty], vec![c.clone()]).unwrap();
        assert_eq!(values(&c), [0; 12], "{ty}");
    }
}

#[test]
fn operands_that_do_not_fit_a_product_are_rejected() {
    let product = MatMul::new(2, 3, 4);
    let zeros = |ty, len: usize| operand(ty, &vec![0; len]);
    let outcome = |a: (Type, usize), b: (Type, usize), c: (Type, usize)| {
        let [a, b, c] = [a, b, c].map(|(ty, len)| zeros(ty, len));
        product.check(&[a, b], &[c])
    };
    let [a, b, c] = [(Type::I32, 6), (Type::I32, 12), (Type::I32, 8)];
    outcome(a, b, c).unwrap();
    for (a, b, c) in [((Type::U32, 6), b, c), (a, (Type::F32, 12), c), (a, b, (Type::I64, 8))] {
        let error = outcome(a, b, c).unwrap_err();
        assert!(error.contains("cannot be multiplied"), "{error}");
    }
    for (a, b, c) in [((Type::I32, 5), b, c), (a, (Type::I32, 11), c), (a, b, (Type::I32, 9))] {
        let error = outcome(a, b, c).unwrap_err();
        assert!(error.contains("takes Some([6, 12, 8])"), "{error}");
    }
    let batch = MatMul { batch: 5, ..product };
    assert_eq!(batch.lens(), Some([30, 60, 40]));
    assert_eq!(MatMul { is_a_shared: true, ..batch }.lens(), Some([6, 60, 40]));
    assert_eq!(MatMul { is_b_shared: true, ..batch }.lens(), Some([30, 12, 40]));
    let masks = (Type::Bool, 6);
    assert!(outcome(masks, (Type::Bool, 12), (Type::Bool, 8)).unwrap_err().contains("cannot be multiplied"));
}
