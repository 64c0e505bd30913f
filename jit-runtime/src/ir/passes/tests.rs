//! Tests each pass from text to text, and all of them together on random kernels.

use super::*;
use crate::backend::interpreter::prepare;
use crate::ir::random::{Case, Options};
use crate::ir::{BinaryOp, Op, Type, UnaryOp, parse, verify};

/// Runs a pass on a kernel with a few parameters.
fn run(name: &str, body: &str) -> String {
    let params = "p0: read f32, p1: write f32, p2: readwrite i32, p3: read i32";
    let mut kernel = parse(&format!("kernel({params}) {{ {body} }}")).unwrap_or_else(|error| panic!("{error}\n{body}"));
    verify(&kernel).unwrap();
    let (_, pass) = PASSES.iter().find(|(pass, _)| *pass == name).unwrap();
    pass(&mut kernel);
    verify(&kernel).unwrap();
    let text = kernel.to_string();
    let body = text.split_once("{\n").unwrap().1.strip_suffix("}\n").unwrap();
    body.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect()
}

#[test]
fn state_that_does_not_change_becomes_its_init() {
    let after = run(
        "simplify_loop_state",
        "v0: f32 = load p0
         v1: f32 = const 2.0
         v6: f32, v7: f32 = loop (v0, v1) while (v2: f32, v3: f32) {
             v4: bool = lt v2, v3
             yield v4
         } do {
             v5: f32 = mul v2, v3
             yield v5, v3
         }
         v8: f32 = add v6, v7
         store p1, v8",
    );
    let expected = "\
v0: f32 = load p0
v1: f32 = const 2.0
v5: f32 = loop (v0) while (v2: f32) {
    v3: bool = lt v2, v1
    yield v3
} do {
    v4: f32 = mul v2, v1
    yield v4
}
v6: f32 = add v5, v1
store p1, v6
";
    assert_eq!(after, expected);
}

#[test]
fn small_branches_become_selects() {
    let after = run(
        "flatten_branches",
        "v0: f32 = load p0
         v1: f32 = const 2.0
         v2: bool = lt v0, v1
         v7: f32, v8: f32, v9: f32 = if v2 {
             v3: f32 = add v0, v1
             yield v3, v0, v1
         } else {
             v4: bool = eq v0, v1
             v6: f32 = if v4 { yield v0 } else { v5: f32 = neg v0 yield v5 }
             yield v6, v0, v0
         }
         v10: f32 = fma v7, v8, v9
         store p1, v10",
    );
    let expected = "\
v0: f32 = load p0
v1: f32 = const 2.0
v2: bool = lt v0, v1
v3: f32 = add v0, v1
v4: bool = eq v0, v1
v5: f32 = neg v0
v6: f32 = select v4, v0, v5
v7: f32 = select v2, v3, v6
v8: f32 = select v2, v1, v0
v9: f32 = fma v7, v0, v8
store p1, v9
";
    assert_eq!(after, expected);
}

#[test]
fn small_switches_become_selects() {
    let after = run(
        "flatten_branches",
        "v0: f32 = load p0
         v1: u32 = lane_index
         v3: f32, v4: f32 = switch v1 case 0 {
             yield v0, v0
         } case 1 {
             v2: f32 = neg v0
             yield v2, v0
         } default {
             v5: f32 = abs v0
             yield v5, v0
         }
         v6: f32 = add v3, v4
         store p1, v6",
    );
    let expected = "\
v0: f32 = load p0
v1: u32 = lane_index
v2: f32 = neg v0
v3: f32 = abs v0
v4: u32 = const 0
v5: bool = eq v1, v4
v6: f32 = select v5, v0, v3
v7: u32 = const 1
v8: bool = eq v1, v7
v9: f32 = select v8, v2, v6
v10: f32 = add v9, v0
store p1, v10
";
    assert_eq!(after, expected);
}

#[test]
fn a_branch_whose_side_is_known_becomes_that_side() {
    let after = run(
        "choose_known_branches",
        "v0: i32 = load p3
         v1: u32 = const 1
         v2: u32 = const 7
         v3: bool = const false
         v6: i32 = switch v1 case 0 { v4: i32 = neg v0 yield v4 } case 1 { v5: i32 = abs v0 yield v5 }
             default { yield v0 }
         v8: i32 = switch v2 case 0 { yield v0 } default { v7: i32 = not v6 yield v7 }
         if v3 { scatter p2[v1] = v8 } else { scatter p2[v2] = v8 }
         v9: u32 = lane_index
         switch v9 default { scatter p2[v9] = v6 }",
    );
    let expected = "\
v0: i32 = load p3
v1: u32 = const 1
v2: u32 = const 7
v3: bool = const false
v4: i32 = abs v0
v5: i32 = not v4
scatter p2[v2] = v5
v6: u32 = lane_index
scatter p2[v6] = v4
";
    assert_eq!(after, expected);
}

#[test]
fn unread_local_memory_and_unused_results_of_switches_are_removed() {
    let text = "kernel(p0: read f32, p1: write f32) locals(l0: f32[4], l1: f32[4]) {
         v0: f32 = load p0
         v1: u32 = lane_index
         local_write l0[v1] = v0
         v4: f32, v5: f32 = switch v1 case 0 {
             v2: f32 = neg v0
             local_write l0[v1] = v2
             yield v2, v0
         } default {
             v3: f32 = sqrt v0
             local_write l1[v1] = v3
             yield v0, v3
         }
         v6: f32 = local_read l0[v1]
         v7: f32 = local_read l1[v1]
         v8: f32 = add v4, v7
         store p1, v8
    }";
    let mut kernel = parse(text).unwrap();
    eliminate_dead::run(&mut kernel);
    let expected = "\
kernel(p0: read f32, p1: write f32) locals(l0: f32[4], l1: f32[4]) {
    v0: f32 = load p0
    v1: u32 = lane_index
    v4: f32 = switch v1 case 0 {
        v2: f32 = neg v0
        yield v2
    } default {
        v3: f32 = sqrt v0
        local_write l1[v1] = v3
        yield v0
    }
    v5: f32 = local_read l1[v1]
    v6: f32 = add v4, v5
    store p1, v6
}
";
    assert_eq!(kernel.to_string(), expected);
}

#[test]
fn branches_with_memory_accesses_or_much_work_stay() {
    for inside in ["v2: f32 = gather p0[v0] yield v2", "v2: f32 = exp v4 yield v2"] {
        let body = format!(
            "v0: i32 = gather p3[v3] v1: bool = cast v0 v5: f32 = if v1 {{ {inside} }} else {{ yield v4 }} store p1, v5"
        );
        let body = format!("v3: u32 = lane_index v4: f32 = const 1.0 {body}");
        assert!(run("flatten_branches", &body).contains("if v"), "{inside}");
    }
}

#[test]
fn a_write_to_local_memory_in_a_branch_stays_there() {
    let body = "v0: u32 = lane_index v1: i32 = gather p3[v0] v2: bool = cast v1 v3: f32 = const 1.0 \
                if v2 { local_write l0[v0] = v3 } else { } v4: f32 = local_read l0[v0] store p1, v4";
    let params = "p0: read f32, p1: write f32, p2: readwrite i32, p3: read i32";
    let mut kernel = parse(&format!("kernel({params}) locals(l0: f32[4]) {{ {body} }}")).unwrap();
    let text = kernel.to_string();
    flatten_branches::run(&mut kernel);
    assert_eq!(kernel.to_string(), text, "lanes that do not take the branch write nothing");
}

#[test]
fn unobservable_code_is_removed() {
    let after = run(
        "eliminate_dead",
        "v0: f32 = load p0
         v1: i32 = load p3
         v2: f32 = sqrt v0
         v3: bool = lt v0, v2
         v9: f32, v10: i32, v11: f32 = loop (v0, v1, v2) while (v4: f32, v5: i32, v6: f32) {
             v7: bool = lt v4, v2
             yield v7
         } do {
             v8: i32 = add v5, v5
             v12: f32 = add v4, v4
             yield v12, v8, v4
         }
         v15: f32, v16: i32 = if v3 {
             v13: f32 = neg v9
             yield v13, v1
         } else {
             v14: i32 = neg v1
             yield v9, v14
         }
         v19: i32 = loop (v1) while (v17: i32) { v18: bool = cast v17 yield v18 } do { yield v17 }
         if v3 { scatter p2[v1] = v1 } else { v20: i32 = neg v1 }
         store p1, v15",
    );
    let expected = "\
v0: f32 = load p0
v1: i32 = load p3
v2: f32 = sqrt v0
v3: bool = lt v0, v2
v7: f32 = loop (v0) while (v4: f32) {
    v5: bool = lt v4, v2
    yield v5
} do {
    v6: f32 = add v4, v4
    yield v6
}
v9: f32 = if v3 {
    v8: f32 = neg v7
    yield v8
} else {
    yield v7
}
if v3 {
    scatter p2[v1] = v1
} else {
}
store p1, v9
";
    assert_eq!(after, expected);
}

#[test]
fn equal_values_are_computed_once() {
    let after = run(
        "deduplicate",
        "v0: f32 = load p0
         v1: f32 = load p0
         v2: f32 = const 1.0
         v3: f32 = add v0, v2
         v4: f32 = add v2, v1
         v5: bool = lt v3, v4
         v9: f32 = if v5 {
             v6: f32 = const 1.0
             v7: f32 = sub v0, v6
             yield v7
         } else {
             v8: f32 = sub v0, v2
             yield v8
         }
         v10: f32 = sub v0, v2
         v11: f32 = sub v10, v9
         store p1, v11",
    );
    let expected = "\
v0: f32 = load p0
v1: f32 = const 1.0
v2: f32 = add v0, v1
v3: bool = lt v2, v2
v6: f32 = if v3 {
    v4: f32 = sub v0, v1
    yield v4
} else {
    v5: f32 = sub v0, v1
    yield v5
}
v7: f32 = sub v0, v1
v8: f32 = sub v7, v6
store p1, v8
";
    assert_eq!(after, expected);
}

#[test]
fn exp_is_a_short_straight_line() {
    let mut kernel =
        parse("kernel(p0: read f32, p1: write f32) { v0: f32 = load p0 v1: f32 = exp v0 store p1, v1 }").unwrap();
    optimise(&mut kernel);
    let ops = kernel.regions[0].insts.iter().filter(|inst| !matches!(inst.op, Op::Const(..) | Op::Bitcast(..)));
    // 20, where each of the two clamps is a comparison and a selection, and the load and the store.
    assert_eq!((kernel.regions.len(), ops.count()), (1, 22), "{kernel}");
}

#[test]
fn sine_and_cosine_share_the_reduction() {
    let text = "kernel(p0: read f32, p1: write f32) {
        v0: f32 = load p0 v1: f32 = sin v0 v2: f32 = cos v0 v3: f32 = add v1, v2 store p1, v3 }";
    let mut kernel = parse(text).unwrap();
    optimise(&mut kernel);
    let branches = kernel.regions[0].insts.iter().filter(|inst| matches!(inst.op, Op::If { .. })).count();
    assert_eq!(branches, 1);
    // Both polynomials, four and four steps, once.
    let steps = kernel.regions[0].insts.iter().filter(|inst| matches!(inst.op, Op::Fma(..))).count();
    assert_eq!(steps, 4 + 3 + 2 + 4, "{kernel}");
}

#[test]
fn passes_keep_the_meaning_of_random_kernels() {
    for seed in 0..300 {
        let options = if seed % 3 == 0 { Options::expressions() } else { Options::structured() };
        let case = Case::new(seed, &options);
        let expected = case.run(&prepare(case.kernel.clone()), None);
        let mut kernel = case.kernel.clone();
        for (name, pass) in PASSES {
            pass(&mut kernel);
            verify(&kernel).unwrap_or_else(|error| panic!("seed {seed}, {name}: {error}\n{kernel}"));
            assert_eq!(parse(&kernel.to_string()).as_ref(), Ok(&kernel), "{name} numbers in the order of the text");
            let actual = case.run(&prepare(kernel.clone()), None);
            case.compare(&expected, &actual).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(!kernel.regions.iter().flat_map(|region| &region.insts).any(|inst| inst.op.is_transcendental()));
    }
}

#[test]
fn every_function_of_every_float_keeps_its_bits_when_expanded() {
    for ty in [Type::F16, Type::BF16, Type::F32, Type::F64] {
        let unary = UnaryOp::ALL.iter().filter(|op| op.is_transcendental()).map(|op| format!("{} v0", op.name()));
        let binary = BinaryOp::ALL.iter().filter(|op| op.is_transcendental()).map(|op| format!("{} v0, v1", op.name()));
        for operation in unary.chain(binary) {
            let text = format!(
                "kernel(p0: read {ty}, p1: read {ty}, p2: write {ty}) {{
                    v0: {ty} = load p0 v1: {ty} = load p1 v2: {ty} = {operation} store p2, v2 }}"
            );
            let kernel = parse(&text).unwrap();
            let mut rng = crate::ir::random::Rng::new(1);
            let width = 600;
            let mut column =
                || (0..width).flat_map(|_| rng.value(ty).to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
            let inputs = [column(), column(), column()].map(crate::ir::random::Input::Buffer).to_vec();
            let case = Case { seed: 0, kernel: kernel.clone(), width, inputs };
            let mut expanded = kernel.clone();
            optimise(&mut expanded);
            let expected = case.run(&prepare(kernel), None);
            case.compare(&expected, &case.run(&prepare(expanded), None)).unwrap();
        }
    }
}
