//! Elements of every type and layout in both directions.

use candle_core::{Device, Shape, Tensor as Theirs, Var, WithDType};
use half::{bf16, f16};
use jit::interop::candle::{CandleElement, Exchange};
use jit::prelude::*;

use crate::devices::on_each_device;

fn there_and_back<T: CandleElement>(values: &[T]) {
    let theirs = Theirs::from_slice(values, (2, values.len() / 2), &Device::Cpu).unwrap();
    let ours = Tensor::<T>::try_from(&theirs).unwrap();
    assert_eq!((ours.shape(), &ours.to_vec().unwrap()[..]), (&[2, values.len() / 2][..], values));
    let back = ours.to_candle().unwrap();
    assert_eq!((back.dims(), back.dtype()), (theirs.dims(), T::DTYPE));
    assert_eq!(back.flatten_all().unwrap().to_vec1::<T>().unwrap(), values);
}

fn numbers<T: WithDType>(count: usize, shape: impl Into<Shape>) -> Theirs {
    let elements: Vec<T> = (0..count).map(|number| T::from_f64(number as f64)).collect();
    Theirs::from_vec(elements, shape.into(), &Device::Cpu).unwrap()
}

// rows: I01
#[test]
fn elements_of_each_type_go_there_and_back() {
    on_each_device(|| {
        there_and_back(&[0u8, 255, 7, 128]);
        there_and_back(&[0u32, u32::MAX, 7, 1 << 31]);
        there_and_back(&[i16::MIN, -1, 0, i16::MAX]);
        there_and_back(&[i32::MIN, -1, 0, i32::MAX]);
        there_and_back(&[i64::MIN, -1, 1 << 40, i64::MAX]);
        there_and_back(&[f16::MIN, f16::ONE, f16::EPSILON, f16::INFINITY]);
        there_and_back(&[bf16::MIN, bf16::ONE, bf16::EPSILON, bf16::NEG_INFINITY]);
        there_and_back(&[-0.1f32, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY]);
        there_and_back(&[-0.1f64, f64::MAX, f64::MIN_POSITIVE, 1.0, 2.0, 3.0]);
    });
}

// rows: I02
#[test]
fn layouts_of_every_kind_are_read() {
    let all = numbers::<f32>(24, (2, 3, 4));
    let layouts = [
        all.clone(),
        all.t().unwrap(),
        all.permute((2, 0, 1)).unwrap(),
        all.narrow(1, 1, 2).unwrap(),
        all.narrow(0, 1, 1).unwrap(),
        all.transpose(0, 2).unwrap().narrow(0, 1, 3).unwrap().narrow(2, 1, 1).unwrap(),
        numbers::<f32>(3, (3, 1)).broadcast_as((2, 3, 4)).unwrap(),
        numbers::<f32>(1, ()).broadcast_as((5,)).unwrap(),
        numbers::<f32>(1024, vec![2; 10]).transpose(0, 9).unwrap(),
    ];
    on_each_device(|| {
        for theirs in &layouts {
            let elements = theirs.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let ours = Tensor::<f32>::try_from(theirs).unwrap();
            assert_eq!((ours.shape(), ours.to_vec().unwrap()), (theirs.dims(), elements.clone()));
            assert_eq!(Float::from_candle(theirs).unwrap().to_vec().unwrap(), elements);
        }
    });
}

// rows: I02
#[test]
fn tensors_without_axes_and_without_elements_keep_their_shape() {
    on_each_device(|| {
        let scalar = Tensor::<f64>::try_from(&Theirs::new(2.5f64, &Device::Cpu).unwrap()).unwrap();
        assert_eq!((scalar.shape(), scalar.item().unwrap()), (&[][..], 2.5));
        let back = (scalar * 2.0).to_candle().unwrap();
        assert_eq!((back.dims(), back.to_scalar::<f64>().unwrap()), (&[][..], 5.0));
        let none = Theirs::zeros((3, 0, 2), candle_core::DType::U8, &Device::Cpu).unwrap();
        for none in [none.clone(), none.transpose(0, 2).unwrap()] {
            let ours = Tensor::<u8>::try_from(&none).unwrap();
            assert_eq!((ours.shape(), ours.to_vec().unwrap()), (none.dims(), vec![]));
            assert_eq!(ours.to_candle().unwrap().dims(), none.dims());
        }
        assert_eq!(Float::zeros(0).to_candle().unwrap().dims(), [0]);
    });
}

// rows: I02
#[test]
fn expressions_are_evaluated_and_arrays_have_one_axis() {
    on_each_device(|| {
        let ours = Tensor::<i32>::arange(6).reshape([2, 3]);
        let theirs = (ours.transpose() * 10).to_candle().unwrap();
        assert_eq!(theirs.to_vec2::<i32>().unwrap(), [[0, 30], [10, 40], [20, 50]]);
        assert_eq!(Tensor::full(7u8, [2, 2]).to_candle().unwrap().to_vec2::<u8>().unwrap(), [[7, 7], [7, 7]]);
        assert_eq!((UInt::arange(3) + 1).to_candle().unwrap().to_vec1::<u32>().unwrap(), [1, 2, 3]);
    });
}

// rows: I03
#[test]
fn neither_side_sees_what_the_other_writes_later() {
    on_each_device(|| {
        let variable = Var::from_tensor(&numbers::<f32>(16, 16)).unwrap();
        let mut ours = Tensor::<f32>::try_from(variable.as_tensor()).unwrap().into_array();
        variable.set(&variable.affine(0.0, -1.0).unwrap()).unwrap();
        assert_eq!(ours.get(3).unwrap(), 3.0);
        let theirs = ours.to_candle().unwrap();
        ours.scatter(Float::from(9.0), &UInt::from([3]));
        assert_eq!((ours.get(3).unwrap(), theirs.to_vec1::<f32>().unwrap()[3]), (9.0, 3.0));
    });
}
