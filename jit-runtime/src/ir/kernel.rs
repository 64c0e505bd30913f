//! The kernel: a table of parameters, a table of values and a tree of regions.

use super::lines::Lines;
use super::op::{Op, ReduceOp};
use super::types::Type;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in its table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

entity!(
    /// The result of an instruction, or a parameter of a region.
    Value, "v"
);
entity!(
    /// A list of instructions with parameters and yielded values.
    RegionId, "r"
);
entity!(
    /// A parameter of the kernel: a buffer or a scalar.
    ParamId, "p"
);
entity!(
    /// A per-lane local memory.
    LocalId, "l"
);

/// A per-lane local memory: elements of one type, zero at first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalMemory {
    /// The element type.
    pub ty: Type,
    /// The number of elements.
    pub len: u32,
}

impl LocalMemory {
    /// The bytes that one lane needs.
    #[must_use]
    pub const fn size_bytes(self) -> u64 {
        self.len as u64 * self.ty.size_bytes() as u64
    }
}

/// The most bytes of local memory that one lane may have in total. Each thread runs dozens of lanes at a time, so a
/// thread needs at most some dozen MiB.
pub const MAX_LOCAL_BYTES: u64 = 1 << 20;

/// How a kernel accesses a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only reads it.
    Read,
    /// Writes each element at most once, at the lane's own index, and reads none.
    Write,
    /// Reads and writes elements at any index.
    ReadWrite,
    /// Receives one reduced value in element 0.
    Reduce,
}

/// One parameter of a kernel, bound to an argument at each launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Param {
    /// A pointer to elements of one type.
    Buffer {
        /// The element type.
        ty: Type,
        /// How the kernel accesses it.
        access: Access,
    },
    /// A value that is the same for all lanes, passed in the argument table.
    Scalar {
        /// Its type.
        ty: Type,
    },
}

impl Param {
    /// The element type of the buffer, or the type of the scalar.
    #[must_use]
    pub const fn ty(self) -> Type {
        match self {
            Param::Buffer { ty, .. } | Param::Scalar { ty } => ty,
        }
    }
}

/// An operation and the values that it defines: `results` consecutive values starting at `first`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// The operation.
    pub op: Op,
    /// The first result; `v0` where there is none, so that equal instructions compare equal.
    pub first: Value,
    /// The number of results: none for writes, one for each state variable of a loop.
    pub results: u32,
}

impl Inst {
    /// The values that the instruction defines.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        (self.first.0..self.first.0 + self.results).map(Value)
    }
}

/// A straight-line list of instructions. Control flow nests further regions in it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Region {
    /// Values that the region receives on entry; for a loop's condition, the state.
    pub params: Vec<Value>,
    /// The instructions, in order.
    pub insts: Vec<Inst>,
    /// The values that the region passes to the operation that owns it.
    pub yields: Vec<Value>,
}

/// A program for one lane, run over all lanes of a launch.
///
/// Equality and hashing are structural. They cover everything that affects the generated code, and nothing else: a
/// kernel contains no names, addresses, source lines or sizes. Two kernels built by the same calls are equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kernel {
    /// The parameters, in the order of the arguments of a launch.
    pub params: Vec<Param>,
    /// The per-lane local memories.
    pub locals: Vec<LocalMemory>,
    /// The type of each value.
    pub types: Vec<Type>,
    /// All regions; the first is the top region, which has neither parameters nor yields.
    pub regions: Vec<Region>,
    /// The source lines of the instructions, for readable forms: no part of the kernel, so all lines are equal.
    pub lines: Lines,
}

/// The top region of every kernel.
pub const TOP: RegionId = RegionId(0);

impl Kernel {
    /// The type of a value.
    #[must_use]
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// Returns the same kernel specialised to known values of some scalar parameters. It computes with the constants,
    /// and accepts the parameters without reading them. `bits` returns the bits of the known values.
    #[must_use]
    pub fn with_constants(&self, bits: impl Fn(ParamId) -> Option<u64>) -> Kernel {
        let mut kernel = self.clone();
        for inst in kernel.regions.iter_mut().flat_map(|region| &mut region.insts) {
            if let Op::Scalar(param) = inst.op
                && let Some(declared) = self.params.get(param.index())
                && let Some(bits) = bits(param)
            {
                inst.op = Op::Const(declared.ty(), bits);
            }
        }
        kernel
    }

    /// A parameter.
    #[must_use]
    pub fn param(&self, param: ParamId) -> Param {
        self.params[param.index()]
    }

    /// Returns a per-lane local memory.
    #[must_use]
    pub fn local(&self, local: LocalId) -> LocalMemory {
        self.locals[local.index()]
    }

    /// A region.
    #[must_use]
    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[region.index()]
    }

    /// The number of instructions, including nested ones.
    #[must_use]
    pub fn op_count(&self) -> usize {
        self.regions.iter().map(|region| region.insts.len()).sum()
    }

    /// For each parameter that is only accessed by reducing scatters of one operation, returns that operation. Such a
    /// buffer may be updated in parts that are combined at the end.
    #[must_use]
    pub fn combined_buffers(&self) -> Vec<Option<ReduceOp>> {
        let (mut combined, mut is_other) = (vec![None; self.params.len()], vec![false; self.params.len()]);
        for inst in self.regions.iter().flat_map(|region| &region.insts) {
            match inst.op {
                Op::Scatter { reduce: Some(op), buffer, .. } if buffer.index() < combined.len() => {
                    let known = combined[buffer.index()].replace(op);
                    is_other[buffer.index()] |= known.is_some_and(|known| known != op);
                }
                Op::Scatter { reduce: None, buffer, .. }
                | Op::Load(buffer)
                | Op::Store { buffer, .. }
                | Op::Gather { buffer, .. }
                | Op::Atomic { buffer, .. }
                | Op::CompareExchange { buffer, .. }
                    if buffer.index() < is_other.len() =>
                {
                    is_other[buffer.index()] = true;
                }
                _ => {}
            }
        }
        combined.into_iter().zip(is_other).map(|(op, is_other)| op.filter(|_| !is_other)).collect()
    }

    /// The number of scatters into [`Kernel::combined_buffers`].
    #[must_use]
    pub fn combining_scatters(&self) -> usize {
        let combined = self.combined_buffers();
        let combines = |inst: &&Inst| match inst.op {
            Op::Scatter { buffer, .. } => combined.get(buffer.index()).is_some_and(Option::is_some),
            _ => false,
        };
        self.regions.iter().flat_map(|region| &region.insts).filter(combines).count()
    }

    /// Whether an instruction of the kernel repeats a region.
    #[must_use]
    pub fn has_loop(&self) -> bool {
        self.regions.iter().flat_map(|region| &region.insts).any(|inst| matches!(inst.op, Op::Loop { .. }))
    }
}

impl Access {
    /// Every kind of access.
    pub const ALL: [Access; 4] = [Access::Read, Access::Write, Access::ReadWrite, Access::Reduce];

    /// The name in the text form of kernels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "readwrite",
            Access::Reduce => "reduce",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BinaryOp, Builder, verify};

    #[test]
    fn known_parameters_become_constants_and_stay_parameters() {
        let kernel = |third: Option<u64>| {
            let mut builder = Builder::new();
            let output = builder.buffer(Type::U32, Access::Write);
            let [first, second] = [Type::U32; 2].map(|ty| builder.scalar_param(ty));
            let first = builder.scalar(first);
            let second = match third {
                Some(bits) => builder.constant(Type::U32, bits),
                None => builder.scalar(second),
            };
            let sum = builder.binary(BinaryOp::Add, first, second);
            builder.store(output, sum);
            builder.finish()
        };
        let known = kernel(None).with_constants(|param| (param == ParamId(2)).then_some(7));
        assert_eq!(known, kernel(Some(7)));
        assert_eq!(known.params.len(), 3);
        verify(&known).expect("a parameter need not be read");
        assert_eq!(kernel(None).with_constants(|_| None), kernel(None));
    }
}
