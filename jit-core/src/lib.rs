//! The language of `jit`.
