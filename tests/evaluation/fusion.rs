//! A recording has the kernels that its body has without it: as many, of the same widths, without more operations.

use jit::prelude::*;

use super::{on_each_device, resident};

/// The widths of the kernels that a part of the program launches, and the operations of all of them.
fn kernels(body: impl FnOnce()) -> (Vec<usize>, usize) {
    let records = super::kernels(body);
    let mut widths: Vec<usize> = records.iter().map(|record| record.width).collect();
    widths.sort_unstable();
    (widths, records.iter().map(|record| record.ops).sum())
}

/// Arrays whose elements are compared.
trait Elements {
    fn elements(&self) -> Vec<Vec<f32>>;
}

impl Elements for Float {
    fn elements(&self) -> Vec<Vec<f32>> {
        vec![self.to_vec().unwrap()]
    }
}

impl Elements for (Float, Float) {
    fn elements(&self) -> Vec<Vec<f32>> {
        [&self.0, &self.1].map(|x| x.to_vec().unwrap()).to_vec()
    }
}

impl Elements for (Float, Float, Float) {
    fn elements(&self) -> Vec<Vec<f32>> {
        [&self.0, &self.1, &self.2].map(|x| x.to_vec().unwrap()).to_vec()
    }
}

/// Compares a program with its recording: what both compute, and the kernels of a replay.
#[track_caller]
fn compare<A, R: Traverse + Elements>(
    arguments: impl Fn(u32) -> A,
    direct: impl Fn(&mut A) -> R,
    frozen: impl Fn(&mut A) -> R,
    recordings: impl Fn() -> u64,
) {
    if !crate::replays_alone() {
        return;
    }
    let before = recordings();
    for call in 0..3 {
        let (mut given, mut same) = (arguments(call), arguments(call));
        let (mut wanted, mut found) = (None, None);
        let unfrozen = kernels(|| {
            let result = direct(&mut given);
            jit::eval(&result).unwrap();
            wanted = Some(result);
        });
        let replayed = kernels(|| {
            let result = frozen(&mut same);
            jit::eval(&result).unwrap();
            found = Some(result);
        });
        assert_eq!(found.unwrap().elements(), wanted.unwrap().elements(), "call {call}");
        assert_eq!(replayed.0, unfrozen.0, "the widths of the kernels of call {call}");
        assert!(replayed.1 <= unfrozen.1, "{} operations instead of {} in call {call}", replayed.1, unfrozen.1);
    }
    assert_eq!(recordings() - before, 1);
}

fn ramp(width: usize, factor: f32) -> Float {
    (Float::arange(width) * factor).make_opaque()
}

/// A function and its frozen form, compared on arguments of three widths.
macro_rules! program {
    ($name:ident, $($argument:ident: $make:expr),* => $result:ty, $body:block) => {
        #[test]
        fn $name() {
            #[jit]
            fn direct($($argument: &Float),*) -> $result $body

            #[freeze]
            fn frozen($($argument: &Float),*) -> $result $body

            on_each_device(|| {
                frozen::clear();
                let make = |call: u32| {
                    let width = [64, 100, 3000][call as usize];
                    ($({ let argument: Float = $make(width); jit::eval(&argument).unwrap(); argument },)*)
                };
                compare(
                    make,
                    |($($argument,)*)| direct($($argument),*),
                    |($($argument,)*)| frozen($($argument),*),
                    || frozen::stats().recordings,
                );
            });
        }
    };
}

program!(independent_results, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25) => (Float, Float), {
    (x * 2.0, y.sqrt() + 1.0)
});

program!(results_that_share_work, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25) => (Float, Float, Float), {
    let shared = (x * y).sin() + x.cos();
    (&shared * x, &shared + y, x - 1.0)
});

program!(made_by_the_widths_of_two, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25) => (Float, Float, Float), {
    (Float::arange(x.width()) * 2.0, Float::arange(y.width()) + 1.0, x + 1.0)
});

program!(widths_that_meet_late, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25), z: |n| ramp(n, 4.0)
    => (Float, Float, Float), {
    let (a, b, c) = (x * 2.0, y * 3.0, z * 4.0);
    let sum = x + y;
    (a * sum, b, c)
});

program!(sums_of_two, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25) => (Float, Float, Float), {
    (x.sum(), y.reduce_max(), x * y)
});

program!(gathers_by_neighbours, x: |n| ramp(n, 0.5), v: |n| ramp(n, 0.25) => (Float, Float), {
    let i = UInt::arange(x.width());
    let left = x.gather(&(&i.max(1) - 1));
    let right = v.gather(&(i + 1));
    let force = left - right;
    (x + &force * 0.1, v - force * 0.2)
});

program!(halves_of_two, x: |n| ramp(n, 0.5), y: |n| ramp(n, 0.25) => (Float, Float), {
    let i = UInt::arange(x.width() / 2);
    let j = UInt::arange(y.width() / 2);
    (x.gather(&(i * 2)), y.gather(&(j * 2 + 1)))
});

program!(scatters_of_two, x: |n| ramp(n, 1.0), y: |n| ramp(n, 2.0) => Float, {
    let mut bins = Float::zeros(16);
    bins.scatter_add(x, &(x.cast::<u32>() % 16));
    bins.scatter_add(y, &(y.cast::<u32>() % 16));
    bins
});

program!(loops_of_two, x: |n| ramp(n, 0.001), y: |n| ramp(n, 0.002) => (Float, Float), {
    let (mut a, mut b) = (x.clone(), y.clone());
    while a < 3.0 {
        a = &a * 1.5 + 0.1;
    }
    while b < 2.0 {
        b = &b * 1.25 + 0.1;
    }
    (a, b)
});

program!(a_width_that_a_comparison_finds, x: |n| ramp(n, 0.5), y: |n| ramp(2 * n, 0.25) => (Float, Float), {
    let mut half = Float::zeros(1);
    if y.width() == x.width() * 2 {
        half = y.gather(&(UInt::arange(y.width() / 2) * 2));
    }
    (half * 3.0, x + 2.0)
});

#[derive(Clone, Traverse)]
struct Particles {
    x: Float,
    v: Float,
    age: UInt,
    total: Float,
}

impl Particles {
    fn new(width: usize) -> Particles {
        Particles { x: ramp(width, 0.5), v: Float::zeros(width), age: UInt::zeros(width), total: Float::from(0.0) }
    }
}

fn advanced(particles: &mut Particles, dt: &Float) -> Float {
    let Particles { x, v, age, total } = particles;
    *v = &*v - &*x * dt;
    *x = &*x + &*v * dt;
    *age = &*age + 1;
    *total = &*total + dt;
    x.sum()
}

#[freeze]
fn advance(particles: &mut Particles, dt: &Float) -> Float {
    advanced(particles, dt)
}

#[test]
fn state_that_begins_as_constants_is_recorded_once() {
    if !crate::replays_alone() {
        return;
    }
    on_each_device(|| {
        advance::clear();
        let dt = resident(&[0.125]);
        let (mut frozen, mut direct) = (Particles::new(100), Particles::new(100));
        jit::eval(&(&frozen, &direct)).unwrap();
        for step in 0..4 {
            let unfrozen = kernels(|| {
                let sum = advanced(&mut direct, &dt);
                jit::eval(&(&direct, &sum)).unwrap();
            });
            let replayed = kernels(|| drop(advance(&mut frozen, &dt)));
            let elements =
                |particles: &Particles| (particles.x.clone(), particles.v.clone(), particles.total.clone()).elements();
            assert_eq!(elements(&frozen), elements(&direct));
            assert_eq!(frozen.age.to_vec().unwrap(), direct.age.to_vec().unwrap());
            if step > 0 {
                assert_eq!(replayed.0.len(), unfrozen.0.len(), "{replayed:?} {unfrozen:?}");
            }
        }
        assert_eq!(advance::stats().recordings, 1, "{}", advance::explain());
    });
}

#[freeze]
fn pair(x: &Float, y: &Float, z: &Float) -> (Float, Float, Float) {
    (x * 2.0, y * 3.0, z * 4.0)
}

#[test]
fn each_equality_of_widths_is_assumed_once() {
    if !crate::replays_alone() {
        return;
    }
    on_each_device(|| {
        pair::clear();
        let call = |widths: [usize; 3], recordings: u64| {
            let [x, y, z] = widths.map(|width| ramp(width, 1.0));
            jit::eval(&(&x, &y, &z)).unwrap();
            let (a, b, c) = pair(&x, &y, &z);
            for (found, (width, factor)) in [a, b, c].iter().zip(widths.into_iter().zip([2.0, 3.0, 4.0])) {
                let wanted: Vec<f32> = (0..width).map(|i| i as f32 * factor).collect();
                assert_eq!(found.to_vec().unwrap(), wanted);
            }
            assert_eq!(pair::stats().recordings, recordings, "{widths:?}: {}", pair::explain());
        };
        call([8, 8, 8], 1);
        call([9, 9, 9], 1);
        // The first two are still assumed to be equal, the third one is not.
        call([8, 8, 5], 2);
        call([7, 7, 4], 2);
        // Nothing is assumed any more, so any widths are replayed.
        call([3, 8, 8], 3);
        call([4, 5, 6], 3);
        call([6, 5, 6], 3);
        call([9, 9, 9], 3);
    });
}

#[test]
fn neighbours_of_library_results_are_read_where_they_are_used_and_small_tables_made_once() {
    on_each_device(|| {
        let x = resident(&(0..6000).map(|i| (i % 7) as f32).collect::<Vec<_>>());
        let mut result = None;
        let (widths, _) = kernels(|| {
            let sums = Float::concat(&[&Float::zeros(1), &x.prefix_sum()]);
            let means = (sums.slice(50..) - sums.slice(..5951)) / 50.0;
            jit::eval(&means).unwrap();
            result = Some(means);
        });
        assert_eq!(widths, [5951, 6000], "no kernel for the list of sums");
        let wanted = |i: usize| (i..i + 50).map(|k| (k % 7) as f32).sum::<f32>() / 50.0;
        assert_eq!(result.unwrap().to_vec().unwrap(), (0..5951).map(wanted).collect::<Vec<_>>());

        let grey = UInt::from((0..6000).map(|i| i * i % 251).collect::<Vec<u32>>());
        let (widths, _) = kernels(|| {
            let level = grey.bincount(256).prefix_sum().cast::<f32>().sqrt() * 3.0;
            jit::eval(&level.gather(&grey)).unwrap();
        });
        assert_eq!(widths.iter().filter(|&&width| width == 6000).count(), 2, "counts, and the look-up: {widths:?}");
        assert!(widths.contains(&256), "{widths:?}");
    });
}

/// The sum of arrays of 300 × 40 numbers, all different.
fn combined(arrays: usize) -> Tensor<f32> {
    let array = |k: usize| resident(&(0..12_000).map(|i| ((i * (k + 3)) % 101) as f32).collect::<Vec<_>>());
    let arrays: Vec<_> = (0..arrays).map(|k| Tensor::from_array(array(k), [300, 40])).collect();
    arrays[1..].iter().fold(arrays[0].clone(), |sum, x| sum + x)
}

#[test]
fn sums_along_axes_share_an_expression_of_many_arrays_and_compute_one_of_few() {
    on_each_device(|| {
        for (arrays, writes) in [(2, 0), (8, 0), (9, 1), (40, 1)] {
            let x = combined(arrays);
            let (rows, columns) = (x.sum(1), x.sum(0));
            let (widths, _) = kernels(|| jit::eval(&(&rows, &columns)).unwrap());
            let full = widths.iter().filter(|&&width| width == 12_000).count();
            assert_eq!(full, writes, "{arrays} arrays: {widths:?}");
            jit::eval(&x).unwrap();
            assert_eq!(rows.to_vec().unwrap(), x.sum(1).to_vec().unwrap(), "{arrays} arrays");
            assert_eq!(columns.to_vec().unwrap(), x.sum(0).to_vec().unwrap(), "{arrays} arrays");
        }
    });
}

/// Elements of pixels, written one after another.
#[jit]
fn interleaved(red: &Float, green: &Float, blue: &Float) -> Float {
    let mut pixels = Float::zeros(red.width() * 3);
    let i = UInt::arange(red.width());
    pixels[3 * i] = red;
    pixels[3 * i + 1] = green;
    pixels[3 * i + 2] = blue;
    pixels
}

#[freeze]
fn frozen_interleaved(red: &Float, green: &Float, blue: &Float) -> Float {
    interleaved(red, green, blue)
}

#[test]
fn scatters_to_elements_of_pixels_are_one_kernel() {
    let arguments = |call: u32| {
        let ramp = |first: f32| resident(&(0..500 + call).map(|i| i as f32 + first).collect::<Vec<f32>>());
        [ramp(0.0), ramp(0.25), ramp(0.5)]
    };
    on_each_device(|| {
        let [red, green, blue] = arguments(0);
        // The zeros are another one.
        assert_eq!(kernels(|| drop(jit::eval(&interleaved(&red, &green, &blue)))).0, [500, 1500]);
        let pixels = interleaved(&red, &green, &blue).to_vec().unwrap();
        let wanted: Vec<f32> = (0..1500).map(|i| (i / 3) as f32 + (i % 3) as f32 * 0.25).collect();
        assert_eq!(pixels, wanted);
        compare(
            arguments,
            |[red, green, blue]| interleaved(red, green, blue),
            |[red, green, blue]| frozen_interleaved(red, green, blue),
            || frozen_interleaved::stats().recordings,
        );
    });
}

/// Makes an array orthogonal to others, one after another.
fn orthogonal(x: &Float, others: &[Float]) -> Float {
    others.iter().fold(x.clone(), |x, other| &x - x.dot(other) * other)
}

#[test]
fn a_value_that_is_computed_from_several_arrays_is_written_for_later_kernels() {
    let sparse = |k: usize| resident(&(0..5000).map(|i| if i % 32 == k { 0.5 } else { 0.0 }).collect::<Vec<f32>>());
    on_each_device(|| {
        let others: Vec<Float> = (0..16).map(sparse).collect();
        let x = resident(&vec![1.0; 5000]);
        let mut result = Vec::new();
        let records = super::kernels(|| result = orthogonal(&x, &others).to_vec().unwrap());
        // Otherwise the last kernels would compute and read all steps before.
        let most = records.iter().map(|record| record.ops).max().unwrap_or(0);
        assert!(most <= 24, "{most} operations in a kernel");
        let wanted = |i: usize| if i % 32 < 16 { 1.0 - 0.25 * (5000 - i % 32).div_ceil(32) as f32 } else { 1.0 };
        assert_eq!(result, (0..5000).map(wanted).collect::<Vec<f32>>());
    });
}
