//! Recorded loops, forward and backward.

use jit::prelude::*;
use jit::{Float64, ad};

use crate::{assert_close, on_each_device};

/// Returns the points at which functions of one value are tested.
fn points() -> Vec<f64> {
    vec![0.3, 0.7, 1.1, 1.6, 0.9, 0.2, 1.3, 0.5, 0.8, 1.9]
}

/// Compares both modes with central differences, for a function of lanes; on each device.
#[track_caller]
pub(crate) fn check(function: impl Fn(&Float64) -> Float64 + Clone + Send + Sync + 'static) {
    check_at(&points(), function);
}

#[track_caller]
pub(crate) fn check_at(points: &[f64], function: impl Fn(&Float64) -> Float64 + Clone + Send + Sync + 'static) {
    on_each_device(|| {
        const STEP: f64 = 1e-6;
        let at = |position: usize, shift: f64| {
            let mut moved = points.to_vec();
            moved[position] += shift;
            function(&Float64::from(moved)).sum().item().unwrap()
        };
        let wanted: Vec<f64> =
            (0..points.len()).map(|position| (at(position, STEP) - at(position, -STEP)) / (2.0 * STEP)).collect();
        let x = Float64::from(points.to_vec());
        let reverse = ad::grad({
            let function = function.clone();
            move |x: &Float64| function(x).sum()
        })(&x);
        let reverse = reverse.unwrap().to_vec().unwrap();
        assert_close(&reverse, &wanted, 1e-6);
        let tangents: Vec<f64> = (0..points.len()).map(|position| 0.25 + position as f64).collect();
        let (_, forward) = ad::jvp(|x: &Float64| function(x).sum(), &x, &Float64::from(tangents.clone())).unwrap();
        let product: f64 = reverse.iter().zip(&tangents).map(|(a, b)| a * b).sum();
        assert_close(&[forward.item().unwrap()], &[product], 1e-9);
        let mut variable = x.clone();
        variable.enable_grad();
        let result = function(&variable);
        result.backward().unwrap();
        let gradient = variable.grad();
        jit::eval(&(&result, &gradient)).unwrap();
        assert_close(&gradient.to_vec().unwrap(), &wanted, 1e-6);
    });
}

#[jit]
fn power(x: &Float64, n: u32) -> Float64 {
    let mut y = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        y = &y * x;
        k += 1;
    }
    y
}

#[test]
fn powers_by_multiplication() {
    check(|x| power(x, 5));
    check(|x| power(x, 0));
}

#[jit]
fn sum_of_sines(x: &Float64, n: u32) -> Float64 {
    let mut sum = Float64::from(0.0);
    let mut k = UInt::from(0);
    while k < n {
        sum += (x * k.cast::<f64>()).sin();
        k += 1;
    }
    sum
}

#[test]
fn sums_need_no_history() {
    check(|x| sum_of_sines(x, 7));
    check(|x| sum_of_sines(x, 100));
}

#[jit]
fn logistic(x: &Float64, n: &UInt) -> Float64 {
    let mut y = x * 0.25;
    let mut k = UInt::from(0);
    while k < n {
        y = 1.1 * &y * (1.0 - &y) + 0.01 * x;
        k += 1;
    }
    y
}

#[test]
fn lanes_with_different_numbers_of_iterations() {
    check(|x| logistic(x, &(UInt::arange(x.width()) * 3)));
    check(|x| logistic(x, &(UInt::arange(x.width()) * 97)));
}

#[test]
fn loops_longer_than_the_room_for_their_states() {
    check(|x| logistic(x, &UInt::opaque(1000)));
    check(|x| logistic(x, &(UInt::arange(x.width()) * 701 + 1)));
    check(|x| logistic(x, &(20_000 - UInt::arange(x.width()) * 1990)));
}

#[jit]
fn newton(x: &Float64) -> Float64 {
    let mut y = x.clone();
    let mut error = Float64::from(1.0);
    while error > 1e-9 {
        let next = 0.5 * (&y + x / &y);
        error = (&next - &y).abs();
        y = next;
    }
    y
}

#[test]
fn iterations_until_convergence() {
    check(newton);
}

#[jit]
fn fibonacci(x: &Float64, n: u32) -> Float64 {
    let (mut a, mut b) = (x.clone(), x * x);
    for _ in 0..UInt::from(n) {
        (a, b) = (b.clone(), &a * 0.5 + &b);
    }
    a.sin() * b
}

#[test]
fn states_that_change_places() {
    check(|x| fibonacci(x, 9));
}

#[jit]
fn nested(x: &Float64, rows: u32, columns: &UInt) -> Float64 {
    let mut total = x.clone();
    let mut i = UInt::from(0);
    while i < rows {
        let mut product = Float64::from(1.0);
        let mut j = UInt::from(0);
        while j < columns {
            product *= x * 0.9 + (&i * 3 + &j).cast::<f64>() * 0.01;
            j += 1;
        }
        total = (total + product * x).sin();
        i += 1;
    }
    total
}

#[test]
fn loops_in_loops() {
    check(|x| nested(x, 3, &UInt::from(4)));
    check(|x| nested(x, 70, &(UInt::arange(x.width()) % 4)));
}

#[jit]
fn exits(x: &Float64) -> Float64 {
    let mut y = x.clone();
    let mut k = UInt::from(0);
    loop {
        k += 1;
        if &k % 3 == 1 {
            continue;
        }
        y = &y * 1.1 + x.cos() * 0.1;
        if y > 2.5 {
            break;
        }
        if k > 60 {
            return y * x;
        }
    }
    &y * &y
}

#[test]
fn break_continue_and_return() {
    check(exits);
}

#[jit]
fn branches(x: &Float64, n: u32) -> Float64 {
    let mut y = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        if y > 1.0 {
            y = (&y * x).sqrt() + y.exp() * 0.01;
        } else {
            match &k % 3 {
                0 => y += 0.3 * x,
                1 => y = &y * &y + 0.5,
                _ => y = y.sin() + 0.2,
            }
        }
        k += 1;
    }
    y
}

#[test]
fn branches_in_loops() {
    check(|x| branches(x, 10));
    check(|x| branches(x, 100));
}

#[jit]
fn gathers(table: &Float64, n: u32) -> Float64 {
    let lane = UInt::arange(table.width());
    let mut y = Float64::from(0.1);
    let mut k = UInt::from(0);
    while k < n {
        let element = table.gather(&((&lane * 3 + &k * 7) % table.width()));
        y = (&y * &element).sin() + element;
        k += 1;
    }
    y
}

#[test]
fn gathers_in_loops() {
    check(|x| gathers(x, 6));
    check(|x| gathers(&(x * x), 80));
    check(|x| gathers(x, 6) * x + gathers(&x.sin(), 3));
}

#[jit]
fn nested_gathers(table: &Float64, n: u32) -> Float64 {
    let lane = UInt::arange(table.width());
    let mut y = Float64::from(0.3);
    for k in 0..UInt::from(n) {
        let mut inner = Float64::from(0.0);
        for j in 0..&lane % 3 + 1 {
            let element = table.gather(&((&lane + &k * 2 + &j) % table.width()));
            inner += &element * &y * table;
        }
        y = (inner * 0.3).sin() + 0.1 * table;
    }
    y
}

#[test]
fn gathers_in_inner_loops() {
    check(|x| nested_gathers(x, 4));
    check(|x| nested_gathers(x, 75));
}

#[jit]
fn adds(x: &Float64, n: u32) -> Float64 {
    let mut sums = Float64::zeros(5);
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        y = (&y * x + 0.1).sin();
        sums.scatter_add(&(&y * &y), &((&lane * 2 + &k) % 5));
        k += 1;
    }
    sums
}

#[test]
fn additions_to_arrays_in_loops() {
    check(|x| {
        let sums = adds(x, 4);
        &sums * &sums
    });
    check(|x| adds(x, 90).sin());
}

#[jit]
fn inner_adds(x: &Float64, n: u32) -> Float64 {
    let mut sums = x.slice(0..5).sin();
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    for k in 0..UInt::from(n) {
        for j in 0..&lane % 3 {
            y = (&y * x + 0.1).sin();
            sums.scatter_add(&(&y * &y), &((&lane * 2 + &k + j) % 5));
        }
        if y > 0.5 {
            sums.scatter_add(&y, &(&lane % 5));
        }
    }
    sums
}

#[test]
fn additions_to_arrays_in_inner_loops() {
    check(|x| {
        let sums = inner_adds(x, 4);
        &sums * &sums
    });
}

#[test]
fn writes_to_arrays_in_loops() {
    check(|x| {
        // Each element has one lane that writes it, in several iterations.
        let mut out = x * 3.0;
        let y = each_writes(x, &mut out, 20);
        &out * &out + y
    });
}

#[jit]
fn each_writes(x: &Float64, out: &mut Float64, n: u32) -> Float64 {
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        y = (&y * x + 0.1).sin();
        if &lane % 2 == 0 {
            out.scatter(&(&y * &y), &(&lane + &k / 5 % 2));
        }
        k += 5;
    }
    y
}

#[jit]
fn extremes(x: &Float64, n: u32) -> Float64 {
    let mut highest = Float64::full(0.4, 4);
    let lane = UInt::arange(x.width());
    let mut y = x.clone();
    for k in 0..UInt::from(n) {
        y = (&y * x + 0.1).sin();
        highest.scatter_reduce(ReduceOp::Max, &(&y * x), &((&lane + k) % 4));
    }
    highest
}

#[test]
fn maxima_of_arrays_in_loops() {
    check(|x| extremes(x, 5));
}

#[jit]
fn insertion(x: &Float64) -> Float64 {
    let mut memory = Local::<f64>::new(12);
    for k in 0..12_u32 {
        memory.write(&UInt::from(k), (x * f64::from(k)).sin());
    }
    let mut k = UInt::from(0);
    while k < 30 {
        let (a, b) = (memory.read(&(&k % 12)), memory.read(&((&k * 5 + 1) % 12)));
        memory.write(&((&k * 7) % 12), &(&a * &b + 0.5 * x));
        k += 1;
    }
    let mut sum = Float64::from(0.0);
    for k in 0..12_u32 {
        sum += memory.read(&UInt::from(k)) * f64::from(k + 1);
    }
    sum
}

#[test]
fn local_memory_in_loops() {
    check(insertion);
}

#[jit]
fn straight(x: &Float64) -> Float64 {
    let mut memory = Local::<f64>::new(4);
    memory.write(&UInt::from(0), x);
    memory.write(&UInt::from(1), x.sin());
    let index = (x * 10.0 + 0.5).cast::<u32>() % 4;
    memory.write(&index, &(x * x));
    if x > 1.0 {
        memory.write(&UInt::from(2), &(memory.read(&UInt::from(1)) * x));
    }
    memory.read(&UInt::from(0)) * memory.read(&UInt::from(1))
        + memory.read(&UInt::from(2)) * memory.read(&((index + 1) % 4))
        + memory.read(&UInt::from(3))
}

#[test]
fn local_memory_without_loops() {
    check(straight);
}

#[jit]
fn scalar(x: &Float64, n: u32) -> Float64 {
    let total = x.sum();
    let mut level = &total * 0.05;
    let mut wide = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        level = (&level * 1.3).sin() + 0.1;
        wide = &wide * &level + 0.2;
        k += 1;
    }
    wide + level
}

#[test]
fn states_that_lanes_share() {
    check(|x| scalar(x, 6));
    check(|x| scalar(x, 600));
    check(|x| scalar(&(x.sum() * 0.1), 20));
}

#[jit]
fn shared_inside(x: &Float64, n: u32, inner: u32) -> Float64 {
    let level = x.sum() * 0.05;
    let mut y = x.clone();
    let mut i = UInt::from(0);
    while i < n {
        // The same in all lanes, though each lane's own gradient comes back to it.
        let (mut shared, mut j) = (level.clone(), UInt::from(0));
        while j < inner {
            shared = (&shared * 1.2 + i.cast::<f64>() * 0.01).sin();
            j += 1;
        }
        y = &y * &shared + 0.1;
        i += 1;
    }
    y
}

#[test]
fn inner_loops_that_lanes_share() {
    check(|x| shared_inside(x, 3, 4));
    check(|x| shared_inside(x, 3, 70));
    check(|x| shared_inside(x, 70, 3));
}

#[jit]
fn draws(x: &Float64, n: u32) -> Float64 {
    let mut state = UInt64::arange(x.width()) * 77 + 1;
    let mut y = x.clone();
    let mut k = UInt::from(0);
    while k < n {
        state = &state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407;
        let number = (&state >> 40).cast::<f64>() * (1.0 / 16_777_216.0);
        y = &y + (x * &number).sin() * number;
        k += 1;
    }
    y
}

#[test]
fn random_numbers_are_undone() {
    check(|x| draws(x, 9));
    check(|x| draws(x, 3000));
}

#[jit]
fn detached(x: &Float64, n: u32) -> Float64 {
    let mut sum = Float64::from(0.0);
    for _ in 0..UInt::from(n) {
        let factor = sum.detach();
        sum = &sum * 0.5 + x * (factor + 1.0);
    }
    sum
}

#[test]
fn detached_values_pass_nothing() {
    on_each_device(|| {
        let x = Float64::from([0.5, 2.0]);
        let gradient = ad::grad(|x: &Float64| detached(x, 3).sum())(&x).unwrap().to_vec().unwrap();
        let wanted = [0.5, 2.0].map(|x: f64| {
            let (mut sum, mut slope) = (0.0, 0.0);
            for _ in 0..3 {
                slope = slope * 0.5 + (sum + 1.0);
                sum = sum * 0.5 + x * (sum + 1.0);
            }
            slope
        });
        assert_close(&gradient, &wanted, 1e-12);
    });
}

#[test]
fn second_derivatives_of_loops() {
    on_each_device(|| {
        for (name, function) in [
            ("power", (|x| power(x, 5)) as fn(&Float64) -> Float64),
            ("sines", |x| sum_of_sines(x, 7)),
            ("logistic", |x| logistic(x, &(UInt::arange(x.width()) * 60))),
            ("nested", |x| nested(x, 3, &UInt::from(4))),
            ("gathers", |x| gathers(x, 6)),
            ("newton", newton),
        ] {
            let x = Float64::from(points());
            let v = Float64::from((0..10).map(|k| 0.3 + f64::from(k) * 0.1).collect::<Vec<_>>());
            let slope = move |x: &Float64| ad::grad(move |x: &Float64| function(x).sum())(x).unwrap();
            const STEP: f64 = 1e-5;
            let (above, below) = (slope(&(&x + &v * STEP)), slope(&(&x - &v * STEP)));
            let wanted = ((above - below) / (2.0 * STEP)).to_vec().unwrap();
            println!("{name}");
            let (_, forward) = ad::jvp(slope, &x, &v).unwrap();
            let forward = forward.to_vec().unwrap();
            assert_close(&forward, &wanted, 1e-5);
            let weighted = v.clone();
            let reverse = ad::grad(move |x: &Float64| (slope(x) * &weighted).sum())(&x).unwrap();
            assert_close(&reverse.to_vec().unwrap(), &forward, 1e-9);
        }
    });
}

#[jit]
fn assigned_late(x: &Float64, n: u32) -> Float64 {
    let mut k = UInt::from(0);
    let last;
    let mut y = x.clone();
    while k < n {
        y = y.sin() + x;
        k += 1;
    }
    last = &y * x;
    last
}

#[jit]
fn bounded(x: &Float64) -> Float64 {
    let mut y = x.clone();
    let mut steps = UInt::from(0);
    #[max_iterations(50)]
    while y < 20.0 {
        y = &y * &y * 0.3 + 1.0 + x;
        steps += 1;
    }
    y.ln() + steps.cast::<f64>() * x
}

#[test]
fn loops_with_a_bound() {
    check(bounded);
    check(|x| assigned_late(x, 3));
}

struct Cube;

impl ad::CustomOp for Cube {
    type Input = Float64;
    type Output = Float64;
    type Saved = Float64;

    fn name(&self) -> &str {
        "cube"
    }

    fn forward(&self, x: &Float64) -> (Float64, Float64) {
        (x * x * x, x.clone())
    }

    fn backward(&self, x: &Float64, gradient: &Float64) -> Result<Float64, jit::Error> {
        Ok(gradient * x * x * 3.0)
    }

    fn jvp(&self, x: &Float64, tangent: &Float64) -> Result<Float64, jit::Error> {
        Ok(tangent * x * x * 3.0)
    }
}

#[jit]
fn custom(x: &Float64, n: u32) -> Float64 {
    let mut y = x.clone();
    for _ in 0..UInt::from(n) {
        let inner = &y * 0.3 + x * 0.1;
        y = ad::custom(Cube, &inner) + inner;
    }
    y
}

#[test]
fn custom_operations_in_loops() {
    check(|x| custom(x, 5));
    check(|x| custom(x, 500));
}

#[jit]
fn triangles(x: &Float64, n: u32) -> Float64 {
    let mut sum = Float64::from(0.0);
    for i in 0..UInt::from(n) {
        for j in 0..&i + 1 {
            for k in 0..&j + 1 {
                let weight = (&i + &j * 2 + k).cast::<f64>() * 0.1;
                sum = (&sum * 0.9 + x * &weight).sin() + (x * weight).cos();
            }
        }
    }
    sum
}

#[test]
fn three_loops() {
    check(|x| triangles(x, 4));
}

#[jit]
fn table_in_memory(x: &Float64, n: u32) -> Float64 {
    // Read, not written, in the loop.
    let mut memory = Local::<f64>::new(4);
    for k in 0..4_u32 {
        memory.write(&UInt::from(k), &(x + f64::from(k)));
    }
    let mut y = x.clone();
    for k in 0..UInt::from(n) {
        y = (&y * memory.read(&(&k % 4)) * 0.15).sin() + memory.read(&((&k * 3 + 1) % 4));
    }
    y
}

#[test]
fn local_memory_that_loops_only_read() {
    check(|x| table_in_memory(x, 7));
    check(|x| table_in_memory(x, 150));
}

#[jit]
fn table_of_one_value(x: &Float64, len: usize) -> Float64 {
    let mut memory = Local::<f64>::full(x, len);
    let (mut k, mut sum) = (UInt::from(0), Float64::from(0.0));
    while k < 9 {
        memory.write(&((&k * 7 + 3) % len as u32), &(x.sin() * (k.cast::<f64>() + 1.0)));
        sum += memory.read(&(&k * 5 % len as u32));
        k += 1;
    }
    let mut k = UInt::from(0);
    while k < len as u32 {
        sum += memory.read(&k).square() * 0.01;
        k += 1;
    }
    // Elements that no loop writes.
    sum + memory.read(&UInt::from(2)) * memory.read(&UInt::from(1))
}

#[test]
fn local_memory_that_begins_with_a_value() {
    for len in [5, 100] {
        check(move |x| table_of_one_value(x, len));
    }
}

#[derive(Clone, Traverse)]
struct Particle {
    position: Float64,
    velocity: Float64,
}

#[jit]
fn spring(start: &Particle, steps: u32, dt: &Float64) -> Particle {
    let mut particle = start.clone();
    let mut k = UInt::from(0);
    while k < steps {
        let force = -(&particle.position) - 0.1 * &particle.velocity * particle.velocity.abs();
        particle.velocity += force * dt;
        particle.position += &particle.velocity * dt;
        k += 1;
    }
    particle
}

#[test]
fn structs_as_state_and_numbers_that_lanes_share() {
    check(|x| {
        let start = Particle { position: x.clone(), velocity: x.cos() };
        let dt = x.sum() * 1e-3;
        let end = spring(&start, 200, &dt);
        end.position * &end.velocity
    });
}

#[test]
fn evaluated_loops_are_run_again() {
    on_each_device(|| {
        let mut x = Float64::from(points());
        x.enable_grad();
        let y = logistic(&x, &UInt::opaque(130));
        y.to_vec().unwrap();
        let z = gathers(&y, 5);
        z.to_vec().unwrap();
        z.backward().unwrap();
        let direct = ad::grad(|x: &Float64| gathers(&logistic(x, &UInt::opaque(130)), 5).sum());
        let wanted = direct(&Float64::from(points())).unwrap();
        assert_close(&x.grad().to_vec().unwrap(), &wanted.to_vec().unwrap(), 1e-12);
    });
}
