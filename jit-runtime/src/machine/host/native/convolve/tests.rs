//! Convolutions and their transposes, compared with plain loops that compute the same bits.

use super::super::tests::{XorShift, operand, run, values};
use super::*;
use crate::ir::scalar;
use crate::launch::native::{Call, Launch};
use crate::launch::set_threads;

const EACH: [Sought; 3] = [Sought::Result, Sought::Input, Sought::Kernel];

/// A convolution with the result that its window has.
fn shape(sizes: [usize; 4], axes: [[usize; 5]; AXES]) -> Convolution {
    let [batch, groups, channels, results] = sizes;
    let of = |number: usize| axes.map(|axis| axis[number]);
    let (input, kernel, strides, dilations, before) = (of(0), of(1), of(2), of(3), of(4));
    let result = std::array::from_fn(|axis| {
        let reach = (kernel[axis].max(1) - 1) * dilations[axis] + 1;
        (input[axis] + 2 * before[axis]).checked_sub(reach).map_or(0, |rest| rest / strides[axis] + 1)
    });
    let whole = Convolution::new(Sought::Result);
    Convolution { batch, groups, channels, results, input, kernel, result, before, strides, dilations, ..whole }
}

/// Shapes of all kinds: no axes, one, two and three of them; whole tiles and more, groups, zeros, strides, distances.
fn shapes() -> Vec<Convolution> {
    let one = [1, 1, 1, 1, 0];
    let plane = [one, [28, 3, 1, 1, 1], [28, 3, 1, 1, 1]];
    let mut all = vec![
        shape([1, 1, 1, 1], [one; AXES]),
        shape([2, 1, 3, 5], plane),
        shape([3, 1, 37, 26], [one, [9, 3, 1, 1, 1], [11, 3, 1, 1, 1]]),
        shape([1, 1, 70, 3], [one, [41, 5, 2, 1, 2], [33, 5, 2, 1, 2]]),
        shape([2, 3, 2, 4], [one, [13, 2, 3, 2, 1], [17, 4, 1, 3, 5]]),
        shape([2, 5, 1, 1], plane),
        shape([2, 1, 2, 3], [one, one, [3000, 7, 1, 2, 3]]),
        shape([1, 1, 2, 3], [one, one, [700, 300, 1, 1, 0]]),
        shape([2, 1, 4, 3], [one, [20, 1, 1, 1, 0], [28, 27, 1, 1, 0]]),
        shape([2, 1, 3, 4], [[5, 3, 2, 1, 1], [7, 2, 1, 2, 0], [6, 3, 2, 1, 1]]),
        shape([1, 2, 40, 30], [one, [8, 1, 1, 1, 0], [8, 1, 1, 1, 0]]),
        shape([2, 1, 3, 2], [one, [10, 1, 3, 1, 0], [10, 2, 4, 1, 0]]),
        shape([0, 1, 3, 2], plane),
        shape([2, 1, 0, 2], plane),
        shape([2, 1, 3, 2], [one, [0, 2, 1, 1, 2], [4, 2, 1, 1, 0]]),
        shape([1, 1, 1, 90], [one, [3, 2, 1, 1, 0], [3, 2, 1, 1, 0]]),
        shape([17, 1, 2, 2], [one, [19, 3, 1, 1, 1], [23, 2, 2, 1, 0]]),
        // Places are lanes: areas that begin at any lane, several results and channels, in parts.
        shape([2, 16, 1, 1], plane),
        shape([3, 37, 1, 1], [one, [9, 3, 2, 1, 1], [11, 3, 1, 2, 1]]),
        shape([2, 9, 2, 3], [[4, 2, 1, 1, 0], [7, 2, 2, 1, 1], [9, 4, 1, 2, 3]]),
        shape([1, 33, 5, 1], [one, one, [700, 5, 2, 1, 2]]),
        shape([1, 20, 90, 2], [one, [6, 3, 1, 1, 1], [19, 3, 1, 1, 1]]),
        shape([2, 9, 1, 1], [one, [41, 3, 1, 1, 1], [33, 3, 1, 1, 1]]),
        shape([1, 8, 2, 1], [one, one, [3000, 3, 1, 1, 1]]),
        shape([3, 8, 1, 2], [one, [30, 3, 1, 1, 1], [2, 5, 1, 1, 2]]),
        shape([2, 8, 1, 1], [[4, 3, 1, 1, 1], [5, 5, 1, 2, 4], [6, 3, 1, 2, 2]]),
        shape([0, 8, 1, 1], plane),
        shape([2, 8, 0, 2], plane),
        shape([2, 8, 1, 1], [one, [0, 2, 1, 1, 2], [4, 2, 1, 1, 0]]),
    ];
    let mut random = XorShift(11);
    let mut below = |most: u64| (random.next() >> 9) as usize % most as usize;
    for _ in 0..40 {
        let sizes = [1 + below(3), 1 + below(3), 1 + below(9), 1 + below(15)];
        let axis = |most: u64, below: &mut dyn FnMut(u64) -> usize| {
            let kernel = 1 + below(4);
            [kernel * 3 + below(most), kernel, 1 + below(3), 1 + below(3), below(4)]
        };
        let first = if below(4) == 0 { axis(4, &mut below) } else { one };
        all.push(shape(sizes, [first, axis(11, &mut below), axis(40, &mut below)]));
    }
    all
}

/// Calls a function with each product: the numbers of elements of input, kernel and result, in ascending order of the
/// result, and of the element of the kernel.
fn each_product(all: &Convolution, mut call: impl FnMut([usize; 3])) {
    let Convolution { batch, groups, channels, results, input, kernel, result, before, strides, dilations, .. } = *all;
    let count = |lengths: [usize; AXES]| lengths.iter().product::<usize>();
    let at = |number: usize, [_, y, x]: [usize; AXES]| [number / (y * x), number / x % y, number % x];
    for image in 0..batch {
        for channel in 0..groups * results {
            for place in 0..count(result) {
                let of_result = (image * groups * results + channel) * count(result) + place;
                for tap in 0..channels * count(kernel) {
                    let (within, own) = (tap / count(kernel), tap % count(kernel));
                    let (p, k) = (at(place, result), at(own, kernel));
                    let position: [isize; AXES] = std::array::from_fn(|axis| {
                        (p[axis] * strides[axis] + k[axis] * dilations[axis]) as isize - before[axis] as isize
                    });
                    if (0..AXES).any(|axis| !(0..input[axis] as isize).contains(&position[axis])) {
                        continue;
                    }
                    let [z, y, x] = position.map(|position| position as usize);
                    let in_channel = image * groups * channels + channel / results * channels + within;
                    let of_input = in_channel * count(input) + (z * input[1] + y) * input[2] + x;
                    call([of_input, channel * channels * count(kernel) + tap, of_result]);
                }
            }
        }
    }
}

/// The results, each sum in the documented order.
fn expected(all: &Convolution, a: &[f64], b: &[f64], ty: Type) -> Vec<f64> {
    let lens = all.lens().unwrap();
    let of = EACH.iter().position(|one| *one == all.sought).unwrap();
    let sought = [2, 0, 1][of];
    // The products of each sum, with what they are ordered by.
    let mut products = vec![Vec::new(); lens[sought]];
    each_product(all, |numbers| {
        let [input, kernel, result] = numbers;
        let (a, b) = match all.sought {
            Sought::Result => (a[input], b[kernel]),
            Sought::Input => (a[result], b[kernel]),
            Sought::Kernel => (a[result], b[input]),
        };
        let place = [kernel, kernel, result][of];
        products[numbers[sought]].push((place, a, b));
    });
    let volume = all.result.iter().product::<usize>().max(1);
    let part_of = |place: usize| {
        if all.sought != Sought::Kernel {
            return 0;
        }
        // The lines of places are divided evenly.
        let image = place / volume / (all.groups * all.results);
        let line = image * all.result[0] * all.result[1] + place % volume / all.result[2];
        let (lines, parts) = (all.batch * all.result[0] * all.result[1], all.parts());
        (0..parts).find(|part| line < lines * (part + 1) / parts).unwrap()
    };
    // The number of a place among those of its part.
    let lane_of = |place: usize| {
        let (image, in_image) = (place / volume / (all.groups * all.results), place % volume);
        let lines = all.batch * all.result[0] * all.result[1];
        let first_line = lines * part_of(place) / all.parts();
        (image * volume + in_image - first_line * all.result[2]) % all.lanes()
    };
    let sum = |products: &mut Vec<(usize, f64, f64)>| {
        products.sort_by_key(|product| product.0);
        let mut sums = vec![vec![0.0_f64; all.lanes()]; all.parts()];
        for (place, a, b) in products {
            let lane = if all.lanes() == 1 { 0 } else { lane_of(*place) };
            let sum = &mut sums[part_of(*place)][lane];
            *sum =
                if ty == Type::F64 { a.mul_add(*b, *sum) } else { (*a as f32).mul_add(*b as f32, *sum as f32).into() };
        }
        let add = |a: f64, b: f64| if ty == Type::F64 { a + b } else { f64::from(a as f32 + b as f32) };
        sums.into_iter().map(|lanes| lanes.into_iter().reduce(add).unwrap()).reduce(add).unwrap()
    };
    products.iter_mut().map(sum).collect()
}

fn is_same(ty: Type, a: u64, b: u64) -> bool {
    // Zeros of either sign are equal.
    a == b || (a | b) << (65 - ty.bits()) == 0
}

fn check(all: &Convolution, ty: Type, random: &mut XorShift) {
    let [a_len, b_len, c_len] = all.operand_lens().unwrap();
    let mut bits = |len: usize| -> Vec<u64> {
        let number = |_| scalar::cast(Type::F64, ty, ((random.next() >> 11) as f64 * 1e-16 - 0.4).to_bits());
        (0..len).map(number).collect()
    };
    let (a, b) = (bits(a_len), bits(b_len));
    let floats = |all: &[u64]| -> Vec<f64> {
        all.iter().map(|&bits| f64::from_bits(scalar::cast(ty, Type::F64, bits))).collect()
    };
    let wanted = expected(all, &floats(&a), &floats(&b), ty);
    let wanted: Vec<u64> = wanted.iter().map(|sum| scalar::cast(Type::F64, ty, sum.to_bits())).collect();
    for threads in [1, 2, 7] {
        set_threads(threads);
        // Whatever the memory holds is overwritten.
        let c = operand(ty, &vec![ty.bit_mask() >> 2; c_len]);
        run(Call::Convolve(*all), vec![operand(ty, &a), operand(ty, &b)], vec![c.clone()]).unwrap();
        let got = values(&c);
        let wrong = (0..c_len).find(|&number| !is_same(ty, got[number], wanted[number]));
        assert!(wrong.is_none(), "{all:?} of {ty} on {threads} threads: element {wrong:?}");
    }
}

#[test]
fn convolutions_and_their_transposes_add_products_in_the_documented_order() {
    let mut random = XorShift(5);
    for (number, all) in shapes().into_iter().enumerate() {
        for sought in EACH {
            let ty = [Type::F32, Type::F64, Type::F16, Type::BF16][number % 4];
            check(&Convolution { sought, ..all }, Type::F32, &mut random);
            check(&Convolution { sought, ..all }, ty, &mut random);
        }
    }
    set_threads(2);
}

#[test]
fn long_sums_for_kernels_are_computed_in_parts() {
    let all = shape([5, 1, 2, 3], [[1, 1, 1, 1, 0], [40, 3, 1, 1, 1], [41, 3, 1, 1, 1]]);
    assert_eq!(Convolution { sought: Sought::Kernel, ..all }.parts(), 8);
    for sought in EACH {
        check(&Convolution { sought, ..all }, Type::F32, &mut XorShift(9));
    }
    set_threads(2);
}

#[test]
fn numbers_that_are_not_finite_reach_only_the_sums_that_they_belong_to() {
    let all = shape([1, 1, 1, 1], [[1, 1, 1, 1, 0], [12, 3, 1, 1, 1], [12, 3, 1, 1, 1]]);
    for sought in EACH {
        let all = Convolution { sought, ..all };
        let [a_len, b_len, c_len] = all.operand_lens().unwrap();
        // The last element of input or results, which meets some of the others.
        let (mut a, mut b) = (vec![1.0_f32; a_len], vec![1.0_f32; b_len]);
        *if sought == Sought::Kernel { b.last_mut() } else { a.last_mut() }.unwrap() = f32::INFINITY;
        let bits = |all: &[f32]| operand(Type::F32, &all.iter().map(|x| x.to_bits().into()).collect::<Vec<u64>>());
        let c = operand(Type::F32, &vec![0; c_len]);
        run(Call::Convolve(all), vec![bits(&a), bits(&b)], vec![c.clone()]).unwrap();
        let infinite = values(&c).iter().filter(|&&bits| f32::from_bits(bits as u32) == f32::INFINITY).count();
        let finite = values(&c).iter().filter(|&&bits| f32::from_bits(bits as u32).is_finite()).count();
        assert_eq!((infinite, finite), (4, c_len - 4), "{sought:?}");
    }
}

/// Places before and behind those of an area are in its blocks of lanes, too.
#[test]
fn numbers_that_are_not_finite_reach_no_lane_without_a_place() {
    let all = shape([2, 9, 1, 1], [[1, 1, 1, 1, 0], [5, 3, 1, 1, 1], [5, 3, 1, 1, 1]]);
    let all = Convolution { sought: Sought::Kernel, ..all };
    let [a_len, b_len, c_len] = all.operand_lens().unwrap();
    assert_eq!((all.lanes(), all.result), (16, [1, 5, 5]));
    for at in [b_len - 25, b_len - 21, b_len - 5, b_len - 1] {
        let (a, mut b) = (vec![1.0; a_len], vec![1.0; b_len]);
        b[at] = f64::INFINITY;
        let bits = |all: &[f64]| -> Vec<u64> { all.iter().map(|x| u64::from((*x as f32).to_bits())).collect() };
        let (of_a, of_b) = (operand(Type::F32, &bits(&a)), operand(Type::F32, &bits(&b)));
        let c = operand(Type::F32, &vec![0; c_len]);
        run(Call::Convolve(all), vec![of_a, of_b], vec![c.clone()]).unwrap();
        assert_eq!(values(&c), bits(&expected(&all, &a, &b, Type::F32)), "{at}");
    }
}

#[test]
fn operands_that_do_not_fit_a_convolution_are_rejected() {
    let all = shape([2, 1, 3, 4], [[1, 1, 1, 1, 0], [6, 2, 1, 1, 0], [6, 2, 1, 1, 0]]);
    let outcome = |all: Convolution, ty: Type, lens: [usize; 3]| {
        let [a, b, c] = lens.map(|len| operand(ty, &vec![0; len]));
        let call = Call::Convolve(all);
        crate::launch::native::launch(Launch {
            device: crate::config::Device::Cpu,
            call,
            inputs: vec![a, b],
            outputs: vec![c],
            site: None,
        })
    };
    let lens = all.operand_lens().unwrap();
    outcome(all, Type::F32, lens).unwrap();
    let error = outcome(all, Type::I32, lens).unwrap_err().to_string();
    assert!(error.contains("cannot be convolved"), "{error}");
    for number in 0..3 {
        let mut other = lens;
        other[number] -= 1;
        let error = outcome(all, Type::F32, other).unwrap_err().to_string();
        assert!(error.contains("elements, but"), "{error}");
    }
    for wrong in [
        Convolution { strides: [1, 0, 1], ..all },
        Convolution { dilations: [1, 1, 0], ..all },
        Convolution { strides: [1, usize::MAX / 4, 1], ..all },
        Convolution { before: [0, usize::MAX / 2, 0], ..all },
    ] {
        assert!(outcome(wrong, Type::F32, lens).is_err(), "{wrong:?}");
    }
}

#[test]
fn sizes_of_a_convolution_are_replaced_in_their_order() {
    let all = shape([2, 3, 5, 7], [[11, 2, 1, 1, 0], [13, 3, 2, 1, 1], [17, 4, 1, 2, 2]]);
    let other = shape([4, 3, 1, 2], [[9, 3, 1, 1, 1], [8, 2, 2, 1, 0], [7, 1, 1, 2, 3]]);
    assert_eq!(all.with_sizes(&other.sizes()), other);
    assert_eq!(all.with_sizes(&[]), all);
}
