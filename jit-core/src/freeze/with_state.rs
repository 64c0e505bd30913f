//! The arguments of a frozen function with `state`: the arrays that it uses besides its arguments, which are shared
//! leaves.
//!
//! The state is named by a closure of the arguments. A `&mut` argument is borrowed for the whole call, so the closure
//! is called again, through the arguments, for each visit.

use super::argument::{Arguments, Visit};
use crate::traverse::{Visitor, VisitorMut};

/// Arguments, and a function that visits the arrays of the state.
pub struct WithState<A, F> {
    arguments: A,
    show: F,
}

/// Adds the state to the arguments of a frozen function.
#[doc(hidden)]
pub fn with_state<A: Arguments, F: Fn(&A, &mut Visitor<'_>)>(arguments: A, show: F) -> WithState<A, F> {
    WithState { arguments, show }
}

impl<A: Arguments, F: Fn(&A, &mut Visitor<'_>)> Arguments for WithState<A, F> {
    type Proxies = A::Proxies;

    fn show(&self, names: &[&'static str], visit: &mut Visit<'_>) {
        self.arguments.show(names, visit);
        let name = names.last().copied().unwrap_or_default();
        visit(false, &mut |visitor| visitor.named(name, |visitor| (self.show)(&self.arguments, visitor)));
    }

    fn proxies(&self) -> A::Proxies {
        self.arguments.proxies()
    }

    const ARE_COPIES_COMPLETE: bool = false;

    fn copies(proxies: &A::Proxies) -> A::Proxies {
        A::copies(proxies)
    }

    fn show_copies(proxies: &A::Proxies, visitor: &mut Visitor<'_>) {
        A::show_copies(proxies, visitor);
    }

    fn show_proxies(proxies: &A::Proxies, visit: &mut Visit<'_>) {
        A::show_proxies(proxies, visit);
        visit(false, &mut |_| {});
    }

    fn lend_proxies(proxies: &mut A::Proxies, visitor: &mut VisitorMut<'_>) {
        A::lend_proxies(proxies, visitor);
    }

    fn lend_changed(proxies: &mut A::Proxies, visitor: &mut VisitorMut<'_>) {
        A::lend_changed(proxies, visitor);
    }

    fn put(&mut self, templates: &A::Proxies, is_unchanged: bool, visitor: &mut VisitorMut<'_>) {
        self.arguments.put(templates, is_unchanged, visitor);
    }
}

/// Calls the closure that names the state; its parameters get their types from the arguments.
#[doc(hidden)]
pub fn state<A, T>(arguments: A, name: impl FnOnce(A) -> T) -> T {
    name(arguments)
}
