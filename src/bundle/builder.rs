//! What a build script says: the entries of a bundle, and where it is written.
//!
//! Entries are recorded on the interpreter, which compiles nothing: kernels do not depend on the device. So the only
//! code that is made is that of the targets, and the build compiles a kernel again only if something that its code
//! depends on has changed. The code of the build before lies beside the bundle.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use jit_core::executor::Shipped;
use jit_runtime::recording::file::{CodeMaker, CodeTarget, bundle_bytes, code_bytes, know_code};

use super::Target;
use super::generate;
use super::paths::{Paths, is_identifier};
use crate::{Device, Error, ErrorKind, Executor, Site};

/// Compiles functions for a program that is built later: see the [module](super).
#[must_use = "a bundle is written by `write_to_out_dir`"]
pub struct Builder<'a> {
    name: String,
    entries: Vec<Entry<'a>>,
    targets: Option<Vec<Target>>,
    paths: Paths,
    site: Site,
}

/// Compiles a function, with the code of a maker.
type Compile<'a> = Box<dyn FnOnce(&mut CodeMaker) -> Result<Shipped, Error> + 'a>;

/// A function of a bundle, before it is compiled.
struct Entry<'a> {
    name: String,
    site: Site,
    compile: Compile<'a>,
}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Built {
    /// The file of the bundle; the module that includes it is beside it.
    pub file: PathBuf,
    /// The entries, in the order in which they were added.
    pub entries: Vec<BuiltEntry>,
}

/// An entry that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BuiltEntry {
    /// Its name.
    pub name: String,
    /// How often a kernel of it was compiled: for each level of the instruction set, and each form of the kernel that
    /// calls choose from.
    pub compiled: usize,
    /// How much of its code was taken from the build before, or from another entry.
    pub reused: usize,
    /// The bytes that it takes in the program.
    pub bytes: usize,
}

impl<'a> Builder<'a> {
    /// A bundle without entries, for the processors of the program: those of the architecture that the build script
    /// runs on, or of the target of a build for other machines. Its name is the one that `include_bundle!` takes: an
    /// identifier.
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        Builder { name: name.into(), entries: Vec::new(), targets: None, paths: Paths::new(), site: Site::here() }
    }

    /// Adds a function: the name that it gets in the module, and a closure that compiles it, such as
    /// `|| saxpy::compile(2.0, &x, &y)` with placeholders as `x` and `y`.
    ///
    /// The closure runs when the bundle is written, with the interpreter as the current device.
    #[track_caller]
    pub fn add<F>(
        mut self,
        name: impl Into<String>,
        compile: impl FnOnce() -> Result<Executor<F>, Error> + 'a,
    ) -> Self {
        let compile = Box::new(|maker: &mut CodeMaker| compile()?.shipped(maker));
        self.entries.push(Entry { name: name.into(), site: Site::here(), compile });
        self
    }

    /// Sets the processors that the bundle has code for, instead of those of the program alone. Without targets it has
    /// the kernels alone: a program compiles them if it has LLVM, and interprets them otherwise.
    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.targets = Some(targets.into_iter().collect());
        self
    }

    /// States the path by which the program names a type of its functions: `with_path::<Camera>("::scene::Camera")`.
    /// It is needed for types whose own module is private, and for those of crates that the program calls otherwise.
    /// The parameters of a generic type are left out.
    pub fn with_path<T: ?Sized>(mut self, path: impl Into<String>) -> Self {
        self.paths.add::<T>(path.into());
        self
    }

    /// Compiles the entries, and writes the bundle to `OUT_DIR`, where `include_bundle!` finds it.
    ///
    /// # Errors
    ///
    /// As [`Builder::write_to`]; outside of a build script, where there is no `OUT_DIR`.
    pub fn write_to_out_dir(self) -> Result<Built, Error> {
        let Some(folder) = std::env::var_os("OUT_DIR") else {
            let message = format!("there is no place for the bundle `{}`: OUT_DIR is not set", self.name);
            let hint = "call `write_to_out_dir` in a build script, `build.rs`; elsewhere `write_to(folder)`";
            return Err(Error::new(ErrorKind::Configuration, message).at(self.site).with_hint(hint));
        };
        // Another LLVM makes other code. Without a directive cargo would run the script whenever a file changes.
        let directives = "cargo::rerun-if-changed=build.rs\ncargo::rerun-if-env-changed=JIT_LLVM_PATH\n";
        std::io::stdout().write_all(directives.as_bytes()).map_err(|error| unwritable(Path::new("-"), error))?;
        self.write_to(folder)
    }

    /// Compiles the entries, and writes the bundle to a folder: `NAME.jit`, which is a file for other programs, too,
    /// `NAME.rs`, which `include_bundle!` includes, and `NAME.code`, which the next build uses.
    ///
    /// # Errors
    ///
    /// A name that is no identifier, or that two entries have; an entry that is not compiled or not saved, for the
    /// reasons of [`Executor::save`]; a type that the program cannot name; a machine without LLVM, if there is to be
    /// machine code; a failure of the file system. Errors state the name of the entry.
    pub fn write_to(self, folder: impl AsRef<Path>) -> Result<Built, Error> {
        let file = |extension: &str| folder.as_ref().join(format!("{}.{extension}", self.name));
        let [file, module, code] = ["jit", "rs", "code"].map(file);
        self.check_names()?;
        let mut maker = self.maker()?;
        if let Ok(bytes) = std::fs::read(&code) {
            know_code(&mut maker, &bytes);
        }
        let Builder { name, entries, paths, .. } = self;
        let (mut text, mut files, mut built) = (generate::head(&name), Vec::new(), Vec::new());
        for Entry { name, site, compile } in entries {
            let before = (maker.compiled(), maker.reused());
            let shipped = run(&mut maker, compile).map_err(|error| refuse(&name, "cannot be compiled", error, site))?;
            text += &generate::entry(&name, &shipped, &paths, site)
                .map_err(|error| refuse(&name, "has a type that the program cannot name", error, site))?;
            let (compiled, reused, bytes) =
                (maker.compiled() - before.0, maker.reused() - before.1, shipped.bytes.len());
            built.push(BuiltEntry { name: name.clone(), compiled, reused, bytes });
            files.push((name, shipped.bytes));
        }
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        write(&code, &code_bytes(&maker))?;
        write(&file, &bundle_bytes(&name, &files))?;
        write(&module, text.as_bytes())?;
        Ok(Built { file, entries: built })
    }

    fn check_names(&self) -> Result<(), Error> {
        if !is_identifier(&self.name) {
            return Err(no_identifier("the bundle", &self.name).at(self.site));
        }
        let mut known: BTreeMap<&str, Site> = BTreeMap::new();
        for Entry { name, site, .. } in &self.entries {
            if !is_identifier(name) {
                return Err(no_identifier("an entry", name).at(*site));
            }
            if let Some(other) = known.insert(name, *site) {
                let message = format!("two entries of the bundle `{}` are called `{name}`", self.name);
                let hint = format!("rename one; the other one is added at {other}");
                return Err(Error::new(ErrorKind::InvalidArgument, message).at(*site).with_hint(hint));
            }
        }
        Ok(())
    }

    fn maker(&self) -> Result<CodeMaker, Error> {
        let own = || Target::of_program().into_iter().collect();
        let targets = self.targets.clone().unwrap_or_else(own);
        let targets: Vec<CodeTarget> = targets.iter().map(|target| target.0).collect();
        CodeMaker::new(targets).map_err(|error| {
            let kind = error.kind();
            let message = format!("the bundle `{}` cannot have code for its targets", self.name);
            let hint = "a build script needs LLVM 22 and the feature `llvm` of `jit`; `.targets([])` writes a bundle \
                        without code, whose kernels are interpreted where there is no LLVM";
            let error = Error::new(kind, message).at(self.site).caused_by(error);
            if kind == ErrorKind::NoDevice { error.with_hint(hint) } else { error }
        })
    }
}

/// Compiles an entry. A panic in its closure is an error of the entry.
fn run(maker: &mut CodeMaker, compile: Compile<'_>) -> Result<Shipped, Error> {
    let compiled = || crate::with_device(Device::Interpreter, || compile(maker));
    catch_unwind(AssertUnwindSafe(compiled)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Err(Error::new(ErrorKind::InvalidArgument, format!("its closure panicked: {text}")))
    })
}

#[cold]
fn refuse(name: &str, what: &str, error: Error, site: Site) -> Error {
    Error::new(error.kind(), format!("the entry `{name}` of the bundle {what}")).at(site).caused_by(error)
}

#[cold]
fn no_identifier(what: &str, name: &str) -> Error {
    let message = format!("{what} is called `{name}`, which is no identifier of Rust");
    Error::new(ErrorKind::InvalidArgument, message)
        .with_hint("use letters, digits and `_`, beginning with a letter; keywords, `jit` and `__jit…` are taken")
}

#[cold]
fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the file {} cannot be written", path.display())).caused_by(error)
}

/// Writes a file whose name then has all of the new contents or all of the old ones.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let unpublished = path.with_extension(format!("new-{}", std::process::id()));
    let outcome = std::fs::write(&unpublished, bytes).and_then(|()| std::fs::rename(&unpublished, path));
    outcome.map_err(|error| {
        let _ = std::fs::remove_file(&unpublished);
        unwritable(path, error)
    })
}
