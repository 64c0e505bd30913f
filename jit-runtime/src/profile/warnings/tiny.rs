//! Kernels of few lanes that are launched thousands of times: preparing a launch takes longer than running it.

use std::time::Duration;

use super::{Warning, WarningKind, line};
use crate::Site;
use crate::profile::KernelProfile;
use crate::profile::timeline::Timeline;
use crate::stats::events::Activity;

/// Fewer lanes than this take less time than any launch.
const FEW_LANES: usize = 256;
/// As many launches as this take some milliseconds.
const OFTEN: u64 = 1000;

pub(super) fn find(timeline: &Timeline, kernels: &[KernelProfile], warnings: &mut Vec<Warning>) {
    let is_tiny = |kernel: &&KernelProfile| kernel.width <= FEW_LANES && kernel.launches >= OFTEN;
    let mut lines: Vec<(Site, u64, u64, Duration)> = Vec::new();
    for kernel in kernels.iter().filter(is_tiny) {
        let Some(site) = kernel.site else { continue };
        match lines.iter_mut().find(|(known, ..)| *known == site) {
            Some((_, launches, replayed, time)) => {
                *launches += kernel.launches;
                *replayed += kernel.replayed;
                *time += kernel.total_time;
            }
            None => lines.push((site, kernel.launches, kernel.replayed, kernel.total_time)),
        }
    }
    // A line that reads in each iteration has a warning of its own, about the same launches.
    let is_known = |site: Site, warnings: &[Warning]| {
        warnings.iter().any(|known| known.kind == WarningKind::ReadsInLoop && known.site == Some(site))
    };
    for (site, launches, replayed, kernel_time) in lines {
        if is_known(site, warnings) {
            continue;
        }
        let own_ns = timeline.nodes.iter().filter(|node| {
            let is_launching = matches!(timeline.activity(node), Some(Activity::Evaluation(_) | Activity::Replay(..)));
            is_launching && timeline.span(node).is_some_and(|span| span.site == Some(site))
        });
        let own_ns: u64 = own_ns.map(|node| node.own_ns).sum();
        let place = line(site);
        let hint = if replayed == launches {
            "compute more lanes at once, such as several problems in one array, or make the steps iterations of a \
             recorded loop: a `while` in a `#[jit]` function"
        } else {
            "compute more lanes at once, make the steps iterations of a recorded loop (a `while` in a `#[jit]` \
             function), or freeze a function around many of them (`#[freeze]`)"
        };
        warnings.push(Warning {
            kind: WarningKind::TinyLaunches,
            site: Some(site),
            count: launches,
            cost: kernel_time + Duration::from_nanos(own_ns),
            message: format!("{place} launches kernels of at most {FEW_LANES} lanes {launches} times"),
            hint,
        });
    }
}
