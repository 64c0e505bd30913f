//! Functions that a `macro_rules!` writes: the contents of `$t:ty`, `$e:expr` and other fragments are in invisible
//! groups.

use jit::prelude::*;

macro_rules! functions {
    ($jit:ident, $frozen:ident, $t:ty, $shared:ty, $count:ty, $limit:expr, $step:expr, $number:pat, $b:block,
        $one:literal) => {
        #[jit]
        fn $jit(x: $shared, n: $count) -> $t {
            let mut y: $t = x.clone();
            let mut left = Array::<$count>::from(n);
            while y < $limit && left != $one - 1 {
                y = y * $step - $one as f32;
                left -= $one;
            }
            let kind = match n {
                $number => $limit,
                _ => $step,
            };
            assert!($limit > $step, "{} {}", $limit, $step * 2.0);
            println!("{}", $step * 2.0);
            if y > $limit { y * kind } else { y * 2.0 - $step + $b }
        }

        #[freeze]
        fn $frozen(x: $shared, state: &mut $t, n: $count, scale: f32) -> $t {
            *state = &*state + x * scale * $step;
            let mut sum = x * (n as f32);
            for _ in 0..n as usize {
                sum = sum + $step;
            }
            sum
        }
    };
}

functions!(loops, frozen, Float, &Float, u32, 10.0, 1.0 + 1.0, 3 | 4, { Float::from(0.5) }, 1);

/// The output of the macro, written by hand.
#[freeze]
fn written(x: &Float, state: &mut Float, n: u32, scale: f32) -> Float {
    *state = &*state + x * scale * (1.0 + 1.0);
    let mut sum = x * (n as f32);
    for _ in 0..n as usize {
        sum = sum + (1.0 + 1.0);
    }
    sum
}

fn on_the_host(x: f32, n: u32) -> f32 {
    let (mut y, mut left) = (x, n);
    while y < 10.0 && left != 0 {
        y = y * 2.0 - 1.0;
        left -= 1;
    }
    let kind = if n == 3 || n == 4 { 10.0 } else { 2.0 };
    if y > 10.0 { y * kind } else { y * 2.0 - 2.0 + 0.5 }
}

#[test]
fn functions_of_fragments_compute_what_written_ones_do() -> Result<(), jit::Error> {
    let x = [0.0, 1.5, 3.0, 20.0];
    for n in [0, 2, 3, 9] {
        let wanted = x.map(|x| on_the_host(x, n));
        assert_eq!(loops(&Float::from(x), n).to_vec()?, wanted);
    }
    Ok(())
}

#[test]
fn frozen_functions_of_fragments_are_replayed() -> Result<(), jit::Error> {
    let mut state = Float::from([0.0, 1.0]).make_opaque();
    let mut wanted = [0.0, 1.0];
    for (call, scale) in [1.0, 2.5, 4.0_f32].into_iter().enumerate() {
        let x = [call as f32, 2.0];
        let sum = frozen(&Float::from(x).make_opaque(), &mut state, 3, scale);
        assert_eq!(sum.to_vec()?, x.map(|x| x * 3.0 + 6.0));
        wanted = std::array::from_fn(|at| wanted[at] + x[at] * scale * 2.0);
        assert_eq!(state.to_vec()?, wanted);
        written(&Float::from(x).make_opaque(), &mut Float::from([0.0, 1.0]).make_opaque(), 3, scale);
    }
    let counts = |stats: jit::freeze::Stats| (stats.recordings, stats.replays);
    assert_eq!(counts(frozen::stats()), counts(written::stats()), "{:?}", frozen::explain());
    assert_eq!(frozen::stats().recordings + frozen::stats().replays, 3);
    Ok(())
}

macro_rules! method {
    ($of:ident, $name:ident, $field:ident, $pattern:pat, $by:expr) => {
        #[jit]
        impl $of {
            fn $name(&mut self, $pattern: (u32, Float)) -> Float {
                let by = $by;
                if self.$field < by {
                    self.$field += $by
                } else {
                    self.$field -= $by * 2.0
                }
                self.$field.clone()
            }
        }
    };
}

struct Holder {
    held: Float,
}

method!(Holder, step, held, (_, _offset), 1.0 + 2.0);

#[test]
fn methods_of_fragments_change_their_receiver() -> Result<(), jit::Error> {
    let mut holder = Holder { held: Float::from([1.0, 5.0]) };
    assert_eq!(holder.step((1, Float::from(0.0))).to_vec()?, [4.0, -1.0]);
    assert_eq!(holder.held.to_vec()?, [4.0, -1.0]);
    Ok(())
}
