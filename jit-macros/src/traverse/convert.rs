//! `#[derive(Convert)]`: a module with parameters of another element type.
//!
//! The type has a parameter `T: FloatElement`, which the conversion replaces. Fields whose type mentions it are
//! converted, all others are cloned.

use crate::sink::{Sink, expand_derive};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Field, Fields, GenericParam, Generics, Path, TypeParamBound};

/// Expands the derive on a type. For a rejected type, only the errors are generated.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    expand_derive(item, expand_type)
}

fn expand_type(input: &DeriveInput, sink: &Sink) -> Option<TokenStream> {
    let krate = super::options::of_type(&input.attrs, sink).krate;
    let krate = krate.as_ref().map_or_else(|| quote!(::jit), Path::to_token_stream);
    let Some(element) = element_parameter(&input.generics) else {
        sink.error(
            input.ident.span(),
            "there is no element type to convert: write `struct Net<T: FloatElement = f32>`, with layers of `T`",
        );
        return None;
    };
    let arms: Vec<TokenStream> = match &input.data {
        Data::Struct(data) => vec![arm(&input.ident.to_token_stream(), &data.fields, element, &krate)],
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                let (of, ident) = (&input.ident, &variant.ident);
                arm(&quote!(#of::#ident), &variant.fields, element, &krate)
            })
            .collect(),
        Data::Union(data) => {
            sink.error(data.union_token.span(), "a union has no fields that can be converted");
            return None;
        }
    };
    Some(implementation(input, element, &krate, &arms))
}

/// Returns the only type parameter that is bounded by `FloatElement`.
fn element_parameter(generics: &Generics) -> Option<&Ident> {
    let is_float = |bound: &TypeParamBound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|last| last.ident == "FloatElement"),
        _ => false,
    };
    let mut found = generics.type_params().filter(|parameter| parameter.bounds.iter().any(is_float));
    let first = found.next()?;
    found.next().is_none().then_some(&first.ident)
}

fn implementation(input: &DeriveInput, element: &Ident, krate: &TokenStream, arms: &[TokenStream]) -> TokenStream {
    let (ident, other) = (&input.ident, Ident::new("__JitOther", Span::call_site()));
    let (_, ty_generics, where_clause) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    let bounds = generics.type_params().find(|parameter| parameter.ident == *element).map(|found| &found.bounds);
    let parameter = syn::parse_quote!(#other: #bounds);
    generics.params.push(parameter);
    let (impl_generics, ..) = generics.split_for_impl();
    let own = where_clause.iter().flat_map(|clause| &clause.predicates);
    let of_other = own.clone().map(|predicate| replaced(predicate.to_token_stream(), element, &other));
    let converted = replaced(ty_generics.to_token_stream(), element, &other);
    let clones = clones(input, element);
    let body = if arms.is_empty() { quote!(match *self {}) } else { quote!(match self { #(#arms)* }) };
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::nn::Convert<#other> for #ident #ty_generics
        where #(#own,)* #(#of_other,)* #(#clones,)*
        {
            type Output = #ident #converted;

            #[track_caller]
            fn convert(&self) -> Self::Output {
                #body
            }
        }
    }
}

/// Returns the bounds of the type parameters in fields that are cloned.
fn clones(input: &DeriveInput, element: &Ident) -> Vec<TokenStream> {
    let all = input.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) if parameter.ident != *element => Some(&parameter.ident),
        _ => None,
    });
    all.map(|parameter| quote!(#parameter: ::core::clone::Clone)).collect()
}

/// Converts a struct, or one variant.
fn arm(path: &TokenStream, fields: &Fields, element: &Ident, krate: &TokenStream) -> TokenStream {
    let bindings: Vec<Ident> =
        (0..fields.len()).map(|number| format_ident!("__jit_{number}", span = Span::mixed_site())).collect();
    let members: Vec<_> = fields.members().collect();
    let values = fields.iter().zip(&bindings).map(|(field, binding)| value(field, binding, element, krate));
    quote!(#path { #(#members: #bindings,)* } => #path { #(#members: #values,)* },)
}

fn value(Field { ty, .. }: &Field, binding: &Ident, element: &Ident, krate: &TokenStream) -> TokenStream {
    match mentions(ty.to_token_stream(), element) {
        true => quote_spanned!(ty.span()=> <#ty as #krate::nn::Convert<__JitOther>>::convert(#binding)),
        false => quote_spanned!(ty.span()=> <#ty as ::core::clone::Clone>::clone(#binding)),
    }
}

/// Returns whether an identifier is among some tokens.
fn mentions(tokens: TokenStream, wanted: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *wanted,
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        _ => false,
    })
}

/// Replaces an identifier by another one.
fn replaced(tokens: TokenStream, from: &Ident, to: &Ident) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == *from => TokenTree::Ident(to.clone()),
        TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), replaced(group.stream(), from, to))),
        other => other,
    };
    tokens.into_iter().map(replace).collect()
}
