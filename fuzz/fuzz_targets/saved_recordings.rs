//! See `saved_recordings` in `targets.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jit_fuzz::saved_recordings(data));
