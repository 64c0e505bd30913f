//! Whether a module trains.

use jit_core::traverse::HostValue;

use crate::{Build, LeafReader, Traverse, Visitor, VisitorMut};

/// Whether a layer trains or is evaluated: a field of layers that differ in it, as [`Dropout`](super::Dropout).
///
/// It is a host value of the module, so it is part of the key of a frozen function: a call in the other mode is another
/// recording. [`Model::train`](super::Model::train) and [`Model::eval`](super::Model::eval) set it in whole modules. A
/// layer of your own that has such a field takes part:
///
/// ```
/// use jit::nn::{Mode, Model};
/// use jit::prelude::*;
///
/// #[derive(Clone, Traverse)]
/// struct Noise {
///     amount: f32,
///     mode: Mode,
/// }
///
/// let mut noise = Noise { amount: 0.1, mode: Mode::Train };
/// noise.eval();
/// assert_eq!(noise.mode, Mode::Eval);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// The module trains.
    #[default]
    Train,
    /// The module is evaluated.
    Eval,
}

impl Mode {
    /// Returns whether the module trains.
    #[must_use]
    pub fn is_train(self) -> bool {
        self == Mode::Train
    }
}

impl Build for Mode {
    fn build(leaves: &mut LeafReader<'_>) -> crate::Result<Self> {
        match leaves.variant()? {
            "Train" => Ok(Mode::Train),
            "Eval" => Ok(Mode::Eval),
            other => Err(leaves.wrong(&format!("the variant `{other}`"), "a mode")),
        }
    }
}

impl Traverse for Mode {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Variant(if self.is_train() { "Train" } else { "Eval" }));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.setting(self);
    }
}
