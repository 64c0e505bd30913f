//! Copies of arrays on other devices.

use jit_runtime::device::{self, Device};
use jit_runtime::{Error, Site};
use smallvec::smallvec;

use super::{Array, Element};
use crate::capture::{host_call, launches};
use crate::graph::Var;
use crate::graph::device::Devices;
use crate::graph::node::flag;
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::schedule;
use crate::trace::record;

impl<T: Element> Array<T> {
    /// Returns the array on a device: itself if it is there, otherwise a copy. The copy is made at once, so the array
    /// is evaluated, and waited for. Gradients flow through it, back to the device of the array.
    ///
    /// What is computed from constants alone is on no device before it is evaluated; it is evaluated on this one.
    /// Constants themselves combine with arrays on any device, and are returned as they are.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    /// use jit_runtime::device::with_device;
    ///
    /// let x = Float::from([1.0, 2.0]);
    /// let there = with_device(Device::Interpreter, || Float::from([10.0, 20.0]));
    /// let sum = x.to(Device::Interpreter)? + &there;
    /// assert_eq!(sum.device(), Device::Interpreter);
    /// assert_eq!(sum.to_vec()?, [11.0, 22.0]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// In a `#[freeze]` function such a copy is not recorded: the function then runs its body in each call.
    ///
    /// # Errors
    ///
    /// When the device cannot be used, memory is missing, or as [`Array::to_vec`] if the array cannot be evaluated.
    #[track_caller]
    pub fn to(&self, device: Device) -> Result<Self, Error> {
        transferred(&self.var, device, Site::here()).map(Array::recorded)
    }
}

/// Returns a value on a device.
pub(crate) fn transferred(var: &Var, device: Device, site: Site) -> Result<Var, Error> {
    device::check_usable(device).map_err(|error| error.at(site))?;
    let there = Devices::of(device);
    if var.known_bits().is_some() || var.devices() == there {
        return Ok(var.clone());
    }
    const WHY: &str = "it is copied to another device";
    host_call::refuse_use(var, site);
    launches::refuse_unknown("copies an array to another device", site)?;
    launches::give_up(|| "it copies an array to another device, which a replay cannot reproduce".to_owned());
    if var.devices() == Devices::NONE && !var.is_evaluated() {
        let _scope = there.enter();
        schedule::evaluate(&[var], WHY, site)?;
        return Ok(var.clone());
    }
    schedule::evaluate(&[var], WHY, site)?;
    let _scope = there.enter();
    let buffer = var.data().expect("an array that was evaluated is in memory");
    let copy = record::data_at(site, var.ty(), var.width(), buffer.copied().map_err(|error| error.at(site))?);
    if var.flags() & flag::GRAD == 0 {
        return Ok(copy);
    }
    let rule = || -> Box<dyn Rule> { Box::new(Transfer { from: var.devices().or_current(), to: device }) };
    Ok(tape::attach_one(copy, vec![var.clone()], rule, site))
}

/// The derivative of a copy: gradients are copied back.
struct Transfer {
    from: Device,
    to: Device,
}

impl Transfer {
    fn flow(value: &Option<Var>, device: Device, site: Site) -> Result<Flow, Error> {
        Ok(smallvec![value.as_ref().map(|value| transferred(value, device, site)).transpose()?])
    }
}

impl Rule for Transfer {
    fn name(&self) -> &str {
        "to"
    }

    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        Transfer::flow(&gradients[0], self.from, call.site)
    }

    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        Transfer::flow(&tangents[0], self.to, call.site)
    }
}
