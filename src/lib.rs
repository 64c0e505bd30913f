//! A tracing just-in-time compiler for functions over arrays.
