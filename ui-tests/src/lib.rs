//! Holds no code: the tests beside it compile programs that use `jit` and compare what the compiler says.
