//! `a[i]` as a value, `a[i] = v`, and `a[i] += v` and similar operators.
//!
//! The type of the base decides (`jit_core::control::index`): Rust indexes host containers as usual, arrays are
//! gathered from and scattered to. A method whose name shows that it changes nothing reads the element, `a[i].sqrt()`,
//! and so do operators and calls that get a reference to it: `f(&a[i])`. If a program needs the place of an element
//! (`let x = &a[i]`, `a[i].x`, `a[i].push(v)`, `a[lo..hi]`), the indexing remains Rust's.

use super::operators::{operand, reference_to};
use super::place::{Place, is_place};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::identifiers;
use super::state::{is_assigning, reads_only};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{BinOp, Expr, ExprIndex, ExprMethodCall, Lit, Pat};

/// Rewrites an element that is used by value.
pub(crate) fn read(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let span = rewriter.at(expr.span());
    let private = rewriter.private(span);
    let is_host = rewriter.is_host(expr);
    let place = match peek(rewriter, expr) {
        Some(place) => place,
        None => {
            rewriter.operand_in_place(expr);
            if is_host {
                return;
            }
            expr.to_token_stream()
        }
    };
    *expr = Expr::Verbatim(quote_spanned!(span=> #private::element(&#place)));
}

/// Rewrites an element that is read in place; `None` if Rust indexes it.
pub(crate) fn peek(rewriter: &mut Rewriter<'_>, expr: &Expr) -> Option<TokenStream> {
    let Expr::Index(node) = unparenthesised(expr) else { return None };
    if is_native(rewriter, node) {
        return None;
    }
    let mut node = node.clone();
    let span = rewriter.at(node.span());
    let hoists = is_pure_place(&node.expr) && !is_simple(&node.index);
    let (base_span, index_span) = (rewriter.at(node.expr.span()), rewriter.at(node.index.span()));
    rewriter.operand_in_place(&mut node.expr);
    operand(rewriter, &mut node.index);
    let kind = rewriter.helper("read", span);
    let (base, index) = (reference_to(unparenthesised(&node.expr).clone(), base_span), node.index.to_token_stream());
    let (hoisted, index) = if hoists {
        let helper = rewriter.helper("index", index_span);
        (Some((helper.clone(), index)), helper.to_token_stream())
    } else {
        (None, index)
    };
    let private = rewriter.private(base_span);
    let kept = quote_spanned!(index_span=> #kind.index(#index));
    let indexed = quote_spanned!(base_span=> #kind.base()[#kept]);
    let found = quote_spanned!(base_span=> #private::probe(#base).__jit_read());
    let read = quote_spanned!(span=> match #found { #kind => #kind.value(&#indexed) });
    rewriter.uses_kinds = true;
    Some(match hoisted {
        Some((helper, index)) => quote_spanned!(span=> *match #index { #helper => #read }),
        None => quote_spanned!(span=> *#read),
    })
}

/// Rewrites an element that is the receiver of a read-only method; `false` if the receiver is no element, or Rust
/// indexes it.
pub(crate) fn read_by_method(rewriter: &mut Rewriter<'_>, call: &mut ExprMethodCall) -> bool {
    let element = if reads_only(&call.method) { peek(rewriter, &call.receiver) } else { None };
    let Some(element) = element else { return false };
    let span = rewriter.at(call.receiver.span());
    *call.receiver = Expr::Verbatim(quote_spanned!(span=> (#element)));
    true
}

/// Rewrites an element that is read by reference within one statement, `f(&a[i])`: what is gathered lives that long.
/// Returns `false` if the expression is no reference to an element, or Rust indexes it.
pub(crate) fn read_by_reference(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> bool {
    let Expr::Reference(reference) = expr else { return false };
    let element = if reference.mutability.is_none() { peek(rewriter, &reference.expr) } else { None };
    let Some(element) = element else { return false };
    *reference.expr = Expr::Verbatim(element);
    true
}

/// Returns the name of the operation that completes an assignment.
fn finishing(op: &BinOp) -> &'static str {
    match op {
        BinOp::AddAssign(_) => "add",
        BinOp::SubAssign(_) => "sub",
        BinOp::MulAssign(_) => "mul",
        BinOp::DivAssign(_) => "div",
        BinOp::RemAssign(_) => "rem",
        BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOrAssign(_) => "bitor",
        BinOp::BitXorAssign(_) => "bitxor",
        BinOp::ShlAssign(_) => "shl",
        _ => "shr",
    }
}

/// Rewrites an assignment to an element; `false` if it is none, or Rust's.
pub(crate) fn assign(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> bool {
    let (left, right, op, finish, updates) = match &*expr {
        Expr::Assign(node) => (&node.left, &node.right, node.eq_token.to_token_stream(), "assign", false),
        Expr::Binary(node) if is_assigning(&node.op) => {
            (&node.left, &node.right, node.op.to_token_stream(), finishing(&node.op), true)
        }
        _ => return false,
    };
    let Expr::Index(target) = unparenthesised(left) else { return false };
    if is_native(rewriter, target) || !is_pure_place(&target.expr) {
        return false;
    }
    let (target, mut right, span) = (target.clone(), (**right).clone(), rewriter.at(expr.span()));
    let op_span = rewriter.at(op.clone().into_iter().next().map_or(span, |token| token.span()));
    let order = Order::of(&target, &right, updates);
    if updates || is_mentioned(&right, &target) {
        operand(rewriter, &mut right);
    } else {
        rewriter.visit_expr_mut(&mut right);
    }
    let assigned = Assigned { rewriter, target, right: right.to_token_stream(), op, op_span, finish, order };
    *expr = Expr::Verbatim(assigned.emit(span));
    true
}

/// Returns whether the value is a place that the target mentions, too: `row[i] = i` moves nothing.
fn is_mentioned(value: &Expr, target: &ExprIndex) -> bool {
    let mut names = Vec::new();
    identifiers(target.index.to_token_stream(), &mut names);
    is_place(value) && Place::of(value).is_some_and(|place| names.contains(&place.base))
}

/// Collects expressions that are evaluated into helpers before an assignment, so that nothing is borrowed meanwhile.
struct Order {
    value_first: bool,
    index_first: bool,
}

impl Order {
    fn of(target: &ExprIndex, right: &Expr, updates: bool) -> Self {
        let mentions = |expr: &Expr| {
            let mut names = Vec::new();
            identifiers(expr.to_token_stream(), &mut names);
            let base = Place::of(&target.expr).map(|place| place.base);
            base.is_some_and(|base| names.contains(&base))
        };
        let index_borrows = !is_simple(&target.index) && mentions(&target.index);
        let value_first = (updates && mentions(right) && !matches!(right, Expr::Reference(_)))
            || (index_borrows && !is_simple(right) && has_calls(&target.index));
        Order { value_first, index_first: index_borrows }
    }
}

struct Assigned<'r, 'a> {
    rewriter: &'r mut Rewriter<'a>,
    target: ExprIndex,
    right: TokenStream,
    op: TokenStream,
    op_span: Span,
    finish: &'static str,
    order: Order,
}

impl Assigned<'_, '_> {
    fn emit(mut self, span: Span) -> TokenStream {
        let (base_span, index_span) =
            (self.rewriter.at(self.target.expr.span()), self.rewriter.at(self.target.index.span()));
        self.rewriter.operand_in_place(&mut self.target.expr);
        operand(self.rewriter, &mut self.target.index);
        self.rewriter.uses_kinds = true;
        let base = unparenthesised(&self.target.expr).clone();
        let borrowed = reference_to(base.clone(), base_span);
        let kind = self.rewriter.helper("write", span);
        let mut hoisted = Vec::new();
        let right_span = self.right.clone().into_iter().next().map_or(span, |token| self.rewriter.at(token.span()));
        let right = std::mem::take(&mut self.right);
        let right = self.hoist(self.order.value_first, "value", right, right_span, &mut hoisted);
        let index = self.target.index.to_token_stream();
        let index = self.hoist(self.order.index_first, "index", index, index_span, &mut hoisted);
        let value = quote_spanned!(right_span=> #kind.value(#right));
        let index = quote_spanned!(index_span=> #kind.index(#index));
        let place = quote_spanned!(base_span=> #kind.place((#base).__jit_lend())[#index]);
        let (op, op_span) = (&self.op, self.op_span);
        let finish = Ident::new(self.finish, op_span);
        let lent = quote_spanned!(base_span=> (#base).__jit_lend());
        let done = quote_spanned!(op_span=> #kind.#finish(#lent););
        let private = self.rewriter.private(base_span);
        let found = quote_spanned!(base_span=> #private::probe(#borrowed).__jit_write());
        let whole = quote_spanned!(span=> { let #kind = #found; #place #op #value; #done });
        hoisted
            .into_iter()
            .rev()
            .fold(whole, |inner, (helper, value)| quote_spanned!(span=> match #value { #helper => #inner }))
    }

    fn hoist(
        &mut self,
        wanted: bool,
        name: &str,
        value: TokenStream,
        span: Span,
        hoisted: &mut Vec<(Ident, TokenStream)>,
    ) -> TokenStream {
        if !wanted {
            return value;
        }
        let helper = self.rewriter.helper(name, span);
        hoisted.push((helper.clone(), value));
        helper.to_token_stream()
    }
}

/// Returns whether the syntax shows that Rust indexes.
fn is_native(rewriter: &Rewriter<'_>, node: &ExprIndex) -> bool {
    let never_traced = matches!(
        unparenthesised(&node.index),
        Expr::Range(_) | Expr::Tuple(_) | Expr::Lit(syn::ExprLit { lit: Lit::Str(_) | Lit::Char(_), .. })
    );
    never_traced || matches!(unparenthesised(&node.expr), Expr::Array(_)) || rewriter.is_host(&node.expr)
}

/// Returns whether a pattern binds a value by a name only, so that its source is used by value.
pub(crate) fn binds_by_value(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(name) => name.by_ref.is_none() && name.subpat.is_none(),
        Pat::Type(typed) => binds_by_value(&typed.pat),
        _ => false,
    }
}

/// Returns whether a place is found without computing anything.
pub(crate) fn is_pure_place(expr: &Expr) -> bool {
    match unparenthesised(expr) {
        Expr::Path(_) => true,
        Expr::Field(field) => is_pure_place(&field.base),
        Expr::Index(index) => is_pure_place(&index.expr) && is_simple(&index.index),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Deref(_)) && is_pure_place(&unary.expr),
        _ => false,
    }
}

/// Returns whether evaluating an expression borrows and changes nothing.
fn is_simple(expr: &Expr) -> bool {
    match unparenthesised(expr) {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Field(field) => is_simple(&field.base),
        Expr::Unary(unary) => is_simple(&unary.expr),
        Expr::Binary(binary) => !is_assigning(&binary.op) && is_simple(&binary.left) && is_simple(&binary.right),
        Expr::Cast(cast) => is_simple(&cast.expr),
        Expr::Reference(reference) => reference.mutability.is_none() && is_simple(&reference.expr),
        _ => false,
    }
}

/// Returns whether an expression calls a function with visible effects, so that the order of evaluation matters.
fn has_calls(expr: &Expr) -> bool {
    struct Calls(bool);
    impl Visit<'_> for Calls {
        fn visit_expr(&mut self, expr: &Expr) {
            match expr {
                Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => {}
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Macro(_) | Expr::Block(_) | Expr::Assign(_) => {
                    self.0 = true
                }
                _ => {}
            }
            visit::visit_expr(self, expr);
        }
    }
    let mut calls = Calls(false);
    calls.visit_expr(expr);
    calls.0
}
