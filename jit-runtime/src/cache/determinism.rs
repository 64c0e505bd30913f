//! Results that depend on the order in which lanes run, and how they are made deterministic.
//!
//! Sums and products of floats are rounded, so elements that several lanes combine into depend on the order and the
//! grouping. Launches with separate targets for segments of lanes ([`super::private`]) fix both by sizes alone, and
//! narrow launches run in the order of the lanes. The order of the remaining ones, and of writes by several lanes to
//! one element, depends on timing unless [`set_deterministic`] is on. Such launches then run in the order of the lanes,
//! on one thread.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ir::{BinaryOp, Kernel, Op, ParamId, ReduceOp, Type, UnaryOp, Value};

static IS_DETERMINISTIC: AtomicBool = AtomicBool::new(false);

/// Whether results depend only on the program and its input, see [`set_deterministic`].
#[must_use]
pub fn is_deterministic() -> bool {
    IS_DETERMINISTIC.load(Ordering::Relaxed)
}

/// Requests results that depend neither on the number of threads nor on timing, whatever the cost. Off by default.
///
/// Most results never depend on them. With this on, neither do those of launches in which several lanes write the same
/// element (the lane with the highest number wins), add or multiply floats into targets that have more than two
/// elements for each lane, or use the old element of an operation that changes it. These launches then run on one
/// thread. Recordings of `#[freeze]` functions are affected, too.
pub fn set_deterministic(on: bool) {
    IS_DETERMINISTIC.store(on, Ordering::Relaxed);
}

/// How scattered elements depend on the order of the lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shown {
    /// Sums or products of floats.
    pub(crate) rounds: bool,
    /// Which lane was the last one, or the element before a lane.
    pub(crate) places: bool,
}

impl Shown {
    /// Whether scattered elements depend on the order of the lanes.
    #[cfg(feature = "cuda")]
    pub(crate) fn depends_on_order(self) -> bool {
        self.rounds || self.places
    }

    pub(crate) fn by(kernel: &Kernel) -> Shown {
        let mut shown = Shown::default();
        let mut known = None;
        for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
            match inst.op {
                Op::Scatter { reduce: Some(op), buffer, .. } => shown.rounds |= is_rounded(op, ty(kernel, buffer)),
                Op::Scatter { reduce: None, index, .. } => {
                    let definitions = known.get_or_insert_with(|| Definitions::of(kernel));
                    shown.places |= !definitions.differs_by_lane[index.index()];
                }
                Op::Atomic { .. } | Op::CompareExchange { .. } => shown.places = true,
                _ => {}
            }
        }
        shown
    }
}

fn ty(kernel: &Kernel, buffer: ParamId) -> Type {
    kernel.param(buffer).ty()
}

/// Whether a combination of several values depends on their order.
pub(crate) const fn is_rounded(op: ReduceOp, ty: Type) -> bool {
    ty.is_float() && matches!(op, ReduceOp::Add | ReduceOp::Mul)
}

/// What is known of each value: found in the order of the operations, so that a value that is used many times is passed
/// once.
struct Definitions<'k> {
    kernel: &'k Kernel,
    op_of: Vec<Option<&'k Op>>,
    /// Whether the value is the same in all lanes.
    is_shared: Vec<bool>,
    /// Whether the value differs in all lanes.
    differs_by_lane: Vec<bool>,
}

impl<'k> Definitions<'k> {
    fn of(kernel: &'k Kernel) -> Self {
        let count = kernel.types.len();
        let (is_shared, differs_by_lane) = (vec![false; count], vec![false; count]);
        let mut definitions = Definitions { kernel, op_of: vec![None; count], is_shared, differs_by_lane };
        for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
            for value in inst.values() {
                definitions.op_of[value.index()] = Some(&inst.op);
                definitions.is_shared[value.index()] = definitions.is_computed_from_shared(&inst.op);
                definitions.differs_by_lane[value.index()] = definitions.keeps_lanes_apart(value, &inst.op);
            }
        }
        definitions
    }

    /// Whether an operation has different results in all lanes. Sums, differences and products with odd numbers
    /// preserve that, wrapped or not. Products with other numbers lose bits of the lane's number, which has 32, in a
    /// type of 32.
    fn keeps_lanes_apart(&self, result: Value, op: &Op) -> bool {
        let differs = |value: Value| self.differs_by_lane[value.index()];
        let is_shared = |value: Value| self.is_shared[value.index()];
        let is_wide = |value: Value| self.kernel.ty(value).bits() >= 32;
        let is_product = |a: Value, b: Value| differs(a) && self.is_odd(b) || self.is_odd(a) && differs(b);
        match *op {
            Op::LaneIndex => true,
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor, a, b) => {
                differs(a) && is_shared(b) || is_shared(a) && differs(b)
            }
            Op::Binary(BinaryOp::Mul, a, b) => is_product(a, b),
            Op::Fma(a, b, c) => is_product(a, b) && is_shared(c),
            Op::Unary(UnaryOp::Neg | UnaryOp::Not | UnaryOp::ReverseBits, a) => differs(a),
            Op::Cast(_, a) | Op::Bitcast(_, a) => is_wide(result) && self.kernel.ty(result).is_integer() && differs(a),
            _ => false,
        }
    }

    /// Whether an operation has the same result in all lanes.
    fn is_computed_from_shared(&self, op: &Op) -> bool {
        let is_shared = |value: Value| self.is_shared[value.index()];
        match *op {
            Op::Const(..) | Op::Scalar(_) => true,
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Bitcast(_, a) => is_shared(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => is_shared(a) && is_shared(b),
            _ => false,
        }
    }

    fn is_odd(&self, value: Value) -> bool {
        matches!(self.op_of[value.index()], Some(Op::Const(_, bits)) if bits & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, Builder, CompareOp};

    fn shown(make: impl FnOnce(&mut Builder) -> Value) -> bool {
        let mut b = Builder::new();
        let target = b.buffer(Type::F32, Access::ReadWrite);
        let (index, value) = (make(&mut b), b.constant(Type::F32, 0));
        b.scatter(None, target, index, value, None);
        Shown::by(&b.finish()).places
    }

    #[test]
    fn an_old_element_reveals_the_position_of_its_lane() {
        let mut b = Builder::new();
        let target = b.buffer(Type::U32, Access::ReadWrite);
        let lane = b.lane_index();
        let _ = b.atomic(crate::ir::AtomicOp::Exchange, target, lane, lane, None);
        assert!(Shown::by(&b.finish()).places);
    }

    /// A walk over all uses would take 2^64 steps.
    #[test]
    fn a_value_that_is_used_twice_again_and_again_is_asked_once() {
        assert!(!shown(|b| {
            let (lane, seed) = (b.lane_index(), b.constant(Type::U32, 7));
            let hash = (0..64).fold(seed, |hash, _| {
                let shifted = b.binary(BinaryOp::Shr, hash, seed);
                b.binary(BinaryOp::Xor, hash, shifted)
            });
            b.binary(BinaryOp::Add, lane, hash)
        }));
    }

    #[test]
    fn positions_of_lanes_that_all_differ_show_no_order() {
        let shift = |op: BinaryOp, number: u64| {
            move |b: &mut Builder| {
                let (lane, number) = (b.lane_index(), b.constant(Type::U32, number));
                b.binary(op, lane, number)
            }
        };
        assert!(!shown(Builder::lane_index));
        for (op, number) in [(BinaryOp::Add, 7), (BinaryOp::Sub, 7), (BinaryOp::Xor, 5), (BinaryOp::Mul, 3)] {
            assert!(!shown(shift(op, number)), "{op:?} {number}");
        }
        for (op, number) in [(BinaryOp::Mul, 2), (BinaryOp::Rem, 3), (BinaryOp::And, 7), (BinaryOp::Min, 7)] {
            assert!(shown(shift(op, number)), "{op:?} {number}");
        }
        assert!(shown(|b| {
            let lane = b.lane_index();
            b.cast(Type::U16, lane)
        }));
        assert!(!shown(|b| {
            let lane = b.lane_index();
            b.cast(Type::I64, lane)
        }));
        // Floats have fewer bits than lane numbers.
        assert!(shown(|b| {
            let lane = b.lane_index();
            let float = b.cast(Type::F32, lane);
            b.cast(Type::U32, float)
        }));
        let by = |make: fn(&mut Builder, Value, Value) -> Value| {
            move |b: &mut Builder| {
                let (lane, number) = (b.lane_index(), b.constant(Type::U32, 3));
                make(b, lane, number)
            }
        };
        assert!(shown(by(|b, lane, _| b.binary(BinaryOp::Sub, lane, lane))));
        assert!(shown(by(|b, lane, number| {
            let quotient = b.binary(BinaryOp::Div, lane, number);
            b.binary(BinaryOp::Sub, lane, quotient)
        })));
        assert!(!shown(by(|b, lane, number| b.fma(lane, number, number))));
        assert!(shown(by(|b, lane, number| b.fma(lane, number, lane))));
        assert!(shown(by(|b, lane, number| {
            let even = b.binary(BinaryOp::Add, number, number);
            b.fma(lane, even, number)
        })));
        assert!(shown(|b| b.constant(Type::U32, 3)));
        assert!(shown(|b| {
            let (lane, number) = (b.lane_index(), b.constant(Type::U32, 1));
            let is_first = b.compare(CompareOp::Lt, lane, number);
            b.select(is_first, lane, number)
        }));
    }
}
