//! The processor that the program runs on, found without LLVM.

use std::sync::LazyLock;

use super::levels::listed;
#[cfg(target_arch = "x86_64")]
use super::levels::{V2, V3, V4};
use super::loader::violation;
use super::target::{Architecture, Target};
use crate::{Error, ErrorKind};

impl Target {
    /// The processor that the program runs on.
    ///
    /// # Errors
    ///
    /// `NoDevice` if it lacks instructions that generated code needs.
    pub fn host() -> Result<&'static Target, Error> {
        static HOST: LazyLock<Target> = LazyLock::new(|| {
            let features = detected();
            let target = Target::new(architecture(), level(&features).to_owned(), listed(&features));
            if violation::is_asked_for() { target.with_verified_accesses() } else { target }
        });
        if HOST.lanes == 0 {
            return Err(Error::new(ErrorKind::NoDevice, "the processor has no SSE4.2, which generated code needs"));
        }
        Ok(&HOST)
    }

    /// The levels of the instruction set of this machine, the lowest first, for code that is run by other processors.
    /// On 64-bit Arm the features of this processor are the only level.
    #[must_use]
    pub fn levels() -> Vec<Target> {
        match architecture() {
            Architecture::X86_64 => Target::levels_of(Architecture::X86_64),
            Architecture::Aarch64 => {
                let features = detected();
                vec![Target::new(Architecture::Aarch64, level(&features).into(), listed(&features))]
            }
        }
    }

    /// Whether this processor has all features that code for another one may use.
    pub(crate) fn runs_code_of(&self, other: &Target) -> bool {
        let has = |feature: &str| self.features.split(',').any(|own| own == feature);
        let is_usual = !self.verifies_accesses && self.interleave.is_none();
        is_usual && self.architecture == other.architecture && other.features.split(',').all(has)
    }
}

fn architecture() -> Architecture {
    if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 }
}

/// The detected features by LLVM's names, for those by the standard library's.
macro_rules! detect {
    ($is_detected:ident, $($name:tt as $llvm:literal),* $(,)?) => {
        [$(($llvm, std::arch::$is_detected!($name))),*]
            .into_iter()
            .filter(|(_, has)| *has)
            .map(|(name, _)| name)
            .collect()
    };
}

/// The features of the processor that generated code may use, in a fixed order. Those that are missing here are not
/// used.
#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<&'static str> {
    let mut features: Vec<&'static str> = detect!(
        is_x86_feature_detected,
        "sse3" as "sse3",
        "ssse3" as "ssse3",
        "sse4.1" as "sse4.1",
        "sse4.2" as "sse4.2",
        "popcnt" as "popcnt",
        "cmpxchg16b" as "cx16",
        "xsave" as "xsave",
        "movbe" as "movbe",
        "lzcnt" as "lzcnt",
        "bmi1" as "bmi",
        "bmi2" as "bmi2",
        "avx" as "avx",
        "f16c" as "f16c",
        "fma" as "fma",
        "avx2" as "avx2",
        "gfni" as "gfni",
        "avx512f" as "avx512f",
        "avx512cd" as "avx512cd",
        "avx512bw" as "avx512bw",
        "avx512dq" as "avx512dq",
        "avx512vl" as "avx512vl",
        "avx512ifma" as "avx512ifma",
        "avx512vbmi" as "avx512vbmi",
        "avx512vbmi2" as "avx512vbmi2",
        "avx512vnni" as "avx512vnni",
        "avx512bitalg" as "avx512bitalg",
        "avx512vpopcntdq" as "avx512vpopcntdq",
        "avx512bf16" as "avx512bf16",
        "avx512fp16" as "avx512fp16",
    );
    if features.contains(&"avx2") {
        // Not an instruction set: gathers are instructions, on all processors that have them.
        features.push("fast-gather");
    }
    features
}

/// As above.
#[cfg(target_arch = "aarch64")]
fn detected() -> Vec<&'static str> {
    detect!(
        is_aarch64_feature_detected,
        "neon" as "neon",
        "lse" as "lse",
        "rdm" as "rdm",
        "dotprod" as "dotprod",
        "fp16" as "fullfp16",
        "bf16" as "bf16",
    )
}

/// The level of the instruction set ("x86-64 psABI", §3.1.1) that the features reach: what LLVM schedules for.
#[cfg(target_arch = "x86_64")]
fn level(features: &[&str]) -> &'static str {
    let has = |level: &[&str]| level.iter().all(|feature| features.contains(feature));
    match (has(&V2), has(&V3), has(&V4)) {
        (true, true, true) => "x86-64-v4",
        (true, true, false) => "x86-64-v3",
        (true, false, _) => "x86-64-v2",
        (false, ..) => "x86-64",
    }
}

#[cfg(target_arch = "aarch64")]
fn level(_features: &[&str]) -> &'static str {
    "generic"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_level_is_the_highest_whose_features_are_all_there() {
        let v3 = [
            "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
            "lzcnt", "movbe", "xsave",
        ];
        assert_eq!((level(&[]), level(&v3[..6]), level(&v3)), ("x86-64", "x86-64-v2", "x86-64-v3"));
        assert_eq!(level(&v3[..14]), "x86-64-v2");
        let v4 = [&v3[..], &["avx512f", "avx512bw", "avx512cd", "avx512dq"]].concat();
        assert_eq!((level(&v4), level(&[&v4[..], &["avx512vl"]].concat())), ("x86-64-v3", "x86-64-v4"));
    }

    #[cfg(all(feature = "llvm", target_os = "linux"))]
    #[test]
    fn features_are_found_that_llvm_finds_too() {
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let known = inkwell::targets::TargetMachine::get_host_cpu_features().to_string();
        let known: Vec<&str> = known.split(',').collect();
        let own = detected();
        for feature in own.iter().filter(|feature| **feature != "fast-gather") {
            assert!(known.contains(&format!("+{feature}").as_str()), "{feature} is not in {known:?}");
        }
        assert!(own.len() > 4);
    }
}
