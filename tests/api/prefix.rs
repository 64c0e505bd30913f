//! Prefix reductions, and the combination of library calls with kernels.

use half::f16;
use jit::prelude::*;

use crate::devices::on_each_device;

/// The prefix sum, computed on the host.
fn sums(values: &[u32], is_exclusive: bool) -> Vec<u32> {
    let mut sum = 0_u32;
    let next = |value: &u32| {
        let before = sum;
        sum = sum.wrapping_add(*value);
        if is_exclusive { before } else { sum }
    };
    values.iter().map(next).collect()
}

#[test]
fn prefix_sums_of_every_width() {
    on_each_device(|| {
        for width in [0, 1, 2, 100, 32_767, 32_768, 32_769, 100_001] {
            let values: Vec<u32> = (0..width as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
            let x = UInt::from(&values);
            assert_eq!(x.prefix_sum().to_vec().unwrap(), sums(&values, false));
            assert_eq!(x.prefix_sum_exclusive().to_vec().unwrap(), sums(&values, true));
        }
    });
}

#[test]
fn prefix_reductions_of_each_kind() {
    on_each_device(|| {
        let x = Int::from([3, -1, 4, -1, 5]);
        assert_eq!(x.prefix_reduce(ReduceOp::Max).to_vec().unwrap(), [3, 3, 4, 4, 5]);
        assert_eq!(x.prefix_reduce_exclusive(ReduceOp::Min).to_vec().unwrap(), [i32::MAX, 3, -1, -1, -1]);
        assert_eq!(x.prefix_reduce(ReduceOp::Mul).to_vec().unwrap(), [3, -3, -12, 12, 60]);
        assert_eq!(x.prefix(ReduceOp::Add, Scan::inclusive().reverse()).to_vec().unwrap(), [10, 7, 8, 4, 5]);
        assert_eq!(x.block_prefix_sum(2).to_vec().unwrap(), [3, 2, 4, 3, 5]);
        assert_eq!(x.block_prefix_reduce(ReduceOp::Max, 3).to_vec().unwrap(), [3, 3, 4, -1, 5]);
        let blocks = Scan::exclusive().reverse().per_block(3);
        assert_eq!(x.prefix(ReduceOp::Add, blocks).to_vec().unwrap(), [3, 4, 0, 5, 0]);
        let mask = Mask::from([true, true, false, true]);
        assert_eq!(mask.prefix_reduce(ReduceOp::And).to_vec().unwrap(), [true, true, false, false]);
        assert_eq!(mask.prefix_reduce_exclusive(ReduceOp::Or).to_vec().unwrap(), [false, true, true, true]);
        let x = Float::from([1.0, f32::NAN, 0.5]);
        let least = x.prefix_reduce(ReduceOp::Min).to_vec().unwrap();
        assert!(least[0] == 1.0 && least[1].is_nan() && least[2].is_nan());
    });
}

#[test]
fn halves_are_added_in_single_precision() {
    // In f16, 2048 + 1 is 2048.
    let x = Half::from(vec![f16::ONE; 4096]);
    assert_eq!(x.prefix_sum().get(4095).unwrap(), f16::from_f32(4096.0));
}

#[test]
fn sums_of_floats_are_the_same_on_any_number_of_threads() {
    let values: Vec<f32> = (0..300_000_u64).map(|i| (i * 7919 % 1000) as f32 * 0.001 - 0.3).collect();
    let x = Float::from(values);
    let once = || x.prefix_sum().to_vec().unwrap();
    let _settings = crate::determinism::Settings::hold();
    jit::set_threads(1);
    let expected = once();
    for threads in [2, 3, 8] {
        jit::set_threads(threads);
        assert!(once() == expected, "{threads} threads");
    }
}

#[test]
fn prefix_reductions_stay_lazy_between_kernels() {
    on_each_device(|| {
        let x = UInt::from([1, 2, 3, 4]);
        let y = (&x * 2).prefix_sum();
        let z = &y + UInt::from([10, 20, 30, 40]).prefix_sum_exclusive();
        let total = z.prefix_reduce(ReduceOp::Max).sum();
        jit::eval(&(&z, &total)).unwrap();
        assert_eq!(z.to_vec().unwrap(), [2, 16, 42, 80]);
        assert_eq!(total.item().unwrap(), 140);
        assert_eq!(y.to_vec().unwrap(), [2, 6, 12, 20]);
    });
}

#[test]
fn known_values_and_expressions_can_be_operands() {
    on_each_device(|| {
        assert_eq!(UInt::full(3, 4).prefix_sum().to_vec().unwrap(), [3, 6, 9, 12]);
        assert_eq!(UInt::from(5).prefix_sum().to_vec().unwrap(), [5]);
        assert_eq!(UInt::opaque(5).prefix_sum_exclusive().to_vec().unwrap(), [0]);
        assert_eq!(UInt::arange(5).prefix_sum().to_vec().unwrap(), [0, 1, 3, 6, 10]);
        let total = UInt::from([1, 2, 3]).sum();
        assert_eq!(total.prefix_sum().to_vec().unwrap(), [6]);
        assert_eq!(Float::zeros(0).prefix_sum().to_vec().unwrap(), [] as [f32; 0]);
    });
}

#[test]
fn results_can_be_gathered_from() {
    on_each_device(|| {
        let sums = UInt::from([5, 6, 7, 8]).prefix_sum();
        let index = UInt::from([3, 0, 2]);
        assert_eq!((&sums + 1).gather(&index).to_vec().unwrap(), [27, 6, 19]);
        assert_eq!(sums.gather(&UInt::from(1)).item().unwrap(), 11);
    });
}

#[jit]
fn sums_in_a_loop(x: &UInt) -> UInt {
    let mut total = UInt::from(0);
    let mut i = x.zeros_like();
    while i < 3 {
        total += x.prefix_sum();
        i += 1;
    }
    total
}

#[test]
fn loop_invariant_values_are_computed_before_the_loop() {
    on_each_device(|| {
        assert_eq!(sums_in_a_loop(&UInt::from([1, 2, 3])).to_vec().unwrap(), [3, 9, 18]);
    });
}

#[jit]
fn sums_of_a_state(x: &UInt) -> UInt {
    let mut y = x.clone();
    while y < 10 {
        y = y.prefix_sum();
    }
    y
}

#[test]
#[should_panic(expected = "`prefix_reduce` reads all lanes, and those of a traced loop run independently")]
fn the_state_of_a_loop_is_refused() {
    let _ = sums_of_a_state(&UInt::from([1, 2, 3]));
}

#[test]
fn operations_that_do_not_exist_are_refused() {
    let message = |call: fn()| {
        let payload = std::panic::catch_unwind(call).unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    };
    let text = message(|| drop(Float::from([1.0]).prefix_reduce(ReduceOp::And)));
    assert!(text.contains("type f32 cannot be combined by `ReduceOp::And`") && text.contains("prefix.rs"), "{text}");
    let text = message(|| drop(Mask::from([true]).prefix_reduce(ReduceOp::Add)));
    assert!(text.contains("to count true elements"), "{text}");
    let text = message(|| drop(UInt::from([1]).block_prefix_sum(0)));
    assert!(text.contains("at least one element"), "{text}");
}

#[test]
fn long_chains_are_evaluated_and_dropped_without_recursion() {
    let mut x = UInt::from([1, 0, 0]);
    for _ in 0..5000 {
        x = x.prefix_sum().max(1);
    }
    drop(&x + 1);
    assert_eq!(x.get(1).unwrap(), 5000);
}

#[test]
fn errors_surface_when_a_result_is_read() {
    let lazy = UInt::placeholder(4).prefix_sum();
    let error = lazy.to_vec().unwrap_err().to_string();
    assert!(error.contains("placeholder"), "{error}");
}

#[test]
fn library_calls_read_arrays_as_they_were_when_recorded() {
    on_each_device(|| {
        let mut x = UInt::from([1, 2, 3]);
        let before = x.prefix_sum();
        x.scatter(10, &UInt::from([0]));
        let after = x.prefix_sum();
        let mut sums = after.clone();
        sums.scatter_add(1, &UInt::from([1, 1]));
        jit::eval(&(&x, &sums)).unwrap();
        assert_eq!(before.to_vec().unwrap(), [1, 3, 6]);
        assert_eq!(after.to_vec().unwrap(), [10, 12, 15]);
        assert_eq!(sums.to_vec().unwrap(), [10, 14, 15]);
    });
}
