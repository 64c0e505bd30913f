//! The attribute macros of `jit`.
