//! Results have the same bits for any number of threads, run after run; on request also those that depend on the order
//! of several lanes' writes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use half::f16;
use jit::prelude::*;
use jit::{FloatElement, ReduceOp, eval, set_deterministic, set_threads, threads};

use crate::devices::on_each_device;

/// The number of threads and the determinism setting belong to the process. Other tests may observe them, but their
/// results do not change.
static SETTINGS: Mutex<()> = Mutex::new(());

pub(crate) struct Settings {
    threads: usize,
    _guard: MutexGuard<'static, ()>,
}

impl Settings {
    pub(crate) fn hold() -> Settings {
        let guard = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
        Settings { threads: threads(), _guard: guard }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        set_threads(self.threads);
        set_deterministic(false);
    }
}

/// Runs a function with several numbers of threads, twice each, and asserts that the results are the same.
#[track_caller]
fn same_for_all_threads<R: PartialEq + std::fmt::Debug>(what: &str, run: impl Fn() -> Vec<R>) -> Vec<R> {
    set_threads(1);
    let wanted = run();
    for count in [1, 2, 3, 7, 2] {
        set_threads(count);
        for _ in 0..2 {
            let got = run();
            let different = got.iter().zip(&wanted).filter(|(a, b)| a != b).count();
            assert!(got == wanted, "{what}: {different} of {} differ with {count} threads", got.len());
        }
    }
    wanted
}

/// Indices below a bound, many of which occur often.
fn indices(width: usize, bound: usize) -> UInt {
    let index = (UInt::arange(width) * 2_654_435_761_u32) >> 7;
    index % bound as u32
}

/// Numbers whose sums reveal the order of addition.
fn numbers<T: FloatElement>(width: usize) -> Array<T> {
    let number = (UInt::arange(width) * 40_503_u32 + 7) % 2001;
    (number.cast::<T>() - T::from_f64(900.0)) / T::from_f64(33.0)
}

fn bits<T: FloatElement>(array: &Array<T>) -> Vec<u64> {
    array.to_vec().unwrap().into_iter().map(|value| value.to_bits()).collect()
}

fn check_sums<T: FloatElement>(width: usize, elements: usize) {
    let (index, value) = (indices(width, elements), numbers::<T>(width));
    let mask = (UInt::arange(width) % 7).ne(3);
    eval(&(&index, &value, &mask)).unwrap();
    let run = |mask: Option<&Mask>, op: ReduceOp| {
        let mut target = numbers::<T>(elements);
        eval(&target).unwrap();
        match mask {
            Some(mask) => target.scatter_reduce_masked(op, &value, &index, mask),
            None => target.scatter_reduce(op, &value, &index),
        }
        bits(&target)
    };
    let what = |op: &str| format!("{op} of {} over {width} lanes into {elements}", T::TYPE);
    same_for_all_threads(&what("sums"), || run(None, ReduceOp::Add));
    same_for_all_threads(&what("masked sums"), || run(Some(&mask), ReduceOp::Add));
}

#[test]
fn sums_by_scatters_are_the_same_for_any_number_of_threads() {
    let _settings = Settings::hold();
    // Small targets with neighbours, targets for segments, few segments, and narrow launches.
    for (width, elements) in
        [(300_000, 50), (300_000, 4096), (300_000, 400_000), (3000, 100_000), (70_001, 3), (6000, 11)]
    {
        check_sums::<f32>(width, elements);
    }
    check_sums::<f64>(200_000, 1000);
    check_sums::<f16>(200_000, 3000);
}

#[jit]
fn walk(sums: &mut Float, start: &UInt) {
    let (mut at, mut left) = (start.clone(), start % 5 + 1);
    while left > 0 {
        at = at * 1_664_525 + 1_013_904_223;
        sums.scatter_add((at >> 20).cast::<f32>() / 3.0, &((at >> 5) % sums.len() as u32));
        left -= 1;
    }
}

#[test]
fn sums_in_loops_are_the_same_for_any_number_of_threads() {
    let _settings = Settings::hold();
    for (width, elements) in [(100_000, 20), (2000, 3000), (60_000, 200_000), (90, 70)] {
        let start = UInt::arange(width) * 747_796_405_u32;
        eval(&start).unwrap();
        let run = || {
            let mut sums = Float::zeros(elements);
            eval(&sums).unwrap();
            walk(&mut sums, &start);
            bits(&sums)
        };
        same_for_all_threads(&format!("{width} lanes into {elements}"), run);
    }
}

#[freeze]
fn histogram(index: &UInt, value: &Float) -> Float {
    let mut sums = Float::zeros(4096);
    sums.scatter_add(value, index);
    let mut folded = Float::zeros(7);
    folded.scatter_add(sums * 0.1, &(UInt::arange(4096) % 7));
    folded
}

#[test]
fn replayed_sums_are_those_of_the_recording_for_any_number_of_threads() {
    let _settings = Settings::hold();
    let (index, value) = (indices(200_000, 4096), numbers::<f32>(200_000));
    eval(&(&index, &value)).unwrap();
    same_for_all_threads("replays", || bits(&histogram(&index, &value)));
    assert!(histogram::stats().replays > 5);
}

#[test]
fn the_last_lane_wins_if_requested() {
    const WIDTH: usize = 200_000;
    let _settings = Settings::hold();
    set_deterministic(true);
    on_each_device(|| {
        for elements in [5, 30_000] {
            let index = indices(WIDTH, elements);
            eval(&index).unwrap();
            let mut wanted = vec![u32::MAX; elements];
            index.to_vec().unwrap().iter().enumerate().for_each(|(lane, &at)| wanted[at as usize] = lane as u32);
            let run = || {
                let mut last = UInt::full(u32::MAX, elements);
                last.scatter(UInt::arange(WIDTH), &index);
                last.to_vec().unwrap()
            };
            assert_eq!(same_for_all_threads("the last lanes", run), wanted);
        }
    });
}

#[test]
fn large_targets_are_summed_in_lane_order_if_requested() {
    const WIDTH: usize = 50_000;
    const ELEMENTS: usize = 250_000;
    let _settings = Settings::hold();
    set_deterministic(true);
    let (index, value) = (indices(WIDTH, ELEMENTS) % 3000, numbers::<f32>(WIDTH));
    let mut wanted = vec![0.25_f32; ELEMENTS];
    for (at, value) in index.to_vec().unwrap().into_iter().zip(value.to_vec().unwrap()) {
        wanted[at as usize] += value;
    }
    let wanted: Vec<u64> = wanted.into_iter().map(|value| value.to_bits().into()).collect();
    let run = || {
        let mut target = Float::full(0.25, ELEMENTS);
        eval(&target).unwrap();
        target.scatter_add(&value, &index);
        bits(&target)
    };
    assert!(same_for_all_threads("large targets", run) == wanted);
}

#[test]
fn lanes_get_the_old_elements_in_order_if_requested() {
    const WIDTH: usize = 100_000;
    let _settings = Settings::hold();
    set_deterministic(true);
    let index = indices(WIDTH, 100);
    eval(&index).unwrap();
    let mut left = vec![u32::MAX; 100];
    let find = |(lane, at): (usize, u32)| std::mem::replace(&mut left[at as usize], lane as u32);
    let wanted: Vec<u32> = index.to_vec().unwrap().into_iter().enumerate().map(find).collect();
    let run = || {
        let mut cells = UInt::full(u32::MAX, 100);
        cells.scatter_exchange(UInt::arange(WIDTH), &index).to_vec().unwrap()
    };
    assert_eq!(same_for_all_threads("the old elements of lanes", run), wanted);
}

#[test]
fn floats_that_are_summed_beside_integers_have_one_order() {
    let _settings = Settings::hold();
    on_each_device(|| {
        // The larger target is merged in several parts.
        for (width, elements, counted) in [(300_000, 90_000, 11), (20_000, 50, 70), (300_000, 11, 90_000)] {
            let (index, value) = (indices(width, elements), numbers::<f32>(width));
            let places = indices(width, counted);
            eval(&(&index, &value, &places)).unwrap();
            let run = || {
                let (mut sums, mut counts) = (Float::zeros(elements), UInt::zeros(counted));
                sums.scatter_add(&value, &index);
                counts.scatter_add(1, &places);
                eval(&(&sums, &counts)).unwrap();
                let counts = counts.to_vec().unwrap();
                let mut expected = vec![0; counted];
                places.to_vec().unwrap().iter().for_each(|&place| expected[place as usize] += 1);
                assert!(counts == expected, "{width} lanes, {counted} counts");
                bits(&sums)
            };
            same_for_all_threads("sums beside counts", run);
        }
    });
}
