//! Gathers.

use jit::prelude::*;
use jit::trees;

use crate::{on_each_device, resident};

// rows: C153 C297 C298 C299
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

// rows: C153 C296
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

// rows: C155 C159
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
fn an_array_without_elements_gives_zeros() {
    on_each_device(|| {
        assert_eq!(Float::from(Vec::new()).gather(&UInt::from([0, 1])).to_vec().unwrap(), [0.0, 0.0]);
        assert_eq!(resident([0.0_f32; 0]).gather(&UInt::from(0)).to_vec().unwrap(), [0.0]);
    });
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
        // No index is below zero, which is known, but the result still has a value for each lane.
        assert_eq!(guarded(&none, &UInt::from([0, 3])).to_vec().unwrap(), [-1.0, -1.0]);
        assert_eq!(guarded(&Float::from([5.0, 6.0]), &UInt::from([0, 3])).to_vec().unwrap(), [5.0, -1.0]);
        let mask = Mask::opaque(false);
        assert_eq!(none.gather_masked(&UInt::from([4, 5]), &mask).to_vec().unwrap(), [0.0, 0.0]);
    });
}

// rows: C300 C301 C307
#[test]
fn a_source_of_width_one_has_its_element_at_position_zero() {
    on_each_device(|| {
        let index = UInt64::from([0, 12, 0, 1 << 40]);
        assert_eq!(resident([7_u16]).gather(&index).to_vec().unwrap(), [7, 0, 7, 0]);
        let mask = Mask::from([true, true, false, true]);
        assert_eq!(resident([true]).gather_masked(&index, &mask).to_vec().unwrap(), [true, false, false, false]);
        assert_eq!(Int::opaque(-3).gather(&index).to_vec().unwrap(), [-3, 0, -3, 0]);
        assert_eq!(Float::from([1.0]).gather(&Int::from([0, 5, -9])).to_vec().unwrap(), [1.0, 0.0, 0.0]);
    });
}

#[test]
fn leaves_of_width_one_are_shared_by_all_elements_of_a_value() {
    on_each_device(|| {
        let (x, shared) = trees::gather(&(resident([1, 2, 3]), resident([9])), &Int::from([2, 0, 3, -1]));
        assert_eq!(x.to_vec().unwrap(), [3, 1, 0, 0]);
        assert_eq!(shared.to_vec().unwrap(), [9, 9, 0, 0]);
        let (a, b) = trees::gather(&(Int::from(4), resident([9])), &Int::from([0, 1]));
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![4, 0], vec![9, 0]));
        let v = jit::linalg::Vec2::new(resident([1.0_f32, 2.0]), Float::opaque(5.0)).gather(&UInt::from([1, 0, 2]));
        assert_eq!(v.to_vec().unwrap(), [[2.0, 5.0], [1.0, 5.0], [0.0, 0.0]]);
        let filtered = trees::filter(&(Int::from(4), resident([9])), &Mask::from([true, false, true]));
        assert_eq!((filtered.0.to_vec().unwrap(), filtered.1.to_vec().unwrap()), (vec![4, 4], vec![9, 9]));
        assert_eq!(resident([6]).filter(&Mask::from([false, true, true])).to_vec().unwrap(), [6, 6]);
        assert_eq!(resident([6]).sort_by_key(&Float::from([2.0, 1.0])).to_vec().unwrap(), [6, 6]);
        assert_eq!(resident([6]).tile(3).to_vec().unwrap(), [6, 6, 6]);
        assert_eq!(Int::concat(&[resident([6]), resident([1, 2]), Int::opaque(3)]).to_vec().unwrap(), [6, 1, 2, 3]);
    });
}

// rows: C208
#[test]
fn a_literal_index_reads_as_any_other() {
    on_each_device(|| {
        let source = resident([1.5_f32, 2.5, 3.5]);
        for (index, expected) in [(0, 1.5), (1, 2.5), (2, 3.5), (3, 0.0), (u32::MAX, 0.0)] {
            assert_eq!(source.gather(&UInt::from(index)).item().unwrap(), expected);
        }
        assert_eq!(source.gather(&Int::from(-1)).item().unwrap(), 0.0);
        // Known values are computed while tracing.
        assert!(source.gather(&Int8::from(-1)).is_literal());
    });
}

// rows: C306
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

// rows: C308 C309
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

// rows: C206
#[test]
fn lanes_that_do_not_run_a_loop_gather_nothing() {
    on_each_device(|| {
        let source = resident([0_u32, 1, 2]);
        let index = UInt::from([1_000_000_000, 1, u32::MAX]);
        assert_eq!(read_below(&source, &index).to_vec().unwrap(), [0, 3 + 5, 0]);
    });
}

// rows: C207
// one device: the interpreter takes minutes for so many elements
#[test]
fn arrays_of_more_than_2_to_the_28_elements_are_gathered_from() {
    // One byte each; half of the address range of 32-bit offsets of four bytes is beyond 2^28.
    if !crate::tested_devices::has_llvm() {
        return;
    }
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
