// SPDX-License-Identifier: GPL-2.0-or-later
// A service of some threads that hand each other requests; some end in a panic that is caught.
use std::collections::HashMap;
use std::io::Write;
use std::panic;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn answer(number: u64) -> String {
    let mut seen: HashMap<u64, String> = HashMap::new();
    let mut numbers: Vec<u64> = (0..200).map(|i| (i * 7919 + number) % 10007).collect();
    numbers.sort();
    for n in numbers.iter().take(20) {
        seen.insert(*n, format!("{n} of {number}"));
    }
    if number % 7 == 0 {
        panic!("request {number}");
    }
    seen.values().map(|text| text.len().to_string()).collect::<Vec<_>>().join(",")
}

fn main() {
    let (answers, answered) = mpsc::channel();
    let mut requests = Vec::new();

    panic::set_hook(Box::new(|_| {}));
    for _ in 0..3 {
        let (to, from) = mpsc::channel::<u64>();
        let answers = answers.clone();
        requests.push(to);
        thread::spawn(move || {
            for number in from {
                let text = panic::catch_unwind(|| answer(number)).unwrap_or_default();
                answers.send(text).unwrap();
            }
        });
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut number = 0;
    loop {
        for to in &requests {
            number += 1;
            to.send(number).unwrap();
        }
        for _ in &requests {
            answered.recv().unwrap();
        }
        thread::sleep(Duration::from_micros(200));
    }
}
