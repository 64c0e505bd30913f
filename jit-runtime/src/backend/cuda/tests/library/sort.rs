//! Sorts.

use super::*;
use crate::launch::native::Sort;

const GIVES: [Sorted; 3] = [Sorted::Values, Sorted::Positions, Sorted::Both];

/// Every form of a sort.
pub(super) fn calls() -> impl Iterator<Item = Call> {
    let all = GIVES.into_iter().flat_map(|gives| [false, true].map(|is_descending| (gives, is_descending)));
    all.map(|(gives, is_descending)| Call::Sort(Sort { is_descending, row: usize::MAX, gives }))
}

fn check(sort: Sort, ty: Type, input: &[u64], seed: u64) {
    let len = input.len();
    let outputs = match sort.gives {
        Sorted::Values => vec![(ty, len)],
        Sorted::Positions => vec![(Type::U32, len)],
        Sorted::Both => vec![(ty, len), (Type::U32, len)],
    };
    check_call(Call::Sort(sort), &[operand(ty, input)], &outputs, seed);
}

/// Elements with corner cases: zeros of both signs, infinities, NaNs, and many that are equal.
fn noise(rng: &mut Rng, ty: Type, len: usize) -> Vec<u64> {
    let few = [(); 3].map(|()| rng.value(ty));
    (0..len).map(|_| if rng.one_in(4) { rng.choose(&few) } else { rng.value(ty) }).collect()
}

#[test]
fn rows_of_every_type_and_form_are_sorted() {
    let mut seed = 0;
    for ty in Type::ALL {
        for (row, len) in [(usize::MAX, 1000), (1, 70), (7, 1500), (600, 1400), (2048, 2100), (2500, 5200)] {
            let (gives, is_descending) = (GIVES[seed as usize % 3], seed % 2 == 1);
            seed += 1;
            let input = noise(&mut Rng::new(seed), ty, len);
            check(Sort { is_descending, row, gives }, ty, &input, seed);
        }
    }
}

#[test]
fn rows_around_the_limits_of_tiles_are_sorted() {
    for (seed, len) in (0..).zip([0, 1, 2, 3, 31, 33, 2047, 2048, 2049, 4095, 4096, 4097, 9001]) {
        let input = noise(&mut Rng::new(seed), Type::U16, len);
        let sort = Sort { is_descending: seed % 2 == 0, row: usize::MAX, gives: Sorted::Both };
        check(sort, Type::I16, &input, seed);
    }
}

#[test]
fn sorted_and_equal_elements_are_sorted() {
    for len in [1700, 6000] {
        let sort = Sort { is_descending: false, row: usize::MAX, gives: Sorted::Both };
        check(sort, Type::U32, &(0..len as u64).collect::<Vec<_>>(), 1);
        check(sort, Type::U32, &(0..len as u64).rev().collect::<Vec<_>>(), 2);
        check(sort, Type::U32, &vec![u64::from(u32::MAX); len], 3);
        check(Sort { is_descending: true, ..sort }, Type::F32, &vec![0x7fc0_1234; len], 4);
    }
}
