//! Cancels launches: on request of the program, or when a time limit expires.
//!
//! A launch retains a `Token`: the number of cancellations when the work that it is a part of began. Running code
//! compares the number with the current one: generated code and the interpreter in loops, launches between blocks of
//! lanes, recordings between launches. A different number ends the run, and the launch fails like any other: the
//! failure is stored at the arrays that were to be written. So no notification is needed, and work that begins later is
//! not affected.
//!
//! A scope with a time limit has its own counter, which a thread increments when the time is over.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once, Weak};
use std::time::{Duration, Instant};

use crate::fork::{self, Handlers, Held};
use crate::sync::{Condvar, Mutex, persist};
use crate::{Error, ErrorKind, Label, Site};

/// The data that running code polls; the layout is part of the calling convention of generated code.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Poll<'a> {
    /// Cancellations so far.
    pub(crate) count: &'a AtomicU64,
    /// The count when the work began.
    pub(crate) noted: u64,
}

impl Poll<'static> {
    /// For a run that cannot be cancelled.
    pub const NEVER: Poll<'static> = {
        static NONE: AtomicU64 = AtomicU64::new(0);
        Poll { count: &NONE, noted: 0 }
    };
}

impl Poll<'_> {
    /// Whether the run should end, with arbitrary results.
    #[inline]
    #[must_use]
    pub fn is_cancelled(self) -> bool {
        self.count.load(Ordering::Relaxed) != self.noted
    }
}

/// A value that no counter reaches: noted when work is cancelled from the start.
const CANCELLED: u64 = u64::MAX;

/// Cancellations by [`cancel`].
static CANCELLATIONS: AtomicU64 = AtomicU64::new(0);

/// A time limit for the launches of one thread while a closure runs.
pub(crate) struct Scope {
    /// The number of cancellations, by [`cancel`] and by expiry of the limit.
    count: AtomicU64,
    is_over: AtomicBool,
    limit: Duration,
    deadline: Instant,
}

impl Scope {
    fn expire(&self) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            self.count.fetch_add(1, Ordering::Release);
        }
    }

    /// The count that launches of the scope note. The thread that watches the time may be late, or may not exist.
    fn noted(&self) -> u64 {
        let count = self.count.load(Ordering::Acquire);
        if !self.is_over.load(Ordering::Acquire) && Instant::now() < self.deadline {
            return count;
        }
        self.expire();
        CANCELLED
    }
}

/// The work in progress on the calling thread.
struct Current {
    scope: Option<Arc<Scope>>,
    /// The count that the outermost operation noted.
    noted: u64,
    /// The number of operations that have begun and not ended.
    operations: u32,
}

impl Current {
    const NONE: Current = Current { scope: None, noted: 0, operations: 0 };

    fn noted(&self) -> u64 {
        match &self.scope {
            _ if self.operations > 0 => self.noted,
            Some(scope) => scope.noted(),
            None => CANCELLATIONS.load(Ordering::Relaxed),
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::NONE) };
}

/// While this value lives, launches of this thread are parts of one piece of work: a cancellation of one of them also
/// cancels those after it.
#[derive(Debug)]
pub struct Operation(PhantomData<*const ()>);

/// Begins a piece of work, or a part of the one in progress on this thread.
#[must_use]
pub fn begin() -> Operation {
    // While a thread ends, the state may be gone: each launch is then a separate piece of work.
    let _ = CURRENT.try_with(|current| {
        let mut current = current.borrow_mut();
        current.noted = current.noted();
        current.operations += 1;
    });
    Operation(PhantomData)
}

impl Drop for Operation {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            current.operations = current.operations.saturating_sub(1);
        });
    }
}

/// Determines whether a launch is cancelled.
#[derive(Clone)]
pub(crate) struct Token {
    scope: Option<Arc<Scope>>,
    noted: u64,
}

impl Token {
    /// The token for launches that this thread makes now.
    pub(crate) fn current() -> Token {
        let token = CURRENT.try_with(|current| {
            let current = current.borrow();
            Token { noted: current.noted(), scope: current.scope.clone() }
        });
        token.unwrap_or_else(|_| Token { scope: None, noted: CANCELLATIONS.load(Ordering::Relaxed) })
    }

    pub(crate) fn poll(&self) -> Poll<'_> {
        let count = self.scope.as_ref().map_or(&CANCELLATIONS, |scope| &scope.count);
        Poll { count, noted: self.noted }
    }

    /// Whether a launch may continue, or has completed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`] if it was cancelled.
    #[inline]
    pub(crate) fn check(&self, label: Label, site: Option<Site>) -> Result<(), Error> {
        if self.poll().is_cancelled() { Err(self.error(&format!("the launch of `{label}`"), site)) } else { Ok(()) }
    }

    #[cold]
    fn error(&self, what: &str, site: Option<Site>) -> Error {
        let over = self.scope.as_ref().filter(|scope| scope.is_over.load(Ordering::Acquire));
        let (why, hint) = match over {
            Some(scope) => (
                format!("the time limit of {:?} was exceeded", scope.limit),
                "allow more time with `jit::with_timeout`; `#[max_iterations]` bounds a traced loop",
            ),
            None => (
                "`jit::cancel()` was called".to_owned(),
                "evaluate the values again; `#[max_iterations]` bounds a traced loop that may not end",
            ),
        };
        let error = Error::new(ErrorKind::Cancelled, format!("{what} was cancelled: {why}")).with_hint(hint);
        match site {
            Some(site) => error.at(site),
            None => error,
        }
    }
}

/// Whether a loop that launches its iterations one by one may continue.
///
/// # Errors
///
/// [`ErrorKind::Cancelled`] if the work in progress on this thread was cancelled.
pub fn check_loop(site: Site) -> Result<(), Error> {
    let token = Token::current();
    if token.poll().is_cancelled() { Err(token.error("a loop", Some(site)).of_launch()) } else { Ok(()) }
}

/// Cancels everything that the threads of the process are computing: kernels that run or are queued, calls of frozen
/// functions and `#[evaluated]` loops. Returns at once. Later launches are not affected; without work in progress
/// nothing happens.
///
/// Any thread may call this, for example one that waits for Ctrl-C, or a watchdog. A signal handler itself must not.
///
/// A running kernel ends within about a millisecond: its loops poll every thousand iterations. Arrays that were to be
/// written have an error as their contents, with [`ErrorKind::Cancelled`], and so have all arrays computed from them. A
/// `&mut` argument of a frozen function that was being overwritten in place is one of them. All other arrays are
/// unchanged, and everything can be computed again. Compilation is not interrupted.
pub fn cancel() {
    CANCELLATIONS.fetch_add(1, Ordering::Relaxed);
    for scope in WATCH.scopes.lock().each.iter().filter_map(Weak::upgrade) {
        scope.count.fetch_add(1, Ordering::Release);
    }
}

/// Runs a closure with a time limit. When it expires, launches of this thread in the closure that are not done are
/// cancelled, as by [`cancel`], and later ones fail at once. Among nested limits the earlier one counts.
///
/// Rust code in the closure itself is not interrupted, and neither is compilation. Evaluation is lazy: a computation
/// that is to be limited must be evaluated in the closure.
pub fn with_timeout<R>(limit: Duration, body: impl FnOnce() -> R) -> R {
    let Some(deadline) = Instant::now().checked_add(limit) else { return body() };
    let _entered = Entered::new(limit, deadline);
    body()
}

/// While the closure of a time limit runs.
struct Entered(Current);

impl Entered {
    fn new(limit: Duration, deadline: Instant) -> Entered {
        CURRENT.with(|current| {
            let mut current = current.borrow_mut();
            let outer = current.scope.as_ref().filter(|outer| outer.deadline < deadline);
            let (limit, deadline) = outer.map_or((limit, deadline), |outer| (outer.limit, outer.deadline));
            let is_over = AtomicBool::new(Instant::now() >= deadline);
            let scope = Arc::new(Scope { count: AtomicU64::new(0), is_over, limit, deadline });
            watch(&scope);
            Entered(std::mem::replace(&mut *current, Current { scope: Some(scope), ..Current::NONE }))
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let outer = std::mem::replace(&mut self.0, Current::NONE);
        let _ = CURRENT.try_with(|current| *current.borrow_mut() = outer);
    }
}

/// The time limits in force, and the thread that sleeps until the next one.
struct Watch {
    scopes: Mutex<Scopes>,
    changed: Condvar,
}

struct Scopes {
    each: Vec<Weak<Scope>>,
    has_thread: bool,
}

static WATCH: Watch =
    Watch { scopes: Mutex::new(Scopes { each: Vec::new(), has_thread: false }), changed: Condvar::new() };

/// Schedules the expiry of a scope.
fn watch(scope: &Arc<Scope>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| fork::register(Handlers { hold, reset }));
    let mut scopes = WATCH.scopes.lock();
    scopes.each.retain(|scope| scope.strong_count() > 0);
    scopes.each.push(Arc::downgrade(scope));
    if !scopes.has_thread {
        let thread = std::thread::Builder::new().name("jit-timeout".into());
        // Without the thread the limit holds between launches.
        scopes.has_thread = thread.spawn(expire_all).is_ok();
    }
    WATCH.changed.notify_all();
}

/// The main loop of the thread, which runs as long as there are scopes.
fn expire_all() {
    let mut scopes = WATCH.scopes.lock();
    loop {
        let now = Instant::now();
        let live = scopes.each.iter().filter_map(Weak::upgrade).filter(|scope| !scope.is_over.load(Ordering::Acquire));
        let (due, later): (Vec<_>, Vec<_>) = live.partition(|scope| scope.deadline <= now);
        due.iter().for_each(|scope| scope.expire());
        let Some(next) = later.iter().map(|scope| scope.deadline).min() else {
            scopes.has_thread = false;
            return;
        };
        drop((due, later));
        scopes = WATCH.changed.wait_for(scopes, next.saturating_duration_since(now));
    }
}

fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| WATCH.scopes.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// A forked process has no such thread yet.
fn reset() {
    WATCH.scopes.lock().has_thread = false;
}
