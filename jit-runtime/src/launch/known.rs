//! Launches of kernels whose trace is known: nothing is built and nothing is compared but code options.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use super::{Argument, Prepared, Ready, code_options};
use crate::cache::{self, KnownKernel, TraceArgument};
use crate::ir::Value;
use crate::stats::{self, CacheOutcome, Preparation};
use crate::{Label, Site};

/// Where the arguments of a new kernel come from, by the numbers of its trace.
#[derive(Clone, Debug, Default)]
pub struct TraceOrigins {
    /// For each argument, before literals became parameters.
    pub arguments: Vec<TraceArgument>,
    /// The literals in the kernel, by their position among those of the trace.
    pub literals: SmallVec<[(Value, u32); 8]>,
    /// See [`KnownKernel::lanes`].
    pub lanes: u32,
    /// See [`KnownKernel::block`].
    pub block: Option<u32>,
    /// See [`KnownKernel::written`].
    pub written: Box<[u32]>,
    /// See [`KnownKernel::temporary`].
    pub temporary: Box<[u32]>,
    /// See [`KnownKernel::released`].
    pub released: Box<[u32]>,
    /// See [`KnownKernel::named_by`].
    pub named_by: Box<[u32]>,
}

/// A launch of a known kernel.
#[derive(Debug)]
pub struct KnownLaunch {
    /// One for each of its arguments.
    pub arguments: Vec<Argument>,
    /// The number of lanes.
    pub width: usize,
    /// As in [`super::Launch`].
    pub reduce_block: Option<usize>,
    /// The name of the kernel in statistics and errors.
    pub label: Label,
    /// The line of the user's program that caused the launch.
    pub site: Site,
}

impl KnownKernel {
    /// Finds the code; none if it is gone, or if launches with these arguments run other code.
    #[must_use]
    pub fn prepare(&self, launch: KnownLaunch) -> Option<Prepared> {
        let KnownLaunch { arguments, width, reduce_block, label, site } = launch;
        let since = stats::begin_look_up();
        let entry = self.entry.upgrade()?;
        if code_options(entry.facts.device, &entry.kernel, width, &arguments).ok()? != entry.options {
            return None;
        }
        let preparation = Preparation::found(CacheOutcome::Memory, since, Duration::ZERO);
        let (site, checks) = (Some(site), None);
        let ready = Ready { entry, width, reduce_block, arguments, label, site, preparation, checks };
        Some(Prepared { ready, template: None, promoted: SmallVec::new() })
    }
}

impl Prepared {
    /// Counts that its code was found without a look-up in memory.
    pub fn count_hit(&self) {
        cache::count_hit(&self.ready.entry);
    }

    /// Describes the kernel for launches of its trace.
    #[must_use]
    pub fn known(&self, origins: TraceOrigins) -> KnownKernel {
        let TraceOrigins { mut arguments, literals, lanes, block, written, temporary, released, named_by } = origins;
        let is_constant = |literal: &Value| !self.promoted.contains(literal);
        let constants = literals.iter().filter(|(literal, _)| is_constant(literal)).map(|(_, position)| *position);
        let own = self.ready.arguments.len() - self.promoted.len();
        debug_assert_eq!(arguments.len(), own);
        let scalars = self.promoted.iter().zip(&self.ready.arguments[own..]);
        arguments.extend(scalars.map(|(promoted, argument)| {
            let literal = literals.iter().find(|(literal, _)| literal == promoted);
            match (literal, argument) {
                (Some(&(_, position)), _) => TraceArgument::Literal(position),
                (None, Argument::Scalar(bits)) => TraceArgument::Bits(*bits),
                (None, Argument::Buffer(..)) => unreachable!("literals become scalars"),
            }
        }));
        let (entry, constants) = (Arc::downgrade(&self.ready.entry), constants.collect());
        let arguments = arguments.into();
        KnownKernel { entry, arguments, constants, lanes, block, written, temporary, released, named_by }
    }
}
