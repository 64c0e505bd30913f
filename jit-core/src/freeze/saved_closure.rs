//! Frozen closures in files: `frozen.save(path)`, `frozen.load(path)`.
//!
//! A closure has the types of its parameters and result in its signature alone, from which the compiler infers them.

use std::path::Path;

use jit_runtime::Error;

use super::argument::Recordable;
use super::closure::{Captures, Frozen, NoCaptures};
use crate::traverse::Build;

/// A frozen closure `F` with the captures `C` whose recordings can be read from a file. The compiler infers the
/// signature `S`.
#[diagnostic::on_unimplemented(
    message = "the recordings of this closure cannot be saved and loaded",
    label = "its result cannot be built from a file",
    note = "a closure with up to 8 parameters can be saved if its result is `Build`: `#[derive(Traverse)]` implements \
        it"
)]
pub trait SavedAs<S, C> {
    /// The signature, with the captures as the first parameter.
    #[doc(hidden)]
    type Signature;
    /// The result.
    #[doc(hidden)]
    type Output: Recordable + Build;
}

macro_rules! signatures {
    ($([$($name:ident),*])*) => {$(
        impl<F, R: Recordable + Build, $($name),*> SavedAs<fn($($name),*) -> R, NoCaptures> for F
        where
            F: Fn($($name),*) -> R,
        {
            type Signature = fn($($name),*) -> R;
            type Output = R;
        }

        impl<F, K, R: Recordable + Build, $($name),*> SavedAs<fn(&K, $($name),*) -> R, Captures<K>> for F
        where
            F: Fn(&K, $($name),*) -> R,
        {
            type Signature = fn(&K, $($name),*) -> R;
            type Output = R;
        }
    )*};
}

signatures! {
    []
    [A1]
    [A1, A2]
    [A1, A2, A3]
    [A1, A2, A3, A4]
    [A1, A2, A3, A4, A5]
    [A1, A2, A3, A4, A5, A6]
    [A1, A2, A3, A4, A5, A6, A7]
    [A1, A2, A3, A4, A5, A6, A7, A8]
}

impl<F, C> Frozen<F, C> {
    /// Writes all recordings to a file, as `save` of a `#[freeze]` function does.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    /// use jit::freeze::Frozen;
    ///
    /// let norm = || Frozen::new(|x: &Float| (x * x).sum().sqrt());
    /// let path = std::env::temp_dir().join(format!("norm-{}.jit", std::process::id()));
    /// let recorded = norm();
    /// recorded.call(&Float::full(2.0, 9).make_opaque());
    /// recorded.save(&path)?;
    ///
    /// let loaded = norm();
    /// loaded.load(&path)?;
    /// assert_eq!(loaded.call(&Float::full(3.0, 4).make_opaque()).item()?, 6.0);
    /// assert_eq!(loaded.stats().recordings, 0);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No recordings; one that calls the host, with the line; one that changes lengths, variants or numbers in its
    /// arguments; a failure of the file system.
    #[track_caller]
    pub fn save<S>(&self, path: impl AsRef<Path>) -> Result<(), Error>
    where
        F: SavedAs<S, C>,
    {
        self.function.save::<F::Signature>(None, path.as_ref())
    }

    /// Adds the recordings of a file that [`save`](Frozen::save) has written: later calls replay them. Machine code in
    /// the file is run, so whoever could write it is trusted, as with a shared library.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is foreign, too new, damaged, or of a closure with another signature.
    #[track_caller]
    pub fn load<S>(&self, path: impl AsRef<Path>) -> Result<(), Error>
    where
        F: SavedAs<S, C>,
    {
        self.function.load::<F::Signature, F::Output>(None, path.as_ref())
    }
}
