//! Consecutive steps of a replay that the machine queues together, where it does so.
//!
//! A batch begins at the first step that launches, and ends before the host looks at a value: at a count, a test, a
//! host call, or the condition of a loop. What the machine retains of it serves the next time that the same step begins
//! one, in another replay or in the next iteration.

use crate::Error;
use crate::machine::{Batch, Selected};

/// The batches of a recording, by the step that they begin with.
#[derive(Default)]
pub(crate) struct Batches {
    made: Vec<(usize, Box<dyn Batch>)>,
    /// The place of the one that was begun.
    open: Option<usize>,
}

impl Batches {
    /// The batch that a step belongs to: the one that was begun, or one that begins here. None if the machine queues
    /// each launch by itself.
    pub(super) fn at(&mut self, step: usize, machine: Selected) -> Option<&mut dyn Batch> {
        let place = match self.open {
            Some(place) => place,
            None => self.begin(step, machine)?,
        };
        self.open = Some(place);
        Some(&mut *self.made[place].1)
    }

    fn begin(&mut self, step: usize, machine: Selected) -> Option<usize> {
        if let Some(place) = self.made.iter().position(|(first, _)| *first == step) {
            return Some(place);
        }
        self.made.push((step, machine.batch()?));
        Some(self.made.len() - 1)
    }

    /// Queues the launches of the batch that was begun, which ends.
    pub(super) fn queue(&mut self) -> Result<(), Error> {
        self.open.take().map_or(Ok(()), |place| self.made[place].1.queue())
    }
}
