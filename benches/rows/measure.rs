//! Takes samples, and prints rows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How thoroughly to measure.
pub(crate) struct Bench {
    /// Whether to take one sample per row: results are checked, times mean nothing.
    pub(crate) smoke: bool,
    /// By how much the general programs were faster than plain Rust, of those that ran.
    pub(crate) ratios: RefCell<Vec<f64>>,
}

/// The result of the samples of a measurement.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// The median of the clean samples, or the lower quartile of all samples if fewer than three are clean.
    pub(crate) seconds: f64,
    /// Samples during which our threads did not wait for a processor.
    clean: usize,
    /// Samples in all.
    reps: usize,
}

impl Timing {
    fn of(mut clean: Vec<f64>, mut all: Vec<f64>) -> Timing {
        let (clean_count, reps) = (clean.len(), all.len());
        let seconds = if clean_count >= 3 { quantile(&mut clean, 0.5) } else { quantile(&mut all, 0.25) };
        Timing { seconds, clean: clean_count, reps }
    }

    /// The time of one of `count` equal parts.
    pub(crate) fn part(self, count: usize) -> Timing {
        Timing { seconds: self.seconds / count as f64, ..self }
    }
}

/// Why a row has no valid result.
#[derive(Debug)]
pub(crate) enum RowError {
    /// The library reported an error.
    Jit(jit::Error),
    /// The result is wrong.
    Checksum { workload: &'static str, got: f64, wanted: f64 },
    /// The row did not measure what it is supposed to measure.
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
/// … and no longer than this, even if other programs disturb them.
const MAX_TIME: Duration = Duration::from_secs(3);
/// Runs before the first sample continue for this long. By then, hot kernels have the better code that programs with
/// this many runs have.
const WARM_UP: Duration = Duration::from_millis(200);
/// Kernels of over this many operations take longer to become hot, and longer to be compiled again …
const LONG_OPS: usize = 1000;
/// … so the warm-up of rows that run them waits for it, but no longer than this.
const MAX_WARM_UP: Duration = Duration::from_secs(6);
/// As the budget, for all that is measured by turns; at most twice as long if other programs disturb them.
const TURNS: Duration = Duration::from_secs(2);
const MAX_SAMPLES: usize = 60;
const MIN_CLEAN_SAMPLES: usize = 7;

impl Bench {
    /// Measures how long `run` takes, once it has run for [`WARM_UP`].
    ///
    /// `prepare` runs before each sample, and is not timed.
    pub(crate) fn median_after(
        &self,
        mut prepare: impl FnMut(),
        mut run: impl FnMut() -> Result<(), RowError>,
    ) -> Result<Timing, RowError> {
        if !self.smoke {
            let begin = Instant::now();
            let mut runs = 0;
            let mut long = LongKernels::default();
            while runs < 2 || begin.elapsed() < WARM_UP || (begin.elapsed() < MAX_WARM_UP && long.have_first_code()) {
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
        Ok(Timing::of(clean, all))
    }

    /// The median of `repeats` samples that `sample` measures itself, in seconds. There is no warm-up.
    pub(crate) fn median_of(
        &self,
        repeats: usize,
        mut sample: impl FnMut() -> Result<f64, RowError>,
    ) -> Result<Timing, RowError> {
        let (mut all, mut clean) = (Vec::new(), Vec::new());
        for _ in 0..if self.smoke { 1 } else { repeats } {
            let waited_before = run_delay();
            let seconds = sample()?;
            all.push(seconds);
            if is_clean(run_delay() - waited_before, seconds) {
                clean.push(seconds);
            }
        }
        Ok(Timing::of(clean, all))
    }

    /// Measures several ways to compute the same by turns, so that other load on the machine affects all alike. Each
    /// is warmed up for [`WARM_UP`] first.
    pub(crate) fn by_turns(&self, ways: &[&dyn Fn() -> Result<(), RowError>]) -> Result<Vec<Timing>, RowError> {
        for way in ways.iter().filter(|_| !self.smoke) {
            let begin = Instant::now();
            let mut long = LongKernels::default();
            while begin.elapsed() < WARM_UP || (begin.elapsed() < MAX_WARM_UP && long.have_first_code()) {
                way()?;
            }
        }
        let mut samples = vec![(Vec::new(), Vec::new()); ways.len()];
        let begin = Instant::now();
        loop {
            for (way, (clean, all)) in ways.iter().zip(&mut samples) {
                let (seconds, is_clean) = sample(&mut || way())?;
                all.push(seconds);
                if is_clean {
                    clean.push(seconds);
                }
            }
            let fewest = samples.iter().map(|(clean, _)| clean.len()).min().unwrap_or(0);
            let is_enough = begin.elapsed() > TURNS && (fewest >= MIN_CLEAN_SAMPLES || begin.elapsed() > 2 * TURNS);
            if self.smoke || is_enough {
                break;
            }
        }
        Ok(samples.into_iter().map(|(clean, all)| Timing::of(clean, all)).collect())
    }

    /// As [`Bench::median_after`], with nothing to prepare.
    pub(crate) fn median(&self, run: impl FnMut() -> Result<(), RowError>) -> Result<Timing, RowError> {
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
        let time = self.median(once)?;
        // The result of the last sample: by then the kernels have the code that was measured.
        let value = match &*slot.borrow() {
            Some(result) => checksum(result)?,
            None => return Err(RowError::Invalid("nothing was computed".into())),
        };
        check(workload, value, expected)?;
        print_time(workload, "time", time, Unit::Milliseconds, Some(value));
        Ok(())
    }
}

/// The launches of each kernel of many operations that has its first code.
#[derive(Default)]
struct LongKernels(BTreeMap<u64, u64>);

impl LongKernels {
    /// Whether such kernels were launched since the last question.
    fn have_first_code(&mut self) -> bool {
        let is_first = |entry: &jit::cache::CacheEntry| {
            entry.ops > LONG_OPS && entry.code_bytes > 0 && entry.ns_per_lane.is_some() && !entry.is_improved
        };
        let entries = jit::cache::entries().into_iter().filter(is_first);
        let now: BTreeMap<u64, u64> = entries.map(|entry| (entry.hash, entry.launches)).collect();
        let before = std::mem::replace(&mut self.0, now);
        self.0.iter().any(|(hash, launches)| before.get(hash) != Some(launches))
    }
}

/// One timed run, and whether our threads had exclusive use of the processors.
fn sample(run: &mut impl FnMut() -> Result<(), RowError>) -> Result<(f64, bool), RowError> {
    let waited_before = run_delay();
    let begin = Instant::now();
    run()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok((seconds, is_clean(run_delay() - waited_before, seconds)))
}

/// Whether threads waited for a processor no longer than in 1 % of a sample.
fn is_clean(waited: f64, seconds: f64) -> bool {
    waited <= 0.01 * seconds + 20e-6
}

fn enough(elapsed: Duration, samples: usize, clean: usize) -> bool {
    (clean >= MIN_CLEAN_SAMPLES && elapsed >= BUDGET)
        || clean >= MAX_SAMPLES
        || (elapsed >= MAX_TIME && samples >= MIN_CLEAN_SAMPLES.min(3))
}

/// Seconds for which the threads of this process have been ready but without a processor; 0 if the system does not
/// report it.
fn run_delay() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = |task: std::fs::DirEntry| -> Option<f64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    tasks.flatten().filter_map(nanoseconds).sum::<f64>() * 1e-9
}

/// The value below which this fraction of the samples lies.
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

/// The unit that a time is printed in.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Microseconds,
    /// Nanoseconds of each operation.
    NanosecondsPerOperation,
}

impl Unit {
    fn name_and_scale(self) -> (&'static str, f64) {
        match self {
            Unit::Milliseconds => ("ms", 1e3),
            Unit::Microseconds => ("us", 1e6),
            Unit::NanosecondsPerOperation => ("ns/op", 1e9),
        }
    }
}

/// Prints a measured time as a line of JSON: the value, the number of samples, how many of them were clean, and the
/// duration of the warm-up.
pub(crate) fn print_time(workload: &str, metric: &str, time: Timing, unit: Unit, checksum: Option<f64>) {
    let (name, scale) = unit.name_and_scale();
    let samples = format!(r#","clean":{},"reps":{},"warm_up_ms":{}"#, time.clean, time.reps, WARM_UP.as_millis());
    print_with(workload, metric, time.seconds * scale, name, checksum, &samples);
}

/// Prints a value that was computed from several times as a line of JSON.
pub(crate) fn print(workload: &str, metric: &str, value: f64, unit: &str, checksum: Option<f64>) {
    print_with(workload, metric, value, unit, checksum, "");
}

fn print_with(workload: &str, metric: &str, value: f64, unit: &str, checksum: Option<f64>, more: &str) {
    let checksum = checksum.map_or("null".to_owned(), |checksum| format!("{checksum:?}"));
    let value = format!("{value:.6e}");
    println!(
        r#"{{"workload":"{workload}","metric":"{metric}","value":{value},"unit":"{unit}","checksum":{checksum}{more}}}"#
    );
}
