//! Errors that follow from the syntax alone. All of them are reported at once, at the user's tokens.

use crate::sink::Sink;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, FnArg, Pat, Signature};

/// Rejects the attribute on an item that cannot be traced.
pub(crate) fn not_a_function(item: &TokenStream, sink: &Sink) {
    let keyword = item.clone().into_iter().find(|token| {
        let text = token.to_string();
        ["struct", "enum", "union", "trait", "mod", "static", "const", "type", "use", "macro_rules", "fn"]
            .contains(&text.as_str())
    });
    let Some(token) = keyword.or_else(|| item.clone().into_iter().next()) else {
        sink.error(proc_macro2::Span::call_site(), "`#[jit]` applies to a function");
        return;
    };
    let message = match token.to_string().as_str() {
        "struct" | "enum" => {
            "`#[jit]` applies to a function; for a state type of your own use `#[derive(Traverse)]`".to_owned()
        }
        "fn" => {
            if let Err(error) = syn::parse2::<syn::TraitItemFn>(item.clone()) {
                return sink.push(error);
            }
            "a `#[jit]` function needs a body".to_owned()
        }
        "trait" => {
            "on a trait write `#[jit(dispatch)]`, which lets its methods be called on pointers that differ by lane"
                .to_owned()
        }
        _ => "`#[jit]` applies to a function or to an `impl` block".to_owned(),
    };
    let span = match &token {
        TokenTree::Ident(ident) => ident.span(),
        other => other.span(),
    };
    sink.error(span, message);
}

/// Removes a second `#[jit]`.
pub(crate) fn attributes(attributes: &mut Vec<Attribute>, sink: &Sink) {
    attributes.retain(|attribute| {
        let again = attribute.path().segments.last().is_some_and(|last| last.ident == "jit");
        if again {
            sink.error(attribute.path().span(), "`#[jit]` appears twice");
        }
        !again
    });
}

/// Rejects functions whose kind cannot be traced.
pub(crate) fn signature(signature: &Signature, sink: &Sink) {
    let refuse = |span, keyword: &str| {
        sink.error(
            span,
            format!("`#[jit]` functions cannot be `{keyword}`: tracing runs their code on the host, once"),
        );
    };
    if let Some(token) = &signature.asyncness {
        refuse(token.span, "async");
    }
    if let Some(token) = &signature.constness {
        refuse(token.span, "const");
    }
    if let Some(abi) = &signature.abi {
        refuse(abi.extern_token.span, "extern");
    }
    if let Some(variadic) = &signature.variadic {
        sink.error(variadic.span(), "`#[jit]` functions cannot be variadic");
    }
    let mut names = ReservedNames(sink);
    for input in &signature.inputs {
        if let FnArg::Typed(typed) = input {
            names.visit_pat(&typed.pat);
        }
    }
}

/// Rejects code in the body that has no meaning in a trace.
pub(crate) fn body(body: &Block, sink: &Sink) {
    ReservedNames(sink).visit_block(body);
    Refused(sink).visit_block(body);
}

/// Rejects names with the prefix of our helpers.
struct ReservedNames<'a>(&'a Sink);

impl ReservedNames<'_> {
    fn name(&self, name: &Ident) {
        if name.to_string().starts_with("__jit_") {
            self.0.error(name.span(), "names that begin with `__jit_` are reserved");
        }
    }
}

impl Visit<'_> for ReservedNames<'_> {
    fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
        self.name(&pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }
    fn visit_expr_path(&mut self, path: &syn::ExprPath) {
        if let Some(name) = path.path.get_ident() {
            self.name(name);
        }
    }
    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Rejects constructs that suspend, which tracing cannot support.
struct Refused<'a>(&'a Sink);

impl Visit<'_> for Refused<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Await(node) => {
                self.0.error(
                    node.await_token.span,
                    "`.await` cannot appear in a `#[jit]` function: tracing cannot suspend",
                );
            }
            Expr::Async(node) => {
                self.0.error(
                    node.async_token.span,
                    "`async` blocks cannot appear in a `#[jit]` function: tracing cannot suspend",
                );
            }
            Expr::Yield(node) => {
                self.0.error(
                    node.yield_token.span,
                    "`yield` cannot appear in a `#[jit]` function: tracing cannot suspend",
                );
            }
            _ => visit::visit_expr(self, expr),
        }
    }
    fn visit_local(&mut self, local: &syn::Local) {
        if let (Pat::Ident(_), Some(init)) = (&local.pat, &local.init) {
            value_of_one_arm(&init.expr, self.0);
        }
        visit::visit_local(self, local);
    }
    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Rejects `let y = if c { a };`, which has a value in one arm only.
fn value_of_one_arm(value: &Expr, sink: &Sink) {
    let Expr::If(node) = value else { return };
    let gives_value = matches!(node.then_branch.stmts.last(), Some(syn::Stmt::Expr(_, None)));
    match &node.else_branch {
        None if gives_value => {
            sink.error(node.if_token.span, "this `if` has a value in one arm only; add an `else`");
        }
        Some((_, chained)) if gives_value => value_of_one_arm(chained, sink),
        _ => {}
    }
}

/// Rejects an `if` without `else` as the value of a function whose result is not the unit type.
pub(crate) fn result(signature: &Signature, body: &Block, sink: &Sink) {
    let returns_value = match &signature.output {
        syn::ReturnType::Default => false,
        syn::ReturnType::Type(_, ty) => match &**ty {
            syn::Type::Tuple(tuple) => !tuple.elems.is_empty(),
            syn::Type::Path(_) | syn::Type::Reference(_) | syn::Type::Array(_) => true,
            _ => false,
        },
    };
    if let (true, Some(syn::Stmt::Expr(value, None))) = (returns_value, body.stmts.last()) {
        value_of_one_arm(value, sink);
    }
}
