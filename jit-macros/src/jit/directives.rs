//! Attributes on statements inside a traced function.

use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Block, Expr, LitInt, LitStr, Stmt};

/// The directives of a statement.
#[derive(Default)]
pub(crate) struct Directives {
    /// `#[host]`: conditions of the statement are left to Rust.
    pub(crate) host: bool,
    /// `#[label("…")]`: the name of the kernels traced in the statement.
    pub(crate) label: Option<LitStr>,
    /// The mode of a loop or branch.
    pub(crate) mode: Mode,
}

/// The mode of a loop or branch whose condition is traced.
#[derive(Default)]
pub(crate) struct Mode {
    /// `#[symbolic]`: recorded once, which is the default.
    symbolic: Option<Span>,
    /// `#[evaluated]`: its body runs, and is launched, once for each iteration; both arms of an `if` run.
    evaluated: Option<Span>,
    /// `#[compress]`: finished lanes are removed from the launches.
    compress: Option<Span>,
    /// `#[max_iterations(n)]`: more iterations are an error.
    max_iterations: Option<LitInt>,
    /// `#[unroll]`: a `for` is meant to be traced iteration by iteration.
    pub(crate) unroll: Unroll,
}

/// The number of iterations of a `for` that may be traced one by one without a warning.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unroll {
    /// The default limit.
    #[default]
    Unsaid,
    /// `#[unroll]`: all.
    Any,
    /// `#[unroll(n)]`: up to `n`.
    UpTo(u32),
}

impl Mode {
    /// Returns the first token of a directive.
    pub(crate) fn span(&self) -> Option<Span> {
        self.symbolic.or(self.evaluated).or(self.compress).or(self.bound().map(LitInt::span))
    }

    /// Returns the maximum number of iterations, if set.
    pub(crate) fn bound(&self) -> Option<&LitInt> {
        self.max_iterations.as_ref()
    }

    /// Returns whether iterations or arms run, rather than being recorded.
    pub(crate) fn is_evaluated(&self) -> bool {
        self.evaluated.is_some()
    }

    /// Returns the mode of a statement, or else of the expression in it.
    pub(crate) fn or(self, other: Mode) -> Mode {
        if self.span().is_some() || self.unroll != Unroll::Unsaid { self } else { other }
    }

    /// Calls that set up the guard of a loop.
    pub(crate) fn of_loop(&self, guard: &Ident) -> TokenStream {
        let call = |name: &str, span: Span, argument: Option<&LitInt>| {
            let (guard, name) = (standing_at(guard, span), Ident::new(name, span));
            quote_spanned!(span=> #guard.#name(#argument);)
        };
        let evaluated = self.evaluated.map(|span| call("evaluated", span, None));
        let compress = self.compress.map(|span| call("compress", span, None));
        let bound = self.max_iterations.as_ref().map(|bound| call("max_iterations", bound.span(), Some(bound)));
        evaluated.into_iter().chain(compress).chain(bound).collect()
    }

    /// Returns the call that sets up the guard of a branch.
    pub(crate) fn of_branch(&self, guard: &Ident, sink: &Sink) -> TokenStream {
        let bound = self.max_iterations.as_ref().map(|bound| (bound.span(), "max_iterations"));
        if let Some((span, name)) = self.compress.map(|span| (span, "compress")).or(bound) {
            sink.error(span, format!("`#[{name}]` is for loops"));
        }
        let evaluated = self.evaluated.map(|span| {
            let guard = standing_at(guard, span);
            quote_spanned!(span=> #guard.evaluated();)
        });
        evaluated.unwrap_or_default()
    }

    /// Rejects contradicting directives.
    fn check(&self, is_host: bool, sink: &Sink) {
        if let (true, Some(span)) = (is_host, self.span()) {
            sink.error(
                span,
                "`#[host]` leaves the statement to Rust, which records and launches nothing: remove one of the two",
            );
        }
        if let (Some(_), Some(span)) = (self.symbolic, self.evaluated) {
            sink.error(span, "`#[symbolic]` records the statement and `#[evaluated]` runs it: remove one of the two");
        }
        if let (Some(span), None) = (self.compress, self.evaluated) {
            let message = "`#[compress]` drops finished lanes from the launches of an `#[evaluated]` loop: write \
                           `#[evaluated] #[compress]`";
            sink.error(span, message);
        }
    }
}

/// Planned directives, which are rejected until then.
const NOT_YET: [&str; 2] = ["untracked", "constexpr"];

/// Takes our attributes from a list and leaves the others, which are Rust's.
pub(crate) fn take(attributes: &mut Vec<Attribute>, sink: &Sink) -> Directives {
    let mut directives = Directives::default();
    attributes.retain(|attribute| {
        let Some(name) = attribute.path().get_ident().map(ToString::to_string) else { return true };
        match name.as_str() {
            "host" => match attribute.meta.require_path_only() {
                Ok(_) => directives.host = true,
                Err(_) => sink.error(attribute.span(), "`#[host]` takes no arguments"),
            },
            "label" => match attribute.parse_args::<LitStr>() {
                Ok(label) => directives.label = Some(label),
                Err(_) => sink.error(attribute.span(), "`#[label(\"…\")]` takes one string"),
            },
            "symbolic" => directives.mode.symbolic = flag(attribute, &name, sink),
            "evaluated" => directives.mode.evaluated = flag(attribute, &name, sink),
            "compress" => directives.mode.compress = flag(attribute, &name, sink),
            "max_iterations" => directives.mode.max_iterations = bound(attribute, sink),
            "unroll" => directives.mode.unroll = unroll(attribute, sink),
            other if NOT_YET.contains(&other) => {
                sink.error(attribute.path().span(), format!("`#[{other}]` on a statement is not supported yet"));
            }
            _ => return true,
        }
        false
    });
    directives.mode.check(directives.host, sink);
    directives
}

/// Returns whether a block has an `#[evaluated]` statement, which cannot be inside of a region that is recorded.
pub(crate) fn has_evaluated(block: &Block) -> bool {
    let mut search = EvaluatedSearch(false);
    search.visit_block(block);
    search.0
}

/// Searches for `#[evaluated]`. Items are other functions.
struct EvaluatedSearch(bool);

impl<'ast> Visit<'ast> for EvaluatedSearch {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.0 |= attribute.path().is_ident("evaluated");
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Returns the place of an attribute without arguments.
fn flag(attribute: &Attribute, name: &str, sink: &Sink) -> Option<Span> {
    if attribute.meta.require_path_only().is_err() {
        sink.error(attribute.span(), format!("`#[{name}]` takes no arguments"));
    }
    Some(attribute.path().span())
}

/// Parses `#[unroll]` or `#[unroll(n)]`.
fn unroll(attribute: &Attribute, sink: &Sink) -> Unroll {
    if attribute.meta.require_path_only().is_ok() {
        return Unroll::Any;
    }
    match attribute.parse_args::<LitInt>().and_then(|count| count.base10_parse()) {
        Ok(count) => Unroll::UpTo(count),
        Err(_) => {
            sink.error(attribute.span(), "`#[unroll(n)]` takes a number of iterations, `#[unroll]` none");
            Unroll::Any
        }
    }
}

/// Returns a helper's name at a token, which may come from another macro than the function: it resolves to the helper
/// there, too.
fn standing_at(helper: &Ident, span: Span) -> Ident {
    Ident::new(&helper.to_string(), span.resolved_at(helper.span()))
}

/// Parses the argument of `#[max_iterations(n)]`.
fn bound(attribute: &Attribute, sink: &Sink) -> Option<LitInt> {
    let bound = attribute.parse_args::<LitInt>().ok();
    let bound = bound.filter(|bound| bound.base10_parse::<u32>().is_ok_and(|bound| bound > 0));
    if bound.is_none() {
        let message = "`#[max_iterations(n)]` takes one positive integer, as in `#[max_iterations(64)]`";
        sink.error(attribute.span(), message);
    }
    bound
}

/// Rejects a mode on a statement that is not a loop or branch.
pub(crate) fn check_place(mode: &Mode, statement: &Stmt, sink: &Sink) {
    let expr = match statement {
        Stmt::Local(local) => local.init.as_ref().map(|init| &*init.expr),
        Stmt::Expr(Expr::Assign(assign), _) => Some(&*assign.right),
        Stmt::Expr(expr, _) => Some(expr),
        _ => None,
    };
    let is_control = matches!(expr, Some(Expr::If(_) | Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_)));
    if let (Some(span), false) = (mode.span(), is_control) {
        sink.error(span, "this attribute is for a loop or branch, and the statement is neither");
    }
}

/// Returns the attributes of an expression that can be a statement.
pub(crate) fn attributes_of(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    match expr {
        Expr::If(node) => Some(&mut node.attrs),
        Expr::While(node) => Some(&mut node.attrs),
        Expr::ForLoop(node) => Some(&mut node.attrs),
        Expr::Loop(node) => Some(&mut node.attrs),
        Expr::Match(node) => Some(&mut node.attrs),
        Expr::Block(node) => Some(&mut node.attrs),
        Expr::Assign(node) => Some(&mut node.attrs),
        Expr::Binary(node) => Some(&mut node.attrs),
        Expr::Call(node) => Some(&mut node.attrs),
        Expr::MethodCall(node) => Some(&mut node.attrs),
        _ => None,
    }
}
