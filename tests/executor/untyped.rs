//! Functions of files whose types the program does not know: frozen functions and traced modules, which have several
//! recordings.

use jit::executor::{ArgumentKind, GivenArgument, GivenArray, UntypedFunction, UntypedResult};
use jit::nn::{Linear, Model, Module, Relu};
use jit::prelude::*;
use jit::{Element as _, Result};
use jit_runtime::recording::file::VERSION;

use crate::file::File;
use crate::on_each_device;
use crate::saved::KEPT;

/// What a program in another language does not pass: whether it is training.
#[derive(Clone, Traverse)]
pub(crate) struct Layer {
    weight: Tensor<f32>,
    is_training: bool,
    calls: Float,
}

/// Records the kinds of calls that the tests of this file, and the program in C, make.
#[freeze]
pub(crate) fn layered(
    layer: &mut Layer,
    x: &Tensor<f32>,
    gain: f32,
    y: &Float,
    shift: Option<&Float>,
) -> (Tensor<f32>, Size, Float) {
    if layer.is_training {
        layer.calls += 1.0;
    }
    let z = y * gain + &layer.calls;
    (x.matmul(&layer.weight), x.size(0), shift.map_or(z.clone(), |shift| z + shift))
}

fn layer(is_training: bool) -> Layer {
    Layer { weight: Tensor::arange(6).reshape([2, 3]), is_training, calls: Float::from([10.0]) }
}

/// Training, evaluation, and evaluation with a constant.
pub(crate) fn record_layers() -> Result<()> {
    let (x, y) = (Tensor::<f32>::ones([4, 2]).make_opaque(), Float::from([1.0, 2.0, 3.0]));
    jit::eval(&(&x, &y))?;
    layered::clear();
    for gain in [1.0, 2.0] {
        layered(&mut layer(true), &x, gain, &y, None);
        layered(&mut layer(false), &x, gain, &y, None);
    }
    layered(&mut layer(false), &x, 1.0, &y, Some(&Float::from(0.5)));
    Ok(())
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn tensor<'a>(bytes: &'a [u8], shape: &'a [usize]) -> GivenArgument<'a> {
    GivenArgument::Array(f32::TYPE, GivenArray { bytes, shape })
}

fn read(result: &UntypedResult) -> Result<Vec<f32>> {
    let mut bytes = vec![0; result.width * 4];
    result.read(&mut bytes)?;
    Ok(bytes.chunks_exact(4).map(|lane| f32::from_le_bytes([lane[0], lane[1], lane[2], lane[3]])).collect())
}

fn paths(function: &UntypedFunction) -> Vec<(String, usize, bool)> {
    let each = function.arguments().iter().map(|argument| {
        let (axes, is_changed) = match argument.kind {
            ArgumentKind::Array { axes, is_changed } => (axes, is_changed),
            _ => (0, false),
        };
        (argument.path.clone(), axes, is_changed)
    });
    each.collect()
}

/// Checks the calls of `layered` that its recordings fit, and some that they do not.
fn check_layers(bytes: &[u8], device: Device) -> Result<()> {
    // SAFETY: the file is ours.
    let function = unsafe { UntypedFunction::from_bytes(bytes, device) }?;
    assert_eq!(function.name(), "layered");
    let fixed = |at: usize| function.recording(at).map(|one| one.fixed().to_vec()).unwrap_or_default();
    let of = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let [is_training, is_not] = ["true", "false"].map(|value| of("layer.is_training", &format!("{value} (bool)")));
    assert_eq!(fixed(0), [is_not.clone(), of("shift", "Some")]);
    assert_eq!(fixed(1), [is_not, of("shift", "None")]);
    assert!((2..function.recordings()).any(|at| fixed(at) == [is_training.clone(), of("shift", "None")]));
    let own = |path: &str, axes, is_changed| (path.to_owned(), axes, is_changed);
    let wanted = [
        own("layer.weight", 2, true),
        own("layer.calls", 0, true),
        own("x", 2, false),
        own("gain", 0, false),
        own("y", 0, false),
        own("shift", 0, false),
    ];
    assert_eq!(paths(&function), wanted);
    let results = function.results().iter().map(|result| (&*result.path, result.axes));
    let wanted = [("layer.weight", 2), ("layer.calls", 0), ("result[0]", 2), ("result[1]", 0)];
    assert_eq!(results.collect::<Vec<_>>(), wanted);

    let weight = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let (calls, x, y) = (floats(&[7.0]), floats(&[1.0; 10]), floats(&[1.0, 2.0]));
    let gain = GivenArgument::Number(f32::TYPE, 4.0_f32.to_bits().into());
    let given = [tensor(&weight, &[2, 3]), tensor(&calls, &[]), tensor(&x, &[5, 2]), gain, tensor(&y, &[])];
    // Training or not: no call says so.
    let refused = function.call(&given).unwrap_err().to_string();
    assert!(refused.contains("differ in `layer.is_training`, which is false (bool) or true (bool)"), "{refused}");
    // The last one takes the number as an input, the first one has it in its code.
    let are_training: Vec<usize> = (0..function.recordings()).filter(|&at| fixed(at)[0] == is_training).collect();
    let [newest, .., oldest] = are_training[..] else { panic!("{are_training:?}") };
    for (at, calls) in [(1, 7.0), (newest, 8.0)] {
        let results = function.recording(at).expect("a recording").call(&given)?;
        let shapes: Vec<&[usize]> = results.iter().map(|result| &*result.shape).collect();
        assert_eq!(shapes, [&[2, 3][..], &[], &[5, 3], &[]]);
        assert_eq!(read(&results[1])?, [calls]);
        assert_eq!(read(&results[2])?, [3.0, 5.0, 7.0].repeat(5));
        assert_eq!(read(&results[3])?, [4.0 + calls, 8.0 + calls]);
    }
    let refused = function.recording(oldest).expect("a recording").call(&given).unwrap_err().to_string();
    assert!(refused.contains("`layered` was recorded for another `gain`: it was 1.0, and is 4.0"), "{refused}");
    // A constant is an array of equal elements.
    let shift = floats(&[0.5]);
    let last = GivenArgument::Number(f32::TYPE, 1.0_f32.to_bits().into());
    let with = |shift| [given[0], given[1], given[2], last, given[4], tensor(shift, &[])];
    assert_eq!(read(&function.call(&with(&shift))?[3])?, [8.5, 9.5]);
    let refused = function.call(&with(&floats(&[0.5, 0.25]))).unwrap_err().to_string();
    assert!(refused.contains("the same value in all elements of `shift`"), "{refused}");
    let refused = function.call(&given[1..]).unwrap_err().to_string();
    assert!(refused.contains("`layered` takes 6 arguments, not 4"), "{refused}");
    let flat = [given[0], given[1], tensor(&x, &[10]), gain, given[4], tensor(&shift, &[])];
    let refused = function.call(&flat).unwrap_err().to_string();
    assert!(refused.contains("the argument `x` has 2 axes, not 1"), "{refused}");
    Ok(())
}

// rows: K81
#[test]
fn recordings_of_a_frozen_function_are_called_without_its_types() {
    on_each_device(|| {
        let file = File::new("layered");
        record_layers()?;
        layered::save(&file)?;
        layered::clear();
        let bytes = std::fs::read(&file).unwrap();
        check_layers(&bytes, jit_runtime::device::current_device())?;
        // As it is saved again after it was loaded.
        layered::load(&file)?;
        layered::save(&file)?;
        layered::clear();
        check_layers(&std::fs::read(&file).unwrap(), jit_runtime::device::current_device())
    });
}

// one device: the file has no machine code
#[test]
fn the_file_of_the_program_in_c_has_these_recordings() -> Result<()> {
    check_layers(&std::fs::read(format!("{KEPT}/layered-{VERSION}.jit")).unwrap(), Device::Interpreter)
}

// one device: the file has no machine code
#[test]
fn a_frozen_function_of_the_first_version_is_refused_by_other_languages() {
    let bytes = std::fs::read(format!("{KEPT}/frozen-1.jit")).unwrap();
    // SAFETY: the file is ours.
    let refused = unsafe { UntypedFunction::from_bytes(&bytes, Device::Interpreter) }.unwrap_err().to_string();
    assert!(refused.contains("it was saved by an earlier version of the library"), "{refused}");
}

// rows: O38
#[test]
fn a_traced_module_is_called_without_its_types() {
    on_each_device(|| {
        let file = File::new("module");
        let net = (Linear::new(3, 4, &mut jit::random::rng(1)), Relu);
        let mut traced = jit::trace(net, &Tensor::<f32>::zeros([8, 3]))?;
        traced.save::<Tensor<f32>>(&file)?;
        let bytes = std::fs::read(&file).unwrap();
        // SAFETY: the file is ours.
        let function = unsafe { UntypedFunction::from_bytes(&bytes, jit_runtime::device::current_device()) }?;
        let state = traced.state_dict();
        let [weight, bias] =
            ["0.weight", "0.bias"].map(|name| floats(&state.get::<f32>(name).unwrap().to_vec().unwrap()));
        let x = [0.5, -1.0, 2.0, 1.0, 1.0, 1.0];
        let bytes = floats(&x);
        let given = [tensor(&weight, &[4, 3]), tensor(&bias, &[4]), tensor(&bytes, &[2, 3])];
        let results = function.call(&given)?;
        let y = results.last().expect("the output");
        assert_eq!(y.shape, [2, 4]);
        assert_eq!(read(y)?, traced.forward(&Tensor::from(x).reshape([2, 3])).to_vec()?);
        Ok(())
    });
}
