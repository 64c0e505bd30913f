//! `#[evaluated]` loops: one recording works for any number of iterations that a call needs.

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

/// Numbers of iterations, ordered such that each comes after fewer and after more.
const TRIPS: [u32; 11] = [3, 0, 50, 1, 7, 2, 0, 1, 50, 2, 7];

/// Lanes that need up to this many iterations.
fn rounds(most: u32, width: usize) -> UInt {
    UInt::from(
        (0..width as u32).map(|lane| if lane == 0 { most } else { most.saturating_sub(lane) }).collect::<Vec<_>>(),
    )
}

#[freeze]
fn doubled(x: &Float, rounds: &UInt) -> (Float, UInt) {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        x = x * 1.5 + 1.0;
        rest -= 1;
    }
    (x, rest)
}

// rows: X02
#[test]
fn any_number_of_iterations_is_replayed() {
    for (width, recordings) in [(1, 1), (2, 1), (5, 1), (1000, 1)] {
        alike(frozen!(doubled), recordings, || {
            TRIPS.map(|trips| {
                let (x, rest) = doubled(&floats(width, trips as usize), &rounds(trips, width));
                (values(&x), values(&rest))
            })
        });
    }
}

#[freeze]
fn counted(x: &Float, rounds: &UInt) -> (Float, UInt) {
    let (mut x, mut count) = (x.clone(), UInt::from(0));
    #[evaluated]
    while count < rounds {
        x += count.cast::<f32>();
        count += 1;
    }
    (x, count)
}

#[test]
fn state_that_gets_wider_in_the_first_iteration_does_so_in_any_case() {
    alike(frozen!(counted), 3, || {
        [3, 1, 0].map(|width| {
            TRIPS.map(|trips| {
                let (x, count) = counted(&floats(width, trips as usize), &rounds(trips, width));
                (values(&x), values(&count))
            })
        })
    });
}

#[freeze]
fn spread(histogram: &mut Float, x: &Float, rounds: &UInt) -> Float {
    let (mut rest, mut sums) = (rounds.clone(), Float::zeros(4));
    #[evaluated]
    while rest > 0 {
        histogram.scatter_add(x, &(&rest % 5));
        sums.scatter_add(x * 2.0, &(&rest % 4));
        rest -= 1;
    }
    sums * 3.0
}

#[test]
fn iterations_scatter_to_arrays_of_the_caller_or_of_the_function() {
    alike(frozen!(spread), 1, || {
        let mut histogram = floats(5, 7);
        let kept = histogram.clone();
        let sums = TRIPS.map(|trips| {
            let x = (UInt::arange(6) % 3).cast::<f32>();
            let sums = values(&spread(&mut histogram, &x, &rounds(trips, 6)));
            (sums, values(&histogram))
        });
        (sums, values(&kept))
    });
}

#[freeze]
fn left(x: &Float, rounds: &UInt) -> (Float, UInt) {
    let (mut x, mut steps) = (x.clone(), UInt::from(0));
    #[evaluated]
    loop {
        if steps >= rounds {
            break;
        }
        steps += 1;
        if &steps % 3 == 1 {
            continue;
        }
        x = x * 0.5 + 1.0;
        if x > 1.9375 {
            break;
        }
    }
    (x, steps)
}

#[test]
fn lanes_exit_by_break_and_continue() {
    alike(frozen!(left), 2, || {
        [4, 1].map(|width| {
            TRIPS.map(|trips| {
                let (x, steps) = left(&(floats(width, trips as usize) - 2.0).make_opaque(), &rounds(trips, width));
                (values(&x), values(&steps))
            })
        })
    });
}

#[freeze]
fn found(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        x *= 1.25;
        if x > 3.0 {
            return x * 100.0;
        }
        rest -= 1;
    }
    x + 0.5
}

#[test]
fn lanes_return_from_a_loop() {
    alike(frozen!(found), 1, || TRIPS.map(|trips| values(&found(&floats(9, trips as usize), &rounds(trips, 9)))));
}

#[freeze]
fn nested(x: &Float, outer: &UInt, inner: &UInt) -> (Float, UInt) {
    let (mut x, mut outer, mut sum) = (x.clone(), outer.clone(), UInt::from(0));
    #[evaluated]
    while outer > 0 {
        let mut rest = inner % (&outer + 1);
        #[evaluated]
        while rest > 0 {
            x = x * 0.75 + 1.0;
            sum += &rest;
            rest -= 1;
        }
        x -= 0.25;
        outer -= 1;
    }
    (x, sum)
}

#[test]
fn loops_in_loops_run_as_often_as_they_need() {
    alike(frozen!(nested), 1, || {
        [(3, 5), (0, 4), (1, 1), (7, 9), (2, 0), (5, 3), (0, 0)].map(|(outer, inner)| {
            let (x, sum) = nested(&floats(6, outer as usize), &rounds(outer, 6), &rounds(inner, 6));
            (values(&x), values(&sum))
        })
    });
}

#[freeze]
fn remembered(x: &Float, rounds: &UInt) -> Float {
    let mut memory = Local::<f32>::new(4);
    let (mut rest, mut sum) = (rounds.clone(), Float::from(0.0));
    #[evaluated]
    while rest > 0 {
        memory[&rest % 4] += x;
        sum += memory[(&rest + 1) % 4];
        rest -= 1;
    }
    sum + memory[UInt::from(2)]
}

#[test]
fn memory_of_the_lane_is_carried() {
    alike(frozen!(remembered), 1, || {
        TRIPS.map(|trips| values(&remembered(&floats(5, trips as usize), &rounds(trips, 5))))
    });
}

#[freeze]
fn only_remembered(x: &Float, rounds: &UInt) -> Float {
    let (mut memory, mut rest) = (Local::<f32>::new(3), rounds.clone());
    #[evaluated]
    while rest > 0 {
        memory[&rest % 3] += x;
        rest -= 1;
    }
    memory[UInt::from(1)] + memory[UInt::from(2)] * 2.0
}

#[test]
fn memory_that_no_lane_has_written_is_as_wide_as_if_any_had() {
    alike(frozen!(only_remembered), 1, || {
        TRIPS.map(|trips| values(&only_remembered(&floats(5, trips as usize), &UInt::from([trips]))))
    });
    jit::with_device(Device::Interpreter, || {
        assert_eq!(values(&only_remembered(&floats(5, 1), &UInt::from(0))), [0.0; 5]);
    });
}

#[freeze]
fn three(x: &Float, rounds: &UInt) -> (Float, Float, Float, UInt) {
    let (mut a, mut b, c) = (x.clone(), x.clone(), x * 2.0);
    let mut rest = rounds.clone();
    #[evaluated]
    while rest > 0 {
        let sum = &a + &b * &c;
        a = b;
        b = sum * 0.25;
        rest -= 1;
    }
    (a, b, c, rest)
}

#[test]
fn states_begin_as_one_array_and_change_places() {
    alike(frozen!(three), 1, || {
        TRIPS.map(|trips| {
            let (a, b, c, rest) = three(&floats(5, trips as usize), &rounds(trips, 5));
            (values(&a), values(&b), values(&c), values(&rest))
        })
    });
}

#[freeze]
fn host_counted(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest, mut count) = (x.clone(), rounds.clone(), 0);
    #[evaluated]
    while rest > 0 {
        count += 1;
        if count == 4 {
            x = x * 100.0;
        }
        rest -= 1;
    }
    x + count as f32
}

#[test]
fn host_counters_are_recorded_for_each_number_of_iterations() {
    // The body always runs once, on no lane if necessary.
    alike(frozen!(host_counted), 6, || {
        TRIPS.map(|trips| values(&host_counted(&floats(5, trips as usize), &rounds(trips, 5))))
    });
    crate::frozen_only!();
    let text: String = host_counted::explain().iter().map(|retrace| format!("{retrace}\n")).collect();
    assert!(text.contains("evaluated.rs") && text.contains("ran a different number of iterations"), "{text}");
}

#[freeze]
fn begun(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest, mut is_first) = (x.clone(), rounds.clone(), true);
    #[evaluated]
    while rest > 0 {
        if is_first {
            x = x + 10.0;
        }
        is_first = false;
        x = x * 0.5;
        rest -= 1;
    }
    if is_first { x } else { x + 0.25 }
}

#[test]
fn host_code_of_the_first_iteration_is_replayed_in_it_alone() {
    alike(frozen!(begun), 1, || TRIPS.map(|trips| values(&begun(&floats(5, trips as usize), &rounds(trips, 5)))));
}

#[freeze]
fn alternating(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest, mut is_odd) = (x.clone(), rounds.clone(), false);
    #[evaluated]
    while rest > 0 {
        x = if is_odd { x * 0.5 } else { x + 3.0 };
        is_odd = !is_odd;
        rest -= 1;
    }
    x
}

#[test]
fn host_code_in_iterations_is_recorded_for_each_number_of_iterations() {
    alike(frozen!(alternating), 6, || {
        TRIPS.map(|trips| values(&alternating(&floats(5, trips as usize), &rounds(trips, 5))))
    });
}

#[freeze]
fn scaled(x: &Float, scale: &Float, rounds: &UInt) -> Float {
    let (mut x, mut scale, mut rest) = (x.clone(), scale.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        x *= &scale;
        scale += 0.25;
        rest -= 1;
    }
    x
}

#[test]
fn constants_that_state_begins_with_change_from_call_to_call() {
    alike(frozen!(scaled), 2, || {
        TRIPS.map(|trips| values(&scaled(&floats(5, 2), &Float::from(trips as f32 * 0.125), &rounds(trips, 5))))
    });
}

#[freeze]
fn bounded(sums: &mut Float, x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    sums.scatter_add(1.0, &UInt::from(0));
    #[evaluated]
    #[max_iterations(5)]
    while rest > 0 {
        sums.scatter_add(&x, &(&rest % 3));
        x *= 2.0;
        rest -= 1;
    }
    x
}

#[test]
fn a_promise_of_few_iterations_is_checked_in_replays() {
    crate::frozen_only!();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            bounded::clear();
            for (call, trips) in [2, 5, 0, 6, 5, 9, 1].into_iter().enumerate() {
                let (x, mut sums) = (floats(4, call), floats(3, 9));
                let run = |sums: &mut Float| values(&bounded(sums, &x, &rounds(trips, 4)));
                if trips > 5 {
                    let message = crate::message_of(|| run(&mut sums));
                    assert!(
                        message.contains("more than the 5 iterations that `#[max_iterations]` allows"),
                        "{message}"
                    );
                    assert!(message.contains("evaluated.rs"), "{message}");
                    assert_eq!(values(&sums), values(&floats(3, 9)), "arguments are as they were");
                } else {
                    let given = (run(&mut sums), values(&sums));
                    bounded::set_enabled(false);
                    let mut sums = floats(3, 9);
                    let wanted = (run(&mut sums), values(&sums));
                    bounded::set_enabled(true);
                    assert_eq!(given, wanted);
                }
            }
            assert_eq!((bounded::stats().recordings, bounded::stats().replays), (1, 4));
        });
    }
}

#[freeze]
fn sieved(x: &UInt, rounds: &UInt) -> (UInt, UInt) {
    let (mut sum, mut rest) = (UInt::from(0), rounds.clone());
    #[evaluated]
    while rest > 0 {
        sum += x.filter(&x.lt(rest.clone() * 3)).sum();
        rest -= 1;
    }
    (sum, rest)
}

#[test]
fn sizes_that_are_found_in_iterations_are_recorded_for_each_number_of_them() {
    alike(frozen!(sieved), 6, || {
        TRIPS.map(|trips| {
            let x = UInt::arange(200).make_opaque();
            let (sum, rest) = sieved(&x, &UInt::opaque(trips));
            (values(&sum), values(&rest))
        })
    });
}

#[freeze]
fn chosen(x: &Float, rounds: &UInt, weights: &[Float; 2]) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    let table = Float::from([0.5, 0.25, 2.0]);
    #[evaluated]
    while rest > 0 {
        let steps = Float::from([1.0, -1.0]);
        #[evaluated]
        if x > 1.0 {
            x = x * &weights[0] + steps.gather(&(&rest % 2));
        } else {
            x += &weights[1] * table.gather(&(&rest % 3));
        }
        rest -= 1;
    }
    x
}

#[test]
fn branches_and_constants_work_in_loops() {
    alike(frozen!(chosen), 1, || {
        let weights = [floats(6, 1), floats(6, 2)];
        TRIPS.map(|trips| values(&chosen(&floats(6, trips as usize), &rounds(trips, 6), &weights)))
    });
}

#[freeze]
fn inner(x: &mut Float, rounds: &UInt) {
    let mut rest = rounds.clone();
    #[evaluated]
    while rest > 0 {
        *x = &*x * 0.5 + 1.0;
        rest -= 1;
    }
}

#[freeze]
fn outer(x: &mut Float, rounds: &UInt) -> Float {
    let (mut rest, mut sum) = (rounds.clone(), Float::zeros(x.width()));
    #[evaluated]
    while rest > 0 {
        inner(x, &rest);
        sum += &*x;
        rest -= 1;
    }
    sum
}

#[test]
fn loops_of_frozen_functions_that_are_called_are_part_of_the_recording() {
    alike(frozen!(outer), 1, || {
        let mut x = floats(6, 3);
        TRIPS.map(|trips| {
            let sum = values(&outer(&mut x, &rounds(trips % 9, 6)));
            (sum, values(&x))
        })
    });
}

#[freeze]
fn written(rounds: &UInt) -> Float {
    let mut table = Float::from([1.0, 2.0, 3.0]);
    table.scatter_add(1.0, rounds);
    table
}

#[test]
fn arrays_that_the_host_fills_are_full_of_the_same_in_each_replay() {
    alike(frozen!(written), 1, || [0, 1, 2, 0].map(|lane| values(&written(&UInt::from([lane, 1])))));
}

#[freeze]
fn nested_in_threads(x: &Float, outer: &UInt, inner: &UInt) -> Float {
    let (mut x, mut outer) = (x.clone(), outer.clone());
    #[evaluated]
    while outer > 0 {
        let mut rest = inner % (&outer + 1);
        #[evaluated]
        while rest > 0 {
            x = x * 0.75 + 1.0;
            rest -= 1;
        }
        x -= 0.25;
        outer -= 1;
    }
    x
}

#[test]
fn threads_repeat_loops_at_the_same_time() {
    let run = |thread: u32| {
        let calls = (0..40).map(|call| (call * 7 + thread * 3) % 12);
        calls
            .map(|trips| values(&nested_in_threads(&floats(6, 1), &rounds(trips, 6), &rounds(trips / 2, 6))))
            .collect::<Vec<_>>()
    };
    let wanted: Vec<_> = (0..3).map(run).collect();
    let given: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(given, wanted);
}

#[freeze]
fn iterated(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        x = &x * 0.5 + x.reverse() * 0.5;
        rest -= 1;
    }
    x
}

#[test]
fn memory_does_not_grow_with_the_number_of_iterations() {
    crate::replays_alone!();
    crate::frozen_only!();
    if crate::alone("evaluated::memory_does_not_grow_with_the_number_of_iterations", "").is_some() {
        return;
    }
    const WIDTH: usize = 1 << 19;
    let x = floats(WIDTH, 1);
    let run = |trips: u32| {
        let peak = || jit::memory().peak_bytes;
        let sum = iterated(&x, &UInt::opaque(trips)).sum().item().unwrap();
        assert!(sum.is_finite());
        peak()
    };
    let few = [run(3), run(2), run(5)][2];
    let many = run(60);
    assert_eq!((iterated::stats().recordings, iterated::stats().replays), (1, 3));
    assert!(many <= few + 4 * WIDTH, "{} KiB, and {} KiB with many iterations", few >> 10, many >> 10);
}

#[freeze]
fn long(x: &Float, rounds: &UInt) -> (Float, UInt) {
    let (mut x, mut rest, mut sum) = (x.clone(), rounds.clone(), UInt::from(0));
    #[evaluated]
    while rest > 0 {
        let mut inner = &rest % 2;
        #[evaluated]
        while inner > 0 {
            x = x * 0.75 + 1.0;
            inner -= 1;
        }
        sum += &rest;
        rest -= 1;
    }
    (x, sum)
}

#[test]
fn a_loop_that_is_long_when_it_is_recorded_serves_short_ones() {
    alike(frozen!(long), 1, || {
        [700, 3, 0, 150, 1].map(|trips| {
            let (x, sum) = long(&floats(4, trips as usize), &rounds(trips, 4));
            (values(&x), values(&sum))
        })
    });
}

#[freeze]
fn asked(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        let y = x.clone();
        x += &jit::freeze::host(move || Float::from(y.to_vec().unwrap()) * 0.5);
        rest -= 1;
    }
    x
}

#[test]
fn loops_that_call_the_host_are_recorded_for_each_number_of_iterations() {
    alike(frozen!(asked), 6, || TRIPS.map(|trips| values(&asked(&floats(5, trips as usize), &rounds(trips, 5)))));
}

/// Each iteration changes a copy of an argument.
#[freeze]
fn sum_of_changed_copies(x: Float, rounds: &UInt) -> Float {
    let (mut rest, mut sum) = (rounds.clone(), rounds.cast::<f32>() * 0.0);
    #[evaluated]
    while rest > 0 {
        let mut copy = x.clone();
        copy.scatter_add(1.0, &(&rest % 5));
        sum += copy.gather(&(&rest % 5));
        rest -= 1;
    }
    sum
}

#[test]
fn an_argument_that_is_moved_in_is_the_same_in_each_iteration() {
    for width in [5, 9] {
        alike(frozen!(sum_of_changed_copies), 1, || {
            TRIPS.map(|trips| values(&sum_of_changed_copies(floats(8, trips as usize), &rounds(trips, width))))
        });
    }
}

/// Counts first; then each iteration reads what was made before the loop.
#[freeze]
fn counted_before(x: &Float, rounds: &UInt) -> Float {
    let positions = x.gt(0.0).compress();
    let weights = x.gather(&positions) * 2.0;
    jit::eval(&weights).unwrap();
    let (mut rest, mut sum) = (rounds.clone(), rounds.cast::<f32>() * 0.0);
    #[evaluated]
    while rest > 0 {
        sum = sum * 0.5 + weights.gather(&(&rest % 3));
        rest -= 1;
    }
    sum
}

#[test]
fn what_was_made_before_a_loop_is_there_in_each_iteration_whatever_was_counted() {
    alike(frozen!(counted_before), 1, || {
        TRIPS.map(|trips| values(&counted_before(&floats(60 + trips as usize, trips as usize), &rounds(trips, 4))))
    });
}
