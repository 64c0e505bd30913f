//! Generators of random numbers as state of frozen functions, and made by them.

use jit::prelude::*;
use jit::random::{Generator, Pcg32, Philox4x32, rng};

use crate::{alike, floats, frozen, values};

#[freeze]
fn drawn(generator: &mut Generator, x: &Float) -> Float {
    x + generator.random::<f32>(x.width())
}

// rows: F106
#[test]
fn a_generator_continues_where_it_was() {
    alike(frozen!(drawn), 1, || {
        let mut generator = rng(7);
        let first = [10, 20, 10, 3].map(|n| values(&drawn(&mut generator, &floats(n, n))));
        let mut other = rng(8);
        let second = [10, 20].map(|n| values(&drawn(&mut other, &floats(n, n))));
        (first, second, values(&generator.random::<f32>(5)))
    });
}

#[freeze]
fn kinds(generator: &mut Generator, x: &Float) -> Vec<Float> {
    let n = x.width();
    let mut other = generator.split();
    vec![
        generator.uniform(-1.0, x, n),
        generator.normal(0.0, 2.0, n),
        generator.exponential(1.0, n),
        generator.bernoulli(0.25, n).cast(),
        generator.integers(1..=6, n).cast::<f32>(),
        other.random(n),
    ]
}

// rows: F106
#[test]
fn every_distribution_draws_anew() {
    alike(frozen!(kinds), 1, || {
        let mut generator = rng(3);
        [9, 9, 30, 4].map(|n| kinds(&mut generator, &floats(n, 1)).iter().map(values).collect::<Vec<_>>())
    });
}

#[freeze]
fn shuffled(generator: &mut Generator, x: &Float) -> Float {
    generator.shuffle(x) + generator.choice(x, x.width())
}

#[test]
fn shuffles_are_of_any_width_and_others_in_each_call() {
    alike(frozen!(shuffled), 1, || {
        let mut generator = rng(3);
        [9, 9, 30, 200, 30].map(|n| values(&shuffled(&mut generator, &floats(n, 1))))
    });
}

#[freeze]
fn stepped(generator: &mut Pcg32, x: &Float) -> Float {
    let first = generator.next_f32();
    generator.advance(3);
    x * first + generator.next_normal::<f32>() + generator.next_u32_below(10).cast::<f32>()
}

// rows: F106
#[test]
fn pcg32_is_state() {
    alike(frozen!(stepped), 1, || {
        [12, 30].map(|n| {
            let mut generator = Pcg32::new(n, 5);
            [1, 2, 3].map(|salt| values(&stepped(&mut generator, &floats(n, salt))))
        })
    });
}

#[freeze]
fn blocks(generator: &mut Philox4x32, x: &Float) -> Float {
    let [a, b, c, d] = generator.next_f32x4();
    generator.advance(2);
    let [e, ..] = generator.next_f32x4();
    x + a + b * c + d * e
}

// rows: F106
#[test]
fn philox_is_state() {
    alike(frozen!(blocks), 1, || {
        [12, 30].map(|n| {
            let mut generator = Philox4x32::new(n, 5);
            [1, 2, 3, 4].map(|salt| values(&blocks(&mut generator, &floats(n, salt))))
        })
    });
}

#[freeze]
fn made_inside(x: &Float) -> [Float; 3] {
    let (mut pcg, mut philox, mut generator) = (Pcg32::new(x.width(), 5), Philox4x32::new(x.width(), 5), rng(5));
    let [block, ..] = philox.next_f32x4();
    [x + pcg.next_f32(), x + block, generator.normal(0.0, x.abs(), x.width())]
}

// rows: X22
#[test]
fn generators_that_are_made_inside_are_part_of_the_recording() {
    alike(frozen!(made_inside), 1, || [10, 25, 10].map(|n| made_inside(&floats(n, n)).map(|array| values(&array))));
}

#[freeze]
fn seeded(x: &Float, seed: u64) -> Float {
    x + rng(seed).random::<f32>(x.width())
}

#[test]
fn a_seed_of_the_host_is_that_of_the_call() {
    alike(frozen!(seeded), 3, || {
        [(4, 1), (5, 2), (6, 1), (4, 3)].map(|(n, seed)| values(&seeded(&floats(n, n), seed)))
    });
}
