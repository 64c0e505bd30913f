//! Contains no code: the tests in this crate compile programs that use `jit` and compare the compiler's output.
