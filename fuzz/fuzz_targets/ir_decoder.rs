//! See `ir_decoder` in `targets.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jit_fuzz::ir_decoder(data));
