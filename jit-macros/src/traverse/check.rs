//! What is wrong with a type or its options, at the user's tokens.

use super::options::FieldOptions;
use super::parse::Parsed;
use crate::sink::Sink;
use std::collections::HashSet;

/// Nobody knows which field of a union is there.
pub(super) fn union(data: &syn::DataUnion, sink: &Sink) {
    sink.error(
        data.union_token.span,
        "`Traverse` cannot be derived for unions: which field holds a value is not known; use an `enum`",
    );
}

/// Options of a field that contradict each other.
pub(super) fn field_options(options: &FieldOptions, sink: &Sink) {
    if *options.skip && *options.constexpr {
        sink.error(options.constexpr.span(), "a field is either left out by `skip` or compared by `constexpr`");
    }
    if let (true, Some(name)) = (*options.skip, &options.rename) {
        sink.error(name.span(), "a field that is left out has no name");
    }
}

/// Each leaf is to have a path of its own.
pub(super) fn names(parsed: &Parsed<'_>, sink: &Sink) {
    for variant in &parsed.variants {
        let mut taken = HashSet::new();
        for field in &variant.fields {
            if !taken.insert(&field.name) {
                sink.error(field.name_span, format!("two fields have the name `{}`", field.name));
            }
        }
    }
}
