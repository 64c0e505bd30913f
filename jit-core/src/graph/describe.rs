//! Values in error messages.

use super::node::Var;
use crate::misuse::Misuse;

impl Misuse {
    /// Adds an operand, with its width and the line that made it.
    #[must_use]
    pub fn value(self, role: &str, var: &Var) -> Self {
        let label = var.label().map(|label| format!(" “{label}”")).unwrap_or_default();
        self.place(format_args!("{role}{label} ({}, width {}) was made", var.ty(), var.lanes()), var.site())
    }
}
