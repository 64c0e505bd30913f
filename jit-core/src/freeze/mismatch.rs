//! Why a call does not fit an executor: the errors, which name the argument and the path in it.

use std::fmt::Write as _;

use jit_runtime::recording::GuardFailure;
use jit_runtime::recording::file::{Read, Reader, Writer};
use jit_runtime::{Error, ErrorKind, Site};

use super::argument::Arguments;
use super::function::{Plan, condition};
use super::layout::{self, Input, Layout};
use super::program::{Fixed, Program};
use crate::capture::launches;
use crate::capture::{self, host_call};
use crate::trace::region;
use crate::traverse::{Leaf, Visitor};

/// A human-readable description of an argument's part.
pub(super) struct Summary {
    path: String,
    what: String,
    /// The position of a plain number that matters only if the body decided by it.
    number: Option<usize>,
}

impl Summary {
    /// Returns the path, and whether it is that of an array or of a number that may change.
    pub(super) fn part(&self) -> (&str, bool, bool) {
        (&self.path, self.what.starts_with("an array of "), self.number.is_some())
    }

    /// Returns the value, if it is a host value.
    pub(super) fn value(&self) -> &str {
        &self.what
    }

    /// Returns whether it is that of a plain number that matters only if the body decided by it.
    pub(super) fn is_number(&self, parameter: &str) -> bool {
        self.number.is_some() && self.path == parameter
    }

    pub(super) fn write(writer: &mut Writer, Summary { path, what, number }: &Summary) {
        writer.text(path);
        writer.text(what);
        writer.option(*number, |writer, number| writer.number(number as u64));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Read<Summary> {
        let (path, what) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        Ok(Summary { path, what, number: reader.option(Reader::size)? })
    }
}

impl Program {
    /// The error of an executor that is called with an array on another device.
    #[cold]
    pub(super) fn other_device(&self, layout: &Layout, site: Site) -> Error {
        let (name, own) = (self.function.name, self.device());
        let mut message = format!("the executor of `{name}` was compiled for the device `{own}`");
        let devices = layout.inputs.iter().filter_map(|input| Some((&input.var, input.var.devices().single()?)));
        if let Some((var, other)) = devices.into_iter().find(|(_, device)| *device != own) {
            let _ = write!(message, ", and an argument (made at {}) is on `{other}`", var.site());
        }
        let hint = format!("copy it with `x.to(Device::{own:?})?`, or compile the function for arrays that are there");
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }

    /// The error of a call whose arguments have another shape or other host values, or another number by which the body
    /// decided.
    #[cold]
    pub(super) fn other_arguments(&self, arguments: &impl Arguments, number: Option<usize>, site: Site) -> Error {
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

    /// The error of a call through which gradients would flow, but cannot.
    #[cold]
    pub(super) fn no_derivative(&self, layout: &Layout, site: Site) -> Error {
        let name = self.function.name;
        let carries = |input: &&Input| input.carries && (input.is_shared || !self.runs_again());
        let made = layout.inputs.iter().find(carries).map_or(site, |input| input.var.site());
        let why = match self.runs_again() {
            _ if self.is_loaded() => "it was loaded from a file, which has no derivative",
            true => "it is behind `Rc` or `Arc`, or a field of an instance",
            false => "a `#[constexpr]` value of it cannot be kept for another run of the function",
        };
        let (file, line) = (made.file(), made.line());
        let message = format!(
            "gradients cannot flow to an argument of the executor of `{name}`: {why}; the argument was made at \
             {file}:{line}"
        );
        let hint = match self.runs_again() {
            _ if self.is_loaded() => format!("call `{name}` itself, or pass the argument as `x.detach()`"),
            true => format!("call `{name}` itself, or pass the array as an argument, or as `x.detach()`"),
            false => format!(
                "types of `#[constexpr]` parameters should be `Clone + Send + Sync`, and borrow nothing but all of \
                 the value; or call `{name}` itself, or freeze it, or pass the argument as `x.detach()`"
            ),
        };
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }

    #[cold]
    pub(super) fn other_shared(&self, plan: &Plan, site: Site) -> Error {
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
    pub(super) fn does_not_fit(
        &self,
        fixed: &Fixed,
        arguments: &impl Arguments,
        layout: &Layout,
        failure: GuardFailure,
        site: Site,
    ) -> Error {
        let name = self.function.name;
        let GuardFailure::Guard(guard) = failure else {
            let message = format!("the executor of `{name}` computes a size that has no value for these arguments");
            return Error::new(ErrorKind::InvalidArgument, message).at(site);
        };
        let names = layout::names_of_sizes(arguments, self.function.parameters, true, fixed.gradients);
        let condition = condition(&fixed.plan.recording, &guard, &names);
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
            function is compiled are equal in each call, widths 0 and 1 have meanings of their own, and operations of \
            tensors choose between two ways by a size";
        Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint)
    }
}

/// Rejects compiling and calling while something else is recorded on this thread.
pub(super) fn refuse_inside(name: &str, done: &str, site: Site) -> Result<(), Error> {
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
pub(super) fn cannot_be_compiled(name: &str, reason: &str, site: Site) -> Error {
    Error::new(ErrorKind::NotRecordable, format!("`{name}` cannot be compiled for later calls: {reason}")).at(site)
}

#[cold]
pub(super) fn cannot_be_traced(name: &str, reason: &str, site: Site) -> Error {
    Error::new(ErrorKind::NotRecordable, format!("the module `{name}` cannot be traced: {reason}")).at(site)
}

/// Describes the arguments: each host value and each array with its path, without widths.
pub(super) fn describe(arguments: &impl Arguments, names: &[&'static str]) -> Vec<Summary> {
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
