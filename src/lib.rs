//! A tracing just-in-time compiler for functions over arrays.
//!
//! A program is ordinary Rust over arrays. Evaluation is lazy: running the program records a graph of operations. When
//! a value is needed, the graph becomes a few fused kernels, which are compiled for this machine, cached, and run on
//! all cores.
//!
//! # In a project
//!
//! ```toml
//! [dependencies]
//! jit = { path = "../jit" } # or, from a repository: { git = "…" }
//! ```
//!
//! The crate is not published yet. On the registry its name will be `jit-arrays`, because `jit` is taken there. A
//! project will write `jit = { package = "jit-arrays", version = "0.1" }`. Programs write `use jit::prelude::*;` in
//! either case.
//!
//! # Two minutes
//!
//! **Arrays** hold elements of one type. Operators work element by element, take numbers on either side, and return
//! arrays. Nothing is computed until elements are read.
//!
//! ```
//! use jit::prelude::*;
//!
//! let x = Float::linspace(0.0, 1.0, 5);
//! let y = &x * &x + 1.0; //                                        recorded
//! assert_eq!(y.to_vec()?, [1.0, 1.0625, 1.25, 1.5625, 2.0]); //    compiled, run, copied
//! assert_eq!(y.sum().item()?, 6.875);
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! **[`#[jit]`](macro@jit)** makes Rust's own control flow work on arrays. In this example each lane runs its own
//! number of iterations, `limit` is an ordinary number, and operators take arrays without `&`.
//!
//! ```
//! use jit::prelude::*;
//!
//! #[jit]
//! fn escape_time(cx: Float, cy: Float, #[constexpr] limit: u32) -> UInt {
//!     let (mut x, mut y, mut n) = (cx.zeros_like(), cx.zeros_like(), UInt::from(0));
//!     while x * x + y * y < 4.0 && n < limit {
//!         (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
//!         n += 1;
//!     }
//!     n
//! }
//!
//! let n = escape_time(Float::from([0.0, 1.0, -1.0]), Float::from(0.5), 100);
//! assert_eq!(n.to_vec()?, [100, 2, 5]);
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! **The type of a condition decides its stage.** A `bool` is decided on the host, by Rust, while recording: `return`,
//! `?`, `break`, `for` and `match` have their usual meaning. A [`Mask`] is traced and differs by lane. Both arms of an
//! `if`, or the body of a `while`, are then recorded once, and the variables assigned there are merged lane by lane.
//!
//! ```
//! use jit::prelude::*;
//!
//! #[jit]
//! fn soft_limit(x: &Float, steps: usize) -> Float {
//!     let mut y = x.clone();
//!     for _ in 0..steps { //          a number: unrolled while recording
//!         if y > 1.0 { //             a mask: recorded
//!             y = y * 0.5 + 0.5;
//!         }
//!     }
//!     y
//! }
//!
//! assert_eq!(soft_limit(&Float::from([0.5, 3.0]), 2).to_vec()?, [0.5, 1.5]);
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! **Devices.** [`Device::Cpu`] compiles with LLVM, whose shared library is loaded on first use. Without it a program
//! runs on [`Device::Interpreter`]. [`with_device`] selects the device of the new values of a part of the program;
//! what is computed from them is there, too. [`Array::to`] copies.
//!
//! **Exactness.** No operation is contracted or approximated by default, and devices agree to the bit. [`fast_math`]
//! and `#[jit(fast_math)]` select faster functions with errors of a few more units in the last place.
//!
//! **Observing.** [`stats`] counts traces, compilations and launches, [`kernel_history`] lists launches with their
//! times, [`whos`] lists the arrays, [`graphviz`] draws the recorded graph. [`profile`](fn@profile) measures where the
//! time of a part of a program goes, and warns of what costs more than necessary.
//!
//! **Caching.** Compiled kernels are kept in memory and on disk, so that later processes compile nothing and do not
//! load LLVM. [Caching](guide::caching) describes where, and how to share them.
//!
//! **Cancelling.** [`cancel`] ends the computations of the process. [`with_timeout`] ends a closure that computes for
//! too long.
//!
//! # Further reading
//!
//! The [`guide`] has a page each on the [language](guide::language) of `#[jit]` functions, on
//! [evaluation](guide::evaluation), [caching](guide::caching), [freezing](guide::freezing),
//! [executors](guide::executors), [shipping](guide::shipping), [differentiation](guide::autodiff),
//! [modules](guide::modules), [other libraries](guide::interop), [debugging](guide::debugging),
//! [speed](guide::speed), [accuracy](guide::accuracy) and [performance](guide::performance). [`Array`] lists what
//! arrays can do; [`linalg`], [`tensor`], [`random`], [`texture`] and [`nn`] build on it.

// Code that the macro generates refers to the crate by its external name; this makes the name work inside, too.
extern crate self as jit;

pub use half::{bf16, f16};
#[doc(inline)]
pub use jit_core::ad::custom;
pub use jit_core::calls::{
    Callable, InstanceMut, InstanceRef, Instances, Ptr, SwitchIndex, switch, switch_masked, switch_sorted,
};
pub use jit_core::{
    Array, BFloat, Build, Choice, Comparand, Element, Executor, Float, Float64, FloatElement, Half, HostValue, Int,
    Int8, Int16, Int64, Integer, IntoEntry, Leaf, LeafInfo, LeafReader, Local, LocalEntry, Logic, Mask, Mode, Number,
    Operand, Profile, Promote, PromotesTo, Scan, Signature, Signed, Size, Sorting, Traced, TracedEnum, Traverse, UInt,
    UInt8, UInt16, UInt64, Unique, View, Visitor, VisitorMut, eval, fast_math, graphviz, leaves, meshgrid,
    meshgrid_all, meshgrid3, mode, move_to, schedule, select, set_mode, sync, trees, whos,
};
#[doc(inline)]
pub use jit_core::{ad, check, executor, freeze, profile};
pub use jit_macros::{TracedEnum, Traverse, freeze, jit, print};
pub use jit_runtime::cache::{self, CachePolicy};
pub use jit_runtime::cancel::{cancel, with_timeout};
pub use jit_runtime::device::{Device, DeviceInfo, devices, set_device, with_device};
pub use jit_runtime::ir::ReduceOp;
pub use jit_runtime::launch::{is_deterministic, set_deterministic, set_threads, threads};
pub use jit_runtime::log::{Level, log_level, set_log_level};
pub use jit_runtime::memory::{DeviceMemory, MemoryStats, memory, trim_memory};
pub use jit_runtime::stats::{
    CacheOutcome, KernelRecord, Stats, kernel_history, reset_stats, set_kernel_history, stats,
};
pub use jit_runtime::{Error, ErrorKind, Label, Site};

/// Makes the caller's line that of all that the library does until the result is dropped: see
/// [`jit_core::misuse::enter`].
#[track_caller]
pub(crate) fn enter() -> jit_runtime::site::Entered {
    const ROOT: &str = file!();
    Site::here().enter(ROOT.strip_suffix("lib.rs"))
}

pub mod bounds;
pub mod bundle;
pub mod color;
pub mod guide;
pub mod interop;
pub mod io;
pub mod linalg;
pub mod nn;
pub mod optim;
pub mod print;
pub mod random;
pub mod tensor;
pub mod texture;
pub mod warnings;

#[doc(inline)]
pub use nn::traced::trace;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The names that nearly every program uses: `use jit::prelude::*;`.
pub mod prelude {
    pub use crate::s;
    pub use crate::tensor::Tensor;
    pub use crate::{
        Array, BFloat, Device, Float, Float64, Half, Instances, Int, Int8, Int16, Int64, Local, Mask, Ptr, ReduceOp,
        Scan, Size, Sorting, Traced, TracedEnum, Traverse, UInt, UInt8, UInt16, UInt64, bf16, f16, freeze,
    };
    // Imported from the defining crate: `crate::jit` is also this crate's own name, which is private.
    pub use jit_macros::jit;
}

/// The functions that generated code calls; no public interface.
#[doc(hidden)]
pub mod __private {
    pub use jit_core::calls::dispatch;
    pub use jit_core::control::*;
    pub use jit_core::enums::VariantField;
    pub use jit_core::traverse::{BuildConstant, Constant};
    pub use jit_core::{executor, freeze};
}
