//! The implementation.

use super::parse::{Field, Parsed, Variant};
use super::{bounds, build};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// Which of the two methods is generated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Show,
    Lend,
}

/// Returns the implementation for a type.
pub(super) fn generate(parsed: &Parsed<'_>) -> TokenStream {
    let (ident, krate) = (parsed.ident, &parsed.krate);
    let (impl_generics, ty_generics, _) = parsed.generics.split_for_impl();
    let where_clause = bounds::where_clause(parsed);
    let (show, lend) = (body(parsed, Method::Show), body(parsed, Method::Lend));
    let build = build::generate(parsed);
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Traverse for #ident #ty_generics #where_clause {
            fn traverse(&self, __jit_visitor: &mut #krate::Visitor<'_>) {
                #show
            }

            fn traverse_mut(&mut self, __jit_visitor: &mut #krate::VisitorMut<'_>) {
                #lend
            }
        }

        #build
    }
}

fn body(parsed: &Parsed<'_>, method: Method) -> TokenStream {
    if parsed.variants.is_empty() {
        return quote!(match *self {});
    }
    let arms = parsed.variants.iter().map(|variant| arm(variant, &parsed.krate, method));
    quote!(match self { #(#arms)* })
}

fn arm(variant: &Variant<'_>, krate: &TokenStream, method: Method) -> TokenStream {
    let pattern = &variant.pattern;
    let visited: Vec<&Field<'_>> =
        variant.fields.iter().filter(|field| method == Method::Show || !field.is_constexpr).collect();
    let bindings = visited.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
    let visits = visited.iter().map(|field| visit(field, krate, method));
    let visits = match &variant.name {
        Some(name) if !visited.is_empty() => {
            quote!(__jit_visitor.named(#name, |__jit_visitor| { #(#visits)* });)
        }
        _ => quote!(#(#visits)*),
    };
    let layout = variant
        .name
        .as_ref()
        .filter(|_| method == Method::Show)
        .map(|name| quote!(__jit_visitor.host(#krate::HostValue::Variant(#name));));
    let skipped = (!variant.skipped.is_empty() && method == Method::Show).then(|| quote!(__jit_visitor.skipped();));
    quote!(#pattern { #(#bindings,)* .. } => { #layout #skipped #visits })
}

/// Visits a field. Its type is written out, so that the compiler points there when it cannot be visited.
fn visit(field: &Field<'_>, krate: &TokenStream, method: Method) -> TokenStream {
    let Field { binding, name, ty, .. } = field;
    let value = match method {
        _ if field.is_constexpr => {
            quote_spanned!(ty.span()=> __jit_visitor.host(<#ty as #krate::__private::Constant>::host_value(#binding)))
        }
        Method::Show => quote_spanned!(ty.span()=> <#ty as #krate::Traverse>::traverse(#binding, __jit_visitor)),
        Method::Lend => quote_spanned!(ty.span()=> <#ty as #krate::Traverse>::traverse_mut(#binding, __jit_visitor)),
    };
    quote!(__jit_visitor.named(#name, |__jit_visitor| #value);)
}
