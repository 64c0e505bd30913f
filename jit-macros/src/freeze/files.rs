//! The items that write the recordings of a frozen function to a file and read them: `f::save(path)`, `f::load(path)`.
//!
//! A generic function, and a method, has recordings for each instantiation, so each has files of its own:
//! `f::save::<T>(path)`, `Net::<T>::step_save(path)`. Each `impl Trait` among the arguments is a type parameter of
//! these functions, behind those that the function names.

use super::{Frozen, body, parameter};
use crate::companion::{self, Place, item_name, signature};
use crate::options::JitOptions;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{FnArg, Generics, ReceiverKind, Signature, Type, Visibility, parse_quote};

/// The parts of a function that its files depend on.
struct Files {
    /// The types of the arguments, without lifetimes.
    types: Vec<Type>,
    result: TokenStream,
    /// The generic parameters, without lifetimes; at their end those that stand for `impl Trait`.
    generics: Generics,
    /// The arguments with `impl Trait` in their types: their positions.
    unnamed: Vec<usize>,
}

impl Files {
    /// The types of the arguments with `impl Trait`.
    fn unnamed_types(&self) -> impl Iterator<Item = &Type> {
        self.unnamed.iter().map(|&position| &self.types[position])
    }
}

impl Frozen {
    /// Generates the functions, and the one that names the instantiation. There are none of functions with a type that
    /// has no name.
    pub(super) fn files(&self, function: &TokenStream) -> TokenStream {
        let Some(files) = self.parts_of_files() else { return TokenStream::new() };
        let Files { types, result, generics, .. } = &files;
        let (private, span) = (self.private(), self.function.sig.ident.span());
        let krate = self.options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        let vis: &Visibility = &self.function.vis;
        let [save, load] = ["save", "load"].map(|what| item_name(self.place, &self.function.sig.ident, what));
        let signature = quote!(fn(#(#types),*) -> #result);
        let path = quote!(impl ::core::convert::AsRef<::std::path::Path>);
        let outcome = quote!(::core::result::Result<(), #krate::Error>);
        let (params, arguments) = (&generics.params, signature::arguments_of(generics));
        let conditions = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let conditions: Vec<_> = conditions.collect();
        let getter = self.instance_getter();
        let marker = quote!(::core::marker::PhantomData);
        let (unnamed, markers) = (files.unnamed_types(), files.unnamed.iter().map(|_| &marker));
        let has_instances = self.has_instances(&files);
        let instance = match has_instances {
            true => quote!(::core::option::Option::Some(Self::#getter #arguments(#(#markers),*))),
            false => quote!(::core::option::Option::None),
        };
        let naming = has_instances.then(|| {
            let named = self.named_instance(&files, &private);
            quote_spanned! {span=>
                #[doc(hidden)]
                #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
                #vis fn #getter<#params>(#(_: #marker<#unnamed>),*) -> #private::freeze::Instance
                where
                    #(#conditions),*
                {
                    #named
                }
            }
        });
        quote_spanned! {span=>
            #naming

            /// Writes all recordings to a file.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[track_caller]
            #vis fn #save<#params>(path: #path) -> #outcome where #(#conditions),* {
                #private::freeze::Function::save::<#signature>(
                    #function,
                    #instance,
                    ::core::convert::AsRef::as_ref(&path),
                )
            }

            /// Adds the recordings of a file that `save` has written: later calls replay them. Machine code in the file
            /// is run, so whoever could write it is trusted, as with a shared library.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[track_caller]
            #vis fn #load<#params>(path: #path) -> #outcome
            where
                #(#conditions,)*
                for<'__jit> #result: #private::freeze::Recordable + #krate::Build,
            {
                #private::freeze::Function::load::<#signature, #result>(
                    #function,
                    #instance,
                    ::core::convert::AsRef::as_ref(&path),
                )
            }
        }
    }

    /// Returns an expression for the instantiation, valid in the function; none if it has a single one.
    pub(super) fn instance(&self) -> Option<TokenStream> {
        let files = self.parts_of_files().filter(|files| self.has_instances(files))?;
        let (getter, private, name) = (self.instance_getter(), self.private(), &self.function.sig.ident);
        let unnamed = files.unnamed.iter().map(|&position| &self.parameters[position].name);
        let arguments = self.arguments_in_body(&files);
        let call = quote_spanned!(name.span()=> #getter #arguments(#(#private::freeze::type_of(&#unnamed)),*));
        Some(match self.place {
            Place::Free => {
                let beside = companion::type_beside(name);
                quote_spanned!(name.span()=> #beside::#call)
            }
            Place::Inherent | Place::Member => quote_spanned!(name.span()=> Self::#call),
        })
    }

    /// Returns an expression for the instantiation, valid in the function that names it. Where the instantiation has no
    /// name, because of `impl Trait`, it is that of the naming function, which has a parameter for each.
    fn named_instance(&self, files: &Files, private: &TokenStream) -> TokenStream {
        let (name, getter, arguments) =
            (&self.function.sig.ident, self.instance_getter(), signature::arguments_of(&files.generics));
        match (self.place, files.unnamed.is_empty()) {
            (Place::Free, true) => quote_spanned!(name.span()=> #private::freeze::instance(&#name #arguments)),
            (Place::Free, false) => quote!(#private::freeze::instance_beside(&Self::#getter #arguments)),
            (_, true) => quote_spanned!(name.span()=> #private::freeze::instance(&Self::#name #arguments)),
            (_, false) => quote!(#private::freeze::instance(&Self::#getter #arguments)),
        }
    }

    /// Returns the generic arguments in the function, where those for `impl Trait` have no name.
    fn arguments_in_body(&self, files: &Files) -> TokenStream {
        let named = self.parameters_of_types();
        if files.unnamed.is_empty() || named.params.is_empty() {
            return signature::arguments_of(&named);
        }
        let names = named.params.iter().map(signature::name_of_parameter);
        let inferred = files.generics.params.iter().skip(named.params.len()).map(|_| quote!(_));
        quote!(::<#(#names,)* #(#inferred),*>)
    }

    /// Returns whether it may have several instantiations: that of a method depends on its type.
    fn has_instances(&self, files: &Files) -> bool {
        self.place == Place::Inherent || !files.generics.params.is_empty()
    }

    fn parameters_of_types(&self) -> Generics {
        signature::without_lifetimes(&self.function.sig.generics)
    }

    fn instance_getter(&self) -> Ident {
        match self.place {
            Place::Free => Ident::new("__jit_instance", Span::call_site()),
            Place::Inherent | Place::Member => {
                format_ident!("__jit_instance_{}", self.function.sig.ident, span = Span::call_site())
            }
        }
    }

    fn parts_of_files(&self) -> Option<Files> {
        let sig = &self.function.sig;
        if self.place == Place::Member || !self.is_right {
            return None;
        }
        let mut types: Vec<Type> = sig.inputs.iter().map(type_of).collect();
        let (mut generics, mut unnamed) = (self.parameters_of_types(), Vec::new());
        for (position, ty) in types.iter_mut().enumerate() {
            let before = generics.params.len();
            signature::name_impl_trait(ty, &mut generics);
            WithoutLifetimes.visit_type_mut(ty);
            unnamed.extend((generics.params.len() > before).then_some(position));
        }
        let is_named = !types.iter().any(has_unnamed) && !has_lifetime(&generics);
        is_named.then(|| Files { types, result: body::result(&sig.output), generics, unnamed })
    }
}

/// Generates functions beside a method of a trait whose use is an error: it has no files.
pub(crate) fn refused_files(options: &JitOptions, sig: &Signature, declared: &[String]) -> TokenStream {
    let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
    let private = parameter::spanned(&quote!(#krate::__private), sig.ident.span());
    let refused = ["save", "load"].into_iter().filter_map(|what| {
        let name = item_name(Place::Member, &sig.ident, what);
        let is_declared = declared.contains(&name.to_string());
        (!is_declared).then(|| {
            quote_spanned! {sig.ident.span()=>
                #[inline]
                fn #name<Path>(_: Path) -> ::core::result::Result<(), #krate::Error>
                where
                    for<'__jit> (): #private::freeze::HasFiles,
                {
                    ::core::unreachable!()
                }
            }
        })
    });
    refused.collect()
}

fn type_of(argument: &FnArg) -> Type {
    match argument {
        FnArg::Typed(typed) => (*typed.ty).clone(),
        FnArg::Receiver(receiver) => match &receiver.kind {
            ReceiverKind::Reference(_, _, Some(_)) => parse_quote!(&mut Self),
            ReceiverKind::Reference(_, _, None) => parse_quote!(&Self),
            ReceiverKind::Typed(_, ty) => (**ty).clone(),
            _ => parse_quote!(Self),
        },
    }
}

/// Replaces lifetimes by those that are left out.
struct WithoutLifetimes;

impl VisitMut for WithoutLifetimes {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }

    fn visit_bound_lifetimes_mut(&mut self, _: &mut syn::BoundLifetimes) {}
}

/// Returns whether a type has no name that can be written again: `_`, or a lifetime that it declares.
fn has_unnamed(ty: &Type) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_type_infer(&mut self, _: &'ast syn::TypeInfer) {
            self.0 = true;
        }

        fn visit_bound_lifetimes(&mut self, _: &'ast syn::BoundLifetimes) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}

/// Returns whether generic parameters mention a lifetime of the function.
fn has_lifetime(generics: &Generics) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_lifetime(&mut self, lifetime: &'ast syn::Lifetime) {
            self.0 |= lifetime.ident != "static";
            visit::visit_lifetime(self, lifetime);
        }
    }
    let mut search = Search(false);
    search.visit_generics(generics);
    search.0
}
