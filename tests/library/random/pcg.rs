//! PCG32 against O'Neill's library and the same generator in plain Rust.

use half::{bf16, f16};
use jit::prelude::*;
use jit::random::Pcg32;

use super::statistics::{assert_distributed, assert_equally_frequent, assert_uncorrelated, normal_distribution};
use crate::devices::on_each_device;

/// `pcg32_random_r` of O'Neill's library.
struct Reference {
    state: u64,
    increment: u64,
}

impl Reference {
    fn new(state: u64, stream: u64) -> Self {
        let mut reference = Reference { state: 0, increment: stream << 1 | 1 };
        reference.next();
        reference.state = reference.state.wrapping_add(state);
        reference.next();
        reference
    }

    fn next(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(self.increment);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    fn below(&mut self, bound: u32) -> u32 {
        let excess = bound.wrapping_neg() % bound;
        loop {
            let word = self.next();
            if word >= excess {
                return word % bound;
            }
        }
    }
}

#[test]
fn words_are_those_of_the_published_demonstration() {
    on_each_device(|| {
        let mut rng = Pcg32::seeded(42, 54);
        let words: Vec<u32> = (0..6).map(|_| rng.next_u32().item().unwrap()).collect();
        assert_eq!(words, [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e]);
    });
}

#[test]
fn the_default_generator_begins_as_dr_jits() {
    on_each_device(|| {
        let first = Pcg32::default();
        assert_eq!(first.clone().next_f32().item().unwrap(), 0.108_378_65);
        let normal: Float = first.clone().next_normal();
        assert!((normal.item().unwrap() + 1.235_196_7).abs() < 1e-6);
        assert_eq!(Pcg32::new(3, Pcg32::DEFAULT_STATE).next_f32().get(0).unwrap(), 0.108_378_65);
    });
}

#[test]
fn lanes_do_not_depend_on_their_number() {
    let draw = |width: usize| {
        let mut rng = Pcg32::new(width, 5);
        drop(rng.next_u32());
        rng.next_u64().to_vec().unwrap()
    };
    let many = draw(100);
    assert_eq!(many[..7], draw(7));
    let different: std::collections::BTreeSet<_> = many.iter().collect();
    assert_eq!(different.len(), 100);
    assert_ne!(many[..7], Pcg32::new(7, 6).next_u64().to_vec().unwrap()[..]);
}

#[test]
fn streams_follow_the_reference_in_every_lane() {
    on_each_device(|| {
        let (states, streams): (Vec<u64>, Vec<u64>) = (0..20).map(|i| (i * i * 977, u64::MAX / 40 * i)).unzip();
        let mut rng = Pcg32::seeded(UInt64::from(&states), UInt64::from(&streams));
        let mut wanted: Vec<Reference> = states.iter().zip(&streams).map(|(&a, &b)| Reference::new(a, b)).collect();
        for _ in 0..3 {
            let words: Vec<u32> = wanted.iter_mut().map(Reference::next).collect();
            assert_eq!(rng.next_u32().to_vec().unwrap(), words);
        }
        // Bounds that reject about half, none and almost none of the words.
        let bounds: Vec<u32> = (0..20).map(|i| [0x8000_0001, 1, 6, 1 << 20][i % 4]).collect();
        for _ in 0..4 {
            let numbers: Vec<u32> = wanted.iter_mut().zip(&bounds).map(|(rng, &bound)| rng.below(bound)).collect();
            assert_eq!(rng.next_u32_below(UInt::from(&bounds)).to_vec().unwrap(), numbers);
        }
        let after: Vec<u32> = wanted.iter_mut().map(Reference::next).collect();
        assert_eq!(rng.next_u32().to_vec().unwrap(), after);
    });
}

#[test]
fn a_bound_of_zero_ends() {
    assert_eq!(Pcg32::seeded(42, 54).next_u32_below(0).len(), 1);
    assert_eq!(Pcg32::seeded(42, 54).next_u32_below(1).item().unwrap(), 0);
    assert!(Pcg32::new(50, 1).next_u64_below((1 << 63) + 1).to_vec().unwrap().iter().all(|&x| x <= 1 << 63));
}

#[test]
fn jumps_go_both_ways_and_are_measured() {
    on_each_device(|| {
        let begin = Pcg32::new(4, 9);
        let mut walked = begin.clone();
        for _ in 0..5 {
            drop(walked.next_u32());
        }
        let mut jumped = begin.clone();
        jumped.advance(5);
        assert_eq!(jumped.distance(&begin).to_vec().unwrap(), [5; 4]);
        assert_eq!(begin.distance(&jumped).to_vec().unwrap(), [-5; 4]);
        assert_eq!(jumped.next_u32().to_vec().unwrap(), walked.next_u32().to_vec().unwrap());
        // A different jump for each lane.
        let far = [1_i64 << 40, -1, 0, i64::MIN];
        let mut there = begin.clone();
        there.advance(Int64::from(far));
        assert_eq!(there.distance(&begin).to_vec().unwrap(), far);
        there.advance(-Int64::from(far));
        assert_eq!(there.clone().next_u32().to_vec().unwrap(), begin.clone().next_u32().to_vec().unwrap());
    });
}

#[jit]
fn mean_of(rng: &mut Pcg32, draws: &UInt) -> Float {
    let (mut sum, mut i) = (Float::from(0.0), UInt::from(0));
    while i < draws {
        sum += rng.next_f32();
        i += 1;
    }
    sum / draws.cast::<f32>()
}

#[test]
fn lanes_that_exited_a_loop_stop_drawing() {
    on_each_device(|| {
        let mut rng = Pcg32::new(3, 11);
        let begin = rng.clone();
        let means = mean_of(&mut rng, &UInt::from([1, 1000, 7])).to_vec().unwrap();
        assert_eq!(rng.distance(&begin).to_vec().unwrap(), [1, 1000, 7]);
        assert_eq!(means[0], begin.clone().next_f32().get(0).unwrap());
        assert!((means[1] - 0.5).abs() < 0.04, "{means:?}");
    });
}

#[test]
fn numbers_are_uniform_in_every_type_and_lanes_are_independent() {
    let mut rng = Pcg32::new(20_000, 3);
    let (single, double) = (rng.next_f32(), rng.next_f64());
    let (half, brain) = (rng.next_float::<f16>(), rng.next_float::<bf16>());
    let (previous, normal): (Float, Float64) = (rng.next_float(), rng.next_normal());
    jit::eval(&(&single, &double, &half, &brain, &previous, &normal)).unwrap();
    let single: Vec<f64> = single.to_vec().unwrap().into_iter().map(f64::from).collect();
    let double = double.to_vec().unwrap();
    let previous: Vec<f64> = previous.to_vec().unwrap().into_iter().map(f64::from).collect();
    assert_distributed(single.clone(), |x| x);
    assert_distributed(double.clone(), |x| x);
    assert_distributed(normal.to_vec().unwrap(), normal_distribution);
    assert_equally_frequent(half.to_vec().unwrap().iter().map(|x| (x.to_f32() * 2048.0) as usize), 2048);
    assert_equally_frequent(brain.to_vec().unwrap().iter().map(|x| (x.to_f32() * 256.0) as usize), 256);
    assert!(single.iter().chain(&double).all(|x| (0.0..1.0).contains(x)));
    assert_uncorrelated(&single, &double);
    assert_uncorrelated(&single, &previous);
    assert_uncorrelated(&single[1..], &single[..single.len() - 1]);
    // Neighbouring lanes in the unit square.
    let cell = |pair: &[f64]| (pair[0] * 16.0) as usize * 16 + (pair[1] * 16.0) as usize;
    assert_equally_frequent(single.chunks_exact(2).map(cell), 256);
}
