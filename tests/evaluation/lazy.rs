//! Lazy values: what computes them, how often, and what they are when arrays change in between.

use std::cell::Cell;

use jit::prelude::*;

use crate::{launches, on_each_device, resident};

// rows: O10
#[test]
fn printing_a_value_evaluates_it_alone() {
    on_each_device(|| {
        let (a, b) = (resident(&[1.0, 2.0]), resident(&[10.0, 20.0]));
        let (mut c, mut d) = (Float::from(0.0), Float::from(0.0));
        let recorded = launches(|| {
            c = &a + &b;
            d = &c + &a + &b;
        });
        assert_eq!(recorded, [0; 0]);
        let printed = launches(|| assert_eq!(c.to_string(), "[11, 22]"));
        assert_eq!(printed, [2]);
        assert!(c.is_evaluated() && !d.is_evaluated());
        // With values that are scheduled, in the same launch.
        let e = &d * 2.0;
        jit::schedule(&e);
        assert_eq!(launches(|| assert_eq!(d.to_string(), "[22, 44]")), [2]);
        assert!(e.is_evaluated());
    });
}

thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

fn ran() {
    RUNS.set(RUNS.get() + 1);
}

#[jit(lazy)]
fn distance(x: &Float, y: &Float) -> Float {
    ran();
    (x * x + y * y).sqrt()
}

struct Scale(f32);

#[jit]
impl Scale {
    fn apply(&self, x: &Float) -> Float {
        ran();
        if x > 2.0 { x * self.0 } else { x.clone() }
    }
}

// rows: O08
#[test]
fn functions_methods_and_closures_run_in_each_call_and_are_computed_when_printed() {
    on_each_device(|| {
        let (x, y) = (resident(&[3.0, 5.0]), resident(&[4.0, 12.0]));
        let closure = |x: &Float, y: &Float| {
            ran();
            x + y
        };
        let calls: [(&dyn Fn() -> Float, &str); 3] = [
            (&|| distance(&x, &y), "[5, 13]"),
            (&|| Scale(10.0).apply(&x), "[30, 50]"),
            (&|| closure(&x, &y), "[7, 17]"),
        ];
        for (call, text) in calls {
            RUNS.set(0);
            for times in 1..4 {
                let mut z = None;
                assert_eq!(launches(|| z = Some(call())), [0; 0], "{text}");
                let z = z.unwrap();
                assert_eq!(launches(|| assert_eq!(z.to_string(), text)), [2]);
                assert_eq!(launches(|| assert_eq!(z.to_string(), text)), [0; 0], "it is in memory now");
                assert_eq!(RUNS.get(), times);
            }
        }
    });
}

// rows: O40
#[test]
fn a_value_that_was_fused_away_is_computed_when_it_is_printed() {
    on_each_device(|| {
        let (a, b) = (resident(&[1.0, 2.0]), resident(&[10.0, 20.0]));
        let c = &a + &b;
        let d = &c * 2.0 - &a;
        let printed = launches(|| {
            assert_eq!(d.to_string(), "[21, 42]");
            assert!(!c.is_evaluated());
            assert_eq!(c.to_string(), "[11, 22]");
        });
        assert_eq!(printed, [2, 2]);
        // Also when the arrays that it depends on are gone.
        let c = &a + &b;
        let d = &c * 3.0;
        drop((a, b));
        jit::eval(&d).unwrap();
        drop(d);
        assert_eq!(c.to_vec().unwrap(), [11.0, 22.0]);
    });
}

// rows: O41
#[test]
fn a_value_that_was_fused_away_sees_an_array_as_it_was_before_a_scatter() {
    on_each_device(|| {
        for is_printed_before in [false, true] {
            let mut x = resident(&[1.0, 2.0, 3.0]);
            let y = &x + 0.5;
            let z = &y * 2.0;
            if is_printed_before {
                assert_eq!(z.to_vec().unwrap(), [3.0, 5.0, 7.0]);
            }
            x.scatter(Float::from([100.0]), &UInt::from([1]));
            x.scatter_add(Float::from([1.0]), &UInt::from([0]));
            assert_eq!(x.to_vec().unwrap(), [2.0, 100.0, 3.0]);
            assert_eq!(y.to_vec().unwrap(), [1.5, 2.5, 3.5], "before the scatters");
            assert_eq!(z.to_vec().unwrap(), [3.0, 5.0, 7.0]);
        }
    });
}

// rows: O43
#[test]
fn effects_of_a_value_that_was_fused_away_happen_once() {
    on_each_device(|| {
        // Random numbers.
        let draw = |rng: &mut jit::random::Pcg32| rng.next_f32();
        let mut rng = jit::random::Pcg32::new(3, 4);
        let (first, second) = (draw(&mut rng), draw(&mut rng));
        let sum = &first + &second;
        let (sum, second, first) = (sum.to_vec().unwrap(), second.to_vec().unwrap(), first.to_vec().unwrap());
        let mut eager = jit::random::Pcg32::new(3, 4);
        let wanted = [draw(&mut eager).to_vec().unwrap(), draw(&mut eager).to_vec().unwrap()];
        assert_eq!([first.clone(), second.clone()], wanted);
        assert!(sum.iter().zip(first.iter().zip(&second)).all(|(sum, (a, b))| *sum == a + b));
        // Counters.
        let mut counter = UInt::zeros(1);
        let slots = counter.scatter_inc(&UInt::zeros(5));
        let twice = &slots * 2;
        let mut places = twice.to_vec().unwrap();
        places.sort_unstable();
        assert_eq!(places, [0, 2, 4, 6, 8]);
        let again: Vec<u32> = slots.to_vec().unwrap().iter().map(|slot| slot * 2).collect();
        assert_eq!(again, twice.to_vec().unwrap(), "the same slots");
        assert_eq!(counter.to_vec().unwrap(), [5]);
    });
}

// rows: O44
#[test]
fn a_value_whose_last_handle_was_dropped_is_not_computed() {
    on_each_device(|| {
        let x = resident(&[1.0, 4.0]);
        let mut ops = Vec::new();
        for is_kept in [false, true] {
            let y = &x + 1.0;
            let unused = (&y * 3.0).sin();
            jit::schedule(&unused);
            let kept = is_kept.then(|| unused.clone());
            drop(unused);
            ops.push(crate::kernels(|| jit::eval(&y).unwrap()).iter().map(|kernel| kernel.ops).sum::<usize>());
            drop(kept);
        }
        assert!(ops[0] < ops[1], "{ops:?}");
    });
}

// rows: O45
#[test]
fn changing_an_array_leaves_its_clones() {
    on_each_device(|| {
        for is_evaluated in [false, true] {
            let a = resident(&[1.0, 2.0]) * 2.0;
            if is_evaluated {
                jit::eval(&a).unwrap();
            }
            let mut b = a.clone();
            b += 1.0;
            let mut c = b.clone();
            c.scatter(Float::from([9.0]), &UInt::from([0]));
            b -= 0.5;
            assert_eq!(c.to_vec().unwrap(), [9.0, 5.0]);
            assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![2.0, 4.0], vec![2.5, 4.5]));
        }
    });
}
