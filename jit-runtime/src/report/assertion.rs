//! Assertions that fail on lanes.

use super::{Template, records};
use crate::{Error, ErrorKind, Site};

/// An assertion that a kernel checks on its lanes.
///
/// Two buffers receive the reports of the lanes that fail. The first, a `u32` that is all ones, becomes the number of
/// the lowest of them. The second is a list of `u64` that are all ones: each lane that was the lowest so far writes its
/// number and its values there. If several iterations of one lane fail, only the first is written.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The text before the number of the lane.
    pub text: String,
    /// The text about the lane, after its number.
    pub message: Template,
    /// The line of the user's program.
    pub site: Site,
}

/// The number of lanes that can successively be the lowest before their values are omitted.
const RECORDS: usize = 64;

impl Assertion {
    /// Elements of the second buffer.
    #[must_use]
    pub fn words(&self) -> usize {
        RECORDS * (1 + self.message.slots())
    }

    /// The number of lanes that fit into the second buffer.
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
            "with JIT_DEBUG, assertions on traced conditions are checked on all lanes; the lowest lane that fails is \
             reported",
        )
    }
}
