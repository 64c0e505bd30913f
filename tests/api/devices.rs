//! Runs a test on each device of the machine.

/// Runs `test` with the interpreter and with the processor as the device of new arrays.
///
/// Without the `llvm` feature the second falls back to the first, which is worth a test as well.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Whether two numbers are equal up to a relative or absolute error.
#[track_caller]
pub(crate) fn assert_close(got: &[f32], wanted: &[f32], tolerance: f32) {
    assert_eq!(got.len(), wanted.len());
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let same = got == wanted || (got.is_nan() && wanted.is_nan());
        let close = (got - wanted).abs() <= tolerance * wanted.abs().max(1.0);
        assert!(same || close, "element {i} is {got} instead of {wanted}");
    }
}
