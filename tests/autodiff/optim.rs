//! Optimisers against their formulas in plain Rust.

use jit::ad;
use jit::freeze::Frozen;
use jit::nn::StateDict;
use jit::optim::{Adam, AdamW, Method, Momentum, Optimizer, RmsProp, Setting, Sgd, Skip, clip_norm, clip_value};
use jit::prelude::*;
use jit::{Array, f16};

use crate::{alone, assert_close, on_each_device};

#[derive(Clone, Traverse)]
struct Parameters {
    weights: Float64,
    count: UInt,
    bias: Float,
}

fn parameters() -> Parameters {
    Parameters {
        weights: Float64::from([1.0, -2.0, 0.5]).make_opaque(),
        count: UInt::from([7]).make_opaque(),
        bias: Float::from([0.25]).make_opaque(),
    }
}

fn numbers(p: &Parameters) -> Vec<f64> {
    let mut all = p.weights.to_vec().unwrap();
    all.extend(p.bias.to_vec().unwrap().into_iter().map(f64::from));
    all
}

/// The gradients of some step; in every third one, an element and the last parameter have none.
fn gradients(step: usize) -> Parameters {
    let at = |i: usize| ((step * 5 + i * 3) as f64 * 0.7 + 0.4).sin() * 2.0;
    let zero = if step % 3 == 1 { 0.0 } else { 1.0 };
    Parameters {
        weights: Float64::from([at(0), at(1) * zero, at(2)]).make_opaque(),
        count: UInt::from([0]).make_opaque(),
        bias: Float::from([(at(3) * zero) as f32]).make_opaque(),
    }
}

type Masks = (Mask, Mask, Mask);

#[freeze]
fn frozen<M: Method>(p: &mut Parameters, g: &Parameters, optimizer: &mut Optimizer<Parameters, M>) {
    optimizer.step(p, g);
}

#[freeze]
fn frozen_masked<M: Method>(
    p: &mut Parameters,
    g: &Parameters,
    optimizer: &mut Optimizer<Parameters, M>,
    masks: &Masks,
) {
    optimizer.step_masked(p, g, masks);
}

/// A formula: a parameter, its gradient, three states, the number of its step and its position give the parameter after
/// the step.
type Plain<'a> = &'a dyn Fn(f64, f64, &mut [f64; 3], i32, usize) -> f64;

/// Runs ten steps, frozen and not, and compares with a formula. Elements step where `is_on` says so, which gets the
/// number of the step and the position.
#[track_caller]
fn check_where<M: Method>(
    optimizer: &Optimizer<Parameters, M>,
    step: impl Fn(usize, &mut Parameters, &Parameters, &mut Optimizer<Parameters, M>),
    plain: Plain<'_>,
    is_on: impl Fn(usize, usize) -> bool,
) {
    let mut optimizer = optimizer.clone();
    let mut p = parameters();
    let mut wanted = numbers(&p);
    let mut states = vec![([0.0; 3], 0); wanted.len()];
    for number in 0..10 {
        let g = gradients(number);
        step(number, &mut p, &g, &mut optimizer);
        for (position, (p, g)) in wanted.iter_mut().zip(numbers(&g)).enumerate().filter(|(i, _)| is_on(number, *i)) {
            let (state, steps) = &mut states[position];
            *steps += 1;
            *p = plain(*p, g, state, *steps, position);
        }
        let got = numbers(&p);
        assert_close(&got[..3], &wanted[..3], 1e-13);
        assert_close(&got[3..], &wanted[3..], 2e-6);
        assert_eq!(p.count.to_vec().unwrap(), [7]);
    }
}

#[track_caller]
fn check<M: Method>(optimizer: &Optimizer<Parameters, M>, plain: Plain<'_>) {
    on_each_device(|| {
        check_where(optimizer, |_, p, g, optimizer| optimizer.step(p, g), plain, |_, _| true);
        frozen::clear();
        check_where(optimizer, |_, p, g, optimizer| frozen(p, g, optimizer), plain, |_, _| true);
        assert!(frozen::stats().recordings <= 2, "{:?}", frozen::stats());
    });
}

const EPSILON: f64 = 1e-8;

fn adam_step(decays: [f64; 2], g: f64, s: &mut [f64; 3], t: i32) -> f64 {
    s[0] = decays[0] * s[0] + (1.0 - decays[0]) * g;
    s[1] = decays[1] * s[1] + (1.0 - decays[1]) * g * g;
    let (m, v) = (s[0] / (1.0 - decays[0].powi(t)), s[1] / (1.0 - decays[1].powi(t)));
    m / (v.sqrt() + EPSILON)
}

const PROPOSED: [f64; 2] = [0.9, 0.999];

#[test]
fn gradient_descent_follows_its_formula() {
    let _turn = alone();
    check(&Sgd::new(&parameters(), 0.1), &|p, g, _, _, _| p - 0.1 * g);
    check(&Sgd::new(&parameters(), 0.1).with_weight_decay(0.5), &|p, g, _, _, _| p - 0.1 * (g + 0.5 * p));
    check(&Sgd::new(&parameters(), 0.1).with_momentum(0.5), &|p, g, s, _, _| {
        s[0] = 0.5 * s[0] + g;
        p - 0.1 * s[0]
    });
    check(&Sgd::new(&parameters(), 0.1).with_nesterov_momentum(0.5).with_weight_decay(0.25), &|p, g, s, _, _| {
        let g = g + 0.25 * p;
        s[0] = 0.5 * s[0] + g;
        p - 0.1 * (g + 0.5 * s[0])
    });
    check(&Momentum::new(&parameters(), 0.1), &|p, g, s, _, _| {
        s[0] = 0.9 * s[0] + g;
        p - 0.1 * s[0]
    });
    let nesterov = Momentum::new(&parameters(), 0.1).with_momentum(0.5).with_nesterov().with_weight_decay(0.25);
    check(&nesterov, &|p, g, s, _, _| {
        let g = g + 0.25 * p;
        s[0] = 0.5 * s[0] + g;
        p - 0.1 * (g + 0.5 * s[0])
    });
}

#[test]
fn methods_with_means_follow_their_formulas() {
    let _turn = alone();
    let of_rms = |decay: f64, epsilon: f64| {
        move |p: f64, g: f64, s: &mut [f64; 3], _: i32, _: usize| {
            s[0] = decay * s[0] + (1.0 - decay) * g * g;
            p - 0.1 * g / (s[0].sqrt() + epsilon)
        }
    };
    check(&RmsProp::new(&parameters(), 0.1), &of_rms(0.99, EPSILON));
    check(&RmsProp::new(&parameters(), 0.1).with_decay(0.75).with_epsilon(0.5), &of_rms(0.75, 0.5));
    check(&Adam::new(&parameters(), 0.1), &|p, g, s, t, _| p - 0.1 * adam_step(PROPOSED, g, s, t));
    check(&Adam::new(&parameters(), 0.1).with_decays([0.5, 0.75]).with_weight_decay(0.125), &|p, g, s, t, _| {
        p - 0.1 * adam_step([0.5, 0.75], g + 0.125 * p, s, t)
    });
    check(&AdamW::new(&parameters(), 0.1), &|p, g, s, t, _| p - 0.1 * 0.01 * p - 0.1 * adam_step(PROPOSED, g, s, t));
    check(&AdamW::new(&parameters(), 0.1).with_decays([0.5, 0.75]).with_weight_decay(0.125), &|p, g, s, t, _| {
        p - 0.1 * 0.125 * p - 0.1 * adam_step([0.5, 0.75], g, s, t)
    });
}

#[test]
fn groups_have_settings_of_their_own() {
    let _turn = alone();
    let adam = Adam::new(&parameters(), 0.1).with_group("bias", |bias| {
        bias.rate = 0.5.into();
        bias.decays = [0.25, 0.5].map(Setting::from);
    });
    check(&adam, &|p, g, s, t, position| match position {
        3 => p - 0.5 * adam_step([0.25, 0.5], g, s, t),
        _ => p - 0.1 * adam_step(PROPOSED, g, s, t),
    });
    // Of groups inside of each other, the inner one counts.
    let nested = ((Float::from(1.0), Float::from(1.0)), vec![Float::from(1.0), Float::from(1.0)]);
    let paths: Vec<String> = jit::leaves(&nested).into_iter().map(|(path, _)| path).collect();
    let mut sgd = Sgd::new(&nested, 0.5);
    sgd.group(&paths[1]).rate = 0.125.into();
    sgd.group(paths[0].strip_suffix(".0").unwrap()).rate = 0.25.into();
    sgd.group(&paths[3]).momentum = Some(1.0.into());
    let (mut p, g) = (nested.clone(), nested.clone());
    sgd.step(&mut p, &g);
    sgd.step(&mut p, &g);
    let got = [&p.0.0, &p.0.1, &p.1[0], &p.1[1]].map(|p| p.item().unwrap());
    assert_eq!(got, [0.5, 0.75, 0.0, -0.5]);
}

/// A schedule of the rate that did not reach a group whose weight decay alone differed left its rate as it was.
#[test]
fn a_group_follows_the_settings_that_it_does_not_replace() {
    let _turn = alone();
    let decayed = |p: f64, g: f64, rate: f64, decay: f64| p - rate * (g + decay * p);
    let rates = [0.5, 0.25, 0.125, 1.0];
    // The first parameter has a tenth of the rate of all, the last one another weight decay.
    let plain = |p: f64, g: f64, _: &mut [f64; 3], t: i32, position: usize| {
        let rate = rates[(t - 1) as usize % rates.len()];
        match position {
            3 => decayed(p, g, rate, 0.0),
            _ => decayed(p, g, 0.1 * rate, 0.5),
        }
    };
    let set = |number: usize, sgd: &mut Sgd<Parameters>| sgd.settings.rate = rates[number % rates.len()].into();
    on_each_device(|| {
        let sgd = Sgd::new(&parameters(), 7.0)
            .with_weight_decay(0.5)
            .with_group("bias", |bias| bias.weight_decay = Some(0.0.into()))
            .with_group("weights", |weights| weights.rate = weights.rate.scaled(0.1));
        let direct = |number: usize, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            set(number, sgd);
            sgd.step(p, g);
        };
        check_where(&sgd, direct, &plain, |_, _| true);
        frozen::clear();
        let replayed = |number: usize, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            set(number, sgd);
            frozen(p, g, sgd);
        };
        check_where(&sgd, replayed, &plain, |_, _| true);
        assert!(frozen::stats().recordings <= 2, "{:?}", frozen::stats());
        // A schedule on the device, within the step.
        scheduled::clear();
        let round = std::cell::RefCell::new(Float64::opaque(0.0));
        let on_device = |_, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            scheduled(p, g, sgd, &mut round.borrow_mut());
        };
        let with_schedule = |p: f64, g: f64, _: &mut [f64; 3], t: i32, position: usize| match position {
            3 => decayed(p, g, 0.5 / f64::from(t), 0.0),
            _ => decayed(p, g, 0.05 / f64::from(t), 0.5),
        };
        check_where(&sgd, on_device, &with_schedule, |_, _| true);
        assert!(scheduled::stats().recordings <= 2, "{:?}", scheduled::stats());
    });
}

#[test]
fn the_settings_of_a_group_are_read_as_they_are() {
    let mut adam = AdamW::new(&parameters(), 0.5).with_group("bias", |bias| bias.rate = bias.rate.scaled(0.5));
    adam.settings.rate = 4.0.into();
    adam.settings.weight_decay = 0.25.into();
    let read = |setting: &Setting| setting.values().item().unwrap();
    let bias = adam.group("bias");
    assert_eq!((read(&bias.rate), read(&bias.weight_decay)), (2.0, 0.25));
    // Another ratio of the ratio; a number ends it.
    bias.rate = bias.rate.scaled(0.5);
    bias.weight_decay = 0.125.into();
    (adam.settings.rate, adam.settings.weight_decay) = (8.0.into(), 0.75.into());
    let bias = adam.clone().group("bias").clone();
    assert_eq!((read(&bias.rate), read(&bias.weight_decay)), (2.0, 0.125));
}

#[test]
#[should_panic(expected = "the parameters have no part `weight`")]
fn groups_are_named_by_whole_paths() {
    let _ = Adam::new(&parameters(), 0.1).with_group("weight", |_| {});
}

/// Parameters that step by masks: the state of the others, and its age, stay.
#[test]
fn masked_parameters_and_elements_stay_with_their_state() {
    let plain = |p: f64, g: f64, s: &mut [f64; 3], t: i32, _: usize| p - 0.1 * adam_step(PROPOSED, g, s, t);
    // The second element, and every other step of the last parameter.
    let is_on = |step: usize, position: usize| match position {
        1 => !step.is_multiple_of(3),
        3 => step % 2 == 1,
        _ => true,
    };
    let masks = |step: usize| -> Masks {
        let elements = Mask::from([is_on(step, 0), is_on(step, 1), is_on(step, 2)]);
        (elements.make_opaque(), Mask::opaque(false), Mask::opaque(is_on(step, 3)))
    };
    let adam = Adam::new(&parameters(), 0.1);
    on_each_device(|| {
        check_where(&adam, |number, p, g, adam| adam.step_masked(p, g, &masks(number)), &plain, is_on);
        frozen_masked::clear();
        check_where(&adam, |number, p, g, adam| frozen_masked(p, g, adam, &masks(number)), &plain, is_on);
        assert!(frozen_masked::stats().recordings <= 3, "{:?}", frozen_masked::stats());
        // One mask for all of them.
        let all = |number: usize| Mask::opaque(number.is_multiple_of(2));
        let step = |number: usize, p: &mut Parameters, g: &Parameters, adam: &mut Adam<Parameters>| {
            adam.step_masked(p, g, &all(number));
        };
        check_where(&adam, step, &plain, |step, _| step % 2 == 0);
    });
}

#[test]
fn what_had_no_gradient_is_left_out_if_wanted() {
    let _turn = alone();
    let plain = |p: f64, g: f64, s: &mut [f64; 3], t: i32, _: usize| {
        p - 0.1 * 0.125 * p - 0.1 * adam_step([0.5, 0.75], g, s, t)
    };
    let adam = || AdamW::new(&parameters(), 0.1).with_decays([0.5, 0.75]).with_weight_decay(0.125);
    on_each_device(|| {
        for (skip, positions) in [(Skip::ZeroArrays, &[3][..]), (Skip::ZeroElements, &[1, 3]), (Skip::Nothing, &[])] {
            let is_on = |step: usize, position: usize| step % 3 != 1 || !positions.contains(&position);
            let adam = adam().with_skip(skip);
            check_where(&adam, |_, p, g, adam| adam.step(p, g), &plain, is_on);
            frozen::clear();
            check_where(&adam, |_, p, g, adam| frozen(p, g, adam), &plain, is_on);
            assert!(frozen::stats().recordings <= 3, "{skip:?} {:?}", frozen::stats());
        }
    });
}

#[freeze]
fn scheduled(p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>, round: &mut Float64) {
    // A schedule on the device.
    sgd.settings.rate = (0.5 / (&*round + 1.0)).into();
    *round += 1.0;
    sgd.step(p, g);
}

#[test]
fn rates_change_without_new_recordings() {
    let _turn = alone();
    on_each_device(|| {
        frozen::clear();
        let change = |number: usize, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            sgd.settings.rate = (0.1 + number as f64).into();
            frozen(p, g, sgd);
        };
        let sgd = Sgd::new(&parameters(), 0.0);
        check_where(&sgd, change, &|p, g, _, t, _| p - (0.1 + f64::from(t - 1)) * g, |_, _| true);
        assert!(frozen::stats().recordings <= 2, "{:?}", frozen::stats());
        // An array of width 1, and from then on a rate for each element.
        let by_array = |number: usize, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            let rates = Float64::from([0.5, 1.0, 2.0]) * number as f64;
            sgd.settings.rate = Float::from([0.25 * number as f32]).make_opaque().into();
            sgd.group("weights").rate = rates.make_opaque().into();
            frozen(p, g, sgd);
        };
        let rates = [0.5, 1.0, 2.0, 0.25];
        check_where(&sgd, by_array, &|p, g, _, t, i| p - rates[i] * f64::from(t - 1) * g, |_, _| true);
        assert!(frozen::stats().recordings <= 4, "{:?}", frozen::stats());
        let round = std::cell::RefCell::new(Float64::opaque(0.0));
        scheduled::clear();
        let on_device = |_, p: &mut Parameters, g: &Parameters, sgd: &mut Sgd<Parameters>| {
            scheduled(p, g, sgd, &mut round.borrow_mut());
        };
        check_where(&sgd, on_device, &|p, g, _, t, _| p - 0.5 / f64::from(t) * g, |_, _| true);
        assert!(scheduled::stats().recordings <= 2, "{:?}", scheduled::stats());
    });
}

/// Asserts that a function panics with a message.
#[track_caller]
fn assert_refused(function: impl FnOnce(), wanted: &str) {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).unwrap_err();
    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains(wanted) && text.contains("optim.rs"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut p = parameters();
    let before = numbers(&p);
    let mut adam = Adam::new(&p, 0.1);
    let mut g = gradients(0);
    g.bias = Float::from([1.0, 2.0]);
    assert_refused(|| adam.step(&mut p, &g), "the gradient of `bias` has width 2, and it has 1");
    let g = gradients(0);
    assert_refused(
        || adam.step_masked(&mut p, &g, &vec![Mask::from(true); 2]),
        "2 arrays do not select among 3 parameters",
    );
    assert_refused(
        || adam.step_masked(&mut p, &g, &(Mask::from(true), Mask::from(true), UInt::from(1))),
        "3 arrays do not select among 3 parameters",
    );
    assert_refused(|| adam.step_masked(&mut p, &g, &Mask::from([true, true])), "the mask of `weights` has width 2");
    adam.settings.rate = Float::from([1.0, 2.0, 3.0]).into();
    assert_refused(|| adam.step(&mut p, &g), "the setting of `bias` has width 3, and it has 1");
    assert_eq!(numbers(&p), before);
    adam.settings.rate = 0.1.into();
    adam.step(&mut p, &g);
    assert!(numbers(&p).iter().zip(&before).all(|(p, before)| (p - before).abs() > 0.09));
}

#[test]
fn gradients_are_clipped() {
    on_each_device(|| {
        let g =
            Parameters { weights: Float64::from([3.0, 0.0, 4.0]), count: UInt::from([7]), bias: Float::from([12.0]) };
        assert_close(&numbers(&clip_norm(&g, 6.5)), &[1.5, 0.0, 2.0, 6.0], 1e-6);
        assert_close(&numbers(&clip_norm(&g, 20.0)), &[3.0, 0.0, 4.0, 12.0], 0.0);
        assert_close(&numbers(&clip_value(&g, 3.5)), &[3.0, 0.0, 3.5, 3.5], 0.0);
    });
}

#[freeze]
fn step(p: &mut Parameters, adam: &mut Adam<Parameters>) -> Float64 {
    let loss = |p: &Parameters| ((&p.weights - p.bias.cast::<f64>()) * (&p.weights - 1.0)).squared_norm();
    let (loss, gradient) = jit::ad::value_and_grad(loss)(p).expect("it has derivatives");
    adam.step(p, &gradient);
    loss
}

#[test]
fn a_frozen_step_holds_the_state_of_its_optimiser() {
    on_each_device(|| {
        step::clear();
        let (mut p, mut adam) = (parameters(), Adam::new(&parameters(), 0.05));
        let first = step(&mut p, &mut adam).item().unwrap();
        let mut last = first;
        for round in 0..200 {
            if round == 100 {
                adam.settings.rate = 0.01.into();
            }
            last = step(&mut p, &mut adam).item().unwrap();
        }
        assert!(last < 1e-3 * first, "{first} {last}");
        assert!(step::stats().recordings <= 2, "{:?}", step::stats());
        assert!(step::stats().replays >= 198, "{:?}", step::stats());
    });
}

#[test]
fn variables_stay_variables_after_a_step() {
    on_each_device(|| {
        let mut pair = (Float::from([1.0, 2.0]), Float::from(3.0));
        pair.0.enable_grad();
        let mut adam = Adam::new(&pair, 0.1);
        let step = |pair: &mut (Float, Float), adam: &mut Adam<(Float, Float)>| {
            (&pair.0 * &pair.1).sum().backward().unwrap();
            let gradients = ad::grad_of(pair);
            adam.step(pair, &gradients);
        };
        let frozen = Frozen::new(step);
        for _ in 0..2 {
            step(&mut pair, &mut adam);
            assert!(pair.0.grad_enabled() && !pair.1.grad_enabled());
            assert_eq!(pair.0.grad().to_vec().unwrap(), [0.0, 0.0]);
        }
        for _ in 0..3 {
            frozen.call((&mut pair, &mut adam));
            assert!(pair.0.grad_enabled() && !pair.1.grad_enabled());
            assert_eq!(pair.0.grad().to_vec().unwrap(), [0.0, 0.0]);
        }
        for (found, wanted) in pair.0.to_vec().unwrap().iter().zip([0.5, 1.5]) {
            assert!((found - wanted).abs() < 1e-3, "{found}");
        }
        assert_eq!(pair.1.item().unwrap(), 3.0);
    });
}

#[test]
fn norms_that_the_type_does_not_hold_are_clipped() {
    on_each_device(|| {
        let halves = Array::<f16>::full(f16::from_f32(10.0), 1000);
        let clipped = clip_norm(&halves, 1.0).cast::<f32>().to_vec().unwrap();
        assert!(clipped.iter().all(|x| (x - 0.1_f32.powf(1.5)).abs() < 3e-5), "{:?}", clipped[0]);
        assert_close(&clip_norm(&Float64::from([3e20, 4e20]), 1.0).to_vec().unwrap(), &[0.6, 0.8], 1e-12);
        let single = clip_norm(&Float::from([3e20, 4e20]), 1.0).cast::<f64>().to_vec().unwrap();
        assert_close(&single, &[0.6, 0.8], 1e-6);
        assert!(clip_norm(&Float::from([f32::NAN, 1.0]), 1.0).to_vec().unwrap().iter().all(|x| x.is_nan()));
    });
}

#[test]
fn steps_of_halves_stay_finite() {
    on_each_device(|| {
        let mut p = Array::<f16>::from([f16::ONE, f16::ONE]);
        let (mut adam, mut rms) = (Adam::new(&p, 0.01), RmsProp::new(&p, 0.01));
        let g = Array::<f16>::from([f16::ZERO, f16::from_f32(1e-4)]);
        for _ in 0..5 {
            adam.step(&mut p, &g);
            rms.step(&mut p, &g);
            jit::eval(&(&p, &adam, &rms)).unwrap();
        }
        let p = p.cast::<f32>().to_vec().unwrap();
        assert!(p[0] == 1.0 && p[1] < 1.0 && p[1].is_finite(), "{p:?}");
    });
}

/// Takes steps from a point towards a minimum that depends on another number; returns how far it gets.
fn far<M: Method>(optimizer: impl Fn(&Float64) -> Optimizer<Float64, M>) -> impl Fn(&Float64) -> Float64 {
    move |x: &Float64| {
        let (mut at, minimum) = (x.slice(0..2), x.slice(2..3));
        let loss = |at: &Float64| ((at - &minimum).square() + at.sin()).sum();
        let mut optimizer = optimizer(&at);
        for _ in 0..3 {
            let gradient = ad::grad(loss)(&at).unwrap();
            optimizer.step(&mut at, &clip_norm(&clip_value(&gradient, 5.0), 2.0));
        }
        Float64::concat(&[loss(&at), at])
    }
}

#[test]
fn functions_that_take_steps_have_derivatives() {
    let x = [1.0, -0.5, 3.0];
    on_each_device(|| {
        crate::check_function("descent", &far(|at| Sgd::new(at, 0.1)), &x);
        crate::check_function("momentum", &far(|at| Momentum::new(at, 0.1)), &x);
        crate::check_function("adam", &far(|at| Adam::new(at, 0.1)), &x);
        crate::check_second("adam", &far(|at| Adam::new(at, 0.1)), &x);
    });
}

/// The state of an optimiser has zeros in place of what is no parameter.
#[test]
fn optimisers_do_not_hold_the_integers_of_parameters() {
    on_each_device(|| {
        let (mut p, mut adam) = (parameters(), Adam::new(&parameters(), 0.1));
        for step in 0..3 {
            frozen(&mut p, &gradients(step), &mut adam);
        }
        let state = StateDict::checkpoint(&adam);
        let counts = state.names().filter(|name| name.ends_with(".count"));
        let counts: Vec<Vec<u32>> = counts.map(|name| state.get(name).unwrap().to_vec().unwrap()).collect();
        assert_eq!(p.count.to_vec().unwrap(), [7]);
        assert_eq!(counts, [[0], [0]]);
    });
}

/// Each step uses the parameter twice for its gradient. What looks for the arguments by which a kernel divides must not
/// pass one along each of 2^60 ways.
#[test]
fn many_steps_that_nobody_reads_are_one_evaluation() {
    on_each_device(|| {
        let mut x = Float64::from([1.0, 0.25, 0.5]).make_opaque();
        let mut sgd = Sgd::new(&x, 0.1);
        for _ in 0..60 {
            let gradient = ad::grad(|x: &Float64| (x * x * x).sum())(&x).unwrap();
            sgd.step(&mut x, &gradient);
        }
        let descend = |x: f64| (0..60).fold(x, |x, _| x - 0.1 * 3.0 * x * x);
        assert_close(&x.to_vec().unwrap(), &[1.0, 0.25, 0.5].map(descend), 1e-6);
    });
}
