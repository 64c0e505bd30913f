//! Tensors from and to candle, and functions in its graphs, compared with candle's own operations.
#![cfg(feature = "candle")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod conversions;
#[path = "../api/devices.rs"]
mod devices;
mod functions;
mod refused;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod training;
