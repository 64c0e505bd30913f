//! Searching sorted arrays, and reductions of segments, against plain Rust.

use jit::prelude::*;

use crate::devices::on_each_device;

fn hashed(count: usize, below: u32) -> Vec<u32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 9) % below).collect()
}

#[test]
fn positions_in_sorted_arrays_are_those_of_a_binary_search() {
    on_each_device(|| {
        for length in [1, 2, 3, 7, 8, 9, 100, 1000] {
            let mut table = hashed(length, 60);
            table.sort_unstable();
            let values = hashed(300, 64);
            let (x, v) = (UInt::from(table.clone()), UInt::from(values.clone()));
            let of = |is_before: fn(&u32, u32) -> bool| {
                values.iter().map(|&v| table.partition_point(|t| is_before(t, v)) as u32).collect::<Vec<_>>()
            };
            assert_eq!(x.searchsorted(&v).to_vec().unwrap(), of(|t, v| *t < v), "{length}");
            assert_eq!(x.searchsorted_right(&v).to_vec().unwrap(), of(|t, v| *t <= v), "{length}");
            let signed = (x.cast::<i64>() - 30).searchsorted(&(v.cast::<i64>() - 30));
            assert_eq!(signed.to_vec().unwrap(), of(|t, v| *t < v), "{length}");
        }
        let v = Float::from([f32::NEG_INFINITY, -0.0, 0.0, 1.0, f32::INFINITY, f32::NAN]);
        let table = Float::from([-1.0, 0.0, f32::INFINITY, f32::NAN, f32::NAN]);
        assert_eq!(table.searchsorted(&v).to_vec().unwrap(), [0, 1, 1, 2, 2, 3]);
        assert_eq!(table.searchsorted_right(&v).to_vec().unwrap(), [0, 2, 2, 2, 3, 5]);
        assert_eq!(Float::zeros(0).searchsorted(&v).to_vec().unwrap(), [0; 6]);
        assert_eq!(table.searchsorted(&Float::zeros(0)).len(), 0);
        assert_eq!(table.searchsorted(&Float::from(0.5)).to_vec().unwrap(), [2]);
    });
}

#[jit]
fn counted_below(table: &Float, x: &Float) -> UInt {
    let mut count = UInt::from(0);
    if x > 0.25 {
        count = table.searchsorted(x);
    }
    count
}

#[test]
fn sorted_arrays_are_searched_in_branches_and_frozen() {
    #[freeze]
    fn frozen(table: &Float, x: &Float) -> UInt {
        counted_below(table, x) + table.searchsorted_right(x)
    }
    on_each_device(|| {
        frozen::clear();
        for length in [5_usize, 90, 1000] {
            let (table, x) = (Float::linspace(0.0, 1.0, length), Float::from([0.1, 0.5, 2.0]));
            let plain: Vec<f32> = table.to_vec().unwrap();
            let place = |x: f32| plain.partition_point(|&t| t < x) as u32;
            let wanted = [0.1_f32, 0.5, 2.0].map(|x| {
                let right = plain.partition_point(|&t| t <= x) as u32;
                right + if x > 0.25 { place(x) } else { 0 }
            });
            assert_eq!(frozen(&table, &x).to_vec().unwrap(), wanted);
        }
    });
}

#[test]
fn segments_are_reduced_by_number_and_by_range() {
    on_each_device(|| {
        let (values, keys) = (hashed(5000, 1000), hashed(5000, 45));
        let mut sums = vec![0_u32; 40];
        let mut largest = vec![0_u32; 40];
        for (&value, &key) in values.iter().zip(&keys).filter(|(_, key)| **key < 40) {
            sums[key as usize] += value;
            largest[key as usize] = largest[key as usize].max(value);
        }
        let (x, k) = (UInt::from(values.clone()), UInt::from(keys));
        assert_eq!(x.segment_sum(&k, 40).to_vec().unwrap(), sums);
        assert_eq!(x.segment_reduce(ReduceOp::Max, &k, 40).to_vec().unwrap(), largest);
        assert_eq!(x.segment_sum(&(k.cast::<i32>() - 45), 3).to_vec().unwrap(), [0; 3], "all keys are negative");
        assert_eq!(x.segment_sum(&k, 0).len(), 0);
        assert_eq!(
            Float::zeros(0).segment_reduce(ReduceOp::Min, &UInt::zeros(0), 2).to_vec().unwrap(),
            [f32::INFINITY; 2]
        );

        let begins = [0, 3, 3, 10, 999, 5000, 5003];
        let ranges = begins.windows(2).map(|ends| {
            let end = ends[1].min(values.len());
            values[ends[0]..end].iter().sum::<u32>()
        });
        let list = UInt::from(begins.map(|begin| begin as u32).to_vec());
        assert_eq!(x.reduce_ranges(ReduceOp::Add, &list).to_vec().unwrap(), ranges.collect::<Vec<_>>());
        assert_eq!(x.reduce_ranges(ReduceOp::Min, &UInt::from([7, 7])).to_vec().unwrap(), [u32::MAX]);
        assert_eq!(x.reduce_ranges(ReduceOp::Add, &UInt::from([7])).len(), 0);
        let halves = Half::ones(3000).reduce_ranges(ReduceOp::Add, &UInt::from([0, 3000]));
        assert_eq!(halves.to_vec().unwrap(), [half::f16::from_f32(3000.0)], "in halves, 2048 + 1 is 2048");
    });
}

#[test]
fn rows_are_added_to_tensors() {
    on_each_device(|| {
        let mut x = Tensor::from_array(Float::zeros(12), [2, 3, 2]);
        let values = Tensor::from_array(Float::arange(16) + 1.0, [2, 4, 2]);
        x.scatter_add(1, &UInt::from([2, 0, 2, 7]), &values);
        let mut wanted = [0.0; 12];
        for (number, place) in [2, 0, 2].into_iter().enumerate() {
            for (outer, inner) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                wanted[(outer * 3 + place) * 2 + inner] += ((outer * 4 + number) * 2 + inner + 1) as f32;
            }
        }
        assert_eq!(x.to_vec().unwrap(), wanted);
        let mut counts = Tensor::from_array(UInt::zeros(3), [3]);
        counts.scatter_add(0, &UInt::from([1, 1, 2]), &Tensor::from([1_u32]));
        assert_eq!(counts.to_vec().unwrap(), [0, 2, 1]);
    });
}
