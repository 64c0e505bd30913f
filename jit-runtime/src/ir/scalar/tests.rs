//! Tests the specified semantics, case by case.

use half::{bf16, f16};

use super::*;

const F32: Type = Type::F32;

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn i(ty: Type, value: i64) -> u64 {
    value as u64 & ty.bit_mask()
}

#[test]
fn integer_division_never_traps() {
    for ty in Type::ALL.into_iter().filter(|ty| ty.is_integer()) {
        for x in [0, 1, -1, 7, 100] {
            assert_eq!(binary(BinaryOp::Div, ty, i(ty, x), 0), ty.bit_mask(), "{ty} {x}");
            assert_eq!(binary(BinaryOp::Rem, ty, i(ty, x), 0), i(ty, x), "{ty} {x}");
        }
    }
    for ty in [Type::I8, Type::I16, Type::I32, Type::I64] {
        let min = 1 << (ty.bits() - 1);
        assert_eq!(binary(BinaryOp::Div, ty, min, i(ty, -1)), min);
        assert_eq!(binary(BinaryOp::Rem, ty, min, i(ty, -1)), 0);
        assert_eq!(binary(BinaryOp::Div, ty, i(ty, -7), i(ty, 2)), i(ty, -3), "truncates towards zero");
        assert_eq!(binary(BinaryOp::Rem, ty, i(ty, -7), i(ty, 2)), i(ty, -1));
        assert_eq!(unary(UnaryOp::Abs, ty, min), min);
    }
}

#[test]
fn one_and_infinity_are_what_conversion_gives() {
    for ty in Type::ALL {
        assert_eq!(one(ty), cast(Type::U64, ty, 1), "{ty}");
    }
    for ty in Type::ALL.into_iter().filter(|ty| ty.is_float()) {
        let infinity = cast(Type::F64, ty, f64::INFINITY.to_bits());
        assert_eq!(identity(ReduceOp::Min, ty), infinity, "{ty}");
        assert_eq!(identity(ReduceOp::Max, ty), infinity | 1 << (ty.bits() - 1), "{ty}");
    }
}

#[test]
fn shifts_by_the_width_and_more_shift_out_every_bit() {
    for ty in Type::ALL.into_iter().filter(|ty| ty.is_integer()) {
        let width = u64::from(ty.bits());
        let negative = 1 << (width - 1);
        let sign = if ty.is_signed_integer() { ty.bit_mask() } else { 0 };
        for count in [width, width + 1, ty.bit_mask()] {
            assert_eq!(binary(BinaryOp::Shl, ty, ty.bit_mask(), count), 0, "{ty} << {count}");
            assert_eq!(binary(BinaryOp::Shr, ty, negative, count), sign, "{ty} >> {count}");
        }
        assert_eq!(binary(BinaryOp::Shl, ty, 1, width - 1), negative);
        assert_eq!(binary(BinaryOp::Shr, ty, negative, width - 1), if sign == 0 { 1 } else { sign });
    }
}

#[test]
fn mul_hi_is_the_upper_half() {
    assert_eq!(binary(BinaryOp::MulHi, Type::U8, 255, 255), 254);
    assert_eq!(binary(BinaryOp::MulHi, Type::I8, i(Type::I8, -128), i(Type::I8, -128)), 64);
    assert_eq!(binary(BinaryOp::MulHi, Type::I32, i(Type::I32, -1), 1), i(Type::I32, -1));
    assert_eq!(binary(BinaryOp::MulHi, Type::U64, u64::MAX, u64::MAX), u64::MAX - 1);
    assert_eq!(binary(BinaryOp::MulHi, Type::I64, 1 << 63, 2), u64::MAX);
}

#[test]
fn minimum_propagates_nan_and_orders_zeros() {
    let nan = f(f32::NAN);
    for op in [BinaryOp::Min, BinaryOp::Max] {
        for (a, b) in [(nan, f(1.0)), (f(1.0), nan), (nan, nan)] {
            assert!(f32::from_bits(binary(op, F32, a, b) as u32).is_nan());
        }
    }
    for op in [BinaryOp::FMin, BinaryOp::FMax] {
        assert_eq!(binary(op, F32, nan, f(1.0)), f(1.0));
        assert_eq!(binary(op, F32, f(1.0), nan), f(1.0));
        assert!(f32::from_bits(binary(op, F32, nan, nan) as u32).is_nan());
    }
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        for (op, expected) in
            [(BinaryOp::Min, -0.0), (BinaryOp::FMin, -0.0), (BinaryOp::Max, 0.0), (BinaryOp::FMax, 0.0)]
        {
            assert_eq!(binary(op, F32, f(a), f(b)), f(expected), "{op:?} {a} {b}");
        }
    }
}

#[test]
fn comparisons_with_nan_are_false_but_for_ne() {
    let nan = f(f32::NAN);
    for &op in CompareOp::ALL {
        assert_eq!(compare(op, F32, nan, nan), op == CompareOp::Ne, "{op:?}");
        assert_eq!(compare(op, F32, nan, f(1.0)), op == CompareOp::Ne, "{op:?}");
    }
    assert!(compare(CompareOp::Eq, F32, f(0.0), f(-0.0)));
    assert!(compare(CompareOp::Lt, Type::Bool, 0, 1));
    assert!(compare(CompareOp::Lt, Type::I8, 0x80, 0x7f));
    assert!(compare(CompareOp::Gt, Type::U8, 0x80, 0x7f));
}

#[test]
fn casts_saturate_wrap_and_round() {
    assert_eq!(cast(F32, Type::I32, f(f32::NAN)), 0);
    assert_eq!(cast(F32, Type::I32, f(1e20)), i32::MAX as u64);
    assert_eq!(cast(F32, Type::I8, f(-1e20)), 0x80);
    assert_eq!(cast(F32, Type::U8, f(-3.0)), 0);
    assert_eq!(cast(F32, Type::I32, f(-1.9)), i(Type::I32, -1));
    assert_eq!(cast(F32, Type::Bool, f(f32::NAN)), 1);
    assert_eq!(cast(F32, Type::Bool, f(-0.0)), 0);
    assert_eq!(cast(Type::Bool, F32, 1), f(1.0));
    assert_eq!(cast(Type::I32, Type::U8, i(Type::I32, -1)), 255);
    assert_eq!(cast(Type::I8, Type::U64, 0xff), u64::MAX);
    assert_eq!(cast(Type::U64, F32, u64::MAX), f(18_446_744_073_709_551_615.0));
    assert_eq!(cast(Type::I64, F32, i64::MIN as u64), f(-9_223_372_036_854_775_808.0));
    assert_eq!(cast(Type::U32, F32, 0x0100_0001), f(16_777_216.0), "half to even");
    assert_eq!(cast(Type::F64, F32, 1e300f64.to_bits()), f(f32::INFINITY));
    assert_eq!(cast(Type::U32, Type::F16, 70_000), u64::from(f16::INFINITY.to_bits()));
}

#[test]
fn halves_compute_in_single_and_round_once_more() {
    let a = f16::from_f32(1.0009766).to_bits();
    let expected = f16::from_f32(f16::from_bits(a).to_f32() * f16::from_bits(a).to_f32()).to_bits();
    assert_eq!(binary(BinaryOp::Mul, Type::F16, a.into(), a.into()), expected.into());
    let (x, y) = (bf16::from_f32(1.0), bf16::from_f32(0.001));
    let expected = bf16::from_f32(1.0f32.mul_add(y.to_f32(), 1.0)).to_bits();
    let one = x.to_bits().into();
    assert_eq!(fma(Type::BF16, one, y.to_bits().into(), one), expected.into());
    // Through single: the double rounds up to a tie in single first, then to even.
    let just_above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(cast(Type::F64, Type::F16, just_above_tie.to_bits()), f16::from_f32(1.0).to_bits().into());
}

#[test]
fn carriers_stay_within_their_type() {
    let mut rng = crate::ir::random::Rng::new(7);
    for ty in Type::ALL {
        for _ in 0..200 {
            let (a, b, c) = (rng.value(ty), rng.value(ty), rng.value(ty));
            let mut results = vec![a, bitcast(ty, a)];
            results.extend(UnaryOp::ALL.iter().filter_map(|&op| Some(unary_function(op, ty)?(a))));
            results.extend(BinaryOp::ALL.iter().filter_map(|&op| Some(binary_function(op, ty)?(a, b))));
            results.extend(fma_function(ty).map(|fma| fma(a, b, c)));
            for result in results {
                assert_eq!(result & !ty.bit_mask(), 0, "{ty}");
            }
            for to in Type::ALL {
                assert_eq!(cast(ty, to, a) & !to.bit_mask(), 0, "{ty} to {to}");
            }
        }
    }
}

#[test]
fn identities_change_nothing() {
    let mut rng = crate::ir::random::Rng::new(3);
    for ty in Type::ALL {
        for &op in ReduceOp::ALL.iter().filter(|&&op| is_supported_reduce(op, ty)) {
            for _ in 0..50 {
                let x = rng.value(ty);
                let result = reduce(op, ty, identity(op, ty), x);
                assert!(result == x || compare(CompareOp::Eq, ty, result, x) || compare(CompareOp::Ne, ty, x, x));
            }
        }
    }
}

#[test]
fn which_operation_exists_for_which_type() {
    let count = |test: &dyn Fn(Type) -> bool| Type::ALL.into_iter().filter(|&ty| test(ty)).count();
    assert_eq!(count(&|ty| is_supported_unary(UnaryOp::Not, ty)), 9);
    assert_eq!(count(&|ty| is_supported_unary(UnaryOp::Neg, ty)), 12);
    assert_eq!(count(&|ty| is_supported_unary(UnaryOp::Sqrt, ty)), 4);
    assert_eq!(count(&|ty| is_supported_unary(UnaryOp::CountOnes, ty)), 8);
    assert_eq!(count(&|ty| is_supported_binary(BinaryOp::Add, ty)), 12);
    assert_eq!(count(&|ty| is_supported_binary(BinaryOp::Xor, ty)), 9);
    assert_eq!(count(&|ty| is_supported_binary(BinaryOp::FMin, ty)), 4);
    assert_eq!(count(&|ty| is_supported_reduce(ReduceOp::And, ty)), 9);
    assert_eq!(count(&|ty| is_supported_bitcast(Type::Bool, ty)), 1);
    assert_eq!(count(&|ty| is_supported_bitcast(Type::F16, ty)), 4);
}

#[test]
fn operations_have_functions_for_the_types_that_their_table_says() {
    for ty in Type::ALL {
        for &op in UnaryOp::ALL {
            assert_eq!(unary_function(op, ty).is_some(), is_supported_unary(op, ty), "{op:?} of {ty}");
        }
        for &op in BinaryOp::ALL {
            assert_eq!(binary_function(op, ty).is_some(), is_supported_binary(op, ty), "{op:?} of {ty}");
        }
    }
}

#[test]
fn operations_commute_where_their_table_says_so_and_nowhere_else() {
    let mut rng = crate::ir::random::Rng::new(11);
    for &op in BinaryOp::ALL {
        let mut differs = false;
        for ty in Type::ALL.into_iter().filter(|&ty| is_supported_binary(op, ty)) {
            for _ in 0..200 {
                let (a, b) = (rng.value(ty), rng.value(ty));
                let is_nan = |x| compare(CompareOp::Ne, ty, x, x);
                let (there, back) = (binary(op, ty, a, b), binary(op, ty, b, a));
                let differs_here = there != back && !(is_nan(there) && is_nan(back));
                assert!(!(op.is_commutative() && differs_here), "{op:?} of {ty}: {a:#x}, {b:#x}");
                differs |= differs_here;
            }
        }
        // The fast form is symmetric in its values too, but no code relies on it.
        assert!(differs || op.is_commutative() || op == BinaryOp::FastHypot, "{op:?} commutes");
    }
}
