//! The command line of an example: options that take a value, with a one-sentence message for every error.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// The given options, without those already taken.
pub(crate) struct Arguments {
    given: Vec<(String, String)>,
}

impl Arguments {
    /// Parses `--name value` pairs.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut given, mut rest) = (Vec::new(), arguments.into_iter());
        while let Some(name) = rest.next() {
            if !name.starts_with("--") {
                return Err(format!("{name} is not an option; --help lists the options"));
            }
            let value = rest
                .next()
                .ok_or_else(|| format!("{name} takes a value, or does not exist; --help lists the options"))?;
            given.push((name, value));
        }
        Ok(Arguments { given })
    }

    /// Takes the last value of an option.
    fn take(&mut self, name: &str) -> Option<String> {
        let last = self.given.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value.clone());
        self.given.retain(|(given, _)| given != name);
        last
    }

    /// Takes a number that must be in a range.
    pub(crate) fn number<T>(&mut self, name: &str, range: RangeInclusive<T>, default: T) -> Result<T, String>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.take(name) else { return Ok(default) };
        text.parse()
            .ok()
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("{name} takes a number from {} to {}, not {text}", range.start(), range.end()))
    }

    /// Takes one of several words; the first one is the default.
    #[allow(dead_code, reason = "not every example has an option of this kind")]
    pub(crate) fn choice<'a>(&mut self, name: &str, words: &[&'a str]) -> Result<&'a str, String> {
        let Some(text) = self.take(name) else { return Ok(words[0]) };
        let found = words.iter().find(|word| **word == text);
        found.copied().ok_or_else(|| format!("{name} takes one of {}, not {text}", words.join(", ")))
    }

    /// Takes a text, if it was given.
    #[allow(dead_code, reason = "not every example has an option of this kind")]
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.take(name)
    }

    /// Takes a path, if it was given.
    pub(crate) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.take(name).map(PathBuf::from)
    }

    /// Rejects options that were not taken.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("there is no option {name}; --help lists the options")),
        }
    }
}

/// Runs an example on the arguments of the process: `--help` prints the help, and an error becomes one line and status
/// 1.
#[allow(clippy::print_stdout, reason = "--help prints to standard output")]
pub(crate) fn run(usage: &str, example: impl FnOnce(Arguments) -> Result<(), String>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    match Arguments::parse(arguments).and_then(example) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
