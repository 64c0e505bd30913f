//! Keys: everything that code depends on, and nothing else, in clear text where that is possible.
//!
//! The file of a kernel is named by the hash of its key, and contains the key, which is compared in full.

use std::fmt::Write as _;

use crate::backend::cuda::{self, GpuMaker};
use crate::backend::{CODE_DIGEST, CodeOptions, Effort, Scatters, Target};
use crate::cache::are_hashes_zero;

/// The parts of the key of code, read back from its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyParts {
    pub(super) code_digest: String,
    /// The version of LLVM; empty for code of a GPU.
    pub(super) llvm: String,
    /// The version of the driver, for code of a GPU.
    pub(super) driver: Option<String>,
    pub(super) target: String,
    pub(super) options: CodeOptions,
    /// The kernel of a library call, which has no options.
    pub(super) routine: Option<String>,
    /// The canonical bytes of the kernel; none for those of library calls.
    pub(super) kernel: Vec<u8>,
    /// The part that is text.
    pub(super) text: String,
}

impl KeyParts {
    /// None if these are not the bytes of the key of code.
    pub(super) fn read(bytes: &[u8]) -> Option<KeyParts> {
        let mut rest = bytes;
        let mut line = |name: &str| {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let line = std::str::from_utf8(&rest[..end]).ok()?.strip_prefix(name)?.trim_start().to_owned();
            rest = &rest[end + 1..];
            Some(line)
        };
        let (code_digest, driver) = (line("code")?, line("driver"));
        let llvm = if driver.is_some() { String::new() } else { line("llvm")? };
        let target = line("target")?;
        if let Some(routine) = line("routine") {
            let text = String::from_utf8(bytes.to_vec()).ok()?;
            let (options, kernel, routine) = (CodeOptions::default(), Vec::new(), Some(routine));
            return Some(KeyParts { code_digest, llvm, driver, target, options, routine, kernel, text });
        }
        let streaming_stores = line("streaming stores")?.parse().ok()?;
        let scatters = match line("scatters")?.split_once(' ') {
            None => Scatters::Shared,
            Some((_, copies)) => Scatters::Private { copies_log2: copies.parse().ok()? },
        };
        let effort = if line("effort")? == "thorough" { Effort::Thorough } else { Effort::Quick };
        line("kernel of")?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len() - rest.len()]).into_owned();
        let options = CodeOptions { streaming_stores, scatters, effort };
        let kernel = rest.to_vec();
        Some(KeyParts { code_digest, llvm, driver, target, options, routine: None, kernel, text })
    }
}

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

    /// The key of the code of a kernel for a GPU.
    pub(super) fn of_gpu_code(kernel: &[u8], options: CodeOptions, maker: &GpuMaker) -> Key {
        Key::new(gpu_text(maker), options, kernel)
    }

    /// The key of the code of a kernel of library calls; the text distinguishes it from all others.
    #[cfg(any(test, feature = "cuda"))]
    pub(super) fn of_routine(routine: &str, maker: &GpuMaker) -> Key {
        Key::of(format!("{}routine {routine}\n", gpu_text(maker)).into_bytes())
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
        Key::of([text.as_bytes(), kernel].concat())
    }

    fn of(bytes: Vec<u8>) -> Key {
        Key { digest: if are_hashes_zero() { [0; 32] } else { *blake3::hash(&bytes).as_bytes() }, bytes }
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}

fn gpu_text(maker: &GpuMaker) -> String {
    let GpuMaker { driver, target } = maker;
    format!("code {}\ndriver {driver}\ntarget {target}\n", cuda::CODE_DIGEST)
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
    fn keys_of_code_read_back() {
        let options = CodeOptions { scatters: Scatters::Private { copies_log2: 3 }, ..CodeOptions::default() };
        let target = target("x86-64-v2", "+sse4.2,+popcnt");
        for effort in [Effort::Quick, Effort::Thorough] {
            let options = CodeOptions { effort, streaming_stores: effort == Effort::Quick, ..options };
            let parts = KeyParts::read(&key(KERNEL, options, &target, "22.1.2, 5 bytes").bytes).unwrap();
            assert_eq!((parts.code_digest.as_str(), parts.llvm.as_str()), (CODE_DIGEST, "22.1.2, 5 bytes"));
            assert_eq!((parts.target, parts.options), (target.identity(), options));
            assert_eq!(parts.kernel, encode::to_bytes(&parse(KERNEL).unwrap()));
        }
        let literals = Key::of_literals(&encode::to_bytes(&parse(KERNEL).unwrap()), options);
        assert_eq!(KeyParts::read(&literals.bytes), None);
    }

    fn maker(driver: &str, target: &str) -> GpuMaker {
        GpuMaker { driver: driver.to_owned(), target: target.to_owned() }
    }

    #[test]
    fn keys_of_code_of_gpus_read_back() {
        let (kernel, maker) = (encode::to_bytes(&parse(KERNEL).unwrap()), maker("CUDA 12.4", "cuda sm_90"));
        let parts = KeyParts::read(&Key::of_gpu_code(&kernel, CodeOptions::default(), &maker).bytes).unwrap();
        assert_eq!((parts.code_digest.as_str(), parts.llvm.as_str()), (cuda::CODE_DIGEST, ""));
        assert_eq!((parts.driver.as_deref(), parts.target.as_str()), (Some("CUDA 12.4"), "cuda sm_90"));
        assert_eq!((parts.kernel, parts.routine), (kernel, None));
        let parts = KeyParts::read(&Key::of_routine("Fill", &maker).bytes).unwrap();
        assert_eq!((parts.driver.as_deref(), parts.routine.as_deref()), (Some("CUDA 12.4"), Some("Fill")));
        assert!(parts.kernel.is_empty() && parts.text.ends_with("routine Fill\n"), "{}", parts.text);
    }

    fn gpu_key(kernel: &str, driver: &str, target: &str) -> Key {
        let kernel = encode::to_bytes(&parse(kernel).unwrap());
        Key::of_gpu_code(&kernel, CodeOptions::default(), &maker(driver, target))
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
            gpu_key(KERNEL, "CUDA 12.4", "cuda sm_90"),
            gpu_key("kernel() locals(l0: f32[5]) {}", "CUDA 12.4", "cuda sm_90"),
            gpu_key(KERNEL, "CUDA 12.4, 550.54", "cuda sm_90"),
            gpu_key(KERNEL, "CUDA 12.4", "cuda sm_80"),
            Key::of_routine("Fill", &maker("CUDA 12.4", "cuda sm_90")),
            Key::of_routine("Fill", &maker("CUDA 12.5", "cuda sm_90")),
            Key::of_routine("Fill", &maker("CUDA 12.4", "cuda sm_80")),
            Key::of_routine("Compress(Count)", &maker("CUDA 12.4", "cuda sm_90")),
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
