//! Convolutions and their transposes.

use super::*;
use crate::backend::cuda::library::Tiles;
use crate::backend::cuda::library::convolve::plan_in;
use crate::backend::library::{AXES, Convolution, Sought, is_supported_convolution};

const EACH: [Sought; 3] = [Sought::Result, Sought::Input, Sought::Kernel];
/// An axis that is not there: input, kernel, stride, dilation, zeros before the input.
const ONE: [usize; 5] = [1, 1, 1, 1, 0];

/// A convolution of batch, groups, channels and results, with the lengths that its window has, and as many zeros on
/// both sides.
fn shape([batch, groups, channels, results]: [usize; 4], axes: [[usize; 5]; AXES]) -> Convolution {
    let of = |number: usize| axes.map(|axis| axis[number]);
    let (input, kernel, strides, dilations, before) = (of(0), of(1), of(2), of(3), of(4));
    let result = std::array::from_fn(|axis| {
        let reach = (kernel[axis].max(1) - 1) * dilations[axis] + 1;
        (input[axis] + 2 * before[axis]).checked_sub(reach).map_or(0, |rest| rest / strides[axis] + 1)
    });
    let one = Convolution::new(Sought::Result);
    Convolution { batch, groups, channels, results, input, kernel, result, before, strides, dilations, ..one }
}

/// The same sizes, for something else.
fn seeking(sought: Sought, sizes: Convolution) -> Convolution {
    Convolution { sought, ..sizes }
}

/// Convolutions of each form, in both sizes of tiles, and some whose sums are added in parts and lanes.
pub(super) fn calls(ty: Type) -> impl Iterator<Item = Call> {
    let plane = |length: usize| [ONE, [length, 3, 1, 1, 1], [length, 3, 1, 1, 1]];
    let small = shape([1, 1, 2, 3], plane(20));
    let large = shape([20, 1, 256, 256], plane(60));
    let all = [small, large].into_iter().flat_map(|shape| EACH.map(move |sought| seeking(sought, shape)));
    let in_one_part = Convolution { sought: Sought::Kernel, ..shape([1, 1, 600, 600], plane(20)) };
    let in_parts = Convolution { sought: Sought::Kernel, ..shape([4, 1, 2, 3], plane(40)) };
    let in_lanes = [20, 40].map(|length| seeking(Sought::Kernel, shape([4, 5, 2, 3], plane(length))));
    all.chain([in_one_part, in_parts]).chain(in_lanes).map(Call::Convolve).filter(move |_| is_supported_convolution(ty))
}

fn check(all: Convolution, ty: Type, tiles: Option<Tiles>, seed: u64) {
    let mut rng = Rng::new(seed);
    let [a, b, c] = all.operand_lens().unwrap();
    let inputs = [a, b].map(|len| {
        let numbers: Vec<u64> = (0..len).map(|_| matmul::number(&mut rng, ty)).collect();
        operand(ty, &numbers)
    });
    let wanted = on_host(Call::Convolve(all), &inputs, &[(ty, c)]);
    let output = operand(ty, &vec![0xa5a5_a5a5_a5a5_a5a5 & ty.bit_mask(); c]);
    let plan = plan_in(tiles, all, ty).unwrap();
    compare(&plan, &inputs, &[output], &wanted, &format!("{all:?} of {ty} in {tiles:?}"), seed);
}

fn check_each(all: Convolution, seed: u64) {
    for sought in EACH {
        check(Convolution { sought, ..all }, Type::F32, None, seed);
    }
}

#[test]
fn convolutions_of_every_type_are_those_of_the_host() {
    let types = Type::ALL.into_iter().filter(|ty| is_supported_convolution(*ty));
    for (seed, ty) in (0..).zip(types) {
        for sought in EACH {
            let all = shape([2, 2, 3, 4], [ONE, [7, 3, 2, 1, 1], [6, 2, 1, 2, 1]]);
            check(Convolution { sought, ..all }, ty, None, seed);
        }
    }
}

#[test]
fn axes_strides_distances_and_zeros_are_those_of_the_host() {
    let plane = [ONE, [7, 3, 1, 1, 1], [7, 3, 1, 1, 1]];
    let shapes = [
        shape([1, 1, 1, 1], [ONE; AXES]),
        shape([1, 1, 3, 5], [ONE, ONE, [40, 7, 3, 2, 5]]),
        shape([2, 1, 2, 2], [[4, 2, 2, 1, 0], [5, 3, 1, 2, 2], [4, 2, 3, 2, 1]]),
        // Strides and distances with a common divisor: some places meet no element.
        shape([1, 1, 2, 2], [ONE, [9, 2, 4, 2, 0], [11, 3, 6, 4, 3]]),
        // Strides that are larger than the kernels, and than the input.
        shape([2, 1, 3, 2], [ONE, [7, 1, 3, 1, 0], [6, 2, 5, 1, 0]]),
        shape([1, 1, 1, 2], [ONE, ONE, [3, 3, 7, 1, 2]]),
        // A channel for each group, and more rows and columns than a tile has.
        shape([2, 5, 1, 1], plane),
        shape([1, 1, 37, 2], [ONE, ONE, [5, 2, 1, 1, 0]]),
        shape([3, 1, 2, 35], [ONE, ONE, [13, 2, 1, 1, 0]]),
        // Nothing to add, and nothing to compute.
        shape([0, 1, 3, 2], plane),
        shape([2, 1, 0, 2], plane),
        shape([2, 1, 3, 0], plane),
        shape([2, 1, 3, 2], [ONE, [0, 2, 1, 1, 2], [4, 2, 1, 1, 0]]),
        shape([2, 1, 3, 2], [ONE, [2, 4, 1, 1, 0], [4, 2, 1, 1, 0]]),
    ];
    (0..).zip(shapes).for_each(|(seed, all)| check_each(all, seed));
}

#[test]
fn random_convolutions_are_those_of_the_host() {
    let mut rng = Rng::new(0xc0);
    for seed in 0..24 {
        let mut below = |most: usize| rng.below(most);
        let mut axis = |most: usize| {
            let kernel = 1 + below(3);
            [kernel + below(most), kernel, 1 + below(4), 1 + below(4), below(3)]
        };
        let axes = if seed % 4 == 0 { [axis(3), axis(3), axis(4)] } else { [ONE, axis(5), axis(8)] };
        let sizes = [1 + below(2), 1 + below(2), 1 + below(4), 1 + below(5)];
        check_each(shape(sizes, axes), seed);
    }
}

#[test]
fn large_tiles_of_convolutions_compute_the_same() {
    let all = shape([2, 1, 5, 6], [ONE, [9, 3, 2, 1, 1], [8, 2, 1, 1, 1]]);
    for (seed, ty) in (0..).zip([Type::F32, Type::F64, Type::F16, Type::BF16]) {
        for sought in EACH {
            check(Convolution { sought, ..all }, ty, Some(Tiles::Large), seed);
        }
    }
}

#[test]
fn sums_of_groups_with_few_results_have_lanes() {
    let sizes = |numbers, axes| Convolution { sought: Sought::Kernel, ..shape(numbers, axes) };
    let in_parts = sizes([2, 3, 1, 2], [ONE, [33, 2, 1, 1, 0], [41, 2, 1, 1, 0]]);
    let in_one = sizes([3, 17, 1, 1], [ONE, [7, 3, 2, 1, 1], [5, 3, 1, 2, 2]]);
    assert_eq!([in_parts, in_one].map(|all| [all.lanes(), all.parts()]), [[16, 2], [16, 1]]);
    for (seed, ty) in [Type::F32, Type::F16, Type::F64].into_iter().enumerate() {
        check(in_parts, ty, None, seed as u64);
        check(in_one, ty, None, seed as u64);
    }
}

#[test]
fn long_sums_of_convolutions_are_added_in_parts() {
    let all = Convolution { sought: Sought::Kernel, ..shape([2, 1, 2, 2], [ONE, [33, 2, 1, 1, 0], [41, 2, 1, 1, 0]]) };
    assert_eq!(all.parts(), 2);
    for (seed, ty) in (0..).zip([Type::F32, Type::F64, Type::F16, Type::BF16]) {
        check(all, ty, None, seed);
    }
}

#[test]
fn infinite_numbers_reach_the_sums_that_they_reach_on_the_host() {
    let all = shape([1, 1, 1, 1], [ONE, [6, 3, 1, 1, 1], [6, 3, 1, 1, 1]]);
    for sought in EACH {
        let all = Convolution { sought, ..all };
        let [a, b, c] = all.operand_lens().unwrap();
        for infinite in 0..2 {
            let mut lens = [a, b].map(|len| vec![1.0_f32; len]);
            *lens[infinite].last_mut().unwrap() = f32::INFINITY;
            let bits = |all: &Vec<f32>| all.iter().map(|x| x.to_bits().into()).collect::<Vec<u64>>();
            let inputs = lens.each_ref().map(|numbers| operand(Type::F32, &bits(numbers)));
            check_call(Call::Convolve(all), &inputs, &[(Type::F32, c)], 1);
        }
    }
}

#[test]
fn convolutions_beyond_numbers_of_32_bits_have_no_plan() {
    let all = shape([1, 1, 1, 1], [ONE, ONE, [40, 2, 1, 1, 0]]);
    let plan = |all: Convolution| Plan::of(Call::Convolve(all), Type::F32, 40);
    assert!(plan(all).is_some());
    assert_eq!(plan(Convolution { before: [0, 0, 1 << 31], ..all }), None);
    assert_eq!(plan(Convolution { strides: [1 << 31, 1, 1], ..all }), None);
    assert_eq!(plan(Convolution { dilations: [1, 1 << 30, 1], kernel: [1, 4, 1], ..all }), None);
    // Each class of places has blocks of its own, of which a grid has fewer than 2^31.
    let one = Convolution::new(Sought::Input);
    let many = Convolution { input: [1, 1, 1 << 20], strides: [1, 1, 1 << 20], ..one };
    assert!(plan(many).is_some());
    assert_eq!(plan(Convolution { groups: 1 << 11, ..many }), None);
}
