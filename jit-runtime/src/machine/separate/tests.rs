//! Launches, library calls and copies on the machine with separate memory, compared with the host.

use super::*;
use crate::cancel;
use crate::current_device::DeviceScope;
use crate::device::with_device;
use crate::ir::random::{Case, Input, Options, Rng};
use crate::ir::{Access, BinaryOp, Builder, Kernel, Param, ReduceOp, Type, scalar};
use crate::launch::native::{self, Call, Convolution, MatMul, Prefix, Sort, Sorted, Sought};
use crate::launch::{self, Launch, launch};

const FIRST: Device = Device::Cuda(0);
const SECOND: Device = Device::Cuda(1);

fn separate(device: Device) -> &'static Separate {
    drop(Buffer::alloc(0));
    let Device::Cuda(number) = device else { panic!("{device} is no such machine") };
    open(number).unwrap().expect("tests have two");
    MACHINES[usize::from(number)].get().unwrap()
}

fn on(device: Device, bytes: &[u8]) -> Arc<Buffer> {
    let _scope = DeviceScope::enter(device);
    Buffer::from_bytes(bytes).unwrap()
}

fn words(device: Device, words: &[u32]) -> Arc<Buffer> {
    on(device, bytemuck::cast_slice(words))
}

fn read(buffer: &Buffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.size_bytes()];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

fn launch_on(device: Device, kernel: Kernel, width: usize, arguments: Vec<Argument>) -> Result<(), Error> {
    let (reduce_block, label, site) = (None, "separate".into(), None);
    launch(Launch { device, kernel, width, reduce_block, arguments, label, site })
}

/// `x += step`
fn add() -> Kernel {
    let mut b = Builder::new();
    let (x, step) = (b.buffer(Type::U32, Access::ReadWrite), b.scalar_param(Type::U32));
    let (before, step) = (b.load(x), b.scalar(step));
    let sum = b.binary(BinaryOp::Add, before, step);
    b.store(x, sum);
    b.finish()
}

/// `y = x`
fn copy() -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.buffer(Type::U32, Access::Read), b.buffer(Type::U32, Access::Write));
    let value = b.load(x);
    b.store(y, value);
    b.finish()
}

#[test]
fn contents_are_reached_by_copies_alone() {
    let space = &separate(SECOND).space;
    let before = space.used_bytes();
    let (to_host, from_host) = space.copies();
    let buffer = on(SECOND, &[1, 2, 3, 4]);
    assert_eq!((buffer.device(), buffer.address() >> 56, buffer.address() % 256), (SECOND, 0x5e, 0));
    buffer.write(1, &[7, 8]).unwrap();
    assert_eq!(space.copies(), (to_host, from_host + 2));
    let lent = buffer.bytes().unwrap();
    assert_eq!((&lent[..], lent.as_ptr() as usize % 64), (&[1, 7, 8, 4][..], 0), "a copy, aligned as buffers are");
    buffer.write(0, &[9]).unwrap();
    assert_eq!(lent[..], [1, 7, 8, 4], "the copy is of its own");
    assert_eq!(space.copies(), (to_host + 1, from_host + 3));
    let mut two = [0; 2];
    buffer.read(2, &mut two).unwrap();
    assert_eq!(two, [8, 4]);
    assert!(buffer.read(3, &mut two).is_err() && buffer.write(3, &two).is_err(), "beyond the end");
    assert_eq!(space.used_bytes(), before + 4);
    drop((buffer, lent));
    assert_eq!(space.used_bytes(), before);
}

#[test]
fn memory_is_zeroed_repeated_and_copied_between_machines() {
    let zeros = with_device(FIRST, || Buffer::alloc(1000).unwrap());
    assert_eq!(read(&zeros), [0; 1000]);
    let element: Vec<u8> = (0..7).collect();
    let repeated = with_device(FIRST, || Buffer::repeated(&element, 300_000).unwrap());
    assert!(read(&repeated) == element.repeat(300_000), "more than is copied at once");
    let machines = [Device::Cpu, Device::Interpreter, FIRST, SECOND];
    for (from, to) in machines.into_iter().flat_map(|from| machines.map(|to| (from, to))) {
        let buffer = on(from, &[3, 1, 4]);
        let _scope = DeviceScope::enter(to);
        let (copy, here) = (buffer.copied().unwrap(), buffer.on_current_device().unwrap());
        assert_eq!((read(&copy), copy.device()), (vec![3, 1, 4], to));
        let is_shared = from == to || Device::HOST.contains(&from) && Device::HOST.contains(&to);
        assert_eq!((Arc::ptr_eq(&buffer, &here), read(&here)), (is_shared, vec![3, 1, 4]), "{from} to {to}");
        assert_eq!((buffer.is_accessible(), buffer.adopt()), (is_shared, is_shared));
        assert_eq!(buffer.device(), if is_shared { to } else { from });
    }
    let error = with_device(FIRST, || Buffer::alloc(1 << 40)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

/// Launches a random kernel and returns the final contents of its buffers.
fn run_case(case: &Case, device: Device) -> Vec<Vec<u8>> {
    let bind = |(input, param): (&Input, &Param)| match input {
        Input::Buffer(bytes) => Argument::Buffer(on(device, bytes), bytes.len() / param.ty().size_bytes()),
        Input::Scalar(bits) => Argument::Scalar(*bits),
    };
    let arguments: Vec<Argument> = case.inputs.iter().zip(&case.kernel.params).map(bind).collect();
    launch_on(device, case.kernel.clone(), case.width, arguments.clone()).unwrap();
    let contents = arguments.iter().map(|argument| match argument {
        Argument::Buffer(buffer, _) => read(buffer),
        Argument::Scalar(_) => Vec::new(),
    });
    contents.collect()
}

#[test]
fn random_kernels_give_what_they_give_on_the_host() {
    let few = |seed| Case::new(seed, &Options { transcendental: true, ..Options::structured() });
    let many = |seed| Case::new(seed, &Options { width: Some(40_000), ..Options::structured() });
    for case in (300..340).map(few).chain((400..405).map(many)) {
        let expected = run_case(&case, Device::Interpreter);
        case.compare(&expected, &run_case(&case, FIRST)).unwrap();
    }
}

#[test]
fn launches_follow_one_another_and_the_host_waits_for_them() {
    for width in [100, 50_000] {
        let x = words(FIRST, &vec![5; width]);
        let copies: Vec<Arc<Buffer>> = (0..10).map(|_| words(FIRST, &vec![0; width])).collect();
        for (step, to) in (1..).zip(&copies) {
            let x = Argument::Buffer(Arc::clone(&x), width);
            launch_on(FIRST, add(), width, vec![x.clone(), Argument::Scalar(step)]).unwrap();
            launch_on(FIRST, copy(), width, vec![x, Argument::Buffer(Arc::clone(to), width)]).unwrap();
        }
        // The host overwrites what later launches have read by then.
        x.write(0, &[0; 4]).unwrap();
        let mut expected = 5;
        for (step, to) in (1..).zip(&copies) {
            expected += step;
            let (bytes, word) = (read(to), u32::to_ne_bytes(expected));
            assert!(bytes.chunks(4).all(|found| found == word), "copy {step}");
        }
        assert_eq!(read(&x)[..8], [[0; 4], u32::to_ne_bytes(expected)].concat());
    }
}

#[test]
fn a_failure_reaches_what_depends_on_it_and_nothing_else() {
    let (bad, good) = (words(FIRST, &[0; 4]), words(FIRST, &[1; 4]));
    bad.accesses().fail(&crate::memory::failure::Failure::of_error(&Error::new(ErrorKind::Launch, "on purpose")));
    let read_bad = words(FIRST, &[0; 4]);
    let bind = |buffer: &Arc<Buffer>| Argument::Buffer(Arc::clone(buffer), 4);
    launch_on(FIRST, copy(), 4, vec![bind(&bad), bind(&read_bad)]).unwrap();
    launch_on(FIRST, add(), 4, vec![bind(&good), Argument::Scalar(1)]).unwrap();
    assert_eq!(read_bad.wait().unwrap_err().message(), "on purpose");
    assert_eq!(read(&good), [2_u32; 4].map(u32::to_ne_bytes).concat());
    // What is written again is valid again.
    launch_on(FIRST, copy(), 4, vec![bind(&good), bind(&read_bad)]).unwrap();
    assert_eq!(read(&read_bad), read(&good));
}

#[test]
fn a_launch_that_is_cancelled_has_failed() {
    let x = words(FIRST, &[0; 1 << 16]);
    crate::cancel::with_timeout(std::time::Duration::ZERO, || {
        let _operation = cancel::begin();
        // The limit is over before the launch begins.
        while cancel::check_loop(Site::here()).is_ok() {
            std::thread::yield_now();
        }
        launch_on(FIRST, add(), 1 << 16, vec![Argument::Buffer(Arc::clone(&x), 1 << 16), Argument::Scalar(1)]).unwrap();
    });
    assert_eq!(x.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn memory_of_another_machine_is_refused() {
    let (here, there) = (words(FIRST, &[0; 4]), words(Device::Cpu, &[0; 4]));
    for (device, x, y) in [(FIRST, &here, &there), (Device::Cpu, &here, &there), (SECOND, &here, &here)] {
        let arguments = vec![Argument::Buffer(Arc::clone(x), 4), Argument::Buffer(Arc::clone(y), 4)];
        let error = launch_on(device, copy(), 4, arguments).unwrap_err().to_string();
        assert!(error.contains("is in memory of `c") && error.contains(&format!("code of `{device}`")), "{error}");
        let operand = |buffer: &Arc<Buffer>| Operand { buffer: Arc::clone(buffer), ty: Type::U32, len: 4 };
        let sort = Sort { is_descending: false, row: 4, gives: Sorted::Values };
        let (inputs, outputs) = (vec![operand(x)], vec![operand(y)]);
        let call = native::Launch { device, call: Call::Sort(sort), inputs, outputs, site: None };
        assert!(native::launch(call).unwrap_err().to_string().contains("not accessible"));
    }
    let mask = Operand { buffer: on(SECOND, &[1, 0]), ty: Type::Bool, len: 2 };
    assert!(native::compress(&mask, FIRST, None).unwrap_err().to_string().contains("not accessible on `cuda:0`"));
}

/// An operand of random elements.
fn random_operand(device: Device, ty: Type, len: usize, rng: &mut Rng) -> Operand {
    let bits = |rng: &mut Rng| match ty {
        Type::F32 => scalar::cast(Type::I32, ty, rng.below(2000) as u64),
        _ => rng.below(2000) as u64,
    };
    let bytes: Vec<u8> = (0..len).flat_map(|_| bits(rng).to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
    Operand { buffer: on(device, &bytes), ty, len }
}

/// The type of an operand's elements, and their number.
type Shape = (Type, usize);

/// The contents of the outputs of a call.
fn call_on(device: Device, call: Call, inputs: &[Shape], outputs: &[Shape]) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(7);
    let inputs = inputs.iter().map(|&(ty, len)| random_operand(device, ty, len, &mut rng)).collect();
    let outputs: Vec<Operand> =
        with_device(device, || outputs.iter().map(|&(ty, len)| Operand::alloc(ty, len).unwrap()).collect());
    native::launch(native::Launch { device, call, inputs, outputs: outputs.clone(), site: None }).unwrap();
    outputs.iter().map(|output| read(&output.buffer)).collect()
}

#[test]
fn library_calls_give_what_they_give_on_the_host() {
    let sort = |gives, row| Call::Sort(Sort { is_descending: row == 7, row, gives });
    let prefix = |restart| Call::Prefix(Prefix { op: ReduceOp::Add, is_exclusive: true, is_reverse: false, restart });
    let product = MatMul::new(17, 33, 9);
    let [a, b, c] = product.lens().unwrap();
    let (input, kernel, result) = ([1, 9, 8], [1, 3, 2], [1, 7, 7]);
    let windows = Convolution { channels: 3, results: 4, input, kernel, result, ..Convolution::new(Sought::Kernel) };
    let [x, y, z] = windows.operand_lens().unwrap();
    for len in [0, 1, 1000, 70_000] {
        let (float, word) = ((Type::F32, len), (Type::U32, len));
        let calls: [(Call, &[Shape], &[Shape]); 7] = [
            (Call::Fill(0x1234_5678), &[], &[word]),
            (prefix(usize::MAX), &[float], &[float]),
            (prefix(13), &[word], &[word]),
            (sort(Sorted::Both, 1 << 20), &[float], &[float, word]),
            (sort(Sorted::Positions, 7), &[word], &[word]),
            (Call::MatMul(product), &[(Type::F32, a), (Type::F32, b)], &[(Type::F32, c)]),
            (Call::Convolve(windows), &[(Type::F32, x), (Type::F32, y)], &[(Type::F32, z)]),
        ];
        for (call, inputs, outputs) in calls {
            let expected = call_on(Device::Cpu, call, inputs, outputs);
            assert!(call_on(FIRST, call, inputs, outputs) == expected, "{call:?} of {len} elements");
        }
        let mask: Vec<u8> = (0..len).map(|position| u8::from(position * position % 7 < 3)).collect();
        let listed = [Device::Cpu, FIRST].map(|device| {
            let mask = Operand { buffer: on(device, &mask), ty: Type::Bool, len };
            let positions = with_device(device, || native::compress(&mask, device, None)).unwrap();
            assert_eq!(positions.buffer.device(), device);
            (positions.len, read(&positions.buffer))
        });
        assert_eq!(listed[0], listed[1]);
    }
}

#[test]
fn waiting_for_all_launches_includes_those_of_every_machine() {
    let x = words(FIRST, &[0; 1 << 16]);
    launch_on(FIRST, add(), 1 << 16, vec![Argument::Buffer(Arc::clone(&x), 1 << 16), Argument::Scalar(1)]).unwrap();
    let _ = launch::sync();
    assert!(x.is_idle());
}

#[test]
fn there_are_as_many_as_the_environment_says() {
    let devices: Vec<Device> = crate::device::devices().iter().map(|info| info.device).collect();
    assert_eq!(devices, [Device::Cpu, Device::Interpreter, FIRST, SECOND]);
    let capabilities = crate::device::capabilities(FIRST).unwrap();
    assert!(!capabilities.shares_host_memory && !capabilities.runs_on_caller);
    let error = crate::device::check_usable(Device::Cuda(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.message().contains("`cuda:2`"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_machine_that_another_process_opened_is_refused_and_what_it_had_to_do_has_failed() {
    const WIDTH: usize = 1 << 20;
    let x = words(FIRST, &[0; WIDTH]);
    for _ in 0..10 {
        let arguments = vec![Argument::Buffer(Arc::clone(&x), WIDTH), Argument::Scalar(1)];
        launch_on(FIRST, add(), WIDTH, arguments).unwrap();
    }
    let is_refused = || {
        let made = with_device(FIRST, || Buffer::alloc(4));
        let is_refused = made.is_err_and(|error| error.message().contains("before the process was forked"));
        is_refused && x.wait().is_err_and(|error| error.message().contains("was forked"))
    };
    assert!(crate::machine::fork::tests::holds_in_child(is_refused));
    assert_eq!(read(&x)[..4], 10_u32.to_ne_bytes());
}
