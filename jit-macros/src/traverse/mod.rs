//! `#[derive(Traverse)]`: parse → check → generate.
//!
//! The type is read into its variants, of which a struct has one, and their fields ([`parse`]); what is wrong with it
//! is reported all at once ([`check`]); and one implementation comes out ([`generate`]), whose bounds follow from the
//! fields ([`bounds`]).

mod bounds;
mod check;
mod generate;
mod options;
mod parse;
#[cfg(test)]
mod tests;

use crate::sink::Sink;
use proc_macro2::TokenStream;
use syn::DeriveInput;

/// Expands the derive on a type. If the type is refused, nothing is generated but the reasons.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let sink = Sink::default();
    let expanded = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => expand_type(&input, &sink),
        Err(error) => {
            sink.push(error);
            None
        }
    };
    sink.finish().or(expanded).unwrap_or_default()
}

fn expand_type(input: &DeriveInput, sink: &Sink) -> Option<TokenStream> {
    let parsed = parse::parse(input, sink)?;
    check::names(&parsed, sink);
    Some(generate::generate(&parsed))
}
