//! The bounds on type parameters under which all fields can be visited.
//!
//! A field whose type mentions a parameter bounds that type: `Array<T>: Traverse` holds for every element `T`, whereas
//! `T: Traverse` would be too strict. If the type mentions the deriving type itself, such a bound would be circular.
//! Then only the parameters outside those mentions are bounded, since the other fields bound the rest.

use super::parse::{Field, Parsed};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type, TypeArray};

/// Returns the `where` clause of the implementation.
pub(super) fn where_clause(parsed: &Parsed<'_>) -> TokenStream {
    let own = parsed.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let inferred = match &parsed.bound {
        Some(bound) => bound.iter().map(ToTokens::to_token_stream).collect(),
        None => inferred(parsed),
    };
    let predicates = own.map(ToTokens::to_token_stream).chain(inferred);
    quote!(where #(#predicates,)*)
}

fn inferred(parsed: &Parsed<'_>) -> Vec<TokenStream> {
    let parameters: Vec<&Ident> = parsed.generics.type_params().map(|parameter| &parameter.ident).collect();
    let mut seen = HashSet::new();
    let fields = parsed.variants.iter().flat_map(|variant| &variant.fields);
    let bounds = fields.flat_map(|field| of_field(field, parsed, &parameters));
    bounds.filter(|bound| seen.insert(bound.to_string())).collect()
}

/// The containers of the standard library in which a type may contain itself.
const CONTAINERS: [&str; 9] = ["Arc", "BTreeMap", "Box", "HashMap", "Option", "Rc", "Result", "Vec", "VecDeque"];

/// Returns the type of a field with `()` instead of the deriving type; none if the deriving type is in other types than
/// containers of the standard library.
pub(super) fn without_itself(ty: &Type, parsed: &Parsed<'_>) -> Option<Type> {
    let mut mentions = Mentions { own: parsed.ident, parameters: &[], found: Vec::new(), is_recursive: false };
    mentions.visit_type(ty);
    if !mentions.is_recursive {
        return Some(ty.clone());
    }
    let inner = |ty: &Type| without_itself(ty, parsed);
    Some(match ty {
        Type::Path(path) if is_itself(&path.path, parsed) => syn::parse_quote!(()),
        Type::Path(path) => {
            let mut path = path.clone();
            let last = path.path.segments.last_mut().filter(|last| CONTAINERS.iter().any(|name| last.ident == name))?;
            let PathArguments::AngleBracketed(arguments) = &mut last.arguments else { return None };
            for argument in &mut arguments.args {
                let GenericArgument::Type(ty) = argument else { return None };
                *ty = inner(ty)?;
            }
            Type::Path(path)
        }
        Type::Array(array) => Type::Array(TypeArray { elem: Box::new(inner(&array.elem)?), ..array.clone() }),
        Type::Tuple(tuple) => {
            let elems = tuple.elems.iter().map(inner).collect::<Option<Vec<_>>>()?;
            syn::parse_quote!((#(#elems,)*))
        }
        Type::Paren(paren) => inner(&paren.elem)?,
        Type::Group(group) => inner(&group.elem)?,
        _ => return None,
    })
}

/// Returns whether a path is the deriving type, with its own parameters.
fn is_itself(path: &Path, parsed: &Parsed<'_>) -> bool {
    let (_, parameters, _) = parsed.generics.split_for_impl();
    let is_named = |last: &PathSegment| {
        last.ident == *parsed.ident
            && last.arguments.to_token_stream().to_string() == parameters.to_token_stream().to_string()
    };
    path.is_ident("Self") || path.segments.last().is_some_and(is_named)
}

fn of_field(field: &Field<'_>, parsed: &Parsed<'_>, parameters: &[&Ident]) -> Vec<TokenStream> {
    let mut mentions = Mentions { own: parsed.ident, parameters, found: Vec::new(), is_recursive: false };
    mentions.visit_type(field.ty);
    if mentions.is_recursive {
        mentions.found.iter().map(|parameter| bound(*parameter, field, parsed)).collect()
    } else if mentions.found.is_empty() {
        Vec::new()
    } else {
        vec![bound(field.ty, field, parsed)]
    }
}

/// Returns the bound that a field puts on a type.
fn bound(ty: &(impl ToTokens + Spanned), field: &Field<'_>, parsed: &Parsed<'_>) -> TokenStream {
    let krate = &parsed.krate;
    if field.is_constexpr {
        quote_spanned!(ty.span()=> #ty: #krate::__private::Constant)
    } else {
        quote_spanned!(ty.span()=> #ty: #krate::Traverse)
    }
}

/// The type parameters that a type mentions outside of mentions of the deriving type.
struct Mentions<'a> {
    own: &'a Ident,
    parameters: &'a [&'a Ident],
    found: Vec<&'a Ident>,
    is_recursive: bool,
}

impl Mentions<'_> {
    fn is_own(&self, path: &Path) -> bool {
        path.segments.last().is_some_and(|last| last.ident == *self.own) || path.is_ident("Self")
    }
}

impl Visit<'_> for Mentions<'_> {
    fn visit_path(&mut self, path: &Path) {
        if self.is_own(path) {
            self.is_recursive = true;
            return;
        }
        let first = path.segments.first().map(|segment| &segment.ident);
        let parameter = self.parameters.iter().copied().find(|parameter| Some(*parameter) == first);
        self.found.extend(parameter);
        visit::visit_path(self, path);
    }
}
