//! Tensors of DLPack from and for other libraries, which this file stands in for.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use half::{bf16, f16};
use jit::interop::dlpack::abi::{
    CPU, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION,
};
use jit::interop::dlpack::{self, ManagedTensor, Transfer};
use jit::prelude::*;
use jit::{Element, ErrorKind};
use jit_runtime::ir::Type;

/// Aligned memory of another library, in whose first page everything fits.
#[repr(align(4096))]
struct Memory([u8; 4096]);

/// A tensor of another library.
struct Theirs {
    memory: Box<Memory>,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    freed: Arc<AtomicUsize>,
}

struct Described {
    dtype: DLDataType,
    byte_offset: usize,
    device: DLDevice,
    version: DLPackVersion,
}

impl Default for Described {
    fn default() -> Self {
        let device = DLDevice { device_type: CPU, device_id: 0 };
        Described { dtype: DLDataType::of(Type::F32), byte_offset: 0, device, version: VERSION }
    }
}

fn theirs(bytes: &[u8], shape: &[i64], strides: Option<&[i64]>, freed: &Arc<AtomicUsize>) -> Theirs {
    let mut memory = Box::new(Memory([0; 4096]));
    memory.0[..bytes.len()].copy_from_slice(bytes);
    Theirs { memory, shape: shape.to_vec(), strides: strides.map(<[i64]>::to_vec), freed: Arc::clone(freed) }
}

unsafe extern "C" fn free(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: `managed` made both boxes.
    unsafe {
        let owner = Box::from_raw((*tensor).manager_ctx.cast::<Theirs>());
        owner.freed.fetch_add(1, Ordering::SeqCst);
        drop(Box::from_raw(tensor));
    }
}

unsafe extern "C" fn free_legacy(tensor: *mut DLManagedTensor) {
    // SAFETY: `legacy` made both boxes.
    unsafe {
        let owner = Box::from_raw((*tensor).manager_ctx.cast::<Theirs>());
        owner.freed.fetch_add(1, Ordering::SeqCst);
        drop(Box::from_raw(tensor));
    }
}

fn tensor_of(owner: &mut Theirs, described: &Described) -> DLTensor {
    DLTensor {
        data: owner.memory.0.as_mut_ptr().cast::<c_void>(),
        device: described.device,
        ndim: owner.shape.len() as i32,
        dtype: described.dtype,
        shape: owner.shape.as_mut_ptr(),
        strides: owner.strides.as_mut().map_or(std::ptr::null_mut(), |strides| strides.as_mut_ptr()),
        byte_offset: described.byte_offset as u64,
    }
}

fn raw(owner: Theirs, described: &Described) -> *mut DLManagedTensorVersioned {
    let mut owner = Box::new(owner);
    let dl_tensor = tensor_of(&mut owner, described);
    let (version, manager_ctx) = (described.version, Box::into_raw(owner).cast::<c_void>());
    Box::into_raw(Box::new(DLManagedTensorVersioned { version, manager_ctx, deleter: Some(free), flags: 0, dl_tensor }))
}

fn managed(owner: Theirs, described: &Described) -> ManagedTensor {
    // SAFETY: the tensor describes the memory of its owner, which nobody writes.
    unsafe { ManagedTensor::from_raw(raw(owner, described)).unwrap() }
}

fn bytes_of<T: Element>(values: &[T]) -> Vec<u8> {
    T::as_bytes(values).to_vec()
}

fn is_kept<T: Element>(values: [T; 4]) {
    let tensor = Tensor::from_array(Array::from(values).make_opaque(), [2, 2]);
    let lent = dlpack::export(&tensor).unwrap();
    assert_eq!((lent.dtype().ty(), lent.shape(), lent.strides()), (Some(T::TYPE), &[2, 2][..], Some(&[2, 1][..])));
    assert!(lent.is_read_only());
    let (back, _) = dlpack::import::<T>(lent).unwrap();
    assert_eq!((back.shape(), back.to_vec().unwrap()), (&[2, 2][..], values.to_vec()));
    let legacy = dlpack::export(&tensor).unwrap().into_raw_legacy();
    // SAFETY: it is the tensor of the line above.
    let (back, _) = dlpack::import::<T>(unsafe { ManagedTensor::from_raw_legacy(legacy).unwrap() }).unwrap();
    assert_eq!(back.to_vec().unwrap(), values);
    let freed = Arc::default();
    let described = Described { dtype: DLDataType::of(T::TYPE), ..Described::default() };
    let (imported, transfer) =
        dlpack::import::<T>(managed(theirs(&bytes_of(&values), &[4], None, &freed), &described)).unwrap();
    assert_eq!((imported.to_vec().unwrap(), transfer), (values.to_vec(), Transfer::InPlace));
    drop(imported);
    assert_eq!(freed.load(Ordering::SeqCst), 1);
}

#[test]
fn tensors_of_every_type_are_kept_in_both_directions() {
    is_kept([true, false, false, true]);
    is_kept([i8::MIN, -1, 0, i8::MAX]);
    is_kept([i16::MIN, -1, 0, i16::MAX]);
    is_kept([i32::MIN, -1, 0, i32::MAX]);
    is_kept([i64::MIN, -1, 0, i64::MAX]);
    is_kept([0, 1, 2, u8::MAX]);
    is_kept([0, 1, 2, u16::MAX]);
    is_kept([0, 1, 2, u32::MAX]);
    is_kept([0, 1, 2, u64::MAX]);
    is_kept([f16::MIN, f16::INFINITY, f16::ZERO, f16::ONE]);
    is_kept([bf16::MIN, bf16::INFINITY, bf16::ZERO, bf16::ONE]);
    is_kept([f32::MIN, f32::INFINITY, -0.0, 1.5]);
    is_kept([f64::MIN, f64::INFINITY, -0.0, 1.5]);
}

#[test]
fn an_export_is_the_memory_of_the_array() {
    let tensor = Tensor::from_array((Float::arange(100) * 2.0).make_opaque(), [100]);
    tensor.to_vec().unwrap();
    let view = tensor.array().view().unwrap();
    let lent = dlpack::export(&tensor).unwrap();
    assert_eq!(lent.data(), view.as_ptr().cast());
    drop(tensor);
    let (back, transfer) = dlpack::import::<f32>(lent).unwrap();
    assert_eq!(transfer, Transfer::InPlace);
    drop(view);
    assert_eq!(back.array().sum().item().unwrap(), 9900.0);
}

#[test]
fn strides_and_offsets_are_followed() {
    let values: Vec<f32> = (0..64).map(|x| x as f32).collect();
    let import = |shape: &[i64], strides: Option<&[i64]>, byte_offset| {
        let freed = Arc::default();
        let owner = theirs(&bytes_of(&values), shape, strides, &freed);
        let described = Described { byte_offset, ..Described::default() };
        let (tensor, transfer) = dlpack::import::<f32>(managed(owner, &described)).unwrap();
        let copied = matches!(transfer, Transfer::Copied(_));
        assert_eq!(freed.load(Ordering::SeqCst), usize::from(copied), "a copy frees the original");
        (tensor.to_vec().unwrap(), transfer)
    };
    assert_eq!(import(&[2, 3], None, 0), (vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], Transfer::InPlace));
    assert_eq!(import(&[2, 2], Some(&[2, 1]), 64), (vec![16.0, 17.0, 18.0, 19.0], Transfer::InPlace));
    assert_eq!(import(&[1, 2], Some(&[77, 1]), 0).1, Transfer::InPlace, "the stride of one element is not used");
    let is_copied = |(values, transfer): (Vec<f32>, Transfer), reason: &str| {
        assert!(transfer.to_string().contains(reason), "{transfer}");
        values
    };
    assert_eq!(is_copied(import(&[2, 2], None, 4), "multiple of 64"), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(is_copied(import(&[2, 3], Some(&[1, 2]), 0), "row-major"), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(is_copied(import(&[3], Some(&[0]), 8), "row-major"), [2.0; 3]);
    assert_eq!(is_copied(import(&[3], Some(&[-2]), 40), "row-major"), [10.0, 8.0, 6.0]);
    assert_eq!(is_copied(import(&[0, 3], Some(&[1, 1]), 0), "no elements"), [0.0; 0]);
    assert_eq!(import(&[], None, 0).0, [0.0]);
    let end = is_copied(import(&[16], None, 4096 - 64), "may not be readable");
    assert_eq!(end, [0.0; 16]);
}

#[test]
fn memory_of_others_is_never_written() {
    let freed = Arc::default();
    let owner = theirs(&bytes_of(&[1.0f32, 2.0, 3.0, 4.0]), &[4], None, &freed);
    let pointer: *const f32 = owner.memory.0.as_ptr().cast();
    let (tensor, transfer) = dlpack::import::<f32>(managed(owner, &Described::default())).unwrap();
    assert_eq!(transfer, Transfer::InPlace);
    let mut array = tensor.into_array();
    array.scatter(Float::from(9.0), &UInt::from([1]));
    jit::eval(&array).unwrap();
    if freed.load(Ordering::SeqCst) == 0 {
        // SAFETY: it is not freed.
        assert_eq!(unsafe { pointer.add(1).read() }, 2.0);
    }
    assert_eq!(array.to_vec().unwrap(), [1.0, 9.0, 3.0, 4.0]);
    jit::sync().unwrap();
    drop(array);
    assert_eq!(freed.load(Ordering::SeqCst), 1);
}

#[freeze]
fn add_to(x: &mut Float) {
    x.scatter_add(Float::from(1.0), &UInt::from([0]));
}

#[test]
fn frozen_functions_do_not_write_it_either() {
    for _ in 0..3 {
        let freed: Arc<AtomicUsize> = Arc::default();
        let owner = theirs(&bytes_of(&[1.0f32, 2.0]), &[2], None, &freed);
        let pointer: *const f32 = owner.memory.0.as_ptr().cast();
        let (tensor, _) = dlpack::import::<f32>(managed(owner, &Described::default())).unwrap();
        let mut array = tensor.array().clone();
        drop(tensor);
        add_to(&mut array);
        assert_eq!(array.to_vec().unwrap(), [2.0, 2.0]);
        if freed.load(Ordering::SeqCst) == 0 {
            // SAFETY: it is not freed.
            assert_eq!(unsafe { pointer.read() }, 1.0);
        }
        jit::sync().unwrap();
        drop(array);
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn deleters_run_once_on_any_thread() {
    let freed: Arc<AtomicUsize> = Arc::default();
    let values = bytes_of(&[1.0f32; 8]);
    drop(managed(theirs(&values, &[8], None, &freed), &Described::default()));
    assert_eq!(freed.load(Ordering::SeqCst), 1);
    let (tensor, _) =
        dlpack::import::<f32>(managed(theirs(&values, &[8], None, &freed), &Described::default())).unwrap();
    let sum = tensor.array().sum();
    let clone = tensor.clone();
    drop(tensor);
    std::thread::spawn(move || drop(clone)).join().unwrap();
    assert_eq!(freed.load(Ordering::SeqCst), 1, "the sum is not computed yet");
    assert_eq!(sum.item().unwrap(), 8.0);
    jit::sync().unwrap();
    drop(sum);
    assert_eq!(freed.load(Ordering::SeqCst), 2);
    let round = managed(theirs(&values, &[8], None, &freed), &Described::default()).into_raw_legacy();
    // SAFETY: it is the tensor of the line above.
    let round = unsafe { ManagedTensor::from_raw_legacy(round).unwrap() }.into_raw();
    // SAFETY: likewise.
    let round = unsafe { ManagedTensor::from_raw(round).unwrap() };
    assert_eq!((round.shape(), freed.load(Ordering::SeqCst)), (&[8][..], 2));
    drop(round);
    assert_eq!(freed.load(Ordering::SeqCst), 3);
    let mut owner = Box::new(theirs(&values, &[8], None, &freed));
    let dl_tensor = tensor_of(&mut owner, &Described::default());
    let manager_ctx = Box::into_raw(owner).cast::<c_void>();
    let legacy = Box::into_raw(Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(free_legacy) }));
    // SAFETY: the tensor describes the memory of its owner, which nobody writes.
    let (tensor, _) = dlpack::import::<f32>(unsafe { ManagedTensor::from_raw_legacy(legacy).unwrap() }).unwrap();
    assert_eq!(tensor.to_vec().unwrap(), [1.0; 8]);
    drop(tensor);
    assert_eq!(freed.load(Ordering::SeqCst), 4);
}

#[test]
fn tensors_that_arrays_cannot_have_are_refused_and_freed() {
    let freed: Arc<AtomicUsize> = Arc::default();
    let mut count = 0;
    let mut refused = |described: Described, shape: &[i64], part: &str| {
        let tensor = managed(theirs(&[0; 64], shape, None, &freed), &described);
        let error = dlpack::import::<f32>(tensor).unwrap_err();
        count += 1;
        assert!(error.to_string().contains(part), "`{part}` is not in: {error}");
        assert_eq!((error.kind(), freed.load(Ordering::SeqCst)), (ErrorKind::InvalidArgument, count));
    };
    let of_type = |code, bits, lanes| Described { dtype: DLDataType { code, bits, lanes }, ..Described::default() };
    refused(of_type(0, 32, 1), &[2], "type i32, not f32");
    refused(of_type(2, 32, 4), &[2], "type float32 × 4, not f32");
    refused(of_type(5, 64, 1), &[2], "type complex64");
    refused(of_type(99, 3, 1), &[2], "type 99 of 3 bits");
    let device = DLDevice { device_type: 2, device_id: 1 };
    refused(Described { device, ..Described::default() }, &[2], "on the device 1 of type 2");
    refused(Described::default(), &[-1], "shape [-1]");
    refused(Described::default(), &[1 << 40, 1 << 40, 0], "at most 4294967295 elements");
    let version = DLPackVersion { major: 2, minor: 0 };
    let future = raw(theirs(&[0; 64], &[2], None, &freed), &Described { version, ..Described::default() });
    // SAFETY: as in `managed`.
    let error = unsafe { ManagedTensor::from_raw(future) }.unwrap_err();
    assert!(error.to_string().contains("version 2.0"), "{error}");
    assert_eq!(freed.load(Ordering::SeqCst), count + 1);
    // SAFETY: null is allowed.
    assert!(unsafe { ManagedTensor::from_raw(std::ptr::null_mut()) }.is_err());
}

#[test]
fn truth_values_are_zero_or_one() {
    let freed = Arc::default();
    let described = Described { dtype: DLDataType::of(Type::Bool), ..Described::default() };
    let (masks, transfer) =
        dlpack::import::<bool>(managed(theirs(&[0, 2, 1], &[3], None, &freed), &described)).unwrap();
    assert_eq!(masks.array().count().item().unwrap(), 2);
    assert!(transfer.to_string().contains("0 or 1"), "{transfer}");
}
