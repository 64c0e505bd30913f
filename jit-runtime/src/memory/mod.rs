//! Memory: the buffers that launches read and write, and a caching allocator for those of the host.
//!
//! Evaluating arrays allocates and frees the same few sizes over and over. Freed blocks are therefore cached and
//! reused, last freed first, while their pages are warm. Small ones go through a thread-local list.
//!
//! Invariants: a block starts at a multiple of 64 bytes, and at least 64 readable bytes follow the requested size, so
//! code may load whole vectors at the end. A block is reused only after the last [`Buffer`] handle is gone, and a
//! launch holds handles of all its arguments until it is done.
//!
//! | part | file |
//! |---|---|
//! | which sizes exist | `size_class` |
//! | blocks from and to the operating system | `block` |
//! | lists of free blocks, accounting | `allocator` |
//! | the memory limit of this process | `limit` |
//! | reference-counted memory with an order of accesses | `buffer`, `order` |
//! | host lists | `list` |
//! | the failure of a launch that should have written it | `failure` |
//! | other holders of memory that can be returned | `reclaim` |
//! | reports of devices that have their own | `devices` |

mod allocator;
mod block;
mod buffer;
pub(crate) mod devices;
pub(crate) mod failure;
mod limit;
mod list;
pub(crate) mod order;
pub(crate) mod reclaim;
mod size_class;

pub use allocator::{MemoryStats, memory, reset_peak, trim_memory};
pub(crate) use allocator::{hold, live_bytes, peak_bytes, raise_peak};
pub use buffer::{Buffer, Bytes};
pub(crate) use buffer::{Remote, out_of_memory};
pub use devices::DeviceMemory;
pub use limit::available_bytes;
pub use list::{copied_list, filled_list, zeroed_list};
#[cfg(feature = "cuda")]
pub(crate) use size_class::SizeClass;

/// Every buffer starts at a multiple of this many bytes.
pub const ALIGNMENT: usize = 64;

/// The number of bytes behind the end of a buffer that may be read (their values are arbitrary).
pub const PADDING: usize = 64;
