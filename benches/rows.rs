//! Benchmark rows.
fn main() {}
