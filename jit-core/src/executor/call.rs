//! The functions that generated code calls: to compile a function, and to call it.

use std::cell::Cell;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use jit_runtime::cache::CachePolicy;
use jit_runtime::{Error, ErrorKind, Site};

use super::Executor;
use crate::freeze::{Arguments, Closure, Compiled, Program, Recordable};
use crate::misuse;
use crate::thread_state::thread_state;
use crate::traverse::Build;

thread_state! {
    /// The executor that is about to be called, with the line of the call.
    static CALLED: Cell<Option<(Arc<Program>, Site)>> = Cell::new(None);
    /// The error of the call that has just ended.
    static FAILED: Cell<Option<Error>> = Cell::new(None);
}

/// Compiles a function, with a policy for the cache. The body takes what is kept of `#[constexpr]` values, too.
#[doc(hidden)]
#[track_caller]
pub fn compile<A: Arguments, R: Recordable, C, F>(
    policy: CachePolicy,
    what: Compiled,
    constexprs: Vec<(&'static str, String)>,
    arguments: A,
    (body, again): (impl FnOnce(&mut A::Proxies, C) -> R, Option<Closure<A::Proxies, R>>),
    kept: C,
    invoke: F,
) -> Result<Executor<F>, Error> {
    let body = (|proxies: &mut A::Proxies| body(proxies, kept), again);
    let program = Program::compile(what, &arguments, body, policy, Site::here())?;
    Ok(Executor::new(Arc::new(program), constexprs.into(), invoke))
}

/// Reads a function from a file that [`Executor::save`] has written.
#[doc(hidden)]
#[track_caller]
pub fn load<R: Recordable + Build, F>(
    what: Compiled,
    constexprs: &[&'static str],
    path: &Path,
    invoke: F,
) -> Result<Executor<F>, Error> {
    let (program, constexprs) = Program::load::<F, R>(what, constexprs, path, Site::here())?;
    Ok(Executor::new(Arc::new(program), constexprs.into(), invoke))
}

/// Reads a function from the bytes of a file, which are a part of the program.
#[doc(hidden)]
#[track_caller]
pub fn load_bytes<R: Recordable + Build, F>(
    what: Compiled,
    constexprs: &[&'static str],
    bytes: &[u8],
    invoke: F,
) -> Result<Executor<F>, Error> {
    let (program, constexprs) = Program::of_bytes::<F, R>(what, constexprs, bytes, Site::here())?;
    Ok(Executor::new(Arc::new(program), constexprs.into(), invoke))
}

/// Calls the executor that [`enter`] is for. After an error, which [`enter`] returns, the result is an empty one.
#[doc(hidden)]
pub fn run<A: Arguments, R: Recordable>(arguments: A) -> R {
    let Some((program, site)) = CALLED.take() else { outside(Site::here()) };
    program.call(arguments, site).unwrap_or_else(|error| {
        let empty = program.empty_result::<A, R>();
        FAILED.set(Some(error));
        empty.unwrap_or_else(|| outside(site))
    })
}

/// Calls the function that was generated for an executor.
#[inline]
pub(super) fn enter<R>(program: &Arc<Program>, site: Site, invoke: impl FnOnce() -> R) -> Result<R, Error> {
    CALLED.set(Some((Arc::clone(program), site)));
    let result = invoke();
    match FAILED.take() {
        None => Ok(result),
        Some(error) => Err(error),
    }
}

#[cold]
fn outside(site: Site) -> ! {
    misuse::panic_at(site, Error::new(ErrorKind::Internal, "the code of an executor runs outside of a call"))
}

/// The value of a `#[constexpr]` parameter, as text. Method lookup finds [`Unnamed`] for types without `Debug`.
#[doc(hidden)]
pub struct Debugged<'a, T: ?Sized>(pub &'a T);

#[doc(hidden)]
pub trait Named {
    /// Returns the value as text.
    fn text(&self) -> String;
}

impl<T: Debug + ?Sized> Named for Debugged<'_, T> {
    fn text(&self) -> String {
        format!("{:?}", self.0)
    }
}

#[doc(hidden)]
pub trait Unnamed {
    /// Returns the type as text.
    fn text(&self) -> String;
}

impl<T: ?Sized> Unnamed for &Debugged<'_, T> {
    fn text(&self) -> String {
        std::any::type_name::<T>().to_owned()
    }
}
