//! Calls whose target depends on the lane: functions and closures by number.

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

fn double(x: Float) -> Float {
    &x + &x
}

fn square(x: Float) -> Float {
    &x * &x
}

/// More work than is computed in all lanes.
fn heavy(x: Float) -> Float {
    (0..20).fold(x, |x, _| (&x * 1.5 + 0.25).sin())
}

fn heavy_of(x: f32) -> f32 {
    heavy(Float::from(x)).item().unwrap()
}

fn light(x: Float) -> Float {
    x + 1
}

// rows: C068
#[test]
fn a_host_index_calls_one_target() {
    on_each_device(|| {
        let x = Float::from([3.0, 4.0]);
        assert_eq!(jit::switch(1_usize, &[double, square], (x.clone(),)).to_vec().unwrap(), [9.0, 16.0]);
        let mask = Mask::from([true, false]);
        assert_eq!(jit::switch_masked(0, &mask, &[double, square], (x,)).to_vec().unwrap(), [6.0, 0.0]);
        assert_eq!(jit::switch(0, &[|n: i32| n + 1, |n: i32| n - 1], (5,)), 6);
        let message = message_of(|| jit::switch(2, &[double, square], (Float::from(1.0),)));
        assert!(message.contains("there is no target 2: the call has 2"), "{message}");
    });
}

// rows: C069
#[test]
fn each_lane_calls_its_own_target() {
    let f = |a: Float, b: Float| (&a * 4, &b * 1);
    let g = |a: Float, b: Float| (&a * 8, -&b);
    on_each_device(|| {
        let (a, b) = (Float::from([1.0, 2.0, 3.0, 4.0]), Float::from([2.0, 2.0, 1.0, 1.0]));
        let (x, y) = jit::switch(UInt::from([0, 0, 1, 1]), &[f, g], (a, b));
        assert_eq!(x.to_vec().unwrap(), [4.0, 8.0, 24.0, 32.0]);
        assert_eq!(y.to_vec().unwrap(), [2.0, 2.0, -1.0, -1.0]);
    });
}

// rows: C069
#[test]
fn large_targets_are_jumped_to_in_one_kernel() {
    on_each_device(|| {
        let (x, index) = (resident([0.5, 1.0, 1.5, 2.0, 2.5]), resident([1_u32, 0, 2, 1, 0]));
        let y = jit::switch(&index, &[heavy, light, |x: Float| heavy(x) + 1], (x,));
        let drawn = jit::graphviz(&y);
        assert_eq!(drawn.matches("SwitchResult").count(), 1, "{drawn}");
        assert_eq!(y.to_vec().unwrap(), [1.5, heavy_of(1.0), heavy_of(1.5) + 1.0, 3.0, heavy_of(2.5)]);
    });
}

// rows: C086
#[test]
fn lanes_without_a_target_get_zero() {
    on_each_device(|| {
        for (f, g) in [(double as fn(Float) -> Float, square as fn(Float) -> Float), (heavy, |x| heavy(x) * 2)] {
            let x = resident([1.0, 2.0, 3.0, 4.0]);
            let of = |f: fn(Float) -> Float, x: f32| f(Float::from(x)).item().unwrap();
            let expected = [of(f, 1.0), 0.0, 0.0, of(g, 4.0)];
            let y = jit::switch(Int::from([0, -1, 2, 1]), &[f, g], (x.clone(),));
            assert_eq!(y.to_vec().unwrap(), expected);
            let y = jit::switch(UInt64::from([0, 1 << 32, 3, 1]), &[f, g], (x.clone(),));
            assert_eq!(y.to_vec().unwrap(), expected);
            let y = jit::switch(UInt8::from([0, 255, 7, 1]), &[f, g], (x.clone(),));
            assert_eq!(y.to_vec().unwrap(), expected);
            let y = jit::switch(UInt::from(100), &[f, g], (x,));
            assert_eq!(y.to_vec().unwrap(), [0.0; 4]);
        }
    });
}

// rows: C070 C092
#[test]
fn masked_off_lanes_do_nothing() {
    on_each_device(|| {
        let (index, x) = (resident([0_u32, 0, 1, 1]), resident([1.0, 2.0, 3.0, 4.0]));
        let mask = resident([true, false, true, false]);
        let y = jit::switch_masked(&index, &mask, &[double, square], (x.clone(),));
        assert_eq!(y.to_vec().unwrap(), [2.0, 0.0, 9.0, 0.0]);
        for all in [Mask::from(true), Mask::opaque(true), resident([true])] {
            let y = jit::switch_masked(&index, &all, &[double, square], (x.clone(),));
            assert_eq!(y.to_vec().unwrap(), [2.0, 4.0, 9.0, 16.0]);
        }
        for none in [Mask::from(false), Mask::opaque(false), resident([false])] {
            let y = jit::switch_masked(&index, &none, &[double, square], (x.clone(),));
            assert_eq!(y.to_vec().unwrap(), [0.0; 4]);
        }
    });
}

// rows: C088
#[test]
fn a_call_that_is_masked_off_gives_zeros() {
    let count = |x: Float, mut hits: UInt| {
        hits.scatter_add(1, &UInt::from(0));
        (heavy(x), hits)
    };
    on_each_device(|| {
        for mask in [Mask::from(false), Mask::opaque(false), Mask::from([false, false])] {
            let (x, hits) = (Float::from([1.0, 2.0]), UInt::zeros(3));
            let (y, hits) = jit::switch_masked(resident([0_u32, 1]), &mask, &[count, count], (x, hits));
            assert_eq!(y.to_vec().unwrap(), [0.0, 0.0]);
            assert_eq!(hits.to_vec().unwrap(), [0; 3]);
        }
        assert_eq!(
            jit::switch(resident([1_u32, 0]), &[double, square], (Float::from(3.0),)).to_vec().unwrap(),
            [9.0, 6.0]
        );
    });
}

// rows: C091
#[test]
fn groups_of_unequal_size() {
    on_each_device(|| {
        let index = resident([0_u32, 0, 0, 1, 1, 1]);
        let mask = Mask::from([true, false, false, true, true, true]);
        let x = Float::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let y = jit::switch_masked(&index, &mask, &[|x: Float| x, |x: Float| x * 10], (x,));
        assert_eq!(y.to_vec().unwrap(), [1.0, 0.0, 0.0, 40.0, 50.0, 60.0]);
    });
}

// rows: C081
#[test]
fn an_empty_index_gives_empty_results() {
    on_each_device(|| {
        let none = UInt::zeros(0);
        assert!(jit::switch(&none, &[double, square], (Float::from(1.0),)).to_vec().unwrap().is_empty());
        assert!(jit::switch(&none, &[heavy, light], (Float::zeros(0),)).to_vec().unwrap().is_empty());
        let count = |mut hits: UInt| {
            hits.scatter_add(1, &UInt::from(0));
            hits
        };
        assert_eq!(jit::switch(&none, &[count, count], (UInt::zeros(2),)).to_vec().unwrap(), [0, 0]);
    });
}

// rows: C081 C125
#[test]
fn the_result_is_as_wide_as_everything_that_takes_part() {
    on_each_device(|| {
        let (x, index) = (Float::from([1.0, 2.0, 3.0]), UInt::opaque(1));
        let y = jit::switch(&index, &[|_: Float| Float::from(7.0), |_: Float| Float::opaque(8.0)], (x.clone(),));
        assert_eq!(y.to_vec().unwrap(), [8.0; 3]);
        assert_eq!(jit::switch(1, &[double, square], (x.clone(),)).len(), 3);
        let y = jit::switch(&index, &[|x: Float| (x.sum(), 1), |x: Float| (x.sum() * 2, 1)], (x.clone(),));
        assert_eq!(y.0.to_vec().unwrap(), [12.0; 3]);
        let captured = resident([1.0_f32, 2.0, 3.0]);
        let targets: [&dyn Fn(Float) -> Float; 2] = [&|x| x + &captured, &|x| x * &captured];
        let y = jit::switch(UInt::from([0, 1, 0]), &targets, (Float::from(2.0),));
        assert_eq!(y.to_vec().unwrap(), [3.0, 4.0, 5.0]);
        let message = message_of(|| jit::switch(UInt::from([0, 1]), &[heavy, light], (x,)));
        assert!(message.contains("a call over 2 lanes returns a value of width 3"), "{message}");
    });
}

#[test]
fn literal_arguments_stay_literal() {
    let f = |x: Float, n: UInt| x * if n.is_literal() { 2.0 } else { 3.0 };
    on_each_device(|| {
        let (x, index) = (Float::from([1.0, 1.0]), resident([0_u32, 1]));
        assert_eq!(jit::switch(&index, &[f, f], (x.clone(), UInt::from(1))).to_vec().unwrap(), [2.0, 2.0]);
        assert_eq!(jit::switch(&index, &[f, f], (x, UInt::opaque(1))).to_vec().unwrap(), [3.0, 3.0]);
    });
}

// rows: C071 C072
#[test]
fn results_that_differ_on_the_host_are_refused() {
    let index = resident([0_u32, 1]);
    let message = message_of(|| jit::switch(&index, &[|| (UInt::from(1), 2), || (UInt::from(1), 3)], ()));
    assert!(
        message.contains("the targets of `jit::switch` return different host values in the field `1`: 2 and 3"),
        "{message}"
    );
    let lists = [|x: Float| vec![x.clone(), x.clone()], |x: Float| vec![x.clone(), x.clone(), x]];
    let message = message_of(|| jit::switch(&index, &lists, (Float::from(1.0),)));
    assert!(message.contains("different host values: 2 elements and 3 elements"), "{message}");
    let message = message_of(|| jit::switch(&index, &[double; 0], (Float::from(1.0),)));
    assert!(message.contains("a call without targets"), "{message}");
    on_each_device(|| {
        let pairs = [|x: Float| vec![x.clone(), x.clone() + 1], |x: Float| vec![x.clone() * 2, x]];
        let index = resident([0_u32, 1]);
        let y = jit::switch(&index, &pairs, (Float::from([1.0, 3.0]),));
        assert_eq!(y.iter().map(|y| y.to_vec().unwrap()).collect::<Vec<_>>(), [[1.0, 6.0], [2.0, 3.0]]);
    });
}

// rows: C074
#[test]
fn a_panic_in_a_target_leaves_everything_usable() {
    on_each_device(|| {
        let (x, index) = (Float::from([1.0, 2.0]), resident([0_u32, 1]));
        let stop = |_: Float| -> Float { panic!("{}", "a target panics") };
        let targets: [&dyn Fn(Float) -> Float; 2] = [&heavy, &stop];
        assert_eq!(message_of(|| jit::switch(&index, &targets, (x.clone(),))), "a target panics");
        assert_eq!((&x + 1).sum().item().unwrap(), 5.0);
        assert_eq!(jit::switch(&index, &[double, square], (x,)).to_vec().unwrap(), [2.0, 4.0]);
    });
}

// rows: C083
#[test]
fn trees_go_in_and_come_out() {
    let swap = |(a, b): (Float, [UInt; 2])| ([b[1].clone(), b[0].clone()], a * 2);
    let keep = |(a, b): (Float, [UInt; 2])| (b, a + 1);
    on_each_device(|| {
        let argument = (Float::from([1.0, 2.0]), [UInt::from([1, 2]), UInt::from([3, 4])]);
        let (b, a) = jit::switch(resident([0_u32, 1]), &[swap, keep], (argument,));
        assert_eq!(b.map(|b| b.to_vec().unwrap()), [[3, 2], [1, 4]]);
        assert_eq!(a.to_vec().unwrap(), [2.0, 3.0]);
    });
}

// rows: C084 C275
#[test]
fn values_equal_in_all_targets_are_hoisted() {
    on_each_device(|| {
        let (x, index) = (resident([1.0, 2.0]), resident([0_u32, 1]));
        let f = |x: Float| (UInt::from(5), heavy(x.clone()), x.exp());
        let g = |x: Float| (UInt::from(5), light(x.clone()), x.exp());
        let (five, _, exp) = jit::switch(0, &[f, g], (x.clone(),));
        assert!(five.is_literal());
        let (five, _, exp_by_lane) = jit::switch(&index, &[f, g], (x.clone(),));
        assert_eq!(five.to_vec().unwrap(), [5, 5]);
        let drawn = jit::graphviz(&exp_by_lane);
        assert!(!drawn.contains("Switch"), "{drawn}");
        assert_eq!(exp_by_lane.to_vec().unwrap(), exp.to_vec().unwrap());
        let (five, ..) = jit::switch(Int::from([-1, 1]), &[f, g], (x,));
        assert_eq!(five.to_vec().unwrap(), [0, 5]);
    });
}

// rows: C090
#[test]
fn unused_results_are_not_computed() {
    on_each_device(|| {
        let f = |x: Float| (heavy(x.clone()), x.atan() + heavy(x));
        let g = |x: Float| (light(x.clone()), x.tanh() + heavy(x));
        let (first, second) = jit::switch(resident([0_u32, 1]), &[f, g], (resident([1.0, 2.0]),));
        let drawn = jit::graphviz(&first);
        assert!(drawn.contains("SwitchResult") && !drawn.contains("Atan") && !drawn.contains("Tanh"), "{drawn}");
        assert!(jit::graphviz(&second).contains("Atan"));
    });
}

// rows: C085
#[test]
fn a_target_that_changes_its_argument_changes_no_other() {
    let change = |mut x: Vec<Float>| {
        x[0] = &x[0] + 100;
        x.swap(0, 1);
        x[0].clone() + &x[1]
    };
    let look = |x: Vec<Float>| x[0].clone() * 1;
    on_each_device(|| {
        let x = vec![Float::from([1.0, 2.0]), Float::from([10.0, 20.0])];
        let y = jit::switch(resident([0_u32, 1]), &[change, look], (x.clone(),));
        assert_eq!(y.to_vec().unwrap(), [111.0, 2.0]);
        assert_eq!(x[0].to_vec().unwrap(), [1.0, 2.0]);
    });
}

// rows: C278
#[test]
fn targets_scatter_to_an_array_that_they_return() {
    let even = |x: Float, mut sums: Float| {
        sums.scatter_add(&x, &UInt::from(0));
        (x, sums)
    };
    let odd = |x: Float, mut sums: Float| {
        sums.scatter_add(&x * 10, &UInt::from(2));
        (x + 1, sums)
    };
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0, 4.0]);
        let index = resident([0_u32, 1, 0, 9]);
        let (y, sums) = jit::switch(&index, &[even, odd], (x, resident([0.5, 0.0, 0.0])));
        assert_eq!(y.to_vec().unwrap(), [1.0, 3.0, 3.0, 0.0]);
        assert_eq!(sums.to_vec().unwrap(), [4.5, 0.0, 20.0]);
        assert_eq!(y.sum().item().unwrap(), 7.0);
        assert_eq!(sums.to_vec().unwrap(), [4.5, 0.0, 20.0]);
    });
}

// rows: C093
#[test]
fn a_loop_in_a_target() {
    #[jit]
    fn grow(start: &Float, limit: &Float) -> Float {
        let mut x = start.clone();
        while x < limit {
            x += 10;
        }
        x
    }
    on_each_device(|| {
        let limit = resident([25.0]);
        let targets: [&dyn Fn(Float) -> Float; 2] = [&|x| grow(&x, &limit), &|x| x * 10];
        let y = jit::switch(resident([0_u32, 0, 0, 1, 1]), &targets, (Float::from([0.0, 3.0, 10.0, 4.0, 5.0]),));
        assert_eq!(y.to_vec().unwrap(), [30.0, 33.0, 30.0, 40.0, 50.0]);
    });
}

// rows: C095
#[test]
fn a_call_in_a_loop() {
    #[jit]
    fn collatz(start: &UInt, index: &UInt) -> (UInt, UInt) {
        let (mut n, mut steps) = (start.clone(), UInt::from(0));
        while n > 1 {
            n = jit::switch(n % 2, &[|n: UInt| n / 2, |n: UInt| n * 3 + 1], (n.clone(),));
            // Lanes that never enter the loop may have any index.
            steps += jit::switch(index.clone(), &[|| UInt::from(1)], ());
        }
        (n, steps)
    }
    on_each_device(|| {
        let (n, steps) = collatz(&UInt::from([1, 6, 27, 0]), &UInt::from([99, 0, 0, 99]));
        assert_eq!(n.to_vec().unwrap(), [1, 1, 1, 0]);
        assert_eq!(steps.to_vec().unwrap(), [0, 8, 111, 0]);
    });
}

// rows: C284
#[test]
fn a_call_in_a_branch() {
    #[jit]
    fn program(x: &Float, index: &UInt, hits: &mut UInt) -> Float {
        let mut y = x.clone();
        if x > 1.5 {
            let count = |x: Float, mut hits: UInt| {
                hits.scatter_add(1, &UInt::from(0));
                (heavy(x), hits)
            };
            let other = |x: Float, mut hits: UInt| {
                hits.scatter_add(1, &UInt::from(1));
                (x, hits)
            };
            let (a, b) = jit::switch(index, &[count, other], (x.clone(), hits.clone()));
            y = a;
            *hits = b;
        }
        y
    }
    on_each_device(|| {
        let mut hits = UInt::zeros(2);
        let y = program(&Float::from([1.0, 2.0, 3.0, 1.25]), &resident([0, 0, 1, 1]), &mut hits);
        assert_eq!(y.to_vec().unwrap(), [1.0, heavy_of(2.0), 3.0, 1.25]);
        assert_eq!(hits.to_vec().unwrap(), [1, 1]);
    });
}

// rows: C097 C282
#[test]
fn calls_within_calls() {
    on_each_device(|| {
        let (buffer, scale, bias) = (resident([10.0_f32, 20.0, 30.0]), Float::opaque(2.0), resident([5.0_f32]));
        let inner = |index: &UInt, x: &Float, position: &UInt| {
            let targets: [&dyn Fn(Float, UInt) -> Float; 2] =
                [&|x, at| x + buffer.gather(&at), &|x, at| heavy(x) * &scale - buffer.gather(&at)];
            jit::switch(index.clone(), &targets, (x.clone(), position.clone()))
        };
        let outer: [&dyn Fn(UInt, Float, UInt) -> Float; 2] =
            [&|index, x, at| inner(&index, &x, &at) + &bias, &|index, x, at| inner(&(index ^ 1), &(x * 2), &at)];
        let (x, at) = (resident([1.0, 2.0, 3.0, 4.0]), UInt::from([0, 1, 2, 0]));
        let y = jit::switch(resident([0_u32, 0, 1, 1]), &outer, (resident([0_u32, 1, 0, 1]), x, at));
        let expected = [16.0, heavy_of(2.0) * 2.0 - 20.0 + 5.0, heavy_of(6.0) * 2.0 - 30.0, 18.0];
        assert_eq!(y.to_vec().unwrap(), expected);
    });
}

// rows: C279
#[test]
fn results_of_calls_are_arguments_of_calls() {
    on_each_device(|| {
        let index = resident([0_u32, 1, 5]);
        let targets = [|x: Float| heavy(x) + 10, |x: Float| heavy(x) + 12];
        let once = jit::switch(&index, &targets, (Float::from([1.0, 2.0, 3.0]),));
        let twice = jit::switch(&index, &targets, (once,)).to_vec().unwrap();
        assert_eq!(twice, [heavy_of(heavy_of(1.0) + 10.0) + 10.0, heavy_of(heavy_of(2.0) + 12.0) + 12.0, 0.0]);
    });
}

// rows: C133
#[test]
fn one_result_can_be_evaluated_before_the_other() {
    on_each_device(|| {
        let f = |x: Float| (heavy(x.clone()), x * 2);
        let g = |x: Float| (light(x.clone()), x * 3);
        let (a, b) = jit::switch(resident([0_u32, 1]), &[f, g], (resident([1.0, 2.0]),));
        let first = a.to_vec().unwrap();
        assert_eq!(first, [heavy_of(1.0), 3.0]);
        assert_eq!((a + b).to_vec().unwrap(), [heavy_of(1.0) + 2.0, 9.0]);
    });
}

// rows: C274
#[test]
fn arguments_of_every_element_type() {
    on_each_device(|| {
        let f = |m: Mask, x: Float, d: Float64, h: Int8| (m.clone(), heavy(x), d + 0.5, h, m);
        let g = |m: Mask, x: Float, d: Float64, h: Int8| (!&m, light(x), d * 2.0, h * 3, m);
        let arguments =
            (Mask::from([true, true]), Float::from([1.0, 2.0]), Float64::from([1.0, 2.0]), Int8::from([4, -5]));
        let (m, x, d, h, same) = jit::switch(resident([0_u32, 1]), &[f, g], arguments);
        assert_eq!(m.to_vec().unwrap(), [true, false]);
        assert_eq!(x.to_vec().unwrap(), [heavy_of(1.0), 3.0]);
        assert_eq!(d.to_vec().unwrap(), [1.5, 4.0]);
        assert_eq!(h.to_vec().unwrap(), [4, -15]);
        assert_eq!(same.to_vec().unwrap(), [true, true]);
    });
}

// rows: C283
#[test]
fn endless_recursion_names_the_calls() {
    fn again(x: Float) -> Float {
        jit::switch(UInt::opaque(0), &[again, heavy], (x,))
    }
    on_each_device(|| {
        let message = message_of(|| again(Float::from(1.0)));
        assert!(message.contains("nested more than 64 deep while tracing: … → jit::switch → jit::switch"), "{message}");
    });
}

// rows: C069 C087
#[test]
fn sorted_calls_give_the_same() {
    on_each_device(|| {
        let count = |x: Float, n: UInt, mut hits: UInt| {
            hits.scatter_add(&n, &(&n % 3));
            (heavy(x), n + 1, hits)
        };
        let other = |x: Float, _: UInt, hits: UInt| (x * 2, UInt::from(7), hits);
        let index = resident([1_u32, 0, 2, 1, 0, 99]);
        let arguments =
            || (resident([0.5, 1.0, 1.5, 2.0, 2.5, 3.0]), UInt::from([1, 2, 3, 4, 5, 6]), UInt::from([10, 0, 0]));
        let (x, n, hits) = jit::switch(&index, &[count, other, count], arguments());
        let expected = (x.to_vec().unwrap(), n.to_vec().unwrap(), hits.to_vec().unwrap());
        assert_eq!(expected.2, [13, 0, 7]);
        for _ in 0..2 {
            let (x, n, hits) = jit::switch_sorted(&index, &[count, other, count], arguments());
            assert_eq!((x.to_vec().unwrap(), n.to_vec().unwrap(), hits.to_vec().unwrap()), expected);
        }
        let none = jit::switch_sorted(resident([5_u32, 6]), &[double, square], (Float::from([1.0, 2.0]),));
        assert_eq!(none.to_vec().unwrap(), [0.0, 0.0]);
        assert_eq!(jit::switch_sorted(1, &[double, square], (Float::from(3.0),)).item().unwrap(), 9.0);
    });
}

#[test]
fn targets_of_sorted_calls_see_all_lanes() {
    on_each_device(|| {
        let (index, x) = (resident([1_u32, 0, 1, 5]), Float::from([1.0, 2.0, 3.0, 4.0]));
        let borrowed = jit::switch_sorted(&index, &[|x: &Float| x + 1, |x: &Float| x * 2], (&x,));
        assert_eq!(borrowed.to_vec().unwrap(), [2.0, 3.0, 6.0, 0.0]);
        let captured = resident([10.0_f32, 20.0, 30.0, 40.0]);
        let targets: [&dyn Fn(Float) -> Float; 2] =
            [&|x| x + &captured + captured.sum(), &|x| x + captured.gather(&(3 - UInt::arange(4)))];
        let (sorted, all) =
            (jit::switch_sorted(&index, &targets, (x.clone(),)), jit::switch(&index, &targets, (x.clone(),)));
        assert_eq!(sorted.to_vec().unwrap(), [41.0, 122.0, 23.0, 0.0]);
        assert_eq!(sorted.to_vec().unwrap(), all.to_vec().unwrap());
        let constants = jit::switch_sorted(&index, &[|_: Float| Float::from(3.0), |x| x * 2], (x.clone(),));
        assert_eq!(constants.to_vec().unwrap(), [2.0, 3.0, 6.0, 0.0]);
        // Elements can be read where a target runs.
        let read = |x: Float| &x * x.to_vec().unwrap().iter().sum::<f32>();
        assert_eq!(jit::switch_sorted(&index, &[read, double], (x,)).to_vec().unwrap(), [2.0, 20.0, 6.0, 0.0]);
    });
}

#[test]
fn targets_of_sorted_calls_write_on_their_lanes() {
    on_each_device(|| {
        let index = resident([1_u32, 0, 1, 7, 0, 2]);
        let lane = UInt::arange(6);
        let mark = |lane: UInt, mut marks: UInt| {
            marks.scatter(&lane + 1, &lane);
            (lane, marks)
        };
        let count = |lane: UInt, mut marks: UInt| {
            let ticket = marks.scatter_inc(&UInt::from(6));
            marks.scatter_add(&lane, &UInt::from(7));
            (&ticket - &ticket + &lane * 10, marks)
        };
        let nothing = |_: UInt, marks: UInt| (UInt::from(77), marks);
        let marks = resident([0_u32; 8]);
        for _ in 0..2 {
            let run = |sorted: bool| match sorted {
                true => jit::switch_sorted(&index, &[mark, count, nothing], (lane.clone(), marks.clone())),
                false => jit::switch(&index, &[mark, count, nothing], (lane.clone(), marks.clone())),
            };
            for sorted in [false, true] {
                let (values, after) = run(sorted);
                assert_eq!(values.to_vec().unwrap(), [0, 1, 20, 0, 4, 77]);
                assert_eq!(after.to_vec().unwrap(), [0, 2, 0, 0, 5, 0, 2, 2]);
            }
            assert_eq!(marks.to_vec().unwrap(), [0; 8]);
        }
        // A write before the call happens once, on all lanes.
        let mut before = resident([0_u32; 4]);
        let ticket = before.scatter_inc(&(&lane % 4)).min(0);
        let targets: [&dyn Fn(UInt) -> UInt; 2] = [&|x| x + 1, &|x| x + &ticket + 2];
        let sum = jit::switch_sorted(&index, &targets, (ticket.clone(),));
        assert_eq!(sum.to_vec().unwrap(), [2, 1, 2, 0, 1, 0]);
        assert_eq!(before.to_vec().unwrap(), [2, 2, 1, 1]);
    });
}

#[test]
fn values_read_by_a_target_of_a_sorted_call_can_be_retained() {
    on_each_device(|| {
        let (index, lane) = (resident([1_u32, 0, 1]), UInt::arange(3));
        let kept = std::cell::RefCell::new(Vec::new());
        let target = |lane: UInt, mut counts: UInt| {
            let ticket = counts.scatter_exchange(&lane + 5, &lane);
            kept.borrow_mut().push(&ticket + 1);
            (lane + ticket, counts)
        };
        let (value, counts) = jit::switch_sorted(&index, &[target, target], (lane, resident([1_u32, 2, 3])));
        assert_eq!((value.to_vec().unwrap(), counts.to_vec().unwrap()), (vec![1, 3, 5], vec![5, 6, 7]));
        let kept: Vec<_> = kept.into_inner().iter().map(|array| array.to_vec().unwrap()).collect();
        assert_eq!(kept, [[1, 3, 1], [2, 1, 4]]);
    });
}

#[test]
fn sorted_calls_are_outside_of_what_is_recorded() {
    let (index, x) = (resident([1_u32, 0, 1]), Float::from([1.0, 2.0, 3.0]));
    #[jit]
    fn inside(index: &UInt, mut x: Float) -> Float {
        while x < 10.0 {
            x = jit::switch_sorted(index, &[double, square], (x.clone(),)) + 1;
        }
        x
    }
    let message = message_of(|| inside(&index, x));
    assert!(message.contains("a call cannot be sorted inside of a traced"), "{message}");
}
