//! Code for single values of parameters.
//!
//! A program that runs one kernel with a few values by turns, such as the strides of the passes of a transform, gets a
//! parameter for them ([`super::literals`]). But a divisor, a distance of shifts, a mask of bits, or a factor of the
//! lane's number that is known makes better code: division by multiplication, and loads of neighbouring elements
//! instead of gathers. So where such a parameter takes part in integer arithmetic of that kind, and the kernel runs
//! long with the same values, code for these values is generated in the background, as better code is for any hot
//! kernel ([`super::hot`]).
//!
//! A parameter and a literal of the same bits have the same results, so this affects time and never values.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::backend::{Executable, RawArgument};
use crate::ir::{BinaryOp, Inst, Kernel, Op, ParamId, Value};

/// How many combinations of values have code of their own, at most.
const MAX_VARIANTS: usize = 32;

/// The values of the parameters that a variant is for.
type Words = SmallVec<[u64; 4]>;

/// The variants of a kernel.
pub(super) struct Specialised {
    params: SmallVec<[ParamId; 4]>,
    variants: [OnceLock<Arc<Variant>>; MAX_VARIANTS],
}

/// The code of a kernel for some values of its parameters.
pub(super) struct Variant {
    words: Words,
    busy_ns: AtomicU64,
    is_asked: AtomicBool,
    code: OnceLock<Box<dyn Executable>>,
}

impl Specialised {
    /// Returns none for a kernel that better known values would not make faster.
    pub(super) fn of(kernel: &Kernel) -> Option<Box<Specialised>> {
        let params = deciding_params(kernel);
        let variants = [const { OnceLock::new() }; MAX_VARIANTS];
        (!params.is_empty()).then(|| Box::new(Specialised { params, variants }))
    }

    /// Returns the variant for the arguments of a launch; none if there are too many others.
    pub(super) fn find(&self, arguments: &[RawArgument]) -> Option<&Arc<Variant>> {
        let words = || self.params.iter().map(|param| arguments[param.index()].word);
        for variant in &self.variants {
            let variant = variant.get_or_init(|| Arc::new(Variant::new(words().collect())));
            if variant.words.iter().copied().eq(words()) {
                return Some(variant);
            }
        }
        None
    }

    /// Returns the kernel with the values of a variant as literals. Its parameters are the same.
    pub(super) fn kernel(&self, kernel: &Kernel, variant: &Variant) -> Kernel {
        let known = |param| self.params.iter().position(|one| *one == param);
        kernel.with_constants(|param| known(param).map(|position| variant.words[position]))
    }
}

impl Variant {
    fn new(words: Words) -> Variant {
        Variant { words, busy_ns: AtomicU64::new(0), is_asked: AtomicBool::new(false), code: OnceLock::new() }
    }

    /// The code, once it exists.
    pub(super) fn code(&self) -> Option<&dyn Executable> {
        self.code.get().map(|code| &**code)
    }

    pub(super) fn set_code(&self, code: Box<dyn Executable>) {
        let _ = self.code.set(code);
    }

    /// Adds time. Returns true once, when that makes the variant hot.
    pub(super) fn is_hot(&self, ns: u64, hot_ns: u64) -> bool {
        if self.is_asked.load(Ordering::Relaxed) {
            return false;
        }
        let busy_ns = self.busy_ns.fetch_add(ns, Ordering::Relaxed) + ns;
        busy_ns >= hot_ns && !self.is_asked.swap(true, Ordering::Relaxed)
    }
}

/// The scalar parameters whose values, or values computed from such alone, divide, shift or mask integers of lanes, or
/// multiply what is computed from the lane's number, as the numbers of records are.
///
/// One pass forward finds the values that are computed from parameters alone, and one backward the parameters that
/// reach an operation that decides: a value that is used many times is passed once.
fn deciding_params(kernel: &Kernel) -> SmallVec<[ParamId; 4]> {
    let mut is_uniform = vec![false; kernel.types.len()];
    let mut is_of_lanes = vec![false; kernel.types.len()];
    let mut decides = vec![false; kernel.types.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        let mut from_params = is_computed_by_values(&inst.op);
        inst.op.for_each_operand(|operand| from_params &= is_uniform[operand.index()]);
        inst.values().for_each(|value| is_uniform[value.index()] = from_params);
        let of_lanes =
            is_of_lane_numbers(&inst.op, |value| is_of_lanes[value.index()], |value| is_uniform[value.index()]);
        inst.values().for_each(|value| is_of_lanes[value.index()] = of_lanes);
        let is_record = of_lanes && matches!(inst.op, Op::Binary(BinaryOp::Mul, ..));
        if !from_params && (is_record || is_deciding(kernel, inst)) {
            inst.op.for_each_operand(|operand| decides[operand.index()] = true);
        }
    }
    let mut deciding = SmallVec::<[ParamId; 4]>::new();
    for inst in kernel.regions.iter().rev().flat_map(|region| region.insts.iter().rev()) {
        let at = inst.first.index();
        match inst.op {
            _ if !is_uniform[at] || !decides[at] => {}
            Op::Scalar(param) => deciding.push(param),
            _ => inst.op.for_each_operand(|operand| decides[operand.index()] = true),
        }
    }
    deciding.sort_unstable_by_key(|param| param.index());
    deciding.dedup();
    deciding
}

/// Whether the result of an operation depends on its operands alone.
fn is_computed_by_values(op: &Op) -> bool {
    matches!(op, Op::Const(..) | Op::Scalar(_) | Op::Unary(..) | Op::Binary(..) | Op::Cast(..))
}

/// Whether a result is computed from the lane's number and values that all lanes share, as places in memory are.
fn is_of_lane_numbers(op: &Op, of_lanes: impl Fn(Value) -> bool, is_shared: impl Fn(Value) -> bool) -> bool {
    use BinaryOp::{Add, And, Div, Mul, Rem, Shl, Shr, Sub};
    let is_place = |value: Value| of_lanes(value) || is_shared(value);
    match *op {
        Op::LaneIndex => true,
        Op::Cast(_, a) => of_lanes(a),
        Op::Binary(Add | Sub | Mul | Div | Rem | Shl | Shr | And, a, b) => {
            is_place(a) && is_place(b) && (of_lanes(a) || of_lanes(b))
        }
        _ => false,
    }
}

/// Whether the code for an operation depends much on whether an operand is known.
fn is_deciding(kernel: &Kernel, inst: &Inst) -> bool {
    use BinaryOp::{And, Div, Rem, Shl, Shr};
    matches!(inst.op, Op::Binary(Div | Rem | Shl | Shr | And, ..)) && kernel.ty(inst.first).is_integer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, Builder, Type};

    /// A kernel of three scalar parameters, and the value that it stores.
    fn kernel(result: impl FnOnce(&mut Builder, [Value; 3]) -> Value) -> Kernel {
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U32, Access::Write);
        let params = [(); 3].map(|()| builder.scalar_param(Type::U32));
        let scalars = params.map(|param| builder.scalar(param));
        let result = result(&mut builder, scalars);
        builder.store(output, result);
        builder.finish()
    }

    fn deciding(result: impl FnOnce(&mut Builder, [Value; 3]) -> Value) -> Vec<usize> {
        deciding_params(&kernel(result)).iter().map(|param| param.index()).collect()
    }

    #[test]
    fn parameters_that_divide_shift_or_mask_lanes_decide() {
        for op in [BinaryOp::Div, BinaryOp::Rem, BinaryOp::Shl, BinaryOp::Shr, BinaryOp::And] {
            let of_lanes = deciding(|builder, [a, _, c]| {
                let lane = builder.lane_index();
                let shifted = builder.binary(BinaryOp::Add, lane, a);
                builder.binary(op, shifted, c)
            });
            assert_eq!(of_lanes, [3], "{op:?}: not the first, which is added");
            let computed = deciding(|builder, [a, b, _]| {
                let (lane, both) = (builder.lane_index(), builder.binary(BinaryOp::Mul, a, b));
                builder.binary(op, lane, both)
            });
            assert_eq!(computed, [1, 2], "{op:?}: by what is computed from them");
            let uniform = deciding(|builder, [a, b, _]| {
                let (lane, both) = (builder.lane_index(), builder.binary(op, a, b));
                builder.binary(BinaryOp::Add, lane, both)
            });
            assert!(uniform.is_empty(), "{op:?}: computed once for all lanes");
        }
        let others = deciding(|builder, [a, b, c]| {
            let lane = builder.lane_index();
            [a, b, c].into_iter().fold(lane, |sum, scalar| builder.binary(BinaryOp::Xor, sum, scalar))
        });
        assert!(others.is_empty());
        assert!(Specialised::of(&kernel(|_, [a, ..]| a)).is_none());
    }

    #[test]
    fn a_factor_of_the_lane_decides_and_one_of_other_numbers_does_not() {
        let of_lanes = deciding(|builder, [a, b, _]| {
            let lane = builder.lane_index();
            let record = builder.binary(BinaryOp::Mul, lane, a);
            builder.binary(BinaryOp::Add, record, b)
        });
        assert_eq!(of_lanes, [1]);
        let of_others = deciding(|builder, [a, b, _]| {
            let lane = builder.lane_index();
            let mixed = builder.binary(BinaryOp::Xor, lane, a);
            builder.binary(BinaryOp::Mul, mixed, b)
        });
        assert!(of_others.is_empty());
    }

    /// Without sets, a parameter is listed once for each of 2^64 ways.
    #[test]
    fn a_value_that_is_used_twice_again_and_again_is_passed_once() {
        let deciding = deciding(|builder, [a, b, _]| {
            let lane = builder.lane_index();
            let divisor = (0..64).fold(a, |value, _| {
                let square = builder.binary(BinaryOp::Mul, value, value);
                builder.binary(BinaryOp::Add, square, b)
            });
            builder.binary(BinaryOp::Div, lane, divisor)
        });
        assert_eq!(deciding, [1, 2]);
    }

    #[test]
    fn each_combination_of_values_is_a_variant_up_to_a_bound() {
        let divided = kernel(|builder, [a, b, _]| {
            let lane = builder.lane_index();
            let quotient = builder.binary(BinaryOp::Div, lane, a);
            builder.binary(BinaryOp::Rem, quotient, b)
        });
        let specialised = Specialised::of(&divided).unwrap();
        let find = |words: [u64; 3]| {
            let table = [0, words[0], words[1], words[2]].map(|word| RawArgument { word, length: 0 });
            specialised.find(&table).cloned()
        };
        let first = find([3, 5, 7]).unwrap();
        assert!(Arc::ptr_eq(&first, &find([3, 5, 8]).unwrap()), "the last does not decide");
        assert!(!Arc::ptr_eq(&first, &find([5, 3, 7]).unwrap()));
        let of_variant = specialised.kernel(&divided, &first);
        assert_eq!(of_variant.params, divided.params);
        let constants = of_variant.with_constants(|_| None).to_string();
        assert!(constants.contains("const 3") && constants.contains("const 5") && !constants.contains("const 7"));
        assert!(constants.contains("scalar p3") && !constants.contains("scalar p1"), "{constants}");
        assert_eq!((2..100).filter(|&a| find([a, a, a]).is_some()).count(), MAX_VARIANTS - 2);
        assert!(find([3, 5, 7]).is_some() && find([1000, 0, 0]).is_none());
    }

    #[test]
    fn a_variant_is_hot_once() {
        let variant = Variant::new(Words::new());
        assert_eq!([60, 39, 1, 500].map(|ns| variant.is_hot(ns, 100)), [false, false, true, false]);
    }
}
