//! A launch whose code is found, as the machine of its device receives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::RawArgument;
use crate::cache::Entry;
use crate::memory::Buffer;
use crate::memory::failure::Failure;
use crate::memory::order::Pending;
use crate::stats::events::Traffic;
use crate::stats::{self, Preparation, Record, Time, Watched};
use crate::sync::Mutex;
use crate::{Label, Site};

use super::{Checks, failures};

/// The argument for a parameter of a kernel.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Memory, and the number of elements in it.
    Buffer(Arc<Buffer>, usize),
    /// The bits of a scalar.
    Scalar(u64),
}

impl Argument {
    pub(super) fn raw(&self) -> RawArgument {
        match self {
            Argument::Buffer(buffer, elements) => RawArgument { word: buffer.address(), length: *elements as u64 },
            Argument::Scalar(bits) => RawArgument { word: *bits, length: 0 },
        }
    }

    /// The number of elements of a buffer; none for a scalar.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Argument::Buffer(_, elements) => *elements,
            Argument::Scalar(_) => 0,
        }
    }
}

/// A buffer, and how a launch accesses it.
pub(super) struct Accessed {
    pub(super) buffer: Arc<Buffer>,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// As [`Accessed`], borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) writes: bool,
}

/// A launch that was checked, with its code.
pub(crate) struct Ready {
    pub(crate) entry: Arc<Entry>,
    pub(crate) width: usize,
    pub(crate) reduce_block: Option<usize>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) preparation: Preparation,
    pub(crate) checks: Option<Checks>,
}

impl Ready {
    /// The record of the launch in the statistics.
    #[inline]
    pub(super) fn record(&self, time: Time) -> Record {
        Record {
            facts: Arc::clone(&self.entry.facts),
            label: self.label,
            site: self.site,
            width: self.width,
            preparation: self.preparation,
            time,
        }
    }

    /// The bytes that the launch accesses.
    pub(super) fn traffic(&self) -> Traffic {
        self.entry.facts.traffic(self.width, self.arguments.iter().map(Argument::elements))
    }

    /// The buffers of the launch, without counting references.
    pub(super) fn accesses(&self) -> impl Iterator<Item = Access<'_>> + Clone {
        self.entry.facts.params.iter().zip(&self.arguments).filter_map(|(param, argument)| match argument {
            Argument::Buffer(buffer, _) => Some(Access { buffer, writes: param.writes }),
            Argument::Scalar(_) => None,
        })
    }

    /// The buffers of the launch, for a machine that takes their addresses from the arguments.
    pub(super) fn accessed(&self) -> Vec<Accessed> {
        let params = self.entry.facts.params.iter();
        let each = params.zip(&self.arguments).filter_map(|(param, argument)| match argument {
            Argument::Buffer(buffer, _) => {
                Some(Accessed { buffer: Arc::clone(buffer), reads: param.reads, writes: param.writes })
            }
            Argument::Scalar(_) => None,
        });
        each.collect()
    }

    /// The buffers of the launch.
    pub(super) fn into_accessed(self) -> Vec<Accessed> {
        let params = self.entry.facts.params.iter();
        let each = params.zip(self.arguments).filter_map(|(param, argument)| match argument {
            Argument::Buffer(buffer, _) => Some(Accessed { buffer, reads: param.reads, writes: param.writes }),
            Argument::Scalar(_) => None,
        });
        each.collect()
    }
}

/// Where statistics find the time that a launch took, and what profiles note.
pub(super) type Observed = (Arc<AtomicU64>, Option<Box<Watched>>);

/// Tells statistics and profiles when a launch on a stream ran.
pub(super) fn measure((time, watched): &Observed, started_ns: u64, ended_ns: u64) {
    let elapsed_ns = ended_ns.saturating_sub(started_ns);
    stats::count_busy(elapsed_ns);
    time.store(elapsed_ns.max(1), Ordering::Release);
    if let Some(watched) = watched {
        watched.worked(started_ns, ended_ns);
        watched.finish(started_ns, ended_ns);
    }
}

/// Releases the buffers of a launch on a stream that is done, and stores its failure.
pub(super) fn end(accessed: &Mutex<Vec<Accessed>>, pending: &Arc<dyn Pending>, failure: Option<&Arc<Failure>>) {
    let accessed = std::mem::take(&mut *accessed.lock());
    release(&accessed, pending, failure);
    drop(accessed);
    failure.into_iter().for_each(failures::note);
}

/// Removes a launch that is done from the lists of its buffers. Those that it should have written get its failure.
pub(super) fn release(accessed: &[Accessed], pending: &Arc<dyn Pending>, failure: Option<&Arc<Failure>>) {
    for Accessed { buffer, reads, writes } in accessed {
        if *writes && !reads && failure.is_none() {
            buffer.accesses().mend();
        }
        buffer.accesses().complete(pending, failure.filter(|_| *writes));
    }
}
