//! Progress: a line that counts the seconds on a terminal, one line per step elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The interval at which the line is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// Runs `work`; meanwhile a terminal shows the name of the step and the elapsed time.
pub(crate) fn while_running<R>(step: &str, work: impl FnOnce() -> R) -> R {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (finished, ticks) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let begin = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = ticks.recv_timeout(TICK) {
                draw(&format!("  {step} … {:.1} s", begin.elapsed().as_secs_f32()));
            }
            draw("");
        });
        let result = work();
        drop(finished);
        result
    })
}

/// Replaces the line of the terminal. A closed terminal is no reason to stop.
fn draw(line: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = write!(terminal, "\r\x1b[2K{line}");
    let _ = terminal.flush();
}
