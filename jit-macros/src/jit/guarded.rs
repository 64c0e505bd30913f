//! `match` on a host value, by patterns of any kind, with guards that may be traced.
//!
//! Rust decides by the patterns, and lanes by the guards. So it becomes a chain of `if`s: the condition of an arm is
//! Rust's test of its pattern, or the value of its guard where the pattern matches, and no lane where it does not. A
//! guard is evaluated in a `match` of Rust's, because it may read what its pattern binds.
//!
//! ```text
//! match m { Some(y) if x > y => A, Some(y) => B, None => C }
//!    →   if { let mut c = None; match m { Some(y) if { c = Some(x > y); false } => !, _ => {} } c } {
//!            match m { Some(y) => A, _ => ! }
//!        } else if matches!(m, Some(_)) { match m { Some(y) => B, _ => ! } }
//!        else { match m { None => C, _ => ! } }
//! ```
//! A copy of the `match` that never runs lets Rust check that the patterns are exhaustive.

use super::branch::Want;
use super::matching::{chain_arms, chained, replaced};
use super::patterns::{guard, has_let, is_irrefutable, is_variable, pattern};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::{Scopes, identifiers, pattern_names};
use super::{index, lent::Lent};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Block, Expr, ExprMatch, Pat, Stmt};

/// Returns whether a `match`, which is not one of numbers alone, has guards that may be traced and is decided by a
/// value that can be read several times.
pub(crate) fn applies(node: &ExprMatch, scopes: &Scopes, is_host: impl Fn(&Expr) -> bool) -> bool {
    let may_be_traced = |arm: &Arm| guard(arm).is_some_and(|guard| may_be_traced(arm, guard, &node.expr, &is_host));
    let ends = node.arms.last().is_some_and(|last| guard(last).is_none());
    ends && node.arms.iter().any(may_be_traced)
        && !node.arms.iter().filter_map(guard).any(has_let)
        && (is_place(&node.expr) || lends_nothing(&node.expr, scopes))
}

/// Returns whether no place of the program can change through a value.
fn lends_nothing(value: &Expr, scopes: &Scopes) -> bool {
    match unparenthesised(value) {
        Expr::Tuple(tuple) => tuple.elems.iter().all(|part| lends_nothing(part, scopes)),
        Expr::Reference(reference) => reference.mutability.is_none(),
        Expr::Path(path) => {
            let binding = path.path.get_ident().and_then(|name| scopes.find(name));
            binding.is_some_and(|(_, binding)| binding.host || !(binding.by_mut_ref || binding.may_hold))
        }
        other => !scopes.may_refer(other, false),
    }
}

/// Takes the mark of a `match` that this rewriting has generated, and that remains Rust's.
pub(crate) fn take_mark(node: &mut ExprMatch) -> bool {
    let before = node.attrs.len();
    node.attrs.retain(|attribute| !attribute.path().is_ident("__jit_native"));
    node.attrs.len() < before
}

/// Returns whether a guard may be traced. The variables of its pattern are the host's if the matched value is.
fn may_be_traced(arm: &Arm, guard: &Expr, matched: &Expr, is_host: impl Fn(&Expr) -> bool) -> bool {
    let names = pattern_names(pattern(arm));
    if is_host(matched) {
        let matched = matched.to_token_stream();
        return !is_host(&names.iter().fold(guard.clone(), |guard, (name, ..)| replaced(&guard, name, &matched)));
    }
    let mut mentioned = Vec::new();
    identifiers(guard.to_token_stream(), &mut mentioned);
    !is_host(guard) || names.iter().any(|(name, ..)| mentioned.contains(name))
}

/// Returns whether the matched value is a place, or a reference to one, which can be computed again.
fn is_place(expr: &Expr) -> bool {
    match unparenthesised(expr) {
        Expr::Reference(reference) => is_place(&reference.expr),
        Expr::Index(_) => false,
        other => index::is_pure_place(other),
    }
}

/// Rewrites such a `match`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, mut node: ExprMatch, want: Want, tail: bool) -> Expr {
    let span = rewriter.at(node.match_token.span);
    let expected = rewriter.expected.take();
    let hoisted = (!is_place(&node.expr)).then(|| hoist(rewriter, &mut node.expr));
    let matched = unparenthesised(&node.expr).clone();
    rewriter.scopes.push();
    if let Some((name, _)) = &hoisted {
        rewriter.scopes.declare_lent(&syn::parse_quote!(#name), &Lent::Nothing, false);
    }
    let check = check(&node, &matched, span);
    let arms = chain_arms(
        rewriter,
        &node.arms,
        |rewriter, _, arm| condition(rewriter, arm, &matched),
        |rewriter, _, arm| body(rewriter, arm, &matched),
    );
    rewriter.expected = expected;
    let chained = chained(rewriter, arms, want, tail).unwrap_or(Expr::Match(node));
    rewriter.scopes.pop();
    Expr::Verbatim(match hoisted {
        Some((name, value)) => quote_spanned!(span=> match #value { #name => { #check #chained } }),
        None => quote_spanned!(span=> { #check #chained }),
    })
}

/// Replaces the matched value by a variable; returns its name, and the value.
fn hoist(rewriter: &mut Rewriter<'_>, matched: &mut Expr) -> (Ident, Expr) {
    let name = rewriter.helper("matched", matched.span());
    rewriter.visit_expr_mut(matched);
    let value = std::mem::replace(matched, syn::parse_quote!(#name));
    (name, value)
}

/// Generates a `match` on the patterns of all arms, in which Rust checks that they are exhaustive. It never runs.
fn check(node: &ExprMatch, matched: &Expr, span: Span) -> TokenStream {
    let arms = node.arms.iter().map(|arm| {
        let tested = without_bindings(pattern(arm));
        let never = guard(arm).map(|_| quote_spanned!(span=> if false));
        quote_spanned!(span=> #tested #never => {})
    });
    quote_spanned!(span=> if false { match #matched { #(#arms)* } })
}

/// Generates the condition of an arm; `None` if it takes everything.
fn condition(rewriter: &mut Rewriter<'_>, arm: &Arm, matched: &Expr) -> Option<Expr> {
    let arm_pattern = pattern(arm);
    let span = rewriter.at(arm_pattern.span());
    let Some(guard) = guard(arm) else {
        let tested = without_bindings(arm_pattern);
        return (!is_irrefutable(arm_pattern))
            .then(|| syn::parse_quote_spanned!(span=> ::core::matches!(#matched, #tested)));
    };
    let guard_span = rewriter.at(guard.span());
    let (private, value) = (rewriter.private(guard_span), rewriter.helper("guard", guard_span));
    let read: Expr = match unparenthesised(guard) {
        element @ Expr::Index(_) => syn::parse_quote_spanned!(guard_span=> &#element),
        other => syn::parse_quote_spanned!(guard_span=> &(#other)),
    };
    Some(syn::parse_quote_spanned! {guard_span=> {
        let mut #value = ::core::option::Option::None;
        #[__jit_native]
        match #matched {
            #[allow(unused_variables, unused_mut)]
            #arm_pattern if {
                #value = ::core::option::Option::Some(#private::IfCondition::condition(#read));
                false
            } => ::core::unreachable!(),
            _ => {}
        }
        #private::where_matched(#value)
    }})
}

/// Generates the body of an arm, in which Rust binds the variables of its pattern.
fn body(rewriter: &Rewriter<'_>, arm: &Arm, matched: &Expr) -> Block {
    let (arm_pattern, body) = (pattern(arm), &arm.body);
    let span = rewriter.at(body.span());
    if pattern_names(arm_pattern).is_empty() {
        return match &**body {
            Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => block.block.clone(),
            other => block_of(other.clone(), span),
        };
    }
    // A variable may serve the guard alone.
    let allowed = guard(arm).map(|_| quote_spanned!(span=> #[allow(unused_variables)]));
    let bound: Expr = syn::parse_quote_spanned! {span=>
        #[__jit_native]
        match #matched {
            #allowed
            #arm_pattern => #body,
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!(),
        }
    };
    block_of(bound, span)
}

fn block_of(value: Expr, span: Span) -> Block {
    Block { brace_token: syn::token::Brace(span), stmts: vec![Stmt::Expr(value, None)] }
}

/// Returns a pattern that takes the same values and binds nothing, so that it moves nothing.
fn without_bindings(pattern: &Pat) -> Pat {
    struct Bindings;
    impl VisitMut for Bindings {
        fn visit_pat_mut(&mut self, pattern: &mut Pat) {
            if let Pat::Ident(name) = pattern
                && (is_variable(&name.ident) || name.subpat.is_some())
            {
                let underscore = syn::Token![_](name.ident.span());
                *pattern = match name.subpat.take() {
                    Some((_, inner)) => match *inner {
                        Pat::Paren(cases) => *cases.pat,
                        inner => inner,
                    },
                    None => Pat::Wild(syn::PatWild { attrs: Vec::new(), underscore_token: underscore }),
                };
            }
            visit_mut::visit_pat_mut(self, pattern);
        }
        fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
            field.colon_token.get_or_insert_with(|| syn::Token![:](field.member.span()));
            visit_mut::visit_field_pat_mut(self, field);
        }
    }
    let mut pattern = pattern.clone();
    Bindings.visit_pat_mut(&mut pattern);
    pattern
}
