//! Profiles as text.

use std::fmt::{self, Formatter};
use std::time::Duration;

use super::{FunctionProfile, KernelProfile, Profile, copy_bandwidth};
use crate::Site;
use crate::memory::DeviceMemory;

/// More kernels or functions than this are left out, and counted.
const MOST_ROWS: usize = 30;

pub(super) fn write(f: &mut Formatter<'_>, profile: &Profile) -> fmt::Result {
    totals(f, profile)?;
    let bandwidth = copy_bandwidth();
    writeln!(f, "copying runs at {:.1} GB/s on this machine\n", bandwidth / 1e9)?;
    let kernels = Table {
        header: &[
            "kernel",
            "line",
            "launches",
            "lanes",
            "total ms",
            "mean us",
            "share",
            "MB",
            "GB/s",
            "of copy",
            "threads",
            "queued ms",
            "compile ms",
        ],
        rows: profile.kernels().iter().take(MOST_ROWS).map(|kernel| kernel_row(kernel, profile, bandwidth)).collect(),
        texts: 2,
    };
    kernels.write(f)?;
    left_out(f, profile.kernels().len(), "kernels")?;
    if !profile.functions().is_empty() {
        writeln!(f)?;
        let functions = Table {
            header: &["function", "line", "traces", "recordings", "replays", "total ms"],
            rows: profile.functions().iter().take(MOST_ROWS).map(function_row).collect(),
            texts: 2,
        };
        functions.write(f)?;
        left_out(f, profile.functions().len(), "functions")?;
    }
    for warning in profile.warnings() {
        write!(f, "\nwarning: {warning}\n")?;
    }
    Ok(())
}

fn totals(f: &mut Formatter<'_>, profile: &Profile) -> fmt::Result {
    let (all, host) = (profile.totals(), &profile.totals().host);
    writeln!(
        f,
        "{} ms: kernels ran in {} ms of them ({}), on {} threads, which worked for {} ms",
        ms(all.wall_time),
        ms(all.kernel_time),
        percent(all.kernel_time, all.wall_time),
        all.threads,
        ms(all.busy_time),
    )?;
    writeln!(
        f,
        "this thread: {} ms tracing, {} ms scheduling, {} ms compiling, {} ms in kernels, {} ms waiting, {} ms other \
         code",
        ms(host.tracing),
        ms(host.scheduling),
        ms(host.compiling),
        ms(host.kernels),
        ms(host.waiting),
        ms(host.other),
    )?;
    writeln!(
        f,
        "{} launches, {} evaluations, {} reads; {} traces, {} recordings, {} replays; {} compilations in {} ms, {} \
         again in the background",
        all.launches,
        all.evaluations,
        all.reads,
        all.traces,
        all.recordings,
        all.replays,
        all.compiles,
        ms(all.compile_time),
        all.recompiles,
    )?;
    let [read, written, peak] = [all.bytes_read as f64, all.bytes_written as f64, all.peak_bytes as f64]
        .map(|bytes| format!("{:.1}", bytes / 1e6));
    writeln!(f, "{read} MB read, {written} MB written, at most {peak} MB in arrays of the host at a time")?;
    all.devices.iter().try_for_each(|memory| device(f, memory))
}

fn device(f: &mut Formatter<'_>, memory: &DeviceMemory) -> fmt::Result {
    let megabytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1e6);
    writeln!(
        f,
        "at most {} MB in arrays of {} at a time, {} MB now; {} MB are cached",
        megabytes(memory.peak_bytes),
        memory.device,
        megabytes(memory.live_bytes),
        megabytes(memory.cached_bytes),
    )
}

fn kernel_row(kernel: &KernelProfile, profile: &Profile, bandwidth: f64) -> Vec<String> {
    let all: Duration = profile.kernels().iter().map(|kernel| kernel.total_time).sum();
    let (bytes, per_second) = (kernel.bytes_read + kernel.bytes_written, kernel.bytes_per_second());
    vec![
        kernel.label.to_string(),
        line(kernel.site),
        kernel.launches.to_string(),
        kernel.width.to_string(),
        ms(kernel.total_time),
        format!("{:.1}", kernel.mean_time().as_secs_f64() * 1e6),
        percent(kernel.total_time, all),
        format!("{:.1}", bytes as f64 / 1e6),
        format!("{:.1}", per_second / 1e9),
        format!("{:.0} %", per_second / bandwidth * 100.0),
        kernel.threads.to_string(),
        ms(kernel.queued_time),
        ms(kernel.compile_time),
    ]
}

fn function_row(function: &FunctionProfile) -> Vec<String> {
    vec![
        function.name.to_string(),
        line(function.site),
        function.traces.to_string(),
        function.recordings.to_string(),
        function.replays.to_string(),
        ms(function.time),
    ]
}

fn left_out(f: &mut Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    match count.checked_sub(MOST_ROWS) {
        Some(more @ 1..) => writeln!(f, "and {more} more {what}"),
        _ => Ok(()),
    }
}

fn line(site: Option<Site>) -> String {
    site.map_or_else(|| "-".to_owned(), |site| format!("{}:{}", site.file(), site.line()))
}

fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

fn percent(part: Duration, whole: Duration) -> String {
    let whole = whole.as_secs_f64();
    format!("{:.0} %", if whole > 0.0 { part.as_secs_f64() / whole * 100.0 } else { 0.0 })
}

struct Table<'a> {
    header: &'a [&'a str],
    rows: Vec<Vec<String>>,
    /// The number of columns, from the first on, that are texts.
    texts: usize,
}

impl Table<'_> {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.header[column].len()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let header: Vec<String> = self.header.iter().map(|name| (*name).to_owned()).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut text = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let cell = if column < self.texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                text.push_str(gap);
                text.push_str(&cell);
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}
