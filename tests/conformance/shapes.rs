//! Arrays in another order, length or arrangement.

use jit::prelude::*;
use jit::trees;

use crate::{message_of, on_each_device, resident};

// rows: C165
#[test]
fn arrays_are_reversed() {
    on_each_device(|| {
        assert_eq!(resident([1, 2, 3]).reverse().to_vec().unwrap(), [3, 2, 1]);
        assert_eq!((Float::arange(4) * 2.0).reverse().to_vec().unwrap(), [6.0, 4.0, 2.0, 0.0]);
        assert_eq!(Mask::from(Vec::new()).reverse().len(), 0);
    });
}

// rows: C176 C177 C182
#[test]
fn arrays_are_tiled_and_repeated() {
    on_each_device(|| {
        let x = resident([1_u8, 2]);
        assert_eq!(x.tile(3).to_vec().unwrap(), [1, 2, 1, 2, 1, 2]);
        assert_eq!(x.repeat(3).to_vec().unwrap(), [1, 1, 1, 2, 2, 2]);
        assert_eq!(x.tile(1).to_vec().unwrap(), [1, 2]);
        assert!(x.tile(1).var().is_same(x.var()), "once is the array itself");
        assert_eq!(x.tile(0).len(), 0);
        assert_eq!(x.repeat(0).len(), 0);
        assert_eq!(resident([7]).tile(4).to_vec().unwrap(), [7; 4]);
    });
}

// rows: C181
#[test]
fn values_made_of_arrays_are_tiled_and_reversed() {
    on_each_device(|| {
        let tree = (resident([1, 2]), vec![resident([true, false])]);
        let lane = UInt::arange(4);
        let tiled = trees::gather(&tree, &(&lane % 2));
        assert_eq!(tiled.0.to_vec().unwrap(), [1, 2, 1, 2]);
        let repeated = trees::gather(&tree, &(lane / 2));
        assert_eq!(repeated.1[0].to_vec().unwrap(), [true, true, false, false]);
        let reversed = trees::gather(&tree, &UInt::arange(2).reverse());
        assert_eq!(reversed.0.to_vec().unwrap(), [2, 1]);
    });
}

// rows: C170 C175 C249
#[test]
fn arrays_are_sliced() {
    on_each_device(|| {
        let x = resident([10, 11, 12, 13, 14, 15]);
        assert_eq!(x.slice(1..4).to_vec().unwrap(), [11, 12, 13]);
        assert_eq!(x.slice(..2).to_vec().unwrap(), [10, 11]);
        assert_eq!(x.slice(4..).to_vec().unwrap(), [14, 15]);
        assert_eq!(x.slice(..).to_vec().unwrap(), x.to_vec().unwrap());
        assert_eq!(x.slice(3..3).len(), 0);
        let message = message_of(|| x.slice(2..7));
        assert!(message.contains('6') && message.contains('7'), "{message}");
    });
}

// rows: C230
#[test]
fn arrays_are_joined() {
    on_each_device(|| {
        let joined =
            Float::concat(&[resident([1.0, 2.0]), Float::from(Vec::new()), Float::arange(2), Float::from(9.0)]);
        assert_eq!(joined.to_vec().unwrap(), [1.0, 2.0, 0.0, 1.0, 9.0]);
        assert_eq!(Int::concat(&[resident([5, 6])]).to_vec().unwrap(), [5, 6]);
    });
}

// rows: C169
#[test]
fn meshgrids_have_both_orders() {
    on_each_device(|| {
        let (x, y) = jit::meshgrid(&resident([1.0_f32, 2.0, 3.0]), &resident([10.0_f32, 20.0]));
        assert_eq!(x.to_vec().unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        assert_eq!(y.to_vec().unwrap(), [10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
        // The other order: the last array's elements vary fastest.
        let (y, x) = jit::meshgrid(&resident([10.0_f32, 20.0]), &resident([1.0_f32, 2.0, 3.0]));
        assert_eq!(x.to_vec().unwrap(), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        assert_eq!(y.to_vec().unwrap(), [10.0, 20.0, 10.0, 20.0, 10.0, 20.0]);
        let axes = [resident([1_u32, 2]), resident([3, 4, 5]), resident([6, 7])];
        let host = |order: [usize; 3]| -> [Vec<u32>; 3] {
            let values: [Vec<u32>; 3] = std::array::from_fn(|axis| axes[axis].to_vec().unwrap());
            let mut grid: [Vec<u32>; 3] = Default::default();
            // The axis that comes first in the order varies fastest.
            for slow in &values[order[2]] {
                for middle in &values[order[1]] {
                    for fast in &values[order[0]] {
                        for (axis, value) in [(order[2], slow), (order[1], middle), (order[0], fast)] {
                            grid[axis].push(*value);
                        }
                    }
                }
            }
            grid
        };
        let [x, y, z] = &axes;
        let (a, b, c) = jit::meshgrid3(x, y, z);
        assert_eq!([a, b, c].map(|axis| axis.to_vec().unwrap()), host([0, 1, 2]));
        let (c, b, a) = jit::meshgrid3(z, y, x);
        assert_eq!([a, b, c].map(|axis| axis.to_vec().unwrap()), host([2, 1, 0]));
        let all = jit::meshgrid_all(&axes);
        assert_eq!(all.iter().map(|axis| axis.to_vec().unwrap()).collect::<Vec<_>>(), host([0, 1, 2]));
        let one = jit::meshgrid_all(&axes[1..2]);
        assert_eq!((one.len(), one[0].to_vec().unwrap()), (1, vec![3, 4, 5]));
    });
}

// rows: C245 C321
#[test]
fn masks_choose_what_is_assigned() {
    on_each_device(|| {
        let mut x = resident([1, -2, 3]);
        x = x.lt(0).select(30, &x);
        assert_eq!(x.to_vec().unwrap(), [1, 30, 3]);
        let value = resident([1.5_f32, 2.5]);
        assert_eq!(Mask::from([true, false]).select(&value, 0.0).to_vec().unwrap(), [1.5, 0.0]);
        assert_eq!(
            Mask::from([true, false]).select(UInt::from(u32::MAX), resident([1_u32, 2])).to_vec().unwrap(),
            [u32::MAX, 2]
        );
    });
}

// rows: C243
#[test]
fn elements_are_read_by_a_host_index() {
    on_each_device(|| {
        let x = resident([4.0_f32, 5.0]) * 2.0;
        assert_eq!((x.get(0).unwrap(), x.get(1).unwrap()), (8.0, 10.0));
        let error = x.get(2).unwrap_err().to_string();
        assert!(error.contains("element 2") && error.contains("width 2"), "{error}");
    });
}
