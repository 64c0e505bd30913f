//! Long programs of equal steps, which become several kernels with the same code.

use std::collections::BTreeSet;

use jit::prelude::*;

use crate::{kernels, on_each_device, resident};

/// Steps of a pendulum with friction, by the method of Euler and Cromer.
fn pendulum(start: &Float, steps: usize, each_step: impl Fn(&Float)) -> [Float; 2] {
    let (mut angle, mut speed) = (start.clone(), start.zeros_like());
    for _ in 0..steps {
        speed = &speed - (angle.sin() + &speed * 0.1) * 0.01;
        angle = &angle + &speed * 0.01;
        each_step(&angle);
    }
    [angle, speed]
}

/// The numbers of operations of the kernels of a program.
fn sizes(program: impl FnOnce()) -> Vec<usize> {
    kernels(program).iter().map(|record| record.ops).collect()
}

fn bits(values: &[Float]) -> Vec<Vec<u32>> {
    values.iter().map(|x| x.to_vec().unwrap().iter().map(|value| value.to_bits()).collect()).collect()
}

fn start() -> Float {
    resident(&[0.1, 0.5, -0.7, 1.5, 3.0])
}

#[test]
fn equal_steps_are_kernels_with_the_same_code() {
    on_each_device(|| {
        let long = |steps: usize| {
            let sizes = sizes(|| jit::eval(&pendulum(&start(), steps, |_| {})).unwrap());
            (sizes.len(), sizes.iter().copied().collect::<BTreeSet<_>>())
        };
        let ((few, of_few), (many, of_many)) = (long(400), long(1200));
        assert!(few > 4 && many.abs_diff(3 * few) <= 3, "{few} {many}");
        // The first and the last piece differ.
        assert!(of_few.len() <= 4 && of_many.len() <= 4, "{of_few:?} {of_many:?}");
    });
}

#[test]
fn results_are_those_of_single_steps() {
    on_each_device(|| {
        let together = pendulum(&start(), 500, |_| {});
        let apart = pendulum(&start(), 500, |angle| jit::eval(angle).unwrap());
        assert_eq!(bits(&together), bits(&apart));
        // Again, by the known trace.
        assert_eq!(bits(&pendulum(&start(), 500, |_| {})), bits(&apart));
    });
}

#[test]
fn values_between_the_pieces_can_be_read_later() {
    on_each_device(|| {
        let states = std::cell::RefCell::new(Vec::new());
        let last = pendulum(&start(), 300, |angle| states.borrow_mut().push(angle.clone()));
        jit::eval(&last).unwrap();
        let states = states.into_inner();
        let apart = pendulum(&start(), 120, |angle| jit::eval(angle).unwrap());
        assert_eq!(bits(&states[119..120]), bits(&apart[..1]));
        assert_eq!(bits(&states[299..]), bits(&last[..1]));
    });
}

#[test]
fn memory_between_the_pieces_is_used_again() {
    on_each_device(|| {
        let start = (Float::arange(20_000) * 0.0001).make_opaque();
        jit::eval(&start).unwrap();
        jit::sync().unwrap();
        for _ in 0..2 {
            jit_runtime::memory::reset_peak();
            let before = jit::memory().live_bytes;
            jit::eval(&pendulum(&start, 800, |_| {})).unwrap();
            jit::sync().unwrap();
            // Two results, and what is written and read at a time.
            let added = jit::memory().peak_bytes - before;
            assert!(added <= 8 * 80_000 * 2, "{added} bytes");
        }
    });
}

#[test]
fn steps_with_loops_branches_and_sums_are_cut() {
    #[jit]
    fn step(x: &Float, limit: f32) -> Float {
        let mut y = x * 1.01 + 0.01;
        let mut i = Int::from(0);
        while &i < 3 {
            y = (&y + x / (&y + 2.0)) * 0.5;
            i += 1;
        }
        if &y > limit {
            y -= limit * 0.5;
        }
        y
    }
    on_each_device(|| {
        let run = |eval_each: bool, sums_each: usize| {
            let mut x = start();
            for k in 0..600 {
                x = step(&x, 1.0);
                if k % sums_each == sums_each - 1 {
                    x = &x - x.sum() * 0.01;
                }
                if eval_each {
                    jit::eval(&x).unwrap();
                }
            }
            x
        };
        for sums_each in [1000, 150, 7] {
            assert_eq!(bits(&[run(false, sums_each)]), bits(&[run(true, sums_each)]));
        }
        assert!(sizes(|| jit::eval(&run(false, 1000)).unwrap()).len() > 2);
    });
}

#[test]
fn a_program_without_a_period_is_one_kernel() {
    on_each_device(|| {
        let (mut x, mut seed) = (start(), 1_u32);
        for _ in 0..3000 {
            seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            x = match seed >> 29 {
                0 | 1 => &x + 0.5,
                2 => &x * 0.75,
                3 | 4 => x.abs(),
                5 => x.sqrt(),
                6 => &x - &x.floor(),
                _ => -x,
            };
        }
        assert_eq!(sizes(|| jit::eval(&x).unwrap()).len(), 1);
    });
}

#[test]
fn many_values_between_the_steps_are_not_written() {
    on_each_device(|| {
        // Sixteen values of each step are needed by the next one.
        let mut values: Vec<Float> = (0..16).map(|k| start() * (k as f32 * 0.1 + 1.0)).collect();
        for _ in 0..240 {
            values = (0..16).map(|k| (&values[k] + &values[(k + 1) % 16]) * 0.5).collect();
        }
        assert_eq!(sizes(|| jit::eval(&values).unwrap()).len(), 1);
    });
}

#[test]
fn programs_are_cut_where_the_fewest_values_are_needed() {
    on_each_device(|| {
        let mut x = start();
        for _ in 0..200 {
            let parts: Vec<Float> = (1..=4).map(|k| (&x * k as f32 + 0.1).sin()).collect();
            x = parts.iter().fold(&x * 0.5, |sum, part| sum + part * 0.1);
        }
        let records = kernels(|| jit::eval(&x).unwrap());
        assert!(records.len() > 4, "{} kernels", records.len());
        assert!(records.iter().all(|record| record.outputs == 1), "{:?}", records[0]);
    });
}

#[test]
fn long_branches_are_not_cut() {
    #[jit]
    fn step(x: &Float) -> Float {
        let mut y = x * 0.99;
        if &y > 0.2 {
            for _ in 0..300 {
                y = (&y + 0.01) * 0.995;
            }
        }
        y
    }
    on_each_device(|| {
        let run = |eval_each: bool| {
            let mut x = start();
            for _ in 0..12 {
                x = step(&x);
                if eval_each {
                    jit::eval(&x).unwrap();
                }
            }
            x
        };
        assert_eq!(bits(&[run(false)]), bits(&[run(true)]));
        assert_eq!(sizes(|| jit::eval(&run(false)).unwrap()).len(), 1);
    });
}

#[test]
fn a_frozen_function_has_the_same_pieces() {
    #[freeze]
    fn frozen(start: &Float) -> [Float; 2] {
        pendulum(start, 500, |_| {})
    }
    on_each_device(|| {
        let wanted = bits(&pendulum(&start(), 500, |_| {}));
        for _ in 0..3 {
            assert_eq!(bits(&frozen(&start())), wanted);
        }
    });
}

#[test]
fn gradients_pass_through_the_pieces() {
    on_each_device(|| {
        let derivative = |x: &Float| {
            let mut y = x.clone();
            for _ in 0..400 {
                y = &y + (&y * 0.5 - &y * &y * 0.1) * 0.01 + 0.001;
            }
            y
        };
        let x = resident(&[0.5, 1.0, 2.0]);
        let [forward, backward] = [
            jit::ad::jvp(derivative, &x, &x.ones_like()).unwrap().1,
            jit::ad::grad(|x: &Float| derivative(x).sum())(&x).unwrap(),
        ];
        let (forward, backward) = (forward.to_vec().unwrap(), backward.to_vec().unwrap());
        for (a, b) in forward.iter().zip(&backward) {
            assert!((a - b).abs() < 1e-5 * a.abs(), "{forward:?} {backward:?}");
        }
    });
}
