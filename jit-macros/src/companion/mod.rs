//! The items beside a function `f`: `f::stats()`, `f::compile(…)` and so on, for `#[jit]` and `#[freeze]` functions.
//!
//! They belong to a type `f`, which is in another namespace than the function. The type is imported by a glob, so that
//! a module or type `f` of the user's takes precedence: then only these functions are missing. Items beside a method
//! `m` are called `m_stats`, `m_compile` and so on, and are functions of the same type.
//!
//! Documentation is built without them, where a second item of the same name would make links ambiguous. They are
//! `#[inline]`: a crate that does not call them contains no code for them.

pub(crate) mod compile;
mod enclosing;
mod place;
pub(crate) mod signature;

use crate::jit::identifiers;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{GenericParam, ItemFn, ItemImpl};

pub(crate) use place::Place;

/// Puts items beside a function, in the form that its place allows. `None` if it allows none.
pub(crate) fn beside(place: Place, function: &ItemFn, items: &TokenStream) -> Option<TokenStream> {
    let (vis, name) = (&function.vis, &function.sig.ident);
    match place {
        Place::Free => {
            let module = format_ident!("jit_beside_{}", name, span = Span::call_site());
            // Items of a private type's implementation may be as visible as the function, but not more than the type.
            Some(quote_spanned! {name.span()=>
                #[cfg(not(doc))]
                #[doc(hidden)]
                #[allow(non_snake_case)]
                mod #module {
                    #[allow(non_camel_case_types, dead_code, missing_debug_implementations, unreachable_pub,
                        missing_docs)]
                    pub struct #name { _private: () }
                }
                #[cfg(not(doc))]
                #[doc(hidden)]
                #[allow(unused_imports, unreachable_pub)]
                #vis use #module::*;
                #[cfg(not(doc))]
                #[allow(dead_code, unused, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
                impl #module::#name { #items }
            })
        }
        Place::Inherent => Some(quote!(#items)),
        Place::Member => None,
    }
}

/// Puts items beside the methods of a trait that a block implements: into a trait of their own, so they are found where
/// the block is. `None` if that trait could not be implemented for the same types.
pub(crate) fn beside_trait(block: &ItemImpl, items: &TokenStream) -> Option<TokenStream> {
    let (ty, path) = (&block.self_ty, &block.trait_.as_ref()?.0);
    let (params, _, conditions) = block.generics.split_for_impl();
    let mut named = Vec::new();
    identifiers(ty.to_token_stream(), &mut named);
    let is_named = |param: &GenericParam| match param {
        GenericParam::Type(param) => named.contains(&param.ident),
        GenericParam::Const(param) => named.contains(&param.ident),
        GenericParam::Lifetime(_) => true,
    };
    if !block.generics.params.iter().all(is_named) {
        return None;
    }
    // Blocks for the same trait differ in their types.
    let text = quote!(#params #path for #ty #conditions).to_string();
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let name = path.segments.last().map(|segment| format_ident!("{}Functions{hash:016x}", segment.ident))?;
    Some(quote! {
        #[cfg(not(doc))]
        #[doc(hidden)]
        #[allow(dead_code, unused, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
        trait #name { #items }
        #[cfg(not(doc))]
        #[allow(unused, clippy::all, clippy::pedantic)]
        impl #params #name for #ty #conditions {}
    })
}

/// Returns the path of the type beside a function, which a user's module or type does not hide.
pub(crate) fn type_beside(function: &Ident) -> TokenStream {
    let module = format_ident!("jit_beside_{}", function, span = Span::call_site());
    quote!(#module::#function)
}

/// Returns the name of an item beside a function.
pub(crate) fn item_name(place: Place, function: &Ident, what: &str) -> Ident {
    match place {
        Place::Free => Ident::new(what, function.span()),
        Place::Inherent | Place::Member => format_ident!("{}_{}", function, what, span = Span::call_site()),
    }
}
