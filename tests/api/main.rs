//! Tests through the public interface of `jit`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod accepted;
mod algorithms;
mod arrays;
mod blocks;
mod control_flow;
mod derive;
mod determinism;
mod devices;
mod enums;
mod errors;
mod fast_math;
mod float_mode;
mod floors;
mod fragments;
mod guards;
mod histograms;
mod host_compare;
mod host_corpus;
mod host_syntax;
mod indexing;
mod interop;
mod jumps;
mod lines;
mod matching;
mod math;
mod native;
mod once;
mod prefix;
mod printing;
mod promotion;
mod reductions;
mod referents;
mod reports;
mod results;
mod scatter;
#[path = "../seeds/mod.rs"]
mod seeds;
mod segments;
mod shapes;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod threads;
