//! Which arguments and results are possible, and what is recorded when.

use jit::prelude::*;

#[freeze]
fn scaled(x: &Float, y: Float, k: f32) -> Float {
    x * k + y
}

#[test]
fn a_function_is_recorded_once_for_each_number_of_the_host() {
    let x = Float::arange(8).make_opaque();
    for (call, k) in [2.0, 2.0, 3.0, 2.0, 3.0].into_iter().enumerate() {
        let y = Float::opaque(call as f32);
        let z = scaled(&x, y, k).to_vec().unwrap();
        assert_eq!(z, (0..8).map(|i| i as f32 * k + call as f32).collect::<Vec<_>>());
    }
    let stats = scaled::stats();
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays), (2, 3));
    let why = scaled::explain();
    assert!(why[1].to_string().starts_with("`k` was 2.0 (f32) and is 3.0 (f32)"), "{}", why[1]);
}

#[derive(Clone, Traverse)]
struct Particles {
    position: Float,
    velocity: Float,
    steps: u32,
}

impl Particles {
    #[freeze]
    pub(crate) fn advance(&mut self, dt: &Float) -> Float {
        self.velocity -= 9.81 * dt;
        let next = &self.position + &self.velocity * dt;
        if next < 0.0 {
            self.velocity = -self.velocity.clone();
        }
        self.position = next.abs();
        self.position.sum()
    }

    #[freeze]
    pub(crate) fn count(&mut self) {
        self.steps += 1;
        self.position += 1.0;
    }
}

#[test]
fn methods_change_their_state() {
    let start = || Particles { position: Float::linspace(1.0, 2.0, 10), velocity: Float::zeros(10), steps: 0 };
    let (mut frozen, mut direct) = (start(), start());
    let dt = Float::opaque(0.05);
    for _ in 0..30 {
        let sum = frozen.advance(&dt).item().unwrap();
        Particles::advance_set_enabled(false);
        let wanted = direct.advance(&dt).item().unwrap();
        Particles::advance_set_enabled(true);
        assert_eq!(sum, wanted);
        assert_eq!(frozen.velocity.to_vec().unwrap(), direct.velocity.to_vec().unwrap());
    }
    let stats = Particles::advance_stats();
    // The velocity, a constant in the first call, was written to memory before it.
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays, stats.direct), (1, 29, 30), "{:?}", Particles::advance_explain());
}

#[test]
fn fields_of_the_host_change_as_they_do_without() {
    let mut state = Particles { position: Float::arange(3).make_opaque(), velocity: Float::zeros(3), steps: 0 };
    for call in 1..4 {
        state.count();
        assert_eq!((state.steps, state.position.get(0).unwrap()), (call, call as f32));
    }
    state.steps = 0;
    state.count();
    assert_eq!((state.steps, state.position.get(0).unwrap()), (1, 4.0));
    crate::frozen_only!();
    assert_eq!(Particles::count_stats().replays, 1);
}

#[freeze(limit = 2)]
fn power(x: &Float, n: i32) -> Float {
    x.powi(n)
}

// rows: F071
#[test]
fn the_recordings_that_were_not_used_go_first() {
    crate::on_each_device(|| {
        power::clear();
        let x = Float::from([2.0, 3.0]);
        for (n, recordings) in [(0, 1), (1, 2), (2, 3), (1, 3), (0, 4)] {
            assert_eq!(power(&x, n).to_vec().unwrap(), [2_f32.powi(n), 3_f32.powi(n)]);
            crate::frozen_only!(assert_eq!(power::stats().recordings, recordings, "{n}"));
        }
        crate::frozen_only!();
        assert_eq!((power::stats().cached, power::stats().evictions), (2, 2));
    });
}

#[freeze]
fn combined(a: &Float, b: &Float, c: &Float) -> Float {
    a * 100.0 + b * 10.0 + c
}

// rows: X01
#[test]
fn which_arrays_are_the_same_is_distinguished() {
    crate::on_each_device(|| {
        combined::clear();
        let (a, b) = (Float::from([1.0]), Float::from([5.0, 6.0]));
        assert_eq!(combined(&a, &b, &a).to_vec().unwrap(), [151.0, 161.0]);
        assert_eq!(combined(&a, &b, &b).to_vec().unwrap(), [155.0, 166.0]);
        assert_eq!(combined(&a, &b, &a).to_vec().unwrap(), [151.0, 161.0]);
        crate::frozen_only!();
        assert_eq!(combined::stats().recordings, 2);
    });
}

#[freeze]
fn shifted(i: &UInt, x: &Float) -> Float {
    x.gather(&(i % UInt::from(x.width())))
}

#[test]
fn constants_that_change_are_given_from_then_on() {
    let x = Float::from([1.0, 2.0, 4.0]);
    for (call, recordings) in [(0_u32, 1), (1, 2), (2, 2), (1, 2), (0, 2)] {
        assert_eq!(shifted(&UInt::from(call), &x).item().unwrap(), [1.0, 2.0, 4.0][call as usize]);
        // The recording for 0 fits again.
        crate::frozen_only!(assert_eq!(shifted::stats().recordings, recordings));
    }
}

mod inner {
    use jit::prelude::*;

    #[freeze]
    pub(crate) fn generic<T: jit::Number>(x: &Array<T>) -> Array<T> {
        x + x
    }
}

#[test]
fn generic_functions_have_recordings_of_their_own() {
    for _ in 0..2 {
        assert_eq!(inner::generic(&Float::from([1.5, 2.0])).to_vec().unwrap(), [3.0, 4.0]);
        assert_eq!(inner::generic(&Int::from([1, 2])).to_vec().unwrap(), [2, 4]);
    }
    let stats = inner::generic::stats();
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays), (2, 2));
}

#[freeze]
fn stepped(x: &mut Float, it: u32, dt: f32) -> UInt {
    let time = it as f32 * dt;
    *x += time;
    let wave = (&*x * 0.5).sin() * (2.0 * dt);
    *x = if *x > it { &*x - wave } else { x.clone() };
    UInt::arange(x.width()) + it
}

#[test]
fn a_loop_counter_is_a_value_after_the_second_call() {
    let mut x = Float::from([0.0, 1.0, 2.0]);
    let mut wanted = [0_f32, 1.0, 2.0];
    for it in 0..20_u32 {
        let dt = 0.25;
        let lanes = stepped(&mut x, it, dt);
        for value in &mut wanted {
            *value += it as f32 * dt;
            let wave = jit::Float::from(*value * 0.5).sin().item().unwrap() * (2.0 * dt);
            *value = if *value > it as f32 { *value - wave } else { *value };
        }
        assert_eq!(x.to_vec().unwrap(), wanted);
        assert_eq!(lanes.to_vec().unwrap(), [it, it + 1, it + 2]);
    }
    crate::frozen_only!();
    assert_eq!(stepped::stats().recordings, 2, "{:?}", stepped::explain());
}

#[freeze]
fn every_tenth(x: &Float, it: u32) -> Float {
    if it.is_multiple_of(10) { x * 2.0 } else { x + it as f32 }
}

#[test]
fn decisions_by_a_number_are_for_that_number() {
    let x = Float::from([1.0, 2.0]);
    for it in [0, 1, 10, 20, 3, 1] {
        let wanted = if it % 10 == 0 { [2.0, 4.0] } else { [1.0 + it as f32, 2.0 + it as f32] };
        assert_eq!(every_tenth(&x, it).to_vec().unwrap(), wanted);
    }
}

#[freeze(key(n))]
fn keyed(x: &Float, n: u32) -> Float {
    x * n as f32
}

#[test]
fn a_key_is_part_of_each_recording() {
    let x = Float::from([1.0, 2.0]);
    for n in [1, 2, 3, 1] {
        assert_eq!(keyed(&x, n).to_vec().unwrap(), [n as f32, 2.0 * n as f32]);
    }
    crate::frozen_only!();
    assert_eq!(keyed::stats().recordings, 3);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Traverse)]
enum Border {
    Zero,
    Repeat,
}

#[freeze]
fn blurred(
    x: &Float,
    weight: f32,
    #[constexpr] rounds: usize,
    #[constexpr] border: Border,
    #[constexpr] name: &str,
) -> Float {
    let mut y = x.clone();
    for _ in 0..rounds {
        let right = match border {
            Border::Zero => y.shift(-1),
            Border::Repeat => y.roll(-1),
        };
        y = if name == "sum" { y + weight * right } else { y.max(weight * right) };
    }
    y
}

#[test]
fn a_recording_is_for_one_value_of_a_constexpr_parameter() {
    let x = Float::from([1.0, 2.0, 4.0]);
    let check = |weight, rounds, border, name, wanted: [f32; 3]| {
        assert_eq!(blurred(&x, weight, rounds, border, name).to_vec().unwrap(), wanted);
    };
    check(1.0, 1, Border::Zero, "sum", [3.0, 6.0, 4.0]);
    check(2.0, 1, Border::Zero, "sum", [5.0, 10.0, 4.0]);
    check(1.0, 2, Border::Zero, "sum", [9.0, 10.0, 4.0]);
    check(1.0, 1, Border::Repeat, "sum", [3.0, 6.0, 5.0]);
    check(1.0, 1, Border::Repeat, "max", [2.0, 4.0, 4.0]);
    check(3.0, 1, Border::Zero, "sum", [7.0, 14.0, 4.0]);
    check(3.0, 2, Border::Zero, "sum", [49.0, 26.0, 4.0]);
    crate::frozen_only!();
    // One for each of the four combinations, and one in which the weight is an input.
    assert_eq!(blurred::stats().recordings, 5, "{}", blurred::explain());
}

#[derive(Clone, Traverse)]
struct Filter;

#[jit]
impl Filter {
    #[freeze]
    fn powers(&self, x: &Float, #[constexpr] exponent: i32) -> Float {
        x.powi(exponent)
    }
}

#[test]
fn methods_have_constexpr_parameters() {
    let x = Float::from([1.0, 2.0]);
    for (exponent, wanted) in [(2, 4.0), (3, 8.0), (2, 4.0)] {
        assert_eq!(Filter.powers(&x, exponent).to_vec().unwrap(), [1.0, wanted]);
    }
    crate::frozen_only!();
    assert_eq!(Filter::powers_stats().recordings, 2);
}

#[jit]
fn from_the_end(x: &Float) -> Float {
    let (n, share) = (x.width() as i32, 1.0 / x.width() as f32);
    let i = Int::arange(x.width() as usize);
    x[n - 1 - i] * share
}

#[freeze]
fn frozen_from_the_end(x: &Float) -> Float {
    from_the_end(x)
}

#[test]
fn a_size_that_is_cast_is_a_number_of_the_recording() {
    for (width, recordings) in [(4, 1), (8, 2), (4, 2)] {
        let x = Float::arange(width).make_opaque();
        let wanted: Vec<f32> = (0..width).rev().map(|i| i as f32 / width as f32).collect();
        assert_eq!(from_the_end(&x).to_vec().unwrap(), wanted);
        assert_eq!(frozen_from_the_end(&x).to_vec().unwrap(), wanted);
        crate::frozen_only!(assert_eq!(frozen_from_the_end::stats().recordings, recordings));
    }
}
