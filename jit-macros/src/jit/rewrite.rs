//! Walks a function's body and replaces what means more on arrays than Rust lets it mean.
//!
//! This file is the walk itself: scopes, statements, and control flow that stays Rust's. What is replaced has a file for
//! each family: `operators`, `logic`, `branch`, `repeat`.

use super::assertion;
use super::branch::{self, Live, Want};
use super::directives::{self, Directives, Mode};
use super::exit::{Control, Exits, Frame, region_of};
use super::place::Place;
use super::scope::{Scopes, identifiers, may_lend_mutably, plain_name};
use super::state::{assignment_targets, is_assigning};
use super::{cast, index, jumps, logic, macros, matching, operators, range, repeat};
use crate::options::JitOptions;
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use std::collections::{HashSet, VecDeque};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, FnArg, Lifetime, LitStr, Local, Pat, ReturnType, Signature, Stmt, Type};

/// The state of the walk.
pub(crate) struct Rewriter<'a> {
    pub(crate) sink: &'a Sink,
    pub(crate) scopes: Scopes,
    pub(crate) controls: Vec<Control>,
    pub(crate) exits: Exits,
    /// For each arm of an `if` that is being walked and has another arm after it: the age of what was declared before
    /// it, and the names that the later arms mention.
    pub(crate) mentioned_later: Vec<(usize, HashSet<String>)>,
    /// The type that is wanted of the next value, where the program names it.
    pub(crate) expected: Option<Type>,
    /// Set in the value of a jump that may be traced: variables older than this are mentioned in code that is recorded later.
    pub(crate) given_since: Option<usize>,
    /// Whether nothing is left to be done of the statement after the next expression.
    is_whole_statement: bool,
    /// Set inside of `#[host]` statements.
    pub(crate) host_only: bool,
    /// How many variables were cloned, where traced, because code that is recorded later mentions them.
    pub(crate) shared: usize,
    /// Whether anything asks a value by a method whether it is traced: the traits of these methods must be in scope.
    pub(crate) uses_kinds: bool,
    /// How the loop or branch of the statement at hand is run.
    mode: Mode,
    private: TokenStream,
    home: Span,
    helpers: usize,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(options: &JitOptions, signature: &Signature, constexpr: &[bool], sink: &'a Sink) -> Self {
        let private = match &options.krate {
            Some(path) => quote::quote!(#path::__private),
            None => quote::quote!(::jit::__private),
        };
        let mut scopes = Scopes::default();
        scopes.push();
        for (argument, &constexpr) in signature.inputs.iter().zip(constexpr) {
            scopes.declare_argument(argument, constexpr);
        }
        Rewriter {
            sink,
            scopes,
            controls: Vec::new(),
            exits: Exits::default(),
            given_since: None,
            is_whole_statement: false,
            mentioned_later: Vec::new(),
            expected: None,
            host_only: false,
            shared: 0,
            uses_kinds: false,
            mode: Mode::default(),
            private,
            home: signature.ident.span(),
            helpers: 0,
        }
    }

    /// Rewrites a whole function.
    pub(crate) fn function(
        &mut self,
        options: &JitOptions,
        signature: &Signature,
        constexpr: &[bool],
        body: &mut Block,
    ) {
        let output = match &signature.output {
            ReturnType::Type(_, ty) => expected_type(ty),
            ReturnType::Default => None,
        };
        self.expected.clone_from(&output);
        self.controls.push(Control::Function(Frame { output, ..Frame::default() }));
        self.block(body, true);
        self.finish_function(body);
        let name = options.label.clone().unwrap_or_else(|| signature.ident.to_string());
        let span = signature.ident.span();
        let private = self.private(span);
        let checks =
            signature.inputs.iter().zip(constexpr).filter(|(_, marked)| **marked).filter_map(|(argument, _)| {
                let FnArg::Typed(typed) = argument else { return None };
                let Pat::Ident(pattern) = &*typed.pat else { return None };
                let (name, ty) = (&pattern.ident, &typed.ty);
                let span = syn::spanned::Spanned::span(ty);
                let private = self.private(span);
                Some(quote_spanned!(span=> #private::constexpr::<#ty>(&#name);))
            });
        let end = self.at(body.brace_token.span.close());
        let labelled = self.labelled(&LitStr::new(&name, span), span, end);
        let fast_math = options
            .fast_math
            .map(|is_on| quote_spanned!(span=> let __jit_fast_math = #private::FastMath::set(#is_on);));
        let kinds = self.uses_kinds.then(|| {
            quote_spanned! {span=>
                #[allow(unused_imports)]
                use #private::{CastsHost as _, CastsTraced as _, IndexesHost as _, IndexesTraced as _, Lend as _, MatchesHost as _, MatchesTraced as _};
            }
        });
        let prologue =
            quote_spanned!(span=> #kinds let __jit_function = #private::enter(#labelled); #fast_math #(#checks)*);
        body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(prologue), None));
    }

    /// Takes the frame of a function whose body was rewritten, and completes the body.
    fn finish_function(&mut self, body: &mut Block) {
        let Some(Control::Function(frame)) = self.controls.pop() else { return };
        if frame.exit.is_some() || !frame.witnesses.is_empty() {
            let span = self.at(body.brace_token.span.close());
            let statements = &body.stmts;
            let code = self.finish_frame(&frame, quote::quote!(#(#statements)*), span);
            body.stmts = vec![Stmt::Expr(Expr::Verbatim(code), None)];
        }
    }

    /// A piece of the program with a label, between two tokens, as a reference that lives for ever.
    fn labelled(&self, label: &LitStr, start: Span, end: Span) -> TokenStream {
        let private = self.private(start);
        let (first, last) = (quote_spanned!(start=> ::core::line!()), quote_spanned!(end=> ::core::line!()));
        quote_spanned! {start=> {
            static LABELLED: #private::Labelled = #private::Labelled::new(#label, ::core::file!(), #first, #last);
            &LABELLED
        }}
    }

    /// The path of the run-time support, standing at a span.
    pub(crate) fn private(&self, span: Span) -> TokenStream {
        let span = span.resolved_at(self.home);
        respan(self.private.clone(), span)
    }

    /// A new name for a helper variable.
    pub(crate) fn helper(&mut self, what: &str, span: Span) -> Ident {
        self.helpers += 1;
        format_ident!("__jit_{}{}", what, self.helpers, span = span.resolved_at(self.home))
    }

    /// A token's span, at which names mean what they mean in the function's own text.
    pub(crate) fn at(&self, span: Span) -> Span {
        span.resolved_at(self.home)
    }

    /// Whether the statement is marked as the host's.
    pub(crate) fn is_host_only(&self) -> bool {
        self.host_only
    }

    /// Whether a condition or operand surely belongs to the host.
    pub(crate) fn is_host(&self, expr: &Expr) -> bool {
        self.host_only || self.scopes.is_host(expr)
    }

    /// How a loop or branch is run, by its own attributes or those of its statement.
    pub(crate) fn take_mode(&mut self, own: Mode) -> Mode {
        std::mem::take(&mut self.mode).or(own)
    }

    /// Rewrites a block. `tail` says that its value is the function's.
    ///
    /// What comes after a statement that some lanes may have left in is for the others.
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
            self.statement(&mut statement, is_last, tail && is_last);
            if mentions {
                self.mentioned_later.pop();
            }
            self.expected = None;
            block.stmts.push(statement);
            let partly = self.left_partly_since(before);
            if !partly.is_empty() && !is_last {
                self.rest(block, left.drain(..).collect(), partly, tail, expected.clone());
            }
        }
        self.scopes.pop();
    }

    /// Rewrites the rest of a block, which some lanes do not reach.
    fn rest(&mut self, block: &mut Block, rest: Vec<Stmt>, exits: Vec<usize>, tail: bool, expected: Option<Type>) {
        let before = self.exits.mark();
        let span = self.at(rest.first().map_or(self.home, syn::spanned::Spanned::span));
        let private = self.private(span);
        let (list, leave) = (self.exit_list(&exits, span), self.leave_all(&exits, span));
        let skip = quote_spanned!(span=> if #private::all_left(#list) { #leave; });
        block.stmts.push(Stmt::Expr(Expr::Verbatim(skip), None));
        // A variable that gets its first value in the rest is declared there.
        let mut hoisted = Vec::new();
        let start = self.scopes.start();
        block.stmts.retain(|statement| {
            let is_deferred = self.is_deferred_local(statement, start);
            if is_deferred {
                hoisted.push(statement.clone());
            }
            !is_deferred
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
            all.extend(self.left_since(before));
            let never = self.never_reached(&all, span);
            block.stmts.push(Stmt::Expr(Expr::Verbatim(never), Some(syn::Token![;](span))));
        }
    }

    /// Stands where all lanes have left: an expression of every type.
    pub(crate) fn never_reached(&mut self, exits: &[usize], span: Span) -> TokenStream {
        let private = self.private(span);
        let (list, leave) = (self.exit_list(exits, span), self.leave_all(exits, span));
        quote_spanned! {span=> {
            #[allow(unreachable_code)]
            { #private::joined(#list).traced_only(); #leave; };
        }}
    }

    fn is_deferred_local(&self, statement: &Stmt, start: usize) -> bool {
        let Stmt::Local(Local { pat, init: None, .. }) = statement else { return false };
        let names = super::scope::pattern_names(pat);
        let is_deferred =
            |name: &Ident| self.scopes.find(name).is_some_and(|(age, binding)| age >= start && binding.deferred);
        names.iter().all(|(name, ..)| is_deferred(name))
    }

    /// `x = value;` where lanes may leave in the value is `let given = value; x = given;`.
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
        let directives = match statement {
            Stmt::Local(local) => directives::take(&mut local.attrs, self.sink),
            Stmt::Macro(node) => directives::take(&mut node.attrs, self.sink),
            Stmt::Expr(expr, _) => match directives::attributes_of(expr) {
                Some(attributes) => directives::take(attributes, self.sink),
                None => Directives::default(),
            },
            _ => Directives::default(),
        };
        directives::check_place(&directives.mode, statement, self.sink);
        self.mode = directives.mode;
        let end = statement.to_token_stream().into_iter().last().map_or(self.home, |token| token.span());
        let outer = self.host_only;
        self.host_only |= directives.host;
        self.is_whole_statement = matches!(statement, Stmt::Expr(..));
        match &mut *statement {
            Stmt::Expr(Expr::If(node), semicolon) => {
                let has_value = is_last && semicolon.is_none() && node.else_branch.is_some();
                let want = if has_value { Want::Value } else { Want::Nothing };
                let rewritten = branch::rewrite(self, node.clone(), want, tail && semicolon.is_none());
                *statement = Stmt::Expr(rewritten, *semicolon);
            }
            Stmt::Expr(Expr::Match(node), semicolon) => {
                let want = if is_last || semicolon.is_some() { Want::Value } else { Want::Nothing };
                let rewritten = matching::rewrite(self, node.clone(), want, tail && semicolon.is_none(), true);
                *statement = Stmt::Expr(rewritten, *semicolon);
            }
            Stmt::Item(_) => {}
            Stmt::Macro(node) => match assertion::rewrite(self, &node.mac) {
                Some(assertion) => *statement = Stmt::Expr(assertion, node.semi_token),
                None => visit_mut::visit_stmt_mut(self, statement),
            },
            other => visit_mut::visit_stmt_mut(self, other),
        }
        self.host_only = outer;
        if let (Some(label), Stmt::Expr(expr, _)) = (directives.label, statement) {
            let span = self.at(label.span());
            let (private, helper) = (self.private(span), self.helper("label", span));
            let labelled = self.labelled(&label, span, self.at(end));
            *expr = Expr::Verbatim(quote_spanned!(span=> { let #helper = #private::label(#labelled); #expr }));
        }
    }

    /// Rewrites an expression whose own value stays where it is: the operand of an operator, a receiver, a base.
    pub(crate) fn operand_in_place(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Path(_) => {}
            Expr::Paren(inner) => self.operand_in_place(&mut inner.expr),
            Expr::Group(inner) => self.operand_in_place(&mut inner.expr),
            Expr::Field(field) => self.operand_in_place(&mut field.base),
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => self.operand_in_place(&mut unary.expr),
            Expr::Index(index) => {
                self.operand_in_place(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
            }
            other => self.visit_expr_mut(other),
        }
    }

    /// Rewrites the source of a pattern, which may bind parts of a place.
    fn source(&mut self, expr: &mut Expr) {
        match unparenthesised(expr) {
            Expr::Index(_) => self.operand_in_place(expr),
            _ => self.visit_expr_mut(expr),
        }
    }

    /// Rewrites an argument that a macro of Rust's borrows.
    fn lent(&mut self, expr: &mut Expr) {
        match index::peek(self, expr) {
            Some(place) => *expr = Expr::Verbatim(place),
            None => self.operand_in_place(expr),
        }
    }

    /// A variable that is moved here although a later arm of the same `if` mentions it is cloned here instead: a traced
    /// condition records both arms.
    fn share(&mut self, expr: &mut Expr) {
        let Expr::Path(path) = &*expr else { return };
        let Some(name) = path.path.get_ident() else { return };
        let Some((age, binding)) = self.scopes.find(name) else { return };
        let text = name.to_string();
        let again = self.mentioned_later.iter().any(|(mark, names)| age < *mark && names.contains(&text))
            || self.given_since.is_some_and(|mark| age < mark);
        if again && !binding.host && !binding.by_mut_ref {
            let span = self.at(name.span());
            let (private, value) = (self.private(span), name.clone());
            let guards: Vec<Ident> = self.guards();
            if guards.is_empty() {
                return;
            }
            let guards = guards.iter().map(|guard| Ident::new(&guard.to_string(), span));
            let guards = super::exit::list(guards, span);
            self.shared += 1;
            let (world, shared) = (self.helper("world", span), self.helper("shared", span));
            *expr = Expr::Verbatim(quote_spanned! {span=> {
                let #world = #private::joined(#guards);
                #[allow(unreachable_code)]
                let #shared = if #world.is_host() { #world.host_only(); #value } else { #world.traced_only(); #world.share(&#value) };
                #shared
            }});
        }
    }

    /// Rewrites a condition that may contain `let` patterns, whose variables stay declared.
    pub(crate) fn host_condition(&mut self, condition: &mut Expr) {
        match condition {
            Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
                self.host_condition(&mut binary.left);
                self.host_condition(&mut binary.right);
            }
            Expr::Let(node) => {
                let source = (*node.expr).clone();
                let is_host = self.is_host(&node.expr);
                self.operand_in_place(&mut node.expr);
                if !is_host && matching::tests_literal(&node.pat) {
                    matching::decide(self, &mut node.expr);
                }
                self.visit_pat_mut(&mut node.pat);
                self.scopes.declare_lent(&node.pat, &source, false);
            }
            other if self.is_host(other) => self.visit_expr_mut(other),
            other => {
                let span = self.at(syn::spanned::Spanned::span(other));
                self.visit_expr_mut(other);
                let private = self.private(span);
                *other = Expr::Verbatim(quote_spanned!(span=> #private::decided(#other)));
            }
        }
    }

    fn assignment(&mut self, assign: &mut syn::ExprAssign) {
        let mut targets = Vec::new();
        assignment_targets(&assign.left, &mut targets);
        let right = operators::repeated_names(&assign.right);
        self.visit_expr_mut(&mut assign.right);
        if let (Expr::Tuple(_), Expr::Tuple(values)) = (&*assign.left, &mut *assign.right) {
            operators::clone_repeated(self, values, &right, &targets);
        }
        self.assigned_to(&mut assign.left);
        for target in targets.iter().filter(|target| target.steps.is_empty()) {
            self.scopes.initialise(&target.base);
        }
    }

    /// The left side of an assignment: only what is computed to find the place is rewritten.
    fn assigned_to(&mut self, left: &mut Expr) {
        match left {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|element| self.assigned_to(element)),
            Expr::Array(array) => array.elems.iter_mut().for_each(|element| self.assigned_to(element)),
            Expr::Call(_) | Expr::Struct(_) | Expr::Infer(_) => {}
            place => self.operand_in_place(place),
        }
    }

    /// The guards of the regions around here, innermost last, up to the function or closure or to the very first.
    fn regions(&self, in_closures: bool) -> Vec<(&'static str, Ident)> {
        let controls = self.controls.iter().rev();
        let inner = controls.take_while(|control| in_closures || !matches!(control, Control::Function(_)));
        let mut regions: Vec<(&'static str, Ident)> = inner
            .filter_map(|control| {
                let kind = if matches!(control, Control::Repeat(..)) { "while" } else { "if" };
                region_of(control).map(|region| (kind, region.guard.clone()))
            })
            .collect();
        regions.reverse();
        regions
    }

    /// `e?` keeps its form, so that temporaries live as long as they would: the checks wrap the operand.
    fn try_operator(&mut self, node: &mut syn::ExprTry) {
        self.visit_expr_mut(&mut node.expr);
        let span = self.at(node.question_token.span);
        let regions = self.regions(false);
        self.pass_through(&mut node.expr, "try", &regions, span);
    }

    /// Wraps an expression in calls that give it back, and that compile only if all of the regions are the host's.
    fn pass_through(&self, expr: &mut Expr, what: &str, regions: &[(&'static str, Ident)], span: Span) {
        let span = self.at(span);
        for (kind, guard) in regions.iter().rev() {
            let function = Ident::new(&format!("{what}_in_{kind}"), span);
            let guard = Ident::new(&guard.to_string(), span);
            let private = self.private(span);
            let reference = (what == "shared").then(|| quote_spanned!(span=> &));
            *expr = Expr::Verbatim(quote_spanned!(span=> #private::#function(&#guard, #reference #expr)));
        }
    }

    /// A loop of Rust's, whose body runs once for each iteration while tracing. Gives what must be declared before it.
    pub(crate) fn native_loop(&mut self, label: &mut Option<syn::Label>, body: &mut Block, span: Span) -> TokenStream {
        let span = self.at(span);
        let splits = !self.host_only
            && jumps::of_body(body, label.as_ref().map(|label| &label.name), &self.scopes).split_lanes();
        let own = self.new_loop(label.as_ref(), span);
        let why = self.left_in(&own);
        self.controls.push(Control::Loop(own));
        if splits {
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

    fn labelled_block(&mut self, node: &mut syn::ExprBlock, label: Lifetime) -> Option<Expr> {
        let span = self.at(label.span());
        self.controls.push(Control::Block(label, None));
        self.block(&mut node.block, false);
        let Some(Control::Block(_, Some(exit))) = self.controls.pop() else { return None };
        let declare = self.declare_exit(exit, span);
        let name = self.exit_names(&[exit], span);
        let value = self.helper("value", span);
        Some(Expr::Verbatim(quote_spanned! {span=> {
            #declare
            let #value = #node;
            #[allow(unreachable_code)]
            let #value = #(#name)*.or(#value);
            #value
        }}))
    }

    /// Checks that no lanes leave in the middle of a statement.
    fn check_whole(&mut self, expr: &mut Expr, before: usize) {
        let exits = self.left_partly_since(before);
        if !exits.is_empty() {
            let span = syn::spanned::Spanned::span(&*expr);
            self.check_goes_on(expr, &exits, span);
        }
    }

    /// The arms of a `match` that stays Rust's.
    pub(crate) fn arms(&mut self, node: &mut syn::ExprMatch, source: &Expr, is_whole: bool) {
        self.expected = None;
        node.arms.iter_mut().for_each(|arm| self.arm(arm, source, is_whole));
    }

    fn arm(&mut self, arm: &mut syn::Arm, source: &Expr, is_whole: bool) {
        self.scopes.push();
        let pattern = if let Pat::Guard(guarded) = &arm.pat { &guarded.pat } else { &arm.pat };
        self.scopes.declare_lent(pattern, source, false);
        self.visit_pat_mut(&mut arm.pat);
        self.is_whole_statement = is_whole;
        self.visit_expr_mut(&mut arm.body);
        self.scopes.pop();
    }

    fn closure(&mut self, closure: &mut syn::ExprClosure) {
        let output = match &closure.output {
            ReturnType::Type(_, ty) => expected_type(ty),
            ReturnType::Default => None,
        };
        self.controls.push(Control::Function(Frame { output, ..Frame::default() }));
        self.scopes.push();
        for input in &closure.inputs {
            self.scopes.declare(input, None, false, false);
        }
        let outer = self.given_since.take();
        self.is_whole_statement = true;
        self.visit_expr_mut(&mut closure.body);
        self.given_since = outer;
        self.scopes.pop();
        let Some(Control::Function(frame)) = self.controls.pop() else { return };
        if frame.exit.is_some() || !frame.witnesses.is_empty() {
            let span = self.at(syn::spanned::Spanned::span(&closure.body));
            let body = self.finish_frame(&frame, closure.body.to_token_stream(), span);
            *closure.body = Expr::Verbatim(quote_spanned!(span=> { #body }));
        }
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let expected = self.expected.take();
        let is_whole = std::mem::take(&mut self.is_whole_statement);
        let before = self.exits.mark();
        let is_structure = matches!(
            expr,
            Expr::If(_)
                | Expr::Match(_)
                | Expr::Block(_)
                | Expr::Unsafe(_)
                | Expr::Loop(_)
                | Expr::While(_)
                | Expr::ForLoop(_)
        );
        if index::assign(self, expr) {
            return;
        }
        match expr {
            Expr::Path(_) => self.share(expr),
            Expr::Binary(node) if operators::is_logical(&node.op) => logic::rewrite(self, expr),
            Expr::Binary(node) if is_assigning(&node.op) => operators::assigning(self, node),
            Expr::Binary(_) => operators::binary(self, expr),
            Expr::Unary(_) => operators::unary(self, expr),
            Expr::If(node) => {
                self.expected = expected;
                let want = if node.else_branch.is_some() { Want::Value } else { Want::Nothing };
                *expr = branch::rewrite(self, node.clone(), want, false);
            }
            Expr::While(node) => *expr = repeat::rewrite(self, node.clone()),
            Expr::ForLoop(node) => *expr = range::rewrite(self, node.clone()),
            Expr::Loop(node) => *expr = repeat::rewrite_endless(self, node.clone()),
            Expr::Block(node) => {
                self.expected = expected;
                match node.label.as_ref().map(|label| label.name.clone()) {
                    Some(label) => {
                        if let Some(rewritten) = self.labelled_block(node, label) {
                            *expr = rewritten;
                        }
                    }
                    None => self.block(&mut node.block, false),
                }
            }
            Expr::Unsafe(node) => self.block(&mut node.block, false),
            Expr::Macro(node) => match assertion::rewrite(self, &node.mac) {
                Some(assertion) => *expr = assertion,
                None => self.visit_macro_mut(&mut node.mac),
            },
            Expr::Closure(node) => self.closure(node),
            Expr::Assign(node) => self.assignment(node),
            Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) => self.jump(expr),
            Expr::Try(node) => self.try_operator(node),
            Expr::Reference(node) => self.operand_in_place(&mut node.expr),
            Expr::RawAddr(node) => self.operand_in_place(&mut node.expr),
            Expr::Field(_) => self.operand_in_place(expr),
            Expr::Index(_) => index::read(self, expr),
            Expr::Cast(_) => cast::rewrite(self, expr),
            Expr::MethodCall(node) => {
                let span = node.method.span();
                let shared = node.args.is_empty() && (node.method == "borrow_mut" || node.method == "lock");
                self.operand_in_place(&mut node.receiver);
                node.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
                if shared {
                    let regions = self.regions(true);
                    self.pass_through(&mut node.receiver, "shared", &regions, span);
                }
            }
            Expr::Call(node) => {
                self.operand_in_place(&mut node.func);
                node.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            Expr::Match(node) => {
                self.expected = expected;
                *expr = matching::rewrite(self, node.clone(), Want::Value, false, is_whole);
            }
            Expr::Paren(node) => {
                self.expected = expected;
                self.is_whole_statement = is_whole;
                self.visit_expr_mut(&mut node.expr);
            }
            Expr::Repeat(node) => self.visit_expr_mut(&mut node.expr),
            Expr::Struct(node) => {
                node.fields.iter_mut().for_each(|field| self.visit_field_value_mut(field));
                node.rest.iter_mut().for_each(|rest| self.source(rest));
            }
            Expr::Let(_) => self.host_condition(expr),
            Expr::Const(_) | Expr::Verbatim(_) => {}
            _ => visit_mut::visit_expr_mut(self, expr),
        }
        if is_structure && !is_whole {
            self.check_whole(expr, before);
        }
        self.expected = None;
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let source = local.init.as_ref().map(|init| (*init.expr).clone());
        let host = match &mut local.init {
            Some(init) => {
                let host = self.scopes.is_host(&init.expr);
                self.expected = if let Pat::Type(typed) = &local.pat { expected_type(&typed.ty) } else { None };
                let is_whole = init.diverge.is_none();
                self.is_whole_statement = is_whole;
                if index::binds_by_value(&local.pat) {
                    self.visit_expr_mut(&mut init.expr);
                } else {
                    self.source(&mut init.expr);
                }
                self.is_whole_statement = true;
                if let Some((_, diverge)) = &mut init.diverge {
                    self.visit_expr_mut(diverge);
                }
                host
            }
            None => false,
        };
        let before = self.scopes.mark();
        let lends = source.as_ref().is_some_and(may_lend_mutably);
        if let (Some(source), Some(name)) = (&source, plain_name(&mut local.pat))
            && may_lend_mutably(source)
        {
            // The call may return a reference through which a method changes what it was given: as good as a `let mut`.
            name.mutability = Some(syn::Token![mut](name.ident.span()));
            local.attrs.push(syn::parse_quote!(#[allow(unused_mut)]));
        }
        match &source {
            Some(source) => self.scopes.declare_lent(&local.pat, source, host),
            None => {
                self.scopes.declare(&local.pat, None, false, false);
                self.scopes.defer(before);
            }
        }
        if lends {
            self.scopes.lend(before);
        }
    }

    fn visit_pat_mut(&mut self, pattern: &mut Pat) {
        if let Pat::Guard(guarded) = pattern {
            self.host_condition(&mut guarded.guard);
        }
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        self.visit_expr_mut(&mut field.expr);
        if field.colon_token.is_none() && matches!(field.expr, Expr::Verbatim(_)) {
            field.colon_token = Some(syn::Token![:](self.home));
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let Some(mut arguments) = macros::arguments(call) else { return };
        let moves = call.path.is_ident("vec") || call.path.is_ident("dbg");
        for argument in &mut arguments {
            match argument {
                // `name = value` of a format string.
                Expr::Assign(named) => self.lent(&mut named.right),
                value if moves => self.visit_expr_mut(value),
                value => self.lent(value),
            }
        }
        macros::replace_arguments(call, &arguments);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_path_mut(&mut self, _: &mut syn::Path) {}
    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut syn::AngleBracketedGenericArguments) {}
}

/// The type, if a value can be declared with it.
fn expected_type(ty: &Type) -> Option<Type> {
    let mut names = Vec::new();
    identifiers(ty.to_token_stream(), &mut names);
    let nameable = !names.iter().any(|name| name == "impl") && !matches!(ty, Type::Infer(_) | Type::Never(_));
    nameable.then(|| ty.clone())
}

/// The expression inside of parentheses.
pub(crate) fn unparenthesised(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unparenthesised(&inner.expr),
        Expr::Group(inner) => unparenthesised(&inner.expr),
        other => other,
    }
}

/// Places that stand at the state's first change in a region.
pub(crate) fn state_tokens(rewriter: &Rewriter<'_>, state: &[Place]) -> Vec<(String, TokenStream, Span)> {
    state
        .iter()
        .map(|place| {
            let span = rewriter.at(place.span);
            (place.name(), place.tokens(span), span)
        })
        .collect()
}

/// Puts statements before an expression.
pub(crate) fn prepend(expr: &mut Expr, statements: &TokenStream) {
    if !statements.is_empty() {
        *expr = Expr::Verbatim(quote::quote!({ #statements #expr }));
    }
}

/// The names that some code mentions.
pub(crate) fn names_in(code: TokenStream) -> HashSet<String> {
    let mut names = Vec::new();
    identifiers(code, &mut names);
    names.into_iter().map(|name| name.to_string()).collect()
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
