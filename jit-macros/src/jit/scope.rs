//! The local variables that are visible at a point of the function, with those that certainly hold host values.

use super::lent::Lent;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{BinOp, Expr, FnArg, Pat, ReceiverKind, Type, UnOp};

/// The properties of a local variable that its declaration shows.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: Ident,
    /// Declared `mut`.
    pub(crate) mutable: bool,
    /// Certainly a `&mut` reference.
    pub(crate) by_mut_ref: bool,
    /// May hold a reference through which another place changes.
    pub(crate) lent: bool,
    /// May be a `&mut` reference, as far as its first value shows.
    pub(crate) may_refer: bool,
    /// May be a value that is or contains one.
    pub(crate) may_hold: bool,
    /// Declared by a `let` with a value: its type is known where code after it is compiled.
    pub(crate) has_value: bool,
    /// Certainly a tuple or struct that the function has built, and that may contain one.
    pub(crate) is_built: bool,
    /// Certainly a host value, which is decided while tracing.
    pub(crate) host: bool,
    /// Declared by a `let` without a value, and not assigned yet.
    pub(crate) deferred: bool,
    /// The type that the `let` without a value names.
    pub(crate) ty: Option<Type>,
    /// The tie that gives the variables of a `let` without a value, and those that replace them in regions, one type.
    pub(crate) tie: Option<Ident>,
}

impl Binding {
    fn new(name: &Ident) -> Self {
        Binding {
            name: name.clone(),
            mutable: false,
            by_mut_ref: false,
            may_refer: true,
            may_hold: true,
            has_value: false,
            is_built: false,
            lent: false,
            host: false,
            deferred: false,
            ty: None,
            tie: None,
        }
    }

    /// Returns whether it certainly is a host value that is copied where it is used.
    pub(crate) fn is_copied(&self) -> bool {
        self.host && !self.ty.as_ref().is_some_and(has_owner)
    }
}

/// A stack of scopes.
#[derive(Default, Debug)]
pub(crate) struct Scopes {
    bindings: Vec<Binding>,
    starts: Vec<usize>,
}

impl Scopes {
    pub(crate) fn push(&mut self) {
        self.starts.push(self.bindings.len());
    }

    pub(crate) fn pop(&mut self) {
        let start = self.starts.pop().expect("each pop follows a push");
        self.bindings.truncate(start);
    }

    /// Returns the number of bindings, which later shows whether one of them is older.
    pub(crate) fn mark(&self) -> usize {
        self.bindings.len()
    }

    /// Returns the variable that a name refers to here, and its age.
    pub(crate) fn find(&self, name: &Ident) -> Option<(usize, &Binding)> {
        self.bindings.iter().enumerate().rev().find(|(_, binding)| binding.name == *name)
    }

    fn find_mut(&mut self, name: &Ident) -> Option<&mut Binding> {
        self.bindings.iter_mut().rev().find(|binding| binding.name == *name)
    }

    /// Marks a variable as assigned from here on.
    pub(crate) fn initialise(&mut self, name: &Ident) {
        if let Some(binding) = self.find_mut(name) {
            binding.deferred = false;
        }
    }

    /// Sets the tie of a variable.
    pub(crate) fn tie(&mut self, name: &Ident, tie: &Ident) {
        if let Some(binding) = self.find_mut(name) {
            binding.tie = Some(tie.clone());
        }
    }

    /// Returns the variables that have no value yet, by their ages.
    pub(crate) fn deferred(&self) -> Vec<(usize, Ident)> {
        let deferred = self.bindings.iter().enumerate().filter(|(_, binding)| binding.deferred);
        deferred.map(|(age, binding)| (age, binding.name.clone())).collect()
    }

    /// Marks variables as unassigned again, as before an arm.
    pub(crate) fn defer_again(&mut self, deferred: &[(usize, Ident)]) {
        deferred.iter().for_each(|(age, _)| self.set_deferred(*age, true));
    }

    /// Sets whether a variable still has no value.
    pub(crate) fn set_deferred(&mut self, age: usize, is_deferred: bool) {
        self.bindings[age].deferred = is_deferred;
    }

    /// Declares a variable again in the innermost scope, without a value.
    pub(crate) fn redeclare(&mut self, binding: Binding) {
        self.bindings.push(binding);
    }

    /// Declares a function's parameter.
    pub(crate) fn declare_argument(&mut self, argument: &FnArg, constexpr: bool) {
        match argument {
            FnArg::Receiver(receiver) => {
                let mut binding = Binding::new(&Ident::new("self", receiver.self_token.span));
                match &receiver.kind {
                    ReceiverKind::Reference(_, _, mutable) => {
                        binding.by_mut_ref = mutable.is_some();
                        binding.ty = Some(syn::parse_quote!(&Self));
                    }
                    ReceiverKind::Typed(_, ty) => {
                        binding.by_mut_ref = is_mut_reference(ty);
                        binding.ty = Some((**ty).clone());
                    }
                    _ => binding.mutable = receiver.mutability.is_some(),
                }
                self.bindings.push(binding);
            }
            FnArg::Typed(typed) => {
                self.declare(&typed.pat, Some(&typed.ty), constexpr || is_host_type(&typed.ty), false)
            }
        }
    }

    /// Declares the variables of a pattern.
    pub(crate) fn declare(&mut self, pattern: &Pat, ty: Option<&Type>, host: bool, by_mut_ref: bool) {
        match pattern {
            Pat::Type(typed) => self.declare(&typed.pat, Some(&typed.ty), host || is_host_type(&typed.ty), by_mut_ref),
            Pat::Ident(ident) => {
                let mut binding = Binding::new(&ident.ident);
                binding.mutable = ident.mutability.is_some();
                binding.by_mut_ref = by_mut_ref || ty.is_some_and(is_mut_reference);
                binding.host = host;
                binding.ty = ty.cloned();
                binding.may_hold = ty.is_none_or(may_borrow);
                self.bindings.push(binding);
                if let Some((_, inner)) = &ident.subpat {
                    self.declare(inner, None, host, false);
                }
            }
            other => {
                let before = self.bindings.len();
                for (name, mutable, by_mut_ref) in pattern_names(other) {
                    self.bindings.push(Binding { mutable, by_mut_ref, host, ..Binding::new(&name) });
                }
                if let Some(ty) = ty {
                    self.mark_lent(before, other, &Lent::by_type(ty));
                }
            }
        }
    }

    /// Declares the variables of a pattern that takes apart a value which lends something.
    pub(crate) fn declare_lent(&mut self, pattern: &Pat, lent: &Lent, host: bool) {
        let before = self.bindings.len();
        self.declare(pattern, None, host, false);
        self.mark_lent(before, pattern, lent);
    }

    /// Marks the `&mut` references among the variables declared since a mark.
    fn mark_lent(&mut self, before: usize, pattern: &Pat, lent: &Lent) {
        let mut references = Vec::new();
        lent.names(pattern, &mut references);
        for binding in &mut self.bindings[before..] {
            binding.by_mut_ref |= !binding.mutable && references.contains(&binding.name);
        }
    }

    /// Marks the variables of a `let` whose value may be a reference that changes another place.
    pub(crate) fn lend(&mut self, from: usize) {
        for binding in &mut self.bindings[from..] {
            binding.lent = true;
        }
    }

    /// Notes what the first value of the variables of a `let` may be.
    pub(crate) fn note_value(&mut self, from: usize, value: &Expr) {
        let (may_refer, may_hold) = (self.may_refer(value, true), self.may_refer(value, false));
        let is_built = match value {
            Expr::Struct(_) | Expr::Tuple(_) => self.bindings.len() == from + 1,
            Expr::Call(call) => is_constructor(&call.func),
            _ => false,
        };
        for binding in &mut self.bindings[from..] {
            binding.may_refer = may_refer;
            binding.has_value = true;
            binding.may_hold &= may_hold;
            binding.is_built = may_hold && is_built;
        }
    }

    /// Returns whether a value may be a `&mut` reference, or contain one unless it is the whole value. Rust gives those
    /// to a function in its arguments.
    pub(crate) fn may_refer(&self, expr: &Expr, is_whole: bool) -> bool {
        let any = |values: &syn::punctuated::Punctuated<Expr, syn::Token![,]>, is_whole| {
            values.iter().any(|value| self.may_refer(value, is_whole))
        };
        match expr {
            Expr::Lit(_) | Expr::Binary(_) | Expr::Unary(_) | Expr::Cast(_) | Expr::Range(_) | Expr::Index(_) => false,
            Expr::Closure(_) => !is_whole,
            Expr::Reference(reference) => reference.mutability.is_some(),
            Expr::Array(array) => !is_whole && any(&array.elems, false),
            // Patterns take tuples apart.
            Expr::Tuple(tuple) => any(&tuple.elems, is_whole),
            Expr::Struct(node) => {
                !is_whole && (node.rest.is_some() || node.fields.iter().any(|field| self.may_refer(&field.expr, false)))
            }
            Expr::Path(path) => match path.path.get_ident().and_then(|name| self.find(name)) {
                Some((_, binding)) if is_whole => binding.by_mut_ref || (binding.may_refer && !binding.host),
                Some((_, binding)) => binding.by_mut_ref || (binding.may_hold && !binding.host),
                None => false,
            },
            Expr::Field(field) => self.may_refer(&field.base, false),
            Expr::Paren(inner) => self.may_refer(&inner.expr, is_whole),
            Expr::Group(inner) => self.may_refer(&inner.expr, is_whole),
            Expr::Try(inner) => self.may_refer(&inner.expr, false),
            Expr::Call(call) if is_whole && is_constructor(&call.func) => false,
            Expr::Call(call) => any(&call.args, false),
            Expr::MethodCall(call)
                if super::state::reads_only(&call.method) && !LENDING.iter().any(|name| call.method == name) =>
            {
                false
            }
            Expr::MethodCall(call) if GENERIC.iter().any(|name| call.method == name) => false,
            Expr::MethodCall(call) => self.may_lend(&call.receiver) || any(&call.args, false),
            Expr::Block(node) => self.may_end_in_reference(&node.block, is_whole),
            Expr::If(node) => {
                self.may_end_in_reference(&node.then_branch, is_whole)
                    || node.else_branch.as_ref().is_some_and(|(_, otherwise)| self.may_refer(otherwise, is_whole))
            }
            Expr::Match(node) => node.arms.iter().any(|arm| self.may_refer(&arm.body, is_whole)),
            Expr::Macro(call) => super::macros::arguments(&call.mac)
                .is_none_or(|arguments| !is_whole && arguments.iter().any(|argument| self.may_refer(argument, false))),
            _ => true,
        }
    }

    fn may_end_in_reference(&self, block: &syn::Block, is_whole: bool) -> bool {
        match block.stmts.last() {
            Some(syn::Stmt::Expr(value, None)) => self.may_refer(value, is_whole),
            _ => false,
        }
    }

    /// Returns whether a method of a value may return a `&mut` reference.
    fn may_lend(&self, receiver: &Expr) -> bool {
        let place = super::place::Place::of(receiver);
        let binding = place.and_then(|place| self.find(&place.base).map(|(_, binding)| binding));
        if matches!(receiver, Expr::MethodCall(_)) {
            return self.may_refer(receiver, false);
        }
        let is_lent = |binding: &Binding| !binding.host && (binding.mutable || binding.by_mut_ref);
        binding.is_some_and(is_lent) || self.may_refer(receiver, false)
    }

    /// Returns the number of bindings outside the innermost scope.
    pub(crate) fn start(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Marks the variables of a `let` without a value.
    pub(crate) fn defer(&mut self, from: usize) {
        for binding in &mut self.bindings[from..] {
            binding.deferred = true;
        }
    }

    /// Returns whether an expression certainly is a host value. `false` means that it may be either.
    pub(crate) fn is_host(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Lit(_) => true,
            Expr::Cast(cast) => is_never_traced(&cast.ty) || self.is_host(&cast.expr),
            Expr::Paren(inner) => self.is_host(&inner.expr),
            Expr::Group(inner) => self.is_host(&inner.expr),
            Expr::Reference(inner) => self.is_host(&inner.expr),
            Expr::Index(index) => self.is_host(&index.expr),
            Expr::Field(field) => matches!(&*field.base, Expr::Path(_)) && self.is_host(&field.base),
            Expr::Tuple(tuple) => tuple.elems.iter().all(|element| self.is_host(element)),
            Expr::Range(range) => range.start.iter().chain(&range.end).all(|end| self.is_host(end)),
            Expr::Unary(unary) => {
                matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_) | UnOp::Deref(_)) && self.is_host(&unary.expr)
            }
            Expr::Binary(binary) => self.is_host(&binary.left) && self.is_host(&binary.right),
            Expr::Path(path) => match path.path.get_ident().and_then(|name| self.find(name)) {
                Some((_, binding)) => binding.host,
                None => path.path.segments.last().is_some_and(|segment| is_constant_name(&segment.ident)),
            },
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                HOST_RESULTS.contains(&name.as_str())
                    || (self.is_host(&call.receiver) && call.args.iter().all(|argument| self.is_host(argument)))
            }
            Expr::Macro(call) => match super::matching::of_matches(&call.mac) {
                Some(node) => !super::matching::is_chain(&node, |expr| self.is_host(expr)),
                None => call.mac.path.is_ident("matches") || call.mac.path.is_ident("cfg"),
            },
            _ => false,
        }
    }
}

/// Returns whether an expression is a call with a `&mut` argument, which may therefore return such a reference.
pub(crate) fn may_lend_mutably(expr: &Expr) -> bool {
    let is_given = |arguments: &syn::punctuated::Punctuated<Expr, syn::Token![,]>| {
        arguments.iter().any(|argument| matches!(argument, Expr::Reference(given) if given.mutability.is_some()))
    };
    match expr {
        Expr::Paren(inner) => may_lend_mutably(&inner.expr),
        Expr::Try(inner) => may_lend_mutably(&inner.expr),
        Expr::Call(call) => is_given(&call.args),
        Expr::MethodCall(call) => is_given(&call.args) || may_lend_mutably(&call.receiver),
        _ => false,
    }
}

/// Returns whether a function is the constructor of a variant or tuple struct, by its name.
fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    path.path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
}

/// Returns whether values of a type may borrow, by its text.
fn may_borrow(ty: &Type) -> bool {
    let text = ty.to_token_stream().to_string();
    text.contains(['&', '\'']) || text.contains("Guard") || text.contains("Mut")
}

/// Returns the variable of a pattern that consists of one variable, bound by value and not `mut`.
pub(crate) fn plain_name(pattern: &mut Pat) -> Option<&mut syn::PatIdent> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none() => Some(name),
        Pat::Type(typed) => plain_name(&mut typed.pat),
        _ => None,
    }
}

/// Names of methods of the standard library that only read, and that methods of others which return references have.
const LENDING: [&str; 8] = ["as_ref", "borrow", "first", "get", "last", "max", "min", "unwrap_or"];

/// Methods of the standard library whose result has the type that its use demands. It may be unknown before that.
const GENERIC: [&str; 7] = ["collect", "into", "parse", "product", "sum", "try_collect", "try_into"];

/// Methods whose result is a host value, whatever the receiver.
const HOST_RESULTS: [&str; 9] = [
    "is_some",
    "is_none",
    "is_ok",
    "is_err",
    "contains_key",
    "starts_with",
    "ends_with",
    "eq_ignore_ascii_case",
    "is_some_and",
];

pub(crate) fn is_constant_name(name: &Ident) -> bool {
    let name = name.to_string();
    name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns whether a type is made only of Rust's own host types.
pub(crate) fn is_host_type(ty: &Type) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() => {
            let Some(last) = path.path.segments.last() else { return false };
            let name = last.ident.to_string();
            match &last.arguments {
                syn::PathArguments::None => PRIMITIVES.contains(&name.as_str()),
                syn::PathArguments::AngleBracketed(arguments) if CONTAINERS.contains(&name.as_str()) => arguments
                    .args
                    .iter()
                    .all(|argument| matches!(argument, syn::GenericArgument::Type(ty) if is_host_type(ty))),
                _ => false,
            }
        }
        Type::Reference(inner) => is_host_type(&inner.elem),
        Type::Paren(inner) => is_host_type(&inner.elem),
        Type::Group(inner) => is_host_type(&inner.elem),
        Type::Slice(slice) => is_host_type(&slice.elem),
        Type::Array(array) => is_host_type(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_host_type),
        _ => false,
    }
}

/// Returns whether values of a type move: it has an owner in it.
pub(crate) fn has_owner(ty: &Type) -> bool {
    let mut names = Vec::new();
    identifiers(quote::ToTokens::to_token_stream(ty), &mut names);
    let is_owner = |name: &Ident| name == "String" || CONTAINERS.contains(&name.to_string().as_str());
    !matches!(ungrouped(ty), Type::Reference(_)) && names.iter().any(is_owner)
}

/// Returns whether the target type of a cast is not an element type of arrays.
fn is_never_traced(ty: &Type) -> bool {
    let Type::Path(path) = ungrouped(ty) else { return true };
    let host_only = ["char", "usize", "isize", "u128", "i128"];
    path.path.get_ident().is_some_and(|name| host_only.contains(&name.to_string().as_str()))
}

/// Returns whether a type is `char`.
pub(crate) fn is_char(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.is_ident("char"))
}

/// Strips the parentheses of a type, and the invisible groups around a macro's arguments.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => ungrouped(&inner.elem),
        Type::Group(inner) => ungrouped(&inner.elem),
        other => other,
    }
}

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "str", "String", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "isize",
    "f32", "f64",
];
const CONTAINERS: [&str; 2] = ["Vec", "Option"];

fn is_mut_reference(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => reference.mutability.is_some(),
        Type::Paren(inner) => is_mut_reference(&inner.elem),
        Type::Group(inner) => is_mut_reference(&inner.elem),
        _ => false,
    }
}

/// Returns the names that a pattern binds, with whether each is `mut`, and whether it is `ref mut`.
pub(crate) fn pattern_names(pattern: &Pat) -> Vec<(Ident, bool, bool)> {
    struct Names(Vec<(Ident, bool, bool)>);
    impl syn::visit::Visit<'_> for Names {
        fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
            let by_ref = pattern.by_ref.is_some();
            let mutable = pattern.mutability.is_some();
            self.0.push((pattern.ident.clone(), mutable && !by_ref, mutable && by_ref));
            if let Some((_, inner)) = &pattern.subpat {
                self.visit_pat(inner);
            }
        }
        fn visit_expr(&mut self, _: &Expr) {}
    }
    let mut names = Names(Vec::new());
    syn::visit::Visit::visit_pat(&mut names, pattern);
    names.0
}

/// Collects every identifier in a stream of tokens.
pub(crate) fn identifiers(tokens: TokenStream, found: &mut Vec<Ident>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push(ident),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            _ => {}
        }
    }
}

/// Returns whether an operator compares.
pub(crate) fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_) | BinOp::Ne(_))
}
