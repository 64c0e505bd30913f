//! Run-time support of traced control flow: rewritten `#[jit]` functions call it.
//!
//! The macro encloses the user's own blocks in calls on a guard ([`Branch`], [`Repeat`]). The *type* of the condition
//! decides whether a guard has an effect. A `bool` belongs to the [`HostStage`] stage, where Rust runs the blocks as
//! usual and values of any type may change in them. A mask belongs to the [`TracedStage`] stage, where each block is
//! recorded once and its state must be [`Traverse`](crate::Traverse). Incorrect programs are rejected by traits where
//! types suffice, with messages in terms of the user's program, and otherwise by panics that name the variable and the
//! line.
//!
//! The compiler quotes a function whose bound a type does not satisfy. So generated code calls a method of the trait
//! itself where possible: then the message is ours and the line is the user's. `jit::bounds` re-exports the traits, and
//! messages name them there. Implementations that the compiler would list as alternatives are marked
//! `do_not_recommend`.
//!
//! Only generated code uses this module, through `jit::__private`; it is no public interface.

mod assert;
mod branch;
mod cast;
mod compaction;
mod compare;
mod constexpr;
mod evaluated;
mod exit;
mod function;
mod host_only_jumps;
mod index;
mod logic;
mod matching;
mod operand;
mod passed;
mod print;
mod range;
mod recursion;
mod referent;
mod repeat;
mod stage;
pub(crate) mod state;
mod tie;
mod unroll;
mod variants;
mod warning;

pub use crate::trace::FastMath;
pub use crate::trace::function_label::{LabelScope, Labelled, current_label, label, label_at};
pub use assert::{Assertable, Assertion, Asserts, ReportsValue, ShowsSide, fail};
pub use branch::{Branch, Merges, Slot, both_arms_leave};
pub use cast::{CastsHost, CastsSize, CastsTo, CastsTraced, HostCast, SizeCast, TracedCast, converted};
pub use compare::{Equal, Order, eq, ge, gt, le, lt, ne};
pub use constexpr::{Constexpr, ConstexprValue, Hashed, Parts, hash_callable};
pub use exit::{
    Exit, Gives, Join, Joined, MayContinue, Shares, StageList, Witness, all_exited, branch_live, exit, joined,
    may_continue, same, seen, witness,
};
pub use function::{FunctionScope, enter};
pub use host_only_jumps::{JumpsFromOperand, SharedInIf, SharedInWhile, TryInIf, TryInWhile};
pub use index::{
    AddAt, ArrayIndex, AssignAt, BitAndAt, BitOrAt, BitXorAt, CopiedOut, DivAt, HasAddress, Indexed, IndexedMut,
    IndexesHost, IndexesTraced, Lend, MulAt, ReadAt, RemAt, ShlAt, ShrAt, SubAt, element, probe,
};
pub use jit_runtime::report::{Align, Piece, Radix, Sign, Spec};
pub use logic::{Decides, Joins, Logical, Side, logical};
pub use matching::{Decided, Exhausted, HostMatch, KnownValue, MatchesHost, MatchesTraced, where_matched};
pub use operand::Operand;
pub use passed::{ArrayPlaces, Passed, WithArrays, WithoutArrays};
pub use print::{Printable, Printing, print};
pub use range::{Bounds, Countable, Counter, SymbolicBounds, TracedRange, counted, counter};
pub use referent::{AsksNoReferent, AsksReferent, NoReferent, Referent, Refers, RefersNot};
pub use repeat::{Repeat, Setting, WhileCondition, bounded, repeat};
pub use stage::{Carries, HostStage, IfCondition, Stage, TracedStage};
pub use tie::{Tie, tie};
pub use unroll::{Unrolled, unrolled};
pub use variants::{Borrowed, Choice, Choosable, Chosen, Lends, Owned, other_variant};
pub use warning::{Harmless, Suspicious};
