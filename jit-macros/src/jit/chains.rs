//! Long chains of `else if`, and long runs of `if`s: the nesting of the generated code must not grow with their length.
//!
//! ```text
//! if c1 { A1 } else if c2 { A2 } … else { Z }
//!   →   'first: {
//!           if c1 { break 'first A1; } else if c2 { break 'first A2; } …
//!           'second: {
//!               if c17 { break 'second A17; } …
//!               Z
//!           }
//!       }
//! ```
//! The jumps are Rust's if the conditions are host values. Otherwise the code after a group is for the lanes that have
//! met none of its conditions. So the nesting of the generated code is the number of groups, and the compiler knows the
//! stage of a group's jumps at its end. Code after an `if` whose arm jumps is nested in it, too: a run of them becomes
//! a tree of blocks. This pass comes first, and is not recursive along a chain.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprBlock, ExprIf, Label, Lifetime, Stmt};

use super::branch::leaves;

/// A chain or run of more `if`s is divided.
const LONG: usize = 64;

/// The number of `if`s in a group of a chain. The compiler's time for a group grows with the square of its size.
const GROUP: usize = 16;

/// The maximum number of groups, since they are nested: a very long chain has larger groups.
const GROUPS: usize = 64;

/// The number of statements of a run in one block.
const RUN: usize = 8;

/// Divides long chains and runs in the body of a function.
pub(crate) fn divide(body: &mut Block, home: Span) {
    Divider { home, chains: 0 }.visit_block_mut(body);
}

/// Returns whether a label is that of a divided chain.
pub(crate) fn is_chain(label: &Lifetime) -> bool {
    label.ident.to_string().starts_with("__jit_chain")
}

struct Divider {
    home: Span,
    chains: usize,
}

/// An arm of a chain with its condition.
type Link = (ExprIf, Option<syn::Token![else]>);

impl VisitMut for Divider {
    fn visit_block_mut(&mut self, block: &mut Block) {
        visit_mut::visit_block_mut(self, block);
        divide_runs(block);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if !matches!(expr, Expr::If(_)) {
            return visit_mut::visit_expr_mut(self, expr);
        }
        let Expr::If(node) = std::mem::replace(expr, Expr::PLACEHOLDER) else { return };
        let (mut links, mut last) = unlinked(node);
        for (link, _) in &mut links {
            self.visit_expr_mut(&mut link.cond);
            self.visit_block_mut(&mut link.then_branch);
        }
        last.iter_mut().for_each(|last| self.visit_expr_mut(last));
        *expr = match links.len() > LONG && links[0].0.attrs.is_empty() {
            true => self.divided(links, last),
            false => linked(links, last),
        };
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

impl Divider {
    /// Makes nested blocks of a chain; the first contains all others.
    fn divided(&mut self, mut links: Vec<Link>, last: Option<Expr>) -> Expr {
        let (has_value, size) = (last.is_some(), GROUP.max(links.len().div_ceil(GROUPS)));
        let mut rest = last;
        while !links.is_empty() {
            let group = links.split_off((links.len() - 1) / size * size);
            rest = Some(self.block(group, rest, has_value));
        }
        rest.unwrap_or(Expr::PLACEHOLDER)
    }

    fn block(&mut self, mut group: Vec<Link>, rest: Option<Expr>, has_value: bool) -> Expr {
        self.chains += 1;
        let span = group[0].0.if_token.span.resolved_at(self.home);
        let name: Ident = format_ident!("__jit_chain{}", self.chains, span = span);
        let label = Lifetime::new(&format!("'{name}"), span);
        let mut is_used = false;
        for (at, (link, _)) in group.iter_mut().enumerate().filter(|(_, (link, _))| !leaves(&link.then_branch)) {
            jump_at_end(&mut link.then_branch, &label, &name, at, has_value);
            is_used = true;
        }
        let mut stmts = vec![Stmt::Expr(linked(group, None), None)];
        match rest {
            Some(Expr::Block(block)) if block.label.is_none() && block.attrs.is_empty() => {
                stmts.extend(block.block.stmts)
            }
            Some(rest) => stmts.push(Stmt::Expr(rest, None)),
            None => {}
        }
        let block = Block { brace_token: syn::token::Brace(span), stmts };
        let label = is_used.then(|| Label { colon_token: syn::Token![:](span), name: label });
        Expr::Block(ExprBlock { attrs: Vec::new(), label, block })
    }
}

/// Makes an arm that does not exit jump to the end of its chain with its value.
fn jump_at_end(arm: &mut Block, label: &Lifetime, name: &Ident, at: usize, has_value: bool) {
    let tail = match arm.stmts.last() {
        Some(Stmt::Expr(_, None)) => arm.stmts.pop(),
        Some(Stmt::Macro(call)) if call.semi_token.is_none() => arm.stmts.pop(),
        _ => None,
    };
    let jump: Stmt = match tail {
        None => syn::parse_quote!(break #label;),
        Some(tail) if !has_value => {
            arm.stmts.push(tail);
            syn::parse_quote!(break #label;)
        }
        // Lanes may exit in a separate statement, not in the middle of one.
        Some(Stmt::Expr(value @ (Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Loop(_)), None)) => {
            let given = format_ident!("{}_{}", name, at);
            arm.stmts.push(syn::parse_quote!(let #given = #value;));
            syn::parse_quote!(break #label #given;)
        }
        Some(tail) => syn::parse_quote!(break #label #tail;),
    };
    arm.stmts.push(jump);
}

/// Splits a chain into its arms; also returns the content of its last `else`.
fn unlinked(node: ExprIf) -> (Vec<Link>, Option<Expr>) {
    let mut links = Vec::new();
    let mut next = node;
    loop {
        let otherwise = next.else_branch.take();
        let (token, rest) = otherwise.unzip();
        links.push((next, token));
        match rest.map(|rest| *rest) {
            Some(Expr::If(chained)) => next = chained,
            last => return (links, last),
        }
    }
}

/// Joins the arms of a chain.
fn linked(links: Vec<Link>, last: Option<Expr>) -> Expr {
    let mut rest = last;
    for (mut link, token) in links.into_iter().rev() {
        link.else_branch = rest.map(|rest| (token.unwrap_or_default(), Box::new(rest)));
        rest = Some(Expr::If(link));
    }
    rest.unwrap_or(Expr::PLACEHOLDER)
}

/// Arranges statements in a tree of blocks, each of which holds two, or a few of them.
fn balanced(mut stmts: Vec<Stmt>, few: usize) -> Vec<Stmt> {
    if stmts.len() <= few.max(2) {
        return stmts;
    }
    let right = stmts.split_off(stmts.len() / 2);
    let half = |stmts| {
        let block = Block { brace_token: syn::token::Brace::default(), stmts: balanced(stmts, few) };
        Stmt::Expr(Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block }), None)
    };
    vec![half(stmts), half(right)]
}

/// Arranges long runs of `if`s whose values are unused in trees of blocks.
fn divide_runs(block: &mut Block) {
    if block.stmts.len() <= LONG {
        return;
    }
    let count = block.stmts.len();
    let mut run = Vec::new();
    let mut divided = Vec::new();
    for (at, statement) in std::mem::take(&mut block.stmts).into_iter().enumerate() {
        match &statement {
            Stmt::Expr(Expr::If(_), semicolon) if semicolon.is_some() || at + 1 < count => run.push(statement),
            _ => {
                close_run(&mut run, &mut divided);
                divided.push(statement);
            }
        }
    }
    close_run(&mut run, &mut divided);
    block.stmts = divided;
}

fn close_run(run: &mut Vec<Stmt>, divided: &mut Vec<Stmt>) {
    let run = std::mem::take(run);
    divided.extend(if run.len() > LONG { balanced(run, RUN) } else { run });
}
