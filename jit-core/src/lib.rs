//! The language of `jit`: arrays, tracing, control flow and scheduling.
//!
//! | step | from → to | module |
//! |---|---|---|
//! | trace | calls → nodes of the trace graph | [`mod@array`], [`trace`] |
//! | schedule | graph and wanted values → kernels and their launches | `schedule` |
//! | inspect | all arrays of a value, or of the program | [`traverse`], [`trees`], `whos` |
//!
//! Enums whose variant differs by lane are in [`enums`]. Library calls, such as a product of matrices, are in
//! [`native`].
//!
//! Kernels are compiled and run by [`jit_runtime`], the layer below this crate.

pub mod array;
pub mod autodiff;
pub mod calls;
mod capture;
pub mod check;
pub mod control;
mod evaluate;
pub mod executor;
mod fork;
pub mod freeze;
pub mod graph;
#[doc(hidden)]
pub mod misuse;
pub mod profile;
mod schedule;
mod size;
mod thread_state;
pub mod trace;
pub mod traverse;

#[doc(hidden)]
pub use array::length::root_of_squares;
#[doc(hidden)]
pub use array::piecewise;
#[doc(hidden)]
pub use array::print::{fmt_shaped, fmt_unread};
pub use array::{
    Array, BFloat, Choice, Comparand, Element, Float, Float64, FloatElement, Half, Int, Int8, Int16, Int64, Integer,
    IntoEntry, Local, LocalEntry, Logic, Mask, Number, Operand, Promote, PromotesTo, Scan, Signed, Sorting, UInt,
    UInt8, UInt16, UInt64, Unique, View, meshgrid, meshgrid_all, meshgrid3, select,
};
pub use array::{enums, native, trees};
pub use autodiff as ad;
pub use enums::{Traced, TracedEnum};
pub use evaluate::{LeafInfo, eval, graphviz, leaves, move_to, schedule, sync, whos};
pub use executor::Executor;
pub use profile::{Profile, profile};
pub use schedule::eager::{Mode, mode, set_mode};
pub use size::Size;
pub use trace::fast_math;
pub use traverse::{Build, HostValue, Leaf, LeafReader, Signature, Traverse, Visitor, VisitorMut};

#[doc(hidden)]
pub use calls::{switch, switch_sorted};

/// The part of `jit::prelude` that is defined here. Documentation examples use it, under the name `jit`.
#[doc(hidden)]
pub mod prelude {
    pub use jit_runtime::device::Device;
    pub use jit_runtime::ir::ReduceOp;

    pub use crate::calls::{Instances, Ptr};
    pub use crate::{
        Array, BFloat, Float, Float64, Half, Int, Int8, Int16, Int64, Local, Mask, Scan, Size, Sorting, Traced,
        TracedEnum, Traverse, UInt, UInt8, UInt16, UInt64,
    };
}
