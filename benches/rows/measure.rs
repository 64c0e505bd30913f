//! Sampling, and how a row is printed.

use std::cell::RefCell;
use std::fmt;
use std::time::{Duration, Instant};

/// How thoroughly to measure.
pub(crate) struct Bench {
    /// One sample a row: results are checked, times mean nothing.
    pub(crate) smoke: bool,
}

/// Why a row has no valid result.
#[derive(Debug)]
pub(crate) enum RowError {
    /// The library reported an error.
    Jit(jit::Error),
    /// The result is wrong.
    Checksum { workload: &'static str, got: f64, wanted: f64 },
    /// The row did not measure what it is meant to.
    Invalid(String),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Jit(error) => error.fmt(f),
            RowError::Checksum { workload, got, wanted } => {
                write!(f, "{workload}: checksum {got} instead of {wanted}")
            }
            RowError::Invalid(message) => f.write_str(message),
        }
    }
}

impl From<jit::Error> for RowError {
    fn from(error: jit::Error) -> Self {
        RowError::Jit(error)
    }
}

/// Samples are taken for at least this long …
const BUDGET: Duration = Duration::from_millis(600);
/// … and no longer than this, even when other programs disturb them.
const MAX_TIME: Duration = Duration::from_secs(3);
/// Runs before the first sample go on for this long: by then, kernels that run much have the better code that programs of such runs have.
const WARM_UP: Duration = Duration::from_millis(200);
const MAX_SAMPLES: usize = 60;
const MIN_CLEAN_SAMPLES: usize = 7;

impl Bench {
    /// Seconds that `run` takes: the median of samples during which our threads did not wait for a processor.
    ///
    /// `prepare` runs before each sample, outside of its time.
    pub(crate) fn median_after(
        &self,
        mut prepare: impl FnMut(),
        mut run: impl FnMut() -> Result<(), RowError>,
    ) -> Result<f64, RowError> {
        if !self.smoke {
            let begin = Instant::now();
            let mut runs = 0;
            while runs < 2 || begin.elapsed() < WARM_UP {
                prepare();
                run()?;
                runs += 1;
            }
        }
        let (mut all, mut clean) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        loop {
            prepare();
            let (seconds, is_clean) = sample(&mut run)?;
            all.push(seconds);
            if is_clean {
                clean.push(seconds);
            }
            if self.smoke || enough(begin.elapsed(), all.len(), clean.len()) {
                break;
            }
        }
        Ok(if clean.len() >= 3 { quantile(&mut clean, 0.5) } else { quantile(&mut all, 0.25) })
    }

    /// As [`Bench::median_after`], with nothing to prepare.
    pub(crate) fn median(&self, run: impl FnMut() -> Result<(), RowError>) -> Result<f64, RowError> {
        self.median_after(|| (), run)
    }

    /// A throughput row: `trace` builds a result, which is evaluated, waited for and dropped before the next one.
    pub(crate) fn throughput<R: jit::Traverse>(
        &self,
        workload: &'static str,
        expected: (f64, f64),
        trace: impl Fn() -> R,
        checksum: impl Fn(&R) -> Result<f64, jit::Error>,
    ) -> Result<(), RowError> {
        let slot = RefCell::new(None);
        let once = || {
            slot.replace(None);
            let result = trace();
            jit::eval(&result)?;
            jit::sync()?;
            slot.replace(Some(result));
            Ok(())
        };
        once()?;
        let value = match &*slot.borrow() {
            Some(result) => checksum(result)?,
            None => return Err(RowError::Invalid("nothing was computed".into())),
        };
        check(workload, value, expected)?;
        let seconds = self.median(once)?;
        print(workload, "time", seconds * 1e3, "ms", Some(value));
        Ok(())
    }
}

/// One timed run, and whether our threads had the processors to themselves (no more than 1 % of it was spent waiting).
fn sample(run: &mut impl FnMut() -> Result<(), RowError>) -> Result<(f64, bool), RowError> {
    let waited_before = run_delay();
    let begin = Instant::now();
    run()?;
    let seconds = begin.elapsed().as_secs_f64();
    let waited = run_delay() - waited_before;
    Ok((seconds, waited <= 0.01 * seconds + 20e-6))
}

fn enough(elapsed: Duration, samples: usize, clean: usize) -> bool {
    (clean >= MIN_CLEAN_SAMPLES && elapsed >= BUDGET)
        || clean >= MAX_SAMPLES
        || (elapsed >= MAX_TIME && samples >= MIN_CLEAN_SAMPLES.min(3))
}

/// Seconds that the threads of this process have been ready but without a processor; 0 where the system does not say.
fn run_delay() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = |task: std::fs::DirEntry| -> Option<f64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    tasks.flatten().filter_map(nanoseconds).sum::<f64>() * 1e-9
}

/// The value below which a part of the samples lies.
pub(crate) fn quantile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let index = (samples.len() as f64 * part) as usize;
    samples.get(index.min(samples.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// An error unless `got` is within the relative tolerance of the expected value.
pub(crate) fn check(workload: &'static str, got: f64, (wanted, tolerance): (f64, f64)) -> Result<(), RowError> {
    if (got - wanted).abs() <= tolerance * wanted.abs() {
        Ok(())
    } else {
        Err(RowError::Checksum { workload, got, wanted })
    }
}

/// Prints a row as a line of JSON.
pub(crate) fn print(workload: &str, metric: &str, value: f64, unit: &str, checksum: Option<f64>) {
    let checksum = checksum.map_or("null".to_owned(), |checksum| format!("{checksum:?}"));
    let value = format!("{value:.6e}");
    println!(
        r#"{{"workload":"{workload}","metric":"{metric}","value":{value},"unit":"{unit}","checksum":{checksum}}}"#
    );
}
