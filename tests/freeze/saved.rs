//! Frozen functions in files: a process that loads them replays what another one recorded.

use jit::Result;
use jit::prelude::*;

use crate::file::File;
use crate::{floats, is_frozen, tested_devices, values};

/// Runs a test on each device; what a recording is saved of needs recordings, and counts that no body takes part in.
pub(crate) fn on_each_device(test: impl Fn() -> Result<()>) {
    if is_frozen() && std::env::var_os("JIT_FREEZE_VERIFY").is_none() {
        for device in tested_devices::all() {
            jit::with_device(device, || test().unwrap_or_else(|error| panic!("on {device}: {error}")));
        }
    }
}

#[derive(Clone, Traverse)]
struct State {
    sum: Float,
    weights: Vec<Float>,
}

#[freeze]
fn step(state: &mut State, x: &Float, scale: f32) -> Option<Float> {
    state.sum += x * scale;
    for weight in &mut state.weights {
        *weight += x.sum();
    }
    (state.weights.len() > 1).then(|| state.sum.clone())
}

fn state(weights: usize, width: usize) -> State {
    State { sum: Float::zeros(width).make_opaque(), weights: vec![Float::opaque(1.0); weights] }
}

// rows: O38
#[test]
fn all_recordings_are_there_after_a_restart() {
    on_each_device(|| {
        let file = File::new("step");
        step::clear();
        let run = |weights, width| -> Result<(Vec<f32>, Option<f32>)> {
            let mut state = state(weights, width);
            let x = Float::full(2.0, width).make_opaque();
            let last = step(&mut state, &x, 0.5);
            Ok((state.sum.to_vec()?, last.map(|last| last.slice(0..1).item()).transpose()?))
        };
        for weights in [1, 2, 2] {
            run(weights, 10)?;
            run(weights, 20)?;
        }
        step::save(&file)?;
        let recordings = step::stats().cached;
        step::clear();
        step::load(&file)?;
        for width in [10, 11, 1000] {
            assert_eq!(run(1, width)?, (vec![1.0; width], None));
            assert_eq!(run(2, width)?, (vec![1.0; width], Some(1.0)));
        }
        let stats = step::stats();
        assert_eq!((stats.recordings, stats.replays, stats.cached), (0, 6, recordings));
        run(3, 10)?;
        assert_eq!(step::stats().recordings, 1, "another number of weights");
        step::save(&file)?;
        step::clear();
        step::load(&file)?;
        step::save(&file)?;
        step::clear();
        step::load(&file)?;
        run(3, 12)?;
        assert_eq!((step::stats().recordings, step::stats().replays), (0, 1), "a file of loaded and new recordings");
        step::clear();
        Ok(())
    });
}

#[freeze]
fn shifted(x: &Float, bias: Option<&Float>) -> Float {
    bias.map_or_else(|| x * 2.0, |bias| x * 2.0 + bias)
}

#[test]
fn optional_references_are_arguments_of_loaded_recordings() {
    on_each_device(|| {
        let file = File::new("shifted");
        shifted::clear();
        let run = |bias: Option<f32>, width: usize| -> Result<Vec<f32>> {
            let bias = bias.map(|bias| Float::full(bias, width).make_opaque());
            shifted(&Float::full(1.0, width).make_opaque(), bias.as_ref()).to_vec()
        };
        run(None, 10)?;
        run(Some(1.0), 10)?;
        shifted::save(&file)?;
        shifted::clear();
        shifted::load(&file)?;
        assert_eq!((run(None, 12)?, run(Some(0.5), 9)?), (vec![2.0; 12], vec![2.5; 9]));
        assert_eq!((shifted::stats().recordings, shifted::stats().replays), (0, 2));
        shifted::clear();
        Ok(())
    });
}

#[freeze]
fn search(x: &Float) -> (Float, UInt) {
    let mut y = x.clone();
    #[evaluated]
    while (&y * &y - x).abs() > 1e-4 {
        y = 0.5 * (&y + x / &y);
    }
    let large = y.gt(2.0).compress();
    (y.gather(&large), large + UInt::from([1, 2, 3]).sum())
}

#[test]
fn counting_steps_and_evaluated_loops_are_replayed() {
    on_each_device(|| {
        let file = File::new("search");
        search::clear();
        let of = |x: &[f32]| -> Result<(Vec<f32>, Vec<u32>)> {
            let (found, at) = search(&Float::from(x));
            Ok((found.to_vec()?, at.to_vec()?))
        };
        let inputs: [&[f32]; 3] = [&[1.0, 4.0, 9.0, 100.0], &[16.0, 1.0, 25.0], &[1e4, 1.0, 2.0, 3.0, 9.0, 81.0]];
        let wanted: Vec<_> = inputs.iter().map(|x| of(x)).collect::<Result<_>>()?;
        search::save(&file)?;
        search::clear();
        search::load(&file)?;
        for (x, wanted) in inputs.iter().zip(&wanted) {
            assert_eq!(of(x)?, *wanted);
        }
        let stats = search::stats();
        assert!(stats.replays > 0 && stats.recordings == 0, "{stats:?}: {}", search::explain());
        search::clear();
        Ok(())
    });
}

const HOST_LINE: u32 = line!() + 5;

#[freeze]
fn host_step(x: &Float) -> Float {
    let copy = x.clone();
    x + jit::freeze::host(move || Float::from(copy.to_vec().map_or(0.0, |all| all.len() as f32)))
}

#[derive(Clone, Traverse)]
struct Counter {
    calls: u32,
    sum: Float,
}

#[freeze]
fn counting(counter: &mut Counter, x: &Float) {
    counter.calls += 1;
    counter.sum += x;
}

#[freeze]
#[allow(dead_code, reason = "only its recordings are asked for")]
fn never_called(x: &Float) -> Float {
    x + 1
}

// rows: N02
#[test]
fn what_a_file_cannot_have_is_refused_when_it_is_saved() {
    on_each_device(|| {
        let file = File::new("refused");
        host_step(&Float::from([1.0, 2.0]));
        let refused = host_step::save(&file).unwrap_err();
        assert!(refused.to_string().contains("calls the host cannot be saved"), "{refused}");
        let line = refused.site().map(|site| (site.file().ends_with("saved.rs"), site.line()));
        assert_eq!(line, Some((true, HOST_LINE)), "the line of the call");
        counting(&mut Counter { calls: 0, sum: Float::from([0.0, 0.0]) }, &Float::from([1.0, 2.0]));
        let refused = counting::save(&file).unwrap_err().to_string();
        assert!(refused.contains("it changes lengths, variants or numbers in its arguments"), "{refused}");
        let refused = never_called::save(&file).unwrap_err().to_string();
        assert!(refused.contains("it has no recordings"), "{refused}");
        assert!(!file.0.exists());
        host_step::clear();
        counting::clear();
        Ok(())
    });
}

#[freeze]
fn plus_one(x: &Float) -> Float {
    x + 1
}

#[test]
fn a_file_of_another_function_is_refused() {
    on_each_device(|| {
        let file = File::new("other");
        plus_one(&Float::from([1.0, 2.0]));
        plus_one::save(&file)?;
        plus_one::clear();
        let refused = search::load(&file).unwrap_err().to_string();
        assert!(refused.contains("the result is `(Array<f32>, Array<u32>)`, and was `Array<f32>`"), "{refused}");
        let refused = counting::load(&file).unwrap_err().to_string();
        let wanted = "the argument `counter` is `&mut Counter`, and was `&Array<f32>` when `plus_one` was saved";
        assert!(refused.contains(wanted), "{refused}");
        Ok(())
    });
}

#[freeze]
fn parts_of(x: &Float, first: &Float) -> (Float, Float, Vec<Float>) {
    (Float::concat(&[x, first]) * 2.0, x.reverse() + 1.0, vec![x.sum() + first.sum(), Float::concat(&[x, x])])
}

// No step of a recording computes an array without elements.
#[test]
fn recordings_with_empty_results_are_loaded() {
    on_each_device(|| {
        let file = File::new("empty");
        let calls = || {
            let each = [(0, 3), (0, 0), (4, 0), (2, 5), (0, 7)].map(|(n, m)| {
                let (all, turned, more) = parts_of(&floats(n, 1), &floats(m, 2));
                [all, turned].iter().chain(&more).map(values).collect::<Vec<_>>()
            });
            each.to_vec()
        };
        parts_of::clear();
        let wanted = calls();
        assert_eq!(wanted[0][0].len(), 3);
        parts_of::save(&file)?;
        parts_of::clear();
        parts_of::load(&file)?;
        assert_eq!(calls(), wanted);
        assert_eq!(parts_of::stats().recordings, 0, "{}", parts_of::explain());
        Ok(())
    });
}

#[derive(TracedEnum)]
enum Ball {
    Flying { height: Float, speed: Float },
    Resting(UInt),
}

#[freeze]
fn fall(ball: &Traced<Ball>, time: &Float) -> (Traced<Ball>, Float) {
    fall_for(ball, time)
}

#[jit]
fn fall_for(ball: &Traced<Ball>, time: &Float) -> (Traced<Ball>, Float) {
    #[traced]
    match ball {
        Ball::Flying { height, speed } => {
            (Ball::Flying { height: height - speed * time, speed: speed.clone() }.into(), height.clone())
        }
        Ball::Resting(since) => (Ball::Resting(since + 1).into(), Float::from(0.0)),
    }
}

/// Enums whose variant differs by lane could be saved, but functions that return them did not compile with `load`.
#[test]
fn results_whose_variant_differs_by_lane_are_loaded() {
    on_each_device(|| {
        let file = File::new("variants");
        let flying = |height: f32| Ball::Flying { height: Float::opaque(height), speed: Float::opaque(2.0) };
        let balls: Traced<Ball> = [flying(5.0), Ball::Resting(UInt::opaque(7)), flying(8.0)].into_iter().collect();
        let call = || {
            let (next, heights) = fall(&balls, &Float::opaque(0.5));
            let (_, next_heights) = fall_for(&next, &Float::from(0.0));
            (next.variant().to_vec().unwrap(), values(&heights), values(&next_heights))
        };
        fall::clear();
        let wanted = (vec![0, 1, 0], vec![5.0, 0.0, 8.0], vec![4.0, 0.0, 7.0]);
        assert_eq!(call(), wanted);
        fall::save(&file)?;
        fall::clear();
        fall::load(&file)?;
        assert_eq!(call(), wanted);
        assert_eq!(fall::stats().recordings, 0, "{}", fall::explain());
        Ok(())
    });
}

#[freeze]
fn descend(x: &Float64, sgd: &jit::optim::Sgd<Float64>) -> (Float64, jit::optim::Sgd<Float64>) {
    let (mut x, mut sgd) = (x.clone(), sgd.clone());
    let gradient = &x * 2.0;
    sgd.step(&mut x, &gradient);
    (x, sgd)
}

#[test]
fn optimisers_with_groups_are_loaded() {
    on_each_device(|| {
        let file = File::new("groups");
        let x = Float64::from(8.0).make_opaque();
        let sgd = jit::optim::Sgd::new(&x, 0.5).with_group("", |all| all.rate = all.rate.scaled(0.5));
        descend::clear();
        let (y, _) = descend(&x, &sgd);
        assert_eq!(y.item()?, 4.0);
        descend::save(&file)?;
        descend::clear();
        descend::load(&file)?;
        let (y, mut sgd) = descend(&x, &sgd);
        assert_eq!((y.item()?, descend::stats().recordings), (4.0, 0), "{}", descend::explain());
        sgd.settings.rate = 0.25.into();
        assert_eq!(descend(&y, &sgd).0.item()?, 3.0);
        Ok(())
    });
}
