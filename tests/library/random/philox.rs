//! Philox4x32 against the known-answer vectors of the Random123 library.

use jit::prelude::*;
use jit::random::{Philox4x32, philox4x32};

use super::statistics::{assert_distributed, assert_uncorrelated};
use crate::devices::on_each_device;

#[test]
fn words_are_those_of_random123() {
    let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
    let (zero, one) = (([0; 4], [0; 2]), ([u32::MAX; 4], [u32::MAX; 2]));
    let pi = (pi, [0xa409_3822, 0x299f_31d0]);
    let vectors = [
        (7, zero, [0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48]),
        (7, one, [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662]),
        (7, pi, [0x4dfc_caba, 0x190a_87f0, 0xc473_62ba, 0xb6b5_242a]),
        (10, zero, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        (10, one, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (10, pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
    ];
    on_each_device(|| {
        for (rounds, (counter, key), wanted) in vectors {
            let words = philox4x32(&counter.map(UInt::opaque), &key.map(UInt::opaque), rounds);
            jit::eval(&words).unwrap();
            assert_eq!(words.map(|word| word.item().unwrap()), wanted, "{rounds} rounds");
        }
    });
}

#[test]
fn draws_are_blocks_of_counters_under_the_seed() {
    let seed = 0x299f_31d0_a409_3822;
    let stream = UInt64::from([0x0370_7344_1319_8a2e]);
    let mut rng = Philox4x32::seeded(UInt64::opaque(seed), &stream);
    rng.advance(0x85a3_08d3_243f_6a88);
    let words = rng.clone().next_u32x4().map(|word| word.item().unwrap());
    assert_eq!(words, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    assert_eq!(rng.clone().next_u64x2()[1].item().unwrap(), 0x2412_6ea1_5001_e420);
    let fewer = rng.with_rounds(7).next_u32x4().map(|word| word.item().unwrap());
    assert_eq!(fewer, [0x4dfc_caba, 0x190a_87f0, 0xc473_62ba, 0xb6b5_242a]);
}

#[test]
fn advancing_is_drawing() {
    on_each_device(|| {
        let mut rng = Philox4x32::new(5, 1);
        let mut ahead = rng.clone();
        ahead.advance(2);
        drop((rng.next_u32x4(), rng.next_u32x4()));
        let [wanted, ..] = rng.next_u32x4();
        assert_eq!(ahead.next_u32x4()[0].to_vec().unwrap(), wanted.to_vec().unwrap());
        ahead.advance(1_u64.wrapping_neg());
        assert_eq!(ahead.next_u32x4()[0].to_vec().unwrap(), wanted.to_vec().unwrap());
    });
}

#[test]
#[should_panic(expected = "Philox4x32 cannot have 3 rounds; it takes 4 to 16")]
fn too_few_rounds_are_refused() {
    drop(Philox4x32::new(1, 0).with_rounds(3));
}

#[jit]
fn sum_of_draws(rng: &mut Philox4x32, draws: &UInt) -> Float {
    let (mut sum, mut i) = (Float::from(0.0), UInt::from(0));
    while i < draws {
        let [a, ..] = rng.next_f32x4();
        sum += a;
        i += 1;
    }
    sum
}

#[test]
fn loops_draw_what_separate_calls_draw() {
    on_each_device(|| {
        let draws = [3_u32, 0, 5];
        let mut rng = Philox4x32::new(3, 8);
        let (sums, after) = (sum_of_draws(&mut rng, &UInt::from(draws)), rng.next_f32x4()[0].to_vec().unwrap());
        let sums = sums.to_vec().unwrap();
        let mut apart = Philox4x32::new(3, 8);
        let rows: Vec<Vec<f32>> = (0..6).map(|_| apart.next_f32x4()[0].to_vec().unwrap()).collect();
        for (lane, count) in draws.into_iter().enumerate() {
            let wanted: f32 = rows[..count as usize].iter().map(|row| row[lane]).sum();
            assert_eq!((sums[lane], after[lane]), (wanted, rows[count as usize][lane]), "lane {lane}");
        }
    });
}

#[test]
fn words_lanes_and_seeds_are_independent() {
    let (mut rng, mut other) = (Philox4x32::new(20_000, 0), Philox4x32::new(20_000, 1));
    let columns = rng.next_f32x4().into_iter().chain([other.next_f32x4()[0].clone()]);
    let columns: Vec<Vec<f64>> = columns.map(|x| x.to_vec().unwrap().into_iter().map(f64::from).collect()).collect();
    for (i, column) in columns.iter().enumerate() {
        assert_distributed(column.clone(), |x| x);
        assert_uncorrelated(&column[1..], &column[..column.len() - 1]);
        columns[..i].iter().for_each(|before| assert_uncorrelated(column, before));
    }
    let [low, high] = rng.next_f64x2();
    assert_distributed(low.to_vec().unwrap(), |x| x);
    assert_distributed(high.to_vec().unwrap(), |x| x);
}
