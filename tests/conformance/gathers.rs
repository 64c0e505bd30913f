//! Gathers.

use jit::prelude::*;
use jit::trees;

use crate::{message_of, on_each_device, resident};

#[test]
fn masked_off_lanes_of_a_gather_are_zero() {
    on_each_device(|| {
        let source = resident([10.0_f32, 20.0, 30.0]);
        let index = UInt::from([2, 0, 99]);
        assert_eq!(source.gather_masked(&index, &Mask::from([true, true, false])).to_vec().unwrap(), [30.0, 10.0, 0.0]);
        let flags = resident([true, false]);
        assert_eq!(flags.gather_masked(&index, &Mask::from(false)).to_vec().unwrap(), [false; 3]);
    });
}

#[test]
fn any_integer_type_is_an_index() {
    on_each_device(|| {
        let source = resident([5_i16, 6, 7]);
        assert_eq!(source.gather(&UInt8::from([2, 1])).to_vec().unwrap(), [7, 6]);
        assert_eq!(source.gather(&Int64::from([0, 2])).to_vec().unwrap(), [5, 7]);
        assert_eq!(source.gather(&UInt64::from([1, 1])).to_vec().unwrap(), [6, 6]);
        assert_eq!(source.gather(&Int8::from([1, 0])).to_vec().unwrap(), [6, 5]);
    });
}

#[test]
fn values_made_of_arrays_are_gathered_leaf_by_leaf() {
    on_each_device(|| {
        let tree = ([resident([1.0_f32, 2.0, 3.0]), resident([4.0, 5.0, 6.0])], Some(resident([true, false, true])));
        let (pair, flag) = trees::gather_masked(&tree, &UInt::from([1, 77]), &Mask::from([true, false]));
        assert_eq!(pair[0].to_vec().unwrap(), [2.0, 0.0]);
        assert_eq!(pair[1].to_vec().unwrap(), [5.0, 0.0]);
        assert_eq!(flag.unwrap().to_vec().unwrap(), [false, false]);
    });
}

#[test]
fn an_index_without_lanes_gives_an_array_without_elements() {
    on_each_device(|| {
        let none = UInt::from(Vec::new());
        assert_eq!(resident([1, 2]).gather(&none).to_vec().unwrap(), [] as [i32; 0]);
    });
}

#[test]
fn an_array_without_elements_cannot_be_gathered_from() {
    let message = message_of(|| Float::from(Vec::new()).gather(&UInt::from([0, 1])));
    assert!(message.contains("an array without elements cannot be gathered from"), "{message}");
}

#[jit]
fn position(sorted: &Float, wanted: &Float) -> UInt {
    let (mut low, mut high) = (UInt::from(0), UInt::from(sorted.width()));
    while low < high {
        let middle = (low + high) / 2;
        if sorted[middle] < wanted {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[jit]
fn guarded(list: &Float, index: &UInt) -> Float {
    if index < list.width() { list[index] } else { Float::from(-1.0) }
}

#[test]
fn an_array_without_elements_is_read_where_no_lane_gets() {
    on_each_device(|| {
        let (none, wanted) = (Float::from(Vec::new()), Float::from([0.5, 9.0]));
        assert_eq!(position(&none, &wanted).to_vec().unwrap(), [0, 0]);
        assert_eq!(position(&Float::from([1.0, 2.0, 3.0]), &wanted).to_vec().unwrap(), [0, 3]);
        // No index is below zero, which is known, and makes a value for each lane all the same.
        assert_eq!(guarded(&none, &UInt::from([0, 3])).to_vec().unwrap(), [-1.0, -1.0]);
        assert_eq!(guarded(&Float::from([5.0, 6.0]), &UInt::from([0, 3])).to_vec().unwrap(), [5.0, -1.0]);
        let mask = Mask::opaque(false);
        assert_eq!(none.gather_masked(&UInt::from([4, 5]), &mask).to_vec().unwrap(), [0.0, 0.0]);
    });
}

#[test]
fn a_source_of_width_one_ignores_the_index() {
    on_each_device(|| {
        let index = UInt64::from([0, 12, 3]);
        assert_eq!(resident([7_u16]).gather(&index).to_vec().unwrap(), [7; 3]);
        let mask = Mask::from([true, false, true]);
        assert_eq!(resident([true]).gather_masked(&index, &mask).to_vec().unwrap(), [true, false, true]);
        assert_eq!(Int::opaque(-3).gather(&index).to_vec().unwrap(), [-3; 3]);
    });
}

#[test]
fn a_literal_index_is_checked_while_tracing() {
    on_each_device(|| {
        let source = resident([1.5_f32, 2.5, 3.5]);
        for (index, expected) in [(0, 1.5), (1, 2.5), (2, 3.5)] {
            assert_eq!(source.gather(&UInt::from(index)).item().unwrap(), expected);
        }
        let message = message_of(|| source.gather(&UInt::from(3)));
        assert!(message.contains("element 3 is outside of an array of width 3"), "{message}");
        let message = message_of(|| source.gather(&Int::from(-1)));
        assert!(message.contains("element -1 is outside"), "{message}");
    });
}

#[test]
fn a_gather_from_an_expression_computes_it_at_the_index() {
    on_each_device(|| {
        let expression = Float::arange(1000) * 2.0 + 1.0;
        let gathered = expression.gather(&UInt::from([3, 999]));
        assert!(!expression.is_evaluated());
        assert_eq!(gathered.to_vec().unwrap(), [7.0, 1999.0]);
        assert!(!expression.is_evaluated());
    });
}

#[test]
fn gathers_in_an_expression_that_is_gathered_from_keep_their_masks() {
    on_each_device(|| {
        let source = resident([3_u32, 5, 6, 7, 8, 9]);
        let shifted = source.gather(&(UInt::arange(4) + 1));
        assert_eq!(shifted.gather(&UInt::from([0, 1, 2, 3])).to_vec().unwrap(), [5, 6, 7, 8]);
        let inner = source.gather_masked(&(UInt::arange(4) * 100), &Mask::from([true, false, false, false]));
        let outer = inner.gather_masked(&UInt::from([1, 0, 2, 80]), &Mask::from([true, true, true, false]));
        assert_eq!(outer.to_vec().unwrap(), [0, 3, 0, 0]);
    });
}

#[jit]
fn read_below(source: &UInt, index: &UInt) -> UInt {
    let doubled = source * 2 + 1;
    let mut sum = index.zeros_like();
    let mut i = index.clone();
    while i < 3 {
        sum += doubled.gather(&i);
        i += 1;
    }
    sum
}

#[test]
fn lanes_that_do_not_run_a_loop_gather_nothing() {
    on_each_device(|| {
        let source = resident([0_u32, 1, 2]);
        let index = UInt::from([1_000_000_000, 1, u32::MAX]);
        assert_eq!(read_below(&source, &index).to_vec().unwrap(), [0, 3 + 5, 0]);
    });
}

#[test]
fn arrays_of_more_than_2_to_the_28_elements_are_gathered_from() {
    // One byte each; half of the address range of 32-bit offsets of four bytes lies beyond 2^28.
    jit::with_device(Device::Cpu, || {
        let n = (1_usize << 28) + 1;
        let source = UInt::arange(n).cast::<u8>();
        jit::eval(&source).unwrap();
        let index = [0, (1 << 28) - 1, 1 << 28, 77_777_777];
        let expected = index.map(|i: u32| i as u8);
        assert_eq!(source.gather(&UInt::from(index)).to_vec().unwrap(), expected);
        assert_eq!(source.gather(&UInt::from(index).cast::<i64>()).to_vec().unwrap(), expected);
    });
}
