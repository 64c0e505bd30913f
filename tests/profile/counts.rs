//! Counts, lines, labels and bytes of profiles.

use jit::prelude::*;
use jit::profile::KernelProfile;

use super::{on_each_device, one_at_a_time, profile_of, replays_alone, resident};

#[jit]
fn parabola(x: &Float) -> Float {
    x * x + 0.5
}

/// The entries with a label.
fn of_label<'p>(profile: &'p jit::Profile, label: &str) -> Vec<&'p KernelProfile> {
    profile.kernels().iter().filter(|kernel| kernel.label == label).collect()
}

#[test]
fn a_kernel_is_listed_with_its_line_and_its_bytes() {
    on_each_device(|| {
        let x = resident(1000);
        let mut line = 0;
        let profile = profile_of(|| {
            for _ in 0..3 {
                line = line!() + 1;
                jit::eval(&parabola(&x)).unwrap();
            }
        });
        let [kernel] = of_label(&profile, "parabola")[..] else { panic!("{profile:?}") };
        let site = kernel.site.unwrap();
        assert_eq!((site.file(), site.line()), (file!(), line));
        assert_eq!((kernel.launches, kernel.width, kernel.replayed), (3, 1000, 0));
        assert_eq!((kernel.bytes_read, kernel.bytes_written), (3 * 4000, 3 * 4000));
        assert!(kernel.ops > 0 && kernel.hash != 0 && !kernel.is_library_call && kernel.threads >= 1);
        assert!(kernel.total_time > std::time::Duration::ZERO && kernel.bytes_per_second() > 0.0);
        let totals = profile.totals();
        assert_eq!((totals.launches, totals.evaluations, totals.traces, totals.reads), (3, 3, 3, 0));
        assert_eq!((totals.bytes_read, totals.bytes_written), (12_000, 12_000));
        assert!(totals.kernel_time <= totals.wall_time && totals.threads >= 1);
        let [function] = profile.functions() else { panic!("{profile:?}") };
        assert_eq!((function.name.as_str(), function.traces, function.recordings), ("parabola", 3, 0));
        assert_eq!(function.site.unwrap().file(), file!());
    });
}

#[test]
fn compilations_belong_to_the_kernel_that_needed_them() {
    on_each_device(|| {
        let x = resident(64);
        let program = || jit::eval(&(parabola(&x) * 3.25).sqrt()).unwrap();
        jit::cache::clear();
        let first = profile_of(program);
        let [kernel] = of_label(&first, "parabola")[..] else { panic!("{first:?}") };
        assert!(kernel.compile_time > std::time::Duration::ZERO);
        assert_eq!((first.totals().compiles, first.totals().launches), (1, 1));
        assert_eq!(profile_of(program).totals().compiles, 0);
    });
}

#[test]
fn what_was_launched_before_or_after_is_not_counted() {
    on_each_device(|| {
        let x = resident(1 << 18);
        jit::eval(&parabola(&x)).unwrap();
        let profile = jit::profile(|| ()).unwrap();
        jit::eval(&parabola(&x)).unwrap();
        assert_eq!((profile.totals().launches, profile.kernels().len()), (0, 0), "{profile:?}");
        assert!(profile.warnings().is_empty());
        assert!(profile.to_string().contains("0 launches"));
    });
}

#[test]
fn wide_launches_are_counted_with_the_threads_that_ran_them() {
    on_each_device(|| {
        let x = resident(1 << 18);
        let profile = profile_of(|| {
            for _ in 0..4 {
                jit::eval(&parabola(&x)).unwrap();
            }
        });
        let [kernel] = of_label(&profile, "parabola")[..] else { panic!("{profile:?}") };
        assert_eq!((kernel.launches, kernel.bytes_written), (4, 4 << 20));
        assert!((1..=jit::threads()).contains(&kernel.threads), "{kernel:?}");
        assert!(kernel.busy_time >= kernel.total_time / 4 && kernel.busy_time <= profile.totals().busy_time);
    });
}

#[test]
fn library_calls_are_listed() {
    on_each_device(|| {
        let x = resident(5000);
        let profile = profile_of(|| jit::eval(&x.prefix_sum()).unwrap());
        let [call] = of_label(&profile, "prefix_reduce")[..] else { panic!("{profile:?}") };
        assert!(call.is_library_call && call.hash == 0 && call.launches >= 1);
        assert!(call.bytes_read >= 20_000 && call.bytes_written >= 20_000, "{call:?}");
        assert_eq!(call.site.unwrap().file(), file!());
    });
}

#[test]
fn gathers_count_what_lanes_access_and_loops_the_whole_array() {
    #[jit]
    fn first_above(x: &Float, limit: &Float) -> UInt {
        let mut position = UInt::zeros(limit.width());
        while x[position] <= limit && position + 1 < x.width() {
            position += 1;
        }
        position
    }
    on_each_device(|| {
        let (x, index) = (resident(1000), UInt::from([3, 5, 9, 12]));
        jit::eval(&index).unwrap();
        let two = profile_of(|| jit::eval(&(x.gather(&index) + x.gather(&(&index + 1)))).unwrap());
        assert_eq!(two.totals().bytes_read, 16 + 2 * 16, "each of four lanes reads an index and two elements");
        let limit = Float::from([0.25, 0.5]);
        jit::eval(&limit).unwrap();
        let searched = profile_of(|| jit::eval(&first_above(&x, &limit)).unwrap());
        assert_eq!(searched.totals().bytes_read, 4000 + 8);
    });
}

#[test]
fn replays_are_listed_with_their_kernels() {
    #[freeze]
    fn step(x: &mut Float, by: &Float) {
        *x += by * 2.0;
        *x = x.sqrt();
    }
    on_each_device(|| {
        if !replays_alone() {
            return;
        }
        step::clear();
        for width in [500, 1 << 17] {
            let (mut x, by) = (resident(width), resident(width));
            let profile = profile_of(|| {
                for _ in 0..5 {
                    step(&mut x, &by);
                }
            });
            let totals = profile.totals();
            let recordings = u64::from(width == 500);
            assert_eq!((totals.recordings, totals.replays), (recordings, 5 - recordings), "{profile:?}");
            let [kernel] = of_label(&profile, "step")[..] else { panic!("{profile:?}") };
            assert_eq!((kernel.launches, kernel.replayed), (5, 5 - recordings));
            assert_eq!((kernel.bytes_read, kernel.bytes_written), (5 * 8 * width as u64, 5 * 4 * width as u64));
            let function = profile.functions().iter().find(|function| function.name == "step").unwrap();
            assert_eq!((function.recordings, function.replays), (recordings, 5 - recordings));
        }
    });
}

#[test]
fn several_kernels_of_one_replay_are_listed_each() {
    #[freeze]
    fn sums(x: &Float) -> Float {
        let blocks = (x * 2.0).block_sum(10);
        &blocks / blocks.sum()
    }
    on_each_device(|| {
        if !replays_alone() {
            return;
        }
        let x = resident(4000);
        let first = profile_of(|| drop(sums(&x)));
        let again = profile_of(|| (0..7).for_each(|_| drop(sums(&x))));
        assert_eq!((first.totals().recordings, again.totals().recordings), (1, 0));
        assert_eq!(again.totals().launches, 7 * first.totals().launches);
        assert!(again.kernels().iter().all(|kernel| kernel.replayed == kernel.launches), "{again:?}");
    });
}

/// Rows and columns of the values of a layer …
const LAYER: [usize; 2] = [4096, 32];
/// … and their bytes.
const VALUES: u64 = (LAYER[0] * LAYER[1] * 4) as u64;

/// A matrix in memory.
fn matrix(rows: usize, columns: usize) -> Tensor<f32> {
    let values: Vec<f32> = (0..rows * columns).map(|at| (at * 37 % 101) as f32 / 100.0 - 0.5).collect();
    Tensor::from_array(resident(rows * columns) * 0.0 + Float::from(values), [rows, columns])
}

#[test]
fn products_with_derivatives_are_copied_neither_for_reads_nor_for_other_products() {
    on_each_device(|| {
        let (x, mut w) = (matrix(LAYER[0], LAYER[1]), matrix(LAYER[1], LAYER[1]));
        jit::eval(&(&x, &w)).unwrap();
        let wanted = x.matmul(&w).matmul(&w).to_vec().unwrap();
        jit::ad::enable_grad(&mut w);
        let (product, profile) = (x.matmul(&w), profile_of(|| jit::eval(&x.matmul(&w)).unwrap()));
        assert_eq!((profile.totals().launches, profile.totals().bytes_written), (1, VALUES), "{profile:?}");
        let squared = product.matmul(&w);
        let profile = profile_of(|| jit::eval(&squared).unwrap());
        assert_eq!((profile.totals().launches, profile.totals().bytes_written), (2, 2 * VALUES), "{profile:?}");
        assert_eq!(squared.to_vec().unwrap(), wanted);
        // Behind the product that was written first is another value, which nothing may write in place.
        let mut changed = product.array().clone();
        changed.scatter(Float::from(1e6), &UInt::from(0));
        let first = |product: &Tensor<f32>| product.array().get(0).unwrap();
        assert_eq!((changed.get(0).unwrap(), first(&product)), (1e6, first(&x.matmul(&w))));
        // Several values that are the same product.
        let (twice, again) = (x.matmul(&w), x.matmul(&w));
        let values = (&twice, &again, &twice.detach(), &twice);
        let profile = profile_of(|| jit::eval(&values).unwrap());
        assert_eq!(profile.totals().launches, 2, "one for each product: {profile:?}");
        assert!([&twice, &again, &twice.detach()].iter().all(|value| value.matmul(&w).to_vec().unwrap() == wanted));
        let profile = profile_of(|| jit::eval(&product.array().gather(&UInt::from([5, 6]))).unwrap());
        assert_eq!((profile.totals().launches, profile.totals().bytes_written), (1, 8), "{profile:?}");
    });
}

#[test]
fn dense_layers_with_gradients_write_each_value_once() {
    on_each_device(|| {
        let x = matrix(LAYER[0], LAYER[1]);
        let layers = [matrix(LAYER[1], LAYER[1]), matrix(LAYER[1], LAYER[1])];
        let (biases, last) = ([matrix(1, LAYER[1]), matrix(1, LAYER[1])], matrix(LAYER[1], 1));
        let parameters = (layers, biases, last);
        jit::eval(&(&x, &parameters)).unwrap();
        let loss = |(layers, biases, last): &([Tensor<f32>; 2], [Tensor<f32>; 2], Tensor<f32>)| {
            let first = (x.matmul(&layers[0]) + &biases[0]).max(0.0);
            let second = (first.matmul(&layers[1]) + &biases[1]).max(0.0);
            second.matmul(last).sum(..)
        };
        let profile = profile_of(|| jit::eval(&jit::ad::value_and_grad(loss)(&parameters).unwrap()).unwrap());
        // Both products, the first activation, the gradients behind both products, and that of the activation: no
        // biases that are repeated for all rows, no copies of products.
        let written = profile.totals().bytes_written;
        assert!((6 * VALUES..7 * VALUES).contains(&written), "{} values: {profile:?}", written as f64 / VALUES as f64);
    });
}

#[test]
fn profiles_nest_and_each_has_what_happened_in_it() {
    on_each_device(|| {
        let x = resident(100);
        let run = || jit::eval(&parabola(&x)).unwrap();
        let (inner, outer) = jit::profile::with_result(|| {
            run();
            let inner = jit::profile(|| (0..2).for_each(|_| run())).unwrap();
            run();
            inner
        })
        .unwrap();
        assert_eq!((inner.totals().launches, outer.totals().launches), (2, 4));
        assert!(inner.totals().wall_time <= outer.totals().wall_time);
    });
}

#[test]
fn launches_of_other_threads_are_included() {
    on_each_device(|| {
        let (x, device) = (resident(100), jit_runtime::device::current_device());
        let profile = profile_of(|| {
            let run = || jit::with_device(device, || jit::eval(&parabola(&x)).unwrap());
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name("a worker of the program".into());
                thread.spawn_scoped(scope, run).unwrap();
            });
        });
        assert_eq!(profile.totals().launches, 1);
        assert!(profile.trace_json().contains("a worker of the program"));
    });
}

#[test]
fn the_peak_of_memory_is_that_of_the_profile() {
    let _measuring = one_at_a_time();
    // It counts arrays of the host.
    jit::with_device(jit::Device::Cpu, || {
        let large = resident(1 << 20);
        drop(large);
        let (live, before) = (jit::memory().live_bytes, jit::memory().peak_bytes);
        let profile = profile_of(|| {
            let x = resident(1 << 16);
            jit::eval(&parabola(&x)).unwrap();
        });
        let peak = profile.totals().peak_bytes;
        assert!((live + (2 << 18)..live + (3 << 18)).contains(&peak), "{live} bytes before, {peak} at most");
        assert!(jit::memory().peak_bytes >= before, "the program's own peak is retained");
    });
}

#[test]
fn a_panic_ends_the_profile() {
    let _measuring = one_at_a_time();
    let x = resident(100);
    let panic = std::panic::catch_unwind(|| jit::profile(|| panic!("a panic in the function")));
    assert!(panic.is_err());
    assert!(!jit_runtime::stats::events::is_profiled());
    assert_eq!(profile_of(|| jit::eval(&parabola(&x)).unwrap()).totals().launches, 1);
}

#[test]
fn the_history_of_launches_goes_on() {
    let _measuring = one_at_a_time();
    let x = resident(100);
    for is_on in [true, false] {
        jit::set_kernel_history(is_on);
        let _ = jit::kernel_history();
        let profile = profile_of(|| jit::eval(&parabola(&x)).unwrap());
        assert_eq!((jit::kernel_history().len(), profile.totals().launches), (usize::from(is_on), 1));
    }
    jit::set_kernel_history(true);
}
