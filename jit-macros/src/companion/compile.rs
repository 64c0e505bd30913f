//! `f::compile(…)`: the function that compiles a `#[jit]` function to an executor.
//!
//! ```text
//! #[jit] fn f(x: &Float, k: f32, #[constexpr] n: usize) -> Float { … }
//!    →   fn compile(x: &Float, k: f32, n: usize) -> Result<Executor<fn(&Float, f32) -> Float>, Error> {
//!            let call: fn(&Float, f32) -> Float = |x, k| run((Shared(x), ByValue(&k)));
//!            let body = |proxies, (n,)| f(lend(&proxies.0), copied(&proxies.1), n);
//!            compile(…, (Shared(x), ByValue(&k)), (body, again), (n,), call)
//!        }
//! ```
//!
//! What the body takes of `#[constexpr]` parameters is passed to it, so that derivatives can run it again (`again`).
//!
//! If numbers among the parameters are combined with arrays, the body is there a second time, with these numbers as
//! arrays (`freeze/number.rs`), so that they may change from call to call.

use super::signature::{self, Parameter};
use super::{Place, item_name};
use crate::freeze::body::{self, Body};
use crate::freeze::number::{self, Lifted};
use crate::freeze::{self, MAX_ARGUMENTS, parameter};
use crate::jit;
use crate::options::JitOptions;
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{Block, Generics, ItemFn};

/// A function for which executors are made.
struct Compiled<'a> {
    function: &'a ItemFn,
    place: Place,
    krate: TokenStream,
    private: TokenStream,
    generics: Generics,
    parameters: Vec<Parameter>,
    /// The conditions under which the function can be recorded.
    bounds: Vec<TokenStream>,
    /// The plain numbers that the second body takes from outside, and that body.
    numbers: Vec<Ident>,
    lifted: Vec<Lifted>,
    /// The label of its kernels, and where its name stands: by both its counters are found.
    label: (String, Span),
    body: Option<Body>,
    /// Whether there is a function that reads executors from files: the user has not declared its name.
    has_load: bool,
}

/// Generates the functions that compile a function, which is as the user wrote it. None are generated if the user has
/// declared one of these names beside it.
pub(crate) fn items(options: &JitOptions, function: &ItemFn, place: Place, declared: &[String]) -> TokenStream {
    let is_declared = |what: &str| declared.contains(&item_name(place, &function.sig.ident, what).to_string());
    if ["compile", "compile_with", "stats", "explain", "clear"].into_iter().any(is_declared) {
        return TokenStream::new();
    }
    let questions = questions(options, function, place);
    let compile = compile_items(options, function, place, !is_declared("load"));
    quote!(#questions #compile)
}

/// Generates the functions beside a method of a trait. There are no executors of it: that is said where one is made.
pub(crate) fn items_of_trait(options: &JitOptions, function: &ItemFn, declared: &[String]) -> TokenStream {
    let is_declared = |what: &str| declared.contains(&item_name(Place::Member, &function.sig.ident, what).to_string());
    if ["compile", "stats", "explain", "clear"].into_iter().any(is_declared) {
        return TokenStream::new();
    }
    let questions = questions(options, function, Place::Member);
    let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
    let (private, count) = (quote!(#krate::__private), function.sig.inputs.len());
    let compile = refused(function, Place::Member, &private, "IsOfTrait", count);
    quote!(#questions #compile)
}

/// Generates the functions that report on the kernels of a function.
fn questions(options: &JitOptions, function: &ItemFn, place: Place) -> TokenStream {
    let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
    let (vis, name, span) = (&function.vis, &function.sig.ident, function.sig.ident.span());
    let label = label_of(options, function);
    let [stats, explain, clear] = ["stats", "explain", "clear"].map(|what| item_name(place, name, what));
    let executor = quote!(#krate::__private::executor);
    let allowed = quote!(#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)] #[inline]);
    quote_spanned! {span=>
        /// Returns the counters of the function: traces, and kernels that were compiled or found.
        #allowed
        #vis fn #stats() -> #executor::FnStats {
            #executor::stats(#label, ::core::file!(), ::core::line!())
        }

        /// Returns why kernels of the function were compiled, oldest first.
        #allowed
        #vis fn #explain() -> #krate::freeze::Explanation {
            #executor::explain(#label, ::core::file!(), ::core::line!())
        }

        /// Resets the counters of the function.
        #allowed
        #vis fn #clear() {
            #executor::clear(#label, ::core::file!(), ::core::line!());
        }
    }
}

/// Returns the label of a function's kernels.
fn label_of(options: &JitOptions, function: &ItemFn) -> String {
    options.label.clone().unwrap_or_else(|| function.sig.ident.to_string())
}

fn compile_items(options: &JitOptions, as_written: &ItemFn, place: Place, has_load: bool) -> TokenStream {
    let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
    let private = quote!(#krate::__private);
    // An error in the signature is reported there; what repeats it here is at the attribute.
    let at_attribute = ItemFn { sig: signature::placed(&as_written.sig, Span::call_site()), ..as_written.clone() };
    let function = &at_attribute;
    let mut generics = signature::without_lifetimes(&function.sig.generics);
    let parameters = signature::parameters(&function.sig, &mut generics);
    if let Some(obstacle) = signature::obstacle(&function.sig, &parameters) {
        return refused(as_written, place, &private, obstacle, parameters.len());
    }
    // Conditions that do not hold are shown at the types that the user wrote.
    let shown = signature::parameters(&as_written.sig, &mut signature::without_lifetimes(&as_written.sig.generics));
    let mut bounds: Vec<TokenStream> =
        shown.iter().filter(|one| !one.is_constexpr).map(|one| one.bound(&private)).collect();
    bounds.push(signature::bound_of_result(&as_written.sig, &private));
    let mut compiled = Compiled {
        bounds,
        function,
        place,
        krate,
        private,
        generics,
        parameters,
        numbers: Vec::new(),
        lifted: Vec::new(),
        label: (label_of(options, as_written), as_written.sig.ident.span()),
        body: None,
        has_load,
    };
    compiled.lift(options, as_written);
    compiled.expand()
}

/// Generates a function whose use is an error that says why there is none.
fn refused(function: &ItemFn, place: Place, private: &TokenStream, obstacle: &str, count: usize) -> TokenStream {
    let (vis, name) = (&function.vis, item_name(place, &function.sig.ident, "compile"));
    let obstacle = Ident::new(obstacle, function.sig.ident.span());
    let private = parameter::spanned(private, function.sig.ident.span());
    let types: Vec<Ident> = (0..count).map(|position| quote::format_ident!("Argument{position}")).collect();
    quote_spanned! {function.sig.ident.span()=>
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        #[inline]
        #vis fn #name<#(#types),*>(#(_: #types),*) -> ::core::result::Result<(), ()>
        where
            for<'__jit> (): #private::executor::#obstacle,
        {
            ::core::result::Result::Err(())
        }
    }
}

impl Compiled<'_> {
    /// Returns the span of generated code: names in it are those of the user's function.
    fn span(&self) -> Span {
        self.function.sig.ident.span()
    }

    /// Makes the second body, if numbers among the parameters are combined with arrays.
    fn lift(&mut self, options: &JitOptions, as_written: &ItemFn) {
        let mut copy = as_written.clone();
        let is_constexpr = |name: &Ident| self.parameters.iter().any(|one| one.is_constexpr && one.name == *name);
        let numbers = number::numbers(&copy.sig, &copy.block, &is_constexpr);
        let is_renamed = |parameter: &Parameter| copy.sig.ident == parameter.label;
        if has_moving_closure(&copy.block) || self.parameters.iter().any(is_renamed) {
            return;
        }
        let room = MAX_ARGUMENTS.saturating_sub(self.arguments().count());
        let lifted = number::lift(&numbers, &mut copy.block, room, &self.private);
        if lifted.is_empty() {
            return;
        }
        let krate = &self.krate;
        for Lifted { name, ty, .. } in &lifted {
            copy.sig.inputs.push(syn::parse_quote!(#name: &#krate::Array<#ty>));
        }
        // Errors were reported for the first body.
        let sink = Sink::default();
        copy.attrs = vec![syn::parse_quote!(#[allow(warnings, clippy::all)])];
        jit::rewrite(options, &mut copy, &sink);
        let body = match self.place {
            Place::Free => body::function(copy),
            Place::Inherent | Place::Member => body::closure(copy, &[], &sink),
        };
        if sink.take().is_none() {
            self.numbers = numbers.into_iter().map(|number| number.name).collect();
            (self.lifted, self.body) = (lifted, Some(body));
        }
    }

    /// Returns the parameters of calls.
    fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.is_constexpr)
    }

    fn expand(&self) -> TokenStream {
        let Compiled { function, place, krate, generics, parameters, .. } = self;
        let (vis, span) = (&function.vis, function.sig.ident.span());
        let [compile, compile_with] =
            ["compile", "compile_with"].map(|what| item_name(*place, &function.sig.ident, what));
        let result = body::result(&function.sig.output);
        let types = self.arguments().map(Parameter::whole_type);
        let call = quote_spanned!(self.span()=> fn(#(#types),*) -> #result);
        let declared = parameters.iter().map(|parameter| {
            let (name, ty) = (&parameter.name, parameter.whole_type());
            quote_spanned!(self.span()=> #name: #ty)
        });
        let (declared, names) =
            (quote_spanned!(self.span()=> #(#declared),*), parameters.iter().map(|parameter| &parameter.name));
        let conditions = generics.where_clause.as_ref().map(|clause| clause.predicates.iter());
        let conditions: Vec<_> = conditions.into_iter().flatten().collect();
        let bounds = &self.bounds;
        let own = quote_spanned!(span=> where #(#conditions,)* #(#bounds),*);
        let (params, turbofish) = (&generics.params, signature::arguments_of(generics));
        let steps = self.steps(&call);
        let load = if self.has_load { self.load(&call, &own) } else { TokenStream::new() };
        let policy = quote_spanned!(span=> <#krate::CachePolicy as ::core::default::Default>::default());
        let executor = quote_spanned!(self.span()=> ::core::result::Result<#krate::Executor<#call>, #krate::Error>);
        quote_spanned! {span=>
            /// Compiles the function to an executor, which replays its launches. Launches nothing.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[inline]
            #[track_caller]
            #vis fn #compile<#params>(#declared) -> #executor #own {
                Self::#compile_with #turbofish(#policy, #(#names),*)
            }

            /// Compiles the function to an executor, with a policy for the cache of kernels.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[inline]
            #[track_caller]
            #vis fn #compile_with<#params>(__jit_policy: #krate::CachePolicy, #declared) -> #executor #own {
                #steps
            }

            #load
        }
    }

    /// Generates the function that reads an executor from a file.
    fn load(&self, call: &TokenStream, own: &TokenStream) -> TokenStream {
        let Compiled { function, place, krate, private, generics, .. } = self;
        let (vis, span, params) = (&function.vis, self.span(), &generics.params);
        let (load, result) = (item_name(*place, &function.sig.ident, "load"), body::result(&function.sig.output));
        let what = self.what();
        let constexprs = self.parameters.iter().filter(|one| one.is_constexpr).map(|one| one.label.clone());
        let (given, names) = (self.given(), self.arguments().map(|parameter| &parameter.name));
        quote_spanned! {span=>
            /// Reads an executor from a file that `save` has written. Machine code in the file is run, so whoever could
            /// write it is trusted, as with a shared library.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[inline]
            #[track_caller]
            #vis fn #load<#params>(
                __jit_path: impl ::core::convert::AsRef<::std::path::Path>,
            ) -> ::core::result::Result<#krate::Executor<#call>, #krate::Error>
            #own, for<'__jit> #result: #krate::Build
            {
                let __jit_call: #call = |#(#names),*| #private::executor::run(#given);
                #private::executor::load::<#result, _>(
                    #what,
                    &[#(#constexprs),*],
                    ::core::convert::AsRef::as_ref(&__jit_path),
                    __jit_call,
                )
            }
        }
    }

    /// Generates what is known of the function without arguments.
    fn what(&self) -> TokenStream {
        let Compiled { function, private, lifted, label: (label, place), .. } = self;
        let labels = self.arguments().map(|parameter| parameter.label.clone());
        let texts = lifted.iter().map(|lifted| lifted.value.to_token_stream().to_string());
        let (name, count) = (function.sig.ident.to_string(), lifted.len());
        let traced = quote_spanned! {*place=>
            ::core::option::Option::Some((#label, ::core::file!(), ::core::line!()))
        };
        quote_spanned! {self.span()=>
            #private::freeze::Compiled {
                name: #name, parameters: &[#(#labels,)* #(#texts),*], lifted: #count, traced: #traced
            }
        }
    }

    /// Generates the body of the function that compiles.
    fn steps(&self, call: &TokenStream) -> TokenStream {
        let Compiled { private, .. } = self;
        let definition = self.body.as_ref().map(|body| &body.definition);
        let given = self.given();
        let names = self.arguments().map(|parameter| &parameter.name);
        let constexprs = self.parameters.iter().filter(|parameter| parameter.is_constexpr).map(|parameter| {
            let (name, label) = (&parameter.name, &parameter.label);
            quote_spanned!(self.span()=> (#label, (&#private::executor::Debugged(&#name)).text()))
        });
        let kept = self.parameters.iter().filter(|parameter| parameter.is_constexpr);
        let kept_names = kept.clone().map(|parameter| &parameter.name);
        let kept = kept.map(|parameter| parameter.kept(&self.generics, private));
        let (what, body) = (self.what(), self.call_of_body());
        let used = self.body.as_ref().map(|_| self.use_of_function());
        quote_spanned! {self.span()=>
            #used
            #[allow(unused_imports)]
            use #private::executor::{CanCopy as _, CannotCopy as _, Kept as _, Named as _, Unnamed as _, Used as _};
            let __jit_call: #call = |#(#names),*| #private::executor::run(#given);
            let __jit_constexprs = ::std::vec![#(#constexprs),*];
            let __jit_kept = (#(#kept,)*);
            let __jit_arguments = #given;
            let __jit_run =
                #private::executor::body(&__jit_arguments, &__jit_kept, |__jit_proxies, (#(#kept_names,)*)| {
                    #definition
                    #body
                });
            let __jit_again = (&#private::executor::Values(&__jit_kept)).again(&__jit_arguments, __jit_run);
            #private::executor::compile(
                __jit_policy,
                #what,
                __jit_constexprs,
                __jit_arguments,
                (__jit_run, __jit_again),
                __jit_kept,
                __jit_call,
            )
        }
    }

    /// Generates the arguments in the form that the run-time support takes.
    fn given(&self) -> TokenStream {
        let private = &self.private;
        let each = self.arguments().map(|parameter| {
            let is_number = self.numbers.contains(&parameter.name);
            parameter.given(is_number, private)
        });
        let lifted = self.lifted.iter().map(|Lifted { ty, value, .. }| freeze::given_number(ty, value, private));
        quote_spanned!(self.span()=> (#(#each,)* #(#lifted,)*))
    }

    /// Generates the call of the function, or of its second body, on the copies.
    fn call_of_body(&self) -> TokenStream {
        let Compiled { private, parameters, .. } = self;
        let (mut positions, proxies) = (0.., Ident::new("__jit_proxies", self.span()));
        let each = parameters.iter().map(|parameter| match parameter.is_constexpr {
            true => parameter.lent_kept(&self.generics),
            false => parameter.lent(positions.next().unwrap_or_default(), &proxies, private),
        });
        let each: Vec<TokenStream> = each.collect();
        let lifted = positions.take(self.lifted.len()).map(|position| {
            let index = syn::Index::from(position);
            quote_spanned!(self.span()=> &__jit_proxies.#index)
        });
        let callee = self.body.as_ref().map_or_else(|| self.callee(), |body| body.callee.clone());
        quote_spanned!(self.span()=> #callee(#(#each,)* #(#lifted),*))
    }

    /// Returns the path of the function.
    fn callee(&self) -> TokenStream {
        let (name, arguments) = (&self.function.sig.ident, signature::arguments_of(&self.function.sig.generics));
        match self.place {
            Place::Free => quote_spanned!(self.span()=> #name #arguments),
            Place::Inherent | Place::Member => quote_spanned!(self.span()=> Self::#name #arguments),
        }
    }

    /// Generates a use of the function where its second body is compiled instead: it is not unused.
    fn use_of_function(&self) -> TokenStream {
        let declared = self.parameters.iter().map(|parameter| {
            let (name, ty) = (&parameter.name, parameter.whole_type());
            quote_spanned!(self.span()=> #name: #ty)
        });
        let (names, callee) = (self.parameters.iter().map(|parameter| &parameter.name), self.callee());
        quote_spanned!(self.span()=> let _ = |#(#declared),*| { #callee(#(#names),*); };)
    }
}

/// Returns whether a body has a `move` closure. It owns copies of numbers, and could outlive the arrays in their place.
fn has_moving_closure(body: &Block) -> bool {
    struct Search(bool);
    impl Visit<'_> for Search {
        fn visit_expr_closure(&mut self, closure: &syn::ExprClosure) {
            self.0 |= closure.capture.is_some();
            visit::visit_expr_closure(self, closure);
        }
    }
    let mut search = Search(false);
    search.visit_block(body);
    search.0
}
