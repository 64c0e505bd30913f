//! Errors that follow from the syntax alone.

use super::parameter::is_borrowing;
use crate::jit::constexpr;
use crate::sink::Sink;
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, Signature, Type, TypeReference};

/// Rejects the attribute on an item that is not a function.
pub(super) fn not_a_function(item: &TokenStream, sink: &Sink) {
    let kinds = ["fn", "struct", "enum", "union", "trait", "impl", "mod", "static", "const", "type", "use"];
    let mut tokens = item.clone().into_iter();
    let keyword = tokens.find(|token| kinds.contains(&token.to_string().as_str()));
    let Some(token) = keyword.or_else(|| item.clone().into_iter().next()) else {
        return sink.error(Span::call_site(), "`#[freeze]` applies to a function or a method");
    };
    let message = match token.to_string().as_str() {
        "fn" => match syn::parse2::<syn::TraitItemFn>(item.clone()) {
            Ok(_) => "a `#[freeze]` function needs a body: move the attribute to functions that have one",
            Err(error) => return sink.push(error),
        },
        "impl" | "trait" => "`#[freeze]` applies to functions: move it to those in here that should be recorded",
        "struct" | "enum" => {
            "`#[freeze]` applies to a function or a method; the types of its arguments need \
             `#[derive(Clone, Traverse)]`"
        }
        _ => "`#[freeze]` applies to a function or a method; wrap a closure in `jit::freeze::Frozen::new`",
    };
    sink.error(token.span(), message);
}

/// Rejects functions that cannot be recorded.
pub(super) fn signature(signature: &Signature, sink: &Sink) {
    let refuse = |span, kind: &str, why: &str| {
        sink.error(span, format!("`#[freeze]` functions cannot be {kind}: {why}"));
    };
    if let Some(token) = &signature.asyncness {
        refuse(token.span, "`async`", "recording cannot be suspended");
    }
    if let Some(token) = &signature.constness {
        refuse(token.span, "`const`", "recordings are made when the program runs");
    }
    if let syn::Safety::Unsafe(token) = &signature.safety {
        refuse(token.span, "`unsafe`", "replays do not run the body, and cannot uphold its safety conditions");
    }
    if let Some(abi) = &signature.abi {
        refuse(abi.extern_token.span, "`extern`", "recordings are found by the Rust types of the arguments");
    }
    if let Some(variadic) = &signature.variadic {
        refuse(variadic.span(), "variadic", "recordings are found by the types of the arguments");
    }
    let arguments = signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => kept(&typed.ty),
        FnArg::Receiver(_) => None,
    });
    arguments.for_each(|ty| borrows_nothing(ty, sink));
    if let syn::ReturnType::Type(_, ty) = &signature.output {
        match &**ty {
            Type::ImplTrait(ty) => {
                sink.error(
                    ty.span(),
                    "a `#[freeze]` function returns a named type: later calls construct values of it",
                );
            }
            Type::Reference(ty) => {
                sink.error(
                    ty.span(),
                    "a `#[freeze]` function returns values, not references: later calls construct new ones",
                );
            }
            _ => {}
        }
    }
}

/// Takes the marks of `#[constexpr]` parameters, for each value of which a recording is made; returns for each
/// parameter whether it had one.
pub(super) fn take_constexprs(signature: &mut Signature, sink: &Sink) -> Vec<bool> {
    let marks = constexpr::take_marks(signature, sink);
    for (argument, _) in signature.inputs.iter().zip(&marks).filter(|(_, is_marked)| **is_marked) {
        if let FnArg::Typed(typed) = argument
            && constexpr::is_callable(&typed.ty, &signature.generics)
        {
            sink.error(
                typed.ty.span(),
                "a `#[freeze]` function cannot take a function or closure, as later calls do not run it: call it in a \
                 `#[freeze]` function of its own, or choose by an enum",
            );
        }
    }
    marks
}

/// Returns the type of an argument's part that later calls create anew: all of one by value that owns its data, or the
/// referent of `&mut`.
fn kept(ty: &Type) -> Option<&Type> {
    match ty {
        _ if is_borrowing(ty) => None,
        Type::Reference(TypeReference { mutability: None, .. }) => None,
        Type::Reference(reference) => Some(&reference.elem),
        _ => Some(ty),
    }
}

/// Rejects references inside a type that later calls create anew.
fn borrows_nothing(ty: &Type, sink: &Sink) {
    struct References<'a>(&'a Sink);
    impl Visit<'_> for References<'_> {
        fn visit_type_reference(&mut self, reference: &TypeReference) {
            if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") {
                let text = "a parameter that a `#[freeze]` function takes by value or by `&mut` cannot contain \
                    references, except in options, tuples and arrays of `&T` alone: own the data, or take the whole \
                    parameter by `&`";
                self.0.error(reference.span(), text);
            }
        }

        // Types of functions have their own references.
        fn visit_type_fn_ptr(&mut self, _: &syn::TypeFnPtr) {}
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {}
        fn visit_type_trait_object(&mut self, _: &syn::TypeTraitObject) {}
    }
    visit::visit_type(&mut References(sink), ty);
}

/// Returns the signature without the parts that [`signature`] rejects.
pub(super) fn plain(signature: &Signature) -> Signature {
    Signature {
        asyncness: None,
        constness: None,
        safety: syn::Safety::Default,
        abi: None,
        variadic: None,
        ..signature.clone()
    }
}

/// Removes `#[jit]`, which the body gets; rejects a second `#[freeze]`.
pub(super) fn take_attributes(attributes: &mut Vec<Attribute>, sink: &Sink) -> Option<Attribute> {
    let mut traced = None;
    attributes.retain(|attribute| match attribute.path().segments.last() {
        Some(last) if last.ident == "jit" => {
            if traced.is_some() {
                sink.error(attribute.path().span(), "`#[jit]` appears twice");
            }
            traced = Some(attribute.clone());
            false
        }
        Some(last) if last.ident == "freeze" => {
            sink.error(attribute.path().span(), "`#[freeze]` appears twice");
            false
        }
        _ => true,
    });
    traced
}

/// Rejects functions with more parameters than the run-time support takes.
pub(super) fn count(signature: &Signature, most: usize, sink: &Sink) {
    if let Some(first) = signature.inputs.iter().nth(most) {
        let text = format!(
            "`#[freeze]` functions have at most {most} parameters{}: combine some in a struct with \
             `#[derive(Clone, Traverse)]`",
            if most < super::MAX_ARGUMENTS { " beside `state`" } else { "" }
        );
        sink.error(first.span(), text);
    }
}
