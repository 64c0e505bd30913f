//! Definite assignment: whether code certainly assigns a variable, according to Rust's own analysis.
//!
//! The analysis runs on programs that the compiler has not checked yet. Its result is used only if Rust accepts the
//! program as written, so code that cannot reach its end counts as assigning the variable.

use super::macros;
use super::scope::pattern_names;
use super::state::assignment_targets;
use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Lifetime, Stmt};

/// Returns whether a variable, as a whole, is a target of an assignment.
pub(crate) fn is_assigned(name: &Ident, assign: &syn::ExprAssign) -> bool {
    let mut targets = Vec::new();
    assignment_targets(&assign.left, &mut targets);
    targets.iter().any(|place| place.base == *name && place.steps.is_empty())
}

/// Returns whether a variable has a value wherever a block reaches its end.
pub(crate) fn surely_in(name: &Ident, block: &Block) -> bool {
    for statement in &block.stmts {
        if surely_after(name, statement) {
            return true;
        }
        if declares(name, statement) {
            return false;
        }
    }
    false
}

/// Returns whether a variable has a value after a statement.
pub(crate) fn surely_after(name: &Ident, statement: &Stmt) -> bool {
    let mut surely = Surely { name, found: false };
    match statement {
        Stmt::Local(local) => local.init.iter().for_each(|init| surely.visit_expr(&init.expr)),
        Stmt::Expr(expr, _) => surely.visit_expr(expr),
        Stmt::Macro(call) => surely.visit_macro(&call.mac),
        Stmt::Item(_) => {}
    }
    surely.found
}

/// Returns whether a statement declares another variable of the same name.
fn declares(name: &Ident, statement: &Stmt) -> bool {
    matches!(statement, Stmt::Local(local) if pattern_names(&local.pat).iter().any(|(other, ..)| other == name))
}

/// Whether the jumps out of a loop or labelled block come after an assignment, and whether there are any.
pub(crate) struct Jumps {
    pub(crate) any: bool,
    pub(crate) all: bool,
}

/// Examines each `break` out of a loop or, if it is not a loop, out of a labelled block.
pub(crate) fn at_jumps(name: &Ident, body: &Block, label: Option<&Lifetime>, is_loop: bool) -> Jumps {
    let mut jumps = AtJumps { name, label, loops: usize::from(!is_loop), has_value: false, any: false, all: true };
    jumps.visit_block(body);
    Jumps { any: jumps.any, all: jumps.all }
}

/// Returns whether `break` exits the loop or block with a label; `loops` is the number of loops around it inside that
/// one.
pub(crate) fn is_own(node: &syn::ExprBreak, label: Option<&Lifetime>, loops: usize) -> bool {
    match &node.label {
        Some(other) => label == Some(other),
        None => loops == 0,
    }
}

struct Surely<'a> {
    name: &'a Ident,
    found: bool,
}

impl Surely<'_> {
    fn of(&self, expr: &Expr) -> bool {
        let mut inner = Surely { name: self.name, found: false };
        inner.visit_expr(expr);
        inner.found
    }
}

impl Visit<'_> for Surely<'_> {
    fn visit_expr_assign(&mut self, node: &syn::ExprAssign) {
        self.visit_expr(&node.right);
        self.found |= is_assigned(self.name, node);
    }

    fn visit_expr_if(&mut self, node: &syn::ExprIf) {
        let mut links = vec![node];
        let mut last = None;
        while let Some((_, otherwise)) = &links[links.len() - 1].else_branch {
            match &**otherwise {
                Expr::If(chained) => links.push(chained),
                other => {
                    last = Some(other);
                    break;
                }
            }
        }
        let mut given = last.is_some_and(|last| self.of(last));
        for link in links.into_iter().rev() {
            given = self.of(&link.cond) || (given && surely_in(self.name, &link.then_branch));
        }
        self.found |= given;
    }

    fn visit_expr_match(&mut self, node: &syn::ExprMatch) {
        let in_arms = || node.arms.iter().all(|arm| self.of(&arm.body));
        let given = self.of(&node.expr) || in_arms();
        self.found |= given;
    }

    fn visit_expr_block(&mut self, node: &syn::ExprBlock) {
        let at_end = surely_in(self.name, &node.block);
        let at_jumps = match &node.label {
            Some(label) => at_jumps(self.name, &node.block, Some(&label.name), false).all,
            None => true,
        };
        self.found |= at_end && at_jumps;
    }

    fn visit_expr_unsafe(&mut self, node: &syn::ExprUnsafe) {
        self.found |= surely_in(self.name, &node.block);
    }

    fn visit_expr_loop(&mut self, node: &syn::ExprLoop) {
        let label = node.label.as_ref().map(|label| &label.name);
        self.found |= at_jumps(self.name, &node.body, label, true).all;
    }

    fn visit_expr_while(&mut self, node: &syn::ExprWhile) {
        self.visit_expr(&node.cond);
    }

    fn visit_expr_for_loop(&mut self, node: &syn::ExprForLoop) {
        self.visit_expr(&node.expr);
    }

    fn visit_expr_binary(&mut self, node: &syn::ExprBinary) {
        self.visit_expr(&node.left);
        if !super::operators::is_logical(&node.op) {
            self.visit_expr(&node.right);
        }
    }

    fn visit_expr_break(&mut self, _: &syn::ExprBreak) {
        self.found = true;
    }

    fn visit_expr_continue(&mut self, _: &syn::ExprContinue) {
        self.found = true;
    }

    fn visit_expr_return(&mut self, _: &syn::ExprReturn) {
        self.found = true;
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.found |= macros::diverges(call);
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &syn::ExprAsync) {}
    fn visit_item(&mut self, _: &syn::Item) {}
}

struct AtJumps<'a> {
    name: &'a Ident,
    label: Option<&'a Lifetime>,
    /// The number of loops around this place; a labelled block counts as one, since `break` needs its label.
    loops: usize,
    has_value: bool,
    any: bool,
    all: bool,
}

impl AtJumps<'_> {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
    }
}

impl Visit<'_> for AtJumps<'_> {
    fn visit_block(&mut self, block: &Block) {
        let before = self.has_value;
        for statement in &block.stmts {
            self.visit_stmt(statement);
            self.has_value |= surely_after(self.name, statement);
        }
        self.has_value = before;
    }

    fn visit_expr_break(&mut self, node: &syn::ExprBreak) {
        if is_own(node, self.label, self.loops) {
            self.any = true;
            self.all &= self.has_value;
        }
    }

    fn visit_expr_while(&mut self, node: &syn::ExprWhile) {
        self.within(|jumps| visit::visit_expr_while(jumps, node));
    }

    fn visit_expr_for_loop(&mut self, node: &syn::ExprForLoop) {
        self.within(|jumps| visit::visit_expr_for_loop(jumps, node));
    }

    fn visit_expr_loop(&mut self, node: &syn::ExprLoop) {
        self.within(|jumps| visit::visit_expr_loop(jumps, node));
    }

    fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
    fn visit_item(&mut self, _: &syn::Item) {}
}
