//! Gathers of elements that are a fixed distance apart: see [`strides`](crate::backend::llvm::strides).

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntULT;

use super::Codegen;
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::strides::Stride;
use crate::ir::{ParamId, Type, Value};

/// The most lanes whose elements are read one by one.
const MOST_LANES: u32 = 16;

impl Codegen<'_> {
    /// The distance between the elements of lanes, if a gather at an index reads them one by one.
    pub(super) fn stride(&self, index: Value) -> Option<Stride> {
        self.analysis.strides[index.index()].filter(|_| !self.is_edge && self.lanes <= MOST_LANES)
    }

    /// Gathers a packet, element by element if the first and the last one are in range: then all of them are.
    pub(super) fn gather_strided(
        &mut self,
        stride: Stride,
        buffer: ParamId,
        index: Value,
        packet: usize,
        lanes: Option<Raw>,
    ) -> Raw {
        let (index_type, ty) = (self.ty(index), self.element(buffer));
        let indices = self.vectors(index)[packet];
        let first = self.emit.after_definition(indices, |e| e.extract_element(indices, e.i64(0)));
        let first = self.wide_index(index_type, first);
        let stride = match stride {
            Stride::Constant(number) if index_type == Type::I32 => self.emit.i64(i64::from(number as i32) as u64),
            Stride::Constant(number) => self.emit.i64(number),
            Stride::Shared(value) => self.wide_index(index_type, self.scalar(value)),
        };
        let at = |codegen: &Self, lane: u32| {
            let distance = codegen.emit.mul(stride, codegen.emit.i64(lane.into()));
            codegen.emit.add(first, distance)
        };
        // In 64 bits nothing wraps around. Indices that do in 32 bits are elsewhere, or have a last one out of range.
        let starts_inside = self.is_run_inside(buffer, index_type, first, 1);
        let last = at(self, self.lanes - 1);
        let limit = self.limit_of(buffer, index_type);
        let ends_inside = self.emit.icmp(LLVMIntULT, last, limit);
        self.gather_if(self.emit.and(starts_inside, ends_inside), buffer, index, packet, lanes, |codegen| {
            let e = &codegen.emit;
            let element = e.memory_type(ty);
            (0..codegen.lanes).fold(e.zero(e.vector(element, codegen.lanes)), |vector, lane| {
                let address = codegen.element_address(buffer, at(codegen, lane));
                e.insert_element(vector, e.load(element, address, ty.size_bytes()), e.i64(lane.into()))
            })
        })
    }
}
