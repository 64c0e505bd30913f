//! Walks a function's body and rewrites the constructs that have a wider meaning on arrays.
//!
//! This file holds the state of the walk and the code around a body. The walk itself is in `block`, for statements, and
//! `visit`, for expressions. Each family of constructs has a file: `operators`, `logic`, `branch`, `repeat` and so on.

use super::carried::Carried;
use super::directives::Mode;
use super::exit::{Control, Exits, Frame};
use super::lent::Lent;
use super::place::Place;
use super::scope::{Scopes, identifiers};
use super::warning;
use crate::options::JitOptions;
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Block, Expr, FnArg, LitStr, Pat, ReturnType, Signature, Stmt, Type};

/// The state of the walk.
pub(crate) struct Rewriter<'a> {
    pub(crate) sink: &'a Sink,
    pub(crate) scopes: Scopes,
    pub(crate) controls: Vec<Control>,
    pub(crate) exits: Exits,
    /// For each open arm of an `if` with another arm after it: the age of the variables declared before it, and the
    /// names that the later arms mention.
    pub(crate) mentioned_later: Vec<(usize, HashSet<String>)>,
    /// The expected type of the next value, if the program names it.
    pub(crate) expected: Option<Type>,
    /// Set in the value of a jump that may be traced: variables older than this are mentioned in code that is recorded
    /// later.
    pub(crate) given_since: Option<usize>,
    /// What the last parameter of the next closure is lent.
    pub(crate) closure_lent: Lent,
    /// Whether nothing of the statement remains after the next expression.
    pub(crate) is_whole_statement: bool,
    /// Set inside `#[host]` statements.
    pub(crate) host_only: bool,
    /// The number of variables that were cloned, if traced, because code that is recorded later mentions them.
    pub(crate) shared: usize,
    /// Whether any value is tested by method lookup for being traced: the traits of these methods must be in scope.
    pub(crate) uses_kinds: bool,
    /// The number of variables that are parameters of the function.
    pub(crate) parameters: usize,
    /// Parameters that are compared in macros which are not rewritten, with their places.
    pub(crate) compared: Vec<(Ident, Span)>,
    /// Whether it is inside a statement with `#[allow(deprecated)]`.
    pub(crate) is_allowed: bool,
    /// The mode of the loop or branch of this statement.
    pub(crate) mode: Mode,
    /// Tests of patterns, each by the name of its placeholder until the condition that contains it is rewritten.
    pub(crate) tests: HashMap<String, TokenStream>,
    /// Whether code was rejected because it nests too deeply.
    pub(crate) is_too_deep: bool,
    /// Placeholder names of bindings of arms until they are rewritten.
    pub(crate) bound: HashSet<String>,
    private: TokenStream,
    pub(crate) home: Span,
    helpers: usize,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(options: &JitOptions, signature: &Signature, constexpr: &[bool], sink: &'a Sink) -> Self {
        let private = match &options.krate {
            Some(path) => quote::quote!(#path::__private),
            None => quote::quote!(::jit::__private),
        };
        let mut scopes = Scopes::default();
        scopes.push();
        for (argument, &constexpr) in signature.inputs.iter().zip(constexpr) {
            scopes.declare_argument(argument, constexpr);
        }
        let parameters = scopes.mark();
        Rewriter {
            sink,
            scopes,
            controls: Vec::new(),
            exits: Exits::default(),
            given_since: None,
            closure_lent: Lent::Nothing,
            is_whole_statement: false,
            mentioned_later: Vec::new(),
            expected: None,
            host_only: false,
            shared: 0,
            uses_kinds: false,
            parameters,
            compared: Vec::new(),
            is_allowed: false,
            mode: Mode::default(),
            tests: HashMap::new(),
            is_too_deep: false,
            bound: HashSet::new(),
            private,
            home: signature.ident.span(),
            helpers: 0,
        }
    }

    /// Rewrites a whole function.
    pub(crate) fn function(
        &mut self,
        options: &JitOptions,
        signature: &Signature,
        constexpr: &[bool],
        body: &mut Block,
    ) {
        let output = match &signature.output {
            ReturnType::Type(_, ty) => expected_type(ty),
            ReturnType::Default => None,
        };
        self.expected.clone_from(&output);
        self.controls.push(Control::Function(Frame { output, ..Frame::default() }));
        self.block(body, true);
        self.finish_function(body);
        let name = options.label.clone().unwrap_or_else(|| signature.ident.to_string());
        let span = signature.ident.span();
        let private = self.private(span);
        let notes = super::constexpr::notes(signature, constexpr, |span| self.private(span));
        let arguments = self.arguments(signature, constexpr, body);
        let end = self.at(body.brace_token.span.close());
        let labelled = self.labelled(&LitStr::new(&name, span), span, end);
        let fast_math = options
            .fast_math
            .map(|is_on| quote_spanned!(span=> let __jit_fast_math = #private::FastMath::set(#is_on);));
        let kinds = self.uses_kinds.then(|| {
            quote_spanned! {span=>
                #[allow(unused_imports)]
                use #private::{AsksNoReferent as _, AsksReferent as _, CastsHost as _, CastsSize as _, CastsTraced as _,
                    IndexesHost as _, IndexesTraced as _, Lend as _, MatchesHost as _, MatchesTraced as _,
                    NoReferent as _, Referent as _};
            }
        });
        let warnings = warning::of_parameters(self);
        let prologue = quote_spanned!(span=> #kinds let __jit_function = #private::enter(#labelled);
            #fast_math #notes #arguments #warnings);
        body.stmts.insert(0, Stmt::Expr(Expr::Verbatim(prologue), None));
    }

    /// Notes the arguments for reports about compilations: those that the body mentions, so that the compiler still
    /// warns of the others.
    fn arguments(&self, signature: &Signature, constexpr: &[bool], body: &Block) -> Option<TokenStream> {
        let mut mentioned = Vec::new();
        identifiers(body.to_token_stream(), &mut mentioned);
        let mentioned: HashSet<String> = mentioned.iter().map(Ident::to_string).collect();
        let named = signature.inputs.iter().zip(constexpr).filter(|(_, is_constexpr)| !**is_constexpr);
        let names = named.filter_map(|(argument, _)| match argument {
            FnArg::Receiver(receiver) => {
                let span = receiver.self_token.span;
                Some((Ident::new("self", span), span))
            }
            FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(pattern) => Some((pattern.ident.clone(), syn::spanned::Spanned::span(&typed.ty))),
                _ => None,
            },
        });
        let names: Vec<_> = names.filter(|(name, _)| mentioned.contains(&name.to_string())).collect();
        // What is wrong with a type is shown there.
        let passed = names.iter().map(|(name, span)| {
            let private = self.private(*span);
            quote_spanned!(*span=> (&#private::Passed(&#name)))
        });
        let passed: Vec<TokenStream> = passed.collect();
        let span = signature.ident.span();
        let private = self.private(span);
        let labels = names.iter().map(|(name, _)| name.to_string().trim_start_matches("r#").to_owned());
        // A block without `;` would be the left operand of what follows, as far as the compiler's advice is concerned.
        (!names.is_empty()).then(|| {
            quote_spanned! {span=>
                #[allow(clippy::needless_borrow)]
                let () = {
                    #[allow(unused_imports)]
                    use #private::{WithArrays as _, WithoutArrays as _};
                    __jit_function.arguments(&[#(#passed.kind()),*], |__jit_places| {
                        #(#passed.list(#labels, __jit_places);)*
                    });
                };
            }
        })
    }

    /// Takes the frame of a function whose body was rewritten, and completes the body.
    fn finish_function(&mut self, body: &mut Block) {
        let Some(Control::Function(frame)) = self.controls.pop() else { return };
        if frame.exit.is_some() || !frame.witnesses.is_empty() {
            let span = self.at(body.brace_token.span.close());
            let statements = &body.stmts;
            let code = self.finish_frame(&frame, quote::quote!(#(#statements)*), span);
            body.stmts = vec![Stmt::Expr(Expr::Verbatim(code), None)];
        }
    }

    /// Returns a piece of the program with a label, between two tokens, as a `'static` reference.
    pub(crate) fn labelled(&self, label: &LitStr, start: Span, end: Span) -> TokenStream {
        let private = self.private(start);
        let (first, last) = (quote_spanned!(start=> ::core::line!()), quote_spanned!(end=> ::core::line!()));
        quote_spanned! {start=> {
            static LABELLED: #private::Labelled = #private::Labelled::new(#label, ::core::file!(), #first, #last);
            &LABELLED
        }}
    }

    /// Returns the path of the run-time support, at a span.
    pub(crate) fn private(&self, span: Span) -> TokenStream {
        let span = span.resolved_at(self.home);
        respan(self.private.clone(), span)
    }

    /// Returns a new name for a helper variable.
    pub(crate) fn helper(&mut self, what: &str, span: Span) -> Ident {
        self.helpers += 1;
        format_ident!("__jit_{}{}", what, self.helpers, span = span.resolved_at(self.home))
    }

    /// Returns a token's span with the name resolution of the function's own text.
    pub(crate) fn at(&self, span: Span) -> Span {
        span.resolved_at(self.home)
    }

    /// Returns whether the statement is marked as the host's.
    pub(crate) fn is_host_only(&self) -> bool {
        self.host_only
    }

    /// Returns whether a condition or operand certainly belongs to the host.
    pub(crate) fn is_host(&self, expr: &Expr) -> bool {
        self.host_only || self.scopes.is_host(expr)
    }

    /// Returns the mode of a loop or branch, by its own attributes or those of its statement.
    pub(crate) fn take_mode(&mut self, own: Mode) -> Mode {
        std::mem::take(&mut self.mode).or(own)
    }
}

/// Returns the type, if a value can be declared with it.
pub(crate) fn expected_type(ty: &Type) -> Option<Type> {
    let mut names = Vec::new();
    identifiers(ty.to_token_stream(), &mut names);
    let nameable = !names.iter().any(|name| name == "impl") && !matches!(ty, Type::Infer(_) | Type::Never(_));
    nameable.then(|| ty.clone())
}

/// Strips parentheses.
pub(crate) fn unparenthesised(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unparenthesised(&inner.expr),
        Expr::Group(inner) => unparenthesised(&inner.expr),
        other => other,
    }
}

/// Returns the state of a region for the code around it.
pub(crate) fn state_tokens(rewriter: &mut Rewriter<'_>, state: &[Place]) -> Vec<Carried> {
    let mut carried: Vec<Carried> = state.iter().map(|place| Carried::new(rewriter, place)).collect();
    for (at, place) in state.iter().enumerate() {
        let covering = state.iter().enumerate().filter(|(other, covers)| *other != at && covers.covers(place));
        let answers = covering.filter_map(|(other, _)| carried[other].answer()).collect();
        carried[at].covered_by(answers);
    }
    carried
}

/// Puts statements before an expression.
pub(crate) fn prepend(expr: &mut Expr, statements: &TokenStream) {
    if !statements.is_empty() {
        *expr = Expr::Verbatim(quote::quote!({ #statements #expr }));
    }
}

/// Returns the names that some code mentions.
pub(crate) fn names_in(code: TokenStream) -> HashSet<String> {
    let mut names = Vec::new();
    identifiers(code, &mut names);
    names.into_iter().map(|name| name.to_string()).collect()
}

/// Returns the names that a block mentions, from its syntax tree: converting a long chain of arms to tokens at each of
/// them would take quadratic time.
pub(crate) fn names_of(block: &Block) -> HashSet<String> {
    struct Names(HashSet<String>);
    impl Names {
        fn tokens(&mut self, tokens: &TokenStream) {
            self.0.extend(names_in(tokens.clone()));
        }
    }
    impl Visit<'_> for Names {
        fn visit_ident(&mut self, name: &Ident) {
            self.0.insert(name.to_string());
        }
        fn visit_macro(&mut self, call: &syn::Macro) {
            self.tokens(&call.tokens);
        }
        fn visit_expr(&mut self, expr: &Expr) {
            match expr {
                Expr::Verbatim(tokens) => self.tokens(tokens),
                other => visit::visit_expr(self, other),
            }
        }
    }
    let mut names = Names(HashSet::new());
    names.visit_block(block);
    names.0
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
