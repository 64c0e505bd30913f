//! A call of a frozen function that can run again: a copy of its arguments, and its body, of any types.

use std::any::TypeId;
use std::sync::Arc;

use super::argument::{Arguments, Recordable, Visit};
use crate::graph::Var;
use crate::traverse::{Leaf, Visitor, VisitorMut};

/// A body as a function of the copies of its arguments.
pub(super) enum Body<P, R> {
    /// One that captures nothing.
    Function(fn(&mut P) -> R),
    /// One with values of its own.
    Closure(Closure<P, R>),
}

/// A closure that can run again, on any thread.
pub(crate) type Closure<P, R> = Arc<dyn Fn(&mut P) -> R + Send + Sync>;

impl<P, R> Body<P, R> {
    pub(super) fn run(&self, copies: &mut P) -> R {
        match self {
            Body::Function(function) => function(copies),
            Body::Closure(closure) => closure(copies),
        }
    }
}

impl<P, R> Clone for Body<P, R> {
    fn clone(&self) -> Self {
        match self {
            Body::Function(function) => Body::Function(*function),
            Body::Closure(closure) => Body::Closure(Arc::clone(closure)),
        }
    }
}

/// Returns a body that captures nothing as a function.
pub(super) fn function_of<P, R, B: FnOnce(&mut P) -> R + Copy>(_: &B) -> Option<Body<P, R>> {
    fn run<P, R, B: FnOnce(&mut P) -> R + Copy>(copies: &mut P) -> R {
        // SAFETY: values of the type exist, are copied by copying their bytes, and have none. So this is a copy of one.
        let body: B = unsafe { std::mem::zeroed() };
        body(copies)
    }
    (size_of::<B>() == 0).then_some(Body::Function(run::<P, R, B>))
}

/// A call that can run again.
pub(super) trait Again: Send + Sync {
    /// Returns the instantiation of the function.
    fn of(&self) -> TypeId;

    /// Visits the leaves of the arguments.
    fn show(&self, visitor: &mut Visitor<'_>);

    /// Lends the arrays of the arguments.
    fn lend(&mut self, visitor: &mut VisitorMut<'_>);

    fn copy(&self) -> Box<dyn Again>;

    /// Runs the body; returns the arrays of the arguments that it may have changed, and those of the result.
    fn run(&mut self) -> Vec<Var>;
}

/// The arguments and the body of a call.
pub(super) struct Copied<P, R> {
    of: TypeId,
    arguments: P,
    body: Body<P, R>,
    parts: Parts<P>,
}

/// What is done with arguments, as functions: their type may borrow, the copies do not.
struct Parts<P> {
    show: fn(&P, &mut Visitor<'_>),
    show_changed: fn(&P, &mut Visit<'_>),
    lend: fn(&mut P, &mut VisitorMut<'_>),
    copy: fn(&P) -> P,
}

impl<P> Clone for Parts<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Parts<P> {}

/// Returns a call on copies of some arguments.
pub(super) fn copied<A: Arguments, R: Recordable>(
    of: TypeId,
    arguments: &A,
    body: Body<A::Proxies, R>,
) -> Copied<A::Proxies, R> {
    let parts = Parts { show: A::show_copies, show_changed: A::show_proxies, lend: A::lend_proxies, copy: A::copies };
    Copied { of, arguments: arguments.proxies(), body, parts }
}

impl<P: Send + Sync + 'static, R: Recordable> Again for Copied<P, R> {
    fn of(&self) -> TypeId {
        self.of
    }

    fn show(&self, visitor: &mut Visitor<'_>) {
        (self.parts.show)(&self.arguments, visitor);
    }

    fn lend(&mut self, visitor: &mut VisitorMut<'_>) {
        (self.parts.lend)(&mut self.arguments, visitor);
    }

    fn copy(&self) -> Box<dyn Again> {
        let (arguments, parts) = ((self.parts.copy)(&self.arguments), self.parts);
        Box::new(Copied { of: self.of, arguments, body: self.body.clone(), parts })
    }

    fn run(&mut self) -> Vec<Var> {
        let result = self.body.run(&mut self.arguments);
        let mut leaves = Vec::new();
        (self.parts.show_changed)(&self.arguments, &mut |is_exclusive, show| {
            show(&mut Visitor::new(&mut |_, leaf| {
                if let (true, Leaf::Array(var)) = (is_exclusive, leaf) {
                    leaves.push(var.clone());
                }
            }));
        });
        result.traverse(&mut Visitor::new(&mut |_, leaf| {
            if let Leaf::Array(var) = leaf {
                leaves.push(var.clone());
            }
        }));
        leaves
    }
}
