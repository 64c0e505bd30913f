//! Invisible groups: the substitution of `$t:ty`, `$e:expr` and similar fragments by `macro_rules!` is enclosed in a
//! group without delimiters.
//!
//! They are removed before a function is parsed further, so that code from macros is handled like any other. Printing
//! an expression adds parentheses where it needs them.

use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Type};

/// Removes the invisible groups from a function, a block of functions or an expression.
pub(crate) struct Ungroup;

impl VisitMut for Ungroup {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Group(group) = expr {
            let inner = std::mem::replace(&mut *group.expr, Expr::PLACEHOLDER);
            *expr = inner;
            return self.visit_expr_mut(expr);
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Group(group) = ty {
            let inner = (*group.elem).clone();
            *ty = match inner {
                Type::TraitObject(_) | Type::ImplTrait(_) => syn::parse_quote!((#inner)),
                inner => inner,
            };
            return self.visit_type_mut(ty);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
