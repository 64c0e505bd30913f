//! Arguments and results of executors, and calls that do not fit.

use jit::prelude::*;

use crate::on_each_device;

#[derive(Clone, Traverse)]
struct State {
    position: Float,
    velocities: Vec<Float>,
    steps: u32,
}

#[jit]
fn step(state: &mut State, force: &Float, dt: f32) -> (Float, UInt) {
    for velocity in &mut state.velocities {
        *velocity += force * dt;
        state.position += &*velocity * dt;
    }
    state.steps += 1;
    if state.position > 10.0 {
        state.position = 20.0 - &state.position;
    }
    (state.position.sum(), state.position.gt(5.0).select(UInt::from(1), UInt::from(0)))
}

fn state(velocities: usize) -> State {
    State { position: Float::from([1.0, 9.0]), velocities: vec![Float::from([1.0, 2.0]); velocities], steps: 7 }
}

#[test]
fn state_is_changed_in_place() {
    on_each_device(|| {
        let (mut compiled, mut traced) = (state(2), state(2));
        let exe = step::compile(&mut compiled.clone(), &Float::placeholder(2), 0.5)?;
        for dt in [0.5, 0.25, 2.0] {
            let force = Float::from([1.0, -1.0]);
            let (sum, above) = exe.call(&mut compiled, &force, dt)?;
            let (expected, expected_above) = step(&mut traced, &force, dt);
            assert_eq!(sum.item()?, expected.item()?);
            assert_eq!(above.to_vec()?, expected_above.to_vec()?);
            assert_eq!(compiled.position.to_vec()?, traced.position.to_vec()?);
            assert_eq!(compiled.velocities[1].to_vec()?, traced.velocities[1].to_vec()?);
            assert_eq!(compiled.steps, 8, "a number in a structure is that of the compilation");
            compiled.steps = 7;
        }
        Ok(())
    });
}

// rows: K108 K110
#[test]
fn other_arguments_are_errors_that_name_the_place() {
    on_each_device(|| {
        let exe = step::compile(&mut state(2), &Float::placeholder(2), 0.5)?;
        let error = |state: &mut State, force: &Float| exe.call(state, force, 0.5).unwrap_err().to_string();
        let two = Float::from([1.0, 1.0]);
        let text = error(&mut state(3), &two);
        assert!(text.contains("`state.velocities`: it was 2 elements, and is 3 elements"), "{text}");
        assert!(text.contains("arguments.rs"), "{text}");
        let text = error(&mut State { steps: 8, ..state(2) }, &two);
        assert!(text.contains("`state.steps`: it was 7 (u32), and is 8 (u32)"), "{text}");
        let mut wide = State { position: Float::arange(3), ..state(2) };
        let text = error(&mut wide, &two);
        assert!(text.contains("state.position.width() is 3"), "{text}");
        assert_eq!(wide.position.to_vec()?, [0.0, 1.0, 2.0], "the arguments are unchanged");
        let text = error(&mut state(2), &Float::from([1.0]));
        assert!(text.contains("force.width() is 1"), "{text}");
        exe.call(&mut state(2), &two, 0.5)?;
        Ok(())
    });
}

#[jit]
fn repeated(x: &Float, times: u32, scale: f32) -> Float {
    let mut sum = x.zeros_like();
    for _ in 0..times {
        sum += x * scale;
    }
    sum
}

// rows: K164
#[test]
fn numbers_that_decide_are_fixed_and_others_are_free() {
    on_each_device(|| {
        let exe = repeated::compile(&Float::placeholder(3), 2, 1.0)?;
        let x = Float::from([1.0, 2.0, 3.0]);
        assert_eq!(exe.call(&x, 2, 10.0)?.to_vec()?, [20.0, 40.0, 60.0]);
        let error = exe.call(&x, 3, 10.0).unwrap_err().to_string();
        assert!(error.contains("`times`: it was 2 (u32), and is 3 (u32)"), "{error}");
        assert!(error.contains("constexpr"), "{error}");
        Ok(())
    });
}

#[jit]
fn sum_of(x: &Float, y: &Float) -> (Float, Float) {
    (x + y, (x * y).sum())
}

/// The same array twice, constants and unevaluated expressions are arguments like any other.
#[test]
fn arguments_of_all_forms_are_taken() {
    on_each_device(|| {
        let exe = sum_of::compile(&Float::placeholder(4), &Float::placeholder(4))?;
        let x = Float::from([1.0, 2.0]);
        for (x, y) in [
            (x.clone(), x.clone()),
            (x.clone(), Float::full(3.0, 2)),
            (Float::zeros(2), Float::zeros(2)),
            (&x + 1.0, &x * &x),
            (Float::opaque(2.0) + Float::zeros(3), Float::arange(3)),
        ] {
            let (sum, dot) = exe.call(&x, &y)?;
            let (expected, expected_dot) = sum_of(&x, &y);
            assert_eq!(sum.to_vec()?, expected.to_vec()?);
            assert_eq!(dot.item()?, expected_dot.item()?);
        }
        let same = Float::placeholder(4);
        let exe = sum_of::compile(&same, &same)?;
        assert_eq!(exe.call(&x, &Float::from([10.0, 20.0]))?.0.to_vec()?, [11.0, 22.0], "they are not taken as one");
        Ok(())
    });
}

// rows: K184
// one device: it is compiled for one and called on another
#[test]
fn devices_are_checked() {
    let _alone = crate::alone();
    let exe = jit::with_device(Device::Interpreter, || sum_of::compile(&Float::placeholder(4), &Float::placeholder(4)));
    let exe = exe.unwrap();
    let x = Float::from([1.0, 2.0]);
    let error = jit::with_device(Device::Cpu, || exe.call(&x, &x)).unwrap_err().to_string();
    assert!(error.contains("`interpreter`") && error.contains("x.to(Device::Interpreter)"), "{error}");
}

// rows: K108
#[test]
fn an_error_in_one_call_is_not_that_of_the_next() {
    on_each_device(|| {
        let exe = sum_of::compile(&Float::placeholder(4), &Float::placeholder(4))?;
        let error = exe.call(&Float::placeholder(3), &Float::arange(3)).unwrap_err().to_string();
        assert!(error.contains("placeholder"), "{error}");
        assert!(exe.call(&Float::arange(3), &Float::arange(4)).is_err());
        assert_eq!(exe.call(&Float::arange(3), &Float::arange(3))?.0.to_vec()?, [0.0, 2.0, 4.0]);
        Ok(())
    });
}

#[jit]
fn dims(x: &Tensor<f32>) -> Tensor<f32> {
    x.sum(1) * 2.0
}

#[jit]
fn scattered(target: &mut Float, index: &UInt, value: &Float) {
    target.scatter_add(value, index);
}

#[jit]
fn halves(x: &Float) -> (Float, Size) {
    (x.gather(&(UInt::arange(x.width() / 2) * 2)), x.width() / 2)
}

// rows: K164
#[test]
fn tensors_scatters_and_sizes_follow_the_arguments() {
    on_each_device(|| {
        let exe = dims::compile(&Tensor::ones([3, 40]))?;
        assert_eq!(exe.call(&Tensor::ones([5, 70]))?.to_vec()?, [140.0; 5]);
        let error = exe.call(&Tensor::ones([5, 7])).unwrap_err().to_string();
        assert!(error.contains("x.shape[1] is 7"), "{error}");
        let exe = scattered::compile(&mut Float::placeholder(4), &UInt::placeholder(9), &Float::placeholder(9))?;
        let mut target = Float::from([1.0, 0.0, 0.0]);
        let other = target.clone();
        exe.call(&mut target, &UInt::from([0, 2, 2, 7]), &Float::from([1.0, 2.0, 3.0, 4.0]))?;
        assert_eq!((target.to_vec()?, other.to_vec()?), (vec![2.0, 0.0, 5.0], vec![1.0, 0.0, 0.0]));
        let exe = halves::compile(&Float::placeholder(100))?;
        let (half, size) = exe.call(&Float::arange(7))?;
        assert_eq!((half.to_vec()?, size.get()), (vec![0.0, 2.0, 4.0], 3));
        Ok(())
    });
}

#[jit]
fn collatz(n: &UInt) -> UInt {
    let (mut n, mut steps) = (n.clone(), n.zeros_like());
    while n != 1 {
        if n % 2 == 0 {
            n /= 2;
        } else {
            n = n * 3 + 1;
        }
        steps += 1;
    }
    steps
}

#[jit]
fn nothing_but_zeros(_x: &Float) -> (Float, ()) {
    (Float::zeros(0), ())
}

#[test]
fn loops_and_results_without_elements_work() {
    on_each_device(|| {
        let exe = collatz::compile(&UInt::placeholder(10))?;
        assert_eq!(exe.call(&UInt::from([1, 6, 27]))?.to_vec()?, [0, 8, 111]);
        let exe = nothing_but_zeros::compile(&Float::placeholder(10))?;
        assert_eq!(exe.call(&Float::arange(3))?.0.to_vec()?, [0.0_f32; 0]);
        let exe = sum_of::compile(&Float::placeholder(0), &Float::placeholder(0))?;
        assert_eq!(exe.call(&Float::zeros(0), &Float::zeros(0))?.0.to_vec()?, [0.0_f32; 0]);
        Ok(())
    });
}

#[jit]
fn selected(x: &Float) -> Float {
    x.filter(&x.gt(1.0))
}

#[jit]
fn first_of(x: &Float) -> Float {
    x * x.get(0).unwrap_or(1.0)
}

#[test]
fn contents_cannot_be_read_while_compiling() {
    let _alone = crate::alone();
    let caught = std::panic::catch_unwind(|| selected::compile(&Float::placeholder(5)).map(|_| ()));
    let message = *caught.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("counts the true lanes") && message.contains("arguments.rs"), "{message}");
    let error = first_of::compile(&Float::placeholder(5)).unwrap_err().to_string();
    assert!(error.contains("reads the contents") && error.contains("arguments.rs"), "{error}");
    assert_eq!(selected(&Float::from([1.0, 2.0])).to_vec().unwrap(), [2.0], "the thread is not recording any more");
}
