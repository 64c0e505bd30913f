//! Executors: functions that are compiled before they are called.
//!
//! `f::compile(…)` of a `#[jit]` function records and compiles it, as a frozen function is, but launches nothing; an
//! [`Executor`] replays the recording.
//!
//! An executor has the signature of its function, as the type of a function pointer, and holds a function of this type
//! that was generated beside it. That function alone knows how each argument is passed. It learns which executor it is
//! called for, and returns an error, through the thread (`call`). What derivatives run again is a copy of the function
//! with its values (`kept`). A program that has only
//! the file of an executor is generated from what `shipped` returns.

mod about;
mod arities;
mod call;
mod handle;
mod kept;
mod obstacle;
mod shipped;

pub use crate::freeze::{
    ArgumentKind, GivenArgument, GivenArray, UntypedArgument, UntypedFunction, UntypedResult, UntypedReturn,
};
pub use about::FnStats;
#[doc(hidden)]
pub use about::{clear, explain, stats};
#[doc(hidden)]
pub use call::{Debugged, Named, Unnamed, compile, load, load_bytes, run};
pub use handle::{Executor, KernelInfo};
#[doc(hidden)]
pub use kept::{Behind, CanCopy, CannotCopy, Kept, Once, Used, Values, body};
#[doc(hidden)]
pub use obstacle::{
    HasUnboundedParameter, IsOfTrait, IsUnsafe, ReturnsReference, ReturnsUnnamed, TakesReferenceInside, TakesTooMany,
    TakesTraitObject,
};
#[doc(hidden)]
pub use shipped::{Shipped, ShippedParameter};
