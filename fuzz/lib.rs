//! The targets, and the parts of the tests that they need.

#[path = "../tests/freeze/fuzz.rs"]
mod fuzz;
#[path = "../tests/freeze/sizes_fuzz.rs"]
mod sizes_fuzz;
mod targets;
#[path = "../tests/shared/tested_devices.rs"]
mod tested_devices;

/// Runs the target of this name.
macro_rules! public {
    ($($name:ident)*) => {
        $(
            /// See `targets.rs`.
            pub fn $name(data: &[u8]) {
                targets::$name(data);
            }
        )*
    };
}

public! { ir_parser ir_decoder kernels recordings environment saved_recordings }
