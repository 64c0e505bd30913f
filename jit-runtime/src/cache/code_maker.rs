//! Makes the code that files have: decides for which processors, and takes over what an earlier file has of it.
//!
//! Code that was made before is found by the key that the disk cache has for it, which is everything that the code
//! depends on; the keys are compared in full. So a change of one function compiles the kernels of that function alone,
//! also where there is no disk cache.

use std::collections::BTreeMap;

use super::OPTIMISED;
#[cfg(loads_code)]
use super::disk;
use super::portable::{self, PortableCode};
use crate::backend::cuda::{Comments, Module, Target as Gpu};
use crate::backend::{self, Architecture, CODE_DIGEST, CodeOptions, Effort, Target};
use crate::config::Device;
use crate::ir::Kernel;
use crate::{Error, ErrorKind};

/// Processors that a file has code for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CodeTarget {
    /// Processors of the architecture of this machine, at every level of the instruction set.
    Host,
    /// Processors of an architecture, at every level of the instruction set, whichever this machine has.
    Processors(Architecture),
    /// NVIDIA GPUs from a compute capability on, without the dot: 90 for `sm_90`. Their code is PTX.
    Gpu(u32),
}

/// The compute capabilities that PTX is emitted for, each with the first version of PTX that knows it.
const GPUS: [(u32, (u32, u32)); 10] = [
    (70, (6, 4)),
    (72, (6, 4)),
    (75, (6, 4)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (120, (8, 7)),
];

/// Object files by the keys of what they were made of.
type Codes = BTreeMap<Vec<u8>, Box<[u8]>>;

/// Makes the code of files.
pub struct CodeMaker {
    targets: Vec<CodeTarget>,
    /// Whether recordings get the code of a processor, whichever device they were made on.
    is_for_processors: bool,
    /// The LLVM that compiles.
    llvm: String,
    known: Codes,
    made: Codes,
    compiled: usize,
    reused: usize,
}

impl CodeMaker {
    /// Code for targets, whichever device recordings were made on.
    ///
    /// # Errors
    ///
    /// A GPU that no code is emitted for; the host, if this machine generates no code.
    pub fn new(mut targets: Vec<CodeTarget>) -> Result<CodeMaker, Error> {
        targets.sort_unstable();
        targets.dedup();
        for target in &targets {
            match *target {
                CodeTarget::Host | CodeTarget::Processors(_) => backend::code_info(Device::Cpu).map(drop)?,
                CodeTarget::Gpu(capability) => gpu(capability).map(drop)?,
            }
        }
        let is_for_processors = targets.iter().any(|target| !matches!(target, CodeTarget::Gpu(_)));
        let llvm = if is_for_processors { backend::llvm_version()?.0 } else { String::new() };
        Ok(CodeMaker { targets, is_for_processors: true, llvm, ..CodeMaker::for_devices_of_recordings() })
    }

    /// Code for the processors of this machine if a recording was made on them, and if this machine generates code.
    pub(crate) fn for_devices_of_recordings() -> CodeMaker {
        CodeMaker {
            targets: vec![CodeTarget::Host],
            is_for_processors: false,
            llvm: String::new(),
            known: Codes::new(),
            made: Codes::new(),
            compiled: 0,
            reused: 0,
        }
    }

    /// Adds code that was made before, with its keys.
    pub(crate) fn know(&mut self, codes: impl IntoIterator<Item = (Vec<u8>, Box<[u8]>)>) {
        self.known.extend(codes);
    }

    /// The code that was made or taken over, with its keys.
    pub(crate) fn made(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.made.iter().map(|(key, object)| (&key[..], &object[..]))
    }

    /// How often a kernel was compiled: for each target, and for each form that launches may choose.
    #[must_use]
    pub fn compiled(&self) -> usize {
        self.compiled
    }

    /// How much code was taken over instead.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// The code of a kernel for each target.
    pub(crate) fn codes(
        &mut self,
        device: Device,
        kernel: &Kernel,
        options: &[CodeOptions],
    ) -> Result<Vec<PortableCode>, Error> {
        let mut codes = Vec::new();
        for target in self.targets.clone() {
            match target {
                CodeTarget::Host if !self.is_for_processors => {
                    codes.extend(portable::portable_code(device, kernel, options)?);
                }
                CodeTarget::Host => self.processors(Target::levels(), (kernel, options), &mut codes)?,
                CodeTarget::Processors(architecture) => {
                    self.processors(Target::levels_of(architecture), (kernel, options), &mut codes)?;
                }
                CodeTarget::Gpu(capability) => codes.push(ptx(kernel, gpu(capability)?)),
            }
        }
        Ok(codes)
    }

    #[cfg(loads_code)]
    fn processors(
        &mut self,
        levels: Vec<Target>,
        (kernel, all_options): (&Kernel, &[CodeOptions]),
        codes: &mut Vec<PortableCode>,
    ) -> Result<(), Error> {
        let bytes = crate::ir::encode::to_bytes(kernel);
        for target in levels {
            for &options in all_options {
                let key = disk::key_of_code(&bytes, options, &target, &self.llvm);
                let object = match self.known.get(&key).or_else(|| self.made.get(&key)) {
                    Some(object) => {
                        self.reused += 1;
                        object.clone()
                    }
                    None => {
                        self.compiled += 1;
                        compiled(kernel, options, &target)?
                    }
                };
                self.made.insert(key, object.clone());
                let (digest, target) = (CODE_DIGEST.to_owned(), target.identity());
                codes.push(PortableCode { digest, target, options, object });
            }
        }
        Ok(())
    }

    #[cfg(not(loads_code))]
    fn processors(
        &mut self,
        _: Vec<Target>,
        _: (&Kernel, &[CodeOptions]),
        _: &mut Vec<PortableCode>,
    ) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(loads_code)]
fn compiled(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<Box<[u8]>, Error> {
    let object = backend::object_for(Device::Cpu, &OPTIMISED.of(kernel), options, target)?;
    object.ok_or_else(|| Error::new(ErrorKind::NoDevice, "this machine no longer generates code"))
}

/// Finds a GPU by its compute capability.
fn gpu(capability: u32) -> Result<Gpu, Error> {
    if let Some(&(capability, version)) = GPUS.iter().find(|(known, _)| *known == capability) {
        return Ok(Gpu { capability, version });
    }
    let known: Vec<String> = GPUS.iter().map(|(known, _)| known.to_string()).collect();
    let message = format!("no code is emitted for GPUs of the compute capability {capability}");
    let hint = format!("these are known: {}; a GPU runs the code for each lower one, too", known.join(", "));
    Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint))
}

/// The PTX of a kernel. Readers that know processors alone pass over its target.
fn ptx(kernel: &Kernel, target: Gpu) -> PortableCode {
    let mut module = Module::new(target, Comments::None);
    module.add("kernel", &OPTIMISED.of(kernel));
    let Gpu { capability, version: (major, minor) } = target;
    PortableCode {
        digest: CODE_DIGEST.to_owned(),
        target: format!("PTX sm_{capability} {major}.{minor}"),
        options: CodeOptions { effort: Effort::Thorough, ..CodeOptions::default() },
        object: module.to_string().into_bytes().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    const DOUBLE: &str = "kernel(p0: read f32, p1: write f32) { v0: f32 = load p0 v1: f32 = add v0, v0 store p1, v1 }";

    #[test]
    fn code_of_gpus_is_emitted_without_a_compiler_and_others_are_refused() {
        let mut maker = CodeMaker::new(vec![CodeTarget::Gpu(90), CodeTarget::Gpu(70), CodeTarget::Gpu(90)]).unwrap();
        let codes = maker.codes(Device::Interpreter, &parse(DOUBLE).unwrap(), &[CodeOptions::default()]).unwrap();
        let targets: Vec<&str> = codes.iter().map(|code| &*code.target).collect();
        assert_eq!(targets, ["PTX sm_70 6.4", "PTX sm_90 7.8"]);
        assert!(String::from_utf8_lossy(&codes[1].object).contains(".target sm_90"));
        let refused = CodeMaker::new(vec![CodeTarget::Gpu(35)]).err().unwrap().to_string();
        assert!(refused.contains("capability 35") && refused.contains("70, 72, 75"), "{refused}");
    }

    #[cfg(all(loads_code, feature = "llvm"))]
    #[test]
    fn code_of_other_architectures_is_made_here() {
        use object::Object as _;
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let all = [Architecture::X86_64, Architecture::Aarch64].map(CodeTarget::Processors);
        let mut maker = CodeMaker::new(all.to_vec()).unwrap();
        let codes = maker.codes(Device::Interpreter, &parse(DOUBLE).unwrap(), &[CodeOptions::default()]).unwrap();
        let found: Vec<_> = codes
            .iter()
            .map(|code| (object::File::parse(&*code.object).unwrap().architecture(), code.target.as_str()))
            .collect();
        use object::Architecture::{Aarch64, X86_64};
        let architectures: Vec<_> = found.iter().map(|(architecture, _)| *architecture).collect();
        assert_eq!(architectures, [X86_64, X86_64, X86_64, Aarch64, Aarch64], "{found:?}");
        assert!(found[3].1.starts_with("Aarch64 generic x4 +neon"), "{found:?}");
        // The processors of this machine run theirs alone.
        let host = Target::host().unwrap();
        let fits = |target: &str| Target::from_identity(target).is_some_and(|target| host.runs_code_of(&target));
        let is_arm = cfg!(target_arch = "aarch64");
        assert!(found.iter().all(|(_, target)| !fits(target) || target.starts_with("Aarch64") == is_arm));
        assert!(found.iter().any(|(_, target)| fits(target)));
    }

    #[cfg(all(loads_code, feature = "llvm"))]
    #[test]
    fn code_that_was_made_before_is_not_compiled_again() {
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let kernel = parse(DOUBLE).unwrap();
        let all = [false, true].map(|streaming_stores| CodeOptions { streaming_stores, ..CodeOptions::default() });
        let mut first = CodeMaker::new(vec![CodeTarget::Host]).unwrap();
        let made = first.codes(Device::Interpreter, &kernel, &all).unwrap();
        assert_eq!((first.compiled(), first.reused()), (made.len(), 0));
        let mut second = CodeMaker::new(vec![CodeTarget::Host]).unwrap();
        second.know(first.made().map(|(key, object)| (key.to_vec(), object.into())));
        assert_eq!(second.codes(Device::Interpreter, &kernel, &all).unwrap(), made);
        assert_eq!((second.compiled(), second.reused()), (0, made.len()));
        let other = parse(&DOUBLE.replace("add v0, v0", "mul v0, v0")).unwrap();
        second.codes(Device::Interpreter, &other, &all).unwrap();
        assert_eq!(second.compiled(), made.len());
    }
}
