//! `ptxas`, NVIDIA's assembler, accepts what is emitted, and needs the registers that a table lists.
//!
//! It is found in `target/ptxas` (where `.ci/run` installs it), in the search path, or at `JIT_TEST_PTXAS`. Without it
//! these tests are skipped, and report that they were.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::kernels::{every_operation, readable};
use super::library;
use super::*;
use crate::ir::random::Options;

/// A processor of each generation, with a version of the language that knows it.
const TARGETS: [Target; 4] = [
    Target { capability: 70, version: (6, 4) },
    Target { capability: 80, version: (7, 0) },
    Target { capability: 90, version: (7, 8) },
    Target { capability: 100, version: (8, 6) },
];

/// The assembler; none, which is reported, if there is none.
fn ptxas() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/ptxas/nvidia/cuda_nvcc/bin/ptxas");
    let given = std::env::var_os("JIT_TEST_PTXAS").map(PathBuf::from);
    let candidates = given.into_iter().chain([installed, PathBuf::from("ptxas")]);
    let found = candidates.into_iter().find(|path| Command::new(path).arg("--version").output().is_ok());
    if found.is_none() {
        let thread = std::thread::current();
        // Not by a macro that prints: the output of those is hidden in tests that pass.
        let name = thread.name().unwrap_or("a thread without a name");
        let _ = writeln!(std::io::stderr(), "skipped: needs ptxas: {name}");
    }
    found
}

/// Assembles a module. Returns what the assembler reports.
fn assemble(ptxas: &Path, module: &Module, options: &[&str]) -> Result<String, String> {
    let folder = tempfile();
    let source = folder.join("module.ptx");
    std::fs::write(&source, module.to_string()).unwrap();
    let target = format!("-arch=sm_{}", module.target.capability);
    let output = Command::new(ptxas).arg(target).args(options).arg(&source).args(["-o", "/dev/null"]).output().unwrap();
    let report = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        std::fs::remove_dir_all(folder).unwrap();
        return Ok(report);
    }
    Err(format!("{} does not assemble for sm_{}: {report}", source.display(), module.target.capability))
}

/// A folder of this process for one module; it stays if the module is not accepted.
fn tempfile() -> PathBuf {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("jit-ptxas-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub(super) fn accepts_all(kernels: &[(String, Kernel)]) {
    let Some(ptxas) = ptxas() else { return };
    for target in TARGETS {
        let mut module = Module::new(target, Comments::None);
        kernels.iter().for_each(|(name, kernel)| module.add(name, kernel));
        // Unoptimised: it takes a tenth of the time.
        assemble(&ptxas, &module, &["-O0"]).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_operation_assembles() {
    let cases = every_operation();
    let kernels: Vec<_> = cases.iter().map(|(name, case)| (name.clone(), prepared(case))).collect();
    accepts_all(&kernels);
}

#[test]
fn random_kernels_assemble() {
    let kernels = (0..24).map(|seed| {
        let case = Case::new(seed, &Options { transcendental: seed % 5 == 0, ..Options::structured() });
        (format!("kernel_{seed}"), prepared(&case))
    });
    accepts_all(&kernels.collect::<Vec<_>>());
}

#[test]
fn every_routine_of_library_calls_assembles() {
    let Some(ptxas) = ptxas() else { return };
    let routines = library::routines();
    for (number, target) in TARGETS.into_iter().enumerate() {
        // Each target gets another quarter of the routines; those of the table are for all targets.
        let chosen = routines.iter().skip(number).step_by(TARGETS.len());
        let functions = chosen.map(|routine| routine.function(target)).collect();
        let module = Module { target, comments: Comments::None, functions };
        assemble(&ptxas, &module, &["-O0"]).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The registers and bytes of spills that the assembler reports for each kernel.
fn resources(report: &str) -> BTreeMap<String, String> {
    let mut resources = BTreeMap::new();
    let (mut name, mut spills) = (String::new(), String::new());
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next().unwrap_or_default().to_owned();
        } else if let Some((_, rest)) = line.split_once("bytes stack frame, ") {
            spills = rest.to_owned();
        } else if let Some((_, rest)) = line.split_once(": Used ") {
            let registers = rest.split(' ').next().unwrap_or_default();
            resources.insert(name.clone(), format!("{registers} registers, {spills}"));
        }
    }
    resources
}

#[test]
fn registers_and_spills_are_those_of_the_table() {
    let Some(ptxas) = ptxas() else { return };
    let mut table = String::from("# By ptxas 12.9. `BLESS=1 cargo test -p jit-runtime --lib ptxas` accepts changes.\n");
    for target in TARGETS {
        let mut module = Module::new(target, Comments::None);
        readable().iter().for_each(|(name, kernel)| module.add(name, kernel));
        module.functions.extend(library::examples().iter().map(|routine| routine.function(target)));
        let report = assemble(&ptxas, &module, &["-v"]).unwrap_or_else(|error| panic!("{error}"));
        writeln!(table, "\nsm_{}", target.capability).unwrap();
        for (name, resources) in resources(&report) {
            writeln!(table, "    {name}: {resources}").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/backend/cuda/tests/registers.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, expected, "the resources of kernels differ, `BLESS=1` accepts this");
}

#[test]
fn every_kernel_of_the_table_is_reported() {
    let report = "ptxas info    : Compiling entry function 'sum' for 'sm_90'\n\
        ptxas info    : Function properties for sum\n    \
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 18 registers, 360 bytes cmem[0]\n";
    let expected = [("sum".to_owned(), "18 registers, 0 bytes spill stores, 0 bytes spill loads".to_owned())];
    assert_eq!(resources(report), expected.into());
}
