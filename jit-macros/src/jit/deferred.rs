//! Variables that a `let` declares without a value: their first values come from regions.
//!
//! ```text
//! let y; if c { y = A; } else { y = B; }          →   let y; y = if c { let y; y = A; y } else { let y; y = B; y };
//! let y; loop { B; if c { y = A; break; } }       →   let y; y = loop { let y; B; if c { y = A; break y; } };
//! ```
//! What Rust says of variables that may have no value holds for the inner ones as it did for the outer one.

use super::branch::leaves;
use super::place::Place;
use super::rewrite::Rewriter;
use super::scope::Binding;
use super::state::{assignment_targets, state_of};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprLoop, Lifetime};

/// Parts the state of an `if` into variables that have no value yet, and the rest.
pub(crate) fn split(rewriter: &Rewriter<'_>, state: Vec<Place>, arms: [&Block; 2]) -> (Vec<Binding>, Vec<Place>) {
    let mut deferred = Vec::new();
    let mut kept = Vec::new();
    for place in state {
        match rewriter.scopes.find(&place.base) {
            // What is assigned on the way out only is not needed after the `if`.
            Some((_, binding)) if binding.deferred => {
                if arms.into_iter().any(|arm| hands_on(&binding.name, arm)) {
                    deferred.push(binding.clone());
                }
            }
            _ => kept.push(place),
        }
    }
    (deferred, kept)
}

/// Whether a block assigns to a variable and may reach its end after that.
fn hands_on(name: &Ident, block: &Block) -> bool {
    let mut found = HandsOn(name, false);
    found.visit_block(block);
    found.1
}

struct HandsOn<'a>(&'a Ident, bool);

impl Visit<'_> for HandsOn<'_> {
    fn visit_block(&mut self, block: &Block) {
        if !leaves(block) {
            visit::visit_block(self, block);
        }
    }

    fn visit_expr_loop(&mut self, node: &ExprLoop) {
        visit::visit_block(self, &node.body);
    }

    fn visit_expr_assign(&mut self, assign: &syn::ExprAssign) {
        self.1 |= is_assigned(self.0, assign);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Whether a variable, as a whole, is among what an assignment changes.
fn is_assigned(name: &Ident, assign: &syn::ExprAssign) -> bool {
    let mut targets = Vec::new();
    assignment_targets(&assign.left, &mut targets);
    targets.iter().any(|place| place.base == *name && place.steps.is_empty())
}

/// The first values that a `loop` gives.
pub(crate) struct GivenByLoop {
    bindings: Vec<Binding>,
    value: Ident,
    given: Vec<Ident>,
    /// How many values the loops around it give.
    carried: usize,
}

/// Prepares a `loop` that lanes exit at different times: where its body gives variables their first values, its jumps take them along.
pub(crate) fn given_by_loop(rewriter: &mut Rewriter<'_>, node: &mut ExprLoop) -> Option<GivenByLoop> {
    let label = node.label.as_ref().map(|label| &label.name);
    let mut bindings = assigned(rewriter, &node.body);
    bindings.retain(|binding| gives(&binding.name, &node.body, label));
    let carried = rewriter.carried.len();
    rewriter.carried.extend(bindings.iter().map(|binding| binding.name.clone()));
    redeclare(rewriter, &mut node.body);
    if bindings.is_empty() {
        return None;
    }
    let own = node.label.as_ref().map(|label| label.name.clone());
    TakeAlong { own, loops: 0, bindings: &bindings }.visit_block_mut(&mut node.body);
    let value = rewriter.helper("value", rewriter.at(node.loop_token.span));
    let given = bindings.iter().map(|binding| rewriter.helper("given", binding.name.span())).collect();
    Some(GivenByLoop { bindings, value, given, carried })
}

/// Declares variables that a loop around this one gives in the body of this one, where that assigns them.
pub(crate) fn redeclare(rewriter: &Rewriter<'_>, body: &mut Block) {
    let mut bindings = assigned(rewriter, body);
    bindings.retain(|binding| rewriter.carried.contains(&binding.name) && assigns_here(&binding.name, body));
    let declarations = bindings.iter().map(|binding| {
        let (name, ty) = (&binding.name, binding.ty.iter());
        let mutable = binding.mutable.then(|| quote!(mut));
        syn::parse_quote!(#[allow(unused_mut)] let #mutable #name #(: #ty)*;)
    });
    body.stmts.splice(0..0, declarations);
}

/// Whether a place is a variable that has no value yet, and gets it from a loop around here.
pub(crate) fn is_carried(rewriter: &Rewriter<'_>, place: &Place) -> bool {
    rewriter.scopes.find(&place.base).is_some_and(|(_, binding)| binding.deferred)
        && rewriter.carried.contains(&place.base)
}

/// The variables without a value that a body assigns.
fn assigned(rewriter: &Rewriter<'_>, body: &Block) -> Vec<Binding> {
    let places = state_of(&[], &[body], &rewriter.scopes);
    let found = places.iter().filter_map(|place| rewriter.scopes.find(&place.base));
    found.filter(|(_, binding)| binding.deferred).map(|(_, binding)| binding.clone()).collect()
}

impl GivenByLoop {
    /// Takes the values from the loop, which is rewritten.
    pub(crate) fn take(self, rewriter: &mut Rewriter<'_>, node: &Expr, span: Span) -> Expr {
        let GivenByLoop { bindings, value, given, carried } = self;
        rewriter.carried.truncate(carried);
        let pattern = nested(given.iter());
        let assignments = bindings.iter().zip(&given).map(|(binding, given)| {
            let name = &binding.name;
            // In the program it is assigned several times.
            let mutable = binding.mutable.then(|| quote!(let _ = &mut #name;));
            quote!(#name = #given; #mutable)
        });
        let taken = quote_spanned!(span=> match #node { (#value, #pattern) => { #(#assignments)* #value } });
        for binding in &bindings {
            rewriter.scopes.initialise(&binding.name);
        }
        Expr::Verbatim(taken)
    }
}

/// Nested pairs, ended by `()`.
fn nested<'a>(names: impl DoubleEndedIterator<Item = &'a Ident>) -> TokenStream {
    names.rev().fold(quote!(()), |rest, name| quote!((#name, #rest)))
}

/// Whether each jump out of a `loop` comes after an assignment to a variable.
fn gives(name: &Ident, body: &Block, own: Option<&Lifetime>) -> bool {
    let mut given = AssignedInRegion { name, own, loops: 0, is_assigned: false, any: false, all: true };
    given.visit_block(body);
    given.any && given.all
}

struct AssignedInRegion<'a> {
    name: &'a Ident,
    own: Option<&'a Lifetime>,
    /// How many loops are around this place.
    loops: usize,
    is_assigned: bool,
    any: bool,
    all: bool,
}

impl AssignedInRegion<'_> {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
    }
}

impl Visit<'_> for AssignedInRegion<'_> {
    fn visit_block(&mut self, block: &Block) {
        let before = self.is_assigned;
        for statement in &block.stmts {
            self.visit_stmt(statement);
            let mut found = HandsOn(self.name, false);
            found.visit_stmt(statement);
            self.is_assigned |= found.1;
        }
        self.is_assigned = before;
    }

    fn visit_expr_break(&mut self, node: &syn::ExprBreak) {
        if is_own(node, self.own, self.loops) {
            self.any = true;
            self.all &= self.is_assigned;
        }
    }

    fn visit_expr_while(&mut self, node: &syn::ExprWhile) {
        self.within(|given| visit::visit_expr_while(given, node));
    }

    fn visit_expr_for_loop(&mut self, node: &syn::ExprForLoop) {
        self.within(|given| visit::visit_expr_for_loop(given, node));
    }

    fn visit_expr_loop(&mut self, node: &ExprLoop) {
        self.within(|given| visit::visit_expr_loop(given, node));
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Whether `break` exits the loop whose body has so many loops around this place.
fn is_own(node: &syn::ExprBreak, own: Option<&Lifetime>, loops: usize) -> bool {
    match &node.label {
        Some(label) => own == Some(label),
        None => loops == 0,
    }
}

/// Whether a body assigns to a variable other than in a loop that does not give its value.
fn assigns_here(name: &Ident, body: &Block) -> bool {
    struct Here<'a>(&'a Ident, bool);
    impl Visit<'_> for Here<'_> {
        fn visit_expr_assign(&mut self, assign: &syn::ExprAssign) {
            self.1 |= is_assigned(self.0, assign);
            visit::visit_expr_assign(self, assign);
        }
        fn visit_expr_loop(&mut self, node: &ExprLoop) {
            self.1 |= gives(self.0, &node.body, node.label.as_ref().map(|label| &label.name));
        }
        fn visit_expr_while(&mut self, _: &syn::ExprWhile) {}
        fn visit_expr_for_loop(&mut self, _: &syn::ExprForLoop) {}
        fn visit_item(&mut self, _: &syn::Item) {}
    }
    let mut here = Here(name, false);
    here.visit_block(body);
    here.1
}

/// Gives the jumps out of a loop the values of variables.
struct TakeAlong<'a> {
    own: Option<Lifetime>,
    /// How many loops are around this place.
    loops: usize,
    bindings: &'a [Binding],
}

impl TakeAlong<'_> {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
    }
}

impl VisitMut for TakeAlong<'_> {
    fn visit_expr_break_mut(&mut self, node: &mut syn::ExprBreak) {
        visit_mut::visit_expr_break_mut(self, node);
        if is_own(node, self.own.as_ref(), self.loops) {
            let span = node.break_token.span;
            let names: Vec<Ident> =
                self.bindings.iter().map(|binding| Ident::new(&binding.name.to_string(), span)).collect();
            let names = nested(names.iter());
            let value = node.expr.take().map_or_else(|| quote!(()), |value| quote!(#value));
            node.expr = Some(syn::parse_quote_spanned!(span=> (#value, #names)));
        }
    }

    fn visit_expr_while_mut(&mut self, node: &mut syn::ExprWhile) {
        self.within(|jumps| visit_mut::visit_expr_while_mut(jumps, node));
    }

    fn visit_expr_for_loop_mut(&mut self, node: &mut syn::ExprForLoop) {
        self.within(|jumps| visit_mut::visit_expr_for_loop_mut(jumps, node));
    }

    fn visit_expr_loop_mut(&mut self, node: &mut ExprLoop) {
        self.within(|jumps| visit_mut::visit_expr_loop_mut(jumps, node));
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
    fn visit_expr_async_mut(&mut self, _: &mut syn::ExprAsync) {}
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
