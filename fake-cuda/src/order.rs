//! What happens before what, by clocks of streams and of the host: two accesses of the same memory, one of which writes,
//! are ordered by a stream, by events, or by the host, which has seen the end of the first one before it queued the other.
//! Otherwise the process ends, whatever happened first this time.
//!
//! All threads of the host are one: what one of them has seen, all of them know.

use std::collections::BTreeMap;

use crate::state::State;
use crate::violation;

/// How far each stream is known to be: the number of its last entry that is done.
#[derive(Clone, Default)]
pub(crate) struct Clock(BTreeMap<usize, u64>);

impl Clock {
    pub(crate) fn join(&mut self, other: &Clock) {
        other.0.iter().for_each(|(&stream, &number)| self.pass(stream, number));
    }

    /// An entry of a stream is done.
    pub(crate) fn pass(&mut self, stream: usize, number: u64) {
        let passed = self.0.entry(stream).or_default();
        *passed = number.max(*passed);
    }

    fn contains(&self, stream: usize, number: u64) -> bool {
        self.0.get(&stream).is_some_and(|passed| *passed >= number)
    }
}

/// The last accesses of an allocation: streams, and the numbers of their entries.
#[derive(Default)]
pub(crate) struct Accesses {
    written: Option<(usize, u64)>,
    read: BTreeMap<usize, u64>,
}

impl State {
    /// Notes that the entry of a stream that is being done accesses memory. What has accessed it before must be known
    /// to be done.
    pub(crate) fn access(&mut self, stream: usize, address: u64, is_written: bool, what: &str) {
        let Some(start) = self.start_of(address) else { return };
        let now = self.streams[&stream].number();
        let accesses = &mut self.allocations.get_mut(&start).expect("it begins there").accesses;
        let clock = &self.streams[&stream].clock;
        let unordered = |&(other, number): &(usize, u64)| !clock.contains(other, number);
        let does = if is_written { "writes" } else { "reads" };
        let refuse = |(other, _): (usize, u64), did: &str| {
            violation(&format!(
                "{what} on the stream {stream:#x} {does} memory at {start:#x}, which work on the stream {other:#x} \
                 {did}, and neither waits for the other"
            ))
        };
        accesses.written.filter(unordered).into_iter().for_each(|other| refuse(other, "writes"));
        if is_written {
            let reads = accesses.read.iter().map(|(stream, number)| (*stream, *number));
            reads.filter(unordered).take(1).for_each(|other| refuse(other, "reads"));
            *accesses = Accesses { written: Some((stream, now)), read: BTreeMap::new() };
        } else {
            accesses.read.insert(stream, now);
        }
    }
}
