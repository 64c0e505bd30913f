//! Values that several evaluations need, and that none of them was asked for.

use jit::prelude::*;

use crate::{kernels, on_each_device, resident};

/// Some operations that together are expensive.
fn expensive(x: &Float) -> Float {
    x.sin() * x.cos() + (x + 1.0).abs().ln() * x.exp() + (x * 0.5).tanh()
}

/// The numbers of operations and results of the kernels that were launched while a program ran.
fn kernels_of(program: impl FnOnce()) -> Vec<[usize; 2]> {
    kernels(program).iter().map(|record| [record.ops, record.outputs]).collect()
}

fn eval(tree: &impl Traverse) {
    jit::eval(tree).unwrap();
}

#[test]
fn what_a_second_evaluation_needs_is_stored_then() {
    on_each_device(|| {
        let x = resident(&[0.5, 1.0, 2.0]);
        let y = expensive(&x);
        // Of another array: equal values of one array are the same.
        let wanted = expensive(&resident(&[0.5, 1.0, 2.0])).to_vec().unwrap();
        let kernels = kernels_of(|| (2_u8..6).for_each(|k| eval(&(&y * f32::from(k)))));
        assert_eq!(kernels.iter().map(|[_, outputs]| *outputs).collect::<Vec<_>>(), [1, 2, 1, 1]);
        assert!(kernels[2][0] < kernels[0][0] && kernels[2] == kernels[3], "{kernels:?}");
        assert!(format!("{y:?}").contains(", evaluated"));
        assert_eq!(y.to_vec().unwrap(), wanted);
    });
}

#[test]
fn it_is_stored_where_the_trace_was_found_before() {
    on_each_device(|| {
        let evaluate = |y: &Float| kernels_of(|| eval(&(y * 3.0)))[0][1];
        // From the third time on, a trace is compared with the last one of its line.
        for k in 0_u8..4 {
            let y = expensive(&resident(&[0.5, 1.0, f32::from(k)]));
            assert_eq!(evaluate(&y), 1, "{k}");
        }
        let y = expensive(&resident(&[0.5, 1.0, 2.0]));
        assert_eq!([(); 3].map(|()| evaluate(&y)), [1, 2, 1]);
    });
}

#[test]
fn state_that_is_not_evaluated_is_computed_twice_at_most() {
    /// A step of a moment and of what it changes; returns what is wanted.
    fn step(x: &mut Float, moment: &mut Float) {
        *moment = &*moment * 0.9 + expensive(x) * 0.1;
        *x = &*x - &*moment * 0.01;
    }
    on_each_device(|| {
        let run = |is_all_wanted: bool| {
            let (mut x, mut moment) = (resident(&[0.5, 1.0, 2.0]), Float::zeros(3));
            for _ in 0..20 {
                step(&mut x, &mut moment);
                if is_all_wanted { eval(&(&x, &moment)) } else { eval(&x) }
            }
            (x.to_vec().unwrap(), moment.to_vec().unwrap())
        };
        let wanted = run(true);
        let mut found = None;
        let kernels = kernels_of(|| found = Some(run(false)));
        assert_eq!(found, Some(wanted));
        // The last one computes the moment that is read.
        let (first, all) = (kernels[0][0], kernels.len());
        assert_eq!(all, 21);
        assert!(kernels.iter().all(|[ops, _]| *ops < 3 * first), "{kernels:?}");
        assert!(kernels[5..all - 1].iter().all(|kernel| kernel == &kernels[5]), "{kernels:?}");
    });
}

#[test]
fn it_is_stored_beside_loops_and_scatters_too() {
    #[jit]
    fn doubled(x: &Float, times: &UInt) -> Float {
        let (mut y, mut k) = (x.clone(), UInt::from(0));
        while k < times {
            y = expensive(&y);
            k += 1;
        }
        y
    }
    on_each_device(|| {
        let x = resident(&[0.5, 1.0, 2.0]);
        let times = UInt::from([1, 2, 3]);
        let index = UInt::from([2, 2, 0]);
        let y = doubled(&x, &times);
        let mut sums = Vec::new();
        let kernels = kernels_of(|| {
            for k in 0_u8..4 {
                let mut bins = Float::zeros(4);
                bins.scatter_add(&(&y + f32::from(k)), &index);
                sums.push(bins.to_vec().unwrap());
            }
        });
        let most = kernels.iter().map(|[ops, _]| *ops).max();
        // The first computes it, the second stores it.
        let loops = kernels.iter().filter(|[ops, _]| Some(2 * ops) > most);
        assert_eq!(loops.count(), 2, "{kernels:?}");
        let y = doubled(&x, &times).to_vec().unwrap();
        for (k, bins) in sums.iter().enumerate() {
            let k = k as f32;
            assert_eq!(*bins, [y[2] + k, 0.0, (y[0] + k) + (y[1] + k), 0.0]);
        }
    });
}

#[test]
fn numbers_of_width_one_are_stored() {
    fn hashed(seed: &UInt) -> UInt {
        (0..12_u32).fold(seed.clone(), |x, k| (&x ^ &x >> 3) * (0x9e37_79b1 + 2 * k) % (0xffff_fff1 - k))
    }
    on_each_device(|| {
        let (mut seed, mut wanted) = (UInt::opaque(5), 5_u32);
        let kernels = kernels_of(|| {
            for _ in 0..8 {
                seed = hashed(&seed);
                for k in 0..12 {
                    wanted = (wanted ^ wanted >> 3).wrapping_mul(0x9e37_79b1 + 2 * k) % (0xffff_fff1 - k);
                }
                assert_eq!((&seed + UInt::from([0, 1])).to_vec().unwrap(), [wanted, wanted.wrapping_add(1)]);
            }
        });
        let first = kernels[0][0];
        assert!(kernels.iter().all(|[ops, _]| *ops < 3 * first), "{kernels:?}");
    });
}

#[test]
fn cheap_values_and_indices_are_computed_again() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        let cheap = &x + 1.0;
        let lane = UInt::arange(6);
        let index = ((&lane % 3 + 1) % 3 + (&lane / 3 + 1) % 2 * 3 + 7 * (&lane / 2)) % 6;
        let kernels = kernels_of(|| (0_u8..4).for_each(|k| eval(&(x.gather(&index) * f32::from(k + 2) - &cheap))));
        assert!(kernels.iter().all(|kernel| *kernel == [kernels[0][0], 1]), "{kernels:?}");
        assert!(!format!("{index:?} {cheap:?}").contains(", evaluated"));
    });
}

#[test]
fn values_with_gradients_are_computed_again() {
    on_each_device(|| {
        let mut x = resident(&[0.5, 1.0, 2.0]);
        x.enable_grad();
        let y = expensive(&x);
        let kernels = kernels_of(|| (2_u8..5).for_each(|k| eval(&(&y * f32::from(k)).detach())));
        assert!(kernels.iter().all(|[_, outputs]| *outputs == 1), "{kernels:?}");
        y.sum().backward().unwrap();
        assert_eq!(x.grad().len(), 3);
    });
}

#[test]
fn training_that_reads_the_loss_alone_takes_the_same_time_for_each_step() {
    use jit::nn::{BatchNorm1d, Linear, Module, Relu, value_and_grad};
    use jit::optim::Adam;
    on_each_device(|| {
        let mut rng = jit::random::rng(1);
        let x = Tensor::from_array((Float::arange(12) * 0.7).sin(), [4, 3]).make_opaque();
        let mut net = (Linear::new(3, 4, &mut rng), BatchNorm1d::new(4), Relu, Linear::new(4, 1, &mut rng));
        let mut adam = Adam::new(&net, 0.01);
        let mut losses = Vec::new();
        let mut step = || {
            let loss = |net: &mut (Linear, BatchNorm1d, Relu, Linear)| net.forward(&x).square().mean(..);
            let (loss, gradient) = value_and_grad(&mut net, loss).unwrap();
            adam.step(&mut net, &gradient);
            losses.push(loss.item().unwrap());
        };
        let ops: Vec<usize> = (0..40).map(|_| kernels_of(&mut step).iter().map(|[ops, _]| ops).sum()).collect();
        assert!(ops[30..].iter().all(|&later| later == ops[30]) && ops[30] < 4 * ops[0], "{ops:?}");
        assert!(losses[39] < losses[0] / 4.0, "{losses:?}");
    });
}

#[test]
fn steps_of_a_descent_that_nobody_reads_repeat_their_kernels() {
    // Each step depends on the sums of all steps before, by a chain of numbers that only the kernels need.
    let descent = |steps: usize, reads_each_step: bool| {
        let x = Float::arange(64) * 0.1;
        let wanted = (&x * 3.0 + 0.5).sin();
        let (mut a, mut b, mut moment) = (Float::from(0.1), Float::from(0.2), Float::from(0.0));
        for _ in 0..steps {
            let error = (&a * &x + &b).sin() - &wanted;
            let slope = &error * (&a * &x + &b).cos();
            moment = &moment * 0.9 + (&slope * &x).mean() * 0.1;
            (a, b) = (&a - &moment * 0.1, &b - slope.mean() * 0.1);
            if reads_each_step {
                eval(&(&a, &b, &moment));
            }
        }
        [a.item().unwrap(), b.item().unwrap()]
    };
    on_each_device(|| {
        let distinct = |steps: usize| {
            let kernels = kernels_of(|| {
                descent(steps, false);
            });
            let largest = kernels.iter().map(|[ops, _]| *ops).max();
            let distinct: std::collections::BTreeSet<_> = kernels.iter().collect();
            assert!(kernels.len() < steps * 3 / 2 + 4, "{kernels:?}");
            (distinct.len(), largest)
        };
        let (few, largest) = distinct(12);
        assert_eq!(distinct(60), (few, largest));
        assert_eq!(descent(60, false), descent(60, true));
    });
}

#[test]
fn numbers_of_few_reductions_are_computed_by_each_kernel_that_needs_them() {
    on_each_device(|| {
        let x = resident(&[0.5, 1.0, 2.0, -4.0]);
        let kernels = kernels_of(|| {
            let centred = &x - x.mean();
            let scale = centred.square().mean() + 1e-5;
            let normal = &centred * scale.rsqrt();
            let scaled = &normal * (1.0 / normal.abs().reduce_max()) + x.mean() * scale.sqrt();
            eval(&scaled);
        });
        assert_eq!(kernels.len(), 4, "{kernels:?}");
    });
}
