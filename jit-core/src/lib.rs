//! The language of `jit`: arrays, tracing, control flow and scheduling.
//!
//! | step | from → to | module |
//! |---|---|---|
//! | trace | calls → nodes of the trace graph | [`array`], [`trace`] |
//! | schedule | graph and wanted values → kernels and what they are launched on | [`schedule`] |

pub mod trace;
