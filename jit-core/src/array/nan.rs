//! Canonical NaN. The sign and payload of a NaN depend on the operation, the processor and the compiler.

use jit_runtime::ir::{CompareOp, Type};

use crate::graph::Var;
use crate::trace::record;

/// Replaces every NaN by the bits of Rust's `NAN`. Operations that read signs or bits then return the same on every
/// device, however the NaN was produced.
#[track_caller]
pub(super) fn canonical(value: &Var) -> Var {
    let bits = match value.ty() {
        Type::F16 => 0x7e00,
        Type::BF16 => 0x7fc0,
        Type::F32 => f32::NAN.to_bits().into(),
        _ => f64::NAN.to_bits(),
    };
    let is_number = record::compare(CompareOp::Eq, value, value);
    record::select(&is_number, value, &record::literal(value.ty(), bits, 1))
}
