//! Traversals in the bodies of recorded loops.

use jit::ad;
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

#[jit]
fn gathered(y: &Float, index: &UInt, times: &UInt) {
    let mut i = UInt::from(0);
    while i < times {
        (y.gather(index) * 2.0).backward().expect("it depends on a variable");
        i += 1;
    }
}

// rows: A148 A151
#[test]
fn a_traversal_of_gathers_in_a_loop_adds_for_each_iteration() {
    on_each_device(|| {
        let x = variable(&[1.0, 2.0, 3.0]);
        gathered(&(&x * 2.0), &UInt::from([0, 2, 2, 1]), &UInt::from([1, 1, 1, 1]));
        assert_eq!(x.grad().to_vec().unwrap(), [4.0, 4.0, 8.0]);
        let x = variable(&[1.0, 2.0, 3.0]);
        gathered(&(&x * &x), &UInt::from([0, 2, 2, 1]), &UInt::from([0, 1, 3, 2]));
        assert_eq!(x.grad().to_vec().unwrap(), [0.0, 16.0, 48.0]);
        // What lies outside is not released, and may be evaluated.
        let x = variable(&[1.0, 2.0, 3.0]);
        let y = &x * 5.0;
        jit::eval(&y).unwrap();
        for round in 1..3 {
            gathered(&y, &UInt::from([0, 1]), &UInt::from([2, 1]));
            let round = round as f32;
            assert_eq!(x.grad().to_vec().unwrap(), [20.0 * round, 10.0 * round, 0.0]);
        }
    });
}

#[jit]
fn read(x: &Float, weight: &Float, times: &UInt) -> Float {
    let (mut i, mut sum) = (UInt::from(0), Float::from(0.0));
    while i < times {
        let k = i.cast::<f32>() + 1.0;
        let loss = (x * weight * k).square();
        loss.backward().expect("it depends on a variable");
        sum += loss.detach();
        i += 1;
    }
    sum
}

// rows: A150
#[test]
fn a_traversal_in_a_loop_reaches_what_lanes_share_and_what_is_theirs() {
    on_each_device(|| {
        let (xs, times, w) = ([1.0_f32, 2.0, -1.0], [1_u32, 3, 2], 0.5_f32);
        let (x, weight) = (variable(&xs), variable(&[w]));
        let sum = read(&x, &weight, &UInt::from(times));
        let squares = |times: u32| (1..=times).map(|k| (k * k) as f32).sum::<f32>();
        let each: Vec<f32> = xs.iter().zip(times).map(|(x, times)| (x * w).powi(2) * squares(times)).collect();
        assert_eq!(sum.to_vec().unwrap(), each);
        let of_x: Vec<f32> = xs.iter().zip(times).map(|(x, times)| 2.0 * x * w * w * squares(times)).collect();
        assert_eq!(x.grad().to_vec().unwrap(), of_x);
        let of_w: f32 = xs.iter().zip(times).map(|(x, times)| 2.0 * x * x * w * squares(times)).sum();
        assert!((weight.grad().item().unwrap() - of_w).abs() < 1e-4);
    });
}

#[jit]
fn nested(x: &Float, table: &Float, times: &UInt) {
    let mut i = UInt::from(0);
    while i < times {
        let y = x * (i.cast::<f32>() + 1.0);
        let mut j = UInt::from(0);
        while j <= i {
            if j != 1 {
                (&y * table.gather(&j)).backward().expect("it depends on a variable");
            }
            j += 1;
        }
        i += 1;
    }
}

#[test]
fn traversals_in_inner_loops_and_branches_flow_on_through_outer_ones() {
    on_each_device(|| {
        let (xs, times, entries) = ([1.0_f32, 2.0], [3_u32, 2], [2.0_f32, 3.0, 5.0]);
        let (x, table) = (variable(&xs), variable(&entries));
        nested(&x, &table, &UInt::from(times));
        let (mut of_x, mut of_table) = ([0.0; 2], [0.0; 3]);
        for lane in 0..2 {
            for i in 0..times[lane] {
                for j in (0..=i).filter(|j| *j != 1) {
                    let k = (i + 1) as f32;
                    of_x[lane] += k * entries[j as usize];
                    of_table[j as usize] += xs[lane] * k;
                }
            }
        }
        assert_eq!(x.grad().to_vec().unwrap(), of_x);
        assert_eq!(table.grad().to_vec().unwrap(), of_table);
    });
}

#[jit]
fn descends(start: &Float, times: &UInt) -> Float {
    let (mut x, mut i) = (start.clone(), UInt::from(0));
    while i < times {
        let mut own = x.detach();
        own.enable_grad();
        (&own * &own * 0.25).backward().expect("it depends on a variable");
        x = &own.detach() - own.grad();
        i += 1;
    }
    x
}

#[test]
fn variables_of_the_body_have_gradients_in_it() {
    on_each_device(|| {
        let x = descends(&Float::from([8.0, 4.0]), &UInt::from([3, 1]));
        assert_eq!(x.to_vec().unwrap(), [1.0, 2.0]);
    });
}

#[jit]
fn of_a_state(start: &Float, times: &UInt) {
    let (mut x, mut i) = (start.clone(), UInt::from(0));
    while i < times {
        x *= 2.0;
        x.backward().expect("it depends on a variable");
        i += 1;
    }
}

#[test]
#[should_panic(expected = "reaches a state that carries gradients from one iteration to the next")]
fn a_traversal_that_reaches_the_iteration_before_is_refused() {
    of_a_state(&variable(&[1.0]), &UInt::from([2]));
}

#[jit]
fn in_a_branch(table: &Float, x: &Float, index: &UInt) {
    if x > 0.0 {
        (table.gather(index) * x).backward().expect("it depends on a variable");
    }
}

// rows: A180 A181
#[test]
fn a_traversal_of_gathers_in_a_branch() {
    on_each_device(|| {
        let table = variable(&[1.0, 2.0, 3.0]);
        in_a_branch(&table, &Float::from([1.0, -1.0, 5.0]), &UInt::from([0, 1, 0]));
        assert_eq!(table.grad().to_vec().unwrap(), [6.0, 0.0, 0.0]);
        let x = variable(&[4.0, -4.0]);
        in_a_branch(&Float::from([1.0, 3.0]), &x, &UInt::from([1, 1]));
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 0.0]);
    });
}

#[test]
fn gradients_without_variables_are_errors_in_loops_too() {
    #[jit]
    fn constant(times: &UInt, is_allowed: bool) {
        let mut i = UInt::from(0);
        while i < times {
            assert_eq!(Float::from(2.0).backward().is_ok(), is_allowed);
            i += 1;
        }
    }
    constant(&UInt::from([1, 2]), false);
    ad::allow_no_grad(|| constant(&UInt::from([1, 2]), true));
}

#[jit]
fn attracted(start: &Float64, strength: &Float64) -> Float64 {
    let (mut position, mut speed) = (start.clone(), start * 0.0);
    #[symbolic]
    for _ in 0..5 {
        let force = ad::grad(|x: &Float64| strength * (x * x + 1.0).ln() + x * strength.sin())(&position).unwrap();
        speed = speed - force * 0.1;
        position = position + speed * 0.1;
    }
    position
}

#[test]
fn derivatives_in_loops_capture_numbers_that_carry_gradients() {
    on_each_device(|| {
        let start = Float64::from([1.0, 0.5, -2.0]);
        let last = |strength: f64| attracted(&start, &Float64::from(strength)).sum().item().unwrap();
        let wanted = (last(1.2 + 1e-6) - last(1.2 - 1e-6)) / 2e-6;
        let slope = ad::grad(|strength: &Float64| attracted(&start, strength).sum())(&Float64::from(1.2)).unwrap();
        assert!((slope.item().unwrap() - wanted).abs() < 1e-8, "{slope} {wanted}");
    });
}

#[test]
#[should_panic(expected = "make the array as wide as they are before the loop")]
fn a_gradient_that_lanes_of_a_loop_share_is_refused_with_what_to_do() {
    #[jit]
    fn steps(x: &Float, k: &Float) -> Float {
        let mut sum = x.clone();
        #[symbolic]
        for _ in 0..3 {
            let product = |(sum, k): &(Float, Float)| sum * k * k;
            let (_, slope) = ad::grad(product)(&(sum.clone(), k.clone())).unwrap();
            sum += slope;
        }
        sum
    }
    steps(&Float::from([1.0, 2.0]), &Float::from(1.0));
}

#[jit]
fn alternating(x: &Float64, y: &Float64) -> Float64 {
    let (mut x, mut y) = (x.clone(), y.clone());
    #[symbolic]
    for _ in 0..4 {
        let slope = ad::grad(|x: &Float64| (x * y).sin() + x * x * y)(&x).unwrap();
        x -= slope * 0.1;
        let slope = ad::grad(|y: &Float64| (x * y).sin() + y * y * x)(&y).unwrap();
        y -= slope * 0.1;
    }
    x * y
}

#[test]
fn derivatives_in_loops_capture_other_states() {
    on_each_device(|| {
        let y = Float64::from([0.7, -0.2]);
        let last = |x: f64| alternating(&Float64::from([x, 1.0]), &y).sum().item().unwrap();
        let slope = ad::grad(|x: &Float64| alternating(x, &y).sum())(&Float64::from([0.5, 1.0])).unwrap();
        let wanted = (last(0.5 + 1e-6) - last(0.5 - 1e-6)) / 2e-6;
        assert!((slope.to_vec().unwrap()[0] - wanted).abs() < 1e-8, "{slope} {wanted}");
    });
}
