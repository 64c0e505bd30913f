//! Recording library calls, such as prefix reductions, sorting and matrix products.
//!
//! A node holds the call. Its operands are written to memory before it runs; its results are separate nodes. Values
//! stay lazy until they are observed. A result that has no owner any more is computed with the others and dropped.

use jit_runtime::Site;
use jit_runtime::ir::Type;
use jit_runtime::launch::native::Call;
use smallvec::SmallVec;

use super::region;
use crate::graph::node::{Draft, Var};
use crate::graph::numbering;
use crate::graph::op::Op;
use crate::graph::payload::{LibraryCallPayload, Payload, RegionId, Sizes};
use crate::misuse::Misuse;
use crate::size::Size;
use crate::size::extent::Extent;

/// Returns the sizes in a call.
pub(crate) fn sizes(sizes: impl IntoIterator<Item = Size>) -> Sizes {
    sizes.into_iter().collect()
}

/// Records a call with one result.
///
/// # Panics
///
/// When an operand is known only inside a traced loop.
#[track_caller]
pub(crate) fn call(call: Call, sizes: Sizes, operands: &[&Var], ty: Type, width: impl Into<Size>) -> Var {
    let mut results = call_for_all(call, sizes, operands, &[(ty, width.into())]);
    results.remove(0)
}

/// Records a call of at most three operands; returns its results.
///
/// # Panics
///
/// When an operand is known only inside a traced loop.
#[track_caller]
pub(crate) fn call_for_all(
    call: Call,
    sizes: Sizes,
    operands: &[&Var],
    results: &[(Type, Size)],
) -> SmallVec<[Var; 2]> {
    // No closure, so that the reported line is that of our caller.
    for operand in operands {
        refuse_inside_of_loops(operand, call.name());
    }
    let site = Site::here();
    let draft = |op, ty, width, operands, position, word| Draft {
        op,
        ty,
        width,
        region: RegionId::NONE,
        flags: 0,
        operands,
        position,
        word,
        site,
    };
    let slots = [0, 1, 2].map(|slot| operands.get(slot).copied());
    let widest = operands.iter().map(|operand| operand.extent()).max_by_key(|width| width.lanes).unwrap_or(Extent::ONE);
    let payload = Payload::LibraryCall(LibraryCallPayload { call, sizes, results: results.into() });
    let node = Var::new(draft(Op::LibraryCall, Type::Bool, widest, slots, 0, payload.into_word()));
    let result = |(position, (ty, width)): (usize, &(Type, Size))| {
        let result =
            Var::new(draft(Op::LibraryResult, *ty, Extent::of(*width), [Some(&node), None, None], position, 0));
        numbering::note_made(&result);
        result
    };
    results.iter().enumerate().map(result).collect()
}

/// Rejects operands in loops: a library call reads all lanes, but the lanes of a loop are in different iterations.
#[track_caller]
pub(crate) fn refuse_inside_of_loops(a: &Var, name: &str) {
    if a.region() == RegionId::NONE {
        return;
    }
    let site = Site::here();
    region::check(a, site);
    let what = format!("`{name}` reads all lanes, and those of a traced loop run independently");
    let mut misuse = Misuse::new(what, site).value("the value", a);
    if let Some(begin) = region::site_of(a.region()) {
        misuse = misuse.place("the loop begins", begin);
    }
    misuse.hint("call it before or after the loop").panic()
}
