//! `why`: the part of the key that differs.

use std::fs;
use std::path::Path;

use super::shared::{has_llvm, json, text};
use super::{entries, filled, forge, hash_of};

/// Why the only entry is not found: the part, the message and the remedy.
fn reason(cache: &Path, variables: &[(&str, &str)]) -> [String; 3] {
    let answers = json(cache, &["cache", "why"], variables, 0);
    let answer = &answers["entries"][0];
    assert_eq!(answer["found"], false, "{answers}");
    assert_eq!(answer["reasons"].as_array().unwrap().len(), 1, "{answers}");
    ["part", "message", "remedy"].map(|name| answer["reasons"][0][name].as_str().unwrap().to_owned())
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N13
#[test]
fn why_names_the_part_of_the_key_that_differs() {
    if !has_llvm() {
        return;
    }
    let cache = filled("why", "100");
    let found = text(&cache, &["cache", "why"], &[], 0);
    assert_eq!(found, "1 of 1 kernels are found by programs here\n");
    let path = entries(&cache).remove(0);
    let original = fs::read(&path).unwrap();
    let hash = hash_of(&path);
    let text_of_one = text(&cache, &["cache", "why", &hash[..10]], &[], 0);
    assert_eq!(text_of_one, format!("{} `short` is found by programs here\n", &hash[..12]));
    let [part, message, _] = reason(&cache, &[("JIT_TIER", "thorough")]);
    assert!(part == "options" && message.contains("JIT_TIER=thorough asks for more"), "{message}");
    let off = text(&cache, &["cache", "why"], &[("JIT_CACHE", "memory")], 0);
    assert!(off.starts_with("programs in this environment read no kernel from disk: JIT_CACHE=memory is set"), "{off}");

    type Change = fn(&str) -> String;
    let cases: [(Change, &str, &str); 3] = [
        (|key| key.replacen(&key[5..37], &"0".repeat(32), 1), "library", "the code generator 00000000000000000000000"),
        (|key| key.replacen("llvm 22", "llvm 21", 1), "LLVM", "it was compiled by LLVM 21."),
        (
            |key| key.replacen(" x16 ", " x16 +amx-tile,", 1).replacen(" x8 ", " x8 +amx-tile,", 1),
            "processor",
            "; this one lacks amx-tile",
        ),
    ];
    for (change, wanted_part, wanted) in cases {
        entries(&cache).into_iter().for_each(|path| fs::remove_file(path).unwrap());
        fs::write(&path, &original).unwrap();
        forge(&path, change, |_| ());
        let [part, message, remedy] = reason(&cache, &[]);
        assert!(part == wanted_part && message.contains(wanted) && !remedy.is_empty(), "{part}: {message}");
    }
    let summary = text(&cache, &["cache", "why"], &[], 0);
    assert!(summary.contains("`short` is not found by programs here\n  processor: "), "{summary}");
    assert!(summary.ends_with("0 of 1 kernels are found by programs here\n"), "{summary}");
}
