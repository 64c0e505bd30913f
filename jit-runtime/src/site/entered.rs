//! The line of the program that called the library, for what happens in closures and behind trait objects, which do not
//! pass the line of their caller on.

use std::cell::Cell;
use std::marker::PhantomData;

use super::Site;

/// Explains a place in Rust's library in a message.
#[doc(hidden)]
pub const PASSED_BY_NAME: &str = "\n  which is where Rust calls a function that is passed by its name, as in \
    `map(Float::sin)`; in a closure, `map(|x| x.sin())`, this is the line of the program";

thread_local! {
    /// The place of the program that has called the library, and the folder of the crate that it has called.
    static ENTERED: Cell<Option<(Site, Option<&'static str>)>> = const { Cell::new(None) };
    /// Whether there is one: each new node asks.
    static IS_ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// The rest of a call of the library; see [`Site::enter`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Entered(Option<(Site, Option<&'static str>)>, PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        IS_ENTERED.set(self.0.is_some());
        ENTERED.set(self.0);
    }
}

impl Site {
    /// Makes this place the line of the program for what the library does, until the result is dropped: there
    /// [`Site::of_program`] returns it instead of places inside of the library, as those of closures that the library
    /// passes to iterators. If this is itself a place inside of the library, that of the function around it counts.
    /// `root` is the folder of the crate that calls this, unless it is part of the machinery.
    #[doc(hidden)]
    #[must_use]
    pub fn enter(self, root: Option<&'static str>) -> Entered {
        let before = ENTERED.get();
        let root = before.and_then(|(_, root)| root).or(root);
        let entered = match before {
            Some((outer, _)) if self.is_inside(root) => Some((outer, root)),
            None if self.is_inside(root) => None,
            _ => Some((self, root)),
        };
        IS_ENTERED.set(entered.is_some());
        ENTERED.set(entered);
        Entered(before, PhantomData)
    }

    /// Returns the place of the program that called the library, if this is a place inside of the library.
    #[doc(hidden)]
    #[must_use]
    // Always: the access is one instruction instead of a call.
    #[inline(always)]
    pub fn of_program(self) -> Site {
        if IS_ENTERED.get() { self.of_caller() } else { self }
    }

    #[cold]
    fn of_caller(self) -> Site {
        match ENTERED.get() {
            Some((site, root)) if self.is_inside(root) => site,
            _ => self,
        }
    }

    /// Returns whether it is in Rust's library, whose closures and function items do not know their callers.
    #[doc(hidden)]
    #[must_use]
    pub fn is_in_rust(self) -> bool {
        let file = self.file();
        file.starts_with('/') && (file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/library/"))
    }

    /// Returns whether it is inside of the library: in one of its crates, or in Rust's.
    fn is_inside(self, root: Option<&str>) -> bool {
        let file = self.file();
        is_of_machinery(file) || root.is_some_and(|root| file.starts_with(root)) || self.is_in_rust()
    }
}

/// The folder in which the folders of the crates are, as the compiler names it.
const CRATES: &str = folder_of_crates(file!());

/// Returns what stands before the name of this crate's folder, which may have a version in it.
const fn folder_of_crates(file: &str) -> &str {
    let mut end = file.len() - "/src/site/entered.rs".len();
    while end > 0 && file.as_bytes()[end - 1] != b'/' {
        end -= 1;
    }
    file.split_at(end).0
}

/// Returns whether a file is one of the crates that do not know the front end.
fn is_of_machinery(file: &str) -> bool {
    file.strip_prefix(CRATES).is_some_and(|file| file.starts_with("jit-core") || file.starts_with("jit-runtime"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_inside_of_the_library_are_those_of_its_caller() {
        let at = |file: &str| Site::new(file, 7, 1);
        let here = file!().trim_end_matches("jit-runtime/src/site/entered.rs");
        let core = at(&format!("{here}jit-core/src/array/mod.rs"));
        let (program, closure) = (at("app/src/main.rs"), at("app/src/closure.rs"));
        assert_eq!(core.of_program(), core);
        let entered = program.enter(None);
        assert_eq!(
            [core, at("/rustc/0123/library/core/src/array/mod.rs"), closure].map(Site::of_program),
            [program, program, closure]
        );
        assert_eq!(at("lib/jit/src/nn.rs").of_program().file(), "lib/jit/src/nn.rs");
        {
            // The library calls itself: the line stays, and its other crate is known from now on.
            let _inner = core.enter(Some("lib/jit/src/"));
            assert_eq!([core, at("lib/jit/src/nn.rs")].map(Site::of_program), [program; 2]);
            // A closure of the program calls it.
            let _inner = closure.enter(None);
            assert_eq!(core.of_program(), closure);
        }
        assert_eq!(core.of_program(), program);
        {
            let _front = core.enter(Some("lib/jit/src/"));
            // The machinery begins with the line of the program, and does not forget the other crate.
            let _inner = program.enter(None);
            assert_eq!(at("lib/jit/src/nn.rs").of_program(), program);
        }
        drop(entered);
        assert_eq!(core.of_program(), core);
    }
}
