//! Several threads call one frozen function.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use jit::prelude::*;

use crate::{floats, values};

#[derive(Clone, Traverse)]
struct Ball {
    height: Float,
    speed: Float,
    bounces: UInt,
}

#[jit]
fn bounce(ball: &mut Ball, dt: &Float) {
    ball.speed -= dt * 9.75;
    ball.height += &ball.speed * dt;
    if ball.height < 0.0 {
        ball.height = -ball.height.clone();
        ball.speed = -ball.speed.clone();
        ball.bounces += 1;
    }
}

fn heights(ball: &Ball) -> Float {
    ball.height.filter(&(UInt::arange(ball.height.width()) % 3).ne(1)).prefix_sum()
}

#[freeze]
fn moved(ball: &mut Ball, dt: &Float) -> Float {
    bounce(ball, dt);
    jit::eval(&*ball).unwrap();
    heights(ball)
}

/// The motion of a ball, computed by a function.
fn run(n: usize, salt: usize, step: impl Fn(&mut Ball, &Float) -> Float) -> (Vec<Vec<f32>>, Vec<f32>, Vec<u32>) {
    let (height, speed) = (floats(n, salt).abs(), floats(n, salt + 1));
    let mut ball = Ball { height, speed, bounces: UInt::from(vec![0; n]) };
    jit::eval(&ball).unwrap();
    let sums = (0..25).map(|_| values(&step(&mut ball, &Float::opaque(0.0625)))).collect();
    (sums, values(&ball.height), values(&ball.bounces))
}

fn moved_directly(ball: &mut Ball, dt: &Float) -> Float {
    bounce(ball, dt);
    heights(ball)
}

// rows: X10
#[test]
fn threads_replay_one_recording() {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            run(10, 3, moved);
            let before = moved::stats();
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        jit::with_device(device, || {
                            for n in [11, 4000 * (thread + 1), 50 + thread] {
                                assert_eq!(run(n, thread, moved), run(n, thread, moved_directly), "{n} {thread}");
                            }
                        });
                    });
                }
            });
            let stats = moved::stats();
            assert_eq!(stats.recordings, before.recordings, "{:#?}", moved::explain());
            assert_eq!(stats.replays + stats.direct, before.replays + before.direct + 4 * 3 * 25);
        });
    }
}

// rows: X10
#[test]
fn threads_begin_at_once() {
    for device in crate::tested_devices::all() {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    jit::with_device(device, || {
                        for call in 0..20 {
                            let x = floats(5 + thread, call);
                            assert_eq!(values(&begun(&x, call as i32 % 3)), values(&(x.powi(call as i32 % 3) + 1.0)));
                        }
                    });
                });
            }
        });
    }
    let stats = begun::stats();
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.recordings + stats.replays + stats.direct), (6, 160));
}

#[freeze]
fn begun(x: &Float, n: i32) -> Float {
    x.powi(n) + 1.0
}

/// The messages of the thread that records, and what it waits for.
static RECORDING: Mutex<Option<(Sender<()>, Receiver<()>)>> = Mutex::new(None);

#[freeze]
fn slow(x: &mut Float) -> Float {
    // The first call exits early, and waits in the middle of its recording.
    let channels = RECORDING.lock().unwrap().take();
    *x += 1.0;
    if let Some((inside, go_on)) = channels {
        inside.send(()).unwrap();
        go_on.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    &*x * 2.0
}

// rows: X10
#[test]
fn while_one_thread_records_others_run_the_body() {
    crate::frozen_only!();
    let on = |device: Device| {
        slow::clear();
        let (inside, is_inside) = channel();
        let (go_on, may_go_on) = channel();
        *RECORDING.lock().unwrap() = Some((inside, may_go_on));
        let call = |n: usize| {
            jit::with_device(device, || {
                let mut x = floats(n, n);
                let y = slow(&mut x);
                let wanted = floats(n, n) + 1.0;
                assert_eq!((values(&x), values(&y)), (values(&wanted), values(&(wanted * 2.0))));
            });
        };
        std::thread::scope(|scope| {
            let first = scope.spawn(|| call(5));
            is_inside.recv_timeout(Duration::from_secs(60)).unwrap();
            call(6);
            let stats = slow::stats();
            assert_eq!((stats.recordings, stats.replays, stats.direct), (1, 0, 1));
            go_on.send(()).unwrap();
            first.join().unwrap();
        });
        call(7);
        assert_eq!((slow::stats().recordings, slow::stats().replays), (1, 1));
    };
    crate::tested_devices::all().into_iter().for_each(on);
}
