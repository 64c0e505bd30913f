//! The transcendental functions.
use super::op::UnaryOp;
use super::scalar::UnaryFn;
use super::types::Type;

/// The function on carriers.
#[must_use]
pub fn function(_op: UnaryOp, _ty: Type) -> Option<UnaryFn> {
    None
}
