//! The memory bandwidth of the machine, measured by copying.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::cache::cost;
use crate::launch;

/// Copies are repeated until they have taken this long.
const ENOUGH: Duration = Duration::from_millis(12);

/// The bytes that this machine reads and writes in a second when all threads copy an array to another one.
///
/// It is measured by the first call, which takes some 30 ms: two arrays, each as large as the largest cache but not
/// larger than 64 MiB, are copied by as many threads as run launches. The fastest copy counts, with the bytes read and
/// those written.
#[must_use]
pub fn copy_bandwidth() -> f64 {
    static MEASURED: LazyLock<f64> = LazyLock::new(|| measure(cost::streaming_threshold(), launch::threads()));
    *MEASURED
}

fn measure(bytes: usize, threads: usize) -> f64 {
    // Written once before the measurement, so that the pages exist.
    let (mut source, mut target) = (vec![0_u8; bytes], vec![0_u8; bytes]);
    let each = bytes.div_ceil(threads).max(1);
    let mut fastest = Duration::MAX;
    let begin = Instant::now();
    fill(&mut source, each);
    copy(&source, &mut target, each);
    let warmed_up = begin.elapsed();
    while fastest == Duration::MAX || begin.elapsed() < warmed_up + ENOUGH {
        let started = Instant::now();
        copy(&source, &mut target, each);
        fastest = fastest.min(started.elapsed());
    }
    std::hint::black_box(&target);
    2.0 * bytes as f64 / fastest.as_secs_f64().max(1e-9)
}

fn fill(source: &mut [u8], each: usize) {
    std::thread::scope(|scope| {
        for part in source.chunks_mut(each) {
            scope.spawn(|| part.fill(1));
        }
    });
}

fn copy(source: &[u8], target: &mut [u8], each: usize) {
    std::thread::scope(|scope| {
        for (from, to) in source.chunks(each).zip(target.chunks_mut(each)) {
            scope.spawn(|| to.copy_from_slice(from));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied_by_any_number_of_threads() {
        for threads in [1, 3, 8] {
            let each = 1000_usize.div_ceil(threads);
            let source: Vec<u8> = (0..1000).map(|byte| byte as u8).collect();
            let mut target = vec![0; 1000];
            copy(&source, &mut target, each);
            assert_eq!(source, target);
            assert!(measure(1 << 12, threads) > 0.0);
        }
    }
}
