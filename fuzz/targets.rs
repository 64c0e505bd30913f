//! The fuzz targets: functions that accept any bytes and panic on an error.
//!
//! `fuzz_targets/` passes them to `cargo fuzz`. `tests/freeze/fuzzing.rs` runs each on a fixed number of inputs with
//! every `cargo test`, and on many in `.ci/nightly`. Inputs that found errors are in `corpus/`, one folder for each
//! target.

use jit_runtime::device::Device;
use jit_runtime::ir::random::{Case, Options};
use jit_runtime::ir::{Kernel, encode, parse, passes, verify};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::ReplayInputs;
use jit_runtime::recording::file::{SavedRecordings, sealed_again};

/// A function that accepts any bytes.
pub(crate) type Target = fn(&[u8]);

/// All targets, by the names of their files.
pub(crate) const TARGETS: &[(&str, Target)] = &[
    ("ir_parser", ir_parser),
    ("ir_decoder", ir_decoder),
    ("kernels", kernels),
    ("recordings", recordings),
    ("environment", environment),
    ("saved_recordings", saved_recordings),
];

/// Text parses to a kernel or an error. The printed text of a valid kernel parses to the same kernel.
pub(crate) fn ir_parser(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse(&text) {
        Err(error) => assert!(error.line >= 1 && error.column >= 1, "{error}"),
        Ok(kernel) => {
            let printed = kernel.to_string();
            if verify(&kernel).is_ok() {
                assert_eq!(parse(&printed).as_ref(), Ok(&kernel), "{printed}");
                optimised(kernel);
            }
        }
    }
}

/// Bytes are an error, or a valid kernel in its only form.
pub(crate) fn ir_decoder(data: &[u8]) {
    if let Ok(kernel) = encode::from_bytes(data) {
        assert_eq!(encode::to_bytes(&kernel), data, "{kernel}");
        optimised(kernel);
    }
}

/// Bytes are an error, or a file of recordings that can be replayed: with their checksum, and with a right one.
pub(crate) fn saved_recordings(data: &[u8]) {
    const KEPT: [&[u8]; 2] =
        [include_bytes!("../tests/saved/saxpy-1.jit"), include_bytes!("../tests/saved/newton-1.jit")];
    let (mut rest, mut bytes) = (data, data.to_vec());
    // Most inputs are a file of this version with a few changes.
    if !number(&mut rest, 1).is_multiple_of(4) {
        bytes = KEPT[number(&mut rest, 1) as usize % KEPT.len()].to_vec();
        while let [low, high, value, after @ ..] = rest {
            let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
            bytes[at] ^= *value;
            rest = after;
        }
    }
    saved_recording(&bytes);
    saved_recording(&sealed_again(&bytes));
}

fn saved_recording(bytes: &[u8]) {
    let Ok(saved) = SavedRecordings::from_untrusted_bytes(bytes, Device::Interpreter) else { return };
    for recording in saved.entries.iter().map(|entry| &entry.recording) {
        let (inputs, scalars) = (recording.inputs() as usize, recording.scalars() as usize);
        if inputs > 8 || scalars > 8 {
            continue;
        }
        let buffer = || Buffer::from_bytes(&[1; 64]).expect("there is memory");
        let buffers: Vec<_> = (0..inputs).map(|_| buffer()).collect();
        let (scalars, donated) = (vec![1; scalars], vec![false; inputs]);
        let given = ReplayInputs { buffers: &buffers, scalars: &scalars, sizes: &[4; 8], donated: &donated };
        // A loop of a file may have no end.
        let replay = || recording.replay(given, &mut Default::default(), &mut Vec::new());
        let _ = jit_runtime::cancel::with_timeout(std::time::Duration::from_secs(1), replay);
    }
}

/// Passes accept any valid kernel, and return a valid one.
fn optimised(mut kernel: Kernel) {
    passes::optimise(&mut kernel);
    assert_eq!(verify(&kernel), Ok(()), "{kernel}");
    assert_eq!(parse(&kernel.to_string()).as_ref(), Ok(&kernel), "{kernel}");
}

/// A number from the next bytes; zero if there are none.
fn number(data: &mut &[u8], bytes: usize) -> u64 {
    let (taken, rest) = data.split_at(bytes.min(data.len()));
    *data = rest;
    taken.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A random kernel computes the same on the interpreter and as generated code, as a whole and in pieces.
pub(crate) fn kernels(mut data: &[u8]) {
    let kind = number(&mut data, 1);
    let options = Options {
        operations: 1 + number(&mut data, 1) as usize % 80,
        structured: kind & 1 != 0,
        transcendental: kind & 2 != 0,
        indexed_memory: kind & 4 != 0,
        reductions: kind & 8 != 0,
        most_bytes: [8, 8, 2, 1][kind as usize >> 5 & 3],
        width: (kind & 16 != 0).then(|| number(&mut data, 1) as usize),
    };
    let case = Case::new(number(&mut data, 8), &options);
    let expected = case.run(&jit_runtime::backend::interpreter::prepare(case.kernel.clone()), None);
    let mut kernel = case.kernel.clone();
    passes::optimise(&mut kernel);
    let interpreted = case.run(&jit_runtime::backend::interpreter::prepare(kernel.clone()), Some(13));
    case.compare(&expected, &interpreted)
        .unwrap_or_else(|difference| panic!("after the passes: {difference}\n{}", case.kernel));
    generated(&case, &kernel, &expected);
}

#[cfg(all(feature = "llvm", target_os = "linux"))]
fn generated(case: &Case, kernel: &Kernel, expected: &[Vec<u8>]) {
    use jit_runtime::backend::{CodeOptions, Effort, Executable, llvm};
    if llvm::available().is_err() {
        return;
    }
    let effort = if case.seed.is_multiple_of(2) { Effort::Quick } else { Effort::Thorough };
    let options = CodeOptions { effort, ..CodeOptions::default() };
    let code = llvm::compile(kernel, options).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    for piece in [None, Some(2 * code.lanes_per_step())] {
        let actual = case.run(&code, piece);
        case.compare(expected, &actual).unwrap_or_else(|difference| panic!("{piece:?}: {difference}\n{}", case.kernel));
    }
}

#[cfg(not(all(feature = "llvm", target_os = "linux")))]
fn generated(_case: &Case, _kernel: &Kernel, _expected: &[Vec<u8>]) {}

/// A program over sizes computes the same recorded and replayed as without a recording.
pub(crate) fn recordings(mut data: &[u8]) {
    let calls = 2 + number(&mut data, 1) as usize % 10;
    crate::sizes_fuzz::replay(number(&mut data, 8), calls);
}

/// Any values of the environment are accepted, or rejected by an error that names the variable and the values that it
/// takes.
pub(crate) fn environment(data: &[u8]) {
    let values: Vec<&[u8]> = data.split(|&byte| byte == 0).collect();
    let variables = jit_runtime::config::VARIABLES;
    let at = |name: &str| variables.iter().position(|variable| variable.name == name);
    let read = |name: &str| at(name).and_then(|at| values.get(at)).map(|value| os_string(value));
    if let Err(error) = jit_runtime::config::check_values(read) {
        let text = error.to_string();
        // The name of one variable may be a prefix of another.
        let named = variables.iter().filter(|variable| text.contains(variable.name));
        let named = named.max_by_key(|variable| variable.name.len());
        assert!(named.is_some_and(|variable| text.contains(variable.takes)), "{text}");
        assert!(error.hint().is_some(), "{text}");
    }
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
