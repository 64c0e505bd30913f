//! Programs that are traced again: their kernels are found by the trace, without being built, and exactly where the
//! same kernels would be built.

use jit::CachePolicy;
use jit::cache::{CacheLevel, clear_level};
use jit::prelude::*;

use crate::{count, on_each_device, resident};

/// How often a trace was found, and not, while a program ran.
pub(crate) fn found(program: impl FnOnce()) -> [u64; 2] {
    let level = || jit::stats().cache(CacheLevel::Traces);
    let before = level();
    program();
    [level().hits - before.hits, level().misses - before.misses]
}

/// Whether the second of two programs finds the trace of the first. Each of them evaluates once.
fn is_found(first: impl FnOnce(), second: impl FnOnce()) -> bool {
    // Literals are parts of the code again.
    jit::cache::clear();
    assert_eq!(found(first), [0, 1], "the first program evaluates once");
    let [hits, misses] = found(second);
    assert_eq!(hits + misses, 1, "the second program evaluates once");
    hits == 1
}

pub(crate) fn eval(tree: &impl Traverse) {
    jit::eval(tree).unwrap();
}

/// A program with each kind of operation that a trace can have.
fn mixed(x: &Float, y: &Float, index: &UInt, by: &Float) -> (Float, Float, Int) {
    let a = (x * by + y).sqrt().max(y - 0.5);
    let b = x.lt(y).select(&a, -x).gather(&(index & 3));
    let blocks = b.block_sum(2);
    (&a + b.sum(), blocks, a.cast::<i32>() + index.bitcast::<i32>())
}

/// A loop, in which a number chooses what changes in which way.
#[jit]
pub(crate) fn looped(a: &Float, b: &Float, #[constexpr] kind: usize, #[constexpr] literal: f32) -> Float {
    let (mut x, mut y, mut n) = (a.clone(), b.clone(), UInt::from(0));
    while n < 4 && x < 50.0 {
        match kind % 7 {
            0 => x = &x + &y,
            1 => x = &x * literal + 1.0,
            2 => {
                y = &x - &y;
                x = &x + 0.5;
            }
            3 => {
                if x < y {
                    x = &x + 2.0;
                } else {
                    y = &y * 0.5;
                }
            }
            4 => {
                let mut k = UInt::from(0);
                while k < 2 {
                    y = &y + literal;
                    k += 1;
                }
                x = &x + &y;
            }
            5 => x = &x + b.gather(&n),
            _ => x = &x + b,
        }
        n += 1;
    }
    if kind.is_multiple_of(2) { x } else { x - y }
}

/// A choice, in which a number chooses what each side computes.
#[jit]
pub(crate) fn branched(a: &Float, b: &Float, #[constexpr] kind: usize, #[constexpr] literal: f32) -> Float {
    let mut y = b.clone();
    let x = if a < literal {
        match kind % 3 {
            0 => a.sqrt(),
            1 => {
                y = a * b;
                y.sin()
            }
            _ => b.clone(),
        }
    } else {
        match kind / 3 % 3 {
            0 => b.sqrt(),
            1 => {
                y = &y + 1.0;
                a.clone()
            }
            _ => a * literal,
        }
    };
    if kind.is_multiple_of(2) { x } else { x + y }
}

/// A choice of one of several cases.
#[jit]
pub(crate) fn chosen(a: &Float, which: &UInt, #[constexpr] kind: usize) -> Float {
    match which % 4 {
        0 => a + 1.0,
        1 => a.sqrt(),
        2 => {
            if kind.is_multiple_of(2) {
                a * 3.0
            } else {
                a.gather(&(which % 2))
            }
        }
        _ => a.clone(),
    }
}

/// A loop whose nodes are the same for each number, which chooses what becomes of its states.
#[jit]
fn paired(a: &Float, b: &Float, #[constexpr] kind: usize) -> (Float, Float) {
    let (mut a, mut b) = (a.clone(), b.clone());
    while &a + &b < &a * &b * 0.0 + 50.0 {
        let (sum, product, before) = (&a + &b, &a * &b, a.clone());
        match kind {
            0 => (a, b) = (sum, product),
            1 => (a, b) = (product, sum),
            2 => a = sum,
            3 => (a, b) = (sum, before),
            4 => (a, b) = (sum.clone(), sum),
            _ => (a, b) = (b.clone(), sum),
        }
    }
    (a, b)
}

/// The same by plain Rust.
fn paired_by_rust(mut a: f32, mut b: f32, kind: usize) -> [f32; 2] {
    while a + b < a * b * 0.0 + 50.0 {
        let (sum, product) = (a + b, a * b);
        (a, b) = match kind {
            0 => (sum, product),
            1 => (product, sum),
            2 => (sum, b),
            3 => (sum, a),
            4 => (sum, sum),
            _ => (b, sum),
        };
    }
    [a, b]
}

/// A branch that gives one of two values another one, which is the same on both sides.
#[jit]
fn crossed(a: &Float, u: &Float, v: &Float, #[constexpr] is_crossed: bool) -> (Float, Float) {
    let (mut u, mut v) = (u.clone(), v.clone());
    if a < 2.5 {
        let root = a.sqrt();
        if is_crossed { v = root } else { u = root }
    } else {
        let root = a.sqrt();
        if is_crossed { u = root } else { v = root }
    }
    (u, v)
}

fn arguments(width: usize) -> (Float, Float, UInt) {
    let x = Float::from((0..width).map(|lane| lane as f32 * 0.25 + 1.0).collect::<Vec<_>>());
    let y = Float::from((0..width).map(|lane| 3.0 - lane as f32 * 0.125).collect::<Vec<_>>());
    let index = UInt::from((0..width as u32).rev().collect::<Vec<_>>());
    eval(&(&x, &y, &index));
    (x, y, index)
}

// rows: O33
#[test]
fn what_does_not_change_kernels_is_not_in_the_key_of_a_trace() {
    on_each_device(|| {
        let (x, y, index) = arguments(8);
        let first = || eval(&mixed(&x, &y, &index, &Float::from(1.5)));
        assert!(is_found(first, first), "the same program");
        let (other_x, other_y, other_index) = arguments(8);
        let on_other_arrays = || eval(&mixed(&other_x, &other_y, &other_index, &Float::from(1.5)));
        assert!(is_found(first, on_other_arrays), "other arrays");
        let (wide_x, wide_y, wide_index) = arguments(1000);
        let on_wide_arrays = || eval(&mixed(&wide_x, &wide_y, &wide_index, &Float::from(1.5)));
        assert!(is_found(first, on_wide_arrays), "other widths that are equal where the first were");

        for kind in 0..12 {
            let on = |x: &Float, y: &Float, index: &UInt| {
                eval(&(looped(x, y, kind, 1.5), branched(x, y, kind, 2.5), chosen(x, index, kind)));
            };
            let first = || on(&x, &y, &index);
            assert!(is_found(first, first), "{kind}: control flow");
            let elsewhere = || on(&wide_x, &wide_y, &wide_index);
            assert!(is_found(first, elsewhere), "{kind}: control flow over other arrays");
        }

        let (device, sum) = (x.device(), || eval(&(&x + &y)));
        assert!(is_found(sum, || eval(&(&x + &y))), "another line");
        assert!(is_found(sum, || eval(&(&y + &other_x))), "another array in memory");
        let elsewhere = || std::thread::scope(|scope| scope.spawn(|| jit::with_device(device, sum)).join().unwrap());
        assert!(is_found(sum, elsewhere), "another thread");
        let labelled = || eval(&(&x + &y).with_label("sum"));
        assert!(is_found(sum, labelled), "a label");
        let held = || {
            let (a, sum) = (x.clone(), &x + &y);
            let copy = sum.clone();
            eval(&sum);
            drop((a, copy));
        };
        assert!(is_found(sum, held), "more handles");
        let mut variable = x.detach();
        variable.enable_grad();
        eval(&variable);
        assert!(is_found(sum, || eval(&(&variable + &y))), "gradients");
        let of_opaque = |k: f32| move || eval(&(&Float::arange(4) * Float::opaque(k)));
        assert!(is_found(of_opaque(2.0), of_opaque(3.0)), "the bits of opaque values");
    });
}

// rows: O33
#[test]
fn what_changes_kernels_is_in_the_key_of_a_trace() {
    on_each_device(|| {
        let (x, y, index) = arguments(8);
        let (z, one) = (resident(&[1.0, 2.0, 3.0]), resident(&[5.0]));
        let (numbers, others, doubles) = (Int::from(vec![4; 8]), Int::from(vec![5; 8]), x.cast::<f64>());
        eval(&(&numbers, &others, &doubles));
        let sum = &x + &y;
        let sums = || eval(&(&x + &y));
        let differ = |first: &dyn Fn(), second: &dyn Fn(), what: &str| {
            assert!(!is_found(first, second), "{what}");
            assert!(!is_found(second, first), "{what}, the other way round");
        };
        differ(&sums, &|| eval(&(&x - &y)), "the operation");
        differ(&|| eval(&(&x - &y)), &|| eval(&(&x - &x)), "whether operands are equal");
        differ(&|| eval(&x.sum()), &|| eval(&x.product()), "the reduction");
        differ(&|| eval(&x.sum()), &|| eval(&x.block_sum(2)), "whether blocks are reduced");
        differ(&|| eval(&x.lt(&y)), &|| eval(&x.le(&y)), "the comparison");
        differ(&sums, &|| eval(&(&numbers + &others)), "the element type");
        differ(&|| eval(&x.cast::<i32>()), &|| eval(&x.cast::<u32>()), "the type of a result");
        differ(&|| eval(&x.cast::<i32>()), &|| eval(&doubles.cast::<i32>()), "the type of an operand");
        differ(&|| eval(&x.cast::<u32>()), &|| eval(&x.bitcast::<u32>()), "the conversion");
        differ(&sums, &|| eval(&(&x + &one)), "a width of 1");
        differ(&|| eval(&(&x + 1.0)), &|| eval(&(&x + &one)), "literal or memory");
        differ(&|| eval(&(&x + 1.0)), &|| eval(&(&x + &Float::opaque(1.0))), "literal or opaque");
        differ(&|| eval(&(&x + &one)), &|| eval(&(&x + &Float::opaque(1.0))), "memory or opaque");
        differ(&|| eval(&(&x + 1.0)), &|| eval(&(&x + 2.0)), "the bits of a literal");
        differ(&|| eval(&(&x * &y + &x)), &|| eval(&(&x * &y + &y)), "which operand");
        differ(&|| eval(&x.mul_add(&y, &x)), &|| eval(&x.mul_add(&x, &y)), "the order of operands");
        differ(&|| eval(&x.gather(&index)), &|| eval(&x.gather_masked(&index, &x.lt(&y))), "a mask");
        differ(&|| eval(&(&x + 1.0, &y + 2.0)), &|| eval(&(&x + 1.0, &z + 2.0)), "which widths are equal");
        differ(&|| eval(&(&x + 1.0, &x - 1.0)), &|| eval(&(&x + 1.0, &x - 1.0, &x * 3.0)), "how many are wanted");
        let both = |is_all: bool| {
            let root = (&x + 7.0).sqrt();
            let twice = &root * 2.0;
            if is_all { eval(&(&twice, &root)) } else { eval(&twice) }
        };
        differ(&|| both(true), &|| both(false), "whether a value in between is wanted");
        let between = |is_second: bool| {
            let y = &x + 1.0;
            let z = &y * 2.0;
            let w = &z - 3.0;
            eval(&(&w, if is_second { &z } else { &y }));
        };
        differ(&|| between(true), &|| between(false), "which value in between is wanted");
        let in_two_blocks = |block: usize| {
            let (x, y, _) = arguments(3000);
            eval(&(x.block_sum(2000), y.block_sum(block)));
        };
        differ(&|| in_two_blocks(2000), &|| in_two_blocks(1600), "which blocks are equal, of as many");
        let swapped = |is_first: bool| {
            let (a, b) = (&x + 1.0, &y * 2.0);
            if is_first { eval(&(&a, &b)) } else { eval(&(&b, &a)) }
        };
        differ(&|| swapped(true), &|| swapped(false), "which value is wanted first");
        eval(&sum);
        differ(&|| eval(&(&sum * 3.0)), &|| eval(&((&y + &x + 0.5) * 3.0)), "whether an operand is in memory");
        let blocks = |length: usize| eval(&(x.block_sum(length), y.block_sum(2)));
        differ(&|| blocks(2), &|| blocks(4), "which blocks are equal");
        let fast = |is_fast: bool| {
            let sine = || eval(&x.sin());
            if is_fast { jit::fast_math(sine) } else { sine() }
        };
        differ(&|| fast(true), &|| fast(false), "fast math");
    });
}

// rows: O33
#[test]
fn what_changes_loops_and_branches_is_in_the_key_of_a_trace() {
    on_each_device(|| {
        let (x, y, index) = arguments(8);
        let programs: Vec<(String, Box<dyn Fn()>)> = (0..14)
            .map(|kind| {
                let (x, y) = (x.clone(), y.clone());
                let program: Box<dyn Fn()> = Box::new(move || eval(&looped(&x, &y, kind, 1.5)));
                (format!("loop {kind}"), program)
            })
            .chain((0..18).map(|kind| {
                let (x, y) = (x.clone(), y.clone());
                let program: Box<dyn Fn()> = Box::new(move || eval(&branched(&x, &y, kind, 2.5)));
                (format!("branch {kind}"), program)
            }))
            .chain((0..2).map(|kind| {
                let (x, index) = (x.clone(), index.clone());
                let program: Box<dyn Fn()> = Box::new(move || eval(&chosen(&x, &index, kind)));
                (format!("switch {kind}"), program)
            }))
            .collect();
        for (number, (name, program)) in programs.iter().enumerate() {
            for (other, another) in &programs[..number] {
                assert!(!is_found(another, program), "{name} after {other}");
            }
        }
        let differ = |first: &dyn Fn(), second: &dyn Fn(), what: &str| {
            assert!(!is_found(first, second), "{what}");
            assert!(!is_found(second, first), "{what}, the other way round");
        };
        differ(
            &|| eval(&looped(&x, &y, 0, 1.5)),
            &|| eval(&looped(&x, &x, 0, 1.5)),
            "whether initial states are equal",
        );
        differ(&|| eval(&looped(&x, &y, 1, 1.5)), &|| eval(&looped(&x, &y, 1, 2.5)), "a literal in a body");
        let twice = |is_one: bool| {
            let (a, b) = (looped(&x, &y, 6, 1.5), looped(&x, &y, 6, 1.5));
            if is_one { eval(&(&a, &a + 1.0)) } else { eval(&(&a, &b + 1.0)) }
        };
        differ(&|| twice(true), &|| twice(false), "whether two loops are one");
    });
}

#[test]
fn what_becomes_of_states_and_results_is_in_the_key_of_a_trace() {
    on_each_device(|| {
        let (a, b, _) = arguments(8);
        let run = |kind: usize| {
            let (first, second) = paired(&a, &b, kind);
            // Evaluated before the loop, so that their order is the same.
            eval(&(&a - &b, &first, &second));
            [first, second]
        };
        for kind in 0..6 {
            for other in (0..6).filter(|other| *other != kind) {
                assert!(!is_found(|| drop(run(other)), || drop(run(kind))), "{kind} after {other}");
            }
            let [xs, ys] = [&a, &b].map(|array| array.to_vec().unwrap());
            let wanted = xs.iter().zip(&ys).map(|(&x, &y)| paired_by_rust(x, y, kind));
            let [first, second] = run(kind).map(|array| array.to_vec().unwrap());
            assert!(wanted.eq(first.into_iter().zip(second).map(|(a, b)| [a, b])), "{kind}");
        }
        let from = |is_swapped: bool| {
            let (first, second) = if is_swapped { paired(&b, &a, 0) } else { paired(&a, &b, 0) };
            eval(&(&a - &b, &first, &second));
        };
        assert!(!is_found(|| from(false), || from(true)), "which state begins with which value");
        assert!(!is_found(|| from(true), || from(false)), "which state begins with which value, the other way round");
        let crossed = |is_crossed: bool| {
            let (u, v) = crossed(&a, &b, &(&a - &b), is_crossed);
            eval(&(&b - &a, &a - &b, &u, &v));
        };
        assert!(!is_found(|| crossed(false), || crossed(true)), "which side changes which value");
        assert!(!is_found(|| crossed(true), || crossed(false)), "which side changes which value, the other way round");
    });
}

#[test]
fn a_bound_of_iterations_is_checked_each_time() {
    #[jit]
    fn bounded(x: &Float) -> Float {
        let mut x = x.clone();
        #[max_iterations(3)]
        while x > 0.0 {
            x -= 1.0;
        }
        x
    }
    on_each_device(|| {
        let [few, many] = [resident(&[1.0, 2.0]), resident(&[1.0, 9.0])];
        for _ in 0..2 {
            assert_eq!(bounded(&few).to_vec().unwrap(), [0.0, 0.0]);
            assert!(bounded(&many).to_vec().unwrap_err().to_string().contains("3 iterations"));
        }
    });
}

#[test]
fn what_follows_a_scatter_in_memory_is_found() {
    on_each_device(|| {
        let (x, _, index) = arguments(8);
        let program = || {
            let mut bins = Float::zeros(4);
            bins.scatter_add(&x, &(&index & 3));
            eval(&bins);
            let each = found(|| eval(&looped(&(&bins * 0.5), &bins, 3, 1.0)));
            (each, bins.to_vec().unwrap())
        };
        let (_, first) = program();
        let (each, second) = program();
        assert_eq!((each, second), ([1, 0], first));
    });
}

#[test]
fn devices_have_their_own_traces() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let here = || eval(&(&x + 0.75));
        let moved = x.to(Device::Interpreter).unwrap();
        let there = || eval(&(&moved + 0.75));
        let is_same = x.device() == Device::Interpreter;
        assert_eq!(is_found(here, there), is_same);
    });
}

#[test]
fn traces_without_a_key_are_built_each_time() {
    on_each_device(|| {
        let (x, _, index) = arguments(8);
        let looped = || {
            let (mut y, n) = (x.clone(), 3);
            for _ in 0..n {
                y = &y * 0.5 + 1.0;
            }
            let mut bins = Float::zeros(4);
            bins.scatter_add(&y, &(&index & 3));
            eval(&bins);
        };
        let calls = || eval(&x.prefix_sum());
        let nothing = || eval(&(Float::zeros(0) + Float::opaque(1.0)));
        for program in [&looped as &dyn Fn(), &calls, &nothing] {
            program();
            assert_eq!(found(program), [0, 0]);
        }
    });
}

#[test]
fn whoever_bypasses_the_cache_does_not_find_traces() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let program = || assert_eq!((&x * 0.375 + 7.0).to_vec().unwrap(), [7.375, 7.75]);
        program();
        for (policy, compiles) in [(CachePolicy::Bypass, 1), (CachePolicy::ReadWrite, 0)] {
            let _scope = policy.enter();
            assert_eq!(count(program).compiles, compiles, "{policy:?}");
        }
    });
}

#[test]
fn code_that_is_gone_or_is_for_other_sizes_is_not_found() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let program = || assert_eq!((&x * 0.375).to_vec().unwrap(), [0.375, 0.75]);
        program();
        assert_eq!(count(program).hits, 1);
        jit::cache::clear();
        let again = count(program);
        assert_eq!((again.compiles, again.hits), (1, 0), "cleared");
        assert_eq!(found(program), [1, 0]);
        clear_level(CacheLevel::Traces);
        assert_eq!(found(program), [0, 1]);
        assert_eq!(count(program).hits, 1, "the code is still in memory");
        if x.device() == Device::Interpreter {
            return;
        }
        // Results that exceed the cache of the processor are stored by other code, and each is found again.
        let (small, large) = (Float::zeros(1000).make_opaque(), Float::zeros(24 << 20).make_opaque());
        let options = |x: &Float| crate::kernels(|| eval(&(x * 0.25 + 1.0)))[0].hash;
        let [a, b] = [&small, &large].map(options);
        assert_ne!(a, b, "other code");
        let compiled = count(|| assert_eq!([&large, &small, &large].map(options), [b, a, b]));
        assert_eq!((compiled.compiles, compiled.hits), (0, 3));
    });
}

#[test]
fn a_line_whose_traces_change_finds_each_of_them() {
    on_each_device(|| {
        let (x, y) = (resident(&[1.0, 2.0, 5.0]), resident(&[4.0, 8.0, 16.0]));
        let evaluate = |kind: u32, literal: f32| {
            let z = match kind {
                0 => &x * literal + &y,
                1 => &y * literal - &x,
                2 => (&x * literal + &x).sum() + &y,
                _ => x.lt(&y).select(&x * literal, 1.0),
            };
            z.to_vec().unwrap()
        };
        let expected = [[4.5, 9.0, 18.5], [1.0, 2.0, 3.0], [16.0, 20.0, 28.0], [0.5, 1.0, 2.5]];
        let at_once = [0, 1, 2, 3].map(|kind| found(|| assert_eq!(evaluate(kind, 0.5), expected[kind as usize])));
        assert_eq!(at_once, [[0, 1]; 4], "each is new");
        // In runs, in turns, and in an order without any order.
        let order = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 2, 2, 2, 3, 3, 3, 2, 3, 0, 1, 2, 3, 3, 0, 0, 0, 0];
        for kind in order {
            let outcome = found(|| assert_eq!(evaluate(kind, 0.5), expected[kind as usize], "{kind}"));
            assert_eq!(outcome, [1, 0], "{kind}");
        }
        clear_level(CacheLevel::Traces);
        let again = [0, 0, 0, 0].map(|kind| found(|| assert_eq!(evaluate(kind, 0.5), expected[0])));
        assert_eq!(again, [[0, 1], [1, 0], [1, 0], [1, 0]], "cleared");
        assert_eq!(evaluate(0, 2.0), [6.0, 12.0, 26.0], "another literal");
        assert_eq!(evaluate(0, 3.0), [7.0, 14.0, 31.0]);
        assert_eq!(evaluate(0, 0.5), expected[0]);
    });
}

#[test]
fn a_value_in_memory_that_keeps_its_operands_for_gradients_is_in_the_key_of_a_trace() {
    on_each_device(|| {
        let mut x = resident(&[1.0, 2.0, 3.0]);
        x.enable_grad();
        let evaluate = |is_stored: bool| {
            let square = &x * &x;
            if is_stored {
                eval(&square);
            }
            let sum = &square + &x;
            let outcome = found(|| eval(&sum));
            assert_eq!(sum.to_vec().unwrap(), [2.0, 6.0, 12.0]);
            outcome
        };
        // From the third time on, a trace is compared with the last one before it is described.
        assert_eq!([false; 4].map(evaluate), [[0, 1], [1, 0], [1, 0], [1, 0]]);
        assert_eq!([true, true, false].map(evaluate), [[0, 1], [1, 0], [1, 0]]);
    });
}

#[test]
fn an_expression_that_has_its_elements_is_computed_again() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let first = &x * 0.375 + 1.0;
        eval(&first);
        let again = count(|| eval(&(&x * 0.375 + 1.0)));
        assert_eq!(again.launches, 1, "as in a program that has dropped the first result");
        drop(first);
    });
}

#[test]
fn blocks_are_reduced_where_the_trace_is_known() {
    on_each_device(|| {
        jit::cache::clear();
        for (width, block) in [(8, 2), (8, 2), (1000, 10), (1000, 10), (12, 3)] {
            let (x, _, _) = arguments(width);
            let each: Vec<f32> = x.to_vec().unwrap().iter().map(|x| x * 2.0).collect();
            let wanted: Vec<f32> = each.chunks(block).map(|block| block.iter().sum()).collect();
            let got = (&x * 2.0).block_sum(block).to_vec().unwrap();
            assert_eq!(got, wanted, "blocks of {block} of {width} lanes");
        }
    });
}

#[test]
fn which_of_the_intermediate_values_are_wanted_is_in_the_key_of_a_trace() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let program = |is_second: bool| {
            let y = &x + 1.0;
            let z = &y * 2.0;
            let w = &z - 3.0;
            eval(&(&w, if is_second { &z } else { &y }));
            let evaluated = [&y, &z, &w].map(|value| value.to_vec().unwrap());
            assert_eq!(evaluated, [[2.0, 3.0], [4.0, 6.0], [1.0, 3.0]]);
        };
        jit::cache::clear();
        [false, true, false, true].into_iter().for_each(program);
    });
}

#[test]
fn literals_that_became_parameters_are_found_with_other_bits() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let program = |a: f32, b: f32| {
            let got = ((&x + a) * b - a).to_vec().unwrap();
            assert_eq!(got, [1.0_f32, 2.0].map(|x| (x + a) * b - a), "{a} {b}");
        };
        jit::cache::clear();
        program(1.5, 3.0);
        program(2.5, 3.0);
        let hits = count(|| assert_eq!(found(|| program(4.5, 3.0)), [1, 0]));
        assert_eq!((hits.compiles, hits.hits), (0, 1));
        assert_eq!(found(|| program(5.5, 4.0)), [0, 1], "the other literal is a part of the code");
        assert_eq!(found(|| program(6.5, 9.0)), [1, 0]);
        for number in 0..20 {
            program(number as f32, (number % 3) as f32);
        }
    });
}

#[test]
fn a_literal_that_is_a_parameter_of_one_kernel_alone_is_compared() {
    on_each_device(|| {
        jit::cache::clear();
        let (x, s) = (resident(&[1.0, 2.0]), resident(&[5.0]));
        for k in [1.5_f32, 2.5] {
            assert_eq!((&x * k + &s).to_vec().unwrap(), [k + 5.0, 2.0 * k + 5.0]);
        }
        // The second kernel is the one above, in which the literal is a parameter.
        let program = |k: f32| {
            let sum = (&x + k).sum();
            assert_eq!((&x * k + sum).to_vec().unwrap(), [3.0 * k + 3.0, 4.0 * k + 3.0], "{k}");
        };
        program(3.5);
        let again = count(|| program(4.5));
        assert_eq!((again.launches, again.compiles), (2, 1), "the literal is a constant in the first kernel only");
        program(3.5);
        program(5.5);
    });
}

#[test]
fn functions_count_kernels_that_are_found_by_their_trace() {
    on_each_device(|| {
        #[jit]
        fn counted(x: &Float) -> Float {
            (x * x + 0.625).sqrt()
        }
        let x = resident(&[1.0, 2.0]);
        eval(&counted(&x));
        counted::clear();
        assert_eq!(found(|| eval(&counted(&x))), [1, 0]);
        let stats = counted::stats();
        assert_eq!((stats.traces, stats.compiles, stats.cache_hits), (1, 0, 1));
        let records = crate::kernels(|| eval(&counted(&x)));
        assert_eq!(records[0].label, "counted");
    });
}
