//! Tests through the public interface of `jit`.

mod arrays;
mod control_flow;
mod devices;
mod errors;
mod host_corpus;
mod printing;
mod threads;
