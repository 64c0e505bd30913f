//! Variables that a `let` declares without a value: they are first assigned in regions.
//!
//! ```text
//! let y; if c { y = A; } else { y = B; }          →   let y; y = if c { let y; y = A; y } else { let y; y = B; y };
//! let y; loop { B; if c { y = A; break; } }       →   let y; y = loop { let y; B; if c { y = A; break y; } };
//! let y; 'a: { if c { y = A; break 'a; } y = B; } →   let y; y = 'a: { let y; if c { y = A; break 'a y; } y = B; y };
//! let y; while c { y = A; f(y); }                 →   let y; while c { let y; y = A; f(y); }
//! ```
//! A region assigns a variable if the variable certainly has a value at its end (`first_value`). Otherwise Rust lets no
//! code read it afterwards, and the region uses a separate variable. Rust's errors about variables that may have no
//! value apply to the inner variables as they did to the outer one. A tie, one for each `let`, gives all of them the
//! same type.

use super::branch::leaves;
use super::first_value::{at_jumps, is_own, surely_in};
use super::place::Place;
use super::rewrite::Rewriter;
use super::scope::Binding;
use super::state::{assigns, state_of};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprLoop, Lifetime, Local, Stmt};

/// The state of an `if`: variables that it assigns first, those that it uses internally, and the rest.
pub(crate) struct Split {
    pub(crate) given: Vec<Binding>,
    pub(crate) own: Vec<Binding>,
    pub(crate) kept: Vec<Place>,
}

/// Splits the state of an `if`. The arms are those after which the program continues.
pub(crate) fn split(rewriter: &Rewriter<'_>, state: Vec<Place>, arms: &[&Block]) -> Split {
    let mut split = Split { given: Vec::new(), own: Vec::new(), kept: Vec::new() };
    for place in state {
        match rewriter.scopes.find(&place.base) {
            Some((_, binding)) if binding.deferred => {
                let has_value = arms.iter().all(|arm| surely_in(&binding.name, arm));
                // A variable that is assigned only in arms that exit is not needed after the `if`.
                let is_needed = arms.iter().any(|arm| !leaves(arm));
                let list = if has_value && is_needed { &mut split.given } else { &mut split.own };
                list.push(binding.clone());
            }
            _ => split.kept.push(place),
        }
    }
    split
}

/// Declares a variable again, for the code of a region.
pub(crate) fn declaration(binding: &Binding) -> TokenStream {
    let (name, ty) = (&binding.name, binding.ty.iter());
    let mutable = binding.mutable.then(|| quote!(mut));
    let tied = binding.tie.as_ref().map(|tie| tied(name, tie));
    quote!(#[allow(unused_mut, unused_variables)] let #mutable #name #(: #ty)*; #tied)
}

/// Returns the declaration as a statement that is rewritten later, like those of the program.
fn redeclaration(binding: &Binding) -> Stmt {
    let (name, ty) = (&binding.name, binding.ty.iter());
    let mutable = binding.mutable.then(|| quote!(mut));
    let tie = binding.tie.iter();
    syn::parse_quote!(#(#[__jit_tied(#tie)])* let #mutable #name #(: #ty)*;)
}

/// Gives a variable the type of a tie, in unreachable code: Rust infers types from it, but sees no use of the variable.
fn tied(name: &Ident, tie: &Ident) -> Stmt {
    let span = tie.span();
    let tied = format_ident!("__jit_tied", span = span);
    syn::parse_quote_spanned! {span=>
        #[allow(unreachable_code)]
        let #tied = if let ::core::option::Option::Some(never) = #tie.unreached() { match never {} #tie.is_of(&#name);
            };
    }
}

/// Marks the variables of a `let` without a value, which has been rewritten; returns the statements after it.
pub(crate) fn declared(rewriter: &mut Rewriter<'_>, local: &mut Local) -> Vec<Stmt> {
    let position = local.attrs.iter().position(|attribute| attribute.path().is_ident("__jit_tied"));
    let outer = position.and_then(|position| local.attrs.remove(position).parse_args::<Ident>().ok());
    local.attrs.push(syn::parse_quote!(#[allow(unused_mut, unused_variables)]));
    let mut after = Vec::new();
    for (name, ..) in super::scope::pattern_names(&local.pat) {
        let is_typed = rewriter.scopes.find(&name).is_none_or(|(_, binding)| binding.ty.is_some());
        if is_typed {
            continue;
        }
        let tie = outer.clone().unwrap_or_else(|| {
            let span = rewriter.at(name.span());
            let (private, tie) = (rewriter.private(span), rewriter.helper("tie", span));
            after.push(syn::parse_quote_spanned!(span=> let #tie = #private::tie();));
            tie
        });
        rewriter.scopes.tie(&name, &tie);
        after.push(tied(&name, &tie));
    }
    after
}

/// Returns a `let` that is moved to where its variables are assigned, with those of them that have no value yet.
pub(crate) fn moved(rewriter: &Rewriter<'_>, local: &Stmt) -> Vec<Stmt> {
    let Stmt::Local(local) = local else { return Vec::new() };
    let names = super::scope::pattern_names(&local.pat);
    let bindings = names.iter().filter_map(|(name, ..)| rewriter.scopes.find(name));
    bindings.map(|(_, binding)| redeclaration(binding)).collect()
}

/// Returns whether a statement gives a variable the type of a tie.
pub(crate) fn is_tied(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Local(Local { pat: syn::Pat::Ident(name), .. }) if name.ident == "__jit_tied")
}

/// Returns whether a statement declares a tie.
pub(crate) fn is_tie(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Local(Local { pat: syn::Pat::Ident(name), init: Some(_),
        .. }) if name.ident.to_string().starts_with("__jit_tie"))
}

/// The variables that a loop or labelled block assigns first.
pub(crate) struct AssignedInRegion {
    bindings: Vec<Binding>,
    value: Ident,
    given: Vec<Ident>,
}

/// Prepares a `loop` that lanes exit at different times: if its body assigns variables first, its jumps carry their
/// values.
pub(crate) fn given_by_loop(rewriter: &mut Rewriter<'_>, node: &mut ExprLoop) -> Option<AssignedInRegion> {
    let label = node.label.as_ref().map(|label| label.name.clone());
    let span = node.loop_token.span;
    given_by_jumps(rewriter, &mut node.body, label.as_ref(), true, span)
}

/// Prepares a labelled block in the same way; its end carries the values, too.
pub(crate) fn given_by_block(
    rewriter: &mut Rewriter<'_>,
    body: &mut Block,
    label: &Lifetime,
) -> Option<AssignedInRegion> {
    given_by_jumps(rewriter, body, Some(label), false, label.span())
}

fn given_by_jumps(
    rewriter: &mut Rewriter<'_>,
    body: &mut Block,
    label: Option<&Lifetime>,
    is_loop: bool,
    span: Span,
) -> Option<AssignedInRegion> {
    let assigned = assigned(rewriter, body);
    let gives = |binding: &Binding| {
        let jumps = at_jumps(&binding.name, body, label, is_loop);
        jumps.all && if is_loop { jumps.any } else { surely_in(&binding.name, body) && (jumps.any || !leaves(body)) }
    };
    let bindings: Vec<Binding> = assigned.iter().filter(|binding| gives(binding)).cloned().collect();
    redeclare(rewriter, body);
    if bindings.is_empty() {
        return None;
    }
    TakeAlong { own: label.cloned(), loops: usize::from(!is_loop), bindings: &bindings }.visit_block_mut(body);
    if !is_loop && !leaves(body) {
        end_with(rewriter, body, &bindings, span);
    }
    let value = rewriter.helper("value", rewriter.at(span));
    let given = bindings.iter().map(|binding| rewriter.helper("given", binding.name.span())).collect();
    Some(AssignedInRegion { bindings, value, given })
}

/// Makes the end of a block return its value together with those of variables.
fn end_with(rewriter: &mut Rewriter<'_>, body: &mut Block, bindings: &[Binding], span: Span) {
    let names = nested(bindings.iter().map(|binding| &binding.name));
    let tail = match body.stmts.last() {
        Some(Stmt::Expr(_, None)) => body.stmts.pop(),
        Some(Stmt::Macro(call)) if call.semi_token.is_none() => body.stmts.pop(),
        _ => None,
    };
    let end: Expr = match tail {
        Some(tail) => {
            let value = rewriter.helper("value", rewriter.at(span));
            body.stmts.push(syn::parse_quote!(let #value = #tail;));
            syn::parse_quote!((#value, #names))
        }
        None => syn::parse_quote!(((), #names)),
    };
    body.stmts.push(Stmt::Expr(end, None));
}

/// Declares variables without a value in the body of a loop that assigns them. Rust does not let an iteration read a
/// value assigned by the one before, so each iteration may have its own.
pub(crate) fn redeclare(rewriter: &Rewriter<'_>, body: &mut Block) {
    let bindings = assigned(rewriter, body);
    body.stmts.splice(0..0, bindings.iter().map(redeclaration));
}

/// Returns whether a place is a variable that has no value yet.
pub(crate) fn is_deferred(rewriter: &Rewriter<'_>, place: &Place) -> bool {
    rewriter.scopes.find(&place.base).is_some_and(|(_, binding)| binding.deferred)
}

/// Returns the variables without a value that a body assigns.
fn assigned(rewriter: &Rewriter<'_>, body: &Block) -> Vec<Binding> {
    let places = state_of(&[], &[body], &rewriter.scopes);
    let found = places.iter().filter_map(|place| rewriter.scopes.find(&place.base));
    let deferred = found.filter(|(_, binding)| binding.deferred && assigns(&binding.name, body));
    deferred.map(|(_, binding)| binding.clone()).collect()
}

impl AssignedInRegion {
    /// Assigns the values returned by the rewritten loop or block.
    pub(crate) fn take(self, rewriter: &mut Rewriter<'_>, node: &Expr, span: Span) -> Expr {
        let AssignedInRegion { bindings, value, given } = self;
        let pattern = nested(given.iter());
        let assignments = bindings.iter().zip(&given).map(|(binding, given)| {
            let name = &binding.name;
            // The program assigns it several times.
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

/// Returns a name at another place, where it resolves as at its own.
fn respanned(name: &Ident, span: Span) -> Ident {
    Ident::new(&name.to_string(), span.resolved_at(name.span()))
}

/// Nested pairs, ended by `()`.
fn nested<'a>(names: impl DoubleEndedIterator<Item = &'a Ident>) -> TokenStream {
    names.rev().fold(quote!(()), |rest, name| quote!((#name, #rest)))
}

/// Makes the jumps out of a loop carry the values of variables.
struct TakeAlong<'a> {
    own: Option<Lifetime>,
    /// The number of loops around this place.
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
            let names: Vec<Ident> = self.bindings.iter().map(|Binding { name, .. }| respanned(name, span)).collect();
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
