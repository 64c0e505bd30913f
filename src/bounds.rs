//! The trait bounds that `#[jit]` and `jit::print!` put on types of the program, as the compiler names them in errors.
//!
//! The documentation of each trait, and the error message where it is missing, state what the program may do there.
//! They are implemented for all suitable types; programs neither implement nor call them. A [`HostStage`] condition is
//! a `bool`, which is decided while tracing. A [`TracedStage`] condition is a mask, which lanes decide when the kernel
//! runs.

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
