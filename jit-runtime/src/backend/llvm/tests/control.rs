//! Switches and local memory as text: each way in which code is generated for them.

use super::*;
use crate::ir::random::Input;
use crate::ir::{TOP, parse, verify};

/// Runs a kernel whose first parameter is the indices and whose second one is written, on all targets.
fn check_text(text: &str, indices: &[u32]) {
    let kernel = parse(text).unwrap();
    verify(&kernel).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    let bytes = |values: &[u32]| Input::Buffer(values.iter().flat_map(|value| value.to_le_bytes()).collect());
    for seed in 0..2 {
        let mut inputs = vec![bytes(indices), bytes(&vec![0; indices.len()])];
        inputs.truncate(kernel.params.len());
        let case = Case { seed, kernel: kernel.clone(), width: indices.len(), inputs };
        for target in variants() {
            check(&case, &target, CodeOptions::default()).unwrap();
        }
    }
}

/// A switch with a number of cases; each scatters or divides, so that none of it is computed for inactive lanes.
fn switch_text(cases: usize, index: &str) -> String {
    let mut text = format!(
        "kernel(p0: read u32, p1: readwrite u32) {{
            v0: u32 = load p0
            v1: u32 = lane_index
            v2: u32 = const 1000
            v3: u32 = {index}\n"
    );
    let mut next = 5;
    let mut body = |case: usize| {
        let (number, sum) = (next, next + 1);
        next += 2;
        format!("{{ v{number}: u32 = const {} v{sum}: u32 = div v{number}, v0 yield v{sum} }}", case * 17 + 5)
    };
    let sides: Vec<String> = (0..cases).map(|case| format!("case {case} {}", body(case))).collect();
    let default = body(cases);
    text += &format!("v4: u32 = switch v3 {} default {default}\n", sides.join(" "));
    text + "scatter p1[v1] = v4 }"
}

#[test]
fn switches_with_few_and_many_cases() {
    let mixed: Vec<u32> = (0..300).map(|lane: u32| lane.wrapping_mul(2_654_435_769) >> 25).collect();
    let coherent: Vec<u32> = (0..300).map(|lane| lane / 70).collect();
    let beyond: Vec<u32> = (0..100).map(|lane| if lane % 3 == 0 { u32::MAX } else { lane }).collect();
    for (cases, indices) in [(0, &mixed), (1, &beyond), (2, &mixed), (7, &beyond), (16, &mixed), (40, &coherent)] {
        check_text(&switch_text(cases, "add v0, v1"), indices);
    }
    check_text(&switch_text(20, "const 5"), &mixed);
}

#[test]
fn a_switch_with_very_many_cases() {
    let indices: Vec<u32> = (0..400).map(|lane| lane % 140).collect();
    let kernel = parse(&switch_text(300, "rem v0, v2")).unwrap();
    let bytes: Vec<u8> = indices.iter().flat_map(|value| value.to_le_bytes()).collect();
    let case = Case { seed: 0, kernel, width: 400, inputs: vec![Input::Buffer(bytes.clone()), Input::Buffer(bytes)] };
    for target in targets() {
        check(&case, &target, CodeOptions::default()).unwrap();
    }
}

#[test]
fn a_switch_that_all_lanes_of_a_packet_share_is_a_jump() {
    // The row of an image of 128 columns, which all lanes of a group share.
    check_text(&switch_text(20, "div v1, v2").replace("const 1000", "const 128"), &vec![3; 2000]);
}

#[test]
fn switches_in_loops_and_in_one_another() {
    let text = "kernel(p0: read u32, p1: write u32) {
        v0: u32 = load p0
        v1: u32 = const 3
        v2: u32 = const 100
        v3: u32 = rem v0, v1
        v15: u32, v16: u32 = loop (v0, v3) while (v4: u32, v5: u32) {
            v6: bool = lt v4, v2
            yield v6
        } do {
            v12: u32, v13: u32 = switch v5 case 0 {
                v7: u32 = add v4, v1
                yield v7, v1
            } case 1 {
                v8: u32 = rem v4, v1
                v10: u32 = switch v8 case 0 { yield v2 } case 1 { yield v8 } default {
                    v9: u32 = mul v4, v1
                    yield v9
                }
                v11: u32 = add v10, v4
                yield v11, v8
            } default {
                v14: u32 = mul v4, v1
                v17: u32 = add v14, v1
                yield v17, v3
            }
            v18: u32 = rem v13, v1
            yield v12, v18
        }
        v19: u32 = add v15, v16
        store p1, v19
    }";
    check_text(text, &(0..120).map(|lane| lane % 37).collect::<Vec<u32>>());
}

/// A loop over local memory: writes at one index, reads back at another.
fn local_text(len: usize, write_index: &str, read_index: &str) -> String {
    format!(
        "kernel(p0: read u32, p1: write u32) locals(l0: u32[{len}], l1: u8[3]) {{
            v0: u32 = load p0
            v1: u32 = const 0
            v2: u32 = const 1
            v3: u32 = const 9
            v13: u32, v14: u32 = loop (v1, v0) while (v4: u32, v5: u32) {{
                v6: bool = lt v4, v3
                yield v6
            }} do {{
                v7: u32 = {write_index}
                local_write l0[v7] = v5
                v8: u32 = {read_index}
                v9: u32 = local_read l0[v8]
                v10: u32 = add v9, v5
                v11: u32 = add v10, v2
                v12: u32 = add v4, v2
                yield v12, v11
            }}
            v15: u32 = local_read l0[v0]
            v16: u32 = add v14, v15
            store p1, v16
        }}"
    )
}

#[test]
fn local_memory_at_shared_and_own_indices() {
    let indices: Vec<u32> = (0..200).map(|lane| if lane % 11 == 0 { u32::MAX - lane } else { lane % 13 }).collect();
    // On the stack, on the stack with few packets only, and passed by the caller.
    for len in [0, 1, 8, 60, 200, 1000] {
        check_text(&local_text(len, "add v4, v1", "sub v4, v2"), &indices);
        check_text(&local_text(len, "add v0, v4", "sub v3, v4"), &indices);
        check_text(&local_text(len, "xor v0, v4", "add v5, v4"), &indices);
    }
}

#[test]
fn local_memory_at_constant_indices_becomes_registers() {
    let Some(target) = targets().into_iter().next() else { return };
    let text = "kernel(p0: read f32, p1: write f32) locals(l0: f32[4]) {
        v0: f32 = load p0
        v1: u32 = const 1
        v2: i8 = const 2
        v3: f32 = const 3.0
        v4: bool = lt v0, v3
        local_write l0[v1] = v0
        if v4 { v5: f32 = sqrt v0 v6: f32 = div v5, v0 local_write l0[v2] = v6 } else { local_write l0[v2] = v3 }
        v7: f32 = local_read l0[v1]
        v8: f32 = local_read l0[v2]
        v9: f32 = mul v7, v8
        store p1, v9
    }";
    let kernel = parse(text).unwrap();
    let code = compiler::llvm_text(&kernel, CodeOptions::default(), &target).unwrap();
    assert!(!code.contains("alloca"), "{code}");
}

#[test]
fn lanes_start_with_zeros_whatever_ran_before() {
    let text = "kernel(p0: read u32, p1: write u32) locals(l0: u32[2000]) {
        v0: u32 = load p0
        v1: u32 = local_read l0[v0]
        local_write l0[v0] = v0
        store p1, v1
    }";
    let kernel = parse(text).unwrap();
    for target in variants() {
        let executable = compile_for(&kernel, CodeOptions::default(), &target).unwrap();
        let bytes: Vec<u8> = (0..500u32).flat_map(|lane| (lane * 3).to_le_bytes()).collect();
        let inputs = vec![Input::Buffer(bytes.clone()), Input::Buffer(bytes)];
        let case = Case { seed: 0, kernel: kernel.clone(), width: 500, inputs };
        for _ in 0..3 {
            assert!(case.run(&executable, None)[1].iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
fn a_switch_in_the_random_kernels_occurs() {
    let has_switch = |seed| {
        let kernel = Case::new(seed, &crate::ir::random::Options::structured()).kernel;
        kernel.region(TOP).insts.iter().any(|inst| matches!(inst.op, crate::ir::Op::Switch { .. }))
    };
    assert!((400..480).filter(|&seed| has_switch(seed)).count() > 20);
}
