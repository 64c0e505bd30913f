//! Tests of the library, which is written in the language itself.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

#[path = "../shared/alone.rs"]
mod alone;
#[path = "../api/devices.rs"]
mod devices;
#[cfg(any(feature = "image", feature = "ndarray"))]
mod interop;
mod linalg;
mod misuse;
mod other_names;
mod random;
#[path = "../seeds/mod.rs"]
mod seeds;
mod tensor;
mod tensor_printing;
mod tensor_products;
mod tensor_reductions;
mod tensor_scans;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod texture;
