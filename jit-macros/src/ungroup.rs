//! Invisible groups: what a `macro_rules!` puts in the place of `$t:ty`, `$e:expr` and its like comes in a group
//! without delimiters.
//!
//! They are taken away before anything reads a function, so that it is the same whoever wrote it. Printing an
//! expression sets parentheses where it needs them.

use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Type};

/// Takes the invisible groups out of a function, a block of functions or an expression.
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
