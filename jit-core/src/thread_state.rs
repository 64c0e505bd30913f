//! Per-thread state that can be used as long as the thread runs any code.
//!
//! The destructor of a thread-local value runs after other thread-local values are destroyed, in an unspecified order.
//! It may use arrays: it evaluates them, calls frozen functions, or drops the last handle. Therefore the state of this
//! crate has no destructor and stays usable until the end. A separate destructor empties it when the thread ends;
//! anything stored even later is leaked.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::mem::ManuallyDrop;
use std::thread::LocalKey;

/// Declares per-thread states as `thread_local!` does, with constant initial values.
macro_rules! thread_state {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $ty:ty = $init:expr;)*) => {$(
        $(#[$attribute])*
        $visibility const $name: $crate::thread_state::ThreadState<$ty> = {
            use $crate::thread_state::{End, Slot, ThreadState};
            std::thread_local! {
                static SLOT: Slot<$ty> = const { Slot::new($init) };
                static END: End = const { End::new(|| SLOT.with(Slot::clear)) };
            }
            ThreadState::new(&SLOT, &END)
        };
    )*};
}
pub(crate) use thread_state;

/// State that can be reset.
pub(crate) trait Clear {
    /// Drops the contents.
    fn clear(&self);
}

impl<T: Default> Clear for Cell<T> {
    fn clear(&self) {
        drop(self.take());
    }
}

impl<T: Default> Clear for RefCell<T> {
    fn clear(&self) {
        // Dropped after the cell is released, because the drop may use the cell.
        let contents = self.try_borrow_mut().map(|mut contents| std::mem::take(&mut *contents));
        drop(contents);
    }
}

/// The storage of a state. It has no destructor, so it always exists.
pub(crate) struct Slot<T> {
    value: ManuallyDrop<T>,
    /// Whether [`End`], which empties it, was registered.
    is_watched: Cell<bool>,
}

impl<T> Slot<T> {
    pub(crate) const fn new(value: T) -> Self {
        Slot { value: ManuallyDrop::new(value), is_watched: Cell::new(false) }
    }
}

impl<T: Clear> Slot<T> {
    pub(crate) fn clear(&self) {
        self.value.clear();
    }
}

/// Empties a state when the thread ends.
pub(crate) struct End(fn());

impl End {
    pub(crate) const fn new(clear: fn()) -> Self {
        End(clear)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A state with one value per thread.
pub(crate) struct ThreadState<T: 'static> {
    slot: &'static LocalKey<Slot<T>>,
    end: &'static LocalKey<End>,
}

impl<T> ThreadState<T> {
    pub(crate) const fn new(slot: &'static LocalKey<Slot<T>>, end: &'static LocalKey<End>) -> Self {
        ThreadState { slot, end }
    }

    /// Calls a function with the state of this thread.
    // Always: the address of the key is then known, and the access is one instruction instead of a call.
    #[inline(always)]
    pub(crate) fn with<R>(&self, function: impl FnOnce(&T) -> R) -> R {
        let run = |slot: &Slot<T>| {
            if !slot.is_watched.get() {
                self.watch(slot);
            }
            function(&slot.value)
        };
        self.slot.try_with(run).expect("a value without a destructor is accessible until the thread ends")
    }

    /// Like [`ThreadState::with`]: the failure of [`LocalKey::try_with`] cannot occur.
    #[inline(always)]
    pub(crate) fn try_with<R>(&self, function: impl FnOnce(&T) -> R) -> Result<R, Infallible> {
        Ok(self.with(function))
    }

    #[cold]
    fn watch(&self, slot: &Slot<T>) {
        slot.is_watched.set(true);
        let _ = self.end.try_with(|_| ());
    }
}

impl<T> ThreadState<Cell<T>> {
    #[inline]
    pub(crate) fn set(&self, value: T) {
        self.with(|cell| cell.set(value));
    }

    #[inline]
    pub(crate) fn take(&self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    #[inline]
    pub(crate) fn replace(&self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }
}

impl<T> ThreadState<RefCell<T>> {
    #[inline]
    pub(crate) fn with_borrow<R>(&self, function: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| function(&cell.borrow()))
    }

    #[inline]
    pub(crate) fn with_borrow_mut<R>(&self, function: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| function(&mut cell.borrow_mut()))
    }
}
