//! Errors of a type or its options, at the user's tokens.

use super::options::FieldOptions;
use super::parse::Parsed;
use crate::sink::Sink;
use std::collections::HashSet;

/// Rejects unions: the active field is unknown.
pub(super) fn union(data: &syn::DataUnion, sink: &Sink) {
    sink.error(
        data.union_token.span,
        "`Traverse` cannot be derived for unions: which field holds a value is not known; use an `enum`",
    );
}

/// Rejects contradicting options of a field.
pub(super) fn field_options(options: &FieldOptions, sink: &Sink) {
    if *options.skip && *options.constexpr {
        sink.error(options.constexpr.span(), "a field cannot have both `skip` and `constexpr`");
    }
    if let (true, Some(name)) = (*options.skip, &options.rename) {
        sink.error(name.span(), "a skipped field has no name");
    }
}

/// Rejects duplicate names, so that each leaf has a unique path.
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
