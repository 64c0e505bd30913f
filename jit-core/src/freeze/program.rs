//! A function that is compiled once for all calls: one recording, outside of any table.
//!
//! It is recorded like a frozen function, except that nothing is launched: arrays have an element type and a width, and
//! no contents. Each call is a replay of the recording. If it does not fit a call, that is an error, which names the
//! argument (`mismatch`).
//!
//! There is one recording for each combination of arguments that carry gradients. The first one is that of the
//! examples that are compiled; others are made when they are needed, by running the function again, for arrays of the
//! widths of the examples. So what calls must satisfy does not depend on other calls. The derivative is that of a
//! frozen function.

use std::any::{Any, TypeId};
use std::path::Path;
use std::sync::Arc;

use jit_runtime::device::{Device, DeviceScope, current_device};
use jit_runtime::recording::file::{CodeMaker, FileKind, Reader, SavedRecordings, ToSave, Writer};
use jit_runtime::recording::{Recording, Replayed};
use jit_runtime::{Error, ErrorKind, Site, cache, cancel};
use parking_lot::Mutex;

use super::again::{self, Again as _, Body, Closure};
use super::argument::{Arguments, Recordable};
use super::call::{Call, Scratch, Templates, with_scratch};
use super::function::{CallPlan, Entry, Function, Options, Plan};
use super::layout::{self, Gradients, Layout, Widths};
use super::mismatch::{Summary, cannot_be_compiled, describe, refuse_inside};
use super::saved::{self, LoadedEntry, LoadedTemplates};
use super::saved_types::{check_types, write_types};
use super::{host, shared};
use crate::capture::{self, launches::Purpose};
use crate::graph::Var;
use crate::graph::device::{self, Devices};
use crate::schedule::{self, inspect};
use crate::trace::fast::{self, FastMath};
use crate::trace::function_label::{self, Labelled};
use crate::trace::report;
use crate::traverse::Build;

/// What is compiled: the parts that do not depend on the arguments.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// The name of the function.
    pub name: &'static str,
    /// The names of its parameters, without `#[constexpr]` ones.
    pub parameters: &'static [&'static str],
    /// How many of the last arguments are numbers that are passed to each call.
    pub lifted: usize,
    /// The label of its kernels, file and line, by which its counters are found, if it is traced in this program.
    pub traced: Option<(&'static str, &'static str, u32)>,
}

/// The names and values of `#[constexpr]` parameters.
pub(crate) type Constexprs = Vec<(&'static str, String)>;

/// A function that is compiled for all calls.
pub(crate) struct Program {
    pub(super) function: Function,
    lifted: usize,
    device: Device,
    /// Shape and host values of the arguments.
    words: Box<[u64]>,
    pub(super) summary: Vec<Summary>,
    /// The widths of the examples.
    widths: Widths,
    /// The names of the sizes from which the recording computes others.
    sizes: Vec<String>,
    own: Arc<Fixed>,
    /// The body, if it can run again: a [`Body`] of the copies of its arguments.
    again: Option<Box<dyn Any + Send + Sync>>,
    /// The recordings of calls in which other arguments carry gradients.
    others: Mutex<Vec<Arc<Fixed>>>,
    /// Whether it came from a file.
    is_loaded: bool,
    /// The counters of the function; none if it was never traced in this process.
    counters: Option<&'static Labelled>,
}

/// A recording for all calls in which the same arguments carry gradients.
pub(super) struct Fixed {
    /// Shape and host values of the arguments, and how gradients flow.
    words: Box<[u64]>,
    pub(super) gradients: Gradients,
    pub(super) plan: Plan,
    entry: Entry,
}

impl Program {
    /// Records and compiles a function. Launches nothing.
    pub(crate) fn compile<A: Arguments, R: Recordable>(
        what: Compiled,
        arguments: &A,
        (body, again): (impl FnOnce(&mut A::Proxies) -> R, Option<Closure<A::Proxies, R>>),
        policy: cache::CachePolicy,
        site: Site,
    ) -> Result<Program, Error> {
        let Compiled { name, parameters, lifted, traced } = what;
        refuse_inside(name, "compiled", site)?;
        let _operation = cancel::begin();
        let function = Function::at(site, name, parameters, Options::DEFAULT).with_policy(policy);
        let again = again.map(body_as_compiled);
        let (device, words, widths, own) = with_scratch(|scratch| {
            scratch.layout.fill_compiled(arguments, (parameters, lifted), Gradients::Stop);
            let device = device_of(name, &scratch.layout, site)?;
            let _scope = DeviceScope::enter(device);
            let (words, widths) = (scratch.layout.words.clone().into(), scratch.layout.widths());
            let again = again.as_ref().filter(|_| scratch.layout.is_enabled() && !scratch.layout.carries_to_shared());
            let gradients = if again.is_some() { Gradients::Flow } else { Gradients::Stop };
            scratch.layout.fill_compiled(arguments, (parameters, lifted), gradients);
            let call = Call::<'_, A, R>::new(&function, site, TypeId::of::<A::Proxies>(), again.cloned());
            Ok::<_, Error>((device, words, widths, call.fix(scratch, arguments, body, gradients)?))
        })?;
        let counters = traced.and_then(counters_of);
        counters.inspect(|piece| piece.history.count_recording());
        Ok(Program {
            function,
            lifted,
            device,
            words,
            summary: describe(arguments, parameters),
            widths,
            sizes: layout::names_of_sizes(arguments, parameters, true, own.gradients),
            own: Arc::new(own),
            again: again.map(|body| Box::new(body) as Box<dyn Any + Send + Sync>),
            others: Mutex::default(),
            is_loaded: false,
            counters,
        })
    }

    /// Returns whether it came from a file, which has no derivative.
    pub(super) fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// Writes the recording to a file. `F` is the signature of the function.
    pub(crate) fn save<F>(&self, constexprs: &[(&'static str, String)], path: &Path) -> Result<(), Error> {
        self.write::<F, _>(constexprs, &mut |file| file.save(path))
    }

    /// Returns the bytes of such a file, with the code of a maker.
    pub(crate) fn to_bytes<F>(
        &self,
        constexprs: &[(&'static str, String)],
        maker: &mut CodeMaker,
    ) -> Result<Vec<u8>, Error> {
        self.write::<F, _>(constexprs, &mut |file| file.to_bytes_with(maker))
    }

    fn write<F, T>(
        &self,
        constexprs: &[(&'static str, String)],
        finish: &mut dyn FnMut(ToSave<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (name, site, Fixed { plan, entry, .. }) = (self.function.name, self.function.site, &*self.own);
        if self.own.gradients == Gradients::Flow {
            let hint = "compile it with examples that carry no gradients: pass them as `x.detach()`";
            return Err(saved::refuse(name, "it was compiled with arguments that carry gradients", hint, site));
        }
        let of_entry = saved::write_entry(name, &self.words, (entry, plan), site)?;
        let mut writer = Writer::default();
        write_types::<F>(&mut writer, self.function.parameters, self.lifted);
        writer.list(constexprs.iter(), |writer, (name, value)| {
            writer.text(name);
            writer.text(value);
        });
        writer.list(self.summary.iter(), Summary::write);
        writer.list(self.sizes.iter(), |writer, name| writer.text(name));
        let (about, entries) = (writer.finish(), [(of_entry, &plan.recording)]);
        finish(ToSave { kind: FileKind::Executor, name, about: &about, entries: &entries })
    }

    /// Reads a recording from a file, for calls on the current device. `F` is the signature of the function. Returns
    /// the values of the `#[constexpr]` parameters, too, whose names are given.
    pub(crate) fn load<F, R: Recordable + Build>(
        what: Compiled,
        constexprs: &[&'static str],
        path: &Path,
        site: Site,
    ) -> Result<(Program, Constexprs), Error> {
        let Compiled { name, parameters, lifted, traced } = what;
        refuse_inside(name, "loaded", site)?;
        let function = Function::at(site, name, parameters, Options::DEFAULT);
        let saved = saved::load(path, current_device()).map_err(|error| error.at(site))?;
        let outcome = Program::of_file::<F, R>((function, lifted), constexprs, saved, site);
        let counted = |(program, values)| (Program { counters: traced.and_then(counters_of), ..program }, values);
        outcome.map(counted).map_err(|error| {
            let message = format!("the file {} does not fit `{name}`", path.display());
            Error::new(ErrorKind::InvalidArgument, message).at(site).caused_by(error)
        })
    }

    /// Reads a recording from the bytes of a file, which are a part of the program.
    pub(crate) fn of_bytes<F, R: Recordable + Build>(
        what: Compiled,
        constexprs: &[&'static str],
        bytes: &[u8],
        site: Site,
    ) -> Result<(Program, Constexprs), Error> {
        let Compiled { name, parameters, lifted, traced: _ } = what;
        refuse_inside(name, "loaded", site)?;
        let function = Function::at(site, name, parameters, Options::DEFAULT);
        let outcome = saved::read(bytes, current_device())
            .and_then(|saved| Program::of_file::<F, R>((function, lifted), constexprs, saved, site));
        outcome.map_err(|error| {
            let message = format!("`{name}` cannot be read from its bundle");
            Error::new(ErrorKind::InvalidArgument, message).at(site).caused_by(error)
        })
    }

    /// Returns how many of the last parameters are numbers that are combined with arrays.
    pub(crate) fn lifted(&self) -> usize {
        self.lifted
    }

    /// Returns whether a parameter is a plain number that may change from call to call.
    pub(crate) fn is_number(&self, parameter: &str) -> bool {
        self.summary.iter().any(|part| part.is_number(parameter))
    }

    fn of_file<F, R: Recordable + Build>(
        (function, lifted): (Function, usize),
        constexprs: &[&'static str],
        saved: SavedRecordings,
        site: Site,
    ) -> Result<(Program, Constexprs), Error> {
        let SavedRecordings { kind, name, about, mut entries } = saved;
        let (Some(entry), true, true) = (entries.pop(), entries.is_empty(), kind == FileKind::Executor) else {
            let message = format!("it contains {}", kind.name());
            return Err(
                Error::new(ErrorKind::InvalidArgument, message).with_hint("load it with `load` of that function")
            );
        };
        let mut reader = Reader::new(&about)?;
        check_types::<F>(&mut reader, &name, function.parameters, lifted)?;
        let values = reader.list(|reader| Ok((reader.text()?.to_owned(), reader.text()?.to_owned())))?;
        let summary = reader.list(Summary::read)?;
        let sizes = reader.list(|reader| reader.text().map(str::to_owned))?;
        reader.end()?;
        if !values.iter().map(|(name, _)| name.as_str()).eq(constexprs.iter().copied()) {
            let own: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
            let message =
                format!("its `#[constexpr]` parameters are {own:?}, and those of the function {constexprs:?}");
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint("save the function anew"));
        }
        let values = constexprs.iter().copied().zip(values.into_iter().map(|(_, value)| value)).collect();
        let LoadedEntry { words, entry, plan } = saved::read_entry::<R>(entry, site)?;
        let own = Fixed { words: words.clone(), gradients: Gradients::Stop, plan, entry };
        let program = Program {
            function,
            lifted,
            device: current_device(),
            words,
            summary,
            widths: Widths::default(),
            sizes,
            own: Arc::new(own),
            again: None,
            others: Mutex::default(),
            is_loaded: true,
            counters: None,
        };
        Ok((program, values))
    }

    /// The launches of a call.
    pub(crate) fn recording(&self) -> &Recording {
        &self.own.plan.recording
    }

    pub(crate) fn name(&self) -> &'static str {
        self.function.name()
    }

    pub(crate) fn site(&self) -> Site {
        self.function.site()
    }

    pub(crate) fn parameters(&self) -> &'static [&'static str] {
        self.function.parameters
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Returns whether the function can run again, for derivatives.
    pub(super) fn runs_again(&self) -> bool {
        self.again.is_some()
    }

    /// Returns the name of a size from which the recording computes others.
    pub(crate) fn name_of_size(&self, number: u16) -> String {
        self.sizes.get(usize::from(number)).cloned().unwrap_or_else(|| format!("size {number}"))
    }

    /// Returns a result in place of that of a call that failed: its arrays have no elements.
    pub(crate) fn empty_result<A: Arguments, R: Recordable>(&self) -> Option<R> {
        let templates = &self.own.entry.templates;
        let made = templates.downcast_ref::<Templates<A::Proxies, R>>().map(|templates| &templates.result);
        made.or_else(|| templates.downcast_ref::<LoadedTemplates<R>>().map(|loaded| &loaded.result)).cloned()
    }

    /// Replays the launches on other arguments.
    pub(crate) fn call<A: Arguments, R: Recordable>(&self, arguments: A, site: Site) -> Result<R, Error> {
        refuse_inside(self.function.name, "called", site)?;
        let _operation = cancel::begin();
        with_scratch(|scratch| {
            self.fill(scratch, &arguments, Gradients::Stop);
            self.check(&arguments, &scratch.layout, site)?;
            let _scope = Devices::of(self.device).enter();
            let body = self.again.as_ref().and_then(|body| body.downcast_ref::<Body<A::Proxies, R>>());
            if let Some(body) = body.filter(|_| inspect::looks_into_kernels()) {
                self.inspect::<A, R>(&arguments, body, site)?;
            }
            let body = body.filter(|_| scratch.layout.carries() && !scratch.layout.carries_to_shared());
            if body.is_some() {
                self.fill(scratch, &arguments, Gradients::Flow);
            } else if scratch.layout.is_enabled() {
                return Err(self.no_derivative(&scratch.layout, site));
            }
            let fixed = match *self.own.words == *scratch.layout.words {
                true => Arc::clone(&self.own),
                false => self.other::<A, R>(scratch, &arguments)?,
            };
            self.replay(&fixed, body.cloned(), scratch, arguments, site)
        })
    }

    /// Runs the body on copies of the arguments, so that a check sees its operations, which a replay does not show.
    #[cold]
    fn inspect<A: Arguments, R: Recordable>(
        &self,
        arguments: &A,
        body: &Body<A::Proxies, R>,
        site: Site,
    ) -> Result<(), Error> {
        let (_comparing, _line) = (capture::compare(), site.enter(None));
        let results = again::copied::<A, R>(TypeId::of::<A::Proxies>(), arguments, body.clone()).run();
        let missing: Vec<&Var> = results.iter().filter(|var| !var.is_evaluated()).collect();
        schedule::evaluate(&missing, "a check looks into the executor", site)
    }

    /// Visits the arguments of a call.
    fn fill(&self, scratch: &mut Scratch, arguments: &impl Arguments, gradients: Gradients) {
        scratch.layout.fill_compiled(arguments, (self.function.parameters, self.lifted), gradients);
    }

    /// Returns the recording for calls in which the same arguments carry gradients as in this one, which was visited.
    #[cold]
    fn other<A: Arguments, R: Recordable>(&self, scratch: &mut Scratch, arguments: &A) -> Result<Arc<Fixed>, Error> {
        let mut others = self.others.lock();
        if let Some(fixed) = others.iter().find(|fixed| *fixed.words == *scratch.layout.words) {
            return Ok(Arc::clone(fixed));
        }
        let gradients = if scratch.layout.words[0] == 0 { Gradients::Stop } else { Gradients::Flow };
        let body = self.again.as_ref().and_then(|body| body.downcast_ref::<Body<A::Proxies, R>>());
        let body = body.expect("only functions that can run again have several recordings");
        scratch.layout.take_widths(&self.widths);
        let again = (gradients == Gradients::Flow).then(|| body.clone());
        let call = Call::<'_, A, R>::new(&self.function, self.site(), TypeId::of::<A::Proxies>(), again);
        let run = |proxies: &mut A::Proxies| body.run(proxies);
        let fixed = Arc::new(call.fix(scratch, arguments, run, gradients)?);
        others.push(Arc::clone(&fixed));
        self.counters.inspect(|piece| piece.history.count_recording());
        self.fill(scratch, arguments, gradients);
        Ok(fixed)
    }

    fn replay<A: Arguments, R: Recordable>(
        &self,
        fixed: &Fixed,
        body: Option<Body<A::Proxies, R>>,
        scratch: &mut Scratch,
        arguments: A,
        site: Site,
    ) -> Result<R, Error> {
        host::check_arguments(&scratch.layout, site);
        self.counters.inspect(|piece| piece.history.count_replay());
        let call = Call::<'_, A, R>::new(&self.function, site, TypeId::of::<A::Proxies>(), body);
        call.evaluate(&mut scratch.layout)?;
        fixed.plan.give(&mut scratch.layout, &fixed.entry.lifted);
        let policy = self.function.enter_policy();
        if let Replayed::Rejected(failure) = fixed.plan.launch(scratch)? {
            return Err(self.does_not_fit(fixed, &arguments, &scratch.layout, failure, site));
        }
        drop(policy);
        self.function.count_replay();
        call.give_back(&fixed.entry, &fixed.plan, scratch, arguments, None::<fn(&mut A::Proxies) -> R>)
    }

    /// Checks what recordings rely on besides sizes.
    fn check(&self, arguments: &impl Arguments, layout: &Layout, site: Site) -> Result<(), Error> {
        let Fixed { plan, entry, .. } = &*self.own;
        if layout.devices != Devices::NONE && layout.devices != Devices::of(self.device) {
            return Err(self.other_device(layout, site));
        }
        if *self.words != *layout.words {
            return Err(self.other_arguments(arguments, None, site));
        }
        let mut numbers = entry.numbers.iter().zip(&layout.numbers);
        if let Some(number) = numbers.position(|(own, given)| own.is_some_and(|own| own != *given)) {
            return Err(self.other_arguments(arguments, Some(number), site));
        }
        plan.check_loaded(layout.inputs.len(), layout.literals.len(), &entry.lifted)?;
        match plan.shared.is_empty() || shared::are_in(arguments, self.function.parameters, &plan.shared) {
            true => Ok(()),
            false => Err(self.other_shared(plan, site)),
        }
    }
}

impl<A: Arguments, R: Recordable> Call<'_, A, R> {
    /// Records and compiles the function for the arguments that were visited. Launches nothing.
    fn fix(
        &self,
        scratch: &mut Scratch,
        arguments: &A,
        body: impl FnOnce(&mut A::Proxies) -> R,
        gradients: Gradients,
    ) -> Result<Fixed, Error> {
        let name = self.function.name;
        let _waiting = report::set_aside();
        let _policy = self.function.policy.enter();
        let _label = function_label::named(name);
        let lifted = vec![true; scratch.layout.literals.len()];
        let traced = self.trace(scratch, arguments, body, &lifted, Purpose::Compile)?;
        let plan = traced.plan.map_err(|reason| cannot_be_compiled(name, &reason, self.function.site))?;
        plan.recording.load(&scratch.layout.sizes)?;
        let (widths, templates) = (traced.widths, saved::erased(traced.templates));
        let entry = Entry::new(&scratch.layout, (lifted, widths), &traced.decided, CallPlan::Elsewhere, templates);
        Ok(Fixed { words: scratch.layout.words.clone().into(), gradients, plan, entry })
    }
}

/// Returns the device of a function's arguments.
fn device_of(name: &str, layout: &Layout, site: Site) -> Result<Device, Error> {
    if layout.devices.are_several() {
        let vars = layout.inputs.iter().map(|input| &input.var);
        return Err(device::several_error(&format!("the arguments for which `{name}` is compiled"), vars, site));
    }
    Ok(layout.devices.or_current())
}

/// Returns a body that runs again under the settings of this thread.
fn body_as_compiled<P: 'static, R: 'static>(closure: Closure<P, R>) -> Body<P, R> {
    let is_fast = fast::is_on();
    Body::Closure(Arc::new(move |proxies: &mut P| {
        let _fast = FastMath::set(is_fast);
        closure(proxies)
    }))
}

/// The counters of a function by its label, file and line, once it was traced.
fn counters_of((label, file, line): (&str, &str, u32)) -> Option<&'static Labelled> {
    function_label::pieces_of(label, file, line).into_iter().next()
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.function.name).finish_non_exhaustive()
    }
}
