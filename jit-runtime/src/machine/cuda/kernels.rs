//! Plans of library calls: their code is loaded and their memory allocated, so that their launches can be queued.

use std::ffi::CString;
use std::sync::Arc;

use cudarc::driver::sys;
use rustc_hash::FxHashMap;

use super::Cuda;
use super::batch::Work;
use super::memory::Block;
use crate::backend::cuda::code::link_routine;
use crate::backend::cuda::driver::{self, Failed, Gpu, Module, Node};
use crate::backend::cuda::library::{Device, Plan, Routine};
use crate::cache::routines::{self, StoredRoutine};
use crate::dump::{self, Form};
use crate::memory::Remote;
use crate::sync::Mutex;
use crate::{Error, ErrorKind};

/// Kernels of library calls that are loaded.
#[derive(Default)]
pub(super) struct Routines(Mutex<FxHashMap<Routine, Arc<Module>>>);

impl Routines {
    /// The code of a kernel. The first call loads it.
    fn get(&self, gpu: &'static Gpu, routine: Routine) -> Result<Arc<Module>, Error> {
        if let Some(code) = self.0.lock().get(&routine) {
            return Ok(Arc::clone(code));
        }
        let code = Arc::new(load(gpu, routine)?);
        Ok(Arc::clone(self.0.lock().entry(routine).or_insert(code)))
    }
}

/// Loads the code of a kernel: machine code from disk, or what the driver compiles.
fn load(gpu: &'static Gpu, routine: Routine) -> Result<Module, Error> {
    let name = routine.name();
    if dump::is_wanted(Form::Ptx) {
        dump::write(Form::Ptx, &name, &routine.module(gpu.target).to_string());
    }
    let symbol = CString::new(name.as_str());
    let symbol = symbol.map_err(|error| Error::new(ErrorKind::Internal, "names are text").caused_by(error))?;
    let (maker, key) = (driver::get()?.maker(gpu), routine.key());
    let stored = StoredRoutine { maker: &maker, key: &key, name: &name };
    let load = |machine_code: &[u8]| Module::load(gpu, machine_code, &symbol);
    routines::find_or_compile(&stored, load, || link_routine(gpu, routine))
}

/// The launches of a plan. It must live until they are done.
#[derive(Default)]
pub(super) struct Prepared {
    launches: Vec<Launch>,
    temporaries: Vec<Block>,
}

/// One launch of a plan.
struct Launch {
    code: Arc<Module>,
    /// Blocks, and threads of each.
    shape: (u32, u32),
    parameters: Vec<u8>,
}

impl Prepared {
    /// Prepares a plan for operands at these addresses.
    pub(super) fn of(machine: &Cuda, plan: &Plan, inputs: &[u64], outputs: &[u64]) -> Result<Prepared, Error> {
        let mut preparation = Preparation { machine, prepared: Prepared::default() };
        plan.run(&mut preparation, inputs, outputs)?;
        Ok(preparation.prepared)
    }

    /// Queues the launches. The context is current.
    pub(super) fn queue(&self, stream: sys::CUstream) -> Result<(), Failed> {
        self.launches.iter().try_for_each(|launch| {
            // SAFETY: the plan passes the parameters that the code takes; whoever queues keeps this and the operands.
            unsafe { launch.code.launch(launch.shape, &launch.parameters, stream) }
        })
    }
}

impl Prepared {
    /// The launches.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.launches.iter().map(|launch| {
            let owner: Arc<Module> = Arc::clone(&launch.code);
            Node { module: &launch.code, owner, shape: launch.shape, parameters: &launch.parameters }
        })
    }
}

impl Work for Prepared {
    fn queue(&self, machine: &Cuda, stream: sys::CUstream) -> Result<(), Error> {
        self.queue(stream).map_err(|failed| machine.gpu.error("a library call", failed))
    }

    fn add_nodes<'a>(&'a self, nodes: &mut Vec<Node<'a>>) -> bool {
        nodes.extend(self.nodes());
        true
    }
}

/// A plan that is being prepared.
struct Preparation<'a> {
    machine: &'a Cuda,
    prepared: Prepared,
}

impl Device for Preparation<'_> {
    type Error = Error;

    fn allocate(&mut self, size_bytes: u64) -> Result<u64, Error> {
        let block = self.machine.block(size_bytes as usize)?;
        let address = block.address();
        self.prepared.temporaries.push(block);
        Ok(address)
    }

    fn launch(&mut self, routine: Routine, blocks: u32, parameters: &[u8]) -> Result<(), Error> {
        let code = self.machine.routines.get(self.machine.gpu, routine)?;
        let shape = (blocks, routine.threads());
        self.prepared.launches.push(Launch { code, shape, parameters: parameters.to_vec() });
        Ok(())
    }
}
