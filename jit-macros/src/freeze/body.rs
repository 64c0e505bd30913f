//! The body of a frozen function as a callable: on copies of the arguments, or on the arguments themselves.
//!
//! For a free function it is a function inside the user's function. For a member of an `impl` block it is a closure,
//! because nested functions cannot refer to `Self`; there `self` is an ordinary parameter.

use super::parameter::RECEIVER;
use crate::sink::Sink;
use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, GenericParam, ItemFn, Lifetime, Pat, Receiver, ReceiverKind, ReturnType, Type};

/// The definition of the body, and the expression that calls it.
pub(crate) struct Body {
    pub(crate) definition: TokenStream,
    pub(crate) callee: TokenStream,
}

/// Returns the body as a function.
pub(crate) fn function(mut body: ItemFn) -> Body {
    body.vis = syn::Visibility::Inherited;
    body.sig.ident = Ident::new("__jit_body", body.sig.ident.span());
    let parameters = body.sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    });
    let (name, parameters) = (&body.sig.ident, parameters.collect::<Vec<_>>());
    let callee = match parameters.is_empty() {
        true => name.to_token_stream(),
        false => quote!(#name::<#(#parameters),*>),
    };
    Body { definition: body.into_token_stream(), callee }
}

/// Returns the body as a closure, which begins with some statements.
pub(crate) fn closure(body: ItemFn, first: &[TokenStream], sink: &Sink) -> Body {
    let block = body.block.to_token_stream();
    let this = unused(&block);
    let block = Renaming { name: &this, sink }.tokens(block);
    let parameters = body.sig.inputs.iter().map(|argument| match argument {
        FnArg::Receiver(receiver) => of_receiver(receiver, &this),
        FnArg::Typed(typed) => {
            let (pattern, mut ty) = (&typed.pat, typed.ty.clone());
            Elided.visit_type_mut(&mut ty);
            quote!(#pattern: #ty)
        }
    });
    let (attrs, span) = (&body.attrs, body.sig.ident.span());
    let result = result(&body.sig.output);
    let name = Ident::new("__jit_body", span);
    // Avoids a warning that a method does not use `self`.
    let block = match body.sig.receiver() {
        Some(receiver) => {
            let this = Ident::new(&this, receiver.self_token.span);
            quote!({ let _ = &#this; #(#first)* #block })
        }
        None if first.is_empty() => block,
        None => quote!({ #(#first)* #block }),
    };
    let definition = quote_spanned!(span=> #(#attrs)* let #name = |#(#parameters),*| -> #result #block;);
    Body { definition, callee: name.into_token_stream() }
}

/// Returns the type of the result.
pub(crate) fn result(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

/// Returns the receiver as a parameter.
fn of_receiver(receiver: &Receiver, name: &str) -> TokenStream {
    let (span, mutability) = (receiver.self_token.span, receiver.mutability);
    let (name, own) = (Ident::new(name, span), Ident::new("Self", span));
    match &receiver.kind {
        ReceiverKind::Reference(and, _, mutability) => quote!(#name: #and #mutability #own),
        ReceiverKind::Typed(_, ty) => {
            let mut ty = ty.clone();
            Elided.visit_type_mut(&mut ty);
            quote_spanned!(span=> #mutability #name: #ty)
        }
        _ => quote_spanned!(span=> #mutability #name: #own),
    }
}

/// Returns the name of `self` in the closure, and in messages about it: a name that the body does not contain.
fn unused(body: &TokenStream) -> String {
    fn has(tokens: &TokenStream, name: &str) -> bool {
        tokens.clone().into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == name,
            TokenTree::Group(group) => has(&group.stream(), name),
            _ => false,
        })
    }
    let mut name = "self_".to_owned();
    while has(body, &name) {
        name.push('_');
    }
    name
}

/// Renames `self` in the closure. Nested items have their own `self`.
struct Renaming<'a> {
    name: &'a str,
    sink: &'a Sink,
}

impl Renaming<'_> {
    fn tokens(&self, tokens: TokenStream) -> TokenStream {
        let all: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(all.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        let mut is_in_item = false;
        let each = all.iter().enumerate().map(|(at, token)| match token {
            TokenTree::Ident(ident) if ident == "impl" || ident == "trait" => {
                is_in_item = true;
                token.clone()
            }
            TokenTree::Ident(ident) if ident == RECEIVER && !(is_colon(at + 1) && is_colon(at + 2)) => {
                Ident::new(self.name, ident.span()).into()
            }
            TokenTree::Group(group) if is_in_item => {
                is_in_item = group.delimiter() != Delimiter::Brace;
                token.clone()
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.tokens(group.stream()));
                inner.set_span(group.span());
                inner.into()
            }
            TokenTree::Literal(literal) => {
                refuse_text(literal, self.sink);
                token.clone()
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => token.clone(),
        });
        each.collect()
    }
}

/// Rejects the name inside a text, which must not be changed.
fn refuse_text(literal: &Literal, sink: &Sink) {
    let text = literal.to_string();
    if text.contains("{self}") || text.contains("{self:") {
        let message = "the body of a `#[freeze]` method runs on a copy, which has another name: pass `self` as an \
            argument, `\"{}\", self`";
        sink.error(literal.span(), message);
    }
}

/// Leaves lifetimes and `impl Trait` in the types of parameters to inference, because each call of a closure has its
/// own.
struct Elided;

impl VisitMut for Elided {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(_) => *ty = syn::parse_quote!(_),
            // The lifetimes in the type of a function are its own.
            Type::FnPtr(_) => {}
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        reference.lifetime = reference.lifetime.take().filter(|lifetime| lifetime.ident == "static");
        self.visit_type_mut(&mut reference.elem);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        if bound.lifetimes.is_none() {
            visit_mut::visit_trait_bound_mut(self, bound);
        }
    }
}

/// Returns the name, if a pattern is nothing else.
pub(crate) fn name_of(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => Some(&pattern.ident),
        _ => None,
    }
}
