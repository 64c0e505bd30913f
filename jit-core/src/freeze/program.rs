//! A function that is compiled once for all calls: one recording, outside of any table.
//!
//! It is recorded like a frozen function, except that nothing is launched: arrays have an element type and a width, and
//! no contents. Each call is a replay of the recording. If it does not fit a call, that is an error, which names the
//! argument: there is no body that could be recorded again.

use std::fmt::Write as _;

use jit_runtime::device::{Device, current_device};
use jit_runtime::recording::{GuardFailure, Recording, Replayed};
use jit_runtime::{Error, ErrorKind, Site, cache, cancel};

use super::argument::{Arguments, Recordable};
use super::call::{Call, Scratch, Templates, with_scratch};
use super::function::{CallPlan, Entry, Function, Options, Plan, condition};
use super::layout::{self, Layout};
use super::{host, shared};
use crate::capture::launches::{self, Purpose};
use crate::capture::{self, host_call};
use crate::graph::{Var, scopes};
use crate::trace::{function_label, region, report};
use crate::traverse::{Leaf, Visitor};

/// What is compiled: the parts that do not depend on the arguments.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// The name of the function.
    pub name: &'static str,
    /// The names of its parameters, without `#[constexpr]` ones.
    pub parameters: &'static [&'static str],
    /// How many of the last arguments are numbers that are passed to each call.
    pub lifted: usize,
}

/// A function that is compiled for all calls.
pub(crate) struct Program {
    function: Function,
    lifted: usize,
    device: Device,
    policy: cache::CachePolicy,
    /// Shape and host values of the arguments.
    words: Box<[u64]>,
    summary: Vec<Summary>,
    /// The names of the sizes from which the recording computes others.
    sizes: Vec<String>,
    plan: Plan,
    entry: Entry,
}

/// A human-readable description of an argument's part.
struct Summary {
    path: String,
    what: String,
    /// The position of a plain number that matters only if the body decided by it.
    number: Option<usize>,
}

impl Program {
    /// Records and compiles a function. Launches nothing.
    pub(crate) fn compile<A: Arguments, R: Recordable>(
        what: Compiled,
        arguments: &A,
        body: impl FnOnce(&mut A::Proxies) -> R,
        policy: cache::CachePolicy,
        site: Site,
    ) -> Result<Program, Error> {
        let Compiled { name, parameters, lifted } = what;
        refuse_inside(name, "compiled", site)?;
        let _operation = cancel::begin();
        let _waiting = report::set_aside();
        let _policy = policy.enter();
        let _label = function_label::named(name);
        let function = Function::at(site, name, parameters, Options::DEFAULT);
        with_scratch(|scratch| {
            scratch.layout.fill_compiled(arguments, parameters, lifted);
            let call = Call::<'_, A, R>::new(&function, site, typeid::of::<A::Proxies>(), None);
            let lifted_literals = vec![true; scratch.layout.literals.len()];
            let traced = call.trace(scratch, arguments, body, &lifted_literals, Purpose::Compile)?;
            let plan = traced.plan.map_err(|reason| cannot_be_compiled(name, &reason, site))?;
            plan.recording.load(&scratch.layout.sizes)?;
            let (widths, templates) = (traced.widths, Box::new(traced.templates));
            let entry =
                Entry::new(&scratch.layout, (lifted_literals, widths), &traced.decided, CallPlan::Elsewhere, templates);
            Ok((plan, entry, scratch.layout.words.clone().into()))
        })
        .map(|(plan, entry, words)| {
            let summary = describe(arguments, parameters);
            let sizes = layout::names_of_sizes(arguments, parameters, true);
            Program { function, lifted, device: current_device(), policy, words, summary, sizes, plan, entry }
        })
    }

    /// The launches of a call.
    pub(crate) fn recording(&self) -> &Recording {
        &self.plan.recording
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

    /// Returns the name of a size from which the recording computes others.
    pub(crate) fn name_of_size(&self, number: u16) -> String {
        self.sizes.get(usize::from(number)).cloned().unwrap_or_else(|| format!("size {number}"))
    }

    /// Returns a result in place of that of a call that failed: its arrays have no elements.
    pub(crate) fn empty_result<A: Arguments, R: Recordable>(&self) -> Option<R> {
        let templates = self.entry.templates.downcast_ref::<Templates<A::Proxies, R>>()?;
        Some(templates.result.clone())
    }

    /// Replays the launches on other arguments.
    pub(crate) fn call<A: Arguments, R: Recordable>(&self, arguments: A, site: Site) -> Result<R, Error> {
        refuse_inside(self.function.name, "called", site)?;
        let _operation = cancel::begin();
        with_scratch(|scratch| self.replay(&self.plan, scratch, arguments, site))
    }

    fn replay<A: Arguments, R: Recordable>(
        &self,
        plan: &Plan,
        scratch: &mut Scratch,
        arguments: A,
        site: Site,
    ) -> Result<R, Error> {
        scratch.layout.fill_compiled(&arguments, self.function.parameters, self.lifted);
        self.check(&arguments, &scratch.layout, site)?;
        if !plan.shared.is_empty() && !shared::are_in(&arguments, self.function.parameters, &plan.shared) {
            return Err(self.other_shared(plan, site));
        }
        host::check_arguments(&scratch.layout, site);
        let call = Call::<'_, A, R>::new(&self.function, site, typeid::of::<A::Proxies>(), None);
        call.evaluate(&mut scratch.layout)?;
        plan.give(&mut scratch.layout, &self.entry.lifted);
        let policy = (self.policy != cache::CachePolicy::ReadWrite).then(|| self.policy.enter());
        if let Replayed::Rejected(failure) = plan.launch(scratch)? {
            return Err(self.does_not_fit(&arguments, &scratch.layout, failure, site));
        }
        drop(policy);
        self.function.count_replay();
        call.give_back(&self.entry, plan, scratch, arguments, None::<fn(&mut A::Proxies) -> R>)
    }

    /// Checks what the recording relies on besides sizes.
    fn check(&self, arguments: &impl Arguments, layout: &Layout, site: Site) -> Result<(), Error> {
        if self.device != current_device() {
            return Err(self.other_device(site));
        }
        // The first word has the settings of the thread: those of the compilation hold.
        if self.words[1..] != layout.words[1..] {
            return Err(self.other_arguments(arguments, None, site));
        }
        if let Some(input) = layout.inputs.iter().find(|input| scopes::is_enabled(&input.var)) {
            return Err(self.no_derivative(&input.var, site));
        }
        let mut numbers = self.entry.numbers.iter().zip(&layout.numbers);
        let differs = numbers.position(|(own, given)| own.is_some_and(|own| own != *given));
        differs.map_or(Ok(()), |number| Err(self.other_arguments(arguments, Some(number), site)))
    }

    /// The error of an executor that is called on another device.
    #[cold]
    fn other_device(&self, site: Site) -> Error {
        let (name, own, now) = (self.function.name, self.device, current_device());
        let message = format!("the executor of `{name}` was compiled for {own}, and is called on {now}");
        let hint = format!("call it in `jit::with_device(Device::{own:?}, || …)`, or compile it for {now}");
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }

    /// The error of a call whose arguments have another shape or other host values, or another number by which the body
    /// decided.
    #[cold]
    fn other_arguments(&self, arguments: &impl Arguments, number: Option<usize>, site: Site) -> Error {
        let now = describe(arguments, self.function.parameters);
        let is_relevant = |part: &&Summary| part.number.is_none() || part.number == number;
        let mut before = self.summary.iter().filter(is_relevant);
        let mut after = now.iter().filter(is_relevant);
        let (path, was, is) = loop {
            match (before.next(), after.next()) {
                (Some(was), Some(is)) if was.path == is.path && was.what == is.what => {}
                (Some(was), Some(is)) if was.path == is.path => break (&*is.path, &*was.what, &*is.what),
                (Some(was), _) => break (&*was.path, &*was.what, "not there"),
                (None, Some(is)) => break (&*is.path, "not there", &*is.what),
                (None, None) => break ("the arguments", "other arrays", "not the same"),
            }
        };
        let name = self.function.name;
        let message = format!("the executor of `{name}` was compiled for another `{path}`: it was {was}, and is {is}");
        let hint = match number {
            Some(_) => {
                "the function decided by this number while it was compiled: compile it for each value, with \
                        the parameter as `#[constexpr]`; or use the number only in arithmetic with arrays"
            }
            None => "compile another executor for these arguments",
        };
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }

    /// The error of a call through which gradients would flow.
    #[cold]
    fn no_derivative(&self, var: &Var, site: Site) -> Error {
        let (name, made) = (self.function.name, var.site());
        let (file, line) = (made.file(), made.line());
        let message = format!(
            "an argument of the executor of `{name}` carries gradients, and an executor has no derivative; it was made \
             at {file}:{line}"
        );
        let hint = format!("call `{name}` itself, or freeze it, or pass the argument as `x.detach()`");
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }

    #[cold]
    fn other_shared(&self, plan: &Plan, site: Site) -> Error {
        let place = plan.shared.first().map(|leaf| leaf.place(self.function.parameters)).unwrap_or_default();
        let message = format!(
            "the executor of `{}` was compiled for another array behind `&`, `Rc` or `Arc` at `{place}`",
            self.function.name
        );
        Error::new(ErrorKind::InvalidArgument, message)
            .at(site)
            .with_hint("lengths or numbers change in this argument, so its shared arrays must be the same")
    }

    /// The error of a call whose sizes do not satisfy the conditions of the recording.
    #[cold]
    fn does_not_fit(&self, arguments: &impl Arguments, layout: &Layout, failure: GuardFailure, site: Site) -> Error {
        let name = self.function.name;
        let GuardFailure::Guard(guard) = failure else {
            let message = format!("the executor of `{name}` computes a size that has no value for these arguments");
            return Error::new(ErrorKind::InvalidArgument, message).at(site);
        };
        let names = layout::names_of_sizes(arguments, self.function.parameters, true);
        let condition = condition(&self.plan.recording, &guard, &names);
        let mut values = String::new();
        for (name, size) in names.iter().zip(&layout.sizes).filter(|(name, _)| condition.contains(name.as_str())) {
            let _ = write!(values, "{}{name} is {size}", if values.is_empty() { ", but " } else { ", " });
        }
        let message = format!(
            "the executor of `{name}` was compiled for `{condition}`, because of {}:{}{values}",
            guard.site.file(),
            guard.site.line()
        );
        let hint = "compile another executor, with arrays or placeholders of such widths: widths that are equal when a \
            function is compiled are equal in each call, and widths 0 and 1 have meanings of their own";
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }
}

/// Rejects compiling and calling while something else is recorded on this thread.
fn refuse_inside(name: &str, done: &str, site: Site) -> Result<(), Error> {
    let place = if region::is_open() {
        "a traced loop or branch"
    } else if launches::is_recording() || capture::is_comparing() || host_call::is_inside() {
        "a function that is recorded"
    } else {
        return Ok(());
    };
    let message = format!("the executor of `{name}` cannot be {done} in {place}");
    let hint = format!("call the function `{name}` itself there, which becomes part of the recording");
    Err(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint))
}

#[cold]
fn cannot_be_compiled(name: &str, reason: &str, site: Site) -> Error {
    Error::new(ErrorKind::NotRecordable, format!("`{name}` cannot be compiled for later calls: {reason}")).at(site)
}

/// Describes the arguments: each host value and each array with its path, without widths.
fn describe(arguments: &impl Arguments, names: &[&'static str]) -> Vec<Summary> {
    let (mut summary, mut numbers) = (Vec::new(), 0..);
    arguments.show(names, &mut |_, show| {
        let mut visit = |path: &str, leaf: Leaf<'_>| {
            let (what, number) = match leaf {
                Leaf::Array(var) | Leaf::Shared(var) => (format!("an array of {}", var.ty()), None),
                Leaf::Host(crate::HostValue::Lengths(lengths)) => (format!("a shape of {} axes", lengths.len()), None),
                Leaf::Host(value @ crate::HostValue::Parameter(..)) => (layout::host_in_words(&value), numbers.next()),
                Leaf::Host(value) => (layout::host_in_words(&value), None),
            };
            summary.push(Summary { path: path.to_owned(), what, number });
        };
        show(&mut Visitor::with_paths(&mut visit).and_instances());
    });
    summary
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.function.name).finish_non_exhaustive()
    }
}
