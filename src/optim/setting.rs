//! Settings of optimisers: numbers that may change from step to step.

use half::f16;
use jit_core::array::Array;
use jit_core::traverse::HostValue;
use jit_runtime::ir::Type;

use crate::{Build, Float, Float64, FloatElement, LeafReader, Traverse, Visitor, VisitorMut};

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
#[derive(Clone, Debug)]
pub struct Setting {
    values: Float64,
    /// Of a setting of a group that follows that of all parameters: what it is multiplied by. The values are then those
    /// at the last look, and are computed again before they are used.
    factor: Option<Float64>,
}

impl Setting {
    /// Returns the value, or one for each element of a parameter.
    #[must_use]
    pub fn values(&self) -> &Float64 {
        &self.values
    }

    /// Returns the setting times a factor. In a group, a setting that follows that of all parameters still does, at
    /// this ratio: see [`Optimizer::with_group`](super::Optimizer::with_group).
    ///
    /// ```
    /// use jit::optim::Setting;
    ///
    /// let rate: Setting = 0.5.into();
    /// assert_eq!(rate.scaled(0.25).values().item()?, 0.125);
    /// # Ok::<(), jit::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn scaled(&self, factor: impl Into<Setting>) -> Setting {
        let _line = crate::enter();
        let by = factor.into();
        let times = |values: &Float64| values * &by.values;
        Setting { values: times(&self.values), factor: self.factor.as_ref().map(times) }
    }

    fn own(values: Float64) -> Setting {
        Setting { values, factor: None }
    }

    /// Makes the setting of a group follow that of all parameters.
    pub(super) fn follow(&mut self) {
        self.factor = Some(Float64::opaque(1.0));
    }

    /// Computes the values again of a setting of a group that follows that of all parameters.
    #[track_caller]
    pub(super) fn update(&mut self, of_all: &Setting) {
        if let Some(factor) = &self.factor {
            self.values = &of_all.values * factor;
        }
    }

    /// Returns the value in the type of a parameter.
    #[must_use]
    #[track_caller]
    pub fn of<T: FloatElement>(&self) -> Array<T> {
        self.values.cast::<T>()
    }

    /// Returns the value in the type of a parameter, or the smallest normal number of that type if it is smaller: what
    /// keeps a quotient finite is not 0 in halves.
    #[must_use]
    #[track_caller]
    pub(super) fn positive<T: FloatElement>(&self) -> Array<T> {
        match T::TYPE {
            Type::F16 => self.values.max(f64::from(f16::MIN_POSITIVE)).cast::<T>(),
            _ => self.of::<T>(),
        }
    }
}

/// The marks of settings: no identifiers, so no variants of a type of the program.
const OWN: &str = "a setting";
const FOLLOWS: &str = "a setting that follows";

impl Build for Setting {
    fn build(leaves: &mut LeafReader<'_>) -> crate::Result<Self> {
        let mark = leaves.variant()?;
        let follows = mark == FOLLOWS;
        if !follows && mark != OWN {
            return Err(leaves.wrong(mark, OWN));
        }
        let values = Float64::build(leaves)?;
        Ok(Setting { factor: follows.then(|| values.clone()), values })
    }
}

impl Traverse for Setting {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Variant(if self.factor.is_some() { FOLLOWS } else { OWN }));
        visitor.field("0", self.factor.as_ref().unwrap_or(&self.values));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.setting(self);
        visitor.field("0", self.factor.as_mut().unwrap_or(&mut self.values));
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Setting::own(Float64::opaque(value))
    }
}

impl From<f32> for Setting {
    fn from(value: f32) -> Self {
        Setting::from(f64::from(value))
    }
}

impl From<&Float> for Setting {
    fn from(values: &Float) -> Self {
        Setting::own(values.detach().cast())
    }
}

impl From<&Float64> for Setting {
    fn from(values: &Float64) -> Self {
        Setting::own(values.detach())
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
