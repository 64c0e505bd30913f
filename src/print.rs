//! The destination of lines that lanes print: see [`print!`](macro@crate::print).
//!
//! ```
//! use jit::prelude::*;
//! use std::sync::{Arc, Mutex};
//!
//! let lines = Arc::new(Mutex::new(String::new()));
//! let taken = Arc::clone(&lines);
//! let before = jit::print::set_sink(Some(Box::new(move |text| taken.lock().unwrap().push_str(text))));
//! let x = Float::from([1.5, 2.5]);
//! jit::print!("x = {x}, twice {:.2}", &x * 2.0);
//! jit::sync()?;
//! jit::print::set_sink(before);
//! assert_eq!(*lines.lock().unwrap(), "lane 0: x = 1.5, twice 3.00\nlane 1: x = 2.5, twice 5.00\n");
//! # Ok::<(), jit::Error>(())
//! ```

pub use jit_runtime::report::set_sink;
