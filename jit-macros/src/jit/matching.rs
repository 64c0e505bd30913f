//! `match` on numbers and truth values.
//!
//! A `match` whose patterns are literals, ranges, constants and names, and whose last arm takes everything, becomes a
//! chain of `if`s. Method lookup on the matched value decides each condition, as in `index`: for a host value it is
//! Rust's own test of the pattern, for an array a comparison for each literal.
//!
//! ```text
//! match x { 1 | 5..=9 => A, n if g(n) => B, n => C }
//!    →   if test(x; 1 | 5..=9) { A } else if g(x) { let n = x; B } else { let n = x; C }
//! ```
//! The same holds for a `match` that tests only by guards. Bindings move on the host; for an array each arm has a
//! clone. A tuple expression of such values is matched part by part (`tuples`). A `match` with any other pattern is
//! Rust's, unless it is marked `#[traced]` (`variants`).

use super::branch::{self, Want};
use super::guarded;
use super::lent::Lent;
use super::operators::reference_to;
use super::patterns::{binding, guard, has_let, is_irrefutable, is_plain, pattern, tested, tests_literal, tests_value};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::is_comparison;
use super::tuples;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Arm, Block, Expr, ExprIf, ExprMatch, Lit, Macro, Pat, RangeLimits, Stmt};

/// The possible translations of a `match`.
pub(crate) enum Shape {
    /// A chain of `if`s.
    Chain,
    /// Rust's; it needs a host value because no arm takes the remaining cases.
    WithoutEnd,
    /// Rust's.
    Other,
}

/// Rewrites a `match`. `tail` is set if its value is that of the function.
pub(crate) fn rewrite(
    rewriter: &mut Rewriter<'_>,
    mut node: ExprMatch,
    want: Want,
    tail: bool,
    is_whole: bool,
) -> Expr {
    let is_native = guarded::take_mark(&mut node);
    let directives = super::directives::take(&mut node.attrs, rewriter.sink);
    if let Some(attribute) = super::variants::take(&mut node.attrs)
        && !matches!(shape(&node, false), Shape::Chain | Shape::WithoutEnd)
    {
        return super::variants::rewrite(rewriter, node, attribute, want, tail);
    }
    let is_marked = is_native || directives.host;
    let is_host = is_marked || is_host(&node, |expr| rewriter.is_host(expr));
    let shape = if is_host { Shape::Other } else { shape(&node, false) };
    match shape {
        Shape::Chain => chain(rewriter, node, want, tail),
        Shape::WithoutEnd => {
            let lent = Lent::by(&node.expr, &rewriter.scopes);
            match tuples::of(&node.expr).cloned() {
                Some(mut tuple) => {
                    tuples::exhausted(rewriter, &mut tuple, &node.arms);
                    *node.expr = Expr::Tuple(tuple);
                }
                None => {
                    rewriter.operand_in_place(&mut node.expr);
                    exhausted(rewriter, &mut node.expr);
                }
            }
            rewriter.arms(&mut node, &lent, is_whole);
            Expr::Match(node)
        }
        Shape::Other if !is_marked && guarded::applies(&node, &rewriter.scopes, |expr| rewriter.is_host(expr)) => {
            guarded::rewrite(rewriter, node, want, tail)
        }
        Shape::Other => {
            let lent = Lent::by(&node.expr, &rewriter.scopes);
            rewriter.operand_in_place(&mut node.expr);
            rewriter.arms(&mut node, &lent, is_whole);
            Expr::Match(node)
        }
    }
}

/// Requires a host value for arms that are not exhaustive.
pub(crate) fn exhausted(rewriter: &mut Rewriter<'_>, value: &mut Expr) {
    let span = rewriter.at(value.span());
    let private = rewriter.private(span);
    ask(rewriter, value, &quote_spanned!(span=> #private::Exhausted::exhausted));
}

/// Requires a host value for a test by a pattern.
pub(crate) fn decide(rewriter: &mut Rewriter<'_>, value: &mut Expr) {
    let span = rewriter.at(value.span());
    let private = rewriter.private(span);
    ask(rewriter, value, &quote_spanned!(span=> #private::KnownValue::known));
}

/// Converts the matched value to one that Rust can match, by a function that only host values have.
fn ask(rewriter: &mut Rewriter<'_>, value: &mut Expr, known: &TokenStream) {
    let span = rewriter.at(value.span());
    let private = rewriter.private(span);
    let borrowed = reference_to(unparenthesised(value).clone(), span);
    rewriter.uses_kinds = true;
    *value = Expr::Verbatim(quote_spanned!(span=> *#known(#private::probe(#borrowed).__jit_known())));
}

/// Returns whether a `match` becomes a chain of `if`s that may be traced.
pub(crate) fn is_chain(node: &ExprMatch, is_of_host: impl Fn(&Expr) -> bool) -> bool {
    let is_chain = super::variants::is_marked(&node.attrs) || matches!(shape(node, false), Shape::Chain);
    is_chain && !is_host(node, is_of_host)
}

/// Returns whether a `match` is known to be the host's: if the matched value is, and, if only guards choose, they are,
/// too.
fn is_host(node: &ExprMatch, is_of_host: impl Fn(&Expr) -> bool) -> bool {
    let is_host_guard = |arm: &Arm| {
        let matched = node.expr.to_token_stream();
        let replaced = |guard: &Expr| match binding(pattern(arm)) {
            Some(name) => replaced(guard, &name.ident, &as_bound(name, &matched)),
            None => guard.clone(),
        };
        guard(arm).is_none_or(|guard| is_of_host(&replaced(guard)))
    };
    is_of_host(&node.expr) && (!is_by_guards(&node.arms) || node.arms.iter().all(is_host_guard))
}

fn shape(node: &ExprMatch, forced: bool) -> Shape {
    if let Some(tuple) = tuples::of(&node.expr) {
        return tuples::shape(tuple, &node.arms);
    }
    let is_testable =
        node.arms.iter().all(|arm| is_plain(pattern(arm)) && guard(arm).is_none_or(|guard| !has_let(guard)));
    let has_value = node.arms.iter().any(|arm| tests_value(pattern(arm)));
    if !is_testable || !(has_value || forced || is_by_guards(&node.arms)) {
        return Shape::Other;
    }
    let ends = node.arms.last().is_some_and(|last| guard(last).is_none() && is_irrefutable(pattern(last)));
    // Constants alone may be all variants of an enum.
    let has_literal = node.arms.iter().any(|arm| tests_literal(pattern(arm)));
    match ends || takes_both_truth_values(node) {
        true => Shape::Chain,
        false if has_literal || is_by_guards(&node.arms) => Shape::WithoutEnd,
        false => Shape::Other,
    }
}

/// Returns whether all patterns take everything, so that only guards choose.
fn is_by_guards(arms: &[Arm]) -> bool {
    arms.iter().any(|arm| guard(arm).is_some())
        && arms.iter().all(|arm| is_irrefutable(pattern(arm)) || tuples::is_irrefutable(pattern(arm)))
}

/// Returns whether the matched value is a number, because a pattern is a literal or a guard compares it: then it may be
/// duplicated.
fn is_of_numbers(arms: &[Arm]) -> bool {
    let compares = |arm: &Arm| match (guard(arm), binding(pattern(arm))) {
        (Some(guard), Some(name)) => is_compared(guard, &name.ident),
        _ => false,
    };
    arms.iter().any(|arm| tests_literal(pattern(arm)) || compares(arm))
}

/// Returns whether a comparison has a variable, or arithmetic on it, on one of its sides.
fn is_compared(condition: &Expr, name: &Ident) -> bool {
    match unparenthesised(condition) {
        Expr::Binary(binary) if is_comparison(&binary.op) => {
            is_arithmetic_on(&binary.left, name) || is_arithmetic_on(&binary.right, name)
        }
        Expr::Binary(binary) => is_compared(&binary.left, name) || is_compared(&binary.right, name),
        Expr::Unary(unary) => is_compared(&unary.expr, name),
        _ => false,
    }
}

fn is_arithmetic_on(expr: &Expr, name: &Ident) -> bool {
    match unparenthesised(expr) {
        Expr::Path(path) => path.path.is_ident(name),
        Expr::Binary(binary) => is_arithmetic_on(&binary.left, name) || is_arithmetic_on(&binary.right, name),
        Expr::Unary(unary) => is_arithmetic_on(&unary.expr, name),
        _ => false,
    }
}

/// Returns whether it is like `match m { true if g => …, true => …, false => … }`, which is exhaustive without an arm
/// for the rest: the last arm takes what the others leave.
fn takes_both_truth_values(node: &ExprMatch) -> bool {
    let value = |arm: &Arm| match (pattern(arm), guard(arm)) {
        (Pat::Lit(syn::ExprLit { lit: Lit::Bool(literal), .. }), None) => Some(literal.value),
        _ => None,
    };
    let takes = |wanted: bool| node.arms.iter().filter_map(value).any(|value| value == wanted);
    node.arms.last().and_then(value).is_some() && takes(true) && takes(false)
}

/// Returns the `match` that `matches!` stands for; `None` for other macros.
pub(crate) fn of_matches(call: &Macro) -> Option<ExprMatch> {
    if call.path.segments.last().is_none_or(|last| last.ident != "matches") {
        return None;
    }
    let parse = |input: syn::parse::ParseStream| -> syn::Result<ExprMatch> {
        let value: Expr = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        let rest: TokenStream = input.parse()?;
        let rest = without_last_comma(rest);
        syn::parse2(quote::quote!(match #value { #rest => true, _ => false }))
    };
    let mut node = syn::parse::Parser::parse2(parse, call.tokens.clone()).ok()?;
    crate::ungroup::Ungroup.visit_expr_match_mut(&mut node);
    Some(node)
}

fn without_last_comma(tokens: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.pop_if(|last| matches!(last, TokenTree::Punct(punct) if punct.as_char() == ','));
    tokens.into_iter().collect()
}

/// Rewrites `matches!(x, 1 | 5..=9)`, whose value is a `bool` for a host value and a mask for an array; `None` for
/// other macros and for patterns that are Rust's.
pub(crate) fn rewrite_matches(rewriter: &mut Rewriter<'_>, call: &Macro) -> Option<Expr> {
    let mut node = of_matches(call)?;
    if !is_chain(&node, |expr| rewriter.is_host(expr)) {
        return None;
    }
    if let Some(tuple) = tuples::of(&node.expr).cloned() {
        return tuples::rewrite_matches(rewriter, tuple, &node);
    }
    let (span, source_span) = (rewriter.at(call.path.span()), rewriter.at(node.expr.span()));
    let matched = Matched::of(rewriter, &mut node.expr, source_span);
    rewriter.scopes.push();
    matched.declare(rewriter);
    let mut condition = condition(rewriter, &node.arms[0], &matched.value, source_span)?;
    rewriter.visit_expr_mut(&mut condition);
    rewriter.scopes.pop();
    Some(matched.around(condition, span))
}

/// The matched value: a place of the program, or a helper that holds the value; nothing if no arm reads it.
struct Matched {
    value: TokenStream,
    /// The pattern that takes a value which is computed first.
    hoisted: Option<(TokenStream, TokenStream)>,
}

impl Matched {
    /// Rewrites the matched value and finds where it is.
    fn of(rewriter: &mut Rewriter<'_>, value: &mut Expr, span: Span) -> Matched {
        if super::index::is_pure_place(value) && !matches!(unparenthesised(value), Expr::Index(_)) {
            return Matched { value: unparenthesised(value).to_token_stream(), hoisted: None };
        }
        let helper = rewriter.helper("matched", span).to_token_stream();
        rewriter.visit_expr_mut(value);
        Matched { value: helper.clone(), hoisted: Some((helper, value.to_token_stream())) }
    }

    /// Declares the helper, if there is one.
    fn declare(&self, rewriter: &mut Rewriter<'_>) {
        if let Some((helper, _)) = &self.hoisted {
            rewriter.scopes.declare(&syn::parse_quote!(#helper), None, false, false);
        }
    }

    /// Computes the value before an expression that reads it.
    fn around(self, inner: Expr, span: Span) -> Expr {
        match self.hoisted {
            None => inner,
            Some((pattern, value)) => Expr::Verbatim(quote_spanned!(span=> match #value { #pattern => #inner })),
        }
    }
}

fn chain(rewriter: &mut Rewriter<'_>, mut node: ExprMatch, want: Want, tail: bool) -> Expr {
    if let Some(tuple) = tuples::of(&node.expr).cloned() {
        return tuples::rewrite(rewriter, tuple, node, want, tail);
    }
    let span = rewriter.at(node.match_token.span);
    let expected = rewriter.expected.take();
    let source_span = rewriter.at(node.expr.span());
    let is_used = node.arms.iter().any(|arm| tested(pattern(arm)).is_some() || binding(pattern(arm)).is_some());
    let matched = if !is_used {
        rewriter.operand_in_place(&mut node.expr);
        Matched { value: TokenStream::new(), hoisted: Some((quote_spanned!(span=> _), node.expr.to_token_stream())) }
    } else {
        Matched::of(rewriter, &mut node.expr, source_span)
    };
    rewriter.scopes.push();
    if is_used {
        matched.declare(rewriter);
    }
    let is_of_numbers = is_of_numbers(&node.arms);
    let arms = chain_arms(
        rewriter,
        &node.arms,
        |rewriter, _, arm| condition(rewriter, arm, &matched.value, source_span),
        |rewriter, _, arm| body(rewriter, arm, &matched.value, is_of_numbers),
    );
    let arms = if arms.len() > LONG { grouped(rewriter, arms, &node.arms, &matched.value, source_span) } else { arms };
    rewriter.expected = expected;
    let chained = chained(rewriter, arms, want, tail).unwrap_or(Expr::Match(node));
    rewriter.scopes.pop();
    matched.around(chained, span)
}

/// A `match` of more arms is divided into groups.
const LONG: usize = 64;

/// The number of arms in a group.
const GROUP: usize = 32;

/// The condition of an arm, which the last one lacks, its body and the place of its arrow.
type ChainArm = (Option<Expr>, Block, Span);

/// Makes the arms of a chain. The last one of a `match` takes all that the others leave, so it needs no condition.
pub(super) fn chain_arms(
    rewriter: &mut Rewriter<'_>,
    arms: &[Arm],
    condition: impl Fn(&mut Rewriter<'_>, usize, &Arm) -> Option<Expr>,
    body: impl Fn(&mut Rewriter<'_>, usize, &Arm) -> Block,
) -> Vec<ChainArm> {
    let last = arms.len() - 1;
    let of = |(at, arm): (usize, &Arm)| {
        let condition = if at == last { None } else { condition(rewriter, at, arm) };
        (condition, body(rewriter, at, arm), rewriter.at(arm.fat_arrow_token.span()))
    };
    arms.iter().enumerate().map(of).collect()
}

/// Divides the arms of a long chain into groups, each behind one test of all of its patterns. So neither the nesting of
/// the generated code nor the number of tests before an arm grows with the number of arms. Arms with guards are not
/// grouped.
fn grouped(
    rewriter: &mut Rewriter<'_>,
    chain: Vec<ChainArm>,
    arms: &[Arm],
    matched: &TokenStream,
    source: Span,
) -> Vec<ChainArm> {
    let mut result: Vec<ChainArm> = Vec::new();
    let mut group: Vec<(ChainArm, Pat)> = Vec::new();
    let last = chain.len() - 1;
    for (at, (arm, of_user)) in chain.into_iter().zip(arms).enumerate() {
        let tested = tested(pattern(of_user)).filter(|_| guard(of_user).is_none() && at != last);
        match tested {
            Some(pattern) => group.push((arm, pattern)),
            None => {
                close_group(rewriter, &mut group, &mut result, matched, source);
                result.push(arm);
            }
        }
        if group.len() == GROUP {
            close_group(rewriter, &mut group, &mut result, matched, source);
        }
    }
    result
}

/// Makes one arm of a group. Its last arm needs no test, since one of them matches.
fn close_group(
    rewriter: &mut Rewriter<'_>,
    group: &mut Vec<(ChainArm, Pat)>,
    result: &mut Vec<ChainArm>,
    matched: &TokenStream,
    source: Span,
) {
    let (arms, patterns): (Vec<ChainArm>, Vec<Pat>) = group.drain(..).unzip();
    if arms.len() < 3 {
        return result.extend(arms);
    }
    let span = arms[0].2;
    let condition = test(rewriter, &any_of(patterns), matched, source);
    let count = arms.len();
    let arms = arms.into_iter().enumerate().map(|(at, (condition, body, span))| match at + 1 == count {
        true => (None, body, span),
        false => (condition, body, span),
    });
    let Some(inner) = nested(arms.collect(), true) else { return };
    let body = Block { brace_token: syn::token::Brace(span), stmts: vec![Stmt::Expr(inner, None)] };
    result.push((Some(condition), body, span));
}

/// Returns a pattern for any of several: a range, if they are the numbers of one.
fn any_of(patterns: Vec<Pat>) -> Pat {
    let number = |pattern: &Pat| match pattern {
        Pat::Lit(syn::ExprLit { lit: Lit::Int(literal), .. }) => literal.base10_parse::<u64>().ok(),
        _ => None,
    };
    let numbers: Option<Vec<u64>> = patterns.iter().map(number).collect();
    let is_range =
        numbers.is_some_and(|numbers| numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])));
    match (is_range, &patterns[..]) {
        (true, [first, .., last]) => syn::parse_quote!(#first..=#last),
        _ => {
            let mut cases = syn::punctuated::Punctuated::new();
            cases.extend(patterns);
            Pat::Or(syn::PatOr { attrs: Vec::new(), leading_vert: None, cases })
        }
    }
}

/// Rewrites a chain of `if`s.
pub(super) fn chained(rewriter: &mut Rewriter<'_>, arms: Vec<ChainArm>, want: Want, tail: bool) -> Option<Expr> {
    match nested(arms, false)? {
        Expr::If(node) => Some(branch::rewrite(rewriter, node, want, tail)),
        mut other => {
            rewriter.visit_expr_mut(&mut other);
            Some(other)
        }
    }
}

/// Generates the chain of `if`s. The last arm, which has no condition, may be omitted if it does nothing, but not if
/// its value is used (`is_whole`).
fn nested(arms: Vec<ChainArm>, is_whole: bool) -> Option<Expr> {
    let mut otherwise: Option<Expr> = None;
    let count = arms.len();
    for (condition, then_branch, span) in arms.into_iter().rev() {
        let is_nothing = condition.is_none() && then_branch.stmts.is_empty() && count > 1 && !is_whole;
        if is_nothing {
            continue;
        }
        otherwise = Some(match condition {
            None => Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: then_branch }),
            Some(condition) => {
                let if_token = syn::Token![if](span);
                let else_branch = otherwise.map(|rest| (syn::Token![else](span), Box::new(rest)));
                Expr::If(ExprIf { attrs: Vec::new(), if_token, cond: Box::new(condition), then_branch, else_branch })
            }
        });
    }
    otherwise
}

/// Generates the body of an arm, after its variable.
fn body(rewriter: &mut Rewriter<'_>, arm: &Arm, matched: &TokenStream, is_number: bool) -> Block {
    let mut stmts = Vec::new();
    if let Some(name) = binding(pattern(arm)) {
        let span = rewriter.at(name.ident.span());
        let value = if name.by_ref.is_some() {
            Expr::Verbatim(quote_spanned!(span=> &#matched))
        } else if is_number {
            let private = rewriter.private(span);
            Expr::Verbatim(quote_spanned!(span=> #private::Operand::again(&#matched)))
        } else {
            bound(rewriter, matched, span)
        };
        let pattern = Pat::Ident(syn::PatIdent { by_ref: None, subpat: None, ..name.clone() });
        if let Ok(Stmt::Local(mut local)) = syn::parse2(quote_spanned!(span=> let #pattern = ();)) {
            if guard(arm).is_some() {
                local.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            }
            local.init.iter_mut().for_each(|init| *init.expr = value.clone());
            stmts.push(Stmt::Local(local));
        }
    }
    body_after(stmts, arm)
}

/// Returns the body of an arm after the declarations of its variables.
pub(super) fn body_after(mut stmts: Vec<Stmt>, arm: &Arm) -> Block {
    match &*arm.body {
        Expr::Block(block) if block.label.is_none() && block.attrs.is_empty() => {
            let mut block = block.clone();
            if stmts.is_empty() {
                return block.block;
            }
            // Inside of another block, the compiler would call the user's braces unnecessary: these are the macro's.
            let span = block.block.brace_token.span.join().resolved_at(Span::mixed_site());
            block.block.brace_token = syn::token::Brace(span);
            stmts.push(Stmt::Expr(Expr::Block(block), None));
        }
        other => stmts.push(Stmt::Expr(other.clone(), None)),
    }
    Block { brace_token: syn::token::Brace(arm.body.span()), stmts }
}

/// Generates the matched value as an arm binds it. It is resolved when the arm is rewritten.
fn bound(rewriter: &mut Rewriter<'_>, matched: &TokenStream, span: Span) -> Expr {
    let place = rewriter.helper("bound", span);
    rewriter.bound.insert(place.to_string());
    Expr::Verbatim(quote_spanned!(span=> #place #matched))
}

/// Returns the binding of an arm, if these tokens are its placeholder: on the host the matched value itself, which
/// moves, for an array a clone.
pub(crate) fn take_bound(rewriter: &mut Rewriter<'_>, tokens: &TokenStream) -> Option<TokenStream> {
    let mut tokens = tokens.clone().into_iter();
    let Some(TokenTree::Ident(place)) = tokens.next() else { return None };
    if !rewriter.bound.remove(&place.to_string()) {
        return None;
    }
    let mut matched: Expr = syn::parse2(tokens.collect()).ok()?;
    let span = place.span();
    let (private, kind) = (rewriter.private(span), rewriter.helper("kind", span));
    let borrowed = reference_to(matched.clone(), span);
    rewriter.uses_kinds = true;
    if let Expr::Path(_) = matched {
        rewriter.visit_expr_mut(&mut matched);
    }
    Some(quote_spanned! {span=> {
        let #kind = #private::probe(#borrowed).__jit_match();
        #[allow(unreachable_code)]
        if #kind.is_host() { #kind.host_only(); #matched } else { #kind.again(#borrowed) }
    }})
}

/// Generates the condition of an arm; `None` if it takes everything.
fn condition(rewriter: &mut Rewriter<'_>, arm: &Arm, matched: &TokenStream, span: Span) -> Option<Expr> {
    let test = tested(pattern(arm)).map(|pattern| test(rewriter, &pattern, matched, span));
    let guard = guard(arm).map(|guard| match binding(pattern(arm)) {
        Some(name) => replaced(guard, &name.ident, &as_bound(name, matched)),
        None => guard.clone(),
    });
    match (test, guard) {
        (Some(test), Some(guard)) => {
            let op = syn::BinOp::And(syn::Token![&&](rewriter.at(guard.span())));
            let (left, right) = (Box::new(test), Box::new(guard));
            Some(Expr::Binary(syn::ExprBinary { attrs: Vec::new(), left, op, right }))
        }
        (test, guard) => test.or(guard),
    }
}

/// Returns the matched value as a variable of the pattern holds it.
pub(crate) fn as_bound(name: &syn::PatIdent, matched: &TokenStream) -> TokenStream {
    let span = name.ident.span();
    if name.by_ref.is_some() { quote_spanned!(span=> &#matched) } else { matched.clone() }
}

/// Returns a guard in which the variable of its pattern is replaced by the matched value, which is not moved.
pub(crate) fn replaced(guard: &Expr, name: &Ident, matched: &TokenStream) -> Expr {
    let tokens = replace_name(guard.to_token_stream(), name, matched);
    syn::parse2(tokens).unwrap_or_else(|_| guard.clone())
}

fn replace_name(tokens: TokenStream, name: &Ident, matched: &TokenStream) -> TokenStream {
    let mut after_dot = false;
    let mut replaced = TokenStream::new();
    for token in tokens {
        let is_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        match token {
            TokenTree::Ident(ident) if ident == *name && !after_dot => {
                let span = ident.span();
                replaced.extend(quote_spanned!(span=> (#matched)));
            }
            TokenTree::Group(group) => {
                let mut inner = proc_macro2::Group::new(group.delimiter(), replace_name(group.stream(), name, matched));
                inner.set_span(group.span());
                replaced.extend([TokenTree::Group(inner)]);
            }
            other => replaced.extend([other]),
        }
        after_dot = is_dot;
    }
    replaced
}

/// Generates Rust's test of a pattern, and the comparisons that represent it on arrays.
pub(crate) fn test(rewriter: &mut Rewriter<'_>, pattern: &Pat, matched: &TokenStream, source: Span) -> Expr {
    let span = rewriter.at(pattern.span());
    let (kind, host, traced) =
        (rewriter.helper("match", span), rewriter.helper("host", span), rewriter.helper("traced", span));
    let private = rewriter.private(source);
    let comparisons = comparisons(pattern, &kind, span);
    rewriter.uses_kinds = true;
    let asked = quote_spanned!(source=> #private::probe(&#matched).__jit_match());
    let test = quote_spanned! {span=>
        match #asked {
            #kind => {
                #[allow(unreachable_patterns, clippy::match_like_matches_macro)]
                let #host = match *#kind.host() { #pattern => true, _ => false };
                #[allow(overflowing_literals, clippy::let_unit_value)]
                let #traced = #comparisons;
                #kind.test(#host, #traced)
            }
        }
    };
    let place = rewriter.helper("test", span);
    rewriter.tests.insert(place.to_string(), test);
    Expr::Verbatim(quote_spanned!(span=> #place #matched))
}

/// Returns the test whose placeholder these tokens are: a generated name, and the matched value.
pub(crate) fn take_test(rewriter: &mut Rewriter<'_>, tokens: &TokenStream) -> Option<TokenStream> {
    if rewriter.tests.is_empty() {
        return None;
    }
    match tokens.clone().into_iter().next() {
        Some(TokenTree::Ident(place)) => rewriter.tests.remove(&place.to_string()),
        _ => None,
    }
}

fn comparisons(pattern: &Pat, kind: &Ident, span: Span) -> TokenStream {
    match pattern {
        Pat::Or(or) => {
            let mut cases = or.cases.iter().map(|case| comparisons(case, kind, span));
            let first = cases.next().unwrap_or_default();
            cases.fold(first, |left, right| quote_spanned!(span=> #kind.or(#left, #right)))
        }
        Pat::Paren(inner) => comparisons(&inner.pat, kind, span),
        Pat::Range(range) => {
            let least = range.start.iter().map(|start| quote_spanned!(span=> #kind.at_least(#start)));
            let most = range.end.iter().map(|end| match range.limits {
                RangeLimits::Closed(_) => quote_spanned!(span=> #kind.at_most(#end)),
                RangeLimits::HalfOpen(_) => quote_spanned!(span=> #kind.below(#end)),
            });
            let mut ends = least.chain(most);
            let first = ends.next().unwrap_or_default();
            ends.fold(first, |left, right| quote_spanned!(span=> #kind.and(#left, #right)))
        }
        other => quote_spanned!(span=> #kind.equals(#other)),
    }
}
