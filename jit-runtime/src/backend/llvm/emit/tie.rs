//! Values that LLVM does not look through, and cannot separate.

use inkwell::llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
use inkwell::llvm_sys::core::*;

use super::{Emitter, Raw, RawType};

impl Emitter {
    /// The same values, as results of inline assembly without an instruction: each is a value of its own for LLVM,
    /// which does not compute any of them later than it needs another. Each has the type of a vector register, of the
    /// kind with this constraint.
    pub(in crate::backend::llvm) fn tie(&self, values: &[Raw], register: &str) -> Vec<Raw> {
        let outputs = (0..values.len()).map(|_| format!("={register}"));
        let constraints = outputs.chain((0..values.len()).map(|value| value.to_string())).collect::<Vec<_>>().join(",");
        let mut types: Vec<RawType> = values.iter().map(|&value| self.type_of(value)).collect();
        let count = types.len() as u32;
        // SAFETY: see the head of the file `emit`; the types of results and operands are those of the values.
        unsafe {
            let results = match types[..] {
                [single] => single,
                _ => LLVMStructTypeInContext(self.context, types.as_mut_ptr(), count, 0),
            };
            let function = LLVMFunctionType(results, types.as_mut_ptr(), count, 0);
            let (text, length) = (constraints.as_ptr().cast(), constraints.len());
            let assembly = LLVMGetInlineAsm(function, c"".as_ptr(), 0, text, length, 0, 0, LLVMInlineAsmDialectATT, 0);
            let mut arguments = values.to_vec();
            let call = LLVMBuildCall2(self.builder, function, assembly, arguments.as_mut_ptr(), count, c"".as_ptr());
            match values {
                [_] => vec![call],
                _ => (0..count).map(|at| LLVMBuildExtractValue(self.builder, call, at, c"".as_ptr())).collect(),
            }
        }
    }
}
