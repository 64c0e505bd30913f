//! Devices, processor and LLVM. On each device a kernel is compiled and run.

use jit_runtime::backend::llvm_version;
use jit_runtime::cache::CachePolicy;
use jit_runtime::device::{self, Device, DeviceInfo, DeviceScope, devices, processor};
use jit_runtime::ir::{Access, BinaryOp, Builder, Kernel, Type};
use jit_runtime::launch::{Argument, Launch, launch};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, ErrorKind};

use super::Check;

/// The lanes of the kernel that is run.
const LANES: u32 = 1000;

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![llvm()];
    checks.push(match processor() {
        Ok(found) => {
            let value =
                format!("{}, {} lanes of 32 bits: {}", found.level, found.vector_lanes, found.features.join(" "));
            Check::good("machine", "processor", value)
        }
        Err(error) => Check::problem("machine", "processor", &error),
    });
    checks.extend(devices().iter().map(device));
    checks.push(gpus());
    checks
}

/// Whether there are GPUs, and if not, why. None are needed, so that is no problem.
fn gpus() -> Check {
    match device::gpus() {
        Ok(0) => Check::note("machine", "GPUs", "the driver works, and has no GPU", ""),
        Ok(count) => Check::good("machine", "GPUs", format!("{count} of NVIDIA, used by JIT_DEVICE=cuda:0 and on")),
        Err(error) => Check::note("machine", "GPUs", error.message(), error.hint().unwrap_or_default()),
    }
}

fn llvm() -> Check {
    match llvm_version() {
        Ok((version, path)) if path.as_os_str().is_empty() => {
            Check::good("machine", "LLVM", format!("{version}, linked into this program"))
        }
        Ok((version, path)) => Check::good("machine", "LLVM", format!("{version}, {}", path.display())),
        Err(error) => Check::problem("machine", "LLVM", &error),
    }
}

fn device(info: &DeviceInfo) -> Check {
    let name = format!("device {}", info.device);
    let right: Vec<u32> = (0..LANES).map(|lane| lane.wrapping_mul(0x9e37_79b9) ^ 0x5bd1).collect();
    match run(info) {
        Err(error) => Check::problem("machine", name, &error),
        Ok(values) if values != right => {
            let hint = "this is a bug of the library, please report it; JIT_DEVICE=interpreter avoids it";
            let error = Error::new(ErrorKind::Internal, "a kernel ran, and its results are wrong").with_hint(hint);
            Check::problem("machine", name, &error)
        }
        Ok(_) if matches!(info.device, Device::Cuda(_)) => {
            let features = info.features.join(", ");
            Check::good("machine", name, format!("runs kernels: {}, {features}", info.name))
        }
        Ok(_) if info.unavailable.is_some() => {
            Check::note("machine", name, "kernels run, interpreted: slowly", "see LLVM and processor")
        }
        Ok(_) => Check::good("machine", name, format!("runs kernels, on {} threads", info.threads)),
    }
}

/// Runs a kernel that no cache contains.
fn run(info: &DeviceInfo) -> Result<Vec<u32>, Error> {
    let _policy = CachePolicy::Bypass.enter();
    let _scope = DeviceScope::enter(info.device);
    let output = Buffer::alloc(4 * LANES as usize)?;
    launch(Launch {
        device: info.device,
        kernel: hash_of_the_lane(),
        width: LANES as usize,
        reduce_block: None,
        arguments: vec![Argument::Buffer(output.clone(), LANES as usize)],
        label: "doctor".into(),
        site: None,
    })?;
    let mut bytes = vec![0; 4 * LANES as usize];
    output.read(0, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

fn hash_of_the_lane() -> Kernel {
    let mut builder = Builder::new();
    let output = builder.buffer(Type::U32, Access::Write);
    let lane = builder.lane_index();
    let factor = builder.constant(Type::U32, 0x9e37_79b9);
    let product = builder.binary(BinaryOp::Mul, lane, factor);
    let mask = builder.constant(Type::U32, 0x5bd1);
    let value = builder.binary(BinaryOp::Xor, product, mask);
    builder.store(output, value);
    builder.finish()
}
