//! Instructions: what an opcode does to its operands.

use super::AtomicSums;
use super::arithmetic::{self, atomic_function};
use super::convert;

/// An instruction with its operands.
#[derive(Debug)]
pub(super) struct Instruction {
    /// The register of a predicate, and whether the instruction is executed where it is true.
    pub(super) guard: Option<(usize, bool)>,
    pub(super) operation: Operation,
    pub(super) operands: Vec<Operand>,
    /// For messages.
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) enum Operand {
    Register(usize),
    Literal(u64),
    /// Memory at an address in a register and an offset.
    Memory(usize, u64),
    /// The offset in the bytes of the parameters.
    Parameter(usize),
    Special(Special),
    /// The position of an instruction.
    Target(usize),
    /// The positions that an indirect branch chooses from.
    Table(Vec<usize>),
    /// Several registers of a load, or values of a store, of consecutive elements.
    Vector(Vec<Operand>),
}

/// A number that describes the thread or the launch, in the only dimension that is used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    Thread,
    Threads,
    Block,
    Blocks,
}

impl Special {
    pub(super) fn named(name: &str) -> Option<Special> {
        Some(match name {
            "%tid.x" => Special::Thread,
            "%ntid.x" => Special::Threads,
            "%ctaid.x" => Special::Block,
            "%nctaid.x" => Special::Blocks,
            _ => return None,
        })
    }
}

/// A function of operands that are in registers or literals.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pure {
    One(fn(u64) -> u64),
    Two(fn(u64, u64) -> u64),
    Three(fn(u64, u64, u64) -> u64),
}

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Parameter,
    Global,
    Local,
    Shared,
}

/// How an element is loaded or stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) space: Space,
    pub(super) size_bytes: usize,
    /// The number of consecutive elements, which are in a vector if they are more than one.
    pub(super) elements: usize,
    /// Whether a load extends the sign to the width of a register.
    pub(super) is_signed: bool,
}

#[derive(Debug)]
pub(super) enum Operation {
    Pure(Pure),
    Load(Access),
    Store(Access),
    /// Replaces an element by a function of it and the operand. Writes the old one to the first operand, if it returns.
    Atomic {
        function: fn(u64, u64) -> u64,
        space: Space,
        size_bytes: usize,
        returns: bool,
    },
    CompareAndSwap {
        size_bytes: usize,
    },
    Branch,
    BranchIndexed,
    Barrier,
    Fence,
    /// With a result, operands, and the mask of the lanes that take part.
    Warp(WarpOperation),
    Return,
}

/// What the threads of a warp do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WarpOperation {
    Barrier,
    Ballot,
    MatchAny,
    Shuffle(Shuffle),
}

/// The lane that a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shuffle {
    /// So many lanes before; the own one, if there is none.
    Up,
    /// The one with the number.
    Index,
}

impl WarpOperation {
    /// The operands before the mask.
    pub(super) fn operands(self) -> usize {
        match self {
            WarpOperation::Barrier => 0,
            WarpOperation::Ballot | WarpOperation::MatchAny => 1,
            WarpOperation::Shuffle(_) => 3,
        }
    }
}

/// What an opcode does; none if it is not known.
pub(super) fn decode(opcode: &str, sums: AtomicSums) -> Option<Operation> {
    if let Some(pure) = arithmetic::decode(opcode).or_else(|| convert::decode(opcode)) {
        return Some(Operation::Pure(pure));
    }
    let parts: Vec<&str> = opcode.split('.').collect();
    Some(match parts.as_slice() {
        ["ld", "param", ty] => Operation::Load(access(Space::Parameter, ty)?),
        ["ld", "global", "nc", ty] | ["ld", "relaxed" | "acquire", "gpu", "global", ty] => {
            Operation::Load(access(Space::Global, ty)?)
        }
        ["ld", "global", "nc", count, ty] => Operation::Load(vector(Space::Global, count, ty)?),
        ["ld", space, ty] => Operation::Load(access(named(space)?, ty)?),
        ["ld", space, count, ty] => Operation::Load(vector(named(space)?, count, ty)?),
        ["st", "relaxed" | "release", "gpu", "global", ty] => Operation::Store(access(Space::Global, ty)?),
        ["st", space, ty] => Operation::Store(access(named(space)?, ty)?),
        ["st", space, count, ty] => Operation::Store(vector(named(space)?, count, ty)?),
        ["atom", "global", "cas", ty @ ("b32" | "b64")] => {
            Operation::CompareAndSwap { size_bytes: access(Space::Global, ty)?.size_bytes }
        }
        [name @ ("atom" | "red"), space @ ("global" | "shared"), op, ty] => Operation::Atomic {
            function: atomic_function(op, ty, sums)?,
            space: named(space)?,
            size_bytes: access(Space::Global, ty)?.size_bytes,
            returns: *name == "atom",
        },
        ["bra"] => Operation::Branch,
        ["brx", "idx"] => Operation::BranchIndexed,
        ["bar", "sync"] => Operation::Barrier,
        ["bar", "warp", "sync"] => Operation::Warp(WarpOperation::Barrier),
        ["vote", "sync", "ballot", "b32"] => Operation::Warp(WarpOperation::Ballot),
        ["match", "any", "sync", "b32"] => Operation::Warp(WarpOperation::MatchAny),
        ["shfl", "sync", "up", "b32"] => Operation::Warp(WarpOperation::Shuffle(Shuffle::Up)),
        ["shfl", "sync", "idx", "b32"] => Operation::Warp(WarpOperation::Shuffle(Shuffle::Index)),
        ["membar", "gl"] => Operation::Fence,
        ["ret"] => Operation::Return,
        _ => return None,
    })
}

fn named(space: &str) -> Option<Space> {
    match space {
        "global" => Some(Space::Global),
        "local" => Some(Space::Local),
        "shared" => Some(Space::Shared),
        _ => None,
    }
}

fn access(space: Space, ty: &str) -> Option<Access> {
    let bits: usize = ty.get(1..)?.parse().ok()?;
    let is_known = matches!(ty.as_bytes()[0], b'u' | b's' | b'b' | b'f') && [8, 16, 32, 64].contains(&bits);
    is_known.then(|| Access { space, size_bytes: bits / 8, elements: 1, is_signed: ty.starts_with('s') })
}

/// An access to several elements, which have at most 16 bytes.
fn vector(space: Space, count: &str, ty: &str) -> Option<Access> {
    let elements = match count {
        "v2" => 2,
        "v4" => 4,
        _ => return None,
    };
    access(space, ty).map(|access| Access { elements, ..access }).filter(|access| access.size_bytes * elements <= 16)
}
