//! Failures of launches that have already returned, as `sync` and the buffers report them.
//!
//! A single test, since `sync` reports failures anywhere in the process.

use std::sync::Arc;

use jit_runtime::device::Device;
use jit_runtime::ir::{Access, Builder, CompareOp, Kernel, ReduceOp, Type};
use jit_runtime::launch::{AccessKind, Argument, CheckedAccess, Checks, Launch, Notes, launch_with_notes, sync};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, ErrorKind, Site};

const WIDTH: usize = 100_000;
const ELEMENTS: usize = 10;

/// `output = table[index]`, which notes an index beyond the table.
fn gather() -> Kernel {
    let mut builder = Builder::new();
    let [table, index] = [0, 1].map(|_| builder.buffer(Type::U32, Access::Read));
    let output = builder.buffer(Type::U32, Access::Write);
    let report = builder.buffer(Type::U64, Access::ReadWrite);
    let index = builder.load(index);
    let value = builder.gather(table, index, None);
    builder.store(output, value);
    let last = builder.constant(Type::U32, ELEMENTS as u64 - 1);
    let is_outside = builder.compare(CompareOp::Gt, index, last);
    let (first, note) = (builder.constant(Type::U32, 0), builder.cast(Type::U64, index));
    builder.scatter(Some(ReduceOp::Min), report, first, note, Some(is_outside));
    builder.finish()
}

fn launch_gather(index: &Arc<Buffer>, output: &Arc<Buffer>) -> Result<(), Error> {
    let table = Buffer::from_bytes(&[0; 4 * ELEMENTS])?;
    let arguments = vec![
        Argument::Buffer(table, ELEMENTS),
        Argument::Buffer(Arc::clone(index), WIDTH),
        Argument::Buffer(Arc::clone(output), WIDTH),
        Argument::Buffer(Buffer::from_bytes(&[u8::MAX; 8])?, 1),
    ];
    let site = Site::here();
    let access = CheckedAccess { kind: AccessKind::Gather, ty: Type::U32, width: ELEMENTS, is_signed: false, site };
    let notes =
        Notes { checks: Some(Checks { report: 3, accesses: vec![access], ..Checks::default() }), ..Notes::default() };
    let (device, kernel) = (Device::Interpreter, gather());
    let launch = Launch {
        device,
        kernel,
        width: WIDTH,
        reduce_block: None,
        arguments,
        label: "gather".into(),
        site: Some(site),
    };
    launch_with_notes(launch, notes)
}

#[test]
fn sync_reports_each_unreported_failure_once() {
    let mut indices = vec![3_u32; WIDTH];
    indices[WIDTH / 2] = 10;
    let bad = Buffer::from_bytes(bytemuck::cast_slice(&indices)).unwrap();
    let good = Buffer::from_bytes(bytemuck::cast_slice(&vec![9_u32; WIDTH])).unwrap();
    let [first, second, third] = [0; 3].map(|_| Buffer::alloc(4 * WIDTH).unwrap());
    launch_gather(&bad, &first).unwrap();
    launch_gather(&first, &second).unwrap();
    launch_gather(&good, &third).unwrap();

    let error = sync().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    assert!(error.to_string().contains("element 10 of an array of 10 u32 elements"), "{error}");
    assert_eq!(error.site().unwrap().file(), file!());
    sync().unwrap();
    for buffer in [&first, &second] {
        assert_eq!(
            buffer.wait().unwrap_err().kind(),
            ErrorKind::Launch,
            "values that were not computed remain a \
            failure"
        );
    }
    third.wait().unwrap();

    launch_gather(&bad, &third).unwrap();
    assert!(third.wait().is_err());
    sync().unwrap();

    std::thread::scope(|scope| {
        scope.spawn(|| launch_gather(&bad, &second).unwrap());
    });
    launch_gather(&bad, &third).unwrap();
    for _ in 0..2 {
        assert_eq!(sync().unwrap_err().kind(), ErrorKind::Launch, "two failures, of two threads");
    }
    sync().unwrap();
}
