//! Low-discrepancy sequences against published points, plain Rust, and the properties that make them even.

use jit::prelude::*;
use jit::random::{halton, owen_sobol, r_sequence, r2, sobol, sobol_bits, van_der_corput};

use super::statistics::{assert_distributed, assert_uncorrelated};
use crate::devices::on_each_device;

#[test]
fn points_of_sobol_are_those_of_the_literature() {
    // The first points of `scipy.stats.qmc.Sobol` (in the order of Gray codes), dimensions 0, 1, 2, 3 and 7.
    let points = [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25, 0.25, 0.75],
        [0.25, 0.75, 0.75, 0.75, 0.25],
        [0.375, 0.375, 0.625, 0.875, 0.875],
        [0.875, 0.875, 0.125, 0.375, 0.375],
        [0.625, 0.125, 0.875, 0.625, 0.125],
        [0.125, 0.625, 0.375, 0.125, 0.625],
    ];
    on_each_device(|| {
        let position = UInt::arange(8);
        let index = &position ^ (&position >> 1);
        for (column, dimension) in [0, 1, 2, 3, 7].into_iter().enumerate() {
            let wanted: Vec<f32> = points.iter().map(|point| point[column] as f32).collect();
            assert_eq!(sobol::<f32>(&index, dimension).to_vec().unwrap(), wanted, "dimension {dimension}");
        }
    });
}

/// Checks that of 2^`digits` points, one is in each interval of that length.
#[track_caller]
fn assert_stratified(bits: &[u32], digits: u32) {
    let mut strata: Vec<u32> = bits.iter().map(|x| x >> (32 - digits)).collect();
    strata.sort_unstable();
    assert!(strata.into_iter().eq(0..1 << digits));
}

#[test]
fn every_dimension_of_sobol_is_stratified() {
    let index = UInt::arange(256);
    for dimension in 0..64 {
        assert_stratified(&sobol_bits(&index, dimension).to_vec().unwrap(), 8);
        let scrambled: Float64 = owen_sobol(&index, dimension, 77);
        let bits: Vec<u32> = scrambled.to_vec().unwrap().iter().map(|x| (x * 2f64.powi(32)) as u32).collect();
        assert_stratified(&bits, 8);
    }
}

#[test]
fn two_dimensions_of_sobol_fill_every_elementary_rectangle() {
    let index = UInt::arange(64);
    let plain: [Float; 2] = [sobol(&index, 0), sobol(&index, 1)];
    let scrambled: [Float; 2] = [owen_sobol(&index, 0, 5), owen_sobol(&index, 1, 5)];
    for [x, y] in [plain, scrambled] {
        let (x, y) = (x.to_vec().unwrap(), y.to_vec().unwrap());
        for columns in [1, 2, 4, 8, 16, 32, 64] {
            let rows = 64 / columns;
            let cell = |(x, y): (&f32, &f32)| (x * columns as f32) as usize * rows + (y * rows as f32) as usize;
            let mut cells: Vec<usize> = x.iter().zip(&y).map(cell).collect();
            cells.sort_unstable();
            assert!(cells.into_iter().eq(0..64), "{columns} by {rows}");
        }
    }
}

#[test]
fn scrambling_makes_points_random() {
    // One point under many seeds is uniform, and independent of its other coordinates and of those of other points.
    let seed = UInt::arange(20_000);
    let columns: Vec<Vec<f64>> = [(0, 0), (0, 1), (3, 2), (4, 5)]
        .into_iter()
        .map(|(index, dimension)| owen_sobol(&UInt::from(index), dimension, &seed).to_vec().unwrap())
        .collect();
    for (i, column) in columns.iter().enumerate() {
        assert_distributed(column.clone(), |x| x);
        assert_uncorrelated(&column[1..], &column[..column.len() - 1]);
        columns[..i].iter().for_each(|before| assert_uncorrelated(column, before));
    }
}

#[test]
fn evenness_makes_integrals_exact() {
    // ∫∫ x² y over the unit square is 1/6; random points would err by about 0.004.
    let mut index = UInt::arange(4096);
    let error = |x: Float64, y: Float64| ((&x * &x * y).mean().item().unwrap() - 1.0 / 6.0).abs();
    assert!(error(sobol(&index, 0), sobol(&index, 1)) < 4e-4);
    assert!(error(owen_sobol(&index, 0, 9), owen_sobol(&index, 1, 9)) < 2e-5);
    assert!(error(halton(&index, 0), halton(&index, 1)) < 4e-4);
    let [x, y] = r2(&index);
    assert!(error(x, y) < 4e-4);
    // Anywhere in the sequence.
    index += 1 << 31;
    let [x, y] = r2(&index);
    assert!(error(x, y) < 4e-4);
    assert!(error(halton(&index, 0), halton(&index, 1)) < 4e-4);
}

/// The digits of a number reflected at the point.
fn mirrored(mut index: u32, base: u32) -> f64 {
    let (mut sum, mut place) = (0.0, 1.0 / f64::from(base));
    while index > 0 {
        sum += f64::from(index % base) * place;
        index /= base;
        place /= f64::from(base);
    }
    sum
}

#[test]
fn halton_mirrors_digits() {
    on_each_device(|| {
        let indices: Vec<u32> = (0..100).chain([u32::MAX - 1, u32::MAX, 1 << 31]).collect();
        let index = UInt::from(&indices);
        for (dimension, base) in [(0, 2), (1, 3), (2, 5), (31, 131)] {
            let x: Float64 = halton(&index, dimension);
            for (x, &index) in x.to_vec().unwrap().into_iter().zip(&indices) {
                assert!(
                    (x - mirrored(index, base)).abs() < 2f64.powi(-31) && x < 1.0,
                    "base {base}, point {index}: {x}"
                );
            }
        }
        assert!(halton::<f32>(&index, 1).reduce_max().item().unwrap() < 1.0);
    });
    let wide: Half = van_der_corput(&UInt::arange(4096));
    assert!(wide.reduce_max().item().unwrap().to_f32() < 1.0);
}

#[test]
fn the_additive_sequence_steps_by_the_golden_ratio() {
    let x: Float64 = r_sequence(&UInt::arange(100), 1, 0);
    for (i, x) in x.to_vec().unwrap().into_iter().enumerate() {
        let wanted = (0.5 + i as f64 * 0.618_033_988_749_894_9).fract();
        assert!((x - wanted).abs() < 1e-9, "point {i}: {x} instead of {wanted}");
    }
    let [x, y] = r2::<f64>(&UInt::arange(3));
    let (x, y) = (x.to_vec().unwrap(), y.to_vec().unwrap());
    assert!((x[1] - (0.5 + 0.754_877_666_246_692_8 - 1.0)).abs() < 1e-9);
    assert!((y[2] - (0.5 + 2.0 * 0.569_840_290_998_053_3 - 1.0)).abs() < 1e-9);
}

#[test]
fn dimensions_that_are_not_there_are_refused() {
    let message = |test: fn()| *std::panic::catch_unwind(test).unwrap_err().downcast::<String>().unwrap();
    let text = message(|| drop(sobol::<f32>(&UInt::arange(4), 64)));
    assert!(text.starts_with("Sobol's sequence has no dimension 64: it has 64 dimensions"), "{text}");
    let text = message(|| drop(halton::<f32>(&UInt::arange(4), 32)));
    assert!(text.starts_with("Halton's sequence has no dimension 32: it has 32 dimensions"), "{text}");
    let text = message(|| drop(r_sequence::<f32>(&UInt::arange(4), 0, 0)));
    assert!(text.starts_with("the R sequence cannot have 0 dimensions"), "{text}");
}
