//! Expressions: dispatch to the modules that rewrite them.

use super::branch::{self, Want};
use super::exit::{Control, Frame, region_of};
use super::lent::Lent;
use super::rewrite::{Rewriter, expected_type, unparenthesised};
use super::scope::{may_lend_mutably, plain_name, ungrouped};
use super::state::{assignment_targets, is_assigning};
use super::{assertion, cast, index, logic, macros, matching, operators, patterns, range, repeat, warning};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Local, Pat, ReturnType, Type};

impl Rewriter<'_> {
    /// Rewrites an expression whose value stays in place: the operand of an operator, a receiver, a base.
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
            Expr::Index(_) | Expr::Field(_) => self.operand_in_place(expr),
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

    /// Clones a variable, or a field of one, that is moved here although a later arm of the same `if` mentions the
    /// variable: a traced condition records both arms.
    fn share(&mut self, expr: &mut Expr) {
        let Some(name) = moved_variable(expr) else { return };
        let Some((age, binding)) = self.scopes.find(name) else { return };
        let text = name.to_string();
        let again = self.mentioned_later.iter().any(|(mark, names)| age < *mark && names.contains(&text))
            || self.given_since.is_some_and(|mark| age < mark);
        // A field behind a reference cannot move.
        let is_behind = matches!(expr, Expr::Field(_)) && binding.ty.as_ref().is_some_and(is_reference);
        if !again || binding.is_copied() || is_behind || binding.by_mut_ref {
            return;
        }
        let span = self.at(name.span());
        let guards: Vec<Ident> = self.guards();
        if guards.is_empty() {
            return;
        }
        let guards: Vec<Ident> = guards.iter().map(|guard| Ident::new(&guard.to_string(), span)).collect();
        let (private, guards) = (self.private(span), self.stages(&guards, span));
        self.shared += 1;
        let (stage, value) = (self.helper("stage", span), &*expr);
        // The moved value is the end of the block, so that a `&mut` reference is lent again there as it was before.
        *expr = Expr::Verbatim(quote_spanned! {span=> {
            let #stage = #private::joined(#guards);
            #[allow(unreachable_code)]
            if #stage.is_host() { #stage.host_only(); #value } else { #stage.traced_only(); #stage.share(&#value) }
        }});
    }

    /// Rewrites a condition that may contain `let` patterns, whose variables stay declared.
    pub(crate) fn host_condition(&mut self, condition: &mut Expr) {
        match condition {
            Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
                self.host_condition(&mut binary.left);
                self.host_condition(&mut binary.right);
            }
            Expr::Let(node) => {
                let lent = Lent::by(&node.expr, &self.scopes);
                let is_host = self.is_host(&node.expr);
                self.operand_in_place(&mut node.expr);
                if !is_host && patterns::tests_value(&node.pat) {
                    matching::decide(self, &mut node.expr);
                }
                self.visit_pat_mut(&mut node.pat);
                self.scopes.declare_lent(&node.pat, &lent, false);
            }
            other if self.is_host(other) => self.visit_expr_mut(other),
            other => {
                let span = self.at(syn::spanned::Spanned::span(other));
                self.visit_expr_mut(other);
                let private = self.private(span);
                let decided = unparenthesised(other).clone();
                *other = Expr::Verbatim(quote_spanned!(span=> #private::Decided::decided(#decided)));
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

    /// Rewrites the left side of an assignment: only the expressions that compute the place.
    fn assigned_to(&mut self, left: &mut Expr) {
        match left {
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|element| self.assigned_to(element)),
            Expr::Array(array) => array.elems.iter_mut().for_each(|element| self.assigned_to(element)),
            Expr::Call(_) | Expr::Struct(_) | Expr::Infer(_) => {}
            place => self.operand_in_place(place),
        }
    }

    /// Returns the guards of the regions around this place, innermost last, up to the function or closure or to the
    /// outermost.
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

    /// `e?` keeps its form, so that the lifetimes of temporaries do not change: the checks wrap the operand.
    fn try_operator(&mut self, node: &mut syn::ExprTry) {
        self.visit_expr_mut(&mut node.expr);
        let span = self.at(node.question_token.span);
        let regions = self.regions(false);
        self.pass_through(&mut node.expr, "Try", &regions, span);
    }

    /// Wraps an expression in identity calls that compile only if all of the regions are the host's.
    fn pass_through(&self, expr: &mut Expr, what: &str, regions: &[(&'static str, Ident)], span: Span) {
        let span = self.at(span);
        for (kind, guard) in regions.iter().rev() {
            let family = if *kind == "if" { format!("{what}InIf") } else { format!("{what}InWhile") };
            let family = Ident::new(&family, span);
            let guard = Ident::new(&guard.to_string(), span);
            let private = self.private(span);
            let reference = (what == "Shared").then(|| quote_spanned!(span=> &));
            *expr = Expr::Verbatim(quote_spanned!(span=> #private::#family::pass(&#guard, #reference #expr)));
        }
    }

    /// Rewrites the arms of a `match` that remains Rust's.
    pub(crate) fn arms(&mut self, node: &mut syn::ExprMatch, lent: &Lent, is_whole: bool) {
        self.expected = None;
        node.arms.iter_mut().for_each(|arm| self.arm(arm, lent, is_whole));
    }

    fn arm(&mut self, arm: &mut syn::Arm, lent: &Lent, is_whole: bool) {
        self.scopes.push();
        let pattern = if let Pat::Guard(guarded) = &arm.pat { &guarded.pat } else { &arm.pat };
        self.scopes.declare_lent(pattern, lent, false);
        self.visit_pat_mut(&mut arm.pat);
        self.is_whole_statement = is_whole;
        let deferred = self.scopes.deferred();
        self.visit_expr_mut(&mut arm.body);
        self.scopes.defer_again(&deferred);
        self.scopes.pop();
    }

    fn closure(&mut self, closure: &mut syn::ExprClosure) {
        let output = match &closure.output {
            ReturnType::Type(_, ty) => expected_type(ty),
            ReturnType::Default => None,
        };
        let lent = std::mem::replace(&mut self.closure_lent, Lent::Nothing);
        self.controls.push(Control::Function(Frame { output, ..Frame::default() }));
        self.scopes.push();
        let last = closure.inputs.len().saturating_sub(1);
        for (at, input) in closure.inputs.iter().enumerate() {
            let lent = if at == last { &lent } else { &Lent::Nothing };
            self.scopes.declare_lent(input, lent, false);
        }
        let outer = self.given_since.take();
        self.is_whole_statement = true;
        let deferred = self.scopes.deferred();
        self.visit_expr_mut(&mut closure.body);
        self.scopes.defer_again(&deferred);
        self.given_since = outer;
        self.scopes.pop();
        let Some(Control::Function(frame)) = self.controls.pop() else { return };
        if frame.exit.is_some() || !frame.witnesses.is_empty() {
            let span = self.at(syn::spanned::Spanned::span(&closure.body));
            let body = self.finish_frame(&frame, closure.body.to_token_stream(), span);
            *closure.body = Expr::Verbatim(quote_spanned!(span=> { #body }));
        }
    }

    /// Rewrites an argument of a call.
    fn argument(&mut self, argument: &mut Expr) {
        if !index::read_by_reference(self, argument) {
            self.visit_expr_mut(argument);
        }
    }
}

/// Returns the variable that an expression moves, or moves a field of.
fn moved_variable(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => moved_variable(&field.base),
        _ => None,
    }
}

fn is_reference(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Reference(_))
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
                if let Expr::If(node) = std::mem::replace(expr, Expr::PLACEHOLDER) {
                    *expr = branch::rewrite(self, node, want, false);
                }
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
            Expr::Macro(node) => {
                match assertion::rewrite(self, &node.mac).or_else(|| matching::rewrite_matches(self, &node.mac)) {
                    Some(rewritten) => *expr = rewritten,
                    None => self.visit_macro_mut(&mut node.mac),
                }
            }
            Expr::Closure(node) => self.closure(node),
            Expr::Assign(node) => self.assignment(node),
            Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) => self.jump(expr),
            Expr::Try(node) => self.try_operator(node),
            Expr::Reference(node) => self.operand_in_place(&mut node.expr),
            Expr::RawAddr(node) => self.operand_in_place(&mut node.expr),
            Expr::Field(_) if moved_variable(expr).is_some() => self.share(expr),
            Expr::Field(_) => self.operand_in_place(expr),
            Expr::Index(_) => index::read(self, expr),
            Expr::Cast(_) => cast::rewrite(self, expr),
            Expr::MethodCall(node) => {
                let span = node.method.span();
                let lent = Lent::to_closure_of(node, &self.scopes);
                let shared = node.args.is_empty() && (node.method == "borrow_mut" || node.method == "lock");
                if !index::read_by_method(self, node) {
                    self.operand_in_place(&mut node.receiver);
                }
                for argument in &mut node.args {
                    if let Expr::Closure(_) = argument {
                        self.closure_lent = lent.clone();
                    }
                    self.argument(argument);
                }
                if shared {
                    let regions = self.regions(true);
                    self.pass_through(&mut node.receiver, "Shared", &regions, span);
                }
            }
            Expr::Call(node) => {
                self.operand_in_place(&mut node.func);
                node.args.iter_mut().for_each(|argument| self.argument(argument));
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
            Expr::Verbatim(tokens) => {
                if let Some(test) = matching::take_test(self, tokens) {
                    *tokens = test;
                } else if let Some(bound) = matching::take_bound(self, tokens) {
                    *tokens = bound;
                }
            }
            Expr::Const(_) => {}
            _ => visit_mut::visit_expr_mut(self, expr),
        }
        if is_structure && !is_whole {
            self.check_whole(expr, before);
        }
        self.expected = None;
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let source = local.init.as_ref().map(|init| (*init.expr).clone());
        let lent = source.as_ref().map_or(Lent::Nothing, |source| Lent::by(source, &self.scopes));
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
            // The call may return a reference through which a method changes its argument: treated like a `let mut`.
            name.mutability = Some(syn::Token![mut](name.ident.span()));
            local.attrs.push(syn::parse_quote!(#[allow(unused_mut)]));
        }
        match &source {
            Some(_) => self.scopes.declare_lent(&local.pat, &lent, host),
            None => {
                self.scopes.declare(&local.pat, None, false, false);
                self.scopes.defer(before);
            }
        }
        if let Some(source) = &source {
            self.scopes.note_value(before, source);
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
        let Some(mut arguments) = macros::arguments(call) else { return warning::in_macro(self, call) };
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
