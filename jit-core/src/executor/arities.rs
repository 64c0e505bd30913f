//! Calls of executors, by the number of arguments.
//!
//! They are written out, because the compiler's messages about wrong arguments show them.

use jit_runtime::{Error, Site};

use super::Executor;
use super::call::enter;

impl<R> Executor<fn() -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)())
    }
}

impl<A, R> Executor<fn(A) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a))
    }
}

impl<A, B, R> Executor<fn(A, B) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A, b: B) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b))
    }
}

impl<A, B, C, R> Executor<fn(A, B, C) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c))
    }
}

impl<A, B, C, D, R> Executor<fn(A, B, C, D) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d))
    }
}

impl<A, B, C, D, E, R> Executor<fn(A, B, C, D, E) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e))
    }
}

impl<A, B, C, D, E, G, R> Executor<fn(A, B, C, D, E, G) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g))
    }
}

impl<A, B, C, D, E, G, H, R> Executor<fn(A, B, C, D, E, G, H) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h))
    }
}

impl<A, B, C, D, E, G, H, I, R> Executor<fn(A, B, C, D, E, G, H, I) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H, i: I) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h, i))
    }
}

impl<A, B, C, D, E, G, H, I, J, R> Executor<fn(A, B, C, D, E, G, H, I, J) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H, i: I, j: J) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h, i, j))
    }
}

impl<A, B, C, D, E, G, H, I, J, K, R> Executor<fn(A, B, C, D, E, G, H, I, J, K) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H, i: I, j: J, k: K) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h, i, j, k))
    }
}

impl<A, B, C, D, E, G, H, I, J, K, L, R> Executor<fn(A, B, C, D, E, G, H, I, J, K, L) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H, i: I, j: J, k: K, l: L) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h, i, j, k, l))
    }
}

impl<A, B, C, D, E, G, H, I, J, K, L, M, R> Executor<fn(A, B, C, D, E, G, H, I, J, K, L, M) -> R> {
    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit what was compiled; a failure of their evaluation, or of a launch; a call while
    /// something else is recorded. The arguments are then unchanged.
    #[expect(clippy::too_many_arguments, reason = "as many as the function has")]
    #[track_caller]
    pub fn call(&self, a: A, b: B, c: C, d: D, e: E, g: G, h: H, i: I, j: J, k: K, l: L, m: M) -> Result<R, Error> {
        let site = Site::here();
        enter(&self.program, site, || (self.invoke)(a, b, c, d, e, g, h, i, j, k, l, m))
    }
}
