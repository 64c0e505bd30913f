//! The parameters of a frozen function.

use super::body::name_of;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{FnArg, Receiver, ReceiverKind, Signature, Type};

/// The name of the receiver.
pub(crate) const RECEIVER: &str = "self";

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `&mut T`
    Exclusive,
    /// `&T`
    Shared,
    /// `T`
    Value,
    /// References in options, tuples or arrays, such as `Option<&T>`.
    Borrowing,
}

pub(crate) struct Parameter {
    /// Its name in the user's function, or a generated one if the user's has a pattern.
    pub(crate) name: Ident,
    /// Its name in messages.
    pub(crate) label: String,
    kind: Kind,
    /// Whether its type is written out nowhere: one without a name, `&impl Trait`, or one with lifetimes.
    is_unnamed: bool,
    /// Whether the user's function has a pattern for it.
    is_pattern: bool,
    pub(crate) span: Span,
}

/// Reads the parameters.
pub(crate) fn parameters(signature: &Signature) -> Vec<Parameter> {
    let each = signature.inputs.iter().enumerate().map(|(position, argument)| match argument {
        FnArg::Receiver(receiver) => of_receiver(receiver),
        FnArg::Typed(typed) => {
            let ours = || format_ident!("argument_{position}", span = Span::mixed_site().located_at(typed.pat.span()));
            let (name, kind) = (name_of(&typed.pat).cloned().unwrap_or_else(ours), kind_of(&typed.ty));
            let label =
                name_of(&typed.pat).map_or_else(|| typed.pat.to_token_stream().to_string(), |name| name.to_string());
            let is_unnamed = kind == Kind::Borrowing || has_unnamed(&typed.ty);
            let is_pattern = name_of(&typed.pat).is_none();
            Parameter { name, label, kind, is_unnamed, is_pattern, span: typed.ty.span() }
        }
    });
    each.collect()
}

/// Replaces the patterns of the user's function by names; the body destructures them.
pub(crate) fn name(signature: &mut Signature, parameters: &[Parameter]) {
    for (argument, parameter) in signature.inputs.iter_mut().zip(parameters) {
        match argument {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(typed) => {
                let name = &parameter.name;
                *typed.pat = syn::parse_quote!(#name);
            }
        }
    }
}

fn of_receiver(receiver: &Receiver) -> Parameter {
    let kind = match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => Kind::Exclusive,
        ReceiverKind::Reference(_, _, None) => Kind::Shared,
        ReceiverKind::Typed(_, ty) => kind_of(ty),
        _ => Kind::Value,
    };
    let span = receiver.self_token.span;
    let name = Ident::new(RECEIVER, span);
    Parameter { name, label: RECEIVER.to_owned(), kind, is_unnamed: false, is_pattern: false, span }
}

fn kind_of(ty: &Type) -> Kind {
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => Kind::Exclusive,
        Type::Reference(_) => Kind::Shared,
        Type::Paren(inner) => kind_of(&inner.elem),
        Type::Group(inner) => kind_of(&inner.elem),
        _ if is_borrowing(ty) => Kind::Borrowing,
        _ => Kind::Value,
    }
}

/// Whether a type consists of shared references alone, in options, tuples and arrays. Those that live for ever can be
/// copied with their value, as any other data.
pub(crate) fn is_borrowing(ty: &Type) -> bool {
    let is_part = |ty: &Type| matches!(kind_of(ty), Kind::Shared | Kind::Borrowing) && !is_static(ty);
    match ty {
        Type::Tuple(tuple) => !tuple.elems.is_empty() && tuple.elems.iter().all(is_part),
        Type::Array(array) => is_part(&array.elem),
        Type::Path(path) => option_of(path).is_some_and(is_part),
        _ => false,
    }
}

pub(crate) fn is_static(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static"),
        Type::Paren(inner) => is_static(&inner.elem),
        Type::Group(inner) => is_static(&inner.elem),
        _ => false,
    }
}

/// The `T` of `Option<T>`.
fn option_of(path: &syn::TypePath) -> Option<&Type> {
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(syn::GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

/// Calls a function with each reference that a borrowing type consists of.
pub(crate) fn for_each_reference(ty: &mut Type, change: &mut dyn FnMut(&mut syn::TypeReference)) {
    match ty {
        Type::Reference(reference) => change(reference),
        Type::Paren(inner) => for_each_reference(&mut inner.elem, change),
        Type::Group(inner) => for_each_reference(&mut inner.elem, change),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|ty| for_each_reference(ty, change)),
        Type::Array(array) => for_each_reference(&mut array.elem, change),
        Type::Path(path) => {
            let last = path.path.segments.last_mut().map(|last| &mut last.arguments);
            if let Some(syn::PathArguments::AngleBracketed(arguments)) = last
                && let Some(syn::GenericArgument::Type(ty)) = arguments.args.first_mut()
            {
                for_each_reference(ty, change);
            }
        }
        _ => {}
    }
}

fn has_unnamed(ty: &Type) -> bool {
    struct Search(bool);
    impl Visit<'_> for Search {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}

impl Parameter {
    /// Returns how it is passed.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Generates the argument in the form that the run-time support takes.
    pub(crate) fn given(&self, private: &TokenStream) -> TokenStream {
        let (name, span, private) = (&self.name, self.span, spanned(private, self.span));
        match self.kind {
            Kind::Exclusive => quote_spanned!(span=> #private::freeze::Exclusive(&mut *#name)),
            Kind::Shared => quote_spanned!(span=> #private::freeze::Shared(#name)),
            Kind::Value => quote_spanned!(span=> #private::freeze::ByValue(&#name)),
            Kind::Borrowing => quote_spanned!(span=> #private::freeze::Lending(&#name)),
        }
    }

    /// Generates the argument of the body when it runs on the caller's.
    pub(crate) fn again(&self) -> TokenStream {
        let name = &self.name;
        match self.kind {
            Kind::Exclusive => quote_spanned!(self.span=> &mut *#name),
            Kind::Shared | Kind::Value | Kind::Borrowing => name.to_token_stream(),
        }
    }

    /// Generates the part of it that the body may have changed.
    pub(crate) fn changed(&self) -> Option<TokenStream> {
        let name = &self.name;
        matches!(self.kind, Kind::Exclusive).then(|| quote_spanned!(self.span=> &#name))
    }

    /// Generates the argument in the form that the run-time support takes, if it is a plain number.
    pub(crate) fn given_as_number(&self, private: &TokenStream) -> TokenStream {
        let (name, private) = (&self.name, spanned(private, self.span));
        quote_spanned!(self.span=> #private::freeze::Number(&#name))
    }

    /// Generates a marker for the type of an argument without a name, used to lend a copy.
    pub(crate) fn remembered_type(&self, position: usize, private: &TokenStream) -> Option<TokenStream> {
        let (name, ty, private) = (&self.name, remembered(position), spanned(private, self.span));
        let behind = match self.kind {
            Kind::Borrowing | Kind::Value => quote!(&#name),
            _ => quote!(&*#name),
        };
        self.is_unnamed.then(|| quote_spanned!(self.span=> let #ty = #private::freeze::type_behind(#behind);))
    }

    /// Generates a statement for a body that is a closure, after which the compiler knows the type of an argument
    /// without a name.
    pub(crate) fn known_type(&self, position: usize, private: &TokenStream) -> Option<TokenStream> {
        let (name, ty, private) = (&self.name, remembered(position), spanned(private, self.span));
        let behind = match self.kind {
            Kind::Value => quote!(&#name),
            _ => quote!(&*#name),
        };
        let is_known = !self.is_unnamed || self.is_pattern || self.kind == Kind::Borrowing;
        (!is_known).then(|| quote_spanned!(self.span=> #private::freeze::is_of_type(#behind, #ty);))
    }

    /// Generates the argument of the body, lent from the copies.
    pub(crate) fn lent(&self, position: usize, proxies: &Ident, private: &TokenStream) -> TokenStream {
        // All at one place, so that a message about the argument appears once.
        let span = proxies.span();
        let (private, index) = (spanned(private, span), syn::Index { index: position as u32, span });
        let ty = match self.is_unnamed {
            true => remembered(position).into_token_stream(),
            false => quote_spanned!(span=> ::core::marker::PhantomData),
        };
        match self.kind {
            Kind::Exclusive => quote_spanned!(span=> #private::freeze::lend_mut(&mut #proxies.#index, #ty)),
            Kind::Shared => quote_spanned!(span=> #private::freeze::lend(&#proxies.#index, #ty)),
            Kind::Value => quote_spanned!(span=> #private::freeze::copied(&#proxies.#index)),
            Kind::Borrowing => quote_spanned!(span=> #private::freeze::lend_parts(&#proxies.#index, #ty)),
        }
    }

    /// Generates the argument for reading; if borrowed by `&mut`, through all arguments.
    pub(crate) fn shared(&self, arguments: &Ident, position: usize) -> TokenStream {
        let (name, index) = (&self.name, syn::Index::from(position));
        match self.kind {
            Kind::Exclusive => quote!(&*#arguments.#index.0),
            Kind::Shared => quote!(#name),
            Kind::Value | Kind::Borrowing => quote!(&#name),
        }
    }
}

/// Returns a path with another span, so that messages point at its use.
pub(crate) fn spanned(path: &TokenStream, span: Span) -> TokenStream {
    let each = path.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    each.collect()
}

fn remembered(position: usize) -> Ident {
    format_ident!("__jit_type_{position}", span = Span::mixed_site())
}
