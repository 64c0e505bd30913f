//! `&&` and `||`.
//!
//! The right side is evaluated only if the left one does not decide the result. On the host that is Rust's short
//! circuit. On masks, a right side of plain arithmetic is evaluated on all lanes, since it has no effects. Any other is
//! recorded under the left side as a branch, so that `i < n && xs.gather(&i) > 0.0` reads nothing out of range.

use super::branch::Guarded;
use super::carried::Carried;
use super::exit::{Control, Why};
use super::operators::borrowed;
use super::rewrite::{Rewriter, state_tokens};
use super::state::state_of;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary};

/// Rewrites `a && b` or `a || b`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Binary(node) = &mut *expr else { return };
    let has_pattern = contains_pattern(&node.left) || contains_pattern(&node.right);
    if has_pattern || (rewriter.is_host(&node.left) && rewriter.is_host(&node.right)) {
        return rewriter.host_condition_of(node);
    }
    let span = rewriter.at(node.op.span());
    let is_and = matches!(node.op, BinOp::And(_));
    *expr =
        if is_plain(&node.right) { eager(rewriter, node, is_and, span) } else { masked(rewriter, node, is_and, span) };
}

impl Rewriter<'_> {
    fn host_condition_of(&mut self, node: &mut ExprBinary) {
        self.host_condition(&mut node.left);
        self.host_condition(&mut node.right);
    }
}

fn contains_pattern(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            contains_pattern(&binary.left) || contains_pattern(&binary.right)
        }
        _ => false,
    }
}

fn eager(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary, is_and: bool, span: Span) -> Expr {
    let guard = rewriter.helper("side", span);
    let (left_span, right_span) = (rewriter.at(node.left.span()), rewriter.at(node.right.span()));
    let left = borrowed(rewriter, &mut node.left);
    let right = borrowed(rewriter, &mut node.right);
    let open = logical(rewriter, if is_and { "left_of_and" } else { "left_of_or" }, &left, left_span);
    let right = quote_spanned!(right_span=> #right, &#guard);
    let join = logical(rewriter, "join", &right, right_span);
    Expr::Verbatim(
        quote_spanned!(span=> { let #guard = #open; if #guard.is_open() { #join } else { #guard.decided() } }),
    )
}

fn masked(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary, is_and: bool, span: Span) -> Expr {
    let guard = rewriter.helper("side", span);
    let state = state_of(&[&node.right], &[], &rewriter.scopes);
    let (left_span, right_span) = (rewriter.at(node.left.span()), rewriter.at(node.right.span()));
    let left = borrowed(rewriter, &mut node.left);
    let region = rewriter.new_region(&guard, Why::Operand);
    rewriter.controls.push(Control::Region(region));
    let right = borrowed(rewriter, &mut node.right);
    rewriter.controls.pop();
    let right = quote_spanned!(right_span=> #right, &#guard);
    let lifted = logical(rewriter, "lift", &right, right_span);
    let open = logical(rewriter, if is_and { "branch_and" } else { "branch_or" }, &left, left_span);
    let (state, constant) = (state_tokens(rewriter, &state), !is_and);
    Expr::Verbatim(under_guard(rewriter, &guard, state, &open, &lifted, constant, span))
}

/// Generates a call at the operand's place, so that the compiler reports a wrong operand type there.
fn logical(rewriter: &Rewriter<'_>, method: &str, arguments: &TokenStream, span: Span) -> TokenStream {
    let (private, method) = (rewriter.private(span), Ident::new(method, span));
    quote_spanned!(span=> #private::Logical::#method(#arguments))
}

/// Generates the value of a condition that is evaluated under a guard, and a constant where the guard does not hold.
pub(crate) fn under_guard(
    rewriter: &mut Rewriter<'_>,
    guard: &Ident,
    state: Vec<Carried>,
    open: &TokenStream,
    lifted: &TokenStream,
    constant: bool,
    span: Span,
) -> TokenStream {
    let private = rewriter.private(span);
    let slot = rewriter.helper("slot", span);
    let guarded = Guarded::new(guard, span, state);
    let (save, swap, collect, restore) = (guarded.save(), guarded.swap(), guarded.collect(), guarded.restore());
    let value = rewriter.helper("value", span);
    quote_spanned!(span=> {
        let mut #guard = #open;
        #save
        let mut #slot = #private::Slot::new();
        if #guard.then() { let #value = #lifted; #slot.put_then(#value); }
        #swap
        if #guard.otherwise() { #slot.put_otherwise(#private::logical(#constant)); }
        #collect
        let #value = #guard.merge_with(#slot);
        #restore
        #value
    })
}

/// Returns whether evaluating an expression unnecessarily is cheap and has no effects.
pub(crate) fn is_plain(expr: &Expr) -> bool {
    struct Plain(bool);
    impl Visit<'_> for Plain {
        fn visit_expr(&mut self, expr: &Expr) {
            match expr {
                Expr::Lit(_) | Expr::Path(_) | Expr::Field(_) | Expr::Paren(_) | Expr::Group(_) | Expr::Cast(_) => {
                    visit::visit_expr(self, expr);
                }
                Expr::Unary(_) | Expr::Reference(_) | Expr::Binary(_) => visit::visit_expr(self, expr),
                Expr::MethodCall(call) if PLAIN_METHODS.contains(&call.method.to_string().as_str()) => {
                    visit::visit_expr(self, expr);
                }
                _ => self.0 = false,
            }
        }
    }
    let mut plain = Plain(true);
    plain.visit_expr(expr);
    plain.0
}

const PLAIN_METHODS: [&str; 16] = [
    "abs", "all", "any", "cast", "ceil", "clone", "floor", "is_empty", "is_none", "is_some", "len", "max", "min",
    "round", "sqrt", "trunc",
];
