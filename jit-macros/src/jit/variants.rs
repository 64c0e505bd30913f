//! `#[traced] match`: on an enum whose variant differs by lane.
//!
//! ```text
//! #[traced] match &e { E::A { x } => F, E::B(y) if g(y) => G, _ => H }
//!    →   match choice(&(&e)).arms(3, |part, passed| match *part {
//!            E::A { .. } => 0, E::B(..) if !passed(1) => 1, _ => 2
//!        }) { k =>
//!            if k.test(0) { let mut part = k.value(0); let Some(E::A { x }) = k.lend(part) …; F }
//!            else if k.test(1) && { let E::B(y) = …; g(y) } { let E::B(y) = …; G }
//!            else { H } }
//! ```
//! Rust's own `match` on the plain enum determines which arms a variant can take, and that the match is exhaustive;
//! Rust's own patterns bind the fields. The text does not show whether the variant differs by lane, and a host `match`
//! must remain Rust's: therefore it is marked.

use super::branch::Want;
use super::directives;
use super::matching;
use super::patterns::{guard, has_let, is_variable, pattern};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::{is_constant_name, pattern_names};
use crate::sink::Sink;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Attribute, Block, Expr, ExprMatch, Local, Pat, PatIdent, Stmt};

/// The advice for tests of a field in a pattern.
const BIND_FIRST: &str = "bind the field, then test it in the arm";

/// Returns whether a `match` is marked.
pub(crate) fn is_marked(attributes: &[Attribute]) -> bool {
    attributes.iter().any(is_mark)
}

fn is_mark(attribute: &Attribute) -> bool {
    attribute.path().is_ident("traced")
}

/// Removes the mark of a `match`; returns its place.
pub(crate) fn take(attributes: &mut Vec<Attribute>) -> Option<Span> {
    let position = attributes.iter().position(is_mark)?;
    Some(attributes.remove(position).path().span())
}

/// Moves marks on statements to the `match` whose value is declared or assigned there; rejects others.
pub(crate) fn place_attributes(body: &mut Block, sink: &Sink) {
    Marks(sink).visit_block_mut(body);
}

struct Marks<'a>(&'a Sink);

impl Marks<'_> {
    /// Passes the marks of a statement or expression to the `match` that is its value.
    fn hand_on(&self, attributes: &mut Vec<Attribute>, value: Option<&mut Expr>) {
        let (marks, others) = std::mem::take(attributes).into_iter().partition(is_mark);
        *attributes = others;
        let marks: Vec<Attribute> = marks;
        let Some(mark) = marks.first() else { return };
        if mark.meta.require_path_only().is_err() {
            self.0.error(mark.path().span(), "`#[traced]` takes no arguments");
        }
        match value {
            Some(Expr::Match(node)) => node.attrs.extend(marks),
            _ => self.0.error(
                mark.path().span(),
                "`#[traced]` applies to a `match` whose arm is selected in each lane, by the variant of a `Traced` \
                 enum",
            ),
        }
    }
}

impl VisitMut for Marks<'_> {
    fn visit_local_mut(&mut self, local: &mut Local) {
        let Local { attrs, init, .. } = local;
        self.hand_on(attrs, init.as_mut().map(|init| &mut *init.expr));
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Match(node) => {
                if let Some(mark) = node.attrs.iter().find(|attribute| is_mark(attribute))
                    && mark.meta.require_path_only().is_err()
                {
                    self.0.error(mark.path().span(), "`#[traced]` takes no arguments");
                }
            }
            Expr::Assign(node) => self.hand_on(&mut node.attrs, Some(&mut node.right)),
            _ => {
                if let Some(attributes) = directives::attributes_of(expr) {
                    self.hand_on(attributes, None);
                }
            }
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// Rewrites a marked `match`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, mut node: ExprMatch, mark: Span, want: Want, tail: bool) -> Expr {
    check(&node, rewriter.sink);
    if node.arms.is_empty() {
        rewriter.sink.error(mark, "a traced `match` needs an arm");
        return Expr::Match(node);
    }
    let expected = rewriter.expected.take();
    let span = rewriter.at(node.match_token.span);
    let source = rewriter.at(node.expr.span());
    rewriter.operand_in_place(&mut node.expr);
    let kind = rewriter.helper("choice", source);
    let arm_of = arm_of(rewriter, &node, source);
    let arms = matching::chain_arms(
        rewriter,
        &node.arms,
        |rewriter, at, arm| Some(condition(rewriter, arm, at, &kind)),
        |rewriter, at, arm| body(rewriter, arm, at, &kind),
    );
    rewriter.expected = expected;
    let (private, scrutinee, count) = (rewriter.private(source), node.expr.to_token_stream(), node.arms.len());
    let Some(chained) = matching::chained(rewriter, arms, want, tail) else { return Expr::Match(node) };
    let choice = quote_spanned!(source=> #private::Choosable::choice(&(#scrutinee)).arms(#count, #arm_of));
    Expr::Verbatim(quote_spanned!(span=> match #choice { #kind => #chained }))
}

/// Generates Rust's `match` on a value of the enum, which yields the number of an arm. It is at the span of the matched
/// value, where Rust reports missing cases.
fn arm_of(rewriter: &mut Rewriter<'_>, node: &ExprMatch, source: Span) -> TokenStream {
    let (part, passed) = (rewriter.helper("part", source), rewriter.helper("passed", source));
    let arms = node.arms.iter().enumerate().map(|(at, arm)| {
        let pattern = without_variables(&unreferenced(pattern(arm)));
        let guard = guard(arm).map(|guard| {
            let span = rewriter.at(guard.span());
            quote_spanned!(span=> if !#passed(#at))
        });
        // Rust proposes missing arms after the last token.
        let end = arm.body.to_token_stream().into_iter().last().map_or(source, |last| rewriter.at(last.span()));
        let mut number = Literal::usize_suffixed(at);
        number.set_span(end);
        quote_spanned!(end=> #pattern #guard => #number,)
    });
    let arms: TokenStream = arms.collect();
    let matched = quote_spanned!(source=> *#part);
    quote_spanned!(source=> |#part, #passed| match #matched { #arms })
}

/// Returns a pattern for the enum itself, instead of one for references to it.
fn unreferenced(pattern: &Pat) -> Pat {
    match pattern {
        Pat::Reference(inner) => unreferenced(&inner.pat),
        Pat::Paren(inner) => unreferenced(&inner.pat),
        Pat::Or(or) => {
            let mut or = or.clone();
            or.cases.iter_mut().for_each(|case| *case = unreferenced(case));
            Pat::Or(or)
        }
        other => other.clone(),
    }
}

/// Returns the pattern with `_` in place of its variables.
fn without_variables(pattern: &Pat) -> Pat {
    struct Blank;
    impl VisitMut for Blank {
        fn visit_pat_mut(&mut self, pattern: &mut Pat) {
            visit_mut::visit_pat_mut(self, pattern);
            if let Pat::Ident(name) = pattern
                && is_variable(&name.ident)
            {
                let underscore_token = syn::Token![_](name.ident.span());
                *pattern = Pat::Wild(syn::PatWild { attrs: Vec::new(), underscore_token });
            }
        }
        fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
            field.colon_token.get_or_insert(syn::Token![:](field.member.span()));
            self.visit_pat_mut(&mut field.pat);
        }
    }
    let mut pattern = pattern.clone();
    Blank.visit_pat_mut(&mut pattern);
    pattern
}

/// Generates the condition of an arm.
fn condition(rewriter: &mut Rewriter<'_>, arm: &Arm, at: usize, kind: &Ident) -> Expr {
    let span = rewriter.at(pattern(arm).span());
    let kind = Ident::new(&kind.to_string(), span);
    let test = Expr::Verbatim(quote_spanned!(span=> #kind.test(#at)));
    let Some(guard) = guard(arm) else { return test };
    let mut stmts = bindings(rewriter, arm, at, &kind, true);
    let guard = if stmts.is_empty() {
        guard.clone()
    } else {
        stmts.push(Stmt::Expr(guard.clone(), None));
        let block = Block { brace_token: syn::token::Brace(guard.span()), stmts };
        Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block })
    };
    let op = syn::BinOp::And(syn::Token![&&](rewriter.at(guard.span())));
    Expr::Binary(syn::ExprBinary { attrs: Vec::new(), left: Box::new(test), op, right: Box::new(guard) })
}

/// Generates the body of an arm, after its variables.
fn body(rewriter: &mut Rewriter<'_>, arm: &Arm, at: usize, kind: &Ident) -> Block {
    let stmts = bindings(rewriter, arm, at, kind, guard(arm).is_some());
    matching::body_after(stmts, arm)
}

/// Declares the variables of an arm. In a guard, and in an arm that has one, they need not be used.
fn bindings(rewriter: &mut Rewriter<'_>, arm: &Arm, at: usize, kind: &Ident, may_be_unused: bool) -> Vec<Stmt> {
    let pattern = pattern(arm);
    let names = variables(pattern);
    if names.is_empty() {
        return Vec::new();
    }
    let span = rewriter.at(pattern.span());
    let (kind, held) = (Ident::new(&kind.to_string(), span), rewriter.helper("held", span));
    let private = rewriter.private(span);
    let unused = may_be_unused.then(|| quote!(#[allow(unused_variables, unused_mut)]));
    let statements = match whole(pattern) {
        Some(name) => {
            vec![
                quote_spanned!(span=> let mut #held = #kind.whole();),
                quote_spanned!(span=> #unused let #name = #kind.lend(&mut #held);),
            ]
        }
        None if matches!(unparenthesised_pattern(pattern), Pat::Or(_)) => {
            blended(rewriter, &names, pattern, at, &kind, unused.as_ref())
        }
        None => vec![
            quote_spanned!(span=> let mut #held = #kind.value(#at);),
            quote_spanned! {span=>
                #[allow(irrefutable_let_patterns)] #unused
                let #pattern = #kind.lend(&mut #held) else { #private::other_variant() };
            },
        ],
    };
    statements.into_iter().filter_map(|statement| syn::parse2(statement).ok()).map(opaque).collect()
}

/// Generates the variables of an arm for several variants, in each lane those of its variant.
fn blended(
    rewriter: &mut Rewriter<'_>,
    names: &[PatIdent],
    pattern: &Pat,
    at: usize,
    kind: &Ident,
    unused: Option<&TokenStream>,
) -> Vec<TokenStream> {
    let span = kind.span();
    let (part, all) = (rewriter.helper("part", span), rewriter.helper("blended", span));
    let pattern = unreferenced(pattern);
    let values: Vec<&Ident> = names.iter().map(|name| &name.ident).collect();
    let tuple = |items: &[TokenStream]| items.iter().rev().fold(quote!(()), |rest, item| quote!((#item, #rest)));
    let copies: Vec<TokenStream> =
        values.iter().map(|name| quote_spanned!(span=> ::core::clone::Clone::clone(&*#name))).collect();
    let copies = tuple(&copies);
    let plain = plain_bindings(&pattern);
    let mut statements = vec![quote_spanned! {span=>
        let #all = #kind.blend(#at, |#part| match #part {
            #plain => ::core::option::Option::Some(#copies),
            #[allow(unreachable_patterns)]
            _ => ::core::option::Option::None,
        });
    }];
    let mut path = quote!(#all);
    for name in names {
        let held = rewriter.helper("held", span);
        statements.push(quote_spanned!(span=> let mut #held = ::core::option::Option::Some(#path.0);));
        statements.push(quote_spanned!(span=> #unused let #name = #kind.lend(&mut #held);));
        path = quote!(#path.1);
    }
    statements
}

/// Returns the pattern with variables that are neither `mut` nor `ref`, for a reference to the enum.
fn plain_bindings(pattern: &Pat) -> Pat {
    struct Plain;
    impl VisitMut for Plain {
        fn visit_pat_ident_mut(&mut self, name: &mut PatIdent) {
            (name.by_ref, name.mutability) = (None, None);
        }
    }
    let mut pattern = pattern.clone();
    Plain.visit_pat_mut(&mut pattern);
    pattern
}

/// Creates a generated statement whose expressions are not visited.
fn opaque(mut statement: Stmt) -> Stmt {
    if let Stmt::Local(Local { init: Some(init), .. }) = &mut statement {
        *init.expr = Expr::Verbatim(init.expr.to_token_stream());
        if let Some((_, diverge)) = &mut init.diverge {
            **diverge = Expr::Verbatim(diverge.to_token_stream());
        }
    }
    statement
}

fn unparenthesised_pattern(pattern: &Pat) -> &Pat {
    match pattern {
        Pat::Paren(inner) => unparenthesised_pattern(&inner.pat),
        other => other,
    }
}

/// Returns the name that an arm gives to the whole value.
fn whole(pattern: &Pat) -> Option<&PatIdent> {
    match unparenthesised_pattern(pattern) {
        Pat::Ident(name) if is_variable(&name.ident) => Some(name),
        _ => None,
    }
}

/// Returns the variables of a pattern, each once, in their order.
fn variables(pattern: &Pat) -> Vec<PatIdent> {
    struct Variables(Vec<PatIdent>);
    impl syn::visit::Visit<'_> for Variables {
        fn visit_pat_ident(&mut self, name: &PatIdent) {
            if is_variable(&name.ident) && !self.0.iter().any(|known| known.ident == name.ident) {
                self.0.push(name.clone());
            }
        }
    }
    let mut found = Variables(Vec::new());
    syn::visit::Visit::visit_pat(&mut found, pattern);
    debug_assert!(found.0.len() <= pattern_names(pattern).len());
    found.0
}

/// Rejects constructs that have no meaning per lane.
fn check(node: &ExprMatch, sink: &Sink) {
    if let Expr::Reference(reference) = unparenthesised(&node.expr)
        && let Some(mutability) = &reference.mutability
    {
        sink.error(
            mutability.span,
            "lanes are matched by value or by `&`; to change some, assign a new value in the arm",
        );
    }
    for arm in &node.arms {
        check_case(pattern(arm), sink);
        if let Some(guard) = guard(arm).filter(|guard| has_let(guard)) {
            sink.error(guard.span(), "a pattern test is decided on the host; nest `if` for the traced part");
        }
    }
}

fn check_case(pattern: &Pat, sink: &Sink) {
    match pattern {
        Pat::Wild(_) | Pat::Path(_) => {}
        Pat::Paren(inner) => check_case(&inner.pat, sink),
        Pat::Reference(inner) => check_case(&inner.pat, sink),
        Pat::Or(or) => or.cases.iter().for_each(|case| check_case(case, sink)),
        Pat::Ident(name) => check_name(name, sink),
        Pat::TupleStruct(variant) => variant.elems.iter().for_each(|field| check_field(field, sink)),
        Pat::Struct(variant) => variant.fields.iter().for_each(|field| check_field(&field.pat, sink)),
        other => {
            sink.error(other.span(), "an arm of a `#[traced] match` names a variant, or matches all remaining ones")
        }
    }
}

fn check_field(pattern: &Pat, sink: &Sink) {
    match pattern {
        Pat::Wild(_) | Pat::Rest(_) => {}
        Pat::Paren(inner) => check_field(&inner.pat, sink),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|element| check_field(element, sink)),
        Pat::Ident(name) if is_variable(&name.ident) && !is_constant_name(&name.ident) => check_name(name, sink),
        other => sink.error(other.span(), BIND_FIRST),
    }
}

fn check_name(name: &PatIdent, sink: &Sink) {
    if let Some((at, _)) = &name.subpat {
        sink.error(at.span(), BIND_FIRST);
    }
    if let (Some(by_ref), Some(_)) = (&name.by_ref, &name.mutability) {
        sink.error(by_ref.span(), format!("{BIND_FIRST}; to change it, assign a new value to the matched variable"));
    }
}
