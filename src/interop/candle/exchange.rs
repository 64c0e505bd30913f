//! Values that candle has, too: their elements go through a storage of candle and its layout.

use candle_core::{CpuStorage, DType, Layout, Shape, Storage};
use half::{bf16, f16};

use crate::interop::strides::position;
use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind, Result, Site, Traverse};

/// An element type that candle has, too: `u8`, `u32`, `i16`, `i32`, `i64`, `f16`, `bf16`, `f32` and `f64`.
///
/// ```compile_fail,E0277
/// use jit::prelude::*;
///
/// let wide = Tensor::<u64>::zeros([2]).to_candle(); // candle has no such elements
/// ```
#[diagnostic::on_unimplemented(
    message = "tensors of candle have no elements of type `{Self}`",
    note = "they have u8, u32, i16, i32, i64, f16, bf16, f32 and f64: convert the tensor by `cast`"
)]
pub trait CandleElement: Element + candle_core::WithDType {}

macro_rules! elements {
    ($($element:ty)*) => {$(impl CandleElement for $element {})*};
}

elements!(u8 u32 i16 i32 i64 f16 bf16 f32 f64);

mod sealed {
    pub trait Sealed {}

    impl<T: super::CandleElement> Sealed for super::Tensor<T> {}
    impl<T: super::CandleElement> Sealed for super::Array<T> {}
}

/// A [`Tensor`] or an [`Array`] with elements that candle has, too.
pub trait Exchange: sealed::Sealed + Traverse + Clone + Send + Sync + 'static {
    /// The type of the elements, as candle names it.
    const DTYPE: DType;

    /// Copies the elements of a tensor of candle to the current device, in row-major order: one copy if they are in
    /// this order, two otherwise. Gradients do not flow through it.
    ///
    /// # Errors
    ///
    /// When the elements are of another type or more than an array can have, when they are not in memory of the host,
    /// and when there is no memory for a copy.
    #[track_caller]
    fn from_candle(tensor: &candle_core::Tensor) -> Result<Self> {
        let (storage, layout) = tensor.storage_and_layout();
        match &*storage {
            Storage::Cpu(storage) => Self::from_storage(storage, layout),
            other => {
                let what = format!("a tensor of candle is on the device {:?}", other.device().location());
                let hint = "copy it to the host before: `tensor.to_device(&candle_core::Device::Cpu)?`";
                Err(refused(what, hint).at(Site::here()))
            }
        }
    }

    /// Returns a tensor of candle with these elements, in memory of the host. Evaluates the value, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    fn to_candle(&self) -> Result<candle_core::Tensor> {
        let (storage, shape) = self.to_storage()?;
        let none = candle_core::op::BackpropOp::none();
        Ok(candle_core::Tensor::from_storage(Storage::Cpu(storage), shape, none, false))
    }

    /// Copies the elements of a storage of candle that belong to a tensor with this layout, for operations of candle.
    ///
    /// # Errors
    ///
    /// As [`Exchange::from_candle`].
    #[track_caller]
    fn from_storage(storage: &CpuStorage, layout: &Layout) -> Result<Self>;

    /// Returns the elements as a storage of candle with its shape, for operations of candle.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    fn to_storage(&self) -> Result<(CpuStorage, Shape)>;
}

impl<T: CandleElement> Exchange for Array<T> {
    const DTYPE: DType = T::DTYPE;

    fn from_storage(storage: &CpuStorage, layout: &Layout) -> Result<Self> {
        let site = Site::here();
        copied(storage, layout).map_err(|error| error.at(site))
    }

    fn to_storage(&self) -> Result<(CpuStorage, Shape)> {
        let elements = self.to_vec()?;
        let shape = Shape::from(elements.len());
        Ok((T::to_cpu_storage_owned(elements), shape))
    }
}

impl<T: CandleElement> Exchange for Tensor<T> {
    const DTYPE: DType = T::DTYPE;

    fn from_storage(storage: &CpuStorage, layout: &Layout) -> Result<Self> {
        Ok(Tensor::from_array(Array::from_storage(storage, layout)?, layout.dims()))
    }

    fn to_storage(&self) -> Result<(CpuStorage, Shape)> {
        let (storage, _) = self.array().to_storage()?;
        Ok((storage, Shape::from(self.shape())))
    }
}

impl<T: CandleElement> TryFrom<&candle_core::Tensor> for Tensor<T> {
    type Error = Error;

    /// As [`Exchange::from_candle`].
    #[track_caller]
    fn try_from(tensor: &candle_core::Tensor) -> Result<Self> {
        Exchange::from_candle(tensor)
    }
}

impl<T: CandleElement> Tensor<T> {
    /// Returns a tensor of candle with a copy of the elements, in memory of the host. Evaluates the tensor, and waits
    /// for it. Needs the feature `candle`: see [`interop::candle`](crate::interop::candle).
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`].
    #[track_caller]
    pub fn to_candle(&self) -> Result<candle_core::Tensor> {
        Exchange::to_candle(self)
    }
}

/// Copies the elements that belong to a tensor. Errors have no line.
fn copied<T: CandleElement>(storage: &CpuStorage, layout: &Layout) -> Result<Array<T>> {
    let elements = storage.as_slice::<T>().map_err(|error| {
        let hint = "convert it before by candle's `to_dtype`, or take it with its own type and convert it by `cast`";
        refused(format!("a tensor of candle does not have elements of type {}", T::TYPE), hint).caused_by(error)
    })?;
    let count = layout.shape().elem_count();
    if u32::try_from(count).is_err() {
        let what = format!("a tensor of candle has the shape {:?}", layout.dims());
        return Err(refused(what, "an array has at most 4294967295 elements"));
    }
    match layout.contiguous_offsets() {
        Some((begin, end)) => Array::from_bytes(T::as_bytes(&elements[begin..end])),
        None => Array::from_bytes(T::as_bytes(&in_row_major_order(elements, layout, count)?)),
    }
}

/// Collects the elements of a layout with gaps, repetitions or another order of axes.
fn in_row_major_order<T: Element>(elements: &[T], layout: &Layout, count: usize) -> Result<Vec<T>> {
    let mut collected = Vec::new();
    let reserved = collected.try_reserve_exact(count);
    reserved.map_err(|error| {
        let what = format!("there is no memory for a copy of {count} elements of {}", T::TYPE);
        Error::new(ErrorKind::OutOfMemory, what).caused_by(error)
    })?;
    let strides = || layout.stride().iter().map(|&stride| stride as isize);
    let place = |number| layout.start_offset() + position(number, layout.dims(), strides()) as usize;
    collected.extend((0..count).map(|number| elements[place(number)]));
    Ok(collected)
}

fn refused(what: impl Into<String>, hint: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, what).with_hint(hint)
}
