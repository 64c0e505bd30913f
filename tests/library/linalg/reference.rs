//! Plain Rust in double precision, and random lanes.

/// A matrix of the host.
pub(crate) type Host<const N: usize> = [[f64; N]; N];

/// Numbers between -1 and 1, the same in each run (Knuth's MMIX generator).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn vector<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.number())
    }

    pub(crate) fn matrix<const N: usize>(&mut self) -> Host<N> {
        std::array::from_fn(|_| self.vector())
    }

    pub(crate) fn symmetric<const N: usize>(&mut self) -> Host<N> {
        let a = self.matrix::<N>();
        build(|i, k| a[i.min(k)][i.max(k)])
    }
}

pub(crate) fn build<const N: usize>(entry: impl Fn(usize, usize) -> f64) -> Host<N> {
    std::array::from_fn(|i| std::array::from_fn(|k| entry(i, k)))
}

pub(crate) fn identity<const N: usize>() -> Host<N> {
    build(|i, k| f64::from(u8::from(i == k)))
}

pub(crate) fn product<const N: usize>(a: &Host<N>, b: &Host<N>) -> Host<N> {
    build(|i, k| (0..N).map(|j| a[i][j] * b[j][k]).sum())
}

pub(crate) fn transpose<const N: usize>(a: &Host<N>) -> Host<N> {
    build(|i, k| a[k][i])
}

pub(crate) fn apply<const N: usize>(a: &Host<N>, x: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i].iter().zip(x).map(|(a, x)| a * x).sum())
}

/// The largest difference of entries.
pub(crate) fn distance<const N: usize>(a: &Host<N>, b: &Host<N>) -> f64 {
    let differences = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |max, d| if d.is_nan() { f64::NAN } else { f64::max(max, d) })
}

pub(crate) fn max_norm<const N: usize>(a: &Host<N>) -> f64 {
    a.iter().flatten().fold(0.0, |max: f64, x| max.max(x.abs()))
}

pub(crate) fn single<const N: usize>(a: &Host<N>) -> [[f32; N]; N] {
    a.map(|row| row.map(|x| x as f32))
}

pub(crate) fn double<const N: usize>(a: [[f32; N]; N]) -> Host<N> {
    a.map(|row| row.map(f64::from))
}

/// By Gaussian elimination with the largest pivots.
pub(crate) fn inverse<const N: usize>(a: &Host<N>) -> Host<N> {
    let (mut a, mut b) = (*a, identity());
    for k in 0..N {
        let pivot = (k..N).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in (0..N).filter(|&i| i != k) {
            let factor = a[i][k] / a[k][k];
            for j in 0..N {
                a[i][j] -= factor * a[k][j];
                b[i][j] -= factor * b[k][j];
            }
        }
        let pivot = a[k][k];
        a[k] = a[k].map(|x| x / pivot);
        b[k] = b[k].map(|x| x / pivot);
    }
    b
}

/// The largest sum of the absolute values of a row, times that of the inverse.
pub(crate) fn condition<const N: usize>(a: &Host<N>) -> f64 {
    let norm = |m: &Host<N>| m.iter().map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    norm(a) * norm(&inverse(a))
}
