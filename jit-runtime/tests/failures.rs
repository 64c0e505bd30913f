//! Failures of launches that had returned already, as `sync` and the buffers report them.
//!
//! One test, since `sync` reports what failed anywhere in the process. The interpreter checks indices in debug builds only.
#![cfg(debug_assertions)]

use std::panic::Location;
use std::sync::Arc;

use jit_runtime::device::Device;
use jit_runtime::ir::{Access, Builder, Kernel, Type};
use jit_runtime::launch::{Argument, Launch, launch, sync};
use jit_runtime::memory::Buffer;
use jit_runtime::{Error, ErrorKind};

const WIDTH: usize = 100_000;

/// `output = table[index]`
fn gather() -> Kernel {
    let mut builder = Builder::new();
    let [table, index] = [0, 1].map(|_| builder.buffer(Type::U32, Access::Read));
    let output = builder.buffer(Type::U32, Access::Write);
    let index = builder.load(index);
    let value = builder.gather(table, index, None);
    builder.store(output, value);
    builder.finish()
}

fn launch_gather(index: &Arc<Buffer>, output: &Arc<Buffer>) -> Result<(), Error> {
    let table = Buffer::from_bytes(&[0; 40])?;
    let arguments = vec![
        Argument::Buffer(table, 10),
        Argument::Buffer(Arc::clone(index), WIDTH),
        Argument::Buffer(Arc::clone(output), WIDTH),
    ];
    let (device, kernel, site) = (Device::Interpreter, gather(), Some(Location::caller()));
    launch(Launch { device, kernel, width: WIDTH, reduce_block: None, arguments, label: "gather", site })
}

#[test]
fn sync_reports_a_failure_that_nobody_has_seen_and_each_only_once() {
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
    assert!(error.to_string().contains("index 10 is out of range of a buffer of 10 u32 elements"), "{error}");
    assert_eq!(error.site().unwrap().file(), file!());
    sync().unwrap();
    for buffer in [&first, &second] {
        assert_eq!(buffer.wait().unwrap_err().kind(), ErrorKind::Launch, "what was not computed stays a failure");
    }
    third.wait().unwrap();

    launch_gather(&bad, &third).unwrap();
    assert!(third.wait().is_err());
    sync().unwrap();
}
