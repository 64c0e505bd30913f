//! NaN as bits: one of many, whose sign and payload are what the operation, the processor and the compiler made of
//! them.

use jit_runtime::ir::{CompareOp, Type};

use crate::graph::Var;
use crate::trace::record;

/// Floats with the bits of Rust's `NAN` for every NaN: what reads signs or bits then gives the same on every device, in
/// whatever way the NaN came about.
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
