//! Frozen functions in files: all their recordings, with the keys of their calls.
//!
//! Recordings that were read wait for the first call, which knows the types of arguments and body.

use std::path::Path;
use std::sync::atomic::Ordering;

use jit_runtime::device::current_device;
use jit_runtime::recording::Recording;
use jit_runtime::recording::file::{FileKind, Reader, SavedRecordings, ToSave, Writer};
use jit_runtime::{Error, ErrorKind, Site};

use super::argument::Recordable;
use super::function::{CallPlan, Entry, Function, Plan};
use super::layout;
use super::saved::{self, Loaded, LoadedEntry, LoadedTemplates};
use super::saved_types::{Instance, More, check_types, write_types};
use crate::traverse::Build;

impl Function {
    /// Writes the recordings of an instantiation, or all, to a file. `F` is the signature of the function. Recordings
    /// through which gradients flow are left out.
    ///
    /// # Errors
    ///
    /// No recordings; one that calls the host, with the line; one that changes lengths, variants or numbers in its
    /// arguments; a failure of the file system.
    #[doc(hidden)]
    #[track_caller]
    pub fn save<F>(&self, instance: Option<Instance>, path: &Path) -> Result<(), Error> {
        let (unused, all) = (self.loaded.lock(), self.recordings(instance.map(|instance| instance.of)));
        let is_own = |loaded: &&Loaded| instance.is_none_or(|own| loaded.of.is_none_or(|of| of == own.of));
        let unused = unused.iter().filter(is_own).map(|loaded| (&loaded.words, &loaded.entry));
        let (mut entries, mut differentiated) = (Vec::<(Vec<u8>, &Recording)>::new(), None);
        for (words, entry) in unused.chain(all.iter().map(|(words, entry)| (words, &**entry))) {
            let Some(plan) = self.plan_to_save(entry)? else { continue };
            if plan.flows.is_some() {
                differentiated = Some((words, entry, plan));
                continue;
            }
            entries.push((saved::write_entry(self.name, words, (entry, plan), self.site)?, &plan.recording));
        }
        if entries.is_empty() {
            if let Some((words, entry, plan)) = differentiated {
                saved::write_entry(self.name, words, (entry, plan), self.site)?;
            }
            let hint = "call it with the arguments of later calls, then save it";
            return Err(saved::refuse(self.name, "it has no recordings", hint, Site::here()));
        }
        let mut writer = Writer::default();
        write_types::<F>(&mut writer, self.parameters, 0);
        More::of::<F>(self.parameters, instance).write(&mut writer);
        let about = writer.finish();
        ToSave { kind: FileKind::Frozen, name: self.name, about: &about, entries: &entries }.save(path)
    }

    /// Returns the plan of a recording, unless it belongs to an executor.
    fn plan_to_save<'e>(&self, entry: &'e Entry) -> Result<Option<&'e Plan>, Error> {
        match &entry.call_plan {
            CallPlan::Replay(plan) => Ok(Some(plan)),
            CallPlan::Elsewhere => Ok(None),
            CallPlan::Run(why) => {
                let hint = "calls with these arguments run the function anew each time";
                Err(saved::refuse(self.name, &format!("it cannot be replayed: {why}"), hint, self.site))
            }
        }
    }

    /// Reads recordings of an instantiation, or of the only one, from a file, and adds them to those that calls look
    /// for.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is foreign, too new, damaged, or of another function.
    #[doc(hidden)]
    #[track_caller]
    pub fn load<F, R: Recordable + Build>(&self, instance: Option<Instance>, path: &Path) -> Result<(), Error> {
        let site = Site::here();
        let read = saved::load(path, current_device()).map_err(|error| error.at(site))?;
        self.add::<F, R>(read, instance, site).map_err(|error| {
            let message = format!("the file {} does not fit `{}`", path.display(), self.name);
            Error::new(ErrorKind::InvalidArgument, message).at(site).caused_by(error)
        })
    }

    fn add<F, R: Recordable + Build>(
        &self,
        read: SavedRecordings,
        instance: Option<Instance>,
        site: Site,
    ) -> Result<(), Error> {
        let SavedRecordings { kind, name, about, entries } = read;
        if kind != FileKind::Frozen {
            let message = format!("it contains {}", kind.name());
            return Err(
                Error::new(ErrorKind::InvalidArgument, message).with_hint("load it with `load` of that function")
            );
        }
        let mut reader = Reader::new(&about)?;
        check_types::<F>(&mut reader, &name, self.parameters, 0)?;
        let (more, own) = (More::read(&mut reader)?, More::of::<F>(self.parameters, instance));
        reader.end()?;
        if more.generics != own.generics {
            let of = |more: &More| if more.generics.is_empty() { "none".to_owned() } else { more.generics.clone() };
            let message =
                format!("the generic arguments are {}, and were {} when `{name}` was saved", of(&own), of(&more));
            return Err(Error::new(ErrorKind::InvalidArgument, message)
                .with_hint("load a file with the types that it was saved with"));
        }
        let mut loaded = Vec::new();
        for entry in entries {
            let mut entry: LoadedEntry = saved::read_entry::<R>(entry, site)?;
            entry.words.first_mut().into_iter().for_each(layout::set_device);
            let (words, entry) = entry.into_frozen();
            loaded.push(Loaded { of: instance.map(|instance| instance.of), words, entry });
        }
        self.loaded.lock().extend(loaded);
        self.has_loaded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Adds recordings from files to those that calls look for, in the first call after they were read.
    #[inline]
    pub(super) fn adopt_loaded<R: Recordable>(&self, of: std::any::TypeId) {
        if self.has_loaded.load(Ordering::Relaxed) {
            self.adopt(of, |entry| entry.templates.downcast_ref::<LoadedTemplates<R>>().is_some());
        }
    }
}
