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
use std::sync::Arc;

use jit_runtime::device::{Device, DeviceScope};
use jit_runtime::recording::{Recording, Replayed};
use jit_runtime::{Error, Site, cache, cancel};
use parking_lot::Mutex;

use super::again::{Body, Closure};
use super::argument::{Arguments, Recordable};
use super::call::{Call, Scratch, Templates, with_scratch};
use super::function::{CallPlan, Entry, Function, Options, Plan};
use super::layout::{self, Gradients, Layout, Widths};
use super::mismatch::{Summary, cannot_be_compiled, describe, refuse_inside};
use super::{host, shared};
use crate::capture::launches::Purpose;
use crate::graph::device::{self, Devices};
use crate::trace::fast::{self, FastMath};
use crate::trace::{function_label, report};

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
        let Compiled { name, parameters, lifted } = what;
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
        })
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
        let templates = self.own.entry.templates.downcast_ref::<Templates<A::Proxies, R>>()?;
        Some(templates.result.clone())
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
        let (widths, templates) = (traced.widths, Box::new(traced.templates));
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

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.function.name).finish_non_exhaustive()
    }
}
