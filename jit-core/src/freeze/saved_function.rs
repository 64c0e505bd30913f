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
use super::function::{CallPlan, Function};
use super::layout;
use super::saved::{self, LoadedEntry, LoadedTemplates};
use super::saved_types::{check_types, write_types};
use crate::traverse::Build;

impl Function {
    /// Writes all recordings to a file. `F` is the signature of the function.
    ///
    /// # Errors
    ///
    /// No recordings; one that calls the host, with the line; one that changes lengths, variants or numbers in its
    /// arguments, or through which gradients flow; a failure of the file system.
    #[doc(hidden)]
    #[track_caller]
    pub fn save<F>(&self, path: &Path) -> Result<(), Error> {
        let (unused, all) = (self.loaded.lock(), self.recordings());
        let used = all.iter().map(|(words, entry)| (words, &**entry));
        let mut entries: Vec<(Vec<u8>, &Recording)> = Vec::new();
        for (words, entry) in unused.iter().map(|(words, entry)| (words, entry)).chain(used) {
            match &entry.call_plan {
                CallPlan::Replay(plan) => {
                    let about = saved::write_entry(self.name, words, (entry, plan), self.site)?;
                    entries.push((about, &plan.recording));
                }
                CallPlan::Run(why) => {
                    let hint = "calls with these arguments run the function anew each time";
                    return Err(saved::refuse(self.name, &format!("it cannot be replayed: {why}"), hint, self.site));
                }
                CallPlan::Elsewhere => {}
            }
        }
        if entries.is_empty() {
            let hint = "call it with the arguments of later calls, then save it";
            return Err(saved::refuse(self.name, "it has no recordings", hint, Site::here()));
        }
        let mut writer = Writer::default();
        write_types::<F>(&mut writer, self.parameters, 0);
        let about = writer.finish();
        ToSave { kind: FileKind::Frozen, name: self.name, about: &about, entries: &entries }.save(path)
    }

    /// Reads recordings from a file, and adds them to those that calls look for.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is foreign, too new, damaged, or of another function.
    #[doc(hidden)]
    #[track_caller]
    pub fn load<F, R: Recordable + Build>(&self, path: &Path) -> Result<(), Error> {
        let site = Site::here();
        let read = saved::load(path, current_device()).map_err(|error| error.at(site))?;
        self.add::<F, R>(read, site).map_err(|error| {
            let message = format!("the file {} does not fit `{}`", path.display(), self.name);
            Error::new(ErrorKind::InvalidArgument, message).at(site).caused_by(error)
        })
    }

    fn add<F, R: Recordable + Build>(&self, read: SavedRecordings, site: Site) -> Result<(), Error> {
        let SavedRecordings { kind, name, about, entries } = read;
        if kind != FileKind::Frozen {
            let message = format!("it contains {}", kind.name());
            return Err(
                Error::new(ErrorKind::InvalidArgument, message).with_hint("load it with `load` of that function")
            );
        }
        let mut reader = Reader::new(&about)?;
        check_types::<F>(&mut reader, &name, self.parameters, 0)?;
        reader.end()?;
        let mut loaded = Vec::new();
        for entry in entries {
            let mut entry: LoadedEntry = saved::read_entry::<R>(entry, site)?;
            entry.words.first_mut().into_iter().for_each(layout::set_device);
            loaded.push(entry.into_frozen());
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
