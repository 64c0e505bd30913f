//! Schedules of settings.

use jit::optim::{Schedule, Sgd};
use jit::prelude::*;

use crate::on_each_device;

/// The first values of a schedule.
fn values(schedule: &mut Schedule, count: usize) -> Vec<f64> {
    (0..count).map(|_| schedule.advance().values().item().unwrap()).collect()
}

#[track_caller]
fn assert_values(schedule: &mut Schedule, wanted: impl Fn(f64) -> f64, count: usize) {
    for (step, got) in values(schedule, count).into_iter().enumerate() {
        let wanted = wanted(step as f64);
        assert!((got - wanted).abs() <= 1e-14 * wanted.abs().max(1e-3), "step {step}: {got} instead of {wanted}");
    }
}

#[test]
fn each_phase_follows_its_formula_and_stays_at_its_end() {
    on_each_device(|| {
        let part = |step: f64, steps: f64| (step / steps).min(1.0);
        assert_values(&mut Schedule::constant(0.3, 4), |_| 0.3, 7);
        assert_values(&mut Schedule::linear(0.5, 0.1, 8), |t| 0.5 - 0.4 * part(t, 8.0), 12);
        let cosine = |t| 0.1 + 0.4 * 0.5 * (1.0 + (std::f64::consts::PI * part(t, 6.0)).cos());
        assert_values(&mut Schedule::cosine(0.5, 0.1, 6), cosine, 9);
        let exponential = |t| 0.5 * 0.2_f64.powf(part(t, 5.0));
        assert_values(&mut Schedule::exponential(0.5, 0.1, 5), exponential, 8);
        assert_eq!(values(&mut Schedule::linear(0.5, 0.125, 0), 3), [0.125; 3], "no steps at all");
    });
}

#[test]
fn phases_follow_one_another_and_repeat() {
    on_each_device(|| {
        let mut warm =
            Schedule::linear(0.0, 1.0, 4).then(Schedule::constant(1.0, 2)).then(Schedule::linear(1.0, 0.0, 2));
        let one_round = [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5];
        assert_eq!(values(&mut warm.clone(), 11), [&one_round[..], &[0.0; 3]].concat());
        let mut repeated = warm.clone().repeated();
        assert_eq!(values(&mut repeated, 19), [&one_round[..], &one_round, &one_round[..3]].concat());
        assert_eq!(warm.steps().item().unwrap(), 0, "clones count by themselves");
        // The value is that of the next step.
        assert_eq!(values(&mut warm, 3), one_round[..3]);
        assert_eq!(warm.value().values().item().unwrap(), 0.75);
        let mut down = Schedule::steps_down(1.0, 0.5, &[1, 4]);
        assert_eq!(values(&mut down, 6), [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]);
    });
}

#[freeze]
fn descend(x: &mut Float64, sgd: &mut Sgd<Float64>, rates: &mut Schedule) {
    sgd.settings.rate = rates.advance();
    let gradient = x.ones_like();
    sgd.step(x, &gradient);
}

#[test]
fn a_frozen_step_with_a_schedule_has_one_recording() {
    on_each_device(|| {
        descend::clear();
        let mut x = Float64::from(vec![0.0, 1.0]);
        let mut sgd = Sgd::new(&x, 0.0);
        let mut rates = Schedule::linear(1.0, 0.0, 4);
        for _ in 0..6 {
            descend(&mut x, &mut sgd, &mut rates);
        }
        assert_eq!(x.to_vec().unwrap(), [-2.5, -1.5]);
        assert_eq!((rates.steps().item().unwrap(), descend::stats().recordings), (6, 1), "{}", descend::explain());
        // Another schedule of the same form: its values are no part of the recording.
        descend(&mut x, &mut sgd, &mut Schedule::linear(0.25, 0.0, 9));
        assert_eq!((x.to_vec().unwrap(), descend::stats().recordings), (vec![-2.75, -1.75], 1));
    });
}

#[test]
#[should_panic(
    expected = "an exponential schedule has positive values, not 0.1 and 0; `Schedule::linear` gets to zero"
)]
fn exponential_schedules_do_not_get_to_zero() {
    let _ = Schedule::exponential(0.1, 0.0, 10);
}

#[test]
#[should_panic(expected = "the numbers of steps of a schedule ascend, unlike [5, 5]")]
fn numbers_of_steps_that_do_not_ascend_are_refused() {
    let _ = Schedule::steps_down(0.1, 0.5, &[5, 5]);
}
