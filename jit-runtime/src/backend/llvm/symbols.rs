//! The LLVM-C functions that the backend and inkwell refer to, as jumps through a table that is filled at run time.
//!
//! inkwell and llvm-sys declare these functions and expect a linker to find them. Here each is a jump through its slot
//! of a table; [`bind`] fills the slots from a loaded library. So the program links without LLVM. Using an unfilled
//! slot, because the library lacks the function, ends the process.
//!
//! The list covers everything that inkwell refers to, used or not, because a linker may retain unused functions.

/// Binds every function of the list to the address that `find` returns for its name.
#[cfg(not(feature = "llvm-static"))]
pub(super) fn bind(find: impl Fn(&std::ffi::CStr) -> Option<usize>) {
    for (slot, name) in NAMES.iter().enumerate() {
        if let Some(address) = find(name) {
            // SAFETY: the slot is in the table; the caller runs once, before any function of the list is called.
            unsafe { (&raw mut jit_llvm_slots).cast::<usize>().add(slot).write(address) };
        }
    }
}

/// The address that a function of the list is bound to.
#[cfg(not(feature = "llvm-static"))]
pub(super) fn bound(name: &str) -> Option<usize> {
    let slot = NAMES.iter().position(|known| known.to_bytes() == name.as_bytes())?;
    // SAFETY: the slot is in the table, which was filled before the library is used.
    Some(unsafe { (&raw const jit_llvm_slots).cast::<usize>().add(slot).read() })
}

#[cfg(not(feature = "llvm-static"))]
unsafe extern "C" {
    static mut jit_llvm_slots: [usize; NAMES.len()];
}

/// The target of slots before they are filled.
#[cfg(not(feature = "llvm-static"))]
#[unsafe(no_mangle)]
extern "C" fn jit_llvm_unloaded() {
    eprintln!("jit: a function was called that the loaded libLLVM does not have");
    std::process::abort();
}

/// One jump; the code sequences do not touch any register that carries an argument or a result.
#[cfg(all(target_arch = "x86_64", not(feature = "llvm-static")))]
macro_rules! trampoline {
    ($name:ident) => {
        concat!(
            ".globl ",
            stringify!($name),
            "\n.hidden ",
            stringify!($name),
            "\n.type ",
            stringify!($name),
            ",@function\n",
            stringify!($name),
            ": jmp qword ptr [rip + jit_llvm_slot_",
            stringify!($name),
            "]\n",
        )
    };
}

/// One jump; `x16` is the register that calls may clobber between caller and callee.
#[cfg(all(target_arch = "aarch64", not(feature = "llvm-static")))]
macro_rules! trampoline {
    ($name:ident) => {
        concat!(
            ".globl ",
            stringify!($name),
            "\n.hidden ",
            stringify!($name),
            "\n.type ",
            stringify!($name),
            ",%function\n",
            stringify!($name),
            ": adrp x16, jit_llvm_slot_",
            stringify!($name),
            "\n",
            "ldr x16, [x16, :lo12:jit_llvm_slot_",
            stringify!($name),
            "]\nbr x16\n",
        )
    };
}

#[cfg(not(feature = "llvm-static"))]
macro_rules! functions {
    ($($name:ident)*) => {
        const NAMES: &[&std::ffi::CStr] = &[$(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            },
        )*];

        std::arch::global_asm!(
            ".pushsection .data.rel.jit_llvm,\"aw\"\n.balign 8\n.globl jit_llvm_slots\n.hidden \
            jit_llvm_slots\njit_llvm_slots:\n",
            $(concat!("jit_llvm_slot_", stringify!($name), ": .quad jit_llvm_unloaded\n"),)*
            ".popsection\n.pushsection .text.jit_llvm,\"ax\"\n",
            $(trampoline!($name),)*
            ".popsection\n",
        );
    };
}

#[cfg(not(feature = "llvm-static"))]
#[rustfmt::skip]
functions! {
    LLVMABIAlignmentOfType LLVMABISizeOfType LLVMAddAttributeAtIndex LLVMAddCallSiteAttribute LLVMAddCase
    LLVMAddFunction LLVMAddGlobal LLVMAddGlobalMapping LLVMAddIncoming LLVMAddModule LLVMAddModuleFlag
    LLVMAddNamedMetadataOperand LLVMAlignOf LLVMAppendBasicBlockInContext LLVMAppendExistingBasicBlock LLVMArrayType
    LLVMArrayType2
    LLVMBFloatTypeInContext LLVMBasicBlockAsValue LLVMBinaryCopyMemoryBuffer LLVMBinaryGetType LLVMBlockAddress
    LLVMBuildAShr LLVMBuildAdd LLVMBuildAddrSpaceCast LLVMBuildAggregateRet LLVMBuildAlloca LLVMBuildAnd
    LLVMBuildAtomicCmpXchg LLVMBuildAtomicRMW LLVMBuildBr LLVMBuildCall2 LLVMBuildCallWithOperandBundles LLVMBuildCast
    LLVMBuildCondBr LLVMBuildExtractElement LLVMBuildExtractValue LLVMBuildFAdd LLVMBuildFCmp LLVMBuildFDiv
    LLVMBuildFMul LLVMBuildFNeg LLVMBuildFRem LLVMBuildFSub LLVMBuildFence LLVMBuildFree LLVMBuildGEP2
    LLVMBuildGlobalString LLVMBuildICmp LLVMBuildInsertElement LLVMBuildInvoke2 LLVMBuildLShr LLVMBuildLoad2
    LLVMBuildMemCpy LLVMBuildMemMove LLVMBuildMemSet LLVMBuildMul LLVMBuildNeg LLVMBuildNot LLVMBuildOr LLVMBuildPhi
    LLVMBuildRet LLVMBuildRetVoid LLVMBuildSDiv LLVMBuildSRem LLVMBuildSelect LLVMBuildShl LLVMBuildShuffleVector
    LLVMBuildStore LLVMBuildSub LLVMBuildSwitch LLVMBuildUDiv LLVMBuildURem LLVMBuildUnreachable LLVMBuildXor
    LLVMByteOrder LLVMCallFrameAlignmentOfType LLVMCanValueUseFastMathFlags LLVMClearInsertionPosition LLVMCloneModule
    LLVMConstAdd LLVMConstAddrSpaceCast LLVMConstAllOnes LLVMConstArray2 LLVMConstBitCast LLVMConstExtractElement
    LLVMConstInt LLVMConstIntGetSExtValue LLVMConstIntGetZExtValue LLVMConstIntOfArbitraryPrecision
    LLVMConstIntOfStringAndSize LLVMConstIntToPtr LLVMConstNSWAdd LLVMConstNSWNeg LLVMConstNSWSub LLVMConstNUWAdd
    LLVMConstNUWSub LLVMConstNamedStruct LLVMConstNeg LLVMConstNot LLVMConstNull LLVMConstPointerCast
    LLVMConstPointerNull LLVMConstPtrToInt LLVMConstReal LLVMConstRealGetDouble LLVMConstRealOfStringAndSize
    LLVMConstShuffleVector LLVMConstStringInContext2 LLVMConstStructInContext LLVMConstSub LLVMConstTrunc
    LLVMConstTruncOrBitCast LLVMConstVector LLVMConstXor LLVMContextCreate LLVMContextDispose
    LLVMContextSetDiagnosticHandler LLVMCopyStringRepOfTargetData LLVMCountBasicBlocks LLVMCountIncoming
    LLVMCountParamTypes LLVMCountParams LLVMCountStructElementTypes LLVMCreateBinary LLVMCreateBuilderInContext
    LLVMCreateDIBuilder LLVMCreateDIBuilderDisallowUnresolved LLVMCreateDisasmCPUFeatures LLVMCreateEnumAttribute
    LLVMCreateExecutionEngineForModule LLVMCreateGenericValueOfFloat LLVMCreateGenericValueOfInt
    LLVMCreateInterpreterForModule LLVMCreateJITCompilerForModule LLVMCreateMemoryBufferWithContentsOfFile
    LLVMCreateMemoryBufferWithMemoryRange LLVMCreateMemoryBufferWithMemoryRangeCopy LLVMCreateMemoryBufferWithSTDIN
    LLVMCreateMessage LLVMCreateOperandBundle LLVMCreatePassBuilderOptions LLVMCreateStringAttribute
    LLVMCreateTargetData LLVMCreateTargetDataLayout LLVMCreateTargetMachine LLVMCreateTargetMachineOptions
    LLVMCreateTargetMachineWithOptions LLVMCreateTypeAttribute LLVMDIBuilderCreateArrayType
    LLVMDIBuilderCreateAutoVariable LLVMDIBuilderCreateBasicType LLVMDIBuilderCreateCompileUnit
    LLVMDIBuilderCreateConstantValueExpression LLVMDIBuilderCreateEnumerationType LLVMDIBuilderCreateEnumerator
    LLVMDIBuilderCreateExpression LLVMDIBuilderCreateFile LLVMDIBuilderCreateFunction
    LLVMDIBuilderCreateGlobalVariableExpression LLVMDIBuilderCreateLexicalBlock LLVMDIBuilderCreateMemberType
    LLVMDIBuilderCreateNameSpace LLVMDIBuilderCreateParameterVariable LLVMDIBuilderCreatePointerType
    LLVMDIBuilderCreateReferenceType LLVMDIBuilderCreateStructType LLVMDIBuilderCreateSubroutineType
    LLVMDIBuilderCreateTypedef LLVMDIBuilderCreateUnionType LLVMDIBuilderFinalize LLVMDIBuilderGetOrCreateSubrange
    LLVMDIBuilderInsertDbgValueRecordBefore LLVMDIBuilderInsertDeclareRecordAtEnd
    LLVMDIBuilderInsertDeclareRecordBefore LLVMDILocationGetColumn LLVMDILocationGetLine LLVMDILocationGetScope
    LLVMDITypeGetAlignInBits LLVMDITypeGetOffsetInBits LLVMDITypeGetSizeInBits LLVMDebugMetadataVersion
    LLVMDisasmDispose LLVMDisasmInstruction
    LLVMDeleteBasicBlock LLVMDeleteFunction LLVMDeleteGlobal LLVMDisposeBinary LLVMDisposeBuilder LLVMDisposeDIBuilder
    LLVMDisposeExecutionEngine LLVMDisposeGenericValue LLVMDisposeMemoryBuffer LLVMDisposeMessage LLVMDisposeModule
    LLVMDisposeOperandBundle LLVMDisposePassBuilderOptions LLVMDisposeRelocationIterator LLVMDisposeSectionIterator
    LLVMDisposeSymbolIterator LLVMDisposeTargetData LLVMDisposeTargetMachine LLVMDisposeTargetMachineOptions
    LLVMDoubleTypeInContext LLVMDumpModule LLVMDumpValue LLVMElementAtOffset LLVMEnablePrettyStackTrace
    LLVMFP128TypeInContext LLVMFinalizeFunctionPassManager LLVMFindFunction LLVMFloatTypeInContext
    LLVMFreeMachineCodeForFunction LLVMFunctionType LLVMGenericValueIntWidth LLVMGenericValueToFloat
    LLVMGenericValueToInt LLVMGetAlignment LLVMGetAllocatedType LLVMGetArrayLength LLVMGetAsString
    LLVMGetAtomicRMWBinOp LLVMGetAttributeCountAtIndex LLVMGetAttributesAtIndex LLVMGetBasicBlockName
    LLVMGetBasicBlockParent LLVMGetBasicBlockTerminator LLVMGetBasicBlocks LLVMGetBufferSize LLVMGetBufferStart
    LLVMGetCallSiteAttributeCount LLVMGetCallSiteAttributes LLVMGetCallSiteEnumAttribute
    LLVMGetCallSiteStringAttribute LLVMGetCalledFunctionType LLVMGetCalledValue LLVMGetComdat
    LLVMGetComdatSelectionKind LLVMGetCurrentDebugLocation2 LLVMGetDLLStorageClass LLVMGetDataLayoutStr
    LLVMGetDefaultTargetTriple LLVMGetDiagInfoDescription LLVMGetDiagInfoSeverity LLVMGetElementAsConstant
    LLVMGetElementType LLVMGetEntryBasicBlock LLVMGetEnumAttributeAtIndex LLVMGetEnumAttributeKind
    LLVMGetEnumAttributeKindForName LLVMGetEnumAttributeValue LLVMGetErrorMessage LLVMGetExact
    LLVMGetExecutionEngineTargetData LLVMGetFCmpPredicate LLVMGetFastMathFlags LLVMGetFirstBasicBlock
    LLVMGetFirstFunction LLVMGetFirstGlobal LLVMGetFirstInstruction LLVMGetFirstParam LLVMGetFirstTarget
    LLVMGetFirstUse LLVMGetFunctionAddress LLVMGetFunctionCallConv LLVMGetGC LLVMGetGEPSourceElementType
    LLVMGetHostCPUFeatures LLVMGetHostCPUName LLVMGetICmpPredicate LLVMGetICmpSameSign LLVMGetIncomingBlock
    LLVMGetIncomingValue LLVMGetIndices LLVMGetInitializer LLVMGetInlineAsm LLVMGetInsertBlock
    LLVMGetInstructionCallConv LLVMGetInstructionOpcode LLVMGetInstructionParent LLVMGetIntTypeWidth
    LLVMGetIntrinsicDeclaration LLVMGetIntrinsicID LLVMGetIsDisjoint LLVMGetLastBasicBlock
    LLVMGetLastEnumAttributeKind LLVMGetLastFunction LLVMGetLastGlobal LLVMGetLastInstruction LLVMGetLastParam
    LLVMGetLinkage LLVMGetMDKindIDInContext LLVMGetMDNodeNumOperands LLVMGetMDNodeOperands LLVMGetMDString
    LLVMGetMetadata LLVMGetModuleContext LLVMGetModuleDebugMetadataVersion LLVMGetModuleFlag LLVMGetModuleIdentifier
    LLVMGetNNeg LLVMGetNSW LLVMGetNUW LLVMGetNamedFunction LLVMGetNamedGlobal LLVMGetNamedMetadataNumOperands
    LLVMGetNamedMetadataOperands LLVMGetNextBasicBlock LLVMGetNextFunction LLVMGetNextGlobal LLVMGetNextInstruction
    LLVMGetNextParam LLVMGetNextTarget LLVMGetNextUse LLVMGetNumArgOperands LLVMGetNumIndices
    LLVMGetNumOperandBundleArgs LLVMGetNumOperandBundles LLVMGetNumOperands LLVMGetOperand
    LLVMGetOperandBundleArgAtIndex LLVMGetOperandBundleAtIndex LLVMGetOperandBundleTag LLVMGetOperandUse
    LLVMGetOrInsertComdat LLVMGetOrdering LLVMGetParam LLVMGetParamTypes LLVMGetParams LLVMGetPersonalityFn
    LLVMGetPointerAddressSpace LLVMGetPoison LLVMGetPreviousBasicBlock LLVMGetPreviousFunction LLVMGetPreviousGlobal
    LLVMGetPreviousInstruction LLVMGetRelocationOffset LLVMGetRelocationSymbol LLVMGetRelocationType
    LLVMGetRelocationTypeName LLVMGetRelocationValueString LLVMGetRelocations LLVMGetReturnType LLVMGetSection
    LLVMGetSectionAddress LLVMGetSectionContainsSymbol LLVMGetSectionContents LLVMGetSectionName LLVMGetSectionSize
    LLVMGetSourceFileName LLVMGetStringAttributeAtIndex LLVMGetStringAttributeKind LLVMGetStringAttributeValue
    LLVMGetStructElementTypes LLVMGetStructName LLVMGetSubprogram LLVMGetSymbolAddress LLVMGetSymbolName
    LLVMGetSymbolSize LLVMGetTailCallKind LLVMGetTarget LLVMGetTargetDescription LLVMGetTargetFromName
    LLVMGetTargetFromTriple LLVMGetTargetMachineCPU LLVMGetTargetMachineFeatureString LLVMGetTargetMachineTarget
    LLVMGetTargetMachineTriple LLVMGetTargetName LLVMGetThreadLocalMode LLVMGetTypeAttributeValue LLVMGetTypeByName2
    LLVMGetTypeContext LLVMGetTypeKind LLVMGetUndef LLVMGetUnnamedAddress LLVMGetUsedValue LLVMGetUser
    LLVMGetValueKind LLVMGetValueName2 LLVMGetVectorSize LLVMGetVersion LLVMGetVisibility LLVMGetVolatile
    LLVMGlobalGetValueType LLVMGlobalSetMetadata LLVMHalfTypeInContext LLVMHasMetadata LLVMHasPersonalityFn
    LLVMInitializeAArch64AsmParser LLVMInitializeAArch64AsmPrinter LLVMInitializeAArch64Disassembler
    LLVMInitializeAArch64Target LLVMInitializeAArch64TargetInfo LLVMInitializeAArch64TargetMC
    LLVMInitializeFunctionPassManager LLVMInitializeX86AsmParser LLVMInitializeX86AsmPrinter
    LLVMInitializeX86Disassembler LLVMInitializeX86Target LLVMInitializeX86TargetInfo LLVMInitializeX86TargetMC
    LLVMInsertBasicBlockInContext LLVMInsertIntoBuilder LLVMInsertIntoBuilderWithName LLVMInstallFatalErrorHandler
    LLVMInstructionClone LLVMInstructionEraseFromParent LLVMInstructionGetDebugLoc LLVMInstructionRemoveFromParent
    LLVMInstructionSetDebugLoc LLVMInt16TypeInContext LLVMInt1TypeInContext LLVMInt32TypeInContext
    LLVMInt64TypeInContext LLVMInt8TypeInContext LLVMIntPtrTypeForASInContext LLVMIntPtrTypeInContext
    LLVMIntTypeInContext LLVMIntrinsicGetType LLVMIntrinsicIsOverloaded LLVMIsABasicBlock LLVMIsAConstantArray
    LLVMIsAConstantDataArray LLVMIsAConstantDataVector LLVMIsAConstantInt LLVMIsAConstantVector LLVMIsAFunction
    LLVMIsAInstruction LLVMIsAMDNode LLVMIsAMDString LLVMIsAPHINode LLVMIsATerminatorInst LLVMIsConditional
    LLVMIsConstant LLVMIsConstantString LLVMIsDeclaration LLVMIsEnumAttribute LLVMIsExternallyInitialized
    LLVMIsFunctionVarArg LLVMIsGlobalConstant LLVMIsInBounds LLVMIsMultithreaded LLVMIsNull LLVMIsOpaqueStruct
    LLVMIsPackedStruct LLVMIsRelocationIteratorAtEnd LLVMIsStringAttribute LLVMIsTailCall LLVMIsThreadLocal
    LLVMIsTypeAttribute LLVMIsUndef LLVMLinkInInterpreter LLVMLinkInMCJIT LLVMLinkModules2 LLVMLoadLibraryPermanently
    LLVMLookupIntrinsicID LLVMMDNodeInContext2 LLVMMDStringInContext2 LLVMMetadataAsValue
    LLVMMetadataReplaceAllUsesWith LLVMMetadataTypeInContext LLVMModuleCreateWithNameInContext LLVMMoveBasicBlockAfter
    LLVMMoveBasicBlockBefore LLVMMoveToContainingSection LLVMMoveToNextRelocation LLVMMoveToNextSection
    LLVMMoveToNextSymbol LLVMNormalizeTargetTriple LLVMObjectFileCopySectionIterator LLVMObjectFileCopySymbolIterator
    LLVMObjectFileIsSectionIteratorAtEnd LLVMObjectFileIsSymbolIteratorAtEnd LLVMOffsetOfElement
    LLVMPPCFP128TypeInContext LLVMParseIRInContext2 LLVMPassBuilderOptionsSetCallGraphProfile
    LLVMPassBuilderOptionsSetDebugLogging LLVMPassBuilderOptionsSetForgetAllSCEVInLoopUnroll
    LLVMPassBuilderOptionsSetLicmMssaNoAccForPromotionCap LLVMPassBuilderOptionsSetLicmMssaOptCap
    LLVMPassBuilderOptionsSetLoopInterleaving LLVMPassBuilderOptionsSetLoopUnrolling
    LLVMPassBuilderOptionsSetLoopVectorization LLVMPassBuilderOptionsSetMergeFunctions
    LLVMPassBuilderOptionsSetSLPVectorization LLVMPassBuilderOptionsSetVerifyEach LLVMPointerSize LLVMPointerSizeForAS
    LLVMPointerType LLVMPointerTypeInContext LLVMPointerTypeIsOpaque LLVMPositionBuilder LLVMPositionBuilderAtEnd
    LLVMPositionBuilderBefore LLVMPreferredAlignmentOfGlobal LLVMPreferredAlignmentOfType LLVMPrintModuleToString
    LLVMPrintTypeToString LLVMPrintValueToString LLVMRemoveBasicBlockFromParent LLVMRemoveCallSiteEnumAttribute
    LLVMRemoveCallSiteStringAttribute LLVMRemoveEnumAttributeAtIndex LLVMRemoveModule LLVMRemoveStringAttributeAtIndex
    LLVMReplaceAllUsesWith LLVMResetFatalErrorHandler LLVMRunFunction LLVMRunFunctionAsMain LLVMRunFunctionPassManager
    LLVMRunPassManager LLVMRunPasses LLVMRunPassesOnFunction LLVMRunStaticConstructors LLVMRunStaticDestructors
    LLVMScalableVectorType LLVMSearchForAddressOfSymbol LLVMSetAlignment LLVMSetComdat LLVMSetComdatSelectionKind
    LLVMSetCurrentDebugLocation2 LLVMSetDLLStorageClass LLVMSetDataLayout LLVMSetExact LLVMSetExternallyInitialized
    LLVMSetFastMathFlags LLVMSetFunctionCallConv LLVMSetGC LLVMSetGlobalConstant LLVMSetICmpSameSign
    LLVMSetInitializer LLVMSetInstrParamAlignment LLVMSetInstructionCallConv LLVMSetIsDisjoint LLVMSetIsInBounds
    LLVMSetLinkage LLVMSetMetadata LLVMSetModuleIdentifier LLVMSetModuleInlineAsm2 LLVMSetNNeg LLVMSetNSW LLVMSetNUW
    LLVMSetOrdering LLVMSetParamAlignment LLVMSetPersonalityFn LLVMSetSection LLVMSetSourceFileName LLVMSetSubprogram
    LLVMSetTailCall LLVMSetTailCallKind LLVMSetTarget LLVMSetTargetMachineAsmVerbosity LLVMSetThreadLocal
    LLVMSetThreadLocalMode LLVMSetUnnamedAddress LLVMSetValueName2 LLVMSetVisibility LLVMSetVolatile LLVMShutdown
    LLVMSizeOf LLVMSizeOfTypeInBits LLVMStoreSizeOfType LLVMStripModuleDebugInfo LLVMStructCreateNamed
    LLVMStructGetTypeAtIndex LLVMStructSetBody LLVMStructTypeInContext LLVMTargetHasAsmBackend LLVMTargetHasJIT
    LLVMTargetHasTargetMachine LLVMTargetMachineEmitToFile LLVMTargetMachineEmitToMemoryBuffer
    LLVMTargetMachineOptionsSetABI LLVMTargetMachineOptionsSetCPU LLVMTargetMachineOptionsSetCodeGenOptLevel
    LLVMTargetMachineOptionsSetCodeModel LLVMTargetMachineOptionsSetFeatures LLVMTargetMachineOptionsSetRelocMode
    LLVMTypeIsSized LLVMTypeOf LLVMValueAsBasicBlock LLVMValueAsMetadata LLVMValueIsBasicBlock LLVMVectorType
    LLVMVerifyFunction LLVMVerifyModule LLVMViewFunctionCFG LLVMViewFunctionCFGOnly LLVMVoidTypeInContext
    LLVMWriteBitcodeToFD LLVMWriteBitcodeToMemoryBuffer LLVMX86FP80TypeInContext LLVM_InitializeAllAsmParsers
    LLVM_InitializeAllAsmPrinters LLVM_InitializeAllDisassemblers LLVM_InitializeAllTargetInfos
    LLVM_InitializeAllTargetMCs LLVM_InitializeAllTargets LLVM_InitializeNativeAsmParser
    LLVM_InitializeNativeAsmPrinter LLVM_InitializeNativeDisassembler LLVM_InitializeNativeTarget
}
