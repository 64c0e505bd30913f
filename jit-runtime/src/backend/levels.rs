//! Levels of the instruction sets, for code that other processors than that of this machine run.

use super::target::{Architecture, Target};

pub(super) const V2: [&str; 6] = ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"];
pub(super) const V3: [&str; 9] = ["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"];
pub(super) const V4: [&str; 5] = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];

/// What every 64-bit Arm processor has, and what those since Armv8.2 have that are usual in servers.
const ARM_V8: [&str; 1] = ["neon"];
const ARM_V8_2: [&str; 4] = ["lse", "rdm", "dotprod", "fullfp16"];

impl Target {
    /// The levels of an instruction set, the lowest first; x86-64-v1 lacks instructions that code needs.
    #[must_use]
    pub fn levels_of(architecture: Architecture) -> Vec<Target> {
        let level = |cpu: &str, features: &[&str]| Target::new(architecture, cpu.into(), listed(features));
        match architecture {
            Architecture::X86_64 => {
                // Gathers are instructions on all processors that have them, as in `Target::host`.
                let v3 = [&V2[..], &V3, &["fast-gather"]].concat();
                let v4 = [&v3[..], &V4].concat();
                vec![level("x86-64-v2", &V2), level("x86-64-v3", &v3), level("x86-64-v4", &v4)]
            }
            Architecture::Aarch64 => {
                let newer = [&ARM_V8[..], &ARM_V8_2].concat();
                vec![level("generic", &ARM_V8), level("generic", &newer)]
            }
        }
    }
}

pub(super) fn listed(features: &[&str]) -> String {
    let listed: Vec<String> = features.iter().map(|feature| format!("+{feature}")).collect();
    listed.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_runs_the_code_of_lower_ones_of_its_architecture() {
        let all = [Architecture::X86_64, Architecture::Aarch64].map(Target::levels_of);
        for (at, levels) in all.iter().enumerate() {
            for (number, level) in levels.iter().enumerate() {
                assert!(level.lanes > 0);
                let runs = |other: &Target| level.runs_code_of(other);
                assert_eq!(levels.iter().filter(|other| runs(other)).count(), number + 1);
                assert_eq!(all[1 - at].iter().filter(|other| runs(other)).count(), 0);
            }
        }
    }
}
