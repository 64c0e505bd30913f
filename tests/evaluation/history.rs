//! `kernel_history`: what preceded each launch, and where its code came from.

use std::time::Duration;

use jit::CacheOutcome;
use jit::prelude::*;

use crate::{kernels, on_each_device};

#[jit]
fn powers(x: &Float) -> Float {
    let mut y = x.clone();
    for number in 0..40 {
        y = &y * x + number as f32;
    }
    y
}

#[freeze]
fn frozen_powers(x: &Float) -> Float {
    powers(x)
}

// rows: K130
#[test]
fn launches_have_their_times_and_where_their_code_came_from() {
    on_each_device(|| {
        jit::cache::clear();
        let x = Float::from([1.0, 2.0]);
        let records = kernels(|| {
            jit::eval(&powers(&x)).unwrap();
            jit::eval(&powers(&x)).unwrap();
        });
        let [first, second] = &records[..] else { panic!("{records:?}") };
        assert_eq!((first.outcome, second.outcome), (CacheOutcome::Compiled, CacheOutcome::Memory));
        for record in [first, second] {
            let times = [record.trace_time, record.look_up_time, record.compile_time];
            assert!(times.iter().all(|time| *time > Duration::ZERO), "{record:?}");
            assert_eq!((record.load_time, record.is_hit), (None, record.outcome == CacheOutcome::Memory));
        }
        let are_built = [first, second].map(|record| record.schedule_time > Duration::ZERO);
        assert_eq!(are_built, [true, false], "the second kernel is found by its trace: {records:?}");
        // What was traced for one evaluation is not counted for the next.
        let records = kernels(|| {
            jit::eval(&powers(&x)).unwrap();
            jit::eval(&(&x + 1.0)).unwrap();
        });
        assert!(records[0].trace_time > Duration::ZERO && records[1].trace_time == Duration::ZERO, "{records:?}");
    });
}

// rows: K130
#[test]
fn replays_and_library_calls_look_nothing_up() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0]);
        drop(frozen_powers(&x));
        let records = kernels(|| drop(frozen_powers(&x)));
        let [record] = &records[..] else { panic!("{records:?}") };
        let times = [record.trace_time, record.schedule_time, record.look_up_time];
        assert_eq!((record.outcome, times), (CacheOutcome::Recording, [Duration::ZERO; 3]));
        let sums = UInt::from(vec![1; 1000]).prefix_sum();
        let records = kernels(|| assert_eq!(sums.get(999).unwrap(), 1000));
        assert!(records.iter().any(|record| record.outcome == CacheOutcome::Library && record.is_hit), "{records:?}");
    });
}
