//! The derivatives of operations that are lowered to others: each is the transposed operation, not the transpose of
//! what it was lowered to.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};
use smallvec::smallvec;

use super::Scan;
use super::blocks::block_reduced;
use super::prefix::scan;
use crate::graph::Var;
use crate::graph::tape::{Call, Flow, Rule};
use crate::size::Size;
use crate::trace::{gather, record};

/// The derivative of a reduction of blocks.
pub(super) struct BlockRule {
    pub(super) op: ReduceOp,
    pub(super) block: Size,
}

impl BlockRule {
    /// Returns the derivative of each block's result by each of its elements, for a result of each block.
    #[track_caller]
    fn weight(&self, x: &Var, y: &Var) -> Option<Var> {
        let in_blocks = |of: Scan| scan(x, self.op, of.per_block(self.block));
        match self.op {
            ReduceOp::Add => None,
            // The product of all others, zeros among them or not.
            ReduceOp::Mul => {
                let others = [in_blocks(Scan::exclusive()), in_blocks(Scan::exclusive().reverse())];
                Some(record::binary(BinaryOp::Mul, &others[0], &others[1]))
            }
            _ => Some(is_extreme(x, &self.repeated(y, x))),
        }
    }

    /// Returns a value of each block for each of its elements.
    #[track_caller]
    fn repeated(&self, value: &Var, x: &Var) -> Var {
        if value.width() == 1 {
            return value.clone();
        }
        let lane = record::lane_index(x.width());
        gather::gather(value, &record::binary(BinaryOp::Div, &lane, &record::size(self.block)), None)
    }
}

/// Returns one where an element equals the result of the reduction, zero elsewhere.
#[track_caller]
fn is_extreme(x: &Var, y: &Var) -> Var {
    record::cast(x.ty(), &record::compare(CompareOp::Eq, x, y))
}

impl Rule for BlockRule {
    fn name(&self) -> &str {
        "block_reduce"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let (x, y) = (&call.inputs[0], call.results()[0].clone());
        let (Some(gradient), Some(y)) = (&gradients[0], y) else { return Ok(smallvec![None]) };
        let repeated = self.repeated(gradient, x);
        let weighted = self.weight(x, &y).map(|weight| record::binary(BinaryOp::Mul, &repeated, &weight));
        Ok(smallvec![Some(weighted.unwrap_or(repeated))])
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let (x, y) = (&call.inputs[0], call.results()[0].clone());
        let (Some(tangent), Some(y)) = (&tangents[0], y) else { return Ok(smallvec![None]) };
        let tangent = record::broadcast(tangent, x.width());
        let weighted = self.weight(x, &y).map(|weight| record::binary(BinaryOp::Mul, &tangent, &weight));
        Ok(smallvec![Some(block_reduced(ReduceOp::Add, &weighted.unwrap_or(tangent), self.block))])
    }
}

/// Returns the derivative of a product of all elements by each of them: the product of all others.
#[track_caller]
pub(crate) fn product_of_others(x: &Var) -> Var {
    let wide = match x.ty() {
        Type::F16 | Type::BF16 => record::cast(Type::F32, x),
        _ => x.clone(),
    };
    let others = [Scan::exclusive(), Scan::exclusive().reverse()].map(|of| scan(&wide, ReduceOp::Mul, of));
    record::cast(x.ty(), &record::binary(BinaryOp::Mul, &others[0], &others[1]))
}
