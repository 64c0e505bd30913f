//! Takes samples of steps, and prints a row.

use std::error::Error;
use std::time::{Duration, Instant};

use crate::Step;

/// Samples are taken for at least this long.
const BUDGET: Duration = Duration::from_secs(3);

/// Prints the median time of a step, after ten of them whose last loss is the checksum.
pub(crate) fn row(name: &str, mut step: Step) -> Result<(), Box<dyn Error>> {
    let mut loss = 0.0;
    for _ in 0..10 {
        loss = step()?;
    }
    let begin = Instant::now();
    let mut seconds = Vec::new();
    while begin.elapsed() < BUDGET || seconds.len() < 7 {
        let begin = Instant::now();
        step()?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let (value, reps) = (seconds[seconds.len() / 2] * 1e3, seconds.len());
    println!(
        r#"{{"workload":"{name}","metric":"time","value":{value:.6e},"unit":"ms","checksum":{loss:?},"reps":{reps}}}"#
    );
    Ok(())
}
