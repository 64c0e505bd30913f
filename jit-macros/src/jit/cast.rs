//! `x as T`, where `x` may be traced.

use super::index;
use super::operators::reference_to;
use super::rewrite::{Rewriter, unparenthesised};
use proc_macro2::Ident;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Expr, ExprCast, Type};

/// Rewrites a cast.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Cast(node) = &mut *expr else { return };
    if is_native(rewriter, node) {
        return rewriter.operand_in_place(&mut node.expr);
    }
    let span = rewriter.at(node.as_token.span);
    let value_span = rewriter.at(node.expr.span());
    let type_span = rewriter.at(node.ty.span());
    let kind = rewriter.helper("cast", span);
    let value = match index::peek(rewriter, &node.expr) {
        Some(place) => quote_spanned!(value_span=> &#place),
        None => {
            rewriter.operand_in_place(&mut node.expr);
            reference_to(unparenthesised(&node.expr).clone(), value_span)
        }
    };
    let host = Ident::new(if is_named(&node.ty, "bool") { "host_bool" } else { "host" }, value_span);
    let ty = &node.ty;
    let private = rewriter.private(value_span);
    let found = quote_spanned!(value_span=> #private::probe(#value).__jit_cast());
    let host = quote_spanned!(value_span=> #kind.#host());
    let finished = quote_spanned!(type_span=> #kind.finish(#host as #ty));
    rewriter.uses_kinds = true;
    *expr = Expr::Verbatim(quote_spanned!(span=> #private::converted(match #found { #kind => #finished })));
}

/// Returns whether the syntax shows that the cast is Rust's.
fn is_native(rewriter: &Rewriter<'_>, node: &ExprCast) -> bool {
    let is_constant =
        matches!(unparenthesised(&node.expr), Expr::Path(path) if path.path.segments.len() > 1 || path.qself.is_some());
    let borrows = matches!(unparenthesised(&node.expr), Expr::Reference(_) | Expr::RawAddr(_) | Expr::Closure(_));
    let is_other_type = !matches!(&*node.ty, Type::Path(_));
    is_constant || borrows || is_other_type || rewriter.is_host(&node.expr)
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}
