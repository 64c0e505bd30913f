//! What profiles warn of: programs with a fault, and the same without it.

use jit::prelude::*;
use jit::profile::{Warning, WarningKind};

use super::{on_each_device, profile_of, replays_alone, resident};

fn of_kind(profile: &jit::Profile, kind: WarningKind) -> Vec<&Warning> {
    profile.warnings().iter().filter(|warning| warning.kind == kind).collect()
}

/// Whether there is one warning of a kind, about a line, with a count.
#[track_caller]
fn assert_warns(profile: &jit::Profile, kind: WarningKind, line: u32, count: u64) {
    let [warning] = of_kind(profile, kind)[..] else { panic!("{kind:?} is not in {profile}") };
    let site = warning.site.unwrap();
    assert_eq!((site.file(), site.line(), warning.count), (file!(), line, count), "{warning}");
    assert!(warning.message.contains(&format!("{}:{line}", file!())), "{warning}");
    assert!(!warning.hint.is_empty() && warning.cost <= profile.totals().wall_time * 2);
}

#[track_caller]
fn assert_silent(profile: &jit::Profile) {
    assert!(profile.warnings().is_empty(), "{profile}");
}

#[test]
fn reading_in_each_iteration_of_a_host_loop() {
    on_each_device(|| {
        let x = resident(1000);
        let mut line = 0;
        let in_loop = profile_of(|| {
            let mut total = Float::from(0.0).make_opaque();
            for step in 0..20 {
                total += (&x * step as f32).sum();
                line = line!() + 1;
                assert!(total.item().unwrap() >= 0.0);
            }
        });
        assert_warns(&in_loop, WarningKind::ReadsInLoop, line, 20);
        let after = profile_of(|| {
            let mut total = Float::from(0.0).make_opaque();
            for step in 0..20 {
                total += (&x * step as f32).sum();
                jit::eval(&total).unwrap();
            }
            assert!(total.item().unwrap() >= 0.0);
        });
        assert_silent(&after);
    });
}

#[test]
fn recording_in_each_call() {
    #[freeze]
    fn first(x: &Float, count: usize) -> Float {
        let mut sum = x.clone();
        for _ in 0..count {
            sum += x;
        }
        sum
    }
    on_each_device(|| {
        if !replays_alone() {
            return;
        }
        first::clear();
        let x = resident(100);
        let each = profile_of(|| (0..8).for_each(|count| drop(first(&x, count))));
        let [warning] = of_kind(&each, WarningKind::RecordsOften)[..] else { panic!("{each}") };
        assert_eq!(warning.count, 8);
        assert!(warning.message.contains("`first`") && warning.message.contains("replayed 0 times"), "{warning}");
        assert!(warning.message.contains("`count` was 6 (u64) and is 7 (u64)"), "{warning}");
        let same = profile_of(|| (0..8).for_each(|_| drop(first(&x, 3))));
        assert_silent(&same);
    });
}

#[test]
fn compiling_in_each_iteration() {
    on_each_device(|| {
        let x = resident(100);
        let mut line = 0;
        let unrolled = profile_of(|| {
            for count in 1..8 {
                let powers = (0..count).fold(x.clone(), |power, _| &power * &x + 0.375);
                line = line!() + 1;
                jit::eval(&powers).unwrap();
            }
        });
        assert_warns(&unrolled, WarningKind::CompilesOften, line, 7);
        // The second of two constants becomes a parameter.
        let literals = profile_of(|| {
            for count in 1..8 {
                jit::eval(&(&x * (count as f32 + 0.125)).sqrt()).unwrap();
            }
        });
        assert_silent(&literals);
    });
}

#[test]
fn scattering_into_an_array_that_is_referenced_elsewhere() {
    on_each_device(|| {
        let index = UInt::arange(100) * 3;
        jit::eval(&index).unwrap();
        let mut line = 0;
        let shared = profile_of(|| {
            let mut x = resident(1000);
            for _ in 0..3 {
                let before = x.clone();
                line = line!() + 1;
                x.scatter(7.0, &index);
                jit::eval(&x).unwrap();
                drop(before);
            }
        });
        assert_warns(&shared, WarningKind::CopiesTarget, line, 3);
        let owned = profile_of(|| {
            let mut x = resident(1000);
            for _ in 0..3 {
                x.scatter(7.0, &index);
                jit::eval(&x).unwrap();
            }
        });
        assert_silent(&owned);
        let new = profile_of(|| {
            let mut counts = UInt::zeros(50);
            counts.scatter_add(1, &(&index % 50));
            jit::eval(&counts).unwrap();
        });
        assert_silent(&new);
    });
}

#[test]
fn a_frozen_function_that_writes_in_place() {
    #[freeze]
    fn mark(x: &mut Float, index: &UInt) {
        x.scatter(1.0, index);
    }
    on_each_device(|| {
        if !replays_alone() {
            return;
        }
        mark::clear();
        let index = UInt::arange(100) * 3;
        jit::eval(&index).unwrap();
        let mut x = resident(1000);
        let owned = profile_of(|| (0..5).for_each(|_| mark(&mut x, &index)));
        assert_silent(&owned);
        let shared = profile_of(|| {
            for _ in 0..5 {
                let _before = x.clone();
                mark(&mut x, &index);
            }
        });
        assert_silent(&shared);
        mark::clear();
        let shared = profile_of(|| {
            for _ in 0..5 {
                let _before = x.clone();
                mark(&mut x, &index);
            }
        });
        let [warning] = of_kind(&shared, WarningKind::CopiesTarget)[..] else { panic!("{shared}") };
        assert_eq!(warning.count, 4, "the recording always copies");
    });
}

/// An expression that costs more than reading it from memory.
fn expensive(x: &Float) -> Float {
    x.sin() * x.cos() + (x + 1.0).ln() * x.exp() + (x * 0.5).tanh()
}

#[test]
fn a_value_that_several_kernels_compute() {
    on_each_device(|| {
        let x = resident(40_000);
        let program = || {
            let y = expensive(&x);
            jit::eval(&(y.block_sum(4000), y.block_sum(10_000))).unwrap();
        };
        // The second time, the kernels of the program are known.
        for _ in 0..2 {
            let twice = profile_of(program);
            assert_eq!(of_kind(&twice, WarningKind::Recomputes).len(), 1, "{twice}");
            program();
        }
        let once = profile_of(|| {
            let y = expensive(&x);
            jit::eval(&y).unwrap();
            jit::eval(&(y.block_sum(4000), y.block_sum(10_000))).unwrap();
        });
        assert_silent(&once);
    });
}

// rows: O42
#[test]
fn a_value_that_later_evaluations_compute_again() {
    on_each_device(|| {
        let mut line = 0;
        let mut program = |has_gradients: bool, is_scheduled: bool, times: u16| {
            let mut x = resident(10_000);
            if has_gradients {
                x.enable_grad();
            }
            line = line!() + 1;
            let y = expensive(&x) + 1.0;
            if is_scheduled {
                jit::schedule(&y);
            }
            for step in 0..times {
                jit::eval(&(&y * f32::from(step + 2)).detach()).unwrap();
            }
            drop(y);
        };
        let lazy = profile_of(|| program(true, false, 38));
        assert_silent(&profile_of(|| program(true, true, 38)));
        assert_silent(&profile_of(|| program(true, false, 4)));
        // The second evaluation stores it.
        assert_silent(&profile_of(|| program(false, false, 38)));
        assert_warns(&lazy, WarningKind::RecomputesLater, line, 37);
    });
}

#[test]
fn a_stencil_of_an_expression() {
    fn stencil(y: &Float) -> Float {
        let at = UInt::arange(y.width() - 2);
        let [left, middle, right] = [0, 1, 2].map(|offset| y.gather(&(&at + offset)));
        left + middle * 2.0 + right
    }
    on_each_device(|| {
        // Of many lanes, it would be written to memory for the second gather.
        let x = resident(300);
        let mut line = 0;
        let lazy = profile_of(|| {
            line = line!() + 1;
            let y = (&x * 0.5).sin() * (&x + 1.0).exp();
            jit::eval(&stencil(&y)).unwrap();
        });
        assert_warns(&lazy, WarningKind::RecomputesGathered, line, 1);
        let evaluated = profile_of(|| {
            let y = (&x * 0.5).sin() * (&x + 1.0).exp();
            jit::eval(&y).unwrap();
            jit::eval(&stencil(&y)).unwrap();
        });
        assert_silent(&evaluated);
        let cheap = profile_of(|| jit::eval(&stencil(&(&x + 1.0))).unwrap());
        assert_silent(&cheap);
    });
}

#[test]
fn an_operand_of_a_product_that_is_moved() {
    on_each_device(|| {
        let [a, b] = [3.0, 5.0].map(|k: f32| Tensor::<f32>::from_array(resident(100 * 100) * k, [100, 100]));
        jit::eval(&(&a, &b)).unwrap();
        let mut line = 0;
        let each = profile_of(|| {
            for _ in 0..3 {
                line = line!() + 1;
                jit::eval(&a.matmul(&b.roll(1, 0))).unwrap();
            }
        });
        assert_warns(&each, WarningKind::CopiesOperand, line, 3);
        let once = profile_of(|| {
            let moved = b.roll(1, 0);
            jit::eval(&moved).unwrap();
            for _ in 0..3 {
                jit::eval(&a.matmul(&moved)).unwrap();
            }
        });
        assert_silent(&once);
        let transposed = profile_of(|| jit::eval(&a.matmul(&b.transpose())).unwrap());
        assert_silent(&transposed);
    });
}

#[test]
fn thousands_of_tiny_launches() {
    on_each_device(|| {
        let mut line = 0;
        let many = profile_of(|| {
            let mut x = resident(8);
            for _ in 0..1500 {
                x = &x * 0.5 + 1.0;
                line = line!() + 1;
                jit::eval(&x).unwrap();
            }
        });
        assert_warns(&many, WarningKind::TinyLaunches, line, 1500);
        let few = profile_of(|| {
            let mut x = resident(8);
            for _ in 0..100 {
                x = &x * 0.5 + 1.0;
                jit::eval(&x).unwrap();
            }
        });
        assert_silent(&few);
    });
}

#[test]
fn warnings_are_listed_by_what_they_cost() {
    on_each_device(|| {
        let x = resident(1000);
        let profile = profile_of(|| {
            for count in 1..20 {
                let powers = (0..count).fold(x.clone(), |power, _| &power * &x + 0.625);
                assert!(powers.sum().item().unwrap() >= 0.0);
            }
        });
        let costs: Vec<_> = profile.warnings().iter().map(|warning| warning.cost).collect();
        assert!(costs.len() >= 2 && costs.is_sorted_by(|a, b| a >= b), "{profile}");
    });
}
