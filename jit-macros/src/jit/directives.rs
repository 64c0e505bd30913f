//! Attributes on statements inside of a traced function.

use crate::sink::Sink;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, LitStr};

/// What the attributes of a statement ask for.
#[derive(Default)]
pub(crate) struct Directives {
    /// `#[host]`: conditions of the statement are left to Rust.
    pub(crate) host: bool,
    /// `#[label("…")]`: the name of what is traced in the statement.
    pub(crate) label: Option<LitStr>,
}

/// Directives that are planned; until then they must not be taken for something that had an effect.
const NOT_YET: [&str; 8] =
    ["symbolic", "evaluated", "compress", "unroll", "max_iterations", "untracked", "traced", "constexpr"];

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
            other if NOT_YET.contains(&other) => {
                sink.error(attribute.path().span(), format!("`#[{other}]` on a statement is not supported yet"));
            }
            _ => return true,
        }
        false
    });
    directives
}

/// The attributes of an expression that can stand as a statement.
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
