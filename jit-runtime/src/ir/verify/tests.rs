//! One invalid kernel for each rule, and the error that is reported for it.

use super::verify;
use crate::ir::{Builder, Inst, Kernel, Op, Region, RegionId, Type, Value, parse};

/// The verifier's error for a kernel whose top region is the text, with a few parameters.
fn error(body: &str) -> String {
    let params = "p0: read f32, p1: write f32, p2: readwrite i32, p3: reduce bool, p4: scalar u8, p5: read u8, \
                  p6: readwrite f32";
    let kernel = parse(&format!("kernel({params}) locals(l0: f32[4]) {{ {body} }}"))
        .unwrap_or_else(|error| panic!("{error}\n{body}"));
    verify(&kernel).unwrap_err().to_string()
}

#[test]
fn operands_have_the_types_that_the_operation_takes() {
    let two = "v0: f32 = const 1.0 v1: u8 = const 1";
    assert_eq!(
        error(&format!("{two} v2: f32 = add v0, v1")),
        "in region r0, instruction 2 `v2: f32 = add v0, v1`: v1 is u8, expected f32"
    );
    let cases = [
        ("v2: f32 = and v0, v0", "and does not exist for f32"),
        ("v2: u8 = sqrt v1", "sqrt does not exist for u8"),
        ("v2: u8 = select v1, v1, v1", "v1 is u8, expected bool"),
        ("v2: u8 = lt v1, v1", "the result v2 is u8, expected bool"),
        ("v2: u32 = bitcast v1", "u8 and u32 differ in size"),
        ("v2: u8, v3: u8 = add v1, v1", "it has 2 results, expected 1"),
        ("add v1, v1", "it has 0 results, expected 1"),
        ("v2: f32 = fma v0, v0, v1", "v1 is u8, expected f32"),
        ("v2: f32 = fma v0, v1, v0", "v1 is u8, expected f32"),
        ("v2: i32 = lane_index", "the result v2 is i32, expected u32"),
        ("v2: f32 = gather p0[v0]", "the index v0 is f32, expected an integer"),
        ("v2: f32 = gather p0[v1] where v1", "v1 is u8, expected bool"),
        ("v2: bool = not v1", "the result v2 is bool, expected u8"),
        ("v2: i32 = atomic.add p2[v1] = v1", "v1 is u8, expected i32"),
        ("v2: u8 = atomic.exchange p5[v1] = v1", "p5 is declared as read, expected readwrite"),
        ("v2: f32 = atomic.and p6[v1] = v0", "the reduction does not exist for f32"),
        ("v2: f32 = compare_exchange p6[v1] = v0, v0", "it has 1 results, expected 2"),
        ("v2: f32, v3: u8 = compare_exchange p6[v1] = v0, v0", "the result v3 is u8, expected bool"),
        ("v2: f32, v3: bool = compare_exchange p6[v1] = v1, v0", "v1 is u8, expected f32"),
        ("v2: f32 = local_read l0[v0]", "the index v0 is f32, expected an integer"),
        ("v2: u8 = local_read l0[v1]", "the result v2 is u8, expected f32"),
        ("v2: f32 = local_read l1[v1]", "l1 does not exist"),
        ("local_write l0[v1] = v1", "v1 is u8, expected f32"),
        ("v2: f32 = local_write l0[v1] = v0", "it has 1 results, expected 0"),
    ];
    for (inst, expected) in cases {
        let message = error(&format!("{two} {inst}"));
        assert!(message.ends_with(&format!("`{inst}`: {expected}")), "{message}");
    }
}

#[test]
fn operands_are_visible() {
    let cases = [
        ("v0: u8 = neg v1 v1: u8 = const 1", "v1 is used before it is defined"),
        ("v0: u8 = neg v0", "v0 is used before it is defined"),
        (
            "v0: bool = const true if v0 { v1: u8 = const 1 } else { } v2: u8 = neg v1",
            "v1 is used outside of the region that defines it",
        ),
        (
            "v0: bool = const true if v0 { v1: u8 = const 1 } else { v2: u8 = neg v1 }",
            "v1 is used outside of the region that defines it",
        ),
        (
            "v0: bool = const true v2: bool = loop (v0) while (v1: bool) { yield v1 } do { yield v1 } v3: bool = not \
            v1",
            "v1 is used outside of the region that defines it",
        ),
    ];
    for (body, expected) in cases {
        let message = error(body);
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn regions_yield_what_their_owner_expects() {
    let cases = [
        (
            "v0: u8 = const 1 v2: u8 = loop (v0) while (v1: u8) { yield v1 } do { yield v1 }",
            "in region r1: what the region yields: v1 is u8, expected bool",
        ),
        (
            "v0: bool = const true v2: bool = loop (v0) while (v1: bool) { yield v1 } do { }",
            "in region r2: what the region yields: 0 values, expected 1",
        ),
        (
            "v0: bool = const true v2: bool = loop (v0, v0) while (v1: bool) { yield v1 } do { yield v1 }",
            "in region r0, instruction 1 `v2: bool = loop (v0, v0) while (v1: bool) { .. } do { .. }`: the initial \
            state: 2 values, expected 1",
        ),
        (
            "v0: bool = const true v1: bool = if v0 { yield v0 } else { }",
            "in region r2: what the region yields: 0 values, expected 1",
        ),
        (
            "v0: u8 = const 1 if v0 { } else { }",
            "in region r0, instruction 1 `if v0 { .. } else { .. }`: v0 is u8, expected bool",
        ),
        (
            "v0: bool = const true if v0 (v1: u8) { } else { }",
            "in region r0, instruction 1 `if v0 (v1: u8) { .. } else { .. }`: the branch r1 takes parameters",
        ),
        (
            "v0: u8 = const 1 switch v0 default { }",
            "in region r0, instruction 1 `switch v0 default { .. }`: v0 is u8, expected u32",
        ),
        (
            "v0: u32 = lane_index v1: u32 = switch v0 case 0 { yield v0 } case 1 { } default { yield v0 }",
            "in region r2: what the region yields: 0 values, expected 1",
        ),
        (
            "v0: u32 = lane_index v1: u8 = switch v0 case 0 { yield v0 } default { yield v0 }",
            "in region r0, instruction 1 `v1: u8 = switch v0 case 0 { .. } default { .. }`: the result v1 is u8, \
            expected u32",
        ),
        (
            "v0: u32 = lane_index switch v0 case 0 { v1: u8 = const 1 } default { v2: u8 = neg v1 }",
            "in region r2, instruction 0 `v2: u8 = neg v1`: v1 is used outside of the region that defines it",
        ),
        (
            "v0: u32 = lane_index switch v0 case 0 { } case 1 (v1: u8) { } default { }",
            "in region r0, instruction 1 `switch v0 case 0 { .. } case 1 (v1: u8) { .. } default { .. }`: the branch \
            r2 takes parameters",
        ),
        (
            "v0: bool = const false v2: bool = loop (v0) while (v1: bool) { yield v1 } do (v3: bool) { yield v1 }",
            "in region r0, instruction 1 `v2: bool = loop (v0) while (v1: bool) { .. } do (v3: bool) { .. }`: the body \
            r2 takes parameters",
        ),
        ("v0: u8 = const 1 yield v0", "in region r0: the top region yields values"),
    ];
    for (body, expected) in cases {
        assert_eq!(error(body), expected);
    }
}

#[test]
fn parameters_are_accessed_as_they_are_declared() {
    let values = "v0: f32 = const 1.0 v1: i32 = const 1 v2: bool = const true";
    let cases = [
        ("v3: f32 = load p1", "p1 is declared as write, expected read or readwrite"),
        ("v3: f32 = gather p1[v1]", "p1 is declared as write, expected read or readwrite"),
        ("v3: u8 = load p4", "p4 is a scalar, expected a buffer"),
        ("v3: f32 = scalar p0", "p0 is a buffer, expected a scalar"),
        ("v3: f32 = load p9", "p9 does not exist"),
        ("store p0, v0", "p0 is declared as read, expected write or readwrite"),
        ("store p1, v1", "v1 is i32, expected f32"),
        ("store p1, v0 store p1, v0", "p1 is stored twice"),
        ("if v2 { store p1, v0 } else { }", "it is outside of the top region"),
        ("if v2 { } else { reduce.and p3, v2 }", "it is outside of the top region"),
        ("scatter p1[v1] = v0", "p1 is declared as write, expected readwrite"),
        ("reduce.add p3, v2", "the reduction does not exist for bool"),
        ("reduce.and p3, v2 reduce.or p3, v2", "p3 receives two reductions"),
        ("v3: i32 = gather p2[v1] scatter p2[v1] = v3", "p2 is gathered from and written"),
    ];
    for (body, expected) in cases {
        let message = error(&format!("{values} {body}"));
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn local_memory_is_bounded() {
    let kernel = parse("kernel() locals(l0: f64[131072], l1: u8[1]) { }").unwrap();
    assert_eq!(
        verify(&kernel).unwrap_err().to_string(),
        "in region r0: the per-lane local memory takes 1048577 bytes, expected at most 1048576"
    );
    let huge = parse("kernel() locals(l0: f64[4294967295], l1: f64[4294967295]) { }").unwrap();
    assert!(verify(&huge).is_err());
}

fn kernel(types: &[Type], regions: Vec<Region>) -> Kernel {
    Kernel { types: types.to_vec(), regions, ..Kernel::default() }
}

fn top(op: Op, first: u32, results: u32) -> Region {
    Region { insts: vec![Inst { op, first: Value(first), results }], ..Region::default() }
}

#[test]
fn tables_and_regions_fit_together() {
    let message = |kernel: &Kernel| verify(kernel).unwrap_err().to_string();
    assert_eq!(message(&Kernel::default()), "in region r0: there is no top region");
    assert_eq!(
        message(&kernel(&[], vec![Region::default(), Region::default()])),
        "in region r1: no instruction owns the region"
    );
    assert_eq!(
        message(&kernel(&[Type::U8], vec![Region::default()])),
        "in region r0: v0 has a type but is never defined"
    );
    assert_eq!(
        message(&kernel(&[Type::U8], vec![top(Op::Const(Type::U8, 256), 0, 1)])),
        "in region r0, instruction 0 `v0: u8 = const 0x100`: the constant 0x100 does not fit into u8"
    );
    assert_eq!(
        message(&kernel(&[], vec![top(Op::LaneIndex, 7, 1)])),
        "in region r0, instruction 0 `v7: ? = lane_index`: v7 has no type"
    );
    let mut twice = top(Op::Const(Type::U8, 1), 0, 1);
    twice.insts.push(Inst { op: Op::Const(Type::U8, 2), first: Value(0), results: 1 });
    assert_eq!(
        message(&kernel(&[Type::U8], vec![twice])),
        "in region r0, instruction 1 `v0: u8 = const 2`: v0 is defined twice"
    );
    let truth = Value(0);
    let mut fused = top(Op::Const(Type::Bool, 1), 0, 1);
    fused.insts.push(Inst { op: Op::Fma(truth, truth, truth), first: Value(1), results: 1 });
    assert!(message(&kernel(&[Type::Bool; 2], vec![fused])).ends_with("fma does not exist for bool"));
    let mut builder = Builder::new();
    let condition = builder.constant(Type::Bool, 1);
    let cycle = Op::If { condition, then_region: RegionId(0), else_region: RegionId(0) };
    builder.append(cycle, &[]);
    assert!(message(&builder.finish()).ends_with("r0 is used twice"));
}

#[test]
fn deep_nesting_is_an_error_not_an_overflow() {
    let mut builder = Builder::new();
    let condition = builder.constant(Type::Bool, 1);
    for _ in 0..1000 {
        builder.open_region(&[]);
    }
    for depth in (0..1000).rev() {
        let (other, _) = builder.open_region(&[]);
        builder.close_region(vec![]);
        builder.close_region(vec![]);
        builder.append(Op::If { condition, then_region: RegionId(depth + 1), else_region: other }, &[]);
    }
    let message = verify(&builder.finish()).unwrap_err().to_string();
    assert!(message.ends_with("regions nest deeper than 200"), "{message}");
}
