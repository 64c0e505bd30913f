//! Host calls in the middle of a replay.
//!
//! A program may read computed values, files or the clock on the host, and continue with the result. Such a call is a
//! step like any other. It is passed the storage of the slots that it read when it was recorded, and its results become
//! the storage of other slots. Their element counts are recomputed on every replay, as with
//! [`CountStep`](super::CountStep).

use std::sync::Arc;

use smallvec::SmallVec;

use crate::memory::Buffer;
use crate::{Error, ErrorKind, Site};

use super::replay::{GuardFailure, ReplayInputs, Replayed, State};
use super::{Bind, Recorder, Recording, Scalar, SizeId, SlotId, Step, Type, Unknown, bound};

/// A value that a host call read when it was recorded.
#[derive(Clone, Debug)]
pub enum HostSource {
    /// Memory that is part of the recording.
    Memory(Arc<Buffer>),
    /// A value that is the same in all lanes.
    Scalar(Scalar),
}

/// The corresponding input in a replay.
#[derive(Clone, Debug)]
pub enum HostInput {
    /// Memory. It is overwritten after the call has returned.
    Memory(Arc<Buffer>),
    /// The bits of a value that is the same in all lanes.
    Same(u64),
}

/// The inputs of a host call in a replay.
#[derive(Clone, Debug, Default)]
pub struct HostGiven {
    /// The values that it reads, in the order in which they were recorded.
    pub inputs: Vec<HostInput>,
    /// The value of each size that is known at that point.
    pub sizes: Vec<usize>,
}

/// The results of a host call in a replay.
#[derive(Debug, Default)]
pub struct HostMade {
    /// The memory of each array, which must not be shared.
    pub buffers: Vec<Arc<Buffer>>,
    /// The number of elements of each array, followed by all other sizes that the call determines.
    pub counts: Vec<usize>,
}

/// A host call; it returns none if the recording does not fit the values that it found.
pub type HostCall = dyn Fn(HostGiven) -> Result<Option<HostMade>, Error> + Send + Sync;

/// A host call in a recording.
#[derive(Clone)]
pub(crate) struct HostStep {
    call: Arc<HostCall>,
    pub(crate) reads: SmallVec<[Bind; 4]>,
    pub(crate) outputs: SmallVec<[SlotId; 2]>,
    /// The number of sizes that it determines besides those of its outputs.
    sizes: usize,
    pub(crate) site: Site,
}

impl HostStep {
    /// Whether it determines sizes that are not known before.
    pub(crate) fn counts(&self) -> bool {
        self.outputs.len() + self.sizes > 0
    }
}

impl Recorder {
    /// Records a host call: the values that it read, and the arrays that it made, with their numbers of elements. Those
    /// are the next counts, followed by some other sizes.
    ///
    /// # Errors
    ///
    /// If it has read memory that is not part of the recording.
    pub fn host(
        &mut self,
        call: Arc<HostCall>,
        reads: &[HostSource],
        outputs: &[(Type, Arc<Buffer>, SizeId)],
        sizes: usize,
        site: Site,
    ) -> Result<(), Unknown> {
        let bind = |(position, source): (usize, &HostSource)| match source {
            HostSource::Memory(buffer) => self.slot(buffer).map(Bind::Slot).ok_or(Unknown(position)),
            HostSource::Scalar(scalar) => Ok(Bind::Scalar(*scalar)),
        };
        let reads = reads.iter().enumerate().map(bind).collect::<Result<_, _>>()?;
        let outputs = outputs.iter().map(|(ty, buffer, len)| self.made(buffer, *ty, *len)).collect();
        self.push(Step::Host(HostStep { call, reads, outputs, sizes, site }));
        Ok(())
    }
}

impl Recording {
    /// Runs a host call. Afterwards the sizes that depend on its results are known.
    pub(crate) fn call_host(
        &self,
        step: &HostStep,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<Replayed, Error> {
        let input = |bind: &Bind| match bind {
            Bind::Slot(slot) => HostInput::Memory(self.operand(*slot, state).buffer),
            Bind::Scalar(scalar) => HostInput::Same(bound::bits(*scalar, &state.values, given.scalars)),
        };
        let inputs = step.reads.iter().map(input).collect();
        let Some(made) = (step.call)(HostGiven { inputs, sizes: state.values.clone() })? else {
            return Ok(Replayed::Rejected(GuardFailure::Host(step.site)));
        };
        self.check_made(step, &made)?;
        for (slot, buffer) in step.outputs.iter().zip(made.buffers) {
            state.slots[slot.index()] = Some(buffer);
        }
        for count in made.counts {
            state.counts.push(count);
            let State { values, counts, .. } = state;
            if let Err(guard) = self.sizes.evaluate(given.sizes, counts, values) {
                return Ok(Replayed::Rejected(guard.into()));
            }
        }
        Ok(Replayed::Done)
    }

    fn check_made(&self, step: &HostStep, made: &HostMade) -> Result<(), Error> {
        let HostMade { buffers, counts } = made;
        let is_whole = |((slot, buffer), count): ((&SlotId, &Arc<Buffer>), &usize)| {
            buffer.size_bytes() >= count.saturating_mul(self.slots[slot.index()].ty.size_bytes())
        };
        let is_right = buffers.len() == step.outputs.len()
            && counts.len() == step.outputs.len() + step.sizes
            && step.outputs.iter().zip(buffers).zip(counts).all(is_whole);
        if is_right {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Internal, "a host call returned a different number of buffers than declared")
            .at(step.site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::recording::{SizeExpr, SizeOp, Sizes};

    /// The odd bytes of the input; nothing if there are none.
    fn odd(given: HostGiven) -> Result<Option<HostMade>, Error> {
        let ([HostInput::Memory(buffer), HostInput::Same(bias)], sizes) = (&given.inputs[..], &given.sizes) else {
            return Err(Error::new(ErrorKind::Internal, "the input is something else"));
        };
        let mut bytes = vec![0; sizes[1]];
        buffer.read(0, &mut bytes)?;
        bytes.retain(|byte| byte % 2 == 1);
        bytes.iter_mut().for_each(|byte| *byte += *bias as u8);
        let counts = vec![bytes.len(), 7];
        Ok((!bytes.is_empty()).then_some(HostMade { buffers: vec![Buffer::from_bytes(&bytes)?], counts }))
    }

    /// A recording of one input whose odd bytes are returned.
    fn recording() -> Recording {
        let mut sizes = Sizes::new();
        let [width, found, other] = [SizeExpr::Input(0), SizeExpr::Count(0), SizeExpr::Count(1)]
            .map(|expr| sizes.push(expr).expect("there is room"));
        sizes.push(SizeExpr::Binary(SizeOp::Add, found, other)).expect("there is room");
        let mut recorder = Recorder::new(Device::Interpreter);
        let [input, output] = [[1, 2, 3], [1, 3, 0]].map(|bytes| Buffer::from_bytes(&bytes).expect("there is memory"));
        recorder.input(&input, Type::U8, width);
        let number = recorder.scalar();
        let reads = [HostSource::Memory(input), HostSource::Scalar(Scalar::Input(number))];
        let made = [(Type::U8, Arc::clone(&output), found)];
        assert!(recorder.host(Arc::new(odd), &reads, &made, 1, Site::here()).is_ok());
        let stranger = [HostSource::Memory(Buffer::from_bytes(&[1]).expect("there is memory"))];
        assert_eq!(recorder.host(Arc::new(odd), &stranger, &[], 0, Site::here()), Err(Unknown(0)));
        let slot = recorder.slot(&output).expect("it was noted");
        recorder.finish(sizes, vec![slot]).expect("it can be replayed")
    }

    #[test]
    fn a_call_makes_other_memory_in_each_replay() {
        let recording = recording();
        let names = |_| "x.len()".to_owned();
        assert!(
            recording.dump(&names).starts_with("host(input 0: u8[x.len()], #1: u8[count 0])"),
            "{}",
            recording.dump(&names)
        );
        for (bytes, wanted) in
            [(&[1, 2, 3, 4, 5][..], Some(&[11, 13, 15][..])), (&[2, 9], Some(&[19])), (&[2, 4, 6], None)]
        {
            let buffers = [Buffer::from_bytes(bytes).expect("there is memory")];
            let given = ReplayInputs { buffers: &buffers, scalars: &[10], sizes: &[bytes.len()], donated: &[false] };
            let (mut outputs, mut sizes) = (SmallVec::new(), Vec::new());
            let replayed = recording.replay(given, &mut outputs, &mut sizes).expect("it runs");
            let Some(wanted) = wanted else {
                assert!(
                    matches!(replayed, Replayed::Rejected(GuardFailure::Host(site)) if site.file().ends_with("host.rs"))
                );
                continue;
            };
            let mut made = vec![0; outputs[0].size_bytes()];
            outputs[0].read(0, &mut made).expect("it was made");
            assert_eq!((&made[..], &sizes[1..]), (wanted, &[bytes.len(), wanted.len(), 7, wanted.len() + 7][..]));
        }
    }
}
