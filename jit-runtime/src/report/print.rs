//! Lines that lanes print.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::sync::Mutex;

use super::{Template, records};
use crate::Error;
use crate::memory::Buffer;

/// Lines that lanes of a kernel print, by one statement of the program.
///
/// Two buffers receive them: a `u32` that counts the lines, and a list of `u64`, with the number of the lane and its
/// values for each line that fits.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The text of a line.
    pub template: Template,
    /// Whether there is only one lane, whose number is not printed.
    pub is_single: bool,
    /// The maximum number of printed lines.
    pub limit: usize,
    /// The number of lines that fit.
    pub capacity: usize,
}

/// Receives printed text.
type Sink = Box<dyn FnMut(&str) + Send>;

static SINK: Mutex<Option<Sink>> = Mutex::new(None);

/// Sets a function that receives the output of kernels, always in whole lines, instead of the standard output; `None`
/// restores the standard output. Returns the previous function. The function is used for all threads, and must not
/// print from kernels itself.
pub fn set_sink(sink: Option<Sink>) -> Option<Sink> {
    std::mem::replace(&mut SINK.lock(), sink)
}

impl Lines {
    /// Elements of the list.
    #[must_use]
    pub fn words(&self) -> usize {
        self.capacity * (1 + self.template.slots())
    }

    /// Waits for the launch that fills the buffers, and prints its lines.
    ///
    /// # Errors
    ///
    /// The failure of that launch; nothing is printed then.
    pub fn print(&self, count: &Arc<Buffer>, list: &Arc<Buffer>) -> Result<(), Error> {
        let mut bytes = [0; 4];
        count.read(0, &mut bytes)?;
        let count = u32::from_ne_bytes(bytes) as usize;
        let mut bytes = vec![0; count.min(self.capacity) * (1 + self.template.slots()) * size_of::<u64>()];
        list.read(0, &mut bytes)?;
        let words: Vec<u64> =
            bytes.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?))).collect();
        let text = self.text(count, &words);
        if !text.is_empty() {
            write(&text);
        }
        Ok(())
    }

    /// The lines in the order of the lanes; the lines of one lane in the order in which it printed them.
    fn text(&self, count: usize, words: &[u64]) -> String {
        let mut lines: Vec<(u64, &[u64])> = records(words, self.template.slots()).collect();
        lines.sort_by_key(|(lane, _)| *lane);
        let mut text = String::new();
        for (lane, values) in lines.iter().take(self.limit) {
            if !self.is_single {
                let _ = write!(text, "lane {lane}: ");
            }
            self.template.write(values, &mut text);
            text.push('\n');
        }
        let left_out = count - lines.len().min(self.limit);
        if left_out > 0 {
            let _ = writeln!(text, "… and {left_out} more");
        }
        text
    }
}

#[expect(clippy::print_stdout, reason = "this function prints")]
fn write(text: &str) {
    match &mut *SINK.lock() {
        Some(sink) => sink(text),
        // In one piece, so that lines of several threads do not mix, and such that tests can capture it.
        None => print!("{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Spec};
    use super::*;
    use crate::ir::Type;

    fn lines(limit: usize, capacity: usize) -> Lines {
        let value = Part::Value { slot: 0, ty: Type::I32, spec: Spec::DISPLAY };
        let template = Template(vec![Part::Text("x = ".into()), value]);
        Lines { template, is_single: false, limit, capacity }
    }

    #[test]
    fn lines_are_in_the_order_of_lanes_and_iterations() {
        let text = lines(20, 8).text(4, &[5, 50, 2, 20, 5, 51, 0, 7]);
        assert_eq!(text, "lane 0: x = 7\nlane 2: x = 20\nlane 5: x = 50\nlane 5: x = 51\n");
    }

    #[test]
    fn the_lines_that_are_left_out_are_counted() {
        assert_eq!(lines(2, 4).text(3, &[2, 2, 1, 1, 0, 0]), "lane 0: x = 0\nlane 1: x = 1\n… and 1 more\n");
        assert_eq!(lines(2, 2).text(9, &[7, 1, 3, 2]), "lane 3: x = 2\nlane 7: x = 1\n… and 7 more\n");
        assert_eq!(lines(2, 2).text(0, &[]), "");
    }
}
