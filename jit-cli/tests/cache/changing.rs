//! `verify` and `clear`.

use std::fs;
use std::time::{Duration, SystemTime};

use super::shared::{failure, has_llvm, json, text};
use super::{entries, fill, filled, forge, hash_of, list};

#[test]
fn damaged_entries_are_found_and_named() {
    if !has_llvm() {
        return;
    }
    let cache = filled("damaged", "100,200");
    assert_eq!(text(&cache, &["cache", "verify"], &[], 0), "2 of 2 entries are intact\n");
    let path = entries(&cache).remove(0);
    let hash = hash_of(&path)[..12].to_owned();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let verified = text(&cache, &["cache", "verify"], &[], 1);
    assert!(verified.contains(&format!("{hash} `?` is damaged: its checksum is wrong")), "{verified}");
    assert!(verified.contains("1 of 2 entries are intact"), "{verified}");
    let [part, message, _] = {
        let answers = json(&cache, &["cache", "why", &hash], &[], 0);
        ["part", "message", "remedy"].map(|name| answers["entries"][0]["reasons"][0][name].to_string())
    };
    assert!(part.contains("file") && message.contains("checksum"), "{message}");
    let shown = text(&cache, &["cache", "show", &hash], &[], 1);
    assert!(shown.contains("not used          its checksum is wrong") && !shown.contains("kernel("), "{shown}");
    assert!(path.exists(), "looking removes nothing");
    fs::write(&path, &bytes[..50]).unwrap();
    let verified = text(&cache, &["cache", "verify"], &[], 1);
    assert!(verified.contains("it is not a file of this cache"), "{verified}");
}

#[test]
fn kernels_are_compiled_again_and_compared_on_request() {
    if !has_llvm() {
        return;
    }
    let cache = filled("compile", "100,200");
    let verified = json(&cache, &["cache", "verify", "--compile"], &[], 0);
    let outcomes: Vec<&str> = verified.as_array().unwrap().iter().map(|e| e["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["reproduced", "reproduced"]);
    let paths = entries(&cache);
    forge(&paths[0], str::to_owned, |contents| *contents.last_mut().unwrap() ^= 1);
    forge(&paths[1], |key| key.replacen("llvm 22", "llvm 21", 1), |_| ());
    let verified = text(&cache, &["cache", "verify", "--compile"], &[], 1);
    assert!(
        verified.contains("is not reproduced") && verified.contains("was not compiled: it was compiled by LLVM 21.")
    );
    assert!(verified.contains("2 of 2 entries are intact"), "{verified}");
    assert!(verified.contains("0 with the same code, 1 with other code, 1 not"), "{verified}");
}

#[test]
fn clear_removes_what_it_is_asked_for_and_says_so() {
    if !has_llvm() {
        return;
    }
    let cache = filled("clear", "100,200");
    fs::write(cache.join("my-notes"), "keep").unwrap();
    let old = entries(&cache).remove(0);
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 86_400);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    let cleared = text(&cache, &["cache", "clear", "--older-than", "30d"], &[], 0);
    assert!(cleared.contains(&hash_of(&old)[..12]) && cleared.contains("removed 1 files, "), "{cleared}");
    assert!(!old.exists() && entries(&cache).len() == 1);
    let cleared = json(&cache, &["cache", "clear"], &[], 0);
    assert_eq!(cleared["removed"].as_array().unwrap().len(), 1, "{cleared}");
    assert!(entries(&cache).is_empty() && cache.join("secret").exists() && cache.join("library").exists());
    fill(&cache, "100");
    assert_eq!(list(&cache, &["ls"]).len(), 1, "the folder is as good as before");
    let entry = entries(&cache).remove(0);
    (0..30).for_each(|number| _ = fs::copy(&entry, cache.join(format!("{number:064x}"))).unwrap());
    let cleared = text(&cache, &["cache", "clear", "--all"], &[], 0);
    assert!(cleared.contains("… and 14 more\n\nremoved 34 files"), "the end of a long list: {cleared}");
    let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["my-notes"]);
    let conflict = failure(&cache, &["cache", "clear", "--all", "--older-than", "1d"], &[], 2);
    assert!(conflict.contains("cannot be used with"), "{conflict}");
}
