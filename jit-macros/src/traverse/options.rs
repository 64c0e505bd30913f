//! The options of `#[traverse(…)]`, by their position.

use crate::options::{self, Words};
use crate::sink::Sink;
use darling::FromMeta;
use darling::util::SpannedValue;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, LitStr, Meta};

/// Options on the type.
#[derive(Default, FromMeta)]
pub(super) struct TypeOptions {
    /// The path of the `jit` crate; by default `::jit`.
    #[darling(default, rename = "crate")]
    pub(super) krate: Option<syn::Path>,
    /// The bounds on the parameters, instead of those that follow from the fields.
    #[darling(default)]
    pub(super) bound: Option<LitStr>,
}

/// Options on a variant.
#[derive(Default, FromMeta)]
pub(super) struct VariantOptions {
    /// Its name in paths.
    #[darling(default)]
    pub(super) rename: Option<SpannedValue<String>>,
}

/// Options on a field.
#[derive(Default, FromMeta)]
pub(super) struct FieldOptions {
    /// Whether the field is skipped.
    #[darling(default)]
    pub(super) skip: SpannedValue<bool>,
    /// Whether the field is a host value.
    #[darling(default)]
    pub(super) constexpr: SpannedValue<bool>,
    /// Its name in paths.
    #[darling(default)]
    pub(super) rename: Option<SpannedValue<String>>,
}

const ON_TYPE: Words = Words {
    attribute: "traverse",
    known: "`bound` or `crate` on a type; `skip`, `constexpr` and `rename` go on a field",
    takes: |option| match option {
        "bound" => "a string, as in `bound = \"T: Traverse\"`",
        _ => "a path",
    },
};

const ON_VARIANT: Words = Words {
    attribute: "traverse",
    known: "`rename` on a variant; `skip` and `constexpr` go on a field",
    takes: |_| "a string",
};

const ON_FIELD: Words = Words {
    attribute: "traverse",
    known: "`skip`, `constexpr` or `rename` on a field",
    takes: |option| match option {
        "rename" => "a string",
        _ => "no value",
    },
};

pub(super) fn of_type(attributes: &[Attribute], sink: &Sink) -> TypeOptions {
    options::read(all(attributes, sink), &ON_TYPE, sink)
}

pub(super) fn of_variant(attributes: &[Attribute], sink: &Sink) -> VariantOptions {
    options::read(all(attributes, sink), &ON_VARIANT, sink)
}

pub(super) fn of_field(attributes: &[Attribute], sink: &Sink) -> FieldOptions {
    options::read(all(attributes, sink), &ON_FIELD, sink)
}

/// Returns the options of all `#[traverse(…)]` of an item.
fn all(attributes: &[Attribute], sink: &Sink) -> TokenStream {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("traverse"));
    let mut options = TokenStream::new();
    for attribute in ours {
        match &attribute.meta {
            Meta::List(list) => {
                let tokens = &list.tokens;
                options.extend(quote!(#tokens,));
            }
            other => {
                sink.error(other.span(), "the options of `traverse` are in parentheses, as in `#[traverse(skip)]`")
            }
        }
    }
    options
}
