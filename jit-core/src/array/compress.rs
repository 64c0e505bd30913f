//! The lanes where a mask is true: their positions, and the elements of other arrays there.
//!
//! The number of these lanes is known only after the mask has been computed, so these operations evaluate it.

use jit_runtime::device::current_device;
use jit_runtime::launch::native::{self as machine, Operand};
use jit_runtime::{Error, Site, ir::Type};

use super::{Array, Element, Mask, UInt};
use crate::capture::{host_call, launches};
use crate::graph::Var;
use crate::trace::{gather, native, record};
use crate::{misuse, schedule};

impl Mask {
    /// Returns the positions of the true lanes, in ascending order. The result is as wide as there are such lanes.
    /// Therefore the mask is evaluated and counted, and the call waits for the count; the positions themselves may be
    /// written later.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Float::from([3.0, -1.0, 4.0, -1.0]);
    /// let index = x.gt(0.0).compress();
    /// assert_eq!(index.len(), 2);
    /// assert_eq!(index.to_vec()?, [0, 2]);
    /// assert_eq!(x.gather(&index).to_vec()?, [3.0, 4.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the evaluation fails ([`Mask::try_compress`] returns the error instead), or on the state of a traced loop.
    #[must_use]
    #[track_caller]
    #[doc(alias = "nonzero")]
    pub fn compress(&self) -> UInt {
        match self.try_compress() {
            Ok(positions) => positions,
            Err(error) => misuse::panic_with(error),
        }
    }

    /// Like [`Mask::compress`], but returns the error if the evaluation fails.
    ///
    /// # Errors
    ///
    /// When the mask depends on a placeholder, or its evaluation fails.
    ///
    /// # Panics
    ///
    /// On the state of a traced loop.
    #[track_caller]
    pub fn try_compress(&self) -> Result<UInt, Error> {
        native::refuse_inside_of_loops(self.var(), "compress");
        host_call::refuse_use(self.var(), Site::here());
        let (site, width) = (Site::here(), self.width());
        if width == 0 {
            return Ok(UInt::zeros(0));
        }
        if let Some(bits) = self.var().known_bits() {
            launches::refuse_reading(self.var(), site)?;
            return Ok(if bits & 1 == 0 { UInt::zeros(0) } else { UInt::arange(width) });
        }
        let _scope = self.var().devices().enter();
        launches::refuse_unknown("counts the true lanes of a mask", site)?;
        schedule::evaluate(&[self.var()], "its true lanes are counted", site)?;
        let buffer = self.var().data().expect("an array that was evaluated is in memory");
        let mask = Operand { buffer, ty: Type::Bool, len: width.value() };
        let positions = machine::compress(&mask, current_device(), Some(site)).map_err(|error| error.at(site))?;
        let width = match launches::is_recording() {
            true => launches::note_count(&mask.buffer, &positions.buffer, positions.len, site)?,
            false => positions.len.into(),
        };
        Ok(Array::from_var(record::data(Type::U32, width, positions.buffer)))
    }
}

impl<T: Element> Array<T> {
    /// Returns the elements in the lanes where a mask is true, in their order. The mask is evaluated and counted, as by
    /// [`Mask::compress`]; the elements stay lazy. An array or a mask of width 1 is repeated.
    ///
    /// To apply the same mask to several arrays, call [`Mask::compress`] once and [`Array::gather`] for each, or
    /// [`crate::array::trees::filter`].
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let x = Int::from([3, -1, 4, -1, 5]);
    /// assert_eq!(x.filter(&x.gt(3)).to_vec()?, [4, 5]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Mask::compress`], and when the widths differ.
    #[must_use]
    #[track_caller]
    pub fn filter(&self, mask: &Mask) -> Self {
        let mask = as_wide(mask, self.var());
        Array::from_var(gather::gather_repeated(self.var(), mask.width(), mask.compress().var(), None))
    }
}

/// Returns the mask, widened to the width of a value if it has width 1.
#[track_caller]
pub(crate) fn as_wide(mask: &Mask, value: &Var) -> Mask {
    let width = record::common_width([Some(value), Some(mask.var()), None]);
    Array::from_var(record::broadcast(mask.var(), width))
}
