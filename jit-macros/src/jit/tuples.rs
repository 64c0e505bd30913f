//! `match (a, b) { (0, _) | (_, 0) => A, (x, 1..=9) if g(x) => B, _ => C }`: the parts of the tuple are matched one by
//! one.
//!
//! It becomes a chain of `if`s like a `match` on one value (`matching`): the condition of an arm is that all of its
//! parts match, each by Rust's own test or by comparisons, according to the type of that part.

use super::branch::Want;
use super::matching::{self, Shape, as_bound, chain_arms, chained, replaced, test};
use super::operators::reference_to;
use super::patterns::{self, binding, guard, has_let, is_plain, pattern, tested, tests_value};
use super::place::is_place;
use super::rewrite::{Rewriter, unparenthesised};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Arm, BinOp, Block, Expr, ExprMatch, ExprTuple, Lit, Pat, Stmt};

/// Returns the tuple, if the matched value is written as one.
pub(crate) fn of(matched: &Expr) -> Option<&ExprTuple> {
    match unparenthesised(matched) {
        Expr::Tuple(tuple) if tuple.elems.len() > 1 => Some(tuple),
        _ => None,
    }
}

/// Returns whether a pattern takes any tuple.
pub(crate) fn is_irrefutable(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Tuple(tuple) if tuple.elems.iter().all(patterns::is_irrefutable))
}

/// Returns the translation of a `match` on a tuple: a chain of `if`s if its arms test only numbers and truth values.
pub(crate) fn shape(tuple: &ExprTuple, arms: &[Arm]) -> Shape {
    let count = tuple.elems.len();
    let Some(cases) = all_cases(arms, count) else { return Shape::Other };
    let has_value = cases.iter().flatten().flatten().any(tests_value);
    let has_guard = arms.iter().any(|arm| guard(arm).is_some());
    if !(has_value || has_guard) || arms.iter().filter_map(guard).any(has_let) {
        return Shape::Other;
    }
    let takes_all = |cases: &Vec<Vec<Pat>>| cases.iter().any(|parts| parts.iter().all(patterns::is_irrefutable));
    let ends = arms.last().is_some_and(|last| guard(last).is_none()) && cases.last().is_some_and(takes_all);
    let is_complete = ends || (arms.iter().all(|arm| guard(arm).is_none()) && takes_all_truth_values(&cases, count));
    if is_complete { Shape::Chain } else { Shape::WithoutEnd }
}

fn all_cases(arms: &[Arm], count: usize) -> Option<Vec<Vec<Vec<Pat>>>> {
    arms.iter().map(|arm| cases(pattern(arm), count)).collect()
}

/// Rewrites a tuple that Rust matches, whose tested parts must be host values.
pub(crate) fn exhausted(rewriter: &mut Rewriter<'_>, tuple: &mut ExprTuple, arms: &[Arm]) {
    let cases = all_cases(arms, tuple.elems.len()).unwrap_or_default();
    for (at, element) in tuple.elems.iter_mut().enumerate() {
        rewriter.visit_expr_mut(element);
        if cases.iter().flatten().any(|parts| tests_value(&parts[at])) {
            matching::exhausted(rewriter, element);
        }
    }
}

/// Returns the cases of a pattern, each with a pattern for each part; `None` if it is another kind of pattern.
fn cases(pattern: &Pat, count: usize) -> Option<Vec<Vec<Pat>>> {
    match pattern {
        Pat::Wild(_) => Some(vec![vec![pattern.clone(); count]]),
        Pat::Paren(inner) => cases(&inner.pat, count),
        Pat::Tuple(tuple) if tuple.elems.len() == count && tuple.elems.iter().all(is_plain) => {
            Some(vec![tuple.elems.iter().cloned().collect()])
        }
        Pat::Or(or) => {
            let cases: Vec<Vec<Pat>> = or
                .cases
                .iter()
                .map(|case| cases(case, count))
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect();
            let binds = cases.iter().flatten().any(|part| binding(part).is_some());
            (!binds).then_some(cases)
        }
        _ => None,
    }
}

/// Returns whether it is exhaustive without a last arm, like `match (m, n) { (true, true) => …, (true, false) => …,
/// (false, _) => … }`.
fn takes_all_truth_values(cases: &[Vec<Vec<Pat>>], count: usize) -> bool {
    let met = |part: &Pat, value: bool| match part {
        Pat::Lit(syn::ExprLit { lit: Lit::Bool(literal), .. }) => literal.value == value,
        other => patterns::is_irrefutable(other),
    };
    let is_met = |values: usize| {
        let value = |at: usize| values >> at & 1 == 1;
        cases.iter().flatten().any(|parts| parts.iter().enumerate().all(|(at, part)| met(part, value(at))))
    };
    count <= 4 && (0..1 << count).all(is_met)
}

/// Rewrites a `match` on a tuple that is a chain.
pub(crate) fn rewrite(
    rewriter: &mut Rewriter<'_>,
    mut tuple: ExprTuple,
    mut node: ExprMatch,
    want: Want,
    tail: bool,
) -> Expr {
    let span = rewriter.at(node.match_token.span);
    let expected = rewriter.expected.take();
    let parts: Vec<Part> = tuple.elems.iter_mut().map(|element| Part::of(rewriter, element)).collect();
    rewriter.scopes.push();
    declare(rewriter, &parts);
    let cases = |arm: &Arm| cases(pattern(arm), parts.len()).unwrap_or_default();
    let arms = chain_arms(
        rewriter,
        &node.arms,
        |rewriter, _, arm| condition(rewriter, arm, &cases(arm), &parts),
        |rewriter, _, arm| body(rewriter, arm, &cases(arm), &parts),
    );
    rewriter.expected = expected;
    node.expr = Box::new(Expr::Tuple(tuple.clone()));
    let chained = chained(rewriter, arms, want, tail).unwrap_or(Expr::Match(node));
    rewriter.scopes.pop();
    let names = parts.iter().map(|part| &part.name);
    Expr::Verbatim(quote_spanned!(span=> match #tuple { (#(#names),*) => #chained }))
}

/// Rewrites `matches!((a, b), (0, 1..=9))`, whose `match` is a chain: its value is the condition of the first arm.
pub(crate) fn rewrite_matches(rewriter: &mut Rewriter<'_>, mut tuple: ExprTuple, node: &ExprMatch) -> Option<Expr> {
    let span = rewriter.at(node.match_token.span);
    let parts: Vec<Part> = tuple.elems.iter_mut().map(|element| Part::of(rewriter, element)).collect();
    let arm = &node.arms[0];
    let cases = cases(pattern(arm), parts.len())?;
    rewriter.scopes.push();
    declare(rewriter, &parts);
    let mut condition = condition(rewriter, arm, &cases, &parts)?;
    rewriter.visit_expr_mut(&mut condition);
    rewriter.scopes.pop();
    let names = parts.iter().map(|part| &part.name);
    Some(Expr::Verbatim(quote_spanned!(span=> match #tuple { (#(#names),*) => #condition })))
}

fn declare(rewriter: &mut Rewriter<'_>, parts: &[Part]) {
    for part in parts {
        let name = &part.name;
        rewriter.scopes.declare(&syn::parse_quote!(#name), None, part.is_host, false);
    }
}

/// A part of the tuple, in a generated variable.
struct Part {
    name: Ident,
    is_host: bool,
    span: Span,
}

impl Part {
    fn of(rewriter: &mut Rewriter<'_>, element: &mut Expr) -> Part {
        let span = rewriter.at(element.span());
        let is_host = rewriter.is_host(element);
        let name = rewriter.helper("matched", span);
        rewriter.visit_expr_mut(element);
        let is_place = is_place(element) && !matches!(unparenthesised(element), Expr::Index(_));
        if is_place && !is_host {
            *element = taken(rewriter, element, span);
        }
        Part { name, is_host, span }
    }
}

/// Generates the value of a place. Rust moves host values as usual; arrays stay in place, too.
fn taken(rewriter: &mut Rewriter<'_>, place: &Expr, span: Span) -> Expr {
    rewriter.uses_kinds = true;
    let (private, kind) = (rewriter.private(span), rewriter.helper("kind", span));
    let borrowed = reference_to(place.clone(), span);
    Expr::Verbatim(quote_spanned! {span=> {
        let #kind = #private::probe(#borrowed).__jit_match();
        #[allow(unreachable_code)]
        if #kind.is_host() { #kind.host_only(); #place } else { #kind.again(#borrowed) }
    }})
}

/// Generates the condition of an arm; `None` if it takes everything.
fn condition(rewriter: &mut Rewriter<'_>, arm: &Arm, cases: &[Vec<Pat>], parts: &[Part]) -> Option<Expr> {
    let and = |span| BinOp::And(syn::Token![&&](span));
    let or = |span| BinOp::Or(syn::Token![||](span));
    let mut tests = Vec::new();
    for case in cases {
        let tested: Vec<Expr> = case
            .iter()
            .zip(parts)
            .filter_map(|(pattern, part)| {
                tested(pattern).map(|pattern| test(rewriter, &pattern, &part.name.to_token_stream(), part.span))
            })
            .collect();
        match joined(tested, and, rewriter.at(arm.pat.span())) {
            Some(test) => tests.push(test),
            // One of the cases takes everything.
            None => {
                tests.clear();
                break;
            }
        }
    }
    let test = joined(tests, or, rewriter.at(arm.pat.span()));
    let guard = guard(arm).map(|guard| {
        let bound = cases.first().into_iter().flatten().zip(parts);
        bound
            .filter_map(|(pattern, part)| binding(pattern).map(|name| (name, part)))
            .fold(guard.clone(), |guard, (name, part)| {
                replaced(&guard, &name.ident, &as_bound(name, &part.name.to_token_stream()))
            })
    });
    let guard_span = guard.as_ref().map_or(arm.pat.span(), Spanned::span);
    joined(test.into_iter().chain(guard).collect(), and, rewriter.at(guard_span))
}

/// Joins expressions by operators.
fn joined(exprs: Vec<Expr>, op: impl Fn(Span) -> BinOp, span: Span) -> Option<Expr> {
    exprs.into_iter().reduce(|left, right| {
        let (left, right) = (Box::new(left), Box::new(right));
        let inner = Expr::Binary(syn::ExprBinary { attrs: Vec::new(), left, op: op(span), right });
        Expr::Paren(syn::ExprParen { attrs: Vec::new(), paren_token: syn::token::Paren(span), expr: Box::new(inner) })
    })
}

/// Generates the body of an arm, after its variables.
fn body(rewriter: &Rewriter<'_>, arm: &Arm, cases: &[Vec<Pat>], parts: &[Part]) -> Block {
    let mut stmts: Vec<Stmt> = Vec::new();
    for (pattern, part) in cases.first().into_iter().flatten().zip(parts) {
        let Some(name) = binding(pattern) else { continue };
        let (span, value) = (rewriter.at(name.ident.span()), as_bound(name, &part.name.to_token_stream()));
        let variable = Pat::Ident(syn::PatIdent { by_ref: None, subpat: None, ..name.clone() });
        let allowed = guard(arm).map(|_| quote_spanned!(span=> #[allow(unused_variables)]));
        stmts.push(syn::parse_quote_spanned!(span=> #allowed let #variable = #value;));
    }
    matching::body_after(stmts, arm)
}
