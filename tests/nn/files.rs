//! States as files in the format safetensors.

use half::{bf16, f16};
use jit::nn::{BatchNorm1d, Linear, Model, StateDict};
use jit::prelude::*;

use crate::on_each_device;

fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("jit-{name}-{}.safetensors", std::process::id()))
}

// rows: O78
#[test]
fn a_state_of_all_element_types_is_the_same_after_reading() {
    on_each_device(|| {
        let mut state = StateDict::default();
        state.insert("a.bool", &Tensor::from([true, false, true]));
        state.insert("b", &Tensor::from([[1i8, -2], [3, i8::MIN]]));
        state.insert("c", &Tensor::from([1i16, i16::MIN]));
        state.insert("d", &Tensor::from([1i32, i32::MIN]));
        state.insert("e", &Tensor::from(i64::MIN));
        state.insert("f", &Tensor::from([255u8]));
        state.insert("g", &Tensor::from([u16::MAX]));
        state.insert("h", &Tensor::from([u32::MAX]));
        state.insert("i", &Tensor::from([u64::MAX]));
        state.insert("j", &Tensor::from([f16::MAX, f16::NEG_INFINITY]));
        state.insert("k", &Tensor::from([bf16::MIN_POSITIVE]));
        state.insert("l", &(Tensor::<f32>::arange([2, 1, 3]) * 0.5));
        state.insert("m", &Tensor::<f64>::zeros([0, 4]));
        let read = StateDict::from_safetensors(&state.to_safetensors().unwrap()).unwrap();
        assert_eq!(read.len(), 13);
        for name in state.names() {
            assert_eq!(read.shape(name), state.shape(name), "{name}");
        }
        assert_eq!(read.get::<bool>("a.bool").unwrap().to_vec().unwrap(), [true, false, true]);
        assert_eq!(read.get::<i8>("b").unwrap().to_vec().unwrap(), [1, -2, 3, i8::MIN]);
        assert_eq!(read.get::<i16>("c").unwrap().to_vec().unwrap(), [1, i16::MIN]);
        assert_eq!(read.get::<i32>("d").unwrap().to_vec().unwrap(), [1, i32::MIN]);
        assert_eq!(read.get::<i64>("e").unwrap().item().unwrap(), i64::MIN);
        assert_eq!(read.get::<u8>("f").unwrap().item().unwrap(), 255);
        assert_eq!(read.get::<u16>("g").unwrap().item().unwrap(), u16::MAX);
        assert_eq!(read.get::<u32>("h").unwrap().item().unwrap(), u32::MAX);
        assert_eq!(read.get::<u64>("i").unwrap().item().unwrap(), u64::MAX);
        assert_eq!(read.get::<f16>("j").unwrap().to_vec().unwrap(), [f16::MAX, f16::NEG_INFINITY]);
        assert_eq!(read.get::<bf16>("k").unwrap().item().unwrap(), bf16::MIN_POSITIVE);
        assert_eq!(read.get::<f32>("l").unwrap().to_vec().unwrap(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        assert!(read.get::<f64>("m").unwrap().to_vec().unwrap().is_empty());
    });
}

type Net = (Linear, BatchNorm1d);

fn net(inputs: usize, seed: u64) -> Net {
    (Linear::new(inputs, 4, &mut jit::random::rng(seed)), BatchNorm1d::new(4))
}

#[test]
fn a_module_is_loaded_from_a_file_and_what_does_not_fit_is_named() {
    let path = path("module");
    let (first, mut second) = (net(3, 1), net(3, 2));
    first.state_dict().save(&path).unwrap();
    second.load_state_dict(&StateDict::open(&path).unwrap()).unwrap();
    assert_eq!(second.0.weight.to_vec().unwrap(), first.0.weight.to_vec().unwrap());
    let error = net(5, 1).load_state_dict(&StateDict::open(&path).unwrap()).unwrap_err().to_string();
    assert!(error.contains("`0.weight` has the shape [4, 3] instead of [4, 5]"), "{error}");
    let mut plain = (Linear::<f64>::new(3, 4, &mut jit::random::rng(1)),);
    let error = plain.load_state_dict(&StateDict::open(&path).unwrap()).unwrap_err().to_string();
    assert!(error.contains("`0.weight` is an array of f32 instead of f64"), "{error}");
    assert!(error.contains("`1.running_mean` is unexpected"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

/// The header as the format's description has it: its length, then JSON.
#[test]
fn the_bytes_of_a_file_are_those_of_the_format() {
    let header = br#"{"x":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend([1, 0, 0xfe, 0xff]);
    let read = StateDict::from_safetensors(&bytes).unwrap();
    assert_eq!(read.get::<i16>("x").unwrap().to_vec().unwrap(), [1, -2]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_errors() {
    let path = path("wrong");
    let error = StateDict::open(&path).unwrap_err().to_string();
    assert!(error.contains("cannot read `") && error.contains("tests/nn/files.rs"), "{error}");
    let state = net(3, 1).state_dict();
    let bytes = state.to_safetensors().unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let error = StateDict::open(&path).unwrap_err().to_string();
    assert!(error.contains("is not in the format safetensors"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let error = state.save(path.join("below")).unwrap_err().to_string();
    assert!(error.contains("cannot write `"), "{error}");
    let header = br#"{"x":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend([0; 8]);
    let error = StateDict::from_safetensors(&bytes).unwrap_err().to_string();
    assert!(error.contains("`x` of the memory has elements of type C64"), "{error}");
}
