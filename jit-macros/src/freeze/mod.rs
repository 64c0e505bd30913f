//! `#[freeze]`: parse → check → generate.
//!
//! The body becomes a function of its own, rewritten as by `#[jit]`. The user's function calls the run-time support
//! (`jit_core::freeze`) with its arguments, which replays a recording or runs the body on copies of them. Where neither is wanted,
//! the user's function calls the body itself.
//!
//! ```text
//! #[freeze] fn step(s: &mut State, x: &Float) -> Float { … }
//!    →   fn step(s: &mut State, x: &Float) -> Float {
//!            fn __jit_body(s: &mut State, x: &Float) -> Float { … }
//!            match call(step::__jit_function(), (Exclusive(&mut *s), Shared(x)), |twins| __jit_body(…)) {
//!                Some(result) => result,
//!                None => __jit_body(s, x),
//!            }
//!        }
//!        struct step { .. }    // in the namespace of types, with `stats`, `explain`, `clear`
//! ```

mod check;
mod number;
mod options;
mod parameter;

use crate::jit;
use crate::options::JitOptions;
use crate::sink::Sink;
use number::{Lifted, Number};
use options::FreezeOptions;
use parameter::{Kind, Parameter};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ExprClosure, ItemFn, LitStr, ReturnType};

/// Expands the attribute on an item.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let sink = Sink::default();
    let options = FreezeOptions::parse(options, &sink);
    let expanded = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => Frozen::new(options, function, &sink).expand(),
        Err(_) => {
            check::not_a_function(&item, &sink);
            item
        }
    };
    let errors = sink.finish();
    quote!(#errors #expanded)
}

struct Frozen {
    options: FreezeOptions,
    function: ItemFn,
    parameters: Vec<Parameter>,
    /// The body as a function of its own, or a method.
    body: ItemFn,
    has_receiver: bool,
    state: Option<ExprClosure>,
    /// The parameters that are plain numbers, and what becomes of them beside arrays.
    numbers: Vec<Number>,
    lifted: Vec<Lifted>,
    /// Without errors.
    is_right: bool,
}

impl Frozen {
    fn new(options: FreezeOptions, mut function: ItemFn, sink: &Sink) -> Frozen {
        let own = Sink::default();
        check::signature(&function.sig, &own);
        let is_traced = check::take_attributes(&mut function.attrs, &own);
        options.check_names(&function.sig, &own);
        let parameters = parameter::parameters(&function.sig, &own);
        let state = options.state(parameters.len(), &own);
        let has_receiver = function.sig.receiver().is_some();
        let mut body = function.clone();
        let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        let numbers = number::numbers(&function.sig, &function.block, &|name| options.is_key(name));
        let lifted = number::lift(&numbers, &mut body.block, &quote!(#krate::__private));
        for Lifted { name, ty, .. } in &lifted {
            body.sig.inputs.push(syn::parse_quote!(#name: &#krate::Array<#ty>));
        }
        if let Some(attribute) = is_traced {
            body.attrs = vec![attribute];
        } else {
            body.attrs = Vec::new();
            let jit_options =
                JitOptions { label: options.label(), krate: options.krate.clone(), ..JitOptions::default() };
            jit::rewrite(&jit_options, &mut body, &own);
        }
        body.vis = syn::Visibility::Inherited;
        body.sig.ident = match has_receiver {
            true => format_ident!("__jit_body_{}", function.sig.ident, span = function.sig.ident.span()),
            false => Ident::new("__jit_body", function.sig.ident.span()),
        };
        let is_right = match own.take() {
            Some(errors) => {
                sink.push(errors);
                false
            }
            None => true,
        };
        Frozen { options, function, parameters, body, has_receiver, state, numbers, lifted, is_right }
    }

    fn expand(&self) -> TokenStream {
        if !self.is_right {
            return self.refused();
        }
        let (name, private) = (&self.function.sig.ident, self.private());
        let function = match self.has_receiver {
            true => {
                let getter = self.getter();
                quote!(Self::#getter())
            }
            false => quote!(#name::__jit_function()),
        };
        let callee = if self.has_receiver {
            let body = &self.body.sig.ident;
            quote!(Self::#body)
        } else {
            self.body.sig.ident.to_token_stream()
        };
        let (given, lent, again) = (self.given(&private), self.lent(&private), self.again());
        let result = match &self.function.sig.output {
            ReturnType::Default => quote!(()),
            ReturnType::Type(_, ty) => ty.to_token_stream(),
        };
        let twins = twins();
        let call = quote_spanned! {name.span()=>
            match #private::freeze::call::<_, #result>(#function, #given, |#twins| #callee(#lent)) {
                ::core::option::Option::Some(__jit_result) => __jit_result,
                ::core::option::Option::None => #callee(#again),
            }
        };
        match self.has_receiver {
            true => self.method(&call),
            false => self.free_function(&call),
        }
    }

    fn is_number(&self, name: &Ident) -> bool {
        self.numbers.iter().any(|number| number.name == *name)
    }

    fn private(&self) -> TokenStream {
        let krate = self.options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        quote!(#krate::__private)
    }

    /// The arguments as the run-time support takes them.
    fn given(&self, private: &TokenStream) -> TokenStream {
        let each = self.parameters.iter().map(|parameter| match self.is_number(&parameter.name) {
            true => {
                let name = &parameter.name;
                quote_spanned!(parameter.span=> #private::freeze::Number(&#name))
            }
            false => parameter.given(private),
        });
        let lifted = self.lifted.iter().map(|Lifted { ty, value, .. }| {
            quote!(#private::freeze::Lifted(<#private::freeze::Array<#ty> as ::core::convert::From<#ty>>::from(#value)),)
        });
        let state = self.state.as_ref().map(|closure| {
            let arguments = self.parameters.iter().take(closure.inputs.len()).map(Parameter::shared);
            let (names, body) = (closure.inputs.iter(), &closure.body);
            quote!(#private::freeze::State(#private::freeze::state((#(#arguments,)*), |(#(#names,)*)| #body)),)
        });
        quote!((#(#each,)* #(#lifted)* #state))
    }

    /// The arguments of the body, lent from the copies.
    fn lent(&self, private: &TokenStream) -> TokenStream {
        let each = self.parameters.iter().enumerate().map(|(position, parameter)| parameter.lent(position, private));
        let lifted = (self.parameters.len()..).take(self.lifted.len()).map(|position| {
            let (twins, index) = (twins(), syn::Index::from(position));
            quote!(&#twins.#index)
        });
        let all = each.chain(lifted);
        quote!(#(#all),*)
    }

    /// The arguments of the body, where it runs on the caller's.
    fn again(&self) -> TokenStream {
        let private = self.private();
        let each = self.parameters.iter().map(|parameter| parameter.name.to_token_stream());
        let lifted = self.lifted.iter().map(|Lifted { ty, value, .. }| {
            quote!(&<#private::freeze::Array<#ty> as ::core::convert::From<#ty>>::from(#value))
        });
        let all = each.chain(lifted);
        quote!(#(#all),*)
    }

    fn names(&self) -> TokenStream {
        let names =
            self.parameters.iter().map(|parameter| LitStr::new(&parameter.name.to_string(), parameter.name.span()));
        let lifted = self.lifted.iter().map(|lifted| {
            let said = lifted.value.to_token_stream().to_string();
            quote!(#said,)
        });
        let state = self.state.as_ref().map(|_| quote!("state"));
        quote!(&[#(#names,)* #(#lifted)* #state])
    }

    /// The function that gives the recordings.
    fn recordings(&self, name: &Ident) -> TokenStream {
        let (private, said, names) = (self.private(), self.function.sig.ident.to_string(), self.names());
        let vis = &self.function.vis;
        let options = self.options.tokens(&private);
        let span = self.function.sig.ident.span();
        quote_spanned! {span=>
            #[doc(hidden)]
            #vis fn #name() -> &'static #private::freeze::Function {
                static FUNCTION: #private::freeze::Function = #private::freeze::Function::new(#said, #names, #options);
                &FUNCTION
            }
        }
    }

    /// What has messages name the line of the caller.
    fn located(&self) -> Option<TokenStream> {
        let is_said = self.function.attrs.iter().any(|attribute| attribute.path().is_ident("track_caller"));
        (!is_said).then(|| quote!(#[track_caller]))
    }

    fn getter(&self) -> Ident {
        format_ident!("__jit_function_{}", self.function.sig.ident, span = Span::call_site())
    }

    fn free_function(&self, call: &TokenStream) -> TokenStream {
        let ItemFn { attrs, vis, sig, .. } = &self.function;
        let (name, body, located) = (&sig.ident, &self.body, self.located());
        let getter = self.recordings(&Ident::new("__jit_function", Span::call_site()));
        let about = self.about(&quote!(Self::__jit_function()), |what| Ident::new(what, name.span()));
        let doc = format!("What is known of the recordings of the function [`{name}`](fn@{name}).");
        quote_spanned! {name.span()=>
            #(#attrs)*
            #located
            #vis #sig {
                #body
                #call
            }

            #[doc = #doc]
            #[allow(non_camel_case_types, dead_code)]
            #vis struct #name { _private: () }

            #[allow(dead_code, clippy::missing_const_for_fn)]
            impl #name {
                #getter
                #about
            }
        }
    }

    fn method(&self, call: &TokenStream) -> TokenStream {
        let ItemFn { attrs, vis, sig, .. } = &self.function;
        let (name, body, getter_name, located) = (&sig.ident, &self.body, self.getter(), self.located());
        let getter = self.recordings(&getter_name);
        let about = self.about(&quote!(Self::#getter_name()), |what| format_ident!("{}_{}", name, what));
        quote_spanned! {name.span()=>
            #(#attrs)*
            #located
            #vis #sig { #call }

            #[doc(hidden)]
            #body

            #[allow(dead_code)]
            #getter

            #about
        }
    }

    /// What a user asks a frozen function.
    fn about(&self, function: &TokenStream, name: impl Fn(&str) -> Ident) -> TokenStream {
        let (private, span, vis) = (self.private(), self.function.sig.ident.span(), &self.function.vis);
        let [stats, explain, clear, set_enabled] = ["stats", "explain", "clear", "set_enabled"].map(name);
        quote_spanned! {span=>
            /// What was counted.
            #[allow(dead_code)]
            #vis fn #stats() -> #private::freeze::Stats { #function.stats() }

            /// Why the function was recorded, each time, oldest first.
            #[allow(dead_code)]
            #vis fn #explain() -> ::std::vec::Vec<#private::freeze::Retrace> { #function.explain() }

            /// Forgets all recordings and counts.
            #[allow(dead_code)]
            #vis fn #clear() { #function.clear(); }

            /// Switches recording and replaying on or off; recordings that there are stay.
            #[allow(dead_code)]
            #vis fn #set_enabled(is_on: bool) { #function.set_enabled(is_on); }
        }
    }

    /// The function as far as it goes, so that its name still resolves.
    fn refused(&self) -> TokenStream {
        let ItemFn { attrs, vis, sig, .. } = &self.function;
        let name = &sig.ident;
        let about = (!self.has_receiver).then(|| {
            let getter = self.recordings(&Ident::new("__jit_function", Span::call_site()));
            let about = self.about(&quote!(Self::__jit_function()), |what| Ident::new(what, name.span()));
            quote_spanned! {name.span()=>
                #[allow(non_camel_case_types, dead_code)]
                #vis struct #name { _private: () }
                #[allow(dead_code)]
                impl #name { #getter #about }
            }
        });
        quote_spanned! {name.span()=>
            #(#attrs)*
            #[allow(unused_variables, unused_mut)]
            #vis #sig { ::core::unreachable!() }
            #about
        }
    }
}

/// The copies of the arguments, by one name wherever the function and its parameters were written.
fn twins() -> Ident {
    Ident::new("__jit_twins", Span::mixed_site())
}

impl Parameter {
    /// The argument as the run-time support takes it.
    fn given(&self, private: &TokenStream) -> TokenStream {
        let (name, span) = (&self.name, self.span);
        match self.kind {
            Kind::Exclusive => quote_spanned!(span=> #private::freeze::Exclusive(&mut *#name)),
            Kind::Shared => quote_spanned!(span=> #private::freeze::Shared(#name)),
            Kind::Value => quote_spanned!(span=> #private::freeze::ByValue(&#name)),
        }
    }

    /// The argument of the body, lent from the copies.
    fn lent(&self, position: usize, private: &TokenStream) -> TokenStream {
        let (twins, index, span) = (twins(), syn::Index::from(position), self.span);
        match self.kind {
            Kind::Exclusive => quote_spanned!(span=> #private::freeze::lend_mut(&mut #twins.#index)),
            Kind::Shared => quote_spanned!(span=> #private::freeze::lend(&#twins.#index)),
            Kind::Value => quote_spanned!(span=> ::core::clone::Clone::clone(&#twins.#index)),
        }
    }

    /// The argument, looked at.
    fn shared(&self) -> TokenStream {
        let name = &self.name;
        match self.kind {
            Kind::Exclusive => quote!(&*#name),
            Kind::Shared => quote!(#name),
            Kind::Value => quote!(&#name),
        }
    }
}
