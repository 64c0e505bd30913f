//! Operators and comparisons.
//!
//! Rust's operators take their operands by value. An operand that is a variable or a part of one is therefore cloned
//! (for an array, a count goes up; for a number, nothing happens), so that it can be used again. The operator itself
//! stays Rust's, with Rust's inference and Rust's messages. Comparisons become calls, as Rust's own must give a `bool`.

use super::index;
use super::place::{Place, is_place};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::{identifiers, is_comparison};
use proc_macro2::Ident;
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{BinOp, Expr, ExprBinary, Token, UnOp};

/// Whether an operator is `&&` or `||`.
pub(crate) fn is_logical(op: &BinOp) -> bool {
    matches!(op, BinOp::And(_) | BinOp::Or(_))
}

/// An arithmetic operator or a comparison.
pub(crate) fn binary(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Binary(node) = &mut *expr else { return };
    let compares = is_comparison(&node.op);
    if compares && rewriter.is_host(&node.left) && rewriter.is_host(&node.right) {
        rewriter.operand_in_place(&mut node.left);
        rewriter.operand_in_place(&mut node.right);
    } else if compares {
        *expr = comparison(rewriter, node);
    } else {
        operand(rewriter, &mut node.left);
        operand(rewriter, &mut node.right);
    }
}

/// `a += b` and its like: the left side stays a place.
pub(crate) fn assigning(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary) {
    rewriter.operand_in_place(&mut node.left);
    operand(rewriter, &mut node.right);
}

/// `-a` and `!a`; a dereference is a place.
pub(crate) fn unary(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Unary(node) = expr else { return };
    match node.op {
        UnOp::Deref(_) => rewriter.operand_in_place(&mut node.expr),
        _ => operand(rewriter, &mut node.expr),
    }
}

/// Rewrites the operand of an operator of Rust's.
pub(crate) fn operand(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    if matches!(unparenthesised(expr), Expr::Index(_)) {
        return index::read(rewriter, expr);
    }
    let clones = is_place(expr) && !rewriter.scopes.is_host(expr) && !is_path_to_constant(expr);
    let borrowed = is_mut_reference(rewriter, expr);
    rewriter.operand_in_place(expr);
    if clones {
        let span = rewriter.at(expr.span());
        let private = rewriter.private(span);
        let place = unparenthesised(expr).to_token_stream();
        let place = if borrowed { quote_spanned!(span=> *#place) } else { place };
        *expr = Expr::Verbatim(quote_spanned!(span=> #private::Operand::again(&#place)));
    }
}

/// `UPPER_CASE` names that are no local variables.
fn is_path_to_constant(expr: &Expr) -> bool {
    matches!(unparenthesised(expr), Expr::Path(path) if path.path.segments.len() > 1)
}

/// A variable that is a `&mut` reference: what it refers to is meant.
fn is_mut_reference(rewriter: &Rewriter<'_>, expr: &Expr) -> bool {
    let Expr::Path(path) = unparenthesised(expr) else { return false };
    let name = path.path.get_ident();
    name.and_then(|name| rewriter.scopes.find(name)).is_some_and(|(_, binding)| binding.by_mut_ref)
}

fn comparison(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary) -> Expr {
    let function = match node.op {
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        BinOp::Eq(_) => "eq",
        _ => "ne",
    };
    let (left, right) = (side(rewriter, &mut node.left), side(rewriter, &mut node.right));
    let span = rewriter.at(node.op.span());
    let (private, function) = (rewriter.private(span), Ident::new(function, span));
    Expr::Verbatim(quote_spanned!(span=> #private::#function(#left, #right)))
}

/// One side of a comparison, borrowed.
pub(crate) fn side(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> proc_macro2::TokenStream {
    let borrowed = is_mut_reference(rewriter, expr);
    let span = rewriter.at(expr.span());
    if let Some(place) = index::peek(rewriter, expr) {
        return quote_spanned!(span=> &#place);
    }
    rewriter.operand_in_place(expr);
    let inner = if borrowed {
        let star = UnOp::Deref(Token![*](span));
        Expr::Unary(syn::ExprUnary { attrs: Vec::new(), op: star, expr: Box::new(expr.clone()) })
    } else {
        unparenthesised(expr).clone()
    };
    reference_to(inner, span)
}

/// `&expr`, with parentheses where they are needed.
pub(crate) fn reference_to(expr: Expr, span: proc_macro2::Span) -> proc_macro2::TokenStream {
    let and_token = Token![&](span);
    syn::ExprReference { attrs: Vec::new(), and_token, mutability: None, expr: Box::new(expr) }.to_token_stream()
}

/// The names that an expression mentions more than once.
pub(crate) fn repeated_names(expr: &Expr) -> Vec<Ident> {
    let mut names = Vec::new();
    identifiers(expr.to_token_stream(), &mut names);
    let repeated = |name: &&Ident| names.iter().filter(|other| other == name).count() > 1;
    names.iter().filter(repeated).cloned().collect()
}

/// In `(a, b) = (b, b)` and in `(a, b) = (b, c)` values are used again after the assignment: they are cloned, but for
/// those that are mentioned once and are assigned themselves, which Rust moves.
pub(crate) fn clone_repeated(
    rewriter: &mut Rewriter<'_>,
    values: &mut syn::ExprTuple,
    repeated: &[Ident],
    targets: &[Place],
) {
    let elements: &mut Punctuated<Expr, Token![,]> = &mut values.elems;
    for element in elements {
        let Some(place) = Place::of(element).filter(|_| is_place(element)) else { continue };
        let moved = !repeated.contains(&place.base) && targets.iter().any(|target| target.covers(&place));
        if !moved && !rewriter.scopes.is_host(element) {
            operand(rewriter, element);
        }
    }
}

/// Rewrites an operand of `&&`, `||` or a condition, and borrows it.
pub(crate) fn borrowed(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> proc_macro2::TokenStream {
    let span = rewriter.at(expr.span());
    if let Some(place) = index::peek(rewriter, expr) {
        return quote_spanned!(span=> &#place);
    }
    rewriter.visit_borrowed(expr);
    reference_to(unparenthesised(expr).clone(), span)
}

impl Rewriter<'_> {
    fn visit_borrowed(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Path(_) => {}
            other if is_place(other) => self.operand_in_place(other),
            other => self.visit_expr_mut(other),
        }
    }
}
