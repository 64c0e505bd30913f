//! Conversions between arrays and host types: bytes, slices, vectors, iterators.

use half::f16;
use jit::prelude::*;
use jit::{Element, ErrorKind};

use crate::devices::on_each_device;

fn there_and_back<T: Element>(values: &[T]) {
    let bytes = T::as_bytes(values);
    let x: Array<T> = Array::from_bytes(bytes).unwrap();
    assert_eq!(x.to_vec().unwrap(), values);
    assert_eq!(x.to_bytes().unwrap(), bytes);
    assert_eq!(&*x.view().unwrap(), values);
    let mut slice = vec![T::default(); values.len()];
    x.read_into(&mut slice).unwrap();
    assert_eq!(slice, values);
    assert_eq!(values.iter().collect::<Array<T>>().to_vec().unwrap(), values);
    assert_eq!(values.iter().copied().collect::<Array<T>>().to_vec().unwrap(), values);
    assert_eq!(Array::from(values.to_vec().into_boxed_slice()).to_vec().unwrap(), values);
    assert_eq!(Vec::try_from(&x).unwrap(), values);
    assert_eq!(Vec::try_from(x.clone()).unwrap(), values);
    let [first, second, third]: [T; 3] = x.try_into().unwrap();
    assert_eq!([first, second, third], values);
}

#[test]
fn elements_of_every_type_go_to_the_host_and_back() {
    on_each_device(|| {
        there_and_back(&[true, false, true]);
        there_and_back(&[-1_i8, 0, 127]);
        there_and_back(&[-300_i16, 0, 300]);
        there_and_back(&[i32::MIN, 0, 1]);
        there_and_back(&[i64::MIN, 0, 1]);
        there_and_back(&[0_u8, 1, 255]);
        there_and_back(&[0_u16, 1, u16::MAX]);
        there_and_back(&[0_u32, 1, u32::MAX]);
        there_and_back(&[0_u64, 1, u64::MAX]);
        there_and_back(&[0.5, -0.0, 65504.0].map(f16::from_f32));
        there_and_back(&[0.5, -0.0, 1e30].map(half::bf16::from_f32));
        there_and_back(&[0.5_f32, -0.0, f32::INFINITY]);
        there_and_back(&[0.5_f64, -0.0, 5e-324]);
    });
}

#[test]
fn arrays_without_memory_are_viewed_too() {
    on_each_device(|| {
        assert_eq!(&*Float::full(2.5, 3).view().unwrap(), [2.5; 3]);
        assert_eq!(&*Int::opaque(7).view().unwrap(), [7]);
        assert_eq!(&*(Float::arange(0) + 1.0).view().unwrap(), [0.0; 0]);
        let mut values = [0; 4];
        UInt::full(9, 4).read_into(&mut values).unwrap();
        assert_eq!(values, [9; 4]);
    });
}

/// Whether arrays of the current device are in memory of the host, so that views need no copy.
fn shares_memory() -> bool {
    jit_runtime::device::capabilities(jit_runtime::device::current_device()).unwrap().shares_host_memory
}

#[test]
fn a_view_is_the_memory_itself() {
    on_each_device(|| {
        if !shares_memory() {
            return;
        }
        let x = Float::arange(1000) * 2.0;
        let (first, second) = (x.view().unwrap(), x.view().unwrap());
        assert_eq!((first.as_ptr(), first.len(), first[999]), (second.as_ptr(), 1000, 1998.0));
        assert_eq!(first.as_ptr().align_offset(64), 0);
        assert_eq!(format!("{:?}", UInt::from([1, 2]).view().unwrap()), "[1, 2]");
        drop(x);
        assert_eq!(first.iter().sum::<f32>(), 999_000.0);
    });
}

#[test]
fn a_view_keeps_its_elements_when_the_array_is_written() {
    on_each_device(|| {
        if !shares_memory() {
            return;
        }
        let mut x = Int::arange(100) + 0;
        let view = x.view().unwrap();
        x.scatter(-1, &UInt::arange(100));
        assert_eq!(x.to_vec().unwrap(), [-1; 100]);
        assert!(view.iter().copied().eq(0..100));
        let at = view.as_ptr();
        drop(view);
        // Without another owner the elements are overwritten in place.
        let before = x.view().unwrap().as_ptr();
        x.scatter(5, &UInt::from([3]));
        let after = x.view().unwrap();
        assert_eq!((after.as_ptr(), after[3], after[4]), (before, 5, -1));
        assert_ne!(at, before);
    });
}

#[test]
fn views_are_read_while_other_threads_compute() {
    on_each_device(|| {
        let x = UInt::arange(100_000) * 3;
        let view = x.view().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (x, view) = (&x, &view);
                scope.spawn(move || {
                    let sum = (x + thread).sum().item().unwrap();
                    let wanted = view.iter().fold(0_u32, |sum, v| sum.wrapping_add(v + thread));
                    assert_eq!(sum, wanted);
                });
            }
        });
    });
}

#[test]
fn wrong_lengths_are_errors_that_state_them() {
    let error = Float::from_bytes(&[0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("10 bytes are not a whole number of elements of f32, which take 4 each"),
        "{error}"
    );
    assert!(error.site().unwrap().file().ends_with("interop.rs"));
    let error = Float::zeros(3).read_into(&mut [0.0; 2]).unwrap_err();
    assert!(error.to_string().contains("width 3 does not fit a slice of 2"), "{error}");
    assert!(<[f32; 4]>::try_from(Float::zeros(3)).is_err());
    assert!(Float::placeholder(3).view().is_err());
    assert!(Float::placeholder(3).read_into(&mut [0.0; 3]).is_err());
}

#[test]
fn bytes_that_are_not_truth_values_become_some() {
    on_each_device(|| {
        let mask = Mask::from_bytes(&[0, 1, 2, 255]).unwrap();
        assert_eq!(mask.to_bytes().unwrap(), [0, 1, 1, 1]);
        assert_eq!(mask.count().item().unwrap(), 3);
    });
}

#[test]
fn values_made_of_arrays_become_opaque() {
    on_each_device(|| {
        let x = Float::arange(3) + 1.0;
        let (a, (b, c)) = jit::trees::make_opaque(&(&x * 2.0, (Int::from(3), &x + 4.0)));
        assert!(a.is_evaluated() && c.is_evaluated() && !b.is_literal());
        assert_eq!(
            (a.to_vec().unwrap(), b.item().unwrap(), c.to_vec().unwrap()),
            (vec![2.0, 4.0, 6.0], 3, vec![5.0, 6.0, 7.0])
        );
    });
}
