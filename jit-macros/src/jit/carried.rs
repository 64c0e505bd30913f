//! The state of a region, as the code around the region mentions it.

use super::place::{Place, Step};
use super::rewrite::Rewriter;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

/// A place that a region changes.
pub(crate) struct Carried {
    pub(crate) name: String,
    /// The place where it is written.
    pub(crate) place: TokenStream,
    /// The place where it is only read.
    pub(crate) read: TokenStream,
    pub(crate) span: Span,
    /// Whether nothing reads it after the region.
    pub(crate) is_dead: bool,
    asked: Option<Asked>,
    /// The answers of variables that cover this place if they are `&mut` references.
    covering: Vec<Ident>,
}

/// A variable that is asked whether it is a `&mut` reference.
struct Asked {
    answer: Ident,
    question: TokenStream,
}

impl Carried {
    pub(crate) fn new(rewriter: &mut Rewriter<'_>, place: &Place) -> Self {
        let span = rewriter.at(place.span);
        let (name, written) = (place.name(), place.tokens(span));
        if !place.is_uncertain() {
            return Carried::certain(name, written, span);
        }
        rewriter.uses_kinds = true;
        let steps = place.steps.iter().filter(|step| **step != Step::Referent).cloned().collect();
        let variable = Place { steps, ..place.clone() }.tokens(span);
        let private = rewriter.private(span);
        let probe = quote_spanned!(span=> #private::probe(&#variable));
        Carried {
            name,
            place: written,
            read: quote_spanned!(span=> (*#probe.__jit_referred())),
            span,
            is_dead: false,
            covering: Vec::new(),
            asked: Some(Asked {
                answer: rewriter.helper("refers", span),
                question: quote_spanned!(span=> #probe.__jit_refers()),
            }),
        }
    }

    /// Returns a place that certainly is state.
    pub(crate) fn certain(name: String, place: TokenStream, span: Span) -> Self {
        Carried { name, read: place.clone(), place, span, is_dead: false, asked: None, covering: Vec::new() }
    }

    /// Generates the question, before the region.
    pub(crate) fn ask(&self, guard: &Ident) -> TokenStream {
        let Some(Asked { answer, question }) = &self.asked else { return TokenStream::new() };
        let span = self.span;
        let guard = Ident::new(&guard.to_string(), span);
        quote_spanned! {span=>
            #[allow(unreachable_code)]
            let #answer = if #guard.is_traced() {
                #guard.traced_only();
                ::core::option::Option::Some(#question)
            } else {
                ::core::option::Option::None
            };
        }
    }

    pub(crate) fn answer(&self) -> Option<Ident> {
        self.asked.as_ref().map(|asked| asked.answer.clone())
    }

    pub(crate) fn covered_by(&mut self, answers: Vec<Ident>) {
        self.covering = answers;
    }

    /// Generates code that mentions the place, if it is one that no other covers.
    pub(crate) fn if_it_is_one(&self, code: &TokenStream) -> TokenStream {
        let (span, covering) = (self.span, &self.covering);
        let code = match &self.asked {
            None => code.clone(),
            Some(Asked { answer, .. }) => quote_spanned! {span=>
                if let ::core::option::Option::Some(#answer) = #answer.filter(|#answer| #answer.refers()) {
                    #answer.only();
                    #code
                }
            },
        };
        match covering.is_empty() {
            true => code,
            false => quote_spanned! {span=>
                if !(#(#covering.is_some_and(|#covering| #covering.refers()))||*) { #code }
            },
        }
    }
}
