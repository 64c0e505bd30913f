//! Patterns of `match`, by their form: whether they test, and what they bind. Names are read as Rust writes them, since
//! types are unknown.

use proc_macro2::Ident;
use syn::{Arm, Expr, Lit, Pat};

use super::rewrite::unparenthesised;

pub(crate) fn pattern(arm: &Arm) -> &Pat {
    match &arm.pat {
        Pat::Guard(guarded) => &guarded.pat,
        other => other,
    }
}

pub(crate) fn guard(arm: &Arm) -> Option<&Expr> {
    match &arm.pat {
        Pat::Guard(guarded) => Some(&guarded.guard),
        _ => None,
    }
}

pub(crate) fn has_let(guard: &Expr) -> bool {
    match guard {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Returns whether a pattern consists of literals of numbers and truth values, ranges, constants and names.
pub(crate) fn is_plain(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Lit(literal) => is_number(&Expr::Lit(literal.clone())),
        Pat::Range(range) => range.start.iter().chain(&range.end).all(|end| is_number(end) || is_constant(end)),
        Pat::Or(or) => or.cases.iter().all(|case| is_plain(case) && binding(case).is_none()),
        Pat::Paren(inner) => is_plain(&inner.pat),
        Pat::Path(path) => path.path.segments.last().is_some_and(|last| is_constant_name(&last.ident)),
        Pat::Ident(name) => {
            (name.by_ref.is_none() || name.mutability.is_none())
                && (is_constant_name(&name.ident) || is_variable(&name.ident))
                && name.subpat.as_ref().is_none_or(|(_, inner)| is_plain(inner) && binding(inner).is_none())
        }
        _ => false,
    }
}

/// Returns whether a name in a pattern is written like that of a constant, which may be a single letter. A variant with
/// such a name is tested in the same way.
pub(crate) fn is_constant_name(name: &Ident) -> bool {
    let name = name.to_string();
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns whether a name begins like that of a variable; another could be a constant or a variant.
pub(crate) fn is_variable(name: &Ident) -> bool {
    name.to_string().starts_with(|first: char| first.is_lowercase() || first == '_')
}

fn is_number(expr: &Expr) -> bool {
    match unparenthesised(expr) {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) | Lit::Byte(_)),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Neg(_)) && is_number(&unary.expr),
        _ => false,
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.segments.last().is_some_and(|last| is_constant_name(&last.ident)))
}

pub(crate) fn tests_literal(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(_) => true,
        Pat::Range(range) => range.start.iter().chain(&range.end).any(|end| is_number(end)),
        Pat::Or(or) => or.cases.iter().any(tests_literal),
        Pat::Paren(inner) => tests_literal(&inner.pat),
        Pat::Ident(name) => name.subpat.as_ref().is_some_and(|(_, inner)| tests_literal(inner)),
        _ => false,
    }
}

/// Returns whether a pattern contains a literal, a range of numbers or a constant.
pub(crate) fn tests_value(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(_) => true,
        Pat::Range(range) => range.start.iter().chain(&range.end).any(|end| is_number(end) || is_constant(end)),
        Pat::Path(path) => path.path.segments.last().is_some_and(|last| is_constant_name(&last.ident)),
        Pat::Or(or) => or.cases.iter().any(tests_value),
        Pat::Paren(inner) => tests_value(&inner.pat),
        Pat::Ident(name) => {
            is_constant_name(&name.ident) || name.subpat.as_ref().is_some_and(|(_, inner)| tests_value(inner))
        }
        _ => false,
    }
}

pub(crate) fn is_irrefutable(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Paren(inner) => is_irrefutable(&inner.pat),
        Pat::Ident(name) => !is_constant_name(&name.ident) && name.subpat.is_none(),
        Pat::Or(or) => or.cases.iter().any(is_irrefutable),
        _ => false,
    }
}

/// Returns the variable that a pattern binds to the whole value.
pub(crate) fn binding(pattern: &Pat) -> Option<&syn::PatIdent> {
    match pattern {
        Pat::Ident(name) if !is_constant_name(&name.ident) => Some(name),
        Pat::Paren(inner) => binding(&inner.pat),
        Pat::Or(or) => or.cases.iter().find_map(binding),
        _ => None,
    }
}

/// Returns the part of a pattern that tests; `None` if it takes everything.
pub(crate) fn tested(pattern: &Pat) -> Option<Pat> {
    match pattern {
        Pat::Paren(inner) => tested(&inner.pat),
        Pat::Ident(name) if !is_constant_name(&name.ident) => name.subpat.as_ref().and_then(|(_, inner)| tested(inner)),
        other if is_irrefutable(other) => None,
        other => Some(other.clone()),
    }
}
