//! Failures on demand: `FAKE_CUDA_FAIL` is a list of entries, separated by commas.
//!
//! | entry | what fails |
//! |---|---|
//! | `no-device` | there is no device |
//! | `init` | the initialisation, as where the kernel's module of the driver is missing |
//! | `allocation:5` | the fifth allocation of memory of a device; `allocation:5+`: that and all later ones |
//! | `pinned:1` | an allocation of pinned memory |
//! | `copy:3` | the call of the third copy |
//! | `event:3` | making the third event |
//! | `wait:2` | the second call that lets a stream wait for an event |
//! | `link:1` | the linker refuses a text |
//! | `link-end:1` | the linker makes no code of a text that it has taken |
//! | `module:1` | loading a module: its code is refused |
//! | `launch:3` | the call of the third launch |
//! | `graph:1` | making a graph that can be queued |
//! | `graph-update:1` | the call that changes a launch of a graph |
//! | `graph-launch:1` | the call that queues a graph |
//! | `host-function:1` | the call that queues a function of the host |
//! | `lost:3` | the third launch accesses memory that does not exist, after which the device is lost |

use std::collections::HashMap;

use crate::state::lock;

/// The calls so far, by the name of the entry.
#[derive(Default)]
pub(crate) struct Failures {
    calls: HashMap<&'static str, u64>,
    /// After so many allocations of memory of devices and of the host, all fail; and how many have failed.
    allocations: Option<(u64, u64)>,
}

impl Failures {
    /// Counts a call; whether it fails.
    pub(crate) fn count(&mut self, name: &'static str) -> bool {
        let calls = self.calls.entry(name).or_default();
        *calls += 1;
        let call = *calls;
        if ["allocation", "pinned"].contains(&name) && self.allocation_fails() {
            return true;
        }
        entries().any(|entry| matches(&entry, name, call))
    }
}

impl Failures {
    fn allocation_fails(&mut self) -> bool {
        let Some((left, failed)) = &mut self.allocations else { return false };
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => *failed += 1,
        }
        *failed > 0
    }
}

/// For tests: after so many more allocations all fail. Returns how many have failed since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_fail_allocations(after: u64) -> u64 {
    let before = lock().failures.allocations.replace((after, 0));
    before.map_or(0, |(_, failed)| failed)
}

/// Whether an entry without a number is in the list.
pub(crate) fn is_wanted(name: &str) -> bool {
    entries().any(|entry| entry == name)
}

fn entries() -> impl Iterator<Item = String> {
    let list = std::env::var("FAKE_CUDA_FAIL").unwrap_or_default();
    list.split(',').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn matches(entry: &str, name: &str, call: u64) -> bool {
    let Some((entry_name, number)) = entry.split_once(':') else { return false };
    let (number, is_from) = number.strip_suffix('+').map_or((number, false), |number| (number, true));
    let number: u64 = number.parse().unwrap_or(u64::MAX);
    entry_name == name && (call == number || is_from && call >= number)
}
