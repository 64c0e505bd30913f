//! Tests through the public interface of `jit`.

mod control_flow;
mod host_corpus;
