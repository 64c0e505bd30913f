//! `ls` and `top`, and which folders are read.

use std::fs;
use std::time::SystemTime;

use serde_json::Value;

use super::shared::{failure, folder, has_llvm, json, text};
use super::{entries, fill, filled, hash_of, list};

#[test]
fn ls_lists_what_is_there_and_how_often_it_was_used() {
    if !has_llvm() {
        return;
    }
    let cache = filled("ls", "100,200");
    let first = list(&cache, &["ls"]);
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|entry| entry["uses"] == 0 && entry["flaw"].is_null()), "{first:?}");
    fill(&cache, "200");
    let entries = list(&cache, &["ls"]);
    let long = &entries[0];
    assert_eq!((long["label"].as_str(), long["uses"].as_u64()), (Some("long"), Some(1)), "the last used one is first");
    let compiling = long["compile_seconds"].as_f64().unwrap();
    assert!(compiling > 0.0005 && long["saved_seconds"].as_f64() == Some(compiling), "{long}");
    let path = cache.join(long["hash"].as_str().unwrap());
    assert_eq!(long["bytes"].as_u64(), Some(fs::metadata(&path).unwrap().len()));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 600..=now).contains(&long["last_used"].as_u64().unwrap()));
    assert_eq!(entries[1]["uses"], 0);

    let text = text(&cache, &["cache", "ls"], &[], 0);
    let line = text.lines().nth(1).unwrap();
    let level = jit_runtime::device::processor().unwrap().level;
    assert!(line.starts_with(&hash_of(&path)[..12]) && line.contains("long") && line.contains("now"), "{text}");
    assert!(line.contains(&level), "{text}");
    assert!(text.contains("2 entries of 1000") && text.contains(&format!("in {}", cache.display())), "{text}");
}

#[test]
fn an_empty_or_missing_folder_is_no_error() {
    let cache = folder("missing");
    let listed = text(&cache, &["cache", "ls"], &[], 0);
    assert_eq!(listed, format!("no kernels in {}\n", cache.display()));
    assert!(!cache.exists(), "looking makes nothing");
    assert_eq!(text(&cache, &["cache", "verify"], &[], 0), "0 of 0 entries are intact\n");
    let cleared = text(&cache, &["cache", "clear"], &[], 0);
    assert!(cleared.contains("removed 0 files, 0 B"), "{cleared}");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N13
#[test]
fn top_orders_by_time_saved_or_by_size() {
    if !has_llvm() {
        return;
    }
    let cache = filled("top", "100,600,900");
    fill(&cache, "100");
    let saved = list(&cache, &["top"]);
    assert_eq!((saved[0]["label"].as_str(), saved[0]["uses"].as_u64()), (Some("short"), Some(1)));
    let sizes: Vec<u64> =
        list(&cache, &["top", "--by", "size", "-n", "2"]).iter().map(|e| e["bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes.len(), 2);
    let short = saved[0]["bytes"].as_u64().unwrap();
    assert!(sizes[0] > sizes[1] && sizes[1] > short, "{sizes:?} {short}");
}

#[test]
fn a_shared_folder_is_listed_and_not_cleared() {
    if !has_llvm() {
        return;
    }
    let (shared_folder, own) = (filled("shared", "100"), filled("own", "200"));
    let variables = [("JIT_CACHE_SHARED_DIR", shared_folder.to_str().unwrap())];
    let listed = json(&own, &["cache", "ls"], &variables, 0);
    let is_shared = |entry: &Value| entry["shared"].as_bool().unwrap();
    assert_eq!(listed["entries"].as_array().unwrap().iter().filter(|entry| is_shared(entry)).count(), 1, "{listed}");
    let listed = text(&own, &["cache", "ls"], &variables, 0);
    assert!(listed.contains(&format!("in the shared folder {}", shared_folder.display())), "{listed}");
    text(&own, &["cache", "clear", "--all"], &variables, 0);
    assert_eq!((entries(&shared_folder).len(), entries(&own).len()), (1, 0));
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let cache = folder("writable");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let text = failure(&cache, &["cache", "ls"], &[], 1);
    assert!(text.contains("can be written by other users") && text.contains("help: `chmod go-w"), "{text}");
}
