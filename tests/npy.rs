//! Files in the formats npy and npz.
#![cfg(feature = "npy")]
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use half::{bf16, f16};
use jit::io::npy::{self, Npz, NpzWriter};
use jit::prelude::*;
use jit::{Element, ErrorKind};

/// The contents of a file with this header, in a version of the format.
fn file(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\x93NUMPY", &[version, 0][..]].concat();
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(elements);
    bytes
}

fn is_kept<T: Element>(values: &[T]) {
    for shape in [&[values.len()][..], &[1, values.len(), 1], &[values.len() / 2, 2]] {
        let tensor = Tensor::from_array(Array::from(values), shape);
        let bytes = npy::to_bytes(&tensor).unwrap();
        let header = &bytes[..bytes.len() - size_of_val(values)];
        assert!(header.len().is_multiple_of(64) && header.ends_with(b"\n"), "elements are aligned");
        let read = npy::from_bytes::<T>(&bytes).unwrap();
        assert_eq!((read.shape(), read.to_vec().unwrap()), (shape, values.to_vec()));
    }
}

#[test]
fn tensors_of_every_type_are_the_same_after_reading() {
    is_kept(&[true, false, false, true]);
    is_kept(&[i8::MIN, -1, 0, i8::MAX]);
    is_kept(&[i16::MIN, -1, 0, i16::MAX]);
    is_kept(&[i32::MIN, -1, 0, i32::MAX]);
    is_kept(&[i64::MIN, -1, 0, i64::MAX]);
    is_kept(&[0, 1, u8::MAX - 1, u8::MAX]);
    is_kept(&[0, 1, u16::MAX - 1, u16::MAX]);
    is_kept(&[0, 1, u32::MAX - 1, u32::MAX]);
    is_kept(&[0, 1, u64::MAX - 1, u64::MAX]);
    is_kept(&[f16::MIN, f16::INFINITY, f16::ZERO, f16::from_f32(1.5)]);
    is_kept(&[bf16::MIN, bf16::INFINITY, bf16::ZERO, bf16::from_f32(1.5)]);
    is_kept(&[f32::MIN, f32::INFINITY, -0.0, 1.5]);
    is_kept(&[f64::MIN, f64::INFINITY, -0.0, 1.5]);
}

#[test]
fn scalars_and_empty_tensors_have_their_shapes() {
    for shape in [&[][..], &[0], &[3, 0, 2]] {
        let tensor = Tensor::<f32>::zeros(shape);
        let read = npy::from_bytes::<f32>(&npy::to_bytes(&tensor).unwrap()).unwrap();
        assert_eq!((read.shape(), read.to_vec().unwrap()), (shape, tensor.to_vec().unwrap()));
    }
    let written = npy::to_bytes(&Tensor::from(2.5f64)).unwrap();
    assert!(written[10..].starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (), }"));
    let written = npy::to_bytes(&Tensor::from([1u8, 2])).unwrap();
    assert!(written[10..].starts_with(b"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"));
}

#[test]
fn versions_orders_and_spellings_of_other_writers_are_read() {
    let wanted = (vec![2, 3], vec![1u16, 2, 3, 4, 5, 6]);
    let rows = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0];
    let columns = [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0];
    let big: Vec<u8> = rows.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    for (version, header, elements) in [
        (1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }   \n", &rows[..]),
        (2, "{'shape':(2,3),'descr':'<u2','fortran_order':False}", &rows),
        (3, "{\"descr\": \"=u2\", 'shape': (2L, 3L,), 'fortran_order': False}\n", &rows),
        (1, "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }\n", &columns),
        (1, "{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3), }\n", &big),
    ] {
        let read = npy::from_bytes::<u16>(&file(version, header, elements)).unwrap();
        assert_eq!((read.shape().to_vec(), read.to_vec().unwrap()), wanted, "{header}");
    }
    let masks = file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", &[0, 1, 2]);
    assert_eq!(npy::from_bytes::<bool>(&masks).unwrap().to_vec().unwrap(), [false, true, true]);
}

#[test]
fn malformed_files_say_what_is_wrong() {
    let header = |descr: &str, order: &str, shape: &str| {
        file(1, &format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"), &[0; 8])
    };
    for (bytes, part) in [
        (b"PK\x03\x04 something else".to_vec(), "magic number"),
        (file(4, "{}", &[]), "version 4 is unknown"),
        (file(1, "{}", &[]), "`descr` is missing"),
        (header("'<f4'", "False", "(3,)"), "shape [3] takes 12 bytes, 8 are there"),
        (header("'<f4'", "False", "(1,)"), "4 bytes follow the elements"),
        (header("'<f4'", "False", "(-1,)"), "a length of the shape"),
        (header("'<f4'", "False", "2"), "`shape`"),
        (header("'<f4'", "0", "(2,)"), "`fortran_order`"),
        (header("'<c8'", "False", "(1,)"), "type '<c8' are unknown"),
        (header("[('a', '<f4')]", "False", "(2,)"), "records"),
        (header("'<f8'", "False", "(1,)"), "type f64, and not f32"),
        (header("'<f4'", "False", "(4294967296, 4294967296, 4294967296, 0)"), "an array has at most"),
        (header("'<f4'", "False", "(99999999999999999999,)"), "not a number"),
        (header("'<f4'", "False", "(4000000000,)"), "takes 16000000000 bytes, 8 are there"),
    ] {
        let line = line!() + 1;
        let error = npy::from_bytes::<f32>(&bytes).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("the memory"), "`{part}` is not in: {text}");
        assert_eq!((error.kind(), error.site().map(|site| site.line())), (ErrorKind::Io, Some(line)), "{text}");
    }
}

#[test]
fn no_cut_or_damaged_header_panics() {
    let values = [1.5f32, -2.0, 3.25, 4.0, 5.0, 6.0];
    let whole = npy::to_bytes(&Tensor::from_array(Array::from(values), [2, 3])).unwrap();
    for length in 0..whole.len() {
        let error = npy::from_bytes::<f32>(&whole[..length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "cut at {length}");
    }
    let begin = whole.len() - size_of_val(&values);
    for position in 0..begin {
        for mask in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[position] ^= mask;
            let Ok(read) = npy::from_bytes::<f32>(&damaged) else { continue };
            // Another order, or another form of the same header.
            assert_eq!(read.shape().iter().product::<usize>(), 6, "byte {position} ^ {mask:#x}");
        }
    }
}

#[test]
fn archives_keep_tensors_by_name() {
    let (a, b) = (Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]), Tensor::from([true, false]));
    for writer in [NpzWriter::new(), NpzWriter::new().compressed()] {
        let mut writer = writer;
        writer.add("a", &a).unwrap().add("layer/b", &b).unwrap();
        assert_eq!(writer.add("a", &b).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let archive = Npz::from_bytes(writer.to_bytes().unwrap()).unwrap();
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "layer/b"]);
        assert_eq!(archive.header("a").unwrap().shape, [2, 2]);
        assert_eq!(archive.get::<f32>("a").unwrap().to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(archive.get::<bool>("layer/b").unwrap().to_vec().unwrap(), [true, false]);
        let error = archive.get::<u8>("a").unwrap_err().to_string();
        assert!(error.contains("`a` of the memory has elements of type f32, and not u8"), "{error}");
        let error = archive.get::<f32>("c").unwrap_err().to_string();
        assert!(error.contains("no tensor `c`") && error.contains("a, layer/b"), "{error}");
    }
}

#[test]
fn no_damage_of_an_archive_panics_or_changes_elements() {
    for writer in [NpzWriter::new(), NpzWriter::new().compressed()] {
        let mut writer = writer;
        let values: Vec<u32> = (0..40).collect();
        let whole = writer.add("a", &Tensor::from(values.clone())).unwrap().to_bytes().unwrap();
        let read = |bytes: Vec<u8>| Npz::from_bytes(bytes)?.get::<u32>("a")?.to_vec();
        assert_eq!(read(whole.clone()).unwrap(), values);
        for length in 0..whole.len() {
            assert!(read(whole[..length].to_vec()).is_err(), "cut at {length}");
        }
        for position in 0..whole.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[position] ^= mask;
                if let Ok(read) = read(damaged) {
                    assert_eq!(read, values, "byte {position} ^ {mask:#x}");
                }
            }
        }
    }
}

#[test]
fn files_are_replaced_and_errors_name_them() {
    let folder = std::env::temp_dir().join(format!("jit-npy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, archive) = (folder.join("x.npy"), folder.join("x.npz"));
    npy::write(&path, &Tensor::from([1u8])).unwrap();
    npy::write(&path, &Tensor::from([2u8, 3])).unwrap();
    assert_eq!(npy::read::<u8>(&path).unwrap().to_vec().unwrap(), [2, 3]);
    assert_eq!(npy::header(&path).unwrap().shape, [2]);
    NpzWriter::new().add("x", &Tensor::from([4i64])).unwrap().write(&archive).unwrap();
    assert_eq!(Npz::open(&archive).unwrap().get::<i64>("x").unwrap().item().unwrap(), 4);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no partial files stay");
    for error in [
        npy::read::<u8>(&archive).unwrap_err(),
        npy::read::<u8>(folder.join("x.npz.npy")).unwrap_err(),
        Npz::open(&path).unwrap_err(),
        npy::write(folder.join("none/x.npz"), &Tensor::from(1u8)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("x.np"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Io);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
