//! What cannot be converted or differentiated is an error, and says what to do.

use candle_core::{CudaStorage, CustomOp1, CustomOp2, CustomOp3, Device, Layout, MetalStorage, Tensor as Theirs, Var};
use jit::ErrorKind;
use jit::interop::candle::{self, function};
use jit::prelude::*;

fn doubled(x: &Tensor<f32>) -> Tensor<f32> {
    x * 2.0
}

#[track_caller]
fn contains(error: impl ToString, parts: &[&str]) {
    let error = error.to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

// rows: I04
// no device: nothing is computed
#[test]
fn elements_of_another_type_are_refused() {
    let theirs = Theirs::new(&[1i64, 2], &Device::Cpu).unwrap();
    let (line, error) = (line!(), Tensor::<f32>::try_from(&theirs).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Not in the text: that of candle has a backtrace, if programs want one, with the same line.
    assert_eq!(error.site().map(|site| (site.file(), site.line())), Some((file!(), line)));
    contains(error, &["elements of type f32", "I64", "to_dtype"]);
    let error = theirs.apply_op1(function("doubled", doubled)).unwrap_err();
    contains(error, &["elements of type f32", "I64", "to_dtype"]);
}

// rows: I04
// no device: nothing is computed
#[test]
fn shapes_of_more_elements_than_arrays_have_are_refused() {
    let theirs = Theirs::new(1u8, &Device::Cpu).unwrap().broadcast_as((1 << 20, 1 << 12)).unwrap();
    contains(Tensor::<u8>::try_from(&theirs).unwrap_err(), &["[1048576, 4096]", "at most 4294967295 elements"]);
}

// rows: I04
// no device: nothing is computed
#[test]
fn memory_of_a_gpu_is_refused_by_name() {
    let layout = Layout::contiguous(1);
    let parts = |device| ["`sum of all`", device, "to_device(&candle_core::Device::Cpu)"];
    let one = function("sum of all", doubled);
    contains(one.cuda_fwd(&CudaStorage, &layout).unwrap_err(), &parts("CUDA"));
    contains(one.metal_fwd(&MetalStorage, &layout).unwrap_err(), &parts("Metal"));
    let two = function("sum of all", |x: &Tensor<f32>, y: &Tensor<f32>| x + y);
    contains(two.cuda_fwd(&CudaStorage, &layout, &CudaStorage, &layout).unwrap_err(), &parts("CUDA"));
    let three = function("sum of all", |x: &Float, y: &Float, z: &Float| x + y + z);
    let of_three = three.cuda_fwd(&CudaStorage, &layout, &CudaStorage, &layout, &CudaStorage, &layout);
    contains(of_three.unwrap_err(), &parts("CUDA"));
}

// rows: I04
// one device: the error is the same on each
#[test]
fn what_has_no_derivative_is_an_error_of_the_backward_pass() {
    let exchanged = function("exchanged", |x: &Float| {
        let mut y = x.clone();
        y.scatter_exchange(Float::from(1.0), &UInt::from([0]))
    });
    let x = Var::new(&[5.0f32, 6.0], &Device::Cpu).unwrap();
    let y = x.apply_op1(exchanged).unwrap();
    assert_eq!(y.to_vec1::<f32>().unwrap(), [5.0]);
    contains(y.backward().unwrap_err(), &["previous elements of a scatter"]);
}

// rows: I04
// no device: nothing is computed
#[test]
fn errors_of_candle_are_the_causes_of_ours() {
    let theirs = Theirs::new(&[1f32, 2.0], &Device::Cpu).unwrap();
    let error = candle::error(theirs.reshape(3).unwrap_err());
    assert!(std::error::Error::source(&error).is_some());
    contains(error, &["candle refuses", "refused.rs"]);
}
