//! Which variables a region may move, by the form of their uses.

use super::matching::of_matches;
use super::place::Place;
use super::scope::identifiers;
use super::state::reads_only;
use proc_macro2::Ident;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Macro, Stmt};

/// Returns whether blocks may move a variable or a part of it. A method that is called for its effect moves nothing.
pub(crate) fn may_move(name: &Ident, blocks: &[&Block]) -> bool {
    blocks.iter().any(|block| may_be_moved(block).contains(name))
}

/// Returns the names of the variables that a block may move, as a whole or in part.
pub(crate) fn may_be_moved(block: &Block) -> HashSet<Ident> {
    let mut moves = Moves::default();
    moves.visit_block(block);
    moves.found
}

/// Returns whether the name of a method shows that it borrows its receiver: `as_mut`, `get_mut`.
fn lends(method: &Ident) -> bool {
    method.to_string().split('_').any(|word| word == "mut")
}

#[derive(Default)]
struct Moves {
    found: HashSet<Ident>,
}

impl Moves {
    /// Visits an expression that is not moved if it is a place.
    fn stays(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(_) => {}
            Expr::Field(field) => self.stays(&field.base),
            Expr::Index(index) => {
                self.stays(&index.expr);
                self.visit_expr(&index.index);
            }
            Expr::Paren(inner) => self.stays(&inner.expr),
            Expr::Unary(unary) => self.stays(&unary.expr),
            other => self.visit_expr(other),
        }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) {
        self.stays(&call.receiver);
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }
}

impl Visit<'_> for Moves {
    fn visit_item(&mut self, _: &syn::Item) {}

    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Expr(Expr::MethodCall(call), Some(_)) => self.method(call),
            other => visit::visit_stmt(self, other),
        }
    }

    fn visit_expr_if(&mut self, node: &syn::ExprIf) {
        self.visit_expr(&node.cond);
        match &node.then_branch.stmts[..] {
            [statements @ .., Stmt::Expr(Expr::MethodCall(call), None)] if node.else_branch.is_none() => {
                statements.iter().for_each(|statement| self.visit_stmt(statement));
                self.method(call);
            }
            _ => self.visit_block(&node.then_branch),
        }
        node.else_branch.iter().for_each(|(_, otherwise)| self.visit_expr(otherwise));
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(path) => self.found.extend(path.path.get_ident().cloned()),
            Expr::Field(_) => {
                self.found.extend(Place::of(expr).map(|place| place.base));
                self.stays(expr);
            }
            Expr::Index(_) | Expr::Unary(_) => self.stays(expr),
            Expr::Reference(reference) => self.stays(&reference.expr),
            Expr::Binary(binary) => {
                self.stays(&binary.left);
                self.stays(&binary.right);
            }
            Expr::Assign(assign) => {
                self.stays(&assign.left);
                self.visit_expr(&assign.right);
            }
            Expr::MethodCall(call) if reads_only(&call.method) || lends(&call.method) => self.method(call),
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_macro(&mut self, call: &Macro) {
        if let Some(node) = of_matches(call) {
            return self.stays(&node.expr);
        }
        match super::macros::arguments(call) {
            Some(arguments) => arguments.iter().for_each(|argument| self.stays(argument)),
            None => {
                let mut names = Vec::new();
                identifiers(call.tokens.clone(), &mut names);
                self.found.extend(names);
            }
        }
    }
}
