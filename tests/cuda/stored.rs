//! Machine code of GPUs on disk: which processes compile, and which find what others compiled.

use std::path::{Path, PathBuf};

use jit::cache::{CacheFileKind, CacheFolder, CacheHost, CacheLevel, MissReason, StoredKernel};
use jit::prelude::*;
use jit::{Device, ErrorKind, with_device};

use super::{FIRST, SECOND, alone, floats};

/// A folder for the cache of a test, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let name = test.rsplit("::").next().unwrap_or(test);
        let path = std::env::temp_dir().join(format!("jit-cuda-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// The files of kernels. Their names are digests.
    fn files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.0).into_iter().flatten().map(|file| file.unwrap().path());
        files.filter(|path| path.file_name().unwrap().len() == 64).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a process counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    compiled: usize,
    read: usize,
    missed: usize,
}

/// All kernels are compiled.
fn compiled(count: usize) -> Counts {
    Counts { compiled: count, read: 0, missed: count }
}

/// All kernels are read.
fn read(count: usize) -> Counts {
    Counts { compiled: 0, read: count, missed: 0 }
}

fn commands(folder: &Path, variables: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let driver = program.parent().unwrap().join("libfake_cuda.so").display().to_string();
    let folder = folder.display();
    // A wait for another process should not end because the machine is slow.
    let cache = format!("JIT_CACHE=on JIT_CACHE_DIR='{folder}' JIT_TEST_PATIENCE=1000");
    format!("export {cache} JIT_TEST_CUDA_DRIVER='{driver}' {variables};")
}

/// Runs a test in a process with a folder for the cache. Returns its output; none in that process.
fn process(test: &str, folder: &Folder, variables: &str) -> Option<String> {
    alone::alone(test, &commands(&folder.0, variables))
}

/// The counts in the output of a process that ended with [`work`].
fn counts(output: &str) -> Counts {
    let line = output.lines().find_map(|line| line.split_once("counts: ")).expect("the process prints its counts").1;
    let numbers: Vec<usize> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    Counts { compiled: numbers[0], read: numbers[1], missed: numbers[2] }
}

/// The kernels of [`work`]: a map, a reduction with the combination of its parts, a sort, each as one launch.
const KERNELS: usize = 4;

/// Runs kernels and library calls on a GPU, and prints what was compiled and read.
#[allow(clippy::print_stdout, reason = "another process reads it")]
fn work(device: Device) {
    let values: Vec<f32> = (0..20_000).map(|number| ((number * 7919) % 1013) as f32).collect();
    let x = floats(device, &values);
    let tripled = &x * 3.0;
    assert_eq!(tripled.to_vec().unwrap(), values.iter().map(|value| value * 3.0).collect::<Vec<_>>());
    let expected: f32 = floats(Device::Interpreter, &values).sum().item().unwrap();
    assert_eq!(x.sum().item().unwrap().to_bits(), expected.to_bits());
    let few = floats(device, &values[..100]);
    let mut sorted = values[..100].to_vec();
    sorted.sort_by(f32::total_cmp);
    assert_eq!(few.sort().to_vec().unwrap(), sorted);
    let stats = jit::stats();
    println!("counts: {} {} {}", stats.compiles - 1, stats.disk_hits, stats.cache(CacheLevel::Disk).misses);
}

// one device: a GPU of a driver for tests
#[test]
fn a_second_process_compiles_nothing_for_a_gpu() {
    let test = "stored::a_second_process_compiles_nothing_for_a_gpu";
    let folder = Folder::new(test);
    let Some(first) = process(test, &folder, "") else { return work(FIRST) };
    assert_eq!(counts(&first), compiled(KERNELS));
    // The linker would fail. The emitter is not asked, since only it makes what the linker takes.
    let second = process(test, &folder, "FAKE_CUDA_FAIL=link:1+ JIT_LOG=info").unwrap();
    assert_eq!(counts(&second), read(KERNELS));
    assert!(second.contains("read `trace` (") && second.contains("read `combine_add_f32` from disk"), "{second}");
    // What is read is compared with what is compiled now.
    let verified = process(test, &folder, "JIT_CACHE_VERIFY=1").unwrap();
    assert_eq!((counts(&verified).read, counts(&verified).missed), (KERNELS, 0));
}

// one device: a GPU of a driver for tests
#[test]
fn machine_code_of_another_driver_is_not_found() {
    let test = "stored::machine_code_of_another_driver_is_not_found";
    let folder = Folder::new(test);
    let Some(first) = process(test, &folder, "") else { return work(FIRST) };
    assert_eq!(counts(&first), compiled(KERNELS));
    for driver in ["FAKE_CUDA_DRIVER=12030", "FAKE_CUDA_DRIVER=13000"] {
        assert_eq!(counts(&process(test, &folder, driver).unwrap()), compiled(KERNELS), "{driver}");
        assert_eq!(counts(&process(test, &folder, driver).unwrap()), read(KERNELS), "{driver}");
    }
    assert_eq!(counts(&process(test, &folder, "").unwrap()), read(KERNELS));
}

// one device: a GPU of a driver for tests
#[test]
fn machine_code_for_another_compute_capability_is_not_found() {
    let test = "stored::machine_code_for_another_compute_capability_is_not_found";
    let folder = Folder::new(test);
    let is_first = std::env::var_os("ON_SECOND").is_none();
    let Some(first) = process(test, &folder, "") else { return work(if is_first { FIRST } else { SECOND }) };
    assert_eq!(counts(&first), compiled(KERNELS));
    assert_eq!(counts(&process(test, &folder, "ON_SECOND=1").unwrap()), compiled(KERNELS));
    for device in ["", "ON_SECOND=1"] {
        assert_eq!(counts(&process(test, &folder, device).unwrap()), read(KERNELS), "{device}");
    }
}

// one device: a GPU of a driver for tests
#[test]
fn damaged_machine_code_is_compiled_again() {
    let test = "stored::damaged_machine_code_is_compiled_again";
    let folder = Folder::new(test);
    let Some(first) = process(test, &folder, "") else { return work(FIRST) };
    assert_eq!(counts(&first), compiled(KERNELS));
    let flip = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    for damage in [flip as fn(&mut Vec<u8>), cut] {
        let files = folder.files();
        assert_eq!(files.len(), KERNELS);
        for path in files {
            let mut bytes = std::fs::read(&path).unwrap();
            damage(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
        }
        assert_eq!(counts(&process(test, &folder, "").unwrap()), compiled(KERNELS));
        assert_eq!(counts(&process(test, &folder, "").unwrap()), read(KERNELS));
    }
}

// one device: a GPU of a driver for tests
#[test]
fn machine_code_that_the_driver_refuses_is_compiled_again_with_the_reason() {
    let test = "stored::machine_code_that_the_driver_refuses_is_compiled_again_with_the_reason";
    let folder = Folder::new(test);
    let Some(_) = process(test, &folder, "") else { return work(FIRST) };
    let refused = process(test, &folder, "FAKE_CUDA_FAIL=module:1 JIT_LOG=info").unwrap();
    assert_eq!(counts(&refused), Counts { compiled: 1, read: KERNELS - 1, missed: 1 });
    let reason = "is not used: the driver refuses machine code for `cuda:0`";
    assert!(refused.contains(reason) && refused.contains("CUDA_ERROR_INVALID_IMAGE"), "{refused}");
    assert_eq!(counts(&process(test, &folder, "").unwrap()), read(KERNELS));
}

// one device: a GPU of a driver for tests
#[test]
fn without_the_disk_each_process_compiles() {
    let test = "stored::without_the_disk_each_process_compiles";
    let folder = Folder::new(test);
    for _ in 0..2 {
        let Some(output) = process(test, &folder, "JIT_CACHE=memory") else { return work(FIRST) };
        assert_eq!(counts(&output), Counts { compiled: KERNELS, read: 0, missed: 0 });
        assert!(folder.files().is_empty());
    }
    // A folder that cannot be made is a warning.
    std::fs::write(&folder.0, "a file").unwrap();
    let output = process(test, &folder, "").unwrap();
    assert_eq!(counts(&output).compiled, KERNELS);
    assert!(output.contains("kernels are not cached on disk"), "{output}");
    std::fs::remove_file(&folder.0).unwrap();
}

// one device: a GPU of a driver for tests
#[test]
fn processes_that_want_the_same_code_for_a_gpu_compile_it_once() {
    let test = "stored::processes_that_want_the_same_code_for_a_gpu_compile_it_once";
    let folder = Folder::new(test);
    // In a process of its own, this returns at once.
    if std::env::var_os("JIT_TEST_IS_ALONE").is_some() {
        return work(FIRST);
    }
    let all: Vec<Counts> = std::thread::scope(|scope| {
        let begin = || scope.spawn(|| counts(&process(test, &folder, "").unwrap()));
        let processes = [begin(), begin(), begin()];
        processes.into_iter().map(|process| process.join().unwrap()).collect()
    });
    let sum = |of: fn(&Counts) -> usize| all.iter().map(of).sum::<usize>();
    assert_eq!(sum(|counts| counts.compiled + counts.read), 3 * KERNELS);
    // Only builds with debug assertions wait as long as tests ask for.
    if cfg!(debug_assertions) {
        assert_eq!((sum(|counts| counts.compiled), sum(|counts| counts.missed)), (KERNELS, KERNELS));
    }
    assert_eq!(folder.files().len(), KERNELS);
}

/// Checks the parts of an error, which names a line of this file, too.
fn assert_says(text: &str, parts: [&str; 3]) {
    for part in parts.into_iter().chain(["stored.rs:"]) {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// one device: a GPU of a driver for tests
#[test]
fn a_text_that_the_linker_refuses_is_an_error_and_is_not_stored() {
    let test = "stored::a_text_that_the_linker_refuses_is_an_error_and_is_not_stored";
    let folder = Folder::new(test);
    let Some(_) = process(test, &folder, "FAKE_CUDA_FAIL=link:1,link-end:2,link:4") else {
        let x = floats(FIRST, &[3.0, 1.0, 2.0]);
        let error = (&x * 3.0).to_vec().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Compile);
        let text = error.to_string();
        assert_says(&text, ["`trace` cannot be compiled", "line 7; error : on demand", "CUDA_ERROR_INVALID_PTX"]);
        assert_eq!((&x * 3.0).to_vec().unwrap(), [9.0, 3.0, 6.0], "errors are not cached");
        let text = (&x * 3.0 + 1.0).to_vec().unwrap_err().to_string();
        assert_says(&text, ["`trace` cannot be compiled", "ptxas fatal : on demand", "CUDA_ERROR_NO_BINARY_FOR_GPU"]);
        let text = x.sort().to_vec().unwrap_err().to_string();
        assert_says(&text, ["the code of `sort_", "line 7; error : on demand", "CUDA_ERROR_INVALID_PTX"]);
        return;
    };
    assert_eq!(folder.files().len(), 1);
}

/// The kernels in the folder, those of library calls last.
fn stored() -> Vec<StoredKernel> {
    let files = CacheFolder::all()[0].files().unwrap();
    let kernels = files.into_iter().filter(|file| file.kind == CacheFileKind::Kernel);
    let mut kernels: Vec<StoredKernel> = kernels.map(|file| file.kernel.expect("it is intact")).collect();
    kernels.sort_by_key(|kernel| kernel.routine.is_some());
    kernels
}

// one device: a GPU of a driver for tests
#[test]
fn stored_machine_code_is_described_and_compiled_again() {
    let test = "stored::stored_machine_code_is_described_and_compiled_again";
    let folder = Folder::new(test);
    let look = std::env::var("LOOK").unwrap_or_default();
    let Some(_) = process(test, &folder, "") else {
        return match look.as_str() {
            "" => work(FIRST),
            "here" => described_here(),
            _ => described_elsewhere(&look),
        };
    };
    process(test, &folder, "LOOK=here").unwrap();
    process(test, &folder, "LOOK=driver FAKE_CUDA_DRIVER=12050").unwrap();
    process(test, &folder, "LOOK=none FAKE_CUDA_FAIL=no-device").unwrap();
}

fn described_here() {
    let host = CacheHost::detect();
    let (kernels, folder) = (stored(), CacheFolder::all());
    assert_eq!((kernels.len(), folder[0].is_shared), (KERNELS, false));
    for kernel in &kernels {
        assert!(kernel.driver.as_deref().is_some_and(|driver| driver.starts_with("CUDA 12.4")), "{kernel:?}");
        assert_eq!((kernel.target.as_str(), kernel.llvm.as_str()), ("cuda sm_90 PTX 8.4 for sm_90", ""));
        assert_eq!(kernel.misses(&host), []);
        assert!(kernel.disassembly().unwrap_err().message().contains("code of a GPU"));
    }
    assert!(kernels.iter().all(|kernel| kernel.is_reproduced(&host).unwrap()));
    let (maps, routines) = kernels.split_at(2);
    for kernel in maps {
        assert!(kernel.ir().is_ok() && kernel.hash().is_some() && kernel.routine.is_none());
    }
    for kernel in routines {
        assert!(kernel.ir().is_err() && kernel.hash().is_none() && kernel.routine.is_some());
    }
}

fn described_elsewhere(missing: &str) {
    let host = CacheHost::detect();
    let reason = if missing == "driver" { MissReason::Driver } else { MissReason::Processor };
    for kernel in stored() {
        // Both drivers get PTX 8.4, so only their versions differ.
        let misses = kernel.misses(&host);
        assert_eq!(misses.iter().map(|miss| miss.reason).collect::<Vec<_>>(), [reason], "{misses:?}");
    }
}

// one device: a GPU of a driver for tests
#[test]
fn kernels_of_gpus_from_disk_are_dumped_as_ptx() {
    let test = "stored::kernels_of_gpus_from_disk_are_dumped_as_ptx";
    let folder = Folder::new(test);
    let Some(_) = process(test, &folder, "") else { return work(FIRST) };
    let dumped = process(test, &folder, "JIT_DUMP=ptx,asm,ir").unwrap();
    assert_eq!(counts(&dumped), read(KERNELS));
    assert_eq!(dumped.matches(".target sm_90").count(), KERNELS, "{dumped}");
    assert!(!dumped.contains("cannot be shown"), "{dumped}");
}

// one device: a GPU of a driver for tests
#[test]
fn clearing_the_memory_level_finds_machine_code_on_disk_again() {
    let test = "stored::clearing_the_memory_level_finds_machine_code_on_disk_again";
    let folder = Folder::new(test);
    let Some(_) = process(test, &folder, "") else {
        let run = || {
            let x = with_device(FIRST, || Float::arange(100));
            assert_eq!((x * 3.0).sum().item().unwrap(), 14_850.0);
        };
        run();
        let before = jit::stats();
        jit::cache::clear();
        run();
        let after = jit::stats();
        assert_eq!((after.compiles, after.disk_hits), (before.compiles, before.disk_hits + 1));
        jit::cache::clear_level(CacheLevel::Disk);
        jit::cache::clear();
        run();
        assert_eq!(jit::stats().compiles, before.compiles + 1);
        return;
    };
}
