//! Variables that are set and have no effect: a bad value, a misspelled name, or another variable that rules them out.

use std::ffi::OsString;

use super::values::Forms;
use super::{BadValue, CacheMode, Config, VARIABLES, edits, get, load};
use crate::Error;

/// The variable that was probably meant by an unknown name. Other programs may have variables of that prefix, so only
/// names that resemble one of ours are considered.
fn misspelled(name: &str) -> Option<&'static str> {
    let known: Vec<&'static str> = VARIABLES.iter().map(|variable| variable.name).collect();
    if !name.starts_with("JIT_") || known.contains(&name) {
        return None;
    }
    let (distance, meant) = known.iter().map(|known| (edits(name, known), *known)).min()?;
    (distance <= 2).then_some(meant)
}

/// A variable that asks for something which others rule out: whether they do, the reason, and what to do.
type RuledOut = (&'static str, fn(&Config) -> bool, &'static str, &'static str);

/// Folders and bounds are not among them: programs leave those set when they switch a cache off.
const RULED_OUT: [RuledOut; 3] = [
    (
        "JIT_DUMP_DIR",
        |config| config.dump_dir.is_some() && config.dump == Forms::default(),
        "nothing is to be dumped",
        "set JIT_DUMP to the forms, such as `ir,asm` or `all`",
    ),
    (
        "JIT_CACHE_VERIFY",
        |config| config.cache_verify.is_some() && config.cache != CacheMode::Disk,
        "JIT_CACHE keeps no kernels on disk",
        "unset JIT_CACHE",
    ),
    (
        "JIT_FREEZE_VERIFY",
        |config| config.freeze_verify.is_some() && !config.is_freeze_on,
        "JIT_FREEZE is off, so nothing is replayed",
        "unset JIT_FREEZE",
    ),
];

/// Why a variable has no effect, whatever its value is: its name is misspelled, or others rule it out.
fn without_effect(name: &str, config: &Config) -> Option<BadValue> {
    if let Some(meant) = misspelled(name) {
        let message = format!("the environment variable {name} has no effect");
        return Some(BadValue { message, hint: format!("did you mean {meant}?") });
    }
    let (_, _, reason, hint) = RULED_OUT.iter().find(|(of, is_ruled_out, ..)| *of == name && is_ruled_out(config))?;
    let message = format!("the environment variable {name} has no effect: {reason}");
    Some(BadValue { message, hint: (*hint).to_owned() })
}

/// The variables of the environment that have no effect, whatever their values are, each with the reason.
pub(crate) fn all_without_effect() -> impl Iterator<Item = Error> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| without_effect(&name, get())).map(|bad| bad.error())
}

/// A variable of the environment, as this process reads it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value; what is no text in it is replaced.
    pub value: String,
    /// Why it has no effect: a bad value, a name that is probably misspelled, or another variable.
    pub error: Option<Error>,
}

/// The variables that are set and concern this library, with what is wrong with them, by name. Unlike
/// [`check`](super::check), this finds all that is wrong.
#[must_use]
pub fn environment() -> Vec<Setting> {
    settings(&std::env::vars_os().collect::<Vec<_>>())
}

fn settings(all: &[(OsString, OsString)]) -> Vec<Setting> {
    let value_of = |wanted: &str| all.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let (config, _) = load(value_of);
    let concerns = |name: &str| VARIABLES.iter().any(|variable| variable.name == name) || misspelled(name).is_some();
    let names = all.iter().filter_map(|(name, _)| name.to_str()).filter(|name| concerns(name));
    let mut settings: Vec<Setting> = names
        .map(|name| {
            let value = value_of(name).unwrap_or_default();
            let (_, bad_value) = load(|other| (other == name).then(|| value.clone()));
            let error = bad_value.or_else(|| without_effect(name, &config)).map(|bad| bad.error());
            Setting { name: name.to_owned(), value: value.to_string_lossy().into_owned(), error }
        })
        .collect();
    settings.sort_by(|a, b| a.name.cmp(&b.name));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    // rows: K174
    // no device: only the environment is read
    #[test]
    fn variables_that_others_rule_out_are_noticed() {
        let error_of = |name: &str, values: &[(&str, &str)]| {
            let values: Vec<_> = values.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let setting = settings(&values).into_iter().find(|setting| setting.name == name);
            setting.unwrap().error.map(|error| error.to_string())
        };
        for (name, value, reason, ruling_out, allowing) in [
            ("JIT_DUMP_DIR", "/tmp", "nothing is to be dumped", ("JIT_DUMP", ""), ("JIT_DUMP", "ir")),
            ("JIT_CACHE_VERIFY", "1", "no kernels on disk", ("JIT_CACHE", "memory"), ("JIT_CACHE", "on")),
            ("JIT_FREEZE_VERIFY", "1", "nothing is replayed", ("JIT_FREEZE", "no"), ("JIT_FREEZE", "yes")),
        ] {
            let text = error_of(name, &[(name, value), ruling_out]).expect("it has no effect");
            assert!(text.contains(&format!("{name} has no effect")) && text.contains(reason), "{text}");
            assert_eq!(error_of(name, &[(name, value), allowing]), None);
            assert_eq!(error_of(name, &[(name, ""), ruling_out]), None, "it is not set");
        }
    }

    #[test]
    fn misspelled_names_are_noticed_and_foreign_ones_are_not() {
        assert_eq!(misspelled("JIT_THREAD"), Some("JIT_THREADS"));
        assert_eq!(misspelled("JIT_DEVISE"), Some("JIT_DEVICE"));
        assert_eq!(misspelled("JIT_THREADS"), None);
        assert_eq!(misspelled("JIT_SOMETHING_ELSE"), None);
        assert_eq!(misspelled("PATH"), None);
    }

    #[test]
    fn everything_that_is_wrong_with_the_environment_is_listed() {
        let variables = [("PATH", "/bin"), ("JIT_THREADS", "many"), ("JIT_DEVISE", "cpu"), ("JIT_CACHE", "memory")];
        let settings = settings(&variables.map(|(name, value)| (name.into(), value.into())));
        let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
        assert_eq!(names, ["JIT_CACHE", "JIT_DEVISE", "JIT_THREADS"]);
        let hint = |at: usize| settings[at].error.as_ref().map(|error| error.hint().unwrap().to_owned());
        assert_eq!((hint(0), hint(1)), (None, Some("did you mean JIT_DEVICE?".to_owned())));
        assert!(settings[2].error.as_ref().unwrap().to_string().contains("JIT_THREADS is set to `many`"));
    }
}
