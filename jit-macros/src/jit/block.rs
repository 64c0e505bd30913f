//! Blocks and statements, and the loops and labelled blocks that remain Rust's.
//!
//! Code after a statement in which some lanes may have exited is recorded only for the other lanes.

use super::branch::{self, Live, Want};
use super::directives;
use super::exit::Control;
use super::rewrite::{Rewriter, names_in, unparenthesised};
use super::state::is_assigning;
use super::{assertion, deferred, first_value, jumps, matching, warning};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use std::collections::VecDeque;
use syn::visit_mut;
use syn::{Block, Expr, Lifetime, Local, Stmt, Type};

impl Rewriter<'_> {
    /// Rewrites a block. `tail` is set if its value is that of the function.
    ///
    /// Code after a statement in which some lanes may have exited is for the other lanes.
    pub(crate) fn block(&mut self, block: &mut Block, tail: bool) {
        self.scopes.push();
        let expected = self.expected.take();
        let mut left: VecDeque<Stmt> = std::mem::take(&mut block.stmts).into();
        while let Some(mut statement) = left.pop_front() {
            if tail && !left.is_empty() {
                statement = branch::absorb_rest(self, statement, &mut left);
            }
            statement = self.part_assignment(statement, &mut left);
            let is_last = left.is_empty();
            if is_last {
                self.expected.clone_from(&expected);
            }
            let before = self.exits.mark();
            let mentions = !is_last && jumps::in_statement(&statement, &self.scopes);
            if mentions {
                let rest = left.iter().map(ToTokens::to_token_stream).collect();
                self.mentioned_later.push((self.scopes.mark(), names_in(rest)));
            }
            let deferred = self.scopes.deferred();
            let as_written = (!deferred.is_empty()).then(|| statement.clone());
            self.statement(&mut statement, is_last, tail && is_last);
            if mentions {
                self.mentioned_later.pop();
            }
            self.expected = None;
            if let Some(as_written) = as_written {
                for (age, name) in deferred {
                    self.scopes.set_deferred(age, !first_value::surely_after(&name, &as_written));
                }
            }
            let after = match &mut statement {
                Stmt::Local(local) if local.init.is_none() && !self.host_only => deferred::declared(self, local),
                _ => Vec::new(),
            };
            block.stmts.push(statement);
            block.stmts.extend(after);
            let partly = self.partial_exits_since(before);
            if !partly.is_empty() && !is_last {
                self.rest(block, left.drain(..).collect(), partly, tail, expected.clone());
            }
        }
        self.scopes.pop();
    }

    /// Rewrites the rest of a block that some lanes do not reach.
    fn rest(&mut self, block: &mut Block, rest: Vec<Stmt>, exits: Vec<usize>, tail: bool, expected: Option<Type>) {
        let before = self.exits.mark();
        let span = self.at(rest.first().map_or(self.home, syn::spanned::Spanned::span));
        let private = self.private(span);
        let (list, jump) = (self.exit_list(&exits, span), self.exit_all(&exits, span));
        let skip = quote_spanned!(span=> if #private::all_exited(#list) { #jump; });
        block.stmts.push(Stmt::Expr(Expr::Verbatim(skip), None));
        // A variable that is first assigned in the rest is declared there.
        let mut hoisted = Vec::new();
        let start = self.scopes.start();
        let mut is_moved = false;
        block.stmts.retain(|statement| {
            if deferred::is_tied(statement) {
                return !is_moved;
            }
            if deferred::is_tie(statement) {
                return true;
            }
            is_moved = self.is_deferred_local(statement, start);
            if is_moved {
                hoisted.extend(deferred::moved(self, statement));
            }
            !is_moved
        });
        hoisted.extend(rest);
        let rest = Block { brace_token: syn::token::Brace::default(), stmts: hoisted };
        let leaves = branch::leaves(&rest);
        let has_value = match rest.stmts.last() {
            Some(Stmt::Expr(_, semicolon)) => semicolon.is_none(),
            Some(Stmt::Macro(call)) => call.semi_token.is_none(),
            _ => false,
        };
        let want = if tail || has_value { Want::Value } else { Want::Nothing };
        self.expected = expected;
        let live = Live::After(exits.clone());
        let rewritten = branch::rewrite_live(self, live, rest, want, tail, span);
        let is_closed = want == Want::Nothing;
        block.stmts.push(Stmt::Expr(rewritten, is_closed.then(|| syn::Token![;](span))));
        if is_closed && leaves {
            let mut all = exits;
            all.extend(self.exits_since(before));
            let never = self.never_reached(&all, span);
            block.stmts.push(Stmt::Expr(Expr::Verbatim(never), Some(syn::Token![;](span))));
        }
    }

    /// Generates an expression of any type for code that all lanes have exited before.
    pub(crate) fn never_reached(&mut self, exits: &[usize], span: Span) -> TokenStream {
        let private = self.private(span);
        let (list, jump) = (self.exit_list(exits, span), self.exit_all(exits, span));
        quote_spanned! {span=> {
            #[allow(unreachable_code)]
            { #private::joined(#list).traced_only(); #jump; };
        }}
    }

    fn is_deferred_local(&self, statement: &Stmt, start: usize) -> bool {
        let Stmt::Local(Local { pat, init: None, .. }) = statement else { return false };
        let names = super::scope::pattern_names(pat);
        let is_deferred =
            |name: &Ident| self.scopes.find(name).is_some_and(|(age, binding)| age >= start && binding.deferred);
        names.iter().all(|(name, ..)| is_deferred(name))
    }

    /// `x = value;` with an exit in the value becomes `let given = value; x = given;`.
    fn part_assignment(&mut self, statement: Stmt, left: &mut VecDeque<Stmt>) -> Stmt {
        let parted = match &statement {
            _ if self.host_only => None,
            Stmt::Expr(Expr::Assign(node), _) if node.attrs.is_empty() => Some(&*node.right),
            Stmt::Expr(Expr::Binary(node), _) if is_assigning(&node.op) && node.attrs.is_empty() => Some(&*node.right),
            _ => None,
        };
        let parted = parted.map(unparenthesised).filter(|value| {
            matches!(value, Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Loop(_))
                && jumps::of_expr(value, &self.scopes).masked
        });
        let Some(value) = parted.cloned() else { return statement };
        let span = self.at(syn::spanned::Spanned::span(&value));
        let name = self.helper("assigned", span);
        let mut assignment = statement;
        if let Stmt::Expr(expr, semicolon) = &mut assignment {
            let right = match expr {
                Expr::Assign(node) => &mut node.right,
                Expr::Binary(node) => &mut node.right,
                _ => return assignment,
            };
            **right = syn::parse_quote_spanned!(span=> #name);
            *semicolon = Some(syn::Token![;](span));
        }
        left.push_front(assignment);
        syn::parse_quote_spanned!(span=> let #name = #value;)
    }

    fn statement(&mut self, statement: &mut Stmt, is_last: bool, tail: bool) {
        let mut none = Vec::new();
        let attributes = match &mut *statement {
            Stmt::Local(local) => &mut local.attrs,
            Stmt::Macro(node) => &mut node.attrs,
            Stmt::Expr(expr, _) => directives::attributes_of(expr).unwrap_or(&mut none),
            Stmt::Item(_) => &mut none,
        };
        let directives = directives::take(attributes, self.sink);
        let (levels, was_allowed) = (warning::levels(attributes), self.is_allowed);
        self.is_allowed |= warning::allows(attributes);
        directives::check_place(&directives.mode, statement, self.sink);
        self.mode = directives.mode;
        let end = statement.to_token_stream().into_iter().last().map_or(self.home, |token| token.span());
        let outer = self.host_only;
        self.host_only |= directives.host;
        self.is_whole_statement = matches!(statement, Stmt::Expr(..));
        match &mut *statement {
            Stmt::Expr(expr @ Expr::If(_), semicolon) => {
                if let Expr::If(node) = std::mem::replace(expr, Expr::PLACEHOLDER) {
                    let has_value = is_last && semicolon.is_none() && node.else_branch.is_some();
                    let want = if has_value { Want::Value } else { Want::Nothing };
                    *expr = branch::rewrite(self, node, want, tail && semicolon.is_none());
                }
            }
            Stmt::Expr(Expr::Match(node), semicolon) => {
                let want = if is_last || semicolon.is_some() { Want::Value } else { Want::Nothing };
                let rewritten = matching::rewrite(self, node.clone(), want, tail && semicolon.is_none(), true);
                *statement = Stmt::Expr(rewritten, *semicolon);
            }
            Stmt::Item(_) => {}
            Stmt::Macro(node) => {
                match assertion::rewrite(self, &node.mac).or_else(|| matching::rewrite_matches(self, &node.mac)) {
                    Some(rewritten) => *statement = Stmt::Expr(rewritten, node.semi_token),
                    None => visit_mut::visit_stmt_mut(self, statement),
                }
            }
            other => visit_mut::visit_stmt_mut(self, other),
        }
        self.host_only = outer;
        self.is_allowed = was_allowed;
        if let (false, Stmt::Expr(expr @ Expr::Verbatim(_), _)) = (levels.is_empty(), &mut *statement) {
            // The rewritten code no longer has the attributes of the statement.
            let value = self.helper("value", end);
            *expr = Expr::Verbatim(match is_last {
                true => quote::quote!({ #levels let #value = #expr; #value }),
                false => quote::quote!(#levels { #expr }),
            });
        }
        if let (Some(label), Stmt::Expr(expr, _)) = (directives.label, statement) {
            let span = self.at(label.span());
            let (private, helper) = (self.private(span), self.helper("label", span));
            let labelled = self.labelled(&label, span, self.at(end));
            *expr = Expr::Verbatim(quote_spanned!(span=> { let #helper = #private::label(#labelled); #expr }));
        }
    }

    /// Rewrites a loop of Rust's, whose body runs once for each iteration while tracing. Returns the declarations that
    /// precede it.
    pub(crate) fn native_loop(&mut self, label: &mut Option<syn::Label>, body: &mut Block, span: Span) -> TokenStream {
        let span = self.at(span);
        let splits = !self.host_only
            && jumps::of_body(body, label.as_ref().map(|label| &label.name), &self.scopes).split_lanes();
        let own = self.new_loop(label.as_ref(), span);
        let why = self.exit_reason(&own);
        self.controls.push(Control::Loop(own));
        if splits {
            deferred::redeclare(self, body);
            let live = Live::InLoop(why);
            let iteration = branch::rewrite_live(self, live, body.clone(), Want::Nothing, false, span);
            body.stmts = vec![Stmt::Expr(iteration, None)];
        } else {
            self.block(body, false);
            let declare = self.declare_continue(span);
            body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(declare), None));
        }
        let Some(Control::Loop(own)) = self.controls.pop() else { return TokenStream::new() };
        *label = own.label();
        own.leaves.map(|exit| self.declare_exit(exit, span)).unwrap_or_default()
    }

    /// Declares the exit of `continue`, at the begin of the body of the innermost loop.
    pub(crate) fn declare_continue(&self, span: Span) -> TokenStream {
        let innermost = self.controls.iter().rev().find_map(|control| match control {
            Control::Loop(own) | Control::Repeat(_, own) => Some(own),
            _ => None,
        });
        let exit = innermost.and_then(|own| own.continues);
        exit.map(|exit| self.declare_exit(exit, span)).unwrap_or_default()
    }

    pub(crate) fn labelled_block(&mut self, node: &mut syn::ExprBlock, label: Lifetime) -> Option<Expr> {
        let span = self.at(label.span());
        let splits = !self.host_only && jumps::of_body(&node.block, None, &self.scopes).split_lanes();
        let given = if splits { deferred::given_by_block(self, &mut node.block, &label) } else { None };
        if given.is_some() {
            self.expected = None;
        }
        self.controls.push(Control::Block(label, None));
        self.block(&mut node.block, false);
        let exit = match self.controls.pop() {
            Some(Control::Block(_, exit)) => exit,
            _ => None,
        };
        let rewritten = exit.map(|exit| {
            let declare = self.declare_exit(exit, span);
            let name = self.exit_names(&[exit], span);
            let value = self.helper("value", span);
            Expr::Verbatim(quote_spanned! {span=> {
                #declare
                let #value = #node;
                #[allow(unreachable_code)]
                let #value = #(#name)*.or(#value);
                #value
            }})
        });
        match given {
            Some(given) => {
                let rewritten = rewritten.unwrap_or_else(|| Expr::Block(node.clone()));
                Some(given.take(self, &rewritten, span))
            }
            None => rewritten,
        }
    }

    /// Checks that no lanes exit in the middle of a statement.
    pub(crate) fn check_whole(&mut self, expr: &mut Expr, before: usize) {
        let exits = self.partial_exits_since(before);
        if !exits.is_empty() {
            let span = syn::spanned::Spanned::span(&*expr);
            self.check_goes_on(expr, &exits, span);
        }
    }
}
