//! Operations of trace nodes.
//!
//! The operations of one lane are those of the kernel IR. The trace adds leaves, reductions as values, and control flow
//! whose results are separate nodes.

use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, UnaryOp};

use super::node::flag;

/// The operation of a node. Operands are listed in the order in which the node stores them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A constant, the same in every lane, that becomes a literal in the code. The word holds its bits.
    Literal,
    /// A host value, the same in every lane, that never becomes a literal in the code. The word holds its bits.
    Scalar,
    /// Elements in memory.
    Data,
    /// A type and a width without a value.
    Placeholder,
    /// The index of the lane, `u32`.
    LaneIndex,
    /// A value of width 1, repeated.
    Broadcast,
    /// The operand: a variable for differentiation, a result with a derivative of its own, or a value without one.
    Identity,
    /// Conversion by value.
    Cast,
    /// The same bits as another type of the same size.
    Bitcast,
    /// An operation on one value.
    Unary(UnaryOp),
    /// An operation on two values.
    Binary(BinaryOp),
    /// `a * b + c`, rounded once.
    Fma,
    /// A comparison.
    Compare(CompareOp),
    /// Mask, value where true, value where false.
    Select,
    /// Source, index, and a mask or nothing.
    Gather,
    /// All lanes combined into one value; or each block of lanes, whose length is in the third operand slot.
    Reduce(ReduceOp),
    /// The state of a loop inside the loop. The third operand slot holds its position.
    Param,
    /// A recorded loop; its parts are in the payload.
    Loop,
    /// Loop; the third operand slot holds the position of the state.
    LoopResult,
    /// A recorded branch; its parts are in the payload.
    Branch,
    /// Branch; the third operand slot holds the position of the result.
    BranchResult,
    /// A recorded call whose target depends on the lane; its parts are in the payload.
    Switch,
    /// Switch; the third operand slot holds the position of the result.
    SwitchResult,
    /// Values written to elements of an array; its parts are in the payload.
    Scatter,
    /// Scatter; the third operand slot holds the position of the result. The array after the scatter is the first
    /// result.
    ScatterResult,
    /// Per-lane local memory, each element of which has the operand's value. The third operand slot holds their number.
    Local,
    /// Index, and the local memory that is read.
    LocalRead,
    /// Value, index, and the previous version of the memory.
    LocalWrite,
    /// A library call on operands in memory; the payload holds the call.
    LibraryCall,
    /// Library call; the third operand slot holds the position of the result.
    LibraryResult,
}

impl Op {
    /// Returns a number that distinguishes operations, for hashing.
    #[inline]
    pub(crate) const fn code(self) -> u64 {
        match self {
            Op::Literal => 0,
            Op::Scalar => 1,
            Op::Data => 2,
            Op::Placeholder => 3,
            Op::LaneIndex => 4,
            Op::Broadcast => 5,
            Op::Cast => 6,
            Op::Bitcast => 7,
            Op::Fma => 8,
            Op::Select => 9,
            Op::Gather => 10,
            Op::Param => 11,
            Op::Loop => 12,
            Op::LoopResult => 13,
            Op::Branch => 14,
            Op::BranchResult => 15,
            Op::Scatter => 16,
            Op::ScatterResult => 17,
            Op::LibraryCall => 18,
            Op::LibraryResult => 19,
            Op::Switch => 20,
            Op::SwitchResult => 21,
            Op::Identity => 22,
            Op::Local => 30,
            Op::LocalRead => 31,
            Op::LocalWrite => 32,
            Op::Unary(op) => 0x100 | op as u64,
            Op::Binary(op) => 0x200 | op as u64,
            Op::Compare(op) => 0x300 | op as u64,
            Op::Reduce(op) => 0x400 | op as u64,
        }
    }

    /// Returns whether the first two operands may be exchanged, with identical results to the last bit.
    #[inline]
    pub(crate) const fn is_commutative(self) -> bool {
        match self {
            Op::Binary(op) => op.is_commutative(),
            Op::Compare(op) => op.is_commutative(),
            Op::Fma => true,
            _ => false,
        }
    }

    /// Returns whether the first two operands may be exchanged in a node with these flags. Of equal operands of a
    /// minimum or maximum the gradient flows to the first one.
    #[inline]
    pub(crate) const fn may_exchange(self, flags: u16) -> bool {
        use BinaryOp::{FMax, FMin, Max, Min};
        self.is_commutative() && (flags & flag::GRAD == 0 || !matches!(self, Op::Binary(Min | Max | FMin | FMax)))
    }

    /// Returns the maximum number of operand slots that hold nodes.
    #[inline]
    pub(crate) const fn slots(self) -> usize {
        match self {
            Op::Literal | Op::Scalar | Op::Data | Op::Placeholder | Op::LaneIndex => 0,
            Op::Loop | Op::Branch | Op::Switch | Op::Scatter => 0,
            Op::Param => 1,
            Op::Broadcast | Op::Identity | Op::Cast | Op::Bitcast | Op::Unary(_) | Op::Reduce(_) | Op::Local => 1,
            Op::BranchResult | Op::SwitchResult | Op::LibraryResult => 1,
            Op::LoopResult | Op::ScatterResult => 2,
            Op::Binary(_) | Op::Compare(_) | Op::LocalRead => 2,
            Op::LocalWrite | Op::Fma | Op::Select | Op::Gather | Op::LibraryCall => 3,
        }
    }

    /// Returns the operand slot that is empty unless the region of the node was aborted: then it holds the value from
    /// before the region.
    #[inline]
    pub(crate) const fn original_slot(self) -> Option<usize> {
        match self {
            Op::Param => Some(0),
            Op::LoopResult | Op::ScatterResult => Some(1),
            _ => None,
        }
    }

    /// Returns whether the node is a result of another one, its first operand.
    #[inline]
    pub(crate) const fn is_result(self) -> bool {
        matches!(self, Op::LoopResult | Op::BranchResult | Op::SwitchResult | Op::ScatterResult | Op::LibraryResult)
    }

    /// Returns whether the node's word holds bits, not the address of a buffer or a payload.
    #[inline]
    pub(crate) const fn holds_bits(self) -> bool {
        matches!(self, Op::Literal | Op::Scalar)
    }

    /// Returns whether the node's word is the address of a boxed payload.
    #[inline]
    pub(crate) const fn holds_payload(self) -> bool {
        matches!(self, Op::Loop | Op::Branch | Op::Switch | Op::Scatter | Op::LibraryCall)
    }

    /// Returns whether the value is produced in memory, where later kernels read it.
    #[inline]
    pub(crate) const fn is_stored(self) -> bool {
        matches!(self, Op::Reduce(_) | Op::LibraryResult)
    }

    /// Returns a rough cost per lane: 1 is an addition.
    #[inline]
    pub(crate) const fn weight(self) -> u32 {
        match self {
            Op::Literal | Op::Scalar | Op::Data | Op::Placeholder | Op::LaneIndex | Op::Param => 0,
            Op::Broadcast | Op::Identity | Op::LoopResult | Op::BranchResult | Op::SwitchResult => 0,
            Op::ScatterResult | Op::LibraryResult => 0,
            Op::Unary(op) => op.cost(),
            Op::Binary(op) => op.cost(),
            Op::Gather | Op::Scatter => 6,
            Op::Local => 0,
            Op::LocalRead | Op::LocalWrite => 2,
            Op::Loop | Op::LibraryCall => 1000,
            Op::Branch | Op::Switch => 4,
            _ => 1,
        }
    }
}
