//! What can be refused by looking at the syntax alone.

use crate::sink::Sink;
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Signature, Type};

/// The attribute stands on something that is no function.
pub(super) fn not_a_function(item: &TokenStream, sink: &Sink) {
    let span = item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    sink.error(span, "`#[freeze]` goes on a function or a method; of a closure make one by `jit::freeze::Frozen::new`");
}

/// Functions that cannot be recorded.
pub(super) fn signature(signature: &Signature, sink: &Sink) {
    if let Some(token) = &signature.asyncness {
        sink.error(token.span, "`#[freeze]` functions cannot be `async`: a recording is made in one go");
    }
    if let Some(token) = &signature.constness {
        sink.error(token.span, "`#[freeze]` functions cannot be `const`: recordings are made when the program runs");
    }
    if let Some(abi) = &signature.abi {
        sink.error(abi.span(), "`#[freeze]` functions cannot be `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        sink.error(variadic.span(), "`#[freeze]` functions cannot be variadic");
    }
    for argument in &signature.inputs {
        if let FnArg::Typed(typed) = argument
            && let Type::ImplTrait(ty) = &*typed.ty
        {
            sink.error(
                ty.span(),
                "a parameter of a `#[freeze]` function has a type with a name: recordings are found by it",
            );
        }
    }
    if let syn::ReturnType::Type(_, ty) = &signature.output {
        match &**ty {
            Type::ImplTrait(ty) => {
                sink.error(
                    ty.span(),
                    "a `#[freeze]` function returns a type with a name: later calls make values of it",
                );
            }
            Type::Reference(ty) => {
                sink.error(
                    ty.span(),
                    "a `#[freeze]` function returns values, not references: later calls make new ones",
                );
            }
            _ => {}
        }
    }
    if signature.inputs.len() > 11 {
        sink.error(
            signature.inputs.span(),
            "`#[freeze]` functions have at most 11 parameters: make a struct of some, with `#[derive(Traverse)]`",
        );
    }
}

/// Takes `#[jit]` away, which the body gets; refuses a second `#[freeze]`.
pub(super) fn take_attributes(attributes: &mut Vec<Attribute>, sink: &Sink) -> Option<Attribute> {
    let mut traced = None;
    attributes.retain(|attribute| match attribute.path().segments.last() {
        Some(last) if last.ident == "jit" => {
            traced = Some(attribute.clone());
            false
        }
        Some(last) if last.ident == "freeze" => {
            sink.error(attribute.path().span(), "`#[freeze]` is given twice");
            false
        }
        _ => true,
    });
    traced
}
