//! Statistical tests.

/// Compares the largest distance between the distribution of numbers and a distribution function (Kolmogorov and
/// Smirnov) with the distance that one in a thousand random samples exceeds: 1.95 / √n.
#[track_caller]
pub(super) fn assert_distributed(numbers: impl IntoIterator<Item = f64>, distribution: impl Fn(f64) -> f64) {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len() as f64;
    let distance = numbers.iter().enumerate().map(|(i, &number)| {
        let wanted = distribution(number);
        (wanted - i as f64 / count).abs().max((wanted - (i as f64 + 1.0) / count).abs())
    });
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / count.sqrt(), "the distributions differ by {distance} for {count} numbers");
}

/// Pearson's test that all classes are equally frequent: χ² minus its expectation, the degrees of freedom, in its
/// standard deviations. Less than one in ten thousand is beyond 4.5, and also beyond -3.7.
#[track_caller]
pub(super) fn assert_equally_frequent(classes: impl IntoIterator<Item = usize>, count: usize) {
    let mut found = vec![0_u32; count];
    classes.into_iter().for_each(|class| found[class] += 1);
    let expected = f64::from(found.iter().sum::<u32>()) / count as f64;
    assert!(expected >= 5.0, "{expected} numbers a class are too few for the test");
    let chi_square: f64 = found.iter().map(|&found| (f64::from(found) - expected).powi(2) / expected).sum();
    let freedom = count as f64 - 1.0;
    let deviations = (chi_square - freedom) / (2.0 * freedom).sqrt();
    assert!((-3.7..4.5).contains(&deviations), "χ² is {chi_square} for {freedom} degrees of freedom: {found:?}");
}

/// Checks that two columns of numbers are not correlated: the coefficient times √n is nearly normal, so one in ten
/// thousand exceeds 4.
#[track_caller]
pub(super) fn assert_uncorrelated(a: &[f64], b: &[f64]) {
    let count = a.len() as f64;
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / count;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let moment = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum()
    };
    let scale = (moment(a, mean_a, a, mean_a) * moment(b, mean_b, b, mean_b)).sqrt();
    let coefficient = moment(a, mean_a, b, mean_b) / scale;
    assert!(coefficient.abs() * count.sqrt() < 4.0, "the correlation is {coefficient}");
}

/// The distribution function of the standard normal distribution, by the series of its integral (G. Marsaglia,
/// “Evaluating the Normal Distribution”, 2004).
pub(super) fn normal_distribution(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut sum, mut term, mut i) = (x, x, 3.0);
    while sum + term != sum {
        term *= x * x / i;
        sum += term;
        i += 2.0;
    }
    0.5 + sum * (-0.5 * x * x - 0.918_938_533_204_672_8).exp()
}

#[test]
fn the_tests_find_what_is_wrong() {
    let fails = |what: &str, test: fn()| {
        let message = *std::panic::catch_unwind(test).unwrap_err().downcast::<String>().unwrap();
        message.contains(what)
    };
    assert!(fails("the distributions differ by", || assert_distributed(
        (0..1000).map(|i| (f64::from(i) / 1000.0).powf(1.2)),
        |x| x
    )));
    assert!(fails("χ² is", || assert_equally_frequent((0..10_000).map(|i| i % 11 % 10), 10)));
    assert!(fails("the correlation is", || {
        let numbers: Vec<f64> = (0..100).map(f64::from).collect();
        assert_uncorrelated(&numbers, &numbers);
    }));
    assert!((normal_distribution(1.0) - 0.841_344_746_068_542_9).abs() < 1e-15);
}
