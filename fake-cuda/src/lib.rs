//! A driver of CUDA for tests: the functions of `libcuda.so` that the library calls, without a GPU.
//!
//! Memory of the device is at addresses where the host has nothing. Work on streams runs later, on another thread;
//! which stream is next is random. Kernels are run by an interpreter of PTX. Whatever a program must not do ends the process
//! with a message: work on memory that was freed, memory that is freed while work on it is queued, a call without a
//! context, a copy from memory that is not pinned, accesses of the same memory that nothing orders.
//!
//! There are two devices. The first one has compute capability 9.0 and asynchronous pools of memory, the other one has
//! 7.0 and none.
//!
//! | variable | meaning |
//! |---|---|
//! | `FAKE_CUDA_DEVICES` | the number of devices: 2 if it is not set |
//! | `FAKE_CUDA_DRIVER` | the version of the driver: 12040 for 12.4 if it is not set |
//! | `FAKE_CUDA_MEMORY` | the bytes of memory of each device: 4 GiB if it is not set |
//! | `FAKE_CUDA_SEED` | the seed of the order of streams and threads |
//! | `FAKE_CUDA_SLOW` | if it is not 0, calls that queue a launch take some milliseconds |
//! | `FAKE_CUDA_FAIL` | what fails, see `failures` |
//! | `FAKE_CUDA_PTXAS` | NVIDIA's assembler, which then checks each text of PTX |
//!
//! | part | file |
//! |---|---|
//! | devices and their properties | `device` |
//! | contexts of threads | `context` |
//! | memory of devices, and pinned memory of the host | `memory` |
//! | copies | `copies` |
//! | streams and events | `stream`, `event` |
//! | the thread that does the work | `executor` |
//! | which work waits for which | `order` |
//! | PTX to code, which other processes load | `link` |
//! | modules of such code, launches | `module`, `launch` |
//! | launches that are queued by one call | `graph` |
//! | failures on demand | `failures` |
//! | codes of results | `codes` |

// The names and types are those of the driver, and so is what callers promise: pointers are valid, as the manual says.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]
#![allow(unreachable_pub, reason = "the functions are exported by their names")]
#![allow(missing_docs, reason = "the manual of the driver documents the functions")]

mod codes;
mod context;
mod copies;
mod device;
mod event;
mod executor;
mod failures;
mod graph;
mod launch;
mod link;
mod memory;
mod module;
mod order;
mod state;
mod stream;

use codes::Code;

/// Ends the process: the program did what it must not do.
fn violation(what: &str) -> ! {
    eprintln!("fake CUDA driver: {what}");
    std::process::abort()
}

/// The code of an outcome.
fn code(outcome: Result<(), Code>) -> Code {
    outcome.err().unwrap_or(codes::SUCCESS)
}
