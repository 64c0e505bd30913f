//! Writing elements at computed positions: which elements are written, and which are unchanged.

use jit::prelude::*;
use jit::{Element, Integer, Number};

use crate::devices::on_each_device;
use crate::errors::panic_message;

fn ramp(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

#[test]
fn elements_are_written() {
    on_each_device(|| {
        let mut target = Float::from([0.0; 5]);
        target.scatter(Float::from([1.0, 2.0, 3.0]), &UInt::from([4, 0, 2]));
        assert_eq!(target.to_vec().unwrap(), [2.0, 0.0, 3.0, 0.0, 1.0]);
        target.scatter(7.5, &Int::from([1]));
        target.scatter_masked(-1.0, &UInt8::from([0, 200, 3]), &Mask::from([true, false, true]));
        assert_eq!(target.to_vec().unwrap(), [-1.0, 7.5, 3.0, -1.0, 1.0]);
    });
}

#[test]
fn any_type_of_index_and_element() {
    fn check<T: Element + Number, I: Integer>(index: [I; 3], values: [T; 3]) {
        let mut target = Array::<T>::zeros(4);
        target.scatter(Array::from(values), &Array::<I>::from(index));
        target.scatter_add(Array::from(values), &Array::<I>::from(index));
        let [a, b, c] = values.map(|value| (Array::from(value) + value).item().unwrap());
        assert_eq!(target.to_vec().unwrap(), [b, T::default(), c, a]);
    }
    on_each_device(|| {
        check([3_u8, 0, 2], [1_i8, 2, 3]);
        check([3_i8, 0, 2], [1_u8, 2, 3]);
        check([3_u16, 0, 2], [1_i16, 2, 3]);
        check([3_i16, 0, 2], [1_u16, 2, 3]);
        check([3_u32, 0, 2], [1_i32, 2, 3]);
        check([3_i32, 0, 2], [1_u32, 2, 3]);
        check([3_u64, 0, 2], [1_i64, 2, 3]);
        check([3_i64, 0, 2], [1_u64, 2, 3]);
        check([3_u32, 0, 2], [1.5_f32, 2.0, -3.0]);
        check([3_u32, 0, 2], [1.5_f64, 2.0, -3.0]);
        let mut mask = Mask::zeros(4);
        mask.scatter(true, &UInt::from([1, 3]));
        assert_eq!(mask.to_vec().unwrap(), [false, true, false, true]);
    });
}

#[test]
fn reductions_combine_all_lanes() {
    on_each_device(|| {
        let (lanes, bins) = (5000, 7);
        let index: Vec<u32> = ramp(lanes).iter().map(|value| value % bins as u32).collect();
        let values: Vec<i32> = ramp(lanes).iter().map(|&value| value as i32 % 1000 - 300).collect();
        let run = |op: ReduceOp, start: i32, combine: fn(i32, i32) -> i32| {
            let mut target = Int::full(start, bins);
            target.scatter_reduce(op, Int::from(&values), &UInt::from(&index));
            let mut expected = vec![start; bins];
            for (&at, &value) in index.iter().zip(&values) {
                expected[at as usize] = combine(expected[at as usize], value);
            }
            assert_eq!(target.to_vec().unwrap(), expected, "{op:?}");
        };
        run(ReduceOp::Add, 5, i32::wrapping_add);
        run(ReduceOp::Mul, 3, i32::wrapping_mul);
        run(ReduceOp::Min, 100, i32::min);
        run(ReduceOp::Max, 100, i32::max);
        run(ReduceOp::And, -1, |a, b| a & b);
        run(ReduceOp::Or, 0, |a, b| a | b);
    });
}

#[test]
fn clones_keep_their_elements() {
    on_each_device(|| {
        let mut x = Int::from([1, 2, 3]);
        let before = x.clone();
        x.scatter(9, &UInt::from([1]));
        assert_eq!(x.to_vec().unwrap(), [1, 9, 3]);
        assert_eq!(before.to_vec().unwrap(), [1, 2, 3]);
        let between = x.clone();
        x.scatter_add(1, &UInt::from([0, 0, 2]));
        let mut fork = between.clone();
        fork.scatter(0, &UInt::from([2]));
        assert_eq!(x.to_vec().unwrap(), [3, 9, 4]);
        assert_eq!(fork.to_vec().unwrap(), [1, 9, 0]);
        assert_eq!(between.to_vec().unwrap(), [1, 9, 3]);
    });
}

#[test]
fn a_gather_that_is_not_evaluated_yet_reads_the_elements_from_when_it_was_recorded() {
    on_each_device(|| {
        let mut x = Int::from([1, 2, 3]);
        let reversed = x.gather(&UInt::from([2, 1, 0]));
        x.scatter(&reversed, &UInt::from([0, 1, 2]));
        let twice = &x * 2;
        x.scatter(0, &UInt::from([1]));
        assert_eq!(x.to_vec().unwrap(), [3, 0, 1]);
        assert_eq!(twice.to_vec().unwrap(), [6, 4, 2]);
        assert_eq!(reversed.to_vec().unwrap(), [3, 2, 1]);
    });
}

#[test]
fn nothing_is_recorded_where_nothing_is_written() {
    let mut x = Int::zeros(4);
    let index = UInt::from([1, 2]);
    x.scatter(0, &index);
    x.scatter_add(0, &index);
    x.scatter_reduce(ReduceOp::And, -1, &index);
    x.scatter_masked(5, &index, &Mask::from(false));
    x.scatter(5, &UInt::zeros(0));
    assert!(x.is_literal());
    let mut nothing = Int::zeros(0);
    nothing.scatter(5, &UInt::zeros(0));
    assert_eq!(nothing.len(), 0);
}

#[test]
fn targets_may_be_expressions() {
    on_each_device(|| {
        let a = Float::from([1.0, 2.0, 3.0, 4.0]);
        let mut x = &a * 10.0;
        let expression = x.clone();
        x.scatter_add(&a, &UInt::from([0, 0, 3, 3]));
        assert_eq!((&x + &expression).to_vec().unwrap(), [23.0, 40.0, 60.0, 87.0]);
        let mut sum = Float::from(0.0);
        sum.scatter_add(&a, &UInt::zeros(4));
        assert_eq!((&a + &sum).to_vec().unwrap(), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(x.sum().item().unwrap(), 110.0);
    });
}

#[test]
fn written_arrays_are_gathered_from_and_reduced_in_one_evaluation() {
    on_each_device(|| {
        let lanes = 1000;
        let index = UInt::arange(lanes) * 7 % 10;
        let mut histogram = UInt::zeros(10);
        histogram.scatter_add(1, &index);
        let count = histogram.gather(&index);
        let mut second = UInt::zeros(10);
        second.scatter_add(&count, &index);
        assert_eq!(second.to_vec().unwrap(), [10_000; 10]);
        assert_eq!(histogram.sum().item().unwrap(), 1000);
    });
}

#[test]
fn scatters_in_an_if_write_on_the_lanes_that_take_it() {
    #[jit]
    fn count(x: &Int, histogram: &mut UInt, other: &mut UInt) -> Int {
        let mut y = x.clone();
        if x % 2 == 0 {
            histogram.scatter_add(1, &(x / 2).cast::<u32>());
            if *x > 4 {
                other.scatter(7, &UInt::from(0));
            }
            y += 100;
        } else {
            histogram.scatter_add(10, &UInt::from(0));
        }
        y
    }
    on_each_device(|| {
        let x = Int::arange(8);
        let (mut histogram, mut other) = (UInt::zeros(4), UInt::from([1, 2]));
        let y = count(&x, &mut histogram, &mut other);
        assert_eq!(y.to_vec().unwrap(), [100, 1, 102, 3, 104, 5, 106, 7]);
        assert_eq!(histogram.to_vec().unwrap(), [41, 1, 1, 1]);
        assert_eq!(other.to_vec().unwrap(), [7, 2]);
        count(&Int::from([1, 1]), &mut histogram, &mut other);
        assert_eq!(histogram.to_vec().unwrap(), [61, 1, 1, 1]);
        assert_eq!(other.to_vec().unwrap(), [7, 2]);
    });
}

type Program = Box<dyn FnOnce() + std::panic::UnwindSafe>;

#[test]
fn wrong_scatters_are_refused_with_their_line() {
    let x = || Int::from([1, 2, 3]);
    let index = || UInt::from([0, 1]);
    let cases: [(&str, Program); 3] = [
        ("width 2 and 3 cannot be combined", Box::new(move || x().scatter(x(), &index()))),
        (
            "`and` does not exist for f32",
            Box::new(move || Float::zeros(3).scatter_reduce(ReduceOp::And, 1.0, &index())),
        ),
        (
            "`add` does not exist for bool",
            Box::new(move || Mask::zeros(3).scatter_reduce(ReduceOp::Add, true, &index())),
        ),
    ];
    for (text, program) in cases {
        let message = panic_message(program);
        assert!(message.contains(text) && message.contains("scatter.rs:"), "`{text}` is not in: {message}");
    }
    x().scatter_masked(1, &UInt::from(3), &Mask::from([false]));
}

#[test]
fn an_array_is_not_read_in_the_if_that_writes_it() {
    #[jit]
    fn elementwise(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        if *x > 1 {
            target.scatter_add(1, x);
            y += &*target;
        }
        y
    }
    #[jit]
    fn gathers(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        if *x > 1 {
            target.scatter_add(1, x);
        } else {
            y = target.gather(x);
        }
        y
    }
    for wrong in [elementwise as fn(&Int, &mut Int) -> Int, gathers] {
        let message = panic_message(move || drop(wrong(&Int::from([1, 2, 0]), &mut Int::zeros(3))));
        assert!(message.contains("that writes to it") && message.contains("scatter.rs"), "{message}");
    }
}

#[test]
fn every_increment_gets_a_place_of_its_own() {
    on_each_device(|| {
        let (lanes, bins) = (10_000, 16);
        let index: Vec<u32> = ramp(lanes).iter().map(|value| value % bins as u32).collect();
        let mut counter = UInt::zeros(bins);
        let place = counter.scatter_inc(&UInt::from(&index));
        let mut seen = vec![Vec::new(); bins];
        for (&bin, place) in index.iter().zip(place.to_vec().unwrap()) {
            seen[bin as usize].push(place);
        }
        let counts = counter.to_vec().unwrap();
        for (mut places, count) in seen.into_iter().zip(counts) {
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
    });
}

#[test]
fn results_of_a_scatter_can_be_used_at_any_time() {
    on_each_device(|| {
        let x = Int::arange(100);
        let mut counter = UInt::from(5);
        let mut kept = Int::zeros(60);
        let wanted = (&x % 2).eq(0);
        let place = counter.scatter_inc_masked(&UInt::zeros(100), &wanted);
        let later = &place * 3;
        kept.scatter_masked(&x, &place, &wanted);
        assert_eq!(counter.item().unwrap(), 55);
        let mut list = kept.to_vec().unwrap();
        list.sort_unstable();
        assert_eq!(list[10..], (0..100).step_by(2).collect::<Vec<_>>());
        let place = place.to_vec().unwrap();
        assert_eq!(later.to_vec().unwrap(), place.iter().map(|place| place * 3).collect::<Vec<_>>());
        assert!(place.iter().enumerate().all(|(lane, &place)| (place == 0) == (lane % 2 == 1)));
        // Only the positions are requested; the counter is still incremented once.
        let place = counter.scatter_inc(&UInt::from(0));
        assert_eq!((&place + 1).item().unwrap(), 56);
        assert_eq!((place.item().unwrap(), counter.item().unwrap()), (55, 56));
        drop(counter.scatter_inc(&UInt::zeros(3)));
        let second = counter.scatter_inc(&UInt::zeros(3));
        drop(counter);
        let mut second = second.to_vec().unwrap();
        second.sort_unstable();
        assert_eq!(second, [59, 60, 61]);
    });
}

#[test]
fn exchanged_elements_come_back() {
    on_each_device(|| {
        let mut x = Float::from([1.5, 2.5, 3.5]);
        let before = x.clone();
        let old = x.scatter_exchange(Float::from([10.0, 20.0]), &Int::from([2, 0]));
        assert_eq!(old.to_vec().unwrap(), [3.5, 1.5]);
        assert_eq!(x.to_vec().unwrap(), [20.0, 2.5, 10.0]);
        assert_eq!(before.to_vec().unwrap(), [1.5, 2.5, 3.5]);
        let old = x.scatter_exchange_masked(-1.0, &Int::from([0, 900]), &Mask::from([true, false]));
        assert_eq!((&old * 2).to_vec().unwrap(), [40.0, 0.0]);
        assert_eq!(x.get(0).unwrap(), -1.0);
        let off = x.scatter_exchange_masked(9.0, &Int::from([0, 900]), &Mask::from(false));
        assert_eq!(off.to_vec().unwrap(), [0.0, 0.0]);
        // A stack of lanes: each reads the result of the one before.
        let mut top = UInt::from([100]);
        let mut found = top.scatter_exchange(UInt::arange(50), &UInt::zeros(50)).to_vec().unwrap();
        found.push(top.item().unwrap());
        found.sort_unstable();
        assert_eq!(found, (0..50).chain([100]).collect::<Vec<_>>());
    });
}

#[test]
fn elements_are_replaced_if_they_are_as_expected() {
    on_each_device(|| {
        let mut x = Int::from([1, 2, 3, 4]);
        let (old, replaced) = x.scatter_cas(Int::from([1, 9, 3]), 7, &UInt::from([0, 1, 2]));
        assert_eq!(old.to_vec().unwrap(), [1, 2, 3]);
        assert_eq!(replaced.to_vec().unwrap(), [true, false, true]);
        assert_eq!(x.to_vec().unwrap(), [7, 2, 7, 4]);
        let (old, replaced) = x.scatter_cas_masked(4, 5, &UInt::from([3, 77]), &Mask::from([true, false]));
        assert_eq!((old.to_vec().unwrap(), replaced.to_vec().unwrap()), (vec![4, 0], vec![true, false]));
        assert_eq!(x.to_vec().unwrap(), [7, 2, 7, 5]);
        // One of many takes the lock.
        let mut lock = UInt8::from([0]);
        let (_, taken) = lock.scatter_cas(0, 1, &UInt::zeros(500));
        assert_eq!(taken.count().item().unwrap(), 1);
        assert_eq!(lock.item().unwrap(), 1);
    });
}

#[test]
fn a_loop_scatters_in_each_iteration() {
    #[jit]
    fn run(start: &UInt, visits: &mut UInt, lowest: &mut UInt) -> UInt {
        let (mut n, mut steps) = (start.clone(), UInt::from(0));
        while n != 1 {
            visits.scatter_add(1, &(n % 8));
            lowest.scatter_reduce(ReduceOp::Min, &steps, &(n % 8));
            n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
            steps += 1;
        }
        steps
    }
    on_each_device(|| {
        let starts = 1..300;
        let (mut visits, mut lowest, mut total) = ([0; 8], [9999; 8], Vec::new());
        for start in starts.clone() {
            let (mut n, mut steps) = (start, 0);
            while n != 1 {
                visits[n as usize % 8] += 1;
                lowest[n as usize % 8] = steps.min(lowest[n as usize % 8]);
                n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
                steps += 1;
            }
            total.push(steps);
        }
        let start = UInt::from_iter(starts);
        let (mut traced, mut low) = (UInt::zeros(8), UInt::full(9999, 8));
        let before = traced.clone();
        let steps = run(&start, &mut traced, &mut low);
        // The loop runs once, whatever is requested first.
        assert_eq!(low.to_vec().unwrap(), lowest);
        assert_eq!(steps.to_vec().unwrap(), total);
        assert_eq!(traced.to_vec().unwrap(), visits);
        assert_eq!(before.to_vec().unwrap(), [0; 8]);
        run(&start, &mut traced, &mut low);
        assert_eq!(traced.to_vec().unwrap(), visits.map(|count| 2 * count));
    });
}

#[test]
fn loops_and_branches_that_scatter_nest() {
    #[derive(Traverse)]
    struct Bins {
        outer: UInt,
        inner: UInt,
    }
    #[jit]
    fn note(bins: &mut Bins, at: &UInt) {
        bins.inner.scatter_add(1, at);
    }
    #[jit]
    fn run(x: &UInt, bins: &mut Bins) {
        let mut i = UInt::from(0);
        while i < *x {
            bins.outer.scatter_add(1, &i);
            let mut j = UInt::from(0);
            while j < i {
                if (i + j) % 3 == 0 {
                    note(bins, &j);
                } else if j == 1 {
                    bins.outer.scatter_add(100, &UInt::from(0));
                }
                j += 1;
            }
            i += 1;
        }
    }
    on_each_device(|| {
        let widths = [0, 3, 6, 1, 5];
        let (mut outer, mut inner) = ([0; 6], [0; 6]);
        for x in widths {
            for i in 0..x {
                outer[i] += 1;
                for (j, count) in inner.iter_mut().enumerate().take(i) {
                    match (i + j) % 3 {
                        0 => *count += 1,
                        _ if j == 1 => outer[0] += 100,
                        _ => {}
                    }
                }
            }
        }
        let x = UInt::from(widths.map(|x| x as u32));
        let mut bins = Bins { outer: UInt::zeros(6), inner: UInt::zeros(6) };
        run(&x, &mut bins);
        assert_eq!(bins.inner.to_vec().unwrap(), inner);
        assert_eq!(bins.outer.to_vec().unwrap(), outer);
    });
}

#[test]
fn places_are_taken_and_filled_in_the_same_branch_of_a_loop() {
    #[jit]
    fn collect(x: &UInt, count: &mut UInt, list: &mut UInt) {
        let mut i = UInt::from(0);
        while i < 10 {
            if (x * &i) % 7 == 1 {
                let place = count.scatter_inc(&UInt::from(0));
                list.scatter(x * 100 + &i, &place);
            }
            i += 1;
        }
    }
    on_each_device(|| {
        let mut expected: Vec<u32> =
            (0..50).flat_map(|x| (0..10).filter(move |i| x * i % 7 == 1).map(move |i| x * 100 + i)).collect();
        expected.sort_unstable();
        let (mut count, mut list) = (UInt::from(0), UInt::zeros(500));
        collect(&UInt::arange(50), &mut count, &mut list);
        let mut list = list.to_vec().unwrap();
        list.truncate(count.item().unwrap() as usize);
        list.sort_unstable();
        assert_eq!(list, expected);
    });
}

#[test]
fn a_loop_over_numbers_runs_on_the_lanes_of_what_it_scatters_and_writes_numbers_once() {
    #[jit]
    fn run(values: &Float, index: &UInt, sums: &mut Float, turns: &mut UInt) {
        let mut i = UInt::from(0);
        while i < 3 {
            sums.scatter_add(values, index);
            turns.scatter_add(1, &UInt::from(0));
            i += 1;
        }
    }
    on_each_device(|| {
        let (mut sums, mut turns) = (Float::zeros(2), UInt::from(0));
        run(&Float::from([1.0, 2.0, 4.0, 8.0]), &UInt::from([0, 1, 1, 0]), &mut sums, &mut turns);
        assert_eq!(sums.to_vec().unwrap(), [27.0, 18.0]);
        assert_eq!(turns.item().unwrap(), 3);
    });
}

/// Only where one value would be exchanged by several lanes, all but one would not learn what was there.
#[test]
fn a_loop_of_one_lane_gets_the_old_element() {
    #[jit]
    fn run(counter: &mut UInt) -> UInt {
        let (mut i, mut sum) = (UInt::from(0), UInt::from(0));
        while i < 3 {
            sum += counter.scatter_inc(&UInt::from(0));
            i += 1;
        }
        sum
    }
    on_each_device(|| {
        let mut counter = UInt::from([5, 1]);
        assert_eq!(run(&mut counter).item().unwrap(), 5 + 6 + 7);
        assert_eq!(counter.to_vec().unwrap(), [8, 1]);
    });
}

type Step = fn(&Int, &mut Int) -> Int;

#[test]
fn arrays_that_a_loop_writes_are_not_read_in_it() {
    #[jit]
    fn elementwise(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            y = &y + &*target + 1;
            target.scatter_add(1, x);
        }
        y
    }
    #[jit]
    fn gathers(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            target.scatter_add(1, x);
            y = target.gather(x);
        }
        y
    }
    #[jit]
    fn nested(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            let mut z = y.clone();
            while z < 2 {
                z = &z + &*target + 1;
            }
            target.scatter_add(1, x);
            y = z;
        }
        y
    }
    #[jit]
    fn written_in_nested(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            y = &y + &*target + 1;
            let mut z = y.clone();
            while z < 2 {
                target.scatter_add(1, x);
                z += 1;
            }
        }
        y
    }
    #[jit]
    fn copies(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            let mut copy = target.clone();
            y += copy.scatter_inc(x) + 1;
        }
        y
    }
    #[jit]
    fn local(x: &Int, _: &mut Int) -> Int {
        let mut y = x.clone();
        while y < 2 {
            let mut local = Int::zeros(3);
            y += local.scatter_inc(x) + 1;
        }
        y
    }
    #[jit]
    fn in_condition(x: &Int, target: &mut Int) -> Int {
        let mut y = x.clone();
        while {
            target.scatter_add(1, x);
            y < 2
        } {
            y += 1;
        }
        y
    }
    let wrong: [(Step, &str); 7] = [
        (elementwise, "that writes to it"),
        (gathers, "that writes to it"),
        (nested, "that writes to it"),
        (written_in_nested, "that writes to it"),
        (copies, "only its state can be written to"),
        (local, "only its state can be written to"),
        (in_condition, "condition of a traced loop cannot write"),
    ];
    for (program, text) in wrong {
        let message = panic_message(move || drop(program(&Int::from([1, 2, 0]), &mut Int::zeros(3))));
        assert!(message.contains(text) && message.contains("scatter.rs"), "`{text}` is not in: {message}");
    }
}

#[test]
fn a_written_array_is_the_input_of_a_prefix_sum_whose_result_is_written() {
    on_each_device(|| {
        let mut counts = UInt::zeros(4);
        counts.scatter_add(1, &UInt::from([3, 0, 3, 1]));
        let mut ends = counts.prefix_sum();
        ends.scatter_add(10, &UInt::from([2]));
        assert_eq!(ends.to_vec().unwrap(), [1, 2, 12, 4]);
        assert_eq!(counts.to_vec().unwrap(), [1, 1, 0, 2]);
    });
}

#[test]
fn scatters_to_positions_that_interleave_keep_their_order_where_they_meet() {
    let positions: Vec<(u32, u32)> = (1..5).flat_map(|factor| [0, 1, 2, 3, 5, 7].map(|rest| (factor, rest))).collect();
    on_each_device(|| {
        for (first, second) in positions.iter().flat_map(|first| positions.iter().map(move |second| (first, second))) {
            let third = &(first.0, second.1 + 1);
            let mut wanted = vec![0_u32; 250];
            let mut target = UInt::zeros(250);
            for (number, (factor, rest)) in [first, second, third].into_iter().enumerate() {
                let value = |lane: u32| lane + 1000 * (number as u32 + 1);
                target.scatter(UInt::arange(70) + value(0), &(UInt::arange(70) * *factor + *rest));
                for lane in 0..70 {
                    if let Some(place) = wanted.get_mut((lane * factor + rest) as usize) {
                        *place = value(lane);
                    }
                }
            }
            assert_eq!(target.to_vec().unwrap(), wanted, "{first:?} {second:?} {third:?}");
        }
    });
}

#[test]
fn scatters_to_positions_that_interleave_read_what_was_there_before() {
    on_each_device(|| {
        let mut target = UInt::arange(300) * 10;
        let lane = UInt::arange(100);
        // Each reads what a neighbour's lane wrote in the scatter before.
        target.scatter(target.gather(&(&lane * 3 + 2)), &(&lane * 3));
        target.scatter(target.gather(&((&lane + 1) * 3)), &(&lane * 3 + 1));
        let mut wanted: Vec<u32> = (0..300).map(|i| i * 10).collect();
        (0..100).for_each(|i| wanted[i * 3] = wanted[i * 3 + 2]);
        (0..100).for_each(|i| wanted[i * 3 + 1] = wanted.get((i + 1) * 3).copied().unwrap_or(0));
        assert_eq!(target.to_vec().unwrap(), wanted);
    });
}
