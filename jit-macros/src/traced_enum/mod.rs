//! `#[derive(TracedEnum)]`: parse → check → generate.
//!
//! The fields of all variants become nested pairs, `((x, (y, ())), ((z, ()), ()))`: a list of variants, each a list of
//! fields. So no type has to be named, and the order is that of the program.

mod generate;
mod parse;
#[cfg(test)]
mod tests;

use crate::sink::expand_derive;
use proc_macro2::TokenStream;

/// Expands the derive on a type. For a rejected type, only the errors are generated.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    expand_derive(item, |input, sink| parse::parse(input, sink).map(|parsed| generate::generate(&parsed)))
}
