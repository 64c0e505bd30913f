//! Losses, with each reduction.

use jit::nn::*;
use jit::prelude::*;
use jit::s;

use super::{Case, check_function};
use crate::on_each_device;

const REDUCTIONS: [(&str, Reduction); 3] =
    [("none", Reduction::None), ("sum", Reduction::Sum), ("mean", Reduction::Mean)];

#[test]
fn losses_of_elements_are_those_of_pytorch() {
    for (name, reduction) in REDUCTIONS {
        let both = ["x", "y"];
        check_function(&format!("mse.{name}"), &both, |x| MseLoss { reduction }.loss(&x[0], &x[1]));
        check_function(&format!("l1.{name}"), &both, |x| L1Loss { reduction }.loss(&x[0], &x[1]));
        check_function(&format!("huber.{name}"), &both, |x| HuberLoss { delta: 0.6, reduction }.loss(&x[0], &x[1]));
        let smooth = SmoothL1Loss { beta: 0.6, reduction };
        check_function(&format!("smooth_l1.{name}"), &both, |x| smooth.loss(&x[0], &x[1]));
        check_function(&format!("bce.{name}"), &both, |x| BceLoss { reduction }.loss(&x[0], &x[1]));
        let weighted = BceWithLogitsLoss { positive_weight: 1.5, reduction };
        check_function(&format!("bce_logits.{name}"), &both, |x| weighted.loss(&x[0], &x[1]));
    }
}

#[test]
fn divergences_are_those_of_pytorch() {
    for (name, reduction) in REDUCTIONS.into_iter().chain([("batchmean", Reduction::BatchMean)]) {
        let of = |log_target: bool| KlDivLoss { log_target, reduction };
        check_function(&format!("kl.{name}"), &["x", "y"], |x| of(false).loss(&x[0], &x[1]));
        check_function(&format!("kl_log.{name}"), &["x", "y"], |x| of(true).loss(&x[0], &x[1]));
    }
}

#[test]
fn cross_entropies_are_those_of_pytorch() {
    let weights = || Tensor::from([0.5f64, 1.0, 2.0, 0.25]);
    for (name, reduction) in REDUCTIONS {
        // Targets and weights are on the device that is checked.
        let check = |case: &str, loss: &dyn Fn() -> CrossEntropy<f64>| {
            let case = format!("{case}.{name}");
            check_function(&case, &["x"], |x| loss().loss(&x[0], &Case::named(&case).get("y").whole()));
        };
        let plain = || CrossEntropy::new().with_reduction(reduction);
        let smooth = || plain().with_label_smoothing(0.2);
        check("cross_entropy", &plain);
        check("cross_entropy_deep", &plain);
        check("cross_entropy_all", &|| smooth().with_weights(weights()).with_ignored(1));
        check("cross_entropy_ignored", &|| smooth().with_ignored(1));
        check("cross_entropy_weights", &|| smooth().with_weights(weights()));
        let nll = format!("nll.{name}");
        check_function(&nll, &["x"], |x| {
            let y = Case::named(&nll).get("y").whole();
            plain().with_weights(weights()).loss_of_logarithms(&log_softmax(&x[0], 1), &y)
        });
        check_function(&format!("cross_entropy_soft.{name}"), &["x", "y"], |x| {
            plain().with_weights(weights()).with_label_smoothing(0.1).loss_of_probabilities(&x[0], &x[1])
        });
    }
}

#[test]
fn a_target_that_is_no_class_makes_the_loss_not_a_number() {
    let logits = Tensor::<f32>::zeros([2, 3]);
    assert!(cross_entropy(&logits, &Tensor::from([0, 3])).item().unwrap().is_nan());
    assert!(cross_entropy(&logits, &Tensor::from([0, -1])).item().unwrap().is_nan());
    let ignoring = CrossEntropy::new().with_ignored(-1);
    assert!((ignoring.loss(&logits, &Tensor::from([0, -1])).item().unwrap() - 3f32.ln()).abs() < 1e-6);
}

/// 65504 is the largest number of `f16`.
// rows: P33
#[test]
fn losses_of_halves_add_up_in_single_precision() {
    on_each_device(|| {
        let x = Tensor::full(half::f16::from_f32(200.0), [1000]).make_opaque();
        let y = x.zeros_like();
        assert_eq!(mse_loss(&x, &y).item().unwrap().to_f32(), 40000.0);
    });
}

#[test]
fn losses_of_halves_leave_out_ignored_targets() {
    on_each_device(|| {
        let logits = Tensor::from([[1.0_f32, 2.0], [3.0, -1.0], [0.0, 5.0]]);
        let (all, others) = (Tensor::from([0_u32, 1, 0]), CrossEntropy::new().with_reduction(Reduction::None));
        let single = others.loss(&logits, &all).to_vec().unwrap();
        let halves = CrossEntropy::new().with_ignored(1).with_reduction(Reduction::None);
        let found = halves.loss(&logits.cast::<half::f16>(), &all).cast::<f32>().to_vec().unwrap();
        assert_eq!(found[1], 0.0);
        assert!((found[0] - single[0]).abs() < 2e-3 && (found[2] - single[2]).abs() < 4e-3, "{found:?} {single:?}");
    });
}

#[test]
fn classes_with_64_bits_are_not_cut() {
    let logits = Tensor::<f32>::zeros([1, 3]);
    assert!(cross_entropy(&logits, &Tensor::from([(1_i64 << 32) + 1])).item().unwrap().is_nan());
    assert!(cross_entropy(&logits, &Tensor::from([(1_u64 << 32) + 1])).item().unwrap().is_nan());
}

#[test]
fn a_target_of_minus_100_is_ignored_unless_another_one_is() {
    on_each_device(|| {
        let logits = Tensor::from([[1.0_f32, 2.0, 0.5], [3.0, -1.0, 0.0]]);
        let one = cross_entropy(&logits.slice(s![0..1]), &Tensor::from([2])).item().unwrap();
        assert!((cross_entropy(&logits, &Tensor::from([2, -100])).item().unwrap() - one).abs() < 1e-6);
        let other = CrossEntropy::new().with_ignored(-1);
        assert!(other.loss(&logits, &Tensor::from([2, -100])).item().unwrap().is_nan());
        assert!((cross_entropy(&logits, &Tensor::from([2_i8, -100])).item().unwrap() - one).abs() < 1e-6);
    });
}
