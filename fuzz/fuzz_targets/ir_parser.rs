//! See `ir_parser` in `targets.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jit_fuzz::ir_parser(data));
