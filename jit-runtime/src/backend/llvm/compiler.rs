//! LLVM IR → object file, with only those LLVM passes that benefit the kernel.
//!
//! Straight-line kernels come from a tracer that has already folded constants and shared expressions. They get no IR
//! passes and the fast code generator, unless their launches are long or more effort is requested. Its code takes about
//! as long if memory is the limit, and up to 1.6 times as long if arithmetic is (row T03 of the benchmarks). Kernels
//! with loops get a short list of passes, mainly to hoist loop invariants, and the optimising code generator.
//!
//! A target machine belongs to the thread that made it, which retains it for later kernels.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};

use super::analysis::{Analysis, Shape};
use super::codegen::{Job, generate};
use super::interleave;
use super::narrow;
use super::recompute::Recompute;
use super::usage;
use super::within_rows::WithinRows;
use crate::backend::loader::stack;
use crate::backend::target::Target;
use crate::backend::{CodeOptions, Effort};
use crate::error::{Error, ErrorKind};
use crate::ir::{Inst, Kernel, Op, RegionId, TOP};

/// Passes for kernels with loops.
const LOOP_PASSES: &str = "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm))";

/// Passes for kernels with local memory, which becomes registers if its indices are constants.
const LOCAL_PASSES: &str =
    "function(sroa<preserve-cfg>,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm))";

/// The number of reductions whose running results may stay in registers. Larger numbers are in memory whatever the code
/// generator does, and the time of the optimising one grows with the square of their number.
const FEW_REDUCTIONS: usize = 64;

/// The number of instructions of straight-line kernels up to which the code generator is the optimising one for the
/// first code already, if their arrays exceed the cache: then a launch takes long.
const OPTIMISED_LIMIT: usize = 1000;

/// The number of instructions up to which any kernel gets passes and the optimising code generator. Their time grows
/// faster than the kernel: from 0.4 s for a loop of 4,000 instructions to 6 s for one of 32,000. The time of the fast
/// one grows linearly.
const LARGEST_OPTIMISED: usize = 8000;

/// The object file of a kernel.
pub(super) fn object_file(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<Box<[u8]>, Error> {
    let (object, frame_bytes) = emitted(kernel, options, target, FileType::Object)?;
    Ok(match frame_bytes {
        Some(bytes) => stack::append(&object, bytes),
        None => object,
    })
}

/// The assembly of a kernel.
pub(super) fn assembly(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<String, Error> {
    let (bytes, _) = emitted(kernel, options, target, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
}

/// The LLVM IR of a kernel, after the passes.
pub(super) fn llvm_text(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<String, Error> {
    let (text, _) = with_module(kernel, options, target, |module, _| Ok(module.print_to_string().to_string()))?;
    Ok(text)
}

/// Generates code, and the bytes of its frame, if they are more than [`stack::LARGEST_DIRECT`].
fn emitted(
    kernel: &Kernel,
    options: CodeOptions,
    target: &Target,
    kind: FileType,
) -> Result<(Box<[u8]>, Option<usize>), Error> {
    with_module(kernel, options, target, |module, machine| {
        let buffer = machine.write_to_memory_buffer(module, kind).map_err(|error| failed(&error.to_string()))?;
        // The first kernel initialises LLVM's lazy state and registers its destructors.
        static HAS_BEGUN: Once = Once::new();
        HAS_BEGUN.call_once(usage::guard_exit);
        Ok(buffer.as_slice().into())
    })
}

fn failed(reason: &str) -> Error {
    Error::new(ErrorKind::Compile, format!("LLVM could not compile a kernel: {reason}"))
}

/// Builds the module of a kernel, runs the passes, and calls a function with it. Also returns the bytes of the frame,
/// if code was generated whose frame is large.
fn with_module<T>(
    kernel: &Kernel,
    options: CodeOptions,
    target: &Target,
    consume: impl FnOnce(&Module<'_>, &TargetMachine) -> Result<T, Error>,
) -> Result<(T, Option<usize>), Error> {
    super::library::load()?;
    crate::backend::check(kernel)?;
    if let Some(inst) = kernel.regions.iter().flat_map(|region| &region.insts).find(|inst| inst.op.is_transcendental())
    {
        return Err(failed(&format!("{:?} was not expanded before", inst.op)));
    }
    // Large kernels keep the processor busy with a single packet.
    let is_large = kernel.op_count() > LARGEST_OPTIMISED;
    let packed = &*narrow::target_for(kernel, target);
    let packets = if is_large { 1 } else { interleave::choose(kernel, packed, options) };
    let analysis = Analysis::of_packets(kernel, packets, packed.lanes);
    let rows = WithinRows::of_packets(kernel, &analysis, packets, packed.lanes);
    // Code that verifies its accesses is rarely run.
    let optimise = !target.verifies_accesses && is_optimised_as(kernel, options, &analysis);
    let recompute = if optimise { Recompute::of(kernel, &analysis, packed, packets) } else { Recompute::default() };
    let level = if optimise { OptimizationLevel::Default } else { OptimizationLevel::None };
    with_machine(target, level, |machine| {
        let diagnostics = RefCell::new(Diagnostics::default());
        let context = Context::create();
        // SAFETY: the context is dropped before `diagnostics`, and both stay on this thread.
        unsafe {
            let sink = (&raw const diagnostics).cast_mut().cast::<c_void>();
            LLVMContextSetDiagnosticHandler(context.raw(), Some(record_diagnostic), sink);
        }
        let module = context.create_module("kernel");
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let rows = rows.as_ref();
        let recompute = &recompute;
        let job =
            Job { kernel, analysis: &analysis, rows, recompute, target: packed, options, packets, optimised: optimise };
        generate(&context, &module, &job);
        if cfg!(debug_assertions) {
            module.verify().map_err(|error| failed(&format!("{error}\n{}", module.print_to_string())))?;
        }
        if optimise {
            let passes = if kernel.locals.is_empty() { LOOP_PASSES } else { LOCAL_PASSES };
            let passes = module.run_passes(passes, machine, PassBuilderOptions::create());
            passes.map_err(|error| failed(&error.to_string()))?;
        }
        let result = consume(&module, machine);
        drop(module);
        drop(context);
        let Diagnostics { errors, frame_bytes } = diagnostics.into_inner();
        if errors.is_empty() { result.map(|result| (result, frame_bytes)) } else { Err(failed(&errors.join("; "))) }
    })
}

/// Whether a kernel gets passes and the optimising code generator.
pub(super) fn is_optimised(kernel: &Kernel, options: CodeOptions, target: &Target) -> bool {
    is_optimised_as(kernel, options, &Analysis::new(kernel, narrow::target_for(kernel, target).lanes))
}

fn is_optimised_as(kernel: &Kernel, options: CodeOptions, analysis: &Analysis) -> bool {
    let is_wanted = is_worth_more(kernel, options) || has_branches(kernel, analysis);
    is_wanted && kernel.op_count() <= LARGEST_OPTIMISED
}

/// Whether better code pays off, whatever the kernel does: arrays that exceed the cache make a launch long enough for
/// that.
fn is_worth_more(kernel: &Kernel, options: CodeOptions) -> bool {
    let is_long = options.streaming_stores && kernel.op_count() <= OPTIMISED_LIMIT;
    is_long || options.effort == Effort::Thorough
}

/// Whether the code of a kernel is more than one straight-line list: it has loops or branches, reduces and so has a
/// tight loop over the packets, updates elements in a loop over the lanes, checks indices at run time, or has memory
/// that may become registers.
fn has_branches(kernel: &Kernel, analysis: &Analysis) -> bool {
    let is_reduction = |inst: &&Inst| matches!(inst.op, Op::Reduce { .. });
    let has_few_reductions = kernel.region(TOP).insts.iter().filter(is_reduction).count() <= FEW_REDUCTIONS;
    let insts = (0..)
        .map(RegionId)
        .zip(&kernel.regions)
        .flat_map(|(id, region)| region.insts.iter().map(move |inst| (id, inst)));
    { insts }.any(|(region, inst)| match inst.op {
        Op::Reduce { .. } => has_few_reductions,
        Op::LocalRead { .. } | Op::LocalWrite { .. } => true,
        ref op if op.has_regions() => true,
        Op::Scatter { reduce: Some(_), .. } | Op::Atomic { .. } | Op::CompareExchange { .. } => true,
        Op::Gather { index, .. } if analysis.is_checked_at_run_time(kernel, index) => true,
        Op::Gather { buffer, index, mask } | Op::Scatter { buffer, index, mask, .. } => {
            let is_linear = matches!(analysis.shape(index), Shape::Linear { .. });
            is_linear && mask.is_none() && !analysis.ranges.is_proven(region, buffer, index)
        }
        _ => false,
    })
}

/// What LLVM reports while it compiles.
#[derive(Default)]
struct Diagnostics {
    /// It would otherwise print them and end the process.
    errors: Vec<String>,
    /// The bytes of the frame, if it is large.
    frame_bytes: Option<usize>,
}

impl Diagnostics {
    /// Notes a warning: "<unknown>:0:0: stack frame size (70000) exceeds limit (65536) in function 'f'" is what
    /// `generate` demands.
    fn warn(&mut self, text: &str) {
        let Some((_, size)) = text.split_once("stack frame size") else { return };
        let number = size.trim_start_matches(" (").split(')').next().and_then(|number| number.parse().ok());
        match number {
            Some(_) => self.frame_bytes = number,
            None => self.errors.push(format!("it reports the size of the stack in other words: {text}")),
        }
    }
}

extern "C" fn record_diagnostic(info: LLVMDiagnosticInfoRef, sink: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic and the sink that the handler was registered with.
    unsafe {
        let severity = LLVMGetDiagInfoSeverity(info);
        // Texts of the many remarks would take long to make.
        if !matches!(severity, LLVMDiagnosticSeverity::LLVMDSError | LLVMDiagnosticSeverity::LLVMDSWarning) {
            return;
        }
        let description = LLVMGetDiagInfoDescription(info);
        let text = CStr::from_ptr(description).to_string_lossy();
        let mut sink = (*sink.cast::<RefCell<Diagnostics>>()).borrow_mut();
        match severity {
            LLVMDiagnosticSeverity::LLVMDSError => sink.errors.push(text.into_owned()),
            _ => sink.warn(&text),
        }
        LLVMDisposeMessage(description);
    }
}

/// The target machines of a thread.
#[derive(Default)]
struct Machines(Vec<(Target, OptimizationLevel, TargetMachine)>);

impl Machines {
    fn find(&mut self, target: &Target, level: OptimizationLevel) -> Result<&TargetMachine, Error> {
        let position = match self.0.iter().position(|entry| entry.0 == *target && entry.1 == level) {
            Some(position) => position,
            None => {
                self.0.push((target.clone(), level, target.machine(level)?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[position].2)
    }
}

impl Drop for Machines {
    /// If LLVM must not be used any more, because the process ends, the machines are leaked.
    fn drop(&mut self) {
        let machines = std::mem::take(&mut self.0);
        match usage::enter() {
            Ok(_inside) => drop(machines),
            Err(_) => std::mem::forget(machines),
        }
    }
}

/// Calls a function with this thread's target machine, which the first kernel creates.
fn with_machine<T>(
    target: &Target,
    level: OptimizationLevel,
    body: impl FnOnce(&TargetMachine) -> Result<T, Error>,
) -> Result<T, Error> {
    thread_local! {
        static MACHINES: RefCell<Machines> = const { RefCell::new(Machines(Vec::new())) };
    }
    // Kernels that the body itself compiles use other machines. While a thread ends, its machines may be gone already.
    let mut machines = MACHINES.try_with(RefCell::take).unwrap_or_default();
    let outcome = machines.find(target, level).and_then(body);
    let _ = MACHINES.try_with(|kept| *kept.borrow_mut() = machines);
    outcome
}
