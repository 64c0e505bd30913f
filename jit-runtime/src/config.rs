//! Settings from the environment: one table of variables, read once.
//!
//! A bad value is an error that names the variable and the values that it takes. It is often found deep inside code
//! that cannot fail. So the first call that can fail returns it, and so does [`check`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::{Error, ErrorKind};

mod effect;
mod values;

pub(crate) use effect::all_without_effect;
pub use effect::{Setting, environment};
pub(crate) use values::Forms;
pub use values::{Device, Effort, Form, Level};

/// An environment variable that this library reads.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: &'static str,
    /// The value if it is not set.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    apply: fn(&mut Config, &str) -> Result<(), Refused>,
}

/// Every environment variable that this library reads.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "JIT_DEVICE",
        takes: "`cpu` (or `llvm`), `interpreter`, or `cuda:0` (or `cuda`) and other numbers for GPUs",
        default: "cpu",
        doc: "where new arrays are, unless the program says otherwise",
        apply: |config, text| {
            // Whether there is such a GPU shows when it is used.
            let device = Device::from_name(text);
            config.device = Some(device.ok_or(Refused::One(&["cpu", "llvm", "interpreter", "cuda", "cuda:0"]))?);
            Ok(())
        },
    },
    Variable {
        name: "JIT_THREADS",
        takes: "a number from 1 to 1024",
        default: "the number of cores",
        doc: "threads that run launches, including the one that waits",
        apply: |config, text| {
            config.threads = Some(number(text, 1, 1024)?);
            Ok(())
        },
    },
    Variable {
        name: "JIT_LOG",
        takes: "`off`, `error`, `warn`, `info`, `debug` or `trace`",
        default: "warn",
        doc: "which messages are written to standard error",
        apply: |config, text| {
            let level = Level::ALL.into_iter().find(|level| level.name() == text);
            config.log_level = level.ok_or(Refused::One(&["off", "error", "warn", "info", "debug", "trace"]))?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_DUMP",
        takes: "a list, separated by commas, of `trace`, `ir`, `llvm`, `ptx` and `asm`, or `all`",
        default: "nothing",
        doc: "which forms of each new kernel are written",
        apply: |config, text| {
            for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                match name {
                    "all" => Form::ALL.into_iter().for_each(|form| config.dump.insert(form)),
                    _ => config.dump.insert(Form::from_name(name).ok_or(Refused::Part(name.into(), Form::NAMES))?),
                }
            }
            Ok(())
        },
    },
    Variable {
        name: "JIT_DUMP_DIR",
        takes: "a folder",
        default: "none: standard error",
        doc: "where `JIT_DUMP` writes one file for each kernel and form",
        apply: |config, text| {
            config.dump_dir = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE",
        takes: "`on`, `memory` or `off`",
        default: "on",
        doc: "where compiled kernels are kept for later launches: in memory and on disk, only in memory, or nowhere",
        apply: |config, text| {
            config.cache = match text {
                "memory" => CacheMode::Memory,
                _ if switch(text).map_err(|_| Refused::One(&["on", "memory", "off"]))? => CacheMode::Disk,
                _ => CacheMode::Off,
            };
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_DIR",
        takes: "a folder",
        default: "`jit` in the user's folder for caches",
        doc: "where compiled kernels are kept on disk",
        apply: |config, text| {
            config.cache_dir = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_SHARED_DIR",
        takes: "a folder",
        default: "none",
        doc: "a second folder of kernels, which is only read; its owner is trusted",
        apply: |config, text| {
            config.cache_shared_dir = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_CAPACITY",
        takes: "a number from 1 on",
        default: "1000",
        doc: "the number of files kept on disk",
        apply: |config, text| {
            config.cache_capacity = number(text, 1, usize::MAX)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_MAX_BYTES",
        takes: "a number from 1 on",
        default: "536870912",
        doc: "the bytes of the files kept on disk",
        apply: |config, text| {
            config.cache_max_bytes = number(text, 1, usize::MAX)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_VERIFY",
        takes: "a number from 1 on",
        default: "never",
        doc: "each time this many kernels were read from disk, the last one is also compiled; different code is an \
              error",
        apply: |config, text| {
            config.cache_verify = Some(number(text, 1, usize::MAX)?);
            Ok(())
        },
    },
    Variable {
        name: "JIT_CACHE_MEM_MAX",
        takes: "a number from 1 on",
        default: "4096",
        doc: "the number of kernels cached in memory",
        apply: |config, text| {
            config.cache_mem_max = number(text, 1, usize::MAX)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_FREEZE",
        takes: SWITCHES,
        default: "on",
        doc: "whether `#[freeze]` functions are recorded and replayed; `off` runs them as if they were not annotated",
        apply: |config, text| {
            config.is_freeze_on = switch(text)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_FREEZE_VERIFY",
        takes: "a number from 1 on",
        default: "never",
        doc: "after this many replays of a `#[freeze]` function its body runs too, on copies of the arguments; \
              any difference, to the bit, is an error",
        apply: |config, text| {
            config.freeze_verify = Some(number(text, 1, usize::MAX)?);
            Ok(())
        },
    },
    Variable {
        name: "JIT_DEBUG",
        takes: SWITCHES,
        default: "off",
        doc: "indices and assertions are checked on lanes; a failed check is an error with lane, values and line",
        apply: |config, text| {
            config.is_debug_on = switch(text)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_TIER",
        takes: "`auto`, `quick` or `thorough`",
        default: "auto",
        doc: "how much time code generation may take: little, or as much as makes code faster; `auto` begins with \
              little, and recompiles hot kernels in the background",
        apply: |config, text| {
            config.tier = match text {
                "auto" => Tier::Auto,
                "quick" => Tier::Always(Effort::Quick),
                "thorough" => Tier::Always(Effort::Thorough),
                _ => return Err(Refused::One(&["auto", "quick", "thorough"])),
            };
            Ok(())
        },
    },
    Variable {
        name: "JIT_PERF_MAP",
        takes: SWITCHES,
        default: "off",
        doc: "the names of kernels are written to `/tmp/perf-PID.map`, where Linux's `perf` looks for them",
        apply: |config, text| {
            config.is_perf_map_on = switch(text)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_CUDA_GRAPHS",
        takes: SWITCHES,
        default: "off",
        doc: "whether replays on GPUs queue consecutive launches by one call, as graphs of the driver",
        apply: |config, text| {
            config.has_cuda_graphs = switch(text)?;
            Ok(())
        },
    },
    Variable {
        name: "JIT_LLVM_PATH",
        takes: "the path of the shared library of LLVM 22, or its folder",
        default: "searched for",
        doc: "which LLVM generates code",
        apply: |config, text| {
            config.llvm_path = Some(PathBuf::from(text));
            Ok(())
        },
    },
];

/// What a switch takes.
const SWITCHES: &str = "`on` or `off`, also `1`, `true`, `yes` or `0`, `false`, `no`";

/// The time that code generation may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tier {
    /// Short at first, and longer for kernels that run often.
    Auto,
    /// The same for all.
    Always(Effort),
}

/// Where compiled kernels are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CacheMode {
    Off,
    Memory,
    /// In memory and on disk.
    Disk,
}

/// The settings, with defaults where a variable is not set or has a bad value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Config {
    pub(crate) device: Option<Device>,
    pub(crate) threads: Option<usize>,
    pub(crate) log_level: Level,
    pub(crate) dump: Forms,
    pub(crate) dump_dir: Option<PathBuf>,
    pub(crate) cache: CacheMode,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) cache_shared_dir: Option<PathBuf>,
    pub(crate) cache_capacity: usize,
    pub(crate) cache_max_bytes: usize,
    pub(crate) cache_verify: Option<usize>,
    pub(crate) cache_mem_max: usize,
    pub(crate) is_debug_on: bool,
    pub(crate) is_freeze_on: bool,
    pub(crate) freeze_verify: Option<usize>,
    pub(crate) is_perf_map_on: bool,
    pub(crate) has_cuda_graphs: bool,
    pub(crate) tier: Tier,
    pub(crate) llvm_path: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            device: None,
            threads: None,
            log_level: Level::Warn,
            dump: Forms::default(),
            dump_dir: None,
            cache: CacheMode::Disk,
            cache_dir: None,
            cache_shared_dir: None,
            cache_capacity: 1000,
            cache_max_bytes: 512 << 20,
            cache_verify: None,
            cache_mem_max: 4096,
            is_debug_on: false,
            is_freeze_on: true,
            freeze_verify: None,
            is_perf_map_on: false,
            has_cuda_graphs: false,
            tier: Tier::Auto,
            llvm_path: None,
        }
    }
}

/// Why a value is rejected.
enum Refused {
    /// It is not one of the values that the variable takes.
    Plain,
    /// It is not one of these words.
    One(&'static [&'static str]),
    /// A part of it is not one of these words.
    Part(String, &'static [&'static str]),
}

struct BadValue {
    message: String,
    hint: String,
}

static LOADED: LazyLock<(Config, Option<BadValue>)> = LazyLock::new(|| load(|name| std::env::var_os(name)));

/// The most machines that can stand for GPUs in tests.
pub(crate) const MOST_TEST_GPUS: usize = 2;

/// The number of machines that stand for GPUs, for tests: `JIT_TEST_GPUS`. Unit tests have all.
#[inline]
pub(crate) fn test_gpus() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| {
        let count = std::env::var("JIT_TEST_GPUS").ok().and_then(|text| text.parse().ok());
        count.unwrap_or(if cfg!(test) { MOST_TEST_GPUS } else { 0 }).min(MOST_TEST_GPUS)
    });
    *COUNT
}

/// Whether a device is a GPU that a machine for tests stands for.
pub(crate) fn is_test_gpu(device: Device) -> bool {
    matches!(device, Device::Cuda(number) if usize::from(number) < test_gpus())
}

/// The settings.
pub(crate) fn get() -> &'static Config {
    &LOADED.0
}

/// Whether `JIT_DEBUG` enables index checks.
#[must_use]
pub fn is_debug_on() -> bool {
    get().is_debug_on
}

/// Whether `JIT_FREEZE` lets functions be recorded and replayed.
#[must_use]
pub fn is_freeze_on() -> bool {
    get().is_freeze_on
}

/// The number of replays of a frozen function after which `JIT_FREEZE_VERIFY` runs its body, for comparison.
#[must_use]
pub fn freeze_verify() -> Option<usize> {
    get().freeze_verify
}

/// The library that `JIT_LLVM_PATH` names.
#[must_use]
pub fn llvm_path() -> Option<&'static std::path::Path> {
    get().llvm_path.as_deref()
}

/// Checks that every variable in the environment has a valid value.
///
/// # Errors
///
/// [`ErrorKind::Configuration`], naming the first variable with an invalid value, the values that it takes, and the
/// probable intended value.
pub fn check() -> Result<(), Error> {
    match &LOADED.1 {
        None => Ok(()),
        Some(bad) => Err(bad.error()),
    }
}

/// As [`check`], for other values than those of the environment.
///
/// # Errors
///
/// As for [`check`].
#[doc(hidden)]
pub fn check_values(read: impl Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    load(read).1.map_or(Ok(()), |bad| Err(bad.error()))
}

impl BadValue {
    #[cold]
    fn error(&self) -> Error {
        Error::new(ErrorKind::Configuration, self.message.clone()).with_hint(self.hint.clone())
    }
}

/// Whether `JIT_CACHE` lets kernels be kept on disk; otherwise the value that it has.
///
/// # Errors
///
/// The value: `memory` or `off`.
pub fn check_cache_on_disk() -> Result<(), &'static str> {
    match get().cache {
        CacheMode::Disk => Ok(()),
        CacheMode::Memory => Err("memory"),
        CacheMode::Off => Err("off"),
    }
}

fn load(read: impl Fn(&str) -> Option<OsString>) -> (Config, Option<BadValue>) {
    let (mut config, mut first_bad) = (Config::default(), None);
    for variable in VARIABLES {
        let Some(value) = read(variable.name) else { continue };
        let mut changed = config.clone();
        let outcome = match value.to_str().map(str::trim) {
            // Shells have no easier way to unset a variable for one command.
            Some("") => Ok(()),
            Some(text) => (variable.apply)(&mut changed, text),
            None => Err(Refused::Plain),
        };
        match outcome {
            Ok(()) => config = changed,
            Err(refused) => first_bad = first_bad.or(Some(bad_value(variable, &value, &refused))),
        }
    }
    (config, first_bad)
}

fn bad_value(variable: &Variable, value: &OsString, refused: &Refused) -> BadValue {
    let Variable { name, takes, .. } = variable;
    let value = value.to_string_lossy();
    let (part, words): (&str, &[&str]) = match refused {
        Refused::Plain => (&value, &[]),
        Refused::One(words) => (&value, words),
        Refused::Part(part, words) => (part, words),
    };
    let message = format!("the environment variable {name} is set to `{value}`; it takes {takes}");
    let hint = match nearest(part, words) {
        Some(word) => format!("did you mean `{word}` instead of `{part}`?"),
        None => format!("unset {name} for the default ({})", variable.default),
    };
    BadValue { message, hint }
}

fn number(text: &str, min: usize, max: usize) -> Result<usize, Refused> {
    text.parse().ok().filter(|number| (min..=max).contains(number)).ok_or(Refused::Plain)
}

/// The words for both values of a switch, in any case, as other programs have them.
const SWITCH: [[&str; 4]; 2] = [["off", "0", "false", "no"], ["on", "1", "true", "yes"]];

fn switch(text: &str) -> Result<bool, Refused> {
    let word = text.to_lowercase();
    match SWITCH.map(|words| words.contains(&&*word)) {
        [_, true] => Ok(true),
        [true, _] => Ok(false),
        _ => Err(Refused::One(&["on", "off", "true", "false", "yes", "no"])),
    }
}

/// The word with the smallest edit distance, if that is small.
fn nearest<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    let text = text.to_lowercase();
    let (distance, word) = words.iter().map(|word| (edits(&text, word), *word)).min()?;
    (distance <= 1 + word.len() / 3).then_some(word)
}

/// Insertions, deletions and replacements that turn one text into the other (Wagner and Fischer 1974).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, from_char) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to_char) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(from_char != *to_char);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(values: &[(&str, &str)]) -> (Config, Option<Error>) {
        let read = |name: &str| values.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        let (config, bad) = load(read);
        (config, bad.map(|bad| bad.error()))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        let (config, bad) = load_from(&[("JIT_THREADS", "")]);
        assert_eq!(config, Config::default());
        assert!(bad.is_none());
    }

    #[test]
    fn good_values_are_taken() {
        let (config, bad) = load_from(&[
            ("JIT_DEVICE", "llvm"),
            ("JIT_THREADS", "3"),
            ("JIT_LOG", "trace"),
            ("JIT_DUMP", "ir, asm"),
            ("JIT_CACHE", "off"),
            ("JIT_CACHE_MEM_MAX", "10"),
            ("JIT_FREEZE", "off"),
            ("JIT_FREEZE_VERIFY", "3"),
            ("JIT_DEBUG", "1"),
            ("JIT_TIER", "thorough"),
            ("JIT_LLVM_PATH", "/opt/llvm"),
        ]);
        assert!(bad.is_none());
        assert_eq!((config.device, config.threads, config.log_level), (Some(Device::Cpu), Some(3), Level::Trace));
        assert!(config.dump.contains(Form::Ir) && config.dump.contains(Form::Asm) && !config.dump.contains(Form::Llvm));
        assert_eq!((config.cache, config.cache_mem_max, config.is_debug_on), (CacheMode::Off, 10, true));
        assert_eq!((config.is_freeze_on, config.freeze_verify), (false, Some(3)));
        assert_eq!(config.tier, Tier::Always(Effort::Thorough));
        assert_eq!(config.llvm_path, Some(PathBuf::from("/opt/llvm")));
    }

    // rows: K170 K171
    // no device: only the environment is read
    #[test]
    fn a_bad_value_names_the_variable_the_accepted_values_and_the_intended_one() {
        let cases = [
            ("JIT_DEVICE", "interpeter", "did you mean `interpreter`"),
            ("JIT_DEVICE", "abacus", "unset JIT_DEVICE"),
            ("JIT_TIER", "thorogh", "did you mean `thorough`"),
            ("JIT_THREADS", "0", "unset JIT_THREADS"),
            ("JIT_THREADS", "many", "unset JIT_THREADS"),
            ("JIT_LOG", "inof", "did you mean `info`"),
            ("JIT_DUMP", "ir,lvm", "did you mean `llvm` instead of `lvm`"),
            ("JIT_CACHE", "of", "did you mean `off`"),
            ("JIT_CACHE", "memry", "did you mean `memory`"),
            ("JIT_CACHE_CAPACITY", "0", "unset JIT_CACHE_CAPACITY for the default (1000)"),
            ("JIT_CACHE_MEM_MAX", "-1", "unset JIT_CACHE_MEM_MAX"),
            ("JIT_FREEZE_VERIFY", "always", "unset JIT_FREEZE_VERIFY for the default (never)"),
        ];
        for (name, value, hint) in cases {
            let (config, bad) = load_from(&[(name, value)]);
            let bad = bad.expect("the value is bad");
            assert_eq!(bad.kind(), ErrorKind::Configuration);
            assert!(bad.to_string().contains(&format!("{name} is set to `{value}`; it takes")), "{bad}");
            assert!(bad.hint().unwrap().contains(hint), "{bad}");
            assert_eq!(config, Config::default());
        }
    }

    // rows: K171
    // no device: only the environment is read
    #[test]
    fn switches_take_the_words_of_other_programs() {
        let debug_of = |value: &str| load_from(&[("JIT_DEBUG", value)]).0.is_debug_on;
        for value in ["on", "1", "true", "yes", "YES", "True", " on "] {
            assert!(debug_of(value), "{value}");
        }
        let cache_of = |value: &str| load_from(&[("JIT_CACHE", value)]);
        for value in ["off", "0", "false", "no", "No", "OFF"] {
            let (config, bad) = cache_of(value);
            assert!(config.cache == CacheMode::Off && bad.is_none(), "{value}");
        }
        for (value, hint) in [("ture", "did you mean `true`"), ("ye", "did you mean `yes`"), ("2", "unset JIT_DEBUG")] {
            let (config, bad) = load_from(&[("JIT_DEBUG", value)]);
            let bad = bad.expect("the value is bad");
            assert!(bad.to_string().contains("also `1`, `true`, `yes` or `0`, `false`, `no`"), "{bad}");
            assert!(bad.hint().unwrap().contains(hint) && !config.is_debug_on, "{bad}");
        }
    }

    // rows: K173
    // no device: only the environment is read
    #[test]
    fn all_forms_are_dumped_by_one_word() {
        let (config, bad) = load_from(&[("JIT_DUMP", "all")]);
        assert!(bad.is_none() && Form::ALL.into_iter().all(|form| config.dump.contains(form)));
        assert!(load_from(&[("JIT_DUMP", "ir,al")]).1.unwrap().to_string().contains("or `all`"));
    }

    #[test]
    fn one_bad_value_does_not_spoil_the_others() {
        let (config, bad) = load_from(&[("JIT_LOG", "loud"), ("JIT_THREADS", "2")]);
        assert_eq!(config.threads, Some(2));
        assert!(bad.unwrap().to_string().contains("JIT_LOG"));
    }
}
