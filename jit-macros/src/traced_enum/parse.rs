//! The parsed form of an enum.

use crate::options::{self, Words};
use crate::sink::Sink;
use darling::FromMeta;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Generics, Ident, Member, Meta, Path, Type};

/// The deriving enum.
pub(super) struct Parsed<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    /// The path of the `jit` crate.
    pub(super) krate: TokenStream,
    pub(super) variants: Vec<Variant<'a>>,
}

/// A variant.
pub(super) struct Variant<'a> {
    pub(super) ident: &'a Ident,
    pub(super) fields: Vec<(Member, &'a Type)>,
}

/// Options on the type.
#[derive(Default, FromMeta)]
struct Options {
    /// The path of the `jit` crate; by default `::jit`.
    #[darling(default, rename = "crate")]
    krate: Option<Path>,
}

const OPTIONS: Words = Words { attribute: "traced_enum", known: "`crate`", takes: |_| "a path" };

/// Parses a type; returns `None` if it is not an enum whose variant can differ by lane.
pub(super) fn parse<'a>(input: &'a DeriveInput, sink: &Sink) -> Option<Parsed<'a>> {
    let data = match &input.data {
        Data::Enum(data) => data,
        Data::Struct(data) => {
            let message = "`TracedEnum` is for enums, whose variant then differs by lane; for a struct of arrays \
                derive `Traverse`";
            sink.error(data.struct_token.span, message);
            return None;
        }
        Data::Union(data) => {
            sink.error(
                data.union_token.span,
                "`TracedEnum` is for enums: which field of a union holds a value is not known",
            );
            return None;
        }
    };
    if data.variants.is_empty() {
        sink.error(input.ident.span(), "`TracedEnum` needs a variant: each lane has one");
        return None;
    }
    let variants = data.variants.iter().map(|variant| Variant {
        ident: &variant.ident,
        fields: variant.fields.members().zip(variant.fields.iter().map(|field| &field.ty)).collect(),
    });
    let krate = read(&input.attrs, sink).krate.as_ref().map_or_else(|| quote!(::jit), Path::to_token_stream);
    Some(Parsed { ident: &input.ident, generics: &input.generics, krate, variants: variants.collect() })
}

fn read(attributes: &[Attribute], sink: &Sink) -> Options {
    let mut tokens = TokenStream::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("traced_enum")) {
        match &attribute.meta {
            Meta::List(list) => {
                let list = &list.tokens;
                tokens.extend(quote!(#list,));
            }
            other => sink.error(
                other.span(),
                "the options of `traced_enum` are in parentheses, as in `#[traced_enum(crate = path)]`",
            ),
        }
    }
    options::read(tokens, &OPTIONS, sink)
}
