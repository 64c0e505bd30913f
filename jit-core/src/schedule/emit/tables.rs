//! What the kernel that is built has of the entries of the graph.
//!
//! An evaluation may build thousands of kernels from one graph. So a table is made once, and emptied in constant time:
//! what an earlier kernel has set is told by its number.

use jit_runtime::ir::{ParamId, Value};

/// The tables of a kernel.
pub(in crate::schedule) struct Tables {
    pub(in crate::schedule) values: Table<Value>,
    /// Parameters for memory that is read.
    pub(super) inputs: Table<ParamId>,
}

impl Tables {
    /// Those of a graph with some entries.
    pub(in crate::schedule) fn new(count: usize) -> Tables {
        Tables { values: Table::new(count, Value(0)), inputs: Table::new(count, ParamId(0)) }
    }

    pub(super) fn clear(&mut self) {
        self.values.kernel += 1;
        self.inputs.kernel += 1;
    }
}

/// One thing that a kernel has of entries, by their numbers.
pub(in crate::schedule) struct Table<T> {
    /// The kernel that has set an entry, and what it has of it.
    entries: Vec<(u32, T)>,
    /// The number of the kernel, from 1.
    kernel: u32,
}

impl<T: Copy> Table<T> {
    fn new(count: usize, none: T) -> Table<T> {
        Table { entries: vec![(0, none); count], kernel: 0 }
    }

    #[inline]
    pub(in crate::schedule) fn get(&self, number: u32) -> Option<T> {
        let (kernel, value) = self.entries[number as usize];
        (kernel == self.kernel).then_some(value)
    }

    #[inline]
    pub(in crate::schedule) fn set(&mut self, number: u32, value: T) {
        self.entries[number as usize] = (self.kernel, value);
    }
}
