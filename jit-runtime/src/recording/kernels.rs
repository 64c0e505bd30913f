//! The kernels of a recording, for reports.

use crate::Label;
use crate::cache;
use crate::dump::Form;

use super::{KernelStep, Recording, Step};

/// A kernel of a recording.
#[derive(Clone, Copy)]
pub struct RecordedKernel<'r> {
    recording: &'r Recording,
    step: &'r KernelStep,
}

impl Recording {
    /// The kernels that it launches, in order.
    pub fn kernels(&self) -> impl Iterator<Item = RecordedKernel<'_>> {
        self.steps.iter().filter_map(|step| match step {
            Step::Kernel(step) => Some(RecordedKernel { recording: self, step }),
            _ => None,
        })
    }

    /// Finds or compiles the code for sizes of the inputs, so that the first replay with these sizes need not.
    ///
    /// # Errors
    ///
    /// A kernel that does not compile.
    pub fn load(&self, sizes: &[usize]) -> Result<(), crate::Error> {
        self.bind(sizes).map(|_| ())
    }
}

impl RecordedKernel<'_> {
    /// Its name.
    #[must_use]
    pub fn label(&self) -> Label {
        self.step.label
    }

    /// The hash of kernel, device and options.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.step.entry.facts.hash
    }

    /// The number of its operations.
    #[must_use]
    pub fn ops(&self) -> usize {
        self.step.entry.facts.ops
    }

    /// The bytes of its code; 0 if it is interpreted.
    #[must_use]
    pub fn code_bytes(&self) -> usize {
        self.step.entry.facts.code_bytes
    }

    /// The number of lanes, as a formula.
    #[must_use]
    pub fn lanes(&self, names: &dyn Fn(u16) -> String) -> String {
        self.recording.sizes.display(self.step.lanes, names).to_string()
    }

    /// A readable form; none if its device has no such form.
    #[must_use]
    pub fn text(&self, form: Form) -> Option<String> {
        cache::text(&self.step.entry, form)
    }
}
