//! Assertions that fail on lanes.

use std::panic::Location;

use super::{Template, records};
use crate::{Error, ErrorKind};

/// An assertion that a kernel checks on its lanes.
///
/// Two buffers take what the lanes that fail have to say. The first, a `u32` that is all ones, becomes the number of
/// the lowest of them. The second is a list of `u64` that are all ones: each lane that was the lowest so far writes its
/// number and its values there. Of what several iterations of one lane would write, only the first is written.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// What is before the number of the lane.
    pub text: String,
    /// What is said about the lane, behind its number.
    pub message: Template,
    /// The line of the user's program.
    pub site: &'static Location<'static>,
}

/// How many lanes can be the lowest so far, one after another, before their values are left out.
const RECORDS: usize = 64;

impl Assertion {
    /// Elements of the second buffer.
    #[must_use]
    pub fn words(&self) -> usize {
        RECORDS * (1 + self.message.slots())
    }

    /// How many lanes there is room for in the second buffer.
    #[must_use]
    pub const fn capacity() -> usize {
        RECORDS
    }

    /// Whether the assertion held on all lanes. Without a first buffer, there is one lane.
    pub(crate) fn outcome(&self, lowest: Option<u32>, words: &[u64]) -> Result<(), Error> {
        let lane = match lowest {
            Some(u32::MAX) => return Ok(()),
            Some(lane) => u64::from(lane),
            None if words[0] == u64::MAX => return Ok(()),
            None => 0,
        };
        let values = records(words, self.message.slots()).find(|(recorded, _)| *recorded == lane);
        Err(self.error(lane, values.map(|(_, values)| values)))
    }

    #[cold]
    fn error(&self, lane: u64, values: Option<&[u64]>) -> Error {
        let mut text = format!("{}{lane}", self.text);
        if let Some(values) = values {
            self.message.write(values, &mut text);
        }
        Error::new(ErrorKind::Launch, text).at(self.site).with_hint(
            "with JIT_DEBUG, assertions on traced conditions are checked on all lanes; the lowest lane that \
                fails is named",
        )
    }
}
