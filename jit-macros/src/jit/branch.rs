//! `if`.
//!
//! ```text
//! if c { A } else { B }   →   { let mut g = branch(&c);     g.save("x", &x);
//!                               if g.then() { A }           g.swap(&mut x);
//!                               if g.otherwise() { B }      g.collect(&x);
//!                               g.merge();                  g.restore(&mut x); }
//! ```
//! with one line for each place `x` that an arm changes. For a `bool` exactly one arm runs and the other calls do
//! nothing. For a mask both run under a recorder: `swap` restores the value from before the branch, and `restore`
//! writes the merged one. Values of the arms, and variables that are first assigned in them, go through a slot.

use super::carried::Carried;
use super::deferred::{self, Split};
use super::exit::{Control, Dependency, Region, Why};
use super::moves;
use super::operators::borrowed;
use super::place::Place;
use super::rewrite::{Rewriter, names_of, state_tokens};
use super::scope::Binding;
use super::state::{assigns, state_of};
use super::{directives, macros, warning};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::{HashSet, VecDeque};
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprIf, ExprLet, Stmt};

/// Whether the value of an `if` is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Value,
    Nothing,
}

/// A guard and the state that it carries: the calls between the arms, which have an effect in the traced stage only.
pub(crate) struct Guarded<'a> {
    pub(crate) guard: &'a Ident,
    pub(crate) span: Span,
    pub(crate) state: Vec<Carried>,
    pub(crate) exits: Vec<Ident>,
}

impl<'a> Guarded<'a> {
    pub(crate) fn new(guard: &'a Ident, span: Span, state: Vec<Carried>) -> Self {
        Guarded { guard, span, state, exits: Vec::new() }
    }

    pub(crate) fn save(&self) -> TokenStream {
        let asked: TokenStream = self.state.iter().map(|carried| carried.ask(self.guard)).collect();
        let save = self.each("save_exit", |guard, carried| {
            let (name, place, span) = (&carried.name, &carried.read, carried.span);
            quote_spanned!(span=> #guard.save(#name, &#place);)
        });
        quote_spanned!(self.span=> #asked #save)
    }

    pub(crate) fn swap(&self) -> TokenStream {
        self.each("swap_exit", |guard, Carried { place, span, .. }| quote_spanned!(*span=> #guard.swap(&mut #place);))
    }

    pub(crate) fn collect(&self) -> TokenStream {
        self.each("collect_exit", |guard, Carried { read, span, is_dead, .. }| match is_dead {
            true => quote_spanned!(*span=> #guard.collect_dead();),
            false => quote_spanned!(*span=> #guard.collect(&#read);),
        })
    }

    pub(crate) fn restore(&self) -> TokenStream {
        self.each("restore_exit", |guard, Carried { place, span, is_dead, .. }| match is_dead {
            true => quote_spanned!(*span=> #guard.restore_dead();),
            false => quote_spanned!(*span=> #guard.restore(&mut #place);),
        })
    }

    fn each(&self, of_exit: &str, call: impl Fn(&Ident, &Carried) -> TokenStream) -> TokenStream {
        let calls = self
            .state
            .iter()
            .map(|carried| carried.if_it_is_one(&call(&Ident::new(&self.guard.to_string(), carried.span), carried)));
        let (guard, exits, span) = (self.guard, &self.exits, self.span);
        let of_exit = Ident::new(of_exit, span);
        let calls: TokenStream =
            calls.chain(exits.iter().map(|exit| quote_spanned!(span=> #guard.#of_exit(&mut #exit);))).collect();
        traced_only(guard, &calls, span)
    }
}

/// Generates code that the host stage does not run, and that moves and borrows nothing there.
pub(crate) fn traced_only(guard: &Ident, code: &TokenStream, span: Span) -> TokenStream {
    if code.is_empty() {
        return TokenStream::new();
    }
    quote_spanned!(span=> #[allow(unreachable_code)] if #guard.is_traced() { #guard.traced_only(); #code })
}

/// Code that only lanes which have not exited run.
pub(crate) enum Live {
    /// The code after jumps through some exits.
    After(Vec<usize>),
    /// An iteration of the innermost loop, which is Rust's.
    InLoop(Why),
}

/// Rewrites code for the lanes that have not exited.
pub(crate) fn rewrite_live(
    rewriter: &mut Rewriter<'_>,
    live: Live,
    code: Block,
    want: Want,
    tail: bool,
    span: Span,
) -> Expr {
    let cond = Box::new(Expr::Verbatim(TokenStream::new()));
    let node =
        ExprIf { attrs: Vec::new(), if_token: syn::Token![if](span), cond, then_branch: code, else_branch: None };
    let is_evaluated = directives::has_evaluated(&node.then_branch);
    let mut traced = Traced::new(rewriter, &node, want, tail, Some(live));
    if is_evaluated {
        let guard = &traced.guard;
        traced.mode = quote_spanned!(span=> #guard.evaluated(););
    }
    traced.rewrite(node)
}

/// Rewrites an `if`. `tail` is set if its value is that of the function.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, mut node: ExprIf, want: Want, tail: bool) -> Expr {
    let directives = super::directives::take(&mut node.attrs, rewriter.sink);
    let mode = rewriter.take_mode(directives.mode);
    if directives.host || has_pattern(&node.cond) || rewriter.is_host(&node.cond) {
        return native(rewriter, node, tail);
    }
    let mut traced = Traced::new(rewriter, &node, want, tail, None);
    traced.mode = mode.of_branch(&traced.guard, traced.rewriter.sink);
    traced.rewrite(node)
}

/// Leaves an `if` with a host condition to Rust; rewrites its arms.
fn native(rewriter: &mut Rewriter<'_>, mut node: ExprIf, tail: bool) -> Expr {
    let expected = rewriter.expected.clone();
    rewriter.scopes.push();
    rewriter.expected = None;
    rewriter.host_condition(&mut node.cond);
    rewriter.expected.clone_from(&expected);
    let deferred = rewriter.scopes.deferred();
    rewriter.block(&mut node.then_branch, tail);
    rewriter.scopes.pop();
    rewriter.scopes.defer_again(&deferred);
    if let Some((_, otherwise)) = &mut node.else_branch {
        rewriter.expected = expected;
        match &mut **otherwise {
            Expr::If(chained) => {
                let want = if chained.else_branch.is_some() { Want::Value } else { Want::Nothing };
                let rewritten = rewrite(rewriter, chained.clone(), want, tail);
                **otherwise = rewritten;
            }
            Expr::Block(block) => rewriter.block(&mut block.block, tail),
            _ => {}
        }
    }
    rewriter.scopes.defer_again(&deferred);
    Expr::If(node)
}

pub(crate) fn has_pattern(condition: &Expr) -> bool {
    struct Patterns(bool);
    impl syn::visit::Visit<'_> for Patterns {
        fn visit_expr_let(&mut self, _: &ExprLet) {
            self.0 = true;
        }
        fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
        fn visit_expr_block(&mut self, _: &syn::ExprBlock) {}
        fn visit_expr_if(&mut self, _: &ExprIf) {}
        fn visit_expr_match(&mut self, _: &syn::ExprMatch) {}
    }
    let mut patterns = Patterns(false);
    syn::visit::Visit::visit_expr(&mut patterns, condition);
    patterns.0
}

/// An `if` that is being rewritten and whose condition may be traced.
struct Traced<'r, 'a> {
    rewriter: &'r mut Rewriter<'a>,
    span: Span,
    guard: Ident,
    slot: Ident,
    /// The call that sets the mode of the branch in the guard.
    mode: TokenStream,
    want: Want,
    tail: bool,
    /// Set if the condition is that a lane has not exited.
    live: Option<Live>,
    /// Places that the arms change, and whether nothing reads them afterwards.
    state: Vec<(Place, bool)>,
    /// Variables that are first assigned in the arms.
    deferred: Vec<Binding>,
    /// Variables without a value that only one arm assigns and uses.
    own: Vec<Binding>,
    /// Whether the first values are needed after the `if`.
    hands_out: bool,
    /// Whether an arm ends with a value, rather than exiting.
    has_value: bool,
    /// Whether the first arm moves, on the host, a variable that the second one mentions.
    moves: bool,
}

impl<'r, 'a> Traced<'r, 'a> {
    fn new(rewriter: &'r mut Rewriter<'a>, node: &ExprIf, want: Want, tail: bool, live: Option<Live>) -> Self {
        let span = rewriter.at(node.if_token.span);
        let (guard, slot) = (rewriter.helper("if", span), rewriter.helper("slot", span));
        let otherwise = else_block(node);
        let arms: &[&Block] = match live {
            None => &[&node.then_branch, &otherwise],
            Some(Live::After(_)) => &[&node.then_branch],
            Some(Live::InLoop(_)) => &[],
        };
        let state = state_of(&[], &[&node.then_branch, &otherwise], &rewriter.scopes);
        let Split { given: deferred, own, kept } = deferred::split(rewriter, state, arms);
        let state = without_dead(rewriter, kept, [&node.then_branch, &otherwise], tail, live.is_some());
        let hands_out = !tail && !deferred.is_empty();
        Traced {
            rewriter,
            span,
            guard,
            slot,
            mode: TokenStream::new(),
            want,
            tail,
            live,
            state,
            deferred,
            own,
            hands_out,
            has_value: false,
            moves: false,
        }
    }

    fn rewrite(mut self, mut node: ExprIf) -> Expr {
        if self.rewriter.nests_too_deep(self.span) {
            return Expr::If(node);
        }
        let expected = self.rewriter.expected.take();
        let mut otherwise = take_else(&mut node);
        let before = self.rewriter.exits.mark();
        let open = match self.live {
            None => Some(self.condition(&mut node.cond)),
            Some(_) => None,
        };
        let why = match &self.live {
            None => Why::Condition,
            Some(Live::After(exits)) => Why::Left(exits.iter().map(|&exit| Dependency::Exit(exit)).collect()),
            Some(Live::InLoop(why)) => why.clone(),
        };
        let region = self.rewriter.new_region(&self.guard, why);
        self.rewriter.controls.push(Control::Region(region));
        let mentioned = (self.rewriter.scopes.mark(), names_of(&otherwise));
        let moves = self.may_move(&node.then_branch, &mentioned.1);
        self.rewriter.mentioned_later.push(mentioned);
        let shared_before = self.rewriter.shared;
        let mut then_arm = self.arm(&mut node.then_branch, "put_then", expected.clone());
        self.rewriter.mentioned_later.pop();
        self.moves = moves || self.rewriter.shared > shared_before;
        if matches!(self.live, Some(Live::InLoop(_))) {
            let declare = self.rewriter.declare_continue(self.span);
            then_arm = quote!(#declare #then_arm);
        }
        let then_arm = self.in_region(then_arm);
        let else_arm = match self.live {
            None => self.arm(&mut otherwise, "put_otherwise", expected.clone()),
            Some(_) => TokenStream::new(),
        };
        let else_arm = self.in_region(else_arm);
        let Some(Control::Region(region)) = self.rewriter.controls.pop() else { return Expr::If(node) };
        for binding in &self.deferred {
            self.rewriter.scopes.initialise(&binding.name);
        }
        let exits = self.rewriter.exits_since(before);
        let exits = if let Some(Live::InLoop(_)) = self.live { self.rewriter.but_continue(exits) } else { exits };
        let open = open.unwrap_or_else(|| self.open_live(&exits));
        Expr::Verbatim(self.emit(&open, &region, &exits, [&then_arm, &else_arm], expected.as_ref()))
    }

    /// Returns whether an arm may move one of the variables that the other one mentions. A method or a pattern may,
    /// which only Rust knows; it accepts that on the host, where one of the arms runs.
    fn may_move(&self, arm: &Block, mentioned: &HashSet<String>) -> bool {
        let scopes = &self.rewriter.scopes;
        let is_moved = |name: &Ident| {
            mentioned.contains(&name.to_string()) && scopes.find(name).is_some_and(|(_, binding)| !binding.is_copied())
        };
        !mentioned.is_empty() && moves::may_be_moved(arm).iter().any(is_moved)
    }

    /// Opens the guard by the program's condition.
    fn condition(&mut self, condition: &mut Expr) -> TokenStream {
        let span = self.rewriter.at(condition.span());
        let condition = borrowed(self.rewriter, condition);
        let (private, guard) = (self.rewriter.private(span), &self.guard);
        quote_spanned!(span=> let mut #guard = #private::IfCondition::branch(#condition);)
    }

    /// Opens the guard for lanes that have not exited. A loop of Rust's ends when all have.
    fn open_live(&mut self, exits: &[usize]) -> TokenStream {
        let (span, guard) = (self.span, &self.guard);
        let private = self.rewriter.private(span);
        if let Some(Live::After(left)) = &self.live {
            let left = self.rewriter.exit_list(left, span);
            return quote_spanned!(span=> let mut #guard = #private::branch_live(#left););
        }
        let left = self.rewriter.exit_list(exits, span);
        let end = (!exits.is_empty()).then(|| {
            let target = self.rewriter.innermost_target();
            quote_spanned!(span=> if #private::all_exited(#left) { break #target; })
        });
        quote_spanned!(span=> #end let mut #guard = #private::branch_live(#left);)
    }

    fn in_region(&mut self, code: TokenStream) -> TokenStream {
        match self.rewriter.controls.last_mut() {
            Some(Control::Region(region)) => region.block(code, self.span),
            _ => code,
        }
    }

    fn emit(
        &mut self,
        open: &TokenStream,
        region: &Region,
        exits: &[usize],
        [then, otherwise]: [&TokenStream; 2],
        ty: Option<&syn::Type>,
    ) -> TokenStream {
        let (span, guard, slot, mode) = (self.span, self.guard.clone(), self.slot.clone(), self.mode.clone());
        let dead: Vec<bool> = self.state.iter().map(|(_, is_dead)| *is_dead).collect();
        let places: Vec<Place> = self.state.iter().map(|(place, _)| place.clone()).collect();
        let mut guarded = Guarded::new(&guard, span, state_tokens(self.rewriter, &places));
        guarded.state.iter_mut().zip(dead).for_each(|(carried, is_dead)| carried.is_dead = is_dead);
        guarded.exits = self.rewriter.exit_names(exits, span);
        let (save, swap, collect, restore) = (guarded.save(), guarded.swap(), guarded.collect(), guarded.restore());
        let private = self.rewriter.private(span);
        let witness = region.witness.iter().map(|name| {
            let name = Ident::new(&name.to_string(), span);
            quote_spanned!(span=> #private::same(&#name, &#guard);)
        });
        let uses_slot = self.uses_slot();
        let ty = ty.filter(|_| !self.hands_out && self.want == Want::Value).map(|ty| quote_spanned!(span=> ::<#ty>));
        let make_slot = uses_slot.then(|| quote_spanned!(span=> let mut #slot = #private::Slot #ty::new();));
        let value = self.rewriter.helper("value", span);
        let merge = match uses_slot {
            true if !exits.is_empty() => quote_spanned!(span=> let #value = #guard.merge_if_any(#slot);),
            true => quote_spanned!(span=> let #value = #guard.merge_with(#slot);),
            false => quote_spanned!(span=> #guard.merge();),
        };
        let unwrap = (uses_slot && !exits.is_empty()).then(|| {
            let never = self.rewriter.never_reached(exits, span);
            quote_spanned!(span=> let #value = match #value {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #never,
            };)
        });
        let hand_out = self.hand_out(&value);
        let result = match self.want {
            Want::Value if !self.has_value && exits.is_empty() => {
                Some(quote_spanned!(span=> #private::both_arms_leave()))
            }
            Want::Value if !self.has_value => Some(self.rewriter.never_reached(exits, span)),
            Want::Value if self.hands_out => Some(quote_spanned!(span=> #value.0)),
            Want::Value => Some(quote_spanned!(span=> #value)),
            Want::Nothing => None,
        };
        let arms = self.arms(then, &swap, otherwise);
        quote_spanned! {span=> {
            #open
            #(#witness)*
            #mode
            #save
            #make_slot
            #arms
            #collect
            #merge
            #restore
            #unwrap
            #hand_out
            #result
        }}
    }

    /// Generates the arms in sequence. If the first one moves a variable that the second one mentions, the code shows
    /// Rust that only one of them runs on the host.
    fn arms(&mut self, then: &TokenStream, swap: &TokenStream, otherwise: &TokenStream) -> TokenStream {
        let (span, guard) = (self.span, self.guard.clone());
        if !self.moves {
            return quote_spanned!(span=> if #guard.then() { #then } #swap if #guard.otherwise() { #otherwise });
        }
        let private = self.rewriter.private(span);
        let (stage, arms) = (self.rewriter.helper("stage", span), self.rewriter.label("arms", span));
        quote_spanned! {span=>
            let #stage = #private::joined((&#guard, ()));
            #arms: {
                if #guard.then() {
                    #[allow(unused_braces)]
                    { #then }
                    #[allow(unreachable_code)]
                    if #stage.is_host() { #stage.host_only(); break #arms; } else { #stage.traced_only(); }
                }
                #swap
                if #guard.otherwise() { #otherwise }
            }
        }
    }

    fn uses_slot(&self) -> bool {
        self.has_value && (self.want == Want::Value || self.hands_out)
    }

    /// Assigns the merged values to the deferred variables.
    fn hand_out(&self, value: &Ident) -> Option<TokenStream> {
        if !self.uses_slot() || !self.hands_out {
            return None;
        }
        let mut path = quote!(#value.1);
        let mut assignments = TokenStream::new();
        for binding in &self.deferred {
            let name = &binding.name;
            assignments.extend(quote!(#name = #path.0;));
            path = quote!(#path.1);
        }
        Some(assignments)
    }

    /// Rewrites an arm; its value goes to the slot.
    fn arm(&mut self, block: &mut Block, put: &str, expected: Option<syn::Type>) -> TokenStream {
        if let Some(call) = macros::of_unreachable(block) {
            // No lane takes it. On the host it panics.
            let (guard, span) = (&self.guard, self.rewriter.at(call.path.span()));
            return quote_spanned!(span=> if !#guard.is_traced() { #call; });
        }
        if self.tail {
            unwrap_final_return(block);
        }
        self.rewriter.scopes.push();
        let mut declarations = TokenStream::new();
        let deferred = self.deferred.iter().chain(&self.own);
        for binding in deferred.filter(|binding| assigns(&binding.name, block)) {
            declarations.extend(deferred::declaration(binding));
            self.rewriter.scopes.redeclare(Binding { deferred: true, ..binding.clone() });
        }
        if self.live.is_none() {
            declarations.extend(warning::of_region(self.rewriter, &self.guard, block));
        }
        self.rewriter.expected = if self.want == Want::Value { expected } else { None };
        let leaves = leaves(block);
        // Variables moved in an arm that exits a loop are recorded again for the lanes that continue.
        let outer = self.rewriter.given_since;
        if leaves {
            self.rewriter.given_since = outer.max(self.rewriter.older_than_loop());
        }
        self.rewriter.block(block, self.tail);
        self.rewriter.given_since = outer;
        self.rewriter.scopes.pop();
        let gives = (self.want == Want::Value || self.hands_out) && !leaves;
        self.has_value |= gives;
        let statements =
            if gives { self.put(block, put) } else { block.stmts.iter().map(ToTokens::to_token_stream).collect() };
        quote!(#declarations #statements)
    }

    /// Generates the statements of an arm, the last of which stores its value in the slot.
    fn put(&self, block: &mut Block, put: &str) -> TokenStream {
        let tail = match block.stmts.last() {
            Some(Stmt::Expr(_, None)) => block.stmts.pop(),
            Some(Stmt::Macro(call)) if call.semi_token.is_none() => block.stmts.pop(),
            _ => None,
        };
        let statements = &block.stmts;
        let span = tail.as_ref().map_or(self.span, |tail| self.rewriter.at(tail.span()));
        let (slot, put) = (Ident::new(&self.slot.to_string(), span), Ident::new(put, span));
        let value = match &tail {
            Some(tail) => tail.to_token_stream(),
            None => quote_spanned!(span=> ()),
        };
        let value = match self.want {
            Want::Nothing if tail.is_some() => quote_spanned!(span=> { #value }),
            _ => value,
        };
        if !self.hands_out {
            let allowed = tail.is_some().then(|| quote_spanned!(span=> #[allow(unreachable_code)]));
            return quote_spanned!(span=> #(#statements)* #allowed #slot.#put(#value););
        }
        let first_values = self.deferred.iter().rev().fold(quote!(()), |rest, binding| {
            let name = &binding.name;
            quote!((#name, #rest))
        });
        quote_spanned!(span=> #(#statements)* #slot.#put((#value, #first_values));)
    }
}

/// Determines which places nothing reads after the region: variables of the function if the region is its end, and
/// those of a block of which it is the end. They are not state unless another arm uses them. What a variable may borrow
/// is not dead, except where an arm moves the variable.
fn without_dead(
    rewriter: &Rewriter<'_>,
    state: Vec<Place>,
    [then, otherwise]: [&Block; 2],
    tail: bool,
    is_live: bool,
) -> Vec<(Place, bool)> {
    let start = rewriter.scopes.start();
    let later = names_of(otherwise);
    let is_dead = |place: &Place| {
        let Some((age, binding)) = rewriter.scopes.find(&place.base) else { return false };
        let is_left = tail || (is_live && age >= start);
        // A part of a variable that is not `mut` can only change behind a reference.
        let is_lent = binding.by_mut_ref || binding.lent || (!binding.mutable && !place.steps.is_empty());
        let may_be_lent = || binding.may_hold && !moves::may_move(&place.base, &[then, otherwise]);
        is_left && !is_lent && !place.is_uncertain() && !may_be_lent()
    };
    let marked = state.into_iter().map(|place| {
        let is_dead = is_dead(&place);
        (place, is_dead)
    });
    marked.filter(|(place, is_dead)| !is_dead || later.contains(&place.base.to_string())).collect()
}

/// Returns the `else` part as a block; empty without one.
fn else_block(node: &ExprIf) -> Block {
    match &node.else_branch {
        Some((_, otherwise)) => match &**otherwise {
            Expr::Block(block) if block.label.is_none() => block.block.clone(),
            other => block_of(vec![Stmt::Expr(other.clone(), None)]),
        },
        None => block_of(Vec::new()),
    }
}

/// Takes the `else` part out, as a block, so that the rest of a long chain is not copied for each of its arms.
fn take_else(node: &mut ExprIf) -> Block {
    match node.else_branch.take().map(|(_, otherwise)| *otherwise) {
        Some(Expr::Block(block)) if block.label.is_none() => block.block,
        Some(other) => block_of(vec![Stmt::Expr(other, None)]),
        None => block_of(Vec::new()),
    }
}

fn block_of(stmts: Vec<Stmt>) -> Block {
    Block { brace_token: syn::token::Brace::default(), stmts }
}

/// Returns whether a block certainly does not reach its end.
pub(crate) fn leaves(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Expr(expr, _)) => expr_leaves(expr),
        Some(Stmt::Macro(call)) => macros::diverges(&call.mac),
        _ => false,
    }
}

fn expr_leaves(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(call) => macros::diverges(&call.mac),
        Expr::If(node) => node.else_branch.is_some() && leaves(&node.then_branch) && leaves(&else_block(node)),
        Expr::Block(node) => node.label.is_none() && leaves(&node.block),
        _ => false,
    }
}

/// Replaces `return e` at the end of the function by `e`.
fn unwrap_final_return(block: &mut Block) {
    let Some(Stmt::Expr(Expr::Return(node), _)) = block.stmts.last() else { return };
    let value = node.expr.as_ref().map(|value| (**value).clone());
    block.stmts.pop();
    block.stmts.extend(value.map(|value| Stmt::Expr(value, None)));
}

/// `if c { return a; } REST` at the level of the function is `if c { a } else { REST }`, which also holds per lane.
pub(crate) fn absorb_rest(rewriter: &Rewriter<'_>, statement: Stmt, rest: &mut VecDeque<Stmt>) -> Stmt {
    let Stmt::Expr(Expr::If(mut node), semicolon) = statement else { return statement };
    let host = node.attrs.iter().any(|attribute| attribute.path().is_ident("host"));
    if host || has_pattern(&node.cond) || rewriter.is_host(&node.cond) || !returns_in_all_arms(&node) {
        return Stmt::Expr(Expr::If(node), semicolon);
    }
    let rest = block_of(rest.drain(..).collect());
    let span = node.if_token.span;
    if directives::has_evaluated(&rest) {
        evaluate(&mut node, span);
    }
    append_else(&mut node, rest, span);
    Stmt::Expr(Expr::If(node), None)
}

/// Returns whether it is a chain of `if`s without a last `else`, each arm of which ends in `return`.
fn returns_in_all_arms(node: &ExprIf) -> bool {
    let returns = matches!(node.then_branch.stmts.last(), Some(Stmt::Expr(Expr::Return(_), _)));
    returns
        && match &node.else_branch {
            None => true,
            Some((_, otherwise)) => {
                matches!(&**otherwise, Expr::If(chained) if !has_pattern(&chained.cond) && returns_in_all_arms(chained))
            }
        }
}

/// Marks the `if`s of a chain as evaluated, but for those whose mode is given.
fn evaluate(node: &mut ExprIf, span: Span) {
    let has_mode =
        |attribute: &syn::Attribute| ["evaluated", "symbolic"].iter().any(|mode| attribute.path().is_ident(mode));
    if !node.attrs.iter().any(has_mode) {
        node.attrs.push(syn::parse_quote_spanned!(span=> #[evaluated]));
    }
    if let Some((_, otherwise)) = &mut node.else_branch
        && let Expr::If(chained) = &mut **otherwise
    {
        evaluate(chained, span);
    }
}

fn append_else(node: &mut ExprIf, rest: Block, span: Span) {
    match &mut node.else_branch {
        Some((_, otherwise)) => {
            if let Expr::If(chained) = &mut **otherwise {
                append_else(chained, rest, span);
            }
        }
        None => {
            let block = syn::ExprBlock { attrs: Vec::new(), label: None, block: rest };
            node.else_branch = Some((syn::Token![else](span), Box::new(Expr::Block(block))));
        }
    }
}
