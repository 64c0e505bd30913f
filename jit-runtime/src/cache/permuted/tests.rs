//! Launches of all small sizes, of kernels that compute indices in many ways: where a kernel is found to move elements,
//! its rectangles move what the interpreter's lanes read.

use super::*;
use crate::backend::Executable;
use crate::backend::interpreter;
use crate::ir::random::Rng;
use crate::ir::{BinaryOp, Builder};

const INDEX_TYPES: [Type; 6] = [Type::U32, Type::I32, Type::U64, Type::I64, Type::U8, Type::U16];

/// What a launch leaves in its target: by lanes, and by rectangles.
fn results(kernel: &Kernel, scalars: &[u64], width: u64, length: u64) -> (Vec<u16>, Option<Vec<u16>>) {
    let source: Vec<u16> = (1..=length as u16 + 32).collect();
    let [mut expected, mut found] = [(); 2].map(|()| vec![0_u16; width as usize]);
    let arguments = |target: &mut Vec<u16>| -> Vec<RawArgument> {
        let source = RawArgument { word: source.as_ptr() as u64, length };
        let target = RawArgument { word: target.as_mut_ptr() as u64, length: width };
        let scalars = scalars.iter().map(|&word| RawArgument { word, length: 0 });
        [source, target].into_iter().chain(scalars).collect()
    };
    // SAFETY: the arguments are those of the kernel, and have the lengths that they say.
    unsafe { interpreter::prepare(kernel.clone()).run(0..width, &arguments(&mut expected)) };
    let permutations = Moves::of(kernel).and_then(|moves| moves.permutations(&arguments(&mut found), width));
    let moved = permutations.map(|permutations| {
        for tile in 0..permutations.tiles() {
            let rectangle = permutations.rectangle(tile).expect("there are so many");
            move_each(&rectangle, &source, &mut found);
        }
        assert!(permutations.rectangle(permutations.tiles()).is_none());
        found
    });
    (expected, moved)
}

/// Moves the elements of a rectangle that is inside of memory. None of them was moved before.
fn move_each(rectangle: &Rectangle, source: &[u16], target: &mut [u16]) {
    let Rectangle { source: from, target: to, size, columns, across, rows, down } = *rectangle;
    for (row, column) in (0..rows as i64).flat_map(|row| (0..columns as i64).map(move |column| (row, column))) {
        let at = |first: u64, distance: i64, memory: *const u16| {
            (first.wrapping_add_signed(distance).wrapping_sub(memory as u64) / size) as usize
        };
        let from = at(from, column * across + row * size as i64, source.as_ptr());
        let to = at(to, column * size as i64 + row * down, target.as_ptr());
        assert_eq!(std::mem::replace(&mut target[to], source[from]), 0);
    }
}

fn kernel(ty: Type, place: impl FnOnce(&mut Builder, Value) -> Value) -> Kernel {
    let mut b = Builder::new();
    let [source, target] = [Access::Read, Access::Write].map(|access| b.buffer(Type::U16, access));
    let lane = b.lane_index();
    let lane = b.cast(ty, lane);
    let index = place(&mut b, lane);
    let found = b.gather(source, index, None);
    b.store(target, found);
    b.finish()
}

/// Whether the launch is found to move elements.
fn check(kernel: &Kernel, scalars: &[u64], width: u64, length: u64) -> bool {
    let (expected, found) = results(kernel, scalars, width, length);
    if let Some(found) = &found {
        assert_eq!(*found, expected, "{width} lanes, {length} elements, {scalars:?}\n{kernel}");
    }
    found.is_some()
}

/// `lane % height * pitch + lane / height + moved`.
fn transposed(ty: Type, [height, pitch, moved]: [u64; 3]) -> Kernel {
    kernel(ty, |b, lane| {
        let [height, pitch, moved] = [height, pitch, moved].map(|number| b.constant(ty, number & ty.bit_mask()));
        let [y, x] = [BinaryOp::Rem, BinaryOp::Div].map(|op| b.binary(op, lane, height));
        let row = b.binary(BinaryOp::Mul, y, pitch);
        let place = b.binary(BinaryOp::Add, row, x);
        b.binary(BinaryOp::Add, place, moved)
    })
}

#[test]
fn matrices_of_all_small_sizes() {
    let mut are_moved = 0;
    for height in 1..=20_u64 {
        for width in 1..=20_u64 {
            for pitch in [width, width + 3, width.saturating_sub(1)] {
                let ty = INDEX_TYPES[(height + pitch) as usize % 4];
                let used = (height - 1) * pitch + width;
                for (length, moved) in [(used, 0), (used - 1, 0), (used + 2, 2), (used, u64::MAX)] {
                    let is_moved = check(&transposed(ty, [height, pitch, moved]), &[], height * width, length);
                    let is_inside = length >= used + if moved == 2 { 2 } else { 0 } && moved <= 2;
                    assert!(is_inside || !is_moved, "some lanes read nothing");
                    let is_wide = height >= 8 && width >= 8 && pitch > 1;
                    assert!(is_moved || !is_inside || !is_wide, "{height}, {width}, {pitch}");
                    are_moved += u32::from(is_moved);
                }
                // Not all rows have all columns.
                assert!(
                    width == 1
                        || height == 1
                        || !check(&transposed(ty, [height, pitch, 0]), &[], height * width - 1, used)
                );
            }
        }
    }
    assert!(are_moved > 400, "{are_moved}");
}

#[test]
fn numbers_that_wrap_around_are_no_sums() {
    for ty in [Type::U8, Type::U16, Type::I8, Type::I16] {
        for height in [8, 9, 16, 20, 100] {
            for pitch in 8..=40 {
                let kernel = transposed(ty, [height, pitch, 0]);
                for width in [8, 16] {
                    check(&kernel, &[], height * width, 20_000);
                }
            }
        }
    }
    assert!(!check(&transposed(Type::U8, [8, 40, 0]), &[], 320, 400), "the lane's number wraps around");
    assert!(check(&transposed(Type::U16, [8, 40, 0]), &[], 320, 400));
}

/// An array whose axes have these sizes, in another order.
fn permuted(ty: Type, sizes: [u64; 4], order: [usize; 4], is_chain: bool) -> Kernel {
    kernel(ty, |b, lane| {
        let mut rest = lane;
        let mut index = b.constant(ty, 0);
        let mut below = 1;
        for &axis in order.iter().rev() {
            let [size, distance, place] =
                [sizes[axis], sizes[axis + 1..].iter().product(), below].map(|number| b.constant(ty, number));
            // Either what is left after the axes before, or the quotient of the lane.
            let quotient = if is_chain { rest } else { b.binary(BinaryOp::Div, lane, place) };
            let digit = b.binary(BinaryOp::Rem, quotient, size);
            rest = b.binary(BinaryOp::Div, quotient, size);
            let part = b.binary(BinaryOp::Mul, digit, distance);
            index = b.binary(BinaryOp::Add, index, part);
            below *= sizes[axis];
        }
        index
    })
}

#[test]
fn axes_in_every_order() {
    let mut are_moved = 0;
    for sizes in [[8, 9, 10, 11], [2, 16, 3, 17], [1, 8, 8, 8], [12, 2, 2, 9], [3, 1, 12, 20]] {
        for code in 0..24 {
            let mut left = vec![0, 1, 2, 3];
            let order =
                [24, 6, 2, 1].map(|count| left.remove(code % count / (count / left.len().max(1)).max(1) % left.len()));
            for is_chain in [false, true] {
                let ty = INDEX_TYPES[code % 4];
                let size = sizes.iter().product();
                are_moved += u32::from(check(&permuted(ty, sizes, order, is_chain), &[], size, size));
            }
        }
    }
    assert!(are_moved > 100, "{are_moved}");
}

#[test]
fn programs_that_compute_indices() {
    use BinaryOp::{Add, And, Div, Max, Min, Mul, Rem, Shl, Shr, Sub};
    let mut are_moved = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let ty = rng.choose(&INDEX_TYPES);
        let mut scalars = Vec::new();
        let kernel = kernel(ty, |b, lane| {
            let mut values = vec![lane];
            for _ in 0..2 + rng.below(7) {
                let number = rng.choose(&[1, 2, 3, 4, 8, 8, 16, 16, 24, 32, 64, 7, 15, ty.bit_mask()]);
                let number = match rng.one_in(4) {
                    true => {
                        scalars.push(number);
                        let param = b.scalar_param(ty);
                        b.scalar(param)
                    }
                    false => b.constant(ty, number),
                };
                let value = rng.choose(&values[values.len().saturating_sub(3)..]);
                let op = rng.choose(&[Div, Rem, Div, Rem, Mul, Mul, Add, Sub, And, Shr, Shl, Min, Max]);
                let other =
                    if matches!(op, Add | Sub | Min | Max) && rng.one_in(2) { rng.choose(&values) } else { number };
                values.push(b.binary(op, value, other));
            }
            let (a, b_) = (rng.choose(&values), *values.last().expect("there are some"));
            if rng.one_in(2) { b.binary(Add, a, b_) } else { b_ }
        });
        let width = rng.choose(&[64, 128, 256, 192, 100]);
        are_moved += u32::from(check(&kernel, &scalars, width, 300 + rng.below(3000) as u64));
    }
    assert!(are_moved > 100, "{are_moved}");
}
