//! Finds jumps before their code is rewritten, to decide whether a loop must be prepared for lanes that exit it.

use super::branch::has_pattern;
use super::range;
use super::scope::{Scopes, identifiers, pattern_names};
use proc_macro2::Ident;
use quote::ToTokens;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Lifetime, Pat, Stmt};

/// The jumps in a piece of code.
#[derive(Default, Clone, Copy)]
pub(crate) struct Jumps {
    /// Whether there is any jump.
    pub(crate) any: bool,
    /// Whether a jump exits the code, other than by `continue` of a loop whose body the code is.
    pub(crate) outward: bool,
    /// Whether a jump is under a condition that may be traced.
    pub(crate) masked: bool,
}

impl Jumps {
    /// Returns whether lanes may exit at different times.
    pub(crate) fn split_lanes(self) -> bool {
        self.outward && self.masked
    }
}

/// Finds the jumps in a loop's body.
pub(crate) fn of_body(body: &Block, label: Option<&Lifetime>, scopes: &Scopes) -> Jumps {
    let mut finder = Finder::new(body.to_token_stream(), label, scopes);
    finder.visit_block(body);
    finder.jumps
}

/// Finds the jumps in an expression.
pub(crate) fn of_expr(expr: &Expr, scopes: &Scopes) -> Jumps {
    let mut finder = Finder::new(expr.to_token_stream(), None, scopes);
    finder.visit_expr(expr);
    finder.jumps
}

/// Returns whether a statement contains a jump.
pub(crate) fn in_statement(statement: &Stmt, scopes: &Scopes) -> bool {
    let mut finder = Finder::new(statement.to_token_stream(), None, scopes);
    finder.visit_stmt(statement);
    finder.jumps.any
}

struct Finder<'a> {
    scopes: &'a Scopes,
    /// Names that the code binds, whose types are unknown so far.
    bound: HashSet<Ident>,
    /// The label of the loop whose body the code is.
    own: Option<&'a Lifetime>,
    /// Labels of the loops and blocks in the code around this place.
    inner: Vec<Option<Lifetime>>,
    /// The number of loops among them.
    loops: usize,
    /// The number of conditions around it that may be traced.
    conditions: usize,
    jumps: Jumps,
}

impl<'a> Finder<'a> {
    fn new(tokens: proc_macro2::TokenStream, own: Option<&'a Lifetime>, scopes: &'a Scopes) -> Self {
        let mut bound = HashSet::new();
        if let Ok(block) = syn::parse2::<Block>(quote::quote!({ #tokens })) {
            struct Names<'n>(&'n mut HashSet<Ident>);
            impl Visit<'_> for Names<'_> {
                fn visit_pat(&mut self, pattern: &Pat) {
                    self.0.extend(pattern_names(pattern).into_iter().map(|(name, ..)| name));
                }
            }
            Names(&mut bound).visit_block(&block);
        }
        Finder { scopes, bound, own, inner: Vec::new(), loops: 0, conditions: 0, jumps: Jumps::default() }
    }

    fn is_host(&self, condition: &Expr) -> bool {
        let mut names = Vec::new();
        identifiers(condition.to_token_stream(), &mut names);
        self.scopes.is_host(condition) && !names.iter().any(|name| self.bound.contains(name))
    }

    fn under(&mut self, may_be_traced: bool, visit: impl FnOnce(&mut Self)) {
        self.conditions += usize::from(may_be_traced);
        visit(self);
        self.conditions -= usize::from(may_be_traced);
    }

    fn within(&mut self, label: Option<&syn::Label>, is_loop: bool, visit: impl FnOnce(&mut Self)) {
        self.inner.push(label.map(|label| label.name.clone()));
        self.loops += usize::from(is_loop);
        visit(self);
        self.loops -= usize::from(is_loop);
        self.inner.pop();
    }

    fn jump(&mut self, leaves: bool) {
        self.jumps.any = true;
        self.jumps.outward |= leaves;
        self.jumps.masked |= self.conditions > 0;
    }

    fn is_inner(&self, label: &Lifetime) -> bool {
        self.inner.iter().flatten().any(|inner| inner == label)
    }
}

impl Visit<'_> for Finder<'_> {
    fn visit_expr_if(&mut self, node: &syn::ExprIf) {
        let is_host = node.attrs.iter().any(|attribute| attribute.path().is_ident("host"));
        let may_be_traced = !is_host && !has_pattern(&node.cond) && !self.is_host(&node.cond);
        self.visit_expr(&node.cond);
        self.under(may_be_traced, |finder| {
            finder.visit_block(&node.then_branch);
            if let Some((_, otherwise)) = &node.else_branch {
                finder.visit_expr(otherwise);
            }
        });
    }

    fn visit_expr_match(&mut self, node: &syn::ExprMatch) {
        let is_host = node.attrs.iter().any(|attribute| attribute.path().is_ident("host"));
        let is_host_expr = |expr: &Expr| self.is_host(expr);
        let may_be_traced = !is_host
            && (super::matching::is_chain(node, is_host_expr)
                || super::guarded::applies(node, self.scopes, is_host_expr));
        self.visit_expr(&node.expr);
        self.under(may_be_traced, |finder| node.arms.iter().for_each(|arm| finder.visit_arm(arm)));
    }

    fn visit_expr_while(&mut self, node: &syn::ExprWhile) {
        let may_be_traced = !has_pattern(&node.cond) && !self.is_host(&node.cond);
        self.visit_expr(&node.cond);
        self.under(may_be_traced, |finder| {
            finder.within(node.label.as_ref(), true, |finder| finder.visit_block(&node.body));
        });
    }

    fn visit_expr_for_loop(&mut self, node: &syn::ExprForLoop) {
        let may_be_traced = range::of(&node.expr).is_some() && !self.is_host(&node.expr);
        self.visit_expr(&node.expr);
        self.under(may_be_traced, |finder| {
            finder.within(node.label.as_ref(), true, |finder| finder.visit_block(&node.body));
        });
    }

    fn visit_expr_loop(&mut self, node: &syn::ExprLoop) {
        self.within(node.label.as_ref(), true, |finder| finder.visit_block(&node.body));
    }

    fn visit_expr_block(&mut self, node: &syn::ExprBlock) {
        self.within(node.label.as_ref(), false, |finder| finder.visit_block(&node.block));
    }

    fn visit_expr_break(&mut self, node: &syn::ExprBreak) {
        visit::visit_expr_break(self, node);
        let leaves = match &node.label {
            Some(label) => !self.is_inner(label),
            None => self.loops == 0,
        };
        self.jump(leaves);
    }

    fn visit_expr_continue(&mut self, node: &syn::ExprContinue) {
        let leaves = node.label.as_ref().is_some_and(|label| !self.is_inner(label) && self.own != Some(label));
        self.jump(leaves);
    }

    fn visit_expr_return(&mut self, node: &syn::ExprReturn) {
        visit::visit_expr_return(self, node);
        self.jump(true);
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
    fn visit_item(&mut self, _: &syn::Item) {}
}
