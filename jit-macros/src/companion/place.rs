//! The context of a function: its tokens show it, or the text around it.

use super::enclosing;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ItemFn, Visibility};

/// The context of a function, which decides the items that may be generated beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a module or a function: a type of the same name is generated besides it.
    Free,
    /// In an `impl` block of a type: other functions of the type are generated besides it.
    Inherent,
    /// In an `impl` block that may be that of a trait, which allows no additional items.
    Member,
}

impl Place {
    /// A function without a receiver that does not mention `Self` could be anywhere; the text around it tells. A member
    /// of an `impl` block of a trait never has a visibility.
    pub(crate) fn of(function: &ItemFn) -> Place {
        let is_member = function.sig.receiver().is_some()
            || speaks_of_self(function)
            || enclosing::is_in_block_of_items(function.sig.fn_token.span);
        match (is_member, &function.vis) {
            (false, _) => Place::Free,
            (true, Visibility::Inherited) => Place::Member,
            (true, _) => Place::Inherent,
        }
    }
}

fn speaks_of_self(function: &ItemFn) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_ident(&mut self, ident: &'ast Ident) {
            self.0 |= ident == "Self";
        }

        fn visit_macro(&mut self, call: &'ast syn::Macro) {
            self.0 |= mentions(call.tokens.clone());
            visit::visit_macro(self, call);
        }

        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    fn mentions(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == "Self",
            TokenTree::Group(group) => mentions(group.stream()),
            _ => false,
        })
    }
    let mut search = Search(false);
    search.visit_signature(&function.sig);
    search.visit_block(&function.block);
    search.0
}
