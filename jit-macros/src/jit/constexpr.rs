//! `#[constexpr]` parameters: their marks, and the code that notes their values for reports of compilations.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    FnArg, GenericParam, Generics, Pat, Path, PredicateType, Signature, Token, Type, TypeImplTrait, TypeParamBound,
    WherePredicate,
};

use crate::freeze::parameter::spanned;
use crate::sink::Sink;

/// Takes the `#[constexpr]` marks from the parameters; returns for each parameter whether it had one.
pub(crate) fn take_marks(signature: &mut Signature, sink: &Sink) -> Vec<bool> {
    let mut marks = Vec::new();
    for argument in &mut signature.inputs {
        let attributes = match argument {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        let before = attributes.len();
        attributes.retain(|attribute| !attribute.path().is_ident("constexpr"));
        let marked = attributes.len() < before;
        if marked && !matches!(argument, FnArg::Typed(typed) if matches!(&*typed.pat, Pat::Ident(_))) {
            sink.error(argument.span(), "a `#[constexpr]` parameter needs a name");
        }
        marks.push(marked);
    }
    marks
}

/// Generates the code that notes the values of the marked parameters. Errors about their types are shown there.
pub(super) fn notes(
    signature: &Signature,
    marks: &[bool],
    private: impl Fn(proc_macro2::Span) -> TokenStream,
) -> TokenStream {
    let marked = signature.inputs.iter().zip(marks).filter(|(_, marked)| **marked);
    let notes = marked.enumerate().filter_map(|(position, (argument, _))| {
        let FnArg::Typed(typed) = argument else { return None };
        let Pat::Ident(pattern) = &*typed.pat else { return None };
        let (name, span) = (&pattern.ident, typed.ty.span());
        let private = private(span);
        let (label, hash) = (name.to_string(), hash(name, &typed.ty, &signature.generics, &private));
        Some(quote_spanned! {span=> {
            #[allow(unused_imports)]
            use #private::{Hashed as _, Parts as _, executor::{Named as _, Unnamed as _}};
            let __jit_hash = #hash;
            let __jit_text = || (&#private::executor::Debugged(&#name)).text();
            __jit_function.constexpr(#position, #label, __jit_hash, __jit_text);
        }})
    });
    notes.collect()
}

/// Generates a check that the values of the marked parameters are known while tracing, without using them.
pub(crate) fn checks(signature: &Signature, marks: &[bool], private: &TokenStream) -> TokenStream {
    let marked = signature.inputs.iter().zip(marks).filter(|(_, marked)| **marked);
    let checks = marked.filter_map(|(argument, _)| {
        let FnArg::Typed(typed) = argument else { return None };
        let Pat::Ident(pattern) = &*typed.pat else { return None };
        let span = typed.ty.span();
        let hash = hash(&pattern.ident, &typed.ty, &signature.generics, &spanned(private, span));
        Some(quote_spanned! {span=> {
            #[allow(unused_imports)]
            use #private::{Hashed as _, Parts as _};
            let _ = || #hash;
        }})
    });
    checks.collect()
}

/// Generates the hash of a value: functions have that of their type.
fn hash(name: &Ident, ty: &Type, generics: &Generics, private: &TokenStream) -> TokenStream {
    let span = ty.span();
    if is_callable(ty, generics) {
        return quote_spanned!(span=> #private::hash_callable(&#name));
    }
    let ty = (!has_impl_trait(ty)).then(|| quote!(::<#ty>));
    quote_spanned!(span=> #private::Constexpr::constexpr((&#private::ConstexprValue #ty(&#name)).key()))
}

/// Returns whether a type, or what it refers to, is `impl Fn(…)`, or a parameter with such a bound.
pub(crate) fn is_callable(ty: &Type, generics: &Generics) -> bool {
    match ty {
        Type::Reference(reference) => is_callable(&reference.elem, generics),
        Type::Paren(inner) => is_callable(&inner.elem, generics),
        Type::Group(inner) => is_callable(&inner.elem, generics),
        Type::ImplTrait(written) => has_fn_bound(&written.bounds),
        Type::TraitObject(written) => has_fn_bound(&written.bounds),
        Type::Path(path) => path.path.get_ident().is_some_and(|name| is_callable_parameter(name, generics)),
        _ => false,
    }
}

fn is_callable_parameter(name: &Ident, generics: &Generics) -> bool {
    let declared = generics.params.iter().any(|parameter| match parameter {
        GenericParam::Type(one) => one.ident == *name && has_fn_bound(&one.bounds),
        _ => false,
    });
    let is_own =
        |predicate: &PredicateType| matches!(&predicate.bounded_ty, Type::Path(path) if path.path.is_ident(name));
    let mut predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    declared
        || predicates.any(|predicate| match predicate {
            WherePredicate::Type(one) => is_own(one) && has_fn_bound(&one.bounds),
            _ => false,
        })
}

fn has_fn_bound(bounds: &Punctuated<TypeParamBound, Token![+]>) -> bool {
    let is_fn = |path: &Path| {
        path.segments.last().is_some_and(|last| ["Fn", "FnMut", "FnOnce"].iter().any(|name| last.ident == name))
    };
    bounds.iter().any(|bound| matches!(bound, TypeParamBound::Trait(bound) if is_fn(&bound.path)))
}

fn has_impl_trait(ty: &Type) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_type_impl_trait(&mut self, written: &'ast TypeImplTrait) {
            self.0 = true;
            visit::visit_type_impl_trait(self, written);
        }
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}
