//! Memory of nodes: chunks that are never freed, and free lists per thread.
//!
//! A node's memory always holds a node, dead or alive (it is *type-stable*), so any code may try to upgrade an address
//! that was once a node's: the count shows whether a node is alive there. This makes weak references and value
//! numbering cheap. A thread allocates from its own window and frees to it, or to its own list if the node is outside,
//! whichever thread allocated the node. An empty window goes to where the list begins. Lists that grow beyond a batch
//! are moved to a process-wide store, so nodes that one thread makes and another one drops are recycled.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use jit_runtime::fork::Held;
use parking_lot::Mutex;

use super::node::Node;
use super::window::{self, Window};
use crate::fork;

const CHUNK: usize = window::NODES;
const BATCH: u32 = 16 * CHUNK as u32;

/// A list of free nodes, linked through the nodes.
struct List {
    head: *mut Node,
    len: u32,
}

struct Store {
    batches: Vec<List>,
    chunks: Vec<NonNull<[Node]>>,
}

// SAFETY: the lists own the free nodes that they link, and nodes may be used from every thread.
unsafe impl Send for Store {}

static STORE: Mutex<Store> = Mutex::new(Store { batches: Vec::new(), chunks: Vec::new() });

/// The free nodes of one thread.
pub(crate) struct Pool {
    /// Those that are taken next.
    window: Window,
    /// Those outside of the window.
    head: Cell<*mut Node>,
    len: Cell<u32>,
    spare: Cell<*mut Node>,
}

thread_local! {
    static POOL: Pool = const { Pool { window: Window::new(), head: Cell::new(ptr::null_mut()), len: Cell::new(0),
        spare: Cell::new(ptr::null_mut()) } };
}

impl Pool {
    #[inline]
    fn take(&self) -> NonNull<Node> {
        self.window.take().unwrap_or_else(|| self.take_from_list())
    }

    /// Goes to the window of the first node of the list, with the nodes of that window behind it.
    #[inline(never)]
    fn take_from_list(&self) -> NonNull<Node> {
        if self.head.get().is_null() {
            self.refill();
        }
        NonNull::new(self.head.get()).into_iter().for_each(|first| self.window.go_to(first));
        while let Some(node) = NonNull::new(self.head.get()).filter(|node| self.window.add(*node)) {
            // SAFETY: nodes of a free list are dead and belong to the list's owner, this thread.
            self.head.set(unsafe { node.as_ref().link() });
            self.len.set(self.len.get() - 1);
        }
        self.take()
    }

    #[cold]
    fn refill(&self) {
        let list = match NonNull::new(self.spare.replace(ptr::null_mut())) {
            Some(head) => List { head: head.as_ptr(), len: BATCH },
            None => STORE.lock().take(),
        };
        self.head.set(list.head);
        self.len.set(list.len);
    }

    /// Takes a dead node back.
    #[inline(always)]
    fn give(&self, node: NonNull<Node>) {
        if !self.window.add(node) {
            self.give_to_list(node);
        }
    }

    #[inline(always)]
    fn give_to_list(&self, node: NonNull<Node>) {
        if self.len.get() == BATCH {
            self.spill();
        }
        // SAFETY: the caller hands over a dead node, which nobody else may write.
        unsafe { node.as_ref().set_link(self.head.get()) };
        self.head.set(node.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    fn spill(&self) {
        let full = self.spare.replace(self.head.replace(ptr::null_mut()));
        self.len.set(0);
        if !full.is_null() {
            STORE.lock().batches.push(List { head: full, len: BATCH });
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        while let Some(node) = self.window.take() {
            self.give_to_list(node);
        }
        let mut store = STORE.lock();
        for (head, len) in [(self.head.get(), self.len.get()), (self.spare.get(), BATCH)] {
            if !head.is_null() {
                store.batches.push(List { head, len });
            }
        }
    }
}

impl Store {
    fn take(&mut self) -> List {
        if let Some(list) = self.batches.pop() {
            return list;
        }
        let chunk: &'static mut [Node] = Box::leak((0..CHUNK).map(|_| Node::dead()).collect());
        let mut head = ptr::null_mut();
        let chunk = NonNull::from(chunk);
        for position in (0..CHUNK).rev() {
            // SAFETY: the position is inside of the chunk that was just allocated.
            let node: NonNull<Node> = unsafe { chunk.cast::<Node>().add(position) };
            // SAFETY: nobody else knows the new node.
            unsafe { node.as_ref().set_link(head) };
            head = node.as_ptr();
        }
        self.chunks.push(chunk);
        List { head, len: CHUNK as u32 }
    }
}

/// Takes a dead node, to be made live.
#[inline]
pub(crate) fn take() -> NonNull<Node> {
    POOL.try_with(Pool::take).unwrap_or_else(|_| take_late())
}

/// Returns a node for a thread that is being torn down, whose own list is gone.
#[cold]
fn take_late() -> NonNull<Node> {
    let mut store = STORE.lock();
    let list = store.take();
    // SAFETY: lists in the store are not empty and hold dead nodes that the store owns.
    let (node, rest) = unsafe { (NonNull::new_unchecked(list.head), (*list.head).link()) };
    if !rest.is_null() {
        store.batches.push(List { head: rest, len: list.len - 1 });
    }
    node
}

/// The destination of freed nodes.
pub(crate) enum Home<'a> {
    /// The calling thread's list.
    Thread(&'a Pool),
    /// The store: the thread is being torn down and its list is gone.
    Store,
}

impl Home<'_> {
    /// Takes a dead node back.
    #[inline(always)]
    pub(crate) fn give(&self, node: NonNull<Node>) {
        match self {
            Home::Thread(pool) => pool.give(node),
            Home::Store => {
                // SAFETY: as in `Pool::give`.
                unsafe { node.as_ref().set_link(ptr::null_mut()) };
                STORE.lock().batches.push(List { head: node.as_ptr(), len: 1 });
            }
        }
    }
}

/// Calls a function with the destination to which this thread frees nodes.
#[inline]
pub(crate) fn with_home(free: impl Fn(Home<'_>)) {
    if POOL.try_with(|pool| free(Home::Thread(pool))).is_err() {
        free(Home::Store);
    }
}

/// Calls a function with every node of the process, including dead ones, and its number.
pub(crate) fn for_each(mut visit: impl FnMut(usize, NonNull<Node>)) {
    let chunks = STORE.lock().chunks.clone();
    for (chunk_index, chunk) in chunks.into_iter().enumerate() {
        for position in 0..CHUNK {
            // SAFETY: the position is inside of the chunk, which lives for ever.
            visit(chunk_index * CHUNK + position, unsafe { chunk.cast::<Node>().add(position) });
        }
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &STORE);
}
