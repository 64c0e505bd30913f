//! `while`.
//!
//! ```text
//! while c { A }   →   { let mut g = repeat();
//!                       loop { g.collect("x", &x);  g.turn();  g.replace(&mut x);
//!                              if g.is_done() { break; }
//!                              if !g.test(&c) { break; }
//!                              A } }
//! ```
//! with one `collect` and one `replace` for each place `x` that the condition or the body changes. The type of the condition
//! says which loop this is. For a `bool` it is Rust's, and only `test` does something. For a mask the first turn opens a
//! recording and replaces the state by the loop's parameters, condition and body are recorded once, and the second turn
//! closes it and replaces the state by the results.

use super::operators::borrowed;
use super::rewrite::{Control, Rewriter, state_tokens};
use super::state::state_of;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprWhile};

/// Rewrites a `while`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, mut node: ExprWhile) -> Expr {
    let directives = super::directives::take(&mut node.attrs, rewriter.sink);
    if directives.host || contains_let(&node.cond) || rewriter.is_host(&node.cond) {
        return native(rewriter, node);
    }
    let span = rewriter.at(node.while_token.span);
    let guard = rewriter.helper("while", span);
    let state = state_of(&[&node.cond], &[&node.body], &rewriter.scopes);
    for place in &state {
        if rewriter.scopes.find(&place.base).is_some_and(|(_, binding)| binding.deferred) {
            let name = &place.base;
            rewriter.sink.error(
                place.span,
                format!(
                    "`{name}` must have a value before a traced `while` changes it; give it one in `let`, or mark the \
                     `while` with `#[host]` if its condition is a `bool`"
                ),
            );
        }
    }
    let label = node.label.as_ref().map(|label| label.name.clone());
    rewriter.controls.push(Control::Repeat(guard.clone(), label));
    let condition_span = rewriter.at(node.cond.span());
    let condition = borrowed(rewriter, &mut node.cond);
    rewriter.block(&mut node.body, false);
    rewriter.controls.pop();
    let test = quote_spanned!(condition_span=> #guard.test(#condition));
    Expr::Verbatim(emit(rewriter, &node, &guard, &state_tokens(rewriter, &state), &test))
}

fn emit(
    rewriter: &Rewriter<'_>,
    node: &ExprWhile,
    guard: &Ident,
    state: &[(String, TokenStream, proc_macro2::Span)],
    test: &TokenStream,
) -> TokenStream {
    let span = rewriter.at(node.while_token.span);
    let private = rewriter.private(span);
    let collect = state.iter().map(|(name, place, span)| {
        let guard = Ident::new(&guard.to_string(), *span);
        quote_spanned!(*span=> #guard.collect(#name, &#place);)
    });
    let replace = state.iter().map(|(_, place, span)| {
        let guard = Ident::new(&guard.to_string(), *span);
        quote_spanned!(*span=> #guard.replace(&mut #place);)
    });
    let label = node.label.to_token_stream();
    let body = &node.body.stmts;
    quote_spanned! {span=> {
        let mut #guard = #private::repeat();
        #label loop {
            #(#collect)*
            #guard.turn();
            #(#replace)*
            if #guard.is_done() { break; }
            if !#test { break; }
            #(#body)*
        }
    }}
}

/// A `while` whose condition is the host's stays Rust's.
fn native(rewriter: &mut Rewriter<'_>, mut node: ExprWhile) -> Expr {
    rewriter.scopes.push();
    rewriter.host_condition(&mut node.cond);
    rewriter.native_loop(node.label.as_ref().map(|label| label.name.clone()), &mut node.body);
    rewriter.scopes.pop();
    Expr::While(node)
}

fn contains_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => contains_let(&binary.left) || contains_let(&binary.right),
        _ => false,
    }
}
