//! What `#[jit]` and `jit::print!` ask of the types in a program, as the compiler names it in its messages.
//!
//! Each trait says in its documentation, and in the message where it is missing, what the program may do there. They are
//! implemented for all types that fit; programs neither implement nor call them. A [`Host`] condition is a `bool`, which is decided
//! while tracing; a [`Traced`] one is a mask, which lanes decide when the kernel runs.

pub use jit_core::array::{Compare, OperatorsOutsideOfJit};
pub use jit_core::calls::dispatch::{Again, Call, Given, again};
pub use jit_core::control::{
    AddAt, ArrayIndex, Assertable, Assertion, Asserts, AssignAt, BitAndAt, BitOrAt, BitXorAt, Bounds, Branch, Carries,
    CastsTo, Constexpr, CopiedOut, Decided, DivAt, Equal, Exhausted, Exit, Gives, GoesOn, HasAddress, Host, HostCast,
    HostMatch, IfCondition, Joined, Joins, JumpsFromOperand, KnownValue, Logical, Merges, MulAt, Operand, Order,
    Printable, ReadAt, RemAt, Repeat, SharedInIf, SharedInWhile, Shares, ShlAt, ShowsSide, ShrAt, SubAt,
    SymbolicBounds, Tells, Traced, TracedCast, TryInIf, TryInWhile, WhileCondition, World, element, eq, ge, goes_on,
    gt, le, lt, ne,
};
pub use jit_core::enums::VariantField;
pub use jit_core::traverse::Constant;
