//! Tests of recording, without any evaluation.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, Type, UnaryOp};

use super::record::{self, binary, compare, literal, placeholder, select, unary};
use super::{BranchRecorder, LoopRecorder, current_mask};
use crate::graph::{Op, Var};

fn float(value: f32) -> Var {
    literal(Type::F32, u64::from(value.to_bits()), 1)
}

fn input() -> Var {
    placeholder(Type::F32, 8)
}

fn integer(bits: u64) -> Var {
    literal(Type::U32, bits, 1)
}

fn here() -> Site {
    Site::here()
}

fn message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("this must panic");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_node_is_one_cache_line() {
    assert_eq!(size_of::<crate::graph::node::Node>(), 64);
    assert_eq!(size_of::<Option<Var>>(), 8);
}

#[test]
fn equal_expressions_are_one_node() {
    let (x, y) = (input(), input());
    let sum = binary(BinaryOp::Add, &x, &y);
    assert!(sum.is_same(&binary(BinaryOp::Add, &x, &y)));
    assert!(sum.is_same(&binary(BinaryOp::Add, &y, &x)));
    assert!(!sum.is_same(&binary(BinaryOp::Sub, &x, &y)));
    assert!(!binary(BinaryOp::Sub, &y, &x).is_same(&binary(BinaryOp::Sub, &x, &y)));
    assert!(float(2.0).is_same(&float(2.0)));
    assert!(!float(0.0).is_same(&float(-0.0)));
    assert!(compare(CompareOp::Gt, &x, &y).is_same(&compare(CompareOp::Lt, &y, &x)));
}

#[test]
fn a_dead_expression_is_made_anew() {
    let (x, y) = (input(), input());
    let first = binary(BinaryOp::Mul, &x, &y).downgrade();
    assert!(first.upgrade().is_none());
    let again = binary(BinaryOp::Mul, &x, &y);
    assert!(first.upgrade().is_none());
    assert!(again.is_same(&binary(BinaryOp::Mul, &y, &x)));
}

#[test]
fn the_sign_of_a_zero_survives_folding() {
    let x = input();
    assert!(binary(BinaryOp::Add, &x, &float(-0.0)).is_same(&x));
    assert_eq!(binary(BinaryOp::Add, &x, &float(0.0)).op(), Op::Binary(BinaryOp::Add));
    assert!(binary(BinaryOp::Sub, &x, &float(0.0)).is_same(&x));
    assert_eq!(binary(BinaryOp::Sub, &x, &float(-0.0)).op(), Op::Binary(BinaryOp::Sub));
    assert_eq!(binary(BinaryOp::Mul, &x, &float(0.0)).op(), Op::Binary(BinaryOp::Mul));
    assert_eq!(binary(BinaryOp::Sub, &float(0.0), &x).op(), Op::Binary(BinaryOp::Sub));
    assert_eq!(binary(BinaryOp::Sub, &float(-0.0), &x).op(), Op::Unary(UnaryOp::Neg));
    assert_eq!(binary(BinaryOp::Sub, &x, &x).op(), Op::Binary(BinaryOp::Sub));
}

#[test]
fn constants_that_follow_one_another_are_combined_for_integers_alone() {
    for op in [BinaryOp::Add, BinaryOp::Mul] {
        let (x, one) = (input(), float(1e20));
        let once = binary(op, &x, &one);
        assert!(binary(op, &once, &float(-1e20)).operand(0).unwrap().is_same(&once), "each sum of floats is rounded");
        let (i, three) = (placeholder(Type::I32, 8), record::literal(Type::I32, 3, 1));
        let once = binary(op, &i, &three);
        assert!(binary(op, &once, &three).operand(0).unwrap().is_same(&i));
    }
}

#[test]
fn comparisons_with_itself_mind_nan() {
    let x = input();
    assert_eq!(compare(CompareOp::Lt, &x, &x).literal(), Some(0));
    assert_eq!(compare(CompareOp::Eq, &x, &x).literal(), None);
    let i = placeholder(Type::I32, 8);
    assert_eq!(compare(CompareOp::Eq, &i, &i).literal(), Some(1));
    let less = compare(CompareOp::Lt, &x, &float(1.0));
    assert_eq!(record::not(&less).op(), Op::Unary(UnaryOp::Not));
    assert!(record::not(&record::not(&less)).is_same(&less));
}

#[test]
fn divisions_by_powers_of_two_become_products() {
    let x = input();
    let half = binary(BinaryOp::Div, &x, &float(2.0));
    assert!(half.is_same(&binary(BinaryOp::Mul, &x, &float(0.5))));
    assert_eq!(binary(BinaryOp::Div, &x, &float(3.0)).op(), Op::Binary(BinaryOp::Div));
    // 2^-127 is subnormal, but exact; 2^127 has that reciprocal, but 2^-149 has none.
    assert_eq!(binary(BinaryOp::Div, &x, &float(2f32.powi(127))).op(), Op::Binary(BinaryOp::Mul));
    assert_eq!(binary(BinaryOp::Div, &x, &float(f32::from_bits(1))).op(), Op::Binary(BinaryOp::Div));
    assert_eq!(binary(BinaryOp::Div, &x, &float(f32::INFINITY)).op(), Op::Binary(BinaryOp::Div));
}

#[test]
fn integers_fold_modulo_their_width() {
    let i = placeholder(Type::U32, 4);
    let plus = |x: &Var, c: u64| binary(BinaryOp::Add, x, &integer(c));
    assert!(plus(&plus(&i, 0xFFFF_FFFF), 1).is_same(&i));
    assert!(plus(&plus(&i, 2), 3).is_same(&plus(&i, 5)));
    assert!(binary(BinaryOp::Div, &i, &integer(8)).is_same(&binary(BinaryOp::Shr, &i, &integer(3))));
    assert!(binary(BinaryOp::Rem, &i, &integer(8)).is_same(&binary(BinaryOp::And, &i, &integer(7))));
    let zero = binary(BinaryOp::Mul, &i, &integer(0));
    assert_eq!((zero.literal(), zero.lanes()), (Some(0), 4));
    assert_eq!(binary(BinaryOp::Div, &integer(7), &integer(0)).literal(), Some(0xFFFF_FFFF));
}

#[test]
fn selections_fold() {
    let (x, y) = (input(), input());
    let mask = compare(CompareOp::Lt, &x, &y);
    let yes = literal(Type::Bool, 1, 1);
    let no = literal(Type::Bool, 0, 1);
    assert!(select(&yes, &x, &y).is_same(&x));
    assert!(select(&mask, &x, &x).is_same(&x));
    assert!(select(&mask, &yes, &no).is_same(&mask));
    assert!(select(&record::not(&mask), &x, &y).is_same(&select(&mask, &y, &x)));
    assert_eq!(binary(BinaryOp::And, &mask, &record::not(&mask)).literal(), Some(0));
    assert_eq!(select(&yes, &float(1.0), &x).width(), 8);
}

#[test]
fn widths_that_do_not_match_name_both_lines() {
    let (a, b) = (placeholder(Type::F32, 3), placeholder(Type::F32, 4));
    let text = message(|| drop(binary(BinaryOp::Add, &a, &b)));
    assert!(text.contains("width 3 and 4"), "{text}");
    assert!(text.contains(&format!("tests.rs:{}", a.site().line())), "{text}");
    assert!(text.contains("help:"), "{text}");
    assert_eq!(text.matches("tests.rs").count(), 3, "{text}");
}

#[test]
fn a_chain_of_ten_million_operations_lives_and_dies() {
    let x = input();
    let mut a = x.clone();
    for _ in 0..10_000_000 {
        a = binary(BinaryOp::Add, &a, &x);
    }
    let last = a.downgrade();
    drop(a);
    assert!(last.upgrade().is_none());
}

#[test]
fn unchanged_state_is_not_carried() {
    let (x, n) = (input(), integer(10));
    let zero = literal(Type::U32, 0, 1);
    let (mut recorder, params) = LoopRecorder::begin(&[x.clone(), zero], here());
    recorder.condition(&compare(CompareOp::Lt, &params[1], &n));
    assert!(!binary(BinaryOp::Add, &params[0], &params[0]).is_same(&params[0]));
    let next = binary(BinaryOp::Add, &params[1], &integer(1));
    let results = recorder.finish(vec![params[0].clone(), next]);
    assert!(results[0].is_same(&x));
    assert_eq!(results[1].op(), Op::LoopResult);
    assert_eq!(results[1].width(), 1);
}

#[test]
fn values_of_a_loop_stay_inside() {
    let x = input();
    let (mut recorder, params) = LoopRecorder::begin(std::slice::from_ref(&x), here());
    recorder.condition(&compare(CompareOp::Lt, &params[0], &float(4.0)));
    let inside = binary(BinaryOp::Add, &params[0], &float(1.0));
    let results = recorder.finish(vec![inside.clone()]);
    let text = message(|| drop(binary(BinaryOp::Add, &inside, &x)));
    assert!(text.contains("inside of a traced loop"), "{text}");
    assert_eq!(binary(BinaryOp::Add, &results[0], &x).width(), 8);
}

#[test]
fn an_abandoned_loop_leaves_the_trace_as_it_was() {
    let x = input();
    let (mut recorder, params) = LoopRecorder::begin(std::slice::from_ref(&x), here());
    recorder.condition(&compare(CompareOp::Lt, &params[0], &float(4.0)));
    let mask = compare(CompareOp::Lt, &params[0], &x);
    let branch = BranchRecorder::begin(&mask, here());
    assert!(current_mask().is_some());
    drop((branch, recorder));
    assert!(current_mask().is_none());
    assert!(!super::region::is_recording());
    // The parameter of the state becomes the value from before the loop.
    assert_eq!(unary(UnaryOp::Neg, &params[0]).width(), x.width());
}

#[test]
fn changed_types_of_state_are_refused() {
    let (mut recorder, params) = LoopRecorder::begin(&[input()], here());
    recorder.condition(&compare(CompareOp::Lt, &params[0], &float(4.0)));
    let text = message(|| drop(recorder.finish(vec![record::cast(Type::F64, &params[0])])));
    assert!(text.contains("f32 to f64"), "{text}");
    assert!(!super::region::is_recording());
}

#[test]
fn small_branches_are_selections_and_large_ones_are_not() {
    let (x, y) = (input(), input());
    let mask = compare(CompareOp::Lt, &x, &y);
    let record = |steps: u32| {
        let mut recorder = BranchRecorder::begin(&mask, here());
        let mut a = x.clone();
        for _ in 0..steps {
            a = binary(BinaryOp::Mul, &a, &y);
        }
        recorder.otherwise();
        recorder.finish(vec![a, x.clone()], vec![y.clone(), x.clone()])
    };
    let small = record(2);
    assert_eq!(small[0].op(), Op::Select);
    assert!(small[1].is_same(&x));
    let large = record(100);
    assert_eq!(large[0].op(), Op::BranchResult);
    assert!(large[1].is_same(&x));
}

#[test]
fn masks_of_branches_nest() {
    let (p, q) = (placeholder(Type::Bool, 8), placeholder(Type::Bool, 8));
    let mut outer = BranchRecorder::begin(&p, here());
    assert!(current_mask().is_some_and(|mask| mask.is_same(&p)));
    let inner = BranchRecorder::begin(&q, here());
    assert!(current_mask().is_some_and(|mask| mask.is_same(&record::and(&p, &q))));
    drop(inner);
    outer.otherwise();
    assert!(current_mask().is_some_and(|mask| mask.is_same(&record::not(&p))));
}

#[test]
fn handles_travel_between_threads() {
    let x = input();
    let made = std::thread::spawn({
        let x = x.clone();
        move || binary(BinaryOp::Add, &x, &x)
    })
    .join()
    .expect("the thread does not panic");
    let twice = binary(BinaryOp::Mul, &made, &x);
    let weak = made.downgrade();
    std::thread::spawn(move || drop((made, twice))).join().expect("the thread does not panic");
    assert!(weak.upgrade().is_none());
}
