//! Checks that are made while a kernel runs. They convert its notes to errors: lanes whose index was out of range, that
//! made too many iterations, or on which an assertion failed.
//!
//! The kernel itself compares the indices, masks the lanes whose index is out of range, and notes the lowest of these
//! lanes for each access. So checks need no support from a backend, and memory outside a buffer is never touched.

use std::sync::Arc;

use crate::ir::Type;
use crate::report::Assertion;
use crate::{Error, ErrorKind, Label, Site};

/// The places where a kernel notes errors.
#[derive(Clone, Default, Debug)]
pub struct Checks {
    /// The position of the argument that receives the notes of indices: a buffer of [`Type::U64`], one element for each
    /// access, with all bits set. Lanes combine into it by the minimum, see [`CheckedAccess::note`].
    pub report: usize,
    /// The accesses that are checked.
    pub accesses: Vec<CheckedAccess>,
    /// The assertions that are checked.
    pub assertions: Vec<CheckedAssertion>,
}

/// An assertion that is checked, and the positions of the arguments that receive the reports of its lanes.
#[derive(Clone, Debug)]
pub struct CheckedAssertion {
    /// The assertion.
    pub assertion: Arc<Assertion>,
    /// The lowest lane; none if there is only one.
    pub lowest: Option<usize>,
    /// The list of lanes and values.
    pub records: usize,
}

/// What an index selects from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Elements of an array, for reading.
    Gather,
    /// Elements of an array, for writing.
    Scatter,
    /// Elements of a per-lane local memory, for reading.
    LocalRead,
    /// Elements of a per-lane local memory, for writing.
    LocalWrite,
    /// Call targets: "function", "instance".
    Call(Label),
    /// Nothing: the number of loop iterations that a lane has begun, out of the number that it may make.
    Iterations,
}

/// An access whose indices are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckedAccess {
    /// The kind of access that the index is for.
    pub kind: AccessKind,
    /// The element type.
    pub ty: Type,
    /// The number of elements.
    pub width: usize,
    /// Whether the index has a signed type.
    pub is_signed: bool,
    /// The line of the user's program.
    pub site: Site,
}

impl CheckedAccess {
    /// The note of a lane whose index is out of range: the lane in the upper 32 bits, the index below, limited to the
    /// range of an `i32` or `u32`.
    #[must_use]
    pub const fn note(lane: u32, index: u32) -> u64 {
        (lane as u64) << 32 | index as u64
    }

    /// Converts a note to an error.
    #[cold]
    fn error(&self, note: u64) -> Error {
        let (lane, bits) = (note >> 32, note as u32);
        let index = if self.is_signed { i64::from(bits as i32) } else { i64::from(bits) };
        let is_limit = if self.is_signed { [i32::MIN, i32::MAX].contains(&(bits as i32)) } else { bits == u32::MAX };
        let beyond = if is_limit { ", or one beyond that," } else { "" };
        let Self { ty, width, .. } = self;
        let index = format!("{index}{beyond}");
        let message = match self.kind {
            AccessKind::Gather => format!("lane {lane} gathers element {index} of an array of {width} {ty} elements"),
            AccessKind::Scatter => {
                format!("lane {lane} scatters to element {index} of an array of {width} {ty} elements")
            }
            AccessKind::LocalRead => format!("lane {lane} reads element {index} of a `Local` of {width} {ty} elements"),
            AccessKind::LocalWrite => {
                format!("lane {lane} writes element {index} of a `Local` of {width} {ty} elements")
            }
            AccessKind::Call(what) => {
                format!("lane {lane} calls {what} {index}, of which only those below {width} exist")
            }
            AccessKind::Iterations => {
                format!("lane {lane} runs more than the {width} iterations that `#[max_iterations]` allows the loop")
            }
        };
        let hint = match self.kind {
            AccessKind::Iterations => {
                "the loop stopped there: raise the limit, or find out why its condition stays true; the lowest such \
                 lane is reported"
            }
            _ => {
                "lanes that have no element there must be masked off; JIT_DEBUG reports the lowest lane of the first \
                such line"
            }
        };
        Error::new(ErrorKind::Launch, message).at(self.site).with_hint(hint)
    }
}

impl Checks {
    /// The elements that [`Checks::outcome`] reads: the position of an argument, their type, and their number.
    pub(crate) fn looked_at(&self) -> impl Iterator<Item = (usize, Type, usize)> {
        let notes = (!self.accesses.is_empty()).then_some((self.report, Type::U64, self.accesses.len()));
        let lowest = |checked: &CheckedAssertion| checked.lowest.map(|argument| (argument, Type::U32, 1));
        let assertions = self.assertions.iter().flat_map(move |checked| {
            lowest(checked).into_iter().chain([(checked.records, Type::U64, checked.assertion.words())])
        });
        notes.into_iter().chain(assertions)
    }

    /// Whether all checks passed, according to the contents of the buffers. `element` reads an element of an argument
    /// of a type.
    ///
    /// # Errors
    ///
    /// If not: the first failure, with its line of the program.
    pub(super) fn outcome(&self, element: impl Fn(usize, Type, usize) -> u64) -> Result<(), Error> {
        let accesses = self.accesses.iter().enumerate().filter_map(|(position, access)| {
            let note = element(self.report, Type::U64, position);
            (note != u64::MAX).then(|| access.error(note))
        });
        let assertions = self.assertions.iter().filter_map(|checked| checked.outcome(&element).err());
        let place = |error: &Error| error.site().map(|site| (site.file(), site.line(), site.column()));
        accesses.chain(assertions).min_by_key(place).map_or(Ok(()), Err)
    }
}

impl CheckedAssertion {
    fn outcome(&self, element: impl Fn(usize, Type, usize) -> u64) -> Result<(), Error> {
        let lowest = self.lowest.map(|argument| element(argument, Type::U32, 0) as u32);
        if lowest == Some(u32::MAX) {
            return Ok(());
        }
        let words: Vec<u64> = (0..self.assertion.words()).map(|word| element(self.records, Type::U64, word)).collect();
        self.assertion.outcome(lowest, &words)
    }
}
