//! Threads and memory, and how a container limits them.

use std::fs;
use std::path::Path;

use jit_runtime::launch::threads;
use jit_runtime::memory::available_bytes;

use super::Check;
use crate::text;

pub(super) fn checks() -> Vec<Check> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let online = fs::read_to_string("/proc/cpuinfo")
        .map_or(cores, |text| text.lines().filter(|line| line.starts_with("processor")).count().max(1));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut checks = vec![of_threads(threads(), cores)];
    if let Some(quota) = processors_of_groups(Path::new("/sys/fs/cgroup"), &groups) {
        let value = format!("this process may use {quota:.1} of {online} processors");
        checks.push(Check::good("limits", "container", value));
    } else if cores < online {
        let value = format!("this process may use {cores} of {online} processors");
        checks.push(Check::good("limits", "affinity", value));
    }
    let memory = match available_bytes() {
        usize::MAX => "unknown".to_owned(),
        bytes => format!("{} for this process", text::bytes(bytes as u64)),
    };
    checks.push(Check::good("limits", "memory", memory));
    checks
}

fn of_threads(threads: usize, cores: usize) -> Check {
    let value = format!("{threads}, on {cores} processors");
    if threads > cores {
        return Check::note(
            "limits",
            "threads",
            value,
            "more threads than processors slow launches down: unset JIT_THREADS",
        );
    }
    Check::good("limits", "threads", value)
}

/// The processors that the groups of a process (`cgroups`, version 2 or 1) may use; none if they are not limited. The
/// list has the form of `/proc/self/cgroup`, and is described below `root`.
fn processors_of_groups(root: &Path, groups: &str) -> Option<f64> {
    groups.lines().filter_map(|line| processors_of_line(root, line)).reduce(f64::min)
}

/// A line is `number:controllers:/path`; without controllers it is one of version 2. A limit also holds for the groups
/// inside.
fn processors_of_line(root: &Path, line: &str) -> Option<f64> {
    let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
    let is_first_version = controllers.split(',').any(|name| name == "cpu");
    let root = if is_first_version { root.join("cpu") } else { root.to_owned() };
    if !is_first_version && !controllers.is_empty() {
        return None;
    }
    let number = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<f64>().ok();
    let quota = |folder: &Path| {
        if is_first_version {
            return Some(number(folder, "cpu.cfs_quota_us")? / number(folder, "cpu.cfs_period_us")?);
        }
        let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    };
    let group = root.join(path.trim_start_matches('/'));
    let inside = group.ancestors().take_while(|folder| folder.starts_with(&root));
    // An unlimited group of version 1 has a quota of -1.
    inside.filter_map(quota).filter(|processors| *processors > 0.0).reduce(f64::min)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn the_smallest_quota_up_to_the_root_counts() {
        let root = std::env::temp_dir().join(format!("jit-quota-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/cpu.max", "150000 100000\n");
        write("a/b/cpu.max", "max 100000\n");
        write("cpu/c/cpu.cfs_quota_us", "400000\n");
        write("cpu/c/cpu.cfs_period_us", "100000\n");
        write("cpu/cpu.cfs_quota_us", "-1\n");
        write("cpu/cpu.cfs_period_us", "100000\n");
        let processors = |groups: &str| processors_of_groups(&root, groups);
        assert_eq!(processors("0::/a/b\n"), Some(1.5));
        assert_eq!(processors("3:memory:/a\n2:cpu,cpuacct:/c\n"), Some(4.0));
        assert_eq!(processors("2:cpu:/c\n0::/a\n"), Some(1.5));
        assert_eq!((processors("2:cpu:/\n0::/\n"), processors("nonsense")), (None, None));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn more_threads_than_processors_are_noted() {
        assert_eq!(of_threads(2, 2).verdict, Verdict::Good);
        assert!(of_threads(3, 2).remedy.unwrap().contains("JIT_THREADS"));
    }
}
