//! What `#[jit]` and `jit::print!` ask of the types in a program, as the compiler names it in its messages.
//!
//! Each trait says in its documentation, and in the message where it is missing, what the program may do there. They
//! are implemented for all types that fit; programs neither implement nor call them. A [`HostStage`] condition is a
//! `bool`, which is decided while tracing; a [`TracedStage`] one is a mask, which lanes decide when the kernel runs.

pub use jit_core::array::{Compare, OperatorsOutsideOfJit};
pub use jit_core::calls::dispatch::{Call, CallResult, CloneArg, clone_arg};
pub use jit_core::control::{
    AddAt, ArrayIndex, Assertable, Assertion, Asserts, AssignAt, BitAndAt, BitOrAt, BitXorAt, Bounds, Branch, Carries,
    CastsTo, Constexpr, CopiedOut, Decided, DivAt, Equal, Exhausted, Exit, Gives, HasAddress, HostCast, HostMatch,
    HostStage, IfCondition, Joined, Joins, JumpsFromOperand, KnownValue, Logical, MayContinue, Merges, MulAt, Operand,
    Order, Printable, ReadAt, RemAt, Repeat, ReportsValue, SharedInIf, SharedInWhile, Shares, ShlAt, ShowsSide, ShrAt,
    Stage, SubAt, SymbolicBounds, TracedCast, TracedStage, TryInIf, TryInWhile, WhileCondition, element, eq, ge, gt,
    le, lt, may_continue, ne,
};
pub use jit_core::enums::VariantField;
pub use jit_core::traverse::Constant;
