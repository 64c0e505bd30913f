//! Keys: everything that code depends on, and nothing else, in clear text where that is possible.
//!
//! The file of a kernel is named by the hash of its key, and contains the key, which is compared in full.

use std::fmt::Write as _;

use crate::backend::{CODE_DIGEST, CodeOptions, Effort, Scatters, Target};

/// The key of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: [u8; 32],
}

impl Key {
    /// The key of the code of a kernel, whose canonical bytes are given.
    pub(super) fn of_code(kernel: &[u8], options: CodeOptions, target: &Target, llvm: &str) -> Key {
        let mut text = String::new();
        let _ = writeln!(text, "code {CODE_DIGEST}\nllvm {llvm}\ntarget {}", target.identity());
        Key::new(text, options, kernel)
    }

    /// The key of what is known about the literals of a kernel; the bytes are those of the kernel without them.
    pub(super) fn of_literals(skeleton: &[u8], options: CodeOptions) -> Key {
        Key::new(format!("code {CODE_DIGEST}\nliterals\n"), options, skeleton)
    }

    fn new(mut text: String, options: CodeOptions, kernel: &[u8]) -> Key {
        // A new option does not compile before it is here.
        let CodeOptions { streaming_stores, scatters, effort } = options;
        let scatters = match scatters {
            Scatters::Shared => "shared".to_owned(),
            Scatters::Private { copies_log2 } => format!("private {copies_log2}"),
        };
        let effort = match effort {
            Effort::Quick => "quick",
            Effort::Thorough => "thorough",
        };
        let _ = writeln!(text, "streaming stores {streaming_stores}\nscatters {scatters}\neffort {effort}");
        let _ = writeln!(text, "kernel of {} bytes", kernel.len());
        let bytes = [text.as_bytes(), kernel].concat();
        Key { digest: *blake3::hash(&bytes).as_bytes(), bytes }
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Architecture;
    use crate::ir::{encode, parse};

    const KERNEL: &str = "kernel() locals(l0: f32[4]) {}";

    fn key(kernel: &str, options: CodeOptions, target: &Target, llvm: &str) -> Key {
        Key::of_code(&encode::to_bytes(&parse(kernel).unwrap()), options, target, llvm)
    }

    fn target(cpu: &str, features: &str) -> Target {
        Target::new(Architecture::X86_64, cpu.into(), features.into())
    }

    #[test]
    fn whatever_changes_code_changes_the_key() {
        let (plain, host) = (CodeOptions::default(), target("x86-64-v2", "+sse4.2"));
        let private = |copies_log2| CodeOptions { scatters: Scatters::Private { copies_log2 }, ..plain };
        let arm = Target::new(Architecture::Aarch64, "x86-64-v2".into(), "+sse4.2".into());
        let keys = [
            key(KERNEL, plain, &host, "22.1.2"),
            key("kernel() locals(l0: f32[5]) {}", plain, &host, "22.1.2"),
            key(KERNEL, CodeOptions { streaming_stores: true, ..plain }, &host, "22.1.2"),
            key(KERNEL, CodeOptions { effort: Effort::Thorough, ..plain }, &host, "22.1.2"),
            key(KERNEL, private(0), &host, "22.1.2"),
            key(KERNEL, private(1), &host, "22.1.2"),
            key(KERNEL, plain, &target("x86-64-v3", "+sse4.2"), "22.1.2"),
            key(KERNEL, plain, &target("x86-64-v2", "+sse4.2,+avx2"), "22.1.2"),
            key(KERNEL, plain, &host.clone().with_verified_accesses(), "22.1.2"),
            key(KERNEL, plain, &host.clone().with_interleave(2), "22.1.2"),
            key(KERNEL, plain, &arm, "22.1.2"),
            key(KERNEL, plain, &host, "22.1.3"),
            Key::of_literals(&encode::to_bytes(&parse(KERNEL).unwrap()), plain),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[..i] {
                assert_ne!((a.name(), &a.bytes), (b.name(), &b.bytes));
                assert_ne!(a.digest, b.digest);
            }
        }
        assert_eq!(keys[0], key(KERNEL, plain, &host, "22.1.2"));
        assert!(CODE_DIGEST.len() == 32 && keys[0].bytes.starts_with(format!("code {CODE_DIGEST}\n").as_bytes()));
    }
}
