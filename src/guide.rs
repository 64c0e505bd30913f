//! The guide: what a user of the crate needs to know beyond the items' own pages.
//!
//! | page | contents |
//! |---|---|
//! | [`language`] | the meaning of Rust's constructs in `#[jit]` functions when arrays take part in them |
//! | [`evaluation`] | which values stay lazy, what evaluates and why, which results match to the bit, how to observe it |
//! | [`freezing`] | `#[freeze]`: the use of a recording, its arguments and results, host calls |
//! | [`autodiff`] | derivatives: variables, traversals, functions of functions, conventions, limits |
//! | [`modules`] | neural networks: modules, training, state, halves |
//! | [`executors`] | `f::compile(…)`: functions that are compiled before they are called; why a kernel was compiled |
//! | [`shipping`] | functions in files, for programs without a compiler: build scripts, C |
//! | [`interop`] | tensors of other libraries, functions in graphs of candle and PyTorch |
//! | [`debugging`] | how errors are reported, printing from lanes, checks with `JIT_DEBUG`, cancelling |
//! | [`caching`] | what is compiled once, where code is kept, sharing it, security |
//! | [`speed`] | the profile of a program, what it warns of, when this is fast, and recipes |
//! | [`accuracy`] | the largest errors of the math functions, measured |
//! | [`performance`] | measurements, the baselines they are compared with, and known weaknesses |
//!
//! The pages are the files in `docs/` of the repository. They refer to each other by reference links. The links are
//! defined twice: here they point to modules, in the files to files.

#[doc = "[evaluation.md]: crate::guide::evaluation"]
#[doc = "[debugging.md]: crate::guide::debugging"]
#[doc = ""]
#[doc = include_str!("../docs/language.md")]
pub mod language {}

#[doc = "[debugging.md]: crate::guide::debugging#cancelling"]
#[doc = "[freezing.md]: crate::guide::freezing"]
#[doc = "[speed.md]: crate::guide::speed"]
#[doc = ""]
#[doc = include_str!("../docs/evaluation.md")]
pub mod evaluation {}

#[doc = "[evaluation.md]: crate::guide::evaluation"]
#[doc = ""]
#[doc = include_str!("../docs/caching.md")]
pub mod caching {}

#[doc = "[performance.md]: crate::guide::performance"]
#[doc = ""]
#[doc = include_str!("../docs/freezing.md")]
pub mod freezing {}

#[doc = "[evaluation.md]: crate::guide::evaluation"]
#[doc = "[freezing.md]: crate::guide::freezing"]
#[doc = ""]
#[doc = include_str!("../docs/autodiff.md")]
pub mod autodiff {}

#[doc = include_str!("../docs/modules.md")]
pub mod modules {}

#[doc = include_str!("../docs/executors.md")]
pub mod executors {}

#[doc = include_str!("../docs/shipping.md")]
pub mod shipping {}

#[doc = include_str!("../docs/interop.md")]
pub mod interop {}

#[doc = "[evaluation.md]: crate::guide::evaluation#how-to-observe-it"]
#[doc = "[speed.md]: crate::guide::speed"]
#[doc = ""]
#[doc = include_str!("../docs/debugging.md")]
pub mod debugging {}

#[doc = "[performance.md]: crate::guide::performance"]
#[doc = "[freezing.md]: crate::guide::freezing"]
#[doc = ""]
#[doc = include_str!("../docs/speed.md")]
pub mod speed {}

#[doc = include_str!("../docs/accuracy.md")]
pub mod accuracy {}

#[doc = "[accuracy.md]: crate::guide::accuracy"]
#[doc = ""]
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}
