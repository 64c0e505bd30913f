//! Tests the checks that find accesses that were wrongly proven to be in range.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::targets::FileType;

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::codegen::{Job, generate};
use crate::backend::llvm::ranges::Ranges;
use crate::backend::llvm::recompute::Recompute;
use crate::backend::loader::violation::Violation;
use crate::ir::parse;

/// The number of lanes of each launch, and of elements of the buffers.
const WIDTH: u64 = 256;

/// Code that trusts every access, and verifies each one, with two packets.
fn trusting(kernel: &Kernel, target: &Target) -> MachineCode {
    let (context, packets) = (Context::create(), 2);
    let mut analysis = Analysis::new(kernel, packets * target.lanes);
    analysis.ranges = Ranges::all_without_proof(kernel);
    let module = context.create_module("kernel");
    let machine = target.machine(OptimizationLevel::None).unwrap();
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let options = CodeOptions::default();
    generate(
        &context,
        &module,
        &Job {
            kernel,
            analysis: &analysis,
            rows: None,
            recompute: &Recompute::default(),
            target,
            options,
            packets,
            optimised: false,
        },
    );
    module.verify().unwrap();
    let object = machine.write_to_memory_buffer(&module, FileType::Object).unwrap();
    MachineCode::from_object(object.as_slice().into()).unwrap()
}

/// The violation that is found in a kernel whose first parameter is read and whose second one is written.
fn violation(text: &str, target: &Target, length: u64) -> Option<Violation> {
    let executable = trusting(&parse(text).unwrap(), target);
    let (mut input, mut output) = (vec![0_u64; 1 << 12], vec![0_u64; 1 << 12]);
    let argument = |memory: &mut Vec<u64>| {
        let offset = memory.as_ptr().align_offset(64);
        RawArgument { word: memory[offset..].as_mut_ptr() as u64, length }
    };
    let arguments = [argument(&mut input), argument(&mut output)];
    // SAFETY: the arguments are those of the kernel; nothing behind them is accessed once a violation is found.
    unsafe { executable.run_verified(0..WIDTH, &arguments, crate::cancel::Poll::NEVER) }
}

#[test]
fn wrong_proofs_are_found_in_accesses_of_every_form() {
    let lane = "v0: u32 = lane_index v1: u32 = const 7 v2: u32 = const 300 v3: u32 = const 3";
    let forms = [
        ("consecutive elements", "v4: u32 = add v0, v1 v5: u32 = gather p0[v4] store p1, v5"),
        ("elements anywhere", "v4: u32 = mul v0, v0 v5: u32 = gather p0[v4] store p1, v5"),
        (
            "probably consecutive elements",
            "v4: u32 = add v0, v1 v5: u32 = rem v4, v2 v6: u32 = gather p0[v5] store p1, v6",
        ),
        (
            "probably shared elements",
            "v4: u32 = add v0, v2 v5: u32 = mul v1, v2 v6: u32 = div v4, v5 v7: u32 = add v6, v2 \
             v8: u32 = gather p0[v7] store p1, v8",
        ),
        (
            "rows",
            "v4: u32 = mul v0, v1 v5: u32 = add v4, v3 v6: u32 = const 4 v7: u32 = add v4, v6 v8: u32 = gather p0[v5] \
             v9: u32 = gather p0[v7] v10: u32 = add v8, v9 store p1, v10",
        ),
    ];
    for target in targets().into_iter().map(Target::with_verified_accesses) {
        for (form, code) in forms {
            let text = format!("kernel(p0: read u32, p1: write u32) {{ {lane} {code} }}");
            let found = violation(&text, &target, WIDTH).unwrap_or_else(|| panic!("{form}"));
            // Rows are identified by their first element.
            let end = found.index + if form == "rows" { 1 } else { 0 };
            assert!(end >= WIDTH as i64 && found.length == WIDTH, "{form}: {found}");
            assert!(found.access.contains("Gather { buffer: p0") && found.access.contains(" of kernel "), "{found}");
        }
        let scatter =
            format!("kernel(p0: read u32, p1: readwrite u32) {{ {lane} v4: u32 = add v0, v3 scatter p1[v4] = v0 }}");
        let found = violation(&scatter, &target, WIDTH).expect("scatters are verified");
        assert!(found.to_string().contains("Scatter { reduce: None, buffer: p1"), "{found}");
        let own = "kernel(p0: read u32, p1: write u32) { v0: u32 = load p0 store p1, v0 }";
        assert_eq!(violation(own, &target, WIDTH), None);
        let found = violation(own, &target, WIDTH - 1).expect("elements of the lanes are verified");
        assert_eq!((found.index, found.length), (WIDTH as i64 - 1, WIDTH - 1));
    }
}

#[test]
fn code_that_verifies_nothing_has_no_record() {
    let kernel = parse("kernel(p0: read u32, p1: write u32) { v0: u32 = load p0 store p1, v0 }").unwrap();
    for target in targets() {
        let plain = compile_for(&kernel, CodeOptions::default(), &target).unwrap();
        assert_eq!((plain.loaded.record_offset(), plain.loaded.scratch_bytes()), (None, 0));
        let verified = compile_for(&kernel, CodeOptions::default(), &target.with_verified_accesses()).unwrap();
        assert_eq!((verified.loaded.record_offset(), verified.loaded.scratch_bytes()), (Some(0), 64));
    }
}
