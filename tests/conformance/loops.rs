//! Traced loops: which state they have, how wide it is, and which parts of it are computed. Recorded loops, and those
//! whose iterations run one by one, have the same results.

use jit::prelude::*;

use crate::modes::{in_each_mode, modes};
use crate::{message_of, noise, on_each_device, resident};

modes! {
    fn count_up(i: &UInt, z: &UInt) -> (UInt, UInt) {
        { let (mut i, mut z) = (i.clone(), z.clone()); }
        while (i < 5) { i += 1; z = UInt::from(9); }
        { (i, z) }
    }

    fn uniform(steps: &UInt, x: &Float) -> (UInt, Float, Float) {
        { let (mut i, mut x, mut t) = (UInt::from(0), x.clone(), Float::from(0.5)); }
        while (i < steps) { i += 1; x += 1.0; t *= 2.0; }
        { (i, x, t) }
    }

    fn growing(steps: &UInt, x: &Float) -> (UInt, Float) {
        { let (mut i, mut sum) = (UInt::from(0), Float::from(0.0)); }
        while (i < steps) { i += 1; sum += x; }
        { (i, sum) }
    }
}

// rows: C001 C002
#[test]
fn lanes_that_never_enter_a_loop_keep_their_state() {
    in_each_mode!(count_up [symbolic evaluated compressed], |run| {
        let start = UInt::from([0, 1, 2, 3, 4, 5, 6]);
        let (i, z) = run(&start, &UInt::from(0));
        assert_eq!(i.to_vec().unwrap(), [5, 5, 5, 5, 5, 5, 6]);
        assert_eq!(z.to_vec().unwrap(), [9, 9, 9, 9, 9, 0, 0]);
        assert_eq!(start.to_vec().unwrap(), [0, 1, 2, 3, 4, 5, 6], "the arguments are not changed");
    });
}

#[test]
fn uniform_values_keep_width_one() {
    in_each_mode!(uniform [symbolic evaluated compressed], |run| {
        let x = resident([0.0_f32, 1.0, 2.0]);
        for steps in [UInt::from(3), UInt::opaque(3), UInt::opaque(0), resident([3])] {
            let count = steps.item().unwrap() as f32;
            let (i, y, t) = run(&steps, &x);
            assert_eq!((i.len(), y.len(), t.len()), (1, 3, 1));
            assert_eq!(y.to_vec().unwrap(), [count, 1.0 + count, 2.0 + count]);
            assert_eq!((i.item().unwrap() as f32, t.item().unwrap()), (count, 0.5 * count.exp2()));
        }
        // Private lanes make all of it wide.
        let (i, y, t) = run(&UInt::from([0, 1, 2]), &x);
        assert_eq!(i.to_vec().unwrap(), [0, 1, 2]);
        assert_eq!(y.to_vec().unwrap(), [0.0, 2.0, 4.0]);
        assert_eq!(t.to_vec().unwrap(), [0.5, 1.0, 2.0]);
    });
}

// rows: C030
#[test]
fn state_that_grows_makes_all_changed_state_wide() {
    in_each_mode!(growing [symbolic evaluated compressed], |run| {
        for count in [0, 4] {
            let (i, sum) = run(&UInt::opaque(count), &Float::from([0.5, 1.0]));
            assert_eq!(i.to_vec().unwrap(), [count; 2]);
            assert_eq!(sum.to_vec().unwrap(), [0.5 * count as f32, count as f32]);
        }
    });
}

modes! {
    fn drifting(x: &Float, steps: &UInt) -> Float {
        { let (mut x, mut i) = (x.clone(), UInt::from(0)); }
        while (i < steps) { i += 1; x = Float::arange(3); }
        { x }
    }

    fn beside(x: &Float, y: &Float) -> (Float, Float) {
        { let (mut x, mut y) = (x.clone(), y.clone()); }
        while (x < 3.0) { x += 1.0; y += 1.0; }
        { (x, y) }
    }

    fn emptied(x: &Float) -> Float {
        { let mut x = x.clone(); }
        while (x < 3.0) { x = Float::zeros(0); }
        { x }
    }
}

#[test]
// rows: C005 C006 C007 C008
fn widths_that_do_not_fit_into_a_loop_are_refused() {
    in_each_mode!(drifting [symbolic evaluated compressed], |run| {
        let message = message_of(|| run(&Float::arange(2), &UInt::from(1)));
        let says = |text: &str| message.contains(text);
        let is_refused = says("a loop over 2 lanes cannot carry an array of width 3") || says("width 3 after its body");
        assert!(is_refused, "{message}");
        assert!(message.contains("loops.rs"), "{message}");
    });
    in_each_mode!(beside [symbolic evaluated compressed], |run| {
        let message = message_of(|| run(&Float::arange(3), &Float::arange(2)));
        let says = |text: &str| message.contains(text);
        assert!(says("a loop over 3 lanes cannot carry an array of width 2") || says("of width 3 and `"), "{message}");
        let message = message_of(|| run(&Float::arange(3), &Float::zeros(0)));
        let says = |text: &str| message.contains(text);
        assert!(says("cannot carry an array of width 0") || says("of width 0"), "{message}");
    });
    in_each_mode!(emptied [symbolic evaluated compressed], |run| {
        let message = message_of(|| run(&Float::arange(3)));
        let says = |text: &str| message.contains(text);
        let is_refused = says("a loop over 3 lanes cannot carry an array of width 0") || says("width 0 after its body");
        assert!(is_refused, "{message}");
        // A loop without lanes has nothing to do.
        assert_eq!(run(&Float::zeros(0)).len(), 0);
    });
}

fn refuse_twos(x: &Float, refuses: bool) -> Float {
    assert!(!refuses, "no twos today, in {} lanes", x.len());
    x + 1.0
}

modes! {
    fn failing_condition(x: &Float, refuses: bool) -> Float {
        { let mut x = x.clone(); }
        while (refuse_twos(&x, refuses) < 4.0) { x += 1.0; }
        { x }
    }

    fn failing_body(x: &Float, refuses: bool) -> Float {
        { let mut x = x.clone(); }
        while (x < 4.0) { x = refuse_twos(&x, refuses); }
        { x }
    }
}

/// Whether arrays can be written and read as outside all regions.
fn nothing_is_open() {
    let mut target = resident([0_u32; 3]);
    target.scatter(7, &UInt::from([1]));
    assert_eq!(target.gather(&UInt::from([0, 1])).to_vec().unwrap(), [0, 7]);
}

#[test]
// rows: C009 C010
fn a_panic_in_a_loop_closes_it() {
    in_each_mode!(failing_condition [symbolic evaluated compressed], |run| {
        let x = Float::from([1.0, 2.5]);
        assert_eq!(message_of(|| run(&x, true)), "no twos today, in 2 lanes");
        nothing_is_open();
        assert_eq!(run(&x, false).to_vec().unwrap(), [3.0, 3.5]);
    });
    in_each_mode!(failing_body [symbolic evaluated compressed], |run| {
        let x = Float::from([1.0, 2.5]);
        assert_eq!(message_of(|| run(&x, true)), "no twos today, in 2 lanes");
        nothing_is_open();
        assert_eq!(run(&x, false).to_vec().unwrap(), [4.0, 4.5]);
    });
}

#[jit]
fn independent(steps: &UInt, x: &UInt, y: &UInt) -> (UInt, UInt, UInt) {
    let (mut i, mut x, mut y, mut both) = (UInt::from(0), x.clone(), y.clone(), UInt::from(0));
    while i < steps {
        i += 1;
        x += 10;
        y *= 3;
        both += &x + &y;
    }
    (x, y, both)
}

// rows: C011
#[test]
fn unused_outputs_are_not_computed() {
    on_each_device(|| {
        // A value that does not exist cannot be computed, so computed values do not include it.
        let (x, y, both) = independent(&UInt::from([1, 2]), &UInt::from([1, 2]), &UInt::placeholder(2));
        assert_eq!(x.to_vec().unwrap(), [11, 22]);
        assert!(y.to_vec().is_err() && both.to_vec().is_err());
        let (x, y, _) = independent(&UInt::from([1, 2]), &UInt::placeholder(2), &UInt::from([1, 2]));
        assert_eq!(y.to_vec().unwrap(), [3, 18]);
        assert!(x.to_vec().is_err());
    });
}

modes! {
    fn invariants(steps: &UInt, x: &Float) -> [Float; 4] {
        { let (mut i, mut x, mut zero, mut same, mut other) = (UInt::from(0), x.clone(), Float::from(0.0),
            Float::from(4.0), Float::from(1.0)); }
        while (i < steps) { i += 1; zero *= 1.0; same = Float::from(4.0); other = Float::from(2.0); x = x.clone(); }
        { [x, zero, same, other] }
    }

    fn never(x: &Float) -> (Float, Float) {
        { let (mut x, mut y) = (x.clone(), Float::from(1.0)); }
        while (Mask::from(false) & x.lt(3.0)) { x += 1.0; y += &x; }
        { (x, y) }
    }
}

// rows: C012 C018 C025 C267
#[test]
fn state_that_does_not_change_is_what_it_was() {
    in_each_mode!(invariants [symbolic evaluated compressed], |run| {
        let x = Float::arange(3) * 0.5;
        let [same_x, zero, same, other] = run(&UInt::from([0, 1, 2]), &x);
        for (array, width) in [(&zero, 1), (&same, 1)] {
            assert!(array.is_evaluated() && array.len() == width, "a constant stays one: {array:?}");
        }
        assert!(same_x.var().is_same(x.var()), "no copy, and not part of the loop");
        assert_eq!(other.to_vec().unwrap(), [1.0, 2.0, 2.0]);
    });
}

// rows: C017
#[test]
fn a_loop_whose_condition_is_false_vanishes() {
    in_each_mode!(never [symbolic evaluated compressed], |run| {
        let x = Float::arange(3) * 0.5;
        let (same, y) = run(&x);
        assert!(same.var().is_same(x.var()));
        assert_eq!(y.to_vec().unwrap(), [1.0; 3]);
    });
    let (x, y) = never::symbolic(&Float::placeholder(3));
    assert_eq!((x.len(), y.to_vec().unwrap()), (3, vec![1.0; 3]));
}

modes! {
    fn tally(start: &UInt, counts: &mut UInt) {
        { let mut i = start.clone(); }
        while (i < 5) { counts.scatter_add(1, &i); i += 1; }
        { }
    }

    fn two_widths(narrow: &mut UInt, wide: &mut UInt, lanes: &UInt) -> UInt {
        { let mut i = UInt::from(0); }
        while (i < 3) { narrow.scatter_add(14, &UInt::from(0)); wide.scatter_add(lanes, &UInt::from(0)); i += 1; }
        { i }
    }

    fn effects_alone(target: &mut UInt, index: &UInt) {
        { let mut i = UInt::from(0); }
        while (i < 2) { target.scatter_add(10, index); i += 1; }
        { }
    }

    fn several(a: &mut UInt, b: &mut UInt, n: &UInt) {
        { let mut i = UInt::from(0); a.scatter_add(1, n); }
        while (&i < n) { a.scatter_add(1, &i); b.scatter_add(&i, n); a.scatter_add(1, n); i += 1; }
        { b.scatter_add(100, n); }
    }
}

// rows: C013 C014 C265 C272
#[test]
fn writes_of_a_loop_happen_once_per_iteration() {
    in_each_mode!(tally [symbolic evaluated compressed], |run| {
        let mut counts = resident([0_u32; 5]);
        let before = counts.clone();
        run(&UInt::from([0, 1, 3, 7]), &mut counts);
        assert_eq!(counts.to_vec().unwrap(), [1, 2, 2, 3, 3]);
        assert_eq!(counts.to_vec().unwrap(), [1, 2, 2, 3, 3], "it is not run again");
        assert_eq!(before.to_vec().unwrap(), [0; 5]);
    });
    in_each_mode!(tally [symbolic evaluated compressed], |run| {
        let device = jit_runtime::device::current_device();
        if !jit_runtime::device::capabilities(device).unwrap().shares_host_memory {
            return;
        }
        let mut counts = resident([0_u32; 5]);
        let address = counts.view().unwrap().as_ptr();
        run(&UInt::from([0, 1, 3, 7]), &mut counts);
        assert_eq!(counts.view().unwrap()[..], [1, 2, 2, 3, 3]);
        assert_eq!(counts.view().unwrap().as_ptr(), address, "nothing else holds it");
        let held = counts.clone();
        run(&UInt::from([4]), &mut counts);
        assert_eq!(counts.view().unwrap()[..], [1, 2, 2, 3, 4]);
        assert_eq!((held.view().unwrap().as_ptr(), held.to_vec().unwrap()), (address, vec![1, 2, 2, 3, 3]));
        assert_ne!(counts.view().unwrap().as_ptr(), address, "another array holds it");
    });
    in_each_mode!(several [symbolic evaluated compressed], |run| {
        let (mut a, mut b) = (resident([0_u32; 4]), resident([0_u32; 4]));
        run(&mut a, &mut b, &UInt::from([3, 0, 2]));
        assert_eq!(a.to_vec().unwrap(), [2 + 1, 2, 1 + 1 + 2, 1 + 3]);
        assert_eq!(b.to_vec().unwrap(), [100, 0, 101, 103]);
    });
}

// rows: C037
#[test]
fn effects_of_two_widths_in_one_loop() {
    in_each_mode!(two_widths [symbolic evaluated compressed], |run| {
        let (mut narrow, mut wide) = (resident([0_u32]), resident([0_u32]));
        let lanes = UInt::arange(100) + 1;
        let i = run(&mut narrow, &mut wide, &lanes);
        assert_eq!(narrow.to_vec().unwrap(), [42], "one value is written once");
        assert_eq!(wide.to_vec().unwrap(), [3 * 5050]);
        assert_eq!(i.to_vec().unwrap(), [3]);
    });
}

// rows: C032 C266
#[test]
fn a_loop_with_effects_alone_runs_as_wide_as_they_are() {
    in_each_mode!(effects_alone [symbolic evaluated compressed], |run| {
        let mut target = resident([0_u32, 0, 0, 0, 10]);
        run(&mut target, &UInt::from([0, 2, 4, 0]));
        assert_eq!(target.to_vec().unwrap(), [40, 0, 20, 0, 30]);
    });
}

#[jit]
fn shared_counter(counter: &mut UInt, x: &UInt) -> UInt {
    let (mut i, mut x) = (UInt::from(0), x.clone());
    while i < 3 {
        x += counter.scatter_inc(&UInt::from(0));
        i += 1;
    }
    x
}

#[test]
fn one_value_cannot_be_exchanged_by_all_lanes_of_a_loop() {
    on_each_device(|| {
        let message = message_of(|| shared_counter(&mut resident([0_u32]), &UInt::arange(3)));
        assert!(
            message.contains("a value of width 1 is exchanged with memory inside of a loop over 3 lanes"),
            "{message}"
        );
    });
}

modes! {
    fn triangle(n: &UInt) -> UInt {
        { let (mut i, mut total) = (UInt::from(0), UInt::from(0)); }
        while (&i < n) { let mut k = UInt::from(0); while k < i { k += 1; total += 1; } i += 1; }
        { total }
    }

    fn triangle_of_effects(n: &UInt, total: &mut UInt) {
        { let mut i = UInt::from(0); }
        while (&i < n) { let mut k = UInt::from(0); while k < i { k += 1; total.scatter_add(1, n); } i += 1; }
        { }
    }

    fn inner_writes(n: &UInt) -> UInt {
        { let (mut i, mut buffer) = (UInt::from(0), UInt::from(0)); }
        while (&i < n) { let mut k = UInt::from(0); while k < 7 { k += 1; buffer += &i; } buffer += 2; i += 1; }
        { buffer }
    }
}

// rows: C015 C016 C269
#[test]
fn loops_nest_in_each_mode() {
    in_each_mode!(triangle [symbolic evaluated compressed], |run| {
        assert_eq!(run(&UInt::from([5, 0, 4, 1, 2])).to_vec().unwrap(), [10, 0, 6, 0, 1]);
    });
    in_each_mode!(triangle_of_effects [symbolic evaluated compressed], |run| {
        let mut total = resident([0_u32; 6]);
        run(&UInt::from([5, 0, 4, 1, 2]), &mut total);
        assert_eq!(total.to_vec().unwrap(), [0, 0, 1, 0, 6, 10]);
    });
    in_each_mode!(inner_writes [symbolic evaluated compressed], |run| {
        assert_eq!(run(&UInt::from([0, 1, 2, 4])).to_vec().unwrap(), [0, 2, 7 + 4, 42 + 8]);
    });
}

#[jit]
fn evaluated_inside(n: &UInt) -> UInt {
    let mut i = UInt::from(0);
    while &i < n {
        let mut k = UInt::from(0);
        #[evaluated]
        while k < i {
            k += 1;
        }
        i += 1;
    }
    i
}

#[jit]
fn evaluated_in_evaluated(n: &UInt) -> UInt {
    let (mut i, mut total) = (UInt::from(0), UInt::from(0));
    #[evaluated]
    while &i < n {
        let mut k = UInt::from(0);
        #[evaluated]
        while k < i {
            k += 1;
            total += 1;
        }
        i += 1;
    }
    total
}

// rows: C003 C015
#[test]
fn an_evaluated_loop_inside_of_a_recorded_one_is_refused() {
    on_each_device(|| {
        let message = message_of(|| evaluated_inside(&UInt::from([5, 0])));
        assert!(message.contains("an `#[evaluated]` loop is inside of a traced region"), "{message}");
        assert_eq!(message.matches("loops.rs").count(), 2, "{message}");
        nothing_is_open();
        assert_eq!(evaluated_in_evaluated(&UInt::from([5, 0, 4, 1, 2])).to_vec().unwrap(), [10, 0, 6, 0, 1]);
    });
}

modes! {
    fn collatz(start: &UInt) -> UInt {
        { let (mut value, mut steps) = (start.clone(), UInt::from(0)); }
        while (&value != 1) {
            if &value % 2 == 0 { value /= 2; } else { value = &value * 3 + 1; }
            steps += 1;
        }
        { steps }
    }
}

// rows: C021 C268
#[test]
fn collatz_sequences_of_ten_thousand_lanes() {
    let start = UInt::arange(10_000) + 1;
    let mut sums = Vec::new();
    for run in [collatz::symbolic, collatz::evaluated, collatz::compressed] {
        sums.push(run(&start).sum().item().unwrap());
    }
    assert_eq!(sums, [849_666; 3]);
    on_each_device(|| {
        let few = collatz::compressed(&(UInt::arange(50) + 1)).to_vec().unwrap();
        assert_eq!(few, collatz::symbolic(&(UInt::arange(50) + 1)).to_vec().unwrap());
    });
}

modes! {
    fn swap(x: &Float, y: &Float, n: &UInt) -> (Float, Float) {
        { let (mut a, mut b, mut i) = (x.clone(), y.clone(), UInt::from(0)); }
        while (&i < n) { (a, b) = (b.clone(), a.clone()); i += 1; }
        { (a, b) }
    }

    fn one_of_two_names(x: &Float) -> (Float, Float) {
        { let (mut a, b, mut i) = (x.clone(), x.clone(), UInt::from(0)); }
        while (i < 3) { a *= &b; i += 1; }
        { (a, b) }
    }

    fn two_names(x: &Float) -> (Float, Float) {
        { let (mut a, mut b, mut i) = (x.clone(), x.clone(), UInt::from(0)); }
        while (i < 3) { a *= 2.0; b += 1.0; i += 1; }
        { (a, b) }
    }

    fn rotated(n: &UInt) -> [UInt; 3] {
        { let (mut a, mut b, mut c, mut i) = (UInt::from(1), UInt::from(2), UInt::from(4), UInt::from(0)); }
        while (&i < n) { (a, b, c) = (b.clone(), b.clone(), a.clone()); i += 1; }
        { [a, b, c] }
    }

    fn shared_update(x: &UInt) -> [UInt; 3] {
        { let (mut a, mut b, mut c, mut i) = (x.clone(), x + 1, x + 2, UInt::from(0)); }
        while (i < 5) { (a, b, c) = (c.clone(), c.clone(), &a + &b); i += 1; }
        { [a, b, c] }
    }
}

// rows: C038 C039 C040
#[test]
fn state_is_assigned_all_at_once() {
    in_each_mode!(swap [symbolic evaluated compressed], |run| {
        let (a, b) = run(&Float::from([1.0, 2.0]), &Float::from([3.0, 4.0]), &UInt::from([1, 2]));
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![3.0, 2.0], vec![1.0, 4.0]));
        // The two names of one array.
        let x = Float::from([1.0, 2.0]);
        let (a, b) = run(&x, &x, &UInt::from([1, 2]));
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![1.0, 2.0], vec![1.0, 2.0]));
    });
    in_each_mode!(rotated [symbolic evaluated compressed], |run| {
        let [a, b, c] = run(&UInt::from([0, 1, 2, 3])).map(|state| state.to_vec().unwrap());
        assert_eq!((a, b, c), (vec![1, 2, 2, 2], vec![2], vec![4, 1, 2, 2]), "finished lanes retain their values");
    });
    in_each_mode!(shared_update [symbolic evaluated compressed], |run| {
        let mut host = [[1_u32, 2, 3], [2, 3, 4]];
        for [a, b, c] in &mut host {
            for _ in 0..5 {
                (*a, *b, *c) = (*c, *c, *a + *b);
            }
        }
        let [a, b, c] = run(&UInt::from([1, 2])).map(|state| state.to_vec().unwrap());
        assert_eq!([[a[0], b[0], c[0]], [a[1], b[1], c[1]]], host);
    });
}

// rows: C028 C034
#[test]
fn two_names_of_one_array_are_two_states() {
    in_each_mode!(one_of_two_names [symbolic evaluated compressed], |run| {
        let (a, b) = run(&Float::from([2.0, 3.0]));
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![16.0, 81.0], vec![2.0, 3.0]));
    });
    in_each_mode!(two_names [symbolic evaluated compressed], |run| {
        let (a, b) = run(&resident([2.0, 3.0]));
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![16.0, 24.0], vec![5.0, 6.0]));
    });
}

modes! {
    fn outer_arrays(table: &UInt, lane: &UInt, n: &UInt) -> UInt {
        { let (mut i, mut sum) = (UInt::from(0), UInt::from(0)); }
        while (&i < n) { sum += table.gather(&i) + lane; i += 1; }
        { sum }
    }
}

// rows: C026
#[test]
fn loops_read_arrays_from_outside() {
    in_each_mode!(outer_arrays [symbolic evaluated compressed], |run| {
        let (table, n) = (resident([1, 2, 3, 4]), UInt::from([0, 1, 2, 3, 4]));
        // Lanes of an expression, and of memory.
        for lane in [UInt::arange(5) * 10, resident([0, 10, 20, 30, 40])] {
            assert_eq!(run(&table, &lane, &n).to_vec().unwrap(), [0, 11, 43, 96, 170]);
        }
    });
}

modes! {
    fn several_outputs(n: &UInt) -> (UInt, UInt) {
        { let (mut i, mut total) = (UInt::from(0), UInt::from(0)); }
        while (&i < n) { i += 1; total += &i; }
        { (i, total) }
    }
}

// rows: C027
#[test]
fn outputs_are_computed_one_after_another() {
    in_each_mode!(several_outputs [symbolic evaluated compressed], |run| {
        let (i, total) = run(&UInt::from([3, 5]));
        assert_eq!(i.to_vec().unwrap(), [3, 5]);
        assert_eq!((&i + &total).to_vec().unwrap(), [9, 20]);
        assert_eq!(total.to_vec().unwrap(), [6, 15]);
    });
}

#[jit]
fn largest_of_all(n: &UInt) -> (UInt, Vec<u32>) {
    let (mut i, mut seen) = (UInt::from(0), Vec::new());
    #[evaluated]
    #[max_iterations(10)]
    while &i < n {
        i += 1;
        #[host]
        seen.push(i.reduce_max().item().unwrap());
    }
    (i, seen)
}

#[test]
fn an_evaluated_loop_reads_its_state() {
    on_each_device(|| {
        let (i, seen) = largest_of_all(&UInt::from([1, 3]));
        assert_eq!(i.to_vec().unwrap(), [1, 3]);
        assert_eq!(seen[..2], [1, 2]);
        let message = message_of(|| largest_of_all(&UInt::from([1, 11])));
        assert!(message.contains("more than the 10 iterations"), "{message}");
        nothing_is_open();
    });
}

modes! {
    fn sequence(n: &UInt) -> [UInt; 3] {
        { let (mut i, mut down, mut up) = (UInt::arange(10), UInt::from(10), UInt::from(0)); }
        while (&i < n) { up = &i + 1; down -= 1; i += 1; }
        { [i, down, up] }
    }

    fn on_invariant(x: &Int, limit: &Int) -> [Int; 3] {
        { let (mut x, mut limit, mut k) = (x.clone(), limit.clone(), Int::from(2)); }
        while (&x < &limit) { x += &k; limit += 0; k = Int::from(2); }
        { [x, limit, k] }
    }
}

// rows: C264 C270
#[test]
fn several_state_variables_of_different_lanes() {
    in_each_mode!(sequence [symbolic evaluated compressed], |run| {
        let [i, down, up] = run(&UInt::from(5)).map(|state| state.to_vec().unwrap());
        assert_eq!(i, [5, 5, 5, 5, 5, 5, 6, 7, 8, 9]);
        assert_eq!(down, [5, 6, 7, 8, 9, 10, 10, 10, 10, 10]);
        assert_eq!(up, [5, 5, 5, 5, 5, 0, 0, 0, 0, 0]);
    });
    in_each_mode!(on_invariant [symbolic evaluated compressed], |run| {
        let [x, limit, k] = run(&Int::from([1, 10, 19]), &Int::from(20));
        assert_eq!(x.to_vec().unwrap(), [21, 20, 21]);
        assert_eq!((limit.to_vec().unwrap(), k.to_vec().unwrap()), (vec![20], vec![2]));
        assert!(k.is_evaluated() && k.len() == 1);
    });
}

modes! {
    fn reads_what_was_written(written: &UInt, n: &UInt) -> UInt {
        { let (mut i, mut sum) = (UInt::from(0), UInt::from(10)); }
        while (&i < n) { sum += written.gather(&i); i += 1; }
        { sum }
    }
}

// rows: C271
#[test]
fn arrays_written_before_a_loop_are_read_in_it() {
    in_each_mode!(reads_what_was_written [symbolic evaluated compressed], |run| {
        let mut written = resident([0_u32; 3]);
        written.scatter_add(UInt::from([1, 1, 1, 0]), &UInt::from([0, 0, 1, 2]));
        assert_eq!(run(&written, &UInt::from([1, 2, 0])).to_vec().unwrap(), [12, 13, 10]);
    });
}

modes! {
    fn uneven(start: &UInt, weights: &UInt, counts: &mut UInt) -> (UInt, UInt) {
        { let (mut left, mut sum) = (start.clone(), UInt::from(0)); }
        while (&left > 0) {
            sum = &sum * 3 + weights + UInt::arange(weights.width());
            counts.scatter_add(&left, &(&sum % 16));
            if &sum % 2 == 0 { left -= 1; } else { left /= 2; }
        }
        { (left, sum) }
    }
}

#[test]
fn lanes_that_exit_an_evaluated_loop_take_nothing_with_them() {
    let starts = noise(1000, 7);
    let mut all = Vec::new();
    for device in crate::tested_devices::all() {
        for run in [uneven::symbolic, uneven::evaluated, uneven::compressed] {
            all.push(jit::with_device(device, || {
                let start = UInt::from(starts.iter().map(|x| x % 40).collect::<Vec<_>>());
                let weights = UInt::from(noise(1000, 9));
                let mut counts = resident([0_u32; 16]);
                let (left, sum) = run(&start, &weights, &mut counts);
                assert_eq!(left.len(), 1000);
                (left.to_vec().unwrap(), sum.to_vec().unwrap(), counts.to_vec().unwrap())
            }));
        }
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(all[0].0.iter().all(|&left| left == 0) && all[0].2.iter().any(|&count| count > 0));
}

#[jit]
fn climb(hits: &mut Int, start: &Int) -> Int {
    let mut x = start.clone();
    while x < 10 {
        x += 3;
        hits.scatter_add(1, start);
    }
    x
}

#[test]
fn results_that_are_reduced_in_two_ways_run_the_effects_of_their_loop_once() {
    on_each_device(|| {
        let mut hits = Int::zeros(6);
        let x = climb(&mut hits, &Int::from([0, 1, 2, 3, 4, 5]));
        let (sum, pairs) = (x.sum(), x.block_sum(2));
        jit::eval(&(&hits, &sum, &pairs)).unwrap();
        assert_eq!(hits.to_vec().unwrap(), [4, 3, 3, 3, 2, 2]);
        assert_eq!((sum.item().unwrap(), pairs.to_vec().unwrap()), (66, vec![22, 23, 21]));
    });
}

#[jit]
fn until_one(x: &Float) -> Float {
    let mut x = x.clone();
    while x < 1.0 {
        x += 0.25;
    }
    x
}

#[test]
fn a_condition_that_is_true_for_no_lane_is_not_always_true() {
    on_each_device(|| {
        assert!(until_one(&Float::zeros(0)).to_vec().unwrap().is_empty());
        assert_eq!(until_one(&Float::from([0.0, 3.0])).to_vec().unwrap(), [1.0, 3.0]);
    });
}
