//! The parameters of a frozen function.

use crate::sink::Sink;
use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{FnArg, Pat, Receiver, ReceiverKind, Signature, Type};

/// How an argument is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `&mut T`
    Exclusive,
    /// `&T`
    Shared,
    /// `T`
    Value,
}

pub(super) struct Parameter {
    pub(super) name: Ident,
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// Reads the parameters; those without a name are errors.
pub(super) fn parameters(signature: &Signature, sink: &Sink) -> Vec<Parameter> {
    let each = signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Receiver(receiver) => Some(of_receiver(receiver)),
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => {
                Some(Parameter { name: pattern.ident.clone(), kind: kind_of(&typed.ty), span: typed.ty.span() })
            }
            other => {
                sink.error(
                    other.span(),
                    "a parameter of a `#[freeze]` function needs a name: take it apart in the body",
                );
                None
            }
        },
    });
    each.collect()
}

fn of_receiver(receiver: &Receiver) -> Parameter {
    let kind = match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => Kind::Exclusive,
        ReceiverKind::Reference(_, _, None) => Kind::Shared,
        ReceiverKind::Typed(_, ty) => kind_of(ty),
        _ => Kind::Value,
    };
    Parameter { name: Ident::new("self", receiver.self_token.span), kind, span: receiver.self_token.span }
}

fn kind_of(ty: &Type) -> Kind {
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => Kind::Exclusive,
        Type::Reference(_) => Kind::Shared,
        Type::Paren(inner) => kind_of(&inner.elem),
        Type::Group(inner) => kind_of(&inner.elem),
        _ => Kind::Value,
    }
}
