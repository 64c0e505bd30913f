//! Writes a page of the results of the rows next to those of other systems: `--report FILE`.
//!
//! Each row is measured by a separate process. Each other system is measured by its command, to which `--only ROW` is
//! added and which prints the same lines of JSON. Systems alternate row by row, round by round, so that other load on
//! the machine affects all of them. The page is `benches/rows/report.md` with the measured tables inserted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use tinyjson::JsonValue;

use crate::Row;

/// The number of rounds, unless the command line specifies it.
pub(crate) const ROUNDS: usize = 3;
/// The name of this system in tables.
const OURS: &str = "`jit`";

/// What to write.
pub(crate) struct Request {
    pub(crate) file: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) peers: Vec<Peer>,
}

/// Another system.
pub(crate) struct Peer {
    name: String,
    command: Vec<String>,
}

impl Peer {
    pub(crate) fn parse(text: &str) -> Result<Peer, String> {
        let (name, command) = text.split_once('=').ok_or("--peer takes NAME=COMMAND")?;
        let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if command.is_empty() {
            return Err(format!("--peer {name}= takes a command"));
        }
        Ok(Peer { name: name.to_owned(), command })
    }
}

/// A measured quantity: a workload, such as `W02.fast`, its metric and unit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    workload: String,
    metric: String,
    unit: String,
}

/// One round's value.
struct Sample {
    value: f64,
    /// The number of clean samples and of all samples, if the system reports them.
    samples: Option<(f64, f64)>,
}

/// The values of all rounds, by quantity and by system.
#[derive(Default)]
struct Table {
    /// In the order of the rows.
    keys: Vec<Key>,
    samples: BTreeMap<(Key, usize), Vec<Sample>>,
}

impl Table {
    fn add(&mut self, system: usize, line: &str) {
        let Ok(JsonValue::Object(row)) = line.parse::<JsonValue>() else { return };
        let text = |name: &str| row.get(name)?.get::<String>().cloned();
        let number = |name: &str| row.get(name)?.get::<f64>().copied();
        let (Some(workload), Some(metric), Some(unit)) = (text("workload"), text("metric"), text("unit")) else {
            return;
        };
        let Some(value) = number("value") else { return };
        let key = Key { workload, metric, unit };
        // Measurements that only other systems have cannot be compared with anything.
        if system == 0 && !self.keys.contains(&key) {
            self.keys.push(key.clone());
        }
        let samples = number("clean").zip(number("reps"));
        self.samples.entry((key, system)).or_default().push(Sample { value, samples });
    }

    fn median(&self, key: &Key, system: usize) -> Option<f64> {
        let samples = self.samples.get(&(key.clone(), system))?;
        let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        Some(crate::measure::quantile(&mut values, 0.5))
    }

    /// The number of our clean samples and of all our samples, over all rounds.
    fn clean(&self, key: &Key) -> String {
        let samples = self.samples.get(&(key.clone(), 0)).into_iter().flatten().filter_map(|sample| sample.samples);
        match samples.reduce(|(clean, reps), (more_clean, more)| (clean + more_clean, reps + more)) {
            Some((clean, reps)) => format!("{clean}/{reps}"),
            None => "–".into(),
        }
    }
}

/// Measures rows alternately and writes the page.
pub(crate) fn write(request: &Request, rows: &[&Row]) -> Result<(), String> {
    let mut table = Table::default();
    for _ in 0..request.rounds {
        for row in rows {
            ours(row, &mut table)?;
            for (peer, system) in request.peers.iter().zip(1..) {
                add_lines(
                    &mut table,
                    system,
                    Command::new(&peer.command[0]).args(&peer.command[1..]).args(["--only", row.name]),
                )
                .map_err(|error| format!("{} on row {}: {error}", peer.name, row.name))?;
            }
        }
    }
    let page = include_str!("report.md")
        .replace("{machine}", &machine(request))
        .replace("{throughput}", &part(request, rows, &table, 'W'))
        .replace("{derivatives}", &part(request, rows, &table, 'A'))
        .replace("{training}", &part(request, rows, &table, 'N'))
        .replace("{programs}", &programs(rows, &table))
        .replace("{latency}", &part(request, rows, &table, 'L'))
        .replace("{processes}", &part(request, rows, &table, 'P'))
        .replace("{pairs}", &part(request, rows, &table, 'T'))
        .replace("{behind}", &behind(request, &table));
    std::fs::write(&request.file, page).map_err(|error| format!("cannot write {}: {error}", request.file.display()))
}

fn ours(row: &Row, table: &mut Table) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    add_lines(table, 0, Command::new(program).arg(row.name)).map_err(|error| format!("row {}: {error}", row.name))
}

/// Runs a program and adds the lines that it prints.
fn add_lines(table: &mut Table, system: usize, command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| table.add(system, line));
    Ok(())
}

/// The machine and the software of the measurement.
fn machine(request: &Request) -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let devices = jit::devices();
    let processor = devices.iter().find(|info| info.device == jit::Device::Cpu);
    let code = processor.map_or_else(String::new, |info| {
        let llvm = info.name.rsplit_once(" by ").map_or("no LLVM", |(_, llvm)| llvm);
        // Without the size of the library.
        let llvm = llvm.split_once(',').map_or(llvm, |(version, _)| version);
        format!("vectors of {} floats, {llvm}", info.vector_lanes)
    });
    let peers: Vec<&str> = request.peers.iter().map(|peer| peer.name.as_str()).collect();
    let beside = if peers.is_empty() { "nothing else".into() } else { peers.join(", ") };
    format!(
        "{cores} cores of {model}: {code}. Compared with: {beside}. Medians over the rounds, in which the systems \
         alternate row by row; rounds: {}.",
        request.rounds
    )
}

/// The table of the rows whose names begin with a letter, beside the systems that have one of them.
fn part(request: &Request, rows: &[&Row], table: &Table, letter: char) -> String {
    let keys: Vec<&Key> = table.keys.iter().filter(|key| key.workload.starts_with(letter)).collect();
    let has_any = |system: usize| keys.iter().any(|key| table.median(key, system).is_some());
    let peers: Vec<(&Peer, usize)> = request.peers.iter().zip(1..).filter(|(_, system)| has_any(*system)).collect();
    let mut text = format!("| row | what | unit | {OURS} | clean samples |");
    for (peer, _) in &peers {
        let _ = write!(text, " {0} | {0} / {OURS} |", peer.name);
    }
    let _ = write!(text, "\n|---|---|---|---|---|{}", "---|---|".repeat(peers.len()));
    let mut last = "";
    for key in keys {
        let Some(value) = table.median(key, 0) else { continue };
        // What a row is stands in its first line only.
        let what = rows.iter().find(|row| row.name == key.workload && row.name != last).map_or("", |row| row.what);
        last = &key.workload;
        let metric = if key.metric == "time" { "" } else { &key.metric };
        let colon = if what.is_empty() || metric.is_empty() { "" } else { ": " };
        let _ = write!(
            text,
            "\n| {} | {what}{colon}{metric} | {} | {} | {} |",
            key.workload,
            key.unit,
            short(value),
            table.clean(key)
        );
        for &(_, system) in &peers {
            let _ = match table.median(key, system) {
                Some(other) => write!(text, " {} | {:.2} |", short(other), other / value),
                None => write!(text, " – | – |"),
            };
        }
    }
    text
}

/// The metrics of a program, beside its ratio.
const VARIANTS: [&str; 4] = ["jit", "frozen", "plain", "rayon"];

/// The table of the programs beside plain Rust, and the geometric mean of their ratios.
fn programs(rows: &[&Row], table: &Table) -> String {
    let mut text = format!(
        "| row | what | {OURS}, ms | frozen, ms | plain Rust, ms | by rayon, ms | best of Rust / best of {OURS} |\n\
         |---|---|---|---|---|---|---|"
    );
    let mut logarithms = Vec::new();
    for row in rows {
        let Some(ratio) = ratio(row.name, table) else { continue };
        logarithms.push(ratio.ln());
        let _ = write!(text, "\n| {} | {} |", row.name, row.what);
        for variant in VARIANTS {
            let key = Key { workload: row.name.into(), metric: variant.into(), unit: "ms".into() };
            let value = table.median(&key, 0).map_or_else(|| "–".into(), short);
            let _ = write!(text, " {value} |");
        }
        let _ = write!(text, " {ratio:.2} |");
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
    let _ = write!(text, "\n\nThe geometric mean of the ratios is {mean:.2}.");
    text
}

/// How many times as fast as plain Rust a program is.
fn ratio(workload: &str, table: &Table) -> Option<f64> {
    table.median(&Key { workload: workload.into(), metric: "ratio".into(), unit: "x".into() }, 0)
}

/// The measurements in which another system is faster.
fn behind(request: &Request, table: &Table) -> String {
    let mut text = String::new();
    for key in &table.keys {
        let Some(value) = table.median(key, 0) else { continue };
        for (peer, system) in request.peers.iter().zip(1..) {
            match table.median(key, system) {
                Some(other) if other < value => {
                    let _ = writeln!(
                        text,
                        "- {}, {}: {:.2} of the speed of {}",
                        key.workload,
                        key.metric,
                        other / value,
                        peer.name
                    );
                }
                _ => {}
            }
        }
    }
    for key in table.keys.iter().filter(|key| key.metric == "ratio" && key.workload.starts_with('G')) {
        let Some(ratio) = table.median(key, 0).filter(|ratio| *ratio < 1.0) else { continue };
        let _ = writeln!(text, "- {}: {ratio:.2} of the speed of plain Rust", key.workload);
    }
    if text.is_empty() { "None in this run.\n".into() } else { text }
}

/// A number with three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
