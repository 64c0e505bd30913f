//! Scopes: where gradients do not flow, where they wait, and where a traversal may find no variable.

use jit::ad::{self, Keep, Mode};
use jit::prelude::*;

use crate::on_each_device;

fn variable(value: f32) -> Float {
    let mut x = Float::from(value);
    x.enable_grad();
    x
}

fn grad(x: &Float) -> f32 {
    x.grad().item().unwrap()
}

// rows: A095 A096
#[test]
fn chosen_variables_are_suspended_and_resumed() {
    on_each_device(|| {
        let (a, b, c) = (variable(1.0), variable(2.0), variable(3.0));
        let enabled = || [&a, &b, &c].map(Float::grad_enabled);
        assert_eq!(enabled(), [true; 3]);
        ad::suspend(|| {
            assert_eq!(enabled(), [false; 3]);
            ad::resume_for(&(&a, &b), || {
                assert_eq!(enabled(), [true, true, false]);
                ad::suspend_for(&b, || assert_eq!(enabled(), [true, false, false]));
                ad::resume_for(&c, || assert_eq!(enabled(), [true; 3]));
                ad::suspend(|| assert_eq!(enabled(), [false; 3]));
                ad::resume(|| assert_eq!(enabled(), [true; 3]));
                assert_eq!(enabled(), [true, true, false]);
            });
            assert_eq!(enabled(), [false; 3]);
        });
        ad::suspend_for(&(&a, &b), || {
            assert_eq!(enabled(), [false, false, true]);
            ad::resume_for(&b, || assert_eq!(enabled(), [false, true, true]));
            ad::resume(|| assert_eq!(enabled(), [true; 3]));
            ad::suspend_for(&c, || assert_eq!(enabled(), [false; 3]));
            assert!(variable(1.0).grad_enabled());
        });
        ad::suspend(|| assert!(!variable(1.0).grad_enabled()));
        assert_eq!(enabled(), [true; 3]);
    });
}

/// The gradients of a, b and c of a program that is recorded in a scope.
fn gradients(scope: impl Fn(&[Float; 3], &dyn Fn() -> Float) -> Float) -> [f32; 3] {
    let all = [2.0, 3.0, 5.0].map(variable);
    let program = || {
        let [a, b, c] = &all;
        let product = a * b;
        let mut table = Float::zeros(4);
        table.scatter_add(product * c + a.sin() * 0.0, &UInt::from([1, 1, 2]));
        // Variables themselves, in memory and in an operation with a derivative of its own.
        table.scatter_add(c, &UInt::from([3]));
        let extra = table.gather(&UInt::from([3])) + b.prefix_sum();
        let sum = Tensor::from_array(b * Float::from([1.0, 1.0]), [1, 2]).sum(1);
        (table.gather(&UInt::from([1, 1])) * a).sum() + sum.array() + extra
    };
    let result = scope(&all, &program);
    ad::allow_no_grad(|| result.backward()).unwrap();
    // The value is the same.
    assert_eq!(result.item().unwrap(), 2.0 * 60.0 * 2.0 + 6.0 + 8.0);
    all.each_ref().map(grad)
}

#[test]
fn operations_see_only_what_is_chosen() {
    on_each_device(|| {
        // 4 a² b c + 3 b + c
        let (of_a, of_b, of_c) = (8.0 * 2.0 * 15.0, 4.0 * 4.0 * 5.0 + 3.0, 4.0 * 4.0 * 3.0 + 1.0);
        assert_eq!(gradients(|_, f| f()), [of_a, of_b, of_c]);
        assert_eq!(gradients(|all, f| ad::suspend_for(&all[0], f)), [0.0, of_b, of_c]);
        assert_eq!(gradients(|all, f| ad::suspend_for(&all[1..], f)), [of_a, 0.0, 0.0]);
        assert_eq!(gradients(|all, f| ad::suspend(|| ad::resume_for(&all[1], f))), [0.0, of_b, 0.0]);
        assert_eq!(gradients(|all, f| ad::suspend(|| ad::resume_for(&(&all[0], &all[2]), f))), [of_a, 0.0, of_c]);
        assert_eq!(gradients(|_, f| ad::suspend(f)), [0.0; 3]);
        // An equal expression from before the scope is another one.
        let [x, y] = [2.0, 3.0].map(variable);
        let before = &x * &y;
        let inside = ad::suspend_for(&x, || &x * &y);
        (&before + &inside * 10.0).backward().unwrap();
        assert_eq!((grad(&x), grad(&y)), (3.0, 22.0));
        // What was computed before is another value than the variable.
        let square = &x * &x;
        x.clear_grad();
        ad::suspend_for(&x, || &square * &x).backward().unwrap();
        assert_eq!(grad(&x), 8.0);
        // What a scope inside computes from chosen values is chosen.
        let [x, y] = [2.0, 3.0].map(variable);
        let z = ad::suspend(|| {
            ad::resume_for(&x, || {
                let product = ad::resume_for(&y, || &x * &y);
                product * &x * &y
            })
        });
        z.backward().unwrap();
        assert_eq!((grad(&x), grad(&y)), (36.0, 12.0));
    });
}

// rows: A097
#[test]
fn isolated_gradients_leave_scope_by_scope() {
    on_each_device(|| {
        for keep in [Keep::Nothing, Keep::Graph] {
            let a = variable(1.0);
            let b = 2.0 * &a;
            let now = |c: &Float| (grad(c), grad(&b), grad(&a));
            ad::isolate(|| {
                let c = 2.0 * &b;
                ad::isolate(|| {
                    let d = 2.0 * &c;
                    ad::enqueue(Mode::Backward, &d);
                    ad::traverse(Mode::Backward, keep).unwrap();
                    assert_eq!(now(&c), (2.0, 0.0, 0.0));
                    // A second result that shares the way.
                    (&c * 1.5).backward().unwrap();
                    assert_eq!(now(&c), (3.5, 0.0, 0.0));
                })
                .unwrap();
                assert_eq!(now(&c), (0.0, 7.0, 0.0));
            })
            .unwrap();
            assert_eq!((grad(&b), grad(&a)), (0.0, 14.0));
            assert_eq!(b.backward().is_ok(), keep == Keep::Graph);
        }
    });
}

#[test]
fn isolated_scopes_stop_at_what_was_evaluated_before_and_at_results_of_operations() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0, 3.0]);
        x.enable_grad();
        let (sums, squares) = (x.prefix_sum(), &x * &x);
        jit::eval(&squares).unwrap();
        ad::isolate(|| {
            for round in 1..4 {
                let y = &sums * &squares * round as f32;
                jit::eval(&y).unwrap();
                y.backward().unwrap();
            }
            assert_eq!(x.grad().to_vec().unwrap(), [0.0; 3]);
            assert_eq!(sums.grad().to_vec().unwrap(), [6.0, 24.0, 54.0]);
            // Variables get their gradients at once.
            (&x * 0.5).backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), [0.5; 3]);
            let mut own = Float::from(4.0);
            own.enable_grad();
            (&own * &own).backward().unwrap();
            assert_eq!(grad(&own), 8.0);
        })
        .unwrap();
        // 0.5 and 6 (sum of squares behind + 2 x · sum of what is before)
        assert_eq!(x.grad().to_vec().unwrap(), [0.5 + 6.0 * 16.0, 0.5 + 6.0 * 25.0, 0.5 + 6.0 * 45.0]);
    });
}

#[test]
fn an_isolated_scope_that_fails_leaves_the_next_one_right() {
    let a = variable(1.0);
    let b = 2.0 * &a;
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        ad::isolate(|| {
            (&b * 3.0).backward().unwrap();
            std::panic::resume_unwind(Box::new("the end"));
        })
    }));
    assert!(panic.is_err());
    assert_eq!((grad(&a), grad(&b)), (0.0, 0.0));
    (&b * 5.0).backward().unwrap();
    assert_eq!(grad(&a), 10.0);
}

// rows: A098
#[test]
fn tangents_flow_to_several_results_one_after_another() {
    on_each_device(|| {
        let a = variable(1.0);
        a.set_grad(&Float::from(2.0));
        let (b, c) = (2.0 * &a, 3.0 * &a);
        assert_eq!(ad::forward_to(&b).unwrap().item().unwrap(), 4.0);
        assert_eq!(ad::forward_to(&c).unwrap().item().unwrap(), 6.0);
        let inside = ad::isolate(|| (ad::forward_to(&(&b * 1.0)), ad::forward_to(&c))).unwrap();
        assert_eq!((inside.0.unwrap().item().unwrap(), inside.1.unwrap().item().unwrap()), (4.0, 6.0));
    });
}

#[test]
fn a_result_without_a_variable_is_an_error_unless_allowed() {
    on_each_device(|| {
        let constant = Float::from([1.0, 2.0]) * 2.0;
        let queued = || {
            ad::enqueue(Mode::Backward, &constant);
            ad::traverse(Mode::Backward, Keep::Nothing)
        };
        let all: [&dyn Fn() -> Result<(), jit::Error>; 9] = [
            &|| constant.backward(),
            &|| constant.forward(),
            &|| ad::backward(&(&constant, &constant)),
            &|| ad::backward_keep(&constant),
            &|| ad::backward_from(&constant),
            &|| ad::forward_from(&constant),
            &|| ad::forward_to(&constant).map(drop),
            &|| ad::backward_to(&constant, &constant).map(drop),
            &queued,
        ];
        for (position, traversal) in all.iter().enumerate() {
            let error = traversal().unwrap_err().to_string();
            assert!(
                error.contains("does not depend on a variable") && error.contains("scopes.rs"),
                "{position} {error}"
            );
            ad::allow_no_grad(traversal).unwrap();
            assert!(traversal().is_err());
        }
        let zeros = ad::allow_no_grad(|| ad::backward_to(&constant, &constant)).unwrap();
        assert_eq!(zeros.to_vec().unwrap(), [0.0, 0.0]);
        // Allowed or not, what does depend on one flows.
        let x = variable(3.0);
        ad::allow_no_grad(|| (&x * &x).backward()).unwrap();
        assert_eq!(grad(&x), 6.0);
        // Other errors stay errors.
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let mut y = x.clone();
        let old = y.scatter_exchange(Float::from(1.0), &UInt::from([0]));
        assert!(ad::allow_no_grad(|| old.backward()).is_err());
    });
}

#[test]
fn enqueued_values_are_traversed_once() {
    on_each_device(|| {
        let x = variable(3.0);
        let (y, z) = (&x * &x, 5.0 * &x);
        assert!(ad::traverse(Mode::Backward, Keep::Nothing).is_ok());
        // The same value twice, a value in two trees, a value that carries nothing, and both directions.
        y.set_grad(&Float::from(10.0));
        ad::enqueue(Mode::Backward, &y);
        ad::enqueue(Mode::Backward, &(&y, &z, Float::from(1.0), UInt::from(1)));
        ad::enqueue(Mode::Forward, &x);
        ad::traverse(Mode::Backward, Keep::Graph).unwrap();
        assert_eq!(grad(&x), 65.0);
        // Nothing is left of that direction, and the stored gradient of the variable is the start of the other one.
        ad::traverse(Mode::Backward, Keep::Graph).unwrap();
        assert_eq!(grad(&x), 65.0);
        z.clear_grad();
        ad::traverse(Mode::Forward, Keep::Nothing).unwrap();
        assert_eq!(grad(&z), 325.0);
        // A variable that is enqueued keeps what it has, and gets what flows to it.
        x.set_grad(&Float::from(7.0));
        ad::enqueue(Mode::Backward, &(&x, &(&x * 2.0)));
        ad::traverse(Mode::Backward, Keep::Nothing).unwrap();
        assert_eq!(grad(&x), 9.0);
        // What was released before the traversal is an error, and the queue is empty after it.
        let w = &x * &x;
        ad::enqueue(Mode::Backward, &w);
        w.backward().unwrap();
        assert!(ad::traverse(Mode::Backward, Keep::Nothing).is_err());
        assert!(ad::traverse(Mode::Backward, Keep::Nothing).is_ok());
        // Queues belong to their thread.
        let v = &x * &x;
        ad::enqueue(Mode::Backward, &v);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(ad::traverse(Mode::Backward, Keep::Nothing).is_ok()));
        });
        x.clear_grad();
        ad::traverse(Mode::Backward, Keep::Nothing).unwrap();
        assert_eq!(grad(&x), 6.0);
    });
}

#[test]
fn what_is_read_at_other_lanes_of_a_detached_expression_carries_no_gradients() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0, 3.0]);
        x.enable_grad();
        let mirrored = UInt::from([2, 1, 0]);
        let doubled = &x * 2.0;
        let reads: [&dyn Fn() -> Float; 5] = [
            &|| doubled.detach().gather(&mirrored),
            &|| (doubled.detach() + 1.0).gather(&mirrored),
            &|| x.detach().gather(&mirrored).gather(&mirrored),
            &|| ad::suspend(|| &x * &x).gather(&mirrored),
            &|| Tensor::from_array(doubled.detach(), [1, 3]).transpose().into_array(),
        ];
        for (number, read) in reads.iter().enumerate() {
            let y = read();
            assert!(!y.grad_enabled(), "{number}");
            let gradient = ad::grad(|x: &Float| {
                let doubled = x * 2.0;
                (doubled.detach().gather(&mirrored) * x).sum()
            });
            assert_eq!(gradient(&x.detach()).unwrap().to_vec().unwrap(), [6.0, 4.0, 2.0]);
        }
    });
}

type Named = (&'static str, fn(&Float) -> Float);

/// Operations that fold to their operand, each of one element.
fn operations_that_change_nothing() -> Vec<Named> {
    vec![
        ("x * 1", |x| x * 1.0),
        ("-(-x)", |x| -(-x)),
        ("max", |x| x.max(f32::NEG_INFINITY)),
        ("mul_add", |x| x.mul_add(1.0, -0.0)),
        ("select", |x| Mask::from(true).select(x, 2.0)),
        ("cast", |x| x.cast::<f32>()),
        ("powi", |x| x.powi(1)),
        ("sum", |x| x.sum()),
        ("mean", |x| x.mean()),
        ("block_sum", |x| x.block_sum(1)),
        ("gather", |x| x.gather(&UInt::from(0))),
        ("slice", |x| x.slice(0..1)),
        ("reverse", |x| x.reverse()),
        ("tile", |x| x.tile(1)),
        ("repeat", |x| x.repeat(1)),
        ("shift", |x| x.shift(0)),
        ("roll", |x| x.roll(1)),
        ("sort", |x| x.sort()),
        ("concat", |x| Float::concat(&[x])),
        ("reshape", |x| Tensor::from_array(x.clone(), [1, 1]).reshape([1]).into_array()),
        ("transpose", |x| Tensor::from_array(x.clone(), [1, 1]).transpose().into_array()),
        ("squeeze", |x| Tensor::from_array(x.clone(), [1, 1]).squeeze(..).into_array()),
        ("sum of a tensor", |x| Tensor::from_array(x.clone(), [1, 1]).sum(0).into_array()),
    ]
}

/// The mean of one element is that element, which carried gradients.
#[test]
fn operations_that_changed_nothing_let_gradients_out_of_suspended_scopes() {
    on_each_device(|| {
        for (name, operation) in operations_that_change_nothing() {
            let (x, y) = (variable(3.0), variable(5.0));
            let [of_all, of_x] = [ad::suspend(|| operation(&x)), ad::suspend_for(&x, || operation(&x))];
            (&x * of_all).backward().unwrap();
            assert_eq!(grad(&x), 3.0, "{name}, suspended");
            (&x * of_x).backward().unwrap();
            assert_eq!(grad(&x), 6.0, "{name}, suspended for the variable");
            (&x * ad::suspend_for(&y, || operation(&x))).backward().unwrap();
            assert_eq!(grad(&x), 12.0, "{name}, suspended for another one");
            (&x * ad::suspend(|| ad::resume(|| operation(&x)))).backward().unwrap();
            assert_eq!(grad(&x), 18.0, "{name}, resumed");
            (&x * ad::suspend(|| ad::resume_for(&x, || operation(&x)))).backward().unwrap();
            assert_eq!(grad(&x), 24.0, "{name}, resumed for the variable");
        }
    });
}
