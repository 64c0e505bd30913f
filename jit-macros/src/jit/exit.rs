//! `break`, `continue` and `return` out of code that may be traced.
//!
//! ```text
//! break value   →   { let v = value;
//!                     if exit.is_host() { exit.host_only(); break 'target v; }
//!                     exit.give(v);
//!                     break 'region; }
//! ```
//! where `exit` belongs to the target of the jump (see `jit_core::control::exit`) and `'region` is the innermost arm or
//! body that may be traced: all lanes that run it exit, so the rest of it is not recorded. Code after a statement in
//! which lanes may have exited is recorded under the mask of those that have not: [`Rewriter::block`] makes it an `if`.
//! A jump remains Rust's if nothing between it and its target may be traced.

use super::rewrite::Rewriter;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use std::collections::HashSet;
use syn::visit_mut::VisitMut;
use syn::{Expr, Lifetime, Type};

/// The constructs that enclose this code, outermost first.
pub(crate) enum Control {
    /// The function, or a closure.
    Function(Frame),
    /// A loop of Rust's.
    Loop(Loop),
    /// A block that `break` can exit by its label.
    Block(Lifetime, Option<usize>),
    /// Code that runs on some lanes only, if its condition is traced.
    Region(Region),
    /// A loop that may be traced.
    Repeat(Region, Loop),
}

/// A function or closure.
#[derive(Default)]
pub(crate) struct Frame {
    /// Its result type, if that can be named.
    pub(crate) output: Option<Type>,
    pub(crate) exit: Option<usize>,
    /// Represent the stages of conditions in it.
    pub(crate) witnesses: Vec<Ident>,
}

/// The data of a loop that jumps need.
pub(crate) struct Loop {
    /// Its index in [`Exits::loops`].
    id: usize,
    label: Option<Lifetime>,
    /// A generated label, for a loop without one.
    own: Lifetime,
    own_is_used: bool,
    /// Variables declared before it are older.
    mark: usize,
    /// The exit of `break`.
    pub(crate) leaves: Option<usize>,
    /// The exit of `continue`.
    pub(crate) continues: Option<usize>,
}

impl Loop {
    fn target(&mut self) -> Lifetime {
        self.label.clone().unwrap_or_else(|| {
            self.own_is_used = true;
            self.own.clone()
        })
    }

    /// Returns its label, the user's or a generated one, if one is needed.
    pub(crate) fn label(&self) -> Option<syn::Label> {
        let name = self.label.clone().or_else(|| self.own_is_used.then(|| self.own.clone()))?;
        Some(syn::Label { colon_token: syn::Token![:](name.span()), name })
    }
}

/// The reason why code runs on some lanes only.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// A condition of the program.
    Condition,
    /// Lanes may have exited for one of these reasons.
    Left(Vec<Dependency>),
    /// The left side of `&&` or `||`: the rest of the statement cannot be skipped.
    Operand,
}

/// Code that runs on some lanes only.
pub(crate) struct Region {
    pub(crate) guard: Ident,
    why: Why,
    /// The label of the block that is the region's code.
    label: Lifetime,
    label_is_used: bool,
    /// Represents the stage of its condition.
    pub(crate) witness: Option<Ident>,
    /// Variables declared before it are older.
    mark: usize,
}

impl Region {
    /// Creates a block of the region's code, labelled if necessary.
    pub(crate) fn block(&mut self, code: TokenStream, span: Span) -> TokenStream {
        let label = &self.label;
        if std::mem::take(&mut self.label_is_used) { quote_spanned!(span=> #label: { #code }) } else { code }
    }
}

/// A dependency of the stage of an exit.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Dependency {
    /// A condition.
    Witness(Ident),
    /// Another exit.
    Exit(usize),
    /// A loop around the jump.
    Loop(usize),
}

/// A list that contains each dependency once: a chain of `if`s has a jump in each arm, with the conditions of those
/// before it.
#[derive(Clone, Default)]
struct Dependencies {
    list: Vec<Dependency>,
    known: HashSet<Dependency>,
}

impl Dependencies {
    fn insert(&mut self, dependency: Dependency) {
        if self.known.insert(dependency.clone()) {
            self.list.push(dependency);
        }
    }
}

/// The target of a jump.
#[derive(Clone)]
enum Target {
    Function,
    Block(Lifetime),
    Break(Lifetime),
    Continue(Lifetime),
}

/// The data of a jump target about the lanes that have exited to it.
struct Exit {
    name: Ident,
    target: Target,
    output: Option<Type>,
    /// Its place: the position in [`Rewriter::controls`] of the construct that it belongs to, and whether it is inside
    /// it.
    place: (usize, bool),
    dependencies: Dependencies,
}

/// All exits and jumps of a function.
#[derive(Default)]
pub(crate) struct Exits {
    exits: Vec<Exit>,
    /// For each jump that may be traced: its exit, and the position of the innermost region around it.
    sites: Vec<(usize, usize)>,
    /// For each loop, the dependencies of its stage.
    loops: Vec<Dependencies>,
}

impl Exits {
    /// Returns the number of jumps found so far.
    pub(crate) fn mark(&self) -> usize {
        self.sites.len()
    }

    /// Returns whether an exit is declared around another one.
    fn is_outside(&self, other: usize, exit: usize) -> bool {
        self.exits[other].place < self.exits[exit].place
    }
}

fn distinct(exits: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = HashSet::new();
    exits.filter(|exit| seen.insert(*exit)).collect()
}

impl Rewriter<'_> {
    /// Returns the exits, of jumps since a mark, that exit currently open constructs.
    pub(crate) fn exits_since(&self, mark: usize) -> Vec<usize> {
        let depth = self.controls.len();
        distinct(
            self.exits.sites[mark..].iter().map(|site| site.0).filter(|&exit| self.exits.exits[exit].place.0 < depth),
        )
    }

    /// Returns those exits that some lanes may have taken, while others continue.
    pub(crate) fn partial_exits_since(&self, mark: usize) -> Vec<usize> {
        let depth = self.controls.len();
        let sites = self.exits.sites[mark..]
            .iter()
            .filter(|(exit, region)| *region >= depth && self.exits.exits[*exit].place.0 < depth);
        distinct(sites.map(|site| site.0))
    }

    /// Returns the exits that do not begin a new iteration of the innermost open loop.
    pub(crate) fn but_continue(&self, mut exits: Vec<usize>) -> Vec<usize> {
        let depth = self.controls.len() - 1;
        exits.retain(|&exit| self.exits.exits[exit].place != (depth, true));
        exits
    }

    pub(crate) fn new_loop(&mut self, label: Option<&syn::Label>, span: Span) -> Loop {
        self.exits.loops.push(Dependencies::default());
        let own = self.label("loop", span);
        let label = label.map(|label| label.name.clone());
        Loop {
            id: self.exits.loops.len() - 1,
            label,
            own,
            own_is_used: false,
            mark: self.scopes.mark(),
            leaves: None,
            continues: None,
        }
    }

    /// Rejects code whose nesting would overflow the compiler's stack, with one error.
    pub(crate) fn nests_too_deep(&mut self, span: Span) -> bool {
        let limit = deepest();
        let is_too_deep = self.controls.iter().filter(|control| region_of(control).is_some()).count() >= limit;
        if is_too_deep && !std::mem::replace(&mut self.is_too_deep, true) {
            let message = format!(
                "this is nested in {limit} conditions, which is as deep as the compiler's stack allows in a `#[jit]` \
                 function; move the inner ones into a separate function, or mark the outermost one with `#[host]` if \
                 it is a `bool`"
            );
            self.sink.error(span, message);
        }
        is_too_deep
    }

    pub(crate) fn new_region(&mut self, guard: &Ident, why: Why) -> Region {
        let label = self.label("arm", guard.span());
        Region { guard: guard.clone(), why, label, label_is_used: false, witness: None, mark: self.scopes.mark() }
    }

    /// Returns why the body of a loop of Rust's runs on some lanes only.
    pub(crate) fn exit_reason(&self, node: &Loop) -> Why {
        Why::Left(vec![Dependency::Loop(node.id)])
    }

    pub(crate) fn label(&mut self, what: &str, span: Span) -> Lifetime {
        let name = self.helper(what, span);
        Lifetime::new(&format!("'{name}"), name.span())
    }

    /// Returns the position of the innermost region, up to the function or closure.
    fn innermost_region(&self) -> Option<usize> {
        let inner = self.controls.iter().enumerate().rev();
        let mut inner = inner.take_while(|(_, control)| !matches!(control, Control::Function(_)));
        inner.find(|(_, control)| region_of(control).is_some()).map(|(position, _)| position)
    }

    /// Returns the guards of all regions up to the function or closure.
    pub(crate) fn guards(&self) -> Vec<Ident> {
        let inner = self.controls.iter().rev().take_while(|control| !matches!(control, Control::Function(_)));
        inner.filter_map(region_of).map(|region| region.guard.clone()).collect()
    }

    fn region_mut(&mut self, position: usize) -> Option<&mut Region> {
        match &mut self.controls[position] {
            Control::Region(region) | Control::Repeat(region, _) => Some(region),
            _ => None,
        }
    }

    /// Rewrites `break`, `continue` and `return`.
    pub(crate) fn jump(&mut self, expr: &mut Expr) {
        let (keyword, label) = match &*expr {
            Expr::Break(node) => (node.break_token.span, node.label.clone()),
            Expr::Continue(node) => (node.continue_token.span, node.label.clone()),
            Expr::Return(node) => (node.return_token.span, None),
            _ => return,
        };
        let Some(target) = self.target_of(expr, label.as_ref()) else { return self.jump_value(expr, None) };
        let first = if matches!(self.controls[target], Control::Repeat(..)) { target } else { target + 1 };
        let crossed: Vec<&Region> = self.controls[first..].iter().filter_map(region_of).collect();
        if crossed.is_empty() {
            self.name_target(expr, target);
            return self.jump_value(expr, None);
        }
        if crossed.iter().any(|region| region.why == Why::Operand) {
            let guards: Vec<Ident> = crossed.iter().map(|region| region.guard.clone()).collect();
            self.jump_value(expr, None);
            return self.jump_from_operand(expr, &guards, keyword);
        }
        let exit = self.exit_of(target, expr, keyword);
        self.note_site(exit, target, matches!(expr, Expr::Continue(_)));
        let region = self.innermost_region().expect("a region was crossed");
        let mark = self.region_mut(region).map(|region| region.mark);
        self.jump_value(expr, mark);
        *expr = self.structured(expr, exit, region, keyword);
    }

    /// Adds the label of its loop to a jump that remains Rust's if a divided chain is in between: Rust requires a label
    /// in a labelled block.
    fn name_target(&mut self, jump: &mut Expr, target: usize) {
        let is_chain =
            |control: &Control| matches!(control, Control::Block(label, _) if super::chains::is_chain(label));
        if !self.controls[target + 1..].iter().any(is_chain) {
            return;
        }
        let (Control::Loop(node) | Control::Repeat(_, node)) = &mut self.controls[target] else { return };
        match jump {
            Expr::Break(jump) => jump.label = Some(node.target()),
            Expr::Continue(jump) => jump.label = Some(node.target()),
            _ => {}
        }
    }

    /// Returns the position of a jump's target.
    fn target_of(&self, jump: &Expr, label: Option<&Lifetime>) -> Option<usize> {
        let inner = self.controls.iter().enumerate().rev();
        for (position, control) in inner {
            let is_target = match (jump, control) {
                (Expr::Return(_), Control::Function(_)) => true,
                (_, Control::Function(_)) => return None,
                (Expr::Return(_), _) => false,
                (_, Control::Loop(node) | Control::Repeat(_, node)) => label.is_none() || label == node.label.as_ref(),
                (Expr::Break(_), Control::Block(own, _)) => label == Some(own),
                _ => false,
            };
            if is_target {
                return Some(position);
            }
        }
        None
    }

    /// Rewrites the value of a jump. Variables in it that are older than a mark are shared with code that is recorded
    /// later.
    fn jump_value(&mut self, expr: &mut Expr, mark: Option<usize>) {
        let value = match expr {
            Expr::Break(node) => node.expr.as_mut(),
            Expr::Return(node) => {
                let frame = self.controls.iter().rev().find_map(|control| match control {
                    Control::Function(frame) => Some(frame.output.clone()),
                    _ => None,
                });
                self.expected = frame.flatten();
                node.expr.as_mut()
            }
            _ => None,
        };
        if let Some(value) = value {
            let outer = std::mem::replace(&mut self.given_since, mark);
            self.visit_expr_mut(value);
            self.given_since = outer;
        }
        self.expected = None;
    }

    /// Returns the exit of a target, creating it at the first jump.
    fn exit_of(&mut self, position: usize, jump: &Expr, span: Span) -> usize {
        let next = self.exits.exits.len();
        let name = self.helper("exit", span);
        let is_continue = matches!(jump, Expr::Continue(_));
        let mut output = None;
        let (place, target) = match &mut self.controls[position] {
            Control::Function(frame) => {
                output.clone_from(&frame.output);
                (&mut frame.exit, Target::Function)
            }
            Control::Block(label, exit) => (exit, Target::Block(label.clone())),
            Control::Loop(node) | Control::Repeat(_, node) if is_continue => {
                let label = node.target();
                (&mut node.continues, Target::Continue(label))
            }
            Control::Loop(node) | Control::Repeat(_, node) => {
                let label = node.target();
                (&mut node.leaves, Target::Break(label))
            }
            Control::Region(_) => unreachable!("the targets of jumps are loops, blocks and functions"),
        };
        if let Some(exit) = *place {
            return exit;
        }
        *place = Some(next);
        self.exits.exits.push(Exit {
            name,
            target,
            output,
            place: (position, is_continue),
            dependencies: Dependencies::default(),
        });
        next
    }

    /// Registers a jump, with the dependencies of its stage.
    fn note_site(&mut self, exit: usize, target: usize, is_continue: bool) {
        let mut dependencies = Vec::new();
        for position in target..self.controls.len() {
            if region_of(&self.controls[position]).is_some_and(|region| region.why == Why::Condition) {
                dependencies.push(Dependency::Witness(self.witness(position)));
            }
            match &self.controls[position] {
                Control::Region(Region { why: Why::Left(reasons), .. }) => dependencies.extend(reasons.iter().cloned()),
                Control::Loop(node) | Control::Repeat(_, node) => {
                    dependencies.push(Dependency::Loop(node.id));
                    if position > target || !is_continue {
                        let id = node.id;
                        self.exits.loops[id].insert(Dependency::Exit(exit));
                    }
                }
                _ => {}
            }
        }
        for dependency in dependencies {
            self.exits.exits[exit].dependencies.insert(dependency);
        }
        let region = self.innermost_region().expect("a region was crossed");
        self.exits.sites.push((exit, region));
    }

    /// Returns the witness of a region's condition.
    fn witness(&mut self, position: usize) -> Ident {
        let span = self.region_mut(position).map_or_else(Span::call_site, |region| region.guard.span());
        let name = self.helper("stage", span);
        let Some(region) = self.region_mut(position) else { return name };
        if let Some(witness) = &region.witness {
            return witness.clone();
        }
        region.witness = Some(name.clone());
        let witness = self.region_mut(position).and_then(|region| region.witness.clone());
        if let (Control::Repeat(_, node), Some(witness)) = (&self.controls[position], &witness) {
            let id = node.id;
            self.exits.loops[id].insert(Dependency::Witness(witness.clone()));
        }
        for control in self.controls.iter_mut().rev() {
            if let Control::Function(frame) = control {
                frame.witnesses.push(name.clone());
                break;
            }
        }
        name
    }

    fn structured(&mut self, expr: &Expr, exit: usize, region: usize, keyword: Span) -> Expr {
        let span = self.at(keyword);
        let Exit { name, target, output, .. } = &self.exits.exits[exit];
        let (name, target) = (Ident::new(&name.to_string(), span), target.clone());
        let ty = output.iter();
        let given = match expr {
            Expr::Break(node) => node.expr.as_deref(),
            Expr::Return(node) => node.expr.as_deref(),
            _ => None,
        };
        let value = format_ident_at("__jit_given", span);
        let bind = given.map(|given| quote_spanned!(span=> let #value #(: #ty)* = #given;));
        let given = given.map(|_| quote_spanned!(span=> #value));
        let native = match target {
            Target::Function => quote_spanned!(span=> return #given),
            Target::Block(label) | Target::Break(label) => quote_spanned!(span=> break #label #given),
            Target::Continue(label) => quote_spanned!(span=> continue #label),
        };
        let given = given.unwrap_or_else(|| quote_spanned!(span=> ()));
        let jump = self.exit_region(region, span);
        Expr::Verbatim(quote_spanned! {span=> {
            #[allow(unreachable_code, clippy::needless_return, clippy::let_unit_value)]
            {
                #bind
                if #name.is_host() { #name.host_only(); #native; }
                #name.give(#given);
                #jump;
            };
        }})
    }

    fn exit_region(&mut self, position: usize, span: Span) -> TokenStream {
        let Some(region) = self.region_mut(position) else { return TokenStream::new() };
        region.label_is_used = true;
        let label = Lifetime::new(&region.label.to_string(), span);
        quote_spanned!(span=> break #label)
    }

    /// Generates the jump for code where all lanes have exited through some exits: to the end of the region, or to the
    /// nearest target.
    pub(crate) fn exit_all(&mut self, exits: &[usize], span: Span) -> TokenStream {
        let nearest = exits.iter().copied().max_by_key(|&exit| self.exits.exits[exit].place);
        let Some(nearest) = nearest else { return TokenStream::new() };
        let Exit { name, target, place, .. } = &self.exits.exits[nearest];
        let (name, target, depth) = (Ident::new(&name.to_string(), span), target.clone(), place.0);
        if let Some(region) = self.innermost_region().filter(|&region| region >= depth) {
            return self.exit_region(region, span);
        }
        match target {
            Target::Function => quote_spanned!(span=> return #name.value()),
            Target::Block(label) => quote_spanned!(span=> break #label #name.value()),
            Target::Break(label) => quote_spanned!(span=> break #label),
            Target::Continue(label) => quote_spanned!(span=> continue #label),
        }
    }

    /// Returns the number of variables older than the innermost loop, up to the function or closure.
    pub(crate) fn older_than_loop(&self) -> Option<usize> {
        let inner = self.controls.iter().rev().take_while(|control| !matches!(control, Control::Function(_)));
        let mut loops = inner.filter_map(|control| match control {
            Control::Loop(node) | Control::Repeat(_, node) => Some(node.mark),
            _ => None,
        });
        loops.next()
    }

    /// Returns the label of the loop whose body is open.
    pub(crate) fn innermost_target(&mut self) -> Option<Lifetime> {
        match self.controls.last_mut() {
            Some(Control::Loop(node) | Control::Repeat(_, node)) => Some(node.target()),
            _ => None,
        }
    }

    /// Returns the names of exits.
    pub(crate) fn exit_names(&self, exits: &[usize], span: Span) -> Vec<Ident> {
        exits.iter().map(|&exit| Ident::new(&self.exits.exits[exit].name.to_string(), span)).collect()
    }

    /// Returns a list of exits, in the form that the run-time support takes.
    pub(crate) fn exit_list(&self, exits: &[usize], span: Span) -> TokenStream {
        list(self.exit_names(exits, span).into_iter(), span)
    }

    /// Declares an exit whose jumps are all known.
    pub(crate) fn declare_exit(&self, exit: usize, span: Span) -> TokenStream {
        let mut stages: Vec<Ident> = Vec::new();
        let (mut exits, mut loops, mut known) = (HashSet::from([exit]), HashSet::new(), HashSet::new());
        let mut open = self.exits.exits[exit].dependencies.list.clone();
        open.reverse();
        while let Some(next) = open.pop() {
            match next {
                Dependency::Witness(name) => {
                    if known.insert(name.clone()) {
                        stages.push(name);
                    }
                }
                Dependency::Exit(other) if exits.insert(other) => {
                    if self.exits.is_outside(other, exit) {
                        stages.push(self.exits.exits[other].name.clone());
                    } else {
                        open.extend(self.exits.exits[other].dependencies.list.iter().cloned());
                    }
                }
                Dependency::Loop(id) if loops.insert(id) => open.extend(self.exits.loops[id].list.iter().cloned()),
                Dependency::Exit(_) | Dependency::Loop(_) => {}
            }
        }
        let name = Ident::new(&self.exits.exits[exit].name.to_string(), span);
        let private = self.private(span);
        let stages: Vec<Ident> = stages.iter().map(|stage| Ident::new(&stage.to_string(), span)).collect();
        let stages = self.stages(&stages, span);
        let ty = self.exits.exits[exit].output.iter();
        quote_spanned!(span=> let mut #name = #private::exit #(::<_, #ty>)* (#stages);)
    }

    /// Returns a list of which only the stage is needed. A long one is made of shorter ones, because the compiler
    /// processes a list by recursion.
    pub(crate) fn stages(&self, names: &[Ident], span: Span) -> TokenStream {
        const SHORT: usize = 16;
        if names.len() <= SHORT {
            return list(names.iter().cloned(), span);
        }
        let private = self.private(span);
        let parts = names.chunks(names.len().div_ceil(SHORT)).map(|part| {
            let part = self.stages(part, span);
            quote_spanned!(span=> &#private::joined(#part))
        });
        let parts: Vec<TokenStream> = parts.collect();
        parts.into_iter().rev().fold(quote_spanned!(span=> ()), |rest, part| quote_spanned!(span=> (#part, #rest)))
    }

    /// Completes a function or closure: declares the exits of its jumps, and generates the value with which each lane
    /// exits.
    pub(crate) fn finish_frame(&self, frame: &Frame, body: TokenStream, span: Span) -> TokenStream {
        let private = self.private(span);
        let witnesses = frame.witnesses.iter().map(|name| {
            let name = Ident::new(&name.to_string(), span);
            quote_spanned!(span=> let #name = #private::witness();)
        });
        let witnesses: TokenStream = witnesses.collect();
        let Some(exit) = frame.exit else { return quote!(#witnesses #body) };
        let declare = self.declare_exit(exit, span);
        let name = Ident::new(&self.exits.exits[exit].name.to_string(), span);
        let value = format_ident_at("__jit_value", span);
        let ty = frame.output.iter();
        quote_spanned! {span=>
            #witnesses
            #declare
            let #value #(: #ty)* = { #body };
            #[allow(unreachable_code)]
            let #value = #name.or(#value);
            #value
        }
    }

    /// Generates a check, before an expression in the middle of a statement, that lanes do not exit in it.
    pub(crate) fn check_goes_on(&self, expr: &mut Expr, exits: &[usize], span: Span) {
        let span = self.at(span);
        let private = self.private(span);
        let names = self.exit_names(exits, span);
        *expr = Expr::Verbatim(quote_spanned!(span=> { #(#private::may_continue(&#names);)* #expr }));
    }

    /// Makes a jump out of the right side of `&&` or `||` compile only if it is Rust's.
    fn jump_from_operand(&self, expr: &mut Expr, guards: &[Ident], keyword: Span) {
        let span = self.at(keyword);
        let private = self.private(span);
        let guards = guards.iter().map(|guard| Ident::new(&guard.to_string(), span));
        *expr = Expr::Verbatim(quote_spanned!(span=> { #(#private::JumpsFromOperand::jump(&#guards);)* #expr }));
    }
}

/// Returns the maximum nesting of conditions. The generated code is twice as deep as the source, and the compiler
/// parses it by recursion.
fn deepest() -> usize {
    const DEEPEST: usize = 256;
    const STACK: usize = 8 << 20;
    let stack = std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse::<usize>().ok());
    DEEPEST * stack.unwrap_or(STACK).max(STACK) / STACK
}

pub(crate) fn region_of(control: &Control) -> Option<&Region> {
    match control {
        Control::Region(region) | Control::Repeat(region, _) => Some(region),
        _ => None,
    }
}

/// Nested pairs of references, ended by `()`.
pub(crate) fn list(names: impl DoubleEndedIterator<Item = Ident>, span: Span) -> TokenStream {
    names.rev().fold(quote_spanned!(span=> ()), |rest, name| quote_spanned!(span=> (&#name, #rest)))
}

fn format_ident_at(name: &str, span: Span) -> Ident {
    Ident::new(name, span)
}
