//! Freezing: functions whose launches are recorded once and then replayed, without tracing.
//!
//! A call computes a key from its arguments: their shape, their host values, and which arrays are the same. If there is
//! a recording with this key whose guards hold for the sizes of the arrays, it is replayed. Otherwise the body runs on
//! copies of the arguments whose arrays are the inputs of a new recording.
//!
//! Sizes are not part of the key. While the body runs, the width of an array is an expression of the sizes of the
//! inputs ([`Size`](crate::Size)), and so are the widths and numbers that are computed from it. A decision by a size,
//! such as [`Array::len`](crate::Array::len) or a comparison, becomes a guard.
//!
//! | part | file |
//! |---|---|
//! | the key of a call | `layout` |
//! | arguments and results of any type | `argument`, `borrowing` |
//! | plain numbers that change from call to call | `number` |
//! | a function and its recordings | `function` |
//! | a call | `call`; recording a call: `record` |
//! | closures | `closure` |
//! | shared leaves: arrays behind `Rc` and `Arc` | `shared` |
//! | the causes of recordings | `explain` |
//! | host calls | `host` |
//! | comparing replays with the body | `verify` |
//! | traced modules: recordings before the first call | `ahead` |
//! | one recording for all calls, which executors are | `program`; calls that do not fit: `mismatch` |
//! | functions whose types the program does not know | `untyped`; a recording: `untyped_recording` |
//! | their arguments; number expressions | `untyped_layout`; `number_text` |
//! | recordings in files; their signatures | `saved`; `saved_types` |
//! | frozen functions in files; closures | `saved_function`; `saved_closure` |
//! | how gradients flow through a call | `flows`; its derivative, a frozen function: `derivative`, `again` |

mod again;
mod ahead;
mod argument;
mod borrowing;
mod call;
mod closure;
mod derivative;
mod explain;
mod explanation;
mod flows;
mod function;
mod host;
mod layout;
mod mismatch;
mod number;
mod number_text;
mod program;
mod record;
mod saved;
mod saved_closure;
mod saved_function;
mod saved_types;
mod shared;
mod untyped;
mod untyped_layout;
mod untyped_recording;
mod verify;
mod with_state;

#[doc(hidden)]
pub use crate::array::Array;
#[doc(hidden)]
pub use crate::capture::host_call::refuse_replay;
pub use crate::trace::history::CodeChange;
pub(crate) use again::Closure;
#[doc(hidden)]
pub use ahead::TracedFunction;
pub use argument::{Argument, Arguments, FrozenInput, Recordable, ThreadSafe, Visit};
#[doc(hidden)]
pub use argument::{ByValue, Exclusive, Shared, copied, is_of_type, lend, lend_mut, type_behind};
#[doc(hidden)]
pub use borrowing::{Borrowing, Lending, lend_parts};
#[doc(hidden)]
pub use call::{Changed, CollectArrays, CollectNothing, after_direct, call, call_instance};
pub use closure::{Call, Captureless, Captures, Frozen, FrozenArg, NoCaptures};
pub use explain::{Cause, Retrace};
pub use explanation::Explanation;
pub use function::{Function, Options, functions};
pub use host::{Owned, host};
#[doc(hidden)]
pub use number::{Beside, HostNumber, Lifted, Number, current, decide, decided, mixed};
#[doc(hidden)]
pub use program::Compiled;
pub(crate) use program::Program;
pub use saved_closure::SavedAs;
pub(crate) use saved_types::full_types_of;
#[doc(hidden)]
pub use saved_types::{HasFiles, Instance, instance, instance_beside, type_of};
pub use untyped::{GivenArgument, GivenArray, UntypedFunction, UntypedResult};
pub use untyped_layout::{ArgumentKind, UntypedArgument, UntypedReturn};
#[doc(hidden)]
pub use with_state::{WithState, state, with_state};

/// Counters of a frozen function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// How often the body was recorded, including failed recordings.
    pub recordings: u64,
    /// How often it was recorded again: all but the first recording.
    pub retraces: u64,
    /// The number of retained recordings.
    pub cached: u64,
    /// The number of recordings dropped because of the `limit`.
    pub evictions: u64,
    /// The number of replayed calls.
    pub replays: u64,
    /// The number of calls that ran the body as if it were not frozen.
    pub direct: u64,
}
