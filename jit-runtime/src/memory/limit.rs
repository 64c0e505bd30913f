//! The memory limit of this process: the machine's memory, or less if a container limits it.
//!
//! Linux limits groups of processes (`cgroups`, version 2 or 1). A group's limit also holds for the groups inside it,
//! so the smallest one up to the root counts.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use super::block::physical_bytes;

/// The bytes of memory that this process may use: those of the machine, or fewer if a container limits them.
/// `usize::MAX` if that is unknown.
#[must_use]
pub fn available_bytes() -> usize {
    static BYTES: LazyLock<usize> = LazyLock::new(|| {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        physical_bytes().min(limit_of_groups(Path::new("/sys/fs/cgroup"), &groups))
    });
    *BYTES
}

/// The smallest limit of the groups in a list in the form of `/proc/self/cgroup`, below the folder that describes them.
fn limit_of_groups(root: &Path, groups: &str) -> usize {
    groups.lines().filter_map(|line| limit_of_line(root, line)).min().unwrap_or(usize::MAX)
}

/// A line is `number:controllers:/path`; without controllers it is one of version 2.
fn limit_of_line(root: &Path, line: &str) -> Option<usize> {
    let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
    let (root, file) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
        _ => return None,
    };
    let group = root.join(path.trim_start_matches('/'));
    let inside = group.ancestors().take_while(|folder| folder.starts_with(&root));
    // In a container the path may be that of the host, of which only the root is visible: other files are missing.
    inside.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_up_to_the_root_counts() {
        let root = std::env::temp_dir().join(format!("jit-groups-{}", std::process::id()));
        let limit = |folder: &str, file: &str, text: &str| {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join(file), text).unwrap();
        };
        limit("a/b", "memory.max", "max\n");
        limit("a", "memory.max", "4096\n");
        limit("memory/c", "memory.limit_in_bytes", "8192\n");
        limit("memory", "memory.limit_in_bytes", "9223372036854771712\n");
        let limit = |groups: &str| limit_of_groups(&root, groups);
        assert_eq!(limit("0::/a/b\n"), 4096);
        assert_eq!(limit("0::/a/missing\n"), 4096);
        assert_eq!(limit("3:cpu:/c\n5:blkio,memory:/c\n0::/\n"), 8192);
        assert_eq!(limit("5:memory:/other\n"), 9_223_372_036_854_771_712);
        assert_eq!((limit("0::/\n"), limit(""), limit("nonsense")), (usize::MAX, usize::MAX, usize::MAX));
        fs::remove_dir_all(&root).unwrap();
    }
}
