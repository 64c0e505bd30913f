//! `while` and `loop`.
//!
//! ```text
//! while c { A }   →   { let mut g = repeat();
//!                       loop { g.collect("x", &x);  g.begin_iteration();  g.replace(&mut x);
//!                              if g.is_done() { break; }
//!                              if !g.test(&c) { break; }
//!                              A } }
//! ```
//! with one `collect` and one `replace` for each place `x` that the condition or the body changes. The type of the
//! condition determines the loop. For a `bool` it is Rust's, and only `test` has an effect. For a mask the first
//! iteration opens a recording and replaces the state by the loop's parameters, condition and body are recorded once,
//! and the second iteration closes it and replaces the state by the results. In an `#[evaluated]` loop the iterations
//! of Rust's loop are those of the lanes, and the state is evaluated before the next one begins.
//!
//! Exits that jumps in the body take are state as well. A lane continues while it has not exited and the condition
//! holds; a `loop` has no other condition. A host condition is therefore lifted if lanes exit at different times.

use super::branch::traced_only;
use super::carried::Carried;
use super::directives::Mode;
use super::exit::{Control, Loop, Region, Why};
use super::logic::{is_plain, under_guard};
use super::operators::borrowed;
use super::rewrite::{Rewriter, prepend, state_tokens};
use super::state::{changes_state, state_of};
use super::{deferred, directives, jumps, warning};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprLoop, ExprWhile, Label, Stmt};

/// Rewrites a `while`.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, mut node: ExprWhile) -> Expr {
    let directives = directives::take(&mut node.attrs, rewriter.sink);
    let mode = rewriter.take_mode(directives.mode);
    let is_host = rewriter.is_host(&node.cond) && !splits_lanes(rewriter, &node.body, node.label.as_ref());
    if directives.host || contains_let(&node.cond) || is_host {
        let outer = rewriter.host_only;
        rewriter.host_only |= directives.host;
        let rewritten = native(rewriter, node, &mode);
        rewriter.host_only = outer;
        return rewritten;
    }
    let span = node.while_token.span;
    if changes_state(&node.cond, &rewriter.scopes) && mode.bound().is_none() {
        rewriter.mode = mode;
        return rewrite_endless(rewriter, tested_inside(node));
    }
    deferred::redeclare(rewriter, &mut node.body);
    Repeated::new(rewriter, Kind::While, span, &[&node.cond], &node.body).in_mode(&mode).rewrite(
        Some(*node.cond),
        node.body,
        node.label,
    )
}

/// Returns `loop { if c {} else { break; } A }` for `while c { A }`: lanes keep what a condition changes before it is
/// false.
fn tested_inside(node: ExprWhile) -> ExprLoop {
    let (span, condition, mut body) = (node.while_token.span, node.cond, node.body);
    body.stmts.insert(0, syn::parse_quote_spanned!(span=> if #condition {} else { break; }));
    ExprLoop { attrs: node.attrs, label: node.label, loop_token: syn::Token![loop](span), body }
}

/// Rewrites a `loop`.
pub(crate) fn rewrite_endless(rewriter: &mut Rewriter<'_>, mut node: ExprLoop) -> Expr {
    let directives = directives::take(&mut node.attrs, rewriter.sink);
    let mode = rewriter.take_mode(directives.mode);
    if !splits_lanes(rewriter, &node.body, node.label.as_ref()) {
        let mut before = rewriter.native_loop(&mut node.label, &mut node.body, node.loop_token.span);
        before.extend(count_iterations(rewriter, &mode, &mut node.body));
        let mut expr = Expr::Loop(node);
        prepend(&mut expr, &before);
        return expr;
    }
    let span = node.loop_token.span;
    let given = deferred::given_by_loop(rewriter, &mut node);
    let repeated = Repeated::new(rewriter, Kind::Loop, span, &[], &node.body);
    let rewritten = repeated.in_mode(&mode).rewrite(None, node.body, node.label);
    match given {
        Some(given) => given.take(rewriter, &rewritten, rewriter.at(span)),
        None => rewritten,
    }
}

pub(crate) fn splits_lanes(rewriter: &Rewriter<'_>, body: &Block, label: Option<&Label>) -> bool {
    !rewriter.host_only && jumps::of_body(body, label.map(|label| &label.name), &rewriter.scopes).split_lanes()
}

/// The keyword of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    While,
    Loop,
    For,
}

/// A condition, rewritten and borrowed.
struct Condition {
    value: TokenStream,
    /// Whether evaluating it on lanes that have exited has no effects.
    is_plain: bool,
    /// The places that it changes.
    state: Vec<Carried>,
    span: Span,
}

/// A loop that is being rewritten and that may be traced.
pub(crate) struct Repeated<'r, 'a> {
    pub(crate) rewriter: &'r mut Rewriter<'a>,
    kind: Kind,
    span: Span,
    pub(crate) guard: Ident,
    /// Calls that set the mode of the loop in the guard.
    mode: TokenStream,
    is_evaluated: bool,
    /// Places that the loop changes.
    pub(crate) state: Vec<Carried>,
    /// Exits that are part of its state.
    pub(crate) exits: Vec<usize>,
}

impl<'r, 'a> Repeated<'r, 'a> {
    pub(crate) fn new(
        rewriter: &'r mut Rewriter<'a>,
        kind: Kind,
        span: Span,
        conditions: &[&Expr],
        body: &Block,
    ) -> Self {
        let span = rewriter.at(span);
        let guard = rewriter.helper("while", span);
        let mut state = state_of(conditions, &[body], &rewriter.scopes);
        for place in state_of(conditions, &[], &rewriter.scopes) {
            if deferred::is_deferred(rewriter, &place) {
                let name = &place.base;
                let message = format!(
                    "`{name}` is initialised in the condition of a `while`; initialise it in `let`, or assign it in \
                     the body"
                );
                rewriter.sink.error(place.span, message);
            }
        }
        state.retain(|place| !deferred::is_deferred(rewriter, place));
        let state = state_tokens(rewriter, &state);
        Repeated {
            rewriter,
            kind,
            span,
            guard,
            mode: TokenStream::new(),
            is_evaluated: false,
            state,
            exits: Vec::new(),
        }
    }

    pub(crate) fn in_mode(mut self, mode: &Mode) -> Self {
        self.mode = mode.of_loop(&self.guard);
        self.is_evaluated = mode.is_evaluated();
        self
    }

    fn rewrite(mut self, condition: Option<Expr>, mut body: Block, label: Option<Label>) -> Expr {
        let before = self.rewriter.exits.mark();
        let own = self.rewriter.new_loop(label.as_ref(), self.span);
        let why = if condition.is_some() { Why::Condition } else { self.rewriter.exit_reason(&own) };
        let region = self.rewriter.new_region(&self.guard, why);
        self.rewriter.controls.push(Control::Repeat(region, own));
        let condition = condition.map(|condition| self.condition(condition));
        let warnings = self.warnings(&body);
        self.rewriter.block(&mut body, false);
        self.exits = self.rewriter.but_continue(self.rewriter.exits_since(before));
        let declare = self.rewriter.declare_continue(self.span);
        let Some(Control::Repeat(mut region, own)) = self.rewriter.controls.pop() else {
            return Expr::Verbatim(TokenStream::new());
        };
        let warnings = self.if_stage_is_known(warnings);
        let statements = &body.stmts;
        let body = region.block(quote_spanned!(self.span=> #warnings #declare #(#statements)*), self.span);
        let test = match condition {
            Some(condition) => self.test(condition, &region),
            None => {
                let (span, guard) = (self.span, &self.guard);
                let list = self.rewriter.exit_list(&self.exits, span);
                quote_spanned!(span=> #guard.test_exits(#list);)
            }
        };
        Expr::Verbatim(self.emit(&TokenStream::new(), &test, &own, &body))
    }

    /// Generates warnings about probable mistakes in the body.
    pub(crate) fn warnings(&self, body: &Block) -> TokenStream {
        if self.is_evaluated || self.kind == Kind::Loop {
            return TokenStream::new();
        }
        warning::of_region(self.rewriter, &self.guard, body)
    }

    /// The stage of a loop that lanes may exit early is the join of all conditions on the way, which is known
    /// only after its body.
    pub(crate) fn if_stage_is_known(&self, warnings: TokenStream) -> TokenStream {
        if self.exits.is_empty() { warnings } else { TokenStream::new() }
    }

    fn condition(&mut self, mut condition: Expr) -> Condition {
        let state = state_of(&[&condition], &[], &self.rewriter.scopes);
        let span = self.rewriter.at(condition.span());
        Condition {
            is_plain: is_plain(&condition),
            state: state_tokens(self.rewriter, &state),
            value: borrowed(self.rewriter, &mut condition),
            span,
        }
    }

    /// Generates the whole loop. `open` comes before it, `test` begins each iteration.
    pub(crate) fn emit(
        &mut self,
        open: &TokenStream,
        test: &TokenStream,
        own: &Loop,
        body: &TokenStream,
    ) -> TokenStream {
        let (span, guard, mode) = (self.span, self.guard.clone(), self.mode.clone());
        let private = self.rewriter.private(span);
        let label = own.label();
        let declare = own.leaves.map(|exit| self.rewriter.declare_exit(exit, span));
        let exits = self.rewriter.exit_names(&self.exits, span);
        let end = self.done(own);
        let asked = self.state.iter().map(|carried| carried.ask(&guard));
        let collect = self.state.iter().map(|carried| {
            let (name, place, span) = (&carried.name, &carried.read, carried.span);
            let guard = Ident::new(&guard.to_string(), span);
            carried.if_it_is_one(&quote_spanned!(span=> #guard.collect(#name, &#place);))
        });
        let replace = self.state.iter().map(|carried| {
            let (place, span) = (&carried.place, carried.span);
            let guard = Ident::new(&guard.to_string(), span);
            carried.if_it_is_one(&quote_spanned!(span=> #guard.replace(&mut #place);))
        });
        let iteration = quote_spanned! {span=>
            #(#collect)*
            #(#guard.collect_exit(&mut #exits);)*
            #guard.begin_iteration();
            #(#replace)*
            #(#guard.replace_exit(&mut #exits);)*
            if #guard.is_done() { #end }
        };
        let iteration = traced_only(&guard, &iteration, span);
        let enter = traced_only(&guard, &quote_spanned!(span=> #(#guard.enter_exit(&mut #exits);)*), span);
        quote_spanned! {span=> {
            #declare
            #open
            let mut #guard = #private::repeat();
            #mode
            #(#asked)*
            #label loop {
                #iteration
                #test
                #enter
                #body
            }
        }}
    }

    /// Generates the decision whether to run the body.
    fn test(&mut self, condition: Condition, region: &Region) -> TokenStream {
        let Condition { value, is_plain, state, span } = condition;
        let checks = self.checks(&state);
        let guard = Ident::new(&self.guard.to_string(), span);
        let private = self.rewriter.private(span);
        let seen = match &region.witness {
            Some(name) => {
                let name = Ident::new(&name.to_string(), span);
                quote_spanned!(span=> #private::seen(&#name, #value))
            }
            None => value,
        };
        let exits = self.rewriter.exit_list(&self.exits, span);
        let test = if self.exits.is_empty() {
            quote_spanned!(span=> #private::WhileCondition::test(#seen, &mut #guard))
        } else if is_plain {
            quote_spanned!(span=> #guard.test_live(#exits, #seen))
        } else {
            let side = self.rewriter.helper("side", span);
            let open = quote_spanned!(span=> #private::branch_live(#exits));
            let lifted = quote_spanned!(span=> #private::Logical::lift(#seen, &#side));
            let value = under_guard(self.rewriter, &side, state, &open, &lifted, false, span);
            quote_spanned!(span=> #private::WhileCondition::test(&#value, &mut #guard))
        };
        quote_spanned!(span=> if !#test { break; } #checks)
    }

    /// Generates the checks that a condition has not changed what methods that it calls may change.
    fn checks(&self, state: &[Carried]) -> TokenStream {
        let checks = state.iter().map(|carried| {
            let (name, place, span) = (&carried.name, &carried.read, carried.span);
            let guard = Ident::new(&self.guard.to_string(), span);
            carried.if_it_is_one(&quote_spanned!(span=> #guard.check_unchanged(#name, &#place);))
        });
        let asked: TokenStream = state.iter().map(|carried| carried.ask(&self.guard)).collect();
        let checks = traced_only(&self.guard, &checks.collect(), self.span);
        quote_spanned!(self.span=> #asked #checks)
    }

    /// Generates the exit from the loop after its last iteration.
    fn done(&mut self, own: &Loop) -> TokenStream {
        let span = self.span;
        if self.kind != Kind::Loop {
            return quote_spanned!(span=> break;);
        }
        let others: Vec<usize> = self.exits.iter().copied().filter(|exit| Some(*exit) != own.leaves).collect();
        let jump = self.rewriter.exit_all(&others, span);
        match own.leaves.map(|exit| self.rewriter.exit_names(&[exit], span)) {
            Some(exit) if others.is_empty() => quote_spanned!(span=> break #(#exit)*.value();),
            Some(exit) => quote_spanned! {span=>
                match #(#exit)*.take() {
                    ::core::option::Option::Some(value) => break value,
                    ::core::option::Option::None => #jump,
                }
            },
            None if others.is_empty() => {
                let guard = &self.guard;
                quote_spanned!(span=> #guard.never_ends();)
            }
            None => quote_spanned!(span=> #jump;),
        }
    }
}

/// Leaves a `while` with a host condition to Rust.
fn native(rewriter: &mut Rewriter<'_>, mut node: ExprWhile, mode: &Mode) -> Expr {
    rewriter.scopes.push();
    rewriter.host_condition(&mut node.cond);
    let mut before = rewriter.native_loop(&mut node.label, &mut node.body, node.while_token.span);
    before.extend(count_iterations(rewriter, mode, &mut node.body));
    rewriter.scopes.pop();
    let mut expr = Expr::While(node);
    prepend(&mut expr, &before);
    expr
}

/// Counts the iterations of a loop of Rust's, if they are bounded; returns the code before the loop.
fn count_iterations(rewriter: &mut Rewriter<'_>, mode: &Mode, body: &mut Block) -> Option<TokenStream> {
    let limit = mode.bound()?;
    let span = rewriter.at(limit.span());
    let (private, name) = (rewriter.private(span), rewriter.helper("bound", span));
    body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(quote_spanned!(span=> #name.count();)), None));
    Some(quote_spanned!(span=> let mut #name = #private::bounded(#limit);))
}

fn contains_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => contains_let(&binary.left) || contains_let(&binary.right),
        _ => false,
    }
}
