//! A program on this crate alone replays a file that a program with arrays has written: no traces, no LLVM.

use std::error::Error;
use std::sync::Arc;

use jit_runtime::device::Device;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::file::{FileKind, SavedRecordings};
use jit_runtime::recording::{ReplayInputs, Replayed};

/// `a * x + y`, of the tests of executors. `JIT_TEST_SAVED_FILE` is another one, with machine code.
const SAXPY: &[u8] = include_bytes!("../../tests/saved/saxpy-1.jit");

fn floats(values: &[f32]) -> Result<Arc<Buffer>, jit_runtime::Error> {
    Buffer::from_bytes(bytemuck::cast_slice(values))
}

// one device: the file has no machine code
// rows: N02
#[test]
fn a_file_is_replayed_at_other_sizes_without_llvm() -> Result<(), Box<dyn Error>> {
    let (bytes, device) = match std::env::var_os("JIT_TEST_SAVED_FILE") {
        Some(path) => (std::fs::read(path)?, Device::Cpu),
        None => (SAXPY.to_vec(), Device::Interpreter),
    };
    // SAFETY: the file is one of this library.
    let saved = unsafe { SavedRecordings::from_bytes(&bytes, device) }?;
    assert_eq!((saved.kind, &*saved.name), (FileKind::Executor, "saxpy"));
    let recording = &saved.entries[0].recording;
    for count in [100, 101, 1000] {
        let x: Vec<f32> = (0..count).map(|lane| lane as f32).collect();
        let buffers = [floats(&x)?, floats(&vec![0.5; count])?];
        let scalars = [u64::from(2.0_f32.to_bits())];
        // The number is an input, too, of width 1.
        let sizes = [count, count, 1];
        let given = ReplayInputs { buffers: &buffers, scalars: &scalars, sizes: &sizes, donated: &[false, false] };
        let (mut outputs, mut values) = (Default::default(), Vec::new());
        assert!(matches!(recording.replay(given, &mut outputs, &mut values)?, Replayed::Done), "{count}");
        let mut z = vec![0.0_f32; count];
        outputs[0].read(0, bytemuck::cast_slice_mut(&mut z))?;
        assert!(z.iter().zip(&x).all(|(z, x)| *z == 2.0 * x + 0.5), "{count}");
    }
    let has_code = recording.kernels().all(|kernel| kernel.code_bytes() > 0);
    assert_eq!(has_code, device == Device::Cpu, "machine code runs where the file has it");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    assert!(!maps.contains("libLLVM"), "{maps}");
    Ok(())
}
