//! Random numbers against published vectors, plain Rust and the laws of statistics. All seeds are fixed.

mod generator;
mod integers;
mod pcg;
mod permutation;
mod philox;
mod sequence;
mod statistics;
mod warps;
