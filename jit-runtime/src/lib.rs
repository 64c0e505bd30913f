//! The runtime beneath `jit`: it compiles kernels and runs them.
//!
//! | step | module |
//! |---|---|
//! | describe what one lane computes | [`ir`] |
//! | find the code of a kernel that was compiled before | [`cache`] |
//! | turn it into code, or interpret it | [`backend`] |
//! | run it over all lanes, on all cores, in the order of the data | [`launch`] |
//! | hold the data | [`memory`] |
//! | printed lines and failed assertions of lanes | [`report`] |
//!
//! Besides these steps, there are [`device`] (where code runs), [`config`] (the environment), [`stats`] (what
//! happened), [`log`] and [`dump`] (messages and listings), and [`cancel`] (how to end work early). [`Site`] and
//! [`Label`] say where something comes from.

pub mod backend;
pub mod cache;
pub mod cancel;
mod clock;
pub mod config;
mod current_device;
pub mod device;
pub mod dump;
mod error;
#[cfg(test)]
mod file_tests;
mod float_mode;
pub mod fork;
pub mod ir;
pub mod launch;
pub mod log;
mod machine;
pub mod memory;
pub mod profile;
pub mod recording;
pub mod report;
#[doc(hidden)]
pub mod site;
pub mod stats;
mod sync;
#[cfg(test)]
#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

// Tests that are shared with other crates refer to this one by its name.
#[cfg(test)]
extern crate self as jit_runtime;

pub use error::{Error, ErrorKind};
pub use site::{Label, Site};
