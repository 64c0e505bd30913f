//! Tests every operation on every element type at the values where it is most likely to fail, on each device, with
//! operands in memory, uniform, and literal. The expected results are computed here in plain Rust, independently of the
//! crates' arithmetic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod agree;
mod bounds;
mod bounds_everywhere;
mod casts;
mod corners;
#[path = "../shared/dice.rs"]
mod dice;
mod floats;
mod functions;
mod integers;
mod joined;
mod masks;
mod memory;
mod nan;
mod permuted;
mod programs;
mod records;
mod reductions;
#[path = "../seeds/mod.rs"]
mod seeds;
mod shifts;
mod sparse;
mod structured;
mod tensors;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
