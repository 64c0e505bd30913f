//! Products of matrices.

use super::*;
use crate::backend::cuda::library::matmul::{Tiles, plan_in};
use crate::launch::native::{MatMul, is_supported_matmul};

const FLAGS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

fn product([rows, inner, columns]: [usize; 3], [is_a_transposed, is_b_transposed]: [bool; 2]) -> MatMul {
    MatMul { is_a_transposed, is_b_transposed, ..MatMul::new(rows, inner, columns) }
}

/// Products of each form, in both sizes of tiles, and one that is added in parts.
pub(super) fn calls(ty: Type) -> impl Iterator<Item = Call> {
    let shapes = [[20, 20, 20], [2000, 20, 2000], [5, 2000, 5]];
    let all = shapes.into_iter().flat_map(|shape| FLAGS.map(|flags| Call::MatMul(product(shape, flags))));
    all.filter(move |_| is_supported_matmul(ty))
}

/// Numbers near one with signs, and now and then one so small that products of it vanish with a sign.
pub(super) fn number(rng: &mut Rng, ty: Type) -> u64 {
    if !ty.is_float() {
        return rng.bits() & ty.bit_mask();
    }
    let smallest = 1 | (rng.bits() & 1) << (ty.bits() - 1);
    let number = (0.5 + rng.below(1000) as f64 / 1000.0) * if rng.one_in(2) { 1.0 } else { -1.0 };
    if rng.one_in(3) { smallest } else { scalar::cast(Type::F64, ty, number.to_bits()) }
}

fn check(product: MatMul, ty: Type, tiles: Option<Tiles>, seed: u64) {
    let mut rng = Rng::new(seed);
    let [a, b, c] = product.lens().unwrap();
    let inputs = [a, b].map(|len| operand(ty, &(0..len).map(|_| number(&mut rng, ty)).collect::<Vec<_>>()));
    let wanted = on_host(Call::MatMul(product), &inputs, &[(ty, c)]);
    let output = operand(ty, &vec![0xa5a5_a5a5_a5a5_a5a5 & ty.bit_mask(); c]);
    let plan = match tiles {
        Some(tiles) => plan_in(tiles, product, ty),
        None => Plan::of(Call::MatMul(product), ty, a).unwrap(),
    };
    compare(&plan, &inputs, &[output], &wanted, &format!("{product:?} of {ty} in {tiles:?}"), seed);
}

#[test]
fn products_of_every_type_and_form_are_those_of_the_host() {
    let mut seed = 0;
    for ty in Type::ALL.into_iter().filter(|ty| is_supported_matmul(*ty)) {
        for (shape, flags) in [[1, 1, 1], [33, 17, 35], [5, 40, 70], [64, 3, 31]].into_iter().zip(FLAGS) {
            seed += 1;
            check(product(shape, flags), ty, None, seed);
        }
    }
}

#[test]
fn large_tiles_compute_the_same() {
    for (seed, ty) in (0..).zip([Type::F32, Type::F64, Type::F16, Type::BF16, Type::I32, Type::U64, Type::I8]) {
        check(product([140, 19, 131], FLAGS[seed as usize % 4]), ty, Some(Tiles::Large), seed);
    }
    for (seed, flags) in (0..).zip(FLAGS) {
        check(product([70, 9, 200], flags), Type::F32, Some(Tiles::Large), seed);
    }
}

#[test]
fn long_sums_are_added_in_parts_and_empty_ones_are_zero() {
    for (seed, ty) in (0..).zip([Type::F32, Type::F64, Type::F16, Type::I16]) {
        check(product([7, 1700, 3], FLAGS[seed as usize]), ty, None, seed);
        check(product([4, 0, 3], FLAGS[seed as usize]), ty, None, seed);
    }
}

#[test]
fn each_product_of_a_batch_has_its_own_matrices_unless_they_are_shared() {
    for (seed, (is_a_shared, is_b_shared)) in (0..).zip([(false, false), (true, false), (false, true)]) {
        let batch = MatMul { batch: 3, is_a_shared, is_b_shared, ..product([34, 5, 40], FLAGS[seed as usize]) };
        check(batch, Type::F32, None, seed);
        let in_parts = MatMul { inner: 1100, rows: 3, columns: 4, ..batch };
        check(in_parts, Type::F64, None, seed);
    }
    assert!(Plan::of(Call::MatMul(MatMul::new(0, 3, 4)), Type::F32, 0).unwrap().steps.is_empty());
    // More blocks than a grid has.
    let many = MatMul { batch: 1 << 31, ..MatMul::new(1, 1, 1) };
    assert_eq!(Plan::of(Call::MatMul(many), Type::U8, 1 << 31), None);
}
