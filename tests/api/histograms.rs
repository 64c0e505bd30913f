//! Counting elements by value and by interval.

use half::{bf16, f16};
use jit::prelude::*;

use crate::devices::on_each_device;

#[test]
fn whole_numbers_are_counted() {
    on_each_device(|| {
        let x = Int::from([0, 1, 1, 3, -1, 4, i32::MIN, i32::MAX, 3]);
        assert_eq!(x.bincount(4).to_vec().unwrap(), [1, 2, 0, 2]);
        let weights = Float::from([0.5, 1.0, 2.0, 4.0, 9.0, 9.0, 9.0, 9.0, 8.0]);
        assert_eq!(x.bincount_weighted(&weights, 4).to_vec().unwrap(), [0.5, 3.0, 0.0, 12.0]);
        assert_eq!(UInt64::from([u64::MAX, 2, 1 << 40]).bincount(3).to_vec().unwrap(), [0, 0, 1]);
        // More bins than the type has values.
        let mut wanted = vec![0; 1000];
        (wanted[255], wanted[7]) = (2, 1);
        assert_eq!(UInt8::from([255, 7, 255]).bincount(1000).to_vec().unwrap(), wanted);
        let mut wanted = vec![0; 1000];
        (wanted[127], wanted[0]) = (1, 1);
        assert_eq!(Int8::from([127, -1, -128, 0]).bincount(1000).to_vec().unwrap(), wanted);
        assert_eq!(UInt8::from([127, 128]).bincount(128).to_vec().unwrap()[127], 1);
        // Constants, and nothing.
        assert_eq!(Int::full(2, 5).bincount(3).to_vec().unwrap(), [0, 0, 5]);
        assert_eq!(Int::full(-2, 5).bincount(3).to_vec().unwrap(), [0; 3]);
        assert_eq!(Int::zeros(0).bincount(3).to_vec().unwrap(), [0; 3]);
        assert_eq!(Int::from([1]).bincount(0).len(), 0);
    });
}

#[test]
fn many_numbers_are_counted_in_one_kernel() {
    on_each_device(|| {
        let counts = (UInt::arange(100_000) % 7).bincount(7);
        assert!(!counts.is_evaluated());
        assert_eq!(counts.to_vec().unwrap(), [14_286, 14_286, 14_286, 14_286, 14_286, 14_285, 14_285]);
    });
}

#[test]
fn parts_of_an_interval_are_half_open_but_for_the_last() {
    on_each_device(|| {
        // The results of NumPy for the same input.
        let x = Float::from([0.0, 0.25, 0.5, 0.75, 1.0, -0.1, 1.1, f32::NAN, f32::INFINITY, -f32::INFINITY, 0.249]);
        assert_eq!(x.histogram(0.0, 1.0, 4).to_vec().unwrap(), [2, 1, 1, 2]);
        assert_eq!(x.histogram(0.0, 1.0, 1).to_vec().unwrap(), [6]);
        assert_eq!(x.histogram(-10.0, 10.0, 2).to_vec().unwrap(), [1, 7]);
        let weights = Int::from([1, 10, 100, 1000, 10_000, 7, 7, 7, 7, 7, 5]);
        assert_eq!(x.histogram_weighted(0.0, 1.0, &weights, 2).to_vec().unwrap(), [16, 11_100]);
        assert_eq!(Float::zeros(0).histogram(0.0, 1.0, 2).to_vec().unwrap(), [0, 0]);
    });
}

#[test]
fn every_end_of_a_part_belongs_to_the_part_that_begins_there() {
    on_each_device(|| {
        for bins in [1_usize, 3, 7, 10, 49, 1000] {
            for (low, high) in [(0.0_f32, 1.0), (-3.3, 7.1), (1e-3, 1e6), (-1.0, -0.9)] {
                let ends = Float::linspace(low, high, bins + 1).to_vec().unwrap();
                let below = ends.iter().map(|end| end.next_down());
                let x = Float::from(ends.iter().copied().chain(below).collect::<Vec<_>>());
                // Each bin contains its lower end and the value just below its upper one; the last also contains its
                // upper end.
                let mut wanted = vec![2; bins];
                wanted[bins - 1] = 3;
                assert_eq!(x.histogram(low, high, bins).to_vec().unwrap(), wanted, "{bins} parts from {low} to {high}");
            }
        }
    });
}

#[test]
fn floats_of_every_size_are_counted() {
    on_each_device(|| {
        let values = [0.0, 0.5, 1.5, 2.5, 3.0];
        assert_eq!(
            Half::from(values.map(f16::from_f64)).histogram(f16::ZERO, f16::from_f32(3.0), 3).to_vec().unwrap(),
            [2, 1, 2]
        );
        let (low, high) = (bf16::ZERO, bf16::from_f32(3.0));
        assert_eq!(BFloat::from(values.map(bf16::from_f64)).histogram(low, high, 3).to_vec().unwrap(), [2, 1, 2]);
        assert_eq!(Float64::from(values).histogram(0.0, 3.0, 3).to_vec().unwrap(), [2, 1, 2]);
        // Thousands of bins, whose numbers halves alone could not distinguish.
        let counts = (Half::arange(1000) / 1000.0).histogram(f16::ZERO, f16::ONE, 5000);
        assert_eq!(counts.sum().item().unwrap(), 1000);
    });
}

#[test]
fn intervals_without_bins_are_refused() {
    let wrong: [fn() -> UInt; 4] = [
        || Float::zeros(3).histogram(0.0, 1.0, 0),
        || Float::zeros(3).histogram(1.0, 1.0, 3),
        || Float::zeros(3).histogram(0.0, f32::NAN, 3),
        || Float::zeros(3).histogram(0.0, f32::INFINITY, 3),
    ];
    for program in wrong {
        let panic = std::panic::catch_unwind(program).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("bins over the interval from") && text.contains("histograms.rs"), "{text}");
    }
}

#[test]
fn lines_of_numbers_have_exact_ends() {
    on_each_device(|| {
        for width in 2..200_usize {
            let line = Float::linspace(-0.3, 0.7, width).to_vec().unwrap();
            assert_eq!((line[0], line[width - 1]), (-0.3, 0.7), "of width {width}");
            assert!(line.is_sorted());
        }
        assert_eq!(Float::linspace_open(0.0, 1.0, 4).to_vec().unwrap(), [0.0, 0.25, 0.5, 0.75]);
        assert_eq!(Float64::linspace_open(3.0, 1.0, 2).to_vec().unwrap(), [3.0, 2.0]);
        assert_eq!(Float::linspace_open(3.0, 1.0, 1).to_vec().unwrap(), [3.0]);
        assert_eq!(Float::linspace_open(3.0, 1.0, 0).len(), 0);
    });
}
