//! Walks a function's body and replaces what means more on arrays than Rust lets it mean.
//!
//! This file is the walk itself: scopes, statements, and control flow that stays Rust's. What is replaced has a file for
//! each family: `operators`, `logic`, `branch`, `repeat`.

use super::branch::{self, Want};
use super::directives::{self, Directives};
use super::operators;
use super::place::Place;
use super::scope::{Scopes, identifiers, may_lend_mutably, plain_name};
use super::state::{assignment_targets, is_assigning};
use super::{logic, macros, repeat};
use crate::options::JitOptions;
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use std::collections::{HashSet, VecDeque};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, FnArg, Lifetime, LitStr, Local, Pat, ReturnType, Signature, Stmt, Type};

/// What encloses the code at hand, outermost first.
pub(crate) enum Control {
    /// A loop of Rust's.
    Loop(Option<Lifetime>),
    /// A block that `break` can leave by its label.
    Block(Lifetime),
    /// An `if` that may be traced, by the name of its guard.
    Branch(Ident),
    /// A `while` that may be traced, by the name of its guard, with its label.
    Repeat(Ident, Option<Lifetime>),
    /// A closure, which `return` and `?` do not leave.
    Closure,
}

/// The state of the walk.
pub(crate) struct Rewriter<'a> {
    pub(crate) sink: &'a Sink,
    pub(crate) scopes: Scopes,
    pub(crate) controls: Vec<Control>,
    /// For each arm of an `if` that is being walked and has another arm after it: the age of what was declared before
    /// it, and the names that the later arms mention.
    pub(crate) mentioned_later: Vec<(usize, HashSet<String>)>,
    /// The type that is wanted of the next value, where the program names it.
    pub(crate) expected: Option<Type>,
    /// Set inside of `#[host]` statements.
    host_only: bool,
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
            mentioned_later: Vec::new(),
            expected: None,
            host_only: false,
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
        self.expected = match &signature.output {
            ReturnType::Type(_, ty) => expected_type(ty),
            ReturnType::Default => None,
        };
        self.block(body, true);
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
        let prologue = quote_spanned!(span=> let __jit_function = #private::enter(#labelled); #fast_math #(#checks)*);
        body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(prologue), None));
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

    /// Whether a condition or operand surely belongs to the host.
    pub(crate) fn is_host(&self, expr: &Expr) -> bool {
        self.host_only || self.scopes.is_host(expr)
    }

    /// Rewrites a block. `tail` says that its value is the function's.
    pub(crate) fn block(&mut self, block: &mut Block, tail: bool) {
        self.scopes.push();
        let expected = self.expected.take();
        let mut left: VecDeque<Stmt> = std::mem::take(&mut block.stmts).into();
        while let Some(mut statement) = left.pop_front() {
            if tail && !left.is_empty() {
                statement = branch::absorb_rest(self, statement, &mut left);
            }
            let is_last = left.is_empty();
            if is_last {
                self.expected.clone_from(&expected);
            }
            self.statement(&mut statement, is_last, tail && is_last);
            self.expected = None;
            block.stmts.push(statement);
        }
        self.scopes.pop();
    }

    fn statement(&mut self, statement: &mut Stmt, is_last: bool, tail: bool) {
        let directives = match statement {
            Stmt::Local(local) => directives::take(&mut local.attrs, self.sink),
            Stmt::Expr(expr, _) => match directives::attributes_of(expr) {
                Some(attributes) => directives::take(attributes, self.sink),
                None => Directives::default(),
            },
            _ => Directives::default(),
        };
        let end = statement.to_token_stream().into_iter().last().map_or(self.home, |token| token.span());
        let outer = self.host_only;
        self.host_only |= directives.host;
        match &mut *statement {
            Stmt::Expr(Expr::If(node), semicolon) => {
                let has_value = is_last && semicolon.is_none() && node.else_branch.is_some();
                let want = if has_value { Want::Value } else { Want::Nothing };
                let rewritten = branch::rewrite(self, node.clone(), want, tail && semicolon.is_none());
                *statement = Stmt::Expr(rewritten, *semicolon);
            }
            Stmt::Item(_) => {}
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

    /// A variable that is moved here although a later arm of the same `if` mentions it is cloned here instead: a traced
    /// condition records both arms.
    fn share(&mut self, expr: &mut Expr) {
        let Expr::Path(path) = &*expr else { return };
        let Some(name) = path.path.get_ident() else { return };
        let Some((age, binding)) = self.scopes.find(name) else { return };
        let text = name.to_string();
        let again = self.mentioned_later.iter().any(|(mark, names)| age < *mark && names.contains(&text));
        if again && !binding.host && !binding.by_mut_ref {
            let span = self.at(name.span());
            let private = self.private(span);
            *expr = Expr::Verbatim(quote_spanned!(span=> #private::share(&#name)));
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
                self.operand_in_place(&mut node.expr);
                self.visit_pat_mut(&mut node.pat);
                self.scopes.declare_lent(&node.pat, &source, false);
            }
            other => self.visit_expr_mut(other),
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

    /// The guards of the regions between here and what is left, innermost last.
    fn regions_until(&self, leaves: impl Fn(&Control) -> bool) -> Vec<(&'static str, Ident)> {
        let mut regions = Vec::new();
        for control in self.controls.iter().rev() {
            match control {
                Control::Branch(guard) => regions.push(("if", guard.clone())),
                Control::Repeat(guard, _) => regions.push(("while", guard.clone())),
                _ => {}
            }
            if leaves(control) {
                break;
            }
        }
        regions.reverse();
        regions
    }

    /// Calls that compile only if all of the regions are the host's, standing at the token that leaves them.
    fn host_checks(&self, what: &str, regions: &[(&'static str, Ident)], span: Span) -> TokenStream {
        let span = self.at(span);
        let private = self.private(span);
        let calls = regions.iter().map(|(kind, guard)| {
            let function = Ident::new(&format!("{what}_in_{kind}"), span);
            let guard = Ident::new(&guard.to_string(), span);
            quote_spanned!(span=> #private::#function(&#guard);)
        });
        calls.collect()
    }

    fn leave(&self, expr: &mut Expr, what: &str, regions: &[(&'static str, Ident)], span: Span) {
        if !regions.is_empty() {
            let checks = self.host_checks(what, regions, span);
            let span = self.at(span);
            *expr = Expr::Verbatim(quote_spanned!(span=> { #checks #expr }));
        }
    }

    fn leave_loop(&mut self, expr: &mut Expr) {
        let (label, span, what) = match &*expr {
            Expr::Break(node) => (node.label.clone(), node.break_token.span, "break"),
            Expr::Continue(node) => (node.label.clone(), node.continue_token.span, "continue"),
            _ => return,
        };
        let regions = self.regions_until(|control| match control {
            Control::Loop(own) | Control::Repeat(_, own) => label.is_none() || label == *own,
            Control::Block(own) => label.as_ref() == Some(own),
            Control::Closure => true,
            Control::Branch(_) => false,
        });
        visit_mut::visit_expr_mut(self, expr);
        self.leave(expr, what, &regions, span);
    }

    fn leave_function(&mut self, expr: &mut Expr) {
        let Expr::Return(node) = &*expr else { return };
        let span = node.return_token.span;
        let regions = self.regions_until(|control| matches!(control, Control::Closure));
        visit_mut::visit_expr_mut(self, expr);
        self.leave(expr, "return", &regions, span);
    }

    /// `e?` keeps its form, so that temporaries live as long as they would: the checks wrap the operand.
    fn try_operator(&mut self, node: &mut syn::ExprTry) {
        self.visit_expr_mut(&mut node.expr);
        let span = self.at(node.question_token.span);
        let regions = self.regions_until(|control| matches!(control, Control::Closure));
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

    /// A loop of Rust's, whose body runs once for each iteration while tracing.
    pub(crate) fn native_loop(&mut self, label: Option<Lifetime>, body: &mut Block) {
        self.controls.push(Control::Loop(label));
        self.block(body, false);
        self.controls.pop();
    }

    fn for_loop(&mut self, node: &mut syn::ExprForLoop) {
        let host = self.scopes.is_host(&node.expr) && matches!(unparenthesised(&node.expr), Expr::Range(_));
        let source = (*node.expr).clone();
        self.visit_expr_mut(&mut node.expr);
        self.scopes.push();
        self.scopes.declare_lent(&node.pat, &source, host);
        self.native_loop(node.label.as_ref().map(|label| label.name.clone()), &mut node.body);
        self.scopes.pop();
    }

    fn arm(&mut self, arm: &mut syn::Arm, source: &Expr) {
        self.scopes.push();
        let pattern = if let Pat::Guard(guarded) = &arm.pat { &guarded.pat } else { &arm.pat };
        self.scopes.declare_lent(pattern, source, false);
        self.visit_pat_mut(&mut arm.pat);
        self.visit_expr_mut(&mut arm.body);
        self.scopes.pop();
    }

    fn closure(&mut self, closure: &mut syn::ExprClosure) {
        self.controls.push(Control::Closure);
        self.scopes.push();
        for input in &closure.inputs {
            self.scopes.declare(input, None, false, false);
        }
        self.visit_expr_mut(&mut closure.body);
        self.scopes.pop();
        self.controls.pop();
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let expected = self.expected.take();
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
            Expr::ForLoop(node) => self.for_loop(node),
            Expr::Loop(node) => self.native_loop(node.label.as_ref().map(|label| label.name.clone()), &mut node.body),
            Expr::Block(node) => {
                self.expected = expected;
                match &node.label {
                    Some(label) => {
                        self.controls.push(Control::Block(label.name.clone()));
                        self.block(&mut node.block, false);
                        self.controls.pop();
                    }
                    None => self.block(&mut node.block, false),
                }
            }
            Expr::Unsafe(node) => self.block(&mut node.block, false),
            Expr::Closure(node) => self.closure(node),
            Expr::Assign(node) => self.assignment(node),
            Expr::Break(_) | Expr::Continue(_) => self.leave_loop(expr),
            Expr::Return(_) => self.leave_function(expr),
            Expr::Try(node) => self.try_operator(node),
            Expr::Reference(node) => self.operand_in_place(&mut node.expr),
            Expr::RawAddr(node) => self.operand_in_place(&mut node.expr),
            Expr::Field(_) | Expr::Index(_) => self.operand_in_place(expr),
            Expr::MethodCall(node) => {
                let span = node.method.span();
                let shared = node.args.is_empty() && (node.method == "borrow_mut" || node.method == "lock");
                self.operand_in_place(&mut node.receiver);
                node.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
                if shared {
                    let regions = self.regions_until(|_| false);
                    self.pass_through(&mut node.receiver, "shared", &regions, span);
                }
            }
            Expr::Call(node) => {
                self.operand_in_place(&mut node.func);
                node.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
            }
            Expr::Match(node) => {
                let source = (*node.expr).clone();
                self.operand_in_place(&mut node.expr);
                node.arms.iter_mut().for_each(|arm| self.arm(arm, &source));
            }
            Expr::Paren(node) => {
                self.expected = expected;
                self.visit_expr_mut(&mut node.expr);
            }
            Expr::Repeat(node) => self.visit_expr_mut(&mut node.expr),
            Expr::Let(_) => self.host_condition(expr),
            Expr::Const(_) | Expr::Verbatim(_) => {}
            other => visit_mut::visit_expr_mut(self, other),
        }
        self.expected = None;
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let source = local.init.as_ref().map(|init| (*init.expr).clone());
        let host = match &mut local.init {
            Some(init) => {
                let host = self.scopes.is_host(&init.expr);
                self.expected = if let Pat::Type(typed) = &local.pat { expected_type(&typed.ty) } else { None };
                self.visit_expr_mut(&mut init.expr);
                if let Some((_, diverge)) = &mut init.diverge {
                    self.visit_expr_mut(diverge);
                }
                host
            }
            None => false,
        };
        let before = self.scopes.mark();
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
                Expr::Assign(named) => self.operand_in_place(&mut named.right),
                value if moves => self.visit_expr_mut(value),
                value => self.operand_in_place(value),
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

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
