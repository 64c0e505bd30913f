//! Describes the folders and their files, as the types of `cache::stored`.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::contents::Contents;
use super::files::{Files as _, System};
use super::folder::{Access, Folder, Refused, SECRET, UNPUBLISHED, trusted_owner};
use super::format::{self, Kind};
use super::key::KeyParts;
use super::lease::LOCKS;
use super::{ENTRY_NAME, Settings, library};
use crate::backend::cuda::{self, GpuMaker};
use crate::backend::{self, CODE_DIGEST, Effort, Target, is_code_stored};
use crate::cache::OPTIMISED;
use crate::cache::stored::{CacheFile, CacheFileKind, CacheFolder, CacheHost, Miss, MissReason, StoredKernel};
use crate::config::{self, Device, Tier};
use crate::float_mode::Standard;
use crate::{Error, ErrorKind};

fn settings() -> Settings {
    Settings::of(config::get())
}

pub(in crate::cache) fn folders() -> Vec<CacheFolder> {
    let Settings { own, shared, .. } = settings();
    let own = own.map(|path| CacheFolder::new(path, false));
    own.into_iter().chain(shared.map(|path| CacheFolder::new(path, true))).collect()
}

fn access(folder: &CacheFolder) -> Access {
    if folder.is_shared { Access::Shared } else { Access::Own { user: settings().user } }
}

fn error(refused: Refused) -> Error {
    Error::new(ErrorKind::Io, refused.reason).with_hint(refused.hint)
}

/// Makes the folder if it is the user's own, and writes a file.
pub(in crate::cache) fn check(folder: &CacheFolder) -> Result<(), Error> {
    let access = access(folder);
    if folder.is_shared {
        return Folder::existing(&folder.path, access, &System).map(drop).map_err(error);
    }
    Folder::open(&folder.path, access, &System).map_err(error)?;
    let probe = folder.path.join(format!("{UNPUBLISHED}probe-{}", std::process::id()));
    let _ = System.remove(&probe);
    let written = System.write_new(&probe, &[0; 4096]).and_then(|()| System.remove(&probe));
    written.map_err(|reason| {
        let _ = System.remove(&probe);
        let hint = "free some space or change its rights; or set JIT_CACHE_DIR to another one, or JIT_CACHE=memory";
        Error::new(ErrorKind::Io, format!("the folder {} cannot be written: {reason}", folder.path.display()))
            .with_hint(hint)
    })
}

pub(in crate::cache) fn files(folder: &CacheFolder) -> Result<Vec<CacheFile>, Error> {
    trusted_owner(&folder.path, access(folder), &System).map_err(error)?;
    let secret = System.facts(&folder.path.join(SECRET));
    if !folder.is_shared && secret.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        // Without it, there is no file that a program would read.
        return Ok(Vec::new());
    }
    let opened = Folder::existing(&folder.path, access(folder), &System).map_err(error)?;
    let mut paths = System.list(&folder.path).map_err(|reason| {
        Error::new(ErrorKind::Io, format!("the folder {} cannot be listed: {reason}", folder.path.display()))
    })?;
    paths.sort();
    Ok(paths.iter().filter_map(|path| describe(&opened, path)).collect())
}

/// None for a file that was removed in between.
fn describe(folder: &Folder<'_>, path: &Path) -> Option<CacheFile> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let facts = System.facts(path).ok()?;
    let header = System.read(path, format::HEADER_BYTES as u64).map(|(header, _)| header).unwrap_or_default();
    let mut file = CacheFile {
        kind: kind(&name, facts.is_folder, &header),
        bytes: facts.size,
        last_used: Some(facts.modified),
        uses: format::stated_uses(&header).unwrap_or(0),
        cost: Duration::from_nanos(format::stated_cost(&header).unwrap_or(0)),
        flaw: None,
        kernel: None,
        name,
    };
    let kind = match file.kind {
        CacheFileKind::Kernel => Kind::Kernel,
        CacheFileKind::Literals => Kind::Literals,
        CacheFileKind::Library => Kind::Library,
        _ => {
            (file.uses, file.cost) = (0, Duration::ZERO);
            return Some(file);
        }
    };
    if kind == Kind::Library {
        // Its cost only says that it is evicted last.
        file.cost = Duration::ZERO;
    }
    match folder.open_file(&file.name, kind, |parts| {
        let kernel = stored_kernel(parts.key, parts.contents);
        let is_named = kind == Kind::Library || blake3::hash(parts.key).to_hex().as_str() == file.name;
        Ok((kernel, is_named))
    }) {
        Ok((_, false)) => file.flaw = Some("its name is not the digest of its key".to_owned()),
        Ok((None, _)) if kind == Kind::Kernel => file.flaw = Some("its contents are not those of a kernel".to_owned()),
        Ok((kernel, _)) => file.kernel = kernel,
        Err(error) => file.flaw = Some(error.to_string()),
    }
    Some(file)
}

fn kind(name: &str, is_folder: bool, header: &[u8]) -> CacheFileKind {
    let is_digest = name.len() == ENTRY_NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name {
        _ if is_folder => CacheFileKind::Foreign,
        SECRET => CacheFileKind::Secret,
        LOCKS => CacheFileKind::Locks,
        library::NAME => CacheFileKind::Library,
        _ if name.starts_with(UNPUBLISHED) => CacheFileKind::Unpublished,
        _ if is_digest && format::stated_kind(header) == Some(Kind::Literals) => CacheFileKind::Literals,
        _ if is_digest => CacheFileKind::Kernel,
        _ => CacheFileKind::Foreign,
    }
}

fn stored_kernel(key: &[u8], contents: &[u8]) -> Option<StoredKernel> {
    let (parts, contents) = (KeyParts::read(key)?, Contents::decode(contents)?);
    Some(StoredKernel {
        label: contents.label.to_owned(),
        compiled_ops: contents.compiled_ops,
        code_digest: parts.code_digest,
        llvm: parts.llvm,
        driver: parts.driver,
        target: parts.target,
        routine: parts.routine,
        options: parts.options,
        key: parts.text,
        kernel: parts.kernel,
        object: contents.object.to_vec(),
    })
}

pub(in crate::cache) fn host() -> CacheHost {
    let mut host = processor();
    for (_, maker) in gpus() {
        host.driver = Some(maker.driver);
        host.gpus.push(maker.target);
    }
    host
}

/// The GPUs here that can be used.
fn gpus() -> Vec<(Device, GpuMaker)> {
    let maker = |device: Device| match device {
        Device::Cuda(number) if is_code_stored(device) => Some((device, backend::gpu_maker(number).ok()?)),
        _ => None,
    };
    backend::gpus().unwrap_or_default().into_iter().filter_map(maker).collect()
}

fn processor() -> CacheHost {
    let target = Target::host().map(Target::identity).unwrap_or_default();
    match backend::llvm_version() {
        Ok((version, _)) => CacheHost::new(vec![version], true, target),
        Err(_) => {
            let existing = |folder: &CacheFolder| Folder::existing(&folder.path, access(folder), &System).ok();
            let known = folders().iter().filter_map(existing).flat_map(|folder| library::known(&folder)).collect();
            CacheHost::new(known, false, target)
        }
    }
}

pub(in crate::cache) fn misses(kernel: &StoredKernel, host: &CacheHost) -> Vec<Miss> {
    let mut misses = Vec::new();
    let mut add = |reason, message: String, remedy: &str| {
        misses.push(Miss { reason, message, remedy: remedy.to_owned() });
    };
    let digest = if kernel.driver.is_some() { cuda::CODE_DIGEST } else { CODE_DIGEST };
    if kernel.code_digest != digest {
        let message = format!(
            "the library that compiled it has the code generator {}, and this one {digest}",
            kernel.code_digest
        );
        let remedy = "build `jit` and the program from the same version; files of other versions are evicted";
        add(MissReason::CodeGenerator, message, remedy);
    }
    if let Some(driver) = &kernel.driver {
        gpu_misses(driver, &kernel.target, host, add);
        return misses;
    }
    if !host.llvm.contains(&kernel.llvm) {
        let here = if host.llvm.is_empty() { "none is known".to_owned() } else { host.llvm.join(" or ") };
        let message = format!("it was compiled by LLVM {}; here: {here}", kernel.llvm);
        add(MissReason::Llvm, message, "set JIT_LLVM_PATH to the same LLVM, or let it be compiled again");
    }
    if kernel.target != host.target {
        let remedy = "it is compiled once for this processor; a shared folder needs equal instruction sets";
        add(MissReason::Processor, processors(&kernel.target, &host.target), remedy);
    }
    if let Some(message) = tier(kernel.options.effort) {
        add(MissReason::Options, message.to_owned(), "unset JIT_TIER");
    }
    misses
}

/// As [`misses`], for what code of a GPU depends on alone.
fn gpu_misses(driver: &str, target: &str, host: &CacheHost, mut add: impl FnMut(MissReason, String, &str)) {
    let Some(here) = &host.driver else {
        let remedy = "nothing: it is found where there is such a GPU; `jit doctor` says why there is none";
        return add(MissReason::Processor, format!("it was compiled for `{target}`, and no GPU is found here"), remedy);
    };
    if here != driver {
        let message = format!("it was compiled by the driver of {driver}, and the one here is of {here}");
        add(MissReason::Driver, message, "nothing: it is compiled once by each driver");
    }
    if !host.gpus.iter().any(|gpu| gpu == target) {
        let message = format!("it was compiled for `{target}`; here: {}", host.gpus.join(" or "));
        add(MissReason::Processor, message, "nothing: it is compiled once for each kind of GPU");
    }
}

/// How two processors differ.
fn processors(there: &str, here: &str) -> String {
    let [a, b] = [there, here].map(Target::from_identity);
    let (Some(a), Some(b)) = (a, b) else {
        return format!("it was compiled for the processor `{there}`, and this one is `{here}`");
    };
    if a.architecture != b.architecture {
        return format!("it was compiled for {:?}, and this processor is {:?}", a.architecture, b.architecture);
    }
    let beyond = |a: &Target, b: &Target| {
        let known: Vec<&str> = b.features.split(',').collect();
        let only = a.features.split(',').filter(|feature| !known.contains(feature));
        let list: Vec<&str> = only.map(|feature| feature.trim_start_matches('+')).collect();
        list.join(" ")
    };
    let mut text = format!("it was compiled for {}, and this processor is {}", a.cpu, b.cpu);
    for (name, features) in [("this one lacks", beyond(&a, &b)), ("only this one has", beyond(&b, &a))] {
        if !features.is_empty() {
            text += &format!("; {name} {features}");
        }
    }
    if a.features == b.features && a.cpu == b.cpu {
        text = format!("it was compiled with other settings, for `{there}`, and here they are `{here}`");
    }
    text
}

/// Why code of some effort is not wanted.
fn tier(effort: Effort) -> Option<&'static str> {
    match (config::get().tier, effort) {
        (Tier::Always(Effort::Thorough), Effort::Quick) => {
            Some("it was compiled with little effort, and JIT_TIER=thorough asks for more")
        }
        (Tier::Always(Effort::Quick), Effort::Thorough) => {
            Some("it was compiled with more effort, and JIT_TIER=quick asks for less")
        }
        _ => None,
    }
}

/// The object file that is made of a kernel now.
pub(in crate::cache) fn recompile(kernel: &StoredKernel) -> Result<Box<[u8]>, Error> {
    let device = match kernel.driver {
        Some(_) => gpus().into_iter().find(|(_, maker)| maker.target == kernel.target).map(|(device, _)| device),
        None => backend::llvm_version().map(|_| Some(Device::Cpu))?,
    };
    let device = device.ok_or_else(|| Error::new(ErrorKind::NoDevice, "there is no such GPU here"))?;
    if let (Some(key), Device::Cuda(number)) = (&kernel.routine, device) {
        return Ok(backend::compile_routine(number, key)?.into());
    }
    let _mode = Standard::enter();
    let code = backend::compile(device, &OPTIMISED.of(&kernel.ir()?), kernel.options)?;
    let none = || Error::new(ErrorKind::NoDevice, "no code is generated here");
    code.object().map(Into::into).ok_or_else(none)
}
