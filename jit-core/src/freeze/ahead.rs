//! The function behind a traced module: a frozen function whose body runs exactly once for each key.
//!
//! It is recorded before its first call, without launching anything, and its calls replay that recording. Calls with
//! another key are recorded like those of any frozen function. Three things differ from `#[freeze]`: what cannot be
//! replayed is an error, since the body never runs again; a thread that needs a recording which another one is making
//! waits for it; and arrays from elsewhere are never retained, also before the first call.

use std::path::Path;

use jit_runtime::device::current_device;
use jit_runtime::dump::Form;
use jit_runtime::{Error, ErrorKind, Site, cancel};

use super::argument::{Arguments, Recordable};
use super::call::{Call, Scratch, call_of, with_scratch};
use super::function::{CallPlan, Function, Options};
use super::mismatch::{cannot_be_traced, describe};
use super::saved::erased;
use super::saved_types::Instance;
use super::{Explanation, Stats, again};
use crate::capture::launches::{self, Purpose};
use crate::capture::{self, host_call};
use crate::schedule;
use crate::trace::{function_label, region, report};
use crate::traverse::Build;

/// The recordings of a traced module.
#[expect(missing_debug_implementations, reason = "internal")]
pub struct TracedFunction {
    function: Function,
}

impl TracedFunction {
    /// Creates a function without recordings.
    #[must_use]
    #[track_caller]
    pub fn new(name: &'static str, parameters: &'static [&'static str]) -> Self {
        TracedFunction { function: Function::new(name, parameters, Options::DEFAULT).of_module() }
    }

    /// Records and compiles the function for the key of some arguments. Launches nothing, and changes nothing.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded or compiled, or something else is recorded on this thread.
    #[track_caller]
    pub fn record<A, R, B>(&self, arguments: &A, body: B) -> Result<(), Error>
    where
        A: Arguments,
        R: Recordable,
        B: FnOnce(&mut A::Proxies) -> R + Copy,
    {
        let site = Site::here();
        refuse_inside(self.function.name(), site)?;
        if !self.function.is_on() {
            return Ok(());
        }
        let _operation = cancel::begin();
        let _line = site.enter(None);
        let (of, again) = (typeid::of::<B>(), again::function_of(&body));
        let call = Call::<'_, A, R>::new(&self.function, site, of, again.filter(|_| A::ARE_COPIES_COMPLETE));
        with_scratch(|scratch| call.record_ahead(scratch, arguments, body))
    }

    /// Replays a call, or records it if its key is new. Returns `None` if it is part of another recording or of a
    /// traced region, or if recordings are switched off: then the caller runs the body itself.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded or compiled, and when a launch fails.
    #[track_caller]
    pub fn call<A, R, B>(&self, arguments: A, body: B) -> Result<Option<R>, Error>
    where
        A: Arguments,
        R: Recordable,
        B: FnOnce(&mut A::Proxies) -> R + Copy,
    {
        let again = again::function_of(&body);
        call_of(&self.function, typeid::of::<B>(), arguments, (body, again), Site::here())
    }

    /// Returns the kernels of all recordings in kernel IR: as they were scheduled, and as they were compiled.
    #[must_use]
    pub fn ir(&self) -> String {
        let mut texts = Vec::new();
        self.function.for_each_recording(|recording| {
            texts.extend(recording.kernels().filter_map(|kernel| kernel.text(Form::Ir)));
        });
        texts.join("\n")
    }

    /// Writes the recordings of an instantiation to a file. `F` is the signature.
    ///
    /// # Errors
    ///
    /// As [`Function::save`].
    #[track_caller]
    pub fn save<F>(&self, instance: Instance, path: &Path) -> Result<(), Error> {
        self.function.save::<F>(Some(instance), path)
    }

    /// Reads the recordings of an instantiation from a file.
    ///
    /// # Errors
    ///
    /// As [`Function::load`].
    #[track_caller]
    pub fn load<F, R: Recordable + Build>(&self, instance: Instance, path: &Path) -> Result<(), Error> {
        self.function.load::<F, R>(Some(instance), path)
    }

    /// Returns the line that created it.
    #[must_use]
    pub fn site(&self) -> Site {
        self.function.site()
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.function.stats()
    }

    /// Returns the cause of each recording, oldest first.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        self.function.explain()
    }

    /// Discards all recordings and counters.
    pub fn clear(&self) {
        self.function.clear();
    }
}

impl<A: Arguments, R: Recordable> Call<'_, A, R> {
    /// Records and compiles the function for some arguments. Launches nothing.
    fn record_ahead(
        &self,
        scratch: &mut Scratch,
        arguments: &A,
        body: impl FnOnce(&mut A::Proxies) -> R,
    ) -> Result<(), Error> {
        let function = self.function;
        function.fill(&mut scratch.layout, arguments);
        let _scope = scratch.layout.devices.enter();
        self.check_shared(scratch)?;
        let _right = function.try_record();
        let _waiting = report::set_aside();
        let _label = function_label::named(function.name);
        let (lifted, _) = function.lift(self.of, &scratch.layout);
        self.announce(arguments, &scratch.layout, None)?;
        let traced = self.trace(scratch, arguments, body, &lifted, Purpose::ModuleAhead)?;
        let plan = traced.plan.map_err(|reason| cannot_be_traced(function.name, &reason, self.site))?;
        plan.recording.load(&scratch.layout.sizes)?;
        let call_plan = CallPlan::Replay(Box::new(plan));
        let templates = (erased(traced.templates), describe(arguments, function.parameters));
        function.insert(self.of, &scratch.layout, (lifted, traced.widths), &traced.decided, call_plan, templates);
        Ok(())
    }

    /// Evaluates the arrays behind `Rc` and `Arc`, which the body uses in place.
    fn check_shared(&self, scratch: &Scratch) -> Result<(), Error> {
        let inputs = scratch.layout.inputs.iter();
        let shared = inputs.filter(|input| input.is_shared && !input.var.is_evaluated()).map(|input| &input.var);
        schedule::evaluate(&shared.collect::<Vec<_>>(), "it is an argument of a recorded function", self.site)
    }
}

/// Rejects tracing a module while something else is recorded on this thread.
fn refuse_inside(name: &str, site: Site) -> Result<(), Error> {
    if !(region::is_open() || launches::is_recording() || capture::is_comparing() || host_call::is_inside()) {
        return Ok(());
    }
    let message =
        format!("the module `{name}` cannot be traced while something else is recorded on {}", current_device());
    let hint = "trace it before; its calls there become part of that recording";
    Err(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint))
}
