//! The implementation.

use super::parse::{Parsed, Variant};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Member, Type};

/// Returns the implementations for an enum.
pub(super) fn generate(parsed: &Parsed<'_>) -> TokenStream {
    let (ident, krate, variants) = (parsed.ident, &parsed.krate, &parsed.variants);
    let (impl_generics, ty_generics, _) = parsed.generics.split_for_impl();
    let where_clause = where_clause(parsed);
    let of_variants = |each: &dyn Fn(usize, &Type) -> TokenStream| {
        list(variants.iter().enumerate().map(|(at, variant)| list(variant.fields.iter().map(|(_, ty)| each(at, ty)))))
    };
    let types = of_variants(&|_, ty| ty.to_token_stream());
    let names = variants.iter().map(|variant| variant.ident.unraw().to_string());
    let parts = parts(parsed);
    let values = values(parsed);
    let again = list(variants.iter().enumerate().map(|(at, variant)| {
        list(variant.fields.iter().enumerate().map(|(position, (_, ty))| {
            let place = place(at, position);
            field(krate, ty, "again", &quote!(&__jit_fields #place))
        }))
    }));
    let zero = of_variants(&|_, ty| field(krate, ty, "zero", &TokenStream::new()));
    let (show, lend) = (visits(parsed, "show", &quote!(&)), visits(parsed, "lend", &quote!(&mut)));
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::TracedEnum for #ident #ty_generics #where_clause {
            type Fields = #types;
            const VARIANTS: &'static [&'static str] = &[#(#names),*];
            fn __jit_parts(&self) -> (u32, Self::Fields) {
                #parts
            }
            fn __jit_zero() -> Self::Fields {
                #zero
            }
            fn __jit_variant(__jit_variant: u32, __jit_fields: &Self::Fields) -> Self {
                #values
            }
            fn __jit_clone_arg(__jit_fields: &Self::Fields) -> Self::Fields {
                #again
            }
            fn __jit_show(__jit_fields: &Self::Fields, __jit_visitor: &mut #krate::Visitor<'_>) {
                #show
            }
            fn __jit_lend(__jit_fields: &mut Self::Fields, __jit_visitor: &mut #krate::VisitorMut<'_>) {
                #lend
            }
        }

        #[automatically_derived]
        impl #impl_generics #krate::__private::Choosable for #ident #ty_generics #where_clause {
            type Choice = #krate::__private::Choice<Self, #krate::__private::Owned>;
            fn choice(&self) -> Self::Choice {
                #krate::__private::Choosable::choice(&#krate::Traced::from(self))
            }
        }
    }
}

/// Generates the `where` clause: a field whose type mentions a parameter bounds that type.
fn where_clause(parsed: &Parsed<'_>) -> TokenStream {
    let krate = &parsed.krate;
    let own = parsed.generics.where_clause.iter().flat_map(|clause| &clause.predicates).map(ToTokens::to_token_stream);
    let parameters: Vec<&Ident> = parsed.generics.type_params().map(|parameter| &parameter.ident).collect();
    let mut seen = std::collections::HashSet::new();
    let fields = parsed.variants.iter().flat_map(|variant| &variant.fields);
    let bounds = fields
        .filter(|(_, ty)| mentions(ty, &parameters))
        .map(|(_, ty)| quote_spanned!(ty.span()=> #ty: #krate::__private::VariantField));
    let bounds: Vec<TokenStream> = bounds.filter(|bound| seen.insert(bound.to_string())).collect();
    quote!(where #(#own,)* #(#bounds,)*)
}

fn mentions(ty: &Type, parameters: &[&Ident]) -> bool {
    struct Mentions<'a>(&'a [&'a Ident], bool);
    impl syn::visit::Visit<'_> for Mentions<'_> {
        fn visit_ident(&mut self, ident: &Ident) {
            self.1 |= self.0.contains(&ident);
        }
    }
    let mut mentions = Mentions(parameters, false);
    syn::visit::Visit::visit_type(&mut mentions, ty);
    mentions.1
}

/// Nested pairs.
fn list(items: impl DoubleEndedIterator<Item = TokenStream>) -> TokenStream {
    items.rev().fold(quote!(()), |rest, item| quote!((#item, #rest)))
}

/// Returns the place of a field in the nested pairs.
fn place(variant: usize, field: usize) -> TokenStream {
    let to_variant = std::iter::repeat_n(quote!(.1), variant);
    let to_field = std::iter::repeat_n(quote!(.1), field);
    quote!(#(#to_variant)* .0 #(#to_field)* .0)
}

/// Generates a call on a field. Its type is written out, so that the compiler points there if it is not a valid field
/// type.
fn field(krate: &TokenStream, ty: &Type, function: &str, argument: &TokenStream) -> TokenStream {
    let function = Ident::new(function, ty.span());
    quote_spanned!(ty.span()=> <#ty as #krate::__private::VariantField>::#function(#argument))
}

fn binding(position: usize) -> Ident {
    format_ident!("__jit_{position}", span = Span::mixed_site())
}

/// Generates the number of the variant and the fields of all variants.
fn parts(parsed: &Parsed<'_>) -> TokenStream {
    let krate = &parsed.krate;
    let arms = parsed.variants.iter().enumerate().map(|(own, variant)| {
        let number = own as u32;
        let pattern = pattern(variant, |_, position| binding(position).to_token_stream());
        let fields = list(parsed.variants.iter().enumerate().map(|(at, other)| {
            list(other.fields.iter().enumerate().map(|(position, (_, ty))| match at == own {
                true => field(krate, ty, "again", &binding(position).to_token_stream()),
                false => field(krate, ty, "zero", &TokenStream::new()),
            }))
        }));
        quote!(#pattern => (#number, #fields))
    });
    quote!(match self { #(#arms,)* })
}

/// Generates the value of a variant.
fn values(parsed: &Parsed<'_>) -> TokenStream {
    let last = parsed.variants.len() - 1;
    let arms = parsed.variants.iter().enumerate().map(|(at, variant)| {
        let number = at as u32;
        let number = if at == last { quote!(_) } else { quote!(#number) };
        let value = pattern(variant, |ty, position| {
            let place = place(at, position);
            field(&parsed.krate, ty, "again", &quote!(&__jit_fields #place))
        });
        quote!(#number => #value)
    });
    quote!(match __jit_variant { #(#arms,)* })
}

/// Generates a variant, as a pattern or as an expression.
fn pattern(variant: &Variant<'_>, each: impl Fn(&Type, usize) -> TokenStream) -> TokenStream {
    let ident = variant.ident;
    let fields = variant.fields.iter().enumerate().map(|(position, (member, ty))| {
        let value = each(ty, position);
        quote!(#member: #value)
    });
    quote!(Self::#ident { #(#fields),* })
}

/// Visits all fields.
fn visits(parsed: &Parsed<'_>, function: &str, borrow: &TokenStream) -> TokenStream {
    let variants = parsed.variants.iter().enumerate().filter(|(_, variant)| !variant.fields.is_empty());
    let visits = variants.map(|(at, variant)| {
        let fields = variant.fields.iter().enumerate().map(|(position, (member, ty))| {
            let name = match member {
                Member::Named(ident) => ident.unraw().to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            let place = place(at, position);
            let visit = field(&parsed.krate, ty, function, &quote!(#borrow __jit_fields #place, __jit_visitor));
            quote!(__jit_visitor.named(#name, |__jit_visitor| #visit);)
        });
        let name = variant.ident.unraw().to_string();
        quote!(__jit_visitor.named(#name, |__jit_visitor| { #(#fields)* });)
    });
    quote!(#(#visits)*)
}
