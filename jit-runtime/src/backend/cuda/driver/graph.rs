//! Graphs: launches one after another that the driver has prepared, and queues by one call.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUDA_KERNEL_NODE_PARAMS};

use super::module::Parameters;
use super::{Failed, Gpu, Module, check};

/// A launch that is to be part of a graph.
pub(crate) struct Node<'a> {
    pub(crate) module: &'a Module,
    /// Keeps the module alive.
    pub(crate) owner: Arc<dyn Any + Send + Sync>,
    /// Blocks, and threads of each.
    pub(crate) shape: (u32, u32),
    pub(crate) parameters: &'a [u8],
}

/// A graph that can be queued. It is destroyed on drop.
pub(crate) struct Graph {
    gpu: &'static Gpu,
    raw: sys::CUgraph,
    executable: sys::CUgraphExec,
    kernels: Vec<Kernel>,
}

/// A node of a graph, as it is at present.
struct Kernel {
    raw: sys::CUgraphNode,
    function: sys::CUfunction,
    shape: (u32, u32),
    parameters: Vec<u8>,
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the driver's functions may be called from all threads, one at a time for each graph, which one thread has.
unsafe impl Send for Graph {}

impl Graph {
    /// Prepares launches, each of which runs after the one before.
    pub(crate) fn of(gpu: &'static Gpu, nodes: &[Node<'_>]) -> Result<Graph, Failed> {
        let _context = gpu.enter()?;
        let mut graph =
            Graph { gpu, raw: ptr::null_mut(), executable: ptr::null_mut(), kernels: Vec::with_capacity(nodes.len()) };
        // SAFETY: the context is current, and the target valid.
        check("cuGraphCreate", unsafe { sys::cuGraphCreate(&raw mut graph.raw, 0) })?;
        nodes.iter().try_for_each(|node| graph.add(node))?;
        // SAFETY: the graph exists, and the target is valid.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut graph.executable, graph.raw, 0) };
        check("cuGraphInstantiateWithFlags", code)?;
        Ok(graph)
    }

    fn add(&mut self, node: &Node<'_>) -> Result<(), Failed> {
        let before = self.kernels.last().map(|kernel| kernel.raw);
        let mut raw = ptr::null_mut();
        described(node, |described| {
            // SAFETY: the graph and the node before exist, and the driver copies the description.
            let code = unsafe {
                let before = before.as_ref().map_or(ptr::null(), ptr::from_ref);
                sys::cuGraphAddKernelNode_v2(&raw mut raw, self.raw, before, (!before.is_null()).into(), described)
            };
            check("cuGraphAddKernelNode", code)
        })?;
        self.kernels.push(Kernel {
            raw,
            function: node.module.function(),
            shape: node.shape,
            parameters: node.parameters.to_vec(),
            _owner: Arc::clone(&node.owner),
        });
        Ok(())
    }

    /// Whether the launches of the graph can become these: those of the same kernels.
    pub(crate) fn fits(&self, nodes: &[Node<'_>]) -> bool {
        let functions = nodes.iter().map(|node| node.module.function());
        self.kernels.iter().map(|kernel| kernel.function).eq(functions)
    }

    /// Changes the launches to these, which fit. Those that are queued already stay as they were.
    pub(crate) fn update(&mut self, nodes: &[Node<'_>]) -> Result<(), Failed> {
        let _context = self.gpu.enter()?;
        for (kernel, node) in self.kernels.iter_mut().zip(nodes) {
            if (kernel.shape, &*kernel.parameters) == (node.shape, node.parameters) {
                continue;
            }
            described(node, |described| {
                // SAFETY: the graph and its node exist, and the driver copies the description.
                let code = unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.executable, kernel.raw, described) };
                check("cuGraphExecKernelNodeSetParams", code)
            })?;
            kernel.shape = node.shape;
            kernel.parameters.clear();
            kernel.parameters.extend_from_slice(node.parameters);
        }
        Ok(())
    }

    /// Queues the launches. The context must be current.
    ///
    /// # Safety
    ///
    /// As for [`Module::launch`], for each of them.
    pub(crate) unsafe fn launch(&self, stream: sys::CUstream) -> Result<(), Failed> {
        // SAFETY: graph and stream exist; the rest is the caller's promise.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.executable, stream) })
    }
}

/// Calls a function with the driver's description of a launch.
fn described<R>(node: &Node<'_>, call: impl FnOnce(*const CUDA_KERNEL_NODE_PARAMS) -> R) -> R {
    let mut parameters = Parameters::of(node.parameters);
    let described = CUDA_KERNEL_NODE_PARAMS {
        func: node.module.function(),
        gridDimX: node.shape.0,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: node.shape.1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: ptr::null_mut(),
        extra: parameters.extra(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    };
    call(&raw const described)
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.gpu.is_of_this_process() || self.gpu.is_lost() {
            return;
        }
        if let Ok(_context) = self.gpu.enter() {
            // SAFETY: each was made once, unless it is null. The driver destroys it when what is queued is done.
            unsafe {
                if !self.executable.is_null() {
                    sys::cuGraphExecDestroy(self.executable);
                }
                if !self.raw.is_null() {
                    sys::cuGraphDestroy(self.raw);
                }
            }
        }
    }
}
