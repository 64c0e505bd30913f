//! A thin typed layer over LLVM's instruction builder: the same method builds scalars and vectors.
//!
//! inkwell owns contexts, modules and target machines. For single instructions, its types separate scalars from
//! vectors, which the code generator treats in the same way, and it lacks vector addresses and atomics of floats. So
//! instructions are built by LLVM's C interface, and only here.
//!
//! Invariants: every [`Raw`] that is passed in was made by the same emitter, whose context is alive, and nothing is
//! built while the insertion point is unset. All `unsafe` blocks of this file rely on that.

mod tie;

use std::cell::RefCell;
use std::ffi::CString;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{
    LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef,
};
use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMLinkage, LLVMOpcode, LLVMRealPredicate,
};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::Type;

/// An LLVM value.
pub(super) type Raw = LLVMValueRef;
/// A basic block.
pub(super) type Block = LLVMBasicBlockRef;
/// An LLVM type.
pub(super) type RawType = LLVMTypeRef;

/// An intrinsic: its name and its overload types.
type IntrinsicKey = (&'static str, SmallVec<[RawType; 2]>);

/// Builds instructions of one function.
pub(super) struct Emitter {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    function: Raw,
    invariant_load: u32,
    nontemporal: u32,
    prof: u32,
    table: RefCell<ConstantTable>,
    intrinsics: RefCell<FxHashMap<IntrinsicKey, (RawType, Raw)>>,
}

/// Constants that code reads from memory, and the global variable that represents them until all are known.
#[derive(Default)]
struct ConstantTable {
    offsets: FxHashMap<(Type, u64), usize>,
    bytes: Vec<u8>,
    placeholder: Option<Raw>,
}

impl Drop for Emitter {
    fn drop(&mut self) {
        // SAFETY: this emitter owns the builder.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

macro_rules! instructions {
    ($($name:ident($($operand:ident),+) = $raw:ident;)*) => {
        impl Emitter {
            $(pub(super) fn $name(&self, $($operand: Raw),+) -> Raw {
                // SAFETY: see the head of the file.
                unsafe { $raw(self.builder, $($operand,)+ c"".as_ptr()) }
            })*
        }
    };
}

instructions! {
    add(a, b) = LLVMBuildAdd;
    sub(a, b) = LLVMBuildSub;
    mul(a, b) = LLVMBuildMul;
    udiv(a, b) = LLVMBuildUDiv;
    sdiv(a, b) = LLVMBuildSDiv;
    urem(a, b) = LLVMBuildURem;
    srem(a, b) = LLVMBuildSRem;
    fadd(a, b) = LLVMBuildFAdd;
    fsub(a, b) = LLVMBuildFSub;
    fmul(a, b) = LLVMBuildFMul;
    fdiv(a, b) = LLVMBuildFDiv;
    frem(a, b) = LLVMBuildFRem;
    fneg(a) = LLVMBuildFNeg;
    neg(a) = LLVMBuildNeg;
    not(a) = LLVMBuildNot;
    and(a, b) = LLVMBuildAnd;
    or(a, b) = LLVMBuildOr;
    xor(a, b) = LLVMBuildXor;
    shl(a, b) = LLVMBuildShl;
    lshr(a, b) = LLVMBuildLShr;
    ashr(a, b) = LLVMBuildAShr;
    select(condition, a, b) = LLVMBuildSelect;
    extract_element(vector, index) = LLVMBuildExtractElement;
    insert_element(vector, element, index) = LLVMBuildInsertElement;
}

/// Conversions, by the name of LLVM's instruction.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    SiToFp,
    UiToFp,
    FpToSi,
    FpToUi,
    Bitcast,
    PtrToInt,
}

impl Emitter {
    /// An emitter for a function of a module; the insertion point is unset.
    pub(super) fn new(context: LLVMContextRef, module: LLVMModuleRef, function: Raw) -> Self {
        let kind = |name: &str| {
            // SAFETY: the context is alive, the length is that of the string.
            unsafe { LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32) }
        };
        // SAFETY: the context is alive.
        let builder = unsafe { LLVMCreateBuilderInContext(context) };
        Emitter {
            context,
            module,
            builder,
            function,
            invariant_load: kind("invariant.load"),
            nontemporal: kind("nontemporal"),
            prof: kind("prof"),
            table: RefCell::default(),
            intrinsics: RefCell::default(),
        }
    }

    // --- types

    pub(super) fn int(&self, bits: u32) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMIntTypeInContext(self.context, bits) }
    }

    pub(super) fn f32(&self) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMFloatTypeInContext(self.context) }
    }

    pub(super) fn f64(&self) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMDoubleTypeInContext(self.context) }
    }

    pub(super) fn f16(&self) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMHalfTypeInContext(self.context) }
    }

    pub(super) fn ptr(&self) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMPointerTypeInContext(self.context, 0) }
    }

    /// A vector, or the element type itself for one lane.
    pub(super) fn vector(&self, element: RawType, lanes: u32) -> RawType {
        if lanes == 1 {
            return element;
        }
        // SAFETY: see the head of the file.
        unsafe { LLVMVectorType(element, lanes) }
    }

    /// An array.
    pub(super) fn array(&self, element: RawType, count: u32) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMArrayType2(element, count.into()) }
    }

    /// The register type of one lane of an IR value: halves as their bits, `bool` as one bit.
    pub(super) fn register_type(&self, ty: Type) -> RawType {
        match ty {
            Type::F32 => self.f32(),
            Type::F64 => self.f64(),
            _ => self.int(ty.bits()),
        }
    }

    /// The type of an element in memory.
    pub(super) fn memory_type(&self, ty: Type) -> RawType {
        if ty == Type::Bool { self.int(8) } else { self.register_type(ty) }
    }

    // --- constants

    pub(super) fn int_const(&self, bits: u32, value: u64) -> Raw {
        // SAFETY: see the head of the file.
        unsafe { LLVMConstInt(self.int(bits), value, 0) }
    }

    pub(super) fn i64(&self, value: u64) -> Raw {
        self.int_const(64, value)
    }

    /// A constant of an element type in all lanes.
    pub(super) fn constant(&self, element: RawType, lanes: u32, value: u64) -> Raw {
        // SAFETY: see the head of the file; the type is an integer type.
        let scalar = unsafe { LLVMConstInt(element, value, 0) };
        self.const_splat(scalar, lanes)
    }

    /// A float constant in all lanes, from its bits.
    pub(super) fn float_constant(&self, ty: Type, lanes: u32, bits: u64) -> Raw {
        // SAFETY: see the head of the file; both types have the same size.
        let scalar = unsafe { LLVMConstBitCast(self.int_const(ty.bits(), bits), self.register_type(ty)) };
        self.const_splat(scalar, lanes)
    }

    /// The constant of an IR type with these bits in all lanes.
    pub(super) fn bits_constant(&self, ty: Type, lanes: u32, bits: u64) -> Raw {
        match ty {
            Type::F32 | Type::F64 => self.float_constant(ty, lanes, bits),
            _ => self.constant(self.register_type(ty), lanes, bits),
        }
    }

    pub(super) fn const_splat(&self, scalar: Raw, lanes: u32) -> Raw {
        if lanes == 1 { scalar } else { self.const_vector(&vec![scalar; lanes as usize]) }
    }

    pub(super) fn const_vector(&self, elements: &[Raw]) -> Raw {
        // SAFETY: see the head of the file; the elements are constants.
        unsafe { LLVMConstVector(elements.as_ptr().cast_mut(), elements.len() as u32) }
    }

    /// A float constant in all lanes, read from memory. The fast code generator spends far more time on a vector of
    /// constants than on a load that is broadcast to all lanes.
    pub(super) fn constant_from_memory(&self, ty: Type, lanes: u32, bits: u64) -> Raw {
        let size = ty.size_bytes();
        let load = self.load(self.register_type(ty), self.constant_address(ty, bits), size);
        self.mark_invariant(load);
        self.splat(load, lanes)
    }

    /// The address of a constant in memory.
    pub(super) fn constant_address(&self, ty: Type, bits: u64) -> Raw {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        let size = ty.size_bytes();
        let bytes = &mut table.bytes;
        let offset = *table.offsets.entry((ty, bits)).or_insert_with(|| {
            bytes.resize(bytes.len().next_multiple_of(size), 0);
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
            bytes.len() - size
        });
        self.table_address(&mut table.placeholder, offset)
    }

    /// The address of a text in memory.
    pub(super) fn text_address(&self, text: &str) -> Raw {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        let offset = table.bytes.len();
        table.bytes.extend_from_slice(text.as_bytes());
        self.table_address(&mut table.placeholder, offset)
    }

    /// The address of a part of the table of constants, which is a placeholder until the table is complete.
    fn table_address(&self, placeholder: &mut Option<Raw>, offset: usize) -> Raw {
        // SAFETY: see the head of the file.
        let global =
            *placeholder.get_or_insert_with(|| unsafe { LLVMAddGlobal(self.module, self.int(8), c"".as_ptr()) });
        self.address(self.int(8), global, self.i64(offset as u64))
    }

    /// Adds the constants that are read from memory to the module.
    pub(super) fn finish_constants(&self) {
        let table = self.table.borrow();
        let Some(placeholder) = table.placeholder else { return };
        // SAFETY: see the head of the file; the length is that of the bytes.
        unsafe {
            let data = LLVMConstStringInContext2(self.context, table.bytes.as_ptr().cast(), table.bytes.len(), 1);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(data), c"".as_ptr());
            LLVMSetInitializer(global, data);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetAlignment(global, 8);
            LLVMReplaceAllUsesWith(placeholder, global);
            LLVMDeleteGlobal(placeholder);
        }
    }

    /// `first, first + 1, …` as integers of a width.
    pub(super) fn iota(&self, bits: u32, lanes: u32, first: u64) -> Raw {
        let elements: Vec<Raw> = (0..u64::from(lanes)).map(|lane| self.int_const(bits, first + lane)).collect();
        self.const_vector(&elements)
    }

    pub(super) fn zero(&self, ty: RawType) -> Raw {
        // SAFETY: see the head of the file.
        unsafe { LLVMConstNull(ty) }
    }

    pub(super) fn all_ones(&self, ty: RawType) -> Raw {
        // SAFETY: see the head of the file; the type is an integer type or a vector of one.
        unsafe { LLVMConstAllOnes(ty) }
    }

    pub(super) fn type_of(&self, value: Raw) -> RawType {
        // SAFETY: see the head of the file.
        unsafe { LLVMTypeOf(value) }
    }

    pub(super) fn element_type(&self, vector: RawType) -> RawType {
        // SAFETY: see the head of the file; the type is a vector type.
        unsafe { LLVMGetElementType(vector) }
    }

    pub(super) fn is_constant(&self, value: Raw) -> bool {
        // SAFETY: see the head of the file.
        unsafe { LLVMIsConstant(value) != 0 }
    }

    // --- arithmetic with parameters

    pub(super) fn icmp(&self, predicate: LLVMIntPredicate, a: Raw, b: Raw) -> Raw {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildICmp(self.builder, predicate, a, b, c"".as_ptr()) }
    }

    pub(super) fn fcmp(&self, predicate: LLVMRealPredicate, a: Raw, b: Raw) -> Raw {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildFCmp(self.builder, predicate, a, b, c"".as_ptr()) }
    }

    pub(super) fn convert(&self, conversion: Conversion, value: Raw, ty: RawType) -> Raw {
        let opcode = match conversion {
            Conversion::Trunc => LLVMOpcode::LLVMTrunc,
            Conversion::ZExt => LLVMOpcode::LLVMZExt,
            Conversion::SExt => LLVMOpcode::LLVMSExt,
            Conversion::FpTrunc => LLVMOpcode::LLVMFPTrunc,
            Conversion::FpExt => LLVMOpcode::LLVMFPExt,
            Conversion::SiToFp => LLVMOpcode::LLVMSIToFP,
            Conversion::UiToFp => LLVMOpcode::LLVMUIToFP,
            Conversion::FpToSi => LLVMOpcode::LLVMFPToSI,
            Conversion::FpToUi => LLVMOpcode::LLVMFPToUI,
            Conversion::Bitcast => LLVMOpcode::LLVMBitCast,
            Conversion::PtrToInt => LLVMOpcode::LLVMPtrToInt,
        };
        // SAFETY: see the head of the file; the callers pass types that the conversion supports.
        unsafe { LLVMBuildCast(self.builder, opcode, value, ty, c"".as_ptr()) }
    }

    /// A call of an LLVM intrinsic; `overloads` are the types that complete its name.
    pub(super) fn intrinsic(&self, name: &'static str, overloads: &[RawType], arguments: &[Raw]) -> Raw {
        let key = (name, SmallVec::from_slice(overloads));
        let mut known = self.intrinsics.borrow_mut();
        let (ty, function) = *known.entry(key).or_insert_with(|| self.declare_intrinsic(name, overloads));
        let (values, count) = (arguments.as_ptr().cast_mut(), arguments.len() as u32);
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildCall2(self.builder, ty, function, values, count, c"".as_ptr()) }
    }

    fn declare_intrinsic(&self, name: &str, overloads: &[RawType]) -> (RawType, Raw) {
        let (types, count) = (overloads.as_ptr().cast_mut(), overloads.len());
        // SAFETY: see the head of the file; the callers pass fixed names and overloads, and tests emit each of them.
        unsafe {
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            debug_assert_ne!(id, 0, "{name}");
            let function = LLVMGetIntrinsicDeclaration(self.module, id, types, count);
            (LLVMIntrinsicGetType(self.context, id, types, count), function)
        }
    }

    /// Asks for memory that will probably be read soon. Any address will do.
    pub(super) fn prefetch(&self, address: Raw) {
        // For reading, into all caches, as data.
        let [read, near, data] = [0, 3, 1].map(|value| self.int_const(32, value));
        self.intrinsic("llvm.prefetch", &[self.ptr()], &[address, read, near, data]);
    }

    /// Sets the alignment of a call's pointer operand.
    pub(super) fn set_argument_alignment(&self, call: Raw, argument: u32, bytes: usize) {
        // SAFETY: see the head of the file; attribute positions of parameters begin at 1.
        unsafe { LLVMSetInstrParamAlignment(call, argument + 1, bytes as u32) };
    }

    /// One value in all lanes.
    pub(super) fn splat(&self, scalar: Raw, lanes: u32) -> Raw {
        if self.is_constant(scalar) {
            return self.const_splat(scalar, lanes);
        }
        let ty = self.vector(self.type_of(scalar), lanes);
        let mask = self.zero(self.vector(self.int(32), lanes));
        // SAFETY: see the head of the file.
        unsafe {
            let poison = LLVMGetPoison(ty);
            let first = LLVMBuildInsertElement(self.builder, poison, scalar, self.i64(0), c"".as_ptr());
            LLVMBuildShuffleVector(self.builder, first, poison, mask, c"".as_ptr())
        }
    }

    /// The lanes of a vector that `order` selects.
    pub(super) fn shuffle(&self, vector: Raw, order: &[u64]) -> Raw {
        let mask: Vec<Raw> = order.iter().map(|&lane| self.int_const(32, lane)).collect();
        // SAFETY: see the head of the file.
        unsafe {
            let poison = LLVMGetPoison(self.type_of(vector));
            LLVMBuildShuffleVector(self.builder, vector, poison, self.const_vector(&mask), c"".as_ptr())
        }
    }

    /// The elements of two vectors that `order` selects; those of the second are numbered after those of the first.
    pub(super) fn shuffle_two(&self, first: Raw, second: Raw, order: &[u64]) -> Raw {
        let mask: Vec<Raw> = order.iter().map(|&lane| self.int_const(32, lane)).collect();
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildShuffleVector(self.builder, first, second, self.const_vector(&mask), c"".as_ptr()) }
    }

    /// The vector shifted towards its end, with zeros inserted at the start.
    pub(super) fn shift_lanes(&self, vector: Raw, lanes: u32, distance: u32) -> Raw {
        let mask = self.iota(32, lanes, u64::from(lanes - distance));
        let zero = self.zero(self.type_of(vector));
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildShuffleVector(self.builder, zero, vector, mask, c"".as_ptr()) }
    }

    /// Concatenates two vectors to one of `lanes` lanes.
    pub(super) fn concatenate(&self, lower: Raw, upper: Raw, lanes: u32) -> Raw {
        let mask = self.iota(32, lanes, 0);
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildShuffleVector(self.builder, lower, upper, mask, c"".as_ptr()) }
    }

    // --- memory

    /// `base + index * size_of(element)`; integer indices of fewer than 64 bits are sign-extended.
    pub(super) fn address(&self, element: RawType, base: Raw, index: Raw) -> Raw {
        let mut index = index;
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildGEP2(self.builder, element, base, &raw mut index, 1, c"".as_ptr()) }
    }

    pub(super) fn load(&self, ty: RawType, pointer: Raw, alignment: usize) -> Raw {
        // SAFETY: see the head of the file.
        unsafe {
            let load = LLVMBuildLoad2(self.builder, ty, pointer, c"".as_ptr());
            LLVMSetAlignment(load, alignment as u32);
            load
        }
    }

    pub(super) fn store(&self, value: Raw, pointer: Raw, alignment: usize) -> Raw {
        // SAFETY: see the head of the file.
        unsafe {
            let store = LLVMBuildStore(self.builder, value, pointer);
            LLVMSetAlignment(store, alignment as u32);
            store
        }
    }

    /// Sets memory to zero.
    pub(super) fn clear(&self, pointer: Raw, bytes: u64, alignment: usize) {
        let arguments = [pointer, self.int_const(8, 0), self.i64(bytes), self.int_const(1, 0)];
        let call = self.intrinsic("llvm.memset", &[self.ptr(), self.int(64)], &arguments);
        self.set_argument_alignment(call, 0, alignment);
    }

    /// Marks the memory of a load as unchanged while the function runs.
    pub(super) fn mark_invariant(&self, load: Raw) {
        // SAFETY: see the head of the file.
        unsafe {
            let node = LLVMMDNodeInContext2(self.context, std::ptr::null_mut(), 0);
            LLVMSetMetadata(load, self.invariant_load, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// Marks a store to bypass the cache.
    pub(super) fn mark_nontemporal(&self, store: Raw) {
        // SAFETY: see the head of the file.
        unsafe {
            let mut one = LLVMValueAsMetadata(self.int_const(32, 1));
            let node = LLVMMDNodeInContext2(self.context, &raw mut one, 1);
            LLVMSetMetadata(store, self.nontemporal, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// Stack memory, allocated once per call of the function.
    pub(super) fn alloca(&self, ty: RawType, alignment: usize) -> Raw {
        let here = self.block();
        // SAFETY: see the head of the file.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(self.function);
            let first = LLVMGetFirstInstruction(entry);
            if first.is_null() {
                LLVMPositionBuilderAtEnd(self.builder, entry);
            } else {
                LLVMPositionBuilderBefore(self.builder, first);
            }
            let slot = LLVMBuildAlloca(self.builder, ty, c"".as_ptr());
            LLVMSetAlignment(slot, alignment as u32);
            LLVMPositionBuilderAtEnd(self.builder, here);
            slot
        }
    }

    /// A relaxed atomic read-modify-write. Returns the old value.
    pub(super) fn atomic(&self, op: LLVMAtomicRMWBinOp, pointer: Raw, value: Raw) -> Raw {
        let ordering = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildAtomicRMW(self.builder, op, pointer, value, ordering, 0) }
    }

    /// A relaxed atomic load.
    pub(super) fn atomic_load(&self, ty: RawType, pointer: Raw, alignment: usize) -> Raw {
        let load = self.load(ty, pointer, alignment);
        // SAFETY: see the head of the file.
        unsafe { LLVMSetOrdering(load, LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic) };
        load
    }

    /// A relaxed compare-exchange. Returns the old value and whether it was exchanged.
    pub(super) fn compare_exchange(&self, pointer: Raw, expected: Raw, new: Raw) -> (Raw, Raw) {
        let ordering = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
        // SAFETY: see the head of the file.
        unsafe {
            let pair = LLVMBuildAtomicCmpXchg(self.builder, pointer, expected, new, ordering, ordering, 0);
            let part = |index| LLVMBuildExtractValue(self.builder, pair, index, c"".as_ptr());
            (part(0), part(1))
        }
    }

    // --- control flow

    /// A new block at the end of the function.
    pub(super) fn new_block(&self, name: &str) -> Block {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: see the head of the file.
        unsafe { LLVMAppendBasicBlockInContext(self.context, self.function, name.as_ptr()) }
    }

    /// The block that instructions are appended to.
    pub(super) fn block(&self) -> Block {
        // SAFETY: see the head of the file.
        unsafe { LLVMGetInsertBlock(self.builder) }
    }

    pub(super) fn position_at_end(&self, block: Block) {
        // SAFETY: see the head of the file.
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block) };
    }

    /// Builds directly after the instruction that defines a value, so that the result is available wherever the value
    /// is.
    pub(super) fn after_definition(&self, value: Raw, build: impl FnOnce(&Self) -> Raw) -> Raw {
        let here = self.block();
        // SAFETY: see the head of the file.
        unsafe {
            if LLVMIsAInstruction(value).is_null() {
                return build(self);
            }
            let mut next = LLVMGetNextInstruction(value);
            while !next.is_null() && !LLVMIsAPHINode(next).is_null() {
                next = LLVMGetNextInstruction(next);
            }
            if next.is_null() {
                LLVMPositionBuilderAtEnd(self.builder, LLVMGetInstructionParent(value));
            } else {
                LLVMPositionBuilderBefore(self.builder, next);
            }
        }
        let built = build(self);
        self.position_at_end(here);
        built
    }

    pub(super) fn br(&self, target: Block) {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildBr(self.builder, target) };
    }

    pub(super) fn cond_br(&self, condition: Raw, then_block: Block, else_block: Block) {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildCondBr(self.builder, condition, then_block, else_block) };
    }

    /// As [`Emitter::cond_br`], for a condition that holds once in a thousand times.
    pub(super) fn cond_br_seldom(&self, condition: Raw, then_block: Block, else_block: Block) {
        let name = "branch_weights";
        // SAFETY: see the head of the file; the length is that of the string.
        unsafe {
            let branch = LLVMBuildCondBr(self.builder, condition, then_block, else_block);
            let name = LLVMMDStringInContext2(self.context, name.as_ptr().cast(), name.len());
            let [seldom, mostly] = [1, 1 << 10].map(|weight| LLVMValueAsMetadata(self.int_const(32, weight)));
            let mut parts = [name, seldom, mostly];
            let node = LLVMMDNodeInContext2(self.context, parts.as_mut_ptr(), parts.len());
            LLVMSetMetadata(branch, self.prof, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// A jump to the block whose position is the value, or to the last one.
    pub(super) fn switch(&self, value: Raw, bits: u32, cases: &[Block], default: Block) {
        // SAFETY: see the head of the file.
        unsafe {
            let switch = LLVMBuildSwitch(self.builder, value, default, cases.len() as u32);
            for (position, &block) in cases.iter().enumerate() {
                LLVMAddCase(switch, self.int_const(bits, position as u64), block);
            }
        }
    }

    pub(super) fn ret(&self) {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildRetVoid(self.builder) };
    }

    /// A phi without incoming values yet.
    pub(super) fn phi(&self, ty: RawType) -> Raw {
        // SAFETY: see the head of the file.
        unsafe { LLVMBuildPhi(self.builder, ty, c"".as_ptr()) }
    }

    pub(super) fn add_incoming(&self, phi: Raw, value: Raw, from: Block) {
        let (mut value, mut from) = (value, from);
        // SAFETY: see the head of the file.
        unsafe { LLVMAddIncoming(phi, &raw mut value, &raw mut from, 1) };
    }

    /// A phi of values from several blocks.
    pub(super) fn merge(&self, incoming: &[(Raw, Block)]) -> Raw {
        let phi = self.phi(self.type_of(incoming[0].0));
        incoming.iter().for_each(|&(value, from)| self.add_incoming(phi, value, from));
        phi
    }

    pub(super) fn parameter(&self, index: u32) -> Raw {
        // SAFETY: see the head of the file; the function has four parameters.
        unsafe { LLVMGetParam(self.function, index) }
    }
}
