//! See `environment` in `targets.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jit_fuzz::environment(data));
