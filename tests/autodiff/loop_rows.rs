//! Loops with known derivatives.

use jit::prelude::*;
use jit::{Float64, ad};

use crate::loops::check;
use crate::{assert_close, on_each_device};

/// Returns the gradients of all elements of a result.
#[track_caller]
fn gradients(x: &[f64], function: impl Fn(&Float64) -> Float64) -> Vec<f64> {
    ad::grad(|x: &Float64| function(x).sum())(&Float64::from(x.to_vec())).unwrap().to_vec().unwrap()
}

/// Returns the tangents of all elements of a result, for a tangent of one.
#[track_caller]
fn tangents(x: &[f64], function: impl Fn(&Float64) -> Float64) -> Vec<f64> {
    let x = Float64::from(x.to_vec());
    let (_, tangent) = ad::jvp(function, &x, &x.ones_like()).unwrap();
    tangent.to_vec().unwrap()
}

#[jit]
fn doubled(x: &Float64, n: &UInt) -> Float64 {
    let (mut y, mut k) = (x.clone(), UInt::from(0));
    while k < n {
        y *= 2.0;
        k += 1;
    }
    y
}

// rows: A141 A154 A156
#[test]
fn doubling() {
    on_each_device(|| {
        let (_, tangent) =
            ad::jvp(|x: &Float64| doubled(x, &UInt::from(5)), &Float64::from(1.0), &Float64::from(1.1)).unwrap();
        assert_close(&tangent.to_vec().unwrap(), &[35.2], 1e-12);
        assert_eq!(gradients(&[1.0, 2.0], |x| doubled(x, &UInt::from(3))), [8.0, 8.0]);
        let n = UInt::from([1, 2, 3, 4]);
        assert_eq!(gradients(&[1.0, 1.0, 1.0, 1.0], |x| doubled(x, &n)), [2.0, 4.0, 8.0, 16.0]);
        assert_eq!(tangents(&[1.0, 1.0, 1.0, 1.0], |x| doubled(x, &n)), [2.0, 4.0, 8.0, 16.0]);
    });
}

#[jit]
fn coupled(start: &[Float64; 10], n: u32) -> [Float64; 10] {
    let mut v = start.clone();
    let mut i = UInt::from(0);
    while i < n {
        let before = v.clone();
        for (k, value) in v.iter_mut().enumerate().skip(1) {
            *value += &before[k - 1];
        }
        i += 1;
    }
    v
}

// rows: A142
#[test]
fn coupled_states_have_binomial_derivatives() {
    on_each_device(|| {
        let start: [Float64; 10] = std::array::from_fn(|k| Float64::from([k as f64, 1.0]));
        let moved = std::array::from_fn(|k| Float64::full(if k == 5 { 1.0 } else { 0.0 }, 2));
        let (_, tangent) = ad::jvp(|v: &[Float64; 10]| coupled(v, 3), &start, &moved).unwrap();
        let got: Vec<f64> = tangent.iter().map(|tangent| tangent.get(0).unwrap()).collect();
        assert_eq!(got, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0, 1.0, 0.0]);
        let back = ad::grad(|v: &[Float64; 10]| coupled(v, 3)[8].sum())(&start).unwrap();
        let got: Vec<f64> = back.iter().map(|gradient| gradient.get(1).unwrap()).collect();
        assert_eq!(got, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0, 1.0, 0.0]);
    });
}

#[jit]
fn power_series(x: &Float64, n: u32) -> Float64 {
    let (mut y, mut i) = (Float64::from(0.0), UInt::from(0));
    while i < n {
        y += x.powf(i.cast::<f64>());
        i += 1;
    }
    y
}

// rows: A143 A144 A158
#[test]
fn a_sum_of_powers() {
    on_each_device(|| {
        let x = [0.25, 0.5, 0.75, 1.0];
        let values = power_series(&Float64::from(x), 10).to_vec().unwrap();
        assert_close(&values, &[1.33333, 1.99805, 3.77475, 10.0], 1e-5);
        let wanted = [1.77773, 3.95703, 12.0956, 45.0];
        assert_close(&gradients(&x, |x| power_series(x, 10)), &wanted, 1e-5);
        assert_close(&gradients(&x, |x| power_series(&x.clone(), 10)), &wanted, 1e-5);
        assert_close(&tangents(&x, |x| power_series(x, 10)), &wanted, 1e-5);
    });
}

#[jit]
fn gathered(table: &Float64, lanes: u32, n: u32) -> Float64 {
    let lane = UInt::arange(lanes as usize);
    let (mut sum, mut i) = (Float64::from(0.0), UInt::from(0));
    while i < n {
        let mut j = UInt::from(0);
        while j < 2 {
            sum += table.gather(&((&lane + &i + &j) % table.width()));
            j += 1;
        }
        i += 1;
    }
    sum
}

// rows: A146 A147 A153 A162
#[test]
fn gathers_in_loops_and_inner_loops() {
    on_each_device(|| {
        // Ten elements, each read twice for each of four steps.
        assert_eq!(gradients(&[1.0; 10], |x| gathered(x, 10, 4)), [8.0; 10]);
        assert_eq!(tangents(&[1.0; 10], |x| gathered(x, 10, 4)), [8.0; 10]);
        assert_eq!(gradients(&[1.0; 4], |x| gathered(x, 8, 4)), [16.0; 4]);
        assert_close(
            &gradients(&[2.0, 3.0, 4.0, 5.0], product_of_three),
            &[48.0, 32.0, 24.0, 0.0].map(|w| w / 4.0),
            1e-12,
        );
    });
}

#[jit]
fn product_of_three(table: &Float64) -> Float64 {
    let (mut product, mut i) = (Float64::from(1.0), UInt::from(0));
    while i < 3 {
        product *= table.gather(&i);
        i += 1;
    }
    product
}

#[jit]
fn newton(x: &Float64) -> Float64 {
    let (mut y, mut i) = (x.clone(), UInt::from(0));
    while i < 50 {
        y = 0.5 * (&y + x / &y);
        i += 1;
    }
    y
}

// rows: A145
#[test]
fn newtons_square_root() {
    on_each_device(|| {
        let x = [0.5, 2.0, 9.0];
        assert_close(&gradients(&x, newton), &x.map(|x: f64| 0.5 / x.sqrt()), 1e-12);
        assert_close(&tangents(&x, newton), &x.map(|x: f64| 0.5 / x.sqrt()), 1e-12);
    });
}

#[jit]
fn products(x: &Float64, n: u32) -> Float64 {
    let (mut y, mut i) = (x.clone(), UInt::from(0));
    while i < n {
        y = (y + 1.0) * x;
        i += 1;
    }
    y
}

#[jit]
fn fibonacci(a: &Float64, b: &Float64, n: u32) -> Float64 {
    let (mut a, mut b, mut i) = (a.clone(), b.clone(), UInt::from(0));
    while i < n {
        (a, b) = (b.clone(), a + &b);
        i += 1;
    }
    &a * 0.0 + b
}

#[jit]
fn squares(x: &Float64) -> Float64 {
    let (mut y, mut i) = (Float64::from(0.0), UInt::from(0));
    while i < 2 {
        let (mut inner, mut j) = (Float64::from(1.0), UInt::from(0));
        while j <= &i {
            inner = inner * x + x;
            j += 1;
        }
        y = &y * x + inner;
        i += 1;
    }
    y
}

// rows: A152 A155 A157 A160 A166
#[test]
fn states_that_are_multiplied() {
    on_each_device(|| {
        let x = [0.5, 1.5, 2.0];
        assert_close(&gradients(&x, |x| products(x, 4)), &tangents(&x, |x| products(x, 4)), 1e-12);
        assert_eq!(gradients(&x, |x| products(x, 1)), x.map(|x| 2.0 * x + 1.0));
        let one = Float64::from([1.0, 1.0]);
        let both = ad::grad(|(a, b): &(Float64, Float64)| fibonacci(a, b, 4).sum())(&(one.clone(), one)).unwrap();
        assert_eq!((both.0.to_vec().unwrap(), both.1.to_vec().unwrap()), (vec![3.0; 2], vec![5.0; 2]));
        // 2x x + (2x x + x)
        let wanted = x.map(|x| 8.0 * x + 1.0);
        assert_close(&gradients(&x, squares), &wanted, 1e-12);
        assert_close(&tangents(&x, squares), &wanted, 1e-12);
        let bounded = ad::value_and_grad(|x: &Float64| power_of(x, 3))(&Float64::from(2.0)).unwrap();
        assert_eq!((bounded.0.item().unwrap(), bounded.1.item().unwrap()), (16.0, 32.0));
    });
}

#[jit]
fn power_of(x: &Float64, n: u32) -> Float64 {
    let (mut power, mut i) = (x.clone(), UInt::from(0));
    #[max_iterations(5)]
    while i < n {
        power *= x;
        i += 1;
    }
    power
}

#[jit]
fn sum_of_powers(x: &Float64, n: &UInt) -> Float64 {
    let (mut sum, mut i) = (Float64::from(0.0), UInt::from(0));
    #[max_iterations(5)]
    while i < n {
        sum += x.powf(i.cast::<f64>());
        i += 1;
    }
    sum
}

/// Too many steps for them to be stored one by one.
#[jit]
fn many_powers(x: &Float64, n: &UInt) -> Float64 {
    let (mut power, mut i) = (x.clone(), UInt::from(0));
    #[max_iterations(1000)]
    while i < n {
        power = power.sin() * x;
        i += 1;
    }
    power
}

#[jit]
fn few_powers(x: &Float64, n: &UInt) -> Float64 {
    let (mut power, mut i) = (x.clone(), UInt::from(0));
    #[max_iterations(5)]
    while i < n {
        power *= x;
        i += 1;
    }
    power
}

// rows: A163 A204
#[test]
fn a_bound_that_is_exceeded_is_an_error_of_derivatives_too() {
    on_each_device(|| {
        type Counted = fn(&Float64, &UInt) -> Float64;
        let functions: [(Counted, u32); 3] = [(few_powers, 5), (sum_of_powers, 5), (many_powers, 1000)];
        for (function, limit) in functions {
            let is_bound = |what: jit::Result<Vec<f64>>| {
                let error = what.unwrap_err().to_string();
                let message = format!("lane 1 runs more than the {limit} iterations that `#[max_iterations]` allows");
                assert!(error.contains(&message), "{error}");
            };
            let mut x = Float64::from([0.9, 0.8]);
            let tangents = |n: u32| {
                let n = UInt::from([1, n]);
                ad::jvp(|x: &Float64| function(x, &n), &x.detach(), &Float64::from(1.0)).and_then(|(_, y)| y.to_vec())
            };
            let wanted = tangents(limit).unwrap();
            is_bound(tangents(limit + 1));
            x.enable_grad();
            let gradients = |n: u32| {
                x.clear_grad();
                function(&x, &UInt::from([1, n])).backward().and_then(|()| x.grad().to_vec())
            };
            is_bound(gradients(limit + 1));
            assert_close(&gradients(limit).unwrap(), &wanted, 1e-12);
            is_bound(
                ad::hvp(
                    |x: &Float64| function(x, &UInt::from([1, limit + 1])).sum(),
                    &Float64::from([0.9, 0.8]),
                    &Float64::from([1.0, 1.0]),
                )
                .and_then(|product| product.to_vec()),
            );
        }
    });
}

#[jit]
fn passengers(carried: &[Float64; 32], n: u32) -> Float64 {
    let all = carried.clone();
    let (mut y, mut count, mut i) = (all[3].clone(), UInt::from(7), UInt::from(0));
    while i < n {
        y = &y * &all[5] + 1.0;
        count += 2;
        i += 1;
    }
    y + count.cast::<f64>()
}

// rows: A149 A164 A203
#[test]
fn values_that_a_loop_does_not_change() {
    on_each_device(|| {
        for _ in 0..10 {
            let carried: [Float64; 32] = std::array::from_fn(|k| Float64::from(vec![0.1 + k as f64; 1 + k % 2 * 2]));
            let back = ad::grad(|all: &[Float64; 32]| passengers(all, 2).sum())(&carried).unwrap();
            for (k, gradient) in back.iter().enumerate() {
                // ((y a + 1) a + 1): by y it is a², by a it is 2 y a + 1; of three lanes.
                let (y, a) = (3.1, 5.1);
                let wanted = [0.0, a * a, 2.0 * y * a + 1.0][usize::from(k == 3) + 2 * usize::from(k == 5)];
                assert_close(&gradient.to_vec().unwrap(), &vec![wanted; 1 + k % 2 * 2], 1e-12);
            }
        }
    });
}

#[jit]
fn accumulated(x: &Float64, y: &Float64) -> Float64 {
    let (mut sum, mut i) = (Float64::from(0.0), UInt::from(0));
    while i < 4 {
        sum += x * y;
        i += 1;
    }
    sum
}

// rows: A167
#[test]
fn one_of_two_captured_values() {
    on_each_device(|| {
        let (x, y) = (Float64::from(2.0), Float64::from(3.0));
        assert_eq!(gradients(&[2.0], |x| accumulated(x, &y)), [12.0]);
        assert_eq!(gradients(&[3.0], |y| accumulated(&x, y)), [8.0]);
        assert_eq!(tangents(&[2.0], |x| accumulated(x, &y)), [12.0]);
        assert_eq!(tangents(&[3.0], |y| accumulated(&x, y)), [8.0]);
    });
}

/// The place of the write is a state that neither the condition nor the value reads.
#[jit]
fn written_at_a_state_of_its_own(x: &Float64) -> Float64 {
    let mut sums = Float64::zeros(40);
    let (mut step, mut place) = (UInt::from(0), UInt::arange(x.width()));
    while step < 5 {
        sums.scatter_add(x * x, &place);
        step += 1;
        place += 7;
    }
    sums
}

#[test]
fn tangents_are_written_where_the_loop_writes() {
    check(written_at_a_state_of_its_own);
}
