//! Differences between calls, and memory that replays overwrite: small differences that affect results.

use jit::prelude::*;
use jit::{Visitor, VisitorMut};

use crate::{alike_in_order, floats, frozen, values};

#[freeze]
fn approximated(x: &Float) -> Float {
    (x * 3.0).sin() + x.exp()
}

#[test]
fn fast_math_is_another_recording() {
    let (x, bits) = (floats(1000, 3) + 2.0, |x: &Float| values(x).iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    jit::eval(&x).unwrap();
    let direct = |x: &Float| (x * 3.0).sin() + x.exp();
    let (exact, fast) = (bits(&direct(&x)), bits(&jit::fast_math(|| direct(&x))));
    assert!(exact != fast, "the test needs something that fast math changes");
    approximated::clear();
    for _ in 0..3 {
        assert!(bits(&approximated(&x)) == exact);
        assert!(bits(&jit::fast_math(|| approximated(&x))) == fast);
    }
    if jit::freeze::functions()
        .iter()
        .any(|function| function.name() == "approximated" && function.stats().recordings > 0)
    {
        assert_eq!(approximated::stats().recordings, 2);
    }
}

/// Shows a text before or after its array.
#[derive(Clone)]
struct Marked {
    is_first: bool,
    x: Float,
}

impl Traverse for Marked {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        if self.is_first {
            visitor.text(format_args!("mark"));
        }
        visitor.field("x", &self.x);
        if !self.is_first {
            visitor.text(format_args!("mark"));
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("x", &mut self.x);
    }
}

#[freeze]
fn marked(m: &Marked) -> Float {
    if m.is_first { &m.x + 1.0 } else { &m.x * 2.0 }
}

#[test]
fn the_position_of_a_string_distinguishes_calls() {
    marked::clear();
    for round in 0..4 {
        for is_first in [true, false] {
            let m = Marked { is_first, x: floats(7, round) };
            let expected: Vec<f32> = values(&m.x).iter().map(|x| if is_first { x + 1.0 } else { x * 2.0 }).collect();
            assert_eq!(values(&marked(&m)), expected);
        }
    }
}

#[freeze(limit = 3)]
fn few(x: &Float, names: &[String]) -> Float {
    x * names.iter().map(String::len).sum::<usize>() as f32 + names.len() as f32
}

/// More kinds of calls than are remembered at a time: each is found again after others were dropped.
#[test]
fn calls_are_found_after_others_were_dropped() {
    few::clear();
    let mut dice = 7_u32;
    for round in 0..60 {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let kind = (dice >> 24) as usize % 7;
        let names: Vec<String> = (0..kind).map(|name| "n".repeat(name + 1)).collect();
        let x = floats(5, round);
        let length = names.iter().map(String::len).sum::<usize>() as f32;
        let expected: Vec<f32> = values(&x).iter().map(|x| x * length + kind as f32).collect();
        assert_eq!(values(&few(&x, &names)), expected, "round {round}");
        assert!(few::stats().cached <= 3);
    }
}

#[freeze(limit = 3)]
fn at_most_three(x: &Float, names: &[String]) -> Float {
    x + names.len() as f32
}

/// Retained memory is found again, although the blocks of other slots were reused.
#[test]
fn retained_recordings_are_not_recorded_again_when_others_are_evicted() {
    at_most_three::clear();
    let x = floats(5, 1);
    let call = |kind: usize| {
        let expected: Vec<f32> = values(&x).iter().map(|x| x + kind as f32).collect();
        assert_eq!(values(&at_most_three(&x, &vec!["name".to_owned(); kind])), expected);
        at_most_three::stats().recordings
    };
    // The second one is the least used when the fourth one comes, and the third one replaces it.
    let recordings: Vec<u64> = [1, 2, 3, 1, 4, 3, 4, 1, 3].into_iter().map(call).collect();
    if recordings[0] > 0 {
        assert_eq!(recordings, [1, 2, 3, 3, 4, 4, 4, 4, 4]);
    }
}

#[freeze]
fn by_width(x: &Float, y: &Float) -> Float {
    if x.len() == y.len() {
        x + y
    } else if x.width() == 4 {
        x.tile(3) * y.sum()
    } else {
        x - y.sum()
    }
}

#[test]
fn a_comparison_of_widths_is_a_guard_in_both_directions() {
    by_width::clear();
    let direct = |x: &[f32], y: &[f32]| -> Vec<f32> {
        let sum = y.iter().sum::<f32>();
        match () {
            () if x.len() == y.len() => x.iter().zip(y).map(|(x, y)| x + y).collect(),
            () if x.len() == 4 => x.iter().cycle().take(12).map(|x| x * sum).collect(),
            () => x.iter().map(|x| x - sum).collect(),
        }
    };
    let widths =
        [(5, 5), (5, 6), (4, 4), (4, 6), (7, 7), (6, 5), (4, 5), (6, 6), (5, 4), (8, 8), (4, 8), (9, 2), (2, 2)];
    for _ in 0..2 {
        for (a, b) in widths {
            let [x, y] = [a, b].map(|width| Float::from((0..width).map(|i| i as f32).collect::<Vec<_>>()));
            assert_eq!(values(&by_width(&x, &y)), direct(&values(&x), &values(&y)), "widths {a} and {b}");
        }
    }
}

#[derive(Clone, Traverse)]
struct Pair {
    x: Float,
    y: Float,
}

#[freeze]
fn turned(pair: &mut Pair, index: &UInt) -> Float {
    let before = pair.x.clone();
    pair.x.scatter_add(1.0, index);
    jit::eval(&pair.x).unwrap();
    let first = &pair.x * 2.0;
    jit::eval(&first).unwrap();
    pair.y.scatter(3.0, index);
    jit::eval(&pair.y).unwrap();
    // Read after other arrays were written, in memory that replays may overwrite.
    let sum = &before + &first;
    pair.x = &pair.y + &before;
    sum
}

#[test]
fn an_input_that_is_used_later_is_not_overwritten() {
    turned::clear();
    let index = UInt::from([1_u32, 3, 3]);
    for width in [6_usize, 100_000] {
        let mut x: Vec<f32> = (0..width).map(|i| (i % 13) as f32).collect();
        let mut y: Vec<f32> = (0..width).map(|i| (i % 7) as f32).collect();
        let mut pair = Pair { x: Float::from(x.clone()), y: Float::from(y.clone()) };
        for round in 0..5 {
            let sum = values(&turned(&mut pair, &index));
            let mut written = x.clone();
            [1, 3, 3].iter().for_each(|&i| written[i] += 1.0);
            let expected: Vec<f32> = x.iter().zip(&written).map(|(a, b)| a + b * 2.0).collect();
            [1, 3, 3].iter().for_each(|&i| y[i] = 3.0);
            x = y.iter().zip(&x).map(|(y, x)| y + x).collect();
            assert!(sum == expected, "round {round} of width {width}");
            assert!(values(&pair.x) == x && values(&pair.y) == y, "round {round} of width {width}");
        }
    }
}

/// Loops that recordings roll, with library calls of other sizes and kernels over other widths among those that match.
#[freeze]
fn rolled(x: &Float, rounds: &UInt, short: &Float) -> (Float, Float, Float) {
    let (mut a, mut sums, mut rest) = (x.clone(), short.clone(), rounds.clone());
    let mut order = x.clone();
    #[evaluated]
    while rest > 0 {
        a += 1.0;
        order = (&order + &a).prefix_sum() % 7.0;
        sums = &sums + short.prefix_sum().gather(&UInt::from(0));
        rest -= 1;
    }
    (a, order, sums)
}

#[test]
fn rolled_loops_keep_their_lengths() {
    rolled::clear();
    for (width, narrow, rounds) in [(40, 40, 3), (40, 40, 9), (41, 41, 5), (7, 7, 12), (300, 300, 1), (300, 300, 30)] {
        let (x, short) = (floats(width, 5), floats(narrow, 6));
        let counts = || UInt::from(vec![rounds; width]);
        let (a, order, sums) = rolled(&x, &counts(), &short);
        let [mut wanted_a, mut wanted_order, mut wanted_sums] = [values(&x), values(&x), values(&short)];
        let first = values(&short)[0];
        for _ in 0..rounds {
            wanted_a.iter_mut().for_each(|a| *a += 1.0);
            let next = Float::from(wanted_order.clone()) + Float::from(wanted_a.clone());
            wanted_order = values(&(next.prefix_sum() % 7.0));
            wanted_sums.iter_mut().for_each(|sum| *sum += first);
        }
        assert_eq!(values(&a), wanted_a);
        assert_eq!(values(&order), wanted_order);
        assert_eq!(values(&sums), wanted_sums);
    }
}

#[freeze]
fn step(state: &mut Pair, x: &Float) {
    state.x = &state.x * 0.5 + x;
    state.y.scatter_add(1.0, &UInt::from([0]));
}

#[test]
fn calls_launch_their_work_whether_freezing_is_on_or_off() {
    for is_on in [true, false] {
        step::clear();
        step::set_enabled(is_on);
        let mut state = Pair { x: floats(4, 1), y: floats(4, 2) };
        let x = floats(4, 3);
        for _ in 0..5 {
            step(&mut state, &x);
            assert!(state.x.is_evaluated() && state.y.is_evaluated(), "on: {is_on}");
        }
        jit::sync().unwrap();
    }
    step::set_enabled(true);
}

#[freeze]
fn sums_of_the_chosen(mask: &Mask, sums: &Float) -> Float {
    let count = mask.compress().width();
    let number = UInt::arange(count);
    let mut sums = sums.clone();
    sums.scatter_add(number.cast::<f32>() * 0.1 + 1.0, &(number % 3));
    sums
}

#[test]
fn sums_over_a_number_of_lanes_that_the_recording_counts_have_the_order_of_any_sum() {
    alike_in_order(frozen!(sums_of_the_chosen), 1, || {
        [200_000, 300_000, 200_000].map(|width| {
            let mask = (UInt::arange(width) % 3).ne(0);
            jit::eval(&mask).unwrap();
            values(&sums_of_the_chosen(&mask, &floats(3, 1))).into_iter().map(f32::to_bits).collect::<Vec<_>>()
        })
    });
}
