//! Launches of a replay that are queued together, as one graph of the driver.
//!
//! They are prepared one by one: their memory is allocated, and their parameters are packed. When they are queued, they
//! register at their buffers at once, so a launch of another thread comes after all of them or before. The graph is
//! retained for the next replay of the same steps, which changes the parameters of its launches: as long as these are
//! of the same kernels, it fits.
//!
//! What is more than launches of kernels is queued as usual: copies of parameters and of what checks read, calls of the
//! host, and all launches while their times are measured. So is everything if the driver makes no graph.

use std::sync::Arc;

use cudarc::driver::sys;

use super::flight::Wanted;
use super::{Cuda, Ready, launch, library_calls};
use crate::backend::cuda::driver::{Failed, Graph, Node};
use crate::cancel::Token;
use crate::log::{self, Level};
use crate::machine::library;
use crate::{Error, machine};

/// Work that the driver can be called for, with all memory that it needs.
pub(super) trait Work: Send + Sync {
    /// Calls the driver. The context is current.
    fn queue(&self, machine: &Cuda, stream: sys::CUstream) -> Result<(), Error>;

    /// Adds its launches, if it consists of launches only. Returns whether it does.
    fn add_nodes<'a>(&'a self, nodes: &mut Vec<Node<'a>>) -> bool;
}

/// A launch or library call that is about to be queued.
pub(super) struct Item {
    pub(super) wanted: Wanted,
    pub(super) work: Arc<dyn Work>,
    /// Whether it is cancelled, if it can be.
    pub(super) token: Option<Token>,
}

impl Item {
    /// Queues it on the stream of the calling thread.
    pub(super) fn submit(self, machine: &Cuda) -> Result<(), Error> {
        let stream = machine.streams.of_thread()?;
        let Item { wanted, work, token } = self;
        let (label, site) = (wanted.label, wanted.site);
        stream.submit(wanted, |stream| {
            token.map_or(Ok(()), |token| token.check(label, site))?;
            work.queue(machine, stream)
        });
        Ok(())
    }

    fn may_be_in_graph(&self) -> bool {
        let (label, site, (_, watched)) = (self.wanted.label, self.wanted.site, &self.wanted.observed);
        watched.is_none() && self.token.as_ref().is_none_or(|token| token.check(label, site).is_ok())
    }
}

/// The launches of some steps, and their graph.
pub(super) struct Batch {
    machine: &'static Cuda,
    items: Vec<Item>,
    graph: Option<Graph>,
}

impl Batch {
    pub(super) fn new(machine: &'static Cuda) -> Batch {
        Batch { machine, items: Vec::new(), graph: None }
    }

    /// Makes the graph of launches, or changes it to them.
    fn prepare(&mut self, nodes: &[Node<'_>]) -> Result<(), Failed> {
        match &mut self.graph {
            Some(graph) if graph.fits(nodes) => graph.update(nodes),
            graph => {
                // The old one first: it is of no use, whatever happens.
                *graph = None;
                *graph = Some(Graph::of(self.machine.gpu, nodes)?);
                Ok(())
            }
        }
    }

    /// Queues launches as a graph. They are returned if there is none.
    fn queue_graph(&mut self, items: Vec<Item>) -> Result<Result<(), Vec<Item>>, Error> {
        let works: Vec<Arc<dyn Work>> = items.iter().map(|item| Arc::clone(&item.work)).collect();
        let mut nodes = Vec::new();
        let are_launches = works.iter().all(|work| work.add_nodes(&mut nodes));
        if nodes.len() < 2 || !are_launches || !items.iter().all(Item::may_be_in_graph) {
            return Ok(Err(items));
        }
        if let Err(failed) = self.prepare(&nodes) {
            self.graph = None;
            log::emit(Level::Info, || format!("launches are queued one by one: {failed}"));
            return Ok(Err(items));
        }
        let (machine, graph) = (self.machine, self.graph.as_ref());
        let stream = machine.streams.of_thread()?;
        stream.submit_all(items.into_iter().map(|item| item.wanted), |stream| {
            // SAFETY: the parameters were packed for these kernels; the flights keep all memory.
            let launched = graph.map_or(Ok(()), |graph| unsafe { graph.launch(stream) });
            launched.map_err(|failed| machine.gpu.error("a graph", failed))
        });
        Ok(Ok(()))
    }
}

impl machine::Batch for Batch {
    fn launch(&mut self, ready: Ready) -> Result<(), Error> {
        self.items.push(launch::prepare(self.machine, ready)?);
        Ok(())
    }

    fn call(&mut self, launch: library::Launch) -> Result<(), Error> {
        match library_calls::prepare(self.machine, launch)? {
            Ok(item) => {
                self.items.push(item);
                Ok(())
            }
            Err(of_host) => {
                self.queue()?;
                library_calls::call(self.machine, of_host)
            }
        }
    }

    fn queue(&mut self) -> Result<(), Error> {
        let items = std::mem::take(&mut self.items);
        match self.queue_graph(items)? {
            Ok(()) => Ok(()),
            Err(items) => items.into_iter().try_for_each(|item| item.submit(self.machine)),
        }
    }
}
