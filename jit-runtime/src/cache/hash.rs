//! The hash under which a kernel is looked up.
//!
//! It is computed at every launch, so it is short rather than strong: the full comparison after it decides. It covers
//! the operations, which fix nearly everything else about a kernel.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::backend::CodeOptions;
use crate::device::Device;
use crate::ir::Kernel;

/// Hash of a kernel for a device with code options.
pub(super) fn kernel(kernel: &Kernel, device: Device, options: CodeOptions) -> u64 {
    let mut hasher = FxHasher::default();
    kernel.params.hash(&mut hasher);
    kernel.regions.hash(&mut hasher);
    device.hash(&mut hasher);
    options.hash(&mut hasher);
    hasher.finish()
}
