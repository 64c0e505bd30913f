//! `#[jit]` over arrays: each test compares with plain Rust over numbers, on each device.

#![allow(clippy::assign_op_pattern, reason = "these programs are written as users write them")]

use jit::prelude::*;

/// Runs a check on the interpreter and on the CPU.
pub(crate) fn on_each_device(check: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &check);
    }
}

fn floats(values: &[f32]) -> Float {
    Float::from(values)
}

const LANES: [f32; 9] = [-3.0, -1.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 7.5];

/// Compares a function over arrays with one over numbers, on [`LANES`].
fn compare(traced: impl Fn(&Float) -> Float, plain: impl Fn(f32) -> f32) {
    on_each_device(|| {
        let got = traced(&floats(&LANES)).to_vec().unwrap();
        assert_eq!(got, LANES.map(&plain));
    });
}

#[jit]
fn escape_time(cx: Float, cy: Float, #[constexpr] limit: u32) -> UInt {
    let (mut x, mut y, mut n) = (cx.zeros_like(), cx.zeros_like(), UInt::from(0));
    while x * x + y * y < 4.0 && n < limit {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    n
}

fn plain_escape_time(cx: f32, cy: f32, limit: u32) -> u32 {
    let (mut x, mut y, mut n) = (0.0, 0.0, 0);
    while x * x + y * y < 4.0 && n < limit {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    n
}

#[test]
fn the_mandelbrot_set() {
    let cx: Vec<f32> = (0..600).map(|i| -2.0 + 3.0 * (i % 30) as f32 / 30.0).collect();
    let cy: Vec<f32> = (0..600).map(|i| -1.2 + 2.4 * (i / 30) as f32 / 20.0).collect();
    let wanted: Vec<u32> = cx.iter().zip(&cy).map(|(&x, &y)| plain_escape_time(x, y, 50)).collect();
    on_each_device(|| {
        let got = escape_time(Float::from(&cx[..]), Float::from(&cy[..]), 50).to_vec().unwrap();
        assert_eq!(got, wanted);
    });
}

/// The same text once over arrays and once over numbers.
macro_rules! proxies {
    ($(fn $name:ident($x:ident) { $($body:tt)* })*) => {
        $(mod $name {
            use jit::prelude::*;
            #[jit]
            pub(super) fn traced($x: &Float) -> Float {
                let $x = $x.clone();
                $($body)*
            }
            pub(super) fn plain($x: f32) -> f32 {
                $($body)*
            }
        })*

        #[test]
        fn traced_programs_compute_what_plain_ones_do() {
            $(
                println!("{}", stringify!($name));
                compare($name::traced, $name::plain);
            )*
        }
    };
}

proxies! {
    fn operators(x) { x * x + 2.0 * x - 1.0 / (x * x + 1.0) }
    fn assigning(x) { let mut y = x * 1.0; y += x; y *= 2.0; y -= 0.5; y /= 4.0; y }
    fn branch_value(x) { if x < 0.0 { x * 2.0 } else { x + 1.0 } }
    fn branch_chain(x) { if x < -1.0 { x * 2.0 } else if x == 0.0 { x + 9.0 } else if x >= 1.5 { x - 3.0 }
        else { x * x } }
    fn branch_state(x) {
        let (mut a, mut b) = (x * 1.0, x * 3.0);
        if x > 0.0 { a = b * x; b += 1.0; } else { b = a - 4.0; }
        if a != b { a -= 1.0; }
        a * 10.0 + b
    }
    fn nested_branches(x) {
        let mut y = x * 0.0;
        if x > -1.0 {
            y += 1.0;
            if x > 1.0 { y += 10.0; if x > 2.0 { y += 100.0; } } else { y -= 1000.0; }
        }
        y
    }
    fn deferred(x) {
        let y;
        let mut z;
        if x < 0.0 { y = -x; z = x * 3.0; } else { z = x + 4.0; y = z * x; }
        z += 1.0;
        y + z
    }
    fn early_return(x) {
        if x < -1.0 { return x * 100.0; }
        let y = x * 2.0;
        if y > 2.0 { return y; } else if y < 0.0 { let z = y - 1.0; return z * z; }
        y + 0.125
    }
    fn returning_arms(x) { if x < 0.5 { return x; } else { return x * x; } }
    fn short_circuits(x) {
        let inside = x > -1.0 && x < 1.0;
        let outside = x <= -2.0 || !inside && x != 2.0;
        if inside || outside && x > 3.0 { x + 1.0 } else { x - 1.0 }
    }
    fn repeat(x) {
        let mut y = x * 1.0;
        let mut n = x * 0.0;
        while y < 10.0 { y = y * 0.5 + 6.0; n += 1.0; }
        y + n * 100.0
    }
    fn branch_in_repeat(x) {
        let mut y = x * 1.0;
        while y * y < 50.0 {
            if y < 0.0 { y = y - 1.0; } else { let step = y + 0.5; y += step; }
        }
        y
    }
    fn repeat_in_branch(x) {
        let mut y = x * 1.0;
        if x > 0.0 { while y < 20.0 { y = y * 2.0 + 1.0; } } else { y = y - 3.0; }
        y
    }
    fn repeat_in_repeat(x) {
        let (mut total, mut i) = (x * 0.0, x * 0.0);
        while i < 4.0 {
            let mut j = i * 1.0;
            while j < 6.0 && total < 1000.0 { total += j * x; j += 1.5; }
            i += 1.0;
        }
        total
    }
    fn unchanged_state(x) {
        let (mut a, mut b, mut n) = (x * 1.0, x * 2.0, x * 0.0);
        while n < 3.0 { (a, b) = (b, a); n += 1.0; }
        a - b
    }
    fn aliases(x) {
        let (mut a, mut b, mut c, mut n) = (x * 1.0, x * 2.0, x * 3.0, x * 0.0);
        while n < 5.0 { (a, b, c) = (c, c, a + b); n += 1.0; }
        a + b * 0.5 + c * 0.25
    }
    fn host_loop_around(x) {
        let mut y = x * 1.0;
        for k in 1..5 {
            if k % 2 == 0 { continue; }
            if y < 3.0 { y += 1.5; }
        }
        y
    }
    fn shadowing(x) {
        let y = x * 1.0;
        let mut z = x * 0.0;
        if y > 0.0 { let y = y * 5.0; z = y; }
        z + y
    }
    fn closure(x) {
        let limit = 2.0;
        let cut = |v: _| if v > limit { v - limit } else { v * 1.0 };
        cut(x * 3.0)
    }
    fn blocks_and_tuples(x) {
        let (a, b) = { let t = x * x; (t + x, t - x) };
        let c = if a < b { (a * 1.0, b * 2.0) } else { (b * 3.0, a * 1.0) };
        c.0 - c.1
    }
}

#[jit]
fn guarded_sum(values: &Float, count: &UInt) -> Float {
    let mut i = count.zeros_like();
    let mut sum = Float::from(0.0);
    while i < count && values.gather(&i) > 0.0 {
        sum += values.gather(&i);
        i += 1;
    }
    sum
}

// rows: K18
#[test]
fn the_right_side_of_a_short_circuit_reads_in_range_only() {
    on_each_device(|| {
        let values = floats(&[1.0, 2.0, 4.0, 8.0]);
        let sums = guarded_sum(&values, &UInt::from([0, 2, 4, 3])).to_vec().unwrap();
        assert_eq!(sums, [0.0, 3.0, 15.0, 7.0]);
    });
}

#[derive(Clone)]
struct Particle {
    position: Float,
    speed: Float,
    bounces: UInt,
}

#[jit]
impl Particle {
    fn step(&mut self, dt: f32) -> Mask {
        self.position += dt * self.speed;
        let hit = self.position < 0.0 || self.position > 1.0;
        if hit {
            self.speed = -self.speed;
            self.position = self.position.clamp(0.0, 1.0);
            self.bounces += 1;
        }
        hit
    }
}

// rows: K32 K36
#[test]
fn fields_of_self_are_state() {
    on_each_device(|| {
        let mut particle =
            Particle { position: floats(&[0.5, 0.9, 0.1]), speed: floats(&[0.1, 0.5, -2.0]), bounces: UInt::from(0) };
        let hit = particle.step(0.5);
        assert_eq!(hit.to_vec().unwrap(), [false, true, true]);
        assert_eq!(particle.position.to_vec().unwrap(), [0.55, 1.0, 0.0]);
        assert_eq!(particle.speed.to_vec().unwrap(), [0.1, -0.5, 2.0]);
        assert_eq!(particle.bounces.to_vec().unwrap(), [0, 1, 1]);
    });
}

#[derive(Clone, Traverse)]
struct Stack {
    items: Local<u32>,
    count: UInt,
}

#[jit]
impl Stack {
    fn push(&mut self, item: &UInt) {
        self.items[self.count] = item;
        self.count += 1;
    }

    fn pop(&mut self) -> UInt {
        self.count -= 1;
        self.items[self.count]
    }

    fn len(&self) -> UInt {
        self.count.clone()
    }

    fn is_empty(&self) -> Mask {
        self.count == 0
    }
}

#[jit]
fn leaves_below(root: &UInt, limit: u32) -> (UInt, UInt) {
    let mut stack = Stack { items: Local::new(16), count: UInt::from(0) };
    stack.push(root);
    let (mut leaves, mut deepest) = (UInt::from(0), UInt::from(0));
    while !stack.is_empty() {
        if stack.len() > deepest {
            deepest = stack.len();
        }
        let node = stack.pop();
        if node >= limit {
            leaves += 1;
        } else {
            stack.push(&(2 * node));
            stack.push(&(2 * node + 1));
        }
    }
    (leaves, deepest)
}

#[test]
fn methods_of_a_users_type_differ_by_lane_whatever_their_names() {
    on_each_device(|| {
        let (leaves, deepest) = leaves_below(&UInt::from([1, 3, 9, 16]), 16);
        assert_eq!(leaves.to_vec().unwrap(), [16, 8, 2, 1]);
        assert_eq!(deepest.to_vec().unwrap(), [5, 4, 2, 1]);
    });
}

#[jit]
fn advance(rng: &mut UInt) -> UInt {
    *rng = rng.clone() * 747_796_405 + 2_891_336_453;
    *rng >> 16
}

#[jit]
fn roll(mut state: UInt, limit: u32) -> (UInt, UInt) {
    let mut rolls = UInt::from(0);
    let mut last = advance(&mut state);
    while last > limit {
        last = advance(&mut state);
        rolls += 1;
    }
    (state, rolls)
}

// rows: K31
#[test]
fn arguments_by_mutable_reference_are_state() {
    let plain = |mut state: u32| {
        let mut next = || {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            state >> 16
        };
        let mut rolls = 0;
        while next() > 9000 {
            rolls += 1;
        }
        (state, rolls)
    };
    let seeds: Vec<u32> = (0..100).map(|i| i * 7919 + 1).collect();
    on_each_device(|| {
        let (state, rolls) = roll(UInt::from(&seeds[..]), 9000);
        let got: Vec<(u32, u32)> = state.to_vec().unwrap().into_iter().zip(rolls.to_vec().unwrap()).collect();
        assert_eq!(got, seeds.iter().map(|&seed| plain(seed)).collect::<Vec<_>>());
    });
}

#[jit]
fn raise(lists: &mut [Float], pair: &mut (Float, Float), mask: Mask) {
    if mask {
        lists[1] += 1.0;
        pair.0 = lists[0] * 2.0;
    } else {
        let (first, second) = (&mut pair.0, &mut pair.1);
        *second = *first - 1.0;
    }
}

#[test]
fn elements_and_fields_behind_references_are_state() {
    on_each_device(|| {
        let mut lists = [floats(&[1.0, 2.0]), floats(&[3.0, 4.0])];
        let mut pair = (floats(&[5.0, 6.0]), floats(&[7.0, 8.0]));
        raise(&mut lists, &mut pair, Mask::from([true, false]));
        let got = [&lists[0], &lists[1], &pair.0, &pair.1].map(|array| array.to_vec().unwrap());
        assert_eq!(got, [[1.0, 2.0], [4.0, 4.0], [2.0, 6.0], [7.0, 5.0]]);
    });
}

#[jit]
fn power(x: &Float, #[constexpr] n: u32) -> Float {
    let mut product = Float::from(1.0);
    for _ in 0..n {
        product *= x;
    }
    product
}

#[test]
fn host_loops_are_unrolled_while_tracing() {
    on_each_device(|| {
        assert_eq!(power(&floats(&[2.0, 3.0]), 3).to_vec().unwrap(), [8.0, 27.0]);
        assert_eq!(power(&floats(&[2.0, 3.0]), 0).to_vec().unwrap(), [1.0]);
    });
}

#[jit]
fn scaled(x: &Float, factor: Option<f32>, table: &[f32]) -> Result<Float, String> {
    let Some(factor) = factor else { return Err("no factor".to_owned()) };
    let first = table.first().copied().ok_or("an empty table")?;
    if factor == 1.0 {
        return Ok(x.clone());
    }
    Ok(factor * x + first)
}

// rows: C043 K14
#[test]
fn host_conditions_return_early_while_tracing() {
    on_each_device(|| {
        let x = floats(&[1.0, 2.0]);
        assert_eq!(scaled(&x, None, &[]).err().as_deref(), Some("no factor"));
        assert_eq!(scaled(&x, Some(2.0), &[]).err().as_deref(), Some("an empty table"));
        assert_eq!(scaled(&x, Some(1.0), &[5.0]).unwrap().to_vec().unwrap(), [1.0, 2.0]);
        assert_eq!(scaled(&x, Some(3.0), &[5.0]).unwrap().to_vec().unwrap(), [8.0, 11.0]);
    });
}

#[jit]
fn horner<T>(x: T, coefficients: &[T]) -> T
where
    T: Clone + std::ops::Add<Output = T> + std::ops::Mul<Output = T>,
{
    let mut sum = coefficients[0].clone();
    for coefficient in &coefficients[1..] {
        sum = sum * x + coefficient.clone();
    }
    sum
}

#[test]
fn generic_functions_take_numbers_and_arrays() {
    assert_eq!(horner(2.0, &[1.0, 2.0, 3.0]), 11.0);
    on_each_device(|| {
        let coefficients = [1.0, 2.0, 3.0].map(Float::from);
        assert_eq!(horner(floats(&[2.0, 3.0]), &coefficients).to_vec().unwrap(), [11.0, 18.0]);
    });
}

#[jit]
fn constant_condition(x: &Float, calls: &mut u32) -> Float {
    if Mask::from(true) {
        x + 1.0
    } else {
        *calls += 1;
        x - 1.0
    }
}

#[test]
fn a_constant_condition_traces_one_arm() {
    let mut calls = 0;
    assert_eq!(constant_condition(&floats(&[1.0]), &mut calls).to_vec().unwrap(), [2.0]);
    assert_eq!(calls, 0);
}

/// The message of a wrong program.
fn panic_of(program: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(program).expect_err("the program is wrong");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[jit]
#[allow(deprecated, reason = "the compiler warns, and tracing rejects it")]
fn host_counter(x: Float) -> Float {
    let mut count = 0;
    let mut y = x;
    while y < 3.0 {
        y += 1.0;
        count += 1;
    }
    y + count as f32
}

#[jit]
fn host_choice(x: Float) -> Float {
    let factor = if x < 0.0 { -1.0 } else { 1.0 };
    x * factor
}

#[jit]
fn growing_list(x: Float) -> usize {
    let mut list = vec![x.clone()];
    if x < 0.0 {
        list.push(x * 2.0);
    }
    list.len()
}

#[jit]
fn host_score(x: Float) -> Int {
    let score = if x > 0.0 { 2 } else { -1 };
    Int::from(score)
}

#[test]
fn host_values_that_a_traced_region_changes_are_named() {
    let message = panic_of(|| drop(host_counter(floats(&LANES))));
    assert!(message.contains("`count`") && message.contains("from 0 to 1"), "{message}");
    assert!(message.contains("control_flow.rs:"), "{message}");
    let message = panic_of(|| drop(host_choice(floats(&LANES))));
    assert!(message.contains("different host values"), "{message}");
    let message = panic_of(|| assert_eq!(growing_list(floats(&LANES)), 2));
    assert!(message.contains("`list`"), "{message}");
    let message = panic_of(|| drop(host_score(floats(&LANES))));
    assert!(message.contains("write `Int::from(2)` for `2`"), "{message}");
    // The thread can continue tracing.
    assert_eq!(branch_value::traced(&floats(&[-1.0, 1.0])).to_vec().unwrap(), [-2.0, 2.0]);
}

#[jit(label = "named_by_label")]
fn labelled(x: &Float) -> Float {
    x * 3.0
}

#[test]
fn calls_are_counted_as_traces() {
    let before = jit::stats().traces;
    let y = labelled(&floats(&[1.0]));
    let z = labelled(&y);
    assert!(jit::stats().traces >= before + 2);
    assert_eq!(z.to_vec().unwrap(), [9.0]);
}

#[jit]
fn two_stages(x: &Float) -> Float {
    let y = x * 2.0;
    #[label("the second stage")]
    if y > 1.0 { y - 1.0 } else { y.exp() }
}

// no device: names are those of the recording
// rows: K179
#[test]
fn kernels_have_the_name_of_their_function() {
    // Reading the history empties it, and other tests read it, too: launches that they take are repeated.
    let is_launched_as = |label: &str, function: fn(&Float) -> Float| {
        (0..100).any(|_| {
            function(&Float::linspace(0.0, 1.0, 1000)).to_vec().unwrap();
            jit::kernel_history().iter().any(|record| record.label == label)
        })
    };
    assert!(is_launched_as("named_by_label", labelled));
    assert!(is_launched_as("the second stage", two_stages));
    assert!(is_launched_as("soft", |x| soft(x).sum()));
}

#[jit]
fn soft(x: &Float) -> Float {
    x / (x + 1.0)
}

trait Raise {
    fn raise(&mut self);
}

impl Raise for Float {
    fn raise(&mut self) {
        *self += 10.0;
    }
}

fn the_first<'a>(first: &'a mut Float, _second: &Float) -> &'a mut Float {
    first
}

#[jit]
fn raised_through_a_returned_reference(x: Float) -> Float {
    let mut a = x.clone();
    let r = the_first(&mut a, &x);
    if x > 1.0 {
        r.raise();
    }
    a
}

#[test]
fn changes_through_a_returned_reference_in_a_traced_if_affect_its_lanes() {
    on_each_device(|| {
        let got = raised_through_a_returned_reference(Float::from([0.0, 1.0, 2.0])).to_vec().unwrap();
        assert_eq!(got, [0.0, 1.0, 12.0]);
    });
}

#[jit]
fn one_or_two(x: &Float) -> (Float, Float) {
    let mut count = Float::from(4.0);
    let value = if x > 1.0 {
        count += 1.0;
        Float::from(1.0)
    } else {
        Float::from(2.0)
    };
    (value, count)
}

#[test]
fn branches_over_no_lanes_give_no_lanes() {
    on_each_device(|| {
        for none in [Float::zeros(0), Float::arange(0), Float::from(Vec::new()).make_opaque()] {
            let (value, count) = one_or_two(&none);
            assert_eq!((value.to_vec().unwrap(), count.to_vec().unwrap()), (vec![], vec![]));
        }
    });
}

#[derive(Clone, Traverse)]
struct Dice {
    value: Float,
}

impl Dice {
    fn roll(&mut self) -> Float {
        self.value += 1.0;
        self.value.clone()
    }
}

#[jit]
fn rolls_in_the_condition(x: &Float) -> Float {
    let mut dice = Dice { value: x.clone() };
    let mut rolls = Float::from(0.0);
    while dice.roll() < 3.0 {
        rolls += 1.0;
    }
    rolls + dice.value
}

#[test]
fn a_method_that_changes_its_receiver_in_a_condition_lost_the_last_change() {
    on_each_device(|| {
        let message = super::errors::panic_message(|| {
            rolls_in_the_condition(&Float::from([0.0, 5.0]));
        });
        assert!(message.starts_with("the condition of a traced `while` changes `dice`"), "{message}");
        assert!(message.contains("loop { if !(…) { break; } … }"), "{message}");
    });
}
