//! `#[derive(Traverse)]`: parse → check → generate.
//!
//! The type is parsed into its variants, of which a struct has one, and their fields ([`parse`]). All errors in it are
//! reported at once ([`check`]). One implementation is generated ([`generate`]), whose bounds follow from the fields
//! ([`bounds`]).

mod bounds;
mod build;
mod check;
pub(crate) mod convert;
mod generate;
mod options;
mod parse;
#[cfg(test)]
mod tests;

use crate::sink::{Sink, expand_derive};
use proc_macro2::TokenStream;
use syn::DeriveInput;

/// Expands the derive on a type. For a rejected type, only the errors are generated.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    expand_derive(item, expand_type)
}

fn expand_type(input: &DeriveInput, sink: &Sink) -> Option<TokenStream> {
    let parsed = parse::parse(input, sink)?;
    check::names(&parsed, sink);
    Some(generate::generate(&parsed))
}
