//! The text form of kernels, created only on request. [`parse`](mod@super::parse) reads it back.
//!
//! ```text
//! kernel(p0: read f32, p1: write f32, p2: scalar u32) locals(l0: f32[16]) {
//!     v0: f32 = load p0
//!     v1: f32 = const 0.5
//!     v2: bool = lt v0, v1
//!     v7: f32 = loop (v0) while (v3: f32) {
//!         v4: bool = lt v3, v1
//!         yield v4
//!     } do {
//!         v5: f32 = add v3, v1
//!         yield v5
//!     }
//!     v8: f32 = gather p0[v6] where v2
//!     scatter.add p3[v6] = v8 where v2
//!     v9: u32 = atomic.add p4[v6] = v6
//!     v10: u32, v11: bool = compare_exchange p4[v6] = v9, v6
//!     local_write l0[v6] = v8
//!     v12: f32 = local_read l0[v9]
//!     v13: f32 = switch v6 case 0 {
//!         yield v12
//!     } case 1 {
//!         yield v8
//!     } default {
//!         yield v7
//!     }
//!     store p1, v7
//! }
//! ```
//!
//! Floats are printed as the shortest decimal that reads back as the same bits, and NaNs with an unusual payload as hex
//! bits.

use std::fmt;

use half::{bf16, f16};

use super::kernel::{Inst, Kernel, LocalMemory, Param, Region, RegionId, TOP, Value};
use super::op::Op;
use super::scalar;
use super::types::Type;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kernel(")?;
        for (index, param) in self.params.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match param {
                Param::Buffer { ty, access } => write!(f, "{comma}p{index}: {} {ty}", access.name())?,
                Param::Scalar { ty } => write!(f, "{comma}p{index}: scalar {ty}")?,
            }
        }
        f.write_str(") ")?;
        if !self.locals.is_empty() {
            f.write_str("locals(")?;
            for (index, LocalMemory { ty, len }) in self.locals.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}l{index}: {ty}[{len}]")?;
            }
            f.write_str(") ")?;
        }
        Printer { kernel: self, nested: true }.region(f, TOP, 0)?;
        f.write_str("\n")
    }
}

impl Kernel {
    /// One instruction in the text form, without the regions that it owns.
    #[must_use]
    pub fn display_inst(&self, inst: &Inst) -> String {
        struct Line<'a>(&'a Kernel, &'a Inst);
        impl fmt::Display for Line<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Printer { kernel: self.0, nested: false }.inst(f, self.1, 0)
            }
        }
        Line(self, inst).to_string()
    }
}

struct Printer<'a> {
    kernel: &'a Kernel,
    /// Whether to print nested regions, not only their position.
    nested: bool,
}

impl Printer<'_> {
    fn region(&self, f: &mut fmt::Formatter<'_>, region: RegionId, depth: usize) -> fmt::Result {
        let Some(Region { params, insts, yields }) = self.kernel.regions.get(region.index()) else {
            return write!(f, "{{ {region} }}");
        };
        if !params.is_empty() {
            f.write_str("(")?;
            self.typed_values(f, params)?;
            f.write_str(") ")?;
        }
        if !self.nested {
            return write!(f, "{{ .. }}");
        }
        f.write_str("{\n")?;
        for inst in insts {
            indent(f, depth + 1)?;
            self.inst(f, inst, depth + 1)?;
            f.write_str("\n")?;
        }
        if !yields.is_empty() {
            indent(f, depth + 1)?;
            f.write_str("yield ")?;
            values(f, yields)?;
            f.write_str("\n")?;
        }
        indent(f, depth)?;
        f.write_str("}")
    }

    /// Values with their types; `?` for one without a type, which occurs only in an invalid kernel.
    fn typed_values(&self, f: &mut fmt::Formatter<'_>, list: &[Value]) -> fmt::Result {
        for (index, value) in list.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let ty = self.kernel.types.get(value.index()).map_or("?", |ty| ty.name());
            write!(f, "{comma}{value}: {ty}")?;
        }
        Ok(())
    }

    fn inst(&self, f: &mut fmt::Formatter<'_>, inst: &Inst, depth: usize) -> fmt::Result {
        if inst.results > 0 {
            // An invalid kernel may claim any number of results.
            let results: Vec<Value> = inst.values().take(self.kernel.types.len() + 1).collect();
            self.typed_values(f, &results)?;
            f.write_str(" = ")?;
        }
        match inst.op {
            Op::Const(ty, bits) => write!(f, "const {}", Literal(ty, bits)),
            Op::LaneIndex => f.write_str("lane_index"),
            Op::Scalar(param) => write!(f, "scalar {param}"),
            Op::Unary(op, a) => write!(f, "{} {a}", op.name()),
            Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", op.name()),
            Op::Fma(a, b, c) => write!(f, "fma {a}, {b}, {c}"),
            Op::Compare(op, a, b) => write!(f, "{} {a}, {b}", op.name()),
            Op::Select(mask, a, b) => write!(f, "select {mask}, {a}, {b}"),
            Op::Cast(_, a) => write!(f, "cast {a}"),
            Op::Bitcast(_, a) => write!(f, "bitcast {a}"),
            Op::Load(buffer) => write!(f, "load {buffer}"),
            Op::Gather { buffer, index, mask } => {
                write!(f, "gather {buffer}[{index}]")?;
                where_mask(f, mask)
            }
            Op::Store { buffer, value } => write!(f, "store {buffer}, {value}"),
            Op::Scatter { reduce, buffer, index, value, mask } => {
                f.write_str("scatter")?;
                if let Some(op) = reduce {
                    write!(f, ".{}", op.name())?;
                }
                write!(f, " {buffer}[{index}] = {value}")?;
                where_mask(f, mask)
            }
            Op::Atomic { op, buffer, index, value, mask } => {
                write!(f, "atomic.{} {buffer}[{index}] = {value}", op.name())?;
                where_mask(f, mask)
            }
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                write!(f, "compare_exchange {buffer}[{index}] = {expected}, {value}")?;
                where_mask(f, mask)
            }
            Op::Reduce { op, buffer, value } => write!(f, "reduce.{} {buffer}, {value}", op.name()),
            Op::Loop { ref inits, condition, body } => {
                f.write_str("loop (")?;
                values(f, inits)?;
                f.write_str(") while ")?;
                self.region(f, condition, depth)?;
                f.write_str(" do ")?;
                self.region(f, body, depth)
            }
            Op::If { condition, then_region, else_region } => {
                write!(f, "if {condition} ")?;
                self.region(f, then_region, depth)?;
                f.write_str(" else ")?;
                self.region(f, else_region, depth)
            }
            Op::Switch { index, ref cases, default } => {
                write!(f, "switch {index} ")?;
                for (position, &case) in cases.iter().enumerate() {
                    write!(f, "case {position} ")?;
                    self.region(f, case, depth)?;
                    f.write_str(" ")?;
                }
                f.write_str("default ")?;
                self.region(f, default, depth)
            }
            Op::LocalRead { local, index } => write!(f, "local_read {local}[{index}]"),
            Op::LocalWrite { local, index, value } => write!(f, "local_write {local}[{index}] = {value}"),
        }
    }
}

fn indent(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "{:1$}", "", depth * 4)
}

fn values(f: &mut fmt::Formatter<'_>, list: &[Value]) -> fmt::Result {
    for (index, value) in list.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{value}")?;
    }
    Ok(())
}

fn where_mask(f: &mut fmt::Formatter<'_>, mask: Option<Value>) -> fmt::Result {
    mask.map_or(Ok(()), |mask| write!(f, " where {mask}"))
}

/// A constant as text: exact and as short as possible.
#[derive(Clone, Copy, Debug)]
pub struct Literal(
    /// The type.
    pub Type,
    /// The carrier.
    pub u64,
);

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Literal(ty, bits) = *self;
        match ty {
            _ if bits & !ty.bit_mask() != 0 => write!(f, "{bits:#x}"),
            Type::Bool => write!(f, "{}", bits != 0),
            Type::F16 => float(f, bits, f16::NAN.to_bits().into(), f16::from_bits(bits as u16).to_f32()),
            Type::BF16 => float(f, bits, bf16::NAN.to_bits().into(), bf16::from_bits(bits as u16).to_f32()),
            Type::F32 => float(f, bits, f32::NAN.to_bits().into(), f32::from_bits(bits as u32)),
            Type::F64 => float(f, bits, f64::NAN.to_bits(), f64::from_bits(bits)),
            _ if ty.is_signed_integer() => write!(f, "{}", scalar::cast(ty, Type::I64, bits) as i64),
            _ => write!(f, "{bits}"),
        }
    }
}

/// `{:?}` of Rust's floats is the shortest decimal that reads back; halves read back through `f32`.
fn float<T: fmt::Debug + PartialEq>(f: &mut fmt::Formatter<'_>, bits: u64, usual_nan: u64, value: T) -> fmt::Result {
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    let is_nan = value != value;
    match is_nan {
        true if bits == usual_nan => f.write_str("nan"),
        true => write!(f, "{bits:#x}"),
        false => write!(f, "{value:?}"),
    }
}
