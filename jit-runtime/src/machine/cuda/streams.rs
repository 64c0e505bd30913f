//! The streams of a GPU: each thread that launches has one, from its first launch until it ends.
//!
//! A stream is made when no other one is free, and never destroyed: when its thread ends it goes to another thread,
//! once all that is queued on it is done.

use std::cell::RefCell;
use std::sync::Arc;

use super::stream::Stream;
use crate::Error;
use crate::backend::cuda::driver::Gpu;
use crate::sync::Mutex;

/// The streams of one GPU.
pub(super) struct Streams {
    gpu: &'static Gpu,
    all: Mutex<Vec<Arc<Stream>>>,
    /// Those of no thread. Work may still be queued on them.
    free: Mutex<Vec<Arc<Stream>>>,
}

/// A stream of a thread, which is given back on drop.
pub(super) struct Own {
    streams: Arc<Streams>,
    stream: Arc<Stream>,
}

thread_local! {
    /// The streams of this thread, one for each GPU on which it has launched.
    static OWN: RefCell<Vec<Arc<Own>>> = const { RefCell::new(Vec::new()) };
}

impl Streams {
    pub(super) fn new(gpu: &'static Gpu) -> Arc<Streams> {
        Arc::new(Streams { gpu, all: Mutex::default(), free: Mutex::default() })
    }

    /// The stream of the calling thread. A thread whose variables are gone has it for one launch only.
    pub(super) fn of_thread(self: &Arc<Self>) -> Result<Arc<Own>, Error> {
        let found = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            if let Some(found) = own.iter().find(|own| Arc::ptr_eq(&own.streams, self)) {
                return Ok(Arc::clone(found));
            }
            let taken = Arc::new(self.take()?);
            own.push(Arc::clone(&taken));
            Ok(taken)
        });
        found.unwrap_or_else(|_| Ok(Arc::new(self.take()?)))
    }

    fn take(self: &Arc<Self>) -> Result<Own, Error> {
        // In a forked process the lock may be held by a thread that does not exist.
        self.gpu.check()?;
        let free = {
            let mut free = self.free.lock();
            let idle = free.iter().position(|stream| stream.is_idle());
            idle.map(|idle| free.swap_remove(idle))
        };
        let stream = match free {
            Some(stream) => stream,
            None => self.make()?,
        };
        Ok(Own { streams: Arc::clone(self), stream })
    }

    fn make(&self) -> Result<Arc<Stream>, Error> {
        let stream = Stream::start(self.gpu)?;
        self.all.lock().push(Arc::clone(&stream));
        Ok(stream)
    }

    /// Returns when all launches that were queued before are done.
    pub(super) fn wait_for_all(&self) {
        let all = self.all.lock().clone();
        all.iter().for_each(|stream| stream.wait_for_all());
    }
}

impl std::ops::Deref for Own {
    type Target = Arc<Stream>;

    fn deref(&self) -> &Arc<Stream> {
        &self.stream
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // In a forked process the lock may be held by a thread that does not exist.
        if self.streams.gpu.is_of_this_process() {
            self.streams.free.lock().push(Arc::clone(&self.stream));
        }
    }
}
