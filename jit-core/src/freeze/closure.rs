//! Frozen closures: a value that owns its recordings.
//!
//! A call cannot notice that a captured value was changed, so a frozen closure has no captures. The values that it uses
//! besides its arguments are listed, and read on each call like an argument.

use std::fmt;
use std::marker::PhantomData;

use jit_runtime::Site;

use super::argument::{Argument, ByValue, Exclusive, FrozenInput, Recordable, Shared, lend};
use super::borrowing::{Borrowing, Lending};
use super::call::call;
use super::function::{Function, Options};
use super::{Explanation, Stats};

/// A closure whose launches are recorded once and then replayed: the equivalent of a `#[freeze]` function.
///
/// The closure declares the types of its parameters: `&T`, `&mut T`, or numbers by value. It is called with one
/// argument, or a tuple of several. A number other than `i32` or `f64` needs a suffix: `1_u32`. The closure is traced
/// like any other; for control flow by lanes it calls a `#[jit]` function.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::freeze::Frozen;
///
/// let norm = Frozen::new(|x: &Float| (x * x).sum().sqrt());
/// for width in [2, 30, 400] {
///     let length = norm.call(&Float::full(2.0, width).make_opaque()).item()?;
///     assert_eq!(length, 2.0 * (width as f32).sqrt());
/// }
/// assert_eq!((norm.stats().recordings, norm.stats().replays), (1, 2));
///
/// let step = Frozen::new(|state: &mut Float, force: &Float, dt: f32| *state += force * dt).limit(8);
/// let mut state = Float::zeros(3);
/// step.call((&mut state, &Float::from([1.0, 2.0, 3.0]), 0.5_f32));
/// assert_eq!(state.to_vec()?, [0.5, 1.0, 1.5]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// Values that it uses besides its arguments are listed, and passed to it by reference. They may change between calls,
/// through [`captures_mut`](Frozen::captures_mut):
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::freeze::Frozen;
///
/// let (scale, shift) = (Float::opaque(2.0), 1.0_f32);
/// let mut affine = Frozen::with((scale, shift), |(scale, shift): &(Float, f32), x: &Float| x * scale + *shift);
/// assert_eq!(affine.call(&Float::from([1.0, 2.0])).to_vec()?, [3.0, 5.0]);
/// affine.captures_mut().0 = Float::opaque(10.0);
/// assert_eq!(affine.call(&Float::from([1.0, 2.0, 3.0])).to_vec()?, [11.0, 21.0, 31.0]);
/// assert_eq!(affine.stats().recordings, 1);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// The compiler rejects a closure with captures:
///
/// ```compile_fail
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::freeze::Frozen;
///
/// let k = 2.0;
/// let scaled = Frozen::new(move |x: &Float| x * k);
/// scaled.call(&Float::arange(3));
/// ```
pub struct Frozen<F, C = NoCaptures> {
    body: F,
    captures: C,
    pub(super) function: Function,
}

/// A [`Frozen`] closure without listed values.
#[derive(Clone, Copy, Debug)]
pub struct NoCaptures;

/// The values that a [`Frozen`] closure lists.
#[derive(Clone, Debug)]
pub struct Captures<C>(C);

/// A closure that captures nothing, or a function.
#[diagnostic::on_unimplemented(
    message = "a frozen closure cannot capture anything: later calls would not see that the captured values have \
        changed",
    label = "this captures something",
    note = "pass it to `Frozen::with(captures, |c: &_, x: &Float| …)`, which reads it in each call; a number `k`, too: \
        `Frozen::with(k, |k: &f32, x: &Float| x * *k)`"
)]
pub trait Captureless: Copy + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Copy + 'static> Captureless for F {}

const NAMES: [&str; 8] = ["args[0]", "args[1]", "args[2]", "args[3]", "args[4]", "args[5]", "args[6]", "args[7]"];
const CAPTURE_NAMES: [&str; 9] =
    ["captures", "args[0]", "args[1]", "args[2]", "args[3]", "args[4]", "args[5]", "args[6]", "args[7]"];

/// Rejects a closure that has captured a number or another `Copy` value. The compiler reports the error at the call of
/// this function, so the user calls it directly.
#[track_caller]
const fn captures_nothing(size: usize) {
    assert!(
        size == 0,
        "a frozen closure cannot capture anything, and this one captures a number or another `Copy` value: write \
         `Frozen::with(k, |k: &f32, x: &Float| x * *k)` instead of `Frozen::new(move |x: &Float| x * k)`"
    );
}

impl<F: Captureless> Frozen<F> {
    /// Freezes a closure that captures nothing, or a function.
    #[must_use]
    #[track_caller]
    pub fn new(body: F) -> Self {
        const { captures_nothing(size_of::<F>()) };
        Frozen::of(body, NoCaptures, &NAMES)
    }
}

impl<F: Captureless, C: FrozenInput + 'static> Frozen<F, Captures<C>> {
    /// Freezes a closure that captures nothing, and lists the values that it uses besides its arguments. Its first
    /// parameter is a reference to them.
    #[must_use]
    #[track_caller]
    pub fn with(captures: C, body: F) -> Self
    where
        C: Sized,
    {
        const { captures_nothing(size_of::<F>()) };
        Frozen::of(body, Captures(captures), &CAPTURE_NAMES)
    }
}

impl<F, C> Frozen<F, Captures<C>> {
    /// Returns the listed values.
    pub const fn captures(&self) -> &C {
        &self.captures.0
    }

    /// Returns the listed values mutably: the next call uses their new state.
    pub const fn captures_mut(&mut self) -> &mut C {
        &mut self.captures.0
    }
}

impl<F, C> Frozen<F, C> {
    #[track_caller]
    fn of(body: F, captures: C, names: &'static [&'static str]) -> Self {
        let function = Function::at(Site::here(), std::any::type_name::<F>(), names, Options::DEFAULT);
        Frozen { body, captures, function }
    }

    /// Calls the closure with one argument, or a tuple of several, each `&x`, `&mut s` or a number. The call is
    /// replayed if a recording fits, otherwise recorded.
    ///
    /// # Panics
    ///
    /// When the closure does something that cannot be recorded, as for a `#[freeze]` function, and when a launch fails.
    #[track_caller]
    pub fn call<A: Call<F, C>>(&self, arguments: A) -> A::Result {
        arguments.call(self)
    }

    /// Retains at most this many recordings, the most recently used ones. With 0 the closure just runs.
    #[must_use]
    pub fn limit(mut self, recordings: usize) -> Self {
        self.function.options.limit = Some(recordings);
        self
    }

    /// Warns, once, after more than this many recordings; the default is 10.
    #[must_use]
    pub fn warn_after(mut self, recordings: usize) -> Self {
        self.function.options.warn_after = recordings;
        self
    }

    /// Makes more recordings than this an error.
    #[must_use]
    pub fn budget(mut self, recordings: usize) -> Self {
        self.function.options.budget = Some(recordings);
        self
    }

    /// Sets whether constants among the arguments are part of a recording until they change, which is the default.
    /// Otherwise they are passed to each replay from the first one on.
    #[must_use]
    pub fn auto_opaque(mut self, is_on: bool) -> Self {
        self.function.options.auto_opaque = is_on;
        self
    }

    /// Sets whether calls are recorded and replayed, or just run.
    #[must_use]
    pub fn enabled(self, is_on: bool) -> Self {
        self.function.set_enabled(is_on);
        self
    }

    /// Sets the name in messages, instead of the closure's path.
    #[must_use]
    pub fn label(mut self, name: &'static str) -> Self {
        self.function.name = name;
        self
    }

    /// Switches recording and replaying on or off; existing recordings are retained.
    pub fn set_enabled(&self, is_on: bool) {
        self.function.set_enabled(is_on);
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.function.stats()
    }

    /// Returns the cause of each recording of the closure, oldest first.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        self.function.explain()
    }

    /// Discards all recordings and counters.
    pub fn clear(&self) {
        self.function.clear();
    }
}

impl<F, C> fmt::Debug for Frozen<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frozen").field("name", &self.function.name).field("stats", &self.stats()).finish()
    }
}

/// An argument in a call of a [`Frozen`] closure: `&T`, `&mut T`, `Option<&T>`, `[&T; N]`, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a frozen closure",
    label = "a frozen closure takes `&x`, `&mut s`, `Option<&x>`, `[&x; N]` and numbers",
    note = "the type behind the reference must be `Traverse` (derive it) and `Clone`"
)]
pub trait FrozenArg {
    /// The parameter of the closure.
    type Parameter<'a>;
    /// The type on which the closure is recorded.
    #[doc(hidden)]
    type Proxy;
    #[doc(hidden)]
    type Argument<'a>: Argument<Proxy = Self::Proxy>
    where
        Self: 'a;

    #[doc(hidden)]
    fn argument(&mut self) -> Self::Argument<'_>;

    #[doc(hidden)]
    fn lend(proxy: &mut Self::Proxy) -> Self::Parameter<'_>;

    #[doc(hidden)]
    fn pass(&mut self) -> Self::Parameter<'_>;
}

impl<T: Recordable> FrozenArg for &mut T {
    type Parameter<'a> = &'a mut T;
    type Proxy = T;
    type Argument<'a>
        = Exclusive<'a, T>
    where
        Self: 'a;

    fn argument(&mut self) -> Exclusive<'_, T> {
        Exclusive(self)
    }

    fn lend(proxy: &mut T) -> &mut T {
        proxy
    }

    fn pass(&mut self) -> &mut T {
        self
    }
}

macro_rules! borrowing {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)*> FrozenArg for $ty {
            type Parameter<'a> = <Self as Borrowing>::Lent<'a>;
            type Proxy = <Self as Borrowing>::Proxy;
            type Argument<'a>
                = Lending<'a, Self>
            where
                Self: 'a;

            fn argument(&mut self) -> Lending<'_, Self> {
                Lending(self)
            }

            fn lend(proxy: &mut Self::Proxy) -> Self::Parameter<'_> {
                <Self as Borrowing>::lend(proxy)
            }

            fn pass(&mut self) -> Self::Parameter<'_> {
                Borrowing::pass(self)
            }
        }
    )*};
}

borrowing! {
    [T: FrozenInput + ?Sized + 'static] &T;
    [B: Borrowing] Option<B>;
    [B: Borrowing, const N: usize] [B; N];
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl FrozenArg for $ty {
            type Parameter<'a> = $ty;
            type Proxy = $ty;
            type Argument<'a> = ByValue<'a, $ty>;

            fn argument(&mut self) -> ByValue<'_, $ty> {
                ByValue(self)
            }

            fn lend(proxy: &mut $ty) -> $ty {
                *proxy
            }

            fn pass(&mut self) -> $ty {
                *self
            }
        }
    )*};
}

numbers!(
    bool,
    char,
    i8,
    i16,
    i32,
    i64,
    isize,
    u8,
    u16,
    u32,
    u64,
    usize,
    f32,
    f64,
    half::f16,
    half::bf16,
    crate::size::Size
);

/// The arguments in a call of a [`Frozen`] closure `F` that lists `C`.
#[diagnostic::on_unimplemented(
    message = "the frozen closure does not take these arguments",
    label = "these arguments do not match its parameters",
    note = "each parameter takes `&x`, `&mut s` or a number; pass several as a tuple: `frozen.call((&x, &mut s))`"
)]
pub trait Call<F, C> {
    /// The result of the closure.
    type Result;

    #[doc(hidden)]
    fn call(self, frozen: &Frozen<F, C>) -> Self::Result;
}

macro_rules! calls {
    ($($($name:ident $index:tt $behind:tt),*;)*) => {$(
        impl<Body, Output: Recordable, $($name: FrozenArg),*> Call<Body, NoCaptures> for ($($name,)*)
        where
            Body: Captureless + for<'a> Fn($($name::Parameter<'a>),*) -> Output,
        {
            type Result = Output;

            #[track_caller]
            #[allow(unused_mut, unused_variables)]
            fn call(mut self, frozen: &Frozen<Body, NoCaptures>) -> Output {
                let given = ($(self.$index.argument(),)*);
                let body = frozen.body;
                let done = call::<_, Output, _>(&frozen.function, given,
                    move |proxies| body($($name::lend(&mut proxies.$index)),*));
                done.unwrap_or_else(|| body($(self.$index.pass()),*))
            }
        }

        impl<Body, Output: Recordable, C: FrozenInput + 'static, $($name: FrozenArg),*> Call<Body,
        Captures<C>> for ($($name,)*)
        where
            Body: Captureless + for<'a> Fn(&'a C, $($name::Parameter<'a>),*) -> Output,
        {
            type Result = Output;

            #[track_caller]
            #[allow(unused_mut)]
            fn call(mut self, frozen: &Frozen<Body, Captures<C>>) -> Output {
                let (body, captures) = (frozen.body, &frozen.captures.0);
                let given = (Shared(captures), $(self.$index.argument(),)*);
                let done = call::<_, Output, _>(&frozen.function, given, move |proxies| {
                    body(lend(&proxies.0, PhantomData), $($name::lend(&mut proxies.$behind)),*)
                });
                done.unwrap_or_else(|| body(captures, $(self.$index.pass()),*))
            }
        }
    )*};
}

calls! {
    ;
    A1 0 1;
    A1 0 1, A2 1 2;
    A1 0 1, A2 1 2, A3 2 3;
    A1 0 1, A2 1 2, A3 2 3, A4 3 4;
    A1 0 1, A2 1 2, A3 2 3, A4 3 4, A5 4 5;
    A1 0 1, A2 1 2, A3 2 3, A4 3 4, A5 4 5, A6 5 6;
    A1 0 1, A2 1 2, A3 2 3, A4 3 4, A5 4 5, A6 5 6, A7 6 7;
    A1 0 1, A2 1 2, A3 2 3, A4 3 4, A5 4 5, A6 5 6, A7 6 7, A8 7 8;
}

/// A single argument needs no tuple.
macro_rules! single {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)* Body, C> Call<Body, C> for $ty
        where
            (Self,): Call<Body, C>,
        {
            type Result = <(Self,) as Call<Body, C>>::Result;

            #[track_caller]
            fn call(self, frozen: &Frozen<Body, C>) -> Self::Result {
                (self,).call(frozen)
            }
        }
    )*};
}

single! {
    ['t, T: ?Sized,] &'t T;
    ['t, T,] &'t mut T;
    [] bool;
    [] char;
    [] i8;
    [] i16;
    [] i32;
    [] i64;
    [] isize;
    [] u8;
    [] u16;
    [] u32;
    [] u64;
    [] usize;
    [] f32;
    [] f64;
    [] half::f16;
    [] half::bf16;
    [] crate::size::Size;
}
