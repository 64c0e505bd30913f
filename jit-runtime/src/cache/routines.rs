//! Kernels of library calls of GPUs on disk: their machine code, as that of other kernels. In memory, the machine of
//! the device keeps those that it has loaded.

use std::time::Instant;

use super::CachePolicy;
#[cfg(loads_code)]
use super::disk;
use crate::Error;
use crate::backend::cuda::GpuMaker;
use crate::log::{self, Level};
use crate::stats;

/// A kernel of library calls, and who would compile it.
pub(crate) struct StoredRoutine<'a> {
    pub(crate) maker: &'a GpuMaker,
    /// Distinguishes it from all others.
    pub(crate) key: &'a str,
    /// Its name, for people.
    pub(crate) name: &'a str,
}

/// The code of a kernel as `load` makes it of machine code, which is read from disk, or compiled and stored there.
pub(crate) fn find_or_compile<T>(
    routine: &StoredRoutine<'_>,
    load: impl Fn(&[u8]) -> Result<T, Error>,
    compile: impl Fn() -> Result<Vec<u8>, Error>,
) -> Result<T, Error> {
    #[cfg(loads_code)]
    if let Some(disk) = disk::get().filter(|_| CachePolicy::current() != CachePolicy::Bypass) {
        let StoredRoutine { maker, key, name } = *routine;
        let started = Instant::now();
        let found = disk.find_routine(maker, key, |machine_code| Ok((load(machine_code)?, machine_code.to_vec())));
        let _lease = match found {
            Ok(disk::Stored { code: (code, machine_code), .. }) => {
                if disk.is_verify_due() && compile()? != machine_code {
                    return Err(super::compile::is_not_reproduced(name));
                }
                let (bytes, time) = (machine_code.len(), started.elapsed());
                log::emit(Level::Info, || format!("read `{name}` from disk: {bytes} bytes, {time:?}"));
                return Ok(code);
            }
            Err(lease) => lease,
        };
        let (code, machine_code) = compiled(name, &load, &compile)?;
        if CachePolicy::current() != CachePolicy::ReadOnly {
            disk.store_routine(maker, key, name, &machine_code, started.elapsed());
        }
        return Ok(code);
    }
    compiled(routine.name, &load, &compile).map(|(code, _)| code)
}

fn compiled<T>(
    name: &str,
    load: &impl Fn(&[u8]) -> Result<T, Error>,
    compile: &impl Fn() -> Result<Vec<u8>, Error>,
) -> Result<(T, Vec<u8>), Error> {
    let started = Instant::now();
    let machine_code = compile()?;
    let code = load(&machine_code)?;
    let (bytes, time) = (machine_code.len(), started.elapsed());
    stats::count_compile(time);
    log::emit(Level::Info, || format!("compiled `{name}`: {bytes} bytes, {time:?}"));
    Ok((code, machine_code))
}
