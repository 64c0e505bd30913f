//! The streams of a GPU: each thread that launches has one, from its first launch until it ends.
//!
//! A stream is never destroyed: when its thread ends it goes to another thread, once all that is queued on it is done.
//! If there are many threads at a time, some share a stream. That costs them parallelism, but changes nothing else:
//! launches register and are queued under a lock of their stream, so its order is that of their data.

use std::cell::RefCell;
use std::sync::Arc;

use super::stream::Stream;
use crate::Error;
use crate::backend::cuda::driver::Gpu;
use crate::sync::Mutex;

/// The most streams of a GPU. The driver maps them to at most 32 queues of the hardware, so more would not run at once.
const MOST: usize = 32;

/// The streams of one GPU.
pub(super) struct Streams {
    gpu: &'static Gpu,
    all: Mutex<Vec<Shared>>,
}

/// A stream, and how many threads have it.
struct Shared {
    stream: Arc<Stream>,
    threads: usize,
}

/// The stream of a thread, which is given back on drop.
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
        Arc::new(Streams { gpu, all: Mutex::default() })
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
        let mut all = self.all.lock();
        let place = match all.iter().position(|shared| shared.threads == 0 && shared.stream.is_idle()) {
            Some(idle) => idle,
            None if all.len() < MOST => {
                all.push(Shared { stream: Stream::start(self.gpu)?, threads: 0 });
                all.len() - 1
            }
            None => fewest_threads(&all),
        };
        all[place].threads += 1;
        Ok(Own { streams: Arc::clone(self), stream: Arc::clone(&all[place].stream) })
    }

    fn give_back(&self, stream: &Arc<Stream>) {
        let mut all = self.all.lock();
        let shared = all.iter_mut().find(|shared| Arc::ptr_eq(&shared.stream, stream));
        shared.expect("streams are never destroyed").threads -= 1;
    }

    /// Returns when all launches that were queued before are done.
    pub(super) fn wait_for_all(&self) {
        let all: Vec<_> = self.all.lock().iter().map(|shared| Arc::clone(&shared.stream)).collect();
        all.iter().for_each(|stream| stream.wait_for_all());
    }
}

/// The place of a stream that as few threads have as any other one.
fn fewest_threads(all: &[Shared]) -> usize {
    let places = all.iter().enumerate().min_by_key(|(_, shared)| shared.threads);
    places.map_or(0, |(place, _)| place)
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
            self.streams.give_back(&self.stream);
        }
    }
}
