//! The passes: kernel IR → kernel IR, before any backend sees it.
//!
//! [`PASSES`] is the whole pipeline, in order. Each pass is one file. A pass that changes something rewrites the whole
//! kernel (`rewrite`), so values and regions are always numbered in text order. In debug builds the verifier runs after
//! each pass.

pub mod choose_known_branches;
pub mod deduplicate;
pub mod eliminate_dead;
pub mod expand_math;
pub mod flatten_branches;
mod rewrite;
pub mod shorten_lifetimes;
pub mod simplify_loop_state;

use super::kernel::Kernel;

/// A pass changes a valid kernel into another that computes the same values.
pub type Pass = fn(&mut Kernel);

/// The pipeline.
pub const PASSES: &[(&str, Pass)] = &[
    ("simplify_loop_state", simplify_loop_state::run),
    ("choose_known_branches", choose_known_branches::run),
    ("flatten_branches", flatten_branches::run),
    ("expand_math", expand_math::run),
    ("deduplicate", deduplicate::run),
    ("eliminate_dead", eliminate_dead::run),
    ("shorten_lifetimes", shorten_lifetimes::run),
];

/// Runs all passes. Afterwards the kernel has no transcendental operations.
pub fn optimise(kernel: &mut Kernel) {
    for (name, pass) in PASSES {
        pass(kernel);
        debug_verify(name, kernel);
    }
}

#[cfg(debug_assertions)]
fn debug_verify(name: &str, kernel: &Kernel) {
    if let Err(error) = super::verify(kernel) {
        unreachable!("the pass {name} made an invalid kernel: {error}\n{kernel}");
    }
}

#[cfg(not(debug_assertions))]
fn debug_verify(_name: &str, _kernel: &Kernel) {}

#[cfg(test)]
mod tests;
