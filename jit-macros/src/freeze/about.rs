//! The items generated besides a frozen function: its recordings, and functions that report on them.

use super::Frozen;
use crate::companion::{self, Place, item_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{LitStr, Visibility};

impl Frozen {
    /// Returns an expression, valid in the function, for its recordings.
    pub(super) fn recordings(&self) -> TokenStream {
        let name = &self.function.sig.ident;
        match self.place {
            Place::Free => {
                let beside = companion::type_beside(name);
                quote_spanned!(name.span()=> #beside::__jit_function())
            }
            Place::Inherent => {
                let getter = self.getter();
                quote_spanned!(name.span()=> Self::#getter())
            }
            Place::Member => quote!(__JIT_FUNCTION.listed()),
        }
    }

    /// Returns the items inside the function, and those besides it.
    pub(super) fn about(&self) -> (Option<TokenStream>, Option<TokenStream>) {
        let name = match self.place {
            Place::Free => Ident::new("__jit_function", Span::call_site()),
            Place::Inherent => self.getter(),
            Place::Member => return (Some(self.static_of_recordings(&format_ident!("__JIT_FUNCTION"))), None),
        };
        let (getter, questions) = (self.function_of_recordings(&name), self.questions(&quote!(Self::#name())));
        let files = self.files(&quote!(Self::#name()));
        (None, companion::beside(self.place, &self.function, &quote!(#[allow(dead_code)] #getter #questions #files)))
    }

    pub(super) fn getter(&self) -> Ident {
        format_ident!("__jit_function_{}", self.function.sig.ident, span = Span::call_site())
    }

    /// Returns the names of the arguments for messages.
    fn names(&self) -> TokenStream {
        let names = self.parameters.iter().map(|parameter| LitStr::new(&parameter.label, parameter.name.span()));
        let lifted = self.lifted.iter().map(|lifted| lifted.value.to_token_stream().to_string());
        let state = self.state.as_ref().map(|_| "state");
        quote!(&[#(#names,)* #(#lifted,)* #state])
    }

    fn static_of_recordings(&self, name: &Ident) -> TokenStream {
        let (private, label, names) = (self.private(), self.function.sig.ident.to_string(), self.names());
        let options = self.options.tokens(&private);
        quote_spanned! {self.function.sig.ident.span()=>
            static #name: #private::freeze::Function = #private::freeze::Function::new(#label, #names, #options);
        }
    }

    fn function_of_recordings(&self, name: &Ident) -> TokenStream {
        let (private, vis) = (self.private(), &self.function.vis);
        let recordings = self.static_of_recordings(&format_ident!("FUNCTION"));
        quote_spanned! {self.function.sig.ident.span()=>
            #[doc(hidden)]
            #vis fn #name() -> &'static #private::freeze::Function {
                #recordings
                FUNCTION.listed()
            }
        }
    }

    /// Generates the functions that report on a frozen function.
    fn questions(&self, function: &TokenStream) -> TokenStream {
        let (private, span) = (self.private(), self.function.sig.ident.span());
        let vis: &Visibility = &self.function.vis;
        let [stats, explain, clear, set_enabled] = ["stats", "explain", "clear", "set_enabled"]
            .map(|what| item_name(self.place, &self.function.sig.ident, what));
        quote_spanned! {span=>
            /// Returns the counters.
            #[allow(dead_code)]
            #vis fn #stats() -> #private::freeze::Stats { #function.stats() }

            /// Returns the cause of each recording, oldest first.
            #[allow(dead_code)]
            #vis fn #explain() -> #private::freeze::Explanation { #function.explain() }

            /// Discards all recordings and counters.
            #[allow(dead_code)]
            #vis fn #clear() { #function.clear(); }

            /// Switches recording and replaying on or off; existing recordings are retained.
            #[allow(dead_code)]
            #vis fn #set_enabled(is_on: bool) { #function.set_enabled(is_on); }
        }
    }
}
