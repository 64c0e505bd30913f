//! Durations, sizes, ages and hashes as text.

use std::time::{Duration, SystemTime};

/// A size with three digits, in units of 1024.
pub(crate) fn bytes(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// A time with the unit that suits it.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if time.is_zero() => "0".to_owned(),
        _ if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 600.0 => format!("{seconds:.1} s"),
        _ => span(time),
    }
}

/// How long ago something was.
pub(crate) fn age(then: Option<SystemTime>, now: SystemTime) -> String {
    match then.map(|then| now.duration_since(then)) {
        None => "unknown".to_owned(),
        Some(Ok(age)) if age < Duration::from_secs(60) => "now".to_owned(),
        Some(Ok(age)) => format!("{} ago", span(age)),
        // Clocks run backwards.
        Some(Err(_)) => "in the future".to_owned(),
    }
}

/// A long time in whole units.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time such as `90s`, `15m`, `12h`, `30d` or `8w`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 5] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400), ('w', 604_800)];
    let wrong = || format!("`{text}` is no time: write a number and one of s, m, h, d and w, such as 30d");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// The begin of a hash, in lower case.
pub(crate) fn hash(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("`{text}` is no hash: it has 1 to 64 hexadecimal digits, as in `jit cache ls`"));
    }
    Ok(text.to_ascii_lowercase())
}

/// Text from a file, for a terminal: control characters are replaced.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_suitable_units() {
        assert_eq!([0, 999, 1000, 20_000, 3 << 30].map(bytes), ["0 B", "999 B", "1.0 KiB", "19.5 KiB", "3.0 GiB"]);
        let times = [0, 30, 4_200, 1_500_000, 70_000_000].map(|micros| duration(Duration::from_micros(micros)));
        assert_eq!(times, ["0", "30 µs", "4.2 ms", "1.5 s", "70.0 s"]);
    }

    #[test]
    fn ages_are_rounded_down_and_clocks_may_be_wrong() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let ages = [5, 119, 7300, 200_000].map(|seconds| age(Some(now - Duration::from_secs(seconds)), now));
        assert_eq!(ages, ["now", "1 min ago", "2 h ago", "2 d ago"]);
        assert_eq!(age(Some(now + Duration::from_secs(9)), now), "in the future");
        assert_eq!(age(None, now), "unknown");
    }

    #[test]
    fn times_on_the_command_line_need_a_number_and_a_unit() {
        assert_eq!(parse_duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("2w").unwrap(), Duration::from_secs(1_209_600));
        for wrong in ["", "d", "3", "3y", "-3d", "99999999999999999999d", "18446744073709551615w", "3é"] {
            assert!(parse_duration(wrong).unwrap_err().contains("such as 30d"), "{wrong}");
        }
    }

    #[test]
    fn hashes_are_hexadecimal_and_labels_cannot_change_the_terminal() {
        assert_eq!(hash("Ab3").unwrap(), "ab3");
        assert!(hash("xyz").is_err() && hash("").is_err() && hash(&"a".repeat(65)).is_err());
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
