//! The parsed form of a type: variants, of which a struct has one, and their fields.

use super::{check, options};
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Fields, Generics, LitStr, Member, Path, Token, Type, WherePredicate};

/// The deriving type.
pub(super) struct Parsed<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    /// The path of the `jit` crate.
    pub(super) krate: TokenStream,
    /// Bounds from the user, instead of those that follow from the fields.
    pub(super) bound: Option<Punctuated<WherePredicate, Token![,]>>,
    pub(super) variants: Vec<Variant<'a>>,
}

/// A variant of an `enum`, or a struct.
pub(super) struct Variant<'a> {
    /// The pattern that matches it: `Self` or `Self::Name`.
    pub(super) pattern: TokenStream,
    /// Its name in paths; a struct has none.
    pub(super) name: Option<String>,
    pub(super) fields: Vec<Field<'a>>,
    /// The fields that are skipped.
    pub(super) skipped: Vec<(Member, &'a Type)>,
}

/// A field that is visited, or compared.
pub(super) struct Field<'a> {
    pub(super) member: Member,
    /// The variable that a pattern binds it to.
    pub(super) binding: Ident,
    /// Its name in paths, with its span.
    pub(super) name: String,
    pub(super) name_span: Span,
    pub(super) ty: &'a Type,
    /// Whether it is a host value, whatever its type.
    pub(super) is_constexpr: bool,
}

/// Parses a type; returns `None` if it cannot be traversed.
pub(super) fn parse<'a>(input: &'a DeriveInput, sink: &Sink) -> Option<Parsed<'a>> {
    let type_options = options::of_type(&input.attrs, sink);
    let variants = match &input.data {
        Data::Struct(data) => {
            vec![variant(quote!(Self), None, &data.fields, sink)]
        }
        Data::Enum(data) => data.variants.iter().map(|variant| parse_variant(variant, sink)).collect(),
        Data::Union(data) => {
            check::union(data, sink);
            return None;
        }
    };
    Some(Parsed {
        ident: &input.ident,
        generics: &input.generics,
        krate: type_options.krate.as_ref().map_or_else(|| quote!(::jit), Path::to_token_stream),
        bound: type_options.bound.and_then(|text| parse_bound(&text, sink)),
        variants,
    })
}

fn parse_bound(text: &LitStr, sink: &Sink) -> Option<Punctuated<WherePredicate, Token![,]>> {
    let parsed = text.parse_with(Punctuated::parse_terminated);
    if parsed.is_err() {
        sink.error(text.span(), "`bound` takes what follows `where`, as in `bound = \"T: Traverse\"`");
    }
    parsed.ok()
}

fn parse_variant<'a>(variant: &'a syn::Variant, sink: &Sink) -> Variant<'a> {
    let (ident, options) = (&variant.ident, options::of_variant(&variant.attrs, sink));
    let name = options.rename.map_or_else(|| ident.unraw().to_string(), |name| name.into_inner());
    self::variant(quote!(Self::#ident), Some(name), &variant.fields, sink)
}

fn variant<'a>(pattern: TokenStream, name: Option<String>, all: &'a Fields, sink: &Sink) -> Variant<'a> {
    let fields = fields(all, sink);
    let is_skipped = |member: &Member| !fields.iter().any(|field| field.member == *member);
    let each = all.members().zip(all).filter(|(member, _)| is_skipped(member));
    let skipped = each.map(|(member, field)| (member, &field.ty)).collect();
    Variant { pattern, name, skipped, fields }
}

/// Returns the fields that are not skipped.
fn fields<'a>(fields: &'a Fields, sink: &Sink) -> Vec<Field<'a>> {
    let numbered = fields.iter().zip(fields.members()).enumerate();
    numbered.filter_map(|(index, (field, member))| parse_field(index, field, member, sink)).collect()
}

fn parse_field<'a>(index: usize, field: &'a syn::Field, member: Member, sink: &Sink) -> Option<Field<'a>> {
    let options = options::of_field(&field.attrs, sink);
    check::field_options(&options, sink);
    if *options.skip {
        return None;
    }
    let own_name = match &member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    };
    let name_span = options.rename.as_ref().map_or_else(|| member.span(), |name| name.span());
    Some(Field {
        binding: format_ident!("__jit_{index}", span = Span::mixed_site()),
        name: options.rename.map_or(own_name, |name| name.into_inner()),
        name_span,
        ty: &field.ty,
        is_constexpr: *options.constexpr,
        member,
    })
}
