//! Traces for viewers.

use std::collections::HashMap;

use jit::prelude::*;
use tinyjson::JsonValue;

use super::{on_each_device, one_at_a_time, profile_of, resident};

type Event = HashMap<String, JsonValue>;

/// The events of a trace.
fn events(json: &str) -> Vec<Event> {
    let parsed: JsonValue = json.parse().unwrap_or_else(|error| panic!("{error}: {json}"));
    let trace: &HashMap<String, JsonValue> = parsed.get().unwrap();
    let events: &Vec<JsonValue> = trace["traceEvents"].get().unwrap();
    events.iter().map(|event| event.get::<Event>().unwrap().clone()).collect()
}

fn text<'e>(event: &'e Event, key: &str) -> &'e str {
    event[key].get::<String>().unwrap()
}

fn number(event: &Event, key: &str) -> f64 {
    *event[key].get::<f64>().unwrap()
}

fn arguments(event: &Event) -> &Event {
    event["args"].get().unwrap()
}

#[jit]
fn scaled(x: &Float) -> Float {
    x * 3.0 + 1.0
}

#[test]
fn a_trace_is_json_with_an_event_for_each_launch() {
    on_each_device(|| {
        let x = resident(1000);
        jit::cache::clear();
        let profile = profile_of(|| {
            for _ in 0..3 {
                assert_eq!(scaled(&x).to_vec().unwrap().len(), 1000);
            }
        });
        let all = events(&profile.trace_json());
        let complete: Vec<&Event> = all.iter().filter(|event| text(event, "ph") == "X").collect();
        for event in &complete {
            assert!(number(event, "ts") >= 0.0 && number(event, "dur") >= 0.0);
            let end_us = number(event, "ts") + number(event, "dur");
            assert!(end_us <= profile.totals().wall_time.as_secs_f64() * 1e6 + 1.0);
            assert!(event.contains_key("pid") && event.contains_key("tid"));
        }
        let named = |name: &str| complete.iter().filter(|event| text(event, "name") == name).collect::<Vec<_>>();
        let launches = named("scaled");
        // Several threads may have worked on one.
        assert!(launches.len() >= 3);
        for launch in launches {
            let arguments = arguments(launch);
            assert!(text(arguments, "line").starts_with(file!()));
            assert_eq!((number(arguments, "width"), number(arguments, "bytes")), (1000.0, 8000.0));
            assert!(number(arguments, "ops") > 0.0);
            assert_eq!(text(arguments, "hash"), format!("{:016x}", profile.kernels()[0].hash));
        }
        assert_eq!(named("trace scaled").len(), 3);
        assert_eq!(named("compile scaled").len(), 1);
        assert_eq!(named("evaluate, since its elements are read").len(), 3);
        let rows: Vec<&str> = all
            .iter()
            .filter(|event| text(event, "name") == "process_name")
            .map(|event| text(arguments(event), "name"))
            .collect();
        assert_eq!(rows.len(), 5, "{rows:?}");
    });
}

#[test]
fn a_trace_is_written_to_a_file() {
    let _measuring = one_at_a_time();
    let profile = profile_of(|| jit::eval(&scaled(&resident(10))).unwrap());
    let path = std::env::temp_dir().join(format!("jit-profile-{}.json", std::process::id()));
    profile.write_trace(&path).unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(written, profile.trace_json());
    assert!(!events(&written).is_empty());
}

// one device: it is the time of the host
// rows: K187
#[test]
fn ranges_that_the_program_names_are_in_the_trace() {
    let _measuring = one_at_a_time();
    let x = resident(1000);
    let line = line!() + 3;
    let work = || {
        for step in 0..12 {
            let sum = jit::profile::range("a \"step\"", || {
                jit::profile::range("sum", || (&x * step as f32).sum()).item().unwrap()
            });
            assert!(sum >= 0.0);
        }
    };
    work();
    let profile = profile_of(work);
    let all = events(&profile.trace_json());
    let named = |name: &str| -> Vec<&Event> { all.iter().filter(|event| text(event, "name") == name).collect() };
    let (steps, sums) = (named("a \"step\""), named("sum"));
    assert_eq!((steps.len(), sums.len()), (12, 12));
    for (step, sum) in steps.into_iter().zip(sums) {
        assert_eq!(text(arguments(step), "line"), format!("{}:{line}", file!()));
        let end = |event: &Event| number(event, "ts") + number(event, "dur");
        assert!(number(step, "ts") <= number(sum, "ts") && end(sum) <= end(step) + 0.001);
    }
    // They are no activity: what the thread did in them is counted, and warned of, as without them.
    let warnings: Vec<_> = profile.warnings().iter().map(|warning| warning.kind).collect();
    assert_eq!((profile.totals().evaluations, &*warnings), (12, &[jit::profile::WarningKind::ReadsInLoop][..]));
    assert_eq!(jit::profile::range("without a profile", || 5), 5);
}

#[test]
fn names_with_quotes_stay_names() {
    let _measuring = one_at_a_time();
    let profile = profile_of(|| {
        let name = "a \"quoted\"\\ thread\n";
        let thread = std::thread::Builder::new().name(name.into());
        thread.spawn(|| jit::eval(&scaled(&resident(10))).unwrap()).unwrap().join().unwrap();
    });
    let all = events(&profile.trace_json());
    let is_name = |event: &&Event| text(event, "name") == "thread_name";
    assert!(all.iter().filter(is_name).any(|event| text(arguments(event), "name") == "a \"quoted\"\\ thread\n"));
}
