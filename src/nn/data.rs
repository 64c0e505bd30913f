//! Batches of samples for training.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use jit_core::misuse::Misuse;

use crate::{Result, Site};

/// Divides samples into batches, in their order or in a random one.
///
/// A function makes each batch of its samples, such as tensors of them. It runs when the batch is asked for, or ahead
/// on a thread. The order depends on the seed and the number of the epoch alone, so training that was interrupted
/// continues with the same batches.
///
/// ```
/// use jit::nn::DataLoader;
/// use jit::prelude::*;
///
/// let samples: Vec<(f32, u32)> = (0..10).map(|number| (number as f32, number % 2)).collect();
/// let loader = DataLoader::new(samples, 4).shuffled(7).prefetched(2);
/// let columns = |batch: &[&(f32, u32)]| {
///     let x: Vec<f32> = batch.iter().map(|sample| sample.0).collect();
///     let y: Vec<u32> = batch.iter().map(|sample| sample.1).collect();
///     (Tensor::from_array(x, [batch.len(), 1]), Tensor::from(y))
/// };
/// for epoch in 0..3 {
///     let lengths: Vec<usize> = loader.epoch(epoch, columns)?.map(|(x, _)| x.shape()[0]).collect();
///     assert_eq!(lengths, [4, 4, 2]);
/// }
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataLoader<S> {
    samples: Arc<[S]>,
    batch: usize,
    seed: Option<u64>,
    drops_last: bool,
    prefetched: usize,
}

impl<S> DataLoader<S> {
    /// Creates a loader of batches of this many samples, in their order.
    ///
    /// # Panics
    ///
    /// When batches have no samples.
    #[must_use]
    #[track_caller]
    pub fn new(samples: impl Into<Arc<[S]>>, batch: usize) -> Self {
        if batch == 0 {
            Misuse::new("batches of 0 samples", Site::here()).hint("a batch has at least one sample").panic();
        }
        DataLoader { samples: samples.into(), batch, seed: None, drops_last: false, prefetched: 0 }
    }

    /// Makes the order random, another one in each epoch.
    #[must_use]
    pub fn shuffled(self, seed: u64) -> Self {
        DataLoader { seed: Some(seed), ..self }
    }

    /// Leaves out the last batch if it has fewer samples than the others.
    #[must_use]
    pub fn without_last(self) -> Self {
        DataLoader { drops_last: true, ..self }
    }

    /// Makes a thread prepare this many batches ahead.
    #[must_use]
    pub fn prefetched(self, batches: usize) -> Self {
        DataLoader { prefetched: batches, ..self }
    }

    /// Returns the number of batches of an epoch.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.drops_last {
            true => self.samples.len() / self.batch,
            false => self.samples.len().div_ceil(self.batch),
        }
    }

    /// Returns whether there are no batches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions of the samples in the order of an epoch, with those that are left out at its end.
    ///
    /// # Errors
    ///
    /// When the random order cannot be computed.
    #[track_caller]
    pub fn order(&self, epoch: u64) -> Result<Vec<u32>> {
        /// The golden ratio of 2⁶⁴, so that neighbouring seeds and epochs have orders of their own.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        match self.seed {
            Some(seed) => {
                let mut rng = crate::random::rng(seed.wrapping_add(epoch.wrapping_mul(STEP)));
                rng.permutation(self.samples.len()).to_vec()
            }
            None => Ok((0..self.samples.len() as u32).collect()),
        }
    }
}

impl<S: Send + Sync + 'static> DataLoader<S> {
    /// Returns the batches of an epoch, each made of its samples by a function.
    ///
    /// With [prefetching](DataLoader::prefetched) the function runs on another thread; if it panics, the batches do so
    /// when they get there.
    ///
    /// # Errors
    ///
    /// As [`DataLoader::order`].
    #[track_caller]
    pub fn epoch<B: Send + 'static>(
        &self,
        epoch: u64,
        collate: impl Fn(&[&S]) -> B + Send + 'static,
    ) -> Result<Batches<B>> {
        let order = self.order(epoch)?;
        let (samples, batch, count) = (self.samples.clone(), self.batch, self.len());
        let mut numbers = 0..count;
        let mut make = move || {
            let first = numbers.next()? * batch;
            let places = &order[first..order.len().min(first + batch)];
            let chosen: Vec<&S> = places.iter().map(|&place| &samples[place as usize]).collect();
            Some(collate(&chosen))
        };
        let source = match self.prefetched {
            0 => Source::Here(Box::new(make)),
            ahead => {
                let (sender, receiver) = sync_channel(ahead);
                let device = jit_runtime::device::current_device();
                let thread = std::thread::spawn(move || {
                    crate::with_device(device, || {
                        // Sending fails when nobody waits for batches any more.
                        while make().is_some_and(|batch| sender.send(batch).is_ok()) {}
                    });
                });
                Source::Thread { receiver: Some(receiver), thread: Some(thread) }
            }
        };
        Ok(Batches { source, left: count })
    }
}

/// The batches of an epoch: [`DataLoader::epoch`].
pub struct Batches<B> {
    source: Source<B>,
    left: usize,
}

/// Where batches are made.
enum Source<B> {
    Here(Box<dyn FnMut() -> Option<B> + Send>),
    /// Both are there until the end.
    Thread {
        receiver: Option<Receiver<B>>,
        thread: Option<JoinHandle<()>>,
    },
}

impl<B> Source<B> {
    /// Waits for the thread, which ends when nothing receives batches.
    fn join(&mut self) -> std::thread::Result<()> {
        match self {
            Source::Here(_) => Ok(()),
            Source::Thread { receiver, thread } => {
                *receiver = None;
                thread.take().map_or(Ok(()), JoinHandle::join)
            }
        }
    }
}

impl<B> Iterator for Batches<B> {
    type Item = B;

    fn next(&mut self) -> Option<B> {
        let batch = match &mut self.source {
            Source::Here(make) => make(),
            Source::Thread { receiver, .. } => receiver.as_ref().and_then(|receiver| receiver.recv().ok()),
        };
        match &batch {
            Some(_) => self.left -= 1,
            None => {
                if let Err(panic) = self.source.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
        batch
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<B> ExactSizeIterator for Batches<B> {}

impl<B> Drop for Batches<B> {
    fn drop(&mut self) {
        // A panic of batches that nobody has asked for is of no interest.
        _ = self.source.join();
    }
}

impl<B> std::fmt::Debug for Batches<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("left", &self.left).finish_non_exhaustive()
    }
}
