//! Code that compiles and almost certainly means something else under a traced condition: each finding becomes a call
//! of a method that is deprecated if the condition is traced, so that the compiler warns at the user's token.
//!
//! Methods are looked up when the type of the guard is known, so a region whose stage is inferred later is skipped.
//! Only statements that a region certainly runs are considered: those of its own block, up to the first jump.

use super::exit::Control;
use super::jumps;
use super::macros;
use super::operators::is_logical;
use super::rewrite::{Rewriter, names_in, unparenthesised};
use super::scope::{is_comparison, plain_name};
use super::state::is_assigning;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use std::collections::HashSet;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprBinary, Local, Macro, Stmt, Token};

/// A finding: the warning, its token, and the attributes of the statement.
struct Finding<'s> {
    warning: &'static str,
    span: Span,
    attributes: &'s [Attribute],
}

/// Generates the calls that warn about the block of a region whose guard exists.
pub(crate) fn of_region(rewriter: &Rewriter<'_>, guard: &Ident, block: &Block) -> TokenStream {
    let functions = rewriter.controls.iter().filter(|control| matches!(control, Control::Function(_))).count();
    // In a closure the type of a condition may be inferred after its method is looked up.
    if functions > 1 {
        return TokenStream::new();
    }
    let findings = findings(rewriter, block);
    findings.iter().map(|finding| finding.call(rewriter, guard)).collect()
}

fn findings<'s>(rewriter: &Rewriter<'_>, block: &'s Block) -> Vec<Finding<'s>> {
    let mut found = Vec::new();
    let mut declared = HashSet::new();
    for (at, statement) in block.stmts.iter().enumerate() {
        if let Some(finding) = host_macro(statement).or_else(|| host_counter(rewriter, &declared, statement)) {
            found.push(finding);
        }
        if let Stmt::Local(local) = statement {
            let rest = &block.stmts[at + 1..];
            found.extend(shadows(rewriter, &declared, local, rest));
            let names = super::scope::pattern_names(&local.pat);
            declared.extend(names.into_iter().map(|(name, ..)| name.to_string()));
        }
        if jumps::in_statement(statement, &rewriter.scopes) {
            break;
        }
    }
    found
}

impl Finding<'_> {
    fn call(&self, rewriter: &Rewriter<'_>, guard: &Ident) -> TokenStream {
        let attributes = levels(self.attributes);
        call(rewriter, self.warning, &guard.to_string(), self.span, &attributes)
    }
}

/// Returns the attributes that control the compiler's warnings.
pub(crate) fn levels(attributes: &[Attribute]) -> TokenStream {
    let names = ["allow", "expect", "warn", "deny", "forbid"];
    let is_level = |attribute: &&Attribute| names.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_level).map(ToTokens::to_token_stream).collect()
}

/// Returns whether a statement disables the warning.
pub(crate) fn allows(attributes: &[Attribute]) -> bool {
    let is_named = |attribute: &Attribute| attribute.to_token_stream().to_string().contains("deprecated");
    attributes.iter().any(|attribute| attribute.path().is_ident("allow") && is_named(attribute))
}

/// Generates a call on a variable for a warning at a token.
fn call(rewriter: &Rewriter<'_>, warning: &str, variable: &str, span: Span, attributes: &TokenStream) -> TokenStream {
    let span = rewriter.at(span);
    let (private, warning, variable) = (rewriter.private(span), Ident::new(warning, span), Ident::new(variable, span));
    quote_spanned! {span=> {
        #[allow(unused_imports)]
        use #private::{Harmless as _, Suspicious as _};
        #attributes
        (&#variable).#warning();
    }}
}

/// Finds a statement such as `panic!(…)` or `println!(…)`.
fn host_macro(statement: &Stmt) -> Option<Finding<'_>> {
    let (call, attributes) = match statement {
        Stmt::Macro(node) => (&node.mac, &node.attrs),
        Stmt::Expr(Expr::Macro(node), _) => (&node.mac, &node.attrs),
        _ => return None,
    };
    let name = &call.path.segments.last()?.ident;
    let warning = match call {
        _ if macros::diverges(call) => "panics_while_tracing",
        _ if macros::prints(call) => "prints_while_tracing",
        _ => return None,
    };
    Some(Finding { warning, span: name.span(), attributes })
}

/// Finds a statement such as `i += 1`, of a host variable from outside the block.
fn host_counter<'s>(rewriter: &Rewriter<'_>, declared: &HashSet<String>, statement: &'s Stmt) -> Option<Finding<'s>> {
    let Stmt::Expr(Expr::Binary(node), _) = statement else { return None };
    let Expr::Path(path) = unparenthesised(&node.left) else { return None };
    let name = path.path.get_ident().filter(|name| !declared.contains(&name.to_string()))?;
    let (_, binding) = rewriter.scopes.find(name)?;
    let counts = is_assigning(&node.op) && binding.host && binding.mutable;
    counts.then(|| Finding { warning: "host_counter", span: binding.name.span(), attributes: &node.attrs })
}

/// Finds `let x = …x…;` of a variable that may change, which the rest of the block does not mention.
fn shadows<'s>(
    rewriter: &Rewriter<'_>,
    declared: &HashSet<String>,
    local: &'s Local,
    rest: &[Stmt],
) -> Option<Finding<'s>> {
    let name = match &mut local.pat.clone() {
        syn::Pat::Ident(name) => name.ident.clone(),
        pattern => plain_name(pattern)?.ident.clone(),
    };
    let text = name.to_string();
    let (_, binding) = rewriter.scopes.find(&name).filter(|_| !declared.contains(&text))?;
    let changes = binding.mutable || binding.by_mut_ref;
    let init = names_in(local.init.as_ref()?.expr.to_token_stream());
    let is_used = rest.iter().any(|statement| mentions(statement.to_token_stream(), &text));
    (changes && init.contains(&text) && !is_used).then(|| Finding {
        warning: "shadows_state",
        span: name.span(),
        attributes: &local.attrs,
    })
}

/// Returns whether code mentions a name, including the text of a format string.
fn mentions(code: TokenStream, name: &str) -> bool {
    code.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), name),
        proc_macro2::TokenTree::Ident(ident) => ident == name,
        proc_macro2::TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        proc_macro2::TokenTree::Punct(_) => false,
    })
}

/// Registers the parameters that are compared in a macro whose arguments are not rewritten.
pub(crate) fn in_macro(rewriter: &mut Rewriter<'_>, call: &Macro) {
    let Some(name) = call.path.segments.last() else { return };
    let is_text = ["stringify", "concat"].iter().any(|text| name.ident == text);
    let Ok(arguments) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone()) else { return };
    if is_text || rewriter.host_only || rewriter.is_allowed {
        return;
    }
    let mut compared = Compared::default();
    arguments.iter().for_each(|argument| compared.visit_expr(argument));
    for variable in compared.found {
        let is_parameter = rewriter.scopes.find(&variable).is_some_and(|(age, _)| age < rewriter.parameters);
        if is_parameter {
            rewriter.compared.push((variable, name.ident.span()));
        }
    }
}

/// Generates the calls that warn about parameters compared in macros, for the begin of the function.
pub(crate) fn of_parameters(rewriter: &Rewriter<'_>) -> TokenStream {
    let compared = rewriter.compared.iter();
    compared
        .map(|(name, span)| call(rewriter, "compared_in_macro", &name.to_string(), *span, &TokenStream::new()))
        .collect()
}

/// Finds the variables that are compared, by themselves or in arithmetic.
#[derive(Default)]
struct Compared {
    is_inside: bool,
    found: Vec<Ident>,
}

impl Visit<'_> for Compared {
    fn visit_expr(&mut self, expr: &Expr) {
        let outer = self.is_inside;
        match expr {
            Expr::Binary(ExprBinary { op, .. }) => {
                self.is_inside = is_comparison(op) || (outer && !is_logical(op));
                visit::visit_expr(self, expr);
            }
            Expr::Unary(_) | Expr::Paren(_) | Expr::Group(_) => visit::visit_expr(self, expr),
            Expr::Path(path) if outer => self.found.extend(path.path.get_ident().cloned()),
            Expr::Closure(_) => {}
            _ => {
                self.is_inside = false;
                visit::visit_expr(self, expr);
            }
        }
        self.is_inside = outer;
    }
    fn visit_item(&mut self, _: &syn::Item) {}
}
