//! Cancelled runs: the code polls a count that it changes itself, so each run ends without another thread.

use std::sync::atomic::AtomicU64;

use super::*;
use crate::backend::interpreter;
use crate::cancel::Poll;
use crate::ir::parse;

/// Infinite loops. The first element of the buffer counts their iterations.
const ENDLESS: [&str; 4] = [
    // The same in all lanes.
    "v3: u64 = const 1
     v4: u64 = loop (v0) while (v5: u64) {
        yield v2
     } do {
        v6: u64 = atomic.add p0[v1] = v3
        yield v5
     }",
    // Each lane by itself.
    "v3: u64 = const 1
     v4: bool = loop (v2) while (v5: bool) {
        v6: u32 = lane_index
        v7: bool = lt v1, v6
        v8: bool = or v7, v5
        yield v8
     } do {
        v9: u64 = atomic.add p0[v1] = v3
        yield v5
     }",
    // The inner one ends.
    "v3: u64 = const 1
     v4: u64 = const 100000
     v5: u64 = loop (v0) while (v6: u64) {
        yield v2
     } do {
        v7: u64 = loop (v0) while (v8: u64) {
            v9: bool = lt v8, v4
            yield v9
        } do {
            v10: u64 = add v8, v3
            yield v10
        }
        v11: u64 = atomic.add p0[v1] = v3
        yield v7
     }",
    // The outer loop would end.
    "v3: u64 = const 1
     v4: u64 = const 100000
     v5: u64 = loop (v0) while (v6: u64) {
        v7: bool = lt v6, v4
        yield v7
     } do {
        v8: u64 = loop (v0) while (v9: u64) {
            yield v2
        } do {
            v10: u64 = atomic.add p0[v1] = v3
            yield v9
        }
        v11: u64 = add v6, v3
        yield v11
     }",
];

/// How often a run of some lanes has changed the count when it ended.
fn iterations(executable: &dyn Executable, lanes: Range<u64>) -> u64 {
    let count = AtomicU64::new(0);
    let arguments = [RawArgument { word: (&raw const count) as u64, length: 1 }];
    // SAFETY: the code accesses one element of the buffer, atomically.
    unsafe { executable.run_polled(lanes, &arguments, Poll { count: &count, noted: 0 }) };
    count.into_inner()
}

#[test]
fn endless_loops_end_when_the_run_is_cancelled() {
    for body in ENDLESS {
        let text = format!(
            "kernel(p0: readwrite u64) {{
                v0: u64 = const 0
                v1: u32 = const 0
                v2: bool = const true
                {body}
            }}"
        );
        let kernel = parse(&text).unwrap();
        let mut codes: Vec<Box<dyn Executable>> = vec![Box::new(interpreter::prepare(kernel.clone()))];
        if crate::tested_devices::has_llvm() {
            codes.push(Box::new(compile(&kernel, CodeOptions::default()).unwrap()));
        }
        for code in codes {
            for lanes in [0..1, 0..64, 3..1000] {
                let count = iterations(&*code, lanes.clone());
                let groups = code.lanes_per_step() as u64;
                assert!((1..=1024 * 2 * groups).contains(&count), "{count} by lanes {lanes:?} of {text}");
            }
        }
    }
}
