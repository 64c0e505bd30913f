//! The implementation of `Build`, beside that of `Traverse`.
//!
//! It holds if all fields can be built. That is a condition of the implementation, so a type with other fields is
//! rejected where a value of it would be built, and nowhere else. The bound by a lifetime has the compiler check it
//! there. A field whose type mentions the deriving type has a condition on the rest of the type alone.

use super::bounds;
use super::parse::{Field, Parsed, Variant};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// Returns the implementation for a type. Types without values have none, nor have those that contain themselves in
/// other types than containers of the standard library.
pub(super) fn generate(parsed: &Parsed<'_>) -> TokenStream {
    let Some(conditions) = conditions(parsed).filter(|_| !parsed.variants.is_empty()) else {
        return TokenStream::new();
    };
    let (ident, krate) = (parsed.ident, &parsed.krate);
    let (impl_generics, ty_generics, _) = parsed.generics.split_for_impl();
    let where_clause = bounds::where_clause(parsed);
    let body = body(parsed);
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Build for #ident #ty_generics #where_clause #(#conditions,)* {
            fn build(
                __jit_leaves: &mut #krate::LeafReader<'_>,
            ) -> ::core::result::Result<Self, #krate::Error> {
                #body
            }
        }
    }
}

/// Returns the conditions that the fields put on the implementation; none if there can be no implementation.
fn conditions(parsed: &Parsed<'_>) -> Option<Vec<TokenStream>> {
    let krate = &parsed.krate;
    let of_field = |field: &Field<'_>| {
        let (ty, span) = (bounds::without_itself(field.ty, parsed)?, field.ty.span());
        Some(match field.is_constexpr {
            true => quote_spanned!(span=> for<'__jit> #ty: #krate::__private::BuildConstant),
            false => quote_spanned!(span=> for<'__jit> #ty: #krate::Build),
        })
    };
    let of_variant = |variant: &Variant<'_>| {
        let skipped = variant.skipped.iter();
        let skipped = skipped.map(|(_, ty)| quote_spanned!(ty.span()=> for<'__jit> #ty: ::core::default::Default));
        variant.fields.iter().map(of_field).chain(skipped.map(Some)).collect::<Vec<_>>()
    };
    parsed.variants.iter().flat_map(of_variant).collect()
}

fn body(parsed: &Parsed<'_>) -> TokenStream {
    if let [Variant { name: None, .. }] = &parsed.variants[..] {
        return value(&parsed.variants[0], &parsed.krate);
    }
    let arms = parsed.variants.iter().map(|variant| {
        let (name, value) = (variant.name.as_deref().unwrap_or_default(), value(variant, &parsed.krate));
        let value = match variant.fields.is_empty() {
            true => value,
            false => quote!(__jit_leaves.field(#name, |__jit_leaves| { #value })),
        };
        quote!(#name => { #value })
    });
    let expected = format!("one of `{}`", parsed.ident);
    quote! {
        match __jit_leaves.variant()? {
            #(#arms)*
            __jit_other => ::core::result::Result::Err(
                __jit_leaves.wrong(&::std::format!("the variant `{__jit_other}`"), #expected)
            ),
        }
    }
}

/// Builds a struct, or one variant.
fn value(variant: &Variant<'_>, krate: &TokenStream) -> TokenStream {
    let pattern = &variant.pattern;
    let fields = variant.fields.iter().map(|Field { member, name, ty, is_constexpr, .. }| {
        let build = match is_constexpr {
            true => quote_spanned!(ty.span()=> <#ty as #krate::__private::BuildConstant>::build_constant),
            false => quote_spanned!(ty.span()=> <#ty as #krate::Build>::build),
        };
        quote!(#member: __jit_leaves.field(#name, #build)?)
    });
    let skipped = variant.skipped.iter().map(|(member, _)| quote!(#member: ::core::default::Default::default()));
    quote!(::core::result::Result::Ok(#pattern { #(#fields,)* #(#skipped,)* }))
}
