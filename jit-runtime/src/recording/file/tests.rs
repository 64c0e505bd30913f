//! Recordings read back, and nothing else does.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{FileKind, SavedRecordings, ToSave, sealed_again};
use crate::Site;
use crate::config::Device;
use crate::ir::{Type, parse};
use crate::launch::{self, Argument, Launch, native};
use crate::memory::Buffer;
use crate::recording::{
    Guard, HostMade, Recorder, Recording, Relation, ReplayInputs, Replayed, Scalar, SizeExpr, SizeOp, Sizes,
};

const ADD: &str = "kernel(p0: read u32, p1: scalar u32, p2: write u32) {
  v0: u32 = load p0
  v1: u32 = scalar p1
  v2: u32 = add v0, v1
  store p2, v2
}";

/// A recording of an input, to whose elements a scalar is added, and whose sums up to each element are returned, with
/// the number of elements as a size and a guard.
fn recording() -> Recording {
    let mut sizes = Sizes::new();
    let width = sizes.push(SizeExpr::Input(0)).unwrap();
    let one = sizes.push(SizeExpr::Constant(1)).unwrap();
    sizes.push(SizeExpr::Binary(SizeOp::Add, width, one)).unwrap();
    sizes.require(Guard { relation: Relation::Ge, left: width, right: one, site: Site::here() });
    let mut recorder = Recorder::new(Device::Interpreter);
    let input = Buffer::from_bytes(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let [sum, scanned] = [(); 2].map(|()| Buffer::alloc(8).unwrap());
    recorder.input(&input, Type::U32, width);
    let number = recorder.scalar();
    recorder.made(&sum, Type::U32, width);
    let arguments = vec![Argument::Buffer(input, 2), Argument::Scalar(5), Argument::Buffer(Arc::clone(&sum), 2)];
    let kernel = parse(ADD).unwrap();
    let (device, label) = (Device::Interpreter, "add".into());
    let launch = Launch { device, kernel, width: 2, reduce_block: None, arguments, label, site: None };
    let prepared = launch::prepare(launch, launch::Notes::default()).unwrap();
    recorder.kernel(&prepared, (width, None), &[(1, Scalar::Input(number))]).unwrap();
    recorder.made(&scanned, Type::U32, width);
    let operand = |buffer: &Arc<Buffer>| native::Operand { buffer: Arc::clone(buffer), ty: Type::U32, len: 2 };
    let prefix =
        native::Prefix { op: crate::ir::ReduceOp::Add, is_exclusive: false, is_reverse: false, restart: usize::MAX };
    let call = native::Call::Prefix(prefix);
    recorder.native(call, &[], None, (&[operand(&sum)], &[operand(&scanned)]), Some(Site::here())).unwrap();
    let outputs = [&sum, &scanned].map(|buffer| recorder.slot(buffer).unwrap());
    recorder.finish(sizes, outputs.to_vec()).unwrap()
}

fn saved(recording: &Recording) -> Vec<u8> {
    let entries = [(b"key".to_vec(), recording)];
    let saved = ToSave { kind: FileKind::Executor, name: "add", about: b"all", entries: &entries };
    saved.to_bytes().unwrap()
}

fn replay(recording: &Recording, values: &[u32], scalar: u64) -> Option<Vec<Vec<u32>>> {
    let buffers = [Buffer::from_bytes(bytemuck::cast_slice(values)).unwrap()];
    let given = ReplayInputs { buffers: &buffers, scalars: &[scalar], sizes: &[values.len()], donated: &[false] };
    let (mut outputs, mut sizes) = (SmallVec::new(), Vec::new());
    match recording.replay(given, &mut outputs, &mut sizes).unwrap() {
        Replayed::Rejected(_) => None,
        Replayed::Done => {
            let read = |buffer: &Arc<Buffer>| {
                let mut elements = vec![0_u32; buffer.size_bytes() / 4];
                buffer.read(0, bytemuck::cast_slice_mut(&mut elements)).unwrap();
                elements
            };
            Some(outputs.iter().map(read).collect())
        }
    }
}

#[test]
fn a_recording_reads_back_and_is_replayed_at_other_sizes() {
    let bytes = saved(&recording());
    let read = SavedRecordings::from_untrusted_bytes(&bytes, Device::Interpreter).unwrap();
    assert_eq!((read.kind, &*read.name, &read.about[..]), (FileKind::Executor, "add", &b"all"[..]));
    assert_eq!((read.entries.len(), &read.entries[0].about[..]), (1, &b"key"[..]));
    let again = &read.entries[0].recording;
    assert_eq!(saved(again), bytes, "each recording has one form");
    for count in [1_u32, 2, 3, 1000] {
        let values: Vec<u32> = (0..count).collect();
        let sums: Vec<u32> = values.iter().map(|value| value + 7).collect();
        let scanned = sums.iter().scan(0, |sum, value| {
            *sum += value;
            Some(*sum)
        });
        let wanted = vec![sums.clone(), scanned.collect()];
        for _ in 0..6 {
            assert_eq!(replay(again, &values, 7), Some(wanted.clone()), "{count}");
        }
    }
    assert_eq!(replay(again, &[], 7), None, "the guard");
}

#[test]
fn every_flipped_byte_and_every_truncation_is_refused() {
    let bytes = saved(&recording());
    let refused = |bytes: &[u8]| SavedRecordings::from_untrusted_bytes(bytes, Device::Interpreter).is_err();
    for at in 0..bytes.len() {
        for bits in [1, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= bits;
            assert!(refused(&flipped), "byte {at}");
        }
        assert!(refused(&bytes[..at]), "{at} bytes");
    }
}

/// What replays is replayed: it returns something, or an error.
fn read_and_replay(bytes: &[u8]) -> bool {
    let Ok(read) = SavedRecordings::from_untrusted_bytes(bytes, Device::Interpreter) else { return false };
    for entry in &read.entries {
        let recording = &entry.recording;
        if recording.inputs() > 4 || recording.scalars() > 4 {
            continue;
        }
        let buffers: Vec<_> = (0..recording.inputs()).map(|_| Buffer::from_bytes(&[1; 16]).unwrap()).collect();
        let (scalars, donated) = (vec![3; recording.scalars() as usize], vec![false; buffers.len()]);
        let given = ReplayInputs { buffers: &buffers, scalars: &scalars, sizes: &[4, 4, 4], donated: &donated };
        let _ = recording.replay(given, &mut SmallVec::new(), &mut Vec::new());
    }
    true
}

// one device: files are read, whatever runs them
// rows: N02
#[test]
fn tampered_bytes_with_a_right_checksum_are_an_error_or_another_recording() {
    let bytes = saved(&recording());
    let (mut errors, mut others) = (0, 0);
    for at in super::format::HEADER_BYTES..bytes.len() {
        for bits in [1, 2, 3, 4, 0x10, 0x7f, 0x80, 0xff] {
            let mut tampered = bytes.clone();
            tampered[at] ^= bits;
            if read_and_replay(&sealed_again(&tampered)) { others += 1 } else { errors += 1 }
        }
        assert!(!read_and_replay(&sealed_again(&bytes[..at])), "{at} bytes");
    }
    assert!(errors > 500 && others > 20, "{errors} {others}");
}

#[test]
fn a_recording_that_calls_the_host_is_not_saved() {
    let mut sizes = Sizes::new();
    let found = sizes.push(SizeExpr::Count(0)).unwrap();
    let mut recorder = Recorder::new(Device::Interpreter);
    let output = Buffer::from_bytes(&[1]).unwrap();
    let call = Arc::new(|_| Ok(Some(HostMade { buffers: vec![Buffer::from_bytes(&[1])?], counts: vec![1] })));
    let site = Site::here();
    recorder.host(call, &[], &[(Type::U8, Arc::clone(&output), found)], 0, site).unwrap();
    let slot = recorder.slot(&output).unwrap();
    let recording = recorder.finish(sizes, vec![slot]).unwrap();
    let entries = [(Vec::new(), &recording)];
    let error = ToSave { kind: FileKind::Frozen, name: "f", about: &[], entries: &entries }.to_bytes().unwrap_err();
    assert!(error.message().contains("calls the host cannot be saved"), "{error}");
    assert_eq!(error.site(), Some(site));
}
