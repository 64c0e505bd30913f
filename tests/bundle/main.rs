//! Bundles as a build script writes them: what is compiled, what is taken over, what is refused. The module that is
//! written is compiled by the tests in `bundled.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod functions;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use functions::{accumulating, bundle, compile_saxpy, powers, saxpy};
use jit::bundle::{Builder, Built, Target};
use jit::prelude::*;
use jit::{ErrorKind, Result};
use jit_runtime::recording::file;

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("jit-bundle-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Counters are those of the process.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module in the repository is what is written now. `BLESS=1` writes it.
#[test]
fn the_module_is_that_of_the_repository() -> Result<()> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bundle/golden");
    let folder = Folder::new("golden");
    bundle().write_to(&folder)?;
    if std::env::var_os("BLESS").is_some() {
        bundle().write_to(&golden)?;
        std::fs::remove_file(golden.join("kernels.code")).unwrap();
    }
    let read = |folder: &Path| std::fs::read_to_string(folder.join("kernels.rs")).unwrap();
    assert_eq!(read(folder.as_ref()), read(&golden), "BLESS=1 accepts it");
    Ok(())
}

fn counts(built: &Built) -> Vec<(&str, usize, usize)> {
    built.entries.iter().map(|entry| (&*entry.name, entry.compiled, entry.reused)).collect()
}

// one device: the code is that of processors
// rows: N03
#[test]
fn a_change_of_one_function_compiles_its_entry_alone() -> Result<()> {
    let _alone = alone();
    if !tested_devices::has_llvm() {
        return Ok(());
    }
    let folder = Folder::new("change");
    let write = |scale: u32| {
        let bundle = Builder::new("kernels").add("saxpy", compile_saxpy).add("accumulate", || accumulating(scale));
        bundle.add("again", compile_saxpy).write_to(&folder)
    };
    let before = jit::stats();
    let first = write(5)?;
    let [(_, saxpy, 0), (_, accumulate, _), (_, 0, again)] = counts(&first)[..] else { panic!("{first:?}") };
    assert!(saxpy >= 3 && accumulate >= 3 && again == saxpy, "a level of the instruction set each: {first:?}");
    assert_eq!(first.entries[1].reused, 0);
    let second = write(5)?;
    assert_eq!(counts(&second), [("saxpy", 0, saxpy), ("accumulate", 0, accumulate), ("again", 0, saxpy)]);
    let third = write(6)?;
    let [(_, 0, _), (_, compiled, _), (_, 0, _)] = counts(&third)[..] else { panic!("{third:?}") };
    assert!(compiled >= 3, "{third:?}");
    assert_eq!(jit::stats().launches, before.launches, "nothing is launched");
    // Code of the build before that is damaged is made anew.
    let code = folder.0.join("kernels.code");
    let mut bytes = std::fs::read(&code).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&code, bytes).unwrap();
    assert_eq!(counts(&write(6)?)[0], ("saxpy", saxpy, 0));
    Ok(())
}

// one device: the code is that of processors
// rows: N03 P40
#[test]
fn entries_have_code_of_every_target_and_run_it_without_compiling() -> Result<()> {
    let _alone = alone();
    if !tested_devices::has_llvm() {
        return Ok(());
    }
    let folder = Folder::new("targets");
    let bundle = Builder::new("kernels").add("saxpy", compile_saxpy).targets([Target::host(), Target::sm(90)]);
    let built = bundle.write_to(&folder)?;
    let bytes = std::fs::read(&built.file).unwrap();
    let opened = file::Bundle::open(&bytes)?;
    assert_eq!((opened.name(), opened.names().collect::<Vec<_>>()), ("kernels", vec!["saxpy"]));
    let entry = opened.entry("saxpy")?;
    assert!(String::from_utf8_lossy(entry).contains(".target sm_90"));
    // An entry is a file of an executor.
    let path = folder.0.join("saxpy.jit");
    std::fs::write(&path, entry).unwrap();
    jit::with_device(Device::Cpu, || {
        let loaded = saxpy::load(&path)?;
        let before = jit::stats();
        let (x, y) = (Float::arange(7).make_opaque(), Float::full(2.0, 7).make_opaque());
        let z = loaded.call(2.0, 3, &x, y)?;
        assert_eq!(z.to_vec()?, [4.0, 9.0, 14.0, 19.0, 24.0, 29.0, 34.0]);
        assert!(loaded.kernels().iter().all(|kernel| kernel.code_bytes > 0), "{:?}", loaded.kernels());
        assert_eq!(jit::stats().traces, before.traces);
        Ok(())
    })
}

// one device: the code is that of processors
// rows: K82
#[test]
fn entries_have_code_for_other_architectures_and_unknown_ones_are_refused() -> Result<()> {
    let _alone = alone();
    let refused = Target::of_triple("riscv64gc-unknown-linux-gnu").unwrap_err().to_string();
    assert!(
        refused.contains("riscv64gc-unknown-linux-gnu") && refused.contains("aarch64-unknown-linux-gnu"),
        "{refused}"
    );
    assert!(Target::of_triple("aarch64-apple-darwin").is_err() && Target::of_triple("").is_err());
    if !tested_devices::has_llvm() {
        return Ok(());
    }
    let folder = Folder::new("architectures");
    let arm = Target::of_triple("aarch64-unknown-linux-gnu")?;
    let bundle = |targets: &[Target]| Builder::new("kernels").add("saxpy", compile_saxpy).targets(targets.to_vec());
    let built = bundle(&[Target::x86_64(), arm]).write_to(&folder)?;
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let both = text(&built.file);
    assert!(both.contains("X86_64 x86-64-v3") && both.contains("Aarch64 generic x4 +neon,+lse"), "no code");
    // The code of the build before is taken over, for each architecture.
    let again = bundle(&[arm]).write_to(&folder)?;
    assert_eq!(again.entries[0].compiled, 0, "{again:?}");
    let one = text(&again.file);
    assert!(!one.contains("X86_64") && one.contains("Aarch64 generic"), "code of another architecture");
    Ok(())
}

#[jit]
fn calls_the_host(x: &Float) -> Float {
    let n = jit::freeze::host(|| Float::from([1.0, 2.0]));
    x + n
}

#[jit]
fn adds(x: &Float, y: &Float) -> Float {
    x + y
}

#[derive(Clone, Copy, TracedEnum)]
enum Kind {
    Plain,
    Shifted,
}

#[jit]
fn of_kinds(kind: &Traced<Kind>, x: &Float) -> Float {
    #[traced]
    match kind {
        Kind::Plain => x.clone(),
        Kind::Shifted => x + 1.0,
    }
}

/// The error of a bundle that is not written, with its kind.
fn refused(bundle: Builder<'_>) -> (ErrorKind, String) {
    let folder = Folder::new("refused");
    let error = bundle.targets([] as [Target; 0]).write_to(&folder).unwrap_err();
    assert!(!folder.0.join("kernels.jit").exists(), "nothing is written");
    assert_eq!(error.site().map(|site| site.file()), Some(file!()), "{error}");
    (error.kind(), error.to_string())
}

// one device: bundles are written on the interpreter
// rows: N03
#[test]
fn what_cannot_be_in_a_bundle_is_refused_by_entry() {
    let _alone = alone();
    let bundle = || Builder::new("kernels");
    let (x, other) = (Float::placeholder(8), Float::placeholder(9));
    let add = || adds::compile(&x, &x);
    let (_, text) = refused(bundle().add("sum", add).add("sum", add));
    assert!(text.contains("two entries of the bundle `kernels` are called `sum`"), "{text}");
    for name in ["a-b", "", "type", "__jit_x"] {
        let (_, text) = refused(bundle().add(name, add));
        assert!(text.contains(&format!("an entry is called `{name}`, which is no identifier")), "{text}");
    }
    assert!(refused(Builder::new("my kernels")).1.contains("the bundle is called `my kernels`"));
    let (_, text) = refused(bundle().add("sum", add).add("hosted", || calls_the_host::compile(&x)));
    assert!(text.contains("the entry `hosted`") && text.contains("calls `jit::freeze::host`"), "{text}");
    assert!(text.contains("main.rs"), "the line of the call: {text}");
    let (_, text) = refused(bundle().add("wide", || adds::compile(&x, &other)));
    assert!(text.contains("the entry `wide` of the bundle cannot be compiled") && text.contains("panicked"), "{text}");
    let failing = || Err::<jit::Executor<fn()>, _>(jit::Error::new(ErrorKind::Io, "there is no such table"));
    let (kind, text) = refused(bundle().add("tabled", failing));
    assert!(kind == ErrorKind::Io && text.contains("`tabled`") && text.contains("no such table"), "{text}");
    let kinds = Traced::from_iter([Kind::Plain, Kind::Shifted]);
    let (_, text) = refused(bundle().add("kinds", || of_kinds::compile(&kinds, &Float::placeholder(2))));
    assert!(text.contains("the entry `kinds`") && text.contains("`Traced` of this library cannot be named"), "{text}");
}

// one device: nothing is compiled
#[test]
fn a_bundle_needs_a_build_script_and_targets_that_are_known() {
    let x = Float::placeholder(8);
    let error = Builder::new("kernels").add("cube", || powers::compile(&x, 3)).write_to_out_dir().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("OUT_DIR is not set") && error.to_string().contains("build.rs"), "{error}");
    let folder = Folder::new("unknown");
    let error = Builder::new("kernels").targets([Target::sm(35)]).write_to(&folder).unwrap_err().to_string();
    assert!(error.contains("compute capability 35") && error.contains("70, 72, 75"), "{error}");
}
