//! Settings of optimisers: numbers that may change from step to step.

use half::f16;
use jit_core::array::Array;
use jit_runtime::ir::Type;

use crate::{Float, Float64, FloatElement, Traverse};

/// A setting of an optimiser, such as its rate: an array of width 1, or one for each element of a parameter.
///
/// It never becomes part of the code. So another number needs neither another kernel nor another recording, and a
/// setting may be computed by the program, as in a schedule on the device.
///
/// ```
/// use jit::Float;
/// use jit::optim::Setting;
///
/// let from_number: Setting = 0.1.into();
/// let from_array = Setting::from(&Float::from([0.1, 0.2]));
/// assert_eq!((from_number.values().len(), from_array.values().len()), (1, 2));
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Setting(Float64);

impl Setting {
    /// Returns the value, or one for each element of a parameter.
    #[must_use]
    pub fn values(&self) -> &Float64 {
        &self.0
    }

    /// Returns the value in the type of a parameter.
    #[must_use]
    #[track_caller]
    pub fn of<T: FloatElement>(&self) -> Array<T> {
        self.0.cast::<T>()
    }

    /// Returns the value in the type of a parameter, or the smallest normal number of that type if it is smaller: what
    /// keeps a quotient finite is not 0 in halves.
    #[must_use]
    #[track_caller]
    pub(super) fn positive<T: FloatElement>(&self) -> Array<T> {
        match T::TYPE {
            Type::F16 => self.0.max(f64::from(f16::MIN_POSITIVE)).cast::<T>(),
            _ => self.of::<T>(),
        }
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Setting(Float64::opaque(value))
    }
}

impl From<f32> for Setting {
    fn from(value: f32) -> Self {
        Setting::from(f64::from(value))
    }
}

impl From<&Float> for Setting {
    fn from(values: &Float) -> Self {
        Setting(values.detach().cast())
    }
}

impl From<&Float64> for Setting {
    fn from(values: &Float64) -> Self {
        Setting(values.detach())
    }
}

impl From<Float> for Setting {
    fn from(values: Float) -> Self {
        Setting::from(&values)
    }
}

impl From<Float64> for Setting {
    fn from(values: Float64) -> Self {
        Setting::from(&values)
    }
}
