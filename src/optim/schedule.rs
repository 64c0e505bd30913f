//! Schedules: settings that change from step to step.

use super::Setting;
use crate::{Float64, Traverse, UInt, select};

/// A setting, such as a rate, as a function of the number of the step: phases, one after another, each from one value
/// to another. After the last phase its end remains.
///
/// A schedule is a value of the program with a counter on the device. So nothing is read by the host, a frozen step has
/// one recording, and a checkpoint that holds the schedule continues in its middle.
///
/// ```
/// use jit::optim::{Adam, Schedule};
/// use jit::prelude::*;
///
/// #[freeze]
/// fn step(x: &mut Float, adam: &mut Adam<Float>, rates: &mut Schedule) {
///     adam.settings.rate = rates.advance();
///     let gradient = &*x * 2.0;
///     adam.step(x, &gradient);
/// }
///
/// let mut x = Float::from(vec![3.0, -2.0]);
/// let mut adam = Adam::new(&x, 0.0);
/// // Ten steps of warming up, and then along a cosine to zero.
/// let mut rates = Schedule::linear(0.0, 0.3, 10).then(Schedule::cosine(0.3, 0.0, 190));
/// for _ in 0..200 {
///     step(&mut x, &mut adam, &mut rates);
/// }
/// assert!(x.to_vec()?.iter().all(|x| x.abs() < 1e-2));
/// assert_eq!((rates.steps().item()?, rates.value().values().item()?), (200, 0.0));
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Schedule {
    /// The number of steps so far.
    steps: UInt,
    phases: Vec<Phase>,
    /// Whether the first phase follows the last one.
    repeats: bool,
}

/// A part of a schedule.
#[derive(Clone, Debug, Traverse)]
struct Phase {
    length: UInt,
    from: Float64,
    to: Float64,
    curve: Curve,
}

/// How a phase gets from its first value to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Traverse)]
enum Curve {
    Linear,
    Cosine,
    Exponential,
}

impl Schedule {
    /// Stays at a value for so many steps.
    #[must_use]
    pub fn constant(value: f64, steps: u32) -> Schedule {
        Schedule::phase(value, value, steps, Curve::Linear)
    }

    /// Changes by the same amount in each of so many steps: `a + (b − a) t / n`.
    #[must_use]
    pub fn linear(from: f64, to: f64, steps: u32) -> Schedule {
        Schedule::phase(from, to, steps, Curve::Linear)
    }

    /// Follows half a cosine: `b + (a − b) (1 + cos(π t / n)) / 2` (I. Loshchilov, F. Hutter, “SGDR: Stochastic
    /// Gradient Descent with Warm Restarts”, 2017).
    #[must_use]
    pub fn cosine(from: f64, to: f64, steps: u32) -> Schedule {
        Schedule::phase(from, to, steps, Curve::Cosine)
    }

    /// Changes by the same factor in each of so many steps: `a (b / a)^(t / n)`.
    ///
    /// # Panics
    ///
    /// When one of the values is not positive.
    #[must_use]
    #[track_caller]
    pub fn exponential(from: f64, to: f64, steps: u32) -> Schedule {
        assert!(
            from > 0.0 && to > 0.0,
            "an exponential schedule has positive values, not {from} and {to}; `Schedule::linear` gets to zero"
        );
        Schedule::phase(from, to, steps, Curve::Exponential)
    }

    /// Multiplies a value by a factor after each of the given numbers of steps, which ascend.
    ///
    /// ```
    /// use jit::optim::Schedule;
    ///
    /// let mut rates = Schedule::steps_down(0.8, 0.5, &[2, 3]);
    /// let values: Vec<f64> = (0..4).map(|_| rates.advance().values().item()).collect::<Result<_, _>>()?;
    /// assert_eq!(values, [0.8, 0.8, 0.4, 0.2]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the numbers do not ascend.
    #[must_use]
    #[track_caller]
    pub fn steps_down(value: f64, factor: f64, after: &[u32]) -> Schedule {
        assert!(after.is_sorted_by(|a, b| a < b), "the numbers of steps of a schedule ascend, unlike {after:?}");
        let (mut value, mut before) = (value, 0);
        let mut phases = Vec::with_capacity(after.len() + 1);
        for step in after {
            phases.extend(Schedule::constant(value, step - before).phases);
            (value, before) = (value * factor, *step);
        }
        phases.extend(Schedule::constant(value, 0).phases);
        Schedule { steps: UInt::opaque(0), phases, repeats: false }
    }

    fn phase(from: f64, to: f64, length: u32, curve: Curve) -> Schedule {
        let [from, to] = [from, to].map(Float64::opaque);
        let phases = vec![Phase { length: UInt::opaque(length), from, to, curve }];
        Schedule { steps: UInt::opaque(0), phases, repeats: false }
    }

    /// Appends the phases of another schedule.
    #[must_use]
    pub fn then(mut self, next: Schedule) -> Schedule {
        self.phases.extend(next.phases);
        self
    }

    /// Begins again after the last phase, for ever.
    #[must_use]
    pub fn repeated(self) -> Schedule {
        Schedule { repeats: true, ..self }
    }

    /// Returns the number of steps so far, an array of width 1.
    #[must_use]
    pub fn steps(&self) -> &UInt {
        &self.steps
    }

    /// Returns the setting for the next step. Evaluates nothing.
    #[must_use]
    #[track_caller]
    pub fn value(&self) -> Setting {
        let mut step = self.steps.clone();
        if self.repeats {
            let all = self.phases.iter().map(|phase| phase.length.clone()).reduce(|sum, length| sum + length);
            step %= all.unwrap_or_else(|| UInt::from(0)).max(1);
        }
        let mut begins = Vec::with_capacity(self.phases.len());
        let mut begin = UInt::from(0);
        for phase in &self.phases {
            begins.push(begin.clone());
            begin += &phase.length;
        }
        // From the last phase to the first: each has the steps before its end.
        let earlier = |value: Option<Float64>, (phase, begin): (&Phase, &UInt)| {
            let done = step.max(begin) - begin;
            let here = phase.value(&done);
            Some(match value {
                Some(later) => select(&done.lt(&phase.length), &here, &later),
                None => here,
            })
        };
        let value = self.phases.iter().zip(&begins).rev().fold(None, earlier);
        Setting::from(value.unwrap_or_else(|| Float64::from(0.0)))
    }

    /// Returns the setting for the next step, and counts it. Evaluates nothing.
    #[must_use]
    #[track_caller]
    pub fn advance(&mut self) -> Setting {
        let value = self.value();
        self.steps += 1;
        value
    }
}

impl Phase {
    /// The value after some steps of this phase, at most all of them.
    #[track_caller]
    fn value(&self, done: &UInt) -> Float64 {
        // A phase without steps is at its end.
        let length = self.length.max(1);
        let done = select(&self.length.eq(0), &length, &done.min(&length));
        let part = done.cast::<f64>() / length.cast::<f64>();
        let (from, to) = (&self.from, &self.to);
        match self.curve {
            Curve::Linear => from * (1.0 - &part) + to * part,
            Curve::Cosine => to + (from - to) * ((part * std::f64::consts::PI).cos() + 1.0) * 0.5,
            Curve::Exponential => from * (to / from).powf(part),
        }
    }
}
