//! `for`.
//!
//! ```text
//! for i in a..b { A }   →   { let mut r = counter(range(a, b));   let mut g = repeat();
//!                             loop { g.collect("i", &r);  g.begin_iteration();  g.replace(&mut r);
//!                                    if g.is_done() { break; }
//!                                    if !g.test_range(&mut r, exits) { break; }
//!                                    let i = r.next();
//!                                    A } }
//! ```
//! with the places that the body changes and the exits that jumps in it take, as in a `while`. The type of the bounds
//! determines the loop: a range of host integers is Rust's, and each iteration is traced separately, on the lanes that
//! have not exited. An iterator that certainly is no range of integers, or one of host integers, remains a `for` of
//! Rust's.

use super::branch::{self, Live, Want};
use super::carried::Carried;
use super::deferred;
use super::directives::{Mode, Unroll};
use super::exit::{Control, Why};
use super::lent::Lent;
use super::operators;
use super::repeat::{Kind, Repeated, splits_lanes};
use super::rewrite::{Rewriter, prepend, unparenthesised};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprForLoop, ExprRange, Stmt};

/// Returns the range in an expression that is one, possibly reversed and stepped.
pub(crate) fn of(expr: &Expr) -> Option<&ExprRange> {
    match expr {
        Expr::Range(range) if range.start.is_some() && range.end.is_some() => Some(range),
        Expr::Paren(inner) => of(&inner.expr),
        Expr::Group(inner) => of(&inner.expr),
        Expr::MethodCall(call) if is_adaptor(call) => of(&call.receiver),
        _ => None,
    }
}

fn is_adaptor(call: &syn::ExprMethodCall) -> bool {
    (call.method == "rev" && call.args.is_empty()) || (call.method == "step_by" && call.args.len() == 1)
}

/// Rewrites a `for`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, node: ExprForLoop) -> Expr {
    let mode = rewriter.take_mode(Mode::default());
    match (of(&node.expr), mode.span()) {
        (None, Some(span)) => rewriter.sink.error(span, "only integer ranges can be traced"),
        (Some(_), Some(_)) => return counted(rewriter, node, true, &mode),
        (Some(_), None) if !rewriter.is_host(&node.expr) => return counted(rewriter, node, false, &mode),
        _ => {}
    }
    native(rewriter, node, mode.unroll)
}

/// Leaves a `for` to Rust; its body runs once for each iteration while tracing.
fn native(rewriter: &mut Rewriter<'_>, mut node: ExprForLoop, unroll: Unroll) -> Expr {
    let host = rewriter.scopes.is_host(&node.expr) && matches!(unparenthesised(&node.expr), Expr::Range(_));
    let lent = Lent::by_items_of(&node.expr, &rewriter.scopes);
    let span = rewriter.at(node.for_token.span);
    rewriter.visit_expr_mut(&mut node.expr);
    rewriter.scopes.push();
    rewriter.scopes.declare_lent(&node.pat, &lent, host);
    let mut before = rewriter.native_loop(&mut node.label, &mut node.body, node.for_token.span);
    rewriter.scopes.pop();
    if let Some((declare, iteration)) = budget(rewriter, unroll, span) {
        before.extend(declare);
        node.body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(iteration), None));
    }
    let mut expr = Expr::ForLoop(node);
    prepend(&mut expr, &before);
    expr
}

/// Generates code that counts the iterations of an unrolled loop, and the nodes that they record.
fn budget(rewriter: &mut Rewriter<'_>, unroll: Unroll, span: Span) -> Option<(TokenStream, TokenStream)> {
    let accepted = match unroll {
        Unroll::Any => return None,
        Unroll::Unsaid if rewriter.host_only => return None,
        Unroll::Unsaid => 0,
        Unroll::UpTo(count) => count,
    };
    let (private, name) = (rewriter.private(span), rewriter.helper("unrolled", span));
    let declare = quote_spanned!(span=> let mut #name = #private::unrolled(#accepted););
    Some((declare, quote_spanned!(span=> #name.begin_iteration();)))
}

/// Rewrites a `for` over a range whose bounds may be traced.
fn counted(rewriter: &mut Rewriter<'_>, mut node: ExprForLoop, is_symbolic: bool, mode: &Mode) -> Expr {
    let span = rewriter.at(node.for_token.span);
    let range = range_expression(rewriter, &mut node.expr, is_symbolic);
    let counter = rewriter.helper("range", span);
    let name = node.pat.to_token_stream().to_string();
    let label = node.label.take();
    deferred::redeclare(rewriter, &mut node.body);
    let mut repeated = Repeated::new(rewriter, Kind::For, span, &[], &node.body).in_mode(mode);
    let before = repeated.rewriter.exits.mark();
    let own = repeated.rewriter.new_loop(label.as_ref(), span);
    let (splits, why) =
        (splits_lanes(repeated.rewriter, &node.body, label.as_ref()), repeated.rewriter.exit_reason(&own));
    let region = repeated.rewriter.new_region(&repeated.guard, Why::Condition);
    repeated.rewriter.controls.push(Control::Repeat(region, own));
    repeated.rewriter.scopes.push();
    repeated.rewriter.scopes.declare(&node.pat, None, false, false);
    let warnings = repeated.warnings(&node.body);
    let body = body(repeated.rewriter, node.body, splits.then_some(why), span);
    repeated.rewriter.scopes.pop();
    repeated.exits = repeated.rewriter.but_continue(repeated.rewriter.exits_since(before));
    let warnings = repeated.if_stage_is_known(warnings);
    let budget = if is_symbolic { None } else { budget(repeated.rewriter, mode.unroll, span) };
    let Some(Control::Repeat(mut region, own)) = repeated.rewriter.controls.pop() else {
        return Expr::Verbatim(TokenStream::new());
    };
    let private = repeated.rewriter.private(span);
    let witness = region.witness.iter().map(|witness| {
        let witness = Ident::new(&witness.to_string(), span);
        quote_spanned!(span=> #private::counted(&#witness, &#counter);)
    });
    let (declare, iteration) = budget.unzip();
    let open = quote_spanned!(span=> let mut #counter = #private::counter(#range); #(#witness)* #declare);
    let pattern = &node.pat;
    let body = region.block(quote_spanned!(span=> #iteration let #pattern = #counter.next(); #warnings #body), span);
    let list = repeated.rewriter.exit_list(&repeated.exits, span);
    let guard = repeated.guard.clone();
    let test = quote_spanned!(span=> if !#guard.test_range(&mut #counter, #list) { break; });
    repeated.state.insert(0, Carried::certain(name, counter.to_token_stream(), span));
    let emitted = repeated.emit(&open, &test, &own, &body);
    Expr::Verbatim(emitted)
}

/// Rewrites the body of a `for`. If lanes may exit at different times, it is for those that have not.
fn body(rewriter: &mut Rewriter<'_>, mut body: Block, splits: Option<Why>, span: Span) -> TokenStream {
    if let Some(why) = splits {
        let iteration = branch::rewrite_live(rewriter, Live::InLoop(why), body, Want::Nothing, false, span);
        return iteration.into_token_stream();
    }
    rewriter.block(&mut body, false);
    let declare = rewriter.declare_continue(span);
    let statements = &body.stmts;
    quote_spanned!(span=> #declare #(#statements)*)
}

/// Rewrites the range itself; `rev` and `step_by` remain method calls on it.
fn range_expression(rewriter: &mut Rewriter<'_>, expr: &mut Expr, is_symbolic: bool) -> TokenStream {
    match expr {
        Expr::Paren(inner) => range_expression(rewriter, &mut inner.expr, is_symbolic),
        Expr::Group(inner) => range_expression(rewriter, &mut inner.expr, is_symbolic),
        Expr::MethodCall(call) => {
            let receiver = range_expression(rewriter, &mut call.receiver, is_symbolic);
            call.args.iter_mut().for_each(|argument| rewriter.visit_expr_mut(argument));
            let (method, arguments, span) = (&call.method, &call.args, rewriter.at(call.method.span()));
            quote_spanned!(span=> #receiver.#method(#arguments))
        }
        Expr::Range(range) => {
            let span = rewriter.at(range.limits.span());
            let is_inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
            let (Some(start), Some(end)) = (&mut range.start, &mut range.end) else { return TokenStream::new() };
            if is_symbolic {
                suffix_literals(start, end);
            }
            operators::operand(rewriter, start);
            operators::operand(rewriter, end);
            let private = rewriter.private(span);
            let family = Ident::new(if is_symbolic { "SymbolicBounds" } else { "Bounds" }, span);
            let name = Ident::new(if is_inclusive { "range_inclusive" } else { "range" }, span);
            quote_spanned!(span=> #private::#family::#name(#start, #end))
        }
        other => other.to_token_stream(),
    }
}

/// Two literals without a type are counted in 32 bits.
fn suffix_literals(start: &mut Expr, end: &Expr) {
    let is_untyped = |expr: &Expr| {
        let digits = if let Expr::Unary(unary) = expr { &unary.expr } else { expr };
        matches!(digits, Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) if number.suffix().is_empty())
    };
    if !is_untyped(start) || !is_untyped(end) {
        return;
    }
    let is_signed = [&*start, end].into_iter().any(|bound| matches!(bound, Expr::Unary(_)));
    let digits = if let Expr::Unary(unary) = start { &mut *unary.expr } else { start };
    if let Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) = digits {
        let text = format!("{}{}", number.base10_digits(), if is_signed { "i32" } else { "u32" });
        *number = syn::LitInt::new(&text, number.span());
    }
}
