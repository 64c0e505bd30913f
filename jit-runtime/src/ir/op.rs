//! The operations of the kernel IR. Their semantics are specified in [`crate::ir`].

use super::kernel::{LocalId, ParamId, RegionId, Value};
use super::types::Type;

/// An operation on one value; the result has the operand's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum UnaryOp {
    /// Arithmetic negation; integers wrap, floats flip the sign bit.
    Neg,
    /// Bitwise complement of integers, logical complement of `bool`.
    Not,
    /// Absolute value; `MIN` of a signed integer wraps to itself.
    Abs,
    /// Square root, correctly rounded.
    Sqrt,
    /// Largest integral float that is at most the operand.
    Floor,
    /// Smallest integral float that is at least the operand.
    Ceil,
    /// Nearest integral float, halfway cases to even.
    Round,
    /// Integral float nearest to the operand, rounded towards zero.
    Trunc,
    /// Number of one bits.
    CountOnes,
    /// Number of zero bits above the highest one; the width for zero.
    LeadingZeros,
    /// Number of zero bits below the lowest one; the width for zero.
    TrailingZeros,
    /// The bits in reverse order.
    ReverseBits,
    /// e to the operand (expanded by a pass, as all transcendental functions are).
    Exp,
    /// 2 to the operand.
    Exp2,
    /// Natural logarithm.
    Ln,
    /// Logarithm to base 2.
    Log2,
    /// Sine of an angle in radians.
    Sin,
    /// Cosine of an angle in radians.
    Cos,
    /// Tangent of an angle in radians.
    Tan,
    /// Angle in [-π/2, π/2] with this sine.
    Asin,
    /// Angle in [0, π] with this cosine.
    Acos,
    /// Angle in [-π/2, π/2] with this tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// e to the operand, minus one, accurate near zero.
    ExpM1,
    /// Natural logarithm of one plus the operand, accurate near zero.
    Ln1p,
    /// Logarithm to base 10.
    Log10,
    /// Cube root.
    Cbrt,
    /// Error function.
    Erf,
    /// One minus the error function, without cancellation.
    Erfc,
    /// The inverse of the error function.
    Erfinv,
    /// Gamma function.
    Tgamma,
    /// Natural logarithm of the magnitude of the gamma function.
    Lgamma,
    /// Reciprocal of the square root; infinite at zeros, with their sign.
    Rsqrt,
    /// [`Exp`](UnaryOp::Exp) of fast math, see [`math`](super::math).
    FastExp,
    /// [`Exp2`](UnaryOp::Exp2) of fast math, see [`math`](super::math).
    FastExp2,
    /// [`Ln`](UnaryOp::Ln) of fast math, see [`math`](super::math).
    FastLn,
    /// [`Log2`](UnaryOp::Log2) of fast math, see [`math`](super::math).
    FastLog2,
    /// [`Log10`](UnaryOp::Log10) of fast math, see [`math`](super::math).
    FastLog10,
    /// [`Sin`](UnaryOp::Sin) of fast math, see [`math`](super::math).
    FastSin,
    /// [`Cos`](UnaryOp::Cos) of fast math, see [`math`](super::math).
    FastCos,
    /// [`Tan`](UnaryOp::Tan) of fast math, see [`math`](super::math).
    FastTan,
    /// [`Asin`](UnaryOp::Asin) of fast math, see [`math`](super::math).
    FastAsin,
    /// [`Acos`](UnaryOp::Acos) of fast math, see [`math`](super::math).
    FastAcos,
    /// [`Atan`](UnaryOp::Atan) of fast math, see [`math`](super::math).
    FastAtan,
    /// [`Sinh`](UnaryOp::Sinh) of fast math, see [`math`](super::math).
    FastSinh,
    /// [`Cosh`](UnaryOp::Cosh) of fast math, see [`math`](super::math).
    FastCosh,
    /// [`Tanh`](UnaryOp::Tanh) of fast math, see [`math`](super::math).
    FastTanh,
    /// [`Erf`](UnaryOp::Erf) of fast math, see [`math`](super::math).
    FastErf,
    /// [`Rsqrt`](UnaryOp::Rsqrt) of fast math, see [`math`](super::math).
    FastRsqrt,
}

/// An operation on two values of one type; the result has that type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum BinaryOp {
    /// Sum; integers wrap.
    Add,
    /// Difference; integers wrap.
    Sub,
    /// Product; integers wrap.
    Mul,
    /// Quotient; integers truncate towards zero and never trap.
    Div,
    /// Remainder with the sign of the dividend.
    Rem,
    /// Minimum; NaN if an operand is NaN, and -0 is below +0 (IEEE 754-2019 `minimum`).
    Min,
    /// Maximum; NaN if an operand is NaN, and -0 is below +0 (IEEE 754-2019 `maximum`).
    Max,
    /// Minimum that ignores one NaN operand, floats only (`minimumNumber`).
    FMin,
    /// Maximum that ignores one NaN operand, floats only (`maximumNumber`).
    FMax,
    /// Magnitude of the first with the sign bit of the second, floats only.
    CopySign,
    /// The upper half of the double-width product, integers only.
    MulHi,
    /// Bitwise and, logical and of `bool`.
    And,
    /// Bitwise or, logical or of `bool`.
    Or,
    /// Bitwise exclusive or, inequality of `bool`.
    Xor,
    /// Left shift; a count greater than or equal to the width returns zero.
    Shl,
    /// Right shift, arithmetic for signed types; a count greater than or equal to the width shifts out every bit.
    Shr,
    /// The length of the hypotenuse, `√(a² + b²)`, without intermediate overflow (expanded by a pass, as all
    /// transcendental functions are).
    Hypot,
    /// Angle of the point whose second coordinate is the first operand and whose first is the second.
    Atan2,
    /// The first to the power of the second.
    Pow,
    /// [`Hypot`](BinaryOp::Hypot) of fast math, see [`math`](super::math).
    FastHypot,
    /// [`Atan2`](BinaryOp::Atan2) of fast math, see [`math`](super::math).
    FastAtan2,
    /// [`Pow`](BinaryOp::Pow) of fast math, see [`math`](super::math).
    FastPow,
}

/// A comparison of two values of one type; the result is `bool`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum CompareOp {
    /// Equal; false where an operand is NaN.
    Eq,
    /// Not equal; true where an operand is NaN.
    Ne,
    /// Less; false where an operand is NaN.
    Lt,
    /// Less or equal; false where an operand is NaN.
    Le,
    /// Greater; false where an operand is NaN.
    Gt,
    /// Greater or equal; false where an operand is NaN.
    Ge,
}

/// How reductions and reducing scatters combine values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ReduceOp {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Minimum, as [`BinaryOp::Min`].
    Min,
    /// Maximum, as [`BinaryOp::Max`].
    Max,
    /// Bitwise or logical and; integers and `bool`.
    And,
    /// Bitwise or logical or; integers and `bool`.
    Or,
}

/// The value that an atomic operation writes to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    /// The old value combined with the operand.
    Reduce(ReduceOp),
    /// The operand.
    Exchange,
}

/// One operation. Operands are earlier values of the same or an enclosing region.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// The value with these bits, which are the low bits of the carrier; the rest is zero.
    Const(Type, u64),
    /// The index of the lane, `u32`.
    LaneIndex,
    /// The value of a scalar parameter.
    Scalar(ParamId),
    /// An operation on one value.
    Unary(UnaryOp, Value),
    /// An operation on two values of one type.
    Binary(BinaryOp, Value, Value),
    /// `a * b + c`, rounded once for floats, wrapping for integers.
    Fma(Value, Value, Value),
    /// A comparison.
    Compare(CompareOp, Value, Value),
    /// The second operand where the first (`bool`) is true, otherwise the third.
    Select(Value, Value, Value),
    /// Conversion by value, as Rust's `as`.
    Cast(Type, Value),
    /// The same bits as another type of the same size.
    Bitcast(Type, Value),
    /// The element of a buffer at the lane's own index.
    Load(ParamId),
    /// The element of a buffer at an index, zero where the index is out of range or the mask is off.
    Gather {
        /// The buffer that is read.
        buffer: ParamId,
        /// Any integer.
        index: Value,
        /// Lanes that read; all active ones if absent.
        mask: Option<Value>,
    },
    /// Writes the element of a buffer at the lane's own index; top region only.
    Store {
        /// The buffer that is written.
        buffer: ParamId,
        /// The value to write.
        value: Value,
    },
    /// Writes, or combines into, the element of a buffer at an index; nothing happens where the index is out of range.
    Scatter {
        /// How to combine with the old element; a plain write if absent.
        reduce: Option<ReduceOp>,
        /// The buffer that is written.
        buffer: ParamId,
        /// Any integer.
        index: Value,
        /// The value to write or combine.
        value: Value,
        /// Lanes that write; all active ones if absent.
        mask: Option<Value>,
    },
    /// Combines into, or replaces, the element of a buffer at an index in one indivisible step. The result is the old
    /// element, or zero where the index is out of range or the mask is off.
    Atomic {
        /// The value to store.
        op: AtomicOp,
        /// The buffer that is changed.
        buffer: ParamId,
        /// Any integer.
        index: Value,
        /// The value to combine or write.
        value: Value,
        /// Lanes that take part; all active ones if absent.
        mask: Option<Value>,
    },
    /// Replaces the element of a buffer at an index if it has the expected bits, in one indivisible step. The results
    /// are the old element and whether it was replaced; zero and false where the index is out of range or the mask is
    /// off.
    CompareExchange {
        /// The buffer that is changed.
        buffer: ParamId,
        /// Any integer.
        index: Value,
        /// The expected element.
        expected: Value,
        /// The value that replaces it.
        value: Value,
        /// Lanes that take part; all active ones if absent.
        mask: Option<Value>,
    },
    /// Combines the value over all lanes into element 0 of a buffer; top region only.
    Reduce {
        /// How to combine.
        op: ReduceOp,
        /// The buffer of width 1 that receives the result.
        buffer: ParamId,
        /// The value to combine.
        value: Value,
    },
    /// Repeats a body while a condition holds. The results are the final state.
    Loop {
        /// The state before the first iteration.
        inits: Vec<Value>,
        /// Takes the state as parameters and yields one `bool`.
        condition: RegionId,
        /// Takes no parameters, sees the values of `condition`, and yields the next state.
        body: RegionId,
    },
    /// Evaluates one of two regions. The results are the values that the chosen region yields.
    If {
        /// A `bool` that chooses, lane by lane.
        condition: Value,
        /// Evaluated where the condition is true.
        then_region: RegionId,
        /// Evaluated where it is false; yields the same types.
        else_region: RegionId,
    },
    /// Evaluates one of several regions, all of which yield the same types. The results are the values that the chosen
    /// one yields.
    Switch {
        /// Selects the case, lane by lane; a `u32`.
        index: Value,
        /// Evaluated where the index equals their position.
        cases: Vec<RegionId>,
        /// Evaluated where no case has the index.
        default: RegionId,
    },
    /// The element of a per-lane local memory at an index, zero where the index is out of range.
    LocalRead {
        /// The memory to read.
        local: LocalId,
        /// Any integer.
        index: Value,
    },
    /// Writes the element of a per-lane local memory at an index; nothing happens where the index is out of range.
    LocalWrite {
        /// The memory to write.
        local: LocalId,
        /// Any integer.
        index: Value,
        /// The value to write.
        value: Value,
    },
}

/// The element types that an operation supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Types {
    /// All but `bool`.
    Numbers,
    /// The four floating-point types.
    Floats,
    /// The eight integer types.
    Integers,
    /// The integers and `bool`.
    Bits,
}

impl Types {
    /// Whether a type is one of these.
    #[must_use]
    pub const fn contain(self, ty: Type) -> bool {
        match self {
            Types::Numbers => !matches!(ty, Type::Bool),
            Types::Floats => ty.is_float(),
            Types::Integers => ty.is_integer(),
            Types::Bits => !ty.is_float(),
        }
    }
}

/// Whether a word is in a list.
macro_rules! has {
    (expanded in) => { false };
    (expanded in expanded $($others:ident)*) => { true };
    (expanded in $first:ident $($others:ident)*) => { has!(expanded in $($others)*) };
    (commutes in) => { false };
    (commutes in commutes $($others:ident)*) => { true };
    (commutes in $first:ident $($others:ident)*) => { has!(commutes in $($others)*) };
}

/// Defines the list of an enumeration of operations, and the names that the text form uses.
macro_rules! names {
    ($op:ident: $($variant:ident $name:literal),* $(,)?) => {
        impl $op {
            /// Every operation, in the order of the enumeration.
            pub const ALL: &[$op] = &[$($op::$variant),*];

            /// The name in the text form of kernels.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($op::$variant => $name),*
                }
            }

            /// The operation with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<$op> {
                Self::ALL.iter().copied().find(|op| op.name() == name)
            }
        }
    };
}

/// The properties of operations. A row has the operation, its name in the text form, the element types that it exists
/// for, and a rough measure of the time that one lane needs, in units of an addition. In brackets: whether it is
/// defined by an expansion into others, and whether its operands commute, down to the last bit of the result. Last, the
/// operation that replaces it in fast math.
macro_rules! operations {
    ($op:ident: $($variant:ident $name:literal $types:ident $cost:literal [$($fact:ident)*] $(=> $fast:ident)?;)*) => {
        names!($op: $($variant $name),*);

        impl $op {
            /// The element types that the operation exists for.
            #[inline]
            #[must_use]
            pub const fn types(self) -> Types {
                match self {
                    $($op::$variant => Types::$types),*
                }
            }

            /// A rough measure of the time that one lane needs: 1 is an addition.
            #[inline]
            #[must_use]
            pub const fn cost(self) -> u32 {
                match self {
                    $($op::$variant => $cost),*
                }
            }

            /// Whether the operation is defined by an expansion into others.
            #[inline]
            #[must_use]
            pub const fn is_transcendental(self) -> bool {
                match self {
                    $($op::$variant => has!(expanded in $($fact)*)),*
                }
            }

            /// Whether the operands commute, down to the last bit of the result.
            #[inline]
            #[must_use]
            pub const fn is_commutative(self) -> bool {
                match self {
                    $($op::$variant => has!(commutes in $($fact)*)),*
                }
            }

            /// The fast math variant; the operation itself if it has none.
            #[inline]
            #[must_use]
            pub const fn fast(self) -> $op {
                match self {
                    $($($op::$variant => $op::$fast,)?)*
                    _ => self,
                }
            }

            /// The operation that this is a fast variant of; itself if it is not one.
            #[inline]
            #[must_use]
            pub const fn exact(self) -> $op {
                match self {
                    $($($op::$fast => $op::$variant,)?)*
                    _ => self,
                }
            }

            /// Whether the operation is a fast math variant.
            #[inline]
            #[must_use]
            pub const fn is_fast(self) -> bool {
                self.exact() as u8 != self as u8
            }
        }
    };
}

operations! { UnaryOp:
    Neg "neg" Numbers 1 [];
    Not "not" Bits 1 [];
    Abs "abs" Numbers 1 [];
    Sqrt "sqrt" Floats 4 [];
    Floor "floor" Floats 1 [];
    Ceil "ceil" Floats 1 [];
    Round "round" Floats 1 [];
    Trunc "trunc" Floats 1 [];
    CountOnes "count_ones" Integers 4 [];
    LeadingZeros "leading_zeros" Integers 1 [];
    TrailingZeros "trailing_zeros" Integers 1 [];
    ReverseBits "reverse_bits" Integers 4 [];
    Exp "exp" Floats 16 [expanded] => FastExp;
    Exp2 "exp2" Floats 16 [expanded] => FastExp2;
    Ln "ln" Floats 16 [expanded] => FastLn;
    Log2 "log2" Floats 16 [expanded] => FastLog2;
    Sin "sin" Floats 16 [expanded] => FastSin;
    Cos "cos" Floats 16 [expanded] => FastCos;
    Tan "tan" Floats 40 [expanded] => FastTan;
    Asin "asin" Floats 40 [expanded] => FastAsin;
    Acos "acos" Floats 40 [expanded] => FastAcos;
    Atan "atan" Floats 40 [expanded] => FastAtan;
    Sinh "sinh" Floats 40 [expanded] => FastSinh;
    Cosh "cosh" Floats 40 [expanded] => FastCosh;
    Tanh "tanh" Floats 40 [expanded] => FastTanh;
    Asinh "asinh" Floats 40 [expanded];
    Acosh "acosh" Floats 40 [expanded];
    Atanh "atanh" Floats 40 [expanded];
    ExpM1 "exp_m1" Floats 40 [expanded];
    Ln1p "ln_1p" Floats 40 [expanded];
    Log10 "log10" Floats 40 [expanded] => FastLog10;
    Cbrt "cbrt" Floats 40 [expanded];
    Erf "erf" Floats 40 [expanded] => FastErf;
    Erfc "erfc" Floats 40 [expanded];
    Erfinv "erfinv" Floats 40 [expanded];
    Tgamma "tgamma" Floats 40 [expanded];
    Lgamma "lgamma" Floats 40 [expanded];
    Rsqrt "rsqrt" Floats 40 [expanded] => FastRsqrt;
    FastExp "fast_exp" Floats 12 [expanded];
    FastExp2 "fast_exp2" Floats 12 [expanded];
    FastLn "fast_ln" Floats 12 [expanded];
    FastLog2 "fast_log2" Floats 12 [expanded];
    FastLog10 "fast_log10" Floats 12 [expanded];
    FastSin "fast_sin" Floats 12 [expanded];
    FastCos "fast_cos" Floats 12 [expanded];
    FastTan "fast_tan" Floats 12 [expanded];
    FastAsin "fast_asin" Floats 12 [expanded];
    FastAcos "fast_acos" Floats 12 [expanded];
    FastAtan "fast_atan" Floats 12 [expanded];
    FastSinh "fast_sinh" Floats 12 [expanded];
    FastCosh "fast_cosh" Floats 12 [expanded];
    FastTanh "fast_tanh" Floats 12 [expanded];
    FastErf "fast_erf" Floats 12 [expanded];
    FastRsqrt "fast_rsqrt" Floats 8 [expanded];
}

operations! { BinaryOp:
    Add "add" Numbers 1 [commutes];
    Sub "sub" Numbers 1 [];
    Mul "mul" Numbers 1 [commutes];
    Div "div" Numbers 4 [];
    Rem "rem" Numbers 16 [];
    Min "min" Numbers 1 [commutes];
    Max "max" Numbers 1 [commutes];
    FMin "fmin" Floats 1 [commutes];
    FMax "fmax" Floats 1 [commutes];
    CopySign "copysign" Floats 1 [];
    MulHi "mul_hi" Integers 1 [commutes];
    And "and" Bits 1 [commutes];
    Or "or" Bits 1 [commutes];
    Xor "xor" Bits 1 [commutes];
    Shl "shl" Integers 1 [];
    Shr "shr" Integers 1 [];
    Hypot "hypot" Floats 40 [expanded commutes] => FastHypot;
    Atan2 "atan2" Floats 40 [expanded] => FastAtan2;
    Pow "pow" Floats 40 [expanded] => FastPow;
    FastHypot "fast_hypot" Floats 40 [expanded];
    FastAtan2 "fast_atan2" Floats 40 [expanded];
    FastPow "fast_pow" Floats 40 [expanded];
}

names!(CompareOp: Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge");
names!(ReduceOp: Add "add", Mul "mul", Min "min", Max "max", And "and", Or "or");

impl CompareOp {
    /// Whether the operands commute.
    #[inline]
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        matches!(self, CompareOp::Eq | CompareOp::Ne)
    }

    /// The equivalent comparison for exchanged operands.
    #[must_use]
    pub const fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Eq | CompareOp::Ne => self,
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
        }
    }
}

impl ReduceOp {
    /// The operation that combines two values.
    #[must_use]
    pub const fn as_binary(self) -> BinaryOp {
        match self {
            ReduceOp::Add => BinaryOp::Add,
            ReduceOp::Mul => BinaryOp::Mul,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::And => BinaryOp::And,
            ReduceOp::Or => BinaryOp::Or,
        }
    }
}

impl AtomicOp {
    /// Every operation, in the order of the binary form of kernels.
    pub const ALL: [AtomicOp; 7] = [
        AtomicOp::Exchange,
        AtomicOp::Reduce(ReduceOp::Add),
        AtomicOp::Reduce(ReduceOp::Mul),
        AtomicOp::Reduce(ReduceOp::Min),
        AtomicOp::Reduce(ReduceOp::Max),
        AtomicOp::Reduce(ReduceOp::And),
        AtomicOp::Reduce(ReduceOp::Or),
    ];

    /// The name in the text form of kernels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AtomicOp::Reduce(op) => op.name(),
            AtomicOp::Exchange => "exchange",
        }
    }

    /// The operation with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<AtomicOp> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}
