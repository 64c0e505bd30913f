//! The derivatives of prefix reductions, which are prefix reductions themselves. Those of products that are
//! differentiated again are products of elements at doubling distances (`doubling`).

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};
use smallvec::smallvec;

use super::Scan;
use super::doubling::Doubling;
use super::prefix::{prefix_of, scan, scan_columns};
use crate::graph::Var;
use crate::graph::gradients;
use crate::graph::payload::How;
use crate::graph::tape::{Call, Flow, Rule};
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record};

/// The derivative of a prefix reduction.
pub(super) struct PrefixRule {
    pub(super) op: ReduceOp,
    pub(super) scan: Scan,
}

impl Rule for PrefixRule {
    fn name(&self) -> &str {
        "prefix"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let Some(gradient) = &gradients[0] else { return Ok(smallvec![None]) };
        let x = &call.inputs[0];
        let gradient = record::broadcast(gradient, x.width());
        Ok(smallvec![Some(match self.op {
            ReduceOp::Mul if gradients::is_suspended() => Products::of(x, self.scan).backward(&gradient),
            ReduceOp::Mul => Doubling::of(x, self.scan).backward(&gradient),
            ReduceOp::Min | ReduceOp::Max => Winners::of(x, self.op, self.scan).backward(&gradient),
            _ => scan(&gradient, ReduceOp::Add, self.scan.reversed()),
        })])
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let Some(tangent) = &tangents[0] else { return Ok(smallvec![None]) };
        let x = &call.inputs[0];
        let tangent = record::broadcast(tangent, x.width());
        Ok(smallvec![Some(match self.op {
            ReduceOp::Mul if gradients::is_suspended() => Products::of(x, self.scan).forward(&tangent),
            ReduceOp::Mul => Doubling::of(x, self.scan).forward(&tangent),
            ReduceOp::Min | ReduceOp::Max => Winners::of(x, self.op, self.scan).forward(&tangent),
            _ => scan(&tangent, ReduceOp::Add, self.scan),
        })])
    }
}

/// The derivative of prefix sums along the middle axis of three.
pub(super) struct ColumnsRule {
    pub(super) scan: Scan,
    pub(super) lengths: [Size; 3],
}

impl ColumnsRule {
    #[track_caller]
    fn summed(&self, call: &Call, flows: &[Option<Var>], scan: Scan) -> Flow {
        let summed = |flow: &Var| {
            let flow = record::broadcast(flow, call.inputs[0].width());
            scan_columns(&flow, ReduceOp::Add, scan, self.lengths)
        };
        smallvec![flows[0].as_ref().map(summed)]
    }
}

impl Rule for ColumnsRule {
    fn name(&self) -> &str {
        "prefix"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(self.summed(call, gradients, self.scan.reversed()))
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        Ok(self.summed(call, tangents, self.scan))
    }
}

/// Prefix products, with what their derivatives need.
///
/// As long as no factor is zero, the derivative of a product by a factor is their quotient. A product with one zero
/// depends on that factor alone, by the product of all others, and one with two zeros on none. So the first zero in the
/// order of the scan is replaced by one in a second scan, whose products are those of the others. These values do not
/// have the second derivatives of the products where factors are zero.
struct Products {
    scan: Scan,
    /// The type of the array; halves are computed in single precision.
    ty: Type,
    x: Var,
    y: Var,
    /// The products without the first zero.
    others: Var,
    is_first_zero: Var,
    /// Whether there is a zero up to the element, or at it.
    is_beyond: Var,
}

impl Products {
    #[track_caller]
    fn of(x: &Var, of: Scan) -> Products {
        let ty = x.ty();
        let x = match ty {
            Type::F16 | Type::BF16 => record::cast(Type::F32, x),
            _ => x.clone(),
        };
        let is_zero = record::compare(CompareOp::Eq, &x, &record::literal(x.ty(), 0, 1));
        let inclusive = Scan { is_exclusive: false, ..of };
        let zeros = prefix_of(&record::cast(Type::U32, &is_zero), ReduceOp::Add, inclusive);
        let [none, one] = [0, 1].map(|count| record::literal(Type::U32, count, 1));
        let is_first_zero = record::and(&is_zero, &record::compare(CompareOp::Eq, &zeros, &one));
        let is_beyond = record::compare(CompareOp::Ne, &zeros, &none);
        let others = record::select(&is_first_zero, &number(x.ty(), 1), &x);
        let [y, others] = [&x, &others].map(|factors| scan(factors, ReduceOp::Mul, of));
        Products { scan: of, ty, x, y, others, is_first_zero, is_beyond }
    }

    fn wide(&self, flow: &Var) -> Var {
        record::cast(self.x.ty(), flow)
    }

    /// Returns a value divided by each factor, and zero from the first zero on.
    #[track_caller]
    fn by_factor(&self, value: &Var) -> Var {
        let [zero, one] = [0, 1].map(|value| number(self.x.ty(), value));
        let divisor = record::select(&self.is_beyond, &one, &self.x);
        record::select(&self.is_beyond, &zero, &record::binary(BinaryOp::Div, value, &divisor))
    }

    #[track_caller]
    fn backward(&self, gradient: &Var) -> Var {
        let gradient = self.wide(gradient);
        let [all, others] = [&self.y, &self.others].map(|products| {
            let weighted = record::binary(BinaryOp::Mul, &gradient, products);
            scan(&weighted, ReduceOp::Add, self.scan.reversed())
        });
        record::cast(self.ty, &record::select(&self.is_first_zero, &others, &self.by_factor(&all)))
    }

    #[track_caller]
    fn forward(&self, tangent: &Var) -> Var {
        let tangent = self.wide(tangent);
        let at_zero = record::select(&self.is_first_zero, &tangent, &number(self.x.ty(), 0));
        let [all, of_zero] = [&self.by_factor(&tangent), &at_zero].map(|flow| scan(flow, ReduceOp::Add, self.scan));
        let parts = [(&self.y, &all), (&self.others, &of_zero)].map(|(a, b)| record::binary(BinaryOp::Mul, a, b));
        record::cast(self.ty, &record::binary(BinaryOp::Add, &parts[0], &parts[1]))
    }
}

/// Returns zero or one, in a float type.
#[track_caller]
pub(super) fn number(ty: Type, value: u64) -> Var {
    record::cast(ty, &record::literal(Type::U32, value, 1))
}

/// The element that each prefix minimum or maximum is: of equal ones the first in the order of the scan, and the first
/// NaN.
struct Winners {
    index: Var,
    /// Where there is one: an exclusive scan begins with none. `None` if everywhere.
    mask: Option<Var>,
}

impl Winners {
    #[track_caller]
    fn of(x: &Var, op: ReduceOp, of: Scan) -> Winners {
        let lane = record::lane_index(x.width());
        let (before, has_before) = before(x, &lane, of);
        let inclusive = Scan { is_exclusive: false, ..of };
        let y = prefix_of(x, op, inclusive);
        let previous = gather::gather(&y, &before, Some(&has_before));
        let is_other = record::compare(CompareOp::Ne, &y, &previous);
        // Nothing follows NaN.
        let is_new = record::and(&is_other, &record::compare(CompareOp::Eq, &previous, &previous));
        let is_new = record::select(&has_before, &is_new, &record::literal(Type::Bool, 1, 1));
        let (no_lane, latest) = if of.is_reverse { (u32::MAX, ReduceOp::Min) } else { (0, ReduceOp::Max) };
        let marked = record::select(&is_new, &lane, &record::literal(Type::U32, u64::from(no_lane), 1));
        let index = prefix_of(&marked, latest, inclusive);
        match of.is_exclusive {
            true => Winners { index: gather::gather(&index, &before, Some(&has_before)), mask: Some(has_before) },
            false => Winners { index, mask: None },
        }
    }

    #[track_caller]
    fn backward(&self, gradient: &Var) -> Var {
        let mut flow = record::literal(gradient.ty(), 0, gradient.width());
        let (index, mask) = (&self.index, self.mask.as_ref());
        let request = Request { how: How::Reduce(ReduceOp::Add), index, value: gradient, expected: None, mask };
        scatter::scatter(&mut flow, &request);
        flow
    }

    #[track_caller]
    fn forward(&self, tangent: &Var) -> Var {
        gather::gather(tangent, &self.index, self.mask.as_ref())
    }
}

/// Returns the lane before each one in the order of a scan, and whether there is one in its block.
#[track_caller]
fn before(x: &Var, lane: &Var, scan: Scan) -> (Var, Var) {
    let one = record::literal(Type::U32, 1, 1);
    let zero = record::literal(Type::U32, 0, 1);
    let next = record::binary(BinaryOp::Add, lane, &one);
    let position = if scan.is_reverse { &next } else { lane };
    let mut has_before = match scan.block {
        Some(block) => {
            let within = record::binary(BinaryOp::Rem, position, &record::size(block));
            record::compare(CompareOp::Ne, &within, &zero)
        }
        None => record::compare(CompareOp::Ne, position, &zero),
    };
    if scan.is_reverse {
        let is_inside = record::compare(CompareOp::Lt, &next, &record::size(x.width()));
        has_before = record::and(&has_before, &is_inside);
        return (next, has_before);
    }
    (record::binary(BinaryOp::Sub, lane, &one), has_before)
}
