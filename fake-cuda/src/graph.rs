//! Graphs: launches one after another, which are queued by one call.

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::sync::Arc;

use crate::codes::{self, Code};
use crate::launch::Wanted;
use crate::state::{State, lock};
use crate::{code, context, violation};

/// A graph, or one that can be queued: handles of nodes, and what they launch.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    nodes: Vec<(usize, Wanted)>,
}

/// The description of a launch that the driver takes.
#[repr(C)]
pub struct Described {
    function: *mut c_void,
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    _shared_bytes: c_uint,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: *mut c_void,
    context: *mut c_void,
}

impl Described {
    unsafe fn wanted(&self) -> Result<Wanted, Code> {
        let Described { blocks: [blocks, rest_of_blocks @ ..], threads: [threads, rest_of_threads @ ..], .. } = *self;
        let is_plain = self.parameters.is_null() && self.kernel.is_null() && self.context.is_null();
        if rest_of_blocks != [1; 2] || rest_of_threads != [1; 2] || !is_plain {
            violation("a node in several dimensions, with parameters one by one, or of another context");
        }
        Wanted::of(self.function as usize, blocks, threads, self.extra)
    }
}

impl State {
    fn graph(&mut self, handle: usize) -> &mut Graph {
        self.graphs.get_mut(&handle).unwrap_or_else(|| violation(&format!("{handle:#x} is no graph")))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphCreate(graph: *mut *mut c_void, _flags: c_uint) -> Code {
    let device = context::current("cuGraphCreate");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    let handle = state.new_handle();
    state.graphs.insert(handle, Graph::default());
    *graph = handle as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode_v2(
    node: *mut *mut c_void,
    graph: *mut c_void,
    before: *const *mut c_void,
    before_count: usize,
    described: *const Described,
) -> Code {
    context::current("cuGraphAddKernelNode");
    let wanted = match (*described).wanted() {
        Ok(wanted) => wanted,
        Err(code) => return code,
    };
    let mut state = lock();
    let handle = state.new_handle();
    let nodes = &mut state.graph(graph as usize).nodes;
    let last = nodes.last().map(|(last, _)| *last);
    if (0..before_count).map(|place| *before.add(place) as usize).ne(last) {
        violation("the nodes of a graph are not one after another");
    }
    nodes.push((handle, wanted));
    *node = handle as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    _flags: c_ulonglong,
) -> Code {
    let device = context::current("cuGraphInstantiateWithFlags");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    if state.failures.count("graph") {
        return codes::OUT_OF_MEMORY;
    }
    let made = state.graph(graph as usize).clone();
    let handle = state.new_handle();
    state.graphs.insert(handle, made);
    state.graphs_made += 1;
    *executable = handle as *mut c_void;
    codes::SUCCESS
}

/// What is queued stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    executable: *mut c_void,
    node: *mut c_void,
    described: *const Described,
) -> Code {
    context::current("cuGraphExecKernelNodeSetParams");
    let wanted = match (*described).wanted() {
        Ok(wanted) => wanted,
        Err(code) => return code,
    };
    let mut state = lock();
    if state.failures.count("graph-update") {
        return codes::INVALID_VALUE;
    }
    let nodes = &mut state.graph(executable as usize).nodes;
    let Some((_, found)) = nodes.iter_mut().find(|(handle, _)| *handle == node as usize) else {
        violation("a node of another graph is changed")
    };
    if !Arc::ptr_eq(&found.module, &wanted.module) || found.position != wanted.position {
        violation("a node gets another kernel");
    }
    *found = wanted;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphLaunch(executable: *mut c_void, stream: *mut c_void) -> Code {
    let device = context::current("cuGraphLaunch");
    let mut state = lock();
    if state.failures.count("graph-launch") {
        return codes::LAUNCH_OUT_OF_RESOURCES;
    }
    state.graphs_queued += 1;
    let nodes = state.graph(executable as usize).nodes.clone();
    let is_loaded = |wanted: &Wanted| state.modules.values().any(|module| Arc::ptr_eq(module, &wanted.module));
    if !nodes.iter().all(|(_, wanted)| is_loaded(wanted)) {
        violation("a graph is launched whose code was unloaded");
    }
    code(nodes.into_iter().try_for_each(|(_, wanted)| wanted.enqueue(&mut state, device, stream as usize)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecDestroy(executable: *mut c_void) -> Code {
    destroy("cuGraphExecDestroy", executable)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphDestroy(graph: *mut c_void) -> Code {
    destroy("cuGraphDestroy", graph)
}

fn destroy(function: &str, graph: *mut c_void) -> Code {
    context::current(function);
    if lock().graphs.remove(&(graph as usize)).is_none() {
        violation("a graph is destroyed twice");
    }
    codes::SUCCESS
}

/// For tests: how many graphs were made, and how often one was queued.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_graphs(made: &mut usize, queued: &mut usize) {
    let state = lock();
    (*made, *queued) = (state.graphs_made, state.graphs_queued);
}

/// For tests: graphs that exist.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_live_graphs() -> usize {
    lock().graphs.len()
}
