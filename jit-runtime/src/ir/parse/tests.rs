//! Text round trips, and errors for text that is not a kernel.

use super::*;
use crate::ir::print::Literal;
use crate::ir::random::{Case, Options, Rng};
use crate::ir::verify;

// rows: O72
// no device: text is compared
#[test]
fn random_kernels_print_parse_and_verify() {
    for seed in 0..300 {
        let kernel = Case::new(seed, &Options::structured()).kernel;
        verify(&kernel).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{kernel}"));
        let text = kernel.to_string();
        assert_eq!(parse(&text).as_ref(), Ok(&kernel), "seed {seed}\n{text}");
    }
}

#[test]
fn constants_read_back_bit_for_bit() {
    let mut rng = Rng::new(5);
    for ty in Type::ALL {
        for _ in 0..2000 {
            let bits = rng.value(ty);
            let text = Literal(ty, bits).to_string();
            assert_eq!(literal::parse(ty, &text), Some(bits), "{ty} {text}");
        }
    }
    for bits in 0..=u16::MAX {
        for ty in [Type::F16, Type::BF16] {
            assert_eq!(literal::parse(ty, &Literal(ty, bits.into()).to_string()), Some(bits.into()));
        }
    }
    assert_eq!(Literal(Type::F32, 0x8000_0000).to_string(), "-0.0");
    assert_eq!(Literal(Type::F32, 1).to_string(), "1e-45");
    assert_eq!(Literal(Type::F64, f64::NEG_INFINITY.to_bits()).to_string(), "-inf");
    assert_eq!(Literal(Type::F32, 0x7fc0_0000).to_string(), "nan");
    assert_eq!(Literal(Type::F32, 0xffc0_0001).to_string(), "0xffc00001");
    assert_eq!(Literal(Type::I8, 0x80).to_string(), "-128");
}

#[test]
fn the_text_form_is_stable() {
    let text = "\
kernel(p0: read f32, p1: write f32, p2: scalar u32, p3: readwrite f32) locals(l0: f32[16], l1: u8[0]) {
    v0: f32 = load p0
    v1: u32 = scalar p2
    v2: u32 = const 3
    v3: bool = lt v1, v2
    v6: f32, v7: u32 = if v3 {
        v4: f32 = gather p0[v1] where v3
        yield v4, v2
    } else {
        v5: f32 = sqrt v0
        scatter.add p3[v1] = v5 where v3
        yield v5, v1
    }
    v12: f32 = loop (v6) while (v8: f32) {
        v9: f32 = const 1e-45
        v10: bool = lt v8, v9
        yield v10
    } do {
        v11: f32 = fma v8, v9, v8
        scatter p3[v7] = v11
        yield v11
    }
    v13: f32 = atomic.max p3[v1] = v12 where v3
    v14: f32 = atomic.exchange p3[v2] = v13
    v15: f32, v16: bool = compare_exchange p3[v2] = v14, v12
    v17: f32, v18: bool = compare_exchange p3[v2] = v14, v12 where v16
    local_write l0[v1] = v17
    v19: f32 = local_read l0[v2]
    v22: f32, v23: bool = switch v1 case 0 {
        yield v19, v18
    } case 1 {
        v20: bool = const true
        yield v17, v20
    } default {
        v21: u8 = local_read l1[v1]
        yield v12, v18
    }
    switch v2 default {
    }
    store p1, v12
}
";
    let kernel = parse(text).unwrap();
    verify(&kernel).unwrap();
    assert_eq!(kernel.to_string(), text);
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    assert_eq!(error(""), "line 1, column 1: expected `kernel`, found the end");
    assert_eq!(error("kernel(p1: read f32) {}"), "line 1, column 8: expected p0, found `p1`");
    assert_eq!(error("kernel(p0: read f33) {}"), "line 1, column 17: expected a type such as `f32`, found `f33`");
    assert_eq!(
        error("kernel() {\n    v0: u8 = const 256\n}"),
        "line 2, column 20: expected a constant of type u8, found `256`"
    );
    assert_eq!(
        error("kernel() {\n    // nothing here\n    v0: u8 = frob v1\n}"),
        "line 3, column 14: expected an operation, found `frob`"
    );
    assert_eq!(
        error("kernel() {\n    v1: u8 = const 1\n}"),
        "line 3, column 2: expected a definition of v0, since there are later values, found the end"
    );
    assert_eq!(
        error("kernel() { v4000000000: u8 = const 1 }"),
        "line 1, column 12: expected a value that is not defined yet, numbered without gaps, found `v4000000000`"
    );
    assert_eq!(error("kernel() { v0: u8 = neg v0 "), "line 1, column 28: expected an operation, found the end");
    assert_eq!(error("kernel() locals(l0: f32[4], l2: u8[1]) {}"), "line 1, column 29: expected l1, found `l2`");
    assert_eq!(
        error("kernel() locals(l0: f32[-1]) {}"),
        "line 1, column 25: expected a number of elements, found `-1`"
    );
    assert_eq!(
        error("kernel() { v0: u32 = lane_index switch v0 case 1 {} default {} }"),
        "line 1, column 48: expected `0`, found `1`"
    );
    assert_eq!(error("kernel() {} }"), "line 1, column 13: expected the end, found `}`");
}

#[test]
fn text_with_mistakes_never_panics() {
    let mut rng = Rng::new(1);
    for seed in 0..60 {
        let text = Case::new(seed, &Options { operations: 10, ..Options::structured() }).kernel.to_string();
        for _ in 0..50 {
            let mut bytes = text.clone().into_bytes();
            let at = rng.below(bytes.len());
            bytes[at] = rng.choose(b"vp0(){}[]=,:. \n-xe9");
            if let Ok(kernel) = parse(&String::from_utf8(bytes).unwrap()) {
                // It may be invalid now; the verifier and the printer must not fail.
                let _ = verify(&kernel).map_err(|error| error.to_string());
                let _ = kernel.to_string();
            }
        }
    }
}
