//! Elements of a part of memory, moved to lanes by their positions there.
//!
//! Processors with 512-bit registers select from two registers at once, older ones from one.

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntUGE;
use smallvec::SmallVec;

use super::Codegen;
use crate::backend::llvm::emit::{Conversion, Raw};
use crate::backend::target::Architecture;
use crate::ir::{ParamId, Type};

/// The instructions that move the entries of one or two registers.
struct Moves {
    /// Entries in a register.
    entries: u32,
    /// The bits of an entry.
    bits: u32,
    of_one: &'static str,
    of_two: Option<&'static str>,
}

impl Codegen<'_> {
    fn moves(&self, ty: Type) -> Option<Moves> {
        let (is_wide, has_masks) = (ty.size_bytes() > 4, self.target.has_masks());
        if self.target.architecture != Architecture::X86_64 || self.target.register_bits() < 256 {
            return None;
        }
        let moves = |entries, bits, of_one, of_two| Some(Moves { entries, bits, of_one, of_two });
        match (is_wide, has_masks, self.lanes) {
            (false, true, 16..) => {
                let of_two = Some("llvm.x86.avx512.vpermi2var.d.512");
                moves(16, 32, "llvm.x86.avx512.permvar.si.512", of_two)
            }
            (false, true, 8..) => moves(8, 32, "llvm.x86.avx2.permd", Some("llvm.x86.avx512.vpermi2var.d.256")),
            (false, false, 8..) => moves(8, 32, "llvm.x86.avx2.permd", None),
            (true, true, 16..) => {
                let of_two = Some("llvm.x86.avx512.vpermi2var.q.512");
                moves(8, 64, "llvm.x86.avx512.permvar.di.512", of_two)
            }
            (true, true, 8..) => {
                let of_two = Some("llvm.x86.avx512.vpermi2var.q.256");
                moves(4, 64, "llvm.x86.avx512.permvar.di.256", of_two)
            }
            _ => None,
        }
    }

    /// Whether elements of a type that fill so many registers can be moved to any lanes.
    pub(super) fn can_permute(&self, ty: Type, registers: u64) -> bool {
        self.moves(ty).is_some_and(|moves| {
            let expected = u64::from(if moves.bits == 64 { self.lanes.min(16) / 2 } else { self.lanes.min(16) });
            u64::from(moves.entries) >= expected && registers > 0
        })
    }

    /// The elements at some positions, below a count, of a part of memory. Buffers may be read a little past their end.
    pub(super) fn permuted(&self, buffer: ParamId, start: Raw, count: u64, positions: Raw) -> Raw {
        let (e, ty) = (&self.emit, self.element(buffer));
        let moves = self.moves(ty).expect("there are such instructions");
        let address = self.element_address(buffer, start);
        let element = e.memory_type(ty);
        let table: SmallVec<[Raw; 4]> = (0..count.div_ceil(moves.entries.into()))
            .map(|register| {
                let address = e.address(element, address, e.i64(register * u64::from(moves.entries)));
                self.register_of(&moves, ty, address)
            })
            .collect();
        let parts = self.lanes / moves.entries;
        let part = |part: u32| {
            let order: Vec<u64> = (0..moves.entries).map(|lane| (part * moves.entries + lane).into()).collect();
            let positions = if parts == 1 { positions } else { e.shuffle(positions, &order) };
            let entries = e.vector(e.int(moves.bits), moves.entries);
            let positions = if moves.bits == 64 { e.convert(Conversion::ZExt, positions, entries) } else { positions };
            self.selected(&moves, &table, positions)
        };
        let mut all: Vec<Raw> = (0..parts).map(part).collect();
        let mut lanes = moves.entries;
        while all.len() > 1 {
            lanes *= 2;
            all = all.chunks(2).map(|pair| e.concatenate(pair[0], pair[1], lanes)).collect();
        }
        let bits = 8 * ty.size_bytes() as u32;
        let integers = e.vector(e.int(bits), self.lanes);
        let moved = if bits < moves.bits { e.convert(Conversion::Trunc, all[0], integers) } else { all[0] };
        e.convert(Conversion::Bitcast, moved, e.vector(element, self.lanes))
    }

    /// Reads elements to the entries of a register.
    fn register_of(&self, moves: &Moves, ty: Type, address: Raw) -> Raw {
        let (e, bits) = (&self.emit, 8 * ty.size_bytes() as u32);
        let loaded = e.load(e.vector(e.int(bits), moves.entries), address, ty.size_bytes());
        let entries = e.vector(e.int(moves.bits), moves.entries);
        if bits < moves.bits { e.convert(Conversion::ZExt, loaded, entries) } else { loaded }
    }

    /// The entries of some registers at positions.
    fn selected(&self, moves: &Moves, table: &[Raw], positions: Raw) -> Raw {
        let e = &self.emit;
        let at_once = if moves.of_two.is_some() { 2 } else { 1 };
        let group = |registers: &[Raw]| match (registers, moves.of_two) {
            (&[first, second], Some(of_two)) => e.intrinsic(of_two, &[], &[first, positions, second]),
            _ => e.intrinsic(moves.of_one, &[], &[registers[0], positions]),
        };
        let groups: SmallVec<[Raw; 4]> = table.chunks(at_once).map(group).collect();
        let mut selected = groups[0];
        for (number, &next) in groups.iter().enumerate().skip(1) {
            let first = number as u64 * at_once as u64 * u64::from(moves.entries);
            let first = e.constant(e.int(moves.bits), moves.entries, first);
            selected = e.select(e.icmp(LLVMIntUGE, positions, first), next, selected);
        }
        selected
    }
}
