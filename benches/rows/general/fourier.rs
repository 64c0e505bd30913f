//! A Fourier transform: each pass gathers from the one before.

use std::f64::consts::TAU;
use std::mem::swap;

use jit::prelude::*;

use super::{Numbers, Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// Complex numbers.
#[derive(Clone, Traverse)]
struct Signal {
    re: Float,
    im: Float,
}

/// The transform of radix 2 by T. Stockham (1966), which leaves the result in order.
#[jit]
fn transformed(signal: &Signal, roots: &Signal, n: u32) -> Signal {
    let i = UInt::arange(n as usize);
    let mut now = signal.clone();
    let mut stride = 1;
    while stride < n {
        let place = i % stride;
        let pair = i / stride / 2;
        let is_odd = i / stride % 2 == 1;
        let first = place + pair * stride;
        let second = first + n / 2;
        let (a_re, a_im) = (now.re[first], now.im[first]);
        let (b_re, b_im) = (now.re[second], now.im[second]);
        if is_odd {
            let (re, im) = (a_re - b_re, a_im - b_im);
            let (c, s) = (roots.re[pair * stride], roots.im[pair * stride]);
            now = Signal { re: re * c - im * s, im: re * s + im * c };
        } else {
            now = Signal { re: a_re + b_re, im: a_im + b_im };
        }
        stride *= 2;
    }
    now
}

#[freeze]
fn frozen_transformed(signal: &Signal, roots: &Signal, n: u32) -> Signal {
    transformed(signal, roots, n)
}

type Complex = (f32, f32);

struct Spectrum(Vec<Complex>);

impl Numbers for Spectrum {
    fn numbers(&self) -> Result<Vec<f64>, jit::Error> {
        Ok(self.0.iter().map(|x| x.0).chain(self.0.iter().map(|x| x.1)).map(f64::from).collect())
    }
}

fn plain_transformed(threads: Threads, signal: &[Complex], roots: &[Complex]) -> Spectrum {
    const CHUNK: usize = 1 << 12;
    let n = signal.len();
    let (mut now, mut next) = (signal.to_vec(), vec![(0.0, 0.0); n]);
    let mut stride = 1;
    while stride < n {
        let run = stride.min(CHUNK);
        threads.chunks(&mut next, CHUNK, |chunk, next| {
            for (k, next) in next.chunks_mut(run).enumerate() {
                let i = chunk * CHUNK + k * run;
                let (place, pair) = (i % stride, i / stride / 2);
                let first = &now[place + pair * stride..][..run];
                let second = &now[place + pair * stride + n / 2..][..run];
                let pairs = next.iter_mut().zip(first.iter().zip(second));
                if i / stride % 2 == 1 {
                    let (c, s) = roots[pair * stride];
                    for (next, (a, b)) in pairs {
                        let (re, im) = (a.0 - b.0, a.1 - b.1);
                        *next = (re * c - im * s, re * s + im * c);
                    }
                } else {
                    pairs.for_each(|(next, (a, b))| *next = (a.0 + b.0, a.1 + b.1));
                }
            }
        });
        swap(&mut now, &mut next);
        stride *= 2;
    }
    Spectrum(now)
}

/// G15: the transform of 2^20 complex numbers.
pub(crate) fn transform(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 1 << 20;
    let [re, im]: [Vec<f32>; 2] = [u01s(N, 1, |u| u - 0.5), u01s(N, 2, |u| u - 0.5)];
    let angle = |k: usize| -TAU * k as f64 / N as f64;
    let roots: Vec<Complex> = (0..N / 2).map(|k| (angle(k).cos() as f32, angle(k).sin() as f32)).collect();
    let signal = Signal { re: resident(re.clone())?, im: resident(im.clone())? };
    let our_roots = Signal {
        re: resident(roots.iter().map(|root| root.0).collect())?,
        im: resident(roots.iter().map(|root| root.1).collect())?,
    };
    let numbers: Vec<Complex> = re.into_iter().zip(im).collect();
    let ours = |function: fn(&Signal, &Signal, u32) -> Signal| {
        let result = function(&signal, &our_roots, N as u32);
        (result.re, result.im)
    };
    let frozen: &dyn Fn() -> (Float, Float) = &|| ours(frozen_transformed);
    let rust = |threads| plain_transformed(threads, &numbers, &roots);
    Program { workload: "G15", tolerance: 1e-3, jit: &|| ours(transformed), frozen: Some(frozen), rust: &rust }
        .run(bench)
}
