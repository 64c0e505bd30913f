//! Collects errors, so that one run reports all of them.

use proc_macro2::{Span, TokenStream};
use std::cell::RefCell;
use std::fmt::Display;
use syn::DeriveInput;

/// A list of errors.
#[derive(Default)]
pub(crate) struct Sink {
    errors: RefCell<Option<syn::Error>>,
}

impl Sink {
    /// Adds an error at a token.
    pub(crate) fn error(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds an error.
    pub(crate) fn push(&self, error: syn::Error) {
        let mut errors = self.errors.borrow_mut();
        match errors.as_mut() {
            Some(first) => first.combine(error),
            None => *errors = Some(error),
        }
    }

    /// Returns whether there are no errors.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.borrow().is_none()
    }

    /// Returns the errors, combined.
    pub(crate) fn take(&self) -> Option<syn::Error> {
        self.errors.borrow_mut().take()
    }

    /// Returns the errors as `compile_error!` calls; `None` if there were none.
    pub(crate) fn finish(&self) -> Option<TokenStream> {
        self.take().map(|errors| errors.to_compile_error())
    }
}

/// Expands a derive on a type. For a rejected type, only the errors are generated.
pub(crate) fn expand_derive(
    item: TokenStream,
    expand: impl FnOnce(&DeriveInput, &Sink) -> Option<TokenStream>,
) -> TokenStream {
    let sink = Sink::default();
    let expanded = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => expand(&input, &sink),
        Err(error) => {
            sink.push(error);
            None
        }
    };
    sink.finish().or(expanded).unwrap_or_default()
}
