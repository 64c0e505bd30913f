//! Reports of running kernels: lines that lanes print, and assertions that fail on lanes.
//!
//! A lane with a report takes the next position in a list, by an atomic addition, and writes its number and its values
//! there; see [`Lines`] and [`Assertion`] for the memory. When the launch is done, the host inserts the values into the
//! text. All of this is plain data, so it can be stored with a kernel and used for each of its launches.

mod assertion;
mod format;
mod print;

pub use assertion::Assertion;
pub use format::{Align, Piece, Radix, Sign, Spec};
pub use print::{Lines, set_sink};

use crate::ir::Type;

/// A piece of the text that is formatted for each lane.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// The same text for each lane.
    Text(String),
    /// A value of the lane.
    Value {
        /// Its position among the values of the lane.
        slot: usize,
        /// Its type.
        ty: Type,
        /// How it is written.
        spec: Spec,
    },
}

/// A text with placeholders for the values of a lane.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Template(pub Vec<Part>);

impl Template {
    /// The number of values of a lane.
    #[must_use]
    pub fn slots(&self) -> usize {
        let slot = |part: &Part| match part {
            Part::Text(_) => 0,
            Part::Value { slot, .. } => slot + 1,
        };
        self.0.iter().map(slot).max().unwrap_or(0)
    }

    /// Appends the text for the values of a lane.
    fn write(&self, values: &[u64], text: &mut String) {
        for part in &self.0 {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Value { slot, ty, spec } => spec.write(*ty, values[*slot], text),
            }
        }
    }
}

/// Splits a list into the records that lanes have written: this many words each, the lane first.
pub(crate) fn records(words: &[u64], slots: usize) -> impl Iterator<Item = (u64, &[u64])> {
    words.chunks_exact(1 + slots).filter_map(|record| {
        let (&lane, values) = record.split_first()?;
        Some((lane, values))
    })
}
