//! Functions that are recorded once and replayed.

mod basics;
mod loops;
