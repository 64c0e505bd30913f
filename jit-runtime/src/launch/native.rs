//! Library calls: launches that run functions of this library instead of kernels.
//!
//! Some operations are not programs of one lane: prefix reductions, sorting, matrix products, convolutions. They are
//! still launched like kernels: ordered by the buffers that they read and write, asynchronous, and in the statistics
//! under their own names. Each machine has its own functions for them; their results have the same bits.

use crate::config::Device;
use crate::log;
use crate::machine::{self, Batch, Machine, fork, library};
use crate::{Error, Site, stats};

pub use crate::machine::library::{
    AXES, Call, Convolution, Launch, MatMul, Operand, Prefix, Sort, Sorted, Sought, is_supported_convolution,
    is_supported_matmul, is_supported_prefix,
};

/// Makes a library call. Returns when it is done or queued; reading a buffer waits for its contents.
///
/// # Errors
///
/// A bad setting in the environment; a device that cannot be used; operands that do not fit the operation, or are on
/// another device; no memory for intermediate results; a failure of an earlier launch whose results this one reads, if
/// it ran at once.
pub fn launch(launch: Launch) -> Result<(), Error> {
    launch_in(launch, None)
}

/// As [`launch`], or adds it to a batch.
pub(crate) fn launch_in(launch: Launch, batch: Option<&mut dyn Batch>) -> Result<(), Error> {
    log::check_environment()?;
    fork::watch();
    launch.check()?;
    stats::end_look_ups();
    match batch {
        Some(batch) => batch.call(launch),
        None => machine::of(launch.device)?.call(launch),
    }
}

/// Lists the positions of the true elements, as `u32`. Waits until the mask is written and counted. The positions may
/// be written later.
///
/// # Errors
///
/// As [`launch`], or a failure of the launches that should have written the mask.
pub fn compress(mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
    log::check_environment()?;
    fork::watch();
    library::check_mask(mask, device, site)?;
    machine::of(device)?.compress(mask, device, site)
}
