//! Compares random programs of kernels and library calls with a plain model: sorting, prefix reductions, listing true
//! lanes, and elementwise operations in between, evaluated at any time.

use jit::prelude::*;
use proptest::prelude::*;

use crate::devices::on_each_device;

/// A step of a program, on arrays of integers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Multiply(u32),
    ShiftRight(u32),
    Sort(Sorting, usize),
    Argsort(bool),
    OrderBySecond,
    Prefix(bool, bool, usize),
    FilterMultiples(u32),
    Unique,
    CountsAndPlaces,
    AddMedian,
    AddSum,
    Evaluate,
    Swap,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_u32..100).prop_map(Step::Multiply),
        (0_u32..20).prop_map(Step::ShiftRight),
        (any::<bool>(), 1_usize..300).prop_map(|(is_descending, block)| {
            let sorting = if is_descending { Sorting::descending() } else { Sorting::ascending() };
            Step::Sort(sorting.per_block(block), block)
        }),
        any::<bool>().prop_map(Step::Argsort),
        Just(Step::OrderBySecond),
        (any::<bool>(), any::<bool>(), 1_usize..300)
            .prop_map(|(exclusive, reverse, n)| Step::Prefix(exclusive, reverse, n)),
        (1_u32..4).prop_map(Step::FilterMultiples),
        Just(Step::Unique),
        Just(Step::CountsAndPlaces),
        Just(Step::AddMedian),
        Just(Step::AddSum),
        Just(Step::Evaluate),
        Just(Step::Swap),
    ]
}

/// Two columns of equal length, as arrays and as plain numbers.
struct State {
    arrays: (UInt, UInt),
    model: (Vec<u32>, Vec<u32>),
}

/// The positions of numbers in their order.
fn order(numbers: &[u32], is_descending: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    let key = |position: &u32| numbers[*position as usize];
    order.sort_by(|a, b| if is_descending { key(b).cmp(&key(a)) } else { key(a).cmp(&key(b)) });
    order
}

fn picked(numbers: &[u32], positions: &[u32]) -> Vec<u32> {
    positions.iter().map(|position| numbers[*position as usize]).collect()
}

fn prefix(numbers: &[u32], is_exclusive: bool, is_reverse: bool, block: usize) -> Vec<u32> {
    let mut result = vec![0; numbers.len()];
    for (first, block) in (0..).step_by(block).zip(numbers.chunks(block)) {
        let mut sum = 0_u32;
        for step in 0..block.len() {
            let place = if is_reverse { block.len() - 1 - step } else { step };
            let next = sum.wrapping_add(block[place]);
            result[first + place] = if is_exclusive { sum } else { next };
            sum = next;
        }
    }
    result
}

/// The distinct numbers in order, how often each occurs, and its first position.
fn runs(numbers: &[u32]) -> Vec<(u32, u32, u32)> {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for position in order(numbers, false) {
        let number = numbers[position as usize];
        match runs.last_mut() {
            Some(run) if run.0 == number => run.1 += 1,
            _ => runs.push((number, 1, position)),
        }
    }
    runs
}

impl State {
    fn apply(&mut self, step: Step) {
        let State { arrays: (x, y), model: (a, b) } = self;
        match step {
            Step::Multiply(factor) => {
                *x = &*x * factor + &*y;
                a.iter_mut().zip(&*b).for_each(|(a, b)| *a = a.wrapping_mul(factor).wrapping_add(*b));
            }
            Step::ShiftRight(bits) => {
                *x = &*x >> bits;
                a.iter_mut().for_each(|a| *a >>= bits);
            }
            Step::Sort(sorting, block) => {
                *x = x.sort_with(sorting);
                let is_descending = sorting == Sorting::descending().per_block(block);
                a.chunks_mut(block).for_each(|block| {
                    block.sort_unstable();
                    if is_descending {
                        block.reverse();
                    }
                });
            }
            Step::Argsort(is_descending) => {
                *x = if is_descending { x.argsort_descending() } else { x.argsort() };
                *a = order(a, is_descending);
            }
            Step::OrderBySecond => {
                *x = x.sort_by_key(y);
                *a = picked(a, &order(b, false));
            }
            Step::Prefix(is_exclusive, is_reverse, block) => {
                let scan = if is_exclusive { Scan::exclusive() } else { Scan::inclusive() };
                let scan = if is_reverse { scan.reverse() } else { scan };
                *x = x.prefix(ReduceOp::Add, scan.per_block(block));
                *a = prefix(a, is_exclusive, is_reverse, block);
            }
            Step::FilterMultiples(factor) => {
                let mask = (&*x % factor).eq(0);
                (*x, *y) = jit::trees::filter(&(x.clone(), y.clone()), &mask);
                let stays: Vec<u32> = (0..).zip(&*a).filter(|(_, a)| *a % factor == 0).map(|(lane, _)| lane).collect();
                (*a, *b) = (picked(a, &stays), picked(b, &stays));
            }
            Step::Unique => {
                let unique = x.unique();
                *y = y.slice(..unique.width().get());
                *x = unique;
                *a = runs(a).iter().map(|run| run.0).collect();
                b.truncate(a.len());
            }
            Step::CountsAndPlaces => {
                let unique = x.unique_all();
                *x = unique.counts.gather(&unique.inverse) * 1000 + unique.first.gather(&unique.inverse);
                let runs = runs(a);
                let result = |number: &u32| {
                    let run = runs.iter().find(|run| run.0 == *number).unwrap();
                    run.1.wrapping_mul(1000).wrapping_add(run.2)
                };
                *a = a.iter().map(result).collect();
            }
            Step::AddMedian if !a.is_empty() => {
                *y += x.median();
                let median = picked(a, &order(a, false))[(a.len() - 1) / 2];
                b.iter_mut().for_each(|b| *b = b.wrapping_add(median));
            }
            Step::AddMedian => {}
            Step::AddSum => {
                *x += y.sum();
                let sum = b.iter().fold(0_u32, |sum, b| sum.wrapping_add(*b));
                a.iter_mut().for_each(|a| *a = a.wrapping_add(sum));
            }
            Step::Evaluate => jit::eval(&(x.clone(), y.clone())).unwrap(),
            Step::Swap => {
                std::mem::swap(x, y);
                std::mem::swap(a, b);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds::config(40))]

    #[test]
    fn programs_with_library_calls_agree_with_the_host(
        numbers in prop::collection::vec((0_u32..200, any::<u32>()), 0..700),
        steps in prop::collection::vec(step(), 1..12),
    ) {
        on_each_device(|| {
            let model: (Vec<u32>, Vec<u32>) = numbers.iter().copied().unzip();
            let arrays = (UInt::from(&model.0), UInt::from(&model.1));
            let mut state = State { arrays, model };
            for step in &steps {
                state.apply(*step);
            }
            assert_eq!(state.arrays.0.to_vec().unwrap(), state.model.0);
            assert_eq!(state.arrays.1.to_vec().unwrap(), state.model.1);
        });
    }
}
